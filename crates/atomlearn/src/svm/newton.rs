//! Exact solution by Newton's method on the active set.
//!
//! With the active samples `A = {i : t_i o_i < 1}` held fixed the problem is least squares, and its solution is the
//! Newton target. It is found in whichever space is smaller: `|A|` dual unknowns (`u = Z_A alpha`,
//! `(Z_A^T Z_A + tau I) alpha + b 1 = t_A`, `1^T alpha = 0`) or `dim` primal ones. When a full step reproduces the
//! active set, the target is the exact minimiser. Late steps change few samples; they reuse the last factor. Active sets
//! with nearly every sample share one factor among all classes. [`NewtonSolver::route`] chooses.

use super::bordered_solve::BorderedSystem;
use super::nearly_all_active::NearlyAllActive;
use super::warm_start::warm_start;
use super::{STAGE, Svm, sign};
use crate::linalg::{Spd, View, add_columns, add_diagonal, gram, gram_into, mul, mul_add};
use crate::linalg::{outer_gram, select_columns, wide};
use crate::{Error, Result};
use faer::{Mat, MatRef};
use rayon::prelude::*;

const MAX_STEPS: usize = 200;
/// A shared `n x n` Gram matrix pays while it is not much larger than the data.
const GRAM_WIDTH: usize = 4;
/// A factor is reused while at most one in this many of its samples joined or left.
const REUSE: usize = 10;
/// Without a Gram matrix, nearly all samples are active if at most one in this many is not.
const NEARLY_ALL: usize = 8;

/// Trains one classifier per class on the columns of `z`.
///
/// `start` may hold any classifiers of the same dimension, such as those of a previous iteration; the problem is
/// convex, so it changes the time taken and not the result.
pub fn one_vs_rest(z: impl View, targets: &[usize], n_classes: usize, tau: f64, start: Option<&Svm>) -> Result<Svm> {
    let z = z.view();
    let start = start.map(|svm| SvmStart { svm, outputs: svm.scores(z) });
    Ok(one_vs_rest_in(&mut Memory::default(), z, targets, n_classes, tau, start)?.svm)
}

/// What trainings on as many samples, one after the other, can use again.
pub struct Memory {
    gram: Mat<f64>,
}

impl Default for Memory {
    fn default() -> Self {
        Memory { gram: Mat::new() }
    }
}

/// Where training begins.
pub struct SvmStart<'a> {
    /// Any classifiers.
    pub svm: &'a Svm,
    /// What they give for the samples, classes x samples.
    pub outputs: Mat<f64>,
}

/// Classifiers and what they give for their training samples, classes x samples.
pub struct Trained {
    /// The classifiers.
    pub svm: Svm,
    /// `U^T z + b`.
    pub outputs: Mat<f64>,
}

/// [`one_vs_rest`] in memory that is kept: fresh memory for a large Gram matrix costs a good part of its arithmetic.
pub fn one_vs_rest_in(
    memory: &mut Memory,
    z: MatRef<'_, f64>,
    targets: &[usize],
    n_classes: usize,
    tau: f64,
    start: Option<SvmStart<'_>>,
) -> Result<Trained> {
    let mut solver = NewtonSolver::new(memory, z, tau);
    let near;
    let SvmStart { svm: start, outputs } = match start.filter(|start| start.svm.weights.norm_max() > 0.0) {
        Some(start) => start,
        None => {
            near = warm_start(z, targets, n_classes, tau);
            SvmStart { svm: &near, outputs: near.scores(z) }
        }
    };
    solver.prepare_shared(outputs.as_ref(), targets)?;
    let solved: Vec<ClassPoint> = (0..n_classes)
        .into_par_iter()
        .map(|c| {
            let t: Vec<f64> = targets.iter().map(|&target| sign(target, c)).collect();
            let o: Vec<f64> = outputs.row(c).iter().copied().collect();
            let norm = start.weights.col(c).squared_norm_l2();
            solver.solve(c, &t, o, norm, start.bias[c])
        })
        .collect::<Result<_>>()
        .map_err(|e| match e {
            Error::Numeric { stage, why } => Error::numeric(
                stage,
                format!(
                    "{why}: the samples are badly scaled; normalise them (preprocessing step `unit` or `standard`)"
                ),
            ),
            other => other,
        })?;
    // u_c = start_share_c u0_c + Z alpha_c, one product for all classes.
    let alphas = Mat::from_fn(z.ncols(), n_classes, |i, c| solved[c].alpha[i]);
    let mut weights = mul(z, &alphas);
    for (c, class) in solved.iter().enumerate().filter(|(_, class)| class.start_share != 0.0) {
        for k in 0..z.nrows() {
            weights[(k, c)] += class.start_share * start.weights[(k, c)];
        }
    }
    let outputs = Mat::from_fn(n_classes, z.ncols(), |c, i| solved[c].outputs[i]);
    Ok(Trained { svm: Svm { weights, bias: solved.into_iter().map(|class| class.bias).collect() }, outputs })
}

