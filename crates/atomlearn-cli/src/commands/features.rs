//! `atomlearn features`: a folder of images to a feature file.

use crate::args::at_least_one;
use crate::console::Console;
use crate::failure::Failure;
use crate::images::{self, FeatureArgs};
use crate::output::{Kind, OutputArgs};
use atomlearn::Mat;
use atomlearn::io::pictures::ImageFile;
use atomlearn::io::{self, RawData};
use atomlearn_features::{Extracted, FeatureMap, list_layers};
use atomlearn_lab::data::LabData;
use atomlearn_lab::splits::stratified;
use atomlearn_lab::tables::seconds;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  atomlearn features faces/ --kind pixels --size 54x48 -o faces.npz
  atomlearn features faces/ --kind random-face --dim 540 -o faces.mat
  atomlearn features scenes/ --kind sift-pyramid --train-per-class 30 --save-map scenes.map -o scenes.npz
  atomlearn features new_scenes/ --map scenes.map -o new.npz
  atomlearn features --list-layers --onnx vgg16.onnx
  atomlearn features faces/ --kind onnx --onnx vgg16.onnx --layer fc6 --preset caffe -o faces.npz

IMAGES has one sub-folder per class. PNG, JPEG, WebP, PNM, TIFF and BMP are read, grey or colour, turned as EXIF says.";

/// Turn a folder of images into a feature file
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Folder with one sub-folder of images per class
    #[arg(required_unless_present = "list_layers")]
    images: Option<PathBuf>,
    /// Kind of features: pixels, random-face, sift-pyramid, fisher or onnx
    #[arg(long, value_name = "KIND", required_unless_present_any = ["map", "list_layers"])]
    kind: Option<String>,
    /// File to write, .npz or .mat, with class names, file names and, for pixels, the image shape
    #[arg(long, short, value_name = "FILE", required_unless_present = "list_layers")]
    output: Option<PathBuf>,
    /// Fit on so many images of every class, and mark them as `is_train` in the file [default: fit on all]
    #[arg(long, value_name = "N", value_parser = at_least_one, conflicts_with = "map")]
    train_per_class: Option<usize>,
    /// Seed of that choice; `compare` with the same seed draws the same first split
    #[arg(long, value_name = "S", default_value = "0")]
    seed: u64,
    /// Write the fitted map, for new images
    #[arg(long, value_name = "FILE")]
    save_map: Option<PathBuf>,
    /// Use a map that --save-map wrote, instead of fitting one
    #[arg(long, value_name = "FILE", conflicts_with = "kind")]
    map: Option<PathBuf>,
    /// Print names and shapes of the tensors of the network and stop
    #[arg(long, requires = "onnx")]
    list_layers: bool,
    #[command(flatten)]
    making: FeatureArgs,
    #[command(flatten)]
    writing: OutputArgs,
}

