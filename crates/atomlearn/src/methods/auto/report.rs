//! What leave-one-out says about data and model, for people.

use super::candidates::Choice;
use crate::classifier::best_class;
use faer::Mat;
use serde::{Deserialize, Serialize};

/// How JSON names this report.
const SCHEMA: &str = "atomlearn.auto/1";
/// Most suspicious labels in the report; [`super::AutoModel::suspicious`] has them all.
const MOST_SUSPICIOUS: usize = 50;
/// Quantile of the normal distribution for intervals of 95 %.
const Z95: f64 = 1.959_963_984_540_054;

/// What training found out, all from training data alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AutoReport {
    /// `atomlearn.auto/1`.
    pub schema: String,
    /// The leave-one-out estimate; none if every class has a single sample.
    pub loo: Option<LooEstimate>,
    /// The readings that are fused, in the order in which they were chosen.
    pub chosen: Vec<ChosenReading>,
    /// Samples whose label leave-one-out disagrees with, the least likely label first; at most fifty.
    pub suspicious: Vec<Suspicious>,
    /// What a user should know about the data.
    pub warnings: Vec<String>,
}

/// How well left-out samples were told; shares and means are weighted if the samples have weights, counts are not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LooEstimate {
    /// Samples that were judged.
    pub samples: usize,
    /// Share of them whose class was found.
    pub accuracy: f64,
    /// Wilson's interval for it.
    pub ci95: [f64; 2],
    /// Mean of minus the logarithm of the probability of the right class.
    pub log_loss: f64,
    /// Share of the largest class: what always naming it would give.
    pub majority: f64,
    /// Every class.
    pub per_class: Vec<ClassRecall>,
    /// Samples of class (row) that were taken for class (column).
    pub confusion: Vec<Vec<usize>>,
}

/// How well one class was told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassRecall {
    /// Its name.
    pub class: String,
    /// Share of its samples that were found; none if none was judged.
    pub recall: Option<f64>,
    /// Samples of the class that were judged.
    pub n: usize,
}

/// One reading of the fusion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChosenReading {
    /// `residual`, `ridge` or `discriminant`.
    pub reading: String,
    /// `unit`, `standard` or `given`.
    pub view: String,
    /// `linear` or `rbf`.
    pub kernel: String,
    /// Width of the Gaussian kernel.
    pub gamma: Option<f64>,
    /// The ridge.
    pub kappa: f64,
    /// Weight in the softmax.
    pub weight: f64,
}

/// A training sample and its label in the light of all others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suspicious {
    /// Its position in the training data, from 0.
    pub sample: usize,
    /// The label it carries.
    pub label: String,
    /// Probability of that label.
    pub proba: f64,
    /// The most probable label.
    pub suggested: String,
}

/// Probabilities of samples that were left out in turn.
pub(super) struct LeftOutProbabilities {
    pub log_probabilities: Mat<f64>,
    /// Position of each sample in the training data.
    pub positions: Vec<usize>,
    pub targets: Vec<usize>,
    heard: Vec<bool>,
    found: Vec<usize>,
    /// Of the samples; ones where they have none.
    weights: Vec<f64>,
}

impl LeftOutProbabilities {
    /// `judged` has position, class and say of each sample in its rows.
    pub fn new(log_probabilities: Mat<f64>, judged: &Mat<f64>, weights: Option<Vec<f64>>) -> Self {
        let weights = weights.unwrap_or_else(|| vec![1.0; judged.ncols()]);
        let row = |r: usize| judged.row(r).iter().map(|&v| v as usize);
        let heard = row(2).map(|say| say == 1).collect();
        let found = best_class(&log_probabilities);
        LeftOutProbabilities {
            positions: row(0).collect(),
            targets: row(1).collect(),
            heard,
            found,
            weights,
            log_probabilities,
        }
    }

