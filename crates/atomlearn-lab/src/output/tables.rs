//! A comparison as a table: for the terminal, in Markdown, CSV and LaTeX.

use crate::output::citations;
pub use crate::output::text_table::plain_table;
use crate::output::text_table::tex;
use crate::records::record::Protocol;
use crate::records::results::{Comparison, Majority, MethodResult};
use crate::stats::statistics::mean;
use atomlearn::registry;
use comfy_table::{Attribute, Cell, CellAlignment};
use std::fmt::Write;

/// One line of the table, as text.
struct TextRow {
    method: String,
    rule: String,
    accuracy: String,
    interval: String,
    train: String,
    test: String,
    best: bool,
}

/// What the row of guessing is called.
pub const MAJORITY: &str = "majority";

const HEAD: [&str; 6] = ["method", "rule", "accuracy %", "95 % interval", "train s", "test s"];

/// Per cent with as many digits as two hundred samples or more deserve.
pub fn percent(value: f64) -> String {
    format!("{:.2}", 100.0 * value)
}

/// Seconds to three significant digits, and no finer than a tenth of a millisecond.
pub fn seconds(value: f64) -> String {
    let digits = if value < 0.1 {
        4
    } else if value < 1.0 {
        3
    } else if value < 10.0 {
        2
    } else {
        1
    };
    format!("{value:.digits$}")
}

/// The results that rank highest.
pub fn is_best(result: &MethodResult, all: &[MethodResult]) -> bool {
    all.iter().all(|other| result.score >= other.score)
}

fn lines(comparison: &Comparison, plus_minus: &str) -> Vec<TextRow> {
    let line = |result: &MethodResult| TextRow {
        method: result.name(),
        rule: result.rule.clone(),
        accuracy: match result.std {
            Some(std) => format!("{}{plus_minus}{}", percent(result.mean), percent(std)),
            None => percent(result.mean),
        },
        interval: result.ci95.map_or("-".into(), |[low, high]| format!("{} to {}", percent(low), percent(high))),
        train: seconds(mean(&result.train_seconds)),
        test: seconds(mean(&result.test_seconds)),
        best: is_best(result, &comparison.results),
    };
    comparison.results.iter().map(line).chain(comparison.majority.as_ref().map(guessing)).collect()
}

/// The row that every method has to beat.
fn guessing(majority: &Majority) -> TextRow {
    let none = || "-".to_string();
    let accuracy = percent(majority.mean);
    TextRow {
        method: MAJORITY.into(),
        rule: none(),
        accuracy,
        interval: none(),
        train: none(),
        test: none(),
        best: false,
    }
}

/// The results that are not clearly better than guessing the most frequent class, in a sentence.
pub fn no_better_than_guessing(comparison: &Comparison) -> Option<String> {
    let majority = comparison.majority.as_ref()?;
    let beaten = |result: &&MethodResult| result.ci95.map_or(result.mean, |[low, _]| low) <= majority.mean;
    let names: Vec<String> =
        comparison.results.iter().filter(beaten).map(|result| format!("{} ({})", result.name(), result.rule)).collect();
    (!names.is_empty()).then(|| {
        format!(
            "Not clearly better than guessing the most frequent class ({} %): {}.",
            percent(majority.mean),
            names.join(", ")
        )
    })
}

