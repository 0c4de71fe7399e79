//! What a model knows of the table it was trained on, and how cells become numbers.

use super::Note;
use super::cells::{Cell, is_missing, parse_flag, parse_number};
use super::shorten;
use crate::{Error, NameKind, Result};
use faer::Mat;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Unseen categories that a warning names.
const SHOWN: usize = 3;

/// How a table becomes samples. It is decided once, in training, and goes with the model to be applied to other tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableSchema {
    /// The first row names the columns; without it columns go by their places.
    pub header: bool,
    /// The comma is the decimal sign.
    #[serde(default)]
    pub decimal_comma: bool,
    /// Columns of the training table, all of them.
    pub columns: usize,
    /// The column with the labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<NamedColumn>,
    /// Columns that tell samples apart and are no features.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<NamedColumn>,
    /// Columns that are not used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<NamedColumn>,
    /// How missing values were filled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impute: Option<Impute>,
    /// Columns that describe the samples, in the order of the model's features.
    pub features: Vec<FeatureColumn>,
}

/// A column that is no feature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedColumn {
    /// Its name; its number from 1 where there is no header.
    pub name: String,
    /// Its place from 0.
    pub place: usize,
    /// Why it has this role.
    pub why: String,
}

/// A column that describes the samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeatureColumn {
    /// Its name; its number from 1 where there is no header.
    pub name: String,
    /// Its place from 0.
    pub place: usize,
    /// What its cells are.
    #[serde(flatten)]
    pub kind: ColumnKind,
    /// What stands in for a missing value; without it a missing value is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<Fill>,
}

/// How the cells of a column become numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ColumnKind {
    /// Numbers as they are.
    Number,
    /// `true` is 1, `false` is 0.
    Boolean,
    /// One feature per level, 1 where the cell has it and 0 elsewhere; a level that is not known is 0 in all of them.
    Category {
        /// The levels in order.
        levels: Vec<String>,
    },
}

/// What stands in for a missing value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Fill {
    /// In columns of numbers.
    Number(f64),
    /// In columns of categories.
    Level(String),
}

/// How missing values are filled; categories always take the most frequent level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Impute {
    /// The median of the column.
    Median,
    /// Its mean.
    Mean,
    /// Its most frequent value; of several the smallest.
    MostFrequent,
}

/// Where the feature columns are in another table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matched {
    /// For every feature column its place in the table.
    pub places: Vec<usize>,
    /// Places that are no feature.
    pub others: Vec<usize>,
}

/// Samples made of cells.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// features x samples.
    pub x: Mat<f64>,
    /// What to tell the user.
    pub notes: Vec<Note>,
}

impl ColumnKind {
    /// Features that a column of this kind becomes.
    pub fn width(&self) -> usize {
        match self {
            ColumnKind::Number | ColumnKind::Boolean => 1,
            ColumnKind::Category { levels } => levels.len(),
        }
    }
}

impl TableSchema {
    /// Of named columns that all hold numbers.
    pub fn of_numbers(names: impl IntoIterator<Item = String>) -> Self {
        let feature = |(place, name)| FeatureColumn { name, place, kind: ColumnKind::Number, fill: None };
        let features: Vec<FeatureColumn> = names.into_iter().enumerate().map(feature).collect();
        TableSchema {
            header: true,
            decimal_comma: false,
            columns: features.len(),
            label: None,
            ids: Vec::new(),
            left_out: Vec::new(),
            impute: None,
            features,
        }
    }

    /// Of as many columns of numbers without names.
    pub fn of_places(columns: usize) -> Self {
        TableSchema { header: false, ..Self::of_numbers((1..=columns).map(|number| number.to_string())) }
    }

    /// Names of the columns that describe the samples.
    pub fn column_names(&self) -> Vec<&str> {
        self.features.iter().map(|feature| feature.name.as_str()).collect()
    }

    /// Names of the features of the model: those of the columns, with `=LEVEL` behind for categories.
    pub fn feature_names(&self) -> Vec<String> {
        let names = |feature: &FeatureColumn| match &feature.kind {
            ColumnKind::Category { levels } => levels.iter().map(|level| format!("{}={level}", feature.name)).collect(),
            _ => vec![feature.name.clone()],
        };
        self.features.iter().flat_map(names).collect()
    }

    /// Features of the model.
    pub fn n_features(&self) -> usize {
        self.features.iter().fold(0, |sum, feature| sum.saturating_add(feature.kind.width()))
    }

