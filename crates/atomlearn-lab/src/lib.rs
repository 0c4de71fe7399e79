//! Experiments: protocols, records, statistics, tables and the report page.
//!
//! An experiment is a [`compare::Plan`]: labelled data, splits, preprocessing and methods. Running it gives one
//! [`record::Record`] per method and split; everything else ([`results::Comparison`], tables, the page) is a pure
//! function of those records, so that no two outputs can disagree.
//!
//! Nothing here prints; a front end watches through [`compare::ExperimentObserver`].

// Layers, bottom first: stats, protocol, records, run, output; `tests/layers.rs` proves that none knows one above it.
mod output;
mod protocol;
mod records;
mod run;
mod stats;

pub use output::{card, citations, findings, output_kind, outputs, report, tables, text_table, tune_table, verdict};
pub use protocol::{data, folds, grid, params_file, recipe, scaling, splits, twins};
pub use records::{diagnostics, jsonl, provenance, record, results, times};
pub use run::{compare, explain, outside, prepared, program, reproduce, sweep, tune};
pub use stats::{confusion, crossed, metrics, ranks, statistics};
