//! Samples to codes: `x -> z`.

pub mod lasso;
pub mod margin;
pub mod omp;
pub mod ridge;
pub mod sparse;
pub mod threshold;
