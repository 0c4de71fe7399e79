//! What the classifiers would say about each of their training samples had it been left out, with the active sets held.
//!
//! On its active samples `A` (margins below one) a classifier is a ridge regression on the targets `t`, with a free bias; the others do not
//! matter to it. So a sample that is not active gets the same output without it, and an active one, with `M = (Z_A^T Z_A + tau I)^-1`,
//!
//! ```text
//! o_i -> t_i - (t_i - o_i) / (tau (M_ii - (M 1)_i^2 / 1^T M 1))
//! ```
//!
//! This is exact as long as leaving the sample out moves no other across its margin. `M_ii` and `M 1` come from the smallest system: of the active
//! samples; of the features; or, from the inverse over all samples, of those that are not active.

use super::{STAGE, Svm, sign};
use crate::Result;
use crate::linalg::{Spd, add_diagonal, diagonal, dot, gram, mul, outer_gram, scaled_columns, select_columns};
use faer::{Mat, MatRef};
use rayon::prelude::*;

/// A shared Gram matrix pays while it is not much larger than the data, as in training.
const GRAM_WIDTH: usize = 4;
/// Squares of features that differ by more than this share too few digits to be added up.
const GRADED: f64 = 1e6;

/// Scores of every column of `z`, classes x samples, by classifiers trained on all others; `svm` was trained on all of them, with `tau`.
///
/// With `weights` of the losses, `tau / w` takes the place of `tau` for a sample of weight `w`, which is left out whole.
pub fn left_out(
    z: MatRef<'_, f64>,
    targets: &[usize],
    weights: Option<&[f64]>,
    svm: &Svm,
    tau: f64,
) -> Result<Mat<f64>> {
    let mut scores = svm.scores(z);
    let products = (z.ncols() <= GRAM_WIDTH * z.nrows()).then(|| gram(z));
    let active: Vec<Vec<usize>> = (0..scores.nrows())
        .map(|c| (0..z.ncols()).filter(|&i| sign(targets[i], c) * scores[(c, i)] < 1.0).collect())
        .collect();
    let systems = Systems::new(z, products.as_ref(), weights, tau, &active);
    let changed: Vec<Vec<f64>> = active
        .par_iter()
        .map(|active| if active.is_empty() { Ok(Vec::new()) } else { systems.own_parts(active) })
        .collect::<Result<_>>()?;
    for (c, (active, parts)) in active.iter().zip(&changed).enumerate() {
        for (&i, part) in active.iter().zip(parts) {
            let t = sign(targets[i], c);
            scores[(c, i)] = t - (t - scores[(c, i)]) / part;
        }
    }
    Ok(scores)
}

/// What all classes share.
struct Systems<'a> {
    z: MatRef<'a, f64>,
    tau: f64,
    weights: Option<&'a [f64]>,
    products: Option<&'a Mat<f64>>,
    /// The longest feature is more than [`GRADED`] times the shortest.
    graded: bool,
    /// `(Z^T Z + tau I)^-1` over all samples, where some class has few that are not active.
    whole: Option<Mat<f64>>,
}

/// The system that is solved for a class.
#[derive(PartialEq)]
enum SystemOver {
    Active,
    Inactive,
    Features,
}

impl<'a> Systems<'a> {
    fn new(
        z: MatRef<'a, f64>,
        products: Option<&'a Mat<f64>>,
        weights: Option<&'a [f64]>,
        tau: f64,
        active: &[Vec<usize>],
    ) -> Self {
        let lengths = || (0..z.nrows()).map(|k| z.row(k).norm_l2()).filter(|length| *length > 0.0);
        let graded =
            z.nrows() <= z.ncols() && lengths().fold(0.0, f64::max) > GRADED * lengths().fold(f64::INFINITY, f64::min);
        let mut systems = Systems { z, tau, weights, products, graded, whole: None };
        let nearly_all_active =
            active.iter().filter(|active| systems.cheapest(active.len(), true) == SystemOver::Inactive).count();
        // One inverse over all samples costs as much as that of one class with all of them active.
        if let Some(products) = products.filter(|_| weights.is_none() && nearly_all_active > 1) {
            let mut shifted = products.clone();
            add_diagonal(&mut shifted, tau);
            systems.whole = Spd::new(shifted, STAGE).ok().map(|factor| factor.inverse());
        }
        systems
    }

    /// The system with the fewest operations; products of samples do not tell features apart that differ this much.
    fn cheapest(&self, n_active: usize, with_whole: bool) -> SystemOver {
        if self.graded {
            return SystemOver::Features;
        }
        let a = n_active as f64;
        let n = self.z.ncols() as f64;
        let m = self.z.nrows() as f64;
        let missing = n - a;
        let over_active = a * a * (a + if self.products.is_some() { 0.0 } else { m });
        let over_inactive = missing * missing * (missing / 3.0 + n);
        let over_features = m * m * (m / 3.0 + 2.0 * a);
        if with_whole && self.weights.is_none() && over_inactive < over_active.min(over_features) {
            SystemOver::Inactive
        } else if over_active <= over_features {
            SystemOver::Active
        } else {
            SystemOver::Features
        }
    }

