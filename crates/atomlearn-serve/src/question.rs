//! A request with samples, from its head to its answer, without the connection: what the server and the fuzzer share.

use crate::explain::explain;
use crate::predict;
use crate::reply::{self, Refusal, Reply};
use crate::route::Route;
use crate::rows::{Expected, Form, Samples};
use crate::subject::Subject;
use crate::task::{Task, Wanted};
use atomlearn::Mat;
use hyper::header::HeaderMap;

/// What the head of a request says.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// How samples are written.
    pub form: Form,
    /// What to make of them.
    pub task: Task,
}

impl Question {
    /// From the head of a request to a model that takes photos or does not. `min_probability` holds where the request has none of its own.
    pub fn parse(
        route: Route,
        query: &str,
        headers: &HeaderMap,
        photos: bool,
        min_probability: Option<f64>,
    ) -> Result<Self, Refusal> {
        let form = Form::of(headers, photos)?;
        let mut task = Task::parse(route, query)?;
        if let Task::Predict(wanted) = &mut task {
            wanted.min_probability = wanted.min_probability.or(min_probability);
        }
        Ok(Question { form, task })
    }

    /// The samples of its body, at most so many.
    pub fn samples(&self, subject: &Subject, max_samples: usize, body: &[u8]) -> Result<Samples, Refusal> {
        let expected = Expected { features: subject.model.prep().n_features(), samples: max_samples };
        let samples = self.form.parse(body, expected, subject)?;
        match self.task {
            Task::Explain { regions: true, .. } if self.form == Form::Image => {
                let regions = subject.regions(body).map_err(|e| Refusal::bad(e.to_string()))?;
                Ok(Samples { regions, ..samples })
            }
            Task::Explain { regions: true, .. } => Err(Refusal::bad(
                "only photos have regions; send one as image/jpeg or another image, or leave out `regions`",
            )),
            _ => Ok(samples),
        }
    }

    /// The answer without company: scores are made here and now.
    pub fn answer(&self, subject: &Subject, samples: &Samples) -> Result<Reply, Refusal> {
        match self.task {
            Task::Explain { row, .. } => reply::json(&explain(subject, samples, row)?),
            Task::Predict(wanted) => {
                let p_values = p_values(subject, &samples.x, wanted.outlier)?;
                answer_of_scores(subject, wanted, &subject.model.scores(samples.x.as_ref())?, p_values, &samples.notes)
            }
        }
    }
}

/// How like those of training the samples are, if that is asked for and known.
pub fn p_values(subject: &Subject, x: &Mat<f64>, asked: bool) -> Result<Option<Vec<f64>>, Refusal> {
    if asked { Ok(subject.p_values(x.as_ref())?) } else { Ok(None) }
}

/// The answer to a prediction from scores of the same samples.
pub fn answer_of_scores(
    subject: &Subject,
    wanted: Wanted,
    scores: &Mat<f64>,
    p_values: Option<Vec<f64>>,
    notes: &[String],
) -> Result<Reply, Refusal> {
    reply::json(&predict::prediction(subject, wanted, scores, p_values, notes)?)
}
