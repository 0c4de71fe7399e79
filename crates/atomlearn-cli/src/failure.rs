//! What went wrong, for the user, with the exit code.

use crate::console::Console;
use crate::plain::with_flags;
use atomlearn::{Error, NameKind};
use atomlearn_lab::compare::RunError;
use std::io::ErrorKind;

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const BAD_FILE: u8 = 3;
const INTERRUPTED: u8 = 130;

/// A message and an exit code.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// Something did not work.
    pub fn failed(message: impl Into<String>) -> Self {
        Failure { code: FAILED, message: message.into() }
    }

    /// The user asked for something that cannot be.
    pub fn usage(message: impl Into<String>) -> Self {
        Failure { code: USAGE, message: message.into() }
    }

    /// A file does not hold what it should.
    pub fn bad_file(message: impl Into<String>) -> Self {
        Failure { code: BAD_FILE, message: message.into() }
    }

    /// What went wrong, as a sentence.
    pub fn into_message(self) -> String {
        self.message
    }

    /// Prints the message and gives the exit code.
    pub fn report(&self, console: &Console) -> u8 {
        console.error(&self.message);
        self.code
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure { code: code(&error), message: with_flags(&error.to_string()) + hint(&error) }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Failure { code: code(&error.source), message: with_flags(&error.to_string()) + hint(&error.source) }
    }
}

fn code(error: &Error) -> u8 {
    match error {
        Error::Param { .. } => USAGE,
        Error::Unknown { kind: NameKind::Variable | NameKind::Column | NameKind::Class, .. } => BAD_FILE,
        Error::Unknown { .. } => USAGE,
        Error::Data(_) | Error::Shape { .. } | Error::Format { .. } => BAD_FILE,
        Error::Io { source, .. } => match source.kind() {
            ErrorKind::NotFound | ErrorKind::InvalidData | ErrorKind::UnexpectedEof | ErrorKind::IsADirectory => {
                BAD_FILE
            }
            _ => FAILED,
        },
        Error::Interrupted => INTERRUPTED,
        _ => FAILED,
    }
}

/// Where to look, for names that are like nothing we know.
fn hint(error: &Error) -> &'static str {
    match error {
        Error::Unknown { kind: NameKind::Method, nearest: None, .. } => "; `atomlearn methods` lists them",
        Error::Unknown { kind: NameKind::Parameter, nearest: None, .. } => {
            "; `atomlearn methods KEY` lists those of a method"
        }
        Error::Unknown { kind: NameKind::Variable, nearest: None, .. } => "; `atomlearn inspect FILE` lists them",
        _ => "",
    }
}
