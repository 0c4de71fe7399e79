//! The program `atomlearn`; all of it is in the library beside this file.

use std::process::ExitCode;

/// Training makes and drops many matrices of a few megabytes; an allocator that keeps their pages saves a tenth of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(atomlearn_cli::run(std::env::args_os().collect()))
}
