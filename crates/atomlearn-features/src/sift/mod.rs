//! SIFT spatial pyramids: dense descriptors, visual words, pooled codes, PCA.
//!
//! The pipeline of Lazebnik, Schmid and Ponce (2006) with the coding of Wang et al. (2010), in their settings: patches
//! of several sizes every 8 pixels, 1024 words, 5 neighbours, maximum over cells of a 1, 2, 4 pyramid, unit length.
//! Words and principal directions come from training images only.

mod codebook;
mod coding;
mod descriptor;

use crate::extract::{Broken, Watch, each_image, take_broken};
use crate::frame::Crop;
use crate::resize::resize;
use atomlearn::io::pictures::{ImageFile, Picture};
use atomlearn::linalg::mul;
use atomlearn::pca::pca;
use atomlearn::{Error, Mat, Result};
use codebook::kmeans;
use coding::{Pool, Words};
use descriptor::{Descriptors, LENGTH, describe};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// How a descriptor is written in visual words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coding {
    /// Locality-constrained linear coding over the nearest words.
    #[default]
    Llc,
    /// The nearest word alone.
    Hard,
}

/// How the codes within a cell become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pooling {
    /// The largest weight of each word.
    #[default]
    Max,
    /// The mean weight of each word.
    Average,
}

/// What a SIFT pyramid is made with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SiftSpec {
    /// The part of every image that is used; all of it if none.
    pub crop: Option<Crop>,
    /// Larger images shrink until their longer side has this many pixels.
    pub max_side: usize,
    /// Pixels between patches.
    pub step: usize,
    /// Sides of the patches, multiples of 4.
    pub patches: Vec<usize>,
    /// Number of visual words.
    pub words: usize,
    /// Descriptors drawn from the training images to find the words.
    pub descriptors: usize,
    /// How a descriptor is written in words.
    pub coding: Coding,
    /// Words a descriptor is written in, for [`Coding::Llc`].
    pub neighbours: usize,
    /// How the codes within a cell become one.
    pub pooling: Pooling,
    /// Cells along each side of the picture, one entry for each level of the pyramid.
    pub levels: Vec<usize>,
    /// Principal directions kept; never more than the training images span.
    pub dim: usize,
    /// Seed of the drawn descriptors and of the first words.
    pub seed: u64,
}

impl Default for SiftSpec {
    fn default() -> Self {
        SiftSpec {
            crop: None,
            max_side: 300,
            step: 8,
            patches: vec![16, 24, 32],
            words: 1024,
            descriptors: 50_000,
            coding: Coding::Llc,
            neighbours: 5,
            pooling: Pooling::Max,
            levels: vec![1, 2, 4],
            dim: 3000,
            seed: 0,
        }
    }
}

impl SiftSpec {
    pub(crate) fn check(&self) -> Result<()> {
        let within = |name: &str, value: usize, least: usize, most: usize| {
            let why = format!("must be a whole number from {least} to {most}");
            if (least..=most).contains(&value) { Ok(()) } else { Err(Error::param(name, value, why)) }
        };
        within("max-side", self.max_side, 16, 4096)?;
        within("step", self.step, 1, 1024)?;
        within("words", self.words, 1, 16_384)?;
        within("descriptors", self.descriptors, self.words.max(2), 2_000_000)?;
        within("neighbours", self.neighbours, 1, 64)?;
        within("dim", self.dim, 1, 100_000)?;
        if self.patches.is_empty() || self.patches.iter().any(|side| side % 4 != 0 || !(4..=1024).contains(side)) {
            let text = format!("{:?}", self.patches);
            return Err(Error::param("patches", text, "patch sides are multiples of 4 from 4 to 1024"));
        }
        if self.levels.is_empty() || self.levels.iter().any(|side| !(1..=16).contains(side)) {
            let text = format!("{:?}", self.levels);
            return Err(Error::param("levels", text, "levels are numbers of cells along a side, from 1 to 16"));
        }
        Ok(())
    }

    fn n_cells(&self) -> usize {
        self.levels.iter().map(|side| side * side).sum()
    }

    fn describe(&self, picture: &Picture) -> Result<Descriptors> {
        let part = self.crop.map(|crop| crop.cut(picture)).transpose()?;
        let mut grey = part.as_ref().unwrap_or(picture).grey();
        let longer = grey.width.max(grey.height);
        if longer > self.max_side {
            let side = |length: usize| (length * self.max_side + longer / 2) / longer;
            grey = resize(&grey, side(grey.width), side(grey.height));
        }
        let descriptors = describe(&grey, self.step, &self.patches);
        if descriptors.centres.is_empty() {
            return Err(Error::Data(format!(
                "the image is {} x {} pixels (width x height), too small for any patch; use smaller patches",
                grey.width, grey.height
            )));
        }
        Ok(descriptors)
    }

    fn pool(&self) -> Pool<'_> {
        Pool { coding: self.coding, neighbours: self.neighbours, pooling: self.pooling, levels: &self.levels }
    }
}

