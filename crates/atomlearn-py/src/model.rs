//! A trained model behind a frozen Python class.

use crate::arrays::{rows, samples};
use crate::error::{bad_json, check_outputs, to_python};
use crate::run::pool;
use atomlearn::explain::{self, AtomUse};
use atomlearn::io::{Cell, Encoded, TableSchema};
use atomlearn::methods::auto::AutoModel;
use atomlearn::{Blocks, Error, MatRef, Parts};
use atomlearn_lab::output_kind::Kind;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::Value;
use std::path::PathBuf;

type Samples<'py> = PyReadonlyArray2<'py, f64>;
type Rows<'py> = Bound<'py, PyArray2<f64>>;

/// Number, class, code and share of an atom.
type StrongAtom = (usize, Option<usize>, f64, f64);

/// Preprocessing and classifier, trained together; immutable.
#[pyclass(frozen, module = "atomlearn._atomlearn")]
pub struct Model(pub atomlearn::Model);

#[pymethods]
impl Model {
    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| atomlearn::Model::load(&path)).map(Model).map_err(to_python)
    }

    /// Writes a model file, whole or not at all; only with `force` in the place of a file that is no model.
    #[pyo3(signature = (path, force=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        check_outputs(&[], &[(&path, Kind::Model)], force)?;
        py.detach(|| self.0.save(&path)).map_err(to_python)
    }

    /// Writes preprocessing and model as one ONNX graph, whole or not at all; only with `force` in the place of another file.
    #[pyo3(signature = (path, force=false))]
    fn to_onnx(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        check_outputs(&[], &[(&path, Kind::Onnx)], force)?;
        py.detach(|| self.0.write_onnx(&path)).map_err(to_python)
    }

    /// Writes the model's card, Markdown with front matter, which calls the model file `file`; only in the place of another card.
    fn write_card(&self, py: Python<'_>, path: PathBuf, file: &str) -> PyResult<()> {
        check_outputs(&[], &[(&path, Kind::Card)], false)?;
        py.detach(|| {
            let card = atomlearn_lab::card::card(&self.0, file)?;
            atomlearn::file::write_atomically(&path, card.as_bytes())
        })
        .map_err(to_python)
    }

    /// A model from the bytes of a model file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        py.detach(|| atomlearn::Model::from_bytes(bytes)).map(Model).map_err(to_python)
    }

    /// The bytes of the model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.0.to_bytes()).map_err(to_python)?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Model>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }

    #[getter]
    fn method(&self) -> &'static str {
        self.0.method().key
    }

    /// All parameters, as JSON.
    #[getter]
    fn params(&self) -> String {
        Value::Object(self.0.params().clone()).to_string()
    }

    /// Notes that travel with the model, as JSON.
    #[getter]
    fn info(&self) -> String {
        Value::Object(self.0.info.values().clone()).to_string()
    }

    #[getter]
    fn prep(&self) -> String {
        self.0.prep().spec().to_string()
    }

    #[getter]
    fn n_features(&self) -> usize {
        self.0.prep().n_features()
    }

    /// Names of the columns of the table the model was trained on; `None` if there was none, or it had no header.
    #[getter]
    fn columns(&self) -> Option<Vec<String>> {
        self.named_table().map(|table| table.column_names().into_iter().map(str::to_string).collect())
    }

    /// Names of the features made of these columns: themselves, or `COLUMN=LEVEL` for categories.
    #[getter]
    fn feature_names(&self) -> Option<Vec<String>> {
        self.named_table().map(TableSchema::feature_names)
    }

    /// Samples from the columns of another table, found by name and encoded as in training, and what to warn about.
    ///
    /// `column(place)` gives the cells of a column that is needed: an array of doubles, where NaN is missing, or a list of
    /// texts and `None`.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        names: Vec<String>,
        column: &Bound<'py, PyAny>,
    ) -> PyResult<(Rows<'py>, Vec<String>)> {
        let Some(table) = self.named_table() else {
            return Err(to_python(Error::Data("the model was not trained on a table with names".into())));
        };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let matched = table.match_columns(&names).map_err(to_python)?;
        let columns: Vec<Cells> =
            matched.places.iter().map(|place| column.call1((place,))?.extract()).collect::<PyResult<_>>()?;
        let others: Vec<&str> = matched.others.iter().map(|&place| names[place]).collect();
        let encoded = encode(table, &columns).map_err(to_python)?;
        let notes = encoded.notes.into_iter().chain(table.ignored(&others)).map(|note| note.text);
        Ok((rows(py, encoded.x.as_ref())?, notes.collect()))
    }

    #[getter]
    fn classes(&self) -> Vec<String> {
        self.0.classes().to_vec()
    }

    #[getter]
    fn rules(&self) -> Vec<&'static str> {
        self.0.classifier().rules().to_vec()
    }

    #[getter]
    fn rule(&self) -> &'static str {
        self.0.classifier().rule()
    }

    /// Everything learned, by name, one atom (or class) per row; `prep.` begins the names of fitted preprocessing.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut parts = Parts::default();
        self.0.prep().store(&mut parts);
        self.0.classifier().store(&mut parts);
        let shown = PyDict::new(py);
        for (name, part) in parts.iter() {
            shown.set_item(name, rows(py, part)?)?;
        }
        Ok(shown)
    }

    /// The model after another batch of samples with their class names, for methods that learn from batches.
    fn learn_more(&self, py: Python<'_>, x: Samples<'_>, labels: Vec<String>, threads: usize) -> PyResult<Model> {
        self.on_threads(py, &x, threads, |model, x| model.learn_more(x, &labels)).map(Model)
    }

    /// Index of the class of every sample.
    fn predict<'py>(&self, py: Python<'py>, x: Samples<'py>, threads: usize) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let found = self.on_threads(py, &x, threads, |model, x| model.predict(x))?;
        Ok(PyArray1::from_iter(py, found.into_iter().map(|c| c as i64)))
    }

    /// Scores, samples x classes, of the rule in use.
    fn scores<'py>(&self, py: Python<'py>, x: Samples<'py>, threads: usize) -> PyResult<Rows<'py>> {
        let scores = self.on_threads(py, &x, threads, |model, x| model.scores(x))?;
        rows(py, scores.as_ref())
    }

    /// Scores, samples x classes, of every rule.
    fn scores_by_rule<'py>(&self, py: Python<'py>, x: Samples<'py>, threads: usize) -> PyResult<Bound<'py, PyDict>> {
        let by_rule = |model: &atomlearn::Model, x: MatRef<'_, f64>| {
            model.classifier().scores_by_rule(model.prepare(x)?.as_ref())
        };
        let found = PyDict::new(py);
        for (rule, scores) in self.on_threads(py, &x, threads, by_rule)? {
            found.set_item(rule, rows(py, scores.as_ref())?)?;
        }
        Ok(found)
    }

    /// Calibrated probabilities, samples x classes; `None` for methods that have none.
    fn probabilities<'py>(&self, py: Python<'py>, x: Samples<'py>, threads: usize) -> PyResult<Option<Rows<'py>>> {
        let found = self.on_threads(py, &x, threads, |model, x| model.probabilities(x))?;
        found.map(|found| rows(py, found.as_ref())).transpose()
    }

    /// What leave-one-out found in training, as JSON (`atomlearn.auto/1`); `None` for methods other than `auto`.
    fn auto_report(&self) -> PyResult<Option<String>> {
        let report = AutoModel::of(self.0.classifier()).map(|auto| serde_json::to_string(auto.report()));
        report.transpose().map_err(bad_json)
    }

    /// Leave-one-out probabilities, samples x classes, and the place of each sample in the training data; `None` for methods
    /// other than `auto`.
    fn left_out<'py>(&self, py: Python<'py>) -> PyResult<Option<(Rows<'py>, Vec<usize>)>> {
        let Some(auto) = AutoModel::of(self.0.classifier()) else { return Ok(None) };
        let (probabilities, places) = auto.left_out_probabilities();
        Ok(Some((rows(py, probabilities.as_ref())?, places.to_vec())))
    }

    /// Every training sample that leave-one-out judged, with its label, the probability of that label and the most probable one, the
    /// least probable label first; empty for methods other than `auto`.
    fn suspicious(&self) -> Vec<(usize, String, f64, String)> {
        let all = AutoModel::of(self.0.classifier()).map_or_else(Vec::new, |auto| auto.suspicious(usize::MAX));
        all.into_iter().map(|entry| (entry.sample, entry.label, entry.proba, entry.suggested)).collect()
    }

    /// What each reading of `auto` says, samples x classes, in the order of the report; `None` for other methods.
    fn contributions<'py>(&self, py: Python<'py>, x: Samples<'py>, threads: usize) -> PyResult<Option<Vec<Rows<'py>>>> {
        let explain = |model: &atomlearn::Model, x: MatRef<'_, f64>| {
            let Some(auto) = AutoModel::of(model.classifier()) else { return Ok(None) };
            auto.explain(model.prepare(x)?.as_ref()).map(Some)
        };
        let found = self.on_threads(py, &x, threads, explain)?;
        found.map(|all| all.iter().map(|scores| rows(py, scores.as_ref())).collect()).transpose()
    }

    /// The atoms, one per row, and the class of each where they have classes; `None` for methods without atoms.
    fn atoms<'py>(&self, py: Python<'py>) -> PyResult<Option<(Rows<'py>, Option<Vec<usize>>)>> {
        let Some(atoms) = self.0.classifier().atoms() else { return Ok(None) };
        Ok(Some((rows(py, atoms.columns.as_ref())?, atoms.classes.map(Blocks::labels))))
    }

    /// The atoms with the largest share in every sample: number, class, code and share of each.
    fn strongest_atoms(
        &self,
        py: Python<'_>,
        x: Samples<'_>,
        most: usize,
        threads: usize,
    ) -> PyResult<Vec<Vec<StrongAtom>>> {
        let classes = self.0.classifier().atoms().and_then(|atoms| atoms.classes).map(Blocks::labels);
        let class = |atom: usize| classes.as_ref().and_then(|classes| classes.get(atom)).copied();
        let strongest = |model: &atomlearn::Model, x: MatRef<'_, f64>| {
            Ok(explain::strongest_atoms(model.classifier(), model.prepare(x)?.as_ref(), most))
        };
        let found = self.on_threads(py, &x, threads, strongest)?;
        let of_sample = |uses: Vec<AtomUse>| uses.into_iter().map(|of| (of.atom, class(of.atom), of.code, of.share));
        Ok(found.into_iter().map(|uses| of_sample(uses).collect()).collect())
    }

    /// What the atoms of every class leave of a sample, samples x classes; `None` for methods whose dictionary has no classes.
    fn class_residuals<'py>(&self, py: Python<'py>, x: Samples<'py>, threads: usize) -> PyResult<Option<Rows<'py>>> {
        let residuals = |model: &atomlearn::Model, x: MatRef<'_, f64>| {
            Ok(explain::class_residuals(model.classifier(), model.prepare(x)?.as_ref()))
        };
        let found = self.on_threads(py, &x, threads, residuals)?;
        found.map(|residuals| rows(py, residuals.as_ref())).transpose()
    }

    /// Samples after preprocessing.
    fn prepare<'py>(&self, py: Python<'py>, x: Samples<'py>, threads: usize) -> PyResult<Rows<'py>> {
        let prepared = self.on_threads(py, &x, threads, |model, x| model.prepare(x))?;
        rows(py, prepared.as_ref())
    }

    /// Codes, samples x atoms; `None` for methods that have none.
    fn codes<'py>(&self, py: Python<'py>, x: Samples<'py>, threads: usize) -> PyResult<Option<Rows<'py>>> {
        let codes = |model: &atomlearn::Model, x: MatRef<'_, f64>| {
            model.prepare(x).map(|x| model.classifier().codes_block(x.as_ref()))
        };
        let codes = self.on_threads(py, &x, threads, codes)?;
        codes.map(|codes| rows(py, codes.as_ref())).transpose()
    }
}

