//! Features of photos, learned again from every training part.

use crate::console::Console;
use crate::failure::Failure;
use crate::images::{self, FeatureArgs};
use atomlearn::io::RawData;
use atomlearn::io::pictures::{ImageFile, Picture};
use atomlearn::{Mat, Result};
use atomlearn_features::{Broken, Extracted, FeatureSpec, Handling, fit, refusal};
use atomlearn_lab::data::{FeatureMaker, LabData, MadeFeatures, digest};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Training parts whose features are kept: those of one split and, with tuning, of its folds.
const KEPT: usize = 12;

/// Makes features of the images of a folder.
struct ImageMaker {
    spec: FeatureSpec,
    network: Option<PathBuf>,
    images: Vec<ImageFile>,
    handling: Handling,
    /// Of features that learn nothing, those of all images and their copies.
    fixed: Option<Arc<MadeFeatures>>,
    kept: Mutex<Vec<(Vec<usize>, Arc<MadeFeatures>)>>,
}

/// The photos of a folder, to be compared on features that are fitted on every training part alone.
pub fn data(args: &FeatureArgs, kind: Option<&str>, folder: &Path, console: &Console) -> Result<LabData, Failure> {
    let listed = images::list(folder, console)?.images;
    let images = if args.skip_broken {
        readable(true, listed, console)?.0
    } else {
        // Known before the first split is learned from.
        let total = listed.len();
        match opened(listed) {
            (images, broken) if broken.is_empty() => images,
            (_, broken) => return Err(refusal(&broken, total).into()),
        }
    };
    let kind = kind.unwrap_or_else(|| images::usual_kind(&images));
    let spec = args.spec(kind)?;
    let mut data = labeled(folder, &images)?;
    let augment = args.augment.unwrap_or_default();
    let handling = Handling { skip_broken: false, augment };
    let (fixed, n_features) = match &spec {
        FeatureSpec::SiftPyramid(sift) => (None, sift.dim.min(images.len().saturating_sub(1))),
        FeatureSpec::Fisher(fisher) => (None, fisher.dim.min(images.len().saturating_sub(1))),
        _ => {
            let (map, extracted) = args.fit(&spec, &images, &vec![true; images.len()], console)?;
            (Some(Arc::new(made(extracted))), map.dim())
        }
    };
    data.image_shape = match &spec {
        FeatureSpec::Pixels(pixels) => {
            Some(atomlearn::io::ImageShape { rows: pixels.frame.rows, cols: pixels.frame.cols, column_major: false })
        }
        _ => None,
    };
    let (network, kept) = (args.onnx.clone(), Mutex::new(Vec::new()));
    let maker = ImageMaker { spec, network, images, handling, fixed, kept };
    Ok(data.made_by(Arc::new(maker), n_features))
}

/// Labels and names of images, before there are features.
pub fn labeled(folder: &Path, images: &[ImageFile]) -> Result<LabData, Failure> {
    let raw = RawData {
        labels: images.iter().map(|image| image.class.clone()).collect(),
        names: Some(images.iter().map(|image| image.name.clone()).collect()),
        ..RawData::new(Mat::zeros(1, images.len()))
    };
    Ok(LabData::new(&folder.display().to_string(), digest(folder)?, raw)?)
}

/// The images that can be decoded, where others may be skipped, and those others. Places in a split file count these.
pub fn readable(
    skip_broken: bool,
    images: Vec<ImageFile>,
    console: &Console,
) -> Result<(Vec<ImageFile>, Vec<Broken>), Failure> {
    if !skip_broken {
        return Ok((images, Vec::new()));
    }
    let (good, broken) = opened(images);
    images::tell_broken(&broken, images::LEFT_OUT, console);
    Ok((good, broken))
}

fn opened(images: Vec<ImageFile>) -> (Vec<ImageFile>, Vec<Broken>) {
    use rayon::prelude::*;
    let opened: Vec<Result<Picture>> = images.par_iter().map(|image| Picture::open(&image.path)).collect();
    let (mut good, mut broken) = (Vec::with_capacity(images.len()), Vec::new());
    for (place, (image, opened)) in images.into_iter().zip(opened).enumerate() {
        match opened {
            Ok(_) => good.push(image),
            Err(error) => broken.push(Broken { place, name: image.name, why: images::reason(&error) }),
        }
    }
    (good, broken)
}

impl FeatureMaker for ImageMaker {
    fn learn_from(&self, train: &[usize]) -> Result<Arc<MadeFeatures>> {
        if let Some(fixed) = &self.fixed {
            return Ok(fixed.clone());
        }
        let mut kept = self.kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, features)) = kept.iter().find(|(of, _)| of == train) {
            return Ok(features.clone());
        }
        let mut is_train = vec![false; self.images.len()];
        train.iter().for_each(|&i| is_train[i] = true);
        let (_, extracted) =
            fit(&self.spec, self.network.as_deref(), &self.images, &is_train, self.handling, &UntilInterrupted)?;
        let features = Arc::new(made(extracted));
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push((train.to_vec(), features.clone()));
        Ok(features)
    }

    fn identity(&self) -> String {
        json!({"features": self.spec, "augment": self.handling.augment}).to_string()
    }
}

/// Ctrl-C ends the making of features.
struct UntilInterrupted;

impl atomlearn_features::ImageObserver for UntilInterrupted {
    fn go_on(&self) -> std::ops::ControlFlow<()> {
        crate::interrupt::go_on()
    }
}

/// The first of each image's columns is the image itself, the others are copies.
fn made(extracted: Extracted) -> MadeFeatures {
    let is_copy = |j: usize| j > 0 && extracted.places[j] == extracted.places[j - 1];
    let (copies, originals): (Vec<usize>, Vec<usize>) = (0..extracted.places.len()).partition(|&j| is_copy(j));
    let select = |columns: &[usize]| atomlearn::linalg::select_columns(extracted.x.as_ref(), columns);
    let copy_of = copies.iter().map(|&j| extracted.places[j]).collect();
    MadeFeatures { x: select(&originals), copies: select(&copies), copy_of }
}
