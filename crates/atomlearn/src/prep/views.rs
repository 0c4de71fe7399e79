//! `views`: feature blocks, each prepared by steps of its own, brought to one size and put side by side.
//!
//! ```text
//! views(pixels@1-1024=pca:98%,unit | deep@1025-2304=unit)
//! ```
//!
//! Columns are counted from 1. Every view goes through its steps and is divided by its root mean square length on the training samples, so
//! that all have the same say however many features they have. Columns of no view are left out.

use super::partitioned::StepSums;
use super::spec::Arguments;
use super::steps::{FittedStep, Needs, StepInfo, StepSpec};
use super::{Prep, PrepSpec, StepInput, StepParts};
use crate::export::{Graph, Tensor};
use crate::{Error, Observer, Result};
use faer::{Mat, MatRef};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub(super) const VIEWS: StepInfo = StepInfo {
    name: "views",
    usage: "views(COLUMNS=STEPS|COLUMNS=STEPS)",
    // None: its columns are those of some data, so that it stands in no list of what can be typed as it is.
    examples: &[],
    doc: "blocks of features, counted from 1, are prepared each by its own steps, divided by their root mean square length and put side by side.",
    needs: Needs::Samples,
    parse: |arguments| Ok(Arc::new(parse(arguments)?)),
};

/// One block of features.
#[derive(Clone, Debug)]
struct ViewSpec {
    name: Option<String>,
    /// Ranges of columns, counted from 0, in the order in which they were given.
    columns: Vec<Range<usize>>,
    steps: PrepSpec,
}

#[derive(Clone, Debug)]
struct ViewsSpec(Vec<ViewSpec>);

/// The text of a step for views of these names, columns (as ranges from 0) and steps; to be read by `parse`.
pub fn views_text<'a>(views: impl IntoIterator<Item = (&'a str, &'a [Range<usize>], &'a str)>) -> String {
    let view = |(name, columns, steps): (&str, &[Range<usize>], &str)| format!("{name}@{}={steps}", written(columns));
    format!("views({})", views.into_iter().map(view).collect::<Vec<_>>().join("|"))
}

fn written(columns: &[Range<usize>]) -> String {
    let range = |range: &Range<usize>| match range.len() {
        1 => range.end.to_string(),
        _ => format!("{}-{}", range.start + 1, range.end),
    };
    columns.iter().map(range).collect::<Vec<_>>().join("+")
}

fn parse(arguments: &Arguments<'_>) -> Result<ViewsSpec> {
    let bad = |why: String| arguments.bad(&why);
    let inside = arguments.text().strip_prefix("views(").and_then(|rest| rest.strip_suffix(')'));
    let inside = inside.ok_or_else(|| bad("is written as in views(1-32=unit|33-64=unit)".into()))?;
    let mut views: Vec<ViewSpec> = Vec::new();
    for text in inside.split('|').map(str::trim) {
        let (head, steps) = text.split_once('=').ok_or_else(|| bad(format!("`{text}` is not COLUMNS=STEPS")))?;
        let (name, columns) = match head.trim().split_once('@') {
            Some((name, columns)) => (Some(name.trim().to_string()), columns),
            None => (None, head.trim()),
        };
        let plain = |name: &String| !name.is_empty() && !name.contains(['(', ')', ',', ':']);
        if name.as_ref().is_some_and(|name| !plain(name) || views.iter().any(|view| view.name.as_ref() == Some(name))) {
            return Err(bad(format!("the view name in `{head}` is there twice, empty, or holds one of ( ) , :")));
        }
        let columns = columns.split('+').map(|text| range(text.trim()).ok_or(text));
        let columns: Vec<Range<usize>> = columns
            .collect::<std::result::Result<_, _>>()
            .map_err(|text| bad(format!("`{text}` is not a range of columns such as 1-32, counted from 1")))?;
        let taken = views.iter().flat_map(|view| &view.columns);
        let mut ranges: Vec<&Range<usize>> = taken.chain(&columns).collect();
        ranges.sort_by_key(|range| range.start);
        if let Some(pair) = ranges.windows(2).find(|pair| pair[0].end > pair[1].start) {
            return Err(bad(format!("column {} is in two places; every column is in one view", pair[1].start + 1)));
        }
        let steps: PrepSpec = steps.parse()?;
        if steps.steps().iter().any(|step| step.info().name == VIEWS.name) {
            return Err(bad("views cannot hold views".into()));
        }
        views.push(ViewSpec { name, columns, steps });
    }
    Ok(ViewsSpec(views))
}

