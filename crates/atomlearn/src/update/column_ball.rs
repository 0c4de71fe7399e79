//! Least squares in a dictionary whose atoms may not be longer than one.
//!
//! ```text
//! min_D |X - D Z|_F^2   s.t. |d_j| <= 1
//! ```
//!
//! by ADMM with a growing penalty: `D = (rho (S - T) + X Z^T)(Z Z^T + rho I)^-1`, `S` = columns of `D + T` cut to
//! length one, `T += D - S`. One eigendecomposition of `Z Z^T` serves every `rho`.

use crate::Result;
use crate::linalg::{frobenius, mul, sym_eig};
use faer::{Mat, MatRef};

const MAX_STEPS: usize = 100;
const FIRST_PENALTY: f64 = 1.0;
const PENALTY_GROWTH: f64 = 1.2;
/// Mean squared change of an entry of `D` at which the iteration has settled.
const SETTLED: f64 = 1e-8;

/// The dictionary for `cross = X Z^T` (features x atoms) and `gram = Z Z^T`, from the feasible `start`.
///
/// Returns `S`, which obeys the constraint exactly. An atom that no sample uses keeps its value.
pub fn column_ball_ls(cross: MatRef<'_, f64>, gram: MatRef<'_, f64>, start: Mat<f64>, stage: &str) -> Result<Mat<f64>> {
    let (values, vectors) = sym_eig(gram, stage)?;
    let (m, k) = start.shape();
    let mut rho = FIRST_PENALTY;
    let mut d = start.clone();
    let mut s = start;
    let mut t = Mat::<f64>::zeros(m, k);
    for _ in 0..MAX_STEPS {
        let target = cross + faer::Scale(rho) * (&s - &t);
        let mut rotated = mul(&target, &vectors);
        for (j, column) in rotated.as_mut().col_iter_mut().enumerate() {
            let scale = (rho + values[j].max(0.0)).recip();
            column.iter_mut().for_each(|v| *v *= scale);
        }
        let next = mul(&rotated, vectors.transpose());
        s = &next + &t;
        cut_columns(&mut s);
        t += &next - &s;
        let change = frobenius(&next - &d);
        d = next;
        rho *= PENALTY_GROWTH;
        if change * change < SETTLED * (m * k) as f64 {
            break;
        }
    }
    Ok(s)
}

/// Scales every column that is longer than one to length one.
fn cut_columns(a: &mut Mat<f64>) {
    for column in a.as_mut().col_iter_mut() {
        let norm = column.norm_l2();
        if norm > 1.0 {
            column.iter_mut().for_each(|v| *v /= norm);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{column_norms, outer_gram};

    fn data(scale: f64) -> (Mat<f64>, Mat<f64>, Mat<f64>) {
        let x = Mat::from_fn(6, 20, |i, j| ((i * 7 + j * 5 + i * j) % 11) as f64 / 11.0 - 0.4);
        let z = Mat::from_fn(4, 20, |i, j| scale * (((i * 3 + j * j) % 13) as f64 / 13.0 - 0.5));
        let start = Mat::from_fn(6, 4, |i, j| if i == j { 1.0 } else { 0.0 });
        (x, z, start)
    }

    #[test]
    fn loose_bounds_give_plain_least_squares() {
        let (x, z, start) = data(20.0);
        let (cross, gram) = (mul(&x, z.transpose()), outer_gram(&z));
        let d = column_ball_ls(cross.as_ref(), gram.as_ref(), start, "t").unwrap();
        let free = crate::linalg::Spd::new(gram, "t").unwrap().solve(cross.transpose());
        assert!((d - free.transpose()).norm_max() < 1e-4);
    }

    #[test]
    fn tight_bounds_hold_and_the_objective_falls() {
        let (x, z, start) = data(0.3);
        let (cross, gram) = (mul(&x, z.transpose()), outer_gram(&z));
        let d = column_ball_ls(cross.as_ref(), gram.as_ref(), start.clone(), "t").unwrap();
        assert!(column_norms(&d).iter().all(|n| *n <= 1.0 + 1e-12));
        let loss = |d: &Mat<f64>| (&x - mul(d, &z)).squared_norm_l2();
        assert!(loss(&d) < loss(&start));
    }

    #[test]
    fn an_unused_atom_keeps_its_value() {
        let (x, mut z, start) = data(0.3);
        (0..20).for_each(|j| z[(2, j)] = 0.0);
        let cross = mul(&x, z.transpose());
        let d = column_ball_ls(cross.as_ref(), outer_gram(&z).as_ref(), start.clone(), "t").unwrap();
        assert!((d.subcols(2, 1) - start.subcols(2, 1)).norm_max() < 1e-12);
    }
}
