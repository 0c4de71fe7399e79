//! What accuracy alone does not tell: measures per class, of probabilities, and of two classes.

use crate::stats::confusion::Confusion;
use atomlearn::MatRef;
use serde::{Deserialize, Serialize};

/// Bins of the calibration error.
pub const BINS: usize = 15;

/// What results are ranked and parameters are chosen by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Share of samples that were right.
    #[default]
    Accuracy,
    /// Mean recall of the classes.
    BalancedAccuracy,
    /// Mean F1 of the classes.
    MacroF1,
}

impl Metric {
    /// True for the one that is used unless another is asked for.
    pub fn is_default(&self) -> bool {
        *self == Metric::default()
    }

    /// What people call it.
    pub fn words(self) -> &'static str {
        match self {
            Metric::Accuracy => "accuracy",
            Metric::BalancedAccuracy => "balanced accuracy",
            Metric::MacroF1 => "macro F1",
        }
    }

    /// Its value for these predictions of `n_classes` classes.
    pub fn value(self, truth: &[usize], predictions: &[usize], n_classes: usize) -> f64 {
        let mut confusion = Confusion::new(n_classes);
        confusion.add(truth, predictions);
        match self {
            Metric::Accuracy => crate::stats::confusion::accuracy(truth, predictions),
            Metric::BalancedAccuracy => balanced_accuracy(&confusion),
            Metric::MacroF1 => macro_f1(&confusion),
        }
    }
}

/// How well one class was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassMetrics {
    /// Samples of the class.
    pub samples: usize,
    /// Share of what was taken for the class that belongs to it; null if nothing was.
    pub precision: Option<f64>,
    /// Share of the class that was found; null without samples.
    pub recall: Option<f64>,
    /// Harmonic mean of the two; 0 if nothing of the class was found, null without samples.
    pub f1: Option<f64>,
}

/// Precision, recall and F1 of every class.
pub fn per_class(confusion: &Confusion) -> Vec<ClassMetrics> {
    let class = |c: usize| {
        let (samples, right) = (confusion.samples(c), confusion.counts[c][c]);
        let found: usize = confusion.counts.iter().map(|row| row[c]).sum();
        ClassMetrics {
            samples,
            precision: (found > 0).then(|| right as f64 / found as f64),
            recall: confusion.recall(c),
            f1: (samples > 0).then(|| 2.0 * right as f64 / (samples + found) as f64),
        }
    };
    (0..confusion.counts.len()).map(class).collect()
}

/// Mean recall of the classes that have test samples: what accuracy would be if they were equally frequent.
pub fn balanced_accuracy(confusion: &Confusion) -> f64 {
    mean_of(per_class(confusion).iter().filter_map(|class| class.recall))
}

/// Mean F1 of the classes that have test samples.
pub fn macro_f1(confusion: &Confusion) -> f64 {
    mean_of(per_class(confusion).iter().filter_map(|class| class.f1))
}

fn mean_of(values: impl Iterator<Item = f64>) -> f64 {
    crate::stats::statistics::mean(&values.collect::<Vec<_>>())
}

/// Measures of probabilities, classes x samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbabilityMetrics {
    /// Mean of `-ln p` of the right class, with p at least 1e-15.
    pub log_loss: f64,
    /// Expected calibration error: mean gap between the probability of the predicted class and how often it was right,
    /// over 15 bins of equal width.
    pub ece: f64,
    /// Those bins, from the least probability to the greatest, empty ones left out; records of older versions have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bins: Vec<CalibrationBin>,
}

/// The samples whose predicted class had about the same probability.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CalibrationBin {
    /// Which of the bins.
    pub bin: usize,
    /// Number of samples.
    pub samples: usize,
    /// Sum of the probabilities of their predicted classes.
    pub confidence: f64,
    /// How many of them were right.
    pub right: usize,
}

impl CalibrationBin {
    /// False for what cannot be drawn.
    pub fn is_sound(&self, most: usize) -> bool {
        self.bin < BINS
            && (1..=most).contains(&self.samples)
            && self.right <= self.samples
            && (0.0..=self.samples as f64 * (1.0 + 1e-9)).contains(&self.confidence)
    }
}

