//! All methods, one row each: feeds command line, Python, documentation, tuning and the conformance tests.

use crate::params::{self, ParamInfo};
use crate::{Classifier, Dataset, Error, Fit, Observer, Parts, Result, methods};
use serde_json::{Map, Value};

/// Parameter values by name.
pub type Values = Map<String, Value>;

/// A named set of parameter values.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name, given as the pseudo-parameter `preset`.
    pub name: &'static str,
    /// Where it comes from.
    pub doc: &'static str,
    /// What it changes from the defaults, as JSON text.
    pub values: &'static str,
}

/// One method of the toolkit.
pub struct Method {
    /// Name on the command line and in model files.
    pub key: &'static str,
    /// Name in words.
    pub title: &'static str,
    /// Where it was published.
    pub paper: &'static str,
    /// Named parameter sets; the first, if any, is the defaults.
    pub presets: &'static [Preset],
    describe: fn() -> Vec<ParamInfo>,
    complete: fn(&Values) -> Result<Values>,
    fit: FitFn,
    restore: fn(&Values, Parts) -> Result<Box<dyn Classifier>>,
}

type FitFn = fn(&Values, &Dataset, &mut dyn Observer) -> Result<Box<dyn Classifier>>;

impl Method {
    const fn of<M: Fit>(title: &'static str, paper: &'static str, presets: &'static [Preset]) -> Self {
        Method {
            key: M::KEY,
            title,
            paper,
            presets,
            describe: M::describe,
            complete: |values| Ok(params::to_map(&params::from_map::<M>(values)?)),
            fit: |values, train, watch| Ok(Box::new(params::from_map::<M>(values)?.fit(train, watch)?)),
            restore: |values, parts| Ok(Box::new(params::from_map::<M>(values)?.restore(parts)?)),
        }
    }

    /// All parameters in order.
    pub fn params(&self) -> Vec<ParamInfo> {
        (self.describe)()
    }

    /// Checks the given values and adds the defaults of all others. `preset` may be among them.
    pub fn complete(&self, values: &Values) -> Result<Values> {
        let mut all = Values::new();
        let mut rest = values.clone();
        if let Some(preset) = rest.shift_remove("preset") {
            all = self.preset(preset.as_str().unwrap_or_default())?;
        }
        all.extend(rest);
        (self.complete)(&all)
    }

    /// The values of a named preset.
    pub fn preset(&self, name: &str) -> Result<Values> {
        let preset = self.presets.iter().find(|preset| preset.name == name);
        let preset = preset.ok_or_else(|| Error::unknown("preset", name, self.presets.iter().map(|p| p.name)))?;
        serde_json::from_str(preset.values).map_err(|e| Error::param("preset", name, e.to_string()))
    }

    /// Reads `name` and the text of its value, as typed on a command line.
    pub fn parse_value(&self, name: &str, text: &str) -> Result<Value> {
        if name == "preset" {
            return Ok(Value::from(text));
        }
        let params = self.params();
        match params.iter().find(|info| info.name == name) {
            Some(info) => Ok(info.domain.parse(text)),
            None => Err(Error::unknown("parameter", name, params.iter().map(|info| info.name))),
        }
    }

    /// Trains on `train`; values that are not given take their defaults.
    pub fn fit(&self, values: &Values, train: &Dataset, watch: &mut dyn Observer) -> Result<Box<dyn Classifier>> {
        (self.fit)(&self.complete(values)?, train, watch)
    }

    /// Rebuilds a model from its parts.
    pub fn restore(&self, values: &Values, parts: Parts) -> Result<Box<dyn Classifier>> {
        (self.restore)(values, parts)
    }
}

/// Every method, in the order in which tables list them.
pub static METHODS: &[Method] = &[
    Method::of::<methods::lcdl_sv::LcdlSv>(
        "Locality-constrained dictionary learning with support vectors (LCDL-SV)",
        "Yin, Wu, Chen: Locality constraint dictionary learning with support vector for pattern classification. IEEE Access 2019",
        &[
            Preset { name: "authors-code", doc: "the defaults: what the authors' code does", values: "{}" },
            Preset {
                name: "paper",
                doc: "as printed: theta = 0.2 and unsquared distances in the atom graph",
                values: r#"{"theta": 0.2, "affinity": "unsquared"}"#,
            },
        ],
    ),
    Method::of::<methods::crc::Crc>(
        "Collaborative representation (CRC-RLS)",
        "Zhang, Yang, Feng: Sparse representation or collaborative representation: which helps face recognition? ICCV 2011",
        &[],
    ),
    Method::of::<methods::ridge::Ridge>(
        "Ridge regression on one-hot labels",
        "Hoerl, Kennard: Ridge regression. Technometrics 1970",
        &[],
    ),
    Method::of::<methods::linear_svm::LinearSvm>(
        "Linear SVM, one against the rest",
        "Fan et al.: LIBLINEAR: a library for large linear classification. JMLR 2008 (the objective; the solver is our own)",
        &[],
    ),
];

/// The method of this name.
pub fn method(key: &str) -> Result<&'static Method> {
    METHODS
        .iter()
        .find(|method| method.key == key)
        .ok_or_else(|| Error::unknown("method", key, METHODS.iter().map(|method| method.key)))
}
