//! D-KSVD: discriminative K-SVD.
//!
//! ```text
//! min_{D,W,Z} |X - D Z|_F^2 + beta |H - W Z|_F^2      s.t.  |z_i|_0 <= T
//! ```
//!
//! TODO
use crate::linalg::concat_columns;
use crate::methods::label_ksvd::LabelKsvd;
use crate::methods::sparse_linear::{Readout, SparseLinear, atom_counts, sample_atoms, sparsity};
use crate::params::{Domain, params};
use crate::range;
use crate::update::ksvd::{AtomUpdate, Ksvd, Signals};
use crate::{Dataset, Fit, Observer, Parts, Result};

params! {
    /// Parameters of D-KSVD.
    pub struct DKsvd {
        /// Weight of the label term.
        beta: f64 = 1.0, Domain::Positive, grid [1e-4, 1e-2, 0.25, 1.0, 4.0, 16.0];
        /// Atoms per class; `auto` is 10, or the number of samples of a smaller class.
        atoms_per_class: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// Most atoms in the code of a sample; `auto` is a tenth of the features, from 5 to 30.
        sparsity: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1)), grid [5, 10, 20, 30];
        /// Iterations of K-SVD without labels that make the first dictionary.
        init_iter: usize = 20, Domain::AtLeast(0);
        /// Iterations with labels.
        max_iter: usize = 50, Domain::AtLeast(0);
        /// Weight of the squared norm of the classifier, where it is fitted.
        ridge: f64 = 1.0, Domain::Positive, grid [0.01, 0.1, 1.0];
        /// The classifier: refitted on codes made as for new samples, or the one learned jointly, as published.
        readout: Readout = Readout::Refit, Domain::OneOf(&["refit", "joint"]);
        /// How an atom is fitted: one alternation, or the leading singular pair.
        update: AtomUpdate = AtomUpdate::Approximate, Domain::OneOf(&["approximate", "exact"]);
        /// Seed of the choice of samples that become the first atoms.
        seed: u64 = 0, Domain::AtLeast(0);
    }
}

impl Fit for DKsvd {
    type Model = SparseLinear;
    const KEY: &'static str = "dksvd";

    fn learn(&self, full: &Dataset, watch: &mut dyn Observer) -> Result<SparseLinear> {
        let reduced = range::reduce(full)?;
        let train = reduced.as_ref().map_or(full, |reduced| &reduced.train);
        let counts = atom_counts(train, self.atoms_per_class, watch);
        let sparsity = sparsity(self.sparsity, full.n_features(), counts.total());

        let atoms = concat_columns(&sample_atoms(train, &counts, self.seed));
        let mut start = Ksvd::new(Signals::plain(train.x()), atoms, sparsity, self.update);
        for _ in 0..self.init_iter {
            start.iterate()?;
        }
        start.code();
        LabelKsvd {
            full,
            reduced: reduced.as_ref(),
            targets: &train.targets(),
            weights: &vec![self.beta.sqrt(); train.n_classes()],
            sparsity: (sparsity, self.sparsity),
            update: self.update,
            max_iter: self.max_iter,
            ridge: self.ridge,
            readout: self.readout,
            fitted_joint: None,
        }
        .learn(start.atoms(), start.codes().to_dense().as_ref(), watch)
    }

    fn restore(&self, parts: Parts) -> Result<SparseLinear> {
        SparseLinear::restore(parts, self.sparsity)
    }
}
