//! `unit`: every sample gets length one.

use super::affine::fill;
use super::partitioned::StepSums;
use super::steps::{FittedStep, Needs, StepInfo, StepSpec};
use super::{StepInput, StepParts};
use crate::export::{Graph, Tensor};
use crate::linalg::{ZERO_NORM, column_norms, extreme_direction, is_safe_norm};
use crate::{Observer, Result};
use faer::{Mat, MatRef};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

pub(super) const UNIT: StepInfo = StepInfo {
    name: "unit",
    usage: "unit",
    examples: &["unit"],
    doc: "the sample is scaled to unit length.",
    needs: Needs::Nothing,
    parse: |arguments| arguments.none().map(|()| Arc::new(Unit) as Arc<dyn StepSpec>),
};

/// Nothing is fitted: the step as asked for is the fitted one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit;

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unit")
    }
}

impl StepSpec for Unit {
    fn info(&self) -> &'static StepInfo {
        &UNIT
    }

    fn fit(&self, _: MatRef<'_, f64>, _: &mut dyn Observer) -> Result<Box<dyn FittedStep>> {
        Ok(self.boxed())
    }

    fn fit_sums(&self, _: &StepSums<'_>, _: &mut dyn Observer) -> Result<Box<dyn FittedStep>> {
        Ok(self.boxed())
    }

    fn restore(&self, _: usize, _: &mut StepParts<'_>) -> Result<Box<dyn FittedStep>> {
        Ok(self.boxed())
    }
}

impl FittedStep for Unit {
    fn apply(&self, samples: &StepInput<'_>, out: &mut Mat<f64>) {
        let raw_norms = samples.raw_norms;
        let norms = if samples.raw { Cow::Borrowed(raw_norms) } else { Cow::Owned(column_norms(samples.x)) };
        fill(out, samples.x, |j, x, y| {
            let zero = norms[j] <= ZERO_NORM * raw_norms[j].min(1.0);
            if zero || is_safe_norm(norms[j]) {
                let divisor = if zero { 1.0 } else { norms[j] };
                y.iter_mut().zip(x).for_each(|(y, x)| *y = x / divisor);
            } else {
                extreme_direction(x, y);
            }
        });
    }

    fn warn_of(&self, prepared: MatRef<'_, f64>, watch: &mut dyn Observer) {
        let zeros = column_norms(prepared).iter().filter(|&&norm| norm < 0.5).count();
        if zeros > 0 {
            watch.warn(&format!("{zeros} training samples are zero and stay zero; they carry no information"));
        }
    }

    fn n_out(&self, n_in: usize) -> Result<usize> {
        Ok(n_in)
    }

    fn back(&self, patterns: Mat<f64>) -> Option<Mat<f64>> {
        Some(patterns)
    }

    fn export(&self, graph: &mut Graph, x: Tensor, zero_below: &Tensor) -> Tensor {
        // Divided by their largest value first, samples of any length have a norm.
        let (over_largest, largest) = graph.over_largest(&x);
        let energy = graph.energy(&over_largest);
        let norm = graph.op("Sqrt", &[&energy]);
        let length = graph.op("Mul", &[&norm, &largest]);
        let one = graph.scalar(1.0);
        let zero = graph.op("LessOrEqual", &[&length, zero_below]);
        let divisor = graph.op("Where", &[&zero, &one, &norm]);
        let unit = graph.op("Div", &[&over_largest, &divisor]);
        graph.op("Where", &[&zero, &x, &unit])
    }

    fn parts(&self) -> Vec<(String, MatRef<'_, f64>)> {
        Vec::new()
    }

    fn boxed(&self) -> Box<dyn FittedStep> {
        Box::new(*self)
    }
}