/// `1-32` or `7`, counted from 1.
fn range(text: &str) -> Option<Range<usize>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first > 0 && first <= last).then(|| first - 1..last)
}

impl fmt::Display for ViewsSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let view = |view: &ViewSpec| {
            let name = view.name.as_ref().map_or(String::new(), |name| format!("{name}@"));
            format!("{name}{}={}", written(&view.columns), view.steps)
        };
        write!(f, "views({})", self.0.iter().map(view).collect::<Vec<_>>().join("|"))
    }
}

impl ViewSpec {
    fn n_features(&self) -> usize {
        self.columns.iter().map(Range::len).sum()
    }

    /// Its features of these samples.
    fn of(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        let mut own = Mat::zeros(self.n_features(), x.ncols());
        let mut start = 0;
        for range in &self.columns {
            own.subrows_mut(start, range.len()).copy_from(x.subrows(range.start, range.len()));
            start += range.len();
        }
        own
    }

    fn called(&self, place: usize) -> String {
        self.name.clone().unwrap_or_else(|| format!("view {}", place + 1))
    }
}

impl ViewsSpec {
    /// Every column that a view asks for must be there.
    fn check(&self, n: usize) -> Result<()> {
        for (v, view) in self.0.iter().enumerate() {
            let last = view.columns.iter().map(|range| range.end).max().unwrap_or(0);
            if last > n {
                return Err(Error::Data(format!(
                    "{} of the preprocessing `views` needs column {last}, but samples have {n} features",
                    view.called(v)
                )));
            }
        }
        Ok(())
    }
}

impl StepSpec for ViewsSpec {
    fn info(&self) -> &'static StepInfo {
        &VIEWS
    }

    fn fit(&self, x: MatRef<'_, f64>, watch: &mut dyn Observer) -> Result<Box<dyn FittedStep>> {
        self.check(x.nrows())?;
        let mut views = Vec::with_capacity(self.0.len());
        let mut scales = Mat::zeros(self.0.len(), 1);
        for (v, view) in self.0.iter().enumerate() {
            let (prep, prepared) = view.steps.fit(view.of(x), watch)?;
            let length = (prepared.squared_norm_l2() / prepared.ncols() as f64).sqrt();
            if !length.is_finite() {
                let why = format!(
                    "{} has values too large to be squared; give it the step `unit` or `standard`",
                    view.called(v)
                );
                return Err(Error::numeric("views", why));
            }
            if length == 0.0 {
                watch.warn(&format!("{} is zero in all training samples; it carries no information", view.called(v)));
            }
            scales[(v, 0)] = if length > 0.0 { 1.0 / length } else { 0.0 };
            views.push(FittedView { view: view.clone(), prep });
        }
        Ok(FittedViews { views, scales }.boxed())
    }

    fn fit_sums(&self, _: &StepSums<'_>, _: &mut dyn Observer) -> Result<Box<dyn FittedStep>> {
        Err(Error::Data("`views` needs all training samples at once".into()))
    }

    fn views(&self) -> Option<Vec<&PrepSpec>> {
        Some(self.0.iter().map(|view| &view.steps).collect())
    }

    fn restore(&self, n: usize, parts: &mut StepParts<'_>) -> Result<Box<dyn FittedStep>> {
        self.check(n)?;
        let scales = parts.take_column("scales", self.0.len())?;
        if scales.col(0).iter().any(|scale| !(*scale >= 0.0 && scale.is_finite())) {
            return Err(Error::Data("the scale of a view is no positive number; train the model again".into()));
        }
        let fitted = |(v, view): (usize, &ViewSpec)| -> Result<FittedView> {
            let prep = parts.take_prep(&inner(v), view.steps.clone(), view.n_features())?;
            Ok(FittedView { view: view.clone(), prep })
        };
        let views = self.0.iter().enumerate().map(fitted).collect::<Result<_>>()?;
        Ok(FittedViews { views, scales }.boxed())
    }
}

