//! `atomlearn train`: fit one method and write the model file.

use crate::args::DataArgs;
use crate::checkpoint::{self, Begin};
use crate::console::Console;
use crate::data::table_json;
use crate::failure::Failure;
use crate::images::{self, FeatureArgs};
use crate::out_of_core::{Job, ScaleArgs};
use crate::output::{Kind, OutputArgs};
use crate::progress::TrainWatch;
use crate::settings;
use atomlearn::archive::Content;
use atomlearn::checkpoint::{Training, digest as dataset_digest};
use atomlearn::observe::Trace;
use atomlearn::registry::{self, Method, Values};
use atomlearn::{Dataset, Error, Model};
use atomlearn_features::FeatureMap;
use atomlearn_lab::data::{LabData, digest};
use atomlearn_lab::tables::seconds;
use atomlearn_lab::{params_file, provenance, scaling};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  atomlearn train wine.csv -o wine.model
  atomlearn train faces.mat --method lcdl-sv -o faces.model
  atomlearn train faces.mat --method crc --set kappa=0.01 --prep pca:300,unit -o faces.model
  atomlearn train faces.mat --params best.toml -o faces.model
  atomlearn train table.csv --y species --method linear-svm --prep standard -o species.model
  atomlearn train messy.xlsx --drop comment,date --impute median --method crc --prep standard,unit -o messy.model
  atomlearn train scenes/ --features sift-pyramid --method lcdl-sv -o scenes.model     then: predict scenes.model photo.jpg
  atomlearn train faces.mat --method lcdl-sv --checkpoint state --resume -o faces.model     goes on after Ctrl-C or a crash
  atomlearn train shards/ --method lcdl-sv --out-of-core --max-memory 2GiB --checkpoint state --resume -o big.model

Preprocessing steps: center, standard, pca:300, pca:98%, pca-uncentered:300, random:540, unit, none.";

/// Train a method on all of DATA, or on its `is_train` part, and write a model file
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Data file (.mat .npz .npy .csv .tsv .txt .xlsx .parquet .libsvm) or folder of images; `-` is CSV from stdin
    data: PathBuf,
    /// Method; `atomlearn methods` lists them. Without it `auto`, which needs no parameters
    #[arg(long, short, value_name = "KEY")]
    method: Option<String>,
    /// Set a parameter; `atomlearn methods KEY` lists them
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Take method, parameters and preprocessing from a TOML file, as `tune -o` writes it; other flags go first
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
    /// Preprocessing, a comma list applied in order [default: unit]
    #[arg(long, value_name = "SPEC")]
    prep: Option<String>,
    /// Model file to write
    #[arg(long, short, value_name = "MODEL")]
    output: PathBuf,
    /// Keep the state of training in this file, to go on from it with --resume, also with a larger max_iter
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// DATA is a folder of images: make these features of them and keep the way in the model (pixels, random-face,
    /// sift-pyramid or onnx)
    #[arg(long, value_name = "KIND")]
    features: Option<String>,
    /// DATA is a folder of images: take them through this map, which `features --save-map` wrote, and keep it in the model
    #[arg(long, value_name = "FILE", conflicts_with = "features")]
    map: Option<PathBuf>,
    #[command(flatten)]
    scale: ScaleArgs,
    #[command(flatten)]
    reading: DataArgs,
    #[command(flatten)]
    making: FeatureArgs,
    #[command(flatten)]
    writing: OutputArgs,
}

/// Trains and saves.
pub fn run(args: &Args, console: &Console) -> Result<(), Failure> {
    let file = args.params.as_deref().map(params_file::read).transpose()?;
    let unnamed = file.is_none().then_some("auto");
    let method = settings::method(args.method.as_deref().or(unnamed), file.as_ref())?;
    let (prep, params) = settings::settle(method, args.prep.as_deref(), &args.set, file)?;
    if args.output == Path::new("-") {
        return Err(Failure::usage("a model cannot be written to stdout; give -o the name of a file"));
    }
    check_outputs(args)?;
    if args.scale.out_of_core {
        let job = Job {
            data: &args.data,
            options: args.reading.options(),
            method: method.key,
            params,
            prep,
            output: &args.output,
            checkpoint: args.checkpoint.as_ref(),
        };
        return args.scale.run(job, console);
    }
    let held = match &args.checkpoint {
        Some(path) => checkpoint::read(path, args.scale.resume)?,
        None => None,
    };
    let (data, features) = read(args, console)?;
    let (places, part) = training_part(&data);
    let train = data.dataset(&places)?;
    // A method whose own preprocessing is none makes its own scales.
    let scales_itself = method.default_prep == "none" && prep.to_string() == "none";
    let scale = if scales_itself { None } else { scaling::warning(&data, &places, &prep) };
    let start = Instant::now();

    // The checkpoint belongs to prepared samples, so the two steps of `Model::train` are taken one by one.
    let mut early = Trace::default();
    let (fitted, x) = prep.fit(train.x(), &mut early)?;
    let train = train.with_features(x)?;
    let begin = match &args.checkpoint {
        None => Begin::default(),
        Some(path) => {
            let (method, prep, data) = (method.key.to_string(), prep.to_string(), dataset_digest(&train));
            let chosen = Values::new();
            Begin::new(path, Training { method, params: params.clone(), prep, data, chosen }, held)?
        }
    };
    let mut watch = TrainWatch::new(console, method.key, begin.trace, begin.kept);
    let settled = choose(method, &params, &begin.chosen, &train, &mut watch);
    let trained = settled.and_then(|settled| {
        let classifier = match begin.state {
            None => method.fit(&settled, &train, &mut watch),
            Some(state) => method.resume(&settled, &train, state, &mut watch),
        };
        Ok((classifier?, settled))
    });
    watch.finish();
    let (mut trace, stopped, failed) = (std::mem::take(&mut watch.trace), watch.stopped, watch.error.take());
    let nothing_kept = watch.checkpoint.as_ref().is_some_and(|kept| !kept.written);
    drop(watch);
    trace.warnings.splice(0..0, scale.into_iter().chain(early.warnings));
    trace.warnings.iter().for_each(|warning| console.warn(warning));
    trace.notes.iter().for_each(|note| console.note(note));
    if let Some(error) = failed {
        return Err(error.into());
    }
    let (classifier, settled) = trained?;
    if stopped {
        return Err(Error::Interrupted.into());
    }
    let took = start.elapsed().as_secs_f64();
    let chosen = registry::chosen(&params, &settled);
    let mut model = Model::new(method, settled.clone(), fitted.clone(), classifier)?;
    model.info = info(&data, &places);
    model.tell_chosen(&chosen);
    model.features = features.clone();
    model.schema = data.schema.clone();
    if let Some(last) = trace.steps.last() {
        model.info.insert("n_iter".into(), json!(last.iter));
        model.info.insert("objective".into(), json!(last.objective));
    }
    if !trace.warnings.is_empty() {
        model.info.insert("warnings".into(), json!(trace.warnings));
    }
    model.save(&args.output)?;
    if nothing_kept {
        console.note("no checkpoint was written: there were no iterations");
    }
    if console.json {
        return console.print_json(&json!({
            "schema": "atomlearn.train/1", "model": args.output.display().to_string(), "method": method.key,
            "params": settled, "chosen": chosen, "prep": prep.to_string(), "data": data.info, "part": part, "samples": places.len(),
            "seconds": took, "n_iter": trace.steps.last().map(|step| step.iter), "trace": trace.steps,
            "warnings": trace.warnings, "notes": trace.notes, "table": data.schema.as_ref().map(table_json),
        }));
    }
    console.print(&format!(
        "{}: trained on {} samples ({part}), {} features, {} classes in {} s; written to {}",
        method.key,
        places.len(),
        data.info.features,
        data.info.classes,
        seconds(took),
        args.output.display()
    ))
}

