//! Why a sample gets its label, in numbers: scores of every rule, what each reading says, what the sample resembles.

use crate::records::diagnostics::classes_of_atoms;
use atomlearn::classifier::best_class;
use atomlearn::explain::{AtomUse, strongest_atoms};
use atomlearn::linalg::select_columns;
use atomlearn::methods::auto::{AutoModel, ChosenReading, NearSample};
use atomlearn::{Mat, MatRef, Model, Result};
use serde::Serialize;
use std::collections::BTreeMap;

/// One decision. Lists over classes are in the order of the model's classes.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The label.
    pub label: String,
    /// The label that comes second.
    pub runner_up: String,
    /// Scores of every rule, larger = more likely.
    pub scores: BTreeMap<&'static str, Vec<f64>>,
    /// Calibrated probabilities, for methods that have them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proba: Option<Vec<f64>>,
    /// What each chosen reading adds to the logarithm of the odds, for `auto`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<ReadingSays>,
    /// The nearest training samples, for `auto` models that keep them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nearest: Vec<NearSample>,
    /// Atoms that take part, for methods with a dictionary.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub atoms: Vec<NamedAtom>,
}

/// What one reading says of a sample.
#[derive(Clone, Debug, Serialize)]
pub struct ReadingSays {
    /// Which reading.
    #[serde(flatten)]
    pub reading: ChosenReading,
    /// The class it is for.
    pub label: String,
    /// What it adds to each class: weight times normalised score.
    pub adds: Vec<f64>,
}

/// An atom that takes part.
#[derive(Clone, Debug, Serialize)]
pub struct NamedAtom {
    /// Its class, for methods whose atoms have one.
    pub class: Option<String>,
    /// How much it takes part.
    #[serde(flatten)]
    pub of: AtomUse,
}

/// Explains the decision on every raw sample, naming at most `most` training samples or atoms for each.
pub fn explain(model: &Model, x: MatRef<'_, f64>, most: usize) -> Result<Vec<Explanation>> {
    let prepared = model.prepare(x)?;
    let classifier = model.classifier();
    let by_rule = classifier.scores_by_rule(prepared.as_ref())?;
    let in_use = by_rule.iter().find(|(rule, _)| *rule == classifier.rule()).map(|(_, scores)| scores);
    let scores = in_use.unwrap_or(&by_rule[0].1);
    let best = best_class(scores.as_ref());
    let proba = model.probabilities(x)?;
    let auto = AutoModel::of(model.classifier());
    let contributions = auto.map(|auto| auto.explain(prepared.as_ref())).transpose()?.unwrap_or_default();
    let mut nearest = auto.map(|auto| auto.nearest(prepared.as_ref(), most)).transpose()?.unwrap_or_default();
    nearest.resize(x.ncols(), Vec::new());
    let atom_classes = classes_of_atoms(classifier);
    let named = |of: AtomUse| NamedAtom {
        class: atom_classes.as_ref().and_then(|classes| classes.get(of.atom)).map(|&c| model.classes()[c].clone()),
        of,
    };
    let class = |c: usize| model.classes()[c].clone();
    let of_sample = |(i, nearest): (usize, Vec<NearSample>)| Explanation {
        label: class(best[i]),
        runner_up: class(second(scores, i, best[i])),
        scores: by_rule.iter().map(|(rule, scores)| (*rule, column(scores, i))).collect(),
        proba: proba.as_ref().map(|proba| column(proba, i)),
        readings: auto.map_or_else(Vec::new, |auto| {
            let says = |(reading, adds): (&ChosenReading, &Mat<f64>)| ReadingSays {
                reading: reading.clone(),
                label: class(best_class(adds.as_ref())[i]),
                adds: column(adds, i),
            };
            auto.report().chosen.iter().zip(&contributions).map(says).collect()
        }),
        nearest,
        atoms: strongest_atoms(classifier, select_columns(prepared.as_ref(), &[i]).as_ref(), most)
            .into_iter()
            .flatten()
            .map(named)
            .collect(),
    };
    Ok(nearest.into_iter().enumerate().map(of_sample).collect())
}

fn column(values: &Mat<f64>, i: usize) -> Vec<f64> {
    values.col(i).iter().copied().collect()
}

/// The class of the second largest score.
fn second(scores: &Mat<f64>, i: usize, best: usize) -> usize {
    let others = (0..scores.nrows()).filter(|&c| c != best);
    others
        .fold(None, |second, c| match second {
            Some(held) if scores[(c, i)].total_cmp(&scores[(held, i)]).is_le() => Some(held),
            _ => Some(c),
        })
        .unwrap_or(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use atomlearn::registry::{METHODS, Values};
    use atomlearn::synth;

    #[test]
    fn every_method_can_be_explained_and_the_parts_add_up() {
        let train = synth::blobs(3, 12, 6, 1);
        for method in METHODS {
            let model = Model::train(method, &Values::new(), &"unit".parse().unwrap(), &train, &mut ()).unwrap();
            let x = train.x().subcols(0, 4);
            let found = explain(&model, x, 3).unwrap();
            let predicted = model.predict(x).unwrap();
            for (i, why) in found.iter().enumerate() {
                assert_eq!(why.label, model.classes()[predicted[i]], "{}", method.key);
                assert!(why.runner_up != why.label && why.atoms.len() <= 3 && why.nearest.len() <= 3);
                assert_eq!(why.proba.is_some(), method.probabilities, "{}", method.key);
                if method.key == "auto" {
                    // A training sample is nearest to itself, and logits are the sum of what readings add.
                    assert_eq!(why.nearest[0].sample, train.order()[i]);
                    let logit = |c: usize| why.readings.iter().map(|reading| reading.adds[c]).sum::<f64>();
                    let proba = why.proba.as_ref().unwrap();
                    let odds = (proba[0] / proba[1]).ln();
                    assert!((logit(0) - logit(1) - odds).abs() < 1e-9 * odds.abs().max(1.0));
                }
            }
        }
    }
}
