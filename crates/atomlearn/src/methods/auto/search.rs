//! The search over kernels where codes are over features: in memory and in partitions alike. It says which kernel's moments it needs next, and
//! judges all readings of that kernel once it has them.

use super::candidates::{Candidate, Choice, Shortlist, Space, WIDTHS, over_ridges};
use super::fusion::Judge;
use super::stored::{CodeForm, Learned, MOST_FEATURES, PrimalKernel};
use super::views::View;
use super::{Auto, DUAL_LIMIT, Facts, Found};
use crate::kernel::{Gamma, Kernel, KernelMap, KernelSpec, spread_out};
use crate::linalg::scaled_columns;
use crate::loo::choice::queries;
use crate::loo::{ClassMoments, PrimalCoder, Reading};
use crate::{Blocks, Result};
use faer::{Mat, MatRef};
use std::sync::Arc;

/// Landmarks are as many as keep samples times landmarks squared below this, and within these bounds.
const LANDMARK_WORK: f64 = 1.6e10;
const LEAST_LANDMARKS: f64 = 200.0;
/// Residuals need a scatter matrix for each class; where these have more entries, residuals are left out.
const MOST_ENTRIES: usize = 1 << 22;

/// Which samples of a training set grouped by class are looked at one by one.
pub(super) struct Places {
    /// Those that are left out in turn.
    pub asked: Vec<usize>,
    /// Those among which distances are measured and landmarks chosen, evenly spaced.
    pub some: Vec<usize>,
}

impl Places {
    pub fn of(blocks: &Blocks) -> Self {
        let n = blocks.total();
        let count = n.min(Self::SPREAD);
        Places { asked: queries(blocks, DUAL_LIMIT), some: (0..count).map(|i| i * n / count).collect() }
    }

    /// Most samples among which distances are measured and landmarks chosen.
    pub const SPREAD: usize = 2000;

    /// Most of all of them.
    pub const MOST: usize = DUAL_LIMIT + Self::SPREAD;
}

/// What must be known before the first kernel.
pub(super) struct Seen {
    pub views: Vec<View>,
    /// Samples that are left out in turn, as they are before any view.
    pub asked: Mat<f64>,
    /// Their classes.
    pub targets: Vec<usize>,
    /// Their weights, if they have any.
    pub weights: Option<Vec<f64>>,
    /// Their positions in the data.
    pub positions: Vec<usize>,
    /// Samples among which distances are measured and landmarks chosen, as they are before any view.
    pub some: Mat<f64>,
    /// Number of samples of every class, whatever they weigh.
    pub counts: Vec<f64>,
    pub facts: Facts,
}

/// A kernel whose moments are needed: sums over all samples in a view, after the kernel's map.
pub(super) struct Wanted {
    /// Place of the view.
    pub view: usize,
    /// 0 is the linear kernel.
    pub gamma: f64,
    /// Nystroem's map, unless the kernel is linear.
    pub map: Option<KernelMap>,
    /// Number of features that it makes.
    pub n_features: usize,
    /// Whether scatter matrices are needed class by class.
    pub by_class: bool,
}

/// Samples in one view.
struct ViewedSamples {
    asked: Mat<f64>,
    landmarks: Mat<f64>,
    median: f64,
}

/// All kernels in turn.
pub(super) struct Search {
    pub seen: Seen,
    judge: Judge,
    shortlist: Shortlist,
    pub kernels: Vec<PrimalKernel>,
    /// Place of the view and width of the kernels that are still to come, last first.
    left: Vec<(usize, f64)>,
    looked: Option<(usize, ViewedSamples)>,
    wanted: Option<Wanted>,
}

impl Search {
    pub fn new(seen: Seen) -> Result<Self> {
        let heard = seen.targets.iter().map(|&c| seen.counts[c] > 1.0).collect();
        let judge = Judge::new(seen.targets.clone(), heard, seen.weights.clone(), seen.counts.len());
        let possible = |width: &f64| *width > 0.0 || seen.asked.nrows() <= MOST_FEATURES;
        let all = (0..seen.views.len()).flat_map(|v| WIDTHS.into_iter().filter(possible).map(move |width| (v, width)));
        let mut left: Vec<(usize, f64)> = all.collect();
        left.reverse();
        let shortlist = Shortlist::default();
        let mut search = Search { seen, judge, shortlist, kernels: Vec::new(), left, looked: None, wanted: None };
        search.go_on()?;
        Ok(search)
    }

    /// The kernel that comes next; none if all are judged.
    pub fn wanted(&self) -> Option<&Wanted> {
        self.wanted.as_ref()
    }

    /// Kernels that are judged, and all.
    pub fn progress(&self) -> (usize, usize) {
        let left = self.left.len() + usize::from(self.wanted.is_some());
        (self.kernels.len(), self.kernels.len() + left)
    }

    /// Whether there is anything to choose from yet.
    pub fn can_choose(&self) -> bool {
        !self.shortlist.0.is_empty()
    }

