//! From a trained model, or from what something else answered, to a record.

use super::{ExperimentObserver, Trained};
use crate::protocol::data::LabData;
use crate::protocol::splits::Split;
use crate::records::diagnostics::{self, Inside};
use crate::records::record::{self, Mistake, Record, RuleOutcome, Suspicion};
use crate::records::times::{Clock, Times};
use crate::run::outside::{self, Answer, Outside, Task};
use crate::run::prepared::Prepared;
use crate::stats::confusion::accuracy;
use crate::stats::metrics;
use atomlearn::classifier::best_class;
use atomlearn::methods::auto::{AutoModel, Suspicious};
use atomlearn::registry;
use atomlearn::{Classifier, Error, MatRef};

/// Tests a trained model.
pub(super) fn of_method(trained: &Trained, data: &LabData, split: &Split, blank: Record) -> Result<Record, Error> {
    let (model, trace, ready) = (&trained.model, &trained.trace, &trained.ready);
    let clock = Clock::start();
    let scores = model.scores_by_rule(ready.test.as_ref())?;
    let (test_seconds, test_cpu_seconds) = clock.stop();
    let in_use = scores.iter().find(|(rule, _)| *rule == model.rule()).filter(|_| trained.seen.is_some());
    let mistakes = in_use.map_or_else(Vec::new, |(_, scores)| worst(scores.as_ref(), data, &split.test));
    let suspicious = trained.seen.as_ref().map_or_else(Vec::new, |_| suspicious(model.as_ref(), data, &split.train));
    let probabilities = model.probabilities_block(ready.test.as_ref());
    let probability = probabilities.map(|p| metrics::of_probabilities(&blank.truth, p.as_ref()));
    let rules = scores.into_iter().map(|(rule, scores)| {
        let predictions = best_class(scores.as_ref());
        RuleOutcome {
            rule: rule.into(),
            accuracy: accuracy(&blank.truth, &predictions),
            predictions,
            auc: metrics::auc(&blank.truth, scores.as_ref()),
            probability: probability.clone().filter(|_| rule == model.rule()),
        }
    });
    let rules: Vec<RuleOutcome> = rules.collect();
    let n_iter = trace.steps.last().map(|step| step.iter);
    // What does not iterate takes the training samples for atoms, or has none: there is nothing to show.
    let inside = trained.seen.as_ref().zip(n_iter).map(|(seen, n_iter)| Inside {
        progress: diagnostics::complete(seen.clone(), n_iter, &rules),
        atoms: diagnostics::atoms(model.as_ref(), &ready.train, &ready.prep, ready.image_shape),
        graph: diagnostics::atom_graph(model.as_ref(), &trained.settled),
    });
    Ok(Record {
        params: trained.params.clone(),
        chosen: registry::chosen(&trained.params, &trained.settled),
        rule: model.rule().into(),
        rules,
        times: Times {
            prep_seconds: ready.seconds,
            prep_cpu_seconds: ready.cpu_seconds,
            train_seconds: trained.seconds,
            train_cpu_seconds: trained.cpu_seconds,
            test_seconds,
            test_cpu_seconds,
        },
        n_iter,
        warnings: ready.warnings.iter().chain(&trace.warnings).cloned().collect(),
        trace: trace.steps.clone(),
        inside,
        mistakes,
        suspicious,
        ..blank
    })
}

/// Lets something else learn and predict, and writes down how that went.
pub(super) fn of_outside(
    other: &dyn Outside,
    data: &LabData,
    ready: &Prepared,
    split: &Split,
    blank: Record,
    watch: &mut dyn ExperimentObserver,
) -> Result<Record, Error> {
    let task = Task {
        train: ready.train.x(),
        train_targets: ready.train.targets(),
        test: ready.test.as_ref(),
        classes: &data.classes,
        split_sha256: &blank.split_sha256,
    };
    let answer = other.learn_and_predict(&task, &mut || watch.go_on())?;
    answer.check(&task).map_err(|why| Error::Data(format!("{}: {why}", other.name())))?;
    let Answer { predictions, scores, are_probabilities, train_seconds, test_seconds, warnings } = answer;
    let probabilities = scores.as_ref().filter(|_| are_probabilities);
    let outcome = RuleOutcome {
        rule: outside::RULE.into(),
        accuracy: accuracy(&blank.truth, &predictions),
        auc: scores.as_ref().and_then(|scores| metrics::auc(&blank.truth, scores.as_ref())),
        probability: probabilities.map(|p| metrics::of_probabilities(&blank.truth, p.as_ref())),
        predictions,
    };
    let mistakes = scores.map_or_else(Vec::new, |scores| worst(scores.as_ref(), data, &split.test));
    Ok(Record {
        rule: outcome.rule.clone(),
        rules: vec![outcome],
        times: Times {
            prep_seconds: ready.seconds,
            prep_cpu_seconds: ready.cpu_seconds,
            train_seconds,
            train_cpu_seconds: train_seconds,
            test_seconds,
            test_cpu_seconds: test_seconds,
        },
        warnings: ready.warnings.iter().cloned().chain(warnings).collect(),
        mistakes,
        ..blank
    })
}

/// What `auto` doubts among the samples it was trained on, where the model is one of `auto`.
fn suspicious(model: &dyn Classifier, data: &LabData, trained_on: &[usize]) -> Vec<Suspicion> {
    let Some(auto) = AutoModel::of(model) else { return Vec::new() };
    let doubt = |doubt: Suspicious| {
        let sample = *trained_on.get(doubt.sample)?;
        let Suspicious { label, proba, suggested, .. } = doubt;
        (label != suggested).then(|| Suspicion { sample, name: name_of(data, sample), label, proba, suggested })
    };
    auto.suspicious(record::MOST_SUSPICIOUS).into_iter().filter_map(doubt).collect()
}

/// What a sample is called, where it has a name.
fn name_of(data: &LabData, sample: usize) -> Option<String> {
    data.ids.as_ref().or(data.names.as_ref()).and_then(|names| names.get(sample)).cloned()
}

/// The mistakes whose wrong class lies farthest above the right one, the farthest first.
fn worst(scores: MatRef<'_, f64>, data: &LabData, places: &[usize]) -> Vec<Mistake> {
    let found = best_class(scores);
    let truth = |j: usize| data.targets[places[j]];
    let mistake = |j: usize| Mistake {
        sample: places[j],
        truth: truth(j),
        found: found[j],
        margin: scores[(found[j], j)] - scores[(truth(j), j)],
        name: name_of(data, places[j]),
    };
    let wrong = (0..places.len()).filter(|&j| found[j] != truth(j)).map(mistake);
    let mut wrong: Vec<Mistake> = wrong.filter(|mistake| mistake.margin.is_finite()).collect();
    wrong.sort_by(|a, b| b.margin.total_cmp(&a.margin).then(a.sample.cmp(&b.sample)));
    wrong.truncate(record::MOST_MISTAKES);
    wrong
}
