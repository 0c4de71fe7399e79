//! Solving with a few rows and columns more or less than a matrix that is already factored.
//!
//! `M` is symmetric positive definite over all indices, `M_BB` is factored, and systems over `A = B + D - R` are wanted.
//! Adding `D` is block elimination with the Schur complement `S = M_DD - M_DB M_BB^-1 M_BD`; removing `R` corrects a
//! solution `x` by `N T^-1 x_R`, where `N` are the columns `R` of the inverse and `T` their rows `R`. Both small
//! matrices are positive definite.

use crate::Result;
use crate::linalg::{Spd, mul, mul_add};
use faer::Mat;

/// The factored base and how the wanted set differs from it.
pub(super) struct BorderedSystem<'a> {
    base: &'a Spd,
    /// `M_BD`.
    cross: Mat<f64>,
    /// `M_BB^-1 M_BD`.
    solved_cross: Mat<f64>,
    schur: Option<Spd>,
    /// Positions in the base of what is removed.
    removed: &'a [usize],
    /// `N`, over base then added.
    columns: Mat<f64>,
    corner: Option<Spd>,
}

impl<'a> BorderedSystem<'a> {
    /// `cross` is `M_BD` and `added` the lower triangle of `M_DD`; `removed` are positions in the base.
    pub fn new(base: &'a Spd, cross: Mat<f64>, mut added: Mat<f64>, removed: &'a [usize], stage: &str) -> Result<Self> {
        let solved_cross = base.solve(&cross);
        let schur = if cross.ncols() > 0 {
            mul_add(added.as_mut(), -1.0, cross.transpose(), &solved_cross);
            Some(Spd::new(added, stage)?)
        } else {
            None
        };
        let mut bordered =
            BorderedSystem { base, cross, solved_cross, schur, removed, columns: Mat::zeros(0, 0), corner: None };
        if !removed.is_empty() {
            let total = base.dim() + bordered.cross.ncols();
            let mut units = Mat::zeros(total, removed.len());
            removed.iter().enumerate().for_each(|(j, &r)| units[(r, j)] = 1.0);
            bordered.columns = bordered.solve_all(units);
            let corner = Mat::from_fn(removed.len(), removed.len(), |i, j| bordered.columns[(removed[i], j)]);
            bordered.corner = Some(Spd::new(corner, stage)?);
        }
        Ok(bordered)
    }

    /// Solves over `B + D`, `B` first.
    fn solve_all(&self, rhs: Mat<f64>) -> Mat<f64> {
        let b = self.base.dim();
        let mut x = rhs;
        self.base.solve_in_place(x.subrows_mut(0, b));
        if let Some(schur) = &self.schur {
            let d = self.cross.ncols();
            let (mut over_b, mut over_d) = x.as_mut().split_at_row_mut(b);
            mul_add(over_d.as_mut(), -1.0, self.cross.transpose(), &over_b);
            schur.solve_in_place(over_d.as_mut());
            mul_add(over_b.as_mut(), -1.0, &self.solved_cross, &over_d);
            debug_assert_eq!(over_d.nrows(), d);
        }
        x
    }

    /// Solves over `A`. Rows stand for `B`, then `D`; those of removed indices must be zero and come out as zero.
    pub fn solve(&self, rhs: Mat<f64>) -> Mat<f64> {
        let mut x = self.solve_all(rhs);
        if let Some(corner) = &self.corner {
            let at = Mat::from_fn(self.removed.len(), x.ncols(), |i, j| x[(self.removed[i], j)]);
            let correction = mul(&self.columns, corner.solve(&at));
            x -= correction;
            for j in 0..x.ncols() {
                self.removed.iter().for_each(|&r| x[(r, j)] = 0.0);
            }
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::gram;

    #[test]
    fn equals_the_direct_solve_for_any_additions_and_removals() {
        let z = Mat::from_fn(9, 20, |i, j| ((i * 7 + j * j * 3 + i * j) % 17) as f64 / 17.0 - 0.4);
        let mut m = gram(&z);
        (0..20).for_each(|i| m[(i, i)] += 0.3);
        let part = |rows: &[usize], cols: &[usize]| Mat::from_fn(rows.len(), cols.len(), |i, j| m[(rows[i], cols[j])]);
        let base: Vec<usize> = (0..12).collect();
        let factor = Spd::new(part(&base, &base), "t").unwrap();
        for (added, removed) in
            [(vec![], vec![]), (vec![12, 19], vec![]), (vec![], vec![0, 7, 11]), (vec![13, 15, 16], vec![2, 3])]
        {
            let bordered =
                BorderedSystem::new(&factor, part(&base, &added), part(&added, &added), &removed, "t").unwrap();
            let rows: Vec<usize> = base.iter().chain(&added).copied().collect();
            let rhs = Mat::from_fn(rows.len(), 2, |i, j| {
                if removed.contains(&i) { 0.0 } else { (rows[i] * (j + 1)) as f64 % 5.0 - 2.0 }
            });
            let x = bordered.solve(rhs.clone());
            let kept: Vec<usize> = (0..rows.len()).filter(|i| !removed.contains(i)).collect();
            let wanted: Vec<usize> = kept.iter().map(|&i| rows[i]).collect();
            let direct = Spd::new(part(&wanted, &wanted), "t")
                .unwrap()
                .solve(Mat::from_fn(kept.len(), 2, |i, j| rhs[(kept[i], j)]));
            assert!(kept.iter().enumerate().all(|(p, &i)| (0..2).all(|j| (x[(i, j)] - direct[(p, j)]).abs() < 1e-11)));
            assert!(removed.iter().all(|&i| x[(i, 0)] == 0.0));
        }
    }
}
