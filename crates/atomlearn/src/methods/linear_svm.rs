//! Linear one-vs-rest SVM with squared hinge loss on the samples themselves: the baseline beside every SVM on codes.
//!
//! ```text
//! min_{u,b}  |u|^2 + theta sum_i max(0, 1 - t_i (u^T x_i + b))^2      per class, bias unregularised
//! ```
//!
//! `theta = 2 C` of LIBLINEAR's `1/2 |u|^2 + C sum loss`.

use crate::export::{Graph, Value};
use crate::params::{Domain, params};
use crate::svm::{self, Svm};
use crate::{Classifier, Dataset, Fit, Observer, Parts, Result};
use faer::{Mat, MatRef};

params! {
    /// Parameters of the linear SVM.
    pub struct LinearSvm {
        /// Weight of the loss against the squared norm; twice LIBLINEAR's C.
        theta: f64 = 20.0, Domain::Positive, grid [0.2, 2.0, 20.0, 200.0, 2000.0];
    }
}

/// A learned linear SVM.
pub struct LinearSvmModel {
    classes: Vec<String>,
    svm: Svm,
    bias: Mat<f64>,
}

impl LinearSvmModel {
    fn new(classes: Vec<String>, svm: Svm) -> Self {
        let bias = svm.bias_row();
        LinearSvmModel { classes, svm, bias }
    }
}

impl Fit for LinearSvm {
    type Model = LinearSvmModel;
    const KEY: &'static str = "linear-svm";

    fn learn(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<LinearSvmModel> {
        let svm = svm::fit(train.x(), &train.targets(), train.n_classes(), 1.0 / self.theta, None, watch)?;
        Ok(LinearSvmModel::new(train.classes().to_vec(), svm))
    }

    fn restore(&self, mut parts: Parts) -> Result<LinearSvmModel> {
        let svm = parts.take_svm(None)?;
        Ok(LinearSvmModel::new(parts.classes, svm))
    }
}

impl Classifier for LinearSvmModel {
    fn n_features(&self) -> usize {
        self.svm.weights.nrows()
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn parts(&self) -> Vec<(&'static str, MatRef<'_, f64>)> {
        vec![("svm_weights", self.svm.weights.as_ref()), ("svm_bias", self.bias.as_ref())]
    }

    fn rules(&self) -> &'static [&'static str] {
        &["svm"]
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        vec![self.svm.scores(x)]
    }

    fn export(&self, graph: &mut Graph, x: &Value) -> Result<Value> {
        Ok(graph.linear(x, self.svm.weights.as_ref(), &self.svm.bias))
    }
}
