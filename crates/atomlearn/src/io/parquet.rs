//! Parquet tables: one sample per row, columns of plain numbers or text.

use super::parquet_check::{CheckedPages, TEXT_BATCH, check_pages, check_schema};
use super::table::{check_options, matching, roles};
use super::{DAMAGED, RawData, ReadOptions, Variable, array, assemble, labels, limits, text};
use crate::guard::guarded;
use crate::{Error, Result};
use ::parquet::basic::{ConvertedType, Type};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use ::parquet::data_type::{ByteArray, DataType};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::schema::types::ColumnDescriptor;
use bytes::Bytes;
use std::cell::Cell;
use std::path::Path;

/// Rows decoded at a time.
const BATCH: usize = 4096;
/// Bytes that all pages may unpack to, as a multiple of what one part of the file may take.
const UNPACKED_PARTS: u64 = 2;

/// The values of a column, missing ones as NaN or empty text.
enum Column {
    Numbers(Vec<f64>),
    Text(Vec<String>),
}

/// Reads a table.
pub(super) fn read(path: &Path, bytes: Vec<u8>, options: &ReadOptions) -> Result<RawData> {
    check_options(path, options)?;
    let length = bytes.len();
    guarded(path, DAMAGED, || {
        let table = Table::open(path, bytes)?;
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        let roles = roles(&names, options)?;
        let (d, n) = (roles.features.len(), table.rows);
        if n == 0 || d == 0 {
            return Err(Error::format(path, format!("the table has {n} samples of {d} features; nothing to read")));
        }
        limits::check_expansion(path, "the table", &[d, n], length)?;
        let mut x = limits::matrix(path, "the table", (d, n), length, |_, _| 0.0)?;
        for (feature, &column) in roles.features.iter().enumerate() {
            let name = names[column];
            let Column::Numbers(values) = table.column(column)? else {
                let why =
                    format!("column `{name}` holds text, not numbers; drop it, or name it with --y if it is the label");
                return Err(Error::format(path, why));
            };
            for (sample, value) in values.into_iter().enumerate() {
                x[(feature, sample)] = value;
            }
        }
        let labels = match (&options.labels, roles.label) {
            (Some(file), _) => Some(matching(labels::read_file(file)?, file, n)?),
            (None, Some(column)) => Some(table.labels(column)?),
            (None, None) => None,
        };
        let is_train = match roles.split.map(|column| table.column(column)).transpose()? {
            Some(Column::Numbers(flags)) => Some(
                flags
                    .iter()
                    .enumerate()
                    .map(|(i, &v)| assemble::train_flag(path, i, v))
                    .collect::<Result<Vec<bool>>>()?,
            ),
            Some(Column::Text(_)) => return Err(Error::format(path, "`is_train` must hold 0 or 1, not text")),
            None => None,
        };
        roles.name.map_or(Ok(()), |column| table.check_text(column))?;
        let names = roles.name.map(|column| table.texts(column)).transpose()?;
        Ok(RawData { x, labels, is_train, image_shape: None, names })
    })
}

/// One entry per column.
pub(super) fn variables(path: &Path, bytes: Vec<u8>) -> Result<Vec<Variable>> {
    guarded(path, DAMAGED, || {
        let table = Table::open(path, bytes)?;
        let variable = |column: &Description| Variable {
            name: column.name.clone(),
            shape: vec![table.rows],
            kind: column.kind.clone(),
        };
        Ok(table.columns.iter().map(variable).collect())
    })
}

struct Description {
    name: String,
    kind: String,
    unsigned: bool,
    usable: bool,
}

struct Table<'a> {
    path: &'a Path,
    bytes: Bytes,
    reader: SerializedFileReader<Bytes>,
    columns: Vec<Description>,
    rows: usize,
    /// Bytes that the pages read so far unpack to: columns may share pages.
    unpacked: Cell<u64>,
}

impl<'a> Table<'a> {
    fn open(path: &'a Path, bytes: Vec<u8>) -> Result<Self> {
        check_schema(path, &bytes)?;
        let bytes = Bytes::from(bytes);
        let reader = SerializedFileReader::new(bytes.clone()).map_err(|error| damaged(path, &error))?;
        let metadata = reader.metadata().file_metadata();
        let rows =
            usize::try_from(metadata.num_rows()).map_err(|_| Error::format(path, "a negative number of rows"))?;
        let columns: Vec<Description> =
            metadata.schema_descr().columns().iter().map(|column| describe(column)).collect();
        if columns.is_empty() {
            return Err(Error::format(path, "the table has no columns"));
        }
        Ok(Table { path, bytes, reader, columns, rows, unpacked: Cell::new(0) })
    }

