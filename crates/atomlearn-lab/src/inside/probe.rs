//! Test accuracy while training goes on.

use super::Progress;
use crate::compare::Clock;
use crate::confusion::accuracy;
use crate::record::RuleOutcome;
use atomlearn::method::best_class;
use atomlearn::{MatRef, Step};

/// Iterations that are all scored; later ones are thinned out where there can be many.
const FIRST: usize = 20;
/// About how many iterations are scored at most beyond the first.
const LATER: usize = 40;

/// Scores the test samples by the model as it stands after an iteration, and keeps the time that took.
pub struct Probe<'a> {
    test: MatRef<'a, f64>,
    truth: &'a [usize],
    /// What was seen.
    pub progress: Vec<Progress>,
    /// Wall time it took.
    pub seconds: f64,
    /// CPU time it took.
    pub cpu_seconds: f64,
}

impl<'a> Probe<'a> {
    /// Nothing seen yet.
    pub fn new(test: MatRef<'a, f64>, truth: &'a [usize]) -> Self {
        Probe { test, truth, progress: Vec::new(), seconds: 0.0, cpu_seconds: 0.0 }
    }

    /// Looks at the model, if this iteration is one to look at.
    pub fn step(&mut self, step: &Step<'_>) {
        let every = (step.max_iter / LATER).max(1);
        if step.iter > FIRST && !step.iter.is_multiple_of(every) {
            return;
        }
        let Some(model) = step.model else { return };
        let clock = Clock::start();
        // A model that cannot be built or scored midway is left out; if it matters, training itself will say so.
        if let Ok(scores) = model().and_then(|model| model.scores_by_rule(self.test)) {
            let right = |scores: &atomlearn::Mat<f64>| accuracy(self.truth, &best_class(scores.as_ref()));
            let accuracy = scores.iter().map(|(_, scores)| right(scores)).collect();
            self.progress.push(Progress { iter: step.iter, accuracy });
        }
        let (seconds, cpu_seconds) = clock.stop();
        self.seconds += seconds;
        self.cpu_seconds += cpu_seconds;
    }

    /// Everything that was seen, with what the finished model does where its last iteration was not looked at.
    pub fn finish(mut self, n_iter: Option<usize>, rules: &[RuleOutcome]) -> Vec<Progress> {
        if let Some(iter) = n_iter.filter(|iter| self.progress.last().is_none_or(|last| last.iter < *iter)) {
            self.progress.push(Progress { iter, accuracy: rules.iter().map(|outcome| outcome.accuracy).collect() });
        }
        self.progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atomlearn::methods::ridge::Ridge;
    use atomlearn::{Classifier, Fit, synth};
    use std::time::Duration;

    #[test]
    fn time_is_counted_and_late_iterations_are_thinned() {
        let data = synth::blobs(2, 10, 4, 1);
        let targets = data.targets();
        let mut probe = Probe::new(data.x(), &targets);
        let slow = || -> atomlearn::Result<Box<dyn Classifier>> {
            std::thread::sleep(Duration::from_millis(2));
            Ok(Box::new(Ridge::default().fit(&data, &mut ())?))
        };
        for iter in 0..=400 {
            probe.step(&Step { iter, model: Some(&slow), ..Step::start(400) });
        }
        assert!(probe.seconds >= 0.002 * probe.progress.len() as f64);
        assert_eq!(probe.progress.len(), 21 + 38);
        let rule = RuleOutcome { rule: "linear".into(), accuracy: 0.5, predictions: Vec::new() };
        let progress = probe.finish(Some(401), &[rule]);
        assert_eq!(progress.last(), Some(&Progress { iter: 401, accuracy: vec![0.5] }));
    }
}
