//! Matrix products, parallel over fixed column panels.

use super::View;
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_matmul};
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Width of a panel of the result; one task each.
const PANEL: usize = 192;
/// From this many terms per entry on, panels are twice as wide.
const LONG: usize = 2048;
/// A symmetric product of at most this width is one task.
const GRAM_LEAF: usize = 256;
/// Products below this many multiply-adds are not worth a task switch.
const PARALLEL_FROM: usize = 1 << 18;

/// `a b`.
pub fn mul(a: impl View, b: impl View) -> Mat<f64> {
    let a = a.view();
    let b = b.view();
    let mut product = Mat::zeros(a.nrows(), b.ncols());
    into(product.as_mut(), Accum::Replace, a, b, 1.0);
    product
}

/// `a b` in single precision and one task: takes half the time, for searches whose winners are looked at again in double precision.
pub fn mul_single(a: MatRef<'_, f32>, b: MatRef<'_, f32>) -> Mat<f32> {
    let mut product = Mat::zeros(a.nrows(), b.ncols());
    matmul(product.as_mut(), Accum::Replace, a, b, 1.0, Par::Seq);
    product
}

/// [`mul`] into memory at hand.
pub fn mul_into(product: &mut Mat<f64>, a: impl View, b: impl View) {
    let a = a.view();
    let b = b.view();
    product.resize_with(a.nrows(), b.ncols(), |_, _| 0.0);
    into(product.as_mut(), Accum::Replace, a, b, 1.0);
}

/// `target += scale * a b`.
pub fn mul_add(target: MatMut<'_, f64>, scale: f64, a: impl View, b: impl View) {
    into(target, Accum::Add, a.view(), b.view(), scale);
}

fn into(target: MatMut<'_, f64>, accum: Accum, a: MatRef<'_, f64>, b: MatRef<'_, f64>, scale: f64) {
    if a.nrows() * a.ncols() * b.ncols() < PARALLEL_FROM || b.ncols() <= PANEL {
        matmul(target, accum, a, b, scale, Par::Seq);
        return;
    }
    // Every panel packs `a` again, which shows where it is long.
    let width = if a.ncols() < LONG { PANEL } else { 2 * PANEL };
    target.par_col_chunks_mut(width).enumerate().for_each(|(p, panel)| {
        let b = b.subcols(p * width, panel.ncols());
        matmul(panel, accum, a, b, scale, Par::Seq);
    });
}

/// `a^T a`, exactly symmetric.
pub fn gram(a: impl View) -> Mat<f64> {
    let n = a.view().ncols();
    let mut product = Mat::zeros(n, n);
    gram_into(&mut product, a);
    product
}

/// [`gram`] into memory at hand.
pub fn gram_into(product: &mut Mat<f64>, a: impl View) {
    let a = a.view();
    lower_product(product.as_mut(), Accum::Replace, 1.0, a.transpose(), a);
    mirror(product);
}

/// Adds `scale * a b`, known to be symmetric or part of a symmetric sum, to the lower triangle of `target`.
pub fn add_lower_product(target: MatMut<'_, f64>, scale: f64, a: impl View, b: impl View) {
    lower_product(target, Accum::Add, scale, a.view(), b.view());
}

/// The lower triangle of `a b` by halves: one large product below the diagonal, the same again on either side of it.
fn lower_product(product: MatMut<'_, f64>, accum: Accum, scale: f64, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    let n = a.nrows();
    if n <= GRAM_LEAF {
        let lower = BlockStructure::TriangularLower;
        let full = BlockStructure::Rectangular;
        return triangular_matmul(product, lower, accum, a, full, b, full, scale, Par::Seq);
    }
    let half = n / 2;
    let ((upper, lower), (left, right)) = (a.split_at_row(half), b.split_at_col(half));
    let (upper_left, _, lower_left, lower_right) = product.split_at_mut(half, half);
    let corner = || into(lower_left, accum, lower, left, scale);
    let diagonal = || {
        rayon::join(
            || lower_product(upper_left, accum, scale, upper, left),
            || lower_product(lower_right, accum, scale, lower, right),
        )
    };
    rayon::join(corner, diagonal);
}

