//! The paper's tables again: its protocol and parameters, published numbers beside ours; and its method part by part.

use crate::protocol::data::{DataInfo, LabData};
use crate::protocol::recipe::{PAPER, Recipe, Row};
use crate::protocol::splits;
use crate::records::jsonl::Appender;
use crate::records::provenance::Provenance;
use crate::records::record::{Record, entry_name};
use crate::records::results::{Comparison, MethodResult, comparisons};
use crate::run::compare::{Entry, ExperimentObserver, Plan, RunError};
use crate::stats::statistics::holm;
use atomlearn::registry::Values;
use serde::Serialize;

/// Schema of [`Reproduction`].
pub const SCHEMA: &str = "atomlearn.reproduce/1";

/// How the experiment was laid out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PaperProtocol {
    /// Sizes of the training part.
    pub train_per_class: Vec<usize>,
    /// Splits for each size.
    pub repeats: usize,
    /// Seed of the splits.
    pub seed: u64,
    /// Preprocessing.
    pub prep: String,
}

/// One row of the table for one training size.
#[derive(Clone, Debug, Serialize)]
pub struct RowResult {
    /// Name in the paper.
    pub name: String,
    /// Training samples of every class.
    pub train_per_class: usize,
    /// Method key.
    pub method: String,
    /// Decision rule.
    pub rule: String,
    /// All parameters.
    pub params: Values,
    /// Published share of right answers.
    pub published: Option<f64>,
    /// The same under other conditions.
    pub published_other: Option<f64>,
    /// Ours on each split.
    pub accuracy: Vec<f64>,
    /// Its mean.
    pub mean: f64,
    /// Its standard deviation; null for one split.
    pub std: Option<f64>,
    /// 95 % interval of the mean; null for one split.
    pub ci95: Option<[f64; 2]>,
    /// Our mean minus the published value, or minus that of the baseline.
    pub difference: Option<f64>,
    /// For rows that are compared with a baseline: the p-value of "no difference", corrected for the number of these rows by Holm's
    /// procedure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_holm: Option<f64>,
    /// Wall time of training on each split.
    pub train_seconds: Vec<f64>,
    /// Wall time of testing on each split, all rules at once.
    pub test_seconds: Vec<f64>,
    /// CPU time of training.
    pub train_cpu_seconds: Vec<f64>,
    /// CPU time of testing.
    pub test_cpu_seconds: Vec<f64>,
    /// Published training time.
    pub published_train_seconds: Option<f64>,
    /// Published test time.
    pub published_test_seconds: Option<f64>,
}

/// A table of the paper with ours beside; its JSON is documented in `docs/reference/formats.md`.
#[derive(Clone, Debug, Serialize)]
pub struct Reproduction {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Name of the recipe.
    pub experiment: String,
    /// The data set.
    pub title: String,
    /// Where the numbers are printed.
    pub table: String,
    /// The paper.
    pub paper: &'static str,
    /// The data.
    pub data: DataInfo,
    /// The protocol.
    pub protocol: PaperProtocol,
    /// The row that the others are compared with, under the same rule where it has that rule; none if they are compared with
    /// published numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Names of the columns of published numbers.
    pub columns: (String, Option<String>),
    /// One entry per row and training size.
    pub results: Vec<RowResult>,
    /// What to know before comparing.
    pub notes: Vec<String>,
    /// Version, machine and time.
    pub provenance: Provenance,
}

/// What a recipe runs: rows that differ in their rule only share a training.
pub fn entries(recipe: &Recipe) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for row in &recipe.rows {
        let variant = recipe.variant(row);
        let same =
            |entry: &Entry| entry.key() == row.method.key && entry.params == row.params && entry.variant == variant;
        if !entries.iter().any(same) {
            entries.push(Entry { variant, ..Entry::new(row.method, row.params.clone()) });
        }
    }
    entries
}

impl Recipe {
    /// What tells a row from others of the same method: its name, where rows are compared with each other.
    fn variant(&self, row: &Row) -> Option<String> {
        self.baseline.as_ref().map(|_| row.name.clone())
    }
}

/// Runs a recipe, size by size; see [`Plan::run`].
pub fn run(
    recipe: &Recipe,
    data: &LabData,
    known: &[Record],
    file: Option<&Appender>,
    watch: &mut dyn ExperimentObserver,
) -> Result<Vec<Record>, RunError> {
    let entries = entries(recipe);
    let mut records = Vec::new();
    // Splits of every size are drawn first, so that impossible ones are refused before any work is done.
    let draw = |&size: &usize| splits::stratified(data, size, recipe.repeats, recipe.seed);
    let all = recipe.train_per_class.iter().map(draw).collect::<atomlearn::Result<Vec<_>>>()?;
    for splits in &all {
        let plan = Plan { data, splits, prep: &recipe.prep, entries: &entries };
        records.extend(plan.run(known, file, watch)?);
    }
    Ok(records)
}

