//! The models that are served, each under its name, and their replacement while requests go on.

use crate::batch::Batches;
use crate::drift::Drift;
use crate::metrics::Metrics;
use crate::subject::Subject;
use crate::{Config, openapi, predict};
use serde_json::{Value, json};
use std::sync::{Arc, PoisonError, RwLock};

/// Reads a model again; an error is a sentence.
pub type Load = Arc<dyn Fn() -> Result<Subject, String> + Send + Sync>;

/// A model to serve, under the name that its subject has.
pub struct Source {
    /// The model as it is now.
    pub subject: Subject,
    /// How to read it again, if that is possible.
    pub load: Option<Load>,
}

impl From<Subject> for Source {
    fn from(subject: Subject) -> Self {
        Source { subject, load: None }
    }
}

/// A model with its queue of samples. Requests keep the one they began with, whatever takes its place.
pub struct Served {
    pub subject: Arc<Subject>,
    pub batches: Arc<Batches>,
    /// Whether samples are still like those of training, if somebody wants to know.
    pub drift: Option<Drift>,
}

/// All models at one time.
pub struct Generation {
    models: Vec<Arc<Served>>,
    /// The interface, described for programs.
    pub openapi: Value,
}

/// All models, now and later.
pub struct Models {
    now: RwLock<Arc<Generation>>,
    loads: Vec<Option<Load>>,
    /// Only one reload at a time.
    reloading: tokio::sync::Mutex<()>,
    metrics: Arc<Metrics>,
    config: Config,
}

impl Served {
    fn new(subject: Subject, metrics: &Arc<Metrics>, config: &Config) -> Result<Arc<Self>, String> {
        let name = &subject.name;
        if config.min_probability.is_some() && !subject.has_probabilities() {
            return Err(format!("model `{name}`: {}", predict::NO_PROBABILITIES));
        }
        if config.drift && !subject.has_p_values() {
            return Err(format!(
                "model `{name}` holds too little of its training data to tell drift by; serve a model of `auto` with at most 4000 \
                 training samples, or leave out the drift"
            ));
        }
        let subject = Arc::new(subject);
        let batches = Arc::new(Batches::new(subject.clone(), metrics.clone(), config.max_batch));
        Ok(Arc::new(Served { subject, batches, drift: config.drift.then(Drift::default) }))
    }
}

impl Generation {
    fn new(models: Vec<Arc<Served>>, config: &Config) -> Arc<Self> {
        let subjects: Vec<&Subject> = models.iter().map(|served| &*served.subject).collect();
        let openapi = openapi::document(&subjects, config);
        Arc::new(Generation { models, openapi })
    }

    /// The model of this name, or the first one.
    pub fn model(&self, name: Option<&str>) -> Option<&Arc<Served>> {
        match name {
            None => self.models.first(),
            Some(name) => self.models.iter().find(|served| served.subject.name == name),
        }
    }

    /// In the order in which they were given.
    pub fn models(&self) -> &[Arc<Served>] {
        &self.models
    }

    /// Names and methods; `atomlearn.serve-models/1`.
    pub fn list(&self) -> Value {
        let about = |served: &Arc<Served>| {
            let (name, method) = (&served.subject.name, served.subject.model.method().key);
            json!({"name": name, "method": method, "path": format!("/models/{name}/")})
        };
        json!({"schema": "atomlearn.serve-models/1", "models": self.models.iter().map(about).collect::<Vec<_>>()})
    }
}

impl Models {
    /// Models that can be served together, and as the limits ask; at least one.
    pub fn new(sources: Vec<Source>, metrics: Arc<Metrics>, config: &Config) -> Result<Self, String> {
        let several = sources.len() > 1;
        let (mut models, mut loads) = (Vec::new(), Vec::new());
        for Source { subject, load } in sources {
            let name = &subject.name;
            let plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
            if several && (name.is_empty() || !name.chars().all(plain)) {
                return Err(format!(
                    "`{name}` cannot be part of an address; give the model a name of letters, digits, . - and _"
                ));
            }
            if models.iter().any(|served: &Arc<Served>| served.subject.name == *name) {
                return Err(format!("two models are called `{name}`; give them different names"));
            }
            models.push(Served::new(subject, &metrics, config)?);
            loads.push(load);
        }
        if models.is_empty() {
            return Err("there is no model to serve".into());
        }
        let (now, config) = (RwLock::new(Generation::new(models, config)), config.clone());
        Ok(Models { now, loads, reloading: tokio::sync::Mutex::default(), metrics, config })
    }

    /// The models of this moment.
    pub fn now(&self) -> Arc<Generation> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads every model again that can be. One that cannot be read, or not be served, stays as it is; the result has a sentence
    /// about each model, an error where it stays.
    pub async fn reload(&self) -> Vec<Result<String, String>> {
        let _alone = self.reloading.lock().await;
        let before = self.now();
        let (mut models, mut outcomes) = (Vec::new(), Vec::new());
        for (served, load) in before.models.iter().zip(&self.loads) {
            let name = &served.subject.name;
            let Some(load) = load.clone() else {
                models.push(served.clone());
                outcomes.push(Err(format!("model `{name}` has no file to be read again from")));
                continue;
            };
            let (own, metrics, config) = (name.clone(), self.metrics.clone(), self.config.clone());
            let read = move || {
                let mut subject = load()?;
                subject.rename(&own);
                Served::new(subject, &metrics, &config)
            };
            let read = tokio::task::spawn_blocking(read).await.unwrap_or_else(|_| Err("reading it broke down".into()));
            self.metrics.reloaded(read.is_ok());
            outcomes.push(match &read {
                Ok(_) => Ok(format!("model `{name}` was read again")),
                Err(why) => Err(format!("model `{name}` stays as it was: {why}")),
            });
            models.push(read.unwrap_or_else(|_| served.clone()));
        }
        let after = Generation::new(models, &self.config);
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = after;
        outcomes
    }
}
