//! LCDL-SV from sums over partitions, see [`crate::scale`].
//!
//! The codes of an iteration are `Y = T s` with `s = (x, w)`: the sample and the pull of the classifiers on it. So all that
//! the dictionary step needs, `Y Y^T` and `Y X^T`, follows from `X X^T`, which is summed once, and from `W X^T` and
//! `W W^T`, which are small. The first round of an iteration sums those two and, at the same time, evaluates the
//! SVM where the last iteration left it; the SVM depends on the codes, not on the new dictionary. Further rounds
//! are Newton steps of the SVM. The first iteration has no pull, and the SVM starts from known sums.

use super::{LAGGING, LcdlSv, Pull, Rescaled, USUAL_ATOMS, lagging_warning};
use crate::graph::AtomGraph;
use crate::linalg::{gram, mul, qr, relative_change};
use crate::method::sizes_row;
use crate::params::AtomCount;
use crate::scale::{
    Ask, Chain, CheckAsk, Link, Message, Moments, NamedParts, Newton, PartialStats, SvmAsk, bordered, class_pca_mean,
    put_chain, take_chain,
};
use crate::svm::Svm;
use crate::update::subspace::{Subspace, least_squares_from_sums};
use crate::{Blocks, Error, Observer, Result, Step, init};
use faer::{Mat, MatRef, Scale};
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

/// Training between two rounds.
pub(crate) struct Rounds {
    params: LcdlSv,
    blocks: Blocks,
    phase: Phase,
    iter: usize,
    ridge: Option<f64>,
    d: Mat<f64>,
    space: Subspace,
    svm: Svm,
    chain: Chain,
    /// Coordinates of the codes: `Z = code_q Y`, `Y = T s`.
    code_q: Mat<f64>,
    transform: Mat<f64>,
    newton: Newton,
    /// Residual, graph term and change of the iteration.
    progress: [f64; 3],
}

impl Rounds {
    /// The start of training, up to the first question; `scatters` are those of the classes about their means.
    pub(crate) fn begin(
        params: LcdlSv,
        moments: &Moments,
        scatters: &[Mat<f64>],
        watch: &mut dyn Observer,
    ) -> Result<Self> {
        let wanted: Vec<usize> = match params.atoms_per_class {
            AtomCount::Each(wanted) => vec![wanted; moments.counts.len()],
            AtomCount::Auto => moments.counts.iter().map(|&n| (n as usize).min(USUAL_ATOMS)).collect(),
            AtomCount::All => {
                return Err(Error::param(
                    "atoms_per_class",
                    "all",
                    "the training samples themselves cannot be the atoms in partitioned training; give a number",
                ));
            }
        };
        if params.svm_solver != super::Solver::Newton {
            return Err(Error::param(
                "svm_solver",
                "lbfgs",
                "partitioned training has the exact solver only; use newton",
            ));
        }
        let (mut d, blocks) = class_pca_mean(moments, scatters, &wanted, watch)?;
        if d.ncols() == 0 {
            return Err(Error::Data(
                "every training sample is zero: there is nothing to learn a dictionary from".into(),
            ));
        }
        if let Some(seed) = params.sign_seed {
            init::flip_signs(&mut d, seed);
        }
        let space = Subspace::from_outer(d.as_ref(), &moments.outer)?;
        let svm = Svm::zero(d.ncols(), moments.counts.len());
        let (strength, active_set) = (params.strength(), params.active_set);
        let chain = Chain { start: 0, strength, active_set, links: Vec::new() };
        let mut rounds = Rounds {
            ridge: params.laplacian_ridge,
            newton: Newton::from_svm(&svm, 1.0 / params.theta),
            code_q: space.q.clone(),
            transform: space.e_t.clone(),
            params,
            blocks,
            phase: Phase::Svm,
            iter: 0,
            d,
            space,
            svm,
            chain,
            progress: [0.0; 3],
        };
        watch_step(watch, &Step::start(rounds.params.max_iter));
        if rounds.params.max_iter == 0 {
            rounds.begin_refit(moments)?;
        } else {
            rounds.begin_iteration(moments, watch)?;
        }
        Ok(rounds)
    }

