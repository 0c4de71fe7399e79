//! Codes that are linear in the sample and in the pull of the classifiers, `Y = T s` with `s = (x, w)`, and the SVM on them.
//!
//! Whatever a method needs of its codes follows from sums of `s s^T`, so partitions never form codes for it.

use super::message::Message;
use super::moments::{Moments, bordered};
use super::newton::Newton;
use super::request::{Ask, Chain, Link, PullAsk, SvmAsk, put_chain, take_chain};
use super::stats::PartialStats;
use super::sums::{PullSums, PullsWithSamples};
use crate::coding::margin::MarginSet;
use crate::linalg::mul;
use crate::svm::Svm;
use crate::{Error, Result};
use faer::{Mat, MatRef, Scale};

/// Codes of one iteration and the SVM on its way.
pub(crate) struct Coding {
    pub(crate) chain: Chain,
    /// `T`, coordinates x (features + classes), or x features where nothing pulls.
    pub(crate) transform: Mat<f64>,
    pub(crate) newton: Newton,
}

/// The classifiers as the code step of an iteration sees them, see [`crate::coding::margin`].
pub(crate) struct NextPull {
    /// `U^T` times the map from samples to codes without pull.
    pub(crate) base: Mat<f64>,
    pub(crate) coupling: Mat<f64>,
    /// `G`, coordinates x classes.
    pub(crate) directions: Mat<f64>,
}

impl Coding {
    /// Before the first iteration.
    pub(crate) fn new(strength: f64, active_set: MarginSet, svm: &Svm, tau: f64) -> Self {
        let chain = Chain { start: 0, strength, active_set, links: Vec::new() };
        Coding { chain, transform: Mat::new(), newton: Newton::from_svm(svm, tau) }
    }

    /// Codes `map x`; `iter` is the iteration that begins.
    pub(crate) fn set_plain(&mut self, map: Mat<f64>, iter: usize) {
        self.transform = map;
        (self.chain.start, self.chain.links) = (iter, Vec::new());
    }

    /// Codes `map x + a G w`. `last` is the SVM in the coordinates of the codes so far.
    pub(crate) fn set_pulled(&mut self, map: &Mat<f64>, pull: NextPull, last: &Svm) {
        let ((r, m), n_classes) = (map.shape(), last.bias.len());
        let from = mul(last.weights.transpose(), &self.transform);
        let from_w =
            if from.ncols() > m { from.subcols(m, n_classes).to_owned() } else { Mat::zeros(n_classes, n_classes) };
        let from_x = from.subcols(0, m).to_owned();
        let NextPull { base, coupling, directions } = pull;
        self.chain.links.push(Link { from_x, from_w, bias: last.bias_row(), base, coupling });
        self.transform = Mat::zeros(r, m + n_classes);
        self.transform.subcols_mut(0, m).copy_from(map);
        self.transform.subcols_mut(m, n_classes).copy_from(Scale(self.chain.strength) * directions);
    }

    /// Codes of iteration `iter`, `map x + a G w` with `G = directions(U)`, and the SVM where the last iteration left it. Where
    /// nothing pulls, the sums of the codes are known and given back; else they have to be asked for.
    pub(crate) fn begin_iteration(
        &mut self,
        map: Mat<f64>,
        directions: impl FnOnce(MatRef<'_, f64>) -> Mat<f64>,
        svm: &Svm,
        iter: usize,
        moments: &Moments,
    ) -> Result<Option<CodeSums>> {
        let never_fitted = svm.weights.norm_max() == 0.0;
        let tau = self.newton.tau();
        self.newton = Newton::from_svm(svm, tau);
        if self.chain.strength == 0.0 || never_fitted {
            self.set_plain(map, iter);
            let sums = CodeSums::plain(moments);
            if never_fitted {
                self.newton = sums.first_step(&self.transform, moments, tau)?;
            }
            return Ok(Some(sums));
        }
        let u = svm.weights.as_ref();
        let directions = directions(u);
        let coupling = mul(u.transpose(), &directions);
        let base = mul(u.transpose(), &map);
        self.set_pulled(&map, NextPull { base, coupling, directions }, svm);
        Ok(None)
    }

    /// The next evaluation of the SVM, and the sums of the codes if they are wanted. Without `evaluate`, those alone.
    pub(crate) fn ask(&self, moments: &Moments, sums: PullAsk, evaluate: bool) -> Ask {
        let lift = self.lifted(moments).then(|| self.transform.clone());
        let (pending, weights) = if evaluate {
            (self.newton.pending(), self.newton.weights(self.unlifted(moments)))
        } else {
            let dim = lift.as_ref().map_or(self.transform.ncols(), Mat::nrows);
            (Vec::new(), Mat::zeros(dim + 1, 0))
        };
        Ask::Svm(SvmAsk { chain: self.chain_in_use(), lift, pending, weights, sums })
    }

    /// Takes an evaluation of the SVM; true if that was the last.
    pub(crate) fn absorb(&mut self, stats: &mut PartialStats, moments: &Moments) -> Result<bool> {
        let transform = self.unlifted(moments).map(|transform| transform.to_owned());
        self.newton.absorb(stats, transform.as_ref().map(Mat::as_ref))?;
        Ok(self.newton.pending().is_empty())
    }

    /// The chain, if it has begun.
    pub(crate) fn chain_in_use(&self) -> Option<Chain> {
        (!self.chain.links.is_empty()).then(|| self.chain.clone())
    }

    /// Where codes have clearly fewer dimensions than `s`, partitions form them; else `s` itself will do.
    fn lifted(&self, moments: &Moments) -> bool {
        let pulls = if self.chain.links.is_empty() { 0 } else { moments.counts.len() };
        9 * self.transform.nrows() < 8 * (moments.n_features() + pulls)
    }

    /// From the features of the partitions to the coordinates of the SVM.
    fn unlifted(&self, moments: &Moments) -> Option<MatRef<'_, f64>> {
        (!self.lifted(moments)).then_some(self.transform.as_ref())
    }

