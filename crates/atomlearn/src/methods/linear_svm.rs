//! Linear one-vs-rest SVM with squared hinge loss on the samples themselves: the baseline beside every SVM on codes.
//!
//! ```text
//! min_{u,b}  |u|^2 + theta sum_i max(0, 1 - t_i (u^T x_i + b))^2      per class, bias unregularised
//! ```
//!
//! A sample of weight `w` counts `w` times in the sum. `theta = 2 C` of LIBLINEAR's `1/2 |u|^2 + C sum loss`. `theta = auto` is chosen by leave-one-out, in closed form with the active sets of
//! each training held ([`svm::left_out`]).

mod partitioned;

use crate::classifier::Header;
use crate::export::{Graph, Tensor};
use crate::kernel::{Gamma, Kernel};
use crate::linalg::select_columns;
use crate::loo::choice::{Jury, Verdict, decade, decades, descend, settled};
use crate::loo::grouped::GroupedFolds;
use crate::observe::Trace;
use crate::params::{Domain, params};
use crate::pca::{centered, mean};
use crate::svm::{self, Svm};
use crate::{Classifier, Dataset, Error, Fit, Observer, Parts, Result, State};
use faer::{Mat, MatRef};

/// `theta` where nothing can be chosen.
pub(crate) const THETA: f64 = 20.0;
/// `theta` is chosen from 2 times these powers of ten, over half the median squared distance of samples; the way starts at this place.
const POWERS: std::ops::RangeInclusive<i32> = -2..=4;
const USUAL: usize = 3;

params! {
    /// Parameters of the linear SVM.
    pub struct LinearSvm {
        /// Weight of the loss against the squared norm; twice LIBLINEAR's C; `auto` chooses it by leave-one-out on the training samples.
        theta: Option<f64> = None, Domain::Auto(&Domain::Positive), grid [0.2, 2.0, 20.0, 200.0, 2000.0];
    }
}

/// A learned linear SVM.
pub struct LinearSvmModel {
    header: Header,
    svm: Svm,
}

impl Fit for LinearSvm {
    type Model = LinearSvmModel;
    const KEY: &'static str = "linear-svm";
    const TITLE: &'static str = "Linear SVM, one against the rest";
    const PAPER: &'static str = "Fan et al.: LIBLINEAR: a library for large linear classification. JMLR 2008 (the objective; the solver is our own)";
    const LEAVES_GROUPS_OUT: bool = true;
    const CLOSED_FORM: bool = true;
    const WEIGHTS: bool = true;

    fn choose(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<Self> {
        if self.theta.is_some() {
            return Ok(self.clone());
        }
        let x = centered(train.x(), &mean(train.x()));
        let values = decades(2.0 / decade(0.5 / Kernel::Rbf.width(Gamma::Auto(1.0), train.x())), POWERS);
        if let Some(groups) = train.groups() {
            let with = |theta: f64| LinearSvm { theta: Some(theta) };
            let folds = GroupedFolds::new(train, groups);
            let best = folds.and_then(|folds| folds.best(&values, USUAL, watch, with));
            return Ok(LinearSvm { theta: Some(settled(Self::KEY, "theta", best, THETA, watch)) });
        }
        let best = Jury::new(train).and_then(|jury| {
            let mut best_of = |values: &[f64], usual: usize| best_theta(&jury, x.as_ref(), train, values, usual, watch);
            let best = best_of(&values, USUAL);
            // Among features of very different sizes the distance of samples is that of the longest feature alone.
            let fixed = if values.contains(&THETA) { None } else { best_of(&[THETA], 0) };
            fixed.into_iter().chain(best).min_by(|(_, a), (_, b)| a.loss.total_cmp(&b.loss))
        });
        Ok(LinearSvm { theta: Some(settled(Self::KEY, "theta", best, THETA, watch)) })
    }

    fn fixed(&self) -> Self {
        LinearSvm { theta: self.theta.or(Some(THETA)) }
    }

    fn learn(&self, train: &Dataset, _: Option<State>, watch: &mut dyn Observer) -> Result<LinearSvmModel> {
        let tau = 1.0 / self.theta.unwrap_or(THETA);
        let targets = train.targets();
        let svm = svm::fit_weighted(train.x(), &targets, train.weights(), train.n_classes(), tau, None, watch)?;
        Ok(LinearSvmModel { header: Header::of(train, &["svm"]), svm })
    }

    fn restore(&self, mut parts: Parts) -> Result<LinearSvmModel> {
        let svm = parts.take_svm(None)?;
        Ok(LinearSvmModel { header: Header::new(parts.classes, svm.weights.nrows(), &["svm"]), svm })
    }
}

/// The best of some values for samples `x` of the classes of `train`; each training starts where the last one ended.
pub(super) fn best_theta(
    jury: &Jury,
    x: MatRef<'_, f64>,
    train: &Dataset,
    values: &[f64],
    usual: usize,
    watch: &mut dyn Observer,
) -> Option<(f64, Verdict)> {
    let targets = train.targets();
    let mut last: Option<Svm> = None;
    descend(values, usual, watch, |theta| {
        let mut trace = Trace::default();
        let tau = 1.0 / theta;
        let weights = train.weights();
        let svm = svm::fit_weighted(x, &targets, weights, train.n_classes(), tau, last.as_ref(), &mut trace)?;
        // The closed form is that of the optimum, and a value that does not get there is none to choose.
        if !trace.warnings.is_empty() {
            return Err(Error::numeric(LinearSvm::KEY, "not at the optimum"));
        }
        let scores = svm::left_out(x, &targets, weights, &svm, tau)?;
        last = Some(svm);
        jury.verdict(select_columns(&scores, &jury.places))
    })
}

impl Classifier for LinearSvmModel {
    fn header(&self) -> &Header {
        &self.header
    }

    fn store(&self, parts: &mut Parts) {
        parts.put_svm(&self.svm);
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        vec![self.svm.scores(x)]
    }

    fn export(&self, graph: &mut Graph, x: &Tensor) -> Result<Tensor> {
        Ok(graph.linear(x, &self.svm.weights, &self.svm.bias))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth;

    #[test]
    fn the_default_is_the_best_of_its_neighbours_and_follows_the_size_of_the_samples() {
        let train = synth::blobs(3, 10, 6, 1);
        let (jury, targets) = (Jury::new(&train).unwrap(), train.targets());
        let chosen = LinearSvm::default().choose(&train, &mut ()).unwrap().theta.unwrap();
        let loss = |theta: f64| {
            let svm = svm::fit(train.x(), &targets, 3, 1.0 / theta, None, &mut ()).unwrap();
            jury.verdict(svm::left_out(train.x(), &targets, None, &svm, 1.0 / theta).unwrap()).unwrap().loss
        };
        assert!(loss(chosen) <= loss(10.0 * chosen) + 1e-9 && loss(chosen) <= loss(chosen / 10.0) + 1e-9);
        let long = train.with_features(faer::Scale(10.0) * train.x()).unwrap();
        let longer = LinearSvm::default().choose(&long, &mut ()).unwrap().theta.unwrap();
        assert!((longer * 100.0 / chosen - 1.0).abs() < 1e-9, "{chosen} {longer}");
    }
}
