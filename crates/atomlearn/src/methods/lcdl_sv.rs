//! LCDL-SV: locality-constrained dictionary learning with a support-vector term.
//!
//! A dictionary `D`, codes `Z` and one-vs-rest linear classifiers `(U, b)` are learned together:
//!
//! ```text
//! J = |X - D Z|_F^2  +  lambda1 tr(Z^T L Z)  +  2 lambda2 sum_c ( |u_c|^2 + theta sum_i hinge(y_ci (u_c^T z_i + b_c))^2 )
//! ```
//!
//! `L` is the Laplacian of the graph that joins every atom to its nearest others, rebuilt from `D` in every iteration;
//! `hinge(t) = max(0, 1 - t)`. One iteration: graph, codes, dictionary, classifiers. A new sample is coded by ridge
//! regression, `z = (D^T D + eta1 I)^-1 D^T x`, and three rules read its class from the same model: `residual`
//! (`min_c r_c`, `r_c = |x - D_c z_c| / |z_c|`), `svm` (`max_c s_c`, `s_c = u_c^T z + b_c`) and `fused`
//! (`min_c r_c - eta2 s_c`).
//!
//! Reference: Yin, Wu, Chen: Locality constraint dictionary learning with support vector for pattern classification.
//! IEEE Access 7, 2019. Every deviation between the paper, its published code and this file is listed in
//! docs/methods/lcdl-sv.md. The most important: all arithmetic runs in the subspace that dictionary and codes really
//! fill ([`crate::update::subspace`]), because the published form divides by rounding noise and can collapse.

pub(crate) mod partitioned;
mod refit;

use crate::coding::margin::{ActiveSet, Margins};
use crate::export::{Graph, Value};
use crate::graph::{Affinity, AtomGraph};
use crate::linalg::{Spd, column_norms, gram, inner, mul, mul_add, norm1, outer_gram, qr, relative_change, upper_mul};
use crate::method::{best_class, sizes_row};
use crate::params::{AtomCount, Domain, params};
use crate::score::RidgeResiduals;
use crate::svm::{self, Svm};
use crate::update::splitting::{CodeSystem, Kernel};
use crate::update::subspace::{CodeBasis, Inverse, LeastSquares, MappedCodes, Samples, Subspace, least_squares};
use crate::{Blocks, Classifier, Dataset, Error, Fit, Observer, Parts, Result, Step, init, range};
use faer::{Mat, MatRef, Scale};
use serde::{Deserialize, Serialize};

/// Atoms per class where the user leaves it open and the class has that many samples.
const USUAL_ATOMS: usize = 10;
/// Above this condition number the code matrix gets [`SAFE_RIDGE`] added to its Laplacian.
const WORST_CONDITION: f64 = 1e10;
const SAFE_RIDGE: f64 = 1e-3;

/// Which of the three decision rules is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Smallest class residual.
    Residual,
    /// Largest SVM score.
    Svm,
    /// Both: residual minus `eta2` times SVM score.
    Fused,
}

/// How the SVM is solved in training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Solver {
    /// Exactly.
    Newton,
    /// Truncated, as in the published code.
    Lbfgs,
}

/// What is done to the lengths of atoms after the dictionary step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AtomNorm {
    /// Nothing, as in the published code.
    None,
    /// Every atom gets unit length, its code row the inverse.
    Unit,
    /// Only atoms longer than one are shortened.
    Ball,
}

