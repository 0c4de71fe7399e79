//! Descriptors of image files: what the SIFT pyramid and Fisher vectors have in common.

use super::descriptor::{Descriptors, describe};
use crate::extract::{Broken, Found, ImageObserver, each_image, take_broken};
use crate::frame::Crop;
use crate::resize::resize;
use atomlearn::io::pictures::{ImageFile, Picture};
use atomlearn::linalg::{concat_columns, mul, select_columns};
use atomlearn::pca::pca;
use atomlearn::{Error, Mat, Result};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Middle of a patch, as shares of height and width.
type Center = (f64, f64);

/// Where descriptors are taken.
#[derive(Clone, Copy)]
pub(crate) struct Dense<'a> {
    pub(crate) crop: Option<Crop>,
    pub(crate) max_side: usize,
    pub(crate) step: usize,
    pub(crate) patches: &'a [usize],
}

/// Descriptors drawn from images.
pub(crate) struct Drawn {
    /// One per column, in random order.
    pub(crate) descriptors: Mat<f64>,
    /// Centre of the patch of each, as shares of height and width.
    pub(crate) centers: Vec<Center>,
    /// The images that could be read.
    pub(crate) readable: Vec<usize>,
    pub(crate) broken: Vec<Broken>,
}

impl Dense<'_> {
    pub(crate) fn check(&self) -> Result<()> {
        within("max-side", self.max_side, 16, 4096)?;
        within("step", self.step, 1, 1024)?;
        if self.patches.is_empty() || self.patches.iter().any(|side| side % 4 != 0 || !(4..=1024).contains(side)) {
            let text = format!("{:?}", self.patches);
            return Err(Error::param("patches", text, "patch sides are multiples of 4 from 4 to 1024"));
        }
        Ok(())
    }

    /// All descriptors of a picture; at least one.
    pub(crate) fn describe(&self, picture: &Picture) -> Result<Descriptors> {
        let part = self.crop.map(|crop| crop.cut(picture)).transpose()?;
        let mut grey = part.as_ref().unwrap_or(picture).grey();
        let longer = grey.width.max(grey.height);
        if longer > self.max_side {
            let side = |length: usize| (length * self.max_side + longer / 2) / longer;
            grey = resize(&grey, side(grey.width), side(grey.height));
        }
        let descriptors = describe(&grey, self.step, self.patches);
        if descriptors.centers.is_empty() {
            return Err(Error::Data(format!(
                "the image is {} x {} pixels (width x height), too small for any patch; use smaller patches",
                grey.width, grey.height
            )));
        }
        Ok(descriptors)
    }

    /// So many descriptors of the images at `train`, equally from each of them.
    pub(crate) fn draw(
        &self,
        count: usize,
        seed: u64,
        images: &[ImageFile],
        train: &[usize],
        skip_broken: bool,
        watch: &dyn ImageObserver,
    ) -> Result<Drawn> {
        let quota = count.div_ceil(train.len().max(1));
        let sample = |place: usize, picture: &Picture| {
            let found = self.describe(picture)?;
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(place as u64 + 1);
            let drawn: Vec<usize> = (0..quota).map(|_| rng.random_range(0..found.centers.len())).collect();
            let centers: Vec<Center> = drawn.iter().map(|&j| found.centers[j]).collect();
            Ok((select_columns(found.values.as_ref(), &drawn), centers))
        };
        let sampled = each_image(images, train, "descriptors", watch, sample)?;
        let (samples, broken) = take_broken(sampled, images, skip_broken)?;
        if samples.len() < 2 {
            return Err(too_few());
        }
        let readable: Vec<usize> = samples.iter().map(|(place, _)| *place).collect();
        let (columns, centers): (Vec<Mat<f64>>, Vec<Vec<Center>>) =
            samples.into_iter().map(|(_, sample)| sample).unzip();
        let (columns, centers) = (concat_columns(&columns), centers.concat());
        let mut order: Vec<usize> = (0..columns.ncols()).collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        order.truncate(count);
        let descriptors = select_columns(columns.as_ref(), &order);
        Ok(Drawn { descriptors, centers: order.iter().map(|&j| centers[j]).collect(), readable, broken })
    }
}

