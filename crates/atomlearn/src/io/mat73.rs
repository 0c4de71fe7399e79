//! MATLAB files of version 7.3, which are HDF5, and plain HDF5 files (`.h5`).
//!
//! MATLAB writes its column-major arrays as they are and lets HDF5 read the sizes backwards, so that a d x n matrix
//! appears as n x d. Plain HDF5 files, as Python writes them, are taken as they appear.

use super::array::{Array, dense_columns};
use super::assemble::Container;
use super::mat73_numbers::Stored;
use super::{DAMAGED, Orientation, RawData, ReadOptions, Variable, assemble, hdf5_source, limits, text};
use crate::guard::guarded;
use crate::{Error, Result};
use hdf5_pure::{AttrValue, Dataset, Datatype, File, Layout, Object, VlenStringReadOptions};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// What an open entry of a cell array takes in memory, rounded up.
const CELL_BYTES: u64 = 2048;
/// Inflated bytes of a whole file, as a multiple of what one part may take: chunks may be listed twice, or lie outside.
const INFLATED_PARTS: u64 = 8;
/// No collection of variable-length text is shorter; HDF5 itself starts at 4096.
const SHORTEST_COLLECTION: usize = 512;

/// Reads the samples.
pub(super) fn read(path: &Path, bytes: Vec<u8>, options: &ReadOptions) -> Result<RawData> {
    guarded(path, DAMAGED, || assemble::assemble(&Mat73::scan(path, bytes)?, options))
}

/// Its vectors and matrices of numbers.
pub(super) fn matrices(path: &Path, bytes: Vec<u8>) -> Result<Vec<(String, faer::Mat<f64>)>> {
    guarded(path, DAMAGED, || assemble::matrices(&Mat73::scan(path, bytes)?))
}

/// Lists what the file holds.
pub(super) fn variables(path: &Path, bytes: Vec<u8>) -> Result<Vec<Variable>> {
    guarded(path, DAMAGED, || Ok(Mat73::scan(path, bytes)?.variables().to_vec()))
}

/// A scanned file.
pub(super) struct Mat73<'a> {
    path: &'a Path,
    file: File,
    file_bytes: usize,
    matlab: bool,
    variables: Vec<Variable>,
    /// Bytes that the chunks read so far inflate to.
    inflated: Cell<u64>,
}

