//! Penalized lasso codes with few zeros, by pivoting on the zeros with one inverse for all samples.
//!
//! ```text
//! z = H (b - c),   H = (D^T D)^-1,   b = D^T x,      c_k = lambda sign(z_k) or z_k = 0 and |c_k| <= lambda
//! ```
//!
//! Given signs `s` (zero on a set `I`), `c = lambda s` outside `I` and `z_I = 0` leave a system of the size of `I` only,
//!
//! ```text
//! y = H b - lambda H s,      H_II c_I = y_I,      z = y - H_:I c_I.
//! ```
//!
//! Entries against their sign then join `I`, and entries of `I` with `|c_k| > lambda` leave it with the sign of `c_k`, until
//! nothing changes: block principal pivoting on the box-constrained dual `min_c (b - c)^T H (b - c), |c_k| <= lambda`.
//! Should the number of changes not fall for a while, only the last of them is made (Murty's rule), until it falls below its
//! least (Judice, Pires: A block principal pivoting algorithm for large-scale strictly monotone linear complementarity
//! problems. Comput. Oper. Res. 1994).
//!
//! Equal or dependent atoms would make `G` singular; so `H = (G + delta I)^-1`, which solves the problem with `delta/2 |z|^2`
//! added. For the problem without it these codes have a duality gap of about `delta |z|_1 |z|_inf`, usually far below
//! the tolerance. The caller measures the gap for the original problem and goes on from there where it is too large.
//! With more atoms than features no small `delta` will do; then `H` serves ADMM instead (`admm.rs`).

use super::active_set::{Dense, Gram};
use super::admm::{self, Batch};
use super::growing_cholesky::GrowingCholesky;
use crate::linalg::{Spd, View, add_diagonal, mul, mul_add, trace, wide};
use faer::{Mat, MatRef};

/// `delta` as a fraction of the atoms' mean energy.
const SHIFT: f64 = 1e-8;
/// A sample with more zeros than this fraction of the atoms is left to the solver for sparse codes.
const MAX_ZEROS: f64 = 0.5;
/// Block steps without progress before Murty's rule, and steps before a sample is given up.
const PATIENCE: usize = 5;
const MAX_STEPS: usize = 100;
/// An entry leaves zero if `|c_k|` exceeds the penalty by this fraction of it.
const VIOLATES: f64 = 1e-9;

/// `(D^T D + delta I)^-1`.
#[derive(Clone, Debug)]
pub struct InverseGram {
    inverse: Mat<f64>,
    shift: f64,
    singular: bool,
}

impl InverseGram {
    /// For the Gram matrix of atoms with `n_features` entries; `None` if it is not positive semidefinite, even to rounding.
    pub fn new(gram: impl View, n_features: usize) -> Option<Self> {
        let gram = gram.view();
        let n = gram.nrows();
        let singular = n > n_features;
        let shift = if singular { admm::RHO } else { SHIFT } * trace(gram) / n.max(1) as f64;
        let mut shifted = gram.to_owned();
        add_diagonal(&mut shifted, shift);
        let spd = Spd::new(shifted, "inverse of the Gram matrix").ok()?;
        Some(InverseGram { inverse: spd.solve(Mat::identity(n, n)), shift, singular })
    }

    /// Codes `z` and correlations `c = b - G z` of a batch of samples; false for those given up.
    pub(super) fn codes(
        &self,
        gram: MatRef<'_, f64>,
        batch: &Batch<'_>,
        penalty: f64,
        work: &mut Pivoting,
    ) -> (Mat<f64>, Mat<f64>, Vec<bool>) {
        let h = self.inverse.as_ref();
        let b = batch.b;
        if self.singular {
            return admm::codes(gram, h, self.shift, batch, penalty);
        }
        let mut y = mul(h, b);
        // First guess of the signs: soft thresholding, exact for orthogonal atoms.
        let mut signs = Mat::from_fn(y.nrows(), y.ncols(), |k, i| {
            if y[(k, i)].abs() > penalty * h[(k, k)] { y[(k, i)].signum() } else { 0.0 }
        });
        mul_add(y.as_mut(), -penalty, h, &signs);
        let mut z = Mat::zeros(y.nrows(), y.ncols());
        let mut found = Vec::with_capacity(y.ncols());
        for i in 0..y.ncols() {
            let y = y.col_as_slice_mut(i);
            let s = signs.col_as_slice_mut(i);
            let z = z.col_as_slice_mut(i);
            found.push(wide!(work.run(&Dense(h), y, s, z, penalty)));
        }
        let mut c = b.to_owned();
        mul_add(c.as_mut(), -1.0, gram, &z);
        (z, c, found)
    }
}

