//! Dictionary learning with lasso codes, of one set of samples: `min 1/2 |X - D Z|_F^2 + lambda |Z|_1`.

use crate::coding::lasso::{LassoCoder, LassoLimits, LassoTask};
use crate::linalg::{column_energies, mul};
use faer::{Mat, MatRef};

/// Codes of training are solved so well that their error never shows as a rise of the objective.
pub const TRAINING_LIMITS: LassoLimits = LassoLimits { tolerance: 1e-10, max_steps: 2000 };

/// `argmin_Z 1/2 |X - D Z|_F^2 + lambda |Z|_1`.
pub fn codes(x: MatRef<'_, f64>, d: MatRef<'_, f64>, lambda: f64) -> Mat<f64> {
    let correlations = mul(d.transpose(), x);
    let coder = LassoCoder::penalized(d);
    let task = LassoTask::Penalized(lambda);
    coder.codes(&correlations, &column_energies(x), task, TRAINING_LIMITS).codes.to_dense()
}

/// `1/2 |X - D Z|_F^2` and `lambda |Z|_1`.
pub fn terms(x: MatRef<'_, f64>, d: MatRef<'_, f64>, z: &Mat<f64>, lambda: f64) -> [f64; 2] {
    let rest = x - mul(d, z);
    [0.5 * rest.squared_norm_l2(), lambda * z.norm_l1()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::normalize_columns;
    use crate::testing::noise;

    #[test]
    fn codes_are_optimal_and_terms_follow_their_definition() {
        for (m, k) in [(8, 5), (5, 8)] {
            let mut d = Mat::from_fn(m, k, noise);
            normalize_columns(d.as_mut());
            let x = Mat::from_fn(m, 6, |i, j| noise(i + 9, j + 4));
            let lambda = 0.05;
            let z = codes(x.as_ref(), d.as_ref(), lambda);
            let along = mul(d.transpose(), &x - &d * &z);
            for i in 0..6 {
                for a in 0..k {
                    let z = z[(a, i)];
                    let g = along[(a, i)];
                    assert!(if z == 0.0 { g.abs() <= lambda + 1e-4 } else { (g - lambda * z.signum()).abs() < 1e-4 });
                }
            }
            let [fit, l1] = terms(x.as_ref(), d.as_ref(), &z, lambda);
            let mut expected = 0.0;
            for i in 0..6 {
                let mut rest = x.col(i).to_owned();
                (0..k).for_each(|a| rest -= faer::Scale(z[(a, i)]) * d.col(a));
                expected += 0.5 * rest.squared_norm_l2() + lambda * (0..k).map(|a| z[(a, i)].abs()).sum::<f64>();
            }
            assert!((fit + l1 - expected).abs() < 1e-12);
        }
    }
}
