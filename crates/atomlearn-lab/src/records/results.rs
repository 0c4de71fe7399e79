//! From records to results: one entry per method and rule, with statistics and tests.

mod cautions;
mod guessing;
mod intervals;
mod pair_test;

#[cfg(test)]
pub(crate) use cautions::few_splits;
pub use guessing::Majority;

use crate::protocol::data::DataInfo;
use crate::protocol::grid::Axis;
use crate::records::provenance::Provenance;
use crate::records::record::{Protocol, Record, RuleOutcome, entry_name};
use crate::stats::confusion::Confusion;
use crate::stats::metrics::{Metric, balanced_accuracy, macro_f1};
use crate::stats::ranks::{self, LeftOut, Ranking};
use crate::stats::statistics::{mean, std};
use atomlearn::registry::Values;
use pair_test::{correct, pair_test};
use serde::Serialize;
use std::collections::BTreeSet;

/// Schema of [`Comparison`].
pub const SCHEMA: &str = "atomlearn.compare/1";

/// A comparison of methods; its JSON is documented in `docs/reference/formats.md`.
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
    /// What guessing the most frequent class gets; none in records of older versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub majority: Option<Majority>,
    /// Every pair of results.
    pub tests: Vec<PairTest>,
    /// Accuracy of the rule in use with ever more training samples, for every method of a learning curve.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub learning_curve: Vec<CurvePoint>,
    /// Class names in class order, as in the confusion matrices.
    pub classes: Vec<String>,
    /// What forbids to take the numbers at face value, in sentences.
    pub cautions: Vec<String>,
    /// Warnings, each once, with the method that gave it.
    pub warnings: Vec<Warning>,
    /// Version, machine and time.
    pub provenance: Provenance,
}

/// One method trained on part of the training samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// Method, with its variant in brackets if it has one.
    pub method: String,
    /// The rule in use.
    pub rule: String,
    /// Training samples, mean over the splits.
    pub n_train: f64,
    /// Mean accuracy.
    pub mean: f64,
    /// 95 % interval of the mean.
    pub ci95: Option<[f64; 2]>,
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
    /// Mean recall of the classes on each split.
    pub balanced_accuracy: Vec<f64>,
    /// Mean F1 of the classes on each split.
    pub macro_f1: Vec<f64>,
    /// Log-loss on each split, for methods that have probabilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_loss: Option<Vec<f64>>,
    /// Expected calibration error on each split, for methods that have probabilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ece: Option<Vec<f64>>,
    /// Area under the ROC curve on each split, for two classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auc: Option<Vec<f64>>,
    /// Mean accuracy.
    pub mean: f64,
    /// Mean of what results are ranked by: accuracy, unless the protocol's `metric` says otherwise.
    pub score: f64,
    /// 95 % interval of `score`: `ci95`, or that of balanced accuracy; null for macro F1, which is no mean over samples.
    pub score_ci95: Option<[f64; 2]>,
    /// Standard deviation of the accuracy (n - 1); null for one split.
    pub std: Option<f64>,
    /// 95 % interval of the mean over samples and splits, see [`crate::stats::crossed`]; null below two test samples.
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
    /// What it is ranked by on each split.
    pub fn scores(&self, metric: Metric) -> &[f64] {
        match metric {
            Metric::Accuracy => &self.accuracy,
            Metric::BalancedAccuracy => &self.balanced_accuracy,
            Metric::MacroF1 => &self.macro_f1,
        }
    }

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
    /// `crossed` or `corrected-resampled-t`; for one split, `mcnemar`.
    pub test: &'static str,
    /// Mean of what results are ranked by, accuracy or another, of the first minus that of the second.
    pub difference: f64,
    /// Test statistic.
    pub statistic: f64,
    /// Two-sided p-value, not corrected for the number of tests.
    pub p: f64,
    /// The same, corrected by Holm's procedure for the number of tests of its family; every verdict goes by this one.
    pub p_holm: f64,
    /// The best result is one of the two. These tests are one family, those of all other pairs the other.
    pub with_best: bool,
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

impl Comparison {
    /// The result that ranks highest; of equals the first.
    pub fn best(&self) -> Option<&MethodResult> {
        best_of(self.results.iter())
    }

    /// How many tests were corrected together: those of the best against every other, and those of all other pairs.
    pub fn family_sizes(&self) -> [usize; 2] {
        let with_best = self.tests.iter().filter(|test| test.with_best).count();
        [with_best, self.tests.len() - with_best]
    }
}

