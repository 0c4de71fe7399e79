//! Image folders as data: which features, and how they are made.

use crate::console::Console;
use crate::data::Source;
use crate::failure::Failure;
use crate::progress::FeatureBar;
use atomlearn::io::RawData;
use atomlearn::io::pictures::{self, ImageFile, Listing};
use atomlearn::{Error, Mat};
use atomlearn_features::{
    Coding, Crop, Extracted, FeatureMap, FeatureSpec, Fit, Frame, KINDS, OnnxSpec, PixelsSpec, Pooling, Preset,
    RandomFaceSpec, SiftSpec, extract, fit,
};
use atomlearn_lab::data::digest;
use clap::ValueEnum;
use std::path::{Path, PathBuf};

/// How features are made; most flags belong to some kinds only.
#[derive(clap::Args, Clone, Default)]
#[command(next_help_heading = "Feature options")]
pub struct FeatureArgs {
    /// Height and width images are brought to [pixels, random-face: default 54x48; onnx: where the network leaves it open]
    #[arg(long, value_name = "HxW", value_parser = size)]
    size: Option<[usize; 2]>,
    /// Images of another shape: squeeze them (stretch), or fill the frame and cut the rest (cover) [pixels, random-face: default
    /// stretch; onnx: default cover, with the usual margin]
    #[arg(long, value_name = "WAY")]
    fit: Option<FitWay>,
    /// Use this part of every image, in pixels [all kinds]
    #[arg(long, value_name = "WxH+LEFT+TOP")]
    crop: Option<Crop>,
    /// Number of features [random-face: default 540; sift-pyramid: default 3000 or what the training images span]
    #[arg(long, value_name = "N")]
    dim: Option<usize>,
    /// Seed of what is drawn [random-face, sift-pyramid: default 0]
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
    /// Longer side that larger images are shrunk to [sift-pyramid: default 300]
    #[arg(long, value_name = "PIXELS")]
    max_side: Option<usize>,
    /// Pixels between patches [sift-pyramid: default 8]
    #[arg(long, value_name = "PIXELS")]
    step: Option<usize>,
    /// Sides of the patches, multiples of 4 [sift-pyramid: default 16,24,32]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    patches: Option<Vec<usize>>,
    /// Number of visual words [sift-pyramid: default 1024]
    #[arg(long, value_name = "N")]
    words: Option<usize>,
    /// Descriptors the words are found from [sift-pyramid: default 50000]
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
    /// Leave out images that cannot be read, instead of stopping
    #[arg(long)]
    pub skip_broken: bool,
}

