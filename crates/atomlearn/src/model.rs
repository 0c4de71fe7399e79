//! A trained model with everything needed to use it: preprocessing, method, parameters, provenance.

use crate::linalg::concat_columns;
use crate::method::best_class;
use crate::prep::{Prep, PrepSpec};
use crate::registry::{self, Method, Values};
use crate::{Classifier, Dataset, Error, Observer, Parts, Result, archive};
use faer::{Mat, MatRef};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;

const FORMAT: &str = "atomlearn.model/1";
/// Begins the names of what belongs to the feature map.
const FEATURES: &str = "features";
/// Samples prepared and scored together; fixed, so that results never depend on the number of threads.
const BLOCK: usize = 1024;

/// Preprocessing and classifier, trained together.
pub struct Model {
    method: &'static Method,
    params: Values,
    prep: Prep,
    classifier: Box<dyn Classifier>,
    /// Free notes that travel with the model: version, time, data digest, image shape, ...
    pub info: Values,
    /// The map that made the raw samples from images, as its own crate stores it; this one only carries it.
    pub features: Option<archive::Content>,
}

impl Model {
    /// Fits the preprocessing on the training data, then the method on the result.
    pub fn train(
        method: &'static Method,
        params: &Values,
        prep: &PrepSpec,
        train: &Dataset,
        watch: &mut dyn Observer,
    ) -> Result<Self> {
        let params = method.complete(params)?;
        let (prep, x) = prep.fit(train.x(), watch)?;
        let train = train.with_features(x)?;
        let classifier = method.fit(&params, &train, watch)?;
        Model::new(method, params, prep, classifier)
    }

    /// Puts together what was trained step by step.
    pub fn new(method: &'static Method, params: Values, prep: Prep, classifier: Box<dyn Classifier>) -> Result<Self> {
        let n_out = prep.n_out()?;
        if classifier.n_features() != n_out {
            return Err(Error::Shape {
                what: "features after preprocessing".into(),
                expected: classifier.n_features().to_string(),
                found: n_out.to_string(),
            });
        }
        Ok(Model { method, params, prep, classifier, info: Values::new(), features: None })
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

    /// The classifier alone, for samples that are prepared already.
    pub fn into_classifier(self) -> Box<dyn Classifier> {
        self.classifier
    }

    /// Class names in score order.
    pub fn classes(&self) -> &[String] {
        self.classifier.classes()
    }

    fn check(&self, x: MatRef<'_, f64>) -> Result<()> {
        if x.nrows() != self.prep.n_features() {
            return Err(Error::Shape {
                what: "features per sample".into(),
                expected: format!("{}, as in training", self.prep.n_features()),
                found: x.nrows().to_string(),
            });
        }
        crate::dataset::check_finite(x)
    }

    /// Takes raw samples (features x samples) through the preprocessing.
    pub fn prepare(&self, x: MatRef<'_, f64>) -> Result<Mat<f64>> {
        self.check(x)?;
        Ok(self.prep.apply(x))
    }

    /// Scores of raw samples, classes x samples, larger = more likely.
    pub fn scores(&self, x: MatRef<'_, f64>) -> Result<Mat<f64>> {
        if self.prep.is_empty() {
            return self.classifier.scores(x);
        }
        self.check(x)?;
        if x.ncols() <= BLOCK {
            return self.classifier.scores(self.prep.apply(x).as_ref());
        }
        // Block by block, so that prepared samples are scored while they are in the cache.
        let starts: Vec<usize> = (0..x.ncols()).step_by(BLOCK).collect();
        let score = |&start: &usize| {
            let block = x.subcols(start, BLOCK.min(x.ncols() - start));
            self.classifier.scores(self.prep.apply(block).as_ref())
        };
        let blocks: Result<Vec<Mat<f64>>> = starts.par_iter().map(score).collect();
        match blocks {
            Ok(blocks) => Ok(concat_columns(&blocks)),
            // The error counts samples from the start of a block; this one counts from the start.
            Err(_) => self.classifier.scores(self.prep.apply(x).as_ref()),
        }
    }

    /// The class of every raw sample, as an index into [`Model::classes`].
    pub fn predict(&self, x: MatRef<'_, f64>) -> Result<Vec<usize>> {
        Ok(best_class(self.scores(x)?.as_ref()))
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

    fn content(&self) -> archive::Stored<'_> {
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
        let mut matrices = self.prep.parts();
        matrices.extend(self.classifier.parts().into_iter().map(|(name, part)| (name.to_string(), part)));
        let mut blobs = Vec::new();
        if let Some(features) = &self.features {
            header.insert(FEATURES.into(), json!(features.header));
            let named = |name: &String| format!("{FEATURES}.{name}");
            matrices.extend(features.matrices.iter().map(|(name, part)| (named(name), part.as_ref())));
            blobs.extend(features.blobs.iter().map(|(name, bytes)| (named(name), &bytes[..])));
        }
        archive::Stored { header, matrices, blobs }
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
        let n_features = header.get("n_features").and_then(Value::as_u64).ok_or_else(|| missing("n_features"))?;
        let method = registry::method(text("method")?)?;
        let params = method.complete(&object("params")?)?;
        let mut parts = Parts::new(classes, matrices);
        let prep = Prep::restore(text("prep")?.parse()?, n_features as usize, &mut parts)?;
        let classifier = method.restore(&params, parts)?;
        let mut model = Model::new(method, params, prep, classifier)?;
        model.info = object("info")?;
        model.features = features;
        Ok(model)
    }
}

/// Takes out what belongs to the feature map, under the names it had there.
fn take_features(content: &mut archive::Content) -> Option<archive::Content> {
    let Some(Value::Object(header)) = content.header.remove(FEATURES) else { return None };
    let own = |name: &str| name.strip_prefix(FEATURES)?.strip_prefix('.').map(str::to_string);
    let (mut matrices, mut blobs) = (HashMap::new(), HashMap::new());
    for (name, part) in std::mem::take(&mut content.matrices) {
        match own(&name) {
            Some(name) => matrices.insert(name, part),
            None => content.matrices.insert(name, part),
        };
    }
    for (name, bytes) in std::mem::take(&mut content.blobs) {
        own(&name).map(|name| blobs.insert(name, bytes));
    }
    Some(archive::Content { header, matrices, blobs })
}
