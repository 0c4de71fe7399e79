//! From counts to a choice.

use super::{TuneProtocol, Tuning, UnitRecord};
use crate::protocol::data::DataInfo;
use crate::protocol::grid::{Axis, ITERATIONS, PREP};
use crate::protocol::params_file;
use crate::records::provenance::Provenance;
use crate::stats::statistics::{accuracy_interval95, mean, std};
use atomlearn::grid::steps_from;
use atomlearn::registry::Values;
use atomlearn::{Error, Result};
use serde::Serialize;

/// Schema of [`Tuned`].
pub const SCHEMA: &str = "atomlearn.tune/1";

/// One point of the grid over all folds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GridPoint {
    /// Values of the tuned parameters.
    pub params: Values,
    /// Share of right validation samples on each fold.
    pub accuracy: Vec<f64>,
    /// Right validation samples over all folds.
    pub correct: usize,
    /// Share of right validation samples over all folds.
    pub mean: f64,
    /// Where something else is chosen by, its value on each fold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<f64>,
    /// What points are ranked by: `mean`, or the mean of `measured`.
    pub score: f64,
    /// Standard error of the score over folds; null if the point failed.
    pub std_error: Option<f64>,
    /// Why the point failed, on whatever fold.
    pub failed: Option<String>,
    #[serde(skip)]
    samples: usize,
}

impl GridPoint {
    /// Counts one fold; `failures` are the reasons that its unit gave.
    pub(super) fn add(&mut self, correct: Option<usize>, measured: Option<f64>, samples: usize, failures: &[String]) {
        self.measured.extend(measured);
        match correct {
            Some(correct) => {
                self.accuracy.push(correct as f64 / samples as f64);
                self.correct += correct;
                self.samples += samples;
            }
            None => self.failed = Some(failures.first().map_or("not evaluated".into(), String::clone)),
        }
    }

    fn finish(&mut self, params: Values) {
        self.params = params;
        if self.failed.is_none() && self.samples > 0 {
            self.mean = self.correct as f64 / self.samples as f64;
            let values = if self.measured.is_empty() { &self.accuracy } else { &self.measured };
            self.score = if self.measured.is_empty() { self.mean } else { mean(&self.measured) };
            self.std_error = std(values).map(|std| std / (values.len() as f64).sqrt());
        }
    }
}

/// What lies within one standard error of the best.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OneSe {
    /// Mean of the best point minus its standard error.
    pub threshold: f64,
    /// Points at or above it.
    pub points: usize,
    /// The simplest of them: fewest iterations, then as for ties.
    pub params: Values,
    /// Its mean.
    pub mean: f64,
}

/// The chosen point in the form of a result of `compare`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chosen {
    /// Method.
    pub method: String,
    /// Preprocessing, given or chosen.
    pub prep: String,
    /// All parameters, the chosen ones among them.
    pub params: Values,
    /// Accuracy on each fold.
    pub accuracy: Vec<f64>,
    /// Share of right validation samples over all folds.
    pub mean: f64,
    /// Standard deviation over folds.
    pub std: Option<f64>,
    /// 95 % interval of the mean over folds.
    pub ci95: Option<[f64; 2]>,
}

/// The outcome of a tuning; its JSON is documented in `docs/reference/formats.md`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tuned {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The data.
    pub data: DataInfo,
    /// The protocol.
    pub protocol: TuneProtocol,
    /// The chosen point, as the only entry.
    pub results: Vec<Chosen>,
    /// The chosen values alone.
    pub chosen: Values,
    /// What lies within one standard error of the best.
    pub one_se: OneSe,
    /// What was tried.
    pub grid: Vec<Axis>,
    /// Every point in grid order.
    pub points: Vec<GridPoint>,
    /// Points that failed.
    pub failed: usize,
    /// Trainings that served all points.
    pub trainings: usize,
    /// How many of them warned.
    pub warned: usize,
    /// Some of what they said.
    pub warnings: Vec<String>,
    /// Wall time.
    pub seconds: f64,
    /// CPU time, all threads.
    pub cpu_seconds: f64,
    /// Version, machine and time.
    pub provenance: Provenance,
}

