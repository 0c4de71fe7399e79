//! What K-SVD, D-KSVD, LC-KSVD and LEDL share: sparse codes, a linear classifier on them, and how both start.
//!
//! A sample is coded with at most `T` atoms, `z = OMP(D, x, T)`, or by the lasso, and its scores are `W z`.

use crate::classifier::{AtomKind, Atoms, Header};
use crate::coding::lasso::{LassoCoder, LassoLimits, LassoTask};
use crate::coding::omp::{OmpLimits, omp};
use crate::coding::sparse::SparseCodes;
use crate::init::USUAL_ATOMS;
use crate::linalg::{
    Spd, View, add_diagonal, column_energies, concat_columns, gram, mul, normalize_columns, outer_gram, select_columns,
};
use crate::params::words;
use crate::span::Span;
use crate::update::ksvd::{AtomUpdate, KsvdIteration, Signals};
use crate::{Blocks, Classifier, Dataset, Observer, Parts, Result};
use faer::{Mat, MatRef};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// Samples of less energy never become atoms.
const EMPTY_SAMPLE: f64 = 1e-6;

words! {
    /// Which linear classifier reads the codes.
    pub enum Readout {
        /// Ridge regression on the codes that OMP gives the training samples without their labels, as for new samples.
        Refit = "refit",
        /// The one learned with the dictionary, as published.
        Joint = "joint",
    }
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
        let mut ksvd = KsvdIteration::new(Signals::plain(train.class(c)), atoms, sparsity, update);
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
pub fn ridge_readout(z: &Mat<f64>, targets: &[usize], n_classes: usize, ridge: f64) -> Result<Mat<f64>> {
    let mut system = outer_gram(z);
    add_diagonal(&mut system, ridge);
    let mut sums = Mat::zeros(z.nrows(), n_classes);
    for (i, &c) in targets.iter().enumerate() {
        sums.col_mut(c).iter_mut().zip(z.col(i).iter()).for_each(|(sum, z)| *sum += z);
    }
    Ok(Spd::new(system, "ridge regression on sparse codes")?.solve(&sums).transpose().to_owned())
}

/// A dictionary with a linear classifier on its sparse codes.
pub struct SparseLinear {
    header: Header,
    dictionary: Mat<f64>,
    /// `W`, classes x atoms.
    weights: Mat<f64>,
    coder: SparseCoder,
}

/// How samples are coded.
enum SparseCoder {
    /// With at most `sparsity` atoms.
    Omp { gram: Mat<f64>, sparsity: usize },
    /// With this weight of the magnitudes.
    Lasso { coder: LassoCoder, penalty: f64 },
}

impl SparseLinear {
    /// With codes by OMP; all sizes must agree.
    pub fn new(classes: Vec<String>, dictionary: Mat<f64>, weights: Mat<f64>, wanted: Option<usize>) -> Self {
        let sparsity = sparsity(wanted, dictionary.nrows(), dictionary.ncols());
        let coder = SparseCoder::Omp { gram: gram(&dictionary), sparsity };
        SparseLinear { header: Header::new(classes, dictionary.nrows(), &["linear"]), dictionary, weights, coder }
    }

    /// With codes by the lasso; all sizes must agree.
    pub fn by_lasso(classes: Vec<String>, dictionary: Mat<f64>, weights: Mat<f64>, penalty: f64) -> Self {
        let coder = SparseCoder::Lasso { coder: LassoCoder::penalized(&dictionary), penalty };
        SparseLinear { header: Header::new(classes, dictionary.nrows(), &["linear"]), dictionary, weights, coder }
    }

    /// The model of atoms learned in the span of the samples.
    pub fn lifted(span: &Span<'_>, atoms: &Mat<f64>, weights: Mat<f64>, wanted: Option<usize>) -> Self {
        SparseLinear::new(span.full().classes().to_vec(), span.lift_columns(atoms), weights, wanted)
    }

    /// From the parts of a model file.
    pub fn restore(mut parts: Parts, wanted: Option<usize>) -> Result<Self> {
        let (dictionary, weights) = SparseLinear::take(&mut parts)?;
        Ok(SparseLinear::new(parts.classes, dictionary, weights, wanted))
    }

    /// Dictionary and classifier.
    pub fn take(parts: &mut Parts) -> Result<(Mat<f64>, Mat<f64>)> {
        let dictionary = parts.take("dictionary")?;
        let weights = parts.take_shaped("weights", parts.classes.len(), dictionary.ncols())?;
        Ok((dictionary, weights))
    }

    /// The same with ridge regression on the codes of these samples as classifier.
    pub fn refitted(self, train: &Dataset, ridge: f64) -> Result<Self> {
        let z = self.codes(train.x());
        Ok(SparseLinear { weights: ridge_readout(&z, &train.targets(), train.n_classes(), ridge)?, ..self })
    }

    fn codes(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        match &self.coder {
            SparseCoder::Omp { gram, sparsity } => encode(gram, &self.dictionary, x, *sparsity).to_dense(),
            SparseCoder::Lasso { coder, penalty } => {
                let correlations = mul(self.dictionary.transpose(), x);
                let task = LassoTask::Penalized(*penalty);
                coder.codes(&correlations, &column_energies(x), task, LassoLimits::default()).codes.to_dense()
            }
        }
    }
}

/// `OMP(D, x, T)` of every sample.
pub fn encode(gram: &Mat<f64>, d: impl View, x: MatRef<'_, f64>, sparsity: usize) -> SparseCodes {
    omp(gram, mul(d.view().transpose(), x), OmpLimits { sparsity, error: None })
}

impl Classifier for SparseLinear {
    fn header(&self) -> &Header {
        &self.header
    }

    fn store(&self, parts: &mut Parts) {
        parts.put("dictionary", &self.dictionary);
        parts.put("weights", &self.weights);
    }

    fn atoms(&self) -> Option<Atoms<'_>> {
        Some(Atoms { kind: AtomKind::Dictionary, columns: &self.dictionary, classes: None })
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        vec![mul(&self.weights, self.codes(x))]
    }

    fn codes_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        Some(self.codes(x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::one_hot;
    use crate::observe::{Step, Trace};
    use crate::registry::{self, Values};
    use crate::synth;
    use crate::testing::{accuracy, pick};
    use std::ops::ControlFlow;

    const KEYS: [&str; 4] = ["ksvd", "dksvd", "lcksvd1", "lcksvd2"];

    fn fit(key: &str, values: &str, train: &Dataset, watch: &mut dyn Observer) -> Box<dyn Classifier> {
        let values: Values = serde_json::from_str(values).unwrap();
        registry::method(key).unwrap().fit(&values, train, watch).unwrap()
    }

    #[test]
    fn ridge_readout_satisfies_its_normal_equations() {
        let train = synth::blobs(3, 6, 7, 1);
        let (z, targets) = (train.x().to_owned(), train.targets());
        let w = ridge_readout(&z, &targets, 3, 0.5).unwrap();
        let h = one_hot(&targets, 3);
        let mut system = outer_gram(&z);
        (0..7).for_each(|k| system[(k, k)] += 0.5);
        assert!((mul(&w, &system) - mul(&h, z.transpose())).norm_max() < 1e-10);
    }

    #[test]
    fn defaults_work_in_few_and_in_many_dimensions() {
        for dim in [6, 20, 80] {
            let data = synth::blobs(5, 24, dim, 3);
            let half = |rest: usize| {
                let columns: Vec<usize> = (0..120).filter(|i| i % 2 == rest).collect();
                pick(&data, &columns)
            };
            for key in KEYS {
                let model = fit(key, "{}", &half(0), &mut ());
                let found = accuracy(model.as_ref(), &half(1));
                assert!(found > 0.9, "{key} in {dim} dimensions: {found}");
            }
        }
    }

    #[test]
    fn every_option_works_and_models_come_back_with_the_same_bits() {
        let train = synth::blobs(3, 10, 12, 4);
        for key in KEYS {
            let options: &[&str] = match key {
                "ksvd" => &["{}", r#"{"update": "exact", "sparsity": 40}"#],
                "lcksvd1" => &[r#"{"preset": "published"}"#, r#"{"readout": "joint", "rescale_codes": true}"#],
                _ => &[r#"{"preset": "published"}"#, r#"{"readout": "joint", "update": "exact", "max_iter": 3}"#],
            };
            for option in options {
                let mut trace = Trace::default();
                let model = fit(key, option, &train, &mut trace);
                let terms_add_up = |step: &crate::observe::TraceStep| {
                    (step.objective.unwrap() - step.terms.iter().map(|(_, v)| v).sum::<f64>()).abs() < 1e-12
                };
                assert!(!trace.steps.is_empty() && trace.steps.iter().all(terms_add_up));
                assert!(accuracy(model.as_ref(), &train) > 0.5, "{key} {option}");
                let method = registry::method(key).unwrap();
                let values = method.complete(&serde_json::from_str(option).unwrap()).unwrap();
                let again = method.restore(&values, model.parts()).unwrap();
                assert!(again.scores(train.x()).unwrap() == model.scores(train.x()).unwrap());
                for (name, rows, cols) in [("weights", 3, 2), ("weights", 2, model.atoms().unwrap().columns.ncols())] {
                    let mut wrong = model.parts();
                    wrong.put(name, Mat::<f64>::zeros(rows, cols));
                    assert!(method.restore(&values, wrong).is_err());
                }
            }
        }
    }

    #[test]
    fn poor_classes_get_fewer_atoms_with_a_warning_and_zero_data_do_no_harm() {
        let rich = synth::blobs(3, 8, 10, 9);
        let keep = [0, 1, 2, 3, 4, 5, 8, 16, 17];
        let poor = pick(&rich, &keep);
        // One class of zeros, one with a sample twice.
        let x = Mat::from_fn(10, 9, |i, j| if j < 3 { 0.0 } else { poor.x()[(i, if j == 4 { 3 } else { j })] });
        let zeros = poor.with_features(x).unwrap();
        let nothing = poor.with_features(Mat::zeros(10, 9)).unwrap();
        for key in KEYS {
            let mut trace = Trace::default();
            let model = fit(key, r#"{"atoms_per_class": 5}"#, &poor, &mut trace);
            assert_eq!(trace.warnings.len(), 1, "{key}");
            assert_eq!(model.atoms().unwrap().columns.ncols(), 5 + 1 + 2);
            assert!(model.scores(rich.x()).unwrap().is_all_finite());
            for train in [&poor, &zeros, &nothing] {
                for option in ["{}", r#"{"max_iter": 0}"#] {
                    assert!(fit(key, option, train, &mut ()).scores(rich.x()).unwrap().is_all_finite(), "{key}");
                }
            }
        }
    }

    #[test]
    fn more_features_than_samples_change_nothing_but_the_time() {
        let train = synth::blobs(3, 10, 20, 6);
        let padded = train.with_features(Mat::from_fn(40, 30, |i, j| if i < 20 { train.x()[(i, j)] } else { 0.0 }));
        let padded = padded.unwrap();
        for key in KEYS {
            let run = |data: &Dataset| {
                fit(key, r#"{"sparsity": 4, "atoms_per_class": 5}"#, data, &mut ()).scores(data.x()).unwrap()
            };
            assert!((run(&train) - run(&padded)).norm_max() < 1e-8, "{key}");
        }
    }

    #[test]
    fn an_observer_can_stop_and_take_the_model_of_the_moment() {
        struct Stop(usize, Option<Mat<f64>>, Dataset);
        impl Observer for Stop {
            fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
                self.0 += 1;
                self.1 = step.model.map(|model| model().unwrap().scores(self.2.x()).unwrap());
                if step.iter == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }
        }
        let train = synth::blobs(3, 10, 12, 5);
        for key in KEYS {
            let mut stop = Stop(0, None, train.clone());
            let model = fit(key, "{}", &train, &mut stop);
            assert_eq!(stop.0, 2);
            assert!(stop.1 == Some(model.scores(train.x()).unwrap()), "{key}");
        }
    }
}