/// What all classes have in common.
struct NewtonSolver<'a> {
    z: MatRef<'a, f64>,
    tau: f64,
    /// `Z^T Z`, where it pays.
    gram: Option<&'a Mat<f64>>,
    /// Where some class has nearly every sample active.
    over_all: Option<OverAll>,
}

/// The system over all samples, solved once for all classes.
enum OverAll {
    /// The inverse of `Z^T Z + tau I`, with a Gram matrix.
    Inverse(NearlyAllActive),
    /// The factor of `Z Z^T + tau I`, without one.
    Factor(Spd),
}

/// How the minimiser for an active set `A` is found.
enum Route {
    /// From the system over all samples, less the few that are not active.
    Shared,
    /// From the last dual factor, with a few samples more or less.
    Bordered(Change),
    /// By a new factor of `Z_A^T Z_A + tau I`.
    Dual,
    /// By a new factor of `Z_A Z_A^T + tau I`.
    Primal,
}

/// The last dual factor of a class and the active set it belongs to.
struct DualFactor {
    active: Vec<usize>,
    factor: Spd,
}

/// From one active set to another.
struct Change {
    /// Samples that joined.
    added: Vec<usize>,
    /// Positions in the old set of those that left.
    removed: Vec<usize>,
}

/// A point of one class's problem: `u = start_share u0 + Z alpha`.
struct ClassPoint {
    alpha: Vec<f64>,
    start_share: f64,
    bias: f64,
    /// `Z^T u + b`.
    outputs: Vec<f64>,
    /// `|u|^2`.
    norm: f64,
}

impl DualFactor {
    /// How the active set changed, if little enough to go on with this factor.
    fn small_change(&self, active: &[usize]) -> Option<Change> {
        let added: Vec<usize> = active.iter().copied().filter(|i| self.active.binary_search(i).is_err()).collect();
        let is_removed = |p: &usize| active.binary_search(&self.active[*p]).is_err();
        let removed: Vec<usize> = (0..self.active.len()).filter(is_removed).collect();
        (REUSE * (added.len() + removed.len()) <= self.active.len()).then_some(Change { added, removed })
    }
}

impl<'a> NewtonSolver<'a> {
    fn new(memory: &'a mut Memory, z: MatRef<'a, f64>, tau: f64) -> Self {
        let (dim, n) = z.shape();
        let mut solver = NewtonSolver { z, tau, gram: None, over_all: None };
        if n <= GRAM_WIDTH * dim {
            if memory.gram.nrows() != n {
                memory.gram = Mat::zeros(n, n);
            }
            gram_into(&mut memory.gram, z);
            solver.gram = Some(&memory.gram);
        }
        solver
    }

    /// Short codes leave nearly every margin violated: then one system serves all classes.
    fn prepare_shared(&mut self, outputs: MatRef<'_, f64>, targets: &[usize]) -> Result<()> {
        let active = |c: usize| (0..targets.len()).filter(|&i| sign(targets[i], c) * outputs[(c, i)] < 1.0).count();
        if !(0..outputs.nrows()).any(|c| self.nearly_all(active(c))) {
            return Ok(());
        }
        self.over_all = match self.gram {
            Some(gram) => NearlyAllActive::new(gram, self.tau, targets, outputs.nrows()).map(OverAll::Inverse),
            None => {
                let mut system = outer_gram(self.z);
                add_diagonal(&mut system, self.tau);
                Some(OverAll::Factor(Spd::new(system, STAGE)?))
            }
        };
        Ok(())
    }

