//! Answers: JSON, text and refusals, all with the same safe headers.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;
use serde_json::json;

/// What goes back to the client.
pub type Reply = Response<Full<Bytes>>;

/// On every answer: nothing from elsewhere is loaded or run, nothing is framed, sniffed, kept or leaked.
const SAFETY: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cache-control", "no-store"),
];

/// Why a request gets no answer: an HTTP status and a sentence that names what, where and what to do.
#[derive(Debug)]
pub struct Refusal {
    status: StatusCode,
    message: String,
    allow: Option<&'static str>,
}

impl Refusal {
    /// A refusal.
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Refusal { status, message: message.into(), allow: None }
    }

    /// The request does not make sense.
    pub fn bad(message: impl Into<String>) -> Self {
        Refusal::new(StatusCode::BAD_REQUEST, message)
    }

    /// The server cannot do it now.
    pub fn busy(message: impl Into<String>) -> Self {
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    /// Something broke down in here.
    pub fn broken(message: impl Into<String>) -> Self {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    /// The path is there, the method is not.
    pub fn method(path: &str, allow: &'static str) -> Self {
        let message = format!("{path} does not take this method; use {allow}");
        Refusal { allow: Some(allow), ..Refusal::new(StatusCode::METHOD_NOT_ALLOWED, message) }
    }

    /// What is told.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// As an answer.
    pub fn reply(&self) -> Reply {
        let mut reply = bytes(self.status, "application/json", json!({"error": self.message}).to_string());
        if let Some(allow) = self.allow {
            reply.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
        }
        reply
    }
}

/// An answer of any type.
pub fn bytes(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(body.into()));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    for (name, value) in SAFETY {
        headers.insert(name, HeaderValue::from_static(value));
    }
    reply
}

/// An answer in JSON.
pub fn json(value: &impl Serialize) -> Result<Reply, Refusal> {
    let text = serde_json::to_vec(value).map_err(|e| Refusal::broken(format!("cannot write the answer: {e}")))?;
    Ok(bytes(StatusCode::OK, "application/json", text))
}