params! {
    /// Parameters of LCDL-SV; the defaults are those of the authors' code.
    pub struct LcdlSv {
        /// Weight of the graph term: similar atoms get similar codes.
        lambda1: f64 = 1e-3, Domain::Positive, grid [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1];
        /// Weight of the support-vector term.
        lambda2: f64 = 1e-6, Domain::NonNegative, grid [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1];
        /// Weight of the loss inside the support-vector term; the SVM's own regularisation is its inverse.
        theta: f64 = 5.0, Domain::Positive;
        /// Ridge weight of test codes.
        eta1: f64 = 1e-2, Domain::Positive, grid [1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 1.0];
        /// Weight of the SVM score in the fused rule.
        eta2: f64 = 5.0, Domain::NonNegative,
            grid [0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 600.0, 1000.0];
        /// Nearest atoms that each atom is joined to.
        knn: usize = 1, Domain::AtLeast(1);
        /// Atoms per class; `auto` is 10, or the number of samples of a smaller class; `all` takes the training samples
        /// themselves, best with `max_iter = 0`.
        atoms_per_class: AtomCount = AtomCount::Auto, AtomCount::DOMAIN;
        /// Most iterations; 0 keeps the starting dictionary and fits the SVM on test codes.
        max_iter: usize = 20, Domain::AtLeast(0), grid [0, 5, 20];
        /// Training ends when the dictionary's relative change falls to this.
        tol: f64 = 1e-3, Domain::NonNegative;
        /// Decision rule.
        rule: Rule = Rule::Fused, Domain::OneOf(&["residual", "svm", "fused"]);
        /// Solver of the SVM step: exact, or truncated as in the published code.
        svm_solver: Solver = Solver::Newton, Domain::OneOf(&["newton", "lbfgs"]);
        /// Code step: one solve with the violated margins of the previous codes, or repeated until they agree.
        active_set: ActiveSet = ActiveSet::OnePass, Domain::OneOf(&["one-pass", "converged"]);
        /// Lengths of atoms after each dictionary step: left alone, all one, or at most one.
        atom_norm: AtomNorm = AtomNorm::None, Domain::OneOf(&["none", "unit", "ball"]);
        /// Weights of the atom graph: `exp(-d^2 / 2t^2)` (code) or `exp(-d / t)` (paper).
        affinity: Affinity = Affinity::Squared, Domain::OneOf(&["squared", "unsquared"]);
        /// Multiple of the identity added to the Laplacian; `auto` is 0, or 1e-3 with a warning where it is needed.
        laplacian_ridge: Option<f64> = None, Domain::Auto(&Domain::NonNegative);
        /// Fit the final SVM on the codes that test samples get, rather than on the last training codes. `auto` does so,
        /// with a warning, where the two disagree so much that the lagging SVM misjudges the training samples.
        refit_svm: Option<bool> = None, Domain::Auto(&Domain::Flag);
        /// Flip the signs of the starting directions at random, to study how much they matter; `auto` does not.
        sign_seed: Option<u64> = None, Domain::Auto(&Domain::AtLeast(0));
    }
}

/// A learned dictionary with its classifiers.
pub struct LcdlSvModel {
    classes: Vec<String>,
    dictionary: Mat<f64>,
    sizes: Mat<f64>,
    svm: Svm,
    bias: Mat<f64>,
    /// `U^T P`: SVM scores without bias, straight from samples.
    folded: Mat<f64>,
    coder: RidgeResiduals,
    eta2: f64,
    rule: Rule,
    trained: Option<Trained>,
}

/// The SVM as the iterations left it, its accuracy on the codes it was fitted to, and whether another took its place.
struct Trained {
    svm: Svm,
    accuracy: f64,
    refitted: bool,
}

