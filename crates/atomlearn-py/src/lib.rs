//! The native half of the Python package: arrays in, arrays out, JSON for everything that is not a matrix.
//!
//! Nothing is decided here. Fits and experiments run on threads of their own while the calling thread watches for
//! Ctrl-C ([`run`]); the scikit-learn classes are plain Python over [`model::Model`].

mod arrays;
mod command;
mod error;
mod files;
mod fit;
mod kit;
mod lab;
mod methods;
mod model;
mod run;
mod scale;
mod sums;

/// As for the command line: training makes and drops many matrices of a few megabytes.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `atomlearn._atomlearn`.
#[pyo3::pymodule]
mod _atomlearn {
    #[pymodule_export]
    #[expect(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    /// How many answers of partitions are merged at a time.
    #[pymodule_export]
    const _FAN_IN: usize = atomlearn::scale::FAN_IN;
    #[pymodule_export]
    use super::command::run_command;
    #[pymodule_export]
    use super::files::read;
    #[pymodule_export]
    use super::fit::{CurrentModel, fit};
    #[pymodule_export]
    use super::kit::{atom_graph, dense_sift, ksvd, lasso, omp, pca};
    #[pymodule_export]
    use super::lab::{compare, compare_splits, report};
    #[pymodule_export]
    use super::methods::{methods, prep_examples};
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::scale::{Trainer, answer, answer_piece, merge, piece_samples, plan, scale_methods};
    #[pymodule_export]
    use super::sums::{begin, fit_sums, restore};
}
