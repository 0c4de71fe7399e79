//! DLSI: dictionary learning with structured incoherence.
//!
//! Every class has its own atoms `D_c`, which represent its samples with sparse codes and share little with the atoms of other
//! classes:
//!
//! ```text
//! J = sum_c (1/2 |X_c - D_c Z_c|^2 + lambda |Z_c|_1) + eta / 4 sum_{c != j} |D_j^T D_c|^2,      |d_k| <= 1
//! ```
//!
//! Steps: 1. atoms of each class: its principal directions and mean; 2. codes, one lasso per sample over the atoms of its class;
//! 3. the atoms of one class after the other (`update/incoherent.rs`); 2. and 3. in turn. A new sample is decided by a code over
//! all atoms or by one per class, see `class_dictionary.rs`; the paper has the latter.
//!
//! Reference: Ramirez, Sprechmann, Sapiro, CVPR 2010. Deviations: the start (there: some iterations of dictionary learning from random
//! samples); codes are solved to their optimum, where toolboxes take a fixed number of steps; `rule = global` by default.

use super::class_dictionary::{ClassDictionary, Decision, GLOBAL_LOCAL, Rule};
use crate::init::class_start;
use crate::iterations::{Done, Iterations};
use crate::linalg::{gram, mul, outer_gram, relative_change};
use crate::params::{Domain, Preset, params, presets};
use crate::span::Span;
use crate::update::incoherent::{Incoherent, warn_unsettled};
use crate::update::lasso_dictionary::{codes, terms};
use crate::{Blocks, Dataset, Error, Fit, Observer, Parts, Result, State};
use faer::Mat;
use rayon::prelude::*;

params! {
    /// Parameters of DLSI.
    pub struct Dlsi {
        /// Weight of the sum of magnitudes of the codes, against half the squared residual.
        lambda: f64 = 0.001, Domain::Positive, grid [1e-4, 1e-3, 1e-2];
        /// Weight of the overlap between atoms of different classes.
        eta: f64 = 0.01, Domain::NonNegative, grid [1e-3, 1e-2, 0.1];
        /// Atoms per class; `auto` is 10, or the size of the class or one less than the features if that is less.
        atoms_per_class: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// Decide by one code over all atoms, or by one code per class.
        rule: Rule = Rule::Global, Domain::OneOf(GLOBAL_LOCAL);
        /// Weight of the sum of magnitudes of a new sample's code.
        gamma: f64 = 0.001, Domain::Positive, grid [1e-4, 1e-3, 1e-2];
        /// Maximum number of iterations of code step and dictionary step.
        max_iter: usize = 20, Domain::AtLeast(1);
        /// Training ends when an iteration changes the dictionary by less than this, relatively; 0 never ends it early.
        tol: f64 = 1e-3, Domain::NonNegative;
    }
}

/// What an iteration takes from the one before.
struct Iterate {
    d: Mat<f64>,
    atoms: Blocks,
    /// Dictionary steps that ran out of their own steps and found nothing better.
    unsettled: usize,
}

impl Iterate {
    fn restore(state: State, train: &Dataset) -> Result<Self> {
        let unsettled = state.value("unsettled")?;
        let mut parts = state.into_parts(train.classes());
        let (d, atoms) = parts.take_class_atoms("dictionary", train.n_features())?;
        if d.ncols() == 0 {
            return Err(Error::Data("the state has no atoms".into()));
        }
        Ok(Iterate { d, atoms, unsettled })
    }
}

