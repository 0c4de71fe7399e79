//! A split after preprocessing, and the clocks that experiments use.

use crate::data::LabData;
use crate::splits::Split;
use atomlearn::io::ImageShape;
use atomlearn::observe::Trace;
use atomlearn::prep::{Prep, PrepSpec};
use atomlearn::{Dataset, Mat, Result};
use cpu_time::ProcessTime;
use std::time::Instant;

/// Training and test part of a split, preprocessed by what the training part alone says.
pub struct Prepared {
    /// Training samples.
    pub train: Dataset,
    /// Test samples, features x samples.
    pub test: Mat<f64>,
    /// Class of every test sample.
    pub truth: Vec<usize>,
    /// The fitted preprocessing.
    pub prep: Prep,
    /// Rows and columns of a raw sample, if it is an image.
    pub image_shape: Option<ImageShape>,
    /// What preprocessing warned about.
    pub warnings: Vec<String>,
    /// Wall time of fitting and applying.
    pub seconds: f64,
    /// CPU time of the same.
    pub cpu_seconds: f64,
}

impl Prepared {
    /// Fits `prep` on the training part and applies it to both.
    pub fn new(data: &LabData, prep: &PrepSpec, split: &Split) -> Result<Self> {
        let train = data.dataset(&split.train)?;
        let test = data.columns(&split.test);
        let truth = split.test.iter().map(|&i| data.targets[i]).collect();
        let mut trace = Trace::default();
        let clock = Clock::start();
        let (prep, x) = prep.fit(train.x(), &mut trace)?;
        let test = prep.apply(test.as_ref());
        let (seconds, cpu_seconds) = clock.stop();
        let (train, image_shape) = (train.with_features(x)?, data.image_shape);
        Ok(Prepared { train, test, truth, prep, image_shape, warnings: trace.warnings, seconds, cpu_seconds })
    }
}

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
