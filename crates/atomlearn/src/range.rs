//! Exact reduction of data with more features than samples to the range of the samples.
//!
//! With `X = Q X_r`, `Q^T Q = I`, a method whose learned maps only ever see the data through products with `X` learns
//! the same model from the few rows of `X_r`: analysis dictionaries are `Omega = Omega_r Q^T`, synthesis dictionaries
//! `D = Q D_r`, and norms of rows and columns are preserved. Nothing is approximated.

use crate::linalg::{View, column_norms, mul, qr};
use crate::{Dataset, Result};
use faer::Mat;

/// A row of `R` below this fraction of the largest is rounding.
const NEGLIGIBLE: f64 = 1e-13;

/// Training data in coordinates of their own range.
pub struct Reduced {
    /// `Q`: orthonormal columns whose span holds the samples, features x rank.
    pub basis: Mat<f64>,
    /// The same samples in that basis, `X_r = Q^T X`, rank x samples.
    pub train: Dataset,
}

/// The reduction of `train`, or `None` if it has no more features than samples.
///
/// The QR decomposition gives samples that depend on earlier ones no direction of their own: its `R` is a staircase
/// whose rows end at the rank. The rank is never below one.
pub fn reduce(train: &Dataset) -> Result<Option<Reduced>> {
    if train.n_features() <= train.n_samples() {
        return Ok(None);
    }
    let (q, r) = qr(train.x());
    let rows = column_norms(r.transpose());
    let largest = rows.iter().copied().fold(0.0, f64::max);
    let rank = rows.iter().rposition(|&norm| norm > NEGLIGIBLE * largest).map_or(1, |last| last + 1);
    let train = train.with_features(r.subrows(0, rank).to_owned())?;
    Ok(Some(Reduced { basis: q.subcols(0, rank).to_owned(), train }))
}

impl Reduced {
    /// `Omega = Omega_r Q^T`: rows of the reduced space back among all features.
    pub fn lift_rows(&self, rows: impl View) -> Mat<f64> {
        mul(rows, self.basis.transpose())
    }

    /// `D = Q D_r`: columns of the reduced space back among all features.
    pub fn lift_columns(&self, columns: impl View) -> Mat<f64> {
        mul(&self.basis, columns)
    }

    /// `Omega_r = Omega Q`: the part of some rows that the samples can see.
    pub fn project_rows(&self, rows: impl View) -> Mat<f64> {
        mul(rows, &self.basis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::gram;
    use crate::synth;

    fn check(train: &Dataset, rank: usize) {
        let reduced = reduce(train).unwrap().unwrap();
        assert_eq!(reduced.basis.shape(), (train.n_features(), rank));
        assert!((gram(&reduced.basis) - Mat::<f64>::identity(rank, rank)).norm_max() < 1e-13);
        assert!((reduced.lift_columns(reduced.train.x()) - train.x()).norm_max() < 1e-13);
        assert_eq!(reduced.train.blocks(), train.blocks());
        let rows = Mat::from_fn(3, rank, |i, j| (i + 2 * j) as f64 / 7.0);
        let lifted = reduced.lift_rows(&rows);
        assert!((reduced.project_rows(&lifted) - &rows).norm_max() < 1e-12);
    }

    #[test]
    fn wide_features_are_reduced_exactly() {
        check(&synth::blobs(3, 4, 40, 1), 12);
    }

    #[test]
    fn dependent_samples_lower_the_rank() {
        let train = synth::blobs(2, 3, 20, 2);
        let repeated = Mat::from_fn(20, 6, |i, j| train.x()[(i, j / 2)] * (1 + j) as f64);
        check(&train.with_features(repeated).unwrap(), 3);
    }

    #[test]
    fn equal_and_zero_samples_hide_no_other() {
        // Two equal samples, then directions that a QR might make up for the second.
        let train = synth::blobs(2, 2, 9, 5);
        let x = Mat::from_fn(9, 4, |i, j| f64::from(u8::from(i == [0, 0, 1, 2][j])));
        check(&train.with_features(x).unwrap(), 3);
        let x = Mat::from_fn(9, 4, |i, j| if j == 2 { 0.0 } else { (1 + i * i + j) as f64 });
        check(&train.with_features(Mat::from_fn(9, 4, |i, j| x[(i, j)] / 100.0)).unwrap(), 2);
    }

    #[test]
    fn nothing_to_reduce_and_nothing_at_all() {
        assert!(reduce(&synth::blobs(2, 10, 20, 3)).unwrap().is_none());
        let nothing = synth::blobs(2, 2, 9, 4).with_features(Mat::zeros(9, 4)).unwrap();
        let reduced = reduce(&nothing).unwrap().unwrap();
        assert!(reduced.train.n_features() == 1 && reduced.train.x().norm_max() == 0.0);
        assert!(reduced.basis.is_all_finite());
    }
}
