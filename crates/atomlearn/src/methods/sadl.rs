//! SADL: structured analysis dictionary learning.
//!
//! ```text
//! J = 1/2 |Z - Omega X|_F^2 + lambda1 |Z|_1 + rho/2 |H - Q Z|_F^2 + rho/2 |L - W Q Z|_F^2
//!     + delta/2 (|Q|_F^2 + |W|_F^2) + lambda2/2 |Omega|_F^2
//! ```
//!
//! `Omega` analysis dictionary, `Z` sparse codes, `L` one-hot labels, `H` the wanted structure (`s` rows per class, 1
//! on the samples of that class), `Q` the map from codes to structure, `W` the classifier on the structure.
//! In every iteration of either solver `Omega = Z Pi` with `Pi = X^T (X X^T + lambda2 I)^-1`, and a sample's scores are
//! `W Q Omega x`: one small linear map.
//!
//! Since that map is `(W Q Z) Pi` and `W Q Z` is driven to `L`, SADL tends to ridge regression on one-hot labels.
//!
//! - `linearized-admm`: slacks `E1 = H - Q Z`, `E2 = L - W Q Z` with multipliers; one proximal or gradient step each in
//!   `Z`, `Q`, `W`, with step lengths from current spectral norms, then slacks and multipliers in closed form.
//! - `block-descent`: exact `Q` and `W`, proximal gradient in `Z`; `J` never rises.
//!
//! Reference: Tang, Panahi, Krim, Dai: Analysis dictionary learning based classification: structure for robustness.
//! IEEE Transactions on Image Processing 28(12), 2019.
//!
//! Deviations: the published iteration takes its step lengths from the initial matrices, never uses the slacks and
//! weights the multipliers 10 and 4 times; away from its one demo it oscillates or overflows. Both solvers here
//! minimise the objective above, from a Gaussian start. `H`, not published, is LC-KSVD's ideal code.

mod descent;
pub(crate) mod partitioned;

use crate::classifier::{AtomKind, Atoms, Header};
use crate::coding::ridge::ridge_map;
use crate::coding::threshold::soft;
use crate::draw::{gaussian, stream};
use crate::export::{Graph, Tensor};
use crate::iterations::{Done, Iterations, objective};
use crate::linalg::{frobenius, gram, inner, mul, mul_add, normalize_columns, outer_gram, top_eigenvalue};
use crate::params::{Domain, params, words};
use crate::span::Span;
use crate::{Classifier, Dataset, Error, Fit, Observer, Parts, Result, State};
use faer::{Mat, MatRef, Scale};

/// Safety factor of the step lengths.
const SAFETY: f64 = 1.02;
const FIRST_PENALTY: f64 = 1.0;
const PENALTY_GROWTH: f64 = 1.05;
const LARGEST_PENALTY: f64 = 1e3;
/// A residual this many times its smallest value means divergence.
const DIVERGED: f64 = 10.0;
/// Most atoms and rows of structure per class unless asked for; more changed no prediction that was looked at.
const MOST_ATOMS: usize = 10;
const MOST_ROWS: usize = 4;
const ALL_ZERO: &str = "too large: every code became zero";
const RESTARTED: &str = "SADL: the iteration diverged and was started again with steps of half the length";

words! {
    /// How the objective is minimised.
    pub enum Solver {
        /// Linearised ADMM with slacks.
        LinearizedAdmm = "linearized-admm",
        /// Monotone block descent.
        BlockDescent = "block-descent",
    }
}

params! {
    /// Parameters of SADL.
    pub struct Sadl {
        /// Weight of the absolute values of the codes.
        lambda1: f64 = 1e-3, Domain::NonNegative, grid [1e-4, 1e-3, 1e-2];
        /// Ridge on the analysis dictionary; the parameter that matters.
        lambda2: f64 = 3e-4, Domain::Positive, grid [1e-5, 1e-4, 3e-4, 1e-3, 1e-2, 1e-1, 1.0];
        /// Weight of the misfit of structure and labels.
        rho: f64 = 10.0, Domain::Positive;
        /// Ridge on the structuring map and on the classifier.
        delta: f64 = 1e-3, Domain::Positive;
        /// Atoms per class; `auto` is the mean number of samples of a class, at most 10.
        atoms_per_class: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// Rows of structure for each class; auto: as many as atoms, at most 4.
        rows_per_class: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// Scale the atoms to length 1 in every iteration.
        normalize_rows: bool = false, Domain::Flag;
        /// How the objective is minimised.
        solver: Solver = Solver::LinearizedAdmm, Domain::OneOf(Solver::WORDS);
        /// Maximum number of iterations.
        max_iter: usize = 300, Domain::AtLeast(1);
        /// Stop at this relative misfit of the constraints (ADMM) or ten times the relative decrease (block descent).
        tol: f64 = 1e-3, Domain::NonNegative;
        /// Seed of the random start.
        seed: u64 = 0, Domain::AtLeast(0);
    }
}

