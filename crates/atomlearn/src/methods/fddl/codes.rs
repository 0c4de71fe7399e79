//! The code step of FDDL and LRSDL: a convex problem in all codes at once.

use crate::linalg::{
    View, add_columns, axpy, column, column_energies, column_major, concat_columns, dot, gram, inner, mul, mul_add,
    top_eigenvalue, wide,
};
use crate::{Blocks, Mat, MatRef};
use faer::MatMut;
use rayon::prelude::*;

/// Columns handled by one task: few enough to stay in a core's own memory, enough to be worth a matrix product.
const COLUMNS: usize = 96;
/// Products with codes that have a smaller share of entries go entry by entry.
const SPARSE: f64 = 0.15;
/// Sums that go side by side.
const LANES: usize = 8;

/// The code problem for a fixed dictionary:
///
/// ```text
/// f(Z) + lambda1 |Z|_1,   f = |X|^2 - <B, Z> + 1/2 <Z, G Z> + lambda2 / 2 <Z, Z T>
/// grad f = G Z - B + lambda2 Z T,   T = 2 I - 2 P_c + P
/// ```
///
/// `G` is `D^T D` and `B` is `D^T X`, both with the blocks of own class doubled; `P_c` averages within classes, `P` over
/// all samples. `T` has the eigenvalues 0, 1 and 2, so `lambda_max(G) + 2 lambda2` is the Lipschitz constant.
///
/// LRSDL adds codes `Z_0` over shared atoms `D_0`, which all three fits see: `X` becomes `X - D_0 Z_0`, and the code problem gains
/// `lambda1 |Z_0|_1 + lambda2 / 2 |Z_0 - their mean|^2`. Their rows follow those of `Z`.
pub(in crate::methods) struct CodeStep<'a> {
    samples: &'a Blocks,
    gram: Mat<f64>,
    correlations: Mat<f64>,
    energy: f64,
    lambda1: f64,
    lambda2: f64,
    shared: Option<Shared>,
}

/// What shared atoms add, with `M(.)` doubling blocks of own class:
///
/// ```text
/// grad_Z += M(D^T D_0 Z_0),      grad_Z0 = 2 D_0^T D_0 Z_0 - 2 D_0^T X + D_0^T D M(Z) + lambda2 (Z_0 - mean)
/// ```
struct Shared {
    atoms: Blocks,
    /// `D^T D_0`.
    across: Mat<f64>,
    /// `2 D_0^T D_0`.
    gram: Mat<f64>,
    /// `2 D_0^T X`.
    correlations: Mat<f64>,
    /// `2 lambda_max` of the Gram matrix of all atoms.
    top: f64,
}

