//! Running an experiment: every method on the same splits, one record per method and split.

use crate::confusion::accuracy;
use crate::data::LabData;
use crate::inside::{self, Inside, Probe};
use crate::provenance::Provenance;
use crate::record::{self, Protocol, Record, RuleOutcome};
use crate::splits::{Split, Splits};
use atomlearn::io::ImageShape;
use atomlearn::method::best_class;
use atomlearn::observe::Trace;
use atomlearn::prep::{Prep, PrepSpec};
use atomlearn::registry::{Method, Values};
use atomlearn::{Dataset, Error, Mat, Observer, Step};
use cpu_time::ProcessTime;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

/// A method with all its parameters.
pub struct Entry {
    /// The method.
    pub method: &'static Method,
    /// Its parameters, completed.
    pub params: Values,
}

/// An experiment.
pub struct Plan<'a> {
    /// Labelled samples.
    pub data: &'a LabData,
    /// Which of them train and test.
    pub splits: &'a Splits,
    /// Preprocessing, fitted on each training part alone.
    pub prep: &'a PrepSpec,
    /// What is compared.
    pub entries: &'a [Entry],
}

/// Which run of the experiment something is about.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Method key.
    pub method: &'a str,
    /// Split, from 0.
    pub split: usize,
    /// Runs that are done.
    pub done: usize,
    /// Runs in all.
    pub total: usize,
}

/// Watches an experiment; `()` watches nothing.
pub trait Watch {
    /// A run begins.
    fn begin(&mut self, run: Run<'_>) {
        let _ = run;
    }

    /// Training has done an iteration; `Break` ends the experiment.
    fn step(&mut self, run: Run<'_>, step: &Step<'_>) -> ControlFlow<()> {
        let _ = (run, step);
        ControlFlow::Continue(())
    }

    /// A run is over, or its record was there before.
    fn end(&mut self, run: Run<'_>, record: &Record) {
        let _ = (run, record);
    }

    /// Whether to look inside this run, for the report; see [`crate::inside`].
    fn look_inside(&mut self, run: Run<'_>) -> bool {
        let _ = run;
        false
    }

