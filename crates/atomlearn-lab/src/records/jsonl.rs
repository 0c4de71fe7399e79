//! Files of JSON lines that grow while an experiment runs, so that a stopped one can go on.

use atomlearn::file::link_target;
use atomlearn::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// A file of records that this process alone appends to: it is locked until this value is dropped.
///
/// A file that was made here is taken away again if nothing was written to it.
pub struct Appender {
    path: PathBuf,
    file: File,
    made_here: bool,
    locked: bool,
}

impl Appender {
    /// Opens the file, or makes it. If another process is writing to it, `busy` says whether to wait: an error ends the attempt.
    pub fn open(path: &Path, busy: impl FnOnce() -> Result<()>) -> Result<Self> {
        // A link stays a link, also where an empty file is taken away again.
        let path = link_target(path)?;
        let mut busy = Some(busy);
        loop {
            let (file, made_here) = open_or_make(&path).map_err(Error::io(&path))?;
            let locked = match file.try_lock() {
                Ok(()) => true,
                // A file system without locks is no reason to keep no records.
                Err(TryLockError::Error(_)) => false,
                Err(TryLockError::WouldBlock) => {
                    busy.take().map_or(Ok(()), |busy| busy())?;
                    file.lock().map_err(Error::io(&path))?;
                    true
                }
            };
            let appender = Appender { path: path.clone(), file, made_here, locked };
            // The process that was waited for may have taken its empty file away.
            if appender.is_in_place() {
                return Ok(appender);
            }
        }
    }

    /// [`Appender::open`] that does not wait.
    pub fn open_now(path: &Path) -> Result<Self> {
        let why = "another process is writing records to this file; wait until it is done, or name another file";
        Appender::open(path, || Err(Error::format(path, why)))
    }

    /// False on a file system that has no locks: then nothing keeps other processes from writing to the file.
    pub fn is_locked(&self) -> bool {
        self.locked
    }

    /// True if the file holds nothing yet.
    pub fn is_empty(&self) -> bool {
        self.file.metadata().is_ok_and(|found| found.len() == 0)
    }

    /// The records that the file holds, see [`read`]. A last line that was cut short is taken away, so that more can be appended.
    pub fn records<R: DeserializeOwned>(&mut self, check: impl Fn(&R) -> Result<String, String>) -> Result<Vec<R>> {
        let mut text = String::new();
        let read = self.file.rewind().and_then(|()| self.file.read_to_string(&mut text));
        read.map_err(Error::io(&self.path))?;
        let records = parse(&self.path, &text, check)?;
        let end = text.rfind('\n').map_or(0, |place| place + 1);
        if end < text.len() {
            self.file.set_len(end as u64).map_err(Error::io(&self.path))?;
        }
        Ok(records)
    }

    /// Appends one record as one line.
    pub fn append(&self, record: &impl Serialize) -> Result<()> {
        let line = serde_json::to_string(record).map_err(|e| Error::format(&self.path, e.to_string()))? + "\n";
        (&self.file).write_all(line.as_bytes()).map_err(Error::io(&self.path))
    }

    fn is_in_place(&self) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let identity = |found: std::fs::Metadata| (found.dev(), found.ino());
            let place = std::fs::metadata(&self.path).map(identity).ok();
            place.is_some() && place == self.file.metadata().map(identity).ok()
        }
        #[cfg(not(unix))]
        {
            self.path.exists()
        }
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        if self.made_here && self.is_empty() && self.is_in_place() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The file, and whether it was not there before.
fn open_or_make(path: &Path) -> std::io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    match options.open(path) {
        Ok(file) => Ok((file, false)),
        Err(e) if e.kind() == ErrorKind::NotFound => options.create(true).open(path).map(|file| (file, true)),
        Err(e) => Err(e),
    }
}

/// Reads a file of records. A last line that was cut short, as by a crash, is left out; any other is an error.
///
/// `check` refuses a record or gives its key; where a key occurs more than once, the last record counts.
pub fn read<R: DeserializeOwned>(path: &Path, check: impl Fn(&R) -> Result<String, String>) -> Result<Vec<R>> {
    let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
    parse(path, &text, check)
}

fn parse<R: DeserializeOwned>(path: &Path, text: &str, check: impl Fn(&R) -> Result<String, String>) -> Result<Vec<R>> {
    let whole = text.ends_with('\n') || text.is_empty();
    let lines: Vec<&str> = text.lines().collect();
    let mut records: Vec<(String, R)> = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let bad = |why: String| Error::format(path, format!("line {}: {why}", i + 1));
        let record: R = match serde_json::from_str(line) {
            Ok(record) => record,
            Err(_) if i + 1 == lines.len() && !whole => break,
            Err(e) => return Err(bad(format!("not a record ({e})"))),
        };
        let key = check(&record).map_err(bad)?;
        records.retain(|(other, _)| *other != key);
        records.push((key, record));
    }
    Ok(records.into_iter().map(|(_, record)| record).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::sync::Barrier;

    fn key(record: &Value) -> Result<String, String> {
        record["key"].as_str().map(str::to_string).ok_or_else(|| "no key".into())
    }

    #[test]
    fn a_cut_line_is_taken_away_in_place_and_records_that_make_no_sense_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        std::fs::write(&path, "{\"key\": \"a\"}\n{\"key\": \"b").unwrap();
        let mut file = Appender::open_now(&path).unwrap();
        assert_eq!(file.records(key).unwrap(), [json!({"key": "a"})]);
        file.append(&json!({"key": "c"})).unwrap();
        drop(file);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"key\": \"a\"}\n{\"key\":\"c\"}\n");
        std::fs::write(&path, "a,b\n1,2").unwrap();
        assert!(Appender::open_now(&path).unwrap().records(key).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a,b\n1,2");
    }

    #[test]
    fn one_writer_at_a_time_and_nothing_left_of_one_that_wrote_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        let first = Appender::open_now(&path).unwrap();
        assert!(first.is_locked() && first.is_empty());
        let refused = Appender::open_now(&path).err().unwrap().to_string();
        assert!(refused.contains("another process"), "{refused}");
        drop(first);
        assert!(!path.exists());
        // Who waited for a file that is taken away begins a new one.
        let (first, waits) = (Appender::open_now(&path).unwrap(), Barrier::new(2));
        let waiting = || {
            waits.wait();
            Ok(())
        };
        std::thread::scope(|scope| {
            let second = scope.spawn(|| Appender::open(&path, waiting).unwrap().append(&json!({"key": "a"})).unwrap());
            waits.wait();
            drop(first);
            second.join().unwrap();
        });
        assert_eq!(read(&path, key).unwrap().len(), 1);
    }
}
