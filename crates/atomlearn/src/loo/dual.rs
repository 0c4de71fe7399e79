//! The coder over training samples: matrices of the size of their number.

use super::sums::class_weights;
use super::{Reading, STAGE, Sums, residual_scores};
use crate::linalg::{
    Spd, View, add_diagonal, axpy, column, column_major, diagonal, dot, gram, mul, mul_into, spd_inverse, wide,
};
use crate::score::{ClassResiduals, Residuals};
use crate::{Blocks, Result};
use faer::{Mat, MatRef};

/// With less than this left of `1 - h`, too many digits are lost to take `A` from the features.
const LEAST_REST: f64 = 1e-6;

/// Everything that follows from `A = (K + kappa I)^-1`; see the module.
pub struct Coder<'a> {
    pub(super) gram: MatRef<'a, f64>,
    pub(super) blocks: &'a Blocks,
    pub(super) inverse: Mat<f64>,
    pub(super) sums: Sums,
}

impl<'a> Coder<'a> {
    /// For a kernel matrix of samples grouped by class.
    pub fn new(gram: MatRef<'a, f64>, blocks: &'a Blocks, kappa: f64) -> Result<Self> {
        Self::weighted(gram, blocks, None, kappa)
    }

    /// The same with the `roots` of weights; `gram` is the kernel matrix of samples times these.
    pub fn weighted(gram: MatRef<'a, f64>, blocks: &'a Blocks, roots: Option<&[f64]>, kappa: f64) -> Result<Self> {
        let mut shifted = gram.to_owned();
        add_diagonal(&mut shifted, kappa);
        let inverse = spd_inverse(shifted, STAGE)?;
        Ok(Self::from_inverse(gram, blocks, roots, kappa, inverse))
    }

    /// The same for the linear kernel `gram` of samples `x` with the scatter matrix `scatter = X X^T`. Where features are
    /// fewer than samples it takes less time: `A = (I - R^T R) / kappa` with `R^T R = X^T (X X^T + kappa I)^-1 X`.
    pub fn of_features(
        gram: MatRef<'a, f64>,
        x: MatRef<'_, f64>,
        scatter: MatRef<'_, f64>,
        blocks: &'a Blocks,
        roots: Option<&[f64]>,
        kappa: f64,
    ) -> Result<Self> {
        let hat = hat(x, scatter, kappa)?;
        if (0..hat.nrows()).any(|i| 1.0 - hat[(i, i)] < LEAST_REST) {
            return Self::weighted(gram, blocks, roots, kappa);
        }
        let mut inverse = hat;
        wide!({
            for i in 0..inverse.ncols() {
                let column = inverse.col_as_slice_mut(i);
                column[i] -= 1.0;
                for v in column {
                    *v *= -1.0 / kappa;
                }
            }
        });
        Ok(Self::from_inverse(gram, blocks, roots, kappa, inverse))
    }

    fn from_inverse(
        gram: MatRef<'a, f64>,
        blocks: &'a Blocks,
        roots: Option<&[f64]>,
        kappa: f64,
        inverse: Mat<f64>,
    ) -> Self {
        let sums = class_sums(&inverse, blocks, roots).transpose().to_owned();
        let cross = class_sums(&sums, blocks, roots);
        let sums = Sums {
            kappa,
            counts: class_weights(blocks, roots),
            targets: blocks.labels(),
            roots: roots.unwrap_or_default().to_vec(),
            diagonal: diagonal(&inverse),
            sums,
            cross,
        };
        Coder { gram, blocks, inverse, sums }
    }