    /// The weight of a sample.
    fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[i])
    }

    /// `tau (M_ii - (M 1)_i^2 / 1^T M 1)` of the active samples.
    fn own_parts(&self, active: &[usize]) -> Result<Vec<f64>> {
        let (diagonal, sums) = match (self.cheapest(active.len(), self.whole.is_some()), &self.whole) {
            (SystemOver::Inactive, Some(whole)) => without_inactive(whole, active)?,
            (SystemOver::Features, _) => self.over_features(active)?,
            _ => self.over_active(active)?,
        };
        let total: f64 = sums.iter().sum();
        let own_part = |p: usize| self.tau / self.weight(active[p]) * (diagonal[p] - sums[p] * sums[p] / total);
        Ok((0..active.len()).map(own_part).collect())
    }

    fn over_active(&self, active: &[usize]) -> Result<(Vec<f64>, Vec<f64>)> {
        let mut system = match self.products {
            Some(products) => Mat::from_fn(active.len(), active.len(), |p, q| products[(active[p], active[q])]),
            None => gram(select_columns(self.z, active)),
        };
        (0..active.len()).for_each(|p| system[(p, p)] += self.tau / self.weight(active[p]));
        let inverse = Spd::new(system, STAGE)?.inverse();
        let sums = (0..active.len()).map(|p| inverse.col_as_slice(p).iter().sum()).collect();
        Ok((diagonal(&inverse), sums))
    }

    /// `M = (I - Z_A^T (Z_A Z_A^T + tau I)^-1 Z_A) / tau`, with every feature on the scale on which the system has a unit diagonal: features of
    /// very different sizes would lose all digits of the small ones.
    fn over_features(&self, active: &[usize]) -> Result<(Vec<f64>, Vec<f64>)> {
        let roots: Vec<f64> = active.iter().map(|&i| self.weight(i).sqrt()).collect();
        let mut z = scaled_columns(select_columns(self.z, active), |p| roots[p]);
        let scales: Vec<f64> = (0..z.nrows()).map(|k| (z.row(k).squared_norm_l2() + self.tau).sqrt()).collect();
        (0..z.ncols()).for_each(|p| z.col_as_slice_mut(p).iter_mut().zip(&scales).for_each(|(v, scale)| *v /= scale));
        let mut system = outer_gram(&z);
        (0..system.nrows()).for_each(|k| system[(k, k)] += self.tau / (scales[k] * scales[k]));
        let solved = Spd::new(system, STAGE)?.solve(&z);
        let total = mul(&z, Mat::from_fn(roots.len(), 1, |p, _| roots[p]));
        let explained = mul(solved.transpose(), &total);
        let own = |p: usize| dot(z.col_as_slice(p), solved.col_as_slice(p));
        let diagonal = (0..active.len()).map(|p| roots[p] * roots[p] * (1.0 - own(p)) / self.tau).collect();
        let sum = |p: usize| roots[p] * (roots[p] - explained[(p, 0)]) / self.tau;
        Ok((diagonal, (0..active.len()).map(sum).collect()))
    }
}

/// `M_AA = W_AA - W_AR W_RR^-1 W_RA` from the inverse `W` over all samples, `R` those that are not active.
fn without_inactive(whole: &Mat<f64>, active: &[usize]) -> Result<(Vec<f64>, Vec<f64>)> {
    let inactive: Vec<usize> = (0..whole.nrows()).filter(|i| active.binary_search(i).is_err()).collect();
    let sum = |i: usize| whole.col_as_slice(i).iter().sum::<f64>();
    let mut diagonal: Vec<f64> = active.iter().map(|&i| whole[(i, i)]).collect();
    let mut sums: Vec<f64> = active.iter().map(|&i| sum(i)).collect();
    if inactive.is_empty() {
        return Ok((diagonal, sums));
    }
    let corner = Mat::from_fn(inactive.len(), inactive.len(), |p, q| whole[(inactive[p], inactive[q])]);
    let cross = Mat::from_fn(inactive.len(), active.len(), |p, q| whole[(inactive[p], active[q])]);
    let solved = Spd::new(corner, STAGE)?.solve(&cross);
    for (q, (own, own_sum)) in diagonal.iter_mut().zip(&mut sums).enumerate() {
        let cross = cross.col_as_slice(q);
        let solved = solved.col_as_slice(q);
        *own -= dot(cross, solved);
        *own_sum -= solved.iter().zip(&inactive).map(|(s, &i)| s * sum(i)).sum::<f64>();
    }
    Ok((diagonal, sums))
}

#[cfg(test)]
mod tests {
    use super::super::tests::problem;
    use super::super::{fit_weighted, one_vs_rest};
    use super::*;

