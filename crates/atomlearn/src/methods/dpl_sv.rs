//! DPL-SV: projective dictionary pair learning with support vectors.
//!
//! ```text
//! J = sum_c |X_c - D_c Z_c|_F^2 + tau |Omega_c X_c - Z_c|_F^2 + lambda |Omega_c Xbar_c|_F^2 + gamma |Omega_c|_F^2
//!     + 2 lambda2 sum_c ( |u_c|^2 + theta sum_i max(0, 1 - y_ci (u_c^T Omega x_i + b_c))^2 )        s.t. |d_j| <= 1
//! ```
//!
//! The first line is DPL ([`super::dpl`]), the second SVGDL's term on the projections `Omega x_i` of all classes, which are the
//! codes of training and new samples alike. It is derived here and not published: docs/methods/dpl-sv.md has the derivation.
//! From DPL's start and `U = 0`, each iteration lowers `J` in one block after the other:
//!
//! 1. `Omega`: a squared hinge is at most `(s - p)^2`, with equality at the score of now, if `p` is that score where it keeps
//!    its margin and `y` where it does not. Under this bound class after class has an exact minimiser (`projections.rs`);
//! 2. `D_c` and 3. `Z_c` as DPL;
//! 4. SVMs on `Omega X` with ridge `1 / theta` ([`crate::svm`]), warm-started.
//!
//! With `lambda2 = 0` this is DPL to the bit, and SVMs are trained at the end alone. A sample is decided by its SVM scores
//! `u_c^T Omega x + b_c` (`rule = svm`), one linear map, or by DPL's residuals `|x - D_c Omega_c x|` (`rule = residual`).

mod projections;

use crate::classifier::{Atoms, Header};
use crate::draw::ClassDraws;
use crate::export::{Graph, Tensor};
use crate::iterations::{Done, Iterations, objective, relative_decrease};
use crate::linalg::{concat_columns, mul};
use crate::methods::dpl::{self, Dpl, DplModel, Pair};
use crate::observe::unless_resumed;
use crate::params::{Domain, params, words};
use crate::span::Span;
use crate::svm::{self, Svm};
use crate::{Blocks, Classifier, Dataset, Error, Fit, Observer, Parts, Result, State};
use faer::{Mat, MatRef};
use projections::Projections;
use rayon::prelude::*;

words! {
    /// How a sample is decided.
    pub enum Rule {
        /// By the class whose pair reproduces it best.
        Residual = "residual",
        /// By the SVMs on its projections.
        Svm = "svm",
    }
}

params! {
    /// Parameters of DPL-SV.
    pub struct DplSv {
        /// Weight of the fit of the projections to the codes.
        tau: f64 = 0.05, Domain::Positive, grid [5e-2, 0.2];
        /// Weight of the projections of other classes.
        lambda: f64 = 3e-3, Domain::NonNegative, grid [1e-3, 3e-3, 1e-2];
        /// Ridge on the analysis dictionary.
        gamma: f64 = 1e-4, Domain::Positive;
        /// Weight of the SVM term; with 0 the dictionaries are those of DPL.
        lambda2: f64 = 1e-3, Domain::NonNegative, grid [0.0, 1e-4, 1e-3, 1e-2];
        /// Weight of the loss against the squared norm inside the SVM term.
        theta: f64 = 5.0, Domain::Positive, grid [5.0, 50.0];
        /// Atoms per class; `auto` is as many as it has samples.
        atoms_per_class: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// Maximum number of iterations.
        max_iter: usize = 20, Domain::AtLeast(1), grid [5, 20];
        /// Training ends when an iteration lowers the objective by less than this, relatively; 0 never ends it early.
        tol: f64 = 1e-4, Domain::NonNegative;
        /// Decision: by the residuals of the pairs, or by the SVMs.
        rule: Rule = Rule::Residual, Domain::OneOf(Rule::WORDS), grid ["residual", "svm"];
        /// Seed of the random start.
        seed: u64 = 0, Domain::AtLeast(0);
    }
}

/// The learned pairs of dictionaries and the SVMs on their projections.
pub struct DplSvModel {
    header: Header,
    pairs: DplModel,
    svm: Svm,
    /// `Omega^T U` with its bias: scores of samples without their projections.
    folded: Svm,
    rule: Rule,
}

/// What is learned.
struct Iterate {
    pairs: Vec<Pair>,
    /// `Omega_c`.
    omega: Vec<Mat<f64>>,
    svm: Svm,
    held: f64,
}

