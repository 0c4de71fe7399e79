//! Between numpy arrays, samples in rows, and matrices, samples in columns.

use atomlearn::{Error, Mat, MatRef};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::error::to_python;

/// The samples of a C-ordered array without a copy: its rows are the columns of the matrix.
pub fn samples<'a>(x: &'a PyReadonlyArray2<'_, f64>) -> PyResult<MatRef<'a, f64>> {
    let [n_samples, n_features] = x.shape() else { unreachable!("the array has two dimensions") };
    let values = x.as_slice().map_err(|_| to_python(Error::Data("X must be C-ordered and contiguous".into())))?;
    Ok(MatRef::from_column_major_slice(values, *n_features, *n_samples))
}

/// The matrix with its columns as rows of a C-ordered array.
pub fn rows<'py>(py: Python<'py>, matrix: MatRef<'_, f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let mut values = Vec::with_capacity(matrix.nrows() * matrix.ncols());
    matrix.col_iter().for_each(|column| values.extend(column.iter().copied()));
    PyArray1::from_vec(py, values).reshape([matrix.ncols(), matrix.nrows()])
}

/// An owned copy of the samples, for work that may outlive the call.
pub fn owned(x: &PyReadonlyArray2<'_, f64>) -> PyResult<Mat<f64>> {
    Ok(samples(x)?.to_owned())
}