    /// Asked between runs; `Break` ends the experiment.
    fn go_on(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl Watch for () {}

/// What went wrong, and in which run.
#[derive(Debug, thiserror::Error)]
#[error("{}{source}", where_text(.method, .split))]
pub struct RunError {
    /// Method, if it was one method's fault.
    pub method: Option<String>,
    /// Split, from 0.
    pub split: Option<usize>,
    /// The error itself.
    pub source: Error,
}

fn where_text(method: &Option<String>, split: &Option<usize>) -> String {
    match (method, split) {
        (Some(method), Some(split)) => format!("{method}, split {split} (counted from 0): "),
        (None, Some(split)) => format!("split {split} (counted from 0): "),
        _ => String::new(),
    }
}

impl From<Error> for RunError {
    fn from(source: Error) -> Self {
        RunError { method: None, split: None, source }
    }
}

impl Plan<'_> {
    /// How the experiment is laid out.
    pub fn protocol(&self) -> Protocol {
        Protocol {
            train_per_class: self.splits.train_per_class,
            repeats: self.splits.splits.len(),
            seed: self.splits.seed,
            prep: self.prep.to_string(),
        }
    }

    /// Runs everything that `known` does not hold yet and appends each record to `file` as soon as it stands.
    ///
    /// Splits come first and methods second, so that a stopped experiment has all methods on the splits it did.
    pub fn run(&self, known: &[Record], file: Option<&Path>, watch: &mut dyn Watch) -> Result<Vec<Record>, RunError> {
        let provenance = Provenance::now();
        let total = self.splits.splits.len() * self.entries.len();
        let mut records = Vec::with_capacity(total);
        for (s, split) in self.splits.splits.iter().enumerate() {
            let mut prepared: Option<Prepared> = None;
            for entry in self.entries {
                let method = entry.method.key;
                let run = Run { method, split: s, done: records.len(), total };
                let fault = |source| RunError { method: Some(method.into()), split: Some(s), source };
                let blank = self.blank(entry, s, split, &provenance);
                if let Some(held) = known.iter().find(|held| held.key == blank.key) {
                    // A record may come from an experiment in which this split stood elsewhere.
                    let held = Record { split: s, protocol: blank.protocol, data: blank.data, ..held.clone() };
                    watch.end(run, &held);
                    records.push(held);
                    continue;
                }
                if watch.go_on().is_break() {
                    return Err(Error::Interrupted.into());
                }
                watch.begin(run);
                let ready = match prepared.take() {
                    Some(ready) => ready,
                    None => self.prepare(split).map_err(|source| RunError { method: None, split: Some(s), source })?,
                };
                let record = train_and_test(entry, &ready, blank, run, watch).map_err(fault)?;
                prepared = Some(ready);
                if let Some(file) = file {
                    record::append(file, &record)?;
                }
                watch.end(run, &record);
                records.push(record);
            }
        }
        Ok(records)
    }

    /// Everything of a record that is known before the run.
    fn blank(&self, entry: &Entry, s: usize, split: &Split, provenance: &Provenance) -> Record {
        let (method, prep, split_sha256) = (entry.method.key, self.prep.to_string(), split.digest());
        Record {
            schema: record::SCHEMA.into(),
            key: record::key(method, &entry.params, &prep, &split_sha256, &self.data.info.sha256),
            method: method.into(),
            params: entry.params.clone(),
            rule: String::new(),
            split: s,
            split_sha256,
            n_train: split.train.len(),
            data: self.data.info.clone(),
            protocol: self.protocol(),
            classes: self.data.classes.clone(),
            truth: split.test.iter().map(|&i| self.data.targets[i]).collect(),
            rules: Vec::new(),
            prep_seconds: 0.0,
            prep_cpu_seconds: 0.0,
            train_seconds: 0.0,
            train_cpu_seconds: 0.0,
            test_seconds: 0.0,
            test_cpu_seconds: 0.0,
            n_iter: None,
            trace: Vec::new(),
            warnings: Vec::new(),
            inside: None,
            provenance: provenance.clone(),
        }
    }

    fn prepare(&self, split: &Split) -> Result<Prepared, Error> {
        let train = self.data.dataset(&split.train)?;
        let test = self.data.columns(&split.test);
        let mut trace = Trace::default();
        let clock = Clock::start();
        let (prep, x) = self.prep.fit(train.x(), &mut trace)?;
        let test = prep.apply(test.as_ref());
        let (seconds, cpu_seconds) = clock.stop();
        let (train, image_shape) = (train.with_features(x)?, self.data.image_shape);
        Ok(Prepared { train, test, prep, image_shape, warnings: trace.warnings, seconds, cpu_seconds })
    }
}

/// A split after preprocessing; shared by all methods.
struct Prepared {
    train: Dataset,
    test: Mat<f64>,
    prep: Prep,
    image_shape: Option<ImageShape>,
    warnings: Vec<String>,
    seconds: f64,
    cpu_seconds: f64,
}

fn train_and_test(
    entry: &Entry,
    ready: &Prepared,
    blank: Record,
    run: Run<'_>,
    watch: &mut dyn Watch,
) -> Result<Record, Error> {
    let train_values = ready.train.x().nrows() * ready.train.x().ncols();
    let probe = watch.look_inside(run).then(|| Probe::new(ready.test.as_ref(), &blank.truth, train_values));
    let mut observer = RunObserver { run, watch, trace: Trace::default(), probe, stopped: false };
    let clock = Clock::start();
    let model = entry.method.fit(&entry.params, &ready.train, &mut observer)?;
    let (mut train_seconds, mut train_cpu_seconds) = clock.stop();
    if observer.stopped {
        return Err(Error::Interrupted);
    }
    let RunObserver { trace, probe, .. } = observer;
    if let Some(probe) = &probe {
        train_seconds = (train_seconds - probe.seconds).max(0.0);
        train_cpu_seconds = (train_cpu_seconds - probe.cpu_seconds).max(0.0);
    }
    let clock = Clock::start();
    let scores = model.scores_by_rule(ready.test.as_ref())?;
    let (test_seconds, test_cpu_seconds) = clock.stop();
    let rules = scores.into_iter().map(|(rule, scores)| {
        let predictions = best_class(scores.as_ref());
        RuleOutcome { rule: rule.into(), accuracy: accuracy(&blank.truth, &predictions), predictions }
    });
    let rules: Vec<RuleOutcome> = rules.collect();
    let n_iter = trace.steps.last().map(|step| step.iter);
    // What does not iterate takes the training samples for atoms, or has none: there is nothing to show.
    let inside = probe.filter(|_| n_iter.is_some()).map(|probe| Inside {
        progress: probe.finish(n_iter, &rules),
        atoms: inside::atoms(model.as_ref(), &ready.train, &ready.prep, ready.image_shape),
        graph: inside::atom_graph(model.as_ref(), &entry.params),
    });
    Ok(Record {
        rule: model.rule().into(),
        rules,
        prep_seconds: ready.seconds,
        prep_cpu_seconds: ready.cpu_seconds,
        train_seconds,
        train_cpu_seconds,
        test_seconds,
        test_cpu_seconds,
        n_iter,
        warnings: ready.warnings.iter().cloned().chain(trace.warnings).collect(),
        trace: trace.steps,
        inside,
        ..blank
    })
}

/// Remembers everything and passes steps on.
struct RunObserver<'a, 'b> {
    run: Run<'a>,
    watch: &'b mut dyn Watch,
    trace: Trace,
    probe: Option<Probe<'a>>,
    stopped: bool,
}

impl Observer for RunObserver<'_, '_> {
    fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
        let _ = self.trace.step(step);
        if let Some(probe) = &mut self.probe {
            probe.step(step);
        }
        let flow = self.watch.step(self.run, step);
        self.stopped |= flow.is_break();
        flow
    }

    fn warn(&mut self, warning: &str) {
        self.trace.warn(warning);
    }
}

/// Wall and CPU time together.
pub(crate) struct Clock {
    wall: Instant,
    cpu: Option<ProcessTime>,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Clock { wall: Instant::now(), cpu: ProcessTime::try_now().ok() }
    }

    pub(crate) fn stop(&self) -> (f64, f64) {
        let cpu = self.cpu.and_then(|start| Some(ProcessTime::try_now().ok()?.duration_since(start).as_secs_f64()));
        (self.wall.elapsed().as_secs_f64(), cpu.unwrap_or(0.0))
    }
}

#[cfg(test)]
mod tests;
