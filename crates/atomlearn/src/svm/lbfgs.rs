//! The same problem by truncated L-BFGS, as the published codes of this family solve it.
//!
//! From zero, memory 10, at most 30 iterations, strong Wolfe conditions, steps of at most 1.1. It stops short of the
//! optimum; use it to reproduce published results, [`super::one_vs_rest`] for everything else.

use super::{Svm, sign};
use crate::linalg::{dot, mul};
use faer::{Mat, MatRef};
use rayon::prelude::*;
use std::collections::VecDeque;

const MEMORY: usize = 10;
const MAX_ITERATIONS: usize = 30;
const TOLERANCE: f64 = 1e-4;
const SUFFICIENT_DECREASE: f64 = 1e-4;
const CURVATURE: f64 = 0.9;
const LARGEST_STEP: f64 = 1.1;

/// Trains one classifier per class on the columns of `z`.
pub fn one_vs_rest(z: &Mat<f64>, targets: &[usize], n_classes: usize, tau: f64) -> Svm {
    let dim = z.nrows();
    let solutions: Vec<Vec<f64>> = (0..n_classes)
        .into_par_iter()
        .map(|c| {
            let t = targets.iter().map(|&target| sign(target, c)).collect();
            minimize(&LbfgsProblem { z: z.as_ref(), t, tau })
        })
        .collect();
    Svm {
        weights: Mat::from_fn(dim, n_classes, |k, c| solutions[c][k]),
        bias: solutions.iter().map(|x| x[dim]).collect(),
    }
}

struct LbfgsProblem<'a> {
    z: MatRef<'a, f64>,
    t: Vec<f64>,
    tau: f64,
}

/// A point `x = (u, b)` with its value and gradient.
#[derive(Clone)]
struct LbfgsPoint {
    x: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

impl LbfgsProblem<'_> {
    fn at(&self, x: Vec<f64>) -> LbfgsPoint {
        let dim = self.z.nrows();
        let u = Mat::from_fn(dim, 1, |k, _| x[k]);
        let outputs = mul(self.z.transpose(), &u);
        let pull = Mat::from_fn(self.t.len(), 1, |i, _| {
            let o = outputs[(i, 0)] + x[dim];
            if self.t[i] * o < 1.0 { o - self.t[i] } else { 0.0 }
        });
        let value = self.tau * dot(&x[..dim], &x[..dim]) + pull.squared_norm_l2();
        let zp = mul(self.z, &pull);
        let mut gradient: Vec<f64> = (0..dim).map(|k| 2.0 * (self.tau * x[k] + zp[(k, 0)])).collect();
        gradient.push(2.0 * pull.col(0).iter().sum::<f64>());
        LbfgsPoint { x, value, gradient }
    }

    fn along(&self, from: &LbfgsPoint, direction: &[f64], step: f64) -> LbfgsPoint {
        self.at(from.x.iter().zip(direction).map(|(x, d)| x + step * d).collect())
    }
}

fn minimize(problem: &LbfgsProblem<'_>) -> Vec<f64> {
    let mut point = problem.at(vec![0.0; problem.z.nrows() + 1]);
    let mut memory: VecDeque<(Vec<f64>, Vec<f64>, f64)> = VecDeque::with_capacity(MEMORY);
    let mut step = 0.01;
    for iteration in 0..MAX_ITERATIONS {
        let steepest = point.gradient.iter().fold(0.0f64, |m, g| m.max(g.abs()));
        if steepest / (1.0 + point.value.abs()) <= TOLERANCE {
            break;
        }
        let direction = direction(&point.gradient, &memory);
        let trial = match iteration {
            0 => step,
            _ if (0.495..0.5).contains(&step) => (step + 0.5) / 2.0,
            _ => (step + LARGEST_STEP) / 2.0,
        };
        let Some((taken, next)) = strong_wolfe(problem, &point, &direction, trial) else { break };
        step = taken;
        let s: Vec<f64> = next.x.iter().zip(&point.x).map(|(a, b)| a - b).collect();
        let y: Vec<f64> = next.gradient.iter().zip(&point.gradient).map(|(a, b)| a - b).collect();
        let moved = s.iter().zip(&point.x).fold(0.0f64, |m, (s, x)| m.max((s / (x + f64::EPSILON)).abs()));
        let sy = dot(&s, &y);
        if sy > 0.0 {
            if memory.len() == MEMORY {
                memory.pop_front();
            }
            memory.push_back((s, y, 1.0 / sy));
        }
        point = next;
        if moved <= TOLERANCE {
            break;
        }
    }
    point.x
}