    /// One column as it is stored, numbers as `f64`.
    fn column(&self, index: usize) -> Result<Column> {
        self.read(index, false)
    }

    /// One column as text, which whole numbers beyond 2^53 pass through unharmed; missing values are empty.
    fn texts(&self, index: usize) -> Result<Vec<String>> {
        match self.read(index, true)? {
            Column::Text(text) => Ok(text),
            // A table without rows.
            Column::Numbers(_) => Ok(Vec::new()),
        }
    }

    /// One column through all row groups.
    fn read(&self, index: usize, as_text: bool) -> Result<Column> {
        let description = &self.columns[index];
        if !description.usable {
            let why =
                format!("column `{}` is of type {}; convert it to numbers or text", description.name, description.kind);
            return Err(Error::format(self.path, why));
        }
        let (mut numbers, mut texts) = (Vec::new(), Vec::new());
        let mut budget = limits::TextBudget::new(self.path, &description.name, self.bytes.len());
        let mut too_much = None;
        for group in 0..self.reader.num_row_groups() {
            let bad = |error| damaged(self.path, &error);
            let column = self.pages(group, index)?;
            let (numbers, rows, unsigned) = (&mut numbers, self.rows, description.unsigned);
            if as_text {
                gather_text(column, rows, &mut texts, unsigned).map_err(bad)?;
                continue;
            }
            let flag = |&value: &bool| f64::from(u8::from(value));
            let short = |&value: &i32| if unsigned { f64::from(value as u32) } else { f64::from(value) };
            let long = |&value: &i64| if unsigned { value as u64 as f64 } else { value as f64 };
            let word = |value: &ByteArray| match budget.add(1, value.data().len()) {
                Ok(()) => text::from_utf8(value.data()),
                Err(error) => {
                    too_much.get_or_insert(error);
                    String::new()
                }
            };
            match column {
                ColumnReader::BoolColumnReader(reader) => gather(reader, rows, numbers, f64::NAN, flag),
                ColumnReader::Int32ColumnReader(reader) => gather(reader, rows, numbers, f64::NAN, short),
                ColumnReader::Int64ColumnReader(reader) => gather(reader, rows, numbers, f64::NAN, long),
                ColumnReader::FloatColumnReader(reader) => gather(reader, rows, numbers, f64::NAN, |&v| f64::from(v)),
                ColumnReader::DoubleColumnReader(reader) => gather(reader, rows, numbers, f64::NAN, |&v| v),
                ColumnReader::ByteArrayColumnReader(reader) => gather(reader, rows, &mut texts, String::new(), word),
                _ => Err(ParquetError::General("a column of another type than declared".into())),
            }
            .map_err(bad)?;
            if let Some(error) = too_much {
                return Err(error);
            }
        }
        let found = numbers.len().max(texts.len());
        if found != self.rows {
            let why =
                format!("column `{}` has {found} values for {} rows; the file is damaged", description.name, self.rows);
            return Err(Error::format(self.path, why));
        }
        Ok(if texts.is_empty() { Column::Numbers(numbers) } else { Column::Text(texts) })
    }

    /// The reader of a column in a row group, its pages checked.
    fn pages(&self, group: usize, index: usize) -> Result<ColumnReader> {
        let bad = |error| damaged(self.path, &error);
        let group = self.reader.get_row_group(group).map_err(bad)?;
        let outside = || bad(ParquetError::General("a column outside the file".into()));
        let chunk = group.metadata().columns().get(index).ok_or_else(outside)?;
        let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
        let place = u64::try_from(start).ok().zip(u64::try_from(chunk.compressed_size()).ok());
        let (start, length) = place.ok_or_else(outside)?;
        let allowed = limits::allowance(self.bytes.len());
        let total = self.unpacked.get().saturating_add(check_pages(self.path, &self.bytes, start, length)?);
        if total > allowed.saturating_mul(UNPACKED_PARTS) {
            let why = "its pages unpack to far more than a file of this size holds; write the table again";
            return Err(Error::format(self.path, why));
        }
        self.unpacked.set(total);
        let pages = group.get_column_page_reader(index).map_err(bad)?;
        let description = chunk.column_descr_ptr();
        let longest = allowed / TEXT_BATCH as u64;
        let checked = CheckedPages { pages, longest, has_levels: description.max_def_level() > 0 };
        Ok(get_column_reader(description, Box::new(checked)))
    }

