//! `atomlearn report`: the HTML page again from saved records.

use crate::console::Console;
use crate::data::{check_output, write_output};
use crate::failure::Failure;
use atomlearn_lab::{record, report};
use std::path::PathBuf;

/// Make the HTML page from records saved by `compare --records`
#[derive(clap::Args)]
#[command(after_help = "Example:\n  atomlearn report runs.jsonl -o report.html")]
pub struct Args {
    /// Records, one JSON object per line
    records: PathBuf,
    /// Page to write; `-` is stdout
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

/// Reads records and writes the page.
pub fn run(args: &Args, console: &Console) -> Result<(), Failure> {
    check_output(&args.output)?;
    let records = record::read(&args.records)?;
    if records.is_empty() {
        return Err(Failure::bad_file(format!("{}: holds no records", args.records.display())));
    }
    let page = report::page(&records)?;
    write_output(Some(&args.output), page.as_bytes(), console)?;
    console.note(&format!("{} records; page written to {}", records.len(), args.output.display()));
    Ok(())
}
