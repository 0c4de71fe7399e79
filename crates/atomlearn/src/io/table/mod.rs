//! Tables: one sample per row, columns for features, labels, ids and a split.
//!
//! Every kind of table (`.csv`, `.tsv`, `.txt`, packed or not, `.xlsx`, `.parquet`) becomes a [`Table`] of named columns. One place
//! decides what each column is for ([`roles`]), one what features are made of it ([`fit`]); both are kept in a [`TableSchema`],
//! which goes with a model and is applied to later tables ([`apply`]).

mod apply;
mod cells;
mod fit;
mod header;
mod part;
mod roles;
mod schema;
mod target;
mod text;
#[cfg(feature = "xlsx")]
mod xlsx;

pub use cells::Cell;
pub(crate) use cells::{Cells, Column};
pub use part::TablePart;
pub use schema::{ColumnKind, Encoded, FeatureColumn, Fill, Impute, Matched, NamedColumn, TableSchema};

#[cfg(not(feature = "xlsx"))]
use super::left_out::xlsx;

use super::labels::{self, LabelTexts};
use super::{Orientation, RawData, ReadOptions, Variable, array, assemble, limits};
use crate::{Error, Result};
use cells::{Look, Texts, parse_flag};
use roles::Roles;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Something to tell the user about a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// A warning; else a remark.
    pub warning: bool,
    /// What to say.
    pub text: String,
}

impl Note {
    /// A remark.
    pub fn plain(text: impl Into<String>) -> Self {
        Note { warning: false, text: text.into() }
    }

    /// A warning.
    pub fn warning(text: impl Into<String>) -> Self {
        Note { warning: true, text: text.into() }
    }
}

/// Cells as a file of text has them, the first row among them.
#[derive(Debug)]
pub(super) struct Rows {
    columns: Vec<Texts>,
    /// Where each row stands in the file, from 1.
    lines: Vec<u64>,
    /// What those numbers count.
    numbered: &'static str,
    /// The cells were separated by semicolons.
    semicolons: bool,
    /// The first row was one cell short, and an empty one was put before it.
    short_header: bool,
    notes: Vec<Note>,
}

impl Rows {
    fn push<'a>(&mut self, path: &Path, line: u64, cells: impl Iterator<Item = &'a str> + Clone) -> Result<()> {
        let width = cells.clone().count();
        if self.lines.is_empty() {
            self.columns = (0..width).map(|_| Texts::default()).collect();
        }
        if width != self.columns.len() {
            let why = format!(
                "{} {line} has {width} cells, the rows before it {}; every row needs the same number",
                self.numbered,
                self.columns.len()
            );
            return Err(Error::format(path, why));
        }
        self.lines.push(line);
        self.columns.iter_mut().zip(cells).try_for_each(|(column, cell)| column.push(path, cell))
    }
}

/// A table of named columns; without a header they are called by their numbers from 1.
#[derive(Debug)]
pub(super) struct Table<'p> {
    path: &'p Path,
    header: bool,
    decimal_comma: bool,
    columns: Vec<Column>,
    rows: usize,
    /// What rows are counted in, and the number of each; rows of Parquet count from 0.
    lines: Option<(&'static str, Vec<u64>)>,
    /// Names of columns that pandas says are its index.
    index: Vec<String>,
    notes: Vec<Note>,
}

impl<'p> Table<'p> {
    /// From columns of a file that knows names and types.
    #[cfg(feature = "parquet")]
    pub(super) fn typed(path: &'p Path, columns: Vec<Column>, rows: usize, index: Vec<String>) -> Self {
        Table { path, header: true, decimal_comma: false, columns, rows, lines: None, index, notes: Vec::new() }
    }

