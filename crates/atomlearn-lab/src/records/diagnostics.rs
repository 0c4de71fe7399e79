//! A look inside one run: accuracy after every iteration, a selection of the atoms, the atom graph.
//!
//! Only shown, never used to choose anything. [`crate::run::compare`] looks inside the runs on the first split if its
//! [`crate::run::compare::ExperimentObserver`] asks for it; the time that takes is not counted as training or testing.

mod atoms;
mod drawing;
mod probe;

pub use atomlearn::classifier::AtomKind;
pub use atoms::{atom_graph, atoms, classes_of_atoms};
pub use drawing::{draw, picture_size};
pub use probe::{Probe, complete};

use crate::records::record::Record;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// Most classes of which atoms are kept.
pub const CLASSES: usize = 12;
/// Most atoms that are kept of a class, those used most.
pub const ATOMS_PER_CLASS: usize = 10;
/// Longest side of the picture of an atom; larger ones are made smaller.
pub const PICTURE_SIDE: usize = 36;
/// Most points of the line of an atom.
pub const LINE_POINTS: usize = 128;
/// Atoms and edges a kept graph has at most.
pub const GRAPH_SIZE: usize = 4000;
/// An atom is called dead if its share of the use is below this part of an equal share.
pub const DEAD_BELOW: f64 = 0.01;

/// What was seen inside a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inside {
    /// Accuracy on the test samples as training went on.
    #[serde(default)]
    pub progress: Vec<Progress>,
    /// Some of the atoms, for methods that learn a dictionary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub atoms: Option<Atoms>,
    /// The graph of nearest atoms, for methods that use one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<Graph>,
}

/// Accuracy after an iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Iterations done; 0 is the starting point.
    pub iter: usize,
    /// Accuracy of every rule, in the order of the record's `rules`.
    pub accuracy: Vec<f64>,
}

/// A selection of atoms by class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Atoms {
    /// What they are for.
    pub kind: AtomKind,
    /// Number of all atoms.
    pub total: usize,
    /// How many of them are dead.
    pub dead: usize,
    /// True if the method gives atoms no class: each stands with the class that uses it most.
    pub shared: bool,
    /// True if atoms are shown as raw features, false if they are shown as they are after preprocessing.
    pub raw: bool,
    /// Height and width where atoms are pictures; otherwise they are lines.
    pub picture: Option<[usize; 2]>,
    /// The first classes, in class order.
    pub classes: Vec<ClassAtoms>,
}

/// The atoms of one class that are used most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassAtoms {
    /// The class.
    pub class: usize,
    /// Number of all its atoms.
    pub total: usize,
    /// How many of them are dead.
    pub dead: usize,
    /// The most used, first the most used of all.
    pub atoms: Vec<Atom>,
}

/// One atom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Atom {
    /// Share of the absolute code weight of the training samples that lies on it.
    pub usage: f64,
    /// Its values as bytes in base64: a picture row by row, black to white; or a line, with 128 for zero.
    pub bytes: String,
}

impl Atom {
    /// The bytes, if they are what they should be.
    pub fn decode(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&self.bytes).ok()
    }
}

/// The graph of nearest atoms of the final dictionary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// Class of every atom; classes follow each other.
    pub classes: Vec<usize>,
    /// Edges `(i, j, weight)`.
    pub edges: Vec<(usize, usize, f64)>,
}

/// Records may come from anywhere: whatever is drawn or used as an index is checked.
pub fn check(inside: &Inside, record: &Record) -> Result<(), String> {
    let share = |value: &f64| (0.0..=1.0 + 1e-9).contains(value);
    let fits = |p: &Progress| p.accuracy.len() == record.rules.len() && p.accuracy.iter().all(share);
    if inside.progress.len() > 10_000 || !inside.progress.iter().all(fits) {
        return Err("the accuracies after iterations do not fit the rules".into());
    }
    if !inside.atoms.as_ref().is_none_or(|atoms| atoms_fit(atoms, record.classes.len())) {
        return Err("invalid atoms: classes, usage, sizes or bytes out of range".into());
    }
    let sound = |graph: &Graph| {
        let n = graph.classes.len();
        let edge = |&(i, j, weight): &(usize, usize, f64)| i < n && j < n && share(&weight);
        n <= GRAPH_SIZE
            && graph.edges.len() <= GRAPH_SIZE
            && graph.classes.iter().all(|&c| c < record.classes.len())
            && graph.edges.iter().all(edge)
    };
    if inside.graph.as_ref().is_none_or(sound) {
        Ok(())
    } else {
        Err("invalid atom graph: atoms, classes or weights out of range".into())
    }
}

fn atoms_fit(atoms: &Atoms, n_classes: usize) -> bool {
    let size_fits = |n: usize| match atoms.picture {
        Some([rows, cols]) => rows <= PICTURE_SIDE && cols <= PICTURE_SIDE && rows * cols == n && n > 0,
        None => (1..=LINE_POINTS).contains(&n),
    };
    let atom_fits = |atom: &Atom| {
        (0.0..=1.0 + 1e-9).contains(&atom.usage)
            && atom.bytes.len() <= 4 * PICTURE_SIDE * PICTURE_SIDE
            && atom.decode().is_some_and(|bytes| size_fits(bytes.len()))
    };
    atoms.classes.len() <= CLASSES
        && atoms.classes.iter().all(|group| {
            group.class < n_classes && group.atoms.len() <= ATOMS_PER_CLASS && group.atoms.iter().all(atom_fits)
        })
}
