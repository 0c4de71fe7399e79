//! Samples and codes to dictionaries: `(X, Z) -> D`.
//!
//! [`block_descent`] and [`lagrange_dual`] minimise the same quadratic under `|d_k| <= 1`,
//!
//! ```text
//! f(D) = -2 tr(E D^T) + tr(F D^T D),      E = X Z^T,  F = Z Z^T in plain dictionary learning,
//! ```
//!
//! so that `|X - D Z|_F^2 = |X|_F^2 + f(D)`.

pub mod block_descent;
pub mod classwise_map;
pub mod column_ball;
pub mod incoherent;
pub mod ksvd;
pub mod lagrange_dual;
pub mod lasso_dictionary;
pub mod low_rank;
pub mod unit_atoms;

use crate::linalg::{View, mul};

/// `f(D) = -2 tr(E D^T) + tr(F D^T D)`.
pub fn value(e: impl View, f: impl View, d: impl View) -> f64 {
    let (e, f, d) = (e.view(), f.view(), d.view());
    let df = mul(d, f);
    let column = |k: usize| -> f64 {
        d.col(k).iter().zip(df.col(k).iter().zip(e.col(k).iter())).map(|(d, (df, e))| d * (df - 2.0 * e)).sum()
    };
    (0..d.ncols()).map(column).sum()
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::linalg::{mul, normalize_columns, outer_gram};
    use crate::testing::noise;
    use faer::Mat;

    /// `E`, `F` and a feasible start from random samples (m x n) and codes (k x n) of the given size.
    pub fn problem(m: usize, k: usize, n: usize, code_scale: f64) -> (Mat<f64>, Mat<f64>, Mat<f64>) {
        let mut x = Mat::from_fn(m, n, noise);
        normalize_columns(x.as_mut());
        let z = Mat::from_fn(k, n, |i, j| code_scale * noise(i + 11, j + 2));
        let mut d = Mat::from_fn(m, k, |i, j| noise(i + 1, j + 77));
        normalize_columns(d.as_mut());
        (mul(&x, z.transpose()), outer_gram(&z), d)
    }
}