/// What the parts of a view begin with.
fn inner(v: usize) -> String {
    format!("view{v}")
}

#[derive(Clone, Debug)]
struct FittedView {
    view: ViewSpec,
    prep: Prep,
}

#[derive(Clone, Debug)]
struct FittedViews {
    views: Vec<FittedView>,
    /// One over the root mean square length of each, in a column.
    scales: Mat<f64>,
}

impl FittedStep for FittedViews {
    fn view_sizes(&self) -> Vec<usize> {
        self.views.iter().map(|fitted| fitted.prep.n_out().unwrap_or(0)).collect()
    }

    fn apply(&self, samples: &StepInput<'_>, out: &mut Mat<f64>) {
        let sizes = self.view_sizes();
        out.resize_with(sizes.iter().sum(), samples.x.ncols(), |_, _| 0.0);
        let mut start = 0;
        for ((fitted, size), scale) in self.views.iter().zip(sizes).zip(self.scales.col(0).iter()) {
            let prepared = fitted.prep.apply(fitted.view.of(samples.x));
            out.subrows_mut(start, size).copy_from(&(faer::Scale(*scale) * prepared));
            start += size;
        }
    }

    fn n_out(&self, n_in: usize) -> Result<usize> {
        ViewsSpec(self.views.iter().map(|fitted| fitted.view.clone()).collect()).check(n_in)?;
        self.views.iter().try_fold(0, |sum, fitted| Ok(sum + fitted.prep.n_out()?))
    }

    fn back(&self, patterns: Mat<f64>) -> Option<Mat<f64>> {
        let last = self.views.iter().flat_map(|fitted| &fitted.view.columns).map(|range| range.end).max()?;
        let mut all = Mat::zeros(last, patterns.ncols());
        let mut start = 0;
        for (fitted, size) in self.views.iter().zip(self.view_sizes()) {
            let own = fitted.prep.back(patterns.subrows(start, size))?;
            start += size;
            let mut row = 0;
            for range in &fitted.view.columns {
                all.subrows_mut(range.start, range.len()).copy_from(own.subrows(row, range.len()));
                row += range.len();
            }
        }
        Some(all)
    }

    fn export(&self, graph: &mut Graph, x: Tensor, _: &Tensor) -> Tensor {
        let mut views = Vec::with_capacity(self.views.len());
        for (fitted, scale) in self.views.iter().zip(self.scales.col(0).iter()) {
            let columns: Vec<i64> =
                fitted.view.columns.iter().flat_map(|range| range.clone().map(|c| c as i64)).collect();
            let columns = graph.integers(&columns);
            let own = graph.op_with("Gather", &[&x, &columns], &[("axis", 1)]);
            let prepared = fitted.prep.export(graph, own);
            let scale = graph.scalar(*scale);
            views.push(graph.op("Mul", &[&prepared, &scale]));
        }
        graph.op_with("Concat", &views.iter().collect::<Vec<_>>(), &[("axis", 1)])
    }

    fn parts(&self) -> Vec<(String, MatRef<'_, f64>)> {
        let mut parts = vec![("scales".to_string(), self.scales.as_ref())];
        for (v, fitted) in self.views.iter().enumerate() {
            parts.extend(fitted.prep.parts().into_iter().map(|(name, part)| (format!("{}.{name}", inner(v)), part)));
        }
        parts
    }

    fn boxed(&self) -> Box<dyn FittedStep> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests;
