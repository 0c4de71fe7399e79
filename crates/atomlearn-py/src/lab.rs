//! Experiments and the report page from Python.

use crate::arrays::owned;
use crate::error::{bad_json, check_outputs, to_python};
use crate::run::{Answer, Link, Listener, run};
use atomlearn::file::write_atomically;
use atomlearn::io::RawData;
use atomlearn::prep::PrepSpec;
use atomlearn::registry::{self, Values};
use atomlearn::{Error, Step};
use atomlearn_lab::compare::{Entry, Plan, Run, RunError, Watch};
use atomlearn_lab::data::{LabData, digest_raw};
use atomlearn_lab::jsonl::Appender;
use atomlearn_lab::output_kind::Kind;
use atomlearn_lab::record::{self, Record};
use atomlearn_lab::results::comparisons;
use atomlearn_lab::{folds, report as pages, splits, tables};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

/// Widest table; Python cannot know where it will be shown.
const TABLE_WIDTH: u16 = 100;

/// How a comparison splits the data: so many training samples of every class, or else folds; how often; and the seed.
type Layout = (Option<usize>, usize, usize, u64);

/// Compares methods on the same stratified splits. Without `prep` every method has its own. `report` is only checked: the page is made
/// from the records afterwards. `methods` is a list of keys and JSON parameters; `on_run`, if given, is
/// called before every run with where the comparison stands, as JSON. Returns the comparison as JSON, as a table and as a table for LaTeX.
#[pyfunction]
#[pyo3(signature = (x, labels, name, methods, layout, prep, records, report, force, threads, on_run=None))]
#[allow(clippy::too_many_arguments)]
pub fn compare(
    py: Python<'_>,
    x: PyReadonlyArray2<'_, f64>,
    labels: Vec<String>,
    name: &str,
    methods: Vec<(String, String)>,
    layout: Layout,
    prep: Option<&str>,
    records: Option<PathBuf>,
    report: Option<PathBuf>,
    force: bool,
    threads: usize,
    on_run: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, String, String)> {
    let given: Option<PrepSpec> = prep.map(str::parse).transpose().map_err(to_python)?;
    let entry = |(key, params): (String, String)| -> PyResult<Entry> {
        let method = registry::method(&key).map_err(to_python)?;
        let params: Values = serde_json::from_str(&params).map_err(bad_json)?;
        let (own, params) = method.settle(given.as_ref(), &params).map_err(to_python)?;
        let own = (given.is_none() && own != PrepSpec::default()).then_some(own);
        Ok(Entry { prep: own, ..Entry::new(method, params) })
    };
    let entries: Vec<Entry> = methods.into_iter().map(entry).collect::<PyResult<_>>()?;
    let prep = given.clone().unwrap_or_default();
    let outputs = [(records.as_deref(), Kind::Records), (report.as_deref(), Kind::Report)];
    let outputs: Vec<(&Path, Kind)> = outputs.into_iter().filter_map(|(path, kind)| Some((path?, kind))).collect();
    check_outputs(&[], &outputs, force)?;
    let raw = RawData { labels: Some(labels), ..RawData::new(owned(&x)?) };
    let data = LabData::new(name, digest_raw(&raw), raw).map_err(to_python)?;
    let splits = match layout {
        (Some(train_per_class), _, repeats, seed) => splits::stratified(&data, train_per_class, repeats, seed),
        (None, folds, repeats, seed) => folds::cross_validation(&data, folds, repeats, seed),
    };
    let splits = splits.map_err(to_python)?;

    let job = move |link: &mut Link| {
        let plan = Plan { data: &data, splits: &splits, prep: &prep, entries: &entries };
        let mut file = records.as_deref().map(Appender::open_now).transpose()?;
        if let Some(file) = &mut file {
            // Nothing is appended to a file that holds something else.
            file.records(record::checked_key)?;
        }
        plan.run(&[], file.as_ref(), &mut Progress { link, stop: false })
    };
    let listen = on_run.map(|on_run| {
        move |run: Value, _: &Sender<Answer>| on_run.call1((run.to_string(),)).map(|_| ControlFlow::Continue(()))
    });
    let listen = listen.as_ref().map(|listen| listen as &Listener<'_>);
    let found = run(py, threads, job, listen)?.map_err(in_run)?;
    let comparison = comparisons(&found).into_iter().next();
    let comparison = comparison.ok_or_else(|| to_python(Error::Data("no method was given".into())))?;
    let text = serde_json::to_string(&comparison).map_err(bad_json)?;
    Ok((text, tables::terminal(&comparison, TABLE_WIDTH, false), tables::latex(&comparison)))
}

/// The report page of a file of records; only with `force` in the place of a file that is no report.
#[pyfunction]
#[pyo3(signature = (records, path, force=false))]
pub fn report(py: Python<'_>, records: PathBuf, path: PathBuf, force: bool) -> PyResult<()> {
    check_outputs(&[&records], &[(&path, Kind::Report)], force)?;
    let write = || {
        let found = record::read(&records)?;
        if found.is_empty() {
            return Err(Error::format(&records, "holds no record"));
        }
        write_atomically(&path, pages::page(&found)?.as_bytes())
    };
    py.detach(write).map_err(to_python)
}

/// The kind of the error behind it, with the run's name in its text.
fn in_run(error: RunError) -> PyErr {
    let text = error.to_string();
    to_python(match error.source {
        Error::Interrupted => Error::Interrupted,
        Error::Numeric { .. } => Error::numeric("compare", text),
        source @ Error::Io { .. } => source,
        _ => Error::Data(text),
    })
}

struct Progress<'a> {
    link: &'a mut Link,
    stop: bool,
}

impl Watch for Progress<'_> {
    fn begin(&mut self, run: Run<'_>) {
        let report = || json!({"method": run.method, "split": run.split, "done": run.done, "total": run.total});
        self.stop |= self.link.report(report, || ()).is_break();
    }

    fn step(&mut self, _: Run<'_>, _: &Step<'_>) -> ControlFlow<()> {
        self.go_on()
    }

    fn progress(&mut self, _: Run<'_>, _: usize, _: usize) -> ControlFlow<()> {
        self.go_on()
    }

    fn end(&mut self, _: Run<'_>, _: &Record) {}

    fn go_on(&mut self) -> ControlFlow<()> {
        if self.stop { ControlFlow::Break(()) } else { self.link.go_on() }
    }
}
