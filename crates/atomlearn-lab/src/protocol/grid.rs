//! The values that tuning tries: one axis per parameter, ordered so that what can be shared stands together.

use crate::stats::metrics::Metric;
pub use atomlearn::grid::{Axis, ITERATIONS, combination, places, size};
use atomlearn::prep::PrepSpec;
use atomlearn::registry::{Method, Values};
use atomlearn::{Error, NameKind, Result};
use serde_json::Value;

/// A product of axes. Preprocessing and training parameters come first, then the number of iterations, then decision parameters, then
/// those that only combine scores; the last axis changes fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Preprocessings, if they are tuned.
    pub prep: Option<Axis>,
    /// Axes of parameters that need a training each.
    pub training: Vec<Axis>,
    /// Numbers of iterations, if they are tuned.
    pub iterations: Option<Axis>,
    /// Axes of parameters that act after training.
    pub decision: Vec<Axis>,
    /// Axes of parameters that combine scores.
    pub readout: Vec<Axis>,
}

/// The axis of preprocessings; no method has a parameter of this name.
pub const PREP: &str = "prep";

impl Grid {
    /// The registry's grid. `own` axes replace or add to it, and what `fixed` names is not tuned.
    pub fn new(method: &Method, own: &[Axis], fixed: &[String]) -> Result<Self> {
        let known = method.params();
        for axis in own {
            if !known.iter().any(|info| info.name == axis.name) {
                return Err(Error::unknown(NameKind::Parameter, &axis.name, known.iter().map(|info| info.name)));
            }
            check_axis(method, axis)?;
            if own.iter().filter(|other| other.name == axis.name).count() > 1 {
                return Err(Error::param(&axis.name, "grid", "given twice"));
            }
            if fixed.contains(&axis.name) {
                return Err(Error::param(&axis.name, "grid", "is set to one value as well: leave one of the two out"));
            }
        }
        let mut grid =
            Grid { prep: None, training: Vec::new(), iterations: None, decision: Vec::new(), readout: Vec::new() };
        for info in known {
            let given = own.iter().find(|axis| axis.name == info.name).cloned();
            let usual = || Axis { name: info.name.into(), values: info.grid.clone() };
            let axis = given.unwrap_or_else(usual);
            if axis.values.is_empty() || fixed.contains(&axis.name) {
                continue;
            }
            if axis.name == ITERATIONS {
                grid.iterations = Some(axis);
            } else if method.readout.contains(&info.name) {
                grid.readout.push(axis);
            } else if method.decision.contains(&info.name) {
                grid.decision.push(axis);
            } else {
                grid.training.push(axis);
            }
        }
        Ok(grid)
    }

    /// The grid with these preprocessings to choose from; one alone is no choice.
    pub fn with_preps(mut self, preps: &[PrepSpec]) -> Result<Self> {
        let values: Vec<Value> = preps.iter().map(|prep| prep.to_string().into()).collect();
        if let Some(twice) = (1..values.len()).find(|&i| values[..i].contains(&values[i])) {
            return Err(Error::param(PREP, &preps[twice], "is given twice"));
        }
        self.prep = (values.len() > 1).then(|| Axis { name: PREP.into(), values });
        Ok(self)
    }

    /// All axes in order.
    pub fn axes(&self) -> Vec<&Axis> {
        let before = self.prep.iter().chain(&self.training).chain(&self.iterations);
        before.chain(&self.decision).chain(&self.readout).collect()
    }

    /// What the protocol says of preprocessing; `only` is used where there is no choice.
    pub fn prep_text(&self, only: &PrepSpec) -> String {
        let values = self.prep.iter().flat_map(|axis| &axis.values).filter_map(Value::as_str);
        let text = values.collect::<Vec<_>>().join(" | ");
        if text.is_empty() { only.to_string() } else { text }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        size(&self.axes())
    }

    /// True if there is nothing to tune: the one point is empty.
    pub fn is_empty(&self) -> bool {
        self.axes().is_empty()
    }

    /// The values of point `i`.
    pub fn point(&self, i: usize) -> Values {
        combination(&self.axes(), i)
    }
}

/// How a method is tuned.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// What is tried.
    pub grid: Grid,
    /// Number of folds.
    pub folds: usize,
    /// Seed of the folds.
    pub seed: u64,
    /// Choose the simplest point within one standard error of the best, instead of the best.
    pub one_se: bool,
    /// What is chosen by.
    pub metric: Metric,
}

/// Refuses values outside the parameter's domain, and repeated ones.
fn check_axis(method: &Method, axis: &Axis) -> Result<()> {
    if axis.values.is_empty() {
        return Err(Error::param(&axis.name, "grid", "holds no value"));
    }
    for (i, value) in axis.values.iter().enumerate() {
        method.complete(&Values::from_iter([(axis.name.clone(), value.clone())]))?;
        if axis.values[..i].contains(value) {
            return Err(Error::param(&axis.name, value, "is twice in the grid"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use atomlearn::registry;
    use serde_json::json;

    fn axis(name: &str, values: Value) -> Axis {
        Axis { name: name.into(), values: values.as_array().cloned().unwrap_or_default() }
    }

    #[test]
    fn axes_are_sorted_by_what_can_be_shared_and_points_count_like_digits() {
        let method = registry::method("lcdl-sv").unwrap();
        let own =
            [axis("eta2", json!([1.0, 5.0])), axis("lambda2", json!([1e-6, 1e-3, 1e-1])), axis("knn", json!([1]))];
        let grid = Grid::new(method, &own, &["lambda1".into(), "max_iter".into()]).unwrap();
        let names: Vec<&str> = grid.axes().iter().map(|axis| axis.name.as_str()).collect();
        assert_eq!(names, ["lambda2", "knn", "eta1", "eta2"]);
        let n_eta1 = grid.decision[0].values.len();
        assert_eq!(grid.len(), 3 * n_eta1 * 2);
        assert_eq!(grid.point(1)["eta2"], 5.0);
        let last = grid.point(grid.len() - 1);
        assert_eq!((&last["lambda2"], &last["eta2"]), (&json!(1e-1), &json!(5.0)));
        assert_eq!(places(&grid.axes(), 2 * n_eta1), [1, 0, 0, 0]);
    }

    #[test]
    fn bad_axes_are_refused_by_name() {
        let method = registry::method("crc").unwrap();
        let message = |own: &[Axis], fixed: &[String]| Grid::new(method, own, fixed).unwrap_err().to_string();
        assert!(message(&[axis("kapa", json!([1.0]))], &[]).contains("did you mean `kappa`"));
        assert!(message(&[axis("kappa", json!([-1.0]))], &[]).contains("must be auto or a number > 0"));
        assert!(message(&[axis("kappa", json!([1.0, 1.0]))], &[]).contains("twice"));
        assert!(message(&[axis("kappa", json!([]))], &[]).contains("no value"));
        assert!(message(&[axis("kappa", json!([1.0]))], &["kappa".into()]).contains("leave one"));
        assert!(Grid::new(method, &[], &["kappa".into()]).unwrap().is_empty());
    }
}
