//! Image folders as data: which features, and how they are made.

use crate::console::Console;
use crate::data::{Source, tell};
use crate::failure::Failure;
use crate::progress::FeatureBar;
use atomlearn::io::RawData;
use atomlearn::io::pictures::{self, ImageFile, LeftOut, Listing, Picture, Unreadable};
use atomlearn::{Error, Mat, NameKind};
use atomlearn_features::{
    Augment, Broken, Coding, Crop, Extracted, FeatureMap, FeatureSpec, FisherSpec, Fit, Frame, Handling, KINDS,
    KNOWN_NETWORKS, KnownNetwork, OnnxSpec, PixelsSpec, Pooling, Preset, RandomFaceSpec, SiftSpec, extract, fit,
};
use atomlearn_lab::data::digest;
use clap::ValueEnum;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Images whose size is looked at to choose a kind of features.
const LOOKED_AT: usize = 50;
/// Broken images that are told of one by one.
const TOLD: usize = 10;
/// Smaller images hold too few patches.
const ROOM_FOR_PATCHES: usize = 32;

/// How features are made; most flags belong to some kinds only.
#[derive(clap::Args, Clone, Default)]
#[command(next_help_heading = "Feature options")]
pub struct FeatureArgs {
    /// Height and width images are brought to [pixels, random-face: default 54x48; onnx: where the network leaves it open]
    #[arg(long, value_name = "HxW", value_parser = size)]
    size: Option<[usize; 2]>,
    /// Images of another shape: squeeze them (stretch), or fill the frame and cut the rest (cover) [pixels, random-face: default
    /// stretch; onnx: default cover, with the usual margin]
    #[arg(long, value_name = "stretch|cover")]
    fit: Option<FrameFitArg>,
    /// Use this part of every image, in pixels [all kinds]
    #[arg(long, value_name = "WxH+LEFT+TOP")]
    crop: Option<Crop>,
    /// Number of features [random-face: default 540; sift-pyramid, fisher: default 3000 or what the training images span]
    #[arg(long, value_name = "N")]
    dim: Option<usize>,
    /// Seed of what is drawn [random-face, sift-pyramid, fisher: default 0]
    #[arg(long, value_name = "S")]
    feature_seed: Option<u64>,
    /// Network file [onnx]
    #[arg(long, value_name = "FILE")]
    pub onnx: Option<PathBuf>,
    /// Tensor of the network whose values are the features [onnx: default its first output]
    #[arg(long, value_name = "NAME")]
    layer: Option<String>,
    /// What the network expects of pixel values [onnx: default imagenet]
    #[arg(long, value_name = "NAME")]
    preset: Option<PresetName>,
    /// Images that go through the network together [onnx: default 1]
    #[arg(long, value_name = "N")]
    batch: Option<usize>,
    /// Longer side that larger images are shrunk to [sift-pyramid, fisher: default 300]
    #[arg(long, value_name = "PIXELS")]
    max_side: Option<usize>,
    /// Pixels between patches [sift-pyramid: default 8; fisher: default 6]
    #[arg(long, value_name = "PIXELS")]
    step: Option<usize>,
    /// Sides of the patches, multiples of 4 [sift-pyramid, fisher: default 16,24,32]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    patches: Option<Vec<usize>>,
    /// Number of visual words, or of Gaussians [sift-pyramid: default 1024; fisher: default 64]
    #[arg(long, value_name = "N")]
    words: Option<usize>,
    /// Descriptors the words are found from [sift-pyramid: default 50000; fisher: default 60000]
    #[arg(long, value_name = "N")]
    descriptors: Option<usize>,
    /// How descriptors are written in words [sift-pyramid: default llc]
    #[arg(long, value_name = "NAME")]
    coding: Option<CodingName>,
    /// How codes are joined within a cell [sift-pyramid: default max]
    #[arg(long, value_name = "NAME")]
    pooling: Option<PoolingName>,
    /// Cells along each side, one number for each level of the pyramid [sift-pyramid: default 1,2,4]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    levels: Option<Vec<usize>>,
    /// Add copies of training images: `flip` (mirror images), `shift` (moved by a sixteenth), or both; images to be tested or
    /// predicted stay as they are
    #[arg(long, value_name = "LIST")]
    pub augment: Option<Augment>,
    /// Leave out images that cannot be read, instead of stopping
    #[arg(long)]
    pub skip_broken: bool,
}