/// The table that the records of a recipe make.
pub fn table(recipe: &Recipe, data: &LabData, records: &[Record]) -> Reproduction {
    let by_size = comparisons(records);
    let mut results = Vec::new();
    for (s, &size) in recipe.train_per_class.iter().enumerate() {
        let comparison = by_size.iter().find(|comparison| comparison.protocol.train_per_class == Some(size));
        let Some(comparison) = comparison else { continue };
        let mut rows: Vec<RowResult> =
            recipe.rows.iter().filter_map(|row| row_result(comparison, recipe, row, s, size)).collect();
        if let Some(baseline) = &recipe.baseline {
            compare_with(baseline, comparison, &mut rows);
        }
        results.extend(rows);
    }
    let mut notes = Vec::new();
    if let Some((samples, classes)) = recipe.size.filter(|size| *size != (data.info.samples, data.info.classes)) {
        notes.push(format!(
            "These data have {} samples of {} classes; the paper's have {samples} of {classes}.",
            data.info.samples, data.info.classes
        ));
    }
    if recipe.repeats < 3 {
        let splits = if recipe.repeats == 1 { "One split is" } else { "Two splits are" };
        notes.push(format!(
            "{splits} too few to rank methods by: differences of a few points may be chance; --repeats 5 or more."
        ));
    }
    notes.extend(recipe.notes.iter().cloned());
    Reproduction {
        schema: SCHEMA,
        experiment: recipe.key.clone(),
        title: recipe.title.clone(),
        table: recipe.table.clone(),
        paper: PAPER,
        data: data.info.clone(),
        protocol: PaperProtocol {
            train_per_class: recipe.train_per_class.clone(),
            repeats: recipe.repeats,
            seed: recipe.seed,
            prep: recipe.prep.to_string(),
        },
        baseline: recipe.baseline.clone(),
        columns: recipe.columns.clone(),
        results,
        notes,
        provenance: Provenance::now(),
    }
}

/// Differences from the rows called `baseline`, and what the tests of the comparison say of them: each row beside the one with its rule
/// or, for a method that has no such rule, beside the last.
fn compare_with(baseline: &str, comparison: &Comparison, rows: &mut [RowResult]) {
    let whole: Vec<(String, String, f64)> = rows
        .iter()
        .filter(|row| row.name == baseline)
        .map(|row| (entry_name(&row.method, Some(baseline)), row.rule.clone(), row.mean))
        .collect();
    let mut tested = Vec::new();
    for (place, row) in rows.iter_mut().enumerate().filter(|(_, row)| row.name != baseline) {
        let Some((name, rule, mean)) = whole.iter().find(|whole| whole.1 == row.rule).or(whole.last()) else {
            continue;
        };
        row.difference = Some(row.mean - mean);
        let own = entry_name(&row.method, Some(&row.name));
        let pair = [(name, rule), (&own, &row.rule)];
        let test = comparison.tests.iter().find(|test| {
            let found = [(&test.a, &test.a_rule), (&test.b, &test.b_rule)];
            found == pair || found == [pair[1], pair[0]]
        });
        tested.extend(test.map(|test| (place, test.p)));
    }
    let corrected = holm(&tested.iter().map(|(_, p)| *p).collect::<Vec<_>>());
    tested.iter().zip(corrected).for_each(|((place, _), p)| rows[*place].p_holm = Some(p));
}

fn row_result(comparison: &Comparison, recipe: &Recipe, row: &Row, s: usize, size: usize) -> Option<RowResult> {
    let variant = recipe.variant(row);
    let fits = |result: &&MethodResult| {
        let rule = row.rule.as_ref().map_or(result.in_use, |rule| *rule == result.rule);
        rule && result.method == row.method.key && result.params == row.params && result.variant == variant
    };
    let result = comparison.results.iter().find(fits)?;
    let published = row.published.get(s).copied();
    Some(RowResult {
        name: row.name.clone(),
        train_per_class: size,
        method: result.method.clone(),
        rule: result.rule.clone(),
        params: result.params.clone(),
        published,
        published_other: row.published_other.get(s).copied(),
        accuracy: result.accuracy.clone(),
        mean: result.mean,
        std: result.std,
        ci95: result.ci95,
        difference: published.map(|published| result.mean - published),
        p_holm: None,
        train_seconds: result.train_seconds.clone(),
        test_seconds: result.test_seconds.clone(),
        train_cpu_seconds: result.train_cpu_seconds.clone(),
        test_cpu_seconds: result.test_cpu_seconds.clone(),
        // Times are printed for the first size.
        published_train_seconds: row.train_seconds.filter(|_| s == 0),
        published_test_seconds: row.test_seconds.filter(|_| s == 0),
    })
}

/// What to tell a user who has no data at hand.
pub fn without_data(recipe: &Recipe) -> String {
    let mut rows: Vec<&str> = recipe.rows.iter().map(|row| row.name.as_str()).collect();
    rows.dedup();
    let key = &recipe.key;
    let size = recipe.size.map_or(String::new(), |(samples, classes)| {
        format!("The paper's set has {samples} samples of {classes} classes. ")
    });
    format!(
        "{title}: {table} of\n  {PAPER}\n\n\
         Data: {origin}.\n\
         Layout: {layout}.\n\
         {size}The data are not part of this program.\n\n\
         PaperProtocol: {sizes} training samples per class, {repeats} splits, seed {seed}, preprocessing {prep}.\n\
         Rows: {rows}.\n\n\
         Run it:            atomlearn reproduce {key} --data FILE [--quick] [--report {key}.html]\n\
         Without the data:  atomlearn demo                 every method on digits that are part of the program\n\
         \x20                  atomlearn methods              parameters of every method\n",
        title = recipe.title,
        table = recipe.table,
        origin = recipe.origin,
        layout = recipe.layout,
        sizes = recipe.train_per_class.iter().map(usize::to_string).collect::<Vec<_>>().join(", "),
        repeats = recipe.repeats,
        seed = recipe.seed,
        prep = recipe.prep,
        rows = rows.join(", "),
    )
}

#[cfg(test)]
mod tests;
