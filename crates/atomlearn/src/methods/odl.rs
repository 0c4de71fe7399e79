//! ODL: online dictionary learning with a ridge classifier on its lasso codes.
//!
//! ```text
//! min_{D,Z} sum_i 1/2 |x_i - D z_i|^2 + lambda |z_i|_1   s.t.  |d_k| <= 1;      then  W = H Z^T (Z Z^T + ridge I)^-1
//! ```
//!
//! `X` samples, `D` atoms, `Z` lasso codes, `H` one-hot labels. Samples come in batches, and a batch is forgotten once it has entered
//! three sums: `A` of `z z^T`, `B` of `x z^T`, `T` of `h z^T`. For batch `t`, older ones weighted by `beta = (1 - 1/t)^forgetting`:
//!
//! 1. atoms that are nothing yet, or that no code has used for long, become samples of the batch;
//! 2. codes `Z` of the batch by the lasso ([`crate::coding::lasso`]);
//! 3. `A <- beta A + Z Z^T`, `B <- beta B + X Z^T`, `T <- beta T + H Z^T`;
//! 4. one sweep of block coordinate descent on `|d_k| <= 1` for `A` and `B` ([`crate::update::block_descent`]), over the atoms that
//!    the batch uses.
//!
//! Training from a data set shuffles it in each of `max_iter` passes. From the second on a sample is known already: nothing is
//! forgotten, but its new code replaces the one of the pass before, in the sums and as the place where the lasso starts (the paper's
//! section on data sets of fixed size; `replace=false` forgets in all passes). At the end all samples are coded with the final dictionary, which
//! gives the three sums without forgetting, and with them `W = T (A + ridge I)^-1`. The sums stay in the model: more batches can
//! follow ([`Incremental`]). A new sample gets its lasso code `z` and the scores `W z`.
//!
//! Reference: Mairal, Bach, Ponce, Sapiro: Online dictionary learning for sparse coding. ICML 2009; Online learning for matrix
//! factorization and sparse coding. JMLR 2010. Deviations, all listed in docs/methods/odl.md: the classifier (theirs has none), the final
//! coding of all samples, atoms that start as samples of every class.

use crate::classifier::{AtomKind, Atoms, Header};
use crate::coding::lasso::{LassoCoder, LassoCodes, LassoLimits, LassoTask, lasso, lasso_from};
use crate::coding::sparse::SparseCodes;
use crate::draw;
use crate::fit::Incremental;
use crate::init::USUAL_ATOMS;
use crate::iterations::{Done, Iterations};
use crate::linalg::{
    Spd, add_diagonal, axpy, column, column_energies, column_major, concat_columns, gram, mul, mul_add, outer_gram,
    relative_change, select_columns, wide,
};
use crate::methods::sparse_linear::{atom_counts, sample_atoms};
use crate::observe::unless_resumed;
use crate::params::{Domain, Preset, params, presets};
use crate::span::Span;
use crate::update::block_descent::descend_some;
use crate::{Classifier, Dataset, Error, Fit, Observer, Parts, Result, State};
use faer::{Mat, MatRef, Scale};
use rand::seq::SliceRandom;

/// An atom that no code has used is given up when this many samples per atom have been seen.
const PATIENCE: usize = 10;

/// Codes with a smaller share of entries enter the sums entry by entry, others by matrix products.
const SPARSE: f64 = 0.15;

params! {
    /// Parameters of ODL.
    pub struct Odl {
        /// Weight of the sum of magnitudes of a code against half the squared residual.
        lambda: f64 = 0.01, Domain::Positive, grid [0.003, 0.01, 0.03, 0.1, 0.2];
        /// Atoms per class, which start as its samples but belong to no class; `auto` is 10, or the number of samples of a smaller class.
        atoms_per_class: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// Samples of a batch: the dictionary changes after each.
        batch_size: usize = 64, Domain::AtLeast(1);
        /// How fast older batches lose weight: batch s of t weighs `(s / t)^forgetting`; 0 keeps all alike.
        forgetting: f64 = 2.0, Domain::NonNegative;
        /// From the second pass on, a sample's new code replaces its last one in the sums, and nothing is forgotten any more.
        replace: bool = true, Domain::Flag;
        /// Maximum number of passes over the samples.
        max_iter: usize = 10, Domain::AtLeast(0), grid [3, 10, 30];
        /// Training ends when an iteration changes the dictionary by less than this, relatively; 0 never ends it early.
        tol: f64 = 1e-3, Domain::NonNegative;
        /// Weight of the squared norm of the classifier.
        ridge: f64 = 0.01, Domain::Positive, grid [1e-3, 0.01, 0.1, 1.0];
        /// Seed of the choice of samples that become the first atoms, and of their order in every pass.
        seed: u64 = 0, Domain::AtLeast(0);
    }
}

