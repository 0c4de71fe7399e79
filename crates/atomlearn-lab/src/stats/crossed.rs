//! Means over test samples and splits, both drawn at random: variance, tests and intervals.
//!
//! A method is run on several splits of one data set, and most samples are tested in several of them. What it scores
//! on sample `i` in split `s` is modelled as `mean + a_i + b_s + e_is`: some samples are harder than others, some
//! training parts better than others. A t-test over splits knows only the second kind of variation, a test over
//! samples only the first; here both count. With the weights `w_is = 1 / (splits * test samples of s)`
//!
//! ```text
//! V_samples = n / (n - 1)  sum_i (sum_s w_is r_is)^2        r_is = value - mean
//! V_splits  = sum_s (mean of s - mean)^2 / (S (S - 1))
//! V_error   = sum_is (w_is r_is)^2                          counted by both of the others
//! V         = V_samples + V_splits - V_error,               at least the larger of the first two
//! ```
//!
//! Degrees of freedom are Satterthwaite's, at least `S - 1`. Radiology has long compared readers of the same cases in
//! this way (Gallas, *One-shot estimate of MRMC variance*, Academic Radiology 2006). `bench/test_power.py` measures
//! how often the test errs and how often it finds a difference.

use crate::stats::statistics::{Outcome, mcnemar};
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::collections::HashMap;

/// The values of one split: test samples by their place in the data, and what each of them scored.
#[derive(Clone, Debug)]
pub struct SplitValues<'a> {
    /// Place in the data of every test sample.
    pub samples: &'a [usize],
    /// One value for every test sample: 1 and 0 for right and wrong, or the difference of two methods.
    pub values: Vec<f64>,
}

/// A mean over samples and splits with its variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrossedMean {
    /// Mean over splits of the mean over their samples.
    pub mean: f64,
    /// Variance of that mean.
    pub variance: f64,
    /// Degrees of freedom of the variance.
    pub df: f64,
    /// Samples that were tested at least once.
    pub n_samples: usize,
}

/// The mean of values over samples and splits; `None` without two samples.
pub fn crossed_mean(splits: &[SplitValues<'_>]) -> Option<CrossedMean> {
    let n_splits = splits.len() as f64;
    let split_means: Vec<f64> = splits.iter().map(|split| crate::stats::statistics::mean(&split.values)).collect();
    let mean = crate::stats::statistics::mean(&split_means);
    // Sums of weighted residuals for every sample, in the order of first appearance: the same bits for the same splits.
    let mut place: HashMap<usize, usize> = HashMap::new();
    let mut by_sample: Vec<f64> = Vec::new();
    let mut v_error = 0.0;
    for split in splits {
        let weight = 1.0 / (n_splits * split.values.len() as f64);
        for (&sample, &value) in split.samples.iter().zip(&split.values) {
            let residual = weight * (value - mean);
            v_error += residual * residual;
            let at = *place.entry(sample).or_insert_with(|| {
                by_sample.push(0.0);
                by_sample.len() - 1
            });
            by_sample[at] += residual;
        }
    }
    let n = by_sample.len() as f64;
    if n < 2.0 {
        return None;
    }
    let v_samples = n / (n - 1.0) * by_sample.iter().map(|sum| sum * sum).sum::<f64>();
    if splits.len() == 1 {
        return Some(CrossedMean { mean, variance: v_samples, df: n - 1.0, n_samples: by_sample.len() });
    }
    let scatter: f64 = split_means.iter().map(|m| (m - mean).powi(2)).sum();
    let v_splits = scatter / (n_splits * (n_splits - 1.0));
    let variance = (v_samples + v_splits - v_error).max(v_samples).max(v_splits);
    let uncertainty = v_splits.powi(2) / (n_splits - 1.0) + v_samples.powi(2) / (n - 1.0);
    let df = if uncertainty > 0.0 { (variance * variance / uncertainty).max(n_splits - 1.0) } else { n - 1.0 };
    Some(CrossedMean { mean, variance, df, n_samples: by_sample.len() })
}

/// How many independent samples the interval of a share may stand for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleNumbers {
    /// At most: all that were tested. A variance that is smaller by chance says no more.
    pub most: f64,
    /// Where nothing varies (all right, or all wrong): the groups, since nothing tells how alike the samples of a group are.
    pub unvaried: f64,
}

impl SampleNumbers {
    /// Of samples that are in no groups.
    pub fn of(samples: usize) -> Self {
        SampleNumbers { most: samples as f64, unvaried: samples as f64 }
    }
}

impl CrossedMean {
    /// The test of "the mean is zero", for differences of two methods.
    pub fn test_zero(&self) -> Outcome {
        if self.variance > 0.0 {
            let statistic = self.mean / self.variance.sqrt();
            let p = StudentsT::new(0.0, 1.0, self.df).map_or(1.0, |t| (2.0 * t.cdf(-statistic.abs())).min(1.0));
            return Outcome { statistic, p };
        }
        // Every difference is the same: none at all, or one method right and the other wrong on every sample.
        let all = if self.mean == 0.0 { 0 } else { self.n_samples as u64 };
        mcnemar(all, 0)
    }

