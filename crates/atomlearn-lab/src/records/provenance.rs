//! Where a result comes from: version, machine, time.

use serde::{Deserialize, Serialize};

/// Version, machine and time of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// Version of the toolkit.
    pub version: String,
    /// Threads used.
    pub threads: usize,
    /// Processor.
    pub cpu: String,
    /// Start, UTC, RFC 3339.
    pub time: String,
    /// What the front end knows.
    #[serde(flatten)]
    pub origin: Origin,
}

/// What a front end knows about where a result comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The command that was typed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// File and flags by which another command reads the same data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_args: Option<String>,
}

impl Provenance {
    /// That of the present run.
    pub fn now() -> Self {
        Provenance {
            version: env!("CARGO_PKG_VERSION").into(),
            threads: rayon::current_num_threads(),
            cpu: cpu(),
            time: time(),
            origin: Origin::default(),
        }
    }
}

/// The time to the second; `SOURCE_DATE_EPOCH`, where set, stands for now, so that outputs can be reproduced.
pub fn time() -> String {
    let fixed = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok());
    let fixed = fixed.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    let now = jiff::Timestamp::now();
    fixed.or_else(|| jiff::Timestamp::from_second(now.as_second()).ok()).unwrap_or(now).to_string()
}

fn cpu() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or_else(|| std::env::consts::ARCH.to_string(), |(_, name)| name.trim().to_string())
}
