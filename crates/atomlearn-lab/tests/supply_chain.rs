//! The list of dependencies is complete, and no crate of the workspace may hold `unsafe` code.
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
    let text = std::fs::read_to_string(root().join("docs/DEPENDENCIES.md")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let explained: BTreeSet<String> = rows.map(|(name, _)| name.to_string()).collect();
    assert_eq!(declared, explained, "docs/DEPENDENCIES.md and [workspace.dependencies] differ");
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
