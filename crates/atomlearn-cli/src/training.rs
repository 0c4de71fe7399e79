//! From a data file to a trained model: what `train` and `auto` share.

use crate::args::{DataArgs, SplitsFrom, read_splits};
use crate::checkpoint::{self, Begin};
use crate::console::Console;
use crate::failure::Failure;
use crate::image_part;
use crate::images::{self, FeatureArgs};
use crate::photo_choice;
use crate::plain::with_flags;
use crate::progress::TrainWatch;
use crate::weights::WeightArgs;
use atomlearn::archive::Content;
use atomlearn::checkpoint::{Training, digest as dataset_digest};
use atomlearn::info::{DataInfo, GroupsInfo, Info};
use atomlearn::io::ReadOptions;
use atomlearn::io::pictures::{ImageFile, LeftOut, Listing};
use atomlearn::methods::auto::AutoModel;
use atomlearn::model::{Ready, Recipe};
use atomlearn::observe::Trace;
use atomlearn::prep::PrepSpec;
use atomlearn::registry::{METHODS, Method, Values};
use atomlearn::{Error, Model};
use atomlearn_features::FeatureMap;
use atomlearn_lab::data::{LabData, digest};
use atomlearn_lab::{findings, provenance, scaling, twins};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Where the samples to learn from come from.
#[derive(clap::Args)]
pub struct SourceArgs {
    /// The column of a table, or variable of a .mat or .npz file, that says which samples belong together (all of one person, say);
    /// it is no feature, and whole groups are left out where training leaves samples out
    #[arg(long, value_name = "COLUMN")]
    pub groups: Option<String>,
    #[command(flatten)]
    pub weights: WeightArgs,
    /// DATA is a folder of images: make these features of them and keep the way in the model (pixels, random-face, sift-pyramid,
    /// fisher or onnx) [default: `auto` chooses by leave-one-out; other methods get fisher or, of small images, pixels]
    #[arg(long, value_name = "KIND")]
    features: Option<String>,
    /// DATA is a folder of images: take them through this map, which `features --save-map` wrote, and keep it in the model
    #[arg(long, value_name = "FILE", conflicts_with = "features")]
    map: Option<PathBuf>,
    /// Use the training part of the first split of this file only
    #[arg(long, value_name = "FILE")]
    splits: Option<PathBuf>,
    #[command(flatten)]
    splits_from: SplitsFrom,
    /// Of images: try no further features after so many seconds
    #[arg(long, value_name = "S", default_value = "300", value_parser = positive)]
    max_seconds: f64,
    #[command(flatten)]
    reading: DataArgs,
    #[command(flatten)]
    making: FeatureArgs,
}

impl SourceArgs {
    /// Files that are read besides the data.
    pub fn inputs(&self) -> [Option<&PathBuf>; 4] {
        [self.map.as_ref(), self.splits.as_ref(), self.making.onnx.as_ref(), self.reading.labels.as_ref()]
    }

    /// What the reader needs to know.
    pub fn options(&self) -> ReadOptions {
        let weights = self.weights.column().cloned();
        ReadOptions { groups: self.groups.clone(), weights, ..self.reading.options() }
    }

    /// Refuses groups for methods that do not heed them.
    pub fn check_groups(&self, method: &Method) -> Result<(), Failure> {
        if self.groups.is_none() || method.leaves_groups_out {
            return Ok(());
        }
        let able = METHODS.iter().filter(|method| method.leaves_groups_out).map(|method| method.key);
        Err(Failure::usage(format!(
            "--groups: `{}` leaves no samples out in training, so groups would change nothing; these methods do: {}. To keep \
             the column out of the features, use --drop",
            method.key,
            able.collect::<Vec<_>>().join(", ")
        )))
    }

    /// See [`DataArgs::views_prep`].
    pub fn views_prep(&self, data: &Path, prep: Option<&str>, own: &str) -> Result<Option<String>, Failure> {
        self.reading.views_prep(data, prep, own)
    }

    /// See [`DataArgs::refuse_views`].
    pub fn refuse_views(&self, why: &str) -> Result<(), Failure> {
        self.reading.refuse_views(why)
    }

    /// How features are made.
    pub fn making(&self) -> &FeatureArgs {
        &self.making
    }

    /// Seconds after which no further features are tried.
    pub fn max_seconds(&self) -> f64 {
        self.max_seconds
    }

    /// True if the features of these images are left to be chosen.
    fn leaves_features_open(&self, path: &Path) -> bool {
        path.is_dir() && self.features.is_none() && self.map.is_none()
    }

