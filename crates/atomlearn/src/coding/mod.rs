//! Samples to codes: `x -> z`.

pub mod margin;
pub mod ridge;
pub mod threshold;
