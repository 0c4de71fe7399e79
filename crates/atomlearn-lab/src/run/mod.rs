//! Trains and tests: comparisons, tunings, sweeps, reproductions.

pub mod compare;
pub mod explain;
pub mod outside;
pub mod prepared;
pub mod program;
pub mod reproduce;
pub mod sweep;
pub mod tune;
