//! Errors of the library as Python exceptions.

use atomlearn::{Error, options_in_words};
use atomlearn_lab::output_kind::Kind;
use atomlearn_lab::outputs::{self, Force, Refusal};
use pyo3::exceptions::{
    PyArithmeticError, PyFileExistsError, PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyValueError,
};
use pyo3::{PyErr, PyResult};
use std::path::Path;

/// What Python users expect: `ValueError` for what they gave, `OSError` for files, `ArithmeticError` for breakdowns.
pub fn to_python(error: Error) -> PyErr {
    let text = with_keywords(&error.to_string());
    match error {
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => PyFileNotFoundError::new_err(text),
        Error::Io { .. } => PyOSError::new_err(text),
        Error::Numeric { .. } => PyArithmeticError::new_err(text),
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        _ => PyValueError::new_err(text),
    }
}

/// A message of the library with its options as keywords of Python.
fn with_keywords(message: &str) -> String {
    options_in_words(message, |name, value| {
        let keyword = name.replace('-', "_");
        match value {
            Some(value) => format!("`{keyword}=\"{value}\"`"),
            None => format!("`{keyword}`"),
        }
    })
}

/// JSON that our own Python code should have made right.
pub fn bad_json(error: serde_json::Error) -> PyErr {
    PyValueError::new_err(format!("cannot be stored as JSON: {error}"))
}

/// Refuses outputs as the command line does: those that cannot be written, that are among the inputs, or that would replace a file of
/// another kind.
pub fn check_outputs(inputs: &[&Path], outputs: &[(&Path, Kind)], force: bool) -> PyResult<()> {
    outputs::check(inputs, outputs, Force { given: force, said: "force=True" }).map_err(|refusal| match refusal {
        Refusal::Exists(why) => PyFileExistsError::new_err(why),
        Refusal::NoFolder(why) => PyFileNotFoundError::new_err(why),
        Refusal::Usage(why) => PyValueError::new_err(why),
        Refusal::Failed(why) => PyOSError::new_err(why),
        Refusal::Error(error) => to_python(error),
    })
}
