//! One training on one fold, and everything that is read from it.

use super::{Tuning, Unit, UnitRecord};
use crate::records::times::Clock;
use crate::run::prepared::Prepared;
use atomlearn::Result;
use atomlearn::path::{Path, PathRecord};

impl Tuning<'_> {
    /// Trains and counts; a typed error of the method is a failed point, not a failed tuning.
    pub(super) fn evaluate(
        &self,
        unit: &Unit,
        key: &str,
        fold: &Prepared,
        stop: &dyn Fn() -> bool,
    ) -> Result<UnitRecord> {
        let clock = Clock::start();
        let grid = &self.spec.grid;
        let (metric, n_classes) = (self.spec.metric, fold.train.classes().len());
        let measure = |found: &[usize]| metric.value(&fold.truth, found, n_classes);
        let path = Path {
            method: self.method,
            params: self.unit_params(unit),
            iterations: &unit.iterations,
            decision: grid.decision.iter().collect(),
            readout: grid.readout.iter().collect(),
            train: &fold.train,
            test: fold.test.as_ref(),
            truth: &fold.truth,
            measure: (!metric.is_default()).then_some(&measure),
        };
        let PathRecord { correct, measured, failures, warnings } = path.follow(stop)?;
        Ok(UnitRecord {
            schema: super::RECORD_SCHEMA.into(),
            key: key.into(),
            method: self.method.key.into(),
            fold: unit.fold,
            params: self.trained_with(unit),
            iterations: unit.iterations.clone(),
            samples: fold.truth.len(),
            correct,
            measured,
            failures,
            warnings,
            seconds: clock.stop().0,
        })
    }
}
