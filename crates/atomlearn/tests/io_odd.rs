//! Files that are valid but unusual give the values that the packages owning their formats give. The Python suite
//! compares hundreds of them with those packages (crates/atomlearn-py/tests/test_odd_files.py); here are those that need none.
#![allow(clippy::unwrap_used, clippy::panic)]

use atomlearn::Mat;
use atomlearn::io::{RawData, ReadOptions, read, write};
use std::path::Path;

fn open(path: &Path) -> RawData {
    read(path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Four samples of three features in classes of these names, `start` added to every value.
fn samples(start: f64, labels: [&str; 4]) -> RawData {
    let labels = Some(labels.map(String::from).to_vec());
    let x = Mat::from_fn(3, 4, |i, j| start + (10 * j + i) as f64);
    RawData { labels, ..RawData::new(x) }
}

#[test]
fn the_last_of_two_variables_counts_in_mat() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mat");
    let written = |data: &RawData| {
        write(&path, data).unwrap();
        std::fs::read(&path).unwrap()
    };
    let (first, last) = (samples(0.5, ["a", "b", "a", "b"]), samples(7.0, ["b", "b", "c", "b"]));
    // Variables follow one another after a header of 128 bytes.
    let both = [written(&first), written(&last).split_off(128)].concat();
    std::fs::write(&path, both).unwrap();
    let found = open(&path);
    assert_eq!((found.x, found.labels), (last.x, last.labels));
}

/// An archive of stored members; readers go by the directory at its end.
fn archive(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in members {
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let length = (content.len() as u32).to_le_bytes();
        let common = [
            &[20, 0, 0, 0, 0, 0, 0, 0, 33, 0][..],
            &crc.sum().to_le_bytes(),
            &length,
            &length,
            &(name.len() as u16).to_le_bytes(),
            &[0, 0],
        ]
        .concat();
        let start = file.len() as u32;
        file.extend([b"PK\x03\x04", &common[..], name.as_bytes(), content].concat());
        let end = [&[0; 10][..], &start.to_le_bytes(), name.as_bytes()].concat();
        directory.extend([b"PK\x01\x02\x14\x00", &common[..], &end].concat());
    }
    let (start, count) = (file.len() as u32, members.len() as u8);
    file.extend(&directory);
    file.extend([b"PK\x05\x06\x00\x00\x00\x00", &[count, 0, count, 0][..]].concat());
    file.extend([(directory.len() as u32).to_le_bytes(), start.to_le_bytes()].concat());
    file.extend([0, 0]);
    file
}

fn npy(descr: &str, shape: &str, bytes: Vec<u8>) -> Vec<u8> {
    let head = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    [&b"\x93NUMPY\x01\x00"[..], &(head.len() as u16).to_le_bytes(), head.as_bytes(), &bytes].concat()
}

fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn the_last_of_two_members_counts_in_npz() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let x = |values: &[f64]| ("X.npy", npy("<f8", "(2, 1)", doubles(values)));
    let y = ("y.npy", npy("<f8", "(2,)", doubles(&[1.0, 2.0])));
    std::fs::write(&path, archive(&[x(&[5.0, 6.0]), y, x(&[7.0, 8.0])])).unwrap();
    assert_eq!(open(&path).x, Mat::from_fn(1, 2, |_, j| 7.0 + j as f64));
}

#[test]
fn classes_keep_their_names_where_some_of_them_are_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let names = |classes: &[f64], first: Option<f64>| {
        let mut members = vec![
            ("X.npy", npy("<f8", "(2, 1)", doubles(&[1.0, 2.0]))),
            ("y.npy", npy("<f8", "(2,)", doubles(classes))),
            ("class_names.npy", npy("|S3", "(3,)", b"antbeecat".to_vec())),
        ];
        members.extend(first.map(|first| ("first_class.npy", npy("<f8", "()", doubles(&[first])))));
        std::fs::write(&path, archive(&members)).unwrap();
        read(&path, &ReadOptions::default()).map(|data| data.labels.unwrap()).map_err(|error| error.to_string())
    };
    assert_eq!(names(&[0.0, 2.0], None).unwrap(), ["ant", "cat"]);
    assert_eq!(names(&[1.0, 2.0], None).unwrap(), ["bee", "cat"], "also without the first class");
    assert_eq!(names(&[1.0, 3.0], Some(1.0)).unwrap(), ["ant", "cat"]);
    assert_eq!(names(&[1.0, 2.0], Some(1.0)).unwrap(), ["ant", "bee"], "also without the last class");
    let refused = names(&[1.0, 3.0], None).unwrap_err();
    assert!(refused.contains("label 3 ") && refused.contains("first_class"), "{refused}");
    assert!(names(&[1.0, 2.0], Some(2.0)).unwrap_err().contains("`first_class` is 2"));
}

