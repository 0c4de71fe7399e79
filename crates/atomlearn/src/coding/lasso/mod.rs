//! Lasso codes of many samples, each solved to a small duality gap.
//!
//! ```text
//! penalized:  min_z 1/2 |x - D z|^2 + lambda |z|_1            within:  min_z |z|_1  s.t.  |x - D z| <= epsilon
//! ```
//!
//! Only the Gram matrix `G = D^T D`, the correlations `D^T x` and the energies `|x|^2` are needed. The solver
//! (`active_set.rs`) ends a sample when its duality gap is at most `tolerance * 1/2 |x|^2`, that is, relative to the
//! objective at `z = 0`; the gap it reached is always reported.
//!
//! The codes within `epsilon` lie on the path of the penalized ones: as long as the signs stay, `|x - D z|^2` grows
//! linearly with `lambda^2`, with slope `s^T G_WW^-1 s`. So Newton's method on `lambda^2`, each solve starting from the
//! codes of the last, finds the penalty whose residual is `epsilon`.

mod active_set;
mod admm;
mod coder;
mod growing_cholesky;
mod pivoting;

pub use coder::LassoCoder;
pub use pivoting::InverseGram;

use super::sparse::SparseCodes;
use crate::linalg::{View, column, column_major, largest_magnitude, wide};
use active_set::{Dense, Gram, LassoSolver, PenaltyPath, WithIdentity};
use admm::Batch;
use faer::MatRef;
use pivoting::Pivoting;
use rayon::prelude::*;

/// Samples coded by one task; fixed, so that results never depend on the number of threads.
const BLOCK: usize = 16;
/// The same where the samples of a task share matrix products.
const WIDE_BLOCK: usize = 64;
/// The residual is `epsilon` if it is within this fraction of it, or of `sqrt(tolerance) |x|`: a gap of `g` leaves the
/// residual uncertain by `sqrt(2 g)`, so that asking for much more would chase rounding.
const AT_EPSILON: f64 = 1e-6;
const AT_GAP: f64 = 0.1;
/// Newton steps on the penalty; bisection halves the interval at worst, so this is far more than enough.
const PENALTY_STEPS: usize = 60;
/// The penalty falls to no less than this fraction of itself at a time.
const DESCENT: f64 = 0.3;
/// `|x - D z| <= epsilon` is given up below this fraction of the penalty that makes all codes zero.
const SMALLEST_PENALTY: f64 = 1e-7;

/// How well a sample must be solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LassoLimits {
    /// Largest duality gap, as a fraction of `1/2 |x|^2`.
    pub tolerance: f64,
    /// Maximum number of Newton steps of a sample for one penalty; a few dozen are usual.
    pub max_steps: usize,
}

impl Default for LassoLimits {
    fn default() -> Self {
        LassoLimits { tolerance: 1e-6, max_steps: 2000 }
    }
}

impl LassoLimits {
    /// Largest duality gap of a sample with energy `|x|^2`.
    fn gap(&self, energy: f64) -> f64 {
        0.5 * self.tolerance * energy
    }
}

/// What to minimise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LassoTask {
    /// `1/2 |x - D z|^2 + lambda |z|_1`.
    Penalized(f64),
    /// `|z|_1` subject to `|x - D z| <= epsilon`.
    Within(f64),
}

/// Codes and how good they are.
#[derive(Clone, Debug, PartialEq)]
pub struct LassoCodes {
    /// The codes; the atoms of a sample are in no particular order.
    pub codes: SparseCodes,
    /// Duality gap of every sample, for its penalty.
    pub gaps: Vec<f64>,
    /// Penalty of every sample: the given one, or that whose residual is `epsilon`.
    pub penalties: Vec<f64>,
    /// `|x - D z|^2` of every sample.
    pub squared_residuals: Vec<f64>,
}

/// Codes of the samples with correlations `D^T X` (atoms x samples) and energies `|x|^2` over the atoms with Gram
/// matrix `D^T D`.
///
/// A sample further than `epsilon` from the range of `D` gets nearly its least squares code; its residual says so.
///
/// ```
/// use atomlearn::Mat;
/// use atomlearn::coding::lasso::{LassoLimits, LassoTask, lasso};
///
/// let atoms = Mat::<f64>::identity(3, 3); // so codes are the samples, shrunk by the penalty
/// let x = Mat::from_fn(3, 1, |i, _| [1.0, 0.3, -0.6][i]);
/// let correlations = atoms.transpose() * &x;
/// let found = lasso(&atoms, &correlations, &[1.45], LassoTask::Penalized(0.5), LassoLimits::default());
/// let z = found.codes.to_dense();
/// assert!((z[(0, 0)] - 0.5).abs() < 1e-9 && z[(1, 0)] == 0.0 && (z[(2, 0)] + 0.1).abs() < 1e-9);
/// ```
pub fn lasso(
    gram: impl View,
    correlations: impl View,
    energies: &[f64],
    task: LassoTask,
    limits: LassoLimits,
) -> LassoCodes {
    let mut store = None;
    run(&Dense(column_major(gram.view(), &mut store)), correlations.view(), energies, task, None, limits)
}

