//! K-SVD with a ridge classifier on its sparse codes: the unsupervised baseline of D-KSVD and LC-KSVD.
//!
//! ```text
//! min_{D,Z} |X - D Z|_F^2  s.t.  |z_i|_0 <= T, |d_k| = 1;      then  W = H Z^T (Z Z^T + ridge I)^-1
//! ```
//!
//! `X` samples, `D` atoms, `Z` sparse codes, `H` one-hot labels. `D` starts from random samples, equally many of each
//! class, and goes through `max_iter` iterations of [`crate::update::ksvd`]. A new sample gets the code
//! `z = OMP(D, x, T)` and the scores `W z`.
//!
//! Reference: Aharon, Elad, Bruckstein: K-SVD: an algorithm for designing overcomplete dictionaries for sparse
//! representation. IEEE TSP 2006; the classifier is that of the LC-KSVD package.
//!
//! Deviations: `W` is fitted on codes of the final dictionary, where the package uses those of the last iteration,
//! which no longer belong to it.

pub mod dksvd;
mod label_ksvd;
pub mod lcksvd;

use crate::iterations::{Done, Iterations};
use crate::linalg::{concat_columns, gram};
use crate::methods::sparse_linear::{SparseLinear, atom_counts, encode, ridge_readout, sample_atoms, sparsity};
use crate::observe::unless_resumed;
use crate::params::{Domain, params};
use crate::span::Span;
use crate::update::ksvd::{AtomUpdate, KsvdIteration, Signals};
use crate::{Dataset, Fit, Observer, Parts, Result, State};

params! {
    /// Parameters of K-SVD.
    pub struct Ksvd {
        /// Atoms per class; `auto` is 10, or the number of samples of a smaller class.
        atoms_per_class: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// Most atoms in the code of a sample; `auto` is a tenth of the features, from 5 to 30.
        sparsity: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1)), grid [5, 10, 20, 30];
        /// Iterations.
        max_iter: usize = 20, Domain::AtLeast(0);
        /// Weight of the squared norm of the classifier.
        ridge: f64 = 0.1, Domain::Positive, grid [0.01, 0.1, 1.0];
        /// How an atom is fitted: one alternation, or the leading singular pair.
        update: AtomUpdate = AtomUpdate::Approximate, Domain::OneOf(AtomUpdate::WORDS);
        /// Seed of the choice of samples that become the first atoms.
        seed: u64 = 0, Domain::AtLeast(0);
    }
}

impl Fit for Ksvd {
    type Model = SparseLinear;
    const KEY: &'static str = "ksvd";
    const TITLE: &'static str = "K-SVD with a ridge classifier";
    const PAPER: &'static str = "Aharon, Elad, Bruckstein: K-SVD: an algorithm for designing overcomplete dictionaries for sparse representation. IEEE TSP 2006";
    const ITERATES: bool = true;

    fn learn(&self, full: &Dataset, from: Option<State>, watch: &mut dyn Observer) -> Result<SparseLinear> {
        let span = Span::of(full)?;
        let train = span.train();
        let iterations = Iterations::new(Self::KEY, &from, self.max_iter, 0.0)?;
        let counts = atom_counts(train, self.atoms_per_class, unless_resumed(&from, watch, &mut ()));
        let sparsity = sparsity(self.sparsity, full.n_features(), counts.total());
        let targets = train.targets();
        let finish = |coder: &KsvdIteration<'_>| -> Result<SparseLinear> {
            let d = coder.atoms();
            let z = encode(&gram(d), d, train.x(), sparsity).to_dense();
            let weights = ridge_readout(&z, &targets, train.n_classes(), self.ridge)?;
            Ok(SparseLinear::lifted(&span, &d.to_owned(), weights, self.sparsity))
        };

        let signals = Signals::plain(train.x());
        let mut coder = match from {
            None => {
                let atoms = concat_columns(&sample_atoms(train, &counts, self.seed));
                KsvdIteration::new(signals, atoms, sparsity, self.update)
            }
            Some(state) => {
                let mut parts = state.into_parts(train.classes());
                KsvdIteration::restore(signals, counts.total(), &mut parts, sparsity, self.update)?
            }
        };
        for iter in iterations.left() {
            let error = coder.iterate()?.samples;
            let done = Done {
                terms: &[("reconstruction", error)],
                change: None,
                model: &|| finish(&coder),
                state: &|state| coder.store(state),
            };
            if iterations.report(iter, &done, watch)?.is_break() {
                break;
            }
        }
        finish(&coder)
    }

    fn restore(&self, parts: Parts) -> Result<SparseLinear> {
        SparseLinear::restore(parts, self.sparsity)
    }
}
