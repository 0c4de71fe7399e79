//! Numbers from numbers: intervals, tests, ranks, measures. Knows nothing of experiments.

pub mod confusion;
pub mod crossed;
pub mod metrics;
pub mod ranks;
pub mod statistics;
