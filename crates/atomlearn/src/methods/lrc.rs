//! LRC: linear regression classification.
//!
//! Every class is the subspace that its training samples span. A sample is regressed on each class alone,
//!
//! ```text
//! z_c = argmin |x - X_c z|^2 + kappa |z|^2,      r_c = |x - X_c z_c|,
//! ```
//!
//! and the class with the smallest residual wins. With `X_c = U S V^T` the regression is `U diag(s^2 / (s^2 + kappa)) U^T x`, so a class
//! is stored as `P_c = U diag(s / sqrt(s^2 + kappa))` and its residual is `|x - P_c P_c^T x|`.
//!
//! Reference: Naseem, Togneri, Bennamoun: Linear regression for face recognition. IEEE TPAMI 32(11), 2010.
//! Deviation: the paper has `kappa = 0`, which says nothing once a class has as many samples as features. `kappa = auto`, the default,
//! is chosen by leave-one-out: with `S_c = X_c X_c^T + kappa I` the residual is `kappa S_c^-1 x`, and taking `x` out of its own class
//! divides it by `1 - x^T S_c^-1 x` (Sherman and Morrison), so that one decomposition per class serves every `kappa` and every sample.

use crate::classifier::{AtomKind, Atoms, Header};
use crate::export::{Graph, Tensor};
use crate::linalg::{concat_columns, mul, scaled_columns, select_columns, svd, sym_eig};
use crate::loo::choice::{Jury, Verdict, best_of, decade, decades, median_square, settled};
use crate::loo::grouped::GroupedFolds;
use crate::params::{Domain, params};
use crate::rounds::{self, Partitioned, RoundsStart, Scatter};
use crate::{Blocks, Classifier, Dataset, Error, Fit, Observer, Parts, Result, State};
use faer::{Mat, MatRef};

/// `kappa` where nothing can be chosen.
const KAPPA: f64 = 1e-3;
/// Powers of ten, times the samples' median square, from which `kappa` is chosen; among equals this place counts.
const POWERS: std::ops::RangeInclusive<i32> = -5..=2;
const USUAL: usize = 2;
/// Singular values below this fraction of the largest span nothing.
const RANK: f64 = 1e-10;
/// A sample that its class explains to within this has no residual to compare once it is left out.
const UNEXPLAINED: f64 = 1e-12;

params! {
    /// Parameters of LRC.
    pub struct Lrc {
        /// Weight of the squared norm of the regression; 0 is the paper's, `auto` chooses it by exact leave-one-out on the training samples.
        kappa: Option<f64> = None, Domain::Auto(&Domain::NonNegative), grid [0.0, 1e-4, 1e-3, 1e-2, 1e-1, 1.0];
    }
}

/// One subspace per class.
pub struct LrcModel {
    header: Header,
    /// `P_c` of all classes side by side.
    bases: Mat<f64>,
    blocks: Blocks,
}

/// What a class spans: `X_c X_c^T = U diag(energy) U^T`.
struct ClassSpan {
    directions: Mat<f64>,
    energies: Vec<f64>,
}

impl ClassSpan {
    fn of(class: MatRef<'_, f64>) -> Result<Self> {
        let (u, s, _) = svd(class, "LRC class subspace")?;
        let largest = s.first().copied().unwrap_or(0.0);
        let rank = s.iter().take_while(|&&s| s > RANK * largest && s > 0.0).count();
        Ok(ClassSpan { directions: u.subcols(0, rank).to_owned(), energies: s[..rank].iter().map(|s| s * s).collect() })
    }

    /// `P_c`.
    fn basis(&self, kappa: f64) -> Mat<f64> {
        scaled_columns(self.directions.as_ref(), |k| (self.energies[k] / (self.energies[k] + kappa)).sqrt())
    }
}

impl Lrc {
    fn model(&self, classes: Vec<String>, spans: &[ClassSpan]) -> Result<LrcModel> {
        let kappa = self.kappa.unwrap_or(KAPPA);
        let bases: Vec<Mat<f64>> = spans.iter().map(|span| span.basis(kappa)).collect();
        let blocks = Blocks::from_sizes(bases.iter().map(Mat::ncols));
        if blocks.total() == 0 {
            return Err(Error::Data("every training sample is zero: there is nothing to regress on".into()));
        }
        let bases = concat_columns(&bases);
        Ok(LrcModel { header: Header::new(classes, bases.nrows(), &["residual"]), bases, blocks })
    }

