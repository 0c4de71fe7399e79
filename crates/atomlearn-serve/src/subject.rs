//! The model that is served, with what the page needs to show it.

use atomlearn::info::DataInfo;
use atomlearn::io::pictures::Picture;
use atomlearn::io::{self, ImageShape, TableSchema};
use atomlearn::methods::auto::AutoModel;
use atomlearn::novelty::Novelty;
use atomlearn::prep::PrepSpec;
use atomlearn::registry::{self, Values};
use atomlearn::{Classifier, Mat, MatRef, Model};
use atomlearn_features::{FeatureMap, Regions};
use atomlearn_lab::data::{LabData, digest_raw};
use atomlearn_lab::diagnostics::{self, Graph};
use atomlearn_lab::{findings, provenance, splits};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Digits that the page offers to try: this many of each.
const EXAMPLES_PER_CLASS: usize = 3;
/// Digits of every class that the demonstration is trained on.
const DEMO_PER_CLASS: usize = 150;

/// A model and how to show it.
pub struct Subject {
    /// The model.
    pub model: Model,
    /// Its name for people.
    pub name: String,
    /// Shape of the images that its samples are, where known.
    pub shape: Option<ImageShape>,
    /// The graph of nearest atoms, for methods that have one.
    pub graph: Option<Graph>,
    /// Class of every atom, for methods whose atoms have one.
    pub atom_classes: Option<Vec<usize>>,
    /// The map that images take, for models that were trained on images.
    pub images: Option<FeatureMap>,
    /// How tables and objects become samples; without a header if the model has no names for its features.
    pub table: Arc<TableSchema>,
    unlike: Option<Unlike>,
    facts: Value,
}

