//! One file per command.

pub mod auto;
pub mod cite;
pub mod compare;
pub mod completions;
pub mod demo;
pub mod evaluate;
pub mod explain;
pub mod export;
pub mod features;
pub mod inspect;
pub mod methods;
pub mod predict;
pub mod rank;
pub mod report;
pub mod reproduce;
pub mod serve;
pub mod sweep;
pub mod train;
pub mod tune;
