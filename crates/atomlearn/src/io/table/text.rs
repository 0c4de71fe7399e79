//! Files of text to rows of cells: packing, encoding, separator.

use super::cells::{Texts, parse_number};
use super::{Note, Rows};
use crate::io::limits;
use crate::{Error, Result};
use csv::{ReaderBuilder, StringRecord};
use flate2::read::MultiGzDecoder;
use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

/// Bytes at the start of a file by which the separator is chosen.
const SAMPLE: usize = 1 << 16;
/// Packed tables may unpack to this many bytes, and so many times their size beyond.
const UNPACKED: u64 = 16 << 20;
const UNPACKED_TIMES: u64 = 40;
const GZIP: &[u8] = &[0x1f, 0x8b];

/// Reads the cells of a file, the first row among them.
pub(super) fn rows(path: &Path, bytes: &[u8]) -> Result<Rows> {
    let unpacked = if bytes.starts_with(GZIP) { Cow::Owned(unpack(path, bytes)?) } else { Cow::Borrowed(bytes) };
    rows_up_to(path, &unpacked, usize::MAX)
}

/// As [`rows`], for text that is not packed and has no more columns than these: every column takes memory of its own.
pub(super) fn rows_up_to(path: &Path, bytes: &[u8], max_columns: usize) -> Result<Rows> {
    check_room(path, bytes)?;
    let mut notes = Vec::new();
    let text = decode(path, bytes, &mut notes)?;
    let separator = separator(path, &text);
    let text = if separator == b' ' { Cow::Owned(tabs_for_blanks(&text)) } else { text };
    let delimiter = if separator == b' ' { b'\t' } else { separator };
    let mut rows = Rows {
        columns: Vec::new(),
        lines: Vec::new(),
        semicolons: separator == b';',
        notes,
        numbered: "line",
        short_header: false,
    };
    if let Some(line) = unclosed_quote(&text, delimiter) {
        let why = format!("line {line} opens a quotation mark that is never closed; close it, or remove it");
        return Err(Error::format(path, why));
    }
    let mut reader = reader(&text, delimiter);
    let mut record = StringRecord::new();
    while next(&mut reader, &mut record, path)? {
        let line = record.position().map_or(0, csv::Position::line);
        if record.len() > max_columns {
            let why = format!("line {line} has {} cells; at most {max_columns} are read", record.len());
            return Err(Error::format(path, why));
        }
        if rows.lines.len() == 1 && record.len() == rows.columns.len() + 1 {
            rows = rows_with_unnamed_first(path, rows)?;
        }
        rows.push(path, line, record.iter())?;
    }
    if rows.columns.len() < 2 {
        let why = "no table: needs two columns or more, separated by commas, semicolons, tabs or |";
        return Err(Error::format(path, why));
    }
    Ok(rows)
}

/// Asks the system once for all that the lists of a table will take, and gives it back. They grow cell by cell, where a
/// refusal would end the program; here it is an error.
fn check_room(path: &Path, bytes: &[u8]) -> Result<()> {
    /// Where the cell ends and its number, in lists that double when they grow.
    const CELL: usize = 2 * (size_of::<u32>() + size_of::<f64>());
    /// The row's line, its label and the class of that.
    const ROW: usize = 2 * size_of::<u64>() + 4 * size_of::<String>();
    let rows = bytes.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let cells = rows + bytes.iter().filter(|byte| b",;\t| ".contains(byte)).count();
    // The text itself is decoded (a byte of latin-1 takes up to three) and then stored by columns.
    let needed = 5 * bytes.len() + CELL * cells + ROW * rows;
    limits::with_room::<u8>(path, "the table", needed).map(drop)
}

/// The line of a quotation mark at the start of a cell that nothing closes: the rest of the file would be one cell.
fn unclosed_quote(text: &str, delimiter: u8) -> Option<usize> {
    let mut line = 1;
    let mut opened = 1;
    let mut quoted = false;
    let mut at_start = true;
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        line += usize::from(byte == b'\n');
        if quoted {
            // A mark that is written twice stands for one.
            if byte == b'"' && bytes.next_if_eq(&b'"').is_none() {
                quoted = false;
            }
            continue;
        }
        if byte == b'"' && at_start {
            (quoted, opened) = (true, line);
        }
        at_start = byte == delimiter || byte == b'\n' || byte == b'\r';
    }
    quoted.then_some(opened)
}

