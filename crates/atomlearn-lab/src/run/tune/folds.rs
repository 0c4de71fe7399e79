//! The folds that a tuning validates on.

use crate::protocol::data::LabData;
use crate::protocol::folds::stratified;
use crate::protocol::splits::Split;
use crate::run::prepared::Prepared;
use atomlearn::Result;
use atomlearn::prep::PrepSpec;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The folds of a training part, each preprocessed once for everything that is tuned on them.
pub struct Folds<'a> {
    /// Labelled samples.
    pub data: &'a LabData,
    /// Those that may be seen.
    pub places: &'a [usize],
    /// Seed that cut them.
    pub seed: u64,
    /// In fold f, part f validates and all others train.
    pub splits: Vec<Split>,
    /// By fold and preprocessing.
    ready: Mutex<HashMap<(usize, String), Arc<Prepared>>>,
}

impl<'a> Folds<'a> {
    /// Cuts the samples at `places` by [`stratified`].
    pub fn new(data: &'a LabData, places: &'a [usize], folds: usize, seed: u64) -> Result<Self> {
        let splits = stratified(data, places, folds, seed)?;
        Ok(Folds { data, places, seed, splits, ready: Mutex::default() })
    }

    /// Fold `f` after preprocessing, from memory if it was asked for before.
    pub fn prepared(&self, f: usize, prep: &PrepSpec) -> Result<Arc<Prepared>> {
        let key = (f, prep.to_string());
        let held = || self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ready) = held().get(&key) {
            return Ok(ready.clone());
        }
        let ready = Arc::new(Prepared::new(self.data, prep, &self.splits[f])?);
        held().insert(key, ready.clone());
        Ok(ready)
    }
}
