//! K-SVD: dictionary and sparse codes in turn (Aharon, Elad, Bruckstein: K-SVD, IEEE TSP 2006; the approximate update
//! of Rubinstein, Zibulevsky, Elad, Technion 2008).
//!
//! ```text
//! min_{D,Z}  |X - D Z|_F^2      s.t.  |z_i|_0 <= T,  |d_k| = 1
//! ```
//!
//! The signals may carry labels: below sample `x_i` of class `c` stands `g_c e_c`, a one-hot label of weight `g_c`, and
//! atoms grow by one row per class. D-KSVD and LC-KSVD are this with their own weights. The signals are never stacked;
//! labels enter correlations as a lookup by class.
//!
//! One iteration: codes by batch OMP; then atom by atom, on the samples `I` that use it with coefficients `g`, the best
//! rank-one fit of `E = R_I + d_k g` (`R` the residual, kept up to date):
//!
//! ```text
//! approximate:  d <- E g^T / |E g^T|,  g <- d^T E          exact:  (d, g) <- leading singular pair of E
//! ```
//!
//! Before the next iteration, an atom that is hardly used or nearly equal to another becomes the worst represented
//! signal; so never after the last one, whose codes would no longer belong to the atoms.

use crate::coding::omp::{OmpLimits, omp};
use crate::coding::sparse::SparseCodes;
use crate::linalg::{add_columns, column_energies, gram, mul, normalize_columns, outer_gram, sym_eig, wide};
use crate::params::words;
use crate::{Parts, Result, State};
use faer::{Mat, MatRef};
use rayon::prelude::*;

/// Two atoms with a larger inner product count as equal.
const EQUAL: f64 = 0.99;
/// An atom used by fewer samples than this, and by less than half of the average, is hardly used.
const HARDLY_USED: usize = 4;
/// Coefficients up to this are no use.
const NO_USE: f64 = 1e-7;
/// Signals of less energy never become atoms.
const EMPTY_SIGNAL: f64 = 1e-6;
/// Signals with less residual energy than this are represented already and gain nothing as atoms.
const REPRESENTED: f64 = 1e-12;
/// A shorter update cannot be normalised; the atom stays.
const NO_DIRECTION: f64 = 1e-12;

words! {
    /// How an atom is fitted to the residual of the samples that use it.
    pub enum AtomUpdate {
        /// One alternation between atom and coefficients.
        Approximate = "approximate",
        /// The leading singular pair.
        Exact = "exact",
    }
}

/// What is to be represented: samples, and perhaps their labels.
#[derive(Clone, Copy)]
pub struct Signals<'a> {
    /// Samples in columns.
    pub x: MatRef<'a, f64>,
    /// One-hot labels below them.
    pub labels: Option<WeightedLabels<'a>>,
}

/// One-hot labels, weighted by class.
#[derive(Clone, Copy)]
pub struct WeightedLabels<'a> {
    /// Class of every sample.
    pub targets: &'a [usize],
    /// `g_c`, the value that stands for "yes" in class `c`.
    pub weights: &'a [f64],
}

impl<'a> Signals<'a> {
    /// Samples without labels.
    pub fn plain(x: MatRef<'a, f64>) -> Self {
        Signals { x, labels: None }
    }

    /// Rows of a signal: features, then one per class if there are labels.
    pub fn dim(&self) -> usize {
        self.x.nrows() + self.labels.map_or(0, |labels| labels.weights.len())
    }

    /// Signal `i`.
    fn signal(&self, i: usize) -> Vec<f64> {
        let mut signal = vec![0.0; self.dim()];
        signal.iter_mut().zip(self.x.col(i).iter()).for_each(|(s, x)| *s = *x);
        if let Some(WeightedLabels { targets, weights }) = self.labels {
            signal[self.x.nrows() + targets[i]] = weights[targets[i]];
        }
        signal
    }

    /// `D^T S = D_x^T X + D_label^T H`; the second part is one of C columns, picked by class.
    fn correlations(&self, atoms: MatRef<'_, f64>) -> Mat<f64> {
        let m = self.x.nrows();
        let mut b = mul(atoms.subrows(0, m).transpose(), self.x);
        if let Some(WeightedLabels { targets, weights }) = self.labels {
            let by_class = Mat::from_fn(atoms.ncols(), weights.len(), |k, c| weights[c] * atoms[(m + c, k)]);
            for (column, &c) in b.as_mut().col_iter_mut().zip(targets) {
                column.iter_mut().zip(by_class.col_as_slice(c)).for_each(|(b, v)| *b += v);
            }
        }
        b
    }

    /// `R = S - D Z`.
    fn residual(&self, atoms: &Mat<f64>, codes: &SparseCodes) -> Mat<f64> {
        let mut residual = Mat::zeros(self.dim(), self.x.ncols());
        residual.as_mut().par_col_iter_mut().enumerate().with_min_len(32).for_each(|(i, target)| {
            let mut r = self.signal(i);
            let (used, values) = codes.sample(i);
            let negative: Vec<f64> = values.iter().map(|v| -v).collect();
            wide!(add_columns(&negative, |j| atoms.col_as_slice(used[j]), &mut r));
            target.iter_mut().zip(r).for_each(|(target, r)| *target = r);
        });
        residual
    }
}

