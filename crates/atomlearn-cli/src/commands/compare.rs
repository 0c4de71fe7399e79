//! `atomlearn compare`: several methods on the same splits.

use crate::args::{DataArgs, MetricArg, SplitArgs, at_least_one, warn_of_other_splits};
use crate::console::Console;
use crate::data::quoted;
use crate::failure::Failure;
use crate::image_part;
use crate::images::FeatureArgs;
use crate::output::{Kind, OutputArgs};
use crate::photos::photos;
use crate::progress::CompareWatch;
use crate::settings::{self, Kept, Overrides, TuneFlags};
use atomlearn::file::write_atomically;
use atomlearn::prep::PrepSpec;
use atomlearn::registry;
use atomlearn_lab::compare::{Entry, Plan};
use atomlearn_lab::data::LabData;
use atomlearn_lab::metrics::Metric;
use atomlearn_lab::program::Program;
use atomlearn_lab::provenance::Origin;
use atomlearn_lab::record::{self, PairedTest, Record};
use atomlearn_lab::results::{Comparison, comparisons, warnings};
use atomlearn_lab::splits::{self, Splits};
use atomlearn_lab::{folds, report, scaling, tables};
use clap::ValueEnum;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  atomlearn compare wine.csv
  atomlearn compare faces.mat --methods auto,crc,ridge --train-per-class 20 --repeats 10
  atomlearn compare pixels.npz --views deep.npz --methods auto,crc --train-per-class 5     two views of the same samples
  atomlearn compare faces.mat --methods all --train-per-class 20 --set crc.kappa=0.01 --report faces.html
  atomlearn compare faces.mat --methods all --splits splits.json --prep pca:300,unit --json
  atomlearn compare faces.mat --methods all --train-per-class 20 --records runs.jsonl --resume
  atomlearn compare faces.mat --methods all --train-per-class 20 --format latex
  atomlearn compare photos/ --features sift-pyramid --train-per-class 30
  atomlearn compare faces.mat --methods lcdl-sv,crc --train-per-class 20 --tune --grid crc.kappa=0.01,0.1
  atomlearn compare train.csv --test test.csv
  atomlearn compare visits.csv --groups patient --learning-curve --report visits.html
  atomlearn compare wine.csv --external 'forest=python forest.py {train} {test} {out}'

Without --methods, `auto` and the fast methods are compared. Without --train-per-class and --splits,
the split that DATA carries (`is_train`) is used or, if there is none, stratified 5-fold
cross-validation, twice: every sample is tested in both by a model that has not seen it. Without
--prep, `auto` scales samples in its own ways while the others get `unit`.
A stopped comparison goes on where it was with --records FILE --resume. With --tune, parameters are
chosen anew on every split by cross-validation that never sees the test part; --set fixes one.
An external program reads {train}, a CSV with features x0, x1, ... and `label`, and {test}, the same
without labels; it writes a CSV with a column `label`, one row per test sample, to {out}. Columns
named as the classes may hold scores or probabilities. It gets samples as they are unless --prep is given.";

/// Folds of a cross-validation, and how often the data are cut into them.
const FOLDS: usize = 5;
const CUTS: usize = 2;

