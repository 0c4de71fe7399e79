//! What tests share: noise that is the same every time, parts of data, how often a model is right.

use crate::linalg::select_columns;
use crate::{Classifier, Dataset, synth};

/// Noise in -0.5..0.5.
pub fn noise(i: usize, j: usize) -> f64 {
    (((i + 3) * 7919 + (j + 1) * 104_729 + i * j * 31) % 1009) as f64 / 1009.0 - 0.5
}

/// These samples in this order; they may repeat.
pub fn pick(data: &Dataset, places: &[usize]) -> Dataset {
    let targets = data.targets();
    let labels: Vec<String> = places.iter().map(|&i| targets[i].to_string()).collect();
    Dataset::new(select_columns(data.x(), places), &labels).unwrap()
}

/// Three classes of 4, 5 and 6 samples with seven features.
pub fn unequal_classes() -> Dataset {
    let places: Vec<usize> = (0..18).filter(|i| ![4, 5, 11].contains(i)).collect();
    pick(&synth::blobs(3, 6, 7, 11), &places)
}

/// The share of samples that a model puts into their class.
pub fn accuracy(model: &dyn Classifier, data: &Dataset) -> f64 {
    let found = model.predict(data.x()).unwrap();
    let right = found.iter().zip(data.targets()).filter(|&(&found, class)| found == class).count();
    right as f64 / data.n_samples() as f64
}