impl Fit for DplSv {
    type Model = DplSvModel;
    const KEY: &'static str = "dpl-sv";
    const TITLE: &'static str = "Projective dictionary pair learning with support vectors (DPL-SV)";
    const PAPER: &'static str = "this project: the objective of DPL (Gu, Zhang, Zuo, Feng. NIPS 2014) with the support vector term of SVGDL (Cai, Zuo, Zhang, Feng, Wang. ECCV 2014)";
    const DECISION: &'static [&'static str] = &["rule"];
    const READOUT: &'static [&'static str] = &["rule"];
    const CLOSED_FORM: bool = true;
    const ITERATES: bool = true;

    fn learn(&self, full: &Dataset, from: Option<State>, watch: &mut dyn Observer) -> Result<DplSvModel> {
        let span = Span::of(full)?;
        let train = span.train();
        let dpl = self.dpl();
        let atoms = Blocks::from_sizes(train.blocks().sizes().map(|n| self.atoms_per_class.unwrap_or(n)));
        let targets = train.targets();
        let tau = 1.0 / self.theta;

        let iterations = Iterations::new(Self::KEY, &from, self.max_iter, self.tol)?;
        let maps = dpl.maps(train, unless_resumed(&from, watch, &mut ()))?;
        let projections = Projections::new(self, train, &atoms)?;
        let Iterate { mut pairs, mut omega, mut svm, mut held } = match from {
            None => {
                let mut draws = ClassDraws::within(&span, self.seed);
                let pairs = dpl.start(train, &maps, &atoms, &mut draws)?;
                let svm = Svm::zero(atoms.total(), train.n_classes());
                Iterate { pairs, omega: Vec::new(), svm, held: f64::INFINITY }
            }
            Some(state) => {
                let held = state.value("held")?;
                let mut parts = state.into_parts(train.classes());
                let pairs = dpl.restore_pairs(train, &maps, &atoms, &mut parts)?;
                let shaped = |c: usize| parts.take_shaped(&format!("omega.{c}"), atoms.size(c), train.n_features());
                let omega = (0..atoms.len()).map(shaped).collect::<Result<_>>()?;
                let svm = parts.take_svm(Some(atoms.total()))?;
                Iterate { pairs, omega, svm, held }
            }
        };
        for iter in iterations.left() {
            // Without a pull DPL's own products are taken, to the bit.
            let pulled = self.strength() > 0.0 && svm.weights.norm_max() > 0.0;
            pairs.iter_mut().for_each(|pair| pair.projecting = pair.codes.clone());
            if pulled {
                let codes: Vec<MatRef<'_, f64>> = pairs.iter().map(|pair| pair.codes.as_ref()).collect();
                projections.descend(&codes, &svm, &mut omega)?;
            } else {
                omega = pairs.par_iter().map(|pair| pair.analysis().transpose().to_owned()).collect();
            }
            pairs.par_iter_mut().zip(&omega).enumerate().try_for_each(|(c, (pair, omega))| {
                let x = train.class(c);
                pair.update_dictionary(x)?;
                let projected = if pulled { mul(omega, x) } else { pair.projections() };
                pair.codes = dpl.code_step(&pair.dictionary, x, projected)?;
                Ok::<(), Error>(())
            })?;
            let mut svm_terms = (0.0, 0.0);
            if self.strength() > 0.0 {
                let z = projected(&omega, train);
                svm = svm::one_vs_rest(&z, &targets, train.n_classes(), tau, Some(&svm))?;
                svm_terms = svm.objective_terms(&svm.scores(&z), &targets);
            }

            let of_pairs = if pulled { self.terms(train, &pairs, &omega) } else { dpl.terms(train, &pairs) };
            let norms = ("svm_norm", 2.0 * self.lambda2 * svm_terms.0);
            let losses = ("svm_loss", self.strength() * svm_terms.1);
            let terms: Vec<(&'static str, f64)> = of_pairs.into_iter().chain([norms, losses]).collect();
            let objective = objective(&terms);
            let change = relative_decrease(held, objective);
            let done = Done {
                terms: &terms,
                change: Some(change),
                model: &|| self.finish(&span, (&pairs, &omega, &svm), &mut ()),
                state: &|state| {
                    let state = dpl::store(&pairs, state.with_value("held", objective));
                    let rows = omega.iter().enumerate();
                    rows.fold(state, |state, (c, omega)| state.with(format!("omega.{c}"), omega)).with_svm(&svm)
                },
            };
            if iterations.report(iter, &done, watch)?.is_break() {
                break;
            }
            held = objective;
        }
        self.finish(&span, (&pairs, &omega, &svm), watch)
    }

    fn restore(&self, mut parts: Parts) -> Result<DplSvModel> {
        let pairs = DplModel::take(&mut parts)?;
        let svm = parts.take_svm(Some(pairs.n_atoms()))?;
        Ok(self.model(pairs, svm))
    }

    fn readout(&self, terms: &[Mat<f64>]) -> Mat<f64> {
        terms[self.rule as usize].clone()
    }
}

