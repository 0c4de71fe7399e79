//! Samples and codes to dictionaries: `(X, Z) -> D`.

pub mod subspace;
