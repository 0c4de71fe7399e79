//! Discriminative dictionary learning.
pub mod error;
pub mod io;
pub use error::{Error, Result};
