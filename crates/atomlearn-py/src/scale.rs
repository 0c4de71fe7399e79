//! Partitioned training: the trainer, and the answers of partitions, as bytes that any engine can carry.

use crate::arrays::{rows, samples};
use crate::error::{bad_json, to_python};
use crate::model::Model;
use crate::run::pool;
use atomlearn::io::ReadOptions;
use atomlearn::registry::{self, METHODS};
use atomlearn::scale::files::{Piece, Plan};
use atomlearn::scale::{self, Memo, PartialStats, Partition, Request, Setup};
use atomlearn::{Error, Result};
use atomlearn_lab::provenance;
use numpy::{PyArray2, PyReadonlyArray2};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Training runs whose partitions are remembered in this process.
const REMEMBERED_RUNS: usize = 4;

/// What this process remembers of partitions: by run, then by number. Losing it costs time only.
static MEMOS: Mutex<VecDeque<(String, Vec<Memo>)>> = Mutex::new(VecDeque::new());

/// The state machine; its bytes are the checkpoint.
#[pyclass(module = "atomlearn._atomlearn")]
pub struct Trainer(scale::Trainer);

#[pymethods]
impl Trainer {
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        key: &str,
        params: &str,
        prep: &str,
        partitions: usize,
        n_features: usize,
        data: String,
        run: String,
    ) -> PyResult<Self> {
        let setup = setup(key, params, prep, partitions, n_features, data)?;
        scale::Trainer::new(setup, run).map(Trainer).map_err(to_python)
    }

    /// From a checkpoint.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        scale::Trainer::from_bytes(bytes).map(Trainer).map_err(to_python)
    }

    /// The checkpoint.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.to_bytes().map_err(to_python)?))
    }

    /// What makes a training with these arguments another than this one; None if nothing does.
    fn differs_from(
        &self,
        key: &str,
        params: &str,
        prep: &str,
        partitions: usize,
        n_features: usize,
        data: String,
    ) -> PyResult<Option<&'static str>> {
        self.0.differs_from(&setup(key, params, prep, partitions, n_features, data)?).map_err(to_python)
    }

    /// The next question to all partitions; None once the model is finished.
    fn request<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let request = self.0.request().map_err(to_python)?;
        let bytes = request.map(|request| request.to_bytes()).transpose().map_err(to_python)?;
        Ok(bytes.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Takes the merged answers of all partitions.
    fn absorb(&mut self, py: Python<'_>, stats: &[u8], threads: usize) -> PyResult<()> {
        let (trainer, pool) = (&mut self.0, pool(threads)?);
        let absorb = || trainer.absorb(PartialStats::from_bytes(stats)?, &mut ());
        py.detach(|| pool.install(absorb)).map_err(to_python)
    }

    /// Rounds so far, steps and warnings, as JSON.
    #[getter]
    fn progress(&self) -> String {
        let trace = self.0.trace();
        let (progress, samples) = (self.0.progress(), self.0.samples());
        json!({"rounds": progress.rounds, "samples": samples, "steps": trace.steps, "warnings": trace.warnings})
            .to_string()
    }

    /// The finished model, with these notes (a JSON object) beside its own.
    fn model(&self, info: &str) -> PyResult<Model> {
        let mut model = match self.0.model().map_err(to_python)? {
            Some(model) => model,
            None => return Err(PyRuntimeError::new_err("training is not finished")),
        };
        let notes: serde_json::Map<String, Value> = serde_json::from_str(info).map_err(bad_json)?;
        model.info.set_origin(env!("CARGO_PKG_VERSION"), &provenance::time());
        model.info.extend(notes.into());
        Ok(Model(model))
    }
}

fn setup(key: &str, params: &str, prep: &str, partitions: usize, n_features: usize, data: String) -> PyResult<Setup> {
    let params = serde_json::from_str(params).map_err(bad_json)?;
    let prep = prep.parse().map_err(to_python)?;
    let method = registry::method(key).map_err(to_python)?;
    let (prep, params) = method.settle(Some(&prep), &params).map_err(to_python)?;
    Ok(Setup { method: key.into(), params, prep, partitions, n_features, data })
}

/// Keys of the methods that can be trained in partitions.
#[pyfunction]
pub fn scale_methods() -> Vec<&'static str> {
    METHODS.iter().filter(|method| method.learns_in_partitions()).map(|method| method.key).collect()
}

