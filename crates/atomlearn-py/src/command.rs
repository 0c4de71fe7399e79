//! The command `atomlearn` of the Python package: the same code as the binary, in this module, so that a wheel holds it once.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the command line with the words that were typed after the program's name and gives the exit code. Once per process.
#[pyfunction]
pub fn run_command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    let program = std::iter::once("atomlearn".into());
    py.detach(|| atomlearn_cli::run(program.chain(words).collect()))
}
