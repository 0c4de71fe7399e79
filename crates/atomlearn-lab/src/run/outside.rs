//! Learners that are no methods of this toolkit: programs, estimators of other packages, a user's own.

use atomlearn::{Mat, MatRef, Result};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// What the one decision rule of such a learner is called.
pub const RULE: &str = "predict";

/// Samples to learn from, and samples to predict.
pub struct Task<'a> {
    /// Training samples, features x samples.
    pub train: MatRef<'a, f64>,
    /// Their classes.
    pub train_targets: Vec<usize>,
    /// Test samples, features x samples.
    pub test: MatRef<'a, f64>,
    /// Class names in class order.
    pub classes: &'a [String],
    /// Digest of the split.
    pub split_sha256: &'a str,
}

/// What a learner made of a task.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Class of every test sample.
    pub predictions: Vec<usize>,
    /// Scores, classes x test samples, if it has any.
    pub scores: Option<Mat<f64>>,
    /// The scores are probabilities.
    pub are_probabilities: bool,
    /// Wall time of training; with testing, where the two cannot be told apart.
    pub train_seconds: f64,
    /// Wall time of testing.
    pub test_seconds: f64,
    /// What it warned about.
    pub warnings: Vec<String>,
}

impl Answer {
    /// Refuses what does not answer the task.
    pub fn check(&self, task: &Task<'_>) -> Result<(), String> {
        let (n_classes, n) = (task.classes.len(), task.test.ncols());
        if self.predictions.len() != n {
            return Err(format!("{} predictions for {n} test samples", self.predictions.len()));
        }
        if let Some(class) = self.predictions.iter().find(|&&class| class >= n_classes) {
            return Err(format!("class number {class} is predicted, but there are {n_classes} classes"));
        }
        let Some(scores) = &self.scores else { return Ok(()) };
        if (scores.nrows(), scores.ncols()) != (n_classes, n) {
            return Err(format!(
                "scores of {} x {} for {n_classes} classes and {n} samples",
                scores.nrows(),
                scores.ncols()
            ));
        }
        let sound = |value: &f64| value.is_finite() && (!self.are_probabilities || (0.0..=1.0 + 1e-6).contains(value));
        match (0..n).find(|&j| !scores.col(j).iter().all(sound)) {
            Some(j) if self.are_probabilities => {
                Err(format!("the probabilities of test sample {j} are not between 0 and 1"))
            }
            Some(j) => Err(format!("the scores of test sample {j} are not all finite")),
            None => Ok(()),
        }
    }
}

/// Something that learns from samples and predicts others.
pub trait Outside: Send + Sync {
    /// What records and tables call it.
    fn name(&self) -> &str;

    /// What it is, for people who read the report.
    fn description(&self) -> String;

    /// Everything that determines its answers, beyond the task.
    fn identity(&self) -> String;

    /// Learns and predicts; asks `go_on` now and then, and `Break` ends it with [`atomlearn::Error::Interrupted`].
    fn learn_and_predict(&self, task: &Task<'_>, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> Result<Answer>;
}

/// Answers that were found elsewhere on the same splits.
pub struct Known {
    /// Name.
    pub name: String,
    /// Description.
    pub description: String,
    /// By the digest of the split.
    pub answers: HashMap<String, Answer>,
}

impl Outside for Known {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> String {
        self.description.clone()
    }

    fn identity(&self) -> String {
        self.description.clone()
    }

    fn learn_and_predict(&self, task: &Task<'_>, _: &mut dyn FnMut() -> ControlFlow<()>) -> Result<Answer> {
        let known = self.answers.get(task.split_sha256).cloned();
        known.ok_or_else(|| atomlearn::Error::Data(format!("{}: no answer for this split", self.name)))
    }
}