/// The answer of the partition whose samples are the rows of `x`.
#[pyfunction]
pub fn answer<'py>(
    py: Python<'py>,
    request: &[u8],
    index: usize,
    x: PyReadonlyArray2<'py, f64>,
    labels: Vec<String>,
    threads: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let (x, pool) = (samples(&x)?, pool(threads)?);
    let work = || {
        let labels = || Ok(labels.clone());
        remembering(request, index, |request, memo| Partition { index, x, labels: &labels }.answer(request, memo))
    };
    let bytes = py.detach(|| pool.install(work)).map_err(to_python)?;
    Ok(PyBytes::new(py, &bytes))
}

/// The answer of a partition in files, as [`plan`] describes it.
#[pyfunction]
pub fn answer_piece<'py>(
    py: Python<'py>,
    request: &[u8],
    piece: &str,
    threads: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let piece: Piece = serde_json::from_str(piece).map_err(bad_json)?;
    let pool = pool(threads)?;
    let work = || remembering(request, piece.index, |request, memo| piece.answer(request, memo));
    let bytes = py.detach(|| pool.install(work)).map_err(to_python)?;
    Ok(PyBytes::new(py, &bytes))
}

/// Answers with what this process remembers of the partition, and remembers it again.
fn remembering(
    request: &[u8],
    index: usize,
    work: impl FnOnce(&Request, &mut Memo) -> Result<PartialStats>,
) -> Result<Vec<u8>> {
    let request = Request::from_bytes(request)?;
    let mut memo = with_memos(&request.run, index, std::mem::take);
    let stats = work(&request, &mut memo)?;
    with_memos(&request.run, index, |held| *held = memo);
    stats.to_bytes()
}

fn with_memos<T>(run: &str, index: usize, work: impl FnOnce(&mut Memo) -> T) -> T {
    let mut runs = MEMOS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut memos = match runs.iter().position(|(name, _)| name == run).and_then(|place| runs.remove(place)) {
        Some((_, memos)) => memos,
        None => Vec::new(),
    };
    if memos.len() <= index {
        memos.resize(index + 1, Memo::default());
    }
    let outcome = work(&mut memos[index]);
    runs.push_back((run.to_string(), memos));
    if runs.len() > REMEMBERED_RUNS {
        runs.pop_front();
    }
    outcome
}

/// The sum of answers of neighbouring partitions, in their order.
#[pyfunction]
pub fn merge<'py>(py: Python<'py>, answers: Vec<Vec<u8>>) -> PyResult<Bound<'py, PyBytes>> {
    let work = || {
        let mut answers = answers.iter().map(|bytes| PartialStats::from_bytes(bytes));
        let first = answers.next().ok_or_else(|| Error::Data("there are no answers to merge".into()))?;
        let sum = answers.try_fold(first?, |mut sum, next| {
            sum.merge(next?)?;
            Ok(sum)
        });
        sum.and_then(|sum: PartialStats| sum.to_bytes())
    };
    let bytes = py.detach(work).map_err(to_python)?;
    Ok(PyBytes::new(py, &bytes))
}

/// Cuts files into partitions: one JSON text per partition, the number of features, and a digest of the plan.
#[pyfunction]
#[pyo3(signature = (files, partitions, labelled, x=None, y=None))]
pub fn plan(
    files: Vec<PathBuf>,
    partitions: Option<usize>,
    labelled: bool,
    x: Option<String>,
    y: Option<String>,
) -> PyResult<(Vec<String>, usize, String)> {
    let options = ReadOptions { x, y, ..ReadOptions::default() };
    let plan = match &files[..] {
        [one] => Plan::new(one, &options, partitions, labelled),
        many => Plan::of_files(many, &options, partitions, labelled),
    };
    let plan = plan.map_err(to_python)?;
    let pieces = plan.pieces.iter().map(|piece| json!(piece).to_string()).collect();
    Ok((pieces, plan.n_features, plan.digest))
}

/// The samples of a partition in files, one per row.
#[pyfunction]
pub fn piece_samples<'py>(py: Python<'py>, piece: &str) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let piece: Piece = serde_json::from_str(piece).map_err(bad_json)?;
    let x = py.detach(|| piece.samples()).map_err(to_python)?;
    rows(py, x.as_ref())
}
