//! Wall and CPU time of what an experiment does.

use cpu_time::ProcessTime;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Wall and CPU time together.
pub struct Clock {
    wall: Instant,
    cpu: Option<ProcessTime>,
}

impl Clock {
    /// Starts both.
    pub fn start() -> Self {
        Clock { wall: Instant::now(), cpu: ProcessTime::try_now().ok() }
    }

    /// Seconds since the start: wall, and of the processor over all threads.
    pub fn stop(&self) -> (f64, f64) {
        let cpu = self.cpu.and_then(|start| Some(ProcessTime::try_now().ok()?.duration_since(start).as_secs_f64()));
        (self.wall.elapsed().as_secs_f64(), cpu.unwrap_or(0.0))
    }
}

/// How long the parts of a run took, on the clock and of the processor over all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Wall time of fitting the preprocessing and of applying it to training and test samples.
    pub prep_seconds: f64,
    /// CPU time of the same.
    pub prep_cpu_seconds: f64,
    /// Wall time of training, after preprocessing.
    pub train_seconds: f64,
    /// CPU time of training, all threads.
    pub train_cpu_seconds: f64,
    /// Wall time of scoring all test samples by all rules at once, after preprocessing.
    pub test_seconds: f64,
    /// CPU time of the same.
    pub test_cpu_seconds: f64,
}

impl Times {
    /// All of them.
    pub fn all(&self) -> [f64; 6] {
        [
            self.prep_seconds,
            self.prep_cpu_seconds,
            self.train_seconds,
            self.train_cpu_seconds,
            self.test_seconds,
            self.test_cpu_seconds,
        ]
    }
}
