//! How training begins, goes on from a state, is reported and ends.

use super::code_space::NullSpace;
use super::iterate::Iterate;
use super::subspace::Samples;
use super::{AtomNorm, LcdlSv, LcdlSvModel, accuracy};
use crate::iterations::Iterations;
use crate::observe::Trace;
use crate::span::Span;
use crate::{Blocks, Fit, Observer, Result, State, Step};
use faer::Mat;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;

/// Where training begins.
pub(super) enum Begin<'a> {
    /// With atoms, grouped by class.
    With(Mat<f64>, &'a Blocks),
    /// After an iteration.
    After(State),
}

/// What stays the same from iteration to iteration.
pub(super) struct TrainingRun<'a> {
    pub params: &'a LcdlSv,
    pub samples: Samples<'a>,
    pub targets: Vec<usize>,
    /// The samples, and their span, where everything happens.
    span: &'a Span<'a>,
}

impl<'a> TrainingRun<'a> {
    pub fn new(params: &'a LcdlSv, span: &'a Span<'a>) -> Self {
        TrainingRun { params, samples: Samples::new(span.train().x()), targets: span.train().targets(), span }
    }

    /// The first iterate, and the iterations that are left.
    pub fn begin(&self, begin: Begin<'_>, watch: &mut dyn Observer) -> Result<(Iterate, RangeInclusive<usize>)> {
        const NONE_LEFT: RangeInclusive<usize> = RangeInclusive::new(1, 0);
        let params = self.params;
        let x = self.samples.x;
        match begin {
            Begin::With(start, blocks) => {
                let d = self.span.project_columns(start);
                let n_classes = self.span.full().n_classes();
                let mut at = Iterate::start(d, blocks.clone(), x, n_classes, params.laplacian_ridge)?;
                if self.report_start(&at, watch).is_break() || params.max_iter() == 0 {
                    return Ok((at, NONE_LEFT));
                }
                // Atoms that are rescaled in every iteration have another null space each time.
                if params.atom_norm == AtomNorm::None {
                    at.null_space = NullSpace::of(&at.factored).map(Arc::new);
                }
                self.find_code_space(&mut at, watch)?;
                Ok((at, 1..=params.max_iter()))
            }
            Begin::After(state) => {
                let iterations = Iterations::new(LcdlSv::KEY, Some(&state), params.max_iter(), params.tol)?.left();
                let (mut at, had_code_space) = Iterate::restore(state, self.span.full().classes(), x)?;
                if !iterations.is_empty() {
                    // Warnings about a code space that was found before were given then.
                    let mut silent = ();
                    let watch: &mut dyn Observer = if had_code_space { &mut silent } else { watch };
                    self.find_code_space(&mut at, watch)?;
                }
                Ok((at, iterations))
            }
        }
    }

    fn find_code_space(&self, at: &mut Iterate, watch: &mut dyn Observer) -> Result<()> {
        let null_space = at.null_space.as_deref();
        at.code_space = Some(self.params.code_space(&at.d, &at.factored, null_space, at.ridge, watch)?);
        Ok(())
    }

    fn report_start(&self, at: &Iterate, watch: &mut dyn Observer) -> ControlFlow<()> {
        let model = || Ok(Box::new(self.finish(at, &mut ())?) as _);
        watch.step(&Step { model: Some(&model), ..Step::start(self.params.max_iter()) })
    }

    /// Tells the observer about an iteration, and asks it whether to go on.
    pub fn report(&self, iter: usize, at: &Iterate, watch: &mut dyn Observer) -> ControlFlow<()> {
        watch.step(&Step {
            iter,
            max_iter: self.params.max_iter(),
            objective: Some(at.terms.iter().map(|(_, value)| value).sum()),
            terms: &at.terms,
            change: Some(at.change),
            model: Some(&|| Ok(Box::new(self.finish(at, &mut ())?))),
            last: at.code_space.is_none(),
            state: Some(&|| at.state(iter, at.change < self.params.tol)),
        })
    }

    /// The model of an iterate, among all features.
    pub fn finish(&self, at: &Iterate, watch: &mut dyn Observer) -> Result<LcdlSvModel> {
        let d = self.span.lift_columns(&at.d);
        let model = self.params.model(self.span.full().classes().to_vec(), d, &at.blocks, at.svm.clone())?;
        let in_training = accuracy(&at.svm.with_bias(at.scores.clone()), &self.targets);
        self.params.refit(model, self.span.full(), in_training, None, watch)
    }
}

/// Both at once. The observer stays on its thread: it gets the first one's warnings when both are done.
pub(super) fn join<A: Send, B: Send>(
    watch: &mut dyn Observer,
    first: impl FnOnce(&mut dyn Observer) -> A + Send,
    second: impl FnOnce() -> B + Send,
) -> (A, B) {
    let mut held_back = Trace::default();
    let both = rayon::join(|| first(&mut held_back), second);
    held_back.warnings.iter().for_each(|warning| watch.warn(warning));
    both
}
