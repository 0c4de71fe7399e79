//! SVGDL: support vector guided dictionary learning.
//!
//! ```text
//! min_{D,Z,U,b}  |X - D Z|_F^2 + lambda1 |Z|_F^2
//!                + 2 lambda2 sum_c ( |u_c|^2 + theta sum_i max(0, 1 - y_ci (u_c^T z_i + b_c))^2 )    s.t. |d_k| <= 1
//! ```
//!
//! `X` samples, `D` atoms, `Z` codes, `(U, b)` one linear SVM per class on the codes, `y_ci = +1` if sample `i` is of
//! class `c`, else `-1`. From class-wise PCA + mean atoms and `U = 0`, each iteration minimises over one block:
//!
//! 1. codes: ridge codes `P D^T x` with `P = (D^T D + lambda1 I)^-1`, moved towards the right side of every violated
//!    margin ([`crate::coding::margin`]);
//! 2. dictionary: least squares inside the unit ball ([`crate::update::lagrange_dual`]);
//! 3. SVMs with `tau = 1 / theta` ([`crate::svm`]), warm-started.
//!
//! It stops when the relative change of `D` is at most `tol`. A new sample has the ridge code `P D^T x` and the score
//! `U^T P D^T x + b`; both are linear, so one matrix `V = D P U` scores it.
//!
//! Reference: Cai, Zuo, Zhang, Feng, Wang: Support vector guided dictionary learning. ECCV 2014.
//!
//! Deviations: SVMs and dictionary are solved to optimality (the published code truncates L-BFGS and starts the dual
//! from random multipliers); with more features than samples training runs in the span of the samples, which is exact.

use crate::classifier::{AtomKind, Atoms, Header};
use crate::coding::margin::{MarginSet, Margins};
use crate::coding::ridge::ridge_map;
use crate::export::{Graph, Tensor};
use crate::init::usual_start;
use crate::iterations::{Done, Iterations};
use crate::linalg::{Spd, View, add_diagonal, frobenius, gram, mul, mul_add, outer_gram, relative_change};
use crate::params::{Domain, params};
use crate::span::Span;
use crate::svm::{self, Svm};
use crate::update::lagrange_dual;
use crate::{Classifier, Dataset, Fit, Observer, Parts, Result, State};
use faer::{Mat, MatRef};

params! {
    /// Parameters of SVGDL.
    pub struct Svgdl {
        /// Weight of the squared norm of the codes, in training and for new samples.
        lambda1: f64 = 2e-3, Domain::Positive, grid [1e-4, 5e-4, 2e-3, 1e-2, 5e-2];
        /// Weight of the SVM term.
        lambda2: f64 = 1e-6, Domain::NonNegative, grid [1e-6, 1e-4];
        /// Weight of the loss against the squared norm inside the SVM term.
        theta: f64 = 5.0, Domain::Positive;
        /// Atoms per class; `auto` is 10, or the number of samples of a smaller class.
        atoms_per_class: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// Maximum number of iterations.
        max_iter: usize = 25, Domain::AtLeast(1), grid [1, 5, 25];
        /// Training ends when an iteration changes the dictionary by less than this, relatively; 0 never ends it early.
        tol: f64 = 1e-3, Domain::NonNegative;
        /// Code step: one solve with the violated margins of the previous codes, or repeated until they agree.
        active_set: MarginSet = MarginSet::OnePass, Domain::OneOf(MarginSet::WORDS);
    }
}

/// A learned SVGDL model.
pub struct SvgdlModel {
    header: Header,
    dictionary: Mat<f64>,
    svm: Svm,
    /// `P D^T`, atoms x features.
    map: Mat<f64>,
    /// `V` with its bias: scores of samples without their codes.
    folded: Svm,
}

/// What an iteration takes from the one before; multipliers there are after the first.
struct Iterate {
    d: Mat<f64>,
    z: Mat<f64>,
    svm: Svm,
    multipliers: Option<Vec<f64>>,
}

