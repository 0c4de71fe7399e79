//! Running an experiment: every method on the same splits, one record per method and split.

mod outcome;

use crate::protocol::data::LabData;
use crate::protocol::scaling;
use crate::protocol::splits::{Split, Splits};
use crate::records::diagnostics::{Probe, Progress};
use crate::records::jsonl::Appender;
use crate::records::provenance::{Origin, Provenance};
use crate::records::record::{self, Choice, PairedTest, Protocol, Record};
use crate::records::times::Clock;
use crate::run::outside::Outside;
use crate::run::prepared::Prepared;
use crate::run::tune::{self, Folds, Tuning};
use crate::stats::metrics::Metric;
use atomlearn::observe::Trace;
use atomlearn::prep::PrepSpec;
use atomlearn::registry::{Method, Values};
use atomlearn::{Classifier, Error, Observer, Step};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// What learns.
#[derive(Clone)]
pub enum Learner {
    /// A method of this toolkit.
    Method(&'static Method),
    /// Something else.
    Outside(Arc<dyn Outside>),
}

/// What is compared: a method with all its parameters, or something else that learns.
#[derive(Clone)]
pub struct Entry {
    /// What learns.
    pub learner: Learner,
    /// Parameters of the method, completed.
    pub params: Values,
    /// How some of them are chosen on every training part, if they are.
    pub tune: Option<tune::Spec>,
    /// The parameter whose effect is studied, in a sweep.
    pub sweep: Option<String>,
    /// The method's own preprocessing, where it differs from that of the plan.
    pub prep: Option<PrepSpec>,
    /// What tells it from other entries of the same method, where there are such.
    pub variant: Option<String>,
}

impl Entry {
    /// A method with fixed parameters.
    pub fn new(method: &'static Method, params: Values) -> Self {
        let learner = Learner::Method(method);
        Entry { learner, params, tune: None, sweep: None, prep: None, variant: None }
    }

    /// Something else that learns, from samples that are preprocessed in this way.
    pub fn outside(learner: Arc<dyn Outside>, prep: PrepSpec) -> Self {
        let learner = Learner::Outside(learner);
        Entry { learner, params: Values::new(), tune: None, sweep: None, prep: Some(prep), variant: None }
    }

    /// What the records call it.
    pub fn key(&self) -> &str {
        match &self.learner {
            Learner::Method(method) => method.key,
            Learner::Outside(other) => other.name(),
        }
    }

    /// What determines its outcomes, besides parameters.
    fn identity(&self) -> String {
        match &self.learner {
            Learner::Method(method) => method.key.to_string(),
            Learner::Outside(other) => format!("{}\n{}", other.name(), other.identity()),
        }
    }
}

/// An experiment.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// Labelled samples.
    pub data: &'a LabData,
    /// Which of them train and test.
    pub splits: &'a Splits,
    /// Preprocessing, fitted on each training part alone, for all methods that do not choose theirs.
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
    /// Splits in all; every split has the same number of runs.
    pub splits: usize,
}

/// Watches an experiment; `()` watches nothing.
pub trait ExperimentObserver: Send {
    /// A run begins.
    fn begin(&mut self, run: Run<'_>) {
        let _ = run;
    }

    /// So many of the trainings that choose parameters for a run are done.
    fn tuning(&mut self, run: Run<'_>, done: usize, total: usize) {
        let _ = (run, done, total);
    }

    /// Training has done an iteration; `Break` ends the experiment.
    fn step(&mut self, run: Run<'_>, step: &Step<'_>) -> ControlFlow<()> {
        let _ = (run, step);
        ControlFlow::Continue(())
    }

    /// A training without iterations has done a part of its work; `Break` ends the experiment.
    fn progress(&mut self, run: Run<'_>, done: usize, total: usize) -> ControlFlow<()> {
        let _ = (run, done, total);
        ControlFlow::Continue(())
    }

    /// A run is over, or its record was there before.
    fn end(&mut self, run: Run<'_>, record: &Record) {
        let _ = (run, record);
    }

