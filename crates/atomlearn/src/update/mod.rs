//! Samples and codes to dictionaries: `(X, Z) -> D`.

pub mod subspace;
pub mod classwise_map;
pub mod column_ball;
