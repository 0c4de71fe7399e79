//! LCLE-DL: locality-constrained and label embedding dictionary learning.
//!
//! ```text
//! J = |X - D Z|_F^2 + |X - D V|_F^2 + alpha tr(Z^T L Z) + beta tr(V^T U V) + gamma |Z - V|_F^2     s.t. |d_k| <= 1
//! ```
//!
//! `X` samples, `D` atoms that belong to classes. Two codes of a sample share the dictionary: `Z` is alike on neighboring
//! atoms (`L`: Laplacian of the graph of nearest atoms, [`crate::graph`]), `V` knows the classes of the atoms
//! (`U_kl = 1 / K_c` if atoms `k` and `l` are both of class `c`, which has `K_c` of them, else 0), and `gamma` draws them
//! together. From class-wise PCA + mean atoms, each iteration takes the graph of the atoms and minimises `J` over one block
//! at a time:
//!
//! 1. `V = (D^T D + beta U + gamma I)^-1 (D^T X + gamma Z)`;
//! 2. `D`: least squares inside the unit ball ([`crate::update::lagrange_dual`]);
//! 3. `Z = (D^T D + alpha L + gamma I)^-1 (D^T X + gamma V)`.
//!
//! While the graph stays, `J` never rises; a new graph may raise it. A new sample gets step 3 without `V`,
//! `z = (D^T D + alpha L + gamma I)^-1 D^T x`, and the scores `W z`, `W` by ridge regression on such codes of the training
//! samples: all in all one small linear map. With SVMs in place of `V` and ridge regression this is LCDL-SV.
//!
//! Reference: Li, Lai, Xu, Yang, Zhang: A locality-constrained and label embedding dictionary learning algorithm for
//! image classification. IEEE TNNLS 2017.
//!
//! Deviations: the published code leaves the atoms free until the end (`constraint = free`), starts from K-SVD
//! (`start = k-svd`), fits `W` on `Z` with unit columns and codes new samples by OMP. See docs/methods/lcle-dl.md.

use crate::classifier::AtomKind;
use crate::graph::AtomGraph;
use crate::init::usual_start;
use crate::iterations::{Done, Iterations};
use crate::linalg::{
    Spd, add_diagonal, frobenius, gram, inner, mul, normalize_columns, outer_gram, pinv_spsd, relative_change,
};
use crate::methods::linear_codes::LinearCodes;
use crate::methods::sparse_linear::{atom_counts, class_ksvd, sparsity};
use crate::params::{Domain, Preset, params, presets, words};
use crate::span::Span;
use crate::update::ksvd::AtomUpdate;
use crate::update::lagrange_dual;
use crate::{Blocks, Dataset, Fit, Observer, Parts, Result, State};
use faer::{Mat, Scale};

/// Iterations of K-SVD within each class, where atoms start from that.
const KSVD_ITERATIONS: usize = 1;
/// Eigenvalues of `Z Z^T + V V^T` below this fraction of the largest count as zero where atoms are free.
const NEGLIGIBLE: f64 = 1e-12;

words! {
    /// What atoms may be.
    pub enum Constraint {
        /// No longer than one.
        Ball = "ball",
        /// Of any length, scaled to length one after the last iteration.
        Free = "free",
    }
}

words! {
    /// Where atoms come from.
    pub enum Start {
        /// Principal directions and mean of every class.
        PcaMean = "pca-mean",
        /// K-SVD within every class, from random samples of it.
        KSvd = "k-svd",
    }
}

params! {
    /// Parameters of LCLE-DL.
    pub struct LcleDl {
        /// Weight of locality: codes are alike on neighboring atoms.
        alpha: f64 = 1e-3, Domain::NonNegative, grid [1e-4, 1e-3, 1e-2];
        /// Weight of the label embedding.
        beta: f64 = 1e-3, Domain::NonNegative, grid [1e-4, 1e-3, 1e-2];
        /// Weight of the agreement of both codes; also the ridge on them.
        gamma: f64 = 1e-2, Domain::Positive, grid [1e-3, 1e-2, 1e-1];
        /// Nearest atoms that each atom is joined to.
        knn: usize = 1, Domain::AtLeast(1);
        /// Atoms per class; `auto` is 10, or the number of samples of a smaller class.
        atoms_per_class: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// Atoms no longer than one throughout, or of any length until the end, as published.
        constraint: Constraint = Constraint::Ball, Domain::OneOf(Constraint::WORDS);
        /// First atoms: principal directions and mean of every class, or K-SVD within every class, as published.
        start: Start = Start::PcaMean, Domain::OneOf(Start::WORDS);
        /// Maximum number of iterations.
        max_iter: usize = 10, Domain::AtLeast(0), grid [0, 1, 10];
        /// Training ends when an iteration changes the dictionary by less than this, relatively; 0 never ends it early.
        tol: f64 = 1e-3, Domain::NonNegative;
        /// Weight of the squared norm of the classifier.
        ridge: f64 = 0.1, Domain::Positive, grid [1e-3, 1e-2, 0.1, 1.0];
        /// Seed of the choice of samples that K-SVD starts from.
        seed: u64 = 0, Domain::AtLeast(0);
    }
}

