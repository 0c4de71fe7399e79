//! Partial statistics: sums by name, added in the order of the partitions.
//!
//! Floating-point sums depend on their order, so there is one order for all engines: groups of [`FAN_IN`] neighbours are
//! added from first to last, then groups of those, until one is left. A stream ([`Merger`]) and a cluster (a task per
//! group) give the same bits.

use super::message::Message;
use crate::parts::check_shape;
use crate::{Error, Result};
use faer::Mat;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

const FORMAT: &str = "atomlearn.stats/1";
/// Names of what is not a sum but a largest value begin so.
pub(super) const LARGEST: &str = "largest.";
/// How many neighbours are added together.
pub const FAN_IN: usize = 16;

/// What a run of neighbouring partitions answered to one request.
#[derive(Clone, Debug, PartialEq)]
pub struct PartialStats {
    pub(crate) round: u64,
    pub(crate) first: usize,
    pub(crate) count: usize,
    pub(crate) samples: u64,
    sums: BTreeMap<String, Mat<f64>>,
}

impl PartialStats {
    /// The answer of one partition, still empty.
    pub(crate) fn new(round: u64, partition: usize, samples: usize) -> Self {
        PartialStats { round, first: partition, count: 1, samples: samples as u64, sums: BTreeMap::new() }
    }

    /// How many samples were summed.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Adds to the sum of this name; of names that begin with [`LARGEST`] the larger values stay.
    pub(crate) fn add(&mut self, name: impl Into<String>, matrix: Mat<f64>) {
        let name = name.into();
        let largest = name.starts_with(LARGEST);
        match self.sums.entry(name) {
            Entry::Vacant(entry) => drop(entry.insert(matrix)),
            Entry::Occupied(entry) if largest => {
                let held = entry.into_mut();
                *held = Mat::from_fn(held.nrows(), held.ncols(), |i, j| held[(i, j)].max(matrix[(i, j)]));
            }
            Entry::Occupied(mut entry) => *entry.get_mut() += matrix,
        }
    }

    /// Takes a sum of this shape out.
    pub(crate) fn take(&mut self, name: &str, rows: usize, cols: usize) -> Result<Mat<f64>> {
        let sum = self.sums.remove(name);
        let sum = sum.ok_or_else(|| Error::Data(format!("the answer to round {} has no `{name}`", self.round)))?;
        check_shape(&format!("sum `{name}`"), &sum, Some(rows), Some(cols))?;
        Ok(sum)
    }

    /// Takes all sums whose names begin with `prefix` out, under their names without it.
    pub(crate) fn take_all(&mut self, prefix: &str) -> Vec<(String, Mat<f64>)> {
        let sums = std::mem::take(&mut self.sums);
        let (found, rest): (BTreeMap<_, _>, BTreeMap<_, _>) =
            sums.into_iter().partition(|(name, _)| name.starts_with(prefix));
        self.sums = rest;
        found.into_iter().map(|(name, sum)| (name[prefix.len()..].to_string(), sum)).collect()
    }

    /// Adds the answer of the partitions that follow.
    pub fn merge(&mut self, next: PartialStats) -> Result<()> {
        if next.round != self.round || self.first.checked_add(self.count) != Some(next.first) {
            return Err(Error::Data(format!(
                "partial statistics are out of order: partition {} of round {} cannot follow partitions {} to {} of round {}",
                next.first,
                next.round,
                self.first,
                self.first + self.count - 1,
                self.round
            )));
        }
        self.count = self.count.saturating_add(next.count);
        self.samples = self.samples.saturating_add(next.samples);
        for (name, sum) in next.sums {
            if let Some(held) = self.sums.get(&name) {
                check_shape(&format!("sum `{name}`"), &sum, Some(held.nrows()), Some(held.ncols()))?;
            }
            self.add(name, sum);
        }
        Ok(())
    }

