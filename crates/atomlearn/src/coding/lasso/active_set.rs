//! The lasso of one sample by Newton steps on an active set; [`super::lasso`] runs it over many samples.
//!
//! ```text
//! F(z) = 1/2 |x - D z|^2 + lambda |z|_1,     c = D^T (x - D z) = b - G z
//! ```
//!
//! The penalty comes down from `|b|_inf`, where `z = 0` is optimal, to its target in a few stages, each starting from
//! the codes of the one before. A step takes the atoms whose `|c_k|` exceeds the penalty most into the active set `W`
//! with the sign of `c_k`, and jumps to the minimiser for these signs, `z + G_WW^-1 (c_W - lambda s_W)`. Entries that
//! would change sign leave and the rest is solved again, until all signs agree (block pivoting). Should `F` then not be
//! lower, the step is taken as in feature-sign search (Lee, Battle, Raina, Ng: Efficient sparse coding algorithms. NIPS
//! 2006): at most one new atom, and the exact minimum along the segment. So `F` falls in every step, and no active set
//! comes twice.

use super::growing_cholesky::GrowingCholesky;
use crate::linalg::{add_columns, any_at_least, axpy, column, dot, largest_magnitude};
use faer::MatRef;

/// Each stage has this fraction of the penalty before it.
const STAGE: f64 = 0.3;
/// A step takes in this many new atoms, or this fraction of those it has, whichever is more; fewer after a failure.
const NEW_ATOMS: usize = 8;
const NEW_FRACTION: f64 = 0.15;
/// Rounds of block pivoting before a step is given up.
const PIVOT_ROUNDS: usize = 8;
/// The active entries fit their signs if `|c_k - lambda s_k|` is below this fraction of the penalty.
const SETTLED: f64 = 1e-7;

/// An atom joins if `|c_k|` exceeds the penalty by this fraction of it; twins of active atoms differ by rounding only.
const VIOLATES: f64 = 1e-9;

/// Correlations checked together: usually none of them violates anything.
const SCAN: usize = 16;

/// The Gram matrix of a dictionary, as the solver needs it.
pub(super) trait Gram: Sync {
    /// Number of atoms.
    fn len(&self) -> usize;
    /// `d_i^T d_j`.
    fn entry(&self, i: usize, j: usize) -> f64;
    /// `c += sum_j w_j G_:,atoms_j`.
    fn add(&self, atoms: &[usize], w: &[f64], c: &mut [f64]);
}

/// A Gram matrix in memory, column-major.
pub(super) struct Dense<'a>(pub MatRef<'a, f64>);

impl Gram for Dense<'_> {
    fn len(&self) -> usize {
        self.0.ncols()
    }

    #[inline(always)]
    fn entry(&self, i: usize, j: usize) -> f64 {
        self.0[(i, j)]
    }

    #[inline(always)]
    fn add(&self, atoms: &[usize], w: &[f64], c: &mut [f64]) {
        add_columns(w, |j| column(self.0, atoms[j]), c);
    }
}

/// `[D I]`: atoms followed by one unit vector per feature, which is never stored.
pub(super) struct WithIdentity<'a> {
    /// `D^T D`, column-major.
    pub gram: MatRef<'a, f64>,
    /// `D`, column-major.
    pub dictionary: MatRef<'a, f64>,
    /// `D^T`, column-major.
    pub transposed: MatRef<'a, f64>,
}

impl Gram for WithIdentity<'_> {
    fn len(&self) -> usize {
        self.gram.ncols() + self.dictionary.nrows()
    }

    #[inline(always)]
    fn entry(&self, i: usize, j: usize) -> f64 {
        let k = self.gram.ncols();
        match (i < k, j < k) {
            (true, true) => self.gram[(i, j)],
            (true, false) => self.dictionary[(j - k, i)],
            (false, true) => self.dictionary[(i - k, j)],
            (false, false) => f64::from(u8::from(i == j)),
        }
    }

    #[inline(always)]
    fn add(&self, atoms: &[usize], w: &[f64], c: &mut [f64]) {
        let k = self.gram.ncols();
        let (on_atoms, on_features) = c.split_at_mut(k);
        for (&atom, &w) in atoms.iter().zip(w) {
            if atom < k {
                axpy(w, column(self.gram, atom), on_atoms);
                axpy(w, column(self.dictionary, atom), on_features);
            } else {
                axpy(w, column(self.transposed, atom - k), on_atoms);
                on_features[atom - k] += w;
            }
        }
    }
}

