//! A request without a connection, for fuzzing: the same parsing, scoring and writing, in this thread.

use crate::Config;
use crate::question::Question;
use crate::reply::{Refusal, Reply};
use crate::route::Route;
use crate::subject::Subject;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};

/// The HTTP status that a POST of this body to `/predict` or, with `explains`, to `/explain` is answered with.
pub fn status(subject: &Subject, explains: bool, query: &str, content_type: &str, body: &[u8]) -> u16 {
    let route = if explains { Route::Explain } else { Route::Predict };
    let reply = answer(subject, route, query, content_type, body);
    reply.unwrap_or_else(|refusal| refusal.reply()).status().as_u16()
}

fn answer(subject: &Subject, route: Route, query: &str, content_type: &str, body: &[u8]) -> Result<Reply, Refusal> {
    let content_type = HeaderValue::from_str(content_type).map_err(|e| Refusal::bad(e.to_string()))?;
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, content_type)]);
    let question = Question::parse(route, query, &headers, subject.images.is_some(), None)?;
    let samples = question.samples(subject, Config::default().max_samples, body)?;
    question.answer(subject, &samples)
}
