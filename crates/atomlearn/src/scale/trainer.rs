//! The state machine that trains: preprocessing, a survey of the classes, second moments, then the rounds of the method.

use crate::dataset::sorted_classes;
use crate::linalg::{mul_add, scaled_columns};
use crate::method::InPartitions;
use crate::observe::Trace;
use crate::parts::check_shape;
use crate::prep::{Needs, Prep, PrepSpec};
use crate::registry::{self, METHODS, Method, Values};
use crate::rounds::{
    Ask, Moments, PartialStats, Request, Rounds, RoundsStart, Scatter, ScatterSums, about_the_mean, unpacked,
};
use crate::{Error, Model, Observer, Parts, Result, Step};
use faer::{Mat, MatRef, Scale};
use std::ops::ControlFlow;

mod checkpoint;

/// Largest sum of one round; beyond it the classes have too many features for their Hessians to be sent around.
const LARGEST_ANSWER: usize = 1 << 30;

/// What is to be trained on what.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Method, one that [learns in partitions](Method::learns_in_partitions).
    pub method: String,
    /// Its parameters; those not given take their defaults.
    pub params: Values,
    /// Preprocessing; steps that need all samples at once are refused.
    pub prep: PrepSpec,
    /// Number of logical partitions.
    pub partitions: usize,
    /// Features of a raw sample.
    pub n_features: usize,
    /// Names the data, so that a checkpoint is not resumed on others.
    pub data: String,
}

/// Training between two rounds.
pub struct Trainer {
    setup: Setup,
    method: &'static Method,
    run: String,
    round: u64,
    prep: Prep,
    classes: Vec<String>,
    moments: Moments,
    stage: TrainerStage,
    trace: Trace,
}

enum TrainerStage {
    /// Mean of the samples that reach the next preprocessing step.
    PrepMean,
    /// Their scatter about it.
    PrepScatter {
        mean: Mat<f64>,
    },
    /// Classes, their counts and sums.
    Survey,
    /// Second moments, by class or all together.
    Moments {
        by_class: bool,
    },
    /// The method's own.
    Rounds(Box<dyn Rounds>),
    Done(Parts),
}

/// Where training stands, for people.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Progress {
    /// Rounds that were answered.
    pub rounds: u64,
    /// Iterations of the method that are done.
    pub iter: usize,
    /// What is asked next.
    pub asks: &'static str,
}

impl Trainer {
    /// A new training. `run` must differ from that of any other training whose partitions are still remembered.
    pub fn new(mut setup: Setup, run: String) -> Result<Self> {
        let method = registry::method(&setup.method)?;
        partitioned(method)?;
        // Partitions are never together in one place, so nothing is chosen by leaving samples out.
        let given = method.complete(&setup.params)?;
        setup.params = method.fixed(&given)?;
        let mut trace = Trace::default();
        let fixed = registry::chosen(&given, &setup.params);
        if !fixed.is_empty() {
            let values: Vec<String> = fixed.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            trace.note(&format!("partitioned training chooses no parameters from the data: {}", values.join(", ")));
        }
        if setup.partitions == 0 || setup.n_features == 0 {
            return Err(Error::Data("no data: there must be at least one partition and one feature".into()));
        }
        (0..setup.prep.len()).try_for_each(|i| setup.prep.need(i).map(drop))?;
        let mut trainer = Trainer {
            prep: Prep::none(setup.n_features),
            setup,
            method,
            run,
            round: 0,
            classes: Vec::new(),
            moments: Moments::none(),
            stage: TrainerStage::PrepMean,
            trace,
        };
        trainer.next_step(&mut ())?;
        Ok(trainer)
    }

    /// What it was made for.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Steps and warnings so far.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Number of training samples, once they are counted.
    pub fn samples(&self) -> u64 {
        self.moments.n_samples() as u64
    }

    /// Number of classes, once they are known.
    pub fn n_classes(&self) -> usize {
        self.classes.len()
    }

