//! From samples to a model, in two steps: preprocessing, then the method. Everything that trains in memory goes this way.

use super::Model;
use crate::method::{AnyFit, Method, chosen};
use crate::params::Values;
use crate::prep::{Prep, PrepSpec};
use crate::{Classifier, Dataset, Error, NameKind, Observer, Result, State, registry};
use faer::MatRef;
use serde_json::Value;

/// What is to be trained.
pub struct Recipe {
    method: &'static Method,
    params: Box<dyn AnyFit>,
    prep: PrepSpec,
}

impl Recipe {
    /// A method with these parameters, all others at their defaults, behind this preprocessing.
    pub fn new(method: &'static Method, params: &Values, prep: &PrepSpec) -> Result<Self> {
        Ok(Recipe { method, params: method.parse(params)?, prep: prep.clone() })
    }

    /// The method.
    pub fn method(&self) -> &'static Method {
        self.method
    }

    /// The first step: fits the preprocessing and takes the samples through it.
    pub fn prepare(self, train: &Dataset, watch: &mut dyn Observer) -> Result<Ready> {
        if train.weights().is_some() && !self.method.weights {
            let others = registry::METHODS.iter().filter(|method| method.weights).map(|method| method.key);
            return Err(Error::Data(format!(
                "`{}` does not use weights of samples; these methods do: {}",
                self.method.key,
                others.collect::<Vec<_>>().join(", ")
            )));
        }
        let (prep, x) = match train.weights() {
            Some(weights) => self.prep.fit_weighted(train.x(), weights, watch)?,
            None => self.prep.fit(train.x(), watch)?,
        };
        let given = self.params.values();
        let train = prep.prepared(train, x)?;
        Ok(Ready { method: self.method, given, params: self.params, prep, train })
    }

    /// Both steps.
    pub fn train(self, train: &Dataset, watch: &mut dyn Observer) -> Result<Model> {
        let mut ready = self.prepare(train, watch)?;
        ready.choose(&Values::new(), watch)?;
        ready.learn(None, watch)
    }
}

impl Model {
    /// The model after another batch of raw samples (features x samples), each with the name of its class; for methods that learn from
    /// batches ([`crate::Incremental`]). Preprocessing and classes stay as they are.
    pub fn learn_more(&self, x: MatRef<'_, f64>, labels: &[String]) -> Result<Model> {
        let place = |label: &String| {
            let known = self.classes().iter().position(|class| class == label);
            known.ok_or_else(|| Error::unknown(NameKind::Class, label, self.classes().iter().map(String::as_str)))
        };
        let targets = labels.iter().map(place).collect::<Result<Vec<_>>>()?;
        let prepared = self.prepare(x)?;
        let classifier = self.method.learn_more(&self.params, self.classifier(), prepared.as_ref(), &targets)?;
        let mut info = self.info.clone();
        info.set_learned_more();
        Ok(Model {
            info,
            features: self.features.clone(),
            schema: self.schema.clone(),
            ..Model::new(self.method, self.params.clone(), self.prep.clone(), classifier)?
        })
    }
}

/// Samples after preprocessing, ready to learn from.
pub struct Ready {
    method: &'static Method,
    /// All parameters as they were given.
    given: Values,
    params: Box<dyn AnyFit>,
    prep: Prep,
    train: Dataset,
}

impl Ready {
    /// The samples.
    pub fn train(&self) -> &Dataset {
        &self.train
    }

    /// Chooses the parameters that are left open from the samples, except those that were chosen `before` a break. Returns all that were
    /// chosen.
    pub fn choose(&mut self, before: &Values, watch: &mut dyn Observer) -> Result<Values> {
        let mut known = self.given.clone();
        for (name, value) in known.iter_mut().filter(|(_, value)| value.is_null()) {
            *value = before.get(name).cloned().unwrap_or(Value::Null);
        }
        self.params = self.method.parse(&known)?.choose(&self.train, watch)?;
        Ok(self.chosen())
    }

    fn chosen(&self) -> Values {
        chosen(&self.given, &self.params.values())
    }

    /// The second step: learns from the samples, or goes on from a state. What was chosen is among the parameters of the model, and noted.
    pub fn learn(&self, from: Option<State>, watch: &mut dyn Observer) -> Result<Model> {
        let classifier = match from {
            None => self.params.fit(&self.train, watch)?,
            Some(state) => self.params.resume(&self.train, state, watch)?,
        };
        let mut model = self.model(classifier)?;
        model.info.set_chosen(&self.chosen());
        Ok(model)
    }

    /// The model that a classifier is behind this preprocessing; for those that a [step](crate::Step::model) offers.
    pub fn model(&self, classifier: Box<dyn Classifier>) -> Result<Model> {
        Model::new(self.method, self.params.values(), self.prep.clone(), classifier)
    }
}
