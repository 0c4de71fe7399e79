//! Samples that equal others, by name: when one is left out, its twin stays and gives its label away.

use super::data::{LabData, Naming};
use serde::Serialize;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Sets of equal samples that a sentence names.
const SETS: usize = 5;
/// Samples of each that it names.
const NAMED: usize = 4;

/// Samples that are equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Twins {
    /// What they are called; without names, their rows from 0.
    pub samples: Vec<String>,
    /// The labels they carry.
    pub labels: Vec<String>,
    /// What samples are called by.
    #[serde(skip)]
    pub naming: Naming,
    /// Their places in the data.
    #[serde(skip)]
    pub places: Vec<usize>,
}

impl Twins {
    /// True if they carry different labels, so that one of these must be wrong.
    pub fn disagree(&self) -> bool {
        self.labels.iter().any(|label| *label != self.labels[0])
    }
}

/// Equal samples among those at `places`, those of different labels first. Copies of one group are left out together, so that a group
/// is no twin of itself.
pub fn find(data: &LabData, places: &[usize]) -> Vec<Twins> {
    let mut sets: HashMap<u64, Vec<usize>> = HashMap::new();
    for &place in places {
        let mut hash = DefaultHasher::new();
        // Adding zero makes minus zero plus zero.
        data.x.col(place).iter().for_each(|v| (v + 0.0).to_bits().hash(&mut hash));
        sets.entry(hash.finish()).or_default().push(place);
    }
    let of_one_group = |set: &[usize]| {
        data.groups.as_ref().is_some_and(|groups| set.iter().all(|&place| groups[place] == groups[set[0]]))
    };
    let mut sets: Vec<Vec<usize>> = sets.into_values().filter(|set| set.len() > 1 && !of_one_group(set)).collect();
    sets.sort();
    let twins = |places: Vec<usize>| Twins {
        samples: places.iter().map(|&place| data.sample_name(place)).collect(),
        labels: places.iter().map(|&place| data.classes[data.targets[place]].clone()).collect(),
        naming: data.naming(),
        places,
    };
    let mut all: Vec<Twins> = sets.into_iter().map(twins).collect();
    all.sort_by_key(|twins| !twins.disagree());
    all
}

/// The first of them in a sentence; nothing if there are none.
pub fn in_words(all: &[Twins]) -> Option<String> {
    let one = |twins: &Twins| {
        let more = if twins.samples.len() > NAMED { " = ..." } else { "" };
        let row = if twins.naming == Naming::Sample { "row " } else { "" };
        let named = twins.samples.iter().zip(&twins.labels).take(NAMED);
        let named: Vec<String> = named.map(|(name, label)| format!("{row}{name} ({label})")).collect();
        named.join(" = ") + more
    };
    let shown: Vec<String> = all.iter().take(SETS).map(one).collect();
    let more =
        if all.len() > SETS { format!("; and {} more, which --json lists", all.len() - SETS) } else { String::new() };
    (!all.is_empty()).then(|| format!("these are equal: {}{more}", shown.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::data::synthetic;

    #[test]
    fn twins_are_named_and_those_of_other_labels_come_first() {
        let mut data = synthetic(3, 4, 5, 1);
        for (place, of) in [(1, 0), (2, 0), (10, 5)] {
            (0..5).for_each(|i| data.x[(i, place)] = data.x[(i, of)]);
        }
        let all: Vec<usize> = (0..12).collect();
        let found = find(&data, &all);
        assert_eq!(found.iter().map(|twins| twins.places.clone()).collect::<Vec<_>>(), [vec![5, 10], vec![0, 1, 2]]);
        assert!(found[0].disagree() && !found[1].disagree());
        let [a, b] = [5, 10].map(|place| data.classes[data.targets[place]].clone());
        let said = in_words(&found).unwrap();
        assert!(said.starts_with(&format!("these are equal: row 5 ({a}) = row 10 ({b}); row 0 (")), "{said}");
        assert_eq!(find(&data, &[0, 5, 6]), []);
        assert_eq!(in_words(&[]), None);
        data.groups = Some(vec![0; 12]);
        assert_eq!(find(&data, &all), []);
    }
}
