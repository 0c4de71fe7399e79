//! Choosing a parameter: which value gives the best leave-one-out scores.
//!
//! What decides is the log-loss of a softmax of the scores, with the softmax's one weight `w >= 0` fitted to them ([`super::fusion`]): it
//! knows how sure a score is, where accuracies tie on small data, and it does not care how long scores are. Scores that speak against the
//! truth, as those of a large ridge do when a sample is left out of its class mean, get the weight zero and the loss of a guess, so that
//! such a value is never chosen.

use super::fusion::{self, Judge};
use crate::classifier::best_class;
use crate::linalg::column_energies;
use crate::{Blocks, Dataset, Observer, Result};
use faer::Mat;
use std::ops::ControlFlow;

/// At most about this many samples are left out in turn.
pub(crate) const MOST_QUERIES: usize = 4000;
/// How the samples are judged, in words.
const LEFT_OUT: &str = "leave-one-out";
const IN_FOLDS: &str = "cross-validation in folds of whole groups";

/// Samples that are left out in turn, and what their scores should say.
pub(crate) struct Jury {
    judge: Judge,
    /// Their columns among the training samples.
    pub places: Vec<usize>,
    /// Their classes.
    pub targets: Vec<usize>,
    /// Where the scores come from, in words.
    by: &'static str,
}

/// How good leave-one-out scores are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Verdict {
    /// Log-loss.
    pub loss: f64,
    /// Share of samples whose class has the largest score.
    pub accuracy: f64,
    /// What was done, in words.
    pub by: &'static str,
}

impl Jury {
    /// Samples of all classes; `None` if every class has a single one, which leaves nothing to compare it with.
    pub fn new(train: &Dataset) -> Option<Self> {
        let all = train.targets();
        let blocks = train.blocks();
        let places = queries(blocks, MOST_QUERIES);
        let heard = places.iter().map(|&i| blocks.size(all[i]) > 1).collect();
        Self::of(train, places, heard, LEFT_OUT)
    }

    /// The samples at these places, which are judged by trainings on other folds.
    pub fn of_folds(train: &Dataset, places: Vec<usize>) -> Option<Self> {
        let heard = vec![true; places.len()];
        Self::of(train, places, heard, IN_FOLDS)
    }

    fn of(train: &Dataset, places: Vec<usize>, heard: Vec<bool>, by: &'static str) -> Option<Self> {
        let all = train.targets();
        let targets: Vec<usize> = places.iter().map(|&i| all[i]).collect();
        let weights = train.weights().map(|weights| places.iter().map(|&i| weights[i]).collect());
        let judge = Judge::new(targets.clone(), heard, weights, train.n_classes());
        judge.hears_anyone().then_some(Jury { judge, places, targets, by })
    }

    /// Judges leave-one-out scores, classes x samples in the order of `places`.
    pub fn verdict(&self, mut scores: Mat<f64>) -> Result<Verdict> {
        let found = best_class(&scores);
        let accuracy = self.judge.share(|i| found[i] == self.targets[i]);
        fusion::normalize_by_own_scale(&mut scores, self.judge.weights());
        let loss = self.judge.alone(&scores.transpose().to_owned(), fusion::START)?.loss;
        Ok(Verdict { loss, accuracy, by: self.by })
    }
}

/// Columns that are left out in turn: evenly spaced within every class, in proportion to its size.
pub(crate) fn queries(blocks: &Blocks, most: usize) -> Vec<usize> {
    if blocks.total() <= most {
        return (0..blocks.total()).collect();
    }
    let share = most as f64 / blocks.total() as f64;
    let of_class = |range: std::ops::Range<usize>| {
        let count = ((range.len() as f64 * share) as usize).max(2).min(range.len());
        (0..count).map(move |i| range.start + i * range.len() / count)
    };
    blocks.ranges().flat_map(of_class).collect()
}

/// The value with the lowest loss of all. Among equals the nearest to place `usual` counts; values that fail do not.
pub(crate) fn best_of(
    values: &[f64],
    usual: usize,
    mut verdict: impl FnMut(f64) -> Result<Verdict>,
) -> Option<(f64, Verdict)> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by_key(|place| place.abs_diff(usual));
    let mut best: Option<(f64, Verdict)> = None;
    for place in order {
        let Some(found) = verdict(values[place]).ok().filter(|found| found.loss.is_finite()) else { continue };
        if best.is_none_or(|(_, held)| found.loss < held.loss) {
            best = Some((values[place], found));
        }
    }
    best
}

/// The value that no neighbour has a lower loss than, found downhill from place `usual`: for values that need a factorisation or a
/// training each. The observer may end the walk.
pub(crate) fn descend(
    values: &[f64],
    usual: usize,
    watch: &mut dyn Observer,
    mut verdict: impl FnMut(f64) -> Result<Verdict>,
) -> Option<(f64, Verdict)> {
    let mut seen: Vec<Option<f64>> = vec![None; values.len()];
    let mut best: Option<(usize, Verdict)> = None;
    let mut next = vec![usual];
    let mut tried = 0;
    while !next.is_empty() {
        for place in std::mem::take(&mut next) {
            let found = verdict(values[place]).ok().filter(|found| found.loss.is_finite());
            seen[place] = Some(found.map_or(f64::INFINITY, |found| found.loss));
            if let Some(found) = found.filter(|found| best.is_none_or(|(_, held)| found.loss < held.loss)) {
                best = Some((place, found));
            }
            tried += 1;
            if watch.progress(tried, values.len()) == ControlFlow::Break(()) {
                return best.map(|(place, found)| (values[place], found));
            }
        }
        let center = best.map_or(usual, |(place, _)| place);
        let around = [center.checked_sub(1), Some(center + 1)].into_iter().flatten();
        next = around.filter(|&place| seen.get(place) == Some(&None)).collect();
    }
    best.map(|(place, found)| (values[place], found))
}

