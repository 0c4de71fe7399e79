//! Grey values as features, plain or through a random projection.

use crate::frame::{Crop, Fit, Frame};
use atomlearn::io::pictures::Picture;
use atomlearn::linalg::{mul, normalize_columns};
use atomlearn::{Error, Mat, Result};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// No vector of pixels is longer.
const MAX_PIXELS: usize = 1 << 22;
/// No random matrix has more entries.
const MAX_ENTRIES: usize = 1 << 27;

/// Grey values row by row, 0 to 255.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PixelsSpec {
    /// The part of every image that is used; all of it if none.
    pub crop: Option<Crop>,
    /// The size images get.
    pub frame: Frame,
}

impl Default for PixelsSpec {
    fn default() -> Self {
        PixelsSpec { crop: None, frame: Frame { rows: 54, cols: 48, fit: Fit::Stretch } }
    }
}

impl PixelsSpec {
    /// Refuses impossible sizes.
    pub(crate) fn check(&self) -> Result<()> {
        let size = self.frame.rows.checked_mul(self.frame.cols).filter(|&size| (1..=MAX_PIXELS).contains(&size));
        let text = format!("{}x{}", self.frame.rows, self.frame.cols);
        size.map(|_| ()).ok_or_else(|| Error::param("size", text, format!("1 to {MAX_PIXELS} pixels are possible")))
    }

    /// `54 x 48 pixels`.
    pub(crate) fn size_text(&self) -> String {
        format!("{} x {} pixels", self.frame.rows, self.frame.cols)
    }

    pub(crate) fn dim(&self) -> usize {
        self.frame.rows * self.frame.cols
    }

    pub(crate) fn apply(&self, picture: &Picture) -> Result<Vec<f64>> {
        let part = self.crop.map(|crop| crop.cut(picture)).transpose()?;
        let framed = self.frame.apply(&part.as_ref().unwrap_or(picture).grey())?;
        Ok(framed.pixels.into_iter().map(f64::from).collect())
    }
}

/// Pixels through a Gaussian matrix whose rows have unit length ("random faces").
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RandomFaceSpec {
    /// The pixels that are projected.
    pub pixels: PixelsSpec,
    /// Number of features.
    pub dim: usize,
    /// Seed of the matrix.
    pub seed: u64,
}

impl Default for RandomFaceSpec {
    fn default() -> Self {
        RandomFaceSpec { pixels: PixelsSpec::default(), dim: 540, seed: 0 }
    }
}

/// A drawn projection, pixels x features.
#[derive(Clone, Debug)]
pub(crate) struct RandomFace {
    pub(crate) spec: RandomFaceSpec,
    /// One unit column for each feature; kept in files, so that they do not depend on any generator.
    pub(crate) projection: Mat<f64>,
}

impl RandomFace {
    pub(crate) fn draw(spec: &RandomFaceSpec) -> Result<Self> {
        spec.check()?;
        let mut rng = ChaCha8Rng::seed_from_u64(spec.seed);
        let mut projection = Mat::zeros(spec.pixels.dim(), spec.dim);
        for column in projection.as_mut().col_iter_mut() {
            column.iter_mut().for_each(|v| *v = StandardNormal.sample(&mut rng));
        }
        normalize_columns(projection.as_mut());
        Ok(RandomFace { spec: spec.clone(), projection })
    }

    pub(crate) fn apply(&self, picture: &Picture) -> Result<Vec<f64>> {
        let pixels = self.spec.pixels.apply(picture)?;
        let column = Mat::from_fn(pixels.len(), 1, |i, _| pixels[i]);
        Ok(mul(self.projection.transpose(), column.as_ref()).col(0).iter().copied().collect())
    }
}

impl RandomFaceSpec {
    pub(crate) fn check(&self) -> Result<()> {
        self.pixels.check()?;
        let entries = self.dim.checked_mul(self.pixels.dim()).filter(|&entries| (1..=MAX_ENTRIES).contains(&entries));
        let why = format!("must be from 1 to {}", MAX_ENTRIES / self.pixels.dim());
        entries.map(|_| ()).ok_or_else(|| Error::param("dim", self.dim, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atomlearn::linalg::column_norms;

    #[test]
    fn rows_are_unit_and_the_seed_decides() {
        let spec = |seed| RandomFaceSpec { dim: 30, seed, ..RandomFaceSpec::default() };
        let first = RandomFace::draw(&spec(1)).unwrap();
        assert!(column_norms(first.projection.as_ref()).iter().all(|norm| (norm - 1.0).abs() < 1e-12));
        assert_eq!(first.projection, RandomFace::draw(&spec(1)).unwrap().projection);
        assert_ne!(first.projection, RandomFace::draw(&spec(2)).unwrap().projection);
        let picture = Picture { width: 48, height: 54, channels: 1, pixels: (0..54 * 48).map(|i| i as u8).collect() };
        let (pixels, features) = (first.spec.pixels.apply(&picture).unwrap(), first.apply(&picture).unwrap());
        assert_eq!(pixels, picture.pixels.iter().map(|&v| f64::from(v)).collect::<Vec<_>>());
        let expected: f64 = (0..pixels.len()).map(|i| first.projection[(i, 7)] * pixels[i]).sum();
        assert!((features[7] - expected).abs() < 1e-9);
        assert!(RandomFace::draw(&RandomFaceSpec { dim: 0, ..RandomFaceSpec::default() }).is_err());
    }
}
