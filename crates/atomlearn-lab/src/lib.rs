//! Experiments: protocols, records, statistics, tables and the report page.
//!
//! An experiment is a [`compare::Plan`]: labelled data, splits, preprocessing and methods. Running it gives one
//! [`record::Record`] per method and split; everything else ([`results::Comparison`], tables, the page) is a pure
//! function of those records, so that no two outputs can disagree.
//!
//! Nothing here prints; a front end watches through [`compare::Watch`].

pub mod card;
pub mod cells;
pub mod citations;
pub mod compare;
pub mod confusion;
pub mod crossed;
pub mod data;
pub mod explain;
pub mod findings;
pub mod folds;
pub mod grid;
pub mod inside;
pub mod lines;
pub mod metrics;
pub mod output_kind;
pub mod outputs;
pub mod params_file;
pub mod prepared;
pub mod provenance;
pub mod ranks;
pub mod recipe;
pub mod record;
pub mod report;
pub mod reproduce;
mod reproduce_table;
pub mod results;
pub mod scaling;
pub mod splits;
pub mod statistics;
pub mod sweep;
pub mod tables;
pub mod tune;
pub mod tune_table;
