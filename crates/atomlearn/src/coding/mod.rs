//! Samples to codes: `x -> z`.

pub mod margin;
pub mod omp;
pub mod ridge;
pub mod sparse;