    fn from_rows(path: &'p Path, mut rows: Rows, options: &ReadOptions) -> Result<Self> {
        let schema = options.schema.as_deref();
        let usual = schema.is_some_and(|schema| schema.decimal_comma);
        let detected = text::decimal_comma(&rows, usual);
        let decimal_comma = options.decimal_comma.unwrap_or(detected);
        let verdict = header::decide(&rows, decimal_comma, options.y.as_deref(), schema);
        let header = options.header.unwrap_or(verdict.header);
        if rows.short_header && !header {
            let why = "the first row has one cell less than the others; every row needs the same number";
            return Err(Error::format(path, why));
        }
        let mut notes = std::mem::take(&mut rows.notes);
        if options.header.is_none() && verdict.doubtful {
            let (taken, other) = if header { ("names for the columns", "no") } else { ("a sample", "yes") };
            let text = format!("the first row is taken as {taken}; if that is wrong, say option `header = {other}`");
            notes.push(Note::warning(text));
        }
        if detected && !usual && options.decimal_comma.is_none() {
            notes.push(Note::plain("the comma is taken as the decimal sign; if it is not, say option `decimal = .`"));
        }
        let mut lines = rows.lines;
        if header {
            lines.remove(0);
        }
        let column = |(place, mut texts): (usize, Texts)| {
            let name = if header { texts.get(0).to_string() } else { (place + 1).to_string() };
            if header {
                texts.skip_first();
            }
            Column::new(name, Cells::Text(texts), decimal_comma)
        };
        let columns: Vec<Column> = rows.columns.into_iter().enumerate().map(column).collect();
        let count = lines.len();
        let lines = Some((rows.numbered, lines));
        Ok(Table { path, header, decimal_comma, columns, rows: count, lines, index: Vec::new(), notes })
    }

    /// Where a cell stands, for messages.
    fn place(&self, row: usize, column: usize) -> String {
        let name = &self.columns[column].name;
        let named = if self.header { format!(" (`{}`)", shorten(name)) } else { String::new() };
        match &self.lines {
            Some((numbered, lines)) => format!("{numbered} {}, column {}{named}", lines[row], column + 1),
            None => format!("row {row} (counted from 0) of column `{}`", shorten(name)),
        }
    }

    /// The cells of a column as labels.
    fn labels(&self, place: usize) -> Result<LabelTexts> {
        let missing = |row| labels::missing_label(self.path, row);
        let every = |label: &dyn Fn(usize) -> Option<String>, numeric| -> Result<LabelTexts> {
            let text = (0..self.rows).map(|row| label(row).ok_or_else(|| missing(row))).collect::<Result<_>>()?;
            Ok(LabelTexts { text, numeric })
        };
        match &self.columns[place].cells {
            Cells::Text(texts) => labels::from_text(self.path, texts.iter()),
            Cells::Numbers(values) => every(&|row| array::number_label(values[row]), true),
            Cells::Singles(values) => every(&|row| array::single_label(values[row]), true),
            Cells::Integers(values) => every(&|row| values[row].map(|value| value.to_string()), true),
            Cells::Words(words) => every(&|row| words[row].clone().filter(|word| !word.is_empty()), false),
            Cells::Unusable(kind) => {
                let why = format!("column `{}` is of type {kind}, which labels cannot be", self.columns[place].name);
                Err(Error::format(self.path, why))
            }
        }
    }

    /// The given split: 1 or 0, true or false, yes or no, train or test.
    fn split(&self, place: usize) -> Result<Vec<bool>> {
        let column = &self.columns[place];
        let flag = |row: usize| match column.cell(row) {
            Cell::Number(value) => assemble::train_flag(self.path, row, value),
            Cell::Text(text) if text.eq_ignore_ascii_case("yes") || text.eq_ignore_ascii_case("train") => Ok(true),
            Cell::Text(text) if text.eq_ignore_ascii_case("no") || text.eq_ignore_ascii_case("test") => Ok(false),
            Cell::Text(text) if parse_flag(text).is_some() => Ok(parse_flag(text) == Some(true)),
            _ => assemble::train_flag(self.path, row, f64::NAN),
        };
        (0..self.rows).map(flag).collect()
    }

    /// The cells of a column as names of samples.
    fn names(&self, place: usize) -> Vec<String> {
        (0..self.rows).map(|row| self.columns[place].shown(row)).collect()
    }

