//! `atomlearn evaluate`: how well a model does on labelled data.

use super::predict::{feature_map, in_data};
use crate::args::{DataArgs, SplitsFrom, read_splits};
use crate::console::Console;
use crate::failure::Failure;
use crate::images;
use crate::plain::{NAME_LETTERS, brief};
use atomlearn::classifier::best_class;
use atomlearn::{Error, Model, NameKind};
use atomlearn_lab::confusion::{Confusion, accuracy};
use atomlearn_lab::crossed::{SampleNumbers, SplitValues, crossed_mean};
use atomlearn_lab::data::LabData;
use atomlearn_lab::metrics;
use atomlearn_lab::tables::{percent, plain_table};
use comfy_table::CellAlignment;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Classes up to which the whole confusion matrix is printed.
const SMALL: usize = 15;

/// Accuracy, recall of every class and confusion matrix of a model on DATA
///
/// If DATA carries a split (`is_train`), only its test part is used.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  atomlearn evaluate faces.model faces.mat")]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// Data file or folder of images, with labels; `-` is CSV from stdin
    data: PathBuf,
    /// Use the test part of the first split of this file only
    #[arg(long, value_name = "FILE")]
    splits: Option<PathBuf>,
    #[command(flatten)]
    splits_from: SplitsFrom,
    /// Leave out images that cannot be read, instead of stopping
    #[arg(long)]
    skip_broken: bool,
    #[command(flatten)]
    reading: DataArgs,
}

/// Evaluates and prints.
pub fn run(args: &Args, console: &Console) -> Result<(), Failure> {
    let model = Model::load(&args.model)?;
    let (data, left_out) = match feature_map(&model, &args.data)? {
        Some(map) => {
            let (source, left_out) = images::readable_source(&map, &args.data, args.skip_broken, console)?;
            (LabData::new(&source.name, source.sha256, source.raw)?, Some(left_out))
        }
        None if args.skip_broken => return Err(Failure::usage("--skip-broken is for a folder of images")),
        None => (args.reading.read_labeled_for(&args.data, &model, console)?, None),
    };
    let (places, part) = match &args.splits {
        Some(path) => (
            read_splits(path, &data, args.splits_from, console)?.splits.swap_remove(0).test,
            "the test part of the split file",
        ),
        None => test_part(&data),
    };
    if places.is_empty() {
        return Err(Failure::bad_file(format!("{}: `is_train` leaves no test sample", data.info.path)));
    }
    let truth = places.iter().map(|&i| class_in_model(&model, &data, i)).collect::<Result<Vec<_>, _>>()?;
    let x = model.prepare(data.columns(&places).as_ref()).map_err(|e| in_data(e, &data.info.path))?;
    let by_rule = model.classifier().scores_by_rule(x.as_ref())?;
    let predictions: Vec<(&str, Vec<usize>)> =
        by_rule.iter().map(|(rule, scores)| (*rule, best_class(scores.as_ref()))).collect();
    let rule = model.classifier().rule();
    let mut confusion = Confusion::new(model.classes().len());
    predictions.iter().filter(|(name, _)| *name == rule).for_each(|(_, found)| confusion.add(&truth, found));
    let accuracies: Vec<(&str, f64)> =
        predictions.iter().map(|(rule, found)| (*rule, accuracy(&truth, found))).collect();
    let seen = args.splits.is_none() && is_training_data(&model, &data);
    let scores = by_rule.iter().find(|(name, _)| *name == rule).map(|(_, scores)| scores.as_ref());
    let auc = scores.and_then(|scores| metrics::auc(&truth, scores));
    let probabilities = model.classifier().probabilities_block(x.as_ref());
    let probability = probabilities.map(|p| metrics::of_probabilities(&truth, p.as_ref()));
    let [low, high] = interval95(&truth, predictions.iter().find(|(name, _)| *name == rule).map(|(_, found)| found));
    if console.json {
        let mut result = as_json(args, &model, &data, part, &truth, &accuracies, &confusion);
        result["on_training_data"] = json!(seen);
        result["ci95"] = json!([low, high]);
        result["auc"] = json!(auc);
        result["log_loss"] = json!(probability.as_ref().map(|measures| measures.log_loss));
        result["ece"] = json!(probability.as_ref().map(|measures| measures.ece));
        if let Some(left_out) = left_out {
            result["left_out"] = json!(left_out);
        }
        return console.print_json(&result);
    }
    let mut text = String::new();
    if seen {
        text += "These are the samples the model was trained on: new ones will do worse. `compare` tells how well.\n";
    }
    text += &format!("{} on {}, {part}: {} samples\n", model.method().key, data.info.path, truth.len());
    for (name, value) in &accuracies {
        let in_use = if accuracies.len() > 1 && *name == rule { "  (the rule in use)" } else { "" };
        text += &format!("accuracy, rule {name}: {} %{in_use}\n", percent(*value));
    }
    text += &format!("95 % interval of the accuracy: {} to {} %\n", percent(low), percent(high));
    text += &format!(
        "balanced accuracy (mean recall of the classes): {} %\n",
        percent(metrics::balanced_accuracy(&confusion))
    );
    text += &format!("macro F1: {:.4}\n", metrics::macro_f1(&confusion));
    if let Some(auc) = auc {
        text += &format!("area under the ROC curve: {auc:.4}\n");
    }
    if let Some(measures) = probability {
        text += &format!("log-loss: {:.4}, calibration error: {} %\n", measures.log_loss, percent(measures.ece));
    }
    let guessing = majority(&confusion);
    text += &format!("always guessing the most frequent class here: {} %\n", percent(guessing));
    if low <= guessing {
        text += "This model is not clearly better than guessing.\n";
    }
    text += &format!("\nBy class, rule {rule}:\n{}\n", class_table(&model, &confusion, console));
    text += &confusion_text(&model, &confusion, console);
    console.print(&text)
}

