//! Data files for Python, read as the command line reads them.

use crate::arrays::rows;
use crate::error::to_python;
use atomlearn::Error;
use atomlearn::io::{self, Orientation, ReadOptions};
use numpy::PyArray2;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Samples in rows, and their labels.
type Read<'py> = (Bound<'py, PyArray2<f64>>, Option<Vec<String>>);

/// The samples of a file or of a folder of images, one per row, and their labels as text, if it has any.
#[pyfunction]
#[pyo3(signature = (path, x=None, y=None, samples=None, labels=None))]
pub fn read<'py>(
    py: Python<'py>,
    path: PathBuf,
    x: Option<String>,
    y: Option<String>,
    samples: Option<&str>,
    labels: Option<PathBuf>,
) -> PyResult<Read<'py>> {
    let samples = match samples {
        None => None,
        Some("rows") => Some(Orientation::Rows),
        Some("columns") => Some(Orientation::Columns),
        Some(other) => return Err(to_python(Error::param("samples", other, "\"rows\" or \"columns\""))),
    };
    let options = ReadOptions { x, y, samples, labels, ..ReadOptions::default() };
    let data = py.detach(|| io::read(&path, &options)).map_err(to_python)?;
    Ok((rows(py, data.x.as_ref())?, data.labels))
}
