//! One-vs-rest SVM with a Gaussian kernel and squared hinge loss: the kernel map of [`crate::kernel`] on all training
//! samples, then the linear SVM of [`crate::svm`], folded into one weight per training sample and class.
//!
//! ```text
//! score_c(x) = sum_i a_ci exp(-gamma |x - x_i|^2) + b_c
//! ```
//!
//! `theta = 2 C` of the usual `1/2 |u|^2 + C sum loss`. Libraries that solve the plain hinge loss one against one
//! (LIBSVM) give other, as a rule slightly different, models.

use crate::export::{Graph, Value};
use crate::kernel::{Gamma, Kernel, KernelMap, KernelSpec};
use crate::linalg::mul;
use crate::params::{Domain, params};
use crate::svm::{self, Svm};
use crate::{Classifier, Dataset, Error, Fit, Observer, Parts, Result};
use faer::{Mat, MatRef};

params! {
    /// Parameters of the SVM with a Gaussian kernel.
    pub struct RbfSvm {
        /// Weight of the loss against the squared norm; twice the usual C.
        theta: f64 = 20.0, Domain::Positive, grid [2.0, 20.0, 200.0, 2000.0];
        /// Width of the kernel; `auto` is one over the median squared distance of training samples.
        gamma: Option<f64> = None, Domain::Auto(&Domain::Positive);
        /// Multiplies `gamma`: the handle for tuning around `auto`.
        gamma_scale: f64 = 1.0, Domain::Positive, grid [0.25, 0.5, 1.0, 2.0, 4.0, 8.0];
    }
}

/// A learned kernel SVM.
pub struct RbfSvmModel {
    classes: Vec<String>,
    samples: Mat<f64>,
    /// `a`, training samples x classes.
    dual: Svm,
    bias: Mat<f64>,
    gamma: Mat<f64>,
}

impl RbfSvmModel {
    fn new(classes: Vec<String>, samples: Mat<f64>, dual: Svm, gamma: Mat<f64>) -> Self {
        let bias = dual.bias_row();
        RbfSvmModel { classes, samples, dual, bias, gamma }
    }
}

impl Fit for RbfSvm {
    type Model = RbfSvmModel;
    const KEY: &'static str = "rbf-svm";

    fn learn(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<RbfSvmModel> {
        let gamma = self.gamma.map_or(Gamma::Auto(self.gamma_scale), |gamma| Gamma::Fixed(gamma * self.gamma_scale));
        let spec = KernelSpec { kernel: Kernel::Rbf, gamma, landmarks: None };
        let map = KernelMap::fit(&spec, train.x(), watch)?;
        let features = map.apply(train.x());
        let svm = svm::fit(features.as_ref(), &train.targets(), train.n_classes(), 1.0 / self.theta, None, watch)?;
        let dual = Svm { weights: mul(map.root().as_ref(), svm.weights.as_ref()), bias: svm.bias };
        Ok(RbfSvmModel::new(train.classes().to_vec(), train.x().to_owned(), dual, map.gamma().clone()))
    }

    fn restore(&self, mut parts: Parts) -> Result<RbfSvmModel> {
        let samples = parts.take("samples")?;
        let dual = parts.take_svm(Some(samples.ncols()))?;
        let gamma = parts.take_shaped("gamma", 1, 1)?;
        if !(gamma[(0, 0)].is_finite() && gamma[(0, 0)] > 0.0) {
            return Err(Error::Data("the model's kernel has no width".into()));
        }
        Ok(RbfSvmModel::new(parts.classes, samples, dual, gamma))
    }
}

impl Classifier for RbfSvmModel {
    fn n_features(&self) -> usize {
        self.samples.nrows()
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn parts(&self) -> Vec<(&'static str, MatRef<'_, f64>)> {
        vec![
            ("samples", self.samples.as_ref()),
            ("svm_weights", self.dual.weights.as_ref()),
            ("svm_bias", self.bias.as_ref()),
            ("gamma", self.gamma.as_ref()),
        ]
    }

    fn rules(&self) -> &'static [&'static str] {
        &["svm"]
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        vec![self.dual.scores(Kernel::Rbf.matrix(self.gamma[(0, 0)], self.samples.as_ref(), x).as_ref())]
    }

    fn export(&self, graph: &mut Graph, x: &Value) -> Result<Value> {
        let similar = Kernel::Rbf.export(self.gamma[(0, 0)], self.samples.as_ref(), graph, x);
        Ok(graph.linear(&similar, self.dual.weights.as_ref(), &self.dual.bias))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::linear_svm::LinearSvm;
    use crate::synth;

    #[test]
    fn equals_the_linear_svm_on_mapped_samples() {
        let (train, test) = (synth::blobs(3, 8, 6, 1), synth::blobs(3, 5, 6, 2));
        let model = RbfSvm { theta: 5.0, ..Default::default() }.fit(&train, &mut ()).unwrap();
        let map = KernelMap::fit(&"rbf:auto".parse().unwrap(), train.x(), &mut ()).unwrap();
        let mapped = train.with_features(map.apply(train.x())).unwrap();
        let linear = LinearSvm { theta: 5.0 }.fit(&mapped, &mut ()).unwrap();
        let expected = linear.scores(map.apply(test.x()).as_ref()).unwrap();
        assert!((model.scores(test.x()).unwrap() - expected).norm_max() < 1e-7);
    }

    #[test]
    fn separates_what_no_line_can() {
        let angle = |j: usize| j as f64 * 0.7;
        let radius = |j: usize| if j.is_multiple_of(2) { 1.0 } else { 3.0 };
        let x = Mat::from_fn(2, 60, |i, j| radius(j) * if i == 0 { angle(j).cos() } else { angle(j).sin() });
        let labels: Vec<String> = (0..60).map(|j| (j % 2).to_string()).collect();
        let train = Dataset::new(x.as_ref(), &labels).unwrap();
        let right = |found: Vec<usize>| found.iter().zip(train.targets()).filter(|(a, b)| **a == *b).count();
        assert_eq!(right(RbfSvm::default().fit(&train, &mut ()).unwrap().predict(train.x()).unwrap()), 60);
        assert!(right(LinearSvm::default().fit(&train, &mut ()).unwrap().predict(train.x()).unwrap()) < 50);
    }
}
