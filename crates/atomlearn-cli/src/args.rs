//! What can be typed: global flags, commands and the flags that several commands share.

use crate::commands::{
    auto, cite, compare, completions, demo, evaluate, explain, export, features, inspect, methods, predict, rank,
    report, reproduce, serve, sweep, train, tune,
};
use crate::console::Console;
use crate::failure::Failure;
use atomlearn::io::Impute;
use atomlearn_lab::data::LabData;
use atomlearn_lab::metrics::Metric;
use atomlearn_lab::splits::{self, Splits};
use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  atomlearn auto wine.csv -o wine.model                   train without choosing anything, and say how good it is
  atomlearn predict wine.model new.csv --proba            labels of new samples, with probabilities
  atomlearn explain wine.model new.csv                    why they get these labels
  atomlearn demo                                          every method on embedded digits
  atomlearn methods                                       what there is to train
  atomlearn inspect faces.mat                             what a file holds
  atomlearn features photos/ --kind sift-pyramid -o photos.npz
  atomlearn train faces.mat --method lcdl-sv -o faces.model
  atomlearn compare faces.mat --methods all --train-per-class 20
  atomlearn tune faces.mat --method lcdl-sv --train-per-class 20 -o best.toml
  atomlearn serve faces.model                             a page and POST /predict, on this machine

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 bad data or model file, 130 interrupted.";

/// Discriminative dictionary learning: train, test and compare classifiers.
#[derive(Parser)]
#[command(name = "atomlearn", version, after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
#[command(max_term_width = 100)]
pub struct Cli {
    /// Flags of every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Flags of every command.
#[derive(clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Print results as JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// No progress and no notes on stderr; warnings and errors remain
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Threads to use, up to 256 or the number of cores; all cores if not given. Results never depend on it
    #[arg(long, global = true, value_name = "N", value_parser = at_least_one)]
    pub threads: Option<usize>,
    /// When to use colour; NO_COLOR is honoured
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
}

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    Demo(demo::Args),
    Methods(methods::Args),
    Inspect(inspect::Args),
    Features(features::Args),
    Auto(Box<auto::Args>),
    Train(Box<train::Args>),
    Predict(predict::Args),
    Explain(explain::Args),
    Evaluate(evaluate::Args),
    Compare(Box<compare::Args>),
    Tune(tune::Args),
    Sweep(sweep::Args),
    Reproduce(reproduce::Args),
    Rank(rank::Args),
    Report(report::Args),
    Export(export::Args),
    Serve(serve::Args),
    Cite(cite::Args),
    Completions(completions::Args),
}

/// How to read a data file, where it cannot be inferred.
#[derive(clap::Args, Clone, Default)]
#[command(next_help_heading = "Data options")]
pub struct DataArgs {
    /// Name of the variable that holds the samples
    #[arg(long, value_name = "NAME")]
    pub x: Option<String>,
    /// Name of the variable or column that holds the labels; `none` for data without labels
    #[arg(long, value_name = "NAME")]
    pub y: Option<String>,
    /// Whether samples are rows or columns, where the labels do not settle it
    #[arg(long, value_name = "rows|columns")]
    pub samples: Option<OrientationArg>,
    /// A file with the labels: .npy, or text with one label per line
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
    /// Several views of the samples: more files beside DATA, of the same samples in the same order, or groups of DATA's columns, as
    /// in `left=1-32 right=33-64` or `petals=petal_length,petal_width`. Each view is prepared by its own part of --prep, in order
    /// with `|` between (`--prep 'pca:98%,unit|unit'`), or all by the only one
    #[arg(long, value_name = "FILES", num_args = 1..)]
    pub views: Vec<String>,
    /// Tables: whether the first row names the columns [default: by what the columns hold]
    #[arg(long, value_name = "YES|NO")]
    pub header: Option<Answer>,
    /// Tables: columns to leave out, with commas between; by their numbers from 1 where there is no header
    #[arg(long, value_name = "NAMES")]
    pub drop: Vec<String>,
    /// Tables: the column that says what samples are called; it is no feature, and `predict` writes it beside the labels
    #[arg(long, value_name = "NAME")]
    pub id: Option<String>,
    /// Tables: what to fill missing values with; kept in the model. Without it a missing value is an error
    #[arg(long, value_name = "HOW")]
    pub impute: Option<Filling>,
    /// Tables: the decimal sign, `,` or `.` [default: `.`, or `,` where semicolons separate the cells and numbers have commas]
    #[arg(long, value_name = "SIGN", value_parser = decimal_sign, allow_hyphen_values = true)]
    pub decimal: Option<char>,
}

