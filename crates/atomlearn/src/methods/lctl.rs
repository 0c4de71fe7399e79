//! LCTL: label consistent transform learning.
//!
//! ```text
//! J = |Omega X - Z|_F^2 + epsilon |Omega|_F^2 - mu sum_i log s_i(Omega S^1/2)
//!     + alpha (|Q - A Z|_F^2 + delta |A|_F^2) + lambda |Z|_F^2,            S = X X^T + epsilon I
//! ```
//!
//! `X` samples, `Omega` transform with rows that belong to classes, `Z` codes, `Q_ki = 1` if row `k` and sample `i` share the
//! class, `A` the map to it, `s_i` singular values: the logarithms keep rows from becoming alike or zero. From random rows,
//! each iteration minimises `J` exactly over one block after the other:
//!
//! 1. `Omega = 1/2 V (Sigma + (Sigma^2 + 2 mu I)^1/2) U^T S^-1/2` with the singular values `S^-1/2 X Z^T = U Sigma V^T`;
//! 2. `Z = ((1 + lambda) I + alpha A^T A)^-1 (Omega X + alpha A^T Q)`;
//! 3. `A = Q Z^T (Z Z^T + delta I)^-1`.
//!
//! With `B` the one-hot classes of the rows, `Q = B H`, so that `A = B M` with `M = H Z^T (Z Z^T + delta I)^-1`: a matrix with a
//! row per class in place of K x K. A new sample gets the code `Omega x` and the scores `W Omega x`, `W` by ridge regression on
//! such codes of the training samples: one small linear map.
//!
//! Reference: Yin et al.: Label consistent transform learning for pattern classification. Journal of Algorithms and
//! Computational Technology 2019; step 1 is that of Ravishankar, Bresler: Closed-form solutions within sparsifying transform
//! learning. ICASSP 2013.
//!
//! Deviations: for a square `Omega` the logarithms are `log |det Omega|` plus a constant; measured this way step 1 is exact for
//! any number of rows. With more features than samples, rows stay in the span of the samples.

use crate::classifier::AtomKind;
use crate::draw::{gaussian, stream};
use crate::iterations::{Done, Iterations};
use crate::linalg::{
    Spd, add_diagonal, frobenius, mul, normalize_columns, one_hot, outer_gram, relative_change, svd, sym_eig,
};
use crate::methods::linear_codes::LinearCodes;
use crate::methods::sparse_linear::ridge_readout;
use crate::params::{Domain, Preset, params, presets};
use crate::span::Span;
use crate::{Blocks, Dataset, Fit, Observer, Parts, Result, State};
use faer::{Mat, MatRef};

/// Most rows per class unless asked for.
const MOST_ROWS: usize = 10;

params! {
    /// Parameters of LCTL.
    pub struct Lctl {
        /// Weight of label consistency.
        alpha: f64 = 0.1, Domain::NonNegative, grid [1e-2, 0.1, 1.0];
        /// Weight of the logarithms that keep rows apart.
        mu: f64 = 0.05, Domain::Positive, grid [5e-3, 0.05, 0.5];
        /// Ridge on the transform.
        epsilon: f64 = 0.05, Domain::Positive, grid [5e-3, 0.05, 0.5];
        /// Ridge on the codes.
        lambda: f64 = 1e-3, Domain::NonNegative;
        /// Ridge on the map from codes to classes.
        delta: f64 = 1.0, Domain::Positive;
        /// Rows of the transform per class; `auto` is the mean number of samples of a class, at most 10.
        atoms_per_class: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// Maximum number of iterations.
        max_iter: usize = 10, Domain::AtLeast(1), grid [1, 10];
        /// Training ends when an iteration changes the transform by less than this, relatively; 0 never ends it early.
        tol: f64 = 1e-3, Domain::NonNegative;
        /// Weight of the squared norm of the classifier.
        ridge: f64 = 1e-3, Domain::Positive, grid [1e-5, 1e-4, 1e-3, 1e-2, 1e-1];
        /// Seed of the random start.
        seed: u64 = 0, Domain::AtLeast(0);
    }
}

/// What does not change while learning.
struct Problem<'a> {
    x: MatRef<'a, f64>,
    /// `S^-1/2`.
    root: Mat<f64>,
    /// `S^-1/2 X`.
    white: Mat<f64>,
    /// Class of every sample, and `H`.
    targets: Vec<usize>,
    labels: Mat<f64>,
    rows: Blocks,
}

/// What is learned.
struct Iterate {
    omega: Mat<f64>,
    /// `sum_i log s_i(Omega S^1/2)`.
    logarithms: f64,
    z: Mat<f64>,
    /// `M`, classes x rows, with `A = B M`.
    m: Mat<f64>,
}

