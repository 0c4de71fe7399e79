//! Dense linear algebra on faer, the only place that touches it beyond views and elements.
//!
//! faer runs sequentially inside; work is split here, at boundaries that depend on sizes alone. So results have the
//! same bits on any number of threads.

mod columns;
mod gemm;
mod lanes;
mod leading;
mod spd;
mod spectral;

pub(crate) use columns::{ZERO_NORM, extreme_direction, is_safe_norm};
pub use columns::{
    add_diagonal, column_energies, column_norms, concat_columns, frobenius, inner, normalize_columns, one_hot,
    relative_change, select_columns, trace,
};
pub(crate) use gemm::{add_lower_outer, add_lower_product, gram_into, mirror, mul_into};
pub use gemm::{gram, mul, mul_add, outer_gram, upper_mul};
pub(crate) use lanes::{
    add_columns, any_at_least, argmax_columns, axpy, column, column_major, first_not_finite, largest,
    largest_magnitude, wide,
};
pub use lanes::{dot, exp, vectorised};
pub use leading::sym_eig_leading;
pub(crate) use spd::solve_upper;
pub use spd::{Spd, norm1};
pub(crate) use spectral::scaled_columns;
pub use spectral::{
    FullQr, fix_signs, orthonormal_range, pinv, pinv_spsd, qr, rank_above, svd, sym_eig, top_eigenvalue,
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
