//! Symmetric positive definite systems.

use crate::{Breakdown, Result};
use crate::{View, add_diagonal, axpy, mirror, trace};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{LltError, LltParams, cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Accum, Auto, Mat, MatMut, MatRef, Par, Spec};
use rayon::prelude::*;

/// Right-hand sides solved by one task.
const PANEL: usize = 128;
/// Rows of an inverse that are one product: few, since what they compute above the diagonal is wasted.
const INVERSE_ROWS: usize = 64;
/// Up to this size a factor is made column by column. faer's own choice, 64, takes half as long again for 100 rows.
const PLAIN_FACTOR: usize = 16;

/// A Cholesky factor; every solve with the same matrix goes through it.
#[derive(Clone, Debug)]
pub struct Spd {
    factor: Mat<f64>,
}

impl Spd {
    /// Factors `a` (its lower triangle is read). `stage` names the step in an error.
    pub fn new(a: Mat<f64>, stage: &str) -> Result<Self> {
        let mut factor = a;
        cholesky(factor.as_mut()).map_err(|pivot| {
            Breakdown::new(stage, format!("the matrix is not positive definite (pivot {pivot} of {})", factor.nrows()))
        })?;
        Ok(Spd { factor })
    }

    /// Factors `a + shift I`.
    pub fn shifted(a: impl View, shift: f64, stage: &str) -> Result<Self> {
        let mut shifted = a.view().to_owned();
        add_diagonal(&mut shifted, shift);
        Spd::new(shifted, stage)
    }

    /// Like [`Spd::new`], but a matrix that is singular to rounding gets 1e-10 of its mean diagonal added,
    /// ten times more on each failure up to 1e-4; `warn` is told.
    pub fn with_jitter(a: Mat<f64>, stage: &str, warn: impl FnOnce(&str)) -> Result<Self> {
        if let Ok(spd) = Spd::new(a.clone(), stage) {
            return Ok(spd);
        }
        let mean_diagonal = trace(&a) / a.nrows() as f64;
        for exponent in -10..=-4 {
            let jitter = 10f64.powi(exponent) * mean_diagonal;
            let mut shifted = a.clone();
            add_diagonal(&mut shifted, jitter);
            if let Ok(spd) = Spd::new(shifted, stage) {
                warn(&format!("{stage}: matrix singular to rounding, {jitter:.1e} added to its diagonal"));
                return Ok(spd);
            }
        }
        Spd::new(a, stage)
    }

    /// Number of rows.
    pub fn dim(&self) -> usize {
        self.factor.nrows()
    }

    /// The lower triangular factor; what stands above its diagonal is undefined.
    pub fn lower(&self) -> MatRef<'_, f64> {
        self.factor.as_ref()
    }

    /// `a^-1 b`.
    pub fn solve(&self, b: impl View) -> Mat<f64> {
        let mut x = b.view().to_owned();
        self.solve_in_place(x.as_mut());
        x
    }

    /// Replaces `b` by `a^-1 b`.
    pub fn solve_in_place(&self, b: MatMut<'_, f64>) {
        let lower = self.factor.as_ref();
        let solve = |mut panel: MatMut<'_, f64>| {
            solve_lower_triangular_in_place(lower, panel.as_mut(), Par::Seq);
            solve_upper_triangular_in_place(lower.transpose(), panel, Par::Seq);
        };
        if b.ncols() <= PANEL {
            solve(b);
        } else {
            b.par_col_chunks_mut(PANEL).for_each(solve);
        }
    }

    /// `L^-1 b` with the lower triangular factor `L`: its Gram matrix is `b^T a^-1 b`.
    pub fn half_solve(&self, b: impl View) -> Mat<f64> {
        let mut x = b.view().to_owned();
        self.half_solve_in_place(x.as_mut());
        x
    }

    fn half_solve_in_place(&self, b: MatMut<'_, f64>) {
        b.par_col_chunks_mut(PANEL).for_each(|panel| {
            solve_lower_triangular_in_place(self.factor.as_ref(), panel, Par::Seq);
        });
    }

    /// `W` with `W W^T = a^-1`: the inverse transposed factor, upper triangular.
    pub fn inverse_root(&self) -> Mat<f64> {
        let upper = self.factor.transpose();
        let mut root = Mat::identity(self.dim(), self.dim());
        root.as_mut().par_col_chunks_mut(PANEL).for_each(|panel| {
            solve_upper_triangular_in_place(upper, panel, Par::Seq);
        });
        root
    }

    /// `a^-1`, exactly symmetric.
    pub fn inverse(&self) -> Mat<f64> {
        self.clone().into_inverse()
    }

    /// [`Spd::inverse`] in the place of the factor: fresh memory costs a tenth of the time.
    pub fn into_inverse(self) -> Mat<f64> {
        let n = self.dim();
        let mut root = Mat::zeros(n, n);
        invert_lower_triangular(root.as_mut(), self.factor.as_ref(), Par::Seq);
        let mut result = self.factor;
        // The lower triangle of `root^T root` by rows; `root` is lower triangular, so that sums begin at the row.
        for start in (0..n).step_by(INVERSE_ROWS) {
            let rows = INVERSE_ROWS.min(n - start);
            let end = n.min(start + INVERSE_ROWS);
            let below = root.submatrix(start, 0, n - start, end);
            let target = result.as_mut().submatrix_mut(start, 0, rows, end);
            matmul(target, Accum::Replace, below.subcols(start, rows).transpose(), below, 1.0, Par::Seq);
        }
        mirror(&mut result);
        result
    }

    /// Estimated condition number in the 1-norm (Hager, Higham), given [`norm1`] of the matrix: at most the true one,
    /// rarely below a third of it.
    pub fn condition(&self, norm1: f64) -> f64 {
        let n = self.dim();
        if n == 0 {
            return 1.0;
        }
        let mut x = Mat::from_fn(n, 1, |_, _| 1.0 / n as f64);
        let mut estimate = 0.0;
        for _ in 0..5 {
            let y = self.solve(&x);
            let norm: f64 = (0..n).map(|i| y[(i, 0)].abs()).sum();
            if norm <= estimate {
                break;
            }
            estimate = norm;
            let z = self.solve(Mat::from_fn(n, 1, |i, _| y[(i, 0)].signum()));
            let top = (0..n).fold(0, |best, i| if z[(i, 0)].abs() > z[(best, 0)].abs() { i } else { best });
            x = Mat::from_fn(n, 1, |i, _| f64::from(u8::from(i == top)));
        }
        estimate * norm1
    }
}

