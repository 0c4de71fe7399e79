//! The monotone reference solver: block descent on the objective.

use super::{Problem, Sadl, State};
use crate::Result;
use crate::coding::threshold::soft;
use crate::linalg::{Spd, gram, mul, mul_add, outer_gram, sym_eig, top_eigenvalue};
use faer::Scale;

/// Proximal-gradient steps in `Z` per iteration.
const CODE_STEPS: usize = 5;

impl Sadl {
    /// One sweep of block descent: `Q`, `W` exactly, some proximal steps in `Z`, `Omega` exactly.
    pub(super) fn descent_step(&self, problem: &Problem<'_>, state: &mut State) -> Result<()> {
        self.descend_structure(problem, state)?;
        self.descend_classifier(problem, state)?;
        self.descend_codes(problem, state);
        state.seen = self.analysed(problem, &state.z);
        Ok(())
    }

    /// `(rho I + rho W^T W) Q Z Z^T + delta Q = rho (H + W^T L) Z^T`, diagonalised on both sides.
    pub(super) fn descend_structure(&self, problem: &Problem<'_>, state: &mut State) -> Result<()> {
        let mut left = Scale(self.rho) * gram(state.w.as_ref());
        (0..left.nrows()).for_each(|i| left[(i, i)] += self.rho);
        let (p, left) = sym_eig(left.as_ref(), "SADL structure")?;
        let (v, right) = sym_eig(outer_gram(state.z.as_ref()).as_ref(), "SADL structure")?;
        let mut goal = problem.structure.clone();
        mul_add(goal.as_mut(), 1.0, state.w.transpose(), problem.labels.as_ref());
        let goal = Scale(self.rho) * mul(goal.as_ref(), state.z.transpose());
        let mut middle = mul(mul(left.transpose(), goal.as_ref()).as_ref(), right.as_ref());
        for (j, column) in middle.as_mut().col_iter_mut().enumerate() {
            column.iter_mut().zip(&p).for_each(|(q, p)| *q /= p.max(0.0) * v[j].max(0.0) + self.delta);
        }
        state.q = mul(mul(left.as_ref(), middle.as_ref()).as_ref(), right.transpose());
        Ok(())
    }

    /// `W = L (Q Z)^T (Q Z (Q Z)^T + delta / rho I)^-1`.
    pub(super) fn descend_classifier(&self, problem: &Problem<'_>, state: &mut State) -> Result<()> {
        let structured = mul(state.q.as_ref(), state.z.as_ref());
        let mut system = outer_gram(structured.as_ref());
        (0..system.nrows()).for_each(|i| system[(i, i)] += self.delta / self.rho);
        let right = mul(structured.as_ref(), problem.labels.transpose());
        state.w = Spd::new(system, "SADL classifier")?.solve(right.as_ref()).transpose().to_owned();
        Ok(())
    }

    /// Proximal gradient on `J` in `Z`.
    pub(super) fn descend_codes(&self, problem: &Problem<'_>, state: &mut State) {
        let wq = mul(state.w.as_ref(), state.q.as_ref());
        let curvature = Scale(self.rho) * (gram(state.q.as_ref()) + gram(wq.as_ref()));
        let length = 1.0 + top_eigenvalue(curvature.as_ref());
        let mut goal = state.seen.clone();
        mul_add(goal.as_mut(), self.rho, state.q.transpose(), problem.structure.as_ref());
        mul_add(goal.as_mut(), self.rho, wq.transpose(), problem.labels.as_ref());
        for _ in 0..CODE_STEPS {
            let gradient = &state.z - &goal + mul(curvature.as_ref(), state.z.as_ref());
            state.z -= Scale(1.0 / length) * gradient;
            soft(state.z.as_mut(), self.lambda1 / length);
        }
    }
}
