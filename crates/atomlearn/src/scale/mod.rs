//! Training on more samples than fit into memory, or on one machine.
//!
//! A [`Trainer`] is a state machine: it asks a [`Request`], every [`Partition`] of the training set answers it with
//! [`PartialStats`], the answers are added in the order of the partitions, and the trainer takes the sum and asks on until it
//! has a model. No part holds more than one partition, and codes are never held. Who calls the partitions is no concern of
//! this module: a loop over arrays, a loop over files ([`files`]), or the tasks of a cluster. Requests, answers and
//! the trainer itself are bytes wherever they need to be, and the trainer's bytes are the checkpoint.
//!
//! The number of partitions decides how sums are rounded, and is stored with the model; the number of workers and
//! threads changes no bit.

mod arrays;
pub mod files;
mod trainer;

pub use crate::rounds::{FAN_IN, Memo, Merger, PartialStats, Partition, Request};
pub use arrays::Arrays;
pub use trainer::{Setup, Trainer};
