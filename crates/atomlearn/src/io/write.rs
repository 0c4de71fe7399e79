//! Data files out: `.npz` and MATLAB v5, as [`super::read`] reads them back.

use super::RawData;
use crate::dataset::sorted_classes;
use crate::file::write_atomically;
use crate::{Error, Result};
use flate2::Crc;
use std::path::Path;

/// Both formats count bytes in 32 bits.
const MAX_BYTES: usize = u32::MAX as usize - (1 << 20);

/// Writes samples with labels, split, names and image shape, whole or not at all; the extension says which format.
pub fn write(path: &Path, data: &RawData) -> Result<()> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    if 8 * data.x.nrows() * data.x.ncols() > MAX_BYTES {
        let why = "more than 4 GiB do not fit into this kind of file; use fewer samples or features";
        return Err(Error::format(path, why));
    }
    match extension.as_str() {
        "npz" => write_atomically(path, &npz(data)),
        "mat" => write_atomically(path, &mat(data)),
        _ => Err(Error::param("output", path.display(), "feature files end in .npz or .mat")),
    }
}

/// Class names in class order, and the number of every sample's class.
fn numbered(labels: &[String]) -> (Vec<String>, Vec<usize>) {
    let classes = sorted_classes(labels);
    let place = |label: &String| classes.iter().position(|class| class == label).unwrap_or(0);
    let numbers = labels.iter().map(place).collect();
    (classes, numbers)
}

fn npz(data: &RawData) -> Vec<u8> {
    let (features, samples) = data.x.shape();
    let values = data.x.col_iter().flat_map(|column| column.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>());
    let mut members = vec![("X", npy("<f8", &[samples, features], values.collect()))];
    let integers = |values: &[usize]| {
        let bytes = values.iter().flat_map(|&v| (v as i64).to_le_bytes()).collect();
        npy("<i8", &[values.len()], bytes)
    };
    if let Some(labels) = &data.labels {
        let (classes, numbers) = numbered(labels);
        members.push(("y", integers(&numbers)));
        members.push(("class_names", npy_text(&classes)));
    }
    if let Some(names) = &data.names {
        members.push(("names", npy_text(names)));
    }
    for (name, flags) in [("is_train", &data.is_train), ("map_saw", &data.map_saw)] {
        let bytes = |flags: &Vec<bool>| flags.iter().map(|&flag| u8::from(flag)).collect();
        members.extend(flags.as_ref().map(|flags| (name, npy("|u1", &[flags.len()], bytes(flags)))));
    }
    if let Some(shape) = data.image_shape.filter(|shape| !shape.column_major) {
        members.push(("image_shape", integers(&[shape.rows, shape.cols])));
    }
    zip(&members)
}

