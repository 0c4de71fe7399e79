//! Batch orthogonal matching pursuit (Rubinstein, Zibulevsky, Elad: Efficient implementation of the K-SVD algorithm
//! using batch orthogonal matching pursuit. Technion 2008).
//!
//! ```text
//! sparsity:  min |x - D z|   s.t.  |z|_0 <= T          error:  min |z|_0   s.t.  |x - D z| <= epsilon
//! ```
//!
//! Greedy: the atom most correlated with the residual joins the support `I`, then all of `x` is fitted again on `I`.
//! Only the Gram matrix `G = D^T D` and the correlations `D^T x` are needed. With `q_1 .. q_t` the Gram-Schmidt basis
//! of the chosen atoms, `P = D^T [q_1 .. q_t]` grows by one column per step and everything reads off it:
//!
//! ```text
//! k = argmax |alpha_j|;   w = P_k,:;   l = sqrt(G_kk - |w|^2);   p = (G_:,k - P w) / l
//! beta = alpha_k / l (= q^T x);   alpha <- alpha - beta p;   |r|^2 <- |r|^2 - beta^2
//! ```
//!
//! The rows `[w^T l]` are the Cholesky factor `L` of `G_I,I`, so `L^T z_I = beta` gives the code. Same codes as the
//! original, which solves with `L` and multiplies by `G_:,I` in each step, but the working set stays in cache.
//!
//! `P` is kept in slices of a few rows: `p` stays in registers while a slice is read through, once and in order.

use super::sparse::SparseCodes;
use crate::linalg::{View, column, column_major, largest, wide};
use faer::MatRef;
use rayon::prelude::*;

/// Samples coded by one task; fixed, so that results never depend on the number of threads.
const BLOCK: usize = 32;
/// Rows of a slice.
const ROWS: usize = 32;
/// A squared correlation below this ends the pursuit.
const NO_CORRELATION: f64 = 1e-14;
/// An atom with no more than this fraction of its energy outside the span of the chosen ones depends on them.
const DEPENDENT: f64 = 1e-14;

/// When the pursuit of a sample ends.
#[derive(Clone, Copy, Debug)]
pub struct OmpLimits<'a> {
    /// Maximum number of atoms per sample, `T`.
    pub sparsity: usize,
    /// Error mode: also end once the residual is small enough.
    pub error: Option<ErrorLimit<'a>>,
}

/// A residual that is small enough.
#[derive(Clone, Copy, Debug)]
pub struct ErrorLimit<'a> {
    /// Largest norm of the residual, `epsilon`.
    pub epsilon: f64,
    /// `|x|^2` of every sample.
    pub energies: &'a [f64],
}

/// Codes of the samples with correlations `D^T X` (atoms x samples) over the atoms with Gram matrix `D^T D`.
///
/// Atoms need not have unit norm, though the choice then favours long ones. A sample whose residual cannot get
/// smaller, or whose next atom depends on those it has, ends with the atoms it has.
///
/// ```
/// use atomlearn::Mat;
/// use atomlearn::coding::omp::{OmpLimits, omp};
///
/// let gram = Mat::<f64>::identity(3, 3);
/// let correlations = Mat::from_fn(3, 1, |i, _| [1.0, 0.3, -0.6][i]);
/// let z = omp(&gram, &correlations, OmpLimits { sparsity: 2, error: None }).to_dense();
/// assert_eq!([z[(0, 0)], z[(1, 0)], z[(2, 0)]], [1.0, 0.0, -0.6]); // the two largest
/// ```
pub fn omp(gram: impl View, correlations: impl View, limits: OmpLimits<'_>) -> SparseCodes {
    let (gram, correlations) = (gram.view(), correlations.view());
    let (n_atoms, n) = correlations.shape();
    let mut gram_store = None;
    let mut correlation_store = None;
    let gram = column_major(gram, &mut gram_store);
    let correlations = column_major(correlations, &mut correlation_store);
    let blocks: Vec<SparseCodes> = (0..n.div_ceil(BLOCK))
        .into_par_iter()
        .map_init(OmpMemory::default, |pursuit, block| {
            let mut codes = SparseCodes::new(n_atoms);
            for i in block * BLOCK..n.min((block + 1) * BLOCK) {
                let stop = limits.error.map(|limit| (limit.energies[i], limit.epsilon * limit.epsilon));
                wide!(pursuit.run(gram, column(correlations, i), limits.sparsity, stop));
                codes.push(&pursuit.support, &pursuit.beta);
            }
            codes
        })
        .collect();
    let mut codes = SparseCodes::new(n_atoms);
    blocks.iter().for_each(|block| codes.append(block));
    codes
}

