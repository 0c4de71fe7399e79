//! Classes with nearly every sample active, solved together.
//!
//! Short codes leave nearly every margin violated. With `M = (Z^T Z + tau I)^-1` over all samples and `R` the few that are
//! not active, the solution over the active ones is `M b - M_:R M_RR^-1 (M b)_R`, zero on `R`. `M`, `M t` for the
//! targets of every class and `M 1` are found once; what is left for a class is of the size of `R`.

use super::sign;
use crate::linalg::{Spd, add_columns, add_diagonal, mul, norm1, outer_gram, wide};
use faer::Mat;

/// Beyond this condition number the inverse would cost digits of the solution.
const WORST_CONDITION: f64 = 1e6;

/// `M` and its products with the right-hand sides of all classes.
pub(super) struct NearlyAllActive {
    tau: f64,
    inverse: Mat<f64>,
    /// `M t`, one column per class; `M 1` in the last.
    solved: Mat<f64>,
}

/// A solution over the active samples, zero elsewhere, and `Z^T Z` times it.
pub(super) struct ActiveSolution {
    pub alpha: Vec<f64>,
    pub outputs: Vec<f64>,
}

impl NearlyAllActive {
    /// From `Z^T Z`; `None` if it is too badly conditioned to be inverted.
    pub fn new(gram: &Mat<f64>, tau: f64, targets: &[usize], n_classes: usize) -> Option<Self> {
        let mut system = gram.clone();
        add_diagonal(&mut system, tau);
        let norm = norm1(&system);
        let factor = Spd::new(system, super::STAGE).ok().filter(|factor| factor.condition(norm) < WORST_CONDITION)?;
        let inverse = outer_gram(factor.inverse_root());
        let rhs =
            Mat::from_fn(targets.len(), n_classes + 1, |i, c| if c < n_classes { sign(targets[i], c) } else { 1.0 });
        let solved = mul(&inverse, &rhs);
        Some(NearlyAllActive { tau, inverse, solved })
    }

    /// `(Z_A^T Z_A + tau I)^-1 b` for `b = t`, the targets of a class, and for `b = 1`. `None` if rounding broke the
    /// small system.
    pub fn solve(&self, class: usize, t: &[f64], inactive: &[usize]) -> Option<[ActiveSolution; 2]> {
        let corner = Mat::from_fn(inactive.len(), inactive.len(), |p, q| self.inverse[(inactive[p], inactive[q])]);
        let corner = Spd::new(corner, super::STAGE).ok()?;
        let ones = vec![1.0; t.len()];
        Some([(class, t), (self.solved.ncols() - 1, &ones)].map(|(of, b)| self.correct(of, b, inactive, &corner)))
    }

    /// Takes the inactive samples out of column `of` of the solved systems.
    fn correct(&self, of: usize, b: &[f64], inactive: &[usize], corner: &Spd) -> ActiveSolution {
        let mut alpha = self.solved.col_as_slice(of).to_vec();
        let pull = corner.solve(Mat::from_fn(inactive.len(), 1, |p, _| -alpha[inactive[p]]));
        let pull = pull.col_as_slice(0);
        wide!(add_columns(pull, |p| self.inverse.col_as_slice(inactive[p]), &mut alpha));
        inactive.iter().for_each(|&i| alpha[i] = 0.0);
        // (Z^T Z + tau I) alpha is b on the active samples and b + pull on the others.
        let mut outputs: Vec<f64> = b.iter().zip(&alpha).map(|(b, a)| b - self.tau * a).collect();
        inactive.iter().zip(pull).for_each(|(&i, pull)| outputs[i] += pull);
        ActiveSolution { alpha, outputs }
    }
}
