//! A small plot of a few lines with a key beneath it: convergence and sensitivity are made of these.

use super::axes::{Axis, Tick, clipped, drawable};
use serde::Serialize;

const WIDTH: f64 = 270.0;
const HEIGHT: f64 = 160.0;

/// A small plot.
#[derive(Serialize)]
pub struct Panel {
    id: String,
    title: String,
    /// What the plot says, for those who do not see it.
    description: String,
    width: f64,
    height: f64,
    x_title: String,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
    lines: Vec<Curve>,
}

#[derive(Serialize)]
struct Curve {
    color: usize,
    faint: bool,
    label: String,
    /// The last value, for the key.
    last: String,
    points: String,
    dots: Vec<(f64, f64)>,
    /// Outline of the interval around the line.
    band: String,
}

/// A point of a line, with an interval where there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Across.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// Lower and upper end of the interval.
    pub interval: Option<[f64; 2]>,
}

impl Point {
    /// A point without an interval.
    pub fn new(x: f64, y: f64) -> Self {
        Point { x, y, interval: None }
    }
}

/// A line to be drawn.
pub struct Series {
    /// Its name in the key; without one it is drawn faintly and has no entry there.
    pub label: Option<String>,
    /// Its points, from left to right.
    pub points: Vec<Point>,
}

/// What the axes of a panel are like.
pub struct Layout<'a> {
    /// Unique on the page.
    pub id: String,
    /// Above the plot.
    pub title: &'a str,
    /// Below it.
    pub x_title: &'a str,
    /// True if `x` counts something.
    pub x_whole: bool,
    /// True if the values are per cent, so that nothing lies beyond 0 and 100.
    pub percent: bool,
    /// Writes a value in the key.
    pub text: fn(f64) -> String,
}

/// Draws the lines; `None` if no line has two points that can be drawn.
pub fn panel(layout: Layout<'_>, mut series: Vec<Series>) -> Option<Panel> {
    for one in &mut series {
        one.points.retain(|point| drawable(point.x) && drawable(point.y));
    }
    series.retain(|one| one.points.len() > 1);
    let points = || series.iter().flat_map(|one| &one.points);
    points().next()?;
    let across = || points().map(|point| point.x);
    let up = || points().flat_map(|point| [Some(point.y), point.interval.map(|i| i[0]), point.interval.map(|i| i[1])]);
    let up = || up().flatten();
    let x = if !layout.x_whole && spread(across()) > 30.0 {
        Axis::log(across(), 0.02, (0.0, WIDTH))
    } else {
        Axis::linear(across(), 0.02, (0.0, WIDTH))
    };
    let y = match (layout.percent, spread(up()) > 30.0) {
        (true, _) => Axis::linear(up(), 0.08, (HEIGHT, 0.0)).within(0.0, 100.0),
        (false, true) => {
            let most = up().fold(0.0, f64::max);
            Axis::log(up().map(|v| v.max(NOTHING * most)), 0.05, (HEIGHT, 0.0))
        }
        (false, false) => Axis::linear(up(), 0.08, (HEIGHT, 0.0)),
    };
    let mut lines: Vec<Curve> = Vec::new();
    for one in &series {
        let color = lines.iter().filter(|line| !line.faint).count() % 8;
        let last = one.points.last().map_or(String::new(), |point| (layout.text)(point.y));
        lines.push(line(one, color, last, &x, &y));
    }
    // Faint lines first, so that they lie below the others.
    lines.sort_by_key(|line| !line.faint);
    let told: Vec<String> =
        lines.iter().filter(|line| !line.faint).map(|line| format!("{} ends at {}", line.label, line.last)).collect();
    Some(Panel {
        id: layout.id,
        title: layout.title.to_string(),
        description: told.join("; "),
        width: WIDTH,
        height: HEIGHT,
        x_title: layout.x_title.to_string(),
        x_ticks: if layout.x_whole { x.whole_ticks(6) } else { x.ticks(5) },
        y_ticks: y.ticks(5),
        lines,
    })
}

fn line(series: &Series, color: usize, last: String, x: &Axis, y: &Axis) -> Curve {
    let at = |point: &Point, value: f64| (x.place(point.x), y.place(value));
    let join = |places: Vec<(f64, f64)>| places.iter().map(|(x, y)| format!("{x},{y}")).collect::<Vec<_>>().join(" ");
    let places: Vec<(f64, f64)> = series.points.iter().map(|point| at(point, point.y)).collect();
    let edge = |side: usize| -> Vec<(f64, f64)> {
        series.points.iter().filter_map(|point| Some(at(point, point.interval?[side]))).collect()
    };
    let mut outline = edge(0);
    outline.extend(edge(1).into_iter().rev());
    Curve {
        color,
        faint: series.label.is_none(),
        label: clipped(series.label.as_deref().unwrap_or_default(), 28),
        last,
        dots: if places.len() <= 30 && series.label.is_some() { places.clone() } else { Vec::new() },
        points: join(places),
        band: join(outline),
    }
}

/// What is smaller than this part of the largest is as good as nothing.
const NOTHING: f64 = 1e-6;

/// Largest over smallest if none is negative, else 1.
fn spread(values: impl Iterator<Item = f64>) -> f64 {
    let (low, high) = values.fold((f64::MAX, 0.0f64), |(l, h), v| (l.min(v), h.max(v)));
    if low >= 0.0 && high > 0.0 { high / low.max(NOTHING * high) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(percent: bool) -> Layout<'static> {
        let text = |v: f64| format!("{v:.1}");
        Layout { id: "p".into(), title: "t", x_title: "x", x_whole: true, percent, text }
    }

    fn series(label: Option<&str>, ys: &[f64]) -> Series {
        let points = ys.iter().enumerate().map(|(i, &y)| Point::new(i as f64, y)).collect();
        Series { label: label.map(String::from), points }
    }

    #[test]
    fn what_cannot_be_drawn_is_left_out() {
        assert!(panel(layout(false), vec![]).is_none());
        assert!(panel(layout(false), vec![series(Some("a"), &[1.0])]).is_none());
        assert!(panel(layout(false), vec![series(Some("a"), &[f64::NAN, f64::INFINITY, 1e200])]).is_none());
        let plot =
            panel(layout(false), vec![series(Some("a"), &[1.0, f64::NAN, 3.0]), series(None, &[2.0, 2.0])]).unwrap();
        assert_eq!((plot.lines.len(), plot.lines[0].faint, plot.lines[1].dots.len()), (2, true, 2));
        assert_eq!(plot.description, "a ends at 3.0");
    }

    #[test]
    fn wide_ranges_are_logarithmic_and_percentages_never() {
        let wide = panel(layout(false), vec![series(Some("a"), &[1e-3, 1e3])]).unwrap();
        assert!(wide.y_ticks.iter().any(|tick| tick.label == "1"), "{:?}", wide.y_ticks);
        let shares = panel(layout(true), vec![series(Some("a"), &[0.5, 99.9])]).unwrap();
        assert!(shares.y_ticks.iter().all(|tick| (0.0..=100.0).contains(&tick.label.parse::<f64>().unwrap())));
        assert!(shares.y_ticks.len() > 3);
    }
}