/// The solver comes down from one penalty to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct PenaltyPath {
    pub from: f64,
    pub to: f64,
}

/// What the solver reaches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    /// Duality gap.
    pub gap: f64,
    /// `|x - D z|^2`, never negative.
    pub squared_residual: f64,
}

impl Reached {
    /// From `z^T b`, `z^T c` and `|z|_1`, with the dual point `nu = theta r`, `theta = min(1, lambda / |c|_inf)`:
    /// `1/2 |r|^2 + lambda |z|_1 - (nu^T x - 1/2 |nu|^2)`.
    #[inline(always)]
    pub fn new((zb, zc, l1): (f64, f64, f64), c: &[f64], energy: f64, penalty: f64) -> Self {
        let largest = largest_magnitude(c);
        let theta = if largest > penalty { penalty / largest } else { 1.0 };
        let squared_residual = (energy - zb - zc).max(0.0);
        let gap = 0.5 * (1.0 + theta * theta) * squared_residual + penalty * l1 - theta * (energy - zb);
        Reached { gap: gap.max(0.0), squared_residual }
    }
}

/// Working memory of one thread; after a run, `active` and `z` hold the code.
#[derive(Default)]
pub(super) struct LassoSolver {
    pub active: Vec<usize>,
    pub z: Vec<f64>,
    signs: Vec<f64>,
    /// `c = b - G z`, all atoms.
    c: Vec<f64>,
    inside: Vec<bool>,
    candidates: Vec<usize>,
    factor: GrowingCholesky,
    direction: Vec<f64>,
    saved: SavedCode,
    /// Fraction of the new atoms that a step may admit: less after steps that failed.
    admission: f64,
    /// Newton steps since [`LassoSolver::start`].
    pub steps: usize,
}

/// A code to revert to.
#[derive(Default)]
struct SavedCode {
    active: Vec<usize>,
    z: Vec<f64>,
    signs: Vec<f64>,
    c: Vec<f64>,
}

impl LassoSolver {
    /// `z = 0`.
    pub fn start(&mut self, b: &[f64]) {
        self.active.clear();
        self.z.clear();
        self.signs.clear();
        self.c.clear();
        self.c.extend_from_slice(b);
        self.inside.clear();
        self.inside.resize(b.len(), false);
        self.steps = 0;
        self.admission = 1.0;
        self.factor.clear();
    }

    /// The code `z` with `c = b - G z`.
    pub fn resume(&mut self, z: &[f64], c: &[f64]) {
        self.start(c);
        for (k, &z) in z.iter().enumerate().filter(|(_, z)| **z != 0.0) {
            self.active.push(k);
            self.z.push(z);
            self.signs.push(z.signum());
            self.inside[k] = true;
        }
    }

    /// A code that is no longer optimal: its entries and their signs, with correlations that fit them.
    #[inline(always)]
    pub fn start_near(&mut self, gram: &impl Gram, b: &[f64], (atoms, values): (&[usize], &[f64])) {
        self.start(b);
        for (&k, &z) in atoms.iter().zip(values).filter(|(_, z)| **z != 0.0) {
            self.active.push(k);
            self.z.push(z);
            self.signs.push(z.signum());
            self.inside[k] = true;
        }
        self.refresh(gram, b);
    }

    /// Follows a path of penalties and at its end solves until the duality gap is at most `gap`.
    #[inline(always)]
    pub fn descend(
        &mut self,
        gram: &impl Gram,
        b: &[f64],
        energy: f64,
        path: PenaltyPath,
        gap: f64,
        max_steps: usize,
    ) -> Reached {
        let PenaltyPath { from, to } = path;
        let mut penalty = from;
        // Correlations that overflowed give an infinite penalty, which no number of stages lowers.
        while penalty * STAGE > to && penalty < f64::INFINITY {
            penalty *= STAGE;
            if self.steps < max_steps {
                self.step(gram, b, penalty);
            }
        }
        loop {
            let reached = self.reached(b, energy, to);
            if reached.gap <= gap || self.steps >= max_steps || !self.step(gram, b, to) {
                return self.reached(b, energy, to);
            }
        }
    }