/// A learned analysis dictionary with its structure and classifier.
pub struct SadlModel {
    header: Header,
    /// `Omega^T`: atoms in columns.
    analysis: Mat<f64>,
    structure: Mat<f64>,
    classifier: Mat<f64>,
    /// `W Q Omega`.
    folded: Mat<f64>,
}

impl SadlModel {
    fn new(classes: Vec<String>, analysis: Mat<f64>, structure: Mat<f64>, classifier: Mat<f64>) -> Self {
        let folded = mul(mul(&classifier, &structure), analysis.transpose());
        SadlModel {
            header: Header::new(classes, analysis.nrows(), &["linear"]),
            analysis,
            structure,
            classifier,
            folded,
        }
    }
}

/// What stays fixed.
struct Problem<'a> {
    x: MatRef<'a, f64>,
    /// `Pi`, samples x features.
    map: Mat<f64>,
    /// `Pi X`, where that is the cheaper way from `Z` to `Omega X`.
    map_x: Option<Mat<f64>>,
    labels: Mat<f64>,
    structure: Mat<f64>,
}

/// What is learned. `seen` is `Omega X`; `Omega` itself is formed when needed.
#[derive(Clone)]
struct Iterate {
    z: Mat<f64>,
    seen: Mat<f64>,
    q: Mat<f64>,
    w: Mat<f64>,
}

/// Slacks, multipliers and penalty of the ADMM.
struct Duals {
    slack: [Mat<f64>; 2],
    multiplier: [Mat<f64>; 2],
    penalty: f64,
    safety: f64,
}

impl Fit for Sadl {
    type Model = SadlModel;
    const KEY: &'static str = "sadl";
    const TITLE: &'static str = "Structured analysis dictionary learning (SADL)";
    const PAPER: &'static str = "Tang, Panahi, Krim, Dai: Analysis dictionary learning based classification: structure for robustness. IEEE Transactions on Image Processing 2019";
    const CLOSED_FORM: bool = true;
    const ITERATES: bool = true;

    fn learn(&self, train: &Dataset, from: Option<State>, watch: &mut dyn Observer) -> Result<SadlModel> {
        let span = Span::of(train)?;
        let problem = self.problem(span.train())?;
        let (omega, start) = self.start(&span, &problem);
        let finish = |now: &Iterate| -> SadlModel {
            let rows = self.analysis(&problem, &now.z).unwrap_or_else(|| omega.clone());
            let columns = span.lift_rows(&rows).transpose().to_owned();
            SadlModel::new(train.classes().to_vec(), columns, now.q.clone(), now.w.clone())
        };

        let iterations = Iterations::new(Self::KEY, &from, self.max_iter, self.tol)?;
        let mut now = start.clone();
        let mut duals = Duals::new(&problem, SAFETY);
        let mut best = f64::INFINITY;
        let mut held = f64::INFINITY;
        if let Some(from) = from {
            (best, held) = (from.value_or_infinite("best")?, from.value_or_infinite("held")?);
            (now, duals) = self.restore_iterate(from, &problem, (&start, &duals))?;
        }
        for iter in iterations.left() {
            let misfit = match self.solver {
                Solver::LinearizedAdmm => Some(self.admm_step(&problem, &mut now, &mut duals)),
                Solver::BlockDescent => self.descent_step(&problem, &mut now).map(|()| None)?,
            };
            let terms = self.terms(&problem, &now);
            let objective = objective(&terms);
            if now.z.norm_max() == 0.0 {
                return Err(Error::param("lambda1", self.lambda1, ALL_ZERO));
            }
            let diverged = misfit.is_some_and(|misfit| misfit > DIVERGED * best) || !objective.is_finite();
            if diverged && duals.safety == SAFETY && self.solver == Solver::LinearizedAdmm {
                watch.warn(RESTARTED);
                (now, duals, best) = (start.clone(), Duals::new(&problem, 2.0 * SAFETY), f64::INFINITY);
                continue;
            }
            if diverged {
                return Err(diverges());
            }
            let change = misfit.unwrap_or_else(|| scaled_decrease(held, objective));
            let done = Done {
                terms: &terms,
                change: Some(change),
                model: &|| Ok(finish(&now)),
                state: &|state| {
                    let state = state.with_value("best", best.min(change)).with_value("held", objective);
                    duals.store(now.store(state))
                },
            };
            if iterations.report(iter, &done, watch)?.is_break() {
                break;
            }
            (best, held) = (best.min(change), objective);
        }
        Ok(finish(&now))
    }

