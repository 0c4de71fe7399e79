//! Classification from few labelled samples, by representation and dictionary learning: labelled samples in, one score per class and
//! sample out.
//!
//! A method is a plain struct of parameters that can [`Fit`]; what it learns is a [`Classifier`]. [`Model`] puts preprocessing and method
//! together and is what model files hold. [`registry`] lists every method by name.
//!
//! ```
//! use atomlearn::methods::auto::Auto;
//! use atomlearn::{Classifier, Fit, synth};
//!
//! let train = synth::blobs(3, 20, 10, 1); // or Dataset::new(&x, &labels), samples in columns
//! let model = Auto::default().fit(&train, &mut ())?; // nothing has to be chosen
//! let predicted = model.predict(train.x())?;
//! let right = predicted.iter().zip(train.targets()).filter(|&(found, class)| *found == class).count();
//! assert!(right > 50);
//! # Ok::<(), atomlearn::Error>(())
//! ```
//!
//! # Notation
//!
//! Columns are samples and atoms everywhere.
//!
//! | symbol | in code | meaning |
//! |---|---|---|
//! | `X` | `x` | samples, one per column; `X_c` are those of class `c` |
//! | `D` | `dictionary` | dictionary, one atom per column, grouped by class |
//! | `Z` | `codes` | codes: `X` is close to `D Z` |
//! | `U`, `b` | `svm.weights`, `svm.bias` | linear classifiers, one per class against the rest |
//! | `Omega` | `analysis` | analysis dictionary: `Omega x` is a code |
//!
//! # Layers
//!
//! A module uses modules of lower layers only; a test checks it.
//!
//! | layer | modules |
//! |---|---|
//! | use | [`Model`], [`registry`], [`methods`], [`prep`], [`io`], [`scale`] (more samples than memory holds) |
//! | what a method is | [`Dataset`], [`Fit`], [`Classifier`], [`Observer`], [`params`] |
//! | building blocks | [`coding`], [`update`], [`svm`], [`graph`], [`loo`] (exact leave-one-out), [`score`], [`kernel`], [`init`] |
//! | foundations | [`linalg`], [`pca`], [`export`], [`Error`] |

// What users need.
pub mod classifier;
pub mod dataset;
pub mod fit;
pub mod io;
pub mod method;
pub mod methods;
pub mod model;
pub mod observe;
pub mod params;
pub mod prep;
pub mod registry;
pub mod scale;
pub mod synth;

// What methods are built from.
pub mod coding;
pub mod export;
pub mod graph;
pub mod init;
pub mod kernel;
pub mod linalg;
pub mod loo;
pub mod novelty;
pub mod pca;
pub mod rounds;
pub mod score;
pub mod svm;
pub mod update;

// What the other crates of the project share with this one; it may change in any version.
#[doc(hidden)]
pub mod archive;
#[doc(hidden)]
pub mod checkpoint;
#[doc(hidden)]
pub mod explain;
#[doc(hidden)]
pub mod file;
#[doc(hidden)]
pub mod folds;
#[doc(hidden)]
pub mod grid;
#[doc(hidden)]
pub mod guard;
#[doc(hidden)]
pub mod info;
mod iterations;
#[doc(hidden)]
pub mod path;

mod blocks;
mod draw;
mod error;
mod parts;
mod span;
mod state;
#[cfg(test)]
mod testing;
mod warn;

pub use blocks::Blocks;
pub use classifier::Classifier;
pub use dataset::Dataset;
pub use error::{Error, NameKind, Result, options_in_words};
pub use faer::{ColRef, Mat, MatRef};
pub use fit::{Fit, Incremental};
pub use model::Model;
pub use observe::{Observer, Step};
pub use parts::Parts;
pub use state::State;

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeExamples;
