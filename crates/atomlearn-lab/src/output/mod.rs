//! What people read: tables, the report page, cards, files and whether they may be written.

pub mod card;
pub mod citations;
pub mod findings;
pub mod output_kind;
pub mod outputs;
pub mod report;
mod reproduce_table;
mod sweep_table;
pub mod tables;
pub mod text_table;
pub mod tune_table;
pub mod verdict;
