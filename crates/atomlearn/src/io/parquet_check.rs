//! What must be known of a Parquet file before the package that decodes it is let loose on it.
//!
//! Sizes stand in Thrift structs (compact protocol): the schema at the end of the file, a header before every page. The
//! package believes them: it recurses as deep as the schema goes, allocates what a page says it unpacks to, and a place
//! for every value that a dictionary says it has. So they are read here first.

use super::limits;
use crate::{Error, Result};
use ::parquet::basic::Encoding;
use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::errors::ParquetError;
use std::path::Path;

/// Groups within groups; tables that can be read have none.
const MAX_DEPTH: usize = 100;
/// What a value of a dictionary takes, rounded up; stored it takes 4 bytes or more.
const DICTIONARY_VALUE: u64 = 40;
/// Prefix-coded text is copied value by value, so many at a time.
pub(super) const TEXT_BATCH: usize = 64;

const STOP: u8 = 0;
const BINARY: u8 = 8;
const STRUCT: u8 = 12;

/// A reader of Thrift's compact protocol; `None` is malformed or too deep.
struct Thrift<'a>(&'a [u8]);

impl<'a> Thrift<'a> {
    fn take(&mut self, count: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let value = self.unsigned()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Type and number of the entries of a list.
    fn list(&mut self) -> Option<(u8, u64)> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.unsigned()? } else { u64::from(head >> 4) };
        Some((head & 15, count))
    }

    /// Goes through the fields of a struct: `visit` reads a field it knows, or leaves it alone and says `false`.
    fn fields(&mut self, depth: usize, visit: &mut dyn FnMut(&mut Self, i64, u8) -> Option<bool>) -> Option<()> {
        let mut id = 0i64;
        loop {
            let head = self.byte()?;
            let kind = head & 15;
            if kind == STOP {
                return Some(());
            }
            id = if head >> 4 == 0 { self.signed()? } else { id.checked_add(i64::from(head >> 4))? };
            if !visit(self, id, kind)? {
                self.skip(kind, depth, false)?;
            }
        }
    }

    fn skip(&mut self, kind: u8, depth: usize, in_list: bool) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            // A truth value is in the field's type; in a list it is a byte.
            1 | 2 if !in_list => Some(()),
            1..=3 => self.byte().map(drop),
            4..=6 => self.unsigned().map(drop),
            7 => self.take(8).map(drop),
            BINARY => {
                let length = self.unsigned()?;
                self.take(length).map(drop)
            }
            9 | 10 => {
                let (kind, count) = self.list()?;
                (0..count).try_for_each(|_| self.skip(kind, depth, true))
            }
            11 => {
                let count = self.unsigned()?;
                let kinds = if count == 0 { 0 } else { self.byte()? };
                (0..count).try_for_each(|_| {
                    self.skip(kinds >> 4, depth, true)?;
                    self.skip(kinds & 15, depth, true)
                })
            }
            STRUCT => self.fields(depth, &mut |_, _, _| Some(false)),
            13 => self.take(16).map(drop),
            _ => None,
        }
    }
}

/// Refuses a file whose schema is nested too deep; the package would run out of stack.
pub(super) fn check_schema(path: &Path, bytes: &[u8]) -> Result<()> {
    let bad = || Error::format(path, "its description is malformed or nested too deep; write the table again");
    // The file ends in the description, its length, and four letters.
    let end = bytes.len().checked_sub(8).ok_or_else(bad)?;
    let length = u32::from_le_bytes([bytes[end], bytes[end + 1], bytes[end + 2], bytes[end + 3]]) as usize;
    let description = end.checked_sub(length).map(|start| &bytes[start..end]).ok_or_else(bad)?;
    let mut thrift = Thrift(description);
    let schema = thrift.fields(MAX_DEPTH, &mut |thrift, id, kind| {
        if (id, kind) != (2, 9) {
            return Some(false);
        }
        walk_schema(thrift).map(|()| true)
    });
    schema.ok_or_else(bad)
}

/// The schema is a tree written out from the root; an element says how many children follow.
fn walk_schema(thrift: &mut Thrift<'_>) -> Option<()> {
    let (_, count) = thrift.list()?;
    let mut open: Vec<i64> = Vec::new();
    for _ in 0..count {
        let mut children = 0;
        thrift.fields(MAX_DEPTH, &mut |thrift, id, kind| {
            if (id, kind) != (5, 5) {
                return Some(false);
            }
            children = thrift.signed()?;
            Some(true)
        })?;
        while open.last() == Some(&0) {
            open.pop();
        }
        if let Some(last) = open.last_mut() {
            *last -= 1;
        }
        if children > 0 {
            open.push(children);
        }
        if open.len() > MAX_DEPTH {
            return None;
        }
    }
    Some(())
}

