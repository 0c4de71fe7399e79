//! Views: how samples are scaled before kernels see them.

use crate::export::{Graph, Value};
use crate::linalg::column_norms;
use crate::{Dataset, Error, Result};
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
}

impl ViewKind {
    const ALL: [ViewKind; 3] = [ViewKind::Unit, ViewKind::Standard, ViewKind::Given];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            ViewKind::Unit => "unit",
            ViewKind::Standard => "standard",
            ViewKind::Given => "given",
        }
    }
}

/// A view: how samples are scaled, and which of their features it sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewId {
    /// How samples are scaled.
    pub kind: ViewKind,
    /// The number, from 1, of the block of features that it sees, where data come in [blocks](crate::Dataset::views); 0 is all of them.
    pub block: u32,
}

impl ViewId {
    /// What people call it.
    pub fn name(self) -> String {
        match self.block {
            0 => self.kind.name().to_string(),
            block => format!("{} of view {block}", self.kind.name()),
        }
    }

    pub(super) fn number(self) -> f64 {
        f64::from(self.block) * ViewKind::ALL.len() as f64 + self.kind as usize as f64
    }

    pub(super) fn from_number(number: f64) -> Option<Self> {
        let kinds = ViewKind::ALL.len() as u64;
        let whole = (number >= 0.0 && number.fract() == 0.0 && number < MOST_BLOCKS).then_some(number as u64)?;
        let kind = ViewKind::ALL[(whole % kinds) as usize];
        Some(ViewId { kind, block: (whole / kinds) as u32 })
    }
}

/// Numbers of views in a file are below this.
const MOST_BLOCKS: f64 = 1e6;

/// Deviations below this part of a feature's magnitude are rounding: the feature is constant, and the view maps it to zero.
const CONSTANT: f64 = 1e-12;
/// The smallest deviation, of samples brought to magnitude one, whose inverse is safely finite.
const SMALLEST: f64 = 1e-290;

/// Samples that are brought into a view together, to spare memory.
const BLOCK: usize = 1024;

/// A fitted view: `(x / magnitude - shift) * scale`, or unit length. The scale of features that it does not see is zero.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct View {
    pub id: ViewId,
    /// A power of two near the largest value: squares of what is divided by it neither overflow nor vanish.
    magnitude: f64,
    shift: Vec<f64>,
    scale: Vec<f64>,
}

impl View {
    /// The views of these kinds: of all features, or, if they come in blocks, of every block, after all of them together as they are.
    pub fn fit_all(kinds: &[ViewKind], train: &Dataset) -> Vec<View> {
        let all = 0..train.n_features();
        let Some(blocks) = train.views() else {
            return kinds.iter().map(|&kind| View::fit(ViewId { kind, block: 0 }, all.clone(), train.x())).collect();
        };
        let together = View::fit(ViewId { kind: ViewKind::Given, block: 0 }, all, train.x());
        let of_block = |(b, seen): (usize, Range<usize>)| {
            let view = move |&kind: &ViewKind| View::fit(ViewId { kind, block: b as u32 + 1 }, seen.clone(), train.x());
            kinds.iter().map(view).collect::<Vec<_>>()
        };
        std::iter::once(together).chain(blocks.ranges().enumerate().flat_map(of_block)).collect()
    }

    /// A view that sees these features.
    pub fn fit(id: ViewId, seen: Range<usize>, x: MatRef<'_, f64>) -> Self {
        let m = x.nrows();
        let own = x.subrows(seen.start, seen.len());
        let mut view = View { id, magnitude: power_of_two(own.norm_max()), shift: vec![0.0; m], scale: vec![0.0; m] };
        for i in seen {
            view.scale[i] = 1.0;
            if id.kind == ViewKind::Standard {
                let values: Vec<f64> = x.row(i).iter().map(|v| v / view.magnitude).collect();
                (view.shift[i], view.scale[i]) = moments(&values);
            }
        }
        if id.kind != ViewKind::Unit {
            let blocks = (0..x.ncols()).step_by(BLOCK).map(|start| x.subcols(start, BLOCK.min(x.ncols() - start)));
            let energy: f64 = blocks.map(|block| view.apply(block).squared_norm_l2()).sum();
            let length = (energy / x.ncols() as f64).sqrt();
            let length = if length > 0.0 && length.is_finite() { length } else { 1.0 };
            view.scale.iter_mut().for_each(|scale| *scale /= length);
        }
        view
    }

    /// The samples in this view.
    pub fn apply(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        if self.id.kind != ViewKind::Unit {
            return Mat::from_fn(x.nrows(), x.ncols(), |i, j| match self.scale[i] {
                0.0 => 0.0,
                scale => (x[(i, j)] / self.magnitude - self.shift[i]) * scale,
            });
        }
        let seen = self.hides_any().then(|| Mat::from_fn(x.nrows(), x.ncols(), |i, j| self.seen(i, x[(i, j)])));
        let x = seen.as_ref().map_or(x, Mat::as_ref);
        let norms = column_norms(x);
        // A length that is a denormal number has few digits left; dividing twice keeps the result near one.
        let powers: Vec<f64> = norms.iter().map(|&norm| power_of_two(norm)).collect();
        Mat::from_fn(x.nrows(), x.ncols(), |i, j| {
            if norms[j] > 0.0 { (x[(i, j)] / powers[j]) / (norms[j] / powers[j]) } else { 0.0 }
        })
    }

