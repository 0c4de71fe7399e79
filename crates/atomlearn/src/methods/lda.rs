//! Linear discriminant analysis with a shrunken covariance: the classical baseline.
//!
//! ```text
//! score_c(x) = d_c^T S^-1 (x - mu) - 1/2 d_c^T S^-1 d_c + log pi_c,     S = (1 - s) W + s (tr W / m) I
//! ```
//!
//! `W` is the covariance within classes (divisor: samples), `mu` the mean of all samples, `d_c = mu_c - mu` where the mean of
//! class `c` lies as seen from there, `pi_c` the shares of the classes. Scores from means as seen from zero would differ by
//! the same for every class, and lose their digits to it where samples lie far from zero.
//! Samples with weights count that often in means, covariance and shares.
//! `shrinkage = auto` is chosen by leave-one-out, in closed form from one eigendecomposition for all values ([`left_out`]);
//! `ledoit-wolf` is the formula of Ledoit and Wolf (A well-conditioned estimator for large-dimensional covariance
//! matrices. J. Multivariate Analysis 2004). With more features than samples everything happens in their range, where
//! the shrinkage target is the identity of all features.

mod left_out;

use crate::classifier::Header;
use crate::export::{Graph, Tensor};
use crate::linalg::{Spd, add_diagonal, mul, outer_gram, scaled_columns, trace};
use crate::loo::choice::{Jury, Verdict, best_of};
use crate::loo::grouped::GroupedFolds;
use crate::params::{Domain, params};
use crate::pca::{centered, weighted_mean};
use crate::rounds::{ClassSums, FromSums};
use crate::span::Span;
use crate::svm::Svm;
use crate::{Classifier, Dataset, Error, Fit, Observer, Parts, Result, State};
use faer::{Mat, MatRef};
use left_out::WithoutSample;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// What `shrinkage` is chosen from; this place is preferred among equals.
const SHARES: [f64; 11] = [1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.0];
const USUAL: usize = 4;
const LEDOIT_WOLF: &str = "ledoit-wolf";

/// How the covariance matrix is shrunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "Json", try_from = "Json")]
pub enum Shrinkage {
    /// As leave-one-out finds best.
    #[default]
    Auto,
    /// By the formula of Ledoit and Wolf.
    LedoitWolf,
    /// By this share.
    Share(f64),
}

impl Shrinkage {
    const DOMAIN: Domain = Domain::Auto(&Domain::Word(LEDOIT_WOLF, &Domain::Within(0.0, 1.0)));
}

impl From<Shrinkage> for Json {
    fn from(shrinkage: Shrinkage) -> Json {
        match shrinkage {
            Shrinkage::Auto => Json::Null,
            Shrinkage::LedoitWolf => Json::from(LEDOIT_WOLF),
            Shrinkage::Share(share) => Json::from(share),
        }
    }
}

impl TryFrom<Json> for Shrinkage {
    type Error = String;

    fn try_from(value: Json) -> std::result::Result<Self, String> {
        match value.as_f64() {
            _ if value.is_null() => Ok(Shrinkage::Auto),
            _ if value == LEDOIT_WOLF => Ok(Shrinkage::LedoitWolf),
            Some(share) => Ok(Shrinkage::Share(share)),
            None => Err(format!("{value} is not a shrinkage")),
        }
    }
}

params! {
    /// Parameters of linear discriminant analysis.
    pub struct Lda {
        /// Share of the identity in the covariance matrix; `auto` chooses it by exact leave-one-out on the training samples,
        /// `ledoit-wolf` is the formula of Ledoit and Wolf.
        shrinkage: Shrinkage = Shrinkage::Auto, Shrinkage::DOMAIN, grid [1e-4, 1e-3, 1e-2, 0.1, 0.5];
    }
}

/// Learned discriminant functions.
pub struct LdaModel {
    header: Header,
    linear: Svm,
}