impl Fit for LcdlSv {
    type Model = LcdlSvModel;
    const KEY: &'static str = "lcdl-sv";
    const DECISION: &'static [&'static str] = &["eta1", "eta2", "rule"];
    const READOUT: &'static [&'static str] = &["eta2", "rule"];
    const ITERATION: &'static [&'static str] = &["lambda1", "lambda2"];

    fn learn(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<LcdlSvModel> {
        let (mut d, blocks) = match self.atoms_per_class {
            AtomCount::Each(wanted) => init::class_pca_mean(train, wanted, watch)?,
            AtomCount::All => (train.x().to_owned(), train.blocks().clone()),
            AtomCount::Auto => {
                let wanted: Vec<usize> = train.blocks().sizes().map(|samples| samples.min(USUAL_ATOMS)).collect();
                init::class_pca_mean_of(train, &wanted, watch)?
            }
        };
        if let Some(seed) = self.sign_seed {
            init::flip_signs(&mut d, seed);
        }
        self.learn_from(train, d, &blocks, watch)
    }

    fn restore(&self, mut parts: Parts) -> Result<LcdlSvModel> {
        let dictionary = parts.take("dictionary")?;
        let blocks = parts.take_blocks("atom_counts", dictionary.ncols())?;
        let svm = parts.take_svm(Some(dictionary.ncols()))?;
        self.model(parts.classes, dictionary, &blocks, svm)
    }

    /// `eta1` is part of the codes that a lagging SVM is refitted to; a refit for another `eta1` is a good start.
    fn redecide(&self, model: &LcdlSvModel, train: &Dataset) -> Result<LcdlSvModel> {
        let svm = model.trained.as_ref().map_or(&model.svm, |trained| &trained.svm).clone();
        let blocks = model.coder.blocks();
        let decided = self.model(model.classes.clone(), model.dictionary.clone(), blocks, svm)?;
        match &model.trained {
            Some(trained) => {
                let near = trained.refitted.then_some(model);
                self.refit(decided, train, trained.accuracy, near, &mut ())
            }
            None => Ok(decided),
        }
    }

    fn readout(&self, terms: &[Mat<f64>]) -> Mat<f64> {
        match self.rule {
            Rule::Residual => terms[0].clone(),
            Rule::Svm => terms[1].clone(),
            Rule::Fused => fuse(&terms[0], &terms[1], self.eta2),
        }
    }
}

impl LcdlSv {
    /// Trains from a given starting dictionary, atoms grouped by class.
    pub fn learn_from(
        &self,
        train: &Dataset,
        start: Mat<f64>,
        blocks: &Blocks,
        watch: &mut dyn Observer,
    ) -> Result<LcdlSvModel> {
        if start.ncols() == 0 {
            return Err(Error::Data(
                "every training sample is zero: there is nothing to learn a dictionary from".into(),
            ));
        }
        // With more features than samples, everything happens in the range of the samples.
        let reduced = range::reduce(train)?;
        let basis = reduced.as_ref().map(|reduced| reduced.basis.as_ref());
        let x = reduced.as_ref().map_or(train.x(), |reduced| reduced.train.x());
        let (targets, n_classes) = (train.targets(), train.n_classes());
        let mut d = basis.map_or(start.clone(), |q| mul(q.transpose(), start.as_ref()));
        let mut space = Subspace::new(d.as_ref(), x)?;
        let samples = Samples::new(x);
        let mut svm = Svm::zero(d.ncols(), n_classes);
        let mut scores = Mat::zeros(n_classes, x.ncols());
        let mut ridge = self.laplacian_ridge;
        let mut memory = svm::Memory::default();
        // Rescaled atoms have another kernel.
        let mut kernel = if self.atom_norm == AtomNorm::None { Kernel::of(&space) } else { None };

        let finish = |d: &Mat<f64>, svm: &Svm, fitted: &Mat<f64>, watch: &mut dyn Observer| {
            let d = basis.map_or(d.clone(), |q| mul(q, d.as_ref()));
            let model = self.model(train.classes().to_vec(), d, blocks, svm.clone())?;
            self.refit(model, train, accuracy(svm.with_bias(fitted.clone()).as_ref(), &targets), None, watch)
        };
        let first =
            Step { model: Some(&|| Ok(Box::new(finish(&d, &svm, &scores, &mut ())?))), ..Step::start(self.max_iter) };
        if watch.step(&first).is_break() || self.max_iter == 0 {
            return finish(&d, &svm, &scores, watch);
        }
        for iter in 1..=self.max_iter {
            let atom_gram = gram(d.as_ref());
            let graph = AtomGraph::from_gram(atom_gram.as_ref(), self.knn, self.affinity);
            let system = CodeSystem { atom_gram, graph: &graph, weight: self.lambda1, ridge: ridge.unwrap_or(0.0) };
            let (basis, rest) = self.code_basis(&d, &space, kernel, system, &mut ridge, watch)?;
            let pull = self.pull(&space, &basis, &svm)?;
            let CodeBasis { q, map, laplacian, .. } = basis;
            let (codes, before) = self.codes(map, pull, &samples, &svm.bias, &scores, &targets);

            let step = least_squares(&samples, q, codes, "LCDL-SV dictionary step", watch)?;
            let codes = self.constrain(step);
            kernel = rest.filter(|rest| rest.completes(&codes.dictionary));
            let dictionary = || match &kernel {
                Some(kernel) => kernel.dictionary(&codes.dictionary),
                None => codes.dictionary.dictionary(),
            };
            let (next, classifiers) =
                rayon::join(dictionary, || self.classifiers(&codes, &targets, &svm, before, &mut memory));
            let change = relative_change(next.as_ref(), d.as_ref());
            (svm, scores) = classifiers?;
            (d, space) = (next, codes.dictionary);

            let terms = [
                ("reconstruction", codes.residual),
                ("graph", self.graph_term(&graph, laplacian.as_ref(), &codes.q, &codes.gram, ridge.unwrap_or(0.0))),
                ("support vector", self.support_vector_term(&svm, &scores, &targets)),
            ];
            let report = Step {
                iter,
                max_iter: self.max_iter,
                objective: Some(terms.iter().map(|(_, value)| value).sum()),
                terms: &terms,
                change: Some(change),
                model: Some(&|| Ok(Box::new(finish(&d, &svm, &scores, &mut ())?))),
            };
            if watch.step(&report).is_break() || change <= self.tol {
                break;
            }
        }
        finish(&d, &svm, &scores, watch)
    }

