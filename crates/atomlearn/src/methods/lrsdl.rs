//! LRSDL: low-rank shared dictionary learning.
//!
//! FDDL (see `fddl.rs`) with atoms `D_0` that all classes share. What they explain is taken off before classes are told apart, and
//! their codes are to be the same for all samples; a nuclear norm keeps their rank low, so that they hold no class of their own:
//!
//! ```text
//! J = f(X - D_0 Z_0, D, Z) + lambda1 |Z_0|_1 + lambda2 / 2 |Z_0 - mean|^2 + lambda3 |D_0|_*,      |d_k| <= 1
//! f = 1/2 sum_c (|X_c - D Z_c|^2 + |X_c - D_c Z_c^c|^2 + sum_{j != c} |D_j Z_c^j|^2)
//!     + lambda1 |Z|_1 + lambda2 / 2 (tr S_W - tr S_B + |Z|^2)
//! ```
//!
//! Steps: 1. atoms of each class: its principal directions and mean, shared atoms: those of all samples; 2. all codes, a convex
//! problem (`fddl/codes.rs`); 3. the atoms of the classes, as in FDDL (`fddl/atoms.rs`); 4. the shared atoms
//! (`update/low_rank.rs`); 2. to 4. in turn. A new sample is decided by
//!
//! ```text
//! global:  z, z_0 = argmin 1/2 |x - D z - D_0 z_0|^2 + gamma |[z; z_0]|_1 + gamma0 / 2 |z_0 - mean|^2,
//!          e_c = |x - D_0 z_0 - D_c z_c|^2 + w |z - m_c|^2
//! local:   e_c = min_a 1/2 |x - [D_c D_0] a|^2 + gamma |a|_1
//! ```
//!
//! Reference: Vu, Monga, IEEE TIP 2017. Without shared atoms it is FDDL, to the bit. Deviations: as FDDL's; the start (there: some
//! iterations of dictionary learning from random samples); the toolbox's MATLAB version discards what its dictionary step finds.

mod model;

use super::class_dictionary::{GLOBAL_LOCAL, Rule};
use super::fddl::Constraint;
use super::fddl::atoms::{AtomStep, remove};
use super::fddl::codes::{CodeStep, class_means, double_own_blocks};
use crate::init::{class_start, shared_start};
use crate::iterations::{Done, Iterations};
use crate::linalg::{concat_columns, mul, mul_add, outer_gram, relative_change};
use crate::params::{Domain, Preset, params, presets};
use crate::span::Span;
use crate::update::low_rank::{low_rank, nuclear_norm};
use crate::{Blocks, Dataset, Error, Fit, Observer, Parts, Result, State};
use faer::{Mat, MatRef};
use model::Learned;
pub use model::LrsdlModel;

/// A shared atom whose codes have no larger sum of magnitudes is dead.
const UNUSED: f64 = 1e-5;

