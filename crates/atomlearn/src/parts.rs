//! Named matrices of a model.

use crate::svm::Svm;
use crate::{Blocks, Error, Result};
use faer::Mat;
use std::collections::HashMap;

/// Named matrices of a model on their way out of a file: taken by name, with their shapes checked.
#[derive(Debug)]
pub struct Parts {
    /// Class names.
    pub classes: Vec<String>,
    /// Whose parts they are, for errors.
    of: &'static str,
    matrices: HashMap<String, Mat<f64>>,
}

impl Parts {
    /// Parts from their names and matrices.
    pub fn new(classes: Vec<String>, matrices: HashMap<String, Mat<f64>>) -> Self {
        Self::of("model", classes, matrices)
    }

    /// Parts of something that is no model.
    pub(crate) fn of(of: &'static str, classes: Vec<String>, matrices: HashMap<String, Mat<f64>>) -> Self {
        Parts { classes, of, matrices }
    }

    /// What nobody took.
    pub(crate) fn into_rest(self) -> HashMap<String, Mat<f64>> {
        self.matrices
    }

    /// Takes a matrix of any shape.
    pub fn take(&mut self, name: &str) -> Result<Mat<f64>> {
        self.matrices.remove(name).ok_or_else(|| Error::Data(format!("the {} has no part `{name}`", self.of)))
    }

    /// Takes a matrix that must have exactly this shape; `None` leaves a side open.
    pub fn take_shaped(
        &mut self,
        name: &str,
        rows: impl Into<Option<usize>>,
        cols: impl Into<Option<usize>>,
    ) -> Result<Mat<f64>> {
        let matrix = self.take(name)?;
        let (rows, cols) = (rows.into(), cols.into());
        if rows.is_some_and(|rows| rows != matrix.nrows()) || cols.is_some_and(|cols| cols != matrix.ncols()) {
            let side = |size: Option<usize>| size.map_or("any".to_string(), |size| size.to_string());
            return Err(Error::Shape {
                what: format!("{} part `{name}`", self.of),
                expected: format!("{} x {}", side(rows), side(cols)),
                found: format!("{} x {}", matrix.nrows(), matrix.ncols()),
            });
        }
        Ok(matrix)
    }

    /// Takes a row of numbers, of this length if it is given.
    pub fn take_row(&mut self, name: &str, len: impl Into<Option<usize>>) -> Result<Vec<f64>> {
        Ok(self.take_shaped(name, 1, len)?.row(0).iter().copied().collect())
    }

    /// Takes a row of counts or indices, each at most `largest`.
    pub fn take_whole_row(&mut self, name: &str, len: impl Into<Option<usize>>, largest: usize) -> Result<Vec<usize>> {
        let whole = |v: f64| (v >= 0.0 && v.fract() == 0.0 && v <= largest as f64).then_some(v as usize);
        let row: Option<Vec<usize>> = self.take_row(name, len)?.into_iter().map(whole).collect();
        row.ok_or_else(|| {
            Error::Data(format!("{} part `{name}` is not a list of whole numbers up to {largest}", self.of))
        })
    }

    /// Takes `svm_weights` (dim x classes) and `svm_bias` (1 x classes); `dim` is checked where it is known.
    pub fn take_svm(&mut self, dim: Option<usize>) -> Result<Svm> {
        let weights = self.take_shaped("svm_weights", dim, self.classes.len())?;
        let bias = self.take_row("svm_bias", self.classes.len())?;
        Ok(Svm { weights, bias })
    }

    /// Takes a 1 x C row of block sizes that must add up to `total`; the counterpart of [`sizes_row`].
    pub fn take_blocks(&mut self, name: &str, total: usize) -> Result<Blocks> {
        let sizes = self.take_whole_row(name, self.classes.len(), total)?;
        if sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size)) != Some(total) {
            let of = self.of;
            return Err(Error::Data(format!("{of} part `{name}` is not a list of sizes that add up to {total}")));
        }
        Ok(Blocks::from_sizes(sizes))
    }
}

/// Block sizes as a 1 x C matrix, so that they can be a model part.
pub fn sizes_row(blocks: &Blocks) -> Mat<f64> {
    let sizes: Vec<usize> = blocks.sizes().collect();
    Mat::from_fn(1, sizes.len(), |_, c| sizes[c] as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_block_sizes_are_refused() {
        let with = |row: &[f64]| {
            let matrix = Mat::from_fn(1, row.len(), |_, c| row[c]);
            let mut parts = Parts::new(vec!["a".into(), "b".into()], HashMap::from([("sizes".to_string(), matrix)]));
            parts.take_blocks("sizes", 3)
        };
        assert_eq!(with(&[1.0, 2.0]).unwrap().total(), 3);
        for bad in [&[1.0][..], &[1.0, 1.0], &[-1.0, 4.0], &[1.5, 1.5], &[f64::NAN, 3.0], &[1e300, 3.0]] {
            assert!(with(bad).is_err(), "{bad:?}");
        }
    }
}
