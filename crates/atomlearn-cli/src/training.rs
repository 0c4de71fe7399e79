//! From a data file to a trained model: what `train` and `auto` share.

use crate::args::DataArgs;
use crate::checkpoint::{self, Begin};
use crate::console::Console;
use crate::failure::Failure;
use crate::images::{self, FeatureArgs};
use crate::progress::TrainWatch;
use atomlearn::archive::Content;
use atomlearn::checkpoint::{Training, digest as dataset_digest};
use atomlearn::info::{DataInfo, GroupsInfo, Info};
use atomlearn::io::ReadOptions;
use atomlearn::model::{Ready, Recipe};
use atomlearn::observe::Trace;
use atomlearn::prep::PrepSpec;
use atomlearn::registry::{METHODS, Method, Values};
use atomlearn::{Error, Model};
use atomlearn_features::FeatureMap;
use atomlearn_lab::data::{LabData, digest};
use atomlearn_lab::{provenance, scaling};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Where the samples to learn from come from.
#[derive(clap::Args)]
pub struct SourceArgs {
    /// The column of a table, or variable of a .mat or .npz file, that says which samples belong together (all of one person, say);
    /// it is no feature, and whole groups are left out where training leaves samples out
    #[arg(long, value_name = "COLUMN")]
    pub groups: Option<String>,
    /// DATA is a folder of images: make these features of them and keep the way in the model (pixels, random-face,
    /// sift-pyramid or onnx)
    #[arg(long, value_name = "KIND")]
    features: Option<String>,
    /// DATA is a folder of images: take them through this map, which `features --save-map` wrote, and keep it in the model
    #[arg(long, value_name = "FILE", conflicts_with = "features")]
    map: Option<PathBuf>,
    #[command(flatten)]
    reading: DataArgs,
    #[command(flatten)]
    making: FeatureArgs,
}

impl SourceArgs {
    /// Files that are read besides the data.
    pub fn inputs(&self) -> [Option<&PathBuf>; 3] {
        [self.map.as_ref(), self.making.onnx.as_ref(), self.reading.labels.as_ref()]
    }

    /// What the reader needs to know.
    pub fn options(&self) -> ReadOptions {
        ReadOptions { groups: self.groups.clone(), ..self.reading.options() }
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

    /// The data and, if they are made of images here, the map that makes them.
    fn read(&self, path: &Path, console: &Console) -> Result<(LabData, Option<Content>), Failure> {
        let (map, extracted, listed) = match (&self.features, &self.map) {
            (None, None) => {
                self.making.refuse_all("without --features KIND")?;
                return Ok((DataArgs::read_with(path, &self.options(), console)?, None));
            }
            _ if self.groups.is_some() => {
                return Err(Failure::usage("--groups: images of a folder have no column to take groups from"));
            }
            (Some(kind), _) => {
                let spec = self.making.spec(kind)?;
                let listed = images::list(path, console)?;
                let (map, extracted) = self.making.fit(&spec, &listed, &vec![true; listed.len()], console)?;
                (map, extracted, listed)
            }
            (None, Some(map)) => {
                self.making.refuse_all("on a map that is fitted already")?;
                let map = FeatureMap::load(map)?;
                let listed = images::list(path, console)?;
                let extracted = images::apply(&map, &listed, self.making.skip_broken, console)?;
                (map, extracted, listed)
            }
        };
        let raw = images::as_data(&map, extracted, &listed, None);
        let data = LabData::new(&path.display().to_string(), digest(path)?, raw)?;
        Ok((data, Some(map.to_content())))
    }
}

/// What to train.
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
    let Task { method, params, prep, .. } = task;
    source.check_groups(method)?;
    let held = match task.checkpoint {
        Some(path) => checkpoint::read(path, task.resume)?,
        None => None,
    };
    let (data, features) = source.read(path, console)?;
    let (places, part) = training_part(&data);
    let train = data.dataset(&places)?;
    // A method whose own preprocessing is none makes its own scales.
    let scales_itself = method.default_prep == "none" && prep.to_string() == "none";
    let scale = if scales_itself { None } else { scaling::warning(&data, &places, &prep) };
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
    model.features = features;
    model.schema = data.schema.clone();
    if let Some((column, groups)) = source.groups.clone().zip(data.groups.as_ref()) {
        let number = places.iter().map(|&i| groups[i]).collect::<std::collections::HashSet<_>>().len();
        model.info.set_groups(&GroupsInfo { column, number });
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
