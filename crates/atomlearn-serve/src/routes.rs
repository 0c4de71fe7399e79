//! Which request gets which answer.

use crate::Config;
use crate::batch::Batches;
use crate::body::Memory;
use crate::connections::{Connection, Connections};
use crate::explain::explain;
use crate::hosts::Hosts;
use crate::metrics::Metrics;
use crate::reply::{self, Refusal, Reply};
use crate::request_log::{Entry, RequestLog};
use crate::route::Route;
use crate::rows::{Expected, Form, Samples};
use crate::subject::Subject;
use crate::task::Task;
use crate::{openapi, predict};
use hyper::body::{Body, Incoming};
use hyper::{Request, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Work on fewer bytes than this is done at once; more goes to a thread that may block.
const SMALL: usize = 256 << 10;

/// What a client has sent, as far as it is known.
#[derive(Default)]
struct Sent {
    bytes: Option<usize>,
    samples: Option<usize>,
}

/// Everything that answers need.
pub struct App {
    subject: Arc<Subject>,
    batches: Arc<Batches>,
    memory: Memory,
    hosts: Hosts,
    expected: Expected,
    request_time: Duration,
    openapi: Value,
    log: Option<Arc<RequestLog>>,
    /// Who is connected.
    pub connections: Arc<Connections>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
}

impl App {
    /// An application that has answered nothing yet.
    pub fn new(subject: Subject, config: &Config) -> Self {
        let (subject, metrics) = (Arc::new(subject), Arc::new(Metrics::default()));
        let expected = Expected { features: subject.model.prep().n_features(), samples: config.max_samples };
        App {
            batches: Arc::new(Batches::new(subject.clone(), metrics.clone(), config.max_batch)),
            connections: Arc::new(Connections::new(config, metrics.clone())),
            memory: Memory::new(config),
            hosts: Hosts::new(&config.hosts),
            request_time: config.request_time,
            openapi: openapi::document(&subject, config),
            log: config.log.clone(),
            subject,
            expected,
            metrics,
        }
    }

    /// Answers a request of this client, whatever it is.
    pub async fn answer(&self, request: Request<Incoming>, client: &Connection) -> Reply {
        let start = Instant::now();
        client.works();
        let _present = self.metrics.request();
        let route = Route::of(request.uri().path());
        let asked = self.log.as_ref().map(|_| (request.method().clone(), shortened(request.uri().path())));
        let mut sent = Sent::default();
        let result = self.dispatch(route, request, client, &mut sent).await;
        let (reply, error) = match result {
            Ok(reply) => (reply, None),
            Err(refusal) => (refusal.reply(), Some(refusal)),
        };
        let took = start.elapsed();
        self.metrics.answered(route.map_or("other", Route::path), reply.status().as_u16(), took);
        if let Some((log, (method, path))) = self.log.as_ref().zip(asked) {
            log.add(&Entry {
                time: now(),
                client: client.peer.to_string(),
                method: method.as_str(),
                path: &path,
                status: reply.status().as_u16(),
                milliseconds: took.as_micros() as f64 / 1000.0,
                body_bytes: sent.bytes,
                samples: sent.samples,
                answer_bytes: reply.body().size_hint().lower(),
                error: error.as_ref().map(Refusal::message),
            });
        }
        client.waits();
        reply
    }

    async fn dispatch(
        &self,
        route: Option<Route>,
        request: Request<Incoming>,
        client: &Connection,
        sent: &mut Sent,
    ) -> Result<Reply, Refusal> {
        self.hosts.check(request.uri(), request.headers())?;
        let Some(route) = route else { return Err(nothing_at(request.uri().path())) };
        if !route.takes(request.method()) {
            return Err(Refusal::method(route.path(), route.methods()));
        }
        match route {
            Route::Predict | Route::Explain => {
                let work = self.work(route, request, client, sent);
                tokio::time::timeout(self.request_time, work).await.unwrap_or_else(|_| Err(self.late()))
            }
            Route::Health => reply::json(&json!({"status": "ok"})),
            Route::OpenApi => reply::json(&self.openapi),
            Route::Model => reply::json(self.subject.facts()),
            Route::Metrics => Ok(reply::bytes(StatusCode::OK, "text/plain; version=0.0.4", self.counters())),
            Route::File(file) => Ok(file.reply()),
        }
    }

    fn late(&self) -> Refusal {
        let seconds = self.request_time.as_secs_f64();
        let message = format!("the request was not done after {seconds} s; send it faster, or send less");
        Refusal::new(StatusCode::REQUEST_TIMEOUT, message)
    }

    fn counters(&self) -> String {
        let model = &self.subject.model;
        let (version, method, rule) = (env!("CARGO_PKG_VERSION"), model.method().key, model.classifier().rule());
        let about = [("version", version), ("method", method), ("rule", rule)];
        self.metrics.text(&about, self.log.as_ref().map(|log| log.lost()))
    }

    /// Answers that need the samples of the body.
    async fn work(
        &self,
        route: Route,
        request: Request<Incoming>,
        client: &Connection,
        sent: &mut Sent,
    ) -> Result<Reply, Refusal> {
        let form = Form::of(request.headers())?;
        let task = Task::parse(route, request.uri().query().unwrap_or_default())?;
        client.waits();
        let held = tokio::select! {
            held = self.memory.read(request.into_body()) => held?,
            () = client.evicted() => return Err(too_slow()),
        };
        client.works();
        sent.bytes = Some(held.bytes.len());
        let Some(_place) = self.connections.work() else {
            return Err(Refusal::busy("too many requests are being worked on; try again in a moment"));
        };
        let (size, expected, subject) = (held.bytes.len(), self.expected, self.subject.clone());
        // A small file can be a large image; decoding may block.
        let size = if form == Form::Image { usize::MAX } else { size };
        // The body's share of the memory stays taken until the answer is made.
        let (samples, _share) =
            off_thread(size, move || Ok((form.parse(&held.bytes, expected, &subject)?, held))).await?;
        sent.samples = Some(samples.x.ncols());
        let subject = self.subject.clone();
        match task {
            Task::Explain { row } => {
                off_thread(usize::MAX, move || reply::json(&explain(&subject, &samples, row)?)).await
            }
            Task::Predict { scores: with_scores } => {
                let Samples { x, notes } = samples;
                let scores = self.batches.scores(x).await?;
                let size = 8 * scores.nrows() * scores.ncols();
                off_thread(size, move || predict::reply(&subject, &scores, with_scores, &notes)).await
            }
        }
    }
}

fn too_slow() -> Refusal {
    let message = "the server has many clients and could not wait longer for the body; send it again, without pauses";
    Refusal::new(StatusCode::REQUEST_TIMEOUT, message)
}

fn nothing_at(path: &str) -> Refusal {
    let path = shortened(path);
    let known = Route::SERVICES.map(Route::path).join(" ");
    Refusal::new(StatusCode::NOT_FOUND, format!("there is nothing at {path}; the paths are / {known}"))
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

/// As much of a path as is worth telling.
fn shortened(path: &str) -> String {
    path.chars().take(80).collect()
}

/// The time to the millisecond.
fn now() -> String {
    let now = jiff::Timestamp::now();
    jiff::Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now).to_string()
}