    fn restore(&self, mut parts: Parts) -> Result<SadlModel> {
        let analysis = parts.take("analysis")?;
        let structure = parts.take_shaped("structure", None, analysis.ncols())?;
        let classifier = parts.take_shaped("classifier", parts.classes.len(), structure.nrows())?;
        Ok(SadlModel::new(parts.classes, analysis, structure, classifier))
    }
}

impl Sadl {
    /// Atoms and rows of structure of every class.
    fn per_class(&self, n_samples: usize, n_classes: usize) -> (usize, usize) {
        let mean = n_samples.div_ceil(n_classes);
        let atoms = self.atoms_per_class.unwrap_or(mean.min(MOST_ATOMS));
        (atoms, self.rows_per_class.unwrap_or(atoms.min(MOST_ROWS)))
    }

    /// `Pi`, one-hot labels and the wanted structure.
    fn problem<'a>(&self, train: &'a Dataset) -> Result<Problem<'a>> {
        let map = ridge_map(train.x(), self.lambda2, "SADL dictionary")?;
        // K n^2 against 2 K m n multiply-adds per iteration.
        let direct = !self.normalize_rows && train.n_samples() <= 2 * train.n_features();
        let map_x = direct.then(|| mul(&map, train.x()));
        let (targets, (_, rows)) = (train.targets(), self.per_class(train.n_samples(), train.n_classes()));
        let onehot = |repeat: usize| {
            Mat::from_fn(train.n_classes() * repeat, targets.len(), |r, i| {
                f64::from(u8::from(targets[i] == r / repeat))
            })
        };
        Ok(Problem { x: train.x(), map, map_x, labels: onehot(1), structure: onehot(rows) })
    }

    /// Unit Gaussian atoms, Gaussian `Q` and `W`.
    fn draws(&self, n_features: usize, n_samples: usize, n_classes: usize) -> (Mat<f64>, Mat<f64>, Mat<f64>) {
        let (atoms, rows) = self.per_class(n_samples, n_classes);
        let k = atoms * n_classes;
        let s = rows * n_classes;
        let mut atoms = gaussian(&mut stream(self.seed, 0), n_features, k);
        normalize_columns(atoms.as_mut());
        let scaled = |index: usize, rows: usize, cols: usize| {
            Scale((cols as f64).sqrt().recip()) * gaussian(&mut stream(self.seed, index), rows, cols)
        };
        (atoms.transpose().to_owned(), scaled(1, s, k), scaled(2, n_classes, s))
    }

    /// The draws, and `Z = Omega X`.
    fn start(&self, span: &Span<'_>, problem: &Problem<'_>) -> (Mat<f64>, Iterate) {
        let full = span.full();
        let (omega, q, w) = self.draws(full.n_features(), full.n_samples(), full.n_classes());
        let omega = span.project_rows(&omega);
        let z = mul(&omega, problem.x);
        let state = Iterate { seen: z.clone(), z, q, w };
        (omega, state)
    }

    /// `Omega = Z Pi`, rows scaled if asked for; `None` if no code is left to define it.
    fn analysis(&self, problem: &Problem<'_>, z: &Mat<f64>) -> Option<Mat<f64>> {
        let mut atoms = mul(problem.map.transpose(), z.transpose());
        if self.normalize_rows {
            normalize_columns(atoms.as_mut());
        }
        (z.norm_max() > 0.0).then(|| atoms.transpose().to_owned())
    }

    /// `Omega X` for `Omega = Z Pi`.
    fn analysed(&self, problem: &Problem<'_>, z: &Mat<f64>) -> Mat<f64> {
        match (&problem.map_x, self.analysis(problem, z)) {
            (Some(map_x), _) => mul(z, map_x),
            (None, Some(omega)) => mul(&omega, problem.x),
            (None, None) => Mat::zeros(z.nrows(), z.ncols()),
        }
    }

    /// One sweep of the linearised ADMM; returns the relative misfit of the constraints.
    fn admm_step(&self, problem: &Problem<'_>, state: &mut Iterate, duals: &mut Duals) -> f64 {
        let mu = duals.penalty;
        let safety = duals.safety;
        // Z: proximal step on 1/(2 mu) |Z - Omega X|^2 + 1/2 |E1|^2 + 1/2 |E2|^2.
        let wq = mul(&state.w, &state.q);
        let [e1, e2] = duals.errors(problem, state);
        let eta = floor(safety * (1.0 / mu + squared_norm(&state.q) + squared_norm(&wq)));
        let mut step = Scale(-1.0 / mu) * (&state.z - &state.seen);
        mul_add(step.as_mut(), 1.0, state.q.transpose(), &e1);
        mul_add(step.as_mut(), 1.0, wq.transpose(), &e2);
        state.z += Scale(1.0 / eta) * step;
        soft(state.z.as_mut(), self.lambda1 / (mu * eta));
        // Q.
        let [mut e1, e2] = duals.errors(problem, state);
        let eta = floor(safety * ((1.0 + squared_norm(&state.w)) * squared_norm(&state.z) + self.delta / mu));
        mul_add(e1.as_mut(), 1.0, state.w.transpose(), &e2);
        let step = mul(&e1, state.z.transpose()) - Scale(self.delta / mu) * &state.q;
        state.q += Scale(1.0 / eta) * step;
        // W.
        let structured = mul(&state.q, &state.z);
        let [_, e2] = duals.errors_of(problem, &structured, &state.w);
        let eta = floor(safety * (squared_norm(&structured) + self.delta / mu));
        let step = mul(&e2, structured.transpose()) - Scale(self.delta / mu) * &state.w;
        state.w += Scale(1.0 / eta) * step;
        // Omega, slacks, multipliers.
        state.seen = self.analysed(problem, &state.z);
        duals.update(problem, &structured, &state.w, self.rho)
    }

    /// The terms of `J`.
    fn terms(&self, problem: &Problem<'_>, state: &Iterate) -> [(&'static str, f64); 5] {
        let structured = mul(&state.q, &state.z);
        let labeled = mul(&state.w, &structured);
        let norms = state.q.squared_norm_l2() + state.w.squared_norm_l2();
        let omega = inner(&state.z, &state.seen) - state.seen.squared_norm_l2();
        let values = [
            (&state.z - &state.seen).squared_norm_l2(),
            state.z.norm_l1(),
            (&problem.structure - structured).squared_norm_l2(),
            (&problem.labels - labeled).squared_norm_l2(),
            norms,
        ];
        self.named_terms(values, omega, state.z.nrows())
    }

    /// The terms from `|Z - Omega X|^2`, `|Z|_1`, `|H - Q Z|^2`, `|L - W Q Z|^2` and `|Q|^2 + |W|^2`; `omega` is
    /// `<Z, Omega X> - |Omega X|^2`, which is `lambda2 |Omega|^2` for `Omega = Z Pi`, since `Pi (X X^T + lambda2 I) = X^T`.
    fn named_terms(&self, values: [f64; 5], omega: f64, n_atoms: usize) -> [(&'static str, f64); 5] {
        let [fit, absolute, structure, labels, norms] = values;
        let omega = if self.normalize_rows { self.lambda2 * n_atoms as f64 } else { omega.max(0.0) };
        [
            ("fit", 0.5 * fit),
            ("sparsity", self.lambda1 * absolute),
            ("structure", 0.5 * self.rho * structure),
            ("labels", 0.5 * self.rho * labels),
            ("ridge", 0.5 * (self.delta * norms + omega)),
        ]
    }
}

