//! `center` and `standard`, and the affine map that they share with the projections.

use super::partitioned::StepSums;
use super::steps::{FittedStep, Needs, StepInfo, StepSpec};
use super::{StepInput, StepParts};
use crate::export::{Graph, Tensor};
use crate::linalg::{column, column_major, mul, mul_into, wide};
use crate::pca::mean;
use crate::{Error, Observer, Result};
use faer::{Mat, MatRef};
use std::fmt;
use std::sync::Arc;

pub(super) const CENTER: StepInfo = StepInfo {
    name: "center",
    usage: "center",
    examples: &["center"],
    doc: "the mean of the training samples is taken off.",
    needs: Needs::Mean,
    parse: |arguments| arguments.none().map(|()| Arc::new(Center) as Arc<dyn StepSpec>),
};

pub(super) const STANDARD: StepInfo = StepInfo {
    name: "standard",
    usage: "standard",
    examples: &["standard"],
    doc: "every feature gets mean 0 and standard deviation 1, as measured on the training samples.",
    needs: Needs::Scatter,
    parse: |arguments| arguments.none().map(|()| Arc::new(Standard) as Arc<dyn StepSpec>),
};

#[derive(Debug)]
pub(super) struct Center;

impl fmt::Display for Center {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "center")
    }
}

impl StepSpec for Center {
    fn info(&self) -> &'static StepInfo {
        &CENTER
    }

    fn fit(&self, x: MatRef<'_, f64>, _: &mut dyn Observer) -> Result<Box<dyn FittedStep>> {
        Ok(Affine::shift(column_matrix(&mean(x))).boxed())
    }

    fn fit_sums(&self, sums: &StepSums<'_>, _: &mut dyn Observer) -> Result<Box<dyn FittedStep>> {
        Ok(Affine::shift(column_matrix(sums.mean)).boxed())
    }

    fn restore(&self, n: usize, parts: &mut StepParts<'_>) -> Result<Box<dyn FittedStep>> {
        Ok(Affine::shift(parts.take_column("shift", n)?).boxed())
    }
}

#[derive(Debug)]
pub(super) struct Standard;

impl fmt::Display for Standard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "standard")
    }
}

impl StepSpec for Standard {
    fn info(&self) -> &'static StepInfo {
        &STANDARD
    }

    fn fit(&self, x: MatRef<'_, f64>, watch: &mut dyn Observer) -> Result<Box<dyn FittedStep>> {
        let means = mean(x);
        let deviations: Vec<f64> = (0..x.nrows()).map(|i| deviation(x, i, means[i])).collect();
        Ok(standardized(&means, &deviations, watch))
    }

    fn fit_sums(&self, sums: &StepSums<'_>, watch: &mut dyn Observer) -> Result<Box<dyn FittedStep>> {
        let scatter = sums.scatter(self)?;
        let deviations: Vec<f64> = (0..scatter.nrows()).map(|i| (scatter[(i, i)] / sums.n).sqrt()).collect();
        Ok(standardized(sums.mean, &deviations, watch))
    }

    fn restore(&self, n: usize, parts: &mut StepParts<'_>) -> Result<Box<dyn FittedStep>> {
        let shift = parts.take_column("shift", n)?;
        let scale = parts.take_column("scale", n)?;
        Ok(Affine::scaled(shift, scale).boxed())
    }
}

/// Standard deviation of a feature. Differences are divided by the largest where their squares would overflow or vanish.
fn deviation(x: MatRef<'_, f64>, feature: usize, mean: f64) -> f64 {
    let variance = |unit: f64| {
        let square = |v: &f64| (v - mean) / unit * ((v - mean) / unit);
        x.row(feature).iter().map(square).sum::<f64>() / x.ncols() as f64
    };
    let plain = variance(1.0);
    if (1e-280..=f64::MAX).contains(&plain) {
        return plain.sqrt();
    }
    let largest = x.row(feature).iter().fold(0.0f64, |largest, v| largest.max((v - mean).abs()));
    if largest > 0.0 { largest * variance(largest).sqrt() } else { 0.0 }
}

fn standardized(means: &[f64], deviations: &[f64], watch: &mut dyn Observer) -> Box<dyn FittedStep> {
    // What differs in the last digit only differs by rounding, and would be blown up to noise.
    let scale = |(&d, &mean): (&f64, &f64)| if d > f64::EPSILON * mean.abs() { d.recip() } else { 0.0 };
    // Of the smallest numbers there are, not even the reciprocal is a number.
    let scales = deviations.iter().zip(means).map(scale).map(|s| if s.is_finite() { s } else { 0.0 });
    let scales: Vec<f64> = scales.collect();
    let constant = scales.iter().filter(|&&s| s == 0.0).count();
    if constant > 0 {
        watch.warn(&format!("{constant} features are constant to rounding; `standard` maps them to zero"));
    }
    Affine::scaled(column_matrix(means), column_matrix(&scales)).boxed()
}

pub(super) fn column_matrix(values: &[f64]) -> Mat<f64> {
    Mat::from_fn(values.len(), 1, |i, _| values[i])
}