    /// True if it does not see all features.
    fn hides_any(&self) -> bool {
        self.scale.contains(&0.0)
    }

    /// The value of a feature, if the view sees it.
    fn seen(&self, feature: usize, value: f64) -> f64 {
        if self.scale[feature] == 0.0 { 0.0 } else { value }
    }

    /// The view in an ONNX graph, samples in rows.
    pub fn export(&self, graph: &mut Graph, x: &Value) -> Value {
        if self.id.kind == ViewKind::Unit {
            let mut x = x.clone();
            if self.hides_any() {
                let mask = graph.row(self.scale.iter().copied());
                x = graph.op("Mul", &[&x, &mask]);
            }
            let x = &x;
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
        [self.id.number(), self.magnitude].into_iter().chain(self.shift.iter().chain(&self.scale).copied()).collect()
    }

    /// The counterpart of [`View::to_column`]; the values may come from a hostile file.
    pub fn from_column(column: &[f64]) -> Result<Self> {
        let id = ViewId::from_number(column[0]);
        let (Some(id), true) = (id, column[1] > 0.0) else {
            return Err(Error::Data("model part `views` does not describe a view".into()));
        };
        let m = (column.len() - 2) / 2;
        let shift = column[2..2 + m].to_vec();
        let scale = column[2 + m..].to_vec();
        Ok(View { id, magnitude: column[1], shift, scale })
    }
}

fn power_of_two(v: f64) -> f64 {
    if v > 0.0 && v.is_finite() { v.log2().floor().exp2() } else { 1.0 }
}

/// Mean and one over the standard deviation of a feature; zero for the latter if the feature is constant.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let farthest = values.iter().fold(0.0f64, |top, v| top.max((v - mean).abs()));
    let largest = values.iter().fold(0.0f64, |top, v| top.max(v.abs()));
    if farthest <= CONSTANT * largest || farthest < SMALLEST {
        return (mean, 0.0);
    }
    // In units of the largest deviation, so that those of small features do not vanish in their squares.
    let share = values.iter().map(|v| ((v - mean) / farthest).powi(2)).sum::<f64>() / n;
    (mean, 1.0 / (farthest * share.sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of all features.
    fn whole(kind: ViewKind, x: &Mat<f64>) -> View {
        View::fit(ViewId { kind, block: 0 }, 0..x.nrows(), x.as_ref())
    }

    fn samples(scale: f64) -> Mat<f64> {
        Mat::from_fn(3, 8, |i, j| scale * (((i * 5 + j * 7) % 11) as f64 - 4.0) * if i == 2 { 1e-8 } else { 1.0 })
    }

    #[test]
    fn views_have_the_lengths_they_promise_at_any_scale() {
        for scale in [1e-310, 1e-150, 1.0, 1e150, 1e300] {
            let x = samples(scale);
            let unit = whole(ViewKind::Unit, &x).apply(x.as_ref());
            assert!(column_norms(&unit).iter().all(|norm| (norm - 1.0).abs() < 1e-9), "{scale}");
            for kind in [ViewKind::Standard, ViewKind::Given] {
                let z = whole(kind, &x).apply(x.as_ref());
                assert!((z.squared_norm_l2() / 8.0 - 1.0).abs() < 1e-9, "{kind:?} {scale}");
            }
            // Every feature has the same share, however small it is.
            let z = whole(ViewKind::Standard, &x).apply(x.as_ref());
            for i in 0..3 {
                let sum: f64 = z.row(i).iter().sum();
                assert!(sum.abs() < 1e-4 && (z.row(i).squared_norm_l2() - 8.0 / 3.0).abs() < 1e-2, "{scale} {i}");
            }
        }
    }

    #[test]
    fn constant_features_and_zero_samples_become_zero() {
        let x = Mat::from_fn(2, 4, |i, j| if i == 0 { 0.1 } else { j as f64 });
        let view = whole(ViewKind::Standard, &x);
        let z = view.apply(faer::mat![[7.0], [1.0]].as_ref());
        assert_eq!(z[(0, 0)], 0.0);
        assert_eq!(whole(ViewKind::Unit, &x).apply(Mat::zeros(2, 1).as_ref()), Mat::<f64>::zeros(2, 1));
        assert_eq!(View::from_column(&view.to_column()).unwrap(), view);
        assert!(
            View::from_column(&[-1.0, 1.0, 0.0, 0.0]).is_err() && View::from_column(&[0.5, 1.0, 0.0, 0.0]).is_err()
        );
    }

    #[test]
    fn samples_of_unit_length_are_given_as_they_are() {
        let x = faer::mat![[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]];
        assert_eq!(whole(ViewKind::Given, &x).apply(x.as_ref()), x);
    }

    #[test]
    fn a_view_of_a_block_is_that_of_its_features_alone() {
        let x = samples(3.0);
        for kind in ViewKind::ALL {
            let part = View::fit(ViewId { kind, block: 2 }, 1..3, x.as_ref());
            let alone = x.subrows(1, 2).to_owned();
            let (seen, expected) = (part.apply(x.as_ref()), whole(kind, &alone).apply(alone.as_ref()));
            assert!(seen.subrows(0, 1).norm_max() == 0.0, "{kind:?}");
            assert!((seen.subrows(1, 2) - expected).norm_max() < 1e-14, "{kind:?}");
            let back = View::from_column(&part.to_column()).unwrap();
            assert_eq!((back.id.block, back.id.kind, &back), (2, kind, &part));
        }
    }
}
