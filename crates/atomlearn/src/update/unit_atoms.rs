//! Atoms of a fixed length by block coordinate descent, one atom at a time.
//!
//! ```text
//! min_D  f(D) = -2 tr(E D^T) + tr(F D^T D)      s.t.  |d_k| = radius
//! ```
//!
//! On the sphere `F_kk |d_k|^2` is constant, so that what is left is linear in an atom:
//! `d_k = radius v / |v|` with `v = E_k - sum_{l != k} F_kl d_l` is its exact minimiser.

use crate::linalg::{dot, mul};
use faer::Mat;

/// Atoms that hardly any code uses, and updates without a direction, stay as they are.
const NOTHING: f64 = 1e-12;

/// One sweep over the atoms; `f(D)` never rises for a start on the sphere.
pub fn sweep(e: &Mat<f64>, f: &Mat<f64>, d: &mut Mat<f64>, radius: impl Fn(usize) -> f64) {
    for k in 0..d.ncols() {
        if f[(k, k)] < NOTHING {
            continue;
        }
        let df = mul(&d, f.subcols(k, 1));
        let v: Vec<f64> = (0..d.nrows()).map(|i| e[(i, k)] - df[(i, 0)] + f[(k, k)] * d[(i, k)]).collect();
        let norm = dot(&v, &v).sqrt();
        if norm >= NOTHING && norm.is_finite() {
            let scale = radius(k) / norm;
            d.col_mut(k).iter_mut().zip(v).for_each(|(d, v)| *d = scale * v);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{tests::problem, value};
    use super::*;
    use crate::linalg::column_norms;

    #[test]
    fn every_sweep_lowers_the_objective_on_the_sphere_and_atoms_end_at_their_minimum() {
        for radius in [1.0, 0.5] {
            let (e, f, d) = problem(6, 4, 20, 0.7);
            let mut d = faer::Scale(radius) * d;
            let mut held = value(e.as_ref(), f.as_ref(), d.as_ref());
            for _ in 0..200 {
                sweep(&e, &f, &mut d, |_| radius);
                let now = value(e.as_ref(), f.as_ref(), d.as_ref());
                assert!(now <= held + 1e-12, "{held} -> {now}");
                held = now;
            }
            assert!(column_norms(&d).iter().all(|n| (n - radius).abs() < 1e-12));
            // At a minimum on the sphere the gradient of an atom points along the atom, inwards for the descent.
            let slope = &e - mul(&d, &f);
            for k in 0..4 {
                let along = (slope.col(k).transpose() * d.col(k)) / (radius * radius);
                let off = (slope.col(k) - faer::Scale(along) * d.col(k)).norm_l2();
                assert!(off < 1e-6, "{k}: {off}");
            }
        }
    }

    #[test]
    fn unused_atoms_stay() {
        let (mut e, mut f, mut d) = problem(6, 4, 20, 0.7);
        for i in 0..6 {
            e[(i, 2)] = 0.0;
        }
        for i in 0..4 {
            f[(i, 2)] = 0.0;
            f[(2, i)] = 0.0;
        }
        let before = d.col(2).to_owned();
        sweep(&e, &f, &mut d, |_| 1.0);
        assert!(d.col(2).to_owned() == before);
    }
}