/// Yes or no.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Answer {
    /// It does
    Yes,
    /// It does not
    No,
}

/// What missing values are filled with; categories always take their most frequent value.
#[derive(Clone, Copy, ValueEnum)]
pub enum Filling {
    /// The median of the column
    Median,
    /// Its mean
    Mean,
    /// Its most frequent value
    MostFrequent,
}

impl From<Filling> for Impute {
    fn from(filling: Filling) -> Self {
        match filling {
            Filling::Median => Impute::Median,
            Filling::Mean => Impute::Mean,
            Filling::MostFrequent => Impute::MostFrequent,
        }
    }
}

/// Parses `,` or `.`.
fn decimal_sign(text: &str) -> Result<char, String> {
    match text {
        "," | "comma" => Ok(','),
        "." | "point" => Ok('.'),
        _ => Err("write , or .".into()),
    }
}

/// Splits to draw.
const REPEATS: usize = 5;

/// Which samples train and which test.
#[derive(clap::Args, Clone, Default)]
pub struct SplitArgs {
    /// Training samples drawn from every class; all others test
    #[arg(long, value_name = "N", value_parser = at_least_one, conflicts_with = "splits")]
    train_per_class: Option<usize>,
    /// How many splits to draw, or how often to cut the data into folds [default: 5 splits, 2 cuts]
    #[arg(long, value_name = "R", value_parser = at_least_one, conflicts_with = "splits")]
    pub repeats: Option<usize>,
    /// Seed of the splits, and of folds where parameters are tuned
    #[arg(long, value_name = "S", default_value = "0")]
    pub seed: u64,
    /// Use the splits of this file: JSON as --save-splits writes it, or a .mat, .npy or .npz file with the places of the training
    /// samples, or one 0 or 1 for each
    #[arg(long, value_name = "FILE")]
    pub splits: Option<PathBuf>,
    #[command(flatten)]
    pub splits_from: SplitsFrom,
    /// The test samples, in a file of their own: DATA trains, this file tests
    #[arg(long, value_name = "FILE", conflicts_with_all = ["splits", "train_per_class", "repeats"])]
    pub test: Option<PathBuf>,
    /// The column of a table, or variable of a .mat or .npz file, that says which samples belong together (all of one person,
    /// say): it is no feature, and no group is in training and test part at once
    #[arg(long, value_name = "COLUMN")]
    pub groups: Option<String>,
}

impl SplitArgs {
    /// True if the user said how to split.
    pub fn is_given(&self) -> bool {
        self.splits.is_some() || self.train_per_class.is_some()
    }

    /// The data: one file, or one that trains and one that tests.
    pub fn read(&self, path: &Path, reading: &DataArgs, console: &Console) -> Result<LabData, Failure> {
        match &self.test {
            Some(test) => reading.read_two(path, test, self.groups.as_deref(), console),
            None => reading.read_to_split(path, self.groups.as_deref(), console),
        }
    }

    /// The splits of these data: of the file, drawn, or the one that the data carry.
    pub fn choose(&self, data: &LabData, console: &Console) -> Result<Splits, Failure> {
        if self.is_given() {
            warn_of_other_splits(data, console);
        }
        match (&self.splits, self.train_per_class) {
            (Some(path), _) => read_splits(path, data, self.splits_from, console),
            (None, Some(n)) => Ok(splits::stratified(data, n, self.repeats.unwrap_or(REPEATS), self.seed)?),
            (None, None) if data.is_train.is_some() => Ok(splits::given(data)?),
            (None, None) => Err(Failure::usage(
                "say how to split the data: --train-per-class N, or --splits FILE (the data carry no `is_train`)",
            )),
        }
    }
}

