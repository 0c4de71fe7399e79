//! `atomlearn auto`: from a data file to a model, and what there is to know about both, in one command.

use super::compare::origin;
use super::evaluate::align_right;
use crate::console::Console;
use crate::data::table_json;
use crate::failure::Failure;
use crate::output::{Kind, OutputArgs, write_output};
use crate::plain::{NAME_LETTERS, brief, shell_word, spreadsheet_safe};
use crate::settings;
use crate::training::{self, SourceArgs, Task, Trained};
use atomlearn::methods::auto::ChosenReading;
use atomlearn::{Model, registry};
use atomlearn_lab::data::Naming;
use atomlearn_lab::findings::{Findings, MAPS_TRIED, NamedSuspicious, reading_text};
use atomlearn_lab::report;
use atomlearn_lab::tables::{counted, plain_table, seconds};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Suspicious labels in JSON.
const MOST_SUSPICIOUS: usize = 50;
/// Suspicious labels that are printed.
const SHOWN: usize = 10;

const EXAMPLES: &str = "\
Examples:
  atomlearn auto wine.csv                                     how well can the classes be told, and which labels look wrong?
  atomlearn auto wine.csv -o wine.model --report wine.html    also keep the model, and a page
  atomlearn predict wine.model new.csv --proba                then: labels of new samples, with probabilities
  atomlearn auto messy.xlsx --y diagnosis --drop comment,date --impute median -o messy.model
  atomlearn auto visits.csv --groups patient --suspicious check.csv    several rows of one person are left out together
  atomlearn auto pixels.npz --views deep.npz                  two views of the same samples
  atomlearn auto photos/ -o photos.model                      a folder of images, one sub-folder per class; features are chosen
  atomlearn auto photos/ --onnx network.onnx -o photos.model  the same, with a network among the features to choose from
  atomlearn auto photos/ --features sift-pyramid --augment flip -o photos.model";

/// Train on DATA without choosing anything, and say how good the model is and which labels look wrong
///
/// Every training sample is classified by a model that was trained without it, in closed form; the accuracy, the confusions and the
/// suspicious labels come from that. If DATA carries a split (`is_train`), only its training part is used.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Data file (.mat .npz .npy .csv .tsv .txt .xlsx .parquet .libsvm) or folder of images; `-` is CSV from stdin
    data: PathBuf,
    /// Model file to write
    #[arg(long, short, value_name = "MODEL")]
    output: Option<PathBuf>,
    /// Write what was found as an HTML page
    #[arg(long, value_name = "PAGE")]
    report: Option<PathBuf>,
    /// Write all training samples as CSV, those first whose label is least likely
    #[arg(long, value_name = "FILE")]
    suspicious: Option<PathBuf>,
    /// Put an apostrophe before text in --suspicious that a spreadsheet would run as a formula (= + - @ first)
    #[arg(long, requires = "suspicious")]
    excel_safe: bool,
    /// Preprocessing, a comma list applied in order; `auto` scales samples itself if none is given
    #[arg(long, value_name = "SPEC")]
    prep: Option<String>,
    /// Set a parameter; `atomlearn methods auto` lists them
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    writing: OutputArgs,
}

