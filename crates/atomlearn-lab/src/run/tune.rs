//! Tuning: stratified cross-validation within a training part.
//!
//! Work is shared wherever that is exact. A fold is cut and preprocessed once for all points and all methods. One training, a *unit*,
//! serves every number of iterations (read along the way) and every value of decision parameters; values that only
//! combine scores cost next to nothing. The model after no iteration is evaluated once for all parameters that act in
//! iterations. Units run in parallel; the outcome does not depend on how.

mod choose;
mod folds;
mod unit;

use crate::protocol::data::digest_text;
pub use crate::protocol::grid::Spec;
use crate::protocol::grid::{Axis, combination, size};
use crate::records::jsonl::{self, Appender};
use crate::records::times::Clock;
use crate::stats::metrics::Metric;
use atomlearn::prep::PrepSpec;
use atomlearn::registry::{Method, Values};
use atomlearn::{Error, Result};
pub use choose::{GridPoint, OneSe, Tuned};
pub use folds::Folds;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Schema of a [`UnitRecord`].
pub const RECORD_SCHEMA: &str = "atomlearn.tune-record/1";

/// A method to be tuned on part of some data.
pub struct Tuning<'a> {
    /// The samples that may be seen, cut as `spec` says.
    pub folds: &'a Folds<'a>,
    /// Preprocessing, fitted on the training part of each fold, unless the grid has several to choose from.
    pub prep: &'a PrepSpec,
    /// The method.
    pub method: &'static Method,
    /// Its parameters, completed; the grid overrides them. What is left open beyond the grid takes the documented value: a training on a
    /// fold chooses nothing by folds of its own.
    pub base: &'a Values,
    /// How.
    pub spec: &'a Spec,
}

/// Watches a tuning from several threads at once; `()` watches nothing.
pub trait TuneObserver: Sync {
    /// So many units are done.
    fn units(&self, done: usize, total: usize) {
        let _ = (done, total);
    }

    /// Asked before every unit and after every iteration; `Break` ends the tuning.
    fn go_on(&self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl TuneObserver for () {}

/// What one training on one fold gave, for every number of iterations and decision parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitRecord {
    /// [`RECORD_SCHEMA`].
    pub schema: String,
    /// Digest of everything that determines the outcome.
    pub key: String,
    /// Method.
    pub method: String,
    /// Fold, from 0.
    pub fold: usize,
    /// Values of the parameters that were trained with.
    pub params: Values,
    /// Numbers of iterations that were looked at; null where they are not tuned.
    pub iterations: Vec<Option<u64>>,
    /// Validation samples.
    pub samples: usize,
    /// How many of them were right, for every number of iterations and, within it, every combination of decision
    /// parameters in grid order; null where the point failed.
    pub correct: Vec<Option<usize>>,
    /// Where something else than accuracy is chosen by, its value for each of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<Option<f64>>,
    /// Why points failed.
    pub failures: Vec<String>,
    /// What was done in training that nobody asked for, each once.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Wall time of the unit.
    pub seconds: f64,
}

/// One training on one fold.
struct Unit {
    fold: usize,
    /// Which preprocessing.
    prep: usize,
    /// Combination of the training axes.
    training: usize,
    /// Numbers of iterations to look at.
    iterations: Vec<Option<u64>>,
}

impl Tuning<'_> {
    /// Runs every unit that `known` does not hold, appends each to `file` as soon as it stands, and chooses.
    pub fn run(&self, known: &[UnitRecord], file: Option<&Appender>, watch: &dyn TuneObserver) -> Result<Tuned> {
        let base = &self.method.fixed(self.base)?;
        Tuning { base, ..*self }.run_settled(known, file, watch)
    }

