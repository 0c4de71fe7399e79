//! One comparison, ready for the template.

use super::atom_graph::{AtomGraphPlot, atom_graph};
use super::axes::clipped;
use super::convergence::{Convergence, convergence};
use super::curves::{calibration, learning_curve};
use super::gallery::{Gallery, gallery};
use super::heat_map::{HeatMap, heat_map};
use super::panel::Panel;
use super::photos::{PhotoGallery, Photos, photo_gallery};
use super::scatter::{Scatter, scatters};
use crate::output::tables::{MAJORITY, is_best, latex, p_value, percent, prep_text, seconds, times};
use crate::output::verdict::{LEVEL, Verdict, name, verdict};
use crate::records::record::{Mistake, Record, Suspicion};
use crate::records::results::{Comparison, CurvePoint, Majority, MethodResult, comparison, series};
use crate::stats::metrics::{Metric, per_class};
use crate::stats::statistics::mean;
use atomlearn::registry;
use serde::Serialize;
use std::collections::BTreeMap;

/// Results that the square of tests shows at most: the most accurate.
const MOST_TESTED: usize = 24;
/// Rows of a table of classes; of more the worst are shown.
const MOST_CLASSES: usize = 30;
/// Suspicious labels that are listed.
const MOST_SUSPICIOUS: usize = 12;

