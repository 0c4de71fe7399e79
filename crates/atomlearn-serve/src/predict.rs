//! The answer of `/predict`.

use crate::reply::Refusal;
use crate::subject::Subject;
use crate::task::Wanted;
use atomlearn::Mat;
use atomlearn::classifier::best_class;
use serde::Serialize;

/// As `atomlearn predict --json` writes it, with what a server can add.
#[derive(Serialize)]
pub struct Prediction<'a> {
    schema: &'static str,
    model: About<'a>,
    classes: &'a [String],
    /// None where no class is probable enough.
    labels: Vec<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scores: Option<Vec<Vec<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proba: Option<Vec<Vec<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top: Option<Vec<Vec<Ranked<'a>>>>,
    /// Why a sample has no label; one entry per sample, there only if one has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasons: Option<Vec<Option<String>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outlier_p: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
}

#[derive(Serialize)]
struct About<'a> {
    name: &'a str,
    method: &'a str,
    rule: &'a str,
}

/// A class that a sample may be of.
#[derive(Serialize)]
struct Ranked<'a> {
    label: &'a str,
    score: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    proba: Option<f64>,
}

/// Labels and what else is wanted; `notes` say what was noticed about the samples.
pub fn prediction<'a>(
    subject: &'a Subject,
    wanted: Wanted,
    scores: &Mat<f64>,
    outlier_p: Option<Vec<f64>>,
    notes: &'a [String],
) -> Result<Prediction<'a>, Refusal> {
    let best = best_class(scores.as_ref());
    // Only where they are used: the exponentials of many classes take time.
    let used = wanted.proba || wanted.top_k.is_some() || wanted.min_probability.is_some();
    let proba = if used { subject.model.probabilities_of_scores(scores.as_ref()) } else { None };
    let mut labels: Vec<Option<&str>> = best.iter().map(|&c| Some(subject.class(c))).collect();
    let mut reasons = vec![None; labels.len()];
    if let Some(least) = wanted.min_probability {
        let Some(proba) = &proba else { return Err(Refusal::bad(NO_PROBABILITIES)) };
        for (i, &c) in best.iter().enumerate() {
            let p = proba[(c, i)];
            if p < least {
                labels[i] = None;
                let class = subject.class(c);
                reasons[i] =
                    Some(format!("`{class}` is the most probable class, but its probability {p} is below {least}"));
            }
        }
    }
    let columns = |values: &Mat<f64>| values.col_iter().map(|column| column.iter().copied().collect()).collect();
    let ranked = |k: usize| (0..best.len()).map(|i| ranked(subject, scores, proba.as_ref(), i, k)).collect();
    Ok(Prediction {
        schema: "atomlearn.predict/1",
        model: About { name: &subject.name, method: subject.model.method().key, rule: subject.classifier().rule() },
        classes: subject.model.classes(),
        scores: wanted.scores.then(|| columns(scores)),
        top: wanted.top_k.map(ranked),
        reasons: labels.contains(&None).then_some(reasons),
        labels,
        proba: proba.as_ref().filter(|_| wanted.proba).map(columns),
        outlier_p,
        notes,
    })
}

/// Why labels cannot be withheld.
pub const NO_PROBABILITIES: &str = "the model has no calibrated probabilities, so that none can be too small; leave out the least \
                                    probability, or serve a model that has them (`auto`, or one fitted in Python with probability=True)";

/// The `k` most likely classes of a sample; of equal scores the lower class comes first.
fn ranked<'a>(
    subject: &'a Subject,
    scores: &Mat<f64>,
    proba: Option<&Mat<f64>>,
    i: usize,
    k: usize,
) -> Vec<Ranked<'a>> {
    let mut order: Vec<usize> = (0..scores.nrows()).collect();
    order.sort_by(|&a, &b| scores[(b, i)].total_cmp(&scores[(a, i)]));
    let class = |&c: &usize| Ranked { label: subject.class(c), score: scores[(c, i)], proba: proba.map(|p| p[(c, i)]) };
    order.iter().take(k).map(class).collect()
}
