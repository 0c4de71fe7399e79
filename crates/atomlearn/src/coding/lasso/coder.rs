//! A dictionary made ready for the lasso codes of many batches of samples.

use super::{InverseGram, LassoCodes, LassoLimits, LassoTask, lasso, lasso_with_inverse};
use crate::linalg::{View, gram};
use faer::{Mat, MatRef};

/// The inverse of the Gram matrix is of use up to this many atoms per feature; beyond, codes are sparse as a rule.
const ATOMS_PER_FEATURE: f64 = 1.25;

/// `G = D^T D`, with its inverse where codes may be dense.
pub struct LassoCoder {
    gram: Mat<f64>,
    inverse: Option<InverseGram>,
}

impl LassoCoder {
    /// For penalized codes over these atoms.
    pub fn penalized(dictionary: impl View) -> Self {
        let dictionary = dictionary.view();
        let mut coder = LassoCoder::plain(dictionary);
        if dictionary.ncols() as f64 <= ATOMS_PER_FEATURE * dictionary.nrows() as f64 {
            coder.inverse = InverseGram::new(&coder.gram, dictionary.nrows());
        }
        coder
    }

    /// For codes of any form over these atoms, without the inverse that only penalized ones can use.
    pub fn plain(dictionary: MatRef<'_, f64>) -> Self {
        LassoCoder { gram: gram(dictionary), inverse: None }
    }

    /// `D^T D`.
    pub fn gram(&self) -> MatRef<'_, f64> {
        self.gram.as_ref()
    }

    /// Codes of the samples with correlations `D^T X` and energies `|x|^2`.
    pub fn codes(&self, correlations: &Mat<f64>, energies: &[f64], task: LassoTask, limits: LassoLimits) -> LassoCodes {
        match (&self.inverse, task) {
            (Some(inverse), LassoTask::Penalized(penalty)) => {
                lasso_with_inverse(self.gram(), inverse, correlations, energies, penalty, limits)
            }
            _ => lasso(self.gram(), correlations, energies, task, limits),
        }
    }
}