    #[inline(always)]
    pub fn reached(&self, b: &[f64], energy: f64, penalty: f64) -> Reached {
        let zb: f64 = self.entries().map(|(k, z)| z * b[k]).sum();
        let zc: f64 = self.entries().map(|(k, z)| z * self.c[k]).sum();
        let l1: f64 = self.z.iter().map(|z| z.abs()).sum();
        Reached::new((zb, zc, l1), &self.c, energy, penalty)
    }

    /// `s^T G_WW^-1 s`: by how much `|x - D z|^2` grows with `lambda^2` while the signs stay.
    #[inline(always)]
    pub fn residual_slope(&mut self, gram: &impl Gram) -> f64 {
        self.direction.clear();
        self.direction.extend_from_slice(&self.signs);
        self.factor.fit(gram, &self.active);
        self.factor.solve(&mut self.direction);
        dot(&self.direction, &self.signs)
    }

    fn entries(&self) -> impl Iterator<Item = (usize, f64)> {
        self.active.iter().copied().zip(self.z.iter().copied())
    }

    /// `F` without `1/2 |x|^2`: `-1/2 z^T (b + c) + lambda |z|_1`.
    #[inline(always)]
    fn objective(&self, b: &[f64], penalty: f64) -> f64 {
        self.entries().map(|(k, z)| penalty * z.abs() - 0.5 * z * (b[k] + self.c[k])).sum()
    }

    /// One step; false if nothing changed because the codes are optimal to rounding.
    #[inline(always)]
    pub fn step(&mut self, gram: &impl Gram, b: &[f64], penalty: f64) -> bool {
        self.steps += 1;
        let before = self.objective(b, penalty);
        self.save();
        let max_new = (NEW_ATOMS as f64).max(NEW_FRACTION * self.active.len() as f64);
        let added = self.admit(penalty, (self.admission * max_new).ceil() as usize);
        if added == 0 && self.settled(penalty) {
            return false;
        }
        // The whole Newton step; entries that cross zero leave, and the others are solved again, until none crosses.
        self.newton_direction(gram, penalty);
        self.z.iter_mut().zip(&self.direction).for_each(|(z, d)| *z += d);
        for _ in 0..PIVOT_ROUNDS {
            if !self.drop_crossed() {
                break;
            }
            self.minimize_for_signs(gram, b, penalty);
        }
        self.drop_crossed();
        self.refresh(gram, b);
        if self.objective(b, penalty) < before {
            self.admission = (2.0 * self.admission).min(1.0);
            return true;
        }
        // Too many atoms at once: go back and take the step that is guaranteed to lower F.
        self.revert();
        self.admission *= 0.25;
        self.feature_sign_step(gram, b, penalty);
        self.objective(b, penalty) < before
    }

    /// From a settled point the worst violating atom joins; then the exact minimum of `F` along the Newton direction.
    #[inline(always)]
    fn feature_sign_step(&mut self, gram: &impl Gram, b: &[f64], penalty: f64) {
        if self.settled(penalty) {
            self.admit(penalty, 1);
        }
        self.newton_direction(gram, penalty);
        let step = self.line_search(penalty);
        for j in 0..self.active.len() {
            let z = self.z[j];
            let d = self.direction[j];
            let moved = z + step * d;
            // The entry that ends the search lands on zero up to rounding.
            let lands = z != 0.0 && moved.abs() <= 1e-14 * z.abs();
            self.z[j] = if lands { 0.0 } else { moved };
            if self.z[j] != 0.0 {
                self.signs[j] = self.z[j].signum();
            }
        }
        self.drop_crossed();
        self.refresh(gram, b);
    }