impl Fit for Lctl {
    type Model = LinearCodes;
    const KEY: &'static str = "lctl";
    const TITLE: &'static str = "Label consistent transform learning (LCTL)";
    const PAPER: &'static str = "Yin et al.: Label consistent transform learning for pattern classification. Journal of Algorithms and Computational Technology 2019";
    const PRESETS: &'static [Preset] = presets![Self:
        "tuned", "the defaults" => {};
        "published", "settings of the published demonstration on Scene-15" => { atoms_per_class: Some(30), tol: 0.0, ridge: 1e-5 };
    ];
    const DECISION: &'static [&'static str] = &["ridge"];
    const CLOSED_FORM: bool = true;
    const ITERATES: bool = true;

    fn learn(&self, full: &Dataset, from: Option<State>, watch: &mut dyn Observer) -> Result<LinearCodes> {
        let span = Span::of(full)?;
        let train = span.train();
        let iterations = Iterations::new(Self::KEY, &from, self.max_iter, self.tol)?;
        let problem = self.problem(train)?;
        let mut now = match from {
            None => self.start(&span, &problem)?,
            Some(state) => Iterate::restore(state, &problem)?,
        };
        for iter in iterations.left() {
            let before = now.omega.clone();
            (now.omega, now.logarithms) = self.transform(&problem, &now.z)?;
            now.z = self.codes(&problem, &now.omega, &now.m)?;
            now.m = self.label_map(&problem, &now.z)?;

            let terms = self.terms(&problem, &now);
            let change = relative_change(&now.omega, &before);
            let done = Done {
                terms: &terms,
                change: Some(change),
                model: &|| self.finish(&span, &now),
                state: &|state| now.store(state),
            };
            if iterations.report(iter, &done, watch)?.is_break() {
                break;
            }
        }
        self.finish(&span, &now)
    }

    fn restore(&self, parts: Parts) -> Result<LinearCodes> {
        LinearCodes::restore(parts, AtomKind::Analysis)
    }

    fn redecide(&self, model: &LinearCodes, train: &Dataset) -> Result<LinearCodes> {
        model.refitted(train, self.ridge)
    }
}

impl Lctl {
    fn problem<'a>(&self, train: &'a Dataset) -> Result<Problem<'a>> {
        let (values, vectors) = sym_eig(outer_gram(train.x()), "LCTL samples")?;
        let scaled = |i: usize, j: usize| vectors[(i, j)] / (values[j].max(0.0) + self.epsilon).powf(0.25);
        let root = outer_gram(Mat::from_fn(vectors.nrows(), vectors.ncols(), scaled));
        let white = mul(&root, train.x());
        let targets = train.targets();
        let labels = one_hot(&targets, train.n_classes());
        let mean = train.n_samples().div_ceil(train.n_classes());
        let per_class = self.atoms_per_class.unwrap_or(mean.min(MOST_ROWS));
        let rows = Blocks::from_sizes(vec![per_class; train.n_classes()]);
        Ok(Problem { x: train.x(), root, white, targets, labels, rows })
    }

    /// Random rows of length one, their codes, and the map that belongs to these.
    fn start(&self, span: &Span<'_>, problem: &Problem<'_>) -> Result<Iterate> {
        let mut drawn = gaussian(&mut stream(self.seed, 0), span.full().n_features(), problem.rows.total());
        normalize_columns(drawn.as_mut());
        let omega = span.project_rows(drawn.transpose());
        let z = mul(&omega, problem.x);
        let m = self.label_map(problem, &z)?;
        Ok(Iterate { omega, logarithms: 0.0, z, m })
    }

    /// Step 1: `Omega`, and the sum of the logarithms of its singular values.
    fn transform(&self, problem: &Problem<'_>, z: &Mat<f64>) -> Result<(Mat<f64>, f64)> {
        let (u, sigma, v) = svd(mul(&problem.white, z.transpose()), "LCTL transform")?;
        let grown: Vec<f64> = sigma.iter().map(|s| 0.5 * (s + (s * s + 2.0 * self.mu).sqrt())).collect();
        let stretched = Mat::from_fn(v.nrows(), grown.len(), |i, j| v[(i, j)] * grown[j]);
        let omega = mul(mul(&stretched, u.transpose()), &problem.root);
        Ok((omega, grown.iter().map(|s| s.ln()).sum()))
    }

    /// Step 2; `A^T A = M^T N M` and `A^T Q = M^T N H` with `N` the number of rows of each class.
    fn codes(&self, problem: &Problem<'_>, omega: &Mat<f64>, m: &Mat<f64>) -> Result<Mat<f64>> {
        let weighted = Mat::from_fn(m.nrows(), m.ncols(), |c, k| self.alpha * problem.rows.size(c) as f64 * m[(c, k)]);
        let mut system = mul(weighted.transpose(), m);
        add_diagonal(&mut system, 1.0 + self.lambda);
        let right = mul(omega, problem.x) + mul(weighted.transpose(), &problem.labels);
        Ok(Spd::new(system, "LCTL codes")?.solve(&right))
    }

    /// Step 3: `M`.
    fn label_map(&self, problem: &Problem<'_>, z: &Mat<f64>) -> Result<Mat<f64>> {
        ridge_readout(z, &problem.targets, problem.rows.len(), self.delta)
    }

    /// The terms of `J`.
    fn terms(&self, problem: &Problem<'_>, now: &Iterate) -> [(&'static str, f64); 6] {
        let by_rows = |a: &Mat<f64>| -> f64 {
            (0..a.nrows()).map(|c| problem.rows.size(c) as f64 * a.row(c).squared_norm_l2()).sum()
        };
        [
            ("fit", frobenius(mul(&now.omega, problem.x) - &now.z).powi(2)),
            ("transform", self.epsilon * now.omega.squared_norm_l2()),
            ("logarithms", -self.mu * now.logarithms),
            ("label consistency", self.alpha * by_rows(&(&problem.labels - mul(&now.m, &now.z)))),
            ("label map", self.alpha * self.delta * by_rows(&now.m)),
            ("codes", self.lambda * now.z.squared_norm_l2()),
        ]
    }

    fn finish(&self, span: &Span<'_>, now: &Iterate) -> Result<LinearCodes> {
        let omega = span.lift_rows(&now.omega);
        LinearCodes::of_analysis(omega.transpose().to_owned(), span.full(), self.ridge)
    }
}