    /// What makes another setup a different training, if anything does.
    pub fn differs_from(&self, other: &Setup) -> Result<Option<&'static str>> {
        let own = &self.setup;
        let params = registry::method(&other.method)?.fixed(&other.params)?;
        Ok(match () {
            () if own.method != other.method => Some("the method"),
            () if own.params != params => Some("a parameter"),
            () if own.prep != other.prep => Some("the preprocessing"),
            () if own.partitions != other.partitions => Some("the number of partitions"),
            () if own.data != other.data || own.n_features != other.n_features => Some("the data"),
            () => None,
        })
    }

    /// Where training stands.
    pub fn progress(&self) -> Progress {
        let asks = match &self.stage {
            TrainerStage::PrepMean | TrainerStage::PrepScatter { .. } => "preprocessing",
            TrainerStage::Survey => "classes",
            TrainerStage::Moments { .. } => "second moments",
            TrainerStage::Rounds(_) => "iterations",
            TrainerStage::Done(_) => "nothing",
        };
        Progress { rounds: self.round, iter: self.trace.steps.last().map_or(0, |step| step.iter), asks }
    }

    /// The next question to all partitions; `None` once the model is finished.
    pub fn request(&self) -> Result<Option<Request>> {
        let ask = match &self.stage {
            TrainerStage::PrepMean => Ask::Sum,
            TrainerStage::PrepScatter { mean } => Ask::Scatter { center: mean.clone() },
            TrainerStage::Survey => Ask::Survey,
            TrainerStage::Moments { by_class: true } => Ask::ClassScatter { centers: self.moments.means() },
            TrainerStage::Moments { by_class: false } => Ask::Scatter { center: self.moments.mean() },
            TrainerStage::Rounds(rounds) => rounds.ask(&self.moments)?,
            TrainerStage::Done(_) => return Ok(None),
        };
        let prep = match &self.stage {
            TrainerStage::Rounds(rounds) => rounds.seen_through(&self.prep, &self.moments)?,
            _ => self.prep.clone(),
        };
        let classes = self.classes.clone();
        Ok(Some(Request { run: self.run.clone(), round: self.round, prep, classes, ask }))
    }

    /// Takes the merged answers of all partitions to the last request.
    pub fn absorb(&mut self, mut stats: PartialStats, watch: &mut dyn Observer) -> Result<()> {
        if stats.round != self.round || stats.first != 0 || stats.count != self.setup.partitions {
            return Err(Error::Data(format!(
                "expected the answers of partitions 0 to {} to round {}, found those of {} to {} to round {}",
                self.setup.partitions - 1,
                self.round,
                stats.first,
                stats.first + stats.count - 1,
                stats.round
            )));
        }
        let mut trace = std::mem::take(&mut self.trace);
        let outcome = self.advance(&mut stats, &mut Both(&mut trace, watch));
        self.trace = trace;
        outcome?;
        self.round += 1;
        Ok(())
    }

    fn advance(&mut self, stats: &mut PartialStats, watch: &mut dyn Observer) -> Result<()> {
        let n = stats.samples as f64;
        match &mut self.stage {
            TrainerStage::PrepMean => {
                let m = self.prep.n_out()?;
                let mean = scaled_columns(stats.take("sum", m, 1)?, |_| 1.0 / n);
                if self.setup.prep.need(self.prep.n_steps())? == Needs::Scatter {
                    self.stage = TrainerStage::PrepScatter { mean };
                    return Ok(());
                }
                self.add_step(n, &mean, None, watch)
            }
            TrainerStage::PrepScatter { mean } => {
                let center = mean.clone();
                let (mean, scatter) = take_scatter(stats, None, center.as_ref(), n)?;
                self.add_step(n, &mean, Some(&scatter), watch)
            }
            TrainerStage::Survey => self.take_survey(stats, watch),
            TrainerStage::Moments { by_class } => {
                if !*by_class {
                    let (mean, scatter) = take_scatter(stats, None, self.moments.mean().as_ref(), n)?;
                    self.moments.outer = scatter.clone();
                    mul_add(self.moments.outer.as_mut(), n, &mean, mean.transpose());
                    return self.begin_method(&[scatter], watch);
                }
                let means = self.moments.means();
                let mut scatters = Vec::with_capacity(self.classes.len());
                for (c, &count) in self.moments.counts.iter().enumerate() {
                    let (mean, scatter) = take_scatter(stats, Some(c), means.subcols(c, 1), count)?;
                    self.moments.sums.subcols_mut(c, 1).copy_from(Scale(count) * mean);
                    scatters.push(scatter);
                }
                self.moments.outer = self.moments.outer_of(&scatters);
                self.begin_method(&scatters, watch)
            }
            TrainerStage::Rounds(rounds) => {
                if let Some(parts) = rounds.absorb(stats, &self.moments, watch)? {
                    self.stage = TrainerStage::Done(parts);
                }
                Ok(())
            }
            TrainerStage::Done(_) => Err(Error::Data("the model is finished, there is no open question".into())),
        }
    }

    fn add_step(
        &mut self,
        n: f64,
        mean: &Mat<f64>,
        scatter: Option<&Mat<f64>>,
        watch: &mut dyn Observer,
    ) -> Result<()> {
        let mean: Vec<f64> = mean.col(0).iter().copied().collect();
        self.prep.add_step(&self.setup.prep, n, &mean, scatter, watch)?;
        self.next_step(watch)
    }

    /// Adds preprocessing steps that need no samples, up to the first that does, or to the survey.
    fn next_step(&mut self, watch: &mut dyn Observer) -> Result<()> {
        while self.prep.n_steps() < self.setup.prep.len() {
            if self.setup.prep.need(self.prep.n_steps())? != Needs::Nothing {
                self.stage = TrainerStage::PrepMean;
                return Ok(());
            }
            self.prep.add_step(&self.setup.prep, 0.0, &[], None, watch)?;
        }
        self.stage = TrainerStage::Survey;
        Ok(())
    }

    fn take_survey(&mut self, stats: &mut PartialStats, watch: &mut dyn Observer) -> Result<()> {
        let m = self.prep.n_out()?;
        let mut found = stats.take_all("label.");
        let labels: Vec<String> = found.iter().map(|(label, _)| label.clone()).collect();
        self.classes = sorted_classes(&labels);
        if self.classes.len() < 2 {
            return Err(Error::Data(format!(
                "only one class (`{}`): a classifier needs samples of at least two classes",
                self.classes.first().map_or("", String::as_str)
            )));
        }
        found.sort_by_key(|(label, _)| self.classes.iter().position(|class| class == label));
        for (_, sum) in &found {
            check_shape("sum of a label", sum, Some(m + 1), Some(1))?;
        }
        self.moments.counts = found.iter().map(|(_, sum)| sum[(m, 0)]).collect();
        self.moments.sums = Mat::from_fn(m, found.len(), |i, c| found[c].1[(i, 0)]);
        let side = m + self.classes.len() + 1;
        let bytes = 4 * self.classes.len() * side * side;
        let partitioned = partitioned(self.method)?;
        if bytes > LARGEST_ANSWER && partitioned.class_matrices {
            return Err(Error::Data(format!(
                "the answers of a round would take {} MiB ({} classes, {m} features); use fewer features \
                 (option `prep = pca:N`) or train in memory",
                bytes >> 20,
                self.classes.len()
            )));
        }
        match partitioned.scatter {
            Scatter::Nothing => return self.begin_method(&[], watch),
            Scatter::Together => self.stage = TrainerStage::Moments { by_class: false },
            Scatter::ByClass => self.stage = TrainerStage::Moments { by_class: true },
        }
        Ok(())
    }

    fn begin_method(&mut self, scatters: &[Mat<f64>], watch: &mut dyn Observer) -> Result<()> {
        let partitioned = partitioned(self.method)?;
        self.stage = match (partitioned.begin)(&self.setup.params, &self.moments, scatters, watch)? {
            RoundsStart::Done(parts) => TrainerStage::Done(parts),
            RoundsStart::Rounds(rounds) => TrainerStage::Rounds(rounds),
        };
        Ok(())
    }

    /// The model, once [`Trainer::request`] has nothing more to ask.
    pub fn model(&self) -> Result<Option<Model>> {
        let TrainerStage::Done(parts) = &self.stage else { return Ok(None) };
        let parts = parts.clone().of("model", self.classes.clone());
        let classifier = self.method.restore(&self.setup.params, parts)?;
        let mut model = Model::new(self.method, self.setup.params.clone(), self.prep.clone(), classifier)?;
        model.info.set_partitions(self.setup.partitions);
        model.info.set_trace(&self.trace);
        Ok(Some(model))
    }
}

