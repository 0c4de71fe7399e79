//! Ridge maps that fit one class and silence all others, for every class from one factorisation.
//!
//! For each class `c`, with `A_c = own X_c X_c^T + other Xbar_c Xbar_c^T + ridge I` (`Xbar_c`: the samples of all
//! other classes),
//!
//! ```text
//! A_c = S + (own - other) X_c X_c^T,     S = other X X^T + ridge I,     R = X^T S^-1,
//! X_c^T A_c^-1 = N_c^-1 R_c,             N_c = I + (own - other) R_c X_c      (Woodbury)
//! ```
//!
//! so all classes share the factor of `S` and each adds one of the size of its own samples.

use crate::linalg::{Spd, add_diagonal, gram, mul, mul_add, outer_gram};
use crate::{Dataset, Observer, Result};
use faer::{Mat, MatRef};
use rayon::prelude::*;

/// The weights in `A_c`.
#[derive(Clone, Copy, Debug)]
pub struct ClassWeights {
    /// Weight of the class's own samples, above zero.
    pub own: f64,
    /// Weight of the samples of all other classes.
    pub other: f64,
    /// Ridge; with zero, dependent samples make the matrix singular and some jitter is added.
    pub ridge: f64,
}

/// The maps of all classes, factored.
pub struct ClasswiseMap<'a> {
    train: &'a Dataset,
    excess: f64,
    /// `R`, samples x features; with `other = 0` each class has its own `S` and `R` holds `X_c^T A_c^-1` at once.
    shared: Mat<f64>,
    /// `N_c`.
    small: Vec<Spd>,
}

impl<'a> ClasswiseMap<'a> {
    /// Factors everything; `stage` names the step in errors and warnings.
    pub fn new(train: &'a Dataset, weights: ClassWeights, stage: &str, watch: &mut dyn Observer) -> Result<Self> {
        let ClassWeights { own, other, ridge } = weights;
        if other == 0.0 {
            return Self::separate(train, own, ridge, stage, watch);
        }
        let (m, n) = train.x().shape();
        let mut system = if m <= n { outer_gram(train.x()) } else { gram(train.x()) };
        system *= faer::Scale(other);
        add_diagonal(&mut system, ridge);
        let factor = Spd::with_jitter(system, stage, |text| watch.warn(text))?;
        let shared =
            if m <= n { factor.solve(train.x()).transpose().to_owned() } else { factor.solve(train.x().transpose()) };
        let excess = own - other;
        let small = (0..train.n_classes())
            .into_par_iter()
            .map(|c| {
                let range = train.blocks().range(c);
                let mut small = mul(shared.subrows(range.start, range.len()), train.class(c));
                small *= faer::Scale(excess);
                add_diagonal(&mut small, 1.0);
                Ok(Spd::new(small, stage)?)
            })
            .collect::<Result<_>>()?;
        Ok(ClasswiseMap { train, excess, shared, small })
    }

    /// Without other classes: `X_c^T A_c^-1 = (own X_c^T X_c + ridge I)^-1 X_c^T`.
    fn separate(train: &'a Dataset, own: f64, ridge: f64, stage: &str, watch: &mut dyn Observer) -> Result<Self> {
        let mut shared = Mat::zeros(train.n_samples(), train.n_features());
        for (c, range) in train.blocks().ranges().enumerate() {
            let mut system = gram(train.class(c));
            system *= faer::Scale(own);
            add_diagonal(&mut system, ridge);
            let map = Spd::with_jitter(system, stage, |text| watch.warn(text))?.solve(train.class(c).transpose());
            shared.subrows_mut(range.start, range.len()).copy_from(map);
        }
        Ok(ClasswiseMap { train, excess: own, shared, small: Vec::new() })
    }

    /// `X_c^T A_c^-1`, samples of the class x features.
    pub fn own(&self, c: usize) -> Mat<f64> {
        let range = self.train.blocks().range(c);
        let rows = self.shared.subrows(range.start, range.len());
        match self.small.get(c) {
            Some(small) => small.solve(rows),
            None => rows.to_owned(),
        }
    }

    /// `Z_c X^T A_c^-1` for all classes: block `c` of the rows of `z` (rows x samples) belongs to class `c`, and all
    /// samples take part. Needs `other > 0`.
    pub fn of_all_samples(&self, z: MatRef<'_, f64>, rows: &crate::Blocks) -> Mat<f64> {
        debug_assert_eq!(self.small.len(), rows.len());
        let mut product = mul(z, &self.shared);
        for (c, range) in rows.ranges().enumerate() {
            let mut part = product.as_mut().subrows_mut(range.start, range.len());
            let seen = mul(&part, self.train.class(c));
            mul_add(part.as_mut(), -self.excess, &seen, self.own(c));
        }
        product
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Blocks, synth};

    /// `A_c` by its definition.
    fn direct(train: &Dataset, c: usize, w: ClassWeights) -> Mat<f64> {
        let own = outer_gram(train.class(c));
        let mut a = faer::Scale(w.other) * (outer_gram(train.x()) - &own) + faer::Scale(w.own) * own;
        add_diagonal(&mut a, w.ridge);
        a
    }

    #[test]
    fn equals_the_direct_inverse_on_both_sides_and_at_all_weights() {
        let weights = [(1.0, 5e-3, 5e-4), (1.0, 3.0, 1e-3), (0.05, 3e-3, 1e-4), (0.5, 0.5, 1e-2), (1.0, 0.0, 1e-3)];
        for train in [synth::blobs(3, 8, 10, 1), synth::blobs(3, 4, 30, 2)] {
            for (own, other, ridge) in weights {
                let w = ClassWeights { own, other, ridge };
                let map = ClasswiseMap::new(&train, w, "t", &mut ()).unwrap();
                for c in 0..3 {
                    let expected = Spd::new(direct(&train, c, w), "t").unwrap().solve(train.class(c));
                    let error = (map.own(c) - expected.transpose()).norm_max();
                    assert!(error < 1e-9 * expected.norm_max(), "{w:?}: {error}");
                }
            }
        }
    }

    #[test]
    fn all_samples_solve_their_normal_equations() {
        for train in [synth::blobs(3, 8, 10, 1), synth::blobs(3, 4, 30, 2)] {
            let w = ClassWeights { own: 1.0, other: 1.01, ridge: 1e-3 };
            let map = ClasswiseMap::new(&train, w, "t", &mut ()).unwrap();
            let rows = Blocks::from_sizes([2, 1, 3]);
            let z = Mat::from_fn(6, train.n_samples(), |i, j| ((i * 5 + j * 3) % 7) as f64 - 3.0);
            let omega = map.of_all_samples(z.as_ref(), &rows);
            for (c, range) in rows.ranges().enumerate() {
                let (omega, z) = (omega.subrows(range.start, range.len()), z.subrows(range.start, range.len()));
                let gap = mul(omega, direct(&train, c, w)) - mul(z, train.x().transpose());
                assert!(gap.norm_max() < 1e-9, "{}", gap.norm_max());
            }
        }
    }

    #[test]
    fn without_ridge_dependent_samples_are_jittered_with_a_warning() {
        let train = synth::blobs(2, 3, 6, 5);
        let repeated = Mat::from_fn(6, 6, |i, j| train.x()[(i, j / 2)]);
        let train = train.with_features(repeated).unwrap();
        let mut trace = crate::observe::Trace::default();
        let w = ClassWeights { own: 1.0, other: 0.1, ridge: 0.0 };
        let map = ClasswiseMap::new(&train, w, "t", &mut trace).unwrap();
        assert!(trace.warnings.len() == 1 && map.own(0).is_all_finite());
    }
}
