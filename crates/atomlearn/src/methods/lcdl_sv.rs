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
//! fill ([`subspace`]), because the published form divides by rounding noise and can collapse. What acts after training, and
//! the number of iterations, is chosen on the training samples unless it is given ([`choice`]).
//!
//! Where to find what: the loop is [`LcdlSv::train`]; its steps with their equations [`steps`]; what they pass on [`iterate`];
//! graph and coordinates of the codes [`code_space`] and [`subspace`]; start, resuming and reports [`training_run`]; the
//! final SVM [`refit`].

mod choice;
mod code_space;
mod iterate;
pub(crate) mod partitioned;
mod refit;
mod steps;
mod subspace;
mod training_run;

use crate::classifier::{AtomKind, Atoms, Header, best_class};
use crate::coding::margin::MarginSet;
use crate::export::{Graph, Tensor};
use crate::graph::Affinity;
use crate::linalg::mul;
use crate::params::{AtomCount, Domain, Preset, params, presets, words};
use crate::score::RidgeResiduals;
use crate::span::Span;
use crate::svm::Svm;
use crate::{Blocks, Classifier, Dataset, Error, Fit, Observer, Parts, Result, State, init};
use faer::{Mat, MatRef, Scale};
use training_run::{Begin, TrainingRun, join};

/// The parameters that are chosen on the training samples where they are left open.
const CHOSEN: [&str; 4] = ["eta1", "eta2", "rule", "max_iter"];

words! {
    /// Which of the three decision rules is used.
    pub enum Rule {
        /// Smallest class residual.
        Residual = "residual",
        /// Largest SVM score.
        Svm = "svm",
        /// Both: residual minus `eta2` times SVM score.
        Fused = "fused",
    }
}

words! {
    /// How the SVM is solved in training.
    pub enum Solver {
        /// Exactly.
        Newton = "newton",
        /// Truncated, as in the published code.
        Lbfgs = "lbfgs",
    }
}

words! {
    /// What is done to the lengths of atoms after the dictionary step.
    pub enum AtomNorm {
        /// Nothing, as in the published code.
        None = "none",
        /// Every atom gets unit length, its code row the inverse.
        Unit = "unit",
        /// Only atoms longer than one are shortened.
        Ball = "ball",
    }
}