/// How a method learns from sums over partitions, or which others do.
fn partitioned(method: &Method) -> Result<&InPartitions> {
    method.partitioned().ok_or_else(|| {
        let able: Vec<&str> =
            METHODS.iter().filter(|other| other.learns_in_partitions()).map(|other| other.key).collect();
        Error::param("method", method.key, format!("cannot be trained in partitions; these can: {}", able.join(", ")))
    })
}

/// The mean and the scatter about it from the answer to a question for the scatter about `centre`.
fn take_scatter(
    stats: &mut PartialStats,
    class: Option<usize>,
    center: MatRef<'_, f64>,
    n: f64,
) -> Result<(Mat<f64>, Mat<f64>)> {
    let m = center.nrows();
    let ScatterSums { scatter, rest } = ScatterSums::take(stats, class, m)?;
    let mut scatter = unpacked(&scatter, m);
    let mean = about_the_mean(&mut scatter, center, &rest, n);
    Ok((mean, scatter))
}

/// Tells two observers.
struct Both<'a>(&'a mut Trace, &'a mut dyn Observer);

impl Observer for Both<'_> {
    fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
        let _ = self.0.step(step);
        self.1.step(step)
    }

    fn progress(&mut self, done: usize, total: usize) -> ControlFlow<()> {
        self.1.progress(done, total)
    }

    fn note(&mut self, note: &str) {
        self.0.note(note);
        self.1.note(note);
    }

    fn warn(&mut self, warning: &str) {
        self.0.warn(warning);
        self.1.warn(warning);
    }
}
