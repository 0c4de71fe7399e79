//! `atomlearn sweep`: accuracy against one parameter.

use super::compare::{origin, run_plan};
use crate::args::{DataArgs, SplitArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::output::{Kind, OutputArgs};
use crate::settings;
use atomlearn::file::write_atomically;
use atomlearn::registry;
use atomlearn_lab::compare::Plan;
use atomlearn_lab::sweep::{entries, sweeps};
use atomlearn_lab::{params_file, record, report};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  atomlearn sweep faces.mat --method lcdl-sv --param eta2 --values 0.5,1,2,5,10,20,50 --train-per-class 20
  atomlearn sweep faces.mat --method lcdl-sv --param lambda1 --values 1e-6,1e-4,1e-2 --splits splits.json
  atomlearn sweep faces.mat --params best.toml --param max_iter --values 0,1,5,20 --train-per-class 20

Every value sees the same splits. One training serves all values of a parameter that acts after it.
Test samples are used: this shows how much a parameter matters; to choose one, use `tune`.";

/// Accuracy against one parameter, all others fixed
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Data file (.mat .npz .npy .csv .tsv .parquet .libsvm) or folder of images; `-` is CSV from stdin
    data: PathBuf,
    /// Method; `atomlearn methods` lists them
    #[arg(long, short, value_name = "KEY", required_unless_present = "params")]
    method: Option<String>,
    /// The parameter to vary
    #[arg(long, value_name = "NAME")]
    param: String,
    /// Its values [default: the usual grid]
    #[arg(long, value_name = "V1,V2,...", value_delimiter = ',')]
    values: Vec<String>,
    /// Set another parameter
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Take method and other parameters from a TOML file, as `tune -o` writes it
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
    /// Preprocessing, a comma list applied in order and fitted on training data only [default: unit]
    #[arg(long, value_name = "SPEC")]
    prep: Option<String>,
    #[command(flatten)]
    splitting: SplitArgs,
    /// Append a record of every run to this file of JSON lines
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// Skip runs that the records file already holds
    #[arg(long, requires = "records")]
    resume: bool,
    /// Write an HTML page
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    reading: DataArgs,
    #[command(flatten)]
    writing: OutputArgs,
}

/// Runs the sweep and prints it.
pub fn run(args: &Args, console: &Console) -> Result<(), Failure> {
    let file = args.params.as_deref().map(params_file::read).transpose()?;
    let method = settings::method(args.method.as_deref(), file.as_ref())?;
    let asked = args.prep.as_deref().or(file.as_ref().and_then(|file| file.prep.as_deref()));
    let views = args.reading.views_prep(&args.data, asked, method.default_prep)?;
    let (prep, base) = settings::settle(method, views.as_deref(), &args.set, file)?;
    let values = values(args, method)?;
    let entries = entries(method, &base, &args.param, &values)?;
    let splitting = [args.splitting.splits.as_ref(), args.splitting.test.as_ref()];
    let inputs = [Some(&args.data), args.params.as_ref(), args.reading.labels.as_ref()];
    let inputs: Vec<_> = inputs.into_iter().chain(splitting).collect();
    let outputs = [(args.records.as_ref(), Kind::Records), (args.report.as_ref(), Kind::Report)];
    args.writing.check(&inputs, &outputs)?;
    let kept = settings::kept(args.records.as_deref(), args.resume, record::checked_key, console)?;
    let data = args.splitting.read(&args.data, &args.reading, console)?;
    let splits = args.splitting.choose(&data, console)?;
    let plan = Plan { data: &data, splits: &splits, prep: &prep, entries: &entries };
    let records = run_plan(&plan, &kept, false, origin(Some((&args.data, &args.reading)), console), console)?;
    if let Some(path) = &args.report {
        write_atomically(path, report::page(&records)?.as_bytes())?;
        console.note(&format!("page written to {}", path.display()));
    }
    let sweep = sweeps(&records).into_iter().next().ok_or_else(|| Failure::failed("no run was made"))?;
    if console.json {
        return console.print_json(&sweep);
    }
    console.print_report(&sweep.terminal(console.width(), console.color))
}

/// The values to try: given, or the registry's.
fn values(args: &Args, method: &registry::Method) -> Result<Vec<serde_json::Value>, Failure> {
    let given: Result<Vec<_>, _> =
        args.values.iter().map(|text| method.parse_value(&args.param, text.trim())).collect();
    let given = given?;
    if !given.is_empty() {
        return Ok(given);
    }
    let params = method.params();
    let info = params.iter().find(|info| info.name == args.param);
    let known = || params.iter().map(|info| info.name);
    let info = info.ok_or_else(|| atomlearn::Error::unknown(atomlearn::NameKind::Parameter, &args.param, known()))?;
    if info.grid.is_empty() {
        return Err(Failure::usage(format!("`{}` has no usual grid; name values with --values V1,V2,...", info.name)));
    }
    Ok(info.grid.clone())
}