/// What the header of a page says.
#[derive(Default)]
struct PageHeader {
    unpacked: i64,
    packed: i64,
    dictionary_values: i64,
}

impl PageHeader {
    /// Reads a header; of a field that is there twice the larger value counts.
    fn read(thrift: &mut Thrift<'_>) -> Option<PageHeader> {
        let mut header = PageHeader::default();
        thrift.fields(MAX_DEPTH, &mut |thrift, id, kind| {
            match (id, kind) {
                (2, 5) => header.unpacked = header.unpacked.max(thrift.signed()?),
                (3, 5) => header.packed = thrift.signed()?,
                (7, STRUCT) => {
                    let values = &mut header.dictionary_values;
                    thrift.fields(MAX_DEPTH, &mut |thrift, id, kind| {
                        if (id, kind) != (1, 5) {
                            return Some(false);
                        }
                        *values = (*values).max(thrift.signed()?);
                        Some(true)
                    })?;
                }
                _ => return Some(false),
            }
            Some(true)
        })?;
        Some(header)
    }
}

/// Walks the pages of a column chunk: every one must be no larger than what may be read from the file, and a dictionary
/// must have room for its values. Gives the number of bytes that all of them unpack to.
pub(super) fn check_pages(path: &Path, file: &[u8], start: u64, length: u64) -> Result<u64> {
    let bad = || Error::format(path, "a page is malformed or outside the file; copy or write the table again");
    let chunk = usize::try_from(start).ok().and_then(|start| file.get(start..));
    let chunk = chunk.zip(usize::try_from(length).ok()).and_then(|(rest, length)| rest.get(..length));
    let mut thrift = Thrift(chunk.ok_or_else(bad)?);
    let mut total = 0u64;
    while !thrift.0.is_empty() {
        let header = PageHeader::read(&mut thrift).ok_or_else(bad)?;
        let size = |value: i64| u64::try_from(value).map_err(|_| bad());
        let unpacked = size(header.unpacked)?;
        let values = size(header.dictionary_values)?;
        limits::check_growth(path, "a page", unpacked, file.len())?;
        limits::check_growth(path, "a dictionary", values.saturating_mul(DICTIONARY_VALUE), file.len())?;
        if values.saturating_mul(4) > unpacked {
            return Err(bad());
        }
        total = total.saturating_add(unpacked);
        thrift.take(size(header.packed)?).ok_or_else(bad)?;
    }
    Ok(total)
}

/// Hands on the pages of a column; delta coded text with a false count of values is refused.
pub(super) struct CheckedPages {
    pub(super) pages: Box<dyn PageReader>,
    /// The longest page of prefix-coded text that may be decoded, since its values grow with the page.
    pub(super) longest: u64,
    /// Values may be missing, so that levels precede them.
    pub(super) has_levels: bool,
}

impl CheckedPages {
    fn check(&self, page: Page) -> std::result::Result<Page, ParquetError> {
        let count = page.num_values() as usize;
        let (values, encoding) = match &page {
            Page::DataPage { buf, encoding, def_level_encoding, .. } => {
                let levels = match (self.has_levels, *def_level_encoding) {
                    (false, _) => Some(0),
                    (true, Encoding::RLE) => {
                        buf.get(..4).map(|word| 4 + u32::from_le_bytes([word[0], word[1], word[2], word[3]]) as usize)
                    }
                    // One bit for every value.
                    (true, _) => Some(count.div_ceil(8)),
                };
                (levels.and_then(|levels| buf.get(levels..)), *encoding)
            }
            Page::DataPageV2 { buf, encoding, def_levels_byte_len, rep_levels_byte_len, .. } => {
                let levels = *def_levels_byte_len as usize + *rep_levels_byte_len as usize;
                (buf.get(levels..), *encoding)
            }
            Page::DictionaryPage { .. } => return Ok(page),
        };
        let sound = match encoding {
            // Pages without any value may be empty.
            _ if values.is_some_and(<[u8]>::is_empty) => true,
            Encoding::DELTA_LENGTH_BYTE_ARRAY => values.and_then(|values| after_delta(values, count)).is_some(),
            Encoding::DELTA_BYTE_ARRAY => {
                let short = values.filter(|values| values.len() as u64 <= self.longest);
                let suffixes = short.and_then(|values| after_delta(values, count));
                suffixes.and_then(|suffixes| after_delta(suffixes, count)).is_some()
            }
            _ => true,
        };
        if sound { Ok(page) } else { Err(ParquetError::General("a page with a false number of values".into())) }
    }
}

