//! A comparison as a table: for the terminal, in Markdown, CSV and LaTeX.

use crate::output::citations;
pub use crate::output::text_table::plain_table;
use crate::output::text_table::tex;
use crate::records::record::Protocol;
use crate::records::results::{Comparison, Majority, MethodResult};
use crate::stats::metrics::Metric;
use crate::stats::statistics::{mean, std};
use atomlearn::registry;
use comfy_table::{Attribute, Cell, CellAlignment};
use std::fmt::Write;

/// One line of the table: method, rule, what ranks with its interval, accuracy if that is something else, times.
struct TextRow {
    cells: Vec<String>,
    best: bool,
}

/// The column of what results are ranked by; its interval is the next.
const RANKING: usize = 2;

/// What the row of guessing is called.
pub const MAJORITY: &str = "majority";

/// Names of the columns of a [`TextRow`].
fn head(metric: Metric) -> Vec<String> {
    let accuracy = (!metric.is_default()).then(|| "accuracy %".to_string());
    let ranking = ["method".into(), "rule".into(), format!("{} %", metric.words()), "95 % interval".into()];
    ranking.into_iter().chain(accuracy).chain(["train s".into(), "test s".into()]).collect()
}

/// Per cent with as many digits as two hundred samples or more deserve.
pub fn percent(value: f64) -> String {
    // No sum of nothing may show as -0.00.
    format!("{:.2}", 100.0 * value + 0.0)
}

/// A number of things, in the singular where it is one: `1 feature`, `2 features`.
pub fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
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
    let metric = comparison.protocol.metric;
    let spread = |value: f64, std: Option<f64>| match std {
        Some(std) => format!("{}{plus_minus}{}", percent(value), percent(std)),
        None => percent(value),
    };
    let interval = |ci95: Option<[f64; 2]>| match ci95 {
        Some([low, high]) => format!("{} to {}", percent(low), percent(high)),
        None => "-".into(),
    };
    let line = |result: &MethodResult| {
        let ranking = [spread(result.score, std(result.scores(metric))), interval(result.score_ci95)];
        let accuracy = (!metric.is_default()).then(|| spread(result.mean, result.std));
        let times = [&result.train_seconds, &result.test_seconds].map(|times| seconds(mean(times)));
        let cells = [result.name(), result.rule.clone()].into_iter().chain(ranking).chain(accuracy).chain(times);
        TextRow { cells: cells.collect(), best: is_best(result, &comparison.results) }
    };
    comparison.results.iter().map(line).chain(comparison.majority.as_ref().map(|m| guessing(m, metric))).collect()
}

/// The row that every method has to beat.
fn guessing(majority: &Majority, metric: Metric) -> TextRow {
    let none = || "-".to_string();
    let accuracy = (!metric.is_default()).then(|| percent(majority.mean));
    let ranking = [MAJORITY.to_string(), none(), percent(majority.score(metric)), none()];
    TextRow { cells: ranking.into_iter().chain(accuracy).chain([none(), none()]).collect(), best: false }
}

/// The results that are not clearly better than guessing the most frequent class, in a sentence.
pub fn no_better_than_guessing(comparison: &Comparison) -> Option<String> {
    let majority = comparison.majority.as_ref()?;
    let metric = comparison.protocol.metric;
    let guess = majority.score(metric);
    let beaten = |result: &&MethodResult| result.score_ci95.map_or(result.score, |[low, _]| low) <= guess;
    let names: Vec<String> =
        comparison.results.iter().filter(beaten).map(|result| format!("{} ({})", result.name(), result.rule)).collect();
    (!names.is_empty()).then(|| {
        format!(
            "Not clearly better than guessing the most frequent class ({} {} %): {}.",
            metric.words(),
            percent(guess),
            names.join(", ")
        )
    })
}

