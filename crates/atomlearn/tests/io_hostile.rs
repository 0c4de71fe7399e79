//! No file may panic, hang or allocate without bound: every truncation and every damaged byte of the small fixtures.
#![allow(clippy::unwrap_used, clippy::panic)]

use atomlearn::io::{ReadOptions, read, variables};
use std::path::{Path, PathBuf};

const FIXTURES: [&str; 18] = [
    "plain.mat",
    "full.mat",
    "words.mat",
    "sparse.mat",
    "stack.mat",
    "v73.mat",
    "plain.h5",
    "rows.npy",
    "fortran.npy",
    "stored.npz",
    "packed.npz",
    "stack.npz",
    "header.csv",
    "index.tsv",
    "bare.csv",
    "data.libsvm",
    "table.parquet",
    "zstd.parquet",
];

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

/// A file of the same extension, to be overwritten with damaged content.
fn scratch(folder: &Path, name: &str) -> PathBuf {
    folder.join("scratch").with_extension(Path::new(name).extension().unwrap())
}

/// Larger files are mostly padding: every fifth byte, which visits all places within a word, keeps the test short.
fn stride(bytes: &[u8]) -> usize {
    if bytes.len() > 4000 { 5 } else { 1 }
}

/// Ends of a version 5 file's variables: what is cut there is a whole file of fewer variables.
fn boundaries(bytes: &[u8]) -> Vec<usize> {
    let mut ends = vec![];
    let mut at = 128;
    while at + 8 <= bytes.len() {
        at += 8 + u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
        ends.push(at);
    }
    ends
}

#[test]
fn every_truncated_binary_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for name in FIXTURES {
        let whole = bytes(name);
        let path = scratch(folder.path(), name);
        let text = [".csv", ".tsv", ".libsvm"].iter().any(|end| name.ends_with(end));
        let version5 = name.ends_with(".mat") && name != "v73.mat";
        let allowed = if version5 { boundaries(&whole) } else { vec![] };
        for length in (0..whole.len()).step_by(stride(&whole)) {
            std::fs::write(&path, &whole[..length]).unwrap();
            let result = read(&path, &ReadOptions::default());
            let _ = variables(&path);
            // Text cut at the end of a number is still text; a reader cannot know.
            let excused = text || allowed.contains(&length);
            assert!(excused || result.is_err(), "{name} cut to {length} of {} bytes was read", whole.len());
        }
    }
}

#[test]
fn no_damaged_byte_panics() {
    let folder = tempfile::tempdir().unwrap();
    for name in FIXTURES {
        let mut damaged = bytes(name);
        let path = scratch(folder.path(), name);
        for at in (0..damaged.len()).step_by(stride(&damaged)) {
            let mask = [0xff, 0x01, 0x80][at % 3];
            damaged[at] ^= mask;
            std::fs::write(&path, &damaged).unwrap();
            let _ = read(&path, &ReadOptions::default());
            let _ = variables(&path);
            damaged[at] ^= mask;
        }
    }
}

#[test]
fn damaged_images_are_refused_or_read_but_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let class = folder.path().join("a");
    std::fs::create_dir(&class).unwrap();
    for name in ["a/one.png", "b/one.pgm", "b/one.tif", "c/one.bmp", "d/one.jpg"] {
        let mut damaged = bytes(&format!("images/{name}"));
        let path = scratch(&class, name);
        for at in 0..damaged.len() {
            std::fs::write(&path, &damaged[..at]).unwrap();
            let _ = read(folder.path(), &ReadOptions::default());
            for mask in [0xff, 0x01, 0x80] {
                damaged[at] ^= mask;
                std::fs::write(&path, &damaged).unwrap();
                let _ = read(folder.path(), &ReadOptions::default());
                damaged[at] ^= mask;
            }
        }
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn images_out_of_proportion_to_their_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let class = folder.path().join("a");
    std::fs::create_dir(&class).unwrap();
    let refused = |name: &str, content: &[u8], words: &str| {
        std::fs::write(class.join(name), content).unwrap();
        let message = read(folder.path(), &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains(words), "{name}: {message}");
        std::fs::remove_file(class.join(name)).unwrap();
    };
    let header = "P7\nWIDTH 5000\nHEIGHT 5000\nDEPTH 3\nMAXVAL 65535\nTUPLTYPE RGB\nENDHDR\n";
    refused("big.ppm", header.as_bytes(), "the image of 5000 x 5000 pixels would take 143.1 MiB from a file of 67 B");
    refused("scans.jpg", &[&b"\xff\xd8\xff\xe0"[..], &b"\xff\xda".repeat(101)].concat(), "more than 100 scans");
}
