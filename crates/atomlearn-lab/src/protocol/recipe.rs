//! Recipes: the paper's experiments as files in `recipes/`, with its protocol, parameters and published numbers; and the one it
//! does not have, an ablation, where every row is compared with the whole method instead.

use crate::protocol::params_file;
use atomlearn::prep::PrepSpec;
use atomlearn::registry::{self, Method, Values};
use atomlearn::{Error, NameKind, Result};
use serde::Deserialize;

/// The paper behind every recipe.
pub const PAPER: &str = "Yin, Wu, Chen: Locality constraint dictionary learning with support vector for pattern classification. IEEE Access 2019";

const FILES: [(&str, &str); 6] = [
    ("eyaleb", include_str!("../../recipes/eyaleb.toml")),
    ("ar", include_str!("../../recipes/ar.toml")),
    ("scene15", include_str!("../../recipes/scene15.toml")),
    ("caltech101", include_str!("../../recipes/caltech101.toml")),
    ("lfw", include_str!("../../recipes/lfw.toml")),
    ("ablation", include_str!("../../recipes/ablation.toml")),
];

/// One experiment.
pub struct Recipe {
    /// Its name on the command line.
    pub key: String,
    /// The data set.
    pub title: String,
    /// Where the numbers are printed.
    pub table: String,
    /// Preprocessing.
    pub prep: PrepSpec,
    /// Sizes of the training part.
    pub train_per_class: Vec<usize>,
    /// Splits for each size.
    pub repeats: usize,
    /// Seed of the splits.
    pub seed: u64,
    /// Samples and classes that the paper's data have; none if any data will do.
    pub size: Option<(usize, usize)>,
    /// The row that all others are compared with, for an experiment without published numbers.
    pub baseline: Option<String>,
    /// Where the data come from.
    pub origin: String,
    /// What a file must hold.
    pub layout: String,
    /// Name of the column of published numbers, and of a second one.
    pub columns: (String, Option<String>),
    /// What to know before comparing.
    pub notes: Vec<String>,
    /// Rows of the table.
    pub rows: Vec<Row>,
}

impl Recipe {
    /// The same with other sizes of the training part, which published numbers do not belong to.
    pub fn with_sizes(mut self, sizes: Vec<usize>) -> Self {
        if sizes != self.train_per_class {
            for row in &mut self.rows {
                row.published.clear();
                row.published_other.clear();
                row.train_seconds = None;
                row.test_seconds = None;
            }
        }
        self.train_per_class = sizes;
        self
    }
}

