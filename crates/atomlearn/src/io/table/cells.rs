//! Columns of a table and what their cells look like.

use crate::{Error, Result};
use std::path::Path;

/// One cell of a table, as a reader or a caller gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Nothing is there.
    Missing,
    /// A number; NaN counts as missing.
    Number(f64),
    /// Text, which may be a number in letters.
    Text(&'a str),
}

/// The texts of a column in one buffer.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    text: String,
    ends: Vec<u32>,
    /// Cells at the start that are no data: 1 where the first row is the header.
    skip: usize,
}

impl Texts {
    pub(super) fn push(&mut self, path: &Path, cell: &str) -> Result<()> {
        self.text.push_str(cell);
        let end = u32::try_from(self.text.len());
        self.ends.push(end.map_err(|_| Error::format(path, "a column of more than 4 GiB; cut the table into parts"))?);
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len() - self.skip
    }

    /// A cell without the blanks around it.
    pub(super) fn get(&self, row: usize) -> &str {
        let place = row + self.skip;
        let start = if place == 0 { 0 } else { self.ends[place - 1] as usize };
        self.text[start..self.ends[place] as usize].trim()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|row| self.get(row))
    }

    /// From now on the first cell is the column's name.
    pub(super) fn skip_first(&mut self) {
        self.skip = 1;
    }
}

/// The cells of a column.
#[derive(Debug)]
#[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "only Parquet knows the types of columns"))]
pub(crate) enum Cells {
    /// As written in a file of text.
    Text(Texts),
    /// Numbers, missing ones as NaN.
    Numbers(Vec<f64>),
    /// Numbers of single precision, which as labels have fewer digits.
    Singles(Vec<f32>),
    /// Whole numbers of which some have more digits than `f64` holds.
    Integers(Vec<Option<i128>>),
    /// Text from a file that knows types, so that nothing in it is a number or a mark for missing but `None`.
    Words(Vec<Option<String>>),
    /// Of a type that cannot be used, named here.
    Unusable(String),
}

/// What a column holds, seen as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// No value at all.
    Empty,
    /// Numbers.
    Number,
    /// `true` and `false`.
    Boolean,
    /// Numbers but for some cells, the first of them in this row.
    AlmostNumber(usize),
    /// Text.
    Text,
    /// A type that cannot be used.
    Unusable,
}

/// A column with its name.
#[derive(Debug)]
pub(crate) struct Column {
    pub(super) name: String,
    pub(super) cells: Cells,
    /// What the cells are, and their numbers if they are such.
    pub(super) look: Look,
    numbers: Vec<f64>,
}

impl Column {
    /// Looks at every cell.
    pub(crate) fn new(name: String, cells: Cells, decimal_comma: bool) -> Self {
        let (look, numbers) = match &cells {
            Cells::Text(texts) => look_at(texts, decimal_comma),
            Cells::Numbers(values) if values.iter().all(|v| v.is_nan()) => (Look::Empty, Vec::new()),
            Cells::Numbers(_) => (Look::Number, Vec::new()),
            Cells::Singles(values) => {
                let look = if values.iter().all(|v| v.is_nan()) { Look::Empty } else { Look::Number };
                (look, values.iter().map(|&v| f64::from(v)).collect())
            }
            Cells::Integers(values) => {
                (Look::Number, values.iter().map(|v| v.map_or(f64::NAN, |v| v as f64)).collect())
            }
            Cells::Words(words) if words.iter().all(Option::is_none) => (Look::Empty, Vec::new()),
            Cells::Words(_) => (Look::Text, Vec::new()),
            Cells::Unusable(_) => (Look::Unusable, Vec::new()),
        };
        Column { name, cells, look, numbers }
    }

    /// The numbers of a column of numbers, missing ones as NaN.
    pub(super) fn numbers(&self) -> &[f64] {
        match &self.cells {
            Cells::Numbers(values) => values,
            _ => &self.numbers,
        }
    }

