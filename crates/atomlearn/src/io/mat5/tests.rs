//! Files made by a small writer, in both byte orders, so that every branch of the format is met.

use super::*;
use crate::Mat;
use crate::io::assemble::assemble;
use crate::io::{RawData, ReadOptions};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use proptest::prelude::*;
use std::io::Write;

fn word(value: u32, big: bool) -> [u8; 4] {
    if big { value.to_be_bytes() } else { value.to_le_bytes() }
}

/// An element, in its short form where it fits.
fn part(kind: u32, data: &[u8], big: bool) -> Vec<u8> {
    let mut out = Vec::new();
    if (1..=4).contains(&data.len()) {
        out.extend(word((data.len() as u32) << 16 | kind, big));
        out.extend(data);
        out.resize(8, 0);
    } else {
        out.extend(word(kind, big));
        out.extend(word(data.len() as u32, big));
        out.extend(data);
        out.resize(out.len().next_multiple_of(8), 0);
    }
    out
}

/// A matrix element of the given class with its value parts.
fn matrix(name: &str, class: u32, shape: &[u32], values: &[Vec<u8>], big: bool) -> Vec<u8> {
    let mut body = part(6, &[word(class, big), word(0, big)].concat(), big);
    body.extend(part(5, &shape.iter().flat_map(|&size| word(size, big)).collect::<Vec<u8>>(), big));
    body.extend(part(1, name.as_bytes(), big));
    body.extend(values.concat());
    let mut out = [word(14, big), word(body.len() as u32, big)].concat();
    out.extend(body);
    out
}

fn doubles(name: &str, shape: &[u32], values: &[f64], big: bool) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|v| if big { v.to_be_bytes() } else { v.to_le_bytes() }).collect();
    matrix(name, 6, shape, &[part(9, &bytes, big)], big)
}

fn compress(element: &[u8], big: bool) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(element).unwrap();
    let packed = encoder.finish().unwrap();
    [word(15, big).to_vec(), word(packed.len() as u32, big).to_vec(), packed].concat()
}

fn file(elements: &[Vec<u8>], big: bool) -> Vec<u8> {
    let mut out = b"MATLAB 5.0 MAT-file".to_vec();
    out.resize(124, b' ');
    out.extend(if big { *b"\x01\x00MI" } else { *b"\x00\x01IM" });
    out.extend(elements.concat());
    out
}

fn try_read(bytes: &[u8], options: &ReadOptions) -> Result<RawData> {
    assemble(&Mat5::scan(Path::new("a.mat"), bytes)?, options)
}

#[test]
fn small_elements_and_narrow_storage_are_read_in_both_byte_orders() {
    for big in [false, true] {
        // A double matrix of whole numbers is stored as bytes, here short enough for the short form.
        let x = matrix("X", 6, &[2, 2], &[part(2, &[1, 2, 3, 250], big)], big);
        let raw = try_read(&file(&[x], big), &ReadOptions::default()).unwrap();
        assert_eq!([raw.x[(0, 0)], raw.x[(1, 0)], raw.x[(0, 1)], raw.x[(1, 1)]], [1.0, 2.0, 3.0, 250.0]);
    }
}

#[test]
fn scale_applies_to_integer_classes_only() {
    let scale = doubles("scale", &[1, 1], &[0.5], false);
    let integer = matrix("X", 9, &[1, 2], &[part(2, &[2, 4], false)], false);
    let double = matrix("X", 6, &[1, 2], &[part(2, &[2, 4], false)], false);
    let value = |x| try_read(&file(&[x, scale.clone()], false), &ReadOptions::default()).unwrap().x[(0, 1)];
    assert_eq!(value(integer), 2.0);
    assert_eq!(value(double), 4.0);
}

#[test]
fn a_square_matrix_with_labels_needs_a_word_from_the_user() {
    let bytes =
        file(&[doubles("X", &[2, 2], &[1.0, 2.0, 3.0, 4.0], false), doubles("y", &[1, 2], &[1.0, 2.0], false)], false);
    let message = try_read(&bytes, &ReadOptions::default()).unwrap_err().to_string();
    assert!(message.contains("option `samples = rows`"), "{message}");
    let rows = ReadOptions { samples: Some(Orientation::Rows), ..Default::default() };
    assert_eq!(try_read(&bytes, &rows).unwrap().x[(1, 0)], 3.0);
    let columns = ReadOptions { samples: Some(Orientation::Columns), ..Default::default() };
    assert_eq!(try_read(&bytes, &columns).unwrap().x[(1, 0)], 2.0);
}

