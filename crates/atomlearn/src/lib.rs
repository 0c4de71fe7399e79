//! Discriminative dictionary learning.
pub mod blocks;
pub mod coding;
pub mod dataset;
pub mod error;
pub mod graph;
pub mod init;
pub mod io;
pub mod linalg;
pub mod method;
pub mod methods;
pub mod observe;
pub mod params;
pub mod pca;
pub mod range;
pub mod registry;
pub mod score;
pub mod svm;
pub mod synth;
pub mod update;

pub use blocks::Blocks;
pub use dataset::Dataset;
pub use error::{Error, Result};
pub use faer::{Mat, MatRef};
pub use method::{Classifier, Fit, Parts};
pub use observe::{Observer, Step};