    /// True if so few samples are not active that taking them out of the system over all samples is the shorter way.
    fn nearly_all(&self, n_active: usize) -> bool {
        let n = self.z.ncols();
        let inactive = n - n_active;
        match self.gram {
            Some(_) => 2 * inactive <= n,
            None => NEARLY_ALL * inactive <= n && 4 * inactive <= self.z.nrows(),
        }
    }

    /// Maximum number of active samples for which the dual system is the cheaper one: with the Gram matrix known it costs
    /// `|A|^3 / 3` against `|A| dim^2 + dim^3 / 3` of the primal one.
    fn max_dual(&self) -> usize {
        let dim = self.z.nrows();
        if self.gram.is_some() { dim * 3 / 2 } else { dim }
    }

    /// The cheapest route to the minimiser; after one that rounding broke, the cheapest of those that are left.
    fn route(&self, active: &[usize], last: Option<&DualFactor>, broken: Option<Route>) -> Route {
        if broken.is_none() && self.over_all.is_some() && self.nearly_all(active.len()) {
            return Route::Shared;
        }
        if active.len() > self.max_dual() {
            return Route::Primal;
        }
        let last = last.filter(|_| self.gram.is_some() && !matches!(broken, Some(Route::Bordered(_))));
        last.and_then(|last| last.small_change(active)).map_or(Route::Dual, Route::Bordered)
    }

    /// One class: Newton steps until the active set repeats.
    fn solve(&self, class: usize, t: &[f64], outputs: Vec<f64>, norm: f64, bias: f64) -> Result<ClassPoint> {
        let n = t.len();
        let mut point = ClassPoint { alpha: vec![0.0; n], start_share: 1.0, bias, outputs, norm };
        let mut solved_for: Option<Vec<usize>> = None;
        let mut last = None;
        for _ in 0..MAX_STEPS {
            let active = violated(t, &point.outputs);
            // The point minimises the quadratic of this active set, and the quadratic is the objective there: the optimum.
            if solved_for.as_ref() == Some(&active) {
                return Ok(point);
            }
            let target = self.target(class, &active, t, point.bias, &mut last)?;
            let full = self.step(&mut point, target, t);
            // After a shortened step the point is not the minimiser of any active set.
            solved_for = full.then_some(active);
            if !point.norm.is_finite() || !point.bias.is_finite() {
                break;
            }
        }
        Err(Error::numeric(STAGE, "Newton's method did not settle"))
    }

    /// The minimiser with this active set.
    fn target(
        &self,
        class: usize,
        active: &[usize],
        t: &[f64],
        bias: f64,
        last: &mut Option<DualFactor>,
    ) -> Result<ClassPoint> {
        let n = t.len();
        if active.is_empty() {
            // No loss at all: only |u|^2 is left, and any bias will do.
            return Ok(ClassPoint { alpha: vec![0.0; n], start_share: 0.0, bias, outputs: vec![bias; n], norm: 0.0 });
        }
        let mut route = self.route(active, last.as_ref(), None);
        loop {
            let target = match &route {
                Route::Shared => self.solve_shared(class, active, t),
                Route::Bordered(change) => self.solve_bordered(active, t, last.as_ref(), change),
                Route::Dual => Some(self.solve_dual(active, t, last)?),
                Route::Primal => Some(self.solve_primal(active, t)?),
            };
            match target {
                Some(target) => return Ok(target),
                None => route = self.route(active, last.as_ref(), Some(route)),
            }
        }
    }