impl Iterate {
    /// `seen` follows from `z`.
    fn store(&self, state: State) -> State {
        state.with("codes", &self.z).with("structure", &self.q).with("classifier", &self.w)
    }
}

impl Sadl {
    /// The iterate and the duals of a state; they have the shapes of those of the start.
    fn restore_iterate(
        &self,
        state: State,
        problem: &Problem<'_>,
        (start, duals): (&Iterate, &Duals),
    ) -> Result<(Iterate, Duals)> {
        let penalty = state.value("penalty")?;
        let safety = state.value("safety")?;
        let mut parts = state.into_parts(&[]);
        let mut like = |name: &str, like: &Mat<f64>| parts.take_shaped(name, like.nrows(), like.ncols());
        let z = like("codes", &start.z)?;
        let q = like("structure", &start.q)?;
        let w = like("classifier", &start.w)?;
        let [structure, labels] = &duals.slack;
        let slack = [like("structure_slack", structure)?, like("label_slack", labels)?];
        let multiplier = [like("structure_multiplier", structure)?, like("label_multiplier", labels)?];
        Ok((Iterate { seen: self.analysed(problem, &z), z, q, w }, Duals { slack, multiplier, penalty, safety }))
    }
}

impl Duals {
    fn store(&self, state: State) -> State {
        let state = state.with_value("penalty", self.penalty).with_value("safety", self.safety);
        let state = state.with("structure_slack", &self.slack[0]);
        let state = state.with("label_slack", &self.slack[1]);
        let state = state.with("structure_multiplier", &self.multiplier[0]);
        state.with("label_multiplier", &self.multiplier[1])
    }

