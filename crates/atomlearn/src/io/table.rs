//! Tables of text, `.csv` and `.tsv`: one sample per row, one column with the labels.

use super::labels::{self, Labels};
use super::{RawData, ReadOptions, Samples, Variable, assemble, limits};
use crate::{Error, Result};
use csv::{ReaderBuilder, StringRecord};
use faer::Mat;
use std::path::Path;

/// Column names that mean labels, in any case, when the user names none.
const LABEL_COLUMNS: [&str; 4] = ["label", "class", "target", "y"];
/// Column names that mean the name of the sample; Python's tables leave theirs empty.
const NAME_COLUMNS: [&str; 4] = ["", "name", "Unnamed: 0", "__index_level_0__"];

/// What each column of a table is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Roles {
    pub(super) label: Option<usize>,
    pub(super) split: Option<usize>,
    pub(super) name: Option<usize>,
    pub(super) features: Vec<usize>,
}

/// Reads a table.
pub(super) fn read(path: &Path, bytes: &[u8], options: &ReadOptions) -> Result<RawData> {
    check_options(path, options)?;
    let table = Table::open(path, bytes, options.y.as_deref())?;
    let roles = match &table.header {
        Some(header) => roles(&header.iter().collect::<Vec<_>>(), options)?,
        None => numbered_roles(path, table.width, options)?,
    };
    let mut reader = table.reader(bytes);
    let (mut values, mut labels, mut split, mut names) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut record, mut n) = (StringRecord::new(), 0);
    while reader.read_record(&mut record).map_err(|error| unreadable(path, &error))? {
        let line = record.position().map_or(0, csv::Position::line);
        let number = |column: usize| {
            let cell = record[column].trim();
            cell.parse::<f64>().map_err(|_| not_a_number(path, line, &table.column_text(column), cell))
        };
        for &column in &roles.features {
            values.push(number(column)?);
        }
        if let Some(column) = roles.label {
            labels.push(labels::from_cell(path, n, &record[column])?);
        }
        if let Some(column) = roles.split {
            let cell = record[column].trim();
            let flag = if cell.eq_ignore_ascii_case("true") {
                1.0
            } else if cell.eq_ignore_ascii_case("false") {
                0.0
            } else {
                number(column)?
            };
            split.push(assemble::train_flag(path, n, flag)?);
        }
        if let Some(column) = roles.name {
            names.push(record[column].to_string());
        }
        n += 1;
    }
    let d = roles.features.len();
    if n == 0 || d == 0 {
        return Err(Error::format(path, format!("the table has {n} samples of {d} features; nothing to read")));
    }
    limits::check_dense(path, "the table", &[d, n])?;
    let x = Mat::from_fn(d, n, |feature, sample| values[sample * d + feature]);
    let labels = match &options.labels {
        Some(file) => Some(matching(labels::read_file(file)?, file, n)?),
        None => roles.label.map(|_| labels),
    };
    Ok(RawData { x, labels, is_train: roles.split.map(|_| split), image_shape: None, names: roles.name.map(|_| names) })
}

/// One entry per column.
pub(super) fn variables(path: &Path, bytes: &[u8]) -> Result<Vec<Variable>> {
    let table = Table::open(path, bytes, None)?;
    let mut reader = table.reader(bytes);
    let (mut record, mut n, mut numeric) = (StringRecord::new(), 0, vec![true; table.width]);
    while reader.read_record(&mut record).map_err(|error| unreadable(path, &error))? {
        for (numeric, cell) in numeric.iter_mut().zip(&record) {
            *numeric &= cell.trim().parse::<f64>().is_ok();
        }
        n += 1;
    }
    let kind = |numeric| if numeric { "number" } else { "text" }.to_string();
    let name = |column| match &table.header {
        Some(header) => header[column].to_string(),
        None => (column + 1).to_string(),
    };
    Ok((0..table.width).map(|c| Variable { name: name(c), shape: vec![n], kind: kind(numeric[c]) }).collect())
}

/// Options that make no sense for one sample per row and no named matrices.
pub(super) fn check_options(path: &Path, options: &ReadOptions) -> Result<()> {
    if options.samples == Some(Samples::Columns) {
        let why = format!("{}: this kind of file has one sample per row; leave out --samples columns", path.display());
        return Err(Error::Data(why));
    }
    if let Some(x) = &options.x {
        let why = format!("{}: this kind of file has no variable `{x}`; leave out --x", path.display());
        return Err(Error::Data(why));
    }
    Ok(())
}

/// The roles of named columns: labels are what the user says, else a column of a telling name, else the last one.
pub(super) fn roles(names: &[&str], options: &ReadOptions) -> Result<Roles> {
    let names: Vec<&str> = names.iter().map(|name| name.trim()).collect();
    let find = |wanted: &str| names.iter().position(|name| name.eq_ignore_ascii_case(wanted));
    let split = find("is_train");
    let name = if NAME_COLUMNS.contains(&names[0]) { Some(0) } else { find("name").or(find("__index_level_0__")) };
    let label = match options.y.as_deref() {
        _ if options.labels.is_some() => None,
        Some(y) => match names.iter().position(|name| *name == y) {
            None if y == "none" => None,
            None => return Err(Error::unknown("column", y, names.iter().copied())),
            column => column,
        },
        None => LABEL_COLUMNS
            .iter()
            .find_map(|label| find(label))
            .or_else(|| (0..names.len()).rev().find(|&column| Some(column) != split && Some(column) != name)),
    };
    let name = name.filter(|_| name != label);
    let split = split.filter(|_| split != label);
    let features = (0..names.len()).filter(|&c| Some(c) != label && Some(c) != split && Some(c) != name).collect();
    Ok(Roles { label, split, name, features })
}

