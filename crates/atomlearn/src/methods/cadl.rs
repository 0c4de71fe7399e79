//! CADL: class-aware analysis dictionary learning.
//!
//! ```text
//! J = |Z - Omega X|_F^2 + lambda1 sum_c |Omega_c Xbar_c|_F^2 + lambda3 |Omega|_F^2
//!     + 2 lambda2 sum_c ( |u_c|^2 + theta sum_i max(0, 1 - t_ci (u_c^T z_i + b_c))^2 )
//! ```
//!
//! `X` samples, `Xbar_c` those outside class `c`, `Omega = [Omega_1; ...; Omega_C]` analysis dictionary with one block
//! of rows (atoms) per class, `Z` codes, `u_c, b_c` one linear SVM per class, `t_ci = +1` for own samples, else `-1`.
//! Each class's atoms respond to its own samples and fall silent on all others. Per iteration:
//!
//! 1. codes: `z = v + a U_phi w` with `v = Omega x`, see [`crate::coding::margin`] with `P = I`, `a = 2 lambda2 theta`;
//! 2. dictionary: `Omega_c = Z_cc X_c^T (X_c X_c^T + lambda1 Xbar_c Xbar_c^T + lambda3 I)^-1`, rows scaled to length 1;
//! 3. SVM on the codes, `tau = 1 / theta`.
//!
//! A test sample needs no coding: its scores are `U^T Omega x + b`, one small linear map.
//!
//! Reference: Wang, Guo, Guo, Luo, Kong: Class-aware analysis dictionary learning for pattern classification.
//! IEEE Signal Processing Letters 24(12), 2017.
//!
//! Deviations: the stopping test looks at the whole of `Omega` (the published code: at its last class); the SVM is
//! solved exactly and fitted once more to the final `Omega X` (`refit`); rows of the random start have length 1 (there:
//! columns); by default there are `rank(X) / C` atoms per class (there: features / classes, the same unless features
//! outnumber samples). `theta = 5` is what the published code uses; the paper prints its inverse. `updates = exact` drops the
//! scaling of rows, lets all samples take part in step 2 and converges step 1, so that no step can raise `J`.

pub(crate) mod partitioned;

use crate::classifier::{AtomKind, Atoms, Header};
use crate::coding::margin::{MarginSet, Margins};
use crate::draw::ClassDraws;
use crate::export::{Graph, Tensor};
use crate::iterations::{Done, Iterations};
use crate::linalg::{column_norms, concat_columns, gram, mul, mul_add, normalize_columns, relative_change};
use crate::observe::unless_resumed;
use crate::params::{Domain, Preset, params, presets, words};
use crate::span::Span;
use crate::svm::{self, Svm};
use crate::update::classwise_map::{ClassWeights, ClasswiseMap};
use crate::{Blocks, Classifier, Dataset, Error, Fit, Observer, Parts, Result, State};
use faer::{Mat, MatRef};
use rayon::prelude::*;

words! {
    /// How each step is carried out.
    pub enum Updates {
        /// As published: rows scaled to length 1, own samples only, margins from the previous codes.
        Published = "published",
        /// Every step minimises the objective, which therefore never rises.
        Exact = "exact",
    }
}

params! {
    /// Parameters of CADL.
    pub struct Cadl {
        /// Weight of the responses of a class's atoms to the samples of all other classes.
        lambda1: f64 = 5e-3, Domain::NonNegative, grid [1e-4, 1e-3, 5e-3, 2e-2];
        /// Weight of the SVM in the codes.
        lambda2: f64 = 5e-4, Domain::NonNegative, grid [5e-4, 1e-2];
        /// Ridge on the atoms.
        lambda3: f64 = 5e-4, Domain::NonNegative, grid [1e-4, 5e-4, 5e-3];
        /// Weight of the SVM's loss against its norm.
        theta: f64 = 5.0, Domain::Positive;
        /// Atoms per class; `auto` is dimensions of the samples / classes, rounded up.
        atoms_per_class: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// Maximum number of iterations.
        max_iter: usize = 10, Domain::AtLeast(1), grid [2, 5, 10];
        /// Training ends when an iteration changes the dictionary by less than this, relatively; 0 never ends it early.
        tol: f64 = 1e-3, Domain::NonNegative;
        /// The published steps, or exact minimisation in each.
        updates: Updates = Updates::Published, Domain::OneOf(Updates::WORDS);
        /// Fit the SVM once more to the codes of the final dictionary.
        refit: bool = true, Domain::Flag;
        /// Seed of the random start.
        seed: u64 = 0, Domain::AtLeast(0);
    }
}