/// `x -> scale * basis^T (x - shift)`, each part optional.
#[derive(Clone, Debug)]
pub(super) struct Affine {
    shift: Option<Mat<f64>>,
    scale: Option<Mat<f64>>,
    projection: Option<Projection>,
}

#[derive(Clone, Debug)]
struct Projection {
    basis: Mat<f64>,
    /// `basis^T shift`, taken off after the projection: this spares a shifted copy of the raw samples.
    offset: Option<Mat<f64>>,
    /// Whether the columns of the basis are orthonormal, so that its transpose is the way back.
    orthonormal: bool,
}

impl Affine {
    /// `x -> x - shift`.
    pub(super) fn shift(shift: Mat<f64>) -> Self {
        Affine { shift: Some(shift), scale: None, projection: None }
    }

    /// `x -> scale * (x - shift)`.
    pub(super) fn scaled(shift: Mat<f64>, scale: Mat<f64>) -> Self {
        Affine { scale: Some(scale), ..Affine::shift(shift) }
    }

    /// `x -> basis^T (x - shift)`; parts from a file may not fit together, [`FittedStep::n_out`] then refuses the step.
    pub(super) fn projection(shift: Option<Mat<f64>>, basis: Mat<f64>, orthonormal: bool) -> Self {
        let fitting = shift.as_ref().filter(|shift| shift.nrows() == basis.nrows());
        let offset = fitting.map(|shift| mul(basis.transpose(), shift));
        Affine { shift, scale: None, projection: Some(Projection { basis, offset, orthonormal }) }
    }

    fn basis(&self) -> Option<&Mat<f64>> {
        self.projection.as_ref().map(|projection| &projection.basis)
    }
}

impl FittedStep for Affine {
    fn apply(&self, samples: &StepInput<'_>, out: &mut Mat<f64>) {
        let offset = match &self.projection {
            Some(projection) => {
                mul_into(out, projection.basis.transpose(), samples.x);
                &projection.offset
            }
            None => {
                fill(out, samples.x, |_, x, y| y.copy_from_slice(x));
                &self.shift
            }
        };
        if let Some(offset) = offset {
            out.as_mut().col_iter_mut().for_each(|mut column| column -= offset.col(0));
        }
        if let Some(scale) = &self.scale {
            for column in out.as_mut().col_iter_mut() {
                column.iter_mut().zip(scale.col(0).iter()).for_each(|(v, s)| *v *= s);
            }
        }
    }

    fn n_out(&self, n_in: usize) -> Result<usize> {
        for (what, part) in self.parts() {
            if part.nrows() != n_in {
                return Err(mismatch(&what, part.nrows(), n_in));
            }
        }
        Ok(self.basis().map_or(n_in, Mat::ncols))
    }

    fn back(&self, mut patterns: Mat<f64>) -> Option<Mat<f64>> {
        if let Some(scale) = &self.scale {
            let undo = |v: &mut f64, s: f64| *v = if s == 0.0 { 0.0 } else { *v / s };
            for column in patterns.as_mut().col_iter_mut() {
                column.iter_mut().zip(scale.col(0).iter()).for_each(|(v, s)| undo(v, *s));
            }
        }
        match &self.projection {
            Some(projection) if !projection.orthonormal => None,
            Some(projection) => Some(mul(&projection.basis, &patterns)),
            None => Some(patterns),
        }
    }

    fn export(&self, graph: &mut Graph, mut x: Tensor, _: &Tensor) -> Tensor {
        if let Some(shift) = &self.shift {
            let shift = graph.row(shift.col(0).iter().copied());
            x = graph.op("Sub", &[&x, &shift]);
        }
        if let Some(basis) = self.basis() {
            x = graph.times(&x, basis);
        }
        if let Some(scale) = &self.scale {
            let scale = graph.row(scale.col(0).iter().copied());
            x = graph.op("Mul", &[&x, &scale]);
        }
        x
    }

    fn parts(&self) -> Vec<(String, MatRef<'_, f64>)> {
        let parts = [("shift", self.shift.as_ref()), ("basis", self.basis()), ("scale", self.scale.as_ref())];
        parts.into_iter().filter_map(|(name, part)| part.map(|part| (name.to_string(), part.as_ref()))).collect()
    }

    fn boxed(&self) -> Box<dyn FittedStep> {
        Box::new(self.clone())
    }
}

/// The error that a part of a step does not fit the samples that reach it.
pub(super) fn mismatch(what: &str, found: usize, n_in: usize) -> Error {
    Error::shape(format!("{what} of a preprocessing step"), format!("{n_in} rows"), found)
}

/// Makes every column of `y` by `make` from its number and the column of `x`.
pub(super) fn fill(y: &mut Mat<f64>, x: MatRef<'_, f64>, make: impl Fn(usize, &[f64], &mut [f64])) {
    let mut copy = None;
    let x = column_major(x, &mut copy);
    y.resize_with(x.nrows(), x.ncols(), |_, _| 0.0);
    wide!({
        for j in 0..x.ncols() {
            make(j, column(x, j), y.col_as_slice_mut(j));
        }
    });
}
