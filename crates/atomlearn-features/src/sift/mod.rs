//! SIFT spatial pyramids: dense descriptors, visual words, pooled codes, PCA.
//!
//! The pipeline of Lazebnik, Schmid and Ponce (2006) with the coding of Wang et al. (2010), in their settings: patches
//! of several sizes every 8 pixels, 1024 words, 5 neighbours, maximum over cells of a 1, 2, 4 pyramid, unit length.
//! Words and principal directions come from training images only.

mod codebook;
mod coding;
mod dense;
mod descriptor;
mod nearest;

pub(crate) use codebook::kmeans;
pub(crate) use dense::{Dense, Directions, Drawn, within};
pub use dense::{DenseSift, dense_sift};
pub(crate) use descriptor::{Descriptors, LENGTH};

use crate::extract::{Found, ImageObserver};
use crate::frame::Crop;
use atomlearn::io::pictures::{ImageFile, Picture};
use atomlearn::{Error, Mat, Result};
use coding::{Pool, Words};
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
        self.dense().check()?;
        within("words", self.words, 1, 16_384)?;
        within("descriptors", self.descriptors, self.words.max(2), 2_000_000)?;
        within("neighbours", self.neighbours, 1, 64)?;
        within("dim", self.dim, 1, 100_000)?;
        if self.levels.is_empty() || self.levels.iter().any(|side| !(1..=16).contains(side)) {
            let text = format!("{:?}", self.levels);
            return Err(Error::param("levels", text, "levels are numbers of cells along a side, from 1 to 16"));
        }
        Ok(())
    }

    fn dense(&self) -> Dense<'_> {
        Dense { crop: self.crop, max_side: self.max_side, step: self.step, patches: &self.patches }
    }

    fn n_cells(&self) -> usize {
        self.levels.iter().map(|side| side * side).sum()
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
    directions: Directions,
}

impl SiftPyramid {
    /// Finds words and principal directions of the images at `train`; also gives the features of these.
    pub(crate) fn fit(
        spec: &SiftSpec,
        images: &[ImageFile],
        train: &[usize],
        skip_broken: bool,
        watch: &dyn ImageObserver,
    ) -> Result<(Self, Found)> {
        spec.check()?;
        let Drawn { descriptors, readable, broken, .. } =
            spec.dense().draw(spec.descriptors, spec.seed, images, train, skip_broken, watch)?;
        let words = Words::new(kmeans(descriptors.as_ref(), spec.words, spec.seed, watch)?);
        let pooled = |picture: &Picture| Ok(words.pool(&spec.dense().describe(picture)?, spec.pool()));
        let seen = (&readable[..], broken);
        let (directions, found) = Directions::of_images(pooled, spec.dim, images, seen, skip_broken, watch)?;
        Ok((SiftPyramid { spec: spec.clone(), words, directions }, found))
    }

    /// Rebuilds a pyramid from its parts, which may come from a hostile file.
    pub(crate) fn restore(spec: SiftSpec, words: Mat<f64>, mean: Mat<f64>, basis: Mat<f64>) -> Result<Self> {
        spec.check()?;
        if words.nrows() != LENGTH || words.ncols() == 0 {
            return Err(Error::Data("the visual words of the SIFT pyramid have a wrong size".into()));
        }
        let directions = Directions::restore(mean, basis, words.ncols() * spec.n_cells())?;
        Ok(SiftPyramid { spec, words: Words::new(words), directions })
    }

    pub(crate) fn spec(&self) -> &SiftSpec {
        &self.spec
    }

    pub(crate) fn parts(&self) -> Vec<(&'static str, &Mat<f64>)> {
        vec![("words", &self.words.words), ("mean", &self.directions.mean), ("basis", &self.directions.basis)]
    }

    pub(crate) fn dim(&self) -> usize {
        self.directions.dim()
    }

    pub(crate) fn apply(&self, picture: &Picture) -> Result<Vec<f64>> {
        let pooled = self.words.pool(&self.spec.dense().describe(picture)?, self.spec.pool());
        Ok(self.directions.project(&pooled))
    }
}