    fn run_settled(&self, known: &[UnitRecord], file: Option<&Appender>, watch: &dyn TuneObserver) -> Result<Tuned> {
        let clock = Clock::start();
        let preps = self.preps()?;
        let units = self.units(preps.len());
        let keys: Vec<String> = units.iter().map(|unit| self.key(unit, &preps[unit.prep])).collect();
        let held = |key: &String| known.iter().find(|record| record.key == *key).cloned();
        let records: Vec<Option<UnitRecord>> = keys.iter().map(held).collect();
        self.prepare(&preps, &units, &records)?;

        let (stopped, done) = (AtomicBool::new(false), AtomicUsize::new(records.iter().flatten().count()));
        watch.units(done.load(Ordering::SeqCst), units.len());
        let appending = Mutex::new(());
        let stop = || {
            if watch.go_on().is_break() {
                stopped.store(true, Ordering::SeqCst);
            }
            stopped.load(Ordering::SeqCst)
        };
        let run = |((unit, key), held): ((&Unit, &String), Option<UnitRecord>)| -> Result<UnitRecord> {
            if let Some(record) = held {
                return Ok(record);
            }
            if stop() {
                return Err(Error::Interrupted);
            }
            let fold = self.folds.prepared(unit.fold, &preps[unit.prep])?;
            let record = self.evaluate(unit, key, &fold, &stop)?;
            if let Some(file) = file {
                let _one_at_a_time = appending.lock();
                file.append(&record)?;
            }
            watch.units(done.fetch_add(1, Ordering::SeqCst) + 1, units.len());
            Ok(record)
        };
        let records = units.par_iter().zip(&keys).zip(records).map(run).collect::<Result<Vec<_>>>()?;
        let (seconds, cpu_seconds) = clock.stop();
        let points = self.points(&units, &records);
        Tuned::new(self, points, &records, (seconds, cpu_seconds))
    }

    /// What the grid has to choose from, or what is given.
    fn preps(&self) -> Result<Vec<PrepSpec>> {
        match &self.spec.grid.prep {
            Some(axis) => axis.values.iter().map(|value| value.as_str().unwrap_or_default().parse()).collect(),
            None => Ok(vec![self.prep.clone()]),
        }
    }

    /// Every preprocessing and combination of training parameters on every fold. The model after no iteration is the same for all
    /// parameters that act in iterations, so only the first unit of each such family looks at it.
    fn units(&self, preps: usize) -> Vec<Unit> {
        let axes: Vec<&Axis> = self.spec.grid.training.iter().collect();
        let wanted = self.iterations();
        let mut units = Vec::new();
        for (prep, training) in (0..preps).flat_map(|prep| (0..size(&axes)).map(move |training| (prep, training))) {
            let first_of_family = self.family(training) == training;
            let iterations: Vec<Option<u64>> =
                wanted.iter().copied().filter(|iter| *iter != Some(0) || first_of_family).collect();
            if iterations.is_empty() {
                continue;
            }
            let unit = |fold| Unit { fold, prep, training, iterations: iterations.clone() };
            units.extend((0..self.folds.splits.len()).map(unit));
        }
        units
    }

    fn iterations(&self) -> Vec<Option<u64>> {
        let axis = self.spec.grid.iterations.as_ref();
        axis.map_or(vec![None], |axis| axis.values.iter().map(|value| value.as_u64()).collect())
    }

    /// The first combination of training parameters that differs from this one in parameters of iterations only.
    fn family(&self, training: usize) -> usize {
        let axes: Vec<&Axis> = self.spec.grid.training.iter().collect();
        let places = crate::protocol::grid::places(&axes, training);
        axes.iter().zip(places).fold(0, |index, (axis, place)| {
            let kept = if self.method.iteration.contains(&axis.name.as_str()) { 0 } else { place };
            index * axis.values.len() + kept
        })
    }

    fn key(&self, unit: &Unit, prep: &PrepSpec) -> String {
        let grid = &self.spec.grid;
        let after: Vec<&Axis> = grid.decision.iter().chain(&grid.readout).collect();
        let params = crate::records::record::sorted_text(&self.unit_params(unit));
        let (key, sha256, fold) = (self.method.key, self.folds.data.identity(), &self.folds.splits[unit.fold]);
        let metric = self.spec.metric;
        let metric = if metric.is_default() { String::new() } else { format!("\n{metric:?}") };
        let fold = fold.digest();
        digest_text(&format!("{key}\n{params}\n{:?}\n{after:?}\n{prep}\n{fold}\n{sha256}{metric}", unit.iterations))
    }