impl DplSv {
    /// The same without the SVM term.
    fn dpl(&self) -> Dpl {
        Dpl {
            tau: self.tau,
            lambda: self.lambda,
            gamma: self.gamma,
            atoms_per_class: self.atoms_per_class,
            max_iter: self.max_iter,
            tol: self.tol,
            seed: self.seed,
        }
    }

    /// `2 lambda2 theta`, the weight of the losses.
    fn strength(&self) -> f64 {
        2.0 * self.lambda2 * self.theta
    }

    /// DPL's terms of `J`, from the projections themselves.
    fn terms(&self, train: &Dataset, pairs: &[Pair], omega: &[Mat<f64>]) -> [(&'static str, f64); 4] {
        let of_class = |(c, (pair, omega)): (usize, (&Pair, &Mat<f64>))| {
            let rest = train.class(c) - mul(&pair.dictionary, &pair.codes);
            let all = mul(omega, train.x());
            let range = train.blocks().range(c);
            let own = all.subcols(range.start, range.len());
            [
                rest.squared_norm_l2(),
                self.tau * (own - &pair.codes).squared_norm_l2(),
                self.lambda * (all.squared_norm_l2() - own.squared_norm_l2()).max(0.0),
                self.gamma * omega.squared_norm_l2(),
            ]
        };
        dpl::sum_terms(&pairs.par_iter().zip(omega).enumerate().map(of_class).collect::<Vec<_>>())
    }

    /// The model in all features, with SVMs at their optimum for its projections.
    fn finish(
        &self,
        span: &Span<'_>,
        (pairs, omega, svm): (&[Pair], &[Mat<f64>], &Svm),
        watch: &mut dyn Observer,
    ) -> Result<DplSvModel> {
        let (full, train) = (span.full(), span.train());
        let z = projected(omega, train);
        let targets = train.targets();
        let tau = 1.0 / self.theta;
        let svm = if self.strength() > 0.0 {
            svm::settle(&z, &targets, svm.clone(), tau, watch)?
        } else {
            svm::fit(&z, &targets, train.n_classes(), tau, None, watch)?
        };
        let dictionary = concat_columns(&pairs.iter().map(|pair| pair.dictionary.clone()).collect::<Vec<_>>());
        let analysis = concat_columns(&omega.iter().map(|omega| omega.transpose().to_owned()).collect::<Vec<_>>());
        let atoms = Blocks::from_sizes(omega.iter().map(Mat::nrows));
        let lifted = [dictionary, analysis].map(|columns| span.lift_columns(&columns));
        Ok(self.model(DplModel::new(full.classes().to_vec(), lifted, &atoms), svm))
    }

    fn model(&self, pairs: DplModel, svm: Svm) -> DplSvModel {
        let folded = Svm { weights: mul(pairs.analysis(), &svm.weights), bias: svm.bias.clone() };
        let header = Header::new(pairs.classes().to_vec(), pairs.n_features(), Rule::WORDS);
        DplSvModel { header: header.deciding_by(self.rule as usize), pairs, svm, folded, rule: self.rule }
    }
}

/// `Omega X`, all classes.
fn projected(omega: &[Mat<f64>], train: &Dataset) -> Mat<f64> {
    let mut all = Mat::zeros(omega.iter().map(Mat::nrows).sum(), train.n_samples());
    let mut start = 0;
    for part in omega {
        all.subrows_mut(start, part.nrows()).copy_from(mul(part, train.x()));
        start += part.nrows();
    }
    all
}

impl Classifier for DplSvModel {
    fn header(&self) -> &Header {
        &self.header
    }

    fn store(&self, parts: &mut Parts) {
        self.pairs.store(parts);
        parts.put_svm(&self.svm);
    }

    fn atoms(&self) -> Option<Atoms<'_>> {
        self.pairs.atoms()
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        vec![self.pairs.score_block(x), self.folded.scores(x)]
    }

    fn score_block(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        match self.rule {
            Rule::Residual => self.pairs.score_block(x),
            Rule::Svm => self.folded.scores(x),
        }
    }

    fn score_terms_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        self.score_rules_block(x)
    }

    fn codes_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        self.pairs.codes_block(x)
    }

    fn export(&self, graph: &mut Graph, x: &Tensor) -> Result<Tensor> {
        match self.rule {
            Rule::Svm => Ok(graph.linear(x, &self.folded.weights, &self.folded.bias)),
            Rule::Residual => self.pairs.export(graph, x),
        }
    }
}

#[cfg(test)]
mod tests;
