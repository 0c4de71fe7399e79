//! CADL from sums over partitions, see [`crate::rounds`].
//!
//! Codes are `Z = Omega X + a U W`: linear in the sample and in the pull of the classifiers. The dictionary step of a class
//! needs `Z_cc X_c^T`, that is `X_c X_c^T`, summed once, and `W_c X_c^T`, small, from the first round of an iteration.
//! Further rounds are Newton steps of the SVM; at the end it is fitted to `Omega X`.

use super::{Cadl, Updates};
use crate::draw::ClassDraws;
use crate::iterations::objective;
use crate::linalg::{
    Spd, add_diagonal, concat_columns, inner, mul, normalize_columns, relative_change, sym_eig, trace,
};
use crate::rounds::{
    self, Ask, CodeSums, Coding, Message, Moments, Newton, PartialStats, Partitioned, PullAsk, Rounds, RoundsStart,
    Scatter, restore_svm, store_svm,
};
use crate::svm::Svm;
use crate::{Blocks, Error, Observer, Parts, Result};
use faer::{Mat, MatRef, Scale};
use serde::{Deserialize, Serialize};

const STAGE: &str = "CADL dictionary";
/// Eigenvalues of `X X^T` below this fraction of the largest count as zero.
const NEGLIGIBLE: f64 = 1e-13;

/// What is asked next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Phase {
    /// Sums of the codes, and the SVM where it stands.
    Codes,
    /// The SVM of an iteration.
    Svm,
    /// The SVM on `Omega X`.
    Refit,
}

/// Training between two rounds.
pub(crate) struct CadlRounds {
    params: Cadl,
    atoms: Blocks,
    phase: Phase,
    iter: usize,
    fixed: Fixed,
    draws: ClassDraws<'static>,
    /// Atoms drawn so far, by class.
    drawn: Vec<usize>,
    /// `Omega^T`.
    analysis: Mat<f64>,
    svm: Svm,
    coding: Coding,
    progress: CadlProgress,
}

/// What is known of an iteration once its dictionary is: terms of the objective and the relative change of the dictionary.
#[derive(Clone, Copy, Default)]
struct CadlProgress {
    fit: f64,
    silence: f64,
    ridge: f64,
    change: f64,
}

/// What the moments say once and for all.
struct Fixed {
    /// `X_c X_c^T`.
    outers: Vec<Mat<f64>>,
    /// Factors of `X_c X_c^T + lambda1 Xbar_c Xbar_c^T + lambda3 I`, or with all samples in the first place.
    systems: Vec<Spd>,
    /// Basis of the span of the samples where there are fewer of them than features.
    range: Option<Mat<f64>>,
}

impl Fixed {
    fn new(params: &Cadl, outers: Vec<Mat<f64>>, moments: &Moments, watch: &mut dyn Observer) -> Result<Self> {
        let other = params.lambda1 + if params.updates == Updates::Exact { 1.0 } else { 0.0 };
        let system = |own: &Mat<f64>| {
            let mut system = Scale(other) * &moments.outer + Scale(1.0 - other) * own;
            add_diagonal(&mut system, params.lambda3);
            Ok(Spd::with_jitter(system, STAGE, |text| watch.warn(text))?)
        };
        let systems = outers.iter().map(system).collect::<Result<_>>()?;
        let wide = moments.n_samples() < moments.n_features() as f64;
        let range = wide.then(|| range_of(&moments.outer)).transpose()?;
        Ok(Fixed { outers, systems, range })
    }
}

/// An orthonormal basis of the span of the samples, of at least one dimension.
fn range_of(outer: &Mat<f64>) -> Result<Mat<f64>> {
    let (values, vectors) = sym_eig(outer, STAGE)?;
    let rank = values.iter().take_while(|&&v| v > NEGLIGIBLE * values[0]).count();
    Ok(vectors.subcols(0, rank.max(1)).to_owned())
}

impl CadlRounds {
    /// New atoms of a class, as far as samples can see them.
    fn draw(&mut self, class: usize, count: usize) -> Mat<f64> {
        self.drawn[class] += count;
        let drawn = self.draws.atoms(class, count);
        match &self.fixed.range {
            Some(basis) => mul(basis, mul(basis.transpose(), &drawn)),
            None => drawn,
        }
    }

