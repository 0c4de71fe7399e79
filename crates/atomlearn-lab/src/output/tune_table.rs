//! A tuning for people: the best points, what each value is good for, and the choice.

use crate::output::tables::{percent, seconds};
use crate::output::text_table::plain_table;
use crate::run::tune::Tuned;
use atomlearn::registry::Values;
use comfy_table::CellAlignment;
use serde_json::Value;
use std::fmt::Write;

/// Points that are listed.
const LISTED: usize = 10;

/// A parameter value as it is typed.
pub fn value_text(value: &Value) -> String {
    match value {
        Value::Null => "auto".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// `name=value` for all of them.
pub fn values_text(values: &Values) -> String {
    let texts: Vec<String> = values.iter().map(|(name, value)| format!("{name}={}", value_text(value))).collect();
    texts.join(" ")
}

/// Caption, best points, profiles and choice, for a terminal of this width.
pub fn terminal(tuned: &Tuned, width: u16, color: bool) -> String {
    let (data, protocol, best) = (&tuned.data, &tuned.protocol, tuned.best());
    let mut text = format!(
        "{}: {} of {} samples, {} classes\n{}: {} folds, seed {}; preprocessing {}; {} points from {} trainings in {} s\n",
        data.path,
        protocol.samples,
        data.samples,
        data.classes,
        best.method,
        protocol.folds,
        protocol.seed,
        protocol.prep,
        tuned.points.len(),
        tuned.trainings,
        seconds(tuned.seconds),
    );
    let mut table = plain_table(width, color);
    let names = tuned.grid.iter().map(|axis| axis.name.clone());
    table.set_header(["accuracy %".to_string(), "std. error".into()].into_iter().chain(names));
    for point in tuned.top(LISTED) {
        let numbers = [percent(point.score), point.std_error.map_or("-".into(), percent)];
        let values = tuned.grid.iter().map(|axis| value_text(&point.params[&axis.name]));
        table.add_row(numbers.into_iter().chain(values));
    }
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let _ = writeln!(text, "{table}\nBest accuracy % with each value:");
    let longest = tuned.grid.iter().map(|axis| axis.name.len()).max().unwrap_or(0);
    for axis in &tuned.grid {
        let cell = |(value, best): (&Value, Option<f64>)| {
            format!("{} {}", value_text(value), best.map_or("failed".into(), |best| format!("({})", percent(best))))
        };
        let cells: Vec<String> = axis.values.iter().zip(tuned.profile(axis)).map(cell).collect();
        let _ = writeln!(text, "  {:longest$}  {}", axis.name, cells.join("  "));
    }
    let _ = writeln!(
        text,
        "\nchosen: {}\n        {} % right, standard error {}",
        values_text(&tuned.chosen),
        percent(best.mean),
        percent(tuned.std_error())
    );
    let _ = writeln!(
        text,
        "within one standard error of the best: {} points; the simplest: {} ({} %)",
        tuned.one_se.points,
        values_text(&tuned.one_se.params),
        percent(tuned.one_se.mean)
    );
    if tuned.failed > 0 {
        let why = tuned.points.iter().find_map(|point| point.failed.as_deref()).unwrap_or_default();
        let _ = writeln!(text, "{} points failed, the first because: {why}", tuned.failed);
    }
    if tuned.warned > 0 {
        let _ = writeln!(text, "{} of {} trainings warned, for example:", tuned.warned, tuned.trainings);
        for warning in &tuned.warnings {
            let _ = writeln!(text, "  {warning}");
        }
    }
    text
}
