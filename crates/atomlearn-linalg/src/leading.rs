//! Few leading eigenpairs of a large symmetric matrix, by products alone.
//!
//! Block Lanczos: a random block `Q_1` and its images under `A`, each made orthogonal to all before, give an orthonormal
//! basis `Q` with `A Q = Q T + Q_next R E^T`, `T` block tridiagonal and `E` the last columns of the identity. An eigenpair
//! `(t, s)` of `T` then gives `Q s` with the residual `|A Q s - t Q s| = |R E^T s|`. The basis grows until the residuals of
//! all wanted pairs are rounding, as those of a dense solver are; where that is too far away, the dense solver does it.
//!
//! A random block of `b` columns meets every eigenvector, and `b` copies of every repeated eigenvalue; only further copies
//! can be missed. So an answer in which `b` values nearly agree is not trusted and the dense solver decides.
//! Golub and Underwood, "The block Lanczos method for computing eigenvalues", 1977.

use super::spectral::leading_by_tridiagonal;
use super::{View, column_norms, mul, mul_add, qr, upper_mul};
use crate::Result;
use faer::{Mat, MatRef};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Columns of a block. Narrow blocks need a smaller basis; below this width products are slowed down by memory.
const BLOCK: usize = 16;
/// Smaller matrices stay in cache, where the dense solver is fast.
const LARGE: usize = 1000;
/// At most one eigenpair in this many may be wanted, else the basis would be most of the space.
const FEW: usize = 10;
/// Residual of a settled pair, relative to the largest eigenvalue.
const SETTLED: f64 = 1e-13;
/// Values that agree to this part of themselves may be copies of one.
const COPIES: f64 = 1e-6;

/// The `most` largest eigenvalues (largest first) and their eigenvectors of a symmetric matrix.
pub fn sym_eig_leading(a: impl View, most: usize, stage: &str) -> Result<(Vec<f64>, Mat<f64>)> {
    let a = a.view();
    let n = a.nrows();
    let few_of_many = n >= LARGE && (1..=n / FEW).contains(&most);
    if few_of_many && let Some(found) = by_krylov(a, most, stage)? {
        return Ok(found);
    }
    leading_by_tridiagonal(a, most, stage)
}

/// `None` if the dense solver is cheaper or safer.
fn by_krylov(a: MatRef<'_, f64>, most: usize, stage: &str) -> Result<Option<(Vec<f64>, Mat<f64>)>> {
    let n = a.nrows();
    let mut krylov = Krylov::new(a);
    let mut target = (2 * most).max(8 * BLOCK);
    let mut before = None;
    loop {
        if !krylov.grow(target) {
            return Ok(None);
        }
        let (values, vectors, residuals) = krylov.eigenpairs(most, stage)?;
        let now = Progress::new(krylov.width, &residuals, SETTLED * values[0]);
        if now.settled == most {
            let crowded = |w: &[f64]| w[0] - w[BLOCK - 1] <= COPIES * w[0].abs() + SETTLED * values[0];
            if values.windows(BLOCK).any(crowded) {
                return Ok(None);
            }
            return Ok(Some((values, mul(krylov.basis(), &vectors))));
        }
        let needed = now.forecast(before, most);
        target = if needed <= n / 2 {
            needed
        } else if now.width <= n / 4 {
            // Early forecasts are poor, and a narrow basis costs little beside the dense solver.
            now.width * 3 / 2
        } else {
            return Ok(None);
        };
        before = Some(now);
    }
}

/// How far a basis of some width has come.
#[derive(Clone, Copy)]
struct Progress {
    width: usize,
    settled: usize,
    /// Logarithm of the largest residual over what counts as settled.
    excess: f64,
}

impl Progress {
    fn new(width: usize, residuals: &[f64], limit: f64) -> Self {
        let settled = residuals.iter().filter(|&&r| r <= limit).count();
        Progress { width, settled, excess: (residuals.iter().copied().fold(0.0, f64::max) / limit).ln() }
    }