/// A learned analysis dictionary with its SVM.
pub struct CadlModel {
    header: Header,
    /// `Omega^T`: atoms in columns.
    analysis: Mat<f64>,
    atoms: Blocks,
    svm: Svm,
    /// `Omega^T U` and `b`: scores straight from a sample.
    folded: Svm,
}

impl CadlModel {
    fn new(classes: Vec<String>, analysis: Mat<f64>, atoms: Blocks, svm: Svm) -> Self {
        let folded = Svm { weights: mul(&analysis, &svm.weights), bias: svm.bias.clone() };
        CadlModel { header: Header::new(classes, analysis.nrows(), &["svm"]), analysis, atoms, svm, folded }
    }
}

/// What the dictionary step needs, prepared once.
enum Maps<'a> {
    /// Per class `B_c = X_c^T (X_c X_c^T + lambda1 Xbar_c Xbar_c^T + lambda3 I)^-1` and `B_c X`.
    Own(Vec<(Mat<f64>, Mat<f64>)>),
    /// For `Z_c X^T (X X^T + lambda1 Xbar_c Xbar_c^T + lambda3 I)^-1`.
    All(ClasswiseMap<'a>),
}

/// What the iterations work on; `analysis` is `Omega^T`, so that atoms are columns.
struct Iterate {
    analysis: Mat<f64>,
    /// `V = Omega X`.
    responses: Mat<f64>,
    codes: Mat<f64>,
    svm: Svm,
}

impl Fit for Cadl {
    type Model = CadlModel;
    const KEY: &'static str = "cadl";
    const TITLE: &'static str = "Class-aware analysis dictionary learning (CADL)";
    const PAPER: &'static str = "Wang, Guo, Guo, Luo, Kong: Class-aware analysis dictionary learning for pattern classification. IEEE Signal Processing Letters 2017";
    const PRESETS: &'static [Preset] = presets![Self:
        "default", "The defaults: the published AR demo" => {};
        "ar", "AR, as printed in the paper" => { lambda1: 4e-3, lambda2: 4e-4, lambda3: 4e-4 };
        "scene15", "Scene15, as printed in the paper" => { lambda1: 1e-4, lambda2: 1e-2, lambda3: 1e-4 };
        "caltech101", "Caltech101, as printed in the paper" => { lambda1: 5e-4, lambda2: 5e-4, lambda3: 5e-3 };
        "ucf50", "UCF50, as printed in the paper" => { lambda1: 1e-2, lambda2: 3e-5, lambda3: 1e-3 };
    ];
    const CLOSED_FORM: bool = true;
    const ITERATES: bool = true;

    fn learn(&self, train: &Dataset, from: Option<State>, watch: &mut dyn Observer) -> Result<CadlModel> {
        let span = Span::of(train)?;
        let seen = span.train();
        let per_class = self.atoms_per_class.unwrap_or(seen.n_features().div_ceil(train.n_classes()));
        let atoms = Blocks::from_sizes(vec![per_class; train.n_classes()]);
        let mut draws = ClassDraws::within(&span, self.seed);
        let finish = |now: &Iterate, watch: &mut dyn Observer| -> Result<CadlModel> {
            let (codes, svm) = match self.refit {
                true => (&now.responses, self.classifiers(seen, &now.responses, &now.svm)?),
                false => (&now.codes, now.svm.clone()),
            };
            let svm = svm::settle(codes, &seen.targets(), svm, 1.0 / self.theta, watch)?;
            let analysis = span.lift_columns(&now.analysis);
            Ok(CadlModel::new(train.classes().to_vec(), analysis, atoms.clone(), svm))
        };

        let iterations = Iterations::new(Self::KEY, &from, self.max_iter, self.tol)?;
        let maps = self.maps(seen, unless_resumed(&from, watch, &mut ()))?;
        let (mut now, mut redrawn) = match from {
            None => {
                let start: Vec<Mat<f64>> = (0..atoms.len()).map(|c| draws.atoms(c, per_class)).collect();
                (Iterate::new(seen, concat_columns(&start)), 0)
            }
            Some(from) => {
                draws.seek(&from.value::<Vec<u64>>("drawn")?)?;
                let redrawn: usize = from.value("redrawn")?;
                (Iterate::restore(from, seen, atoms.total())?, redrawn)
            }
        };
        for iter in iterations.left() {
            now.codes = self.codes(seen, &now);
            let before = now.analysis.clone();
            let drawn = self.update_dictionary(seen, &maps, &atoms, &mut now, &mut draws);
            redrawn = usize::saturating_add(redrawn, drawn);
            let change = relative_change(&now.analysis, &before);
            now.svm = self.classifiers(seen, &now.codes, &now.svm)?;
            let terms = self.terms(seen, &atoms, &now);
            let done = Done {
                terms: &terms,
                change: Some(change),
                model: &|| finish(&now, &mut ()),
                state: &|state| now.store(state.with_value("redrawn", redrawn).with_value("drawn", draws.positions())),
            };
            if iterations.report(iter, &done, watch)?.is_break() {
                break;
            }
        }
        if redrawn > 0 {
            watch.warn(&redrawn_warning(redrawn));
        }
        finish(&now, watch)
    }

    fn restore(&self, mut parts: Parts) -> Result<CadlModel> {
        let (analysis, atoms) = parts.take_class_atoms("analysis", None)?;
        let svm = parts.take_svm(Some(analysis.ncols()))?;
        Ok(CadlModel::new(parts.classes, analysis, atoms, svm))
    }
}

