//! NumPy's `.npy` and `.npz`.
//!
//! The header of an array is a Python dictionary of three known keys, so a small parser of our own reads it; it
//! needs no recursion and cannot be driven into one.

use super::array::{Array, Number};
use super::assemble::{Container, last_of_each};
use super::zip::{self, Member};
use super::{Orientation, Variable, limits, text};
use crate::{Error, Result};
use std::path::Path;

/// First bytes of every `.npy`.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// NumPy's own limit for a header it trusts.
const MAX_HEADER: usize = 10_000;

/// A single array, known as `X`.
pub(super) struct Npy<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    variables: [Variable; 1],
}

/// An archive of arrays.
pub(super) struct Npz<'a> {
    path: &'a Path,
    file_bytes: usize,
    members: Vec<Member<'a>>,
    variables: Vec<Variable>,
}

impl<'a> Npy<'a> {
    /// Reads the header.
    pub(super) fn scan(path: &'a Path, bytes: &'a [u8]) -> Result<Self> {
        let header = NpyHeader::parse(path, "the array", bytes)?;
        Ok(Npy { path, bytes, variables: [header.variable("X")] })
    }
}

impl<'a> Npz<'a> {
    /// Reads the directory and the header of every array.
    pub(super) fn scan(path: &'a Path, bytes: &'a [u8]) -> Result<Self> {
        let mut all = zip::members(path, bytes)?;
        all.retain(|member| member.name.ends_with(".npy"));
        let mut members = Vec::new();
        let mut variables = Vec::new();
        // Archives may hold a name twice; NumPy takes the last one.
        for member in last_of_each(all, |member| &member.name) {
            let name = member.name.strip_suffix(".npy").unwrap_or_default();
            let header = NpyHeader::parse(path, name, &member.start(path, NpyHeader::LONGEST)?)?;
            variables.push(header.variable(name));
            members.push(member);
        }
        Ok(Npz { path, file_bytes: bytes.len(), members, variables })
    }
}

impl Container for Npy<'_> {
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
        Orientation::Rows
    }

    fn load(&self, _: usize) -> Result<Array> {
        parse(self.path, "the array", self.bytes)
    }
}

impl Container for Npz<'_> {
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
        Orientation::Rows
    }

    fn load(&self, index: usize) -> Result<Array> {
        let bytes = self.members[index].read(self.path, self.file_bytes)?;
        let name = &self.variables[index].name;
        let (header, count) = header_of(self.path, name, &bytes)?;
        // The elements stay where they are: a copy would take as much again.
        let mut elements = bytes;
        elements.drain(..header.data);
        elements.truncate(count);
        if let Element::Unicode(_) | Element::Bytes(_) = header.element {
            let words = limits::product(&header.shape).unwrap_or(usize::MAX);
            limits::TextBudget::new(self.path, name, self.file_bytes).add(words, elements.len())?;
        }
        header.array(self.path, name, header.shape.clone(), elements)
    }
}

/// An array from the content of a `.npy`.
pub(super) fn parse(path: &Path, name: &str, bytes: &[u8]) -> Result<Array> {
    let (header, length) = header_of(path, name, bytes)?;
    let mut data = limits::with_room(path, name, length)?;
    data.extend_from_slice(&bytes[header.data..header.data + length]);
    header.array(path, name, header.shape.clone(), data)
}

/// The header, and the number of bytes of the elements, which are all there.
fn header_of(path: &Path, name: &str, bytes: &[u8]) -> Result<(NpyHeader, usize)> {
    let header = NpyHeader::parse(path, name, bytes)?;
    let short = || Error::format(path, format!("{name} ends too early; the file is incomplete, copy or save it again"));
    // The elements are in memory already, so that what they become is bounded by them, whatever shape is declared.
    let count = limits::product(&header.shape).ok_or_else(short)?;
    let length = count.checked_mul(header.element_size(path, name)?).ok_or_else(short)?;
    if bytes.len().checked_sub(header.data).is_none_or(|there| there < length) {
        return Err(short());
    }
    Ok((header, length))
}

/// What an element is; text with its width in bytes.
#[derive(Clone, Copy)]
enum Element {
    Number(Number),
    Unicode(usize),
    Bytes(usize),
    /// Listed, never read: records, Python objects, dates, complex numbers.
    Other,
}

pub(super) struct NpyHeader {
    descr: String,
    element: Element,
    big_endian: bool,
    pub(super) fortran: bool,
    pub(super) shape: Vec<usize>,
    /// Where the elements start.
    pub(super) data: usize,
}

impl NpyHeader {
    /// No header ends later than this.
    pub(super) const LONGEST: u64 = MAX_HEADER as u64 + 12;

