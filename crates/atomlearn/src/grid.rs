//! Values to try: one axis per parameter, and their combinations.

use crate::params::Values;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The parameter that is read along one training.
pub const ITERATIONS: &str = "max_iter";

/// Values of one parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// The parameter.
    pub name: String,
    /// What is tried, in order.
    pub values: Vec<Value>,
}

/// Number of combinations; 1 for no axis.
pub fn size(axes: &[&Axis]) -> usize {
    axes.iter().map(|axis| axis.values.len()).product()
}

/// Place on every axis of combination `i`; the last axis changes fastest.
pub fn places(axes: &[&Axis], mut i: usize) -> Vec<usize> {
    let mut places: Vec<usize> = axes
        .iter()
        .rev()
        .map(|axis| {
            let place = i % axis.values.len();
            i /= axis.values.len();
            place
        })
        .collect();
    places.reverse();
    places
}

/// The values of combination `i`.
pub fn combination(axes: &[&Axis], i: usize) -> Values {
    let value = |(axis, place): (&&Axis, usize)| (axis.name.clone(), axis.values[place].clone());
    axes.iter().zip(places(axes, i)).map(value).collect()
}

/// How far combination `i` is from some usual values, in places along its axes; an axis without the usual value counts nothing,
/// and one that the usual values do not name counts from its first.
pub fn steps_from(usual: &Values, axes: &[&Axis], i: usize) -> usize {
    let steps = |(axis, place): (&&Axis, usize)| {
        let Some(usual) = usual.get(&axis.name) else { return place };
        let same = |value: &Value| match (value.as_f64(), usual.as_f64()) {
            (Some(a), Some(b)) => a == b,
            _ => value == usual,
        };
        axis.values.iter().position(same).map_or(0, |usual| usual.abs_diff(place))
    };
    axes.iter().zip(places(axes, i)).map(steps).sum()
}
