//! Dense linear algebra with the same bits on any number of threads, from the crate `atomlearn-linalg`.

pub use atomlearn_linalg::{
    FullQr, Spd, View, add_diagonal, column_energies, column_norms, concat_columns, diagonal, dot, exp, fix_signs,
    frobenius, gram, inner, mul, mul_add, mul_single, norm1, normalize_columns, one_hot, orthonormal_range, outer_gram,
    pinv, pinv_spsd, qr, rank_above, relative_change, select_columns, spd_inverse, svd, sym_eig, sym_eig_leading,
    top_eigenvalue, trace, upper_mul, vectorized,
};
pub(crate) use atomlearn_linalg::{
    ZERO_NORM, add_columns, add_lower_outer, add_lower_product, any_at_least, argmax_columns, axpy, column,
    column_major, extreme_direction, first_not_finite, gram_into, is_safe_norm, largest, largest_magnitude, mirror,
    mul_into, scaled_columns, solve_upper, wide,
};