    fn judged(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.targets.len()).filter(|&i| self.heard[i])
    }

    pub fn suspicious(&self, classes: &[String], most: usize) -> Vec<Suspicious> {
        let own = |i: usize| self.log_probabilities[(self.targets[i], i)];
        let mut order: Vec<usize> = self.judged().collect();
        order.sort_by(|&a, &b| own(a).total_cmp(&own(b)).then(self.positions[a].cmp(&self.positions[b])));
        let suspicious = |&i: &usize| Suspicious {
            sample: self.positions[i],
            label: classes[self.targets[i]].clone(),
            proba: own(i).exp(),
            suggested: classes[self.found[i]].clone(),
        };
        order.iter().take(most).map(suspicious).collect()
    }

    fn estimate(&self, classes: &[String]) -> Option<LooEstimate> {
        let n = self.judged().count();
        if n == 0 {
            return None;
        }
        let mut confusion = vec![vec![0; classes.len()]; classes.len()];
        self.judged().for_each(|i| confusion[self.targets[i]][self.found[i]] += 1);
        let sizes: Vec<usize> = confusion.iter().map(|row| row.iter().sum()).collect();
        let weight = |counts: &dyn Fn(usize) -> bool| -> f64 {
            self.judged().filter(|&i| counts(i)).map(|i| self.weights[i]).sum()
        };
        let all = weight(&|_| true);
        let squares: f64 = self.judged().map(|i| self.weights[i] * self.weights[i]).sum();
        let accuracy = weight(&|i| self.found[i] == self.targets[i]) / all;
        let largest = (0..classes.len()).map(|c| weight(&|i| self.targets[i] == c)).fold(0.0, f64::max);
        let per_class = classes.iter().enumerate().map(|(c, name)| ClassRecall {
            class: name.clone(),
            recall: (sizes[c] > 0)
                .then(|| weight(&|i| self.targets[i] == c && self.found[i] == c) / weight(&|i| self.targets[i] == c)),
            n: sizes[c],
        });
        let log_loss: f64 =
            self.judged().map(|i| -self.weights[i] * self.log_probabilities[(self.targets[i], i)]).sum();
        Some(LooEstimate {
            samples: n,
            accuracy,
            ci95: wilson(accuracy, all * all / squares),
            log_loss: log_loss / all,
            majority: largest / all,
            per_class: per_class.collect(),
            confusion,
        })
    }
}

impl AutoReport {
    pub(super) fn new(
        classes: &[String],
        chosen: &[Choice],
        left_out: &LeftOutProbabilities,
        warnings: Vec<String>,
    ) -> Self {
        let reading = |choice: &Choice| ChosenReading {
            reading: choice.reading.name().into(),
            view: choice.view.name(),
            kernel: if choice.gamma > 0.0 { "rbf" } else { "linear" }.into(),
            gamma: (choice.gamma > 0.0).then_some(choice.gamma),
            kappa: choice.kappa,
            weight: choice.weight,
        };
        let disagrees = |entry: &Suspicious| entry.label != entry.suggested;
        let suspicious = left_out.suspicious(classes, usize::MAX).into_iter().filter(disagrees);
        AutoReport {
            schema: SCHEMA.into(),
            loo: left_out.estimate(classes),
            chosen: chosen.iter().map(reading).collect(),
            suspicious: suspicious.take(MOST_SUSPICIOUS).collect(),
            warnings,
        }
    }
}

/// Wilson's interval of a share of `n` samples; of samples with weights, `n` is Kish's effective number of them.
fn wilson(share: f64, n: f64) -> [f64; 2] {
    let z2 = Z95 * Z95;
    let center = share + z2 / (2.0 * n);
    let half = Z95 * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    [(center - half) / (1.0 + z2 / n), (center + half) / (1.0 + z2 / n)].map(|v| v.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_counts_what_was_judged() {
        let p = faer::mat![[0.7f64, 0.2, 0.4, 0.1], [0.2, 0.5, 0.5, 0.8], [0.1, 0.3, 0.1, 0.1]];
        let logs = Mat::from_fn(3, 4, |c, i| p[(c, i)].ln());
        let judged = faer::mat![[5.0, 3.0, 8.0, 1.0], [0.0, 0.0, 1.0, 2.0], [1.0, 1.0, 1.0, 0.0]];
        let classes = ["a", "b", "c"].map(String::from);
        let left_out = LeftOutProbabilities::new(logs, &judged, None);
        let report = AutoReport::new(&classes, &[], &left_out, Vec::new());
        let loo = report.loo.unwrap();
        assert_eq!((loo.samples, loo.accuracy, loo.majority), (3, 2.0 / 3.0, 2.0 / 3.0));
        assert_eq!(loo.confusion, [[1, 1, 0], [0, 1, 0], [0, 0, 0]]);
        assert_eq!((loo.per_class[0].recall, loo.per_class[2].recall), (Some(0.5), None));
        assert!((loo.log_loss + (0.7f64.ln() + 0.2f64.ln() + 0.5f64.ln()) / 3.0).abs() < 1e-15);
        assert_eq!(report.suspicious.len(), 1);
        let first = &report.suspicious[0];
        assert_eq!((first.sample, &first.label[..], &first.suggested[..]), (3, "a", "b"));
        assert_eq!(left_out.suspicious(&classes, 9).iter().map(|s| s.sample).collect::<Vec<_>>(), [3, 8, 5]);
    }

    #[test]
    fn wilson_intervals_stay_within_zero_and_one() {
        assert!(
            (wilson(1.0, 10.0)[1] - 1.0).abs() < 1e-12 && wilson(1.0, 10.0)[0] < 0.9 && wilson(0.0, 10.0)[0] < 1e-12
        );
        // Brown, Cai, DasGupta (2001): 5 of 10 gives 0.237 to 0.763.
        let [low, high] = wilson(0.5, 10.0);
        assert!((low - 0.2366).abs() < 1e-3 && (high - 0.7634).abs() < 1e-3);
    }
}