/// The roles where there is no header: `--y` gives the label column's number, else it is the last.
fn numbered_roles(path: &Path, width: usize, options: &ReadOptions) -> Result<Roles> {
    let label = match options.y.as_deref() {
        _ if options.labels.is_some() => None,
        None => Some(width - 1),
        Some("none") => None,
        Some(y) => match y.parse::<usize>() {
            Ok(number @ 1..) if number <= width => Some(number - 1),
            _ => {
                let why = format!("no column `{y}`: the table has no header, so give a number from 1 to {width}");
                return Err(Error::format(path, why));
            }
        },
    };
    let features = (0..width).filter(|&column| Some(column) != label).collect();
    Ok(Roles { label, split: None, name: None, features })
}

/// Labels from another file, one for each of `n` samples.
pub(super) fn matching(labels: Labels, file: &Path, n: usize) -> Result<Vec<String>> {
    if labels.text.len() == n {
        return Ok(labels.text);
    }
    Err(Error::Shape {
        what: format!("{}: labels", file.display()),
        expected: format!("{n}, one per sample"),
        found: labels.text.len().to_string(),
    })
}

/// A table whose first row has been looked at.
struct Table {
    header: Option<StringRecord>,
    width: usize,
    delimiter: u8,
}

impl Table {
    fn open(path: &Path, bytes: &[u8], y: Option<&str>) -> Result<Self> {
        if let Err(error) = std::str::from_utf8(bytes) {
            let line = 1 + bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
            return Err(Error::format(path, format!("line {line} is not UTF-8 text; save the table as UTF-8")));
        }
        let delimiter = delimiter(path, bytes);
        let mut table = Table { header: None, width: 0, delimiter };
        let mut first = StringRecord::new();
        let some = table.reader(bytes).read_record(&mut first).map_err(|error| unreadable(path, &error))?;
        if !some || first.len() < 2 {
            return Err(Error::format(
                path,
                "no table: needs two columns or more, separated by commas, tabs or semicolons",
            ));
        }
        table.width = first.len();
        table.header = is_header(&first, y).then_some(first);
        Ok(table)
    }

    fn reader<'a>(&self, bytes: &'a [u8]) -> csv::Reader<&'a [u8]> {
        ReaderBuilder::new().has_headers(self.header.is_some()).delimiter(self.delimiter).from_reader(bytes)
    }

    fn column_text(&self, column: usize) -> String {
        match self.header.as_ref().and_then(|header| header.get(column)) {
            Some(name) => format!("{} (`{name}`)", column + 1),
            None => (column + 1).to_string(),
        }
    }
}

/// Tabs in `.tsv`; else semicolons where the first line has no comma, as some countries' spreadsheets write them.
fn delimiter(path: &Path, bytes: &[u8]) -> u8 {
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("tsv")) {
        b'\t'
    } else if line.contains(&b';') && !line.contains(&b',') {
        b';'
    } else {
        b','
    }
}

/// A first row is a header if it has a telling name, or text where numbers belong. Text in the last cell alone is
/// taken for a label.
fn is_header(first: &StringRecord, y: Option<&str>) -> bool {
    let telling = |cell: &str| {
        let cell = cell.trim();
        // A column number is not a name.
        let named = y == Some(cell) && cell.parse::<f64>().is_err();
        named || cell.eq_ignore_ascii_case("is_train") || LABEL_COLUMNS.iter().any(|l| l.eq_ignore_ascii_case(cell))
    };
    let label = y.and_then(|y| y.parse::<usize>().ok()).and_then(|y| y.checked_sub(1)).unwrap_or(first.len() - 1);
    first.iter().any(telling)
        || first.iter().enumerate().any(|(column, cell)| column != label && cell.trim().parse::<f64>().is_err())
}

fn not_a_number(path: &Path, line: u64, column: &str, cell: &str) -> Error {
    let found = if cell.is_empty() { "is empty".to_string() } else { format!("is `{}`", shorten(cell)) };
    Error::format(path, format!("line {line}, column {column} {found}, not a number; mend the cell or drop the column"))
}

/// At most the first 40 letters.
pub(super) fn shorten(text: &str) -> String {
    if text.chars().count() <= 40 { text.into() } else { text.chars().take(40).chain("...".chars()).collect() }
}

fn unreadable(path: &Path, error: &csv::Error) -> Error {
    use csv::ErrorKind;
    let why = match error.kind() {
        ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            format!("line {line} has {len} cells, the first row {expected_len}; every row needs the same number")
        }
        _ => error.to_string(),
    };
    Error::format(path, why)
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