/// R writes no name above the column of row names, so its header is one cell short.
fn rows_with_unnamed_first(path: &Path, short: Rows) -> Result<Rows> {
    let mut rows = Rows { columns: Vec::new(), lines: Vec::new(), short_header: true, ..short };
    let names: Vec<String> = short.columns.iter().map(|column| column.get(0).to_string()).collect();
    rows.push(path, short.lines[0], std::iter::once("").chain(names.iter().map(String::as_str)))?;
    Ok(rows)
}

fn reader(text: &str, delimiter: u8) -> csv::Reader<&[u8]> {
    ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).from_reader(text.as_bytes())
}

fn next(reader: &mut csv::Reader<&[u8]>, record: &mut StringRecord, path: &Path) -> Result<bool> {
    reader.read_record(record).map_err(|error| Error::format(path, error.to_string()))
}

/// Unpacks gzip; what grows out of proportion is refused.
fn unpack(path: &Path, bytes: &[u8]) -> Result<Vec<u8>> {
    let most = UNPACKED + UNPACKED_TIMES * bytes.len() as u64;
    let mut unpacked = Vec::new();
    let read = MultiGzDecoder::new(bytes).take(most + 1).read_to_end(&mut unpacked);
    read.map_err(|error| match error.kind() {
        std::io::ErrorKind::OutOfMemory => limits::read_error(path, error, most),
        _ => Error::format(path, format!("not a readable gzip file ({error}); copy or pack it again")),
    })?;
    if unpacked.len() as u64 > most {
        let why = format!("unpacks to more than {UNPACKED_TIMES} times its size; if that is right, unpack it first");
        return Err(Error::format(path, why));
    }
    limits::check_memory(path, 4 * unpacked.len() as u64, "the unpacked table")?;
    Ok(unpacked)
}

/// Text from bytes: UTF-8, UTF-16 with its mark, or else Windows-1252, which holds latin-1.
fn decode<'a>(path: &Path, bytes: &'a [u8], notes: &mut Vec<Note>) -> Result<Cow<'a, str>> {
    let wide = |unit: fn([u8; 2]) -> u16| {
        let units = bytes[2..].as_chunks::<2>().0.iter().map(|pair| unit(*pair));
        let text: std::result::Result<String, _> = char::decode_utf16(units).collect();
        text.map(Cow::Owned)
            .map_err(|_| Error::format(path, "not UTF-16 text as its first bytes say; save it as UTF-8"))
    };
    if bytes.starts_with(&[0xff, 0xfe]) && bytes.len().is_multiple_of(2) {
        return wide(u16::from_le_bytes);
    }
    if bytes.starts_with(&[0xfe, 0xff]) && bytes.len().is_multiple_of(2) {
        return wide(u16::from_be_bytes);
    }
    let error = match std::str::from_utf8(bytes) {
        Ok(text) => return Ok(Cow::Borrowed(text.strip_prefix('\u{feff}').unwrap_or(text))),
        Err(error) => error,
    };
    let line = 1 + bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
    let text: Option<String> = bytes.iter().map(|&byte| windows_1252(byte)).collect();
    let text =
        text.ok_or_else(|| Error::format(path, format!("line {line} is not UTF-8 text; save the table as UTF-8")))?;
    notes.push(Note::plain(format!(
        "line {line} is not UTF-8, so the table is read as latin-1 (Windows-1252); save it as UTF-8 if names look wrong"
    )));
    Ok(Cow::Owned(text))
}

