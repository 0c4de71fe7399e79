//! Methods across several data sets: average ranks, Friedman's test, Wilcoxon's with Holm's correction, and the
//! critical difference of Nemenyi's.
//!
//! Reference: Demsar: Statistical comparisons of classifiers over multiple data sets. JMLR 7, 2006.

use crate::stats::metrics::Metric;
use crate::stats::statistics::holm;
use serde::Serialize;
use statrs::distribution::{Continuous, ContinuousCDF, FisherSnedecor, Normal};
use std::cmp::Ordering;

/// Schema of [`Ranking`].
pub const SCHEMA: &str = "atomlearn.rank/1";
/// Level of significance of everything here.
pub const ALPHA: f64 = 0.05;
/// Up to this many data sets, Wilcoxon's distribution is counted out; beyond, it is as good as normal.
const COUNTED_OUT: usize = 25;

/// Friedman's test of "all methods are alike".
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Friedman {
    /// Friedman's statistic, corrected for ties.
    pub chi2: f64,
    /// Its correction by Iman and Davenport; null if infinite, where all data sets rank the methods alike.
    pub f: f64,
    /// p-value of the corrected statistic; where all rank alike, how often chance would make them.
    pub p: f64,
}

/// Wilcoxon's signed-rank test of "two methods are alike".
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// First method.
    pub a: String,
    /// Second method.
    pub b: String,
    /// The smaller of the two sums of ranks.
    pub statistic: f64,
    /// Two-sided p-value.
    pub p: f64,
    /// The same, corrected for the number of pairs by Holm's procedure.
    pub p_holm: f64,
}

/// Methods across data sets; all that a critical-difference diagram needs. Its JSON is documented in `docs/reference/formats.md`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranking {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Data sets.
    pub data_sets: Vec<String>,
    /// Methods, best average rank first.
    pub methods: Vec<String>,
    /// Average rank of each, 1 = best.
    pub average_ranks: Vec<f64>,
    /// Mean accuracy of each method (rows) on each data set.
    pub accuracy: Vec<Vec<f64>>,
    /// Friedman's test.
    pub friedman: Friedman,
    /// Average ranks that differ by less than this are not significantly different (Nemenyi).
    pub critical_difference: f64,
    /// Largest groups of methods, as places in `methods`, within the critical difference; only those of two or more.
    pub groups: Vec<Vec<usize>>,
    /// Every pair of methods.
    pub pairs: Vec<Pair>,
    /// What methods are ranked by.
    pub metric: Metric,
    /// Methods that are not ranked, and the data sets they were not run on.
    pub left_out: Vec<LeftOut>,
    /// Why little or nothing can be concluded; empty if there are data sets enough.
    pub cautions: Vec<String>,
}

/// A method that was not run on every data set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The method.
    pub method: String,
    /// Data sets without it.
    pub missing: Vec<String>,
}