/// Working memory of one thread; after a run, `support` and `beta` hold the code.
#[derive(Default)]
struct OmpMemory {
    support: Vec<usize>,
    beta: Vec<f64>,
    /// `alpha = D^T r`, slice by slice, with zeros at its end.
    alpha: Vec<[f64; ROWS]>,
    /// The columns of `P` for every slice.
    basis: Vec<Vec<[f64; ROWS]>>,
    /// Rows of `L` one after the other: row t has t + 1 entries.
    lower: Vec<f64>,
    w: Vec<f64>,
}

impl OmpMemory {
    /// `stop` holds `|x|^2` and `epsilon^2`.
    #[inline(always)]
    fn run(&mut self, gram: MatRef<'_, f64>, correlations: &[f64], sparsity: usize, stop: Option<(f64, f64)>) {
        self.support.clear();
        self.beta.clear();
        self.lower.clear();
        self.alpha.clear();
        self.alpha.extend(slices(correlations));
        self.basis.resize_with(self.alpha.len(), Vec::new);
        self.basis.iter_mut().for_each(Vec::clear);
        let (mut energy, enough) = stop.unwrap_or((f64::INFINITY, 0.0));
        while self.support.len() < sparsity.min(correlations.len()) && energy > enough {
            let k = largest(self.alpha.as_flattened());
            let alpha = self.alpha[k / ROWS][k % ROWS];
            if self.support.contains(&k) || alpha * alpha < NO_CORRELATION {
                break;
            }
            let Some(l) = self.pivot(gram, k) else { break };
            let beta = alpha / l;
            self.add(column(gram, k), l, beta);
            self.support.push(k);
            self.beta.push(beta);
            energy -= beta * beta;
        }
        self.solve();
    }

    /// Extends `L` by atom `k` and returns `l`; nothing if it depends on the chosen ones.
    #[inline(always)]
    fn pivot(&mut self, gram: MatRef<'_, f64>, k: usize) -> Option<f64> {
        self.w.clear();
        self.w.extend(self.basis[k / ROWS].iter().map(|p| p[k % ROWS]));
        let pivot = gram[(k, k)] - self.w.iter().map(|w| w * w).sum::<f64>();
        if pivot.is_nan() || pivot <= DEPENDENT * gram[(k, k)] {
            return None;
        }
        let l = pivot.sqrt();
        self.lower.extend_from_slice(&self.w);
        self.lower.push(l);
        Some(l)
    }

    /// Extends `P` by `p = (g - P w) / l` and takes `beta p` from `alpha`.
    #[inline(always)]
    fn add(&mut self, g: &[f64], l: f64, beta: f64) {
        let scale = 1.0 / l;
        for ((basis, alpha), g) in self.basis.iter_mut().zip(&mut self.alpha).zip(slices(g)) {
            let mut p = without(g, basis, &self.w);
            for i in 0..ROWS {
                p[i] *= scale;
                alpha[i] -= beta * p[i];
            }
            basis.push(p);
        }
    }

    /// Replaces `beta` by the code: `L^T z = beta`.
    fn solve(&mut self) {
        for t in (0..self.beta.len()).rev() {
            let row = &self.lower[t * (t + 1) / 2..(t + 1) * (t + 2) / 2];
            let z = self.beta[t] / row[t];
            self.beta[t] = z;
            (0..t).for_each(|j| self.beta[j] -= row[j] * z);
        }
    }
}

/// `g - P w` in a slice.
#[inline(always)]
fn without(mut g: [f64; ROWS], basis: &[[f64; ROWS]], w: &[f64]) -> [f64; ROWS] {
    for (p, w) in basis.iter().zip(w) {
        for i in 0..ROWS {
            g[i] -= w * p[i];
        }
    }
    g
}

