//! Errors of the library as Python exceptions.

use atomlearn::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyArithmeticError, PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyValueError};

/// What Python users expect: `ValueError` for what they gave, `OSError` for files, `ArithmeticError` for breakdowns.
pub fn to_python(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => PyFileNotFoundError::new_err(text),
        Error::Io { .. } => PyOSError::new_err(text),
        Error::Numeric { .. } => PyArithmeticError::new_err(text),
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        _ => PyValueError::new_err(text),
    }
}

/// JSON that our own Python code should have made right.
pub fn bad_json(error: serde_json::Error) -> PyErr {
    PyValueError::new_err(format!("cannot be stored as JSON: {error}"))
}
