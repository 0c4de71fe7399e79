//! From codes to class residuals, without forming one reconstruction per class.

use crate::coding::ridge::ridge_map;
use crate::linalg::{column, dot, gram, mul};
use crate::{Blocks, Result};
use faer::{Mat, MatRef};

/// Squared class residuals `|x - D_c z_c|^2` through the Gram blocks `D_c^T D_c`.
#[derive(Clone, Debug)]
pub struct ClassResiduals {
    blocks: Blocks,
    grams: Vec<Mat<f64>>,
}

/// What [`ClassResiduals::of`] finds for every class (rows) and sample (columns).
pub struct Residuals {
    /// `|x - D_c z_c|^2`, never negative.
    pub squared: Mat<f64>,
    /// `|z_c|^2`.
    pub code_energy: Mat<f64>,
}

impl ClassResiduals {
    /// For a dictionary whose columns are grouped by class.
    pub fn new(dictionary: MatRef<'_, f64>, blocks: &Blocks) -> Self {
        let grams = blocks.ranges().map(|r| gram(dictionary.subcols(r.start, r.len()))).collect();
        ClassResiduals { blocks: blocks.clone(), grams }
    }

    /// Residuals from the samples, their codes and the correlations `D^T x`.
    pub fn of(&self, x: MatRef<'_, f64>, codes: MatRef<'_, f64>, correlations: MatRef<'_, f64>) -> Residuals {
        let (n_classes, n) = (self.blocks.len(), x.ncols());
        let mut squared = Mat::zeros(n_classes, n);
        let mut code_energy = Mat::zeros(n_classes, n);
        let energy: Vec<f64> = x.col_iter().map(|column| column.squared_norm_l2()).collect();
        for (c, range) in self.blocks.ranges().enumerate() {
            let z = codes.subrows(range.start, range.len());
            let b = correlations.subrows(range.start, range.len());
            let gz = mul(self.grams[c].as_ref(), z);
            for i in 0..n {
                let (z, b, gz) = (column(z, i), column(b, i), column(gz.as_ref(), i));
                squared[(c, i)] = (energy[i] - 2.0 * dot(z, b) + dot(z, gz)).max(0.0);
                code_energy[(c, i)] = dot(z, z);
            }
        }
        Residuals { squared, code_energy }
    }
}

/// Ridge codes and their class residuals, ready for many samples: the decision of CRC and of LCDL-SV's residual rule.
#[derive(Clone, Debug)]
pub struct RidgeResiduals {
    n_atoms: usize,
    /// `[P; D^T]`, so that codes and correlations are one product.
    stacked: Mat<f64>,
    residuals: ClassResiduals,
}

impl RidgeResiduals {
    /// For a dictionary whose columns are grouped by class, with codes `(D^T D + kappa I)^-1 D^T x`.
    pub fn new(dictionary: MatRef<'_, f64>, blocks: &Blocks, kappa: f64, stage: &str) -> Result<Self> {
        let (m, n_atoms) = dictionary.shape();
        let map = ridge_map(dictionary, kappa, stage)?;
        let mut stacked = Mat::zeros(2 * n_atoms, m);
        stacked.subrows_mut(0, n_atoms).copy_from(map);
        stacked.subrows_mut(n_atoms, n_atoms).copy_from(dictionary.transpose());
        Ok(RidgeResiduals { n_atoms, stacked, residuals: ClassResiduals::new(dictionary, blocks) })
    }

    /// The code map `P`, atoms x features.
    pub fn map(&self) -> MatRef<'_, f64> {
        self.stacked.subrows(0, self.n_atoms)
    }

    /// Codes of the samples and their class residuals.
    pub fn of(&self, x: MatRef<'_, f64>) -> (Mat<f64>, Residuals) {
        let both = mul(self.stacked.as_ref(), x);
        let codes = both.subrows(0, self.n_atoms);
        let residuals = self.residuals.of(x, codes, both.subrows(self.n_atoms, self.n_atoms));
        (codes.to_owned(), residuals)
    }
}

impl Residuals {
    /// `|x - D_c z_c| / |z_c|`; a class without any code gets infinity.
    ///
    /// If every class of a sample has an empty code, the plain residuals stand, so that a decision is still possible.
    pub fn regularized(&self) -> Mat<f64> {
        Mat::from_fn(self.squared.nrows(), self.squared.ncols(), |c, i| {
            let (squared, energy) = (self.squared[(c, i)], self.code_energy[(c, i)]);
            if energy > 0.0 {
                (squared / energy).sqrt()
            } else if self.code_energy.col(i).norm_max() == 0.0 {
                squared.sqrt()
            } else {
                f64::INFINITY
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gram_form_equals_the_definition() {
        let d = Mat::from_fn(6, 7, |i, j| ((i * 5 + j * 3) % 11) as f64 / 11.0 - 0.3);
        let x = Mat::from_fn(6, 4, |i, j| ((i * 7 + j) % 5) as f64 / 5.0);
        let z = Mat::from_fn(7, 4, |i, j| if i < 3 && j == 3 { 0.0 } else { ((i + 2 * j) % 7) as f64 / 7.0 - 0.4 });
        let blocks = Blocks::from_sizes([3, 4]);
        let found = ClassResiduals::new(d.as_ref(), &blocks).of(
            x.as_ref(),
            z.as_ref(),
            mul(d.transpose(), x.as_ref()).as_ref(),
        );
        for (c, range) in blocks.ranges().enumerate() {
            let part = mul(d.subcols(range.start, range.len()), z.subrows(range.start, range.len()));
            for i in 0..4 {
                let expected = (x.col(i) - part.col(i)).squared_norm_l2();
                assert!((found.squared[(c, i)] - expected).abs() < 1e-12);
            }
        }
        assert_eq!(found.regularized()[(0, 3)], f64::INFINITY);
    }
}