impl Fit for Dlsi {
    type Model = ClassDictionary;
    const KEY: &'static str = "dlsi";
    const TITLE: &'static str = "Dictionary learning with structured incoherence (DLSI)";
    const PAPER: &'static str = "Ramirez, Sprechmann, Sapiro: Classification and clustering via dictionary learning with structured incoherence and shared features. CVPR 2010";
    const PRESETS: &'static [Preset] = presets![Self:
        "dictol", "The DICTOL toolbox on Extended Yale B: code per class, 100 iterations" => {
            lambda: 0.001, eta: 0.01, gamma: 0.001, rule: Rule::Local, max_iter: 100, tol: 0.0
        };
    ];
    const DECISION: &'static [&'static str] = &["rule", "gamma"];
    const ITERATES: bool = true;

    fn learn(&self, train: &Dataset, from: Option<State>, watch: &mut dyn Observer) -> Result<ClassDictionary> {
        let span = Span::of(train)?;
        let data = span.train();

        let iterations = Iterations::new(Self::KEY, &from, self.max_iter, self.tol)?;
        let Iterate { mut d, atoms, mut unsettled } = match from {
            None => {
                let (d, atoms) = class_start(data, self.atoms_per_class, watch)?;
                Iterate { d, atoms, unsettled: 0 }
            }
            Some(state) => Iterate::restore(state, data)?,
        };
        for iter in iterations.left() {
            let before = d.clone();
            let z = self.code_step(data, &d, &atoms);
            let settled = self.dictionary_step(data, &mut d, &atoms, &z)?;
            unsettled = usize::saturating_add(unsettled, usize::from(!settled));
            let terms = self.terms(data, &d, &atoms, &z);
            let change = relative_change(&d, &before);
            let done = Done {
                terms: &terms,
                change: Some(change),
                model: &|| Ok(self.model(train.classes(), &span.lift_columns(&d), atoms.clone())),
                state: &|state| {
                    state.with("dictionary", &d).with_blocks("atom_counts", &atoms).with_value("unsettled", unsettled)
                },
            };
            if iterations.report(iter, &done, watch)?.is_break() {
                break;
            }
        }
        warn_unsettled("DLSI", unsettled, watch);
        Ok(self.model(train.classes(), &span.lift_columns(&d), atoms))
    }

    fn restore(&self, mut parts: Parts) -> Result<ClassDictionary> {
        let (dictionary, blocks) = parts.take_class_atoms("dictionary", None)?;
        Ok(self.model(&parts.classes, &dictionary, blocks))
    }
}

impl Dlsi {
    fn model(&self, classes: &[String], dictionary: &Mat<f64>, blocks: Blocks) -> ClassDictionary {
        let decision = Decision { rules: GLOBAL_LOCAL, rule: self.rule, gamma: self.gamma };
        ClassDictionary::new(classes.to_vec(), dictionary, blocks, None, decision)
    }

    /// The codes of every class over its own atoms.
    fn code_step(&self, train: &Dataset, d: &Mat<f64>, atoms: &Blocks) -> Vec<Mat<f64>> {
        let of_class = |c: usize| {
            let own = atoms.range(c);
            codes(train.class(c), d.subcols(own.start, own.len()), self.lambda)
        };
        (0..train.n_classes()).into_par_iter().map(of_class).collect()
    }

    /// The atoms of one class after the other; false if one ran out of steps, see [`Incoherent::update`].
    fn dictionary_step(&self, train: &Dataset, d: &mut Mat<f64>, atoms: &Blocks, z: &[Mat<f64>]) -> Result<bool> {
        let mut step = Incoherent::new(d, self.eta)?;
        let mut all_settled = true;
        for (c, own) in atoms.ranges().enumerate() {
            let e = mul(train.class(c), z[c].transpose());
            let f = outer_gram(&z[c]);
            all_settled &= step.update(d, own, &e, &f)?;
        }
        Ok(all_settled)
    }

    /// The terms of `J`.
    fn terms(&self, train: &Dataset, d: &Mat<f64>, atoms: &Blocks, z: &[Mat<f64>]) -> [(&'static str, f64); 3] {
        let mut fit = 0.0;
        let mut l1 = 0.0;
        for (c, own) in atoms.ranges().enumerate() {
            let of_class = terms(train.class(c), d.subcols(own.start, own.len()), &z[c], self.lambda);
            fit += of_class[0];
            l1 += of_class[1];
        }
        [("fidelity", fit), ("sparsity", l1), ("incoherence", 0.25 * self.eta * overlap(d, atoms))]
    }
}

/// `sum_{c != j} |D_j^T D_c|^2`.
pub(super) fn overlap(d: &Mat<f64>, atoms: &Blocks) -> f64 {
    let mut products = gram(d);
    for own in atoms.ranges() {
        products.submatrix_mut(own.start, own.start, own.len(), own.len()).fill(0.0);
    }
    products.squared_norm_l2()
}

#[cfg(test)]
mod tests;
