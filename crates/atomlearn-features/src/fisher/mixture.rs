//! A mixture of Gaussians with diagonal covariances: expectation and maximisation, and the Fisher vector of some samples.

use crate::extract::{ImageObserver, stop_if_asked};
use crate::sift::kmeans;
use atomlearn::linalg::{exp, mul, vectorized};
use atomlearn::{Error, Mat, MatRef, Result};
use rayon::prelude::*;
use std::f64::consts::TAU;

/// Shares of a component below this count as zero; most are, which saves work.
pub(crate) const LEAST_SHARE: f64 = 1e-3;
const MAX_ITER: usize = 15;
/// Samples whose clusters give the first means, for each component.
const SEEDS: usize = 200;
/// No variance is a smaller share of the variance of all samples: equal patches, such as empty sky, would have none.
const LEAST_VARIANCE: f64 = 1e-2;
/// Samples taken together; fixed, so that sums never depend on the number of threads.
const BLOCK: usize = 2048;

/// The mixture, and what shares are computed from.
#[derive(Clone, Debug)]
pub(crate) struct Mixture {
    /// Weight, means and variances of a component in each column.
    part: Mat<f64>,
    /// The logarithm of a component's density is `constants[k] + slopes.col(k) * (x, x^2)`.
    slopes: Mat<f64>,
    constants: Vec<f64>,
}

/// Sums over samples, weighted by the shares of each component.
struct Sums {
    counts: Vec<f64>,
    /// Of `(x, x^2)`, a column for each component.
    moments: Mat<f64>,
}

impl Mixture {
    /// At most `count` components of the columns of `x`, which stand in random order.
    pub(crate) fn fit(x: MatRef<'_, f64>, count: usize, seed: u64, watch: &dyn ImageObserver) -> Result<Self> {
        let dim = x.nrows();
        let centers = kmeans(x.subcols(0, x.ncols().min(SEEDS * count)), count, seed, watch)?;
        let all = totals(x);
        let n = x.ncols() as f64;
        let variance = |i: usize| (all[dim + i] / n - (all[i] / n).powi(2)).max(0.0);
        let floors: Vec<f64> = (0..dim).map(|i| (LEAST_VARIANCE * variance(i)).max(1e-12)).collect();
        // All begin as wide as the data; the first iterations make them narrow.
        let first = |i: usize, k: usize| match i {
            0 => 1.0 / centers.ncols() as f64,
            _ if i <= dim => centers[(i - 1, k)],
            _ => variance(i - dim - 1).max(floors[i - dim - 1]) / 4.0,
        };
        let mut mixture = Mixture::new(Mat::from_fn(1 + 2 * dim, centers.ncols(), first));
        watch.begin("mixture of descriptors", MAX_ITER);
        for _ in 0..MAX_ITER {
            stop_if_asked(watch)?;
            mixture = mixture.maximized(&mixture.sums(x), &floors);
            watch.advance();
        }
        Ok(mixture)
    }

    fn new(part: Mat<f64>) -> Self {
        let dim = (part.nrows() - 1) / 2;
        let slopes = Mat::from_fn(2 * dim, part.ncols(), |i, k| match i < dim {
            true => part[(1 + i, k)] / part[(1 + dim + i, k)],
            false => -0.5 / part[(1 + i, k)],
        });
        let constant = |k: usize| {
            let of_feature = |i: usize| {
                let (mean, variance) = (part[(1 + i, k)], part[(1 + dim + i, k)]);
                0.5 * (mean * mean / variance + (TAU * variance).ln())
            };
            part[(0, k)].ln() - (0..dim).map(of_feature).sum::<f64>()
        };
        let constants = (0..part.ncols()).map(constant).collect();
        Mixture { part, slopes, constants }
    }

    /// A mixture that came from a file.
    pub(crate) fn restore(part: Mat<f64>, dim: usize) -> Result<Self> {
        let sizes = part.nrows() == 1 + 2 * dim && part.ncols() > 0;
        let positive = |i: usize| part.row(i).iter().all(|&v| v > 0.0 && v.is_finite());
        if !sizes || !positive(0) || !(1 + dim..=2 * dim).all(positive) {
            return Err(Error::Data("the mixture of the feature map has a wrong size or is no mixture".into()));
        }
        Ok(Mixture::new(part))
    }

    pub(crate) fn part(&self) -> &Mat<f64> {
        &self.part
    }

    fn dim(&self) -> usize {
        (self.part.nrows() - 1) / 2
    }

