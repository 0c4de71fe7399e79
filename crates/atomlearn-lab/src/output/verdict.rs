//! What a reader should do: which method to use, why, how sure that is, and what to type.

use crate::output::tables::{percent, seconds};
use crate::records::results::{Comparison, MethodResult, PairTest};
use crate::stats::metrics::Metric;
use crate::stats::statistics::mean;
use atomlearn::registry::{self, Values};
use serde::Serialize;
use serde_json::Value;

/// Significance, as everywhere.
pub const LEVEL: f64 = 0.05;

/// What follows from a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// What to do, in a few words.
    pub advice: String,
    /// The name of the method in words, where it is one of ours.
    pub title: Option<&'static str>,
    /// How good it is.
    pub reason: String,
    /// By how much it beats guessing; none in records of older versions.
    pub over_guessing: Option<String>,
    /// Whether it is better than the others beyond chance.
    pub certainty: String,
    /// What forbids to take the numbers at face value.
    pub cautions: Vec<String>,
    /// Results that cannot be told from it, the most accurate first.
    pub alike: Vec<String>,
    /// Which of them is much faster, if one is.
    pub faster: Option<String>,
    /// What to type.
    pub command: Option<String>,
    /// Nothing here is better than guessing.
    pub useless: bool,
}

/// The method's key, with the rule where the method has several.
pub fn name(result: &MethodResult, comparison: &Comparison) -> String {
    let several = comparison.results.iter().filter(|other| other.name() == result.name()).count() > 1;
    if several { format!("{} · {}", result.name(), result.rule) } else { result.name() }
}

/// What follows from the comparison; none if it is empty.
pub fn verdict(comparison: &Comparison) -> Option<Verdict> {
    let best = comparison.best()?;
    let majority = comparison.majority.as_ref();
    let interval = |[low, high]: [f64; 2]| format!(" (95 % interval {} to {})", percent(low), percent(high));
    let metric = comparison.protocol.metric;
    let low = best.score_ci95.map_or(best.score, |[low, _]| low);
    let useless = majority.is_some_and(|majority| low <= majority.score(metric));
    let tests = against(best, comparison);
    let mut alike: Vec<(&MethodResult, String)> = comparison
        .results
        .iter()
        .filter(|other| tests.iter().any(|(test, result)| std::ptr::eq(*result, *other) && test.p_holm >= LEVEL))
        .map(|other| (other, name(other, comparison)))
        .collect();
    alike.sort_by(|a, b| b.0.score.total_cmp(&a.0.score));
    Some(Verdict {
        advice: match useless {
            true => "Use none of these yet.".into(),
            false => format!("Use {}.", name(best, comparison)),
        },
        title: registry::method(&best.method).ok().map(|method| method.title).filter(|_| !useless),
        reason: match metric {
            Metric::Accuracy => format!(
                "{} is right on {} % of samples it has not seen{}.",
                name(best, comparison),
                percent(best.mean),
                best.ci95.map_or(String::new(), interval)
            ),
            other => format!(
                "{} has the highest {} on samples it has not seen: {} %{}. It is right on {} % of them.",
                name(best, comparison),
                other.words(),
                percent(best.score),
                best.score_ci95.map_or(String::new(), interval),
                percent(best.mean)
            ),
        },
        over_guessing: majority.map(|majority| {
            let guess = majority.score(metric);
            let (points, guess) = (100.0 * (best.score - guess), percent(guess));
            let of = match metric {
                Metric::Accuracy => String::new(),
                other => format!(" in {}", other.words()),
            };
            match useless {
                true => {
                    format!("That is not clearly better{of} than always guessing the most frequent class ({guess} %).")
                }
                false => format!(
                    "That is {points:.1} points better{of} than always guessing the most frequent class ({guess} %)."
                ),
            }
        }),
        certainty: certainty(&tests, alike.len()),
        cautions: comparison.cautions.clone(),
        faster: faster(best, &alike),
        command: (!useless).then(|| command(best, comparison)).flatten(),
        alike: alike.into_iter().map(|(_, name)| name).collect(),
        useless,
    })
}

/// The tests of a result against every other, with the other.
fn against<'a>(best: &MethodResult, comparison: &'a Comparison) -> Vec<(&'a PairTest, &'a MethodResult)> {
    let is = |result: &MethodResult, method: &str, rule: &str| result.name() == method && result.rule == rule;
    let other = |test: &'a PairTest| {
        let first = is(best, &test.a, &test.a_rule);
        let (method, rule) = if first { (&test.b, &test.b_rule) } else { (&test.a, &test.a_rule) };
        Some((test, comparison.results.iter().find(|result| is(result, method, rule))?))
    };
    comparison.tests.iter().filter(|test| test.with_best).filter_map(other).collect()
}

fn certainty(tests: &[(&PairTest, &MethodResult)], alike: usize) -> String {
    let all = tests.len();
    match (all, all - alike) {
        (0, _) => "There is no other result to compare it with.".into(),
        (1, 1) => "The other result is lower beyond chance (p < 0.05).".into(),
        (1, _) => "The other result might be as good: the difference may be chance.".into(),
        (all, 0) => {
            format!("None of the {all} other results can be ruled out as the best: any of them might be as good.")
        }
        (all, clear) if all == clear => {
            format!(
                "All {all} other results can be ruled out as the best (p < 0.05 after Holm's correction for these {all} tests)."
            )
        }
        (all, clear) => format!(
            "{clear} of the {all} other results can be ruled out as the best (p < 0.05 after Holm's correction for these {all} tests); the rest might be as good."
        ),
    }
}

/// The fastest of those that might be as good, where it takes less than a fifth of the time.
fn faster(best: &MethodResult, alike: &[(&MethodResult, String)]) -> Option<String> {
    let time = |result: &MethodResult| mean(&result.train_seconds) + mean(&result.test_seconds);
    let (result, name) =
        alike.iter().filter(|(other, _)| other.in_use).min_by(|a, b| time(a.0).total_cmp(&time(b.0)))?;
    (time(result) < 0.2 * time(best)).then(|| {
        format!(
            "Of these, {name} is fastest: {} s to train and test, against {} s.",
            seconds(time(result)),
            seconds(time(best))
        )
    })
}

/// What to type to train the method on all samples; none where the data or the method are not the command line's.
fn command(best: &MethodResult, comparison: &Comparison) -> Option<String> {
    let data = comparison.provenance.origin.data_args.as_ref()?;
    let method = registry::method(&best.method).ok()?;
    let prep = best.prep.as_ref().unwrap_or(&comparison.protocol.prep);
    let prep = if prep == method.default_prep { String::new() } else { format!(" --prep '{prep}'") };
    let defaults = method.settle(None, &Values::new()).map(|(_, params)| params).unwrap_or_default();
    let mut changed: Vec<(&str, &Value)> = best
        .params
        .iter()
        .filter(|(name, value)| defaults.get(*name) != Some(value))
        .map(|(n, v)| (n.as_str(), v))
        .collect();
    let rule = Value::from(best.rule.as_str());
    if !best.in_use && best.params.contains_key("rule") {
        changed.retain(|(name, _)| *name != "rule");
        changed.push(("rule", &rule));
    }
    let text = |value: &Value| match value {
        Value::Null => "auto".to_string(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let set: String = changed.iter().map(|(name, value)| format!(" --set {name}={}", text(value))).collect();
    if best.tuned.is_some() {
        return Some(format!(
            "atomlearn tune {data} --method {} -o best.toml\natomlearn train {data} --params best.toml -o best.model",
            method.key
        ));
    }
    Some(format!("atomlearn train {data} --method {}{prep}{set} -o best.model", method.key))
}
