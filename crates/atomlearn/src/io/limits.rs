//! What keeps a hostile or huge file from taking the machine down.
//!
//! Every array, text and buffer that a file asks for is held against [`allowance`] before it is made, and made by a
//! function that gives an error where the system has no memory left.

use crate::{Error, Result};
use faer::Mat;
use std::io::Read;
use std::path::Path;

/// No compressor stores more than this many bytes in one: deflate stops at 1032.
const MAX_GROWTH: u64 = 1100;

/// What one part of any file may take, so that small sparse files stay readable. A reader holds up to five such parts
/// at a time (stored and dense values, labels, their classes, names), which together must stay below 1 GiB.
const FREE_GROWTH: u64 = 128 << 20;

/// Files may grow by [`MAX_GROWTH`] from this size on.
const SMALL_FILE: u64 = 1 << 20;

/// What a piece of text takes beside its bytes, in the list it is in and in the tables made from that.
const TEXT_OVERHEAD: u64 = 64;

/// Asking the system for the memory left is not worth it below this size.
const ALWAYS_FITS: u64 = 1 << 20;

/// The whole file, with errors that say what to do.
pub(super) fn read_file(path: &Path) -> Result<Vec<u8>> {
    let metadata = std::fs::metadata(path).map_err(Error::io(path))?;
    if metadata.is_dir() {
        return Err(Error::format(path, "is a folder; name a file"));
    }
    check_memory(path, metadata.len(), "the file itself")?;
    let bytes = std::fs::read(path).map_err(|error| read_error(path, error, metadata.len()))?;
    if bytes.is_empty() {
        return Err(Error::format(path, "the file is empty; write it again"));
    }
    Ok(bytes)
}

/// Bytes the system can still give out, where it says so.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Refuses what does not fit into memory. Containers ask for every small part they hold; those always fit.
pub(super) fn check_memory(path: &Path, bytes: u64, what: &str) -> Result<()> {
    if bytes <= ALWAYS_FITS {
        return Ok(());
    }
    match available_memory() {
        Some(available) if bytes > available => Err(Error::format(
            path,
            format!(
                "{what} needs {} of memory, {} are available; use fewer samples or features, or split the data",
                human(bytes),
                human(available)
            ),
        )),
        _ => Ok(()),
    }
}

/// Number of elements of a stored array, refused where it overflows or does not fit into memory as `f64`.
pub(crate) fn check_dense(path: &Path, name: &str, shape: &[usize]) -> Result<usize> {
    let count = product(shape)
        .filter(|&count| count <= usize::MAX / 8)
        .ok_or_else(|| Error::format(path, format!("{name} declares an impossible size, {}", shape_text(shape))))?;
    check_memory(path, 8 * count as u64, &format!("{name} ({}, as 64-bit numbers)", shape_text(shape)))?;
    Ok(count)
}

/// Bytes that one part of a file of this size may take in memory.
pub(crate) fn allowance(file_bytes: usize) -> u64 {
    FREE_GROWTH.saturating_add(MAX_GROWTH.saturating_mul((file_bytes as u64).saturating_sub(SMALL_FILE)))
}

/// Refuses `bytes` of memory for a part of a file where they are out of proportion to the file.
pub(super) fn check_growth(path: &Path, what: &str, bytes: u64, file_bytes: usize) -> Result<()> {
    if bytes <= allowance(file_bytes) {
        return Ok(());
    }
    Err(Error::format(
        path,
        format!(
            "{what} would take {} from a file of {}, more than the {} that is read from one of this size; the file is \
             damaged, or too sparse or repetitive to be read as a whole: split the data, or use fewer samples",
            human(bytes),
            human(file_bytes as u64),
            human(allowance(file_bytes))
        ),
    ))
}

