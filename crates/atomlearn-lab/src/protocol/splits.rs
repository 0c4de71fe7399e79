//! Which samples train and which test: seeded stratified splits, given splits, split files.

use crate::protocol::data::{LabData, digest_text};
use crate::protocol::{groups, index_vectors};
use atomlearn::file::write_atomically;
use atomlearn::folds::below;
use atomlearn::{Error, Result, io};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::path::Path;

const SCHEMA: &str = "atomlearn.splits/1";
/// Streams of the generator for learning curves count down from here, where nothing else is drawn.
const CURVE_STREAMS: u64 = u64::MAX / 2;
/// Shares of the training part whose accuracies make a learning curve, besides all of it.
pub const CURVE_SHARES: [f64; 3] = [0.125, 0.25, 0.5];

/// Places of training and test samples, 0-based in file order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// Training samples.
    pub train: Vec<usize>,
    /// Test samples.
    pub test: Vec<usize>,
}

impl Split {
    /// A digest of both lists; ties a record to its split.
    pub fn digest(&self) -> String {
        digest_text(&format!("{:?}{:?}", self.train, self.test))
    }
}

/// The splits of an experiment and how they were made.
#[derive(Clone, Debug, PartialEq)]
pub struct Splits {
    /// One per repeat.
    pub splits: Vec<Split>,
    /// Training samples of every class, where that is one number.
    pub train_per_class: Option<usize>,
    /// Of whole groups: training samples of every class at least.
    pub train_at_least: Option<usize>,
    /// The seed, where they were drawn here.
    pub seed: Option<u64>,
    /// Folds of a cross-validation, where they are that: as many splits in a row belong to one cut of the data.
    pub folds: Option<usize>,
    /// Share of every training part that is kept, in a learning curve.
    pub curve: Option<f64>,
}

impl Splits {
    /// How often splits were drawn, or all data cut into folds.
    pub fn repeats(&self) -> usize {
        self.splits.len() / self.folds.unwrap_or(1).max(1)
    }

    /// The same splits with this share of the training samples of every class, at least one of each; those of a smaller share are
    /// among those of a larger. Test parts stay as they are.
    pub fn with_share(&self, data: &LabData, share: f64) -> Self {
        let thinned = |(s, split): (usize, &Split)| {
            let mut rng = ChaCha8Rng::seed_from_u64(self.seed.unwrap_or(0));
            rng.set_stream(CURVE_STREAMS - s as u64);
            let mut by_class = vec![Vec::new(); data.classes.len()];
            split.train.iter().for_each(|&i| by_class[data.targets[i]].push(i));
            let mut train = Vec::new();
            for mut places in by_class.into_iter().filter(|places| !places.is_empty()) {
                let kept = ((share * places.len() as f64).round() as usize).clamp(1, places.len());
                // All are shuffled, whatever the share: what is kept of one is kept of every larger.
                for k in 0..places.len() - 1 {
                    let other = k + below(&mut rng, places.len() - k);
                    places.swap(k, other);
                }
                train.extend(&places[..kept]);
            }
            train.sort_unstable();
            Split { train, test: split.test.clone() }
        };
        Splits { splits: self.splits.iter().enumerate().map(thinned).collect(), curve: Some(share), ..self.clone() }
    }

    /// The splits of a learning curve with ever more of the training samples, up to half of them; those that have no more than the
    /// one before are left out.
    pub fn shorter(&self, data: &LabData) -> Vec<Self> {
        let mut parts: Vec<Self> = Vec::new();
        for share in CURVE_SHARES {
            let part = self.with_share(data, share);
            if part.splits != self.splits && parts.last().is_none_or(|last| last.splits != part.splits) {
                parts.push(part);
            }
        }
        parts
    }
}

#[derive(Serialize, Deserialize)]
struct SplitFile {
    schema: String,
    #[serde(default)]
    data_sha256: Option<String>,
    /// See [`Splits::folds`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folds: Option<usize>,
    splits: Vec<Split>,
}

