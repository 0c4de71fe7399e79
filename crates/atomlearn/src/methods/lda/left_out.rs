//! Exact leave-one-out scores of LDA for every shrinkage, from one eigendecomposition.
//!
//! Let `E diag(sigma) E^T` be the scatter within classes. Without sample `i`, which lies `r = x_i - mu_y` from the mean of its `n_y`, with
//! `nu = n_y / (n_y - 1)`: the scatter is less by `nu r r^T`, the covariance matrix
//!
//! ```text
//! S_i = E diag(d) E^T - alpha r r^T,    d = (1 - s) sigma / (n - 1) + s level_i,    alpha = (1 - s) nu / (n - 1),
//! level_i = (tr - nu |r|^2) / ((n - 1) m)
//! ```
//!
//! and the own mean lies `nu r` away. With `P = E diag(1 / d) E^T`, by Sherman and Morrison's formula, squared distances are
//!
//! ```text
//! other classes   v^T P v + alpha (r^T P v)^2 / (1 - alpha q),   v = x_i - mu_c,   q = r^T P r
//! the own class   nu^2 q / (1 - alpha q)
//! ```
//!
//! With weights, `n` and `n_y` are their sums, and without a sample of weight `w`: `nu = n_y / (n_y - w)`, the scatter is less by `nu w r r^T`,
//! `n - w` takes the place of `n - 1`.
//!
//! In the coordinates of `E` all of this is products of matrices, though `d` differs from sample to sample.

use super::{CenteredSamples, scatter};
use crate::linalg::{dot, mul, sym_eig};
use crate::{Blocks, Result};
use faer::{Mat, MatRef};
use rayon::prelude::*;

/// Samples that are scored together; fixed, so that results never depend on the number of threads.
const TILE: usize = 256;
/// Of the trace of the scatter: below, samples do not differ within classes.
const NO_SPREAD: f64 = 1e-12;

/// Everything in the coordinates of `E`.
pub(super) struct WithoutSample {
    x: Mat<f64>,
    means: Mat<f64>,
    squared_means: Mat<f64>,
    spread: Mat<f64>,
    sigma: Vec<f64>,
    trace: f64,
    blocks: Blocks,
    /// Of the classes.
    counts: Vec<f64>,
    /// Of the samples.
    weights: Vec<f64>,
    targets: Vec<usize>,
    n_features: f64,
}

impl WithoutSample {
    /// `None` if samples do not differ within classes.
    pub fn new(seen: &CenteredSamples) -> Result<Option<Self>> {
        let (sigma, axes) = sym_eig(scatter(&seen.spread, seen.train.weights()), "LDA")?;
        let sigma: Vec<f64> = sigma.into_iter().map(|s| s.max(0.0)).collect();
        let trace: f64 = sigma.iter().sum();
        if !(trace > 0.0 && trace.is_finite()) {
            return Ok(None);
        }
        let turn = |a: MatRef<'_, f64>| mul(axes.transpose(), a);
        let means = turn(seen.means.as_ref());
        Ok(Some(WithoutSample {
            x: turn(seen.train.x()),
            squared_means: Mat::from_fn(means.nrows(), means.ncols(), |k, c| means[(k, c)] * means[(k, c)]),
            means,
            spread: turn(seen.spread.as_ref()),
            sigma,
            trace,
            blocks: seen.train.blocks().clone(),
            counts: seen.train.class_weights(),
            weights: seen.train.weights().map_or_else(|| vec![1.0; seen.train.n_samples()], <[f64]>::to_vec),
            targets: seen.train.targets(),
            n_features: seen.n_features as f64,
        }))
    }

    /// Scores of the samples at `places`, classes x samples, up to what is common to the classes of a sample. The only sample of a class
    /// gets zero for every class.
    pub fn scores(&self, places: &[usize], share: f64) -> Mat<f64> {
        let mut scores = Mat::zeros(self.blocks.len(), places.len());
        scores.as_mut().par_col_chunks_mut(TILE).zip(places.par_chunks(TILE)).for_each(|(mut tile, places)| {
            tile.copy_from(self.tile(places, share));
        });
        scores
    }

    fn tile(&self, places: &[usize], share: f64) -> Mat<f64> {
        let axes = self.sigma.len();
        let all: f64 = self.counts.iter().sum();
        let zeros = || Mat::<f64>::zeros(axes, places.len());
        let mut weights = zeros();
        let mut weighted_x = zeros();
        let mut weighted_r = zeros();
        let mut terms = Vec::with_capacity(places.len());
        for (t, &i) in places.iter().enumerate() {
            let weight = self.weights[i];
            let others = all - weight;
            let size = self.counts[self.targets[i]];
            let nu = if self.blocks.size(self.targets[i]) > 1 { size / (size - weight) } else { 1.0 };
            let x = self.x.col_as_slice(i);
            let r = self.spread.col_as_slice(i);
            let rest = self.trace - nu * weight * dot(r, r);
            // Without spread the covariance is the identity, as in training.
            let spread_out = rest > NO_SPREAD * self.trace;
            let level = rest / (others * self.n_features);
            let alpha = if spread_out { (1.0 - share) * nu * weight / others } else { 0.0 };
            let w = weights.col_as_slice_mut(t);
            let wx = weighted_x.col_as_slice_mut(t);
            let wr = weighted_r.col_as_slice_mut(t);
            for k in 0..axes {
                w[k] = if spread_out { 1.0 / ((1.0 - share) * self.sigma[k] / others + share * level) } else { 1.0 };
                (wx[k], wr[k]) = (w[k] * x[k], w[k] * r[k]);
            }
            terms.push(Terms { nu, alpha, xx: dot(x, wx), rx: dot(r, wx), rr: dot(r, wr) });
        }
        let x_means = mul(self.means.transpose(), &weighted_x);
        let r_means = mul(self.means.transpose(), &weighted_r);
        let mean_means = mul(self.squared_means.transpose(), &weights);
        Mat::from_fn(self.blocks.len(), places.len(), |c, t| {
            let weight = self.weights[places[t]];
            let (y, Terms { nu, alpha, xx, rx, rr }) = (self.targets[places[t]], terms[t]);
            if self.blocks.size(y) < 2 {
                return 0.0;
            }
            let left = 1.0 - alpha * rr;
            let (distance, count) = if c == y {
                (nu * nu * rr / left, self.counts[c] - weight)
            } else {
                let plain = xx - 2.0 * x_means[(c, t)] + mean_means[(c, t)];
                let along = rx - r_means[(c, t)];
                (plain + alpha * along * along / left, self.counts[c])
            };
            (count / (all - weight)).ln() - 0.5 * distance
        })
    }
}

/// What a sample contributes to all its scores.
#[derive(Clone, Copy)]
struct Terms {
    nu: f64,
    alpha: f64,
    xx: f64,
    rx: f64,
    rr: f64,
}
