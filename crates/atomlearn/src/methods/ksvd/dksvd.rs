//! D-KSVD: discriminative K-SVD.
//!
//! ```text
//! min_{D,W,Z} |X - D Z|_F^2 + beta |H - W Z|_F^2      s.t.  |z_i|_0 <= T
//! ```
//!
//! `X` samples, `D` atoms, `Z` sparse codes, `H` one-hot labels, `W` a linear classifier. K-SVD on samples with
//! labels of weight `sqrt(beta)` below them ([`crate::update::ksvd`]) learns `D` and `W` as two parts of the same
//! atoms:
//!
//! 1. `D0`: `init_iter` iterations of K-SVD without labels, from random samples, equally many of each class;
//! 2. `W0 = H Z0^T (Z0 Z0^T + I)^-1` on its codes;
//! 3. `max_iter` iterations on samples and labels, from unit columns `[D0; sqrt(beta) W0]`;
//! 4. with `s_k` the length of atom `k` among the features, `d_k / s_k` and `w_k / (s_k sqrt(beta))`.
//!
//! A new sample gets the code `z = OMP(D, x, T)` and the scores `W z`.
//!
//! Reference: Zhang, Li: Discriminative K-SVD for dictionary learning in face recognition. CVPR 2010.
//!
//! Deviations, all switchable: `readout = refit` replaces `W` by ridge regression on codes made as for new samples,
//! without labels (`joint` is the published one). `beta` is far smaller than published (`beta = 4`) and iterations
//! are fewer (published: 20 + 50): labels that outweigh the samples choose the codes in training but cannot do so for a new sample.
//! See docs/methods/dksvd.md.

use super::label_ksvd::LabelKsvd;
use crate::linalg::concat_columns;
use crate::methods::sparse_linear::{Readout, SparseLinear, atom_counts, sample_atoms, sparsity};
use crate::observe::unless_resumed;
use crate::params::{Domain, Preset, params, presets};
use crate::span::Span;
use crate::update::ksvd::{AtomUpdate, KsvdIteration, Signals};
use crate::{Dataset, Fit, Observer, Parts, Result, State};

params! {
    /// Parameters of D-KSVD.
    pub struct DKsvd {
        /// Weight of the label term.
        beta: f64 = 0.1, Domain::Positive, grid [0.01, 0.1, 0.3, 1.0, 4.0];
        /// Atoms per class; `auto` is 10, or the number of samples of a smaller class.
        atoms_per_class: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// Most atoms in the code of a sample; `auto` is a tenth of the features, from 5 to 30.
        sparsity: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1)), grid [5, 10, 20, 30];
        /// Iterations of K-SVD without labels that make the first dictionary.
        init_iter: usize = 5, Domain::AtLeast(0);
        /// Iterations with labels.
        max_iter: usize = 15, Domain::AtLeast(0);
        /// Weight of the squared norm of the classifier, where it is fitted.
        ridge: f64 = 0.1, Domain::Positive, grid [0.01, 0.1, 1.0];
        /// The classifier: refitted on codes made as for new samples, or the one learned jointly, as published.
        readout: Readout = Readout::Refit, Domain::OneOf(Readout::WORDS);
        /// How an atom is fitted: one alternation, or the leading singular pair.
        update: AtomUpdate = AtomUpdate::Approximate, Domain::OneOf(AtomUpdate::WORDS);
        /// Seed of the choice of samples that become the first atoms.
        seed: u64 = 0, Domain::AtLeast(0);
    }
}

impl Fit for DKsvd {
    type Model = SparseLinear;
    const KEY: &'static str = "dksvd";
    const TITLE: &'static str = "Discriminative K-SVD (D-KSVD)";
    const PAPER: &'static str =
        "Zhang, Li: Discriminative K-SVD for dictionary learning in face recognition. CVPR 2010";
    const PRESETS: &'static [Preset] = presets![Self:
        "small-weights", "the defaults: chosen by cross-validation" => {};
        "published", "settings of the LC-KSVD package for Extended Yale B" => { beta: 4.0, sparsity: Some(30), atoms_per_class: Some(15), init_iter: 20, max_iter: 50, readout: Readout::Joint };
    ];
    const ITERATES: bool = true;

    /// A state belongs to an iteration with labels.
    fn learn(&self, full: &Dataset, from: Option<State>, watch: &mut dyn Observer) -> Result<SparseLinear> {
        let span = Span::of(full)?;
        let train = span.train();
        let counts = atom_counts(train, self.atoms_per_class, unless_resumed(&from, watch, &mut ()));
        let sparsity = sparsity(self.sparsity, full.n_features(), counts.total());

        let core = LabelKsvd {
            method: Self::KEY,
            span: &span,
            targets: &train.targets(),
            weights: &vec![self.beta.sqrt(); train.n_classes()],
            sparsity,
            wanted_sparsity: self.sparsity,
            update: self.update,
            max_iter: self.max_iter,
            ridge: self.ridge,
            readout: self.readout.into(),
        };
        if let Some(state) = from {
            return core.resume(state, counts.total(), watch);
        }
        let atoms = concat_columns(&sample_atoms(train, &counts, self.seed));
        let mut start = KsvdIteration::new(Signals::plain(train.x()), atoms, sparsity, self.update);
        for _ in 0..self.init_iter {
            start.iterate()?;
        }
        if self.init_iter == 0 {
            start.code();
        }
        core.learn(start.atoms(), &start.codes().to_dense(), watch)
    }

    fn restore(&self, parts: Parts) -> Result<SparseLinear> {
        SparseLinear::restore(parts, self.sparsity)
    }
}