    fn new(problem: &Problem<'_>, safety: f64) -> Self {
        let zeros =
            || [&problem.structure, &problem.labels].map(|goal: &Mat<f64>| Mat::zeros(goal.nrows(), goal.ncols()));
        Duals { slack: zeros(), multiplier: zeros(), penalty: FIRST_PENALTY, safety }
    }

    /// `E1 = Y1 / mu + H - slack1 - Q Z`, `E2 = Y2 / mu + L - slack2 - W Q Z`.
    fn errors(&self, problem: &Problem<'_>, state: &Iterate) -> [Mat<f64>; 2] {
        self.errors_of(problem, &mul(&state.q, &state.z), &state.w)
    }

    fn errors_of(&self, problem: &Problem<'_>, structured: &Mat<f64>, w: &Mat<f64>) -> [Mat<f64>; 2] {
        let labeled = mul(w, structured);
        let error = |k: usize, goal: &Mat<f64>, reached: &Mat<f64>| {
            Scale(1.0 / self.penalty) * &self.multiplier[k] + goal - &self.slack[k] - reached
        };
        [error(0, &problem.structure, structured), error(1, &problem.labels, &labeled)]
    }

    /// `slack = (mu (goal - reached) + Y) / (rho + mu)`, `Y += mu (goal - reached - slack)`; returns the misfit.
    fn update(&mut self, problem: &Problem<'_>, structured: &Mat<f64>, w: &Mat<f64>, rho: f64) -> f64 {
        let labeled = mul(w, structured);
        let mu = self.penalty;
        let mut misfit = 0.0;
        for (k, (goal, reached)) in
            [(&problem.structure, structured), (&problem.labels, &labeled)].into_iter().enumerate()
        {
            let gap = goal - reached;
            self.slack[k] = Scale(1.0 / (rho + mu)) * (Scale(mu) * &gap + &self.multiplier[k]);
            let rest = gap - &self.slack[k];
            misfit += frobenius(&rest);
            self.multiplier[k] += Scale(mu) * rest;
        }
        self.penalty = Self::next_penalty(mu);
        misfit / frobenius(&problem.labels)
    }

    fn next_penalty(penalty: f64) -> f64 {
        (PENALTY_GROWTH * penalty).min(LARGEST_PENALTY)
    }
}

/// Keeps a step length away from zero.
fn floor(eta: f64) -> f64 {
    eta.max(1e-12)
}

/// Ten times the relative decrease of the objective, what block descent stops by.
fn scaled_decrease(before: f64, now: f64) -> f64 {
    10.0 * (before - now).max(0.0) / now.max(f64::MIN_POSITIVE)
}

fn diverges() -> Error {
    Error::numeric("SADL", "the iteration diverges; scale the samples to unit norm")
}

/// `|A|_2^2`, from the smaller Gram matrix.
fn squared_norm(a: &Mat<f64>) -> f64 {
    let small = if a.nrows() <= a.ncols() { outer_gram(a) } else { gram(a) };
    top_eigenvalue(&small)
}

impl Classifier for SadlModel {
    fn header(&self) -> &Header {
        &self.header
    }

    fn store(&self, parts: &mut Parts) {
        parts.put("analysis", &self.analysis);
        parts.put("structure", &self.structure);
        parts.put("classifier", &self.classifier);
    }

    fn atoms(&self) -> Option<Atoms<'_>> {
        Some(Atoms { kind: AtomKind::Analysis, columns: &self.analysis, classes: None })
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        vec![mul(&self.folded, x)]
    }

    fn codes_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        Some(mul(self.analysis.transpose(), x))
    }

    fn export(&self, graph: &mut Graph, x: &Tensor) -> Result<Tensor> {
        Ok(graph.times(x, self.folded.transpose()))
    }
}

#[cfg(test)]
mod tests;