    /// Whether to look inside this run, for the report; see [`crate::records::diagnostics`].
    fn look_inside(&mut self, run: Run<'_>) -> bool {
        let _ = run;
        false
    }

    /// What the front end knows about where results come from.
    fn origin(&self) -> Origin {
        Origin::default()
    }

    /// Asked between runs; `Break` ends the experiment.
    fn go_on(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl ExperimentObserver for () {}

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
            train_at_least: self.splits.train_at_least,
            groups: self.data.grouping(),
            repeats: self.splits.repeats(),
            folds: self.splits.folds,
            seed: self.splits.seed,
            prep: self.prep_text(),
            paired_test: PairedTest::default(),
            metric: Metric::default(),
        }
    }

    /// Preprocessing of one method.
    fn prep_of<'e>(&'e self, entry: &'e Entry) -> &'e PrepSpec {
        entry.prep.as_ref().unwrap_or(self.prep)
    }

    /// Preprocessing as the protocol says it.
    fn prep_text(&self) -> String {
        let choice = self.entries.iter().flat_map(|entry| &entry.tune).find(|spec| spec.grid.prep.is_some());
        choice.map_or(self.prep.to_string(), |spec| spec.grid.prep_text(self.prep))
    }

    /// Runs everything that `known` does not hold yet and appends each record to `file` as soon as it stands.
    ///
    /// Splits come first and methods second, so that a stopped experiment has all methods on the splits it did.
    pub fn run(
        &self,
        known: &[Record],
        file: Option<&Appender>,
        watch: &mut dyn ExperimentObserver,
    ) -> Result<Vec<Record>, RunError> {
        let provenance = Provenance { origin: watch.origin(), ..Provenance::now() };
        let total = self.splits.splits.len() * self.entries.len();
        let mut records = Vec::with_capacity(total);
        let scales = self.scales();
        for (s, split) in self.splits.splits.iter().enumerate() {
            let mut stage = Stage::new(self, split);
            let mut last: Option<Trained> = None;
            for entry in self.entries {
                let method = entry.key();
                let run = Run { method, split: s, done: records.len(), total, splits: self.splits.splits.len() };
                let fault = |source| RunError { method: Some(method.into()), split: Some(s), source };
                let scales = scales.clone().filter(|_| entry.prep.is_none());
                let blank = Record { scales, ..self.blank(entry, s, split, &provenance) };
                if let Some(held) = known.iter().find(|held| held.key == blank.key) {
                    // A record may come from an experiment in which this split stood elsewhere.
                    let Record { protocol, data, sweep, curve, variant, prep, scales, .. } = blank;
                    let held = Record { split: s, protocol, data, sweep, curve, variant, prep, scales, ..held.clone() };
                    watch.end(run, &held);
                    records.push(held);
                    continue;
                }
                if watch.go_on().is_break() {
                    return Err(Error::Interrupted.into());
                }
                watch.begin(run);
                let unprepared = |source| RunError { method: None, split: Some(s), source };
                let record = match &entry.learner {
                    Learner::Method(method) => {
                        let (prep, params, tuned) = stage.choose(method, entry, run, watch).map_err(fault)?;
                        let ready = stage.prepared(&prep).map_err(unprepared)?;
                        let trained = train(method, params, &ready, last.take(), run, watch).map_err(fault)?;
                        let record =
                            outcome::of_method(&trained, self.data, split, Record { tuned, ..blank }).map_err(fault)?;
                        last = Some(trained);
                        record
                    }
                    Learner::Outside(other) => {
                        let ready = stage.prepared(self.prep_of(entry)).map_err(unprepared)?;
                        outcome::of_outside(other.as_ref(), self.data, &ready, split, blank, watch).map_err(fault)?
                    }
                };
                if let Some(file) = file {
                    file.append(&record)?;
                }
                watch.end(run, &record);
                records.push(record);
            }
        }
        Ok(records)
    }

    /// That the preprocessing leaves features in very different units, where it does; features made again of every part are not
    /// known here.
    fn scales(&self) -> Option<String> {
        let all: Vec<usize> = (0..self.data.targets.len()).collect();
        (!self.data.is_made()).then(|| scaling::fact(self.data, &all, self.prep)).flatten()
    }

    /// Everything of a record that is known before the run.
    fn blank(&self, entry: &Entry, s: usize, split: &Split, provenance: &Provenance) -> Record {
        let (prep, split_sha256) = (self.prep_of(entry).to_string(), split.digest());
        let (identity, data) = (entry.identity(), self.data.identity());
        let of_test = |values: &Vec<usize>| split.test.iter().map(|&i| values[i]).collect();
        Record {
            schema: record::SCHEMA.into(),
            key: record::key(&identity, &entry.params, entry.tune.as_ref(), &prep, &split_sha256, &data),
            method: entry.key().into(),
            params: entry.params.clone(),
            variant: entry.variant.clone(),
            prep: entry.prep.as_ref().filter(|own| *own != self.prep).map(PrepSpec::to_string),
            split: s,
            split_sha256,
            n_train: split.train.len(),
            data: self.data.info.clone(),
            protocol: self.protocol(),
            classes: self.data.classes.clone(),
            truth: of_test(&self.data.targets),
            tested: split.test.clone(),
            groups: self.data.groups.as_ref().map_or_else(Vec::new, of_test),
            majority: Some(majority(&self.data.targets, split)),
            provenance: provenance.clone(),
            sweep: entry.sweep.clone(),
            curve: self.splits.curve,
            external: match &entry.learner {
                Learner::Method(_) => None,
                Learner::Outside(other) => Some(other.description()),
            },
            ..Record::default()
        }
    }
}

