//! Small pictures for the report.

use crate::console::Console;
use atomlearn::io::pictures::Picture;
use atomlearn_features::resize;
use atomlearn_lab::data::LabData;
use atomlearn_lab::record::Record;
use atomlearn_lab::report::{Photo, Photos};
use rayon::prelude::*;
use std::path::{Component, Path};

/// Longer side of a small picture.
const SIDE: usize = 120;

/// Pictures of the samples a report shows, as far as their files are found in `folder`.
pub fn photos(folder: &Path, data: &LabData, records: &[Record], console: &Console) -> Option<Photos> {
    let Some(names) = &data.names else {
        console.warn("the data do not name the images they were made from, so the page shows none");
        return None;
    };
    let (examples, places) = Photos::wanted(&data.targets, data.classes.len(), records);
    let photo =
        |&place: &usize| Some((place, Photo { name: names[place].clone(), jpeg: small(folder, &names[place])? }));
    let of_sample: std::collections::HashMap<usize, Photo> = places.par_iter().filter_map(photo).collect();
    if of_sample.len() < places.len() {
        let missing = places.len() - of_sample.len();
        console.warn(&format!("{missing} of {} images were not found in {}", places.len(), folder.display()));
    }
    Some(Photos { of_sample, examples })
}

fn small(folder: &Path, name: &str) -> Option<Vec<u8>> {
    // Names come from a file; they must not lead out of the folder.
    if !Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
        return None;
    }
    let picture = Picture::open(&folder.join(name)).ok()?;
    let longer = picture.width.max(picture.height).max(SIDE);
    let side = |length: usize| (length * SIDE / longer).max(1);
    resize(&picture, side(picture.width), side(picture.height)).to_jpeg().ok()
}
