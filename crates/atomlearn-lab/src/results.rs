//! From records to results: one entry per method and rule, with statistics and tests.

use crate::confusion::Confusion;
use crate::data::DataInfo;
use crate::grid::Axis;
use crate::provenance::Provenance;
use crate::record::{Protocol, Record, entry_name};
use crate::statistics::{accuracy_interval95, corrected_resampled_t, mcnemar, mean, std};
use atomlearn::registry::Values;
use serde::Serialize;
use std::collections::BTreeSet;

/// Schema of [`Comparison`].
pub const SCHEMA: &str = "atomlearn.compare/1";

/// A comparison of methods; its JSON is documented in `docs/FORMATS.md`.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The data.
    pub data: DataInfo,
    /// The protocol.
    pub protocol: Protocol,
    /// One entry per method and rule.
    pub results: Vec<MethodResult>,
    /// Every pair of results.
    pub tests: Vec<PairTest>,
    /// Class names in class order, as in the confusion matrices.
    pub classes: Vec<String>,
    /// Warnings, each once, with the method that gave it.
    pub warnings: Vec<Warning>,
    /// Version, machine and time.
    pub provenance: Provenance,
}

/// One method under one rule, over all splits.
#[derive(Clone, Debug, Serialize)]
pub struct MethodResult {
    /// Method key.
    pub method: String,
    /// What tells it from other entries of the same method, where there are such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Its own preprocessing, where it differs from the protocol's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prep: Option<String>,
    /// Decision rule.
    pub rule: String,
    /// True if this is the rule that the parameters choose.
    pub in_use: bool,
    /// All parameters, except those that were tuned.
    pub params: Values,
    /// The values chosen on each split, for a tuned method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tuned: Option<Vec<Values>>,
    /// Wall time of choosing them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tune_seconds: Option<Vec<f64>>,
    /// Accuracy on each split.
    pub accuracy: Vec<f64>,
    /// Its mean.
    pub mean: f64,
    /// Its standard deviation (n - 1); null for one split.
    pub std: Option<f64>,
    /// 95 % interval of the mean, for a cross-validation corrected for the overlap of training parts; null for one split.
    pub ci95: Option<[f64; 2]>,
    /// Wall time of training.
    pub train_seconds: Vec<f64>,
    /// Wall time of testing, all rules at once.
    pub test_seconds: Vec<f64>,
    /// CPU time of training.
    pub train_cpu_seconds: Vec<f64>,
    /// CPU time of testing.
    pub test_cpu_seconds: Vec<f64>,
    /// Wall time of preprocessing.
    pub prep_seconds: Vec<f64>,
    /// Iterations; null for methods that do not iterate.
    pub n_iter: Vec<Option<usize>>,
    /// Objective after every iteration, one list per split.
    pub objective: Vec<Vec<Option<f64>>>,
    /// Counts over all splits: row = true class, column = predicted class.
    pub confusion: Confusion,
}

impl MethodResult {
    /// What people call it: its method and what tells it from others of the same method.
    pub fn name(&self) -> String {
        entry_name(&self.method, self.variant.as_deref())
    }
}

/// A test of "no difference" between two results.
#[derive(Clone, Debug, Serialize)]
pub struct PairTest {
    /// Method of the first, with its variant in brackets if it has one.
    pub a: String,
    /// Rule of the first.
    pub a_rule: String,
    /// Method of the second, likewise.
    pub b: String,
    /// Rule of the second.
    pub b_rule: String,
    /// `corrected-resampled-t` or, for one split, `mcnemar`.
    pub test: &'static str,
    /// Mean accuracy of the first minus that of the second.
    pub difference: f64,
    /// Test statistic.
    pub statistic: f64,
    /// Two-sided p-value, not corrected for the number of tests.
    pub p: f64,
}

/// A warning of training.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// Method that warned.
    pub method: String,
    /// Splits on which it did, from 0.
    pub splits: Vec<usize>,
    /// What it said.
    pub text: String,
}

/// One comparison for every group of records; see [`groups`].
pub fn comparisons(records: &[Record]) -> Vec<Comparison> {
    groups(records).iter().map(|group| comparison(group)).collect()
}

