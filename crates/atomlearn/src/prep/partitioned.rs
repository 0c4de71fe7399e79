//! Steps fitted from sums over samples that are never in memory together.

use super::affine::{Affine, Center, Standard, column_matrix};
use super::kernel::KernelStep;
use super::steps::{FittedStep, Needs, STEPS, StepSpec};
use super::unit::Unit;
use super::{Prep, PrepSpec};
use crate::kernel::{KernelMap, KernelSpec};
use crate::{Error, Observer, Result};
use faer::Mat;
use std::sync::Arc;

/// What is known of the training samples that reach a step.
pub(crate) struct StepSums<'a> {
    /// Their number of features.
    pub(super) n_features: usize,
    /// How many there are.
    pub(super) n: f64,
    /// Their mean.
    pub(super) mean: &'a [f64],
    /// Their scatter about the mean.
    pub(super) scatter: Option<&'a Mat<f64>>,
}

impl StepSums<'_> {
    /// The scatter, or an error that step `spec` lacks it.
    pub(super) fn scatter(&self, spec: &dyn StepSpec) -> Result<&Mat<f64>> {
        self.scatter.ok_or_else(|| Error::Data(format!("preprocessing step `{spec}` lacks the scatter of the samples")))
    }
}

impl PrepSpec {
    /// Number of steps.
    pub(crate) fn len(&self) -> usize {
        self.steps().len()
    }

    /// True if these are the first steps of `whole`.
    pub(crate) fn starts(&self, whole: &PrepSpec) -> bool {
        let steps = self.steps().iter().map(|step| step.to_string());
        self.len() <= whole.len() && steps.eq(whole.steps()[..self.len()].iter().map(|step| step.to_string()))
    }

    /// What step `i` needs; an error for steps that need the samples themselves.
    pub(crate) fn need(&self, i: usize) -> Result<Needs> {
        let step = &self.steps()[i];
        match step.info().needs {
            Needs::Samples => {
                let others = STEPS.iter().filter(|info| info.needs != Needs::Samples).map(|info| info.name);
                Err(Error::param(
                    "prep",
                    step,
                    format!(
                        "{} needs all samples at once and cannot be fitted in partitions; these steps can: {}. Or train on \
                         a part of the data in memory",
                        step.info().doc.trim_end_matches('.'),
                        others.collect::<Vec<_>>().join(", ")
                    ),
                ))
            }
            needs => Ok(needs),
        }
    }
}

impl Prep {
    /// Adds step `self.steps.len()` of `whole`, fitted from the number of samples, their mean and their scatter.
    pub(crate) fn add_step(
        &mut self,
        whole: &PrepSpec,
        n: f64,
        mean: &[f64],
        scatter: Option<&Mat<f64>>,
        watch: &mut dyn Observer,
    ) -> Result<()> {
        let spec = whole.steps()[self.steps.len()].clone();
        let step = spec.fit_sums(&StepSums { n_features: self.n_out()?, n, mean, scatter }, watch)?;
        self.push(spec, step);
        Ok(())
    }

    /// The same with samples seen from `centre` at the end.
    pub(crate) fn centered_at(&self, center: Mat<f64>) -> Prep {
        let mut prep = self.clone();
        prep.push(Arc::new(Center), Affine::shift(center).boxed());
        prep
    }

    /// The same with samples of unit length at the end.
    pub(crate) fn then_unit(&self) -> Prep {
        let mut prep = self.clone();
        prep.push(Arc::new(Unit), Unit.boxed());
        prep
    }

    /// The same with `scale * (x - shift)` at the end, feature by feature.
    pub(crate) fn then_scaled(&self, shift: &[f64], scale: &[f64]) -> Prep {
        let mut prep = self.clone();
        prep.push(Arc::new(Standard), Affine::scaled(column_matrix(shift), column_matrix(scale)).boxed());
        prep
    }

    /// The same with a kernel map at the end, which was made from this.
    pub(crate) fn then_kernel(&self, spec: KernelSpec, map: KernelMap) -> Prep {
        let mut prep = self.clone();
        prep.push(Arc::new(KernelStep(spec)), map.boxed());
        prep
    }

    /// How many steps are fitted.
    pub(crate) fn n_steps(&self) -> usize {
        self.steps.len()
    }
}