    /// Every sample whose removal leaves all other margins on their side, by all three systems; most samples are such.
    #[test]
    fn equals_training_without_the_sample_while_active_sets_stay() {
        for (dim, n, tau) in [(4, 60, 0.5), (30, 60, 0.5), (90, 45, 0.1), (20, 45, 0.01), (3, 60, 20.0)] {
            let (z, targets) = problem(dim, n);
            let whole = one_vs_rest(&z, &targets, 3, tau, None).unwrap();
            let found = left_out(z.as_ref(), &targets, None, &whole, tau).unwrap();
            let before = whole.scores(&z);
            let mut compared = 0;
            for i in 0..n {
                let kept: Vec<usize> = (0..n).filter(|&j| j != i).collect();
                let others: Vec<usize> = kept.iter().map(|&j| targets[j]).collect();
                let part = select_columns(&z, &kept);
                let refit = one_vs_rest(&part, &others, 3, tau, None).unwrap();
                let after = refit.scores(&z);
                for c in 0..3 {
                    let active = |scores: &Mat<f64>, j: usize| sign(targets[j], c) * scores[(c, j)] < 1.0;
                    if kept.iter().all(|&j| active(&before, j) == active(&after, j)) {
                        let error = (found[(c, i)] - after[(c, i)]).abs();
                        assert!(error < 1e-7 * after[(c, i)].abs().max(1.0), "{dim} x {n}: {error:e}");
                        compared += 1;
                    }
                }
            }
            assert!(compared > n, "{dim} x {n}: {compared} of {}", 3 * n);
        }
    }

    /// As above, with weights: a sample goes with all of its weight.
    #[test]
    fn equals_training_without_the_weighted_sample_while_active_sets_stay() {
        for (dim, n, tau) in [(4, 60, 0.5), (90, 45, 0.1)] {
            let (z, targets) = problem(dim, n);
            let weights: Vec<f64> = (0..n).map(|i| 0.25 * (1 + i * i % 7) as f64).collect();
            let fit = |kept: &[usize]| {
                let part = select_columns(&z, kept);
                let targets: Vec<usize> = kept.iter().map(|&j| targets[j]).collect();
                let weights: Vec<f64> = kept.iter().map(|&j| weights[j]).collect();
                fit_weighted(part.as_ref(), &targets, Some(&weights), 3, tau, None, &mut ()).unwrap()
            };
            let whole = fit(&(0..n).collect::<Vec<_>>());
            let found = left_out(z.as_ref(), &targets, Some(&weights), &whole, tau).unwrap();
            let before = whole.scores(&z);
            let mut compared = 0;
            for i in 0..n {
                let kept: Vec<usize> = (0..n).filter(|&j| j != i).collect();
                let after = fit(&kept).scores(&z);
                for c in 0..3 {
                    let active = |scores: &Mat<f64>, j: usize| sign(targets[j], c) * scores[(c, j)] < 1.0;
                    if kept.iter().all(|&j| active(&before, j) == active(&after, j)) {
                        let error = (found[(c, i)] - after[(c, i)]).abs();
                        assert!(error < 1e-6 * after[(c, i)].abs().max(1.0), "{dim} x {n}: {error:e}");
                        compared += 1;
                    }
                }
            }
            assert!(compared > n, "{dim} x {n}: {compared} of {}", 3 * n);
        }
    }

    /// Without a norm to speak of a linear classifier does not depend on the scales of features, and so what a sample adds to it does not.
    #[test]
    fn features_of_very_different_sizes_keep_their_digits() {
        let (plain, _) = problem(9, 40);
        let graded = Mat::from_fn(9, 40, |i, j| plain[(i, j)] * 10f64.powi(2 * i as i32 - 8));
        let all: Vec<usize> = (0..40).collect();
        let parts = |z: &Mat<f64>| Systems::new(z.as_ref(), None, None, 1e-30, &[]).own_parts(&all).unwrap();
        for (a, b) in parts(&plain).iter().zip(parts(&graded)) {
            assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
    }

    #[test]
    fn the_systems_agree() {
        let (z, targets) = problem(25, 40);
        let (tau, products) = (0.3, gram(&z));
        let svm = one_vs_rest(&z, &targets, 3, tau, None).unwrap();
        let scores = svm.scores(&z);
        let active: Vec<usize> = (0..40).filter(|&i| sign(targets[i], 0) * scores[(0, i)] < 1.0).collect();
        let mut shifted = products.clone();
        (0..40).for_each(|i| shifted[(i, i)] += tau);
        let whole = Spd::new(shifted, STAGE).unwrap().inverse();
        let systems =
            Systems { z: z.as_ref(), tau, weights: None, products: Some(&products), graded: false, whole: None };
        let (expected, sums) = systems.over_active(&active).unwrap();
        assert!(!active.is_empty() && active.len() < 40);
        for (diagonal, other) in [systems.over_features(&active).unwrap(), without_inactive(&whole, &active).unwrap()] {
            for p in 0..active.len() {
                assert!((diagonal[p] - expected[p]).abs() < 1e-10 && (other[p] - sums[p]).abs() < 1e-10);
            }
        }
    }
}
