//! Views: how samples are scaled before kernels see them.

use crate::export::{Graph, Tensor};
use crate::linalg::{self, column_norms};
use crate::prep::Prep;
use crate::rounds::{GaugeSums, Ranges};
use crate::{Error, Result};
use faer::{Mat, MatRef};
use std::ops::Range;

/// How a view scales samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ViewKind {
    /// Every sample divided by its length.
    Unit,
    /// Features standardised, then all samples divided by their root mean square length.
    Standard,
    /// Samples as they are, divided by their root mean square length: nothing changes after preprocessing by `unit`.
    Given,
    /// The same of one of several blocks of features alone, counted from 0: all other features are zero.
    Block(usize),
}

impl ViewKind {
    /// Its name; blocks are counted from 1.
    pub fn name(self) -> String {
        match self {
            ViewKind::Unit => "unit".into(),
            ViewKind::Standard => "standard".into(),
            ViewKind::Given => "given".into(),
            ViewKind::Block(block) => format!("view {}", block + 1),
        }
    }

    pub(super) fn number(self) -> f64 {
        match self {
            ViewKind::Unit => 0.0,
            ViewKind::Standard => 1.0,
            ViewKind::Given => 2.0,
            ViewKind::Block(block) => 3.0 + block as f64,
        }
    }

    /// The counterpart of [`ViewKind::number`]; the number may come from a hostile file.
    pub(super) fn from_number(number: f64) -> Option<Self> {
        let whole = (0.0..=MOST_BLOCKS).contains(&number) && number.fract() == 0.0;
        match whole.then_some(number as usize)? {
            0 => Some(ViewKind::Unit),
            1 => Some(ViewKind::Standard),
            2 => Some(ViewKind::Given),
            other => Some(ViewKind::Block(other - 3)),
        }
    }
}

/// No file has more blocks of features.
const MOST_BLOCKS: f64 = 1e6;

/// Deviations below this part of a feature's magnitude are rounding: the feature is constant, and the view maps it to zero.
const CONSTANT: f64 = 1e-12;
/// The smallest deviation, of samples brought to magnitude one, whose inverse is safely finite.
const SMALLEST: f64 = 1e-290;

/// Samples that are brought into a view together, to spare memory.
const BLOCK: usize = 1024;

/// A fitted view: `(x / magnitude - shift) * scale`, or unit length.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct View {
    pub kind: ViewKind,
    /// A power of two near the largest value: squares of what is divided by it neither overflow nor vanish.
    magnitude: f64,
    shift: Vec<f64>,
    scale: Vec<f64>,
}

impl View {
    pub fn fit(kind: ViewKind, x: MatRef<'_, f64>, weights: Option<&[f64]>) -> Self {
        let m = x.nrows();
        let mut view = View { kind, magnitude: power_of_two(x.norm_max()), shift: vec![0.0; m], scale: vec![1.0; m] };
        if kind == ViewKind::Standard {
            for i in 0..m {
                let values: Vec<f64> = x.row(i).iter().map(|v| v / view.magnitude).collect();
                (view.shift[i], view.scale[i]) = moments(&values, weights);
            }
        }
        if kind == ViewKind::Unit { view } else { view.of_mean_length_one(x, weights) }
    }

    /// The view of one block of features alone.
    pub fn of_block(block: usize, features: Range<usize>, x: MatRef<'_, f64>, weights: Option<&[f64]>) -> Self {
        let own = x.subrows(features.start, features.len());
        let inside = |i: usize| f64::from(u8::from(features.contains(&i)));
        let view = View {
            kind: ViewKind::Block(block),
            magnitude: power_of_two(own.norm_max()),
            shift: vec![0.0; x.nrows()],
            scale: (0..x.nrows()).map(inside).collect(),
        };
        view.of_mean_length_one(x, weights)
    }

    /// The view with its samples divided by their root mean square length.
    fn of_mean_length_one(mut self, x: MatRef<'_, f64>, weights: Option<&[f64]>) -> Self {
        let starts = (0..x.ncols()).step_by(BLOCK);
        let energy: f64 = starts
            .map(|start| {
                let block = self.apply(x.subcols(start, BLOCK.min(x.ncols() - start)));
                let Some(weights) = weights else { return block.squared_norm_l2() };
                block.col_iter().zip(&weights[start..]).map(|(x, weight)| weight * x.squared_norm_l2()).sum()
            })
            .sum();
        let length = (energy / total(x.ncols(), weights)).sqrt();
        let length = if length > 0.0 && length.is_finite() { length } else { 1.0 };
        self.scale.iter_mut().for_each(|scale| *scale /= length);
        self
    }

