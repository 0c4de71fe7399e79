//! `atomlearn tune`: the best parameters by cross-validation within the training part.

use crate::args::{DataArgs, MetricArg, SplitsFrom, at_least_one, read_splits, warn_of_other_splits};
use crate::console::Console;
use crate::failure::Failure;
use crate::output::{Kind, OutputArgs};
use crate::progress::TuneBar;
use crate::settings::{self, Overrides};
use atomlearn::file::write_atomically;
use atomlearn::registry;
use atomlearn_lab::data::LabData;
use atomlearn_lab::tune::{self, Folds, Tuning};
use atomlearn_lab::{splits, tune_table};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  atomlearn tune faces.mat --method lcdl-sv --train-per-class 20 -o best.toml
  atomlearn tune faces.mat --method crc --grid kappa=0.001,0.01,0.1 --folds 10
  atomlearn train faces.mat --params best.toml -o faces.model
  atomlearn tune digits.npz --method lcdl-sv --prep unit --prep unit,kernel:rbf:auto --prep 'unit,kernel:rbf:auto*4'
  atomlearn tune faces.mat --method svgdl --train-per-class 20 --records tune.jsonl --resume

Only training samples are seen: those drawn by --train-per-class, those of the first split of
--splits (or of --split), the `is_train` part, or else all of DATA. Preprocessing is fitted anew
within every fold. `atomlearn methods KEY` shows the usual grid; --grid replaces an axis or adds
one, --set takes a parameter out of the grid. Equal accuracies go to the point nearest to the
defaults, then to the first.";

/// Choose parameters by cross-validation on the training part
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Data file (.mat .npz .npy .csv .tsv .parquet .libsvm) or folder of images; `-` is CSV from stdin
    data: PathBuf,
    /// Method; `atomlearn methods` lists them
    #[arg(long, short, value_name = "KEY")]
    method: String,
    /// Values to try for a parameter; may be repeated
    #[arg(long, value_name = "NAME=V1,V2,...")]
    grid: Vec<String>,
    /// Fix a parameter instead of tuning it
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Number of folds
    #[arg(long, value_name = "K", value_parser = at_least_one, default_value = "5")]
    folds: usize,
    /// Training samples drawn from every class; no others are seen
    #[arg(long, value_name = "N", value_parser = at_least_one, conflicts_with = "splits")]
    train_per_class: Option<usize>,
    /// Seed of the drawn split and of the folds
    #[arg(long, value_name = "S", default_value = "0")]
    seed: u64,
    /// Use the training part of a split of this file, as for `compare`
    #[arg(long, value_name = "FILE")]
    splits: Option<PathBuf>,
    #[command(flatten)]
    splits_from: SplitsFrom,
    /// Which split, counted from 0
    #[arg(long, value_name = "I", default_value = "0")]
    split: usize,
    /// Preprocessing, a comma list applied in order; given several times, the best is chosen [default: unit]
    #[arg(long, value_name = "SPEC")]
    prep: Vec<String>,
    /// Take the simplest point within one standard error of the best
    #[arg(long)]
    one_se: bool,
    /// What parameters are chosen by
    #[arg(long, value_name = "NAME", default_value = "accuracy")]
    metric: MetricArg,
    /// The column of a table, or variable of a .mat or .npz file, that says which samples belong together (all of one person,
    /// say): it is no feature, and no group is in two folds
    #[arg(long, value_name = "COLUMN")]
    groups: Option<String>,
    /// Write the chosen parameters to this TOML file
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Append a record of every training to this file of JSON lines
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// Skip trainings that the records file already holds
    #[arg(long, requires = "records")]
    resume: bool,
    #[command(flatten)]
    reading: DataArgs,
    #[command(flatten)]
    writing: OutputArgs,
}

/// Tunes, prints and saves.
pub fn run(args: &Args, console: &Console) -> Result<(), Failure> {
    let method = registry::method(&args.method)?;
    let own = Overrides { set: &args.set, grid: &args.grid };
    let texts = args.reading.views_preps(&args.data, &args.prep)?;
    let given = settings::preps(&texts)?;
    let (prep, base, grid) = own.for_method(method, given.first().filter(|_| !texts.is_empty()))?;
    let preps = if texts.is_empty() { vec![prep] } else { given };
    let grid = grid.with_preps(&preps)?;
    if grid.is_empty() {
        return Err(Failure::usage(format!("{} has nothing to tune; name values with --grid", method.key)));
    }
    let spec = tune::Spec { grid, folds: args.folds, seed: args.seed, one_se: args.one_se, metric: args.metric.into() };
    let outputs = [(args.output.as_ref(), Kind::Params), (args.records.as_ref(), Kind::TuneRecords)];
    args.writing.check(&[Some(&args.data), args.splits.as_ref(), args.reading.labels.as_ref()], &outputs)?;
    let kept = settings::kept(args.records.as_deref(), args.resume, tune::checked_key, console)?;
    let data = args.reading.read_to_split(&args.data, args.groups.as_deref(), console)?;
    let places = training_part(args, &data, console)?;
    args.metric.note_on_balance(&data, &places, console);
    let folds = Folds::new(&data, &places, spec.folds, spec.seed)?;
    let tuning = Tuning { folds: &folds, prep: &preps[0], method, base: &base, spec: &spec };
    let bar = TuneBar::new(console, method.key);
    let tuned = tuning.run(&kept.known, kept.file.as_ref(), &bar);
    bar.finish();
    drop(bar);
    let tuned = tuned?;
    if let Some(path) = &args.output {
        write_atomically(path, tuned.params_text()?.as_bytes())?;
        console.note(&format!("parameters written to {}", path.display()));
    }
    if console.json {
        return console.print_json(&tuned);
    }
    console.print_report(&tune_table::terminal(&tuned, console.width(), console.color))
}

/// The samples that may be seen.
fn training_part(args: &Args, data: &LabData, console: &Console) -> Result<Vec<usize>, Failure> {
    if args.splits.is_some() || args.train_per_class.is_some() {
        warn_of_other_splits(data, console);
    }
    let splits = match (&args.splits, args.train_per_class) {
        (Some(path), _) => read_splits(path, data, args.splits_from, console)?,
        (None, Some(n)) => splits::stratified(data, n, args.split + 1, args.seed)?,
        (None, None) if data.is_train.is_some() => splits::given(data)?,
        (None, None) => return Ok((0..data.targets.len()).collect()),
    };
    let count = splits.splits.len();
    let split = splits.splits.into_iter().nth(args.split);
    let split = split.ok_or_else(|| Failure::usage(format!("--split {}: there are {count} splits", args.split)))?;
    Ok(split.train)
}
