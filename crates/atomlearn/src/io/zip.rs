//! The little of the ZIP format that NumPy's `.npz` needs: stored and deflated members, found by the directory at the
//! end of the file.

use super::{limits, text};
use crate::{Error, Result};
use flate2::Crc;
use flate2::read::DeflateDecoder;
use std::io::Read;
use std::path::Path;

const END: &[u8] = b"PK\x05\x06";
const END_LENGTH: usize = 22;
const ENTRY: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";

/// One file inside the archive.
pub(super) struct Member<'a> {
    pub(super) name: String,
    method: u16,
    crc: u32,
    size: u64,
    packed: &'a [u8],
}

/// Lists the members.
pub(super) fn members<'a>(path: &Path, bytes: &'a [u8]) -> Result<Vec<Member<'a>>> {
    let bad =
        |why: &str| Error::format(path, format!("{why}; the archive is damaged or incomplete, copy or save it again"));
    let end = find_end(bytes).ok_or_else(|| bad("no directory at the end"))?;
    // The end mark, the number of members and their place; larger archives have a second, wider end before it.
    let mut count = u64::from(u16_at(bytes, end + 10));
    let mut at = u64::from(u32_at(bytes, end + 16));
    if count == 0xffff || at == 0xffff_ffff {
        let wide =
            end.checked_sub(20).filter(|&at| bytes[at..].starts_with(b"PK\x06\x07")).map(|at| u64_at(bytes, at + 8));
        let wide = wide
            .and_then(|at| usize::try_from(at).ok())
            .filter(|&at| at.checked_add(56).is_some_and(|e| e <= bytes.len()));
        let wide = wide.filter(|&at| bytes[at..].starts_with(b"PK\x06\x06")).ok_or_else(|| bad("a wrong directory"))?;
        (count, at) = (u64_at(bytes, wide + 32), u64_at(bytes, wide + 48));
    }
    let mut rest =
        usize::try_from(at).ok().and_then(|at| bytes.get(at..end)).ok_or_else(|| bad("a wrong directory"))?;
    let mut members = Vec::new();
    for _ in 0..count {
        if rest.len() < 46 || !rest.starts_with(ENTRY) {
            return Err(bad("a wrong directory entry"));
        }
        let name = u16_at(rest, 28);
        let extra = u16_at(rest, 30);
        let comment = u16_at(rest, 32);
        let name = usize::from(name);
        let extra = usize::from(extra);
        let comment = usize::from(comment);
        let tail = rest.get(46..46 + name + extra + comment).ok_or_else(|| bad("a directory entry cut short"))?;
        let mut sizes = [u64::from(u32_at(rest, 24)), u64::from(u32_at(rest, 20)), u64::from(u32_at(rest, 42))];
        widen(&mut sizes, &tail[name..name + extra]);
        let [size, packed, at] = sizes;
        let packed = content(bytes, at, packed).ok_or_else(|| bad("a member outside the file"))?;
        if u16_at(rest, 8) & 1 != 0 {
            return Err(Error::format(path, "the archive is encrypted; save it without a password"));
        }
        let name = text::from_utf8(&tail[..name]);
        members.push(Member { name, method: u16_at(rest, 10), crc: u32_at(rest, 16), size, packed });
        rest = &rest[46 + tail.len()..];
    }
    Ok(members)
}

impl Member<'_> {
    /// The first `count` bytes or fewer, unchecked.
    pub(super) fn start(&self, path: &Path, count: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let result = self.reader(path)?.take(count.min(self.size)).read_to_end(&mut bytes);
        result.map_err(|error| self.damaged(path, &error.to_string()))?;
        Ok(bytes)
    }

    /// The whole member, its checksum verified.
    pub(super) fn read(&self, path: &Path, file_bytes: usize) -> Result<Vec<u8>> {
        limits::check_growth(path, &self.name, self.size, file_bytes)?;
        limits::check_memory(path, self.size, &self.name)?;
        let read = limits::read_exactly(&mut self.reader(path)?, self.size);
        let bytes = read.map_err(|error| match error.kind() {
            std::io::ErrorKind::OutOfMemory => limits::read_error(path, error, self.size),
            _ => self.damaged(path, &error.to_string()),
        })?;
        let mut crc = Crc::new();
        crc.update(&bytes);
        if crc.sum() == self.crc { Ok(bytes) } else { Err(self.damaged(path, "wrong checksum")) }
    }

    /// How many bytes it really unpacks to, counted up to one more than `most`.
    #[cfg(feature = "xlsx")]
    pub(super) fn count(&self, path: &Path, most: u64) -> Result<u64> {
        let counted = std::io::copy(&mut self.reader(path)?.take(most.saturating_add(1)), &mut std::io::sink());
        counted.map_err(|error| self.damaged(path, &error.to_string()))
    }

    fn reader(&self, path: &Path) -> Result<Box<dyn Read + '_>> {
        match self.method {
            0 => Ok(Box::new(self.packed)),
            8 => Ok(Box::new(DeflateDecoder::new(self.packed))),
            other => {
                let why = format!("{} is packed by method {other}; use numpy.savez or savez_compressed", self.name);
                Err(Error::format(path, why))
            }
        }
    }

    fn damaged(&self, path: &Path, why: &str) -> Error {
        Error::format(path, format!("{} is damaged ({why}); copy or save the archive again", self.name))
    }
}

/// The last end mark; a comment of up to 65535 bytes may follow it.
fn find_end(bytes: &[u8]) -> Option<usize> {
    let last = bytes.len().checked_sub(END_LENGTH)?;
    let fits = |&at: &usize| {
        bytes[at..].starts_with(END) && at + END_LENGTH + usize::from(u16_at(bytes, at + 20)) == bytes.len()
    };
    (last.saturating_sub(0xffff)..=last).rev().find(fits)
}

/// Replaces sizes that did not fit into 32 bits by those in the extra field 1, which lists just these.
fn widen(sizes: &mut [u64; 3], mut extra: &[u8]) {
    while extra.len() >= 4 {
        let id = u16_at(extra, 0);
        let length = usize::from(u16_at(extra, 2));
        let Some(mut body) = extra.get(4..4 + length) else { return };
        if id == 1 {
            for size in sizes.iter_mut().filter(|size| **size == 0xffff_ffff) {
                let Some((wide, rest)) = body.split_at_checked(8) else { return };
                *size = u64_at(wide, 0);
                body = rest;
            }
        }
        extra = &extra[4 + length..];
    }
}

/// The packed bytes behind the local header at `at`.
fn content(bytes: &[u8], at: u64, packed: u64) -> Option<&[u8]> {
    let local = bytes.get(usize::try_from(at).ok()?..)?;
    if local.len() < 30 || !local.starts_with(LOCAL) {
        return None;
    }
    let skip = 30 + usize::from(u16_at(local, 26)) + usize::from(u16_at(local, 28));
    local.get(skip..)?.get(..usize::try_from(packed).ok()?)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
