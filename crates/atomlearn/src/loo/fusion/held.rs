//! What all trials of a round share.

use super::{Derivatives, HESSIAN_FLOOR, Judge, L2, TILE, Tile, Trial};
use crate::linalg::wide;
use faer::Mat;

/// The softmax of the readings chosen so far. Another reading starts with no weight, so that the first derivatives of all trials
/// need no exponential.
pub(super) struct Held<'a> {
    judge: &'a Judge,
    so_far: &'a Trial<'a>,
    /// Samples x classes.
    probabilities: Mat<f64>,
    /// Mean of every reading so far under the softmax, for every sample.
    means: Vec<Vec<f64>>,
}

impl<'a> Held<'a> {
    pub fn new(judge: &'a Judge, so_far: &'a Trial<'_>) -> Self {
        let n = judge.targets.len();
        let n_readings = so_far.scores.len();
        let mut probabilities = Mat::zeros(n, judge.n_classes);
        let mut means = vec![vec![0.0; n]; n_readings];
        let mut tile = Tile::new(judge.n_classes, n_readings);
        wide!({
            for start in (0..n).step_by(TILE) {
                let len = TILE.min(n - start);
                tile.softmax(&so_far.scores, &so_far.weights, start, len);
                tile.moments(&so_far.scores, start, len);
                for (c, exponentials) in tile.exponentials.iter().enumerate() {
                    let p = &mut probabilities.col_as_slice_mut(c)[start..start + len];
                    for i in 0..len {
                        p[i] = exponentials[i] / tile.sums[i];
                    }
                }
                for (mean, of_tile) in means.iter_mut().zip(&tile.means) {
                    mean[start..start + len].copy_from_slice(&of_tile[..len]);
                }
            }
        });
        Held { judge, so_far, probabilities, means }
    }

    /// Derivatives at no weight for one more reading.
    pub fn joined_by(&self, new: &Mat<f64>) -> Derivatives {
        let n = self.judge.targets.len();
        let n_readings = self.means.len();
        let say = &self.judge.say;
        // Means of the new reading and of its products with all readings, itself last.
        let mut mean = vec![0.0; n];
        let mut products = vec![vec![0.0; n]; n_readings + 1];
        wide!({
            for c in 0..self.judge.n_classes {
                let p = self.probabilities.col_as_slice(c);
                let f = new.col_as_slice(c);
                for start in (0..n).step_by(TILE) {
                    let part = start..n.min(start + TILE);
                    let p = &p[part.clone()];
                    let f = &f[part.clone()];
                    let mut weighted = [0.0; TILE];
                    for ((w, m), (p, f)) in weighted.iter_mut().zip(&mut mean[part.clone()]).zip(p.iter().zip(f)) {
                        *w = p * f;
                        *m += *w;
                    }
                    for (product, other) in products.iter_mut().zip(self.so_far.scores.iter().copied().chain([new])) {
                        let other = &other.col_as_slice(c)[part.clone()];
                        for ((sum, w), f) in product[part.clone()].iter_mut().zip(&weighted).zip(other) {
                            *sum += w * f;
                        }
                    }
                }
            }
        });
        let own = |i: usize| new[(i, self.judge.targets[i])];
        let slope: f64 = (0..n).map(|i| say[i] * (mean[i] - own(i))).sum();
        let curve = |e: usize| {
            let other = self.means.get(e).unwrap_or(&mean);
            let covariance = |i: usize| say[i] * (products[e][i] - mean[i] * other[i]);
            (0..n).map(covariance).sum::<f64>() + if e == n_readings { L2 + HESSIAN_FLOOR } else { 0.0 }
        };
        let Derivatives { loss, gradient, hessian } = &self.so_far.now;
        let last: Vec<f64> = (0..=n_readings).map(curve).collect();
        Derivatives {
            loss: *loss,
            gradient: gradient.iter().copied().chain([slope]).collect(),
            hessian: Mat::from_fn(n_readings + 1, n_readings + 1, |a, b| match a.max(b) {
                latest if latest == n_readings => last[a.min(b)],
                _ => hessian[(a, b)],
            }),
        }
    }
}
