//! What some consecutive blocks of samples give to an SVM round.
//!
//! The second derivatives of a class are a sum of `f f^T` over its violated margins. Each block adds to them while it is
//! still in cache; only the sums stay.

use super::answer::BLOCK;
use super::chain::Violated;
use super::request::SvmAsk;
use super::stats::PartialStats;
use super::sums::{PullSums, SvmSums};
use crate::linalg::{add_lower_outer, mul, mul_add};
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
    /// Of every block.
    pulls: Vec<PullSums>,
    /// What there is to remember of every block.
    violated: Vec<Violated>,
}

impl<'a> Strip<'a> {
    pub(super) fn new(ask: &'a SvmAsk) -> Self {
        let dim = ask.weights.nrows();
        let classes = ask.pending.len();
        Strip {
            ask,
            losses: vec![0.0; classes],
            gradients: Mat::zeros(dim, classes),
            hessians: vec![Mat::zeros(dim, dim); classes],
            pulls: Vec::new(),
            violated: Vec::new(),
        }
    }

    pub(super) fn add_pulls(&mut self, pulls: PullSums) {
        self.pulls.push(pulls);
    }

    /// Adds samples.
    pub(super) fn add_block(&mut self, features: &Features, targets: &[usize], violated: Option<Violated>) {
        let n = targets.len();
        let outputs = features.scores(&self.ask.weights);
        let mut excess = Mat::zeros(n, self.ask.pending.len());
        let mut all: Option<Mat<f64>> = None;
        for (p, &class) in self.ask.pending.iter().enumerate() {
            let mut loss = 0.0;
            let mut wrong = Vec::new();
            let mut right = Vec::new();
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
                    let mut all = Mat::zeros(features.dim(), features.dim());
                    add_lower_outer(all.as_mut(), 1.0, features.of(&(0..n).collect::<Vec<_>>()));
                    all
                });
                add_lower_outer(hessian.as_mut(), -1.0, features.of(&right));
            } else {
                add_lower_outer(hessian.as_mut(), 1.0, features.of(&wrong));
            }
        }
        self.gradients += features.combined(&excess);
        self.violated.extend(violated);
    }

    /// Hands the sums over; what there is to remember is left.
    pub(super) fn finish(self, stats: &mut PartialStats) -> Vec<Violated> {
        for (p, (class, hessian)) in self.ask.pending.iter().zip(self.hessians).enumerate() {
            let gradient = self.gradients.subcols(p, 1).to_owned();
            SvmSums { loss: self.losses[p], gradient, hessian }.put(*class, stats);
        }
        self.pulls.into_iter().for_each(|pulls| pulls.put(stats));
        self.violated
    }
}

/// What the SVM sees of some samples: `(x, w, 1)`, one sample a column, in pieces that are at hand.
pub(super) struct Features<'a> {
    pieces: [Option<MatRef<'a, f64>>; 2],
}

impl<'a> Features<'a> {
    /// From `x` and, where there is one, the pull `w`.
    pub(super) fn new(x: MatRef<'a, f64>, w: Option<&'a Mat<f64>>) -> Self {
        Features { pieces: [Some(x), w.map(Mat::as_ref)] }
    }

    /// `lift (x, w)`, which takes the place of `x` and `w`.
    pub(super) fn lifted(lift: &Mat<f64>, x: MatRef<'_, f64>, w: Option<&Mat<f64>>) -> Mat<f64> {
        let m = x.nrows();
        let pulls = w.map_or(0, Mat::nrows);
        let mut lifted = mul(lift.subcols(0, m), x);
        w.iter().for_each(|w| mul_add(lifted.as_mut(), 1.0, lift.subcols(m, pulls), w));
        lifted
    }

    fn pieces(&self) -> impl Iterator<Item = MatRef<'a, f64>> {
        self.pieces.into_iter().flatten()
    }

    /// Their number, the constant counted.
    fn dim(&self) -> usize {
        self.pieces().map(|piece| piece.nrows()).sum::<usize>() + 1
    }

    /// `weights^T f`, the last row of the weights for the constant.
    pub(super) fn scores(&self, weights: &Mat<f64>) -> Mat<f64> {
        let n = self.pieces[0].map_or(0, |x| x.ncols());
        let constant = weights.row(weights.nrows() - 1);
        let mut scores = Mat::from_fn(weights.ncols(), n, |p, _| constant[p]);
        let mut from = 0;
        for piece in self.pieces() {
            mul_add(scores.as_mut(), 1.0, weights.subrows(from, piece.nrows()).transpose(), piece);
            from += piece.nrows();
        }
        scores
    }

    /// `sum_i f_i c_i` for every column `c` of the coefficients.
    fn combined(&self, coefficients: &Mat<f64>) -> Mat<f64> {
        let mut sums = Mat::zeros(self.dim(), coefficients.ncols());
        let mut from = 0;
        for piece in self.pieces() {
            mul_add(sums.subrows_mut(from, piece.nrows()), 1.0, piece, coefficients);
            from += piece.nrows();
        }
        for (c, column) in coefficients.col_iter().enumerate() {
            sums[(from, c)] = column.iter().sum();
        }
        sums
    }

    /// Those of some samples, constant included.
    fn of(&self, samples: &[usize]) -> Mat<f64> {
        let mut chosen = Mat::zeros(self.dim(), samples.len());
        for (mut target, &i) in chosen.col_iter_mut().zip(samples) {
            let mut from = 0;
            for piece in self.pieces() {
                target.as_mut().subrows_mut(from, piece.nrows()).copy_from(piece.col(i));
                from += piece.nrows();
            }
            target[from] = 1.0;
        }
        chosen
    }
}
