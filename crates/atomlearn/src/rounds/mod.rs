//! Training by questions to the partitions of the training set: what is asked, what partitions answer, how answers are added,
//! and what methods make of the sums. [`crate::scale`] leads such a training from its start to a model.

mod answer;
mod chain;
mod class_sums;
mod codes;
mod message;
mod moments;
mod newton;
mod request;
mod sparse;
mod stats;
mod strip;
mod sums;

pub(crate) use answer::answer_in_turn;
pub use answer::{Memo, Partition};
pub use class_sums::ClassSums;
pub(crate) use class_sums::FromSums;
pub(crate) use codes::{CodeSums, Coding, NextPull, restore_svm, store_svm};
pub(crate) use message::Message;
pub(crate) use moments::{Moments, about_the_mean, bordered, class_pca_mean};
pub(crate) use newton::{Newton, unpacked};
pub use request::Request;
pub(crate) use request::{Ask, CheckAsk, PullAsk, SvmAsk, put_prep, take_prep};
pub(crate) use sparse::{SparseChain, SparseLink, SparseStep};
pub use stats::{FAN_IN, Merger, PartialStats};
pub(crate) use sums::{MultiplierSums, RightSums, ScatterSums, SparseSums};

use crate::params::Params;
use crate::{Error, Observer, Parts, Result};
use faer::Mat;

/// A method that learns from sums over partitions.
pub(crate) trait Partitioned: Params {
    /// True if it needs the scatter of every class about its mean, false if that of all samples about theirs will do.
    const BY_CLASS: bool;

    /// True if answers hold a matrix of features x features for every class, which many features or classes make too large.
    const CLASS_MATRICES: bool = true;

    /// The start, up to the first question; `scatters` are as [`Partitioned::BY_CLASS`] says.
    fn begin(self, moments: &Moments, scatters: &[Mat<f64>], watch: &mut dyn Observer) -> Result<Start>;

    /// The counterpart of [`Rounds::store`].
    fn resume(self, message: &mut Message, moments: &Moments, classes: &[String]) -> Result<Box<dyn Rounds>> {
        let _ = (message, moments, classes);
        Err(Error::Data("this method is trained from moments alone and has no rounds of its own".into()))
    }
}

/// A method once the moments are known.
pub(crate) enum Start {
    /// It has questions of its own.
    Rounds(Box<dyn Rounds>),
    /// The parts of its model, which follow from the moments.
    Done(Parts),
}

/// A method between two rounds.
pub(crate) trait Rounds: Send + Sync {
    /// From where the samples are to be seen, where that is not zero.
    fn centre(&self, moments: &Moments) -> Option<Mat<f64>> {
        let _ = moments;
        None
    }

    /// What to ask.
    fn ask(&self, moments: &Moments) -> Result<Ask>;

    /// Takes the answer. The parts of the model, once it is finished.
    fn absorb(
        &mut self,
        stats: &mut PartialStats,
        moments: &Moments,
        watch: &mut dyn Observer,
    ) -> Result<Option<Parts>>;

    /// For a checkpoint.
    fn store(&self, message: &mut Message);
}
