//! Accuracy against one parameter, all others fixed.

use crate::protocol::data::DataInfo;
use crate::records::provenance::Provenance;
use crate::records::record::{Protocol, Record};
use crate::records::results::{MethodResult, comparison};
use crate::run::compare::Entry;
use atomlearn::registry::{Method, Values};
use atomlearn::{Error, Result};
use serde::Serialize;
use serde_json::Value;

/// Schema of [`Sweep`].
pub const SCHEMA: &str = "atomlearn.sweep/1";

/// One value under one rule, over all splits.
#[derive(Clone, Debug, Serialize)]
pub struct SweepResult {
    /// Method key.
    pub method: String,
    /// The value of the parameter.
    pub value: Value,
    /// Decision rule.
    pub rule: String,
    /// True if this is the rule that the parameters choose.
    pub in_use: bool,
    /// Accuracy on each split.
    pub accuracy: Vec<f64>,
    /// Its mean.
    pub mean: f64,
    /// Its standard deviation; null for one split.
    pub std: Option<f64>,
    /// 95 % interval of the mean; null for one split.
    pub ci95: Option<[f64; 2]>,
    /// Wall time of training; of the shared one, where one training serves several values.
    pub train_seconds: Vec<f64>,
    /// Wall time of testing, all rules at once.
    pub test_seconds: Vec<f64>,
}

/// Accuracy against one parameter; its JSON is documented in `docs/reference/formats.md`.
#[derive(Clone, Debug, Serialize)]
pub struct Sweep {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The data.
    pub data: DataInfo,
    /// The protocol.
    pub protocol: Protocol,
    /// Method key.
    pub method: String,
    /// The parameter.
    pub param: String,
    /// All other parameters.
    pub params: Values,
    /// One entry per value and rule, in the order of the values.
    pub results: Vec<SweepResult>,
    /// Version, machine and time.
    pub provenance: Provenance,
}

/// The runs of a sweep: `params` with each of `values` for `param`.
pub fn entries(method: &'static Method, params: &Values, param: &str, values: &[Value]) -> Result<Vec<Entry>> {
    // One parameter is studied, so that no other may change with its values.
    let params = method.fixed(params)?;
    let entry = |(i, value): (usize, &Value)| {
        if values[..i].contains(value) {
            return Err(Error::param(param, value, "is given twice"));
        }
        let mut params = params.clone();
        params.insert(param.into(), value.clone());
        Ok(Entry { sweep: Some(param.into()), ..Entry::new(method, method.complete(&params)?) })
    };
    values.iter().enumerate().map(entry).collect()
}

/// One sweep for every method, parameter, data set and protocol among the records; other records are left out.
pub fn sweeps(records: &[Record]) -> Vec<Sweep> {
    let others = |record: &Record| {
        let mut params = record.params.clone();
        params.retain(|name, _| Some(name) != record.sweep.as_ref());
        params
    };
    let kind = |record: &Record| {
        let layout = (record.protocol.train_per_class, record.protocol.folds);
        let protocol = (record.data.sha256.clone(), record.protocol.prep.clone(), layout);
        (record.method.clone(), record.sweep.clone(), others(record), protocol)
    };
    let mut groups: Vec<Vec<&Record>> = Vec::new();
    for record in records.iter().filter(|record| record.sweep.is_some()) {
        match groups.iter_mut().find(|group| kind(group[0]) == kind(record)) {
            Some(group) => group.push(record),
            None => groups.push(vec![record]),
        }
    }
    groups.iter().filter_map(|group| Some(sweep(group, group[0].sweep.clone()?, others(group[0])))).collect()
}

fn sweep(group: &[&Record], param: String, params: Values) -> Sweep {
    let comparison = comparison(group);
    let result = |result: MethodResult| SweepResult {
        value: result.params.get(&param).cloned().unwrap_or_default(),
        method: result.method,
        rule: result.rule,
        in_use: result.in_use,
        accuracy: result.accuracy,
        mean: result.mean,
        std: result.std,
        ci95: result.ci95,
        train_seconds: result.train_seconds,
        test_seconds: result.test_seconds,
    };
    Sweep {
        schema: SCHEMA,
        data: comparison.data,
        protocol: comparison.protocol,
        method: group[0].method.clone(),
        results: comparison.results.into_iter().map(result).collect(),
        param,
        params,
        provenance: comparison.provenance,
    }
}

impl Sweep {
    /// Rules in order of appearance.
    pub fn rules(&self) -> Vec<&str> {
        let mut rules: Vec<&str> = Vec::new();
        for result in &self.results {
            if !rules.contains(&result.rule.as_str()) {
                rules.push(&result.rule);
            }
        }
        rules
    }

    /// Values in order.
    pub fn values(&self) -> Vec<&Value> {
        let mut values: Vec<&Value> = Vec::new();
        for result in &self.results {
            if !values.contains(&&result.value) {
                values.push(&result.value);
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::data::synthetic;
    use crate::protocol::splits;
    use crate::records::results::comparisons;
    use crate::run::compare::Plan;
    use atomlearn::registry;
    use serde_json::json;

    #[test]
    fn a_sweep_is_what_single_runs_give_and_decision_parameters_share_a_training() {
        let data = synthetic(4, 12, 8, 5);
        let splits = splits::stratified(&data, 8, 2, 1).unwrap();
        let method = registry::method("lcdl-sv").unwrap();
        let base = method.complete(&Values::new()).unwrap();
        for (param, values) in [("eta1", vec![json!(1e-3), json!(0.5)]), ("lambda1", vec![json!(1e-4), json!(0.1)])] {
            let entries = entries(method, &base, param, &values).unwrap();
            let prep = Default::default();
            let plan = Plan { data: &data, splits: &splits, prep: &prep, entries: &entries };
            let records = plan.run(&[], None, &mut ()).unwrap();
            let shared = records[0].times.train_seconds == records[1].times.train_seconds;
            assert_eq!(shared, param == "eta1");
            assert!(comparisons(&records).is_empty(), "a sweep is no comparison");
            let found = sweeps(&records);
            assert_eq!((found.len(), found[0].results.len()), (1, 6));
            assert_eq!((found[0].rules(), found[0].values().len()), (vec!["residual", "svm", "fused"], 2));
            for value in &values {
                let single = [entries.iter().find(|entry| entry.params[param] == *value).unwrap().clone()];
                let plan = Plan { entries: &single, ..plan };
                for record in plan.run(&[], None, &mut ()).unwrap() {
                    let same = records.iter().find(|other| other.key == record.key).unwrap();
                    assert_eq!(same.rules, record.rules);
                }
            }
            assert!(found[0].terminal(100, false).contains(param));
        }
        assert!(super::entries(method, &base, "eta1", &[json!(1.0), json!(1.0)]).is_err());
        assert!(super::entries(method, &base, "eta9", &[json!(1.0)]).is_err());
    }
}