    /// Where the codes live, by way of the dictionary's kernel if that is small; then also the kernel of the next one.
    fn code_basis(
        &self,
        d: &Mat<f64>,
        space: &Subspace,
        kernel: Option<Kernel>,
        system: CodeSystem<'_>,
        ridge: &mut Option<f64>,
        watch: &mut dyn Observer,
    ) -> Result<(CodeBasis, Option<Kernel>)> {
        let worst = if ridge.is_none() { WORST_CONDITION } else { f64::INFINITY };
        if let Some((basis, rest)) = kernel.and_then(|kernel| kernel.code_basis(d.as_ref(), &system, worst)) {
            return Ok((basis, Some(rest)));
        }
        let a = self.code_matrix(system.atom_gram, system.graph, ridge, watch)?;
        Ok((space.code_basis(&a), None))
    }

    /// `A = D^T D + lambda1 (L + ridge I)`, factored. Singular as soon as the graph has more components than the
    /// dictionary has dimensions; then, unless the user fixed it, the ridge is switched on for good.
    fn code_matrix(
        &self,
        gram: Mat<f64>,
        graph: &AtomGraph,
        ridge: &mut Option<f64>,
        watch: &mut dyn Observer,
    ) -> Result<Spd> {
        let stage = "LCDL-SV code step";
        let mut a = gram;
        graph.add_laplacian(self.lambda1, &mut a);
        if ridge.is_none() {
            match Spd::new(a.clone(), stage) {
                Ok(factor) if factor.condition(norm1(a.as_ref())) < WORST_CONDITION => return Ok(factor),
                _ => watch.warn(&format!(
                    "{stage}: the atom graph has {} components and cannot regularise {} atoms; \
                     laplacian_ridge = {SAFE_RIDGE} is used from here on (set it to silence this)",
                    graph.components(),
                    a.nrows(),
                )),
            }
        }
        let by = *ridge.get_or_insert(SAFE_RIDGE);
        (0..a.nrows()).for_each(|i| a[(i, i)] += self.lambda1 * by);
        Spd::with_jitter(a, stage, watch)
    }

