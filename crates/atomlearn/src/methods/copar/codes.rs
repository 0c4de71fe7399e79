//! The code step of COPAR: every sample is a lasso of its own.

use super::HybridAtoms;
use crate::coding::lasso::{InverseGram, LassoTask, lasso, lasso_with_inverse};
use crate::linalg::{column_energies, concat_columns, gram, mul};
use crate::update::lasso_dictionary::TRAINING_LIMITS;
use crate::{Dataset, Mat};
use rayon::prelude::*;

/// For a sample of class `c` and its code `z`,
///
/// ```text
/// 1/2 |x - [D D_0] z|^2 + 1/2 |x - [D_c D_0] z_c0|^2 + 1/2 |z_others|^2 = |x|^2 - t^T z + 1/2 z^T Q_c z
/// ```
///
/// is half the squared distance of `[x; x; 0]` from a dictionary with Gram matrix `Q_c`, so that `lambda |z|_1` makes it a lasso:
/// `Q_c` is `[D D_0]^T [D D_0]`, doubled where own and shared atoms meet, plus one on the diagonal of all others; `t` are the
/// correlations with `x`, those of own and shared atoms doubled.
pub(super) struct CodeStep<'a> {
    atoms: &'a HybridAtoms,
    gram: Mat<f64>,
    lambda: f64,
}

impl<'a> CodeStep<'a> {
    pub fn new(atoms: &'a HybridAtoms, lambda: f64) -> Self {
        CodeStep { atoms, gram: gram(&atoms.d), lambda }
    }

    /// The codes of all samples.
    pub fn solve(&self, train: &Dataset) -> Mat<f64> {
        let of_class = |c: usize| {
            let q = self.quadratic(c);
            let t = self.linear(train, c);
            let energies: Vec<f64> = column_energies(train.class(c)).into_iter().map(|energy| 2.0 * energy).collect();
            // The other atoms' ones make `Q_c` regular, however many atoms there are.
            let found = match InverseGram::new(&q, q.nrows()) {
                Some(inverse) => lasso_with_inverse(&q, &inverse, &t, &energies, self.lambda, TRAINING_LIMITS),
                None => lasso(&q, &t, &energies, LassoTask::Penalized(self.lambda), TRAINING_LIMITS),
            };
            found.codes.to_dense()
        };
        let parts: Vec<Mat<f64>> = (0..train.n_classes()).into_par_iter().map(of_class).collect();
        concat_columns(&parts)
    }

    /// `Q_c`.
    pub fn quadratic(&self, c: usize) -> Mat<f64> {
        let mut q = self.gram.clone();
        let own = self.own_and_shared(c);
        for k in (0..q.nrows()).filter(|&k| !own[k]) {
            q[(k, k)] += 1.0;
        }
        for j in (0..q.ncols()).filter(|&j| own[j]) {
            for k in (0..q.nrows()).filter(|&k| own[k]) {
                q[(k, j)] *= 2.0;
            }
        }
        q
    }

    /// `t` of every sample of class `c`.
    pub fn linear(&self, train: &Dataset, c: usize) -> Mat<f64> {
        let mut t = mul(self.atoms.d.transpose(), train.class(c));
        let own = self.own_and_shared(c);
        for column in t.as_mut().col_iter_mut() {
            column.iter_mut().zip(&own).filter(|(_, own)| **own).for_each(|(t, _)| *t *= 2.0);
        }
        t
    }

    fn own_and_shared(&self, c: usize) -> Vec<bool> {
        let own = self.atoms.classes.range(c);
        (0..self.gram.nrows()).map(|k| own.contains(&k) || k >= self.atoms.classes.total()).collect()
    }
}
