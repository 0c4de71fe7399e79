//! From a table and the roles of its columns to a schema: kinds, levels and fills, decided on the training rows.

use super::cells::{Cell, Cells, Column, Look};
use super::roles::{Roles, is_label_name};
use super::schema::{ColumnKind, FeatureColumn, Fill, Impute, NamedColumn, TableSchema, list, not_a_number};
use super::{Note, Table};
use crate::io::ReadOptions;
use crate::{Error, Result};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Levels a column of text may have at most, however many rows there are.
const MOST_LEVELS: usize = 1000;

/// Decides what every column of a training table becomes. `is_train` marks the rows that may be learned from, `labels` are
/// those of the samples. Where the table is split later, categories are those of all rows and nothing is filled yet: see
/// [`TableSchema::of_part`].
pub(super) fn fit(
    table: &Table<'_>,
    roles: &mut Roles,
    options: &ReadOptions,
    is_train: Option<&[bool]>,
    labels: Option<&[String]>,
) -> Result<(TableSchema, Vec<Note>)> {
    let is_train = is_train.filter(|_| !options.split_later);
    let mut notes = Vec::new();
    if let Some(labels) = labels {
        copies_of_labels(table, roles, labels, &mut notes);
    }
    let mut names = HashSet::new();
    let mut features = Vec::new();
    for place in roles.features.clone() {
        let column = &table.columns[place];
        if !names.insert(column.name.as_str()) {
            let why = format!(
                "two columns are called `{0}`; give them different names, or leave both out with option `drop = {0}`",
                column.name
            );
            return Err(Error::format(table.path, why));
        }
        match kind(table, place, is_train) {
            Ok(kind) => {
                features.push(FeatureColumn { name: column.name.clone(), place, kind, fill: None });
            }
            Err(why) if options.lenient => {
                notes.push(Note::warning(why.to_string()));
                roles.features.retain(|&feature| feature != place);
            }
            Err(why) => return Err(why),
        }
    }
    if let Some(impute) = options.impute.filter(|_| !options.split_later) {
        for feature in &mut features {
            let fill = fill(&table.columns[feature.place], impute, is_train);
            feature.fill = Some(fill.ok_or_else(|| {
                let why = format!(
                    "column `{0}` has no value in the training part; leave it out with option `drop = {0}`",
                    feature.name
                );
                Error::format(table.path, why)
            })?);
        }
    }
    missing(table, &features, options, &mut notes)?;
    let named = |(place, why): &(usize, &'static str)| NamedColumn {
        name: table.columns[*place].name.clone(),
        place: *place,
        why: why.to_string(),
    };
    let schema = TableSchema {
        header: table.header,
        decimal_comma: table.decimal_comma,
        columns: table.columns.len(),
        label: roles.label.as_ref().map(named),
        ids: roles.ids.iter().map(named).collect(),
        left_out: roles.left_out.iter().map(named).collect(),
        impute: options.impute,
        features,
    };
    notes.splice(0..0, decisions(&schema));
    Ok((schema, notes))
}

/// What was decided, in words.
fn decisions(schema: &TableSchema) -> Vec<Note> {
    let mut notes = Vec::new();
    if let Some(label) = &schema.label {
        notes.push(Note::plain(format!("labels: column `{}` ({})", label.name, label.why)));
    }
    let columns: Vec<String> = schema
        .ids
        .iter()
        .chain(schema.left_out.iter().filter(|column| !column.why.starts_with("named by")))
        .map(|column| match column.name.as_str() {
            "" => format!("column {} ({})", column.place + 1, column.why),
            name => format!("`{name}` ({})", column.why),
        })
        .collect();
    if !columns.is_empty() {
        notes.push(Note::plain(format!("not features: {}", columns.join(", "))));
    }
    let also: Vec<&str> = schema.column_names().into_iter().filter(|name| is_label_name(name)).collect();
    if schema.header && !also.is_empty() {
        let text = format!(
            "taken as features, though their names could mean labels (option `drop` leaves them out): {}",
            list(&also, 12)
        );
        notes.push(Note::plain(text));
    }
    let categories: Vec<&str> = schema
        .features
        .iter()
        .filter(|feature| matches!(feature.kind, ColumnKind::Category { .. }))
        .map(|feature| feature.name.as_str())
        .collect();
    if !categories.is_empty() {
        let columns = if categories.len() == 1 { "column" } else { "columns" };
        let text = format!("{columns} of text, taken as categories (one feature per value): {}", list(&categories, 12));
        notes.push(Note::plain(text));
    }
    notes
}

