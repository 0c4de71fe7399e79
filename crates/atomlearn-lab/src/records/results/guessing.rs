//! What always guessing the most frequent class gets.

use crate::records::record::Record;
use crate::stats::metrics::Metric;
use crate::stats::statistics::mean;
use serde::Serialize;

/// What guessing the most frequent class of the training part gets, on each split.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Majority {
    /// Accuracy.
    pub accuracy: Vec<f64>,
    /// Mean recall of the classes: one over the number of classes that are tested, since one of them is always found.
    pub balanced_accuracy: Vec<f64>,
    /// Mean F1 of the classes.
    pub macro_f1: Vec<f64>,
    /// Mean accuracy.
    pub mean: f64,
}

impl Majority {
    /// Its mean by this measure.
    pub fn score(&self, metric: Metric) -> f64 {
        match metric {
            Metric::Accuracy => self.mean,
            Metric::BalancedAccuracy => mean(&self.balanced_accuracy),
            Metric::MacroF1 => mean(&self.macro_f1),
        }
    }
}

/// What guessing gets on every split, each split once.
pub(super) fn majority(records: &[&Record]) -> Option<Majority> {
    let mut splits: Vec<&Record> = Vec::new();
    for &record in records {
        if !splits.iter().any(|known| known.split_sha256 == record.split_sha256) {
            splits.push(record);
        }
    }
    splits.sort_by_key(|record| (record.split, &record.split_sha256));
    let accuracy = splits.iter().map(|record| record.majority).collect::<Option<Vec<f64>>>()?;
    // Of the class that is guessed all test samples are found, and it is given to all: its recall is 1 and its precision its share.
    let per_class = |share: f64, record: &Record| {
        let mut tested = record.truth.clone();
        tested.sort_unstable();
        tested.dedup();
        let of_guessed = if share > 0.0 { [1.0, 2.0 * share / (1.0 + share)] } else { [0.0, 0.0] };
        of_guessed.map(|value| value / tested.len().max(1) as f64)
    };
    let values: Vec<[f64; 2]> = accuracy.iter().zip(&splits).map(|(&share, record)| per_class(share, record)).collect();
    let column = |k: usize| values.iter().map(|of_split| of_split[k]).collect();
    Some(Majority { mean: mean(&accuracy), balanced_accuracy: column(0), macro_f1: column(1), accuracy })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::confusion::Confusion;
    use crate::stats::metrics::{balanced_accuracy, macro_f1};

    #[test]
    fn guessing_has_the_measures_of_its_confusion_matrix() {
        // Six of class 0, which is guessed, two of class 1, none of class 2.
        let truth = vec![0, 0, 0, 0, 0, 0, 1, 1];
        let mut confusion = Confusion::new(3);
        confusion.add(&truth, &[0; 8]);
        let record = Record { truth, majority: Some(0.75), ..Record::default() };
        let found = majority(&[&record]).unwrap();
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-15, "{a} {b}");
        near(found.score(Metric::Accuracy), 0.75);
        near(found.score(Metric::BalancedAccuracy), balanced_accuracy(&confusion));
        near(found.score(Metric::MacroF1), macro_f1(&confusion));
        // The most frequent class of the training part need not be tested.
        let record = Record { majority: Some(0.0), ..record };
        assert_eq!(majority(&[&record]).unwrap().balanced_accuracy, [0.0]);
    }
}
