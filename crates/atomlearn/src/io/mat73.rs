//! MATLAB files of version 7.3, which are HDF5, and plain HDF5 files (`.h5`).
//!
//! MATLAB writes its column-major arrays as they are and lets HDF5 read the sizes backwards, so that a d x n matrix
//! appears as n x d. Plain HDF5 files, as Python writes them, are taken as they appear.

use super::array::{Array, Values};
use super::assemble::Container;
use super::mat73_numbers::Stored;
use super::{Samples, Variable, limits, text};
use crate::{Error, Result};
use hdf5_pure::{AttrValue, Dataset, Datatype, File, Layout, Object};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

const SIGNATURE: &[u8] = b"\x89HDF\r\n\x1a\n";

/// HDF5 begins at the start of the file or at 512 times a power of two; MATLAB puts its own header first.
pub(super) fn is_hdf5(bytes: &[u8]) -> bool {
    bytes.starts_with(SIGNATURE) || (9..16).any(|k| bytes.get(1 << k..).is_some_and(|rest| rest.starts_with(SIGNATURE)))
}

/// Runs a reader from another package so that a panic over a malformed file becomes an error.
pub(super) fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    let damaged = |_| Err(Error::format(path, "the file is damaged; copy or save it again"));
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(damaged)
}

/// A scanned file.
pub(super) struct Mat73<'a> {
    path: &'a Path,
    file: File,
    file_bytes: usize,
    matlab: bool,
    variables: Vec<Variable>,
}

