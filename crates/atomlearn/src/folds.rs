//! Seeded, stratified folds.

use crate::{Error, Result};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Folds use a stream of the generator that nothing else does.
const STREAM: u64 = u64::MAX;

/// A number below `n`, each equally likely. Written out so that what is drawn stays the same whatever a library changes.
pub fn below(rng: &mut ChaCha8Rng, n: usize) -> usize {
    let n = n as u64;
    let whole = u64::MAX - u64::MAX % n;
    loop {
        let value = rng.next_u64();
        if value < whole {
            return (value % n) as usize;
        }
    }
}

/// Deals the samples of each class out into parts of like size; in fold f, part f validates and all others train. The parts are
/// sorted.
///
/// Class by class in the order given, the samples (ascending) are shuffled and dealt out in turn, each class beginning where
/// the one before it ended. The only sample of a class is in no part: it always trains, so that no fold lacks a class.
pub fn stratified(by_class: Vec<Vec<usize>>, folds: usize, seed: u64) -> Result<Vec<Vec<usize>>> {
    if folds < 2 {
        return Err(Error::param("folds", folds, "at least two are needed"));
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(STREAM);
    let mut validating = vec![Vec::new(); folds];
    let mut turn = 0;
    for mut own in by_class.into_iter().filter(|own| own.len() > 1) {
        own.sort_unstable();
        for k in 0..own.len() - 1 {
            let other = k + below(&mut rng, own.len() - k);
            own.swap(k, other);
        }
        for place in own {
            validating[turn % folds].push(place);
            turn += 1;
        }
    }
    if turn < folds {
        return Err(Error::Data(format!(
            "{turn} training samples of classes with two or more are too few for {folds} folds; use fewer folds"
        )));
    }
    validating.iter_mut().for_each(|part| part.sort_unstable());
    Ok(validating)
}
/// Deals whole groups out into at most so many parts; in fold f, the samples of part f validate and all others train. The parts are sorted.
///
/// Groups, largest first, go to the part that has the fewest samples of the group's most frequent class, then the fewest at all. A group is in no
/// part where some class would be left without a training sample: it always trains.
pub fn grouped(groups: &[usize], targets: &[usize], n_classes: usize, folds: usize) -> Result<Vec<Vec<usize>>> {
    let mut members = std::collections::BTreeMap::<usize, Vec<usize>>::new();
    groups.iter().enumerate().for_each(|(i, &group)| members.entry(group).or_default().push(i));
    let mut members: Vec<Vec<usize>> = members.into_values().collect();
    members.sort_by_key(|own| std::cmp::Reverse(own.len()));
    let mut totals = vec![0; n_classes];
    targets.iter().for_each(|&c| totals[c] += 1);
    let mut held = vec![vec![0; n_classes]; folds];
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); folds];
    for own in members {
        let mut counts = vec![0; n_classes];
        own.iter().for_each(|&i| counts[targets[i]] += 1);
        let most = (0..n_classes).max_by_key(|&c| (counts[c], std::cmp::Reverse(c))).unwrap_or(0);
        let fits = |f: &usize| (0..n_classes).all(|c| counts[c] == 0 || held[*f][c] + counts[c] < totals[c]);
        let Some(f) = (0..folds).filter(fits).min_by_key(|&f| (held[f][most], parts[f].len())) else { continue };
        held[f].iter_mut().zip(&counts).for_each(|(held, count)| *held += count);
        parts[f].extend(own);
    }
    parts.retain(|part| !part.is_empty());
    if parts.len() < 2 {
        return Err(Error::Data("too few groups for cross-validation without some of them; use more groups".into()));
    }
    parts.iter_mut().for_each(|part| part.sort_unstable());
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_stay_together_and_no_class_is_left_without_training_samples() {
        let groups: Vec<usize> = (0..60).map(|i| i * 7 % 13).collect();
        let targets: Vec<usize> = (0..60).map(|i| if i == 5 || groups[i] == 12 { 3 } else { i / 20 }).collect();
        let parts = grouped(&groups, &targets, 4, 5).unwrap();
        assert_eq!(parts.len(), 5);
        for part in &parts {
            let inside = |i: usize| part.binary_search(&i).is_ok();
            assert!(part.is_sorted() && part.iter().all(|&i| (0..60).all(|j| groups[j] != groups[i] || inside(j))));
            assert!((0..4).all(|c| (0..60).any(|i| targets[i] == c && !inside(i))));
        }
        let mut dealt = parts.concat();
        dealt.sort_unstable();
        assert!(dealt.windows(2).all(|two| two[0] < two[1]), "a sample is in one part");
        // Of classes that are a group each, none can be spared.
        assert!(grouped(&[0, 0, 1, 1], &[0, 0, 1, 1], 2, 5).is_err());
    }
}
