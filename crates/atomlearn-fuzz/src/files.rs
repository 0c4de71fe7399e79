//! Data files, pictures, splits, recipes.

use atomlearn::Mat;
use atomlearn::io::pictures::Picture;
use atomlearn::io::{Orientation, RawData, ReadOptions, read_bytes, variables_in};
use atomlearn_lab::data::LabData;
use atomlearn_lab::{params_file, recipe as recipes, splits as split_files};
use std::path::Path;
use std::sync::OnceLock;

pub fn mat5(bytes: &[u8]) {
    data("fuzz.mat", bytes);
}

/// Under both names: they differ in what is a row.
pub fn mat73(bytes: &[u8]) {
    data("fuzz.h5", bytes);
    if bytes.len() >= 8 {
        // HDF5 under the name of a MATLAB file is told from version 5 by its content.
        data("fuzz.mat", bytes);
    }
}

pub fn npy(bytes: &[u8]) {
    data("fuzz.npy", bytes);
    let _ = atomlearn::io::read_npy("fuzz", bytes);
}

pub fn npz(bytes: &[u8]) {
    data("fuzz.npz", bytes);
}

/// Tables of text, packed ones and workbooks among them: those are told by their first bytes.
pub fn csv(bytes: &[u8]) {
    data("fuzz.csv", bytes);
    data("fuzz.tsv", bytes);
    data("fuzz.txt", bytes);
}

pub fn libsvm(bytes: &[u8]) {
    data("fuzz.libsvm", bytes);
}

pub fn parquet(bytes: &[u8]) {
    data("fuzz.parquet", bytes);
}

pub fn image(bytes: &[u8]) {
    if let Ok(picture) = Picture::decode(Path::new("fuzz"), bytes) {
        assert_eq!(picture.pixels.len(), picture.width * picture.height * picture.channels);
        assert_eq!(picture.grey().pixels.len(), picture.width * picture.height);
    }
}

/// A split file for ten samples of two classes.
pub fn splits(bytes: &[u8]) {
    static DATA: OnceLock<Option<LabData>> = OnceLock::new();
    let made = DATA.get_or_init(|| {
        let labels = (0..10).map(|j| (j % 2).to_string()).collect();
        let raw = RawData { labels: Some(labels), ..RawData::new(Mat::from_fn(2, 10, |i, j| (i + j) as f64)) };
        LabData::new("fuzz", "0".repeat(64), raw).ok()
    });
    let Some(data) = made else { return };
    if let Ok(found) = split_files::parse(Path::new("fuzz"), bytes, data) {
        assert!(found.splits.iter().all(|split| split.train.iter().chain(&split.test).all(|&i| i < 10)));
    }
}

/// A recipe and a file of parameters are both TOML.
pub fn recipe(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = recipes::parse("fuzz", text, false);
    let _ = recipes::parse("fuzz", text, true);
    let _ = params_file::parse(text);
}

/// Lists a file and reads it with the usual names, without labels, and with the first variable either way round.
fn data(name: &str, bytes: &[u8]) {
    let path = Path::new(name);
    let listed = variables_in(path, bytes.to_vec());
    let first = listed.ok().and_then(|variables| variables.first().map(|variable| variable.name.clone()));
    let no_labels = ReadOptions { y: Some("none".into()), ..ReadOptions::default() };
    let named = ReadOptions { x: first, samples: Some(Orientation::Rows), ..no_labels.clone() };
    for options in [ReadOptions::default(), no_labels, named] {
        if let Ok(raw) = read_bytes(path, bytes.to_vec(), &options) {
            let samples = raw.x.ncols();
            assert!(raw.labels.is_none_or(|labels| labels.len() == samples), "labels for every sample");
            assert!(raw.is_train.is_none_or(|split| split.len() == samples), "a split for every sample");
            assert!(raw.names.is_none_or(|names| names.len() == samples), "names for every sample");
        }
    }
}
