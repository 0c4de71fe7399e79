//! Counters in Prometheus' text format.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const SECONDS: &[f64] = &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];
const SIZES: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 256.0, 1024.0, 4096.0];
const MICRO: f64 = 1e6;

/// Everything that is counted.
pub struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    seconds: Histogram,
    batches: Histogram,
    samples: AtomicU64,
    in_flight: AtomicU64,
    connections: AtomicU64,
    evicted: AtomicU64,
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics {
            requests: Mutex::default(),
            seconds: Histogram::new(SECONDS),
            batches: Histogram::new(SIZES),
            samples: AtomicU64::default(),
            in_flight: AtomicU64::default(),
            connections: AtomicU64::default(),
            evicted: AtomicU64::default(),
        }
    }
}

/// One more of something for as long as this lives.
pub struct Present<'a>(&'a AtomicU64);

impl<'a> Present<'a> {
    fn new(count: &'a AtomicU64) -> Self {
        count.fetch_add(1, Relaxed);
        Present(count)
    }
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Metrics {
    /// A request that is being worked on.
    pub fn request(&self) -> Present<'_> {
        Present::new(&self.in_flight)
    }

    /// An open connection.
    pub fn connection(&self) -> Present<'_> {
        Present::new(&self.connections)
    }

    /// A client that had to leave for another one.
    pub fn evicted(&self) {
        self.evicted.fetch_add(1, Relaxed);
    }

    /// An answer; `path` is one of ours, so that strangers cannot invent series.
    pub fn answered(&self, path: &'static str, status: u16, took: Duration) {
        *self.requests.lock().unwrap_or_else(PoisonError::into_inner).entry((path, status)).or_default() += 1;
        if path == "/predict" && status == 200 {
            self.seconds.add(took.as_secs_f64());
        }
    }

    /// Samples that were scored together.
    pub fn scored(&self, samples: usize) {
        self.samples.fetch_add(samples as u64, Relaxed);
        self.batches.add(samples as f64);
    }

    /// All counters; `about` are labels that describe the model, `lost_lines` what the log lost, if there is one.
    pub fn text(&self, about: &[(&str, &str)], lost_lines: Option<u64>) -> String {
        let mut text = String::new();
        let labels: Vec<String> = about.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value))).collect();
        head(&mut text, "atomlearn_model_info", "gauge", "The model that is served.");
        let _ = writeln!(text, "atomlearn_model_info{{{}}} 1", labels.join(","));
        head(&mut text, "atomlearn_requests_total", "counter", "Answers by path and status.");
        for ((path, status), count) in &*self.requests.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = writeln!(text, "atomlearn_requests_total{{path=\"{path}\",status=\"{status}\"}} {count}");
        }
        head(&mut text, "atomlearn_samples_total", "counter", "Samples scored.");
        let _ = writeln!(text, "atomlearn_samples_total {}", self.samples.load(Relaxed));
        head(&mut text, "atomlearn_in_flight_requests", "gauge", "Requests being worked on.");
        let _ = writeln!(text, "atomlearn_in_flight_requests {}", self.in_flight.load(Relaxed));
        head(&mut text, "atomlearn_connections", "gauge", "Open connections.");
        let _ = writeln!(text, "atomlearn_connections {}", self.connections.load(Relaxed));
        head(
            &mut text,
            "atomlearn_evicted_connections_total",
            "counter",
            "Slow or idle connections that were closed because all places were taken.",
        );
        let _ = writeln!(text, "atomlearn_evicted_connections_total {}", self.evicted.load(Relaxed));
        if let Some(lost) = lost_lines {
            head(&mut text, "atomlearn_log_lines_lost_total", "counter", "Requests that the log could not keep.");
            let _ = writeln!(text, "atomlearn_log_lines_lost_total {lost}");
        }
        head(
            &mut text,
            "atomlearn_predict_seconds",
            "histogram",
            "From the head of a request to its answer, /predict.",
        );
        self.seconds.write(&mut text, "atomlearn_predict_seconds");
        head(&mut text, "atomlearn_batch_samples", "histogram", "Samples that were scored together.");
        self.batches.write(&mut text, "atomlearn_batch_samples");
        text
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Counts by size; the sum is kept in millionths, so that it can be atomic.
struct Histogram {
    bounds: &'static [f64],
    counts: Vec<AtomicU64>,
    sum: AtomicU64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        Histogram { bounds, counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(), sum: AtomicU64::new(0) }
    }

    fn add(&self, value: f64) {
        let place = self.bounds.partition_point(|bound| *bound < value);
        self.counts[place].fetch_add(1, Relaxed);
        self.sum.fetch_add((value * MICRO).round() as u64, Relaxed);
    }

    fn write(&self, text: &mut String, name: &str) {
        let mut total = 0;
        for (i, count) in self.counts.iter().enumerate() {
            total += count.load(Relaxed);
            let bound = self.bounds.get(i).map_or("+Inf".to_string(), f64::to_string);
            let _ = writeln!(text, "{name}_bucket{{le=\"{bound}\"}} {total}");
        }
        let _ = writeln!(text, "{name}_sum {}\n{name}_count {total}", self.sum.load(Relaxed) as f64 / MICRO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative_and_labels_are_escaped() {
        let metrics = Metrics::default();
        [1, 2, 3, 5000].into_iter().for_each(|n| metrics.scored(n));
        metrics.answered("/predict", 200, Duration::from_millis(2));
        metrics.answered("/predict", 400, Duration::from_secs(99));
        let open = metrics.connection();
        let text = metrics.text(&[("rule", "a\"b\\\n")], Some(3));
        drop(open);
        for line in [
            r#"atomlearn_model_info{rule="a\"b\\\n"} 1"#,
            r#"atomlearn_requests_total{path="/predict",status="200"} 1"#,
            r#"atomlearn_batch_samples_bucket{le="1"} 1"#,
            r#"atomlearn_batch_samples_bucket{le="4"} 3"#,
            r#"atomlearn_batch_samples_bucket{le="4096"} 3"#,
            r#"atomlearn_batch_samples_bucket{le="+Inf"} 4"#,
            "atomlearn_batch_samples_sum 5006",
            r#"atomlearn_predict_seconds_bucket{le="0.0025"} 1"#,
            "atomlearn_predict_seconds_count 1",
            "atomlearn_samples_total 5006",
            "atomlearn_connections 1",
            "atomlearn_log_lines_lost_total 3",
        ] {
            assert!(text.lines().any(|held| held == line), "{line} is not in\n{text}");
        }
        assert!(metrics.text(&[], None).contains("atomlearn_connections 0\n"));
    }
}