/// Two-loop recursion.
fn direction(gradient: &[f64], memory: &VecDeque<(Vec<f64>, Vec<f64>, f64)>) -> Vec<f64> {
    let mut q = gradient.to_vec();
    let mut alphas = Vec::with_capacity(memory.len());
    for (s, y, rho) in memory.iter().rev() {
        let alpha = rho * dot(s, &q);
        q.iter_mut().zip(y).for_each(|(q, y)| *q -= alpha * y);
        alphas.push(alpha);
    }
    if let Some((_, y, rho)) = memory.back() {
        let scale = 1.0 / (rho * dot(y, y));
        q.iter_mut().for_each(|q| *q *= scale);
    }
    for ((s, y, rho), alpha) in memory.iter().zip(alphas.iter().rev()) {
        let beta = rho * dot(y, &q);
        q.iter_mut().zip(s).for_each(|(q, s)| *q += (alpha - beta) * s);
    }
    q.iter_mut().for_each(|q| *q = -*q);
    q
}

/// One end of a bracket on the line.
#[derive(Clone)]
struct End {
    step: f64,
    slope: f64,
    point: LbfgsPoint,
}

/// A step that satisfies the strong Wolfe conditions, or the best one found within the limits of the published code.
fn strong_wolfe(
    problem: &LbfgsProblem<'_>,
    from: &LbfgsPoint,
    direction: &[f64],
    trial: f64,
) -> Option<(f64, LbfgsPoint)> {
    let slope0 = dot(&from.gradient, direction);
    if slope0 >= 0.0 {
        return None;
    }
    let end = |step: f64| {
        let point = problem.along(from, direction, step);
        End { step, slope: dot(&point.gradient, direction), point }
    };
    let enough = |e: &End| e.point.value <= from.value + SUFFICIENT_DECREASE * e.step * slope0;
    let flat = |e: &End| e.slope.abs() <= -CURVATURE * slope0;
    let mut low = End { step: 0.0, slope: slope0, point: from.clone() };
    let mut step = trial;
    for expansion in 0..10 {
        let here = end(step);
        if !enough(&here) || (expansion > 0 && here.point.value >= low.point.value) {
            return zoom(&end, &enough, &flat, low, here);
        }
        if flat(&here) {
            return Some((here.step, here.point));
        }
        if here.slope >= 0.0 {
            return zoom(&end, &enough, &flat, here, low);
        }
        step = (here.step + LARGEST_STEP) / 2.0;
        low = here;
    }
    Some((low.step, low.point))
}

fn zoom(
    end: &dyn Fn(f64) -> End,
    enough: &dyn Fn(&End) -> bool,
    flat: &dyn Fn(&End) -> bool,
    mut low: End,
    mut high: End,
) -> Option<(f64, LbfgsPoint)> {
    for _ in 0..11 {
        let here = end(cubic_minimum(&low, &high));
        if !enough(&here) || here.point.value >= low.point.value {
            high = here;
        } else {
            if flat(&here) {
                return Some((here.step, here.point));
            }
            if here.slope * (high.step - low.step) >= 0.0 {
                high = low;
            }
            low = here;
        }
    }
    (low.step > 0.0).then_some((low.step, low.point))
}

/// Minimiser of the cubic through values and slopes at both ends, kept inside them.
fn cubic_minimum(a: &End, b: &End) -> f64 {
    let width = b.step - a.step;
    let d1 = a.slope + b.slope - 3.0 * (a.point.value - b.point.value) / (a.step - b.step);
    let root = (d1 * d1 - a.slope * b.slope).max(0.0).sqrt() * width.signum();
    let step = b.step - width * (b.slope + root - d1) / (b.slope - a.slope + 2.0 * root);
    let left = a.step.min(b.step);
    let right = a.step.max(b.step);
    if step.is_finite() && (left..=right).contains(&step) { step } else { 0.5 * (left + right) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{objective, problem};
    use super::*;

    #[test]
    fn close_to_the_optimum_and_never_better() {
        for (dim, n) in [(4, 60), (40, 60)] {
            let (z, targets) = problem(dim, n);
            let exact = super::super::one_vs_rest(&z, &targets, 3, 0.2, None).unwrap();
            let early = one_vs_rest(&z, &targets, 3, 0.2);
            let best = objective(&exact, z.as_ref(), &targets, 0.2);
            let found = objective(&early, z.as_ref(), &targets, 0.2);
            assert!(found >= best - 1e-9 && found < 1.01 * best, "{found} against {best}");
        }
    }
}