/// How images of another shape are made to fit.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum FrameFitArg {
    /// Squeeze or stretch
    Stretch,
    /// Keep the proportions and cut what stands out
    Cover,
}

/// What a network expects of pixel values.
#[derive(Clone, Copy, ValueEnum)]
enum PresetName {
    /// RGB, ImageNet mean and deviation (PyTorch networks)
    Imagenet,
    /// BGR less the mean of ImageNet (Caffe's VGG)
    Caffe,
    /// RGB, (x - 127) / 128
    EfficientnetLite,
    /// RGB from 0 to 255
    None,
}

/// How descriptors are written in words.
#[derive(Clone, Copy, ValueEnum)]
enum CodingName {
    /// Locality-constrained linear coding
    Llc,
    /// The nearest word
    Hard,
}

/// How codes are joined within a cell.
#[derive(Clone, Copy, ValueEnum)]
enum PoolingName {
    /// The largest weight
    Max,
    /// The mean weight
    Average,
}

impl FeatureArgs {
    /// The flags that were given, each with the kinds it belongs to.
    fn given(&self) -> Vec<(&'static str, &'static [&'static str])> {
        let flags: [(&str, bool, &'static [&'static str]); 17] = [
            ("--size", self.size.is_some(), &["pixels", "random-face", "onnx"]),
            ("--fit", self.fit.is_some(), &["pixels", "random-face", "onnx"]),
            ("--crop", self.crop.is_some(), &KINDS),
            ("--dim", self.dim.is_some(), &["random-face", "sift-pyramid", "fisher"]),
            ("--feature-seed", self.feature_seed.is_some(), &["random-face", "sift-pyramid", "fisher"]),
            ("--onnx", self.onnx.is_some(), &["onnx"]),
            ("--layer", self.layer.is_some(), &["onnx"]),
            ("--preset", self.preset.is_some(), &["onnx"]),
            ("--batch", self.batch.is_some(), &["onnx"]),
            ("--max-side", self.max_side.is_some(), &["sift-pyramid", "fisher"]),
            ("--step", self.step.is_some(), &["sift-pyramid", "fisher"]),
            ("--patches", self.patches.is_some(), &["sift-pyramid", "fisher"]),
            ("--words", self.words.is_some(), &["sift-pyramid", "fisher"]),
            ("--descriptors", self.descriptors.is_some(), &["sift-pyramid", "fisher"]),
            ("--coding", self.coding.is_some(), &["sift-pyramid"]),
            ("--pooling", self.pooling.is_some(), &["sift-pyramid"]),
            ("--levels", self.levels.is_some(), &["sift-pyramid"]),
        ];
        flags.into_iter().filter(|(_, given, _)| *given).map(|(flag, _, kinds)| (flag, kinds)).collect()
    }

    /// Refuses flags that would have no effect on a map that is given ready made, or on no map at all.
    pub fn refuse_all(&self, why: &str) -> Result<(), Failure> {
        match self.given().first() {
            Some((flag, _)) => Err(Failure::usage(format!("{flag} has no effect {why}"))),
            None => Ok(()),
        }
    }

    /// Refuses flags of one kind of features where the kind is still to be chosen.
    pub fn refuse_without_kind(&self) -> Result<(), Failure> {
        let alone = |flag: &str| flag != "--crop" && !(flag == "--onnx" || self.onnx.is_some());
        let of_networks = |kinds: &[&str]| kinds == ["onnx"];
        match self.given().into_iter().find(|(flag, kinds)| alone(flag) || (*flag != "--crop" && !of_networks(kinds))) {
            Some((flag, kinds)) if of_networks(kinds) => {
                Err(Failure::usage(format!("{flag} belongs to a network; name it with --onnx FILE")))
            }
            Some((flag, kinds)) => Err(Failure::usage(format!(
                "{flag} belongs to one kind of features; say which with --features ({})",
                kinds.join(", ")
            ))),
            None => Ok(()),
        }
    }

    /// The part of every image that is used.
    pub fn crop(&self) -> Option<Crop> {
        self.crop
    }