/// All values, with those that are left open chosen from the data, unless that was done before a break.
fn choose(
    method: &Method,
    params: &Values,
    before: &Values,
    train: &Dataset,
    watch: &mut TrainWatch<'_>,
) -> atomlearn::Result<Values> {
    let mut known = params.clone();
    for (name, value) in known.iter_mut().filter(|(_, value)| value.is_null()) {
        *value = before.get(name).cloned().unwrap_or_default();
    }
    let settled = method.choose(&known, train, watch)?;
    if let Some(kept) = &mut watch.checkpoint {
        kept.with_chosen(&registry::chosen(params, &settled));
    }
    Ok(settled)
}

fn check_outputs(args: &Args) -> Result<(), Failure> {
    let inputs = [
        Some(&args.data),
        args.params.as_ref(),
        args.map.as_ref(),
        args.making.onnx.as_ref(),
        args.reading.labels.as_ref(),
    ];
    let state = if args.scale.resume { Kind::Resumed } else { Kind::Checkpoint };
    args.writing.check(&inputs, &[(Some(&args.output), Kind::Model), (args.checkpoint.as_ref(), state)])
}

/// The data and, if they are made of images here, the map that makes them.
fn read(args: &Args, console: &Console) -> Result<(LabData, Option<Content>), Failure> {
    let (map, extracted, listed) = match (&args.features, &args.map) {
        (None, None) => {
            args.making.refuse_all("without --features KIND")?;
            return Ok((args.reading.read_labelled(&args.data, console)?, None));
        }
        (Some(kind), _) => {
            let spec = args.making.spec(kind)?;
            let listed = images::list(&args.data, console)?;
            let (map, extracted) = args.making.fit(&spec, &listed, &vec![true; listed.len()], console)?;
            (map, extracted, listed)
        }
        (None, Some(path)) => {
            args.making.refuse_all("on a map that is fitted already")?;
            let map = FeatureMap::load(path)?;
            let listed = images::list(&args.data, console)?;
            let extracted = images::apply(&map, &listed, args.making.skip_broken, console)?;
            (map, extracted, listed)
        }
    };
    let raw = images::as_data(&map, extracted, &listed, None);
    let data = LabData::new(&args.data.display().to_string(), digest(&args.data)?, raw)?;
    Ok((data, Some(map.to_content())))
}

/// The samples to train on and how to call them.
fn training_part(data: &LabData) -> (Vec<usize>, &'static str) {
    match &data.is_train {
        Some(flags) => ((0..flags.len()).filter(|&i| flags[i]).collect(), "the is_train part"),
        None => ((0..data.targets.len()).collect(), "all"),
    }
}

/// What travels with the model.
fn info(data: &LabData, places: &[usize]) -> Values {
    let name = Path::new(&data.info.path).file_name().map_or_else(String::new, |name| name.to_string_lossy().into());
    let mut info = Values::new();
    info.insert("version".into(), json!(env!("CARGO_PKG_VERSION")));
    info.insert("time".into(), json!(provenance::time()));
    info.insert("data".into(), json!({"name": name, "sha256": data.info.sha256, "samples": places.len()}));
    let values = || places.iter().flat_map(|&i| data.x.col(i).iter());
    let (low, high) = values().fold((f64::MAX, f64::MIN), |(low, high), &v| (low.min(v), high.max(v)));
    info.insert("range".into(), json!([low, high]));
    if let Some(shape) = data.image_shape {
        let order = if shape.column_major { "columns" } else { "rows" };
        info.insert("image_shape".into(), json!({"rows": shape.rows, "cols": shape.cols, "order": order}));
    }
    info
}
