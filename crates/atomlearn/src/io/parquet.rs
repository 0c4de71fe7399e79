//! Parquet tables: one sample per row, columns of plain numbers or text.

use super::mat73::guarded;
use super::table::{Cells, Column};
use super::{Variable, limits};
use crate::{Error, Result};
use ::parquet::basic::{ConvertedType, Type};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{ByteArray, DataType};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::schema::types::ColumnDescriptor;
use bytes::Bytes;
use std::path::Path;

/// Rows decoded at a time.
const BATCH: usize = 4096;

/// Reads a table, whole.
pub(super) fn table(path: &Path, bytes: Vec<u8>) -> Result<super::table::Table<'_>> {
    let length = bytes.len();
    let table = Table::open(path, bytes)?;
    let (columns, rows) = (table.columns.len(), table.rows);
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
    guarded(path, || {
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
    reader: SerializedFileReader<Bytes>,
    columns: Vec<Description>,
    rows: usize,
}

impl<'a> Table<'a> {
    fn open(path: &'a Path, bytes: Vec<u8>) -> Result<Self> {
        let reader = SerializedFileReader::new(Bytes::from(bytes)).map_err(|error| damaged(path, &error))?;
        let metadata = reader.metadata().file_metadata();
        let rows =
            usize::try_from(metadata.num_rows()).map_err(|_| Error::format(path, "a negative number of rows"))?;
        let columns: Vec<Description> =
            metadata.schema_descr().columns().iter().map(|column| describe(column)).collect();
        if columns.is_empty() {
            return Err(Error::format(path, "the table has no columns"));
        }
        Ok(Table { path, reader, columns, rows })
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
        let (mut numbers, mut text, mut wide) = (Vec::new(), Vec::new(), Vec::new());
        for group in 0..self.reader.num_row_groups() {
            let bad = |error| damaged(self.path, &error);
            let chunk = self.reader.metadata().row_group(group).columns().get(index);
            // The package asserts this instead of returning an error.
            let placed = chunk.is_some_and(|chunk| {
                let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
                start >= 0 && chunk.compressed_size() >= 0
            });
            if !placed {
                return Err(bad(ParquetError::General("a column outside the file".into())));
            }
            let column =
                self.reader.get_row_group(group).and_then(|group| group.get_column_reader(index)).map_err(bad)?;
            let (numbers, rows, unsigned) = (&mut numbers, self.rows, description.unsigned);
            let flag = |&value: &bool| f64::from(u8::from(value));
            let short = |&value: &i32| if unsigned { f64::from(value as u32) } else { f64::from(value) };
            let long = |&value: &i64| Some(if unsigned { i128::from(value as u64) } else { i128::from(value) });
            let word = |value: &ByteArray| Some(String::from_utf8_lossy(value.data()).into_owned());
            match column {
                ColumnReader::BoolColumnReader(reader) => gather(reader, rows, numbers, f64::NAN, flag),
                ColumnReader::Int32ColumnReader(reader) => gather(reader, rows, numbers, f64::NAN, short),
                ColumnReader::Int64ColumnReader(reader) => gather(reader, rows, &mut wide, None, long),
                ColumnReader::FloatColumnReader(reader) => gather(reader, rows, numbers, f64::NAN, |&v| f64::from(v)),
                ColumnReader::DoubleColumnReader(reader) => gather(reader, rows, numbers, f64::NAN, |&v| v),
                ColumnReader::ByteArrayColumnReader(reader) => gather(reader, rows, &mut text, None, word),
                _ => Err(ParquetError::General("a column of another type than declared".into())),
            }
            .map_err(bad)?;
        }
        let found = numbers.len().max(text.len()).max(wide.len());
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
        Ok(if text.is_empty() { Cells::Numbers(numbers) } else { Cells::Words(text) })
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
    convert: impl Fn(&T::T) -> V,
) -> std::result::Result<(), ParquetError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    while out.len() < rows {
        levels.clear();
        values.clear();
        let batch = BATCH.min(rows - out.len());
        let (records, stored, _) = reader.read_records(batch, Some(&mut levels), None, &mut values)?;
        if records == 0 {
            break;
        }
        if levels.is_empty() {
            out.extend(values.iter().take(stored).map(&convert));
            continue;
        }
        // A level of 0 marks a missing value, for which nothing is stored.
        let mut values = values.iter();
        for &level in &levels {
            let value = if level == 0 { None } else { values.next() };
            out.push(value.map_or_else(|| missing.clone(), &convert));
        }
    }
    Ok(())
}
