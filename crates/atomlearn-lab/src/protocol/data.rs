//! Labelled data of an experiment, with the digest that ties splits and records to it.

use atomlearn::dataset::{Labels, check_finite};
use atomlearn::io::{ImageShape, RawData, TablePart, TableSchema};
use atomlearn::linalg::{concat_columns, select_columns};
use atomlearn::{Dataset, Error, Mat, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a record or a table says about its data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataInfo {
    /// The file or folder, as the user named it.
    pub path: String,
    /// Digest of its content.
    pub sha256: String,
    /// Number of samples.
    pub samples: usize,
    /// Number of features.
    pub features: usize,
    /// Number of classes.
    pub classes: usize,
}

/// Samples that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grouping {
    /// The column or variable that says so, where it has a name.
    pub column: Option<String>,
    /// Number of groups.
    pub number: usize,
}

impl Grouping {
    /// In words.
    pub fn text(&self) -> String {
        let of = self.column.as_ref().map_or(String::new(), |column| format!(" of column `{column}`"));
        format!("{} groups{of}", self.number)
    }
}

/// What samples are called by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Naming {
    /// Their number from 0.
    Sample,
    /// The id column of a table.
    Id,
    /// The file an image came from.
    File,
}

impl Naming {
    /// By what is known of the samples.
    pub fn of(ids: bool, names: bool) -> Self {
        match (ids, names) {
            (true, _) => Naming::Id,
            (false, true) => Naming::File,
            (false, false) => Naming::Sample,
        }
    }

    /// The name of the column in tables of results.
    pub fn column(self) -> &'static str {
        match self {
            Naming::Sample => "sample",
            Naming::Id => "id",
            Naming::File => "file",
        }
    }
}

/// Makes the features of all samples again for every training part: for samples such as photos, whose features are learned.
pub trait FeatureMaker: Send + Sync {
    /// Features learned from the samples at `train` alone.
    fn learn_from(&self, train: &[usize]) -> Result<Arc<MadeFeatures>>;
    /// Everything besides the data that determines the features.
    fn identity(&self) -> String;
}

/// Features that some training samples made known.
#[derive(Debug)]
pub struct MadeFeatures {
    /// features x samples, all of them in file order.
    pub x: Mat<f64>,
    /// Altered copies of training samples, features x copies.
    pub copies: Mat<f64>,
    /// The sample that each is a copy of.
    pub copy_of: Vec<usize>,
}

/// Labelled samples in file order.
#[derive(Clone)]
pub struct LabData {
    /// features x samples.
    pub x: Mat<f64>,
    /// Class names in class order.
    pub classes: Vec<String>,
    /// Class of every sample.
    pub targets: Vec<usize>,
    /// The split the file carries, if any.
    pub is_train: Option<Vec<bool>>,
    /// The samples that a feature map was fitted on, where features were learned beforehand.
    pub map_saw: Option<Vec<bool>>,
    /// The shape of the images the samples are made of, if known.
    pub image_shape: Option<ImageShape>,
    /// File name or row name of each sample, if the data have them.
    pub names: Option<Vec<String>>,
    /// What a table's id column calls each sample.
    pub ids: Option<Vec<String>>,
    /// Group of every sample, if there are groups; samples of one group are left out together.
    pub groups: Option<Vec<usize>>,
    /// The column or variable that says so, where it has a name.
    pub group_column: Option<String>,
    /// How much every sample counts, if not all count alike.
    pub weights: Option<Vec<f64>>,
    /// Names of the features, if the data have them.
    pub feature_names: Option<Vec<String>>,
    /// How a table became samples, for the models trained on them.
    pub schema: Option<TableSchema>,
    /// Where it came from.
    pub info: DataInfo,
    /// What the features of a sample are depends on the training part; see [`LabData::part`].
    by_part: bool,
    /// Who makes the features of a part; then `x` only counts the samples.
    maker: Option<Arc<dyn FeatureMaker>>,
}