/// P-values of prepared samples as such that are like those of training.
type Unlike = Box<dyn Fn(MatRef<'_, f64>) -> Vec<f64> + Send + Sync>;

impl Subject {
    /// A model with its name; `shape` overrides what the model says of its images. `unseen` are places of embedded
    /// digits that the model was not trained on, where that is known.
    pub fn new(model: Model, name: &str, shape: Option<ImageShape>, unseen: Option<&[usize]>) -> Self {
        let digits = is_digits(&model);
        let eight = digits.then_some(ImageShape { rows: 8, cols: 8, column_major: false });
        let fits = |shape: &ImageShape| shape.rows * shape.cols == model.prep().n_features();
        let shape = shape.or_else(|| model.info.image_shape()).or(eight).filter(fits);
        let graph = diagnostics::atom_graph(model.classifier(), model.params());
        let atom_classes = diagnostics::classes_of_atoms(model.classifier());
        let table = Arc::new(model.table().unwrap_or_else(|| TableSchema::of_places(model.prep().n_features())));
        // A model whose samples have no length cannot tell; it says so by giving none.
        let novelty = AutoModel::of(model.classifier()).and_then(AutoModel::novelty).and_then(Result::ok);
        let unlike = novelty.map(|novelty| -> Unlike { Box::new(move |x| novelty.p_values(x)) });
        let (name, images, facts) = (name.into(), None, Value::Null);
        let mut subject = Subject { model, name, shape, graph, atom_classes, images, table, unlike, facts };
        subject.facts = subject.describe(digits.then(|| examples(unseen)));
        subject
    }

    /// A model that takes photos through this map.
    pub fn with_photos(mut self, map: FeatureMap) -> Self {
        self.facts["photos"] = json!({"kind": map.kind(), "title": map.title()});
        self.images = Some(map);
        self
    }

    /// LCDL-SV, trained here and now on some of the embedded digits; the page offers others.
    pub fn digits() -> atomlearn::Result<Self> {
        let raw = io::digits();
        let data = LabData::new("digits (embedded)", digest_raw(&raw), raw)?;
        let split = splits::stratified(&data, DEMO_PER_CLASS, 1, 0)?.splits.swap_remove(0);
        let train = data.dataset(&split.train)?;
        let method = registry::method("lcdl-sv")?;
        let mut model = Model::train(method, &Values::new(), &PrepSpec::default(), &train, &mut ())?;
        let novelty = Novelty::fit(model.prepare(train.x())?.as_ref())?;
        let samples = split.train.len() as u64;
        model.info.set_data(&DataInfo { name: data.info.path.clone(), sha256: data.info.sha256.clone(), samples });
        model.info.set_time(&provenance::time());
        model.info.set_range([0.0, 16.0]);
        let mut subject = Subject::new(model, "digits", None, Some(&split.test));
        subject.unlike = Some(Box::new(move |x| novelty.p_values(x)));
        subject.facts["outliers"] = true.into();
        Ok(subject)
    }

    /// Gives it another name.
    pub fn rename(&mut self, name: &str) {
        self.name = name.into();
        self.facts["name"] = name.into();
    }

    /// Whether the model has calibrated probabilities.
    pub fn has_probabilities(&self) -> bool {
        self.model.method().probabilities || self.model.inverse_temperature().is_some()
    }

    /// Whether the model can tell how like those of training samples are.
    pub fn has_p_values(&self) -> bool {
        self.unlike.is_some()
    }

    /// The p-value of every raw sample as one like those of training, if the model can tell: small if it is unlike them all.
    pub fn p_values(&self, x: MatRef<'_, f64>) -> atomlearn::Result<Option<Vec<f64>>> {
        if !self.has_p_values() {
            return Ok(None);
        }
        Ok(self.p_values_of_prepared(self.model.prepare(x)?.as_ref()))
    }

    /// The same for samples that are prepared already.
    pub fn p_values_of_prepared(&self, x: MatRef<'_, f64>) -> Option<Vec<f64>> {
        Some(self.unlike.as_ref()?(x))
    }

    /// The classifier behind the preprocessing.
    pub fn classifier(&self) -> &dyn Classifier {
        self.model.classifier()
    }

    /// The sample that the bytes of an image file make, if the model takes images.
    pub fn sample(&self, bytes: &[u8]) -> atomlearn::Result<Option<Mat<f64>>> {
        let Some(map) = &self.images else { return Ok(None) };
        let features = map.apply(&Picture::decode(Path::new("the image"), bytes)?)?;
        Ok(Some(Mat::from_fn(features.len(), 1, |i, _| features[i])))
    }

    /// What the bytes of an image file make with each region taken out, if the model takes images.
    pub fn regions(&self, bytes: &[u8]) -> atomlearn::Result<Option<Regions>> {
        let Some(map) = &self.images else { return Ok(None) };
        Ok(Some(map.regions(&Picture::decode(Path::new("the image"), bytes)?)?))
    }

    /// Whether samples of several requests may be scored together without changing a bit.
    pub fn joins(&self) -> bool {
        self.model.method().independent_samples
    }

    /// The name of a class.
    pub fn class(&self, c: usize) -> &str {
        &self.model.classes()[c]
    }

    /// What the page starts from; `atomlearn.serve-model/1`.
    pub fn facts(&self) -> &Value {
        &self.facts
    }

    fn describe(&self, examples: Option<Value>) -> Value {
        let (model, classifier) = (&self.model, self.model.classifier());
        let atoms = classifier.atoms().map(|atoms| atoms.columns.ncols());
        json!({
            "schema": "atomlearn.serve-model/1", "version": env!("CARGO_PKG_VERSION"), "name": self.name,
            "method": model.method().key, "title": model.method().title, "paper": model.method().paper,
            "prep": model.prep().spec().to_string(), "params": model.params(),
            "n_features": model.prep().n_features(),
            "columns": self.table.header.then(|| self.table.column_names()), "classes": model.classes(),
            "rules": classifier.rules(), "rule": classifier.rule(), "atoms": atoms,
            "image": self.shape.map(|s| {
                json!({"rows": s.rows, "cols": s.cols, "order": if s.column_major { "columns" } else { "rows" }})
            }),
            "range": model.info.values().get("range"),
            "trained_on": model.info.values().get("data"), "time": model.info.values().get("time"),
            "estimate": AutoModel::of(model.classifier()).map(|auto| &auto.report().loo), "findings": findings::of_model(model),
            "examples": examples, "photos": Value::Null,
            "probabilities": self.has_probabilities(), "outliers": self.has_p_values(),
        })
    }
}

/// Ten classes named like digits over 64 features: the embedded digits fit, and can be drawn.
fn is_digits(model: &Model) -> bool {
    let names = model.classes().iter().map(String::as_str);
    model.prep().n_features() == 64 && names.eq(["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"])
}

/// Some digits of every class.
fn examples(unseen: Option<&[usize]>) -> Value {
    let digits = io::digits();
    let labels = digits.labels.unwrap_or_default();
    let all: Vec<usize> = (0..digits.x.ncols()).collect();
    let mut taken = std::collections::HashMap::new();
    let mut chosen: Vec<usize> = Vec::new();
    for &i in unseen.unwrap_or(&all) {
        let count: &mut usize = taken.entry(labels[i].as_str()).or_default();
        if *count < EXAMPLES_PER_CLASS {
            *count += 1;
            chosen.push(i);
        }
    }
    chosen.sort_by_key(|&i| labels[i].as_str());
    let values = |x: MatRef<'_, f64>, i: usize| x.col(i).iter().copied().collect::<Vec<f64>>();
    let items = chosen.iter().map(|&i| json!({"label": labels[i], "values": values(digits.x.as_ref(), i)}));
    json!({"unseen": unseen.is_some(), "items": items.collect::<Vec<_>>()})
}
