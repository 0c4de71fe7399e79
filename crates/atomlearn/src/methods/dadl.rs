//! DADL: discriminative analysis dictionary learning.
//!
//! ```text
//! J = sum_i e(|z_i - Omega x_i|^2) + lambda1 sum_i e(|z_i - h_i|^2)
//!     + lambda2/2 sum_ij W_ij e(|Omega x_i - Omega x_j|^2) + lambda3/sigma^2 |Omega|_F^2,    |z_i|_0 <= T0,
//! e(d) = 1 - exp(-d / sigma^2)
//! ```
//!
//! `Omega` analysis dictionary, `z_i` codes, `h_i` the target code of the sample's class (one-hot copies and a Walsh
//! code, with `T0` non-zeros), `W` a graph of nearest samples that favours the own class. The bounded loss `e` is
//! replaced by its quadratic majoriser (half-quadratic optimisation). Per iteration, with weights `p = q = 1`, `R = 1`
//! at first:
//!
//! 1. three times: `Omega = Z diag(p) X^T (X (diag(p) + lambda2 L) X^T + lambda3 I)^-1`, `L` the Laplacian of `W o R`;
//!    `z_i = hard((Omega x_i + w_i h_i) / (1 + w_i))`, `w_i = lambda1 q_i / p_i`, the `T0` largest entries kept;
//! 2. `p_i = 1 - e(|z_i - Omega x_i|^2)`, `q_i = 1 - e(|z_i - h_i|^2)`, `R_ij = 1 - e(|Omega x_i - Omega x_j|^2)`.
//!
//! A sample gets the class of the nearest training sample, both as codes `Omega x`.
//!
//! Reference: Guo, Guo, Kong, Zhang, He: Discriminative analysis dictionary learning. AAAI 2016.
//!
//! Deviations: the Laplacian is the paper's (the published code subtracts `W` from the degrees of `W o R`); equal
//! copies of a row are kept once, scaled; a group of copies that does not fit into `T0` is dropped, as the published
//! code drops ties; test codes are not thresholded unless `threshold` is set; with more features than samples, the
//! length of the codes follows the rank of the samples.

mod neighbors;
mod target;

use crate::classifier::{AtomKind, Atoms, Header};
use crate::coding::threshold::hard;
use crate::iterations::{Done, Iterations};
use crate::linalg::{Spd, add_diagonal, column_energies, mul, relative_change};
use crate::observe::unless_resumed;
use crate::params::{Domain, Preset, params, presets};
use crate::span::Span;
use crate::{Blocks, Classifier, Dataset, Error, Fit, Observer, Parts, Result, State};
use faer::{Mat, MatRef};
use neighbors::{Neighbors, nearest_of_class};
use rayon::prelude::*;
use target::Targets;

/// Alternations of dictionary and codes between two updates of the weights.
const INNER: usize = 3;
/// No weight falls below this.
const SMALLEST_WEIGHT: f64 = 1e-12;

/// More nonzeros than any model has; a file that says so is refused.
const MOST_NONZEROS: usize = 1_000_000_000_000;

params! {
    /// Parameters of DADL.
    pub struct Dadl {
        /// Weight of the target codes.
        lambda1: f64 = 10.0, Domain::NonNegative;
        /// Weight of the graph of samples.
        lambda2: f64 = 1e-3, Domain::NonNegative, grid [1e-4, 1e-3, 1e-2];
        /// Ridge on the analysis dictionary.
        lambda3: f64 = 0.1, Domain::Positive, grid [1e-3, 1e-2, 0.1, 1.0, 4.0];
        /// Width of the correntropy kernel.
        sigma: f64 = 10.0, Domain::Positive;
        /// Nearest samples that each sample is joined to.
        knn: usize = 7, Domain::AtLeast(1), grid [3, 7];
        /// Keep only the T0 largest entries of the codes that are compared, as in training.
        threshold: bool = false, Domain::Flag;
        /// Maximum number of iterations.
        max_iter: usize = 6, Domain::AtLeast(1);
        /// Training ends when an iteration changes the dictionary by less than this, relatively; 0 never ends it early.
        tol: f64 = 1e-4, Domain::NonNegative;
    }
}

/// A learned analysis dictionary and the training codes.
pub struct DadlModel {
    header: Header,
    /// `Omega^T`: atoms in columns.
    analysis: Mat<f64>,
    codes: Mat<f64>,
    /// `T0` and how often a one-hot row counts.
    sparsity: [usize; 2],
    energy: Vec<f64>,
    blocks: Blocks,
    threshold: bool,
}

/// What the iterations work on.
struct Iterate {
    omega: Mat<f64>,
    /// `V = Omega X`.
    responses: Mat<f64>,
    z: Mat<f64>,
    p: Vec<f64>,
    q: Vec<f64>,
    r: Vec<f64>,
}

