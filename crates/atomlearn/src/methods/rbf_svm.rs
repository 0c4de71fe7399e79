//! One-vs-rest SVM with a Gaussian kernel and squared hinge loss: the kernel map of [`crate::kernel`] on all training
//! samples, then the linear SVM of [`crate::svm`], folded into one weight per training sample and class.
//!
//! ```text
//! score_c(x) = sum_i a_ci exp(-gamma |x - x_i|^2) + b_c
//! ```
//!
//! `theta = 2 C` of the usual `1/2 |u|^2 + C sum loss`. Libraries that solve the plain hinge loss one against one
//! (LIBSVM) give other, as a rule slightly different, models.
//!
//! Losses are weighted where samples have weights; the median distance is that of the samples as they are, whatever they weigh.
//!
//! Values that are `auto` are chosen by leave-one-out, in closed form with the active sets of each training held ([`svm::left_out`]): first the
//! width at the usual `theta`, then `theta` at that width.

use crate::classifier::Header;
use crate::export::{Graph, Tensor};
use crate::kernel::{Gamma, Kernel, KernelMap, KernelSpec};
use crate::linalg::{mul, select_columns};
use crate::loo::choice::{Jury, Verdict, decades, descend, queries, settled};
use crate::loo::grouped::GroupedFolds;
use crate::methods::linear_svm::{THETA, best_theta};
use crate::params::{Domain, params};
use crate::svm::{self, Svm};
use crate::{Classifier, Dataset, Error, Fit, Observer, Parts, Result, State};
use faer::{Mat, MatRef};

/// Multiples of one over the median squared distance from which `gamma` is chosen, and where the way starts.
const WIDTHS: [f64; 7] = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0];
const USUAL_WIDTH: usize = 3;
/// `theta` is chosen from 2 times these powers of ten; the way starts at this place.
const POWERS: std::ops::RangeInclusive<i32> = -2..=4;
const USUAL_THETA: usize = 3;
/// With more samples than this, what is chosen is chosen on so many of them: the kernel matrix of all costs much more.
const MOST_SAMPLES: usize = 1500;

params! {
    /// Parameters of the SVM with a Gaussian kernel.
    pub struct RbfSvm {
        /// Weight of the loss against the squared norm; twice the usual C; `auto` chooses it by leave-one-out on the training samples.
        theta: Option<f64> = None, Domain::Auto(&Domain::Positive), grid [2.0, 20.0, 200.0, 2000.0];
        /// Width of the kernel; `auto` is `gamma_scale` over the median squared distance of training samples, or, if that is `auto`
        /// too, chosen by leave-one-out.
        gamma: Option<f64> = None, Domain::Auto(&Domain::Positive);
        /// Multiplies `gamma`: the handle for tuning around the median distance.
        gamma_scale: Option<f64> = None, Domain::Auto(&Domain::Positive), grid [0.25, 0.5, 1.0, 2.0, 4.0, 8.0];
    }
}

/// A learned kernel SVM.
pub struct RbfSvmModel {
    header: Header,
    samples: Mat<f64>,
    /// `a`, training samples x classes.
    dual: Svm,
    gamma: f64,
}