/// True if the model was trained on these very samples; of data with a split only the other part is evaluated.
fn is_training_data(model: &Model, data: &LabData) -> bool {
    data.is_train.is_none() && model.info.data().is_some_and(|trained| trained.sha256 == data.info.sha256)
}

/// Wilson's interval of the accuracy; all there is where the samples are too few to say.
fn interval95(truth: &[usize], found: Option<&Vec<usize>>) -> [f64; 2] {
    let samples: Vec<usize> = (0..truth.len()).collect();
    let right = |found: &Vec<usize>| truth.iter().zip(found).map(|(t, f)| f64::from(u8::from(t == f))).collect();
    let split = found.map(|found| SplitValues { samples: &samples, values: right(found) });
    let number = SampleNumbers::of(truth.len());
    crossed_mean(&split.into_iter().collect::<Vec<_>>()).map_or([0.0, 1.0], |mean| mean.interval95_of_share(number))
}

/// Share of the most frequent class among the samples.
fn majority(confusion: &Confusion) -> f64 {
    let counts: Vec<usize> = (0..confusion.counts.len()).map(|c| confusion.samples(c)).collect();
    let most = counts.iter().max().copied().unwrap_or(0);
    most as f64 / counts.iter().sum::<usize>().max(1) as f64
}

fn test_part(data: &LabData) -> (Vec<usize>, &'static str) {
    match &data.is_train {
        Some(flags) => ((0..flags.len()).filter(|&i| !flags[i]).collect(), "test part"),
        None => ((0..data.targets.len()).collect(), "all of it"),
    }
}

fn class_in_model(model: &Model, data: &LabData, sample: usize) -> Result<usize, Failure> {
    let label = &data.classes[data.targets[sample]];
    let place = model.classes().iter().position(|class| class == label);
    place.ok_or_else(|| {
        let error = Error::unknown(NameKind::Class, label, model.classes().iter().map(String::as_str));
        Failure::bad_file(format!("{}, sample {sample}: {error}: the model was not trained on it", data.info.path))
    })
}

fn as_json(
    args: &Args,
    model: &Model,
    data: &LabData,
    part: &str,
    truth: &[usize],
    accuracies: &[(&str, f64)],
    confusion: &Confusion,
) -> Value {
    let rule = model.classifier().rule();
    let measures = metrics::per_class(confusion);
    let classes = model.classes().iter().enumerate().map(|(c, name)| {
        json!({
            "class": name, "samples": confusion.samples(c), "correct": confusion.counts[c][c],
            "recall": confusion.recall(c), "precision": measures[c].precision, "f1": measures[c].f1,
        })
    });
    json!({
        "schema": "atomlearn.evaluate/1",
        "model": {"path": args.model.display().to_string(), "method": model.method().key, "rule": rule},
        "data": data.info,
        "part": if part == "test part" { "test" } else { "all" },
        "samples": truth.len(),
        "accuracy": accuracies.iter().find(|(name, _)| *name == rule).map(|(_, value)| value),
        "accuracy_by_rule": accuracies.iter().map(|(name, value)| (name.to_string(), json!(value)))
            .collect::<serde_json::Map<_, _>>(),
        "balanced_accuracy": metrics::balanced_accuracy(confusion),
        "macro_f1": metrics::macro_f1(confusion),
        "majority": majority(confusion),
        "classes": classes.collect::<Vec<_>>(),
        "confusion": confusion,
    })
}

fn class_table(model: &Model, confusion: &Confusion, console: &Console) -> String {
    let mut table = plain_table(console.width(), console.color);
    table.set_header(["class", "samples", "right", "recall %", "precision %", "F1"]);
    let measures = metrics::per_class(confusion);
    for (c, name) in model.classes().iter().enumerate().filter(|(c, _)| confusion.samples(*c) > 0) {
        let recall = confusion.recall(c).map_or("-".into(), percent);
        let name = brief(name, NAME_LETTERS);
        let precision = measures[c].precision.map_or("-".into(), percent);
        let f1 = measures[c].f1.map_or("-".into(), |f1| format!("{f1:.3}"));
        let right = confusion.counts[c][c].to_string();
        table.add_row([name, confusion.samples(c).to_string(), right, recall, precision, f1]);
    }
    align_right(&mut table, 1..6);
    table.to_string()
}

fn confusion_text(model: &Model, confusion: &Confusion, console: &Console) -> String {
    let classes = model.classes();
    if classes.len() > SMALL {
        let worst = confusion.worst(10);
        let mut text = String::from("\nMost frequent confusions (the whole matrix is in --json):\n");
        for (t, p, count) in &worst {
            let [truth, found] = [&classes[*t], &classes[*p]].map(|class| brief(class, NAME_LETTERS));
            text += &format!("  {truth} taken for {found}: {count}\n");
        }
        return if worst.is_empty() { String::new() } else { text };
    }
    let mut table = plain_table(console.width(), console.color);
    let names: Vec<String> = classes.iter().map(|class| brief(class, NAME_LETTERS)).collect();
    table.set_header(std::iter::once("true \\ found").chain(names.iter().map(String::as_str)));
    for (name, row) in names.iter().zip(&confusion.counts) {
        let number = |&n: &usize| if n == 0 { "·".to_string() } else { n.to_string() };
        table.add_row(std::iter::once(name.clone()).chain(row.iter().map(number)));
    }
    align_right(&mut table, 1..classes.len() + 1);
    format!("\nConfusion matrix:\n{table}\n")
}

/// Numbers belong to the right.
pub fn align_right(table: &mut comfy_table::Table, columns: std::ops::Range<usize>) {
    for c in columns {
        if let Some(column) = table.column_mut(c) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}