    pub(super) fn cell(&self, row: usize) -> Cell<'_> {
        match &self.cells {
            Cells::Numbers(_) | Cells::Singles(_) | Cells::Integers(_) => number_cell(self.numbers()[row]),
            Cells::Text(_) if self.numbers.is_empty() => self.written(row),
            Cells::Text(_) => number_cell(self.numbers[row]),
            Cells::Words(words) => words[row].as_deref().map_or(Cell::Missing, Cell::Text),
            Cells::Unusable(_) => Cell::Missing,
        }
    }

    /// The cell as it is written, even if it could be a number.
    pub(super) fn written(&self, row: usize) -> Cell<'_> {
        match &self.cells {
            Cells::Text(texts) => match texts.get(row) {
                text if is_missing(text) => Cell::Missing,
                text => Cell::Text(text),
            },
            _ => self.cell(row),
        }
    }

    /// The cell as it should be shown to people.
    pub(super) fn shown(&self, row: usize) -> String {
        match &self.cells {
            Cells::Text(texts) => texts.get(row).to_string(),
            Cells::Numbers(values) => number_text(values[row]),
            Cells::Singles(values) => number_text(f64::from(values[row])),
            Cells::Integers(values) => values[row].map_or_else(String::new, |v| v.to_string()),
            Cells::Words(words) => words[row].clone().unwrap_or_default(),
            Cells::Unusable(_) => String::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        match &self.cells {
            Cells::Text(texts) => texts.len(),
            Cells::Numbers(values) => values.len(),
            Cells::Singles(values) => values.len(),
            Cells::Integers(values) => values.len(),
            Cells::Words(words) => words.len(),
            Cells::Unusable(_) => 0,
        }
    }

    /// True if the cells are 0, 1, 2, ... or 1, 2, 3, ... all the way down.
    pub(super) fn counts(&self) -> bool {
        let values = self.numbers();
        let Some(&first) = values.first() else { return false };
        (first == 0.0 || first == 1.0) && values.iter().enumerate().all(|(row, &v)| v == first + row as f64)
    }

    /// True if some number is no whole one.
    pub(super) fn has_fractions(&self) -> bool {
        self.numbers().iter().any(|v| v.is_finite() && v.fract() != 0.0)
    }
}

fn number_cell<'a>(value: f64) -> Cell<'a> {
    if value.is_nan() { Cell::Missing } else { Cell::Number(value) }
}

/// A number as people write it; nothing for a missing one.
fn number_text(value: f64) -> String {
    if value.is_nan() { String::new() } else { super::super::array::number_label(value).unwrap_or(value.to_string()) }
}

/// What a column of text holds, and its numbers where it holds numbers.
fn look_at(texts: &Texts, decimal_comma: bool) -> (Look, Vec<f64>) {
    let mut numbers = Vec::new();
    let mut filled = 0;
    let mut flags = 0;
    let mut bad = 0;
    let mut first_bad = 0;
    for (row, text) in texts.iter().enumerate() {
        if is_missing(text) {
            numbers.push(f64::NAN);
            continue;
        }
        filled += 1;
        if let Some(value) = parse_number(text, decimal_comma) {
            numbers.push(value);
            continue;
        }
        let flag = parse_flag(text);
        flags += usize::from(flag.is_some());
        numbers.push(flag.map_or(f64::NAN, |flag| f64::from(u8::from(flag))));
        if bad == 0 {
            first_bad = row;
        }
        bad += 1;
    }
    match (filled, bad) {
        (0, _) => (Look::Empty, Vec::new()),
        (_, 0) => (Look::Number, numbers),
        _ if flags == filled => (Look::Boolean, numbers),
        _ if 2 * bad <= filled => (Look::AlmostNumber(first_bad), Vec::new()),
        _ => (Look::Text, Vec::new()),
    }
}

/// What stands for nothing in tables, in any case: the usual marks of R, pandas, SQL and the UCI archive.
pub(super) fn is_missing(text: &str) -> bool {
    const MARKS: [&str; 10] = ["NA", "N/A", "NaN", "-NaN", "null", "none", "<NA>", "#N/A", "#NA", "?"];
    text.is_empty() || (text.len() <= 4 && MARKS.iter().any(|mark| mark.eq_ignore_ascii_case(text)))
}

/// A number as tables write it. Where the comma is the decimal sign a point is refused: it may part thousands.
pub(super) fn parse_number(text: &str, decimal_comma: bool) -> Option<f64> {
    if !decimal_comma {
        return text.parse().ok();
    }
    if text.contains('.') { None } else { text.replacen(',', ".", 1).parse().ok() }
}

/// `true` and `false` in any case.
pub(super) fn parse_flag(text: &str) -> Option<bool> {
    if text.eq_ignore_ascii_case("true") {
        Some(true)
    } else if text.eq_ignore_ascii_case("false") {
        Some(false)
    } else {
        None
    }
}
