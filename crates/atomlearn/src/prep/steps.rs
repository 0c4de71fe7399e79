//! The table of all steps, and the two traits that a step implements: asked for, and fitted.

use super::spec::Arguments;
use super::{PrepSpec, StepInput, StepParts, affine, kernel, partitioned::StepSums, pca, random, unit, views};
use crate::export::{Graph, Tensor};
use crate::{Observer, Result};
use faer::{Mat, MatRef};
use std::fmt::{Debug, Display};
use std::sync::Arc;

/// A step as it is asked for. Its text, `Display`, is what a user may write and what the model file holds.
pub(super) trait StepSpec: Debug + Display + Send + Sync {
    /// Its row of [`STEPS`].
    fn info(&self) -> &'static StepInfo;

    /// Fits the step on training samples.
    fn fit(&self, x: MatRef<'_, f64>, watch: &mut dyn Observer) -> Result<Box<dyn FittedStep>>;

    /// Fits the step from those sums over the training samples that [`StepInfo::needs`] names.
    fn fit_sums(&self, sums: &StepSums<'_>, watch: &mut dyn Observer) -> Result<Box<dyn FittedStep>>;

    /// For a step that puts views side by side, the steps of each.
    fn views(&self) -> Option<Vec<&PrepSpec>> {
        None
    }

    /// Rebuilds the step, for samples of `n` features, from what [`FittedStep::parts`] gave. The parts may come from a hostile file;
    /// [`FittedStep::n_out`] is asked next.
    fn restore(&self, n: usize, parts: &mut StepParts<'_>) -> Result<Box<dyn FittedStep>>;
}

/// A fitted step.
pub(super) trait FittedStep: Debug + Send + Sync {
    /// The samples after this step; `out` is memory of any shape to put them in.
    fn apply(&self, samples: &StepInput<'_>, out: &mut Mat<f64>);

    /// Warns of training samples that the step could not help.
    fn warn_of(&self, prepared: MatRef<'_, f64>, watch: &mut dyn Observer) {
        let _ = (prepared, watch);
    }

    /// Number of features after the step, checked against those before it.
    fn n_out(&self, n_in: usize) -> Result<usize>;

    /// For a step that puts views side by side, the number of features of each.
    fn view_sizes(&self) -> Vec<usize> {
        Vec::new()
    }

    /// Directions (columns) after the step as directions before it, or `None` if there is no useful way back.
    fn back(&self, patterns: Mat<f64>) -> Option<Mat<f64>>;

    /// The step as part of an ONNX graph, samples in rows; samples no longer than `zero_below` count as zero.
    fn export(&self, graph: &mut Graph, x: Tensor, zero_below: &Tensor) -> Tensor;

    /// Everything fitted, by name.
    fn parts(&self) -> Vec<(String, MatRef<'_, f64>)>;

    /// A copy.
    fn boxed(&self) -> Box<dyn FittedStep>;
}

impl Clone for Box<dyn FittedStep> {
    fn clone(&self) -> Self {
        self.boxed()
    }
}

/// What a step must know of the training samples that reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// Their mean.
    Mean,
    /// Their mean and their scatter about it.
    Scatter,
    /// All of them at once: no sum over samples is enough, so the step cannot be fitted in partitions.
    Samples,
}

/// A kind of step, a row of [`STEPS`].
#[derive(Debug)]
pub struct StepInfo {
    /// Its name.
    pub name: &'static str,
    /// How it is written, parameters in capitals.
    pub usage: &'static str,
    /// Examples of it.
    pub examples: &'static [&'static str],
    /// What it does, half a sentence that ends with a full stop.
    pub doc: &'static str,
    /// What it must know of the training samples.
    pub needs: Needs,
    pub(super) parse: fn(&Arguments<'_>) -> Result<Arc<dyn StepSpec>>,
}

/// All steps.
pub const STEPS: &[StepInfo] = &[
    affine::CENTER,
    affine::STANDARD,
    pca::CENTERED,
    pca::UNCENTERED,
    random::RANDOM,
    kernel::KERNEL,
    unit::UNIT,
    views::VIEWS,
];

/// Examples of every step, and `none`.
pub fn examples() -> Vec<&'static str> {
    STEPS.iter().flat_map(|step| step.examples).copied().chain(["none"]).collect()
}

/// The table of all steps in Markdown, as the documentation shows it.
pub fn reference() -> String {
    let mut table =
        String::from("| step | for example | what it does | fitted on | in partitions |\n|---|---|---|---|---|\n");
    for step in STEPS {
        // A bar would end the cell.
        let code = |texts: &[&str]| {
            texts.iter().map(|text| format!("`{}`", text.replace('|', "\\|"))).collect::<Vec<_>>().join(", ")
        };
        let fitted_on = match step.needs {
            Needs::Nothing => "nothing",
            Needs::Mean => "the mean",
            Needs::Scatter => "mean and scatter",
            Needs::Samples => "all training samples",
        };
        let partitions = if step.needs == Needs::Samples { "no" } else { "yes" };
        let usage = code(&step.usage.split(" or ").collect::<Vec<_>>());
        let row = format!("| {usage} | {} | {} | {fitted_on} | {partitions} |\n", code(step.examples), step.doc);
        table.push_str(&row);
    }
    table
}
