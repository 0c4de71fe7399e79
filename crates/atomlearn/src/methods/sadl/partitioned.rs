//! SADL from sums over partitions, see [`crate::rounds`].
//!
//! Codes are nonlinear in the sample and depend on their predecessors, so partitions form and remember them. Everything else
//! follows from `Z Z^T`, `Z X^T`, the sum of `Z` by class and, with ADMM, `Y Z^T` of the multipliers: one round per iteration.
//! The slacks need no sums, since every update of the multipliers makes them `Y / rho`.

use super::descent::{self, CODE_STEPS};
use super::{DIVERGED, Duals, FIRST_PENALTY, SAFETY, Sadl, Solver, floor, squared_norm};
use crate::iterations::objective;
use crate::linalg::{Spd, add_diagonal, inner, mul, normalize_columns, top_eigenvalue, trace};
use crate::rounds::{
    self, Ask, Message, Moments, MultiplierSums, PartialStats, Partitioned, Rounds, RoundsStart, Scatter, SparseChain,
    SparseLink, SparseStep, SparseSums, unpacked,
};
use crate::{Error, Observer, Parts, Result};
use faer::{Mat, Scale};

/// Training between two rounds.
pub(crate) struct SadlRounds {
    params: Sadl,
    iter: usize,
    /// `X X^T + lambda2 I`.
    system: Spd,
    chain: SparseChain,
    state: SadlState,
}

/// What the iterations change.
#[derive(Clone)]
struct SadlState {
    omega: Mat<f64>,
    q: Mat<f64>,
    w: Mat<f64>,
    /// Penalty of the present iteration, and of the one before.
    penalty: f64,
    last: Option<f64>,
    safety: f64,
    /// Smallest misfit and last objective.
    best: f64,
    held: f64,
}

/// SadlSums over all samples.
struct SadlSums {
    zz: Mat<f64>,
    zx: Mat<f64>,
    /// `L Z^T`, classes x atoms.
    lz: Mat<f64>,
    /// Of both constraints; none without ADMM.
    multipliers: Vec<MultiplierSums>,
    absolute: f64,
}

impl SadlSums {
    /// Of the codes `Omega X`.
    fn at_start(omega: &Mat<f64>, moments: &Moments) -> Self {
        let zx = mul(omega, &moments.outer);
        let lz = mul(omega, &moments.sums).transpose().to_owned();
        SadlSums { zz: mul(&zx, omega.transpose()), zx, lz, multipliers: Vec::new(), absolute: 1.0 }
    }

    fn take(stats: &mut PartialStats, chain: &SparseChain, moments: &Moments) -> Result<Self> {
        let (k, m) = chain.first.shape();
        let n_classes = moments.counts.len();
        let rows = match chain.links.last() {
            Some(SparseLink { q, w, step: SparseStep::Admm { .. }, .. }) => vec![q.nrows(), w.nrows()],
            _ => Vec::new(),
        };
        let SparseSums { zz, zx, by_class, absolute, multipliers } = SparseSums::take(stats, (k, m), n_classes, &rows)?;
        Ok(SadlSums { zz: unpacked(&zz, k), zx, lz: by_class.transpose().to_owned(), multipliers, absolute })
    }

    /// `H Z^T`: the rows of `L Z^T`, each as often as a class has rows of structure.
    fn hz(&self, rows: usize) -> Mat<f64> {
        let share = rows / self.lz.nrows();
        Mat::from_fn(rows, self.lz.ncols(), |r, k| self.lz[(r / share, k)])
    }

    /// `|goal - map Z|^2` for one of the goals, of so many ones.
    fn gap(&self, map: &Mat<f64>, goal_z: &Mat<f64>, ones: f64) -> f64 {
        let reached = inner(mul(map, &self.zz), map);
        (ones - 2.0 * inner(goal_z, map) + reached).max(0.0)
    }
}

impl SadlRounds {
    /// The next link: what samples need of the present iteration.
    fn begin_iteration(&mut self, sums: &SadlSums) -> Result<()> {
        self.iter += 1;
        let state = &mut self.state;
        let step = match self.params.solver {
            Solver::LinearizedAdmm => {
                let mu = state.penalty;
                let wq = mul(&state.w, &state.q);
                let length = floor(state.safety * (1.0 / mu + squared_norm(&state.q) + squared_norm(&wq)));
                SparseStep::Admm { last: state.last, penalty: mu, length }
            }
            Solver::BlockDescent => {
                let goal = sums.hz(state.q.nrows()) + mul(state.w.transpose(), &sums.lz);
                state.q = self.params.best_structure(&state.w, &sums.zz, goal)?;
                let half = mul(&state.q, &sums.zz);
                let structured = mul(&half, state.q.transpose());
                let labeled = mul(&state.q, sums.lz.transpose());
                state.w = self.params.best_classifier(structured, &labeled)?;
                let curvature = descent::curvature(&state.q, &state.w, self.params.rho);
                SparseStep::Descent { length: 1.0 + top_eigenvalue(&curvature), steps: CODE_STEPS }
            }
        };
        let omega = state.omega.clone();
        let q = state.q.clone();
        let w = state.w.clone();
        self.chain.links.push(SparseLink { omega, q, w, step });
        Ok(())
    }

