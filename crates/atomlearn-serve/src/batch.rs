//! Scoring: requests that wait at the same time are scored together, on the program's pool of threads.

use crate::Config;
use crate::metrics::Metrics;
use crate::reply::Refusal;
use crate::subject::Subject;
use atomlearn::Mat;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// Scores of one request, classes x samples.
type Scores = Result<Mat<f64>, Refusal>;

struct Job {
    x: Mat<f64>,
    done: oneshot::Sender<Scores>,
}

/// The queue and those who work on it.
pub struct Batches {
    subject: Arc<Subject>,
    metrics: Arc<Metrics>,
    max_batch: usize,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Job>,
    workers: usize,
}

impl Batches {
    /// An empty queue.
    pub fn new(subject: Arc<Subject>, metrics: Arc<Metrics>, max_batch: usize) -> Self {
        let max_batch = if subject.joins() { max_batch.min(Config::LARGEST_BATCH) } else { 1 };
        Batches { subject, metrics, max_batch, queue: Mutex::default() }
    }

    /// Scores samples (features x samples, checked already).
    ///
    /// Nobody waits for company: while all threads are busy requests pile up, and a thread that becomes free takes all
    /// of them, up to the size of a batch.
    pub async fn scores(self: &Arc<Self>, x: Mat<f64>) -> Scores {
        let (done, result) = oneshot::channel();
        let start = {
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.waiting.push_back(Job { x, done });
            let start = queue.workers < rayon::current_num_threads();
            queue.workers += usize::from(start);
            start
        };
        if start {
            let batches = self.clone();
            rayon::spawn(move || batches.work());
        }
        result.await.unwrap_or_else(|_| Err(Refusal::broken("scoring broke down; the server's log says why")))
    }

    /// Does one batch, then lines up for the next. A loop would not do: a thread that waits for parts of a large batch
    /// helps out with other work of the pool, and could be caught in such a loop while its own batch is long done.
    fn work(self: Arc<Self>) {
        let Some(batch) = self.next_batch() else { return };
        // A panic would end the process from a thread of the pool. There should be none; if there is, the requests of
        // this batch are told, and the server goes on.
        let _ = catch_unwind(AssertUnwindSafe(|| self.score(batch)));
        rayon::spawn(move || self.work());
    }

    /// The jobs to do next; with none left, the worker is gone.
    fn next_batch(&self) -> Option<Vec<Job>> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut batch, mut samples) = (Vec::new(), 0);
        while let Some(job) = queue.waiting.front() {
            if !batch.is_empty() && samples + job.x.ncols() > self.max_batch {
                break;
            }
            // Whoever gave up waiting needs no scores.
            if !job.done.is_closed() {
                samples += job.x.ncols();
                batch.extend(queue.waiting.pop_front());
            } else {
                queue.waiting.pop_front();
            }
        }
        if batch.is_empty() {
            queue.workers -= 1;
            return None;
        }
        Some(batch)
    }

    fn score(&self, batch: Vec<Job>) {
        self.metrics.scored(batch.iter().map(|job| job.x.ncols()).sum());
        let scores = match &batch[..] {
            [only] if only.x.ncols() > 1 || !self.subject.joins() => self.subject.model.scores(only.x.as_ref()),
            all => self.subject.model.scores(joined(all).as_ref()),
        };
        let mut start = 0;
        for job in batch {
            let own = match &scores {
                Ok(scores) => Ok(scores.subcols(start, job.x.ncols()).to_owned()),
                Err(error) => Err(Refusal::broken(format!("scoring failed: {error}"))),
            };
            start += job.x.ncols();
            // An error here is a client that gave up waiting.
            let _ = job.done.send(own);
        }
    }
}

/// The samples of all jobs side by side.
///
/// Products of a matrix with two columns or more treat every column alike, to the bit; with a single one they take
/// another way. So a lone sample comes with a copy of itself, and an answer never depends on what was scored beside it.
fn joined(batch: &[Job]) -> Mat<f64> {
    let samples: usize = batch.iter().map(|job| job.x.ncols()).sum();
    let features = batch.first().map_or(0, |job| job.x.nrows());
    let mut all = Mat::zeros(features, samples.max(2));
    let columns = batch.iter().flat_map(|job| job.x.col_iter());
    let last = batch.last().and_then(|job| job.x.col_iter().last());
    for (mut place, column) in all.col_iter_mut().zip(columns.chain(last)) {
        place.copy_from(column);
    }
    all
}
