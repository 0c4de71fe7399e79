//! `atomlearn report`: the HTML page again from saved records, or the card of a model.

use super::compare::PairedTestArg;
use crate::args::MetricArg;
use crate::console::Console;
use crate::failure::Failure;
use crate::output::{Kind, OutputArgs, write_output};
use atomlearn::Model;
use atomlearn_lab::metrics::Metric;
use atomlearn_lab::{card, record, report};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  atomlearn report runs.jsonl -o report.html
  atomlearn report --card faces.model -o README.md";

/// Make the HTML page from records saved by `compare --records`, or the card of a model
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Records, one JSON object per line
    #[arg(required_unless_present = "card")]
    records: Option<PathBuf>,
    /// Instead, write the card of this model: Markdown with front matter
    #[arg(long, value_name = "MODEL", conflicts_with = "records")]
    card: Option<PathBuf>,
    /// File to write; `-` is stdout, the default for cards
    #[arg(long, short, value_name = "FILE", required_unless_present = "card")]
    output: Option<PathBuf>,
    /// The test by which methods are compared; one split is always tested by McNemar's
    #[arg(long, value_name = "TEST", default_value = "crossed")]
    paired_test: PairedTestArg,
    /// What methods are ranked and tested by
    #[arg(long, value_name = "NAME", default_value = "accuracy")]
    metric: MetricArg,
    #[command(flatten)]
    writing: OutputArgs,
}

/// Reads records or a model and writes the page or card.
pub fn run(args: &Args, console: &Console) -> Result<(), Failure> {
    let output = args.output.as_ref().filter(|path| *path != Path::new("-"));
    let kind = if args.card.is_some() { Kind::Card } else { Kind::Report };
    args.writing.check(&[args.records.as_ref(), args.card.as_ref()], &[(output, kind)])?;
    let (page, what) = match (&args.records, &args.card) {
        (Some(path), _) => records_page(path, args.paired_test, args.metric)?,
        (None, Some(path)) => (model_card(path)?, "card".to_string()),
        (None, None) => return Err(Failure::usage("name a file of records, or a model with --card")),
    };
    write_output(output.map(PathBuf::as_path), page.as_bytes(), console)?;
    if let Some(path) = output {
        console.note(&format!("{what} written to {}", path.display()));
    }
    Ok(())
}

fn records_page(path: &Path, paired_test: PairedTestArg, metric: MetricArg) -> Result<(String, String), Failure> {
    let mut records = record::read(path)?;
    if records.is_empty() {
        return Err(Failure::bad_file(format!("{}: holds no records", path.display())));
    }
    paired_test.apply(&mut records);
    let metric: Metric = metric.into();
    records.iter_mut().for_each(|record| record.protocol.metric = metric);
    Ok((report::page(&records)?, format!("{} records; page", records.len())))
}

fn model_card(path: &Path) -> Result<String, Failure> {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into());
    Ok(card::card(&Model::load(path)?, &name)?)
}
