//! One training and everything that can be read from it.
//!
//! A training serves every number of iterations (the model is looked at along the way) and every value of the parameters that act after
//! the last iteration; values that only combine terms of the scores cost next to nothing. Tuning and LCDL-SV's own choice both go
//! this way.

use crate::classifier::best_class;
use crate::grid::{Axis, ITERATIONS, combination, size};
use crate::method::Method;
use crate::params::Values;
use crate::{Classifier, Dataset, Error, Observer, Result, Step};
use faer::MatRef;
use std::ops::ControlFlow;

/// What is trained, and what is looked at.
pub struct Path<'a> {
    /// The method.
    pub method: &'a Method,
    /// What is trained with: the first combination of all axes, and the largest number of iterations.
    pub params: Values,
    /// Numbers of iterations to look at; `None` is that of `params`.
    pub iterations: &'a [Option<u64>],
    /// Axes of parameters that act after training.
    pub decision: Vec<&'a Axis>,
    /// Axes of parameters that combine scores.
    pub readout: Vec<&'a Axis>,
    /// Samples that train.
    pub train: &'a Dataset,
    /// Samples that are judged.
    pub test: MatRef<'a, f64>,
    /// Their classes, as the training samples number them.
    pub truth: &'a [usize],
    /// Another measure of predictions than how many are right, if one is wanted.
    pub measure: Option<Measure<'a>>,
}

/// Gives a value to the predicted classes of all judged samples.
pub type Measure<'a> = &'a (dyn Fn(&[usize]) -> f64 + Sync);

/// What was seen along a path.
#[derive(Clone, Debug, Default)]
pub struct PathRecord {
    /// Right answers for every number of iterations and, within it, every combination of decision and readout parameters; `None` where
    /// it failed.
    pub correct: Vec<Option<usize>>,
    /// The other measure for each of them; empty if none was asked for.
    pub measured: Vec<Option<f64>>,
    /// Why it failed, each reason once.
    pub failures: Vec<String>,
    /// What training warned about, each once.
    pub warnings: Vec<String>,
}

/// How good some predictions are.
#[derive(Clone, Copy, Debug)]
struct Judged {
    correct: usize,
    measured: f64,
}

/// A model, unless it is the one at hand, and its predictions for every combination of readout parameters.
type Decided = (Option<Box<dyn Classifier>>, Vec<Judged>);

/// Predictions for every combination of decision parameters.
type Counts = Vec<Option<Judged>>;

impl Path<'_> {
    /// Trains and counts; a typed error of the method is a failed point. `stop` is asked after every iteration, and its yes is
    /// [`Error::Interrupted`].
    pub fn follow(&self, stop: &dyn Fn() -> bool) -> Result<PathRecord> {
        let counts = vec![None; self.iterations.len()];
        let mut walk = Walk { path: self, counts, seen: PathRecord::default(), last: 0, stop, stopped: false };
        walk.follow()?;
        let after = size(&self.decision) * size(&self.readout);
        let judged: Counts = walk.counts.into_iter().flat_map(|counts| counts.unwrap_or(vec![None; after])).collect();
        let correct = judged.iter().map(|judged| judged.map(|judged| judged.correct)).collect();
        let measured = judged.iter().map(|judged| judged.map(|judged| judged.measured));
        let measured = self.measure.map_or_else(Vec::new, |_| measured.collect());
        Ok(PathRecord { correct, measured, ..walk.seen })
    }

    /// The model with combination `d` of decision parameters, unless it is `model` itself, and its right answers.
    fn decide(&self, model: &dyn Classifier, d: usize) -> Result<Decided> {
        let mut params = self.params.clone();
        params.extend(combination(&self.decision, d));
        // The first combination is what was trained with.
        let other = if d == 0 { None } else { Some(self.method.redecide(&params, model, self.train)?) };
        let terms = other.as_deref().unwrap_or(model).score_terms(self.test)?;
        let count = |r: usize| {
            let mut params = params.clone();
            params.extend(combination(&self.readout, r));
            let found = best_class(self.method.read_out(&params, &terms)?);
            let correct = found.iter().zip(self.truth).filter(|(found, truth)| found == truth).count();
            Ok(Judged { correct, measured: self.measure.map_or(0.0, |measure| measure(&found)) })
        };
        let counts = (0..size(&self.readout)).map(count).collect::<Result<_>>()?;
        Ok((other, counts))
    }
}

