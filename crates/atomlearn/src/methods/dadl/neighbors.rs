//! The graph of nearest samples, weighted so that neighbours of the same class count more.

use crate::Dataset;
use crate::linalg::{View, column_energies, gram, mul};
use faer::{Mat, MatRef};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// An undirected weighted graph of samples.
pub(super) struct Neighbors {
    /// `(i, j, weight)` with `i < j`, each pair once; weights in 0..1.
    pub edges: Vec<(usize, usize, f64)>,
}

impl Neighbors {
    /// Joins every sample to its `k` nearest; `width` is the width of the correntropy kernel.
    ///
    /// With `delta_j = 1 - exp(-|x_i - x_j|^2 / width^2)` over the neighbours of `i`, neighbour `j` gets the sum over all
    /// neighbours `u` of `delta_u - delta_j`; if just one of the two shares the class of `i`, its absolute value, in
    /// favour of that one. A sample's weights are scaled to 0..1, and the two directions of a pair averaged.
    pub fn new(train: &Dataset, k: usize, width: f64) -> Self {
        let gram = gram(train.x());
        let targets = train.targets();
        let directed: Vec<Vec<(usize, f64)>> = (0..train.n_samples())
            .into_par_iter()
            .map(|i| {
                let nearest = nearest(gram.as_ref(), i, k);
                let delta = |squared: f64| 1.0 - (-squared / (width * width)).exp();
                let neighbor = |&(squared, j): &(f64, usize)| (delta(squared), targets[j] == targets[i]);
                let seen: Vec<(f64, bool)> = nearest.iter().map(neighbor).collect();
                nearest.iter().map(|&(_, j)| j).zip(scaled(seen.iter().map(|&v| favor(&seen, v)).collect())).collect()
            })
            .collect();
        let mut pairs = BTreeMap::new();
        for (i, neighbors) in directed.iter().enumerate() {
            for &(j, weight) in neighbors {
                *pairs.entry((i.min(j), i.max(j))).or_insert(0.0) += 0.5 * weight;
            }
        }
        Neighbors { edges: pairs.into_iter().map(|((i, j), weight)| (i, j, weight)).collect() }
    }

    /// `X (diag(p) + lambda L)`, `L` the Laplacian of the graph with edge weights multiplied by `factors`.
    pub fn spread(&self, x: MatRef<'_, f64>, p: &[f64], lambda: f64, factors: &[f64]) -> Mat<f64> {
        let n = x.ncols();
        let mut diagonal = p.to_vec();
        let mut joined: Vec<Vec<(usize, f64)>> = vec![Vec::new(); n];
        for (&(i, j, weight), factor) in self.edges.iter().zip(factors) {
            let weight = lambda * weight * factor;
            diagonal[i] += weight;
            diagonal[j] += weight;
            joined[i].push((j, weight));
            joined[j].push((i, weight));
        }
        let mut spread = Mat::zeros(x.nrows(), n);
        spread.as_mut().par_col_iter_mut().enumerate().with_min_len(16).for_each(|(j, mut column)| {
            column.as_mut().iter_mut().zip(x.col(j).iter()).for_each(|(s, v)| *s = diagonal[j] * v);
            for &(i, weight) in &joined[j] {
                column.as_mut().iter_mut().zip(x.col(i).iter()).for_each(|(s, v)| *s -= weight * v);
            }
        });
        spread
    }

    /// `|v_i - v_j|^2` of every edge.
    pub fn squared_distances(&self, v: impl View) -> Vec<f64> {
        let v = v.view();
        let distance = |&(i, j, _): &(usize, usize, f64)| {
            v.col(i).iter().zip(v.col(j).iter()).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()
        };
        self.edges.par_iter().with_min_len(64).map(distance).collect()
    }
}

