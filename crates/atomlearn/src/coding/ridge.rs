//! Ridge codes: a linear map.

use crate::Result;
use crate::linalg::{Spd, gram, outer_gram};
use faer::{Mat, MatRef};

/// The map `P = (D^T D + kappa I)^-1 D^T = D^T (D D^T + kappa I)^-1` with codes `z = P x`; atoms x features.
///
/// The smaller of the two systems is solved. With `kappa = 0` the matrix must have full rank on its smaller side.
pub fn ridge_map(d: MatRef<'_, f64>, kappa: f64, stage: &str) -> Result<Mat<f64>> {
    let (m, k) = d.shape();
    let mut system = if k <= m { gram(d) } else { outer_gram(d) };
    (0..system.nrows()).for_each(|i| system[(i, i)] += kappa);
    let factor = Spd::new(system, stage)?;
    Ok(if k <= m { factor.solve(d.transpose()) } else { factor.solve(d).transpose().to_owned() })
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
            let z = mul(ridge_map(d.as_ref(), 0.1, "t").unwrap().as_ref(), x.as_ref());
            let residual = &x - mul(d.as_ref(), z.as_ref());
            let gradient = mul(d.transpose(), residual.as_ref()) - faer::Scale(0.1) * z;
            assert!(gradient.norm_max() < 1e-10);
        }
    }

    #[test]
    fn orthonormal_atoms_shrink_uniformly() {
        let z = ridge_map(Mat::<f64>::identity(4, 4).as_ref(), 0.25, "t").unwrap();
        assert!((z - faer::Scale(0.8) * Mat::<f64>::identity(4, 4)).norm_max() < 1e-15);
    }
}