    /// Room for one piece of text per row.
    fn check_text(&self, column: usize) -> Result<()> {
        limits::TextBudget::new(self.path, &self.columns[column].name, self.bytes.len()).add(self.rows, 0)
    }

    fn labels(&self, column: usize) -> Result<Vec<String>> {
        self.check_text(column)?;
        let text = self.texts(column)?;
        match text.iter().position(String::is_empty) {
            Some(sample) => Err(labels::missing_label(self.path, sample)),
            None => Ok(text),
        }
    }
}

fn damaged(path: &Path, error: &ParquetError) -> Error {
    Error::format(path, format!("not a readable Parquet file ({error}); copy or write it again"))
}

/// What a column is, and whether it can be used: lists, dates, decimals and the like cannot.
fn describe(column: &ColumnDescriptor) -> Description {
    use ConvertedType::{DECIMAL, INT_8, INT_16, INT_32, INT_64, NONE, UINT_8, UINT_16, UINT_32, UINT_64};
    let converted = column.converted_type();
    let unsigned = matches!(converted, UINT_8 | UINT_16 | UINT_32 | UINT_64);
    let whole = unsigned || matches!(converted, NONE | INT_8 | INT_16 | INT_32 | INT_64);
    let flat = column.max_rep_level() == 0 && column.path().parts().len() == 1;
    let physical = column.physical_type();
    let usable = flat
        && match physical {
            Type::BOOLEAN | Type::FLOAT | Type::DOUBLE => true,
            // Times are integers too, with a logical type of their own.
            Type::INT32 | Type::INT64 => whole && (column.logical_type_ref().is_none() || converted != NONE),
            Type::BYTE_ARRAY => converted != DECIMAL,
            _ => false,
        };
    let kind = match (physical, converted) {
        (Type::BYTE_ARRAY, ConvertedType::UTF8) => "text".to_string(),
        (physical, NONE) => physical.to_string().to_lowercase(),
        (_, converted) => converted.to_string().to_lowercase(),
    };
    let name = column.path().parts().join(".");
    Description { name, kind, unsigned, usable }
}

/// As [`gather`], every value as the text of a label.
fn gather_text(
    column: ColumnReader,
    rows: usize,
    out: &mut Vec<String>,
    unsigned: bool,
) -> std::result::Result<(), ParquetError> {
    let none = String::new();
    let short = |&value: &i32| if unsigned { (value as u32).to_string() } else { value.to_string() };
    let long = |&value: &i64| if unsigned { (value as u64).to_string() } else { value.to_string() };
    let single = |&value: &f32| array::single_label(value).unwrap_or_default();
    let double = |&value: &f64| array::number_label(value).unwrap_or_default();
    match column {
        ColumnReader::BoolColumnReader(reader) => gather(reader, rows, out, none, |&v| u8::from(v).to_string()),
        ColumnReader::Int32ColumnReader(reader) => gather(reader, rows, out, none, short),
        ColumnReader::Int64ColumnReader(reader) => gather(reader, rows, out, none, long),
        ColumnReader::FloatColumnReader(reader) => gather(reader, rows, out, none, single),
        ColumnReader::DoubleColumnReader(reader) => gather(reader, rows, out, none, double),
        ColumnReader::ByteArrayColumnReader(reader) => {
            gather(reader, rows, out, none, |v: &ByteArray| text::from_utf8(v.data()))
        }
        _ => Err(ParquetError::General("a column of another type than declared".into())),
    }
}

/// Appends a row group's values to `out`, at most up to `rows` in all.
fn gather<T: DataType, V: Clone>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    out: &mut Vec<V>,
    missing: V,
    mut convert: impl FnMut(&T::T) -> V,
) -> std::result::Result<(), ParquetError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let batch = if T::get_physical_type() == Type::BYTE_ARRAY { TEXT_BATCH } else { BATCH };
    while out.len() < rows {
        levels.clear();
        values.clear();
        let batch = batch.min(rows - out.len());
        let (records, stored, _) = reader.read_records(batch, Some(&mut levels), None, &mut values)?;
        if records == 0 {
            break;
        }
        if levels.is_empty() {
            out.extend(values.iter().take(stored).map(&mut convert));
            continue;
        }
        // A level of 0 marks a missing value, for which nothing is stored.
        let mut values = values.iter();
        for &level in &levels {
            let value = if level == 0 { None } else { values.next() };
            out.push(value.map_or_else(|| missing.clone(), &mut convert));
        }
    }
    Ok(())
}
