//! Geometry of the plots: numbers here, SVG in the templates.

use crate::confusion::Confusion;
use crate::results::{Comparison, MethodResult};
use crate::statistics::mean;
use crate::tables::{percent, seconds};
use serde::Serialize;

/// Size of the drawing area of a plot, in SVG units.
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 280.0;

/// A mark on an axis.
#[derive(Serialize)]
pub struct Tick {
    at: f64,
    label: String,
}

/// A dot with its name.
#[derive(Serialize)]
pub struct Dot {
    x: f64,
    y: f64,
    label: String,
    title: String,
    color: usize,
    /// Labels near the right edge stand left of their dot.
    left: bool,
}

/// Training time against accuracy.
#[derive(Serialize)]
pub struct Scatter {
    width: f64,
    height: f64,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
    dots: Vec<Dot>,
}

/// Curves over iterations.
#[derive(Serialize)]
pub struct Curves {
    /// Whose.
    pub title: String,
    width: f64,
    height: f64,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
    lines: Vec<String>,
}

/// One cell of the heat map.
#[derive(Serialize)]
pub struct HeatCell {
    x: f64,
    y: f64,
    share: f64,
    count: usize,
    title: String,
    right: bool,
}

/// A confusion matrix.
#[derive(Serialize)]
pub struct HeatMap {
    /// Whose.
    pub title: String,
    side: f64,
    cell: f64,
    cells: Vec<HeatCell>,
    labels: Vec<Tick>,
    /// Cells are large enough to hold a number.
    numbers: bool,
    worst: Vec<String>,
}

/// Linear map of `[low, high]` to `[from, to]`.
fn scale(value: f64, (low, high): (f64, f64), (from, to): (f64, f64)) -> f64 {
    if high > low { from + (value - low) / (high - low) * (to - from) } else { (from + to) / 2.0 }
}

/// Round marks that cover a range, about five.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let rough = ((high - low) / 5.0).max(1e-12);
    let unit = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|k| k * unit).into_iter().find(|step| *step >= rough).unwrap_or(10.0 * unit);
    let first = (low / step).ceil() as i64;
    (first..first + 12).map(|k| k as f64 * step).take_while(|v| *v <= high + 1e-9 * step).collect()
}

/// Lowest and highest, widened a little.
fn range(values: impl Iterator<Item = f64>, margin: f64) -> (f64, f64) {
    let (low, high) = values.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
    let pad = (margin * (high - low)).max(1e-3 * high.abs()).max(1e-9);
    (low - pad, high + pad)
}

/// Time against accuracy, one dot per result; time is logarithmic.
pub fn scatter(comparison: &Comparison) -> Scatter {
    let time = |result: &MethodResult| mean(&result.train_seconds).max(1e-5);
    let xs = range(comparison.results.iter().map(|result| time(result).log10()), 0.12);
    let ys = range(comparison.results.iter().map(|result| 100.0 * result.mean), 0.12);
    let mut methods: Vec<&str> = comparison.results.iter().map(|result| result.method.as_str()).collect();
    methods.dedup();
    let dot = |result: &MethodResult| {
        let x = scale(time(result).log10(), xs, (0.0, WIDTH));
        Dot {
            x,
            y: scale(100.0 * result.mean, ys, (HEIGHT, 0.0)),
            label: name(result, comparison),
            title: format!("{} %, {} s", percent(result.mean), seconds(time(result))),
            color: methods.iter().position(|method| *method == result.method).unwrap_or(0) % 8,
            left: x > 0.75 * WIDTH,
        }
    };
    let decades =
        (xs.0.floor() as i32 - 1..=xs.1.ceil() as i32).flat_map(|e| [1.0, 2.0, 5.0].map(|k| k * 10f64.powi(e)));
    let in_range = |t: &f64| (xs.0..=xs.1).contains(&t.log10());
    let x_tick = |t: f64| Tick { at: scale(t.log10(), xs, (0.0, WIDTH)), label: format!("{t}") };
    let y_tick = |v: f64| Tick { at: scale(v, ys, (HEIGHT, 0.0)), label: format!("{}", (v * 100.0).round() / 100.0) };
    Scatter {
        width: WIDTH,
        height: HEIGHT,
        x_ticks: decades.filter(in_range).map(x_tick).collect(),
        y_ticks: ticks(ys.0, ys.1).into_iter().filter(|v| *v <= 100.0).map(y_tick).collect(),
        dots: comparison.results.iter().map(dot).collect(),
    }
}

