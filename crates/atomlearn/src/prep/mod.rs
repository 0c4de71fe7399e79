//! Preprocessing: a list of steps fitted on training data only and stored with the model.
//!
//! Written as a comma list, applied in order, such as `pca:98%,unit`; `none` is the empty list. [`STEPS`] lists all steps there are.
//! A new one is a file of this folder with its [`StepSpec`] and its [`Step`], and a row of that table.

use crate::export::{Graph, Tensor};
use crate::linalg::{View, ZERO_NORM, column_norms, outer_gram};
use crate::pca::weighted_mean;
use crate::{Dataset, Error, Observer, Parts, Result};
use faer::{Mat, MatRef};
use std::sync::Arc;

mod affine;
mod kernel;
mod partitioned;
mod pca;
mod random;
mod spec;
mod steps;
mod unit;
mod views;

pub use spec::PrepSpec;
use steps::{FittedStep, StepSpec};
pub use steps::{Needs, STEPS, StepInfo, examples, reference};
pub use views::views_text;

/// Fitted preprocessing.
#[derive(Clone, Debug)]
pub struct Prep {
    spec: PrepSpec,
    steps: Vec<Box<dyn FittedStep>>,
    n_features: usize,
}

impl PrepSpec {
    /// Fits the steps on training samples; returns them with the training samples after all steps.
    pub fn fit(&self, x: impl View, watch: &mut dyn Observer) -> Result<(Prep, Mat<f64>)> {
        let x = x.view();
        let mut prep = Prep::none(x.nrows());
        let raw_norms = column_norms(x);
        let mut buffers = Buffers::new();
        for spec in self.steps() {
            let raw = prep.is_empty().then_some(x);
            let step = spec.fit(raw.unwrap_or(buffers.prepared.as_ref()), watch)?;
            buffers.take_through(&*step, raw, &raw_norms);
            step.warn_of(buffers.prepared.as_ref(), watch);
            prep.push(spec.clone(), step);
        }
        let prepared = if prep.is_empty() { x.to_owned() } else { buffers.prepared };
        Ok((prep, prepared))
    }
}

impl PrepSpec {
    /// The same for samples with weights: means and scatters are weighted. Steps that need all samples at once have no weighted form.
    pub fn fit_weighted(&self, x: impl View, weights: &[f64], watch: &mut dyn Observer) -> Result<(Prep, Mat<f64>)> {
        let x = x.view();
        let mut prep = Prep::none(x.nrows());
        for (i, spec) in self.steps().iter().enumerate() {
            if spec.info().needs == Needs::Samples {
                return Err(Error::param("prep", spec, "this step cannot be fitted on samples with weights"));
            }
            let so_far = prep.apply(x);
            let (mean, scatter) = weighted_moments(&so_far, weights, spec.info().needs);
            let total = weights.iter().sum();
            prep.add_step(self, total, &mean, scatter.as_ref(), watch)?;
            prep.steps[i].warn_of(prep.apply(x).as_ref(), watch);
        }
        let prepared = prep.apply(x);
        Ok((prep, prepared))
    }
}

/// The weighted mean and, if a step needs it, the scatter about it.
fn weighted_moments(x: &Mat<f64>, weights: &[f64], needs: Needs) -> (Vec<f64>, Option<Mat<f64>>) {
    let mean = weighted_mean(x, weights);
    let scatter = (needs == Needs::Scatter)
        .then(|| outer_gram(Mat::from_fn(x.nrows(), x.ncols(), |i, j| (x[(i, j)] - mean[i]) * weights[j].sqrt())));
    (mean, scatter)
}

/// Memory for samples on their way through the steps, to be used again for the next ones: fresh memory has to be cleared
/// page by page, which takes longer than cheap steps themselves.
pub(crate) struct Buffers {
    prepared: Mat<f64>,
    next: Mat<f64>,
}

impl Buffers {
    pub(crate) fn new() -> Self {
        Buffers { prepared: Mat::new(), next: Mat::new() }
    }

    /// Takes the raw samples, or else those prepared so far, through one more step.
    fn take_through(&mut self, step: &dyn FittedStep, raw: Option<MatRef<'_, f64>>, raw_norms: &[f64]) {
        let samples = StepInput { x: raw.unwrap_or(self.prepared.as_ref()), raw_norms, raw: raw.is_some() };
        step.apply(&samples, &mut self.next);
        std::mem::swap(&mut self.prepared, &mut self.next);
    }
}

/// Samples that reach a step.
struct StepInput<'a> {
    x: MatRef<'a, f64>,
    /// Lengths of the raw samples. They say which samples count as zero: those no longer than what rounding may leave of a raw one,
    /// whatever its scale.
    raw_norms: &'a [f64],
    /// Whether these are the raw samples.
    raw: bool,
}

impl Prep {
    /// No step at all.
    pub fn none(n_features: usize) -> Self {
        Prep { spec: PrepSpec::none(), steps: Vec::new(), n_features }
    }

    /// What was asked for.
    pub fn spec(&self) -> &PrepSpec {
        &self.spec
    }

