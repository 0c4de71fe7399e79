//! Dictionary under `|d_k| <= 1` by block coordinate descent, one atom at a time (the update of online dictionary
//! learning; Mairal et al., JMLR 2010).

use crate::linalg::{dot, frobenius, mul};
use faer::{Mat, MatRef};

/// Sweeps over the atoms until a sweep moves the dictionary by less than `tol` of its size; returns the sweeps done.
///
/// `a = (E_k - D F_k) / F_kk + d_k`, `d_k <- a / max(1, |a|)` is the exact minimiser over atom `k`, so `f` never rises
/// (for a start inside the constraints). Atoms that no code uses (`F_kk = 0`) stay.
pub fn descend(e: MatRef<'_, f64>, f: MatRef<'_, f64>, d: &mut Mat<f64>, max_sweeps: usize, tol: f64) -> usize {
    for sweep in 1..=max_sweeps {
        let mut moved = 0.0;
        for k in 0..d.ncols() {
            moved += update_atom(e, f, d, k);
        }
        if moved.sqrt() <= tol * frobenius(&d) {
            return sweep;
        }
    }
    max_sweeps
}

/// The exact minimiser over atom `k`; returns the squared distance it moved.
fn update_atom(e: MatRef<'_, f64>, f: MatRef<'_, f64>, d: &mut Mat<f64>, k: usize) -> f64 {
    let weight = f[(k, k)];
    if weight <= 0.0 {
        return 0.0;
    }
    let df = mul(&d, f.subcols(k, 1));
    let mut atom: Vec<f64> = (0..d.nrows()).map(|i| (e[(i, k)] - df[(i, 0)]) / weight + d[(i, k)]).collect();
    let norm = dot(&atom, &atom).sqrt();
    if !norm.is_finite() {
        return 0.0;
    }
    if norm > 1.0 {
        atom.iter_mut().for_each(|v| *v /= norm);
    }
    let mut moved = 0.0;
    for (old, new) in d.col_mut(k).iter_mut().zip(atom) {
        moved += (new - *old).powi(2);
        *old = new;
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::super::{tests::problem, value};
    use super::*;
    use crate::linalg::column_norms;

    #[test]
    fn every_atom_lowers_the_objective_and_stays_in_the_ball() {
        for (m, k, n) in [(6, 4, 20), (6, 9, 20), (5, 8, 4)] {
            let (e, f, mut d) = problem(m, k, n, 0.7);
            let mut before = value(e.as_ref(), f.as_ref(), d.as_ref());
            for atom in 0..3 * k {
                update_atom(e.as_ref(), f.as_ref(), &mut d, atom % k);
                let after = value(e.as_ref(), f.as_ref(), d.as_ref());
                assert!(after <= before + 1e-12, "{after} > {before}");
                before = after;
            }
            assert!(column_norms(&d).iter().all(|&n| n <= 1.0 + 1e-12));
        }
    }

    #[test]
    fn unused_atoms_stay() {
        let (mut e, mut f, mut d) = problem(5, 4, 12, 1.0);
        e.col_mut(2).fill(0.0);
        f.col_mut(2).fill(0.0);
        f.row_mut(2).fill(0.0);
        let old = d.clone();
        descend(e.as_ref(), f.as_ref(), &mut d, 50, 1e-9);
        assert!(d.col(2) == old.col(2) && d.is_all_finite());
    }
}
