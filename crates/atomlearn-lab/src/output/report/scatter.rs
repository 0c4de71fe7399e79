//! Time of training and testing against accuracy, with labels that keep clear of each other.

use super::axes::{Axis, Tick, clipped};
use crate::output::tables::{is_best, percent, seconds};
use crate::output::verdict::name;
use crate::records::results::{Comparison, MethodResult};
use crate::stats::statistics::mean;
use serde::Serialize;

/// The drawing, once for wide and once for narrow screens.
#[derive(Serialize)]
pub struct Scatter {
    id: String,
    /// `wide` or `narrow`: the class that shows or hides it.
    class: &'static str,
    width: f64,
    height: f64,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
    /// Results that no other beats in both time and accuracy, joined.
    frontier: String,
    dots: Vec<Dot>,
    /// Dots whose name finds no room.
    unnamed: usize,
}

#[derive(Serialize)]
struct Dot {
    x: f64,
    y: f64,
    title: String,
    color: usize,
    label: Label,
}

/// A label's text, the start of its line and where a leader from the dot would end.
#[derive(Clone, Debug, Serialize)]
struct Label {
    text: String,
    x: f64,
    y: f64,
    leader: bool,
}

#[derive(Clone, Copy, Debug)]
struct Box {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl Box {
    /// Area shared with another.
    fn overlap(&self, other: &Box) -> f64 {
        let side = |a: f64, la: f64, b: f64, lb: f64| ((a + la).min(b + lb) - a.max(b)).max(0.0);
        side(self.left, self.width, other.left, other.width) * side(self.top, self.height, other.top, other.height)
    }

