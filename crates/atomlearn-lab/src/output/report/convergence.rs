//! How training went: the objective, its terms, and the test accuracy of every rule after each iteration.

use super::axes::brief;
use super::panel::{Layout, Panel, Point, Series, panel};
use crate::output::tables::percent;
use crate::records::record::Record;
use serde::Serialize;

/// The plots of one method.
#[derive(Serialize)]
pub struct Convergence {
    method: String,
    panels: Vec<Panel>,
}

/// Plots for every method that iterates, from its records on all splits.
pub fn convergence(id: usize, series: &[Vec<&Record>]) -> Vec<Convergence> {
    let plots = |(s, records): (usize, &Vec<&Record>)| {
        let id = |what: &str| format!("{what}{id}-{s}");
        let panels = [objective(id("objective"), records), terms(id("terms"), records), rules(id("rules"), records)];
        let panels: Vec<Panel> = panels.into_iter().flatten().collect();
        (!panels.is_empty()).then(|| Convergence { method: records[0].name(), panels })
    };
    series.iter().enumerate().filter_map(plots).collect()
}

fn layout(id: String, title: &str, percent: bool, text: fn(f64) -> String) -> Layout<'_> {
    Layout { id, title, x_title: "iteration", x_whole: true, percent, text }
}

/// One line per split; the first is drawn strongly.
fn objective(id: String, records: &[&Record]) -> Option<Panel> {
    let line = |(i, record): (usize, &&Record)| Series {
        label: (i == 0).then(|| "first split".into()),
        points: record.trace.iter().filter_map(|step| Some(Point::new(step.iter as f64, step.objective?))).collect(),
    };
    let title = if records.len() > 1 { "Objective, one line per split" } else { "Objective" };
    panel(layout(id, title, false, brief), records.iter().enumerate().map(line).collect())
}

/// The terms of the objective on the first split, where there are several.
fn terms(id: String, records: &[&Record]) -> Option<Panel> {
    let mut lines: Vec<Series> = Vec::new();
    for step in &records[0].trace {
        for (name, value) in &step.terms {
            let point = Point::new(step.iter as f64, *value);
            match lines.iter().position(|line| line.label.as_ref() == Some(name)) {
                Some(place) => lines[place].points.push(point),
                None if lines.len() < 8 => lines.push(Series { label: Some(name.clone()), points: vec![point] }),
                None => {}
            }
        }
    }
    if lines.len() < 2 {
        return None;
    }
    panel(layout(id, "Its terms, first split", false, brief), lines)
}

/// Accuracy of every rule on the test samples of the split that was looked into.
fn rules(id: String, records: &[&Record]) -> Option<Panel> {
    let (record, inside) = records.iter().find_map(|record| Some((record, record.inside.as_ref()?)))?;
    let line = |(r, outcome): (usize, &crate::records::record::RuleOutcome)| {
        let point =
            |p: &crate::records::diagnostics::Progress| Some(Point::new(p.iter as f64, 100.0 * p.accuracy.get(r)?));
        Series { label: Some(outcome.rule.clone()), points: inside.progress.iter().filter_map(point).collect() }
    };
    let text = |value: f64| percent(value / 100.0) + " %";
    let title = "Test accuracy % by rule, first split";
    panel(layout(id, title, true, text), record.rules.iter().enumerate().map(line).collect())
}
