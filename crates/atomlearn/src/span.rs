//! Exact reduction of data with more features than samples to the span of the samples.
//!
//! With `X = Q X_r`, `Q^T Q = I`, a method whose learned maps only ever see the data through products with `X` learns
//! the same model from the few rows of `X_r`: analysis dictionaries are `Omega = Omega_r Q^T`, synthesis dictionaries
//! `D = Q D_r`, and norms of rows and columns are preserved. Nothing is approximated.

use crate::linalg::{View, column_norms, mul, qr};
use crate::{Dataset, Result};
use faer::Mat;

/// A row of `R` below this fraction of the largest is rounding.
const NEGLIGIBLE: f64 = 1e-13;

/// Training data, and the same in coordinates of their span if these are fewer. Learning happens in [`Span::train`]; what is
/// learned is lifted back among all features. Without a reduction both are the same, and lifting changes nothing.
pub struct Span<'a> {
    full: &'a Dataset,
    reduced: Option<Reduced>,
}

struct Reduced {
    /// `Q`: orthonormal columns whose span holds the samples, features x rank.
    basis: Mat<f64>,
    /// The samples in that basis, `X_r = Q^T X`, rank x samples.
    train: Dataset,
}

impl<'a> Span<'a> {
    /// The data reduced if they have more features than samples.
    ///
    /// The QR decomposition gives samples that depend on earlier ones no direction of their own: its `R` is a staircase
    /// whose rows end at the rank. The rank is never below one.
    pub fn of(full: &'a Dataset) -> Result<Self> {
        if full.n_features() <= full.n_samples() {
            return Ok(Span { full, reduced: None });
        }
        let (q, r) = qr(full.x());
        let rows = column_norms(r.transpose());
        let largest = rows.iter().copied().fold(0.0, f64::max);
        let rank = rows.iter().rposition(|&norm| norm > NEGLIGIBLE * largest).map_or(1, |last| last + 1);
        let train = full.with_features(r.subrows(0, rank).to_owned())?;
        Ok(Span { full, reduced: Some(Reduced { basis: q.subcols(0, rank).to_owned(), train }) })
    }

    /// The data with all their features.
    pub fn full(&self) -> &'a Dataset {
        self.full
    }

    /// The data to learn from.
    pub fn train(&self) -> &Dataset {
        self.reduced.as_ref().map_or(self.full, |reduced| &reduced.train)
    }

    /// `Q`, if the data were reduced, and the data to learn from.
    pub fn into_parts(self) -> (Option<Mat<f64>>, Dataset) {
        match self.reduced {
            Some(Reduced { basis, train }) => (Some(basis), train),
            None => (None, self.full.clone()),
        }
    }

    /// `Q`, if the data were reduced.
    pub fn basis(&self) -> Option<&Mat<f64>> {
        self.reduced.as_ref().map(|reduced| &reduced.basis)
    }

    /// `Omega = Omega_r Q^T`: rows back among all features.
    pub fn lift_rows(&self, rows: &Mat<f64>) -> Mat<f64> {
        self.basis().map_or_else(|| rows.clone(), |basis| mul(rows, basis.transpose()))
    }

    /// `D = Q D_r`: columns back among all features.
    pub fn lift_columns(&self, columns: &Mat<f64>) -> Mat<f64> {
        self.basis().map_or_else(|| columns.clone(), |basis| mul(basis, columns))
    }

    /// `Omega_r = Omega Q`: the part of some rows that the samples can see.
    pub fn project_rows(&self, rows: impl View) -> Mat<f64> {
        match self.basis() {
            Some(basis) => mul(rows, basis),
            None => rows.view().to_owned(),
        }
    }

    /// `D_r = Q^T D`: the part of some columns that the samples can see.
    pub fn project_columns(&self, columns: Mat<f64>) -> Mat<f64> {
        match self.basis() {
            Some(basis) => mul(basis.transpose(), &columns),
            None => columns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::gram;
    use crate::synth;

    fn check(full: &Dataset, rank: usize) {
        let span = Span::of(full).unwrap();
        let basis = span.basis().unwrap();
        assert_eq!(basis.shape(), (full.n_features(), rank));
        assert!((gram(basis) - Mat::<f64>::identity(rank, rank)).norm_max() < 1e-13);
        assert!((span.lift_columns(&span.train().x().to_owned()) - full.x()).norm_max() < 1e-13);
        assert_eq!(span.train().blocks(), full.blocks());
        let rows = Mat::from_fn(3, rank, |i, j| (i + 2 * j) as f64 / 7.0);
        let lifted = span.lift_rows(&rows);
        assert!((span.project_rows(&lifted) - &rows).norm_max() < 1e-12);
        assert!((span.project_columns(lifted.transpose().to_owned()) - rows.transpose()).norm_max() < 1e-12);
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
        let tall = synth::blobs(2, 10, 20, 3);
        let span = Span::of(&tall).unwrap();
        let atoms = Mat::from_fn(20, 3, |i, k| (i * 3 + k) as f64);
        assert!(span.basis().is_none() && std::ptr::eq(span.train(), span.full()));
        assert_eq!(span.lift_columns(&atoms), atoms);
        assert_eq!(span.project_rows(atoms.transpose()), atoms.transpose());
        let nothing = synth::blobs(2, 2, 9, 4).with_features(Mat::zeros(9, 4)).unwrap();
        let span = Span::of(&nothing).unwrap();
        assert!(span.train().n_features() == 1 && span.train().x().norm_max() == 0.0);
        assert!(span.basis().unwrap().is_all_finite());
    }
}
