//! The dictionary step of FDDL: atom by atom, each exact.

use super::codes::double_own_blocks;
use crate::linalg::{dot, mul, mul_add, outer_gram, relative_change};
use crate::{Blocks, Mat, MatRef};

/// Atoms whose residual is formed by one product; changes within are followed up one by one.
const TOGETHER: usize = 32;
/// An atom whose best direction is shorter than this is dead.
const DEAD: f64 = 1e-6;
/// Sweeps of the ball-constrained step, and the change of the dictionary that ends them.
pub(super) const SWEEPS: usize = 100;
const SWEEP_TOL: f64 = 1e-8;

/// `J = const - tr(E^T D) + 1/2 tr(F D^T D)` in the dictionary:
/// `E = X (Z + own blocks of Z)^T`, `F = Z Z^T + own blocks of Z Z^T`.
pub(super) struct AtomStep {
    pub e: Mat<f64>,
    pub f: Mat<f64>,
}

impl AtomStep {
    pub fn new(x: MatRef<'_, f64>, z: MatRef<'_, f64>, atoms: &Blocks, samples: &Blocks) -> Self {
        let mut doubled = z.to_owned();
        double_own_blocks(doubled.as_mut(), atoms, samples);
        let mut f = outer_gram(z);
        double_own_blocks(f.as_mut(), atoms, atoms);
        AtomStep { e: mul(x, doubled.transpose()), f }
    }

    /// One sweep on the sphere, `d_k = a / |a|` with `a = E_k - D F_k + F_kk d_k`; returns the dead atoms, left as they are.
    pub fn sphere(&self, d: &mut Mat<f64>) -> Vec<usize> {
        let mut dead = Vec::new();
        self.sweep(d, |k, a, old| {
            let norm = dot(a, a).sqrt();
            if norm < DEAD {
                dead.push(k);
                a.copy_from_slice(old);
            } else {
                a.iter_mut().for_each(|v| *v /= norm);
            }
        });
        dead
    }

    /// Sweeps in the ball, `d_k = (a / F_kk) / max(1, |a / F_kk|)`; unused atoms stay as they are. True if they settled.
    pub fn ball(&self, d: &mut Mat<f64>) -> bool {
        for _ in 0..SWEEPS {
            let before = d.clone();
            self.sweep(d, |k, a, old| {
                let weight = self.f[(k, k)];
                if weight > 0.0 {
                    let scale = weight.max(dot(a, a).sqrt());
                    a.iter_mut().for_each(|v| *v /= scale);
                } else {
                    a.copy_from_slice(old);
                }
            });
            if relative_change(&d, &before) < SWEEP_TOL {
                return true;
            }
        }
        false
    }

    /// Passes `a = E_k - D F_k + F_kk d_k` and `d_k` to `update` for every atom in order; `a` becomes the new atom.
    fn sweep(&self, d: &mut Mat<f64>, mut update: impl FnMut(usize, &mut [f64], &[f64])) {
        let (m, n_atoms) = d.shape();
        let mut changes = Mat::zeros(m, TOGETHER);
        for start in (0..n_atoms).step_by(TOGETHER) {
            let width = TOGETHER.min(n_atoms - start);
            let mut residual = self.e.subcols(start, width).to_owned();
            mul_add(residual.as_mut(), -1.0, &d, self.f.subcols(start, width));
            for p in 0..width {
                let k = start + p;
                let a = residual.col_as_slice_mut(p);
                let old = d.col_as_slice(k).to_vec();
                a.iter_mut().zip(&old).for_each(|(a, d)| *a += self.f[(k, k)] * d);
                for q in 0..p {
                    let weight = self.f[(start + q, k)];
                    a.iter_mut().zip(changes.col_as_slice(q)).for_each(|(a, c)| *a -= weight * c);
                }
                update(k, a, &old);
                let change = changes.col_as_slice_mut(p);
                (0..m).for_each(|i| change[i] = a[i] - old[i]);
                d.col_as_slice_mut(k).copy_from_slice(a);
            }
        }
    }
}

/// Removes atoms and their code rows; a class about to lose its last atom keeps the first of them.
pub(super) fn remove(dead: &[usize], d: &mut Mat<f64>, z: &mut Mat<f64>, atoms: &mut Blocks) -> usize {
    let mut kept = Vec::with_capacity(d.ncols());
    let mut sizes = Vec::with_capacity(atoms.len());
    for range in atoms.ranges() {
        let before = kept.len();
        kept.extend(range.clone().filter(|k| !dead.contains(k)));
        if kept.len() == before && !range.is_empty() {
            kept.push(range.start);
        }
        sizes.push(kept.len() - before);
    }
    let removed = d.ncols() - kept.len();
    if removed > 0 {
        *d = Mat::from_fn(d.nrows(), kept.len(), |i, k| d[(i, kept[k])]);
        *z = Mat::from_fn(kept.len(), z.ncols(), |k, i| z[(kept[k], i)]);
        *atoms = Blocks::from_sizes(sizes);
    }
    removed
}
