//! Newton's method for samples that the fast solver cannot handle: features of very different sizes, or far from zero.
//!
//! With the active samples `A` and their mean `m_A`, the step `(du, db)` from `(u, b)` solves
//!
//! ```text
//! (Y Y^T + tau I) du = Y p - tau u,     db = mean(p) - m_A^T du,     Y = Z_A - m_A 1^T,  p = t_A - o_A
//! ```
//!
//! With weights `w` of the samples, sums over them are weighted sums: `Y` and `p` are multiplied by `sqrt(w)`, means are weighted.
//!
//! Two things keep its digits. The bias is eliminated before products are formed, so that a common part of the samples
//! cancels in `Y`, exactly, instead of in the matrix. And the matrix is scaled to a unit diagonal, which makes features of
//! any size alike: this is the step in standardised coordinates, mapped back, with the norm of the original ones. Outputs and gradient come
//! from the samples at every step, so that the next step corrects the errors of the last.
//!
//! Long samples that can be separated leave a loss next to nothing, and active sets that change by one sample a step. Then the weight of the
//! norm is lowered in stages, from one at which the norm is all that counts: each stage starts near its end.

use super::{STAGE, sign};
use super::{Svm, optimality};
use crate::linalg::{Spd, add_diagonal, diagonal, dot, mul, outer_gram, qr, scaled_columns, select_columns};
use crate::pca::{centered, weighted_mean};
use crate::{Error, Result};
use faer::{Mat, MatRef};
use rayon::prelude::*;

/// Steps of one stage.
const MAX_STEPS: usize = 30;
/// By how much the weight of the norm falls from stage to stage.
const STAGE_RATIO: f64 = 100.0;
/// Steps that end with a greater promise than this, as a share of the objective, have not reached the optimum.
const SETTLED: f64 = 1e-9;
/// A step that promises to lower the objective by no more than this share of it is the last.
const LAST_STEP: f64 = 1e-13;
/// Shares of the unit diagonal that are added in turn while the matrix is singular to rounding.
const JITTER: [f64; 5] = [0.0, 1e-14, 1e-12, 1e-10, 1e-8];

/// Brings the classifiers of `classes` to their optimum; returns by what share the objective of the worst of them may still lie
/// above its minimum. The samples are best centred: their common part costs digits of the outputs.
pub(super) fn improve(
    z: MatRef<'_, f64>,
    targets: &[usize],
    weights: Option<&[f64]>,
    svm: &mut Svm,
    tau: f64,
    classes: &[usize],
) -> Result<f64> {
    // With more features than samples, the same problem in the range of the samples.
    let reduced = (z.nrows() > z.ncols()).then(|| qr(z));
    let samples = reduced.as_ref().map_or(z, |(_, r)| r.as_ref());
    let ones = vec![1.0; z.ncols()];
    let w = weights.unwrap_or(&ones);
    let solve = |&class: &usize| {
        let t: Vec<f64> = targets.iter().map(|&target| sign(target, class)).collect();
        let u = svm.weights.subcols(class, 1);
        let start = match &reduced {
            Some((q, _)) => mul(q.transpose(), u),
            None => u.to_owned(),
        };
        let start = start.col_as_slice(0).to_vec();
        let usable = start.iter().all(|u| u.is_finite()) && svm.bias[class].is_finite();
        let from_zero = || (vec![0.0; samples.nrows()], dot(&t, w) / w.iter().sum::<f64>());
        let (u, b) = if usable { (start, svm.bias[class]) } else { from_zero() };
        ClassProblem { z: samples, t: &t, w, tau }.solve(u, b)
    };
    let found: Vec<Minimum> = classes.par_iter().map(solve).collect::<Result<_>>()?;
    for (&class, minimum) in classes.iter().zip(&found) {
        let u = Mat::from_fn(samples.nrows(), 1, |k, _| minimum.u[k]);
        let u = reduced.as_ref().map_or(u.clone(), |(q, _)| mul(q, &u));
        svm.weights.subcols_mut(class, 1).copy_from(u);
        svm.bias[class] = minimum.b;
    }
    // What a further step promises comes from a matrix that may be short of digits; only the duality gap certifies.
    let gaps = optimality::distances(z, targets, weights, svm, tau);
    let left = classes.iter().map(|&class| gaps[class].relative());
    Ok(left.fold(0.0, |worst: f64, left| if left > worst || left.is_nan() { left } else { worst }))
}