#[test]
fn a_missing_label_names_the_sample() {
    let bytes =
        file(&[doubles("X", &[1, 2], &[1.0, 2.0], false), doubles("y", &[2, 1], &[1.0, f64::NAN], false)], false);
    let message = try_read(&bytes, &ReadOptions::default()).unwrap_err().to_string();
    assert!(message.contains("sample 1 "), "{message}");
}

#[test]
fn wrong_counts_and_shapes_are_errors() {
    let x = || doubles("X", &[2, 3], &[0.0; 6], false);
    for (other, part) in [
        (doubles("y", &[1, 4], &[0.0; 4], false), "2 or 3 labels"),
        (doubles("y", &[2, 2], &[0.0; 4], false), "a vector"),
        (doubles("is_train", &[1, 2], &[0.0; 2], false), "3 entries"),
        (doubles("is_train", &[1, 3], &[0.0, 2.0, 1.0], false), "0 or 1"),
    ] {
        let message = try_read(&file(&[x(), other], false), &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
    let nothing = try_read(&file(&[], false), &ReadOptions::default()).unwrap_err().to_string();
    assert!(nothing.contains("no variables"), "{nothing}");
    let other = try_read(&file(&[doubles("Z", &[1, 1], &[0.0], false)], false), &ReadOptions::default());
    assert!(other.unwrap_err().to_string().contains("Z (1 x 1 double)"));
    let empty = try_read(&file(&[doubles("X", &[0, 0], &[], false)], false), &ReadOptions::default());
    assert!(empty.unwrap_err().to_string().contains("empty"));
}

/// Three training and two test samples of two features each, with these label variables.
fn two_parts(names: [&str; 4], train_labels: Vec<u8>, test_labels: Vec<u8>) -> Vec<u8> {
    let train = doubles(names[0], &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], false);
    let test = doubles(names[2], &[2, 2], &[7.0, 8.0, 9.0, 10.0], false);
    file(&[train, train_labels, test, test_labels], false)
}

#[test]
fn training_and_test_samples_kept_apart_become_one_with_a_split() {
    let crc = ["tr_dat", "trls", "tt_dat", "ttls"];
    let (trls, ttls) =
        (doubles("trls", &[1, 3], &[2.0, 1.0, 2.0], false), doubles("ttls", &[2, 1], &[1.0, 3.0], false));
    let options = ReadOptions { samples: Some(Orientation::Columns), ..Default::default() };
    let raw = try_read(&two_parts(crc, trls, ttls.clone()), &options).unwrap();
    assert_eq!(raw.x, Mat::from_fn(2, 5, |i, j| (2 * j + i + 1) as f64));
    assert_eq!(raw.labels.as_deref().unwrap(), ["2", "1", "2", "1", "3"]);
    assert_eq!(raw.is_train.as_deref().unwrap(), [true, true, true, false, false]);
    assert!(raw.notes[0].text.contains("3 training samples from `tr_dat`"), "{:?}", raw.notes);
    // A file that also has the usual variable is read by that one, and a name that the user says is heeded.
    let named = ReadOptions { x: Some("tr_dat".into()), y: Some("trls".into()), ..Default::default() };
    let trls = doubles("trls", &[1, 3], &[2.0, 1.0, 2.0], false);
    let raw = try_read(&two_parts(crc, trls, ttls), &named).unwrap();
    assert_eq!((raw.x.ncols(), raw.is_train), (3, None));
}

#[test]
fn labels_may_be_one_hot_with_classes_down_or_across() {
    let lc_ksvd = ["training_feats", "H_train", "testing_feats", "H_test"];
    let options = ReadOptions { samples: Some(Orientation::Columns), ..Default::default() };
    // Classes 2, 1, 2 in the columns of a matrix of two classes, and 1, 1 in the rows of another.
    let h_train = doubles("H_train", &[2, 3], &[0.0, 1.0, 1.0, 0.0, 0.0, 1.0], false);
    let h_test = || doubles("H_test", &[2, 2], &[1.0, 1.0, 0.0, 0.0], false);
    let raw = try_read(&two_parts(lc_ksvd, h_train, h_test()), &options).unwrap();
    assert_eq!(raw.labels.unwrap(), ["2", "1", "2", "1", "1"]);
    for (values, part) in [
        // Two ones in a column.
        ([0.0, 1.0, 1.0, 0.0, 1.0, 1.0], "a single 1 for every sample"),
        // A sample of no class: across, it would be two samples of three classes.
        ([0.0, 1.0, 1.0, 0.0, 0.0, 0.0], "2 labels for data of 2 x 3"),
        ([0.0, 1.0, 1.0, 0.0, 0.0, 0.5], "a single 1 for every sample"),
    ] {
        let bad = doubles("H_train", &[2, 3], &values, false);
        let message = try_read(&two_parts(lc_ksvd, bad, h_test()), &options).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn two_parts_of_other_sizes_are_an_error() {
    let trls = doubles("trls", &[1, 3], &[2.0, 1.0, 2.0], false);
    let ttls = doubles("ttls", &[1, 2], &[1.0, 3.0], false);
    let train = doubles("tr_dat", &[4, 3], &[0.0; 12], false);
    let test = doubles("tt_dat", &[5, 2], &[0.0; 10], false);
    let message = try_read(&file(&[train, trls, test, ttls], false), &ReadOptions::default()).unwrap_err().to_string();
    assert!(message.contains("4 features") && message.contains("tt_dat"), "{message}");
}

#[test]
fn declared_sizes_are_not_believed() {
    // A matrix of 2^62 elements with one number in it, plain and compressed.
    let huge = matrix("X", 6, &[0x7fff_ffff, 0x7fff_ffff], &[part(9, &[0; 8], false)], false);
    assert!(try_read(&file(std::slice::from_ref(&huge), false), &ReadOptions::default()).is_err());
    assert!(try_read(&file(&[compress(&huge, false)], false), &ReadOptions::default()).is_err());
    // A value part that claims 4 GB.
    let mut long = doubles("X", &[2, 2], &[0.0; 4], false);
    let at = long.len() - 36;
    long[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(try_read(&file(&[compress(&long, false)], false), &ReadOptions::default()).is_err());
    // A cell array and a sparse matrix that claim far more than they hold.
    let cell = matrix("y", 1, &[0x7fff_ffff, 1], &[], false);
    let x = doubles("X", &[1, 1], &[0.0], false);
    assert!(try_read(&file(&[x, cell], false), &ReadOptions::default()).is_err());
    let sparse =
        matrix("X", 5, &[1 << 20, 1 << 10], &[part(5, &[], false), part(5, &[], false), part(9, &[], false)], false);
    assert!(try_read(&file(&[sparse], false), &ReadOptions::default()).is_err());
}

#[test]
fn other_files_are_told_what_they_are() {
    let message = |bytes: &[u8]| try_read(bytes, &ReadOptions::default()).unwrap_err().to_string();
    assert!(message(b"MATLAB").contains("128-byte"));
    assert!(message(&[0; 200]).contains("version 4"));
    assert!(message(&[b'x'; 200]).contains("not a MATLAB file"));
}

proptest! {
    #[test]
    fn what_is_written_is_read(rows in 1u32..6, cols in 1u32..6, big: bool, packed: bool, seed in prop::collection::vec(-1e6f64..1e6, 25)) {
        let values = &seed[..(rows * cols) as usize];
        let mut x = doubles("X", &[rows, cols], values, big);
        if packed {
            x = compress(&x, big);
        }
        let raw = try_read(&file(&[x], big), &ReadOptions::default()).unwrap();
        for col in 0..cols as usize {
            for row in 0..rows as usize {
                prop_assert_eq!(raw.x[(row, col)], values[row + col * rows as usize]);
            }
        }
    }

    #[test]
    fn any_bytes_after_the_header_are_read_or_refused(tail in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = try_read(&file(&[tail], false), &ReadOptions::default());
    }
}
