//! What some consecutive blocks of samples give to an SVM round.
//!
//! The second derivatives of a class are a sum of `f f^T` over its violated margins. Each block adds to them while it is
//! still in cache; only the sums stay.

use super::answer::BLOCK;
use super::chain::Violated;
use super::moments::NamedParts;
use super::newton::packed;
use super::request::SvmAsk;
use super::stats::PartialStats;
use crate::linalg::{add_lower_outer, mul, select_columns};
use crate::svm::sign;
use faer::{Mat, MatRef};

/// Fewest blocks of a strip.
const FEWEST: usize = 8;

/// Blocks in a strip: so many that its sums take no more memory than its samples would.
pub(super) fn blocks(ask: &SvmAsk) -> usize {
    FEWEST.max((ask.pending.len() * ask.weights.nrows()).div_ceil(BLOCK))
}

/// Sums over the blocks so far; one for every pending class, if nothing else is said.
#[derive(Clone)]
pub(super) struct Strip<'a> {
    ask: &'a SvmAsk,
    losses: Vec<f64>,
    /// One column per class.
    gradients: Mat<f64>,
    /// Lower triangles.
    hessians: Vec<Mat<f64>>,
    /// Other sums by name, block after block.
    sums: NamedParts,
    /// What there is to remember of every block.
    violated: Vec<Violated>,
}

impl<'a> Strip<'a> {
    pub(super) fn new(ask: &'a SvmAsk) -> Self {
        let (dim, classes) = (ask.weights.nrows(), ask.pending.len());
        Strip {
            ask,
            losses: vec![0.0; classes],
            gradients: Mat::zeros(dim, classes),
            hessians: vec![Mat::zeros(dim, dim); classes],
            sums: Vec::new(),
            violated: Vec::new(),
        }
    }

    pub(super) fn add_sums(&mut self, sums: NamedParts) {
        self.sums.extend(sums);
    }

    /// Adds samples, given by their features with the constant 1.
    pub(super) fn add_block(&mut self, features: MatRef<'_, f64>, targets: &[usize], violated: Option<Violated>) {
        let n = targets.len();
        let outputs = mul(self.ask.weights.transpose(), features);
        let mut excess = Mat::zeros(n, self.ask.pending.len());
        let mut all: Option<Mat<f64>> = None;
        for (p, &class) in self.ask.pending.iter().enumerate() {
            let (mut loss, mut wrong, mut right) = (0.0, Vec::new(), Vec::new());
            for (i, &target) in targets.iter().enumerate() {
                let t = sign(target, class);
                let slack = 1.0 - t * outputs[(p, i)];
                if slack > 0.0 {
                    loss += slack * slack;
                    excess[(i, p)] = -t * slack;
                    wrong.push(i);
                } else {
                    right.push(i);
                }
            }
            self.losses[p] += loss;
            // Where most margins are violated, the others are taken away from the sum over all.
            let hessian = &mut self.hessians[p];
            if wrong.len() > right.len() {
                *hessian += &*all.get_or_insert_with(|| {
                    let mut all = Mat::zeros(features.nrows(), features.nrows());
                    add_lower_outer(all.as_mut(), 1.0, features);
                    all
                });
                add_lower_outer(hessian.as_mut(), -1.0, select_columns(features, &right).as_ref());
            } else {
                add_lower_outer(hessian.as_mut(), 1.0, select_columns(features, &wrong).as_ref());
            }
        }
        self.gradients += mul(features, excess.as_ref());
        self.violated.extend(violated);
    }

    /// Hands the sums over; what there is to remember is left.
    pub(super) fn finish(self, stats: &mut PartialStats) -> Vec<Violated> {
        for (p, (class, hessian)) in self.ask.pending.iter().zip(self.hessians).enumerate() {
            stats.add(format!("loss.{class}"), Mat::from_fn(1, 1, |_, _| self.losses[p]));
            stats.add(format!("gradient.{class}"), self.gradients.subcols(p, 1).to_owned());
            stats.add(format!("hessian.{class}"), packed(hessian.as_ref()));
        }
        self.sums.into_iter().for_each(|(name, sum)| stats.add(name, sum));
        self.violated
    }
}
