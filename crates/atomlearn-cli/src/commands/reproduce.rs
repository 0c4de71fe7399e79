//! `atomlearn reproduce`: the paper's tables, published numbers beside ours, and its method part by part.

use super::compare::{Format, origin, warn};
use crate::args::{DataArgs, at_least_one};
use crate::console::Console;
use crate::failure::Failure;
use crate::output::{Kind, OutputArgs};
use crate::progress::CompareWatch;
use crate::settings;
use atomlearn::file::write_atomically;
use atomlearn_lab::{recipe, record, report, reproduce};
use std::collections::BTreeSet;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  atomlearn reproduce eyaleb                          where the data come from
  atomlearn reproduce eyaleb --data EYaleB.mat
  atomlearn reproduce caltech101 --data Caltech101.mat --quick --report caltech.html
  atomlearn reproduce ar --data AR.mat --records ar.jsonl --resume --format latex
  atomlearn reproduce ablation --data digits.csv --prep unit --train-per-class 50

Experiments: eyaleb, ar, scene15, caltech101, lfw; ablation, LCDL-SV without one part at a time.";

/// The tables of the LCDL-SV paper: published numbers beside ours; and what each part of the method contributes
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Experiment: eyaleb, ar, scene15, caltech101, lfw or ablation
    experiment: String,
    /// Data file or folder of images; without it, says where the data come from and what they must look like
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// A small version: fewer splits and training sizes
    #[arg(long)]
    quick: bool,
    /// Seed of the splits, instead of the recipe's
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Splits for each training size, instead of the recipe's
    #[arg(long, value_name = "R", value_parser = at_least_one)]
    repeats: Option<usize>,
    /// Training samples per class, instead of the recipe's; a comma list for several sizes. Published numbers of other sizes are left out
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = at_least_one)]
    train_per_class: Vec<usize>,
    /// Preprocessing, instead of the recipe's
    #[arg(long, value_name = "SPEC")]
    prep: Option<String>,
    /// Only the rows of these methods, a comma list of keys
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    methods: Vec<String>,
    /// Append a record of every run to this file of JSON lines
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// Skip runs that the records file already holds
    #[arg(long, requires = "records")]
    resume: bool,
    /// Write an HTML page
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// How to print the table
    #[arg(long, value_name = "FORMAT", default_value = "terminal")]
    format: Format,
    #[command(flatten)]
    reading: DataArgs,
    #[command(flatten)]
    writing: OutputArgs,
}

/// Runs the recipe and prints its table.
pub fn run(args: &Args, console: &Console) -> Result<(), Failure> {
    let mut recipe = recipe::recipe(&args.experiment, args.quick)?;
    recipe.seed = args.seed.unwrap_or(recipe.seed);
    recipe.repeats = args.repeats.unwrap_or(recipe.repeats);
    if let Some(prep) = &args.prep {
        recipe.prep = prep.parse()?;
    }
    if !args.train_per_class.is_empty() {
        recipe = recipe.with_sizes(args.train_per_class.clone());
    }
    if !args.methods.is_empty() {
        let known = recipe.rows.iter().map(|row| row.method.key).collect::<Vec<_>>();
        if let Some(other) = args.methods.iter().find(|key| !known.contains(&key.as_str())) {
            if atomlearn::registry::method(other).is_ok() {
                return Err(Failure::usage(format!(
                    "--methods: `{other}` is a method, but has no row in the table of {}, whose methods are {}; `compare` runs it \
                     on any data",
                    args.experiment,
                    known.iter().copied().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
                )));
            }
            return Err(atomlearn::Error::unknown(atomlearn::NameKind::Method, other, known).into());
        }
        recipe.rows.retain(|row| args.methods.iter().any(|key| key == row.method.key));
    }
    let Some(path) = &args.data else {
        return console.print(&reproduce::without_data(&recipe));
    };
    let outputs = [(args.records.as_ref(), Kind::Records), (args.report.as_ref(), Kind::Report)];
    args.writing.check(&[Some(path), args.reading.labels.as_ref()], &outputs)?;
    let kept = settings::kept(args.records.as_deref(), args.resume, record::checked_key, console)?;
    args.reading.refuse_views("is not for the paper's tables, which have one set of features")?;
    let data = args.reading.read_to_split(path, None, console)?;
    let mut watch = CompareWatch::new(console, false, origin(Some((path, &args.reading)), console));
    let records = reproduce::run(&recipe, &data, &kept.known, kept.file.as_ref(), &mut watch);
    watch.finish();
    drop(watch);
    let records = records?;
    warn(&records, console);
    let table = reproduce::table(&recipe, &data, &records);
    if let Some(path) = &args.report {
        write_atomically(
            path,
            report::page_of(report::Content { records: &records, reproduction: Some(&table), ..Default::default() })?
                .as_bytes(),
        )?;
        console.note(&format!("page written to {}", path.display()));
    }
    if console.json {
        return console.print_json(&table);
    }
    let cells = table.cells();
    match args.format {
        Format::Terminal => {
            let notes: String = table.notes.iter().map(|note| format!("- {note}\n")).collect();
            let body = cells.terminal(console.width(), console.color);
            console.print_report(&format!("{}\n{body}\n{}{notes}", table.caption(), table.legend()))
        }
        Format::Markdown => console.print(&cells.markdown()),
        Format::Csv => console.print(&cells.csv()),
        Format::Latex => console.print(&cells.latex(&format!("{}\n{}", table.caption(), table.legend()))),
    }
}