/// Working memory of one thread.
#[derive(Default)]
pub(super) struct Pivoting {
    /// The set `I`, and `c` on it.
    zeros: Vec<usize>,
    c: Vec<f64>,
    factor: GrowingCholesky,
    /// Atoms that change, each with its new sign.
    changes: Vec<(usize, f64)>,
    atoms: Vec<usize>,
    weights: Vec<f64>,
}

impl Pivoting {
    /// Solves one sample from the signs `s` and `y = H b - lambda H s`, both of which are kept up to date; true if solved.
    #[inline(always)]
    fn run(&mut self, h: &Dense<'_>, y: &mut [f64], s: &mut [f64], z: &mut [f64], penalty: f64) -> bool {
        self.zeros.clear();
        self.zeros.extend((0..s.len()).filter(|&k| s[k] == 0.0));
        self.factor.clear();
        let mut least = usize::MAX;
        let mut patience = PATIENCE;
        for _ in 0..MAX_STEPS {
            if self.zeros.len() as f64 > MAX_ZEROS * s.len() as f64 {
                break;
            }
            self.solve(h, y, z);
            self.find_changes(s, z, penalty);
            if self.changes.is_empty() {
                return true;
            }
            // All changes at once are fast but may cycle; one at a time, the last, never does. Block steps are taken as long
            // as the number of changes reaches a new minimum now and then.
            if self.changes.len() < least {
                (least, patience) = (self.changes.len(), PATIENCE);
            } else if patience > 0 {
                patience -= 1;
            } else {
                let last = self.changes.iter().max_by_key(|(k, _)| *k).copied();
                self.changes.clear();
                self.changes.extend(last);
            }
            self.change(h, y, s, penalty);
        }
        z.fill(0.0);
        false
    }

    /// `H_II c_I = y_I`, `z = y - H_:I c_I`.
    #[inline(always)]
    fn solve(&mut self, h: &Dense<'_>, y: &[f64], z: &mut [f64]) {
        self.c.clear();
        self.c.extend(self.zeros.iter().map(|&k| y[k]));
        self.factor.fit(h, &self.zeros);
        self.factor.solve(&mut self.c);
        self.weights.clear();
        self.weights.extend(self.c.iter().map(|c| -c));
        z.copy_from_slice(y);
        h.add(&self.zeros, &self.weights, z);
        self.zeros.iter().for_each(|&k| z[k] = 0.0);
    }

    #[inline(always)]
    fn find_changes(&mut self, s: &[f64], z: &[f64], penalty: f64) {
        self.changes.clear();
        let crossed = (0..s.len()).filter(|&k| s[k] != 0.0 && z[k] * s[k] <= 0.0);
        self.changes.extend(crossed.map(|k| (k, 0.0)));
        let pulled = self.zeros.iter().zip(&self.c).filter(|(_, c)| c.abs() > penalty * (1.0 + VIOLATES));
        self.changes.extend(pulled.map(|(&k, c)| (k, c.signum())));
    }

    /// Makes the changes; `I` loses members anywhere and grows at its end.
    #[inline(always)]
    fn change(&mut self, h: &Dense<'_>, y: &mut [f64], s: &mut [f64], penalty: f64) {
        self.atoms.clear();
        self.weights.clear();
        for &(k, new) in &self.changes {
            self.atoms.push(k);
            self.weights.push(-penalty * (new - s[k]));
            s[k] = new;
        }
        h.add(&self.atoms, &self.weights, y);
        self.zeros.retain(|&k| s[k] == 0.0);
        self.zeros.extend(self.changes.iter().filter(|(_, new)| *new == 0.0).map(|(k, _)| *k));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LassoCodes, LassoLimits, LassoTask, lasso, lasso_with_inverse};
    use super::*;
    use crate::linalg::column_energies;
    use crate::linalg::{gram, normalize_columns};

    fn problem(m: usize, n_atoms: usize, n: usize, common: f64) -> (Mat<f64>, Mat<f64>) {
        let mut state = 12345u64;
        let mut noise = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        let shared: Vec<f64> = (0..m).map(|_| common * noise()).collect();
        let mut d = Mat::from_fn(m, n_atoms, |i, _| noise() + shared[i]);
        let mut x = Mat::from_fn(m, n, |i, _| noise() + shared[i]);
        normalize_columns(d.as_mut());
        normalize_columns(x.as_mut());
        (d, x)
    }

    fn both(d: MatRef<'_, f64>, x: MatRef<'_, f64>, penalty: f64, tolerance: f64) -> (LassoCodes, LassoCodes) {
        let (g, b) = (gram(d), mul(d.transpose(), x));
        let energies: Vec<f64> = column_energies(x);
        let limits = LassoLimits { tolerance, ..Default::default() };
        let inverse = InverseGram::new(g.as_ref(), d.nrows()).unwrap();
        let mine = lasso_with_inverse(g.as_ref(), &inverse, b.as_ref(), &energies, penalty, limits);
        (mine, lasso(g.as_ref(), b.as_ref(), &energies, LassoTask::Penalized(penalty), limits))
    }