    /// The width at which all is settled, if the number of settled pairs, or else the logarithm of the largest residual,
    /// goes on as since the last time. Both tend to go faster later.
    fn forecast(&self, before: Option<Self>, most: usize) -> usize {
        let width = self.width as f64;
        let Some(before) = before else { return self.width * 5 / 4 };
        let step = width - before.width as f64;
        let at_rate = |left: f64, gained: f64| if gained > 0.0 { left / gained * step } else { f64::INFINITY };
        let by_count = at_rate((most - self.settled) as f64, self.settled as f64 - before.settled as f64);
        let by_residual = at_rate(self.excess, before.excess - self.excess);
        (width + 1.0 + by_count.min(by_residual)) as usize
    }
}

struct Krylov<'a> {
    a: MatRef<'a, f64>,
    width: usize,
    /// `Q`, `width` columns of it, and the next block; then room to grow.
    columns: Mat<f64>,
    /// Lower triangle of `T`; below it, `R`.
    projected: Mat<f64>,
}

impl<'a> Krylov<'a> {
    fn new(a: MatRef<'a, f64>) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let start = Mat::from_fn(a.nrows(), BLOCK, |_, _| StandardNormal.sample(&mut rng));
        Krylov { a, width: 0, columns: qr(&start).0, projected: Mat::new() }
    }

    fn basis(&self) -> MatRef<'_, f64> {
        self.columns.subcols(0, self.width)
    }

    /// Takes blocks into the basis until it has `target` columns. False if no independent block is left to take.
    ///
    /// Blocks are handled as rows: their products then have many columns, which are shared among threads.
    fn grow(&mut self, target: usize) -> bool {
        let room = target.next_multiple_of(BLOCK);
        self.columns.resize_with(self.a.nrows(), room + BLOCK, |_, _| 0.0);
        self.projected.resize_with(room + BLOCK, room, |_, _| 0.0);
        while self.width < room {
            let old = self.width;
            self.width += BLOCK;
            let last = self.columns.subcols(old, BLOCK);
            let mut rows = mul(last.transpose(), self.a);
            self.projected.submatrix_mut(old, old, BLOCK, BLOCK).copy_from(mul(&rows, last));
            // What the recurrence says is along the basis goes first; the rest of it is rounding.
            let near = old.saturating_sub(BLOCK);
            let along = self.projected.submatrix(old, near, BLOCK, self.width - near);
            mul_add(rows.as_mut(), -1.0, along, self.columns.subcols(near, self.width - near).transpose());
            let Some((next, r)) = next_block(self.basis(), rows) else { return false };
            self.projected.submatrix_mut(self.width, old, BLOCK, BLOCK).copy_from(&r);
            self.columns.subcols_mut(self.width, BLOCK).copy_from(&next);
        }
        true
    }

    /// The leading eigenpairs of `T` and the residuals that they leave in `A`.
    fn eigenpairs(&self, most: usize, stage: &str) -> Result<(Vec<f64>, Mat<f64>, Vec<f64>)> {
        let last = self.width - BLOCK;
        let (values, vectors) = leading_by_tridiagonal(self.projected.subrows(0, self.width), most, stage)?;
        let r = self.projected.submatrix(self.width, last, BLOCK, BLOCK);
        let residuals = column_norms(upper_mul(r, vectors.subrows(last, BLOCK)));
        Ok((values, vectors, residuals))
    }
}