    /// Height and width, as given.
    pub fn size(&self) -> Option<[usize; 2]> {
        self.size
    }

    /// What features are wanted.
    pub fn spec(&self, kind: &str) -> Result<FeatureSpec, Failure> {
        if !KINDS.contains(&kind) {
            return Err(Failure::from(Error::unknown(NameKind::Features, kind, KINDS)));
        }
        if let Some((flag, kinds)) = self.given().into_iter().find(|(_, kinds)| !kinds.contains(&kind)) {
            return Err(Failure::usage(format!("{flag} is not for {kind}, but for {}", kinds.join(", "))));
        }
        Ok(match kind {
            "pixels" => FeatureSpec::Pixels(self.pixels()),
            "random-face" => {
                let usual = RandomFaceSpec::default();
                let dim = self.dim.unwrap_or(usual.dim);
                let seed = self.feature_seed.unwrap_or(usual.seed);
                FeatureSpec::RandomFace(RandomFaceSpec { pixels: self.pixels(), dim, seed })
            }
            "sift-pyramid" => FeatureSpec::SiftPyramid(self.sift()),
            "fisher" => FeatureSpec::Fisher(self.fisher()),
            _ => FeatureSpec::Onnx(self.network()?),
        })
    }

    fn pixels(&self) -> PixelsSpec {
        let usual = PixelsSpec::default();
        let [rows, cols] = self.size.unwrap_or([usual.frame.rows, usual.frame.cols]);
        let fit = match self.fit {
            Some(FrameFitArg::Cover) => Fit::Cover,
            _ => Fit::Stretch,
        };
        PixelsSpec { crop: self.crop, frame: Frame { rows, cols, fit } }
    }

    fn sift(&self) -> SiftSpec {
        let usual = SiftSpec::default();
        SiftSpec {
            crop: self.crop,
            max_side: self.max_side.unwrap_or(usual.max_side),
            step: self.step.unwrap_or(usual.step),
            patches: self.patches.clone().unwrap_or(usual.patches),
            words: self.words.unwrap_or(usual.words),
            descriptors: self.descriptors.unwrap_or(usual.descriptors),
            coding: match self.coding {
                Some(CodingName::Hard) => Coding::Hard,
                _ => Coding::Llc,
            },
            neighbours: usual.neighbours,
            pooling: match self.pooling {
                Some(PoolingName::Average) => Pooling::Average,
                _ => Pooling::Max,
            },
            levels: self.levels.clone().unwrap_or(usual.levels),
            dim: self.dim.unwrap_or(usual.dim),
            seed: self.feature_seed.unwrap_or(usual.seed),
        }
    }

    fn fisher(&self) -> FisherSpec {
        let usual = FisherSpec::default();
        FisherSpec {
            crop: self.crop,
            max_side: self.max_side.unwrap_or(usual.max_side),
            step: self.step.unwrap_or(usual.step),
            patches: self.patches.clone().unwrap_or(usual.patches),
            components: self.words.unwrap_or(usual.components),
            descriptor_dim: usual.descriptor_dim,
            descriptors: self.descriptors.unwrap_or(usual.descriptors),
            dim: self.dim.unwrap_or(usual.dim),
            seed: self.feature_seed.unwrap_or(usual.seed),
        }
    }

    /// What the flags say; where they say nothing, what a known network expects.
    fn network(&self) -> Result<OnnxSpec, Failure> {
        let Some(path) = &self.onnx else {
            let known: Vec<String> = KNOWN_NETWORKS.iter().map(where_from).collect();
            return Err(Failure::usage(format!(
                "features of kind onnx need a network: --onnx FILE. Any will do; of these atomlearn knows what they expect:\n{}",
                known.join("\n")
            )));
        };
        if let Some(known) = KnownNetwork::of_name(&path.to_string_lossy()).filter(|_| !path.exists()) {
            return Err(Failure::usage(format!(
                "no network is part of atomlearn; get this file:\n{}",
                where_from(known)
            )));
        }
        let usual = match std::fs::read(path) {
            Ok(bytes) => KnownNetwork::of_digest(&atomlearn_features::digest(&bytes)).map(KnownNetwork::spec),
            // Whoever opens it for good says what is wrong.
            Err(_) => None,
        };
        let usual = usual.unwrap_or_default();
        Ok(OnnxSpec {
            crop: self.crop,
            layer: self.layer.clone().or(usual.layer),
            preset: match self.preset {
                Some(PresetName::Caffe) => Preset::Caffe,
                Some(PresetName::EfficientnetLite) => Preset::EfficientnetLite,
                Some(PresetName::None) => Preset::None,
                Some(PresetName::Imagenet) => Preset::Imagenet,
                None => usual.preset,
            },
            stretch: self.fit.map_or(usual.stretch, |fit| fit == FrameFitArg::Stretch),
            size: self.size,
            batch: self.batch.unwrap_or(1),
        })
    }

