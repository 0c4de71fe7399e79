//! CRC: collaborative representation with regularised least squares.
//!
//! The dictionary is the training set, `D = X`; a sample's code over all of it is ridge regression,
//!
//! ```text
//! z = argmin |x - D z|^2 + kappa |z|^2 = (D^T D + kappa I)^-1 D^T x,
//! ```
//!
//! and the class with the smallest regularised residual `|x - D_c z_c| / |z_c|` wins.
//! A sample of weight `w` is the atom `sqrt(w) x`: its code stands for `w` equal parts, whose squares add up to the same.
//! Deviation: the original scales `kappa` with the number of samples; here it is used as given. `kappa = auto` is chosen by leave-one-out:
//! the code of a training sample over all others is `z_j = -A_ji / A_ii` with `A = (D^T D + kappa I)^-1` ([`crate::loo`]).

use crate::classifier::{AtomKind, Atoms, Header};
use crate::export::{Graph, Tensor};
use crate::linalg::{concat_columns, gram, mul, scaled_columns, select_columns, sym_eig};
use crate::loo::choice::{Jury, MOST_QUERIES, Verdict, decade, decades, descend, median_square, settled};
use crate::loo::grouped::GroupedFolds;
use crate::loo::{ClassMoments, Coder, PrimalCoder, residual_scores};
use crate::params::{Domain, params, words};
use crate::rounds::{self, Partitioned, RoundsStart, Scatter};
use crate::score::{Residuals, RidgeResiduals};
use crate::{Blocks, Classifier, Dataset, Error, Fit, Observer, Parts, Result, State};
use faer::{Mat, MatRef};
use std::sync::Arc;

/// `kappa` where nothing can be chosen.
const KAPPA: f64 = 1e-3;
/// Powers of ten, times the samples' median square, from which `kappa` is chosen; the way starts at this place.
const POWERS: std::ops::RangeInclusive<i32> = -5..=2;
const USUAL: usize = 3;
/// Entries of the scatter matrices of all classes that may be held.
const MOST_ENTRIES: usize = 1 << 24;

/// Eigenvalues of a class's Gram matrix below this fraction of the largest count as zero.
const GRAM_RANK: f64 = 1e-13;

words! {
    /// Which residual decides.
    pub enum Residual {
        /// `|x - D_c z_c| / |z_c|`, the original rule.
        Regularized = "regularized",
        /// `|x - D_c z_c|`.
        Plain = "plain",
    }
}

params! {
    /// Parameters of CRC.
    pub struct Crc {
        /// Weight of the squared norm of the code; `auto` chooses it by exact leave-one-out on the training samples.
        kappa: Option<f64> = None, Domain::Auto(&Domain::Positive), grid [1e-4, 1e-3, 1e-2, 1e-1, 1.0];
        /// Divide each class residual by the size of the class's code, as the original does, or not.
        residual: Residual = Residual::Regularized, Domain::OneOf(Residual::WORDS);
    }
}

/// The training set, ready to code against.
pub struct CrcModel {
    header: Header,
    dictionary: Mat<f64>,
    coder: RidgeResiduals,
    residual: Residual,
}

impl Crc {
    fn model(&self, classes: Vec<String>, dictionary: Mat<f64>, blocks: &Blocks) -> Result<CrcModel> {
        let kappa = self.kappa.unwrap_or(KAPPA);
        let coder = RidgeResiduals::new(&dictionary, blocks, kappa, "CRC coder")?;
        Ok(CrcModel {
            header: Header::new(classes, dictionary.nrows(), &["residual"]),
            coder,
            residual: self.residual,
            dictionary,
        })
    }

