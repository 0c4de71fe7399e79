//! `atomlearn inspect`: what a data file or a model file holds.

use super::evaluate::align_right;
use super::methods::value_text;
use crate::args::DataArgs;
use crate::console::Console;
use crate::data::{Source, table_json, tell};
use crate::failure::Failure;
use crate::photo_choice;
use crate::photo_look;
use crate::plain::{NAME_LETTERS, brief, with_flags};
use atomlearn::info::Info;
use atomlearn::io::{Note, RawData, TableSchema, Variable};
use atomlearn::methods::auto::{AutoModel, AutoReport, Suspicious};
use atomlearn::{Error, Model, dataset::sorted_classes};
use atomlearn_lab::findings;
use atomlearn_lab::text_table::plain_table;
use serde_json::{Value, json};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Show what a data file or a model file holds
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  atomlearn inspect faces.mat\n  atomlearn inspect faces.model --json")]
pub struct Args {
    /// Data file, folder of images, or model file
    file: PathBuf,
    #[command(flatten)]
    reading: DataArgs,
}

/// Prints what the file holds.
pub fn run(args: &Args, console: &Console) -> Result<(), Failure> {
    if is_model(&args.file)? {
        return show_model(&args.file, console);
    }
    if args.file.is_dir() {
        return photo_look::show(&args.file, console);
    }
    let (variables, source) = args.reading.look(&args.file)?;
    if console.json {
        return console.print_json(&data_json(&variables, &source?));
    }
    console.print(&variable_table(&variables, console))?;
    // The list of variables is what helps with a file that cannot be read as it is, so it is shown first.
    let source = source?;
    console.print(&data_text(&source, console))?;
    let warnings: Vec<Note> = source.raw.notes.iter().filter(|note| note.warning).cloned().collect();
    tell(&warnings, console);
    Ok(())
}

/// A model file is a safetensors container: eight bytes of length, then JSON.
fn is_model(path: &Path) -> Result<bool, Failure> {
    const DATA: [&str; 18] = [
        "mat", "npz", "npy", "csv", "tsv", "txt", "data", "dat", "gz", "xlsx", "xlsm", "parquet", "pq", "libsvm",
        "svm", "svmlight", "h5", "hdf5",
    ];
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    if path.is_dir() || DATA.contains(&extension.as_str()) {
        return Ok(false);
    }
    let mut start = [0; 9];
    let mut file = std::fs::File::open(path).map_err(Error::io(path))?;
    Ok(extension == "safetensors" || extension == "model" || (file.read_exact(&mut start).is_ok() && start[8] == b'{'))
}

fn variable_table(variables: &[Variable], console: &Console) -> String {
    const MOST: usize = 20;
    let mut table = plain_table(console.width(), console.color);
    table.set_header(["variable", "size", "type"]);
    for variable in variables.iter().take(MOST) {
        let size: Vec<String> = variable.shape.iter().map(usize::to_string).collect();
        let shown = [&variable.name, &size.join(" x "), &variable.kind].map(|text| brief(text, NAME_LETTERS));
        table.add_row(shown);
    }
    if variables.len() > MOST {
        table.add_row([format!("... and {} more", variables.len() - MOST), String::new(), String::new()]);
    }
    align_right(&mut table, 1..2);
    table.to_string()
}

fn class_counts(raw: &RawData) -> Option<Vec<(String, usize)>> {
    let labels = raw.labels.as_ref()?;
    let mut counts = std::collections::HashMap::new();
    labels.iter().for_each(|label| *counts.entry(label.as_str()).or_insert(0) += 1);
    Some(sorted_classes(labels).into_iter().map(|class| (class.clone(), counts[class.as_str()])).collect())
}

/// Smallest and largest value, and how many are not finite.
fn values(raw: &RawData) -> (f64, f64, usize) {
    let all = || raw.x.col_iter().flat_map(|column| column.iter());
    let (low, high) = all().filter(|v| v.is_finite()).fold((f64::MAX, f64::MIN), |(l, h), &v| (l.min(v), h.max(v)));
    (low, high, all().filter(|v| !v.is_finite()).count())
}

