//! Discriminative dictionary learning: labelled samples in, one score per class and sample out.
//!
//! Columns are samples and atoms everywhere. A method is a plain struct of parameters that can [`Fit`]; what it learns is a
//! [`Classifier`]. [`Model`] adds preprocessing and the model file, [`registry`] lists every method by name.
pub mod archive;
pub mod blocks;
pub mod checkpoint;
pub mod classifier;
pub mod coding;
pub mod dataset;
pub mod draw;
pub mod error;
pub mod explain;
pub mod export;
pub mod file;
pub mod fit;
pub mod folds;
pub mod graph;
pub mod grid;
pub mod guard;
pub mod info;
pub mod init;
pub mod io;
pub mod kernel;
pub mod linalg;
pub mod loo;
pub mod method;
pub mod methods;
pub mod model;
pub mod novelty;
pub mod observe;
pub mod params;
pub mod parts;
pub mod path;
pub mod pca;
pub mod prep;
pub mod range;
pub mod registry;
pub mod rounds;
pub mod scale;
pub mod score;
pub mod state;
pub mod svm;
pub mod synth;
pub mod update;
pub mod warn;

pub use blocks::Blocks;
pub use classifier::Classifier;
pub use dataset::Dataset;
pub use error::{Error, Result};
pub use faer::{ColRef, Mat, MatRef};
pub use fit::{Fit, Incremental};
pub use model::Model;
pub use observe::{Observer, Step};
pub use parts::Parts;
pub use state::State;

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeExamples;