    /// The best of some powers of ten.
    fn best_kappa(&self, train: &Dataset, watch: &mut dyn Observer) -> Option<(f64, Verdict)> {
        let values = decades(decade(median_square(train)), POWERS);
        if let Some(groups) = train.groups() {
            let with = |kappa: f64| Crc { kappa: Some(kappa), ..self.clone() };
            return GroupedFolds::new(train, groups)?.best(&values, USUAL, watch, with);
        }
        let jury = Jury::new(train)?;
        let weights: Vec<f64> = jury.places.iter().map(|&i| train.weights().map_or(1.0, |w| w[i])).collect();
        let train = &*train.times_roots();
        let x = train.x();
        let blocks = train.blocks();
        let n = x.ncols() as f64;
        let m = x.nrows() as f64;
        let n_classes = blocks.len() as f64;
        let held = n_classes * m * m <= MOST_ENTRIES as f64;
        // Flops of one value: an inverse and products of the size of the samples, or of the features.
        let over_samples = 2.0 * n * n * n;
        let over_features = m * m * (m + 2.0 * jury.places.len() as f64 * n_classes);
        if held && (over_features < over_samples || train.n_samples() > MOST_QUERIES) {
            let moments = Arc::new(ClassMoments::of(x, blocks, true));
            let asked = select_columns(x, &jury.places);
            return descend(&values, USUAL, watch, |kappa| {
                let coder = PrimalCoder::new(moments.clone(), kappa)?;
                let residuals = coder.left_out(asked.as_ref(), &jury.targets).residuals()?;
                jury.verdict(self.scores_left_out(&residuals, &weights))
            });
        }
        // Too many samples for their Gram matrix: as if those that are left out in turn were all.
        let some = train.subset(&jury.places).ok()?;
        let products = gram(some.x());
        descend(&values, USUAL, watch, |kappa| {
            let coder = Coder::new(products.as_ref(), some.blocks(), kappa)?;
            jury.verdict(self.scores_left_out(&coder.residuals_left_out(), &weights))
        })
    }

    /// Scores of samples that were left out, themselves multiplied by the roots of their weights. A class without any code has a finite score here, so that others can be compared with it.
    fn scores_left_out(&self, residuals: &Residuals, weights: &[f64]) -> Mat<f64> {
        match self.residual {
            Residual::Regularized => residual_scores(residuals),
            Residual::Plain => scaled_columns(&residuals.squared, |i| -1.0 / weights[i]),
        }
    }
}

impl Fit for Crc {
    type Model = CrcModel;
    const KEY: &'static str = "crc";
    const TITLE: &'static str = "Collaborative representation (CRC-RLS)";
    const PAPER: &'static str = "Zhang, Yang, Feng: Sparse representation or collaborative representation: which helps face recognition? ICCV 2011";
    const LEAVES_GROUPS_OUT: bool = true;
    const CLOSED_FORM: bool = true;
    const WEIGHTS: bool = true;
    const DECISION: &'static [&'static str] = &["kappa", "residual"];

    fn choose(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<Self> {
        if self.kappa.is_some() {
            return Ok(self.clone());
        }
        let best = self.best_kappa(train, watch);
        Ok(Crc { kappa: Some(settled(Self::KEY, "kappa", best, KAPPA, watch)), ..self.clone() })
    }

    fn fixed(&self) -> Self {
        Crc { kappa: self.kappa.or(Some(KAPPA)), ..self.clone() }
    }

    fn learn(&self, train: &Dataset, _: Option<State>, _watch: &mut dyn Observer) -> Result<CrcModel> {
        self.model(train.classes().to_vec(), train.times_roots().x().to_owned(), train.blocks())
    }

    fn restore(&self, mut parts: Parts) -> Result<CrcModel> {
        let (dictionary, blocks) = parts.take_class_atoms("dictionary", None)?;
        self.model(parts.classes, dictionary, &blocks)
    }
}

/// CRC over all training samples, exactly, from few atoms.
///
/// With `S = (X X^T + kappa I)^-1`, the part of class `c` is `X_c z_c = X_c X_c^T S x`, and the energy of its code is
/// `x^T S X_c X_c^T S x`: the samples of a class enter through `X_c X_c^T` alone, so any `D_c` with the same `D_c D_c^T`
/// gives the same scores. Taken here: eigenvectors times roots of eigenvalues, at most as many as features.
impl Partitioned for Crc {
    const SCATTER: Scatter = Scatter::ByClass;

