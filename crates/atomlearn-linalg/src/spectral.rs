//! Decompositions by rotation: QR, SVD, symmetric eigenvalues, pseudo-inverses.
//!
//! All sequential: faer's eigenvalue and SVD routines give other bits on other numbers of threads.

use super::{View, add_lower_product, mirror, mul, mul_add, outer_gram};
use crate::{Breakdown, Result};
use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::tridiag::tridiag_in_place;
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd_scratch, tridiagonal_self_adjoint_evd};
use faer::linalg::householder::{
    apply_block_householder_on_the_left_in_place_scratch,
    apply_block_householder_on_the_left_in_place_with_conj as apply_reflections,
    apply_block_householder_sequence_on_the_left_in_place_with_conj as apply_reflection_sequence,
};
use faer::linalg::qr::no_pivoting::factor::{qr_in_place, qr_in_place_scratch, recommended_block_size};
use faer::linalg::svd::{ComputeSvdVectors, svd as faer_svd, svd_scratch};
use faer::linalg::triangular_solve::solve_upper_triangular_in_place;
use faer::{Col, Conj, Mat, MatMut, MatRef, Par};

/// Reflections applied together; larger than faer's own choice, because products pay more than they add here.
const QR_BLOCK: usize = 64;

/// Thin QR of a matrix with at least as many rows as columns: `a = q r`, `q` orthonormal.
pub fn qr(a: impl View) -> (Mat<f64>, Mat<f64>) {
    let a = a.view();
    let n = a.ncols();
    let reflections = Reflections::new(a);
    let r = Mat::from_fn(n, n, |i, j| if i <= j { reflections.vectors[(i, j)] } else { 0.0 });
    (reflections.product(n), r)
}

/// Householder reflections in blocks; above their vectors, `R`.
struct Reflections {
    vectors: Mat<f64>,
    coefficients: Mat<f64>,
}

impl Reflections {
    fn new(a: MatRef<'_, f64>) -> Self {
        let (m, n) = a.shape();
        Self::in_blocks(a, recommended_block_size::<f64>(m, n).max(QR_BLOCK.min(n)))
    }

    fn in_blocks(a: MatRef<'_, f64>, block: usize) -> Self {
        let (m, n) = a.shape();
        debug_assert!(m >= n);
        let mut vectors = a.to_owned();
        let mut coefficients = Mat::zeros(block, n);
        let mut memory = MemBuffer::new(qr_in_place_scratch::<f64>(m, n, block, Par::Seq, Default::default()));
        qr_in_place(vectors.as_mut(), coefficients.as_mut(), Par::Seq, MemStack::new(&mut memory), Default::default());
        Reflections { vectors, coefficients }
    }

    /// The first `width` columns of the product of all reflections, last block first: each meets only the corner that is
    /// not yet the identity.
    fn product(&self, width: usize) -> Mat<f64> {
        let (m, n) = self.vectors.shape();
        let block = self.coefficients.nrows();
        let mut q = Mat::from_fn(m, width, |i, j| f64::from(u8::from(i == j)));
        let mut memory = MemBuffer::new(apply_block_householder_on_the_left_in_place_scratch::<f64>(m, block, width));
        for start in (0..n).step_by(block).rev() {
            let size = block.min(n - start);
            apply_reflections(
                self.vectors.submatrix(start, start, m - start, size),
                self.coefficients.submatrix(0, start, size, size),
                Conj::No,
                q.submatrix_mut(start, start, m - start, width - start),
                Par::Seq,
                MemStack::new(&mut memory),
            );
        }
        q
    }
}

/// The square orthogonal factor of a tall matrix as `I - V W`, with `V` as narrow as the matrix: its first columns, the
/// span, are a basis of those of the matrix, the others, the rest, complete it.
pub struct FullQr {
    v: Mat<f64>,
    w: Mat<f64>,
}

