//! The layers of the library, checked: a module uses modules of lower layers only.
//!
//! [`LAYERS`] is the map for newcomers: read it upwards to see what each module is made of. What is checked are all paths that begin with
//! `crate::` outside test modules; a name that `lib.rs` exports again counts as its module.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// From the ground up. Modules in one line do not know each other.
const LAYERS: &[(&str, &[&str])] = &[
    ("what everything may use", &["error", "warn", "blocks"]),
    ("mathematics, parameters, files", &["linalg", "params", "folds", "file", "guard"]),
    ("labelled samples, ONNX graphs, small tools", &["dataset", "export", "pca", "novelty", "graph", "grid"]),
    ("readers, spans, support vector machines", &["io", "span", "svm", "synth"]),
    ("matrices by name, random draws", &["parts", "draw"]),
    ("what was learned, what an iteration leaves to the next, their file", &["classifier", "state", "archive"]),
    ("who watches a training; codes; why a sample gets its label", &["observe", "coding", "explain"]),
    (
        "what a method is, and what methods are built from",
        &["fit", "iterations", "checkpoint", "info", "score", "kernel", "init", "update"],
    ),
    ("leave-one-out, preprocessing", &["loo", "prep"]),
    ("sums over partitions", &["rounds"]),
    ("a method by name, its type forgotten", &["method"]),
    ("everything that one training can tell", &["path"]),
    ("the methods: none knows another's model", &["methods"]),
    ("the table of methods", &["registry"]),
    ("preprocessing and method together, and their file", &["model"]),
    ("training on more samples than memory holds", &["scale"]),
    ("what tests share", &["testing"]),
];

#[test]
fn modules_use_lower_layers_only() {
    let layer: BTreeMap<&str, usize> = LAYERS
        .iter()
        .enumerate()
        .flat_map(|(i, (_, modules))| modules.iter().map(move |&module| (module, i)))
        .collect();
    let library = Library::read();
    let listed: BTreeSet<&str> = layer.keys().copied().collect();
    assert_eq!(listed, library.modules.iter().map(String::as_str).collect(), "LAYERS and lib.rs differ");
    let mut upward = Vec::new();
    for file in rust_files(&library.folder) {
        let inside = file.strip_prefix(&library.folder).unwrap();
        let module = inside.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        if module == "lib" || inside.ends_with("tests.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        for used in library.used_by(&text) {
            if used != module && layer[used.as_str()] >= layer[module] {
                upward.push(format!("{}: `{module}` must not use `{used}`", inside.display()));
            }
        }
    }
    assert!(upward.is_empty(), "{}", upward.join("\n"));
}

/// What every method may have of its own under the same name, since it means the same in each.
const IN_EVERY_METHOD: &[&str] = &[
    // What one iteration leaves to the next, what stays fixed meanwhile, the step that finds codes, what training finds.
    "Iterate",
    "Problem",
    "CodeStep",
    "Learned",
    // Words that a parameter may take: the rule of decision, the solver, the start, where atoms may lie.
    "Rule",
    "Solver",
    "Start",
    "Constraint",
    // What a training in partitions asks next.
    "Phase",
];

#[test]
fn no_two_types_have_one_name() {
    let library = Library::read();
    let mut files_of: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in rust_files(&library.folder) {
        let name = file.strip_prefix(&library.folder).unwrap().to_str().unwrap().to_string();
        if name.contains("tests") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        for declared in declared_types(text.split("#[cfg(test)]\nmod tests {").next().unwrap()) {
            files_of.entry(declared).or_default().insert(name.clone());
        }
    }
    assert!(files_of.contains_key("Dataset") && files_of["Iterate"].len() > 3, "types are not found any more");
    let double =
        |(name, files): &(&String, &BTreeSet<String>)| files.len() > 1 && !IN_EVERY_METHOD.contains(&name.as_str());
    let found: Vec<_> = files_of.iter().filter(double).collect();
    assert!(found.is_empty(), "one name, several types: {found:#?}");
}

/// Structures, enumerations, traits and aliases that stand on their own; associated types have no name of their own.
fn declared_types(text: &str) -> Vec<String> {
    let name = |line: &str| {
        let line = line.trim_start_matches("    ");
        let line = line.strip_prefix("pub").map_or(line, |rest| rest.trim_start_matches(|c| c != ' ').trim_start());
        let (kind, rest) = line.split_once(' ')?;
        let declares = ["struct", "enum", "trait"].contains(&kind) || (kind == "type" && !rest.contains("Self"));
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let associated = ["Model", "Item", "Value", "Error", "Err", "Output", "Target"].contains(&name.as_str());
        (declares && !associated && name.starts_with(char::is_uppercase)).then_some(name)
    };
    text.lines().filter_map(name).collect()
}

#[test]
fn paths_are_found_in_every_form_they_take() {
    let library = Library::read();
    let text = "
        use crate::linalg::{mul, gram}; // crate::scale
        use crate::{
            Error, Dataset, svm::{self, Svm},
        };
        fn f() { crate::graph::g() }
        #[cfg(test)]
        mod tests {
            use crate::registry;
        }
    ";
    let found: Vec<String> = library.used_by(text).into_iter().collect();
    assert_eq!(found, ["dataset", "error", "graph", "linalg", "svm"]);
}

struct Library {
    folder: PathBuf,
    modules: Vec<String>,
    /// Module of every name that `lib.rs` exports again.
    exported: BTreeMap<String, String>,
}

impl Library {
    fn read() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let root = std::fs::read_to_string(folder.join("lib.rs")).unwrap();
        let lines = || root.lines().map(|line| line.trim().trim_end_matches(';'));
        let modules = lines().filter_map(|line| line.rsplit_once("mod ").filter(|(before, _)| !before.contains('/')));
        let modules = modules.map(|(_, name)| name.to_string()).collect();
        let mut exported = BTreeMap::new();
        for (module, names) in lines().filter_map(|line| line.strip_prefix("pub use ")?.split_once("::")) {
            for name in names.split([',', '{', '}']).map(str::trim).filter(|name| !name.is_empty()) {
                exported.insert(name.to_string(), module.to_string());
            }
        }
        Library { folder, modules, exported }
    }

    /// The modules that a file names outside its tests.
    fn used_by(&self, text: &str) -> BTreeSet<String> {
        let lines: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap()).collect();
        // A test module ends its file; one that is a file of its own is not read.
        let opens_tests = |at: usize| {
            let mut next = lines[at + 1..].iter().filter(|line| !line.trim_start().starts_with("#["));
            lines[at].trim() == "#[cfg(test)]" && next.next().is_some_and(|line| line.trim_end().ends_with('{'))
        };
        let tests = (0..lines.len()).find(|&at| opens_tests(at));
        let code = lines[..tests.unwrap_or(lines.len())].join("\n");
        let mut found = BTreeSet::new();
        for path in code.split("crate::").skip(1) {
            for name in first_names(path) {
                let module = self.exported.get(name).map_or(name, String::as_str);
                if self.modules.iter().any(|known| known == module) {
                    found.insert(module.to_string());
                }
            }
        }
        found
    }
}

/// What a path begins with: one name, or every name of the outermost braces.
fn first_names(path: &str) -> Vec<&str> {
    let name = |text: &str| text.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(text.len());
    let Some(group) = path.strip_prefix('{') else { return vec![&path[..name(path)]] };
    let (mut depth, mut names, mut begins) = (0, Vec::new(), true);
    for (i, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            c if begins && !c.is_whitespace() => {
                names.push(&group[i..i + name(&group[i..])]);
                begins = false;
            }
            _ => {}
        }
    }
    names
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries
        .flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    files.sort();
    files
}