    /// What to ask.
    pub(crate) fn ask(&self, moments: &Moments) -> Result<Ask> {
        if self.phase == Phase::Check {
            let svm = self.svm_in_codes();
            let bordered = |map: Mat<f64>| {
                let n = map.ncols();
                Mat::from_fn(map.nrows(), n + 1, |c, j| if j < n { map[(c, j)] } else { self.svm.bias[c] })
            };
            let fitted = bordered(mul(svm.transpose(), self.transform.as_ref()));
            let test = bordered(self.model_parts()?.1);
            return Ok(Ask::Check(CheckAsk { chain: self.chain_in_use(), fitted, test }));
        }
        // Rescaled atoms change the coordinates after the code sums are known; then the SVM has to wait for them.
        let waits = self.phase == Phase::Codes && self.params.atom_norm != super::AtomNorm::None;
        let lift = self.lifted(moments).then(|| self.transform.clone());
        let (pending, weights) = if waits {
            let dim = lift.as_ref().map_or(self.transform.ncols(), Mat::nrows);
            (Vec::new(), Mat::zeros(dim + 1, 0))
        } else {
            (self.newton.pending(), self.newton.weights(self.newton_transform(moments)))
        };
        let code_sums = self.phase == Phase::Codes;
        Ok(Ask::Svm(SvmAsk { chain: self.chain_in_use(), lift, pending, weights, code_sums }))
    }

    /// Takes the answer. The parts of the model, once it is finished.
    pub(crate) fn absorb(
        &mut self,
        stats: &mut PartialStats,
        moments: &Moments,
        watch: &mut dyn Observer,
    ) -> Result<Option<NamedParts>> {
        match self.phase {
            Phase::Codes => {
                let sums = CodeSums::with_pull(stats, moments)?;
                let asked = self.params.atom_norm == super::AtomNorm::None;
                let transform = self.newton_transform(moments).map(|t| t.to_owned());
                let same_coordinates = self.dictionary_step(&sums, moments, watch)?;
                self.phase = Phase::Svm;
                if asked && same_coordinates {
                    self.newton.absorb(stats, transform.as_ref().map(Mat::as_ref))?;
                }
            }
            Phase::Svm | Phase::Refit => {
                let transform = self.newton_transform(moments).map(|t| t.to_owned());
                self.newton.absorb(stats, transform.as_ref().map(Mat::as_ref))?;
            }
            Phase::Check => {
                let right = stats.take("right", 1, 2)?;
                let [on_fitted, on_test] = [0, 1].map(|j| right[(0, j)] / moments.n_samples());
                if on_test >= on_fitted - LAGGING {
                    return self.finished();
                }
                watch.warn(&lagging_warning(on_fitted, on_test));
                self.begin_refit(moments)?;
            }
        }
        if !self.newton.pending().is_empty() {
            return Ok(None);
        }
        match self.phase {
            Phase::Refit => {
                let (svm, _) = self.newton.solution();
                self.svm = Svm { weights: mul(self.code_q.as_ref(), svm.weights.as_ref()), bias: svm.bias };
                self.finished()
            }
            _ => self.end_iteration(moments, watch),
        }
    }

