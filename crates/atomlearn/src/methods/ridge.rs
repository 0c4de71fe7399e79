//! Ridge regression on one-hot labels, the plainest linear classifier.
//!
//! ```text
//! min_W |H - W X|_F^2 + lambda |W|_F^2,     W = H X^T (X X^T + lambda I)^-1
//! ```
//!
//! `H` holds one-hot labels; there is no bias. The score of class `c` is row `c` of `W x`.
//! A sample of weight `w` counts `w` times: in the sums above it and its label are multiplied by `sqrt(w)`.
//! SADL tends to exactly this classifier, which makes it that method's test oracle. `lambda = auto` is chosen by leave-one-out, in closed
//! form from one eigendecomposition for all values ([`crate::loo`]).

use crate::classifier::Header;
use crate::coding::ridge::ridge_map;
use crate::export::{Graph, Tensor};
use crate::linalg::{Spd, add_diagonal, inner, mul, mul_add};
use crate::loo::choice::{Jury, Verdict, best_of, decade, decades, median_square, settled};
use crate::loo::grouped::GroupedFolds;
use crate::loo::spectrum::Spectrum;
use crate::params::{Domain, params};
use crate::rounds::{ClassSums, FromSums, Moments, Partitioned, RoundsStart, Scatter};
use crate::{Classifier, Dataset, Fit, Observer, Parts, Result, State};
use faer::{Mat, MatRef};

/// `lambda` where nothing can be chosen.
const LAMBDA: f64 = 1e-3;
/// Powers of ten, times the samples' median square, from which `lambda` is chosen; this place is preferred among equals. The smallest
/// are for features of very different sizes.
const POWERS: std::ops::RangeInclusive<i32> = -10..=2;
const USUAL: usize = 8;

params! {
    /// Parameters of ridge regression.
    pub struct Ridge {
        /// Weight of the squared norm of `W`; `auto` chooses it by exact leave-one-out on the training samples.
        lambda: Option<f64> = None, Domain::Auto(&Domain::Positive), grid [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0];
    }
}

/// A learned ridge classifier.
pub struct RidgeModel {
    header: Header,
    weights: Mat<f64>,
}

impl Fit for Ridge {
    type Model = RidgeModel;
    const KEY: &'static str = "ridge";
    const TITLE: &'static str = "Ridge regression on one-hot labels";
    const PAPER: &'static str = "Hoerl, Kennard: Ridge regression. Technometrics 1970";
    const LEAVES_GROUPS_OUT: bool = true;
    const CLOSED_FORM: bool = true;
    const WEIGHTS: bool = true;

    fn choose(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<Self> {
        if self.lambda.is_some() {
            return Ok(self.clone());
        }
        let best = best_lambda(train, watch);
        Ok(Ridge { lambda: Some(settled(Self::KEY, "lambda", best, LAMBDA, watch)) })
    }

    fn fixed(&self) -> Self {
        Ridge { lambda: self.lambda.or(Some(LAMBDA)) }
    }

    fn learn(&self, train: &Dataset, _: Option<State>, _watch: &mut dyn Observer) -> Result<RidgeModel> {
        // Weights w: samples and labels times sqrt(w).
        let map = ridge_map(train.times_roots().x(), self.lambda.unwrap_or(LAMBDA), "ridge regression")?;
        let targets = train.targets();
        let roots = train.roots();
        let root = |i: usize| roots.as_ref().map_or(1.0, |roots| roots[i]);
        let onehot = |c: usize, i: usize| if targets[i] == c { root(i) } else { 0.0 };
        let onehot = Mat::from_fn(train.n_classes(), train.n_samples(), onehot);
        Ok(RidgeModel { header: Header::of(train, &["linear"]), weights: mul(&onehot, &map) })
    }

    fn restore(&self, mut parts: Parts) -> Result<RidgeModel> {
        let weights = parts.take_shaped("weights", parts.classes.len(), None)?;
        Ok(RidgeModel { header: Header::new(parts.classes, weights.ncols(), &["linear"]), weights })
    }
}

/// The best of some powers of ten.
fn best_lambda(train: &Dataset, watch: &mut dyn Observer) -> Option<(f64, Verdict)> {
    let values = decades(decade(median_square(train)), POWERS);
    if let Some(groups) = train.groups() {
        return GroupedFolds::new(train, groups)?.best(&values, USUAL, watch, |lambda| Ridge { lambda: Some(lambda) });
    }
    let jury = Jury::new(train)?;
    let spectrum = Spectrum::new(train.times_roots().x(), train.blocks(), train.roots()).ok()?;
    best_of(&values, USUAL, |lambda| jury.verdict(spectrum.ridge_left_out(&jury.places, &jury.targets, lambda)))
}

/// Ridge regression: `W = H X^T (X X^T + lambda I)^-1`, and `H X^T` are the class sums.
///
/// With the mean `mu` of `n` samples and their scatter `S` about it, `X X^T = S + n mu mu^T`; the rank-one part is inverted
/// by formula, so that samples far from zero keep the digits of `S`.
impl Partitioned for Ridge {
    const SCATTER: Scatter = Scatter::Together;
    const CLASS_MATRICES: bool = false;