    /// Refuses what cannot have been learned from a table, for schemas that come from a file.
    pub fn check(&self) -> Result<()> {
        let bad = |why: String| Err(Error::Data(format!("the table's description is damaged: {why}")));
        let mut names = HashSet::new();
        for feature in &self.features {
            if !names.insert(feature.name.as_str()) {
                return bad(format!("two columns are called `{}`", shorten(&feature.name)));
            }
            let fits = match (&feature.kind, &feature.fill) {
                (_, None) => true,
                (ColumnKind::Number | ColumnKind::Boolean, Some(Fill::Number(value))) => value.is_finite(),
                (ColumnKind::Category { levels }, Some(Fill::Level(level))) => levels.contains(level),
                _ => false,
            };
            let levels: &[String] = if let ColumnKind::Category { levels } = &feature.kind { levels } else { &[] };
            if !fits || levels.iter().collect::<HashSet<_>>().len() != levels.len() {
                return bad(format!("column `{}` cannot be encoded", shorten(&feature.name)));
            }
        }
        Ok(())
    }

    /// Finds the feature columns among `names`, in whatever order they come; names all that are missing.
    pub fn match_columns(&self, names: &[&str]) -> Result<Matched> {
        let mut place_of: HashMap<&str, usize> = HashMap::with_capacity(names.len());
        let mut twice: Option<&str> = None;
        for (place, name) in names.iter().enumerate() {
            if place_of.insert(name.trim(), place).is_some() {
                twice = twice.or(self.features.iter().map(|f| f.name.as_str()).find(|known| *known == name.trim()));
            }
        }
        if let Some(name) = twice {
            return Err(Error::Data(format!("two columns are called `{name}`; the model needs to know which to use")));
        }
        let found: Vec<Option<usize>> =
            self.features.iter().map(|feature| place_of.get(feature.name.as_str()).copied()).collect();
        let missing: Vec<&str> = self
            .features
            .iter()
            .zip(&found)
            .filter(|(_, found)| found.is_none())
            .map(|(f, _)| f.name.as_str())
            .collect();
        if !missing.is_empty() {
            return Err(Error::Data(self.missing_text(&missing, names)));
        }
        let places: Vec<usize> = found.into_iter().flatten().collect();
        let used: HashSet<usize> = places.iter().copied().collect();
        Ok(Matched { places, others: (0..names.len()).filter(|place| !used.contains(place)).collect() })
    }

    /// What to say of columns with these names that are no features, if the training table did not have them either.
    pub fn ignored(&self, names: &[&str]) -> Option<Note> {
        let listed = || self.label.iter().chain(&self.ids).chain(&self.left_out);
        let is_new = |name: &&&str| !name.is_empty() && listed().all(|column| column.name != **name);
        let extra: Vec<&str> = names.iter().filter(is_new).copied().collect();
        let columns = if extra.len() == 1 {
            "column that training did not have is"
        } else {
            "columns that training did not have are"
        };
        (!extra.is_empty()).then(|| Note::plain(format!("{} {columns} ignored: {}", extra.len(), list(&extra, 12))))
    }

    fn missing_text(&self, missing: &[&str], names: &[&str]) -> String {
        let are = if missing.len() == 1 { "is" } else { "are" };
        let near = match missing {
            [one] => match Error::unknown(NameKind::Column, one, names.iter().copied()) {
                Error::Unknown { nearest: Some(near), .. } => format!("; is it the column `{near}`?"),
                _ => String::new(),
            },
            _ => String::new(),
        };
        format!(
            "{} of the {} columns of the training data {are} missing: {}{near} (columns of this table: {})",
            missing.len(),
            self.features.len(),
            list(missing, 100),
            list(names, 12)
        )
    }

    /// Samples from cells: `cell(row, column)` gives the cell of a feature column, counted as in [`TableSchema::features`], and
    /// `place(row, column)` says for errors where it stands.
    pub fn encode<'a>(
        &self,
        rows: usize,
        cell: impl Fn(usize, usize) -> Cell<'a>,
        place: impl Fn(usize, usize) -> String,
    ) -> Result<Encoded> {
        self.encode_or(None, false, rows, cell, place)
    }

    /// As [`TableSchema::encode`], for text in which the comma may be the decimal sign; cells that cannot be used become
    /// `instead`, if it is given.
    pub(super) fn encode_or<'a>(
        &self,
        instead: Option<f64>,
        decimal_comma: bool,
        rows: usize,
        cell: impl Fn(usize, usize) -> Cell<'a>,
        place: impl Fn(usize, usize) -> String,
    ) -> Result<Encoded> {
        let mut x = Mat::zeros(self.n_features(), rows);
        let mut first = 0;
        let mut notes = Vec::new();
        for (column, feature) in self.features.iter().enumerate() {
            let mut unseen: BTreeMap<String, usize> = BTreeMap::new();
            for row in 0..rows {
                let value = feature.value(cell(row, column), decimal_comma);
                let value = value.or_else(|wrong| instead.map(CellValue::Number).ok_or(wrong));
                match value.map_err(|wrong| wrong.tell(feature, &place(row, column), decimal_comma))? {
                    CellValue::Number(value) => x[(first, row)] = value,
                    CellValue::Level(level) => x[(first + level, row)] = 1.0,
                    CellValue::Unseen(text) => *unseen.entry(text).or_insert(0) += 1,
                }
            }
            if !unseen.is_empty() {
                notes.push(Note::warning(unseen_text(&feature.name, &unseen)));
            }
            first += feature.kind.width();
        }
        Ok(Encoded { x, notes })
    }
}