    /// For a checkpoint.
    pub(crate) fn store(&self, message: &mut Message) {
        message.put("transform", self.transform.clone());
        put_chain(message, Some(&self.chain));
        self.newton.store(message);
    }

    /// The counterpart of [`Coding::store`].
    pub(crate) fn restore(message: &mut Message, m: usize, n_classes: usize) -> Result<Self> {
        let chain = take_chain(message, m, n_classes)?;
        let chain = chain.ok_or_else(|| Error::Data("the checkpoint has no chain".into()))?;
        let stacked = m + if chain.links.is_empty() { 0 } else { n_classes };
        let transform = message.take("transform", None, stacked)?;
        let newton = Newton::restore(message)?;
        if newton.dim() != transform.nrows() || newton.n_classes() != n_classes {
            return Err(Error::Data("the checkpoint's SVM does not fit its codes".into()));
        }
        Ok(Coding { chain, transform, newton })
    }
}

/// Keeps the classifiers of the last iteration in a checkpoint.
pub(crate) fn store_svm(message: &mut Message, svm: &Svm) {
    message.put("last.weights", svm.weights.clone());
    message.put_row("last.bias", &svm.bias);
}

/// The counterpart of [`store_svm`].
pub(crate) fn restore_svm(message: &mut Message, dim: usize, n_classes: usize) -> Result<Svm> {
    let weights = message.take("last.weights", dim, n_classes)?;
    Ok(Svm { weights, bias: message.take_row("last.bias", n_classes)? })
}

/// `sum s s^T` and the sum of `s` by class.
pub(crate) struct CodeSums {
    second: Mat<f64>,
    by_class: Mat<f64>,
    /// `w x^T` of every class, where it was asked for.
    class_pulls: Vec<Mat<f64>>,
}

impl CodeSums {
    /// Without a pull, `s = x`.
    pub(crate) fn plain(moments: &Moments) -> Self {
        CodeSums { second: moments.outer.clone(), by_class: moments.sums.clone(), class_pulls: Vec::new() }
    }

    /// From the answer to a round that asked for these sums.
    pub(crate) fn with_pull(stats: &mut PartialStats, asked: PullAsk, moments: &Moments) -> Result<Self> {
        let (m, n_classes) = (moments.n_features(), moments.counts.len());
        let pulls = PullSums::take(stats, m, n_classes, asked == PullAsk::CodesByClass)?;
        let (across, class_pulls) = match pulls.with_samples {
            PullsWithSamples::Together(all) => (all, Vec::new()),
            PullsWithSamples::ByClass(classes) => {
                (classes.iter().fold(Mat::zeros(n_classes, m), |sum, part| sum + part), classes)
            }
        };
        let mut second = Mat::zeros(m + n_classes, m + n_classes);
        second.submatrix_mut(0, 0, m, m).copy_from(&moments.outer);
        second.submatrix_mut(m, 0, n_classes, m).copy_from(&across);
        second.submatrix_mut(0, m, m, n_classes).copy_from(across.transpose());
        second.submatrix_mut(m, m, n_classes, n_classes).copy_from(&pulls.second);
        let mut by_class = Mat::zeros(m + n_classes, n_classes);
        by_class.subrows_mut(0, m).copy_from(&moments.sums);
        by_class.subrows_mut(m, n_classes).copy_from(&pulls.by_class);
        Ok(CodeSums { second, by_class, class_pulls })
    }

    /// `Y X_c^T` over the samples of class `c`, whose `X_c X_c^T` is `outer`; `rows` are those of the transform that matter.
    pub(crate) fn of_class(&self, class: usize, rows: MatRef<'_, f64>, outer: &Mat<f64>) -> Mat<f64> {
        let m = outer.nrows();
        let mut cross = mul(rows.subcols(0, m), outer);
        if let Some(pulls) = self.class_pulls.get(class) {
            cross += mul(rows.subcols(m, pulls.nrows()), pulls);
        }
        cross
    }

    /// `Y Y^T` and `Y X^T`.
    pub(crate) fn of_codes(&self, transform: &Mat<f64>, moments: &Moments) -> (Mat<f64>, Mat<f64>) {
        let half = mul(transform, &self.second);
        let code_gram = mul(&half, transform.transpose());
        (code_gram, half.subcols(0, moments.n_features()).to_owned())
    }

    /// The SVM on codes one step from zero, where the sums are known.
    pub(crate) fn first_step(&self, transform: &Mat<f64>, moments: &Moments, tau: f64) -> Result<Newton> {
        let (code_gram, _) = self.of_codes(transform, moments);
        let codes = mul(transform, &self.by_class);
        let (second, by_class) = bordered(&code_gram, &codes, &moments.counts);
        Newton::from_moments(&second, &by_class, tau)
    }
}