/// Everything that batches leave behind: the dictionary and the sums.
#[derive(Clone)]
struct Learned {
    /// `D`.
    dictionary: Mat<f64>,
    /// `D^T D`, which follows the atoms while batches come.
    gram: Mat<f64>,
    /// `A`: sum of `z z^T`.
    codes: Mat<f64>,
    /// `B`: sum of `x z^T`.
    samples: Mat<f64>,
    /// `T`: sum of `h z^T`, classes x atoms.
    labels: Mat<f64>,
    /// Batches so far.
    batches: usize,
}

/// What codes of some samples cost: the terms of the objective.
#[derive(Clone, Copy, Default)]
struct Cost {
    residual: f64,
    magnitudes: f64,
}

/// What a batch of samples that were seen before takes back.
struct Replaced<'a> {
    /// Their codes of the last pass.
    codes: SparseCodes,
    /// How many kept codes use each atom.
    users: &'a mut [usize],
}

impl Learned {
    /// Atoms, and nothing seen yet.
    fn new(dictionary: Mat<f64>, n_classes: usize) -> Self {
        let (m, k) = dictionary.shape();
        let [codes, samples, labels] = [k, m, n_classes].map(|rows| Mat::zeros(rows, k));
        Learned { gram: gram(&dictionary), dictionary, codes, samples, labels, batches: 0 }
    }

    /// What was seen so far counts so much less.
    fn forget(&mut self, keep: f64) {
        self.codes *= Scale(keep);
        self.samples *= Scale(keep);
        self.labels *= Scale(keep);
    }

    /// Adds `weight` times what codes say to the sums.
    fn add(&mut self, x: MatRef<'_, f64>, targets: &[usize], codes: &SparseCodes, weight: f64) {
        let mut store = None;
        let x = column_major(x, &mut store);
        let few = codes.n_entries() as f64 <= SPARSE * (codes.n_atoms() * codes.n_samples()) as f64;
        if !few {
            let z = codes.to_dense();
            self.codes += Scale(weight) * outer_gram(&z);
            mul_add(self.samples.as_mut(), weight, x, z.transpose());
        }
        for (i, &c) in targets.iter().enumerate() {
            let (atoms, values) = codes.sample(i);
            for (&k, &z) in atoms.iter().zip(values) {
                self.labels[(c, k)] += weight * z;
                if few {
                    let products = self.codes.col_as_slice_mut(k);
                    atoms.iter().zip(values).for_each(|(&l, v)| products[l] += weight * (z * v));
                    let sum = self.samples.col_as_slice_mut(k);
                    wide!(axpy(weight * z, column(x, i), sum));
                }
            }
        }
    }

    /// The sums of nothing but these codes.
    fn restart_sums(&mut self, x: MatRef<'_, f64>, targets: &[usize], codes: &SparseCodes) {
        for sum in [&mut self.codes, &mut self.samples, &mut self.labels] {
            sum.fill(0.0);
        }
        self.add(x, targets, codes, 1.0);
    }

    /// Atoms that are nothing yet, or that no code has used for long, start again as samples of the batch: those that are coded worst
    /// come first.
    fn wake_idle_atoms(&mut self, x: MatRef<'_, f64>, lambda: f64) {
        let n_atoms = self.dictionary.ncols();
        let had_its_chance = self.batches.saturating_mul(x.ncols()) >= PATIENCE * n_atoms;
        let empty = |k: usize| self.gram[(k, k)] <= 0.0;
        let idle = |&k: &usize| empty(k) || (had_its_chance && self.codes[(k, k)] <= 0.0);
        let idle: Vec<usize> = (0..n_atoms).filter(idle).collect();
        if idle.is_empty() {
            return;
        }
        let costs = self.lasso_codes(x, lambda, None).squared_residuals;
        let energies = column_energies(x);
        let mut worst: Vec<usize> = (0..x.ncols()).filter(|&i| energies[i] > 0.0 && energies[i].is_finite()).collect();
        worst.sort_by(|&i, &j| costs[j].total_cmp(&costs[i]));
        for (&k, i) in idle.iter().zip(worst) {
            let length = energies[i].sqrt();
            (0..x.nrows()).for_each(|row| self.dictionary[(row, k)] = x[(row, i)] / length);
        }
        self.follow(&idle);
    }