    /// The cells of a column as groups of samples.
    fn groups(&self, place: usize) -> Result<Vec<String>> {
        let column = &self.columns[place];
        let group = |row: usize| match column.cell(row) {
            Cell::Missing => Err(assemble::no_group(self.path, &self.place(row, place))),
            _ => Ok(column.shown(row)),
        };
        (0..self.rows).map(group).collect()
    }

    /// The cells of a column as weights of samples.
    fn weights(&self, place: usize) -> Result<Vec<f64>> {
        let weight = |row: usize| {
            let value = match self.columns[place].cell(row) {
                Cell::Number(value) => value,
                // One cell that is no number makes a column of text; that cell is to be named, not the first.
                Cell::Text(text) => text.trim().parse().unwrap_or(f64::NAN),
                Cell::Missing => f64::NAN,
            };
            assemble::checked_weight(self.path, value, || self.place(row, place))
        };
        (0..self.rows).map(weight).collect()
    }

    fn check_size(&self, features: usize) -> Result<()> {
        if self.rows == 0 || features == 0 {
            let why = format!("the table has {} samples of {features} features; nothing to read", self.rows);
            return Err(Error::format(self.path, why));
        }
        limits::check_dense(self.path, "the table", &[features, self.rows]).map(drop)
    }

    /// Samples to learn from, or those that a model's schema asks for.
    pub(super) fn into_data(self, options: &ReadOptions) -> Result<RawData> {
        match &options.schema {
            Some(schema) => apply::apply(self, schema, options),
            None => self.learn(options),
        }
    }

    /// Samples to learn from: roles, kinds and fills are decided here.
    fn learn(mut self, options: &ReadOptions) -> Result<RawData> {
        let mut roles = Roles::assign(&self, options)?;
        if self.rows == 0 || roles.features.is_empty() {
            self.check_size(roles.features.len())?;
        }
        let mut notes = std::mem::take(&mut self.notes);
        let labels = match (&options.labels, roles.label) {
            (Some(file), _) => Some(matching(labels::read_file(file)?, file, self.rows)?),
            (None, Some((place, why))) => Some(self.class_labels(place, why, options, &mut notes)?),
            (None, None) => None,
        };
        let is_train = roles.split.map(|place| self.split(place)).transpose()?;
        let (schema, decided) = fit::fit(&self, &mut roles, options, is_train.as_deref(), labels.as_deref())?;
        notes.extend(decided);
        self.check_size(schema.n_features())?;
        let places: Vec<usize> = schema.features.iter().map(|feature| feature.place).collect();
        let x = self.encode(&schema, &places, options, &mut notes)?;
        let groups = roles.groups.map(|place| self.groups(place)).transpose()?;
        let weights = roles.weights.map(|place| self.weights(place)).transpose()?;
        let ids = roles.ids.first().map(|(place, _)| self.names(*place));
        let feature_names = schema.header.then(|| schema.feature_names());
        Ok(RawData {
            labels,
            is_train,
            names: ids.clone(),
            ids,
            groups,
            weights,
            feature_names,
            schema: Some(schema),
            notes,
            ..RawData::new(x)
        })
    }

    /// Labels that can be classes.
    fn class_labels(
        &self,
        place: usize,
        why: &str,
        options: &ReadOptions,
        notes: &mut Vec<Note>,
    ) -> Result<Vec<String>> {
        let labels = self.labels(place)?.text;
        let Some(wrong) = target::no_classes(&labels) else { return Ok(labels) };
        let advice = if why == roles::BY_USER {
            "name the column with the classes by option `y`; predicting a number (regression) is not what this program does"
        } else {
            "name the column with the classes by option `y = NAME`, or say option `y = none` if there is none; predicting a number (regression) \
             is not what this program does"
        };
        let text = format!("column `{}`, taken for the labels ({why}), {wrong}: {advice}", self.columns[place].name);
        if options.lenient {
            notes.push(Note::warning(text));
            return Ok(labels);
        }
        Err(Error::format(self.path, text))
    }