/// An orthonormal block orthogonal to the basis, and `R` such that block times `R` is what the rows have outside of it.
///
/// Where little is left outside, rounding is a large part of it, and the block is made orthogonal once more. Where nothing is
/// left, this turns the rounding into new directions, which is as good as a new random block.
fn next_block(basis: MatRef<'_, f64>, mut rows: Mat<f64>) -> Option<(Mat<f64>, Mat<f64>)> {
    const MUCH: f64 = 0.3;
    const PASSES: usize = 4;
    let mut r = Mat::identity(BLOCK, BLOCK);
    for _ in 0..PASSES {
        let size = column_norms(rows.transpose()).into_iter().fold(0.0, f64::max);
        let along = mul(&rows, basis);
        mul_add(rows.as_mut(), -1.0, &along, basis.transpose());
        let (block, factor) = qr(rows.transpose());
        r = upper_mul(&factor, &r);
        if (0..BLOCK).all(|j| factor[(j, j)].abs() > MUCH * size) {
            return Some((block, r));
        }
        rows = block.transpose().to_owned();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{gram, scaled_columns};

    type Spectrum = fn(usize) -> f64;

    /// A matrix with these eigenvalues and random eigenvectors.
    fn with_spectrum(n: usize, value: Spectrum) -> Mat<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (q, _) = qr(Mat::from_fn(n, n, |_, _| StandardNormal.sample(&mut rng)));
        let a = mul(scaled_columns(&q, value), q.transpose());
        faer::Scale(0.5) * (&a + a.transpose())
    }

    fn assert_leading(a: &Mat<f64>, most: usize, values: &[f64], vectors: &Mat<f64>) {
        let (exact, dense) = leading_by_tridiagonal(a.as_ref(), most + 1, "t").unwrap();
        let close = |limit: f64, a: Mat<f64>, b: Mat<f64>| (a - b).norm_max() <= limit;
        assert_eq!((values.len(), vectors.shape()), (most, (a.nrows(), most)));
        assert!(values.iter().zip(&exact).all(|(v, e)| (v - e).abs() <= 1e-13 * exact[0]));
        assert!(close(1e-12, gram(vectors), Mat::identity(most, most)));
        let scaled = scaled_columns(vectors, |j| values[j]);
        assert!(close(3e-13 * exact[0], mul(a, vectors), scaled));
        // The space is unique where a gap follows.
        let gap = (exact[most - 1] - exact[most]) / exact[0];
        if gap > 1e-6 {
            let across = mul(dense.subcols(0, most).transpose(), vectors);
            assert!(close(1e-12 / gap, gram(&across), Mat::identity(most, most)));
        }
    }

    #[test]
    fn answers_of_the_krylov_space_are_those_of_the_dense_solver() {
        let pairs = |j| 1.0 / (1 + j / 2) as f64;
        let deficient = |j| if j < 60 { 1.0 / (1 + j) as f64 } else { 0.0 };
        let spectra: [(&str, usize, Spectrum); 6] = [
            ("slow", 10, |j| 1e12 / (1 + j) as f64),
            ("fast", 40, |j| 1e-9 * (-(j as f64) / 8.0).exp()),
            ("pairs", 10, pairs),
            ("cut between copies", 9, pairs),
            ("deficient", 30, deficient),
            ("deficient, some zeros wanted", 65, deficient),
        ];
        for (name, most, spectrum) in spectra {
            let a = with_spectrum(420, spectrum);
            let (values, vectors) = by_krylov(a.as_ref(), most, "t").unwrap().expect(name);
            assert_leading(&a, most, &values, &vectors);
        }
    }

    #[test]
    fn the_dense_solver_decides_where_the_krylov_space_cannot() {
        let copies = with_spectrum(420, |j| if j < 40 { 1.0 } else { 0.5 / (j - 39) as f64 });
        let even = with_spectrum(420, |j| 1.0 - 1e-3 * j as f64);
        for a in [copies, even, Mat::identity(420, 420), Mat::zeros(420, 420)] {
            assert!(by_krylov(a.as_ref(), 30, "t").unwrap().is_none());
        }
        let mut unclear = Mat::<f64>::identity(420, 420);
        unclear[(7, 7)] = f64::NAN;
        assert!(by_krylov(unclear.as_ref(), 30, "t").unwrap().is_none());
    }

    #[test]
    fn large_matrices_take_this_way_with_the_same_bits_on_any_number_of_threads() {
        let a = Mat::from_fn(LARGE, LARGE, |i, j| (-((i as f64 - j as f64) / 60.0).powi(2)).exp());
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| sym_eig_leading(&a, 20, "t").unwrap())
        };
        let found = run(1);
        assert!(found == run(2) && Some(&found) == by_krylov(a.as_ref(), 20, "t").unwrap().as_ref());
    }
}
