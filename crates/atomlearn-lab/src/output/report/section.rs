//! One comparison, ready for the template.

use super::atom_graph::{AtomGraphPlot, atom_graph};
use super::axes::clipped;
use super::convergence::{Convergence, convergence};
use super::gallery::{Gallery, gallery};
use super::heat_map::{HeatMap, heat_map};
use super::name;
use super::photos::{PhotoGallery, Photos, photo_gallery};
use super::scatter::{Scatter, scatters};
use crate::output::tables::{MAJORITY, is_best, latex, no_better_than_guessing, p_value, percent, prep_text, seconds};
use crate::records::record::Record;
use crate::records::results::{Comparison, Majority, MethodResult, PairTest, comparison, series};
use crate::stats::statistics::mean;
use serde::Serialize;
use std::collections::BTreeMap;

/// Results that the square of tests shows at most: the most accurate.
const MOST_TESTED: usize = 24;
/// Significance, as everywhere.
const LEVEL: f64 = 0.05;

/// One comparison.
#[derive(Serialize)]
pub struct Section {
    id: usize,
    title: String,
    protocol: String,
    headline: String,
    rows: Vec<Row>,
    /// Ends of the scale of the whiskers, in per cent.
    scale: [String; 2],
    test_name: &'static str,
    tests: Tests,
    latex: String,
    scatters: Vec<Scatter>,
    convergence: Vec<Convergence>,
    heat_maps: Vec<HeatMap>,
    photos: Option<PhotoGallery>,
    galleries: Vec<Gallery>,
    graphs: Vec<AtomGraphPlot>,
    warnings: Vec<WarningText>,
    params: Vec<(String, String)>,
    provenance: Vec<(&'static str, String)>,
}

#[derive(Serialize)]
struct Row {
    method: String,
    rule: String,
    mean: String,
    std: String,
    interval: String,
    train: String,
    train_cpu: String,
    test: String,
    best: bool,
    /// Ends of the whisker and place of the dot, in per cent of the width of the cell.
    whisker: Option<[f64; 2]>,
    dot: f64,
    /// The mean lies below the scale.
    below: bool,
}

#[derive(Serialize)]
struct WarningText {
    method: String,
    splits: String,
    text: String,
}

/// p-values of all pairs.
#[derive(Serialize)]
struct Tests {
    names: Vec<String>,
    rows: Vec<Vec<PValue>>,
    /// Results that are not shown.
    left_out: usize,
}

#[derive(Clone, Default, Serialize)]
struct PValue {
    text: String,
    significant: bool,
}

/// The section for the records of one group.
pub fn section(id: usize, records: &[&Record], photos: Option<&Photos>) -> Section {
    let comparison = comparison(records);
    let series = series(records);
    let file = comparison.data.path.rsplit(['/', '\\']).next().unwrap_or_default();
    let looked_into = || series.iter().filter_map(|records| records.iter().find(|r| r.inside.is_some()));
    let graph = |(i, record): (usize, &&Record)| atom_graph(format!("graph{id}-{i}"), record);
    let scale = whisker_scale(&comparison.results);
    Section {
        id,
        title: file.to_string(),
        protocol: protocol(&comparison, records),
        headline: headline(&comparison),
        rows: rows(&comparison, scale),
        scale: scale.map(|value| format!("{:.1}", 100.0 * value)),
        test_name: match comparison.tests.first().map(|test| test.test) {
            Some("mcnemar") => "McNemar's exact test on the one split",
            Some("crossed") => "paired test over samples and splits, both taken as random",
            Some(_) => "corrected resampled t-test (Nadeau and Bengio) over the splits",
            None => "",
        },
        tests: tests(&comparison),
        latex: latex(&comparison),
        scatters: scatters(id, &comparison),
        convergence: convergence(id, &series),
        heat_maps: heat_maps(id, &comparison),
        photos: photos.and_then(|photos| photo_gallery(photos, records)),
        galleries: looked_into().filter_map(|record| gallery(record)).collect(),
        graphs: looked_into().enumerate().filter_map(graph).collect(),
        warnings: warnings(&comparison),
        params: params(&comparison),
        provenance: provenance(&comparison),
    }
}

/// How the experiment was laid out, in a sentence.
fn protocol(comparison: &Comparison, records: &[&Record]) -> String {
    let (data, layout) = (&comparison.data, &comparison.protocol);
    let first = records[0];
    let training = match layout.train_per_class {
        Some(n) => format!("{n} samples of every class ({} in all)", first.n_train),
        None => format!("{} samples", first.n_train),
    };
    let seeded = layout.seed.map_or(String::new(), |seed| format!(" (seed {seed})"));
    let splits = match (layout.repeats, layout.seed) {
        (n, _) if layout.folds.is_some() => {
            let (folds, times) = (layout.folds.unwrap_or(0), if n == 1 { "time" } else { "times" });
            format!("Stratified {folds}-fold cross-validation, {n} {times}{seeded}: each split")
        }
        (1, None) => "One given split".to_string(),
        (1, Some(_)) => format!("One random split{seeded}"),
        (n, None) => format!("Each of {n} given splits"),
        (n, Some(_)) => format!("Each of {n} random splits{seeded}"),
    };
    format!(
        "{} samples of {} features in {} classes. {splits} trains on {training} and tests on the other {}. \
         Preprocessing: {}, fitted on the training samples.",
        data.samples,
        data.features,
        data.classes,
        first.truth.len(),
        prep_text(comparison)
    )
}

/// Who was best, and whether that means anything.
fn headline(comparison: &Comparison) -> String {
    let Some(best) = comparison.results.iter().find(|result| is_best(result, &comparison.results)) else {
        return String::new();
    };
    let interval = best
        .ci95
        .map_or(String::new(), |[low, high]| format!(" (95 % interval {} to {})", percent(low), percent(high)));
    let is_best = |method: &str, rule: &str| method == best.name() && rule == best.rule;
    let with_best = |test: &&PairTest| is_best(&test.a, &test.a_rule) != is_best(&test.b, &test.b_rule);
    let against: Vec<f64> = comparison.tests.iter().filter(with_best).map(|test| test.p_holm).collect();
    let clear = against.iter().filter(|p| **p < LEVEL).count();
    let verdict = match (against.len(), clear) {
        (0, _) => String::new(),
        (1, 1) => " The other result is significantly lower (p < 0.05).".into(),
        (1, _) => " The other result is not significantly different.".into(),
        (all, 0) => format!(" None of the {all} other results differs significantly from it."),
        (all, clear) if all == clear => {
            format!(" All {all} other results differ significantly from it (p < 0.05 after Holm's correction).")
        }
        (all, clear) => format!(
            " {clear} of the {all} other results {} significantly from it (p < 0.05 after Holm's correction); the rest \
             might be as good.",
            if clear == 1 { "differs" } else { "differ" }
        ),
    };
    let guessing = no_better_than_guessing(comparison).map_or(String::new(), |sentence| format!(" {sentence}"));
    format!("Most accurate: {} with {} %{interval}.{verdict}{guessing}", name(best, comparison), percent(best.mean))
}

/// Ends of the scale on which intervals are drawn: all of them, but no result far below the median squeezes the others.
fn whisker_scale(results: &[MethodResult]) -> [f64; 2] {
    let ends = |result: &MethodResult| result.ci95.unwrap_or([result.mean; 2]);
    let high = results.iter().map(|result| ends(result)[1]).fold(f64::MIN, f64::max).min(1.0);
    let mut means: Vec<f64> = results.iter().map(|result| result.mean).collect();
    means.sort_by(f64::total_cmp);
    let median = means.get(means.len() / 2).copied().unwrap_or(0.0);
    let cut = high - 3.0 * (high - median).max(0.01);
    let low = results.iter().filter(|r| r.mean >= cut).map(|r| ends(r)[0].max(cut)).fold(f64::MAX, f64::min);
    if high - low < 1e-3 { [low - 5e-3, high + 5e-3] } else { [low, high] }
}

fn rows(comparison: &Comparison, [low, high]: [f64; 2]) -> Vec<Row> {
    let place = |value: f64| {
        let share = ((value - low) / (high - low)).clamp(0.0, 1.0);
        (1000.0 * (0.04 + 0.92 * share)).round() / 10.0
    };
    let row = |result: &MethodResult| Row {
        method: result.name(),
        rule: result.rule.clone(),
        mean: percent(result.mean),
        std: result.std.map_or("–".into(), percent),
        interval: result.ci95.map_or("–".into(), |[a, b]| format!("{} to {}", percent(a), percent(b))),
        train: seconds(mean(&result.train_seconds)),
        train_cpu: seconds(mean(&result.train_cpu_seconds)),
        test: seconds(mean(&result.test_seconds)),
        best: is_best(result, &comparison.results),
        whisker: result.ci95.filter(|_| result.mean >= low).map(|ci| ci.map(place)),
        dot: place(result.mean),
        below: result.mean < low,
    };
    let guessing = |majority: &Majority| Row {
        method: MAJORITY.into(),
        rule: "–".into(),
        mean: percent(majority.mean),
        std: "–".into(),
        interval: "–".into(),
        train: "–".into(),
        train_cpu: "–".into(),
        test: "–".into(),
        best: false,
        whisker: None,
        dot: place(majority.mean),
        below: majority.mean < low,
    };
    comparison.results.iter().map(row).chain(comparison.majority.as_ref().map(guessing)).collect()
}

fn tests(comparison: &Comparison) -> Tests {
    let key = |method: &str, rule: &str| format!("{method}\n{rule}");
    let mut known = BTreeMap::new();
    for test in &comparison.tests {
        let (a, b) = (key(&test.a, &test.a_rule), key(&test.b, &test.b_rule));
        known.insert((a.clone(), b.clone()), test.p_holm);
        known.insert((b, a), test.p_holm);
    }
    let mut shown: Vec<&MethodResult> = comparison.results.iter().collect();
    shown.sort_by(|a, b| b.mean.total_cmp(&a.mean));
    shown.truncate(MOST_TESTED);
    let keys: Vec<String> = shown.iter().map(|result| key(&result.name(), &result.rule)).collect();
    let cell = |a: &String, b: &String| match known.get(&(a.clone(), b.clone())) {
        Some(&p) if a != b => PValue { text: p_value(p), significant: p < LEVEL },
        _ => PValue::default(),
    };
    Tests {
        names: shown.iter().map(|result| clipped(&name(result, comparison), 28)).collect(),
        rows: keys.iter().map(|a| keys.iter().map(|b| cell(a, b)).collect()).collect(),
        left_out: comparison.results.len() - shown.len(),
    }
}

/// Of the rules in use and the best, the best first.
fn heat_maps(id: usize, comparison: &Comparison) -> Vec<HeatMap> {
    let best = |result: &MethodResult| is_best(result, &comparison.results);
    let mut shown: Vec<&MethodResult> =
        comparison.results.iter().filter(|result| result.in_use || best(result)).collect();
    shown.sort_by(|a, b| b.mean.total_cmp(&a.mean));
    let map = |(i, result): (usize, &&MethodResult)| {
        let title = format!("{}, {} %", name(result, comparison), percent(result.mean));
        heat_map(format!("heat{id}-{i}"), title, &result.confusion, &comparison.classes)
    };
    shown.iter().enumerate().map(map).collect()
}

fn warnings(comparison: &Comparison) -> Vec<WarningText> {
    let text = |warning: &crate::records::results::Warning| {
        let splits: Vec<String> = warning.splits.iter().map(|s| s.saturating_add(1).to_string()).collect();
        let word = if splits.len() == 1 { "split" } else { "splits" };
        WarningText {
            method: warning.method.clone(),
            splits: format!("{word} {}", splits.join(", ")),
            text: warning.text.clone(),
        }
    };
    comparison.warnings.iter().map(text).collect()
}

fn params(comparison: &Comparison) -> Vec<(String, String)> {
    let one = |result: &MethodResult| {
        let list: Vec<String> = result.params.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        (result.name(), list.join(" · ").replace("null", "auto").replace('"', ""))
    };
    comparison.results.iter().filter(|result| result.in_use).map(one).collect()
}

fn provenance(comparison: &Comparison) -> Vec<(&'static str, String)> {
    let origin = &comparison.provenance;
    vec![
        ("data", comparison.data.path.clone()),
        ("SHA-256 of the data", comparison.data.sha256.clone()),
        ("version", format!("atomlearn {}", origin.version)),
        ("started", origin.time.clone()),
        ("processor", origin.cpu.clone()),
        ("threads", origin.threads.to_string()),
    ]
}