    fn begin(self, moments: &rounds::Moments, scatters: &[Mat<f64>], _watch: &mut dyn Observer) -> Result<RoundsStart> {
        let atoms = scatters.iter().enumerate().map(|(c, scatter)| {
            let (values, vectors) = sym_eig(moments.class_outer(scatter, c), "CRC dictionary")?;
            let rank = values.iter().take_while(|&&v| v > GRAM_RANK * values[0] && v > 0.0).count();
            Ok(scaled_columns(vectors.subcols(0, rank), |j| values[j].sqrt()))
        });
        let atoms: Vec<Mat<f64>> = atoms.collect::<Result<_>>()?;
        let blocks = Blocks::from_sizes(atoms.iter().map(Mat::ncols));
        if blocks.total() == 0 {
            return Err(Error::Data("every training sample is zero: there is nothing to code with".into()));
        }
        let mut parts = Parts::default();
        parts.put("dictionary", concat_columns(&atoms));
        parts.put_blocks("atom_counts", &blocks);
        Ok(RoundsStart::Done(parts))
    }
}

impl Classifier for CrcModel {
    fn header(&self) -> &Header {
        &self.header
    }

    fn store(&self, parts: &mut Parts) {
        parts.put("dictionary", &self.dictionary);
        parts.put_blocks("atom_counts", self.coder.blocks());
    }

    fn atoms(&self) -> Option<Atoms<'_>> {
        Some(Atoms { kind: AtomKind::Dictionary, columns: &self.dictionary, classes: Some(self.coder.blocks()) })
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        let residuals = self.coder.of(x);
        vec![match self.residual {
            Residual::Regularized => -residuals.regularized(),
            Residual::Plain => -residuals.squared,
        }]
    }

    fn codes_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        Some(mul(self.coder.map(), x))
    }

    fn export(&self, graph: &mut Graph, x: &Tensor) -> Result<Tensor> {
        let residuals = self.coder.export(graph, x);
        let residual = match self.residual {
            Residual::Regularized => residuals.regularized(graph),
            Residual::Plain => residuals.squared,
        };
        Ok(graph.negative(&residual))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth;

    /// In features and in samples, with unbalanced classes: what leave-one-out says is what a training without the sample says.
    #[test]
    fn leave_one_out_equals_training_without_the_sample() {
        let shapes = [(8, 5), (5, 30)].map(|(per_class, dim)| synth::blobs(3, per_class, dim, 3));
        for train in shapes.iter().flat_map(|train| [train.clone(), train.weighted_for_tests()]) {
            let weights = train.weights().map_or_else(|| vec![1.0; train.n_samples()], <[f64]>::to_vec);
            let scaled = train.times_roots();
            let products = gram(scaled.x());
            for residual in [Residual::Regularized, Residual::Plain] {
                for kappa in [1e-3, 0.1, 10.0] {
                    let crc = Crc { kappa: Some(kappa), residual };
                    let dual = Coder::new(products.as_ref(), train.blocks(), kappa).unwrap().residuals_left_out();
                    let moments = Arc::new(ClassMoments::of(scaled.x(), train.blocks(), true));
                    let targets = train.targets();
                    let primal = PrimalCoder::new(moments, kappa).unwrap();
                    let primal = primal.left_out(scaled.x(), &targets).residuals().unwrap();
                    for found in [crc.scores_left_out(&dual, &weights), crc.scores_left_out(&primal, &weights)] {
                        for i in 0..train.n_samples() {
                            let model = crc.fit(&train.without(i), &mut ()).unwrap();
                            let expected = model.scores(train.x().subcols(i, 1)).unwrap();
                            for c in 0..3 {
                                let (found, expected) = (found[(c, i)], expected[(c, 0)]);
                                assert!(
                                    (found - expected).abs() < 1e-8 * expected.abs().max(1.0),
                                    "{found} {expected}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_chosen_value_is_told_and_belongs_to_the_size_of_the_samples() {
        let train = synth::blobs(3, 8, 20, 1);
        let chosen = |factor: f64| {
            let scaled = train.with_features(faer::Scale(factor) * train.x()).unwrap();
            let mut trace = crate::observe::Trace::default();
            let kappa = Crc::default().choose(&scaled, &mut trace).unwrap().kappa.unwrap();
            assert!(trace.notes.len() == 1 && trace.notes[0].contains("leave-one-out"), "{:?}", trace.notes);
            kappa
        };
        assert!((chosen(10.0) / chosen(1.0) - 100.0).abs() < 1e-9);
        let given = Crc { kappa: Some(0.3), ..Crc::default() };
        assert_eq!(given.choose(&train, &mut ()).unwrap(), given);
    }
}
