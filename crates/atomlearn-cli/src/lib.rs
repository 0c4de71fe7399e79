//! `atomlearn`: discriminative dictionary learning on the command line.
//!
//! [`run`] is the whole program. The binary calls it, and so does the Python package, whose wheel brings the command along.

mod args;
mod checkpoint;
mod commands;
mod console;
mod data;
mod failure;
mod image_part;
mod images;
mod interrupt;
mod out_of_core;
mod output;
mod photo_choice;
mod photo_look;
mod photos;
mod plain;
mod progress;
#[cfg(test)]
mod reference;
mod rounds;
mod settings;
mod training;
mod views;
mod weights;

use args::{Cli, Command};
use console::Console;
use failure::Failure;
use std::ffi::OsString;

/// Runs the program with these words, the first of which is its name, and gives the exit code. Once per process: it starts
/// the threads and watches for Ctrl-C. Help, and what cannot be parsed, end the process here.
pub fn run(words: Vec<OsString>) -> u8 {
    let cli = Cli::parse_or_exit(&words);
    let console = Console::new(&cli.global, &words);
    match command(cli, &console) {
        Ok(()) => 0,
        Err(failure) => failure.report(&console),
    }
}

fn command(cli: Cli, console: &Console) -> Result<(), Failure> {
    // The server ends on Ctrl-C in its own way.
    if !matches!(cli.command, Command::Serve(_)) {
        interrupt::install()?;
    }
    start_threads(cli.global.threads, console)?;
    match cli.command {
        Command::Demo(args) => commands::demo::run(&args, console),
        Command::Methods(args) => commands::methods::run(&args, console),
        Command::Inspect(args) => commands::inspect::run(&args, console),
        Command::Features(args) => commands::features::run(&args, console),
        Command::Auto(args) => commands::auto::run(&args, console),
        Command::Train(args) => commands::train::run(&args, console),
        Command::Predict(args) => commands::predict::run(&args, console),
        Command::Explain(args) => commands::explain::run(&args, console),
        Command::Evaluate(args) => commands::evaluate::run(&args, console),
        Command::Compare(args) => commands::compare::run(&args, console),
        Command::Tune(args) => commands::tune::run(&args, console),
        Command::Sweep(args) => commands::sweep::run(&args, console),
        Command::Reproduce(args) => commands::reproduce::run(&args, console),
        Command::Rank(args) => commands::rank::run(&args, console),
        Command::Export(args) => commands::export::run(&args, console),
        Command::Serve(args) => commands::serve::run(&args, console),
        Command::Report(args) => commands::report::run(&args, console),
        Command::Cite(args) => commands::cite::run(&args, console),
        Command::Completions(args) => commands::completions::run(&args, console),
    }
}

/// Beyond this, threads that have no core of their own only take time and memory to start.
const MOST_THREADS: usize = 256;

/// Builds the one pool of threads that everything uses.
fn start_threads(threads: Option<usize>, console: &Console) -> Result<(), Failure> {
    let in_environment = || std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok();
    let wanted = threads.or_else(in_environment).unwrap_or(0);
    let most = std::thread::available_parallelism().map_or(1, |cores| cores.get()).max(MOST_THREADS);
    if wanted > most {
        console.note(&format!("{wanted} threads are more than this machine can use; {most} are started"));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(wanted.min(most));
    pool.build_global().map_err(|e| Failure::failed(format!("cannot start threads: {e}")))
}
