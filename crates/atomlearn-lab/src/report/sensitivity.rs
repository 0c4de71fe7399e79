//! Accuracy against one parameter.

use super::panel::{Layout, Panel, Point, Series, panel};
use crate::tables::percent;
use serde::Serialize;

/// Accuracies over the values of one parameter, all others fixed.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// The method.
    pub method: String,
    /// The parameter.
    pub parameter: String,
    /// The data, as a reader should see them named.
    pub data: String,
    /// Values of the parameter, ascending.
    pub values: Vec<f64>,
    /// One curve per decision rule.
    pub rules: Vec<RuleCurve>,
}

/// The accuracies of one rule.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleCurve {
    /// The rule.
    pub rule: String,
    /// Mean accuracy at every value, between 0 and 1; NaN where there is none.
    pub mean: Vec<f64>,
    /// 95 % interval at every value.
    pub ci95: Vec<Option<[f64; 2]>>,
}

/// A sensitivity, ready for the template.
#[derive(Serialize)]
pub struct SensitivityPlot {
    title: String,
    panel: Panel,
    table: Table,
}

/// The numbers behind the plot.
#[derive(Serialize)]
struct Table {
    parameter: String,
    rules: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
}

/// The plot, if there is enough to draw; lists of unequal length are cut to the shortest.
pub fn sensitivity(id: String, sweep: &Sensitivity) -> Option<SensitivityPlot> {
    let series = |curve: &RuleCurve| {
        let intervals = curve.ci95.iter().copied().chain(std::iter::repeat(None));
        let point = |((&x, &y), interval): ((&f64, &f64), Option<[f64; 2]>)| Point {
            x,
            y: 100.0 * y,
            interval: interval.filter(|i| i.iter().all(|v| v.is_finite())).map(|i| i.map(|v| 100.0 * v)),
        };
        let points = sweep.values.iter().zip(&curve.mean).zip(intervals).map(point).collect();
        Series { label: Some(curve.rule.clone()), points }
    };
    let layout = Layout {
        id,
        title: "Mean accuracy %",
        x_title: &sweep.parameter,
        x_whole: false,
        percent: true,
        text: |value| percent(value / 100.0) + " %",
    };
    let cell = |curve: &RuleCurve, i: usize| match curve.mean.get(i) {
        Some(mean) if mean.is_finite() => percent(*mean),
        _ => "–".into(),
    };
    let row = |(i, value): (usize, &f64)| (value.to_string(), sweep.rules.iter().map(|curve| cell(curve, i)).collect());
    Some(SensitivityPlot {
        title: format!("{} on {}", sweep.method, sweep.data),
        panel: panel(layout, sweep.rules.iter().map(series).collect())?,
        table: Table {
            parameter: sweep.parameter.clone(),
            rules: sweep.rules.iter().map(|curve| curve.rule.clone()).collect(),
            rows: sweep.values.iter().enumerate().map(row).collect(),
        },
    })
}
