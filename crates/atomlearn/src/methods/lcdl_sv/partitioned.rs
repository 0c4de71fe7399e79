//! LCDL-SV from sums over partitions, see [`crate::rounds`].
//!
//! The codes of an iteration are `Y = T s` with `s = (x, w)`: the sample and the pull of the classifiers on it. So all that
//! the dictionary step needs, `Y Y^T` and `Y X^T`, follows from `X X^T`, which is summed once, and from `W X^T` and
//! `W W^T`, which are small. The first round of an iteration sums those two and, at the same time, evaluates the
//! SVM where the last iteration left it; the SVM depends on the codes, not on the new dictionary. Further rounds
//! are Newton steps of the SVM. The first iteration has no pull, and the SVM starts from known sums.

use super::refit::{LAGGING, LAGGING_WARNING};
use super::steps::{ClassifierPull, Rescaled};
use super::subspace::{FactoredDictionary, least_squares_from_sums};
use super::{AtomNorm, LcdlSv};
use crate::coding::ridge::ridge_map;
use crate::graph::AtomGraph;
use crate::linalg::{gram, mul, qr, relative_change, trace};
use crate::params::AtomCount;
use crate::rounds::{
    self, Ask, CheckAsk, CodeSums, Coding, Message, Moments, Newton, NextPull, PartialStats, Partitioned, PullAsk,
    RightSums, Rounds, RoundsStart, Scatter, class_pca_mean, restore_svm, store_svm,
};
use crate::svm::Svm;
use crate::{Blocks, Error, Observer, Parts, Result, Step, init};
use faer::Mat;
use serde::{Deserialize, Serialize};

const STAGE: &str = "LCDL-SV dictionary step";

/// What is asked next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Phase {
    /// Sums of the codes, and the SVM where it stands.
    Codes,
    /// The SVM of an iteration.
    Svm,
    /// Does the SVM still fit the last dictionary?
    Check,
    /// The SVM on test codes.
    Refit,
}

/// What is known of an iteration once its dictionary is.
#[derive(Clone, Copy, Default)]
struct LcdlProgress {
    /// `|X - D Z|^2`.
    residual: f64,
    graph: f64,
    /// Of the dictionary, relative.
    change: f64,
}

/// Training between two rounds.
pub(crate) struct LcdlRounds {
    params: LcdlSv,
    blocks: Blocks,
    phase: Phase,
    iter: usize,
    ridge: Option<f64>,
    d: Mat<f64>,
    factored: FactoredDictionary,
    svm: Svm,
    /// Coordinates of the codes: `Z = code_q Y`.
    code_q: Mat<f64>,
    coding: Coding,
    progress: LcdlProgress,
}

impl LcdlRounds {
    fn ask_check(&self) -> Result<Ask> {
        let with_bias = |map: Mat<f64>| {
            let n = map.ncols();
            Mat::from_fn(map.nrows(), n + 1, |c, j| if j < n { map[(c, j)] } else { self.svm.bias[c] })
        };
        let fitted = with_bias(mul(self.in_codes().weights.transpose(), &self.coding.transform));
        let test = with_bias(mul(self.svm.weights.transpose(), self.coder()?));
        Ok(Ask::Check(CheckAsk { chain: self.coding.chain_in_use(), fitted, test }))
    }

    /// Graph and codes of the next iteration; without a pull the dictionary step follows at once.
    fn begin_iteration(&mut self, moments: &Moments, watch: &mut dyn Observer) -> Result<()> {
        self.iter += 1;
        let basis = if self.params.lambda1 == 0.0 {
            self.factored.shortest_codes(watch)?
        } else {
            let atom_gram = gram(&self.d);
            let graph = AtomGraph::from_gram(&atom_gram, self.params.knn, self.params.affinity);
            self.factored.code_basis(&self.params.code_matrix(atom_gram, &graph, &mut self.ridge, watch)?)
        };
        let Some(ClassifierPull { u, g, coupling }) = self.params.pull(&self.factored, &basis, &self.svm)? else {
            self.code_q = basis.q;
            self.coding.set_plain(basis.map, self.iter);
            let sums = CodeSums::plain(moments);
            self.dictionary_step(&sums, moments, watch)?;
            self.coding.newton = if self.svm.weights.norm_max() == 0.0 {
                sums.first_step(&self.coding.transform, moments, self.tau())?
            } else {
                self.warm_start()
            };
            self.phase = Phase::Svm;
            return Ok(());
        };
        let base = mul(u.transpose(), &basis.map);
        let last = self.in_codes();
        self.coding.set_pulled(&basis.map, NextPull { base, coupling, directions: g }, &last);
        self.code_q = basis.q;
        self.coding.newton = self.warm_start();
        self.phase = Phase::Codes;
        Ok(())
    }

    fn tau(&self) -> f64 {
        1.0 / self.params.theta
    }

