//! The answer of `/predict`.

use crate::reply::{self, Refusal, Reply};
use crate::subject::Subject;
use atomlearn::Mat;
use atomlearn::classifier::best_class;
use serde::Serialize;

/// As `atomlearn predict --json` writes it.
#[derive(Serialize)]
struct Prediction<'a> {
    schema: &'static str,
    model: About<'a>,
    classes: &'a [String],
    labels: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scores: Option<Vec<Vec<f64>>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
}

#[derive(Serialize)]
struct About<'a> {
    name: &'a str,
    method: &'a str,
    rule: &'a str,
}

/// Labels and, if wanted, scores; `notes` say what was noticed about the samples.
pub fn reply(subject: &Subject, scores: &Mat<f64>, with_scores: bool, notes: &[String]) -> Result<Reply, Refusal> {
    let columns = || scores.col_iter().map(|column| column.iter().copied().collect()).collect();
    reply::json(&Prediction {
        schema: "atomlearn.predict/1",
        model: About { name: &subject.name, method: subject.model.method().key, rule: subject.classifier().rule() },
        classes: subject.model.classes(),
        labels: best_class(scores.as_ref()).into_iter().map(|c| subject.class(c)).collect(),
        scores: with_scores.then(columns),
        notes,
    })
}
