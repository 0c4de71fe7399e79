//! A JSON header and named matrices: what travels between trainer and partitions, and what a checkpoint holds.
//!
//! The bytes are those of [`crate::archive`], with a digest, so that a message that was cut short or altered is refused.

use crate::params::Values;
use crate::{Blocks, Error, Parts, Result, archive};
use faer::Mat;
use faer::mat::AsMatRef;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Header and matrices by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Message {
    header: Values,
    pub(crate) parts: Parts,
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
        let message = Message { header, parts: matrices.of("message", Vec::new()) };
        let found: String = message.get("format")?;
        if found != format {
            return Err(Error::Data(format!("expected a message of format `{format}`, found `{found}`")));
        }
        Ok(message)
    }

    /// The bytes.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let header = self.header.clone();
        let matrices = self.parts.clone();
        archive::encode(&archive::Content { header, matrices, ..Default::default() })
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
    pub(crate) fn put(&mut self, name: impl Into<String>, matrix: impl AsMatRef<T = f64, Rows = usize, Cols = usize>) {
        self.parts.put(name, matrix);
    }

    /// Puts a row of numbers in.
    pub(crate) fn put_row(&mut self, name: &str, values: &[f64]) {
        self.parts.put_row(name, values);
    }

    /// Takes a matrix out that must have this shape; `None` leaves a side open.
    pub(crate) fn take(
        &mut self,
        name: &str,
        rows: impl Into<Option<usize>>,
        cols: impl Into<Option<usize>>,
    ) -> Result<Mat<f64>> {
        self.parts.take_shaped(name, rows, cols)
    }

    /// Takes a matrix out, if it is there.
    pub(crate) fn take_if(&mut self, name: &str) -> Option<Mat<f64>> {
        self.parts.take_if(name)
    }

    /// Takes a row of so many numbers out.
    pub(crate) fn take_row(&mut self, name: &str, cols: impl Into<Option<usize>>) -> Result<Vec<f64>> {
        self.parts.take_row(name, cols)
    }

    /// Takes the sizes of one block per class out, which must add up to `total`.
    pub(crate) fn take_blocks(&mut self, name: &str, classes: &[String], total: usize) -> Result<Blocks> {
        self.parts.classes = classes.to_vec();
        self.parts.take_blocks(name, total)
    }
}
