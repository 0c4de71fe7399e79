//! `atomlearn export`: a trained model for other programs.

use crate::console::Console;
use crate::failure::Failure;
use crate::output::{Kind, OutputArgs};
use atomlearn::Model;
use serde_json::json;
use std::path::PathBuf;

/// Write a model as one ONNX graph: preprocessing, scores and label
#[derive(clap::Args)]
#[command(after_help = "\
Input `x`: doubles, samples in rows. Outputs: `label` (class names) and `scores` (samples x classes).

Example:
  atomlearn export faces.model --onnx faces.onnx")]
pub struct Args {
    /// Model file
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// ONNX file to write
    #[arg(long, value_name = "FILE")]
    onnx: PathBuf,
    #[command(flatten)]
    writing: OutputArgs,
}

/// Loads, converts and writes.
pub fn run(args: &Args, console: &Console) -> Result<(), Failure> {
    args.writing.check(&[Some(&args.model)], &[(Some(&args.onnx), Kind::Onnx)])?;
    let model = Model::load(&args.model)?;
    model.write_onnx(&args.onnx)?;
    if console.json {
        return console.print_json(&json!({
            "schema": "atomlearn.export/1", "onnx": args.onnx.display().to_string(), "method": model.method().key,
            "rule": model.classifier().rule(), "features": model.prep().n_features(), "classes": model.classes().len(),
        }));
    }
    console.note(&format!("{} written", args.onnx.display()));
    Ok(())
}
