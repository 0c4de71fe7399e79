//! `atomlearn demo`: every method on real digits that are part of the program.

use super::compare::{first, origin, print_table, run_plan};
use crate::console::Console;
use crate::failure::Failure;
use crate::output::{Kind, OutputArgs};
use crate::settings::{Kept, Overrides};
use atomlearn::file::write_atomically;
use atomlearn::io;
use atomlearn::prep::PrepSpec;
use atomlearn::registry;
use atomlearn_lab::compare::{Entry, Plan};
use atomlearn_lab::data::{LabData, digest_raw};
use atomlearn_lab::metrics::Metric;
use atomlearn_lab::results::Comparison;
use atomlearn_lab::tables::percent;
use atomlearn_lab::{report, splits, tune, verdict};
use serde_json::json;
use std::path::PathBuf;

const TRAIN_PER_CLASS: usize = 50;
const REPEATS: usize = 3;

/// The method that is shown as its authors set it and tuned, and the name of its preset.
const SHOWN_TWICE: (&str, &str) = ("lcdl-sv", "authors-code");
/// What is tuned: the usual grid, cut where a value costs a training and changes little on these data.
const GRID: [&str; 4] = ["lambda1=1e-3", "lambda2=1e-6", "max_iter=0,20", "eta1=1e-4,1e-3,1e-2,0.1,1,10"];
const FOLDS: usize = 3;

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
    let entries = entries()?;
    let splits = splits::stratified(&data, TRAIN_PER_CLASS, REPEATS, 0)?;
    let plan = Plan { data: &data, splits: &splits, prep: &PrepSpec::default(), entries: &entries };
    console.note(&format!(
        "{} handwritten digits of 8 x 8 pixels; {} methods, each trained on {TRAIN_PER_CLASS} samples of every digit, {REPEATS} times",
        data.info.samples,
        registry::METHODS.len()
    ));
    let records = run_plan(&plan, &Kept::default(), true, origin(None, console), console)?;
    write_atomically(&args.report, report::page(&records)?.as_bytes())?;
    let comparison = first(&records)?;
    if console.json {
        return console.print_json(&comparison);
    }
    print_table(&comparison, console)?;
    console.note(&format!(
        "\n{}\nThe whole report is in {}: open it in a browser.\n\n\
         Try next:\n  atomlearn methods                      what these methods are\n  \
         atomlearn inspect YOUR.csv             what your own data look like\n  \
         atomlearn compare YOUR.csv             auto and the fast methods, by cross-validation\n  \
         atomlearn train YOUR.csv -o your.model auto, ready to predict",
        summary(&comparison),
        args.report.display(),
    ));
    Ok(())
}

/// Every method with its defaults, `auto` first; LCDL-SV as its authors set it, and tuned.
fn entries() -> Result<Vec<Entry>, Failure> {
    let (twice, preset) = SHOWN_TWICE;
    let mut entries = Overrides { set: &[], grid: &[] }.entries(&["all".to_string()], &[], None, None)?;
    entries.sort_by_key(|entry| entry.key() != "auto");
    let Some(place) = entries.iter().position(|entry| entry.key() == twice) else { return Ok(entries) };
    let method = registry::method(twice)?;
    let params = method.complete(&[("preset".to_string(), json!(preset))].into_iter().collect())?;
    let (_, _, grid) = Overrides { set: &[], grid: &GRID.map(String::from) }.for_method(method, None)?;
    let spec = tune::Spec { grid, folds: FOLDS, seed: 0, one_se: false, metric: Metric::default() };
    let tuned = Entry { variant: Some("tuned".into()), tune: Some(spec), ..Entry::new(method, params.clone()) };
    entries[place] = Entry { variant: Some(preset.into()), ..Entry::new(method, params) };
    entries.insert(place + 1, tuned);
    Ok(entries)
}

/// How `auto`, for which nothing was set or tuned, compares with the best result of the others by whichever rule.
fn summary(comparison: &Comparison) -> String {
    let auto = comparison.results.iter().find(|result| result.method == "auto");
    let others = comparison.results.iter().filter(|result| result.method != "auto");
    let (Some(auto), Some(other)) = (auto, others.max_by(|a, b| a.mean.total_cmp(&b.mean))) else {
        return String::new();
    };
    format!(
        "auto, with nothing to set: {} % of new digits right; the best of the others here, {}: {} %.",
        percent(auto.mean),
        verdict::name(other, comparison),
        percent(other.mean)
    )
}