    /// Graph and codes of the next iteration; without a pull the dictionary step follows at once.
    fn begin_iteration(&mut self, moments: &Moments, watch: &mut dyn Observer) -> Result<()> {
        self.iter += 1;
        let atom_gram = gram(self.d.as_ref());
        let graph = AtomGraph::from_gram(atom_gram.as_ref(), self.params.knn, self.params.affinity);
        let a = self.params.code_matrix(atom_gram, &graph, &mut self.ridge, watch)?;
        let basis = self.space.code_basis(&a);
        let tau = 1.0 / self.params.theta;
        let Some(Pull { u, g, coupling }) = self.params.pull(&self.space, &basis, &self.svm)? else {
            (self.code_q, self.transform) = (basis.q, basis.map);
            (self.chain.start, self.chain.links) = (self.iter, Vec::new());
            let sums = CodeSums::plain(moments);
            self.dictionary_step(&sums, moments, watch)?;
            self.newton = if self.svm.weights.norm_max() == 0.0 {
                let (second, by_class) = sums.bordered(self.transform.as_ref(), moments);
                Newton::from_moments(&second, &by_class, tau)?
            } else {
                Newton::from_svm(&self.warm_start(), tau)
            };
            self.phase = Phase::Svm;
            return Ok(());
        };
        self.chain.links.push(self.link(moments, &mul(u.transpose(), basis.map.as_ref()), coupling));
        let (r, m, n_classes) = (basis.map.nrows(), basis.map.ncols(), g.ncols());
        let pull = Scale(self.params.strength()) * g;
        self.transform = Mat::zeros(r, m + n_classes);
        self.transform.subcols_mut(0, m).copy_from(&basis.map);
        self.transform.subcols_mut(m, n_classes).copy_from(&pull);
        self.code_q = basis.q;
        self.newton = Newton::from_svm(&self.warm_start(), tau);
        self.phase = Phase::Codes;
        Ok(())
    }

    /// How the next pull follows from the codes of this iteration.
    fn link(&self, moments: &Moments, base: &Mat<f64>, coupling: Mat<f64>) -> Link {
        let (m, n_classes) = (moments.n_features(), self.svm.bias.len());
        let from = mul(self.svm_in_codes().transpose(), self.transform.as_ref());
        let from_w =
            if from.ncols() > m { from.subcols(m, n_classes).to_owned() } else { Mat::zeros(n_classes, n_classes) };
        Link { from_x: from.subcols(0, m).to_owned(), from_w, bias: self.svm.bias_row(), base: base.clone(), coupling }
    }

    /// The SVM in the coordinates of the codes it was fitted to.
    fn svm_in_codes(&self) -> Mat<f64> {
        mul(self.code_q.transpose(), self.svm.weights.as_ref())
    }

    /// The last SVM in the coordinates of the present codes: it stays in their span.
    fn warm_start(&self) -> Svm {
        Svm { weights: self.svm_in_codes(), bias: self.svm.bias.clone() }
    }

    /// The new dictionary. False if the coordinates of the codes had to change.
    fn dictionary_step(&mut self, sums: &CodeSums, moments: &Moments, watch: &mut dyn Observer) -> Result<bool> {
        let (code_gram, cross) = sums.of_codes(self.transform.as_ref(), moments);
        let energy: f64 = (0..moments.n_features()).map(|i| moments.outer[(i, i)]).sum();
        let step = least_squares_from_sums(&self.code_q, &code_gram, &cross, energy, STAGE, watch)?;
        let mut same = true;
        if let Some(kept) = &step.kept {
            self.transform = mul(kept.transpose(), self.transform.as_ref());
            same = false;
        }
        let mut space = step.dictionary;
        self.code_q = space.q.clone();
        if let Some(Rescaled { code_q, code_r, dictionary }) = self.params.rescale(&space) {
            self.transform = mul(code_r.as_ref(), self.transform.as_ref());
            (self.code_q, space, same) = (code_q, dictionary, false);
        }
        if !same {
            self.newton = Newton::from_svm(&self.warm_start(), 1.0 / self.params.theta);
        }
        let (code_gram, _) = sums.of_codes(self.transform.as_ref(), moments);
        // The graph of the dictionary that made these codes.
        let graph = AtomGraph::new(self.d.as_ref(), self.params.knn, self.params.affinity);
        let graph_term = self.params.graph_term(&graph, &self.code_q, &code_gram, self.ridge.unwrap_or(0.0));
        let next = space.dictionary();
        self.progress = [step.residual, graph_term, relative_change(next.as_ref(), self.d.as_ref())];
        (self.d, self.space) = (next, space);
        Ok(same)
    }

