//! Candidates: every reading of every code, judged by its leave-one-out scores; the best alone make the shortlist.

use super::fusion::{self, Fitted, Judge, median, weighted_median};
use super::views::ViewKind;
use crate::linalg::{View, column, diagonal, exp, gram, outer_gram, scaled_columns, wide};
use crate::loo::{Coder, Reading};
use crate::{Blocks, Result};
use faer::{Mat, MatRef};
use rayon::prelude::*;
use std::borrow::Cow;

/// Kernels: 0 is linear, otherwise `exp(-width |x - y|^2 / median squared distance)`.
pub(super) const WIDTHS: [f64; 4] = [0.0, 0.25, 1.0, 4.0];
/// Ridges; kernels are of the order of one.
pub(super) const KAPPAS: [f64; 8] = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0];
/// Up to this many samples residuals of Gaussian kernels are tried. A residual needs the whole code of a sample, a product with a
/// matrix of this size, where the other readings need one kernel value for each training sample.
const MOST_CODED: usize = 1800;
/// Place of the ridge that the search of each kernel begins with.
const MIDDLE: usize = 3;
/// Readings that are considered for fusion.
const SHORTLIST: usize = 48;

/// A reading of a code, with what fusion found for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Choice {
    pub reading: Reading,
    pub view: ViewKind,
    /// 0 is the linear kernel.
    pub gamma: f64,
    pub kappa: f64,
    /// Scores are divided by this.
    pub scale: f64,
    /// Weight in the softmax.
    pub weight: f64,
}

/// A choice on trial.
pub(super) struct Candidate {
    pub choice: Choice,
    /// Normalised leave-one-out scores, samples x classes.
    pub scores: Mat<f64>,
    /// What it is worth alone.
    pub alone: Fitted,
}

impl Candidate {
    /// Judges leave-one-out scores, classes x samples; the fit begins at the choice's weight.
    pub fn new(judge: &Judge, choice: Choice, mut scores: Mat<f64>) -> Result<Self> {
        let choice = Choice { scale: fusion::normalize_by_own_scale(&mut scores, judge.weights()), ..choice };
        let scores = scores.transpose().to_owned();
        let alone = if judge.hears_anyone() {
            judge.alone(&scores, choice.weight)?
        } else {
            Fitted { weights: vec![choice.weight], loss: 0.0 }
        };
        Ok(Candidate { choice, scores, alone })
    }
}

/// The best candidates so far, best first; those that came first go first among equals.
#[derive(Default)]
pub(super) struct Shortlist(pub Vec<Candidate>);

impl Shortlist {
    pub fn enter(&mut self, candidates: impl IntoIterator<Item = Candidate>) {
        self.0.extend(candidates);
        self.0.sort_by(|a, b| a.alone.loss.total_cmp(&b.alone.loss));
        self.0.truncate(SHORTLIST);
    }
}

/// Training samples in a view, with what all their kernels share.
pub(super) struct Space {
    pub samples: Mat<f64>,
    /// Inner products: the linear kernel.
    pub products: Mat<f64>,
    pub norms: Vec<f64>,
}

impl Space {
    pub fn new(samples: Mat<f64>) -> Self {
        let products = gram(&samples);
        let norms = diagonal(&products);
        Space { samples, products, norms }
    }

    /// The median squared distance of two samples, or 1 if most are equal: then any width will do. With weights it is that of the
    /// samples that these stand for, which are at no distance from their twins.
    pub fn median_distance(&self, weights: Option<&[f64]>) -> f64 {
        let products = &self.products;
        let norms = &self.norms;
        let pairs = (0..norms.len()).flat_map(|j| (0..j).map(move |i| (i, j)));
        let distance = |(i, j): (usize, usize)| (norms[i] + norms[j] - 2.0 * products[(i, j)]).max(0.0);
        let median = match weights {
            None => median(pairs.map(distance).collect()),
            Some(weights) => {
                let twins = weights.iter().map(|w| (0.0, (0.5 * w * (w - 1.0)).max(0.0)));
                let pairs = pairs.map(|(i, j)| (distance((i, j)), weights[i] * weights[j]));
                weighted_median(twins.chain(pairs).collect())
            }
        };
        if median > 0.0 && median.is_finite() { median } else { 1.0 }
    }

    /// The kernel matrix; a view of the products if it is linear. With the `roots` of weights, rows and columns are multiplied by them.
    pub fn kernel<'a>(&'a self, gamma: f64, roots: Option<&[f64]>, store: &'a mut Mat<f64>) -> MatRef<'a, f64> {
        if gamma == 0.0 && roots.is_none() {
            return self.products.as_ref();
        }
        *store = match gamma == 0.0 {
            true => self.products.clone(),
            false => gaussian(&self.products, &self.norms, &self.norms, gamma),
        };
        if let Some(roots) = roots {
            for j in 0..store.ncols() {
                store.col_as_slice_mut(j).iter_mut().zip(roots).for_each(|(v, root)| *v *= root * roots[j]);
            }
        }
        store.as_ref()
    }
}

