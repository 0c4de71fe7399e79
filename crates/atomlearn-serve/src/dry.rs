//! A request without a connection, for fuzzing: the same parsing, scoring and writing, in this thread.

use crate::explain::explain;
use crate::reply::{self, Refusal, Reply};
use crate::route::Route;
use crate::rows::{Expected, Form};
use crate::subject::Subject;
use crate::task::Task;
use crate::{Config, predict};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};

/// The HTTP status that a POST of this body to `/predict` or, with `explains`, to `/explain` is answered with.
pub fn status(subject: &Subject, explains: bool, query: &str, content_type: &str, body: &[u8]) -> u16 {
    let route = if explains { Route::Explain } else { Route::Predict };
    let reply = answer(subject, route, query, content_type, body);
    reply.unwrap_or_else(|refusal| refusal.reply()).status().as_u16()
}

fn answer(subject: &Subject, route: Route, query: &str, content_type: &str, body: &[u8]) -> Result<Reply, Refusal> {
    let mut headers = HeaderMap::new();
    let content_type = HeaderValue::from_str(content_type).map_err(|e| Refusal::bad(e.to_string()))?;
    headers.insert(CONTENT_TYPE, content_type);
    let form = Form::of(&headers)?;
    let task = Task::parse(route, query)?;
    let expected = Expected { features: subject.model.prep().n_features(), samples: Config::default().max_samples };
    let samples = form.parse(body, expected, subject)?;
    match task {
        Task::Explain { row } => reply::json(&explain(subject, &samples, row)?),
        Task::Predict { scores } => {
            predict::reply(subject, &subject.model.scores(samples.x.as_ref())?, scores, &samples.notes)
        }
    }
}
