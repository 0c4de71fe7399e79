//! Dictionary under `|d_k| <= 1` by its Lagrange dual (Lee, Battle, Raina, Ng: Efficient sparse coding algorithms,
//! NIPS 2006).
//!
//! With one multiplier per atom, `Q = (F + diag(delta))^-1` and `W = E Q`, the dual is
//!
//! ```text
//! max_{delta >= 0}  g = -tr(E Q E^T) - sum delta,    dg/d delta_k = |w_k|^2 - 1,    Hessian -2 (W^T W) o Q,
//! ```
//!
//! concave in `K` unknowns, and the dictionary is `W`. Solved by Newton's method on the multipliers that are positive
//! or want to be, projected and with halved steps. Where `F` is singular, multipliers stay above a tiny floor.
//! If Newton fails or its result is worse than the start, block descent from the start takes over.

use super::block_descent::descend;
use super::value;
use crate::linalg::{Spd, column_norms, mul, outer_gram, qr, top_eigenvalue, trace};
use crate::{Observer, Result};
use faer::{Mat, MatRef};

const STAGE: &str = "dictionary by its Lagrange dual";
const MAX_STEPS: usize = 100;
/// Largest violation of `|d_k| <= 1` and of complementary slackness; the second where the first does not improve on
/// the start, as near the end of a run.
const TOLERANCES: [f64; 2] = [1e-6, 1e-11];
/// Multipliers stay above this fraction of the largest eigenvalue of `F`.
const FLOOR: f64 = 1e-10;
/// Sweeps and tolerance of the fallback.
const FALLBACK: (usize, f64) = (100, 1e-8);
/// What rounding may do to `f`, as a fraction of it.
const ROUNDING: f64 = 1e-13;

/// A dictionary and its multipliers; they warm-start the next solve.
#[derive(Clone, Debug)]
pub struct Solution {
    /// `D`, features x atoms, no column longer than 1.
    pub dictionary: Mat<f64>,
    /// `delta`, one per atom.
    pub multipliers: Vec<f64>,
    /// `f(D)`.
    pub value: f64,
}

/// Minimises `f(D)` under `|d_k| <= 1`; `start` is a feasible dictionary, never to be made worse.
pub fn minimize(
    e: &Mat<f64>,
    f: &Mat<f64>,
    start: &Mat<f64>,
    multipliers: Option<&[f64]>,
    watch: &mut dyn Observer,
) -> Result<Solution> {
    let n_atoms = f.nrows();
    let (e, f, start) = (e.as_ref(), f.as_ref(), start.as_ref());
    let trace = trace(f);
    if trace <= 0.0 {
        return Ok(Solution { dictionary: start.to_owned(), multipliers: vec![0.0; n_atoms], value: 0.0 });
    }
    // The dual sees E only through E^T E: many features shrink to as many as there are atoms.
    let (basis, small) = if e.nrows() > n_atoms { Some(qr(e)).unzip() } else { (None, None) };
    let problem = DualProblem { f, e: small.as_ref().map_or(e, |small| small.as_ref()), floor: floor(f) };
    let cold = || vec![trace / (10.0 * n_atoms as f64); n_atoms];
    let mut guess = multipliers.map_or_else(cold, <[f64]>::to_vec);
    let held = value(e, f, start);
    for tolerance in TOLERANCES {
        let Some(point) = problem.maximize(guess, tolerance) else { break };
        let mut dictionary = match &basis {
            Some(basis) => mul(basis, point.w.transpose()),
            None => point.w.transpose().to_owned(),
        };
        into_ball(&mut dictionary);
        let value = value(e, f, &dictionary);
        if value <= held + ROUNDING * held.abs() {
            return Ok(Solution { dictionary, multipliers: point.delta, value });
        }
        guess = point.delta;
    }
    let mut dictionary = start.to_owned();
    let sweeps = descend(e, f, &mut dictionary, FALLBACK.0, FALLBACK.1);
    if sweeps == FALLBACK.0 {
        watch.warn(&format!("{STAGE}: Newton's method failed and {sweeps} sweeps of block descent did not settle"));
    }
    let value = value(e, f, &dictionary);
    Ok(Solution { dictionary, multipliers: cold(), value })
}

