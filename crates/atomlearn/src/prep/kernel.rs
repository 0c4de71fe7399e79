//! `kernel`: the feature map of [`crate::kernel`], which turns every method into its kernel form.

use super::affine::mismatch;
use super::partitioned::StepSums;
use super::spec::Arguments;
use super::steps::{FittedStep, Needs, StepInfo, StepSpec};
use super::{StepInput, StepParts};
use crate::export::{Graph, Tensor};
use crate::kernel::{KernelMap, KernelSpec};
use crate::{Error, Observer, Result};
use faer::{Mat, MatRef};
use std::fmt;
use std::sync::Arc;

pub(super) const KERNEL: StepInfo = StepInfo {
    name: "kernel",
    usage: "kernel:KERNEL:WIDTH[:LANDMARKS]",
    examples: &["kernel:rbf:auto"],
    doc: "a kernel map whose landmarks are training samples.",
    needs: Needs::Samples,
    parse,
};

#[derive(Debug)]
pub(super) struct KernelStep(pub(super) KernelSpec);

fn parse(arguments: &Arguments<'_>) -> Result<Arc<dyn StepSpec>> {
    if arguments.fields.is_empty() {
        return Err(arguments.bad("needs a kernel and its width, as in kernel:rbf:auto or kernel:poly:3"));
    }
    Ok(Arc::new(KernelStep(arguments.fields.join(":").parse()?)))
}

impl fmt::Display for KernelStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel:{}", self.0)
    }
}

impl StepSpec for KernelStep {
    fn info(&self) -> &'static StepInfo {
        &KERNEL
    }

    fn fit(&self, x: MatRef<'_, f64>, watch: &mut dyn Observer) -> Result<Box<dyn FittedStep>> {
        Ok(Box::new(KernelMap::fit(&self.0, x, watch)?))
    }

    fn fit_sums(&self, _: &StepSums<'_>, _: &mut dyn Observer) -> Result<Box<dyn FittedStep>> {
        Err(Error::Data(format!("preprocessing step `{self}` cannot be fitted from sums over the samples")))
    }

    fn restore(&self, _: usize, parts: &mut StepParts<'_>) -> Result<Box<dyn FittedStep>> {
        let gamma = parts.take("gamma")?;
        let landmarks = parts.take("landmarks")?;
        let root = parts.take("root")?;
        Ok(Box::new(KernelMap::restore(&self.0, gamma, landmarks, root)?))
    }
}

impl FittedStep for KernelMap {
    fn apply(&self, samples: &StepInput<'_>, out: &mut Mat<f64>) {
        *out = KernelMap::apply(self, samples.x);
    }

    fn n_out(&self, n_in: usize) -> Result<usize> {
        let rows = self.landmarks().nrows();
        if rows == n_in { Ok(self.root().ncols()) } else { Err(mismatch("landmarks", rows, n_in)) }
    }

    fn back(&self, _: Mat<f64>) -> Option<Mat<f64>> {
        None
    }

    fn export(&self, graph: &mut Graph, x: Tensor, _: &Tensor) -> Tensor {
        KernelMap::export(self, graph, &x)
    }

    fn parts(&self) -> Vec<(String, MatRef<'_, f64>)> {
        let parts = [("landmarks", self.landmarks()), ("root", self.root()), ("gamma", self.gamma())];
        parts.into_iter().map(|(name, part)| (name.to_string(), part.as_ref())).collect()
    }

    fn boxed(&self) -> Box<dyn FittedStep> {
        Box::new(self.clone())
    }
}