impl Fit for Dadl {
    type Model = DadlModel;
    const KEY: &'static str = "dadl";
    const TITLE: &'static str = "Discriminative analysis dictionary learning (DADL)";
    const PAPER: &'static str = "Guo, Guo, Kong, Zhang, He: Discriminative analysis dictionary learning. AAAI 2016";
    const PRESETS: &'static [Preset] = presets![Self:
        "faces", "Extended Yale B and AR, as printed in the paper; the defaults" => {};
        "caltech101", "Caltech101, as printed in the paper" => { knn: 5, lambda3: 4.0 };
        "scene15", "Scene15, as printed in the paper" => { knn: 5, lambda2: 1e-2, lambda3: 1.0 };
    ];
    const ITERATES: bool = true;

    fn learn(&self, train: &Dataset, from: Option<State>, watch: &mut dyn Observer) -> Result<DadlModel> {
        let span = Span::of(train)?;
        let seen = span.train();
        let targets = Targets::new(train.n_classes(), seen.n_features());
        let wanted = wanted_codes(seen, &targets);
        let knn = self.knn.min(train.n_samples() - 1);
        if knn < self.knn {
            unless_resumed(&from, watch, &mut ())
                .warn(&format!("DADL: {knn} instead of {} neighbours, there are no more samples", self.knn));
        }
        let graph = Neighbors::new(seen, knn, self.sigma);
        let finish = |now: &Iterate| -> DadlModel {
            let rows = now.omega.transpose().to_owned();
            let analysis = span.lift_columns(&rows);
            let sparsity = [targets.nonzeros, targets.copies];
            let mut codes = now.responses.clone();
            if self.threshold {
                keep_largest(&mut codes, train.n_classes(), targets.nonzeros, targets.copies);
            }
            self.model(train.classes().to_vec(), analysis, codes, train.blocks().clone(), sparsity)
        };

        let iterations = Iterations::new(Self::KEY, &from, self.max_iter, self.tol)?;
        let mut now = match from {
            None => Iterate::new(&wanted, graph.edges.len(), seen),
            Some(from) => self.restore_iterate(from, &wanted, &graph, seen)?,
        };
        for iter in iterations.left() {
            let map = self.dictionary_map(seen, &graph, &now)?;
            let before = now.omega.clone();
            for _ in 0..INNER {
                now.omega = mul(&now.z, &map);
                now.responses = mul(&now.omega, seen.x());
                self.update_codes(&wanted, &targets, &mut now);
            }
            self.update_weights(&wanted, &graph, &mut now);
            let change = relative_change(&now.omega, &before);
            let terms = self.terms(&graph, &now);
            let done = Done {
                terms: &terms,
                change: Some(change),
                model: &|| Ok(finish(&now)),
                state: &|state| state.with("omega", &now.omega).with("codes", &now.z),
            };
            if iterations.report(iter, &done, watch)?.is_break() {
                break;
            }
        }
        Ok(finish(&now))
    }

    fn restore(&self, mut parts: Parts) -> Result<DadlModel> {
        let analysis = parts.take("analysis")?;
        let codes = parts.take_shaped("codes", analysis.ncols(), None)?;
        let blocks = parts.take_blocks("sample_counts", codes.ncols())?;
        let sparsity = parts.take_whole_row("sparsity", 2, MOST_NONZEROS)?;
        if codes.nrows() < parts.classes.len() {
            return Err(Error::Data("model part `codes` does not fit the classes".into()));
        }
        let sparsity = [sparsity[0], sparsity[1]];
        Ok(self.model(parts.classes, analysis, codes, blocks, sparsity))
    }
}

impl Iterate {
    /// `Z = H` and equal weights.
    fn new(wanted: &Mat<f64>, n_edges: usize, train: &Dataset) -> Self {
        let (k, n) = wanted.shape();
        Iterate {
            omega: Mat::zeros(k, train.n_features()),
            responses: Mat::zeros(k, n),
            z: wanted.clone(),
            p: vec![1.0; n],
            q: vec![1.0; n],
            r: vec![1.0; n_edges],
        }
    }
}

impl Dadl {
    fn model(
        &self,
        classes: Vec<String>,
        analysis: Mat<f64>,
        codes: Mat<f64>,
        blocks: Blocks,
        sparsity: [usize; 2],
    ) -> DadlModel {
        let energy = column_energies(&codes);
        DadlModel {
            header: Header::new(classes, analysis.nrows(), &["nearest"]),
            analysis,
            codes,
            sparsity,
            energy,
            blocks,
            threshold: self.threshold,
        }
    }

    /// Everything else follows from `Omega` and `Z`.
    fn restore_iterate(&self, state: State, wanted: &Mat<f64>, graph: &Neighbors, train: &Dataset) -> Result<Iterate> {
        let mut parts = state.into_parts(train.classes());
        let omega = parts.take_shaped("omega", wanted.nrows(), train.n_features())?;
        let z = parts.take_shaped("codes", wanted.nrows(), wanted.ncols())?;
        let responses = mul(&omega, train.x());
        let mut restored = Iterate { omega, responses, z, ..Iterate::new(wanted, graph.edges.len(), train) };
        self.update_weights(wanted, graph, &mut restored);
        Ok(restored)
    }