    /// Fits a map on some of the images and takes all of them through it.
    pub fn fit(
        &self,
        spec: &FeatureSpec,
        images: &[ImageFile],
        is_train: &[bool],
        console: &Console,
    ) -> Result<(FeatureMap, Extracted), Failure> {
        let made = self.fit_until(spec, images, is_train, None, console)?;
        tell_broken(&made.1.broken, LEFT_OUT, console);
        Ok(made)
    }

    /// As [`FeatureArgs::fit`], but gives up after the deadline, and leaves it to the caller to tell of broken images.
    pub fn fit_until(
        &self,
        spec: &FeatureSpec,
        images: &[ImageFile],
        is_train: &[bool],
        deadline: Option<Instant>,
        console: &Console,
    ) -> Result<(FeatureMap, Extracted), Failure> {
        let bar = FeatureBar::until(deadline, console);
        let handling = Handling { skip_broken: self.skip_broken, augment: self.augment.unwrap_or_default() };
        let made = fit(spec, self.onnx.as_deref(), images, is_train, handling, &bar);
        bar.finish();
        Ok(made?)
    }
}

/// A network with its use and its source.
fn where_from(network: &KnownNetwork) -> String {
    let KnownNetwork { name, about, source, layer, sha256, .. } = network;
    format!(
        "  {name}: {about}\n    get it: {source}\n    sets --layer {layer} and --preset {} itself; recognised by its sha256 {sha256}",
        network.preset.name()
    )
}

/// Takes images through a map that is there already.
pub fn apply(
    map: &FeatureMap,
    images: &[ImageFile],
    skip_broken: bool,
    console: &Console,
) -> Result<Extracted, Failure> {
    let extracted = through(map, images, skip_broken, console)?;
    if extracted.places.is_empty() {
        return Err(Error::Data(format!("none of the {} images can be read", images.len())).into());
    }
    tell_broken(&extracted.broken, LEFT_OUT, console);
    Ok(extracted)
}

fn through(map: &FeatureMap, images: &[ImageFile], skip_broken: bool, console: &Console) -> Result<Extracted, Failure> {
    let bar = FeatureBar::new(console);
    let extracted = extract(map, images, skip_broken, &bar);
    bar.finish();
    Ok(extracted?)
}

/// What becomes of a broken image in training: of one, and of several.
pub const LEFT_OUT: [&str; 2] = ["is left out", "are left out"];
/// The same in prediction.
const EMPTY_LABEL: [&str; 2] = ["gets an empty label", "get empty labels"];

/// Warns of images that cannot be read, the first of them one by one.
pub fn tell_broken(broken: &[Broken], [one, many]: [&str; 2], console: &Console) {
    for broken in broken.iter().take(TOLD) {
        console.warn(&format!("{} {one}: {}", broken.name, broken.why));
    }
    if broken.len() > TOLD {
        console.warn(&format!("{} more photos {many}; --json names all", broken.len() - TOLD));
    }
}

/// Images that could not be read, for reports.
pub fn unreadable(broken: &[Broken]) -> Vec<Unreadable> {
    broken.iter().map(|broken| Unreadable { file: broken.name.clone(), why: broken.why.clone() }).collect()
}

