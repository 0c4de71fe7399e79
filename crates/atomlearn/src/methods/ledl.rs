//! LEDL: label embedded dictionary learning.
//!
//! ```text
//! J = |X - D Z|_F^2 + lambda |H - W Z|_F^2 + omega |Q - A Z|_F^2 + 2 epsilon |Z|_1     s.t. |d_k| = |w_k| = |a_k| = 1
//! ```
//!
//! `X` samples, `D` atoms that belong to classes, `Z` sparse codes, `H` one-hot labels, `W` classifier, `Q_ki = 1` if atom `k`
//! and sample `i` share the class, `A` the map to it: LC-KSVD with a sum of magnitudes in place of a count. From samples as
//! atoms, one-hot `W` and ideal `A`, each iteration minimises `J` over one block after the other, so that it never rises:
//!
//! 1. `Z`: lasso codes of samples with weighted labels below them ([`crate::coding::lasso`]), to a small duality gap;
//! 2. `D`, `W`, `A`: one sweep over their columns, each in closed form ([`crate::update::unit_atoms`]).
//!
//! With `B` the one-hot classes of the atoms, `Q = B H`, and no step leads out of the matrices of the form `A = B M`. So the
//! K x K matrix `A` is never formed: `|Q - A Z|_F^2 = sum_c K_c |h_c - m_c Z|^2` over the rows of `H` and `M`, where class `c`
//! has `K_c` atoms. A new sample gets its lasso code over `D` and the scores `W z`.
//!
//! Reference: Shao, Xu, Wang, Liu, Liu, Wang: Label embedded dictionary learning for image classification.
//! Neurocomputing 2020 (arXiv 1903.03087).
//!
//! Deviations: codes are exact (published: one step of ADMM with a damped multiplier per iteration); `readout = refit` fits
//! `W` on codes made as for new samples, without labels (`joint` is the published one); atoms start from samples
//! (`start = random`: random columns). See docs/methods/ledl.md.

use crate::coding::lasso::{LassoCoder, LassoLimits, LassoTask};
use crate::draw::{gaussian, stream};
use crate::iterations::{Done, Iterations, objective, relative_decrease};
use crate::linalg::{column_energies, concat_columns, mul, normalize_columns, one_hot, outer_gram};
use crate::methods::sparse_linear::{Readout, SparseLinear, atom_counts, sample_atoms};
use crate::observe::unless_resumed;
use crate::params::{Domain, Preset, params, presets, words};
use crate::span::Span;
use crate::update::unit_atoms::sweep;
use crate::{Blocks, Dataset, Fit, Observer, Parts, Result, State};
use faer::{Mat, MatRef};

words! {
    /// Where atoms, classifier and label map come from.
    pub enum Start {
        /// Random samples of every class, with the labels of their class.
        Samples = "samples",
        /// Random columns.
        Random = "random",
    }
}

params! {
    /// Parameters of LEDL.
    pub struct Ledl {
        /// Weight of the classification term.
        lambda: f64 = 4e-3, Domain::NonNegative, grid [2.5e-4, 4e-3, 6e-2];
        /// Weight of label consistency.
        omega: f64 = 5e-4, Domain::NonNegative, grid [0.0, 5e-4, 8e-3];
        /// Weight of the magnitudes of the codes, in training and for new samples.
        epsilon: f64 = 1e-2, Domain::Positive, grid [1e-3, 1e-2, 5e-2];
        /// Atoms per class; `auto` is 10, or the number of samples of a smaller class.
        atoms_per_class: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// First atoms: random samples of every class, or random columns, as published.
        start: Start = Start::Samples, Domain::OneOf(Start::WORDS);
        /// Maximum number of iterations.
        max_iter: usize = 10, Domain::AtLeast(0), grid [0, 2, 10];
        /// Training ends when an iteration lowers the objective by less than this, relatively; 0 never ends it early.
        tol: f64 = 1e-4, Domain::NonNegative;
        /// The classifier: refitted on codes made as for new samples, or the one learned jointly, as published.
        readout: Readout = Readout::Refit, Domain::OneOf(Readout::WORDS);
        /// Weight of the squared norm of the classifier, where it is refitted.
        ridge: f64 = 0.1, Domain::Positive, grid [1e-2, 0.1, 1.0];
        /// Seed of the choice of samples that become the first atoms, or of the random columns.
        seed: u64 = 0, Domain::AtLeast(0);
    }
}

/// What does not change while learning.
struct Problem<'a> {
    x: MatRef<'a, f64>,
    /// `H`.
    labels: Mat<f64>,
    atoms: Blocks,
}

