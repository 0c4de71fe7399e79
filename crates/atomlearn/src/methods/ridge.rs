//! Ridge regression on one-hot labels, the plainest linear classifier.
//!
//! ```text
//! min_W |H - W X|_F^2 + lambda |W|_F^2,     W = H X^T (X X^T + lambda I)^-1
//! ```
//!
//! `H` holds one-hot labels; there is no bias. The score of class `c` is row `c` of `W x`.
//! SADL tends to exactly this classifier, which makes it that method's test oracle.

use crate::coding::ridge::ridge_map;
use crate::export::{Graph, Value};
use crate::linalg::mul;
use crate::params::{Domain, params};
use crate::{Classifier, Dataset, Fit, Observer, Parts, Result};
use faer::{Mat, MatRef};

params! {
    /// Parameters of ridge regression.
    pub struct Ridge {
        /// Weight of the squared norm of `W`.
        lambda: f64 = 1e-3, Domain::Positive, grid [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0];
    }
}

/// A learned ridge classifier.
pub struct RidgeModel {
    classes: Vec<String>,
    weights: Mat<f64>,
}

impl Fit for Ridge {
    type Model = RidgeModel;
    const KEY: &'static str = "ridge";

    fn learn(&self, train: &Dataset, _watch: &mut dyn Observer) -> Result<RidgeModel> {
        let map = ridge_map(train.x(), self.lambda, "ridge regression")?;
        let targets = train.targets();
        let onehot = Mat::from_fn(train.n_classes(), train.n_samples(), |c, i| f64::from(u8::from(targets[i] == c)));
        Ok(RidgeModel { classes: train.classes().to_vec(), weights: mul(onehot.as_ref(), map.as_ref()) })
    }

    fn restore(&self, mut parts: Parts) -> Result<RidgeModel> {
        let weights = parts.take_shaped("weights", parts.classes.len(), None)?;
        Ok(RidgeModel { classes: parts.classes, weights })
    }
}

impl Classifier for RidgeModel {
    fn n_features(&self) -> usize {
        self.weights.ncols()
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn parts(&self) -> Vec<(&'static str, MatRef<'_, f64>)> {
        vec![("weights", self.weights.as_ref())]
    }

    fn rules(&self) -> &'static [&'static str] {
        &["linear"]
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        vec![mul(self.weights.as_ref(), x)]
    }

    fn export(&self, graph: &mut Graph, x: &Value) -> Result<Value> {
        Ok(graph.times(x, self.weights.transpose()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth;

    #[test]
    fn normal_equations_hold() {
        let train = synth::blobs(3, 6, 7, 1);
        let model = Ridge { lambda: 0.1 }.fit(&train, &mut ()).unwrap();
        let scores = model.scores(train.x()).unwrap();
        let targets = train.targets();
        let residual = Mat::from_fn(3, 18, |c, i| f64::from(u8::from(targets[i] == c)) - scores[(c, i)]);
        let gradient = mul(residual.as_ref(), train.x().transpose()) - faer::Scale(0.1) * &model.weights;
        assert!(gradient.norm_max() < 1e-10);
    }
}
