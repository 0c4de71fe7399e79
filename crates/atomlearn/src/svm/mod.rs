//! One-vs-rest linear SVM with squared hinge loss and a free bias.
//!
//! Per class `c`, with targets `t = +1` for its own samples and `-1` for all others:
//!
//! ```text
//! min_{u,b}  tau |u|^2 + sum_i max(0, 1 - t_i (u^T z_i + b))^2
//! ```
//!
//! [`one_vs_rest`] solves it exactly by Newton's method on the active set; [`lbfgs::one_vs_rest`] stops early, as the
//! published codes do. What becomes part of a model goes through [`fit`] or [`settle`], which check that it is the optimum.

mod bordered_solve;
mod careful;
mod checked;
pub mod lbfgs;
mod left_out;
mod nearly_all_active;
mod newton;
mod optimality;
mod warm_start;

pub use checked::{fit, fit_weighted, settle};
pub use left_out::left_out;
pub use newton::{Memory, SvmStart, Trained, one_vs_rest, one_vs_rest_in};

use crate::linalg::{View, dot, mul};
use faer::Mat;

/// How errors name this solver.
const STAGE: &str = "SVM";

/// One linear classifier per class.
#[derive(Clone, Debug, PartialEq)]
pub struct Svm {
    /// `U`, dimensions x classes.
    pub weights: Mat<f64>,
    /// `b`, one per class.
    pub bias: Vec<f64>,
}

impl Svm {
    /// The classifiers that are zero everywhere.
    pub fn zero(dim: usize, n_classes: usize) -> Self {
        Svm { weights: Mat::zeros(dim, n_classes), bias: vec![0.0; n_classes] }
    }

    /// `b` as a 1 x classes matrix.
    pub fn bias_row(&self) -> Mat<f64> {
        Mat::from_fn(1, self.bias.len(), |_, c| self.bias[c])
    }

    /// The classifiers that give for `z - origin` what these give for `z`.
    pub fn seen_from(&self, origin: &[f64]) -> Self {
        let shift = |c: usize| self.bias[c] + dot(self.weights.col_as_slice(c), origin);
        Svm { bias: (0..self.bias.len()).map(shift).collect(), weights: self.weights.clone() }
    }

    /// `U^T z + b`, classes x samples.
    pub fn scores(&self, z: impl View) -> Mat<f64> {
        self.with_bias(mul(self.weights.transpose(), z))
    }

    /// `U^T z + b` from `U^T z`.
    pub fn with_bias(&self, mut scores: Mat<f64>) -> Mat<f64> {
        for column in scores.as_mut().col_iter_mut() {
            column.iter_mut().zip(&self.bias).for_each(|(s, b)| *s += b);
        }
        scores
    }

    /// `sum_c |u_c|^2` and `sum_c sum_i max(0, 1 - t (u_c^T z_i + b_c))^2` from the scores of the training samples.
    pub fn objective_terms(&self, scores: &Mat<f64>, targets: &[usize]) -> (f64, f64) {
        let loss = |i: usize, c: usize| (1.0 - sign(targets[i], c) * scores[(c, i)]).max(0.0).powi(2);
        let losses = (0..scores.ncols()).map(|i| (0..scores.nrows()).map(|c| loss(i, c)).sum::<f64>()).sum();
        (self.weights.squared_norm_l2(), losses)
    }
}

/// `+1` for a sample's own class, `-1` for every other.
pub(crate) fn sign(target: usize, class: usize) -> f64 {
    if target == class { 1.0 } else { -1.0 }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing::noise;

    /// Random codes of three overlapping classes: dim x n and targets.
    pub fn problem(dim: usize, n: usize) -> (Mat<f64>, Vec<usize>) {
        let targets: Vec<usize> = (0..n).map(|i| i % 3).collect();
        let z = Mat::from_fn(dim, n, |i, j| noise(i, j) + if i % 3 == targets[j] { 0.3 } else { 0.0 });
        (z, targets)
    }

    pub fn objective(svm: &Svm, z: impl View, targets: &[usize], tau: f64) -> f64 {
        let (norms, losses) = svm.objective_terms(&svm.scores(z), targets);
        tau * norms + losses
    }

    /// Gradient of the objective in `U` (dim x C, a last row for `b`).
    pub fn gradient(svm: &Svm, z: impl View, targets: &[usize], tau: f64) -> Mat<f64> {
        let z = z.view();
        let (dim, n_classes) = svm.weights.shape();
        let scores = svm.scores(z);
        let mut gradient =
            Mat::from_fn(dim + 1, n_classes, |i, c| if i < dim { 2.0 * tau * svm.weights[(i, c)] } else { 0.0 });
        for i in 0..z.ncols() {
            for c in 0..n_classes {
                let t = sign(targets[i], c);
                let pull = -2.0 * t * (1.0 - t * scores[(c, i)]).max(0.0);
                (0..dim).for_each(|k| gradient[(k, c)] += pull * z[(k, i)]);
                gradient[(dim, c)] += pull;
            }
        }
        gradient
    }

    #[test]
    fn gradient_equals_finite_differences() {
        let (z, targets) = problem(4, 15);
        let svm = Svm { weights: Mat::from_fn(4, 3, |i, c| (i as f64 - c as f64) * 0.3), bias: vec![0.1, -0.2, 0.3] };
        let exact = gradient(&svm, z.as_ref(), &targets, 0.2);
        let h = 1e-6;
        for c in 0..3 {
            for k in 0..5 {
                let moved = |by: f64| {
                    let mut svm = svm.clone();
                    if k < 4 {
                        svm.weights[(k, c)] += by
                    } else {
                        svm.bias[c] += by
                    }
                    objective(&svm, z.as_ref(), &targets, 0.2)
                };
                assert!(((moved(h) - moved(-h)) / (2.0 * h) - exact[(k, c)]).abs() < 1e-6);
            }
        }
    }
}
