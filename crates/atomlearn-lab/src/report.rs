//! The report: one self-contained HTML page, a pure function of the records.

use crate::plots::{Curves, HeatMap, Scatter, convergence, heat_map, name, scatter};
use crate::record::Record;
use crate::results::{Comparison, MethodResult, comparisons};
use crate::statistics::mean;
use crate::tables::{caption, is_best, latex, p_value, percent, seconds};
use atomlearn::{Error, Result};
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, context};
use serde::Serialize;
use std::collections::BTreeMap;

const PAGE: &str = include_str!("../templates/page.html");
const STYLE: &str = include_str!("../templates/style.css");
const PLOTS: &str = include_str!("../templates/plots.html");

/// One comparison, ready for the template.
#[derive(Serialize)]
struct Section {
    id: usize,
    title: String,
    caption: String,
    sha256: String,
    rows: Vec<Row>,
    test_name: &'static str,
    test_names: Vec<String>,
    tests: Vec<Vec<String>>,
    latex: String,
    scatter: Scatter,
    curves: Vec<Curves>,
    heat_maps: Vec<HeatMap>,
    warnings: Vec<String>,
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
}

/// The page for these records; one section per data set and protocol.
pub fn page(records: &[Record]) -> Result<String> {
    let comparisons = comparisons(records);
    let sections: Vec<Section> = comparisons.iter().enumerate().map(|(id, c)| section(id, c)).collect();
    let wrong = |e: minijinja::Error| Error::format("report", format!("the page cannot be made: {e:#}"));
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_template("style.css", STYLE).map_err(wrong)?;
    environment.add_template("plots.html", PLOTS).map_err(wrong)?;
    environment.add_template("page.html", PAGE).map_err(wrong)?;
    let template = environment.get_template("page.html").map_err(wrong)?;
    template
        .render(context! { sections => Value::from(Serde(&sections)), version => env!("CARGO_PKG_VERSION") })
        .map_err(wrong)
}

fn section(id: usize, comparison: &Comparison) -> Section {
    let names: Vec<String> = comparison.results.iter().map(|result| name(result, comparison)).collect();
    let file = comparison.data.path.rsplit(['/', '\\']).next().unwrap_or_default();
    let mut maps: Vec<(bool, HeatMap)> = comparison
        .results
        .iter()
        .zip(&names)
        .filter(|(result, _)| result.in_use || is_best(result, &comparison.results))
        .map(|(result, name)| {
            let title = format!("{name}, {} %", percent(result.mean));
            (is_best(result, &comparison.results), heat_map(title, &result.confusion, &comparison.classes))
        })
        .collect();
    maps.sort_by_key(|(best, _)| !best);
    Section {
        id,
        title: file.to_string(),
        caption: caption(comparison),
        sha256: comparison.data.sha256.clone(),
        rows: rows(comparison),
        test_name: match comparison.tests.first().map(|test| test.test) {
            Some("mcnemar") => "McNemar's exact test on the one split",
            Some(_) => "corrected resampled t-test (Nadeau and Bengio) over the splits",
            None => "",
        },
        tests: p_matrix(comparison),
        test_names: names,
        latex: latex(comparison),
        scatter: scatter(comparison),
        curves: convergence(comparison),
        heat_maps: maps.into_iter().map(|(_, map)| map).collect(),
        warnings: comparison
            .warnings
            .iter()
            .map(|warning| {
                let splits: Vec<String> = warning.splits.iter().map(|s| (s + 1).to_string()).collect();
                format!("{} (split {}): {}", warning.method, splits.join(", "), warning.text)
            })
            .collect(),
        params: params(comparison),
        provenance: vec![
            ("data", comparison.data.path.clone()),
            ("SHA-256 of the data", comparison.data.sha256.clone()),
            ("version", format!("atomlearn {}", comparison.provenance.version)),
            ("started", comparison.provenance.time.clone()),
            ("processor", comparison.provenance.cpu.clone()),
            ("threads", comparison.provenance.threads.to_string()),
        ],
    }
}

fn rows(comparison: &Comparison) -> Vec<Row> {
    let ends = |result: &MethodResult| result.ci95.unwrap_or([result.mean; 2]);
    let low = comparison.results.iter().map(|result| ends(result)[0]).fold(f64::MAX, f64::min);
    let high = comparison.results.iter().map(|result| ends(result)[1]).fold(f64::MIN, f64::max);
    let place = |value: f64| {
        let share = if high > low { (value - low) / (high - low) } else { 0.5 };
        (1000.0 * (0.04 + 0.92 * share)).round() / 10.0
    };
    let row = |result: &MethodResult| Row {
        method: result.method.clone(),
        rule: result.rule.clone(),
        mean: percent(result.mean),
        std: result.std.map_or(String::new(), percent),
        interval: result.ci95.map_or("one split".into(), |[a, b]| format!("{} to {}", percent(a), percent(b))),
        train: seconds(mean(&result.train_seconds)),
        train_cpu: seconds(mean(&result.train_cpu_seconds)),
        test: seconds(mean(&result.test_seconds)),
        best: is_best(result, &comparison.results),
        whisker: result.ci95.map(|ci| ci.map(place)),
        dot: place(result.mean),
    };
    comparison.results.iter().map(row).collect()
}

/// p-values of all pairs, as a square of texts.
fn p_matrix(comparison: &Comparison) -> Vec<Vec<String>> {
    let key = |method: &str, rule: &str| format!("{method}\n{rule}");
    let mut known = BTreeMap::new();
    for test in &comparison.tests {
        let (a, b) = (key(&test.a, &test.a_rule), key(&test.b, &test.b_rule));
        known.insert((a.clone(), b.clone()), test.p);
        known.insert((b, a), test.p);
    }
    let keys: Vec<String> = comparison.results.iter().map(|result| key(&result.method, &result.rule)).collect();
    let cell = |a: &String, b: &String| known.get(&(a.clone(), b.clone())).map_or(String::new(), |p| p_value(*p));
    keys.iter().map(|a| keys.iter().map(|b| cell(a, b)).collect()).collect()
}

fn params(comparison: &Comparison) -> Vec<(String, String)> {
    let one = |result: &MethodResult| {
        let list: Vec<String> = result.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
        (result.method.clone(), list.join("  ").replace("null", "auto").replace('"', ""))
    };
    comparison.results.iter().filter(|result| result.in_use).map(one).collect()
}