impl<'a> Mat73<'a> {
    /// Lists the variables of a file.
    pub(super) fn scan(path: &'a Path, bytes: Vec<u8>) -> Result<Self> {
        let file_bytes = bytes.len();
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
        let matlab = extension == "mat" || bytes.starts_with(b"MATLAB");
        let bad = |error: hdf5_pure::Error| damaged(path, "its structure", error);
        let file = hdf5_source::open(bytes).map_err(bad)?;
        let end = file.superblock().eof_address;
        if end > file_bytes as u64 {
            let why = format!("has {file_bytes} of {end} bytes; the file is incomplete, copy or save it again");
            return Err(Error::format(path, why));
        }
        let mut variables = Vec::new();
        for (name, dataset) in file.root().iter_datasets().map_err(bad)? {
            let shape = sizes(path, &dataset, matlab)?;
            let kind = match matlab_class(&dataset.attrs().unwrap_or_default()) {
                Some(class) => class,
                None => dataset.dtype().map_err(bad)?.to_string(),
            };
            variables.push(Variable { name, shape, kind });
        }
        for (name, group) in file.root().iter_groups().map_err(bad)? {
            // `#refs#` and `#subsystem#` hold the insides of other variables.
            if name.starts_with('#') {
                continue;
            }
            let attributes = group.attrs().unwrap_or_default();
            let rows = attributes.get("MATLAB_sparse").and_then(whole);
            let (kind, shape) = match rows {
                Some(rows) => ("sparse".to_string(), vec![rows, sparse_columns(&file, &name).unwrap_or(0)]),
                None => (matlab_class(&attributes).unwrap_or_else(|| "group".into()), Vec::new()),
            };
            variables.push(Variable { name, shape, kind });
        }
        variables.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Mat73 { path, file, file_bytes, matlab, variables, inflated: Cell::new(0) })
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
        let bytes = (count as u64).saturating_mul(size as u64);
        limits::check_growth(self.path, &format!("`{name}`"), bytes, self.file_bytes)?;
        let stored_plainly = !matches!(dataset.layout(), Ok(Layout::Chunked { .. }));
        if stored_plainly && count.saturating_mul(size) > self.file_bytes {
            return Err(Error::format(self.path, format!("`{name}` is larger than the file; the file is incomplete")));
        }
        // One chunk is inflated at a time, and its size is declared too.
        if let Ok(Some(chunk)) = dataset.chunk_shape() {
            let chunk: Vec<usize> = chunk.iter().map(|&side| usize::try_from(side).unwrap_or(usize::MAX)).collect();
            let chunk = limits::check_expansion(self.path, &format!("a chunk of `{name}`"), &chunk, self.file_bytes)?;
            let chunks = dataset.chunks().map_err(|error| self.bad(name, error))?;
            // Memory is taken for a stored chunk before it is read, whatever size the index gives it.
            if chunks.iter().any(|chunk| chunk.storage_size > self.file_bytes as u64) {
                let why = format!("a chunk of `{name}` is larger than the file; the file is damaged");
                return Err(Error::format(self.path, why));
            }
            self.inflate(name, (chunks.len() as u64).saturating_mul(chunk as u64).saturating_mul(size as u64))?;
        }
        Ok(count)
    }

    /// Counts bytes that chunks inflate to, over all reads: a file may ask for the same ones again and again.
    fn inflate(&self, name: &str, bytes: u64) -> Result<()> {
        self.inflated.set(self.inflated.get().saturating_add(bytes));
        let total = self.inflated.get();
        let part = limits::allowance(self.file_bytes);
        if total <= part.saturating_mul(INFLATED_PARTS) {
            return Ok(());
        }
        let why = format!("the chunks up to `{name}` hold far more than the file can; the file is damaged");
        Err(Error::format(self.path, why))
    }

    /// The strings of a cell array, a char array, or an HDF5 string dataset; `None` where it is none of these.
    fn strings(&self, name: &str, dataset: &Dataset, class: Option<&str>) -> Result<Option<Vec<String>>> {
        let bad = |error| self.bad(name, error);
        match (class, dataset.datatype().map_err(bad)?) {
            (_, Datatype::Reference { .. }) => {
                let shape = sizes(self.path, dataset, false)?;
                let count = self.check_size(name, dataset, &shape, 8)? as u64;
                limits::check_growth(self.path, &format!("cells `{name}`"), CELL_BYTES * count, self.file_bytes)?;
                let entries = dataset.dereference().map_err(bad)?;
                let mut budget = limits::TextBudget::new(self.path, name, self.file_bytes);
                let text = entries.iter().enumerate().map(|(index, entry)| match entry {
                    Object::Dataset(entry) => self.chars(name, entry, &mut budget).map(|rows| rows.join(" ")),
                    _ => {
                        let why = format!("`{name}` holds no text in cell {}; only cells of text are read", index + 1);
                        Err(Error::format(self.path, why))
                    }
                });
                text.collect::<Result<Vec<String>>>().map(Some)
            }
            (Some("char"), _) => {
                let mut budget = limits::TextBudget::new(self.path, name, self.file_bytes);
                self.chars(name, dataset, &mut budget).map(Some)
            }
            (_, datatype @ (Datatype::String { .. } | Datatype::VariableLength { is_string: true, .. })) => {
                let shape = sizes(self.path, dataset, false)?;
                let size = usize::try_from(dataset.element_size().map_err(bad)?).unwrap_or(usize::MAX);
                let count = self.check_size(name, dataset, &shape, size)?;
                let mut budget = limits::TextBudget::new(self.path, name, self.file_bytes);
                if matches!(datatype, Datatype::String { .. }) {
                    budget.add(count, count.saturating_mul(size))?;
                    return dataset.read_string().map(Some).map_err(bad);
                }
                budget.add(count, 0)?;
                self.check_collections(name, dataset)?;
                let most = usize::try_from(limits::allowance(self.file_bytes)).unwrap_or(usize::MAX);
                let options = VlenStringReadOptions::new().with_max_payload_bytes(most);
                dataset.read_vlen_strings(options).map(Some).map_err(bad)
            }
            _ => Ok(None),
        }
    }

    /// Variable-length text lies in collections, which the package searches one by one: more of them than fit into the
    /// file would take for ever. An entry is a length, the address of a collection, and a place in it.
    fn check_collections(&self, name: &str, dataset: &Dataset) -> Result<()> {
        let raw = dataset.read_raw().map_err(|error| self.bad(name, error))?;
        let width = usize::from(self.file.superblock().offset_size);
        let addresses: HashSet<&[u8]> = raw.chunks_exact(8 + width).map(|entry| &entry[4..4 + width]).collect();
        if addresses.len() > 2 + self.file_bytes / SHORTEST_COLLECTION {
            let why = format!("`{name}` points to more text than the file can hold; the file is damaged");
            return Err(Error::format(self.path, why));
        }
        Ok(())
    }

    /// A MATLAB char array: UTF-16 numbers, each row one string.
    fn chars(&self, name: &str, dataset: &Dataset, budget: &mut limits::TextBudget<'_>) -> Result<Vec<String>> {
        let attributes = dataset.attrs().map_err(|error| self.bad(name, error))?;
        if matlab_class(&attributes).as_deref() != Some("char") {
            return Err(Error::format(self.path, format!("`{name}` holds cells that are not text")));
        }
        if attributes.contains_key("MATLAB_empty") {
            return Ok(vec![String::new()]);
        }
        let shape = sizes(self.path, dataset, self.matlab)?;
        let rows = shape.first().copied().unwrap_or(1).max(1);
        // A code unit takes up to three bytes as UTF-8, and two on the way.
        budget.add(rows, limits::product(&shape).unwrap_or(usize::MAX).saturating_mul(5))?;
        let codes = self.numbers(name, dataset)?;
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
        let &[rows, cols] = variable.shape.as_slice() else {
            return Err(Error::format(self.path, format!("`{name}` is not a matrix")));
        };
        limits::check_expansion(self.path, name, &variable.shape, self.file_bytes)?;
        let parts = (part("ir")?, part("jc")?, part("data")?);
        dense_columns(self.path, name, (rows, cols), &parts)
    }
}

impl Container for Mat73<'_> {
    fn path(&self) -> &Path {
        self.path
    }

    fn file_bytes(&self) -> usize {
        self.file_bytes
    }

    fn variables(&self) -> &[Variable] {
        &self.variables
    }

    fn custom(&self) -> Orientation {
        if self.matlab { Orientation::Columns } else { Orientation::Rows }
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