/// The records of every set of data, preprocessing, training size and number of folds, in order of appearance.
///
/// Records of a shorter and of a longer experiment on the same data thus count as one. Those of sweeps are left out: see
/// [`crate::sweep::sweeps`].
pub fn groups(records: &[Record]) -> Vec<Vec<&Record>> {
    let kind = |record: &Record| {
        let protocol = &record.protocol;
        let layout = (protocol.train_per_class, protocol.folds);
        (record.data.sha256.clone(), protocol.prep.clone(), layout, record.classes.clone())
    };
    let same = |a: &Record, b: &Record| kind(a) == kind(b);
    let mut groups: Vec<Vec<&Record>> = Vec::new();
    for record in records.iter().filter(|record| record.sweep.is_none()) {
        match groups.iter_mut().find(|group| same(group[0], record)) {
            Some(group) => group.push(record),
            None => groups.push(vec![record]),
        }
    }
    groups
}

/// The records of one group by method and parameters, each in order of splits.
pub fn series<'a>(records: &[&'a Record]) -> Vec<Vec<&'a Record>> {
    let mut series: Vec<Vec<&Record>> = Vec::new();
    for &record in records {
        let same = |other: &Record| {
            let entry = |r: &Record| (r.method.clone(), r.variant.clone(), r.prep.clone());
            entry(other) == entry(record) && given(other) == given(record)
        };
        match series.iter_mut().find(|series| same(series[0])) {
            Some(series) => series.push(record),
            None => series.push(vec![record]),
        }
    }
    series.iter_mut().for_each(|series| series.sort_by_key(|record| (record.split, &record.split_sha256)));
    series
}

/// All records must be of one group; there is at least one.
pub fn comparison(records: &[&Record]) -> Comparison {
    let first = records[0];
    let series = series(records);
    let splits: BTreeSet<&str> = records.iter().map(|record| record.split_sha256.as_str()).collect();
    let one_seed = records.iter().all(|record| record.protocol.seed == first.protocol.seed);
    let pairs: Vec<(usize, MethodResult)> = series
        .iter()
        .enumerate()
        .flat_map(|(s, series)| (0..series[0].rules.len()).map(move |r| (s, result(series, r))))
        .collect();
    let mut tests = Vec::new();
    for (i, (sa, a)) in pairs.iter().enumerate() {
        for (sb, b) in &pairs[i + 1..] {
            tests.extend(pair_test((&series[*sa], a), (&series[*sb], b)));
        }
    }
    Comparison {
        schema: SCHEMA,
        data: first.data.clone(),
        protocol: Protocol {
            repeats: splits.len().div_ceil(first.protocol.folds.unwrap_or(1).max(1)),
            seed: first.protocol.seed.filter(|_| one_seed),
            ..first.protocol.clone()
        },
        results: pairs.into_iter().map(|(_, result)| result).collect(),
        tests,
        classes: first.classes.clone(),
        warnings: warnings(records),
        provenance: first.provenance.clone(),
    }
}

/// What was set rather than chosen: the parameters, or those that were not tuned and the grid of those that were.
fn given(record: &Record) -> (Values, Option<&[Axis]>) {
    let Some(choice) = &record.tuned else { return (record.params.clone(), None) };
    let mut params = record.params.clone();
    params.retain(|name, _| !choice.grid.iter().any(|axis| axis.name == *name));
    (params, Some(&choice.grid))
}

