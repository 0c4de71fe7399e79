//! Many images through a map, on all threads, with few of them decoded at any time.

use crate::augment::Augment;
use crate::fisher::Fisher;
use crate::map::{FeatureMap, FeatureSpec, Fitted};
use crate::sift::SiftPyramid;
use atomlearn::io::pictures::{ImageFile, Picture};
use atomlearn::{Error, Mat, Result};
use rayon::prelude::*;
use std::ops::ControlFlow;
use std::path::Path;

/// Broken images that an error names one by one.
const NAMED: usize = 10;

/// Told about progress; may stop the work.
pub trait ImageObserver: Sync {
    /// A stage of so many steps begins.
    fn begin(&self, stage: &str, steps: usize) {
        let _ = (stage, steps);
    }

    /// One step is done.
    fn advance(&self) {}

    /// Asked before every image.
    fn go_on(&self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl ImageObserver for () {}

/// [`Error::Interrupted`] if the watch says so.
pub(crate) fn stop_if_asked(watch: &dyn ImageObserver) -> Result<()> {
    if watch.go_on().is_break() { Err(Error::Interrupted) } else { Ok(()) }
}

/// An image without features.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its place in the list.
    pub place: usize,
    /// Its name in the folder.
    pub name: String,
    /// What is wrong with it.
    pub why: String,
}

/// Features of a list of images.
#[derive(Clone, Debug)]
pub struct Extracted {
    /// Features x images, for those that could be read.
    pub x: Mat<f64>,
    /// The places of these in the list, ascending; copies of an image follow it and have its place.
    pub places: Vec<usize>,
    /// The others.
    pub broken: Vec<Broken>,
}

/// How images are treated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Handling {
    /// Broken images are left out instead of being an error.
    pub skip_broken: bool,
    /// Copies that are made of training images.
    pub augment: Augment,
}

/// Features of images by their places, and images that have none.
pub(crate) type Found = (Placed<Vec<f64>>, Vec<Broken>);

/// Fits a map on the images that `is_train` marks and gives the features of all, and of the copies of training images.
/// `network` is the ONNX file for maps that need one. Words and directions are learned from the images themselves, not from copies.
pub fn fit(
    spec: &FeatureSpec,
    network: Option<&Path>,
    images: &[ImageFile],
    is_train: &[bool],
    handling: Handling,
    watch: &dyn ImageObserver,
) -> Result<(FeatureMap, Extracted)> {
    let Handling { skip_broken, augment } = handling;
    let (train, others): (Vec<usize>, Vec<usize>) = (0..images.len()).partition(|&i| is_train[i]);
    let (map, (mut features, mut broken)) = match spec {
        FeatureSpec::SiftPyramid(spec) => {
            let (pyramid, found) = SiftPyramid::fit(spec, images, &train, skip_broken, watch)?;
            (FeatureMap::new(Fitted::SiftPyramid(Box::new(pyramid))), found)
        }
        FeatureSpec::Fisher(spec) => {
            let (fisher, found) = Fisher::fit(spec, images, &train, skip_broken, watch)?;
            (FeatureMap::new(Fitted::Fisher(Box::new(fisher))), found)
        }
        _ => {
            let map = FeatureMap::unfitted(spec, network)?;
            let found = run(&map, images, &train, skip_broken, watch)?;
            (map, found)
        }
    };
    if !others.is_empty() {
        let (more, worse) = run(&map, images, &others, skip_broken, watch)?;
        features.extend(more);
        broken.extend(worse);
    }
    if !augment.is_none() {
        let readable: Vec<usize> = features.iter().map(|(place, _)| *place).filter(|&place| is_train[place]).collect();
        let copies = |_, picture: &Picture| -> Result<Vec<Vec<f64>>> {
            augment.copies(picture)?.iter().map(|copy| map.apply(copy)).collect()
        };
        let copies = each_image(images, &readable, "copies", watch, copies)?;
        let (copies, _) = take_broken(copies, images, false)?;
        features.extend(copies.into_iter().flat_map(|(place, all)| all.into_iter().map(move |one| (place, one))));
    }
    Ok((map, collect(features, broken, images)?))
}

/// Takes all images through a map. Where broken images are skipped and all are broken, there are no columns.
pub fn extract(
    map: &FeatureMap,
    images: &[ImageFile],
    skip_broken: bool,
    watch: &dyn ImageObserver,
) -> Result<Extracted> {
    let all: Vec<usize> = (0..images.len()).collect();
    let (features, broken) = run(map, images, &all, skip_broken, watch)?;
    if features.is_empty() && !broken.is_empty() {
        return Ok(Extracted { x: Mat::zeros(map.dim(), 0), places: Vec::new(), broken });
    }
    collect(features, broken, images)
}