params! {
    /// Parameters of LRSDL.
    pub struct Lrsdl {
        /// Weight of the sum of magnitudes of the codes, against half the squared residual.
        lambda1: f64 = 0.001, Domain::Positive, grid [0.001, 0.003, 0.01];
        /// Weight of the Fisher criterion and of the spread of shared codes.
        lambda2: f64 = 0.01, Domain::NonNegative, grid [0.01, 0.05, 0.2];
        /// Weight of the nuclear norm of the shared atoms.
        lambda3: f64 = 0.02, Domain::NonNegative, grid [0.02, 0.2];
        /// Atoms per class; `auto` is 10, or the size of the class or one less than the features if that is less.
        atoms_per_class: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// Atoms that all classes share; `auto` is five, or fewer where they would span all features with those of a class.
        shared_atoms: Option<usize> = None, Domain::Auto(&Domain::AtLeast(0));
        /// Class atoms of norm one, one sweep per iteration, or at most one, swept until settled; shared ones are at most one.
        constraint: Constraint = Constraint::Ball, Domain::OneOf(Constraint::WORDS);
        /// Decide by one code over all atoms, or by one code per class.
        rule: Rule = Rule::Global, Domain::OneOf(GLOBAL_LOCAL);
        /// Weight of the sum of magnitudes of a new sample's code.
        gamma: f64 = 0.001, Domain::Positive, grid [0.0005, 0.0025, 0.01];
        /// Global rule: weight of the distance between a sample's shared code and the mean of shared codes.
        gamma0: f64 = 0.01, Domain::NonNegative;
        /// Global rule: weight of the distance between a sample's code and the class mean.
        w: f64 = 1.0, Domain::NonNegative, grid [0.05, 0.5, 1.0];
        /// Maximum number of iterations of code step and dictionary steps.
        max_iter: usize = 15, Domain::AtLeast(1);
        /// Training ends when an iteration changes the dictionary by less than this, relatively; 0 never ends it early.
        tol: f64 = 1e-3, Domain::NonNegative;
        /// Most accelerated gradient steps of a code step.
        code_iter: usize = 300, Domain::AtLeast(1);
        /// End a code step when the codes move by less than this fraction of their norm.
        code_tol: f64 = 1e-3, Domain::NonNegative;
        /// Solve the codes again after the last dictionary step, so that class means fit the final atoms.
        refit: bool = true, Domain::Flag;
    }
}

/// What an iteration takes from the one before; rows of `z` are codes on the class atoms, then on the shared ones.
struct Iterate {
    d: Mat<f64>,
    d0: Mat<f64>,
    atoms: Blocks,
    z: Mat<f64>,
    /// Dictionary steps that ran out of their own steps and found nothing better.
    unsettled: usize,
}

impl Iterate {
    fn restore(state: State, train: &Dataset) -> Result<Self> {
        let unsettled = state.value("unsettled")?;
        let mut parts = state.into_parts(train.classes());
        let d = parts.take_shaped("dictionary", train.n_features(), None)?;
        let d0 = parts.take_shaped("shared", train.n_features(), None)?;
        let z = parts.take_shaped("codes", d.ncols() + d0.ncols(), train.n_samples())?;
        let atoms = parts.take_blocks("atom_counts", d.ncols())?;
        if d.ncols() == 0 {
            return Err(Error::Data("the state has no atoms of classes".into()));
        }
        Ok(Iterate { d, d0, atoms, z, unsettled })
    }

    fn class_codes(&self) -> MatRef<'_, f64> {
        self.z.subrows(0, self.d.ncols())
    }

    fn shared_codes(&self) -> MatRef<'_, f64> {
        self.z.subrows(self.d.ncols(), self.d0.ncols())
    }

    fn all_atoms(&self) -> Mat<f64> {
        concat_columns(&[self.d.clone(), self.d0.clone()])
    }

    /// Shared atoms that no code uses, or that the nuclear norm has made zero, leave; returns how many.
    fn drop_unused(&mut self) -> usize {
        let n_atoms = self.d.ncols();
        let used = |k: &usize| self.z.row(n_atoms + k).norm_l1() > UNUSED && self.d0.col(*k).norm_l2() > UNUSED;
        let kept: Vec<usize> = (0..self.d0.ncols()).filter(used).collect();
        let dropped = self.d0.ncols() - kept.len();
        if dropped > 0 {
            let row = |k: usize| if k < n_atoms { k } else { n_atoms + kept[k - n_atoms] };
            self.z = Mat::from_fn(n_atoms + kept.len(), self.z.ncols(), |k, i| self.z[(row(k), i)]);
            self.d0 = Mat::from_fn(self.d0.nrows(), kept.len(), |i, k| self.d0[(i, kept[k])]);
        }
        dropped
    }
}