impl Iterate {
    fn restore(state: State, train: &Dataset) -> Result<Self> {
        let mut parts = state.into_parts(train.classes());
        let d = parts.take_shaped("dictionary", train.n_features(), None)?;
        let z = parts.take_shaped("codes", d.ncols(), train.n_samples())?;
        let svm = parts.take_svm(Some(d.ncols()))?;
        let multipliers = parts.take_row("multipliers", d.ncols())?;
        Ok(Iterate { d, z, svm, multipliers: Some(multipliers) })
    }
}

impl Svgdl {
    /// Class-wise PCA + mean atoms and `U = 0`.
    fn start(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<Iterate> {
        let (d, _) = usual_start(train, self.atoms_per_class, watch)?;
        let z = Mat::zeros(d.ncols(), train.n_samples());
        let svm = Svm::zero(d.ncols(), train.n_classes());
        Ok(Iterate { d, z, svm, multipliers: None })
    }

    fn model(&self, classes: Vec<String>, dictionary: Mat<f64>, svm: Svm) -> Result<SvgdlModel> {
        let map = ridge_map(&dictionary, self.lambda1, "SVGDL coder")?;
        let folded = Svm { weights: mul(map.transpose(), &svm.weights), bias: svm.bias.clone() };
        Ok(SvgdlModel { header: Header::new(classes, dictionary.nrows(), &["svm"]), dictionary, svm, map, folded })
    }

    /// `a`, the strength of the pull.
    fn strength(&self) -> f64 {
        2.0 * self.lambda2 * self.theta
    }

    /// The model in all features again.
    fn lifted(&self, span: &Span<'_>, d: &Mat<f64>, svm: &Svm) -> Result<SvgdlModel> {
        self.model(span.full().classes().to_vec(), span.lift_columns(d), svm.clone())
    }

    /// `D^T D + lambda1 I`, factored; `P` is its inverse.
    fn code_system(&self, d: impl View) -> Result<Spd> {
        let mut system = gram(d);
        add_diagonal(&mut system, self.lambda1);
        Ok(Spd::new(system, "SVGDL codes")?)
    }

    /// `Z = P D^T X + a P U W`; `W` is zero where a margin is kept, and `U = 0` leaves ridge codes.
    fn codes(&self, train: &Dataset, d: MatRef<'_, f64>, svm: &Svm, old: MatRef<'_, f64>) -> Result<Mat<f64>> {
        let p = self.code_system(d)?;
        let mut z = p.solve(mul(d.transpose(), train.x()));
        let strength = self.strength();
        if strength == 0.0 || svm.weights.norm_max() == 0.0 {
            return Ok(z);
        }
        let g = p.solve(&svm.weights);
        let coupling = mul(svm.weights.transpose(), &g);
        let targets = train.targets();
        let margins = Margins { coupling: &coupling, bias: &svm.bias, strength, targets: &targets };
        let base = mul(svm.weights.transpose(), &z);
        let previous = mul(svm.weights.transpose(), old);
        let w = margins.weights(&base, &previous, self.active_set);
        mul_add(z.as_mut(), strength, &g, &w);
        Ok(z)
    }

    /// The terms of the objective; `fit` is `|X - D Z|_F^2`.
    fn terms(&self, fit: f64, z: &Mat<f64>, svm: &Svm, targets: &[usize]) -> [(&'static str, f64); 4] {
        let (norms, losses) = svm.objective_terms(&svm.scores(z), targets);
        self.weighted_terms(fit, frobenius(z).powi(2), norms, losses)
    }

    fn weighted_terms(&self, fit: f64, codes: f64, norms: f64, losses: f64) -> [(&'static str, f64); 4] {
        [
            ("reconstruction", fit),
            ("codes", self.lambda1 * codes),
            ("svm_norm", 2.0 * self.lambda2 * norms),
            ("svm_loss", 2.0 * self.lambda2 * self.theta * losses),
        ]
    }
}

impl Fit for Svgdl {
    type Model = SvgdlModel;
    const KEY: &'static str = "svgdl";
    const TITLE: &'static str = "Support vector guided dictionary learning (SVGDL)";
    const PAPER: &'static str = "Cai, Zuo, Zhang, Feng, Wang: Support vector guided dictionary learning. ECCV 2014";
    const CLOSED_FORM: bool = true;
    const ITERATES: bool = true;

    fn learn(&self, full: &Dataset, from: Option<State>, watch: &mut dyn Observer) -> Result<SvgdlModel> {
        let span = Span::of(full)?;
        let train = span.train();
        let targets = train.targets();
        let energy = frobenius(train.x()).powi(2);

        let iterations = Iterations::new(Self::KEY, &from, self.max_iter, self.tol)?;
        let Iterate { mut d, mut z, mut svm, mut multipliers } = match from {
            None => self.start(train, watch)?,
            Some(state) => Iterate::restore(state, train)?,
        };
        for iter in iterations.left() {
            z = self.codes(train, d.as_ref(), &svm, z.as_ref())?;
            let e = mul(train.x(), z.transpose());
            let f = outer_gram(&z);
            let step = lagrange_dual::minimize(&e, &f, &d, multipliers.as_deref(), watch)?;
            let change = relative_change(&step.dictionary, &d);
            (d, multipliers) = (step.dictionary, Some(step.multipliers));
            svm = svm::one_vs_rest(&z, &targets, train.n_classes(), 1.0 / self.theta, Some(&svm))?;

            let fit = (energy + step.value).max(0.0);
            let terms = self.terms(fit, &z, &svm, &targets);
            let done = Done {
                terms: &terms,
                change: Some(change),
                model: &|| self.lifted(&span, &d, &svm),
                state: &|state| {
                    let state = state.with("dictionary", &d).with("codes", &z).with_svm(&svm);
                    state.with_row("multipliers", multipliers.as_deref().unwrap_or_default())
                },
            };
            if iterations.report(iter, &done, watch)?.is_break() {
                break;
            }
        }
        let svm = svm::settle(&z, &targets, svm, 1.0 / self.theta, watch)?;
        self.lifted(&span, &d, &svm)
    }

    fn restore(&self, mut parts: Parts) -> Result<SvgdlModel> {
        let dictionary = parts.take("dictionary")?;
        let svm = parts.take_svm(Some(dictionary.ncols()))?;
        self.model(parts.classes, dictionary, svm)
    }
}

impl Classifier for SvgdlModel {
    fn header(&self) -> &Header {
        &self.header
    }

    fn store(&self, parts: &mut Parts) {
        parts.put("dictionary", &self.dictionary);
        parts.put_svm(&self.svm);
    }

    fn atoms(&self) -> Option<Atoms<'_>> {
        Some(Atoms { kind: AtomKind::Dictionary, columns: &self.dictionary, classes: None })
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        vec![self.folded.scores(x)]
    }

    fn codes_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        Some(mul(&self.map, x))
    }

    fn export(&self, graph: &mut Graph, x: &Tensor) -> Result<Tensor> {
        Ok(graph.linear(x, &self.folded.weights, &self.folded.bias))
    }
}

pub(crate) mod partitioned;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::column_norms;
    use crate::observe::Trace;
    use crate::synth;
    use crate::testing::accuracy;

