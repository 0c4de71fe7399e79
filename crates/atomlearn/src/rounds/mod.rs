//! Training by questions to the partitions of the training set: what is asked, what partitions answer, how answers are added,
//! and what methods make of the sums. [`crate::scale`] leads such a training from its start to a model.

mod answer;
mod chain;
mod class_sums;
mod codes;
mod gather;
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
pub(crate) use gather::sample_hash;
pub(crate) use message::Message;
pub(crate) use moments::{Moments, about_the_mean, bordered, class_pca_mean};
pub(crate) use newton::{Newton, unpacked};
pub use request::Request;
pub(crate) use request::{Ask, CheckAsk, GaugeAsk, PickAsk, PullAsk, SvmAsk, put_prep, take_prep};
pub(crate) use sparse::{SparseChain, SparseLink, SparseStep};
pub use stats::{FAN_IN, Merger, PartialStats};
pub(crate) use sums::{GaugeSums, MomentSums, MultiplierSums, Picked, Ranges, RightSums, ScatterSums, SparseSums};

use crate::iterations::objective;
use crate::params::Params;
use crate::prep::Prep;
use crate::{Error, Observer, Parts, Result, Step};
use faer::Mat;

/// A method that learns from sums over partitions.
pub(crate) trait Partitioned: Params {
    /// The scatter that it begins with.
    const SCATTER: Scatter;

    /// True if answers hold a matrix of features x features for every class, which many features or classes make too large.
    const CLASS_MATRICES: bool = true;

    /// The start, up to the first question; `scatters` are as [`Partitioned::SCATTER`] says.
    fn begin(self, moments: &Moments, scatters: &[Mat<f64>], watch: &mut dyn Observer) -> Result<RoundsStart>;

    /// The counterpart of [`Rounds::store`].
    fn resume(self, message: &mut Message, moments: &Moments, classes: &[String]) -> Result<Box<dyn Rounds>> {
        let _ = (message, moments, classes);
        Err(Error::Data("this method is trained from moments alone and has no rounds of its own".into()))
    }
}

/// Second moments that are summed before a method begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scatter {
    /// None: the method asks itself.
    Nothing,
    /// Of all samples about their mean.
    Together,
    /// Of every class about its mean.
    ByClass,
}

/// A method once the moments are known.
pub(crate) enum RoundsStart {
    /// It has questions of its own.
    Rounds(Box<dyn Rounds>),
    /// The parts of its model, which follow from the moments.
    Done(Parts),
}

/// Tells the observer of an iteration. Stopping is up to whoever calls the partitions, so its answer does not matter.
pub(crate) fn report(
    iter: usize,
    max_iter: usize,
    terms: &[(&'static str, f64)],
    change: f64,
    watch: &mut dyn Observer,
) {
    let change = Some(change).filter(|change| change.is_finite());
    let _ = watch.step(&Step { iter, objective: Some(objective(terms)), terms, change, ..Step::start(max_iter) });
}

/// A method between two rounds.
pub(crate) trait Rounds: Send + Sync {
    /// Through which preprocessing samples are to be seen in this round: `prep`, which was asked for, and whatever follows it.
    fn seen_through(&self, prep: &Prep, moments: &Moments) -> Result<Prep> {
        let _ = moments;
        Ok(prep.clone())
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