/// `r^-1 b` for an upper triangular `r`.
pub fn solve_upper(r: impl View, mut b: Mat<f64>) -> Mat<f64> {
    solve_upper_in_place(r.view(), b.as_mut());
    b
}

fn solve_upper_in_place(r: MatRef<'_, f64>, b: MatMut<'_, f64>) {
    b.par_col_chunks_mut(PANEL).for_each(|panel| solve_upper_triangular_in_place(r, panel, Par::Seq));
}

/// Cholesky in place; the lower triangle becomes the factor. The error is the failing pivot's index.
pub fn cholesky(mut a: MatMut<'_, f64>) -> Result<(), usize> {
    let n = a.nrows();
    let params = LltParams { recursion_threshold: PLAIN_FACTOR, ..<LltParams as Auto<f64>>::auto() };
    let params = Spec::<LltParams, f64>::from(params);
    let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(n, Par::Seq, params));
    let stack = MemStack::new(&mut memory);
    match cholesky_in_place(a.as_mut(), Default::default(), Par::Seq, stack, params) {
        Err(LltError::NonPositivePivot { index }) => Err(index),
        Ok(_) => match (0..n).find(|&i| !a[(i, i)].is_finite()) {
            Some(index) => Err(index),
            None => Ok(()),
        },
    }
}

/// Largest absolute column sum of a symmetric matrix, from its lower triangle.
pub fn norm1(a: impl View) -> f64 {
    let a = a.view();
    let n = a.nrows();
    let mut sums = vec![0.0f64; n];
    let mut below = Vec::with_capacity(n);
    for j in 0..n {
        below.clear();
        below.extend(a.col(j).subrows(j, n - j).iter().map(|v| v.abs()));
        sums[j] += below.iter().sum::<f64>();
        axpy(1.0, &below[1..], &mut sums[j + 1..]);
    }
    sums.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{gram, mul};

    fn spd(n: usize) -> Mat<f64> {
        let a = Mat::from_fn(n + 3, n, |i, j| ((i * 7 + j * j * 3) % 19) as f64 / 19.0 + f64::from(u8::from(i == j)));
        gram(&a)
    }

    #[test]
    fn solves_undo_products() {
        let large = spd(2 * INVERSE_ROWS + 7);
        let product = mul(&large, Spd::new(large.clone(), "test").unwrap().inverse());
        assert!((product - Mat::<f64>::identity(large.nrows(), large.nrows())).norm_max() < 1e-8);
        let a = spd(30);
        let b = Mat::from_fn(30, 300, |i, j| (i + 2 * j) as f64 % 5.0);
        let x = Spd::new(a.clone(), "test").unwrap().solve(&b);
        assert!((mul(&a, &x) - &b).norm_max() < 1e-9);
        let inverse = Spd::new(a.clone(), "test").unwrap().inverse();
        assert!((mul(&a, &inverse) - Mat::<f64>::identity(30, 30)).norm_max() < 1e-9);
        assert_eq!(inverse, inverse.transpose().to_owned());
        let half = Spd::new(a.clone(), "test").unwrap().half_solve(&b);
        assert!((mul(half.transpose(), &half) - mul(b.transpose(), &x)).norm_max() < 1e-8);
        let mut shifted = a.clone();
        add_diagonal(&mut shifted, 0.5);
        let direct = Spd::new(shifted, "test").unwrap();
        assert_eq!(Spd::shifted(&a, 0.5, "test").unwrap().lower(), direct.lower());
    }

    #[test]
    fn condition_is_close_to_the_true_one() {
        let a = Mat::from_fn(4, 4, |i, j| if i == j { 10f64.powi(-2 * i as i32) } else { 0.0 });
        let norm = norm1(&a);
        let condition = Spd::new(a, "test").unwrap().condition(norm);
        assert!((3e5..1.01e6).contains(&condition), "{condition}");
    }

    #[test]
    fn singular_matrices_are_named_or_jittered_with_a_warning() {
        let a = Mat::from_fn(3, 3, |_, _| 1.0);
        assert!(Spd::new(a.clone(), "the step").unwrap_err().to_string().starts_with("the step: "));
        let mut warnings = Vec::new();
        assert!(Spd::with_jitter(a, "the step", |text| warnings.push(text.to_owned())).is_ok());
        assert_eq!(warnings.len(), 1);
        assert!(Spd::new(Mat::from_fn(2, 2, |_, _| f64::NAN), "nan").is_err());
    }
}
