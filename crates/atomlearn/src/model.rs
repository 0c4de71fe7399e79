//! A trained model with everything needed to use it: preprocessing, method, parameters, provenance.

use crate::classifier::{best_class, check_features, in_blocks, join_blocks};
use crate::dataset::check_finite_from;
use crate::info::Info;
use crate::io::limits::allowance;
use crate::io::{Fill, TableSchema};
use crate::prep::{Buffers, Prep, PrepSpec};
use crate::registry::{self, Method, Values};
use crate::{Classifier, Dataset, Error, Observer, Parts, Result, archive};
use faer::{Mat, MatRef};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

mod onnx;
mod recipe;

pub use recipe::{Ready, Recipe};

const FORMAT: &str = "atomlearn.model/1";
/// Begins the names of what belongs to the feature map.
const FEATURES: &str = "features";
/// The header field of the table the model was trained on.
const TABLE: &str = "table";

/// Preprocessing and classifier, trained together.
///
/// ```
/// use atomlearn::{Model, registry, synth};
///
/// let train = synth::blobs(3, 12, 8, 1);
/// let method = registry::method("crc")?;
/// let model = Model::train(method, &Default::default(), &"standard,unit".parse()?, &train, &mut ())?;
/// let file = std::env::temp_dir().join(format!("atomlearn-example-{}.model", std::process::id()));
/// model.save(&file)?;
/// assert_eq!(Model::load(&file)?.predict(train.x())?, model.predict(train.x())?);
/// # std::fs::remove_file(&file).ok();
/// # Ok::<(), atomlearn::Error>(())
/// ```
pub struct Model {
    method: &'static Method,
    params: Values,
    prep: Prep,
    classifier: Box<dyn Classifier>,
    /// Notes that travel with the model.
    pub info: Info,
    /// The map that made the raw samples from images, as its own crate stores it; this one only carries it.
    pub features: Option<archive::Content>,
    /// How a table becomes raw samples, if the model was trained on one: names, categories, fills.
    pub schema: Option<TableSchema>,
}

impl Model {
    /// Fits the preprocessing on the training data, then the method on the result. What the method chose is among the parameters, and
    /// under `chosen` in the notes.
    pub fn train(
        method: &'static Method,
        params: &Values,
        prep: &PrepSpec,
        train: &Dataset,
        watch: &mut dyn Observer,
    ) -> Result<Self> {
        Recipe::new(method, params, prep)?.train(train, watch)
    }

    /// Puts together what was trained step by step.
    pub fn new(method: &'static Method, params: Values, prep: Prep, classifier: Box<dyn Classifier>) -> Result<Self> {
        let n_out = prep.n_out()?;
        if classifier.n_features() != n_out {
            return Err(Error::shape("features after preprocessing", classifier.n_features(), n_out));
        }
        Ok(Model { method, params, prep, classifier, info: Info::default(), features: None, schema: None })
    }

