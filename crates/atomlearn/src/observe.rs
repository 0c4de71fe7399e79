//! How a caller watches training: progress, objective, warnings, stopping.

use crate::warn::Warn;
use crate::{Classifier, Result, State};
use std::ops::ControlFlow;

/// What a method tells its observer after an iteration.
pub struct Step<'a> {
    /// Iterations done; 0 is the starting point.
    pub iter: usize,
    /// Maximum number of iterations.
    pub max_iter: usize,
    /// Value of the documented objective, where it is defined.
    pub objective: Option<f64>,
    /// Its terms by name; they add up to the objective.
    pub terms: &'a [(&'static str, f64)],
    /// Relative change of what is learned, the quantity compared with `tol`.
    pub change: Option<f64>,
    /// Builds the model as it stands now; costs nothing unless called.
    pub model: Option<&'a dyn Fn() -> Result<Box<dyn Classifier>>>,
    /// True if no iteration follows: the change is small enough, or there are no more of them.
    pub last: bool,
    /// What the next iteration starts from, see [`crate::Fit::resume`]; costs nothing unless called.
    pub state: Option<&'a dyn Fn() -> State>,
}

impl Step<'_> {
    /// The starting point, before the first iteration.
    pub fn start(max_iter: usize) -> Self {
        Step { iter: 0, max_iter, objective: None, terms: &[], change: None, model: None, last: false, state: None }
    }
}

/// Watches a training run. All methods have a default that does nothing; `()` watches nothing.
///
/// ```
/// use atomlearn::methods::dpl::Dpl;
/// use atomlearn::{Fit, Observer, Step, synth};
/// use std::ops::ControlFlow;
///
/// /// Ends training after three iterations.
/// struct Three;
///
/// impl Observer for Three {
///     fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
///         println!("iteration {} of {}: {:?}", step.iter, step.max_iter, step.objective);
///         if step.iter < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
///     }
/// }
///
/// let model = Dpl::default().fit(&synth::blobs(3, 12, 8, 1), &mut Three)?; // as it stands then
/// # let _ = model;
/// # Ok::<(), atomlearn::Error>(())
/// ```
pub trait Observer {
    /// Called after every iteration; `Break` ends training with the model as it stands.
    fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
        let _ = step;
        ControlFlow::Continue(())
    }

    /// Called by methods without iterations after each of `total` parts of their work; `Break` ends training with what was
    /// found so far.
    fn progress(&mut self, done: usize, total: usize) -> ControlFlow<()> {
        let _ = (done, total);
        ControlFlow::Continue(())
    }

    /// Called with what was chosen from the data where the user left it open.
    fn note(&mut self, note: &str) {
        let _ = note;
    }

    /// Called when something was done that the user did not ask for (jitter, fewer atoms, ...).
    fn warn(&mut self, warning: &str) {
        let _ = warning;
    }
}

impl Observer for () {}

impl<O: Observer + ?Sized> Warn for O {
    fn warn(&mut self, warning: &str) {
        Observer::warn(self, warning);
    }
}

/// The observer for what is computed again on resuming: it was told everything the first time.
pub(crate) fn unless_resumed<'a>(
    from: &Option<State>,
    watch: &'a mut dyn Observer,
    silent: &'a mut (),
) -> &'a mut dyn Observer {
    if from.is_some() { silent } else { watch }
}

/// An observer that remembers everything; for tests, reports and front ends.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// One entry per step.
    pub steps: Vec<TraceStep>,
    /// Warnings in order.
    pub warnings: Vec<String>,
    /// What was chosen from the data, in order.
    pub notes: Vec<String>,
}

/// A [`Step`] without its borrowed parts.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TraceStep {
    /// Iterations done.
    pub iter: usize,
    /// Objective value.
    pub objective: Option<f64>,
    /// Terms by name.
    pub terms: Vec<(String, f64)>,
    /// Relative change.
    pub change: Option<f64>,
}

impl Observer for Trace {
    fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
        self.steps.push(TraceStep {
            iter: step.iter,
            objective: step.objective,
            terms: step.terms.iter().map(|&(name, value)| (name.to_string(), value)).collect(),
            change: step.change,
        });
        ControlFlow::Continue(())
    }

    fn note(&mut self, note: &str) {
        self.notes.push(note.to_string());
    }

    fn warn(&mut self, warning: &str) {
        self.warnings.push(warning.to_string());
    }
}
