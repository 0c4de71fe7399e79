//! LC-KSVD1 and LC-KSVD2: label-consistent K-SVD.
//!
//! ```text
//! min |X - D Z|_F^2 + alpha |Q - A Z|_F^2 [ + beta |H - W Z|_F^2 ]      s.t.  |z_i|_0 <= T
//! ```
//!
//! `X` samples, `D` atoms that belong to classes, `Z` sparse codes, `H` one-hot labels, `Q_ki = 1` if atom `k` and
//! sample `i` share the class. LC-KSVD1 has no `beta` term. Both are K-SVD on samples with labels below them:
//!
//! 1. `D0`: `init_iter` iterations of K-SVD within each class, from random samples of it;
//! 2. `W0 = H Z0^T (Z0 Z0^T + I)^-1` on codes over `D0`, and with it `A0 = B W0` (`B` one-hot classes of the atoms);
//! 3. `max_iter` iterations of K-SVD on samples and labels;
//! 4. atoms scaled back to unit length among the features, `W` likewise.
//!
//! `A = B W` stays true throughout, so the K + C label rows are never formed: C rows with labels of weight
//! `sqrt(alpha K_c + beta)` give the same (`label_ksvd.rs` says why). A new sample gets the code
//! `z = OMP(D, x, T)` and the scores `W z`.
//!
//! Reference: Jiang, Lin, Davis: Label consistent K-SVD: learning a discriminative dictionary for recognition. IEEE
//! TPAMI 2013.
//!
//! Deviations, all switchable: `readout = refit` fits `W` on codes made as for new samples, without labels (`joint`
//! is the published one; LC-KSVD1 then fits on the joint codes, which `rescale_codes` scales to the final atoms).
//! `code_iter = 0` takes `Z0` over `D0` itself (published: 20 iterations on another dictionary, thrown away). Label
//! weights and iterations are far smaller than published, see docs/methods/lcksvd.md. A class with fewer samples
//! than atoms gets fewer atoms (published: an error).

use super::label_ksvd::{LabelKsvd, LabelReadout};
use crate::methods::sparse_linear::{Readout, SparseLinear, atom_counts, class_ksvd, sparsity};
use crate::observe::unless_resumed;
use crate::params::{Domain, Preset, params, presets};
use crate::span::Span;
use crate::update::ksvd::{AtomUpdate, KsvdIteration, Signals};
use crate::{Dataset, Fit, Observer, Parts, Result, State};

params! {
    /// Parameters of LC-KSVD1.
    pub struct LcKsvd1 {
        /// Weight of label consistency.
        alpha: f64 = 0.01, Domain::Positive, grid [1e-3, 0.01, 0.1, 1.0];
        /// Atoms per class; `auto` is 10, or the number of samples of a smaller class.
        atoms_per_class: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// Most atoms in the code of a sample; `auto` is a tenth of the features, from 5 to 30.
        sparsity: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1)), grid [10, 30];
        /// Iterations of K-SVD within each class that make the first dictionary.
        init_iter: usize = 5, Domain::AtLeast(0);
        /// Iterations of K-SVD on all classes for the codes that `W` starts from; its dictionary is thrown away.
        code_iter: usize = 0, Domain::AtLeast(0);
        /// Iterations with labels.
        max_iter: usize = 15, Domain::AtLeast(0);
        /// Weight of the squared norm of the classifier.
        ridge: f64 = 0.1, Domain::Positive, grid [0.1, 1.0];
        /// The classifier: fitted on codes made as for new samples, or on the joint codes, as published.
        readout: Readout = Readout::Refit, Domain::OneOf(Readout::WORDS);
        /// With `readout = joint`: scale the joint codes to the final atoms; the published code does not.
        rescale_codes: bool = false, Domain::Flag;
        /// How an atom is fitted: one alternation, or the leading singular pair.
        update: AtomUpdate = AtomUpdate::Approximate, Domain::OneOf(AtomUpdate::WORDS);
        /// Seed of the choice of samples that become the first atoms.
        seed: u64 = 0, Domain::AtLeast(0);
    }
}

