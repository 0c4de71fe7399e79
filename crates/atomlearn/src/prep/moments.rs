//! Steps fitted from sums over samples that are never in memory together.

use super::{Fitted, Prep, PrepSpec, StepSpec, column, keep_directions, random_projection, standardised};
use crate::pca::pca_from_scatter;
use crate::{Error, Observer, Result};
use faer::Mat;

/// What a step must know of the samples that reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Nothing.
    Nothing,
    /// Their mean.
    Mean,
    /// Their mean and their scatter about it.
    Scatter,
}

impl PrepSpec {
    /// Number of steps.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// True if these are the first steps of `whole`.
    pub(crate) fn starts(&self, whole: &PrepSpec) -> bool {
        whole.0.starts_with(&self.0)
    }

    /// What step `i` needs; an error for steps that need the samples themselves.
    pub(crate) fn need(&self, i: usize) -> Result<Need> {
        match &self.0[i] {
            StepSpec::Unit | StepSpec::Random { .. } => Ok(Need::Nothing),
            StepSpec::Center => Ok(Need::Mean),
            StepSpec::Standard | StepSpec::Pca { .. } => Ok(Need::Scatter),
            StepSpec::Kernel(_) => Err(Error::param(
                "prep",
                self.0[i],
                "a kernel map chooses landmarks among all samples and cannot be fitted in partitions; use unit, center, \
                 standard, pca, pca-uncentered or random, or train on a part of the data in memory",
            )),
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
        let spec = whole.0[self.steps.len()];
        let missing = || Error::Data(format!("preprocessing step `{spec}` lacks the scatter of the samples"));
        let step = match spec {
            StepSpec::Unit => Fitted::Unit,
            StepSpec::Random { dim, seed } => random_projection(self.n_out()?, dim, seed),
            StepSpec::Center => Fitted::affine(Some(column(mean)), None, None),
            StepSpec::Standard => {
                let scatter = scatter.ok_or_else(missing)?;
                let deviations: Vec<f64> = (0..mean.len()).map(|i| (scatter[(i, i)] / n).sqrt()).collect();
                standardised(mean, &deviations, watch)
            }
            StepSpec::Pca { keep, centred } => {
                let scatter = scatter.ok_or_else(missing)?.as_ref();
                let directions = pca_from_scatter(mean.to_vec(), scatter, n, keep.most(), "PCA")?;
                let directions = keep_directions(directions, keep, watch)?;
                let shift = centred.then(|| column(&directions.mean));
                Fitted::affine(shift, Some(directions.basis), None)
            }
            StepSpec::Kernel(_) => return Err(missing()),
        };
        self.steps.push(step);
        self.spec.0.push(spec);
        Ok(())
    }

    /// The same with samples seen from `centre` at the end.
    pub(crate) fn centred_at(&self, centre: Mat<f64>) -> Prep {
        let mut prep = self.clone();
        prep.steps.push(Fitted::affine(Some(centre), None, None));
        prep.spec.0.push(StepSpec::Center);
        prep
    }

    /// How many steps are fitted.
    pub(crate) fn n_steps(&self) -> usize {
        self.steps.len()
    }
}
