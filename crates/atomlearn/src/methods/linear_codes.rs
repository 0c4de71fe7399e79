//! A linear map to codes and a linear classifier on them, shared by several methods: `z = P x`, scores `W z`.

use crate::classifier::{AtomKind, Atoms, Header};
use crate::export::{Graph, Tensor};
use crate::linalg::mul;
use crate::methods::sparse_linear::ridge_readout;
use crate::{Classifier, Dataset, Parts, Result};
use faer::{Mat, MatRef};

/// Atoms, the map to codes and a classifier on the codes.
pub struct LinearCodes {
    header: Header,
    /// Synthesis atoms, or the rows of `P`, in columns.
    atoms: Mat<f64>,
    /// `P`, atoms x features; `None` where its rows are the atoms.
    map: Option<Mat<f64>>,
    /// `W`, classes x atoms.
    weights: Mat<f64>,
    /// `W P`.
    folded: Mat<f64>,
}

impl LinearCodes {
    /// Codes over a dictionary by a map of its own, with ridge regression on the codes of the training samples.
    pub fn of_dictionary(dictionary: Mat<f64>, map: Mat<f64>, train: &Dataset, ridge: f64) -> Result<Self> {
        LinearCodes::fitted(dictionary, Some(map), train, ridge)
    }

    /// Codes by the rows of an analysis dictionary, here in columns, with ridge regression on those of the training samples.
    pub fn of_analysis(analysis: Mat<f64>, train: &Dataset, ridge: f64) -> Result<Self> {
        LinearCodes::fitted(analysis, None, train, ridge)
    }

    fn fitted(atoms: Mat<f64>, map: Option<Mat<f64>>, train: &Dataset, ridge: f64) -> Result<Self> {
        let codes = mul(map_of(&atoms, map.as_ref()), train.x());
        let weights = ridge_readout(&codes, &train.targets(), train.n_classes(), ridge)?;
        Ok(LinearCodes::new(train.classes().to_vec(), atoms, map, weights))
    }

    fn new(classes: Vec<String>, atoms: Mat<f64>, map: Option<Mat<f64>>, weights: Mat<f64>) -> Self {
        let folded = mul(&weights, map_of(&atoms, map.as_ref()));
        LinearCodes { header: Header::new(classes, atoms.nrows(), &["linear"]), atoms, map, weights, folded }
    }

    /// The same atoms with a newly fitted classifier.
    pub fn refitted(&self, train: &Dataset, ridge: f64) -> Result<Self> {
        LinearCodes::fitted(self.atoms.clone(), self.map.clone(), train, ridge)
    }

    /// From the parts of a model file.
    pub fn restore(mut parts: Parts, kind: AtomKind) -> Result<Self> {
        let atoms = parts.take(kind_name(kind))?;
        let map = match kind {
            AtomKind::Dictionary => Some(parts.take_shaped("map", atoms.ncols(), atoms.nrows())?),
            AtomKind::Analysis => None,
        };
        let weights = parts.take_shaped("weights", parts.classes.len(), atoms.ncols())?;
        Ok(LinearCodes::new(parts.classes, atoms, map, weights))
    }

    fn kind(&self) -> AtomKind {
        if self.map.is_some() { AtomKind::Dictionary } else { AtomKind::Analysis }
    }
}

/// `P`.
fn map_of<'a>(atoms: &'a Mat<f64>, map: Option<&'a Mat<f64>>) -> MatRef<'a, f64> {
    map.map_or_else(|| atoms.transpose(), |map| map.as_ref())
}

/// What the atoms are called in a model file.
fn kind_name(kind: AtomKind) -> &'static str {
    match kind {
        AtomKind::Dictionary => "dictionary",
        AtomKind::Analysis => "analysis",
    }
}

impl Classifier for LinearCodes {
    fn header(&self) -> &Header {
        &self.header
    }

    fn store(&self, parts: &mut Parts) {
        parts.put(kind_name(self.kind()), &self.atoms);
        if let Some(map) = &self.map {
            parts.put("map", map);
        }
        parts.put("weights", &self.weights);
    }

    fn atoms(&self) -> Option<Atoms<'_>> {
        Some(Atoms { kind: self.kind(), columns: &self.atoms, classes: None })
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        vec![mul(&self.folded, x)]
    }

    fn codes_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        Some(mul(map_of(&self.atoms, self.map.as_ref()), x))
    }

    fn export(&self, graph: &mut Graph, x: &Tensor) -> Result<Tensor> {
        Ok(graph.times(x, self.folded.transpose()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth;

    #[test]
    fn scores_are_the_classifier_on_the_codes_and_parts_bring_the_model_back() {
        let train = synth::blobs(3, 6, 7, 1);
        let atoms = Mat::from_fn(7, 5, |i, k| ((i * 3 + k * 5) % 7) as f64 - 3.0);
        let map = Mat::from_fn(5, 7, |k, i| ((i + 2 * k) % 5) as f64 - 2.0);
        let models = [
            LinearCodes::of_dictionary(atoms.clone(), map, &train, 0.1).unwrap(),
            LinearCodes::of_analysis(atoms, &train, 0.1).unwrap(),
        ];
        for model in models {
            let codes = model.codes_block(train.x()).unwrap();
            let expected = mul(ridge_readout(&codes, &train.targets(), 3, 0.1).unwrap(), &codes);
            let found = model.scores(train.x()).unwrap();
            assert!((&found - expected).norm_max() < 1e-10);
            assert!(model.refitted(&train, 0.1).unwrap().scores(train.x()).unwrap() == found);
            let again = LinearCodes::restore(model.parts(), model.kind()).unwrap();
            assert!(again.scores(train.x()).unwrap() == found);
        }
    }
}
