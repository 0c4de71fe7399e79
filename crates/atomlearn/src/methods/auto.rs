//! `auto`: one code, three readings, tuned by exact leave-one-out.
//!
//! No dictionary is iterated, nothing is cross-validated, no parameter must be set. Samples are looked at in a few *views*
//! ([`views`]), each with a few kernels and ridges. A sample's code over all training samples is
//!
//! ```text
//! z = (K + kappa I)^-1 k
//! ```
//!
//! and three classifiers read it: class residual, ridge regression, discriminant ([`crate::loo`]). For each of up to 192 candidates the
//! scores that a training without the sample would have given are known in closed form, for every training sample. Scores are centred over
//! classes and divided by their scale; weights `w >= 0` of a softmax over at most six of them minimise the leave-one-out log-loss ([`fusion`]), and
//! with few samples the best are averaged:
//!
//! ```text
//! p(c | x) = softmax_c sum_e w_e f_e(x),       min_{w >= 0} -mean_i log p_-i(y_i | x_i) + l2 / 2 |w|^2
//! ```
//!
//! The softmax is a calibrated probability, since it was fitted on scores of samples that were left out. What falls out besides, all from training
//! data alone, is in the [`AutoReport`]: accuracy, confusions, and which labels look wrong.
//!
//! Above [`DUAL_LIMIT`] samples the code is written in features instead of samples, and Gaussian kernels by Nystroem's approximation ([`large`]).
//!
//! A sample of weight `w` counts as `w` equal ones, in every sum over samples, and is left out with all of them: with `W` the diagonal matrix of the
//! weights, the code is that of `W^(1/2) K W^(1/2)`.
//!
//! - Reference: none, this is our own. The code and its residuals are those of CRC (Zhang, Yang, Feng, ICCV 2011), the closed forms those of PRESS
//!   (Allen, Technometrics 1974) carried to blocks and discriminants.
//! - A class of one sample is predicted, but its sample has no say in the weights: without it the class is empty.

mod candidates;
mod large;
mod model;
mod nearest;
mod partitioned;
mod report;
mod search;
mod stages;
mod stored;
#[cfg(test)]
mod tests;
mod views;

pub use model::{AutoModel, AutoNovelty};
pub use nearest::NearSample;
pub use report::{AutoReport, ChosenReading, ClassRecall, LooEstimate, Suspicious};
pub use views::ViewKind;

use crate::loo::fusion::{self, Fitted, Judge};
use crate::params::{Domain, params, words};
use crate::rounds::sample_hash;
use crate::{Dataset, Error, Fit, Observer, Parts, Result, State};
use candidates::{Choice, Setting, Shortlist, Space, WIDTHS};
use faer::Mat;
use rayon::prelude::*;
use stored::{CodeForm, Learned};
use views::View;

/// Up to this many samples codes are over samples: their kernel matrices are inverted.
pub const DUAL_LIMIT: usize = 4000;
/// Readings that are averaged where there are few samples.
const MOST_AVERAGED: usize = 24;
/// Readings that are chosen otherwise.
const MOST_CHOSEN: usize = 6;
/// Kernels of more samples than this are judged two at a time, since each takes several matrices of this size; those of fewer all at once,
/// so that no thread waits for the slowest of two.
const SIDE_BY_SIDE: usize = 2000;
/// Weight of a reading that nobody can judge, since every class has one sample.
const ONLY: f64 = 3.0;

words! {
    /// Which views of the samples to choose from.
    pub enum Views {
        /// `unit` and `standard`.
        Both = "both",
        /// Samples of unit length.
        Unit = "unit",
        /// Standardised features.
        Standard = "standard",
        /// Samples as they are, up to one common scale: for those that are preprocessed already. If they come in several blocks of
        /// features, each block alone, too (late fusion).
        Given = "given",
        /// Samples as they are, blocks of features only side by side (early fusion).
        Together = "together",
        /// Each block of features alone.
        Alone = "alone",
    }
}

impl Views {
    fn kinds(self) -> &'static [ViewKind] {
        match self {
            Views::Both => &[ViewKind::Unit, ViewKind::Standard],
            Views::Unit => &[ViewKind::Unit],
            Views::Standard => &[ViewKind::Standard],
            Views::Given | Views::Together => &[ViewKind::Given],
            Views::Alone => &[],
        }
    }

    fn has_blocks(self) -> bool {
        matches!(self, Views::Given | Views::Alone)
    }
}

params! {
    /// Parameters of `auto`; none needs to be set.
    pub struct Auto {
        /// How samples are scaled: unit length and standardised features to choose from (`both`), one of them, or as they are `given`;
        /// `auto` is `both`, or `given` if preprocessing is asked for. With several blocks of features `given` reads them side by side
        /// and each alone, `together` and `alone` do one of these.
        views: Option<Views> = None, Domain::Auto(&Domain::OneOf(Views::WORDS));
        /// Maximum number of readings that are fused; `auto` is 6, or 24 where few samples are a reason to average.
        max_readings: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
    }
}

