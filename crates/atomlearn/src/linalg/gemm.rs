//! Matrix products, parallel over fixed column panels.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Width of a panel of the result; one task each.
const PANEL: usize = 128;
/// Products below this many multiply-adds are not worth a task switch.
const PARALLEL_FROM: usize = 1 << 18;

/// `a b`.
pub fn mul(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut product = Mat::zeros(a.nrows(), b.ncols());
    into(product.as_mut(), Accum::Replace, a, b, 1.0);
    product
}

/// `target += scale * a b`.
pub fn mul_add(target: MatMut<'_, f64>, scale: f64, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    into(target, Accum::Add, a, b, scale);
}

fn into(target: MatMut<'_, f64>, accum: Accum, a: MatRef<'_, f64>, b: MatRef<'_, f64>, scale: f64) {
    if a.nrows() * a.ncols() * b.ncols() < PARALLEL_FROM || b.ncols() <= PANEL {
        matmul(target, accum, a, b, scale, Par::Seq);
        return;
    }
    target.par_col_chunks_mut(PANEL).enumerate().for_each(|(p, panel)| {
        let b = b.subcols(p * PANEL, panel.ncols());
        matmul(panel, accum, a, b, scale, Par::Seq);
    });
}

/// `a^T a`, exactly symmetric.
pub fn gram(a: MatRef<'_, f64>) -> Mat<f64> {
    let n = a.ncols();
    let mut product = Mat::zeros(n, n);
    let panel_of = |p: usize, panel: MatMut<'_, f64>| {
        let (start, width) = (p * PANEL, panel.ncols());
        let below = a.subcols(start, n - start);
        matmul(
            panel.subrows_mut(start, n - start),
            Accum::Replace,
            below.transpose(),
            a.subcols(start, width),
            1.0,
            Par::Seq,
        );
    };
    if n <= PANEL {
        panel_of(0, product.as_mut());
    } else {
        product.as_mut().par_col_chunks_mut(PANEL).enumerate().for_each(|(p, panel)| panel_of(p, panel));
    }
    for j in 1..n {
        for i in 0..j {
            product[(i, j)] = product[(j, i)];
        }
    }
    product
}

/// `a a^T`, exactly symmetric.
pub fn outer_gram(a: MatRef<'_, f64>) -> Mat<f64> {
    gram(a.transpose())
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
        for (m, k, n) in [(3, 2, 1), (70, 40, 127), (33, 64, 129), (20, 80, 300)] {
            let (a, b) = (matrix(m, k), matrix(k, n));
            assert!((mul(a.as_ref(), b.as_ref()) - naive(a.as_ref(), b.as_ref())).norm_max() < 1e-11);
            let mut sum = matrix(m, n);
            mul_add(sum.as_mut(), -2.0, a.as_ref(), b.as_ref());
            let expected = matrix(m, n) - faer::Scale(2.0) * naive(a.as_ref(), b.as_ref());
            assert!((&sum - expected).norm_max() < 1e-11);
            assert!((gram(b.as_ref()) - naive(b.transpose(), b.as_ref())).norm_max() < 1e-11);
            assert!((outer_gram(a.as_ref()) - naive(a.as_ref(), a.transpose())).norm_max() < 1e-11);
        }
    }

    #[test]
    fn bits_do_not_depend_on_threads() {
        let (a, b) = (matrix(211, 307), matrix(307, 401));
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| (mul(a.as_ref(), b.as_ref()), gram(b.as_ref())))
        };
        assert!(run(1) == run(2) && run(1) == run(4));
    }
}
