//! The atoms of one class, which are to share little with all other atoms (the dictionary step of DLSI and COPAR).
//!
//! ```text
//! min_D -2 tr(E D^T) + tr(F D^T D) + omega |A D|_F^2   s.t. |d_k| <= 1,      A: the other atoms, in rows
//! ```
//!
//! by ADMM on `D = V`:
//!
//! 1. `D`: block descent with `E + rho / 2 (V - S)` and `F + rho / 2 I`; 2. `V = (I + tau A^T A)^-1 (D + S)`,
//!    `tau = 2 omega / rho`; 3. `S += D - V`.
//!
//! At the end `S = tau A^T A V`, which the start takes for its `S`. All classes share one inverse, `P = (I + tau D D^T)^-1` of all
//! atoms: Woodbury's identity takes the atoms of a class out and puts the new ones in.

use super::block_descent::descend;
use super::value;
use crate::linalg::{Spd, add_diagonal, mul, mul_add, outer_gram};
use crate::{Observer, Result};
use faer::Mat;
use std::ops::Range;

/// Says in how many iterations of a method one of its steps found nothing better, see [`Incoherent::update`].
pub fn warn_unsettled(method: &str, iterations: usize, watch: &mut dyn Observer) {
    if iterations > 0 {
        watch.warn(&format!(
            "{method}: in {iterations} iterations a dictionary step ran out of steps and found nothing better"
        ));
    }
}

const MAX_STEPS: usize = 200;
/// `rho` as a multiple of the root of `omega`: near the fewest steps for `omega` from 0.01 to 1 (digits, 50 per class).
const PENALTY: f64 = 4.0;
/// Squared distances of `D` from `V`, and of `V` from the last, at which the iteration has settled.
const SETTLED: f64 = 1e-8;
/// Sweeps of step 1, and the change that ends them.
const SWEEPS: usize = 20;
const SWEEP_TOL: f64 = 1e-7;

/// The dictionary steps of all classes, one after the other.
pub struct Incoherent {
    omega: f64,
    rho: f64,
    tau: f64,
    /// `P`; none without a penalty.
    inverse: Option<Mat<f64>>,
}

impl Incoherent {
    /// For a dictionary of atoms of all classes.
    pub fn new(dictionary: &Mat<f64>, omega: f64) -> Result<Self> {
        let rho = PENALTY * omega.sqrt();
        let tau = 2.0 * omega / rho;
        let inverse = if omega > 0.0 { Some(inverse(dictionary, tau)?) } else { None };
        Ok(Incoherent { omega, rho, tau, inverse })
    }

    /// Replaces the atoms in columns `own`; what is minimised never rises. False if ADMM ended early and with nothing better than the
    /// start, so that the atoms stay for want of steps, not because they are best.
    pub fn update(&mut self, dictionary: &mut Mat<f64>, own: Range<usize>, e: &Mat<f64>, f: &Mat<f64>) -> Result<bool> {
        if own.is_empty() {
            return Ok(true);
        }
        let Incoherent { omega, rho, tau, .. } = *self;
        let start = dictionary.subcols(own.start, own.len()).to_owned();
        let mut d = start.clone();
        let Some(inverse) = &mut self.inverse else {
            descend(e, f, &mut d, MAX_STEPS, SWEEP_TOL);
            dictionary.subcols_mut(own.start, own.len()).copy_from(&d);
            return Ok(true);
        };
        move_inverse(inverse, &start, tau, Move::Out)?;

        let overlap = |d: &Mat<f64>| {
            let mut overlap = mul(dictionary.transpose(), d);
            overlap.subrows_mut(own.start, own.len()).fill(0.0);
            overlap
        };
        let mut pulled = f.to_owned();
        add_diagonal(&mut pulled, 0.5 * rho);
        let mut v = d.clone();
        let mut s = faer::Scale(tau) * mul(&*dictionary, overlap(&start));
        let mut settled = false;
        for _ in 0..MAX_STEPS {
            let target = e + faer::Scale(0.5 * rho) * (&v - &s);
            descend(&target, &pulled, &mut d, SWEEPS, SWEEP_TOL);
            let next = mul(&*inverse, &d + &s);
            let apart = &d - &next;
            let moved = &next - &v;
            s += &apart;
            v = next;
            settled = apart.squared_norm_l2().max(moved.squared_norm_l2()) < SETTLED;
            if settled {
                break;
            }
        }
        let penalized = |d: &Mat<f64>| value(e, f, d) + omega * overlap(d).squared_norm_l2();
        // What ends early, or in rounding, may be above where it began.
        let better = penalized(&d) <= penalized(&start);
        let d = if better { d } else { start };
        dictionary.subcols_mut(own.start, own.len()).copy_from(&d);
        move_inverse(inverse, &d, tau, Move::In)?;
        Ok(settled || better)
    }
}

