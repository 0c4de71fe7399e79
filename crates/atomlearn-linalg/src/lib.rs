//! Dense linear algebra on faer, the only place of atomlearn that touches it beyond views and elements.
//!
//! faer runs sequentially inside; work is split here, at boundaries that depend on sizes alone. So results have the
//! same bits on any number of threads.
//!
//! A crate of its own because faer's kernels take a minute to compile: functions take any [`View`] of a matrix, but do their work in
//! functions of one type, which are compiled here once and nowhere else.

mod columns;
mod gemm;
mod inverse;
mod lanes;
mod leading;
mod spd;
mod spectral;

pub use columns::{
    ZERO_NORM, add_diagonal, column_energies, column_norms, concat_columns, diagonal, extreme_direction, frobenius,
    inner, is_safe_norm, normalize_columns, one_hot, relative_change, select_columns, trace,
};
pub use gemm::{
    add_lower_outer, add_lower_product, gram, gram_into, mirror, mul, mul_add, mul_into, mul_single, outer_gram,
    upper_mul,
};
pub use inverse::spd_inverse;
pub use lanes::{
    add_columns, any_at_least, argmax_columns, axpy, column, column_major, dot, exp, first_not_finite, largest,
    largest_magnitude, vectorized,
};
pub use leading::sym_eig_leading;
pub use spd::{Spd, norm1, solve_upper};
pub use spectral::{
    FullQr, fix_signs, orthonormal_range, pinv, pinv_spsd, qr, rank_above, scaled_columns, svd, sym_eig, top_eigenvalue,
};

use faer::MatRef;
use faer::mat::AsMatRef;

/// Whatever can be seen as a matrix of numbers: a matrix, a reference to one, a part of one. So `mul(&a, b.transpose())` is a product.
pub trait View: AsMatRef<T = f64, Rows = usize, Cols = usize> {
    /// The matrix.
    fn view(&self) -> MatRef<'_, f64> {
        self.as_mat_ref()
    }
}

impl<M: AsMatRef<T = f64, Rows = usize, Cols = usize>> View for M {}

/// A factorisation or an iteration that broke down.
#[derive(Debug, thiserror::Error)]
#[error("{stage}: {why}")]
pub struct Breakdown {
    /// Which step of which method.
    pub stage: String,
    /// What happened and what to try.
    pub why: String,
}

/// Result of a factorisation.
pub type Result<T, E = Breakdown> = std::result::Result<T, E>;

impl Breakdown {
    fn new(stage: &str, why: impl Into<String>) -> Self {
        Breakdown { stage: stage.into(), why: why.into() }
    }
}
