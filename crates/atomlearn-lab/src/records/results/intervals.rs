//! 95 % intervals of means over samples and splits.

use crate::records::record::Record;
use crate::stats::crossed::{SampleNumbers, SplitValues, crossed_mean};
use std::collections::HashSet;

/// The outcomes of one rule on the test samples of one split.
struct Tested<'a> {
    record: &'a Record,
    /// 1 for right and 0 for wrong.
    right: Vec<f64>,
    /// What is independent: the group of every sample, or else its place.
    units: Vec<usize>,
    /// The place of every sample.
    samples: Vec<usize>,
}

impl<'a> Tested<'a> {
    /// Of all splits. Records that do not tell the places of their samples count as if each tested other samples.
    fn of(series: &[&'a Record], r: usize) -> Vec<Self> {
        let mut next = usize::MAX;
        let known = series.iter().copied().filter(|record| record.rules.len() > r);
        let of_record = |record: &'a Record| {
            let samples = if record.tested.is_empty() {
                next -= record.truth.len();
                (next..).take(record.truth.len()).collect()
            } else {
                record.tested.clone()
            };
            let units = if record.groups.is_empty() { samples.clone() } else { record.groups.clone() };
            let hit = |(found, truth): (&usize, &usize)| f64::from(u8::from(found == truth));
            let right = record.rules[r].predictions.iter().zip(&record.truth).map(hit).collect();
            Tested { record, right, units, samples }
        };
        known.map(of_record).collect()
    }

    /// Samples and right ones of every class.
    fn counts(&self) -> Vec<[f64; 2]> {
        let mut counts = vec![[0.0; 2]; self.record.classes.len()];
        for (&class, right) in self.record.truth.iter().zip(&self.right) {
            counts[class][0] += 1.0;
            counts[class][1] += right;
        }
        counts
    }
}

/// One of the lists of a split.
type Places = for<'a, 'b> fn(&'a Tested<'b>) -> &'a [usize];

/// Of the mean accuracy of rule `r`.
pub(super) fn of_accuracy(series: &[&Record], r: usize) -> Option<[f64; 2]> {
    let tested = Tested::of(series, r);
    let distinct = |of: Places| tested.iter().flat_map(of).collect::<HashSet<_>>().len() as f64;
    let samples = SampleNumbers { most: distinct(|split| &split.samples), unvaried: distinct(|split| &split.units) };
    let splits = tested.iter().map(|split| SplitValues { samples: &split.units, values: split.right.clone() });
    crossed_mean(&splits.collect::<Vec<_>>()).map(|mean| mean.interval95_of_share(samples))
}