/// A fitted pyramid.
#[derive(Clone, Debug)]
pub(crate) struct SiftPyramid {
    spec: SiftSpec,
    words: Words,
    mean: Mat<f64>,
    basis: Mat<f64>,
}

/// A fitted pyramid with the features of the training images it was fitted on, by their places.
pub(crate) struct FittedPyramid {
    pub(crate) pyramid: SiftPyramid,
    pub(crate) features: Vec<(usize, Vec<f64>)>,
    pub(crate) broken: Vec<Broken>,
}

impl SiftPyramid {
    /// Finds words and principal directions of the images at `train`.
    pub(crate) fn fit(
        spec: &SiftSpec,
        images: &[ImageFile],
        train: &[usize],
        skip_broken: bool,
        watch: &dyn Watch,
    ) -> Result<FittedPyramid> {
        spec.check()?;
        let quota = spec.descriptors.div_ceil(train.len().max(1));
        let sample = |place: usize, picture: &Picture| {
            let found = spec.describe(picture)?.values;
            let mut rng = ChaCha8Rng::seed_from_u64(spec.seed);
            rng.set_stream(place as u64 + 1);
            let drawn: Vec<usize> = (0..quota).map(|_| rng.random_range(0..found.ncols())).collect();
            Ok(atomlearn::linalg::select_columns(found.as_ref(), &drawn))
        };
        let sampled = each_image(images, train, "descriptors", watch, sample)?;
        let (samples, mut broken) = take_broken(sampled, images, skip_broken)?;
        let too_few = || Error::Data("a SIFT pyramid needs at least two training images that can be read".into());
        if samples.len() < 2 {
            return Err(too_few());
        }
        let readable: Vec<usize> = samples.iter().map(|(place, _)| *place).collect();
        let samples: Vec<Mat<f64>> = samples.into_iter().map(|(_, sample)| sample).collect();
        let samples = atomlearn::linalg::concat_columns(&samples);
        let mut order: Vec<usize> = (0..samples.ncols()).collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(spec.seed));
        order.truncate(spec.descriptors);
        let samples = atomlearn::linalg::select_columns(samples.as_ref(), &order);
        let words = Words::new(kmeans(samples.as_ref(), spec.words, spec.seed, watch)?);
        drop(samples);

        let pooled = |_, picture: &Picture| Ok(words.pool(&spec.describe(picture)?, spec.pool()));
        let vectors = each_image(images, &readable, "training images", watch, pooled)?;
        let (vectors, more) = take_broken(vectors, images, skip_broken)?;
        broken.extend(more);
        if vectors.len() < 2 {
            return Err(too_few());
        }
        let x = Mat::from_fn(vectors[0].1.len(), vectors.len(), |i, j| vectors[j].1[i]);
        let directions = pca(x.as_ref(), spec.dim, "PCA of the pyramids")?;
        if directions.basis.ncols() == 0 {
            return Err(Error::Data("all training images give the same pyramid; there is nothing to learn".into()));
        }
        let mean = Mat::from_fn(directions.mean.len(), 1, |i, _| directions.mean[i]);
        let pyramid = SiftPyramid { spec: spec.clone(), words, mean, basis: directions.basis };
        let features = vectors.into_iter().map(|(place, vector)| (place, pyramid.project(vector))).collect();
        Ok(FittedPyramid { pyramid, features, broken })
    }

    /// Rebuilds a pyramid from its parts, which may come from a hostile file.
    pub(crate) fn restore(spec: SiftSpec, words: Mat<f64>, mean: Mat<f64>, basis: Mat<f64>) -> Result<Self> {
        spec.check()?;
        let length = words.ncols() * spec.n_cells();
        let fits = words.nrows() == LENGTH && words.ncols() > 0 && mean.shape() == (length, 1);
        if !fits || basis.nrows() != length || basis.ncols() == 0 {
            return Err(Error::Data("the parts of the SIFT pyramid do not fit each other".into()));
        }
        Ok(SiftPyramid { spec, words: Words::new(words), mean, basis })
    }

    pub(crate) fn spec(&self) -> &SiftSpec {
        &self.spec
    }

    pub(crate) fn parts(&self) -> [(&'static str, &Mat<f64>); 3] {
        [("words", &self.words.words), ("mean", &self.mean), ("basis", &self.basis)]
    }

    pub(crate) fn dim(&self) -> usize {
        self.basis.ncols()
    }

    pub(crate) fn apply(&self, picture: &Picture) -> Result<Vec<f64>> {
        Ok(self.project(self.words.pool(&self.spec.describe(picture)?, self.spec.pool())))
    }

    /// One picture at a time, so that its bits never depend on the pictures beside it.
    fn project(&self, vector: Vec<f64>) -> Vec<f64> {
        let centred = Mat::from_fn(vector.len(), 1, |i, _| vector[i] - self.mean[(i, 0)]);
        mul(self.basis.transpose(), centred.as_ref()).col(0).iter().copied().collect()
    }
}
