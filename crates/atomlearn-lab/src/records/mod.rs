//! What was found, one record per method and split, and everything that follows from records alone.

pub mod diagnostics;
pub mod jsonl;
pub mod provenance;
pub mod record;
pub mod results;
pub mod times;