    /// The codes in their basis, `Y = Y0 + a G W`, see [`crate::coding::margin`]; `scores` are `U^T z` of the previous
    /// codes. With a pull also the classifiers in that basis and their scores of the new codes.
    fn codes(
        &self,
        map: Mat<f64>,
        pull: Option<Pull>,
        samples: &Samples<'_>,
        bias: &[f64],
        scores: &Mat<f64>,
        targets: &[usize],
    ) -> (MappedCodes, Option<Before>) {
        let mut codes = MappedCodes::new(map, samples);
        let Some(Pull { u, g, coupling }) = pull else {
            return (codes, None);
        };
        let strength = self.strength();
        let margins = Margins { coupling: coupling.as_ref(), bias, strength, targets };
        let mut moved = mul(u.transpose(), codes.y.as_ref());
        let w = margins.weights(moved.as_ref(), scores.as_ref(), self.active_set);
        mul_add(moved.as_mut(), strength, coupling.as_ref(), w.as_ref());
        codes.pull(Scale(strength) * g, w);
        (codes, Some(Before { weights: u, scores: moved }))
    }

    /// `a`, the strength of the pull.
    fn strength(&self) -> f64 {
        2.0 * self.lambda2 * self.theta
    }

    /// The classifiers as the code step sees them; `None` where they do not pull.
    fn pull(&self, space: &Subspace, basis: &CodeBasis, svm: &Svm) -> Result<Option<Pull>> {
        let q = &basis.q;
        if self.strength() == 0.0 || svm.weights.norm_max() == 0.0 {
            return Ok(None);
        }
        let u = mul(q.transpose(), svm.weights.as_ref());
        let g = match &basis.inverse {
            Inverse::Factor(h) => h.solve(u.as_ref()),
            Inverse::Product(r) if self.atom_norm == AtomNorm::None => {
                upper_mul(r.as_ref(), mul(space.q.transpose(), svm.weights.as_ref()).as_ref())
            }
            // Rescaled atoms take U out of the span of Q. The codes stay in theirs: with B = Q^T A^-1 Q, the inverse of
            // A restricted to it is R B^-1 R^T, the same as above whenever U = Q V.
            Inverse::Product(r) => {
                let b = mul(mul(space.q.transpose(), q.as_ref()).as_ref(), r.as_ref());
                let b = Spd::new(b, "LCDL-SV code step with constrained atoms")?;
                upper_mul(r.as_ref(), b.solve(mul(r.transpose(), u.as_ref()).as_ref()).as_ref())
            }
        };
        let coupling = mul(u.transpose(), g.as_ref());
        Ok(Some(Pull { u, g, coupling }))
    }

    /// Rescales atoms by `atom_norm`, and code rows by the inverse, so that `D Z` stays.
    fn constrain(&self, step: LeastSquares) -> Codes {
        let LeastSquares { dictionary, codes: y, code_gram: gram, residual, cut } = step;
        match self.rescale(&dictionary) {
            None => Codes { q: dictionary.q.clone(), y, gram, residual, dictionary, as_coded: !cut },
            Some(Rescaled { code_q, code_r, dictionary }) => {
                let y = mul(code_r.as_ref(), y.as_ref());
                Codes { q: code_q, gram: outer_gram(y.as_ref()), y, residual, dictionary, as_coded: false }
            }
        }
    }

    fn rescale(&self, dictionary: &Subspace) -> Option<Rescaled> {
        if self.atom_norm == AtomNorm::None {
            return None;
        }
        let lengths = column_norms(dictionary.dictionary().as_ref());
        let scales: Vec<f64> = lengths
            .iter()
            .map(|&length| match self.atom_norm {
                AtomNorm::Ball => length.max(1.0),
                _ if length > 0.0 => length,
                _ => 1.0,
            })
            .collect();
        let scaled = |power: i32| {
            let q = &dictionary.q;
            qr(Mat::from_fn(q.nrows(), q.ncols(), |k, j| q[(k, j)] * scales[k].powi(power)).as_ref())
        };
        let (code_q, code_r) = scaled(1);
        let (q, r) = scaled(-1);
        Some(Rescaled { code_q, code_r, dictionary: Subspace { e_t: mul(r.as_ref(), dictionary.e_t.as_ref()), q } })
    }

