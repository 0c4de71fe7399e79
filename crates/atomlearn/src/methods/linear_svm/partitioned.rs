//! The linear SVM from sums over partitions, see [`crate::rounds`].

use super::{LinearSvm, THETA};
use crate::prep::Prep;
use crate::rounds::{
    Ask, Message, Moments, Newton, PartialStats, Partitioned, PullAsk, Rounds, RoundsStart, Scatter, SvmAsk, bordered,
};
use crate::{Error, Observer, Parts, Result};
use faer::Mat;

/// A linear SVM on the samples as seen from their mean: the free bias takes the difference, and digits do not suffer from it.
struct LinearSvmRounds(Newton);

impl Partitioned for LinearSvm {
    const SCATTER: Scatter = Scatter::Together;

    fn begin(self, moments: &Moments, scatters: &[Mat<f64>], _: &mut dyn Observer) -> Result<RoundsStart> {
        let (second, by_class) = bordered(&scatters[0], &moments.centered_sums(), &moments.counts);
        let tau = 1.0 / self.theta.unwrap_or(THETA);
        Ok(RoundsStart::Rounds(Box::new(LinearSvmRounds(Newton::from_moments(&second, &by_class, tau)?))))
    }

    fn resume(self, message: &mut Message, moments: &Moments, _: &[String]) -> Result<Box<dyn Rounds>> {
        let newton = Newton::restore(message)?;
        if newton.dim() != moments.n_features() || newton.n_classes() != moments.counts.len() {
            return Err(Error::Data("the checkpoint's SVM does not fit its samples".into()));
        }
        Ok(Box::new(LinearSvmRounds(newton)))
    }
}

impl Rounds for LinearSvmRounds {
    fn seen_through(&self, prep: &Prep, moments: &Moments) -> Result<Prep> {
        Ok(prep.centered_at(moments.mean()))
    }

    fn ask(&self, _: &Moments) -> Result<Ask> {
        Ok(Ask::Svm(SvmAsk {
            chain: None,
            lift: None,
            pending: self.0.pending(),
            weights: self.0.weights(None),
            sums: PullAsk::None,
        }))
    }

    fn absorb(&mut self, stats: &mut PartialStats, moments: &Moments, _: &mut dyn Observer) -> Result<Option<Parts>> {
        self.0.absorb(stats, None)?;
        let zero: Vec<f64> = moments.mean().col(0).iter().map(|m| -m).collect();
        if !self.0.pending().is_empty() {
            return Ok(None);
        }
        let mut parts = Parts::default();
        parts.put_svm(&self.0.solution().0.seen_from(&zero));
        Ok(Some(parts))
    }

    fn store(&self, message: &mut Message) {
        self.0.store(message);
    }
}