/// Adds `scale * a a^T` to the lower triangle of `target`.
pub fn add_lower_outer(target: MatMut<'_, f64>, scale: f64, a: impl View) {
    lower_outer(target, scale, a.view());
}

fn lower_outer(target: MatMut<'_, f64>, scale: f64, a: MatRef<'_, f64>) {
    let lower = BlockStructure::TriangularLower;
    let full = BlockStructure::Rectangular;
    triangular_matmul(target, lower, Accum::Add, a, full, a.transpose(), full, scale, Par::Seq);
}

/// Copies the lower triangle into the upper one, in tiles that are read and written by columns.
pub fn mirror(product: &mut Mat<f64>) {
    const TILE: usize = 16;
    let n = product.nrows();
    let mut tile = [[0.0; TILE]; TILE];
    for j0 in (0..n).step_by(TILE) {
        let height = TILE.min(n - j0);
        for i0 in (0..=j0).step_by(TILE) {
            for (c, held) in tile.iter_mut().enumerate().take(n - i0) {
                held[..height].copy_from_slice(&product.col_as_slice(i0 + c)[j0..j0 + height]);
            }
            for r in 0..height {
                let width = TILE.min(j0 + r - i0);
                let row = &mut product.col_as_slice_mut(j0 + r)[i0..i0 + width];
                row.iter_mut().zip(&tile).for_each(|(v, held)| *v = held[r]);
            }
        }
    }
}

/// `r b` with `r` upper triangular; what stands below its diagonal is not read.
pub fn upper_mul(r: impl View, b: impl View) -> Mat<f64> {
    upper_product(r.view(), b.view())
}

fn upper_product(r: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let upper = BlockStructure::TriangularUpper;
    let full = BlockStructure::Rectangular;
    let mut product = Mat::zeros(r.nrows(), b.ncols());
    product.as_mut().par_col_chunks_mut(PANEL).enumerate().for_each(|(p, panel)| {
        let b = b.subcols(p * PANEL, panel.ncols());
        triangular_matmul(panel, full, Accum::Replace, r, upper, b, full, 1.0, Par::Seq);
    });
    product
}

/// `a a^T`, exactly symmetric.
pub fn outer_gram(a: impl View) -> Mat<f64> {
    gram(a.view().transpose())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: usize, cols: usize) -> Mat<f64> {
        Mat::from_fn(rows, cols, |i, j| ((i * 31 + j * 17) % 23) as f64 / 7.0 - 1.5)
    }

    fn naive(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
        Mat::from_fn(a.nrows(), b.ncols(), |i, j| (0..a.ncols()).map(|k| a[(i, k)] * b[(k, j)]).sum())
    }

    #[test]
    fn products_equal_their_definition_across_panel_edges() {
        for (m, k, n) in [(3, 2, 1), (70, 40, 127), (33, 64, 129), (20, 80, 600)] {
            let (a, b) = (matrix(m, k), matrix(k, n));
            assert!((mul(&a, &b) - naive(a.as_ref(), b.as_ref())).norm_max() < 1e-11);
            let mut sum = matrix(m, n);
            mul_add(sum.as_mut(), -2.0, &a, &b);
            let expected = matrix(m, n) - faer::Scale(2.0) * naive(a.as_ref(), b.as_ref());
            assert!((&sum - expected).norm_max() < 1e-11);
            assert!((gram(&b) - naive(b.transpose(), b.as_ref())).norm_max() < 1e-11);
            assert!((outer_gram(&a) - naive(a.as_ref(), a.transpose())).norm_max() < 1e-11);
            let r = Mat::from_fn(k, k, |i, j| if i <= j { (i + 2 * j) as f64 / 50.0 } else { 0.0 });
            let marked = Mat::from_fn(k, k, |i, j| if i <= j { r[(i, j)] } else { f64::NAN });
            assert!((upper_mul(&marked, &b) - naive(r.as_ref(), b.as_ref())).norm_max() < 1e-10);
        }
    }

    #[test]
    fn bits_do_not_depend_on_threads() {
        let (a, b) = (matrix(211, 307), matrix(307, 401));
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| (mul(&a, &b), gram(&b)))
        };
        assert!(run(1) == run(2) && run(1) == run(4));
    }
}