params! {
    /// Parameters of LC-KSVD2.
    pub struct LcKsvd2 {
        /// Weight of label consistency.
        alpha: f64 = 0.01, Domain::NonNegative, grid [0.1, 1.0];
        /// Weight of the classification term.
        beta: f64 = 0.2, Domain::Positive, grid [0.01, 0.2, 1.0];
        /// Atoms per class; `auto` is 10, or the number of samples of a smaller class.
        atoms_per_class: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// Most atoms in the code of a sample; `auto` is a tenth of the features, from 5 to 30.
        sparsity: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1)), grid [10, 30];
        /// Iterations of K-SVD within each class that make the first dictionary.
        init_iter: usize = 5, Domain::AtLeast(0);
        /// Iterations of K-SVD on all classes for the codes that `W` starts from; its dictionary is thrown away.
        code_iter: usize = 0, Domain::AtLeast(0);
        /// Iterations with labels.
        max_iter: usize = 15, Domain::AtLeast(0);
        /// Weight of the squared norm of the classifier, where it is fitted.
        ridge: f64 = 0.1, Domain::Positive, grid [0.1, 1.0];
        /// The classifier: refitted on codes made as for new samples, or the one learned jointly, as published.
        readout: Readout = Readout::Refit, Domain::OneOf(Readout::WORDS);
        /// How an atom is fitted: one alternation, or the leading singular pair.
        update: AtomUpdate = AtomUpdate::Approximate, Domain::OneOf(AtomUpdate::WORDS);
        /// Seed of the choice of samples that become the first atoms.
        seed: u64 = 0, Domain::AtLeast(0);
    }
}

/// LC-KSVD1 is LC-KSVD2 without `beta` and with a classifier fitted afterwards. Trains from the beginning or from a state,
/// which belongs to an iteration with labels.
fn run(
    method: &'static str,
    p: &LcKsvd2,
    readout: LabelReadout,
    full: &Dataset,
    from: Option<State>,
    watch: &mut dyn Observer,
) -> Result<SparseLinear> {
    let span = Span::of(full)?;
    let train = span.train();
    let counts = atom_counts(train, p.atoms_per_class, unless_resumed(&from, watch, &mut ()));
    let sparsity = sparsity(p.sparsity, full.n_features(), counts.total());
    let weights: Vec<f64> = counts.sizes().map(|size| (p.alpha * size as f64 + p.beta).sqrt()).collect();
    let core = LabelKsvd {
        method,
        span: &span,
        targets: &train.targets(),
        weights: &weights,
        sparsity,
        wanted_sparsity: p.sparsity,
        update: p.update,
        max_iter: p.max_iter,
        ridge: p.ridge,
        readout,
    };
    if let Some(state) = from {
        return core.resume(state, counts.total(), watch);
    }
    let d0 = class_ksvd(train, &counts, sparsity, p.init_iter, p.update, p.seed)?;
    let mut coder = KsvdIteration::new(Signals::plain(train.x()), d0.clone(), sparsity, p.update);
    for _ in 0..p.code_iter {
        coder.iterate()?;
    }
    if p.code_iter == 0 {
        coder.code();
    }
    core.learn(d0.as_ref(), &coder.codes().to_dense(), watch)
}

impl LcKsvd1 {
    /// The parameters that both have.
    fn common(&self) -> LcKsvd2 {
        LcKsvd2 {
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
        }
    }
}

