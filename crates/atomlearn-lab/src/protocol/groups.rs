//! Samples that belong together (all of one person, say) train together or test together.

use crate::protocol::data::LabData;
use crate::protocol::splits::Split;
use atomlearn::folds::below;
use atomlearn::{Error, Result};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

/// Groups use a stream of the generator that nothing else does.
const STREAM: u64 = u64::MAX - 1;

/// One group: its samples, and how many of each class.
struct Group {
    places: Vec<usize>,
    of_class: Vec<usize>,
}

/// The groups of the samples at `places`, in a seeded order.
fn shuffled(data: &LabData, groups: &[usize], places: &[usize], seed: u64, stream: u64) -> Vec<Group> {
    let mut by_group: BTreeMap<usize, Group> = BTreeMap::new();
    let mut sorted = places.to_vec();
    sorted.sort_unstable();
    for place in sorted {
        let empty = || Group { places: Vec::new(), of_class: vec![0; data.classes.len()] };
        let group = by_group.entry(groups[place]).or_insert_with(empty);
        group.places.push(place);
        group.of_class[data.targets[place]] += 1;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    let mut list: Vec<Group> = by_group.into_values().collect();
    for k in 0..list.len().saturating_sub(1) {
        let other = k + below(&mut rng, list.len() - k);
        list.swap(k, other);
    }
    list
}

/// Cuts the samples at `places` into folds so that no group is in two of them and every class is spread evenly.
///
/// The largest groups come first; each goes where it makes the shares of its classes least uneven. The only group of a class is in no
/// fold: it always trains, so that no fold lacks the class.
pub fn folds(data: &LabData, groups: &[usize], places: &[usize], folds: usize, seed: u64) -> Result<Vec<Split>> {
    if folds < 2 {
        return Err(Error::param("folds", folds, "at least two are needed"));
    }
    let mut list = shuffled(data, groups, places, seed, STREAM);
    let n_classes = data.classes.len();
    let in_groups: Vec<usize> =
        (0..n_classes).map(|c| list.iter().filter(|group| group.of_class[c] > 0).count()).collect();
    let total: Vec<f64> =
        (0..n_classes).map(|c| list.iter().map(|group| group.of_class[c]).sum::<usize>().max(1) as f64).collect();
    list.retain(|group| (0..n_classes).all(|c| group.of_class[c] == 0 || in_groups[c] > 1));
    if list.len() < folds {
        return Err(Error::Data(format!(
            "{0} groups that can be tested (no class lies in one of them alone) are too few for {folds} folds; {1}",
            list.len(),
            if list.len() < 2 { "use larger data".into() } else { format!("use fewer folds, at most {}", list.len()) }
        )));
    }
    list.sort_by_key(|group| std::cmp::Reverse(group.places.len()));
    let mut counts = vec![vec![0usize; n_classes]; folds];
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); folds];
    for group in &list {
        // By how much the squared shares of the classes grow: least where the fold has least of them.
        let growth = |f: usize| -> f64 {
            let class = |c: usize| group.of_class[c] as f64 * (2 * counts[f][c] + group.of_class[c]) as f64;
            (0..n_classes).map(|c| class(c) / (total[c] * total[c])).sum()
        };
        let least = (0..folds)
            .min_by(|&a, &b| growth(a).total_cmp(&growth(b)).then(parts[a].len().cmp(&parts[b].len())))
            .unwrap_or(0);
        (0..n_classes).for_each(|c| counts[least][c] += group.of_class[c]);
        parts[least].extend(&group.places);
    }
    let split = |mut test: Vec<usize>| {
        test.sort_unstable();
        let mut train: Vec<usize> = places.iter().copied().filter(|i| test.binary_search(i).is_err()).collect();
        train.sort_unstable();
        Split { train, test }
    };
    let splits: Vec<Split> = parts.into_iter().map(split).collect();
    let present = |c: usize| places.iter().any(|&i| data.targets[i] == c);
    for (f, split) in splits.iter().enumerate() {
        let lacks = |&c: &usize| present(c) && !split.train.iter().any(|&i| data.targets[i] == c);
        if split.test.is_empty() {
            return Err(Error::Data(format!("fold {f} (counted from 0) of the groups is empty; use fewer folds")));
        }
        if let Some(c) = (0..n_classes).find(lacks) {
            return Err(Error::Data(format!(
                "class `{}` lies in {} groups, which all came into one fold; use fewer folds or another seed",
                data.classes[c], in_groups[c]
            )));
        }
    }
    Ok(splits)
}

