//! COPAR: dictionaries with the particularity of classes and the commonality of all.
//!
//! Every class has its own atoms `D_c`, and all classes share the atoms `D_0`. A sample is to be represented by all atoms, and by
//! those of its class and the shared ones alone, while no two of the dictionaries overlap much:
//!
//! ```text
//! J = 1/2 sum_c (|X_c - [D D_0] Z_c|^2 + |X_c - D_c Z_c^c - D_0 Z_c^0|^2 + sum_{j != c} |Z_c^j|^2)
//!     + lambda / 2 |Z|_1 + eta / 4 sum_{i != j} |D_i^T D_j|^2,            |d_k| <= 1
//! ```
//!
//! `Z_c^j` are the codes of class `c` on the atoms of class `j`, `Z_c^0` on the shared ones; the pairs `i, j` include 0.
//!
//! Steps: 1. atoms of each class: its principal directions and mean, shared atoms: those of all samples; 2. codes, one lasso per
//! sample (`copar/codes.rs`); 3. the atoms of one class after the other, then the shared ones (`update/incoherent.rs`);
//! 2. and 3. in turn. Decisions: see `class_dictionary.rs`.
//!
//! Codes and atoms in turn come down slowly. With `accelerate` the codes are found for atoms a little further along the way of the last
//! iteration, `D + b (D - D_last)`, `b` by Nesterov's rule; where `J` would rise, the iteration is repeated without.
//!
//! Reference: Kong, Wang, ECCV 2012, in the form of the DICTOL toolbox. Deviations: the start (there: some iterations of dictionary
//! learning from random samples); codes are solved to their optimum; the acceleration; `rule = local` scores the attained minimum, `local-dictol` is
//! the toolbox's.

mod codes;

use super::class_dictionary::{ClassDictionary, Decision, Rule};
use super::dlsi::overlap;
use crate::init::{class_start, shared_start};
use crate::iterations::{Done, Iterations};
use crate::linalg::{concat_columns, mul, mul_add, outer_gram, relative_change};
use crate::params::{Domain, Preset, params, presets};
use crate::span::Span;
use crate::update::incoherent::{Incoherent, warn_unsettled};
use crate::{Blocks, Dataset, Error, Fit, Observer, Parts, Result, State};
use codes::CodeStep;
use faer::Mat;

params! {
    /// Parameters of COPAR.
    pub struct Copar {
        /// Weight of the sum of magnitudes of the codes; half of it stands against halves of squares.
        lambda: f64 = 0.001, Domain::Positive, grid [1e-3, 1e-2, 0.1];
        /// Weight of the overlap between atoms of different classes, and with the shared ones.
        eta: f64 = 0.01, Domain::NonNegative, grid [1e-3, 1e-2, 0.1];
        /// Atoms per class; `auto` is 10, or the size of the class or one less than the features if that is less.
        atoms_per_class: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// Atoms that all classes share; `auto` is five, or fewer where they would span all features with those of a class.
        shared_atoms: Option<usize> = None, Domain::Auto(&Domain::AtLeast(0));
        /// Decide by one code over all atoms, or by one code per class with its attained minimum or with DICTOL's cost.
        rule: Rule = Rule::Global, Domain::OneOf(Rule::WORDS);
        /// Weight of the sum of magnitudes of a new sample's code.
        gamma: f64 = 0.001, Domain::Positive, grid [1e-4, 1e-3, 1e-2];
        /// Maximum number of iterations of code step and dictionary step.
        max_iter: usize = 10, Domain::AtLeast(1);
        /// Training ends when an iteration changes the dictionary by less than this, relatively; 0 never ends it early.
        tol: f64 = 1e-3, Domain::NonNegative;
        /// Find the codes for atoms that lead on where the last iteration went, as long as that is lower.
        accelerate: bool = true, Domain::Flag;
    }
}