/// `exp(-gamma |a - b|^2)` from inner products of all `a` (rows) and `b` (columns) and their squared norms.
pub(super) fn gaussian(products: impl View, norms: &[f64], own: &[f64], gamma: f64) -> Mat<f64> {
    let products = products.view();
    let mut kernel = Mat::zeros(products.nrows(), products.ncols());
    kernel.as_mut().par_col_chunks_mut(16).enumerate().for_each(|(chunk, mut part)| {
        for j in 0..part.ncols() {
            let products = column(products, 16 * chunk + j);
            let own = own[16 * chunk + j];
            let Some(values) = part.as_mut().col_mut(j).try_as_col_major_mut() else { continue };
            let values = values.as_slice_mut();
            wide!({
                for ((value, product), norm) in values.iter_mut().zip(products).zip(norms) {
                    *value = exp(-gamma * (norm + own - 2.0 * product).max(0.0));
                }
            });
        }
    });
    kernel
}

/// A kernel of the training samples.
pub(super) struct Setting<'a> {
    pub view: ViewKind,
    /// 0 is the linear kernel.
    pub gamma: f64,
    pub gram: MatRef<'a, f64>,
    /// Of the weights, which the kernel matrix has been multiplied by.
    pub roots: Option<&'a [f64]>,
    /// The samples and their scatter matrix, where the kernel is linear and codes over features take less time.
    pub features: Option<(Cow<'a, Mat<f64>>, Mat<f64>)>,
}

impl<'a> Setting<'a> {
    pub fn new(view: ViewKind, gamma: f64, gram: MatRef<'a, f64>, space: &'a Space, roots: Option<&'a [f64]>) -> Self {
        let (m, n) = space.samples.shape();
        let features = (gamma == 0.0 && 2 * m <= n).then(|| {
            let x = match roots {
                Some(roots) => Cow::Owned(scaled_columns(&space.samples, |j| roots[j])),
                None => Cow::Borrowed(&space.samples),
            };
            let scatter = outer_gram(&*x);
            (x, scatter)
        });
        Setting { view, gamma, gram, roots, features }
    }

    fn coder(&self, blocks: &'a Blocks, kappa: f64) -> Result<Coder<'a>> {
        match &self.features {
            Some((x, scatter)) => {
                Coder::of_features(self.gram, x.as_ref().as_ref(), scatter.as_ref(), blocks, self.roots, kappa)
            }
            None => Coder::weighted(self.gram, blocks, self.roots, kappa),
        }
    }
}

/// All readings on one kernel matrix, with the ridges that [`over_ridges`] looks at. A kernel that cannot be factored, because its values
/// are not finite, has none.
pub(super) fn of_kernel(
    judge: &Judge,
    setting: &Setting<'_>,
    blocks: &Blocks,
    groups: Option<&[usize]>,
) -> Vec<Candidate> {
    let &Setting { view, gamma, .. } = setting;
    let possible = |reading: &Reading| *reading != Reading::Residual || gamma == 0.0 || blocks.total() <= MOST_CODED;
    over_ridges(judge, |kappa, starts| {
        let coder = setting.coder(blocks, kappa)?;
        let candidate = |reading: Reading| {
            let scores = match groups {
                Some(groups) => coder.leave_groups_out(reading, groups)?,
                None => coder.leave_one_out(reading)?,
            };
            let choice = Choice { reading, view, gamma, kappa, scale: 1.0, weight: starts[reading as usize] };
            Candidate::new(judge, choice, scores)
        };
        Reading::ALL.into_iter().filter(possible).map(candidate).collect()
    })
}

/// The readings of one kernel with the ridges that are worth a look, small ridges first. From the middle the search goes both ways, and ends
/// where the next ridge makes no reading better by as much as it takes to join a fusion: beyond, losses rise, or ridges are too small to
/// change anything. Where nothing can be judged it goes all the way.
pub(super) fn over_ridges(
    judge: &Judge,
    of_ridge: impl Fn(f64, &Starts) -> Result<Vec<Candidate>> + Sync,
) -> Vec<Candidate> {
    let at = |place: usize, starts: &Starts| of_ridge(KAPPAS[place], starts).unwrap_or_default();
    let middle = at(MIDDLE, &[super::ONLY; Reading::ALL.len()]);
    let walk = |places: &mut dyn Iterator<Item = usize>| {
        let mut best = [f64::INFINITY; Reading::ALL.len()];
        let mut starts = [super::ONLY; Reading::ALL.len()];
        lower(&mut best, &mut starts, &middle);
        let mut found = Vec::new();
        for place in places {
            let candidates = at(place, &starts);
            let is_better = lower(&mut best, &mut starts, &candidates);
            found.push(candidates);
            // Before the first ridge that can be factored there is nothing to compare with.
            let compared = best.iter().any(|loss| loss.is_finite());
            if judge.hears_anyone() && compared && !is_better {
                break;
            }
        }
        found
    };
    let (down, up) = rayon::join(|| walk(&mut (0..MIDDLE).rev()), || walk(&mut (MIDDLE + 1..KAPPAS.len())));
    let down = down.into_iter().rev().flatten();
    down.chain(middle).chain(up.into_iter().flatten()).collect()
}

/// The weights from which readings alone are fitted: those of the ridge before, which are near.
pub(super) type Starts = [f64; Reading::ALL.len()];

/// Lowers the best loss of every reading to those of some candidates, and takes over their weights; whether a loss falls by as much as it must.
fn lower(best: &mut [f64; Reading::ALL.len()], starts: &mut Starts, candidates: &[Candidate]) -> bool {
    let mut is_better = false;
    for Candidate { choice, alone, .. } in candidates {
        let place = choice.reading as usize;
        is_better |= alone.loss < best[place] * (1.0 - fusion::GAIN);
        best[place] = best[place].min(alone.loss);
        starts[place] = alone.weights[0];
    }
    is_better
}