/// What is learned.
struct Iterate {
    d: Mat<f64>,
    /// `W`, classes x atoms.
    w: Mat<f64>,
    /// `M`, classes x atoms, with `A = B M`.
    m: Mat<f64>,
}

impl Fit for Ledl {
    type Model = SparseLinear;
    const KEY: &'static str = "ledl";
    const TITLE: &'static str = "Label embedded dictionary learning (LEDL)";
    const PAPER: &'static str = "Shao, Xu, Wang, Liu, Liu, Wang: Label embedded dictionary learning for image classification. Neurocomputing 2020";
    const PRESETS: &'static [Preset] = presets![Self:
        "samples", "the defaults" => {};
        "published", "random start and joint classifier as published, weights from the middle of the published grids" => { lambda: 1.0 / 64.0, omega: 1.0 / 64.0, epsilon: 1.0 / 64.0, start: Start::Random, tol: 1e-6, readout: Readout::Joint };
    ];
    const ITERATES: bool = true;

    fn learn(&self, full: &Dataset, from: Option<State>, watch: &mut dyn Observer) -> Result<SparseLinear> {
        let span = Span::of(full)?;
        let train = span.train();
        let iterations = Iterations::new(Self::KEY, &from, self.max_iter, self.tol)?;
        let atoms = atom_counts(train, self.atoms_per_class, unless_resumed(&from, watch, &mut ()));
        let problem = Problem { x: train.x(), labels: one_hot(&train.targets(), train.n_classes()), atoms };
        let (mut now, mut held) = match from {
            None => (self.start(&span, &problem), f64::INFINITY),
            Some(state) => (Iterate::restore(&state, &problem)?, state.value("held")?),
        };
        for iter in iterations.left() {
            let z = self.codes(&problem, &now);
            self.update_columns(&problem, &z, &mut now);

            let terms = self.terms(&problem, &z, &now);
            let objective = objective(&terms);
            let change = relative_decrease(held, objective);
            let done = Done {
                terms: &terms,
                change: Some(change),
                model: &|| self.finish(&span, &now),
                state: &|state| now.store(state.with_value("held", objective)),
            };
            if iterations.report(iter, &done, watch)?.is_break() {
                break;
            }
            held = objective;
        }
        self.finish(&span, &now)
    }

    fn restore(&self, mut parts: Parts) -> Result<SparseLinear> {
        let (dictionary, weights) = SparseLinear::take(&mut parts)?;
        Ok(SparseLinear::by_lasso(parts.classes, dictionary, weights, self.epsilon))
    }
}

impl Ledl {
    /// First atoms; `A` has unit columns as long as those of `M` have the length `1 / sqrt(K_c)` in their class's row.
    fn start(&self, span: &Span<'_>, problem: &Problem<'_>) -> Iterate {
        let n_classes = span.full().n_classes();
        let n_atoms = problem.atoms.total();
        match self.start {
            Start::Samples => {
                let d = concat_columns(&sample_atoms(span.train(), &problem.atoms, self.seed));
                let w = one_hot(&problem.atoms.labels(), n_classes);
                let m = problem.label_map(&w);
                Iterate { d, w, m }
            }
            Start::Random => {
                let draw = |index: usize, rows: usize| {
                    let mut drawn = gaussian(&mut stream(self.seed, index), rows, n_atoms);
                    normalize_columns(drawn.as_mut());
                    drawn
                };
                let mut d = span.project_columns(draw(0, span.full().n_features()));
                normalize_columns(d.as_mut());
                Iterate { d, w: draw(1, n_classes), m: problem.label_map(&draw(2, n_classes)) }
            }
        }
    }