/// Like [`lasso`] with a penalty, from `near`: codes of the same samples over atoms that have moved a little since. Few steps are left.
pub fn lasso_from(
    near: &SparseCodes,
    gram: MatRef<'_, f64>,
    correlations: MatRef<'_, f64>,
    energies: &[f64],
    penalty: f64,
    limits: LassoLimits,
) -> LassoCodes {
    let mut store = None;
    let gram = Dense(column_major(gram, &mut store));
    run(&gram, correlations, energies, LassoTask::Penalized(penalty), Some(near), limits)
}

/// Like [`lasso`] with a penalty, faster for codes with few zeros: those are found with the inverse of the Gram matrix
/// (`pivoting.rs`, `admm.rs`), the others and any whose duality gap is too large as in [`lasso`].
pub fn lasso_with_inverse(
    gram: impl View,
    inverse: &InverseGram,
    correlations: impl View,
    energies: &[f64],
    penalty: f64,
    limits: LassoLimits,
) -> LassoCodes {
    let mut store_g = None;
    let mut store_b = None;
    let gram = Dense(column_major(gram.view(), &mut store_g));
    let correlations = column_major(correlations.view(), &mut store_b);
    let starts: Vec<usize> = (0..correlations.ncols()).step_by(WIDE_BLOCK).collect();
    let code_block = |(solver, work): &mut (LassoSolver, Pivoting), &start: &usize| {
        let b = correlations.subcols(start, WIDE_BLOCK.min(correlations.ncols() - start));
        let energies = &energies[start..start + b.ncols()];
        let gaps = energies.iter().map(|energy| limits.gap(*energy)).collect();
        let (z, c, found) = inverse.codes(gram.0, &Batch { b, energies, gaps }, penalty, work);
        let mut part = LassoCodes::empty(gram.len());
        for (i, &energy) in energies.iter().enumerate() {
            let sample = Sample { b: column(b, i), energy, limits };
            wide!({
                if found[i] {
                    solver.resume(z.col_as_slice(i), c.col_as_slice(i));
                    let path = PenaltyPath { from: penalty, to: penalty };
                    sample.descend(&gram, solver, path, &mut part);
                } else {
                    sample.penalized(&gram, solver, penalty, &mut part);
                }
            });
        }
        part
    };
    let blocks: Vec<LassoCodes> = starts.par_iter().map_init(Default::default, code_block).collect();
    let mut all = LassoCodes::empty(gram.len());
    blocks.into_iter().for_each(|part| all.append(part));
    all
}

/// Like [`lasso`] over `[D I]`, so that single features may be explained away at the same price as atoms.
///
/// `correlations` are `[D^T X; X]`; the codes have the atoms' entries first and then one per feature.
pub fn lasso_with_identity(
    dictionary: MatRef<'_, f64>,
    gram: MatRef<'_, f64>,
    correlations: impl View,
    energies: &[f64],
    task: LassoTask,
    limits: LassoLimits,
) -> LassoCodes {
    let correlations = correlations.view();
    let mut store_d = None;
    let mut store_g = None;
    let transposed = dictionary.transpose().to_owned();
    let gram = WithIdentity {
        gram: column_major(gram, &mut store_g),
        dictionary: column_major(dictionary, &mut store_d),
        transposed: transposed.as_ref(),
    };
    run(&gram, correlations, energies, task, None, limits)
}

fn run(
    gram: &impl Gram,
    correlations: MatRef<'_, f64>,
    energies: &[f64],
    task: LassoTask,
    near: Option<&SparseCodes>,
    limits: LassoLimits,
) -> LassoCodes {
    let n = correlations.ncols();
    let mut store = None;
    let correlations = column_major(correlations, &mut store);
    let blocks: Vec<LassoCodes> = (0..n.div_ceil(BLOCK))
        .into_par_iter()
        .map_init(LassoSolver::default, |solver, block| {
            let mut part = LassoCodes::empty(gram.len());
            for (i, &energy) in energies.iter().enumerate().take(n).skip(block * BLOCK).take(BLOCK) {
                let sample = Sample { b: column(correlations, i), energy, limits };
                wide!(match (task, near) {
                    (LassoTask::Penalized(penalty), Some(near)) => {
                        solver.start_near(gram, sample.b, near.sample(i));
                        sample.descend(gram, solver, PenaltyPath { from: penalty, to: penalty }, &mut part);
                    }
                    (LassoTask::Penalized(penalty), None) => sample.penalized(gram, solver, penalty, &mut part),
                    (LassoTask::Within(epsilon), _) => sample.within(gram, solver, epsilon, &mut part),
                });
            }
            part
        })
        .collect();
    let mut all = LassoCodes::empty(gram.len());
    blocks.into_iter().for_each(|part| all.append(part));
    all
}