    /// Number of features of a raw sample.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Number of features after all steps.
    pub fn n_out(&self) -> Result<usize> {
        self.steps.iter().try_fold(self.n_features, |n, step| step.n_out(n))
    }

    /// Training samples that went through all steps as data to learn from; views that the last step put side by side are told apart.
    pub fn prepared(&self, train: &Dataset, x: Mat<f64>) -> Result<Dataset> {
        let views = self.steps.last().map_or_else(Vec::new, |step| step.view_sizes());
        Ok(train.with_features(x)?.with_views(&views))
    }

    /// True if samples are left as they are.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    fn push(&mut self, spec: Arc<dyn StepSpec>, step: Box<dyn FittedStep>) {
        self.spec.push(spec);
        self.steps.push(step);
    }

    /// Takes raw samples through all steps; they must have [`Prep::n_features`] rows.
    pub fn apply(&self, x: impl View) -> Mat<f64> {
        let x = x.view();
        if self.is_empty() {
            return x.to_owned();
        }
        let mut buffers = Buffers::new();
        self.apply_in(x, &mut buffers);
        buffers.prepared
    }

    /// [`Prep::apply`] in memory at hand; there must be a step.
    pub(crate) fn apply_in<'a>(&self, x: MatRef<'_, f64>, buffers: &'a mut Buffers) -> MatRef<'a, f64> {
        let raw_norms = column_norms(x);
        for (i, step) in self.steps.iter().enumerate() {
            buffers.take_through(&**step, (i == 0).then_some(x), &raw_norms);
        }
        buffers.prepared.as_ref()
    }

    /// Maps patterns (columns) of the preprocessed space back to raw features, or `None` where a step has no way back.
    ///
    /// Patterns are directions: lengths mean nothing and means are not added. Of all raw patterns that `pca` maps to the
    /// same point it gives the shortest. Random projections and kernel maps have no useful way back; features that `standard` made zero
    /// come back as zero.
    pub fn back(&self, patterns: impl View) -> Option<Mat<f64>> {
        let patterns = patterns.view();
        self.steps.iter().rev().try_fold(patterns.to_owned(), |patterns, step| step.back(patterns))
    }

    /// All steps as part of an ONNX graph.
    pub fn export(&self, graph: &mut Graph, x: Tensor) -> Tensor {
        if self.steps.is_empty() {
            return x;
        }
        let energy = graph.energy(&x);
        let norm = graph.op("Sqrt", &[&energy]);
        let one = graph.scalar(1.0);
        let factor = graph.scalar(ZERO_NORM);
        let scale = graph.op("Min", &[&norm, &one]);
        let zero_below = graph.op("Mul", &[&scale, &factor]);
        self.steps.iter().fold(x, |x, step| step.export(graph, x, &zero_below))
    }

    /// Everything fitted, by name.
    pub fn parts(&self) -> Vec<(String, MatRef<'_, f64>)> {
        let steps = self.steps.iter().enumerate();
        steps
            .flat_map(|(i, step)| step.parts().into_iter().map(move |(name, part)| (part_name(i, &name), part)))
            .collect()
    }

    /// Puts everything fitted in.
    pub fn store(&self, parts: &mut Parts) {
        self.parts().into_iter().for_each(|(name, part)| parts.put(name, part));
    }

    /// Rebuilds what [`Prep::store`] put in; the parts may come from a hostile file.
    pub fn restore(spec: PrepSpec, n_features: usize, parts: &mut Parts) -> Result<Self> {
        Prep::restore_inner("", spec, n_features, parts)
    }

    /// The same where the names of all parts begin with `prefix`.
    fn restore_inner(prefix: &str, spec: PrepSpec, n_features: usize, parts: &mut Parts) -> Result<Self> {
        let mut prep = Prep::none(n_features);
        let mut n = n_features;
        for (i, spec) in spec.steps().iter().enumerate() {
            let step = spec.restore(n, &mut StepParts { prefix, step: i, parts })?;
            n = step.n_out(n)?;
            if n == 0 {
                return Err(Error::Data(format!(
                    "preprocessing step {} leaves no feature; train the model again",
                    i + 1
                )));
            }
            prep.push(spec.clone(), step);
        }
        Ok(prep)
    }
}

fn part_name(step: usize, name: &str) -> String {
    format!("prep.{step}.{name}")
}

/// The parts of one step in a model file.
struct StepParts<'a> {
    prefix: &'a str,
    step: usize,
    parts: &'a mut Parts,
}

impl StepParts<'_> {
    fn take(&mut self, name: &str) -> Result<Mat<f64>> {
        self.parts.take(&self.name(name))
    }

    fn name(&self, name: &str) -> String {
        format!("{}{}", self.prefix, part_name(self.step, name))
    }

    fn take_column(&mut self, name: &str, n: usize) -> Result<Mat<f64>> {
        self.parts.take_shaped(&self.name(name), n, 1)
    }

    /// Steps that are part of this one.
    fn take_prep(&mut self, name: &str, spec: PrepSpec, n_features: usize) -> Result<Prep> {
        Prep::restore_inner(&format!("{}.", self.name(name)), spec, n_features, self.parts)
    }
}

#[cfg(test)]
mod tests;
