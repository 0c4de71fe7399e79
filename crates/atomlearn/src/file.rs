//! Atomic file writes: a file is whole or not there.

use crate::{Error, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::NamedTempFile;

/// How the names of temporary files begin; the number of the process and a random word follow.
const PREFIX: &str = ".atomlearn-";
/// A temporary file without a lock may be about to get one, unless its process is known to be dead or it is older than this.
const SOON: Duration = Duration::from_secs(10 * 60);
/// Where the file system has no locks, a temporary file that nobody wrote to for so long is nobody's.
const LONG: Duration = Duration::from_secs(24 * 60 * 60);
/// Links that are followed from one to the next, as in Linux.
const MOST_LINKS: usize = 40;
/// Temporary files that are begun again because another process took them for abandoned ones.
const MOST_ATTEMPTS: usize = 8;

/// A file in the making: a temporary one beside `path` that takes its place when all is written. A reader never sees half
/// of it, and a failure leaves what stood there before.
///
/// It keeps the permissions of the file that it replaces. It is locked while it is in the making: one that a killed process left
/// behind has no lock, and is removed when the next file is begun in the same folder.
pub struct AtomicFile {
    path: PathBuf,
    file: NamedTempFile,
}

impl AtomicFile {
    /// Begins to write. A link stays a link: the file that it leads to is replaced, or made if it is not there.
    pub fn create(path: &Path) -> Result<Self> {
        let path = link_target(path)?;
        let replaced = std::fs::metadata(&path).ok();
        if replaced.as_ref().is_some_and(|found| !found.is_file() && !found.is_dir()) {
            return Err(Error::format(path, "is a device or a pipe, which a file must not replace; name a file"));
        }
        let folder = folder_of(&path);
        remove_abandoned(folder);
        let file = begin(folder, replaced.map(|found| found.permissions())).map_err(Error::io(&path))?;
        Ok(AtomicFile { path, file })
    }

    /// Puts the file in its place.
    pub fn commit(self) -> Result<()> {
        self.file.as_file().sync_all().map_err(Error::io(&self.path))?;
        if cfg!(windows) {
            // There a locked file cannot be renamed.
            let _ = self.file.as_file().unlock();
        }
        self.file.persist(&self.path).map_err(|e| Error::Io { path: self.path, source: e.error })?;
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes a whole file at once, through an [`AtomicFile`].
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes).map_err(Error::io(path))?;
    file.commit()
}

/// The file that a path leads to through links, whether that file is there yet or not.
pub fn link_target(path: &Path) -> Result<PathBuf> {
    if !path.is_symlink() {
        return Ok(path.to_path_buf());
    }
    if path.exists() {
        return path.canonicalize().map_err(Error::io(path));
    }
    let mut target = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match std::fs::read_link(&target) {
            Ok(next) => target = target.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => return Ok(target),
        }
    }
    Err(Error::format(path, "is a link that leads in a circle; name a file"))
}

/// The folder that a file lies in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new temporary file, locked.
fn begin(folder: &Path, replaced: Option<std::fs::Permissions>) -> io::Result<NamedTempFile> {
    let prefix = format!("{PREFIX}{}-", std::process::id());
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix);
    #[cfg(unix)]
    if replaced.is_none() {
        use std::os::unix::fs::PermissionsExt;
        // The umask still applies; without this the file would be readable by its owner alone.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut attempts = 0;
    loop {
        let file = builder.tempfile_in(folder)?;
        // Between the two steps another process may have taken it for an abandoned one: then it has the lock, or the file is gone.
        let taken = matches!(file.as_file().try_lock(), Err(TryLockError::WouldBlock)) || !file.path().exists();
        attempts += 1;
        if taken && attempts < MOST_ATTEMPTS {
            continue;
        }
        #[cfg(unix)]
        if let Some(permissions) = replaced {
            // Where the file system has no permissions the file stays its owner's alone.
            let _ = file.as_file().set_permissions(permissions);
        }
        return Ok(file);
    }
}

/// Removes the temporary files of dead processes. What cannot be looked at or removed is not ours, and stays.
fn remove_abandoned(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { continue };
        let Ok(metadata) = entry.metadata() else { continue };
        let age = metadata.modified().ok().and_then(|time| time.elapsed().ok()).unwrap_or_default();
        if !metadata.is_file() {
            continue;
        }
        let path = entry.path();
        let Ok(file) = OpenOptions::new().read(true).write(true).open(&path).or_else(|_| File::open(&path)) else {
            continue;
        };
        let abandoned = match file.try_lock() {
            Ok(()) => age > SOON || is_dead(rest),
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(_)) => age > LONG,
        };
        if abandoned {
            // The lock is held until the file is gone, so that nobody begins to write to it.
            let _ = std::fs::remove_file(&path);
        }
    }
}

/// True if the process that a temporary file's name tells of has surely ended; only Linux lets us know.
fn is_dead(name: &str) -> bool {
    let number = name.split_once('-').and_then(|(number, _)| number.parse::<u32>().ok());
    let processes = Path::new("/proc");
    cfg!(target_os = "linux")
        && processes.join("self").exists()
        && number.is_some_and(|number| !processes.join(number.to_string()).exists())
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

    #[cfg(unix)]
    #[test]
    fn permissions_stay_as_they_were() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for mode in [0o600, 0o640, 0o666, 0o444] {
            std::fs::write(&path, "old").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            write_atomically(&path, b"new").unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
            assert_eq!(std::fs::read(&path).unwrap(), b"new");
            std::fs::remove_file(&path).unwrap();
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_even_if_it_leads_nowhere_yet() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("far")).unwrap();
        symlink("second", at("first")).unwrap();
        symlink("far/target", at("second")).unwrap();
        for content in [b"one", b"two"] {
            write_atomically(&at("first"), content).unwrap();
            assert!(at("first").is_symlink() && at("second").is_symlink());
            assert_eq!(std::fs::read(at("far/target")).unwrap(), content);
        }
        symlink("circle", at("circle")).unwrap();
        assert!(write_atomically(&at("circle"), b"x").unwrap_err().to_string().contains("circle"));
        symlink("no/such/folder", at("lost")).unwrap();
        assert!(write_atomically(&at("lost"), b"x").is_err());
        assert!(at("lost").is_symlink());
    }

    #[test]
    fn temporary_files_of_the_dead_are_removed_and_those_of_the_living_stay() {
        let folder = tempfile::tempdir().unwrap();
        let names = || {
            let entries = std::fs::read_dir(folder.path()).unwrap();
            let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        let old = std::time::SystemTime::now() - 2 * SOON;
        let leave = |name: &str, time: Option<std::time::SystemTime>| {
            let file = File::create(folder.path().join(name)).unwrap();
            if let Some(time) = time {
                file.set_modified(time).unwrap();
            }
        };
        // No process has a number this large.
        leave(".atomlearn-4294967294-dead", None);
        leave(".atomlearn-old", Some(old));
        leave(".atomlearn-young", None);
        leave(".other-old", Some(old));
        let mut living = AtomicFile::create(&folder.path().join("b")).unwrap();
        living.file.as_file().set_modified(old).unwrap();
        write_atomically(&folder.path().join("a"), b"x").unwrap();
        living.write_all(b"y").unwrap();
        living.commit().unwrap();
        let dead_is_known = cfg!(target_os = "linux");
        let mut expected = vec![".atomlearn-young", ".other-old", "a", "b"];
        if !dead_is_known {
            expected.insert(0, ".atomlearn-4294967294-dead");
        }
        assert_eq!(names(), expected);
    }
}
