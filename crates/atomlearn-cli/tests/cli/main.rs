//! The program as its users see it: outputs, exit codes, messages, files.
#![allow(clippy::unwrap_used, clippy::panic, clippy::new_without_default, missing_docs)]

mod auto;
mod bad_input;
mod comparing;
#[cfg(unix)]
mod ctrl_c;
mod experiments;
mod external;
#[cfg(unix)]
mod failing_disk;
mod good_use;
mod hostile;
mod images;
mod multi_view;
mod out_of_core;
mod outputs;
mod photo_folders;
#[cfg(unix)]
mod processes;
mod protocols;
mod serving;
mod tables;
mod weights;

use assert_cmd::Command;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_atomlearn");

/// A folder of its own to run in.
pub struct Place {
    folder: TempDir,
}

/// What a run gave.
pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Place {
    pub fn new() -> Self {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub fn files(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> = names.map(|e| e.unwrap().file_name().to_string_lossy().into()).collect();
        names.sort();
        names
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(PROGRAM);
        command.current_dir(self.folder.path()).env_remove("NO_COLOR").env("SOURCE_DATE_EPOCH", "1700000000");
        command
    }

    /// Runs with the words of a line as arguments.
    pub fn run(&self, line: &str) -> Run {
        self.run_with(line, "")
    }

    pub fn run_with(&self, line: &str, stdin: &str) -> Run {
        let output = self.command().args(line.split_whitespace()).write_stdin(stdin).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Run { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Runs, and expects it to work.
    pub fn ok(&self, line: &str) -> String {
        let run = self.run(line);
        assert_eq!(run.code, 0, "{line}: {}", run.err);
        run.out
    }

    pub fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.ok(line)).unwrap()
    }

    /// Runs, and expects it to fail with this code and these words, and to leave no new file.
    pub fn refuses(&self, line: &str, code: i32, words: &[&str]) {
        let before = self.files();
        let run = self.run(line);
        assert_eq!(run.code, code, "{line}: {}{}", run.out, run.err);
        for word in words {
            assert!(run.err.contains(word), "{line}: `{word}` is not in: {}", run.err);
        }
        assert!(!run.err.contains("panicked") && !run.err.contains("RUST_BACKTRACE"), "{}", run.err);
        assert_eq!(self.files(), before, "{line} left files");
    }
}

/// A table of three classes in four features; every class has its own direction, and no two samples are equal.
pub fn table(per_class: usize) -> String {
    let mut text = String::from("a,b,c,d,label\n");
    for i in 0..per_class {
        for (c, name) in ["ant", "bee", "cat"].iter().enumerate() {
            let value = |k: usize| {
                let wobble = ((7 * i + 3 * c + 5 * k) % 11) as f64 / 40.0;
                if k == c { 1.0 + wobble } else { wobble }
            };
            let _ = writeln!(text, "{},{},{},{},{name}", value(0), value(1), value(2), value(3));
        }
    }
    text
}

pub fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}