    fn begin_iteration(&mut self, moments: &Moments) -> Result<()> {
        self.iter += 1;
        let map = self.analysis.transpose().to_owned();
        let sums = self.coding.begin_iteration(map, |u| u.to_owned(), &self.svm, self.iter, moments)?;
        self.phase = if sums.is_none() { Phase::Codes } else { Phase::Svm };
        if let Some(sums) = sums {
            self.dictionary_step(&sums, moments);
        }
        Ok(())
    }

    /// Sums that the dictionary step needs.
    fn sums(&self) -> PullAsk {
        match self.params.updates {
            Updates::Published => PullAsk::CodesByClass,
            Updates::Exact => PullAsk::Codes,
        }
    }

    fn dictionary_step(&mut self, sums: &CodeSums, moments: &Moments) {
        let (code_gram, cross) = sums.of_codes(&self.coding.transform, moments);
        let mut parts = Vec::with_capacity(self.atoms.len());
        for (c, rows) in self.atoms.clone().ranges().enumerate() {
            let system = &self.fixed.systems[c];
            if self.params.updates == Updates::Exact {
                parts.push(system.solve(cross.subrows(rows.start, rows.len()).transpose()));
                continue;
            }
            let own = self.coding.transform.subrows(rows.start, rows.len());
            let mut part = system.solve(sums.of_class(c, own, &self.fixed.outers[c]).transpose());
            let zeros = normalize_columns(part.as_mut());
            if zeros > 0 {
                let fresh = self.draw(c, zeros);
                super::replace_dead(&mut part, fresh);
            }
            parts.push(part);
        }
        let next = concat_columns(&parts);
        let change = relative_change(&next, &self.analysis);
        self.analysis = next;
        let [fit, silence] = self.misfits(&code_gram, &cross, moments);
        let ridge = self.params.lambda3 * self.analysis.squared_norm_l2();
        self.progress = CadlProgress { fit, silence: self.params.lambda1 * silence, ridge, change };
    }

    /// `|Z - Omega X|^2`, and the responses of atoms to the samples of other classes.
    fn misfits(&self, code_gram: &Mat<f64>, cross: &Mat<f64>, moments: &Moments) -> [f64; 2] {
        let responses = |outer: &Mat<f64>, atoms: MatRef<'_, f64>| inner(mul(outer, atoms), atoms);
        let all = responses(&moments.outer, self.analysis.as_ref());
        let fit = trace(code_gram) - 2.0 * inner(cross.transpose(), &self.analysis) + all;
        let own = self.atoms.ranges().zip(&self.fixed.outers);
        let own = own.map(|(rows, outer)| responses(outer, self.analysis.subcols(rows.start, rows.len())));
        [fit.max(0.0), (all - own.sum::<f64>()).max(0.0)]
    }

    fn end_iteration(&mut self, losses: f64, moments: &Moments, watch: &mut dyn Observer) -> Result<Option<Parts>> {
        let CadlProgress { fit, silence, ridge, change } = self.progress;
        let terms = self.params.named_terms(fit, silence, ridge, self.svm.weights.squared_norm_l2(), losses);
        if !objective(&terms).is_finite() {
            return Err(super::not_finite());
        }
        rounds::report(self.iter, self.params.max_iter, &terms, change, watch);
        if self.iter < self.params.max_iter && change >= self.params.tol {
            self.begin_iteration(moments)?;
            return Ok(None);
        }
        let redrawn = self.drawn.iter().sum::<usize>() - self.atoms.total();
        if redrawn > 0 {
            watch.warn(&super::redrawn_warning(redrawn));
        }
        if !self.params.refit {
            return Ok(Some(self.parts()));
        }
        // What pulls the codes of training samples is unknown for others: they are `Omega x`.
        self.coding.set_plain(self.analysis.transpose().to_owned(), self.iter);
        self.coding.newton = Newton::from_svm(&self.svm, self.coding.newton.tau());
        self.phase = Phase::Refit;
        Ok(None)
    }

    fn parts(&self) -> Parts {
        let mut parts = Parts::default();
        parts.put("analysis", &self.analysis);
        parts.put_blocks("atom_counts", &self.atoms);
        parts.put_svm(&self.svm);
        parts
    }
}

impl Partitioned for Cadl {
    const SCATTER: Scatter = Scatter::ByClass;

