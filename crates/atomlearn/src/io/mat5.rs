//! MATLAB files of version 5 to 7 (`save` without `-v7.3`), read from the published format description.
//!
//! A file is a 128-byte header and a row of elements, each one variable, most of them compressed one by one. A
//! variable is a matrix element made of sub-elements: flags, sizes, name, then values. Listing the variables reads only
//! the first three; values are read on demand.

use super::array::{Array, Number, dense_columns};
use super::assemble::{Container, last_of_each};
use super::{Orientation, Variable, limits, text};
use crate::{Error, Result};
use flate2::read::ZlibDecoder;
use std::io::Read;
use std::path::Path;

const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;
/// MATLAB allows 63 characters; anything near this is damage.
const MAX_NAME: u64 = 4096;
const MAX_DIMENSIONS: u64 = 32;

/// Array classes by their number in the flags.
#[rustfmt::skip]
const CLASSES: [&str; 18] = [
    "empty", "cell", "struct", "object", "char", "sparse", "double", "single", "int8", "uint8", "int16", "uint16",
    "int32", "uint32", "int64", "uint64", "function_handle", "opaque",
];
const CELL: usize = 1;
const CHAR: usize = 4;
const SPARSE: usize = 5;
const DOUBLE: usize = 6;
const INT8: usize = 8;
const UINT64: usize = 15;
const OPAQUE: usize = 17;

/// A scanned file: its variables and where each begins.
pub(super) struct Mat5<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    big_endian: bool,
    variables: Vec<Variable>,
    /// Element type and content of each variable.
    elements: Vec<(u32, &'a [u8])>,
}

impl<'a> Mat5<'a> {
    /// Lists the variables of a file.
    pub(super) fn scan(path: &'a Path, bytes: &'a [u8]) -> Result<Self> {
        let big_endian = check_header(path, bytes)?;
        let mut mat = Mat5 { path, bytes, big_endian, variables: Vec::new(), elements: Vec::new() };
        let mut rest = &bytes[128..];
        while !rest.is_empty() {
            let Some((kind, length)) = mat.tag(rest) else { return Err(mat.truncated("a variable's header")) };
            let body = &rest[8..];
            let Some(content) = body.get(..length) else {
                return Err(mat.truncated(&format!("variable {}", mat.variables.len() + 1)));
            };
            // Compressed elements follow one another without padding, others start at multiples of 8.
            let step = if kind == COMPRESSED { length } else { length.next_multiple_of(8) };
            rest = body.get(step..).unwrap_or_default();
            if kind != MATRIX && kind != COMPRESSED {
                continue;
            }
            let header = mat.open(kind, content).and_then(|mut stream| stream.header())?;
            // Unnamed variables hold MATLAB's own bookkeeping.
            if !header.name.is_empty() {
                mat.variables.push(header.variable());
                mat.elements.push((kind, content));
            }
        }
        // A name may occur twice; MATLAB and SciPy take the last one.
        let all = mat.variables.into_iter().zip(mat.elements).collect();
        (mat.variables, mat.elements) = last_of_each(all, |(variable, _)| &variable.name).into_iter().unzip();
        Ok(mat)
    }

    /// Type and length of the element at the start of `rest`; top-level elements have no short form.
    fn tag(&self, rest: &[u8]) -> Option<(u32, usize)> {
        let word = |at: usize| rest.get(at..at + 4).map(|bytes| word32(bytes, self.big_endian));
        Some((word(0)?, word(4)? as usize))
    }

    fn truncated(&self, what: &str) -> Error {
        Error::format(self.path, format!("ends inside {what}; the file is incomplete, copy or save it again"))
    }

    /// A stream that stands after the tag of the matrix element.
    fn open(&self, kind: u32, content: &'a [u8]) -> Result<Stream<'a>> {
        let mut stream = Stream {
            path: self.path,
            reader: Box::new(content),
            left: content.len() as u64,
            big_endian: self.big_endian,
            file_bytes: self.bytes.len(),
        };
        if kind == COMPRESSED {
            stream.reader = Box::new(ZlibDecoder::new(content));
            stream.left = 8;
            let tag = stream.take(8)?;
            if word32(&tag, self.big_endian) != MATRIX {
                return Err(Error::format(self.path, "a compressed element does not hold a variable"));
            }
            stream.left = u64::from(word32(&tag[4..], self.big_endian));
        }
        Ok(stream)
    }
}

impl Container for Mat5<'_> {
    fn path(&self) -> &Path {
        self.path
    }

