//! Which request gets which answer.

use crate::Config;
use crate::body::Memory;
use crate::connections::{Connection, Connections};
use crate::hosts::Hosts;
use crate::metrics::{Metrics, ModelMetrics};
use crate::models::{Generation, Models, Served, Source};
use crate::question::{Question, answer_of_scores, p_values};
use crate::reply::{self, Refusal, Reply};
use crate::request_log::{Entry, RequestLog};
use crate::route::{Address, Route};
use crate::rows::{Form, Samples};
use crate::task::Task;
use hyper::body::{Body, Incoming};
use hyper::{Request, StatusCode};
use serde_json::json;
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
    memory: Memory,
    hosts: Hosts,
    max_samples: usize,
    min_probability: Option<f64>,
    request_time: Duration,
    log: Option<Arc<RequestLog>>,
    /// What is served.
    pub models: Models,
    /// Who is connected.
    pub connections: Arc<Connections>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
}

impl App {
    /// An application that has answered nothing yet; refuses models that cannot be served as the limits ask.
    pub fn new(sources: Vec<Source>, config: &Config) -> Result<Self, String> {
        let metrics = Arc::new(Metrics::default());
        Ok(App {
            models: Models::new(sources, metrics.clone(), config)?,
            connections: Arc::new(Connections::new(config, metrics.clone())),
            memory: Memory::new(config),
            hosts: Hosts::new(&config.hosts),
            max_samples: config.max_samples,
            min_probability: config.min_probability,
            request_time: config.request_time,
            log: config.log.clone(),
            metrics,
        })
    }

    /// Answers a request of this client, whatever it is.
    pub async fn answer(&self, request: Request<Incoming>, client: &Connection) -> Reply {
        let start = Instant::now();
        client.works();
        let _present = self.metrics.request();
        // The models of this moment answer the whole request, even if others take their place meanwhile.
        let models = self.models.now();
        let path = request.uri().path().to_string();
        let address = Address::of(&path).filter(|address| models.model(address.model).is_some());
        let asked = self.log.as_ref().map(|_| (request.method().clone(), shortened(request.uri().path())));
        let mut sent = Sent::default();
        let result = self.dispatch(&models, address, request, client, &mut sent).await;
        let (reply, error) = match result {
            Ok(reply) => (reply, None),
            Err(refusal) => (refusal.reply(), Some(refusal)),
        };
        let took = start.elapsed();
        self.metrics.answered(address, reply.status().as_u16(), took);
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
        models: &Generation,
        address: Option<Address<'_>>,
        request: Request<Incoming>,
        client: &Connection,
        sent: &mut Sent,
    ) -> Result<Reply, Refusal> {
        self.hosts.check(request.uri(), request.headers())?;
        let address = address.ok_or_else(|| nothing_at(request.uri().path(), models))?;
        let Address { route, model } = address;
        let served = models.model(model).ok_or_else(|| nothing_at(request.uri().path(), models))?;
        if !route.takes(request.method()) {
            return Err(Refusal::method(&address.path(), route.methods()));
        }
        match route {
            Route::Predict | Route::Explain => {
                let work = self.work(route, served, request, client, sent);
                tokio::time::timeout(self.request_time, work).await.unwrap_or_else(|_| Err(self.late()))
            }
            Route::Health => reply::json(&json!({"status": "ok"})),
            Route::OpenApi => reply::json(&models.openapi),
            Route::Model => reply::json(served.subject.facts()),
            Route::Models => reply::json(&models.list()),
            Route::Metrics => Ok(reply::bytes(StatusCode::OK, "text/plain; version=0.0.4", self.counters(models))),
            Route::File(file) => Ok(file.reply()),
        }
    }

    fn late(&self) -> Refusal {
        let seconds = self.request_time.as_secs_f64();
        let message = format!("the request was not done after {seconds} s; send it faster, or send less");
        Refusal::new(StatusCode::REQUEST_TIMEOUT, message)
    }

    fn counters(&self, models: &Generation) -> String {
        let about = |served: &Arc<Served>| ModelMetrics {
            name: served.subject.name.clone(),
            method: served.subject.model.method().key,
            rule: served.subject.classifier().rule(),
            drift: served.drift.as_ref().map(|drift| drift.read()),
        };
        let models: Vec<ModelMetrics> = models.models().iter().map(about).collect();
        self.metrics.text(&models, self.log.as_ref().map(|log| log.lost()))
    }

    /// Answers that need the samples of the body.
    async fn work(
        &self,
        route: Route,
        served: &Arc<Served>,
        request: Request<Incoming>,
        client: &Connection,
        sent: &mut Sent,
    ) -> Result<Reply, Refusal> {
        let query = request.uri().query().unwrap_or_default();
        let question =
            Question::parse(route, query, request.headers(), served.subject.images.is_some(), self.min_probability)?;
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
        let (subject, max_samples) = (served.subject.clone(), self.max_samples);
        // A small file can be a large image; decoding may block.
        let size = if question.form == Form::Image { usize::MAX } else { held.bytes.len() };
        // The body's share of the memory stays taken until the answer is made.
        let parse = move || Ok((question.samples(&subject, max_samples, &held.bytes)?, held));
        let (samples, _share) = off_thread(size, parse).await?;
        sent.samples = Some(samples.x.ncols());
        let subject = served.subject.clone();
        match question.task {
            Task::Explain { .. } => off_thread(usize::MAX, move || question.answer(&subject, &samples)).await,
            Task::Predict(wanted) => {
                let Samples { x, notes, .. } = samples;
                let p_values = if wanted.outlier || served.drift.is_some() {
                    let (subject, x) = (subject.clone(), x.clone());
                    off_thread(8 * x.nrows() * x.ncols(), move || p_values(&subject, &x, true)).await?
                } else {
                    None
                };
                if let (Some(drift), Some(p_values)) = (&served.drift, &p_values) {
                    drift.add(p_values);
                }
                let p_values = p_values.filter(|_| wanted.outlier);
                let scores = served.batches.scores(x).await?;
                let size = 8 * scores.nrows() * scores.ncols();
                off_thread(size, move || answer_of_scores(&subject, wanted, &scores, p_values, &notes)).await
            }
        }
    }
}

fn too_slow() -> Refusal {
    let message = "the server has many clients and could not wait longer for the body; send it again, without pauses";
    Refusal::new(StatusCode::REQUEST_TIMEOUT, message)
}

fn nothing_at(path: &str, models: &Generation) -> Refusal {
    let path = shortened(path);
    let known = Route::SERVICES.map(Route::path).join(" ");
    let names: Vec<&str> = models.models().iter().map(|served| &served.subject.name[..]).collect();
    let names = if names.len() > 1 { format!(", and /models/NAME/ for {}", names.join(" ")) } else { String::new() };
    Refusal::new(StatusCode::NOT_FOUND, format!("there is nothing at {path}; the paths are / {known}{names}"))
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