impl RbfSvm {
    /// The kernel map on all samples, and what it makes of them.
    fn map(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<(KernelMap, Mat<f64>)> {
        let scale = self.gamma_scale.unwrap_or(1.0);
        let gamma = self.gamma.map_or(Gamma::Auto(scale), |gamma| Gamma::Fixed(gamma * scale));
        let spec = KernelSpec { kernel: Kernel::Rbf, gamma, landmarks: None };
        let map = KernelMap::fit(&spec, train.x(), watch)?;
        let features = map.apply(train.x());
        Ok((map, features))
    }

    /// What is left open, chosen in folds of whole groups.
    fn chosen_by_groups(&self, train: &Dataset, groups: &[usize], watch: &mut dyn Observer) -> Self {
        let mut chosen = self.clone();
        let folds = GroupedFolds::new(train, groups);
        if self.gamma.is_none() && self.gamma_scale.is_none() {
            let width = |scale: f64| Kernel::Rbf.width(Gamma::Auto(scale), train.x());
            let with = |scale: f64| RbfSvm { gamma: Some(width(scale)), ..self.fixed() };
            let best = folds.as_ref().and_then(|folds| folds.best(&WIDTHS, USUAL_WIDTH, watch, with));
            let best = best.map(|(scale, verdict)| (width(scale), verdict));
            chosen.gamma = Some(settled(Self::KEY, "gamma", best, width(1.0), watch));
        }
        if self.theta.is_none() {
            let with = |theta: f64| RbfSvm { theta: Some(theta), ..chosen.fixed() };
            let values = decades(2.0, POWERS);
            let best = folds.as_ref().and_then(|folds| folds.best(&values, USUAL_THETA, watch, with));
            chosen.theta = Some(settled(Self::KEY, "theta", best, THETA, watch));
        }
        chosen.fixed()
    }

    /// The best of some multiples of the usual width.
    fn best_width(&self, jury: &Jury, train: &Dataset, watch: &mut dyn Observer) -> Option<(f64, Verdict)> {
        let targets = train.targets();
        let tau = 1.0 / self.theta.unwrap_or(THETA);
        descend(&WIDTHS, USUAL_WIDTH, watch, |scale| {
            let (_, features) = RbfSvm { gamma_scale: Some(scale), ..self.clone() }.map(train, &mut ())?;
            let x = features.as_ref();
            let weights = train.weights();
            let svm = svm::fit_weighted(x, &targets, weights, train.n_classes(), tau, None, &mut ())?;
            let scores = svm::left_out(x, &targets, weights, &svm, tau)?;
            jury.verdict(select_columns(&scores, &jury.places))
        })
    }
}

impl Fit for RbfSvm {
    type Model = RbfSvmModel;
    const KEY: &'static str = "rbf-svm";
    const TITLE: &'static str = "SVM with a Gaussian kernel, one against the rest";
    const PAPER: &'static str = "Boser, Guyon, Vapnik: A training algorithm for optimal margin classifiers. COLT 1992 (here with squared hinge loss)";
    const LEAVES_GROUPS_OUT: bool = true;
    const CLOSED_FORM: bool = true;
    const WEIGHTS: bool = true;

    fn choose(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<Self> {
        let open_width = self.gamma.is_none() && self.gamma_scale.is_none();
        if self.theta.is_some() && !open_width {
            return Ok(self.fixed());
        }
        if let Some(groups) = train.groups() {
            return Ok(self.chosen_by_groups(train, groups, watch));
        }
        let some = (train.n_samples() > MOST_SAMPLES).then(|| train.subset(&queries(train.blocks(), MOST_SAMPLES)));
        let some = some.transpose()?;
        let some = some.as_ref().unwrap_or(train);
        let Some(jury) = Jury::new(some) else {
            watch.note(
                "rbf-svm: theta = 20 and one over the median distance, since leave-one-out has nothing to choose by",
            );
            return Ok(self.fixed());
        };
        let mut chosen = self.clone();
        if open_width {
            let width = |scale: f64| Kernel::Rbf.width(Gamma::Auto(scale), train.x());
            let best = chosen.best_width(&jury, some, watch).map(|(scale, verdict)| (width(scale), verdict));
            chosen.gamma = Some(settled(Self::KEY, "gamma", best, width(1.0), watch));
        }
        if self.theta.is_none() {
            let (_, features) = chosen.map(some, &mut ())?;
            let values = decades(2.0, POWERS);
            let best = best_theta(&jury, features.as_ref(), some, &values, USUAL_THETA, watch);
            chosen.theta = Some(settled(Self::KEY, "theta", best, THETA, watch));
        }
        Ok(chosen.fixed())
    }

    fn fixed(&self) -> Self {
        RbfSvm { theta: self.theta.or(Some(THETA)), gamma: self.gamma, gamma_scale: self.gamma_scale.or(Some(1.0)) }
    }

    fn learn(&self, train: &Dataset, _: Option<State>, watch: &mut dyn Observer) -> Result<RbfSvmModel> {
        let (map, features) = self.map(train, watch)?;
        let tau = 1.0 / self.theta.unwrap_or(THETA);
        let targets = train.targets();
        let weights = train.weights();
        let svm = svm::fit_weighted(&features, &targets, weights, train.n_classes(), tau, None, watch)?;
        let dual = Svm { weights: mul(map.root(), &svm.weights), bias: svm.bias };
        let gamma = map.gamma()[(0, 0)];
        Ok(RbfSvmModel { header: Header::of(train, &["svm"]), samples: train.x().to_owned(), dual, gamma })
    }

    fn restore(&self, mut parts: Parts) -> Result<RbfSvmModel> {
        let samples = parts.take("samples")?;
        let dual = parts.take_svm(Some(samples.ncols()))?;
        let gamma = parts.take_row("gamma", 1)?[0];
        if !(gamma.is_finite() && gamma > 0.0) {
            return Err(Error::Data("the model's kernel has no width".into()));
        }
        Ok(RbfSvmModel { header: Header::new(parts.classes, samples.nrows(), &["svm"]), samples, dual, gamma })
    }
}

impl Classifier for RbfSvmModel {
    fn header(&self) -> &Header {
        &self.header
    }

