//! The paths that have an answer.

use crate::page::{FILES, File};
use hyper::Method;

/// What a path stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Labels, scores and probabilities of samples.
    Predict,
    /// Why a sample gets its label.
    Explain,
    /// What is served.
    Model,
    /// The names of all models.
    Models,
    /// Whether the server lives.
    Health,
    /// Counters.
    Metrics,
    /// The interface, described for programs.
    OpenApi,
    /// A file of the page.
    File(&'static File),
}

impl Route {
    /// All but the files of the page.
    pub const SERVICES: [Route; 7] =
        [Route::Predict, Route::Explain, Route::Model, Route::Models, Route::Health, Route::Metrics, Route::OpenApi];

    /// The route of a path, if it has one.
    pub fn of(path: &str) -> Option<Self> {
        let files = FILES.iter().map(Route::File);
        Route::SERVICES.into_iter().chain(files).find(|route| route.path() == path)
    }

    /// Its path.
    pub fn path(self) -> &'static str {
        match self {
            Route::Predict => "/predict",
            Route::Explain => "/explain",
            Route::Model => "/model",
            Route::Models => "/models",
            Route::Health => "/healthz",
            Route::Metrics => "/metrics",
            Route::OpenApi => "/openapi.json",
            Route::File(file) => file.path,
        }
    }

    /// Whether the answer is that of one model, so that `/models/NAME` before the path chooses it.
    pub fn is_of_a_model(self) -> bool {
        matches!(self, Route::Predict | Route::Explain | Route::Model | Route::File(_))
    }

    /// Whether it answers this method.
    pub fn takes(self, method: &Method) -> bool {
        self.methods().split(", ").any(|known| known == method.as_str())
    }

    /// The methods that it answers, as the header `Allow` lists them.
    pub fn methods(self) -> &'static str {
        match self {
            Route::Predict | Route::Explain => "POST",
            _ => "GET, HEAD",
        }
    }
}

/// A route, and the model that it is asked of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address<'a> {
    /// What is asked for.
    pub route: Route,
    /// The name of the model; the first one if there is none.
    pub model: Option<&'a str>,
}

impl<'a> Address<'a> {
    /// The address of a path, if it can be one: `/predict`, or `/models/NAME/predict`.
    pub fn of(path: &'a str) -> Option<Self> {
        if let Some(route) = Route::of(path) {
            return Some(Address { route, model: None });
        }
        let below = path.strip_prefix(Route::Models.path())?.strip_prefix('/')?;
        let (name, rest) = below.split_at(below.find('/')?);
        let route = Route::of(rest).filter(|route| route.is_of_a_model())?;
        Some(Address { route, model: Some(name) })
    }

    /// Its path.
    pub fn path(self) -> String {
        let model = self.model.map_or(String::new(), |name| format!("{}/{name}", Route::Models.path()));
        model + self.route.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_leads_to_its_route_and_no_other_does() {
        for route in Route::SERVICES.into_iter().chain(FILES.iter().map(Route::File)) {
            assert_eq!(Route::of(route.path()), Some(route));
            assert!(route.takes(&Method::GET) != route.takes(&Method::POST));
            assert_eq!(Address::of(route.path()), Some(Address { route, model: None }));
            let named = Address { route, model: Some("a.b-c") };
            let path = format!("/models/a.b-c{}", route.path());
            let found = Address::of(&path);
            assert_eq!(found, route.is_of_a_model().then_some(named));
            assert!(found.is_none_or(|found| found.path() == named.path()));
        }
        for other in
            ["", "/PREDICT", "/predict/", "/../predict", "predict", "/models/", "/models/a", "/models//a/predict"]
        {
            assert_eq!(Address::of(other), None, "{other}");
        }
    }
}
