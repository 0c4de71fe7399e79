//! The list of dependencies is complete, no crate of the workspace may hold `unsafe` code, and the tests that
//! docs/reference/cases.md names exist.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn manifest(path: &str) -> toml::Table {
    std::fs::read_to_string(root().join(path)).unwrap().parse().unwrap()
}

#[test]
fn every_dependency_has_its_reason() {
    let declared: BTreeSet<String> = manifest("Cargo.toml")["workspace"]["dependencies"]
        .as_table()
        .unwrap()
        .keys()
        .filter(|name| !name.starts_with("atomlearn"))
        .cloned()
        .collect();
    let text = std::fs::read_to_string(root().join("docs/reference/dependencies.md")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let explained: BTreeSet<String> = rows.map(|(name, _)| name.to_string()).collect();
    assert_eq!(declared, explained, "docs/reference/dependencies.md and [workspace.dependencies] differ");
}

#[test]
fn crates_take_versions_and_lints_from_the_workspace() {
    let workspace = manifest("Cargo.toml")["workspace"].clone();
    assert_eq!(workspace["lints"]["rust"]["unsafe_code"].as_str(), Some("forbid"));
    for member in workspace["members"].as_array().unwrap() {
        let member = member.as_str().unwrap();
        let own = manifest(&format!("{member}/Cargo.toml"));
        assert_eq!(own["lints"]["workspace"].as_bool(), Some(true), "{member} leaves the lints out");
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            for (name, how) in own.get(kind).and_then(toml::Value::as_table).into_iter().flatten() {
                let shared = how.get("workspace").and_then(toml::Value::as_bool);
                assert_eq!(shared, Some(true), "{member}: `{name}` belongs into [workspace.dependencies]");
            }
        }
    }
}

/// All text of the Rust and Python sources below a folder.
fn sources(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            sources(&entry, text);
        } else if entry.extension().is_some_and(|kind| kind == "rs" || kind == "py") {
            text.push_str(&std::fs::read_to_string(&entry).unwrap());
        }
    }
}

#[test]
fn every_case_that_must_not_come_back_has_its_test() {
    let mut code = String::new();
    sources(&root().join("crates"), &mut code);
    let document = std::fs::read_to_string(root().join("docs/reference/cases.md")).unwrap();
    let cells = document.lines().filter(|line| line.starts_with("| ")).filter_map(|line| line.split('|').nth(3));
    let names: Vec<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    assert!(names.len() > 50, "{} tests are named", names.len());
    for name in names {
        let defined = code.contains(&format!("fn {name}(")) || code.contains(&format!("def {name}("));
        assert!(defined, "docs/reference/cases.md names `{name}`, which is no test");
    }
}
