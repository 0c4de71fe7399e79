//! The code step of FDDL: a convex problem in all codes at once.

use crate::linalg::{dot, gram, mul, mul_add, top_eigenvalue};
use crate::{Blocks, Mat, MatRef};
use faer::MatMut;
use rayon::prelude::*;

/// Columns handled by one task.
const COLUMNS: usize = 32;

/// The code problem for a fixed dictionary:
///
/// ```text
/// f(Z) + lambda1 |Z|_1,   f = |X|^2 - <B, Z> + 1/2 <Z, G Z> + lambda2 / 2 <Z, Z T>
/// grad f = G Z - B + lambda2 Z T,   T = 2 I - 2 P_c + P
/// ```
///
/// `G` is `D^T D` and `B` is `D^T X`, both with the blocks of own class doubled; `P_c` averages within classes, `P` over
/// all samples. `T` has the eigenvalues 0, 1 and 2, so `lambda_max(G) + 2 lambda2` is the Lipschitz constant.
pub(super) struct CodeStep<'a> {
    samples: &'a Blocks,
    gram: Mat<f64>,
    correlations: Mat<f64>,
    energy: f64,
    lambda1: f64,
    lambda2: f64,
}

impl<'a> CodeStep<'a> {
    pub fn new(
        x: MatRef<'_, f64>,
        d: MatRef<'_, f64>,
        (atoms, samples): (&Blocks, &'a Blocks),
        (lambda1, lambda2): (f64, f64),
    ) -> Self {
        let mut gram = gram(d);
        double_own_blocks(gram.as_mut(), atoms, atoms);
        let mut correlations = mul(d.transpose(), x);
        double_own_blocks(correlations.as_mut(), atoms, samples);
        CodeStep { samples, gram, correlations, energy: x.squared_norm_l2(), lambda1, lambda2 }
    }

    /// FISTA with adaptive restart from `z`, until the codes move by no more than `tol` of their norm.
    pub fn solve(&self, z: &mut Mat<f64>, max_iter: usize, tol: f64) {
        let lipschitz = top_eigenvalue(&self.gram) + 2.0 * self.lambda2;
        if lipschitz <= 0.0 {
            return;
        }
        let start = z.clone();
        let mut v = z.clone();
        let mut old = z.clone();
        let mut gradient = Mat::zeros(z.nrows(), z.ncols());
        let mut t = 1.0f64;
        for _ in 0..max_iter {
            self.gradient(v.as_ref(), gradient.as_mut());
            std::mem::swap(&mut old, z);
            let moves = self.shrink(z, &v, &gradient, &old, lipschitz);
            // Momentum that points uphill, <v - z, z - old> > 0, starts again from zero.
            let next = if moves.uphill > 0.0 { 1.0 } else { 0.5 * (1.0 + (1.0 + 4.0 * t * t).sqrt()) };
            let momentum = if moves.uphill > 0.0 { 0.0 } else { (t - 1.0) / next };
            t = next;
            extrapolate(&mut v, z, &old, momentum);
            if moves.change <= tol * tol * moves.norm {
                break;
            }
        }
        let value = |z: &Mat<f64>| self.terms(z.as_ref()).iter().map(|term| term.1).sum::<f64>();
        if value(z) > value(&start) {
            *z = start;
        }
    }

    /// `z = soft(v - grad / L, lambda1 / L)` and what the stopping and restart rules need.
    fn shrink(&self, z: &mut Mat<f64>, v: &Mat<f64>, gradient: &Mat<f64>, old: &Mat<f64>, lipschitz: f64) -> Moves {
        let step = 1.0 / lipschitz;
        let threshold = self.lambda1 / lipschitz;
        let parts: Vec<Moves> = z
            .as_mut()
            .par_col_chunks_mut(COLUMNS)
            .enumerate()
            .map(|(p, mut part)| {
                let mut sum = Moves::default();
                for j in 0..part.ncols() {
                    let i = p * COLUMNS + j;
                    let v = v.col_as_slice(i);
                    let g = gradient.col_as_slice(i);
                    let old = old.col_as_slice(i);
                    let z = match part.as_mut().col_mut(j).try_as_col_major_mut() {
                        Some(z) => z.as_slice_mut(),
                        None => unreachable!("columns of an owned matrix are contiguous"),
                    };
                    sum.add(shrink_column(z, v, g, old, step, threshold));
                }
                sum
            })
            .collect();
        let mut all = Moves::default();
        parts.into_iter().for_each(|part| all.add(part));
        all
    }

    /// `grad f(Z)`.
    pub fn gradient(&self, z: MatRef<'_, f64>, mut out: MatMut<'_, f64>) {
        let (means, mean) = class_means(z, self.samples);
        let labels = self.samples.labels();
        out.as_mut().par_col_iter_mut().enumerate().with_min_len(COLUMNS).for_each(|(i, out)| {
            let b = self.correlations.col(i);
            let own = means.col(labels[i]);
            let entry = |k: usize| self.lambda2 * (2.0 * (z[(k, i)] - own[k]) + mean[k]) - b[k];
            out.iter_mut().enumerate().for_each(|(k, g)| *g = entry(k));
        });
        mul_add(out, 1.0, &self.gram, z);
    }

    /// The terms of the objective: fidelity, sparsity and Fisher criterion.
    pub fn terms(&self, z: MatRef<'_, f64>) -> [(&'static str, f64); 3] {
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
        [
            ("fidelity", self.energy + fit),
            ("sparsity", self.lambda1 * l1),
            ("fisher", 0.5 * self.lambda2 * fisher.max(0.0)),
        ]
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

fn shrink_column(z: &mut [f64], v: &[f64], g: &[f64], old: &[f64], step: f64, threshold: f64) -> Moves {
    let n = z.len();
    let v = &v[..n];
    let g = &g[..n];
    let old = &old[..n];
    for k in 0..n {
        let moved = v[k] - step * g[k];
        z[k] = moved - moved.clamp(-threshold, threshold);
    }
    let mut sums = Moves::default();
    for k in 0..n {
        let change = z[k] - old[k];
        sums.uphill += (v[k] - z[k]) * change;
        sums.change += change * change;
        sums.norm += z[k] * z[k];
    }
    sums
}

/// `v = z + momentum (z - old)`.
fn extrapolate(v: &mut Mat<f64>, z: &Mat<f64>, old: &Mat<f64>, momentum: f64) {
    v.as_mut().par_col_iter_mut().enumerate().with_min_len(COLUMNS).for_each(|(i, v)| {
        let z = z.col_as_slice(i);
        let old = old.col_as_slice(i);
        v.iter_mut().zip(z.iter().zip(old)).for_each(|(v, (z, old))| *v = z + momentum * (z - old));
    });
}

/// Doubles the entries whose row and column belong to the same class.
pub(super) fn double_own_blocks(mut a: MatMut<'_, f64>, rows: &Blocks, columns: &Blocks) {
    for (rows, columns) in rows.ranges().zip(columns.ranges()) {
        for j in columns {
            rows.clone().for_each(|i| a[(i, j)] *= 2.0);
        }
    }
}

/// Mean code of every class (atoms x classes) and of all samples.
pub(super) fn class_means(z: MatRef<'_, f64>, samples: &Blocks) -> (Mat<f64>, Vec<f64>) {
    let mut means = Mat::zeros(z.nrows(), samples.len());
    let mut mean = vec![0.0; z.nrows()];
    for (c, range) in samples.ranges().enumerate() {
        let size = range.len() as f64;
        for i in range {
            means.col_mut(c).iter_mut().zip(z.col(i).iter()).for_each(|(m, v)| *m += v);
        }
        mean.iter_mut().zip(means.col(c).iter()).for_each(|(m, v)| *m += v / samples.total() as f64);
        means.col_mut(c).iter_mut().for_each(|m| *m /= size.max(1.0));
    }
    (means, mean)
}
