//! The images behind the samples: examples of every class, and the mistakes made with the greatest confidence.

use super::axes::clipped;
use crate::records::record::{Mistake, Record};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use std::collections::HashMap;

/// Most examples on a page, over all classes.
const EXAMPLES: usize = 60;
/// Most methods whose mistakes are shown.
const METHODS: usize = 12;

/// Small pictures of some samples.
#[derive(Clone, Debug, Default)]
pub struct Photos {
    /// By their place in the data.
    pub of_sample: HashMap<usize, Photo>,
    /// Examples: class and place in the data, class by class.
    pub examples: Vec<(usize, usize)>,
}

/// A small picture.
#[derive(Clone, Debug)]
pub struct Photo {
    /// Name of its file.
    pub name: String,
    /// The bytes of a JPEG file.
    pub jpeg: Vec<u8>,
}

impl Photos {
    /// The samples whose pictures a page for these records shows: `per_class` examples of every class, and mistakes.
    pub fn wanted(targets: &[usize], n_classes: usize, records: &[Record]) -> (Vec<(usize, usize)>, Vec<usize>) {
        let per_class = (EXAMPLES / n_classes.max(1)).clamp(1, 4);
        let of_class = |class: usize| {
            let places = (0..targets.len()).filter(move |&i| targets[i] == class);
            places.take(per_class).map(move |i| (class, i))
        };
        let examples: Vec<(usize, usize)> = (0..n_classes).flat_map(of_class).take(EXAMPLES).collect();
        let mistakes = with_mistakes(records).flat_map(|record| record.mistakes.iter().map(|mistake| mistake.sample));
        let mut places: Vec<usize> = examples.iter().map(|&(_, i)| i).chain(mistakes).collect();
        places.sort_unstable();
        places.dedup();
        (examples, places)
    }
}

/// What the template shows.
#[derive(Serialize)]
pub struct PhotoGallery {
    note: String,
    examples: Vec<Example>,
    methods: Vec<Mistakes>,
}

#[derive(Serialize)]
struct Example {
    class: String,
    picture: String,
}

#[derive(Serialize)]
struct Mistakes {
    method: String,
    note: String,
    mistakes: Vec<Shown>,
}

#[derive(Serialize)]
struct Shown {
    picture: String,
    truth: String,
    found: String,
    name: String,
}

/// Runs whose mistakes are shown.
fn with_mistakes(records: &[Record]) -> impl Iterator<Item = &Record> {
    records.iter().filter(|record| !record.mistakes.is_empty()).take(METHODS)
}

/// The gallery, if any picture was found.
pub fn photo_gallery(photos: &Photos, records: &[&Record]) -> Option<PhotoGallery> {
    let classes = &records.first()?.classes;
    let class = |c: usize| classes.get(c).cloned().unwrap_or_default();
    let example = |&(c, i): &(usize, usize)| Some(Example { class: class(c), picture: uri(photos.of_sample.get(&i)?) });
    let examples: Vec<Example> = photos.examples.iter().filter_map(example).collect();
    let shown = |mistake: &Mistake| {
        let photo = photos.of_sample.get(&mistake.sample)?;
        let (truth, found) = (class(mistake.truth), class(mistake.found));
        Some(Shown { picture: uri(photo), truth, found, name: clipped(&photo.name, 40) })
    };
    let method = |record: &&Record| {
        let mistakes: Vec<Shown> = record.mistakes.iter().filter_map(shown).collect();
        let note = format!("Of the first split, rule {}; first the one it was most sure of.", record.rule);
        (!mistakes.is_empty()).then(|| Mistakes { method: record.name(), note, mistakes })
    };
    let methods: Vec<Mistakes> = records.iter().filter_map(method).take(METHODS).collect();
    let note = match examples.len() {
        0 => return None,
        1 => "An example.".to_string(),
        n => format!("{n} examples, the first of every class."),
    };
    Some(PhotoGallery { note, examples, methods })
}

fn uri(photo: &Photo) -> String {
    format!("data:image/jpeg;base64,{}", STANDARD.encode(&photo.jpeg))
}