impl<'a> Mat73<'a> {
    /// Lists the variables of a file.
    pub(super) fn scan(path: &'a Path, bytes: Vec<u8>) -> Result<Self> {
        let file_bytes = bytes.len();
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
        let matlab = extension == "mat" || bytes.starts_with(b"MATLAB");
        let bad = |error: hdf5_pure::Error| damaged(path, "its structure", error);
        let file = File::from_bytes(bytes).map_err(bad)?;
        let end = file.superblock().eof_address;
        if end > file_bytes as u64 {
            let why = format!("has {file_bytes} of {end} bytes; the file is incomplete, copy or save it again");
            return Err(Error::format(path, why));
        }
        let mut variables = Vec::new();
        for name in file.root().datasets().map_err(bad)? {
            let dataset = file.dataset(&name).map_err(bad)?;
            let shape = sizes(path, &dataset, matlab)?;
            let kind = match matlab_class(&dataset.attrs().unwrap_or_default()) {
                Some(class) => class,
                None => dataset.dtype().map_err(bad)?.to_string(),
            };
            variables.push(Variable { name, shape, kind });
        }
        for name in file.root().groups().map_err(bad)? {
            // `#refs#` and `#subsystem#` hold the insides of other variables.
            if name.starts_with('#') {
                continue;
            }
            let attributes = file.group(&name).and_then(|group| group.attrs()).unwrap_or_default();
            let rows = attributes.get("MATLAB_sparse").and_then(whole);
            let (kind, shape) = match rows {
                Some(rows) => ("sparse".to_string(), vec![rows, sparse_columns(&file, &name).unwrap_or(0)]),
                None => (matlab_class(&attributes).unwrap_or_else(|| "group".into()), Vec::new()),
            };
            variables.push(Variable { name, shape, kind });
        }
        variables.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Mat73 { path, file, file_bytes, matlab, variables })
    }

    fn bad(&self, name: &str, error: hdf5_pure::Error) -> Error {
        damaged(self.path, &format!("variable `{name}`"), error)
    }

    /// A numeric dataset as it is stored.
    fn numbers(&self, name: &str, dataset: &Dataset) -> Result<Array> {
        let shape = sizes(self.path, dataset, self.matlab)?;
        let datatype = dataset.datatype().map_err(|error| self.bad(name, error))?;
        let unread = |what: String| Error::format(self.path, format!("`{name}` holds {what}; store it as float64"));
        let Some(stored) = Stored::of(&datatype).map_err(unread)? else {
            return Err(Error::format(self.path, format!("`{name}` is neither numbers nor text; choose another")));
        };
        let count = self.check_size(name, dataset, &shape, stored.size)?;
        if count == 0 || dataset.attrs().is_ok_and(|attributes| attributes.contains_key("MATLAB_empty")) {
            return Err(Error::format(self.path, format!("`{name}` is empty")));
        }
        let bytes = dataset.read_raw().map_err(|error| self.bad(name, error))?;
        let (bytes, number, big_endian) = stored.unpack(bytes);
        Array::packed(self.path, name, shape, bytes, (number, big_endian), !self.matlab)
    }

    /// The declared size must be one that the file can really hold.
    fn check_size(&self, name: &str, dataset: &Dataset, shape: &[usize], size: usize) -> Result<usize> {
        let count = limits::check_expansion(self.path, name, shape, self.file_bytes)?;
        let stored_plainly = !matches!(dataset.layout(), Ok(Layout::Chunked { .. }));
        if stored_plainly && count.saturating_mul(size) > self.file_bytes {
            return Err(Error::format(self.path, format!("`{name}` is larger than the file; the file is incomplete")));
        }
        // One chunk is inflated at a time, and its size is declared too.
        if let Ok(Some(chunk)) = dataset.chunk_shape() {
            let chunk: Vec<usize> = chunk.iter().map(|&side| usize::try_from(side).unwrap_or(usize::MAX)).collect();
            limits::check_expansion(self.path, &format!("a chunk of `{name}`"), &chunk, self.file_bytes)?;
        }
        Ok(count)
    }

    /// The strings of a cell array, a char array, or an HDF5 string dataset; `None` where it is none of these.
    fn strings(&self, name: &str, dataset: &Dataset, class: Option<&str>) -> Result<Option<Vec<String>>> {
        let bad = |error| self.bad(name, error);
        match (class, dataset.datatype().map_err(bad)?) {
            (_, Datatype::Reference { .. }) => {
                let shape = sizes(self.path, dataset, false)?;
                self.check_size(name, dataset, &shape, 8)?;
                let entries = dataset.dereference().map_err(bad)?;
                let text = entries.iter().enumerate().map(|(index, entry)| match entry {
                    Object::Dataset(entry) => self.chars(name, entry).map(|rows| rows.join(" ")),
                    _ => {
                        let why = format!("`{name}` holds no text in cell {}; only cells of text are read", index + 1);
                        Err(Error::format(self.path, why))
                    }
                });
                text.collect::<Result<Vec<String>>>().map(Some)
            }
            (Some("char"), _) => self.chars(name, dataset).map(Some),
            (_, Datatype::String { .. } | Datatype::VariableLength { is_string: true, .. }) => {
                let shape = sizes(self.path, dataset, false)?;
                let size = dataset.element_size().map_err(bad)?;
                self.check_size(name, dataset, &shape, usize::try_from(size).unwrap_or(usize::MAX))?;
                dataset.read_string().map(Some).map_err(bad)
            }
            _ => Ok(None),
        }
    }

    /// A MATLAB char array: UTF-16 numbers, each row one string.
    fn chars(&self, name: &str, dataset: &Dataset) -> Result<Vec<String>> {
        let attributes = dataset.attrs().map_err(|error| self.bad(name, error))?;
        if matlab_class(&attributes).as_deref() != Some("char") {
            return Err(Error::format(self.path, format!("`{name}` holds cells that are not text")));
        }
        if attributes.contains_key("MATLAB_empty") {
            return Ok(vec![String::new()]);
        }
        let codes = self.numbers(name, dataset)?;
        let rows = codes.shape.first().copied().unwrap_or(1).max(1);
        let row = |row: usize| {
            let units: Vec<u16> = (row..codes.len()).step_by(rows).map(|i| codes.number(i) as u16).collect();
            let text = text::from_utf16(&units);
            if rows == 1 { text } else { text.trim_end().to_string() }
        };
        Ok((0..rows).map(row).collect())
    }

    /// A sparse matrix: a group with row indices `ir`, column starts `jc` and values `data`.
    fn sparse(&self, variable: &Variable) -> Result<Array> {
        let name = &variable.name;
        let part = |part: &str| {
            let whole = format!("{name}/{part}");
            let dataset = self.file.dataset(&whole).map_err(|error| self.bad(name, error))?;
            self.numbers(&whole, &dataset)
        };
        let (places, starts, values) = (part("ir")?, part("jc")?, part("data")?);
        let &[rows, cols] = variable.shape.as_slice() else {
            return Err(Error::format(self.path, format!("`{name}` is not a matrix")));
        };
        let count = limits::check_expansion(self.path, name, &variable.shape, self.file_bytes)?;
        let mut dense = vec![0.0; count];
        for col in 0..cols.min(starts.len().saturating_sub(1)) {
            for k in starts.number(col) as usize..starts.number(col + 1) as usize {
                if k >= places.len() || k >= values.len() || places.number(k) as usize >= rows {
                    return Err(Error::format(self.path, format!("`{name}` has an entry outside the matrix")));
                }
                dense[places.number(k) as usize + col * rows] = values.number(k);
            }
        }
        Ok(Array { shape: variable.shape.clone(), values: Values::Dense(dense), row_major: false, integer: false })
    }
}