/// A table for a terminal of this width; bold marks the best where `color` allows, and a star otherwise.
pub fn terminal(comparison: &Comparison, width: u16, color: bool) -> String {
    let mut table = plain_table(width, color);
    table.set_header(HEAD.map(|head| styled(head, color)));
    for line in lines(comparison, " ± ") {
        let star = if line.best { " *" } else { "  " };
        let cells = [line.method, line.rule, line.accuracy + star, line.interval, line.train, line.test];
        table.add_row(cells.map(|text| styled(&text, color && line.best)));
    }
    for column in 2..HEAD.len() {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string()
}

fn styled(text: &str, bold: bool) -> Cell {
    let cell = Cell::new(text);
    if bold { cell.add_attribute(Attribute::Bold) } else { cell }
}

/// What a reader must know to read the table, in one or two lines.
pub fn caption(comparison: &Comparison) -> String {
    let (data, protocol) = (&comparison.data, &comparison.protocol);
    let splits = splits_text(protocol);
    let seed = protocol.seed.map_or(String::new(), |seed| format!(", seed {seed}"));
    let tuned = comparison.results.iter().find(|result| result.tuned.is_some());
    let tuned = tuned.map_or(String::new(), |result| {
        let whose = if result.variant.is_some() { format!(" of {}", result.name()) } else { String::new() };
        format!("; parameters{whose} tuned within each training part")
    });
    format!(
        "{}: {} samples, {} features, {} classes; {splits}{seed}; preprocessing {}{tuned}",
        data.path,
        data.samples,
        data.features,
        data.classes,
        prep_text(comparison)
    )
}

fn splits_text(protocol: &Protocol) -> String {
    if let Some(folds) = protocol.folds {
        let times = if protocol.repeats == 1 { "once".into() } else { format!("{} times", protocol.repeats) };
        return format!("stratified {folds}-fold cross-validation, {times}");
    }
    let per_class =
        protocol.train_per_class.map_or("given training samples".into(), |n| format!("{n} training samples per class"));
    let splits = if protocol.repeats == 1 { "1 split".into() } else { format!("{} splits", protocol.repeats) };
    format!("{per_class}, {splits}")
}

/// What cross-validation means for the numbers, where they come from it.
pub fn folds_sentence(comparison: &Comparison) -> Option<String> {
    let times = match comparison.protocol.repeats {
        1 => "once".to_string(),
        2 => "twice".to_string(),
        n => format!("{n} times"),
    };
    comparison.protocol.folds.map(|folds| {
        format!(
            "Every sample is tested {times}, each time by a model trained on the other {} of {folds} folds; intervals and tests \
             allow for the overlap of the training parts.",
            folds.saturating_sub(1)
        )
    })
}

/// Preprocessing of the comparison, and of the methods that have their own.
pub fn prep_text(comparison: &Comparison) -> String {
    let mut own: Vec<String> = Vec::new();
    for result in &comparison.results {
        let Some(prep) = &result.prep else { continue };
        let text = match prep.as_str() {
            "none" if registry::method(&result.method).is_ok() => {
                format!("{}: none, it scales samples itself", result.name())
            }
            prep => format!("{}: {prep}", result.name()),
        };
        if !own.contains(&text) {
            own.push(text);
        }
    }
    let own = if own.is_empty() { String::new() } else { format!(" ({})", own.join("; ")) };
    format!("{}{own}", comparison.protocol.prep)
}

/// A Markdown table, the best in bold.
pub fn markdown(comparison: &Comparison) -> String {
    let mut text = format!("| {} |\n|---|---|---:|---:|---:|---:|\n", HEAD.join(" | "));
    for line in lines(comparison, " ± ") {
        let accuracy = if line.best { format!("**{}**", line.accuracy) } else { line.accuracy };
        let cells = [line.method, line.rule, accuracy, line.interval, line.train, line.test];
        let _ = writeln!(text, "| {} |", cells.map(|cell| cell.replace('|', "\\|")).join(" | "));
    }
    text
}

/// One line per method and rule, in full precision, times as means over the splits.
pub fn csv(comparison: &Comparison) -> String {
    let mut text = String::from(
        "method,rule,splits,mean,std,ci95_low,ci95_high,train_seconds,test_seconds,train_cpu_seconds,test_cpu_seconds\n",
    );
    for result in &comparison.results {
        let or_empty = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let numbers = [
            result.mean.to_string(),
            or_empty(result.std),
            or_empty(result.ci95.map(|ci| ci[0])),
            or_empty(result.ci95.map(|ci| ci[1])),
            mean(&result.train_seconds).to_string(),
            mean(&result.test_seconds).to_string(),
            mean(&result.train_cpu_seconds).to_string(),
            mean(&result.test_cpu_seconds).to_string(),
        ];
        let _ = writeln!(text, "{},{},{},{}", result.name(), result.rule, result.accuracy.len(), numbers.join(","));
    }
    if let Some(majority) = &comparison.majority {
        let _ = writeln!(text, "{MAJORITY},,{},{},,,,,,,", majority.accuracy.len(), majority.mean);
    }
    text
}

/// A LaTeX table for the `booktabs` package, best in bold.
pub fn latex(comparison: &Comparison) -> String {
    let mut text = format!("% {}\n", caption(comparison).replace(char::is_control, " "));
    text += "\\begin{tabular}{llrrr}\n\\toprule\n";
    text += "Method & Rule & Accuracy (\\%) & Train (s) & Test (s) \\\\\n\\midrule\n";
    for line in lines(comparison, " \\pm ") {
        let accuracy =
            if line.best { format!("$\\mathbf{{{}}}$", line.accuracy) } else { format!("${}$", line.accuracy) };
        let cells = [tex(&line.method), tex(&line.rule), accuracy, line.train, line.test];
        let _ = writeln!(text, "{} \\\\", cells.join(" & "));
    }
    text += "\\bottomrule\n\\end{tabular}\n";
    text + &cited(comparison)
}

/// BibTeX of the software and of every method in the table, as comments.
fn cited(comparison: &Comparison) -> String {
    let mut entries = vec![citations::software()];
    for result in &comparison.results {
        let entry = registry::method(&result.method).ok().and_then(citations::paper);
        entries.extend(entry.filter(|entry| !entries.contains(entry)));
    }
    entries.concat().lines().map(|line| format!("% {line}\n")).collect()
}

/// Another measure than accuracy by which results are ranked, with its values, in a sentence; none for accuracy.
pub fn ranked_by(comparison: &Comparison) -> Option<String> {
    let metric = comparison.protocol.metric;
    let mut results: Vec<&MethodResult> = comparison.results.iter().collect();
    results.sort_by(|a, b| b.score.total_cmp(&a.score));
    let values: Vec<String> =
        results.iter().map(|result| format!("{} ({}) {}", result.name(), result.rule, percent(result.score))).collect();
    (!metric.is_default()).then(|| format!("Ranked and tested by {} (%): {}.", metric.words(), values.join(", ")))
}

/// Accuracy against the number of training samples, one row per method; none without a learning curve.
pub fn learning_curve(comparison: &Comparison, width: u16, color: bool) -> Option<String> {
    let points = &comparison.learning_curve;
    let mut sizes: Vec<f64> = points.iter().map(|point| point.n_train).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let mut methods: Vec<&str> = Vec::new();
    for point in points {
        if !methods.contains(&point.method.as_str()) {
            methods.push(&point.method);
        }
    }
    let mut table = plain_table(width, color);
    table.set_header(
        std::iter::once("accuracy % with".to_string()).chain(sizes.iter().map(|n| format!("{n:.0} samples"))),
    );
    for method in &methods {
        let cell = |size: &f64| {
            let found = points.iter().find(|point| point.method == *method && point.n_train == *size);
            found.map_or(String::new(), |point| percent(point.mean))
        };
        table.add_row(std::iter::once(method.to_string()).chain(sizes.iter().map(cell)));
    }
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    (!methods.is_empty()).then(|| table.to_string())
}

/// More tests than this are too many to read: only those that leave a doubt are printed.
const MANY_TESTS: usize = 12;

/// How many tests there are against the best result, and a line for each; of many, only for those that leave a doubt.
pub fn tests_against_best(comparison: &Comparison) -> (usize, Vec<String>) {
    let Some(best) = comparison.best() else { return (0, Vec::new()) };
    let name = |method: &str, rule: &str| format!("{method} ({rule})");
    let best = name(&best.name(), &best.rule);
    let line = |test: &crate::records::results::PairTest| {
        let (a, b) = (name(&test.a, &test.a_rule), name(&test.b, &test.b_rule));
        let (other, difference) = if a == best { (b, test.difference) } else { (a, -test.difference) };
        format!("{best} over {other}: {:+.2} points, p {}", 100.0 * difference, p_equals(test.p_holm))
    };
    let tests: Vec<_> = comparison.tests.iter().filter(|test| test.with_best).collect();
    let number = tests.len();
    let (clear, doubtful): (Vec<_>, Vec<_>) =
        tests.into_iter().partition(|test| number > MANY_TESTS && test.p_holm < 0.05);
    let mut lines: Vec<String> = doubtful.into_iter().map(line).collect();
    match (clear.len(), lines.len()) {
        (0, _) => {}
        (clear, 0) => lines.push(format!("all {clear} others are lower beyond chance, p < 0.05")),
        (clear, _) => lines.push(format!("the {clear} others are lower beyond chance, p < 0.05")),
    }
    (number, lines)
}

fn p_equals(p: f64) -> String {
    let text = p_value(p);
    if text.starts_with('<') { text } else { format!("= {text}") }
}

/// A p-value as people write it.
pub fn p_value(p: f64) -> String {
    if p < 0.001 { "< 0.001".into() } else { format!("{p:.3}") }
}
