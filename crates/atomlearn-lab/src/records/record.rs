//! One record per method and split, appended to a file of JSON lines as soon as it is known.

use crate::protocol::data::{DataInfo, Grouping, digest_text};
use crate::protocol::grid::{Axis, Spec};
use crate::records::diagnostics::{self, Inside};
use crate::records::jsonl;
use crate::records::provenance::Provenance;
use crate::records::times::Times;
use crate::stats::confusion::accuracy;
use crate::stats::metrics::{self, Metric, ProbabilityMetrics};
use atomlearn::Result;
use atomlearn::observe::TraceStep;
use atomlearn::registry::Values;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::Path;

/// Schema of a record.
pub const SCHEMA: &str = "atomlearn.record/1";

/// How an experiment was laid out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protocol {
    /// Training samples of every class, where that is one number.
    pub train_per_class: Option<usize>,
    /// Of groups, which train or test as a whole: training samples of every class at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub train_at_least: Option<usize>,
    /// The groups that are in the training or the test part as a whole, where the data have groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Grouping>,
    /// Number of splits; with `folds`, how often the data were cut into as many.
    pub repeats: usize,
    /// Folds of a stratified cross-validation, where the splits are that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folds: Option<usize>,
    /// Seed of the splits, where they were drawn here.
    pub seed: Option<u64>,
    /// Preprocessing of all methods that have none of their own.
    pub prep: String,
    /// The test by which results are compared: a way of reading records, which may be set after they were made.
    #[serde(default, skip_serializing_if = "PairedTest::is_default")]
    pub paired_test: PairedTest,
    /// What results are ranked by: likewise.
    #[serde(default, skip_serializing_if = "Metric::is_default")]
    pub metric: Metric,
}

/// How two results over the same splits are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PairedTest {
    /// Samples and splits both vary: [`crate::stats::crossed`]. McNemar's exact test where there is one split.
    #[default]
    Crossed,
    /// The corrected resampled t-test of Nadeau and Bengio over the accuracies of the splits.
    CorrectedResampledT,
}

impl PairedTest {
    fn is_default(&self) -> bool {
        *self == PairedTest::default()
    }
}

/// What one decision rule made of the test samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleOutcome {
    /// The rule.
    pub rule: String,
    /// Share of test samples that were right.
    pub accuracy: f64,
    /// Predicted class of every test sample.
    pub predictions: Vec<usize>,
    /// Area under the ROC curve, for two classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auc: Option<f64>,
    /// Measures of the probabilities, for methods that have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<ProbabilityMetrics>,
}

/// How the parameters of a run were chosen within its training part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// What was tried.
    pub grid: Vec<Axis>,
    /// Number of folds.
    pub folds: usize,
    /// Seed of the folds.
    pub seed: u64,
    /// The chosen values.
    pub chosen: Values,
    /// Share of right validation samples with them.
    pub accuracy: f64,
    /// Its standard error over folds.
    pub std_error: f64,
    /// Points of the grid.
    pub points: usize,
    /// Points that failed.
    pub failed: usize,
    /// Wall time of the choice.
    pub seconds: f64,
    /// CPU time of the choice, all threads.
    pub cpu_seconds: f64,
}

/// A test sample that the rule in use got wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mistake {
    /// Its place in the data.
    pub sample: usize,
    /// Its class.
    pub truth: usize,
    /// The class it was given.
    pub found: usize,
    /// How far the score of that class lies above the score of the right one.
    pub margin: f64,
    /// What the sample is called, where it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A sample whose label the others contradict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suspicion {
    /// Its place in the data.
    pub sample: usize,
    /// What it is called, where it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The label it carries.
    pub label: String,
    /// Probability of that label by a model that was trained without the sample.
    pub proba: f64,
    /// The most probable label.
    pub suggested: String,
}