/// What an iteration takes from the one before; multipliers there are after the first with atoms in the unit ball.
struct Iterate {
    atoms: Blocks,
    d: Mat<f64>,
    z: Mat<f64>,
    multipliers: Option<Vec<f64>>,
}

impl Fit for LcleDl {
    type Model = LinearCodes;
    const KEY: &'static str = "lcle-dl";
    const TITLE: &'static str = "Locality-constrained and label embedding dictionary learning (LCLE-DL)";
    const PAPER: &'static str = "Li, Lai, Xu, Yang, Zhang: A locality-constrained and label embedding dictionary learning algorithm for image classification. IEEE TNNLS 2017";
    const PRESETS: &'static [Preset] = presets![Self:
        "unit-ball", "the defaults" => {};
        "published", "start, weights and free atoms of a public copy of the authors' code; new samples are coded by the linear map, not by OMP" => { alpha: 1e-4, beta: 1e-3, gamma: 1e-3, knn: 30, constraint: Constraint::Free, start: Start::KSvd, tol: 0.0, ridge: 1.0 };
    ];
    const DECISION: &'static [&'static str] = &["ridge"];
    const CLOSED_FORM: bool = true;
    const ITERATES: bool = true;

    fn learn(&self, full: &Dataset, from: Option<State>, watch: &mut dyn Observer) -> Result<LinearCodes> {
        let span = Span::of(full)?;
        let train = span.train();
        let iterations = Iterations::new(Self::KEY, &from, self.max_iter, self.tol)?;
        let Iterate { atoms, mut d, mut z, mut multipliers } = match from {
            None => self.start(train, watch)?,
            Some(state) => self.restore_iterate(state, train)?,
        };
        for iter in iterations.left() {
            let before = d.clone();
            let graph = self.graph(&d);
            let v = self.label_codes(train, &d, &atoms, &z)?;
            (d, multipliers) = self.dictionary(train, &d, (&z, &v), multipliers, watch)?;
            z = self.local_codes(train, &d, &graph, &v)?;

            let terms = self.terms(train, &d, (&z, &v), &graph, &atoms);
            let change = relative_change(&d, &before);
            let done = Done {
                terms: &terms,
                change: Some(change),
                model: &|| self.finish(&span, &d),
                state: &|state| {
                    let state = state.with("dictionary", &d).with("codes", &z);
                    let state = state.with_blocks("atom_counts", &atoms);
                    state.with_row("multipliers", multipliers.as_deref().unwrap_or_default())
                },
            };
            if iterations.report(iter, &done, watch)?.is_break() {
                break;
            }
        }
        self.finish(&span, &d)
    }

    fn restore(&self, parts: Parts) -> Result<LinearCodes> {
        LinearCodes::restore(parts, AtomKind::Dictionary)
    }

    fn redecide(&self, model: &LinearCodes, train: &Dataset) -> Result<LinearCodes> {
        model.refitted(train, self.ridge)
    }
}