    fn inside(&self, width: f64, height: f64) -> bool {
        self.left >= 0.0 && self.top >= 0.0 && self.left + self.width <= width && self.top + self.height <= height
    }
}

const RADIUS: f64 = 5.5;
/// Height of a line of text, and mean width of a letter, in a font of 12 units.
const LINE: f64 = 14.0;
const LETTER: f64 = 7.2;

/// The results of rules in use, and the best one; both drawings.
pub fn scatters(id: usize, comparison: &Comparison) -> Vec<Scatter> {
    let shown: Vec<&MethodResult> =
        comparison.results.iter().filter(|result| result.in_use || is_best(result, &comparison.results)).collect();
    let draw = |class, width, height| scatter(format!("{class}{id}"), class, &shown, comparison, (width, height));
    vec![draw("wide", 720.0, 330.0), draw("narrow", 290.0, 360.0)]
}

fn scatter(
    id: String,
    class: &'static str,
    shown: &[&MethodResult],
    comparison: &Comparison,
    (width, height): (f64, f64),
) -> Scatter {
    let time = |result: &MethodResult| (mean(&result.train_seconds) + mean(&result.test_seconds)).max(1e-5);
    let x = Axis::log(shown.iter().map(|result| time(result)), 0.07, (0.0, width));
    let y = Axis::linear(shown.iter().map(|result| 100.0 * result.mean), 0.1, (height, 0.0));
    let places: Vec<(f64, f64)> =
        shown.iter().map(|result| (x.place(time(result)), y.place(100.0 * result.mean))).collect();
    let names: Vec<String> = shown.iter().map(|result| clipped(&name(result, comparison), 24)).collect();
    let labels = place_labels(&places, &names, width, height);
    let mut methods: Vec<&str> = shown.iter().map(|result| result.method.as_str()).collect();
    methods.dedup();
    let unnamed = labels.iter().filter(|label| label.text.is_empty()).count();
    let dot = |(i, label): (usize, Label)| Dot {
        x: places[i].0,
        y: places[i].1,
        title: format!("{}: {} %, {} s", names[i], percent(shown[i].mean), seconds(time(shown[i]))),
        color: methods.iter().position(|method| *method == shown[i].method).unwrap_or(0) % 8,
        label,
    };
    let mut best: Vec<(f64, f64)> = places.clone();
    best.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut top = f64::MAX;
    best.retain(|&(_, y)| {
        let better = y < top;
        top = top.min(y);
        better
    });
    Scatter {
        id,
        class,
        width,
        height,
        x_ticks: x.ticks(if width > 400.0 { 8 } else { 4 }),
        y_ticks: y.ticks(5).into_iter().filter(|tick| tick.label.parse::<f64>().is_ok_and(|v| v <= 100.0)).collect(),
        frontier: best.iter().map(|(x, y)| format!("{x},{y}")).collect::<Vec<_>>().join(" "),
        dots: labels.into_iter().enumerate().map(dot).collect(),
        unnamed,
    }
}

/// Puts each label where it covers nothing: beside its dot if there is room, else farther off with a leader. Where there is no
/// room at all the label is empty.
fn place_labels(dots: &[(f64, f64)], names: &[String], width: f64, height: f64) -> Vec<Label> {
    let around =
        |&(x, y): &(f64, f64)| Box { left: x - RADIUS, top: y - RADIUS, width: 2.0 * RADIUS, height: 2.0 * RADIUS };
    let taken: Vec<Box> = dots.iter().map(around).collect();
    let mut boxes: Vec<Box> = Vec::new();
    // Rightmost and leftmost dots have the least choice, so crowded ones in the middle give way: top to bottom is fair.
    let mut order: Vec<usize> = (0..dots.len()).collect();
    order.sort_by(|&a, &b| dots[a].1.total_cmp(&dots[b].1));
    let mut labels = vec![Label { text: String::new(), x: 0.0, y: 0.0, leader: false }; dots.len()];
    for i in order {
        let (x, y) = dots[i];
        let size = (LETTER * names[i].chars().count() as f64, LINE);
        let is_free = |candidate: &Box| {
            let covered: f64 = taken.iter().chain(&boxes).map(|other| candidate.overlap(other)).sum();
            covered == 0.0 && candidate.inside(width, height)
        };
        let free = candidates(x, y, size).into_iter().find(|(candidate, _)| is_free(candidate));
        if let Some((place, leader)) = free {
            boxes.push(place);
            labels[i] = Label { text: names[i].clone(), x: place.left, y: place.top + 0.78 * LINE, leader };
        }
    }
    labels
}

/// Places for a label, the best first: right, left, above, below, then rings farther away.
fn candidates(x: f64, y: f64, (width, height): (f64, f64)) -> Vec<(Box, bool)> {
    let at = |left: f64, middle: f64| Box { left, top: middle - height / 2.0, width, height };
    let mut places = Vec::new();
    for ring in 0..7 {
        let gap = RADIUS + 3.0 + 13.0 * f64::from(ring);
        let up = gap + height / 2.0 - 2.0;
        let near = if ring == 0 { 0.0 } else { 6.0 };
        places.extend(
            [
                at(x + gap, y),
                at(x - gap - width, y),
                at(x - width / 2.0, y - up),
                at(x - width / 2.0, y + up),
                at(x + near, y - up),
                at(x + near, y + up),
                at(x - width - near, y - up),
                at(x - width - near, y + up),
            ]
            .map(|place| (place, ring > 0)),
        );
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_without_room_are_left_out() {
        let dots: Vec<(f64, f64)> = (0..60).map(|i| (f64::from(i * 37 % 290), f64::from(i * 53 % 360))).collect();
        let names: Vec<String> = (0..60).map(|i| format!("a long method {i}")).collect();
        let labels = place_labels(&dots, &names, 290.0, 360.0);
        let shown: Vec<Box> = labels
            .iter()
            .filter(|l| !l.text.is_empty())
            .map(|l| Box { left: l.x, top: l.y - 0.78 * LINE, width: LETTER * l.text.len() as f64, height: LINE })
            .collect();
        assert!((5..60).contains(&shown.len()), "{}", shown.len());
        assert!((0..shown.len()).all(|i| (0..i).all(|j| shown[i].overlap(&shown[j]) < 1e-9)));
    }

    #[test]
    fn labels_of_a_crowd_do_not_overlap() {
        // Sixteen dots within a small patch, and all in the corner.
        for spread in [90.0, 40.0] {
            let dots: Vec<(f64, f64)> =
                (0..16).map(|i| (300.0 + spread * f64::from(i * 7 % 16) / 16.0, 150.0 + 5.0 * f64::from(i))).collect();
            let names: Vec<String> = (0..16).map(|i| format!("method-{i}")).collect();
            let labels = place_labels(&dots, &names, 720.0, 330.0);
            let boxes: Vec<Box> = labels
                .iter()
                .map(|l| Box { left: l.x, top: l.y - 0.78 * LINE, width: LETTER * l.text.len() as f64, height: LINE })
                .collect();
            for i in 0..16 {
                assert!(boxes[i].inside(720.0, 330.0));
                assert!((0..i).all(|j| boxes[i].overlap(&boxes[j]) < 1e-9), "label {i}");
            }
        }
    }
}
