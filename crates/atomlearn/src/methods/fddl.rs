//! FDDL: Fisher discrimination dictionary learning.
//!
//! Every class has its own atoms `D_c`. Samples of a class are to be represented by the whole dictionary and by their
//! own atoms alone, with sparse codes that differ little within a class and much between classes:
//!
//! ```text
//! J = sum_c (|X_c - D Z_c|^2 + |X_c - D_c Z_c^c|^2 + sum_{j != c} |D_j Z_c^j|^2)
//!     + lambda1 |Z|_1 + lambda2 (tr S_W - tr S_B + |Z|^2),            |d_k| = 1
//! ```
//!
//! `Z_c^j` are the codes of class `c` on the atoms of class `j`; `S_W`, `S_B` scatter within and between classes.
//!
//! Steps: 1. atoms of each class: its principal directions and mean; 2. all codes, a convex problem (`codes.rs`);
//! 3. one sweep over the atoms, each its exact minimiser (`atoms.rs`); 2. and 3. in turn; 4. the codes once more, and
//! their class means `m_c`. A new sample is decided by
//!
//! ```text
//! global:  z = argmin |x - D z|^2 + gamma |z|_1,     e_c = |x - D_c z_c|^2 + w |z - m_c|^2
//! local:   e_c = min_a |x - D_c a|^2 + gamma1 |a|_1 + gamma2 |a - m_c^c|^2
//! ```
//!
//! and the smallest `e_c` wins. With `scaling = dictol`, `lambda1`, `gamma` and `gamma1` weigh against half the squares.
//! Reported objectives are `J / 2`.
//!
//! Reference: Yang, Zhang, Feng, Zhang, IJCV 2014. Deviations: one accelerated code step for all classes in place of a
//! two-step iteration class by class (same minimiser, the problem is convex); the codes are solved again after the last
//! sweep (`refit`), where the original keeps those from before it.

pub(super) mod atoms;
pub(super) mod codes;

use crate::classifier::{AtomKind, Atoms, Header};
use crate::coding::lasso::{LassoCoder, LassoLimits, LassoTask, lasso};
use crate::init::class_start;
use crate::iterations::{Done, Iterations};
use crate::linalg::{add_diagonal, column_energies, gram, mul, relative_change};
use crate::params::{Domain, params, words};
use crate::score::ClassResiduals;
use crate::span::Span;
use crate::{Blocks, Classifier, Dataset, Error, Fit, Observer, Parts, Result, State};
use atoms::{AtomStep, SWEEPS};
use codes::CodeStep;
use faer::{Mat, MatRef};

/// Scores feel the codes themselves, not just their objective, so test codes are solved nearly exactly.
const TEST_LIMITS: LassoLimits = LassoLimits { tolerance: 1e-10, max_steps: 2000 };

words! {
    /// What `lambda1`, `gamma` and `gamma1` weigh against.
    pub enum Scaling {
        /// Squared norms, as in the paper and its code.
        Original = "original",
        /// Halves of squared norms, as in the DICTOL toolbox.
        Dictol = "dictol",
    }
}

words! {
    /// Where atoms may lie.
    pub enum Constraint {
        /// Norm one, one sweep per iteration, dead atoms removed: the original.
        Sphere = "sphere",
        /// Norm at most one, swept until settled.
        Ball = "ball",
    }
}

words! {
    /// How a sample is decided.
    pub enum Rule {
        /// One code over the whole dictionary.
        Global = "global",
        /// One code per class.
        Local = "local",
    }
}