#[test]
fn bytes_that_are_not_utf8_do_not_join_classes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let y = npy("|S4", "(3,)", b"caf\xe9caf\xe8cafe".to_vec());
    let x = npy("<f8", "(3, 2)", doubles(&[1.0; 6]));
    std::fs::write(&path, archive(&[("X.npy", x), ("y.npy", y)])).unwrap();
    assert_eq!(open(&path).labels.unwrap(), ["caf\\xe9", "caf\\xe8", "cafe"]);
}

#[test]
fn labels_of_text_follow_one_rule() {
    let folder = tempfile::tempdir().unwrap();
    let labels = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        read(&path, &ReadOptions::default()).map(|data| data.labels.unwrap()).map_err(|error| error.to_string())
    };
    // Every sample twice, so that no class has one alone.
    let table = |cells: &[&str]| {
        let rows: String = cells.iter().map(|cell| format!("0.5,1.5,{cell}\n")).collect();
        labels("a.csv", format!("a,b,label\n{rows}{rows}"))
    };
    let libsvm = |words: &[&str]| {
        let lines: String = words.iter().map(|word| format!("{word} 1:2\n")).collect();
        labels("a.libsvm", lines.repeat(2))
    };
    for (cells, expected) in [
        (["1", "+1", "1.0", "1e0"], ["1", "1", "1", "1"]),
        (["-1", "+1", "-1.0", "2.50"], ["-1", "1", "-1", "2.5"]),
        (["1", "1.0", "+1", "a"], ["1", "1", "1", "a"]),
        (["01", "1", "2", "3"], ["01", "1", "2", "3"]),
        (["9007199254740992", "9007199254740993", "1", "2"], ["9007199254740992", "9007199254740993", "1", "2"]),
    ] {
        assert_eq!(table(&cells).unwrap(), [expected; 2].concat());
        assert_eq!(libsvm(&cells).unwrap(), [expected; 2].concat());
    }
    for marker in ["NA", "null", "None", "nan"] {
        for refused in [table(&["a", "b", marker]), libsvm(&["a", "b", marker])] {
            let refused = refused.unwrap_err();
            assert!(refused.contains("sample 2 ") && refused.contains(marker), "{refused}");
        }
    }
}

#[cfg(feature = "parquet")]
#[test]
fn whole_numbers_beyond_two_to_the_53_stay_apart_in_parquet() {
    use parquet::data_type::{DoubleType, Int64Type};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use std::sync::Arc;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let large = [1i64 << 60, (1 << 60) + 1];
    let schema = "message table { REQUIRED DOUBLE a; REQUIRED INT64 label; }";
    let file = std::fs::File::create(&path).unwrap();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(file, schema, Default::default()).unwrap();
    let mut rows = writer.next_row_group().unwrap();
    let mut column = rows.next_column().unwrap().unwrap();
    column.typed::<DoubleType>().write_batch(&[0.5, 1.5], None, None).unwrap();
    column.close().unwrap();
    let mut column = rows.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&large, None, None).unwrap();
    column.close().unwrap();
    rows.close().unwrap();
    writer.close().unwrap();
    assert_eq!(open(&path).labels.unwrap(), large.map(|label| label.to_string()));
}

#[test]
fn colours_become_grey_as_pillow_makes_them() {
    let folder = tempfile::tempdir().unwrap();
    let class = folder.path().join("a");
    std::fs::create_dir(&class).unwrap();
    let colors = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [200, 100, 50]];
    std::fs::write(class.join("1.ppm"), [&b"P6 4 1 255\n"[..], &colors.concat()].concat()).unwrap();
    let found = open(folder.path()).x;
    assert_eq!((0..4).map(|i| found[(i, 0)]).collect::<Vec<_>>(), [76.0, 150.0, 29.0, 124.0]);
}

#[cfg(target_os = "linux")]
#[test]
fn class_folders_whose_names_are_not_utf8_stay_apart() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &[u8]| {
        let class = folder.path().join(OsStr::from_bytes(name));
        std::fs::create_dir(&class).unwrap();
        std::fs::write(class.join("1.pgm"), b"P5 1 2 255\nab").unwrap();
    };
    make(b"\xff\xfe");
    make(b"\xff\xfd");
    assert_eq!(open(folder.path()).labels.unwrap(), ["\\xff\\xfd", "\\xff\\xfe"]);
    make(b"\\xff\\xfe");
    let refused = read(folder.path(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("would both be class `\\xff\\xfe`"), "{refused}");
}