/// The `k` nearest others of sample `i` as `(squared distance, index)`, nearest first; ties: the lower index.
fn nearest(gram: MatRef<'_, f64>, i: usize, k: usize) -> Vec<(f64, usize)> {
    let distance = |j: usize| (gram[(i, i)] + gram[(j, j)] - 2.0 * gram[(j, i)]).max(0.0);
    let mut others: Vec<(f64, usize)> = (0..gram.ncols()).filter(|&j| j != i).map(|j| (distance(j), j)).collect();
    let order = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    if k < others.len() {
        others.select_nth_unstable_by(k, order);
        others.truncate(k);
    }
    others.sort_unstable_by(order);
    others
}

/// The sum of differences in favour of one neighbour `v` against all of them.
fn favor(all: &[(f64, bool)], v: (f64, bool)) -> f64 {
    let against = |u: &(f64, bool)| match (u.1, v.1) {
        (true, false) => -(u.0 - v.0).abs(),
        (false, true) => (u.0 - v.0).abs(),
        _ => u.0 - v.0,
    };
    all.iter().map(against).sum()
}

/// Scales to 0..1; equal values all become 1.
fn scaled(weights: Vec<f64>) -> Vec<f64> {
    let low = weights.iter().copied().fold(f64::INFINITY, f64::min);
    let high = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    weights.into_iter().map(|w| if high > low { (w - low) / (high - low) } else { 1.0 }).collect()
}

/// `-min_i |z - z_i|^2` over the training codes of every class, classes x samples.
pub(super) fn nearest_of_class(
    codes: MatRef<'_, f64>,
    energy: &[f64],
    blocks: &crate::Blocks,
    z: MatRef<'_, f64>,
) -> Mat<f64> {
    let inner = mul(codes.transpose(), z);
    let own: Vec<f64> = column_energies(z);
    let classes: Vec<_> = blocks.ranges().collect();
    Mat::from_fn(classes.len(), z.ncols(), |c, j| {
        let squared = classes[c].clone().map(|i| energy[i] - 2.0 * inner[(i, j)]);
        // A class without samples (only a hostile file has one) is never the nearest.
        -(own[j] + squared.fold(f64::INFINITY, f64::min)).max(0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth;

    #[test]
    fn weights_are_symmetric_in_range_and_favour_the_own_class() {
        let train = synth::blobs(3, 10, 6, 1);
        let graph = Neighbors::new(&train, 5, 10.0);
        let targets = train.targets();
        let (mut same, mut other) = ((0.0, 0.0), (0.0, 0.0));
        for &(i, j, w) in &graph.edges {
            assert!(i < j && (0.0..=1.0).contains(&w));
            let mean = if targets[i] == targets[j] { &mut same } else { &mut other };
            *mean = (mean.0 + w, mean.1 + 1.0);
        }
        assert!(other.1 == 0.0 || same.0 / same.1 > other.0 / other.1);
    }

    #[test]
    fn laplacian_sums_to_zero_and_is_the_quadratic_form() {
        let train = synth::blobs(2, 8, 5, 2);
        let graph = Neighbors::new(&train, 3, 10.0);
        let factors: Vec<f64> = (0..graph.edges.len()).map(|e| 0.5 + 0.1 * (e % 5) as f64).collect();
        let spread = graph.spread(train.x(), &[0.0; 16], 1.0, &factors);
        let ones = Mat::from_fn(16, 1, |_, _| 1.0);
        assert!(mul(&spread, &ones).norm_max() < 1e-12);
        let form = mul(&spread, train.x().transpose());
        let trace: f64 = (0..5).map(|i| form[(i, i)]).sum();
        let distances = graph.squared_distances(train.x());
        let expected: f64 = graph.edges.iter().zip(&factors).zip(distances).map(|((e, f), d)| e.2 * f * d).sum();
        assert!((trace - expected).abs() < 1e-12);
    }

    #[test]
    fn a_hand_made_neighbourhood() {
        // Distances 0.1 (other class), 0.2 (own), 0.3 (own).
        let seen = [(0.1, false), (0.2, true), (0.3, true)];
        let weights: Vec<f64> = seen.iter().map(|&v| favor(&seen, v)).collect();
        let expected = [-0.3, 0.1 + 0.1, 0.2 - 0.1];
        assert!(weights.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{weights:?}");
        assert_eq!(scaled(vec![2.0, 2.0]), [1.0, 1.0]);
    }
}