    /// The step in `[0, 1]` that minimises the convex `F(z + t d)`: its slope is
    /// `-(c_W - lambda s_W)^T d + t d^T G d`, plus `2 lambda |d_j|` for every entry that changed its sign on the way.
    fn line_search(&self, penalty: f64) -> f64 {
        let pull = |j: usize| self.c[self.active[j]] - penalty * self.signs[j];
        let falls: f64 = (0..self.active.len()).map(|j| pull(j) * self.direction[j]).sum();
        let mut zeros: Vec<(f64, usize)> = (0..self.active.len())
            .filter(|&j| self.z[j] * self.direction[j] < 0.0)
            .map(|j| (-self.z[j] / self.direction[j], j))
            .filter(|&(t, _)| t < 1.0)
            .collect();
        zeros.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        // G d = c_W - lambda s_W, so that the curvature d^T G d equals the initial fall.
        let mut slope = -falls;
        for (t, j) in zeros {
            if slope + t * falls >= 0.0 {
                break;
            }
            slope += 2.0 * penalty * self.direction[j].abs();
            if slope + t * falls >= 0.0 {
                return t;
            }
        }
        if falls > 0.0 { (-slope / falls).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Admits up to `max_new` atoms, those that violate `|c_k| <= lambda` worst; returns how many.
    #[inline(always)]
    fn admit(&mut self, penalty: f64, max_new: usize) -> usize {
        let c = &self.c;
        let inside = &self.inside;
        let limit = penalty * (1.0 + VIOLATES);
        self.candidates.clear();
        for (part, start) in c.chunks(SCAN).zip((0..).step_by(SCAN)) {
            if any_at_least(part, limit) {
                let violating = (start..start + part.len()).filter(|&k| c[k].abs() > limit && !inside[k]);
                self.candidates.extend(violating);
            }
        }
        if self.candidates.len() > max_new {
            let worse = |&i: &usize, &j: &usize| c[j].abs().total_cmp(&c[i].abs()).then(i.cmp(&j));
            self.candidates.select_nth_unstable_by(max_new, worse);
            self.candidates.truncate(max_new);
            self.candidates.sort_unstable();
        }
        for &k in &self.candidates {
            self.active.push(k);
            self.z.push(0.0);
            self.signs.push(self.c[k].signum());
            self.inside[k] = true;
        }
        self.candidates.len()
    }

    /// Whether the active entries fit their signs: `c_k = lambda s_k`.
    #[inline(always)]
    fn settled(&self, penalty: f64) -> bool {
        let fits = |(&k, s): (&usize, &f64)| (self.c[k] - penalty * s).abs() <= SETTLED * penalty;
        self.active.iter().zip(&self.signs).all(fits)
    }

    /// `d = G_WW^-1 (c_W - lambda s_W)`.
    #[inline(always)]
    fn newton_direction(&mut self, gram: &impl Gram, penalty: f64) {
        self.direction.clear();
        let pulls = self.active.iter().zip(&self.signs).map(|(&k, s)| self.c[k] - penalty * s);
        self.direction.extend(pulls);
        self.factor.fit(gram, &self.active);
        self.factor.solve(&mut self.direction);
    }

    /// `z_W = G_WW^-1 (b_W - lambda s_W)`.
    #[inline(always)]
    fn minimize_for_signs(&mut self, gram: &impl Gram, b: &[f64], penalty: f64) {
        self.z.clear();
        self.z.extend(self.active.iter().zip(&self.signs).map(|(&k, s)| b[k] - penalty * s));
        self.factor.fit(gram, &self.active);
        self.factor.solve(&mut self.z);
    }

    /// Entries that are zero or against their sign leave; true if there was any.
    #[inline(always)]
    fn drop_crossed(&mut self) -> bool {
        let before = self.active.len();
        let mut kept = 0;
        for j in 0..before {
            if self.z[j] * self.signs[j] > 0.0 {
                self.active[kept] = self.active[j];
                self.z[kept] = self.z[j];
                self.signs[kept] = self.signs[j];
                kept += 1;
            } else {
                self.inside[self.active[j]] = false;
            }
        }
        self.active.truncate(kept);
        self.z.truncate(kept);
        self.signs.truncate(kept);
        kept < before
    }

    /// `c = b - G z` from scratch, so that errors never add up.
    #[inline(always)]
    fn refresh(&mut self, gram: &impl Gram, b: &[f64]) {
        self.c.copy_from_slice(b);
        self.direction.clear();
        self.direction.extend(self.z.iter().map(|z| -z));
        gram.add(&self.active, &self.direction, &mut self.c);
    }

    fn save(&mut self) {
        self.saved.active.clone_from(&self.active);
        self.saved.z.clone_from(&self.z);
        self.saved.signs.clone_from(&self.signs);
        self.saved.c.clone_from(&self.c);
    }

    fn revert(&mut self) {
        self.active.iter().for_each(|&k| self.inside[k] = false);
        self.active.clone_from(&self.saved.active);
        self.z.clone_from(&self.saved.z);
        self.signs.clone_from(&self.saved.signs);
        self.c.clone_from(&self.saved.c);
        self.active.iter().for_each(|&k| self.inside[k] = true);
    }
}
