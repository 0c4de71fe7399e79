//! Cholesky factor of `G_WW` for a list of atoms `W` that grows at its end and loses members anywhere.

use super::active_set::Gram;
use crate::linalg::{axpy, dot};

/// A pivot below this fraction of the atom's energy means that the atom depends on those before it.
const DEPENDENT: f64 = 1e-13;
/// Such an atom gets this fraction of its energy as pivot: solutions are then long along it, never infinite.
const SUBSTITUTE: f64 = 1e-10;
/// Rows added together, so that each row of the factor is read once for all of them.
const ROWS: usize = 4;

/// The lower factor `L`, row by row with a fixed row length.
#[derive(Default)]
pub(super) struct GrowingCholesky {
    atoms: Vec<usize>,
    stride: usize,
    rows: Vec<f64>,
}

impl GrowingCholesky {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.atoms.clear();
    }

    /// Makes this the factor for `atoms`; what the old list and the new one share at their start is kept.
    #[inline(always)]
    pub fn fit(&mut self, gram: &impl Gram, atoms: &[usize]) {
        let shared = self.atoms.iter().zip(atoms).take_while(|(a, b)| a == b).count();
        self.atoms.truncate(shared);
        self.reserve(atoms.len());
        let mut next = shared;
        while next < atoms.len() {
            let count = if atoms.len() - next >= ROWS { ROWS } else { 1 };
            for (i, &atom) in atoms.iter().enumerate().skip(next).take(count) {
                let row = &mut self.rows[i * self.stride..i * self.stride + i + 1];
                row.iter_mut().zip(atoms).for_each(|(v, &k)| *v = gram.entry(k, atom));
            }
            let (done, new) = self.rows.split_at_mut(next * self.stride);
            if count == ROWS {
                substitute_rows(done, self.stride, next, new);
            }
            let from = if count == ROWS { next } else { 0 };
            for (i, &atom) in atoms.iter().enumerate().skip(next).take(count) {
                self.finish_row(from, i, gram.entry(atom, atom));
            }
            next += count;
        }
        self.atoms.extend_from_slice(&atoms[shared..]);
    }

    /// Row `i` from column `from` on: `L_ij = (G_ij - L_i,<j . L_j,<j) / L_jj`, then the pivot.
    #[inline(always)]
    fn finish_row(&mut self, from: usize, i: usize, energy: f64) {
        let (done, row) = self.rows.split_at_mut(i * self.stride);
        for j in from..i {
            let other = &done[j * self.stride..j * self.stride + j + 1];
            row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
        }
        let pivot = row[i] - dot(&row[..i], &row[..i]);
        row[i] = if pivot > DEPENDENT * energy { pivot.sqrt() } else { (SUBSTITUTE * energy.max(1e-300)).sqrt() };
    }

    /// Replaces `x` by `G_WW^-1 x`.
    #[inline(always)]
    pub fn solve(&self, x: &mut [f64]) {
        let row = |j: usize| &self.rows[j * self.stride..j * self.stride + j + 1];
        for j in 0..x.len() {
            x[j] = (x[j] - dot(&row(j)[..j], &x[..j])) / row(j)[j];
        }
        for j in (0..x.len()).rev() {
            let (head, tail) = x.split_at_mut(j);
            tail[0] /= row(j)[j];
            axpy(-tail[0], &row(j)[..j], head);
        }
    }

    /// Room for `n` rows; a longer row length means that the kept rows move.
    fn reserve(&mut self, n: usize) {
        if n > self.stride {
            let stride = (n + n / 2).next_multiple_of(8);
            let mut rows = vec![0.0; stride * stride];
            for i in 0..self.atoms.len() {
                rows[i * stride..i * stride + i + 1]
                    .copy_from_slice(&self.rows[i * self.stride..i * self.stride + i + 1]);
            }
            (self.stride, self.rows) = (stride, rows);
        }
    }
}

/// The first `known` columns of [`ROWS`] new rows at once: `L_ij = (G_ij - L_i,<j . L_j,<j) / L_jj`.
#[inline(always)]
fn substitute_rows(done: &[f64], stride: usize, known: usize, new: &mut [f64]) {
    let (r0, rest) = new.split_at_mut(stride);
    let (r1, rest) = rest.split_at_mut(stride);
    let (r2, r3) = rest.split_at_mut(stride);
    for j in 0..known {
        let other = &done[j * stride..j * stride + j + 1];
        let sums = four_dots(&other[..j], &r0[..j], &r1[..j], &r2[..j], &r3[..j]);
        r0[j] = (r0[j] - sums[0]) / other[j];
        r1[j] = (r1[j] - sums[1]) / other[j];
        r2[j] = (r2[j] - sums[2]) / other[j];
        r3[j] = (r3[j] - sums[3]) / other[j];
    }
}

/// Inner products of `x` with four vectors.
#[inline(always)]
fn four_dots(x: &[f64], a: &[f64], b: &[f64], c: &[f64], d: &[f64]) -> [f64; 4] {
    let n = x.len() / 8 * 8;
    let mut sums = [[0.0f64; 8]; 4];
    for i in (0..n).step_by(8) {
        let x = &x[i..i + 8];
        let a = &a[i..i + 8];
        let b = &b[i..i + 8];
        let c = &c[i..i + 8];
        let d = &d[i..i + 8];
        for l in 0..8 {
            sums[0][l] += x[l] * a[l];
            sums[1][l] += x[l] * b[l];
            sums[2][l] += x[l] * c[l];
            sums[3][l] += x[l] * d[l];
        }
    }
    let rest = |y: &[f64]| x[n..].iter().zip(&y[n..]).map(|(x, y)| x * y).sum::<f64>();
    let tails = [rest(a), rest(b), rest(c), rest(d)];
    std::array::from_fn(|r| tails[r] + sums[r].iter().sum::<f64>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::lasso::active_set::Dense;
    use crate::linalg::{Spd, gram};
    use crate::testing::noise;
    use faer::Mat;

    #[test]
    fn any_history_gives_the_solution_of_the_final_list() {
        let g = gram(Mat::from_fn(60, 40, noise));
        let mut factor = GrowingCholesky::default();
        let lists: [Vec<usize>; 5] =
            [vec![], (0..11).collect(), (0..30).rev().collect(), (5..30).rev().step_by(2).collect(), (0..40).collect()];
        for list in lists {
            factor.fit(&Dense(g.as_ref()), &list);
            let mut x: Vec<f64> = (0..list.len()).map(|j| noise(j, 7)).collect();
            let b = Mat::from_fn(list.len(), 1, |j, _| x[j]);
            factor.solve(&mut x);
            let part = Mat::from_fn(list.len(), list.len(), |i, j| g[(list[i], list[j])]);
            let expected = Spd::new(part, "t").unwrap().solve(&b);
            assert!((0..list.len()).all(|j| (x[j] - expected[(j, 0)]).abs() < 1e-9));
        }
    }

    #[test]
    fn dependent_atoms_give_finite_solutions() {
        let g = Mat::from_fn(3, 3, |_, _| 1.0);
        let mut factor = GrowingCholesky::default();
        factor.fit(&Dense(g.as_ref()), &[0, 1, 2]);
        let mut x = vec![1.0, 2.0, 3.0];
        factor.solve(&mut x);
        assert!(x.iter().all(|v| v.is_finite()));
    }
}
