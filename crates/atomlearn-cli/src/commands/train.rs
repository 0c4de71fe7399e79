//! `atomlearn train`: fit one method and write the model file.

use crate::console::Console;
use crate::data::table_json;
use crate::failure::Failure;
use crate::out_of_core::{Job, ScaleArgs};
use crate::output::{Kind, OutputArgs};
use crate::settings;
use crate::training::{self, SourceArgs, Task, Trained};
use atomlearn::prep;
use atomlearn_lab::params_file;
use atomlearn_lab::tables::seconds;
use serde_json::json;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  atomlearn train wine.csv -o wine.model
  atomlearn train faces.mat --method lcdl-sv -o faces.model
  atomlearn train faces.mat --method crc --set kappa=0.01 --prep pca:300,unit -o faces.model
  atomlearn train faces.mat --params best.toml -o faces.model
  atomlearn train table.csv --y species --method linear-svm --prep standard -o species.model
  atomlearn train messy.xlsx --drop comment,date --impute median --method crc --prep standard,unit -o messy.model
  atomlearn train visits.csv --groups patient -o visits.model               no patient judges himself
  atomlearn train survey.csv --weights share --class-weights balanced -o survey.model     samples and classes that count more
  atomlearn train scenes/ --features sift-pyramid --method lcdl-sv -o scenes.model     then: predict scenes.model photo.jpg
  atomlearn train faces.mat --method lcdl-sv --checkpoint state --resume -o faces.model     goes on after Ctrl-C or a crash
  atomlearn train pixels.npz --views deep.npz --method crc --prep 'pca:98%,unit|unit' -o both.model     two views of the same samples
  atomlearn train shards/ --method lcdl-sv --out-of-core --max-memory 2GiB --checkpoint state --resume -o big.model";

fn after_help() -> String {
    format!("{EXAMPLES}\n\nPreprocessing steps: {}.", prep::examples().join(", "))
}

/// Train a method on all of DATA, or on its `is_train` part, and write a model file
#[derive(clap::Args)]
#[command(after_help = after_help())]
pub struct Args {
    /// Data file (.mat .npz .npy .csv .tsv .txt .xlsx .parquet .libsvm) or folder of images; `-` is CSV from stdin
    data: PathBuf,
    /// Method; `atomlearn methods` lists them. Without it `auto`, which needs no parameters
    #[arg(long, short, value_name = "KEY")]
    method: Option<String>,
    /// Set a parameter; `atomlearn methods KEY` lists them
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Take method, parameters and preprocessing from a TOML file, as `tune -o` writes it; command-line flags take precedence
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
    #[command(flatten)]
    scale: ScaleArgs,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    writing: OutputArgs,
}

/// Trains and saves.
pub fn run(args: &Args, console: &Console) -> Result<(), Failure> {
    let file = args.params.as_deref().map(params_file::read).transpose()?;
    let unnamed = file.is_none().then_some("auto");
    let method = settings::method(args.method.as_deref().or(unnamed), file.as_ref())?;
    let asked = args.prep.as_deref().or(file.as_ref().and_then(|file| file.prep.as_deref()));
    let prep = args.source.views_prep(&args.data, asked, method.default_prep)?;
    let (prep, params) = settings::settle(method, prep.as_deref(), &args.set, file)?;
    if args.output == Path::new("-") {
        return Err(Failure::usage("a model cannot be written to stdout; give -o the name of a file"));
    }
    check_outputs(args)?;
    args.source.check_groups(method)?;
    args.source.weights.check(method)?;
    if args.scale.out_of_core {
        args.source.refuse_views("needs all samples in memory; leave out --out-of-core")?;
        if args.source.groups.is_some() {
            return Err(Failure::usage("--groups needs all samples in memory; leave out --out-of-core"));
        }
        if let Some(flag) = args.source.weights.asked() {
            return Err(Failure::usage(format!("{flag} needs all samples in memory; leave out --out-of-core")));
        }
        let job = Job {
            data: &args.data,
            options: args.source.options(),
            method: method.key,
            params,
            prep,
            output: &args.output,
            checkpoint: args.checkpoint.as_ref(),
        };
        return args.scale.run(job, console);
    }
    let checkpoint = args.checkpoint.as_deref();
    let task = Task { method, params, prep, checkpoint, resume: args.scale.resume };
    let trained = training::train(&args.source, &args.data, task, console)?;
    let Trained { model, data, places, part, trace, .. } = &trained;
    trace.warnings.iter().for_each(|warning| console.warn(warning));
    trace.notes.iter().for_each(|note| console.note(note));
    model.save(&args.output)?;
    if trained.nothing_kept {
        console.note("no checkpoint was written: there were no iterations");
    }
    if console.json {
        return console.print_json(&json!({
            "schema": "atomlearn.train/1", "model": args.output.display().to_string(), "method": method.key,
            "params": model.params(), "chosen": trained.chosen, "prep": model.prep().spec().to_string(), "data": data.info, "part": part,
            "samples": places.len(), "weights": model.info.weights(),
            "seconds": trained.seconds, "n_iter": trace.steps.last().map(|step| step.iter), "trace": trace.steps,
            "warnings": trace.warnings, "notes": trace.notes, "table": data.schema.as_ref().map(table_json),
        }));
    }
    console.print(&format!(
        "{}: trained on {} samples ({part}), {} features, {} classes in {} s; written to {}",
        method.key,
        places.len(),
        data.info.features,
        data.info.classes,
        seconds(trained.seconds),
        args.output.display()
    ))
}

fn check_outputs(args: &Args) -> Result<(), Failure> {
    let mut inputs = vec![Some(&args.data), args.params.as_ref()];
    inputs.extend(args.source.inputs());
    let state = if args.scale.resume { Kind::Resumed } else { Kind::Checkpoint };
    args.writing.check(&inputs, &[(Some(&args.output), Kind::Model), (args.checkpoint.as_ref(), state)])
}
