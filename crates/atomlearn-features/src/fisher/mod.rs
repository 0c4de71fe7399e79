//! Fisher vectors: how a mixture of Gaussians would have to change to fit the descriptors of one picture.
//!
//! Dense SIFT descriptors, square roots of their entries (Hellinger's kernel), are projected on their `D` principal directions, and
//! the position of the patch is put beside them. A mixture `sum_k w_k N(mu_k, diag(sigma_k^2))` of all training images is fitted once.
//! With the shares `q_k(x)` that component `k` has in each of the `n` descriptors `x` of a picture, the picture is
//!
//! ```text
//! 1 / (n sqrt(w_k))   sum_x q_k(x) (x - mu_k) / sigma_k,
//! 1 / (n sqrt(2 w_k)) sum_x q_k(x) ((x - mu_k)^2 / sigma_k^2 - 1)        for every k,
//! ```
//!
//! signed square roots of these numbers, scaled to unit length, on the principal directions of the training images.
//!
//! - Reference: Perronnin, Sanchez, Mensink, Improving the Fisher kernel for large-scale image classification, ECCV 2010; positions:
//!   Sanchez, Perronnin, de Campos, Modeling the spatial layout of images beyond spatial pyramids, Pattern Recognition Letters 2012.
//! - Differences: descriptors are those of the SIFT pyramid; shares below [`mixture::LEAST_SHARE`] count as zero.

mod mixture;

use crate::extract::{Found, ImageObserver};
use crate::frame::Crop;
use crate::sift::{Dense, Descriptors, Directions, Drawn, LENGTH, within};
use atomlearn::io::pictures::{ImageFile, Picture};
use atomlearn::linalg::mul;
use atomlearn::pca::pca;
use atomlearn::{Error, Mat, MatRef, Result};
use mixture::Mixture;
use serde::{Deserialize, Serialize};

/// Numbers that say where a patch is.
const POSITION: usize = 2;

/// What Fisher vectors are made with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FisherSpec {
    /// The part of every image that is used; all of it if none.
    pub crop: Option<Crop>,
    /// Larger images shrink until their longer side has this many pixels.
    pub max_side: usize,
    /// Pixels between patches.
    pub step: usize,
    /// Sides of the patches, multiples of 4.
    pub patches: Vec<usize>,
    /// Gaussians in the mixture.
    pub components: usize,
    /// Principal directions of a descriptor.
    pub descriptor_dim: usize,
    /// Descriptors drawn from the training images for these directions and for the mixture.
    pub descriptors: usize,
    /// Principal directions kept of the vectors; never more than the training images span.
    pub dim: usize,
    /// Seed of the drawn descriptors and of the first means.
    pub seed: u64,
}

impl Default for FisherSpec {
    fn default() -> Self {
        FisherSpec {
            crop: None,
            max_side: 300,
            step: 6,
            patches: vec![16, 24, 32],
            components: 64,
            descriptor_dim: 64,
            descriptors: 60_000,
            dim: 3000,
            seed: 0,
        }
    }
}

impl FisherSpec {
    pub(crate) fn check(&self) -> Result<()> {
        self.dense().check()?;
        within("words", self.components, 1, 1024)?;
        within("descriptor-dim", self.descriptor_dim, 1, LENGTH)?;
        within("descriptors", self.descriptors, self.components.max(2), 2_000_000)?;
        within("dim", self.dim, 1, 100_000)
    }

    fn dense(&self) -> Dense<'_> {
        Dense { crop: self.crop, max_side: self.max_side, step: self.step, patches: &self.patches }
    }
}

/// Square roots of descriptors on their principal directions, with positions.
#[derive(Clone, Debug)]
struct Local {
    mean: Mat<f64>,
    basis: Mat<f64>,
}

impl Local {
    fn fit(descriptors: MatRef<'_, f64>, dim: usize) -> Result<Self> {
        let found = pca(roots(descriptors, None).as_ref(), dim, "PCA of the descriptors")?;
        if found.basis.ncols() == 0 {
            return Err(Error::Data("the training images have no structure: all descriptors are equal".into()));
        }
        Ok(Local { mean: Mat::from_fn(LENGTH, 1, |i, _| found.mean[i]), basis: found.basis })
    }