fn data_text(source: &Source, console: &Console) -> String {
    let raw = &source.raw;
    let (low, high, not_finite) = values(raw);
    let mut facts = vec![
        ("samples", raw.x.ncols().to_string()),
        ("features", raw.x.nrows().to_string()),
        ("values", format!("{low} to {high}")),
    ];
    if let Some(shape) = raw.image_shape {
        facts.push(("images", format!("{} x {} pixels (rows x columns)", shape.rows, shape.cols)));
    }
    if let Some(flags) = &raw.is_train {
        let train = flags.iter().filter(|flag| **flag).count();
        facts.push(("split", format!("{train} training and {} test samples (is_train)", flags.len() - train)));
    }
    let none = || "none found; name them with --y NAME or --labels FILE".to_string();
    facts.push(("classes", class_counts(raw).map_or_else(none, |counts| class_text(&counts))));
    if let Some(schema) = &raw.schema {
        facts.push(("header", if schema.header { "yes" } else { "no: columns go by their numbers" }.to_string()));
        // The warnings come after the facts.
        facts.extend(raw.notes.iter().filter(|note| !note.warning).map(|note| ("note", with_flags(&note.text))));
    }
    facts.push(("sha256", source.sha256.clone()));
    if not_finite > 0 && raw.schema.is_none() {
        console.warn(&format!("{not_finite} values are not finite; training will refuse them"));
    }
    console.facts(&facts)
}

fn class_text(counts: &[(String, usize)]) -> String {
    const MOST: usize = 12;
    let least = counts.iter().map(|(_, n)| *n).min().unwrap_or(0);
    let most = counts.iter().map(|(_, n)| *n).max().unwrap_or(0);
    let mut list: Vec<String> =
        counts.iter().take(MOST).map(|(class, n)| format!("{} ({n})", brief(class, NAME_LETTERS))).collect();
    if counts.len() > MOST {
        list.push(format!("... and {} more", counts.len() - MOST));
    }
    format!("{}, of {least} to {most} samples: {}", counts.len(), list.join(", "))
}

fn data_json(variables: &[Variable], source: &Source) -> Value {
    let raw = &source.raw;
    let (low, high, not_finite) = values(raw);
    let counts = class_counts(raw)
        .map(|counts| counts.into_iter().map(|(class, n)| json!({"class": class, "samples": n})).collect::<Vec<_>>());
    json!({
        "schema": "atomlearn.inspect/1", "kind": "data", "path": source.name, "sha256": source.sha256,
        "variables": variables, "samples": raw.x.ncols(), "features": raw.x.nrows(),
        "min": low, "max": high, "not_finite": not_finite, "classes": counts,
        "train_samples": raw.is_train.as_ref().map(|flags| flags.iter().filter(|flag| **flag).count()),
        "image_shape": raw.image_shape.map(|shape| [shape.rows, shape.cols]),
        "table": raw.schema.as_ref().map(table_json),
        "notes": raw.notes.iter().map(|note| with_flags(&note.text)).collect::<Vec<_>>(),
    })
}