    #[test]
    fn the_objective_never_rises_with_converged_inner_solves() {
        for (dim, lambda2) in [(12, 1e-2), (12, 1e-4), (40, 1e-3), (5, 1e-2)] {
            let train = synth::blobs(4, 8, dim, 3);
            let params = Svgdl {
                lambda2,
                atoms_per_class: Some(3),
                active_set: MarginSet::Converged,
                tol: 0.0,
                ..Default::default()
            };
            let mut trace = Trace::default();
            params.fit(&train, &mut trace).unwrap();
            let values: Vec<f64> = trace.steps.iter().filter_map(|step| step.objective).collect();
            assert_eq!(values.len(), 25);
            for pair in values.windows(2) {
                assert!(pair[1] <= pair[0] * (1.0 + 1e-10), "{dim} {lambda2}: {} then {}", pair[0], pair[1]);
            }
        }
    }

    #[test]
    fn without_the_svm_term_codes_are_ridge_codes() {
        let train = synth::blobs(3, 6, 10, 5);
        let params = Svgdl { lambda2: 0.0, atoms_per_class: Some(3), ..Default::default() };
        let (d, _) = usual_start(&train, Some(3), &mut ()).unwrap();
        let strong = Svm { weights: Mat::from_fn(9, 3, |i, c| (i + c) as f64), bias: vec![1.0; 3] };
        let old = Mat::zeros(9, 18);
        let ridge = mul(ridge_map(d.as_ref(), params.lambda1, "t").unwrap(), train.x());
        for (params, svm) in [(params.clone(), strong), (Svgdl { lambda2: 1.0, ..params }, Svm::zero(9, 3))] {
            let z = params.codes(&train, d.as_ref(), &svm, old.as_ref()).unwrap();
            assert!((z - &ridge).norm_max() < 1e-10);
        }
    }