    /// The images of a folder that are trained on, and what is left out of those that are there.
    pub fn training_images(&self, folder: &Path, console: &Console) -> Result<(Vec<ImageFile>, LeftOut), Failure> {
        if self.groups.is_some() {
            return Err(Failure::usage("--groups: images of a folder have no column to take groups from"));
        }
        if self.weights.column().is_some() {
            return Err(Failure::usage("--weights: images of a folder have no column to take weights from"));
        }
        let Listing { images: listed, mut left_out, .. } = images::list(folder, console)?;
        let Some(splits) = &self.splits else { return Ok((listed, left_out)) };
        let (listed, broken) = image_part::readable(self.making.skip_broken, listed, console)?;
        left_out.broken = images::unreadable(&broken);
        let labeled = image_part::labeled(folder, &listed)?;
        let split = read_splits(splits, &labeled, self.splits_from, console)?.splits.swap_remove(0);
        Ok((split.train.iter().map(|&i| listed[i].clone()).collect(), left_out))
    }

    /// The data and, if they are made of images here, the map that makes them.
    fn read(&self, path: &Path, console: &Console) -> Result<(LabData, Option<FromPhotos>), Failure> {
        if !path.is_dir() && self.features.is_none() && self.map.is_none() {
            self.making.refuse_all("without --features KIND")?;
            let data = self.reading.read_with(path, &self.options(), console)?;
            return Ok((self.with_split(data, console)?, None));
        }
        let (listed, mut left_out) = self.training_images(path, console)?;
        let (map, extracted) = match &self.map {
            Some(map) => {
                self.making.refuse_all("on a map that is fitted already")?;
                let map = FeatureMap::load(map)?;
                let extracted = images::apply(&map, &listed, self.making.skip_broken, console)?;
                (map, extracted)
            }
            None => {
                let kind = self.features.as_deref().unwrap_or_else(|| images::usual_kind(&listed));
                let spec = self.making.spec(kind)?;
                self.making.fit(&spec, &listed, &vec![true; listed.len()], console)?
            }
        };
        let grouped = !self.making.augment.unwrap_or_default().is_none();
        left_out.broken.extend(images::unreadable(&extracted.broken));
        let raw = images::as_data(&map, extracted, &listed, None, grouped);
        let data = LabData::new(&path.display().to_string(), digest(path)?, raw)?;
        let given = self.map.is_some();
        Ok((data, Some(FromPhotos { map: map.to_content(), given, left_out })))
    }

    /// The data with the split of the file that was given, if one was.
    fn with_split(&self, mut data: LabData, console: &Console) -> Result<LabData, Failure> {
        let Some(splits) = &self.splits else { return Ok(data) };
        let train = read_splits(splits, &data, self.splits_from, console)?.splits.swap_remove(0).train;
        let mut is_train = vec![false; data.targets.len()];
        train.iter().for_each(|&i| is_train[i] = true);
        data.is_train = Some(is_train);
        Ok(data)
    }
}

fn positive(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|s: &f64| *s > 0.0 && s.is_finite()).ok_or_else(|| "must be a number above 0".into())
}

/// How samples were made of the photos of a folder.
pub struct FromPhotos {
    /// The feature map.
    pub map: Content,
    /// Whether it was fitted before.
    pub given: bool,
    /// What of the folder is no sample.
    pub left_out: LeftOut,
}

/// What to train.
#[derive(Clone)]
pub struct Task<'a> {
    /// The method.
    pub method: &'static Method,
    /// All its parameters.
    pub params: Values,
    /// Preprocessing.
    pub prep: PrepSpec,
    /// File that keeps the state of training.
    pub checkpoint: Option<&'a Path>,
    /// Go on from that file, if it is there.
    pub resume: bool,
}

/// A model with what it was trained on.
pub struct Trained {
    /// The model, notes included.
    pub model: Model,
    /// The parameters that were left open and what training chose for them.
    pub chosen: Values,
    /// All of the data.
    pub data: LabData,
    /// The samples that were trained on.
    pub places: Vec<usize>,
    /// What part of the data they are, in words.
    pub part: &'static str,
    /// Steps and warnings; the caller tells the user about the latter.
    pub trace: Trace,
    /// How long it took.
    pub seconds: f64,
    /// A checkpoint was wanted, and there was nothing to keep.
    pub nothing_kept: bool,
}

/// Reads and trains; nothing is written but the checkpoint.
pub fn train(source: &SourceArgs, path: &Path, task: Task<'_>, console: &Console) -> Result<Trained, Failure> {
    source.check_groups(task.method)?;
    source.weights.check(task.method)?;
    if task.method.key == "auto" && source.leaves_features_open(path) {
        return photo_choice::train(source, path, &task, console);
    }
    let (data, photos) = source.read(path, console)?;
    train_on(source, data, photos, task, console)
}