const STAGE: &str = "incoherent dictionary";

/// `(I + tau D D^T)^-1`, through the smaller of `D D^T` and `D^T D`.
fn inverse(d: &Mat<f64>, tau: f64) -> Result<Mat<f64>> {
    let (m, n_atoms) = d.shape();
    if n_atoms < m {
        let mut inverse = Mat::identity(m, m);
        move_inverse(&mut inverse, &d.to_owned(), tau, Move::In)?;
        return Ok(inverse);
    }
    let mut system = outer_gram(d);
    system *= faer::Scale(tau);
    add_diagonal(&mut system, 1.0);
    Ok(Spd::new(system, STAGE)?.into_inverse())
}

#[derive(Clone, Copy, PartialEq)]
enum Move {
    In,
    Out,
}

/// `P = Q^-1` becomes `(Q + tau D D^T)^-1 = P - P D (I / tau + D^T P D)^-1 D^T P`, or the same with `-tau` if atoms leave.
fn move_inverse(p: &mut Mat<f64>, d: &Mat<f64>, tau: f64, direction: Move) -> Result<()> {
    let sign = if direction == Move::In { 1.0 } else { -1.0 };
    let pd = mul(&*p, d);
    let mut small = mul(d.transpose(), &pd);
    small *= faer::Scale(sign);
    add_diagonal(&mut small, tau.recip());
    let half = Spd::new(small, STAGE)?.half_solve(pd.transpose());
    mul_add(p.as_mut(), -sign, half.transpose(), &half);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::problem;
    use super::*;
    use crate::linalg::{column_norms, concat_columns, normalize_columns};
    use crate::testing::noise;

    fn direct(d: &Mat<f64>, tau: f64) -> Mat<f64> {
        let mut system = faer::Scale(tau) * outer_gram(d);
        add_diagonal(&mut system, 1.0);
        Spd::new(system, "t").unwrap().inverse()
    }

    #[test]
    fn woodbury_equals_the_direct_inverse() {
        for (m, sizes) in [(20, [4, 3, 5]), (6, [4, 3, 5])] {
            let mut d = Mat::from_fn(m, sizes.iter().sum(), noise);
            normalize_columns(d.as_mut());
            for tau in [1e-3, 0.02, 1.0, 50.0] {
                let mut p = inverse(&d, tau).unwrap();
                assert!((&p - direct(&d, tau)).norm_max() < 1e-12);
                let own = d.subcols(4, 3).to_owned();
                let others = concat_columns(&[d.subcols(0, 4).to_owned(), d.subcols(7, 5).to_owned()]);
                move_inverse(&mut p, &own, tau, Move::Out).unwrap();
                assert!((&p - direct(&others, tau)).norm_max() < 1e-10, "{tau}");
                move_inverse(&mut p, &own, tau, Move::In).unwrap();
                assert!((&p - direct(&d, tau)).norm_max() < 1e-10, "{tau}");
            }
        }
    }

    /// All atoms, of which the middle ones are learned, with their `E` and `F`.
    fn among_others(m: usize) -> (Mat<f64>, Mat<f64>, Mat<f64>) {
        let (e, f, own) = problem(m, 4, 20, 0.7);
        let mut others = Mat::from_fn(m, 7, |i, j| noise(i + 40, j + 3));
        normalize_columns(others.as_mut());
        (e, f, concat_columns(&[others.subcols(0, 3).to_owned(), own, others.subcols(3, 4).to_owned()]))
    }

    fn objective(e: &Mat<f64>, f: &Mat<f64>, all: &Mat<f64>, omega: f64) -> f64 {
        let own = all.subcols(3, 4);
        let others = concat_columns(&[all.subcols(0, 3).to_owned(), all.subcols(7, 4).to_owned()]);
        value(e.as_ref(), f.as_ref(), own) + omega * mul(others.transpose(), own).squared_norm_l2()
    }

    #[test]
    fn the_step_ends_where_projected_gradients_end() {
        for (m, omega) in [(6, 0.02), (6, 1.0), (30, 0.02), (30, 5.0)] {
            let (e, f, start) = among_others(m);
            let mut found = start.clone();
            let mut step = Incoherent::new(&start, omega).unwrap();
            assert!(step.update(&mut found, 3..7, &e, &f).unwrap());
            let reached = objective(&e, &f, &found, omega);
            assert!(reached < objective(&e, &f, &start, omega));
            assert!(column_norms(&found).iter().all(|n| *n <= 1.0 + 1e-12));
            assert!((0..11).all(|k| (3..7).contains(&k) || found.col(k) == start.col(k)));

            let mut slow = start.clone();
            let rate = 0.5 / (crate::linalg::top_eigenvalue(&f) + omega * 11.0);
            for _ in 0..20_000 {
                let own = slow.subcols(3, 4).to_owned();
                let mut overlap = mul(slow.transpose(), &own);
                overlap.subrows_mut(3, 4).fill(0.0);
                let gradient = &own * &f - &e + faer::Scale(omega) * (&slow * overlap);
                let mut next = own - faer::Scale(2.0 * rate) * gradient;
                for mut column in next.as_mut().col_iter_mut() {
                    let norm = column.norm_l2().max(1.0);
                    column.as_mut().iter_mut().for_each(|v| *v /= norm);
                }
                slow.subcols_mut(3, 4).copy_from(&next);
            }
            let expected = objective(&e, &f, &slow, omega);
            assert!((reached - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{m} {omega}: {reached} {expected}");
        }
    }

    #[test]
    fn without_weight_it_is_plain_block_descent_and_with_much_the_overlap_goes() {
        let (e, f, start) = among_others(6);
        let learned = |omega: f64| {
            let mut all = start.clone();
            Incoherent::new(&start, omega).unwrap().update(&mut all, 3..7, &e, &f).unwrap();
            all
        };
        let mut plain = start.subcols(3, 4).to_owned();
        descend(&e, &f, &mut plain, MAX_STEPS, SWEEP_TOL);
        assert!(learned(0.0).subcols(3, 4) == plain);
        let overlap = |omega: f64| {
            let all = learned(omega);
            objective(&e, &f, &all, 1.0) - objective(&e, &f, &all, 0.0)
        };
        let overlaps = [0.0, 0.1, 1.0, 10.0].map(overlap);
        assert!(overlaps.windows(2).all(|w| w[1] < w[0]), "{overlaps:?}");
    }

    #[test]
    fn the_shared_inverse_follows_the_atoms() {
        let (e, f, start) = among_others(6);
        let mut all = start.clone();
        let mut step = Incoherent::new(&start, 0.3).unwrap();
        step.update(&mut all, 3..7, &e, &f).unwrap();
        assert!(all != start && (step.inverse.unwrap() - direct(&all, step.tau)).norm_max() < 1e-12);
    }
}
