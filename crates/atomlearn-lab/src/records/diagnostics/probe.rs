//! Test accuracy while training goes on.

use super::Progress;
use crate::records::record::RuleOutcome;
use crate::records::times::Clock;
use crate::stats::confusion::accuracy;
use atomlearn::classifier::best_class;
use atomlearn::{MatRef, Step};

/// Where a method can iterate more often than this, later iterations are thinned out.
const MANY: usize = 40;
/// Training values (features x samples) up to which every iteration is looked at. Beyond, looking would take longer than
/// training: each look builds a whole model.
const SMALL: usize = 500_000;

/// Scores the test samples by the model as it stands after an iteration, and keeps the time that took.
pub struct Probe<'a> {
    test: MatRef<'a, f64>,
    truth: &'a [usize],
    small: bool,
    next: usize,
    /// What was seen.
    pub progress: Vec<Progress>,
    /// Wall time it took.
    pub seconds: f64,
    /// CPU time it took.
    pub cpu_seconds: f64,
}

impl<'a> Probe<'a> {
    /// Nothing seen yet; `train_values` are the features times the samples of the training part.
    pub fn new(test: MatRef<'a, f64>, truth: &'a [usize], train_values: usize) -> Self {
        let small = train_values <= SMALL;
        Probe { test, truth, small, next: 0, progress: Vec::new(), seconds: 0.0, cpu_seconds: 0.0 }
    }

    /// Looks at the model, if this iteration is one to look at.
    pub fn step(&mut self, step: &Step<'_>) {
        let Some(model) = step.model.filter(|_| step.iter >= self.next) else { return };
        let pause = if self.small { (step.max_iter / MANY).min(step.iter / 2) } else { step.iter / 2 };
        self.next = step.iter + pause.max(1);
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
}

/// Everything that was seen, with what the finished model does where its last iteration was not looked at.
pub fn complete(mut seen: Vec<Progress>, n_iter: usize, rules: &[RuleOutcome]) -> Vec<Progress> {
    if seen.last().is_none_or(|last| last.iter < n_iter) {
        seen.push(Progress { iter: n_iter, accuracy: rules.iter().map(|outcome| outcome.accuracy).collect() });
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use atomlearn::methods::ridge::Ridge;
    use atomlearn::{Classifier, Fit, synth};
    use std::time::Duration;

    #[test]
    fn time_is_counted_and_large_or_long_trainings_are_thinned() {
        let data = synth::blobs(2, 10, 4, 1);
        let targets = data.targets();
        let slow = || -> atomlearn::Result<Box<dyn Classifier>> {
            std::thread::sleep(Duration::from_millis(2));
            Ok(Box::new(Ridge::default().fit(&data, &mut ())?))
        };
        let seen = |train_values: usize, max_iter: usize| {
            let mut probe = Probe::new(data.x(), &targets, train_values);
            for iter in 0..=max_iter {
                probe.step(&Step { iter, model: Some(&slow), ..Step::start(max_iter) });
            }
            assert!(probe.seconds >= 0.002 * probe.progress.len() as f64);
            probe
        };
        let iters = |probe: Probe<'_>| probe.progress.iter().map(|p| p.iter).collect::<Vec<_>>();
        assert_eq!(iters(seen(80, 20)), (0..=20).collect::<Vec<_>>());
        assert_eq!(iters(seen(SMALL + 1, 20)), [0, 1, 2, 3, 4, 6, 9, 13, 19]);
        assert!(iters(seen(80, 400)).len() < 60);
        let rule =
            RuleOutcome { rule: "linear".into(), accuracy: 0.5, predictions: Vec::new(), auc: None, probability: None };
        let progress = complete(seen(80, 5).progress, 6, &[rule]);
        assert_eq!(progress.last(), Some(&Progress { iter: 6, accuracy: vec![0.5] }));
    }
}
