//! Fusion: a softmax over a few readings, fitted on leave-one-out scores.
//!
//! ```text
//! min_{w >= 0}  -mean_i log softmax(sum_e w_e f_e(i))_{y_i} + l2 / 2 |w|^2
//! ```
//!
//! It is convex. Readings join greedily: first the one with the lowest loss alone, then each time the one of the shortlist that
//! lowers the loss most, until there are enough or the gain is small. All trials of a round take their Newton steps side by side, and
//! those that cannot win any more are given up: most after the first step.
//!
//! With few samples, differences of losses are chance, and so is a choice by them. There the best readings are averaged instead, unless the choice earns
//! its weights. In the average each reading has the weight `w_e` that is best for it alone, and a share that falls with its log-loss over all
//! samples together, tempered ([`Judge::average_instead`]):
//!
//! ```text
//! sum_e share_e w_e f_e,      share_e ~ exp(-TEMPER n (loss_e - loss_best))
//! ```

mod held;
mod tile;
mod trial;

use crate::Result;
use crate::linalg::{dot, wide};
use faer::Mat;
use held::Held;
use rayon::prelude::*;
use tile::{TILE, Tile};
use trial::Trial;

/// Weight of the penalty.
const L2: f64 = 1e-3;
/// Added to the second derivatives, so that they can be inverted whatever the readings.
const HESSIAN_FLOOR: f64 = 1e-10;
/// The loss must fall by this share for another reading to join.
pub(crate) const GAIN: f64 = 5e-3;
/// The weight from which a reading alone is fitted.
pub(crate) const START: f64 = 3.0;
/// How much of the likelihood counts in the shares of an average. Leave-one-out losses of different samples are not independent, and the lowest of
/// many is too low.
const TEMPER: f64 = 0.25;
/// From this many samples on nothing is averaged.
const FEW: f64 = 200.0;
/// With fewer, the log-loss of all of them together must fall by this for every reading that is chosen beside the first: Akaike's price of a
/// fitted weight.
const EARNED: f64 = 1.0;
/// Smaller shares of an average are left out.
const LEAST_SHARE: f64 = 1e-3;
/// Normalised scores of a sample differ by no more than this.
pub(crate) const RANGE: f64 = 60.0;
/// Stands for minus infinity where differences are taken.
pub(crate) const LOWEST: f64 = -1e300;

/// Whose labels are to be predicted, and whose say counts.
pub(crate) struct Judge {
    targets: Vec<usize>,
    /// One over the number of samples that have a say, or the share of their weight; zero for the others.
    say: Vec<f64>,
    /// Of the samples, if they have any.
    weights: Option<Vec<f64>>,
    /// Number of samples that have a say, or the sum of their weights.
    heard: f64,
    n_classes: usize,
}

/// Weights of a set of readings.
#[derive(Clone, Debug)]
pub(crate) struct Fitted {
    pub weights: Vec<f64>,
    /// Log-loss plus penalty.
    pub loss: f64,
}

/// Loss with its first and second derivatives by the weights.
#[derive(Clone)]
struct Derivatives {
    loss: f64,
    gradient: Vec<f64>,
    hessian: Mat<f64>,
}

impl Judge {
    /// For samples of classes `targets`, of which `heard` have a say, as large as their weight.
    pub fn new(targets: Vec<usize>, heard: Vec<bool>, weights: Option<Vec<f64>>, n_classes: usize) -> Self {
        let weight = |i: usize| weights.as_ref().map_or(1.0, |weights| weights[i]);
        let all: f64 = (0..heard.len()).filter(|&i| heard[i]).map(weight).sum();
        let share = if all > 0.0 { 1.0 / all } else { 1.0 };
        let say = (0..heard.len()).map(|i| if heard[i] { share * weight(i) } else { 0.0 }).collect();
        Judge { targets, say, weights, heard: all, n_classes }
    }