/// Methods with the data sets that lack them.
pub fn left_out_text(left_out: &[LeftOut]) -> String {
    let one = |left: &LeftOut| format!("{} (not run on {})", left.method, left.missing.join(", "));
    left_out.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// The ranking of methods with these accuracies, one row per method and one column per data set.
pub fn ranking(data_sets: Vec<String>, methods: Vec<String>, accuracy: Vec<Vec<f64>>) -> Result<Ranking, String> {
    let (n, k) = (data_sets.len(), methods.len());
    if n < 2 || k < 2 {
        return Err(format!(
            "a ranking needs two data sets and two methods that were run on all of them; there are {n} and {k}"
        ));
    }
    let (mut sums, mut ties) = (vec![0.0; k], 0.0);
    for d in 0..n {
        let of_set: Vec<f64> = accuracy.iter().map(|row| -row[d]).collect();
        sums.iter_mut().zip(average_ranks(&of_set)).for_each(|(sum, rank)| *sum += rank);
        ties += tied(&of_set);
    }
    let ranks: Vec<f64> = sums.iter().map(|sum| sum / n as f64).collect();
    let mut order: Vec<usize> = (0..k).collect();
    order.sort_by(|&a, &b| ranks[a].total_cmp(&ranks[b]).then(a.cmp(&b)));
    let methods: Vec<String> = order.iter().map(|&i| methods[i].clone()).collect();
    let accuracy: Vec<Vec<f64>> = order.iter().map(|&i| accuracy[i].clone()).collect();
    let ranks: Vec<f64> = order.iter().map(|&i| ranks[i]).collect();

    let critical_difference = nemenyi(k) * ((k * (k + 1)) as f64 / (6 * n) as f64).sqrt();
    let mut pairs = Vec::new();
    for a in 0..k {
        for b in a + 1..k {
            let differences: Vec<f64> = accuracy[a].iter().zip(&accuracy[b]).map(|(a, b)| a - b).collect();
            let (statistic, p) = wilcoxon(&differences);
            pairs.push(Pair { a: methods[a].clone(), b: methods[b].clone(), statistic, p, p_holm: p });
        }
    }
    let corrected = holm(&pairs.iter().map(|pair| pair.p).collect::<Vec<_>>());
    pairs.iter_mut().zip(corrected).for_each(|(pair, p)| pair.p_holm = p);
    Ok(Ranking {
        schema: SCHEMA,
        friedman: friedman(&ranks, n, ties),
        groups: groups(&ranks, critical_difference),
        metric: Metric::default(),
        left_out: Vec::new(),
        cautions: cautions(n, k, pairs.len()),
        data_sets,
        methods,
        average_ranks: ranks,
        accuracy,
        critical_difference,
        pairs,
    })
}

/// What the numbers of data sets and methods forbid to conclude.
fn cautions(n: usize, k: usize, n_pairs: usize) -> Vec<String> {
    let mut cautions = Vec::new();
    if n == 2 {
        cautions.push(
            "two data sets cannot rank methods and are too few to conclude anything: the ranks only describe these two"
                .into(),
        );
    } else if n < 5 {
        cautions.push(format!("{n} data sets are too few to conclude anything: read the ranks as a description"));
    }
    let smallest = 0.5f64.powi(n as i32 - 1);
    if smallest * n_pairs as f64 > ALPHA {
        cautions.push(format!(
            "with {n} data sets Wilcoxon's p is never below {smallest:.3}, which Holm's correction for {n_pairs} pairs \
             makes {:.3}: no pair can be significant at {ALPHA}",
            (smallest * n_pairs as f64).min(1.0)
        ));
    }
    if n <= 10 || k <= 5 {
        cautions.push(format!(
            "Friedman's p is approximate: it is meant for more than 10 data sets and more than 5 methods, not {n} and {k}"
        ));
    }
    cautions
}

/// Ranks from 1 (smallest); equal values share the mean of their ranks.
pub fn average_ranks(values: &[f64]) -> Vec<f64> {
    let place = |i: usize| {
        let below = values.iter().filter(|v| v.total_cmp(&values[i]) == Ordering::Less).count();
        let same = values.iter().filter(|v| v.total_cmp(&values[i]) == Ordering::Equal).count();
        below as f64 + (same as f64 + 1.0) / 2.0
    };
    (0..values.len()).map(place).collect()
}

/// How much the values are tied: the sum of `t^3 - t` over groups of `t` equal ones.
pub fn tied(values: &[f64]) -> f64 {
    let same = |a: &f64| values.iter().filter(|b| a.total_cmp(b) == Ordering::Equal).count() as f64;
    values.iter().map(|value| same(value).powi(2) - 1.0).sum()
}

/// Friedman's test with the correction of Iman and Davenport, from average ranks over `n` data sets.
///
/// `ties` is the sum of [`tied`] over the data sets. Ties make ranks vary less than chi2 assumes, by the factor
/// `1 - ties / (n (k^3 - k))`, which it is divided by.
pub fn friedman(ranks: &[f64], n: usize, ties: f64) -> Friedman {
    let (n, k) = (n as f64, ranks.len() as f64);
    let left_by_ties = 1.0 - ties / (n * (k * k * k - k));
    if left_by_ties < 1e-12 {
        // All methods are alike on every data set.
        return Friedman { chi2: 0.0, f: 0.0, p: 1.0 };
    }
    let squares: f64 = ranks.iter().map(|rank| rank * rank).sum();
    let chi2 = (12.0 * n / (k * (k + 1.0)) * (squares - k * (k + 1.0).powi(2) / 4.0)).max(0.0) / left_by_ties;
    let left = n * (k - 1.0) - chi2;
    if left <= 1e-12 * n * k {
        // Every data set ranks the methods alike. With the first given, each other one does so by chance once in as many orders as
        // there are, where orders of equal methods count as one; F would be infinite and its p zero, however few the data sets.
        let orders = |count: f64| (1..=count as u64).map(|i| i as f64).product::<f64>();
        let mut sorted = ranks.to_vec();
        sorted.sort_by(f64::total_cmp);
        let ties: f64 = sorted.chunk_by(|a, b| a == b).map(|equal| orders(equal.len() as f64)).product();
        return Friedman { chi2, f: f64::INFINITY, p: (ties / orders(k)).powf(n - 1.0) };
    }
    let f = (n - 1.0) * chi2 / left;
    let p = FisherSnedecor::new(k - 1.0, (k - 1.0) * (n - 1.0)).map_or(f64::NAN, |distribution| distribution.sf(f));
    Friedman { chi2, f, p }
}

/// Wilcoxon's signed-rank test: the smaller sum of ranks and the two-sided p-value. Ranks of zero differences are split
/// evenly between both sums.
pub fn wilcoxon(differences: &[f64]) -> (f64, f64) {
    let sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
    let ranks = average_ranks(&sizes);
    let sum = |wanted: fn(f64) -> bool| {
        differences.iter().zip(&ranks).filter(|(d, _)| wanted(**d)).map(|(_, r)| r).sum::<f64>()
    };
    let zeros: f64 = sum(|d| d == 0.0);
    let (above, below) = (sum(|d| d > 0.0) + zeros / 2.0, sum(|d| d < 0.0) + zeros / 2.0);
    let statistic = above.min(below);
    let flipping: Vec<f64> = differences.iter().zip(&ranks).filter(|(d, _)| **d != 0.0).map(|(_, r)| *r).collect();
    if flipping.is_empty() {
        return (statistic, 1.0);
    }
    let away = (above - below).abs();
    let p = if flipping.len() <= COUNTED_OUT { exact(&flipping, away) } else { normal(&flipping, away) };
    (statistic, p.min(1.0))
}

/// P(|sum of ranks with random signs| >= `away`). Ranks are multiples of one half.
fn exact(ranks: &[f64], away: f64) -> f64 {
    let doubled: Vec<usize> = ranks.iter().map(|rank| (2.0 * rank).round() as usize).collect();
    let total: usize = doubled.iter().sum();
    let mut ways = vec![0.0f64; total + 1];
    ways[0] = 1.0;
    for rank in doubled {
        for sum in (rank..=total).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    let far = |sum: &usize| (2.0 * *sum as f64 - total as f64).abs() >= 2.0 * away - 1e-9;
    (0..=total).filter(far).map(|sum| ways[sum]).sum::<f64>() / 2.0f64.powi(ranks.len() as i32)
}

fn normal(ranks: &[f64], away: f64) -> f64 {
    let deviation = ranks.iter().map(|rank| rank * rank).sum::<f64>().sqrt();
    2.0 * Normal::standard().sf(away / deviation)
}

/// The critical value `q` of Nemenyi's test for `k` methods at [`ALPHA`]: that of the studentized range with infinitely
/// many degrees of freedom, divided by the square root of 2.
pub fn nemenyi(k: usize) -> f64 {
    let (mut low, mut high) = (0.0, 20.0);
    while high - low > 1e-9 {
        let middle = 0.5 * (low + high);
        if range_cdf(middle, k) < 1.0 - ALPHA { low = middle } else { high = middle }
    }
    high / 2.0f64.sqrt()
}

/// P(range of `k` standard normal values <= `q`) = `k` integral of phi(z) (Phi(z) - Phi(z - q))^(k - 1), by Simpson's rule.
fn range_cdf(q: f64, k: usize) -> f64 {
    const STEPS: usize = 400;
    let (normal, from, to) = (Normal::standard(), -8.0, 8.0 + q.min(8.0));
    let width = (to - from) / STEPS as f64;
    let value = |i: usize| {
        let z = from + i as f64 * width;
        normal.pdf(z) * (normal.cdf(z) - normal.cdf(z - q)).powi(k as i32 - 1)
    };
    let weight = |i: usize| {
        if i == 0 || i == STEPS {
            1.0
        } else if i % 2 == 1 {
            4.0
        } else {
            2.0
        }
    };
    k as f64 * width / 3.0 * (0..=STEPS).map(|i| weight(i) * value(i)).sum::<f64>()
}

/// Largest runs of sorted ranks that lie within `width`, of two or more.
fn groups(ranks: &[f64], width: f64) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for start in 0..ranks.len() {
        let group: Vec<usize> = (start..ranks.len()).take_while(|&i| ranks[i] - ranks[start] < width).collect();
        let within = groups.last().is_some_and(|last| last.last() >= group.last());
        if group.len() > 1 && !within {
            groups.push(group);
        }
    }
    groups
}

#[cfg(test)]
mod tests;