    /// The last SVM in the coordinates of the present codes.
    fn in_codes(&self) -> Svm {
        Svm { weights: mul(self.code_q.transpose(), &self.svm.weights), bias: self.svm.bias.clone() }
    }

    /// A start that stays in the span of the codes by construction.
    fn warm_start(&self) -> Newton {
        Newton::from_svm(&self.in_codes(), self.tau())
    }

    /// The new dictionary. False if the coordinates of the codes had to change.
    fn dictionary_step(&mut self, sums: &CodeSums, moments: &Moments, watch: &mut dyn Observer) -> Result<bool> {
        let (code_gram, cross) = sums.of_codes(&self.coding.transform, moments);
        let energy = trace(&moments.outer);
        let step = least_squares_from_sums(&self.code_q, code_gram, &cross, energy, STAGE, watch)?;
        let mut same = true;
        if let Some(kept) = &step.kept {
            self.coding.transform = mul(kept.transpose(), &self.coding.transform);
            same = false;
        }
        let mut factored = step.dictionary;
        self.code_q = factored.q.clone();
        if let Some(Rescaled { code_q, code_r, dictionary }) = self.params.rescale(&factored) {
            self.coding.transform = mul(&code_r, &self.coding.transform);
            (self.code_q, factored, same) = (code_q, dictionary, false);
        }
        if !same {
            self.coding.newton = self.warm_start();
        }
        let (code_gram, _) = sums.of_codes(&self.coding.transform, moments);
        // The graph of the dictionary that made these codes.
        let graph = AtomGraph::new(&self.d, self.params.knn, self.params.affinity);
        let graph_term = self.params.graph_term(&graph, None, &self.code_q, &code_gram, self.ridge.unwrap_or(0.0));
        let next = factored.dictionary();
        let change = relative_change(&next, &self.d);
        self.progress = LcdlProgress { residual: step.residual, graph: graph_term, change };
        (self.d, self.factored) = (next, factored);
        Ok(same)
    }

    fn end_iteration(&mut self, losses: f64, moments: &Moments, watch: &mut dyn Observer) -> Result<Option<Parts>> {
        let LcdlProgress { residual, graph, change } = self.progress;
        let support = 2.0 * self.params.lambda2 * (self.svm.weights.squared_norm_l2() + self.params.theta * losses);
        let terms = [("reconstruction", residual), ("graph", graph), ("support vector", support)];
        rounds::report(self.iter, self.params.max_iter(), &terms, change, watch);
        if self.iter < self.params.max_iter() && change >= self.params.tol {
            self.begin_iteration(moments, watch)?;
            return Ok(None);
        }
        match self.params.refit_svm {
            _ if self.svm.weights.norm_max() == 0.0 => self.begin_refit(moments)?,
            Some(false) => return Ok(Some(self.parts())),
            Some(true) => self.begin_refit(moments)?,
            None => self.phase = Phase::Check,
        }
        Ok(None)
    }

    /// The SVM on test codes `P x`; with more atoms than features `P = Q R`, and the same SVM costs less on `R x`.
    fn begin_refit(&mut self, moments: &Moments) -> Result<()> {
        let map = self.coder()?;
        let (q, map) =
            if map.nrows() > map.ncols() { qr(&map) } else { (Mat::identity(map.nrows(), map.nrows()), map) };
        self.code_q = q;
        self.coding.set_plain(map, self.iter);
        self.coding.newton = CodeSums::plain(moments).first_step(&self.coding.transform, moments, self.tau())?;
        self.phase = Phase::Refit;
        Ok(())
    }

    /// `P`, from samples to test codes.
    fn coder(&self) -> Result<Mat<f64>> {
        ridge_map(&self.d, self.params.eta1(), "LCDL-SV test coder")
    }

    /// The parts of the model.
    fn parts(&self) -> Parts {
        let mut parts = Parts::default();
        parts.put("dictionary", &self.d);
        parts.put_blocks("atom_counts", &self.blocks);
        parts.put_svm(&self.svm);
        parts
    }
}

impl Partitioned for LcdlSv {
    const SCATTER: Scatter = Scatter::ByClass;

