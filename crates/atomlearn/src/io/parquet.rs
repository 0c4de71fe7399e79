//! Parquet tables: one sample per row, columns of plain numbers or text.

use super::parquet_check::{CheckedPages, TEXT_BATCH, check_pages, check_schema};
use super::table::{Cells, Column};
use super::{DAMAGED, RawData, ReadOptions, Variable, limits, text};
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

/// Reads the samples.
pub(super) fn read(path: &Path, bytes: Vec<u8>, options: &ReadOptions) -> Result<RawData> {
    super::table::check_options(path, options)?;
    guarded(path, DAMAGED, || table(path, bytes)?.into_data(options))
}

/// Reads a table, whole.
fn table(path: &Path, bytes: Vec<u8>) -> Result<super::table::Table<'_>> {
    let length = bytes.len();
    let table = ParquetTable::open(path, bytes)?;
    let columns = table.columns.len();
    let rows = table.rows;
    if rows > 0 {
        limits::check_expansion(path, "the table", &[columns, rows], length)?;
    }
    let column = |index: usize| -> Result<Column> {
        let cells = if table.columns[index].usable {
            table.column(index)?
        } else {
            Cells::Unusable(table.columns[index].kind.clone())
        };
        Ok(Column::new(table.columns[index].name.clone(), cells, false))
    };
    let read = (0..columns).map(column).collect::<Result<Vec<Column>>>()?;
    Ok(super::table::Table::typed(path, read, rows, table.pandas_index()))
}

/// One entry per column.
pub(super) fn variables(path: &Path, bytes: Vec<u8>) -> Result<Vec<Variable>> {
    guarded(path, DAMAGED, || {
        let table = ParquetTable::open(path, bytes)?;
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

struct ParquetTable<'a> {
    path: &'a Path,
    bytes: Bytes,
    reader: SerializedFileReader<Bytes>,
    columns: Vec<Description>,
    rows: usize,
    /// Bytes that the pages read so far unpack to: columns may share pages.
    unpacked: Cell<u64>,
}

impl<'a> ParquetTable<'a> {
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
        Ok(ParquetTable { path, bytes, reader, columns, rows, unpacked: Cell::new(0) })
    }

    /// Names of the columns that pandas keeps its index in.
    fn pandas_index(&self) -> Vec<String> {
        let metadata = self.reader.metadata().file_metadata();
        let stored = metadata.key_value_metadata().into_iter().flatten().find(|entry| entry.key == "pandas");
        let parsed = stored.and_then(|entry| serde_json::from_str::<serde_json::Value>(entry.value.as_deref()?).ok());
        let columns = parsed.as_ref().and_then(|value| value.get("index_columns")?.as_array());
        // An index that only counts is kept as an object, without a column.
        columns.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_string)).collect()
    }

    /// One column through all row groups.
    fn column(&self, index: usize) -> Result<Cells> {
        let description = &self.columns[index];
        let mut numbers = Vec::new();
        let mut texts = Vec::new();
        let mut wide = Vec::new();
        let mut singles = Vec::new();
        let mut budget = limits::TextBudget::new(self.path, &description.name, self.bytes.len());
        let mut too_much = None;
        for group in 0..self.reader.num_row_groups() {
            let bad = |error| damaged(self.path, &error);
            let column = self.pages(group, index)?;
            let numbers = &mut numbers;
            let rows = self.rows;
            let unsigned = description.unsigned;
            let flag = |&value: &bool| f64::from(u8::from(value));
            let short = |&value: &i32| if unsigned { f64::from(value as u32) } else { f64::from(value) };
            let long = |&value: &i64| Some(if unsigned { i128::from(value as u64) } else { i128::from(value) });
            let word = |value: &ByteArray| match budget.add(1, value.data().len()) {
                Ok(()) => Some(text::from_utf8(value.data())),
                Err(error) => {
                    too_much.get_or_insert(error);
                    None
                }
            };
            match column {
                ColumnReader::BoolColumnReader(reader) => gather(reader, rows, numbers, f64::NAN, flag),
                ColumnReader::Int32ColumnReader(reader) => gather(reader, rows, numbers, f64::NAN, short),
                ColumnReader::Int64ColumnReader(reader) => gather(reader, rows, &mut wide, None, long),
                ColumnReader::FloatColumnReader(reader) => gather(reader, rows, &mut singles, f32::NAN, |&v| v),
                ColumnReader::DoubleColumnReader(reader) => gather(reader, rows, numbers, f64::NAN, |&v| v),
                ColumnReader::ByteArrayColumnReader(reader) => gather(reader, rows, &mut texts, None, word),
                _ => Err(ParquetError::General("a column of another type than declared".into())),
            }
            .map_err(bad)?;
            if let Some(error) = too_much {
                return Err(error);
            }
        }
        let found = numbers.len().max(texts.len()).max(wide.len()).max(singles.len());
        if found != self.rows {
            let why =
                format!("column `{}` has {found} values for {} rows; the file is damaged", description.name, self.rows);
            return Err(Error::format(self.path, why));
        }
        if !wide.is_empty() {
            // Whole numbers stay whole only where `f64` would lose digits of them.
            let exact = |value: &Option<i128>| value.is_none_or(|value| value.abs() <= 1 << 53);
            let number = |value: &Option<i128>| value.map_or(f64::NAN, |value| value as f64);
            return Ok(match wide.iter().all(exact) {
                true => Cells::Numbers(wide.iter().map(number).collect()),
                false => Cells::Integers(wide),
            });
        }
        Ok(match (singles.is_empty(), texts.is_empty()) {
            (false, _) => Cells::Singles(singles),
            (true, false) => Cells::Words(texts),
            (true, true) => Cells::Numbers(numbers),
        })
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

/// Appends a row group's values to `out`, at most up to `rows` in all.
fn gather<T: DataType, V: Clone>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    out: &mut Vec<V>,
    missing: V,
    mut convert: impl FnMut(&T::T) -> V,
) -> std::result::Result<(), ParquetError> {
    let mut levels = Vec::new();
    let mut values = Vec::new();
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