/// The descriptors of a grey picture, and where they are taken.
#[derive(Clone, Debug)]
pub struct DenseSift {
    /// One per column.
    pub descriptors: Mat<f64>,
    /// Row and column of the middle of each patch, in pixels.
    pub centers: Vec<(f64, f64)>,
}

/// The descriptors of a grey picture as it is: of patches every `step` pixels, for every side that fits.
pub fn dense_sift(grey: &Picture, step: usize, patches: &[usize]) -> Result<DenseSift> {
    let whole = grey.width.max(grey.height);
    let dense = Dense { crop: None, max_side: whole, step, patches };
    Dense { max_side: 4096, ..dense }.check()?;
    let found = dense.describe(grey)?;
    let pixels = |(down, across): (f64, f64)| (down * grey.height as f64, across * grey.width as f64);
    Ok(DenseSift { descriptors: found.values, centers: found.centers.into_iter().map(pixels).collect() })
}

/// Refuses a number outside of these bounds.
pub(crate) fn within(name: &str, value: usize, least: usize, most: usize) -> Result<()> {
    let why = format!("must be a whole number from {least} to {most}");
    if (least..=most).contains(&value) { Ok(()) } else { Err(Error::param(name, value, why)) }
}

fn too_few() -> Error {
    Error::Data("visual words need at least two training images that can be read".into())
}

/// The principal directions of the vectors of training images, which new vectors are projected on.
#[derive(Clone, Debug)]
pub(crate) struct Directions {
    pub(crate) mean: Mat<f64>,
    pub(crate) basis: Mat<f64>,
}

impl Directions {
    /// Makes a vector of every image that descriptors were drawn from, finds the principal directions of these vectors, and gives
    /// the features of the images.
    pub(crate) fn of_images(
        vector: impl Fn(&Picture) -> Result<Vec<f64>> + Sync,
        dim: usize,
        images: &[ImageFile],
        (readable, broken): (&[usize], Vec<Broken>),
        skip_broken: bool,
        watch: &dyn ImageObserver,
    ) -> Result<(Self, Found)> {
        let vectors = each_image(images, readable, "training images", watch, |_, picture| vector(picture))?;
        let (vectors, more) = take_broken(vectors, images, skip_broken)?;
        let directions = Directions::fit(&vectors, dim)?;
        let features = vectors.iter().map(|(place, vector)| (*place, directions.project(vector))).collect();
        Ok((directions, (features, [broken, more].concat())))
    }

    /// At most `dim` directions, never more than the vectors span.
    fn fit(vectors: &[(usize, Vec<f64>)], dim: usize) -> Result<Self> {
        if vectors.len() < 2 {
            return Err(too_few());
        }
        let x = Mat::from_fn(vectors[0].1.len(), vectors.len(), |i, j| vectors[j].1[i]);
        let directions = pca(x.as_ref(), dim, "PCA of the image vectors")?;
        if directions.basis.ncols() == 0 {
            return Err(Error::Data("all training images give the same vector; there is nothing to learn".into()));
        }
        let mean = Mat::from_fn(directions.mean.len(), 1, |i, _| directions.mean[i]);
        Ok(Directions { mean, basis: directions.basis })
    }

    /// Directions that came from a file.
    pub(crate) fn restore(mean: Mat<f64>, basis: Mat<f64>, length: usize) -> Result<Self> {
        if mean.shape() != (length, 1) || basis.nrows() != length || basis.ncols() == 0 {
            return Err(Error::Data("the principal directions do not fit the vectors of the feature map".into()));
        }
        Ok(Directions { mean, basis })
    }

    pub(crate) fn dim(&self) -> usize {
        self.basis.ncols()
    }

    /// One vector at a time, so that its bits never depend on those beside it.
    pub(crate) fn project(&self, vector: &[f64]) -> Vec<f64> {
        let centered = Mat::from_fn(vector.len(), 1, |i, _| vector[i] - self.mean[(i, 0)]);
        mul(self.basis.transpose(), centered.as_ref()).col(0).iter().copied().collect()
    }
}