/// A table for a terminal of this width; bold marks the best where `color` allows, and a star otherwise.
pub fn terminal(comparison: &Comparison, width: u16, color: bool) -> String {
    let mut table = plain_table(width, color);
    let head = head(comparison.protocol.metric);
    table.set_header(head.iter().map(|head| styled(head, color)));
    for mut line in lines(comparison, " ± ") {
        line.cells[RANKING] += if line.best { " *" } else { "  " };
        table.add_row(line.cells.iter().map(|text| styled(text, color && line.best)));
    }
    for column in RANKING..head.len() {
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
        "{}: {} samples, {}, {} classes; {splits}{seed}; preprocessing {}{tuned}",
        data.path,
        data.samples,
        counted(data.features, "feature"),
        data.classes,
        prep_text(comparison)
    )
}

fn splits_text(protocol: &Protocol) -> String {
    let groups = protocol.groups.as_ref().map_or(String::new(), |groups| format!(", {} kept whole", groups.text()));
    if let Some(folds) = protocol.folds {
        let times = times(protocol.repeats);
        return format!("stratified {folds}-fold cross-validation, {times}{groups}");
    }
    let per_class = match (protocol.train_at_least, protocol.train_per_class) {
        (Some(n), _) => format!("at least {n} training samples per class"),
        (None, Some(n)) => format!("{n} training samples per class"),
        (None, None) => "given training samples".into(),
    };
    let splits = if protocol.repeats == 1 { "1 split".into() } else { format!("{} splits", protocol.repeats) };
    format!("{per_class}, {splits}{groups}")
}

/// How often, in words.
pub fn times(n: usize) -> String {
    match n {
        1 => "once".into(),
        2 => "twice".into(),
        n => format!("{n} times"),
    }
}