impl FullQr {
    /// All reflections in one block: their product is `I - V T^-1 V^T`.
    pub fn new(a: impl View) -> Self {
        Self::of(a.view())
    }

    fn of(a: MatRef<'_, f64>) -> Self {
        let n = a.ncols();
        let Reflections { vectors, coefficients } = Reflections::in_blocks(a, n.max(1));
        let mut v = vectors;
        for j in 0..n {
            let column = v.col_as_slice_mut(j);
            column[..j].fill(0.0);
            column[j] = 1.0;
        }
        let mut w = v.transpose().to_owned();
        solve_upper_triangular_in_place(coefficients.subrows(0, n), w.as_mut(), Par::Seq);
        FullQr { v, w }
    }

    /// A basis of the columns of the matrix.
    pub fn span(&self) -> Mat<f64> {
        self.columns(0, self.v.ncols())
    }

    /// A basis of everything orthogonal to them.
    pub fn rest(&self) -> Mat<f64> {
        let (m, n) = self.v.shape();
        self.columns(n, m - n)
    }

    fn columns(&self, from: usize, count: usize) -> Mat<f64> {
        let mut q = Mat::zeros(self.v.nrows(), count);
        (0..count).for_each(|j| q[(from + j, j)] = 1.0);
        mul_add(q.as_mut(), -1.0, &self.v, self.w.subcols(from, count));
        q
    }

    /// `b` times the rest.
    pub fn mul_rest(&self, b: impl View) -> Mat<f64> {
        let b = b.view();
        let (m, n) = self.v.shape();
        let mut product = b.subcols(n, m - n).to_owned();
        mul_add(product.as_mut(), -1.0, mul(b, &self.v), self.w.subcols(n, m - n));
        product
    }