/// What follows a block of delta coded lengths; `None` where it has more than `most` or is cut short.
fn after_delta(bytes: &[u8], most: usize) -> Option<&[u8]> {
    let mut rest = Thrift(bytes);
    let block = rest.unsigned()?;
    let parts = rest.unsigned()?;
    let count = rest.unsigned()?;
    rest.signed()?;
    if count > most as u64 || parts == 0 || block == 0 || !block.is_multiple_of(parts) {
        return None;
    }
    let per_part = block / parts;
    let mut left = count.saturating_sub(1);
    while left > 0 {
        rest.signed()?;
        let widths = rest.take(parts)?;
        for &width in widths {
            if left == 0 {
                break;
            }
            rest.take(per_part.checked_mul(u64::from(width))?.div_ceil(8))?;
            left = left.saturating_sub(per_part);
        }
    }
    Some(rest.0)
}

impl Iterator for CheckedPages {
    type Item = std::result::Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> std::result::Result<Option<Page>, ParquetError> {
        self.pages.get_next_page()?.map(|page| self.check(page)).transpose()
    }

    fn peek_next_page(&mut self) -> std::result::Result<Option<PageMetadata>, ParquetError> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> std::result::Result<(), ParquetError> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> std::result::Result<bool, ParquetError> {
        self.pages.at_record_boundary()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field header and a zigzag number below 64.
    fn number(delta: u8, value: u8) -> [u8; 2] {
        [delta << 4 | 5, 2 * value]
    }

    #[test]
    fn page_headers_are_understood_and_lies_refused() {
        let path = Path::new("a.parquet");
        let header = |unpacked: &[u8], packed: u8, more: &[u8]| {
            [&number(1, 0)[..], &[0x15], unpacked, &number(1, packed), more, &[STOP]].concat()
        };
        let mut page = header(&[8], 3, &[0x18, 2, 9, 9]);
        page.extend([1, 2, 3]);
        assert_eq!(check_pages(path, &page, 0, page.len() as u64).unwrap(), 4);
        assert!(check_pages(path, &page, 0, page.len() as u64 - 1).is_err());
        assert!(check_pages(path, &page, 1, page.len() as u64).is_err());
        let huge = header(&[0xfe, 0xff, 0xff, 0xff, 0x0f], 0, &[]);
        assert!(check_pages(path, &huge, 0, huge.len() as u64).unwrap_err().to_string().contains("2.0 GiB"));
        let dictionary = header(&[8], 0, &[0x4c, 0x15, 40, STOP]);
        assert!(check_pages(path, &dictionary, 0, dictionary.len() as u64).is_err());
    }

    #[test]
    fn delta_counts_are_bounded() {
        // A block of 128 in 4 parts of no bits each, then two bytes of text.
        let block = |count: &[u8]| [&[0x80, 1, 4][..], count, &[2, 0, 0, 0, 0, 0], b"xy"].concat();
        assert_eq!(after_delta(&block(&[100]), 100), Some(&b"xy"[..]));
        assert_eq!(after_delta(&block(&[100]), 99), None);
        assert_eq!(after_delta(&block(&[0xff, 0xff, 0xff, 0xff, 0xff, 0x1f]), 100), None);
        assert_eq!(after_delta(&[0x80, 1, 4, 1, 2, 7], 1), Some(&[7][..]));
    }

    #[test]
    fn deep_schemas_are_refused() {
        let file = |levels: usize| {
            let mut bytes = vec![0x29, 0xfc, levels as u8 | 0x80, (levels >> 7) as u8];
            (0..levels).for_each(|level| bytes.extend([0x55, if level + 1 < levels { 2 } else { 0 }, STOP]));
            bytes.push(STOP);
            let length = (bytes.len() as u32).to_le_bytes();
            [&bytes[..], &length, b"PAR1"].concat()
        };
        assert!(check_schema(Path::new("a"), &file(90)).is_ok());
        assert!(check_schema(Path::new("a"), &file(2000)).is_err());
        assert!(check_schema(Path::new("a"), b"PAR1").is_err());
    }
}