/// A vector in slices, with zeros at its end.
#[inline(always)]
fn slices(x: &[f64]) -> impl Iterator<Item = [f64; ROWS]> {
    let (whole, rest) = x.as_chunks();
    let mut last = [0.0; ROWS];
    last[..rest.len()].copy_from_slice(rest);
    whole.iter().copied().chain((!rest.is_empty()).then_some(last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::sparse::golden;
    use crate::linalg::column_energies;
    use crate::linalg::{Spd, gram, mul, normalize_columns, select_columns};
    use crate::testing::noise;
    use faer::{Mat, mat};

    fn code(d: MatRef<'_, f64>, x: MatRef<'_, f64>, sparsity: usize, epsilon: Option<f64>) -> SparseCodes {
        let energies: Vec<f64> = column_energies(x);
        let error = epsilon.map(|epsilon| ErrorLimit { epsilon, energies: &energies });
        omp(gram(d).as_ref(), mul(d.transpose(), x).as_ref(), OmpLimits { sparsity, error })
    }

    fn problem(m: usize, n_atoms: usize, n: usize) -> (Mat<f64>, Mat<f64>) {
        let mut d = Mat::from_fn(m, n_atoms, noise);
        normalize_columns(d.as_mut());
        (d, Mat::from_fn(m, n, |i, j| noise(j + 5, i + 50)))
    }

    /// Worked by hand.
    #[test]
    fn hand_checked_codes() {
        let d = mat![[1.0, 0.0, 0.6, 0.36], [0.0, 1.0, 0.8, 0.48], [0.0, 0.0, 0.0, 0.8]];
        let x = mat![[1.0], [2.0], [0.5]];
        let expected = mat![[0.0, 0.0, -0.5], [0.0, 0.0, 0.0], [2.2, 1.825, 2.125], [0.0, 0.625, 0.625]];
        for sparsity in 1..=3 {
            let found = code(d.as_ref(), x.as_ref(), sparsity, None).to_dense();
            assert!((found - expected.subcols(sparsity - 1, 1)).norm_max() < 1e-12);
        }
        assert!(code(d.as_ref(), x.as_ref(), 4, None).n_entries() <= 3, "the residual is zero after three atoms");
    }

    #[test]
    fn equals_scikit_learn() {
        let (d, x) = (golden("dictionary"), golden("samples"));
        assert!((code(d.as_ref(), x.as_ref(), 4, None).to_dense() - golden("omp_4")).norm_max() < 1e-12);
        let found = code(d.as_ref(), x.as_ref(), 15, Some(0.3));
        assert!((found.to_dense() - golden("omp_error_0.3")).norm_max() < 1e-12);
    }

    #[test]
    fn codes_are_least_squares_on_their_support_and_errors_shrink() {
        let (d, x) = problem(12, 40, 50);
        let mut before = vec![f64::INFINITY; 50];
        for sparsity in [0, 1, 2, 5, 9, 12, 40] {
            let codes = code(d.as_ref(), x.as_ref(), sparsity, None);
            let residual = &x - mul(&d, codes.to_dense());
            for (i, before) in before.iter_mut().enumerate() {
                let (atoms, values) = codes.sample(i);
                assert!(atoms.len() <= sparsity.min(12));
                let chosen = select_columns(&d, atoms);
                assert!(mul(chosen.transpose(), residual.subcols(i, 1)).norm_max() < 1e-10, "orthogonal residual");
                assert!(residual.col(i).norm_l2() <= *before + 1e-12);
                *before = residual.col(i).norm_l2();
                if !atoms.is_empty() && sparsity <= 9 {
                    let least_squares = Spd::new(gram(&chosen), "t").unwrap();
                    let least_squares = least_squares.solve(mul(chosen.transpose(), x.subcols(i, 1)));
                    assert!((0..atoms.len()).all(|t| (values[t] - least_squares[(t, 0)]).abs() < 1e-9));
                }
            }
        }
        let codes = code(d.as_ref(), x.as_ref(), 12, Some(0.4));
        let residual = &x - mul(&d, codes.to_dense());
        assert!((0..50).all(|i| residual.col(i).norm_l2() <= 0.4 + 1e-12));
    }

    #[test]
    fn orthonormal_atoms_are_taken_by_size() {
        let x = mat![[0.1], [-3.0], [2.0], [0.0]];
        let codes = code(Mat::<f64>::identity(4, 4).as_ref(), x.as_ref(), 2, None);
        assert_eq!(codes.sample(0), (&[1, 2][..], &[-3.0, 2.0][..]));
    }

    #[test]
    fn degenerate_input_ends_early() {
        let twins = mat![[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]];
        let x = mat![[2.0, 0.0], [1.0, 0.0]];
        let codes = code(twins.as_ref(), x.as_ref(), 3, None);
        assert_eq!(codes.sample(0), (&[0][..], &[2.0][..]), "twin and zero atoms are never added");
        assert_eq!(codes.sample(1).0.len(), 0);
        assert_eq!(code(twins.as_ref(), x.as_ref(), 3, Some(10.0)).n_entries(), 0, "zero is near enough");
        let transposed = code(twins.as_ref(), x.as_ref(), 3, None);
        let (g, b) = (gram(&twins), mul(x.transpose(), &twins));
        assert_eq!(omp(g.transpose(), b.transpose(), OmpLimits { sparsity: 3, error: None }), transposed);
    }

    #[test]
    fn bits_do_not_depend_on_threads() {
        let (d, x) = problem(20, 60, 200);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| code(d.as_ref(), x.as_ref(), 8, None))
        };
        assert!(run(1) == run(2) && run(1) == run(3));
    }
}
