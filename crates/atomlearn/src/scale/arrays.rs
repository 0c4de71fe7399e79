//! Samples in memory, cut into partitions as files are.

use super::files::{share, usual_partitions};
use crate::Result;
use crate::rounds::{Memo, PartialStats, Partition, Request, answer_in_turn};
use faer::MatRef;

/// Samples (features x samples) with their labels, in partitions of the usual size.
pub struct Arrays<'a> {
    x: MatRef<'a, f64>,
    labels: &'a [String],
    /// Number of partitions.
    pub partitions: usize,
}

impl<'a> Arrays<'a> {
    /// Cuts the samples into partitions.
    pub fn new(x: MatRef<'a, f64>, labels: &'a [String]) -> Self {
        Arrays { x, labels, partitions: usual_partitions(x.ncols(), x.nrows()).max(1) }
    }

    /// The answers of all partitions, merged; `done` hears of each and may stop the round.
    pub fn answer(
        &self,
        request: &Request,
        memos: &mut Vec<Memo>,
        done: impl FnMut(&PartialStats) -> Result<()>,
    ) -> Result<PartialStats> {
        let answer = |index: usize, memo: &mut Memo| {
            let start = share(self.x.ncols(), index, self.partitions);
            let end = share(self.x.ncols(), index + 1, self.partitions);
            let labels = || Ok(self.labels.get(start..end).unwrap_or_default().to_vec());
            Partition { index, x: self.x.subcols(start, end - start), labels: &labels }.answer(request, memo)
        };
        answer_in_turn(self.partitions, memos, answer, done)
    }
}