    /// `A`.
    pub fn inverse(&self) -> MatRef<'_, f64> {
        self.inverse.as_ref()
    }

    /// What ridge and discriminant need.
    pub fn sums(&self) -> &Sums {
        &self.sums
    }

    /// Scores of every training sample by a reading that was trained on all others, classes x samples.
    pub fn leave_one_out(&self, reading: Reading) -> Result<Mat<f64>> {
        match reading {
            Reading::Residual => Ok(residual_scores(&self.residuals_left_out())),
            Reading::Ridge => Ok(self.sums.ridge_left_out()),
            Reading::Discriminant => self.sums.discriminant_left_out(),
        }
    }

    /// Class residuals of each training sample with its code over all others, `-A_ji / A_ii`. One class after the other: the columns
    /// of `A` that belong to it hold, since `A` is symmetric, its part of every sample's code, samples side by side in vectors. No more
    /// than these columns are copied.
    pub fn residuals_left_out(&self) -> Residuals {
        let n = self.gram.nrows();
        let n_classes = self.blocks.len();
        let mut store = None;
        let gram = column_major(self.gram, &mut store);
        let scales: Vec<f64> = self.sums.diagonal.iter().map(|own| -1.0 / own).collect();
        let energy = diagonal(gram);
        let mut squared = Mat::zeros(n, n_classes);
        let mut code_energy = Mat::zeros(n, n_classes);
        let mut codes = Mat::new();
        let mut rebuilt = Mat::new();
        for (c, range) in self.blocks.ranges().enumerate() {
            codes.resize_with(n, range.len(), |_, _| 0.0);
            wide!({
                for (k, j) in range.clone().enumerate() {
                    let code = codes.col_as_slice_mut(k);
                    for ((z, a), scale) in code.iter_mut().zip(self.inverse.col_as_slice(j)).zip(&scales) {
                        *z = a * scale;
                    }
                    code[j] = 0.0;
                }
            });
            mul_into(&mut rebuilt, &codes, gram.submatrix(range.start, range.start, range.len(), range.len()));
            let squared = squared.col_as_slice_mut(c);
            let code_energy = code_energy.col_as_slice_mut(c);
            squared.copy_from_slice(&energy);
            wide!({
                for (k, j) in range.enumerate() {
                    let z = codes.col_as_slice(k);
                    let r = rebuilt.col_as_slice(k);
                    let b = column(gram, j);
                    for i in 0..n {
                        squared[i] += z[i] * (r[i] - 2.0 * b[i]);
                        code_energy[i] += z[i] * z[i];
                    }
                }
            });
            squared.iter_mut().for_each(|v| *v = v.max(0.0));
        }
        let classes_first = |a: Mat<f64>| a.transpose().to_owned();
        Residuals { squared: classes_first(squared), code_energy: classes_first(code_energy) }
    }

    /// Class residuals of the training samples with the given codes.
    pub(super) fn residuals_of_codes(&self, codes: MatRef<'_, f64>) -> Residuals {
        let energy = diagonal(self.gram);
        ClassResiduals::from_gram(self.gram, self.blocks).of_products(&energy, codes, self.gram)
    }

    /// Scores of new samples with kernel values `k` to the training samples (one column each) and `own` to themselves.
    pub fn scores(&self, reading: Reading, k: MatRef<'_, f64>, own: &[f64]) -> Result<Mat<f64>> {
        let basis = self.sums.sums.transpose();
        match reading {
            Reading::Residual => {
                let codes = mul(&self.inverse, k);
                Ok(residual_scores(&ClassResiduals::from_gram(self.gram, self.blocks).of_products(own, &codes, k)))
            }
            Reading::Ridge => Ok(self.sums.ridge_rule(basis).scores(k)),
            Reading::Discriminant => {
                let mut scores = self.sums.discriminant_rule(basis)?.scores(k);
                let codes = mul(&self.inverse, k);
                let s = mul(&self.sums.sums, k);
                let v = mul(&self.sums.bordered()?.q, &s);
                for (i, scores) in scores.as_mut().col_iter_mut().enumerate() {
                    let common = own[i] - codes.col(i).transpose() * k.col(i) + s.col(i).transpose() * v.col(i);
                    scores.iter_mut().for_each(|score| *score -= common);
                }
                Ok(scores)
            }
        }
    }
}

/// `X^T (X X^T + kappa I)^-1 X`, exactly symmetric.
fn hat(x: MatRef<'_, f64>, scatter: MatRef<'_, f64>, kappa: f64) -> Result<Mat<f64>> {
    Ok(gram(Spd::shifted(scatter, kappa, STAGE)?.half_solve(x)))
}

/// `a Y` for one-hot labels `Y`, times the roots of weights if there are any: sums of the columns of each class.
fn class_sums(a: impl View, blocks: &Blocks, roots: Option<&[f64]>) -> Mat<f64> {
    let a = a.view();
    let mut sums = Mat::zeros(a.nrows(), blocks.len());
    wide!({
        for (c, range) in blocks.ranges().enumerate() {
            for j in range {
                axpy(roots.map_or(1.0, |roots| roots[j]), column(a, j), sums.col_as_slice_mut(c));
            }
        }
    });
    sums
}

/// `x_i . y_i` for matching columns.
pub(super) fn column_products(x: impl View, y: impl View) -> Vec<f64> {
    let (x, y) = (x.view(), y.view());
    (0..x.ncols()).map(|i| dot(column(x, i), column(y, i))).collect()
}
