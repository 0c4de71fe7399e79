//! How far classifiers are from the optimum: the duality gap.
//!
//! Let `xi_i = max(0, 1 - t_i o_i)` be the slacks of a classifier and `eta` any others, zero where `xi` is and balanced,
//! `sum_i t_i eta_i = 0`. Then `2 eta` is a feasible point of the dual problem, and the objective exceeds its minimum by no
//! more than
//!
//! ```text
//! gap = tau |u - v|^2 + sum_i (xi_i - eta_i)^2,     v = 1/tau sum_i t_i eta_i z_i
//! ```
//!
//! a sum of squares in which nothing cancels; with weights of samples, each sum over them is a weighted one. Taken for `eta`: the slacks themselves, those of the heavier side shortened.

use super::{Svm, sign};
use crate::linalg::mul;
use faer::{Mat, MatRef};

/// An objective whose gap is at most this share of it is as good as minimal.
pub(super) const NEAR: f64 = 1e-6;
/// Slacks, and outputs, of this size are rounding and do not count.
const ROUNDING: f64 = 64.0 * f64::EPSILON;

/// How far a classifier is from its optimum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Distance {
    /// Its objective, rounding aside.
    pub objective: f64,
    /// The minimum is at most this much lower, rounding aside.
    pub gap: f64,
}

impl Distance {
    /// The gap as a share of the objective.
    pub fn relative(self) -> f64 {
        if self.gap == 0.0 { 0.0 } else { self.gap / self.objective }
    }

    /// True if there is next to nothing left to gain; NaN is not near.
    pub fn is_near(self) -> bool {
        self.relative() <= NEAR
    }
}

/// The distance of every class's classifier from its optimum.
pub(super) fn distances(
    z: MatRef<'_, f64>,
    targets: &[usize],
    weights: Option<&[f64]>,
    svm: &Svm,
    tau: f64,
) -> Vec<Distance> {
    let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
    let outputs = svm.scores(z);
    let n_classes = svm.bias.len();
    // `max` would take the other number, and outputs that are none would look like no loss at all.
    let slack = |c: usize, i: usize| match 1.0 - sign(targets[i], c) * outputs[(c, i)] {
        missing if missing <= 0.0 => 0.0,
        missing => missing,
    };
    // By how much the slacks of a class's own samples, and those of the others, are shortened.
    let keep: Vec<[f64; 2]> = (0..n_classes)
        .map(|c| {
            let mut sides = [0.0, 0.0];
            (0..targets.len()).for_each(|i| sides[usize::from(targets[i] != c)] += weight(i) * slack(c, i));
            let lighter = sides[0].min(sides[1]);
            sides.map(|side| if side == 0.0 { 0.0 } else { lighter / side })
        })
        .collect();
    let kept = |c: usize, i: usize| keep[c][usize::from(targets[i] != c)];
    let pull = |i: usize, c: usize| sign(targets[i], c) * weight(i) * kept(c, i) * slack(c, i) / tau;
    let balanced = Mat::from_fn(targets.len(), n_classes, pull);
    let dual = mul(z, &balanced);
    let counting = |term: f64, rounding: f64| if term <= rounding { 0.0 } else { term };
    // Weights that make no more of a sample of usual length than rounding does.
    let nothing = tau * ROUNDING * ROUNDING * targets.len() as f64 / z.squared_norm_l2();
    let of_class = |c: usize| {
        let mut loss = 0.0;
        let mut shortened = 0.0;
        for i in 0..targets.len() {
            let xi = slack(c, i);
            loss += weight(i) * xi * xi;
            shortened += weight(i) * (xi - kept(c, i) * xi).powi(2);
        }
        let u = svm.weights.col(c);
        let apart = tau * (u - dual.col(c)).squared_norm_l2();
        let none = targets.len() as f64 * ROUNDING * ROUNDING;
        Distance {
            objective: tau * u.squared_norm_l2() + counting(loss, none),
            gap: counting(apart, nothing) + counting(shortened, none),
        }
    };
    (0..n_classes).map(of_class).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::problem;
    use super::super::{Svm, one_vs_rest};
    use super::*;

    /// The dual objective from its definition, `sum b - sum b^2 / 4 - |sum b_i t_i z_i|^2 / (4 tau)`.
    fn dual_objective(z: MatRef<'_, f64>, t: &[f64], b: &[f64], tau: f64) -> f64 {
        let pulled = Mat::from_fn(b.len(), 1, |i, _| b[i] * t[i]);
        let linear: f64 = b.iter().map(|b| b - b * b / 4.0).sum();
        linear - mul(z, &pulled).squared_norm_l2() / (4.0 * tau)
    }

    #[test]
    fn the_gap_is_that_of_the_dual_problem_and_holds_the_minimum() {
        let (dim, n, tau) = (6, 45, 0.3);
        let (z, targets) = problem(dim, n);
        let exact = one_vs_rest(&z, &targets, 3, tau, None).unwrap();
        let best = distances(z.as_ref(), &targets, None, &exact, tau);
        let away = Svm {
            weights: Mat::from_fn(dim, 3, |i, c| exact.weights[(i, c)] + 0.1 * ((i + 2 * c) % 3) as f64),
            bias: exact.bias.iter().map(|b| b - 0.2).collect(),
        };
        for (c, found) in distances(z.as_ref(), &targets, None, &away, tau).into_iter().enumerate() {
            assert!(best[c].is_near() && !found.is_near());
            assert!(found.objective - best[c].objective <= found.gap && found.objective > best[c].objective);
            let t: Vec<f64> = targets.iter().map(|&target| sign(target, c)).collect();
            let scores = away.scores(&z);
            let slacks: Vec<f64> = (0..n).map(|i| (1.0 - t[i] * scores[(c, i)]).max(0.0)).collect();
            let side = |s: f64| (0..n).filter(|&i| t[i] == s).map(|i| slacks[i]).sum::<f64>();
            let lighter = side(1.0).min(side(-1.0));
            let b: Vec<f64> = (0..n).map(|i| 2.0 * slacks[i] * lighter / side(t[i])).collect();
            assert!((found.objective - dual_objective(z.as_ref(), &t, &b, tau) - found.gap).abs() < 1e-9);
        }
    }

    #[test]
    fn no_sample_on_one_side_and_nothing_to_lose_are_near() {
        let (z, _) = problem(4, 10);
        let svm = one_vs_rest(&z, &[0; 10], 2, 0.2, None).unwrap();
        assert!(distances(z.as_ref(), &[0; 10], None, &svm, 0.2).into_iter().all(|class| class.is_near()));
        let spoiled = Svm { weights: Mat::from_fn(4, 2, |_, _| f64::NAN), bias: vec![0.0; 2] };
        assert!(distances(z.as_ref(), &[0; 10], None, &spoiled, 0.2).into_iter().all(|class| !class.is_near()));
    }
}
