//! Training in the range of the samples when there are more features than samples.
//!
//! With `X = Q R`, `Q` orthonormal, everything that a rotation-invariant method sees of `X` it sees of `R`: a dictionary
//! learned from `R` is `Q^T` times that learned from `X`, as long as its atoms lie in the range of the samples.

use crate::linalg::qr;
use crate::{Dataset, Result};
use faer::Mat;

/// `Q` (features x samples) and the samples `R = Q^T X`, if there are more features than samples.
pub fn reduce(train: &Dataset) -> Result<Option<(Mat<f64>, Dataset)>> {
    if train.n_features() <= train.n_samples() {
        return Ok(None);
    }
    let (q, r) = qr(train.x());
    Ok(Some((q, train.with_features(r)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{gram, mul};
    use crate::synth;

    #[test]
    fn rotated_samples_multiply_back() {
        let train = synth::blobs(2, 3, 20, 1);
        let (q, reduced) = reduce(&train).unwrap().unwrap();
        assert_eq!(reduced.n_features(), 6);
        assert!((mul(q.as_ref(), reduced.x()) - train.x()).norm_max() < 1e-14);
        assert!((gram(q.as_ref()) - Mat::<f64>::identity(6, 6)).norm_max() < 1e-14);
        assert!(reduce(&synth::blobs(2, 3, 6, 1)).unwrap().is_none());
    }
}