fn kind(table: &Table<'_>, place: usize, is_train: Option<&[bool]>) -> Result<ColumnKind> {
    let column = &table.columns[place];
    let name = &column.name;
    let bad = |why: String| Err(Error::format(table.path, why));
    match column.look {
        Look::Number | Look::Empty => Ok(ColumnKind::Number),
        Look::Boolean => Ok(ColumnKind::Boolean),
        Look::AlmostNumber(row) => {
            bad(not_a_number(&table.place(row, place), &column.shown(row), name, table.decimal_comma))
        }
        Look::Unusable => {
            let kind = if let Cells::Unusable(kind) = &column.cells { kind } else { "another type" };
            bad(format!(
                "column `{name}` is of type {kind}; convert it to numbers or text, or leave it out with option `drop = {name}`"
            ))
        }
        Look::Text => {
            let levels = levels(column, is_train);
            // A name of nearly every row is no category.
            let most = if table.rows < 20 { table.rows.saturating_sub(1).max(1) } else { table.rows / 2 };
            if levels.len() > most.min(MOST_LEVELS) {
                let first = column.shown((0..table.rows).find(|&row| column.cell(row) != Cell::Missing).unwrap_or(0));
                return bad(format!(
                    "column `{name}` holds {} different texts in {} rows (`{}` ...), which is no category; leave it out with \
                     option `drop = {name}`, or say option `id = {name}` if it names the samples, or option `y = {name}` if \
                     it holds the labels",
                    levels.len(),
                    table.rows,
                    super::shorten(&first)
                ));
            }
            Ok(ColumnKind::Category { levels })
        }
    }
}

/// The rows that may be learned from.
fn training_rows<'a>(column: &Column, is_train: Option<&'a [bool]>) -> impl Iterator<Item = usize> + use<'a> {
    (0..column.len()).filter(move |&row| is_train.is_none_or(|flags| flags[row]))
}

fn levels(column: &Column, is_train: Option<&[bool]>) -> Vec<String> {
    let mut found: HashSet<&str> = HashSet::new();
    for row in training_rows(column, is_train) {
        if let Cell::Text(text) = column.cell(row) {
            found.insert(text);
        }
    }
    let mut levels: Vec<String> = found.into_iter().map(str::to_string).collect();
    levels.sort();
    levels
}

/// What stands in for missing values of a column; `None` where the training rows have no value.
fn fill(column: &Column, impute: Impute, is_train: Option<&[bool]>) -> Option<Fill> {
    let rows = training_rows(column, is_train);
    if column.look == Look::Text {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for row in rows {
            if let Cell::Text(text) = column.cell(row) {
                *counts.entry(text).or_insert(0) += 1;
            }
        }
        let most = counts.values().copied().max()?;
        return counts.iter().find(|(_, n)| **n == most).map(|(text, _)| Fill::Level(text.to_string()));
    }
    number_fill(rows.map(|row| column.numbers()[row]), impute).map(Fill::Number)
}

