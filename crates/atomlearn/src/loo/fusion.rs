//! Fusion: a softmax over a few readings, fitted on leave-one-out scores.
//!
//! ```text
//! min_{w >= 0}  -mean_i log softmax(sum_e w_e f_e(i))_{y_i} + l2 / 2 |w|^2
//! ```
//!
//! It is convex. Readings join greedily: first the one with the lowest loss alone, then each time the one of the shortlist that
//! lowers the loss most, until there are enough or the gain is small.

use crate::Result;
use crate::linalg::{Spd, column, exp, vectorised};
use faer::{Mat, MatRef};
use rayon::prelude::*;

/// Weight of the penalty.
const L2: f64 = 1e-3;
/// The loss must fall by this share for another reading to join.
const GAIN: f64 = 5e-3;
/// Newton steps that fit one set of readings.
const MAX_ITER: usize = 60;
/// Weights are at their best when no derivative is larger, or no step gains more than a tenth of this.
const FLAT: f64 = 1e-6;
/// The weight from which a reading alone is fitted.
const START: f64 = 3.0;
/// Samples whose logits are in the cache together.
const TILE: usize = 64;
/// Normalised scores stay within this.
pub(crate) const CLIP: f64 = 30.0;

/// Whose labels are to be predicted, and whose say counts.
pub(crate) struct Judge {
    targets: Vec<usize>,
    /// One over the number of samples that have a say, zero for the others.
    say: Vec<f64>,
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
struct Derivatives {
    loss: f64,
    gradient: Vec<f64>,
    hessian: Mat<f64>,
}

impl Judge {
    /// For samples of classes `targets`, of which `heard` have a say.
    pub fn new(targets: Vec<usize>, heard: Vec<bool>, n_classes: usize) -> Self {
        let share = 1.0 / heard.iter().filter(|&&heard| heard).count().max(1) as f64;
        let say = heard.into_iter().map(|heard| if heard { share } else { 0.0 }).collect();
        Judge { targets, say, n_classes }
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

    /// The best weight of a reading alone.
    pub fn alone(&self, scores: &Mat<f64>) -> Result<Fitted> {
        self.fit(&[scores], vec![START])
    }

    /// Projected Newton: a step in all weights that are positive or want to be, halved until the loss falls.
    fn fit(&self, scores: &[&Mat<f64>], start: Vec<f64>) -> Result<Fitted> {
        let mut weights = start;
        let mut now = self.derivatives(scores, &weights);
        for _ in 0..MAX_ITER {
            let free: Vec<usize> = (0..weights.len()).filter(|&e| weights[e] > 0.0 || now.gradient[e] < 0.0).collect();
            if free.iter().all(|&e| now.gradient[e].abs() < FLAT) {
                break;
            }
            let hessian = Mat::from_fn(free.len(), free.len(), |a, b| now.hessian[(free[a], free[b])]);
            let downhill = Mat::from_fn(free.len(), 1, |a, _| -now.gradient[free[a]]);
            let direction = Spd::new(hessian, "fusion")?.solve(downhill.as_ref());
            let at = |length: f64| {
                let mut trial = weights.clone();
                free.iter().enumerate().for_each(|(a, &e)| trial[e] = (trial[e] + length * direction[(a, 0)]).max(0.0));
                trial
            };
            let lengths = std::iter::successors(Some(1.0), |length| Some(length / 2.0)).take_while(|&l| l > 1e-4);
            let mut tried = lengths.map(|length| {
                let trial = at(length);
                (self.derivatives(scores, &trial), trial)
            });
            let Some((new, trial)) = tried.find(|(new, _)| new.loss < now.loss) else { break };
            let gain = now.loss - new.loss;
            (now, weights) = (new, trial);
            if gain < 0.1 * FLAT {
                break;
            }
        }
        Ok(Fitted { weights, loss: now.loss })
    }

    /// Everything in one pass over the scores, samples side by side in vectors.
    fn derivatives(&self, scores: &[&Mat<f64>], weights: &[f64]) -> Derivatives {
        let n_readings = scores.len();
        let mut gradient: Vec<f64> = weights.iter().map(|w| L2 * w).collect();
        let mut hessian = Mat::from_fn(n_readings, n_readings, |a, b| if a == b { L2 + 1e-10 } else { 0.0 });
        let mut loss = 0.5 * L2 * weights.iter().map(|w| w * w).sum::<f64>();
        let mut tile = Tile::new(self.n_classes, n_readings);
        vectorised(
            #[inline(always)]
            || {
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
                            let (mean, other, square) = (&tile.means[a], &tile.means[b], &tile.squares[pair]);
                            for i in 0..len {
                                hessian[(a, b)] += say[i] * (square[i] - mean[i] * other[i]);
                            }
                            pair += 1;
                        }
                    }
                }
            },
        );
        // Only the lower triangle was summed.
        (0..n_readings).for_each(|a| (0..a).for_each(|b| hessian[(b, a)] = hessian[(a, b)]));
        Derivatives { loss, gradient, hessian }
    }

    /// Chooses among the scores of a shortlist, best alone first; returns their places, the weights and the loss.
    pub fn choose(&self, shortlist: &[&Mat<f64>], alone: &Fitted, most: usize) -> Result<(Vec<usize>, Fitted)> {
        let (mut chosen, mut best) = (vec![0], alone.clone());
        while chosen.len() < most {
            let start: Vec<f64> = best.weights.iter().copied().chain([0.0]).collect();
            let trial = |i: usize| {
                let scores: Vec<&Mat<f64>> = chosen.iter().chain([&i]).map(|&j| shortlist[j]).collect();
                Ok((self.fit(&scores, start.clone())?, i))
            };
            let others: Vec<usize> = (0..shortlist.len()).filter(|i| !chosen.contains(i)).collect();
            let trials: Vec<(Fitted, usize)> = others.into_par_iter().map(trial).collect::<Result<_>>()?;
            let Some((fitted, i)) = trials.into_iter().min_by(|a, b| a.0.loss.total_cmp(&b.0.loss)) else { break };
            if fitted.loss > best.loss * (1.0 - GAIN) {
                break;
            }
            chosen.push(i);
            best = fitted;
        }
        Ok((chosen, best))
    }
}