    /// `diag(p) X^T (X (diag(p) + lambda2 L) X^T + lambda3 I)^-1`, samples x features.
    fn dictionary_map(&self, train: &Dataset, graph: &Neighbors, state: &Iterate) -> Result<Mat<f64>> {
        let spread = graph.spread(train.x(), &state.p, self.lambda2, &state.r);
        let mut system = mul(&spread, train.x().transpose());
        add_diagonal(&mut system, self.lambda3);
        let mut map = Spd::new(system, "DADL dictionary")?.solve(train.x());
        for (column, &p) in map.as_mut().col_iter_mut().zip(&state.p) {
            column.iter_mut().for_each(|v| *v *= p);
        }
        Ok(map.transpose().to_owned())
    }

    /// `z_i = hard((Omega x_i + w_i h_i) / (1 + w_i))`.
    fn update_codes(&self, wanted: &Mat<f64>, targets: &Targets, state: &mut Iterate) {
        let Iterate { responses, z, p, q, .. } = state;
        z.as_mut().par_col_iter_mut().enumerate().with_min_len(16).for_each(|(i, z)| {
            let w = self.lambda1 * q[i] / p[i];
            let mix = z.iter_mut().zip(responses.col(i).iter().zip(wanted.col(i).iter()));
            mix.for_each(|(z, (v, h))| *z = (v + w * h) / (1.0 + w));
        });
        keep_largest(z, targets.codes.ncols(), targets.nonzeros, targets.copies);
    }

    /// `p`, `q` and `R` from the distances.
    fn update_weights(&self, wanted: &Mat<f64>, graph: &Neighbors, state: &mut Iterate) {
        let weight = |squared: f64| (-squared / (self.sigma * self.sigma)).exp().max(SMALLEST_WEIGHT);
        state.p = column_distances(&state.z, &state.responses).map(weight).collect();
        state.q = column_distances(&state.z, wanted).map(weight).collect();
        state.r = graph.squared_distances(&state.responses).into_iter().map(weight).collect();
    }

    /// The terms of `J`; the weights already are `1 - e`.
    fn terms(&self, graph: &Neighbors, state: &Iterate) -> [(&'static str, f64); 4] {
        let loss = |weights: &[f64]| weights.iter().map(|w| 1.0 - w).sum::<f64>();
        let joined: f64 = graph.edges.iter().zip(&state.r).map(|(edge, r)| edge.2 * (1.0 - r)).sum();
        let ridge = self.lambda3 / (self.sigma * self.sigma) * state.omega.squared_norm_l2();
        [
            ("fit", loss(&state.p)),
            ("targets", self.lambda1 * loss(&state.q)),
            ("graph", self.lambda2 * joined),
            ("ridge", ridge),
        ]
    }
}

/// `H`: the target of its class for every sample.
fn wanted_codes(train: &Dataset, targets: &Targets) -> Mat<f64> {
    crate::linalg::select_columns(&targets.codes, &train.targets())
}

/// `|a_i - b_i|^2` of every column.
fn column_distances<'a>(a: &'a Mat<f64>, b: &'a Mat<f64>) -> impl Iterator<Item = f64> + 'a {
    a.col_iter().zip(b.col_iter()).map(|(a, b)| a.iter().zip(b.iter()).map(|(a, b)| (a - b) * (a - b)).sum())
}

/// Hard thresholding of every column; the first `n_classes` rows stand for `copies` equal ones each.
fn keep_largest(z: &mut Mat<f64>, n_classes: usize, nonzeros: usize, copies: usize) {
    let root = (copies as f64).sqrt();
    let cost = |r: usize| if r < n_classes { copies } else { 1 };
    let size = |r: usize, v: f64| if r < n_classes { v / root } else { v };
    z.as_mut().par_col_iter_mut().with_min_len(16).for_each(|column| {
        if let Some(column) = column.try_as_col_major_mut() {
            hard(column.as_slice_mut(), nonzeros, cost, size);
        }
    });
}

impl Classifier for DadlModel {
    fn header(&self) -> &Header {
        &self.header
    }

    fn store(&self, parts: &mut Parts) {
        let [nonzeros, copies] = self.sparsity;
        parts.put("analysis", &self.analysis);
        parts.put("codes", &self.codes);
        parts.put_blocks("sample_counts", &self.blocks);
        parts.put_row("sparsity", &[nonzeros as f64, copies as f64]);
    }

    fn atoms(&self) -> Option<Atoms<'_>> {
        Some(Atoms { kind: AtomKind::Analysis, columns: &self.analysis, classes: None })
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        let mut z = mul(self.analysis.transpose(), x);
        if self.threshold {
            let [nonzeros, copies] = self.sparsity;
            keep_largest(&mut z, self.classes().len(), nonzeros, copies);
        }
        vec![nearest_of_class(self.codes.as_ref(), &self.energy, &self.blocks, z.as_ref())]
    }

    fn codes_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        Some(mul(self.analysis.transpose(), x))
    }
}

#[cfg(test)]
mod tests;