/// Follows a training and looks at the model wherever the path asks for it.
struct Walk<'a> {
    path: &'a Path<'a>,
    /// For each number of iterations, once known.
    counts: Vec<Option<Counts>>,
    seen: PathRecord,
    /// Iterations done.
    last: u64,
    stop: &'a dyn Fn() -> bool,
    stopped: bool,
}

impl Walk<'_> {
    /// Trains to the largest number of iterations.
    fn follow(&mut self) -> Result<()> {
        let params = self.path.params.clone();
        let iterations = self.path.iterations;
        let Some(model) = self.train(&params)? else { return Ok(()) };
        // Training that ended early stands for every larger number of iterations. A smaller one that was not offered on
        // the way needs a training of its own.
        let missing = |walk: &Self| (0..walk.counts.len()).filter(|&i| walk.counts[i].is_none()).collect::<Vec<_>>();
        let ended = missing(self).into_iter().filter(|&i| iterations[i].is_none_or(|iter| iter >= self.last));
        let ended: Vec<usize> = ended.collect();
        if !ended.is_empty() {
            let counts = self.look(&*model);
            ended.into_iter().for_each(|i| self.counts[i] = Some(counts.clone()));
        }
        for i in missing(self) {
            let mut params = params.clone();
            params.insert(ITERATIONS.into(), iterations[i].into());
            if let Some(model) = self.train(&params)? {
                self.counts[i] = Some(self.look(&*model));
            }
        }
        Ok(())
    }

    /// Trains; `None` is a failure that was noted.
    fn train(&mut self, params: &Values) -> Result<Option<Box<dyn Classifier>>> {
        let path = self.path;
        let trained = path.method.fit(params, path.train, self);
        if self.stopped {
            return Err(Error::Interrupted);
        }
        match trained {
            Ok(model) => Ok(Some(model)),
            Err(error) => {
                self.fail(&error);
                Ok(None)
            }
        }
    }

    fn fail(&mut self, error: &Error) {
        let text = error.to_string();
        if !self.seen.failures.contains(&text) {
            self.seen.failures.push(text);
        }
    }

    /// Counts right answers for every combination of decision parameters.
    fn look(&mut self, model: &dyn Classifier) -> Counts {
        let decisions = size(&self.path.decision);
        let readouts = size(&self.path.readout);
        let mut counts = Vec::with_capacity(decisions * readouts);
        // Each combination is decided from the one before it, which is a good start where something is fitted again.
        let mut held: Option<Box<dyn Classifier>> = None;
        for d in 0..decisions {
            match self.path.decide(held.as_deref().unwrap_or(model), d) {
                Ok((decided, of_readout)) => {
                    held = decided.or(held);
                    counts.extend(of_readout.into_iter().map(Some));
                }
                Err(error) => {
                    self.fail(&error);
                    counts.extend(vec![None; readouts]);
                }
            }
        }
        counts
    }
}

impl Observer for Walk<'_> {
    fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
        if (self.stop)() {
            self.stopped = true;
            return ControlFlow::Break(());
        }
        self.last = step.iter as u64;
        let wanted = self.path.iterations.iter().position(|iter| *iter == Some(step.iter as u64));
        if let (Some(i), Some(model)) = (wanted, step.model)
            && self.counts[i].is_none()
        {
            match model() {
                Ok(model) => self.counts[i] = Some(self.look(&*model)),
                Err(error) => self.fail(&error),
            }
        }
        ControlFlow::Continue(())
    }

    fn progress(&mut self, _done: usize, _total: usize) -> ControlFlow<()> {
        self.stopped |= (self.stop)();
        if self.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn warn(&mut self, warning: &str) {
        if !self.seen.warnings.iter().any(|known| known == warning) {
            self.seen.warnings.push(warning.to_string());
        }
    }
}