    /// `Omega = Z X^T (X X^T + lambda2 I)^-1`, rows scaled if asked for.
    fn analysis(&self, sums: &SadlSums) -> Mat<f64> {
        let mut atoms = self.system.solve(sums.zx.transpose());
        if self.params.normalize_rows {
            normalize_columns(atoms.as_mut());
        }
        atoms.transpose().to_owned()
    }

    /// `Q` and `W` by a gradient step each, multipliers and penalty; returns the relative misfit of the constraints.
    fn admm_step(&mut self, sums: &SadlSums, n: f64) -> f64 {
        let (delta, rho) = (self.params.delta, self.params.rho);
        let SadlState { q, w, penalty, last, safety, .. } = &mut self.state;
        let (mu, safety) = (*penalty, *safety);
        let goals = [sums.hz(q.nrows()), sums.lz.clone()];
        let pulled = |k: usize| Scale(1.0 / mu - 1.0 / rho) * &sums.multipliers[k].yz + &goals[k];
        let reached = mul(&q, &sums.zz);
        let label_error = pulled(1) - mul(&w, &reached);
        let eta = floor(safety * ((1.0 + squared_norm(w)) * top_eigenvalue(&sums.zz) + delta / mu));
        let step = pulled(0) - reached + mul(w.transpose(), &label_error) - Scale(delta / mu) * &*q;
        *q += Scale(1.0 / eta) * step;
        let reached = mul(&q, &sums.zz);
        let structured = mul(&reached, q.transpose());
        let eta = floor(safety * (top_eigenvalue(&structured) + delta / mu));
        let error = mul(pulled(1) - mul(&w, &reached), q.transpose());
        *w += Scale(1.0 / eta) * (error - Scale(delta / mu) * &*w);

        let maps = [q.clone(), mul(&w, &q)];
        let mut misfit = 0.0;
        for (k, map) in maps.iter().enumerate() {
            let MultiplierSums { yz, goal_y, energy } = &sums.multipliers[k];
            let gap = sums.gap(map, &goals[k], n * (map.nrows() / w.nrows()) as f64);
            let gap_y = goal_y - inner(yz, map);
            misfit += (rho * rho * gap - 2.0 * rho * gap_y + energy).max(0.0).sqrt() / (rho + mu);
        }
        (*last, *penalty) = (Some(mu), Duals::next_penalty(mu));
        misfit / n.sqrt()
    }

    fn terms(&self, sums: &SadlSums, moments: &Moments) -> [(&'static str, f64); 5] {
        let SadlState { omega, q, w, .. } = &self.state;
        let n = moments.n_samples();
        let seen = inner(mul(omega, &moments.outer), omega);
        let codes = trace(&sums.zz);
        let across = inner(omega, &sums.zx);
        let wq = mul(w, q);
        let structure = sums.gap(q, &sums.hz(q.nrows()), n * (q.nrows() / w.nrows()) as f64);
        let norms = q.squared_norm_l2() + w.squared_norm_l2();
        let fit = (codes - 2.0 * across + seen).max(0.0);
        self.params.named_terms(
            [fit, sums.absolute, structure, sums.gap(&wq, &sums.lz, n), norms],
            across - seen,
            q.ncols(),
        )
    }

    /// Everything back to the start, with steps of half the length.
    fn restart(&mut self, moments: &Moments) -> Result<()> {
        let n = moments.n_samples() as usize;
        let n_classes = moments.counts.len();
        let (omega, q, w) = self.params.draws(moments.n_features(), n, n_classes);
        self.state = SadlState::start(&omega, q, w, 2.0 * SAFETY);
        (self.chain.start, self.chain.links) = (self.iter, Vec::new());
        let sums = SadlSums::at_start(&omega, moments);
        if self.iter == self.params.max_iter {
            self.state.omega = self.analysis(&sums);
            return Ok(());
        }
        self.begin_iteration(&sums)
    }

    fn parts(&self) -> Parts {
        let SadlState { omega, q, w, .. } = &self.state;
        let mut parts = Parts::default();
        parts.put("analysis", omega.transpose());
        parts.put("structure", q);
        parts.put("classifier", w);
        parts
    }
}

impl SadlState {
    fn start(omega: &Mat<f64>, q: Mat<f64>, w: Mat<f64>, safety: f64) -> Self {
        let (best, held) = (f64::MAX, f64::MAX);
        SadlState { omega: omega.clone(), q, w, penalty: FIRST_PENALTY, last: None, safety, best, held }
    }
}

impl Partitioned for Sadl {
    const SCATTER: Scatter = Scatter::Together;
    const CLASS_MATRICES: bool = false;