    fn file_bytes(&self) -> usize {
        self.bytes.len()
    }

    fn variables(&self) -> &[Variable] {
        &self.variables
    }

    fn custom(&self) -> Orientation {
        Orientation::Columns
    }

    fn load(&self, index: usize) -> Result<Array> {
        let (kind, content) = self.elements[index];
        let mut stream = self.open(kind, content)?;
        let header = stream.header()?;
        let array = stream.values(&header)?;
        // The checksum of a compressed element is verified when its end is reached.
        if kind == COMPRESSED {
            let name = &header.name;
            let damaged = |error| Error::format(self.path, format!("variable `{name}` is damaged: {error}"));
            std::io::copy(&mut stream.reader.by_ref().take(64), &mut std::io::sink()).map_err(damaged)?;
        }
        Ok(array)
    }
}

/// Checks the 128-byte header and gives the byte order.
fn check_header(path: &Path, bytes: &[u8]) -> Result<bool> {
    let short = "shorter than the 128-byte header of a MATLAB file; the file is incomplete";
    let header = bytes.get(..128).ok_or_else(|| Error::format(path, short))?;
    match (&header[124..128], header[0]) {
        ([0, 1, b'I', b'M'], _) => Ok(false),
        ([1, 0, b'M', b'I'], _) => Ok(true),
        (_, 0 | 10 | 20 | 30) => {
            Err(Error::format(path, "looks like a MATLAB version 4 file; save it again with `save -v7`"))
        }
        _ => Err(Error::format(path, "not a MATLAB file (no version mark); save it again with `save -v7`")),
    }
}

fn word32(bytes: &[u8], big_endian: bool) -> u32 {
    let word = [bytes[0], bytes[1], bytes[2], bytes[3]];
    if big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
}

/// The number type of an element's values.
fn number_type(kind: u32) -> Option<Number> {
    Some(match kind {
        1 => Number::I8,
        2 => Number::U8,
        3 => Number::I16,
        4 => Number::U16,
        5 => Number::I32,
        6 => Number::U32,
        7 => Number::F32,
        9 => Number::F64,
        12 => Number::I64,
        13 => Number::U64,
        _ => return None,
    })
}

/// What precedes a variable's values.
struct VariableHeader {
    name: String,
    shape: Vec<usize>,
    class: usize,
    logical: bool,
    complex: bool,
}

impl VariableHeader {
    fn variable(&self) -> Variable {
        let class = CLASSES.get(self.class).copied().unwrap_or("unknown");
        let kind = match (self.logical, self.complex) {
            (true, _) if self.class == SPARSE => "sparse logical".to_string(),
            (true, _) => "logical".to_string(),
            (_, true) => format!("complex {class}"),
            _ => class.to_string(),
        };
        Variable { name: self.name.clone(), shape: self.shape.clone(), kind }
    }
}

/// The bytes of one matrix element, inflated as they are asked for.
struct Stream<'a> {
    path: &'a Path,
    reader: Box<dyn Read + 'a>,
    /// Bytes that the element declares and that were not read yet.
    left: u64,
    big_endian: bool,
    file_bytes: usize,
}

