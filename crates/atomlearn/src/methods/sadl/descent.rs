//! The monotone reference solver: block descent on the objective.

use super::{Iterate, Problem, Sadl};
use crate::Result;
use crate::coding::threshold::soft;
use crate::linalg::{Spd, add_diagonal, gram, mul, mul_add, outer_gram, sym_eig, top_eigenvalue};
use faer::{Mat, Scale};

/// Proximal-gradient steps in `Z` per iteration.
pub(super) const CODE_STEPS: usize = 5;

impl Sadl {
    /// One sweep of block descent: `Q`, `W` exactly, some proximal steps in `Z`, `Omega` exactly.
    pub(super) fn descent_step(&self, problem: &Problem<'_>, state: &mut Iterate) -> Result<()> {
        self.descend_structure(problem, state)?;
        self.descend_classifier(problem, state)?;
        self.descend_codes(problem, state);
        state.seen = self.analysed(problem, &state.z);
        Ok(())
    }

    /// `(rho I + rho W^T W) Q Z Z^T + delta Q = rho (H + W^T L) Z^T`, diagonalised on both sides.
    pub(super) fn descend_structure(&self, problem: &Problem<'_>, state: &mut Iterate) -> Result<()> {
        let mut goal = problem.structure.clone();
        mul_add(goal.as_mut(), 1.0, state.w.transpose(), &problem.labels);
        let goal = mul(&goal, state.z.transpose());
        state.q = self.best_structure(&state.w, &outer_gram(&state.z), goal)?;
        Ok(())
    }

    /// The same from `Z Z^T` and `(H + W^T L) Z^T`.
    pub(super) fn best_structure(&self, w: &Mat<f64>, code_gram: &Mat<f64>, goal: Mat<f64>) -> Result<Mat<f64>> {
        let mut left = Scale(self.rho) * gram(w);
        add_diagonal(&mut left, self.rho);
        let (p, left) = sym_eig(&left, "SADL structure")?;
        let (v, right) = sym_eig(code_gram, "SADL structure")?;
        let goal = Scale(self.rho) * goal;
        let mut middle = mul(mul(left.transpose(), &goal), &right);
        for (j, column) in middle.as_mut().col_iter_mut().enumerate() {
            column.iter_mut().zip(&p).for_each(|(q, p)| *q /= p.max(0.0) * v[j].max(0.0) + self.delta);
        }
        Ok(mul(mul(&left, &middle), right.transpose()))
    }

    /// `W = L (Q Z)^T (Q Z (Q Z)^T + delta / rho I)^-1`.
    pub(super) fn descend_classifier(&self, problem: &Problem<'_>, state: &mut Iterate) -> Result<()> {
        let structured = mul(&state.q, &state.z);
        let right = mul(&structured, problem.labels.transpose());
        state.w = self.best_classifier(outer_gram(&structured), &right)?;
        Ok(())
    }

    /// The same from `Q Z (Q Z)^T` and `Q Z L^T`.
    pub(super) fn best_classifier(&self, mut system: Mat<f64>, right: &Mat<f64>) -> Result<Mat<f64>> {
        add_diagonal(&mut system, self.delta / self.rho);
        Ok(Spd::new(system, "SADL classifier")?.solve(right).transpose().to_owned())
    }

    /// Proximal gradient on `J` in `Z`.
    pub(super) fn descend_codes(&self, problem: &Problem<'_>, state: &mut Iterate) {
        let wq = mul(&state.w, &state.q);
        let curvature = curvature(&state.q, &state.w, self.rho);
        let length = 1.0 + top_eigenvalue(&curvature);
        let mut goal = state.seen.clone();
        mul_add(goal.as_mut(), self.rho, state.q.transpose(), &problem.structure);
        mul_add(goal.as_mut(), self.rho, wq.transpose(), &problem.labels);
        for _ in 0..CODE_STEPS {
            let gradient = &state.z - &goal + mul(&curvature, &state.z);
            state.z -= Scale(1.0 / length) * gradient;
            soft(state.z.as_mut(), self.lambda1 / length);
        }
    }
}

/// `rho (Q^T Q + (W Q)^T W Q)`.
pub(super) fn curvature(q: &Mat<f64>, w: &Mat<f64>, rho: f64) -> Mat<f64> {
    Scale(rho) * (gram(q) + gram(mul(w, q)))
}
