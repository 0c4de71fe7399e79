//! Seeded, stratified folds: for cross-validation within a training part, and of all data.

use crate::protocol::data::LabData;
use crate::protocol::groups;
use crate::protocol::splits::{Split, Splits};
use atomlearn::Result;

/// Cuts the samples at `places` into folds of like size; in fold f, part f validates and all others train.
///
/// See [`atomlearn::folds::stratified`]; classes come in class order. Where the data have groups, every group is in one fold: see
/// [`groups::folds`].
pub fn stratified(data: &LabData, places: &[usize], folds: usize, seed: u64) -> Result<Vec<Split>> {
    if let Some(groups) = &data.groups {
        return groups::folds(data, groups, places, folds, seed);
    }
    let mut by_class = vec![Vec::new(); data.classes.len()];
    places.iter().for_each(|&i| by_class[data.targets[i]].push(i));
    let split = |test: Vec<usize>| {
        let mut train: Vec<usize> = places.iter().copied().filter(|i| test.binary_search(i).is_err()).collect();
        train.sort_unstable();
        Split { train, test }
    };
    Ok(atomlearn::folds::stratified(by_class, folds, seed)?.into_iter().map(split).collect())
}

/// Seeds of the cuts of a cross-validation lie this far apart, so that no two seeds that people choose share a cut.
const STRIDE: u64 = 0x9E37_79B9_7F4A_7C15;

/// Cross-validation of all data: cut into folds as by [`stratified`], `repeats` times. The splits of a cut stand together.
pub fn cross_validation(data: &LabData, folds: usize, repeats: usize, seed: u64) -> Result<Splits> {
    if repeats == 0 {
        return Err(atomlearn::Error::param("repeats", 0, "must be at least 1"));
    }
    let n_classes = data.classes.len();
    if n_classes == 1 {
        let only = &data.classes[0];
        let why = format!("only one class (`{only}`): a comparison needs samples of at least two classes");
        return Err(atomlearn::Error::Data(why));
    }
    if data.targets.len() == n_classes {
        let why = "every class has a single sample, so none can be held out; a comparison needs two samples or more of a class";
        return Err(atomlearn::Error::Data(why.into()));
    }
    let places: Vec<usize> = (0..data.targets.len()).collect();
    let cut = |repeat: u64| stratified(data, &places, folds, seed.wrapping_add(STRIDE.wrapping_mul(repeat)));
    let splits = (1..=repeats as u64).map(cut).collect::<Result<Vec<_>>>()?.concat();
    Ok(Splits {
        splits,
        train_per_class: None,
        train_at_least: None,
        seed: Some(seed),
        folds: Some(folds),
        curve: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::data::test_data;

    #[test]
    fn every_sample_validates_once_and_no_class_is_missing_from_training() {
        let mut labels: Vec<String> = (0..23).map(|i| format!("class {}", i % 3)).collect();
        labels.push("alone".into());
        let data = test_data(&labels);
        let places: Vec<usize> = (0..24).filter(|i| *i != 5).rev().collect();
        let folds = stratified(&data, &places, 4, 3).unwrap();
        let mut validated: Vec<usize> = folds.iter().flat_map(|fold| fold.test.clone()).collect();
        validated.sort_unstable();
        assert_eq!(validated, (0..23).filter(|i| *i != 5).collect::<Vec<_>>());
        for fold in &folds {
            assert!((5..=6).contains(&fold.test.len()));
            assert_eq!(fold.train.len() + fold.test.len(), 23);
            assert!(fold.train.iter().all(|i| *i != 5 && !fold.test.contains(i)));
            let of_class = |c: usize| fold.test.iter().filter(|&&i| data.targets[i] == c).count();
            assert!((0..data.classes.len()).all(|c| of_class(c) <= 2 || data.classes[c] != "alone"));
            assert!((1..4).all(|c| (1..=2).contains(&of_class(c))), "{fold:?}");
            assert!((0..4).all(|c| fold.train.iter().any(|&i| data.targets[i] == c)));
        }
        let ascending: Vec<usize> = (0..24).filter(|i| *i != 5).collect();
        assert_eq!(folds, stratified(&data, &ascending, 4, 3).unwrap());
        assert_ne!(folds, stratified(&data, &places, 4, 4).unwrap());
    }

    #[test]
    fn cross_validation_tests_every_sample_once_in_every_repeat() {
        let labels: Vec<String> = (0..23).map(|i| format!("class {}", i % 3)).collect();
        let data = test_data(&labels);
        let made = cross_validation(&data, 5, 2, 7).unwrap();
        assert_eq!((made.splits.len(), made.repeats(), made.folds, made.seed), (10, 2, Some(5), Some(7)));
        for cut in made.splits.chunks(5) {
            let mut tested: Vec<usize> = cut.iter().flat_map(|split| split.test.clone()).collect();
            tested.sort_unstable();
            assert_eq!(tested, (0..23).collect::<Vec<_>>());
            assert!(cut.iter().all(|split| split.train.len() + split.test.len() == 23));
        }
        assert_ne!(made.splits[..5], made.splits[5..]);
        assert_eq!(made.splits[..5], cross_validation(&data, 5, 1, 7).unwrap().splits);
        assert!(cross_validation(&data, 5, 0, 7).is_err() && cross_validation(&data, 1, 2, 7).is_err());
    }

    #[test]
    fn too_many_or_too_few_folds_are_refused() {
        let data = test_data(&["a", "a", "b"].map(String::from));
        assert!(stratified(&data, &[0, 1, 2], 1, 0).is_err());
        assert!(stratified(&data, &[0, 1, 2], 3, 0).unwrap_err().to_string().contains("fewer folds"));
        assert_eq!(stratified(&data, &[0, 1, 2], 2, 0).unwrap()[0].train.len(), 2);
    }
}