/// `1e-10 lambda_max(F)`.
fn floor(f: MatRef<'_, f64>) -> f64 {
    FLOOR * top_eigenvalue(f)
}

fn into_ball(d: &mut Mat<f64>) {
    let norms = column_norms(&d);
    for (column, norm) in d.as_mut().col_iter_mut().zip(norms).filter(|(_, norm)| *norm > 1.0) {
        column.iter_mut().for_each(|v| *v /= norm);
    }
}

struct DualProblem<'a> {
    e: MatRef<'a, f64>,
    f: MatRef<'a, f64>,
    floor: f64,
}

/// Everything about one choice of multipliers.
struct Point {
    delta: Vec<f64>,
    factor: Spd,
    /// `W^T`, atoms x features.
    w: Mat<f64>,
    value: f64,
    gradient: Vec<f64>,
}

impl DualProblem<'_> {
    fn at(&self, delta: Vec<f64>) -> Option<Point> {
        let mut system = self.f.to_owned();
        delta.iter().enumerate().for_each(|(k, d)| system[(k, k)] += d);
        let factor = Spd::new(system, STAGE).ok()?;
        let w = factor.solve(self.e.transpose());
        let fit: f64 = (0..w.ncols()).map(|i| self.e.row(i) * w.col(i)).sum();
        let gradient = (0..w.nrows()).map(|k| w.row(k).squared_norm_l2() - 1.0).collect();
        let value = -fit - delta.iter().sum::<f64>();
        value.is_finite().then_some(Point { delta, factor, w, value, gradient })
    }

    fn maximize(&self, guess: Vec<f64>, tolerance: f64) -> Option<Point> {
        let mut point = self.at(guess.into_iter().map(|d| d.max(self.floor)).collect())?;
        for _ in 0..MAX_STEPS {
            if self.optimal(&point, tolerance) {
                return Some(point);
            }
            point = self.step(&point)?;
        }
        None
    }

    fn optimal(&self, point: &Point, tolerance: f64) -> bool {
        let fits = |(&d, &g): (&f64, &f64)| g <= tolerance && (d - self.floor) * g.abs() <= tolerance * (1.0 + d);
        point.delta.iter().zip(&point.gradient).all(fits)
    }

    /// One projected Newton step, halved until the dual rises enough.
    fn step(&self, point: &Point) -> Option<Point> {
        let free: Vec<usize> =
            (0..point.delta.len()).filter(|&k| point.delta[k] > self.floor || point.gradient[k] > 0.0).collect();
        let direction = newton_direction(point, &free)?;
        let mut s = 1.0;
        while s > 1e-8 {
            let mut delta = point.delta.clone();
            free.iter().enumerate().for_each(|(p, &k)| delta[k] = (delta[k] + s * direction[p]).max(self.floor));
            let gain: f64 = free.iter().map(|&k| point.gradient[k] * (delta[k] - point.delta[k])).sum();
            if let Some(next) = self.at(delta)
                && next.value >= point.value + 1e-4 * gain - 1e-13 * point.value.abs()
            {
                return Some(next);
            }
            s *= 0.5;
        }
        None
    }
}