/// One split and what its runs share.
struct Stage<'a> {
    plan: &'a Plan<'a>,
    split: &'a Split,
    /// The split after each preprocessing that was asked for.
    prepared: Vec<(PrepSpec, Arc<Prepared>)>,
    folds: Option<Folds<'a>>,
}

impl<'a> Stage<'a> {
    fn new(plan: &'a Plan<'a>, split: &'a Split) -> Self {
        Stage { plan, split, prepared: Vec::new(), folds: None }
    }

    fn prepared(&mut self, prep: &PrepSpec) -> Result<Arc<Prepared>, Error> {
        if let Some((_, ready)) = self.prepared.iter().find(|(other, _)| other == prep) {
            return Ok(ready.clone());
        }
        let ready = Arc::new(Prepared::new(self.plan.data, prep, self.split)?);
        self.prepared.push((prep.clone(), ready.clone()));
        Ok(ready)
    }

    /// Preprocessing and parameters of a run: given, or chosen by cross-validation within the training part.
    fn choose(
        &mut self,
        method: &'static Method,
        entry: &Entry,
        run: Run<'_>,
        watch: &mut dyn ExperimentObserver,
    ) -> Result<(PrepSpec, Values, Option<Choice>), Error> {
        let prep = self.plan.prep_of(entry);
        let Some(spec) = entry.tune.as_ref().filter(|spec| !spec.grid.is_empty()) else {
            return Ok((prep.clone(), entry.params.clone(), None));
        };
        let same = |folds: &Folds<'_>| folds.seed == spec.seed && folds.splits.len() == spec.folds;
        let folds = match self.folds.take().filter(same) {
            Some(folds) => self.folds.insert(folds),
            None => self.folds.insert(Folds::new(self.plan.data, &self.split.train, spec.folds, spec.seed)?),
        };
        let tuning = Tuning { folds, prep, method, base: &entry.params, spec };
        let tuned = tuning.run(&[], None, &TuneWatch { watch: Mutex::new(watch), run })?;
        let choice = Choice {
            accuracy: tuned.best().mean,
            std_error: tuned.std_error(),
            points: tuned.points.len(),
            failed: tuned.failed,
            seconds: tuned.seconds,
            cpu_seconds: tuned.cpu_seconds,
            folds: spec.folds,
            seed: spec.seed,
            chosen: tuned.chosen.clone(),
            grid: tuned.grid.clone(),
        };
        Ok((tuned.best().prep.parse()?, tuned.best().params.clone(), Some(choice)))
    }
}