/// Trains, tells, writes.
pub fn run(args: &Args, console: &Console) -> Result<(), Failure> {
    let method = registry::method("auto")?;
    let prep = args.source.views_prep(&args.data, args.prep.as_deref(), method.default_prep)?;
    let (prep, params) = settings::settle(method, prep.as_deref(), &args.set, None)?;
    check_outputs(args)?;
    let task = Task { method, params, prep, checkpoint: None, resume: false };
    let trained = training::train(&args.source, &args.data, task, console)?;
    let found = Findings::new(&trained.model, &trained.data, &trained.places);
    let mut found = found.ok_or_else(|| Failure::failed("the model has no report"))?;
    found.words.extend(features_words(&trained.model).map(|words| ("features", words)));
    if console.json {
        trained.trace.warnings.iter().for_each(|warning| console.warn(warning));
    }
    if let Some(path) = &args.output {
        trained.model.save(path)?;
    }
    if let Some(path) = &args.suspicious {
        write_output(Some(path), &suspicious_csv(&found, args.excel_safe)?, console)?;
    }
    if let Some(path) = &args.report {
        let command = origin(None, console).command;
        write_output(Some(path), report::auto_page(&found, command.as_deref())?.as_bytes(), console)?;
    }
    let next = next_command(args, &trained, console);
    if console.json {
        return console.print_json(&as_json(args, &trained, &found, &next));
    }
    console.print(&text(args, &trained, &found, console))?;
    console.print(&format!("\nNext: {next}"))
}

fn check_outputs(args: &Args) -> Result<(), Failure> {
    let outputs = [
        (args.output.as_ref(), Kind::Model),
        (args.suspicious.as_ref(), Kind::Suspicious),
        (args.report.as_ref(), Kind::Report),
    ];
    if outputs.iter().any(|(path, _)| path.is_some_and(|path| path == Path::new("-"))) {
        return Err(Failure::usage("stdout has what was found; give -o, --report and --suspicious names of files"));
    }
    let mut inputs = vec![Some(&args.data)];
    inputs.extend(args.source.inputs());
    args.writing.check(&inputs, &outputs)
}

/// The whole list of labels, the least likely first.
fn suspicious_csv(found: &Findings, excel_safe: bool) -> Result<Vec<u8>, Failure> {
    let text = |cell: &str| if excel_safe { spreadsheet_safe(cell).into_owned() } else { cell.to_string() };
    let mut rows = vec![[found.naming.column(), "label", "proba", "suggested"].map(String::from)];
    rows.extend(found.suspicious.iter().map(|NamedSuspicious { name, entry, .. }| {
        [text(name), text(&entry.label), entry.proba.to_string(), text(&entry.suggested)]
    }));
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = rows.iter().try_for_each(|row| writer.write_record(row));
    written.map_err(|e| Failure::failed(format!("CSV: {e}")))?;
    writer.into_inner().map_err(|e| Failure::failed(format!("CSV: {e}")))
}

/// What to type now.
fn next_command(args: &Args, trained: &Trained, console: &Console) -> String {
    let Some(model) = &args.output else {
        let typed: Vec<String> = console.typed.iter().map(|word| shell_word(word)).collect();
        let stem = args.data.file_stem().filter(|_| args.data != Path::new("-"));
        let stem = stem.map_or("auto".into(), |stem| stem.to_string_lossy().into_owned());
        return format!("atomlearn {} -o {}", typed.join(" "), shell_word(&format!("{stem}.model")));
    };
    let model = shell_word(&model.to_string_lossy());
    if trained.data.is_train.is_some() {
        return format!("atomlearn evaluate {model} {}", shell_word(&args.data.to_string_lossy()));
    }
    let new = match args.data.extension().map(|ending| ending.to_string_lossy()) {
        _ if trained.model.features.is_some() => "photo.jpg".to_string(),
        _ if args.data.is_dir() => "new/".into(),
        Some(ending) => format!("new.{ending}"),
        _ => "new.csv".into(),
    };
    format!("atomlearn predict {model} {} --proba", shell_word(&new))
}