/// The cells of a column as Python gives them.
#[derive(FromPyObject)]
enum Cells<'py> {
    Numbers(PyReadonlyArray1<'py, f64>),
    Texts(Vec<Option<String>>),
}

impl Cells<'_> {
    fn len(&self) -> usize {
        match self {
            Cells::Numbers(values) => values.len(),
            Cells::Texts(texts) => texts.len(),
        }
    }

    fn get(&self, row: usize) -> Cell<'_> {
        match self {
            Cells::Numbers(values) => values.get(row).map_or(Cell::Missing, |value| Cell::Number(*value)),
            Cells::Texts(texts) => texts[row].as_deref().map_or(Cell::Missing, Cell::Text),
        }
    }
}

fn encode(table: &TableSchema, columns: &[Cells<'_>]) -> atomlearn::Result<Encoded> {
    let rows = columns.first().map_or(0, Cells::len);
    if columns.iter().any(|column| column.len() != rows) {
        return Err(Error::Data("columns of a table must have the same number of cells".into()));
    }
    let place = |row, column: usize| format!("row {row} (counted from 0) of column `{}`", table.features[column].name);
    table.encode(rows, |row, column| columns[column].get(row), place)
}

impl Model {
    /// The table that the model was trained on, if its columns had names.
    fn named_table(&self) -> Option<&TableSchema> {
        self.0.schema.as_ref().filter(|table| table.header)
    }

    /// Does `work` on the samples with a pool of its own while other Python threads go on.
    fn on_threads<T: Send>(
        &self,
        py: Python<'_>,
        x: &Samples<'_>,
        threads: usize,
        work: impl FnOnce(&atomlearn::Model, MatRef<'_, f64>) -> atomlearn::Result<T> + Send,
    ) -> PyResult<T> {
        let (x, pool) = (samples(x)?, pool(threads)?);
        py.detach(|| pool.install(|| work(&self.0, x))).map_err(to_python)
    }
}
