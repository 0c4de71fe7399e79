//! More samples than fit into a kernel matrix: codes in features.
//!
//! The linear kernel needs sums over samples only, see [`crate::loo::PrimalCoder`]. A Gaussian kernel is linear after Nystroem's map
//! `phi(x) = W^T k(L, x)`, `W W^T = K_LL^-1`, with landmarks `L` far from one another. Samples are mapped in portions and never kept. Some
//! thousands of samples, spread over all classes by their sizes, are left out in turn; the sums are over all samples. Distances and landmarks are
//! those of the samples as they are, whatever they weigh.

use super::search::{Places, Search, Seen, Wanted};
use super::stored::Learned;
use super::views::View;
use super::{Auto, DUAL_LIMIT, Facts};
use crate::linalg::{scaled_columns, select_columns};
use crate::loo::ClassMoments;
use crate::{Dataset, Error, Observer, Result};

/// Samples that are mapped together.
const PORTION: usize = 2048;

/// As [`super::Auto::learn_from_samples`] does for fewer samples: all is judged, the best few are fused.
pub(super) fn learn(auto: &Auto, train: &Dataset, watch: &mut dyn Observer) -> Result<Learned> {
    if train.groups().is_some() {
        return Err(Error::Data(format!(
            "groups can be left out of at most {DUAL_LIMIT} samples, here are {}; train on some of them",
            train.n_samples()
        )));
    }
    let x = train.x();
    let places = Places::of(train.blocks());
    let targets = train.targets();
    let weights = train.weights();
    let facts = Facts::of_some(train, &places.asked);
    facts.warnings().iter().for_each(|warning| watch.warn(warning));
    let mut search = Search::new(Seen {
        views: auto.views_of(train),
        asked: select_columns(x, &places.asked),
        targets: places.asked.iter().map(|&i| targets[i]).collect(),
        weights: weights.map(|weights| places.asked.iter().map(|&i| weights[i]).collect()),
        positions: places.asked.iter().map(|&i| train.order()[i]).collect(),
        some: select_columns(x, &places.some),
        counts: train.blocks().sizes().map(|size| size as f64).collect(),
        facts,
    })?;
    while let Some(wanted) = search.wanted() {
        let moments = moments(train, &search.seen.views[wanted.view], wanted);
        search.take(moments)?;
        let (done, all) = search.progress();
        if watch.progress(done, all).is_break() && search.can_choose() {
            break;
        }
    }
    search.learned(auto)
}

/// Sums over all samples after the map of one kernel.
fn moments(train: &Dataset, view: &View, wanted: &Wanted) -> ClassMoments {
    let roots = train.roots();
    let mut moments = ClassMoments::none(wanted.n_features, train.n_classes(), wanted.by_class);
    for c in 0..train.n_classes() {
        let x = train.class(c);
        for start in (0..x.ncols()).step_by(PORTION) {
            let x = view.apply(x.subcols(start, PORTION.min(x.ncols() - start)));
            let features = wanted.map.as_ref().map(|map| map.apply(x.as_ref()));
            let features = features.as_ref().unwrap_or(&x);
            match &roots {
                Some(roots) => {
                    let first = train.blocks().range(c).start + start;
                    let roots = &roots[first..first + features.ncols()];
                    moments.add_weighted(c, scaled_columns(features, |i| roots[i]).as_ref(), Some(roots));
                }
                None => moments.add(c, features.as_ref()),
            }
        }
    }
    moments.finish();
    moments
}
