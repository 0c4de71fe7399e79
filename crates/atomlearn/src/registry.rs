//! All methods, one row each: feeds command line, Python, documentation, tuning and the conformance tests.

use crate::params::{self, ParamInfo};
use crate::prep::PrepSpec;
use crate::{Classifier, Dataset, Error, Fit, Mat, Observer, Parts, Result, State, methods};
use serde_json::{Map, Value, json};
use std::any::Any;

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
    /// Parameters that act after the last iteration only.
    pub decision: &'static [&'static str],
    /// Those of them that combine ready terms of the scores.
    pub readout: &'static [&'static str],
    /// Parameters that act within iterations only.
    pub iteration: &'static [&'static str],
    /// True if training iterates and can be resumed after any iteration.
    pub iterates: bool,
    /// True if training heeds the groups of samples.
    pub leaves_groups_out: bool,
    /// True if models have calibrated probabilities.
    pub probabilities: bool,
    /// Preprocessing where a user asks for none; see [`Method::settle`].
    pub default_prep: &'static str,
    given_prep: &'static [(&'static str, &'static str)],
    describe: fn() -> Vec<ParamInfo>,
    complete: fn(&Values) -> Result<Values>,
    choose: ChooseFn,
    fixed: fn(&Values) -> Result<Values>,
    fit: FitFn,
    resume: ResumeFn,
    restore: fn(&Values, Parts) -> Result<Box<dyn Classifier>>,
    redecide: RedecideFn,
    read_out: ReadOutFn,
}

type ChooseFn = fn(&Values, &Dataset, &mut dyn Observer) -> Result<Values>;
type FitFn = fn(&Values, &Dataset, &mut dyn Observer) -> Result<Box<dyn Classifier>>;
type ResumeFn = fn(&Values, &Dataset, State, &mut dyn Observer) -> Result<Box<dyn Classifier>>;
type ReadOutFn = fn(&Values, &[Mat<f64>]) -> Result<Mat<f64>>;
type RedecideFn = fn(&Values, &dyn Classifier, &Dataset) -> Result<Box<dyn Classifier>>;