/// One comparison.
#[derive(Serialize)]
pub struct Section {
    id: usize,
    title: String,
    protocol: String,
    verdict: Option<Verdict>,
    rows: Vec<ResultRow>,
    /// The columns of balanced accuracy and F1 are worth their room.
    unbalanced: bool,
    /// What the rows are sorted by.
    metric: Metric,
    metric_words: &'static str,
    /// Ends of the scale of the whiskers, in per cent.
    scale: [String; 2],
    papers: Vec<Paper>,
    /// Of the best result.
    best: String,
    classes: Vec<ClassRow>,
    /// Classes that are not listed.
    more_classes: usize,
    mistakes: Vec<MistakeRow>,
    suspicious: Vec<DoubtedRow>,
    /// Suspicious labels that are not listed.
    more_suspicious: usize,
    calibration: Option<Panel>,
    /// Methods with probabilities that are not drawn.
    not_calibrated: String,
    learning_curve: Option<Panel>,
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
struct ResultRow {
    method: String,
    /// Its name in words, or what was run.
    title: String,
    rule: String,
    mean: String,
    std: String,
    interval: String,
    balanced: String,
    f1: String,
    train: String,
    test: String,
    best: bool,
    /// Ends of the whisker and place of the dot, in per cent of the width of the cell.
    whisker: Option<[f64; 2]>,
    dot: f64,
    /// The mean lies below the scale.
    below: bool,
}

/// Where a method comes from.
#[derive(Serialize)]
struct Paper {
    method: String,
    title: String,
    paper: String,
}

#[derive(Serialize)]
struct ClassRow {
    class: String,
    samples: usize,
    precision: String,
    recall: String,
    f1: String,
}

#[derive(Serialize)]
struct MistakeRow {
    sample: String,
    truth: String,
    found: String,
}

#[derive(Serialize)]
struct DoubtedRow {
    sample: String,
    label: String,
    proba: String,
    suggested: String,
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
    /// Tests of the best result, and of all other pairs.
    families: [usize; 2],
}

#[derive(Clone, Default, Serialize)]
struct PValue {
    text: String,
    significant: bool,
}

/// The section for the records of one group.
pub fn section(id: usize, records: &[&Record], curve: Vec<CurvePoint>, photos: Option<&Photos>) -> Section {
    let comparison = Comparison { learning_curve: curve, ..comparison(records) };
    let series = series(records);
    let file = comparison.data.path.rsplit(['/', '\\']).next().unwrap_or_default();
    let looked_into = || series.iter().filter_map(|records| records.iter().find(|r| r.inside.is_some()));
    let graph = |(i, record): (usize, &&Record)| atom_graph(format!("graph{id}-{i}"), record);
    let scale = whisker_scale(&comparison.results);
    let best = comparison.best();
    let classes = best.map_or_else(Vec::new, |best| class_rows(best, &comparison.classes));
    let suspicious = suspicious(records);
    let photos = photos.and_then(|photos| photo_gallery(photos, records));
    let (calibration, not_calibrated) =
        calibration(id, &series).map_or((None, String::new()), |(panel, left_out)| (Some(panel), left_out));
    Section {
        id,
        title: file.to_string(),
        protocol: protocol(&comparison, records),
        verdict: verdict(&comparison),
        rows: rows(&comparison, scale, records),
        unbalanced: is_unbalanced(&comparison),
        metric: comparison.protocol.metric,
        metric_words: comparison.protocol.metric.words(),
        scale: scale.map(|value| format!("{:.1}", 100.0 * value)),
        papers: papers(&comparison, records),
        best: best.map_or_else(String::new, |best| name(best, &comparison)),
        more_classes: comparison.classes.len().saturating_sub(classes.len()),
        classes,
        // With pictures the mistakes are shown as such.
        mistakes: best.filter(|_| photos.is_none()).map_or_else(Vec::new, |best| mistakes(best, records)),
        more_suspicious: suspicious.len().saturating_sub(MOST_SUSPICIOUS),
        suspicious: suspicious.into_iter().take(MOST_SUSPICIOUS).collect(),
        calibration,
        not_calibrated,
        learning_curve: best.and_then(|best| learning_curve(id, &comparison.learning_curve, &best.name())),
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
        photos,
        galleries: looked_into().filter_map(|record| gallery(record)).collect(),
        graphs: looked_into().enumerate().filter_map(graph).collect(),
        warnings: warnings(&comparison),
        params: params(&comparison),
        provenance: provenance(&comparison),
    }
}

/// Precision, recall and F1 of every class; of many classes those that are found worst.
fn class_rows(best: &MethodResult, classes: &[String]) -> Vec<ClassRow> {
    let found = per_class(&best.confusion);
    let mut order: Vec<usize> = (0..classes.len().min(found.len())).collect();
    if order.len() > MOST_CLASSES {
        order.sort_by(|&a, &b| found[a].f1.unwrap_or(2.0).total_cmp(&found[b].f1.unwrap_or(2.0)));
        order.truncate(MOST_CLASSES);
    }
    let text = |share: Option<f64>| share.map_or("–".into(), percent);
    let row = |c: usize| ClassRow {
        class: clipped(&classes[c], 48),
        samples: found[c].samples,
        precision: text(found[c].precision),
        recall: text(found[c].recall),
        f1: text(found[c].f1),
    };
    order.into_iter().map(row).collect()
}

/// What a sample is called.
fn sample_text(sample: usize, name: Option<&String>) -> String {
    name.map_or_else(|| format!("sample {sample}"), |name| clipped(name, 48))
}

/// The mistakes of the best method that it was most sure of.
fn mistakes(best: &MethodResult, records: &[&Record]) -> Vec<MistakeRow> {
    let own = |record: &&&Record| record.name() == best.name() && !record.mistakes.is_empty();
    let Some(record) = records.iter().find(own) else { return Vec::new() };
    let class = |c: usize| clipped(record.classes.get(c).map_or("", String::as_str), 48);
    let row = |mistake: &Mistake| MistakeRow {
        sample: sample_text(mistake.sample, mistake.name.as_ref()),
        truth: class(mistake.truth),
        found: class(mistake.found),
    };
    record.mistakes.iter().map(row).collect()
}

/// What `auto` doubts, where it took part.
fn suspicious(records: &[&Record]) -> Vec<DoubtedRow> {
    let Some(record) = records.iter().find(|record| !record.suspicious.is_empty()) else { return Vec::new() };
    let row = |doubt: &Suspicion| DoubtedRow {
        sample: sample_text(doubt.sample, doubt.name.as_ref()),
        label: clipped(&doubt.label, 48),
        proba: format!("{:.3}", doubt.proba),
        suggested: clipped(&doubt.suggested, 48),
    };
    record.suspicious.iter().map(row).collect()
}

/// The largest class has more than one and a half times the test samples of the smallest.
fn is_unbalanced(comparison: &Comparison) -> bool {
    let Some(first) = comparison.results.first() else { return false };
    let sizes = || (0..comparison.classes.len()).map(|c| first.confusion.samples(c));
    let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
    !comparison.protocol.metric.is_default() || 2 * most > 3 * least
}

/// What was run, for learners that are none of ours.
fn external<'a>(result: &MethodResult, records: &[&'a Record]) -> Option<&'a String> {
    records.iter().find(|record| record.name() == result.name()).and_then(|record| record.external.as_ref())
}

/// Where every method comes from, each once.
fn papers(comparison: &Comparison, records: &[&Record]) -> Vec<Paper> {
    let mut papers: Vec<Paper> = Vec::new();
    for result in &comparison.results {
        if papers.iter().any(|known| known.method == result.method) {
            continue;
        }
        let known = registry::method(&result.method).ok().filter(|_| external(result, records).is_none());
        let (title, paper) = match (known, external(result, records)) {
            (Some(method), _) => (method.title.to_string(), method.paper.to_string()),
            (None, Some(what)) => ("not a method of atomlearn".to_string(), clipped(what, 200)),
            (None, None) => continue,
        };
        papers.push(Paper { method: result.method.clone(), title, paper });
    }
    papers
}