/// One class: samples, targets, weights of the losses and weight of the norm.
struct ClassProblem<'a> {
    z: MatRef<'a, f64>,
    t: &'a [f64],
    w: &'a [f64],
    tau: f64,
}

/// Where the steps ended.
struct Minimum {
    u: Vec<f64>,
    b: f64,
    /// What one more step promises, as a share of the objective; `None` if its matrix had to be changed.
    promised: Option<f64>,
}

/// A Newton step.
struct NewtonStep {
    du: Mat<f64>,
    db: f64,
    /// By how much it lowers the objective while no sample becomes active or inactive.
    decrease: f64,
    /// False if the matrix was singular to rounding.
    exact: bool,
}

impl ClassProblem<'_> {
    /// From a given start and, if that does not lead to the optimum, in stages.
    fn solve(&self, u: Vec<f64>, b: f64) -> Result<Minimum> {
        let direct = self.minimize(u, b);
        if direct.as_ref().is_ok_and(|minimum| minimum.promised.is_some_and(|promised| promised <= SETTLED)) {
            return direct;
        }
        self.in_stages().or(direct)
    }

    fn in_stages(&self) -> Result<Minimum> {
        let longest = (0..self.z.nrows()).map(|k| self.z.row(k).squared_norm_l2()).fold(self.tau, f64::max);
        let mut u = vec![0.0; self.z.nrows()];
        let mut b = dot(self.t, self.w) / self.w.iter().sum::<f64>();
        let mut tau = longest.min(f64::MAX);
        loop {
            let found = ClassProblem { tau, ..*self }.minimize(u, b)?;
            if tau <= self.tau {
                return Ok(found);
            }
            (u, b) = (found.u, found.b);
            tau = (tau / STAGE_RATIO).max(self.tau);
        }
    }

    fn minimize(&self, mut u: Vec<f64>, mut b: f64) -> Result<Minimum> {
        let mut outputs = self.outputs(&u, b);
        let mut promised = None;
        for _ in 0..MAX_STEPS {
            let value = self.value(dot(&u, &u), &outputs);
            let NewtonStep { du, db, decrease, exact } = self.step(&u, &outputs)?;
            if !value.is_finite() || !decrease.is_finite() || !db.is_finite() {
                return Err(Error::numeric(STAGE, "the objective is no longer finite; standardise the features"));
            }
            promised = exact.then(|| if decrease > 0.0 { decrease / value } else { 0.0 });
            if decrease <= LAST_STEP * value {
                break;
            }
            let du = du.col_as_slice(0);
            let change = self.outputs(du, db);
            let norm = |s: f64| dot(&u, &u) + s * (2.0 * dot(&u, du) + s * dot(du, du));
            let at = |s: f64| -> Vec<f64> { outputs.iter().zip(&change).map(|(o, d)| o + s * d).collect() };
            let lower = |s: &f64| self.value(norm(*s), &at(*s)) < value - 1e-4 * s * decrease;
            // If no step lowers the objective, what is left to gain is below rounding.
            let Some(s) = (0..40).map(|halvings| 0.5f64.powi(halvings)).find(lower) else { break };
            u.iter_mut().zip(du).for_each(|(u, d)| *u += s * d);
            b += s * db;
            outputs = self.outputs(&u, b);
        }
        Ok(Minimum { u, b, promised })
    }

    fn outputs(&self, u: &[f64], b: f64) -> Vec<f64> {
        let u = Mat::from_fn(u.len(), 1, |k, _| u[k]);
        mul(self.z.transpose(), &u).col(0).iter().map(|o| o + b).collect()
    }

    fn value(&self, norm: f64, outputs: &[f64]) -> f64 {
        let losses = outputs.iter().zip(self.t).zip(self.w).map(|((o, t), w)| w * (1.0 - t * o).max(0.0).powi(2));
        let loss: f64 = losses.sum();
        self.tau * norm + loss
    }

    fn step(&self, u: &[f64], outputs: &[f64]) -> Result<NewtonStep> {
        let active: Vec<usize> = (0..self.t.len()).filter(|&i| self.t[i] * outputs[i] < 1.0).collect();
        if active.is_empty() {
            // No loss at all: only |u|^2 is left, and the bias may stay.
            let du = Mat::from_fn(u.len(), 1, |k, _| -u[k]);
            return Ok(NewtonStep { du, db: 0.0, decrease: self.tau * dot(u, u), exact: true });
        }
        let w: Vec<f64> = active.iter().map(|&i| self.w[i]).collect();
        let count: f64 = w.iter().sum();
        let pull: Vec<f64> = active.iter().map(|&i| self.t[i] - outputs[i]).collect();
        let mean_pull = dot(&pull, &w) / count;
        let y = select_columns(self.z, &active);
        let middle = weighted_mean(&y, &w[..]);
        // Everything that is summed over samples has the root of the weight twice.
        let y = scaled_columns(centered(&y, &middle), |p| w[p].sqrt());
        let centered_pull = Mat::from_fn(active.len(), 1, |p, _| w[p].sqrt() * (pull[p] - mean_pull));
        let mut downhill = mul(&y, &centered_pull);
        (0..u.len()).for_each(|k| downhill[(k, 0)] -= self.tau * u[k]);

        let mut system = outer_gram(&y);
        add_diagonal(&mut system, self.tau);
        let scale: Vec<f64> = diagonal(&system).into_iter().map(|d| d.sqrt().recip()).collect();
        let scaled = Mat::from_fn(u.len(), u.len(), |i, j| system[(i, j)] * scale[i] * scale[j]);
        let (factor, exact) = factor(&scaled)?;
        let solved = factor.solve(Mat::from_fn(u.len(), 1, |k, _| downhill[(k, 0)] * scale[k]));
        let du = Mat::from_fn(u.len(), 1, |k, _| solved[(k, 0)] * scale[k]);
        let db = mean_pull - dot(&middle, du.col_as_slice(0));
        let decrease = dot(downhill.col_as_slice(0), du.col_as_slice(0)) + count * mean_pull * mean_pull;
        Ok(NewtonStep { du, db, decrease, exact })
    }
}