/// What was made of images, by their places in the list.
type Placed<T> = Vec<(usize, T)>;

fn run(
    map: &FeatureMap,
    images: &[ImageFile],
    places: &[usize],
    skip_broken: bool,
    watch: &dyn ImageObserver,
) -> Result<(Placed<Vec<f64>>, Vec<Broken>)> {
    let results = match &map.fitted {
        Fitted::Onnx(network) if network.spec().batch > 1 => {
            watch.begin("images", places.len());
            let batch = |places: &[usize]| -> Result<Placed<Result<Vec<f64>>>> {
                stop_if_asked(watch)?;
                let ready =
                    places.iter().map(|&i| (i, Picture::open(&images[i].path).and_then(|p| network.prepare(&p))));
                let (good, bad): (Vec<_>, Vec<_>) = ready.partition(|(_, input)| input.is_ok());
                let (good_places, inputs): (Vec<usize>, Vec<Vec<f32>>) =
                    good.into_iter().filter_map(|(i, input)| input.ok().map(|input| (i, input))).unzip();
                let outputs = if inputs.is_empty() { Vec::new() } else { network.run(&inputs)? };
                let bad = bad.into_iter().filter_map(|(i, input)| input.err().map(|e| (i, Err(e))));
                places.iter().for_each(|_| watch.advance());
                Ok(good_places.into_iter().zip(outputs.into_iter().map(Ok)).chain(bad).collect())
            };
            let batches = places.par_chunks(network.spec().batch).map(batch).collect::<Result<Vec<_>>>()?;
            batches.into_iter().flatten().collect()
        }
        _ => each_image(images, places, "images", watch, |_, picture| map.apply(picture))?,
    };
    take_broken(results, images, skip_broken)
}

/// Runs `work` on the images at `places`, each decoded when its turn comes. What goes wrong with one image is its own
/// result; only the watch can end it all.
pub(crate) fn each_image<T: Send>(
    images: &[ImageFile],
    places: &[usize],
    stage: &str,
    watch: &dyn ImageObserver,
    work: impl Fn(usize, &Picture) -> Result<T> + Sync,
) -> Result<Placed<Result<T>>> {
    watch.begin(stage, places.len());
    let one = |&place: &usize| {
        stop_if_asked(watch)?;
        let result = Picture::open(&images[place].path).and_then(|picture| work(place, &picture));
        watch.advance();
        Ok((place, result))
    };
    places.par_iter().with_max_len(1).map(one).collect()
}

/// Parts good from broken; the latter are an error unless they may be skipped.
pub(crate) fn take_broken<T>(
    results: Placed<Result<T>>,
    images: &[ImageFile],
    skip_broken: bool,
) -> Result<(Placed<T>, Vec<Broken>)> {
    let (mut good, mut broken) = (Vec::with_capacity(results.len()), Vec::new());
    for (place, result) in results {
        match result {
            Ok(value) => good.push((place, value)),
            Err(error) => broken.push(Broken { place, name: images[place].name.clone(), why: reason(error) }),
        }
    }
    broken.sort_by_key(|broken| broken.place);
    if !broken.is_empty() && !skip_broken {
        return Err(refusal(&broken, good.len() + broken.len()));
    }
    Ok((good, broken))
}

/// What to say of broken images, of `total`, that may not be left out.
pub fn refusal(broken: &[Broken], total: usize) -> Error {
    let listed: Vec<String> =
        broken.iter().take(NAMED).map(|broken| format!("\n  {}: {}", broken.name, broken.why)).collect();
    let more = match broken.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("\n  and {more} more"),
    };
    Error::Data(format!(
        "{} of {total} images cannot be used; fix or remove them, or skip them with option `skip-broken`:{}{more}",
        broken.len(),
        listed.concat()
    ))
}

/// The error without the path, which stands beside it.
fn reason(error: Error) -> String {
    match error {
        Error::Format { why, .. } => why,
        Error::Io { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

fn collect(mut features: Placed<Vec<f64>>, mut broken: Vec<Broken>, images: &[ImageFile]) -> Result<Extracted> {
    features.sort_by_key(|(place, _)| *place);
    broken.sort_by_key(|broken| broken.place);
    let Some((_, first)) = features.first() else {
        return Err(Error::Data(format!("none of the {} images can be read", images.len())));
    };
    let x = Mat::from_fn(first.len(), features.len(), |i, j| features[j].1[i]);
    Ok(Extracted { x, places: features.into_iter().map(|(place, _)| place).collect(), broken })
}
