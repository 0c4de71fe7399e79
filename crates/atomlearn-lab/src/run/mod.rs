//! Trains and tests: comparisons, tunings, sweeps, reproductions.

pub mod compare;
pub mod explain;
pub mod prepared;
pub mod reproduce;
pub mod sweep;
pub mod tune;