    fn end_iteration(&mut self, moments: &Moments, watch: &mut dyn Observer) -> Result<Option<NamedParts>> {
        let (svm, losses) = self.newton.solution();
        let [residual, graph, change] = self.progress;
        let support = 2.0 * self.params.lambda2 * (svm.weights.squared_norm_l2() + self.params.theta * losses);
        self.svm = Svm { weights: mul(self.code_q.as_ref(), svm.weights.as_ref()), bias: svm.bias };
        let terms = [("reconstruction", residual), ("graph", graph), ("support vector", support)];
        watch_step(
            watch,
            &Step {
                iter: self.iter,
                max_iter: self.params.max_iter,
                objective: Some(residual + graph + support),
                terms: &terms,
                change: Some(change),
                model: None,
            },
        );
        if self.iter < self.params.max_iter && change > self.params.tol {
            self.begin_iteration(moments, watch)?;
            return Ok(None);
        }
        match self.params.refit_svm {
            _ if self.svm.weights.norm_max() == 0.0 => self.begin_refit(moments)?,
            Some(false) => return self.finished(),
            Some(true) => self.begin_refit(moments)?,
            None => self.phase = Phase::Check,
        }
        Ok(None)
    }

    /// The SVM on test codes `P x`; with more atoms than features `P = Q R`, and the same SVM costs less on `R x`.
    fn begin_refit(&mut self, moments: &Moments) -> Result<()> {
        let map = self.coder_map()?;
        (self.code_q, self.transform) =
            if map.nrows() > map.ncols() { qr(map.as_ref()) } else { (Mat::identity(map.nrows(), map.nrows()), map) };
        self.chain.links.clear();
        let (second, by_class) = CodeSums::plain(moments).bordered(self.transform.as_ref(), moments);
        self.newton = Newton::from_moments(&second, &by_class, 1.0 / self.params.theta)?;
        self.phase = Phase::Refit;
        Ok(())
    }

    /// Where the codes have clearly fewer dimensions than `s`, partitions form them; else `s` itself will do.
    fn lifted(&self, moments: &Moments) -> bool {
        let stacked = moments.n_features() + if self.chain_in_use().is_some() { self.svm.bias.len() } else { 0 };
        9 * self.transform.nrows() < 8 * stacked
    }

    /// From the features of the partitions to the coordinates of the SVM.
    fn newton_transform(&self, moments: &Moments) -> Option<MatRef<'_, f64>> {
        (!self.lifted(moments)).then_some(self.transform.as_ref())
    }

    fn chain_in_use(&self) -> Option<Chain> {
        (!self.chain.links.is_empty()).then(|| self.chain.clone())
    }

    fn coder_map(&self) -> Result<Mat<f64>> {
        crate::coding::ridge::ridge_map(self.d.as_ref(), self.params.eta1, "LCDL-SV test coder")
    }

    /// The parts of the model, and its SVM folded into the coder: `U^T P`.
    fn model_parts(&self) -> Result<(NamedParts, Mat<f64>)> {
        let folded = mul(self.svm.weights.transpose(), self.coder_map()?.as_ref());
        let parts = vec![
            ("dictionary".into(), self.d.clone()),
            ("atom_counts".into(), sizes_row(&self.blocks)),
            ("svm_weights".into(), self.svm.weights.clone()),
            ("svm_bias".into(), self.svm.bias_row()),
        ];
        Ok((parts, folded))
    }

    fn finished(&self) -> Result<Option<NamedParts>> {
        Ok(Some(self.model_parts()?.0))
    }

    /// For a checkpoint.
    pub(crate) fn store(&self, message: &mut Message) {
        message.set("phase", self.phase);
        message.set("iter", self.iter);
        message.set("ridge", self.ridge);
        message.put("blocks", sizes_row(&self.blocks));
        message.put("dictionary", self.d.clone());
        message.put("space.e_t", self.space.e_t.clone());
        message.put("space.q", self.space.q.clone());
        message.put("last.weights", self.svm.weights.clone());
        message.put("last.bias", self.svm.bias_row());
        message.put("code_q", self.code_q.clone());
        message.put("transform", self.transform.clone());
        message.put_row("progress", &self.progress);
        put_chain(message, Some(&self.chain));
        self.newton.store(message);
    }

    /// The counterpart of [`Rounds::store`].
    pub(crate) fn restore(params: LcdlSv, message: &mut Message, m: usize, classes: &[String]) -> Result<Self> {
        let n_classes = classes.len();
        let d = message.take("dictionary", m, None)?;
        let n_atoms = d.ncols();
        let blocks = message.with_parts(classes.to_vec(), |parts| parts.take_blocks("blocks", n_atoms))?;
        let e_t = message.take("space.e_t", None, m)?;
        let space = Subspace { q: message.take("space.q", n_atoms, e_t.nrows())?, e_t };
        let weights = message.take("last.weights", n_atoms, n_classes)?;
        let svm = Svm { weights, bias: message.take_row("last.bias", n_classes)? };
        let code_q = message.take("code_q", n_atoms, None)?;
        let transform = message.take("transform", code_q.ncols(), None)?;
        let progress = message.take_row("progress", 3)?;
        let chain =
            take_chain(message, m, n_classes)?.ok_or_else(|| Error::Data("the checkpoint has no chain".into()))?;
        let stacked = m + if chain.links.is_empty() { 0 } else { n_classes };
        if transform.ncols() != stacked {
            return Err(Error::Data("the checkpoint's codes do not fit its samples".into()));
        }
        let newton = Newton::restore(message)?;
        if newton.dim() != transform.nrows() || newton.n_classes() != n_classes {
            return Err(Error::Data("the checkpoint's SVM does not fit its codes".into()));
        }
        Ok(Rounds {
            params,
            blocks,
            phase: message.get("phase")?,
            iter: message.get("iter")?,
            ridge: message.get("ridge")?,
            d,
            space,
            svm,
            chain,
            code_q,
            transform,
            newton,
            progress: [progress[0], progress[1], progress[2]],
        })
    }
}