    /// The share of the samples with a say, by their weights.
    pub fn share(&self, counts: impl Fn(usize) -> bool) -> f64 {
        let heard = || (0..self.say.len()).filter(|&i| self.hears(i));
        match self.weights {
            Some(_) => heard().filter(|&i| counts(i)).map(|i| self.say[i]).sum(),
            None => heard().filter(|&i| counts(i)).count() as f64 / heard().count().max(1) as f64,
        }
    }

    /// The weights of the samples, if they have any.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    pub fn targets(&self) -> &[usize] {
        &self.targets
    }

    /// Whether this sample has a say.
    pub fn hears(&self, i: usize) -> bool {
        self.say[i] > 0.0
    }

    /// Whether any sample has a say.
    pub fn hears_anyone(&self) -> bool {
        self.say.iter().any(|&say| say > 0.0)
    }

    /// The best weight of a reading alone, searched from `start`.
    pub fn alone(&self, scores: &Mat<f64>, start: f64) -> Result<Fitted> {
        Ok(self.fit(&[scores], vec![start])?.fitted())
    }

    fn fit<'a>(&self, scores: &[&'a Mat<f64>], start: Vec<f64>) -> Result<Trial<'a>> {
        let now = self.derivatives(scores, &start);
        let mut trial = Trial::new(scores.to_vec(), start, now)?;
        while trial.direction.is_some() {
            trial.step(self)?;
        }
        Ok(trial)
    }

    /// Weights of an average of readings, given what each is worth alone, best first; nothing if there are samples enough, or if `chosen` readings,
    /// as they were `fitted`, are so much better that they earn their weights.
    pub fn average_instead(
        &self,
        readings: &[&Mat<f64>],
        alone: &[&Fitted],
        fitted: &Fitted,
        chosen: usize,
    ) -> Option<Vec<f64>> {
        if self.heard >= FEW {
            return None;
        }
        let weights = self.average(alone);
        let earned = self.heard * (self.derivatives(readings, &weights).loss - fitted.loss);
        (earned <= EARNED * (chosen - 1) as f64).then_some(weights)
    }

    /// Zero for readings that count for nothing.
    fn average(&self, alone: &[&Fitted]) -> Vec<f64> {
        let lowest = alone.first().map_or(0.0, |best| best.loss);
        let parts: Vec<f64> = alone.iter().map(|fit| (-TEMPER * self.heard * (fit.loss - lowest)).exp()).collect();
        let sum: f64 = parts.iter().sum();
        let kept: Vec<f64> = parts.iter().map(|part| if part / sum < LEAST_SHARE { 0.0 } else { *part }).collect();
        let sum: f64 = kept.iter().sum();
        kept.iter().zip(alone).map(|(part, fit)| part / sum * fit.weights[0]).collect()
    }

    /// Everything in one pass over the scores, samples side by side in vectors.
    fn derivatives(&self, scores: &[&Mat<f64>], weights: &[f64]) -> Derivatives {
        let n_readings = scores.len();
        let mut gradient: Vec<f64> = weights.iter().map(|w| L2 * w).collect();
        let mut hessian = Mat::from_fn(n_readings, n_readings, |a, b| if a == b { L2 + HESSIAN_FLOOR } else { 0.0 });
        let mut loss = 0.5 * L2 * weights.iter().map(|w| w * w).sum::<f64>();
        let mut tile = Tile::new(self.n_classes, n_readings);
        wide!({
            for start in (0..self.targets.len()).step_by(TILE) {
                let len = TILE.min(self.targets.len() - start);
                tile.softmax(scores, weights, start, len);
                tile.moments(scores, start, len);
                let say = &self.say[start..start + len];
                for i in 0..len {
                    let own = self.targets[start + i];
                    let logit: f64 = scores.iter().zip(weights).map(|(f, w)| w * f[(start + i, own)]).sum();
                    loss += say[i] * (tile.sums[i].ln() + tile.tops[i] - logit);
                    for (a, f) in scores.iter().enumerate() {
                        gradient[a] += say[i] * (tile.means[a][i] - f[(start + i, own)]);
                    }
                }
                let mut pair = 0;
                for a in 0..n_readings {
                    for b in 0..=a {
                        let mean = &tile.means[a];
                        let other = &tile.means[b];
                        let square = &mut tile.squares[pair];
                        for i in 0..TILE {
                            square[i] -= mean[i] * other[i];
                        }
                        hessian[(a, b)] += dot(say, &square[..len]);
                        pair += 1;
                    }
                }
            }
        });
        // Only the lower triangle was summed.
        (0..n_readings).for_each(|a| (0..a).for_each(|b| hessian[(b, a)] = hessian[(a, b)]));
        Derivatives { loss, gradient, hessian }
    }

    /// Chooses among the scores of a shortlist, best alone first; returns their places, the weights and the loss.
    pub fn choose(&self, shortlist: &[&Mat<f64>], alone: &Fitted, most: usize) -> Result<(Vec<usize>, Fitted)> {
        let mut chosen = vec![0];
        let start = vec![shortlist[0]];
        let now = self.derivatives(&start, &alone.weights);
        let mut best = Trial::finished(start, alone.weights.clone(), now);
        while chosen.len() < most {
            let others: Vec<usize> = (0..shortlist.len()).filter(|i| !chosen.contains(i)).collect();
            let Some((winner, i)) = self.best_addition(&best, shortlist, others)? else { break };
            chosen.push(i);
            best = winner;
        }
        Ok((chosen, best.fitted()))
    }

    /// The reading that lowers the loss most beside those of `so_far`, if one does by as much as it must.
    fn best_addition<'a>(
        &self,
        so_far: &Trial<'a>,
        shortlist: &[&'a Mat<f64>],
        others: Vec<usize>,
    ) -> Result<Option<(Trial<'a>, usize)>> {
        let needed = so_far.now.loss * (1.0 - GAIN);
        let held = Held::new(self, so_far);
        let join = |i: usize| {
            let scores = so_far.scores.iter().copied().chain([shortlist[i]]).collect();
            let weights = so_far.weights.iter().copied().chain([0.0]).collect();
            Ok((Trial::new(scores, weights, held.joined_by(shortlist[i]))?, i))
        };
        let mut trials: Vec<(Trial, usize)> = others.into_par_iter().map(join).collect::<Result<_>>()?;
        loop {
            // What one trial has reached already, another one must be able to come below.
            let reached = trials.iter().map(|(trial, _)| trial.now.loss).fold(needed, f64::min);
            trials.retain(|(trial, _)| !trial.is_hopeless(reached));
            if trials.iter().all(|(trial, _)| trial.direction.is_none()) {
                break;
            }
            trials.par_iter_mut().try_for_each(|(trial, _)| trial.step(self))?;
        }
        let lowest = trials.into_iter().min_by(|a, b| a.0.now.loss.total_cmp(&b.0.now.loss));
        Ok(lowest.filter(|(trial, _)| trial.now.loss <= needed))
    }
}

