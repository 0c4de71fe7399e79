//! The dictionary step of FDDL: atom by atom, each exact.

use super::codes::double_own_blocks;
use crate::linalg::{mul, outer_gram};
use crate::update::block_descent::{descend, sphere_sweep};
use crate::{Blocks, Mat, MatRef};

/// Sweeps of the ball-constrained step, and the change of the dictionary that ends them.
pub(in crate::methods) const SWEEPS: usize = 100;
const SWEEP_TOL: f64 = 1e-4;

/// `J = const - tr(E^T D) + 1/2 tr(F D^T D)` in the dictionary:
/// `E = X (Z + own blocks of Z)^T`, `F = Z Z^T + own blocks of Z Z^T`.
pub(in crate::methods) struct AtomStep {
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

    /// One sweep on the sphere; returns the dead atoms, left as they are.
    pub fn sphere(&self, d: &mut Mat<f64>) -> Vec<usize> {
        sphere_sweep(&self.e, &self.f, d)
    }

    /// Sweeps in the ball; unused atoms stay as they are. True if they settled.
    pub fn ball(&self, d: &mut Mat<f64>) -> bool {
        descend(&self.e, &self.f, d, SWEEPS, SWEEP_TOL) < SWEEPS
    }
}

/// Removes atoms and their code rows; a class about to lose its last atom keeps the first of them.
pub(in crate::methods) fn remove(dead: &[usize], d: &mut Mat<f64>, z: &mut Mat<f64>, atoms: &mut Blocks) -> usize {
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