    /// The best of some powers of ten.
    fn best_kappa(&self, train: &Dataset, spans: &[ClassSpan], watch: &mut dyn Observer) -> Option<(f64, Verdict)> {
        let values = decades(decade(median_square(train)), POWERS);
        if let Some(groups) = train.groups() {
            return GroupedFolds::new(train, groups)?.best(&values, USUAL, watch, |kappa| Lrc { kappa: Some(kappa) });
        }
        let jury = Jury::new(train)?;
        let asked = select_columns(train.x(), &jury.places);
        let projections: Vec<Mat<f64>> = spans.iter().map(|span| mul(span.directions.transpose(), &asked)).collect();
        best_of(&values, USUAL, |kappa| {
            jury.verdict(left_out_scores(asked.as_ref(), &jury.targets, spans, &projections, kappa))
        })
    }
}

/// Scores of samples that are left out of their own class; `projections` are `U_c^T x`.
///
/// The residual is what the class does not span, plus `kappa / (s^2 + kappa)` of every direction that it does.
fn left_out_scores(
    x: MatRef<'_, f64>,
    targets: &[usize],
    spans: &[ClassSpan],
    projections: &[Mat<f64>],
    kappa: f64,
) -> Mat<f64> {
    Mat::from_fn(spans.len(), x.ncols(), |c, i| {
        let along = projections[c].col(i);
        let energy: f64 = x.col(i).squared_norm_l2();
        let outside = (energy - along.squared_norm_l2()).max(0.0);
        let shrunk = |k: usize| along[k] * kappa / (spans[c].energies[k] + kappa);
        let residual = (outside + (0..along.nrows()).map(|k| shrunk(k).powi(2)).sum::<f64>()).sqrt();
        if targets[i] != c {
            return -residual;
        }
        let explained: f64 = (0..along.nrows()).map(|k| along[k].powi(2) / (spans[c].energies[k] + kappa)).sum();
        // What lies outside the span adds |outside|^2 / kappa to x^T S^-1 x; a sample is in the span of its class, so this is rounding.
        -residual / (1.0 - explained).max(UNEXPLAINED)
    })
}

impl Fit for Lrc {
    type Model = LrcModel;
    const KEY: &'static str = "lrc";
    const TITLE: &'static str = "Linear regression classification (LRC)";
    const PAPER: &'static str = "Naseem, Togneri, Bennamoun: Linear regression for face recognition. IEEE TPAMI 2010";
    const LEAVES_GROUPS_OUT: bool = true;
    const CLOSED_FORM: bool = true;

    fn choose(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<Self> {
        if self.kappa.is_some() {
            return Ok(self.clone());
        }
        let best = self.best_kappa(train, &spans(train)?, watch);
        Ok(Lrc { kappa: Some(settled(Self::KEY, "kappa", best, KAPPA, watch)) })
    }

    fn fixed(&self) -> Self {
        Lrc { kappa: self.kappa.or(Some(KAPPA)) }
    }

    fn learn(&self, train: &Dataset, _: Option<State>, _watch: &mut dyn Observer) -> Result<LrcModel> {
        self.model(train.classes().to_vec(), &spans(train)?)
    }

    fn restore(&self, mut parts: Parts) -> Result<LrcModel> {
        let (bases, blocks) = parts.take_class_atoms("bases", None)?;
        Ok(LrcModel { header: Header::new(parts.classes, bases.nrows(), &["residual"]), bases, blocks })
    }
}

fn spans(train: &Dataset) -> Result<Vec<ClassSpan>> {
    (0..train.n_classes()).map(|c| ClassSpan::of(train.class(c))).collect()
}

/// A class enters through `X_c X_c^T` alone, which partitions add up.
impl Partitioned for Lrc {
    const SCATTER: Scatter = Scatter::ByClass;

    fn begin(self, moments: &rounds::Moments, scatters: &[Mat<f64>], _watch: &mut dyn Observer) -> Result<RoundsStart> {
        let spans = scatters.iter().enumerate().map(|(c, scatter)| {
            let (energies, directions) = sym_eig(moments.class_outer(scatter, c), "LRC class subspace")?;
            let largest = energies.first().copied().unwrap_or(0.0);
            let rank = energies.iter().take_while(|&&v| v > RANK * largest && v > 0.0).count();
            Ok(ClassSpan { directions: directions.subcols(0, rank).to_owned(), energies: energies[..rank].to_vec() })
        });
        let model = self.model(Vec::new(), &spans.collect::<Result<Vec<ClassSpan>>>()?)?;
        let mut parts = Parts::default();
        model.store(&mut parts);
        Ok(RoundsStart::Done(parts))
    }
}

impl Classifier for LrcModel {
    fn header(&self) -> &Header {
        &self.header
    }

