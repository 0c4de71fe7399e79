//! Choosing a parameter where samples come in groups, several of one person for example: in folds of whole groups.
//!
//! Leaving a single sample out would leave its group behind, which tells its class. Methods whose closed forms are for single samples are
//! trained without a few groups at a time instead.

use super::choice::{Jury, Verdict, descend};
use crate::folds::grouped;
use crate::linalg::select_columns;
use crate::{Classifier, Dataset, Error, Fit, Observer, Result};
use faer::Mat;

/// How many parts the groups are dealt out into.
const FOLDS: usize = 5;

/// Trainings without some groups each.
pub(crate) struct GroupedFolds {
    /// Training samples and validating ones, with the places of the latter among those that are judged.
    folds: Vec<(Dataset, Mat<f64>, Vec<usize>)>,
    jury: Jury,
}

impl GroupedFolds {
    /// For samples with groups; none if there are too few groups to compare anything.
    pub fn new(train: &Dataset, groups: &[usize]) -> Option<Self> {
        let targets = train.targets();
        let parts = grouped(groups, &targets, train.n_classes(), FOLDS).ok()?;
        let mut places: Vec<usize> = parts.iter().flatten().copied().collect();
        places.sort_unstable();
        let fold = |part: &Vec<usize>| {
            let rest: Vec<usize> = (0..train.n_samples()).filter(|i| part.binary_search(i).is_err()).collect();
            let own = part.iter().filter_map(|i| places.binary_search(i).ok()).collect();
            Some((train.subset(&rest).ok()?, select_columns(train.x(), part), own))
        };
        let folds = parts.iter().map(fold).collect::<Option<Vec<_>>>()?;
        Some(GroupedFolds { folds, jury: Jury::of_folds(train, places)? })
    }

    /// How good the scores are that this method gives to samples of groups it has not seen.
    pub fn verdict<F: Fit>(&self, method: &F) -> Result<Verdict> {
        let mut scores = Mat::new();
        for (train, x, places) in &self.folds {
            let found = method.learn(train, None, &mut ())?.score_block(x.as_ref());
            scores.resize_with(found.nrows(), self.jury.places.len(), |_, _| 0.0);
            for (j, &place) in places.iter().enumerate() {
                scores.col_mut(place).copy_from(found.col(j));
            }
        }
        if !scores.is_all_finite() {
            return Err(Error::numeric("choice", "scores are not finite"));
        }
        self.jury.verdict(scores)
    }

    /// The best of some values, found downhill from place `usual`.
    pub fn best<F: Fit>(
        &self,
        values: &[f64],
        usual: usize,
        watch: &mut dyn Observer,
        method: impl Fn(f64) -> F,
    ) -> Option<(f64, Verdict)> {
        descend(values, usual, watch, |value| self.verdict(&method(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Trace;
    use crate::{registry, synth};

    /// Samples in pairs of twins, each pair a group, with labels that are noise to everyone else.
    fn twins() -> (Dataset, Vec<usize>) {
        let base = synth::blobs(3, 12, 60, 9);
        let x = Mat::from_fn(60, 72, |i, j| base.x()[(i, (j / 2) * 7 % 36)] + 1e-4 * ((i + 3 * j) % 5) as f64);
        let labels: Vec<String> = (0..72).map(|j| (j / 24).to_string()).collect();
        (Dataset::new(&x, &labels).unwrap(), (0..72).map(|j| j / 2).collect())
    }

    /// With twins left behind every method looks good; without them none is better than a guess.
    #[test]
    fn twins_do_not_speak_for_each_other() {
        let (train, groups) = twins();
        let grouped = train.clone().with_groups(&groups).unwrap();
        for key in ["ridge", "crc", "lrc", "procrc", "lda", "linear-svm", "rbf-svm", "lcdl-sv"] {
            let method = registry::method(key).unwrap();
            assert!(method.leaves_groups_out, "{key}");
            let accuracy = |train: &Dataset| {
                let mut trace = Trace::default();
                method.choose(&Default::default(), train, &mut trace).unwrap();
                let note = trace.notes.iter().rev().find(|note| note.contains("accuracy")).unwrap().clone();
                let percent =
                    note.split("accuracy ").nth(1).unwrap().split(' ').next().unwrap().parse::<f64>().unwrap();
                (percent, note)
            };
            let (group, said) = accuracy(&grouped);
            assert!(group < 60.0, "{key}: {said}");
            assert!(said.contains("whole groups"), "{key}: {said}");
            if key != "lcdl-sv" {
                assert!(accuracy(&train).0 > group + 15.0, "{key}: {:?} {said}", accuracy(&train));
            }
        }
    }

    #[test]
    fn too_few_groups_leave_nothing_to_judge() {
        let train = synth::blobs(3, 4, 5, 1);
        let by_class: Vec<usize> = (0..12).map(|i| i / 4).collect();
        assert!(GroupedFolds::new(&train, &by_class).is_none());
        let train = train.with_groups(&by_class).unwrap();
        let mut trace = Trace::default();
        registry::method("ridge").unwrap().choose(&Default::default(), &train, &mut trace).unwrap();
        assert!(trace.notes[0].contains("nothing to choose by"), "{trace:?}");
    }
}
