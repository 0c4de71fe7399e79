//! LC-KSVD1 and LC-KSVD2: label-consistent K-SVD.
//!
//! TODO
use crate::methods::label_ksvd::LabelKsvd;
use crate::methods::sparse_linear::{Readout, SparseLinear, atom_counts, class_ksvd, sparsity};
use crate::params::{Domain, params};
use crate::range;
use crate::update::ksvd::{AtomUpdate, Ksvd, Signals};
use crate::{Dataset, Fit, Observer, Parts, Result};

params! {
    /// Parameters of LC-KSVD1.
    pub struct LcKsvd1 {
        /// Weight of label consistency.
        alpha: f64 = 1.0, Domain::Positive, grid [1e-4, 1e-2, 0.25, 1.0, 4.0, 16.0];
        /// Atoms per class; `auto` is 10, or the number of samples of a smaller class.
        atoms_per_class: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// Most atoms in the code of a sample; `auto` is a tenth of the features, from 5 to 30.
        sparsity: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1)), grid [5, 10, 20, 30];
        /// Iterations of K-SVD within each class that make the first dictionary.
        init_iter: usize = 20, Domain::AtLeast(0);
        /// Iterations of K-SVD on all classes for the codes that `W` starts from; its dictionary is thrown away.
        code_iter: usize = 0, Domain::AtLeast(0);
        /// Iterations with labels.
        max_iter: usize = 50, Domain::AtLeast(0);
        /// Weight of the squared norm of the classifier.
        ridge: f64 = 1.0, Domain::Positive, grid [0.01, 0.1, 1.0];
        /// The classifier: fitted on codes made as for new samples, or on the joint codes, as published.
        readout: Readout = Readout::Refit, Domain::OneOf(&["refit", "joint"]);
        /// With `readout = joint`: scale the joint codes to the final atoms; the published code does not.
        rescale_codes: bool = false, Domain::Flag;
        /// How an atom is fitted: one alternation, or the leading singular pair.
        update: AtomUpdate = AtomUpdate::Approximate, Domain::OneOf(&["approximate", "exact"]);
        /// Seed of the choice of samples that become the first atoms.
        seed: u64 = 0, Domain::AtLeast(0);
    }
}

params! {
    /// Parameters of LC-KSVD2.
    pub struct LcKsvd2 {
        /// Weight of label consistency.
        alpha: f64 = 1.0, Domain::NonNegative, grid [1e-4, 1e-2, 0.25, 1.0, 4.0, 16.0];
        /// Weight of the classification term.
        beta: f64 = 1.0, Domain::Positive, grid [1e-4, 1e-2, 0.25, 1.0, 4.0];
        /// Atoms per class; `auto` is 10, or the number of samples of a smaller class.
        atoms_per_class: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// Most atoms in the code of a sample; `auto` is a tenth of the features, from 5 to 30.
        sparsity: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1)), grid [5, 10, 20, 30];
        /// Iterations of K-SVD within each class that make the first dictionary.
        init_iter: usize = 20, Domain::AtLeast(0);
        /// Iterations of K-SVD on all classes for the codes that `W` starts from; its dictionary is thrown away.
        code_iter: usize = 0, Domain::AtLeast(0);
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

/// LC-KSVD1 is LC-KSVD2 without `beta` and with a classifier fitted afterwards.
fn learn(p: &LcKsvd2, fitted_joint: Option<bool>, full: &Dataset, watch: &mut dyn Observer) -> Result<SparseLinear> {
    let reduced = range::reduce(full)?;
    let train = reduced.as_ref().map_or(full, |reduced| &reduced.train);
    let counts = atom_counts(train, p.atoms_per_class, watch);
    let sparsity = sparsity(p.sparsity, full.n_features(), counts.total());
    let d0 = class_ksvd(train, &counts, sparsity, p.init_iter, p.update, p.seed)?;
    let mut coder = Ksvd::new(Signals::plain(train.x()), d0.clone(), sparsity, p.update);
    for _ in 0..p.code_iter {
        coder.iterate()?;
    }
    if p.code_iter == 0 {
        coder.code();
    }
    let weights: Vec<f64> = counts.sizes().map(|size| (p.alpha * size as f64 + p.beta).sqrt()).collect();
    LabelKsvd {
        full,
        reduced: reduced.as_ref(),
        targets: &train.targets(),
        weights: &weights,
        sparsity: (sparsity, p.sparsity),
        update: p.update,
        max_iter: p.max_iter,
        ridge: p.ridge,
        readout: p.readout,
        fitted_joint,
    }
    .learn(d0.as_ref(), coder.codes().to_dense().as_ref(), watch)
}

impl Fit for LcKsvd1 {
    type Model = SparseLinear;
    const KEY: &'static str = "lcksvd1";

    fn learn(&self, full: &Dataset, watch: &mut dyn Observer) -> Result<SparseLinear> {
        let same = LcKsvd2 {
            alpha: self.alpha,
            beta: 0.0,
            atoms_per_class: self.atoms_per_class,
            sparsity: self.sparsity,
            init_iter: self.init_iter,
            code_iter: self.code_iter,
            max_iter: self.max_iter,
            ridge: self.ridge,
            readout: self.readout,
            update: self.update,
            seed: self.seed,
        };
        learn(&same, Some(self.rescale_codes), full, watch)
    }

    fn restore(&self, parts: Parts) -> Result<SparseLinear> {
        SparseLinear::restore(parts, self.sparsity)
    }
}

impl Fit for LcKsvd2 {
    type Model = SparseLinear;
    const KEY: &'static str = "lcksvd2";

    fn learn(&self, full: &Dataset, watch: &mut dyn Observer) -> Result<SparseLinear> {
        learn(self, None, full, watch)
    }

    fn restore(&self, parts: Parts) -> Result<SparseLinear> {
        SparseLinear::restore(parts, self.sparsity)
    }
}
