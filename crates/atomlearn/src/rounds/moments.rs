//! First and second moments of the whole training set.

use crate::linalg::{concat_columns, mul_add, normalize_columns, scaled_columns};
use crate::pca::pca_from_scatter;
use crate::{Blocks, Error, Observer, Result};
use faer::{Mat, MatRef};

/// Sums over all training samples after preprocessing.
#[derive(Clone, Debug)]
pub struct Moments {
    /// Samples of every class.
    pub counts: Vec<f64>,
    /// Sum of the samples of every class, features x classes.
    pub sums: Mat<f64>,
    /// `X X^T`.
    pub outer: Mat<f64>,
}

impl Moments {
    /// Of no samples.
    pub fn none() -> Self {
        Moments { counts: Vec::new(), sums: Mat::new(), outer: Mat::new() }
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.sums.nrows()
    }

    /// Number of samples.
    pub fn n_samples(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// Mean of all samples, a column.
    pub fn mean(&self) -> Mat<f64> {
        let n = self.n_samples();
        Mat::from_fn(self.n_features(), 1, |i, _| self.sums.row(i).iter().sum::<f64>() / n)
    }

    /// The sums of the classes as seen from the mean of all samples, features x classes.
    pub(crate) fn centered_sums(&self) -> Mat<f64> {
        let mean = self.mean();
        Mat::from_fn(self.n_features(), self.counts.len(), |i, c| self.sums[(i, c)] - self.counts[c] * mean[(i, 0)])
    }

    /// Mean of every class, features x classes.
    pub fn means(&self) -> Mat<f64> {
        scaled_columns(&self.sums, |c| 1.0 / self.counts[c])
    }

    /// `X_c X_c^T` from the scatter of the class about its mean.
    pub(crate) fn class_outer(&self, scatter: &Mat<f64>, class: usize) -> Mat<f64> {
        let mut outer = scatter.clone();
        let sum = self.sums.subcols(class, 1);
        mul_add(outer.as_mut(), 1.0 / self.counts[class], sum, sum.transpose());
        outer
    }

    /// `X X^T` from the scatter of every class about its mean.
    pub(crate) fn outer_of(&self, scatters: &[Mat<f64>]) -> Mat<f64> {
        let mut outer = Mat::zeros(self.n_features(), self.n_features());
        scatters.iter().enumerate().for_each(|(c, scatter)| outer += self.class_outer(scatter, c));
        outer
    }
}

/// Takes what rounding put between the centre of a scatter and the mean out of both: `rest` is the sum of `x - centre`. Returns the
/// mean.
pub(crate) fn about_the_mean(scatter: &mut Mat<f64>, center: MatRef<'_, f64>, rest: &Mat<f64>, n: f64) -> Mat<f64> {
    mul_add(scatter.as_mut(), -1.0 / n, rest, rest.transpose());
    Mat::from_fn(center.nrows(), 1, |i, _| center[(i, 0)] + rest[(i, 0)] / n)
}

/// Second moments and class sums of features with a constant 1 behind them, from those without.
pub(crate) fn bordered(second: &Mat<f64>, by_class: &Mat<f64>, counts: &[f64]) -> (Mat<f64>, Mat<f64>) {
    let (r, n_classes) = by_class.shape();
    let total = |i: usize| (0..n_classes).map(|c| by_class[(i, c)]).sum::<f64>();
    let whole = Mat::from_fn(r + 1, r + 1, |i, j| match (i == r, j == r) {
        (false, false) => second[(i, j)],
        (true, false) => total(j),
        (false, true) => total(i),
        (true, true) => counts.iter().sum(),
    });
    (whole, Mat::from_fn(r + 1, n_classes, |i, c| if i < r { by_class[(i, c)] } else { counts[c] }))
}

/// [`crate::init::class_pca_mean_of`] from the scatter of every class about its mean. A class whose samples span too
/// little gets fewer atoms, and the observer is told.
pub(crate) fn class_pca_mean(
    moments: &Moments,
    scatters: &[Mat<f64>],
    wanted: &[usize],
    watch: &mut dyn Observer,
) -> Result<(Mat<f64>, Blocks)> {
    let means = moments.means();
    let mut parts = Vec::with_capacity(scatters.len());
    for (c, scatter) in scatters.iter().enumerate() {
        let most = wanted[c].saturating_sub(1).min(moments.counts[c] as usize - 1);
        let mut mean = means.subcols(c, 1).to_owned();
        let directions = pca_from_scatter(Vec::new(), scatter, moments.counts[c], most, "class-wise PCA")?;
        let mut atoms = vec![directions.basis];
        if normalize_columns(mean.as_mut()) == 0 {
            atoms.push(mean);
        }
        parts.push(concat_columns(&atoms));
    }
    let short: Vec<usize> = (0..parts.len()).filter(|&c| parts[c].ncols() < wanted[c]).collect();
    if let Some(&c) = short.first() {
        watch.warn(&format!(
            "{} of {} classes get fewer atoms than asked for, their samples span no more (class number {c}: {} instead of {})",
            short.len(),
            parts.len(),
            parts[c].ncols(),
            wanted[c],
        ));
    }
    let blocks = Blocks::from_sizes(parts.iter().map(Mat::ncols));
    if blocks.total() == 0 {
        return Err(Error::Data("every training sample is zero: there is nothing to learn a dictionary from".into()));
    }
    Ok((concat_columns(&parts), blocks))
}