    /// The SVM on the codes `Z = q y`, and its `U^T z`. Warm starts stay in the span of the codes by construction.
    fn classifiers(
        &self,
        codes: &Codes,
        targets: &[usize],
        last: &Svm,
        before: Option<Before>,
        memory: &mut svm::Memory,
    ) -> Result<(Svm, Mat<f64>)> {
        let (q, y, n_classes, tau) = (&codes.q, &codes.y, last.bias.len(), 1.0 / self.theta);
        if self.svm_solver == Solver::Lbfgs {
            // Its stopping rule looks at single coordinates, so fidelity needs the original ones.
            let svm = svm::lbfgs::one_vs_rest(mul(q.as_ref(), y.as_ref()).as_ref(), targets, n_classes, tau);
            let in_span = mul(q.transpose(), svm.weights.as_ref());
            let svm = Svm { weights: mul(q.as_ref(), in_span.as_ref()), bias: svm.bias };
            return Ok((svm, mul(in_span.transpose(), y.as_ref())));
        }
        let Before { weights, scores } = before.filter(|_| codes.as_coded).unwrap_or_else(|| {
            let weights = mul(q.transpose(), last.weights.as_ref());
            Before { scores: mul(weights.transpose(), y.as_ref()), weights }
        });
        let start = Svm { weights, bias: last.bias.clone() };
        let start = svm::Start { outputs: start.with_bias(scores), svm: &start };
        let svm::Trained { svm, outputs } =
            svm::one_vs_rest_in(memory, y.as_ref(), targets, n_classes, tau, Some(start))?;
        let scores = Mat::from_fn(n_classes, y.ncols(), |c, i| outputs[(c, i)] - svm.bias[c]);
        Ok((Svm { weights: mul(q.as_ref(), svm.weights.as_ref()), bias: svm.bias }, scores))
    }

    /// `lambda1 tr(Z^T (L + ridge I) Z)` from `Z Z^T = q code_gram q^T`; `laplacian` is `q^T L q`, where it is at hand.
    fn graph_term(
        &self,
        graph: &AtomGraph,
        laplacian: Option<&Mat<f64>>,
        q: &Mat<f64>,
        code_gram: &Mat<f64>,
        ridge: f64,
    ) -> f64 {
        let smooth = match laplacian {
            Some(laplacian) => inner(laplacian.as_ref(), code_gram.as_ref()).max(0.0),
            None => graph.energy(q.as_ref(), code_gram.as_ref()),
        };
        // q is orthonormal, so the energy of all codes is the trace.
        let energy: f64 = (0..code_gram.nrows()).map(|k| code_gram[(k, k)]).sum();
        self.lambda1 * (smooth + ridge * energy)
    }

    /// `2 lambda2 sum_c (|u_c|^2 + theta sum_i hinge^2)`; `scores` are without bias.
    fn support_vector_term(&self, svm: &Svm, scores: &Mat<f64>, targets: &[usize]) -> f64 {
        let (norms, losses) = svm.objective_terms(svm.with_bias(scores.clone()).as_ref(), targets);
        2.0 * self.lambda2 * (norms + self.theta * losses)
    }