impl<'a> CodeStep<'a> {
    pub fn new(
        x: MatRef<'_, f64>,
        d: &Mat<f64>,
        (atoms, samples): (&Blocks, &'a Blocks),
        (lambda1, lambda2): (f64, f64),
    ) -> Self {
        let mut gram = gram(d);
        double_own_blocks(gram.as_mut(), atoms, atoms);
        let mut correlations = mul(d.transpose(), x);
        double_own_blocks(correlations.as_mut(), atoms, samples);
        CodeStep { samples, gram, correlations, energy: x.squared_norm_l2(), lambda1, lambda2, shared: None }
    }

    /// The same with shared atoms.
    pub fn with_shared(
        x: MatRef<'_, f64>,
        (d, d0): (&Mat<f64>, &Mat<f64>),
        (atoms, samples): (&Blocks, &'a Blocks),
        weights: (f64, f64),
    ) -> Self {
        let mut step = CodeStep::new(x, d, (atoms, samples), weights);
        if d0.ncols() > 0 {
            step.shared = Some(Shared {
                atoms: atoms.clone(),
                across: mul(d.transpose(), d0),
                gram: faer::Scale(2.0) * gram(d0),
                correlations: faer::Scale(2.0) * mul(d0.transpose(), x),
                top: 2.0 * top_eigenvalue(gram(concat_columns(&[d.clone(), d0.clone()]))),
            });
        }
        step
    }

    /// A positive semidefinite matrix of blocks has no eigenvalue above the sum of those of its diagonal blocks, and doubling all
    /// blocks is no less than doubling some.
    fn lipschitz(&self) -> f64 {
        let own = top_eigenvalue(&self.gram);
        let all = self.shared.as_ref().map_or(own, |shared| shared.top.min(own + top_eigenvalue(&shared.gram)));
        all + 2.0 * self.lambda2
    }

    /// FISTA with adaptive restart from `z`, until the codes move by no more than `tol` of their norm.
    pub fn solve(&self, z: &mut Mat<f64>, max_iter: usize, tol: f64) {
        let lipschitz = self.lipschitz();
        if lipschitz <= 0.0 {
            return;
        }
        let start = z.clone();
        let mut old = z.clone();
        let mut averages = self.averages(z.as_ref());
        let mut old_averages = averages.clone();
        let mut t = 1.0f64;
        let mut momentum = 0.0;
        for _ in 0..max_iter {
            let ahead = averages.ahead(&old_averages, momentum);
            let moves = self.step(z.as_ref(), &mut old, momentum, &ahead, lipschitz);
            std::mem::swap(&mut old, z);
            if moves.change <= tol * tol * moves.norm {
                break;
            }
            old_averages = std::mem::replace(&mut averages, self.averages(z.as_ref()));
            // Momentum that points uphill, <v - z, z - old> > 0, starts again from zero.
            let next = if moves.uphill > 0.0 { 1.0 } else { 0.5 * (1.0 + (1.0 + 4.0 * t * t).sqrt()) };
            momentum = if moves.uphill > 0.0 { 0.0 } else { (t - 1.0) / next };
            t = next;
        }
        let value = |z: &Mat<f64>| self.terms(z).iter().map(|term| term.1).sum::<f64>();
        if value(z) > value(&start) {
            *z = start;
        }
    }

    /// `soft(v - grad / L, lambda1 / L)` at `v = z + momentum (z - old)` takes the place of `old`; `ahead` are the averages of `v`. Also what
    /// the stopping and restart rules need. Everything that belongs to a column is done while it is at hand.
    fn step(&self, z: MatRef<'_, f64>, old: &mut Mat<f64>, momentum: f64, ahead: &Averages, lipschitz: f64) -> Moves {
        let (step, threshold) = (1.0 / lipschitz, self.lambda1 / lipschitz);
        let labels = self.samples.labels();
        let parts: Vec<Moves> = old
            .as_mut()
            .par_col_chunks_mut(COLUMNS)
            .enumerate()
            .map(|(p, mut part)| {
                let first = p * COLUMNS;
                let z = z.subcols(first, part.ncols());
                let mut v = z.to_owned();
                for j in 0..v.ncols() {
                    extrapolate(v.col_as_slice_mut(j), column(part.as_ref(), j), momentum);
                }
                let mut gradient = Mat::zeros(v.nrows(), v.ncols());
                self.gradient_of((first, &labels), v.as_ref(), ahead, gradient.as_mut());
                let mut sum = Moves::default();
                for j in 0..v.ncols() {
                    let (v, g, z) = (v.col_as_slice(j), gradient.col_as_slice(j), column(z, j));
                    let new = column_mut(part.as_mut(), j);
                    sum.add(wide!(shrink_column(new, v, g, z, step, threshold)));
                }
                sum
            })
            .collect();
        let mut all = Moves::default();
        parts.into_iter().for_each(|part| all.add(part));
        all
    }

    fn averages(&self, z: MatRef<'_, f64>) -> Averages {
        let (own_codes, shared_codes) = z.split_at_row(self.gram.nrows());
        let (means, mean) = class_means(own_codes, self.samples);
        Averages { means, mean, shared: crate::pca::mean(shared_codes) }
    }

    /// `grad f(Z)`.
    #[cfg(test)]
    pub fn gradient(&self, z: MatRef<'_, f64>, out: MatMut<'_, f64>) {
        let z = z.to_owned();
        self.gradient_of((0, &self.samples.labels()), z.as_ref(), &self.averages(z.as_ref()), out);
    }

    /// Columns of `grad f(Z)` from sample `first` on, with the averages of all codes.
    fn gradient_of(
        &self,
        (first, labels): (usize, &[usize]),
        z: MatRef<'_, f64>,
        averages: &Averages,
        out: MatMut<'_, f64>,
    ) {
        let n_atoms = self.gram.nrows();
        let (own_codes, shared_codes) = z.split_at_row(n_atoms);
        let (mut own_out, mut shared_out) = out.split_at_row_mut(n_atoms);
        for j in 0..z.ncols() {
            let b = &self.correlations.col_as_slice(first + j)[..n_atoms];
            let own = &averages.means.col_as_slice(labels[first + j])[..n_atoms];
            let (z, mean) = (&column(z, j)[..n_atoms], &averages.mean[..n_atoms]);
            let out = &mut column_mut(own_out.as_mut(), j)[..n_atoms];
            wide!({
                for k in 0..n_atoms {
                    out[k] = self.lambda2 * (2.0 * (z[k] - own[k]) + mean[k]) - b[k];
                }
            });
        }
        add_atoms(own_out.as_mut(), &self.gram, own_codes);
        if let Some(shared) = &self.shared {
            let lambda2 = self.lambda2;
            for j in 0..z.ncols() {
                let b = shared.correlations.col_as_slice(first + j);
                let z = &column(z, j)[n_atoms..];
                let out = column_mut(shared_out.as_mut(), j);
                for (k, out) in out.iter_mut().enumerate() {
                    *out = lambda2 * (z[k] - averages.shared[k]) - b[k];
                }
            }
            mul_add(shared_out.as_mut(), 1.0, &shared.gram, shared_codes);
            mul_add(own_out.as_mut(), 1.0, &shared.across, shared_codes);
            mul_add(shared_out.as_mut(), 1.0, shared.across.transpose(), own_codes);
            // Once more for the blocks of own class.
            for j in 0..z.ncols() {
                let range = shared.atoms.range(labels[first + j]);
                let (own_z, shared_z) = column(z, j).split_at(n_atoms);
                let own_out = &mut column_mut(own_out.as_mut(), j)[range.clone()];
                let shared_out = column_mut(shared_out.as_mut(), j);
                for (k, out) in shared_out.iter_mut().enumerate() {
                    let across = &shared.across.col_as_slice(k)[range.clone()];
                    *out += dot(across, &own_z[range.clone()]);
                    own_out.iter_mut().zip(across).for_each(|(out, a)| *out += a * shared_z[k]);
                }
            }
        }
    }

    /// The terms of the objective: fidelity, sparsity and Fisher criterion, with the spread of shared codes.
    pub fn terms(&self, z: &Mat<f64>) -> Vec<(&'static str, f64)> {
        let (z, shared_codes) = z.as_ref().split_at_row(self.gram.nrows());
        let gz = mul(&self.gram, z);
        let (means, mean) = class_means(z, self.samples);
        let mut fit = 0.0;
        let mut l1 = 0.0;
        let mut energy = 0.0;
        for i in 0..z.ncols() {
            for k in 0..z.nrows() {
                let v = z[(k, i)];
                fit += v * (0.5 * gz[(k, i)] - self.correlations[(k, i)]);
                l1 += v.abs();
                energy += v * v;
            }
        }
        // tr(Z T Z^T) = 2 |Z|^2 - 2 sum_c n_c |m_c|^2 + n |m|^2.
        let between: f64 =
            self.samples.sizes().zip(means.col_iter()).map(|(n, m)| n as f64 * m.squared_norm_l2()).sum();
        let fisher = 2.0 * (energy - between) + z.ncols() as f64 * dot(&mean, &mean);
        let mut terms = vec![
            ("fidelity", self.energy + fit),
            ("sparsity", self.lambda1 * l1),
            ("fisher", 0.5 * self.lambda2 * fisher.max(0.0)),
        ];
        if let Some(shared) = &self.shared {
            let half = faer::Scale(0.5) * mul(&shared.gram, shared_codes) - &shared.correlations;
            terms[0].1 += inner(z, shared.pull(shared_codes, self.samples)) + inner(shared_codes, half);
            terms[1].1 += self.lambda1 * shared_codes.norm_l1();
            terms.push(("shared spread", 0.5 * self.lambda2 * from_their_mean(shared_codes).squared_norm_l2()));
        }
        terms
    }
}

impl Shared {
    /// `M(D^T D_0 Z_0)`.
    fn pull(&self, shared_codes: MatRef<'_, f64>, samples: &Blocks) -> Mat<f64> {
        let mut pull = mul(&self.across, shared_codes);
        double_own_blocks(pull.as_mut(), &self.atoms, samples);
        pull
    }
}

/// `Z_0` without the mean of its columns.
fn from_their_mean(z: MatRef<'_, f64>) -> Mat<f64> {
    let mean = crate::pca::mean(z);
    Mat::from_fn(z.nrows(), z.ncols(), |k, i| z[(k, i)] - mean[k])
}

/// Mean codes of every class and of all samples, and the mean of the shared codes.
#[derive(Clone)]
struct Averages {
    means: Mat<f64>,
    mean: Vec<f64>,
    shared: Vec<f64>,
}

impl Averages {
    /// Those of `z + momentum (z - old)`.
    fn ahead(&self, old: &Averages, momentum: f64) -> Averages {
        let ahead = |new: &[f64], old: &[f64]| new.iter().zip(old).map(|(z, old)| z + momentum * (z - old)).collect();
        Averages {
            means: &self.means + faer::Scale(momentum) * (&self.means - &old.means),
            mean: ahead(&self.mean, &old.mean),
            shared: ahead(&self.shared, &old.shared),
        }
    }
}

#[derive(Default)]
struct Moves {
    uphill: f64,
    change: f64,
    norm: f64,
}

impl Moves {
    fn add(&mut self, other: Moves) {
        self.uphill += other.uphill;
        self.change += other.change;
        self.norm += other.norm;
    }
}

/// `out += G z`. After the first steps few codes differ from zero, and a sum of their columns of `G` takes less time than a whole product.
fn add_atoms(mut out: MatMut<'_, f64>, gram: &Mat<f64>, z: MatRef<'_, f64>) {
    let entries = |j: usize| (0..z.nrows()).filter(move |&k| z[(k, j)] != 0.0);
    let count: usize = (0..z.ncols()).map(|j| entries(j).count()).sum();
    if count as f64 > SPARSE * (z.nrows() * z.ncols()) as f64 {
        mul_add(out, 1.0, gram, z);
        return;
    }
    for j in 0..z.ncols() {
        let atoms: Vec<usize> = entries(j).collect();
        let codes: Vec<f64> = atoms.iter().map(|&k| z[(k, j)]).collect();
        let sum = column_mut(out.as_mut(), j);
        wide!(add_columns(&codes, |e| gram.col_as_slice(atoms[e]), sum));
    }
}

/// `z = soft(v - step g, threshold)`.
#[inline(always)]
fn shrink_column(z: &mut [f64], v: &[f64], g: &[f64], old: &[f64], step: f64, threshold: f64) -> Moves {
    let n = z.len();
    let (v, g, old) = (&v[..n], &g[..n], &old[..n]);
    let [mut uphill, mut change, mut norm] = [[0.0; LANES]; 3];
    let mut entry = |k: usize, lane: usize| {
        let moved = v[k] - step * g[k];
        z[k] = moved - moved.clamp(-threshold, threshold);
        let apart = z[k] - old[k];
        uphill[lane] += (v[k] - z[k]) * apart;
        change[lane] += apart * apart;
        norm[lane] += z[k] * z[k];
    };
    for start in (0..n / LANES * LANES).step_by(LANES) {
        (0..LANES).for_each(|lane| entry(start + lane, lane));
    }
    (n / LANES * LANES..n).for_each(|k| entry(k, 0));
    Moves { uphill: uphill.iter().sum(), change: change.iter().sum(), norm: norm.iter().sum() }
}

/// `v = z + momentum (z - old)`, for `v = z` at first.
fn extrapolate(v: &mut [f64], old: &[f64], momentum: f64) {
    let old = &old[..v.len()];
    wide!({
        for (v, old) in v.iter_mut().zip(old) {
            *v += momentum * (*v - old);
        }
    });
}

/// A column of a matrix whose columns are contiguous, as those of an owned one are.
fn column_mut(a: MatMut<'_, f64>, j: usize) -> &mut [f64] {
    match a.col_mut(j).try_as_col_major_mut() {
        Some(column) => column.as_slice_mut(),
        None => unreachable!("columns of an owned matrix are contiguous"),
    }
}

/// Doubles the entries whose row and column belong to the same class.
pub(in crate::methods) fn double_own_blocks(mut a: MatMut<'_, f64>, rows: &Blocks, columns: &Blocks) {
    for (rows, columns) in rows.ranges().zip(columns.ranges()) {
        for j in columns {
            rows.clone().for_each(|i| a[(i, j)] *= 2.0);
        }
    }
}

/// `|z_i - m_c|^2 = |z_i|^2 - 2 m_c^T z_i + |m_c|^2` for every class (rows) and code (columns).
pub(in crate::methods) fn distances_from(means: &Mat<f64>, z: impl View) -> Mat<f64> {
    let z = z.view();
    let along = mul(means.transpose(), z);
    let mean_energies = column_energies(means);
    let code_energies = column_energies(z);
    let apart = |c, i| (code_energies[i] - 2.0 * along[(c, i)] + mean_energies[c]).max(0.0);
    Mat::from_fn(means.ncols(), z.ncols(), apart)
}

/// Mean code of every class (atoms x classes) and of all samples.
pub(in crate::methods) fn class_means(z: impl View, samples: &Blocks) -> (Mat<f64>, Vec<f64>) {
    let mut store = None;
    let z = column_major(z.view(), &mut store);
    let mut means = Mat::zeros(z.nrows(), samples.len());
    let mut mean = vec![0.0; z.nrows()];
    for (c, range) in samples.ranges().enumerate() {
        let size = range.len() as f64;
        for i in range {
            wide!(axpy(1.0, column(z, i), means.col_as_slice_mut(c)));
        }
        mean.iter_mut().zip(means.col(c).iter()).for_each(|(m, v)| *m += v / samples.total() as f64);
        means.col_mut(c).iter_mut().for_each(|m| *m /= size.max(1.0));
    }
    (means, mean)
}