impl Iterate {
    fn store(&self, state: State) -> State {
        let state = state.with("transform", &self.omega).with("codes", &self.z);
        state.with("label_map", &self.m)
    }

    /// The counterpart of [`Iterate::store`]; the next iteration begins with the logarithms of its own transform.
    fn restore(state: State, problem: &Problem<'_>) -> Result<Self> {
        let mut parts = state.into_parts(&[]);
        let n_rows = problem.rows.total();
        Ok(Iterate {
            omega: parts.take_shaped("transform", n_rows, problem.x.nrows())?,
            logarithms: 0.0,
            z: parts.take_shaped("codes", n_rows, problem.x.ncols())?,
            m: parts.take_shaped("label_map", problem.rows.len(), n_rows)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::inner;
    use crate::observe::Trace;
    use crate::{Classifier, synth};
    use faer::Scale;

    /// Few rows and many, beside 8 features.
    fn variants() -> [Lctl; 3] {
        [1, 3, 5].map(|rows| Lctl { atoms_per_class: Some(rows), alpha: 0.3, tol: 0.0, ..Default::default() })
    }

    /// `A` or `Q` from `M` or `H`.
    fn spread(problem: &Problem<'_>, rows: &Mat<f64>) -> Mat<f64> {
        let class = problem.rows.labels();
        Mat::from_fn(class.len(), rows.ncols(), |k, j| rows[(class[k], j)])
    }

    /// `J` from its definition, with `A`, `Q` and the root of `S` formed.
    fn objective(p: &Lctl, problem: &Problem<'_>, omega: &Mat<f64>, z: &Mat<f64>, m: &Mat<f64>) -> f64 {
        let a = spread(problem, m);
        let q = spread(problem, &problem.labels);
        let (values, vectors) = sym_eig(outer_gram(problem.x), "t").unwrap();
        let root = mul(
            Mat::from_fn(8, 8, |i, j| vectors[(i, j)] * (values[j].max(0.0) + p.epsilon).sqrt()),
            vectors.transpose(),
        );
        let (_, sigma, _) = svd(mul(omega, root), "t").unwrap();
        (mul(omega, problem.x) - z).squared_norm_l2() + p.epsilon * omega.squared_norm_l2()
            - p.mu * sigma.iter().map(|s| s.ln()).sum::<f64>()
            + p.alpha * ((q - mul(&a, z)).squared_norm_l2() + p.delta * a.squared_norm_l2())
            + p.lambda * z.squared_norm_l2()
    }

    #[test]
    fn every_block_is_at_its_minimum_and_none_raises_the_objective() {
        let train = synth::blobs(3, 12, 8, 1);
        for p in variants() {
            let problem = p.problem(&train).unwrap();
            let Iterate { mut omega, mut z, mut m, .. } = p.start(&Span::of(&train).unwrap(), &problem).unwrap();
            let mut held = objective(&p, &problem, &omega, &z, &m);
            let mut falls = |now: f64, step: &str| {
                assert!(now <= held + 1e-9 * held.abs(), "{step}: {held} -> {now}");
                held = now;
            };
            for _ in 0..5 {
                let logarithms;
                (omega, logarithms) = p.transform(&problem, &z).unwrap();
                falls(objective(&p, &problem, &omega, &z, &m), "transform");
                // No direction leads down from the minimum over the transform.
                let best = objective(&p, &problem, &omega, &z, &m);
                for seed in 0..4 {
                    let way = gaussian(&mut stream(seed, 9), omega.nrows(), omega.ncols());
                    for step in [1e-3, -1e-3, 0.1] {
                        let moved = &omega + Scale(step) * &way;
                        assert!(objective(&p, &problem, &moved, &z, &m) >= best - 1e-9, "{seed} {step}");
                    }
                }
                z = p.codes(&problem, &omega, &m).unwrap();
                let a = spread(&problem, &m);
                let gradient = &z - mul(&omega, problem.x)
                    + Scale(p.lambda) * &z
                    + Scale(p.alpha) * mul(a.transpose(), mul(&a, &z) - spread(&problem, &problem.labels));
                assert!(gradient.norm_max() < 1e-10);
                falls(objective(&p, &problem, &omega, &z, &m), "codes");
                m = p.label_map(&problem, &z).unwrap();
                let gradient = mul(mul(&m, &z) - &problem.labels, z.transpose()) + Scale(p.delta) * &m;
                assert!(gradient.norm_max() < 1e-10);
                falls(objective(&p, &problem, &omega, &z, &m), "label map");
                let now = Iterate { omega: omega.clone(), logarithms, z: z.clone(), m: m.clone() };
                let terms: f64 = p.terms(&problem, &now).iter().map(|term| term.1).sum();
                let expected = objective(&p, &problem, &omega, &z, &m);
                assert!((terms - expected).abs() < 1e-8 * (1.0 + expected.abs()), "{terms} {expected}");
            }
        }
    }

    /// For as many rows as features the logarithms are that of the determinant, up to a constant.
    #[test]
    fn a_square_transform_has_the_determinant_of_transform_learning() {
        let train = synth::blobs(2, 12, 8, 3);
        let p = Lctl { atoms_per_class: Some(4), ..Default::default() };
        let problem = p.problem(&train).unwrap();
        let start = p.start(&Span::of(&train).unwrap(), &problem).unwrap();
        let other = Mat::from_fn(8, train.n_samples(), |i, j| ((i * 5 + j * 3) % 7) as f64 - 3.0);
        let gap = |z: &Mat<f64>| {
            let (omega, logarithms) = p.transform(&problem, z).unwrap();
            let (_, sigma, _) = svd(&omega, "t").unwrap();
            logarithms - sigma.iter().map(|s| s.ln()).sum::<f64>()
        };
        assert!((gap(&start.z) - gap(&other)).abs() < 1e-8);
    }

    /// Without label consistency codes are the transformed samples, shrunk.
    #[test]
    fn without_label_consistency_codes_are_transformed_samples() {
        let train = synth::blobs(3, 12, 8, 2);
        let p = Lctl { alpha: 0.0, lambda: 0.25, ..Default::default() };
        let problem = p.problem(&train).unwrap();
        let now = p.start(&Span::of(&train).unwrap(), &problem).unwrap();
        let z = p.codes(&problem, &now.omega, &now.m).unwrap();
        assert!((z - Scale(0.8) * mul(&now.omega, train.x())).norm_max() < 1e-12);
    }

    #[test]
    fn it_learns_in_many_features_and_in_few() {
        for dim in [8, 18, 80] {
            let train = synth::blobs(4, 12, dim, 4);
            let mut trace = Trace::default();
            let model = Lctl::default().fit(&train, &mut trace).unwrap();
            let right = model.predict(train.x()).unwrap().iter().zip(train.targets()).filter(|(p, y)| *p == y).count();
            assert!(right * 100 >= 90 * train.n_samples(), "{dim}: {right}");
            for pair in trace.steps.windows(2) {
                let (a, b) = (pair[0].objective.unwrap(), pair[1].objective.unwrap());
                assert!(b <= a + 1e-9 * a.abs(), "{dim}: {a} -> {b}");
            }
            let rows = model.atoms().unwrap().columns;
            assert!(inner(rows, rows) > 0.0 && rows.is_all_finite());
        }
    }
}