impl Iterate {
    /// `Z = Omega X`, and no classifiers yet.
    fn new(train: &Dataset, analysis: Mat<f64>) -> Self {
        let responses = mul(analysis.transpose(), train.x());
        let svm = Svm::zero(analysis.ncols(), train.n_classes());
        Iterate { codes: responses.clone(), responses, analysis, svm }
    }

    fn store(&self, state: State) -> State {
        let state = state.with("analysis", &self.analysis).with("responses", &self.responses);
        state.with("codes", &self.codes).with_svm(&self.svm)
    }

    fn restore(state: State, train: &Dataset, n_atoms: usize) -> Result<Self> {
        let mut parts = state.into_parts(train.classes());
        Ok(Iterate {
            analysis: parts.take_shaped("analysis", train.n_features(), n_atoms)?,
            responses: parts.take_shaped("responses", n_atoms, train.n_samples())?,
            codes: parts.take_shaped("codes", n_atoms, train.n_samples())?,
            svm: parts.take_svm(Some(n_atoms))?,
        })
    }
}

impl Cadl {
    /// `a`.
    fn strength(&self) -> f64 {
        2.0 * self.lambda2 * self.theta
    }

    fn active_set(&self) -> MarginSet {
        match self.updates {
            Updates::Published => MarginSet::OnePass,
            Updates::Exact => MarginSet::Converged,
        }
    }