struct Sample<'a> {
    b: &'a [f64],
    energy: f64,
    limits: LassoLimits,
}

impl Sample<'_> {
    /// The smallest penalty that makes the code zero.
    #[inline(always)]
    fn top_penalty(&self) -> f64 {
        largest_magnitude(self.b)
    }

    fn gap(&self) -> f64 {
        self.limits.gap(self.energy)
    }

    #[inline(always)]
    fn penalized(&self, gram: &impl Gram, solver: &mut LassoSolver, penalty: f64, out: &mut LassoCodes) {
        solver.start(self.b);
        self.descend(gram, solver, PenaltyPath { from: self.top_penalty(), to: penalty }, out);
    }

    /// From the solver's code for one penalty to that for another.
    #[inline(always)]
    fn descend(&self, gram: &impl Gram, solver: &mut LassoSolver, path: PenaltyPath, out: &mut LassoCodes) {
        let reached = solver.descend(gram, self.b, self.energy, path, self.gap(), self.limits.max_steps);
        out.push(solver, path.to, reached.gap, reached.squared_residual);
    }

    /// Newton on `lambda^2` for `|x - D z(lambda)|^2 = epsilon^2`, kept inside an interval that always holds the root.
    #[inline(always)]
    fn within(&self, gram: &impl Gram, solver: &mut LassoSolver, epsilon: f64, out: &mut LassoCodes) {
        solver.start(self.b);
        let top = self.top_penalty();
        let target = epsilon * epsilon;
        if self.energy <= target || top == 0.0 {
            return out.push(solver, top, 0.0, self.energy);
        }
        let near = (AT_EPSILON * epsilon).max(AT_GAP * (self.limits.tolerance * self.energy).sqrt());
        let floor = SMALLEST_PENALTY * top;
        let mut low = floor;
        let mut high = top;
        // The penalty at which a code of one atom has this residual, in the scale of the first correlations.
        let mut penalty = (top * epsilon / self.energy.sqrt()).clamp(low, high);
        let mut from = top;
        for round in 0.. {
            solver.steps = 0;
            if round > 0 {
                // A small change of the penalty may leave the gap small enough, but the residual must follow it.
                solver.step(gram, self.b, penalty);
            }
            let path = PenaltyPath { from, to: penalty };
            let reached = solver.descend(gram, self.b, self.energy, path, self.gap(), self.limits.max_steps);
            let off = reached.squared_residual - target;
            let apart = (reached.squared_residual.sqrt() - epsilon).abs();
            let done = apart <= near || high - low <= 1e-9 * high;
            if done || round == PENALTY_STEPS {
                return out.push(solver, penalty, reached.gap, reached.squared_residual);
            }
            if off > 0.0 {
                high = penalty;
            } else {
                low = penalty;
            }
            let slope = solver.residual_slope(gram);
            let next = (penalty * penalty - off / slope).max(0.0).sqrt();
            from = penalty;
            penalty = if next > low.max(DESCENT * penalty) && next < high {
                next
            } else if low == floor {
                // The slope grows as the penalty falls, so that Newton goes too far while nothing bounds it from below.
                (DESCENT * penalty).max(floor)
            } else {
                (low * high).sqrt()
            };
        }
    }
}

impl LassoCodes {
    fn empty(n_atoms: usize) -> Self {
        LassoCodes {
            codes: SparseCodes::new(n_atoms),
            gaps: Vec::new(),
            penalties: Vec::new(),
            squared_residuals: Vec::new(),
        }
    }

    fn push(&mut self, solver: &LassoSolver, penalty: f64, gap: f64, squared_residual: f64) {
        self.codes.push(&solver.active, &solver.z);
        self.gaps.push(gap);
        self.penalties.push(penalty);
        self.squared_residuals.push(squared_residual);
    }

    fn append(&mut self, other: LassoCodes) {
        self.codes.append(&other.codes);
        self.gaps.extend(other.gaps);
        self.penalties.extend(other.penalties);
        self.squared_residuals.extend(other.squared_residuals);
    }
}

#[cfg(test)]
mod tests;