/// Draws whole groups for training until every class has at least `train_per_class` samples there; all others test.
pub fn draw(data: &LabData, groups: &[usize], train_per_class: usize, seed: u64, repeat: u64) -> Result<Split> {
    let places: Vec<usize> = (0..data.targets.len()).collect();
    let list = shuffled(data, groups, &places, seed, repeat);
    let n_classes = data.classes.len();
    let mut trains = vec![false; list.len()];
    // Classes with few groups choose first, so that others do not take their groups away.
    let has = |c: usize| (0..list.len()).filter(|&g| list[g].of_class[c] > 0).collect::<Vec<usize>>();
    let mut order: Vec<usize> = (0..n_classes).collect();
    order.sort_by_key(|&c| has(c).len());
    for c in order {
        let own = has(c);
        let mut count: usize = own.iter().filter(|&&g| trains[g]).map(|&g| list[g].of_class[c]).sum();
        for &g in &own {
            if count >= train_per_class || trains[g] {
                continue;
            }
            // Every class of the group must keep a group that tests.
            let keeps = |c: usize| has(c).iter().any(|&other| other != g && !trains[other]);
            if (0..n_classes).all(|c| list[g].of_class[c] == 0 || keeps(c)) {
                trains[g] = true;
                count += list[g].of_class[c];
            }
        }
        if count < train_per_class {
            return Err(Error::Data(format!(
                "class `{}`: whole groups cannot give {train_per_class} training samples and leave a group of every class to \
                 test; use fewer training samples, or folds",
                data.classes[c]
            )));
        }
    }
    let part = |wanted: bool| {
        let mut places: Vec<usize> = list
            .iter()
            .zip(&trains)
            .filter(|(_, trains)| **trains == wanted)
            .flat_map(|(group, _)| group.places.clone())
            .collect();
        places.sort_unstable();
        places
    };
    Ok(Split { train: part(true), test: part(false) })
}

/// Refuses splits that have samples of one group on both sides.
pub fn check(data: &LabData, splits: &[Split], origin: &str) -> Result<()> {
    let Some(groups) = &data.groups else { return Ok(()) };
    for (s, split) in splits.iter().enumerate() {
        let trained: std::collections::HashMap<usize, usize> = split.train.iter().map(|&i| (groups[i], i)).collect();
        if let Some((&tested, &i)) = split.test.iter().find_map(|i| Some((i, trained.get(&groups[*i])?))) {
            return Err(Error::Data(format!(
                "{origin}: split {s} (counted from 0) trains with sample {i} and tests sample {tested}, which are of one group; \
                 let splits be drawn here, or leave out the groups"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::data::test_data;
    use crate::protocol::{folds as cuts, splits};

    /// Twelve people of three classes, each with one to four samples of their class; person 0 also has one of class 1.
    fn people() -> LabData {
        let (mut labels, mut groups) = (Vec::new(), Vec::new());
        for person in 0..12 {
            for k in 0..1 + person % 4 {
                labels.push(format!("class {}", if person == 0 && k == 0 { 1 } else { person % 3 }));
                groups.push(person);
            }
        }
        let mut data = test_data(&labels);
        data.groups = Some(groups);
        data
    }

    fn straddles(data: &LabData, split: &Split) -> bool {
        let groups = data.groups.as_ref().unwrap();
        split.train.iter().any(|&i| split.test.iter().any(|&j| groups[i] == groups[j]))
    }

    #[test]
    fn no_group_is_on_both_sides_and_every_sample_is_tested_once() {
        let data = people();
        for seed in 0..20 {
            let made = cuts::cross_validation(&data, 3, 2, seed).unwrap();
            for cut in made.splits.chunks(3) {
                let mut tested: Vec<usize> = cut.iter().flat_map(|split| split.test.clone()).collect();
                tested.sort_unstable();
                assert_eq!(tested, (0..data.targets.len()).collect::<Vec<_>>());
                assert!(cut.iter().all(|split| !straddles(&data, split)));
                // Thirty samples in three folds: none is much larger than another.
                assert!(cut.iter().all(|split| (6..=14).contains(&split.test.len())), "{cut:?}");
            }
        }
        let places: Vec<usize> = (0..data.targets.len()).collect();
        let same = |seed| folds(&data, data.groups.as_ref().unwrap(), &places, 3, seed).unwrap();
        assert_eq!(same(4), same(4));
        assert_ne!(same(4), same(5));
    }

    #[test]
    fn drawn_splits_keep_groups_whole_and_have_samples_enough() {
        let data = people();
        for repeat in 0..20 {
            let made = splits::stratified(&data, 3, 1, repeat).unwrap();
            let split = &made.splits[0];
            assert!(!straddles(&data, split) && split.train.len() + split.test.len() == data.targets.len());
            for c in 0..3 {
                let count = |part: &[usize]| part.iter().filter(|&&i| data.targets[i] == c).count();
                assert!(count(&split.train) >= 3 && count(&split.test) >= 1);
            }
        }
        let message = splits::stratified(&data, 10, 1, 0).unwrap_err().to_string();
        assert!(message.contains("whole groups"), "{message}");
    }

    #[test]
    fn given_splits_that_tear_a_group_apart_are_refused() {
        let mut data = people();
        data.is_train = Some((0..data.targets.len()).map(|i| i % 2 == 0).collect());
        let message = splits::given(&data).unwrap_err().to_string();
        assert!(message.contains("which are of one group"), "{message}");
        data.groups = None;
        splits::given(&data).unwrap();
    }

    #[test]
    fn the_only_group_of_a_class_always_trains_and_too_few_groups_are_refused() {
        let labels = ["a", "a", "b", "b", "b", "b", "b"].map(String::from);
        let mut data = test_data(&labels);
        data.groups = Some(vec![0, 0, 1, 2, 3, 3, 4]);
        let made = cuts::cross_validation(&data, 2, 1, 0).unwrap();
        assert!(made.splits.iter().all(|split| split.train.starts_with(&[0, 1])));
        let message = cuts::cross_validation(&data, 5, 1, 0).unwrap_err().to_string();
        assert!(message.contains("4 groups") && message.contains("fewer folds"), "{message}");
    }
}
