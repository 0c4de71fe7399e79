//! What K-SVD, D-KSVD and LC-KSVD share: sparse codes by OMP, a linear classifier on them, and how both start.
//!
//! A sample is coded with at most `T` atoms, `z = OMP(D, x, T)`, and its scores are `W z`.

use crate::coding::omp::{OmpLimits, omp};
use crate::coding::sparse::SparseCodes;
use crate::linalg::{Spd, concat_columns, gram, mul, normalize_columns, outer_gram, select_columns};
use crate::range::Reduced;
use crate::update::ksvd::{AtomUpdate, Ksvd, Signals};
use crate::{Blocks, Classifier, Dataset, Observer, Parts, Result};
use faer::{Mat, MatRef};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// Atoms per class where the user leaves it open and the class has that many samples.
const USUAL_ATOMS: usize = 10;
/// Samples of less energy never become atoms.
const EMPTY_SAMPLE: f64 = 1e-6;

/// Which linear classifier reads the codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Readout {
    /// Ridge regression on the codes that OMP gives the training samples without their labels, as for new samples.
    Refit,
    /// The one learned with the dictionary, as published.
    Joint,
}

/// The number of atoms per sample where the user leaves it open.
pub fn sparsity(wanted: Option<usize>, n_features: usize, n_atoms: usize) -> usize {
    wanted.unwrap_or((n_features / 10).clamp(5, 30)).min(n_atoms)
}

/// How many atoms each class starts with: as asked for, but no more than it has samples that are not zero.
pub fn atom_counts(train: &Dataset, wanted: Option<usize>, watch: &mut dyn Observer) -> Blocks {
    let usable = |c: usize| usable_samples(train.class(c)).len();
    let counts: Vec<usize> = (0..train.n_classes()).map(|c| usable(c).min(wanted.unwrap_or(USUAL_ATOMS))).collect();
    if let Some(wanted) = wanted {
        let short: Vec<usize> = (0..counts.len()).filter(|&c| counts[c] < wanted).collect();
        if let Some(&c) = short.first() {
            watch.warn(&format!(
                "{} of {} classes get fewer atoms than asked for, one per sample (class `{}`: {} instead of {wanted})",
                short.len(),
                counts.len(),
                train.classes()[c],
                counts[c],
            ));
        }
    }
    Blocks::from_sizes(counts)
}

/// Columns that are not zero.
fn usable_samples(x: MatRef<'_, f64>) -> Vec<usize> {
    (0..x.ncols()).filter(|&i| x.col(i).squared_norm_l2() > EMPTY_SAMPLE).collect()
}

/// Random samples of every class as its first atoms, of unit norm.
pub fn sample_atoms(train: &Dataset, counts: &Blocks, seed: u64) -> Vec<Mat<f64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let pick = |c: usize| {
        let mut samples = usable_samples(train.class(c));
        samples.shuffle(&mut rng);
        samples.truncate(counts.size(c));
        samples.sort_unstable();
        let mut atoms = select_columns(train.class(c), &samples);
        normalize_columns(atoms.as_mut());
        atoms
    };
    (0..train.n_classes()).map(pick).collect()
}

/// K-SVD within every class, from random samples of it.
pub fn class_ksvd(
    train: &Dataset,
    counts: &Blocks,
    sparsity: usize,
    iterations: usize,
    update: AtomUpdate,
    seed: u64,
) -> Result<Mat<f64>> {
    let learn = |(c, atoms): (usize, Mat<f64>)| -> Result<Mat<f64>> {
        let mut ksvd = Ksvd::new(Signals::plain(train.class(c)), atoms, sparsity, update);
        for _ in 0..iterations {
            ksvd.iterate()?;
        }
        Ok(ksvd.atoms().to_owned())
    };
    let starts = sample_atoms(train, counts, seed);
    let parts: Vec<Mat<f64>> = starts.into_par_iter().enumerate().map(learn).collect::<Result<_>>()?;
    Ok(concat_columns(&parts))
}

/// `W = H Z^T (Z Z^T + ridge I)^-1`, classes x atoms.
pub fn ridge_readout(z: MatRef<'_, f64>, targets: &[usize], n_classes: usize, ridge: f64) -> Result<Mat<f64>> {
    let mut system = outer_gram(z);
    (0..z.nrows()).for_each(|k| system[(k, k)] += ridge);
    let mut sums = Mat::zeros(z.nrows(), n_classes);
    for (i, &c) in targets.iter().enumerate() {
        sums.col_mut(c).iter_mut().zip(z.col(i).iter()).for_each(|(sum, z)| *sum += z);
    }
    Ok(Spd::new(system, "ridge regression on sparse codes")?.solve(sums.as_ref()).transpose().to_owned())
}

/// A dictionary with a linear classifier on its sparse codes.
pub struct SparseLinear {
    classes: Vec<String>,
    dictionary: Mat<f64>,
    gram: Mat<f64>,
    /// `W`, classes x atoms.
    weights: Mat<f64>,
    sparsity: usize,
}

impl SparseLinear {
    /// From its parts; all sizes must agree.
    pub fn new(classes: Vec<String>, dictionary: Mat<f64>, weights: Mat<f64>, wanted: Option<usize>) -> Self {
        let gram = gram(dictionary.as_ref());
        let sparsity = sparsity(wanted, dictionary.nrows(), dictionary.ncols());
        SparseLinear { classes, dictionary, gram, weights, sparsity }
    }

    /// The model of atoms learned on `reduced` samples, if they were.
    pub fn lifted(
        train: &Dataset,
        reduced: Option<&Reduced>,
        atoms: Mat<f64>,
        weights: Mat<f64>,
        wanted: Option<usize>,
    ) -> Self {
        let dictionary = reduced.map_or_else(|| atoms.clone(), |reduced| reduced.lift_columns(atoms.as_ref()));
        SparseLinear::new(train.classes().to_vec(), dictionary, weights, wanted)
    }

    /// From the parts of a model file.
    pub fn restore(mut parts: Parts, wanted: Option<usize>) -> Result<Self> {
        let dictionary = parts.take("dictionary")?;
        let weights = parts.take_shaped("weights", parts.classes.len(), dictionary.ncols())?;
        Ok(SparseLinear::new(parts.classes, dictionary, weights, wanted))
    }

    fn codes(&self, x: MatRef<'_, f64>) -> SparseCodes {
        encode(self.gram.as_ref(), self.dictionary.as_ref(), x, self.sparsity)
    }
}

/// `OMP(D, x, T)` of every sample.
pub fn encode(gram: MatRef<'_, f64>, d: MatRef<'_, f64>, x: MatRef<'_, f64>, sparsity: usize) -> SparseCodes {
    omp(gram, mul(d.transpose(), x).as_ref(), OmpLimits { sparsity, error: None })
}

impl Classifier for SparseLinear {
    fn n_features(&self) -> usize {
        self.dictionary.nrows()
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn parts(&self) -> Vec<(&'static str, MatRef<'_, f64>)> {
        vec![("dictionary", self.dictionary.as_ref()), ("weights", self.weights.as_ref())]
    }

    fn rules(&self) -> &'static [&'static str] {
        &["linear"]
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        vec![mul(self.weights.as_ref(), self.codes(x).to_dense().as_ref())]
    }

    fn codes_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        Some(self.codes(x).to_dense())
    }
}
