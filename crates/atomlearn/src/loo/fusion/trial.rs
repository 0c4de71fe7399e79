//! One fit: projected Newton.

use super::{Derivatives, Fitted, Judge};
use crate::Result;
use crate::linalg::{Spd, dot};
use faer::Mat;

/// Newton steps that fit one set of readings.
const MAX_ITER: usize = 60;
/// Weights are at their best when no derivative is larger, or no step gains more than a tenth of this.
const FLAT: f64 = 1e-6;
/// A step that promises a smaller fall of the loss is not taken.
const NOTHING: f64 = 1e-11;
/// A fit is given up if not even this many times the fall that its quadratic model promises would do. At the minimum of a convex
/// function that is nearly quadratic once would be right; a softmax is flatter further away, but not by so much.
const MARGIN: f64 = 4.0;

/// A fit in progress: projected Newton, a step in all weights that are positive or want to be, halved until the loss falls.
pub(super) struct Trial<'a> {
    pub scores: Vec<&'a Mat<f64>>,
    pub weights: Vec<f64>,
    pub now: Derivatives,
    /// Where the next step goes; none at the minimum.
    pub direction: Option<Vec<f64>>,
    /// By how much the next step lowers the loss if it is quadratic.
    promise: f64,
    steps: usize,
}

impl<'a> Trial<'a> {
    pub fn new(scores: Vec<&'a Mat<f64>>, weights: Vec<f64>, now: Derivatives) -> Result<Self> {
        let mut trial = Trial::finished(scores, weights, now);
        trial.aim()?;
        Ok(trial)
    }

    /// Weights that are at their best already.
    pub fn finished(scores: Vec<&'a Mat<f64>>, weights: Vec<f64>, now: Derivatives) -> Self {
        Trial { scores, weights, now, direction: None, promise: 0.0, steps: 0 }
    }

    /// Newton's direction from here.
    fn aim(&mut self) -> Result<()> {
        let Derivatives { gradient, hessian, .. } = &self.now;
        let free: Vec<usize> = (0..gradient.len()).filter(|&e| self.weights[e] > 0.0 || gradient[e] < 0.0).collect();
        if self.steps == MAX_ITER || free.iter().all(|&e| gradient[e].abs() < FLAT) {
            self.stop();
            return Ok(());
        }
        let own = Mat::from_fn(free.len(), free.len(), |a, b| hessian[(free[a], free[b])]);
        let downhill = Mat::from_fn(free.len(), 1, |a, _| -gradient[free[a]]);
        let step = Spd::new(own, "fusion")?.solve(&downhill);
        let mut direction = vec![0.0; gradient.len()];
        free.iter().enumerate().for_each(|(a, &e)| direction[e] = step[(a, 0)]);
        self.promise = -0.5 * dot(&direction, gradient);
        self.direction = Some(direction);
        if self.promise < NOTHING {
            self.stop();
        }
        Ok(())
    }

    fn stop(&mut self) {
        (self.direction, self.promise) = (None, 0.0);
    }

    /// Whether its loss cannot come down to `limit`.
    pub fn is_hopeless(&self, limit: f64) -> bool {
        self.now.loss - MARGIN * self.promise > limit
    }

    pub fn step(&mut self, judge: &Judge) -> Result<()> {
        let Some(direction) = self.direction.take() else { return Ok(()) };
        let at = |length: f64| -> Vec<f64> {
            self.weights.iter().zip(&direction).map(|(w, d)| (w + length * d).max(0.0)).collect()
        };
        let lengths = std::iter::successors(Some(1.0), |length| Some(length / 2.0)).take_while(|&l| l > 1e-4);
        let mut tried = lengths.map(|length| {
            let weights = at(length);
            (judge.derivatives(&self.scores, &weights), weights)
        });
        let found = tried.find(|(new, _)| new.loss < self.now.loss);
        let Some((new, weights)) = found else {
            self.stop();
            return Ok(());
        };
        let gain = self.now.loss - new.loss;
        (self.now, self.weights, self.steps) = (new, weights, self.steps + 1);
        if gain < 0.1 * FLAT {
            self.stop();
            return Ok(());
        }
        self.aim()
    }

    pub fn fitted(&self) -> Fitted {
        Fitted { weights: self.weights.clone(), loss: self.now.loss }
    }
}