/// Draws `train_per_class` samples of every class for training, all others for testing, `repeats` times.
///
/// Repeat r uses stream r of a ChaCha8 generator seeded with `seed`, so that a split does not depend on how many others
/// are drawn.
pub fn stratified(data: &LabData, train_per_class: usize, repeats: usize, seed: u64) -> Result<Splits> {
    if train_per_class == 0 {
        return Err(Error::param("train-per-class", 0, "at least one sample of every class must train"));
    }
    if repeats == 0 {
        return Err(Error::param("repeats", 0, "must be at least 1"));
    }
    if let Some(groups) = &data.groups {
        let draw = |repeat: u64| groups::draw(data, groups, train_per_class, seed, repeat);
        let splits = (0..repeats as u64).map(draw).collect::<Result<Vec<_>>>()?;
        let made = checked(splits, None, data, "groups")?;
        return Ok(Splits { seed: Some(seed), train_at_least: Some(train_per_class), ..made });
    }
    let mut by_class = vec![Vec::new(); data.classes.len()];
    data.targets.iter().enumerate().for_each(|(i, &c)| by_class[c].push(i));
    let smallest = by_class.iter().enumerate().min_by_key(|(_, places)| places.len());
    if let Some((c, places)) = smallest.filter(|(_, places)| places.len() <= train_per_class) {
        let most = places.len() - 1;
        let advice = if most == 0 { "leave that class out".into() } else { format!("use {most} at most") };
        return Err(Error::Data(format!(
            "class `{}` has {} samples: too few for {train_per_class} training samples and at least one test sample; \
             {advice}",
            data.classes[c],
            places.len()
        )));
    }
    let splits = (0..repeats as u64).map(|repeat| draw(&by_class, train_per_class, seed, repeat)).collect();
    let train_per_class = Some(train_per_class);
    Ok(Splits { splits, train_per_class, train_at_least: None, seed: Some(seed), folds: None, curve: None })
}

fn draw(by_class: &[Vec<usize>], train_per_class: usize, seed: u64, repeat: u64) -> Split {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(repeat);
    let mut split = Split { train: Vec::new(), test: Vec::new() };
    for places in by_class {
        let mut places = places.clone();
        for k in 0..train_per_class {
            let other = k + below(&mut rng, places.len() - k);
            places.swap(k, other);
        }
        split.train.extend(&places[..train_per_class]);
        split.test.extend(&places[train_per_class..]);
    }
    split.train.sort_unstable();
    split.test.sort_unstable();
    split
}

/// The split that the data file carries in `is_train`.
pub fn given(data: &LabData) -> Result<Splits> {
    let is_train = data
        .is_train
        .as_ref()
        .ok_or_else(|| Error::Data(format!("{}: the data carry no split (no variable `is_train`)", data.info.path)))?;
    let (train, test) = (0..is_train.len()).partition(|&i| is_train[i]);
    checked(vec![Split { train, test }], None, data, "is_train")
}

/// Reads a split file and checks it against the data: JSON as [`write`] makes it, or index vectors in a `.mat`, `.npy` or `.npz`
/// file, whose places count from 0 or 1 as `from` says, and where `note` is told how they were understood.
pub fn read(path: &Path, data: &LabData, from: Option<usize>, note: &mut dyn FnMut(&str)) -> Result<Splits> {
    if is_of_arrays(path) {
        let splits = index_vectors::splits(path, &io::read_matrices(path)?, data.targets.len(), from, note)?;
        return checked(splits, None, data, &path.display().to_string());
    }
    if from == Some(1) {
        return Err(Error::format(
            path,
            "a split file in JSON counts from 0; option `splits-from` is for .mat, .npy and .npz files",
        ));
    }
    parse(path, &std::fs::read(path).map_err(Error::io(path))?, data)
}

fn is_of_arrays(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    extension.is_some_and(|extension| ["mat", "npy", "npz", "h5", "hdf5"].contains(&extension.as_str()))
}

/// As [`read`], for the content of a JSON split file; `path` is what messages call it.
pub fn parse(path: &Path, bytes: &[u8], data: &LabData) -> Result<Splits> {
    let file: SplitFile =
        serde_json::from_slice(bytes).map_err(|e| Error::format(path, format!("not a split file: {e}")))?;
    if file.schema != SCHEMA {
        return Err(Error::format(path, format!("schema `{}` where `{SCHEMA}` is needed", file.schema)));
    }
    if let Some(digest) = file.data_sha256.filter(|digest| *digest != data.info.sha256) {
        return Err(Error::format(
            path,
            format!(
                "made for other data (SHA-256 {}..., but {} has {}...)",
                digest.get(..12).unwrap_or(&digest),
                data.info.path,
                data.info.sha256.get(..12).unwrap_or(&data.info.sha256)
            ),
        ));
    }
    checked(file.splits, file.folds, data, &path.display().to_string())
}