impl Tuned {
    pub(super) fn new(
        tuning: &Tuning<'_>,
        mut points: Vec<GridPoint>,
        records: &[UnitRecord],
        (seconds, cpu_seconds): (f64, f64),
    ) -> Result<Self> {
        let grid = &tuning.spec.grid;
        points.iter_mut().enumerate().for_each(|(i, point)| point.finish(grid.point(i)));
        let usable = || (0..points.len()).filter(|&i| points[i].failed.is_none());
        let axes = grid.axes();
        let away = |i: usize| steps_from(tuning.base, &axes, i);
        // Ties go to the point that is fewest grid steps away from the defaults, then to the first in grid order.
        let better = |&a: &usize, &b: &usize| {
            points[b].score.total_cmp(&points[a].score).then_with(|| (away(a), a).cmp(&(away(b), b)))
        };
        let best = usable().min_by(better).ok_or_else(|| {
            let why = points.iter().find_map(|point| point.failed.clone()).unwrap_or_default();
            Error::numeric(format!("tuning {}", tuning.method.key), format!("every point of the grid failed: {why}"))
        })?;
        let threshold = points[best].score - points[best].std_error.unwrap_or(0.0);
        let near: Vec<usize> = usable().filter(|&i| points[i].score >= threshold).collect();
        let iterations = |i: usize| points[i].params.get(ITERATIONS).and_then(|value| value.as_u64());
        let simplest = near.iter().copied().min_by_key(|&i| (iterations(i), away(i), i)).unwrap_or(best);
        let taken = &points[if tuning.spec.one_se { simplest } else { best }];
        let mut params = tuning.base.clone();
        params.extend(taken.params.clone());
        let prep = params.remove(PREP).and_then(|prep| prep.as_str().map(str::to_string));
        let chosen = Chosen {
            method: tuning.method.key.into(),
            prep: prep.unwrap_or_else(|| tuning.prep.to_string()),
            params,
            accuracy: taken.accuracy.clone(),
            mean: taken.mean,
            std: std(&taken.accuracy),
            ci95: accuracy_interval95(&taken.accuracy),
        };
        Ok(Tuned {
            schema: SCHEMA,
            data: tuning.folds.data.info.clone(),
            protocol: TuneProtocol {
                samples: tuning.folds.places.len(),
                folds: tuning.folds.splits.len(),
                seed: tuning.folds.seed,
                prep: grid.prep_text(tuning.prep),
                metric: tuning.spec.metric,
            },
            results: vec![chosen],
            chosen: taken.params.clone(),
            one_se: OneSe {
                threshold,
                points: near.len(),
                params: points[simplest].params.clone(),
                mean: points[simplest].score,
            },
            grid: grid.axes().into_iter().cloned().collect(),
            failed: points.len() - usable().count(),
            points,
            trainings: records.len(),
            warned: records.iter().filter(|record| !record.warnings.is_empty()).count(),
            warnings: some_warnings(records),
            seconds,
            cpu_seconds,
            provenance: Provenance::now(),
        })
    }

    /// The chosen point.
    pub fn best(&self) -> &Chosen {
        &self.results[0]
    }

    /// The points that rank highest, best first; failed ones are left out.
    pub fn top(&self, most: usize) -> Vec<&GridPoint> {
        let mut order: Vec<&GridPoint> = self.points.iter().filter(|point| point.failed.is_none()).collect();
        order.sort_by(|a, b| b.score.total_cmp(&a.score));
        order.truncate(most);
        order
    }

    /// For every value of an axis, the best mean over all points that have it; `None` if all failed.
    pub fn profile(&self, axis: &Axis) -> Vec<Option<f64>> {
        let best = |value: &serde_json::Value| {
            let with = self.points.iter().filter(|point| point.failed.is_none() && point.params[&axis.name] == *value);
            with.map(|point| point.score).reduce(f64::max)
        };
        axis.values.iter().map(best).collect()
    }

    /// Standard error of the chosen point's mean.
    pub fn std_error(&self) -> f64 {
        let best = self.best();
        best.std.map_or(0.0, |std| std / (best.accuracy.len() as f64).sqrt())
    }

    /// The chosen parameters as the text of a file; see [`params_file`].
    pub fn params_text(&self) -> Result<String> {
        let best = self.best();
        let (p, name) = (&self.protocol, self.data.path.rsplit(['/', '\\']).next().unwrap_or_default());
        let metric = self.protocol.metric;
        let chosen_by = if metric.is_default() { String::new() } else { format!("; chosen by {}", metric.words()) };
        let origin = format!(
            "{}-fold cross-validation on {} training samples of {} (SHA-256 {}...), seed {}:\n\
             {:.2} % of the validation samples right, standard error {:.2}; {} points of the grid, {} failed{chosen_by}.",
            p.folds,
            p.samples,
            name.replace(char::is_control, " "),
            self.data.sha256.get(..12).unwrap_or(&self.data.sha256),
            p.seed,
            100.0 * best.mean,
            100.0 * self.std_error(),
            self.points.len(),
            self.failed,
        );
        params_file::text(&origin, &best.method, &best.prep, &best.params)
    }
}

/// A few different warnings. Many are alike but for their numbers, so what counts as different is their first words.
fn some_warnings(records: &[UnitRecord]) -> Vec<String> {
    let first_words = |text: &str| text.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default().to_string();
    let mut some: Vec<String> = Vec::new();
    for warning in records.iter().flat_map(|record| &record.warnings) {
        if !some.iter().any(|known| first_words(known) == first_words(warning)) {
            some.push(warning.clone());
        }
    }
    some
}
