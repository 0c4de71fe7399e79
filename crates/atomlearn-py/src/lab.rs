//! Experiments and the report page from Python.

use crate::arrays::owned;
use crate::error::{bad_json, check_outputs, to_python};
use crate::run::{Answer as Reply, Link, Listener, run};
use atomlearn::file::write_atomically;
use atomlearn::io::RawData;
use atomlearn::prep::PrepSpec;
use atomlearn::registry::{self, Values};
use atomlearn::{Error, Mat, Step};
use atomlearn_lab::compare::{Entry, ExperimentObserver, Plan, Run, RunError};
use atomlearn_lab::data::{LabData, digest_raw};
use atomlearn_lab::grid::Grid;
use atomlearn_lab::jsonl::Appender;
use atomlearn_lab::metrics::Metric;
use atomlearn_lab::output_kind::Kind;
use atomlearn_lab::outside::{Answer, Known};
use atomlearn_lab::record::{self, Record};
use atomlearn_lab::results::comparisons;
use atomlearn_lab::splits::{self, Split, Splits};
use atomlearn_lab::{folds, report as pages, tables, tune};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// Widest table; Python cannot know where it will be shown.
const TABLE_WIDTH: u16 = 100;

/// What is compared, and how.
#[derive(Deserialize)]
struct Settings {
    name: String,
    /// Keys and parameters of our methods, and what was found with other estimators on the same splits.
    entries: Vec<EntrySettings>,
    /// Training samples of every class; else folds.
    train_per_class: Option<usize>,
    folds: usize,
    repeats: usize,
    seed: u64,
    /// Splits of the user's, in place of all that.
    splits: Option<Vec<Split>>,
    /// Which samples belong together.
    groups: Option<Vec<String>>,
    prep: Option<String>,
    /// Folds within every training part, on which parameters are chosen.
    tune: Option<usize>,
    metric: Metric,
    /// Also train on an eighth, a quarter and half of every training part.
    learning_curve: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum EntrySettings {
    Method { key: String, params: Values },
    Other(Foreign),
}

/// What an estimator of another package predicted.
#[derive(Deserialize)]
struct Foreign {
    name: String,
    description: String,
    /// By the digest of the split.
    answers: HashMap<String, ForeignAnswer>,
}

#[derive(Deserialize)]
struct ForeignAnswer {
    labels: Vec<String>,
    /// One row per test sample, one column per class of `classes`.
    scores: Option<Vec<Vec<f64>>>,
    classes: Vec<String>,
    probabilities: bool,
    train_seconds: f64,
    test_seconds: f64,
    warnings: Vec<String>,
}

impl ForeignAnswer {
    /// The answer in the order of our classes.
    fn answer(self, classes: &[String]) -> Result<Answer, Error> {
        let unknown = |label: &String| Error::Data(format!("`{label}` is predicted, which is no class of the samples"));
        let place = |label: &String| classes.iter().position(|class| class == label).ok_or_else(|| unknown(label));
        let predictions = self.labels.iter().map(place).collect::<Result<Vec<usize>, Error>>()?;
        let columns = self.classes.iter().map(place).collect::<Result<Vec<usize>, Error>>()?;
        // Scores of some classes alone cannot be ranked against the others.
        let complete = columns.len() == classes.len();
        let scores = self.scores.filter(|rows| complete && rows.iter().all(|row| row.len() == columns.len()));
        let scores = scores.map(|rows| {
            let mut scores = Mat::zeros(classes.len(), rows.len());
            for (j, row) in rows.iter().enumerate() {
                columns.iter().zip(row).for_each(|(&class, &value)| scores[(class, j)] = value);
            }
            scores
        });
        Ok(Answer {
            predictions,
            scores,
            are_probabilities: self.probabilities,
            train_seconds: self.train_seconds,
            test_seconds: self.test_seconds,
            warnings: self.warnings,
        })
    }
}

impl Settings {
    fn parse(text: &str) -> PyResult<Self> {
        serde_json::from_str(text).map_err(bad_json)
    }

    fn data(&self, x: Mat<f64>, labels: Vec<String>) -> Result<LabData, Error> {
        let raw = RawData { labels: Some(labels), groups: self.groups.clone(), ..RawData::new(x) };
        LabData::new(&self.name, digest_raw(&raw), raw)
    }

