//! Codes to dictionaries.

pub mod classwise_map;
pub mod column_ball;
