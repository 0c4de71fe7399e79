//! Made-up data with known structure, for tests and examples.

use crate::linalg::normalize_columns;
use crate::{Dataset, Mat};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Unit-norm samples of `n_classes` classes, each near a random two-dimensional subspace of `dim` dimensions.
pub fn blobs(n_classes: usize, per_class: usize, dim: usize, seed: u64) -> Dataset {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = move || -> f64 { StandardNormal.sample(&mut rng) };
    let mut x = Mat::zeros(dim, n_classes * per_class);
    let mut labels = Vec::with_capacity(n_classes * per_class);
    for c in 0..n_classes {
        let basis = Mat::from_fn(dim, 3, |_, _| normal());
        for i in 0..per_class {
            let a = normal();
            let b = normal();
            for k in 0..dim {
                x[(k, c * per_class + i)] =
                    2.0 * basis[(k, 0)] + a * basis[(k, 1)] + b * basis[(k, 2)] + 0.1 * normal();
            }
            labels.push(c.to_string());
        }
    }
    normalize_columns(x.as_mut());
    match Dataset::new(&x, &labels) {
        Ok(data) => data,
        Err(e) => unreachable!("synthetic data are valid: {e}"),
    }
}