impl Fit for LcKsvd1 {
    type Model = SparseLinear;
    const KEY: &'static str = "lcksvd1";
    const TITLE: &'static str = "Label-consistent K-SVD, label consistency only (LC-KSVD1)";
    const PAPER: &'static str = "Jiang, Lin, Davis: Label consistent K-SVD: learning a discriminative dictionary for recognition. IEEE TPAMI 2013";
    const PRESETS: &'static [Preset] = presets![Self:
        "small-weights", "the defaults: chosen by cross-validation" => {};
        "published", "settings of the authors' package for Extended Yale B" => { alpha: 16.0, sparsity: Some(30), atoms_per_class: Some(15), init_iter: 20, code_iter: 20, max_iter: 50, ridge: 1.0, readout: Readout::Joint };
    ];
    const ITERATES: bool = true;

    fn learn(&self, full: &Dataset, from: Option<State>, watch: &mut dyn Observer) -> Result<SparseLinear> {
        let readout = match self.readout {
            Readout::Refit => LabelReadout::Refit,
            Readout::Joint => LabelReadout::OnJointCodes { rescaled: self.rescale_codes },
        };
        run(Self::KEY, &self.common(), readout, full, from, watch)
    }

    fn restore(&self, parts: Parts) -> Result<SparseLinear> {
        SparseLinear::restore(parts, self.sparsity)
    }
}

impl Fit for LcKsvd2 {
    type Model = SparseLinear;
    const KEY: &'static str = "lcksvd2";
    const TITLE: &'static str = "Label-consistent K-SVD with classification error (LC-KSVD2)";
    const PAPER: &'static str = "Jiang, Lin, Davis: Label consistent K-SVD: learning a discriminative dictionary for recognition. IEEE TPAMI 2013";
    const PRESETS: &'static [Preset] = presets![Self:
        "small-weights", "the defaults: chosen by cross-validation" => {};
        "published", "settings of the authors' package for Extended Yale B" => { alpha: 16.0, beta: 4.0, sparsity: Some(30), atoms_per_class: Some(15), init_iter: 20, code_iter: 20, max_iter: 50, ridge: 1.0, readout: Readout::Joint };
    ];
    const ITERATES: bool = true;

    fn learn(&self, full: &Dataset, from: Option<State>, watch: &mut dyn Observer) -> Result<SparseLinear> {
        run(Self::KEY, self, self.readout.into(), full, from, watch)
    }

    fn restore(&self, parts: Parts) -> Result<SparseLinear> {
        SparseLinear::restore(parts, self.sparsity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Classifier;
    use crate::observe::Trace;
    use crate::synth;

    /// With equally many atoms per class, `alpha` and `beta` count only as `alpha K_c + beta`.
    #[test]
    fn label_consistency_is_a_heavier_classification_term() {
        let train = synth::blobs(4, 12, 10, 2);
        let fit = |alpha: f64, beta: f64, readout: Readout| {
            let p = LcKsvd2 { alpha, beta, atoms_per_class: Some(4), readout, ..Default::default() };
            p.fit(&train, &mut ()).unwrap().scores(train.x()).unwrap()
        };
        for readout in [Readout::Joint, Readout::Refit] {
            assert!((fit(0.5, 1.0, readout) - fit(0.0, 3.0, readout)).norm_max() < 1e-9);
        }
        let one = LcKsvd1 { alpha: 0.75, atoms_per_class: Some(4), ..Default::default() };
        let one = one.fit(&train, &mut ()).unwrap().scores(train.x()).unwrap();
        assert!((one - fit(0.0, 3.0, Readout::Refit)).norm_max() < 1e-9);
    }

    /// Not strict: OMP is greedy. But the stacked objective must come down.
    #[test]
    fn the_objective_falls() {
        let train = synth::blobs(4, 12, 10, 2);
        for (alpha, beta) in [(0.01, 0.2), (16.0, 4.0)] {
            let mut trace = Trace::default();
            LcKsvd2 { alpha, beta, ..Default::default() }.fit(&train, &mut trace).unwrap();
            let values: Vec<f64> = trace.steps.iter().filter_map(|step| step.objective).collect();
            assert!(values[values.len() - 1] < values[0], "{values:?}");
        }
    }
}
