//! The rounds of a method once the moments are known: one implementation per method, and which it is.

use super::message::Message;
use super::moments::{Moments, NamedParts, bordered};
use super::newton::Newton;
use super::request::{Ask, SvmAsk, SvmSums};
use super::stats::PartialStats;
use crate::methods::linear_svm::{LinearSvm, THETA};
use crate::methods::{cadl, lcdl_sv, sadl, svgdl};
use crate::registry::Values;
use crate::svm::Svm;
use crate::{Error, Observer, Result, params};
use faer::Mat;

/// A method between two rounds.
pub(crate) trait Rounds: Send + Sync {
    /// From where the samples are to be seen, where that is not zero.
    fn centre(&self, moments: &Moments) -> Option<Mat<f64>> {
        let _ = moments;
        None
    }

    /// What to ask.
    fn ask(&self, moments: &Moments) -> Result<Ask>;

    /// Takes the answer. The parts of the model, once it is finished.
    fn absorb(
        &mut self,
        stats: &mut PartialStats,
        moments: &Moments,
        watch: &mut dyn Observer,
    ) -> Result<Option<NamedParts>>;

    /// For a checkpoint.
    fn store(&self, message: &mut Message);
}

/// The start of a method, up to its first question; `scatters` are those of the classes about their means or, for methods
/// that do not look at classes, the one of all samples about theirs.
pub(super) fn begin(
    method: &str,
    values: &Values,
    moments: &Moments,
    scatters: &[Mat<f64>],
    watch: &mut dyn Observer,
) -> Result<Box<dyn Rounds>> {
    Ok(match method {
        "lcdl-sv" => {
            Box::new(lcdl_sv::partitioned::LcdlRounds::begin(params::from_map(values)?, moments, scatters, watch)?)
        }
        "svgdl" => {
            Box::new(svgdl::partitioned::SvgdlRounds::begin(params::from_map(values)?, moments, scatters, watch)?)
        }
        "cadl" => Box::new(cadl::partitioned::CadlRounds::begin(params::from_map(values)?, moments, scatters, watch)?),
        "sadl" => Box::new(sadl::partitioned::SadlRounds::begin(params::from_map(values)?, moments)?),
        "linear-svm" => Box::new(LinearSvmRounds::begin(&params::from_map(values)?, moments, scatters)?),
        other => return Err(no_rounds(other)),
    })
}

/// The counterpart of [`Rounds::store`].
pub(super) fn restore(
    method: &str,
    values: &Values,
    message: &mut Message,
    moments: &Moments,
    classes: &[String],
) -> Result<Box<dyn Rounds>> {
    Ok(match method {
        "lcdl-sv" => {
            Box::new(lcdl_sv::partitioned::LcdlRounds::restore(params::from_map(values)?, message, moments, classes)?)
        }
        "svgdl" => Box::new(svgdl::partitioned::SvgdlRounds::restore(params::from_map(values)?, message, moments)?),
        "cadl" => {
            Box::new(cadl::partitioned::CadlRounds::restore(params::from_map(values)?, message, moments, classes)?)
        }
        "sadl" => Box::new(sadl::partitioned::SadlRounds::restore(params::from_map(values)?, message, moments)?),
        "linear-svm" => Box::new(LinearSvmRounds::restore(message, moments)?),
        other => return Err(no_rounds(other)),
    })
}

fn no_rounds(method: &str) -> Error {
    Error::Data(format!("method `{method}` is trained from moments alone and has no rounds of its own"))
}

/// A linear SVM on the samples as seen from their mean: the free bias takes the difference, and digits do not suffer from it.
struct LinearSvmRounds(Newton);

impl LinearSvmRounds {
    fn begin(params: &LinearSvm, moments: &Moments, scatters: &[Mat<f64>]) -> Result<Self> {
        let (second, by_class) = bordered(&scatters[0], &moments.centred_sums(), &moments.counts);
        let tau = 1.0 / params.theta.unwrap_or(THETA);
        Ok(LinearSvmRounds(Newton::from_moments(&second, &by_class, tau)?))
    }

    fn restore(message: &mut Message, moments: &Moments) -> Result<Self> {
        let newton = Newton::restore(message)?;
        if newton.dim() != moments.n_features() || newton.n_classes() != moments.counts.len() {
            return Err(Error::Data("the checkpoint's SVM does not fit its samples".into()));
        }
        Ok(LinearSvmRounds(newton))
    }
}

impl Rounds for LinearSvmRounds {
    fn centre(&self, moments: &Moments) -> Option<Mat<f64>> {
        Some(moments.mean())
    }

    fn ask(&self, _: &Moments) -> Result<Ask> {
        let (pending, weights) = (self.0.pending(), self.0.weights(None));
        Ok(Ask::Svm(SvmAsk { chain: None, lift: None, pending, weights, sums: SvmSums::None }))
    }

    fn absorb(
        &mut self,
        stats: &mut PartialStats,
        moments: &Moments,
        _: &mut dyn Observer,
    ) -> Result<Option<NamedParts>> {
        self.0.absorb(stats, None)?;
        let zero: Vec<f64> = moments.mean().col(0).iter().map(|m| -m).collect();
        Ok(self.0.pending().is_empty().then(|| svm_parts(&self.0.solution().0.seen_from(&zero))))
    }

    fn store(&self, message: &mut Message) {
        self.0.store(message);
    }
}

/// The parts of a model that its SVM makes up.
pub(crate) fn svm_parts(svm: &Svm) -> NamedParts {
    vec![("svm_weights".into(), svm.weights.clone()), ("svm_bias".into(), svm.bias_row())]
}