/// One row of a table.
pub struct Row {
    /// Name in the paper.
    pub name: String,
    /// The method.
    pub method: &'static Method,
    /// Its parameters, completed.
    pub params: Values,
    /// The rule to look at; none is the one in use.
    pub rule: Option<String>,
    /// Published share of right answers for each size; may be shorter.
    pub published: Vec<f64>,
    /// The same under other conditions.
    pub published_other: Vec<f64>,
    /// Published training time.
    pub train_seconds: Option<f64>,
    /// Published test time.
    pub test_seconds: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    table: String,
    prep: String,
    train_per_class: Vec<usize>,
    repeats: usize,
    seed: u64,
    samples: Option<usize>,
    classes: Option<usize>,
    baseline: Option<String>,
    quick: Quick,
    data: Data,
    reference: Reference,
    row: Vec<FileRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Quick {
    repeats: usize,
    train_per_class: Option<Vec<usize>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    origin: String,
    layout: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reference {
    column: Option<String>,
    other_column: Option<String>,
    notes: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRow {
    name: String,
    method: String,
    rule: Option<String>,
    /// One row for each of these rules.
    #[serde(default)]
    rules: Vec<String>,
    #[serde(default)]
    params: toml::Table,
    #[serde(default)]
    published: Vec<f64>,
    #[serde(default)]
    published_other: Vec<f64>,
    train_seconds: Option<f64>,
    test_seconds: Option<f64>,
}

/// Names of all recipes.
pub fn keys() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(key, _)| *key)
}

/// The recipe of this name; `quick` is its small version.
pub fn recipe(key: &str, quick: bool) -> Result<Recipe> {
    let file = FILES.iter().find(|(name, _)| *name == key);
    let (_, text) = file.ok_or_else(|| Error::unknown(NameKind::Experiment, key, keys()))?;
    parse(key, text, quick)
}

/// Reads a recipe; every mistake is named.
pub fn parse(key: &str, text: &str, quick: bool) -> Result<Recipe> {
    let bad = |why: String| Error::format(format!("recipe {key}"), why);
    let file: File = toml::from_str(text).map_err(|e| bad(format!("not a recipe: {}", e.message())))?;
    let all = file.train_per_class;
    let wanted = file.quick.train_per_class.filter(|_| quick).unwrap_or_else(|| all.clone());
    let repeats = if quick { file.quick.repeats } else { file.repeats };
    if wanted.is_empty() || wanted.contains(&0) || repeats == 0 {
        return Err(bad("train_per_class and repeats must be at least 1".into()));
    }
    let mut rows = Vec::with_capacity(file.row.len());
    for row in file.row {
        let wrong = |e: Error| bad(format!("row `{}`: {e}", row.name));
        let method = registry::method(&row.method).map_err(wrong)?;
        let given = params_file::values(method, &row.params).map_err(wrong)?;
        // A table is made with the values it gives and the documented ones; nothing is chosen.
        let params = method.fixed(&given).map_err(wrong)?;
        let valid = |list: &[f64]| list.len() <= all.len() && list.iter().all(|share| (0.0..=100.0).contains(share));
        if !valid(&row.published) || !valid(&row.published_other) {
            return Err(bad(format!("row `{}`: published numbers must be one per cent per training size", row.name)));
        }
        // Published numbers belong to the sizes of the whole experiment; the small version picks its own.
        let pick = |list: &[f64]| {
            let of_size = |size: &usize| Some(list.get(all.iter().position(|other| other == size)?)? / 100.0);
            wanted.iter().map_while(of_size).collect::<Vec<f64>>()
        };
        let (published, published_other) = (pick(&row.published), pick(&row.published_other));
        let (train_seconds, test_seconds) = (row.train_seconds, row.test_seconds);
        let rules = if row.rules.is_empty() { vec![row.rule] } else { row.rules.into_iter().map(Some).collect() };
        rows.extend(rules.into_iter().map(|rule| Row {
            name: row.name.clone(),
            method,
            params: params.clone(),
            rule,
            published: published.clone(),
            published_other: published_other.clone(),
            train_seconds,
            test_seconds,
        }));
    }
    if rows.is_empty() {
        return Err(bad("holds no row".into()));
    }
    let compared = rows.iter().any(|row| Some(&row.name) == file.baseline.as_ref());
    if !compared && (file.baseline.is_some() || file.reference.column.is_none()) {
        return Err(bad("must name a column of published numbers, or as `baseline` one of its rows".into()));
    }
    Ok(Recipe {
        key: key.into(),
        title: file.title,
        table: file.table,
        prep: file.prep.parse().map_err(|e: Error| bad(e.to_string()))?,
        train_per_class: wanted,
        repeats,
        seed: file.seed,
        size: file.samples.zip(file.classes),
        baseline: file.baseline,
        origin: file.data.origin,
        layout: file.data.layout,
        columns: (file.reference.column.unwrap_or_default(), file.reference.other_column),
        notes: file.reference.notes,
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_has_the_ten_rows_of_its_table() {
        for key in keys() {
            for quick in [false, true] {
                let recipe = recipe(key, quick).unwrap();
                assert!(recipe.rows.len() == 10 || recipe.baseline.is_some(), "{key}");
                assert!(!recipe.origin.is_empty() && !recipe.layout.is_empty() && !recipe.notes.is_empty());
            }
            let whole = recipe(key, false).unwrap();
            for row in whole.rows.iter().filter(|_| whole.baseline.is_none()) {
                assert_eq!(row.published.len(), whole.train_per_class.len(), "{key} {}", row.name);
            }
        }
        let caltech = recipe("caltech101", false).unwrap();
        assert_eq!((caltech.train_per_class.len(), caltech.repeats), (6, 10));
        assert_eq!(caltech.rows[9].published[5], 0.768);
        assert!(recipe("eyale", false).err().unwrap().to_string().contains("did you mean `eyaleb`"));
    }

    #[test]
    fn mistakes_in_a_recipe_are_named() {
        let good = FILES[0].1;
        let message =
            |from: &str, to: &str| parse("test", &good.replacen(from, to, 1), false).err().unwrap().to_string();
        assert!(message("method = \"src\"", "method = \"scr\"").contains("row `SRC`: unknown method `scr`"));
        assert!(message("title =", "titel =").contains("unknown field `titel`"));
        assert!(message("theta = 5.0", "theta = -5.0").contains("row `SVGDL`: parameter `theta`"));
        assert!(message("theta = 5.0", "thta = 5.0").contains("did you mean `theta`"));
        assert!(message("published = [90.0]", "published = [900.0]").contains("row `SRC`: published"));
        assert!(message("published = [90.0]", "published = [90.0, 91.0]").contains("row `SRC`: published"));
        assert!(message("train_per_class = [20]", "train_per_class = []").contains("at least 1"));
        assert!(message("pca-uncentered:300", "pac:300").contains("unknown preprocessing step"));
        assert!(message("column = \"paper\"", "").contains("or as `baseline` one of its rows"));
        assert!(
            message("repeats = 10", "repeats = 10\nbaseline = \"all\"").contains("or as `baseline` one of its rows")
        );
        assert!(parse("test", &"[".repeat(100_000), false).is_err());
    }
}