/// Scores below this are rounding: kernels are of the order of one, and readings that tell anything stay far above.
const ROUNDING: f64 = 1e-12;

/// Scores (classes x samples) in units of `scale`, cut off at [`RANGE`] below the best of their sample, and centred over classes; what is
/// not a number says nothing. Only differences matter to a softmax. The best is what all others are measured from, since it must
/// not be cut off: with one that is far above a few others, these would be its equals.
pub(crate) fn normalize(scores: &mut Mat<f64>, scale: f64) {
    for i in 0..scores.ncols() {
        let column = scores.col_as_slice_mut(i);
        if column.iter().any(|v| v.is_nan()) {
            column.fill(0.0);
            continue;
        }
        let best = column.iter().fold(LOWEST, |best, v| v.max(best));
        column.iter_mut().for_each(|v| *v = ((v.max(LOWEST) - best) / scale).max(-RANGE));
        center(column);
    }
}

/// The same with the scale of the scores themselves, which is returned.
pub(crate) fn normalize_by_own_scale(scores: &mut Mat<f64>, weights: Option<&[f64]>) -> f64 {
    (0..scores.ncols()).for_each(|i| center(scores.col_as_slice_mut(i)));
    let scale = scale_of_centered(scores, weights);
    normalize(scores, scale);
    scale
}

