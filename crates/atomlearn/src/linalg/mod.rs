//! Dense linear algebra on faer, the only place that touches it beyond views and elements.
//!
//! faer runs sequentially inside; work is split here, at boundaries that depend on sizes alone. So results have the
//! same bits on any number of threads.

mod columns;
mod gemm;
mod kernels;
mod leading;
mod spd;
mod spectral;

pub(crate) use columns::{ZERO_NORM, extreme_direction, is_safe_norm};
pub use columns::{
    column_norms, concat_columns, dot, frobenius, inner, normalize_columns, relative_change, select_columns,
};
pub(crate) use gemm::{add_lower_outer, add_lower_product, gram_into, mirror, mul_into};
pub use gemm::{gram, mul, mul_add, outer_gram, upper_mul};
pub(crate) use kernels::{
    add_columns, any_at_least, axpy, column, column_major, exp, largest, largest_magnitude, vectorised,
};
pub use leading::sym_eig_leading;
pub(crate) use spd::solve_upper;
pub use spd::{Spd, norm1};
pub(crate) use spectral::scaled_columns;
pub use spectral::{FullQr, fix_signs, orthonormal_range, pinv, pinv_spsd, qr, svd, sym_eig, top_eigenvalue};
