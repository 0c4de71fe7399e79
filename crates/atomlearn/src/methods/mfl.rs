//! MFL: metaface learning.
//!
//! Every class has its own atoms, the metafaces, learned from its samples alone:
//!
//! ```text
//! J_c = |X_c - D_c Z_c|^2 + lambda |Z_c|_1,      |d_k| = 1
//! ```
//!
//! Steps: 1. atoms of each class: its principal directions and mean; 2. codes, one lasso per sample over the atoms of its class;
//! 3. one sweep over the atoms, `d_k = Y z_k^T / |Y z_k^T|` with `Y = X_c - sum_{j != k} d_j z_j`, each the exact minimiser;
//! 2. and 3. in turn. A new sample is coded over the atoms of all classes side by side,
//! `z = argmin |x - D z|^2 + gamma |z|_1`, and the class with the smallest `|x - D_c z_c|` wins. Reported objectives are `J / 2`.
//!
//! Reference: Yang, Zhang, Yang, Zhang, ICIP 2010. Deviations: the start, which is random there; a decision by one code per class
//! is offered too (`rule = local`).

use super::class_dictionary::{ClassDictionary, Decision, GLOBAL_LOCAL, Rule};
use crate::init::class_start;
use crate::iterations::{Done, Iterations};
use crate::linalg::{mul, outer_gram, relative_change};
use crate::params::{Domain, params};
use crate::span::Span;
use crate::update::block_descent::sphere_sweep;
use crate::update::lasso_dictionary::{codes, terms};
use crate::{Blocks, Dataset, Fit, Observer, Parts, Result, State};
use faer::Mat;
use rayon::prelude::*;

params! {
    /// Parameters of MFL.
    pub struct Mfl {
        /// Weight of the sum of magnitudes of the codes, against the squared residual.
        lambda: f64 = 0.002, Domain::Positive, grid [2e-4, 2e-3, 2e-2];
        /// Atoms per class; `auto` is 10, or the size of the class or one less than the features if that is less.
        atoms_per_class: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// Decide by one code over all atoms, or by one code per class.
        rule: Rule = Rule::Global, Domain::OneOf(GLOBAL_LOCAL);
        /// Weight of the sum of magnitudes of a new sample's code.
        gamma: f64 = 0.002, Domain::Positive, grid [2e-4, 2e-3, 2e-2];
        /// Maximum number of iterations of code step and dictionary step.
        max_iter: usize = 20, Domain::AtLeast(1);
        /// Training ends when an iteration changes the dictionary by less than this, relatively; 0 never ends it early.
        tol: f64 = 1e-3, Domain::NonNegative;
    }
}

/// The atoms of a class and the codes of its samples.
struct Metafaces {
    d: Mat<f64>,
    z: Mat<f64>,
}

impl Fit for Mfl {
    type Model = ClassDictionary;
    const KEY: &'static str = "mfl";
    const TITLE: &'static str = "Metaface learning (MFL)";
    const PAPER: &'static str =
        "Yang, Zhang, Yang, Zhang: Metaface learning for sparse representation based face recognition. ICIP 2010";
    const DECISION: &'static [&'static str] = &["rule", "gamma"];
    const ITERATES: bool = true;

    fn learn(&self, train: &Dataset, from: Option<State>, watch: &mut dyn Observer) -> Result<ClassDictionary> {
        let span = Span::of(train)?;
        let data = span.train();

        let iterations = Iterations::new(Self::KEY, &from, self.max_iter, self.tol)?;
        let (mut d, atoms) = match from {
            None => class_start(data, self.atoms_per_class, watch)?,
            Some(state) => {
                let mut parts = state.into_parts(data.classes());
                parts.take_class_atoms("dictionary", data.n_features())?
            }
        };
        for iter in iterations.left() {
            let before = d.clone();
            let learned: Vec<Metafaces> =
                (0..data.n_classes()).into_par_iter().map(|c| self.learn_class(data, &d, &atoms, c)).collect();
            for (own, learned) in atoms.ranges().zip(&learned) {
                d.subcols_mut(own.start, own.len()).copy_from(&learned.d);
            }
            let terms = self.terms(data, &learned);
            let change = relative_change(&d, &before);
            let done = Done {
                terms: &terms,
                change: Some(change),
                model: &|| Ok(self.model(train.classes(), &span.lift_columns(&d), atoms.clone())),
                state: &|state| state.with("dictionary", &d).with_blocks("atom_counts", &atoms),
            };
            if iterations.report(iter, &done, watch)?.is_break() {
                break;
            }
        }
        Ok(self.model(train.classes(), &span.lift_columns(&d), atoms))
    }

    fn restore(&self, mut parts: Parts) -> Result<ClassDictionary> {
        let (dictionary, blocks) = parts.take_class_atoms("dictionary", None)?;
        Ok(self.model(&parts.classes, &dictionary, blocks))
    }
}