    /// `None` if rounding broke the small system.
    fn solve_shared(&self, class: usize, active: &[usize], t: &[f64]) -> Option<ClassPoint> {
        match self.over_all.as_ref()? {
            OverAll::Inverse(inverse) => {
                let [with_targets, with_ones] = inverse.solve(class, t, &others(active, t.len()))?;
                // As in `dual_point`, but the outputs come with the solutions.
                let bias = with_targets.alpha.iter().sum::<f64>() / with_ones.alpha.iter().sum::<f64>();
                let combine = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - bias * b).collect::<Vec<f64>>();
                let alpha = combine(&with_targets.alpha, &with_ones.alpha);
                let raw = combine(&with_targets.outputs, &with_ones.outputs);
                let norm = alpha.iter().zip(&raw).map(|(a, o)| a * o).sum::<f64>().max(0.0);
                Some(ClassPoint {
                    alpha,
                    start_share: 0.0,
                    bias,
                    outputs: raw.iter().map(|o| o + bias).collect(),
                    norm,
                })
            }
            OverAll::Factor(factor) => {
                let rhs = primal_rhs(&select_columns(self.z, active), active, t);
                let s = self.solve_without(factor, active, &rhs)?;
                Some(self.primal_point(active, t, &rhs, &s))
            }
        }
    }

    /// By a new factor, which is kept.
    fn solve_dual(&self, active: &[usize], t: &[f64], last: &mut Option<DualFactor>) -> Result<ClassPoint> {
        let mut system = match self.gram {
            Some(gram) => lower_part(gram, active),
            None => gram(select_columns(self.z, active)),
        };
        add_diagonal(&mut system, self.tau);
        let factor = Spd::new(system, STAGE)?;
        let s = factor.solve(dual_rhs(active, t));
        *last = Some(DualFactor { active: active.to_vec(), factor });
        Ok(self.dual_point(active, &s))
    }

    /// `None` if rounding broke the small systems.
    fn solve_bordered(
        &self,
        active: &[usize],
        t: &[f64],
        last: Option<&DualFactor>,
        Change { added, removed }: &Change,
    ) -> Option<ClassPoint> {
        let gram = self.gram?;
        let base = last?;
        let cross = Mat::from_fn(base.active.len(), added.len(), |p, q| gram[(base.active[p], added[q])]);
        let mut corner = lower_part(gram, added);
        add_diagonal(&mut corner, self.tau);
        let bordered = BorderedSystem::new(&base.factor, cross, corner, removed, STAGE).ok()?;
        // Rows of the bordered system: the base, then what was added. Where each active sample stands among them:
        let row = |i: &usize| match base.active.binary_search(i) {
            Ok(p) => p,
            Err(_) => base.active.len() + added.partition_point(|a| a < i),
        };
        let rows: Vec<usize> = active.iter().map(row).collect();
        let rhs = dual_rhs(active, t);
        let mut all = Mat::zeros(base.active.len() + added.len(), rhs.ncols());
        for j in 0..rhs.ncols() {
            rows.iter().enumerate().for_each(|(p, &r)| all[(r, j)] = rhs[(p, j)]);
        }
        let solved = bordered.solve(all);
        let s = Mat::from_fn(rows.len(), rhs.ncols(), |p, j| solved[(rows[p], j)]);
        Some(self.dual_point(active, &s))
    }

    fn solve_primal(&self, active: &[usize], t: &[f64]) -> Result<ClassPoint> {
        let za = select_columns(self.z, active);
        let rhs = primal_rhs(&za, active, t);
        let mut system = outer_gram(&za);
        add_diagonal(&mut system, self.tau);
        let s = Spd::new(system, STAGE)?.solve(&rhs);
        Ok(self.primal_point(active, t, &rhs, &s))
    }

    /// `(Z_A Z_A^T + tau I)^-1 rhs` from the factor `S` of all samples and the few, `R`, that are not active:
    /// `S^-1 + S^-1 R (I - R^T S^-1 R)^-1 R^T S^-1`. `None` if rounding broke the small system.
    fn solve_without(&self, all: &Spd, active: &[usize], rhs: &Mat<f64>) -> Option<Mat<f64>> {
        let mut s = all.solve(rhs);
        let removed = others(active, self.z.ncols());
        if removed.is_empty() {
            return Some(s);
        }
        let r = select_columns(self.z, &removed);
        let solved = all.solve(&r);
        let mut small = -mul(r.transpose(), &solved);
        add_diagonal(&mut small, 1.0);
        let w = Spd::new(small, STAGE).ok()?.solve(mul(r.transpose(), &s));
        mul_add(s.as_mut(), 1.0, &solved, &w);
        Some(s)
    }

    /// From the solutions `s` of the dual system for `t` and for `1`: `alpha = s_t - b s_1`, with the bias that makes it sum
    /// to zero.
    fn dual_point(&self, active: &[usize], s: &Mat<f64>) -> ClassPoint {
        let sum = |j: usize| s.col(j).iter().sum::<f64>();
        let bias = sum(0) / sum(1);
        let mut alpha = vec![0.0; self.z.ncols()];
        active.iter().enumerate().for_each(|(p, &i)| alpha[i] = s[(p, 0)] - bias * s[(p, 1)]);
        let outputs = self.outputs(active, &alpha, bias);
        ClassPoint::of(active, alpha, bias, outputs)
    }

    /// From the solutions `s` of the primal system for `Z_A t` and `Z_A 1`: `u = s_t - b s_1`, with the bias at which the loss
    /// has no slope.
    fn primal_point(&self, active: &[usize], t: &[f64], rhs: &Mat<f64>, s: &Mat<f64>) -> ClassPoint {
        let against_ones = |j: usize| rhs.col(1).transpose() * s.col(j);
        let total: f64 = active.iter().map(|&i| t[i]).sum();
        let bias = (total - against_ones(0)) / (active.len() as f64 - against_ones(1));
        let u = Mat::from_fn(s.nrows(), 1, |k, _| s[(k, 0)] - bias * s[(k, 1)]);
        let outputs: Vec<f64> = mul(self.z.transpose(), &u).col(0).iter().map(|o| o + bias).collect();
        // The optimality condition tau u = sum_A (t_i - o_i) z_i gives the dual form.
        let mut alpha = vec![0.0; self.z.ncols()];
        active.iter().for_each(|&i| alpha[i] = (t[i] - outputs[i]) / self.tau);
        ClassPoint::of(active, alpha, bias, outputs)
    }

    /// `Z^T Z alpha + b`.
    fn outputs(&self, active: &[usize], alpha: &[f64], bias: f64) -> Vec<f64> {
        let n = alpha.len();
        if let Some(gram) = self.gram {
            let mut outputs = vec![bias; n];
            let weights: Vec<f64> = active.iter().map(|&j| alpha[j]).collect();
            wide!(add_columns(&weights, |p| gram.col_as_slice(active[p]), &mut outputs));
            return outputs;
        }
        let coefficients = Mat::from_fn(active.len(), 1, |p, _| alpha[active[p]]);
        let u = mul(select_columns(self.z, active), &coefficients);
        mul(self.z.transpose(), &u).col(0).iter().map(|o| o + bias).collect()
    }

    /// Moves `point` towards `target`, halving the step until the objective falls enough; true if the step was full.
    fn step(&self, point: &mut ClassPoint, target: ClassPoint, t: &[f64]) -> bool {
        // No weights are formed on the way: norms and outputs say all about a class. u . u_target: the target is Z alpha,
        // and Z^T u is known as outputs - bias.
        let cross = sum(&target.alpha, &point.outputs, t, |a, o, _| a * (o - point.bias));
        // The objective at (1 - s) u + s u_target; outputs are linear in s.
        let value = |s: f64| {
            let norm = (1.0 - s) * (1.0 - s) * point.norm + 2.0 * s * (1.0 - s) * cross + s * s * target.norm;
            let loss = |o: f64, o1: f64, t: f64| {
                let slack = (1.0 - t * (o + s * (o1 - o))).max(0.0);
                slack * slack
            };
            self.tau * norm + sum(&point.outputs, &target.outputs, t, loss)
        };
        let now = value(0.0);
        // Its slope at s = 0, for the condition of sufficient decrease.
        let gain = |o: f64, o1: f64, t: f64| (1.0 - t * o).max(0.0) * t * (o1 - o);
        let slope = 2.0 * self.tau * (cross - point.norm) - 2.0 * sum(&point.outputs, &target.outputs, t, gain);
        let mut s = 1.0;
        // At the optimum rounding may hide the last decrease; the slack lets the exact target through.
        while value(s) > now + 1e-4 * s * slope.min(0.0) + 1e-12 * now.abs() && s > 1e-10 {
            s *= 0.5;
        }
        if s == 1.0 {
            *point = target;
            return true;
        }
        // Part of the way: what is left of the start's weights shrinks, alpha takes over.
        let blend = |a: &mut f64, b: &f64| *a += s * (b - *a);
        point.norm = (1.0 - s) * (1.0 - s) * point.norm + 2.0 * s * (1.0 - s) * cross + s * s * target.norm;
        point.alpha.iter_mut().zip(&target.alpha).for_each(|(a, b)| blend(a, b));
        point.outputs.iter_mut().zip(&target.outputs).for_each(|(a, b)| blend(a, b));
        point.start_share *= 1.0 - s;
        point.bias += s * (target.bias - point.bias);
        false
    }
}

