//! One line of JSON for every request, for those who ask for it.
//!
//! A thread of its own writes, so that no answer waits for a disk or a terminal. What it cannot keep up with, or cannot
//! write, is counted and not kept.

use serde::Serialize;
use std::fs::OpenOptions;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Lines that may wait to be written.
const WAITING: usize = 4096;
/// How every line begins.
const START: &str = "{\"time\":";

/// A log that takes lines from all connections. All are written when this is dropped.
#[derive(Debug)]
pub struct RequestLog {
    lines: Option<SyncSender<String>>,
    lost: Arc<AtomicU64>,
    writer: Option<JoinHandle<()>>,
}

/// What is told of a request. Samples, scores and queries are not: they may be private.
#[derive(Serialize)]
pub struct Entry<'a> {
    /// When it was answered, UTC, RFC 3339.
    pub time: String,
    /// Who asked.
    pub client: String,
    /// The method.
    pub method: &'a str,
    /// The path, without the query; the start of a long one.
    pub path: &'a str,
    /// Status of the answer.
    pub status: u16,
    /// From the head of the request to its answer.
    pub milliseconds: f64,
    /// Bytes of the body that came, for requests with samples.
    pub body_bytes: Option<usize>,
    /// Samples in it, where it could be read.
    pub samples: Option<usize>,
    /// Bytes of the answer's body.
    pub answer_bytes: u64,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
}

impl RequestLog {
    /// Lines go to standard error.
    pub fn to_stderr() -> Result<Self> {
        RequestLog::to(std::io::stderr())
    }

    /// Lines are appended to a file, which is new, empty, or a request log already.
    pub fn to_file(path: &Path) -> Result<Self> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        let mut start = [0; START.len()];
        let held = file.metadata()?.len() > 0;
        if held && (file.read_exact(&mut start).is_err() || start != START.as_bytes()) {
            return Err(Error::new(ErrorKind::AlreadyExists, "the file holds something else than a request log"));
        }
        RequestLog::to(file)
    }

    /// Lines go anywhere.
    pub fn to(target: impl Write + Send + 'static) -> Result<Self> {
        let (lines, received) = sync_channel(WAITING);
        let lost = Arc::<AtomicU64>::default();
        let counted = lost.clone();
        let writer = std::thread::Builder::new()
            .name("request log".into())
            .spawn(move || write_all(&received, target, &counted))?;
        Ok(RequestLog { lines: Some(lines), lost, writer: Some(writer) })
    }

    /// Adds a line.
    pub(crate) fn add(&self, entry: &Entry<'_>) {
        let line = serde_json::to_string(entry).ok();
        let sent = line.zip(self.lines.as_ref()).is_some_and(|(line, lines)| lines.try_send(line).is_ok());
        self.lost.fetch_add(u64::from(!sent), Relaxed);
    }

    /// Lines that could not be written.
    pub fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }
}

impl Drop for RequestLog {
    fn drop(&mut self) {
        // Without a sender the writer comes to an end.
        self.lines = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// Writes lines as they come, those together that wait at the same time.
fn write_all(lines: &Receiver<String>, mut target: impl Write, lost: &AtomicU64) {
    while let Ok(first) = lines.recv() {
        let (mut text, mut count) = (first + "\n", 1);
        for line in lines.try_iter().take(WAITING) {
            text.extend([line.as_str(), "\n"]);
            count += 1;
        }
        if target.write_all(text.as_bytes()).and_then(|()| target.flush()).is_err() {
            lost.fetch_add(count, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str) -> Entry<'_> {
        Entry {
            time: "2026-01-01T00:00:00Z".into(),
            client: "127.0.0.1:1".into(),
            method: "GET",
            path,
            status: 200,
            milliseconds: 0.5,
            body_bytes: None,
            samples: None,
            answer_bytes: 3,
            error: None,
        }
    }

    #[test]
    fn lines_are_appended_to_logs_and_to_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("requests.jsonl");
        for _ in 0..2 {
            let log = RequestLog::to_file(&path).unwrap();
            (0..50).for_each(|_| log.add(&entry("/a\n\u{1b}[31m")));
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 100);
        assert!(text.lines().all(|line| line.starts_with(START) && line.contains(r#""path":"/a\n\u001b[31m""#)));
        for other in ["a model", "{}\n"] {
            std::fs::write(&path, other).unwrap();
            assert!(RequestLog::to_file(&path).is_err());
            assert_eq!(std::fs::read_to_string(&path).unwrap(), other);
        }
    }

    #[test]
    fn what_cannot_be_written_is_counted() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> Result<usize> {
                Err(ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> Result<()> {
                Ok(())
            }
        }
        let log = RequestLog::to(Full).unwrap();
        (0..10).for_each(|_| log.add(&entry("/")));
        let lost = log.lost.clone();
        drop(log);
        assert_eq!(lost.load(Relaxed), 10);
    }
}
