//! What DLSI, MFL and COPAR learn: atoms of every class, perhaps some that all classes share, and a decision by sparse codes.
//!
//! ```text
//! global:  z = argmin 1/2 |x - [D D_0] z|^2 + gamma |z|_1,      e_c = |x - D_0 z_0 - D_c z_c|^2
//! local:   e_c = min_a 1/2 |x - [D_c D_0] a|^2 + gamma |a|_1
//! ```
//!
//! and the smallest `e_c` wins.

use crate::classifier::{AtomKind, Atoms, Header};
use crate::coding::lasso::{LassoCoder, LassoLimits, LassoTask};
use crate::linalg::{column_energies, concat_columns, mul};
use crate::params::words;
use crate::score::{ClassResiduals, score_by_best_atom};
use crate::{Blocks, Classifier, Parts};
use faer::{Mat, MatRef};

/// Scores feel the codes themselves, not just their objective, so test codes are solved nearly exactly.
pub(super) const TEST_LIMITS: LassoLimits = LassoLimits { tolerance: 1e-10, max_steps: 2000 };

words! {
    /// How a sample is decided.
    pub enum Rule {
        /// One code over the whole dictionary.
        Global = "global",
        /// One code per class.
        Local = "local",
        /// One code per class, judged as the DICTOL toolbox does: `|x - [D_c D_0] a|^2 + gamma^2 |a|^2`.
        LocalDictol = "local-dictol",
    }
}

/// The rules of methods without shared atoms.
pub(super) const GLOBAL_LOCAL: &[&str] = &["global", "local"];

/// How samples are decided.
#[derive(Clone, Copy)]
pub(super) struct Decision {
    pub rules: &'static [&'static str],
    pub rule: Rule,
    /// Weight of the sum of magnitudes against half the squared residual.
    pub gamma: f64,
}

/// Learned atoms, ready to code against.
pub struct ClassDictionary {
    header: Header,
    /// The atoms of the classes in order, then the shared ones.
    atoms: Mat<f64>,
    blocks: Blocks,
    has_shared: bool,
    coder: LassoCoder,
    residuals: ClassResiduals,
    /// `[D_c D_0]` of each class.
    local: Vec<LassoCoder>,
    decision: Decision,
}

impl ClassDictionary {
    pub(super) fn new(
        classes: Vec<String>,
        dictionary: &Mat<f64>,
        blocks: Blocks,
        shared: Option<&Mat<f64>>,
        decision: Decision,
    ) -> Self {
        let has_shared = shared.is_some();
        let shared = shared.map_or_else(|| Mat::zeros(dictionary.nrows(), 0), Mat::clone);
        let with_shared =
            |own: MatRef<'_, f64>| LassoCoder::penalized(concat_columns(&[own.to_owned(), shared.clone()]).as_ref());
        let atoms = concat_columns(&[dictionary.clone(), shared.clone()]);
        ClassDictionary {
            header: Header::new(classes, dictionary.nrows(), decision.rules).deciding_by(decision.rule as usize),
            coder: LassoCoder::penalized(&atoms),
            residuals: ClassResiduals::new(dictionary, &blocks),
            local: blocks.ranges().map(|range| with_shared(dictionary.subcols(range.start, range.len()))).collect(),
            atoms,
            blocks,
            has_shared,
            decision,
        }
    }

    fn class_atoms(&self) -> MatRef<'_, f64> {
        self.atoms.subcols(0, self.blocks.total())
    }

    fn shared_atoms(&self) -> MatRef<'_, f64> {
        let n_atoms = self.blocks.total();
        self.atoms.subcols(n_atoms, self.atoms.ncols() - n_atoms)
    }

    /// `z` over all atoms.
    fn code(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        let correlations = mul(self.atoms.transpose(), x);
        let task = LassoTask::Penalized(self.decision.gamma);
        self.coder.codes(&correlations, &column_energies(x), task, TEST_LIMITS).codes.to_dense()
    }

    fn global_scores(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        let z = self.code(x);
        let n_atoms = self.blocks.total();
        let rest = x - mul(self.shared_atoms(), z.subrows(n_atoms, z.nrows() - n_atoms));
        let own = z.subrows(0, n_atoms);
        let correlations = mul(self.class_atoms().transpose(), &rest);
        let mut scores = -self.residuals.of(&rest, own, &correlations).squared;
        for i in (0..x.ncols()).filter(|&i| own.col(i).norm_max() == 0.0) {
            score_by_best_atom(&mut scores, i, &self.blocks, rest.col(i).squared_norm_l2(), correlations.col(i));
        }
        self.never_without_atoms(&mut scores);
        scores
    }

    /// Scores of the two local rules.
    pub(super) fn local_scores(&self, x: MatRef<'_, f64>) -> [Mat<f64>; 2] {
        let gamma = self.decision.gamma;
        let energies = column_energies(x);
        let correlations = mul(self.atoms.transpose(), x);
        let n_atoms = self.blocks.total();
        let n_shared = self.atoms.ncols() - n_atoms;
        let [mut attained, mut dictol] = [(); 2].map(|()| Mat::zeros(self.blocks.len(), x.ncols()));
        let mut used = vec![false; x.ncols()];
        for (c, range) in self.blocks.ranges().enumerate() {
            let mut own = Mat::zeros(range.len() + n_shared, x.ncols());
            own.subrows_mut(0, range.len()).copy_from(correlations.subrows(range.start, range.len()));
            own.subrows_mut(range.len(), n_shared).copy_from(correlations.subrows(n_atoms, n_shared));
            let found = self.local[c].codes(&own, &energies, LassoTask::Penalized(gamma), TEST_LIMITS);
            for i in 0..x.ncols() {
                let code = found.codes.sample(i).1;
                let l1: f64 = code.iter().map(|a| a.abs()).sum();
                let energy: f64 = code.iter().map(|a| a * a).sum();
                attained[(c, i)] = -(0.5 * found.squared_residuals[i] + gamma * l1);
                dictol[(c, i)] = -(found.squared_residuals[i] + gamma * gamma * energy);
                used[i] |= l1 > 0.0;
            }
        }
        for i in (0..x.ncols()).filter(|&i| !used[i]) {
            for scores in [&mut attained, &mut dictol] {
                score_by_best_atom(scores, i, &self.blocks, energies[i], correlations.col(i));
            }
        }
        [attained, dictol].map(|mut scores| {
            self.never_without_atoms(&mut scores);
            scores
        })
    }

    /// A class without atoms is never chosen.
    fn never_without_atoms(&self, scores: &mut Mat<f64>) {
        for (c, _) in self.blocks.sizes().enumerate().filter(|(_, size)| *size == 0) {
            scores.row_mut(c).fill(f64::NEG_INFINITY);
        }
    }
}

