//! Tests of "no difference" between two results.

use super::{MethodResult, PairTest};
use crate::records::record::{PairedTest, Record, RuleOutcome};
use crate::stats::crossed::{SplitValues, crossed_mean};
use crate::stats::metrics::Metric;
use crate::stats::statistics::{corrected_resampled_t, mcnemar, mean};

/// Two results on one split that both were run on.
struct SharedSplit<'a> {
    record: &'a Record,
    a: &'a RuleOutcome,
    b: &'a RuleOutcome,
}

impl<'a> SharedSplit<'a> {
    /// The differences with the places of their samples.
    fn values(&self) -> SplitValues<'a> {
        let groups = &self.record.groups;
        let samples = if groups.is_empty() { &self.record.tested } else { groups };
        SplitValues { samples, values: self.differences() }
    }

    /// For every test sample its weight if only the first result was right on it, minus its weight if only the second, else 0.
    /// Weights are 1 or, for balanced accuracy, such that every class weighs the same: the mean of the differences is then that of
    /// the measure.
    fn differences(&self) -> Vec<f64> {
        let truth = &self.record.truth;
        let right = |outcome: &RuleOutcome, i: usize| f64::from(u8::from(outcome.predictions[i] == truth[i]));
        let mut counts = vec![0usize; self.record.classes.len()];
        truth.iter().for_each(|&class| counts[class] += 1);
        let tested = counts.iter().filter(|count| **count > 0).count() as f64;
        let weight = |i: usize| match self.record.protocol.metric {
            Metric::BalancedAccuracy => truth.len() as f64 / (tested * counts[truth[i]] as f64),
            _ => 1.0,
        };
        (0..truth.len()).map(|i| weight(i) * (right(self.a, i) - right(self.b, i))).collect()
    }

    /// What both results are ranked by.
    fn scores(&self) -> [f64; 2] {
        let record = self.record;
        [self.a, self.b].map(|o| record.protocol.metric.value(&record.truth, &o.predictions, record.classes.len()))
    }
}

/// Tests "no difference" on the splits both were run on.
pub(super) fn pair_test(
    a: (&[&Record], &MethodResult),
    b: (&[&Record], &MethodResult),
    wanted: PairedTest,
) -> Option<PairTest> {
    let outcome_of = |record: &'_ Record, rule: &str| record.rules.iter().position(|o| o.rule == rule);
    let mut shared: Vec<SharedSplit<'_>> = Vec::new();
    for &record in a.0 {
        let Some(&other) = b.0.iter().find(|other| other.split_sha256 == record.split_sha256) else { continue };
        let rules = outcome_of(record, &a.1.rule).zip(outcome_of(other, &b.1.rule));
        shared.extend(rules.map(|(ra, rb)| SharedSplit { record, a: &record.rules[ra], b: &other.rules[rb] }));
    }
    let scores_a: Vec<f64> = shared.iter().map(|split| split.scores()[0]).collect();
    let scores_b: Vec<f64> = shared.iter().map(|split| split.scores()[1]).collect();
    let metric = a.0[0].protocol.metric;
    // Without their places in the data, samples that are tested twice cannot be told from others.
    let places_known = shared.iter().all(|split| !split.record.tested.is_empty());
    let (test, outcome) = match shared.as_slice() {
        [] => return None,
        // F1 is no mean over samples: nothing can be said from one split, and of several each is one value.
        [_] if metric == Metric::MacroF1 => return None,
        [split] if split.record.groups.is_empty() && metric == Metric::Accuracy => {
            let only = |who: f64| split.differences().iter().filter(|&&d| d == who).count() as u64;
            ("mcnemar", mcnemar(only(1.0), only(-1.0)))
        }
        several
            if metric != Metric::MacroF1 && ((wanted == PairedTest::Crossed && places_known) || several.len() == 1) =>
        {
            let differences: Vec<SplitValues<'_>> = several.iter().map(SharedSplit::values).collect();
            ("crossed", crossed_mean(&differences)?.test_zero())
        }
        several => {
            let n_train: Vec<f64> = several.iter().map(|split| split.record.n_train as f64).collect();
            let n_test: Vec<f64> = several.iter().map(|split| split.record.truth.len() as f64).collect();
            let outcome = corrected_resampled_t(&scores_a, &scores_b, mean(&n_train), mean(&n_test))?;
            ("corrected-resampled-t", outcome)
        }
    };
    Some(PairTest {
        a: a.1.name(),
        a_rule: a.1.rule.clone(),
        b: b.1.name(),
        b_rule: b.1.rule.clone(),
        test,
        difference: mean(&scores_a) - mean(&scores_b),
        statistic: outcome.statistic,
        p: outcome.p,
        p_holm: outcome.p,
    })
}