    /// Prepares the dictionary step.
    fn maps<'a>(&self, train: &'a Dataset, watch: &mut dyn Observer) -> Result<Maps<'a>> {
        let other = match self.updates {
            Updates::Published => self.lambda1,
            Updates::Exact => 1.0 + self.lambda1,
        };
        let weights = ClassWeights { own: 1.0, other, ridge: self.lambda3 };
        let map = ClasswiseMap::new(train, weights, "CADL dictionary", watch)?;
        if self.updates == Updates::Exact {
            return Ok(Maps::All(map));
        }
        let of_class = |c: usize| {
            let own = map.own(c);
            let responses = mul(&own, train.x());
            (own, responses)
        };
        Ok(Maps::Own((0..train.n_classes()).map(of_class).collect()))
    }

    /// Step 1: `z = v + a U_phi w`, `(I + a U_phi^T U_phi) w = t_phi - b_phi - U_phi^T v`.
    fn codes(&self, train: &Dataset, state: &Iterate) -> Mat<f64> {
        let u = state.svm.weights.as_ref();
        let mut codes = state.responses.clone();
        let strength = self.strength();
        if strength == 0.0 {
            return codes;
        }
        let coupling = gram(u);
        let targets = train.targets();
        let margins = Margins { coupling: &coupling, bias: &state.svm.bias, strength, targets: &targets };
        let base = mul(u.transpose(), &state.responses);
        let previous = mul(u.transpose(), &state.codes);
        let weights = margins.weights(&base, &previous, self.active_set());
        mul_add(codes.as_mut(), strength, u, &weights);
        codes
    }

    /// Step 2: `Omega` and `Omega X`; returns how many atoms were drawn again.
    fn update_dictionary(
        &self,
        train: &Dataset,
        maps: &Maps<'_>,
        atoms: &Blocks,
        state: &mut Iterate,
        draws: &mut ClassDraws<'_>,
    ) -> usize {
        let own = match maps {
            Maps::Own(own) => own,
            Maps::All(map) => {
                let omega = map.of_all_samples(state.codes.as_ref(), atoms);
                state.responses = mul(&omega, train.x());
                state.analysis = omega.transpose().to_owned();
                return 0;
            }
        };
        let of_class = |c: usize| {
            let rows = atoms.range(c);
            let samples = train.blocks().range(c);
            let codes = state.codes.submatrix(rows.start, samples.start, rows.len(), samples.len());
            let (map, map_x) = &own[c];
            let mut part = mul(map.transpose(), codes.transpose());
            let norms = column_norms(&part);
            let zeros = normalize_columns(part.as_mut());
            let mut responses = mul(codes, map_x);
            for column in responses.as_mut().col_iter_mut() {
                column.iter_mut().zip(&norms).filter(|(_, norm)| **norm > 0.0).for_each(|(v, norm)| *v /= norm);
            }
            (part, responses, zeros)
        };
        let mut parts: Vec<_> = (0..atoms.len()).into_par_iter().map(of_class).collect();
        for (c, (part, responses, zeros)) in parts.iter_mut().enumerate().filter(|(_, (.., zeros))| *zeros > 0) {
            replace_dead(part, draws.atoms(c, *zeros));
            *responses = mul(part.transpose(), train.x());
        }
        for (c, (part, responses, _)) in parts.iter().enumerate() {
            let rows = atoms.range(c);
            state.analysis.subcols_mut(rows.start, rows.len()).copy_from(part);
            state.responses.subrows_mut(rows.start, rows.len()).copy_from(responses);
        }
        parts.iter().map(|(.., zeros)| zeros).sum()
    }

    /// Step 3: the SVM of these codes, from the previous one.
    fn classifiers(&self, train: &Dataset, codes: &Mat<f64>, previous: &Svm) -> Result<Svm> {
        svm::one_vs_rest(codes, &train.targets(), train.n_classes(), 1.0 / self.theta, Some(previous))
    }

    /// The terms of `J`.
    fn terms(&self, train: &Dataset, atoms: &Blocks, state: &Iterate) -> [(&'static str, f64); 4] {
        let fit = (&state.codes - &state.responses).squared_norm_l2();
        let silence = train.blocks().ranges().enumerate().map(|(c, samples)| {
            let columns = state.responses.subcols(samples.start, samples.len());
            let own = columns.subrows(atoms.range(c).start, atoms.size(c));
            columns.squared_norm_l2() - own.squared_norm_l2()
        });
        let (norms, losses) = state.svm.objective_terms(&state.svm.scores(&state.codes), &train.targets());
        let ridge = self.lambda3 * state.analysis.squared_norm_l2();
        self.named_terms(fit, self.lambda1 * silence.sum::<f64>(), ridge, norms, losses)
    }

    /// The terms, those of the SVM from its norms and losses.
    fn named_terms(&self, fit: f64, silence: f64, ridge: f64, norms: f64, losses: f64) -> [(&'static str, f64); 4] {
        let svm = 2.0 * self.lambda2 * (norms + self.theta * losses);
        [("fit", fit), ("other classes", silence), ("ridge", ridge), ("svm", svm)]
    }
}

/// Puts new atoms, scaled to length 1, where an update left zeros among atoms of length 1.
fn replace_dead(atoms: &mut Mat<f64>, mut fresh: Mat<f64>) {
    normalize_columns(fresh.as_mut());
    let dead: Vec<usize> = (0..atoms.ncols()).filter(|&j| atoms.col(j).norm_l2() < 0.5).collect();
    dead.iter().zip(fresh.col_iter()).for_each(|(&j, atom)| atoms.col_mut(j).copy_from(atom));
}

fn redrawn_warning(count: usize) -> String {
    format!("CADL: re-initialized dead atoms {count} times (no sample of their class responds to them)")
}

fn not_finite() -> Error {
    Error::numeric("CADL", "the objective is no longer finite; scale the samples to unit norm")
}

impl Classifier for CadlModel {
    fn header(&self) -> &Header {
        &self.header
    }

    fn store(&self, parts: &mut Parts) {
        parts.put("analysis", &self.analysis);
        parts.put_blocks("atom_counts", &self.atoms);
        parts.put_svm(&self.svm);
    }

    fn atoms(&self) -> Option<Atoms<'_>> {
        Some(Atoms { kind: AtomKind::Analysis, columns: &self.analysis, classes: Some(&self.atoms) })
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        vec![self.folded.scores(x)]
    }

    fn codes_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        Some(mul(self.analysis.transpose(), x))
    }

    fn export(&self, graph: &mut Graph, x: &Tensor) -> Result<Tensor> {
        Ok(graph.linear(x, &self.folded.weights, &self.folded.bias))
    }
}

#[cfg(test)]
mod tests;