impl Mfl {
    fn model(&self, classes: &[String], dictionary: &Mat<f64>, blocks: Blocks) -> ClassDictionary {
        // Against half the squared residual.
        let decision = Decision { rules: GLOBAL_LOCAL, rule: self.rule, gamma: 0.5 * self.gamma };
        ClassDictionary::new(classes.to_vec(), dictionary, blocks, None, decision)
    }

    /// Steps 2 and 3 of one class; an atom that no code uses stays.
    fn learn_class(&self, train: &Dataset, d: &Mat<f64>, atoms: &Blocks, c: usize) -> Metafaces {
        let own = atoms.range(c);
        let x = train.class(c);
        let mut d = d.subcols(own.start, own.len()).to_owned();
        let z = codes(x, d.as_ref(), 0.5 * self.lambda);
        let e = mul(x, z.transpose());
        sphere_sweep(&e, &outer_gram(&z), &mut d);
        Metafaces { d, z }
    }

    /// The terms of half the objective of all classes.
    fn terms(&self, train: &Dataset, learned: &[Metafaces]) -> [(&'static str, f64); 2] {
        let mut fit = 0.0;
        let mut l1 = 0.0;
        for (c, Metafaces { d, z }) in learned.iter().enumerate() {
            let of_class = terms(train.class(c), d.as_ref(), z, 0.5 * self.lambda);
            fit += of_class[0];
            l1 += of_class[1];
        }
        [("fidelity", fit), ("sparsity", l1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::column_norms;
    use crate::observe::Trace;
    use crate::{Classifier, synth};

    #[test]
    fn objectives_fall_and_atoms_have_norm_one() {
        for train in [synth::blobs(4, 9, 20, 3), synth::blobs(3, 30, 8, 4)] {
            for rule in [Rule::Global, Rule::Local] {
                let params = Mfl { rule, tol: 0.0, atoms_per_class: Some(4), ..Mfl::default() };
                let mut trace = Trace::default();
                let model = params.fit(&train, &mut trace).unwrap();
                let values: Vec<f64> = trace.steps.iter().map(|step| step.objective.unwrap()).collect();
                assert!(values.windows(2).all(|w| w[1] <= w[0] + 1e-8), "{values:?}");
                assert!(values[0] > 1.01 * values[19], "it learns: {values:?}");
                let parts = model.parts();
                let norms = column_norms(parts.get("dictionary").unwrap());
                assert!(norms.iter().all(|norm| (norm - 1.0).abs() < 1e-12));
                assert_eq!(model.predict(train.x()).unwrap(), train.targets());
                let again = params.restore(parts).unwrap();
                assert_eq!(model.scores(train.x()).unwrap(), again.scores(train.x()).unwrap());
            }
        }
    }

    /// The update of the paper, with its residual written out.
    #[test]
    fn a_sweep_is_the_update_of_the_paper_and_every_atom_the_best_of_its_length() {
        let train = synth::blobs(2, 10, 6, 5);
        let params = Mfl { lambda: 0.02, ..Mfl::default() };
        let (d, atoms) = class_start(&train, Some(4), &mut ()).unwrap();
        let x = train.class(1);
        let Metafaces { d: found, z } = params.learn_class(&train, &d, &atoms, 1);
        let mut expected = d.subcols(4, 4).to_owned();
        let loss = |d: &Mat<f64>| (x - d * &z).squared_norm_l2();
        for k in 0..4 {
            let mut others = expected.clone();
            others.col_mut(k).fill(0.0);
            let atom = (x - &others * &z) * z.row(k).transpose();
            let held = loss(&expected);
            expected.col_mut(k).copy_from(&atom * faer::Scale(atom.norm_l2().recip()));
            let reached = loss(&expected);
            assert!(reached <= held + 1e-12);
            // Turned a little, it is worse.
            for i in 0..6 {
                let mut turned = expected.clone();
                turned[(i, k)] += 0.01;
                let norm = turned.col(k).norm_l2();
                turned.col_mut(k).iter_mut().for_each(|v| *v /= norm);
                assert!(loss(&turned) >= reached - 1e-12);
            }
        }
        assert!((found - expected).norm_max() < 1e-10);
    }

    #[test]
    fn classes_do_not_see_each_other() {
        let train = synth::blobs(3, 8, 10, 6);
        let columns: Vec<usize> = (0..16).collect();
        let labels: Vec<String> = columns.iter().map(|&i| train.targets()[i].to_string()).collect();
        let fewer = Dataset::new(crate::linalg::select_columns(train.x(), &columns), &labels).unwrap();
        let params = Mfl { atoms_per_class: Some(3), max_iter: 5, tol: 0.0, ..Mfl::default() };
        let atoms = |data: &Dataset| {
            let parts = params.fit(data, &mut ()).unwrap().parts();
            parts.get("dictionary").unwrap().subcols(0, 6).to_owned()
        };
        assert!((atoms(&train) - atoms(&fewer)).norm_max() < 1e-10);
    }
}