impl Fit for Lrsdl {
    type Model = LrsdlModel;
    const KEY: &'static str = "lrsdl";
    const TITLE: &'static str = "Low-rank shared dictionary learning (LRSDL)";
    const PAPER: &'static str =
        "Vu, Monga: Fast low-rank shared dictionary learning for image classification. IEEE TIP 2017";
    const PRESETS: &'static [Preset] = presets![Self:
        "dictol", "The DICTOL toolbox on Extended Yale B" => {
            lambda1: 0.001, lambda2: 0.01, lambda3: 0.02, atoms_per_class: Some(8), shared_atoms: Some(5),
            constraint: Constraint::Ball, rule: Rule::Global, gamma: 0.001, gamma0: 0.01, w: 1.0, max_iter: 100, tol: 0.0
        };
    ];
    const DECISION: &'static [&'static str] = &["rule", "gamma", "gamma0", "w"];
    const READOUT: &'static [&'static str] = &["w"];
    const ITERATES: bool = true;

    fn learn(&self, train: &Dataset, from: Option<State>, watch: &mut dyn Observer) -> Result<LrsdlModel> {
        let span = Span::of(train)?;
        let data = span.train();
        let model = |held: &Iterate, codes: &CodeStep<'_>| {
            let (means, shared_mean) = self.means(codes, held, data.blocks());
            let (dictionary, shared) = (span.lift_columns(&held.d), span.lift_columns(&held.d0));
            let learned = Learned { dictionary, shared, blocks: held.atoms.clone(), means, shared_mean };
            LrsdlModel::new(train.classes().to_vec(), learned, self)
        };

        let iterations = Iterations::new(Self::KEY, &from, self.max_iter, self.tol)?;
        let mut held = match from {
            None => self.start(data, watch)?,
            Some(state) => Iterate::restore(state, data)?,
        };
        let mut codes = self.code_step(data, &held);
        for iter in iterations.left() {
            codes.solve(&mut held.z, self.code_iter, self.code_tol);
            let mut before = held.all_atoms();
            let mut lost = held.drop_unused();
            lost += self.class_atom_step(data, &mut held);
            if lost > 0 {
                watch.warn(&format!(
                    "iteration {iter}: removed dead atoms, {} of classes and {} shared ones left",
                    held.d.ncols(),
                    held.d0.ncols()
                ));
                before = Mat::zeros(data.n_features(), held.z.nrows());
            }
            self.shared_atom_step(data, &mut held)?;
            codes = self.code_step(data, &held);
            let mut terms = codes.terms(&held.z);
            if self.shared_atoms != Some(0) {
                terms.push(("nuclear norm", self.lambda3 * nuclear_norm(&held.d0)?));
            }
            let change = relative_change(held.all_atoms(), &before);
            let done = Done {
                terms: &terms,
                change: Some(change),
                model: &|| Ok(model(&held, &codes)),
                state: &|state| {
                    let state = state.with("dictionary", &held.d).with("shared", &held.d0);
                    let state = state.with("codes", &held.z).with_value("unsettled", held.unsettled);
                    state.with_blocks("atom_counts", &held.atoms)
                },
            };
            if iterations.report(iter, &done, watch)?.is_break() {
                break;
            }
        }
        if held.unsettled > 0 {
            watch
                .warn(&format!("LRSDL: {} dictionary steps ran out of steps and found nothing better", held.unsettled));
        }
        Ok(model(&held, &codes))
    }

    fn restore(&self, mut parts: Parts) -> Result<LrsdlModel> {
        let dictionary = parts.take("dictionary")?;
        let shared = parts.take_shaped("shared", dictionary.nrows(), None)?;
        let blocks = parts.take_blocks("atom_counts", dictionary.ncols())?;
        let means = parts.take_shaped("means", dictionary.ncols(), parts.classes.len())?;
        let shared_mean = parts.take_shaped("shared_mean", shared.ncols(), 1)?;
        Ok(LrsdlModel::new(parts.classes, Learned { dictionary, shared, blocks, means, shared_mean }, self))
    }

    /// `-e_c = -(residual + w apart)` for the global rule; the local one has nothing to combine.
    fn readout(&self, terms: &[Mat<f64>]) -> Mat<f64> {
        match terms {
            [squared, apart] => -(squared + faer::Scale(self.w) * apart),
            _ => terms[0].clone(),
        }
    }
}