    /// A 95 % interval of a share: Wilson's, for as many independent samples as would give this variance, `p (1 - p) / V`.
    ///
    /// It never leaves 0 to 1 and never has zero width, not even where every sample was right.
    pub fn interval95_of_share(&self, samples: SampleNumbers) -> [f64; 2] {
        let p = self.mean.clamp(0.0, 1.0);
        let equivalent = p * (1.0 - p) / self.variance;
        let n = if self.variance > 0.0 { equivalent.min(samples.most).max(1.0) } else { samples.unvaried };
        let t = StudentsT::new(0.0, 1.0, self.df.max(1.0)).map_or(1.96, |t| t.inverse_cdf(0.975));
        let center = (p + t * t / (2.0 * n)) / (1.0 + t * t / n);
        let half = t / (1.0 + t * t / n) * (p * (1.0 - p) / n + t * t / (4.0 * n * n)).sqrt();
        [(center - half).max(0.0), (center + half).min(1.0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-12 * b.abs().max(1e-12), "{a} is not {b}");
    }

    /// Two values of each of three splits of four samples.
    fn splits<'a>(samples: &'a [Vec<usize>], value: impl Fn(usize, usize) -> f64) -> Vec<SplitValues<'a>> {
        let values = |s: usize| samples[s].iter().map(|&i| value(i, s)).collect();
        (0..samples.len()).map(|s| SplitValues { samples: &samples[s], values: values(s) }).collect()
    }

    #[test]
    fn one_split_has_the_variance_of_a_mean() {
        let samples = [vec![3, 1, 7, 9]];
        let found = crossed_mean(&splits(&samples, |i, _| i as f64)).unwrap();
        // Values 3, 1, 7, 9: mean 5, squares of deviations 4 + 16 + 4 + 16 = 40, variance of the mean 40 / (3 * 4).
        near(found.mean, 5.0);
        near(found.variance, 40.0 / 12.0);
        near(found.df, 3.0);
    }

    #[test]
    fn what_depends_on_samples_or_on_splits_alone_has_the_variance_of_these() {
        let samples = vec![vec![0, 1, 2, 3]; 3];
        let of_samples = crossed_mean(&splits(&samples, |i, _| [1.0, 4.0, 2.0, 5.0][i])).unwrap();
        near(of_samples.variance, 10.0 / 12.0);
        let of_splits = crossed_mean(&splits(&samples, |_, s| [1.0, 2.0, 6.0][s])).unwrap();
        near(of_splits.mean, 3.0);
        near(of_splits.variance, 14.0 / 6.0);
        near(of_splits.df, 2.0);
    }

    /// The mean of estimated variances is the variance of the estimated means.
    #[test]
    fn the_variance_is_that_of_the_mean_in_the_model() {
        let mut random = StdRng::seed_from_u64(5);
        let samples: Vec<Vec<usize>> = (0..6).map(|s| (0..60).filter(|i| i % 6 != s).collect()).collect();
        let mut noise = |size: f64| size * (random.random::<f64>() + random.random::<f64>() - 1.0);
        let (mut means, mut variances) = (Vec::new(), Vec::new());
        for _ in 0..2000 {
            let a: Vec<f64> = (0..60).map(|_| noise(3.0)).collect();
            let b: Vec<f64> = (0..6).map(|_| noise(1.0)).collect();
            let e: Vec<f64> = (0..360).map(|_| noise(2.0)).collect();
            let found = crossed_mean(&splits(&samples, |i, s| a[i] + b[s] + e[60 * s + i])).unwrap();
            means.push(found.mean);
            variances.push(found.variance);
        }
        let spread = crate::stats::statistics::std(&means).unwrap().powi(2);
        let ratio = crate::stats::statistics::mean(&variances) / spread;
        assert!((0.93..1.15).contains(&ratio), "{ratio}");
    }

    #[test]
    fn tests_and_intervals_of_extreme_values() {
        let samples = vec![(0..20).collect::<Vec<usize>>(); 2];
        let same = crossed_mean(&splits(&samples, |_, _| 0.0)).unwrap();
        assert_eq!(same.test_zero().p, 1.0);
        let always = crossed_mean(&splits(&samples, |_, _| 1.0)).unwrap();
        near(always.test_zero().p, 2.0 * 0.5f64.powi(20));
        let [low, high] = always.interval95_of_share(SampleNumbers::of(20));
        assert!(low > 0.7 && low < 0.9 && high == 1.0, "{low} {high}");
        let [low, high] = same.interval95_of_share(SampleNumbers::of(20));
        assert!(low < 1e-15 && high > 0.1 && high < 0.3, "{low} {high}");
        assert!(crossed_mean(&splits(&[vec![4]], |_, _| 1.0)).is_none());
        assert!(crossed_mean(&[]).is_none());
    }
}
