//! Tests of "no difference" between two results.

use super::{MethodResult, PairTest};
use crate::records::record::{PairedTest, Record, RuleOutcome};
use crate::stats::crossed::{SplitValues, crossed_mean};
use crate::stats::metrics::Metric;
use crate::stats::statistics::{corrected_resampled_t, holm, mcnemar, mean};

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
        with_best: false,
    })
}

/// Holm's correction in two families, since a reader asks two questions: is the best better than each other result, and how do
/// the others compare? So the first answer does not depend on how many pairs there are besides. `best` is method and rule.
pub(super) fn correct(tests: &mut [PairTest], best: (&str, &str)) {
    let is_best = |method: &str, rule: &str| (method, rule) == best;
    for test in tests.iter_mut() {
        test.with_best = is_best(&test.a, &test.a_rule) || is_best(&test.b, &test.b_rule);
    }
    for family in [true, false] {
        let members = || tests.iter().filter(|test| test.with_best == family);
        let corrected = holm(&members().map(|test| test.p).collect::<Vec<_>>());
        tests.iter_mut().filter(|test| test.with_best == family).zip(corrected).for_each(|(test, p)| test.p_holm = p);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::crossed::CrossedMean;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    /// A test of method `a` against `b`, whose means differ so much, with a standard error of root two.
    fn test(a: usize, b: usize, difference: f64) -> PairTest {
        let outcome = CrossedMean { mean: difference, variance: 2.0, df: 1e6, n_samples: 100 }.test_zero();
        let (statistic, p) = (outcome.statistic, outcome.p);
        let (a, b, rule) = (a.to_string(), b.to_string(), String::new());
        PairTest {
            a,
            a_rule: rule.clone(),
            b,
            b_rule: rule,
            test: "crossed",
            difference,
            statistic,
            p,
            p_holm: p,
            with_best: false,
        }
    }

    /// All tests among methods that were measured so, corrected, and which method came out best.
    fn corrected(measured: &[f64]) -> (Vec<PairTest>, usize) {
        let m = measured.len();
        let pairs = (0..m).flat_map(|a| (a + 1..m).map(move |b| (a, b)));
        let mut tests: Vec<PairTest> = pairs.map(|(a, b)| test(a, b, measured[a] - measured[b])).collect();
        let best = (0..m).max_by(|&a, &b| measured[a].total_cmp(&measured[b])).unwrap();
        correct(&mut tests, (&best.to_string(), ""));
        (tests, best)
    }

    #[test]
    fn each_family_is_corrected_for_its_own_number_of_tests() {
        let (tests, best) = corrected(&[0.0, 9.0, 4.0, 0.5, 3.0]);
        assert_eq!(best, 1);
        let sizes = [true, false].map(|family| tests.iter().filter(|test| test.with_best == family).count());
        assert_eq!(sizes, [4, 6]);
        for family in [true, false] {
            let members: Vec<&PairTest> = tests.iter().filter(|test| test.with_best == family).collect();
            let least = members.iter().min_by(|a, b| a.p.total_cmp(&b.p)).unwrap();
            assert_eq!(least.p_holm, (members.len() as f64 * least.p).min(1.0));
        }
        assert!(tests.iter().all(|test| test.with_best == (test.a == "1" || test.b == "1")));
    }

    /// The best is chosen by the same numbers that test it: still the truly best is ruled out in no more than 5 % of experiments.
    #[test]
    fn the_truly_best_is_hardly_ever_ruled_out() {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let far = |near: usize, far: usize| [vec![0.0; near], vec![-9.0; far]].concat();
        for truth in [far(2, 0), far(3, 0), far(6, 0), far(2, 6), far(3, 5)] {
            let experiments = 3000;
            let mut wrong = 0;
            for _ in 0..experiments {
                let measured: Vec<f64> =
                    truth.iter().map(|mean| mean + Distribution::<f64>::sample(&StandardNormal, &mut rng)).collect();
                let (tests, best) = corrected(&measured);
                let ruled_out =
                    |test: &PairTest| test.with_best && test.p_holm < 0.05 && (test.a == "0" || test.b == "0");
                wrong += usize::from(best != 0 && tests.iter().any(ruled_out));
            }
            let share = wrong as f64 / experiments as f64;
            assert!((0.01..0.04).contains(&share), "{truth:?}: {share}");
        }
    }
}