/// Splits that were made elsewhere, checked against the data; `origin` is what messages call them.
pub fn of_lists(mut splits: Vec<Split>, data: &LabData, origin: &str) -> Result<Splits> {
    splits.iter_mut().for_each(|split| {
        split.train.sort_unstable();
        split.test.sort_unstable();
    });
    checked(splits, None, data, origin)
}

/// Writes a split file, atomically.
pub fn write(path: &Path, splits: &Splits, data: &LabData) -> Result<()> {
    let file = SplitFile {
        schema: SCHEMA.into(),
        data_sha256: Some(data.info.sha256.clone()),
        folds: splits.folds,
        splits: splits.splits.clone(),
    };
    let text = serde_json::to_string(&file).map_err(|e| Error::format(path, e.to_string()))?;
    write_atomically(path, (text + "\n").as_bytes())
}

/// Refuses splits that no experiment could use, and finds the number of training samples per class.
fn checked(splits: Vec<Split>, folds: Option<usize>, data: &LabData, origin: &str) -> Result<Splits> {
    let n = data.targets.len();
    if splits.is_empty() {
        return Err(Error::Data(format!("{origin}: holds no split")));
    }
    let mut sizes = Vec::new();
    for (s, split) in splits.iter().enumerate() {
        let bad = |why: String| Err(Error::Data(format!("{origin}: split {s} (counted from 0): {why}")));
        if split.train.is_empty() || split.test.is_empty() {
            return bad(format!("{} training and {} test samples", split.train.len(), split.test.len()));
        }
        let mut seen = vec![""; n];
        for (part, places) in [("training", &split.train), ("test", &split.test)] {
            for &i in places {
                match seen.get(i) {
                    None => {
                        let all = || split.train.iter().chain(&split.test);
                        let from_one = all().all(|&i| (1..=n).contains(&i));
                        let hint = if from_one { "; they seem to count from 1: take 1 from each" } else { "" };
                        return bad(format!("sample {i} does not exist, as there are {n} (counted from 0){hint}"));
                    }
                    Some(&"") => seen[i] = part,
                    Some(&other) if other == part => return bad(format!("sample {i} is twice in the {part} part")),
                    Some(_) => return bad(format!("sample {i} is in the training and in the test part")),
                }
            }
        }
        let mut counts = vec![0usize; data.classes.len()];
        split.train.iter().for_each(|&i| counts[data.targets[i]] += 1);
        if let Some(c) = counts.iter().position(|&count| count == 0) {
            return bad(format!("class `{}` has no training sample", data.classes[c]));
        }
        sizes.extend(counts);
    }
    groups::check(data, &splits, origin)?;
    if let Some(folds) = folds.filter(|&folds| !are_folds(&splits, folds)) {
        return Err(Error::Data(format!(
            "{origin}: says that its splits are folds of {folds}, but {folds} in a row have test samples in common or some are left over"
        )));
    }
    let same = sizes.iter().all(|&size| size == sizes[0]);
    let train_per_class = same.then_some(sizes[0]).filter(|_| folds.is_none());
    Ok(Splits { splits, train_per_class, train_at_least: None, seed: None, folds, curve: None })
}

