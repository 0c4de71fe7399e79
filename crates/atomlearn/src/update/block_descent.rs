//! A dictionary by block coordinate descent, one atom at a time: inside the ball `|d_k| <= 1` (the update of online
//! dictionary learning; Mairal et al., JMLR 2010) or on the sphere `|d_k| = 1`.

use crate::linalg::{View, add_columns, dot, frobenius, mul_add, select_columns, wide};
use faer::{Mat, MatRef};

/// Atoms whose residual is formed by one product; changes within are followed up one by one.
const TOGETHER: usize = 32;
/// An atom whose best direction is shorter than this is dead.
const DEAD: f64 = 1e-6;
/// Below this share of entries that are not zero, `D F_k` is taken from these alone.
const SPARSE: f64 = 0.2;

/// Sweeps over the atoms until a sweep moves the dictionary by less than `tol` of its size; returns the sweeps done.
///
/// `a = (E_k - D F_k) / F_kk + d_k`, `d_k <- a / max(1, |a|)` is the exact minimiser over atom `k`, so `f` never rises
/// (for a start inside the constraints). Atoms that no code uses (`F_kk = 0`) stay.
pub fn descend(e: impl View, f: impl View, d: &mut Mat<f64>, max_sweeps: usize, tol: f64) -> usize {
    let (e, f) = (e.view(), f.view());
    for done in 1..=max_sweeps {
        let moved = sweep(e, f, d, |k, a, old| into_ball(f[(k, k)], a, old));
        if moved.sqrt() <= tol * frobenius(&d) {
            return done;
        }
    }
    max_sweeps
}

/// `a / max(weight, |a|)`; an atom of no weight stays.
#[inline(always)]
fn into_ball(weight: f64, a: &mut [f64], old: &[f64]) {
    let scale = weight.max(dot(a, a).sqrt());
    if weight > 0.0 && scale.is_finite() {
        a.iter_mut().for_each(|v| *v /= scale);
    } else {
        a.copy_from_slice(old);
    }
}

/// One sweep of [`descend`] over these atoms alone. Where few codes meet, most entries of `F` are zero, and only the others are read.
pub fn descend_some(e: &Mat<f64>, f: &Mat<f64>, d: &mut Mat<f64>, atoms: &[usize]) {
    let partners = |k: usize| f.col_as_slice(k).iter().filter(|v| **v != 0.0).count();
    let entries: usize = atoms.iter().map(|&k| partners(k)).sum();
    if entries as f64 > SPARSE * (atoms.len() * f.nrows()) as f64 {
        let (e, f) = (select_columns(e, atoms), select_columns(f, atoms));
        sweep_listed(e.as_ref(), f.as_ref(), d, atoms, |k, p, a, old| into_ball(f[(k, p)], a, old));
        return;
    }
    let (mut rows, mut weights, mut a) = (Vec::new(), Vec::new(), Vec::new());
    for &k in atoms {
        let column = f.col_as_slice(k);
        rows.clear();
        rows.extend((0..column.len()).filter(|&l| l != k && column[l] != 0.0));
        weights.clear();
        weights.extend(rows.iter().map(|&l| -column[l]));
        a.clear();
        a.extend_from_slice(e.col_as_slice(k));
        wide!({
            // Without its own part, `F_kk d_k` need not be added again.
            add_columns(&weights, |j| d.col_as_slice(rows[j]), &mut a);
            into_ball(column[k], &mut a, d.col_as_slice(k));
        });
        d.col_as_slice_mut(k).copy_from_slice(&a);
    }
}

/// One sweep on the sphere, `d_k = a / |a|` with `a = E_k - D F_k + F_kk d_k`, the exact minimiser over atom `k`; returns
/// the dead atoms, which no code uses, left as they are.
pub fn sphere_sweep(e: &Mat<f64>, f: &Mat<f64>, d: &mut Mat<f64>) -> Vec<usize> {
    let mut dead = Vec::new();
    sweep(e.as_ref(), f.as_ref(), d, |k, a, old| {
        let norm = dot(a, a).sqrt();
        if norm < DEAD || !norm.is_finite() {
            dead.push(k);
            a.copy_from_slice(old);
        } else {
            a.iter_mut().for_each(|v| *v /= norm);
        }
    });
    dead
}

/// Passes `a = E_k - D F_k + F_kk d_k` and `d_k` to `update` for every atom in order; `a` becomes the new atom. Returns the
/// squared distance that all atoms moved.
fn sweep(
    e: MatRef<'_, f64>,
    f: MatRef<'_, f64>,
    d: &mut Mat<f64>,
    mut update: impl FnMut(usize, &mut [f64], &[f64]),
) -> f64 {
    let atoms: Vec<usize> = (0..d.ncols()).collect();
    sweep_listed(e, f, d, &atoms, |k, _, a, old| update(k, a, old))
}