/// Of the mean balanced accuracy of rule `r`, which is a mean over samples, too, if every class has the same weight.
///
/// What scatters is a sample around the recall of its class, not classes around each other: the classes are given. As many samples
/// as would give the same variance are at most `C^2 / sum_c 1 / n_c`, the number for classes that are equally hard.
pub(super) fn of_balanced_accuracy(series: &[&Record], r: usize) -> Option<[f64; 2]> {
    let tested = Tested::of(series, r);
    let n_classes = tested.first()?.record.classes.len();
    let counts: Vec<Vec<[f64; 2]>> = tested.iter().map(Tested::counts).collect();
    // Recall of every class, mean over the splits that test it.
    let recall = |class: usize| {
        let of_splits = || counts.iter().map(|of_split| of_split[class]).filter(|[samples, _]| *samples > 0.0);
        of_splits().map(|[samples, right]| right / samples).sum::<f64>() / of_splits().count().max(1) as f64
    };
    let recalls: Vec<f64> = (0..n_classes).map(recall).collect();
    let values = |(split, counts): (&Tested<'_>, &Vec<[f64; 2]>)| {
        let present = || (0..n_classes).filter(|&class| counts[class][0] > 0.0);
        let n_present = present().count() as f64;
        let level = present().map(|class| recalls[class]).sum::<f64>() / n_present;
        let value = |(&class, right): (&usize, &f64)| {
            level + split.right.len() as f64 / (n_present * counts[class][0]) * (right - recalls[class])
        };
        split.record.truth.iter().zip(&split.right).map(value).collect()
    };
    let splits = tested.iter().zip(&counts).map(|pair| SplitValues { samples: &pair.0.units, values: values(pair) });
    let equivalent = |of: Places| {
        let mut distinct = vec![HashSet::new(); n_classes];
        for split in &tested {
            split.record.truth.iter().zip(of(split)).for_each(|(&class, &unit)| {
                distinct[class].insert(unit);
            });
        }
        let sizes = || distinct.iter().filter(|units| !units.is_empty()).map(|units| units.len() as f64);
        (sizes().count() as f64).powi(2) / sizes().map(|n| 1.0 / n).sum::<f64>()
    };
    let samples =
        SampleNumbers { most: equivalent(|split| &split.samples), unvaried: equivalent(|split| &split.units) };
    crossed_mean(&splits.collect::<Vec<_>>()).map(|mean| mean.interval95_of_share(samples))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::record::RuleOutcome;
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    /// A split that tests these samples: class, group (none if there are none) and whether it was right.
    fn record(samples: &[(usize, Option<usize>, bool)]) -> Record {
        let predictions = samples.iter().map(|&(class, _, right)| if right { class } else { 1 - class }).collect();
        Record {
            classes: vec!["a".into(), "b".into()],
            truth: samples.iter().map(|sample| sample.0).collect(),
            tested: (0..samples.len()).collect(),
            groups: samples.iter().filter_map(|sample| sample.1).collect(),
            rules: vec![RuleOutcome { rule: String::new(), accuracy: 0.0, predictions, auc: None, probability: None }],
            ..Record::default()
        }
    }

    /// Wilson's with Student's t.
    fn wilson(p: f64, n: f64, t: f64) -> [f64; 2] {
        let center = (p + t * t / (2.0 * n)) / (1.0 + t * t / n);
        let half = t / (1.0 + t * t / n) * (p * (1.0 - p) / n + t * t / (4.0 * n * n)).sqrt();
        [center - half, center + half]
    }

    fn near(a: [f64; 2], b: [f64; 2]) {
        assert!((a[0] - b[0]).abs() < 1e-6 && (a[1] - b[1]).abs() < 1e-6, "{a:?} {b:?}");
    }

    #[test]
    fn groups_count_as_much_as_their_scatter_says() {
        // Sixty groups of five. t(0.975, 59) = 2.000995.
        let t = 2.000_995_378;
        let samples = |wrong: fn(usize) -> bool| -> Vec<(usize, Option<usize>, bool)> {
            (0..300).map(|i| (i % 2, Some(i / 5), !wrong(i))).collect()
        };
        // One wrong sample in each of twelve groups: no more alike than samples of different groups, so all 300 count.
        let spread = record(&samples(|i| i % 25 == 0));
        near(of_accuracy(&[&spread], 0).unwrap(), wilson(0.96, 300.0, t));
        // Whole groups are wrong: those count. V = 60/59 sum over groups of (5 (value - mean) / 300)^2 = p (1 - p) / 59.
        let alike = record(&samples(|i| i / 5 % 5 == 0));
        near(of_accuracy(&[&alike], 0).unwrap(), wilson(0.8, 59.0, t));
        // All right: nothing tells how alike they are.
        near(of_accuracy(&[&record(&samples(|_| false))], 0).unwrap(), wilson(1.0, 60.0, t));
    }

    #[test]
    fn classes_of_balanced_accuracy_do_not_count_as_scatter() {
        let samples: Vec<(usize, Option<usize>, bool)> = (0..220).map(|i| (usize::from(i < 20), None, true)).collect();
        let [low, high] = of_balanced_accuracy(&[&record(&samples)], 0).unwrap();
        // All are right: as sure as of 4 / (1/20 + 1/200) = 72.7 samples.
        near([low, high], wilson(1.0, 800.0 / 11.0, 1.970_855_7).map(|end| end.min(1.0)));
    }

    /// On two splits that share samples, the interval holds the truth about as often as it says.
    #[test]
    fn the_interval_of_balanced_accuracy_holds_what_it_says() {
        let mut random = StdRng::seed_from_u64(3);
        let (rare, usual) = (0.7, 0.9);
        let (mut held, runs) = (0, 2000);
        for _ in 0..runs {
            let mut draw = || -> Vec<(usize, Option<usize>, bool)> {
                (0..200)
                    .map(|i| (usize::from(i < 25), None, random.random_bool(if i < 25 { rare } else { usual })))
                    .collect()
            };
            let [a, b] = [record(&draw()), record(&draw())];
            let [low, high] = of_balanced_accuracy(&[&a, &b], 0).unwrap();
            held += usize::from(low <= 0.8 && 0.8 <= high);
        }
        let share = held as f64 / runs as f64;
        assert!((0.94..=1.0).contains(&share), "{share}");
    }
}
