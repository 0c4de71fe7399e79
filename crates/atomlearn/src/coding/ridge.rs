//! Ridge codes: a linear map.

use crate::Result;
use crate::linalg::{Spd, View, add_diagonal, gram, norm1, outer_gram, qr, solve_upper};
use faer::{Mat, MatRef};

/// Worse conditioned systems are solved from the dictionary itself: a Gram matrix has half its digits only.
const WORST_CONDITION: f64 = 1e10;

/// The map `P = (D^T D + kappa I)^-1 D^T = D^T (D D^T + kappa I)^-1` with codes `z = P x`; atoms x features.
///
/// The smaller of the two systems is solved. With `kappa = 0` the matrix must have full rank on its smaller side.
pub fn ridge_map(d: impl View, kappa: f64, stage: &str) -> Result<Mat<f64>> {
    let d = d.view();
    let (m, k) = d.shape();
    let mut system = if k <= m { gram(d) } else { outer_gram(d) };
    add_diagonal(&mut system, kappa);
    let norm = norm1(&system);
    let factor = Spd::new(system, stage);
    if kappa > 0.0 && factor.as_ref().map_or(f64::INFINITY, |factor| factor.condition(norm)) > WORST_CONDITION {
        return Ok(from_qr(d, kappa));
    }
    let factor = factor?;
    Ok(if k <= m { factor.solve(d.transpose()) } else { factor.solve(d).transpose().to_owned() })
}

/// The same map from `[A; sqrt(kappa) I] = Q R`, `A` the dictionary with its long side upright: `R^-1 Q_A^T`.
fn from_qr(d: MatRef<'_, f64>, kappa: f64) -> Mat<f64> {
    let upright = if d.ncols() <= d.nrows() { d } else { d.transpose() };
    let (long, short) = upright.shape();
    let mut stacked = Mat::zeros(long + short, short);
    stacked.subrows_mut(0, long).copy_from(upright);
    (0..short).for_each(|i| stacked[(long + i, i)] = kappa.sqrt());
    let (q, r) = qr(&stacked);
    let map = solve_upper(&r, q.subrows(0, long).transpose().to_owned());
    if d.ncols() <= d.nrows() { map } else { map.transpose().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::mul;

    #[test]
    fn normal_equations_hold_on_both_sides() {
        for (m, k) in [(9, 5), (5, 9)] {
            let d = Mat::from_fn(m, k, |i, j| ((3 * i + 5 * j * j) % 13) as f64 / 13.0);
            let x = Mat::from_fn(m, 3, |i, j| (i * j) as f64 - 1.0);
            let z = mul(ridge_map(d.as_ref(), 0.1, "t").unwrap(), &x);
            let residual = &x - mul(&d, &z);
            let gradient = mul(d.transpose(), &residual) - faer::Scale(0.1) * z;
            assert!(gradient.norm_max() < 1e-10);
        }
    }

    /// Far from zero the Gram matrix has lost what the atoms differ in. The normal equations of the map,
    /// `D^T (I - D P) = kappa P`, are checked for differences of atoms, where the common part cancels.
    #[test]
    fn atoms_far_from_zero_keep_their_differences() {
        for (m, k) in [(9, 5), (5, 9)] {
            let d = Mat::from_fn(m, k, |i, j| 1e7 + ((3 * i + 5 * j * j) % 13) as f64 / 13.0);
            let map = ridge_map(d.as_ref(), 1e-3, "t").unwrap();
            let left = Mat::<f64>::identity(m, m) - mul(&d, &map);
            let apart = Mat::from_fn(m, k, |i, j| d[(i, j)] - d[(i, 0)]);
            let expected = Mat::from_fn(k, m, |j, i| 1e-3 * (map[(j, i)] - map[(0, i)]));
            assert!((mul(apart.transpose(), &left) - expected).norm_max() < 1e-6);
        }
    }

    #[test]
    fn orthonormal_atoms_shrink_uniformly() {
        let z = ridge_map(Mat::<f64>::identity(4, 4).as_ref(), 0.25, "t").unwrap();
        assert!((z - faer::Scale(0.8) * Mat::<f64>::identity(4, 4)).norm_max() < 1e-15);
    }
}