    fn dim(&self) -> usize {
        self.basis.ncols() + POSITION
    }

    fn apply(&self, descriptors: &Descriptors) -> Mat<f64> {
        let roots = roots(descriptors.values.as_ref(), Some(&self.mean));
        let projected = mul(self.basis.transpose(), roots.as_ref());
        let (n_directions, centers) = (projected.nrows(), &descriptors.centers);
        let mut local = Mat::zeros(self.dim(), projected.ncols());
        for (j, &(down, across)) in centers.iter().enumerate() {
            let column = local.col_as_slice_mut(j);
            column[..n_directions].copy_from_slice(projected.col_as_slice(j));
            column[n_directions..].copy_from_slice(&[down - 0.5, across - 0.5]);
        }
        local
    }
}

/// Square roots of all entries, less the mean if there is one.
fn roots(values: MatRef<'_, f64>, mean: Option<&Mat<f64>>) -> Mat<f64> {
    Mat::from_fn(values.nrows(), values.ncols(), |i, j| values[(i, j)].sqrt() - mean.map_or(0.0, |mean| mean[(i, 0)]))
}

/// A fitted map.
#[derive(Clone, Debug)]
pub(crate) struct Fisher {
    spec: FisherSpec,
    local: Local,
    mixture: Mixture,
    directions: Directions,
}

impl Fisher {
    /// Fits everything on the images at `train`; also gives the features of these.
    pub(crate) fn fit(
        spec: &FisherSpec,
        images: &[ImageFile],
        train: &[usize],
        skip_broken: bool,
        watch: &dyn ImageObserver,
    ) -> Result<(Self, Found)> {
        spec.check()?;
        let Drawn { descriptors, centers, readable, broken } =
            spec.dense().draw(spec.descriptors, spec.seed, images, train, skip_broken, watch)?;
        let local = Local::fit(descriptors.as_ref(), spec.descriptor_dim)?;
        let drawn = local.apply(&Descriptors { values: descriptors, centers });
        let mixture = Mixture::fit(drawn.as_ref(), spec.components, spec.seed, watch)?;
        drop(drawn);
        let vector = |picture: &Picture| {
            let descriptors = spec.dense().describe(picture)?;
            Ok(mixture.fisher_vector(local.apply(&descriptors).as_ref()))
        };
        let seen = (&readable[..], broken);
        let (directions, found) = Directions::of_images(vector, spec.dim, images, seen, skip_broken, watch)?;
        Ok((Fisher { spec: spec.clone(), local, mixture, directions }, found))
    }

    /// Rebuilds a map from its parts, which may come from a hostile file.
    pub(crate) fn restore(spec: FisherSpec, mut take: impl FnMut(&str) -> Result<Mat<f64>>) -> Result<Self> {
        spec.check()?;
        let local = Local { mean: take("descriptor_mean")?, basis: take("descriptor_basis")? };
        let fits = local.mean.shape() == (LENGTH, 1) && local.basis.nrows() == LENGTH && local.basis.ncols() > 0;
        if !fits {
            return Err(Error::Data("the directions of the descriptors have a wrong size".into()));
        }
        let mixture = Mixture::restore(take("mixture")?, local.dim())?;
        let directions = Directions::restore(take("mean")?, take("basis")?, mixture.vector_length())?;
        Ok(Fisher { spec, local, mixture, directions })
    }

    pub(crate) fn spec(&self) -> &FisherSpec {
        &self.spec
    }

    pub(crate) fn parts(&self) -> Vec<(&'static str, &Mat<f64>)> {
        vec![
            ("descriptor_mean", &self.local.mean),
            ("descriptor_basis", &self.local.basis),
            ("mixture", self.mixture.part()),
            ("mean", &self.directions.mean),
            ("basis", &self.directions.basis),
        ]
    }

    pub(crate) fn dim(&self) -> usize {
        self.directions.dim()
    }

    pub(crate) fn apply(&self, picture: &Picture) -> Result<Vec<f64>> {
        let local = self.local.apply(&self.spec.dense().describe(picture)?);
        Ok(self.directions.project(&self.mixture.fisher_vector(local.as_ref())))
    }
}
