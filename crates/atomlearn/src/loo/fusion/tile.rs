//! The softmax and its moments, samples side by side in vectors.

use crate::linalg::exp;
use faer::Mat;

/// Samples whose logits are in the cache together.
pub(super) const TILE: usize = 64;

/// Softmax of some samples, side by side.
pub(super) struct Tile {
    /// Classes x samples: first logits, then exponentials, not yet divided by their sums.
    pub exponentials: Vec<[f64; TILE]>,
    pub tops: [f64; TILE],
    pub sums: [f64; TILE],
    /// Mean of each reading under the softmax.
    pub means: Vec<[f64; TILE]>,
    /// Means of products of two readings, pairs `(a, b <= a)` in order.
    pub squares: Vec<[f64; TILE]>,
}

impl Tile {
    pub fn new(n_classes: usize, n_readings: usize) -> Self {
        let zeros = |count: usize| vec![[0.0; TILE]; count];
        Tile {
            exponentials: zeros(n_classes),
            tops: [0.0; TILE],
            sums: [0.0; TILE],
            means: zeros(n_readings),
            squares: zeros(n_readings * (n_readings + 1) / 2),
        }
    }

    #[inline(always)]
    pub fn softmax(&mut self, scores: &[&Mat<f64>], weights: &[f64], start: usize, len: usize) {
        (self.tops, self.sums) = ([f64::NEG_INFINITY; TILE], [0.0; TILE]);
        for (c, logits) in self.exponentials.iter_mut().enumerate() {
            *logits = [0.0; TILE];
            for (f, &weight) in scores.iter().zip(weights) {
                let f = &f.col_as_slice(c)[start..start + len];
                for i in 0..len {
                    logits[i] += weight * f[i];
                }
            }
            for (top, &logit) in self.tops.iter_mut().zip(&*logits) {
                *top = top.max(logit);
            }
        }
        for logits in &mut self.exponentials {
            for ((logit, top), sum) in logits.iter_mut().zip(&self.tops).zip(&mut self.sums) {
                *logit = exp(*logit - top);
                *sum += *logit;
            }
        }
    }

    #[inline(always)]
    pub fn moments(&mut self, scores: &[&Mat<f64>], start: usize, len: usize) {
        self.means.iter_mut().chain(&mut self.squares).for_each(|sum| *sum = [0.0; TILE]);
        let shares = self.sums.map(|sum| 1.0 / sum);
        for (c, exponentials) in self.exponentials.iter().enumerate() {
            let mut pair = 0;
            for (a, f) in scores.iter().enumerate() {
                let f = &f.col_as_slice(c)[start..start + len];
                let mut weighted = [0.0; TILE];
                for i in 0..len {
                    weighted[i] = exponentials[i] * shares[i] * f[i];
                    self.means[a][i] += weighted[i];
                }
                for other in &scores[..=a] {
                    let other = &other.col_as_slice(c)[start..start + len];
                    let square = &mut self.squares[pair];
                    for i in 0..len {
                        square[i] += weighted[i] * other[i];
                    }
                    pair += 1;
                }
            }
        }
    }
}
