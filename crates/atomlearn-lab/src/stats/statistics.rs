//! Means, spreads, intervals and tests; the distributions come from `statrs`.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, StudentsT};

/// The arithmetic mean; 0 of nothing.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The standard deviation with n - 1 in the denominator; `None` below two values.
pub fn std(values: &[f64]) -> Option<f64> {
    variance(values).map(f64::sqrt)
}

fn variance(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let center = mean(values);
    Some(values.iter().map(|v| (v - center).powi(2)).sum::<f64>() / (values.len() - 1) as f64)
}

/// The 95 % interval of the mean by Student's t; `None` below two values.
///
/// It treats the repeats as independent. Splits of one data set overlap, so it says how far repeats scatter, not how
/// far another data set would: [`crate::stats::crossed`] does.
pub fn interval95(values: &[f64]) -> Option<[f64; 2]> {
    let n = values.len();
    let spread = std(values)?;
    let t = StudentsT::new(0.0, 1.0, (n - 1) as f64).ok()?;
    let half = t.inverse_cdf(0.975) * spread / (n as f64).sqrt();
    let center = mean(values);
    Some([center - half, center + half])
}

/// Holm's step-down correction of p-values, in their own order.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut corrected = vec![0.0; p.len()];
    let mut held = 0.0f64;
    for (step, &i) in order.iter().enumerate() {
        held = held.max(((p.len() - step) as f64 * p[i]).min(1.0));
        corrected[i] = held;
    }
    corrected
}

/// [`interval95`] of accuracies, which lie between 0 and 1; `None` where all are equal, which is no certainty.
pub fn accuracy_interval95(values: &[f64]) -> Option<[f64; 2]> {
    interval95(values).filter(|[low, high]| low < high).map(|ends| ends.map(|end| end.clamp(0.0, 1.0)))
}

/// The outcome of a test of "no difference".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The test statistic.
    pub statistic: f64,
    /// Two-sided p-value.
    pub p: f64,
}

/// The corrected resampled t-test of Nadeau and Bengio (2003) on accuracies of two methods over the same splits.
///
/// `t = mean(d) / sqrt((1/n + n_test/n_train) var(d))` with n - 1 degrees of freedom: the second term accounts for the
/// overlap of the training sets. `None` below two splits.
pub fn corrected_resampled_t(a: &[f64], b: &[f64], n_train: f64, n_test: f64) -> Option<Outcome> {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let n = differences.len();
    let spread = variance(&differences)?;
    let difference = mean(&differences);
    let scale = ((1.0 / n as f64 + n_test / n_train) * spread).sqrt();
    if scale == 0.0 {
        // No scatter at all: the methods differ always by the same amount, or never.
        let p = if difference == 0.0 { 1.0 } else { 0.0 };
        return Some(Outcome { statistic: if p == 1.0 { 0.0 } else { difference.signum() * f64::INFINITY }, p });
    }
    let statistic = difference / scale;
    let t = StudentsT::new(0.0, 1.0, (n - 1) as f64).ok()?;
    Some(Outcome { statistic, p: (2.0 * t.cdf(-statistic.abs())).min(1.0) })
}

/// McNemar's exact test on one split: `only_a` and `only_b` count the samples that just one of the methods got right.
pub fn mcnemar(only_a: u64, only_b: u64) -> Outcome {
    let n = only_a + only_b;
    let statistic = only_a.min(only_b) as f64;
    let p = match Binomial::new(0.5, n) {
        Ok(binomial) if n > 0 => (2.0 * binomial.cdf(only_a.min(only_b))).min(1.0),
        _ => 1.0,
    };
    Outcome { statistic, p }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-6 * b.abs().max(1e-3), "{a} is not {b}");
    }

    #[test]
    fn mean_spread_and_interval() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        near(mean(&values), 5.0);
        near(std(&values).unwrap(), (32.0f64 / 7.0).sqrt());
        // t(0.975, 7) = 2.364624
        let half = 2.364624251 * (32.0f64 / 7.0 / 8.0).sqrt();
        let [low, high] = interval95(&values).unwrap();
        near(low, 5.0 - half);
        near(high, 5.0 + half);
        assert_eq!((std(&[1.0]), interval95(&[1.0])), (None, None));
        assert_eq!(accuracy_interval95(&[0.5, 1.0]), Some([0.0, 1.0]));
        assert_eq!(accuracy_interval95(&[0.9, 0.9]), None);
    }

    #[test]
    fn corrected_t_by_hand() {
        // d = 1, 2, 3: mean 2, variance 1; n_test/n_train = 2/3, so t = 2 / sqrt(1/3 + 2/3) = 2 with 2 degrees of
        // freedom, whose two-sided p is 1 - 2 / sqrt(2 + 4).
        let outcome = corrected_resampled_t(&[1.0, 2.0, 3.0], &[0.0; 3], 300.0, 200.0).unwrap();
        near(outcome.statistic, 2.0);
        near(outcome.p, 1.0 - 2.0 / 6.0f64.sqrt());
        assert_eq!(corrected_resampled_t(&[1.0; 3], &[1.0; 3], 1.0, 1.0).unwrap().p, 1.0);
        assert_eq!(corrected_resampled_t(&[1.0; 3], &[0.5; 3], 1.0, 1.0).unwrap().p, 0.0);
        assert_eq!(corrected_resampled_t(&[1.0], &[0.0], 1.0, 1.0), None);
    }

    #[test]
    fn mcnemar_by_hand() {
        // 1 against 9 of 10 discordant: 2 (1 + 10) / 1024.
        near(mcnemar(1, 9).p, 22.0 / 1024.0);
        near(mcnemar(9, 1).p, 22.0 / 1024.0);
        assert_eq!((mcnemar(0, 0).p, mcnemar(5, 5).p), (1.0, 1.0));
    }
}