fn npy(descr: &str, shape: &[usize], data: Vec<u8>) -> Vec<u8> {
    let sizes: String = shape.iter().map(|size| format!("{size},")).collect();
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

fn npy_text(strings: &[String]) -> Vec<u8> {
    let width = strings.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
    let padded = |text: &String| {
        let codes = text.chars().map(|c| c as u32).chain(std::iter::repeat(0)).take(width);
        codes.flat_map(u32::to_le_bytes).collect::<Vec<u8>>()
    };
    npy(&format!("<U{width}"), &[strings.len()], strings.iter().flat_map(padded).collect())
}

/// A ZIP archive of stored members, without times, so that the same data give the same bytes.
fn zip(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut directory = Vec::new();
    let words = |target: &mut Vec<u8>, values: &[u16]| values.iter().for_each(|v| target.extend(v.to_le_bytes()));
    for (name, data) in members {
        let name = format!("{name}.npy");
        let mut crc = Crc::new();
        crc.update(data);
        let start = file.len() as u32;
        let mut common = Vec::new();
        // Version, flags, method, time, date (1980-01-01); checksum, sizes; lengths of name and extra field.
        words(&mut common, &[20, 0, 0, 0, 33]);
        [crc.sum(), data.len() as u32, data.len() as u32].iter().for_each(|v| common.extend(v.to_le_bytes()));
        words(&mut common, &[name.len() as u16, 0]);
        file.extend(b"PK\x03\x04");
        file.extend(&common);
        file.extend(name.as_bytes());
        file.extend(data);
        directory.extend(b"PK\x01\x02");
        words(&mut directory, &[20]);
        directory.extend(&common);
        // Comment length, disk, attributes.
        words(&mut directory, &[0, 0, 0, 0, 0]);
        directory.extend(start.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let start = file.len() as u32;
    let count = members.len() as u16;
    file.extend(&directory);
    file.extend(b"PK\x05\x06");
    words(&mut file, &[0, 0, count, count]);
    file.extend((directory.len() as u32).to_le_bytes());
    file.extend(start.to_le_bytes());
    words(&mut file, &[0]);
    file
}

const MI_INT8: u32 = 1;
const MI_UINT16: u32 = 4;
const MI_INT32: u32 = 5;
const MI_UINT32: u32 = 6;
const MI_DOUBLE: u32 = 9;
const MI_MATRIX: u32 = 14;
const MX_CELL: u32 = 1;
const MX_CHAR: u32 = 4;
const MX_DOUBLE: u32 = 6;

/// MATLAB's custom: samples in columns, classes from 1, pixels down the columns of an image.
fn mat(data: &RawData) -> Vec<u8> {
    let (features, samples) = data.x.shape();
    let shape = data.image_shape;
    let from = |i: usize| match shape {
        Some(shape) if !shape.column_major => i % shape.rows * shape.cols + i / shape.rows,
        _ => i,
    };
    let values = (0..samples).flat_map(|j| (0..features).map(move |i| data.x[(from(i), j)]));
    let mut file = b"MATLAB 5.0 MAT-file, written by atomlearn".to_vec();
    file.resize(124, b' ');
    file.extend([0, 1, b'I', b'M']);
    file.extend(numbers("X", features, samples, values));
    let row = |name: &str, values: Vec<f64>| numbers(name, 1, values.len(), values.into_iter());
    if let Some(labels) = &data.labels {
        let (classes, classes_of) = numbered(labels);
        file.extend(row("y", classes_of.into_iter().map(|c| (c + 1) as f64).collect()));
        file.extend(strings("class_names", &classes));
    }
    if let Some(names) = &data.names {
        file.extend(strings("names", names));
    }
    for (name, flags) in [("is_train", &data.is_train), ("map_saw", &data.map_saw)] {
        let numbers = |flags: &Vec<bool>| flags.iter().map(|&flag| f64::from(u8::from(flag))).collect();
        file.extend(flags.iter().flat_map(|flags| row(name, numbers(flags))));
    }
    if let Some(shape) = shape {
        file.extend(row("rows", vec![shape.rows as f64]));
        file.extend(row("cols", vec![shape.cols as f64]));
    }
    file
}

fn numbers(name: &str, rows: usize, cols: usize, values: impl Iterator<Item = f64>) -> Vec<u8> {
    matrix(MX_DOUBLE, name, rows, cols, element(MI_DOUBLE, &values.flat_map(f64::to_le_bytes).collect::<Vec<u8>>()))
}

fn strings(name: &str, strings: &[String]) -> Vec<u8> {
    let cell = |text: &String| {
        let units: Vec<u16> = text.encode_utf16().collect();
        let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        matrix(MX_CHAR, "", 1, units.len(), element(MI_UINT16, &bytes))
    };
    matrix(MX_CELL, name, 1, strings.len(), strings.iter().flat_map(cell).collect())
}

fn matrix(class: u32, name: &str, rows: usize, cols: usize, content: Vec<u8>) -> Vec<u8> {
    let flags: Vec<u8> = [class, 0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let sizes: Vec<u8> = [rows as i32, cols as i32].iter().flat_map(|v| v.to_le_bytes()).collect();
    let mut body = element(MI_UINT32, &flags);
    body.extend(element(MI_INT32, &sizes));
    body.extend(element(MI_INT8, name.as_bytes()));
    body.extend(content);
    element(MI_MATRIX, &body)
}

fn element(kind: u32, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(content.len() + 16);
    bytes.extend(kind.to_le_bytes());
    bytes.extend((content.len() as u32).to_le_bytes());
    bytes.extend(content);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{ImageShape, ReadOptions, read};
    use faer::Mat;

    #[test]
    fn both_formats_come_back_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let texts = |list: &[&str]| list.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        let data = RawData {
            labels: Some(texts(&["bee", "ant", "bee"])),
            is_train: Some(vec![true, true, false]),
            map_saw: Some(vec![true, false, true]),
            image_shape: Some(ImageShape { rows: 2, cols: 3, column_major: false }),
            names: Some(texts(&["bee/1.png", "ant/ü.png", "bee/22.png"])),
            ..RawData::new(Mat::from_fn(6, 3, |i, j| 0.1 + (10 * j + i) as f64))
        };
        for name in ["a.npz", "a.mat"] {
            let path = folder.path().join(name);
            write(&path, &data).unwrap();
            let back = read(&path, &ReadOptions::default()).unwrap();
            assert_eq!((&back.labels, &back.is_train, &back.names), (&data.labels, &data.is_train, &data.names));
            assert_eq!(back.map_saw, data.map_saw);
            let shape = back.image_shape.unwrap();
            assert_eq!((shape.rows, shape.cols, shape.column_major), (2, 3, name == "a.mat"));
            let place = |r: usize, c: usize| if shape.column_major { c * 2 + r } else { r * 3 + c };
            for (sample, r, c) in [(0, 0, 0), (1, 1, 0), (2, 0, 2), (1, 1, 2)] {
                assert_eq!(back.x[(place(r, c), sample)], data.x[(3 * r + c, sample)], "{name}");
            }
            let plain =
                RawData { labels: None, is_train: None, map_saw: None, image_shape: None, names: None, ..data.clone() };
            write(&path, &plain).unwrap();
            let back = read(&path, &ReadOptions::default()).unwrap();
            assert_eq!((back.x, back.labels), (data.x.clone(), None));
        }
        let error = write(&folder.path().join("a.csv"), &data).unwrap_err().to_string();
        assert!(error.contains(".npz or .mat"), "{error}");
    }
}