    pub(super) fn parse(path: &Path, name: &str, bytes: &[u8]) -> Result<Self> {
        let bad = |why: &str| Error::format(path, format!("{name}: {why}; write it again with numpy.save"));
        if bytes.len() < 10 || !bytes.starts_with(MAGIC) {
            return Err(bad("not a NumPy array, or cut short"));
        }
        let (start, length) = match bytes[6] {
            1 => (10, usize::from(u16::from_le_bytes([bytes[8], bytes[9]]))),
            2 | 3 if bytes.len() >= 12 => (12, u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]) as usize),
            _ => return Err(bad("a version of the format that is not known")),
        };
        if length > MAX_HEADER {
            return Err(bad("its header is too long"));
        }
        let text = bytes.get(start..start + length).ok_or_else(|| bad("its header is cut short"))?;
        let text = std::str::from_utf8(text).map_err(|_| bad("its header is not text"))?;
        let (descr, fortran, shape) = dictionary(text).ok_or_else(|| bad("its header cannot be understood"))?;
        let (element, big_endian) = element_type(&descr).unwrap_or((Element::Other, false));
        Ok(NpyHeader { descr, element, big_endian, fortran, shape, data: start + length })
    }

    /// Bytes per element; an error where elements cannot be read.
    pub(super) fn element_size(&self, path: &Path, name: &str) -> Result<usize> {
        match self.element {
            Element::Number(number) => Ok(number.size()),
            // Text of no width has no bytes to bound the count by.
            Element::Unicode(0) | Element::Bytes(0) => {
                Err(Error::format(path, format!("{name} holds only empty text")))
            }
            Element::Unicode(size) | Element::Bytes(size) => Ok(size),
            Element::Other => {
                let why =
                    format!("{name}: elements of type {} cannot be used; convert to numbers or plain text", self.descr);
                Err(Error::format(path, why))
            }
        }
    }

    /// An array of this kind with the shape and the elements given.
    pub(super) fn array(&self, path: &Path, name: &str, shape: Vec<usize>, data: Vec<u8>) -> Result<Array> {
        let words = |strings: Vec<String>| Array { shape: shape.clone(), ..Array::text(strings) };
        Ok(match self.element {
            Element::Number(number) => {
                return Array::packed(path, name, shape, data, (number, self.big_endian), !self.fortran);
            }
            Element::Unicode(size) => {
                let code = |code: &[u8; 4]| match self.big_endian {
                    true => u32::from_be_bytes(*code),
                    false => u32::from_le_bytes(*code),
                };
                let word = |item: &[u8]| text::from_utf32(item.as_chunks().0.iter().map(code));
                words(
                    data.chunks_exact(size.max(4)).map(|item| word(item).trim_end_matches('\0').to_string()).collect(),
                )
            }
            Element::Bytes(size) => {
                let word = |item: &[u8]| text::from_utf8(item).trim_end_matches('\0').to_string();
                words(data.chunks_exact(size.max(1)).map(word).collect())
            }
            Element::Other => return self.element_size(path, name).map(|_| words(Vec::new())),
        })
    }

    fn variable(&self, name: &str) -> Variable {
        Variable { name: name.into(), shape: self.shape.clone(), kind: type_name(&self.descr, self.element) }
    }
}

/// `descr`, `fortran_order` and `shape` of the header's dictionary; a key that occurs twice has its last value, as in Python.
fn dictionary(text: &str) -> Option<(String, bool, Vec<usize>)> {
    let after = |key: &str| {
        let quoted = [format!("'{key}'"), format!("\"{key}\"")];
        let at = quoted.iter().find_map(|quoted| text.rfind(quoted.as_str()).map(|at| at + quoted.len()))?;
        text[at..].trim_start().strip_prefix(':').map(str::trim_start)
    };
    let descr = after("descr")?;
    let descr = match descr.chars().next()? {
        quote @ ('\'' | '"') => descr[1..].split(quote).next()?.to_string(),
        // A list of fields; named in the message, not read.
        _ => "record".to_string(),
    };
    let fortran = after("fortran_order")?;
    let fortran = if fortran.starts_with("True") {
        true
    } else if fortran.starts_with("False") {
        false
    } else {
        return None;
    };
    let (shape, _) = after("shape")?.strip_prefix('(')?.split_once(')')?;
    let shape = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
    let shape = shape.map(|size| size.trim_end_matches('L').parse().ok()).collect::<Option<Vec<usize>>>()?;
    Some((descr, fortran, shape))
}

/// The element type behind a type string such as `<f4`.
fn element_type(descr: &str) -> Option<(Element, bool)> {
    let (order, rest) = match descr.chars().next()? {
        order @ ('<' | '>' | '|' | '=') => (order, &descr[1..]),
        _ => ('|', descr),
    };
    let width = || rest.get(1..).and_then(|width| width.parse::<usize>().ok());
    let element = match rest {
        "b1" | "?" => Element::Number(Number::Bool),
        "u1" => Element::Number(Number::U8),
        "i1" => Element::Number(Number::I8),
        "u2" => Element::Number(Number::U16),
        "i2" => Element::Number(Number::I16),
        "u4" => Element::Number(Number::U32),
        "i4" => Element::Number(Number::I32),
        "u8" => Element::Number(Number::U64),
        "i8" => Element::Number(Number::I64),
        "f2" => Element::Number(Number::F16),
        "f4" => Element::Number(Number::F32),
        "f8" => Element::Number(Number::F64),
        _ if rest.starts_with('U') => Element::Unicode(width()?.checked_mul(4)?),
        _ if rest.starts_with('S') => Element::Bytes(width()?),
        _ => return None,
    };
    Some((element, order == '>'))
}

/// The name NumPy prints for a type.
fn type_name(descr: &str, element: Element) -> String {
    match element {
        Element::Number(Number::Bool) => "bool".into(),
        Element::Number(number) => {
            let family = match descr.trim_start_matches(['<', '>', '|', '=']).chars().next() {
                Some('f') => "float",
                Some('u') => "uint",
                _ => "int",
            };
            format!("{family}{}", 8 * number.size())
        }
        Element::Unicode(_) | Element::Bytes(_) => "text".into(),
        Element::Other => descr.to_string(),
    }
}

#[cfg(test)]
mod tests;