impl Fit for Lda {
    type Model = LdaModel;
    const KEY: &'static str = "lda";
    const TITLE: &'static str = "Linear discriminant analysis with shrinkage";
    const PAPER: &'static str = "Ledoit, Wolf: A well-conditioned estimator for large-dimensional covariance matrices. J. Multivariate Analysis 2004 (the shrinkage)";
    const LEAVES_GROUPS_OUT: bool = true;
    const CLOSED_FORM: bool = true;
    const WEIGHTS: bool = true;

    fn choose(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<Self> {
        if self.shrinkage != Shrinkage::Auto {
            return Ok(self.clone());
        }
        match best_share(train, watch)? {
            Some((share, verdict)) => {
                let percent = 100.0 * verdict.accuracy;
                let note = format!("lda: shrinkage = {share} was chosen by {} (accuracy {percent:.1} %)", verdict.by);
                watch.note(&note);
                Ok(Lda { shrinkage: Shrinkage::Share(share) })
            }
            None => {
                watch.note("lda: shrinkage by Ledoit and Wolf's formula, since leave-one-out has nothing to choose by");
                Ok(self.fixed())
            }
        }
    }

    fn fixed(&self) -> Self {
        match self.shrinkage {
            Shrinkage::Auto => Lda { shrinkage: Shrinkage::LedoitWolf },
            _ => self.clone(),
        }
    }

    fn learn(&self, given: &Dataset, _: Option<State>, watch: &mut dyn Observer) -> Result<LdaModel> {
        let CenteredSamples { middle, n_features, basis, train, means, spread } = CenteredSamples::new(given)?;
        let counts = train.class_weights();
        let mut within = scatter(&spread, train.weights());
        within *= faer::Scale(1.0 / counts.iter().sum::<f64>());
        let s = match self.shrinkage {
            Shrinkage::Share(share) => share,
            _ => ledoit_wolf(&spread, train.weights(), &within, level(&within, n_features), n_features),
        };
        let Svm { weights, bias } = discriminants(within, &means, &counts, s, n_features, watch)?;
        let weights = basis.map_or_else(|| weights.clone(), |basis| mul(&basis, &weights));
        let origin: Vec<f64> = middle.iter().map(|m| -m).collect();
        let header = Header::new(given.classes().to_vec(), weights.nrows(), &["linear"]);
        Ok(LdaModel { header, linear: Svm { weights, bias }.seen_from(&origin) })
    }

    fn restore(&self, mut parts: Parts) -> Result<LdaModel> {
        let weights = parts.take_shaped("weights", None, parts.classes.len())?;
        let bias = parts.take_row("bias", parts.classes.len())?;
        Ok(LdaModel { header: Header::new(parts.classes, weights.nrows(), &["linear"]), linear: Svm { weights, bias } })
    }
}

/// `tr W / m`.
fn level(within: &Mat<f64>, n_features: usize) -> f64 {
    trace(within) / n_features as f64
}

/// The discriminant functions of samples as seen from their mean, from the covariance within classes and their means.
fn discriminants(
    mut within: Mat<f64>,
    means: &Mat<f64>,
    counts: &[f64],
    s: f64,
    n_features: usize,
    watch: &mut dyn Observer,
) -> Result<Svm> {
    let m = within.nrows();
    let n: f64 = counts.iter().sum();
    let level = level(&within, n_features);
    if level > 0.0 {
        within *= faer::Scale(1.0 - s);
        add_diagonal(&mut within, s * level);
    } else {
        watch.warn("LDA: samples do not differ within classes; each goes to the nearest class mean");
        within = Mat::identity(m, m);
    }
    let factor = Spd::new(within, "LDA").map_err(|_| {
        Error::numeric("LDA", format!("the covariance within classes is singular with shrinkage = {s}; raise it"))
    })?;
    let weights = factor.solve(means);
    let prior = |c: usize| (counts[c] / n).ln();
    let bias = (0..counts.len()).map(|c| prior(c) - 0.5 * (means.col(c).transpose() * weights.col(c))).collect();
    Ok(Svm { weights, bias })
}

/// Of samples that are gone nothing is left to choose the shrinkage by: one that is left open is the usual one.
impl FromSums for Lda {
    fn learn_from_sums(&self, sums: &ClassSums, watch: &mut dyn Observer) -> Result<Parts> {
        let share = match self.shrinkage {
            Shrinkage::Share(share) => share,
            Shrinkage::Auto => SHARES[USUAL],
            Shrinkage::LedoitWolf => {
                let why = "the formula needs the samples themselves, not only their sums; give a number";
                return Err(Error::param("shrinkage", LEDOIT_WOLF, why));
            }
        };
        let (means, middle) = sums.centered_means();
        let mut within = sums.within.clone();
        within *= faer::Scale(1.0 / sums.n_samples());
        let functions = discriminants(within, &means, &sums.counts, share, means.nrows(), watch)?;
        let origin: Vec<f64> = middle.iter().map(|m| -m).collect();
        let Svm { weights, bias } = functions.seen_from(&origin);
        let mut parts = Parts::default();
        parts.put("weights", &weights);
        parts.put_row("bias", &bias);
        Ok(parts)
    }
}

/// Samples as seen from their mean, in their range, and what they differ in from the means of their classes.
struct CenteredSamples {
    middle: Vec<f64>,
    /// Of the samples as they are given.
    n_features: usize,
    /// Orthonormal columns that span the samples, if these were reduced to them.
    basis: Option<Mat<f64>>,
    train: Dataset,
    means: Mat<f64>,
    spread: Mat<f64>,
}

impl CenteredSamples {
    fn new(given: &Dataset) -> Result<Self> {
        let middle = weighted_mean(given.x(), given.weights());
        let full = given.with_features(centered(given.x(), &middle))?;
        let (basis, train) = Span::of(&full)?.into_parts();
        let weights_of = |c: usize| train.weights().map(|weights| &weights[train.blocks().range(c)]);
        let of_classes: Vec<Vec<f64>> =
            (0..train.n_classes()).map(|c| weighted_mean(train.class(c), weights_of(c))).collect();
        let means = Mat::from_fn(train.n_features(), train.n_classes(), |i, c| of_classes[c][i]);
        let targets = train.targets();
        let x = train.x();
        let spread = Mat::from_fn(x.nrows(), x.ncols(), |i, j| x[(i, j)] - means[(i, targets[j])]);
        Ok(CenteredSamples { middle, n_features: given.n_features(), basis, means, spread, train })
    }
}

/// The best of some shares; none if the samples do not differ within classes, or no class has two.
fn best_share(train: &Dataset, watch: &mut dyn Observer) -> Result<Option<(f64, Verdict)>> {
    if let Some(groups) = train.groups() {
        let with = |share: f64| Lda { shrinkage: Shrinkage::Share(share) };
        return Ok(GroupedFolds::new(train, groups).and_then(|folds| folds.best(&SHARES, USUAL, watch, with)));
    }
    let Some(jury) = Jury::new(train) else { return Ok(None) };
    let Some(left_out) = WithoutSample::new(&CenteredSamples::new(train)?)? else { return Ok(None) };
    Ok(best_of(&SHARES, USUAL, |share| jury.verdict(left_out.scores(&jury.places, share))))
}

/// The sum over samples of `w r r^T`.
fn scatter(spread: &Mat<f64>, weights: Option<&[f64]>) -> Mat<f64> {
    match weights {
        Some(weights) => outer_gram(scaled_columns(spread, |i| weights[i].sqrt())),
        None => outer_gram(spread),
    }
}

/// The shrinkage that minimises the expected squared error of the covariance matrix.
fn ledoit_wolf(
    centered: &Mat<f64>,
    weights: Option<&[f64]>,
    covariance: &Mat<f64>,
    level: f64,
    n_features: usize,
) -> f64 {
    let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
    let n: f64 = (0..centered.ncols()).map(weight).sum();
    let energy = covariance.squared_norm_l2();
    // |S - level I|^2 over all features, of which the range of the samples may be a part.
    let distance = energy - level * level * n_features as f64;
    let fourth: f64 = centered.col_iter().enumerate().map(|(i, x)| weight(i) * x.squared_norm_l2().powi(2)).sum();
    let noise = (fourth / n - energy) / n;
    if distance > 0.0 { (noise / distance).clamp(0.0, 1.0) } else { 1.0 }
}

impl Classifier for LdaModel {
    fn header(&self) -> &Header {
        &self.header
    }