/// True if every `folds` splits in a row test no sample twice.
fn are_folds(splits: &[Split], folds: usize) -> bool {
    let disjoint = |cut: &[Split]| {
        let mut tested: Vec<usize> = cut.iter().flat_map(|split| split.test.iter().copied()).collect();
        let all = tested.len();
        tested.sort_unstable();
        tested.dedup();
        tested.len() == all
    };
    folds > 1 && splits.len().is_multiple_of(folds) && splits.chunks(folds).all(disjoint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::data::test_data;

    fn data(labels: &[&str]) -> LabData {
        test_data(&labels.iter().map(|s| s.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn the_parts_of_a_learning_curve_grow_and_test_the_same_samples() {
        let labels: Vec<String> = (0..40).map(|i| format!("class {}", i % 3)).collect();
        let data = test_data(&labels);
        let whole = stratified(&data, 8, 2, 3).unwrap();
        let mut smaller: Option<Splits> = None;
        for share in CURVE_SHARES {
            let part = whole.with_share(&data, share);
            for (s, split) in part.splits.iter().enumerate() {
                assert_eq!((split.train.len(), &split.test), (3 * (8.0 * share) as usize, &whole.splits[s].test));
                assert!(split.train.iter().all(|i| whole.splits[s].train.contains(i)));
                let before = smaller.as_ref().map_or(&[][..], |smaller| &smaller.splits[s].train);
                assert!(before.iter().all(|i| split.train.contains(i)));
            }
            smaller = Some(part);
        }
        assert_eq!(whole.with_share(&data, 1.0).splits, whole.splits);
    }

    #[test]
    fn stratified_splits_are_balanced_complete_and_seeded() {
        let data = data(&["b", "a", "a", "b", "a", "b", "a", "a"]);
        let made = stratified(&data, 2, 3, 7).unwrap();
        for split in &made.splits {
            let mut all: Vec<usize> = split.train.iter().chain(&split.test).copied().collect();
            all.sort_unstable();
            assert_eq!(all, (0..8).collect::<Vec<_>>());
            for c in 0..2 {
                assert_eq!(split.train.iter().filter(|&&i| data.targets[i] == c).count(), 2);
            }
        }
        assert_eq!(made, stratified(&data, 2, 3, 7).unwrap());
        assert_eq!(made.splits[0], stratified(&data, 2, 1, 7).unwrap().splits[0]);
        assert_ne!(made.splits, stratified(&data, 2, 3, 8).unwrap().splits);
    }

    #[test]
    fn splits_never_change() {
        let data = data(&["a", "a", "a", "a", "b", "b", "b", "b"]);
        let trains: Vec<Vec<usize>> = stratified(&data, 2, 2, 1).unwrap().splits.into_iter().map(|s| s.train).collect();
        assert_eq!(trains, PINNED);
    }

    const PINNED: [[usize; 4]; 2] = [[1, 3, 4, 5], [0, 3, 6, 7]];

    #[test]
    fn a_class_that_is_too_small_is_named_with_its_count() {
        let message = stratified(&data(&["a", "a", "b", "b", "b"]), 2, 1, 0).unwrap_err().to_string();
        assert!(message.contains("class `a` has 2 samples") && message.contains("use 1 at most"), "{message}");
        assert!(stratified(&data(&["a", "b"]), 0, 1, 0).is_err());
    }

    #[test]
    fn split_files_come_back_and_bad_ones_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("splits.json");
        let data = data(&["a", "a", "b", "b"]);
        let made = stratified(&data, 1, 2, 3).unwrap();
        write(&path, &made, &data).unwrap();
        let back = read(&path, &data, None, &mut |_| ()).unwrap();
        assert_eq!((back.splits, back.train_per_class, back.seed), (made.splits, Some(1), None));
        let refuse = |train: &str, test: &str| {
            std::fs::write(&path, format!(r#"{{"schema":"{SCHEMA}","splits":[{{"train":{train},"test":{test}}}]}}"#))
                .unwrap();
            read(&path, &data, None, &mut |_| ()).unwrap_err().to_string()
        };
        assert!(refuse("[0,2]", "[9]").contains("sample 9 does not exist, as there are 4"));
        assert!(refuse("[0,2]", "[0]").contains("sample 0 is in the training and in the test part"));
        assert!(refuse("[0,0,2]", "[1]").contains("sample 0 is twice in the training part"));
        assert!(refuse("[0,1]", "[2]").contains("class `b` has no training sample"));
        assert!(refuse("[0,2]", "[]").contains("2 training and 0 test samples"));
        let folds = crate::protocol::folds::cross_validation(&data, 2, 3, 1).unwrap();
        write(&path, &folds, &data).unwrap();
        assert_eq!(read(&path, &data, None, &mut |_| ()).unwrap(), Splits { seed: None, ..folds.clone() });
        write(&path, &Splits { folds: Some(3), ..folds }, &data).unwrap();
        assert!(read(&path, &data, None, &mut |_| ()).unwrap_err().to_string().contains("folds of 3"));
        std::fs::write(&path, format!(r#"{{"schema":"{SCHEMA}","data_sha256":"00","splits":[]}}"#)).unwrap();
        assert!(read(&path, &data, None, &mut |_| ()).unwrap_err().to_string().contains("made for other data"));
        std::fs::write(&path, "{}").unwrap();
        assert!(read(&path, &data, None, &mut |_| ()).unwrap_err().to_string().contains("not a split file"));
    }
}
