//! The inverse of a symmetric positive definite matrix, in its own place.

use crate::spd::cholesky;
use crate::{Breakdown, Result, mirror, wide};
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_matmul};
use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::{Accum, Mat, MatMut, Par};

/// Rows that are swept together: enough for products to run at full speed, few enough that factors of single blocks do not count.
const BLOCK: usize = 64;

/// `a^-1`, exactly symmetric, of a matrix whose lower triangle is read; `stage` names the step in an error. It takes as many operations as a
/// Cholesky factor and its inverse, but nearly all of them in products of the size of the matrix, and no second matrix: for some hundred rows
/// that is twice as fast.
///
/// Blocks of rows are swept in turn (Gauss and Jordan, block by block). With the rows `k` of the block, `L L^T = a_kk` and `h_i = a_ik L^-T`,
///
/// ```text
/// a_ij <- a_ij - h_i h_j^T,      a_ik <- h_i L^-1,      a_kk <- -(L L^T)^-1      (i, j not in k),
/// ```
///
/// after which the rows swept so far hold minus the inverse of their own block, the others their Schur complement.
pub fn spd_inverse(mut a: Mat<f64>, stage: &str) -> Result<Mat<f64>> {
    let n = a.nrows();
    let mut halves = Mat::zeros(n, BLOCK);
    let mut panel = Mat::zeros(n, BLOCK);
    for start in (0..n).step_by(BLOCK) {
        let width = BLOCK.min(n - start);
        let halves = halves.as_mut().subcols_mut(0, width);
        let panel = panel.as_mut().subcols_mut(0, width);
        sweep(a.as_mut(), start, halves, panel).map_err(|pivot| {
            Breakdown::new(stage, format!("the matrix is not positive definite (pivot {} of {n})", start + pivot))
        })?;
    }
    wide!({
        for j in 0..n {
            for v in &mut a.col_as_slice_mut(j)[j..] {
                *v = -*v;
            }
        }
    });
    mirror(&mut a);
    Ok(a)
}

/// Sweeps the block of rows that begins at `start`; `halves` and `panel` are memory, as wide as the block. The error is the failing pivot's
/// index in the block.
fn sweep(
    mut a: MatMut<'_, f64>,
    start: usize,
    mut halves: MatMut<'_, f64>,
    mut panel: MatMut<'_, f64>,
) -> Result<(), usize> {
    let (n, width) = (a.nrows(), panel.ncols());
    let (end, below) = (start + width, n - start - width);
    let mut factor = a.as_ref().submatrix(start, start, width, width).to_owned();
    cholesky(factor.as_mut())?;
    let mut root = Mat::zeros(width, width);
    invert_lower_triangular(root.as_mut(), factor.as_ref(), Par::Seq);
    // `a_ik`; the block itself takes no part.
    panel.as_mut().subrows_mut(0, start).copy_from(a.as_ref().submatrix(start, 0, width, start).transpose());
    panel.as_mut().subrows_mut(start, width).fill(0.0);
    panel.as_mut().subrows_mut(end, below).copy_from(a.as_ref().submatrix(end, start, below, width));
    matmul(halves.as_mut(), Accum::Replace, panel.as_ref(), root.transpose(), 1.0, Par::Seq);
    let full = BlockStructure::Rectangular;
    let lower = BlockStructure::TriangularLower;
    let (left, right) = (halves.as_ref(), halves.as_ref().transpose());
    triangular_matmul(a.as_mut(), lower, Accum::Add, left, full, right, full, -1.0, Par::Seq);
    matmul(panel.as_mut(), Accum::Replace, halves.as_ref(), root.as_ref(), 1.0, Par::Seq);
    a.as_mut().submatrix_mut(start, 0, width, start).copy_from(panel.as_ref().subrows(0, start).transpose());
    a.as_mut().submatrix_mut(end, start, below, width).copy_from(panel.as_ref().subrows(end, below));
    let own = a.submatrix_mut(start, start, width, width);
    triangular_matmul(own, lower, Accum::Replace, root.transpose(), full, root.as_ref(), full, -1.0, Par::Seq);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Spd, add_diagonal, gram, mul};

    fn spd(n: usize, ridge: f64) -> Mat<f64> {
        let x = Mat::from_fn(n / 2 + 3, n, |i, j| ((i * 7 + j * j * 3) % 19) as f64 / 19.0);
        let mut a = gram(&x);
        add_diagonal(&mut a, ridge);
        a
    }

    #[test]
    fn it_is_the_inverse_across_block_edges() {
        for n in [0, 1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 17] {
            let a = spd(n, 0.5);
            // What stands above the diagonal is not read.
            let lower = Mat::from_fn(n, n, |i, j| if i >= j { a[(i, j)] } else { f64::NAN });
            let inverse = spd_inverse(lower, "test").unwrap();
            assert!((mul(&a, &inverse) - Mat::<f64>::identity(n, n)).norm_max() < 1e-10, "{n}");
            assert_eq!(inverse, inverse.transpose().to_owned());
        }
    }

    /// As exact as the way over a Cholesky factor, where many digits are lost.
    #[test]
    fn it_loses_no_more_digits_than_a_factor_does() {
        let a = spd(3 * BLOCK, 1e-7);
        let off = |inverse: &Mat<f64>| (mul(&a, inverse) - Mat::<f64>::identity(a.nrows(), a.nrows())).norm_max();
        let factored = off(&Spd::new(a.clone(), "test").unwrap().into_inverse());
        let swept = off(&spd_inverse(a.clone(), "test").unwrap());
        assert!(swept < 10.0 * factored, "{swept} {factored}");
    }

    #[test]
    fn what_is_not_positive_definite_is_named() {
        let mut a = spd(2 * BLOCK, 0.5);
        a[(BLOCK + 3, BLOCK + 3)] = -1.0;
        let error = spd_inverse(a, "the step").unwrap_err().to_string();
        assert!(error.starts_with("the step: ") && error.contains(&format!("pivot {}", BLOCK + 3)), "{error}");
        assert!(spd_inverse(Mat::from_fn(3, 3, |_, _| f64::NAN), "nan").is_err());
    }
}
