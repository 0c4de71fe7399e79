//! From samples to a model, in two steps: preprocessing, then the method. Everything that trains in memory goes this way.

use super::Model;
use crate::dataset::check_finite;
use crate::method::{AnyFit, Method, chosen};
use crate::params::Values;
use crate::prep::{Prep, PrepSpec};
use crate::{Classifier, Dataset, Error, Observer, Result, State};
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
        let (prep, train) = self.prep.fit_dataset(train, watch)?;
        let given = self.params.values();
        Ok(Ready { method: self.method, given, params: self.params, prep, train })
    }

    /// Both steps.
    pub fn train(self, train: &Dataset, watch: &mut dyn Observer) -> Result<Model> {
        let mut ready = self.prepare(train, watch)?;
        ready.choose(&Values::new(), watch)?;
        ready.learn(None, watch)
    }
}

impl Recipe {
    /// A model of these classes that has seen no sample yet, for methods that learn from batches ([`crate::Incremental`]): the
    /// preprocessing is fitted on `first`, samples of the first batch, and stays. Classes must be in the order of
    /// [`crate::dataset::sorted_classes`].
    pub fn begin(self, classes: Vec<String>, first: MatRef<'_, f64>, watch: &mut dyn Observer) -> Result<Model> {
        if classes.len() < 2 {
            return Err(Error::Data(format!("{} classes: a classifier needs at least two", classes.len())));
        }
        check_finite(first)?;
        let (prep, _) = self.prep.fit(first, watch)?;
        let params = self.params.values();
        let classifier = self.method.begin(&params, classes, prep.n_out()?)?;
        Model::new(self.method, params, prep, classifier)
    }
}

impl Model {
    /// The model after another batch of raw samples (features x samples), each with the name of its class; for methods that learn from
    /// batches. Preprocessing and classes stay as they are.
    pub fn learn_more(&self, x: MatRef<'_, f64>, labels: &[String]) -> Result<Model> {
        let place = |label: &String| {
            let known = self.classes().iter().position(|class| class == label);
            known.ok_or_else(|| Error::unknown("class", label, self.classes().iter().map(String::as_str)))
        };
        let targets = labels.iter().map(place).collect::<Result<Vec<_>>>()?;
        let prepared = self.prepare(x)?;
        let classifier = self.method.learn_more(&self.params, self.classifier(), prepared.as_ref(), &targets)?;
        Ok(Model {
            info: self.info.clone(),
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