/// Stopping is up to whoever calls the partitions, so the observer's answer does not matter here.
fn watch_step(watch: &mut dyn Observer, step: &Step<'_>) {
    let _ = watch.step(step);
}

/// `sum s s^T` and the sum of `s` by class.
struct CodeSums {
    second: Mat<f64>,
    by_class: Mat<f64>,
}

impl CodeSums {
    /// Without a pull, `s = x`.
    fn plain(moments: &Moments) -> Self {
        CodeSums { second: moments.outer.clone(), by_class: moments.sums.clone() }
    }

    fn with_pull(stats: &mut PartialStats, moments: &Moments) -> Result<Self> {
        let (m, n_classes) = (moments.n_features(), moments.counts.len());
        let across = stats.take("pull.x", n_classes, m)?;
        let mut second = Mat::zeros(m + n_classes, m + n_classes);
        second.submatrix_mut(0, 0, m, m).copy_from(&moments.outer);
        second.submatrix_mut(m, 0, n_classes, m).copy_from(&across);
        second.submatrix_mut(0, m, m, n_classes).copy_from(across.transpose());
        second.submatrix_mut(m, m, n_classes, n_classes).copy_from(&stats.take("pull.pull", n_classes, n_classes)?);
        let mut by_class = Mat::zeros(m + n_classes, n_classes);
        by_class.subrows_mut(0, m).copy_from(&moments.sums);
        by_class.subrows_mut(m, n_classes).copy_from(&stats.take("pull.class", n_classes, n_classes)?);
        Ok(CodeSums { second, by_class })
    }

    /// `Y Y^T` and `Y X^T`.
    fn of_codes(&self, transform: MatRef<'_, f64>, moments: &Moments) -> (Mat<f64>, Mat<f64>) {
        let half = mul(transform, self.second.as_ref());
        let code_gram = mul(half.as_ref(), transform.transpose());
        (code_gram, half.subcols(0, moments.n_features()).to_owned())
    }

    /// `Y Y^T` and class sums of `Y`, with a constant 1 behind every code.
    fn bordered(&self, transform: MatRef<'_, f64>, moments: &Moments) -> (Mat<f64>, Mat<f64>) {
        let (code_gram, _) = self.of_codes(transform, moments);
        bordered(&code_gram, &mul(transform, self.by_class.as_ref()), &moments.counts)
    }
}
