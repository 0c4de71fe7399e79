//! The coder over training samples: matrices of the size of their number.

use super::{Reading, STAGE, Sums, residual_scores};
use crate::linalg::{Spd, axpy, column, dot, mul, vectorised};
use crate::score::{ClassResiduals, Residuals};
use crate::{Blocks, Result};
use faer::{Mat, MatRef};

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
        let mut shifted = gram.to_owned();
        (0..shifted.nrows()).for_each(|i| shifted[(i, i)] += kappa);
        let inverse = Spd::new(shifted, STAGE)?.inverse();
        let sums = class_sums(inverse.as_ref(), blocks).transpose().to_owned();
        let cross = class_sums(sums.as_ref(), blocks);
        let sums = Sums {
            kappa,
            counts: blocks.sizes().map(|size| size as f64).collect(),
            targets: blocks.labels(),
            diagonal: (0..inverse.nrows()).map(|i| inverse[(i, i)]).collect(),
            sums,
            cross,
        };
        Ok(Coder { gram, blocks, inverse, sums })
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

    /// Class residuals of every training sample, coded over all others.
    pub fn residuals_left_out(&self) -> Residuals {
        self.residuals_of_codes(self.codes_without_own().as_ref())
    }

    /// Column i: the code of sample i over all others, `-A_ji / A_ii`.
    fn codes_without_own(&self) -> Mat<f64> {
        let mut codes = self.inverse.clone();
        for i in 0..codes.ncols() {
            let scale = -1.0 / self.sums.diagonal[i];
            codes.col_as_slice_mut(i).iter_mut().for_each(|v| *v *= scale);
            codes[(i, i)] = 0.0;
        }
        codes
    }

    /// Class residuals of the training samples with the given codes.
    pub(super) fn residuals_of_codes(&self, codes: MatRef<'_, f64>) -> Residuals {
        let energy: Vec<f64> = (0..self.gram.nrows()).map(|i| self.gram[(i, i)]).collect();
        ClassResiduals::from_gram(self.gram, self.blocks).of_products(&energy, codes, self.gram)
    }

    /// Scores of new samples with kernel values `k` to the training samples (one column each) and `own` to themselves.
    pub fn scores(&self, reading: Reading, k: MatRef<'_, f64>, own: &[f64]) -> Result<Mat<f64>> {
        let basis = self.sums.sums.transpose();
        match reading {
            Reading::Residual => {
                let codes = mul(self.inverse.as_ref(), k);
                Ok(residual_scores(&ClassResiduals::from_gram(self.gram, self.blocks).of_products(
                    own,
                    codes.as_ref(),
                    k,
                )))
            }
            Reading::Ridge => Ok(self.sums.ridge_rule(basis).scores(k)),
            Reading::Discriminant => {
                let mut scores = self.sums.discriminant_rule(basis)?.scores(k);
                let (codes, s) = (mul(self.inverse.as_ref(), k), mul(self.sums.sums.as_ref(), k));
                let v = mul(self.sums.bordered()?.q.as_ref(), s.as_ref());
                for (i, scores) in scores.as_mut().col_iter_mut().enumerate() {
                    let common = own[i] - codes.col(i).transpose() * k.col(i) + s.col(i).transpose() * v.col(i);
                    scores.iter_mut().for_each(|score| *score -= common);
                }
                Ok(scores)
            }
        }
    }
}

/// `a Y` for one-hot labels `Y`: sums of the columns of each class.
fn class_sums(a: MatRef<'_, f64>, blocks: &Blocks) -> Mat<f64> {
    let mut sums = Mat::zeros(a.nrows(), blocks.len());
    vectorised(
        #[inline(always)]
        || {
            for (c, range) in blocks.ranges().enumerate() {
                for j in range {
                    axpy(1.0, column(a, j), sums.col_as_slice_mut(c));
                }
            }
        },
    );
    sums
}

/// `x_i . y_i` for matching columns.
pub(super) fn column_products(x: MatRef<'_, f64>, y: MatRef<'_, f64>) -> Vec<f64> {
    (0..x.ncols()).map(|i| dot(column(x, i), column(y, i))).collect()
}