/// [`check_dense`], for an array that may be sparse, compressed or run-length coded.
pub(super) fn check_expansion(path: &Path, name: &str, shape: &[usize], file_bytes: usize) -> Result<usize> {
    let count = check_dense(path, name, shape)?;
    let what = format!("{name} ({}, as 64-bit numbers)", shape_text(shape));
    check_growth(path, &what, 8 * count as u64, file_bytes)?;
    Ok(count)
}

/// Counts the text that comes out of a file: many entries may share the few bytes that are stored.
pub(super) struct TextBudget<'a> {
    path: &'a Path,
    name: &'a str,
    file_bytes: usize,
    used: u64,
}

impl<'a> TextBudget<'a> {
    /// For the text of `name`.
    pub(super) fn new(path: &'a Path, name: &'a str, file_bytes: usize) -> Self {
        TextBudget { path, name, file_bytes, used: 0 }
    }

    /// Takes `count` pieces of text, `bytes` long together, into account; refuses them where they are too much.
    pub(super) fn add(&mut self, count: usize, bytes: usize) -> Result<()> {
        self.used = self.used.saturating_add((count as u64).saturating_mul(TEXT_OVERHEAD)).saturating_add(bytes as u64);
        check_growth(self.path, &format!("the text of `{}`", self.name), self.used, self.file_bytes)
    }
}

/// Column starts of a sparse matrix as indices: they must begin at 0 or later, never step back, and end within the
/// `stored` entries, so that every entry is visited once at most.
pub(super) fn column_starts(starts: impl ExactSizeIterator<Item = f64>, stored: usize) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    found.try_reserve_exact(starts.len()).ok()?;
    let mut last = 0;
    for start in starts {
        let here =
            (start.fract() == 0.0 && start >= last as f64 && start <= stored as f64).then_some(start as usize)?;
        found.push(here);
        last = here;
    }
    Some(found)
}

/// A matrix filled column by column, if a file of this size may ask for it; an error, not the end of the program, where
/// the memory is not there.
pub(crate) fn matrix(
    path: &Path,
    name: &str,
    (rows, cols): (usize, usize),
    file_bytes: usize,
    value: impl FnMut(usize, usize) -> f64,
) -> Result<Mat<f64>> {
    let mut matrix = Mat::new();
    // Every column begins at a multiple of 64 bytes, so that samples of one feature take eight times their size.
    let bytes = (rows as u64).div_ceil(8).saturating_mul(64).saturating_mul(cols as u64);
    check_growth(path, &format!("{name} ({rows} features of {cols} samples)"), bytes, file_bytes)?;
    check_memory(path, bytes, name)?;
    matrix.try_reserve(rows, cols).map_err(|_| no_memory(path, name, bytes))?;
    matrix.resize_with(rows, cols, value);
    Ok(matrix)
}

/// `count` times `value`; an error where the memory is not there.
pub(super) fn filled<T: Clone>(path: &Path, name: &str, count: usize, value: T) -> Result<Vec<T>> {
    let mut list = with_room(path, name, count)?;
    list.resize(count, value);
    Ok(list)
}

/// An empty list with room for `count` items; an error where the memory is not there.
pub(super) fn with_room<T>(path: &Path, name: &str, count: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    let bytes = (count as u64).saturating_mul(size_of::<T>() as u64);
    list.try_reserve_exact(count).map_err(|_| no_memory(path, name, bytes))?;
    Ok(list)
}

fn no_memory(path: &Path, name: &str, bytes: u64) -> Error {
    let why = format!(
        "{name} needs {} of memory, which the system does not give; use fewer samples or features, or allow the \
         program more memory",
        human(bytes)
    );
    Error::format(path, why)
}

/// A failure to read so many bytes: memory that is not there is told apart from a file that cannot be read.
pub(super) fn read_error(path: &Path, error: std::io::Error, bytes: u64) -> Error {
    match error.kind() {
        std::io::ErrorKind::OutOfMemory => no_memory(path, "the file", bytes),
        _ => Error::Io { path: path.into(), source: error },
    }
}

