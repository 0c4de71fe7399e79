//! The answer of `/predict`.

use crate::reply::{self, Refusal, Reply};
use crate::subject::Subject;
use atomlearn::Mat;
use atomlearn::method::best_class;
use serde::Serialize;

/// What the query asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether scores are wanted.
    pub scores: bool,
    /// Which row to explain.
    pub row: usize,
}

impl Options {
    /// `scores=true|false` for `/predict`, `row=N` for `/explain`.
    pub fn parse(query: &str, explains: bool) -> Result<Self, Refusal> {
        let mut options = Options { scores: true, row: 0 };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match (explains, name, value) {
                (false, "scores", "true" | "1" | "") => options.scores = true,
                (false, "scores", "false" | "0") => options.scores = false,
                (true, "row", _) if value.parse::<usize>().is_ok() => options.row = value.parse().unwrap_or(0),
                _ => {
                    let pair: String = pair.chars().take(80).collect();
                    let known = if explains { "row=NUMBER" } else { "scores=true and scores=false" };
                    return Err(Refusal::bad(format!("`{pair}` in the address is not understood; use {known}")));
                }
            }
        }
        Ok(options)
    }
}

/// As `atomlearn predict --json` writes it.
#[derive(Serialize)]
struct Prediction<'a> {
    schema: &'static str,
    model: About<'a>,
    classes: &'a [String],
    labels: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scores: Option<Vec<Vec<f64>>>,
}

#[derive(Serialize)]
struct About<'a> {
    name: &'a str,
    method: &'a str,
    rule: &'a str,
}

/// Labels and, if wanted, scores.
pub fn reply(subject: &Subject, scores: &Mat<f64>, with_scores: bool) -> Result<Reply, Refusal> {
    let columns = || scores.col_iter().map(|column| column.iter().copied().collect()).collect();
    reply::json(&Prediction {
        schema: "atomlearn.predict/1",
        model: About { name: &subject.name, method: subject.model.method().key, rule: subject.classifier().rule() },
        classes: subject.model.classes(),
        labels: best_class(scores.as_ref()).into_iter().map(|c| subject.class(c)).collect(),
        scores: with_scores.then(columns),
    })
}