    /// Codes of a batch, from `near` where codes of the same samples are at hand.
    fn lasso_codes(&self, x: MatRef<'_, f64>, lambda: f64, near: Option<&SparseCodes>) -> LassoCodes {
        let correlations = mul(self.dictionary.transpose(), x);
        let (gram, b, energies) = (self.gram.as_ref(), correlations.as_ref(), column_energies(x));
        match near {
            Some(near) => lasso_from(near, gram, b, &energies, lambda, LassoLimits::default()),
            None => lasso(gram, b, &energies, LassoTask::Penalized(lambda), LassoLimits::default()),
        }
    }

    /// The Gram matrix after these atoms have changed.
    fn follow(&mut self, atoms: &[usize]) {
        if 2 * atoms.len() > self.dictionary.ncols() {
            self.gram = gram(&self.dictionary);
            return;
        }
        let changed = mul(self.dictionary.transpose(), select_columns(&self.dictionary, atoms));
        for (column, &k) in changed.col_iter().zip(atoms) {
            self.gram.col_mut(k).copy_from(column);
        }
        for (column, &k) in changed.col_iter().zip(atoms) {
            (0..column.nrows()).for_each(|l| self.gram[(k, l)] = column[l]);
        }
    }

    /// Takes an atom that no code uses out of the sums; returns false.
    fn clear(&mut self, k: usize) -> bool {
        self.codes.col_mut(k).fill(0.0);
        self.codes.row_mut(k).fill(0.0);
        self.samples.col_mut(k).fill(0.0);
        self.labels.col_mut(k).fill(0.0);
        false
    }

    /// `W = T (A + ridge I)^-1`.
    fn weights(&self, ridge: f64) -> Result<Mat<f64>> {
        let mut system = self.codes.clone();
        add_diagonal(&mut system, ridge);
        Ok(Spd::new(system, "ridge regression on lasso codes")?.solve(self.labels.transpose()).transpose().to_owned())
    }
}

fn code(coder: &LassoCoder, dictionary: MatRef<'_, f64>, x: MatRef<'_, f64>, lambda: f64) -> LassoCodes {
    let correlations = mul(dictionary.transpose(), x);
    coder.codes(&correlations, &column_energies(x), LassoTask::Penalized(lambda), LassoLimits::default())
}

impl Odl {
    /// One batch; returns its codes and what they cost before the dictionary changed. With `old` codes of these samples, the new ones
    /// take their place, else older batches lose weight.
    fn learn_batch(
        &self,
        learned: &mut Learned,
        x: MatRef<'_, f64>,
        targets: &[usize],
        old: Option<Replaced<'_>>,
    ) -> LassoCodes {
        learned.wake_idle_atoms(x, self.lambda);
        let found = learned.lasso_codes(x, self.lambda, old.as_ref().map(|old| &old.codes));
        learned.batches = learned.batches.saturating_add(1);
        let mut used = vec![false; learned.dictionary.ncols()];
        found.codes.each_atom(|k| used[k] = true);
        match &old {
            Some(old) => {
                old.codes.each_atom(|k| used[k] = true);
                learned.add(x, targets, &old.codes, -1.0);
            }
            None => learned.forget((1.0 - 1.0 / learned.batches as f64).powf(self.forgetting)),
        }
        learned.add(x, targets, &found.codes, 1.0);
        let mut used: Vec<usize> = (0..used.len()).filter(|&k| used[k]).collect();
        if let Some(old) = old {
            old.codes.each_atom(|k| old.users[k] -= 1);
            found.codes.each_atom(|k| old.users[k] += 1);
            // What is left of the sums of an atom without users is rounding: its direction would mean nothing.
            used.retain(|&k| old.users[k] > 0 || learned.clear(k));
        }
        descend_some(&learned.samples, &learned.codes, &mut learned.dictionary, &used);
        learned.follow(&used);
        found
    }

    /// All samples in a new order, batch by batch; returns the mean cost of a sample. `kept` are the codes of the pass before, then those
    /// of this one.
    fn pass(
        &self,
        learned: &mut Learned,
        kept: &mut Option<SparseCodes>,
        (train, targets): (&Dataset, &[usize]),
        number: usize,
    ) -> Cost {
        let n = train.n_samples();
        let mut order: Vec<usize> = (0..n).collect();
        order.shuffle(&mut draw::stream(self.seed, number));
        learned.gram = gram(&learned.dictionary);
        let mut users = vec![0usize; learned.dictionary.ncols()];
        if let Some(kept) = kept {
            kept.each_atom(|k| users[k] += 1);
            learned.restart_sums(train.x(), targets, kept);
        }
        let mut new = SparseCodes::new(learned.dictionary.ncols());
        let mut sum = Cost::default();
        for places in order.chunks(self.batch_size) {
            let x = select_columns(train.x(), places);
            let of_batch: Vec<usize> = places.iter().map(|&i| targets[i]).collect();
            let old = kept.as_ref().map(|kept| Replaced { codes: kept.select(places), users: &mut users });
            let found = self.learn_batch(learned, x.as_ref(), &of_batch, old);
            sum.residual += found.squared_residuals.iter().sum::<f64>();
            sum.magnitudes += found.codes.magnitudes();
            if self.replace {
                new.append(&found.codes);
            }
        }
        if self.replace {
            let mut place = vec![0; n];
            order.iter().enumerate().for_each(|(p, &i)| place[i] = p);
            *kept = Some(new.select(&place));
        }
        Cost { residual: sum.residual / n as f64, magnitudes: sum.magnitudes / n as f64 }
    }

