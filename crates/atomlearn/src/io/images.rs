//! A folder of images, one sub-folder per class; pixels become grey and run along the rows.

use super::mat73::guarded;
use super::table::check_options;
use super::{ImageShape, RawData, ReadOptions, Variable, labels, limits, table};
use crate::{Error, Result};
use faer::Mat;
use image::{ImageReader, Limits};
use std::path::{Path, PathBuf};

const EXTENSIONS: [&str; 10] = ["png", "jpg", "jpeg", "pnm", "pgm", "ppm", "pbm", "tif", "tiff", "bmp"];
/// No image for learning is larger; the decoder must not believe a header that says so.
const MAX_SIDE: u32 = 1 << 15;
const MAX_DECODED: u64 = 1 << 30;

/// One image file.
struct Item {
    class: String,
    /// Path within the folder, with `/` on every system.
    name: String,
    path: PathBuf,
}

/// Reads every image; all must have one size.
pub(super) fn read(folder: &Path, options: &ReadOptions) -> Result<RawData> {
    check_options(folder, options)?;
    let items = list(folder)?;
    let (first, rows, cols) = decode(&items[0].path)?;
    let pixels = rows * cols;
    limits::check_dense(folder, "the pixels", &[pixels, items.len()])?;
    let mut x = Mat::zeros(pixels, items.len());
    for (sample, item) in items.iter().enumerate() {
        let (values, height, width) = if sample == 0 { (first.clone(), rows, cols) } else { decode(&item.path)? };
        if (height, width) != (rows, cols) {
            return Err(Error::Data(format!(
                "{}: {} is {height} x {width} pixels, {} is {rows} x {cols}; images of different sizes need \
                 features of one length: run `atomlearn features` first",
                folder.display(),
                item.name,
                items[0].name
            )));
        }
        for (pixel, value) in values.into_iter().enumerate() {
            x[(pixel, sample)] = value;
        }
    }
    let (classes, names): (Vec<String>, Vec<String>) = items.into_iter().map(|item| (item.class, item.name)).unzip();
    let labels = match (&options.labels, options.y.as_deref()) {
        (Some(file), _) => Some(table::matching(labels::read_file(file)?, file, classes.len())?),
        (None, Some("none")) => None,
        (None, None) => Some(classes),
        (None, Some(y)) => return Err(Error::unknown("variable", y, ["none"])),
    };
    let image_shape = Some(ImageShape { rows, cols, column_major: false });
    Ok(RawData { x, labels, is_train: None, image_shape, names: Some(names) })
}

/// One entry per class, with its number of images.
pub(super) fn variables(folder: &Path) -> Result<Vec<Variable>> {
    let mut variables: Vec<Variable> = Vec::new();
    for item in list(folder)? {
        match variables.last_mut() {
            Some(last) if last.name == item.class => last.shape[0] += 1,
            _ => variables.push(Variable { name: item.class, shape: vec![1], kind: "images".into() }),
        }
    }
    Ok(variables)
}

/// All images in the sub-folders, in the order of their names.
fn list(folder: &Path) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    for class_path in entries(folder)?.into_iter().filter(|path| path.is_dir()) {
        let class = file_name(&class_path);
        for path in entries(&class_path)? {
            let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
            if path.is_file() && EXTENSIONS.contains(&extension.as_str()) {
                items.push(Item { class: class.clone(), name: format!("{class}/{}", file_name(&path)), path });
            }
        }
    }
    if items.is_empty() {
        return Err(Error::format(
            folder,
            "a folder is read as images, but it has no sub-folders with .png, .jpg, .pnm, .tiff or .bmp files; \
             make one sub-folder per class, or name a file",
        ));
    }
    Ok(items)
}

/// The visible entries of a folder, sorted by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(Error::io(folder))? {
        let path = entry.map_err(Error::io(folder))?.path();
        if !file_name(&path).starts_with('.') {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Grey values row by row, height and width.
fn decode(path: &Path) -> Result<(Vec<f64>, usize, usize)> {
    let bytes = limits::read_file(path)?;
    guarded(path, || {
        let bad = |why: String| Error::format(path, format!("not a readable image ({why}); mend or remove it"));
        let mut reader = ImageReader::new(std::io::Cursor::new(bytes));
        // The content decides, since extensions of images are often wrong.
        reader = reader.with_guessed_format().map_err(Error::io(path))?;
        let mut limits = Limits::default();
        limits.max_image_width = Some(MAX_SIDE);
        limits.max_image_height = Some(MAX_SIDE);
        limits.max_alloc = Some(MAX_DECODED);
        reader.limits(limits);
        let image = reader.decode().map_err(|error| bad(error.to_string()))?.into_luma8();
        let (width, height) = (image.width() as usize, image.height() as usize);
        if width == 0 || height == 0 {
            return Err(bad("it has no pixels".into()));
        }
        Ok((image.into_raw().into_iter().map(f64::from).collect(), height, width))
    })
}