    /// The cells of feature columns at these places as samples.
    fn encode(
        &self,
        schema: &TableSchema,
        places: &[usize],
        options: &ReadOptions,
        notes: &mut Vec<Note>,
    ) -> Result<faer::Mat<f64>> {
        // Gaps are filled later, from the training part of every split.
        let gaps = options.split_later.then(|| schema.with_gaps());
        let schema = gaps.as_ref().unwrap_or(schema);
        let instead = options.lenient.then_some(f64::NAN);
        let cell = |row: usize, feature: usize| match schema.features[feature].kind {
            ColumnKind::Category { .. } => self.columns[places[feature]].written(row),
            _ => self.columns[places[feature]].cell(row),
        };
        let place = |row: usize, feature: usize| self.place(row, places[feature]);
        let encoded = schema.encode_or(instead, self.decimal_comma, self.rows, cell, place);
        let encoded = encoded.map_err(|error| self.at(error))?;
        notes.extend(encoded.notes);
        Ok(encoded.x)
    }

    /// Adds the file to an error about its content.
    fn at(&self, error: Error) -> Error {
        match error {
            Error::Data(why) => Error::format(self.path, why),
            other => other,
        }
    }
}

/// Reads a table of text or a workbook.
pub(super) fn read(path: &Path, bytes: &[u8], options: &ReadOptions) -> Result<RawData> {
    check_options(path, options)?;
    open(path, bytes, options)?.into_data(options)
}

/// Columns beyond those of the training table that are read and ignored in tables of strangers.
const MORE_COLUMNS: usize = 1024;

/// As [`read`], for plain text of at most `max_samples` rows for a model; `None` if it has more.
pub(super) fn read_text(
    path: &Path,
    bytes: &[u8],
    options: &ReadOptions,
    max_samples: usize,
) -> Result<Option<RawData>> {
    let known = options.schema.as_ref().map_or(0, |schema| schema.columns.max(schema.features.len()));
    let rows = text::rows_up_to(path, bytes, known.saturating_add(MORE_COLUMNS))?;
    let table = Table::from_rows(path, rows, options)?;
    if table.rows > max_samples { Ok(None) } else { table.into_data(options).map(Some) }
}

/// One entry per column.
pub(super) fn variables(path: &Path, bytes: &[u8], options: &ReadOptions) -> Result<Vec<Variable>> {
    let table = open(path, bytes, options)?;
    let kind = |column: &Column| match column.look {
        Look::Number | Look::Boolean => "number",
        Look::Empty => "empty",
        _ => "text",
    };
    let variable =
        |column: &Column| Variable { name: column.name.clone(), shape: vec![table.rows], kind: kind(column).into() };
    Ok(table.columns.iter().map(variable).collect())
}

fn open<'p>(path: &'p Path, bytes: &[u8], options: &ReadOptions) -> Result<Table<'p>> {
    let rows = if bytes.starts_with(b"PK\x03\x04") { xlsx::rows(path, bytes)? } else { text::rows(path, bytes)? };
    Table::from_rows(path, rows, options)
}

/// Options that do not apply to one sample per row and no named matrices.
pub(super) fn check_options(path: &Path, options: &ReadOptions) -> Result<()> {
    if options.samples == Some(Orientation::Columns) {
        let why = format!(
            "{}: this kind of file has one sample per row; leave out option `samples = columns`",
            path.display()
        );
        return Err(Error::Data(why));
    }
    if let Some(x) = &options.x {
        let why = format!("{}: this kind of file has no variable `{x}`; leave out option `x`", path.display());
        return Err(Error::Data(why));
    }
    Ok(())
}

/// Labels from another file, one for each of `n` samples.
pub(super) fn matching(labels: LabelTexts, file: &Path, n: usize) -> Result<Vec<String>> {
    if labels.text.len() == n {
        return Ok(labels.text);
    }
    Err(Error::shape(format!("{}: labels", file.display()), format!("{n}, one per sample"), labels.text.len()))
}

/// At most the first 40 letters.
pub(super) fn shorten(text: &str) -> String {
    if text.chars().count() <= 40 { text.into() } else { text.chars().take(40).chain("...".chars()).collect() }
}

#[cfg(test)]
mod tests;
