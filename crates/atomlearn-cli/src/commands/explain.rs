//! `atomlearn explain`: why samples get their labels.

use super::evaluate::align_right;
use super::predict::{feature_map, in_data};
use crate::args::DataArgs;
use crate::console::Console;
use crate::data::Source;
use crate::failure::Failure;
use crate::images;
use crate::plain::{NAME_LETTERS, brief};
use atomlearn::Model;
use atomlearn::linalg::select_columns;
use atomlearn_lab::data::Naming;
use atomlearn_lab::explain::{Explanation, explain};
use atomlearn_lab::findings::reading_text;
use atomlearn_lab::text_table::plain_table;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Samples that are explained where none is named.
const FIRST: usize = 3;
/// Training samples or atoms that are named for each.
const SHOWN: usize = 5;
/// Classes that are shown of each sample, the most likely first; JSON has all.
const CLASSES: usize = 5;

const EXAMPLES: &str = "\
Examples:
  atomlearn explain wine.model new.csv                    the first samples
  atomlearn explain wine.model new.csv --sample 17        that one, counted from 0 as `predict` does
  atomlearn explain scenes.model photo.jpg --json";

/// Say why samples of DATA get their labels
///
/// For `auto`: probabilities, what each of its readings says, and the nearest training samples. For other
/// methods: the scores of every decision rule, and the atoms that take part where there are such.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// Data file, image or folder of images; labels are not needed; `-` is CSV from stdin
    data: PathBuf,
    /// Sample to explain, counted from 0; may be given several times [default: the first 3]
    #[arg(long, value_name = "I")]
    sample: Vec<usize>,
    #[command(flatten)]
    reading: DataArgs,
}

/// Explains and prints.
pub fn run(args: &Args, console: &Console) -> Result<(), Failure> {
    let model = Model::load(&args.model)?;
    let source = match feature_map(&model, &args.data)? {
        Some(map) => images::source(&map, &args.data, false, console)?.0,
        None => args.reading.read_for(&args.data, &model, false, console)?,
    };
    let count = source.raw.x.ncols();
    if let Some(beyond) = args.sample.iter().find(|&&sample| sample >= count) {
        return Err(Failure::usage(format!(
            "--sample {beyond}: {} has {count} samples, counted from 0; name one up to {}",
            source.name,
            count.saturating_sub(1)
        )));
    }
    let places = if args.sample.is_empty() { (0..count.min(FIRST)).collect() } else { args.sample.clone() };
    let x = select_columns(source.raw.x.as_ref(), &places);
    let found = explain(&model, x.as_ref(), SHOWN).map_err(|e| in_data(e, &source.name))?;
    if console.json {
        return console.print_json(&as_json(args, &model, &source, &places, &found));
    }
    let mut text = String::new();
    for (&place, why) in places.iter().zip(&found) {
        text += &of_sample(&model, &title(&source, place), why, console);
        text.push('\n');
    }
    if args.sample.is_empty() && count > FIRST {
        text += &format!("{} more samples; --sample I explains another\n", count - FIRST);
    }
    console.print(&text)
}

fn as_json(args: &Args, model: &Model, source: &Source, places: &[usize], found: &[Explanation]) -> Value {
    let files = model.info.files();
    let samples = places.iter().zip(found).map(|(&place, why)| {
        let mut value = json!(why);
        for (near, said) in why.nearest.iter().zip(value["nearest"].as_array_mut().into_iter().flatten()) {
            if let Some(file) = files.get(near.sample) {
                said["file"] = json!(file);
            }
        }
        value["sample"] = json!(place);
        let naming = source.naming();
        if naming != Naming::Sample {
            value[naming.column()] = json!(source.sample_name(place));
        }
        value
    });
    json!({
        "schema": "atomlearn.explain/1",
        "model": {
            "path": args.model.display().to_string(), "method": model.method().key, "rule": model.classifier().rule(),
        },
        "data": {"path": source.name, "sha256": source.sha256}, "classes": model.classes(),
        "samples": samples.collect::<Vec<_>>(),
    })
}

fn title(source: &Source, place: usize) -> String {
    match source.naming() {
        Naming::Sample => format!("sample {place}"),
        naming => format!("sample {place}, {} {}", naming.column(), brief(&source.sample_name(place), NAME_LETTERS)),
    }
}

fn of_sample(model: &Model, title: &str, why: &Explanation, console: &Console) -> String {
    let [label, runner_up] = [&why.label, &why.runner_up].map(|class| brief(class, NAME_LETTERS));
    let place = |label: &str| model.classes().iter().position(|class| class == label);
    let probability = |label: &str| Some(format!(" ({:.4})", why.proba.as_ref()?.get(place(label)?)?));
    let [first, second] = [&why.label, &why.runner_up].map(|label| probability(label).unwrap_or_default());
    let mut text = format!("{title}: {label}{first}, before {runner_up}{second}\n");
    text += &score_table(model, why, console);
    text.push('\n');
    if !why.nearest.is_empty() {
        let files = model.info.files();
        let what = if files.is_empty() { "samples (counted from 0)" } else { "photos" };
        text += &format!("Nearest training {what}:\n");
        for near in &why.nearest {
            let label = brief(&near.label, NAME_LETTERS);
            let name = files.get(near.sample).map(|file| brief(file, NAME_LETTERS));
            let name = name.unwrap_or_else(|| format!("sample {}", near.sample));
            text += &format!("  {name} of class {label}, distance {:.3}\n", near.distance);
        }
    }
    if !why.atoms.is_empty() {
        text += "Atoms that take part most:\n";
        for atom in &why.atoms {
            let class =
                atom.class.as_ref().map_or(String::new(), |class| format!(" of class {}", brief(class, NAME_LETTERS)));
            text += &format!("  {:>5.1} %  atom {}{class}\n", 100.0 * atom.of.share, atom.of.atom);
        }
    }
    text
}

/// What is said of the most likely classes: a column for each, a row for each part of the decision.
fn score_table(model: &Model, why: &Explanation, console: &Console) -> String {
    let rule = model.classifier().rule();
    let scores = why.scores.get(rule).or(why.scores.values().next());
    let mut order: Vec<usize> = (0..model.classes().len()).collect();
    if let Some(scores) = scores {
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    }
    order.truncate(CLASSES);
    let mut table = plain_table(console.width(), console.color);
    let names = order.iter().map(|&c| brief(&model.classes()[c], NAME_LETTERS));
    table.set_header(std::iter::once(String::new()).chain(names));
    let mut row = |name: String, values: &[f64], digits: usize| {
        table.add_row(std::iter::once(name).chain(order.iter().map(|&c| format!("{:.digits$}", values[c]))));
    };
    if let Some(proba) = &why.proba {
        row("probability".into(), proba, 4);
    }
    for says in &why.readings {
        row(reading_text(&says.reading), &says.adds, 3);
    }
    if why.readings.is_empty() {
        for (name, scores) in &why.scores {
            let in_use = if why.scores.len() > 1 && *name == rule { " (in use)" } else { "" };
            row(format!("score, rule {name}{in_use}"), scores, 4);
        }
    }
    align_right(&mut table, 1..order.len() + 1);
    table.to_string()
}
