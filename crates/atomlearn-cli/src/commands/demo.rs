//! `atomlearn demo`: every method on real digits that are part of the program.

use super::compare::{first, print_table, run_plan};
use crate::console::Console;
use crate::failure::Failure;
use crate::output::{Kind, OutputArgs};
use crate::settings::{Kept, Own};
use atomlearn::file::write_atomically;
use atomlearn::io;
use atomlearn::prep::PrepSpec;
use atomlearn_lab::compare::Plan;
use atomlearn_lab::data::{LabData, digest_raw};
use atomlearn_lab::{report, splits};
use std::path::PathBuf;

const TRAIN_PER_CLASS: usize = 50;
const REPEATS: usize = 3;

/// Train and compare every method on embedded digits and write a report
#[derive(clap::Args)]
#[command(after_help = "Example:\n  atomlearn demo --report digits.html")]
pub struct Args {
    /// Page to write
    #[arg(long, value_name = "FILE", default_value = "atomlearn-report.html")]
    report: PathBuf,
    #[command(flatten)]
    writing: OutputArgs,
}

/// Runs the demonstration.
pub fn run(args: &Args, console: &Console) -> Result<(), Failure> {
    args.writing.check(&[], &[(Some(&args.report), Kind::Report)])?;
    let raw = io::digits();
    let data = LabData::new("digits (embedded)", digest_raw(&raw), raw)?;
    let entries = Own { set: &[], grid: &[] }.entries(&["all".to_string()], &[], None, None)?;
    let splits = splits::stratified(&data, TRAIN_PER_CLASS, REPEATS, 0)?;
    let plan = Plan { data: &data, splits: &splits, prep: &PrepSpec::default(), entries: &entries };
    console.note(&format!(
        "{} handwritten digits of 8 x 8 pixels; {} methods, each trained on {TRAIN_PER_CLASS} samples of every digit, {REPEATS} times",
        data.info.samples,
        entries.len()
    ));
    let records = run_plan(&plan, &Kept::default(), true, console)?;
    write_atomically(&args.report, report::page(&records)?.as_bytes())?;
    let comparison = first(&records)?;
    if console.json {
        return console.print_json(&comparison);
    }
    print_table(&comparison, console)?;
    console.note(&format!(
        "\nThe whole report is in {}: open it in a browser.\n\n\
         Try next:\n  atomlearn methods                      what these methods are\n  \
         atomlearn inspect YOUR.mat             what your own data look like\n  \
         atomlearn compare YOUR.mat --methods all --train-per-class 20\n  \
         atomlearn train YOUR.mat --method {} -o your.model",
        args.report.display(),
        entries[0].method.key
    ));
    Ok(())
}
