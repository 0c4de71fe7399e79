//! The one-vs-rest SVM of [`crate::svm`] by Newton's method from sums over samples.
//!
//! Every round evaluates one point per class: loss, gradient and Hessian over the samples whose margin is violated. The
//! objective is convex and piecewise quadratic, so from a good start two or three points are enough, and a Hessian costs
//! no more than the many products that conjugate gradients would need, each a pass over the data. A point that does not
//! lower the objective enough is replaced by one between it and its predecessor.

use super::message::Message;
use super::stats::PartialStats;
use super::sums::SvmSums;
use crate::linalg::{Spd, dot, mirror, mul};
use crate::svm::Svm;
use crate::{Error, Result};
use faer::{Mat, MatRef};
use serde::{Deserialize, Serialize};

/// A Newton step whose promised decrease is below this fraction of the objective is the last and needs no check: what is
/// left after it is of the order of its square.
const LAST_STEP: f64 = 1e-10;
/// Far more points than any problem has needed.
const MAX_ROUNDS: usize = 200;
const STAGE: &str = "SVM";

/// All classes on their way to the optimum. Coordinates have a last row for the bias.
#[derive(Clone, Debug)]
pub(crate) struct Newton {
    tau: f64,
    rounds: usize,
    classes: Vec<ClassState>,
    /// Where each class is evaluated next, or its solution.
    candidate: Mat<f64>,
    /// The best point so far and the gradient there, for classes that have one.
    point: Mat<f64>,
    gradient: Mat<f64>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct ClassState {
    done: bool,
    /// Objective at `point`, or at the solution.
    value: Option<f64>,
}

impl Newton {
    /// Starts from given classifiers.
    pub(crate) fn from_svm(svm: &Svm, tau: f64) -> Self {
        let (dim, n_classes) = svm.weights.shape();
        let at = |i: usize, c: usize| if i < dim { svm.weights[(i, c)] } else { svm.bias[c] };
        Self::new(Mat::from_fn(dim + 1, n_classes, at), tau)
    }

    /// Starts where one step from zero leads; there all margins are violated, so that the sums are known: `second` is the
    /// sum of `f f^T` and `by_class` that of `f` by class, both with the constant 1 as last feature.
    pub(crate) fn from_moments(second: &Mat<f64>, by_class: &Mat<f64>, tau: f64) -> Result<Self> {
        let dim = second.nrows();
        let n_classes = by_class.ncols();
        let mut system = second.clone();
        (0..dim - 1).for_each(|i| system[(i, i)] += tau);
        let total = |i: usize| (0..n_classes).map(|c| by_class[(i, c)]).sum::<f64>();
        let totals: Vec<f64> = (0..dim).map(total).collect();
        let pull = Mat::from_fn(dim, n_classes, |i, c| 2.0 * by_class[(i, c)] - totals[i]);
        Ok(Self::new(solve_bias_first(&system, &pull)?, tau))
    }

    fn new(candidate: Mat<f64>, tau: f64) -> Self {
        let (dim, n_classes) = candidate.shape();
        let classes = vec![ClassState { done: false, value: None }; n_classes];
        Newton {
            tau,
            rounds: 0,
            classes,
            candidate,
            point: Mat::zeros(dim, n_classes),
            gradient: Mat::zeros(dim, n_classes),
        }
    }

    /// Weight of the norm against the loss.
    pub(crate) fn tau(&self) -> f64 {
        self.tau
    }

    /// Number of coordinates without the bias.
    pub(crate) fn dim(&self) -> usize {
        self.candidate.nrows() - 1
    }

    /// Number of classes.
    pub(crate) fn n_classes(&self) -> usize {
        self.classes.len()
    }

    /// Classes without a solution.
    pub(crate) fn pending(&self) -> Vec<usize> {
        (0..self.classes.len()).filter(|&c| !self.classes[c].done).collect()
    }

    /// Where the pending classes are to be evaluated, in the coordinates of features `f` with `y = transform f`.
    pub(crate) fn weights(&self, transform: Option<MatRef<'_, f64>>) -> Mat<f64> {
        let pending = self.pending();
        let points = Mat::from_fn(self.candidate.nrows(), pending.len(), |i, p| self.candidate[(i, pending[p])]);
        match transform {
            None => points,
            Some(transform) => mul(bordered(transform).transpose(), &points),
        }
    }

    /// Takes the sums of a round at [`Newton::weights`].
    pub(crate) fn absorb(&mut self, stats: &mut PartialStats, transform: Option<MatRef<'_, f64>>) -> Result<()> {
        self.rounds += 1;
        if self.rounds > MAX_ROUNDS {
            return Err(Error::numeric(
                STAGE,
                "Newton's method does not settle; standardise the features (preprocessing step `standard`)",
            ));
        }
        let transform = transform.map(bordered);
        let dim = transform.as_ref().map_or(self.candidate.nrows(), Mat::ncols);
        for class in self.pending() {
            let SvmSums { loss, gradient: slope, hessian: curvature } = SvmSums::take(stats, class, dim)?;
            let (slope, curvature) = match &transform {
                None => (slope, curvature),
                Some(t) => {
                    let half = mul(t, &curvature);
                    (mul(t, &slope), mul(&half, t.transpose()))
                }
            };
            self.evaluate(class, loss, slope, curvature)?;
        }
        Ok(())
    }

