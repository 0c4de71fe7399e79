//! What a folder of photos holds: classes, sizes, formats, files that cannot be read, pictures that are there twice.

use crate::commands::evaluate::align_right;
use crate::console::Console;
use crate::failure::Failure;
use crate::images;
use crate::plain::{NAME_LETTERS, brief, shell_word};
use atomlearn::Error;
use atomlearn::io::pictures::{ImageFile, Listing, Picture, format_name};
use atomlearn_features::Fingerprint;
use atomlearn_lab::data::digest;
use atomlearn_lab::tables::plain_table;
use rayon::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

/// Classes, sizes, and pairs that are printed; JSON has all.
const SHOWN: usize = 20;

/// What is known of one image.
struct Seen {
    format: Option<&'static str>,
    grey: bool,
    size: (usize, usize),
    fingerprint: Fingerprint,
}

/// Two images that look the same.
struct Pair<'a> {
    first: &'a ImageFile,
    second: &'a ImageFile,
}

impl Pair<'_> {
    fn other_class(&self) -> bool {
        self.first.class != self.second.class
    }
}

/// Prints what the folder holds.
pub fn show(folder: &Path, console: &Console) -> Result<(), Failure> {
    let Listing { images: listed, left_out, .. } = images::list(folder, console)?;
    let seen: Vec<Result<Seen, Error>> = listed.par_iter().map(look).collect();
    let good: Vec<(&ImageFile, &Seen)> =
        listed.iter().zip(&seen).filter_map(|(image, seen)| Some((image, seen.as_ref().ok()?))).collect();
    let broken: Vec<(&str, String)> = listed
        .iter()
        .zip(&seen)
        .filter_map(|(image, seen)| Some((image.name.as_str(), images::reason(seen.as_ref().err()?))))
        .collect();
    let pairs = pairs(&good);
    let classes = counted(listed.iter().map(|image| image.class.clone().unwrap_or_default()));
    let formats = counted(good.iter().map(|(_, seen)| seen.format.unwrap_or("other")));
    let sizes = counted(good.iter().map(|(_, seen)| seen.size));
    if console.json {
        return console.print_json(&json!({
            "schema": "atomlearn.inspect/1", "kind": "data", "path": folder.display().to_string(), "sha256": digest(folder)?,
            "samples": listed.len(),
            "classes": classes.iter().map(|(class, n)| json!({"class": class, "samples": n})).collect::<Vec<_>>(),
            "images": {
                "formats": formats.iter().map(|(format, n)| json!({"format": format, "images": n})).collect::<Vec<_>>(),
                "sizes": sizes.iter().map(|((h, w), n)| json!({"height": h, "width": w, "images": n})).collect::<Vec<_>>(),
                "grey": good.iter().filter(|(_, seen)| seen.grey).count(),
                "loose": left_out.loose, "folders": left_out.folders, "files": left_out.files,
                "broken": broken.iter().map(|(name, why)| json!({"file": name, "why": why})).collect::<Vec<_>>(),
                "duplicates": pairs.iter().map(|pair| {
                    json!({"first": pair.first.name, "second": pair.second.name, "other_class": pair.other_class()})
                }).collect::<Vec<_>>(),
            },
        }));
    }
    let mut table = plain_table(console.width(), console.color);
    table.set_header(["class", "images"]);
    for (class, n) in classes.iter().take(SHOWN) {
        table.add_row([brief(class, NAME_LETTERS), n.to_string()]);
    }
    if classes.len() > SHOWN {
        table.add_row([format!("... and {} more", classes.len() - SHOWN), String::new()]);
    }
    align_right(&mut table, 1..2);
    console.print(&table.to_string())?;
    let list = |items: Vec<String>| items.join(", ");
    let mut facts = vec![
        ("images", format!("{} in {} classes", listed.len(), classes.len())),
        ("formats", list(formats.iter().map(|(format, n)| format!("{format} ({n})")).collect())),
        ("sizes", sizes_text(&sizes)),
        ("colour", format!("{} grey, {} in colour", grey_count(&good), good.len() - grey_count(&good))),
    ];
    if broken.is_empty() {
        facts.push(("broken", "none".into()));
    }
    facts.extend(broken.iter().take(SHOWN).map(|(name, why)| ("broken", format!("{name}: {why}"))));
    facts.extend(more("broken", broken.len()));
    if pairs.is_empty() {
        facts.push(("duplicates", "none".into()));
    }
    facts.extend(pairs.iter().take(SHOWN).map(|pair| {
        let also = if pair.other_class() { ", under another class: one of the labels is wrong" } else { "" };
        ("duplicates", format!("{} looks like {}{also}", pair.second.name, pair.first.name))
    }));
    facts.extend(more("duplicates", pairs.len()));
    facts.push(("sha256", digest(folder)?));
    console.print(&console.facts(&facts))?;
    let skip = if broken.is_empty() { "" } else { " --skip-broken" };
    console.print(&format!("\nNext: atomlearn auto {}{skip} -o photos.model", shell_word(&folder.to_string_lossy())))
}

fn look(image: &ImageFile) -> Result<Seen, Error> {
    let bytes = std::fs::read(&image.path).map_err(Error::io(&image.path))?;
    let picture = Picture::decode(&image.path, &bytes)?;
    Ok(Seen {
        format: format_name(&bytes),
        grey: picture.channels == 1,
        size: (picture.height, picture.width),
        fingerprint: Fingerprint::new(&picture),
    })
}

/// Each image that looks like an earlier one, with the first of these.
fn pairs<'a>(good: &[(&'a ImageFile, &'a Seen)]) -> Vec<Pair<'a>> {
    let earlier = |j: usize| {
        let (second, seen) = good[j];
        let first = good[..j].iter().find(|(_, other)| other.fingerprint.matches(&seen.fingerprint));
        first.map(|(first, _)| Pair { first, second })
    };
    (0..good.len()).into_par_iter().filter_map(earlier).collect()
}

fn grey_count(good: &[(&ImageFile, &Seen)]) -> usize {
    good.iter().filter(|(_, seen)| seen.grey).count()
}

fn counted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<(T, usize)> {
    let mut counts = BTreeMap::new();
    items.for_each(|item| *counts.entry(item).or_insert(0) += 1);
    counts.into_iter().collect()
}

fn sizes_text(sizes: &[((usize, usize), usize)]) -> String {
    match sizes {
        [] => "none can be read".into(),
        [((h, w), _)] => format!("all {h} x {w} pixels (height x width)"),
        _ => {
            let heights = || sizes.iter().map(|((h, _), _)| *h);
            let widths = || sizes.iter().map(|((_, w), _)| *w);
            let range =
                |low: Option<usize>, high: Option<usize>| format!("{} to {}", low.unwrap_or(0), high.unwrap_or(0));
            format!(
                "{} different: heights {}, widths {}",
                sizes.len(),
                range(heights().min(), heights().max()),
                range(widths().min(), widths().max())
            )
        }
    }
}

fn more(what: &'static str, count: usize) -> Option<(&'static str, String)> {
    (count > SHOWN).then(|| (what, format!("and {} more; --json lists all", count - SHOWN)))
}
