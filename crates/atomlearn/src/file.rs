//! Files that are either whole or not there.

use crate::{Error, Result};
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file in the making: a temporary one beside `path` that takes its place when all is written. A reader never sees half
/// of it, and a failure leaves what stood there before.
pub struct AtomicFile {
    path: PathBuf,
    file: NamedTempFile,
}

impl AtomicFile {
    /// Begins to write. A link stays a link: the file that it leads to is replaced.
    pub fn create(path: &Path) -> Result<Self> {
        let path = &match std::fs::metadata(path) {
            Ok(found) if !found.is_file() && !found.is_dir() => {
                return Err(Error::format(path, "is a device or a pipe, which a file must not replace; name a file"));
            }
            Ok(_) if path.is_symlink() => path.canonicalize().map_err(Error::io(path))?,
            _ => path.to_path_buf(),
        };
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".atomlearn-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // The umask still applies; without this the file would be readable by its owner alone.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        Ok(AtomicFile { path: path.into(), file: builder.tempfile_in(folder).map_err(Error::io(path))? })
    }

    /// Puts the file in its place.
    pub fn commit(self) -> Result<()> {
        self.file.as_file().sync_all().map_err(Error::io(&self.path))?;
        self.file.persist(&self.path).map_err(|e| Error::Io { path: self.path, source: e.error })?;
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// Writes a whole file at once, through an [`AtomicFile`].
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes).map_err(Error::io(path))?;
    file.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_whole_files_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_atomically(&path, b"one").unwrap();
        write_atomically(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert!(write_atomically(&folder.path().join("no/such/folder"), b"x").is_err());
        assert!(write_atomically(folder.path(), b"x").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
