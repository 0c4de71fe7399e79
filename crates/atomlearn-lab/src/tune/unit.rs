//! One training on one fold, and everything that is read from it.

use super::{Tuning, Unit, UnitRecord};
use crate::confusion::accuracy;
use crate::grid::{Axis, ITERATIONS, combination, size};
use crate::prepared::{Clock, Prepared};
use atomlearn::method::best_class;
use atomlearn::registry::Values;
use atomlearn::{Classifier, Error, Observer, Result, Step};
use std::ops::ControlFlow;

impl Tuning<'_> {
    /// Trains and counts; a typed error of the method is a failed point, not a failed tuning.
    pub(super) fn evaluate(
        &self,
        unit: &Unit,
        key: &str,
        fold: &Prepared,
        stop: &dyn Fn() -> bool,
    ) -> Result<UnitRecord> {
        let clock = Clock::start();
        let grid = &self.spec.grid;
        let mut path = Path {
            tuning: self,
            fold,
            params: self.unit_params(unit),
            seen: vec![None; unit.iterations.len()],
            iterations: &unit.iterations,
            failures: Vec::new(),
            warnings: Vec::new(),
            last: 0,
            stop,
            stopped: false,
        };
        path.follow()?;
        let after = size(&grid.decision.iter().chain(&grid.readout).collect::<Vec<_>>());
        let correct = path.seen.into_iter().flat_map(|counts| counts.unwrap_or(vec![None; after])).collect();
        Ok(UnitRecord {
            schema: super::RECORD_SCHEMA.into(),
            key: key.into(),
            method: self.method.key.into(),
            fold: unit.fold,
            params: self.trained_with(unit),
            iterations: unit.iterations.clone(),
            samples: fold.truth.len(),
            correct,
            failures: path.failures,
            warnings: path.warnings,
            seconds: clock.stop().0,
        })
    }
}

/// A model, unless it is the one at hand, and its right answers for every combination of readout parameters.
type Decided = (Option<Box<dyn Classifier>>, Vec<usize>);

/// Right answers for every combination of decision parameters.
type Counts = Vec<Option<usize>>;

/// Follows a training and looks at the model wherever the grid asks for it.
struct Path<'a> {
    tuning: &'a Tuning<'a>,
    fold: &'a Prepared,
    /// What is trained with.
    params: Values,
    iterations: &'a [Option<u64>],
    /// Counts for each of `iterations`, once known.
    seen: Vec<Option<Counts>>,
    failures: Vec<String>,
    warnings: Vec<String>,
    /// Iterations done.
    last: u64,
    stop: &'a dyn Fn() -> bool,
    stopped: bool,
}

impl Path<'_> {
    /// Trains to the largest number of iterations.
    fn follow(&mut self) -> Result<()> {
        let params = self.params.clone();
        let model = match self.train(&params)? {
            Some(model) => model,
            None => return Ok(()),
        };
        // Training that ended early stands for every larger number of iterations. A smaller one that was not offered on
        // the way needs a training of its own.
        let missing = |path: &Self| (0..path.seen.len()).filter(|&i| path.seen[i].is_none()).collect::<Vec<_>>();
        let ended = missing(self).into_iter().filter(|&i| self.iterations[i].is_none_or(|iter| iter >= self.last));
        let ended: Vec<usize> = ended.collect();
        if !ended.is_empty() {
            let counts = self.look(model.as_ref());
            ended.into_iter().for_each(|i| self.seen[i] = Some(counts.clone()));
        }
        for i in missing(self) {
            let mut params = params.clone();
            params.insert(ITERATIONS.into(), self.iterations[i].into());
            if let Some(model) = self.train(&params)? {
                self.seen[i] = Some(self.look(model.as_ref()));
            }
        }
        Ok(())
    }

    /// Trains; `None` is a failure that was noted.
    fn train(&mut self, params: &Values) -> Result<Option<Box<dyn Classifier>>> {
        let (method, fold) = (self.tuning.method, self.fold);
        let trained = method.fit(params, &fold.train, self);
        if self.stopped {
            return Err(Error::Interrupted);
        }
        match trained {
            Ok(model) => Ok(Some(model)),
            Err(error) => {
                self.note(&error);
                Ok(None)
            }
        }
    }

    fn note(&mut self, error: &Error) {
        let text = error.to_string();
        if !self.failures.contains(&text) {
            self.failures.push(text);
        }
    }

    /// Counts right answers for every combination of decision parameters.
    fn look(&mut self, model: &dyn Classifier) -> Counts {
        let grid = &self.tuning.spec.grid;
        let (decision, readout): (Vec<&Axis>, Vec<&Axis>) =
            (grid.decision.iter().collect(), grid.readout.iter().collect());
        let mut counts = Vec::with_capacity(size(&decision) * size(&readout));
        // Each combination is decided from the one before it, which is a good start where something is fitted again.
        let mut held: Option<Box<dyn Classifier>> = None;
        for d in 0..size(&decision) {
            match self.decide(held.as_deref().unwrap_or(model), &decision, d, &readout) {
                Ok((decided, of_readout)) => {
                    held = decided.or(held);
                    counts.extend(of_readout.into_iter().map(Some));
                }
                Err(error) => {
                    self.note(&error);
                    counts.extend(vec![None; size(&readout)]);
                }
            }
        }
        counts
    }

    /// The model with combination `d` of decision parameters, unless it is `model` itself, and its right answers.
    fn decide(&self, model: &dyn Classifier, decision: &[&Axis], d: usize, readout: &[&Axis]) -> Result<Decided> {
        let (method, fold) = (self.tuning.method, self.fold);
        let mut params = self.params.clone();
        params.extend(combination(decision, d));
        // The first combination is what was trained with.
        let other = if d == 0 { None } else { Some(method.redecide(&params, model, &fold.train)?) };
        let terms = other.as_deref().unwrap_or(model).score_terms(fold.test.as_ref())?;
        let count = |r: usize| {
            let mut params = params.clone();
            params.extend(combination(readout, r));
            let scores = method.read_out(&params, &terms)?;
            let right = accuracy(&fold.truth, &best_class(scores.as_ref())) * fold.truth.len() as f64;
            Ok(right.round() as usize)
        };
        let counts = (0..size(readout)).map(count).collect::<Result<_>>()?;
        Ok((other, counts))
    }
}

impl Observer for Path<'_> {
    fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
        if (self.stop)() {
            self.stopped = true;
            return ControlFlow::Break(());
        }
        self.last = step.iter as u64;
        let wanted = self.iterations.iter().position(|iter| *iter == Some(step.iter as u64));
        if let (Some(i), Some(model)) = (wanted, step.model)
            && self.seen[i].is_none()
        {
            match model() {
                Ok(model) => self.seen[i] = Some(self.look(model.as_ref())),
                Err(error) => self.note(&error),
            }
        }
        ControlFlow::Continue(())
    }

    fn progress(&mut self, _done: usize, _total: usize) -> ControlFlow<()> {
        self.stopped |= (self.stop)();
        if self.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn warn(&mut self, warning: &str) {
        if !self.warnings.iter().any(|known| known == warning) {
            self.warnings.push(warning.to_string());
        }
    }
}