    #[test]
    fn more_features_than_samples_change_nothing_but_the_time() {
        let wide = synth::blobs(3, 6, 40, 2);
        let (q, small) = Span::of(&wide).unwrap().into_parts();
        let params = Svgdl { atoms_per_class: Some(3), lambda2: 1e-3, max_iter: 6, tol: 0.0, ..Default::default() };
        let (a, b) = (params.fit(&wide, &mut ()).unwrap(), params.fit(&small, &mut ()).unwrap());
        assert!((&a.dictionary - mul(q.unwrap(), &b.dictionary)).norm_max() < 1e-12);
        // Padding with zero rows makes as many features as samples: no reduction, other code path, same scores.
        let more = synth::blobs(3, 16, 40, 2);
        let padded = more.with_features(Mat::from_fn(60, 48, |i, j| if i < 40 { more.x()[(i, j)] } else { 0.0 }));
        let plain = params.fit(&more, &mut ()).unwrap().scores(more.x()).unwrap();
        let padded = padded.unwrap();
        let reduced = params.fit(&padded, &mut ()).unwrap().scores(padded.x()).unwrap();
        assert!((plain - reduced).norm_max() < 1e-6);
    }

    #[test]
    fn restored_models_score_with_the_same_bits_and_hostile_parts_are_refused() {
        let train = synth::blobs(3, 8, 10, 7);
        let params = Svgdl { atoms_per_class: Some(4), ..Default::default() };
        let model = params.fit(&train, &mut ()).unwrap();
        assert!(accuracy(&model, &train) > 0.9);
        assert!(column_norms(&model.dictionary).iter().all(|&n| n <= 1.0 + 1e-12));
        let codes = model.codes_block(train.x()).unwrap();
        assert!((model.svm.scores(&codes) - model.scores(train.x()).unwrap()).norm_max() < 1e-9);
        let again = params.restore(model.parts()).unwrap();
        assert!(again.scores(train.x()).unwrap() == model.scores(train.x()).unwrap());
        let mut wrong = model.parts();
        wrong.put("svm_weights", Mat::<f64>::zeros(5, 3));
        assert!(params.restore(wrong).is_err());
    }

    #[test]
    fn poor_and_unbalanced_classes_warn_and_work() {
        let rich = synth::blobs(3, 8, 10, 9);
        let keep = [0, 1, 2, 3, 4, 5, 8, 16, 17];
        let x = crate::linalg::select_columns(rich.x(), &keep);
        let labels: Vec<String> = keep.iter().map(|&i| (i / 8).to_string()).collect();
        let train = Dataset::new(&x, &labels).unwrap();
        let mut trace = Trace::default();
        let model = Svgdl { atoms_per_class: Some(10), ..Default::default() }.fit(&train, &mut trace).unwrap();
        assert_eq!(trace.warnings.len(), 1);
        assert!(model.scores(rich.x()).unwrap().is_all_finite());
    }
}