/// Product of the sizes, `None` on overflow.
pub(super) fn product(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size))
}

/// Exactly `count` bytes, growing the buffer only by what really arrives, whatever size was declared.
pub(super) fn read_exactly(reader: &mut dyn Read, count: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(count.min(1 << 16) as usize);
    reader.take(count).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == count { Ok(bytes) } else { Err(std::io::ErrorKind::UnexpectedEof.into()) }
}

/// `3 x 4`, for messages.
pub(super) fn shape_text(shape: &[usize]) -> String {
    shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ")
}

/// A size in the largest binary unit that keeps it above one.
fn human(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = (bytes.max(1).ilog2() / 10) as usize;
    if power == 0 {
        return format!("{bytes} B");
    }
    format!("{:.1} {}", bytes as f64 / (1u64 << (10 * power)) as f64, units[power])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        assert_eq!(human(0), "0 B");
        assert_eq!(human(1023), "1023 B");
        assert_eq!(human(3 << 29), "1.5 GiB");
        assert_eq!(human(u64::MAX), "16.0 EiB");
    }

    #[test]
    fn too_much_is_refused_with_both_figures() {
        if available_memory().is_none() {
            return;
        }
        let message = check_dense(Path::new("a.mat"), "X", &[1 << 30, 1 << 20]).unwrap_err().to_string();
        assert!(message.contains("8.0 PiB") && message.contains("available"), "{message}");
    }

    #[test]
    fn overflow_is_refused() {
        assert!(check_dense(Path::new("a.mat"), "X", &[usize::MAX, 2]).is_err());
        assert!(check_dense(Path::new("a.mat"), "X", &[usize::MAX / 2]).is_err());
    }

    #[test]
    fn small_files_have_a_fixed_allowance_and_larger_ones_grow() {
        assert_eq!(allowance(0), 128 << 20);
        assert_eq!((allowance(1 << 20), allowance(usize::MAX)), (128 << 20, u64::MAX));
        assert_eq!(allowance((1 << 20) + 10), (128 << 20) + 11_000);
        let path = Path::new("a.npz");
        assert!(check_expansion(path, "X", &[4096, 4096], 500).is_ok());
        let message = check_expansion(path, "X", &[4096, 4097], 500).unwrap_err().to_string();
        assert!(message.contains("500 B") && message.contains("128.0 MiB"), "{message}");
        let mut text = TextBudget::new(path, "y", 500);
        assert!(text.add(1000, 64 << 20).is_ok() && text.add(1, 64 << 20).is_err());
    }

    #[test]
    fn column_starts_must_not_step_back_nor_leave_the_entries() {
        let check = |starts: &[f64]| column_starts(starts.iter().copied(), 3);
        assert_eq!(check(&[0.0, 0.0, 2.0, 3.0]), Some(vec![0, 0, 2, 3]));
        for bad in [&[0.0, 3.0, 0.0, 3.0][..], &[0.0, 4.0], &[-1.0, 3.0], &[0.0, 1.5], &[0.0, f64::NAN]] {
            assert_eq!(check(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        let path = Path::new("a.npz");
        let message = matrix(path, "X", (1 << 29, 1 << 28), usize::MAX, |_, _| 0.0).unwrap_err().to_string();
        assert!(message.contains("1.0 EiB") && message.contains("memory"), "{message}");
        assert!(filled(path, "X", 1 << 60, 0.0).is_err());
        assert!(matrix(path, "X", (1, 1 << 22), 500, |_, _| 0.0).is_err());
        assert_eq!(matrix(path, "X", (2, 3), 500, |i, j| (i + 10 * j) as f64).unwrap()[(1, 2)], 21.0);
    }

    #[test]
    fn a_short_stream_is_an_error_and_not_an_allocation() {
        let mut short: &[u8] = &[1, 2, 3];
        assert!(read_exactly(&mut short, u64::MAX).is_err());
    }
}