fn as_json(args: &Args, trained: &Trained, found: &Findings, next: &str) -> Value {
    let (model, report) = (&trained.model, &found.report);
    let suspicious = found.contradicted().take(MOST_SUSPICIOUS).map(|NamedSuspicious { name, entry, twin }| {
        let mut value = json!(entry);
        if let Some(twin) = twin {
            value["twin"] = json!(twin);
        }
        if found.naming != Naming::Sample {
            value[found.naming.column()] = json!(name);
        }
        value
    });
    json!({
        "schema": report.schema, "model": args.output.as_ref().map(|path| path.display().to_string()),
        "params": model.params(), "prep": model.prep().spec().to_string(), "data": found.data, "part": trained.part,
        "samples": found.trained_on, "groups": model.info.groups(), "weights": model.info.weights(), "seconds": trained.seconds,
        "loo": report.loo, "chosen": report.chosen, "suspicious": suspicious.collect::<Vec<_>>(),
        "maps": model.info.values().get(MAPS_TRIED), "duplicates": found.twins,
        "left_out": trained.model.features.as_ref().map(|_| model.info.left_out()), "warnings": trained.trace.warnings, "table": trained.data.schema.as_ref().map(table_json), "next": next,
    })
}

fn text(args: &Args, trained: &Trained, found: &Findings, console: &Console) -> String {
    let part = if found.trained_on == found.data.samples { "" } else { " (the is_train part)" };
    let mut text = format!(
        "{}: {} samples{part}, {}, {} classes; trained in {} s\n\n",
        found.data.path,
        found.trained_on,
        counted(found.data.features, "feature"),
        found.data.classes,
        seconds(trained.seconds)
    );
    let mut facts = found.words.clone();
    facts.extend(trained.trace.warnings.iter().map(|warning| ("warning", warning.clone())));
    facts.push(("suspicious", suspicious_words(args, found)));
    text += &console.facts(&facts);
    if found.contradicted().next().is_some() {
        text += &format!("\n{}\n", suspicious_table(found, console));
    }
    text += &format!("\nChosen, each with its weight in the decision:\n{}", chosen_list(found));
    let written =
        [("model", &args.output), ("page", &args.report), ("all labels, the least likely first", &args.suspicious)];
    let written: Vec<String> =
        written.iter().filter_map(|(what, path)| Some(format!("{what}: {}", path.as_ref()?.display()))).collect();
    if !written.is_empty() {
        text += &format!("\nWritten: {}\n", written.join("; "));
    }
    text
}

/// What made numbers of photos.
fn features_words(model: &Model) -> Option<String> {
    let title = model.features.as_ref()?.header.get("title").and_then(Value::as_str).unwrap_or_default();
    let chosen = model.info.values().contains_key(MAPS_TRIED);
    Some(format!("{title}{}", if chosen { ", the best by leave-one-out of those tried" } else { "" }))
}

fn suspicious_words(args: &Args, found: &Findings) -> String {
    let count = found.contradicted().count();
    let judged = found.suspicious.len();
    let all = if args.suspicious.is_some() { "" } else { "; --suspicious FILE writes all" };
    match count {
        0 if judged == 0 => "no label could be checked".into(),
        0 => format!("none of the {judged} labels is contradicted by the other samples"),
        1 => format!("1 of {judged} labels is contradicted by the other samples"),
        _ if count > SHOWN => {
            format!(
                "{count} of {judged} labels are contradicted by the other samples; here the {SHOWN} least likely{all}"
            )
        }
        _ => format!("{count} of {judged} labels are contradicted by the other samples, the least likely first"),
    }
}

fn suspicious_table(found: &Findings, console: &Console) -> String {
    let mut table = plain_table(console.width(), console.color);
    let named = if found.naming == Naming::Sample { "sample (from 0)" } else { found.naming.column() };
    table.set_header([named, "label", "its probability", "suggested"]);
    for one in found.contradicted().take(SHOWN) {
        let NamedSuspicious { name, entry, .. } = one;
        let [name, label, suggested] = [name, &entry.label, &one.suggestion()].map(|text| brief(text, NAME_LETTERS));
        table.add_row([name, label, format!("{:.4}", entry.proba), suggested]);
    }
    align_right(&mut table, 2..3);
    table.to_string()
}

fn chosen_list(found: &Findings) -> String {
    let line = |chosen: &ChosenReading| format!("  {:>6.3}  {}\n", chosen.weight, reading_text(chosen));
    found.report.chosen.iter().map(line).collect()
}
