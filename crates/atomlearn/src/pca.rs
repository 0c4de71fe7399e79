//! Principal directions with a fixed sign rule.

use crate::Result;
use crate::linalg::{
    View, fix_signs, gram, mul, normalize_columns, outer_gram, rank_above, svd, sym_eig_leading, trace,
};
use faer::Mat;

/// Below this ratio of eigenvalues the Gram matrix has lost too many digits and the SVD is used instead.
const GRAM_IS_ENOUGH: f64 = 1e-6;

/// Principal directions of centred data.
#[derive(Clone, Debug)]
pub struct Pca {
    /// Mean of the samples.
    pub mean: Vec<f64>,
    /// Orthonormal directions in columns, largest variance first; the largest entry of each is positive.
    pub basis: Mat<f64>,
    /// Variance along each direction (divisor: samples - 1).
    pub variances: Vec<f64>,
    /// Variance of the whole data.
    pub total_variance: f64,
}

/// At most `most` principal directions of the columns of `x`, never more than its centred rank.
pub fn pca(x: impl View, most: usize, stage: &str) -> Result<Pca> {
    let x = x.view();
    let (m, n) = x.shape();
    let mean = mean(x);
    let centered = centered(x, &mean);
    let divisor = (n.max(2) - 1) as f64;
    let total_variance = centered.squared_norm_l2() / divisor;
    let most = most.min(m).min(n.saturating_sub(1));

    let small_gram = if m <= n { outer_gram(&centered) } else { gram(&centered) };
    let (values, leading) = sym_eig_leading(&small_gram, most, stage)?;
    let precise = most == 0 || values[most - 1] > GRAM_IS_ENOUGH * values[0];
    let (mut basis, variances) = if precise {
        let mut basis = if m <= n { leading } else { mul(&centered, &leading) };
        normalize_columns(basis.as_mut());
        (basis, values.iter().map(|v| v / divisor).collect())
    } else {
        let (u, s, _) = svd(&centered, stage)?;
        let floor = m.max(n) as f64 * f64::EPSILON * s[0];
        let rank = s.iter().take(most).take_while(|&&s| s > floor).count();
        (u.subcols(0, rank).to_owned(), s[..rank].iter().map(|s| s * s / divisor).collect::<Vec<_>>())
    };
    fix_signs(basis.as_mut());
    Ok(Pca { mean, basis, variances, total_variance })
}

/// The same from the scatter matrix of the `n` samples about their mean. Directions whose variance is lost in the rounding
/// of the scatter do not count.
pub fn pca_from_scatter(mean: Vec<f64>, scatter: impl View, n: f64, most: usize, stage: &str) -> Result<Pca> {
    let scatter = scatter.view();
    let m = scatter.nrows();
    let divisor = (n - 1.0).max(1.0);
    let (values, leading) = sym_eig_leading(scatter, most, stage)?;
    let rank = rank_above(&values, m as f64 * f64::EPSILON);
    let mut basis = leading.subcols(0, rank).to_owned();
    normalize_columns(basis.as_mut());
    fix_signs(basis.as_mut());
    let variances = values[..rank].iter().map(|v| v / divisor).collect();
    let total_variance = trace(scatter) / divisor;
    Ok(Pca { mean, basis, variances, total_variance })
}

/// Mean of the columns, exact to the rounding of its last digit: what the first sum loses, far from zero, the sum of the
/// differences from it gives back.
pub fn mean(x: impl View) -> Vec<f64> {
    let x = x.view();
    let n = x.ncols() as f64;
    let mut mean = vec![0.0; x.nrows()];
    for column in x.col_iter() {
        mean.iter_mut().zip(column.iter()).for_each(|(sum, v)| *sum += v);
    }
    mean.iter_mut().for_each(|sum| *sum /= n);
    let mut rest = vec![0.0; x.nrows()];
    for column in x.col_iter() {
        rest.iter_mut().zip(column.iter()).zip(&mean).for_each(|((rest, v), mean)| *rest += v - mean);
    }
    // Beside values near the largest there are, a difference may overflow.
    mean.iter_mut().zip(rest).filter(|(_, rest)| rest.is_finite()).for_each(|(mean, rest)| *mean += rest / n);
    mean
}

/// The mean of columns with weights; their plain mean where there are none.
pub(crate) fn weighted_mean<'a>(x: impl View, weights: impl Into<Option<&'a [f64]>>) -> Vec<f64> {
    let x = x.view();
    let Some(weights) = weights.into() else { return mean(x) };
    let total: f64 = weights.iter().sum();
    let mut mean = vec![0.0; x.nrows()];
    // The second turn takes up what the first one lost to rounding far from zero.
    for _ in 0..2 {
        let mut rest = vec![0.0; x.nrows()];
        for (column, weight) in x.col_iter().zip(weights) {
            rest.iter_mut().zip(column.iter()).zip(&mean).for_each(|((rest, v), mean)| *rest += weight * (v - mean));
        }
        mean.iter_mut().zip(rest).for_each(|(mean, rest)| *mean += rest / total);
    }
    mean
}

/// The columns without `origin`.
pub fn centered(x: impl View, origin: &[f64]) -> Mat<f64> {
    let x = x.view();
    Mat::from_fn(x.nrows(), x.ncols(), |i, j| x[(i, j)] - origin[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(m: usize, n: usize) -> Mat<f64> {
        Mat::from_fn(m, n, |i, j| (((i + 1) * (j + 3) * 7919) % 101) as f64 / (i + 1) as f64)
    }

    #[test]
    fn directions_are_orthonormal_and_diagonalise_the_covariance() {
        for (m, n) in [(6, 30), (30, 6), (12, 12)] {
            let x = data(m, n);
            let p = pca(&x, 5, "t").unwrap();
            assert!((gram(&p.basis) - Mat::<f64>::identity(5, 5)).norm_max() < 1e-9);
            let centered = Mat::from_fn(m, n, |i, j| x[(i, j)] - p.mean[i]);
            let scores = mul(p.basis.transpose(), &centered);
            let covariance = outer_gram(&scores);
            for i in 0..5 {
                for j in 0..5 {
                    let expected = if i == j { p.variances[i] * (n - 1) as f64 } else { 0.0 };
                    assert!((covariance[(i, j)] - expected).abs() < 1e-7 * covariance[(0, 0)]);
                }
            }
        }
    }

    #[test]
    fn the_mean_far_from_zero_has_all_its_digits() {
        // Whole numbers have an exact mean, here 1e8 + 49.5 and 0.1 of equal values.
        let x = Mat::from_fn(2, 100_000, |i, j| if i == 0 { 1e8 + (j % 100) as f64 } else { 0.1 });
        assert_eq!(mean(&x), [1e8 + 49.5, 0.1]);
        assert_eq!(mean(Mat::from_fn(1, 2, |_, _| 8e307)), [8e307]);
    }

    #[test]
    fn both_ways_agree_and_rank_is_respected() {
        let x = mul(data(40, 3), data(3, 20));
        let p = pca(&x, 10, "t").unwrap();
        assert_eq!(p.basis.ncols(), 3);
        let captured: f64 = p.variances.iter().sum();
        assert!((captured - p.total_variance).abs() < 1e-9 * p.total_variance);
        let constant = pca(Mat::from_fn(4, 5, |i, _| i as f64), 2, "t").unwrap();
        assert_eq!(constant.basis.ncols(), 0);
    }
}
