//! Published data sets, where they are at hand: `ATOMLEARN_DATA` names their folder.
#![allow(clippy::unwrap_used, clippy::panic)]

use atomlearn::io::{ImageShape, RawData, ReadOptions, digits, read};
use std::collections::BTreeMap;
use std::path::Path;

/// The data set, or `None` (and a word about it) where there is none.
fn real(name: &str) -> Option<RawData> {
    let path = std::env::var_os("ATOMLEARN_DATA").map(|folder| Path::new(&folder).join(name));
    let Some(path) = path.filter(|path| path.exists()) else {
        println!("skipped: no real data");
        return None;
    };
    Some(read(&path, &ReadOptions::default()).unwrap())
}

fn counts(raw: &RawData) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for label in raw.labels.as_ref().unwrap() {
        *counts.entry(label.as_str()).or_default() += 1;
    }
    counts
}

#[test]
fn extended_yale_b() {
    let Some(raw) = real("EYaleB_54x48.mat") else { return };
    assert_eq!((raw.x.nrows(), raw.x.ncols()), (2592, 2414));
    let counts = counts(&raw);
    assert_eq!(counts.len(), 38);
    assert_eq!((counts["1"], counts["11"], counts["12"]), (64, 60, 59));
    assert_eq!([raw.x[(0, 0)], raw.x[(1, 0)], raw.x[(4, 0)], raw.x[(2591, 2413)]], [82.0, 84.0, 72.0, 16.0]);
    assert_eq!(raw.x.col_iter().map(|col| col.iter().sum::<f64>()).sum::<f64>(), 435200442.0);
    assert_eq!(raw.image_shape, Some(ImageShape { rows: 54, cols: 48, column_major: true }));
    assert_eq!(raw.names.unwrap().len(), 2414);
}

#[test]
fn scene_15_is_scaled() {
    let Some(raw) = real("Scene15_spm3000.mat") else { return };
    assert_eq!((raw.x.nrows(), raw.x.ncols()), (3000, 4485));
    let counts = counts(&raw);
    assert_eq!(counts.len(), 15);
    assert_eq!((counts["1"], counts["2"], counts["15"]), (241, 360, 315));
    let scale = raw.x[(0, 0)] / -2296.0;
    assert!((scale - 1.63834466e-05).abs() < 1e-12, "{scale}");
    assert_eq!(raw.x[(1, 0)], -9199.0 * scale);
}

#[test]
fn usps_has_its_split() {
    let Some(raw) = real("USPS_split.mat") else { return };
    assert_eq!((raw.x.nrows(), raw.x.ncols()), (256, 9298));
    assert_eq!(raw.is_train.unwrap().iter().filter(|&&train| train).count(), 7291);
}

#[test]
fn embedded_digits_are_whole() {
    let raw = digits();
    assert_eq!((raw.x.nrows(), raw.x.ncols()), (64, 1797));
    assert_eq!(raw.image_shape, Some(ImageShape { rows: 8, cols: 8, column_major: false }));
    let counts = counts(&raw);
    assert_eq!(counts.keys().copied().collect::<Vec<_>>(), ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    assert_eq!((counts["0"], counts["8"]), (178, 174));
    // The top row of the first image, a zero.
    let top: Vec<f64> = (0..8).map(|pixel| raw.x[(pixel, 0)]).collect();
    assert_eq!(top, [0.0, 0.0, 5.0, 13.0, 9.0, 1.0, 0.0, 0.0]);
}

#[test]
fn embedded_digits_keep_the_order_of_the_published_file() {
    let Some(file) = real("sklearn_digits.mat") else { return };
    let embedded = digits();
    assert_eq!(embedded.x, file.x);
    // The file numbers its classes from 1.
    let digit = |class: &String| (class.parse::<usize>().unwrap() - 1).to_string();
    assert_eq!(embedded.labels.unwrap(), file.labels.unwrap().iter().map(digit).collect::<Vec<_>>());
}
