//! Whole groups left out at once, several samples of one person for example: rank-one updates become blocks.
//!
//! For a group `g` with `B = A - u u^T / t`:
//!
//! ```text
//! residual       codes of the group over all others: -A_.g A_gg^-1
//! ridge          Y_g - B_gg^-1 beta_g
//! discriminant   -((Q^-1)_yy - 2 (Q^-1)_yc + (Q^-1)_cc + F_yy - 2 F_yc + F_cc + 2 (T_ic - T_iy) + (R_gg^-1)_ii - kappa (1 + 1 / n_c)),
//!                T = R_gg^-1 V_g,   F = V_g^T T,   n_c without the group
//! ```

use super::sums::{Bordered, NOTHING};
use super::{Coder, Reading, STAGE, residual_scores};
use crate::linalg::{Spd, mul};
use crate::{Error, Result};
use faer::Mat;

impl Coder<'_> {
    /// Scores of every training sample by a reading that was trained without its whole group; `groups` has a number for every
    /// sample. Where a class has no sample outside a group, it gets the lowest score of the group's samples of other classes, and its own
    /// samples get zero for every class.
    pub fn leave_groups_out(&self, reading: Reading, groups: &[usize]) -> Result<Mat<f64>> {
        let members = members(groups, self.gram.nrows())?;
        match reading {
            Reading::Residual => {
                let mut codes = Mat::zeros(groups.len(), groups.len());
                for g in &members {
                    let own = Spd::new(part(&self.inverse, g, g), STAGE)?;
                    // A is symmetric: A_gg^-1 A_g. is the transpose of what is wanted.
                    let rows = own.solve(Mat::from_fn(g.len(), groups.len(), |i, j| self.inverse[(j, g[i])]));
                    for (i, &sample) in g.iter().enumerate() {
                        (0..groups.len()).for_each(|j| codes[(j, sample)] = -rows[(i, j)]);
                        g.iter().for_each(|&j| codes[(j, sample)] = 0.0);
                    }
                }
                Ok(residual_scores(&self.residuals_of_codes(codes.as_ref())))
            }
            Reading::Ridge => self.ridge_without_groups(&members),
            Reading::Discriminant => self.discriminant_without_groups(&members),
        }
    }

    fn ridge_without_groups(&self, members: &[Vec<usize>]) -> Result<Mat<f64>> {
        let (sums, bias, total) = (&self.sums.sums, self.sums.bias(), self.sums.total());
        let mut scores = Mat::zeros(sums.nrows(), sums.ncols());
        for g in members {
            let u: Vec<f64> = g.iter().map(|&i| sums.col(i).iter().sum()).collect();
            let own = Mat::from_fn(g.len(), g.len(), |i, j| self.inverse[(g[i], g[j])] - u[i] * u[j] / total);
            let beta = Mat::from_fn(g.len(), bias.len(), |i, c| sums[(c, g[i])] - u[i] * bias[c]);
            let errors = Spd::new(own, STAGE)?.solve(&beta);
            for (i, &sample) in g.iter().enumerate() {
                for c in 0..bias.len() {
                    let target = f64::from(u8::from(c == self.sums.targets[sample]));
                    scores[(c, sample)] = target - errors[(i, c)] / self.sums.root(sample);
                }
            }
        }
        Ok(scores)
    }

    fn discriminant_without_groups(&self, members: &[Vec<usize>]) -> Result<Mat<f64>> {
        let whole = self.sums.bordered()?;
        let n_classes = whole.q.nrows();
        let mut scores = Mat::zeros(n_classes, self.gram.nrows());
        for g in members {
            let mut left = self.sums.counts.clone();
            g.iter().for_each(|&i| left[self.sums.targets[i]] -= self.sums.root(i).powi(2));
            let is_gone = |c: usize| left[c] <= NOTHING * self.sums.counts[c];
            let gone: Vec<usize> = (0..n_classes).filter(|&c| is_gone(c)).collect();
            let Border { q, v, r } = self.border_of(g, &gone, &whole)?;
            let r = Spd::new(r, STAGE)?;
            let t = r.solve(&v);
            let r_inverse = r.inverse();
            let f = mul(v.transpose(), &t);
            for (i, &sample) in g.iter().enumerate() {
                let y = self.sums.targets[sample];
                if is_gone(y) {
                    continue;
                }
                let root = self.sums.root(sample);
                let weight = root * root;
                let between = |a: &Mat<f64>, c: usize| a[(y, y)] - 2.0 * a[(y, c)] + a[(c, c)];
                let distance = |c: usize| {
                    between(&q, c) + between(&f, c) + 2.0 * (t[(i, c)] - t[(i, y)]) / root + r_inverse[(i, i)] / weight
                        - self.sums.kappa * (1.0 / weight + 1.0 / left[c])
                };
                let there = (0..n_classes).filter(|&c| !is_gone(c));
                there.for_each(|c| scores[(c, sample)] = -distance(c));
                let lowest = scores.col(sample).iter().copied().fold(f64::INFINITY, f64::min);
                gone.iter().for_each(|&c| scores[(c, sample)] = lowest);
            }
        }
        Ok(scores)
    }

    /// `Q^-1`, `V_g` and `R_gg` without the classes that are gone, whose columns of `Y` would make the rest singular.
    fn border_of(&self, g: &[usize], gone: &[usize], whole: &Bordered) -> Result<Border> {
        let n_classes = whole.q.nrows();
        let sums = Mat::from_fn(g.len(), n_classes, |i, c| self.sums.sums[(c, g[i])]);
        let v = Mat::from_fn(g.len(), n_classes, |i, c| whole.v[(c, g[i])]);
        let r = part(&self.inverse, g, g) - mul(&sums, v.transpose());
        if gone.is_empty() {
            return Ok(Border { q: whole.q.clone(), v, r });
        }
        let all: Vec<usize> = (0..n_classes).collect();
        let q_rows = part(&whole.q, gone, &all);
        let pivot = Spd::new(part(&whole.q, gone, gone), STAGE)?;
        let v_gone = Mat::from_fn(g.len(), gone.len(), |i, c| v[(i, gone[c])]);
        let by_q = pivot.solve(&q_rows);
        let by_v = pivot.solve(v_gone.transpose());
        Ok(Border {
            q: &whole.q - mul(q_rows.transpose(), &by_q),
            v: v - mul(&v_gone, &by_q),
            r: r + mul(&v_gone, &by_v),
        })
    }
}

/// What the discriminant without a group is made from.
struct Border {
    q: Mat<f64>,
    v: Mat<f64>,
    r: Mat<f64>,
}

/// The samples of every group, in the order of their numbers.
fn members(groups: &[usize], n: usize) -> Result<Vec<Vec<usize>>> {
    if groups.len() != n {
        return Err(Error::shape("groups", format!("one per sample ({n})"), groups.len()));
    }
    let mut members = std::collections::BTreeMap::<usize, Vec<usize>>::new();
    groups.iter().enumerate().for_each(|(i, &group)| members.entry(group).or_default().push(i));
    if members.len() < 2 {
        return Err(Error::Data("all samples are in one group: nothing is left to learn from without it".into()));
    }
    Ok(members.into_values().collect())
}

/// Some rows and columns of a matrix.
fn part(a: &Mat<f64>, rows: &[usize], columns: &[usize]) -> Mat<f64> {
    Mat::from_fn(rows.len(), columns.len(), |i, j| a[(rows[i], columns[j])])
}