/// Compare methods on the same splits: accuracy, spread, 95 % interval, tests, times
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Data file (.mat .npz .npy .csv .tsv .parquet .libsvm) or folder of images; `-` is CSV from stdin
    data: PathBuf,
    /// Methods, a comma list; `all` is every one, `fast` is `auto` and those that take no longer
    #[arg(long, value_name = "KEYS", value_delimiter = ',', default_value = "fast")]
    methods: Vec<String>,
    #[command(flatten)]
    splitting: SplitArgs,
    /// Preprocessing, a comma list applied in order and fitted on training data only; with --tune it may be given
    /// several times, and the best is chosen for every method and split [default: unit; `auto` scales samples itself]
    #[arg(long, value_name = "SPEC")]
    prep: Vec<String>,
    /// Set a parameter of a method; KEY. may be left out if there is only one
    #[arg(long, value_name = "KEY.NAME=VALUE")]
    set: Vec<String>,
    /// Take parameters of a method from a TOML file, as `tune -o` writes it; may be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "tune")]
    params: Vec<PathBuf>,
    /// Choose the parameters of every method by cross-validation within each training part
    #[arg(long)]
    tune: bool,
    /// With --tune: values to try for a parameter; KEY. may be left out if there is only one method
    #[arg(long, value_name = "KEY.NAME=V1,V2,...", requires = "tune")]
    grid: Vec<String>,
    /// Folds of the cross-validation that takes the place of --train-per-class; with --tune (also) of that within every
    /// training part [default: 5]
    #[arg(long, value_name = "K", value_parser = at_least_one)]
    folds: Option<usize>,
    /// With --tune: take the simplest point within one standard error of the best
    #[arg(long, requires = "tune")]
    one_se: bool,
    /// Run any program as a method, [NAME=]COMMAND with {train}, {test} and {out} in it; may be repeated, see below
    #[arg(long, value_name = "COMMAND")]
    external: Vec<String>,
    /// Also train on an eighth, a quarter and half of every training part, to show whether more samples would help
    #[arg(long)]
    learning_curve: bool,
    /// Write the splits to this file
    #[arg(long, value_name = "FILE")]
    save_splits: Option<PathBuf>,
    /// Append a record of every run to this file of JSON lines; looks into the first split as --report does
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// Skip runs that the records file already holds
    #[arg(long, requires = "records")]
    resume: bool,
    /// Write an HTML page; the runs on the first split are looked into for it, which takes extra time
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// With --report: the folder of the images that DATA was made from, to show examples and the worst mistakes
    #[arg(long, value_name = "FOLDER", requires = "report")]
    images: Option<PathBuf>,
    /// The test by which methods are compared; one split is always tested by McNemar's
    #[arg(long, value_name = "TEST", default_value = "crossed")]
    paired_test: PairedTestArg,
    /// What methods are ranked, tested and tuned by
    #[arg(long, value_name = "NAME", default_value = "accuracy")]
    metric: MetricArg,
    /// How to print the table
    #[arg(long, value_name = "FORMAT", default_value = "terminal")]
    format: Format,
    /// DATA is a folder of images: make these features of them, learned anew from every training part (pixels, random-face,
    /// sift-pyramid, fisher or onnx) [default: fisher or, of small images, pixels]
    #[arg(long, value_name = "KIND")]
    features: Option<String>,
    #[command(flatten)]
    reading: DataArgs,
    #[command(flatten)]
    making: FeatureArgs,
    #[command(flatten)]
    writing: OutputArgs,
}

/// How to print the table.
#[derive(Clone, Copy, ValueEnum)]
pub enum Format {
    /// A table with tests
    Terminal,
    /// A Markdown table
    Markdown,
    /// One line per method and rule, full precision
    Csv,
    /// A LaTeX table for booktabs
    Latex,
}

/// The test by which methods are compared.
#[derive(Clone, Copy, ValueEnum)]
pub enum PairedTestArg {
    /// Over samples and splits, both taken as random
    Crossed,
    /// The corrected resampled t-test of Nadeau and Bengio, over splits alone
    CorrectedResampledT,
}

impl PairedTestArg {
    /// Sets the test by which these records are read.
    pub fn apply(self, records: &mut [Record]) {
        let test = match self {
            PairedTestArg::Crossed => PairedTest::Crossed,
            PairedTestArg::CorrectedResampledT => PairedTest::CorrectedResampledT,
        };
        records.iter_mut().for_each(|record| record.protocol.paired_test = test);
    }
}