    fn solved(d: MatRef<'_, f64>, x: MatRef<'_, f64>, penalty: f64) -> usize {
        let (g, b) = (gram(d), mul(d.transpose(), x));
        let inverse = InverseGram::new(g.as_ref(), d.nrows()).unwrap();
        let energies: Vec<f64> = column_energies(x);
        let batch = Batch { b: b.as_ref(), energies: &energies, gaps: vec![0.5e-6; x.ncols()] };
        inverse.codes(g.as_ref(), &batch, penalty, &mut Pivoting::default()).2.iter().filter(|found| **found).count()
    }

    #[test]
    fn codes_are_optimal_and_as_good_as_those_of_the_other_solver() {
        for (m, n_atoms, common, penalty) in
            [(60, 40, 0.0, 1e-3), (60, 40, 2.0, 1e-3), (100, 90, 0.5, 1e-3), (90, 30, 0.0, 0.03)]
        {
            let (d, x) = problem(m, n_atoms, 70, common);
            let count = solved(d.as_ref(), x.as_ref(), penalty);
            assert!(count > 60, "{m} {n_atoms} {penalty}: {count}");
            let (mine, theirs) = both(d.as_ref(), x.as_ref(), penalty, 1e-8);
            let (z, other) = (mine.codes.to_dense(), theirs.codes.to_dense());
            let c = mul(d.transpose(), &x - mul(&d, &z));
            for i in 0..70 {
                let objective =
                    |z: &Mat<f64>| 0.5 * (x.col(i) - &d * z.col(i)).squared_norm_l2() + penalty * z.col(i).norm_l1();
                assert!((objective(&z) - objective(&other)).abs() < 1e-8 && mine.gaps[i] <= 0.5e-8 + 1e-15);
                assert!(c.col(i).norm_max() <= penalty * (1.0 + 1e-3));
                let (atoms, values) = mine.codes.sample(i);
                assert!(atoms.iter().zip(values).all(|(&k, v)| (c[(k, i)] - penalty * v.signum()).abs() < 1e-6));
            }
        }
    }

    #[test]
    fn equal_atoms_and_sparse_codes_are_solved_too() {
        let (d, x) = problem(60, 40, 70, 0.5);
        let mut twins = Mat::zeros(60, 43);
        twins.subcols_mut(0, 40).copy_from(&d);
        twins.subcols_mut(40, 3).copy_from(d.subcols(7, 3));
        for penalty in [1e-3, 0.05, 0.5, 10.0] {
            let (mine, theirs) = both(twins.as_ref(), x.as_ref(), penalty, 1e-8);
            let fit = |codes: &LassoCodes| mul(&twins, codes.codes.to_dense());
            assert!((fit(&mine) - fit(&theirs)).norm_max() < 1e-3);
            assert!(mine.gaps.iter().all(|gap| *gap <= 0.5e-8 + 1e-15), "{penalty}");
        }
        assert!(solved(twins.as_ref(), x.as_ref(), 1e-3) > 60);
        assert_eq!(solved(twins.as_ref(), x.as_ref(), 10.0), 0);
        let wide = problem(10, 40, 20, 0.5);
        let (mine, _) = both(wide.0.as_ref(), wide.1.as_ref(), 1e-3, 1e-6);
        assert!(mine.gaps.iter().all(|gap| *gap <= 0.5e-6 + 1e-15));
        assert!(InverseGram::new(faer::mat![[1.0, 2.0], [2.0, 1.0]].as_ref(), 2).is_none());
    }

    #[test]
    fn more_atoms_than_features_are_solved_by_admm() {
        let (d, x) = problem(60, 70, 70, 0.5);
        assert!(solved(d.as_ref(), x.as_ref(), 1e-2) > 60);
        for penalty in [1e-2, 1e-3] {
            let (mine, theirs) = both(d.as_ref(), x.as_ref(), penalty, 1e-8);
            for i in 0..70 {
                let objective =
                    |codes: &LassoCodes| 0.5 * codes.squared_residuals[i] + penalty * l1(codes.codes.sample(i).1);
                assert!((objective(&mine) - objective(&theirs)).abs() < 1e-8 && mine.gaps[i] <= 0.5e-8 + 1e-15);
            }
        }
        // Sparse codes are left to the other solver.
        assert_eq!(solved(d.as_ref(), x.as_ref(), 0.2), 0);
    }

    fn l1(values: &[f64]) -> f64 {
        values.iter().map(|v| v.abs()).sum()
    }

    #[test]
    fn bits_do_not_depend_on_threads() {
        let (d, x) = problem(60, 40, 200, 0.5);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| both(d.as_ref(), x.as_ref(), 1e-3, 1e-6).0)
        };
        assert!(run(1) == run(2) && run(1) == run(3));
    }
}