    /// The method.
    pub fn method(&self) -> &'static Method {
        self.method
    }

    /// All its parameters.
    pub fn params(&self) -> &Values {
        &self.params
    }

    /// The fitted preprocessing.
    pub fn prep(&self) -> &Prep {
        &self.prep
    }

    /// The classifier behind the preprocessing.
    pub fn classifier(&self) -> &dyn Classifier {
        self.classifier.as_ref()
    }

    /// Class names in score order.
    pub fn classes(&self) -> &[String] {
        self.classifier.classes()
    }

    /// Takes raw samples (features x samples) through the preprocessing.
    pub fn prepare(&self, x: MatRef<'_, f64>) -> Result<Mat<f64>> {
        check_features(self.prep.n_features(), x)?;
        check_finite_from(0, x)?;
        Ok(self.prep.apply(x))
    }

    /// How a table becomes raw samples, if that is known: from the table the model was trained on, or from the names of the
    /// columns of numbers that Python had.
    pub fn table(&self) -> Option<TableSchema> {
        if self.schema.is_some() {
            return self.schema.clone();
        }
        let mut schema = TableSchema::of_numbers(self.info.feature_names()?);
        // Python fills missing values by itself where its notes say with what; so can everybody else.
        for (feature, fill) in schema.features.iter_mut().zip(self.info.fills()) {
            feature.fill = fill.filter(|fill| fill.is_finite()).map(Fill::Number);
        }
        (schema.n_features() == self.prep.n_features() && schema.check().is_ok()).then_some(schema)
    }

    /// Scores of raw samples, classes x samples, larger = more likely.
    pub fn scores(&self, x: MatRef<'_, f64>) -> Result<Mat<f64>> {
        let blocks = self.in_blocks(x, &|block| vec![self.classifier.score_block(block)])?;
        Ok(join_blocks(self.classes().len(), x.ncols(), &blocks, 0))
    }

    /// Calibrated probabilities of raw samples, classes x samples; none if the method has no such thing.
    pub fn probabilities(&self, x: MatRef<'_, f64>) -> Result<Option<Mat<f64>>> {
        let blocks =
            self.in_blocks(x, &|block| self.classifier.probabilities_block(block).into_iter().collect::<Vec<_>>())?;
        let known = blocks.iter().all(|block| !block.is_empty());
        Ok((known && !blocks.is_empty()).then(|| join_blocks(self.classes().len(), x.ncols(), &blocks, 0)))
    }

    /// The factor that makes scores logarithms of probabilities, up to what makes those add up to one; from cross-validation in
    /// Python, for models that were fitted with `probability=True`.
    pub fn inverse_temperature(&self) -> Option<f64> {
        self.info.inverse_temperature().filter(|b| *b > 0.0 && b.is_finite())
    }

    /// Calibrated probabilities from scores of the rule in use, classes x samples, by the method or by
    /// [`Model::inverse_temperature`]; none if the model has neither.
    pub fn probabilities_of_scores(&self, scores: MatRef<'_, f64>) -> Option<Mat<f64>> {
        let mut proba = scores.to_owned();
        if self.method.probabilities {
            proba.as_mut().col_iter_mut().for_each(|column| column.iter_mut().for_each(|s| *s = s.exp()));
            return Some(proba);
        }
        let b = self.inverse_temperature()?;
        proba.as_mut().col_iter_mut().for_each(|column| softmax(column.iter_mut().collect(), b));
        Some(proba)
    }

    /// The class of every raw sample, as an index into [`Model::classes`].
    pub fn predict(&self, x: MatRef<'_, f64>) -> Result<Vec<usize>> {
        let blocks = self.in_blocks(x, &|block| best_class(self.classifier.score_block(block)))?;
        Ok(blocks.concat())
    }

    /// Prepares raw samples block by block and does `work` on each while it is in the cache.
    fn in_blocks<T: Send>(&self, x: MatRef<'_, f64>, work: &(dyn Fn(MatRef<'_, f64>) -> T + Sync)) -> Result<Vec<T>> {
        check_features(self.prep.n_features(), x)?;
        in_blocks(x, Buffers::new, &|buffers, start, block| {
            check_finite_from(start, block)?;
            if self.prep.is_empty() {
                return Ok(work(block));
            }
            let prepared = self.prep.apply_in(block, buffers);
            check_finite_from(start, prepared)?;
            Ok(work(prepared))
        })
    }

    /// Writes the model file, atomically.
    pub fn save(&self, path: &Path) -> Result<()> {
        archive::write(path, &self.content())
    }

    /// The bytes of the model file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        archive::encode(&self.content())
    }

    /// A model from the bytes of a model file; everything in them is checked.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::from_content(archive::decode(bytes)?)
    }

    fn content(&self) -> archive::Content {
        let header = [
            ("format", json!(FORMAT)),
            ("method", json!(self.method.key)),
            ("params", json!(self.params)),
            ("classes", json!(self.classes())),
            ("prep", json!(self.prep.spec().to_string())),
            ("n_features", json!(self.prep.n_features())),
            ("info", json!(self.info)),
        ];
        let mut header: Values = header.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
        let mut matrices = Parts::default();
        self.prep.store(&mut matrices);
        self.classifier.store(&mut matrices);
        if let Some(schema) = &self.schema {
            header.insert(TABLE.into(), json!(schema));
        }
        let mut blobs = BTreeMap::new();
        if let Some(features) = &self.features {
            header.insert(FEATURES.into(), json!(features.header));
            let named = |name: &str| format!("{FEATURES}.{name}");
            features.matrices.iter().for_each(|(name, part)| matrices.put(named(name), part));
            blobs.extend(features.blobs.iter().map(|(name, bytes)| (named(name), bytes.clone())));
        }
        archive::Content { header, matrices, blobs }
    }

    /// Reads a model file; everything in it is checked.
    pub fn load(path: &Path) -> Result<Self> {
        Self::from_content(archive::read(path)?).map_err(|e| match e {
            Error::Io { .. } | Error::Format { .. } => e,
            other => Error::format(path, other.to_string()),
        })
    }

    fn from_content(mut content: archive::Content) -> Result<Self> {
        let features = take_features(&mut content);
        let archive::Content { header, matrices, .. } = content;
        let missing = |key: &str| Error::Data(format!("the header has no valid `{key}`"));
        let text = |key: &str| header.get(key).and_then(Value::as_str).ok_or_else(|| missing(key));
        let object = |key: &str| header.get(key).and_then(Value::as_object).cloned().ok_or_else(|| missing(key));
        if text("format")? != FORMAT {
            return Err(Error::Data(format!("format `{}` is not one this version reads ({FORMAT})", text("format")?)));
        }
        let classes: Vec<String> = header
            .get("classes")
            .and_then(|classes| serde_json::from_value(classes.clone()).ok())
            .filter(|classes: &Vec<String>| classes.len() >= 2)
            .ok_or_else(|| missing("classes"))?;
        let mut seen = HashSet::new();
        if let Some(twice) = classes.iter().find(|class| !seen.insert(class.as_str())) {
            let shown: String = twice.chars().take(80).collect();
            return Err(Error::Data(format!("class `{shown}` is there twice; train the model again")));
        }
        let n_features = header.get("n_features").and_then(Value::as_u64).filter(|&n| n > 0);
        let n_features = n_features.ok_or_else(|| missing("n_features"))?;
        let method = registry::method(text("method")?)?;
        let params = method.complete(&object("params")?)?;
        check_atoms(&matrices)?;
        let mut parts = matrices.of("model", classes);
        let prep = Prep::restore(text("prep")?.parse()?, n_features as usize, &mut parts)?;
        let classifier = method.restore(&params, parts)?;
        let mut model = Model::new(method, params, prep, classifier)?;
        model.info = object("info")?.into();
        model.features = features;
        model.schema = header.get(TABLE).map(|stored| schema_from(stored, model.prep.n_features())).transpose()?;
        Ok(model)
    }
}