/// Softmax of some samples, side by side.
struct Tile {
    /// Classes x samples: first logits, then exponentials, not yet divided by their sums.
    exponentials: Vec<[f64; TILE]>,
    tops: [f64; TILE],
    sums: [f64; TILE],
    /// Mean of each reading under the softmax.
    means: Vec<[f64; TILE]>,
    /// Means of products of two readings, pairs `(a, b <= a)` in order.
    squares: Vec<[f64; TILE]>,
}

impl Tile {
    fn new(n_classes: usize, n_readings: usize) -> Self {
        let zeros = |count: usize| vec![[0.0; TILE]; count];
        Tile {
            exponentials: zeros(n_classes),
            tops: [0.0; TILE],
            sums: [0.0; TILE],
            means: zeros(n_readings),
            squares: zeros(n_readings * (n_readings + 1) / 2),
        }
    }

    #[inline(always)]
    fn softmax(&mut self, scores: &[&Mat<f64>], weights: &[f64], start: usize, len: usize) {
        (self.tops, self.sums) = ([f64::NEG_INFINITY; TILE], [0.0; TILE]);
        for (c, logits) in self.exponentials.iter_mut().enumerate() {
            *logits = [0.0; TILE];
            for (f, &weight) in scores.iter().zip(weights) {
                let f = &column(f.as_ref(), c)[start..start + len];
                for i in 0..len {
                    logits[i] += weight * f[i];
                }
            }
            for (top, &logit) in self.tops.iter_mut().zip(&*logits) {
                *top = top.max(logit);
            }
        }
        for logits in &mut self.exponentials {
            for ((logit, top), sum) in logits.iter_mut().zip(&self.tops).zip(&mut self.sums) {
                *logit = exp(*logit - top);
                *sum += *logit;
            }
        }
    }

    #[inline(always)]
    fn moments(&mut self, scores: &[&Mat<f64>], start: usize, len: usize) {
        self.means.iter_mut().chain(&mut self.squares).for_each(|sum| *sum = [0.0; TILE]);
        let shares = self.sums.map(|sum| 1.0 / sum);
        for (c, exponentials) in self.exponentials.iter().enumerate() {
            let mut pair = 0;
            for (a, f) in scores.iter().enumerate() {
                let f = &column(f.as_ref(), c)[start..start + len];
                let mut weighted = [0.0; TILE];
                for i in 0..len {
                    weighted[i] = exponentials[i] * shares[i] * f[i];
                    self.means[a][i] += weighted[i];
                }
                for other in &scores[..=a] {
                    let (other, square) = (&column(other.as_ref(), c)[start..start + len], &mut self.squares[pair]);
                    for i in 0..len {
                        square[i] += weighted[i] * other[i];
                    }
                    pair += 1;
                }
            }
        }
    }
}

