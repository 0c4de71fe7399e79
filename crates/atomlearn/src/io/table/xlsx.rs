//! Excel workbooks: the first sheet as rows of cells.

use super::{Note, Rows};
use crate::guard::guarded;
use crate::io::DAMAGED;
use crate::io::array::number_label;
use crate::io::{limits, zip};
use crate::{Error, Result};
use calamine::{DataRef, Reader, Xlsx};
use std::io::Cursor;
use std::path::Path;

/// Sheets may unpack to this many bytes, and so many times the file's size beyond.
const UNPACKED: u64 = 64 << 20;
const UNPACKED_TIMES: u64 = 60;
/// Cells of a table, empty ones included, for every cell that is stored.
const EMPTY_TIMES: usize = 100;

/// Reads the cells of the first sheet; numbers come as text in full precision.
pub(super) fn rows(path: &Path, bytes: &[u8]) -> Result<Rows> {
    check_growth(path, bytes)?;
    guarded(path, DAMAGED, || {
        let bad = |error: calamine::XlsxError| {
            Error::format(path, format!("not a readable Excel workbook ({error}); save it again as .xlsx or .csv"))
        };
        let mut book = Xlsx::new(Cursor::new(bytes)).map_err(bad)?;
        let names = book.sheet_names();
        let first = names.first().ok_or_else(|| Error::format(path, "the workbook has no sheets"))?;
        let mut notes = Vec::new();
        if names.len() > 1 {
            notes.push(Note::plain(format!("the workbook has {} sheets; `{first}`, the first, is read", names.len())));
        }
        let mut reader = book.worksheet_cells_reader(first).map_err(bad)?;
        let mut cells: Vec<(u32, u32, String)> = Vec::new();
        while let Some(cell) = reader.next_cell().map_err(bad)? {
            let text = text_of(cell.get_value());
            if !text.is_empty() {
                let (row, column) = cell.get_position();
                cells.push((row, column, text));
            }
        }
        grid(path, cells, notes)
    })
}

/// Refuses archives that unpack to far more than a sheet of that size would. Sizes in the directory may lie, so they are counted.
fn check_growth(path: &Path, bytes: &[u8]) -> Result<()> {
    let most = UNPACKED + UNPACKED_TIMES * bytes.len() as u64;
    let mut left = most;
    for member in zip::members(path, bytes)? {
        left = left.checked_sub(member.count(path, left)?).ok_or_else(|| {
            let why = format!("unpacks to more than {most} bytes; if that is right, save the sheet as .csv");
            Error::format(path, why)
        })?;
    }
    limits::check_memory(path, 4 * (most - left), "the workbook")
}

fn text_of(value: &DataRef<'_>) -> String {
    match value {
        DataRef::Int(value) => value.to_string(),
        DataRef::Float(value) => number_label(*value).unwrap_or_else(|| value.to_string()),
        DataRef::String(text) => text.trim().to_string(),
        DataRef::SharedString(text) => text.trim().to_string(),
        DataRef::Bool(value) => value.to_string(),
        DataRef::DateTime(value) => format!("date {}", value.as_f64()),
        DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => text.clone(),
        // `#DIV/0!` and its like: a formula without a value.
        DataRef::Error(_) | DataRef::Empty => String::new(),
    }
}

/// Cells in their places; rows without any are left out, as blank lines are in files of text.
fn grid(path: &Path, mut cells: Vec<(u32, u32, String)>, notes: Vec<Note>) -> Result<Rows> {
    cells.sort_by_key(|(row, column, _)| (*row, *column));
    let left = cells.iter().map(|(_, column, _)| *column).min().unwrap_or(0);
    let width = cells.iter().map(|(_, column, _)| (*column - left) as usize + 1).max().unwrap_or(0);
    let filled_rows = 1 + cells.windows(2).filter(|pair| pair[0].0 != pair[1].0).count();
    if width < 2 {
        return Err(Error::format(path, "no table on the first sheet: needs two columns or more"));
    }
    if width.saturating_mul(filled_rows) / EMPTY_TIMES > cells.len() {
        let why = format!("the first sheet is {filled_rows} x {width} with only {} cells in it; no table", cells.len());
        return Err(Error::format(path, why));
    }
    let mut rows =
        Rows { columns: Vec::new(), lines: Vec::new(), semicolons: false, notes, numbered: "row", short_header: false };
    let mut start = 0;
    while start < cells.len() {
        let number = cells[start].0;
        let end = start + cells[start..].partition_point(|cell| cell.0 == number);
        let mut record = vec![""; width];
        cells[start..end].iter().for_each(|(_, column, text)| record[(*column - left) as usize] = text);
        rows.push(path, u64::from(number) + 1, record.into_iter())?;
        start = end;
    }
    Ok(rows)
}