impl ClassPoint {
    /// A minimiser `u = Z alpha`, `alpha` zero but on the active samples; `|u|^2 = sum_A alpha_i (o_i - b)`.
    fn of(active: &[usize], alpha: Vec<f64>, bias: f64, outputs: Vec<f64>) -> Self {
        let norm = active.iter().map(|&i| alpha[i] * (outputs[i] - bias)).sum::<f64>().max(0.0);
        ClassPoint { alpha, start_share: 0.0, bias, outputs, norm }
    }
}

/// `t` and `1` on the active samples.
fn dual_rhs(active: &[usize], t: &[f64]) -> Mat<f64> {
    Mat::from_fn(active.len(), 2, |p, j| if j == 0 { t[active[p]] } else { 1.0 })
}

/// `Z_A t` and `Z_A 1`.
fn primal_rhs(za: &Mat<f64>, active: &[usize], t: &[f64]) -> Mat<f64> {
    mul(za, dual_rhs(active, t))
}

/// Samples within the margin. Counted without a branch, which would be unpredictable.
fn violated(t: &[f64], outputs: &[f64]) -> Vec<usize> {
    let mut violated = vec![0; t.len()];
    let mut count = 0;
    for (i, (t, o)) in t.iter().zip(outputs).enumerate() {
        violated[count] = i;
        count += usize::from(t * o < 1.0);
    }
    violated.truncate(count);
    violated
}