    fn begin(self, moments: &Moments, scatters: &[Mat<f64>], watch: &mut dyn Observer) -> Result<RoundsStart> {
        let m = moments.n_features();
        let n_classes = moments.counts.len();
        let outers = scatters.iter().enumerate().map(|(c, scatter)| moments.class_outer(scatter, c)).collect();
        let fixed = Fixed::new(&self, outers, moments, watch)?;
        let span = fixed.range.as_ref().map_or(m, Mat::ncols);
        let per_class = self.atoms_per_class.unwrap_or(span.div_ceil(n_classes));
        let atoms = Blocks::from_sizes(vec![per_class; n_classes]);
        let svm = Svm::zero(atoms.total(), n_classes);
        let mut rounds = CadlRounds {
            draws: ClassDraws::new(n_classes, m, self.seed),
            drawn: vec![0; n_classes],
            analysis: Mat::new(),
            coding: Coding::new(self.strength(), self.active_set(), &svm, 1.0 / self.theta),
            phase: Phase::Svm,
            iter: 0,
            progress: CadlProgress::default(),
            params: self,
            atoms,
            fixed,
            svm,
        };
        let start: Vec<Mat<f64>> = (0..n_classes).map(|c| rounds.draw(c, per_class)).collect();
        rounds.analysis = concat_columns(&start);
        rounds.begin_iteration(moments)?;
        Ok(RoundsStart::Rounds(Box::new(rounds)))
    }

    fn resume(self, message: &mut Message, moments: &Moments, classes: &[String]) -> Result<Box<dyn Rounds>> {
        let m = moments.n_features();
        let n_classes = classes.len();
        let analysis = message.take("analysis", m, None)?;
        let n_atoms = analysis.ncols();
        let atoms = message.take_blocks("atoms", classes, n_atoms)?;
        let outer = |c: usize| message.take(&format!("outer.{c}"), m, m);
        let outers = (0..n_classes).map(outer).collect::<Result<_>>()?;
        let svm = restore_svm(message, n_atoms, n_classes)?;
        let coding = Coding::restore(message, m, n_classes)?;
        let drawn: Vec<usize> = message.get("drawn")?;
        // An atom is drawn at the start and at most once in every iteration.
        let possible = |(c, &count): (usize, &usize)| (1..=self.max_iter + 1).contains(&(count / atoms.size(c).max(1)));
        if coding.transform.nrows() != n_atoms || drawn.len() != n_classes || !drawn.iter().enumerate().all(possible) {
            return Err(Error::Data("the checkpoint's codes do not fit its dictionary".into()));
        }
        let mut draws = ClassDraws::new(n_classes, m, self.seed);
        drawn.iter().enumerate().for_each(|(c, &count)| drop(draws.atoms(c, count)));
        let progress = message.take_row("progress", 4)?;
        Ok(Box::new(CadlRounds {
            fixed: Fixed::new(&self, outers, moments, &mut ())?,
            params: self,
            atoms,
            phase: message.get("phase")?,
            iter: message.get("iter")?,
            draws,
            drawn,
            analysis,
            svm,
            coding,
            progress: CadlProgress { fit: progress[0], silence: progress[1], ridge: progress[2], change: progress[3] },
        }))
    }
}

impl Rounds for CadlRounds {
    fn ask(&self, moments: &Moments) -> Result<Ask> {
        let sums = if self.phase == Phase::Codes { self.sums() } else { PullAsk::None };
        Ok(self.coding.ask(moments, sums, true))
    }

    fn absorb(
        &mut self,
        stats: &mut PartialStats,
        moments: &Moments,
        watch: &mut dyn Observer,
    ) -> Result<Option<Parts>> {
        if self.phase == Phase::Codes {
            let sums = CodeSums::with_pull(stats, self.sums(), moments)?;
            self.dictionary_step(&sums, moments);
            self.phase = Phase::Svm;
        }
        if !self.coding.absorb(stats, moments)? {
            return Ok(None);
        }
        let (svm, losses) = self.coding.newton.solution();
        self.svm = svm;
        if self.phase == Phase::Refit { Ok(Some(self.parts())) } else { self.end_iteration(losses, moments, watch) }
    }

    fn store(&self, message: &mut Message) {
        message.set("phase", self.phase);
        message.set("iter", self.iter);
        message.set("drawn", &self.drawn);
        message.parts.put_blocks("atoms", &self.atoms);
        message.put("analysis", self.analysis.clone());
        let outers = self.fixed.outers.iter().enumerate();
        outers.for_each(|(c, outer)| message.put(format!("outer.{c}"), outer.clone()));
        store_svm(message, &self.svm);
        let CadlProgress { fit, silence, ridge, change } = self.progress;
        message.put_row("progress", &[fit, silence, ridge, change]);
        self.coding.store(message);
    }
}