/// A term of `J` and its name.
type Term = (&'static str, f64);

/// The atoms of the classes, then the shared ones.
#[derive(Clone)]
struct HybridAtoms {
    d: Mat<f64>,
    classes: Blocks,
    shared: usize,
}

impl HybridAtoms {
    /// The shared ones as one more block.
    fn all_blocks(&self) -> Blocks {
        Blocks::from_sizes(self.classes.sizes().chain([self.shared]))
    }

    fn of_classes(&self) -> Mat<f64> {
        self.d.subcols(0, self.classes.total()).to_owned()
    }

    fn shared(&self) -> Mat<f64> {
        self.d.subcols(self.classes.total(), self.shared).to_owned()
    }
}

/// What an iteration takes from the one before.
struct Iterate {
    atoms: HybridAtoms,
    /// Where the next codes are found.
    ahead: Mat<f64>,
    /// Nesterov's sequence; 1 at a restart.
    pace: f64,
    /// `J` of the last iteration.
    value: f64,
    /// Dictionary steps that ran out of their own steps and found nothing better.
    unsettled: usize,
}

impl Iterate {
    fn restore(state: State, train: &Dataset) -> Result<Self> {
        let unsettled = state.value("unsettled")?;
        let pace = state.value("pace")?;
        let value = state.value_or_infinite("value")?;
        let mut parts = state.into_parts(train.classes());
        let (d, classes) = parts.take_class_atoms("dictionary", train.n_features())?;
        let shared = parts.take_shaped("shared", train.n_features(), None)?;
        if d.ncols() == 0 {
            return Err(Error::Data("the state has no atoms of classes".into()));
        }
        let ahead = parts.take_shaped("ahead", d.nrows(), d.ncols() + shared.ncols())?;
        let atoms = HybridAtoms { shared: shared.ncols(), d: concat_columns(&[d, shared]), classes };
        Ok(Iterate { atoms, ahead, pace, value, unsettled })
    }

    /// The atoms after an iteration of this value, and where the next one looks for its codes.
    fn advance(&mut self, next: HybridAtoms, value: f64, accelerate: bool) {
        let pace = 0.5 * (1.0 + (1.0 + 4.0 * self.pace * self.pace).sqrt());
        let momentum = if accelerate { (self.pace - 1.0) / pace } else { 0.0 };
        self.ahead = &next.d + faer::Scale(momentum) * (&next.d - &self.atoms.d);
        for atom in self.ahead.as_mut().col_iter_mut() {
            let length = atom.norm_l2();
            if momentum > 0.0 && length > 1.0 {
                atom.iter_mut().for_each(|v| *v /= length);
            }
        }
        (self.atoms, self.value, self.pace) = (next, value, pace);
    }
}

impl Fit for Copar {
    type Model = ClassDictionary;
    const KEY: &'static str = "copar";
    const TITLE: &'static str = "Particularity and commonality dictionaries (COPAR)";
    const PAPER: &'static str = "Kong, Wang: A dictionary learning approach for classification: separating the particularity and the commonality. ECCV 2012";
    const PRESETS: &'static [Preset] = presets![Self:
        "dictol", "The DICTOL toolbox on Extended Yale B: code per class and its cost" => {
            lambda: 0.001, eta: 0.01, atoms_per_class: Some(8), shared_atoms: Some(5), gamma: 0.001, rule: Rule::LocalDictol,
            max_iter: 10, tol: 0.0
        };
    ];
    const DECISION: &'static [&'static str] = &["rule", "gamma"];
    const ITERATES: bool = true;

    fn learn(&self, train: &Dataset, from: Option<State>, watch: &mut dyn Observer) -> Result<ClassDictionary> {
        let span = Span::of(train)?;
        let data = span.train();
        let model = |atoms: &HybridAtoms| {
            let blocks = atoms.classes.clone();
            self.model(
                train.classes(),
                &span.lift_columns(&atoms.of_classes()),
                blocks,
                &span.lift_columns(&atoms.shared()),
            )
        };

        let iterations = Iterations::new(Self::KEY, &from, self.max_iter, self.tol)?;
        let mut held = match from {
            None => self.start(data, watch)?,
            Some(state) => Iterate::restore(state, data)?,
        };
        for iter in iterations.left() {
            let (mut next, mut terms, mut settled) = self.both_steps(data, &held.atoms, &held.ahead)?;
            let value = |terms: &[Term]| terms.iter().map(|term| term.1).sum::<f64>();
            if held.ahead != held.atoms.d && value(&terms) > held.value {
                (next, terms, settled) = self.both_steps(data, &held.atoms, &held.atoms.d)?;
                held.pace = 1.0;
            }
            let change = relative_change(&next.d, &held.atoms.d);
            held.advance(next, value(&terms), self.accelerate);
            held.unsettled = held.unsettled.saturating_add(usize::from(!settled));
            let done = Done {
                terms: &terms,
                change: Some(change),
                model: &|| Ok(model(&held.atoms)),
                state: &|state| {
                    let state = state.with("dictionary", held.atoms.of_classes().as_ref());
                    let state = state.with("shared", held.atoms.shared().as_ref()).with("ahead", &held.ahead);
                    let state = state.with_value("pace", held.pace).with_value("value", Some(held.value));
                    let state = state.with_value("unsettled", held.unsettled);
                    state.with_blocks("atom_counts", &held.atoms.classes)
                },
            };
            if iterations.report(iter, &done, watch)?.is_break() {
                break;
            }
        }
        let Iterate { atoms, unsettled, .. } = held;
        warn_unsettled("COPAR", unsettled, watch);
        Ok(model(&atoms))
    }

    fn restore(&self, mut parts: Parts) -> Result<ClassDictionary> {
        let (dictionary, blocks) = parts.take_class_atoms("dictionary", None)?;
        let shared = parts.take_shaped("shared", dictionary.nrows(), None)?;
        Ok(self.model(&parts.classes, &dictionary, blocks, &shared))
    }
}

