//! What can be typed: global flags, commands and the flags that several commands share.

use crate::commands::{
    auto, cite, compare, completions, demo, evaluate, explain, export, features, inspect, methods, predict, rank,
    report, reproduce, serve, sweep, train, tune,
};
use crate::failure::Failure;
use atomlearn::io::Impute;
use atomlearn_lab::data::LabData;
use atomlearn_lab::splits::{self, Splits};
use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

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
    Compare(compare::Args),
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

/// How to read a data file, where it does not speak for itself.
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
    #[arg(long, value_name = "WAY")]
    pub samples: Option<Way>,
    /// A file with the labels: .npy, or text with one label per line
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
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
    /// Use the splits of this file
    #[arg(long, value_name = "FILE")]
    pub splits: Option<PathBuf>,
}

impl SplitArgs {
    /// True if the user said how to split.
    pub fn is_given(&self) -> bool {
        self.splits.is_some() || self.train_per_class.is_some()
    }

    /// The splits of these data: of the file, drawn, or the one that the data carry.
    pub fn choose(&self, data: &LabData) -> Result<Splits, Failure> {
        match (&self.splits, self.train_per_class) {
            (Some(path), _) => Ok(splits::read(path, data)?),
            (None, Some(n)) => Ok(splits::stratified(data, n, self.repeats.unwrap_or(REPEATS), self.seed)?),
            (None, None) if data.is_train.is_some() => Ok(splits::given(data)?),
            (None, None) => Err(Failure::usage(
                "say how to split the data: --train-per-class N, or --splits FILE (the data carry no `is_train`)",
            )),
        }
    }
}

/// Which way round a stored matrix lies.
#[derive(Clone, Copy, ValueEnum)]
pub enum Way {
    /// One sample per row
    Rows,
    /// One sample per column
    Columns,
}

impl Cli {
    /// Parses the command line; help, version and wrong usage end the program here.
    pub fn parse_or_exit() -> Self {
        let command = Cli::command().color(color_asked());
        let parsed = command.try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
        parsed.unwrap_or_else(|error| error.exit())
    }
}

/// `--color` must be known before parsing, since help and usage errors are coloured too.
fn color_asked() -> ColorChoice {
    let args: Vec<String> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let after = |i: usize| args[i].strip_prefix("--color=").map(str::to_string).or_else(|| args.get(i + 1).cloned());
    let place = args.iter().position(|arg| arg == "--color" || arg.starts_with("--color="));
    place.and_then(after).and_then(|word| ColorChoice::from_str(&word, true).ok()).unwrap_or(ColorChoice::Auto)
}

/// Parses a whole number from 1 on.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or_else(|| "must be a whole number from 1 on".to_string())
}