    fn model(&self, classes: Vec<String>, dictionary: Mat<f64>, blocks: &Blocks, svm: Svm) -> Result<LcdlSvModel> {
        let coder = RidgeResiduals::new(dictionary.as_ref(), blocks, self.eta1, "LCDL-SV test coder")?;
        let (sizes, bias) = (sizes_row(blocks), svm.bias_row());
        let folded = mul(svm.weights.transpose(), coder.map());
        Ok(LcdlSvModel {
            classes,
            sizes,
            bias,
            folded,
            svm,
            coder,
            eta2: self.eta2,
            rule: self.rule,
            dictionary,
            trained: None,
        })
    }
}

/// Scores of the fused rule: residual score plus `eta2` times SVM score.
fn fuse(residual: &Mat<f64>, svm: &Mat<f64>, eta2: f64) -> Mat<f64> {
    residual + Scale(eta2) * svm
}

/// Share of samples whose largest score is that of their class.
fn accuracy(scores: MatRef<'_, f64>, targets: &[usize]) -> f64 {
    let right = best_class(scores).iter().zip(targets).filter(|(found, target)| found == target).count();
    right as f64 / targets.len() as f64
}

/// Codes `Z = q y` after the dictionary step, with the dictionary that made them.
struct Codes {
    q: Mat<f64>,
    y: Mat<f64>,
    gram: Mat<f64>,
    residual: f64,
    dictionary: Subspace,
    /// Neither coordinates nor values have changed since the code step.
    as_coded: bool,
}

/// The last classifiers in the coordinates of new codes, and their `U^T z`.
struct Before {
    weights: Mat<f64>,
    scores: Mat<f64>,
}

/// The classifiers in the coordinates of the codes: `U`, `G = A^-1 U` and `M = U^T G`.
struct Pull {
    u: Mat<f64>,
    g: Mat<f64>,
    coupling: Mat<f64>,
}

/// A dictionary of rescaled atoms; codes `q y` become `code_q (code_r y)`.
struct Rescaled {
    code_q: Mat<f64>,
    code_r: Mat<f64>,
    dictionary: Subspace,
}

impl LcdlSvModel {
    fn residual_scores(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        -self.coder.of(x).regularized()
    }

    fn svm_scores(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        self.svm.with_bias(mul(self.folded.as_ref(), x))
    }
}

impl Classifier for LcdlSvModel {
    fn n_features(&self) -> usize {
        self.dictionary.nrows()
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn parts(&self) -> Vec<(&'static str, MatRef<'_, f64>)> {
        vec![
            ("dictionary", self.dictionary.as_ref()),
            ("atom_counts", self.sizes.as_ref()),
            ("svm_weights", self.svm.weights.as_ref()),
            ("svm_bias", self.bias.as_ref()),
        ]
    }

    fn rules(&self) -> &'static [&'static str] {
        &["residual", "svm", "fused"]
    }

    fn rule(&self) -> &'static str {
        self.rules()[self.rule as usize]
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        let mut scores = self.score_terms_block(x);
        scores.push(fuse(&scores[0], &scores[1], self.eta2));
        scores
    }

    fn score_block(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        match self.rule {
            Rule::Residual => self.residual_scores(x),
            Rule::Svm => self.svm_scores(x),
            Rule::Fused => fuse(&self.residual_scores(x), &self.svm_scores(x), self.eta2),
        }
    }

    fn score_terms_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        vec![self.residual_scores(x), self.svm_scores(x)]
    }

    fn codes_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        Some(mul(self.coder.map(), x))
    }

    fn export(&self, graph: &mut Graph, x: &Value) -> Result<Value> {
        let residuals = self.coder.export(graph, x);
        let svm = graph.linear(&residuals.codes, self.svm.weights.as_ref(), &self.svm.bias);
        if self.rule == Rule::Svm {
            return Ok(svm);
        }
        let residual = residuals.regularized(graph);
        let residual = graph.negative(&residual);
        if self.rule == Rule::Residual {
            return Ok(residual);
        }
        let weight = graph.scalar(self.eta2);
        let svm = graph.op("Mul", &[&svm, &weight]);
        Ok(graph.op("Add", &[&residual, &svm]))
    }
}

#[cfg(test)]
mod tests;
