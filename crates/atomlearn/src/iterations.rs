//! What all training loops share: which iterations are left, what the observer is told after each, and when to stop.

use crate::{Classifier, Error, Observer, Result, State, Step};
use std::ops::{ControlFlow, RangeInclusive};

/// The iterations of one training run.
pub(crate) struct Iterations {
    method: &'static str,
    left: RangeInclusive<usize>,
    max_iter: usize,
    tol: f64,
}

/// What an iteration has led to.
pub(crate) struct Done<'a, M> {
    /// Terms of the objective by name; they add up to it.
    pub terms: &'a [(&'static str, f64)],
    /// What is compared with the tolerance, where a method has one.
    pub change: Option<f64>,
    /// Builds the model as it stands.
    pub model: &'a dyn Fn() -> Result<M>,
    /// Puts into a state what the next iteration starts from.
    pub state: &'a dyn Fn(State) -> State,
}

impl Iterations {
    /// Up to `max_iter` iterations, from the first or from those that a state has done, until the change is below `tol`.
    pub fn new<'s>(
        method: &'static str,
        from: impl Into<Option<&'s State>>,
        max_iter: usize,
        tol: f64,
    ) -> Result<Self> {
        let left = match from.into() {
            None => 1..=max_iter,
            Some(state) if state.iter() > max_iter => {
                return Err(Error::param(
                    "max_iter",
                    max_iter,
                    format!("fewer than the {} iterations that are done already", state.iter()),
                ));
            }
            Some(state) if state.converged() || state.iter() == max_iter => RangeInclusive::new(1, 0),
            Some(state) => state.iter() + 1..=max_iter,
        };
        Ok(Iterations { method, left, max_iter, tol })
    }

    /// Those that are still to be done, counted from 1.
    pub fn left(&self) -> RangeInclusive<usize> {
        self.left.clone()
    }

    /// Tells the observer what an iteration has led to; a break says that none follows. An objective that is not finite is an
    /// error: no later iteration would fix it.
    pub fn report<M: Classifier + 'static>(
        &self,
        iter: usize,
        done: &Done<'_, M>,
        watch: &mut dyn Observer,
    ) -> Result<ControlFlow<()>> {
        let objective = objective(done.terms);
        if !objective.is_finite() || done.change.is_some_and(f64::is_nan) {
            return Err(Error::numeric(
                self.method,
                "the objective is no longer finite; scale the samples to unit norm",
            ));
        }
        let converged = done.change.is_some_and(|change| change < self.tol);
        let flow = watch.step(&Step {
            iter,
            max_iter: self.max_iter,
            objective: Some(objective),
            terms: done.terms,
            change: done.change.filter(|change| change.is_finite()),
            model: Some(&|| Ok(Box::new((done.model)()?))),
            last: converged || iter == self.max_iter,
            state: Some(&|| (done.state)(State::after(iter, converged))),
        });
        Ok(if converged { ControlFlow::Break(()) } else { flow })
    }
}

/// The sum of the terms.
pub(crate) fn objective(terms: &[(&'static str, f64)]) -> f64 {
    terms.iter().map(|term| term.1).sum()
}

/// How much an objective fell in an iteration, as a part of what it is now; all of it in the first one, when `before` is infinite.
pub(crate) fn relative_decrease(before: f64, now: f64) -> f64 {
    if before.is_finite() { (before - now) / now.max(f64::MIN_POSITIVE) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::knn::KnnModel;

    #[test]
    fn iterations_go_on_where_they_stopped() {
        let left = |iter: usize, converged: bool, max_iter: usize| {
            let state = State::after(iter, converged);
            Iterations::new("test", Some(&state), max_iter, 0.0).map(|iterations| iterations.left().collect::<Vec<_>>())
        };
        assert_eq!(Iterations::new("test", None::<&State>, 3, 0.0).unwrap().left().collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(left(2, false, 4).unwrap(), [3, 4]);
        assert_eq!((left(4, false, 4).unwrap(), left(2, true, 4).unwrap()), (vec![], vec![]));
        assert!(left(usize::MAX, false, usize::MAX).unwrap().is_empty());
        assert!(left(5, false, 4).unwrap_err().to_string().contains("5 iterations"));
    }

    /// What the observer sees of one iteration.
    struct Seen {
        last: bool,
        converged: bool,
        change: Option<f64>,
        flow: ControlFlow<()>,
    }

    impl Observer for Seen {
        fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
            (self.last, self.change) = (step.last, step.change);
            self.converged = step.state.is_some_and(|state| state().converged());
            self.flow
        }
    }

    #[test]
    fn training_ends_by_its_tolerance_its_number_or_its_observer() {
        let iterations = Iterations::new("test", None::<&State>, 3, 0.1).unwrap();
        let report = |iter: usize, term: f64, change: Option<f64>, flow: ControlFlow<()>| {
            let mut seen = Seen { last: false, converged: false, change: None, flow };
            let none = || -> Result<KnnModel> { Err(Error::Data("no model".into())) };
            let terms = [("fit", term), ("rest", 1.0)];
            let done = Done { terms: &terms, change, model: &none, state: &|state| state };
            iterations
                .report(iter, &done, &mut seen)
                .map(|flow| (flow.is_break(), seen.last, seen.converged, seen.change))
        };
        let go_on = ControlFlow::Continue(());
        assert_eq!(report(1, 1.0, Some(0.1), go_on).unwrap(), (false, false, false, Some(0.1)));
        assert_eq!(report(1, 1.0, Some(0.09), go_on).unwrap(), (true, true, true, Some(0.09)));
        assert_eq!(report(1, 1.0, Some(0.2), ControlFlow::Break(())).unwrap(), (true, false, false, Some(0.2)));
        // The last one allowed: the loop ends by itself, and a later run with more of them goes on.
        assert_eq!(report(3, 1.0, None, go_on).unwrap(), (false, true, false, None));
        assert_eq!(report(1, 1.0, Some(f64::INFINITY), go_on).unwrap(), (false, false, false, None));
        for broken in [report(1, f64::NAN, None, go_on), report(1, f64::INFINITY, None, go_on)] {
            assert!(broken.unwrap_err().to_string().contains("test: the objective is no longer finite"));
        }
        assert!(report(1, 1.0, Some(f64::NAN), go_on).is_err());
    }
}