    /// The same from how the features spread.
    pub fn of(kind: ViewKind, spread: &Spread) -> Self {
        let m = spread.features.len();
        let largest = spread.features.iter().fold(0.0f64, |top, feature| top.max(feature.largest));
        let mut view = View { kind, magnitude: power_of_two(largest), shift: vec![0.0; m], scale: vec![1.0; m] };
        if kind == ViewKind::Unit {
            return view;
        }
        let mut energy = 0.0;
        for (i, feature) in spread.features.iter().enumerate() {
            let &Feature { mean, variance, largest, farthest } = feature;
            if kind == ViewKind::Given {
                energy += (variance + mean * mean) / view.magnitude / view.magnitude;
                continue;
            }
            view.shift[i] = mean / view.magnitude;
            let far = farthest / view.magnitude;
            view.scale[i] = if farthest <= CONSTANT * largest || far < SMALLEST || variance <= 0.0 {
                0.0
            } else {
                view.magnitude / variance.sqrt()
            };
            energy += f64::from(u8::from(view.scale[i] > 0.0));
        }
        let length = energy.sqrt();
        let length = if length > 0.0 && length.is_finite() { length } else { 1.0 };
        view.scale.iter_mut().for_each(|scale| *scale /= length);
        view
    }

    /// The preprocessing whose samples are those of `prep` in this view.
    pub fn after(&self, prep: &Prep) -> Prep {
        if self.kind == ViewKind::Unit {
            return prep.then_unit();
        }
        let shift: Vec<f64> = self.shift.iter().map(|shift| shift * self.magnitude).collect();
        let scale: Vec<f64> = self.scale.iter().map(|scale| scale / self.magnitude).collect();
        prep.then_scaled(&shift, &scale)
    }

    /// The samples in this view.
    pub fn apply(&self, x: impl linalg::View) -> Mat<f64> {
        let x = x.view();
        if self.kind != ViewKind::Unit {
            return Mat::from_fn(x.nrows(), x.ncols(), |i, j| {
                (x[(i, j)] / self.magnitude - self.shift[i]) * self.scale[i]
            });
        }
        let norms = column_norms(x);
        // A length that is a denormal number has few digits left; dividing twice keeps the result near one.
        let powers: Vec<f64> = norms.iter().map(|&norm| power_of_two(norm)).collect();
        Mat::from_fn(x.nrows(), x.ncols(), |i, j| {
            if norms[j] > 0.0 { (x[(i, j)] / powers[j]) / (norms[j] / powers[j]) } else { 0.0 }
        })
    }

    /// The view in an ONNX graph, samples in rows.
    pub fn export(&self, graph: &mut Graph, x: &Tensor) -> Tensor {
        if self.kind == ViewKind::Unit {
            let energy = graph.energy(x);
            let tiny = graph.scalar(f64::MIN_POSITIVE);
            let norm = graph.op("Sqrt", &[&energy]);
            let norm = graph.op("Max", &[&norm, &tiny]);
            return graph.op("Div", &[x, &norm]);
        }
        let magnitude = graph.scalar(self.magnitude);
        let shift = graph.row(self.shift.iter().copied());
        let scale = graph.row(self.scale.iter().copied());
        let x = graph.op("Div", &[x, &magnitude]);
        let x = graph.op("Sub", &[&x, &shift]);
        graph.op("Mul", &[&x, &scale])
    }

    /// Everything as a column of a model part: kind, magnitude, shift, scale.
    pub fn to_column(&self) -> Vec<f64> {
        [self.kind.number(), self.magnitude].into_iter().chain(self.shift.iter().chain(&self.scale).copied()).collect()
    }

    /// The counterpart of [`View::to_column`]; the values may come from a hostile file.
    pub fn from_column(column: &[f64]) -> Result<Self> {
        let kind = ViewKind::from_number(column[0]);
        let (Some(kind), true) = (kind, column[1] > 0.0) else {
            return Err(Error::Data("model part `views` does not describe a view".into()));
        };
        let m = (column.len() - 2) / 2;
        let shift = column[2..2 + m].to_vec();
        let scale = column[2 + m..].to_vec();
        Ok(View { kind, magnitude: column[1], shift, scale })
    }
}

/// How features spread, from sums over samples that are never together.
pub(super) struct Spread {
    features: Vec<Feature>,
}

