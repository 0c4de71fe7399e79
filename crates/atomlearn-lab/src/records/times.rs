//! Wall and CPU time of what an experiment does.

use cpu_time::ProcessTime;
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