impl Stream<'_> {
    fn broken(&self, why: impl std::fmt::Display) -> Error {
        Error::format(self.path, format!("a variable is damaged ({why}); copy or save the file again"))
    }

    fn take(&mut self, count: u64) -> Result<Vec<u8>> {
        if count > self.left {
            return Err(self.broken("a part is longer than the whole"));
        }
        limits::check_growth(self.path, "a variable", count, self.file_bytes)?;
        limits::check_memory(self.path, count, "a variable")?;
        let read = limits::read_exactly(&mut self.reader, count);
        let bytes = read.map_err(|error| match error.kind() {
            std::io::ErrorKind::OutOfMemory => limits::read_error(self.path, error, count),
            _ => self.broken(error),
        })?;
        self.left -= count;
        Ok(bytes)
    }

    fn skip(&mut self, count: u64) -> Result<()> {
        let skipped = std::io::copy(&mut self.reader.by_ref().take(count), &mut std::io::sink());
        if count > self.left || skipped.map_err(|error| self.broken(error))? != count {
            return Err(self.broken("it ends too early"));
        }
        self.left -= count;
        Ok(())
    }

    /// Type and length of the next sub-element, and the bytes of its short form, if it has that.
    fn tag(&mut self) -> Result<(u32, u64, Option<Vec<u8>>)> {
        let tag = self.take(8)?;
        let word = word32(&tag, self.big_endian);
        let short = (word >> 16) as usize;
        if short == 0 {
            return Ok((word, u64::from(word32(&tag[4..], self.big_endian)), None));
        }
        let data = tag.get(4..4 + short).ok_or_else(|| self.broken("a short part of more than 4 bytes"))?;
        Ok((word & 0xffff, short as u64, Some(data.to_vec())))
    }

    /// The next sub-element.
    fn part(&mut self, limit: u64) -> Result<(u32, Vec<u8>)> {
        let (kind, length, short) = self.tag()?;
        if let Some(data) = short {
            return Ok((kind, data));
        }
        if length > limit {
            return Err(self.broken(format!("a part of {length} bytes where at most {limit} make sense")));
        }
        let data = self.take(length)?;
        // Some writers leave out the padding after the last part.
        self.skip((length.next_multiple_of(8) - length).min(self.left))?;
        Ok((kind, data))
    }

    /// Flags, sizes and name.
    fn header(&mut self) -> Result<VariableHeader> {
        let (_, flags) = self.part(8)?;
        if flags.len() != 8 {
            return Err(self.broken("flags of the wrong size"));
        }
        let flags = word32(&flags, self.big_endian);
        let class = (flags & 0xff) as usize;
        let mut shape = Vec::new();
        // Opaque objects (tables, strings, ...) have no sizes.
        if class != OPAQUE {
            let (_, sizes) = self.part(4 * MAX_DIMENSIONS)?;
            for size in sizes.chunks_exact(4) {
                let size = word32(size, self.big_endian) as i32;
                shape.push(usize::try_from(size).map_err(|_| self.broken("a negative size"))?);
            }
        }
        let (_, name) = self.part(MAX_NAME)?;
        let name = text::from_utf8(&name).trim_end_matches('\0').to_string();
        Ok(VariableHeader { name, shape, class, logical: flags & 0x200 != 0, complex: flags & 0x800 != 0 })
    }

    /// The values that follow `header`.
    fn values(&mut self, header: &VariableHeader) -> Result<Array> {
        match header.class {
            _ if header.complex => Err(self.unusable(header)),
            DOUBLE..=UINT64 => self.numbers(header),
            CHAR => {
                let mut budget = limits::TextBudget::new(self.path, &header.name, self.file_bytes);
                self.chars(&header.shape, &mut budget).map(Array::text)
            }
            CELL => self.cell(header),
            SPARSE => self.sparse(header),
            _ => Err(self.unusable(header)),
        }
    }

    fn unusable(&self, header: &VariableHeader) -> Error {
        let kind = header.variable().kind;
        Error::format(self.path, format!("`{}` is of kind {kind}, which cannot be used; choose another", header.name))
    }

    fn numbers(&mut self, header: &VariableHeader) -> Result<Array> {
        let (kind, bytes) = self.part(u64::MAX)?;
        let number = number_type(kind).ok_or_else(|| self.broken(format!("number type {kind} is unknown")))?;
        let layout = (number, self.big_endian);
        let mut array = Array::packed(self.path, &header.name, header.shape.clone(), bytes, layout, false)?;
        // MATLAB stores doubles that happen to be whole as bytes; the class is what the user meant.
        array.integer = header.class >= INT8 && !header.logical;
        Ok(array)
    }

    /// A char array: each row is one string.
    fn chars(&mut self, shape: &[usize], budget: &mut limits::TextBudget<'_>) -> Result<Vec<String>> {
        // Text is decoded in several steps, each with a copy.
        let (kind, bytes) = self.part(limits::allowance(self.file_bytes) / 8)?;
        budget.add(shape.first().copied().unwrap_or(0).clamp(1, bytes.len().max(1)), bytes.len())?;
        let wide = |size: usize| {
            let number = if size == 2 { Number::U16 } else { Number::U32 };
            let whole = bytes.len() - bytes.len() % size;
            let shape = vec![whole / size];
            let array =
                Array::packed(self.path, "text", shape, bytes[..whole].to_vec(), (number, self.big_endian), true)?;
            Ok::<_, Error>((0..array.len()).map(|i| array.number(i) as u32).collect::<Vec<u32>>())
        };
        let (mut codes, mut utf16) = match kind {
            3 | 4 | 17 => (wide(2)?, true),
            5 | 6 | 18 => (wide(4)?, false),
            16 => (text::from_utf8(&bytes).chars().map(u32::from).collect(), false),
            1 | 2 => (bytes.iter().map(|&byte| u32::from(byte)).collect(), false),
            _ => return Err(self.broken(format!("text type {kind} is unknown"))),
        };
        let rows = shape.first().copied().unwrap_or(0);
        let count = limits::product(shape);
        // MATLAB counts letters beyond the first 65536 twice, as the pairs that UTF-16 has for them.
        if kind == 16 && rows > 1 && count != Some(codes.len()) {
            codes = text::from_utf8(&bytes).encode_utf16().map(u32::from).collect();
            utf16 = true;
        }
        let word = |codes: &mut dyn Iterator<Item = u32>| match utf16 {
            true => text::from_utf16(&codes.map(|unit| unit as u16).collect::<Vec<u16>>()),
            false => text::from_utf32(codes),
        };
        if rows <= 1 {
            return Ok(vec![word(&mut codes.into_iter())]);
        }
        if count != Some(codes.len()) {
            return Err(self.broken("text of the wrong size"));
        }
        let row = |row: usize| word(&mut codes.iter().copied().skip(row).step_by(rows)).trim_end().to_string();
        Ok((0..rows.min(codes.len())).map(row).collect())
    }

    /// A cell array of strings.
    fn cell(&mut self, header: &VariableHeader) -> Result<Array> {
        let count = limits::product(&header.shape).ok_or_else(|| self.broken("an impossible size"))?;
        let mut strings = Vec::new();
        let mut budget = limits::TextBudget::new(self.path, &header.name, self.file_bytes);
        // Every entry takes 8 bytes or more, so a false count ends in an error and not in an endless loop.
        for index in 0..count {
            let (kind, length, _) = self.tag()?;
            if kind != MATRIX || length > self.left {
                return Err(self.broken("a cell that is not one"));
            }
            if length == 0 {
                budget.add(1, 0)?;
                strings.push(String::new());
                continue;
            }
            let after = self.left - length;
            let entry = self.header()?;
            if entry.class != CHAR {
                let kind = entry.variable().kind;
                let why =
                    format!("`{}` holds a {kind} in cell {}; only cells of text are read", header.name, index + 1);
                return Err(Error::format(self.path, why));
            }
            strings.push(self.chars(&entry.shape, &mut budget)?.join(" "));
            let unread = self.left.checked_sub(after).ok_or_else(|| self.broken("a cell longer than declared"))?;
            self.skip(unread)?;
        }
        Ok(Array { shape: header.shape.clone(), ..Array::text(strings) })
    }

    /// A sparse matrix in compressed columns, made dense.
    fn sparse(&mut self, header: &VariableHeader) -> Result<Array> {
        let &[rows, cols] = header.shape.as_slice() else { return Err(self.broken("a sparse array not of 2 sizes")) };
        limits::check_expansion(self.path, &header.name, &header.shape, self.file_bytes)?;
        let mut list = |what: &str| {
            let (kind, bytes) = self.part(u64::MAX)?;
            let number = number_type(kind).ok_or_else(|| self.broken(format!("number type {kind} is unknown")))?;
            let shape = vec![bytes.len() / number.size()];
            Array::packed(self.path, what, shape, bytes, (number, self.big_endian), true)
        };
        let parts = (list("row indices")?, list("column starts")?, list("values")?);
        dense_columns(self.path, &header.name, (rows, cols), &parts)
    }
}

#[cfg(test)]
mod tests;
