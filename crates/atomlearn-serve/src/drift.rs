//! Whether the samples that come are still like those of training.
//!
//! The p-values of samples like those of training are uniform between 0 and 1 (see `atomlearn::novelty`). The drift is the
//! largest difference between the distribution of the last p-values and the uniform one (Kolmogorov's distance): near 0 while all
//! is as in training, near 1 if nothing is.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Samples that the distance is of.
const WINDOW: usize = 1000;
/// Samples with a smaller p-value are counted as outliers.
pub const OUTLIER: f64 = 0.01;

/// The last samples, in one number each.
#[derive(Default)]
pub struct Drift {
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    last: VecDeque<f64>,
    samples: u64,
    outliers: u64,
}

/// What there is to tell.
#[derive(Debug, PartialEq)]
pub struct DriftReading {
    /// Kolmogorov's distance; none before the first sample.
    pub distance: Option<f64>,
    /// Samples that it is of.
    pub window: usize,
    /// All samples.
    pub samples: u64,
    /// Those among them whose p-value was below [`OUTLIER`].
    pub outliers: u64,
}

impl Drift {
    /// Takes note of samples by their p-values.
    pub fn add(&self, p_values: &[f64]) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.samples += p_values.len() as u64;
        seen.outliers += p_values.iter().filter(|&&p| p < OUTLIER).count() as u64;
        seen.last.extend(&p_values[p_values.len().saturating_sub(WINDOW)..]);
        let old = seen.last.len().saturating_sub(WINDOW);
        seen.last.drain(..old);
    }

    /// How things stand.
    pub fn read(&self) -> DriftReading {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (samples, outliers) = (seen.samples, seen.outliers);
        let mut last: Vec<f64> = seen.last.iter().copied().collect();
        drop(seen);
        last.sort_by(f64::total_cmp);
        let n = last.len() as f64;
        let gap = |(i, p): (usize, &f64)| (p - i as f64 / n).abs().max((p - (i + 1) as f64 / n).abs());
        DriftReading {
            distance: last.iter().enumerate().map(gap).reduce(f64::max),
            window: last.len(),
            samples,
            outliers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_is_that_of_the_last_samples() {
        let drift = Drift::default();
        assert_eq!(drift.read(), DriftReading { distance: None, window: 0, samples: 0, outliers: 0 });
        let uniform: Vec<f64> = (0..2000).map(|i| f64::from(i * 7 % 1000) / 1000.0 + 0.0005).collect();
        drift.add(&uniform);
        let reading = drift.read();
        assert!(
            reading.distance.unwrap() < 0.001
                && reading.window == WINDOW
                && reading.samples == 2000
                && reading.outliers == 20
        );
        // A quarter of the window comes from elsewhere.
        drift.add(&[0.001; 250]);
        let reading = drift.read();
        assert!((reading.distance.unwrap() - 0.25).abs() < 0.02 && reading.outliers == 270, "{reading:?}");
        drift.add(&[0.001; WINDOW]);
        assert!(drift.read().distance.unwrap() > 0.99);
    }
}