    fn begin(self, moments: &Moments, _: &[Mat<f64>], _: &mut dyn Observer) -> Result<RoundsStart> {
        let n = moments.n_samples() as usize;
        let n_classes = moments.counts.len();
        let (omega, q, w) = self.draws(moments.n_features(), n, n_classes);
        let chain = SparseChain { start: 0, rho: self.rho, lambda1: self.lambda1, first: omega, links: Vec::new() };
        let state = SadlState::start(&chain.first, q, w, SAFETY);
        let mut rounds = SadlRounds { system: system(&self, moments)?, params: self, iter: 0, chain, state };
        rounds.begin_iteration(&SadlSums::at_start(&rounds.chain.first, moments))?;
        Ok(RoundsStart::Rounds(Box::new(rounds)))
    }

    fn resume(self, message: &mut Message, moments: &Moments, _: &[String]) -> Result<Box<dyn Rounds>> {
        let m = moments.n_features();
        let n_classes = moments.counts.len();
        let chain = SparseChain::take(message, m, n_classes)?;
        let k = chain.first.nrows();
        let rows = chain.links.last().map_or(0, |link| link.q.nrows());
        let numbers = message.take_row("numbers", 4)?;
        let state = SadlState {
            omega: message.take("omega", k, m)?,
            q: message.take("q", rows, k)?,
            w: message.take("w", n_classes, rows)?,
            penalty: numbers[0],
            last: message.get("last")?,
            safety: numbers[1],
            best: numbers[2],
            held: numbers[3],
        };
        Ok(Box::new(SadlRounds {
            system: system(&self, moments)?,
            iter: message.get("iter")?,
            params: self,
            chain,
            state,
        }))
    }
}

impl Rounds for SadlRounds {
    fn ask(&self, _: &Moments) -> Result<Ask> {
        Ok(Ask::Sparse(self.chain.clone()))
    }

    fn absorb(
        &mut self,
        stats: &mut PartialStats,
        moments: &Moments,
        watch: &mut dyn Observer,
    ) -> Result<Option<Parts>> {
        let sums = SadlSums::take(stats, &self.chain, moments)?;
        let admm = self.params.solver == Solver::LinearizedAdmm;
        let misfit = admm.then(|| self.admm_step(&sums, moments.n_samples()));
        self.state.omega = self.analysis(&sums);
        let terms = self.terms(&sums, moments);
        let objective = objective(&terms);
        if sums.absolute == 0.0 {
            return Err(Error::param("lambda1", self.params.lambda1, super::ALL_ZERO));
        }
        let diverged = misfit.is_some_and(|misfit| misfit > DIVERGED * self.state.best) || !objective.is_finite();
        if diverged && admm && self.state.safety == SAFETY {
            watch.warn(super::RESTARTED);
            self.restart(moments)?;
            return Ok((self.chain.links.is_empty()).then(|| self.parts()));
        }
        if diverged {
            return Err(super::diverges());
        }
        let change = misfit.unwrap_or_else(|| super::scaled_decrease(self.state.held, objective));
        rounds::report(self.iter, self.params.max_iter, &terms, change, watch);
        if self.iter == self.params.max_iter || change < self.params.tol {
            return Ok(Some(self.parts()));
        }
        (self.state.best, self.state.held) = (self.state.best.min(change), objective);
        self.begin_iteration(&sums)?;
        Ok(None)
    }

    fn store(&self, message: &mut Message) {
        let SadlState { omega, q, w, penalty, last, safety, best, held } = &self.state;
        message.set("iter", self.iter);
        message.set("last", last);
        message.put("omega", omega.clone());
        message.put("q", q.clone());
        message.put("w", w.clone());
        message.put_row("numbers", &[*penalty, *safety, *best, *held]);
        self.chain.put(message);
    }
}

fn system(params: &Sadl, moments: &Moments) -> Result<Spd> {
    let mut system = moments.outer.clone();
    add_diagonal(&mut system, params.lambda2);
    Ok(Spd::new(system, "SADL dictionary")?)
}
