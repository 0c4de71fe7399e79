//! The graph of nearest atoms on a circle: atoms in order of class, edges as chords.

use super::axes::{clipped, tenth};
use super::short_percent;
use crate::records::diagnostics::Graph;
use crate::records::record::Record;
use serde::Serialize;
use std::f64::consts::TAU;

const RADIUS: f64 = 200.0;
/// Share of the circle that is left free between classes, all gaps together.
const GAPS: f64 = 0.12;
/// Most names around the circle.
const NAMES: usize = 48;

/// The drawing.
#[derive(Serialize)]
pub struct AtomGraphPlot {
    id: String,
    method: String,
    note: String,
    radius: f64,
    /// Room for the names around the circle.
    margin: f64,
    nodes: Vec<Node>,
    dot: f64,
    /// Chords within classes, by colour.
    within: Vec<Chords>,
    /// Chords between classes.
    between: String,
    names: Vec<Name>,
}

#[derive(Serialize)]
struct Node {
    x: f64,
    y: f64,
    color: usize,
}

#[derive(Serialize)]
struct Chords {
    color: usize,
    path: String,
}

#[derive(Serialize)]
struct Name {
    text: String,
    x: f64,
    y: f64,
    angle: f64,
    anchor: &'static str,
}

/// More atoms than this are a ring of dots.
const MOST_ATOMS: usize = 600;

/// The graph of a run that was looked into, if its method has one that says something: which classes have similar atoms. One that
/// joins no two classes, or so many atoms that nothing can be told apart, does not.
pub fn atom_graph(id: String, record: &Record) -> Option<AtomGraphPlot> {
    let graph = record.inside.as_ref()?.graph.as_ref()?;
    let joins_classes = graph.edges.iter().any(|&(i, j, _)| graph.classes[i] != graph.classes[j]);
    if !(2..=MOST_ATOMS).contains(&graph.classes.len()) || record.classes.len() > NAMES || !joins_classes {
        return None;
    }
    let angles = angles(graph);
    let at = |angle: f64, radius: f64| (tenth(radius * angle.sin()), tenth(-radius * angle.cos()));
    let places: Vec<(f64, f64)> = angles.iter().map(|&angle| at(angle, RADIUS)).collect();
    // A chord bends towards the centre: much if its ends are far apart, hardly if they are neighbours.
    let chord = |i: usize, j: usize| {
        let ((a, b), (c, d)) = (places[i], places[j]);
        let (mx, my) = ((a + c) / 2.0, (b + d) / 2.0);
        format!("M{a},{b}Q{},{} {c},{d}", tenth(0.62 * mx), tenth(0.62 * my))
    };
    let mut within: Vec<Chords> = (0..8).map(|color| Chords { color, path: String::new() }).collect();
    let mut between = String::new();
    let mut inside = 0;
    for &(i, j, _) in &graph.edges {
        if graph.classes[i] == graph.classes[j] {
            within[graph.classes[i] % 8].path += &chord(i, j);
            inside += 1;
        } else {
            between += &chord(i, j);
        }
    }
    within.retain(|chords| !chords.path.is_empty());
    let names = names(graph, &angles, &record.classes);
    let longest = names.iter().map(|name| name.text.chars().count()).max().unwrap_or(0);
    let share = inside as f64 / graph.edges.len() as f64;
    let node = |(&(x, y), class): (&(f64, f64), &usize)| Node { x, y, color: class % 8 };
    Some(AtomGraphPlot {
        id,
        method: record.name(),
        note: format!(
            "{} atoms, {} edges; {} % of the edges join atoms of the same class",
            graph.classes.len(),
            graph.edges.len(),
            short_percent(share)
        ),
        radius: RADIUS,
        margin: 18.0 + 7.0 * longest as f64,
        nodes: places.iter().zip(&graph.classes).map(node).collect(),
        dot: (0.35 * TAU * RADIUS / graph.classes.len() as f64).clamp(1.0, 5.0),
        within,
        between,
        names,
    })
}

/// The angle of every atom, from the top clockwise, with a gap wherever the class changes.
fn angles(graph: &Graph) -> Vec<f64> {
    let n = graph.classes.len();
    let changes = |k: usize| usize::from(graph.classes[k] != graph.classes[(k + n - 1) % n]);
    let gaps = (0..n).map(changes).sum::<usize>();
    let gap = if gaps > 0 { GAPS * TAU / gaps as f64 } else { 0.0 };
    let step = (TAU - gap * gaps as f64) / n as f64;
    let mut angle = 0.0;
    let mut place = |k: usize| {
        angle += if k > 0 { step + gap * changes(k) as f64 } else { (step + gap * changes(0) as f64) / 2.0 };
        angle
    };
    (0..n).map(&mut place).collect()
}

/// The name of each class at the middle of its arc; every second, third ... where there are many.
fn names(graph: &Graph, angles: &[f64], classes: &[String]) -> Vec<Name> {
    let mut arcs: Vec<(usize, f64, f64)> = Vec::new();
    for (&class, &angle) in graph.classes.iter().zip(angles) {
        match arcs.last_mut() {
            Some((held, _, end)) if *held == class => *end = angle,
            _ => arcs.push((class, angle, angle)),
        }
    }
    let step = arcs.len().div_ceil(NAMES).max(1);
    // Where names are left out, the last must not run into the first.
    let room = arcs.len() + 1 - step;
    // Short names stand upright, others point away from the centre.
    let upright = classes.iter().all(|name| name.chars().count() <= 3);
    let reach = RADIUS + if upright { 17.0 } else { 11.0 };
    let name = |&(class, start, end): &(usize, f64, f64)| {
        let angle = (start + end) / 2.0;
        let left = angle > TAU / 2.0;
        Some(Name {
            text: clipped(classes.get(class)?, 10),
            x: tenth(reach * angle.sin()),
            y: tenth(-reach * angle.cos()),
            angle: if upright { 0.0 } else { tenth(angle.to_degrees() - if left { 270.0 } else { 90.0 }) },
            anchor: match (upright, left) {
                (true, _) => "middle",
                (false, true) => "end",
                (false, false) => "start",
            },
        })
    };
    arcs.iter().take(room).step_by(step).filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atoms_go_round_once_with_gaps_between_classes() {
        let graph = Graph { classes: vec![0, 0, 0, 1, 1, 2], edges: vec![(0, 1, 1.0)] };
        let angles = angles(&graph);
        assert!(angles.windows(2).all(|pair| pair[1] > pair[0]));
        assert!(angles[0] > 0.0 && angles[5] < TAU);
        let (same, other) = (angles[1] - angles[0], angles[3] - angles[2]);
        assert!((other - same - GAPS * TAU / 3.0).abs() < 1e-12);
        // Half a step and half a gap stay free on both sides of the top.
        assert!((angles[0] - (TAU - angles[5])).abs() < 1e-12);
        let names = names(&graph, &angles, &["a".into(), "b".into(), "c".into()]);
        assert_eq!(names.iter().map(|name| name.text.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert!(names.iter().all(|name| name.angle == 0.0 && name.anchor == "middle"));
    }
}
