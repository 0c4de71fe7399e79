//! The folders of this crate are layers: nothing knows what stands above it.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};

/// From the bottom up: the map for newcomers.
const LAYERS: [&str; 5] = ["stats", "protocol", "records", "run", "output"];

fn source_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            source_files(&path, files);
        } else if path.file_name().unwrap() != "tests.rs" {
            files.push(path);
        }
    }
}

/// What `crate::` is followed by in every line of code before the tests of a file.
fn known(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let ends = |c: char| !(c.is_alphanumeric() || c == '_');
    let names = |line: &str| {
        line.split("crate::").skip(1).map(|rest| rest.split(ends).next().unwrap().to_string()).collect::<Vec<_>>()
    };
    lines.flat_map(names).collect()
}

#[test]
fn no_folder_knows_one_above_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders: Vec<String> = Vec::new();
    let mut edges = 0;
    for entry in fs::read_dir(&source).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        if name == "lib.rs" {
            continue;
        }
        let place = |folder: &str| {
            LAYERS
                .iter()
                .position(|layer| *layer == folder)
                .unwrap_or_else(|| panic!("`{folder}` is not in the list of layers"))
        };
        let own = place(&name);
        let mut files = Vec::new();
        source_files(&path, &mut files);
        for file in files {
            for folder in known(&fs::read_to_string(&file).unwrap()) {
                assert!(
                    place(&folder) <= own,
                    "{}: `{name}` must not know `{folder}`, which stands above it",
                    file.display()
                );
                edges += usize::from(place(&folder) < own);
            }
        }
        folders.push(name);
    }
    assert_eq!(folders.len(), LAYERS.len());
    assert!(edges > 40, "{edges} edges: the test does not see the code");
}
