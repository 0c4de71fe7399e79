//! `atomlearn export`: a trained model for other programs.

use crate::console::Console;
use crate::failure::Failure;
use crate::output::{Kind, OutputArgs};
use atomlearn::Model;
use atomlearn::file::write_atomically;
use atomlearn_features::{Exported, FeatureMap, export_with_map};
use serde_json::json;
use std::path::PathBuf;

/// Write a model as one ONNX graph: preprocessing, scores and label
#[derive(clap::Args)]
#[command(after_help = "\
Input `x`: doubles, samples in rows. Models of photos take `image` where the feature map is part of the graph (pixels,
random-face, onnx); of others the graph begins after the map, which is said. Outputs: `label` (class names) and `scores` (samples x classes).

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
    let map = model.features.clone().map(FeatureMap::from_content).transpose()?;
    let exported = match &map {
        Some(map) => export_with_map(&model.to_onnx()?, map)?,
        None => {
            let input = format!("`x`: doubles, samples x {}", model.prep().n_features());
            Exported { bytes: model.to_onnx()?, with_map: false, input }
        }
    };
    write_atomically(&args.onnx, &exported.bytes)?;
    if console.json {
        return console.print_json(&json!({
            "schema": "atomlearn.export/1", "onnx": args.onnx.display().to_string(), "method": model.method().key,
            "rule": model.classifier().rule(), "features": model.prep().n_features(), "classes": model.classes().len(),
            "map": map.as_ref().map(FeatureMap::title), "with_map": exported.with_map, "input": exported.input,
        }));
    }
    if map.is_some() && !exported.with_map {
        console.warn(&exported.input);
        console.note(&format!("{} written", args.onnx.display()));
    } else {
        console.note(&format!("{} written; input {}", args.onnx.display(), exported.input));
    }
    Ok(())
}