    fn splits(&self, data: &LabData) -> Result<Splits, Error> {
        match (&self.splits, self.train_per_class) {
            (Some(given), _) => splits::of_lists(given.clone(), data, "splits"),
            (None, Some(n)) => splits::stratified(data, n, self.repeats, self.seed),
            (None, None) => folds::cross_validation(data, self.folds, self.repeats, self.seed),
        }
    }

    /// These splits, then those of the learning curve if one is wanted.
    fn with_shorter(&self, splits: Splits, data: &LabData) -> Vec<Splits> {
        let shorter = if self.learning_curve { splits.shorter(data) } else { Vec::new() };
        std::iter::once(splits).chain(shorter).collect()
    }

    /// Our methods; each has its own preprocessing unless the user gave one.
    fn method(&self, key: &str, params: &Values, given: Option<&PrepSpec>) -> Result<Entry, Error> {
        let method = registry::method(key)?;
        let (own, params) = method.settle(given, params)?;
        let own = (given.is_none() && own != PrepSpec::default()).then_some(own);
        let spec = |folds: usize| -> Result<tune::Spec, Error> {
            let defaults = method.complete(&Values::new())?;
            let fixed: Vec<String> = params
                .iter()
                .filter(|(name, value)| defaults.get(*name) != Some(value))
                .map(|(name, _)| name.clone())
                .collect();
            let preps = [given.cloned().unwrap_or_default()];
            let grid = Grid::new(method, &[], &fixed)?.with_preps(&preps)?;
            Ok(tune::Spec { grid, folds, seed: self.seed, one_se: false, metric: self.metric })
        };
        let tune = self.tune.map(spec).transpose()?;
        Ok(Entry { prep: own, tune, ..Entry::new(method, params) })
    }
}

/// The splits of a comparison and of its learning curve, as JSON: places of training and test samples, and the digest by which answers are known.
#[pyfunction]
pub fn compare_splits(labels: Vec<String>, settings: &str) -> PyResult<String> {
    let settings = Settings::parse(settings)?;
    let data = settings.data(Mat::zeros(1, labels.len()), labels).map_err(to_python)?;
    let splits = settings.splits(&data).map_err(to_python)?;
    let split = |split: &Split| json!({"train": split.train, "test": split.test, "sha256": split.digest()});
    let all = settings.with_shorter(splits, &data);
    Ok(Value::from(all.iter().flat_map(|splits| &splits.splits).map(split).collect::<Vec<_>>()).to_string())
}

/// Compares methods on the same splits, as the JSON `settings` say. `report` is only checked: the page is made from the records
/// afterwards. `on_run`, if given, is called before every run with where the comparison stands, as JSON. Returns the comparison
/// as JSON, as a table and as a table for LaTeX.
#[pyfunction]
#[pyo3(signature = (x, labels, settings, records, report, force, threads, on_run=None))]
#[allow(clippy::too_many_arguments)]
pub fn compare(
    py: Python<'_>,
    x: PyReadonlyArray2<'_, f64>,
    labels: Vec<String>,
    settings: &str,
    records: Option<PathBuf>,
    report: Option<PathBuf>,
    force: bool,
    threads: usize,
    on_run: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, String, String)> {
    let mut settings = Settings::parse(settings)?;
    let given: Option<PrepSpec> = settings.prep.as_deref().map(str::parse).transpose().map_err(to_python)?;
    let outputs = [(records.as_deref(), Kind::Records), (report.as_deref(), Kind::Report)];
    let outputs: Vec<(&Path, Kind)> = outputs.into_iter().filter_map(|(path, kind)| Some((path?, kind))).collect();
    check_outputs(&[], &outputs, force)?;
    let data = settings.data(owned(&x)?, labels).map_err(to_python)?;
    let entries = std::mem::take(&mut settings.entries);
    let entry = |entry: EntrySettings| match entry {
        EntrySettings::Method { key, params } => settings.method(&key, &params, given.as_ref()),
        EntrySettings::Other(other) => {
            let answers = other.answers.into_iter().map(|(split, answer)| Ok((split, answer.answer(&data.classes)?)));
            let answers = answers.collect::<Result<HashMap<_, _>, Error>>()?;
            let known = Known { name: other.name, description: other.description, answers };
            Ok(Entry::outside(Arc::new(known), "none".parse()?))
        }
    };
    let entries: Vec<Entry> = entries.into_iter().map(entry).collect::<Result<_, Error>>().map_err(to_python)?;
    let prep = given.clone().unwrap_or_default();
    let splits = settings.splits(&data).map_err(to_python)?;
    let all_splits = settings.with_shorter(splits, &data);
    let (metric, look_inside) = (settings.metric, report.is_some());

    let job = move |link: &mut Link| {
        let mut file = records.as_deref().map(Appender::open_now).transpose()?;
        if let Some(file) = &mut file {
            // Nothing is appended to a file that holds something else.
            file.records(record::checked_key)?;
        }
        let mut found = Vec::new();
        for splits in &all_splits {
            let plan = Plan { data: &data, splits, prep: &prep, entries: &entries };
            let look_inside = look_inside && splits.curve.is_none();
            found.extend(plan.run(&[], file.as_ref(), &mut Progress { link, stop: false, look_inside })?);
        }
        Ok(found)
    };
    let listen = on_run.map(|on_run| {
        move |run: Value, _: &Sender<Reply>| on_run.call1((run.to_string(),)).map(|_| ControlFlow::Continue(()))
    });
    let listen = listen.as_ref().map(|listen| listen as &Listener<'_>);
    let mut found = run(py, threads, job, listen)?.map_err(in_run)?;
    found.iter_mut().for_each(|record| record.protocol.metric = metric);
    let comparison = comparisons(&found).into_iter().next();
    let comparison = comparison.ok_or_else(|| to_python(Error::Data("no method was given".into())))?;
    let text = serde_json::to_string(&comparison).map_err(bad_json)?;
    let mut table = tables::terminal(&comparison, TABLE_WIDTH, false);
    table += &format!("\n{}", tables::legend(&comparison));
    comparison.cautions.iter().for_each(|caution| table += &format!("\nCaution: {caution}."));
    if let Some(curve) = tables::learning_curve(&comparison, TABLE_WIDTH, false) {
        table += &format!("\n\n{curve}");
    }
    Ok((text, table, tables::latex(&comparison)))
}

/// The report page of a file of records; only with `force` in the place of a file that is no report.
#[pyfunction]
#[pyo3(signature = (records, path, force=false, metric="accuracy"))]
pub fn report(py: Python<'_>, records: PathBuf, path: PathBuf, force: bool, metric: &str) -> PyResult<()> {
    let metric: Metric = serde_json::from_value(json!(metric)).map_err(bad_json)?;
    check_outputs(&[&records], &[(&path, Kind::Report)], force)?;
    let write = || {
        let mut found = record::read(&records)?;
        found.iter_mut().for_each(|record| record.protocol.metric = metric);
        if found.is_empty() {
            return Err(Error::format(&records, "holds no record"));
        }
        write_atomically(&path, pages::page(&found)?.as_bytes())
    };
    py.detach(write).map_err(to_python)
}

/// The kind of the error behind it, with the run's name in its text.
fn in_run(error: RunError) -> PyErr {
    let text = error.to_string();
    to_python(match error.source {
        Error::Interrupted => Error::Interrupted,
        Error::Numeric { .. } => Error::numeric("compare", text),
        source @ Error::Io { .. } => source,
        _ => Error::Data(text),
    })
}

struct Progress<'a> {
    link: &'a mut Link,
    stop: bool,
    look_inside: bool,
}

impl ExperimentObserver for Progress<'_> {
    fn begin(&mut self, run: Run<'_>) {
        let report = || json!({"method": run.method, "split": run.split, "done": run.done, "total": run.total});
        self.stop |= self.link.report(report, || ()).is_break();
    }

    fn step(&mut self, _: Run<'_>, _: &Step<'_>) -> ControlFlow<()> {
        self.go_on()
    }

    fn progress(&mut self, _: Run<'_>, _: usize, _: usize) -> ControlFlow<()> {
        self.go_on()
    }

    fn end(&mut self, _: Run<'_>, _: &Record) {}

    fn look_inside(&mut self, run: Run<'_>) -> bool {
        self.look_inside && run.split == 0
    }

    fn go_on(&mut self) -> ControlFlow<()> {
        if self.stop { ControlFlow::Break(()) } else { self.link.go_on() }
    }
}