/// K-SVD under way.
pub struct KsvdIteration<'a> {
    signals: Signals<'a>,
    sparsity: usize,
    update: AtomUpdate,
    atoms: Mat<f64>,
    gram: Mat<f64>,
    codes: SparseCodes,
    /// Residual energy of every signal after the last iteration; empty before the first.
    energies: Vec<f64>,
}

/// Squared residuals of an iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// `|X - D Z|_F^2`.
    pub samples: f64,
    /// The same of the label rows.
    pub labels: f64,
}

impl<'a> KsvdIteration<'a> {
    /// Starts from these atoms (rows as the signals), which are scaled to unit norm; nothing is coded yet.
    pub fn new(signals: Signals<'a>, mut atoms: Mat<f64>, sparsity: usize, update: AtomUpdate) -> Self {
        normalize_columns(atoms.as_mut());
        let gram = gram(&atoms);
        let codes = SparseCodes::new(atoms.ncols());
        KsvdIteration { signals, sparsity, update, atoms, gram, codes, energies: Vec::new() }
    }

    /// Puts into a state what the next iteration needs; [`KsvdIteration::restore`] takes it out.
    pub(crate) fn store(&self, state: State) -> State {
        self.codes.store(state.with("atoms", &self.atoms).with_row("energies", &self.energies))
    }

    /// Goes on with `n_atoms` atoms after an iteration.
    pub(crate) fn restore(
        signals: Signals<'a>,
        n_atoms: usize,
        parts: &mut Parts,
        sparsity: usize,
        update: AtomUpdate,
    ) -> Result<Self> {
        let atoms = parts.take_shaped("atoms", signals.dim(), n_atoms)?;
        let energies = parts.take_row("energies", signals.x.ncols())?;
        let codes = SparseCodes::restore(parts, n_atoms, signals.x.ncols())?;
        Ok(KsvdIteration { signals, sparsity, update, gram: gram(&atoms), atoms, codes, energies })
    }

    /// The atoms, of unit norm over all their rows.
    pub fn atoms(&self) -> MatRef<'_, f64> {
        self.atoms.as_ref()
    }

    /// The codes of the last iteration.
    pub fn codes(&self) -> &SparseCodes {
        &self.codes
    }

    /// One iteration: cleans up after the previous one, codes, updates the atoms. Afterwards atoms and codes belong
    /// together.
    pub fn iterate(&mut self) -> Result<Errors> {
        self.clean();
        self.fit()
    }

    /// Codes, then atoms.
    fn fit(&mut self) -> Result<Errors> {
        self.code();
        let mut residual = self.signals.residual(&self.atoms, &self.codes);
        self.sweep(&mut residual)?;
        self.gram = gram(&self.atoms);
        let m = self.signals.x.nrows();
        let energies = |part: MatRef<'_, f64>| -> Vec<f64> { column_energies(part) };
        let samples = energies(residual.subrows(0, m));
        let labels = energies(residual.subrows(m, residual.nrows() - m));
        self.energies = samples.iter().zip(&labels).map(|(x, label)| x + label).collect();
        Ok(Errors { samples: samples.iter().sum(), labels: labels.iter().sum() })
    }

    /// Codes for the atoms as they stand.
    pub fn code(&mut self) {
        let correlations = self.signals.correlations(self.atoms.as_ref());
        let limits = OmpLimits { sparsity: self.sparsity, error: None };
        self.codes = omp(&self.gram, &correlations, limits);
    }

    /// Fits every atom in turn; `residual` is kept equal to `S - D Z`.
    fn sweep(&mut self, residual: &mut Mat<f64>) -> Result<()> {
        for (k, uses) in uses_by_atom(&self.codes).iter().enumerate() {
            self.update_atom(k, uses, residual)?;
        }
        Ok(())
    }

    fn update_atom(&mut self, k: usize, uses: &[Use], residual: &mut Mat<f64>) -> Result<()> {
        if uses.is_empty() {
            return Ok(());
        }
        let g: Vec<f64> = uses.iter().map(|u| self.codes.sample(u.sample).1[u.position]).collect();
        let old = self.atoms.col_as_slice(k).to_vec();
        let new = match self.update {
            AtomUpdate::Approximate => approximate_atom(&old, &g, uses, residual),
            AtomUpdate::Exact => exact_atom(&old, &g, uses, residual)?,
        };
        let Some(new) = new else { return Ok(()) };
        let codes = &mut self.codes;
        wide!(replace_atom(&old, &new, &g, uses, residual, codes));
        self.atoms.col_as_slice_mut(k).copy_from_slice(&new);
        Ok(())
    }

    /// Replaces atoms that are hardly used or nearly equal to another by the worst represented signals, each signal
    /// once. Without signals left, atoms stay.
    fn clean(&mut self) {
        let energies = std::mem::take(&mut self.energies);
        let n_atoms = self.atoms.ncols();
        let mut used = vec![0usize; n_atoms];
        for i in 0..self.codes.n_samples() {
            let (atoms, values) = self.codes.sample(i);
            atoms.iter().zip(values).filter(|(_, v)| v.abs() > NO_USE).for_each(|(&k, _)| used[k] += 1);
        }
        let half_average = self.codes.n_entries() as f64 / (2 * n_atoms) as f64;
        let mut worst: Vec<usize> = (0..energies.len()).filter(|&i| energies[i] > REPRESENTED).collect();
        worst.sort_by(|&a, &b| energies[b].total_cmp(&energies[a]));
        let mut worst = worst.into_iter();
        for (k, &used) in used.iter().enumerate() {
            let hardly_used = used < HARDLY_USED && (used as f64) < half_average.max(1.0);
            let twin = |j: usize| j != k && self.gram[(j, k)].abs() > EQUAL;
            if !hardly_used && !(0..n_atoms).any(twin) {
                continue;
            }
            let signal = worst.by_ref().map(|i| self.signals.signal(i)).find(|s| dot(s, s) > EMPTY_SIGNAL);
            let Some(mut signal) = signal else { return };
            let norm = dot(&signal, &signal).sqrt();
            signal.iter_mut().for_each(|v| *v /= norm);
            self.atoms.col_as_slice_mut(k).copy_from_slice(&signal);
            let row = mul(self.atoms.transpose(), self.atoms.subcols(k, 1));
            for j in 0..n_atoms {
                self.gram[(j, k)] = row[(j, 0)];
                self.gram[(k, j)] = row[(j, 0)];
            }
        }
    }
}