    fn store(&self, parts: &mut Parts) {
        parts.put("samples", &self.samples);
        parts.put_svm(&self.dual);
        parts.put_row("gamma", &[self.gamma]);
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        vec![self.dual.scores(Kernel::Rbf.matrix(self.gamma, &self.samples, x).as_ref())]
    }

    fn export(&self, graph: &mut Graph, x: &Tensor) -> Result<Tensor> {
        let similar = Kernel::Rbf.export(self.gamma, self.samples.as_ref(), graph, x);
        Ok(graph.linear(&similar, &self.dual.weights, &self.dual.bias))
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
        let model =
            RbfSvm { theta: Some(5.0), gamma_scale: Some(1.0), ..Default::default() }.fit(&train, &mut ()).unwrap();
        let map = KernelMap::fit(&"rbf:auto".parse().unwrap(), train.x(), &mut ()).unwrap();
        let mapped = train.with_features(map.apply(train.x())).unwrap();
        let linear = LinearSvm { theta: Some(5.0) }.fit(&mapped, &mut ()).unwrap();
        let expected = linear.scores(map.apply(test.x()).as_ref()).unwrap();
        assert!((model.scores(test.x()).unwrap() - expected).norm_max() < 1e-7);
    }

    #[test]
    fn the_width_is_chosen_unless_some_of_it_is_given() {
        let train = synth::blobs(3, 8, 6, 1);
        let chosen = |svm: RbfSvm| {
            let chosen = svm.choose(&train, &mut ()).unwrap();
            (chosen.theta.is_some(), chosen.gamma, chosen.gamma_scale)
        };
        let usual = Kernel::Rbf.width(Gamma::Auto(1.0), train.x());
        let (theta, gamma, scale) = chosen(RbfSvm::default());
        assert!(
            theta && scale == Some(1.0) && WIDTHS.iter().any(|w| (gamma.unwrap() / (w * usual) - 1.0).abs() < 1e-12)
        );
        assert_eq!(chosen(RbfSvm { gamma: Some(0.3), ..Default::default() }), (true, Some(0.3), Some(1.0)));
        assert_eq!(chosen(RbfSvm { gamma_scale: Some(2.0), ..Default::default() }), (true, None, Some(2.0)));
    }

    #[test]
    fn separates_what_no_line_can() {
        let angle = |j: usize| j as f64 * 0.7;
        let radius = |j: usize| if j.is_multiple_of(2) { 1.0 } else { 3.0 };
        let x = Mat::from_fn(2, 60, |i, j| radius(j) * if i == 0 { angle(j).cos() } else { angle(j).sin() });
        let labels: Vec<String> = (0..60).map(|j| (j % 2).to_string()).collect();
        let train = Dataset::new(&x, &labels).unwrap();
        let right = |found: Vec<usize>| found.iter().zip(train.targets()).filter(|(a, b)| **a == *b).count();
        assert_eq!(right(RbfSvm::default().fit(&train, &mut ()).unwrap().predict(train.x()).unwrap()), 60);
        assert!(right(LinearSvm::default().fit(&train, &mut ()).unwrap().predict(train.x()).unwrap()) < 50);
    }
}