params! {
    /// Parameters of LCDL-SV. What acts after training, and how many iterations there are, is chosen on the training samples; all other
    /// defaults are those of the authors' code.
    pub struct LcdlSv {
        /// Weight of the graph term: similar atoms get similar codes; 0 leaves locality out.
        lambda1: f64 = 1e-3, Domain::NonNegative, grid [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1];
        /// Weight of the support-vector term.
        lambda2: f64 = 1e-6, Domain::NonNegative, grid [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1];
        /// Weight of the loss inside the support-vector term; the SVM's own regularisation is its inverse.
        theta: f64 = 5.0, Domain::Positive;
        /// Ridge weight of test codes; `auto` chooses it by cross-validation within the training samples.
        eta1: Option<f64> = None, Domain::Auto(&Domain::Positive), grid [1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 1.0];
        /// Weight of the SVM score in the fused rule; `auto` chooses it like `eta1`.
        eta2: Option<f64> = None, Domain::Auto(&Domain::NonNegative),
            grid [0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 600.0, 1000.0];
        /// Nearest atoms that each atom is joined to.
        knn: usize = 1, Domain::AtLeast(1);
        /// Atoms per class; `auto` is 10, or the number of samples of a smaller class; `all` takes the training samples
        /// themselves, best with `max_iter = 0`.
        atoms_per_class: AtomCount = AtomCount::Auto, AtomCount::DOMAIN;
        /// Maximum number of iterations; 0 keeps the starting dictionary and fits the SVM on test codes; `auto` chooses it like `eta1`.
        max_iter: Option<usize> = None, Domain::Auto(&Domain::AtLeast(0)), grid [0, 5, 20];
        /// Training ends when an iteration changes the dictionary by less than this, relatively; 0 never ends it early.
        tol: f64 = 1e-3, Domain::NonNegative;
        /// Decision rule; `auto` chooses it like `eta1`.
        rule: Option<Rule> = None, Domain::Auto(&Domain::OneOf(Rule::WORDS));
        /// Solver of the SVM step: exact, or truncated as in the published code.
        svm_solver: Solver = Solver::Newton, Domain::OneOf(Solver::WORDS);
        /// Code step: one solve with the violated margins of the previous codes, or repeated until they agree.
        active_set: MarginSet = MarginSet::OnePass, Domain::OneOf(MarginSet::WORDS);
        /// Lengths of atoms after each dictionary step: left alone, all one, or at most one.
        atom_norm: AtomNorm = AtomNorm::None, Domain::OneOf(AtomNorm::WORDS);
        /// Weights of the atom graph: `exp(-d^2 / 2t^2)` (code) or `exp(-d / t)` (paper).
        affinity: Affinity = Affinity::Squared, Domain::OneOf(Affinity::WORDS);
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
    header: Header,
    dictionary: Mat<f64>,
    svm: Svm,
    /// `U^T P`: SVM scores without bias, straight from samples.
    folded: Mat<f64>,
    coder: RidgeResiduals,
    eta2: f64,
    rule: Rule,
    from_iterations: Option<IterationSvm>,
}

/// The SVM as the iterations left it, its accuracy on the codes it was fitted to, and whether another took its place.
struct IterationSvm {
    svm: Svm,
    accuracy: f64,
    refitted: bool,
}

impl Fit for LcdlSv {
    type Model = LcdlSvModel;
    const KEY: &'static str = "lcdl-sv";
    const TITLE: &'static str = "Locality-constrained dictionary learning with support vectors (LCDL-SV)";
    const PAPER: &'static str = "Yin, Wu, Chen: Locality constraint dictionary learning with support vector for pattern classification. IEEE Access 2019";
    const LEAVES_GROUPS_OUT: bool = true;
    const PRESETS: &'static [Preset] = presets![Self:
        "default", "eta1, eta2, rule and max_iter chosen on the training samples, all else as the authors' code does" => {};
        "authors-code", "what the authors' code does" => { eta1: Some(1e-2), eta2: Some(5.0), rule: Some(Rule::Fused), max_iter: Some(20) };
        "paper", "as printed: theta = 0.2 and unsquared distances in the atom graph" => { eta1: Some(1e-2), eta2: Some(5.0), rule: Some(Rule::Fused), max_iter: Some(20), theta: 0.2, affinity: Affinity::Unsquared };
    ];
    const CLOSED_FORM: bool = true;
    const DECISION: &'static [&'static str] = &["eta1", "eta2", "rule"];
    const READOUT: &'static [&'static str] = &["eta2", "rule"];
    const ITERATION: &'static [&'static str] = &["lambda1", "lambda2"];
    const ITERATES: bool = true;

    fn choose(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<Self> {
        let fixed = *self == self.authors();
        if fixed { Ok(self.clone()) } else { choice::choose(self, train, watch) }
    }

    fn fixed(&self) -> Self {
        self.authors()
    }

    fn learn(&self, train: &Dataset, from: Option<State>, watch: &mut dyn Observer) -> Result<LcdlSvModel> {
        if let Some(state) = from {
            return self.train(train, Begin::After(state), watch);
        }
        let (mut d, blocks) = match self.atoms_per_class {
            AtomCount::Each(wanted) => init::class_pca_mean(train, wanted, watch)?,
            AtomCount::All => (train.x().to_owned(), train.blocks().clone()),
            AtomCount::Auto => init::usual_start(train, None, watch)?,
        };
        if let Some(seed) = self.sign_seed {
            init::flip_signs(&mut d, seed);
        }
        self.learn_from(train, d, &blocks, watch)
    }

    fn restore(&self, mut parts: Parts) -> Result<LcdlSvModel> {
        let (dictionary, blocks) = parts.take_class_atoms("dictionary", None)?;
        let svm = parts.take_svm(Some(dictionary.ncols()))?;
        self.model(parts.classes, dictionary, &blocks, svm)
    }

    /// `eta1` is part of the codes that a lagging SVM is refitted to; a refit for another `eta1` is a good start.
    fn redecide(&self, model: &LcdlSvModel, train: &Dataset) -> Result<LcdlSvModel> {
        let svm = model.from_iterations.as_ref().map_or(&model.svm, |before| &before.svm).clone();
        let blocks = model.coder.blocks();
        let decided = self.model(model.classes().to_vec(), model.dictionary.clone(), blocks, svm)?;
        match &model.from_iterations {
            Some(before) => {
                let warm_start = before.refitted.then_some(model);
                self.refit(decided, train, before.accuracy, warm_start, &mut ())
            }
            None => Ok(decided),
        }
    }

    fn readout(&self, terms: &[Mat<f64>]) -> Mat<f64> {
        match self.rule() {
            Rule::Residual => terms[0].clone(),
            Rule::Svm => terms[1].clone(),
            Rule::Fused => fuse(&terms[0], &terms[1], self.eta2()),
        }
    }
}