fn show_model(path: &Path, console: &Console) -> Result<(), Failure> {
    let model = Model::load(path)?;
    let parts = model.classifier().parts();
    let parts: Vec<(&str, [usize; 2])> =
        parts.iter().map(|(name, part)| (name, [part.nrows(), part.ncols()])).collect();
    let report = AutoModel::of(model.classifier()).map(AutoModel::report);
    if console.json {
        return console.print_json(&json!({
            "schema": "atomlearn.inspect/1", "kind": "model", "path": path.display().to_string(),
            "method": model.method().key, "title": model.method().title, "params": model.params(),
            "prep": model.prep().spec().to_string(), "n_features": model.prep().n_features(),
            "classes": model.classes(), "rules": model.classifier().rules(), "rule": model.classifier().rule(),
            "parts": parts.iter().map(|(name, size)| json!({"name": name, "shape": size})).collect::<Vec<_>>(),
            "info": model.info,
            "estimate": report.map(|report| &report.loo), "chosen": report.map(|report| &report.chosen),
            "suspicious": report.map(|report| suspicious_json(&model, report)),
            "features": model.features.as_ref().map(|content| &content.header),
            "table": model.schema.as_ref().map(table_json), "feature_names": model.schema.as_ref().map(|s| s.feature_names()),
        }));
    }
    let classes = model.classes();
    let shown: Vec<String> = classes.iter().take(12).map(|class| brief(class, NAME_LETTERS)).collect();
    let more = if classes.len() > 12 { ", ..." } else { "" };
    let params: Vec<String> =
        model.params().iter().map(|(name, value)| format!("{name}={}", value_text(value))).collect();
    let parts: Vec<String> = parts.iter().map(|(name, [rows, cols])| format!("{name} {rows} x {cols}")).collect();
    let rules = format!("{} (in use: {})", model.classifier().rules().join(", "), model.classifier().rule());
    let mut facts = vec![
        ("model", format!("{}: {}", model.method().key, model.method().title)),
        ("features", model.prep().n_features().to_string()),
        ("prep", model.prep().spec().to_string()),
        ("classes", format!("{}: {}{more}", classes.len(), shown.join(", "))),
        ("rules", rules),
        ("params", params.join(" ")),
        ("parts", parts.join(", ")),
    ];
    facts.extend(findings::of_model(&model).unwrap_or_default());
    facts.extend(findings::left_out(&model));
    facts.extend(photo_choice::tried_in_words(&model).into_iter().map(|tried| ("features tried", tried)));
    for chosen in report.iter().flat_map(|report| &report.chosen) {
        facts.push(("chosen", format!("{}, weight {:.3}", findings::reading_text(chosen), chosen.weight)));
    }
    if let Some(schema) = &model.schema {
        facts.push(("columns", columns_text(schema)));
    }
    if let Some(content) = &model.features {
        facts.push(("images", format!("are taken through {}", map_text(&content.header))));
    }
    // These are told above, or are long.
    let shown = [Info::FILES, Info::LEFT_OUT, findings::MAPS_TRIED, findings::MAP_GIVEN];
    let notes = model.info.values().iter().filter(|(name, _)| !shown.contains(&name.as_str()));
    facts.extend(notes.map(|(name, value)| (name.as_str(), info_text(value))));
    console.print(&console.facts(&facts))
}

/// The suspicious labels of a model of `auto`; photos with their files.
fn suspicious_json(model: &Model, report: &AutoReport) -> Vec<Value> {
    let files = model.info.files();
    let entry = |entry: &Suspicious| {
        let mut value = json!(entry);
        if let Some(file) = files.get(entry.sample) {
            value["file"] = json!(file);
        }
        value
    };
    report.suspicious.iter().map(entry).collect()
}

/// The columns a model takes, in words.
fn columns_text(schema: &TableSchema) -> String {
    const MOST: usize = 12;
    let names = schema.column_names();
    if !schema.header {
        return format!("{}, by their order (the table had no header)", names.len());
    }
    let more = if names.len() > MOST { ", ..." } else { "" };
    let label = schema.label.as_ref().map_or(String::new(), |label| format!("; labels were in {}", label.name));
    format!("{}: {}{more}{label}", names.len(), names[..names.len().min(MOST)].join(", "))
}

/// The feature map of a model in words.
fn map_text(header: &atomlearn::registry::Values) -> String {
    let title = header.get("title").and_then(Value::as_str).map_or(String::new(), |title| format!("{title}: "));
    let spec = header.get("spec").and_then(Value::as_object);
    let fields = spec.into_iter().flatten().map(|(name, value)| match value {
        Value::String(text) if name == "kind" => text.clone(),
        Value::Object(_) => info_text(value),
        other => format!("{name}={}", value_text(other)),
    });
    title + &fields.collect::<Vec<_>>().join(" ")
}

/// A note of a model in words.
fn info_text(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name} {}", value_text(value)));
            fields.collect::<Vec<_>>().join(", ")
        }
        Value::Array(items) => items.iter().map(value_text).collect::<Vec<_>>().join("; "),
        other => value_text(other),
    }
}