/// The letter of a byte; `None` for bytes that no text has.
fn windows_1252(byte: u8) -> Option<char> {
    const HIGH: [u32; 32] = [
        0x20ac, 0, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0, 0x17d, 0, 0,
        0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0, 0x17e, 0x178,
    ];
    match byte {
        b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0xa0..=0xff => Some(byte.into()),
        0x80..=0x9f => char::from_u32(HIGH[usize::from(byte - 0x80)]).filter(|&letter| letter != '\0'),
        _ => None,
    }
}

/// The separator that cuts the first lines into the same number of cells, two or more.
///
/// Semicolons go first where every comma stands between digits, since those are decimal commas; else most cells win, and of
/// equals the one that the name of the file speaks for. Blanks are tried in `.txt` and `.data` alone.
fn separator(path: &Path, text: &str) -> u8 {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let order: &[u8] = if name.ends_with(".tsv") { b"\t,;|" } else { b",;\t|" };
    let start = whole_lines(text);
    let cells = |delimiter: u8| cells_per_line(start, delimiter);
    let even: Vec<(u8, usize)> =
        order.iter().filter_map(|&d| cells(d).map(|n| (d, n))).filter(|(_, n)| *n > 1).collect();
    if even.iter().any(|(d, _)| *d == b';') && commas_are_decimal(start) {
        return b';';
    }
    if let Some(&(delimiter, _)) = even.iter().rev().max_by_key(|(_, n)| *n) {
        return delimiter;
    }
    let blanks = [".txt", ".data", ".dat"].iter().any(|end| name.ends_with(end));
    if blanks && cells_per_line(&tabs_for_blanks(start), b'\t').is_some_and(|n| n > 1) {
        return b' ';
    }
    // No separator is even: the one that occurs gives an error about the line that breaks the pattern.
    let first = start.lines().next().unwrap_or_default();
    order.iter().copied().find(|&d| first.contains(char::from(d))).unwrap_or(order[0])
}

/// The first lines; all of a short text, else none that is cut off.
fn whole_lines(text: &str) -> &str {
    if text.len() <= SAMPLE {
        return text;
    }
    let end = text.as_bytes()[..SAMPLE].iter().rposition(|&byte| byte == b'\n').map_or(SAMPLE, |at| at + 1);
    text.get(..end).unwrap_or(text)
}

/// Cells of every line, if all lines have as many; a header may be one short, as R writes it.
fn cells_per_line(text: &str, delimiter: u8) -> Option<usize> {
    let mut reader = reader(text, delimiter);
    let mut record = StringRecord::new();
    let mut lengths = Vec::new();
    while reader.read_record(&mut record).ok()? {
        lengths.push(record.len());
    }
    let width = *lengths.get(1).or(lengths.first())?;
    let first = *lengths.first()?;
    ((first == width || first + 1 == width) && lengths[1..].iter().all(|&length| length == width)).then_some(width)
}

/// True if commas occur, and only between digits.
fn commas_are_decimal(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let mut commas = bytes.iter().enumerate().filter(|(_, byte)| **byte == b',').map(|(at, _)| at).peekable();
    commas.peek().is_some() && commas.all(|at| digit(at.checked_sub(1)) && digit(Some(at + 1)))
}

/// Every run of blanks outside quotes becomes one tab.
fn tabs_for_blanks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let mut quoted = false;
        let mut gap = false;
        for letter in line.trim().chars() {
            quoted ^= letter == '"';
            if !quoted && (letter == ' ' || letter == '\t') {
                gap = true;
                continue;
            }
            if gap {
                out.push('\t');
                gap = false;
            }
            out.push(letter);
        }
        out.push('\n');
    }
    out
}

/// Whether the comma is the decimal sign: if a column becomes numbers by it, in tables with semicolons or where it is `usual`.
pub(super) fn decimal_comma(rows: &Rows, usual: bool) -> bool {
    let numbers_by_comma = |column: &Texts| {
        let filled = || column.iter().skip(1).filter(|cell| !super::cells::is_missing(cell));
        filled().any(|cell| cell.contains(',')) && filled().all(|cell| parse_number(cell, true).is_some())
    };
    (rows.semicolons || usual) && rows.columns.iter().any(numbers_by_comma)
}