params! {
    /// Parameters of FDDL.
    pub struct Fddl {
        /// Weight of the sum of magnitudes of the codes.
        lambda1: f64 = 0.005, Domain::Positive, grid [0.001, 0.005, 0.02];
        /// Weight of the Fisher criterion.
        lambda2: f64 = 0.05, Domain::NonNegative, grid [0.01, 0.05, 0.2];
        /// Atoms per class; `auto` is 10, or the size of the class or one less than the features if that is less.
        atoms_per_class: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// What lambda1, gamma and gamma1 weigh against: squares (original) or half of them (dictol).
        scaling: Scaling = Scaling::Original, Domain::OneOf(Scaling::WORDS);
        /// Atoms of norm one, one sweep per iteration (original), or at most one, swept until settled.
        constraint: Constraint = Constraint::Sphere, Domain::OneOf(Constraint::WORDS);
        /// Decide by one code over all atoms, or by one code per class.
        rule: Rule = Rule::Global, Domain::OneOf(Rule::WORDS);
        /// Global rule: weight of the sum of magnitudes of a sample's code.
        gamma: f64 = 0.005, Domain::Positive, grid [0.001, 0.005, 0.02];
        /// Global rule: weight of the distance between a sample's code and the class mean.
        w: f64 = 0.5, Domain::NonNegative, grid [0.05, 0.5, 1.0];
        /// Local rule: weight of the sum of magnitudes.
        gamma1: f64 = 0.005, Domain::Positive;
        /// Local rule: weight of the distance to the class mean.
        gamma2: f64 = 0.01, Domain::NonNegative;
        /// Maximum number of iterations of code step and dictionary step.
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

/// A learned dictionary with its class means, ready to code against.
pub struct FddlModel {
    header: Header,
    dictionary: Mat<f64>,
    means: Mat<f64>,
    blocks: Blocks,
    coder: LassoCoder,
    residuals: ClassResiduals,
    params: Fddl,
}

/// What an iteration takes from the one before.
struct Iterate {
    d: Mat<f64>,
    atoms: Blocks,
    z: Mat<f64>,
    /// Iterations whose atoms had not settled.
    unsettled: usize,
}

impl Iterate {
    fn restore(state: State, train: &Dataset) -> Result<Self> {
        let unsettled = state.value("unsettled")?;
        let mut parts = state.into_parts(train.classes());
        let d = parts.take_shaped("dictionary", train.n_features(), None)?;
        let z = parts.take_shaped("codes", d.ncols(), train.n_samples())?;
        let atoms = parts.take_blocks("atom_counts", d.ncols())?;
        if d.ncols() == 0 {
            return Err(Error::Data("the state has no atoms".into()));
        }
        Ok(Iterate { d, atoms, z, unsettled })
    }
}

impl Fddl {
    /// A weight of magnitudes, against half the squares.
    fn halved(&self, weight: f64) -> f64 {
        match self.scaling {
            Scaling::Original => 0.5 * weight,
            Scaling::Dictol => weight,
        }
    }

    fn start(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<Iterate> {
        let (d, atoms) = class_start(train, self.atoms_per_class, watch)?;
        let z = Mat::zeros(d.ncols(), train.n_samples());
        Ok(Iterate { d, atoms, z, unsettled: 0 })
    }

    fn model(&self, classes: &[String], dictionary: Mat<f64>, blocks: Blocks, means: Mat<f64>) -> FddlModel {
        FddlModel {
            header: Header::new(classes.to_vec(), dictionary.nrows(), Rule::WORDS).deciding_by(self.rule as usize),
            coder: LassoCoder::penalized(&dictionary),
            residuals: ClassResiduals::new(&dictionary, &blocks),
            params: self.clone(),
            dictionary,
            means,
            blocks,
        }
    }
}

impl Fit for Fddl {
    type Model = FddlModel;
    const KEY: &'static str = "fddl";
    const TITLE: &'static str = "Fisher discrimination dictionary learning (FDDL)";
    const PAPER: &'static str = "Yang, Zhang, Feng, Zhang: Sparse representation based Fisher discrimination dictionary learning for image classification. IJCV 2014";
    const DECISION: &'static [&'static str] = &["rule", "gamma", "w", "gamma1", "gamma2"];
    const READOUT: &'static [&'static str] = &["w"];
    const ITERATES: bool = true;

    fn learn(&self, train: &Dataset, from: Option<State>, watch: &mut dyn Observer) -> Result<FddlModel> {
        let span = Span::of(train)?;
        let data = span.train();
        let x = data.x();
        let samples = data.blocks();
        let model = |d: &Mat<f64>, atoms: &Blocks, means: Mat<f64>| {
            self.model(train.classes(), span.lift_columns(d), atoms.clone(), means)
        };
        let weights = (self.halved(self.lambda1), self.lambda2);

        let iterations = Iterations::new(Self::KEY, &from, self.max_iter, self.tol)?;
        let Iterate { mut d, mut atoms, mut z, mut unsettled } = match from {
            None => self.start(data, watch)?,
            Some(state) => Iterate::restore(state, data)?,
        };
        let mut codes = CodeStep::new(x, &d, (&atoms, samples), weights);
        for iter in iterations.left() {
            codes.solve(&mut z, self.code_iter, self.code_tol);
            let mut before = d.clone();
            let (dead, settled) = self.atom_step(x, &mut d, z.as_ref(), (&atoms, samples));
            unsettled = usize::saturating_add(unsettled, usize::from(!settled));
            if atoms::remove(&dead, &mut d, &mut z, &mut atoms) > 0 {
                watch.warn(&format!("iteration {iter}: removed dead atoms, {} left", d.ncols()));
                before = Mat::zeros(d.nrows(), d.ncols());
            }
            codes = CodeStep::new(x, &d, (&atoms, samples), weights);
            let terms = codes.terms(&z);
            let change = relative_change(&d, &before);
            let done = Done {
                terms: &terms,
                change: Some(change),
                model: &|| Ok(model(&d, &atoms, self.means(&codes, z.clone(), samples))),
                state: &|state| {
                    let state = state.with("dictionary", &d).with("codes", &z);
                    state.with_blocks("atom_counts", &atoms).with_value("unsettled", unsettled)
                },
            };
            if iterations.report(iter, &done, watch)?.is_break() {
                break;
            }
        }
        if unsettled > 0 {
            watch.warn(&format!("FDDL: in {unsettled} iterations the atoms had not settled after {SWEEPS} sweeps"));
        }
        let means = self.means(&codes, z, samples);
        Ok(self.model(train.classes(), span.lift_columns(&d), atoms, means))
    }

    fn restore(&self, mut parts: Parts) -> Result<FddlModel> {
        let (dictionary, blocks) = parts.take_class_atoms("dictionary", None)?;
        let means = parts.take_shaped("means", dictionary.ncols(), parts.classes.len())?;
        Ok(self.model(&parts.classes, dictionary, blocks, means))
    }

    /// `-e_c = -(residual + w apart)` for the global rule; the local one has nothing to combine.
    fn readout(&self, terms: &[Mat<f64>]) -> Mat<f64> {
        match terms {
            [squared, apart] => -(squared + faer::Scale(self.w) * apart),
            _ => terms[0].clone(),
        }
    }
}

impl Fddl {
    /// Class means of the codes, which are first solved again if `refit` says so.
    fn means(&self, codes: &CodeStep<'_>, mut z: Mat<f64>, samples: &Blocks) -> Mat<f64> {
        if self.refit {
            codes.solve(&mut z, self.code_iter, self.code_tol);
        }
        codes::class_means(&z, samples).0
    }

    /// The dictionary step; returns the atoms that died, and whether the others settled.
    fn atom_step(
        &self,
        x: MatRef<'_, f64>,
        d: &mut Mat<f64>,
        z: MatRef<'_, f64>,
        (atoms, samples): (&Blocks, &Blocks),
    ) -> (Vec<usize>, bool) {
        let step = AtomStep::new(x, z, atoms, samples);
        match self.constraint {
            Constraint::Sphere => (step.sphere(d), true),
            Constraint::Ball => (Vec::new(), step.ball(d)),
        }
    }
}

impl FddlModel {
    /// `z = argmin 1/2 |x - D z|^2 + gamma / 2 |z|_1`, and `D^T x`.
    fn code(&self, x: MatRef<'_, f64>) -> (Mat<f64>, Mat<f64>) {
        let correlations = mul(self.dictionary.transpose(), x);
        let task = LassoTask::Penalized(self.params.halved(self.params.gamma));
        let codes = self.coder.codes(&correlations, &energies(x), task, TEST_LIMITS).codes;
        (codes.to_dense(), correlations)
    }

    /// Class residuals and `|z - m_c|^2`; a class without atoms is infinitely far.
    fn global_terms(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        let (z, correlations) = self.code(x);
        let squared = self.residuals.of(x, z.as_ref(), correlations.as_ref()).squared;
        let (n_classes, n) = squared.shape();
        let fit = |c, i| if self.blocks.size(c) == 0 { f64::INFINITY } else { squared[(c, i)] };
        vec![Mat::from_fn(n_classes, n, fit), codes::distances_from(&self.means, &z)]
    }

    fn global_scores(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        self.params.readout(&self.global_terms(x))
    }

    /// `-e_c`: the lasso on `D_c^T D_c + gamma2 I` and `D_c^T x + gamma2 m_c^c`, with `|x|^2 + gamma2 |m_c^c|^2`.
    fn local_scores(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        let gamma2 = self.params.gamma2;
        let penalty = self.params.halved(self.params.gamma1);
        let mut errors = Mat::zeros(self.blocks.len(), x.ncols());
        for (c, range) in self.blocks.ranges().enumerate() {
            let mean = self.means.col(c).subrows(range.start, range.len());
            let own = self.dictionary.subcols(range.start, range.len());
            let mut gram = gram(own);
            add_diagonal(&mut gram, gamma2);
            let mut correlations = mul(own.transpose(), x);
            for column in correlations.as_mut().col_iter_mut() {
                column.iter_mut().zip(mean.iter()).for_each(|(b, m)| *b += gamma2 * m);
            }
            let pull = gamma2 * mean.squared_norm_l2();
            let energies: Vec<f64> = energies(x).into_iter().map(|energy| energy + pull).collect();
            let task = LassoTask::Penalized(penalty);
            let found = lasso(&gram, &correlations, &energies, task, TEST_LIMITS);
            for i in 0..x.ncols() {
                let l1: f64 = found.codes.sample(i).1.iter().map(|a| a.abs()).sum();
                errors[(c, i)] = found.squared_residuals[i] + 2.0 * penalty * l1;
            }
        }
        // A class without atoms is never chosen.
        let score = |c, i| if self.blocks.size(c) == 0 { f64::NEG_INFINITY } else { -errors[(c, i)] };
        Mat::from_fn(self.blocks.len(), x.ncols(), score)
    }
}

fn energies(x: MatRef<'_, f64>) -> Vec<f64> {
    column_energies(x)
}

impl Classifier for FddlModel {
    fn header(&self) -> &Header {
        &self.header
    }

    fn store(&self, parts: &mut Parts) {
        parts.put("dictionary", &self.dictionary);
        parts.put_blocks("atom_counts", &self.blocks);
        parts.put("means", &self.means);
    }

    fn atoms(&self) -> Option<Atoms<'_>> {
        Some(Atoms { kind: AtomKind::Dictionary, columns: &self.dictionary, classes: Some(&self.blocks) })
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        vec![self.global_scores(x), self.local_scores(x)]
    }

    fn score_block(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        match self.params.rule {
            Rule::Global => self.global_scores(x),
            Rule::Local => self.local_scores(x),
        }
    }

    fn score_terms_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        match self.params.rule {
            Rule::Global => self.global_terms(x),
            Rule::Local => vec![self.local_scores(x)],
        }
    }

    fn codes_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        Some(self.code(x).0)
    }
}

#[cfg(test)]
mod tests;