/// The error without the path, which stands beside it.
pub fn reason(error: &Error) -> String {
    match error {
        Error::Format { why, .. } => why.clone(),
        Error::Io { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

/// The images of a folder of classes; says what is odd about it.
pub fn list(folder: &Path, console: &Console) -> Result<Listing, Failure> {
    if !folder.is_dir() {
        let why = "a folder with one sub-folder of images per class is needed here";
        return Err(Failure::bad_file(format!("{}: {why}", folder.display())));
    }
    let listing = pictures::list_classes(folder)?;
    tell(&listing.notes(), console);
    Ok(listing)
}

/// Features as data, with classes and names of the images; with `grouped`, an image and its copies are one group.
pub fn as_data(
    map: &FeatureMap,
    extracted: Extracted,
    images: &[ImageFile],
    is_train: Option<&[bool]>,
    grouped: bool,
) -> RawData {
    let kept = |i: &usize| &images[*i];
    let places = &extracted.places;
    RawData {
        groups: grouped.then(|| places.iter().map(|i| kept(i).name.clone()).collect()),
        labels: places.iter().map(|i| kept(i).class.clone()).collect(),
        is_train: is_train.map(|flags| places.iter().map(|&i| flags[i]).collect()),
        image_shape: map.image_shape(),
        names: Some(places.iter().map(|i| kept(i).name.clone()).collect()),
        ..RawData::new(extracted.x)
    }
}

/// The kind of features that suits these images: patches need some room, and small images are pixels.
pub fn usual_kind(images: &[ImageFile]) -> &'static str {
    let step = images.len().div_ceil(LOOKED_AT).max(1);
    let sides = images.iter().step_by(step).filter_map(|image| Picture::open(&image.path).ok());
    let smallest = sides.map(|picture| picture.width.min(picture.height)).min();
    if smallest.is_some_and(|side| side < ROOM_FOR_PATCHES) { "pixels" } else { "fisher" }
}

/// True if the path is something to put through a feature map.
pub fn is_images(path: &Path) -> bool {
    path.is_dir() || (path.is_file() && pictures::is_image(path))
}

/// Images to classify, through the map of a model: all of a folder and of its sub-folders. With `lenient`, features of images that
/// cannot be read are NaN; else they are an error.
pub fn source(map: &FeatureMap, path: &Path, lenient: bool, console: &Console) -> Result<(Source, LeftOut), Failure> {
    let Listing { images, mut left_out, .. } = pictures::list_any(path)?;
    tell(&left_out.notes(), console);
    let extracted = through(map, &images, lenient, console)?;
    tell_broken(&extracted.broken, EMPTY_LABEL, console);
    left_out.broken = unreadable(&extracted.broken);
    let raw = as_data(map, with_broken(extracted, images.len()), &images, None, false);
    // What lies in the folder itself has no class, and here nobody asks for classes.
    let raw = RawData { labels: None, ..raw };
    Ok((Source { name: path.display().to_string(), sha256: digest(path)?, raw }, left_out))
}

/// Images to judge a model by, through its map: those of the folders of classes that can be read, if others may be skipped.
pub fn readable_source(
    map: &FeatureMap,
    path: &Path,
    skip_broken: bool,
    console: &Console,
) -> Result<(Source, LeftOut), Failure> {
    let Listing { images, mut left_out, .. } = list(path, console)?;
    let extracted = apply(map, &images, skip_broken, console)?;
    left_out.broken = unreadable(&extracted.broken);
    let raw = as_data(map, extracted, &images, None, false);
    Ok((Source { name: path.display().to_string(), sha256: digest(path)?, raw }, left_out))
}

/// A column of NaN for every image that was left out.
fn with_broken(extracted: Extracted, count: usize) -> Extracted {
    if extracted.places.len() == count {
        return extracted;
    }
    let mut x = Mat::full(extracted.x.nrows(), count, f64::NAN);
    for (j, &place) in extracted.places.iter().enumerate() {
        x.col_mut(place).copy_from(extracted.x.col(j));
    }
    Extracted { x, places: (0..count).collect(), ..extracted }
}

/// `54x48`.
fn size(text: &str) -> Result<[usize; 2], String> {
    let sides = text.split_once('x').and_then(|(rows, cols)| Some([rows.parse().ok()?, cols.parse().ok()?]));
    sides.filter(|sides| sides.iter().all(|&side| side > 0)).ok_or_else(|| "write HEIGHTxWIDTH, as in 54x48".into())
}
