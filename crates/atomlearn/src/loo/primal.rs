//! The same in the space of the features, for more samples than features: only sums over samples are needed.
//!
//! With samples in the columns of `X`, `K = X^T X` and `W = (X X^T + kappa I)^-1`: `A = (I - X^T W X) / kappa`, so that
//!
//! ```text
//! A_ii = (1 - h_i) / kappa,   h_i = x_i^T W x_i        the code of i over all others: z_j = x_j^T W x_i / (1 - h_i)
//! Y^T A = (Y^T - F^T W X) / kappa,   Q = (N - F^T W F) / kappa,   X S = W F,       F = X Y, N the sizes of the classes
//! X_c z_c = (S_c W x_i - [c = y] h_i x_i) / (1 - h_i),   S_c = X_c X_c^T
//! ```

use super::dual::column_products;
use super::{Reading, STAGE, Sums, residual_scores};
use crate::linalg::{Spd, add_lower_product, column, dot, mirror, mul, mul_into};
use crate::score::Residuals;
use crate::svm::Svm;
use crate::{Blocks, Error, Result};
use faer::{Mat, MatRef};
use std::sync::Arc;

/// Sums over samples, class by class; samples may come in any number of portions.
#[derive(Clone, Debug)]
pub struct ClassMoments {
    /// Samples of each class.
    pub counts: Vec<f64>,
    /// `F`, sums of the samples of each class, features x classes.
    pub sums: Mat<f64>,
    /// `X X^T`.
    pub scatter: Mat<f64>,
    /// `X_c X_c^T`, which only residuals need.
    pub class_scatters: Option<Vec<Mat<f64>>>,
}

impl ClassMoments {
    /// Of samples grouped by class.
    pub fn of(x: MatRef<'_, f64>, blocks: &Blocks, by_class: bool) -> Self {
        let mut moments = ClassMoments::none(x.nrows(), blocks.len(), by_class);
        for (c, range) in blocks.ranges().enumerate() {
            moments.add(c, x.subcols(range.start, range.len()));
        }
        moments.finish();
        moments
    }

    /// From ready sums; `scatters` has a matrix for each class, or one for all.
    pub(crate) fn of_sums(counts: Vec<f64>, sums: Mat<f64>, mut scatters: Vec<Mat<f64>>, by_class: bool) -> Self {
        if !by_class {
            let scatter = scatters.pop().unwrap_or_else(Mat::new);
            return ClassMoments { counts, sums, scatter, class_scatters: None };
        }
        let mut scatter = Mat::zeros(sums.nrows(), sums.nrows());
        scatters.iter().for_each(|own| scatter += own);
        ClassMoments { counts, sums, scatter, class_scatters: Some(scatters) }
    }

    /// Of no sample yet.
    pub fn none(n_features: usize, n_classes: usize, by_class: bool) -> Self {
        let square = || Mat::zeros(n_features, n_features);
        ClassMoments {
            counts: vec![0.0; n_classes],
            sums: Mat::zeros(n_features, n_classes),
            scatter: square(),
            class_scatters: by_class.then(|| (0..n_classes).map(|_| square()).collect()),
        }
    }

    /// Adds samples of one class; [`ClassMoments::finish`] comes after the last.
    pub fn add(&mut self, class: usize, x: MatRef<'_, f64>) {
        self.add_weighted(class, x, None);
    }

    /// Adds samples of one class that are multiplied by these roots of their weights.
    pub fn add_weighted(&mut self, class: usize, x: MatRef<'_, f64>, roots: Option<&[f64]>) {
        let root = |i: usize| roots.map_or(1.0, |roots| roots[i]);
        self.counts[class] += (0..x.ncols()).map(|i| root(i) * root(i)).sum::<f64>();
        for (i, x) in x.col_iter().enumerate() {
            let root = root(i);
            self.sums.as_mut().col_mut(class).iter_mut().zip(x.iter()).for_each(|(sum, x)| *sum += root * x);
        }
        let target = self.class_scatters.as_mut().map_or(&mut self.scatter, |scatters| &mut scatters[class]);
        add_lower_product(target.as_mut(), 1.0, x, x.transpose());
    }

    /// Completes the scatter matrices.
    pub fn finish(&mut self) {
        for scatter in self.class_scatters.iter_mut().flatten() {
            mirror(scatter);
            self.scatter += &*scatter;
        }
        mirror(&mut self.scatter);
    }
}

/// Everything that follows from `W = (X X^T + kappa I)^-1`.
pub struct PrimalCoder {
    moments: Arc<ClassMoments>,
    kappa: f64,
    factor: Spd,
    /// `W F`.
    basis: Mat<f64>,
    /// `Q`.
    cross: Mat<f64>,
}

impl PrimalCoder {
    /// For the moments of the training samples.
    pub fn new(moments: Arc<ClassMoments>, kappa: f64) -> Result<Self> {
        let factor = Spd::shifted(&moments.scatter, kappa, STAGE)?;
        let basis = factor.solve(&moments.sums);
        let explained = mul(moments.sums.transpose(), &basis);
        let cross = Mat::from_fn(explained.nrows(), explained.ncols(), |a, b| {
            let count = if a == b { moments.counts[a] } else { 0.0 };
            (count - 0.5 * (explained[(a, b)] + explained[(b, a)])) / kappa
        });
        Ok(PrimalCoder { moments, kappa, factor, basis, cross })
    }