/// A trained model and what training it took.
struct Trained {
    ready: Arc<Prepared>,
    method: &'static Method,
    params: Values,
    /// The same after training chose what they leave open.
    settled: Values,
    model: Box<dyn Classifier>,
    trace: Trace,
    /// Test accuracy along the way, where someone looked.
    seen: Option<Vec<Progress>>,
    seconds: f64,
    cpu_seconds: f64,
}

/// Trains, unless the run before was the same but for decision parameters: then its training serves again.
fn train(
    method: &'static Method,
    params: Values,
    ready: &Arc<Prepared>,
    last: Option<Trained>,
    run: Run<'_>,
    watch: &mut dyn ExperimentObserver,
) -> Result<Trained, Error> {
    let train_values = ready.train.x().nrows() * ready.train.x().ncols();
    let probe = watch.look_inside(run).then(|| Probe::new(ready.test.as_ref(), &ready.truth, train_values));
    let mut observer = RunObserver { run, watch, trace: Trace::default(), probe, stopped: false };
    let clock = Clock::start();
    let chosen = method.parse(&params)?.choose(&ready.train, &mut observer)?;
    let settled = chosen.values();
    let same = |last: &Trained| {
        let mut others = settled.iter().filter(|(name, _)| !method.decision.contains(&name.as_str()));
        Arc::ptr_eq(&last.ready, ready)
            && last.method.key == method.key
            && others.all(|(name, value)| last.settled.get(name) == Some(value))
    };
    if let Some(last) = last.filter(same) {
        let model = chosen.redecide(last.model.as_ref(), &ready.train)?;
        return Ok(Trained { params, settled, model, seen: None, ..last });
    }
    let model = chosen.fit(&ready.train, &mut observer)?;
    let (mut seconds, mut cpu_seconds) = clock.stop();
    if observer.stopped {
        return Err(Error::Interrupted);
    }
    let RunObserver { trace, probe, .. } = observer;
    if let Some(probe) = &probe {
        seconds = (seconds - probe.seconds).max(0.0);
        cpu_seconds = (cpu_seconds - probe.cpu_seconds).max(0.0);
    }
    let ready = ready.clone();
    let seen = probe.map(|probe| probe.progress);
    Ok(Trained { ready, method, params, settled, model, trace, seen, seconds, cpu_seconds })
}

/// What guessing the most frequent class of the training part gets on the test part; of equals the first.
fn majority(targets: &[usize], split: &Split) -> f64 {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    split.train.iter().for_each(|&i| *counts.entry(targets[i]).or_default() += 1);
    let guess = counts.iter().max_by_key(|&(&class, &count)| (count, Reverse(class))).map(|(&class, _)| class);
    let right = split.test.iter().filter(|&&i| Some(targets[i]) == guess).count();
    right as f64 / split.test.len().max(1) as f64
}

/// Lets a tuning of one run be watched like the rest of the experiment.
struct TuneWatch<'a, 'b> {
    watch: Mutex<&'b mut dyn ExperimentObserver>,
    run: Run<'a>,
}

impl tune::TuneObserver for TuneWatch<'_, '_> {
    fn units(&self, done: usize, total: usize) {
        if let Ok(mut watch) = self.watch.lock() {
            watch.tuning(self.run, done, total);
        }
    }

    fn go_on(&self) -> ControlFlow<()> {
        self.watch.lock().map_or(ControlFlow::Break(()), |mut watch| watch.go_on())
    }
}

/// Remembers everything and passes steps on.
struct RunObserver<'a, 'b> {
    run: Run<'a>,
    watch: &'b mut dyn ExperimentObserver,
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

    fn progress(&mut self, done: usize, total: usize) -> ControlFlow<()> {
        let flow = self.watch.progress(self.run, done, total);
        self.stopped |= flow.is_break();
        flow
    }

    fn note(&mut self, note: &str) {
        self.trace.note(note);
    }

    fn warn(&mut self, warning: &str) {
        self.trace.warn(warning);
    }
}

#[cfg(test)]
mod tests;