    pub(crate) fn vector_length(&self) -> usize {
        2 * self.dim() * self.part.ncols()
    }

    /// The expectation step.
    fn sums(&self, x: MatRef<'_, f64>) -> Sums {
        let starts: Vec<usize> = (0..x.ncols()).step_by(BLOCK).collect();
        let block = |&start: &usize| self.block_sums(x.subcols(start, BLOCK.min(x.ncols() - start)));
        let blocks: Vec<Sums> = starts.par_iter().map(block).collect();
        let none =
            Sums { counts: vec![0.0; self.part.ncols()], moments: Mat::zeros(2 * self.dim(), self.part.ncols()) };
        blocks.into_iter().fold(none, |mut sum, block| {
            sum.counts.iter_mut().zip(&block.counts).for_each(|(sum, more)| *sum += more);
            sum.moments += &block.moments;
            sum
        })
    }

    fn block_sums(&self, x: MatRef<'_, f64>) -> Sums {
        let dim = x.nrows();
        let squares =
            Mat::from_fn(2 * dim, x.ncols(), |i, j| if i < dim { x[(i, j)] } else { x[(i - dim, j)].powi(2) });
        let mut shares = mul(self.slopes.transpose(), squares.as_ref());
        let mut counts = vec![0.0; self.part.ncols()];
        for j in 0..shares.ncols() {
            let column = shares.col_as_slice_mut(j);
            vectorized(
                #[inline(always)]
                || share_out(column, &self.constants),
            );
            counts.iter_mut().zip(&*column).for_each(|(count, share)| *count += share);
        }
        Sums { counts, moments: mul(squares.as_ref(), shares.transpose()) }
    }

    /// The maximisation step. A component that nothing belongs to stays where it is, with little weight.
    fn maximized(&self, sums: &Sums, floors: &[f64]) -> Self {
        let dim = self.dim();
        let total: f64 = sums.counts.iter().map(|count| count.max(1.0)).sum();
        Mixture::new(Mat::from_fn(1 + 2 * dim, self.part.ncols(), |i, k| {
            let count = sums.counts[k];
            let mean = |i: usize| sums.moments[(i, k)] / count;
            match i {
                0 => count.max(1.0) / total,
                _ if count < 1.0 => self.part[(i, k)],
                _ if i <= dim => mean(i - 1),
                _ => (mean(i - 1) - mean(i - 1 - dim).powi(2)).max(floors[i - 1 - dim]),
            }
        }))
    }

    /// The Fisher vector of the columns of `x`: signed square roots, unit length.
    pub(crate) fn fisher_vector(&self, x: MatRef<'_, f64>) -> Vec<f64> {
        let dim = self.dim();
        let Sums { counts, moments } = self.block_sums(x);
        let n = x.ncols() as f64;
        let mut vector = Vec::with_capacity(self.vector_length());
        for (k, &count) in counts.iter().enumerate() {
            let weight = self.part[(0, k)];
            for i in 0..dim {
                let (mean, variance) = (self.part[(1 + i, k)], self.part[(1 + dim + i, k)]);
                vector.push((moments[(i, k)] - count * mean) / (n * (weight * variance).sqrt()));
            }
            for i in 0..dim {
                let (mean, variance) = (self.part[(1 + i, k)], self.part[(1 + dim + i, k)]);
                let squared = moments[(dim + i, k)] - 2.0 * mean * moments[(i, k)] + count * mean * mean;
                vector.push((squared / variance - count) / (n * (2.0 * weight).sqrt()));
            }
        }
        vector.iter_mut().for_each(|v| *v = v.signum() * v.abs().sqrt());
        let length = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
        if length > 0.0 {
            vector.iter_mut().for_each(|v| *v /= length);
        }
        vector
    }
}

/// Sums of `(x, x^2)` over all samples.
fn totals(x: MatRef<'_, f64>) -> Vec<f64> {
    let sums = x.row_iter().map(|row| row.iter().sum());
    let squares = x.row_iter().map(|row| row.iter().map(|v| v * v).sum());
    sums.chain(squares).collect()
}