/// The method's key, with the rule where the method has several.
pub fn name(result: &MethodResult, comparison: &Comparison) -> String {
    let several = comparison.results.iter().filter(|other| other.method == result.method).count() > 1;
    if several { format!("{} · {}", result.method, result.rule) } else { result.method.clone() }
}

/// The objective over the iterations, one plot per method that has one, one line per split.
pub fn convergence(comparison: &Comparison) -> Vec<Curves> {
    comparison.results.iter().filter(|result| result.in_use).filter_map(curves).collect()
}

fn curves(result: &MethodResult) -> Option<Curves> {
    let series: Vec<Vec<(usize, f64)>> = result
        .objective
        .iter()
        .map(|values| values.iter().enumerate().filter_map(|(i, v)| Some((i, (*v)?))).collect())
        .filter(|points: &Vec<(usize, f64)>| points.len() > 1 && points.iter().all(|(_, v)| v.is_finite()))
        .collect();
    let all = || series.iter().flatten();
    let last = all().map(|(i, _)| *i).max()? as f64;
    let ys = range(all().map(|(_, v)| *v), 0.05);
    let place = |&(i, v): &(usize, f64)| {
        format!("{:.1},{:.1}", scale(i as f64, (0.0, last), (0.0, WIDTH)), scale(v, ys, (HEIGHT, 0.0)))
    };
    let y_tick = |v: f64| Tick { at: scale(v, ys, (HEIGHT, 0.0)), label: short(v) };
    let x_tick = |v: f64| Tick { at: scale(v, (0.0, last), (0.0, WIDTH)), label: format!("{v}") };
    Some(Curves {
        title: result.method.clone(),
        width: WIDTH,
        height: HEIGHT,
        x_ticks: ticks(0.0, last).into_iter().filter(|v| v.fract() == 0.0).map(x_tick).collect(),
        y_ticks: ticks(ys.0, ys.1).into_iter().map(y_tick).collect(),
        lines: series.iter().map(|points| points.iter().map(place).collect::<Vec<_>>().join(" ")).collect(),
    })
}

/// A number in few characters.
fn short(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e5).contains(&value.abs()) {
        return format!("{value:.1e}");
    }
    format!("{}", (value * 1e6).round() / 1e6)
}

/// The confusion matrix of one result as shares of each true class.
pub fn heat_map(title: String, confusion: &Confusion, classes: &[String]) -> HeatMap {
    let n = classes.len().max(1);
    let side = 600.0;
    let cell = side / n as f64;
    let mut cells = Vec::new();
    for (t, row) in confusion.counts.iter().enumerate() {
        let total = confusion.samples(t).max(1) as f64;
        for (p, &count) in row.iter().enumerate().filter(|(_, count)| **count > 0) {
            let share = count as f64 / total;
            cells.push(HeatCell {
                x: p as f64 * cell,
                y: t as f64 * cell,
                share: (share * 1e4).round() / 1e4,
                count,
                title: format!("{} taken for {}: {count} ({} %)", classes[t], classes[p], percent(share)),
                right: t == p,
            });
        }
    }
    let label = |(c, name): (usize, &String)| Tick { at: (c as f64 + 0.5) * cell, label: name.clone() };
    let step = n.div_ceil(40);
    HeatMap {
        title,
        side,
        cell,
        cells,
        labels: classes.iter().enumerate().filter(|(c, _)| c % step == 0).map(label).collect(),
        numbers: n <= 20,
        worst: confusion
            .worst(8)
            .into_iter()
            .map(|(t, p, count)| format!("{} taken for {}: {count}", classes[t], classes[p]))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks(0.0, 10.0), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(93.1, 96.2), [94.0, 95.0, 96.0]);
        assert!(ticks(5.0, 5.0).len() <= 2);
    }
}
