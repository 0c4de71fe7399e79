//! The common core of D-KSVD and LC-KSVD: K-SVD on samples with weighted labels below them.
//!
//! LC-KSVD minimises, under `|z_i|_0 <= T`,
//!
//! ```text
//! |X - D Z|_F^2 + alpha |Q - A Z|_F^2 + beta |H - W Z|_F^2
//! ```
//!
//! with `Q = B H` ("atom k and sample i share the class", `B` the one-hot atom classes) and, like D-KSVD (`alpha = 0`),
//! does so by K-SVD on stacked signals. Its start has `A = B W`. Columns `sqrt(alpha) B e_c` and `sqrt(beta) e_c` below
//! each other are orthogonal for different `c` and have squared length `alpha K_c + beta`, and no step of K-SVD
//! leaves the span of signals and atoms. So, exactly:
//!
//! - `A = B W` holds throughout;
//! - the K + C label rows can be replaced by C rows with labels of weight `g_c = sqrt(alpha K_c + beta)`;
//! - LC-KSVD is D-KSVD with that weight, from another start (found also by Kviatkovsky, Gabel, Rivlin, Shimshoni: On
//!   the equivalence of the LC-KSVD and the D-KSVD algorithms. IEEE TPAMI 2017).

use crate::iterations::{Done, Iterations};
use crate::linalg::{View, gram, normalize_columns};
use crate::methods::sparse_linear::{Readout, SparseLinear, encode, ridge_readout};
use crate::span::Span;
use crate::update::ksvd::{AtomUpdate, KsvdIteration, Signals, WeightedLabels};
use crate::{Dataset, Observer, Result, State};
use faer::{Mat, MatRef};

/// An atom whose part among the features is shorter lives in the labels only: it is set to zero and never used.
const LABEL_ONLY: f64 = 1e-10;

/// What does not change while learning.
pub(super) struct LabelKsvd<'a> {
    /// Key of the method that learns.
    pub method: &'static str,
    /// The samples.
    pub span: &'a Span<'a>,
    /// Class of every sample.
    pub targets: &'a [usize],
    /// `g_c`.
    pub weights: &'a [f64],
    /// `T`.
    pub sparsity: usize,
    /// `T` as the user gave it.
    pub wanted_sparsity: Option<usize>,
    pub update: AtomUpdate,
    pub max_iter: usize,
    pub ridge: f64,
    pub readout: LabelReadout,
}

/// Which linear classifier reads the codes.
#[derive(Clone, Copy)]
pub(super) enum LabelReadout {
    /// One fitted on codes made as for new samples.
    Refit,
    /// The one learned with the dictionary.
    Joint,
    /// One fitted on the codes of training, scaled to the final atoms or not.
    OnJointCodes { rescaled: bool },
}

impl From<Readout> for LabelReadout {
    fn from(readout: Readout) -> Self {
        match readout {
            Readout::Refit => LabelReadout::Refit,
            Readout::Joint => LabelReadout::Joint,
        }
    }
}