/// How the places of samples in a split file count.
#[derive(clap::Args, Clone, Copy, Default)]
pub struct SplitsFrom {
    /// Whether places in a .mat, .npy or .npz file of --splits count from 0 or from 1 [default: from 1 in .mat files without a 0,
    /// else from 0; what seems to count otherwise is refused]
    #[arg(long, value_name = "0|1", requires = "splits", value_parser = clap::value_parser!(u8).range(0..=1))]
    splits_from: Option<u8>,
}

/// The splits of a file, with a word about how it was understood; a doubt is a warning.
pub fn read_splits(path: &Path, data: &LabData, from: SplitsFrom, console: &Console) -> Result<Splits, Failure> {
    let mut tell =
        |text: &str| if text.contains("option `splits-from") { console.warn(text) } else { console.note(text) };
    Ok(splits::read(path, data, from.splits_from.map(usize::from), &mut tell)?)
}

/// What was learned from the training part of the split that the data carry, be it features or the choice of them, knows test
/// samples of any other split.
pub fn warn_of_other_splits(data: &LabData, console: &Console) {
    if data.is_train.is_some() {
        console.warn(&format!(
            "{} carries a split (`is_train`), and other splits are used: if its features were learned from the training part, as \
             `features --train-per-class` does, they have seen samples that are now tested, and accuracies come out too high",
            data.info.path
        ));
    }
}

/// What parameters are chosen, and results ranked, by.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MetricArg {
    /// Share of samples that are right
    Accuracy,
    /// Mean share of every class that is found
    BalancedAccuracy,
    /// Mean F1 of the classes
    MacroF1,
}

impl From<MetricArg> for Metric {
    fn from(arg: MetricArg) -> Self {
        match arg {
            MetricArg::Accuracy => Metric::Accuracy,
            MetricArg::BalancedAccuracy => Metric::BalancedAccuracy,
            MetricArg::MacroF1 => Metric::MacroF1,
        }
    }
}

impl MetricArg {
    /// Tells users of accuracy about classes of very different size.
    pub fn note_on_balance(self, data: &LabData, places: &[usize], console: &Console) {
        let mut counts = vec![0usize; data.classes.len()];
        places.iter().for_each(|&i| counts[data.targets[i]] += 1);
        let (least, most) = (counts.iter().min().copied().unwrap_or(0), counts.iter().max().copied().unwrap_or(0));
        if self == MetricArg::Accuracy && most > 3 * least {
            console.note(&format!(
                "classes are unbalanced ({least} to {most} samples): accuracy counts large classes most; \
                 --metric balanced-accuracy or macro-f1 counts all alike"
            ));
        }
    }
}

/// Which way round a stored matrix lies.
#[derive(Clone, Copy, ValueEnum)]
pub enum OrientationArg {
    /// One sample per row
    Rows,
    /// One sample per column
    Columns,
}

impl Cli {
    /// Parses the command line; help, version and wrong usage end the program here.
    pub fn parse_or_exit(words: &[OsString]) -> Self {
        let command = Cli::command().color(color_asked(words));
        let parsed = command.try_get_matches_from(words).and_then(|matches| Cli::from_arg_matches(&matches));
        parsed.unwrap_or_else(|error| error.exit())
    }
}

/// `--color` must be known before parsing, since help and usage errors are coloured too.
fn color_asked(words: &[OsString]) -> ColorChoice {
    let args: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let after = |i: usize| args[i].strip_prefix("--color=").map(str::to_string).or_else(|| args.get(i + 1).cloned());
    let place = args.iter().position(|arg| arg == "--color" || arg.starts_with("--color="));
    place.and_then(after).and_then(|word| ColorChoice::from_str(&word, true).ok()).unwrap_or(ColorChoice::Auto)
}

/// Parses a whole number from 1 on.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or_else(|| "must be a whole number from 1 on".to_string())
}