/// The factor of a matrix with unit diagonal, and whether it is that of the matrix as given.
fn factor(scaled: &Mat<f64>) -> Result<(Spd, bool)> {
    let attempt = |jitter: f64| {
        let mut system = scaled.clone();
        add_diagonal(&mut system, jitter);
        Spd::new(system, STAGE)
    };
    for jitter in JITTER {
        if let Ok(factor) = attempt(jitter) {
            return Ok((factor, jitter == 0.0));
        }
    }
    Ok((attempt(0.0)?, true))
}

#[cfg(test)]
mod tests {
    use super::super::one_vs_rest;
    use super::super::tests::{gradient, problem};
    use super::*;

    #[test]
    fn comes_from_anywhere_to_the_optimum_of_plain_newton() {
        for (dim, n) in [(5, 60), (60, 45)] {
            let (z, targets) = problem(dim, n);
            let exact = one_vs_rest(&z, &targets, 3, 0.2, None).unwrap();
            for mut svm in [Svm::zero(dim, 3), Svm { weights: Mat::from_fn(dim, 3, |_, _| f64::NAN), ..exact.clone() }]
            {
                let left = improve(z.as_ref(), &targets, None, &mut svm, 0.2, &[0, 1, 2]).unwrap();
                assert!(left < 1e-12 && (&svm.weights - &exact.weights).norm_max() < 1e-8, "{dim} {left:e}");
                assert!(gradient(&svm, z.as_ref(), &targets, 0.2).norm_max() < 1e-8);
            }
        }
    }

    #[test]
    fn a_feature_twice_at_great_length_is_singular_to_rounding_and_no_obstacle() {
        let (z, targets) = problem(5, 60);
        let long = Mat::from_fn(6, 60, |i, j| if i == 5 { 1e9 * z[(0, j)] } else { z[(i, j)] });
        let twice = Mat::from_fn(7, 60, |i, j| long[(i.min(5), j)]);
        let mut once = Svm::zero(6, 3);
        let mut both = Svm::zero(7, 3);
        improve(long.as_ref(), &targets, None, &mut once, 0.2, &[0, 1, 2]).unwrap();
        improve(twice.as_ref(), &targets, None, &mut both, 0.2, &[0, 1, 2]).unwrap();
        let (a, b) = (once.scores(long.as_ref()), both.scores(twice.as_ref()));
        assert!((a - &b).norm_max() < 1e-5 * b.norm_max());
    }
}