impl LabelKsvd<'_> {
    fn train(&self) -> &Dataset {
        self.span.train()
    }

    /// Samples with labels below them.
    fn signals(&self) -> Signals<'_> {
        Signals { x: self.train().x(), labels: Some(WeightedLabels { targets: self.targets, weights: self.weights }) }
    }

    /// `W0` by ridge regression on the codes of `D0`, then K-SVD on samples and labels.
    pub fn learn(&self, d0: MatRef<'_, f64>, z0: &Mat<f64>, watch: &mut dyn Observer) -> Result<SparseLinear> {
        let train = self.train();
        let m = d0.nrows();
        let w0 = ridge_readout(z0, self.targets, train.n_classes(), 1.0)?;
        let stacked = |i: usize, k: usize| if i < m { d0[(i, k)] } else { self.weights[i - m] * w0[(i - m, k)] };
        let atoms = Mat::from_fn(m + train.n_classes(), d0.ncols(), stacked);
        let mut coder = KsvdIteration::new(self.signals(), atoms, self.sparsity, self.update);
        if self.max_iter == 0 {
            coder.code();
        }
        self.iterate(coder, &self.iterations(None)?, watch)
    }

    /// The same from the state of an iteration, with so many atoms.
    pub fn resume(&self, state: State, n_atoms: usize, watch: &mut dyn Observer) -> Result<SparseLinear> {
        let iterations = self.iterations(Some(&state))?;
        let mut parts = state.into_parts(self.train().classes());
        let coder = KsvdIteration::restore(self.signals(), n_atoms, &mut parts, self.sparsity, self.update)?;
        self.iterate(coder, &iterations, watch)
    }

    fn iterations(&self, from: Option<&State>) -> Result<Iterations> {
        Iterations::new(self.method, from, self.max_iter, 0.0)
    }

    fn iterate(
        &self,
        mut coder: KsvdIteration<'_>,
        iterations: &Iterations,
        watch: &mut dyn Observer,
    ) -> Result<SparseLinear> {
        let m = self.train().n_features();
        for iter in iterations.left() {
            let errors = coder.iterate()?;
            let done = Done {
                terms: &[("reconstruction", errors.samples), ("labels", errors.labels)],
                change: None,
                model: &|| self.finish(&coder),
                state: &|state| coder.store(state),
            };
            if iterations.report(iter, &done, watch)?.is_break() {
                break;
            }
        }
        let lost = lengths(coder.atoms().subrows(0, m)).into_iter().filter(|&length| length < LABEL_ONLY).count();
        if lost > 0 {
            let n_atoms = coder.atoms().ncols();
            watch.warn(&format!(
                "{lost} of {n_atoms} atoms have no component among the features and will never be used"
            ));
        }
        self.finish(&coder)
    }

    /// Splits the stacked atoms: with `s_k = |d_k|`, `d_k <- d_k / s_k` and `w_k <- w_k / (g_c s_k)`.
    fn finish(&self, coder: &KsvdIteration<'_>) -> Result<SparseLinear> {
        let train = self.train();
        let m = train.n_features();
        let mut d = coder.atoms().subrows(0, m).to_owned();
        let lengths = lengths(&d);
        for (k, _) in lengths.iter().enumerate().filter(|(_, s)| **s < LABEL_ONLY) {
            d.col_mut(k).fill(0.0);
        }
        normalize_columns(d.as_mut());
        let n_classes = train.n_classes();
        let weights = match self.readout {
            LabelReadout::Refit => {
                let z = encode(&gram(&d), &d, train.x(), self.sparsity).to_dense();
                ridge_readout(&z, self.targets, n_classes, self.ridge)?
            }
            LabelReadout::OnJointCodes { rescaled } => {
                let z = coder.codes().to_dense();
                let scale = |k: usize| if rescaled { lengths[k] } else { 1.0 };
                let z = Mat::from_fn(z.nrows(), z.ncols(), |k, i| scale(k) * z[(k, i)]);
                ridge_readout(&z, self.targets, n_classes, self.ridge)?
            }
            LabelReadout::Joint => Mat::from_fn(n_classes, d.ncols(), |c, k| {
                let below = self.weights[c] * lengths[k];
                if lengths[k] < LABEL_ONLY || below == 0.0 { 0.0 } else { coder.atoms()[(m + c, k)] / below }
            }),
        };
        Ok(SparseLinear::lifted(self.span, &d, weights, self.wanted_sparsity))
    }
}

fn lengths(atoms: impl View) -> Vec<f64> {
    atoms.view().col_iter().map(|atom| atom.norm_l2()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Blocks;
    use crate::linalg::{column_norms, concat_columns};
    use crate::methods::sparse_linear::sample_atoms;
    use crate::{Classifier, synth};

    #[test]
    fn stacked_atoms_come_back_from_dictionary_and_classifier() {
        let train = synth::blobs(3, 12, 9, 1);
        let span = Span::of(&train).unwrap();
        let (targets, weights) = (train.targets(), [0.7, 1.0, 1.5]);
        let d0 = concat_columns(&sample_atoms(&train, &Blocks::from_sizes([4, 3, 5]), 1));
        let z0 = encode(&gram(&d0), &d0, train.x(), 3).to_dense();
        let core = LabelKsvd {
            method: "test",
            span: &span,
            targets: &targets,
            weights: &weights,
            sparsity: 3,
            wanted_sparsity: Some(3),
            update: AtomUpdate::Approximate,
            max_iter: 4,
            ridge: 1.0,
            readout: LabelReadout::Joint,
        };
        let model = core.learn(d0.as_ref(), &z0, &mut ()).unwrap();
        let parts = model.parts();
        let (d, w) = (parts.get("dictionary").unwrap(), parts.get("weights").unwrap());
        assert!(column_norms(d).iter().all(|n| (n - 1.0).abs() < 1e-12));
        // [d_k; g o w_k] normalised is the stacked atom; run the same again to compare.
        let w0 = ridge_readout(&z0, &targets, 3, 1.0).unwrap();
        let atoms = Mat::from_fn(12, 12, |i, k| if i < 9 { d0[(i, k)] } else { weights[i - 9] * w0[(i - 9, k)] });
        let labels = Some(WeightedLabels { targets: &targets, weights: &weights });
        let mut state = KsvdIteration::new(Signals { x: train.x(), labels }, atoms, 3, AtomUpdate::Approximate);
        for _ in 0..4 {
            state.iterate().unwrap();
        }
        let mut rebuilt = Mat::from_fn(12, 12, |i, k| if i < 9 { d[(i, k)] } else { weights[i - 9] * w[(i - 9, k)] });
        normalize_columns(rebuilt.as_mut());
        assert!((rebuilt - state.atoms()).norm_max() < 1e-12);
    }
}