/// Makes features and writes them.
pub fn run(args: &Args, console: &Console) -> Result<(), Failure> {
    if args.list_layers {
        return show_layers(args, console);
    }
    let (Some(folder), Some(output)) = (&args.images, &args.output) else {
        return Err(Failure::usage("name the folder of images and, with -o, the file to write"));
    };
    let ending = output.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    if ending != "npz" && ending != "mat" {
        return Err(Failure::usage(format!("{}: feature files end in .npz or .mat", output.display())));
    }
    let inputs = [Some(folder), args.map.as_ref(), args.making.onnx.as_ref()];
    args.writing.check(&inputs, &[(Some(output), Kind::Features), (args.save_map.as_ref(), Kind::Map)])?;
    let start = Instant::now();
    let made = match &args.map {
        Some(path) => {
            args.making.refuse_all("on a map that is fitted already")?;
            let map = FeatureMap::load(path)?;
            let images = images::list(folder, console)?.images;
            let extracted = images::apply(&map, &images, args.making.skip_broken, console)?;
            Made { map, extracted, images, is_train: None }
        }
        None => fit(args, folder, console)?,
    };
    let took = start.elapsed().as_secs_f64();
    if let Some(path) = &args.save_map {
        made.map.save(path)?;
    }
    let broken = made.extracted.broken.clone();
    let mut data = images::as_data(&made.map, made.extracted, &made.images, made.is_train.as_deref(), false);
    if args.map.is_none() && made.map.spec().learns() {
        data.map_saw = Some(data.is_train.clone().unwrap_or_else(|| vec![true; data.x.ncols()]));
    }
    io::write(output, &data)?;
    let (dim, samples) = data.x.shape();
    if console.json {
        return console.print_json(&json!({
            "schema": "atomlearn.features/1", "images": folder.display().to_string(),
            "output": output.display().to_string(), "map": args.save_map.as_ref().map(|path| path.display().to_string()),
            "spec": made.map.spec(), "samples": samples, "features": dim,
            "train_samples": data.is_train.as_ref().map(|flags| flags.iter().filter(|flag| **flag).count()),
            "broken": broken.iter().map(|broken| json!({"name": broken.name, "why": broken.why})).collect::<Vec<_>>(),
            "seconds": took,
        }));
    }
    let left_out = if broken.is_empty() { String::new() } else { format!(", {} left out", broken.len()) };
    console.print(&format!(
        "{}: {dim} features of {samples} images{left_out} in {} s; written to {}",
        made.map.kind(),
        seconds(took),
        output.display()
    ))
}

/// Features and what they were made with.
struct Made {
    map: FeatureMap,
    extracted: Extracted,
    images: Vec<ImageFile>,
    is_train: Option<Vec<bool>>,
}

fn fit(args: &Args, folder: &Path, console: &Console) -> Result<Made, Failure> {
    if args.making.augment.is_some() && args.train_per_class.is_none() {
        return Err(Failure::usage("--augment is for training images: say which with --train-per-class N"));
    }
    let spec = args.making.spec(args.kind.as_deref().unwrap_or_default())?;
    let images = images::list(folder, console)?.images;
    let is_train = args.train_per_class.map(|n| draw(&images, folder, n, args.seed)).transpose()?;
    if spec.learns() && is_train.is_none() {
        console.warn(
            "visual words and PCA are fitted on all images; with --train-per-class N they see the training part alone, and `compare \
             FOLDER --features KIND` fits them again on every training part",
        );
    }
    let all = vec![true; images.len()];
    let (map, extracted) = args.making.fit(&spec, &images, is_train.as_deref().unwrap_or(&all), console)?;
    Ok(Made { map, extracted, images, is_train })
}

/// Which images train: the first split that `compare` draws from the same classes with the same seed.
fn draw(images: &[ImageFile], folder: &Path, train_per_class: usize, seed: u64) -> Result<Vec<bool>, Failure> {
    let labels = images.iter().map(|image| image.class.clone()).collect();
    let raw = RawData { labels, ..RawData::new(Mat::zeros(1, images.len())) };
    let data = LabData::new(&folder.display().to_string(), String::new(), raw)?;
    let splits = stratified(&data, train_per_class, 1, seed)?;
    let mut is_train = vec![false; images.len()];
    splits.splits[0].train.iter().for_each(|&i| is_train[i] = true);
    Ok(is_train)
}

fn show_layers(args: &Args, console: &Console) -> Result<(), Failure> {
    let Some(network) = &args.making.onnx else { return Err(Failure::usage("name the network with --onnx FILE")) };
    let layers = list_layers(network, args.making.size())?;
    if console.json {
        return console.print_json(&json!({
            "schema": "atomlearn.layers/1", "network": network.display().to_string(), "layers": layers,
        }));
    }
    let shape = |shape: &Option<Vec<usize>>| match shape {
        Some(sides) => sides.iter().map(usize::to_string).collect::<Vec<_>>().join(" x "),
        None => "?".into(),
    };
    let mut table = atomlearn_lab::tables::plain_table(console.width(), console.color);
    table.set_header(["layer", "shape for one image"]);
    layers.iter().for_each(|layer| {
        table.add_row([layer.name.clone(), shape(&layer.shape)]);
    });
    console.print(&table.to_string())
}