fn center(column: &mut [f64]) {
    let mean = column.iter().sum::<f64>() / column.len() as f64;
    column.iter_mut().for_each(|v| *v -= mean);
}

/// Root of the median, over samples, of the mean square of their centred scores.
fn scale_of_centered(scores: &Mat<f64>, weights: Option<&[f64]>) -> f64 {
    let square = |i: usize| dot(scores.col_as_slice(i), scores.col_as_slice(i)) / scores.nrows() as f64;
    let squares: Vec<f64> = (0..scores.ncols()).map(square).collect();
    let scale = match weights {
        None => median(squares.into_iter().filter(|v| !v.is_nan()).collect()).sqrt(),
        Some(weights) => {
            let pairs = squares.into_iter().zip(weights.iter().copied());
            weighted_median(pairs.filter(|(v, _)| !v.is_nan()).collect()).sqrt()
        }
    };
    // Scores that are all alike, up to rounding, have no scale of their own: blown up, rounding would pass for knowledge.
    if scale > ROUNDING && scale.is_finite() { scale } else { 1.0 }
}

/// The median, the mean of the middle two of an even number; 0 of none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    let even = values.len().is_multiple_of(2);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if even { 0.5 * (upper + below.iter().copied().fold(f64::NEG_INFINITY, f64::max)) } else { upper }
}

/// Sums of weights that differ by a smaller share differ by rounding.
const WEIGHT_ROUNDING: f64 = 1e-12;

/// The same of values with weights: the value at which half of the weight is reached, or the mean of that and the next one if it is
/// reached exactly, as whole weights have it that stand for repeated values.
pub(crate) fn weighted_median(mut pairs: Vec<(f64, f64)>) -> f64 {
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let half = 0.5 * pairs.iter().map(|(_, weight)| weight).sum::<f64>();
    let mut sum = 0.0;
    for (i, &(value, weight)) in pairs.iter().enumerate() {
        sum += weight;
        let reached = (sum - half).abs() <= WEIGHT_ROUNDING * half;
        match pairs[i + 1..].iter().find(|(_, weight)| *weight > 0.0) {
            Some(&(next, _)) if reached => return 0.5 * (value + next),
            _ if reached || sum > half => return value,
            _ => {}
        }
    }
    pairs.last().map_or(0.0, |&(value, _)| value)
}

