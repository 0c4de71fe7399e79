//! Samples to codes: `x -> z`.

mod active_set;
mod admm;
pub mod dense_codes;
mod growing;
pub mod lasso;
pub mod lasso_coder;
pub mod margin;
pub mod omp;
pub mod ridge;
pub mod sparse;
pub mod threshold;
