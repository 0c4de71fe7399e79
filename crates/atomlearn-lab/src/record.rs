//! One record per method and split, appended to a file of JSON lines as soon as it is known.

use crate::confusion::accuracy;
use crate::data::{DataInfo, digest_text};
use crate::inside::{self, Inside};
use crate::provenance::Provenance;
use atomlearn::observe::TraceStep;
use atomlearn::registry::Values;
use atomlearn::{Error, Result};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;

/// Schema of a record.
pub const SCHEMA: &str = "atomlearn.record/1";

/// How an experiment was laid out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protocol {
    /// Training samples of every class, where that is one number.
    pub train_per_class: Option<usize>,
    /// Number of splits.
    pub repeats: usize,
    /// Seed of the splits, where they were drawn here.
    pub seed: Option<u64>,
    /// Preprocessing.
    pub prep: String,
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
}

/// One method trained and tested on one split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: String,
    /// Digest of everything that determines the outcome; see [`key`].
    pub key: String,
    /// Method.
    pub method: String,
    /// All its parameters.
    pub params: Values,
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
    /// One entry per decision rule of the model.
    pub rules: Vec<RuleOutcome>,
    /// Wall time of fitting the preprocessing and of applying it to training and test samples.
    pub prep_seconds: f64,
    /// CPU time of the same.
    pub prep_cpu_seconds: f64,
    /// Wall time of training, after preprocessing.
    pub train_seconds: f64,
    /// CPU time of training, all threads.
    pub train_cpu_seconds: f64,
    /// Wall time of scoring all test samples by all rules at once, after preprocessing.
    pub test_seconds: f64,
    /// CPU time of the same.
    pub test_cpu_seconds: f64,
    /// Iterations, for methods that iterate.
    pub n_iter: Option<usize>,
    /// Objective and change after every iteration.
    pub trace: Vec<TraceStep>,
    /// What training warned about.
    pub warnings: Vec<String>,
    /// What was seen inside the run, where someone looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<Inside>,
    /// Version, machine and time.
    pub provenance: Provenance,
}

/// Digest of method, parameters, preprocessing, split and data: equal keys mean equal results.
pub fn key(method: &str, params: &Values, prep: &str, split_sha256: &str, data_sha256: &str) -> String {
    let mut sorted: Vec<(&String, String)> = params.iter().map(|(name, value)| (name, value.to_string())).collect();
    sorted.sort();
    digest_text(&format!("{method}\n{sorted:?}\n{prep}\n{split_sha256}\n{data_sha256}"))
}

/// Appends one record as one line.
pub fn append(path: &Path, record: &Record) -> Result<()> {
    let line = serde_json::to_string(record).map_err(|e| Error::format(path, e.to_string()))? + "\n";
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).map_err(Error::io(path))?;
    file.write_all(line.as_bytes()).map_err(Error::io(path))
}

/// Reads a file of records. A last line that was cut short, as by a crash, is left out; any other is an error.
///
/// Where a key occurs more than once, the last record counts.
pub fn read(path: &Path) -> Result<Vec<Record>> {
    let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
    let whole = text.ends_with('\n') || text.is_empty();
    let lines: Vec<&str> = text.lines().collect();
    let mut records: Vec<Record> = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let bad = |why: String| Error::format(path, format!("line {}: {why}", i + 1));
        let record: Record = match serde_json::from_str(line) {
            Ok(record) => record,
            Err(_) if i + 1 == lines.len() && !whole => break,
            Err(e) => return Err(bad(format!("not a record ({e})"))),
        };
        check(&record).map_err(bad)?;
        records.retain(|other| other.key != record.key);
        records.push(record);
    }
    Ok(records)
}

/// Makes a records file end after its last whole line, so that more can be appended.
pub fn mend(path: &Path) -> Result<()> {
    let bytes = std::fs::read(path).map_err(Error::io(path))?;
    let end = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |place| place + 1);
    if end < bytes.len() {
        atomlearn::file::write_atomically(path, &bytes[..end])?;
    }
    Ok(())
}

/// Beyond these a page makes no sense, and its confusion matrices would fill the memory.
const MOST_CLASSES: usize = 2000;
const MOST_RULES: usize = 16;

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
    let times = [
        record.prep_seconds,
        record.prep_cpu_seconds,
        record.train_seconds,
        record.train_cpu_seconds,
        record.test_seconds,
        record.test_cpu_seconds,
    ];
    if !times.iter().all(|time| (0.0..1e9).contains(time)) {
        return Err("a time is negative, or more than thirty years".into());
    }
    let valid = |list: &[usize]| list.len() == record.truth.len() && list.iter().all(|&c| c < n_classes);
    if record.truth.is_empty() || !valid(&record.truth) || record.rules.is_empty() || record.n_train == 0 {
        return Err("the record's classes or samples make no sense".into());
    }
    for outcome in &record.rules {
        if !valid(&outcome.predictions) {
            return Err(format!("the predictions of rule `{}` do not fit the test samples", outcome.rule));
        }
        if accuracy(&record.truth, &outcome.predictions) != outcome.accuracy {
            return Err(format!("the accuracy of rule `{}` is not that of its predictions", outcome.rule));
        }
    }
    record.inside.as_ref().map_or(Ok(()), |seen| inside::check(seen, record))
}
