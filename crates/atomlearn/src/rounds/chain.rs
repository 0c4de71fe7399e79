//! The pull of every sample through all iterations so far, without codes being held.

use super::request::Chain;
use crate::coding::margin::Margins;
use crate::linalg::mul;
use crate::svm::sign;
use faer::{Mat, MatRef};

/// A score far beyond any margin, on the right side or on the wrong one.
const BEYOND: f64 = 1e200;

/// Which margins the samples of a block violate after so many links of a chain: a bit per class and sample.
#[derive(Clone, Debug, Default)]
pub(super) struct Violated {
    start: usize,
    links: usize,
    bits: Vec<u64>,
}

/// The pull of a block's samples at the end of a chain, classes x samples.
pub(super) struct Pulled {
    pub(super) w: Mat<f64>,
    pub(super) violated: Violated,
}

impl Chain {
    /// Follows the chain to its end, from where `known` stands if that is of use.
    pub(super) fn follow(&self, x: MatRef<'_, f64>, targets: &[usize], known: Option<&Violated>) -> Pulled {
        let words = (self.n_classes() * x.ncols()).div_ceil(64);
        let usable = |known: &&Violated| {
            known.start == self.start && (1..=self.links.len()).contains(&known.links) && known.bits.len() == words
        };
        let (mut w, mut violated) = match known.filter(usable) {
            Some(known) => (self.pull(known.links - 1, x, targets, known), known.clone()),
            None => (Mat::zeros(self.n_classes(), x.ncols()), Violated::default()),
        };
        for i in violated.links..self.links.len() {
            violated = self.violated(i, x, &w, targets);
            w = self.pull(i, x, targets, &violated);
        }
        Pulled { w, violated }
    }

    fn n_classes(&self) -> usize {
        self.links.first().map_or(0, |link| link.bias.ncols())
    }

    /// The margins that the codes before link `i` violate.
    fn violated(&self, i: usize, x: MatRef<'_, f64>, w: &Mat<f64>, targets: &[usize]) -> Violated {
        let link = &self.links[i];
        let scores = mul(&link.from_x, x) + mul(&link.from_w, w);
        let n_classes = scores.nrows();
        let mut bits = vec![0u64; (n_classes * targets.len()).div_ceil(64)];
        for (sample, &target) in targets.iter().enumerate() {
            for c in 0..n_classes {
                if sign(target, c) * (scores[(c, sample)] + link.bias[(0, c)]) < 1.0 {
                    let place = sample * n_classes + c;
                    bits[place / 64] |= 1 << (place % 64);
                }
            }
        }
        Violated { start: self.start, links: i + 1, bits }
    }

    /// The pull of link `i`.
    fn pull(&self, i: usize, x: MatRef<'_, f64>, targets: &[usize], violated: &Violated) -> Mat<f64> {
        let link = &self.links[i];
        let bias: Vec<f64> = link.bias.row(0).iter().copied().collect();
        let margins = Margins { coupling: &link.coupling, bias: &bias, strength: self.strength, targets };
        let n_classes = bias.len();
        let previous = Mat::from_fn(n_classes, targets.len(), |c, sample| {
            let place = sample * n_classes + c;
            let wrong = violated.bits[place / 64] >> (place % 64) & 1 == 1;
            sign(targets[sample], c) * if wrong { -BEYOND } else { BEYOND }
        });
        margins.weights(&mul(&link.base, x), &previous, self.active_set)
    }
}