/// Scores below this are rounding: kernels are of the order of one, and readings that tell anything stay far above.
const ROUNDING: f64 = 1e-12;

/// Centres scores (classes x samples) over classes, divides them by `scale` and clips them; what is not a number says nothing.
pub(crate) fn normalise(scores: &mut Mat<f64>, scale: f64) {
    centre(scores);
    for column in scores.as_mut().col_iter_mut() {
        column.iter_mut().for_each(|v| *v = if v.is_nan() { 0.0 } else { (*v / scale).clamp(-CLIP, CLIP) });
    }
}

fn centre(scores: &mut Mat<f64>) {
    for i in 0..scores.ncols() {
        let column = scores.col_as_slice_mut(i);
        let mean = column.iter().sum::<f64>() / column.len() as f64;
        column.iter_mut().for_each(|v| *v -= mean);
    }
}

/// The scale of scores: root of the median, over samples, of the mean square of their centred scores.
pub(crate) fn scale(scores: MatRef<'_, f64>) -> f64 {
    let mut centred = scores.to_owned();
    centre(&mut centred);
    let squares = centred.col_iter().map(|column| column.squared_norm_l2() / column.nrows() as f64);
    let scale = median(squares.filter(|v| !v.is_nan()).collect()).sqrt();
    // Scores that are all alike, up to rounding, have no scale of their own: blown up, rounding would pass for knowledge.
    if scale > ROUNDING && scale.is_finite() { scale } else { 1.0 }
}

/// The median, the mean of the middle two of an even number; 0 of none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let (middle, even) = (values.len() / 2, values.len().is_multiple_of(2));
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if even { 0.5 * (upper + below.iter().copied().fold(f64::NEG_INFINITY, f64::max)) } else { upper }
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
        Judge::new((0..90).map(|i| i / 30).collect(), vec![true; 90], 3)
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
        let fitted = judge().fit(&all, vec![1.0; 3]).unwrap();
        let at = judge().derivatives(&all, &fitted.weights);
        assert!(fitted.weights[0] > 0.0 && fitted.weights[1] > 0.0 && fitted.weights[2] == 0.0, "{fitted:?}");
        assert!(at.gradient[0].abs() < 1e-4 && at.gradient[1].abs() < 1e-4 && at.gradient[2] > 0.0);
        let again = judge().fit(&all, vec![0.0, 5.0, 2.0]).unwrap();
        assert!((again.loss - fitted.loss).abs() < 1e-6);
    }

    #[test]
    fn the_greedy_choice_takes_what_helps_and_leaves_the_rest() {
        let (good, fair, copy, bad) = (scores(1.5, 1), scores(1.2, 2), scores(1.5, 1), scores(-1.0, 3));
        let judge = judge();
        let alone = judge.alone(&good).unwrap();
        let (chosen, fitted) = judge.choose(&[&good, &fair, &copy, &bad], &alone, 6).unwrap();
        assert_eq!(chosen, [0, 1]);
        assert!(fitted.loss < alone.loss && fitted.weights.len() == 2);
        assert_eq!(judge.choose(&[&good, &fair], &alone, 1).unwrap().0, [0]);
    }

    #[test]
    fn samples_without_a_say_do_not_count() {
        let targets = vec![0, 0, 1, 2, 2];
        let judge = Judge::new(targets.clone(), vec![true, true, false, true, true], 3);
        let mut f = Mat::from_fn(5, 3, |i, c| if targets[i] == c { 1.0 } else { 0.0 });
        let before = judge.alone(&f).unwrap();
        (0..3).for_each(|c| f[(2, c)] = -20.0 * c as f64);
        let after = judge.alone(&f).unwrap();
        assert_eq!((before.weights, before.loss), (after.weights, after.loss));
    }

    #[test]
    fn medians_and_scales() {
        assert_eq!((median(vec![]), median(vec![3.0, 1.0, 2.0]), median(vec![4.0, 1.0, 2.0, 9.0])), (0.0, 2.0, 3.0));
        let mut f = faer::mat![[1.0, 2.0, f64::NAN], [-1.0, -2.0, 0.0]];
        assert!((scale(f.as_ref()) - 2.5f64.sqrt()).abs() < 1e-15);
        normalise(&mut f, 0.05);
        assert_eq!((f[(0, 0)], f[(0, 1)], f[(1, 1)], f[(1, 2)]), (20.0, 30.0, -30.0, 0.0));
    }
}
