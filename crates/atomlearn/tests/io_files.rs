//! Every kind of file, as other programs wrote it (tests/data/make_fixtures.py), gives the same four samples.
#![allow(clippy::unwrap_used, clippy::panic)]

use atomlearn::io::{ImageShape, Orientation, RawData, ReadOptions, Variable, read, read_npy, variables};
use atomlearn::{Error, Result};
use std::path::{Path, PathBuf};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn open(name: &str) -> RawData {
    open_with(name, ReadOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn open_with(name: &str, options: ReadOptions) -> Result<RawData> {
    read(&data(name), &options)
}

/// Checks the values, factor * (10 * sample + feature) - shift, and the labels.
fn check(name: &str, raw: &RawData, factor: f64, shift: f64, labels: Option<[&str; 4]>) {
    assert_eq!((raw.x.nrows(), raw.x.ncols()), (3, 4), "{name}");
    for sample in 0..4 {
        for feature in 0..3 {
            let expected = factor * (10 * sample + feature) as f64 - shift;
            assert_eq!(raw.x[(feature, sample)], expected, "{name}: feature {feature} of sample {sample}");
        }
    }
    let found = raw.labels.as_ref().map(|labels| labels.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(found, labels.map(|labels| labels.to_vec()), "{name}");
}

const NUMBERS: Option<[&str; 4]> = Some(["2", "1", "2", "3"]);
const WORDS: Option<[&str; 4]> = Some(["b", "a", "b", "c"]);

#[test]
fn values_and_labels_are_the_same_from_every_kind_of_file() {
    for (name, factor, shift, labels) in [
        ("plain.mat", 1.0, 1.5, NUMBERS),
        ("full.mat", 0.5, 0.0, WORDS),
        ("words.mat", 1.0, 1.5, WORDS),
        ("sparse.mat", 1.0, 0.0, NUMBERS),
        ("stack.mat", 1.0, 0.0, NUMBERS),
        ("v73.mat", 0.5, 0.0, WORDS),
        ("plain.h5", 1.0, 1.5, WORDS),
        ("rows.npy", 1.0, 1.5, None),
        ("fortran.npy", 1.0, 1.5, None),
        ("stored.npz", 1.0, 1.5, WORDS),
        ("packed.npz", 0.5, 0.0, WORDS),
        ("stack.npz", 1.0, 0.0, NUMBERS),
        ("header.csv", 1.0, 1.5, WORDS),
        ("index.tsv", 1.0, 0.0, NUMBERS),
        ("bare.csv", 1.0, 1.5, WORDS),
        ("data.libsvm", 1.0, 1.5, NUMBERS),
        #[cfg(feature = "parquet")]
        ("table.parquet", 1.0, 1.5, WORDS),
        #[cfg(feature = "parquet")]
        ("zstd.parquet", 1.0, 0.0, NUMBERS),
    ] {
        check(name, &open(name), factor, shift, labels);
    }
}

#[test]
fn splits_names_and_image_shapes_come_along() {
    let split = Some(vec![true, false, true, false]);
    for name in ["full.mat", "v73.mat", "packed.npz", "header.csv"] {
        assert_eq!(open(name).is_train, split, "{name}");
    }
    for name in ["full.mat", "packed.npz", "index.tsv"] {
        assert_eq!(open(name).names.unwrap(), ["n0", "n1", "n2", "nä"], "{name}");
    }
    assert_eq!(open("plain.mat").names, None);
    let column = Some(ImageShape { rows: 3, cols: 1, column_major: true });
    assert_eq!(open("full.mat").image_shape, column);
    assert_eq!(open("stack.mat").image_shape, column);
    assert_eq!(open("packed.npz").image_shape, Some(ImageShape { rows: 1, cols: 3, column_major: false }));
    assert_eq!(open("stack.npz").image_shape, Some(ImageShape { rows: 3, cols: 1, column_major: false }));
    assert_eq!(open("plain.mat").image_shape, None);
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_gives_splits_and_row_names() {
    assert_eq!(open("table.parquet").is_train, Some(vec![true, false, true, false]));
    assert_eq!(open("zstd.parquet").names.unwrap(), ["n0", "n1", "n2", "nä"]);
}

#[test]
fn labels_come_from_a_second_file() {
    for (labels, expected) in [("labels.npy", NUMBERS), ("labels.txt", WORDS)] {
        for name in ["rows.npy", "fortran.npy", "plain.mat"] {
            let raw = open_with(name, ReadOptions { labels: Some(data(labels)), ..Default::default() }).unwrap();
            check(name, &raw, 1.0, 1.5, expected);
        }
    }
    let missing = ReadOptions { labels: Some(data("nowhere.npy")), ..Default::default() };
    assert!(matches!(open_with("rows.npy", missing), Err(Error::Io { .. })));
}

#[test]
fn sparse_groups_of_matlab_73_are_read() {
    let raw = open_with("v73.mat", ReadOptions { x: Some("S".into()), ..Default::default() }).unwrap();
    check("v73.mat", &raw, 1.0, 0.0, WORDS);
}

#[test]
fn labels_can_be_left_out() {
    let none = || ReadOptions { y: Some("none".into()), ..Default::default() };
    for name in ["plain.mat", "stored.npz", "data.libsvm"] {
        assert_eq!(open_with(name, ReadOptions { samples: None, ..none() }).unwrap().labels, None, "{name}");
    }
    assert_eq!(open_with("index.tsv", none()).unwrap().x.nrows(), 4);
}

#[test]
fn misspelt_variables_get_the_nearest_name() {
    let wrong = ReadOptions { x: Some("feaa".into()), ..Default::default() };
    let message = open_with("words.mat", wrong).unwrap_err().to_string();
    assert_eq!(message, "unknown variable `feaa` (did you mean `fea`?)");
    let wrong = ReadOptions { y: Some("clas".into()), ..Default::default() };
    let message = open_with("header.csv", wrong).unwrap_err().to_string();
    assert_eq!(message, "unknown column `clas` (did you mean `class`?)");
}

#[test]
fn unusable_variables_are_named() {
    for (name, x, part) in [
        ("full.mat", "info", "struct"),
        ("full.mat", "phase", "complex double"),
        ("full.mat", "remark", "text"),
        ("v73.mat", "info", "struct"),
        ("stored.npz", "junk", "|O"),
    ] {
        let message = open_with(name, ReadOptions { x: Some(x.into()), ..Default::default() }).unwrap_err().to_string();
        assert!(message.contains(part) && message.contains(x), "{message}");
    }
}

#[test]
fn orientation_follows_the_labels_and_contradictions_are_errors() {
    let columns = ReadOptions { samples: Some(Orientation::Columns), ..Default::default() };
    let rows = ReadOptions { samples: Some(Orientation::Rows), ..Default::default() };
    check("words.mat", &open_with("words.mat", rows.clone()).unwrap(), 1.0, 1.5, WORDS);
    assert!(matches!(open_with("words.mat", columns.clone()), Err(Error::Shape { .. })));
    assert!(matches!(open_with("plain.mat", rows.clone()), Err(Error::Shape { .. })));
    assert!(matches!(open_with("stack.mat", rows.clone()), Err(Error::Data(_))));
    assert!(matches!(open_with("header.csv", columns.clone()), Err(Error::Data(_))));
    let raw = open_with("rows.npy", columns).unwrap();
    assert_eq!((raw.x.nrows(), raw.x.ncols()), (4, 3));
}

#[test]
fn variables_are_listed_with_shape_and_kind() {
    let entry = |name: &str, shape: &[usize], kind: &str| Variable {
        name: name.into(),
        shape: shape.into(),
        kind: kind.into(),
    };
    let listed = variables(&data("full.mat")).unwrap();
    for expected in [
        entry("X", &[3, 4], "int16"),
        entry("class_names", &[1, 3], "cell"),
        entry("info", &[1, 1], "struct"),
        entry("flag", &[1, 2], "logical"),
        entry("phase", &[1, 1], "complex double"),
    ] {
        assert!(listed.contains(&expected), "{expected:?} is not in {listed:?}");
    }
    let listed = variables(&data("v73.mat")).unwrap();
    let names: Vec<&str> = listed.iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["S", "X", "class_names", "info", "is_train", "scale", "y"]);
    assert_eq!(listed[0], entry("S", &[3, 4], "sparse"));
    assert_eq!(listed[1], entry("X", &[3, 4], "int16"));
    let listed = variables(&data("stored.npz")).unwrap();
    assert_eq!(listed, [entry("X", &[4, 3], "float64"), entry("y", &[4], "text"), entry("junk", &[1], "|O")]);
    assert_eq!(variables(&data("header.csv")).unwrap()[1], entry("class", &[4], "text"));
    assert_eq!(variables(&data("data.libsvm")).unwrap()[1], entry("y", &[4], "label"));
    assert_eq!(variables(&data("images")).unwrap()[1], entry("b", &[2], "images"));
    #[cfg(feature = "parquet")]
    assert_eq!(variables(&data("table.parquet")).unwrap()[1], entry("class", &[4], "text"));
}

#[test]
fn a_folder_of_images_is_read_in_the_order_of_names() {
    let raw = open("images");
    assert_eq!(raw.names.unwrap(), ["a/one.png", "b/one.pgm", "b/one.tif", "c/one.bmp", "d/one.jpg"]);
    assert_eq!(raw.labels.unwrap(), ["a", "b", "b", "c", "d"]);
    assert_eq!(raw.image_shape, Some(ImageShape { rows: 2, cols: 3, column_major: false }));
    let first = [0.0, 40.0, 40.0, 80.0];
    for (sample, first) in first.into_iter().enumerate() {
        for pixel in 0..6 {
            assert_eq!(raw.x[(pixel, sample)], first + pixel as f64);
        }
    }
    assert!((raw.x[(0, 4)] - 120.0).abs() < 5.0, "JPEG loses a little: {}", raw.x[(0, 4)]);
}

#[test]
fn images_of_different_sizes_are_sent_to_features() {
    let folder = tempfile::tempdir().unwrap();
    let class = folder.path().join("a");
    std::fs::create_dir(&class).unwrap();
    std::fs::write(class.join("1.pgm"), b"P5 1 2 255\nab").unwrap();
    std::fs::write(class.join("2.pgm"), b"P5 2 1 255\nab").unwrap();
    let message = read(folder.path(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(message.contains("atomlearn features") && message.contains("a/2.pgm"), "{message}");
}

#[test]
fn missing_empty_and_odd_paths_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    assert!(matches!(read(&at("none.mat"), &ReadOptions::default()), Err(Error::Io { .. })));
    for name in ["a.mat", "a.npy", "a.npz", "a.csv", "a.libsvm", "a.parquet", "a.h5", "a"] {
        std::fs::write(at(name), b"").unwrap();
        let message = read(&at(name), &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains("is empty"), "{message}");
    }
    let only_files = read(folder.path(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(only_files.contains("sub-folder"), "{only_files}");
    std::fs::write(at("a.docx"), b"hello").unwrap();
    let unknown = read(&at("a.docx"), &ReadOptions::default()).unwrap_err().to_string();
    assert!(unknown.contains(".npz"), "{unknown}");
    // Content decides where the extension says nothing.
    for name in ["plain.mat", "v73.mat", "stored.npz", "plain.h5"] {
        std::fs::copy(data(name), at("noname")).unwrap();
        assert!(read(&at("noname"), &ReadOptions::default()).is_ok(), "{name}");
    }
}

#[test]
fn an_array_in_memory_is_read_like_its_file() {
    for name in ["rows.npy", "fortran.npy"] {
        let bytes = std::fs::read(data(name)).unwrap();
        assert_eq!(read_npy("body", &bytes).unwrap(), open(name).x, "{name}");
        for length in 0..bytes.len() {
            let error = read_npy("body", &bytes[..length]).unwrap_err().to_string();
            assert!(error.starts_with("body: "), "{name} cut to {length}: {error}");
        }
    }
    let array = |shape: &str, values: &[f64]| {
        let head = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut bytes = [&b"\x93NUMPY\x01\x00"[..], &(head.len() as u16).to_le_bytes(), head.as_bytes()].concat();
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        read_npy("body", &bytes)
    };
    let size = |shape: &str, n: usize| array(shape, &vec![1.5; n]).map(|x| (x.nrows(), x.ncols()));
    assert_eq!(size("(6,)", 6).unwrap(), (6, 1), "one sample alone");
    assert_eq!(size("(2, 3)", 6).unwrap(), (3, 2));
    assert_eq!(size("(2, 3, 4)", 24).unwrap(), (12, 2), "a stack of images");
    for bad in ["()", "(0, 3)", "(3, 0)", "(1, 2, 3, 4)", "(99999999999999999999,)", "(18446744073709551615, 0)"] {
        assert!(size(bad, 24).is_err(), "{bad}");
    }
}