/// The sum of `term` over three vectors of one length, eight sums at a time so that it vectorises.
fn sum(a: &[f64], b: &[f64], c: &[f64], term: impl Fn(f64, f64, f64) -> f64) -> f64 {
    wide!({
        let a8 = a.as_chunks::<8>();
        let b8 = b.as_chunks::<8>();
        let c8 = c.as_chunks::<8>();
        let mut sums = [0.0; 8];
        for ((a, b), c) in a8.0.iter().zip(b8.0).zip(c8.0) {
            for l in 0..8 {
                sums[l] += term(a[l], b[l], c[l]);
            }
        }
        let rest: f64 = a8.1.iter().zip(b8.1).zip(c8.1).map(|((&a, &b), &c)| term(a, b, c)).sum();
        rest + sums.iter().sum::<f64>()
    })
}

/// Samples that are not active.
fn others(active: &[usize], n: usize) -> Vec<usize> {
    (0..n).filter(|i| active.binary_search(i).is_err()).collect()
}

/// The lower triangle of `g[rows, rows]`.
fn lower_part(g: &Mat<f64>, rows: &[usize]) -> Mat<f64> {
    let mut part = Mat::zeros(rows.len(), rows.len());
    for (q, (&j, target)) in rows.iter().zip(part.col_iter_mut()).enumerate() {
        let source = g.col_as_slice(j);
        if let Some(target) = target.try_as_col_major_mut() {
            target.as_slice_mut()[q..].iter_mut().zip(&rows[q..]).for_each(|(v, &i)| *v = source[i]);
        }
    }
    part
}

#[cfg(test)]
mod tests {
    use super::super::tests::{gradient, objective, problem};
    use super::*;
    use faer::mat;

    /// Worked by hand.
    #[test]
    fn hand_checked_svm() {
        let z = mat![[0.0, 1.0, 2.0, 3.0, 1.0, 2.0], [0.0, 0.5, 0.0, 1.0, 2.0, 2.0]];
        let targets = [1, 1, 1, 0, 0, 0];
        let svm = one_vs_rest(&z, &targets, 2, 0.2, None).unwrap();
        assert!((svm.weights[(0, 0)] - 0.5937617437).abs() < 1e-9);
        assert!((svm.weights[(1, 0)] - 1.2025554303).abs() < 1e-9);
        assert!((svm.bias[0] + 2.0913190530).abs() < 1e-9);
        // Two classes: the second classifier is the negative of the first.
        assert!((svm.weights[(0, 0)] + svm.weights[(0, 1)]).abs() < 1e-9);
        assert!((objective(&svm, z.as_ref(), &targets, 0.2) - 2.0 * 0.3998496806).abs() < 1e-9);
    }