impl Fit for Auto {
    type Model = AutoModel;
    const KEY: &'static str = "auto";
    const TITLE: &'static str = "Self-tuning fusion of three readings of one code (auto)";
    const PAPER: &'static str = "this project; the code is that of Zhang, Yang, Feng: Sparse representation or collaborative representation. ICCV 2011";
    const CLOSED_FORM: bool = true;
    const LEAVES_GROUPS_OUT: bool = true;
    const PROBABILITIES: bool = true;
    const WEIGHTS: bool = true;
    const DEFAULT_PREP: &'static str = "none";
    const GIVEN_PREP: &'static [(&'static str, &'static str)] = &[("views", "given")];

    fn learn(&self, train: &Dataset, _: Option<State>, watch: &mut dyn Observer) -> Result<AutoModel> {
        let learned = if train.n_samples() <= DUAL_LIMIT {
            self.learn_from_samples(train, watch)?
        } else {
            large::learn(self, train, watch)?
        };
        AutoModel::new(train.classes().to_vec(), learned)
    }

    fn restore(&self, parts: Parts) -> Result<AutoModel> {
        AutoModel::restore(parts)
    }
}

impl Auto {
    fn view_kinds(&self) -> &'static [ViewKind] {
        match self.views.unwrap_or(Views::Both) {
            // In partitions there are no blocks to tell apart.
            Views::Alone => Views::Given.kinds(),
            views => views.kinds(),
        }
    }

    /// The views that these samples are looked at in. Readings of blocks of features are fused like all others: the softmax weighs the
    /// blocks against each other by what they are worth when samples are left out.
    fn views_of(&self, train: &Dataset) -> Vec<View> {
        let x = train.x();
        let weights = train.weights();
        let asked = self.views.unwrap_or(Views::Both);
        let kinds = if train.views().is_empty() { self.view_kinds() } else { asked.kinds() };
        let mut views: Vec<View> = kinds.iter().map(|&kind| View::fit(kind, x, weights)).collect();
        if asked.has_blocks() {
            let mut start = 0;
            for (block, &size) in train.views().iter().enumerate() {
                views.push(View::of_block(block, start..start + size, x, weights));
                start += size;
            }
        }
        views
    }

    /// Views, kernels, ridges, readings: all are judged, the best few are fused.
    fn learn_from_samples(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<Learned> {
        let facts = Facts::of(train);
        facts.warnings().iter().for_each(|warning| watch.warn(warning));
        let x = train.x();
        let blocks = train.blocks();
        let groups = train.groups();
        let weights = train.weights();
        let roots = train.roots();
        let judge = Judge::new(train.targets(), heard(train), weights.map(<[f64]>::to_vec), blocks.len());
        let views = self.views_of(train);
        let mut progress = KernelProgress { done: 0, all: views.len() * WIDTHS.len() };
        let mut shortlist = Shortlist::default();
        let at_once = if train.n_samples() <= SIDE_BY_SIDE { WIDTHS.len() } else { 2 };
        'views: for view in &views {
            let space = Space::new(view.apply(x));
            let median = space.median_distance(weights);
            for widths in WIDTHS.chunks(at_once) {
                let of_width = |&width: &f64| {
                    let gamma = width / median;
                    let mut store = Mat::new();
                    let kernel = space.kernel(gamma, roots.as_deref(), &mut store);
                    let setting = Setting::new(view.kind, gamma, kernel, &space, roots.as_deref());
                    candidates::of_kernel(&judge, &setting, blocks, groups)
                };
                let found: Vec<_> = widths.par_iter().map(of_width).collect();
                found.into_iter().for_each(|candidates| shortlist.enter(candidates));
                if widths.iter().any(|_| progress.stops(watch)) {
                    break 'views;
                }
            }
        }
        let positions = train.order().to_vec();
        let form = CodeForm::Dual { samples: x.to_owned(), blocks: blocks.clone(), roots };
        self.fuse(&judge, &shortlist, Found { views, form, positions, facts })
    }

    /// Chooses among the shortlist and puts together what is kept.
    fn fuse(&self, judge: &Judge, shortlist: &Shortlist, found: Found) -> Result<Learned> {
        let Some(best) = shortlist.0.first() else {
            return Err(Error::numeric(
                "auto",
                "no kernel of the samples has finite values; scale them first, for example with `unit`",
            ));
        };
        let scores: Vec<&Mat<f64>> = shortlist.0.iter().map(|candidate| &candidate.scores).collect();
        let (places, weights) = if judge.hears_anyone() {
            let (places, fitted) = judge.choose(&scores, &best.alone, self.max_readings.unwrap_or(MOST_CHOSEN))?;
            let most = self.max_readings.unwrap_or(MOST_AVERAGED).min(scores.len());
            let alone: Vec<&Fitted> = shortlist.0[..most].iter().map(|candidate| &candidate.alone).collect();
            match judge.average_instead(&scores[..most], &alone, &fitted, places.len()) {
                Some(weights) => ((0..most).collect(), weights),
                None => (places, fitted.weights),
            }
        } else {
            // Nothing can be judged: a moderate ridge on the first view.
            let moderate = |choice: &Choice| choice.reading == crate::loo::Reading::Ridge && choice.kappa == 1.0;
            (vec![shortlist.0.iter().position(|candidate| moderate(&candidate.choice)).unwrap_or(0)], vec![ONLY])
        };
        let mut log_probabilities = Mat::zeros(found.facts.classes, judge.targets().len());
        for (&place, &weight) in places.iter().zip(&weights) {
            log_probabilities += faer::Scale(weight) * scores[place].transpose();
        }
        fusion::log_softmax(&mut log_probabilities);
        let weighted = places.iter().zip(&weights).filter(|&(_, &weight)| weight > 0.0);
        let chosen: Vec<Choice> =
            weighted.map(|(&place, &weight)| Choice { weight, ..shortlist.0[place].choice }).collect();
        // If no reading beats chance, the best one stays with no weight: all classes are equally likely.
        let chosen = if chosen.is_empty() { vec![Choice { weight: 0.0, ..best.choice }] } else { chosen };
        let judged = Mat::from_fn(3, found.positions.len(), |row, i| match row {
            0 => found.positions[i] as f64,
            1 => judge.targets()[i] as f64,
            _ => f64::from(u8::from(judge.hears(i))),
        });
        let weights = judge.weights().map(<[f64]>::to_vec);
        let views =
            found.views.into_iter().filter(|view| chosen.iter().any(|choice| choice.view == view.kind)).collect();
        Ok(Learned { views, chosen, form: found.form, log_probabilities, judged, weights, facts: found.facts })
    }
}

