//! SVGDL from sums over partitions, see [`crate::rounds`]: the same rounds as LCDL-SV's, in the coordinates of the codes
//! themselves. The dictionary step needs `Z Z^T` and `X Z^T` alone.

use super::Svgdl;
use crate::init::USUAL_ATOMS;
use crate::linalg::{relative_change, trace};
use crate::rounds::{
    self, Ask, CodeSums, Coding, Message, Moments, PartialStats, Partitioned, PullAsk, Rounds, RoundsStart, Scatter,
    class_pca_mean, restore_svm, store_svm,
};
use crate::svm::Svm;
use crate::update::lagrange_dual;
use crate::{Error, Observer, Parts, Result};
use faer::Mat;

/// What is known of an iteration once its dictionary is.
#[derive(Clone, Copy, Default)]
struct SvgdlProgress {
    /// `|X - D Z|^2`.
    residual: f64,
    /// `|Z|^2`.
    codes: f64,
    /// Of the dictionary, relative.
    change: f64,
}

/// Training between two rounds.
pub(crate) struct SvgdlRounds {
    params: Svgdl,
    iter: usize,
    /// The next answer brings the sums of the codes.
    wants_sums: bool,
    d: Mat<f64>,
    multipliers: Option<Vec<f64>>,
    svm: Svm,
    coding: Coding,
    progress: SvgdlProgress,
}

impl SvgdlRounds {
    fn begin_iteration(&mut self, moments: &Moments, watch: &mut dyn Observer) -> Result<()> {
        self.iter += 1;
        let p = self.params.code_system(&self.d)?;
        let map = p.solve(self.d.transpose());
        let sums = self.coding.begin_iteration(map, |u| p.solve(u), &self.svm, self.iter, moments)?;
        self.wants_sums = sums.is_none();
        match sums {
            Some(sums) => self.dictionary_step(&sums, moments, watch),
            None => Ok(()),
        }
    }

    fn dictionary_step(&mut self, sums: &CodeSums, moments: &Moments, watch: &mut dyn Observer) -> Result<()> {
        let (code_gram, cross) = sums.of_codes(&self.coding.transform, moments);
        let last = self.multipliers.as_deref();
        let step = lagrange_dual::minimize(&cross.transpose().to_owned(), &code_gram, &self.d, last, watch)?;
        let change = relative_change(&step.dictionary, &self.d);
        let residual = (trace(&moments.outer) + step.value).max(0.0);
        self.progress = SvgdlProgress { residual, codes: trace(&code_gram), change };
        (self.d, self.multipliers) = (step.dictionary, Some(step.multipliers));
        Ok(())
    }
}

impl Partitioned for Svgdl {
    const SCATTER: Scatter = Scatter::ByClass;

    fn begin(self, moments: &Moments, scatters: &[Mat<f64>], watch: &mut dyn Observer) -> Result<RoundsStart> {
        let usual = |&n: &f64| self.atoms_per_class.unwrap_or((n as usize).min(USUAL_ATOMS));
        let wanted: Vec<usize> = moments.counts.iter().map(usual).collect();
        let (d, _) = class_pca_mean(moments, scatters, &wanted, watch)?;
        let svm = Svm::zero(d.ncols(), moments.counts.len());
        let coding = Coding::new(self.strength(), self.active_set, &svm, 1.0 / self.theta);
        let mut rounds = SvgdlRounds {
            params: self,
            iter: 0,
            wants_sums: false,
            d,
            multipliers: None,
            svm,
            coding,
            progress: SvgdlProgress::default(),
        };
        rounds.begin_iteration(moments, watch)?;
        Ok(RoundsStart::Rounds(Box::new(rounds)))
    }

    fn resume(self, message: &mut Message, moments: &Moments, _: &[String]) -> Result<Box<dyn Rounds>> {
        let m = moments.n_features();
        let n_classes = moments.counts.len();
        let d = message.take("dictionary", m, None)?;
        let multipliers: Option<Vec<f64>> = message.get("multipliers")?;
        let svm = restore_svm(message, d.ncols(), n_classes)?;
        let coding = Coding::restore(message, m, n_classes)?;
        if coding.transform.nrows() != d.ncols() || multipliers.as_ref().is_some_and(|held| held.len() != d.ncols()) {
            return Err(Error::Data("the checkpoint's codes do not fit its dictionary".into()));
        }
        let progress = message.take_row("progress", 3)?;
        Ok(Box::new(SvgdlRounds {
            params: self,
            iter: message.get("iter")?,
            wants_sums: message.get("wants_sums")?,
            d,
            multipliers,
            svm,
            coding,
            progress: SvgdlProgress { residual: progress[0], codes: progress[1], change: progress[2] },
        }))
    }
}

impl Rounds for SvgdlRounds {
    fn ask(&self, moments: &Moments) -> Result<Ask> {
        Ok(self.coding.ask(moments, if self.wants_sums { PullAsk::Codes } else { PullAsk::None }, true))
    }

    fn absorb(
        &mut self,
        stats: &mut PartialStats,
        moments: &Moments,
        watch: &mut dyn Observer,
    ) -> Result<Option<Parts>> {
        if std::mem::take(&mut self.wants_sums) {
            let sums = CodeSums::with_pull(stats, PullAsk::Codes, moments)?;
            self.dictionary_step(&sums, moments, watch)?;
        }
        if !self.coding.absorb(stats, moments)? {
            return Ok(None);
        }
        let (svm, losses) = self.coding.newton.solution();
        self.svm = svm;
        let SvgdlProgress { residual, codes, change } = self.progress;
        let terms = self.params.weighted_terms(residual, codes, self.svm.weights.squared_norm_l2(), losses);
        rounds::report(self.iter, self.params.max_iter, &terms, change, watch);
        if self.iter == self.params.max_iter || change < self.params.tol {
            let mut parts = Parts::default();
            parts.put("dictionary", &self.d);
            parts.put_svm(&self.svm);
            return Ok(Some(parts));
        }
        self.begin_iteration(moments, watch)?;
        Ok(None)
    }

    fn store(&self, message: &mut Message) {
        message.set("iter", self.iter);
        message.set("wants_sums", self.wants_sums);
        message.set("multipliers", &self.multipliers);
        message.put("dictionary", self.d.clone());
        store_svm(message, &self.svm);
        let SvgdlProgress { residual, codes, change } = self.progress;
        message.put_row("progress", &[residual, codes, change]);
        self.coding.store(message);
    }
}