/// `exp(b s_c) / sum_k exp(b s_k)`. A score of minus infinity, "never this class", counts as one that lies below all others of the
/// sample by as much as those spread, at least by 1.
fn softmax(mut scores: Vec<&mut f64>, b: f64) {
    let finite = || scores.iter().map(|s| **s).filter(|s| s.is_finite());
    let low = finite().reduce(f64::min).unwrap_or(0.0);
    let high = finite().reduce(f64::max).unwrap_or(0.0);
    let never = low - (high - low).max(1.0);
    scores.iter_mut().filter(|s| !s.is_finite()).for_each(|s| **s = never);
    scores.iter_mut().for_each(|s| **s = (b * (**s - high)).exp());
    let sum: f64 = scores.iter().map(|s| **s).sum();
    scores.iter_mut().for_each(|s| **s /= sum);
}

/// Methods make a matrix of atoms x atoms from their dictionary, which must be in proportion to it: a file of a megabyte can
/// hold a hundred thousand atoms of one feature each.
fn check_atoms(matrices: &Parts) -> Result<()> {
    let Some(dictionary) = matrices.get("dictionary") else { return Ok(()) };
    let atoms = dictionary.ncols() as u64;
    let stored = dictionary.nrows().saturating_mul(dictionary.ncols()).saturating_mul(8);
    if atoms.saturating_mul(atoms).saturating_mul(8) <= allowance(stored) {
        return Ok(());
    }
    let why = format!("{atoms} atoms of {} features are too many atoms for so few features", dictionary.nrows());
    Err(Error::Data(format!("{why}; train the model again with fewer")))
}

/// The description of a table, which must fit the model.
fn schema_from(stored: &Value, n_features: usize) -> Result<TableSchema> {
    let schema: TableSchema = serde_json::from_value(stored.clone())
        .map_err(|error| Error::Data(format!("the header has no valid `{TABLE}` ({error})")))?;
    schema.check()?;
    if schema.n_features() != n_features {
        return Err(Error::shape(format!("features of `{TABLE}` in the header"), n_features, schema.n_features()));
    }
    Ok(schema)
}