/// How good these probabilities are.
pub fn of_probabilities(truth: &[usize], probabilities: MatRef<'_, f64>) -> ProbabilityMetrics {
    let n = truth.len() as f64;
    let log_loss = truth.iter().enumerate().map(|(i, &t)| -probabilities[(t, i)].max(1e-15).ln()).sum::<f64>() / n;
    let mut bins: Vec<CalibrationBin> =
        (0..BINS).map(|bin| CalibrationBin { bin, samples: 0, confidence: 0.0, right: 0 }).collect();
    for (i, &t) in truth.iter().enumerate() {
        let column = probabilities.col(i);
        let (found, confidence) =
            column.iter().enumerate().fold((0, f64::MIN), |best, (c, &p)| if p > best.1 { (c, p) } else { best });
        let bin = &mut bins[((confidence * BINS as f64) as usize).min(BINS - 1)];
        bin.samples += 1;
        bin.confidence += confidence;
        bin.right += usize::from(found == t);
    }
    bins.retain(|bin| bin.samples > 0);
    let ece = bins.iter().map(|bin| (bin.confidence - bin.right as f64).abs()).sum::<f64>() / n;
    ProbabilityMetrics { log_loss, ece, bins }
}

/// Area under the ROC curve of two classes: how often a sample of the second class scores above one of the first, ties
/// counting half. `None` unless both have samples.
pub fn auc(truth: &[usize], scores: MatRef<'_, f64>) -> Option<f64> {
    if scores.nrows() != 2 {
        return None;
    }
    let mut ranked: Vec<(f64, usize)> =
        truth.iter().enumerate().map(|(i, &t)| (scores[(1, i)] - scores[(0, i)], t)).collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    let positives = truth.iter().filter(|&&t| t == 1).count();
    let negatives = truth.len() - positives;
    if positives == 0 || negatives == 0 {
        return None;
    }
    let mut rank_sum = 0.0;
    let mut start = 0;
    for tied in ranked.chunk_by(|a, b| a.0 == b.0) {
        let mean_rank = start as f64 + (tied.len() + 1) as f64 / 2.0;
        rank_sum += mean_rank * tied.iter().filter(|(_, t)| *t == 1).count() as f64;
        start += tied.len();
    }
    let (p, n) = (positives as f64, negatives as f64);
    Some((rank_sum - p * (p + 1.0) / 2.0) / (p * n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use atomlearn::Mat;

    #[test]
    fn classes_by_hand() {
        let mut confusion = Confusion::new(3);
        // Class 0: 3 of 4 found; class 1: 1 of 2; class 2 has no samples, one was taken for it.
        confusion.add(&[0, 0, 0, 0, 1, 1], &[0, 0, 0, 1, 1, 2]);
        let found = per_class(&confusion);
        assert_eq!((found[0].precision, found[0].recall, found[0].f1), (Some(1.0), Some(0.75), Some(6.0 / 7.0)));
        assert_eq!((found[1].precision, found[1].recall, found[1].f1), (Some(0.5), Some(0.5), Some(0.5)));
        assert_eq!((found[2].precision, found[2].recall, found[2].f1), (Some(0.0), None, None));
        assert_eq!(balanced_accuracy(&confusion), 0.625);
        assert!((macro_f1(&confusion) - (6.0 / 7.0 + 0.5) / 2.0).abs() < 1e-15);
    }

    #[test]
    fn auc_counts_pairs() {
        let scores = [0.1, 0.4, 0.4, 0.8, 0.2, 0.4];
        let truth = [0, 0, 1, 1, 1, 0];
        let pairs = truth.iter().enumerate().flat_map(|(i, &a)| {
            truth.iter().enumerate().filter(move |&(_, &b)| a == 1 && b == 0).map(move |(j, _)| (i, j))
        });
        let wins: Vec<f64> = pairs
            .map(|(i, j)| if scores[i] > scores[j] { 1.0 } else { f64::from(u8::from(scores[i] == scores[j])) / 2.0 })
            .collect();
        let matrix = Mat::from_fn(2, 6, |c, i| if c == 1 { scores[i] } else { 0.0 });
        let expected = wins.iter().sum::<f64>() / wins.len() as f64;
        assert!((auc(&truth, matrix.as_ref()).unwrap() - expected).abs() < 1e-15);
        assert_eq!(auc(&[1; 6], matrix.as_ref()), None);
    }

    #[test]
    fn probabilities_that_are_right_as_often_as_they_say_have_no_calibration_error() {
        let right = [true, true, true, false];
        let truth: Vec<usize> = right.iter().map(|&r| usize::from(!r)).collect();
        let honest = Mat::from_fn(2, 4, |c, _| if c == 0 { 0.75 } else { 0.25 });
        let found = of_probabilities(&truth, honest.as_ref());
        assert!(found.ece < 1e-15);
        assert!((found.log_loss + (3.0 * 0.75f64.ln() + 0.25f64.ln()) / 4.0).abs() < 1e-15);
        let boastful = Mat::from_fn(2, 4, |c, _| if c == 0 { 1.0 } else { 0.0 });
        assert!((of_probabilities(&truth, boastful.as_ref()).ece - 0.25).abs() < 1e-15);
    }
}