/// From logarithms of densities, less their constants, to shares that add up to one or a little less.
#[inline(always)]
fn share_out(column: &mut [f64], constants: &[f64]) {
    column.iter_mut().zip(constants).for_each(|(v, constant)| *v += constant);
    let largest = column.iter().fold(f64::NEG_INFINITY, |most, &v| f64::max(most, v));
    column.iter_mut().for_each(|v| *v = exp(*v - largest));
    let sum: f64 = column.iter().sum();
    column.iter_mut().for_each(|v| *v = if *v < LEAST_SHARE * sum { 0.0 } else { *v / sum });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two groups of different widths, far from each other.
    fn groups() -> Mat<f64> {
        Mat::from_fn(2, 600, |i, j| {
            let noise = ((j * 37 + i * 101) % 97) as f64 / 97.0 - 0.5;
            if j % 3 == 0 { 4.0 + noise } else { -2.0 + 0.2 * noise * (1 + i) as f64 }
        })
    }

    #[test]
    fn a_mixture_finds_weights_means_and_variances_of_its_groups() {
        let x = groups();
        let mixture = Mixture::fit(x.as_ref(), 2, 0, &()).unwrap();
        for k in 0..2 {
            let own: Vec<usize> = (0..600).filter(|&j| (x[(0, j)] > 1.0) == (mixture.part[(1, k)] > 1.0)).collect();
            let n = own.len() as f64;
            assert!((mixture.part[(0, k)] - n / 600.0).abs() < 1e-9);
            for i in 0..2 {
                let mean = own.iter().map(|&j| x[(i, j)]).sum::<f64>() / n;
                let variance = own.iter().map(|&j| (x[(i, j)] - mean).powi(2)).sum::<f64>() / n;
                let all: f64 = x.row(i).iter().sum::<f64>() / 600.0;
                let floor = LEAST_VARIANCE * x.row(i).iter().map(|v| (v - all).powi(2)).sum::<f64>() / 600.0;
                assert!((mixture.part[(1 + i, k)] - mean).abs() < 1e-9);
                assert!((mixture.part[(3 + i, k)] - variance.max(floor)).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn a_fisher_vector_is_the_gradient_of_the_log_likelihood_in_the_parameters() {
        let x = groups();
        let mixture = Mixture::new(Mat::from_fn(5, 2, |i, k| match i {
            0 => [0.4, 0.6][k],
            1 | 2 => [1.0, -1.0][k] + 0.1 * i as f64,
            _ => 1.5 + 0.3 * (i + k) as f64,
        }));
        let some = x.subcols(0, 40);
        // All 40 samples have shares above the threshold in both components, so nothing is cut.
        let likelihood = |part: &Mat<f64>| -> f64 {
            let density = |k: usize, j: usize| -> f64 {
                (0..2)
                    .map(|i| {
                        let (mean, variance) = (part[(1 + i, k)], part[(3 + i, k)]);
                        (-(some[(i, j)] - mean).powi(2) / (2.0 * variance)).exp() / (TAU * variance).sqrt()
                    })
                    .product::<f64>()
                    * part[(0, k)]
            };
            (0..40).map(|j| (density(0, j) + density(1, j)).ln()).sum::<f64>() / 40.0
        };
        let slope = |row: usize, k: usize| {
            let moved = |by: f64| {
                let mut part = mixture.part.clone();
                part[(row, k)] += by;
                likelihood(&part)
            };
            (moved(1e-5) - moved(-1e-5)) / 2e-5
        };
        let found = mixture.fisher_vector(some);
        let mut expected = Vec::new();
        for k in 0..2 {
            let weight = mixture.part[(0, k)];
            // d/d mu * sigma / sqrt(w); d/d variance * 2 variance / sqrt(2 w).
            expected.extend((0..2).map(|i| slope(1 + i, k) * (mixture.part[(3 + i, k)] / weight).sqrt()));
            expected.extend((0..2).map(|i| slope(3 + i, k) * 2.0 * mixture.part[(3 + i, k)] / (2.0 * weight).sqrt()));
        }
        let rooted: Vec<f64> = expected.iter().map(|v| v.signum() * v.abs().sqrt()).collect();
        let length = rooted.iter().map(|v| v * v).sum::<f64>().sqrt();
        for (found, rooted) in found.iter().zip(rooted) {
            assert!((found - rooted / length).abs() < 2e-3, "{found} {}", rooted / length);
        }
    }

    #[test]
    fn equal_samples_break_nothing() {
        let x = Mat::from_fn(3, 50, |i, _| i as f64);
        let mixture = Mixture::fit(x.as_ref(), 4, 0, &()).unwrap();
        assert!(mixture.fisher_vector(x.as_ref()).iter().all(|v| v.is_finite()));
        assert!(Mixture::restore(mixture.part.clone(), 3).is_ok());
        assert!(Mixture::restore(mixture.part.clone(), 2).is_err());
        assert!(Mixture::restore(Mat::zeros(7, 4), 3).is_err());
    }
}