    fn go_on(&mut self) -> Result<()> {
        self.wanted = None;
        let Some((v, width)) = self.left.pop() else { return Ok(()) };
        if self.looked.as_ref().is_none_or(|(of, _)| *of != v) {
            self.looked = Some((v, self.look(v)));
        }
        let Some((_, ViewedSamples { landmarks, median, .. })) = &self.looked else { return Ok(()) };
        let gamma = width / median;
        let map = if gamma > 0.0 { Some(KernelMap::fit(&rbf(gamma), landmarks, &mut ())?) } else { None };
        let n_features = map.as_ref().map_or(self.seen.asked.nrows(), |map| map.root().ncols());
        let by_class = self.seen.counts.len() * n_features * n_features <= MOST_ENTRIES;
        self.wanted = Some(Wanted { view: v, gamma, map, n_features, by_class });
        Ok(())
    }

    fn look(&self, v: usize) -> ViewedSamples {
        let view = &self.seen.views[v];
        let some = view.apply(&self.seen.some);
        let n: f64 = self.seen.counts.iter().sum();
        let landmarks = spread_out(&some, landmark_count(n), 0);
        let median = Space::new(some).median_distance(None);
        ViewedSamples { asked: view.apply(&self.seen.asked), landmarks, median }
    }

    /// Judges the readings of the kernel that was wanted, and goes on to the next.
    pub fn take(&mut self, moments: ClassMoments) -> Result<()> {
        let (Some(Wanted { view, gamma, map, .. }), Some((_, looked))) = (self.wanted.take(), &self.looked) else {
            return Ok(());
        };
        let view = self.seen.views[view].kind;
        let features = map.as_ref().map(|map| map.apply(&looked.asked));
        let landmarks = map.map(|map| map.landmarks().clone());
        let kernel = PrimalKernel { view, gamma, landmarks, moments: Arc::new(moments) };
        let features = features.as_ref().unwrap_or(&looked.asked).as_ref();
        self.shortlist.enter(of_kernel(&self.judge, &kernel, features));
        self.kernels.push(kernel);
        self.go_on()
    }

    /// Fuses the best of what was judged.
    pub fn learned(self, auto: &Auto) -> Result<Learned> {
        let Search { seen, judge, shortlist, kernels, .. } = self;
        let Seen { views, positions, facts, .. } = seen;
        let mut learned =
            auto.fuse(&judge, &shortlist, Found { views, form: CodeForm::Primal { kernels }, positions, facts })?;
        forget_unused(&mut learned);
        Ok(learned)
    }
}

/// The Gaussian kernel over all of the landmarks that it is given.
pub(super) fn rbf(gamma: f64) -> KernelSpec {
    KernelSpec { kernel: Kernel::Rbf, gamma: Gamma::Fixed(gamma), landmarks: None }
}

fn landmark_count(n_samples: f64) -> usize {
    (LANDMARK_WORK / n_samples).sqrt().clamp(LEAST_LANDMARKS, MOST_FEATURES as f64) as usize
}

/// All readings after one map; see [`super::candidates::of_kernel`].
fn of_kernel(judge: &Judge, kernel: &PrimalKernel, features: MatRef<'_, f64>) -> Vec<Candidate> {
    let roots: Option<Vec<f64>> = judge.weights().map(|weights| weights.iter().map(|w| w.sqrt()).collect());
    let scaled = roots.as_ref().map(|roots| scaled_columns(features, |i| roots[i]));
    let features = scaled.as_ref().map_or(features, |scaled| scaled.as_ref());
    over_ridges(judge, |kappa, starts| {
        let coder = PrimalCoder::new(kernel.moments.clone(), kappa)?;
        let left_out = coder.weighted_left_out(features, judge.targets(), roots.as_deref());
        let possible = |reading: &Reading| *reading != Reading::Residual || kernel.moments.class_scatters.is_some();
        let candidate = |reading: Reading| {
            let choice = Choice {
                reading,
                view: kernel.view,
                gamma: kernel.gamma,
                kappa,
                scale: 1.0,
                weight: starts[reading as usize],
            };
            Candidate::new(judge, choice, left_out.scores(reading)?)
        };
        Reading::ALL.into_iter().filter(possible).map(candidate).collect()
    })
}

/// Kernels that were not chosen are forgotten, and scatter matrices of classes where no residual was.
fn forget_unused(learned: &mut Learned) {
    let CodeForm::Primal { kernels } = &mut learned.form else { return };
    let uses = |kernel: &PrimalKernel, choice: &Choice| (choice.view, choice.gamma) == (kernel.view, kernel.gamma);
    kernels.retain(|kernel| learned.chosen.iter().any(|choice| uses(kernel, choice)));
    for kernel in kernels {
        let read = |choice: &&Choice| choice.reading == Reading::Residual;
        if !learned.chosen.iter().filter(read).any(|choice| uses(kernel, choice)) {
            Arc::make_mut(&mut kernel.moments).class_scatters = None;
        }
    }
}