    /// One class at its candidate: `slope` and `curvature` are halves of the loss's gradient and Hessian.
    fn evaluate(&mut self, class: usize, loss: f64, mut slope: Mat<f64>, mut curvature: Mat<f64>) -> Result<()> {
        let dim = self.candidate.nrows() - 1;
        let here: Vec<f64> = self.candidate.col(class).iter().copied().collect();
        let value = self.tau * dot(&here[..dim], &here[..dim]) + loss;
        (0..dim).for_each(|i| slope[(i, 0)] += self.tau * here[i]);
        (0..dim).for_each(|i| curvature[(i, i)] += self.tau);
        let slope: Vec<f64> = slope.col(0).iter().copied().collect();

        if let Some(before) = self.classes[class].value {
            let along: Vec<f64> = (0..=dim).map(|i| here[i] - self.point[(i, class)]).collect();
            let gradient: Vec<f64> = self.gradient.col(class).iter().copied().collect();
            let start = dot(&gradient, &along);
            let end = dot(&slope, &along);
            // Near the optimum rounding may hide the last decrease.
            if value > before + 2e-4 * start.min(0.0) + 1e-12 * before.abs() {
                let share = if end > 0.0 { (start / (start - end)).clamp(0.1, 0.9) } else { 0.5 };
                (0..=dim).for_each(|i| self.candidate[(i, class)] = self.point[(i, class)] + share * along[i]);
                return Ok(());
            }
        }
        if curvature[(dim, dim)] == 0.0 {
            // No margin is violated: any bias will do.
            curvature[(dim, dim)] = 1.0;
        }
        let step = solve_bias_first(&curvature, &Mat::from_fn(dim + 1, 1, |i, _| -slope[i]))?;
        let decrease = -(0..=dim).map(|i| slope[i] * step[(i, 0)]).sum::<f64>();
        for i in 0..=dim {
            self.point[(i, class)] = here[i];
            self.gradient[(i, class)] = slope[i];
            self.candidate[(i, class)] = here[i] + step[(i, 0)];
        }
        let done = decrease <= LAST_STEP * value;
        self.classes[class] = ClassState { done, value: Some(if done { value - decrease.max(0.0) } else { value }) };
        Ok(())
    }

    /// The solution and the sum over classes of all losses, once no class is pending.
    pub(crate) fn solution(&self) -> (Svm, f64) {
        let dim = self.candidate.nrows() - 1;
        let weights = self.candidate.subrows(0, dim).to_owned();
        let bias = self.candidate.row(dim).iter().copied().collect();
        let values: f64 = self.classes.iter().filter_map(|state| state.value).sum();
        let losses = (values - self.tau * weights.squared_norm_l2()).max(0.0);
        (Svm { weights, bias }, losses)
    }

    /// For a checkpoint.
    pub(crate) fn store(&self, message: &mut Message) {
        message.set("svm", (self.tau, self.rounds, &self.classes));
        message.put("svm.candidate", self.candidate.clone());
        message.put("svm.point", self.point.clone());
        message.put("svm.gradient", self.gradient.clone());
    }

    /// The counterpart of [`Newton::store`].
    pub(crate) fn restore(message: &mut Message) -> Result<Self> {
        let (tau, rounds, classes): (f64, usize, Vec<ClassState>) = message.get("svm")?;
        let candidate = message.take("svm.candidate", None, classes.len())?;
        let dim = candidate.nrows();
        if dim == 0 {
            return Err(Error::Data("the checkpoint's SVM has no coordinates".into()));
        }
        let point = message.take("svm.point", dim, classes.len())?;
        let gradient = message.take("svm.gradient", dim, classes.len())?;
        Ok(Newton { tau, rounds, classes, candidate, point, gradient })
    }
}

/// Solves with the bias, which is the last coordinate, eliminated first: what is left then is the scatter of the features
/// about their mean. Eliminated last, the bias would be a small difference of large numbers.
fn solve_bias_first(system: &Mat<f64>, rhs: &Mat<f64>) -> Result<Mat<f64>> {
    let n = system.nrows();
    let from = |i: usize| (i + n - 1) % n;
    let turned = Mat::from_fn(n, n, |i, j| system[(from(i), from(j))]);
    let factor = Spd::new(turned, STAGE).map_err(|_| {
        let why = "the features are too different in size, or too long, for its equations; standardise them (preprocessing step `standard`)";
        Error::numeric(STAGE, why)
    })?;
    let solved = factor.solve(Mat::from_fn(n, rhs.ncols(), |i, j| rhs[(from(i), j)]));
    Ok(Mat::from_fn(n, rhs.ncols(), |i, j| solved[((i + 1) % n, j)]))
}

/// `transform` for features with a constant 1 behind them.
fn bordered(transform: MatRef<'_, f64>) -> Mat<f64> {
    let (rows, cols) = transform.shape();
    let mut whole = Mat::zeros(rows + 1, cols + 1);
    whole.submatrix_mut(0, 0, rows, cols).copy_from(transform);
    whole[(rows, cols)] = 1.0;
    whole
}

/// The lower triangle as a column, for messages of half the size.
pub(crate) fn packed(lower: &Mat<f64>) -> Mat<f64> {
    let n = lower.nrows();
    let values: Vec<f64> = (0..n).flat_map(|j| (j..n).map(move |i| lower[(i, j)])).collect();
    Mat::from_fn(values.len(), 1, |i, _| values[i])
}

/// The symmetric matrix behind a packed triangle.
pub(crate) fn unpacked(packed: &Mat<f64>, n: usize) -> Mat<f64> {
    let mut whole = Mat::zeros(n, n);
    let mut next = 0;
    for j in 0..n {
        for i in j..n {
            whole[(i, j)] = packed[(next, 0)];
            next += 1;
        }
    }
    mirror(&mut whole);
    whole
}