    /// Step 1: half of `J` over the codes of one sample is a lasso over `[D; sqrt(lambda) W; sqrt(omega K_c) M]`.
    fn codes(&self, problem: &Problem<'_>, now: &Iterate) -> Mat<f64> {
        let stacked = |top: MatRef<'_, f64>, labels: &Mat<f64>, structure: &Mat<f64>| {
            let (m, n_classes) = (top.nrows(), labels.nrows());
            Mat::from_fn(m + 2 * n_classes, top.ncols(), |i, j| match i {
                _ if i < m => top[(i, j)],
                _ if i < m + n_classes => self.lambda.sqrt() * labels[(i - m, j)],
                _ => {
                    let c = i - m - n_classes;
                    (self.omega * problem.atoms.size(c) as f64).sqrt() * structure[(c, j)]
                }
            })
        };
        let atoms = stacked(now.d.as_ref(), &now.w, &now.m);
        let signals = stacked(problem.x, &problem.labels, &problem.labels);
        let correlations = mul(atoms.transpose(), &signals);
        let energies = column_energies(&signals);
        let task = LassoTask::Penalized(self.epsilon);
        LassoCoder::penalized(&atoms).codes(&correlations, &energies, task, LassoLimits::default()).codes.to_dense()
    }

    /// Step 2.
    fn update_columns(&self, problem: &Problem<'_>, z: &Mat<f64>, now: &mut Iterate) {
        let f = outer_gram(z);
        let e = mul(problem.x, z.transpose());
        sweep(&e, &f, &mut now.d, |_| 1.0);
        let e = mul(&problem.labels, z.transpose());
        sweep(&e, &f, &mut now.w, |_| 1.0);
        problem.sweep_label_map(&e, &f, &mut now.m);
    }

    /// The terms of `J`.
    fn terms(&self, problem: &Problem<'_>, z: &Mat<f64>, now: &Iterate) -> [(&'static str, f64); 4] {
        let apart = &problem.labels - mul(&now.m, z);
        let consistency = (0..apart.nrows()).map(|c| problem.atoms.size(c) as f64 * apart.row(c).squared_norm_l2());
        [
            ("reconstruction", (problem.x - mul(&now.d, z)).squared_norm_l2()),
            ("labels", self.lambda * (&problem.labels - mul(&now.w, z)).squared_norm_l2()),
            ("label consistency", self.omega * consistency.sum::<f64>()),
            ("sparsity", 2.0 * self.epsilon * z.norm_l1()),
        ]
    }

    fn finish(&self, span: &Span<'_>, now: &Iterate) -> Result<SparseLinear> {
        let full = span.full();
        let model =
            SparseLinear::by_lasso(full.classes().to_vec(), span.lift_columns(&now.d), now.w.clone(), self.epsilon);
        match self.readout {
            Readout::Refit => model.refitted(full, self.ridge),
            Readout::Joint => Ok(model),
        }
    }
}

impl Problem<'_> {
    /// The length of `a_k = B m`.
    fn label_length(&self, m: &[f64]) -> f64 {
        m.iter().zip(self.atoms.sizes()).map(|(v, size)| size as f64 * v * v).sum::<f64>().sqrt()
    }

    /// These columns, scaled so that those of `A = B M` have length one.
    fn label_map(&self, columns: &Mat<f64>) -> Mat<f64> {
        let lengths: Vec<f64> = (0..columns.ncols()).map(|k| self.label_length(columns.col_as_slice(k))).collect();
        Mat::from_fn(columns.nrows(), columns.ncols(), |c, k| columns[(c, k)] / lengths[k])
    }

    /// One sweep over the columns of `A`, seen through `M`: `B^T v` of the update of `a_k` is `v` here, up to `K_c` that
    /// cancels, and `|a_k| = 1` is a length in which class `c` counts `K_c` times.
    fn sweep_label_map(&self, e: &Mat<f64>, f: &Mat<f64>, m: &mut Mat<f64>) {
        let sizes: Vec<f64> = self.atoms.sizes().map(|size| (size as f64).sqrt()).collect();
        let scaled = |a: &Mat<f64>| Mat::from_fn(a.nrows(), a.ncols(), |c, k| sizes[c] * a[(c, k)]);
        let mut rows = scaled(m);
        sweep(&scaled(e), f, &mut rows, |_| 1.0);
        // A class without atoms has no rows in `A`.
        let back = |c: usize, k: usize| if sizes[c] > 0.0 { rows[(c, k)] / sizes[c] } else { 0.0 };
        *m = Mat::from_fn(m.nrows(), m.ncols(), back);
    }
}

impl Iterate {
    fn store(&self, state: State) -> State {
        let state = state.with("dictionary", &self.d).with("classifier", &self.w);
        state.with("label_map", &self.m)
    }

    fn restore(state: &State, problem: &Problem<'_>) -> Result<Self> {
        let mut parts = state.clone().into_parts(&[]);
        let n_atoms = problem.atoms.total();
        let n_classes = problem.labels.nrows();
        Ok(Iterate {
            d: parts.take_shaped("dictionary", problem.x.nrows(), n_atoms)?,
            w: parts.take_shaped("classifier", n_classes, n_atoms)?,
            m: parts.take_shaped("label_map", n_classes, n_atoms)?,
        })
    }
}

#[cfg(test)]
mod tests;
