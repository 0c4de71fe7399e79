//! Whether the first row names the columns or is a sample.
//!
//! The first row is held against the whole columns below it. Text over numbers is a name; text that occurs again below is a value; a
//! row of numbers is a header if it runs up or down as wavelengths, years and pandas' own column numbers do and as the rows below
//! do not. Missing cells say nothing either way.

use super::Rows;
use super::cells::{Texts, is_missing, parse_number};
use super::roles::is_label_name;
use super::schema::TableSchema;
use std::collections::HashSet;

/// Numbers in a row that run up or down by chance once in 40 000 rows.
const LONG: usize = 8;
/// Rows below that are looked at where rows are compared.
const COMPARED: usize = 200;

/// What was decided.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HeaderVerdict {
    /// The first row names the columns.
    pub(super) header: bool,
    /// It could have been the other way.
    pub(super) doubtful: bool,
}

const HEADER: HeaderVerdict = HeaderVerdict { header: true, doubtful: false };
const SAMPLE: HeaderVerdict = HeaderVerdict { header: false, doubtful: false };

/// Decides; `schema` is what a model knows of the table it was trained on.
pub(super) fn decide(rows: &Rows, comma: bool, y: Option<&str>, schema: Option<&TableSchema>) -> HeaderVerdict {
    let first: Vec<&str> = rows.columns.iter().map(|column| column.get(0)).collect();
    if let Some(schema) = schema.filter(|schema| schema.header) {
        let known = schema.features.iter().filter(|feature| first.contains(&feature.name.as_str())).count();
        if 2 * known > schema.features.len() {
            return HEADER;
        }
    }
    let below: Vec<Below> = rows.columns.iter().map(|column| Below::of(column, comma)).collect();
    if rows.lines.len() < 2 {
        let names = first.iter().all(|cell| is_missing(cell) || parse_number(cell, comma).is_none());
        return HeaderVerdict { header: names, doubtful: false };
    }
    let columns = || first.iter().copied().zip(&below).filter(|(cell, _)| !is_missing(cell));
    let text = || columns().filter(|(cell, _)| parse_number(cell, comma).is_none());
    let numbers: Vec<(f64, &Below)> =
        columns().filter_map(|(cell, below)| Some((parse_number(cell, comma)?, below))).collect();
    let named = |cell: &str| {
        // A column number is not a name, and `y` may be the `yes` of a table of answers.
        y == Some(cell) || (cell.len() > 1 && is_label_name(cell)) || cell.eq_ignore_ascii_case("is_train")
    };
    if text().any(|(_, below)| below.repeats_first) && !text().any(|(cell, below)| named(cell) && !below.repeats_first)
    {
        return SAMPLE;
    }
    if text().any(|(cell, below)| below.is_number || named(cell)) {
        return HEADER;
    }
    let new_text = text().any(|(_, below)| below.is_category);
    if numbers.is_empty() {
        // Text over text alone: names, unless the table is too short to tell.
        return HeaderVerdict { header: true, doubtful: !new_text };
    }
    // A model that was trained without a header sees numbers as samples.
    if schema.is_some_and(|schema| !schema.header) {
        return SAMPLE;
    }
    let values: Vec<f64> = numbers.iter().map(|(value, _)| *value).collect();
    // The label column at either end may break the run.
    let inner = [&values[..], &values[1..], &values[..values.len() - 1]];
    let Some(values) = inner.into_iter().find(|part| runs(part)) else { return SAMPLE };
    if share_of_running_rows(rows, comma) > 0.25 {
        return SAMPLE;
    }
    let far = numbers.iter().all(|(value, below)| below.is_far(*value)) && rows.lines.len() > 5;
    let counted = values.len() >= 3 && is_progression(values, Some(1.0)) && (values[0] == 0.0 || values[0] == 1.0);
    let even = values.len() >= 5 && is_progression(values, None) && values.iter().all(|v| v.fract() == 0.0);
    let header = values.len() >= LONG || counted || even || (far && (values.len() >= 3 || new_text));
    HeaderVerdict { header, doubtful: !header && values.len() >= 3 }
}

/// What a column holds below its first cell.
struct Below {
    is_number: bool,
    /// Text of which every value occurs twice or more on average.
    is_category: bool,
    /// The first cell occurs again.
    repeats_first: bool,
    low: f64,
    high: f64,
}

impl Below {
    fn of(column: &Texts, comma: bool) -> Self {
        let first = column.get(0);
        let mut filled = 0;
        let mut numbers = 0;
        let mut repeats_first = false;
        let mut low = f64::INFINITY;
        let mut high = f64::NEG_INFINITY;
        let mut values = HashSet::new();
        for cell in column.iter().skip(1).filter(|cell| !is_missing(cell)) {
            filled += 1;
            repeats_first |= cell == first;
            match parse_number(cell, comma) {
                Some(value) => {
                    numbers += 1;
                    (low, high) = (low.min(value), high.max(value));
                }
                None => {
                    values.insert(cell);
                }
            }
        }
        let is_number = filled > 0 && 2 * (filled - numbers) < filled;
        let is_category = !is_number && filled >= 2 * values.len() && filled > 0;
        Below { is_number, is_category, repeats_first: repeats_first && !is_number, low, high }
    }

    /// Farther from all values than they are from each other.
    fn is_far(&self, value: f64) -> bool {
        let range = self.high - self.low;
        !self.is_number || value < self.low - range || value > self.high + range
    }
}

/// True if the values rise all the way, or fall.
fn runs(values: &[f64]) -> bool {
    values.len() > 1
        && (values.windows(2).all(|pair| pair[0] < pair[1]) || values.windows(2).all(|pair| pair[0] > pair[1]))
}

/// True if the steps between values are equal, and equal to `step` where it is given.
fn is_progression(values: &[f64], step: Option<f64>) -> bool {
    let step = step.unwrap_or(values[1] - values[0]);
    values.windows(2).all(|pair| (pair[1] - pair[0] - step).abs() <= 1e-9 * step.abs())
}

/// How many of the rows below run up or down too.
fn share_of_running_rows(rows: &Rows, comma: bool) -> f64 {
    let last = rows.lines.len().min(COMPARED + 1);
    let running = |row: &usize| {
        let cells = rows.columns.iter().map(|column| column.get(*row));
        runs(&cells.filter_map(|cell| parse_number(cell, comma)).filter(|v| !v.is_nan()).collect::<Vec<f64>>())
    };
    (1..last).filter(running).count() as f64 / (last - 1).max(1) as f64
}