fn result(series: &[&Record], r: usize) -> MethodResult {
    let first = series[0];
    let rule = &first.rules[r].rule;
    // Every record of a method lists its rules in the same order; one that does not is left out.
    let outcomes = || series.iter().filter_map(|record| Some((record, record.rules.get(r)?)));
    let accuracy: Vec<f64> = outcomes().map(|(_, outcome)| outcome.accuracy).collect();
    let mut confusion = Confusion::new(first.classes.len());
    outcomes().for_each(|(record, outcome)| confusion.add(&record.truth, &outcome.predictions));
    let each = |value: fn(&Record) -> f64| series.iter().map(|record| value(record)).collect();
    MethodResult {
        method: first.method.clone(),
        variant: first.variant.clone(),
        prep: first.prep.clone(),
        rule: rule.clone(),
        in_use: *rule == first.rule,
        params: given(first).0,
        tuned: series.iter().map(|record| Some(record.tuned.as_ref()?.chosen.clone())).collect(),
        tune_seconds: series.iter().map(|record| Some(record.tuned.as_ref()?.seconds)).collect(),
        mean: mean(&accuracy),
        std: std(&accuracy),
        ci95: accuracy_interval95(&accuracy, overlap(series)),
        accuracy,
        train_seconds: each(|record| record.train_seconds),
        test_seconds: each(|record| record.test_seconds),
        train_cpu_seconds: each(|record| record.train_cpu_seconds),
        test_cpu_seconds: each(|record| record.test_cpu_seconds),
        prep_seconds: each(|record| record.prep_seconds),
        n_iter: series.iter().map(|record| record.n_iter).collect(),
        objective: series.iter().map(|record| record.trace.iter().map(|step| step.objective).collect()).collect(),
        confusion,
    }
}

/// What the training parts of splits have in common, for intervals: that of folds is corrected for, that of drawn splits is not.
fn overlap(series: &[&Record]) -> f64 {
    let (tested, trained) = (|r: &Record| r.truth.len() as f64, |r: &Record| r.n_train as f64);
    let sum = |count: &dyn Fn(&Record) -> f64| series.iter().map(|record| count(record)).sum::<f64>();
    if series[0].protocol.folds.is_some() { sum(&tested) / sum(&trained) } else { 0.0 }
}

/// The test that fits: McNemar's for one split, else the corrected t-test over the splits both were run on.
fn pair_test(a: (&[&Record], &MethodResult), b: (&[&Record], &MethodResult)) -> Option<PairTest> {
    let outcome_of = |record: &Record, rule: &str| record.rules.iter().find(|o| o.rule == rule).cloned();
    let mut shared = Vec::new();
    for record in a.0 {
        let partner = b.0.iter().find(|other| other.split_sha256 == record.split_sha256);
        let outcomes = partner.and_then(|other| Some((outcome_of(record, &a.1.rule)?, outcome_of(other, &b.1.rule)?)));
        shared.extend(outcomes.map(|(oa, ob)| (record, oa, ob)));
    }
    let accuracies_a: Vec<f64> = shared.iter().map(|(_, outcome, _)| outcome.accuracy).collect();
    let accuracies_b: Vec<f64> = shared.iter().map(|(_, _, outcome)| outcome.accuracy).collect();
    let (test, outcome) = match shared.as_slice() {
        [] => return None,
        [(record, oa, ob)] => {
            let right = |predictions: &[usize], i: usize| predictions[i] == record.truth[i];
            let only = |x: &[usize], y: &[usize]| {
                (0..record.truth.len()).filter(|&i| right(x, i) && !right(y, i)).count() as u64
            };
            let (pa, pb) = (&oa.predictions, &ob.predictions);
            ("mcnemar", mcnemar(only(pa, pb), only(pb, pa)))
        }
        several => {
            let count = several.len() as f64;
            let n_train = several.iter().map(|(record, ..)| record.n_train as f64).sum::<f64>() / count;
            let n_test = several.iter().map(|(record, ..)| record.truth.len() as f64).sum::<f64>() / count;
            ("corrected-resampled-t", corrected_resampled_t(&accuracies_a, &accuracies_b, n_train, n_test)?)
        }
    };
    Some(PairTest {
        a: a.1.name(),
        a_rule: a.1.rule.clone(),
        b: b.1.name(),
        b_rule: b.1.rule.clone(),
        test,
        difference: mean(&accuracies_a) - mean(&accuracies_b),
        statistic: outcome.statistic,
        p: outcome.p,
    })
}

/// Every warning once, with the splits it was given on.
pub fn warnings(records: &[&Record]) -> Vec<Warning> {
    let mut all: Vec<Warning> = Vec::new();
    for record in records {
        for text in &record.warnings {
            match all.iter_mut().find(|known| known.method == record.method && known.text == *text) {
                Some(known) if known.splits.contains(&record.split) => {}
                Some(known) => known.splits.push(record.split),
                None => {
                    all.push(Warning { method: record.method.clone(), splits: vec![record.split], text: text.clone() })
                }
            }
        }
    }
    all
}
