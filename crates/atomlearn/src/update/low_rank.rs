//! A dictionary of low rank (the shared atoms of LRSDL).
//!
//! ```text
//! min_D -2 tr(E D^T) + tr(F D^T D) + weight |D|_*   s.t. |d_k| <= 1,      |D|_*: the sum of singular values
//! ```
//!
//! by ADMM on `D = J`: 1. `D`: block descent with `E + rho / 2 (J + S)` and `F + rho / 2 I`; 2. `J`: the singular values of `D - S`,
//! each less by `weight / rho`; 3. `S += J - D`. `rho` follows the two residuals. The result is `J`, whose rank is exact, with
//! columns longer than one cut to length one.

use super::block_descent::descend;
use super::value;
use crate::Result;
use crate::linalg::{add_diagonal, frobenius, mul, svd};
use faer::Mat;

const MAX_STEPS: usize = 200;
const FIRST_PENALTY: f64 = 0.25;
/// `rho` is doubled or halved where one residual is this many times the other.
const UNBALANCED: f64 = 10.0;
/// Distances of `D` from `J`, and of `J` from the last, at which the iteration has settled, as fractions of one per atom.
const SETTLED: f64 = 1e-6;
/// Sweeps of step 1, and the change that ends them.
const SWEEPS: usize = 20;
const SWEEP_TOL: f64 = 1e-8;
const STAGE: &str = "low-rank dictionary";

/// The dictionary, from a start inside the constraints; what is minimised never rises. And false if ADMM ended early and with nothing
/// better than the start, so that the atoms stay for want of steps, not because they are best.
pub fn low_rank(e: &Mat<f64>, f: &Mat<f64>, weight: f64, start: &Mat<f64>) -> Result<(Mat<f64>, bool)> {
    let mut d = start.clone();
    if d.ncols() == 0 {
        return Ok((d, true));
    }
    if weight == 0.0 {
        descend(e, f, &mut d, MAX_STEPS, SWEEP_TOL);
        return Ok((d, true));
    }
    let mut rho = FIRST_PENALTY;
    let mut j = start.clone();
    let mut s = Mat::zeros(d.nrows(), d.ncols());
    let mut settled = false;
    let near = SETTLED * (d.ncols() as f64).sqrt();
    for _ in 0..MAX_STEPS {
        let target = e + faer::Scale(0.5 * rho) * (&j + &s);
        let mut system = f.to_owned();
        add_diagonal(&mut system, 0.5 * rho);
        descend(&target, &system, &mut d, SWEEPS, SWEEP_TOL);
        let next = shrink_singular_values(&d - &s, weight / rho)?;
        s += &next - &d;
        let apart = frobenius(&next - &d);
        let moved = rho * frobenius(&next - &j);
        j = next;
        settled = apart.max(moved) < near;
        if settled {
            break;
        }
        let factor = match (apart, moved) {
            _ if apart > UNBALANCED * moved => 2.0,
            _ if moved > UNBALANCED * apart => 0.5,
            _ => 1.0,
        };
        rho *= factor;
        s *= faer::Scale(1.0 / factor);
    }
    for column in j.as_mut().col_iter_mut() {
        let norm = column.norm_l2();
        if norm > 1.0 {
            column.iter_mut().for_each(|v| *v /= norm);
        }
    }
    let penalized = |d: &Mat<f64>| Ok::<f64, crate::Error>(value(e, f, d) + weight * nuclear_norm(d)?);
    // What ends early, or in rounding, may be above where it began.
    let better = penalized(&j)? <= penalized(start)?;
    Ok((if better { j } else { start.clone() }, settled || better))
}

/// The sum of singular values.
pub fn nuclear_norm(a: &Mat<f64>) -> Result<f64> {
    Ok(if a.ncols() == 0 { 0.0 } else { svd(a, STAGE)?.1.iter().sum() })
}

/// `U max(S - t, 0) V^T` of `A = U S V^T`: the proximal map of `t |.|_*`.
fn shrink_singular_values(a: Mat<f64>, t: f64) -> Result<Mat<f64>> {
    let (mut u, s, v) = svd(&a, STAGE)?;
    for (column, s) in u.as_mut().col_iter_mut().zip(&s) {
        let left = (s - t).max(0.0);
        column.iter_mut().for_each(|v| *v *= left);
    }
    Ok(mul(&u, v.transpose()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::problem;
    use super::*;
    use crate::linalg::{column_norms, rank_above};
    use crate::testing::noise;

    #[test]
    fn shrinking_takes_the_same_from_every_singular_value() {
        let a = Mat::from_fn(7, 4, noise);
        let (_, before, _) = svd(&a, "t").unwrap();
        let t = 0.5 * (before[1] + before[2]);
        let shrunk = shrink_singular_values(a.clone(), t).unwrap();
        let (_, after, _) = svd(&shrunk, "t").unwrap();
        assert!(before.iter().zip(&after).all(|(b, a)| ((b - t).max(0.0) - a).abs() < 1e-12));
        // The proximal map: nothing near is better.
        let cost = |b: &Mat<f64>| 0.5 * (b - &a).squared_norm_l2() + t * nuclear_norm(b).unwrap();
        for seed in 0..20 {
            let near = &shrunk + faer::Scale(1e-3) * Mat::from_fn(7, 4, |i, j| noise(i + seed, j + 2 * seed));
            assert!(cost(&near) >= cost(&shrunk) - 1e-12);
        }
    }

    fn rank(d: &Mat<f64>) -> usize {
        rank_above(&svd(d, "t").unwrap().1, 1e-9)
    }

    #[test]
    fn rank_falls_with_the_weight_and_the_objective_in_every_case() {
        let (e, f, start) = problem(12, 5, 40, 0.7);
        let learned = [0.0, 0.5, 2.0, 8.0, 1e3].map(|weight| {
            let (d, settled) = low_rank(&e, &f, weight, &start).unwrap();
            assert!(settled, "{weight}");
            assert!(column_norms(&d).iter().all(|norm| *norm <= 1.0 + 1e-12));
            let cost = |d: &Mat<f64>| value(e.as_ref(), f.as_ref(), d.as_ref()) + weight * nuclear_norm(d).unwrap();
            assert!(cost(&d) < cost(&start));
            // The problem is convex: no small step inside the ball leads down.
            for seed in 0..30 {
                let mut near = &d + faer::Scale(1e-3) * Mat::from_fn(12, 5, |i, j| noise(i + seed, j + 3 * seed));
                for column in near.as_mut().col_iter_mut() {
                    let norm = column.norm_l2().max(1.0);
                    column.iter_mut().for_each(|v| *v /= norm);
                }
                assert!(cost(&near) >= cost(&d) - 1e-7, "{weight}: {} {}", cost(&near), cost(&d));
            }
            d
        });
        let ranks: Vec<usize> = learned.iter().map(rank).collect();
        assert!(ranks.windows(2).all(|w| w[1] <= w[0]), "{ranks:?}");
        assert!(ranks[0] == 5 && ranks[4] == 0 && ranks[2] < 5, "{ranks:?}");
    }

    #[test]
    fn no_atoms_stay_none() {
        let none = Mat::zeros(6, 0);
        let (d, settled) = low_rank(&none, &Mat::zeros(0, 0), 1.0, &none).unwrap();
        assert!(settled && d.shape() == (6, 0) && nuclear_norm(&d).unwrap() == 0.0);
    }
}