impl Lrsdl {
    fn start(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<Iterate> {
        let (d, atoms) = class_start(train, self.atoms_per_class, watch)?;
        let d0 = shared_start(train, self.shared_atoms, &atoms, watch)?;
        let z = Mat::zeros(d.ncols() + d0.ncols(), train.n_samples());
        Ok(Iterate { d, d0, atoms, z, unsettled: 0 })
    }

    fn code_step<'a>(&self, train: &'a Dataset, held: &Iterate) -> CodeStep<'a> {
        let weights = (self.lambda1, self.lambda2);
        CodeStep::with_shared(train.x(), (&held.d, &held.d0), (&held.atoms, train.blocks()), weights)
    }

    /// Step 3, FDDL's with `X - D_0 Z_0`; returns how many atoms died.
    fn class_atom_step(&self, train: &Dataset, held: &mut Iterate) -> usize {
        let mut rest = train.x().to_owned();
        if held.d0.ncols() > 0 {
            mul_add(rest.as_mut(), -1.0, &held.d0, held.shared_codes());
        }
        let step = AtomStep::new(rest.as_ref(), held.class_codes(), &held.atoms, train.blocks());
        let dead = match self.constraint {
            Constraint::Sphere => step.sphere(&mut held.d),
            Constraint::Ball => {
                // Where sweeps end early the objective is lower all the same, and the next iteration goes on.
                step.ball(&mut held.d);
                Vec::new()
            }
        };
        if dead.is_empty() {
            return 0;
        }
        let shared_codes = held.shared_codes().to_owned();
        let mut z = held.class_codes().to_owned();
        let removed = remove(&dead, &mut held.d, &mut z, &mut held.atoms);
        held.z = Mat::zeros(z.nrows() + shared_codes.nrows(), z.ncols());
        held.z.subrows_mut(0, z.nrows()).copy_from(&z);
        held.z.subrows_mut(z.nrows(), shared_codes.nrows()).copy_from(&shared_codes);
        removed
    }

    /// Step 4: `f` is `|L - D_0 Z_0|^2` and a constant, `L = X - 1/2 D M(Z)`, where `M` doubles the codes on own atoms.
    fn shared_atom_step(&self, train: &Dataset, held: &mut Iterate) -> Result<()> {
        if held.d0.ncols() == 0 {
            return Ok(());
        }
        let mut doubled = held.class_codes().to_owned();
        double_own_blocks(doubled.as_mut(), &held.atoms, train.blocks());
        let mut rest = train.x().to_owned();
        mul_add(rest.as_mut(), -0.5, &held.d, &doubled);
        let e = mul(&rest, held.shared_codes().transpose());
        let f = outer_gram(held.shared_codes());
        let (d0, settled) = low_rank(&e, &f, self.lambda3, &held.d0)?;
        held.d0 = d0;
        held.unsettled = held.unsettled.saturating_add(usize::from(!settled));
        Ok(())
    }

    /// Class means of the codes and the mean of the shared ones; the codes are first solved again if `refit` says so.
    fn means(&self, codes: &CodeStep<'_>, held: &Iterate, samples: &Blocks) -> (Mat<f64>, Mat<f64>) {
        let mut z = held.z.clone();
        if self.refit {
            codes.solve(&mut z, self.code_iter, self.code_tol);
        }
        let (class_codes, shared_codes) = z.as_ref().split_at_row(held.d.ncols());
        let shared_mean = crate::pca::mean(shared_codes);
        let shared_mean = Mat::from_fn(shared_mean.len(), 1, |k, _| shared_mean[k]);
        (class_means(class_codes, samples).0, shared_mean)
    }
}

#[cfg(test)]
mod tests;