/// One method trained and tested on one split.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: String,
    /// Digest of everything that determines the outcome; see [`key`].
    pub key: String,
    /// Method.
    pub method: String,
    /// All its parameters.
    pub params: Values,
    /// What tells it from other entries of the same method, where there are such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Its own preprocessing, where it differs from the protocol's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prep: Option<String>,
    /// The rule its parameters choose.
    pub rule: String,
    /// Place of the split in the experiment, from 0.
    pub split: usize,
    /// Digest of the split.
    pub split_sha256: String,
    /// Number of training samples.
    pub n_train: usize,
    /// The data.
    pub data: DataInfo,
    /// The protocol.
    pub protocol: Protocol,
    /// Class names in class order.
    pub classes: Vec<String>,
    /// Class of every test sample.
    pub truth: Vec<usize>,
    /// Place of every test sample in the data, by which splits that test the same samples are known; records of older
    /// versions have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tested: Vec<usize>,
    /// Group of every test sample, where the data have groups: their samples are not independent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<usize>,
    /// Share of the test samples that belong to the most frequent class of the training part: what guessing gets. Records
    /// of older versions do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub majority: Option<f64>,
    /// One entry per decision rule of the model.
    pub rules: Vec<RuleOutcome>,
    /// How long it took.
    #[serde(flatten)]
    pub times: Times,
    /// Iterations, for methods that iterate.
    pub n_iter: Option<usize>,
    /// Objective and change after every iteration.
    pub trace: Vec<TraceStep>,
    /// What training warned about.
    pub warnings: Vec<String>,
    /// That features are in very different units and the preprocessing leaves them so, where that is the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scales: Option<String>,
    /// What was seen inside the run, where someone looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<Inside>,
    /// The test samples that were wrong with the greatest confidence, where someone looked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<Mistake>,
    /// Version, machine and time.
    pub provenance: Provenance,
    /// What training chose for parameters that leave it open.
    #[serde(default, skip_serializing_if = "Values::is_empty")]
    pub chosen: Values,
    /// How the parameters were chosen, where they were tuned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuned: Option<Choice>,
    /// The parameter whose effect is studied, in a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<String>,
    /// Share of the split's training part that trained, in a learning curve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<f64>,
    /// What was run, where it is none of this toolkit's methods: a command, or a Python object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<String>,
    /// Training samples whose label `auto` doubts, the least likely label first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspicious: Vec<Suspicion>,
}

impl Record {
    /// What people call the entry: its method and what tells it from others of the same method.
    pub fn name(&self) -> String {
        entry_name(&self.method, self.variant.as_deref())
    }
}

/// A method and what tells the entry from others of the same method.
pub(crate) fn entry_name(method: &str, variant: Option<&str>) -> String {
    variant.map_or_else(|| method.to_string(), |variant| format!("{method} ({variant})"))
}

#[cfg(test)]
impl Record {
    /// What must not depend on when and how fast something was run.
    pub(crate) fn without_times(mut self) -> Self {
        self.times = Times::default();
        if let Some(choice) = &mut self.tuned {
            (choice.seconds, choice.cpu_seconds) = (0.0, 0.0);
        }
        self.provenance.time.clear();
        self
    }
}

/// Digest of method, parameters, preprocessing, split and data: equal keys mean equal results.
///
/// A tuned method is determined by its grid and folds in place of the parameters that they choose.
pub fn key(
    method: &str,
    params: &Values,
    tune: Option<&Spec>,
    prep: &str,
    split_sha256: &str,
    data_sha256: &str,
) -> String {
    let tune = tune.map_or(String::new(), |spec| format!("\n{spec:?}"));
    digest_text(&format!("{method}\n{}\n{prep}\n{split_sha256}\n{data_sha256}{tune}", sorted_text(params)))
}

/// Parameters in order of their names.
pub(crate) fn sorted_text(params: &Values) -> String {
    let mut sorted: Vec<(&String, String)> = params.iter().map(|(name, value)| (name, value.to_string())).collect();
    sorted.sort();
    format!("{sorted:?}")
}

/// Reads a file of records; see [`jsonl::read`].
pub fn read(path: &Path) -> Result<Vec<Record>> {
    jsonl::read(path, checked_key)
}

/// The key of a record, or why the record is invalid.
pub fn checked_key(record: &Record) -> Result<String, String> {
    check(record).map(|()| record.key.clone())
}

