//! What LRSDL learns, and its decisions.

use super::Lrsdl;
use crate::classifier::{Atoms, Header};
use crate::coding::lasso::{LassoCoder, LassoTask};
use crate::linalg::{column_energies, concat_columns, mul};
use crate::methods::class_dictionary::{ClassDictionary, Decision, GLOBAL_LOCAL, Rule, TEST_LIMITS};
use crate::methods::fddl::codes::distances_from;
use crate::score::ClassResiduals;
use crate::{Blocks, Classifier, Fit, Parts};
use faer::{Mat, MatRef};

/// What training finds.
pub(super) struct Learned {
    pub dictionary: Mat<f64>,
    pub shared: Mat<f64>,
    pub blocks: Blocks,
    /// Mean codes of the classes, atoms x classes.
    pub means: Mat<f64>,
    /// Mean of the shared codes, one column.
    pub shared_mean: Mat<f64>,
}

/// Learned atoms with the means of their codes, ready to code against.
pub struct LrsdlModel {
    learned: Learned,
    /// The atoms for the local rule.
    atoms: ClassDictionary,
    /// `[D D_0; 0 sqrt(gamma0) I]`: over it, `[x; sqrt(gamma0) mean]` has the code of the global rule.
    stacked: Mat<f64>,
    coder: LassoCoder,
    residuals: ClassResiduals,
    params: Lrsdl,
}

impl LrsdlModel {
    pub(super) fn new(classes: Vec<String>, learned: Learned, params: &Lrsdl) -> Self {
        let Learned { dictionary, shared, blocks, .. } = &learned;
        let (m, n_atoms) = dictionary.shape();
        let both = concat_columns(&[dictionary.clone(), shared.clone()]);
        let mut stacked = Mat::zeros(m + shared.ncols(), both.ncols());
        stacked.subrows_mut(0, m).copy_from(&both);
        (0..shared.ncols()).for_each(|k| stacked[(m + k, n_atoms + k)] = params.gamma0.sqrt());
        let decision = Decision { rules: GLOBAL_LOCAL, rule: params.rule, gamma: params.gamma };
        LrsdlModel {
            atoms: ClassDictionary::new(classes, dictionary, blocks.clone(), Some(shared), decision),
            coder: LassoCoder::penalized(&stacked),
            residuals: ClassResiduals::new(dictionary, blocks),
            stacked,
            params: params.clone(),
            learned,
        }
    }

    /// `[z; z_0]` of the global rule.
    fn code(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        let m = x.nrows();
        let mut target = Mat::zeros(self.stacked.nrows(), x.ncols());
        target.subrows_mut(0, m).copy_from(x);
        for k in 0..self.learned.shared.ncols() {
            target.row_mut(m + k).fill(self.params.gamma0.sqrt() * self.learned.shared_mean[(k, 0)]);
        }
        let correlations = mul(self.stacked.transpose(), &target);
        let task = LassoTask::Penalized(self.params.gamma);
        self.coder.codes(&correlations, &column_energies(&target), task, TEST_LIMITS).codes.to_dense()
    }

    /// Class residuals without what the shared atoms explain, and `|z - m_c|^2`; a class without atoms is infinitely far.
    fn global_terms(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        let Learned { dictionary, shared, blocks, means, .. } = &self.learned;
        let codes = self.code(x);
        let (z, shared_codes) = codes.as_ref().split_at_row(dictionary.ncols());
        let rest = if shared.ncols() > 0 { x - mul(shared, shared_codes) } else { x.to_owned() };
        let squared = self.residuals.of(&rest, z, mul(dictionary.transpose(), &rest)).squared;
        let (n_classes, n) = squared.shape();
        let fit = |c, i| if blocks.size(c) == 0 { f64::INFINITY } else { squared[(c, i)] };
        vec![Mat::from_fn(n_classes, n, fit), distances_from(means, z)]
    }

    fn local_scores(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        let [attained, _] = self.atoms.local_scores(x);
        attained
    }
}

impl Classifier for LrsdlModel {
    fn header(&self) -> &Header {
        self.atoms.header()
    }

    fn store(&self, parts: &mut Parts) {
        parts.put("dictionary", &self.learned.dictionary);
        parts.put("shared", &self.learned.shared);
        parts.put_blocks("atom_counts", &self.learned.blocks);
        parts.put("means", &self.learned.means);
        parts.put("shared_mean", &self.learned.shared_mean);
    }

    fn atoms(&self) -> Option<Atoms<'_>> {
        self.atoms.atoms()
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        vec![self.params.readout(&self.global_terms(x)), self.local_scores(x)]
    }

    fn score_block(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        self.params.readout(&self.score_terms_block(x))
    }

    fn score_terms_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        match self.params.rule {
            Rule::Global => self.global_terms(x),
            _ => vec![self.local_scores(x)],
        }
    }

    fn codes_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        Some(self.code(x))
    }
}