fn best_of<'a>(results: impl Iterator<Item = &'a MethodResult>) -> Option<&'a MethodResult> {
    results.reduce(|best, other| if other.score > best.score { other } else { best })
}

/// One comparison for every group of records; see [`groups`].
pub fn comparisons(records: &[Record]) -> Vec<Comparison> {
    let whole =
        |group: &Vec<&Record>| Comparison { learning_curve: learning_curve(records, group), ..comparison(group) };
    groups(records).iter().map(whole).collect()
}

/// The learning curves of the methods of a group, from those of the records that belong to it; empty if there are none.
pub fn learning_curve(records: &[Record], group: &[&Record]) -> Vec<CurvePoint> {
    let parts: Vec<&Record> =
        records.iter().filter(|record| record.curve.is_some() && same_kind(record, group[0])).collect();
    if parts.is_empty() {
        return Vec::new();
    }
    let point = |series: &[&Record]| {
        let first = series[0];
        let r = first.rules.iter().position(|outcome| outcome.rule == first.rule)?;
        let accuracies: Vec<f64> = series.iter().filter_map(|record| Some(record.rules.get(r)?.accuracy)).collect();
        let n_train: Vec<f64> = series.iter().map(|record| record.n_train as f64).collect();
        let (n_train, ci95) = (mean(&n_train), intervals::of_accuracy(series, r));
        Some(CurvePoint { method: first.name(), rule: first.rule.clone(), n_train, mean: mean(&accuracies), ci95 })
    };
    let mut points = Vec::new();
    for whole in series(group) {
        let own: Vec<&Record> = parts.iter().copied().filter(|record| same_entry(record, whole[0])).collect();
        let mut shares: Vec<f64> = own.iter().filter_map(|record| record.curve).collect();
        shares.sort_by(f64::total_cmp);
        shares.dedup();
        let of_share =
            |share: &f64| own.iter().copied().filter(|record| record.curve == Some(*share)).collect::<Vec<_>>();
        points.extend(shares.iter().filter_map(|share| point(&of_share(share))));
        points.extend(point(&whole).filter(|_| !shares.is_empty()));
    }
    points
}

/// Data, preprocessing, training size, number of folds, groups and classes are the same.
fn same_kind(a: &Record, b: &Record) -> bool {
    let layout = |record: &Record| {
        let protocol = &record.protocol;
        (protocol.train_per_class, protocol.train_at_least, protocol.folds, protocol.groups.clone())
    };
    a.data.sha256 == b.data.sha256
        && a.protocol.prep == b.protocol.prep
        && layout(a) == layout(b)
        && a.classes == b.classes
}

/// Method, variant, preprocessing and what was set are the same.
fn same_entry(a: &Record, b: &Record) -> bool {
    (&a.method, &a.variant, &a.prep) == (&b.method, &b.variant, &b.prep) && given(a) == given(b)
}

