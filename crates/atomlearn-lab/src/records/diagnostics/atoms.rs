//! From a trained model to what the page shows of its atoms.

use super::drawing::{draw, picture_size};
use super::{ATOMS_PER_CLASS, Atom, AtomKind, Atoms, CLASSES, ClassAtoms, DEAD_BELOW, GRAPH_SIZE, Graph};
use atomlearn::graph::{Affinity, AtomGraph};
use atomlearn::io::ImageShape;
use atomlearn::linalg::select_columns;
use atomlearn::prep::Prep;
use atomlearn::registry::Values;
use atomlearn::{Blocks, Classifier, Dataset, Mat};
use serde::Deserialize as _;

/// Training samples that usage is counted over, at most.
const SAMPLES: usize = 1000;

/// Class of every atom, for methods whose atoms belong to classes.
pub fn classes_of_atoms(model: &dyn Classifier) -> Option<Vec<usize>> {
    model.atoms()?.classes.map(Blocks::labels)
}

/// The most used atoms of the first classes; `None` for models without atoms.
///
/// `train` is preprocessed already, by `prep`; `shape` is that of the raw samples.
pub fn atoms(model: &dyn Classifier, train: &Dataset, prep: &Prep, shape: Option<ImageShape>) -> Option<Atoms> {
    let atomlearn::classifier::Atoms { kind, columns, classes } = model.atoms()?;
    let n_atoms = columns.ncols();
    let weight = class_weights(model, train).filter(|weight| weight.nrows() == n_atoms)?;
    let sums: Vec<f64> = (0..n_atoms).map(|k| weight.row(k).iter().sum()).collect();
    let all: f64 = sums.iter().sum();
    if !(all > 0.0 && all.is_finite()) {
        return None;
    }
    let usage: Vec<f64> = sums.iter().map(|sum| sum / all).collect();
    let given = classes.map(Blocks::labels);
    let most =
        |k: usize| (0..weight.ncols()).fold(0, |best, c| if weight[(k, c)] > weight[(k, best)] { c } else { best });
    let classes = given.clone().unwrap_or_else(|| (0..n_atoms).map(most).collect());
    let is_dead = |k: usize| usage[k] < DEAD_BELOW / n_atoms as f64;

    let mut groups = Vec::new();
    let mut shown = Vec::new();
    for class in 0..train.n_classes().min(CLASSES) {
        let mut own: Vec<usize> = (0..n_atoms).filter(|&k| classes[k] == class).collect();
        let (total, dead) = (own.len(), own.iter().filter(|&&k| is_dead(k)).count());
        own.sort_by(|&a, &b| usage[b].total_cmp(&usage[a]));
        own.truncate(ATOMS_PER_CLASS);
        groups.push((class, total, dead, own.len()));
        shown.extend(own);
    }
    let selected = select_columns(columns, &shown);
    let raw = prep.back(selected.as_ref());
    let shape = shape.filter(|shape| raw.as_ref().is_some_and(|raw| raw.nrows() == shape.rows * shape.cols));
    let patterns = raw.as_ref().unwrap_or(&selected);
    let mut drawn = shown.iter().enumerate().map(|(j, &k)| {
        let column: Vec<f64> = patterns.col(j).iter().copied().collect();
        Atom { usage: usage[k], bytes: draw(&column, shape) }
    });
    let group = |(class, total, dead, count): (usize, usize, usize, usize)| ClassAtoms {
        class,
        total,
        dead,
        atoms: drawn.by_ref().take(count).collect(),
    };
    let classes = groups.into_iter().map(group).collect();
    Some(Atoms {
        kind,
        total: n_atoms,
        dead: (0..n_atoms).filter(|&k| is_dead(k)).count(),
        shared: given.is_none(),
        raw: raw.is_some(),
        picture: shape.map(picture_size),
        classes,
    })
}

/// Absolute code weight of every atom (rows) in the training samples of every class (columns).
fn class_weights(model: &dyn Classifier, train: &Dataset) -> Option<Mat<f64>> {
    let n = train.x().ncols();
    let places: Vec<usize> = (0..n.min(SAMPLES)).map(|i| i * n / n.min(SAMPLES)).collect();
    let codes = model.codes_block(select_columns(train.x(), &places).as_ref())?;
    let targets = train.targets();
    let mut weight = Mat::zeros(codes.nrows(), train.n_classes());
    for (j, &place) in places.iter().enumerate() {
        (0..codes.nrows()).for_each(|k| weight[(k, targets[place])] += codes[(k, j)].abs());
    }
    Some(weight)
}

/// The graph of nearest atoms, for methods that have a dictionary by class and the parameter `knn`.
pub fn atom_graph(model: &dyn Classifier, params: &Values) -> Option<Graph> {
    let knn = params.get("knn")?.as_u64()? as usize;
    let affinity = params.get("affinity").and_then(|value| Affinity::deserialize(value).ok()).unwrap_or_default();
    let atoms = model.atoms().filter(|atoms| atoms.kind == AtomKind::Dictionary)?;
    let classes = atoms.classes?.labels();
    if classes.len() > GRAPH_SIZE || classes.len().saturating_mul(knn) > GRAPH_SIZE {
        return None;
    }
    let round = |weight: f64| (1e4 * weight).round() / 1e4;
    let edges = AtomGraph::new(atoms.columns, knn, affinity).edges;
    Some(Graph { classes, edges: edges.into_iter().map(|(i, j, weight)| (i, j, round(weight))).collect() })
}