    fn store(&self, parts: &mut Parts) {
        parts.put("bases", &self.bases);
        parts.put_blocks("atom_counts", &self.blocks);
    }

    fn atoms(&self) -> Option<Atoms<'_>> {
        Some(Atoms { kind: AtomKind::Dictionary, columns: &self.bases, classes: Some(&self.blocks) })
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        let z = mul(self.bases.transpose(), x);
        let mut scores = Mat::zeros(self.classes().len(), x.ncols());
        for (c, atoms) in self.blocks.ranges().enumerate() {
            let explained = mul(self.bases.subcols(atoms.start, atoms.len()), z.subrows(atoms.start, atoms.len()));
            let residual = x - explained;
            (0..x.ncols()).for_each(|i| scores[(c, i)] = -residual.col(i).norm_l2());
        }
        vec![scores]
    }

    fn codes_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        Some(mul(self.bases.transpose(), x))
    }

    fn export(&self, graph: &mut Graph, x: &Tensor) -> Result<Tensor> {
        let residual = |atoms: std::ops::Range<usize>| {
            if atoms.is_empty() {
                return graph.energy(x);
            }
            let basis = self.bases.subcols(atoms.start, atoms.len());
            let codes = graph.times(x, basis);
            let explained = graph.times(&codes, basis.transpose());
            let residual = graph.op("Sub", &[x, &explained]);
            graph.energy(&residual)
        };
        let squared: Vec<Tensor> = self.blocks.ranges().map(residual).collect();
        let squared = graph.op_with("Concat", &squared.iter().collect::<Vec<_>>(), &[("axis", 1)]);
        let residual = graph.op("Sqrt", &[&squared]);
        Ok(graph.negative(&residual))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth;

    /// Few and many samples per class, unbalanced: what leave-one-out says is what a training without the sample says.
    #[test]
    fn leave_one_out_equals_training_without_the_sample() {
        for (per_class, dim) in [(9, 5), (5, 30)] {
            let train = synth::blobs(3, per_class, dim, 3);
            let spans = spans(&train).unwrap();
            let projections: Vec<Mat<f64>> = spans.iter().map(|s| mul(s.directions.transpose(), train.x())).collect();
            for kappa in [1e-3, 0.1, 10.0] {
                let found = left_out_scores(train.x(), &train.targets(), &spans, &projections, kappa);
                for i in 0..train.n_samples() {
                    let model = Lrc { kappa: Some(kappa) }.fit(&train.without(i), &mut ()).unwrap();
                    let expected = model.scores(train.x().subcols(i, 1)).unwrap();
                    for c in 0..3 {
                        let (found, expected) = (found[(c, i)], expected[(c, 0)]);
                        assert!((found - expected).abs() < 1e-8 * expected.abs().max(1.0), "{found} {expected}");
                    }
                }
            }
        }
    }

    /// The normal equations of the regression, from the residual alone: `X_c^T r = kappa z` with `z = X_c^T r / kappa`.
    #[test]
    fn residuals_are_those_of_ridge_regression_on_each_class() {
        let train = synth::blobs(3, 6, 10, 5);
        let kappa = 0.2;
        let model = Lrc { kappa: Some(kappa) }.fit(&train, &mut ()).unwrap();
        let x = Mat::from_fn(10, 4, |i, j| ((i * 7 + j * 3) as f64).sin());
        let scores = model.scores(x.as_ref()).unwrap();
        for c in 0..3 {
            let class = train.class(c);
            let mut system = crate::linalg::gram(class);
            (0..system.nrows()).for_each(|k| system[(k, k)] += kappa);
            let z = crate::linalg::Spd::new(system, "test").unwrap().solve(mul(class.transpose(), &x).as_ref());
            let residual = &x - mul(class, &z);
            for i in 0..4 {
                assert!((scores[(c, i)] + residual.col(i).norm_l2()).abs() < 1e-10);
            }
        }
    }

    /// The paper's rule: no ridge, so that a sample of a class has no residual there.
    #[test]
    fn without_a_ridge_training_samples_lie_in_their_class() {
        let train = synth::blobs(3, 4, 30, 2);
        let model = Lrc { kappa: Some(0.0) }.fit(&train, &mut ()).unwrap();
        let scores = model.scores(train.x()).unwrap();
        for (i, &c) in train.targets().iter().enumerate() {
            assert!(scores[(c, i)].abs() < 1e-10 * train.x().col(i).norm_l2());
        }
        assert_eq!(model.predict(train.x()).unwrap(), train.targets());
    }
}