    /// The sums of all samples' codes over one dictionary, without forgetting.
    fn sums(&self, dictionary: &Mat<f64>, train: &Dataset, targets: &[usize]) -> Learned {
        let mut learned = Learned::new(dictionary.clone(), train.n_classes());
        let z = code(&LassoCoder::penalized(dictionary), dictionary.as_ref(), train.x(), self.lambda);
        learned.add(train.x(), targets, &z.codes, 1.0);
        learned.batches = train.n_samples().div_ceil(self.batch_size);
        learned
    }
}

impl Fit for Odl {
    type Model = OdlModel;
    const KEY: &'static str = "odl";
    const TITLE: &'static str = "Online dictionary learning with a ridge classifier (ODL)";
    const PAPER: &'static str =
        "Mairal, Bach, Ponce, Sapiro: Online learning for matrix factorization and sparse coding. JMLR 2010";
    const PRESETS: &'static [Preset] = presets![Self:
        "default", "the defaults" => {};
        "paper", "as in the experiments of the paper: all batches weigh the same, 512 samples each, one pass" =>
            { forgetting: 0.0, batch_size: 512, max_iter: 1, tol: 0.0 };
    ];
    const ITERATES: bool = true;

    fn learn(&self, full: &Dataset, from: Option<State>, watch: &mut dyn Observer) -> Result<OdlModel> {
        let span = Span::of(full)?;
        let train = span.train();
        let iterations = Iterations::new(Self::KEY, &from, self.max_iter, self.tol)?;
        let counts = atom_counts(train, self.atoms_per_class, unless_resumed(&from, watch, &mut ()));
        let targets = train.targets();
        let finish = |dictionary: &Mat<f64>| {
            let learned = self.sums(dictionary, train, &targets);
            OdlModel::new(full.classes().to_vec(), learned.lifted(&span), self)
        };

        let (mut learned, mut kept) = match from {
            None => (Learned::new(concat_columns(&sample_atoms(train, &counts, self.seed)), train.n_classes()), None),
            Some(state) => {
                let batches = state.value("batches")?;
                let mut parts = state.into_parts(train.classes());
                let learned = Learned::take(&mut parts, (train.n_features(), Some(counts.total())))?;
                let kept = match self.replace {
                    true => Some(SparseCodes::restore(&mut parts, counts.total(), train.n_samples())?),
                    false => None,
                };
                (Learned { batches, ..learned }, kept)
            }
        };
        for iter in iterations.left() {
            let before = learned.dictionary.clone();
            let cost = self.pass(&mut learned, &mut kept, (train, &targets), iter);
            let terms = [("reconstruction", 0.5 * cost.residual), ("sparsity", self.lambda * cost.magnitudes)];
            let objective = terms[0].1 + terms[1].1;
            if !objective.is_finite() || !learned.dictionary.is_all_finite() {
                return Err(Error::numeric("ODL", "the objective is no longer finite; scale the samples to unit norm"));
            }
            let change = relative_change(&learned.dictionary, &before);
            let done = Done {
                terms: &terms,
                change: Some(change),
                model: &|| finish(&learned.dictionary),
                state: &|state| {
                    let mut parts = Parts::default();
                    learned.store(&mut parts);
                    let state = state.with_value("batches", learned.batches);
                    let state = kept.iter().fold(state, |state, kept| kept.store(state));
                    parts.iter().fold(state, |state, (name, part)| state.with(name, part))
                },
            };
            if iterations.report(iter, &done, watch)?.is_break() {
                break;
            }
        }
        finish(&learned.dictionary)
    }

    fn restore(&self, mut parts: Parts) -> Result<OdlModel> {
        let dictionary = parts.take("dictionary")?;
        let (m, k) = dictionary.shape();
        parts.put("dictionary", dictionary);
        let batches = parts.take_whole_row("batches", 1, u32::MAX as usize)?[0];
        let weights = parts.take_shaped("weights", parts.classes.len(), k)?;
        let learned = Learned { batches, ..Learned::take(&mut parts, (m, Some(k)))? };
        Ok(OdlModel::with_weights(parts.classes, learned, weights, self.lambda))
    }
}

