//! `atomlearn rank`: methods across several data sets.

use super::compare::Format;
use crate::args::MetricArg;
use crate::console::Console;
use crate::failure::Failure;
use crate::output::{Kind, OutputArgs};
use atomlearn::file::write_atomically;
use atomlearn_lab::metrics::Metric;
use atomlearn_lab::ranks::{ALPHA, Ranking, left_out_text};
use atomlearn_lab::record;
use atomlearn_lab::report::{self, RankSummary};
use atomlearn_lab::results::ranking;
use atomlearn_lab::tables::{p_value, percent};
use atomlearn_lab::text_table::TextTable;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Example:
  atomlearn compare faces.mat --methods all --train-per-class 20 --records faces.jsonl
  atomlearn compare scenes.mat --methods all --train-per-class 100 --records scenes.jsonl
  atomlearn rank faces.jsonl scenes.jsonl --svg ranks.svg

Average ranks, Friedman's test, Wilcoxon's signed-rank tests with Holm's correction and the critical
difference of Nemenyi's test (Demsar 2006), over all data sets that the records hold. A method counts
with the rule in use, and only if it was run on every data set.";

/// Rank methods across the data sets of several records files
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Records, one JSON object per line
    #[arg(required = true)]
    records: Vec<PathBuf>,
    /// How to print the table
    #[arg(long, value_name = "FORMAT", default_value = "terminal")]
    format: Format,
    /// Also draw the critical-difference diagram
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// What methods are ranked by on every data set
    #[arg(long, value_name = "NAME", default_value = "accuracy")]
    metric: MetricArg,
    #[command(flatten)]
    writing: OutputArgs,
}

/// Reads records and prints the ranking.
pub fn run(args: &Args, console: &Console) -> Result<(), Failure> {
    let inputs: Vec<_> = args.records.iter().map(Some).collect();
    args.writing.check(&inputs, &[(args.svg.as_ref(), Kind::Diagram)])?;
    let mut records = Vec::new();
    for path in &args.records {
        records.extend(record::read(path)?);
    }
    let metric: Metric = args.metric.into();
    records.iter_mut().for_each(|record| record.protocol.metric = metric);
    let ranking = ranking(&records).map_err(Failure::bad_file)?;
    if let Some(path) = &args.svg {
        write_atomically(path, report::rank_diagram(&RankSummary::from(&ranking))?.as_bytes())?;
    }
    if console.json {
        return console.print_json(&ranking);
    }
    let cells = cells(&ranking);
    match args.format {
        Format::Terminal => {
            let text = cells.terminal(console.width(), console.color);
            console.print(&format!("{text}\n{}", tests(&ranking)))
        }
        Format::Markdown => console.print(&cells.markdown()),
        Format::Csv => console.print(&cells.csv()),
        Format::Latex => console.print(&cells.latex(&tests(&ranking))),
    }
}

/// One row per method: accuracy on every data set and average rank.
fn cells(ranking: &Ranking) -> TextTable {
    let mut head = vec!["method".to_string()];
    head.extend(ranking.data_sets.iter().cloned());
    head.push("average rank".into());
    let row = |i: usize| {
        let mut row = vec![ranking.methods[i].clone()];
        row.extend(ranking.accuracy[i].iter().map(|&share| percent(share)));
        row.push(format!("{:.2}", ranking.average_ranks[i]));
        row
    };
    let best = |d: usize| ranking.accuracy.iter().map(|row| row[d]).fold(0.0, f64::max);
    let mut bold = Vec::new();
    for (i, row) in ranking.accuracy.iter().enumerate() {
        bold.extend((0..row.len()).filter(|&d| row[d] == best(d)).map(|d| (i, d + 1)));
    }
    TextTable { head, rows: (0..ranking.methods.len()).map(row).collect(), bold }
}

fn tests(ranking: &Ranking) -> String {
    let p = p_value(ranking.friedman.p);
    let f = match ranking.friedman.f.is_finite() {
        true => format!("F = {:.2}", ranking.friedman.f),
        false => "all data sets rank the methods alike".into(),
    };
    let mut text = format!("Ranked by {}, mean in %.\n", ranking.metric.words());
    if !ranking.left_out.is_empty() {
        text += &format!("Not ranked, since not in every file: {}\n", left_out_text(&ranking.left_out));
    }
    text += &format!(
        "Friedman: chi2 = {:.2}, {f}, p {}; critical difference (Nemenyi, {ALPHA}) = {:.2}\n",
        ranking.friedman.chi2,
        if p.starts_with('<') { p } else { format!("= {p}") },
        ranking.critical_difference
    );
    for group in &ranking.groups {
        let names: Vec<&str> = group.iter().map(|&i| ranking.methods[i].as_str()).collect();
        text += &format!("not significantly different: {}\n", names.join(", "));
    }
    let different: Vec<String> = ranking
        .pairs
        .iter()
        .filter(|pair| pair.p_holm < ALPHA)
        .map(|pair| format!("{} and {} differ (Wilcoxon, Holm: p = {})\n", pair.a, pair.b, p_value(pair.p_holm)))
        .collect();
    if different.is_empty() {
        text += "Wilcoxon with Holm's correction: no pair differs significantly\n";
    }
    text += &different.concat();
    ranking.cautions.iter().for_each(|caution| text += &format!("caution: {caution}\n"));
    text
}
