//! Files of JSON lines that grow while an experiment runs, so that a stopped one can go on.

use atomlearn::file::write_atomically;
use atomlearn::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::Write;
use std::path::Path;

/// Appends one record as one line.
pub fn append(path: &Path, record: &impl Serialize) -> Result<()> {
    let line = serde_json::to_string(record).map_err(|e| Error::format(path, e.to_string()))? + "\n";
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).map_err(Error::io(path))?;
    file.write_all(line.as_bytes()).map_err(Error::io(path))
}

/// Reads a file of records. A last line that was cut short, as by a crash, is left out; any other is an error.
///
/// `check` refuses a record or gives its key; where a key occurs more than once, the last record counts.
pub fn read<R: DeserializeOwned>(path: &Path, check: impl Fn(&R) -> Result<String, String>) -> Result<Vec<R>> {
    let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
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

/// Makes a file of records end after its last whole line, so that more can be appended.
pub fn mend(path: &Path) -> Result<()> {
    let bytes = std::fs::read(path).map_err(Error::io(path))?;
    let end = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |place| place + 1);
    if end < bytes.len() {
        write_atomically(path, &bytes[..end])?;
    }
    Ok(())
}