    /// The bytes, for another process.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut message = Message::new(FORMAT);
        message.set("round", self.round);
        message.set("first", self.first);
        message.set("count", self.count);
        message.set("samples", self.samples);
        self.sums.iter().for_each(|(name, sum)| message.put(name, sum));
        message.encode()
    }

    /// From bytes, which may be hostile.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let message = Message::decode(bytes, FORMAT)?;
        let round = message.get("round")?;
        let first = message.get("first")?;
        let samples = message.get("samples")?;
        let count: usize = message.get("count")?;
        if count == 0 {
            return Err(Error::Data("partial statistics of no partition".into()));
        }
        Ok(PartialStats { round, first, count, samples, sums: message.parts.into_iter().collect() })
    }
}

/// Merges a stream of answers that come in the order of their partitions, holding few of them at a time.
#[derive(Default)]
pub struct Merger {
    levels: Vec<Option<(PartialStats, usize)>>,
}

impl Merger {
    /// Takes the answer of the next partition.
    pub fn push(&mut self, stats: PartialStats) -> Result<()> {
        self.push_at(0, stats)
    }

    fn push_at(&mut self, level: usize, stats: PartialStats) -> Result<()> {
        if self.levels.len() == level {
            self.levels.push(None);
        }
        let (sum, members) = match self.levels[level].take() {
            None => (stats, 1),
            Some((mut sum, members)) => {
                sum.merge(stats)?;
                (sum, members + 1)
            }
        };
        if members == FAN_IN {
            return self.push_at(level + 1, sum);
        }
        self.levels[level] = Some((sum, members));
        Ok(())
    }

    /// The sum of all; `None` if there was nothing.
    pub fn finish(mut self) -> Result<Option<PartialStats>> {
        let mut level = 0;
        while level + 1 < self.levels.len() {
            if let Some((sum, _)) = self.levels[level].take() {
                self.push_at(level + 1, sum)?;
            }
            level += 1;
        }
        Ok(self.levels.pop().flatten().map(|(sum, _)| sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(partition: usize) -> PartialStats {
        let mut stats = PartialStats::new(3, partition, 10);
        stats.add("a", Mat::from_fn(1, 1, |_, _| 0.1 + partition as f64 / 3.0));
        stats
    }

    /// A cluster merges level by level.
    fn by_levels(mut answers: Vec<PartialStats>) -> PartialStats {
        while answers.len() > 1 {
            let groups = answers.chunks(FAN_IN).map(|group| {
                let mut group = group.iter().cloned();
                let first = group.next().unwrap();
                group.fold(first, |mut sum, next| {
                    sum.merge(next).unwrap();
                    sum
                })
            });
            answers = groups.collect();
        }
        answers.remove(0)
    }

    #[test]
    fn stream_and_tree_give_the_same_bits() {
        for n in [1, 2, 15, 16, 17, 32, 33, 256, 257, 300] {
            let mut merger = Merger::default();
            (0..n).for_each(|p| merger.push(answer(p)).unwrap());
            let streamed = merger.finish().unwrap().unwrap();
            assert_eq!(streamed, by_levels((0..n).map(answer).collect()), "{n}");
            assert_eq!((streamed.first, streamed.count, streamed.samples), (0, n, 10 * n as u64));
        }
        assert!(Merger::default().finish().unwrap().is_none());
    }

    #[test]
    fn gaps_other_rounds_and_other_shapes_are_refused() {
        assert!(answer(0).merge(answer(2)).unwrap_err().to_string().contains("out of order"));
        let mut other = answer(1);
        other.round = 4;
        assert!(answer(0).merge(other).is_err());
        let mut wide = PartialStats::new(3, 1, 1);
        wide.add("a", Mat::zeros(1, 2));
        assert!(answer(0).merge(wide).is_err());
    }

    #[test]
    fn bytes_come_back_and_damage_is_an_error() {
        let bytes = answer(5).to_bytes().unwrap();
        assert_eq!(PartialStats::from_bytes(&bytes).unwrap(), answer(5));
        for cut in 0..bytes.len() {
            assert!(PartialStats::from_bytes(&bytes[..cut]).is_err());
        }
    }
}