/// Replaces logits (classes x samples) by log-probabilities.
pub(crate) fn log_softmax(logits: &mut Mat<f64>) {
    for i in 0..logits.ncols() {
        let column = logits.col_as_slice_mut(i);
        let top = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = column.iter().map(|v| (v - top).exp()).sum();
        column.iter_mut().for_each(|v| *v -= top + sum.ln());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    /// Scores, samples x classes, that know the class with the given strength.
    fn scores(strength: f64, seed: u64) -> Mat<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        Mat::from_fn(90, 3, |i, c| {
            let noise: f64 = StandardNormal.sample(&mut rng);
            noise + if c == i / 30 { strength } else { 0.0 }
        })
    }

    fn judge() -> Judge {
        Judge::new((0..90).map(|i| i / 30).collect(), vec![true; 90], None, 3)
    }

    fn loss(scores: &[&Mat<f64>], weights: &[f64]) -> f64 {
        let log_loss = |i: usize| {
            let logit = |c: usize| scores.iter().zip(weights).map(|(f, w)| w * f[(i, c)]).sum::<f64>();
            (0..3).map(|c| logit(c).exp()).sum::<f64>().ln() - logit(i / 30)
        };
        (0..90).map(log_loss).sum::<f64>() / 90.0 + 0.5 * L2 * weights.iter().map(|w| w * w).sum::<f64>()
    }

    #[test]
    fn derivatives_are_those_of_the_loss() {
        let (a, b) = (scores(1.0, 1), scores(0.5, 2));
        let (both, weights) = ([&a, &b], [0.7, 0.2]);
        let found = judge().derivatives(&both, &weights);
        assert!((found.loss - loss(&both, &weights)).abs() < 1e-12);
        let shifted = |e: usize, h: f64| {
            let mut weights = weights;
            weights[e] += h;
            weights
        };
        for e in 0..2 {
            let slope = (loss(&both, &shifted(e, 1e-5)) - loss(&both, &shifted(e, -1e-5))) / 2e-5;
            assert!((found.gradient[e] - slope).abs() < 1e-8);
            let gradient = |h: f64| judge().derivatives(&both, &shifted(e, h)).gradient;
            for o in 0..2 {
                let curve = (gradient(1e-5)[o] - gradient(-1e-5)[o]) / 2e-5;
                assert!((found.hessian[(e, o)] - curve).abs() < 1e-7);
            }
        }
    }

    /// Conditions of Karush, Kuhn and Tucker, with a reading that says the opposite of the truth.
    #[test]
    fn fitted_weights_are_optimal_and_never_negative() {
        let (good, fair, bad) = (scores(1.5, 1), scores(0.8, 2), scores(-1.0, 3));
        let all = [&good, &fair, &bad];
        let fitted = judge().fit(&all, vec![1.0; 3]).unwrap().fitted();
        let at = judge().derivatives(&all, &fitted.weights);
        assert!(fitted.weights[0] > 0.0 && fitted.weights[1] > 0.0 && fitted.weights[2] == 0.0, "{fitted:?}");
        assert!(at.gradient[0].abs() < 1e-4 && at.gradient[1].abs() < 1e-4 && at.gradient[2] > 0.0);
        let again = judge().fit(&all, vec![0.0, 5.0, 2.0]).unwrap().fitted();
        assert!((again.loss - fitted.loss).abs() < 1e-6);
    }

    #[test]
    fn the_greedy_choice_takes_what_helps_and_leaves_the_rest() {
        let (good, fair, copy, bad) = (scores(1.5, 1), scores(1.2, 2), scores(1.5, 1), scores(-1.0, 3));
        let judge = judge();
        let alone = judge.alone(&good, START).unwrap();
        let (chosen, fitted) = judge.choose(&[&good, &fair, &copy, &bad], &alone, 6).unwrap();
        assert_eq!(chosen, [0, 1]);
        assert!(fitted.loss < alone.loss && fitted.weights.len() == 2);
        assert_eq!(judge.choose(&[&good, &fair], &alone, 1).unwrap().0, [0]);
    }

    #[test]
    fn derivatives_of_a_reading_that_joins_need_no_softmax_of_their_own() {
        let (a, b, new) = (scores(1.0, 1), scores(0.5, 2), scores(0.7, 3));
        let judge = judge();
        let so_far = judge.fit(&[&a, &b], vec![1.0; 2]).unwrap();
        let found = Held::new(&judge, &so_far).joined_by(&new);
        let expected = judge.derivatives(&[&a, &b, &new], &[so_far.weights[0], so_far.weights[1], 0.0]);
        assert!((found.loss - expected.loss).abs() < 1e-14);
        for e in 0..3 {
            assert!((found.gradient[e] - expected.gradient[e]).abs() < 1e-14);
            assert!((0..3).all(|o| (found.hessian[(e, o)] - expected.hessian[(e, o)]).abs() < 1e-13));
        }
    }

    /// Giving trials up early must not change who wins: against fits of all of them to the end.
    #[test]
    fn the_winner_is_that_of_all_trials_fitted_to_the_end() {
        let judge = judge();
        for seed in 0..20 {
            let strengths = [1.5, 0.2, 0.9, 1.4, 0.0, 1.2, 0.6, 1.45];
            let all: Vec<Mat<f64>> =
                strengths.iter().enumerate().map(|(e, &s)| scores(s, 100 * seed + e as u64)).collect();
            let shortlist: Vec<&Mat<f64>> = all.iter().collect();
            let first = judge.fit(&shortlist[..1], vec![START]).unwrap();
            let found = judge.best_addition(&first, &shortlist, (1..8).collect()).unwrap().map(|(_, i)| i);
            let loss = |i: usize| judge.fit(&[&all[0], &all[i]], vec![1.0; 2]).unwrap().now.loss;
            let best = (1..8).min_by(|&a, &b| loss(a).total_cmp(&loss(b))).unwrap();
            assert_eq!(found, (loss(best) <= first.now.loss * (1.0 - GAIN)).then_some(best));
        }
    }

    /// Shares fall with the log-loss of all samples together; each reading keeps the weight that is best for it alone.
    #[test]
    fn averages_share_by_tempered_likelihood() {
        let fitted = |weight: f64, loss: f64| Fitted { weights: vec![weight], loss };
        let (best, same, worse, poor) = (fitted(2.0, 0.3), fitted(4.0, 0.3), fitted(3.0, 0.35), fitted(1.0, 0.9));
        let found = judge().average(&[&best, &same, &worse, &poor]);
        let part = (-0.25 * 90.0 * 0.05f64).exp();
        let expected = [2.0, 4.0, 3.0 * part, 0.0].map(|v| v / (2.0 + part));
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        // The more samples, the more the best one counts.
        let many = Judge::new((0..9000).map(|i| i / 3000).collect(), vec![true; 9000], None, 3);
        assert_eq!(many.average(&[&best, &worse]), [2.0, 0.0]);
    }

    #[test]
    fn samples_without_a_say_do_not_count() {
        let targets = vec![0, 0, 1, 2, 2];
        let judge = Judge::new(targets.clone(), vec![true, true, false, true, true], None, 3);
        let mut f = Mat::from_fn(5, 3, |i, c| if targets[i] == c { 1.0 } else { 0.0 });
        let before = judge.alone(&f, START).unwrap();
        (0..3).for_each(|c| f[(2, c)] = -20.0 * c as f64);
        let after = judge.alone(&f, START).unwrap();
        assert_eq!((before.weights, before.loss), (after.weights, after.loss));
    }

    #[test]
    fn medians_and_scales() {
        assert_eq!((median(vec![]), median(vec![3.0, 1.0, 2.0]), median(vec![4.0, 1.0, 2.0, 9.0])), (0.0, 2.0, 3.0));
        let mut f = faer::mat![[1.0, 2.0, f64::NAN], [-1.0, -2.0, 0.0]];
        let repeated = |pairs: &[(f64, f64)]| median(pairs.iter().flat_map(|&(v, w)| vec![v; w as usize]).collect());
        for pairs in
            [vec![(3.0, 1.0), (1.0, 2.0), (2.0, 3.0)], vec![(1.0, 2.0), (5.0, 0.0), (9.0, 2.0)], vec![(4.0, 5.0)]]
        {
            assert_eq!(weighted_median(pairs.clone()), repeated(&pairs));
        }
        assert!((normalize_by_own_scale(&mut f.clone(), None) - 2.5f64.sqrt()).abs() < 1e-15);
        normalize(&mut f, 0.05);
        // Forty apart, eighty apart but cut off at sixty, no number.
        assert!((f[(0, 0)] - 20.0).abs() < 1e-12);
        assert_eq!((f[(0, 1)], f[(1, 1)], f[(1, 2)]), (30.0, -30.0, 0.0));
    }

    /// Scores far above the limit keep their differences: the best class stays the best.
    #[test]
    fn clipping_makes_no_ties_at_the_top() {
        let mut f = faer::mat![
            [0.0, f64::NEG_INFINITY, -1e200],
            [-7.0, 1.0, -2e200],
            [-1e6, 0.0, -2e200],
            [-1e6, 0.0, f64::NEG_INFINITY]
        ];
        normalize(&mut f, 1.0);
        let differences = |i: usize| [1, 2, 3].map(|c| f[(c, i)] - f[(0, i)]);
        assert_eq!(differences(0).map(|v| (v * 1e9).round() / 1e9), [-7.0, -60.0, -60.0]);
        assert_eq!(differences(1).map(|v| (v * 1e9).round() / 1e9), [60.0, 59.0, 59.0]);
        assert_eq!(differences(2).map(|v| (v * 1e9).round() / 1e9), [-60.0, -60.0, -60.0]);
        assert!(f.is_all_finite());
    }
}