impl LabData {
    /// Takes what a reader gave; labels are needed, and every value must be finite.
    pub fn new(path: &str, sha256: String, raw: RawData) -> Result<Self> {
        Self::build(path, sha256, raw, false)
    }

    /// As [`LabData::new`], for data that were read to be split later: what is learned about a table's columns (categories, values
    /// for missing cells) is learned again from every training part.
    pub fn to_split(path: &str, sha256: String, raw: RawData) -> Result<Self> {
        let by_part = raw.schema.as_ref().is_some_and(TableSchema::depends_on_part);
        Self::build(path, sha256, raw, by_part)
    }

    fn build(path: &str, sha256: String, raw: RawData, by_part: bool) -> Result<Self> {
        let labels = raw.labels.ok_or_else(|| {
            Error::format(path, "the data have no labels; name them with option `y = NAME` or option `labels = FILE`")
        })?;
        if labels.len() != raw.x.ncols() {
            return Err(Error::shape("labels", format!("one per sample ({})", raw.x.ncols()), labels.len()));
        }
        // Missing cells of a table that are filled later are NaN.
        let known = |v: f64| if v.is_nan() { 0.0 } else { v };
        let filled = by_part.then(|| Mat::from_fn(raw.x.nrows(), raw.x.ncols(), |i, j| known(raw.x[(i, j)])));
        check_finite(filled.as_ref().unwrap_or(&raw.x).as_ref())
            .map_err(|error| Error::Data(format!("{path}: {error}")))?;
        let Labels { classes, targets } = Labels::new(&labels);
        let info = DataInfo {
            path: path.into(),
            sha256,
            samples: raw.x.ncols(),
            features: raw.x.nrows(),
            classes: classes.len(),
        };
        let RawData { x, is_train, map_saw, image_shape, names, ids, groups, weights, feature_names, schema, .. } = raw;
        let groups = groups.map(|groups| numbered(&groups));
        Ok(LabData {
            x,
            classes,
            targets,
            is_train,
            map_saw,
            image_shape,
            names,
            ids,
            groups,
            group_column: None,
            weights,
            feature_names,
            schema,
            info,
            by_part,
            maker: None,
        })
    }

    /// Samples whose features are made by `maker` from every training part, about `n_features` of them.
    pub fn made_by(self, maker: Arc<dyn FeatureMaker>, n_features: usize) -> Self {
        LabData { info: DataInfo { features: n_features, ..self.info }, maker: Some(maker), ..self }
    }

    /// The same, where this column or variable says which samples belong together.
    pub fn with_group_column(self, group_column: Option<String>) -> Self {
        LabData { group_column, ..self }
    }

    /// The groups, if there are groups, for a protocol.
    pub(crate) fn grouping(&self) -> Option<Grouping> {
        let groups: HashSet<usize> = self.groups.as_ref()?.iter().copied().collect();
        Some(Grouping { column: self.group_column.clone(), number: groups.len() })
    }

    /// True if features are made again from every training part.
    pub fn is_made(&self) -> bool {
        self.maker.is_some()
    }

    /// Digest of everything about the data that determines results: that of the file and, where a table is learned from training
    /// parts, how.
    pub(crate) fn identity(&self) -> String {
        let schema =
            self.schema.as_ref().filter(|_| self.by_part).and_then(|schema| serde_json::to_string(schema).ok());
        let how = schema.or_else(|| self.maker.as_ref().map(|maker| maker.identity()));
        how.map_or_else(|| self.info.sha256.clone(), |schema| digest_text(&format!("{}\n{schema}", self.info.sha256)))
    }