impl Method {
    pub(crate) const fn of<M: Fit>(title: &'static str, paper: &'static str, presets: &'static [Preset]) -> Self {
        Method {
            key: M::KEY,
            title,
            paper,
            presets,
            decision: M::DECISION,
            readout: M::READOUT,
            iteration: M::ITERATION,
            iterates: M::ITERATES,
            leaves_groups_out: M::LEAVES_GROUPS_OUT,
            probabilities: M::PROBABILITIES,
            default_prep: M::DEFAULT_PREP,
            given_prep: M::GIVEN_PREP,
            describe: M::describe,
            complete: |values| Ok(params::to_map(&params::from_map::<M>(values)?)),
            choose: |values, train, watch| {
                let given = params::from_map::<M>(values)?;
                given.validate(train)?;
                Ok(params::to_map(&given.choose(train, watch)?))
            },
            fixed: |values| Ok(params::to_map(&params::from_map::<M>(values)?.fixed())),
            fit: |values, train, watch| Ok(Box::new(params::from_map::<M>(values)?.fit(train, watch)?)),
            resume: |values, train, state, watch| {
                Ok(Box::new(params::from_map::<M>(values)?.resume(train, state, watch)?))
            },
            restore: |values, parts| Ok(Box::new(params::from_map::<M>(values)?.restore(parts)?)),
            redecide: |values, model, train| {
                let model: &dyn Any = model;
                let model = model.downcast_ref::<M::Model>();
                let model = model.ok_or_else(|| Error::Data(format!("the model is not one of {}", M::KEY)))?;
                let chosen = params::from_map::<M>(values)?.choose(train, &mut ())?;
                Ok(Box::new(chosen.redecide(model, train)?))
            },
            read_out: |values, terms| Ok(params::from_map::<M>(values)?.fixed().readout(terms)),
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

    /// Preprocessing and all parameters for what a user gave: without preprocessing, or with the method's own, just that; with
    /// another also the values that it stands for, where they are left to be chosen. Every front end goes through this.
    pub fn settle(&self, prep: Option<&PrepSpec>, values: &Values) -> Result<(PrepSpec, Values)> {
        let own: PrepSpec = self.default_prep.parse()?;
        let Some(prep) = prep.filter(|&prep| *prep != own) else { return Ok((own, self.complete(values)?)) };
        let mut values = values.clone();
        for (name, word) in self.given_prep {
            let held = values.entry(*name).or_insert(Value::Null);
            if held.is_null() || *held == params::AUTO {
                *held = Value::from(*word);
            }
        }
        Ok((prep.clone(), self.complete(&values)?))
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

    /// Everything about the method, as `methods --json` shows it.
    pub fn to_json(&self) -> Value {
        let params = self.params().into_iter().map(|info| {
            json!({
                "name": info.name, "doc": info.doc, "domain": info.domain.to_string(),
                "default": info.default, "grid": info.grid,
            })
        });
        let presets = self.presets.iter().map(|preset| {
            let values = self.preset(preset.name).unwrap_or_default();
            json!({"name": preset.name, "doc": preset.doc, "values": values})
        });
        json!({
            "key": self.key, "title": self.title, "paper": self.paper, "default_prep": self.default_prep,
            "params": params.collect::<Vec<_>>(), "presets": presets.collect::<Vec<_>>(),
        })
    }

    /// All values, with what `train` says in place of those that are left to be chosen; [`Method::fit`] does the same. The observer
    /// is told.
    pub fn choose(&self, values: &Values, train: &Dataset, watch: &mut dyn Observer) -> Result<Values> {
        (self.choose)(&self.complete(values)?, train, watch)
    }

    /// All values, with the documented ones in place of those that are left to be chosen.
    pub fn fixed(&self, values: &Values) -> Result<Values> {
        (self.fixed)(&self.complete(values)?)
    }

    /// Trains on `train`; values that are not given take their defaults.
    pub fn fit(&self, values: &Values, train: &Dataset, watch: &mut dyn Observer) -> Result<Box<dyn Classifier>> {
        (self.fit)(&self.complete(values)?, train, watch)
    }

    /// Goes on from a state that the same values left on the same data, to the bits of [`Method::fit`]; `max_iter` may be larger.
    pub fn resume(
        &self,
        values: &Values,
        train: &Dataset,
        state: State,
        watch: &mut dyn Observer,
    ) -> Result<Box<dyn Classifier>> {
        (self.resume)(&self.complete(values)?, train, state, watch)
    }

    /// Rebuilds a model from its parts.
    pub fn restore(&self, values: &Values, parts: Parts) -> Result<Box<dyn Classifier>> {
        (self.restore)(values, parts)
    }

    /// What training with these values would have given, from a model trained on the same data with values that differ
    /// in decision parameters only.
    pub fn redecide(&self, values: &Values, model: &dyn Classifier, train: &Dataset) -> Result<Box<dyn Classifier>> {
        (self.redecide)(&self.complete(values)?, model, train)
    }

    /// Scores from the [terms](Classifier::score_terms) of a model whose values differ in readout parameters only.
    pub fn read_out(&self, values: &Values, terms: &[Mat<f64>]) -> Result<Mat<f64>> {
        (self.read_out)(values, terms)
    }
}

/// What was left open in `given` and has a value in `settled`.
pub fn chosen(given: &Values, settled: &Values) -> Values {
    let open = |name: &String| given.get(name).is_none_or(Value::is_null);
    let known = settled.iter().filter(|(name, value)| open(name) && !value.is_null());
    known.map(|(name, value)| (name.clone(), value.clone())).collect()
}

const CADL_PRESETS: &[Preset] = &[
    Preset { name: "default", doc: "The defaults: the published AR demo", values: "{}" },
    Preset {
        name: "ar",
        doc: "AR, as printed in the paper",
        values: r#"{"lambda1": 4e-3, "lambda2": 4e-4, "lambda3": 4e-4}"#,
    },
    Preset {
        name: "scene15",
        doc: "Scene15, as printed in the paper",
        values: r#"{"lambda1": 1e-4, "lambda2": 1e-2, "lambda3": 1e-4}"#,
    },
    Preset {
        name: "caltech101",
        doc: "Caltech101, as printed in the paper",
        values: r#"{"lambda1": 5e-4, "lambda2": 5e-4, "lambda3": 5e-3}"#,
    },
    Preset {
        name: "ucf50",
        doc: "UCF50, as printed in the paper",
        values: r#"{"lambda1": 1e-2, "lambda2": 3e-5, "lambda3": 1e-3}"#,
    },
];

const DPL_PRESETS: &[Preset] = &[
    Preset { name: "eyaleb", doc: "Extended Yale B, as printed in the paper; the defaults", values: "{}" },
    Preset { name: "ar", doc: "AR, as printed in the paper", values: r#"{"lambda": 5e-3}"# },
    Preset { name: "caltech101", doc: "Caltech101, as printed in the paper", values: r#"{"lambda": 1e-4}"# },
    Preset {
        name: "ucf50",
        doc: "UCF50, as printed in the paper",
        values: r#"{"lambda": 1e-2, "tau": 1e-2, "atoms_per_class": 50}"#,
    },
];

const DADL_PRESETS: &[Preset] = &[
    Preset { name: "faces", doc: "Extended Yale B and AR, as printed in the paper; the defaults", values: "{}" },
    Preset { name: "caltech101", doc: "Caltech101, as printed in the paper", values: r#"{"knn": 5, "lambda3": 4.0}"# },
    Preset {
        name: "scene15",
        doc: "Scene15, as printed in the paper",
        values: r#"{"knn": 5, "lambda2": 1e-2, "lambda3": 1.0}"#,
    },
];

/// Every method, in the order in which tables list them.
pub static METHODS: &[Method] = &[
    Method::of::<methods::auto::Auto>(
        "Self-tuning fusion of three readings of one code (auto)",
        "this project; the code is that of Zhang, Yang, Feng: Sparse representation or collaborative representation. ICCV 2011",
        &[],
    ),
    Method::of::<methods::lcdl_sv::LcdlSv>(
        "Locality-constrained dictionary learning with support vectors (LCDL-SV)",
        "Yin, Wu, Chen: Locality constraint dictionary learning with support vector for pattern classification. IEEE Access 2019",
        &[
            Preset {
                name: "default",
                doc: "eta1, eta2, rule and max_iter chosen on the training samples, all else as the authors' code does",
                values: "{}",
            },
            Preset {
                name: "authors-code",
                doc: "what the authors' code does",
                values: r#"{"eta1": 1e-2, "eta2": 5.0, "rule": "fused", "max_iter": 20}"#,
            },
            Preset {
                name: "paper",
                doc: "as printed: theta = 0.2 and unsquared distances in the atom graph",
                values: r#"{"eta1": 1e-2, "eta2": 5.0, "rule": "fused", "max_iter": 20, "theta": 0.2, "affinity": "unsquared"}"#,
            },
        ],
    ),
    Method::of::<methods::svgdl::Svgdl>(
        "Support vector guided dictionary learning (SVGDL)",
        "Cai, Zuo, Zhang, Feng, Wang: Support vector guided dictionary learning. ECCV 2014",
        &[],
    ),
    Method::of::<methods::src::Src>(
        "Sparse representation (SRC)",
        "Wright, Yang, Ganesh, Sastry, Ma: Robust face recognition via sparse representation. PAMI 2009",
        &[],
    ),
    Method::of::<methods::crc::Crc>(
        "Collaborative representation (CRC-RLS)",
        "Zhang, Yang, Feng: Sparse representation or collaborative representation: which helps face recognition? ICCV 2011",
        &[],
    ),
    Method::of::<methods::ksvd::Ksvd>(
        "K-SVD with a ridge classifier",
        "Aharon, Elad, Bruckstein: K-SVD: an algorithm for designing overcomplete dictionaries for sparse representation. IEEE TSP 2006",
        &[],
    ),
    Method::of::<methods::dksvd::DKsvd>(
        "Discriminative K-SVD (D-KSVD)",
        "Zhang, Li: Discriminative K-SVD for dictionary learning in face recognition. CVPR 2010",
        &[
            Preset { name: "small-weights", doc: "the defaults: chosen by cross-validation", values: "{}" },
            Preset {
                name: "published",
                doc: "settings of the LC-KSVD package for Extended Yale B",
                values: r#"{"beta": 4.0, "sparsity": 30, "atoms_per_class": 15, "init_iter": 20, "max_iter": 50, "readout": "joint"}"#,
            },
        ],
    ),
    Method::of::<methods::lcksvd::LcKsvd1>(
        "Label-consistent K-SVD, label consistency only (LC-KSVD1)",
        "Jiang, Lin, Davis: Label consistent K-SVD: learning a discriminative dictionary for recognition. IEEE TPAMI 2013",
        &[
            Preset { name: "small-weights", doc: "the defaults: chosen by cross-validation", values: "{}" },
            Preset {
                name: "published",
                doc: "settings of the authors' package for Extended Yale B",
                values: r#"{"alpha": 16.0, "sparsity": 30, "atoms_per_class": 15, "init_iter": 20, "code_iter": 20, "max_iter": 50, "ridge": 1.0, "readout": "joint"}"#,
            },
        ],
    ),
    Method::of::<methods::lcksvd::LcKsvd2>(
        "Label-consistent K-SVD with classification error (LC-KSVD2)",
        "Jiang, Lin, Davis: Label consistent K-SVD: learning a discriminative dictionary for recognition. IEEE TPAMI 2013",
        &[
            Preset { name: "small-weights", doc: "the defaults: chosen by cross-validation", values: "{}" },
            Preset {
                name: "published",
                doc: "settings of the authors' package for Extended Yale B",
                values: r#"{"alpha": 16.0, "beta": 4.0, "sparsity": 30, "atoms_per_class": 15, "init_iter": 20, "code_iter": 20, "max_iter": 50, "ridge": 1.0, "readout": "joint"}"#,
            },
        ],
    ),
    Method::of::<methods::fddl::Fddl>(
        "Fisher discrimination dictionary learning (FDDL)",
        "Yang, Zhang, Feng, Zhang: Sparse representation based Fisher discrimination dictionary learning for image classification. IJCV 2014",
        &[],
    ),
    Method::of::<methods::cadl::Cadl>(
        "Class-aware analysis dictionary learning (CADL)",
        "Wang, Guo, Guo, Luo, Kong: Class-aware analysis dictionary learning for pattern classification. IEEE Signal Processing Letters 2017",
        CADL_PRESETS,
    ),
    Method::of::<methods::sadl::Sadl>(
        "Structured analysis dictionary learning (SADL)",
        "Tang, Panahi, Krim, Dai: Analysis dictionary learning based classification: structure for robustness. IEEE Transactions on Image Processing 2019",
        &[],
    ),
    Method::of::<methods::dpl::Dpl>(
        "Projective dictionary pair learning (DPL)",
        "Gu, Zhang, Zuo, Feng: Projective dictionary pair learning for pattern classification. NIPS 2014",
        DPL_PRESETS,
    ),
    Method::of::<methods::dadl::Dadl>(
        "Discriminative analysis dictionary learning (DADL)",
        "Guo, Guo, Kong, Zhang, He: Discriminative analysis dictionary learning. AAAI 2016",
        DADL_PRESETS,
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
    Method::of::<methods::rbf_svm::RbfSvm>(
        "SVM with a Gaussian kernel, one against the rest",
        "Boser, Guyon, Vapnik: A training algorithm for optimal margin classifiers. COLT 1992 (here with squared hinge loss)",
        &[],
    ),
    Method::of::<methods::lda::Lda>(
        "Linear discriminant analysis with shrinkage",
        "Ledoit, Wolf: A well-conditioned estimator for large-dimensional covariance matrices. J. Multivariate Analysis 2004 (the shrinkage)",
        &[],
    ),
    Method::of::<methods::knn::Knn>(
        "Nearest neighbours",
        "Cover, Hart: Nearest neighbor pattern classification. IEEE Transactions on Information Theory 1967",
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