/// Where an atom is used: entry `position` of the code of `sample`.
struct Use {
    sample: usize,
    position: usize,
}

fn uses_by_atom(codes: &SparseCodes) -> Vec<Vec<Use>> {
    let mut uses: Vec<Vec<Use>> = (0..codes.n_atoms()).map(|_| Vec::new()).collect();
    for sample in 0..codes.n_samples() {
        for (position, &k) in codes.sample(sample).0.iter().enumerate() {
            uses[k].push(Use { sample, position });
        }
    }
    uses
}

/// `E g^T = R_I g^T + d_k |g|^2`, normalised; `None` if it has no direction.
fn approximate_atom(old: &[f64], g: &[f64], uses: &[Use], residual: &Mat<f64>) -> Option<Vec<f64>> {
    let energy = dot(g, g);
    let mut new: Vec<f64> = old.iter().map(|v| energy * v).collect();
    wide!(add_columns(g, |j| residual.col_as_slice(uses[j].sample), &mut new));
    let norm = dot(&new, &new).sqrt();
    if !norm.is_finite() || norm < NO_DIRECTION {
        return None;
    }
    new.iter_mut().for_each(|v| *v /= norm);
    Some(new)
}

/// The leading left singular vector of `E = R_I + d_k g`, with the sign that keeps it near `d_k`.
///
/// It is found from the smaller Gram matrix of `E`, which is exact enough for the leading pair.
fn exact_atom(old: &[f64], g: &[f64], uses: &[Use], residual: &Mat<f64>) -> Result<Option<Vec<f64>>> {
    let e = Mat::from_fn(old.len(), uses.len(), |i, j| residual[(i, uses[j].sample)] + old[i] * g[j]);
    let narrow = e.ncols() <= e.nrows();
    let small = if narrow { gram(&e) } else { outer_gram(&e) };
    let (_, vectors) = sym_eig(&small, "K-SVD atom")?;
    let leading = vectors.subcols(0, 1);
    let mut new: Vec<f64> = if narrow { mul(&e, leading) } else { leading.to_owned() }.col_as_slice(0).to_vec();
    let norm = dot(&new, &new).sqrt();
    if !norm.is_finite() || norm < NO_DIRECTION {
        return Ok(None);
    }
    let scale = if dot(&new, old) < 0.0 { -1.0 / norm } else { 1.0 / norm };
    new.iter_mut().for_each(|v| *v *= scale);
    Ok(Some(new))
}

/// Coefficients `g' = d^T E = d^T R_I + (d^T d_k) g` and residual `R_I <- R_I + d_k g - d g'`.
#[inline(always)]
fn replace_atom(old: &[f64], new: &[f64], g: &[f64], uses: &[Use], residual: &mut Mat<f64>, codes: &mut SparseCodes) {
    let along = dot(new, old);
    for (&g, u) in g.iter().zip(uses) {
        let r = &mut residual.col_as_slice_mut(u.sample)[..new.len()];
        let coefficient = dot(new, r) + along * g;
        for (r, (old, new)) in r.iter_mut().zip(old.iter().zip(new)) {
            *r += g * old - coefficient * new;
        }
        codes.values_mut(u.sample)[u.position] = coefficient;
    }
}

/// Inner product in 32 sums: several vectors wide, and the same bits whatever the width.
#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0f64; 32];
    let a32 = a.chunks_exact(32);
    let b32 = b.chunks_exact(32);
    let rest: f64 = a32.remainder().iter().zip(b32.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a32.zip(b32) {
        for l in 0..32 {
            sums[l] += x[l] * y[l];
        }
    }
    rest + sums.iter().sum::<f64>()
}

#[cfg(test)]
mod tests;
