//! What forbids to take the numbers of a comparison at face value.

use super::{MethodResult, PairTest, best_of};
use crate::records::record::Record;

/// A difference that a reader would not take for chance.
const FAR: f64 = 0.05;

/// Sentences: on the preprocessing, and on the number of splits.
pub(super) fn cautions(records: &[&Record], results: &[MethodResult], tests: &[PairTest]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for caution in records.iter().filter_map(|record| scales(record)) {
        if !all.contains(&caution) {
            all.push(caution);
        }
    }
    all.extend(few_splits(results, tests));
    all
}

/// Features in very different units that the preprocessing leaves so, and what to type against it.
fn scales(record: &Record) -> Option<String> {
    let fact = record.scales.as_ref()?;
    let command = record.provenance.origin.command.as_ref();
    let command = command.filter(|text| text.starts_with("atomlearn compare ") && !text.contains("--prep"));
    let again = match command {
        Some(command) => format!("; before you rule them out, type `{command} --prep standard`"),
        None => "; before you rule them out, compare again with preprocessing `standard` (--prep standard)".into(),
    };
    Some(format!(
        "With preprocessing `{}`, {fact}: methods that do not scale features themselves may look worse than they are{again}",
        record.protocol.prep
    ))
}

/// With two splits no ranking is to be trusted; with up to four, a result far below the best may not be ruled out for that reason.
pub(crate) fn few_splits(results: &[MethodResult], tests: &[PairTest]) -> Option<String> {
    let best = best_of(results.iter()).filter(|_| results.len() > 1)?;
    let splits = best.accuracy.len();
    if splits == 2 {
        return Some(
            "Two splits are too few to rank by: the tests may err in either direction. Use five or more".into(),
        );
    }
    let is = |result: &MethodResult, method: &str, rule: &str| result.name() == method && result.rule == rule;
    let alike = |result: &&MethodResult| {
        tests.iter().any(|test| {
            let takes_part = is(result, &test.a, &test.a_rule) || is(result, &test.b, &test.b_rule);
            test.with_best && takes_part && test.p_holm >= 0.05
        })
    };
    let far_below = results.iter().filter(alike).any(|result| best.score - result.score > FAR);
    (far_below && (3..5).contains(&splits)).then(|| {
        format!(
            "Some results are far below the best, but {splits} splits are too few to rule them out; more splits can"
        )
    })
}
