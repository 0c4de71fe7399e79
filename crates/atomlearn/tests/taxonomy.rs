//! Every method has its place in the tree of the field, docs/methods/taxonomy.md, and in its picture.

#![allow(clippy::unwrap_used, clippy::panic)]

use atomlearn::registry::METHODS;
use std::path::PathBuf;

fn page(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/methods").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Method, and the page that its row links to.
fn rows(table: &str) -> Vec<(String, String)> {
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_string()).collect::<Vec<_>>();
    let row = |line: &str| {
        let cells = cells(line);
        let method = cells.get(2)?.strip_prefix('`')?.strip_suffix('`')?.to_string();
        let page = cells.get(4)?.split('(').nth(1)?.trim_end_matches(')').to_string();
        Some((method, page))
    };
    table.lines().filter(|line| line.starts_with('|')).filter_map(row).collect()
}

#[test]
fn every_method_has_one_place_and_a_page_that_names_it() {
    let rows = rows(&page("taxonomy.md"));
    for method in METHODS {
        let places: Vec<_> = rows.iter().filter(|(key, _)| key == method.key).collect();
        assert_eq!(
            places.len(),
            1,
            "`{}` needs one row in docs/methods/taxonomy.md; then run docs/methods/taxonomy.py",
            method.key
        );
        let text = page(&places[0].1);
        assert!(
            text.contains(&format!("`{}`", method.key)),
            "docs/methods/{} does not name `{}`",
            places[0].1,
            method.key
        );
    }
    for (key, _) in &rows {
        assert!(
            METHODS.iter().any(|method| method.key == key),
            "docs/methods/taxonomy.md has `{key}`, which is no method"
        );
    }
}

#[test]
fn the_picture_has_the_methods_of_the_table() {
    let picture = page("taxonomy.svg");
    let drawn: Vec<&str> = picture
        .split("class=\"method\"")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('>')?.1.split_once('<')?.0))
        .collect();
    let listed: Vec<String> = rows(&page("taxonomy.md")).into_iter().map(|(key, _)| key).collect();
    let sorted = |mut keys: Vec<String>| {
        keys.sort();
        keys
    };
    let drawn = sorted(drawn.into_iter().map(str::to_string).collect());
    assert_eq!(drawn, sorted(listed), "run docs/methods/taxonomy.py");
}