/// `(2 (W^T W) o Q)^-1 gradient` on the free multipliers.
fn newton_direction(point: &Point, free: &[usize]) -> Option<Vec<f64>> {
    let n_atoms = point.delta.len();
    let q = point.factor.solve(Mat::<f64>::identity(n_atoms, n_atoms));
    let ww = outer_gram(&point.w);
    let hessian = |shift: f64| {
        Mat::from_fn(free.len(), free.len(), |i, j| {
            let k = free[i];
            let l = free[j];
            2.0 * ww[(k, l)] * q[(k, l)] * if i == j { 1.0 + shift } else { 1.0 }
        })
    };
    // W^T W is singular when there are more atoms than features; the product with Q is not, except to rounding.
    let factor = Spd::new(hessian(0.0), STAGE).or_else(|_| Spd::new(hessian(1e-8), STAGE)).ok()?;
    let rhs = Mat::from_fn(free.len(), 1, |p, _| point.gradient[free[p]]);
    let solved = factor.solve(&rhs);
    Some(solved.col(0).iter().copied().collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::problem;
    use super::*;

    fn solve(e: &Mat<f64>, f: &Mat<f64>, d: &Mat<f64>) -> Solution {
        minimize(e, f, d, None, &mut ()).unwrap()
    }

    /// `|d_k| <= 1`, `delta >= 0`, complementary slackness and `D (F + Delta) = E`.
    #[test]
    fn kkt_conditions_hold() {
        for (m, k, n, scale) in [(6, 4, 20, 0.3), (6, 4, 20, 3.0), (12, 5, 30, 0.3), (5, 9, 30, 0.2), (9, 6, 40, 1.0)] {
            let (e, f, d) = problem(m, k, n, scale);
            let found = solve(&e, &f, &d);
            let mut shifted = f.clone();
            (0..k).for_each(|j| shifted[(j, j)] += found.multipliers[j]);
            let stationary = mul(&found.dictionary, &shifted) - &e;
            assert!(stationary.norm_max() < 1e-7 * e.norm_max(), "{m} x {k}: {:e}", stationary.norm_max());
            for (norm, delta) in column_norms(&found.dictionary).iter().zip(&found.multipliers) {
                assert!(*norm <= 1.0 + 1e-12 && *delta >= 0.0);
                assert!((delta * (norm * norm - 1.0)).abs() <= 1e-6 * (1.0 + delta));
            }
        }
    }

    /// Both solvers agree on a small problem with every constraint active.
    #[test]
    fn dual_and_block_descent_agree() {
        let (e, f, start) = problem(4, 3, 30, 0.05);
        let dual = solve(&e, &f, &start);
        assert!(column_norms(&dual.dictionary).iter().all(|n| (n - 1.0).abs() < 1e-6));
        let problem = DualProblem { e: e.as_ref(), f: f.as_ref(), floor: 0.0 };
        let exact = problem.maximize(dual.multipliers.clone(), 1e-12).unwrap();
        let mut sweeps = start.clone();
        descend(&e, &f, &mut sweeps, 10_000, 1e-15);
        assert!((exact.w.transpose() - &sweeps).norm_max() < 2e-11);
        assert!((&dual.dictionary - &sweeps).norm_max() < 1e-6);
    }

    #[test]
    fn hessian_equals_finite_differences() {
        let (e, f, _) = problem(4, 3, 10, 0.5);
        let p = DualProblem { e: e.as_ref(), f: f.as_ref(), floor: 0.0 };
        let delta = [0.3, 0.1, 0.7];
        let point = p.at(delta.to_vec()).unwrap();
        let q = point.factor.solve(Mat::<f64>::identity(3, 3));
        let ww = outer_gram(&point.w);
        for k in 0..3 {
            let moved = |by: f64| p.at((0..3).map(|l| delta[l] + if l == k { by } else { 0.0 }).collect()).unwrap();
            let (up, down) = (moved(1e-5), moved(-1e-5));
            assert!(((up.value - down.value) / 2e-5 - point.gradient[k]).abs() < 1e-8);
            for l in 0..3 {
                let difference = (up.gradient[l] - down.gradient[l]) / 2e-5;
                let exact = -2.0 * ww[(k, l)] * q[(k, l)];
                assert!((difference - exact).abs() < 1e-7 * (1.0 + exact.abs()), "{difference} {exact}");
            }
        }
    }

    #[test]
    fn singular_problems_and_warm_starts_are_never_worse_than_the_start() {
        // More atoms than samples: F is singular.
        for (m, k, n, scale) in [(6, 9, 4, 1.0), (3, 12, 5, 0.2), (20, 12, 5, 0.1), (4, 4, 1, 1.0)] {
            let (e, f, d) = problem(m, k, n, scale);
            let found = solve(&e, &f, &d);
            assert!(found.dictionary.is_all_finite());
            assert!(found.value <= value(e.as_ref(), f.as_ref(), d.as_ref()) + 1e-12);
            let again = minimize(&e, &f, &found.dictionary, Some(&found.multipliers), &mut ()).unwrap();
            assert!((again.value - found.value).abs() <= 1e-6 * found.value.abs());
        }
        let zero = solve(&Mat::zeros(4, 3), &Mat::zeros(3, 3), &problem(4, 3, 5, 1.0).2);
        assert_eq!(zero.dictionary, problem(4, 3, 5, 1.0).2);
    }
}