impl Classifier for ClassDictionary {
    fn header(&self) -> &Header {
        &self.header
    }

    fn store(&self, parts: &mut Parts) {
        parts.put("dictionary", self.class_atoms());
        parts.put_blocks("atom_counts", &self.blocks);
        if self.has_shared {
            parts.put("shared", self.shared_atoms());
        }
    }

    fn atoms(&self) -> Option<Atoms<'_>> {
        // Shared atoms belong to no class.
        let classes = Some(&self.blocks).filter(|blocks| blocks.total() == self.atoms.ncols());
        Some(Atoms { kind: AtomKind::Dictionary, columns: &self.atoms, classes })
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        let mut scores = vec![self.global_scores(x)];
        scores.extend(self.local_scores(x));
        scores.truncate(self.decision.rules.len());
        scores
    }

    fn score_block(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        match self.decision.rule {
            Rule::Global => self.global_scores(x),
            Rule::Local => self.local_scores(x)[0].clone(),
            Rule::LocalDictol => self.local_scores(x)[1].clone(),
        }
    }

    fn codes_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        Some(self.code(x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::lasso::lasso;
    use crate::linalg::{gram, normalize_columns};
    use crate::synth;

    fn model(gamma: f64, n_shared: usize) -> (ClassDictionary, Mat<f64>, Mat<f64>) {
        let train = synth::blobs(3, 4, 9, 1);
        let mut shared = Mat::from_fn(9, n_shared, |i, j| ((i * 5 + j * 3) % 7) as f64 - 3.0);
        normalize_columns(shared.as_mut());
        let decision = Decision { rules: Rule::WORDS, rule: Rule::Local, gamma };
        let blocks = Blocks::from_sizes([4, 4, 4]);
        let dictionary = train.x().to_owned();
        (
            ClassDictionary::new(train.classes().to_vec(), &dictionary, blocks, Some(&shared), decision),
            dictionary,
            shared,
        )
    }

    #[test]
    fn scores_equal_their_definition() {
        for n_shared in [0, 2] {
            let (model, d, shared) = model(0.05, n_shared);
            let test = synth::blobs(3, 5, 9, 2);
            let x = test.x();
            let found = model.scores_by_rule(x).unwrap();
            let codes = model.codes_block(x).unwrap();
            let rest = x - &shared * codes.subrows(12, n_shared);
            for c in 0..3 {
                let own = d.subcols(4 * c, 4);
                let left = &rest - own * codes.subrows(4 * c, 4);
                let both = concat_columns(&[own.to_owned(), shared.clone()]);
                let local = lasso(
                    gram(&both).as_ref(),
                    mul(both.transpose(), x).as_ref(),
                    &column_energies(x),
                    LassoTask::Penalized(0.05),
                    TEST_LIMITS,
                );
                let a = local.codes.to_dense();
                let error = x - &both * &a;
                for i in 0..x.ncols() {
                    let squared = error.col(i).squared_norm_l2();
                    let attained = 0.5 * squared + 0.05 * a.col(i).norm_l1();
                    let dictol = squared + 0.05 * 0.05 * a.col(i).squared_norm_l2();
                    for ((_, scores), expected) in found.iter().zip([left.col(i).squared_norm_l2(), attained, dictol]) {
                        assert!((scores[(c, i)] + expected).abs() < 1e-8);
                    }
                }
            }
            assert_eq!(model.scores(x).unwrap(), found[1].1);
        }
    }

    #[test]
    fn zero_codes_are_decided_by_the_best_atom() {
        let (model, d, _) = model(10.0, 0);
        assert_eq!(model.codes_block(d.as_ref()).unwrap().norm_max(), 0.0);
        for (rule, scores) in model.scores_by_rule(d.as_ref()).unwrap() {
            let expected: Vec<usize> = (0..12).map(|k| k / 4).collect();
            assert_eq!(crate::classifier::best_class(&scores), expected, "{rule}");
        }
        assert!(model.scores(Mat::zeros(9, 1).as_ref()).unwrap().is_all_finite());
    }
}