/// Takes out what belongs to the feature map, under the names it had there.
fn take_features(content: &mut archive::Content) -> Option<archive::Content> {
    let Some(Value::Object(header)) = content.header.remove(FEATURES) else { return None };
    let own = |name: &str| name.strip_prefix(FEATURES)?.strip_prefix('.').map(str::to_string);
    let mut matrices = Parts::default();
    let mut blobs = BTreeMap::new();
    for (name, part) in std::mem::take(&mut content.matrices) {
        match own(&name) {
            Some(name) => matrices.put(name, part),
            None => content.matrices.put(name, part),
        }
    }
    for (name, bytes) in std::mem::take(&mut content.blobs) {
        own(&name).map(|name| blobs.insert(name, bytes));
    }
    Some(archive::Content { header, matrices, blobs })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trained(prep: &str) -> Model {
        let x = Mat::from_fn(4, 30, |i, j| ((i * 5 + j * 3) % 7) as f64 + if i == j % 3 { 4.0 } else { 0.0 });
        let labels: Vec<String> = (0..30).map(|j| (j % 3).to_string()).collect();
        let train = Dataset::new(&x, &labels).unwrap();
        let method = registry::method("linear-svm").unwrap();
        Model::train(method, &Values::new(), &prep.parse().unwrap(), &train, &mut ()).unwrap()
    }

    fn samples(n: usize) -> Mat<f64> {
        Mat::from_fn(4, n, |i, j| ((i * 31 + j * 17 + i * j) % 23) as f64 - 5.0)
    }

    #[test]
    fn blocks_give_the_scores_of_prepared_samples_and_their_largest() {
        let x = samples(1200);
        for prep in ["none", "unit", "pca:3,unit", "standard"] {
            let model = trained(prep);
            let scores = model.scores(x.as_ref()).unwrap();
            let prepared = model.prepare(x.as_ref()).unwrap();
            assert!((&scores - model.classifier().scores(prepared.as_ref()).unwrap()).norm_max() < 1e-12, "{prep}");
            assert_eq!(model.predict(x.as_ref()).unwrap(), best_class(&scores), "{prep}");
            assert_eq!(model.scores(samples(0).as_ref()).unwrap().shape(), (3, 0));
            // Rows of samples instead of columns.
            let rows = x.transpose().to_owned();
            assert_eq!(model.predict(rows.transpose()).unwrap(), model.predict(x.as_ref()).unwrap(), "{prep}");
        }
    }

    #[test]
    fn probabilities_follow_from_scores_alone() {
        let x = samples(7);
        let names = ["a", "b", "c"].map(String::from);
        let labels: Vec<String> = (0..30).map(|j| names[j % 3].clone()).collect();
        let train = Dataset::new(samples(30).as_ref(), &labels).unwrap();
        for method in registry::METHODS {
            let mut model = Model::train(method, &Values::new(), &"none".parse().unwrap(), &train, &mut ()).unwrap();
            let scores = model.scores(x.as_ref()).unwrap();
            let found = model.probabilities_of_scores(scores.as_ref());
            assert_eq!(found, model.probabilities(x.as_ref()).unwrap(), "{}", method.key);
            model.info.note(
                "python",
                json!({"inverse_temperature": 0.5, "feature_names": ["p", "q", "r", "s"], "fill": [1, 2.5, null, 4]}),
            );
            let proba = model.probabilities_of_scores(scores.as_ref()).unwrap();
            for j in 0..x.ncols() {
                assert!((proba.col(j).iter().sum::<f64>() - 1.0).abs() < 1e-12, "{}", method.key);
            }
            assert_eq!(best_class(proba.as_ref()), best_class(scores.as_ref()), "{}", method.key);
            let fills: Vec<Option<Fill>> =
                model.table().unwrap().features.into_iter().map(|feature| feature.fill).collect();
            assert_eq!(fills, [Some(Fill::Number(1.0)), Some(Fill::Number(2.5)), None, Some(Fill::Number(4.0))]);
        }
    }

    #[test]
    fn the_first_bad_value_is_named_in_any_block() {
        for prep in ["none", "pca:3,unit"] {
            let model = trained(prep);
            let mut x = samples(1200);
            x[(2, 1150)] = f64::INFINITY;
            x[(1, 700)] = f64::NAN;
            let message = model.predict(x.as_ref()).unwrap_err().to_string();
            assert!(message.starts_with("sample 700, feature 1 (counted from 0) is NaN"), "{message}");
            assert_eq!(model.scores(x.as_ref()).unwrap_err().to_string(), message);
        }
    }
}