impl Copar {
    fn model(&self, classes: &[String], dictionary: &Mat<f64>, blocks: Blocks, shared: &Mat<f64>) -> ClassDictionary {
        let decision = Decision { rules: Rule::WORDS, rule: self.rule, gamma: self.gamma };
        ClassDictionary::new(classes.to_vec(), dictionary, blocks, Some(shared), decision)
    }

    fn start(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<Iterate> {
        let (d, classes) = class_start(train, self.atoms_per_class, watch)?;
        let shared = shared_start(train, self.shared_atoms, &classes, watch)?;
        let atoms = HybridAtoms { shared: shared.ncols(), d: concat_columns(&[d, shared]), classes };
        Ok(Iterate { ahead: atoms.d.clone(), atoms, pace: 1.0, value: f64::INFINITY, unsettled: 0 })
    }

    /// The codes for the atoms `at`, then new atoms from `atoms`, with the terms of `J` and whether all steps settled.
    fn both_steps(
        &self,
        train: &Dataset,
        atoms: &HybridAtoms,
        at: &Mat<f64>,
    ) -> Result<(HybridAtoms, [Term; 4], bool)> {
        let mut next = HybridAtoms { d: at.clone(), ..atoms.clone() };
        let z = CodeStep::new(&next, 0.5 * self.lambda).solve(train);
        next.d.copy_from(&atoms.d);
        let settled = self.dictionary_step(train, &mut next, &z)?;
        let terms = self.terms(train, &next, &z);
        Ok((next, terms, settled))
    }

    /// The atoms of one class after the other, then the shared ones; false if one ran out of steps, see [`Incoherent::update`].
    ///
    /// With `A = X_c - [D D_0] Z_c + D_c Z_c^c` and `B = X_c - D_0 Z_c^0`, `D_c` minimises
    /// `1/2 |A - D_c Z_c^c|^2 + 1/2 |B - D_c Z_c^c|^2` and its overlap: `E = (A + B) Z_c^c^T`, `F = 2 Z_c^c Z_c^c^T`. `D_0` has
    /// `A = X - D Z` and `B = X_c - D_c Z_c^c` in the same way.
    fn dictionary_step(&self, train: &Dataset, atoms: &mut HybridAtoms, z: &Mat<f64>) -> Result<bool> {
        let samples = train.blocks();
        let n_atoms = atoms.classes.total();
        let shared = n_atoms..n_atoms + atoms.shared;
        let mut step = Incoherent::new(&atoms.d, self.eta)?;
        let mut all_settled = true;
        for (c, own) in atoms.classes.clone().ranges().enumerate() {
            let of_class = samples.range(c);
            let zc = z.subcols(of_class.start, of_class.len());
            let own_codes = zc.subrows(own.start, own.len());
            let mut both = faer::Scale(2.0) * train.class(c);
            mul_add(both.as_mut(), -1.0, &atoms.d, zc);
            let own_atoms = atoms.d.subcols(own.start, own.len());
            mul_add(both.as_mut(), 1.0, own_atoms, own_codes);
            let shared_atoms = atoms.d.subcols(shared.start, shared.len());
            mul_add(both.as_mut(), -1.0, shared_atoms, zc.subrows(shared.start, shared.len()));
            let e = mul(&both, own_codes.transpose());
            let f = faer::Scale(2.0) * outer_gram(own_codes);
            all_settled &= step.update(&mut atoms.d, own, &e, &f)?;
        }
        let mut both = faer::Scale(2.0) * train.x();
        mul_add(both.as_mut(), -1.0, atoms.d.subcols(0, n_atoms), z.subrows(0, n_atoms));
        for (own, of_class) in atoms.classes.ranges().zip(samples.ranges()) {
            let own_codes = z.submatrix(own.start, of_class.start, own.len(), of_class.len());
            let part = both.as_mut().subcols_mut(of_class.start, of_class.len());
            mul_add(part, -1.0, atoms.d.subcols(own.start, own.len()), own_codes);
        }
        let shared_codes = z.subrows(shared.start, shared.len());
        let e = mul(&both, shared_codes.transpose());
        let f = faer::Scale(2.0) * outer_gram(shared_codes);
        Ok(step.update(&mut atoms.d, shared, &e, &f)? && all_settled)
    }

    /// The terms of `J`.
    fn terms(&self, train: &Dataset, atoms: &HybridAtoms, z: &Mat<f64>) -> [Term; 4] {
        let n_atoms = atoms.classes.total();
        let mut fit = 0.5 * (train.x() - mul(&atoms.d, z)).squared_norm_l2();
        let mut foreign = 0.5 * z.subrows(0, n_atoms).squared_norm_l2();
        for (c, (own, of_class)) in atoms.classes.ranges().zip(train.blocks().ranges()).enumerate() {
            let zc = z.subcols(of_class.start, of_class.len());
            let own_codes = zc.subrows(own.start, own.len());
            let mut rest = train.class(c).to_owned();
            mul_add(rest.as_mut(), -1.0, atoms.d.subcols(own.start, own.len()), own_codes);
            mul_add(rest.as_mut(), -1.0, atoms.d.subcols(n_atoms, atoms.shared), zc.subrows(n_atoms, atoms.shared));
            fit += 0.5 * rest.squared_norm_l2();
            foreign -= 0.5 * own_codes.squared_norm_l2();
        }
        let overlap = overlap(&atoms.d, &atoms.all_blocks());
        [
            ("fidelity", fit),
            ("other classes", foreign.max(0.0)),
            ("sparsity", 0.5 * self.lambda * z.norm_l1()),
            ("incoherence", 0.25 * self.eta * overlap),
        ]
    }
}

#[cfg(test)]
mod tests;