    fn store(&self, parts: &mut Parts) {
        parts.put("weights", &self.linear.weights);
        parts.put_row("bias", &self.linear.bias);
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        vec![self.linear.scores(x)]
    }

    fn export(&self, graph: &mut Graph, x: &Tensor) -> Result<Tensor> {
        Ok(graph.linear(x, &self.linear.weights, &self.linear.bias))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::mul;
    use crate::pca::mean;
    use crate::{params, synth};

    /// Equal to the definition with an explicit inverse, with few samples and with many.
    #[test]
    fn scores_equal_gaussian_log_likelihoods_up_to_a_common_term() {
        for (per_class, dim) in [(12, 5), (4, 30)] {
            let train = synth::blobs(3, per_class, dim, 4);
            let model = Lda { shrinkage: Shrinkage::Share(0.2) }.fit(&train, &mut ()).unwrap();
            let targets = train.targets();
            let means: Vec<Vec<f64>> = (0..3).map(|c| mean(train.class(c))).collect();
            let centered = Mat::from_fn(dim, train.n_samples(), |i, j| train.x()[(i, j)] - means[targets[j]][i]);
            let w = faer::Scale(1.0 / train.n_samples() as f64) * mul(&centered, centered.transpose());
            let level = (0..dim).map(|i| w[(i, i)]).sum::<f64>() / dim as f64;
            let s = Mat::from_fn(dim, dim, |i, j| 0.8 * w[(i, j)] + if i == j { 0.2 * level } else { 0.0 });
            let inverse = Spd::new(s, "t").unwrap().solve(Mat::identity(dim, dim));
            let x = synth::blobs(3, 2, dim, 5);
            let scores = model.scores(x.x()).unwrap();
            for j in 0..6 {
                let likelihood = |c: usize| {
                    let d = Mat::from_fn(dim, 1, |i, _| x.x()[(i, j)] - means[c][i]);
                    -0.5 * mul(d.transpose(), mul(&inverse, &d))[(0, 0)]
                };
                for c in 1..3 {
                    let (found, expected) = (scores[(c, j)] - scores[(0, j)], likelihood(c) - likelihood(0));
                    // Features outside the range of the samples add the same to every class.
                    assert!((found - expected).abs() < 1e-6 * (1.0 + expected.abs()), "{found} {expected}");
                }
            }
        }
    }

    /// Differences of scores stay what they are wherever the samples lie, with few features and with many.
    #[test]
    fn an_offset_changes_nothing() {
        for (per_class, dim) in [(20, 10), (4, 30)] {
            let (train, test) = (synth::blobs(3, per_class, dim, 4), synth::blobs(3, 5, dim, 5));
            let differences = |offset: f64| {
                let moved = |data: &Dataset| {
                    let x = Mat::from_fn(dim, data.n_samples(), |i, j| data.x()[(i, j)] + offset);
                    data.with_features(x).unwrap()
                };
                let model = Lda { shrinkage: Shrinkage::Share(0.1) }.fit(&moved(&train), &mut ()).unwrap();
                let scores = model.scores(moved(&test).x()).unwrap();
                Mat::from_fn(2, test.n_samples(), |c, j| scores[(c + 1, j)] - scores[(0, j)])
            };
            let plain = differences(0.0);
            for offset in [1e3, 1e6, 1e8] {
                // What the digits of the samples leave, and sums over features multiply.
                let allowed = 1e-11 + 50.0 * dim as f64 * offset * f64::EPSILON;
                let away = (differences(offset) - &plain).norm_max() / plain.norm_max();
                assert!(away < allowed, "{dim} features, {offset:e}: {away:e}");
            }
        }
    }

    /// Up to what is common to all classes; with many features and with few.
    #[test]
    fn leave_one_out_equals_training_without_the_sample() {
        let shapes = [(12, 5), (5, 30), (2, 3)].map(|(per_class, dim)| synth::blobs(3, per_class, dim, 4));
        for train in shapes.iter().flat_map(|train| [train.clone(), train.weighted_for_tests()]) {
            let left_out = WithoutSample::new(&CenteredSamples::new(&train).unwrap()).unwrap().unwrap();
            let places: Vec<usize> = (0..train.n_samples()).collect();
            for share in [1e-3, 0.1, 0.5, 1.0] {
                let found = left_out.scores(&places, share);
                for i in places.clone() {
                    let model = Lda { shrinkage: Shrinkage::Share(share) }.fit(&train.without(i), &mut ()).unwrap();
                    let expected = model.scores(train.x().subcols(i, 1)).unwrap();
                    for c in 1..3 {
                        let (found, expected) = (found[(c, i)] - found[(0, i)], expected[(c, 0)] - expected[(0, 0)]);
                        let error = (found - expected).abs() / expected.abs().max(1.0);
                        assert!(error < 1e-8, "{:?}, {share}: {found} {expected}", train.x().shape());
                    }
                }
            }
        }
    }

    #[test]
    fn ledoit_and_wolf_is_still_there() {
        let train = synth::blobs(3, 6, 10, 4);
        let read = |value: Json| params::from_map::<Lda>(&serde_json::Map::from_iter([("shrinkage".into(), value)]));
        assert_eq!(read(LEDOIT_WOLF.into()).unwrap().shrinkage, Shrinkage::LedoitWolf);
        assert_eq!(read("auto".into()).unwrap().shrinkage, Shrinkage::Auto);
        assert!(read(1.5.into()).is_err() && read("none".into()).is_err());
        let formula = Lda { shrinkage: Shrinkage::LedoitWolf };
        assert_eq!(formula.choose(&train, &mut ()).unwrap(), formula);
    }

    #[test]
    fn one_sample_per_class_means_the_nearest_mean() {
        let train = synth::blobs(3, 1, 5, 4);
        let mut trace = crate::observe::Trace::default();
        let model = Lda::default().fit(&train, &mut trace).unwrap();
        assert_eq!((model.predict(train.x()).unwrap(), trace.warnings.len()), (train.targets(), 1));
    }

    #[test]
    fn automatic_shrinkage_is_strong_for_few_samples_and_weak_for_many() {
        let shrinkage = |per_class: usize| {
            let train = synth::blobs(2, per_class, 10, 1);
            let mu: Vec<Vec<f64>> = (0..2).map(|c| mean(train.class(c))).collect();
            let targets = train.targets();
            let centered = Mat::from_fn(10, train.n_samples(), |i, j| train.x()[(i, j)] - mu[targets[j]][i]);
            let w = faer::Scale(1.0 / train.n_samples() as f64) * outer_gram(&centered);
            let level = (0..10).map(|i| w[(i, i)]).sum::<f64>() / 10.0;
            ledoit_wolf(&centered, None, &w, level, 10)
        };
        let (few, many) = (shrinkage(4), shrinkage(400));
        assert!(few > 5.0 * many && many > 0.0 && few <= 1.0, "{few} {many}");
    }
}