/// What to say about a cell that is no number.
pub(super) fn not_a_number(place: &str, text: &str, name: &str, decimal_comma: bool) -> String {
    let shown = shorten(text);
    let advice = if !decimal_comma && parse_number(text, true).is_some() {
        "if the comma is the decimal sign, say option `decimal = ,` and if it parts thousands, take it out".to_string()
    } else if decimal_comma && parse_number(text, false).is_some() {
        "the comma is the decimal sign in this table; if the point is, say option `decimal = .`".to_string()
    } else if parse_number(&text.replace([',', ' ', '\u{a0}', '_', '\''], ""), false).is_some() {
        "write numbers without marks between thousands".to_string()
    } else {
        format!("fix the cell, or leave the column out with option `drop = {name}`")
    };
    format!("{place} is `{shown}`, not a number; {advice}")
}

/// A cell as the model sees it.
enum CellValue {
    Number(f64),
    Level(usize),
    Unseen(String),
}

/// Why a cell cannot be used.
enum Wrong {
    Missing,
    NotFinite(f64),
    NotNumber(String),
}

impl Wrong {
    fn tell(self, feature: &FeatureColumn, place: &str, decimal_comma: bool) -> Error {
        Error::Data(match self {
            Wrong::Missing => format!(
                "{place} is missing, and the model was trained without missing values; fill it in, or train with \
                 option `impute = median`"
            ),
            Wrong::NotFinite(value) => format!("{place} is {value}, not a finite number; fix the cell"),
            Wrong::NotNumber(text) => not_a_number(place, &text, &feature.name, decimal_comma),
        })
    }
}

impl FeatureColumn {
    fn value(&self, cell: Cell<'_>, decimal_comma: bool) -> Result<CellValue, Wrong> {
        let cell = match cell {
            Cell::Number(value) if value.is_nan() => Cell::Missing,
            Cell::Text(text) if is_missing(text.trim()) => Cell::Missing,
            other => other,
        };
        match (&self.kind, cell) {
            (_, Cell::Missing) => self.filled(),
            (ColumnKind::Category { levels }, Cell::Text(text)) => Ok(level(levels, text.trim())),
            (ColumnKind::Category { levels }, Cell::Number(value)) => Ok(level(levels, &value.to_string())),
            (_, Cell::Number(value)) => finite(value),
            (kind, Cell::Text(text)) => {
                let text = text.trim();
                let flag = || parse_flag(text).filter(|_| *kind == ColumnKind::Boolean).map(|f| f64::from(u8::from(f)));
                let value = parse_number(text, decimal_comma).or_else(flag);
                value.map_or_else(|| Err(Wrong::NotNumber(text.into())), finite)
            }
        }
    }

    fn filled(&self) -> Result<CellValue, Wrong> {
        match (&self.fill, &self.kind) {
            (Some(Fill::Number(value)), _) => Ok(CellValue::Number(*value)),
            (Some(Fill::Level(name)), ColumnKind::Category { levels }) => Ok(level(levels, name)),
            _ => Err(Wrong::Missing),
        }
    }
}

fn finite(value: f64) -> Result<CellValue, Wrong> {
    if value.is_finite() { Ok(CellValue::Number(value)) } else { Err(Wrong::NotFinite(value)) }
}

fn level(levels: &[String], text: &str) -> CellValue {
    levels.iter().position(|level| level == text).map_or_else(|| CellValue::Unseen(text.into()), CellValue::Level)
}

fn unseen_text(column: &str, unseen: &BTreeMap<String, usize>) -> String {
    let shown = unseen
        .iter()
        .take(SHOWN)
        .map(|(value, rows)| format!("`{}` ({rows} {})", shorten(value), if *rows == 1 { "row" } else { "rows" }));
    let more = if unseen.len() > SHOWN { format!(" and {} more", unseen.len() - SHOWN) } else { String::new() };
    format!(
        "column `{column}` has values the model was not trained on, which count as none of the known ones: {}{more}",
        shown.collect::<Vec<_>>().join(", ")
    )
}

/// Names for people, the first of them if there are many.
pub(super) fn list(names: &[&str], most: usize) -> String {
    let mut shown: Vec<String> = names.iter().take(most).map(|name| format!("`{}`", shorten(name))).collect();
    if names.len() > most {
        shown.push(format!("... and {} more", names.len() - most));
    }
    shown.join(", ")
}