/// What the search found besides the shortlist.
struct Found {
    views: Vec<View>,
    form: CodeForm,
    /// Where the samples that were left out in turn are in the training data.
    positions: Vec<usize>,
    facts: Facts,
}

/// Tells the observer after every kernel.
struct KernelProgress {
    done: usize,
    all: usize,
}

impl KernelProgress {
    fn stops(&mut self, watch: &mut dyn Observer) -> bool {
        self.done += 1;
        watch.progress(self.done, self.all).is_break()
    }
}

/// Samples that have a say: their class has others, outside their group.
fn heard(train: &Dataset) -> Vec<bool> {
    let targets = train.targets();
    let blocks = train.blocks();
    let Some(groups) = train.groups() else {
        return targets.iter().map(|&c| blocks.size(c) > 1).collect();
    };
    let elsewhere = |i: usize| blocks.range(targets[i]).any(|j| groups[j] != groups[i]);
    (0..targets.len()).map(elsewhere).collect()
}

/// What the report warns about.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Facts {
    /// Samples that are left out in turn and equal another one.
    twins: usize,
    /// Those of them that equal a sample with another label; not known where samples are learned from in partitions.
    contrary: usize,
    /// Classes of one sample, or of one group.
    single: usize,
    classes: usize,
    /// Whether only some of the samples are left out in turn.
    of_some: bool,
}

impl Facts {
    fn of(train: &Dataset) -> Self {
        let all: Vec<usize> = (0..train.n_samples()).collect();
        Facts { of_some: false, ..Facts::of_some(train, &all) }
    }

    /// The same where only these samples are left out in turn.
    fn of_some(train: &Dataset, places: &[usize]) -> Self {
        let hash = |i: usize| sample_hash(train.x().col(i).iter().copied());
        let targets = train.targets();
        // Of equal samples their number, the class of the first, and whether others have another class.
        let mut seen = std::collections::HashMap::<u64, (usize, usize, bool)>::with_capacity(train.n_samples());
        for (i, &class) in targets.iter().enumerate() {
            let (count, first, mixed) = seen.entry(hash(i)).or_insert((0, class, false));
            *count += 1;
            *mixed |= *first != class;
        }
        let heard = heard(train);
        let single = train.blocks().ranges().filter(|range| !heard[range.clone()].contains(&true)).count();
        let of_places: Vec<&(usize, usize, bool)> = places.iter().map(|&i| &seen[&hash(i)]).collect();
        let twins = of_places.iter().filter(|(count, ..)| *count > 1).count();
        let contrary = of_places.iter().filter(|(.., mixed)| *mixed).count();
        Facts { twins, contrary, single, classes: train.n_classes(), of_some: true }
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let which = if self.of_some { "of the samples that are left out in turn" } else { "training samples" };
        let alike = self.twins.saturating_sub(self.contrary);
        if alike > 0 {
            warnings.push(format!(
                "{alike} {which} equal another one (duplicates): the twin stays when one is left out, so the leave-one-out accuracy is too high"
            ));
        }
        if self.contrary > 0 {
            warnings.push(format!(
                "{} {which} equal one with another label (duplicates): one of the two labels must be wrong, and the twin that stays speaks \
                 for the other label, so the leave-one-out accuracy is too low for them",
                self.contrary
            ));
        }
        if self.single == self.classes {
            warnings.push(
                "every class has a single sample (or group): nothing can be left out, so nothing is tuned".into(),
            );
        } else if self.single > 0 {
            warnings.push(format!(
                "{} classes have a single sample (or group): they are predicted, but leave-one-out cannot judge them",
                self.single
            ));
        }
        warnings
    }
}
