//! Which request gets which answer.

use crate::Config;
use crate::batch::Batches;
use crate::body::Memory;
use crate::explain::explain;
use crate::hosts::Hosts;
use crate::metrics::Metrics;
use crate::reply::{self, Refusal, Reply};
use crate::rows::{Expected, Form};
use crate::subject::Subject;
use crate::{page, predict};
use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Work on fewer bytes than this is done at once; more goes to a thread that may block.
const SMALL: usize = 256 << 10;

/// Everything that answers need.
pub struct App {
    subject: Arc<Subject>,
    batches: Arc<Batches>,
    memory: Memory,
    hosts: Hosts,
    expected: Expected,
    request_time: Duration,
    /// What is counted.
    pub metrics: Arc<Metrics>,
}

/// The paths that are not files of the page, each with its method.
const PATHS: [(&str, &str); 5] =
    [("/predict", "POST"), ("/explain", "POST"), ("/model", "GET"), ("/healthz", "GET"), ("/metrics", "GET")];

impl App {
    /// An application that has answered nothing yet.
    pub fn new(subject: Subject, config: &Config) -> Self {
        let (subject, metrics) = (Arc::new(subject), Arc::new(Metrics::default()));
        let expected = Expected { features: subject.model.prep().n_features(), samples: config.max_samples };
        App {
            batches: Arc::new(Batches::new(subject.clone(), metrics.clone(), config.max_batch)),
            memory: Memory::new(config),
            hosts: Hosts::new(&config.hosts),
            request_time: config.request_time,
            subject,
            expected,
            metrics,
        }
    }

    /// Answers a request, whatever it is.
    pub async fn answer(&self, request: Request<Incoming>) -> Reply {
        let start = Instant::now();
        let _present = self.metrics.request();
        let path = known_path(request.uri().path());
        let reply = self.dispatch(request).await.unwrap_or_else(|refusal| refusal.reply());
        self.metrics.answered(path, reply.status().as_u16(), start.elapsed());
        reply
    }

    async fn dispatch(&self, request: Request<Incoming>) -> Result<Reply, Refusal> {
        self.hosts.check(request.headers())?;
        let path = request.uri().path().to_string();
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        if let Some((_, file)) = page::file(&path) {
            return if reads { Ok(file) } else { Err(Refusal::method(&path, "GET, HEAD")) };
        }
        let Some((_, method)) = PATHS.iter().find(|(held, _)| *held == path) else {
            let paths: Vec<&str> = PATHS.iter().map(|(path, _)| *path).collect();
            let path: String = path.chars().take(80).collect();
            let message = format!("there is nothing at {path}; the paths are / {}", paths.join(" "));
            return Err(Refusal::new(StatusCode::NOT_FOUND, message));
        };
        match *method {
            "GET" if !reads => Err(Refusal::method(&path, "GET, HEAD")),
            "POST" if request.method() != Method::POST => Err(Refusal::method(&path, "POST")),
            "GET" => self.tell(&path),
            _ => {
                let late = || {
                    let seconds = self.request_time.as_secs_f64();
                    let message = format!("the request was not done after {seconds} s; send it faster, or send less");
                    Refusal::new(StatusCode::REQUEST_TIMEOUT, message)
                };
                let work = self.work(&path, request);
                tokio::time::timeout(self.request_time, work).await.unwrap_or_else(|_| Err(late()))
            }
        }
    }

    /// Answers that are there already.
    fn tell(&self, path: &str) -> Result<Reply, Refusal> {
        let model = &self.subject.model;
        match path {
            "/healthz" => reply::json(&json!({"status": "ok"})),
            "/model" => reply::json(self.subject.facts()),
            _ => {
                let (version, method, rule) =
                    (env!("CARGO_PKG_VERSION"), model.method().key, model.classifier().rule());
                let text = self.metrics.text(&[("version", version), ("method", method), ("rule", rule)]);
                Ok(reply::bytes(StatusCode::OK, "text/plain; version=0.0.4", text))
            }
        }
    }

    /// Answers that need the samples of the body.
    async fn work(&self, path: &str, request: Request<Incoming>) -> Result<Reply, Refusal> {
        let form = Form::of(request.headers())?;
        let query = request.uri().query().unwrap_or_default().to_string();
        let explains = path == "/explain";
        let options = predict::Options::parse(&query, explains)?;
        let held = self.memory.read(request.into_body()).await?;
        let (size, expected, subject) = (held.bytes.len(), self.expected, self.subject.clone());
        // A small file can be a large image; decoding may block.
        let size = if form == Form::Image { usize::MAX } else { size };
        // The body's share of the memory stays taken until the answer is made.
        let (x, _share) = off_thread(size, move || Ok((form.parse(&held.bytes, expected, &subject)?, held))).await?;
        let subject = self.subject.clone();
        if explains {
            return off_thread(usize::MAX, move || reply::json(&explain(&subject, &x, options.row)?)).await;
        }
        let scores = self.batches.scores(x).await?;
        let size = 8 * scores.nrows() * scores.ncols();
        off_thread(size, move || predict::reply(&subject, &scores, options.scores)).await
    }
}

/// Does small work here and large work where it may block.
async fn off_thread<T: Send + 'static>(
    size: usize,
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    if size < SMALL {
        return work();
    }
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Refusal::broken("the work broke down; the server's log says why")))
}

/// The path as a label of metrics.
fn known_path(path: &str) -> &'static str {
    let of_page = page::file(path).map(|(path, _)| path);
    of_page.or_else(|| PATHS.iter().find(|(held, _)| *held == path).map(|(path, _)| *path)).unwrap_or("other")
}