    /// `Q^T a Q` with `Q` the rest and `a` symmetric, from `a` times a narrow matrix, which is cheap where `a` is sparse, and from
    /// the rows and columns of `a` that come after the width of the decomposed matrix.
    pub fn rest_form(&self, times: impl FnOnce(MatRef<'_, f64>) -> Mat<f64>, corner: Mat<f64>) -> Mat<f64> {
        let (m, n) = self.v.shape();
        let moved = times(self.v.as_ref());
        let w = self.w.subcols(n, m - n);
        let mut half = moved.subrows(n, m - n).to_owned();
        mul_add(half.as_mut(), -0.5, w.transpose(), mul(self.v.transpose(), moved.as_ref()));
        let mut form = corner;
        add_lower_product(form.as_mut(), -1.0, &half, w);
        add_lower_product(form.as_mut(), -1.0, w.transpose(), half.transpose());
        mirror(&mut form);
        form
    }

    /// `b^T` times the transposed rest.
    pub fn transposed_mul_rest_transposed(&self, b: impl View) -> Mat<f64> {
        let b = b.view();
        let (m, n) = self.v.shape();
        let mut product = Mat::zeros(b.ncols(), m);
        product.subcols_mut(n, m - n).copy_from(b.transpose());
        let along = mul(self.w.subcols(n, m - n), b);
        mul_add(product.as_mut(), -1.0, along.transpose(), self.v.transpose());
        product
    }
}

/// Eigenvalues (largest first) and eigenvectors of a symmetric matrix; its lower triangle is read.
pub fn sym_eig(a: impl View, stage: &str) -> Result<(Vec<f64>, Mat<f64>)> {
    let a = a.view();
    leading_by_tridiagonal(a, a.nrows(), stage)
}

/// The `most` leading pairs of [`sym_eig`]. Vectors of the tridiagonal form are found all the same, but only these are taken
/// back from it.
pub(super) fn leading_by_tridiagonal(a: MatRef<'_, f64>, most: usize, stage: &str) -> Result<(Vec<f64>, Mat<f64>)> {
    let n = a.nrows();
    let most = most.min(n);
    if n < 2 {
        return Ok((a.col_iter().take(most).map(|column| column[0]).collect(), Mat::identity(n, most)));
    }
    let request = self_adjoint_evd_scratch::<f64>(n, ComputeEigenvectors::Yes, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(request);
    let stack = MemStack::new(&mut memory);
    let mut reduced = a.to_owned();
    let mut reflections = Mat::zeros(recommended_block_size::<f64>(n, n), n - 1);
    tridiag_in_place(reduced.as_mut(), reflections.as_mut(), Par::Seq, stack, Default::default());
    let largest = (0..n).map(|i| reduced[(i, i)].abs().max(reduced[((i + 1).min(n - 1), i)].abs())).fold(0.0, f64::max);
    let unit = power_of_two_above(largest);
    let diagonal = Col::from_fn(n, |i| reduced[(i, i)] / unit);
    let beside = Col::from_fn(n - 1, |i| reduced[(i + 1, i)] / unit);
    let mut values = Diag::zeros(n);
    let mut vectors = Mat::zeros(n, n);
    tridiagonal_self_adjoint_evd(
        diagonal.as_diagonal(),
        beside.as_diagonal(),
        values.as_mut(),
        Some(vectors.as_mut()),
        Par::Seq,
        stack,
        Default::default(),
    )
    .map_err(|_| no_convergence(stage))?;
    let mut leading = Mat::from_fn(n, most, |i, j| vectors[(i, n - 1 - j)]);
    apply_reflection_sequence(
        reduced.submatrix(1, 0, n - 1, n - 1),
        reflections.as_ref(),
        Conj::No,
        leading.subrows_mut(1, n - 1),
        Par::Seq,
        stack,
    );
    Ok((descending(&values).iter().take(most).map(|v| v * unit).collect(), leading))
}

/// faer's divide and conquer compares with fixed numbers and is exact only near norm 1; at 1e12 it leaves five right digits.
/// Division by a power of two brings any matrix there without rounding.
fn power_of_two_above(largest: f64) -> f64 {
    if largest > 0.0 { 2f64.powi(largest.log2().ceil().clamp(-1000.0, 1000.0) as i32) } else { 1.0 }
}

fn no_convergence(stage: &str) -> Breakdown {
    Breakdown::new(stage, "the eigenvalue iteration did not converge")
}

fn descending(values: &Diag<f64>) -> Vec<f64> {
    values.column_vector().iter().rev().copied().collect()
}

/// Thin SVD `a = u diag(s) v^T`, singular values largest first.
pub fn svd(a: impl View, stage: &str) -> Result<(Mat<f64>, Vec<f64>, Mat<f64>)> {
    thin_svd(a.view(), stage)
}

fn thin_svd(a: MatRef<'_, f64>, stage: &str) -> Result<(Mat<f64>, Vec<f64>, Mat<f64>)> {
    let (m, n) = a.shape();
    let size = m.min(n);
    let mut u = Mat::zeros(m, size);
    let mut v = Mat::zeros(n, size);
    let mut s = Diag::zeros(size);
    let thin = ComputeSvdVectors::Thin;
    let request = svd_scratch::<f64>(m, n, thin, thin, Par::Seq, Default::default());
    faer_svd(
        a,
        s.as_mut(),
        Some(u.as_mut()),
        Some(v.as_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(request)),
        Default::default(),
    )
    .map_err(|_| Breakdown::new(stage, "the singular value iteration did not converge"))?;
    Ok((u, (0..size).map(|i| s.column_vector()[i]).collect(), v))
}

/// Makes the entry of largest magnitude of every column positive (the first of equals decides).
pub fn fix_signs(vectors: MatMut<'_, f64>) {
    for column in vectors.col_iter_mut() {
        let decisive = column.as_ref().iter().fold(0.0f64, |best, &v| if v.abs() > best.abs() { v } else { best });
        if decisive < 0.0 {
            column.iter_mut().for_each(|v| *v = -*v);
        }
    }
}

/// Orthonormal basis of the range of `a`: left singular vectors whose singular value exceeds `relative` of the largest.
pub fn orthonormal_range(a: impl View, relative: f64, stage: &str) -> Result<Mat<f64>> {
    let (u, s, _) = svd(a, stage)?;
    let rank = rank_above(&s, relative);
    Ok(u.subcols(0, rank).to_owned())
}

/// Moore-Penrose inverse; singular values up to `max(m, n) eps` of the largest count as zero.
pub fn pinv(a: impl View, stage: &str) -> Result<Mat<f64>> {
    let a = a.view();
    let (u, s, v) = svd(a, stage)?;
    let rank = rank_above(&s, a.nrows().max(a.ncols()) as f64 * f64::EPSILON);
    Ok(mul(scaled_columns(v.subcols(0, rank), |j| 1.0 / s[j]), u.subcols(0, rank).transpose()))
}

/// Moore-Penrose inverse of a symmetric positive semidefinite matrix; eigenvalues up to `relative` of the largest
/// count as zero.
pub fn pinv_spsd(a: impl View, relative: f64, stage: &str) -> Result<Mat<f64>> {
    let (values, vectors) = sym_eig(a, stage)?;
    let rank = rank_above(&values, relative);
    Ok(outer_gram(scaled_columns(vectors.subcols(0, rank), |j| values[j].sqrt().recip())))
}

/// Largest eigenvalue of a symmetric positive semidefinite matrix, never below the true one by more than rounding:
/// power iteration, then 1 % on top, capped by the exact bound of the largest absolute row sum.
pub fn top_eigenvalue(a: impl View) -> f64 {
    let a = a.view();
    let n = a.nrows();
    let bound = (0..n).map(|j| a.col(j).norm_l1()).fold(0.0, f64::max);
    let mut v = Mat::from_fn(n, 1, |i, _| 1.0 + 0.1 * (i as f64 * 0.7).sin());
    let mut value = 0.0;
    for _ in 0..100 {
        let next = mul(a, &v);
        let norm = next.norm_l2();
        if norm == 0.0 || !norm.is_finite() {
            return bound;
        }
        let settled = (norm - value).abs() <= 1e-4 * norm;
        v = faer::Scale(1.0 / norm) * next;
        value = norm;
        if settled {
            break;
        }
    }
    (1.01 * value).min(bound)
}

/// How many values, largest first, are positive and above this fraction of the largest.
pub fn rank_above(descending: &[f64], fraction: f64) -> usize {
    let largest = descending.first().copied().unwrap_or(0.0);
    descending.iter().take_while(|&&s| s > fraction * largest && s > 0.0).count()
}

/// Column `j` of `a` times `scale(j)`.
pub fn scaled_columns(a: impl View, scale: impl Fn(usize) -> f64) -> Mat<f64> {
    let a = a.view();
    Mat::from_fn(a.nrows(), a.ncols(), |i, j| a[(i, j)] * scale(j))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gram;

    fn matrix(rows: usize, cols: usize) -> Mat<f64> {
        Mat::from_fn(rows, cols, |i, j| ((i * i * 5 + j * 11 + i * j) % 29) as f64 / 29.0 - 0.4)
    }

    fn close(a: &Mat<f64>, b: &Mat<f64>) -> bool {
        (a - b).norm_max() < 1e-11
    }

    #[test]
    fn qr_multiplies_back_across_block_edges() {
        let noise = |i: usize, j: usize| ((i * 7919 + j * 104_729 + i * j * 31) % 1009) as f64 / 1009.0 - 0.5;
        for (m, n) in [(1, 1), (5, 5), (64, 64), (70, 65), (200, 130)] {
            let a = Mat::from_fn(m, n, noise);
            let (q, r) = qr(&a);
            assert!((mul(&q, &r) - &a).norm_max() < 1e-12, "{m} x {n}");
            assert!((gram(&q) - Mat::<f64>::identity(n, n)).norm_max() < 1e-12, "{m} x {n}");
        }
    }

    #[test]
    fn decompositions_multiply_back() {
        let a = matrix(40, 15);
        let (q, r) = qr(&a);
        assert!(close(&mul(&q, &r), &a));
        assert!(close(&gram(&q), &Mat::identity(15, 15)));
        let (u, s, v) = svd(&a, "t").unwrap();
        assert!(close(&mul(scaled_columns(&u, |j| s[j]), v.transpose()), &a));
        let g = gram(&a);
        let (values, vectors) = sym_eig(&g, "t").unwrap();
        assert!(values.windows(2).all(|w| w[0] >= w[1]));
        assert!(close(&mul(scaled_columns(&vectors, |j| values[j]), vectors.transpose()), &g));
        let top = top_eigenvalue(&g);
        assert!(top >= values[0] && top <= 1.02 * values[0]);
    }

    #[test]
    fn leading_eigenvectors_are_orthonormal_eigenvectors_of_the_largest_values() {
        for n in [1, 2, 3, 60, 200] {
            let a = gram(matrix(n + 5, n));
            let (values, _) = sym_eig(&a, "t").unwrap();
            for most in [0, 1, n / 2, n, n + 1] {
                let (first, leading) = leading_by_tridiagonal(a.as_ref(), most, "t").unwrap();
                let kept = most.min(n);
                assert_eq!((first.len(), leading.shape()), (kept, (n, kept)));
                assert!(first.iter().zip(&values).all(|(a, b)| (a - b).abs() <= 1e-12 * values[0]));
                assert!((gram(&leading) - Mat::<f64>::identity(kept, kept)).norm_max() < 1e-12);
                let scaled = scaled_columns(&leading, |j| first[j]);
                assert!((mul(&a, &leading) - scaled).norm_max() < 1e-12 * values[0]);
            }
        }
    }

    #[test]
    fn eigenvectors_are_exact_at_any_scale() {
        for scale in [1e-200, 1e-12, 1.0, 1e12, 1e200] {
            let noise = |i: usize, j: usize| scale * ((i * 7919 + j * 104_729 + i * j * 31) % 1009) as f64;
            let a = Mat::from_fn(180, 180, |i, j| noise(i, j) + noise(j, i));
            let (values, vectors) = sym_eig(&a, "t").unwrap();
            let back = mul(scaled_columns(&vectors, |j| values[j]), vectors.transpose());
            assert!((back - &a).norm_max() < 1e-13 * values[0], "{scale:e}");
        }
    }

    #[test]
    fn pseudo_inverse_obeys_the_penrose_axioms_at_any_rank() {
        let full = matrix(9, 5);
        let deficient = mul(matrix(9, 2), matrix(2, 6));
        for a in [full, deficient, Mat::zeros(3, 2)] {
            let p = pinv(&a, "t").unwrap();
            let (ap, pa) = (mul(&a, &p), mul(&p, &a));
            assert!(close(&mul(&ap, &a), &a));
            assert!((mul(&pa, &p) - &p).norm_max() < 1e-9);
            assert!(close(&ap.transpose().to_owned(), &ap) && close(&pa.transpose().to_owned(), &pa));
        }
        let g = gram(mul(matrix(9, 2), matrix(2, 6)));
        let p = pinv_spsd(&g, 1e-12, "t").unwrap();
        assert!(close(&mul(mul(&g, &p), &g), &g));
    }

    #[test]
    fn signs_are_fixed_by_the_largest_entry() {
        let mut v = faer::mat![[0.5, -1.0], [-2.0, 1.0]];
        fix_signs(v.as_mut());
        assert_eq!(v, faer::mat![[-0.5, 1.0], [2.0, -1.0]]);
    }

    #[test]
    fn range_basis_has_the_right_rank() {
        let a = mul(matrix(9, 2), matrix(2, 6));
        assert_eq!(orthonormal_range(&a, 1e-10, "t").unwrap().ncols(), 2);
    }
}