    #[test]
    fn classes_with_nearly_all_samples_active_share_a_system_and_come_out_optimal() {
        // All samples active; all but a few; two thirds; and the same where a Gram matrix does not pay.
        for (dim, tau, fewest) in [(40, 500.0, 90), (40, 20.0, 80), (40, 8.0, 62), (20, 500.0, 90), (20, 20.0, 85)] {
            let (z, targets) = problem(dim, 90);
            let svm = one_vs_rest(&z, &targets, 3, tau, None).unwrap();
            let scores = svm.scores(&z);
            let active = |c: usize| (0..90).filter(|&i| sign(targets[i], c) * scores[(c, i)] < 1.0).count();
            assert!((0..3).all(|c| active(c) >= fewest));
            let mut memory = Memory::default();
            let mut solver = NewtonSolver::new(&mut memory, z.as_ref(), tau);
            solver.prepare_shared(scores.as_ref(), &targets).unwrap();
            let expected = |over_all: &OverAll| matches!(over_all, OverAll::Inverse(_)) == (dim == 40);
            assert!(solver.over_all.as_ref().is_some_and(expected));
            assert!(gradient(&svm, z.as_ref(), &targets, tau).norm_max() < 1e-9);
            let start = Svm { weights: Mat::from_fn(dim, 3, |i, c| (i + c) as f64 * 1e-3), bias: vec![0.1; 3] };
            let other = one_vs_rest(&z, &targets, 3, tau, Some(&start)).unwrap();
            assert!((&other.weights - &svm.weights).norm_max() < 1e-10);
        }
    }

    #[test]
    fn optimal_in_primal_and_dual_from_any_start() {
        for (dim, n) in [(4, 60), (40, 60), (90, 30), (4, 3)] {
            let (z, targets) = problem(dim, n);
            let svm = one_vs_rest(&z, &targets, 3, 0.2, None).unwrap();
            assert!(gradient(&svm, z.as_ref(), &targets, 0.2).norm_max() < 1e-8, "{dim} x {n}");
            let start =
                Svm { weights: Mat::from_fn(dim, 3, |i, c| ((i + c) % 5) as f64 - 2.0), bias: vec![3.0, -1.0, 0.0] };
            let warm = one_vs_rest(&z, &targets, 3, 0.2, Some(&start)).unwrap();
            assert!((&warm.weights - &svm.weights).norm_max() < 1e-9, "{dim} x {n}");
        }
    }

    #[test]
    fn near_active_sets_reuse_a_factor_without_a_trace() {
        let (z, targets) = problem(150, 400);
        let cold = one_vs_rest(&z, &targets, 3, 0.2, None).unwrap();
        let moved = Mat::from_fn(150, 400, |i, j| z[(i, j)] + 0.02 * (((i * 13 + j * 7) % 11) as f64 / 11.0 - 0.5));
        let warm = one_vs_rest(&moved, &targets, 3, 0.2, Some(&cold)).unwrap();
        assert!(gradient(&warm, moved.as_ref(), &targets, 0.2).norm_max() < 1e-8);
        let expected = one_vs_rest(&moved, &targets, 3, 0.2, None).unwrap();
        assert!((&warm.weights - &expected.weights).norm_max() < 1e-9);
    }

    #[test]
    fn a_missing_class_and_zero_codes_are_fine() {
        let (z, _) = problem(4, 10);
        let svm = one_vs_rest(&z, &[0; 10], 2, 0.2, None).unwrap();
        assert!(svm.weights.norm_max() < 1e-12 && svm.bias[0] > 0.99 && svm.bias[1] < -0.99);
        let flat = one_vs_rest(Mat::zeros(3, 6).as_ref(), &[0, 0, 1, 1, 2, 2], 3, 0.2, None).unwrap();
        assert!(flat.weights.norm_max() == 0.0 && flat.bias.iter().all(|b| b.is_finite()));
    }
}
