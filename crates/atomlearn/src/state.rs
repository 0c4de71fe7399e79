//! What a training loop carries from one iteration to the next, so that it can be stopped and go on to the same bits.
//!
//! A method puts into its [`State`] whatever the next iteration reads and what cannot be computed again from the data to the
//! same bits: dictionary, codes, classifiers, positions of random generators. What follows from the data alone is computed
//! again on resuming. A state may come out of a hostile file, so that methods check every shape.

use crate::linalg::View;
use crate::params::Values;
use crate::svm::Svm;
use crate::{Blocks, Error, Parts, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The end of an iteration: named matrices, and small values beside them.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    iter: usize,
    converged: bool,
    values: Values,
    parts: Parts,
}

impl State {
    /// After iteration `iter`; `converged` if none would follow however many are allowed.
    pub fn after(iter: usize, converged: bool) -> Self {
        State { iter, converged, values: Values::new(), parts: Parts::default() }
    }

    /// A state from what [`State::values`] and [`State::parts`] gave.
    pub fn from_parts(iter: usize, converged: bool, values: Values, parts: Parts) -> Self {
        State { iter, converged, values, parts }
    }

    /// Iterations done.
    pub fn iter(&self) -> usize {
        self.iter
    }

    /// True if training ended by itself, not for want of iterations.
    pub fn converged(&self) -> bool {
        self.converged
    }

    /// The small values by name.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// The matrices by name.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Adds a matrix.
    pub(crate) fn with(mut self, name: impl Into<String>, matrix: impl View) -> Self {
        self.parts.put(name, matrix);
        self
    }

    /// Adds a row of numbers.
    pub(crate) fn with_row(mut self, name: &str, row: &[f64]) -> Self {
        self.parts.put_row(name, row);
        self
    }

    /// Adds classifiers; [`Parts::take_svm`] takes them out.
    pub(crate) fn with_svm(mut self, svm: &Svm) -> Self {
        self.parts.put_svm(svm);
        self
    }

    /// Adds block sizes; [`Parts::take_blocks`] takes them out.
    pub(crate) fn with_blocks(mut self, name: &str, blocks: &Blocks) -> Self {
        self.parts.put_blocks(name, blocks);
        self
    }

    /// Adds a small value. Everything stored here is plain data, which always has a JSON form; JSON has no infinity, so that
    /// numbers that may be infinite become `None`.
    pub(crate) fn with_value(mut self, name: &str, value: impl Serialize) -> Self {
        self.values.insert(name.into(), serde_json::to_value(value).unwrap_or(Value::Null));
        self
    }

    /// A small value.
    pub(crate) fn value<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        let value = self.values.get(name).cloned().unwrap_or(Value::Null);
        serde_json::from_value(value).map_err(|e| Error::Data(format!("the state has no valid `{name}`: {e}")))
    }

    /// A number that is infinite where none was stored.
    pub(crate) fn value_or_infinite(&self, name: &str) -> Result<f64> {
        Ok(self.value::<Option<f64>>(name)?.unwrap_or(f64::INFINITY))
    }

    /// The matrices on their way out.
    pub(crate) fn into_parts(self, classes: &[String]) -> Parts {
        self.parts.of("state", classes.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_and_infinity_is_none() {
        let state = State::after(1, false).with_value("count", 3).with_value("held", Some(f64::INFINITY));
        assert_eq!(state.value::<usize>("count").unwrap(), 3);
        assert_eq!(state.value_or_infinite("held").unwrap(), f64::INFINITY);
        assert!(state.value::<usize>("nothing").unwrap_err().to_string().contains("`nothing`"));
        let mut parts = state.with_row("row", &[1.0, -0.0]).into_parts(&[]);
        assert_eq!(parts.take_shaped("row", 1, 2).unwrap(), faer::mat![[1.0, -0.0]]);
        assert!(parts.take("row").unwrap_err().to_string().contains("the state has no part `row`"));
    }
}
