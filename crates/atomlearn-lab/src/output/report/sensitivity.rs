//! Accuracy against one parameter.

use super::panel::{Layout, Panel, Point, Series, panel};
use crate::output::tables::percent;
use crate::run::sweep::Sweep;
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

impl From<&Sweep> for Sensitivity {
    /// Values that are no numbers (words, `auto`) have no place on an axis and are left out.
    fn from(sweep: &Sweep) -> Self {
        let mut values: Vec<(f64, &serde_json::Value)> =
            sweep.values().into_iter().filter_map(|value| Some((value.as_f64()?, value))).collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let curve = |rule: &str| {
            let at = |value: &serde_json::Value| sweep.results.iter().find(|r| r.rule == rule && r.value == *value);
            let found: Vec<_> = values.iter().map(|(_, value)| at(value)).collect();
            RuleCurve {
                rule: rule.into(),
                mean: found.iter().map(|result| result.map_or(f64::NAN, |result| result.mean)).collect(),
                ci95: found.iter().map(|result| result.and_then(|result| result.ci95)).collect(),
            }
        };
        Sensitivity {
            method: sweep.method.clone(),
            parameter: sweep.param.clone(),
            data: sweep.data.path.clone(),
            rules: sweep.rules().into_iter().map(curve).collect(),
            values: values.into_iter().map(|(number, _)| number).collect(),
        }
    }
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
