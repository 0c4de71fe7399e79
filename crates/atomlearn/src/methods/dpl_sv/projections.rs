//! The projections of DPL-SV under the bound on its losses, class after class.
//!
//! With the scores of now and their targets `P` (the score where it keeps its margin, else `y`), `Omega_c` minimises
//!
//! ```text
//! tau |Omega_c X_c - Z_c|^2 + lambda |Omega_c Xbar_c|^2 + gamma |Omega_c|^2 + a |U_c^T Omega_c X - R|^2,     a = 2 lambda2 theta
//! ```
//!
//! where `U_c` holds the rows of `U` that belong to class `c`, and `R = P - b - sum_{d != c} U_d^T Omega_d X`. With
//! `U_c U_c^T = Q diag(l) Q^T` the normal equations fall apart into one system for each row `r_j` of `Q^T Omega_c`:
//!
//! ```text
//! r_j ( (lambda + a l_j) X X^T + (tau - lambda) X_c X_c^T + gamma I ) = row j of Q^T (tau Z_c X_c^T + a U_c R X^T)
//! ```
//!
//! In the eigenvectors of `X X^T` the first and the last term are diagonal, and Woodbury's identity adds the samples of the
//! class: every row costs one system of the size of the class.

use super::DplSv;
use crate::linalg::{Spd, add_diagonal, gram, mul, mul_add, outer_gram, sym_eig};
use crate::svm::{Svm, sign};
use crate::{Blocks, Dataset, Result};
use faer::{Mat, MatRef, Scale};
use rayon::prelude::*;

/// What stays fixed.
pub(super) struct Projections<'a> {
    params: &'a DplSv,
    train: &'a Dataset,
    atoms: &'a Blocks,
    targets: Vec<usize>,
    /// Eigenvectors and eigenvalues of `X X^T`.
    vectors: Mat<f64>,
    energies: Vec<f64>,
    /// The samples in these eigenvectors.
    turned: Mat<f64>,
}

impl<'a> Projections<'a> {
    pub fn new(params: &'a DplSv, train: &'a Dataset, atoms: &'a Blocks) -> Result<Self> {
        let (values, vectors) = sym_eig(outer_gram(train.x()), "DPL-SV samples")?;
        let energies = values.into_iter().map(|value| value.max(0.0)).collect();
        let turned = mul(vectors.transpose(), train.x());
        Ok(Projections { params, train, atoms, targets: train.targets(), vectors, energies, turned })
    }

    /// One sweep over the classes for these codes and SVMs; `J` never rises.
    pub fn descend(&self, codes: &[MatRef<'_, f64>], svm: &Svm, omega: &mut [Mat<f64>]) -> Result<()> {
        let parts: Vec<MatRef<'_, f64>> =
            self.atoms.ranges().map(|range| svm.weights.subrows(range.start, range.len())).collect();
        let seen = |u: &MatRef<'_, f64>, omega: &Mat<f64>| mul(u.transpose(), mul(omega, self.train.x()));
        let mut scores = Mat::zeros(svm.bias.len(), self.train.n_samples());
        for (u, omega) in parts.iter().zip(omega.iter()) {
            scores += seen(u, omega);
        }
        for (c, u) in parts.iter().enumerate() {
            let own = seen(u, &omega[c]);
            let mut wanted = self.targets_of(&svm.with_bias(scores.clone()), svm);
            wanted += &own - &scores;
            omega[c] = self.minimizer(c, codes[c], *u, &wanted)?;
            scores += seen(u, &omega[c]) - own;
        }
        Ok(())
    }

    /// `P - b` for scores with their bias.
    fn targets_of(&self, scores: &Mat<f64>, svm: &Svm) -> Mat<f64> {
        Mat::from_fn(scores.nrows(), scores.ncols(), |c, i| {
            let y = sign(self.targets[i], c);
            let kept = y * scores[(c, i)] >= 1.0;
            (if kept { scores[(c, i)] } else { y }) - svm.bias[c]
        })
    }

    /// `Omega_c` for `U_c^T Omega_c X` that should be `wanted`.
    pub(super) fn minimizer(
        &self,
        c: usize,
        codes: MatRef<'_, f64>,
        u: MatRef<'_, f64>,
        wanted: &Mat<f64>,
    ) -> Result<Mat<f64>> {
        let DplSv { tau, lambda, gamma, .. } = *self.params;
        let strength = self.params.strength();
        let range = self.train.blocks().range(c);
        let own = self.turned.subcols(range.start, range.len());
        let (values, q) = sym_eig(outer_gram(u), "DPL-SV classifiers")?;

        let mut right = Scale(tau) * mul(codes, own.transpose());
        mul_add(right.as_mut(), strength, mul(u, wanted), self.turned.transpose());
        let right = mul(right.transpose(), &q);
        let excess = tau - lambda;
        let row = |j: usize| -> Result<Mat<f64>> {
            let shared = lambda + strength * values[j].max(0.0);
            let over = |i: usize| (shared * self.energies[i] + gamma).recip();
            let plain = Mat::from_fn(right.nrows(), 1, |i, _| over(i) * right[(i, j)]);
            let scaled = Mat::from_fn(own.nrows(), own.ncols(), |i, k| over(i) * own[(i, k)]);
            let root = Mat::from_fn(own.nrows(), own.ncols(), |i, k| over(i).sqrt() * own[(i, k)]);
            let mut small = Scale(excess) * gram(&root);
            add_diagonal(&mut small, 1.0);
            let along = Spd::new(small, "DPL-SV projections")?.solve(mul(own.transpose(), &plain));
            Ok(plain - Scale(excess) * mul(&scaled, &along))
        };
        let rows: Vec<Mat<f64>> = (0..values.len()).into_par_iter().map(row).collect::<Result<_>>()?;
        let rows = crate::linalg::concat_columns(&rows);
        Ok(mul(&q, mul(&self.vectors, &rows).transpose()))
    }
}
