//! The SVM fitted once more, to the codes that new samples get.

use super::{IterationSvm, LcdlSv, LcdlSvModel, accuracy};
use crate::linalg::{Spd, add_diagonal, diagonal, mul, outer_gram, qr};
use crate::svm::{self, Svm};
use crate::{Dataset, Observer, Result};
use faer::MatRef;

/// Loss of training accuracy from training codes to test codes that marks an SVM as lagging behind its dictionary.
pub(super) const LAGGING: f64 = 0.01;
/// The warning about it.
pub(super) const LAGGING_WARNING: &str =
    "LCDL-SV: the SVM no longer fitted the last dictionary and was fitted again (refit_svm = true does so always)";
/// Added to the diagonal of the system for equal scores, as a fraction of its largest entry.
const EQUAL_SCORES: f64 = 1e-12;

impl LcdlSv {
    /// The SVM was fitted to codes of the previous dictionary, with the graph as regulariser; test codes come from the
    /// last one, with `eta1`. After a jump of the graph the two differ, and the lagging SVM can be far off.
    /// `in_training` is its accuracy on the codes it was fitted to; `warm_start` is a model whose refitted SVM is near.
    pub(super) fn refit(
        &self,
        mut model: LcdlSvModel,
        train: &Dataset,
        in_training: f64,
        warm_start: Option<&LcdlSvModel>,
        watch: &mut dyn Observer,
    ) -> Result<LcdlSvModel> {
        let targets = train.targets();
        let never_fitted = model.svm.weights.norm_max() == 0.0;
        let refit = never_fitted
            || self.refit_svm.unwrap_or_else(|| {
                let scores = mul(&model.folded, train.x());
                let on_test = accuracy(&model.svm.with_bias(scores), &targets);
                let lagging = on_test < in_training - LAGGING;
                if lagging {
                    watch.warn(LAGGING_WARNING);
                }
                lagging
            });
        model.from_iterations = Some(IterationSvm { svm: model.svm.clone(), accuracy: in_training, refitted: refit });
        if refit {
            model.svm = self.fit_to_test_codes(model.coder.map(), train, warm_start, watch)?;
            model.folded = mul(model.svm.weights.transpose(), model.coder.map());
        }
        Ok(model)
    }

    /// The SVM on codes `P x`. With more atoms than features `P = Q R`, and the same SVM costs less on `R x`.
    fn fit_to_test_codes(
        &self,
        map: MatRef<'_, f64>,
        train: &Dataset,
        warm_start: Option<&LcdlSvModel>,
        watch: &mut dyn Observer,
    ) -> Result<Svm> {
        let targets = train.targets();
        let tau = 1.0 / self.theta;
        let mut fit = |map: MatRef<'_, f64>| {
            let codes = mul(map, train.x());
            let start = warm_start.and_then(|model| model.svm_with_codes(map));
            let svm = svm::one_vs_rest(&codes, &targets, train.n_classes(), tau, start.as_ref())?;
            svm::settle(&codes, &targets, svm, tau, watch)
        };
        if map.nrows() <= map.ncols() {
            return fit(map);
        }
        let (q, r) = qr(map);
        let svm = fit(r.as_ref())?;
        Ok(Svm { weights: mul(&q, &svm.weights), bias: svm.bias })
    }
}

impl LcdlSvModel {
    /// Nearly the same scores from other codes `P x`: weights `U` with `U^T P` as near to this model's as can be. The scale
    /// of codes changes with `eta1`, so that the same weights would be far off. `None` if the codes are all but zero.
    fn svm_with_codes(&self, map: MatRef<'_, f64>) -> Option<Svm> {
        let mut system = outer_gram(map);
        let shift = EQUAL_SCORES * diagonal(&system).into_iter().fold(0.0, f64::max);
        add_diagonal(&mut system, shift);
        let factor = Spd::new(system, "LCDL-SV refit").ok()?;
        let weights = factor.solve(mul(map, self.folded.transpose()));
        Some(Svm { weights, bias: self.svm.bias.clone() })
    }
}
