//! A JSON header and named matrices: what travels between trainer and partitions, and what a checkpoint holds.
//!
//! The bytes are those of [`crate::archive`], with a digest, so that a message that was cut short or altered is refused.

use crate::params::Values;
use crate::{Error, Parts, Result, archive};
use faer::Mat;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;

/// Header and matrices by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Message {
    header: Values,
    matrices: BTreeMap<String, Mat<f64>>,
}

impl Message {
    /// An empty message of this format.
    pub(crate) fn new(format: &str) -> Self {
        let mut message = Message::default();
        message.set("format", format);
        message
    }

    /// Reads a message and checks that it is of this format.
    pub(crate) fn decode(bytes: &[u8], format: &str) -> Result<Self> {
        let archive::Content { header, matrices, .. } = archive::decode(bytes)?;
        let message = Message { header, matrices: matrices.into_iter().collect() };
        let found: String = message.get("format")?;
        if found != format {
            return Err(Error::Data(format!("expected a message of format `{format}`, found `{found}`")));
        }
        Ok(message)
    }

    /// The bytes.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let matrices = self.matrices.iter().map(|(name, matrix)| (name.clone(), matrix.as_ref())).collect();
        archive::encode(&archive::Stored { header: self.header.clone(), matrices, blobs: Vec::new() })
    }

    /// Puts an entry into the header. Everything stored here is plain data, which always has a JSON form.
    pub(crate) fn set(&mut self, name: &str, value: impl Serialize) {
        self.header.insert(name.into(), serde_json::to_value(value).unwrap_or(Value::Null));
    }

    /// An entry of the header.
    pub(crate) fn get<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        let entry = self.header.get(name).cloned().unwrap_or(Value::Null);
        serde_json::from_value(entry).map_err(|e| Error::Data(format!("the message has no valid `{name}`: {e}")))
    }

    /// Puts a matrix in.
    pub(crate) fn put(&mut self, name: impl Into<String>, matrix: Mat<f64>) {
        self.matrices.insert(name.into(), matrix);
    }

    /// Puts a row of numbers in.
    pub(crate) fn put_row(&mut self, name: &str, values: &[f64]) {
        self.put(name, Mat::from_fn(1, values.len(), |_, j| values[j]));
    }

    /// Takes a matrix out that must have this shape; `None` leaves a side open.
    pub(crate) fn take(
        &mut self,
        name: &str,
        rows: impl Into<Option<usize>>,
        cols: impl Into<Option<usize>>,
    ) -> Result<Mat<f64>> {
        let matrix = self.take_if(name);
        let matrix = matrix.ok_or_else(|| Error::Data(format!("the message has no matrix `{name}`")))?;
        check_shape(name, &matrix, rows.into(), cols.into())?;
        Ok(matrix)
    }

    /// Takes a matrix out, if it is there.
    pub(crate) fn take_if(&mut self, name: &str) -> Option<Mat<f64>> {
        self.matrices.remove(name)
    }

    /// Takes a row of so many numbers out.
    pub(crate) fn take_row(&mut self, name: &str, cols: impl Into<Option<usize>>) -> Result<Vec<f64>> {
        Ok(self.take(name, 1, cols)?.row(0).iter().copied().collect())
    }

    /// The matrices that are left.
    pub(crate) fn into_matrices(self) -> BTreeMap<String, Mat<f64>> {
        self.matrices
    }

    /// Lends all matrices out as the parts of a model; those that `work` leaves come back.
    pub(crate) fn with_parts<T>(
        &mut self,
        classes: Vec<String>,
        work: impl FnOnce(&mut Parts) -> Result<T>,
    ) -> Result<T> {
        let mut parts = Parts::new(classes, std::mem::take(&mut self.matrices).into_iter().collect());
        let outcome = work(&mut parts);
        self.matrices = parts.into_rest().into_iter().collect();
        outcome
    }
}

/// Refuses a matrix of another shape.
pub(crate) fn check_shape(name: &str, matrix: &Mat<f64>, rows: Option<usize>, cols: Option<usize>) -> Result<()> {
    if rows.is_none_or(|rows| rows == matrix.nrows()) && cols.is_none_or(|cols| cols == matrix.ncols()) {
        return Ok(());
    }
    let side = |size: Option<usize>| size.map_or("any".to_string(), |size| size.to_string());
    Err(Error::Shape {
        what: format!("matrix `{name}` of a message"),
        expected: format!("{} x {}", side(rows), side(cols)),
        found: format!("{} x {}", matrix.nrows(), matrix.ncols()),
    })
}
