//! `auto` on a folder of photos: which features tell the classes best, judged by leave-one-out.

use crate::console::Console;
use crate::failure::Failure;
use crate::images::{self, FeatureArgs};
use crate::training::{FromPhotos, SourceArgs, Task, Trained, train_on};
use atomlearn::Model;
use atomlearn::io::pictures::ImageFile;
use atomlearn::methods::auto::AutoModel;
use atomlearn_features::{Extracted, FeatureMap, FeatureSpec, FisherSpec, Fit, Frame, PixelsSpec, SiftSpec};
use atomlearn_lab::data::{LabData, digest};
use atomlearn_lab::findings::MAPS_TRIED;
use atomlearn_lab::tables::{percent, seconds};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// Heights and widths of the pixels that are tried.
const PIXELS: [usize; 2] = [16, 40];

/// How one feature map did.
#[derive(Serialize, Deserialize)]
struct Tried {
    kind: String,
    title: String,
    features: usize,
    accuracy: Option<f64>,
    log_loss: Option<f64>,
    seconds: f64,
}

/// Trains on the features of every map that can be made in time, and keeps what leaves samples out best.
pub fn train(source: &SourceArgs, folder: &Path, task: &Task<'_>, console: &Console) -> Result<Trained, Failure> {
    let (images, left_out) = source.training_images(folder, console)?;
    let making = source.making();
    let (mut best, mut tried): (Option<(f64, Trained)>, Vec<Tried>) = (None, Vec::new());
    let mut reported: HashSet<String> = HashSet::new();
    let sha256 = digest(folder)?;
    let limit = Duration::from_secs_f64(source.max_seconds());
    let begin = Instant::now();
    for spec in candidates(making, &images)? {
        let start = Instant::now();
        // The first takes no time to speak of, and there must be one.
        let deadline = (!tried.is_empty()).then_some(begin + limit);
        let (map, extracted) = match features(making, &spec, &images, deadline, console) {
            Ok(made) => made,
            Err(_) if deadline.is_some_and(|deadline| Instant::now() >= deadline) => {
                console.warn(&format!(
                    "{} features are not tried: they were not ready within {} s; --max-seconds allows more",
                    spec.kind(),
                    source.max_seconds()
                ));
                continue;
            }
            Err(failure) => return Err(failure),
        };
        // Every kind of features meets the same broken photos, and some may find others too small.
        let broken = &extracted.broken;
        let news: Vec<_> = broken.iter().filter(|one| reported.insert(one.name.clone())).cloned().collect();
        images::tell_broken(&news, images::LEFT_OUT, console);
        let mut left_out = left_out.clone();
        left_out.broken.extend(images::unreadable(broken));
        let grouped = !making.augment.unwrap_or_default().is_none();
        let raw = images::as_data(&map, extracted, &images, None, grouped);
        let data = LabData::new(&folder.display().to_string(), sha256.clone(), raw)?;
        let (title, n_features) = (map.title(), map.dim());
        let photos = FromPhotos { map: map.to_content(), given: false, left_out };
        let trained = train_on(source, data, Some(photos), task.clone(), console)?;
        let loo = AutoModel::of(trained.model.classifier()).and_then(|auto| auto.report().loo.as_ref());
        let log_loss = loo.map(|loo| loo.log_loss);
        tried.push(Tried {
            kind: spec.kind().into(),
            title,
            features: n_features,
            accuracy: loo.map(|loo| loo.accuracy),
            log_loss,
            seconds: start.elapsed().as_secs_f64(),
        });
        console.note(&in_words(&tried[tried.len() - 1]));
        let loss = log_loss.unwrap_or(f64::INFINITY);
        if best.as_ref().is_none_or(|(least, _)| loss < *least) {
            best = Some((loss, trained));
        }
    }
    let (_, mut trained) = best.ok_or_else(|| Failure::failed("no features could be made"))?;
    trained.seconds = begin.elapsed().as_secs_f64();
    trained.model.info.note(MAPS_TRIED, json!(tried));
    Ok(trained)
}

/// What a model notes of the ways from photos to numbers that were tried, one line each; `title` is the way that it takes.
pub fn tried_in_words(model: &Model) -> Vec<String> {
    let tried = model.info.values().get(MAPS_TRIED).cloned().unwrap_or_default();
    let tried: Vec<Tried> = serde_json::from_value(tried).unwrap_or_default();
    let title = model.features.as_ref().and_then(|map| map.header.get("title")).and_then(Value::as_str);
    let line = |tried: &Tried| {
        let chosen = if title == Some(&tried.title) { "; this one was chosen" } else { "" };
        format!("{}{chosen}", in_words(tried))
    };
    tried.iter().map(line).collect()
}

/// One line about a map.
fn in_words(tried: &Tried) -> String {
    let accuracy = tried.accuracy.map_or("no estimate".into(), |accuracy| format!("{} %", percent(accuracy)));
    format!("{}: {accuracy} by leave-one-out, {} features, {} s", tried.title, tried.features, seconds(tried.seconds))
}

/// What is tried, the quickest first.
fn candidates(making: &FeatureArgs, images: &[ImageFile]) -> Result<Vec<FeatureSpec>, Failure> {
    making.refuse_without_kind()?;
    let crop = making.crop();
    let pixels = |side: usize| {
        FeatureSpec::Pixels(PixelsSpec { crop, frame: Frame { rows: side, cols: side, fit: Fit::Stretch } })
    };
    let mut specs: Vec<FeatureSpec> = PIXELS.map(pixels).into();
    if making.onnx.is_some() {
        specs.push(making.spec("onnx")?);
    }
    if images::usual_kind(images) != "pixels" {
        specs.push(FeatureSpec::Fisher(FisherSpec { crop, ..FisherSpec::default() }));
        specs.push(FeatureSpec::SiftPyramid(SiftSpec { crop, ..SiftSpec::default() }));
    }
    Ok(specs)
}

fn features(
    making: &FeatureArgs,
    spec: &FeatureSpec,
    images: &[ImageFile],
    deadline: Option<Instant>,
    console: &Console,
) -> Result<(FeatureMap, Extracted), Failure> {
    making.fit_until(spec, images, &vec![true; images.len()], deadline, console)
}