impl Incremental for Odl {
    fn begin(&self, classes: Vec<String>, n_features: usize) -> Result<OdlModel> {
        let n_atoms = self.atoms_per_class.unwrap_or(USUAL_ATOMS).saturating_mul(classes.len());
        let n_classes = classes.len();
        OdlModel::new(classes, Learned::new(Mat::zeros(n_features, n_atoms), n_classes), self)
    }

    fn learn_more(&self, model: &OdlModel, x: MatRef<'_, f64>, targets: &[usize]) -> Result<OdlModel> {
        // The square of such a sample is infinite: it would get no code, and count for nothing.
        if column_energies(x).iter().any(|energy| !energy.is_finite()) {
            return Err(Error::numeric("ODL", "a sample is too long to be squared; scale the samples to unit norm"));
        }
        let mut learned = model.learned.clone();
        learned.gram = gram(&learned.dictionary);
        for (b, of_batch) in targets.chunks(self.batch_size).enumerate() {
            self.learn_batch(&mut learned, x.subcols(b * self.batch_size, of_batch.len()), of_batch, None);
        }
        if !learned.dictionary.is_all_finite() || !learned.codes.is_all_finite() {
            return Err(Error::numeric("ODL", "the sums are no longer finite; scale the samples to unit norm"));
        }
        OdlModel::new(model.classes().to_vec(), learned, self)
    }
}

impl Learned {
    fn store(&self, parts: &mut Parts) {
        parts.put("dictionary", &self.dictionary);
        parts.put("code_sums", &self.codes);
        parts.put("sample_sums", &self.samples);
        parts.put("label_sums", &self.labels);
    }

    /// The counterpart of [`Learned::store`], for so many features and atoms.
    fn take(parts: &mut Parts, (m, k): (usize, Option<usize>)) -> Result<Self> {
        let dictionary = parts.take_shaped("dictionary", m, k)?;
        let k = dictionary.ncols();
        let codes = parts.take_shaped("code_sums", k, k)?;
        let samples = parts.take_shaped("sample_sums", m, k)?;
        let labels = parts.take_shaped("label_sums", parts.classes.len(), k)?;
        Ok(Learned { gram: gram(&dictionary), dictionary, codes, samples, labels, batches: 0 })
    }

    /// The same among all features.
    fn lifted(self, span: &Span<'_>) -> Self {
        let (dictionary, samples) = (span.lift_columns(&self.dictionary), span.lift_columns(&self.samples));
        Learned { dictionary, samples, ..self }
    }
}

/// A dictionary with a linear classifier on its lasso codes, and all that is needed to go on learning.
pub struct OdlModel {
    header: Header,
    learned: Learned,
    /// `W`, classes x atoms.
    weights: Mat<f64>,
    coder: LassoCoder,
    lambda: f64,
}

impl OdlModel {
    fn new(classes: Vec<String>, learned: Learned, params: &Odl) -> Result<Self> {
        let weights = learned.weights(params.ridge)?;
        Ok(OdlModel::with_weights(classes, learned, weights, params.lambda))
    }

    fn with_weights(classes: Vec<String>, learned: Learned, weights: Mat<f64>, lambda: f64) -> Self {
        let coder = LassoCoder::penalized(&learned.dictionary);
        // The coder has it.
        let learned = Learned { gram: Mat::new(), ..learned };
        OdlModel {
            header: Header::new(classes, learned.dictionary.nrows(), &["linear"]),
            learned,
            weights,
            coder,
            lambda,
        }
    }

    fn codes(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        code(&self.coder, self.learned.dictionary.as_ref(), x, self.lambda).codes.to_dense()
    }
}

impl Classifier for OdlModel {
    fn header(&self) -> &Header {
        &self.header
    }

    fn store(&self, parts: &mut Parts) {
        self.learned.store(parts);
        parts.put("weights", &self.weights);
        parts.put_row("batches", &[self.learned.batches as f64]);
    }

    fn atoms(&self) -> Option<Atoms<'_>> {
        let columns = &self.learned.dictionary;
        Some(Atoms { kind: AtomKind::Dictionary, columns, classes: None })
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        vec![mul(&self.weights, self.codes(x))]
    }

    fn codes_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        Some(self.codes(x))
    }
}

#[cfg(test)]
mod tests;