    fn begin(self, moments: &Moments, scatters: &[Mat<f64>], _watch: &mut dyn Observer) -> Result<RoundsStart> {
        Ok(RoundsStart::Done(self.of_moments(moments, &scatters[0])?))
    }
}

impl FromSums for Ridge {
    fn learn_from_sums(&self, sums: &ClassSums, _watch: &mut dyn Observer) -> Result<Parts> {
        let (moments, scatter) = sums.moments();
        self.of_moments(&moments, &scatter)
    }
}

impl Ridge {
    fn of_moments(&self, moments: &Moments, scatter: &Mat<f64>) -> Result<Parts> {
        let mut system = scatter.clone();
        let lambda = self.lambda.unwrap_or(LAMBDA);
        add_diagonal(&mut system, lambda);
        let factor = Spd::new(system, "ridge regression")?;
        let mean = moments.mean();
        let n = moments.n_samples();
        let along = factor.solve(&mean);
        let weight = n / (1.0 + n * inner(&mean, &along));
        // The class sums are their centred parts and `counts_c mu`; what the inverse makes of `mu` is `along weight / n`.
        let mut weights = factor.solve(moments.centered_sums());
        let seen = mul(mean.transpose(), &weights);
        let back = Mat::from_fn(1, moments.counts.len(), |_, c| weight * (moments.counts[c] / n - seen[(0, c)]));
        mul_add(weights.as_mut(), 1.0, &along, &back);
        let mut parts = Parts::default();
        parts.put("weights", weights.transpose());
        Ok(parts)
    }
}

impl Classifier for RidgeModel {
    fn header(&self) -> &Header {
        &self.header
    }

    fn store(&self, parts: &mut Parts) {
        parts.put("weights", &self.weights);
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        vec![mul(&self.weights, x)]
    }

    fn export(&self, graph: &mut Graph, x: &Tensor) -> Result<Tensor> {
        Ok(graph.times(x, self.weights.transpose()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::one_hot;
    use crate::synth;

    #[test]
    fn normal_equations_hold() {
        let train = synth::blobs(3, 6, 7, 1);
        let model = Ridge { lambda: Some(0.1) }.fit(&train, &mut ()).unwrap();
        let scores = model.scores(train.x()).unwrap();
        let targets = train.targets();
        let residual = one_hot(&targets, 3) - &scores;
        let gradient = mul(&residual, train.x().transpose()) - faer::Scale(0.1) * &model.weights;
        assert!(gradient.norm_max() < 1e-10);
    }

    #[test]
    fn leave_one_out_equals_training_without_the_sample() {
        let shapes = [(8, 5), (5, 30), (2, 3)].map(|(per_class, dim)| synth::blobs(3, per_class, dim, 3));
        for train in shapes.iter().flat_map(|train| [train.clone(), train.weighted_for_tests()]) {
            let (places, targets) = ((0..train.n_samples()).collect::<Vec<_>>(), train.targets());
            let spectrum = Spectrum::new(train.times_roots().x(), train.blocks(), train.roots()).unwrap();
            for lambda in [1e-3, 0.1, 10.0] {
                let found = spectrum.ridge_left_out(&places, &targets, lambda);
                for i in places.clone() {
                    let model = Ridge { lambda: Some(lambda) }.fit(&train.without(i), &mut ()).unwrap();
                    let expected = model.scores(train.x().subcols(i, 1)).unwrap();
                    for c in 0..3 {
                        let (found, expected) = (found[(c, i)], expected[(c, 0)]);
                        assert!((found - expected).abs() < 1e-8 * expected.abs().max(1.0), "{found} {expected}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_default_is_the_value_that_a_search_by_hand_finds() {
        let train = synth::blobs(4, 6, 40, 2);
        let chosen = Ridge::default().choose(&train, &mut ()).unwrap().lambda.unwrap();
        let (targets, jury) = (train.targets(), Jury::new(&train).unwrap());
        let loss = |lambda: f64| {
            let mut scores = Mat::zeros(4, 24);
            for i in 0..24 {
                let model = Ridge { lambda: Some(lambda) }.fit(&train.without(i), &mut ()).unwrap();
                scores.col_mut(i).copy_from(model.scores(train.x().subcols(i, 1)).unwrap().col(0));
            }
            assert_eq!(targets.len(), scores.ncols());
            jury.verdict(scores).unwrap().loss
        };
        let others = [chosen / 100.0, chosen / 10.0, chosen * 10.0, chosen * 100.0];
        assert!(others.iter().all(|&other| loss(other) >= loss(chosen) - 1e-9), "{chosen}");
    }
}