    /// The data as the training samples at `places` alone make them known.
    pub fn part(&self, places: &[usize]) -> Result<Part<'_>> {
        let schema = self.schema.as_ref().filter(|_| self.by_part);
        let table = schema.map(|schema| schema.of_part(self.x.as_ref(), places)).transpose()?;
        let made = self.maker.as_ref().map(|maker| maker.learn_from(places)).transpose()?;
        Ok(Part { data: self, table, made })
    }

    /// What is wrong with testing on these samples, if their features were learned from them.
    pub fn seen_by_map<'a>(&self, tests: impl Iterator<Item = &'a usize>) -> Option<String> {
        let saw = self.map_saw.as_ref()?;
        let tested: HashSet<usize> = tests.copied().collect();
        let seen = tested.iter().filter(|&&i| saw[i]).count();
        (seen > 0).then(|| {
            format!(
                "the features were learned from {seen} of the {} samples they are tested on, so accuracies may be too high; compare the \
                 folder of images itself with option `features`, which learns features from every training part alone",
                tested.len()
            )
        })
    }

    /// What samples are called by.
    pub fn naming(&self) -> Naming {
        Naming::of(self.ids.is_some(), self.names.is_some())
    }

    /// What the sample at this place is called; without names its number.
    pub fn sample_name(&self, place: usize) -> String {
        let names = self.ids.as_ref().or(self.names.as_ref());
        names.and_then(|names| names.get(place)).map_or_else(|| place.to_string(), String::clone)
    }

    /// The samples at these places, as valid training data.
    pub fn dataset(&self, places: &[usize]) -> Result<Dataset> {
        let data = Dataset::from_places(self.x.as_ref(), &self.classes, &self.targets, places)?;
        self.with_groups_and_weights(data, places)
    }

    /// The groups and weights of the samples at these places, where there are any.
    fn with_groups_and_weights(&self, mut data: Dataset, places: &[usize]) -> Result<Dataset> {
        if let Some(groups) = &self.groups {
            data = data.with_groups(&places.iter().map(|&i| groups[i]).collect::<Vec<_>>())?;
        }
        if let Some(weights) = &self.weights {
            data = data.with_weights(&places.iter().map(|&i| weights[i]).collect::<Vec<_>>())?;
        }
        Ok(data)
    }

    /// The samples at these places, features x samples.
    pub fn columns(&self, places: &[usize]) -> Mat<f64> {
        select_columns(self.x.as_ref(), places)
    }
}

/// The data as some training samples make them known.
pub struct Part<'a> {
    data: &'a LabData,
    table: Option<TablePart>,
    made: Option<Arc<MadeFeatures>>,
}

impl Part<'_> {
    /// The samples at these places, as valid training data; with their altered copies, if there are such.
    pub fn dataset(&self, places: &[usize]) -> Result<Dataset> {
        if self.table.is_none() && self.made.is_none() {
            return self.data.dataset(places);
        }
        let chosen: HashSet<usize> = places.iter().copied().collect();
        let copy_of = self.made.as_ref().map_or(&[][..], |made| &made.copy_of);
        let copies: Vec<usize> = (0..copy_of.len()).filter(|&j| chosen.contains(&copy_of[j])).collect();
        let all: Vec<usize> = places.iter().copied().chain(copies.iter().map(|&j| copy_of[j])).collect();
        let mut x = self.columns(places);
        if let Some(made) = self.made.as_ref().filter(|_| !copies.is_empty()) {
            x = concat_columns(&[x, select_columns(made.copies.as_ref(), &copies)]);
        }
        let targets: Vec<usize> = all.iter().map(|&i| self.data.targets[i]).collect();
        let data = Dataset::from_targets(x.as_ref(), &self.data.classes, &targets)?;
        // A copy must not vouch for its original: they are left out together.
        if copies.is_empty() || self.data.groups.is_some() {
            return self.data.with_groups_and_weights(data, &all);
        }
        self.data.with_groups_and_weights(data.with_groups(&all)?, &all)
    }

    /// The samples at these places, features x samples.
    pub fn columns(&self, places: &[usize]) -> Mat<f64> {
        match (&self.table, &self.made) {
            (_, Some(made)) => select_columns(made.x.as_ref(), places),
            (Some(table), None) => table.apply(self.data.x.as_ref(), places),
            (None, None) => self.data.columns(places),
        }
    }

    /// What there is to warn about.
    pub fn warnings(&self) -> &[String] {
        self.table.as_ref().map_or(&[], |table| &table.warnings)
    }
}