/// The power of ten nearest to a typical square of samples, which values of a ridge are multiples of; 1 where there is none.
pub(crate) fn decade(square: f64) -> f64 {
    let nearest = 10f64.powf(square.log10().round());
    if nearest > 0.0 && nearest.is_finite() { nearest } else { 1.0 }
}

/// The median over samples of `|x|^2`, so that a single long one does not count.
pub(crate) fn median_square(train: &Dataset) -> f64 {
    let squares = column_energies(train.x());
    match train.weights() {
        Some(weights) => fusion::weighted_median(squares.into_iter().zip(weights.iter().copied()).collect()),
        None => fusion::median(squares),
    }
}

/// `unit` times ten to each of these powers, to the digits that a person would write.
pub(crate) fn decades(unit: f64, powers: std::ops::RangeInclusive<i32>) -> Vec<f64> {
    let written = |power: i32| {
        let value = unit * 10f64.powi(power);
        format!("{value:.6e}").parse().unwrap_or(value)
    };
    powers.map(written).collect()
}

/// Tells the observer what was chosen, or that nothing could be, and gives the value.
pub(crate) fn settled(
    key: &str,
    name: &str,
    chosen: Option<(f64, Verdict)>,
    fixed: f64,
    watch: &mut dyn Observer,
) -> f64 {
    match chosen {
        Some((value, verdict)) => {
            let percent = 100.0 * verdict.accuracy;
            let by = verdict.by;
            watch.note(&format!("{key}: {name} = {value} was chosen by {by} (accuracy {percent:.1} %)"));
            value
        }
        None => {
            watch.note(&format!("{key}: {name} = {fixed}, since leave-one-out has nothing to choose by"));
            fixed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Trace;

    fn verdict(loss: f64) -> Result<Verdict> {
        Ok(Verdict { loss, accuracy: 0.5, by: LEFT_OUT })
    }

    #[test]
    fn the_lowest_loss_wins_and_ties_stay_near_the_usual_value() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(best_of(&values, 2, |_| verdict(1.0)).unwrap().0, 3.0);
        assert_eq!(best_of(&values, 2, |v| verdict((v - 5.0).abs())).unwrap().0, 5.0);
        let failing = |v: f64| if v < 4.5 { verdict(f64::NAN) } else { verdict(7.0) };
        assert_eq!(best_of(&values, 0, failing).unwrap().0, 5.0);
        assert!(best_of(&values, 0, |_| Err(crate::Error::Interrupted)).is_none());
    }

    #[test]
    fn the_way_downhill_ends_where_no_neighbour_is_lower() {
        let values: Vec<f64> = (0..9).map(f64::from).collect();
        let mut tried = Vec::new();
        let found = descend(&values, 2, &mut (), |v| {
            tried.push(v);
            verdict((v - 4.0).abs())
        });
        assert_eq!((found.unwrap().0, tried), (4.0, vec![2.0, 1.0, 3.0, 4.0, 5.0]));
        assert_eq!(descend(&values, 8, &mut (), verdict).unwrap().0, 0.0);
        assert_eq!(descend(&values, 0, &mut (), |v| verdict(if v == 0.0 { f64::NAN } else { v })).unwrap().0, 1.0);
        assert!(descend(&values, 4, &mut (), |_| verdict(f64::INFINITY)).is_none());
    }

    #[test]
    fn grids_are_powers_of_ten_of_the_samples_own_size() {
        assert_eq!((decade(0.9), decade(0.2), decade(4e4), decade(0.0), decade(f64::NAN)), (1.0, 0.1, 1e5, 1.0, 1.0));
        assert_eq!(decades(2.0, -2..=1), [0.02, 0.2, 2.0, 20.0]);
    }

    #[test]
    fn single_samples_leave_nothing_to_judge() {
        assert!(Jury::new(&crate::synth::blobs(3, 1, 4, 1)).is_none());
        let mut trace = Trace::default();
        assert_eq!(settled("crc", "kappa", None, 1e-3, &mut trace), 1e-3);
        assert!(trace.notes[0].contains("kappa = 0.001") && trace.warnings.is_empty());
    }

    /// Scores that speak against the truth are worth a guess, whatever their size.
    #[test]
    fn scores_against_the_truth_have_the_loss_of_a_guess() {
        let train = crate::synth::blobs(3, 6, 4, 1);
        let (jury, targets) = (Jury::new(&train).unwrap(), train.targets());
        let scores = |sign: f64| Mat::from_fn(3, 18, |c, i| if targets[i] == c { sign } else { 0.1 * (i % 3) as f64 });
        let (with, against) = (jury.verdict(scores(1.0)).unwrap(), jury.verdict(scores(-1.0)).unwrap());
        assert!(with.loss < 0.2 && with.accuracy == 1.0);
        assert!((against.loss - 3f64.ln()).abs() < 1e-6 && against.accuracy == 0.0, "{against:?}");
    }
}