impl LcdlSv {
    /// The same with the values of the authors' code in place of what is left open.
    fn authors(&self) -> Self {
        LcdlSv {
            eta1: Some(self.eta1()),
            eta2: Some(self.eta2()),
            rule: Some(self.rule()),
            max_iter: Some(self.max_iter()),
            ..self.clone()
        }
    }

    fn eta1(&self) -> f64 {
        self.eta1.unwrap_or(1e-2)
    }

    fn eta2(&self) -> f64 {
        self.eta2.unwrap_or(5.0)
    }

    fn rule(&self) -> Rule {
        self.rule.unwrap_or(Rule::Fused)
    }

    fn max_iter(&self) -> usize {
        self.max_iter.unwrap_or(20)
    }

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
        self.train(train, Begin::With(start, blocks), watch)
    }

    /// Graph, codes, dictionary, classifiers, again and again.
    fn train(&self, train: &Dataset, begin: Begin<'_>, watch: &mut dyn Observer) -> Result<LcdlSvModel> {
        let span = Span::of(train)?;
        let run = TrainingRun::new(self, &span);
        let (mut at, iterations) = run.begin(begin, watch)?; // D with its graph L, and (U, b)
        for iter in iterations {
            let Some(space) = at.code_space.take() else { break };
            // Z = A^-1 (D^T X + a U W), A = D^T D + lambda1 L
            let (codes, warm_start) = run.code_step(&at, &space)?;
            // Dictionary and classifiers follow from the codes, neither from the other; the graph follows from the dictionary.
            let (dictionary, svm) = join(
                watch,
                |watch| -> Result<_> {
                    let dictionary = run.dictionary_step(&at.d, &space, &codes, watch)?; // D = X Z^T (Z Z^T)^+
                    let next = run.graph_step(iter, &dictionary, &space, watch)?; // L of the new D
                    Ok((dictionary, next))
                },
                || run.svm_step(&codes, &at.svm, warm_start, &mut at.svm_memory), // (U, b) on Z
            );
            at = run.advance(at, &space, &codes, dictionary?, svm, watch)?;
            if run.report(iter, &at, watch).is_break() {
                break;
            }
        }
        run.finish(&at, watch)
    }

    fn model(&self, classes: Vec<String>, dictionary: Mat<f64>, blocks: &Blocks, svm: Svm) -> Result<LcdlSvModel> {
        let coder = RidgeResiduals::new(&dictionary, blocks, self.eta1(), "LCDL-SV test coder")?;
        let folded = mul(svm.weights.transpose(), coder.map());
        Ok(LcdlSvModel {
            header: Header::new(classes, dictionary.nrows(), Rule::WORDS).deciding_by(self.rule() as usize),
            folded,
            svm,
            coder,
            eta2: self.eta2(),
            rule: self.rule(),
            dictionary,
            from_iterations: None,
        })
    }
}

/// Scores of the fused rule: residual score plus `eta2` times SVM score.
fn fuse(residual: &Mat<f64>, svm: &Mat<f64>, eta2: f64) -> Mat<f64> {
    residual + Scale(eta2) * svm
}

/// Share of samples whose largest score is that of their class.
fn accuracy(scores: &Mat<f64>, targets: &[usize]) -> f64 {
    let right = best_class(scores).iter().zip(targets).filter(|(found, target)| found == target).count();
    right as f64 / targets.len() as f64
}

impl LcdlSvModel {
    fn residual_scores(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        -self.coder.of(x).regularized()
    }

    fn svm_scores(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        self.svm.with_bias(mul(&self.folded, x))
    }
}

impl Classifier for LcdlSvModel {
    fn header(&self) -> &Header {
        &self.header
    }

    fn store(&self, parts: &mut Parts) {
        parts.put("dictionary", &self.dictionary);
        parts.put_blocks("atom_counts", self.coder.blocks());
        parts.put_svm(&self.svm);
    }

    fn atoms(&self) -> Option<Atoms<'_>> {
        Some(Atoms { kind: AtomKind::Dictionary, columns: &self.dictionary, classes: Some(self.coder.blocks()) })
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

    fn export(&self, graph: &mut Graph, x: &Tensor) -> Result<Tensor> {
        let residuals = self.coder.export(graph, x);
        let svm = graph.linear(&residuals.codes, &self.svm.weights, &self.svm.bias);
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
