//! Counters in Prometheus' text format.

use crate::drift::DriftReading;
use crate::route::{Address, Route};
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
    requests: Mutex<BTreeMap<(String, u16), u64>>,
    reloads: [AtomicU64; 2],
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
            reloads: Default::default(),
            seconds: Histogram::new(SECONDS),
            batches: Histogram::new(SIZES),
            samples: AtomicU64::default(),
            in_flight: AtomicU64::default(),
            connections: AtomicU64::default(),
            evicted: AtomicU64::default(),
        }
    }
}

/// What is told of a model.
pub struct ModelMetrics {
    /// Its name.
    pub name: String,
    /// Its method.
    pub method: &'static str,
    /// Its rule.
    pub rule: &'static str,
    /// Whether its samples are still like those of training, where that is watched.
    pub drift: Option<DriftReading>,
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

    /// An answer; the address is one of ours, so that strangers cannot invent series.
    pub fn answered(&self, address: Option<Address<'_>>, status: u16, took: Duration) {
        let path = address.map_or("other".into(), Address::path);
        let predicted = address.is_some_and(|address| address.route == Route::Predict) && status == 200;
        *self.requests.lock().unwrap_or_else(PoisonError::into_inner).entry((path, status)).or_default() += 1;
        if predicted {
            self.seconds.add(took.as_secs_f64());
        }
    }

    /// A model that was to be read again, and whether it was.
    pub fn reloaded(&self, done: bool) {
        self.reloads[usize::from(done)].fetch_add(1, Relaxed);
    }

    /// Samples that were scored together.
    pub fn scored(&self, samples: usize) {
        self.samples.fetch_add(samples as u64, Relaxed);
        self.batches.add(samples as f64);
    }

    /// All counters; `lost_lines` is what the log lost, if there is one.
    pub fn text(&self, models: &[ModelMetrics], lost_lines: Option<u64>) -> String {
        let mut text = String::new();
        head(&mut text, "atomlearn_model_info", "gauge", "The models that are served.");
        for ModelMetrics { name, method, rule, .. } in models {
            let labels = [("version", env!("CARGO_PKG_VERSION")), ("model", name), ("method", method), ("rule", rule)];
            let labels = labels.map(|(name, value)| format!("{name}=\"{}\"", escape(value)));
            let _ = writeln!(text, "atomlearn_model_info{{{}}} 1", labels.join(","));
        }
        drift(&mut text, models);
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
        head(&mut text, "atomlearn_reloads_total", "counter", "Models that were to be read again.");
        for (result, count) in ["failed", "ok"].iter().zip(&self.reloads) {
            let _ = writeln!(text, "atomlearn_reloads_total{{result=\"{result}\"}} {}", count.load(Relaxed));
        }
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

/// Three series for every model whose samples are watched.
fn drift(text: &mut String, models: &[ModelMetrics]) {
    let watched: Vec<(String, &DriftReading)> =
        models.iter().filter_map(|model| Some((escape(&model.name), model.drift.as_ref()?))).collect();
    if watched.is_empty() {
        return;
    }
    let about = "Kolmogorov's distance between the last p-values of samples and those of training, 0 to 1.";
    head(text, "atomlearn_drift_distance", "gauge", about);
    for (name, drift) in &watched {
        if let Some(distance) = drift.distance {
            let _ = writeln!(text, "atomlearn_drift_distance{{model=\"{name}\"}} {distance}");
        }
    }
    head(text, "atomlearn_drift_window_samples", "gauge", "Samples that the distance is of.");
    for (name, drift) in &watched {
        let _ = writeln!(text, "atomlearn_drift_window_samples{{model=\"{name}\"}} {}", drift.window);
    }
    head(text, "atomlearn_drift_samples_total", "counter", "Samples that were compared with those of training.");
    for (name, drift) in &watched {
        let _ = writeln!(text, "atomlearn_drift_samples_total{{model=\"{name}\"}} {}", drift.samples);
    }
    head(text, "atomlearn_outliers_total", "counter", "Those among them with a p-value below 0.01.");
    for (name, drift) in &watched {
        let _ = writeln!(text, "atomlearn_outliers_total{{model=\"{name}\"}} {}", drift.outliers);
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
        metrics.answered(Address::of("/predict"), 200, Duration::from_millis(2));
        metrics.answered(Address::of("/predict"), 400, Duration::from_secs(99));
        metrics.answered(Address::of("/models/b/predict"), 408, Duration::from_secs(99));
        metrics.reloaded(true);
        let open = metrics.connection();
        let drift = DriftReading { distance: Some(0.25), window: 4, samples: 5, outliers: 1 };
        let model = ModelMetrics { name: "a\"b\\\n".into(), method: "crc", rule: "residual", drift: Some(drift) };
        let text = metrics.text(&[model], Some(3));
        drop(open);
        for line in [
            concat!(
                r#"atomlearn_model_info{version=""#,
                env!("CARGO_PKG_VERSION"),
                r#"",model="a\"b\\\n",method="crc",rule="residual"} 1"#
            ),
            r#"atomlearn_drift_distance{model="a\"b\\\n"} 0.25"#,
            r#"atomlearn_requests_total{path="/models/b/predict",status="408"} 1"#,
            r#"atomlearn_reloads_total{result="ok"} 1"#,
            r#"atomlearn_reloads_total{result="failed"} 0"#,
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
