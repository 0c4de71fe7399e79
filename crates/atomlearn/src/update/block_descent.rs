//! Dictionary under `|d_k| <= 1` by block coordinate descent, one atom at a time (the update of online dictionary
//! learning; Mairal et al., JMLR 2010).

use crate::linalg::{dot, frobenius, mul_add};
use faer::{Mat, MatRef};

/// Atoms whose moves reach the others together, as one matrix product.
const TOGETHER: usize = 32;

/// Sweeps over the atoms until a sweep moves the dictionary by less than `tol` of its size; returns the sweeps done.
///
/// `a = (E_k - D F_k) / F_kk + d_k`, `d_k <- a / max(1, |a|)` is the exact minimiser over atom `k`, so `f` never rises
/// (for a start inside the constraints). Atoms that no code uses (`F_kk = 0`) stay.
pub fn descend(e: MatRef<'_, f64>, f: MatRef<'_, f64>, d: &mut Mat<f64>, max_sweeps: usize, tol: f64) -> usize {
    for sweep_number in 1..=max_sweeps {
        let moved = sweep(e, f, d);
        if moved.sqrt() <= tol * frobenius(&d) {
            return sweep_number;
        }
    }
    max_sweeps
}

/// One atom after the other; returns the squared distance they moved.
///
/// `R = E - D F` is kept up to date: at once for the atoms of a block, and for all later ones when the block is done.
fn sweep(e: MatRef<'_, f64>, f: MatRef<'_, f64>, d: &mut Mat<f64>) -> f64 {
    let n_atoms = d.ncols();
    let mut rest = e.to_owned();
    mul_add(rest.as_mut(), -1.0, &*d, f);
    let mut moved = 0.0;
    for start in (0..n_atoms).step_by(TOGETHER) {
        let size = TOGETHER.min(n_atoms - start);
        let end = start + size;
        let before = d.subcols(start, size).to_owned();
        for k in start..end {
            let Some(step) = update_atom(rest.col(k).iter(), f[(k, k)], d, k) else { continue };
            moved += dot(&step, &step);
            for j in k + 1..end {
                rest.col_mut(j).iter_mut().zip(&step).for_each(|(r, s)| *r -= s * f[(k, j)]);
            }
        }
        let steps = d.subcols(start, size) - before;
        mul_add(rest.subcols_mut(end, n_atoms - end), -1.0, &steps, f.submatrix(start, end, size, n_atoms - end));
    }
    moved
}

/// Moves atom `k` to its exact minimiser, from its column of `R`; returns how it moved, if it did.
fn update_atom<'a>(rest: impl Iterator<Item = &'a f64>, weight: f64, d: &mut Mat<f64>, k: usize) -> Option<Vec<f64>> {
    if weight <= 0.0 {
        return None;
    }
    let mut atom: Vec<f64> = rest.zip(d.col(k).iter()).map(|(r, d)| r / weight + d).collect();
    let norm = dot(&atom, &atom).sqrt();
    if !norm.is_finite() {
        return None;
    }
    if norm > 1.0 {
        atom.iter_mut().for_each(|v| *v /= norm);
    }
    let step = d.col(k).iter().zip(&atom).map(|(old, new)| new - old).collect();
    d.col_mut(k).iter_mut().zip(&atom).for_each(|(old, new)| *old = *new);
    Some(step)
}

#[cfg(test)]
mod tests {
    use super::super::{tests::problem, value};
    use super::*;
    use crate::linalg::{column_norms, mul};

    /// One atom, from the definition.
    fn update_alone(e: &Mat<f64>, f: &Mat<f64>, d: &mut Mat<f64>, k: usize) {
        let rest = e - mul(&*d, f);
        update_atom(rest.col(k).iter(), f[(k, k)], d, k);
    }

    #[test]
    fn a_sweep_updates_one_atom_after_the_other() {
        for (m, k, n) in [(9, 5, 30), (40, 75, 90)] {
            let (e, f, mut d) = problem(m, k, n, 0.7);
            let mut expected = d.clone();
            (0..k).for_each(|atom| update_alone(&e, &f, &mut expected, atom));
            let start = d.clone();
            let moved = sweep(e.as_ref(), f.as_ref(), &mut d);
            assert!((&d - &expected).norm_max() < 1e-12);
            assert!((moved - (&d - start).squared_norm_l2()).abs() < 1e-12 * moved);
        }
    }

    #[test]
    fn every_atom_lowers_the_objective_and_stays_in_the_ball() {
        for (m, k, n) in [(6, 4, 20), (6, 9, 20), (5, 8, 4)] {
            let (e, f, mut d) = problem(m, k, n, 0.7);
            let mut before = value(e.as_ref(), f.as_ref(), d.as_ref());
            for atom in 0..3 * k {
                update_alone(&e, &f, &mut d, atom % k);
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
