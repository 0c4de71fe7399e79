//! Ridge and discriminant, which need no more of `A` than its diagonal and its sums over classes.

use super::STAGE;
use crate::linalg::{Spd, View, dot, mul};
use crate::svm::Svm;
use crate::{Blocks, Result};
use faer::Mat;

/// Below this part of a class's weight, nothing is left of it but rounding.
pub(super) const NOTHING: f64 = 1e-12;

/// The weight of every class, from the roots of the weights of its samples.
pub(super) fn class_weights(blocks: &Blocks, roots: Option<&[f64]>) -> Vec<f64> {
    let of_class = |range: std::ops::Range<usize>| match roots {
        Some(roots) => roots[range].iter().map(|root| root * root).sum(),
        None => range.len() as f64,
    };
    blocks.ranges().map(of_class).collect()
}

/// What ridge and discriminant need to know of `A = (K + kappa I)^-1`; dual and primal coders both come to this.
#[derive(Clone, Debug)]
pub struct Sums {
    /// The ridge.
    pub kappa: f64,
    /// `n_c`, training samples of each class: the sum of their weights.
    pub counts: Vec<f64>,
    /// Class of each sample that is to be left out.
    pub targets: Vec<usize>,
    /// Roots of the weights of these samples; empty where all weigh one.
    pub roots: Vec<f64>,
    /// `A_ii` of these samples.
    pub diagonal: Vec<f64>,
    /// `Y^T A`, classes x these samples.
    pub sums: Mat<f64>,
    /// `Q = Y^T A Y`.
    pub cross: Mat<f64>,
}

/// The parts of the inverse of `[K + kappa I, Y; Y^T, 0]`.
pub(super) struct Bordered {
    /// `Q^-1`.
    pub q: Mat<f64>,
    /// `V^T = Q^-1 Y^T A`, classes x samples.
    pub v: Mat<f64>,
}

impl Sums {
    /// For rules alone: everything but the diagonal, from a factor of `K + kappa I` of samples grouped by class. It takes a third of
    /// the inverse's time. With the `roots` of weights, `K` is that of samples times these.
    pub fn of_classes(factor: &Spd, blocks: &Blocks, roots: Option<&[f64]>, kappa: f64) -> Self {
        let labels = blocks.labels();
        let root = |i: usize| roots.map_or(1.0, |roots| roots[i]);
        let onehot = Mat::from_fn(labels.len(), blocks.len(), |i, c| if labels[i] == c { root(i) } else { 0.0 });
        let sums = factor.solve(&onehot);
        let cross = mul(onehot.transpose(), &sums);
        Sums {
            kappa,
            counts: class_weights(blocks, roots),
            targets: labels,
            roots: roots.unwrap_or_default().to_vec(),
            diagonal: Vec::new(),
            sums: sums.transpose().to_owned(),
            cross,
        }
    }

    /// The root of the weight of a sample that is to be left out.
    pub(super) fn root(&self, i: usize) -> f64 {
        self.roots.get(i).copied().unwrap_or(1.0)
    }

    /// `t = 1^T A 1`.
    pub(super) fn total(&self) -> f64 {
        self.cross.col_iter().map(|column| column.iter().sum::<f64>()).sum()
    }

    /// `b`, the bias of the ridge.
    pub(super) fn bias(&self) -> Vec<f64> {
        let total = self.total();
        self.cross.col_iter().map(|column| column.iter().sum::<f64>() / total).collect()
    }

    pub(super) fn bordered(&self) -> Result<Bordered> {
        let q = Spd::new(self.cross.clone(), STAGE)?.inverse();
        let v = mul(&q, &self.sums);
        Ok(Bordered { q, v })
    }

    /// Leave-one-out scores of the ridge, classes x samples.
    pub fn ridge_left_out(&self) -> Mat<f64> {
        let bias = self.bias();
        let total = self.total();
        let mut scores = self.sums.clone();
        for i in 0..scores.ncols() {
            let column = scores.col_as_slice_mut(i);
            let u: f64 = column.iter().sum();
            let own = self.diagonal[i] - u * u / total;
            for (c, score) in column.iter_mut().enumerate() {
                let beta = *score - u * bias[c];
                *score = f64::from(u8::from(c == self.targets[i])) - beta / (own * self.root(i));
            }
        }
        scores
    }

    /// Leave-one-out scores of the discriminant, classes x samples. Without the only sample of a class there is no mean to
    /// measure from: that sample gets zero for every class.
    pub fn discriminant_left_out(&self) -> Result<Mat<f64>> {
        let Bordered { q, v } = self.bordered()?;
        let mut scores = Mat::zeros(v.nrows(), v.ncols());
        for (i, column_out) in scores.as_mut().col_iter_mut().enumerate() {
            let y = self.targets[i];
            let root = self.root(i);
            let weight = root * root;
            if self.counts[y] - weight <= NOTHING * self.counts[y] {
                continue;
            }
            let v = v.col_as_slice(i);
            let r = self.diagonal[i] - dot(self.sums.col_as_slice(i), v);
            for (c, score) in column_out.iter_mut().enumerate() {
                let others = self.counts[c] - if c == y { weight } else { 0.0 };
                let nearness = 1.0 / root - v[y] + v[c];
                let means = q[(y, y)] - 2.0 * q[(y, c)] + q[(c, c)];
                *score = -(means + nearness * nearness / r - self.kappa * (1.0 / weight + 1.0 / others));
            }
        }
        Ok(scores)
    }

    /// The ridge as a linear rule: on kernel values if `basis` is `S = A Y`, on features if it is `X S`.
    pub fn ridge_rule(&self, basis: impl View) -> Svm {
        let basis = basis.view();
        let bias = self.bias();
        let u: Vec<f64> = (0..basis.nrows()).map(|i| basis.row(i).iter().sum()).collect();
        let weights = Mat::from_fn(basis.nrows(), basis.ncols(), |i, c| basis[(i, c)] - u[i] * bias[c]);
        Svm { weights, bias }
    }

    /// The discriminant as a linear rule, up to what is common to all classes; `basis` as in [`Sums::ridge_rule`].
    pub fn discriminant_rule(&self, basis: impl View) -> Result<Svm> {
        let q = Spd::new(self.cross.clone(), STAGE)?.inverse();
        let bias = (0..q.nrows()).map(|c| self.kappa / self.counts[c] - q[(c, c)]).collect();
        Ok(Svm { weights: faer::Scale(2.0) * mul(basis, &q), bias })
    }
}