impl LcleDl {
    /// The first atoms, and their codes without labels.
    fn start(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<Iterate> {
        let (d, atoms) = match self.start {
            Start::PcaMean => usual_start(train, self.atoms_per_class, watch)?,
            Start::KSvd => {
                let counts = atom_counts(train, self.atoms_per_class, watch);
                let sparsity = sparsity(None, train.n_features(), counts.total());
                let update = AtomUpdate::Approximate;
                (class_ksvd(train, &counts, sparsity, KSVD_ITERATIONS, update, self.seed)?, counts)
            }
        };
        let z = mul(self.code_map(&d, &self.graph(&d))?, train.x());
        Ok(Iterate { atoms, d, z, multipliers: None })
    }

    fn restore_iterate(&self, state: State, train: &Dataset) -> Result<Iterate> {
        let mut parts = state.into_parts(train.classes());
        let d = parts.take_shaped("dictionary", train.n_features(), None)?;
        let z = parts.take_shaped("codes", d.ncols(), train.n_samples())?;
        let atoms = parts.take_blocks("atom_counts", d.ncols())?;
        let multipliers = match self.constraint {
            Constraint::Ball => Some(parts.take_row("multipliers", d.ncols())?),
            Constraint::Free => parts.take_row("multipliers", 0).map(|_| None)?,
        };
        Ok(Iterate { atoms, d, z, multipliers })
    }

    fn graph(&self, d: &Mat<f64>) -> AtomGraph {
        AtomGraph::new(d, self.knn, Default::default())
    }

    /// `D^T D + alpha L + gamma I`, factored.
    fn local_system(&self, d: &Mat<f64>, graph: &AtomGraph) -> Result<Spd> {
        let mut system = gram(d);
        graph.add_laplacian(self.alpha, &mut system);
        add_diagonal(&mut system, self.gamma);
        Ok(Spd::new(system, "LCLE-DL local codes")?)
    }

    /// `(D^T D + alpha L + gamma I)^-1 D^T`, the map to codes of new samples.
    fn code_map(&self, d: &Mat<f64>, graph: &AtomGraph) -> Result<Mat<f64>> {
        Ok(self.local_system(d, graph)?.solve(d.transpose()))
    }

    /// Step 1.
    fn label_codes(&self, train: &Dataset, d: &Mat<f64>, atoms: &Blocks, z: &Mat<f64>) -> Result<Mat<f64>> {
        let mut system = gram(d);
        for range in atoms.ranges() {
            let share = self.beta / range.len() as f64;
            range.clone().for_each(|k| range.clone().for_each(|l| system[(k, l)] += share));
        }
        add_diagonal(&mut system, self.gamma);
        let right = mul(d.transpose(), train.x()) + Scale(self.gamma) * z;
        Ok(Spd::new(system, "LCLE-DL label codes")?.solve(&right))
    }

    /// Step 2: atoms and multipliers.
    fn dictionary(
        &self,
        train: &Dataset,
        d: &Mat<f64>,
        (z, v): (&Mat<f64>, &Mat<f64>),
        multipliers: Option<Vec<f64>>,
        watch: &mut dyn Observer,
    ) -> Result<(Mat<f64>, Option<Vec<f64>>)> {
        let e = mul(train.x(), (z + v).transpose());
        let f = outer_gram(z) + outer_gram(v);
        match self.constraint {
            Constraint::Free => Ok((mul(&e, pinv_spsd(&f, NEGLIGIBLE, "LCLE-DL dictionary")?), None)),
            Constraint::Ball => {
                let found = lagrange_dual::minimize(&e, &f, d, multipliers.as_deref(), watch)?;
                Ok((found.dictionary, Some(found.multipliers)))
            }
        }
    }

    /// Step 3.
    fn local_codes(&self, train: &Dataset, d: &Mat<f64>, graph: &AtomGraph, v: &Mat<f64>) -> Result<Mat<f64>> {
        let right = mul(d.transpose(), train.x()) + Scale(self.gamma) * v;
        Ok(self.local_system(d, graph)?.solve(&right))
    }

    /// The terms of `J`.
    fn terms(
        &self,
        train: &Dataset,
        d: &Mat<f64>,
        (z, v): (&Mat<f64>, &Mat<f64>),
        graph: &AtomGraph,
        atoms: &Blocks,
    ) -> [(&'static str, f64); 5] {
        let fit = |codes: &Mat<f64>| frobenius(train.x() - mul(d, codes)).powi(2);
        [
            ("local codes", fit(z)),
            ("label codes", fit(v)),
            ("locality", self.alpha * inner(z, graph.times(z))),
            ("label embedding", self.beta * label_energy(atoms, v)),
            ("agreement", self.gamma * frobenius(z - v).powi(2)),
        ]
    }

    /// Atoms of length one at most, in all features, and a classifier on the codes that new samples get.
    fn finish(&self, span: &Span<'_>, d: &Mat<f64>) -> Result<LinearCodes> {
        let mut d = d.clone();
        if self.constraint == Constraint::Free {
            normalize_columns(d.as_mut());
        }
        let map = self.code_map(&d, &self.graph(&d))?;
        LinearCodes::of_dictionary(span.lift_columns(&d), span.lift_rows(&map), span.full(), self.ridge)
    }
}

/// `tr(V^T U V)`: for every class, the squared sum of a sample's code over the class's atoms, by the number of these.
fn label_energy(atoms: &Blocks, v: &Mat<f64>) -> f64 {
    let of_class = |range: std::ops::Range<usize>| {
        let squared = |column: faer::ColRef<'_, f64>| range.clone().map(|k| column[k]).sum::<f64>().powi(2);
        v.col_iter().map(squared).sum::<f64>() / range.len().max(1) as f64
    };
    atoms.ranges().map(of_class).sum()
}

#[cfg(test)]
mod tests;
