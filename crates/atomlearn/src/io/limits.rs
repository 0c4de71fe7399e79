//! What keeps a hostile or huge file from taking the machine down.

use crate::{Error, Result};
use std::io::Read;
use std::path::Path;

/// No compressor stores more than this many bytes in one: deflate stops at 1032.
const MAX_GROWTH: u64 = 1100;

/// Dense sizes below this are allowed whatever the file's size, so that tiny sparse files stay readable.
const FREE_GROWTH: u64 = 64 << 20;

/// Asking the system for the memory left is not worth it below this size.
const ALWAYS_FITS: u64 = 1 << 20;

/// The whole file, with errors that say what to do.
pub(super) fn read_file(path: &Path) -> Result<Vec<u8>> {
    let metadata = std::fs::metadata(path).map_err(Error::io(path))?;
    if metadata.is_dir() {
        return Err(Error::format(path, "is a folder; name a file"));
    }
    check_memory(path, metadata.len(), "the file itself")?;
    let bytes = std::fs::read(path).map_err(Error::io(path))?;
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

/// Refuses a sparse or run-length coded array whose dense form is out of proportion to the file.
pub(super) fn check_expansion(path: &Path, name: &str, shape: &[usize], file_bytes: usize) -> Result<usize> {
    let count = check_dense(path, name, shape)?;
    let (dense, file) = (8 * count as u64, file_bytes as u64);
    if dense > FREE_GROWTH && dense / MAX_GROWTH > file {
        return Err(Error::format(
            path,
            format!(
                "{name} would take {} ({}) from a file of {}; the file is damaged, or too sparse to be read as dense",
                human(dense),
                shape_text(shape),
                human(file)
            ),
        ));
    }
    Ok(count)
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
#[allow(clippy::unwrap_used)]
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
    fn a_short_stream_is_an_error_and_not_an_allocation() {
        let mut short: &[u8] = &[1, 2, 3];
        assert!(read_exactly(&mut short, u64::MAX).is_err());
    }
}
