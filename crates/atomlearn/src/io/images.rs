//! A folder of images, one sub-folder per class; pixels become grey and run along the rows.

use super::pictures::{Picture, list_classes};
use super::table::check_options;
use super::{ImageShape, RawData, ReadOptions, Variable, labels, limits, table};
use crate::{Error, NameKind, Result};
use std::path::Path;

/// Reads every image; all must have one size.
pub(super) fn read(folder: &Path, options: &ReadOptions) -> Result<RawData> {
    check_options(folder, options)?;
    let listing = list_classes(folder)?;
    let notes = listing.notes();
    let items = listing.images;
    let first = Picture::open(&items[0].path)?;
    let rows = first.height;
    let cols = first.width;
    let stored = items.iter().filter_map(|item| item.path.metadata().ok()).map(|found| found.len() as usize).sum();
    limits::check_expansion(folder, "the pixels", &[rows * cols, items.len()], stored)?;
    let mut x = limits::matrix(folder, "the pixels", (rows * cols, items.len()), stored, |_, _| 0.0)?;
    for (sample, item) in items.iter().enumerate() {
        let picture = Picture::open(&item.path)?;
        if (picture.height, picture.width) != (rows, cols) {
            return Err(Error::Data(format!(
                "{}: {} is {} x {} pixels, {} is {rows} x {cols}; images of different sizes need \
                 features of one length: run `atomlearn features` first, or train with option `features = pixels`",
                folder.display(),
                item.name,
                picture.height,
                picture.width,
                items[0].name
            )));
        }
        for (pixel, &value) in picture.grey().pixels.iter().enumerate() {
            x[(pixel, sample)] = f64::from(value);
        }
    }
    let classes = || items.iter().map(|item| item.class.clone().unwrap_or_default()).collect();
    let labels = match (&options.labels, options.y.as_deref()) {
        (Some(file), _) => Some(table::matching(labels::read_file(file)?, file, items.len())?),
        (None, Some("none")) => None,
        (None, None) => Some(classes()),
        (None, Some(y)) => return Err(Error::unknown(NameKind::Variable, y, ["none"])),
    };
    let image_shape = Some(ImageShape { rows, cols, column_major: false });
    let names = items.into_iter().map(|item| item.name).collect();
    Ok(RawData { labels, image_shape, names: Some(names), notes, ..RawData::new(x) })
}

/// One entry per class, with its number of images.
pub(super) fn variables(folder: &Path) -> Result<Vec<Variable>> {
    let mut variables: Vec<Variable> = Vec::new();
    for item in list_classes(folder)?.images {
        let class = item.class.unwrap_or_default();
        match variables.last_mut() {
            Some(last) if last.name == class => last.shape[0] += 1,
            _ => variables.push(Variable { name: class, shape: vec![1], kind: "images".into() }),
        }
    }
    Ok(variables)
}
