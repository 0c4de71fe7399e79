//! More samples than fit into a kernel matrix: codes in features.
//!
//! The linear kernel needs sums over samples only, see [`crate::loo::PrimalCoder`]. A Gaussian kernel is linear after Nystroem's map
//! `phi(x) = W^T k(L, x)`, `W W^T = K_LL^-1`, with landmarks `L` far from one another. Samples are mapped in portions and never kept. Some
//! thousands of samples, spread over all classes by their sizes, are left out in turn; the sums are over all samples.

use super::candidates::{Candidate, Choice, KAPPAS, Shortlist, Space, WIDTHS};
use super::fusion::Judge;
use super::stored::{Form, Learned, MOST_FEATURES, PrimalKernel};
use super::views::View;
use super::{Auto, DUAL_LIMIT, Facts, Found, ONLY, Progress, Views, heard};
use crate::kernel::spread_out;
use crate::linalg::select_columns;
use crate::loo::choice::queries;
use crate::loo::{Moments, PrimalCoder, Reading};
use crate::{Dataset, Error, Observer, Result};
use faer::{Mat, MatRef};
use rayon::prelude::*;
use std::sync::Arc;

/// Landmarks are as many as keep samples times landmarks squared below this, and within these bounds.
const LANDMARK_WORK: f64 = 1.6e10;
const LEAST_LANDMARKS: f64 = 200.0;
/// Samples among which distances are measured and landmarks chosen.
const SPREAD: usize = 2000;
/// Samples that are mapped together.
const PORTION: usize = 2048;
/// Residuals need a scatter matrix for each class; where these have more entries, residuals are left out.
const MOST_ENTRIES: usize = 1 << 22;

/// As [`Auto::learn`] does for fewer samples: all is judged, the best few are fused.
pub(super) fn learn(auto: &Auto, train: &Dataset, facts: Facts, watch: &mut dyn Observer) -> Result<Learned> {
    if train.groups().is_some() {
        return Err(Error::Data(format!(
            "groups can be left out of at most {DUAL_LIMIT} samples, here are {}; train on some of them",
            train.n_samples()
        )));
    }
    let places = queries(train.blocks(), DUAL_LIMIT);
    let targets = train.targets();
    let heard = heard(train);
    let judge = Judge::new(
        places.iter().map(|&i| targets[i]).collect(),
        places.iter().map(|&i| heard[i]).collect(),
        train.n_classes(),
    );
    let asked = select_columns(train.x(), &places);
    let views = View::fit_all(auto.views.unwrap_or(Views::Both).kinds(), train);
    let mut progress = Progress { done: 0, all: views.len() * WIDTHS.len() };
    let mut shortlist = Shortlist::default();
    let mut kernels = Vec::new();
    'views: for view in &views {
        let asked = view.apply(asked.as_ref());
        let some = view.apply(evenly(train.x(), SPREAD).as_ref());
        let landmarks = spread_out(&some, landmark_count(train.n_samples()), 0);
        let median = Space::new(some).median_distance();
        for width in WIDTHS {
            if width > 0.0 || train.n_features() <= MOST_FEATURES {
                let kernel = kernel(train, view, width / median, &landmarks)?;
                let features = kernel.map()?.map_or_else(|| asked.clone(), |map| map.apply(asked.as_ref()));
                shortlist.enter(of_kernel(&judge, &kernel, features.as_ref(), shortlist.limit()));
                kernels.push(kernel);
            }
            if progress.stops(watch) && !shortlist.0.is_empty() {
                break 'views;
            }
        }
    }
    let found = Found { views, form: Form::Primal { kernels }, places, facts };
    let mut learned = auto.fuse(&judge, &shortlist, train, found)?;
    forget_unused(&mut learned);
    Ok(learned)
}

fn landmark_count(n_samples: usize) -> usize {
    (LANDMARK_WORK / n_samples as f64).sqrt().clamp(LEAST_LANDMARKS, MOST_FEATURES as f64) as usize
}

/// Sums over all samples after the map of one kernel.
fn kernel(train: &Dataset, view: &View, gamma: f64, landmarks: &Mat<f64>) -> Result<PrimalKernel> {
    let empty = Arc::new(Moments::none(0, 0, false));
    let landmarks = (gamma > 0.0).then(|| landmarks.clone());
    let kernel = PrimalKernel { view: view.id, gamma, landmarks, moments: empty };
    let map = kernel.map()?;
    let n_features = map.as_ref().map_or(train.n_features(), |map| map.root().ncols());
    let by_class = train.n_classes() * n_features * n_features <= MOST_ENTRIES;
    let mut moments = Moments::none(n_features, train.n_classes(), by_class);
    for c in 0..train.n_classes() {
        let x = train.class(c);
        for start in (0..x.ncols()).step_by(PORTION) {
            let x = view.apply(x.subcols(start, PORTION.min(x.ncols() - start)));
            let features = map.as_ref().map(|map| map.apply(x.as_ref()));
            moments.add(c, features.as_ref().unwrap_or(&x).as_ref());
        }
    }
    moments.finish();
    Ok(PrimalKernel { moments: Arc::new(moments), ..kernel })
}

/// All readings with all ridges after one map; see [`super::candidates::of_kernel`].
fn of_kernel(judge: &Judge, kernel: &PrimalKernel, features: MatRef<'_, f64>, limit: f64) -> Vec<Candidate> {
    let of_ridge = |&kappa: &f64| -> Result<Vec<Candidate>> {
        let coder = PrimalCoder::new(kernel.moments.clone(), kappa)?;
        let left_out = coder.left_out(features, judge.targets());
        let possible = |reading: &Reading| *reading != Reading::Residual || kernel.moments.class_scatters.is_some();
        let candidate = |reading: Reading| {
            let choice = Choice { reading, view: kernel.view, gamma: kernel.gamma, kappa, scale: 1.0, weight: ONLY };
            Candidate::new(judge, choice, left_out.scores(reading)?, limit)
        };
        Reading::ALL.into_iter().filter(possible).map(candidate).collect()
    };
    KAPPAS.par_iter().flat_map_iter(|kappa| of_ridge(kappa).unwrap_or_default()).collect()
}

/// Kernels that were not chosen are forgotten, and scatter matrices of classes where no residual was.
fn forget_unused(learned: &mut Learned) {
    let Form::Primal { kernels } = &mut learned.form else { return };
    let uses = |kernel: &PrimalKernel, choice: &Choice| (choice.view, choice.gamma) == (kernel.view, kernel.gamma);
    kernels.retain(|kernel| learned.chosen.iter().any(|choice| uses(kernel, choice)));
    for kernel in kernels {
        let read = |choice: &&Choice| choice.reading == Reading::Residual;
        if !learned.chosen.iter().filter(read).any(|choice| uses(kernel, choice)) {
            Arc::make_mut(&mut kernel.moments).class_scatters = None;
        }
    }
}

/// At most `most` columns, evenly spaced.
fn evenly(x: MatRef<'_, f64>, most: usize) -> Mat<f64> {
    let count = x.ncols().min(most);
    let places: Vec<usize> = (0..count).map(|i| i * x.ncols() / count).collect();
    select_columns(x, &places)
}
