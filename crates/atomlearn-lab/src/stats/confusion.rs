//! Counting right and wrong predictions.

use serde::{Deserialize, Serialize};

/// Share of equal entries; 0 of nothing.
pub fn accuracy(truth: &[usize], predictions: &[usize]) -> f64 {
    let right = truth.iter().zip(predictions).filter(|(t, p)| t == p).count();
    if truth.is_empty() { 0.0 } else { right as f64 / truth.len() as f64 }
}

/// How often samples of one class were taken for another: row = true class, column = predicted class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Confusion {
    /// Counts.
    pub counts: Vec<Vec<usize>>,
}

impl Confusion {
    /// No counts yet.
    pub fn new(n_classes: usize) -> Self {
        Confusion { counts: vec![vec![0; n_classes]; n_classes] }
    }

    /// Counts these predictions; both lists hold classes below the number given to [`Confusion::new`].
    pub fn add(&mut self, truth: &[usize], predictions: &[usize]) {
        truth.iter().zip(predictions).for_each(|(&t, &p)| self.counts[t][p] += 1);
    }

    /// Samples of class `c`.
    pub fn samples(&self, c: usize) -> usize {
        self.counts[c].iter().sum()
    }

    /// Share of the samples of class `c` that were found; `None` if there are none.
    pub fn recall(&self, c: usize) -> Option<f64> {
        let samples = self.samples(c);
        (samples > 0).then(|| self.counts[c][c] as f64 / samples as f64)
    }

    /// The most frequent confusions, largest first: (true class, predicted class, count).
    pub fn worst(&self, most: usize) -> Vec<(usize, usize, usize)> {
        let mut pairs: Vec<(usize, usize, usize)> = Vec::new();
        for (t, row) in self.counts.iter().enumerate() {
            pairs.extend(row.iter().enumerate().filter(|&(p, &n)| p != t && n > 0).map(|(p, &n)| (t, p, n)));
        }
        pairs.sort_by_key(|&(t, p, n)| (std::cmp::Reverse(n), t, p));
        pairs.truncate(most);
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_hand() {
        let (truth, predictions) = ([0, 0, 0, 1, 1], [0, 1, 1, 1, 0]);
        let mut confusion = Confusion::new(3);
        confusion.add(&truth, &predictions);
        assert_eq!(confusion.counts, [[1, 2, 0], [1, 1, 0], [0, 0, 0]]);
        assert_eq!((confusion.recall(0), confusion.recall(2)), (Some(1.0 / 3.0), None));
        assert_eq!(confusion.worst(1), [(0, 1, 2)]);
        assert_eq!(accuracy(&truth, &predictions), 0.4);
    }
}