/// A number for every name, in the order in which they come.
fn numbered(names: &[String]) -> Vec<usize> {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    names
        .iter()
        .map(|name| {
            let next = numbers.len();
            *numbers.entry(name.as_str()).or_insert(next)
        })
        .collect()
}

/// Digest of a file's bytes, or of every file of a folder with its name.
pub fn digest(path: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    if path.is_dir() {
        let mut files = Vec::new();
        list_files(path, DEEPEST, &mut files)?;
        files.sort();
        for file in files {
            let name = file.strip_prefix(path).unwrap_or(&file).to_string_lossy().replace('\\', "/");
            hash.update(format!("{name}\n{}\n", digest(&file)?));
        }
    } else {
        let mut file = std::fs::File::open(path).map_err(Error::io(path))?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            match file.read(&mut buffer).map_err(Error::io(path))? {
                0 => break,
                n => hash.update(&buffer[..n]),
            }
        }
    }
    Ok(hex(&hash.finalize()))
}

/// Digest of a file's bytes that are in memory.
pub fn digest_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Digest of samples and labels that came from no file.
pub fn digest_raw(raw: &RawData) -> String {
    let mut hash = Sha256::new();
    hash.update(format!("{} x {}\n", raw.x.nrows(), raw.x.ncols()));
    for column in raw.x.col_iter() {
        column.iter().for_each(|value| hash.update(value.to_le_bytes()));
    }
    raw.labels.iter().flatten().for_each(|label| hash.update(format!("{label}\n")));
    hex(&hash.finalize())
}

/// Digest of a text.
pub fn digest_text(text: &str) -> String {
    hex(&Sha256::digest(text))
}

/// Data lie in a folder or in its sub-folders; going deeper could follow links in circles.
const DEEPEST: usize = 1;

fn list_files(folder: &Path, deeper: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder).map_err(Error::io(folder))? {
        let path = entry.map_err(Error::io(folder))?.path();
        if path.is_file() {
            files.push(path);
        } else if path.is_dir() && deeper > 0 {
            list_files(&path, deeper - 1, files)?;
        }
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Two features that name the sample, and these labels.
#[cfg(test)]
pub(crate) fn test_data(labels: &[String]) -> LabData {
    let x = Mat::from_fn(2, labels.len(), |i, j| (i + j) as f64);
    let raw = RawData { labels: Some(labels.to_vec()), ..RawData::new(x) };
    LabData::new("toy", digest_raw(&raw), raw).unwrap()
}

/// Gaussian classes for tests.
#[cfg(test)]
pub(crate) fn synthetic(n_classes: usize, per_class: usize, n_features: usize, seed: u64) -> LabData {
    let data = atomlearn::synth::blobs(n_classes, per_class, n_features, seed);
    let names = data.classes().to_vec();
    let labels = data.targets().into_iter().map(|c| names[c].clone()).collect();
    let raw = RawData { labels: Some(labels), ..RawData::new(data.x().to_owned()) };
    LabData::new("toy", "0".repeat(64), raw).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_that_of_the_bytes_and_of_a_folder_that_of_names_and_content() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.txt");
        std::fs::write(&file, "abc").unwrap();
        assert_eq!(digest(&file).unwrap(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let before = digest(folder.path()).unwrap();
        assert_eq!(before, digest(folder.path()).unwrap());
        std::fs::rename(&file, folder.path().join("b.txt")).unwrap();
        assert_ne!(before, digest(folder.path()).unwrap());
    }
}
