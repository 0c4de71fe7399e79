//! From a trained model to what the page shows of its atoms.

use super::{
    ATOMS_PER_CLASS, Atom, AtomKind, Atoms, CLASSES, ClassAtoms, DEAD_BELOW, GRAPH_SIZE, Graph, LINE_POINTS,
    PICTURE_SIDE,
};
use atomlearn::graph::{Affinity, AtomGraph};
use atomlearn::io::ImageShape;
use atomlearn::linalg::select_columns;
use atomlearn::prep::Prep;
use atomlearn::registry::Values;
use atomlearn::{Classifier, Dataset, Mat, MatRef};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize as _;

/// Training samples that usage is counted over, at most.
const SAMPLES: usize = 1000;

fn part<'a>(model: &'a dyn Classifier, name: &str) -> Option<MatRef<'a, f64>> {
    model.parts().into_iter().find(|(held, _)| *held == name).map(|(_, part)| part)
}

/// Class of every atom, for methods whose atoms belong to classes.
fn classes_of_atoms(model: &dyn Classifier) -> Option<Vec<usize>> {
    let counts = part(model, "atom_counts")?;
    let repeat = |(c, &count): (usize, &f64)| std::iter::repeat_n(c, count as usize);
    Some(counts.row(0).iter().enumerate().flat_map(repeat).collect())
}

/// The most used atoms of the first classes; `None` for models without atoms.
///
/// `train` is preprocessed already, by `prep`; `shape` is that of the raw samples.
pub fn atoms(model: &dyn Classifier, train: &Dataset, prep: &Prep, shape: Option<ImageShape>) -> Option<Atoms> {
    let (kind, dictionary) = match part(model, "dictionary") {
        Some(dictionary) => (AtomKind::Dictionary, dictionary),
        None => (AtomKind::Analysis, part(model, "analysis")?),
    };
    let n_atoms = dictionary.ncols();
    let weight = class_weights(model, train).filter(|weight| weight.nrows() == n_atoms)?;
    let sums: Vec<f64> = (0..n_atoms).map(|k| weight.row(k).iter().sum()).collect();
    let all: f64 = sums.iter().sum();
    if !(all > 0.0 && all.is_finite()) {
        return None;
    }
    let usage: Vec<f64> = sums.iter().map(|sum| sum / all).collect();
    let given = classes_of_atoms(model).filter(|classes| classes.len() == n_atoms);
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
    let selected = select_columns(dictionary, &shown);
    let raw = prep.back(selected.as_ref());
    let shape = shape.filter(|shape| raw.as_ref().is_some_and(|raw| raw.nrows() == shape.rows * shape.cols));
    let patterns = raw.as_ref().unwrap_or(&selected);
    let mut drawn = shown.iter().enumerate().map(|(j, &k)| {
        let column: Vec<f64> = patterns.col(j).iter().copied().collect();
        let bytes = shape.map_or_else(|| line(&column), |shape| picture(&column, shape));
        Atom { usage: usage[k], bytes: STANDARD.encode(bytes) }
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

/// The sides of a picture after it was made small enough.
fn picture_size(shape: ImageShape) -> [usize; 2] {
    let longest = shape.rows.max(shape.cols).max(PICTURE_SIDE);
    [shape.rows, shape.cols].map(|side| (side * PICTURE_SIDE / longest).clamp(1, side))
}

/// Pixels row by row, the smallest value black and the largest white; large pictures by means over boxes.
fn picture(atom: &[f64], shape: ImageShape) -> Vec<u8> {
    let [rows, cols] = picture_size(shape);
    let at = |r: usize, c: usize| atom[if shape.column_major { c * shape.rows + r } else { r * shape.cols + c }];
    let ends = |i: usize, parts: usize, side: usize| (i * side / parts, (i + 1) * side / parts);
    let mut pixels = Vec::with_capacity(rows * cols);
    for i in 0..rows {
        let (top, bottom) = ends(i, rows, shape.rows);
        for j in 0..cols {
            let (left, right) = ends(j, cols, shape.cols);
            let sum: f64 = (top..bottom).flat_map(|r| (left..right).map(move |c| at(r, c))).sum();
            pixels.push(sum / ((bottom - top) * (right - left)) as f64);
        }
    }
    let (low, high) = pixels.iter().fold((f64::MAX, f64::MIN), |(l, h), &v| (l.min(v), h.max(v)));
    let grey = |v: f64| if high > low { (255.0 * (v - low) / (high - low)).round() as u8 } else { 128 };
    pixels.into_iter().map(grey).collect()
}

/// Means over as many runs of features as a line may have points; 128 is zero, the largest size is 127 away from it.
fn line(atom: &[f64]) -> Vec<u8> {
    let (n, points) = (atom.len(), atom.len().min(LINE_POINTS));
    let mean = |i: usize| {
        let run = &atom[i * n / points..(i + 1) * n / points];
        run.iter().sum::<f64>() / run.len() as f64
    };
    let values: Vec<f64> = (0..points).map(mean).collect();
    let largest = values.iter().fold(0.0f64, |most, v| most.max(v.abs()));
    let byte = |v: f64| if largest > 0.0 { (128.0 + 127.0 * v / largest).round() as u8 } else { 128 };
    values.into_iter().map(byte).collect()
}

/// The graph of nearest atoms, for methods that have a dictionary by class and the parameter `knn`.
pub fn atom_graph(model: &dyn Classifier, params: &Values) -> Option<Graph> {
    let knn = params.get("knn")?.as_u64()? as usize;
    let affinity = params.get("affinity").and_then(|value| Affinity::deserialize(value).ok()).unwrap_or_default();
    let dictionary = part(model, "dictionary")?;
    let classes = classes_of_atoms(model).filter(|classes| classes.len() == dictionary.ncols())?;
    if classes.len() > GRAPH_SIZE || classes.len().saturating_mul(knn) > GRAPH_SIZE {
        return None;
    }
    let round = |weight: f64| (1e4 * weight).round() / 1e4;
    let edges = AtomGraph::new(dictionary, knn, affinity).edges;
    Some(Graph { classes, edges: edges.into_iter().map(|(i, j, weight)| (i, j, round(weight))).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_right_way_up_and_shrink_by_means() {
        // 2 x 3, down the columns first: 1 3 5 / 2 4 6.
        let down = ImageShape { rows: 2, cols: 3, column_major: true };
        assert_eq!(picture(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], down), [0, 102, 204, 51, 153, 255]);
        let across = ImageShape { column_major: false, ..down };
        assert_eq!(picture(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], across), [0, 51, 102, 153, 204, 255]);
        let large = ImageShape { rows: 72, cols: 4, column_major: false };
        assert_eq!(picture_size(large), [36, 2]);
        let halves: Vec<f64> = (0..288).map(|i| if i % 4 < 2 { -1.0 } else { 3.0 }).collect();
        assert!(picture(&halves, large).chunks(2).all(|row| row == [0, 255]));
        assert!(picture(&[0.5; 288], large).iter().all(|&grey| grey == 128));
    }

    #[test]
    fn lines_keep_sign_and_shape() {
        assert_eq!(line(&[0.0, 1.0, -1.0, 0.5]), [128, 255, 1, 192]);
        let long: Vec<f64> = (0..1000).map(|i| if i < 500 { 2.0 } else { -2.0 }).collect();
        let bytes = line(&long);
        assert_eq!((bytes.len(), bytes[0], bytes[127]), (128, 255, 1));
        assert_eq!(line(&[0.0; 3]), [128; 3]);
    }
}