/// Trains on data that were read, or made of photos.
pub fn train_on(
    source: &SourceArgs,
    mut data: LabData,
    photos: Option<FromPhotos>,
    task: Task<'_>,
    console: &Console,
) -> Result<Trained, Failure> {
    let Task { method, params, prep, .. } = task;
    let held = match task.checkpoint {
        Some(path) => checkpoint::read(path, task.resume)?,
        None => None,
    };
    let (places, part) = training_part(&data);
    source.weights.weigh(&mut data, &places)?;
    let train = data.dataset(&places)?;
    // A method whose own preprocessing is none makes its own scales.
    let scales_itself = method.default_prep == "none" && prep.to_string() == "none";
    let scale =
        if scales_itself { None } else { scaling::warning(&data, &places, &prep).map(|text| with_flags(&text)) };
    let start = Instant::now();

    // The checkpoint belongs to prepared samples, so the two steps of a recipe are taken one by one.
    let mut early = Trace::default();
    let mut ready = Recipe::new(method, &params, &prep)?.prepare(&train, &mut early)?;
    let begin = match task.checkpoint {
        None => Begin::default(),
        Some(path) => {
            let (method, prep, data) = (method.key.to_string(), prep.to_string(), dataset_digest(ready.train()));
            let chosen = Values::new();
            Begin::new(path, Training { method, params: params.clone(), prep, data, chosen }, held)?
        }
    };
    let mut watch = TrainWatch::new(console, method.key, begin.trace, begin.kept);
    let trained = choose(&mut ready, &begin.chosen, &mut watch).and_then(|()| ready.learn(begin.state, &mut watch));
    watch.finish();
    let (mut trace, stopped, failed) = (std::mem::take(&mut watch.trace), watch.stopped, watch.error.take());
    let nothing_kept = watch.checkpoint.as_ref().is_some_and(|kept| !kept.written);
    drop(watch);
    trace.warnings.splice(0..0, scale.into_iter().chain(early.warnings));
    let mut model = match (failed, trained) {
        (None, Ok(trained)) if !stopped => trained,
        (failed, trained) => {
            // Warnings often say why it went wrong.
            trace.warnings.iter().for_each(|warning| console.warn(warning));
            return Err(failed.or(trained.err()).unwrap_or(Error::Interrupted).into());
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    let chosen = model.info.chosen();
    let learned = std::mem::replace(&mut model.info, info(&data, &places));
    model.info.extend(learned);
    if let Some(photos) = photos {
        model.info.set_left_out(&photos.left_out);
        if photos.given {
            model.info.note(findings::MAP_GIVEN, json!(true));
        }
        if let Some(names) = &data.names {
            model.info.set_files(&places.iter().map(|&i| names[i].clone()).collect::<Vec<_>>());
        }
        model.features = Some(photos.map);
    }
    // Its estimate suffers from twins.
    if AutoModel::of(model.classifier()).is_some() {
        trace.warnings.extend(twins::in_words(&twins::find(&data, &places)));
    }
    model.schema = data.schema.clone();
    if let Some(groups) = &data.groups {
        // Without a column, groups are images with their copies.
        let column = source.groups.clone().unwrap_or_else(|| "image".into());
        let number = places.iter().map(|&i| groups[i]).collect::<std::collections::HashSet<_>>().len();
        model.info.set_groups(&GroupsInfo { column, number });
    }
    if let Some(weights) = source.weights.info() {
        model.info.set_weights(&weights);
    }
    model.info.set_trace(&trace);
    Ok(Trained { model, chosen, data, places, part, trace, seconds, nothing_kept })
}

/// Chooses what is left open from the samples, unless that was done before a break, and keeps it.
fn choose(ready: &mut Ready, before: &Values, watch: &mut TrainWatch<'_>) -> atomlearn::Result<()> {
    let chosen = ready.choose(before, watch)?;
    if let Some(kept) = &mut watch.checkpoint {
        kept.with_chosen(&chosen);
    }
    Ok(())
}

/// The samples to train on and how to call them.
fn training_part(data: &LabData) -> (Vec<usize>, &'static str) {
    match &data.is_train {
        Some(flags) => ((0..flags.len()).filter(|&i| flags[i]).collect(), "the is_train part"),
        None => ((0..data.targets.len()).collect(), "all"),
    }
}

/// What travels with the model.
fn info(data: &LabData, places: &[usize]) -> Info {
    let name = Path::new(&data.info.path).file_name().map_or_else(String::new, |name| name.to_string_lossy().into());
    let mut info = Info::default();
    info.set_origin(env!("CARGO_PKG_VERSION"), &provenance::time());
    info.set_data(&DataInfo { name, sha256: data.info.sha256.clone(), samples: places.len() as u64 });
    let values = || places.iter().flat_map(|&i| data.x.col(i).iter());
    let (low, high) = values().fold((f64::MAX, f64::MIN), |(low, high), &v| (low.min(v), high.max(v)));
    info.set_range([low, high]);
    if let Some(shape) = data.image_shape {
        info.set_image_shape(shape);
    }
    info
}
