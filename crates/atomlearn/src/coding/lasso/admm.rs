//! Penalized lasso codes with few zeros where the Gram matrix is singular: more atoms than features.
//!
//! ```text
//! min 1/2 |x - D z|^2 + lambda |v|_1   s.t.  z = v
//! z <- H (b + rho (v - u)),   H = (D^T D + rho I)^-1;   a = alpha z + (1 - alpha) v;   v <- soft(a + u, lambda / rho);   u <- u + a - v
//! ```
//!
//! Over-relaxed ADMM (Boyd et al., Found. Trends Mach. Learn. 2011). All samples share `H`, so that an iteration is one
//! matrix product; where half of 3000 atoms or more are in use, a hundred of them cost less than one factorisation over
//! the atoms in use. Samples leave as soon as their duality gap is small enough.

use super::active_set::Reached;
use crate::coding::threshold::soft;
use crate::linalg::{dot, mul, mul_add, select_columns};
use faer::{Mat, MatRef, Scale};

/// `rho` as a fraction of the atoms' mean energy.
pub(super) const RHO: f64 = 0.05;
const OVER_RELAXATION: f64 = 1.9;
const MAX_ITERATIONS: usize = 600;
/// Duality gaps are checked every this many iterations.
const CHECK_EVERY: usize = 10;
/// A sample using fewer atoms than this fraction at the first check is left to the solver for sparse codes.
const FEWEST_USED: f64 = 0.4;

/// Samples that are coded together: correlations `b = D^T x`, and the duality gap each may have.
pub(super) struct Batch<'a> {
    pub b: MatRef<'a, f64>,
    pub energies: &'a [f64],
    pub gaps: Vec<f64>,
}

/// Codes `z` and correlations `c = b - G z`; false for samples that were given up.
pub(super) fn codes(
    gram: MatRef<'_, f64>,
    inverse: MatRef<'_, f64>,
    rho: f64,
    batch: &Batch<'_>,
    penalty: f64,
) -> (Mat<f64>, Mat<f64>, Vec<bool>) {
    let (n_atoms, n) = batch.b.shape();
    let mut z = Mat::zeros(n_atoms, n);
    let mut c = Mat::zeros(n_atoms, n);
    let mut found = vec![false; n];
    // Samples that have not converged, and their columns of b, v and u.
    let mut live: Vec<usize> = (0..n).collect();
    let mut b = batch.b.to_owned();
    let mut v = Mat::<f64>::zeros(n_atoms, n);
    let mut u = Mat::<f64>::zeros(n_atoms, n);
    for iteration in 1..=MAX_ITERATIONS {
        // `u` holds a + u between the update of z and the thresholding, so that no other matrix is needed.
        let mut rhs = &b + Scale(rho) * (&v - &u);
        let fit = mul(inverse, &rhs);
        u += Scale(OVER_RELAXATION) * fit + Scale(1.0 - OVER_RELAXATION) * &v;
        v.copy_from(&u);
        soft(v.as_mut(), penalty / rho);
        u -= &v;
        if iteration % CHECK_EVERY != 0 {
            continue;
        }
        // c = b - G v, of which the gap is a function.
        rhs.copy_from(&b);
        mul_add(rhs.as_mut(), -1.0, gram, &v);
        let mut stay = Vec::new(); // columns that go on
        for (j, &i) in live.iter().enumerate() {
            let code = v.col_as_slice(j);
            let c_j = rhs.col_as_slice(j);
            if gap(code, b.col_as_slice(j), c_j, batch.energies[i], penalty) <= batch.gaps[i] {
                z.col_mut(i).copy_from(v.col(j));
                c.col_mut(i).copy_from(rhs.col(j));
                found[i] = true;
            } else if iteration > CHECK_EVERY
                || code.iter().filter(|z| **z != 0.0).count() as f64 >= FEWEST_USED * n_atoms as f64
            {
                stay.push(j);
            }
        }
        if stay.is_empty() {
            break;
        }
        if stay.len() < live.len() {
            live = stay.iter().map(|&j| live[j]).collect();
            for part in [&mut b, &mut v, &mut u] {
                *part = select_columns(&part, &stay);
            }
        }
    }
    (z, c, found)
}

fn gap(z: &[f64], b: &[f64], c: &[f64], energy: f64, penalty: f64) -> f64 {
    let l1 = z.iter().map(|z| z.abs()).sum();
    Reached::new((dot(z, b), dot(z, c), l1), c, energy, penalty).gap
}
