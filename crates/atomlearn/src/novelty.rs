//! How unlike the training samples a new sample is.
//!
//! The measure is what a ridge code over all training samples leaves unexplained,
//!
//! ```text
//!     v(x) = min_z |x - X z|^2 + kappa |z|^2 = |x|^2 - x'X (X'X + kappa I)^-1 X'x = kappa x' (X X' + kappa I)^-1 x
//! ```
//!
//! For a training sample that is left out it follows without a second fit: with `H = X'X + kappa I`,
//!
//! ```text
//!     v_i = 1 / [H^-1]_ii - kappa = kappa h_i / (1 - h_i),    h_i = x_i' (X X' + kappa I)^-1 x_i
//! ```
//!
//! The p-value of a sample is the share of training samples that are at least as badly explained when left out, the sample itself
//! counted among them: `p(x) = (1 + #{i: v_i >= v(x)}) / (n + 1)`. For samples like those of training it is uniform, up to the
//! difference that one sample makes; it is never below `1 / (n + 1)`.

use crate::linalg::{Spd, View, column_norms, gram, mul};
use crate::{Error, Result};
use faer::{Mat, MatRef};

/// The ridge, as a share of the mean squared length of a sample.
const RIDGE: f64 = 0.1;

/// The measure, ready for new samples, and its values for training samples that were left out.
#[derive(Clone, Debug)]
pub struct Novelty {
    /// `v(x) = energy |x|^2 + weight |map x|^2`.
    energy: f64,
    weight: f64,
    map: Mat<f64>,
    /// Sorted.
    left_out: Vec<f64>,
}

impl Novelty {
    /// From all training samples, features x samples.
    pub fn fit(x: impl View) -> Result<Self> {
        let x = x.view();
        let (m, n) = x.shape();
        let kappa = RIDGE * x.squared_norm_l2() / n.max(1) as f64;
        if !(kappa > 0.0 && kappa.is_finite()) {
            return Err(Error::numeric("novelty", "the samples have no finite length above zero"));
        }
        // The smaller of the two systems.
        if m <= n {
            let factor = Spd::shifted(gram(x.transpose()), kappa, "novelty")?;
            let solved = factor.half_solve(x);
            let leverages = column_norms(&solved).into_iter().map(|norm| norm * norm);
            let left_out = leverages.map(|h| kappa * h / (1.0 - h).max(f64::EPSILON)).collect();
            let map = factor.half_solve(Mat::identity(m, m));
            return Ok(Novelty::new(0.0, kappa, map, left_out));
        }
        let factor = Spd::shifted(gram(x), kappa, "novelty")?;
        let map = factor.half_solve(x.transpose());
        let inverse = factor.into_inverse();
        let left_out = (0..n).map(|i| (1.0 / inverse[(i, i)] - kappa).max(0.0)).collect();
        Ok(Novelty::new(1.0, -1.0, map, left_out))
    }

    fn new(energy: f64, weight: f64, map: Mat<f64>, mut left_out: Vec<f64>) -> Self {
        left_out.sort_by(f64::total_cmp);
        Novelty { energy, weight, map, left_out }
    }

    /// What is left unexplained of every sample.
    pub fn residuals(&self, x: MatRef<'_, f64>) -> Vec<f64> {
        let mapped = mul(&self.map, x);
        let squared = |norm: f64| norm * norm;
        let pairs = column_norms(x).into_iter().zip(column_norms(&mapped));
        pairs.map(|(norm, image)| (self.energy * squared(norm) + self.weight * squared(image)).max(0.0)).collect()
    }

    /// The p-value of every sample: small if it is unlike all that training has seen.
    pub fn p_values(&self, x: impl View) -> Vec<f64> {
        let n = self.left_out.len();
        let p = |v: f64| (1 + n - self.left_out.partition_point(|held| *held < v)) as f64 / (n + 1) as f64;
        self.residuals(x.view()).into_iter().map(p).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::select_columns;
    use crate::synth;

    fn samples(m: usize, n: usize, seed: u64) -> Mat<f64> {
        // Of two classes, in turn.
        let both = synth::blobs(2, n, m, seed);
        let order: Vec<usize> = (0..n).map(|i| i / 2 + n * (i % 2)).collect();
        select_columns(both.x(), &order)
    }

    /// `min_z |x - X z|^2 + kappa |z|^2` from its normal equations.
    fn by_definition(x: MatRef<'_, f64>, sample: MatRef<'_, f64>, kappa: f64) -> f64 {
        let z = Spd::shifted(gram(x), kappa, "test").unwrap().solve(mul(x.transpose(), sample).as_ref());
        (sample - mul(x, &z)).squared_norm_l2() + kappa * z.squared_norm_l2()
    }

    #[test]
    fn left_out_samples_have_the_residual_of_a_fit_without_them_in_both_forms() {
        for (m, n) in [(4, 11), (9, 6)] {
            let x = samples(m, n, 3);
            let kappa = RIDGE * x.squared_norm_l2() / n as f64;
            let novelty = Novelty::fit(x.as_ref()).unwrap();
            let mut expected: Vec<f64> = (0..n)
                .map(|i| {
                    let others: Vec<usize> = (0..n).filter(|&j| j != i).collect();
                    let others = select_columns(x.as_ref(), &others);
                    by_definition(others.as_ref(), x.as_ref().subcols(i, 1), kappa)
                })
                .collect();
            expected.sort_by(f64::total_cmp);
            for (found, wanted) in novelty.left_out.iter().zip(&expected) {
                assert!((found - wanted).abs() < 1e-9 * (1.0 + wanted), "{m} x {n}: {found} {wanted}");
            }
            let new = samples(m, 5, 9);
            for (j, found) in novelty.residuals(new.as_ref()).into_iter().enumerate() {
                let wanted = by_definition(x.as_ref(), new.as_ref().subcols(j, 1), kappa);
                assert!((found - wanted).abs() < 1e-9 * (1.0 + wanted), "{m} x {n}: {found} {wanted}");
            }
        }
    }

    #[test]
    fn p_values_of_like_samples_are_uniform_and_those_of_others_as_small_as_can_be() {
        let all = samples(6, 1200, 5);
        let novelty = Novelty::fit(all.as_ref().subcols(0, 600)).unwrap();
        let mut p = novelty.p_values(all.as_ref().subcols(600, 600));
        p.sort_by(f64::total_cmp);
        let gap = p.iter().enumerate().map(|(i, p)| (p - (i + 1) as f64 / 600.0).abs()).fold(0.0, f64::max);
        // Kolmogorov's 1 % point for two samples of 600.
        assert!(gap < 1.63 * (2.0f64 / 600.0).sqrt(), "{gap}");
        let far = faer::Scale(100.0) * all.as_ref().subcols(0, 3);
        assert_eq!(novelty.p_values(far.as_ref()), [1.0 / 601.0; 3]);
        assert!(Novelty::fit(Mat::zeros(3, 4).as_ref()).is_err());
    }
}