/// What cross-validation means for the numbers, where they come from it.
pub fn folds_sentence(comparison: &Comparison) -> Option<String> {
    let times = times(comparison.protocol.repeats);
    comparison.protocol.folds.map(|folds| {
        format!(
            "Every sample is tested {times}, each time by a model trained on the other {} of {folds} folds; intervals and tests \
             allow for the overlap of the training parts. Means are over folds: counts that are summed over all folds, as in \
             confusion matrices, may give slightly other shares.",
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

/// What the signs in the table mean.
pub fn legend(comparison: &Comparison) -> String {
    let splits = comparison.results.first().map_or(0, |result| result.accuracy.len());
    let plus_minus =
        if splits > 1 { format!("± is the standard deviation over the {splits} splits; ") } else { String::new() };
    let interval = match comparison.protocol.metric {
        Metric::MacroF1 => "macro F1 has no interval, since it is no mean over samples".to_string(),
        _ => "the interval is that of the mean".into(),
    };
    format!("{plus_minus}{interval}; * marks the highest {}.", comparison.protocol.metric.words())
}

/// A Markdown table, the best in bold.
pub fn markdown(comparison: &Comparison) -> String {
    let head = head(comparison.protocol.metric);
    let mut text = format!("| {} |\n|---|---|{}\n", head.join(" | "), "---:|".repeat(head.len() - RANKING));
    for mut line in lines(comparison, " ± ") {
        line.cells.iter_mut().for_each(|cell| *cell = cell.replace('|', "\\|"));
        if line.best {
            line.cells[RANKING] = format!("**{}**", line.cells[RANKING]);
        }
        let _ = writeln!(text, "| {} |", line.cells.join(" | "));
    }
    comparison.cautions.iter().for_each(|caution| text += &format!("\nCaution: {caution}.\n"));
    text
}

/// One line per method and rule, in full precision, times as means over the splits; at the end what results are ranked by.
pub fn csv(comparison: &Comparison) -> String {
    let mut text = String::from(
        "method,rule,splits,mean,std,ci95_low,ci95_high,train_seconds,test_seconds,train_cpu_seconds,test_cpu_seconds,\
         metric,score,score_ci95_low,score_ci95_high\n",
    );
    let metric = comparison.protocol.metric;
    let words = metric.words();
    for result in &comparison.results {
        let or_empty = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let ends = |ci95: Option<[f64; 2]>| [or_empty(ci95.map(|ci| ci[0])), or_empty(ci95.map(|ci| ci[1]))].join(",");
        let numbers = [
            result.mean.to_string(),
            or_empty(result.std),
            ends(result.ci95),
            mean(&result.train_seconds).to_string(),
            mean(&result.test_seconds).to_string(),
            mean(&result.train_cpu_seconds).to_string(),
            mean(&result.test_cpu_seconds).to_string(),
            words.to_string(),
            result.score.to_string(),
            ends(result.score_ci95),
        ];
        let _ = writeln!(text, "{},{},{},{}", result.name(), result.rule, result.accuracy.len(), numbers.join(","));
    }
    if let Some(majority) = &comparison.majority {
        let (splits, mean, score) = (majority.accuracy.len(), majority.mean, majority.score(metric));
        let _ = writeln!(text, "{MAJORITY},,{splits},{mean},,,,,,,,{words},{score},,");
    }
    text
}

/// A LaTeX table for the `booktabs` package, best in bold.
pub fn latex(comparison: &Comparison) -> String {
    let metric = comparison.protocol.metric;
    let head = head(metric);
    let comments =
        std::iter::once(caption(comparison)).chain(comparison.cautions.iter().map(|c| format!("Caution: {c}")));
    let mut text = comments.map(|line| format!("% {}\n", line.replace(char::is_control, " "))).collect::<String>();
    let _ = writeln!(text, "\\begin{{tabular}}{{ll{}}}\n\\toprule", "r".repeat(head.len() - RANKING));
    let title = |name: &String| match name.as_str() {
        "train s" => "Train (s)".to_string(),
        "test s" => "Test (s)".into(),
        "95 % interval" => "95\\,\\% interval".into(),
        other => match other.strip_suffix(" %") {
            Some(measure) => capital(measure) + " (\\%)",
            None => capital(other),
        },
    };
    let _ = writeln!(text, "{} \\\\\n\\midrule", head.iter().map(title).collect::<Vec<_>>().join(" & "));
    for line in lines(comparison, " \\pm ") {
        let cell = |(column, text): (usize, &String)| match column {
            0 | 1 => tex(text),
            RANKING if line.best => format!("$\\mathbf{{{text}}}$"),
            _ if text.contains("\\pm") || column == RANKING => format!("${text}$"),
            _ => text.clone(),
        };
        let cells: Vec<String> = line.cells.iter().enumerate().map(cell).collect();
        let _ = writeln!(text, "{} \\\\", cells.join(" & "));
    }
    let splits = comparison.results.first().map_or(0, |result| result.accuracy.len());
    let note = match splits {
        0 | 1 => "Interval over samples; bold: highest".to_string(),
        _ => format!(
            "$\\pm$: standard deviation over {splits} splits; interval of the mean over samples and splits; bold: highest"
        ),
    };
    text += "\\bottomrule\n";
    let _ = writeln!(text, "\\multicolumn{{{}}}{{l}}{{\\footnotesize {note} {}.}} \\\\", head.len(), metric.words());
    text += "\\end{tabular}\n";
    text + &cited(comparison)
}

/// With its first letter in upper case.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// BibTeX of the software and of every method in the table, as comments.
fn cited(comparison: &Comparison) -> String {
    let mut entries = vec![citations::software()];
    for result in &comparison.results {
        let entry = registry::method(&result.method).ok().and_then(citations::paper);
        entries.extend(entry.filter(|entry| !entries.contains(entry)));
    }
    // The page that shows this needs no network and names no address; `atomlearn cite` gives that of the software.
    let lines = entries.concat();
    lines.lines().filter(|line| !line.contains("://")).map(|line| format!("% {line}\n")).collect()
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