/// The records of every set of data, preprocessing, training size and number of folds, in order of appearance.
///
/// Records of a shorter and of a longer experiment on the same data thus count as one. Those of sweeps and of
/// learning curves are left out.
pub fn groups(records: &[Record]) -> Vec<Vec<&Record>> {
    let mut groups: Vec<Vec<&Record>> = Vec::new();
    for record in records.iter().filter(|record| record.sweep.is_none() && record.curve.is_none()) {
        match groups.iter_mut().find(|group| same_kind(group[0], record)) {
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
        match series.iter_mut().find(|series| same_entry(series[0], record)) {
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
            tests.extend(pair_test((&series[*sa], a), (&series[*sb], b), first.protocol.paired_test));
        }
    }
    if let Some(best) = best_of(pairs.iter().map(|(_, result)| result)) {
        correct(&mut tests, (&best.name(), &best.rule));
    }
    let results: Vec<MethodResult> = pairs.into_iter().map(|(_, result)| result).collect();
    Comparison {
        schema: SCHEMA,
        cautions: cautions::cautions(records, &results, &tests),
        data: first.data.clone(),
        protocol: Protocol {
            repeats: splits.len().div_ceil(first.protocol.folds.unwrap_or(1).max(1)),
            seed: first.protocol.seed.filter(|_| one_seed),
            ..first.protocol.clone()
        },
        results,
        majority: guessing::majority(records),
        tests,
        learning_curve: Vec::new(),
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
    let by_class = |(record, outcome): (&&Record, &RuleOutcome)| {
        let mut counts = Confusion::new(record.classes.len());
        counts.add(&record.truth, &outcome.predictions);
        (balanced_accuracy(&counts), macro_f1(&counts))
    };
    let (balanced_accuracy, macro_f1): (Vec<f64>, Vec<f64>) = outcomes().map(by_class).unzip();
    let measure = |value: fn(&RuleOutcome) -> Option<f64>| outcomes().map(|(_, outcome)| value(outcome)).collect();
    let each = |value: fn(&Record) -> f64| series.iter().map(|record| value(record)).collect();
    let (metric, ci95) = (first.protocol.metric, intervals::of_accuracy(series, r));
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
        score: match metric {
            Metric::Accuracy => mean(&accuracy),
            Metric::BalancedAccuracy => mean(&balanced_accuracy),
            Metric::MacroF1 => mean(&macro_f1),
        },
        std: std(&accuracy),
        ci95,
        score_ci95: match metric {
            Metric::Accuracy => ci95,
            Metric::BalancedAccuracy => intervals::of_balanced_accuracy(series, r),
            Metric::MacroF1 => None,
        },
        accuracy,
        balanced_accuracy,
        macro_f1,
        log_loss: measure(|outcome| Some(outcome.probability.as_ref()?.log_loss)),
        ece: measure(|outcome| Some(outcome.probability.as_ref()?.ece)),
        auc: measure(|outcome| outcome.auc),
        train_seconds: each(|record| record.times.train_seconds),
        test_seconds: each(|record| record.times.test_seconds),
        train_cpu_seconds: each(|record| record.times.train_cpu_seconds),
        test_cpu_seconds: each(|record| record.times.test_cpu_seconds),
        prep_seconds: each(|record| record.times.prep_seconds),
        n_iter: series.iter().map(|record| record.n_iter).collect(),
        objective: series.iter().map(|record| record.trace.iter().map(|step| step.objective).collect()).collect(),
        confusion,
    }
}

/// The ranking of all methods that were run on every data set among the records; `Err` says why there is none.
///
/// A method counts with the rule in use. Of a data set that was used under several protocols only the first counts,
/// since the others are not independent of it.
pub fn ranking(records: &[Record]) -> Result<Ranking, String> {
    let mut sets: Vec<Comparison> = Vec::new();
    for comparison in comparisons(records) {
        if sets.iter().all(|held| held.data.sha256 != comparison.data.sha256) {
            sets.push(comparison);
        }
    }
    let mean = |set: &Comparison, method: &str| {
        set.results.iter().find(|result| result.method == method && result.in_use).map(|result| result.score)
    };
    let first = sets.first().ok_or("the records hold no comparison")?;
    let mut methods: Vec<String> = Vec::new();
    for result in first.results.iter().filter(|result| result.in_use) {
        if !methods.contains(&result.method) && sets.iter().all(|set| mean(set, &result.method).is_some()) {
            methods.push(result.method.clone());
        }
    }
    let values = |method: &String| sets.iter().filter_map(|set| mean(set, method)).collect::<Vec<f64>>();
    let accuracy: Vec<Vec<f64>> = methods.iter().map(values).collect();
    let names = sets.iter().map(|set| set.data.path.rsplit(['/', '\\']).next().unwrap_or_default().to_string());
    let names: Vec<String> = names.collect();
    let mut left_out: Vec<LeftOut> = Vec::new();
    for result in sets.iter().flat_map(|set| &set.results).filter(|result| !methods.contains(&result.method)) {
        if left_out.iter().all(|known| known.method != result.method) {
            let lacks = |(set, _): &(&Comparison, &String)| mean(set, &result.method).is_none();
            let missing = sets.iter().zip(&names).filter(lacks).map(|(_, name)| name.clone()).collect();
            left_out.push(LeftOut { method: result.method.clone(), missing });
        }
    }
    let ranking = ranks::ranking(names, methods, accuracy).map_err(|why| match left_out.as_slice() {
        [] => why,
        left_out => format!("{why}; not in every file: {}", ranks::left_out_text(left_out)),
    })?;
    Ok(Ranking { metric: first.protocol.metric, left_out, ..ranking })
}

/// A text with one sign for every number.
fn shape(text: &str) -> String {
    let mut shape = text.replace(|letter: char| letter.is_ascii_digit(), "0");
    while shape.contains("00") {
        shape = shape.replace("00", "0");
    }
    shape
}

/// Every warning once, with the splits it was given on.
pub fn warnings(records: &[&Record]) -> Vec<Warning> {
    let mut all: Vec<Warning> = Vec::new();
    for record in records {
        for text in &record.warnings {
            // The same but for its numbers is told once, with those of the first.
            let same = |known: &Warning| known.method == record.method && shape(&known.text) == shape(text);
            match all.iter_mut().find(|known| same(known)) {
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