/// How the experiment was laid out, in a sentence.
fn protocol(comparison: &Comparison, records: &[&Record]) -> String {
    let (data, layout) = (&comparison.data, &comparison.protocol);
    let first = records[0];
    let training = match (layout.train_at_least, layout.train_per_class) {
        (Some(n), _) => format!("at least {n} samples of every class ({} in all)", first.n_train),
        (None, Some(n)) => format!("{n} samples of every class ({} in all)", first.n_train),
        (None, None) => format!("{} samples", first.n_train),
    };
    let seeded = layout.seed.map_or(String::new(), |seed| format!(" (seed {seed})"));
    let splits = match (layout.repeats, layout.seed) {
        (n, _) if layout.folds.is_some() => {
            let folds = layout.folds.unwrap_or(0);
            format!("Stratified {folds}-fold cross-validation, {}{seeded}: each split", times(n))
        }
        (1, None) => "One given split".to_string(),
        (1, Some(_)) => format!("One random split{seeded}"),
        (n, None) => format!("Each of {n} given splits"),
        (n, Some(_)) => format!("Each of {n} random splits{seeded}"),
    };
    let groups = layout.groups.as_ref().map_or(String::new(), |groups| {
        format!(" Each of the {} is on one side, and is what intervals and tests count.", groups.text())
    });
    format!(
        "{} samples of {} features in {} classes. {splits} trains on {training} and tests on the other {}.{groups} \
         Preprocessing: {}, fitted on the training samples.",
        data.samples,
        data.features,
        data.classes,
        first.truth.len(),
        prep_text(comparison)
    )
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

/// One row per result and one of guessing, the best first.
fn rows(comparison: &Comparison, [low, high]: [f64; 2], records: &[&Record]) -> Vec<ResultRow> {
    let place = |value: f64| {
        let share = ((value - low) / (high - low)).clamp(0.0, 1.0);
        (1000.0 * (0.04 + 0.92 * share)).round() / 10.0
    };
    let title = |result: &MethodResult| match external(result, records) {
        Some(what) => clipped(what, 60),
        None => registry::method(&result.method).map_or_else(|_| String::new(), |method| method.title.to_string()),
    };
    let row = |result: &MethodResult| ResultRow {
        method: result.name(),
        title: title(result),
        rule: result.rule.clone(),
        mean: percent(result.mean),
        std: result.std.map_or("–".into(), percent),
        interval: result.ci95.map_or("–".into(), |[a, b]| format!("{} to {}", percent(a), percent(b))),
        balanced: match (comparison.protocol.metric, result.score_ci95) {
            (Metric::BalancedAccuracy, Some([low, high])) => {
                format!("{} ({} to {})", percent(result.score), percent(low), percent(high))
            }
            _ => percent(mean(&result.balanced_accuracy)),
        },
        f1: percent(mean(&result.macro_f1)),
        train: seconds(mean(&result.train_seconds)),
        test: seconds(mean(&result.test_seconds)),
        best: is_best(result, &comparison.results),
        whisker: result.ci95.filter(|_| result.mean >= low).map(|ci| ci.map(place)),
        dot: place(result.mean),
        below: result.mean < low,
    };
    let guessing = |majority: &Majority| ResultRow {
        method: MAJORITY.into(),
        title: "always guessing the most frequent class".into(),
        rule: "–".into(),
        mean: percent(majority.mean),
        std: "–".into(),
        interval: "–".into(),
        balanced: percent(mean(&majority.balanced_accuracy)),
        f1: percent(mean(&majority.macro_f1)),
        train: "–".into(),
        test: "–".into(),
        best: false,
        whisker: None,
        dot: place(majority.mean),
        below: majority.mean < low,
    };
    let metric = comparison.protocol.metric;
    let scored = comparison.results.iter().map(|result| (result.score, row(result)));
    let mut rows: Vec<(f64, ResultRow)> =
        scored.chain(comparison.majority.iter().map(|m| (m.score(metric), guessing(m)))).collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    rows.into_iter().map(|(_, row)| row).collect()
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
    shown.sort_by(|a, b| b.score.total_cmp(&a.score));
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
        families: comparison.family_sizes(),
    }
}

/// Of the rules in use and the best, the best first.
fn heat_maps(id: usize, comparison: &Comparison) -> Vec<HeatMap> {
    let best = |result: &MethodResult| is_best(result, &comparison.results);
    let mut shown: Vec<&MethodResult> =
        comparison.results.iter().filter(|result| result.in_use || best(result)).collect();
    shown.sort_by(|a, b| b.score.total_cmp(&a.score));
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
    let command = origin.origin.command.as_ref().map(|command| ("command", command.clone()));
    let mut facts = vec![
        ("data", comparison.data.path.clone()),
        ("SHA-256 of the data", comparison.data.sha256.clone()),
        ("version", format!("atomlearn {}", origin.version)),
        ("started", origin.time.clone()),
        ("processor", origin.cpu.clone()),
        ("threads", origin.threads.to_string()),
    ];
    facts.extend(comparison.protocol.groups.as_ref().map(|groups| ("groups", groups.text())));
    facts.extend(command);
    facts
}
