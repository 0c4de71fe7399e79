//! A method whose type is forgotten: parameters are values by name, models are [`Classifier`]s.

use crate::classifier::check_features;
use crate::dataset::{check_finite, sorted_classes};
use crate::fit::Incremental;
use crate::params::{self, ParamInfo, Preset, Values};
use crate::prep::PrepSpec;
use crate::rounds::{ClassSums, FromSums, Message, Moments, Partitioned, Rounds, RoundsStart, Scatter};
use crate::{Classifier, Dataset, Error, Fit, Mat, MatRef, NameKind, Observer, Parts, Result, State};
use serde_json::{Value, json};
use std::any::Any;

/// Checked parameters of some method.
pub trait AnyFit: Send + Sync {
    /// All parameters by name.
    fn values(&self) -> Values;

    /// See [`Fit::choose`]; the parameters are checked against the data before.
    fn choose(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<Box<dyn AnyFit>>;

    /// See [`Fit::fixed`].
    fn fixed(&self) -> Box<dyn AnyFit>;

    /// See [`Fit::fit`].
    fn fit(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<Box<dyn Classifier>>;

    /// See [`Fit::resume`].
    fn resume(&self, train: &Dataset, state: State, watch: &mut dyn Observer) -> Result<Box<dyn Classifier>>;

    /// See [`Fit::restore`].
    fn restore(&self, parts: Parts) -> Result<Box<dyn Classifier>>;

    /// See [`Fit::redecide`].
    fn redecide(&self, model: &dyn Classifier, train: &Dataset) -> Result<Box<dyn Classifier>>;

    /// See [`Fit::readout`].
    fn readout(&self, terms: &[Mat<f64>]) -> Mat<f64>;
}

/// Parameters that [`params::from_map`] checked.
struct Checked<M>(M);

impl<M: Fit> AnyFit for Checked<M> {
    fn values(&self) -> Values {
        params::to_map(&self.0)
    }

    fn choose(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<Box<dyn AnyFit>> {
        self.0.check(train)?;
        Ok(Box::new(Checked(self.0.choose(train, watch)?)))
    }

    fn fixed(&self) -> Box<dyn AnyFit> {
        Box::new(Checked(self.0.fixed()))
    }

    fn fit(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<Box<dyn Classifier>> {
        self.0.check(train)?;
        Ok(Box::new(self.0.choose(train, watch)?.learn(train, None, watch)?))
    }

    fn resume(&self, train: &Dataset, state: State, watch: &mut dyn Observer) -> Result<Box<dyn Classifier>> {
        M::check_resumable()?;
        self.0.check(train)?;
        Ok(Box::new(self.0.choose(train, watch)?.learn(train, Some(state), watch)?))
    }

    fn restore(&self, parts: Parts) -> Result<Box<dyn Classifier>> {
        Ok(Box::new(self.0.restore(parts)?))
    }

    fn redecide(&self, model: &dyn Classifier, train: &Dataset) -> Result<Box<dyn Classifier>> {
        let model = own_model::<M>(model)?;
        Ok(Box::new(self.0.choose(train, &mut ())?.redecide(model, train)?))
    }

    fn readout(&self, terms: &[Mat<f64>]) -> Mat<f64> {
        self.0.fixed().readout(terms)
    }
}

/// A model as what it is.
fn own_model<M: Fit>(model: &dyn Classifier) -> Result<&M::Model> {
    let model: &dyn Any = model;
    model.downcast_ref::<M::Model>().ok_or_else(|| Error::Data(format!("the model is not one of {}", M::KEY)))
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
    /// True if training uses the weights of samples.
    pub weights: bool,
    /// True if models have calibrated probabilities.
    pub probabilities: bool,
    /// Preprocessing where a user asks for none; see [`Method::settle`].
    pub default_prep: &'static str,
    given_prep: &'static [(&'static str, &'static str)],
    /// True if the scores of a sample have the same bits in any company.
    pub independent_samples: bool,
    /// True if scores have a closed form, which can be [exported](crate::Model::to_onnx).
    pub closed_form: bool,
    partitioned: Option<InPartitions>,
    from_sums: Option<FromSumsFn>,
    incremental: Option<InBatches>,
    describe: fn() -> Vec<ParamInfo>,
    parse: fn(&Values) -> Result<Box<dyn AnyFit>>,
}

/// [`Partitioned`] of a method whose type is forgotten.
pub(crate) struct InPartitions {
    pub(crate) scatter: Scatter,
    pub(crate) class_matrices: bool,
    pub(crate) begin: BeginFn,
    pub(crate) resume: ResumeRoundsFn,
}

/// [`Incremental`] of a method whose type is forgotten.
struct InBatches {
    begin: BeginEmptyFn,
    learn_more: LearnMoreFn,
}

type BeginEmptyFn = fn(&Values, Vec<String>, usize) -> Result<Box<dyn Classifier>>;
type LearnMoreFn = fn(&Values, &dyn Classifier, MatRef<'_, f64>, &[usize]) -> Result<Box<dyn Classifier>>;
type FromSumsFn = fn(&Values, &ClassSums, &mut dyn Observer) -> Result<Parts>;
type BeginFn = fn(&Values, &Moments, &[Mat<f64>], &mut dyn Observer) -> Result<RoundsStart>;
type ResumeRoundsFn = fn(&Values, &mut Message, &Moments, &[String]) -> Result<Box<dyn Rounds>>;
impl Method {
    pub(crate) const fn of<M: Fit>() -> Self {
        Method {
            key: M::KEY,
            title: M::TITLE,
            paper: M::PAPER,
            presets: M::PRESETS,
            decision: M::DECISION,
            readout: M::READOUT,
            iteration: M::ITERATION,
            iterates: M::ITERATES,
            leaves_groups_out: M::LEAVES_GROUPS_OUT,
            weights: M::WEIGHTS,
            probabilities: M::PROBABILITIES,
            default_prep: M::DEFAULT_PREP,
            given_prep: M::GIVEN_PREP,
            independent_samples: M::INDEPENDENT_SAMPLES,
            closed_form: M::CLOSED_FORM,
            partitioned: None,
            from_sums: None,
            incremental: None,
            describe: M::describe,
            parse: |values| Ok(Box::new(Checked(params::from_map::<M>(values)?))),
        }
    }

    /// The same method, which also learns from sums over partitions.
    pub(crate) const fn in_partitions<M: Partitioned>(self) -> Self {
        let partitioned = InPartitions {
            scatter: M::SCATTER,
            class_matrices: M::CLASS_MATRICES,
            begin: |values, moments, scatters, watch| params::from_map::<M>(values)?.begin(moments, scatters, watch),
            resume: |values, message, moments, classes| {
                params::from_map::<M>(values)?.resume(message, moments, classes)
            },
        };
        Method { partitioned: Some(partitioned), ..self }
    }

    /// The same method, which also learns from the sums over each class alone.
    pub(crate) const fn with_sums<M: FromSums>(self) -> Self {
        let learn: FromSumsFn = |values, sums, watch| params::from_map::<M>(values)?.learn_from_sums(sums, watch);
        Method { from_sums: Some(learn), ..self }
    }

    /// True if the sums over each class are all that it needs, so that samples can come in batches and go.
    pub fn learns_from_sums(&self) -> bool {
        self.from_sums.is_some()
    }

    /// Learns from sums over samples alone.
    pub fn fit_sums(
        &self,
        values: &Values,
        classes: &[String],
        sums: &ClassSums,
        watch: &mut dyn Observer,
    ) -> Result<Box<dyn Classifier>> {
        let learn = self.from_sums.ok_or_else(|| {
            Error::Data(format!("`{}` needs the samples themselves: it cannot learn from sums alone", self.key))
        })?;
        sums.check()?;
        let values = self.complete(values)?;
        let parts = learn(&values, sums, watch)?;
        self.restore(&values, parts.of("model", classes.to_vec()))
    }

    /// The same method, which also learns from batches that come one after another.
    pub(crate) const fn in_batches<M: Incremental>(self) -> Self {
        let incremental = InBatches {
            begin: |values, classes, n_features| {
                Ok(Box::new(params::from_map::<M>(values)?.fixed().begin(classes, n_features)?))
            },
            learn_more: |values, model, x, targets| {
                let model = own_model::<M>(model)?;
                Ok(Box::new(params::from_map::<M>(values)?.fixed().learn_more(model, x, targets)?))
            },
        };
        Method { incremental: Some(incremental), ..self }
    }

    /// True if it learns from batches that come one after another.
    pub fn learns_in_batches(&self) -> bool {
        self.incremental.is_some()
    }

    fn incremental(&self) -> Result<&InBatches> {
        let none =
            || Error::Data(format!("`{}` cannot learn batch by batch: train it on all samples at once", self.key));
        self.incremental.as_ref().ok_or_else(none)
    }

    /// A model of these classes, in the order of [`sorted_classes`], that has seen no sample; for methods that learn from batches.
    pub fn begin(&self, values: &Values, classes: &[String], n_features: usize) -> Result<Box<dyn Classifier>> {
        let begin = self.incremental()?.begin;
        let classes = sorted_classes(classes);
        if classes.len() < 2 {
            return Err(Error::Data(format!("{} classes: a classifier needs at least two", classes.len())));
        }
        begin(&self.complete(values)?, classes, n_features)
    }

    /// The model after another batch, whose samples stand in columns; `targets` are indices into its classes.
    pub fn learn_more(
        &self,
        values: &Values,
        model: &dyn Classifier,
        x: MatRef<'_, f64>,
        targets: &[usize],
    ) -> Result<Box<dyn Classifier>> {
        let learn_more = self.incremental()?.learn_more;
        check_features(model.n_features(), x)?;
        check_finite(x)?;
        let n_classes = model.classes().len();
        if targets.len() != x.ncols() || targets.iter().any(|&c| c >= n_classes) {
            return Err(Error::shape(
                "classes of a batch",
                format!("one below {n_classes} for each of {} samples", x.ncols()),
                format!("{} of them, up to {}", targets.len(), targets.iter().max().unwrap_or(&0)),
            ));
        }
        learn_more(&self.complete(values)?, model, x, targets)
    }

    /// True if it learns from sums over partitions, see [`crate::scale`].
    pub fn learns_in_partitions(&self) -> bool {
        self.partitioned.is_some()
    }

    /// How it learns from sums over partitions.
    pub(crate) fn partitioned(&self) -> Option<&InPartitions> {
        self.partitioned.as_ref()
    }

    /// All parameters in order.
    pub fn params(&self) -> Vec<ParamInfo> {
        (self.describe)()
    }

    /// Reads and checks the given values; all others take their defaults. `preset` may be among them.
    pub fn parse(&self, values: &Values) -> Result<Box<dyn AnyFit>> {
        let mut all = Values::new();
        let mut rest = values.clone();
        if let Some(preset) = rest.shift_remove("preset") {
            all = self.preset(preset.as_str().unwrap_or_default())?;
        }
        all.extend(rest);
        (self.parse)(&all)
    }

    /// All values: those given, checked, and the defaults of all others.
    pub fn complete(&self, values: &Values) -> Result<Values> {
        Ok(self.parse(values)?.values())
    }

    /// Preprocessing and all parameters for what a user gave: without preprocessing, or with the method's own, just that; with
    /// another also the values that it stands for, where they are left to be chosen. Every front end goes through this.
    pub fn settle(&self, prep: Option<&PrepSpec>, values: &Values) -> Result<(PrepSpec, Values)> {
        let own: PrepSpec = self.default_prep.parse()?;
        let Some(prep) = prep.filter(|&prep| *prep != own) else { return Ok((own, self.complete(values)?)) };
        if prep.is_views_of(&own) {
            return Ok((prep.clone(), self.complete(values)?));
        }
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
        let preset =
            preset.ok_or_else(|| Error::unknown(NameKind::Preset, name, self.presets.iter().map(|p| p.name)))?;
        Ok((preset.values)())
    }

    /// Reads `name` and the text of its value, as typed on a command line.
    pub fn parse_value(&self, name: &str, text: &str) -> Result<Value> {
        if name == "preset" {
            return Ok(Value::from(text));
        }
        let params = self.params();
        match params.iter().find(|info| info.name == name) {
            Some(info) => Ok(info.domain.parse(text)),
            None => Err(Error::unknown(NameKind::Parameter, name, params.iter().map(|info| info.name))),
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
        let presets = self
            .presets
            .iter()
            .map(|preset| json!({"name": preset.name, "doc": preset.doc, "values": (preset.values)()}));
        json!({
            "key": self.key, "title": self.title, "paper": self.paper, "default_prep": self.default_prep,
            "weights": self.weights, "from_sums": self.learns_from_sums(), "batches": self.learns_in_batches(),
            "params": params.collect::<Vec<_>>(), "presets": presets.collect::<Vec<_>>(),
        })
    }

    /// All values, with what `train` says in place of those that are left to be chosen; [`Method::fit`] does the same. The observer
    /// is told.
    pub fn choose(&self, values: &Values, train: &Dataset, watch: &mut dyn Observer) -> Result<Values> {
        Ok(self.parse(values)?.choose(train, watch)?.values())
    }

    /// All values, with the documented ones in place of those that are left to be chosen.
    pub fn fixed(&self, values: &Values) -> Result<Values> {
        Ok(self.parse(values)?.fixed().values())
    }

    /// Trains on `train`; values that are not given take their defaults.
    pub fn fit(&self, values: &Values, train: &Dataset, watch: &mut dyn Observer) -> Result<Box<dyn Classifier>> {
        self.parse(values)?.fit(train, watch)
    }

    /// Goes on from a state that the same values left on the same data, to the bits of [`Method::fit`]; `max_iter` may be larger.
    pub fn resume(
        &self,
        values: &Values,
        train: &Dataset,
        state: State,
        watch: &mut dyn Observer,
    ) -> Result<Box<dyn Classifier>> {
        self.parse(values)?.resume(train, state, watch)
    }

    /// Rebuilds a model from its parts.
    pub fn restore(&self, values: &Values, parts: Parts) -> Result<Box<dyn Classifier>> {
        self.parse(values)?.restore(parts)
    }

    /// What training with these values would have given, from a model trained on the same data with values that differ
    /// in decision parameters only.
    pub fn redecide(&self, values: &Values, model: &dyn Classifier, train: &Dataset) -> Result<Box<dyn Classifier>> {
        self.parse(values)?.redecide(model, train)
    }

    /// Scores from the [terms](Classifier::score_terms) of a model whose values differ in readout parameters only.
    pub fn read_out(&self, values: &Values, terms: &[Mat<f64>]) -> Result<Mat<f64>> {
        Ok(self.parse(values)?.readout(terms))
    }
}

/// What was left open in `given` and has a value in `settled`.
pub fn chosen(given: &Values, settled: &Values) -> Values {
    let open = |name: &String| given.get(name).is_none_or(Value::is_null);
    let known = settled.iter().filter(|(name, value)| open(name) && !value.is_null());
    known.map(|(name, value)| (name.clone(), value.clone())).collect()
}
