//! How honest probabilities are, and whether more training samples would help.

use super::panel::{Layout, Panel, Point, Series, panel};
use crate::output::tables::percent;
use crate::records::record::Record;
use crate::records::results::CurvePoint;
use crate::stats::metrics::{BINS, CalibrationBin};

/// Most methods in one drawing.
const MOST: usize = 6;

fn layout<'a>(id: String, title: &'a str, x_title: &'a str, x_whole: bool) -> Layout<'a> {
    Layout { id, title, x_title, x_whole, percent: true, text: |value| percent(value / 100.0) + " %" }
}

/// How often predictions of each probability were right, over all splits, for every method that has probabilities.
/// Also which of them cannot be drawn, in a sentence.
pub fn calibration(id: usize, series: &[Vec<&Record>]) -> Option<(Panel, String)> {
    let line = |records: &Vec<&Record>| {
        let mut bins: Vec<(usize, f64, usize)> = vec![(0, 0.0, 0); BINS];
        for record in records {
            let outcome = record.rules.iter().find(|outcome| outcome.rule == record.rule)?;
            for &CalibrationBin { bin, samples, confidence, right } in &outcome.probability.as_ref()?.bins {
                let sums = bins.get_mut(bin)?;
                *sums = (sums.0 + samples, sums.1 + confidence, sums.2 + right);
            }
        }
        // A share of a handful of samples says nothing.
        let told = bins.iter().filter(|(samples, ..)| *samples >= 10);
        let point = |&(samples, confidence, right): &(usize, f64, usize)| {
            Point::new(100.0 * confidence / samples as f64, 100.0 * right as f64 / samples as f64)
        };
        Some(Series { label: Some(records[0].name()), points: told.map(point).collect() })
    };
    let (mut lines, short): (Vec<Series>, Vec<Series>) =
        series.iter().filter_map(line).partition(|line| line.points.len() > 1);
    lines.truncate(MOST);
    let short: Vec<String> = short.into_iter().filter_map(|line| line.label).collect();
    let left_out = match short.len() {
        0 => String::new(),
        _ => format!(
            "Not drawn: {}, since nearly all its predictions have about the same probability (a point needs ten, a line two points).",
            short.join(", ")
        ),
    };
    if lines.is_empty() {
        return None;
    }
    let least = lines.iter().flat_map(|line| &line.points).map(|point| point.x.min(point.y)).fold(100.0, f64::min);
    lines.push(Series { label: None, points: vec![Point::new(least, least), Point::new(100.0, 100.0)] });
    let layout = layout(format!("calibration{id}"), "How often it was right, %", "probability it gave, %", false);
    // Where the line ends says nothing of a method, unlike the last accuracy of a learning curve.
    panel(Layout { text: |_| String::new(), ..layout }, lines).map(|panel| (panel, left_out))
}

/// Accuracy against the number of training samples; `best` has its interval drawn.
pub fn learning_curve(id: usize, points: &[CurvePoint], best: &str) -> Option<Panel> {
    let mut lines: Vec<Series> = Vec::new();
    for point in points {
        let interval = point.ci95.filter(|_| point.method == best).map(|ends| ends.map(|end| 100.0 * end));
        let drawn = Point { x: point.n_train, y: 100.0 * point.mean, interval };
        match lines.iter_mut().find(|line| line.label.as_ref() == Some(&point.method)) {
            Some(line) => line.points.push(drawn),
            None => lines.push(Series { label: Some(point.method.clone()), points: vec![drawn] }),
        }
    }
    let last = |line: &Series| line.points.last().map_or(0.0, |point| point.y);
    lines.sort_by(|a, b| last(b).total_cmp(&last(a)));
    lines.truncate(MOST);
    panel(layout(format!("curve{id}"), "Accuracy, %", "training samples", true), lines)
}