/// The same over some atoms, whose columns `e` and `f` have; `update` is told the atom and its place in the list.
fn sweep_listed(
    e: MatRef<'_, f64>,
    f: MatRef<'_, f64>,
    d: &mut Mat<f64>,
    atoms: &[usize],
    mut update: impl FnMut(usize, usize, &mut [f64], &[f64]),
) -> f64 {
    let (m, n_atoms) = (d.nrows(), atoms.len());
    let mut changes = Mat::zeros(m, TOGETHER.min(n_atoms));
    let mut moved = 0.0;
    for start in (0..n_atoms).step_by(TOGETHER) {
        let width = TOGETHER.min(n_atoms - start);
        let mut residual = e.subcols(start, width).to_owned();
        mul_add(residual.as_mut(), -1.0, &d, f.subcols(start, width));
        for p in 0..width {
            let k = atoms[start + p];
            let a = residual.col_as_slice_mut(p);
            let old = d.col_as_slice(k).to_vec();
            let own = f[(k, start + p)];
            a.iter_mut().zip(&old).for_each(|(a, d)| *a += own * d);
            for q in 0..p {
                let weight = f[(atoms[start + q], start + p)];
                a.iter_mut().zip(changes.col_as_slice(q)).for_each(|(a, c)| *a -= weight * c);
            }
            update(k, start + p, a, &old);
            let change = changes.col_as_slice_mut(p);
            (0..m).for_each(|i| change[i] = a[i] - old[i]);
            moved += dot(change, change);
            d.col_as_slice_mut(k).copy_from_slice(a);
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::super::{tests::problem, value};
    use super::*;
    use crate::linalg::{column_norms, gram, outer_gram};
    use crate::testing::noise;

    #[test]
    fn every_atom_lowers_the_objective_and_stays_in_the_ball() {
        for (m, k, n) in [(6, 4, 20), (6, 9, 20), (5, 8, 4)] {
            let (e, f, start) = problem(m, k, n, 0.7);
            let mut ball = start.clone();
            descend(&e, &f, &mut ball, 1, 0.0);
            let mut sphere = start.clone();
            assert!(sphere_sweep(&e, &f, &mut sphere).is_empty());
            for swept in [&ball, &sphere] {
                let mut before = value(e.as_ref(), f.as_ref(), start.as_ref());
                for atom in 0..k {
                    // The first atoms new, the others old: what the sweep passes through.
                    let mixed = Mat::from_fn(m, k, |i, j| if j <= atom { swept[(i, j)] } else { start[(i, j)] });
                    let after = value(e.as_ref(), f.as_ref(), mixed.as_ref());
                    assert!(after <= before + 1e-12, "{after} > {before}");
                    before = after;
                }
            }
            assert!(column_norms(&ball).iter().all(|&n| n <= 1.0 + 1e-12));
            assert!(column_norms(&sphere).iter().all(|&n| (n - 1.0).abs() < 1e-12));
        }
    }

    #[test]
    fn blocked_sweeps_equal_plain_ones() {
        let n_atoms = 71;
        let e = Mat::from_fn(6, n_atoms, noise);
        let f = gram(Mat::from_fn(90, n_atoms, noise));
        let mut plain = Mat::from_fn(6, n_atoms, |i, j| noise(j, i + 7));
        let mut blocked = plain.clone();
        sphere_sweep(&e, &f, &mut blocked);
        for k in 0..n_atoms {
            let old = plain.subcols(k, 1).to_owned();
            let a = e.subcols(k, 1) - &plain * f.subcols(k, 1) + faer::Scale(f[(k, k)]) * old;
            let norm = a.norm_l2();
            (0..6).for_each(|i| plain[(i, k)] = a[(i, 0)] / norm);
        }
        assert!((plain - blocked).norm_max() < 1e-9);
    }

    #[test]
    fn a_sweep_over_some_atoms_is_that_over_all_with_the_others_held() {
        // Dense: blocks of products; codes of three atoms each: single entries.
        for used in [60, 3] {
            let z = Mat::from_fn(60, 90, |k, i| if (k + 60 - i % 60) % 60 < used { noise(k, i) } else { 0.0 });
            let f = outer_gram(&z);
            let (e, start) = (Mat::from_fn(6, 60, noise), Mat::from_fn(6, 60, |i, j| 0.3 * noise(j, i + 7)));
            let atoms: Vec<usize> = (0..60).filter(|k| k % 3 != 1).collect();
            let mut some = start.clone();
            descend_some(&e, &f, &mut some, &atoms);
            let mut plain = start.clone();
            for &k in &atoms {
                let old = plain.subcols(k, 1).to_owned();
                let a = e.subcols(k, 1) - &plain * f.subcols(k, 1) + faer::Scale(f[(k, k)]) * old;
                let scale = a.norm_l2().max(f[(k, k)]);
                (0..6).for_each(|i| plain[(i, k)] = a[(i, 0)] / scale);
            }
            assert!((plain - &some).norm_max() < 1e-9, "{used}");
            assert!((0..60).filter(|k| k % 3 == 1).all(|k| some.col(k) == start.col(k)));
        }
    }

    #[test]
    fn unused_atoms_stay() {
        let (mut e, mut f, mut d) = problem(5, 4, 12, 1.0);
        e.col_mut(2).fill(0.0);
        f.col_mut(2).fill(0.0);
        f.row_mut(2).fill(0.0);
        let old = d.clone();
        descend(&e, &f, &mut d, 50, 1e-9);
        assert!(d.col(2) == old.col(2) && d.is_all_finite());
        assert_eq!(sphere_sweep(&e, &f, &mut d), [2]);
        assert!(d.col(2) == old.col(2));
    }

    #[test]
    fn sweeps_end_when_they_settle() {
        let wanted = faer::mat![[0.5, -0.5], [0.2, 0.1]];
        let identity = Mat::<f64>::identity(2, 2);
        let mut d = Mat::zeros(2, 2);
        assert_eq!(descend(&wanted, &identity, &mut d, 100, 1e-8), 2);
        assert!((&d - &wanted).norm_max() < 1e-8);
        // Nearly equal codes: the way from one atom to the other is long and flat.
        let f = faer::mat![[1.0, 0.9999], [0.9999, 1.0]];
        assert_eq!(descend((&wanted * &f).as_ref(), &f, &mut Mat::zeros(2, 2), 100, 1e-8), 100);
    }
}
