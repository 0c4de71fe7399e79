//! The bytes of an HDF5 file, given out only so many times.
//!
//! Indices of HDF5 are trees whose branches may lead to the same leaf, and lists whose entries may name the same bytes:
//! a few kilobytes can describe more reads than would ever end. A sound file is read a few times over at most.

use hdf5_pure::{Error, File, FormatError, Source};
use std::sync::atomic::{AtomicU64, Ordering};

/// How often a file may be read over, and what any file may be read beyond that.
const TIMES: u64 = 16;
const FREE: u64 = 32 << 20;
/// What a read costs beside its bytes.
const PER_READ: u64 = 64;

struct Metered {
    bytes: Vec<u8>,
    left: AtomicU64,
}

/// Opens a file that is in memory.
pub(super) fn open(bytes: Vec<u8>) -> Result<File, Error> {
    let left = AtomicU64::new(FREE.saturating_add(TIMES.saturating_mul(bytes.len() as u64)));
    File::from_source(Metered { bytes, left })
}

impl Source for Metered {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), FormatError> {
        let price = PER_READ + buf.len() as u64;
        let paid = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(price));
        if paid.is_err() {
            return Err(FormatError::Source("its parts refer to the same bytes over and over".into()));
        }
        let eof = || FormatError::UnexpectedEof { expected: usize::MAX, available: self.bytes.len() };
        let start = usize::try_from(offset).map_err(|_| eof())?;
        let found = self.bytes.get(start..).and_then(|rest| rest.get(..buf.len())).ok_or_else(eof)?;
        buf.copy_from_slice(found);
        Ok(())
    }
}