impl Container for Mat73<'_> {
    fn path(&self) -> &Path {
        self.path
    }

    fn variables(&self) -> &[Variable] {
        &self.variables
    }

    fn custom(&self) -> Samples {
        if self.matlab { Samples::Columns } else { Samples::Rows }
    }

    fn load(&self, index: usize) -> Result<Array> {
        let variable = &self.variables[index];
        if variable.kind == "sparse" {
            return self.sparse(variable);
        }
        let name = &variable.name;
        let Ok(dataset) = self.file.dataset(name) else {
            let why = format!("`{name}` is of kind {}, which cannot be used; choose another", variable.kind);
            return Err(Error::format(self.path, why));
        };
        let class = matlab_class(&dataset.attrs().unwrap_or_default());
        if let Some(strings) = self.strings(name, &dataset, class.as_deref())? {
            return Ok(Array::text(strings));
        }
        let mut array = self.numbers(name, &dataset)?;
        array.integer &= class.as_deref() != Some("logical");
        Ok(array)
    }
}

fn damaged(path: &Path, what: &str, error: hdf5_pure::Error) -> Error {
    Error::format(path, format!("cannot read {what} ({error}); the file may be damaged, copy or save it again"))
}

/// Sizes as MATLAB shows them (backwards), or as they are.
fn sizes(path: &Path, dataset: &Dataset, backwards: bool) -> Result<Vec<usize>> {
    let shape = dataset.shape().map_err(|error| damaged(path, "a size", error))?;
    let size = |&size: &u64| usize::try_from(size).map_err(|_| Error::format(path, "a size beyond this machine"));
    if backwards { shape.iter().rev().map(size).collect() } else { shape.iter().map(size).collect() }
}

fn matlab_class(attributes: &HashMap<String, AttrValue>) -> Option<String> {
    match attributes.get("MATLAB_class") {
        Some(AttrValue::String(class) | AttrValue::AsciiString(class)) => Some(class.clone()),
        Some(AttrValue::StringSized { value, .. } | AttrValue::AsciiStringSized { value, .. }) => Some(value.clone()),
        _ => None,
    }
}

fn whole(value: &AttrValue) -> Option<usize> {
    match value {
        AttrValue::U64(value) => usize::try_from(*value).ok(),
        AttrValue::I64(value) => usize::try_from(*value).ok(),
        AttrValue::U32(value) => usize::try_from(*value).ok(),
        AttrValue::I32(value) => usize::try_from(*value).ok(),
        _ => None,
    }
}

/// A sparse matrix has one column less than it has column starts.
fn sparse_columns(file: &File, name: &str) -> Option<usize> {
    let shape = file.dataset(&format!("{name}/jc")).ok()?.shape().ok()?;
    usize::try_from(shape.iter().product::<u64>()).ok()?.checked_sub(1)
}