    fn begin(self, moments: &Moments, scatters: &[Mat<f64>], watch: &mut dyn Observer) -> Result<RoundsStart> {
        let wanted: Vec<usize> = match self.atoms_per_class {
            AtomCount::Each(wanted) => vec![wanted; moments.counts.len()],
            AtomCount::Auto => moments.counts.iter().map(|&n| (n as usize).min(init::USUAL_ATOMS)).collect(),
            AtomCount::All => {
                return Err(Error::param(
                    "atoms_per_class",
                    "all",
                    "the training samples themselves cannot be the atoms in partitioned training; give a number",
                ));
            }
        };
        if self.svm_solver != super::Solver::Newton {
            return Err(Error::param(
                "svm_solver",
                "lbfgs",
                "partitioned training has the exact solver only; use newton",
            ));
        }
        let (mut d, blocks) = class_pca_mean(moments, scatters, &wanted, watch)?;
        if let Some(seed) = self.sign_seed {
            init::flip_signs(&mut d, seed);
        }
        let factored = FactoredDictionary::from_outer(d.as_ref(), &moments.outer)?;
        let svm = Svm::zero(d.ncols(), moments.counts.len());
        let coding = Coding::new(self.strength(), self.active_set, &svm, 1.0 / self.theta);
        let mut rounds = LcdlRounds {
            ridge: self.laplacian_ridge,
            code_q: factored.q.clone(),
            params: self,
            blocks,
            phase: Phase::Svm,
            iter: 0,
            d,
            factored,
            svm,
            coding,
            progress: LcdlProgress::default(),
        };
        let _ = watch.step(&Step::start(rounds.params.max_iter()));
        if rounds.params.max_iter() == 0 {
            rounds.begin_refit(moments)?;
        } else {
            rounds.begin_iteration(moments, watch)?;
        }
        Ok(RoundsStart::Rounds(Box::new(rounds)))
    }

    fn resume(self, message: &mut Message, moments: &Moments, classes: &[String]) -> Result<Box<dyn Rounds>> {
        let m = moments.n_features();
        let n_classes = classes.len();
        let d = message.take("dictionary", m, None)?;
        let n_atoms = d.ncols();
        let blocks = message.take_blocks("blocks", classes, n_atoms)?;
        let e_t = message.take("space.e_t", None, m)?;
        let factored = FactoredDictionary { q: message.take("space.q", n_atoms, e_t.nrows())?, e_t };
        let svm = restore_svm(message, n_atoms, n_classes)?;
        let coding = Coding::restore(message, m, n_classes)?;
        let code_q = message.take("code_q", n_atoms, coding.transform.nrows())?;
        let progress = message.take_row("progress", 3)?;
        Ok(Box::new(LcdlRounds {
            params: self,
            blocks,
            phase: message.get("phase")?,
            iter: message.get("iter")?,
            ridge: message.get("ridge")?,
            d,
            factored,
            svm,
            code_q,
            coding,
            progress: LcdlProgress { residual: progress[0], graph: progress[1], change: progress[2] },
        }))
    }
}

impl Rounds for LcdlRounds {
    fn ask(&self, moments: &Moments) -> Result<Ask> {
        if self.phase == Phase::Check {
            return self.ask_check();
        }
        let sums = if self.phase == Phase::Codes { PullAsk::Codes } else { PullAsk::None };
        // Rescaled atoms change the coordinates once the code sums are known; then the SVM has to wait for them.
        let waits = self.phase == Phase::Codes && self.params.atom_norm != AtomNorm::None;
        Ok(self.coding.ask(moments, sums, !waits))
    }

    fn absorb(
        &mut self,
        stats: &mut PartialStats,
        moments: &Moments,
        watch: &mut dyn Observer,
    ) -> Result<Option<Parts>> {
        let solved = match self.phase {
            Phase::Codes => {
                let sums = CodeSums::with_pull(stats, PullAsk::Codes, moments)?;
                self.phase = Phase::Svm;
                self.dictionary_step(&sums, moments, watch)? && self.coding.absorb(stats, moments)?
            }
            Phase::Svm | Phase::Refit => self.coding.absorb(stats, moments)?,
            Phase::Check => {
                let RightSums { fitted, test } = RightSums::take(stats)?;
                let (on_fitted, on_test) = (fitted / moments.n_samples(), test / moments.n_samples());
                if on_test >= on_fitted - LAGGING {
                    return Ok(Some(self.parts()));
                }
                watch.warn(LAGGING_WARNING);
                self.begin_refit(moments)?;
                false
            }
        };
        if !solved {
            return Ok(None);
        }
        let (svm, losses) = self.coding.newton.solution();
        self.svm = Svm { weights: mul(&self.code_q, &svm.weights), bias: svm.bias };
        if self.phase == Phase::Refit { Ok(Some(self.parts())) } else { self.end_iteration(losses, moments, watch) }
    }

    fn store(&self, message: &mut Message) {
        message.set("phase", self.phase);
        message.set("iter", self.iter);
        message.set("ridge", self.ridge);
        message.parts.put_blocks("blocks", &self.blocks);
        message.put("dictionary", self.d.clone());
        message.put("space.e_t", self.factored.e_t.clone());
        message.put("space.q", self.factored.q.clone());
        store_svm(message, &self.svm);
        message.put("code_q", self.code_q.clone());
        let LcdlProgress { residual, graph, change } = self.progress;
        message.put_row("progress", &[residual, graph, change]);
        self.coding.store(message);
    }
}
