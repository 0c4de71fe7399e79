//! `random`: Gaussian projection on directions of unit length.

use super::StepParts;
use super::affine::Affine;
use super::partitioned::StepSums;
use super::spec::{Arguments, whole};
use super::steps::{FittedStep, Needs, StepInfo, StepSpec};
use crate::linalg::normalize_columns;
use crate::{Observer, Result};
use faer::{Mat, MatRef};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use std::fmt;
use std::sync::Arc;

pub(super) const RANDOM: StepInfo = StepInfo {
    name: "random",
    usage: "random:DIMENSIONS[:SEED]",
    examples: &["random:540"],
    doc: "a fixed random projection.",
    needs: Needs::Nothing,
    parse,
};

#[derive(Debug)]
struct Random {
    dim: usize,
    seed: u64,
}

fn parse(arguments: &Arguments<'_>) -> Result<Arc<dyn StepSpec>> {
    let (dim, seed) = match arguments.fields[..] {
        [dim] => (dim, "0"),
        [dim, seed] => (dim, seed),
        _ => return Err(arguments.bad("needs one number, as in random:540, or a seed too, as in random:540:1")),
    };
    let dim = whole(dim).ok_or_else(|| arguments.bad("give the number of dimensions, as in random:540"))?;
    let seed = seed.parse().map_err(|_| arguments.bad("the seed must be a whole number"))?;
    Ok(Arc::new(Random { dim, seed }))
}

impl fmt::Display for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seed {
            0 => write!(f, "random:{}", self.dim),
            seed => write!(f, "random:{}:{seed}", self.dim),
        }
    }
}

impl StepSpec for Random {
    fn info(&self) -> &'static StepInfo {
        &RANDOM
    }

    fn fit(&self, x: MatRef<'_, f64>, _: &mut dyn Observer) -> Result<Box<dyn FittedStep>> {
        Ok(self.projection(x.nrows()))
    }

    fn fit_sums(&self, sums: &StepSums<'_>, _: &mut dyn Observer) -> Result<Box<dyn FittedStep>> {
        Ok(self.projection(sums.n_features))
    }

    fn restore(&self, _: usize, parts: &mut StepParts<'_>) -> Result<Box<dyn FittedStep>> {
        Ok(Affine::projection(None, parts.take("basis")?, false).boxed())
    }
}

impl Random {
    fn projection(&self, n_features: usize) -> Box<dyn FittedStep> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut basis = Mat::from_fn(n_features, self.dim, |_, _| StandardNormal.sample(&mut rng));
        normalize_columns(basis.as_mut());
        Affine::projection(None, basis, false).boxed()
    }
}