struct Feature {
    mean: f64,
    variance: f64,
    /// The largest absolute value.
    largest: f64,
    /// The largest distance to the mean.
    farthest: f64,
}

impl Spread {
    /// From sums of `n` samples about `centre`.
    pub fn new(ranges: &Ranges, center: &Mat<f64>, gauge: &GaugeSums, n: f64) -> Self {
        let feature = |i: usize| {
            let low = ranges.low[(i, 0)];
            let high = ranges.high[(i, 0)];
            // What rounding put between the centre and the mean.
            let rest = gauge.rest[(i, 0)] / n;
            let mean = center[(i, 0)] + rest;
            let variance = gauge.squares[(i, 0)] / n - rest * rest;
            Feature { mean, variance, largest: low.abs().max(high.abs()), farthest: (mean - low).max(high - mean) }
        };
        Spread { features: (0..center.nrows()).map(feature).collect() }
    }
}

fn power_of_two(v: f64) -> f64 {
    if v > 0.0 && v.is_finite() { v.log2().floor().exp2() } else { 1.0 }
}

/// The number of samples, or the sum of their weights.
fn total(n: usize, weights: Option<&[f64]>) -> f64 {
    weights.map_or(n as f64, |weights| weights.iter().sum())
}

/// Mean and one over the standard deviation of a feature; zero for the latter if the feature is constant.
fn moments(values: &[f64], weights: Option<&[f64]>) -> (f64, f64) {
    let n = total(values.len(), weights);
    let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
    let mean = values.iter().enumerate().map(|(i, v)| weight(i) * v).sum::<f64>() / n;
    let farthest = values.iter().fold(0.0f64, |top, v| top.max((v - mean).abs()));
    let largest = values.iter().fold(0.0f64, |top, v| top.max(v.abs()));
    if farthest <= CONSTANT * largest || farthest < SMALLEST {
        return (mean, 0.0);
    }
    // In units of the largest deviation, so that those of small features do not vanish in their squares.
    let square = |(i, v): (usize, &f64)| weight(i) * ((v - mean) / farthest).powi(2);
    let share = values.iter().enumerate().map(square).sum::<f64>() / n;
    (mean, 1.0 / (farthest * share.sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(scale: f64) -> Mat<f64> {
        Mat::from_fn(3, 8, |i, j| scale * (((i * 5 + j * 7) % 11) as f64 - 4.0) * if i == 2 { 1e-8 } else { 1.0 })
    }

    #[test]
    fn views_have_the_lengths_they_promise_at_any_scale() {
        for scale in [1e-310, 1e-150, 1.0, 1e150, 1e300] {
            let x = samples(scale);
            let unit = View::fit(ViewKind::Unit, x.as_ref(), None).apply(x.as_ref());
            assert!(column_norms(&unit).iter().all(|norm| (norm - 1.0).abs() < 1e-9), "{scale}");
            for kind in [ViewKind::Standard, ViewKind::Given] {
                let z = View::fit(kind, x.as_ref(), None).apply(x.as_ref());
                assert!((z.squared_norm_l2() / 8.0 - 1.0).abs() < 1e-9, "{kind:?} {scale}");
            }
            // Every feature has the same share, however small it is.
            let z = View::fit(ViewKind::Standard, x.as_ref(), None).apply(x.as_ref());
            for i in 0..3 {
                let sum: f64 = z.row(i).iter().sum();
                assert!(sum.abs() < 1e-4 && (z.row(i).squared_norm_l2() - 8.0 / 3.0).abs() < 1e-2, "{scale} {i}");
            }
        }
    }

    #[test]
    fn constant_features_and_zero_samples_become_zero() {
        let x = Mat::from_fn(2, 4, |i, j| if i == 0 { 0.1 } else { j as f64 });
        let view = View::fit(ViewKind::Standard, x.as_ref(), None);
        let z = view.apply(faer::mat![[7.0], [1.0]].as_ref());
        assert_eq!(z[(0, 0)], 0.0);
        assert_eq!(
            View::fit(ViewKind::Unit, x.as_ref(), None).apply(Mat::zeros(2, 1).as_ref()),
            Mat::<f64>::zeros(2, 1)
        );
        assert_eq!(View::from_column(&view.to_column()).unwrap(), view);
        assert!(View::from_column(&[7.5, 1.0, 0.0, 0.0]).is_err());
    }

    #[test]
    fn samples_of_unit_length_are_given_as_they_are() {
        let x = faer::mat![[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]];
        assert_eq!(View::fit(ViewKind::Given, x.as_ref(), None).apply(x.as_ref()), x);
    }
}
