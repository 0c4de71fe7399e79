//! The paths that have an answer.

use crate::page::{FILES, File};
use hyper::Method;

/// What a path stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Labels and scores of samples.
    Predict,
    /// Why a sample gets its label.
    Explain,
    /// What is served.
    Model,
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
    pub const SERVICES: [Route; 6] =
        [Route::Predict, Route::Explain, Route::Model, Route::Health, Route::Metrics, Route::OpenApi];

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
            Route::Health => "/healthz",
            Route::Metrics => "/metrics",
            Route::OpenApi => "/openapi.json",
            Route::File(file) => file.path,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_leads_to_its_route_and_no_other_does() {
        for route in Route::SERVICES.into_iter().chain(FILES.iter().map(Route::File)) {
            assert_eq!(Route::of(route.path()), Some(route));
            assert!(route.takes(&Method::GET) != route.takes(&Method::POST));
        }
        for other in ["", "/PREDICT", "/predict/", "/../predict", "predict"] {
            assert_eq!(Route::of(other), None);
        }
    }
}