/// Runs the comparison and prints it.
pub fn run(args: &Args, console: &Console) -> Result<(), Failure> {
    let texts = args.reading.views_preps(&args.data, &args.prep)?;
    let preps = settings::preps(&texts)?;
    if preps.len() > 1 && !args.tune {
        return Err(Failure::usage("--prep is given several times: choosing between them needs --tune"));
    }
    let prep = preps[0].clone();
    let (folds, seed, one_se) = (args.folds.unwrap_or(FOLDS), args.splitting.seed, args.one_se);
    let flags = TuneFlags { preps, folds, seed, one_se, metric: args.metric.into() };
    let own = Overrides { set: &args.set, grid: &args.grid };
    let given = (!texts.is_empty()).then_some(&prep);
    let mut entries = own.entries(&args.methods, &args.params, given, args.tune.then_some(&flags))?;
    entries.extend(external(&args.external, given, &entries)?);
    check_outputs(args)?;
    let kept = settings::kept(args.records.as_deref(), args.resume, record::checked_key, console)?;
    let data = read(args, console)?;
    let all: Vec<usize> = (0..data.targets.len()).collect();
    args.metric.note_on_balance(&data, &all, console);
    if !data.is_made() && entries.iter().any(|entry| entry.prep.is_none()) {
        scaling::warning(&data, &all, &prep).iter().for_each(|warning| console.warn(warning));
    }
    let splits = choose_splits(args, &data, console)?;
    let tests = splits.splits.iter().flat_map(|split| &split.test);
    data.seen_by_map(tests).iter().for_each(|warning| console.warn(warning));
    if let Some(path) = &args.save_splits {
        splits::write(path, &splits, &data)?;
    }
    let plan = Plan { data: &data, splits: &splits, prep: &prep, entries: &entries };
    let look_inside = args.report.is_some() || args.records.is_some();
    let mut from = origin(Some((&args.data, &args.reading)), console);
    if args.data.is_dir() {
        // The features that were compared, for the command that trains on all photos.
        let usual = if data.image_shape.is_some() { "pixels" } else { "fisher" };
        let kind = args.features.as_deref().unwrap_or(usual).to_string();
        let flags = ["--features".to_string(), kind].into_iter().chain(typed_flags::<FeatureArgs>(&console.typed));
        from.data_args = from.data_args.map(|data| format!("{data} {}", quoted(flags)));
    }
    let mut records = run_plan(&plan, &kept, look_inside, from.clone(), console)?;
    if args.learning_curve {
        for splits in splits.shorter(&data) {
            let share = 100.0 * splits.curve.unwrap_or(1.0);
            console.note(&format!("learning curve: {share} % of the training samples"));
            records.extend(run_plan(&Plan { splits: &splits, ..plan }, &kept, false, from.clone(), console)?);
        }
    }
    args.paired_test.apply(&mut records);
    let metric: Metric = args.metric.into();
    records.iter_mut().for_each(|record| record.protocol.metric = metric);
    let comparison = first(&records)?;
    if let Some(path) = &args.report {
        let folder = args.images.as_deref().or_else(|| args.data.is_dir().then_some(args.data.as_path()));
        let photos = folder.and_then(|folder| photos(folder, &data, &records, console));
        write_atomically(path, report::page_with(&records, photos.as_ref())?.as_bytes())?;
        console.note(&format!("page written to {}", path.display()));
    }
    if console.json {
        return console.print_json(&comparison);
    }
    match args.format {
        Format::Terminal => print_table(&comparison, console),
        Format::Markdown => console.print(&tables::markdown(&comparison)),
        Format::Csv => console.print(&tables::csv(&comparison)),
        Format::Latex => console.print(&tables::latex(&comparison)),
    }
}