/// Beyond these nobody reads a page, and its confusion matrices would fill the memory.
const MOST_CLASSES: usize = 2000;
const MOST_RULES: usize = 16;
/// Mistakes that are kept of a run.
pub const MOST_MISTAKES: usize = 12;
/// Suspicious labels that are kept of a run.
pub const MOST_SUSPICIOUS: usize = 50;

/// Records may come from anywhere: everything that is used as an index is checked, and accuracies are counted again.
fn check(record: &Record) -> Result<(), String> {
    if record.schema != SCHEMA {
        return Err(format!("schema `{}` where `{SCHEMA}` is needed", record.schema));
    }
    let n_classes = record.classes.len();
    if n_classes > MOST_CLASSES || record.rules.len() > MOST_RULES {
        return Err(format!(
            "{n_classes} classes and {} rules are more than {MOST_CLASSES} and {MOST_RULES}",
            record.rules.len()
        ));
    }
    if !record.times.all().iter().all(|time| (0.0..1e9).contains(time)) {
        return Err("a time is negative, or more than thirty years".into());
    }
    let valid = |list: &[usize]| list.len() == record.truth.len() && list.iter().all(|&c| c < n_classes);
    if record.truth.is_empty() || !valid(&record.truth) || record.rules.is_empty() || record.n_train == 0 {
        return Err("invalid record: no samples, or a class index out of range".into());
    }
    let places: HashSet<usize> = record.tested.iter().copied().filter(|&i| i < record.data.samples).collect();
    if !record.tested.is_empty() && places.len() != record.truth.len() {
        return Err("the places of the test samples are not as many different samples of the data".into());
    }
    if !record.groups.is_empty() && record.groups.len() != record.truth.len() {
        return Err("there is not one group for every test sample".into());
    }
    if record.curve.is_some_and(|share| !(share > 0.0 && share <= 1.0)) {
        return Err("the share of a learning curve is not above 0 and at most 1".into());
    }
    if !record.majority.iter().all(|share| (0.0..=1.0).contains(share)) {
        return Err("the share of the most frequent class is not between 0 and 1".into());
    }
    for outcome in &record.rules {
        let shares = outcome.auc.into_iter().chain(outcome.probability.as_ref().map(|measures| measures.ece));
        let losses = outcome.probability.as_ref().map(|measures| measures.log_loss);
        if !shares.into_iter().all(|share| (0.0..=1.0).contains(&share)) || !losses.iter().all(|loss| *loss >= 0.0) {
            return Err(format!("a measure of rule `{}` is out of its range", outcome.rule));
        }
        let bins = outcome.probability.iter().flat_map(|measures| &measures.bins);
        if outcome.probability.as_ref().is_some_and(|measures| measures.bins.len() > metrics::BINS)
            || !bins.into_iter().all(|bin| bin.is_sound(record.truth.len()))
        {
            return Err(format!(
                "invalid calibration of rule `{}`: too many bins, or a bin out of range",
                outcome.rule
            ));
        }
        if !valid(&outcome.predictions) {
            return Err(format!("the predictions of rule `{}` do not fit the test samples", outcome.rule));
        }
        if accuracy(&record.truth, &outcome.predictions) != outcome.accuracy {
            return Err(format!("the accuracy of rule `{}` is not that of its predictions", outcome.rule));
        }
    }
    let known = |mistake: &Mistake| {
        mistake.truth < n_classes && mistake.found < n_classes && mistake.sample < record.data.samples
    };
    if record.mistakes.len() > MOST_MISTAKES || !record.mistakes.iter().all(known) {
        return Err("invalid mistakes: too many, or a class or sample out of range".into());
    }
    let doubted = |doubt: &Suspicion| doubt.sample < record.data.samples && (0.0..=1.0).contains(&doubt.proba);
    if record.suspicious.len() > MOST_SUSPICIOUS || !record.suspicious.iter().all(doubted) {
        return Err("invalid suspicious labels: too many, or a sample or probability out of range".into());
    }
    record.inside.as_ref().map_or(Ok(()), |seen| diagnostics::check(seen, record))
}