    /// Training samples `x` of classes `targets`, ready to be left out one by one.
    pub fn left_out<'a>(&'a self, x: MatRef<'a, f64>, targets: &'a [usize]) -> PrimalLeftOut<'a> {
        self.weighted_left_out(x, targets, None)
    }

    /// The same for samples that are multiplied by these roots of their weights.
    pub fn weighted_left_out<'a>(
        &'a self,
        x: MatRef<'a, f64>,
        targets: &'a [usize],
        roots: Option<&'a [f64]>,
    ) -> PrimalLeftOut<'a> {
        let roots = roots.unwrap_or_default();
        if self.moments.class_scatters.is_none() {
            // Only residuals need more than the hat values.
            let half = self.factor.half_solve(x);
            let h = column_products(&half, &half);
            return PrimalLeftOut { coder: self, x, targets, roots, wx: Mat::new(), h };
        }
        let wx = self.factor.solve(x);
        let h = column_products(x, &wx);
        PrimalLeftOut { coder: self, x, targets, roots, wx, h }
    }

    /// `W`.
    pub fn inverse(&self) -> Mat<f64> {
        self.factor.inverse()
    }

    /// The sums over samples it was made from.
    pub fn moments(&self) -> &ClassMoments {
        &self.moments
    }

    /// What ridge and discriminant need to know to leave these samples out.
    fn sums(&self, x: MatRef<'_, f64>, h: &[f64], targets: &[usize], roots: &[f64]) -> Sums {
        let mut sums = mul(self.basis.transpose(), x);
        for (i, column) in sums.as_mut().col_iter_mut().enumerate() {
            for (c, sum) in column.iter_mut().enumerate() {
                let own = if c == targets[i] { roots.get(i).copied().unwrap_or(1.0) } else { 0.0 };
                *sum = (own - *sum) / self.kappa;
            }
        }
        Sums {
            targets: targets.to_vec(),
            roots: roots.to_vec(),
            diagonal: h.iter().map(|h| (1.0 - h) / self.kappa).collect(),
            sums,
            ..self.no_sums()
        }
    }

    fn no_sums(&self) -> Sums {
        Sums {
            kappa: self.kappa,
            counts: self.moments.counts.clone(),
            targets: Vec::new(),
            roots: Vec::new(),
            diagonal: Vec::new(),
            sums: Mat::zeros(self.cross.nrows(), 0),
            cross: self.cross.clone(),
        }
    }

    /// Ridge or discriminant as a rule on features; the discriminant up to what is common to all classes.
    pub fn rule(&self, reading: Reading) -> Result<Svm> {
        match reading {
            Reading::Discriminant => self.no_sums().discriminant_rule(&self.basis),
            _ => Ok(self.no_sums().ridge_rule(&self.basis)),
        }
    }

    /// Residual scores of new samples.
    pub fn residual_scores(&self, x: MatRef<'_, f64>) -> Result<Mat<f64>> {
        let wx = self.factor.solve(x);
        Ok(residual_scores(&self.residuals(x, &wx, &vec![0.0; x.ncols()], None)?))
    }

    /// Class residuals from `W x` and `h`; `own` names the classes whose samples these are, if they are to be left out.
    fn residuals(&self, x: MatRef<'_, f64>, wx: &Mat<f64>, h: &[f64], own: Option<&[usize]>) -> Result<Residuals> {
        let Some(scatters) = &self.moments.class_scatters else {
            return Err(Error::numeric(STAGE, "residuals need the scatter of each class"));
        };
        let n_classes = scatters.len();
        let n = x.ncols();
        let mut residuals = Residuals { squared: Mat::zeros(n_classes, n), code_energy: Mat::zeros(n_classes, n) };
        let mut products = Mat::new();
        for (c, scatter) in scatters.iter().enumerate() {
            mul_into(&mut products, scatter, wx);
            for i in 0..n {
                let x = column(x, i);
                let wx = wx.col_as_slice(i);
                let p = products.col_as_slice_mut(i);
                let left_out = own.is_some_and(|own| own[i] == c);
                let mut energy = dot(wx, p);
                if left_out {
                    energy -= h[i] * h[i];
                    p.iter_mut().zip(x).for_each(|(p, x)| *p -= h[i] * x);
                }
                let scale = 1.0 / (1.0 - h[i]);
                residuals.code_energy[(c, i)] = energy.max(0.0) * scale * scale;
                let rest = x.iter().zip(&*p).map(|(x, p)| (x - scale * p) * (x - scale * p));
                residuals.squared[(c, i)] = rest.sum::<f64>();
            }
        }
        Ok(residuals)
    }
}

/// See [`PrimalCoder::left_out`].
pub struct PrimalLeftOut<'a> {
    coder: &'a PrimalCoder,
    x: MatRef<'a, f64>,
    targets: &'a [usize],
    /// Roots of the weights; empty where all weigh one.
    roots: &'a [f64],
    /// `W x`, if residuals are possible.
    wx: Mat<f64>,
    /// `x^T W x`.
    h: Vec<f64>,
}

impl PrimalLeftOut<'_> {
    /// Class residuals of each sample, coded over all others; refused without the scatter of each class.
    pub fn residuals(&self) -> Result<Residuals> {
        self.coder.residuals(self.x, &self.wx, &self.h, Some(self.targets))
    }

    fn sums(&self) -> Sums {
        self.coder.sums(self.x, &self.h, self.targets, self.roots)
    }

    /// Scores of each sample by a reading that was trained on all others. Residuals need the scatter of each class and are
    /// refused without.
    pub fn scores(&self, reading: Reading) -> Result<Mat<f64>> {
        match reading {
            Reading::Residual => Ok(residual_scores(&self.residuals()?)),
            Reading::Ridge => Ok(self.sums().ridge_left_out()),
            Reading::Discriminant => self.sums().discriminant_left_out(),
        }
    }
}
