//! What is left open is chosen by cross-validation within the training samples, one training per fold.
//!
//! A training of the largest number of iterations is looked at after each of [`ITERATIONS`], with every `eta1`, `eta2` and rule
//! ([`crate::path`]), so that all points together cost little more than the trainings of the folds. The point with the most right
//! answers wins; among equals the nearest to the authors' values.

use super::{LcdlSv, Rule};
use crate::folds::{grouped, stratified};
use crate::grid::{Axis, ITERATIONS as MAX_ITER, combination, size, steps_from};
use crate::linalg::select_columns;
use crate::method::Method;
use crate::params::{Values, from_map, to_map};
use crate::path::Path;
use crate::{Dataset, Observer, Result};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::cmp::Reverse;

/// Few folds: each costs a training.
pub(super) const FOLDS: usize = 3;
const SEED: u64 = 0;
/// Numbers of iterations that are looked at.
const ITERATIONS: [u64; 3] = [0, 5, 20];
const ETA1: [f64; 3] = [1e-3, 1e-2, 1e-1];
const ETA2: [f64; 7] = [0.2, 1.0, 5.0, 20.0, 100.0, 300.0, 1000.0];

/// The values in place of what is open in `given`, or those of the authors' code where there are too few samples.
pub(super) fn choose(given: &LcdlSv, train: &Dataset, watch: &mut dyn Observer) -> Result<LcdlSv> {
    let fixed = to_map(&given.authors());
    let parts = match train.groups() {
        Some(groups) => grouped(groups, &train.targets(), train.n_classes(), FOLDS),
        None => stratified(train.blocks().ranges().map(|range| range.collect()).collect(), FOLDS, SEED),
    };
    let Ok(parts) = parts else {
        watch.note(&format!(
            "lcdl-sv: too few samples to choose by; the authors' values are used: {}",
            text(given, &fixed)
        ));
        return Ok(given.authors());
    };
    let open = Open::of(given);
    let mut totals: Vec<Option<usize>> = vec![Some(0); open.size()];
    let mut judged = 0;
    for (fold, part) in parts.iter().enumerate() {
        // Asked after every iteration: a fold may take long.
        let watched = RefCell::new(&mut *watch);
        let stop = || watched.borrow_mut().progress(fold, FOLDS + 1).is_break();
        let counts = open.follow(&fixed, train, part, &stop)?;
        totals.iter_mut().zip(counts).for_each(|(total, count)| *total = total.zip(count).map(|(a, b)| a + b));
        judged += part.len();
    }
    let best = (0..totals.len()).filter(|&i| totals[i].is_some());
    let best = best.min_by_key(|&i| (Reverse(totals[i]), steps_from(&fixed, &open.axes(), i), i));
    let Some(best) = best else {
        watch
            .note(&format!("lcdl-sv: no fold could be trained; the authors' values are used: {}", text(given, &fixed)));
        return Ok(given.authors());
    };
    let mut values = fixed;
    values.extend(combination(&open.axes(), best));
    let accuracy = 100.0 * totals[best].unwrap_or(0) as f64 / judged.max(1) as f64;
    watch.note(&format!(
        "lcdl-sv: {} were chosen by cross-validation within the training samples ({} folds{}, accuracy {accuracy:.1} %)",
        text(given, &values),
        parts.len(),
        if train.groups().is_some() { " of whole groups" } else { "" }
    ));
    from_map(&values)
}

/// What is chosen, in words.
fn text(given: &LcdlSv, values: &Values) -> String {
    let open = to_map(given);
    let open = values.iter().filter(|(name, value)| open[*name].is_null() && !value.is_null());
    let open = open.filter(|(name, _)| super::CHOSEN.contains(&name.as_str()));
    open.map(|(name, value)| format!("{name} = {}", value.as_str().map_or(value.to_string(), String::from)))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The axes of what is open.
struct Open {
    iterations: Option<Axis>,
    decision: Option<Axis>,
    readout: Vec<Axis>,
}

impl Open {
    fn of(given: &LcdlSv) -> Self {
        let axis = |name: &str, values: Vec<Value>| Axis { name: name.into(), values };
        let numbers = |values: &[f64]| values.iter().map(|&v| json!(v)).collect::<Vec<_>>();
        let mut readout = Vec::new();
        // Only the fused rule reads eta2.
        if given.eta2.is_none() && given.rule.is_none_or(|rule| rule == Rule::Fused) {
            readout.push(axis("eta2", numbers(&ETA2)));
        }
        if given.rule.is_none() {
            readout.push(axis("rule", [Rule::Fused, Rule::Residual, Rule::Svm].map(|rule| json!(rule)).into()));
        }
        Open {
            iterations: given.max_iter.is_none().then(|| axis(MAX_ITER, ITERATIONS.map(|v| json!(v)).into())),
            decision: given.eta1.is_none().then(|| axis("eta1", numbers(&ETA1))),
            readout,
        }
    }

    fn axes(&self) -> Vec<&Axis> {
        self.iterations.iter().chain(&self.decision).chain(&self.readout).collect()
    }

    fn size(&self) -> usize {
        size(&self.axes())
    }

    /// Right answers of every point on the samples at `validating`, trained on all others.
    fn follow(
        &self,
        fixed: &Values,
        train: &Dataset,
        validating: &[usize],
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Option<usize>>> {
        let method = Method::of::<LcdlSv>();
        let targets = train.targets();
        let rest: Vec<usize> = (0..train.n_samples()).filter(|i| validating.binary_search(i).is_err()).collect();
        let truth: Vec<usize> = validating.iter().map(|&i| targets[i]).collect();
        let mut params = fixed.clone();
        let after: Vec<&Axis> = self.decision.iter().chain(&self.readout).collect();
        params.extend(combination(&after, 0));
        let looked_at: Vec<Option<u64>> = match &self.iterations {
            Some(axis) => {
                params.insert(MAX_ITER.into(), json!(ITERATIONS.iter().max()));
                axis.values.iter().map(Value::as_u64).collect()
            }
            None => vec![None],
        };
        let part = train.subset(&rest)?;
        let test = select_columns(train.x(), validating);
        let path = Path {
            method: &method,
            params,
            iterations: &looked_at,
            decision: self.decision.iter().collect(),
            readout: self.readout.iter().collect(),
            train: &part,
            test: test.as_ref(),
            truth: &truth,
            measure: None,
        };
        Ok(path.follow(stop)?.correct)
    }
}
