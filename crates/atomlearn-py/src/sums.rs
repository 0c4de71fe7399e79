//! Models from sums over samples, from nothing yet, and from parts that Python has put together.

use crate::arrays::samples;
use crate::error::{bad_json, to_python};
use crate::model::Model;
use crate::run::pool;
use atomlearn::info::Info;
use atomlearn::observe::Trace;
use atomlearn::prep::{Prep, PrepSpec};
use atomlearn::registry::{self, Method, Values};
use atomlearn::rounds::ClassSums;
use atomlearn::{Classifier, Error, Parts, Result};
use atomlearn_lab::provenance;
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use std::collections::BTreeMap;

type InputRows<'py> = PyReadonlyArray2<'py, f64>;

/// A model from the number, the mean (one row per class) and the pooled scatter of the samples of the classes, which went through `prep`: `none`
/// or `unit`. Returns it with the warnings.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn fit_sums(
    py: Python<'_>,
    key: &str,
    params: &str,
    prep: &str,
    classes: Vec<String>,
    counts: Vec<f64>,
    means: InputRows<'_>,
    within: InputRows<'_>,
    info: &str,
    threads: usize,
) -> PyResult<(Model, Vec<String>)> {
    let method = registry::method(key).map_err(to_python)?;
    let values: Values = serde_json::from_str(params).map_err(bad_json)?;
    let sums = ClassSums { counts, means: samples(&means)?.to_owned(), within: samples(&within)?.to_owned() };
    let n_features = sums.means.nrows();
    let pool = pool(threads)?;
    let mut trace = Trace::default();
    let learn = || method.fit_sums(&values, &classes, &sums, &mut trace);
    let classifier = py.detach(|| pool.install(learn)).map_err(to_python)?;
    let model = assemble(method, &values, prep, n_features, classifier).map_err(to_python)?;
    Ok((with_info(model, info)?, trace.warnings))
}

/// A model from the parts of a classifier (one row per column of the matrix), behind `prep`: `none` or `unit`.
#[pyfunction]
pub fn restore(
    key: &str,
    params: &str,
    prep: &str,
    n_features: usize,
    classes: Vec<String>,
    parts: BTreeMap<String, InputRows<'_>>,
    info: &str,
) -> PyResult<Model> {
    let method = registry::method(key).map_err(to_python)?;
    let values: Values = serde_json::from_str(params).map_err(bad_json)?;
    let mut stored = Parts::new(classes);
    for (name, part) in &parts {
        stored.put(name.as_str(), samples(part)?);
    }
    let model = method.restore(&values, stored);
    let model = model.and_then(|classifier| assemble(method, &values, prep, n_features, classifier));
    with_info(model.map_err(to_python)?, info)
}

/// A model of these classes that has seen no sample, for methods that learn batch by batch from there, behind `prep`: `none` or `unit`.
#[pyfunction]
pub fn begin(
    key: &str,
    params: &str,
    prep: &str,
    n_features: usize,
    classes: Vec<String>,
    info: &str,
) -> PyResult<Model> {
    let method = registry::method(key).map_err(to_python)?;
    let values: Values = serde_json::from_str(params).map_err(bad_json)?;
    let model = method.begin(&values, &classes, n_features);
    let model = model.and_then(|classifier| assemble(method, &values, prep, n_features, classifier));
    with_info(model.map_err(to_python)?, info)
}

fn assemble(
    method: &'static Method,
    values: &Values,
    prep: &str,
    n_features: usize,
    classifier: Box<dyn Classifier>,
) -> Result<atomlearn::Model> {
    let spec: PrepSpec = prep.parse()?;
    if !matches!(prep, "none" | "unit") {
        return Err(Error::param("prep", prep, "only `none` and `unit` need no fit"));
    }
    let prep = Prep::restore(spec, n_features, &mut Parts::default())?;
    atomlearn::Model::new(method, method.complete(values)?, prep, classifier)
}

fn with_info(mut model: atomlearn::Model, info: &str) -> PyResult<Model> {
    let mut info: Info = serde_json::from_str(info).map_err(bad_json)?;
    info.set_origin(env!("CARGO_PKG_VERSION"), &provenance::time());
    model.info = info;
    Ok(Model(model))
}