/// How images of another shape are made to fit.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum FitWay {
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
            ("--dim", self.dim.is_some(), &["random-face", "sift-pyramid"]),
            ("--feature-seed", self.feature_seed.is_some(), &["random-face", "sift-pyramid"]),
            ("--onnx", self.onnx.is_some(), &["onnx"]),
            ("--layer", self.layer.is_some(), &["onnx"]),
            ("--preset", self.preset.is_some(), &["onnx"]),
            ("--batch", self.batch.is_some(), &["onnx"]),
            ("--max-side", self.max_side.is_some(), &["sift-pyramid"]),
            ("--step", self.step.is_some(), &["sift-pyramid"]),
            ("--patches", self.patches.is_some(), &["sift-pyramid"]),
            ("--words", self.words.is_some(), &["sift-pyramid"]),
            ("--descriptors", self.descriptors.is_some(), &["sift-pyramid"]),
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

    /// Height and width, as given.
    pub fn size(&self) -> Option<[usize; 2]> {
        self.size
    }

    /// What features are wanted.
    pub fn spec(&self, kind: &str) -> Result<FeatureSpec, Failure> {
        if !KINDS.contains(&kind) {
            return Err(Failure::from(Error::unknown("kind of features", kind, KINDS)));
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
            _ => {
                if self.onnx.is_none() {
                    return Err(Failure::usage("features of kind onnx need a network: --onnx FILE"));
                }
                FeatureSpec::Onnx(self.network())
            }
        })
    }

    fn pixels(&self) -> PixelsSpec {
        let usual = PixelsSpec::default();
        let [rows, cols] = self.size.unwrap_or([usual.frame.rows, usual.frame.cols]);
        let fit = match self.fit {
            Some(FitWay::Cover) => Fit::Cover,
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

    fn network(&self) -> OnnxSpec {
        OnnxSpec {
            crop: self.crop,
            layer: self.layer.clone(),
            preset: match self.preset {
                Some(PresetName::Caffe) => Preset::Caffe,
                Some(PresetName::EfficientnetLite) => Preset::EfficientnetLite,
                Some(PresetName::None) => Preset::None,
                Some(PresetName::Imagenet) | None => Preset::Imagenet,
            },
            stretch: self.fit == Some(FitWay::Stretch),
            size: self.size,
            batch: self.batch.unwrap_or(1),
        }
    }

    /// Fits a map on some of the images and takes all of them through it.
    pub fn fit(
        &self,
        spec: &FeatureSpec,
        images: &[ImageFile],
        is_train: &[bool],
        console: &Console,
    ) -> Result<(FeatureMap, Extracted), Failure> {
        let bar = FeatureBar::new(console);
        let made = fit(spec, self.onnx.as_deref(), images, is_train, self.skip_broken, &bar);
        bar.finish();
        let (map, extracted) = made?;
        warn_broken(&extracted, console);
        Ok((map, extracted))
    }
}

/// Takes images through a map that is there already.
pub fn apply(
    map: &FeatureMap,
    images: &[ImageFile],
    skip_broken: bool,
    console: &Console,
) -> Result<Extracted, Failure> {
    let bar = FeatureBar::new(console);
    let extracted = extract(map, images, skip_broken, &bar);
    bar.finish();
    let extracted = extracted?;
    warn_broken(&extracted, console);
    Ok(extracted)
}

fn warn_broken(extracted: &Extracted, console: &Console) {
    for broken in &extracted.broken {
        console.warn(&format!("{} is left out: {}", broken.name, broken.why));
    }
}

/// The images of a folder of classes; says what is odd about it.
pub fn list(folder: &Path, console: &Console) -> Result<Vec<ImageFile>, Failure> {
    if !folder.is_dir() {
        let why = "features are made of a folder with one sub-folder of images per class";
        return Err(Failure::bad_file(format!("{}: {why}", folder.display())));
    }
    Ok(noted(pictures::list_classes(folder)?, console))
}

fn noted(listing: Listing, console: &Console) -> Vec<ImageFile> {
    for class in &listing.empty_classes {
        console.warn(&format!("the folder `{class}` holds no images, so there is no such class"));
    }
    if listing.ignored > 0 {
        console.note(&format!("{} files are no images by their names and are not read", listing.ignored));
    }
    listing.images
}

/// Features as data, with classes and names of the images.
pub fn as_data(map: &FeatureMap, extracted: Extracted, images: &[ImageFile], is_train: Option<&[bool]>) -> RawData {
    let kept = |i: &usize| &images[*i];
    let places = &extracted.places;
    RawData {
        labels: places.iter().map(|i| kept(i).class.clone()).collect(),
        is_train: is_train.map(|flags| places.iter().map(|&i| flags[i]).collect()),
        image_shape: map.image_shape(),
        names: Some(places.iter().map(|i| kept(i).name.clone()).collect()),
        ..RawData::new(extracted.x)
    }
}

/// True if the path is something to put through a feature map.
pub fn is_images(path: &Path) -> bool {
    path.is_dir() || (path.is_file() && pictures::is_image_name(path))
}

/// Images to classify, through the map of a model. With `lenient`, features of images that cannot be read are NaN; else they are
/// an error.
pub fn source(map: &FeatureMap, path: &Path, lenient: bool, console: &Console) -> Result<Source, Failure> {
    let images = noted(pictures::list_any(path)?, console);
    let extracted = with_broken(apply(map, &images, lenient, console)?, images.len());
    let raw = as_data(map, extracted, &images, None);
    Ok(Source { name: path.display().to_string(), sha256: digest(path)?, raw })
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