    /// Where a unit stands on the axes that need a training each.
    fn trained_with(&self, unit: &Unit) -> Values {
        let grid = &self.spec.grid;
        let prep = grid.prep.iter().map(|axis| (axis.name.clone(), axis.values[unit.prep].clone()));
        prep.chain(combination(&grid.training.iter().collect::<Vec<_>>(), unit.training)).collect()
    }

    /// The parameters a unit is trained with: those of the grid's training axes over the base, and the first
    /// combination of everything else.
    fn unit_params(&self, unit: &Unit) -> Values {
        let grid = &self.spec.grid;
        let mut params = self.base.clone();
        params.extend(combination(&grid.training.iter().collect::<Vec<_>>(), unit.training));
        params.extend(combination(&grid.decision.iter().chain(&grid.readout).collect::<Vec<_>>(), 0));
        if let Some(most) = unit.iterations.iter().copied().max().flatten() {
            params.insert(crate::protocol::grid::ITERATIONS.into(), most.into());
        }
        params
    }

    /// Preprocesses the folds that have something left to do.
    fn prepare(&self, preps: &[PrepSpec], units: &[Unit], records: &[Option<UnitRecord>]) -> Result<()> {
        let missing = units.iter().zip(records).filter(|(_, record)| record.is_none());
        let needed: BTreeSet<(usize, usize)> = missing.map(|(unit, _)| (unit.prep, unit.fold)).collect();
        needed.into_par_iter().try_for_each(|(prep, fold)| self.folds.prepared(fold, &preps[prep]).map(drop))
    }

    /// Puts the counts of all units together, point by point.
    fn points(&self, units: &[Unit], records: &[UnitRecord]) -> Vec<GridPoint> {
        let grid = &self.spec.grid;
        let wanted = self.iterations();
        let after = size(&grid.decision.iter().chain(&grid.readout).collect::<Vec<_>>());
        let trainings = size(&grid.training.iter().collect::<Vec<_>>());
        let of = |prep: usize, training: usize| {
            units.iter().zip(records).filter(move |(unit, _)| unit.prep == prep && unit.training == training)
        };
        let point = |i: usize| {
            let (training, iter, rest) = (i / (after * wanted.len()), wanted[i / after % wanted.len()], i % after);
            let (prep, training) = (training / trainings, training % trainings);
            let owner = if iter == Some(0) { self.family(training) } else { training };
            let mut point = GridPoint::default();
            for (unit, record) in of(prep, owner) {
                let place = unit.iterations.iter().position(|other| *other == iter);
                let at = place.map(|place| place * after + rest);
                let correct = at.and_then(|at| record.correct.get(at).copied().flatten());
                let measured = at.and_then(|at| record.measured.get(at).copied().flatten());
                point.add(correct, measured, record.samples, &record.failures);
            }
            point
        };
        (0..grid.len()).map(point).collect()
    }
}

/// Reads a file of unit records; see [`jsonl::read`].
pub fn read(path: &Path) -> Result<Vec<UnitRecord>> {
    jsonl::read(path, checked_key)
}

/// The key of a unit record, or why the record is invalid.
pub fn checked_key(record: &UnitRecord) -> Result<String, String> {
    let counts = record.correct.iter().flatten().all(|&correct| correct <= record.samples)
        && record.measured.iter().flatten().all(|value| (0.0..=1.0).contains(value));
    if record.schema != RECORD_SCHEMA {
        Err(format!("schema `{}` where `{RECORD_SCHEMA}` is needed", record.schema))
    } else if record.samples == 0 || record.iterations.is_empty() || !counts {
        Err("invalid record: no samples, no iterations, or a count out of range".into())
    } else {
        Ok(record.key.clone())
    }
}

/// How a tuning was laid out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TuneProtocol {
    /// Samples that were seen.
    pub samples: usize,
    /// Number of folds.
    pub folds: usize,
    /// Seed of the folds.
    pub seed: u64,
    /// Preprocessing; several to choose from are joined by ` | `.
    pub prep: String,
    /// What was chosen by.
    #[serde(default, skip_serializing_if = "Metric::is_default")]
    pub metric: Metric,
}

#[cfg(test)]
mod tests;
