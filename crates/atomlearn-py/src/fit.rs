//! Training from Python.

use crate::arrays::samples;
use crate::error::{bad_json, to_python};
use crate::model::Model;
use crate::run::{Answer, Link, Listener, run};
use atomlearn::dataset::sorted_classes;
use atomlearn::info::Info;
use atomlearn::model::{Ready, Recipe};
use atomlearn::observe::Trace;
use atomlearn::prep::PrepSpec;
use atomlearn::registry::{self, Values};
use atomlearn::{Dataset, Error, Observer, Step};
use atomlearn_lab::provenance;
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A trained model with its trace and the seconds it took, or why there is none.
type Trained = Result<(atomlearn::Model, Trace, f64), Error>;
/// A model as it stands after an iteration.
type Interim = Result<atomlearn::Model, Error>;

/// Trains a method. `params` and `info` are JSON objects, `labels` one text per row of `x`, `groups` one number per row: rows of
/// one group are left out together where a method leaves samples out. `on_step`, if given, is called
/// after every iteration with the step as JSON and a function that makes the model as it stands; True ends training.
/// Returns the model, the steps as JSON, the warnings, and the seconds that preprocessing and training took.
#[pyfunction]
#[pyo3(signature = (key, params, prep, x, labels, info, threads, on_step=None, groups=None))]
#[allow(clippy::too_many_arguments)]
pub fn fit(
    py: Python<'_>,
    key: &str,
    params: &str,
    prep: &str,
    x: PyReadonlyArray2<'_, f64>,
    labels: Vec<String>,
    info: &str,
    threads: usize,
    on_step: Option<Bound<'_, PyAny>>,
    groups: Option<Vec<usize>>,
) -> PyResult<(Model, String, Vec<String>, f64)> {
    let method = registry::method(key).map_err(to_python)?;
    let prep: PrepSpec = prep.parse().map_err(to_python)?;
    let params = serde_json::from_str(params).map_err(bad_json)?;
    let (prep, params) = method.settle(Some(&prep), &params).map_err(to_python)?;
    let recipe = Recipe::new(method, &params, &prep).map_err(to_python)?;
    let mut info: Info = serde_json::from_str(info).map_err(bad_json)?;
    let x = samples(&x)?;
    let train = py.detach(|| Dataset::new(x, &labels)).map_err(to_python)?;
    let train = match groups {
        Some(groups) => train.with_groups(&groups).map_err(to_python)?,
        None => train,
    };
    drop(labels);

    let (interim, models) = channel();
    let models = Arc::new(Mutex::new(models));
    let job = move |link: &mut Link| train_watched(recipe, &train, link, &interim);
    let listen = on_step.map(|on_step| {
        move |step: Value, reply: &Sender<Answer>| -> PyResult<ControlFlow<()>> {
            let current = CurrentModel { ask: reply.clone(), models: models.clone(), open: AtomicBool::new(true) };
            let current = Bound::new(py, current)?;
            let stop = on_step.call1((step.to_string(), &current));
            current.get().open.store(false, Ordering::Relaxed);
            Ok(if stop?.is_truthy()? { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        }
    });
    let listen = listen.as_ref().map(|listen| listen as &Listener<'_>);
    let (mut model, trace, seconds) = run(py, threads, job, listen)?.map_err(to_python)?;

    info.set_origin(env!("CARGO_PKG_VERSION"), &provenance::time());
    info.set_trace(&trace);
    // What was chosen is noted already.
    info.extend(std::mem::take(&mut model.info));
    model.info = info;
    Ok((Model(model), json!(trace.steps).to_string(), trace.warnings, seconds))
}

/// A model of these classes that has seen no sample; the preprocessing is fitted on `x`, samples of the first batch. Returns what there is
/// to warn about, too.
#[pyfunction]
pub fn begin(
    py: Python<'_>,
    key: &str,
    params: &str,
    prep: &str,
    classes: Vec<String>,
    x: PyReadonlyArray2<'_, f64>,
    info: &str,
) -> PyResult<(Model, Vec<String>)> {
    let method = registry::method(key).map_err(to_python)?;
    let prep: PrepSpec = prep.parse().map_err(to_python)?;
    let params = serde_json::from_str(params).map_err(bad_json)?;
    let (prep, params) = method.settle(Some(&prep), &params).map_err(to_python)?;
    let recipe = Recipe::new(method, &params, &prep).map_err(to_python)?;
    let mut info: Info = serde_json::from_str(info).map_err(bad_json)?;
    info.set_origin(env!("CARGO_PKG_VERSION"), &provenance::time());
    let (x, mut trace) = (samples(&x)?, Trace::default());
    let began = py.detach(|| recipe.begin(sorted_classes(&classes), x, &mut trace));
    let mut model = began.map_err(to_python)?;
    model.info = info;
    Ok((Model(model), trace.warnings))
}

fn train_watched(recipe: Recipe, train: &Dataset, link: &mut Link, interim: &Sender<Interim>) -> Trained {
    let start = Instant::now();
    let key = recipe.method().key;
    let mut trace = Trace::default();
    let mut ready = recipe.prepare(train, &mut trace)?;
    if link.go_on().is_break() {
        return Err(Error::Interrupted);
    }
    let mut watch = Watch { key, ready: None, link: &mut *link, interim, trace };
    ready.choose(&Values::new(), &mut watch)?;
    let trace = watch.trace;
    let mut watch = Watch { key, ready: Some(&ready), link, interim, trace };
    let model = ready.learn(None, &mut watch)?;
    Ok((model, watch.trace, start.elapsed().as_secs_f64()))
}

/// Remembers every step and passes it on to Python.
struct Watch<'a> {
    key: &'static str,
    /// Makes models of what steps offer, once the parameters are chosen.
    ready: Option<&'a Ready>,
    link: &'a mut Link,
    interim: &'a Sender<Interim>,
    trace: Trace,
}

impl Observer for Watch<'_> {
    fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
        let _ = self.trace.step(step);
        let terms: Value = step.terms.iter().map(|&(name, value)| (name.to_string(), json!(value))).collect();
        let report = || {
            json!({
                "iter": step.iter, "max_iter": step.max_iter, "objective": step.objective, "terms": terms,
                "change": step.change,
            })
        };
        let send = || {
            let missing = || Error::Data(format!("{} has no model before it is fitted", self.key));
            let offered = self.ready.zip(step.model).ok_or_else(missing);
            let model = offered.and_then(|(ready, model)| ready.model(model()?));
            drop(self.interim.send(model));
        };
        self.link.report(report, send)
    }

    fn progress(&mut self, _done: usize, _total: usize) -> ControlFlow<()> {
        self.link.go_on()
    }

    fn note(&mut self, note: &str) {
        self.trace.note(note);
    }

    fn warn(&mut self, warning: &str) {
        self.trace.warn(warning);
    }
}

/// Makes the model as it stands; works until the function that was called with it returns.
#[pyclass(frozen, module = "atomlearn._atomlearn")]
pub struct CurrentModel {
    ask: Sender<Answer>,
    models: Arc<Mutex<Receiver<Interim>>>,
    open: AtomicBool,
}

#[pymethods]
impl CurrentModel {
    fn __call__(&self, py: Python<'_>) -> PyResult<Model> {
        let gone = || PyRuntimeError::new_err("the model of an iteration can be had only while its callback runs");
        if !self.open.load(Ordering::Relaxed) || self.ask.send(Answer::Send).is_err() {
            return Err(gone());
        }
        let model = py.detach(|| self.models.lock().ok().and_then(|models| models.recv().ok()));
        model.ok_or_else(gone)?.map(Model).map_err(to_python)
    }
}
