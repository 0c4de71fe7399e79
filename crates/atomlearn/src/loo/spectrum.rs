//! One eigendecomposition for the leave-one-out scores of every ridge.
//!
//! In the coordinates of their principal axes samples `X` have the scatter `X X^T = diag(s)`, so that with `F = X Y` (sums of classes)
//!
//! ```text
//! ridge regression without a bias      f_i = F^T diag(1 / (s + lambda)) x_i,      h_i = x_i^T diag(1 / (s + lambda)) x_i
//! the same without sample i            y_i - (y_i - f_i) / (1 - h_i)
//! ```

use super::STAGE;
use crate::linalg::{gram, mul, outer_gram, scaled_columns, select_columns, sym_eig};
use crate::{Blocks, Result};
use faer::{Mat, MatRef};

/// Samples along their principal axes.
pub(crate) struct Spectrum {
    /// Axes x samples.
    x: Mat<f64>,
    /// `s`, the squared length of every axis.
    squares: Vec<f64>,
    /// `F`.
    sums: Mat<f64>,
    /// Of the weights.
    roots: Vec<f64>,
}

impl Spectrum {
    /// Of samples grouped by class; the smaller of the two Gram matrices is decomposed. With the `roots` of weights, samples are multiplied by
    /// these.
    pub fn new(x: MatRef<'_, f64>, blocks: &Blocks, roots: Option<Vec<f64>>) -> Result<Self> {
        let roots = roots.unwrap_or_else(|| vec![1.0; x.ncols()]);
        let (squares, x) = if x.ncols() <= x.nrows() {
            let (values, vectors) = sym_eig(gram(x), STAGE)?;
            let x = scaled_columns(&vectors, |k| values[k].max(0.0).sqrt()).transpose().to_owned();
            (values, x)
        } else {
            let (values, vectors) = sym_eig(outer_gram(x), STAGE)?;
            (values, mul(vectors.transpose(), x))
        };
        let mut sums = Mat::zeros(x.nrows(), blocks.len());
        for (c, range) in blocks.ranges().enumerate() {
            for i in range {
                (0..x.nrows()).for_each(|k| sums[(k, c)] += roots[i] * x[(k, i)]);
            }
        }
        Ok(Spectrum { x, squares: squares.into_iter().map(|s| s.max(0.0)).collect(), sums, roots })
    }

    /// Scores of the samples at `places`, of classes `targets`, by ridge regression on one-hot labels that was trained on all
    /// others; classes x samples.
    pub fn ridge_left_out(&self, places: &[usize], targets: &[usize], lambda: f64) -> Mat<f64> {
        let mut x = select_columns(&self.x, places);
        let mut weighted = x.clone();
        let shares: Vec<f64> = self.squares.iter().map(|s| 1.0 / (s + lambda)).collect();
        let mut left = Vec::with_capacity(places.len());
        for i in 0..places.len() {
            let x = x.col_as_slice_mut(i);
            let weighted = weighted.col_as_slice_mut(i);
            weighted.iter_mut().zip(&shares).for_each(|(v, share)| *v *= share);
            left.push(1.0 - weighted.iter().zip(&*x).map(|(a, b)| a * b).sum::<f64>());
        }
        let mut scores = mul(self.sums.transpose(), &weighted);
        for i in 0..places.len() {
            for (c, score) in scores.col_as_slice_mut(i).iter_mut().enumerate() {
                let root = self.roots[places[i]];
                let y = if c == targets[i] { root } else { 0.0 };
                *score = (y - (y - *score) / left[i]) / root;
            }
        }
        scores
    }
}