/// Programs that take part.
fn external(commands: &[String], prep: Option<&PrepSpec>, others: &[Entry]) -> Result<Vec<Entry>, Failure> {
    let mut entries: Vec<Entry> = Vec::new();
    for command in commands {
        let program = Program::parse(command)?;
        let entry = Entry::outside(Arc::new(program), prep.map_or_else(|| "none".parse(), |prep| Ok(prep.clone()))?);
        let taken = registry::method(entry.key()).is_ok()
            || others.iter().chain(&entries).any(|other| other.key() == entry.key());
        if taken {
            return Err(Failure::usage(format!(
                "--external: `{}` is the name of another method; give it one of its own, as in 'my-{}={command}'",
                entry.key(),
                entry.key()
            )));
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// Where results of this command come from.
pub fn origin(data: Option<(&Path, &DataArgs)>, console: &Console) -> Origin {
    let command = quoted(std::iter::once("atomlearn".to_string()).chain(console.typed.iter().cloned()));
    let data = data.filter(|(path, _)| *path != Path::new("-"));
    Origin { command: Some(command), data_args: data.map(|(path, reading)| reading.typed(path)) }
}

/// The flags of `A` among the words that were typed, with their values.
fn typed_flags<A: clap::Args>(typed: &[String]) -> Vec<String> {
    let known = A::augment_args(clap::Command::new("flags"));
    let mut found = Vec::new();
    let mut words = typed.iter();
    while let Some(word) = words.next() {
        let Some(flag) = word.strip_prefix("--") else { continue };
        let name = flag.split('=').next();
        let Some(argument) = known.get_arguments().find(|argument| argument.get_long() == name) else { continue };
        found.push(word.clone());
        if argument.get_action().takes_values() && !flag.contains('=') {
            found.extend(words.next().cloned());
        }
    }
    found
}

/// The data; of photos, features are made of every training part when its turn comes.
fn read(args: &Args, console: &Console) -> Result<LabData, Failure> {
    if args.data.is_dir() && args.splitting.test.is_some() {
        return Err(Failure::usage("--test is for two files; hold out photos with --splits or --train-per-class"));
    }
    if args.data.is_dir() {
        return image_part::data(&args.making, args.features.as_deref(), &args.data, console);
    }
    if args.features.is_some() {
        return Err(Failure::usage("--features is for a folder of images"));
    }
    args.making.refuse_all("on data that are no images")?;
    args.splitting.read(&args.data, &args.reading, console)
}

/// What the user asked for, the split that the data carry, or cross-validation.
fn choose_splits(args: &Args, data: &LabData, console: &Console) -> Result<Splits, Failure> {
    let (given, asked) = (args.splitting.is_given(), args.folds.is_some() && !args.tune);
    if given && asked {
        return Err(Failure::usage(
            "--folds is for cross-validation or for --tune; leave it out, or leave out --train-per-class and --splits",
        ));
    }
    if args.splitting.test.is_some() && asked {
        return Err(Failure::usage("--folds is for cross-validation or for --tune, but --test says what tests"));
    }
    if given || (data.is_train.is_some() && !asked) {
        return args.splitting.choose(data, console);
    }
    warn_of_other_splits(data, console);
    let (folds, repeats) = (args.folds.unwrap_or(FOLDS), args.splitting.repeats.unwrap_or(CUTS));
    let made = folds::cross_validation(data, folds, repeats, args.splitting.seed)?;
    let tested: HashSet<usize> = made.splits.iter().flat_map(|split| split.test.iter().copied()).collect();
    let never = data.targets.len() - tested.len();
    if never > 0 {
        let what = if data.groups.is_some() { "group" } else { "sample" };
        console.warn(&format!("{never} samples always train and are never tested: each is of a class with one {what}"));
    }
    Ok(made)
}

fn check_outputs(args: &Args) -> Result<(), Failure> {
    let inputs = [
        Some(&args.data),
        args.images.as_ref(),
        args.making.onnx.as_ref(),
        args.splitting.splits.as_ref(),
        args.splitting.test.as_ref(),
    ];
    let more = args.params.iter().map(Some).chain([args.reading.labels.as_ref()]);
    let inputs: Vec<_> = inputs.into_iter().chain(more).collect();
    let outputs = [
        (args.save_splits.as_ref(), Kind::Splits),
        (args.records.as_ref(), Kind::Records),
        (args.report.as_ref(), Kind::Report),
    ];
    args.writing.check(&inputs, &outputs)
}

/// Runs a plan behind progress bars and passes its warnings on; `look_inside` is for reports.
pub fn run_plan(
    plan: &Plan<'_>,
    kept: &Kept<Record>,
    look_inside: bool,
    origin: Origin,
    console: &Console,
) -> Result<Vec<Record>, Failure> {
    let mut watch = CompareWatch::new(console, look_inside, origin);
    let records = plan.run(&kept.known, kept.file.as_ref(), &mut watch);
    watch.finish();
    drop(watch);
    let records = records?;
    warn(&records, console);
    Ok(records)
}

/// Passes on what trainings warned about, each warning once.
pub fn warn(records: &[Record], console: &Console) {
    for warning in warnings(&records.iter().collect::<Vec<_>>()) {
        let times =
            if warning.splits.len() > 1 { format!(" (on {} splits)", warning.splits.len()) } else { String::new() };
        console.warn(&format!("{}: {}{times}", warning.method, warning.text));
    }
}

/// Table, tests and how to read them.
pub fn print_table(comparison: &Comparison, console: &Console) -> Result<(), Failure> {
    let mut text = format!("{}\n", tables::caption(comparison).replacen("; ", "\n", 1));
    text += &tables::folds_sentence(comparison).map_or(String::new(), |sentence| sentence + "\n");
    text += &tables::terminal(comparison, console.width(), console.color);
    text += &format!("\n{}\n", tables::legend(comparison));
    let (number, tests) = tables::tests_against_best(comparison);
    if let Some(test) = comparison.tests.first() {
        let name = match test.test {
            "mcnemar" => "McNemar's exact test",
            "crossed" => "paired test over samples and splits",
            _ => "corrected resampled t-test",
        };
        let number = match number {
            1 => String::new(),
            n => format!(" (p-values after Holm's correction for these {n} tests)"),
        };
        let points = comparison.protocol.metric.words();
        text += &format!("Tests of the best: {name}{number}, points of {points}:\n");
        tests.iter().for_each(|line| text += &format!("  {line}\n"));
    }
    if !comparison.protocol.metric.is_default() {
        text += &format!("Ranked and tested by {}.\n", comparison.protocol.metric.words());
    }
    comparison.cautions.iter().for_each(|caution| text += &format!("\nCaution: {caution}.\n"));
    if let Some(curve) = tables::learning_curve(comparison, console.width(), console.color) {
        text += &format!("\n{curve}\n");
    }
    if let Some(sentence) = tables::no_better_than_guessing(comparison) {
        text += &format!("\n{sentence}\n");
    }
    console.print_report(&text)
}

/// The comparison that the records of one plan make.
pub fn first(records: &[Record]) -> Result<Comparison, Failure> {
    comparisons(records).into_iter().next().ok_or_else(|| Failure::failed("no run was made"))
}
