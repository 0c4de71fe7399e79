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

mod answer;
mod arrays;
mod chain;
mod codes;
pub mod files;
mod message;
mod moments;
mod newton;
mod request;
mod rounds;
mod sparse;
mod stats;
mod strip;
mod trainer;

pub use answer::{Memo, Partition};
pub use arrays::Arrays;
pub(crate) use codes::{CodeSums, Coding, NextPull, restore_svm, store_svm};
pub(crate) use message::Message;
pub(crate) use moments::{Moments, NamedParts, class_pca_mean};
pub(crate) use newton::{Newton, unpacked};
pub use request::Request;
pub(crate) use request::{Ask, CheckAsk, SvmSums};
pub(crate) use rounds::{Rounds, svm_parts};
pub(crate) use sparse::{SparseChain, SparseLink, SparseStep};
pub use stats::{FAN_IN, Merger, PartialStats};
pub use trainer::{METHODS, Setup, Trainer};