/// What stands in for missing numbers among these; `None` if all are missing.
pub(super) fn number_fill(values: impl Iterator<Item = f64>, impute: Impute) -> Option<f64> {
    let mut values: Vec<f64> = values.filter(|v| v.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let median = if values.len() % 2 == 1 {
        *values.get(middle)?
    } else {
        values.get(middle.wrapping_sub(1))?.midpoint(values[middle])
    };
    let value = match impute {
        Impute::Median => median,
        Impute::Mean => {
            Some(values.iter().sum::<f64>() / values.len() as f64).filter(|v| v.is_finite()).unwrap_or(median)
        }
        Impute::MostFrequent => {
            let runs = values.chunk_by(|a, b| a == b);
            let most = runs.clone().map(<[f64]>::len).max()?;
            runs.clone().find(|run| run.len() == most)?[0]
        }
    };
    Some(value)
}

/// Missing values are an error unless they are filled or only looked at.
fn missing(table: &Table<'_>, features: &[FeatureColumn], options: &ReadOptions, notes: &mut Vec<Note>) -> Result<()> {
    let mut cells = 0;
    let mut columns = Vec::new();
    let mut first = None;
    for feature in features {
        let column = &table.columns[feature.place];
        let rows = (0..table.rows).filter(|&row| column.cell(row) == Cell::Missing);
        let mut count = 0;
        let mut at = None;
        rows.for_each(|row| {
            count += 1;
            at = at.or(Some((row, feature.place)));
        });
        if count > 0 {
            cells += count;
            columns.push(feature.name.as_str());
            // The first in reading order.
            first = first.into_iter().chain(at).min();
        }
    }
    let Some((row, place)) = first else { return Ok(()) };
    let (values, are) = if cells == 1 { ("value", "is") } else { ("values", "are") };
    let what = format!("{cells} missing {values} in {}", list(&columns, 12));
    match options.impute {
        Some(impute) => {
            let how = match impute {
                Impute::Median => "the median",
                Impute::Mean => "the mean",
                Impute::MostFrequent => "the most frequent value",
            };
            let whence = if options.split_later { ", taken from each training part" } else { "" };
            notes.push(Note::plain(format!("{what} {are} filled by {how} of the column{whence}")));
            Ok(())
        }
        None if options.lenient => {
            notes.push(Note::warning(format!(
                "{what}; training needs option `impute = median`, or option `drop` for these columns"
            )));
            Ok(())
        }
        None => {
            let why = format!(
                "{} is missing ({what}); fill missing values with option `impute = median` (or mean, most-frequent), or \
                 leave the column out with option `drop = {}`",
                table.place(row, place),
                table.columns[place].name
            );
            Err(Error::format(table.path, why))
        }
    }
}

/// Columns that say the same as the labels in other words: with a name for labels they are left out, else there is a warning.
fn copies_of_labels(table: &Table<'_>, roles: &mut Roles, labels: &[String], notes: &mut Vec<Note>) {
    let classes = labels.iter().collect::<HashSet<_>>().len();
    if classes < 2 || labels.len() < 2 * classes || labels.len() < 10 {
        return;
    }
    let copies: Vec<usize> =
        roles.features.iter().copied().filter(|&place| is_copy(&table.columns[place], labels)).collect();
    for place in copies {
        let name = &table.columns[place].name;
        if table.header && is_label_name(name) {
            roles.features.retain(|&feature| feature != place);
            roles.left_out.push((place, "it says the same as the labels"));
        } else {
            notes.push(Note::warning(format!(
                "column `{name}` says the same as the labels, value for value; if it is another name for them, leave it out \
                 with option `drop = {name}`"
            )));
        }
    }
}

fn is_copy(column: &Column, labels: &[String]) -> bool {
    if matches!(column.look, Look::Empty | Look::Unusable | Look::AlmostNumber(_)) || column.has_fractions() {
        return false;
    }
    let (mut to, mut from): (HashMap<String, &str>, HashMap<&str, String>) = (HashMap::new(), HashMap::new());
    labels.iter().enumerate().all(|(row, label)| {
        let value = column.shown(row);
        *to.entry(value.clone()).or_insert(label) == label.as_str()
            && *from.entry(label).or_insert(value.clone()) == value
    })
}
