//! The sparse codes of SADL through all iterations so far.
//!
//! A code begins at `Omega_0 x` and depends on the one before it: a chain with one link per iteration. A partition that
//! remembers its codes (and, with ADMM, multipliers) goes on from there; one that has forgotten follows the chain from the start.

use super::message::Message;
use super::newton::packed;
use super::sums::{MultiplierSums, SparseSums};
use crate::coding::threshold::soft;
use crate::linalg::{add_lower_outer, gram, inner, mul, mul_add};
use crate::{Error, Result};
use faer::{Mat, MatRef, Scale};
use serde::{Deserialize, Serialize};

/// All iterations so far.
#[derive(Clone, Debug)]
pub(crate) struct SparseChain {
    /// The iteration before its first link; a chain that starts elsewhere is another.
    pub(crate) start: usize,
    pub(crate) rho: f64,
    pub(crate) lambda1: f64,
    /// `Omega_0`, atoms x features.
    pub(crate) first: Mat<f64>,
    pub(crate) links: Vec<SparseLink>,
}

/// One iteration as a sample sees it.
#[derive(Clone, Debug)]
pub(crate) struct SparseLink {
    /// `Omega` of the iteration before, atoms x features.
    pub(crate) omega: Mat<f64>,
    /// `Q`, rows of structure x atoms.
    pub(crate) q: Mat<f64>,
    /// `W`, classes x rows of structure.
    pub(crate) w: Mat<f64>,
    pub(crate) step: SparseStep,
}

/// How codes are moved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum SparseStep {
    /// A step of the linearised ADMM; `last` is the penalty of the iteration before, whose multipliers come first.
    Admm { last: Option<f64>, penalty: f64, length: f64 },
    /// So many proximal-gradient steps.
    Descent { length: f64, steps: usize },
}

/// Codes of a block after so many links, with the multipliers of both constraints (no rows without ADMM).
#[derive(Clone, Debug)]
pub(super) struct SadlCodes {
    start: usize,
    links: usize,
    z: Mat<f64>,
    y: [Mat<f64>; 2],
}

impl SparseChain {
    /// Follows the chain to its end, from where `known` stands if that is of use.
    pub(super) fn follow(&self, x: MatRef<'_, f64>, targets: &[usize], known: Option<&SadlCodes>) -> SadlCodes {
        let usable = |known: &&SadlCodes| {
            known.start == self.start && known.links <= self.links.len() && known.z.ncols() == x.ncols()
        };
        let mut codes = match known.filter(usable) {
            Some(known) => known.clone(),
            None => SadlCodes {
                start: self.start,
                links: 0,
                z: mul(&self.first, x),
                y: self.multiplier_rows().map(|rows| Mat::zeros(rows, x.ncols())),
            },
        };
        for link in &self.links[codes.links..] {
            self.advance(link, x, targets, &mut codes);
            codes.links += 1;
        }
        codes
    }

    /// Rows of the multipliers of structure and labels.
    fn multiplier_rows(&self) -> [usize; 2] {
        match self.links.first() {
            Some(SparseLink { q, w, step: SparseStep::Admm { .. }, .. }) => [q.nrows(), w.nrows()],
            _ => [0, 0],
        }
    }

    /// Numbers that a partition remembers of every sample.
    pub(super) fn remembered(&self) -> usize {
        self.first.nrows() + self.multiplier_rows().iter().sum::<usize>()
    }

    fn advance(&self, link: &SparseLink, x: MatRef<'_, f64>, targets: &[usize], codes: &mut SadlCodes) {
        let maps = [link.q.clone(), mul(&link.w, &link.q)];
        let seen = mul(&link.omega, x);
        let z = &mut codes.z;
        match link.step {
            SparseStep::Admm { last, penalty: mu, length } => {
                if let Some(mu) = last {
                    for (y, map) in codes.y.iter_mut().zip(&maps) {
                        *y = Scale(self.rho / (self.rho + mu)) * (Scale(mu) * gap(map, z, targets, link) + &*y);
                    }
                }
                let mut step = Scale(-1.0 / mu) * (&*z - seen);
                for (y, map) in codes.y.iter().zip(&maps) {
                    // The slack is Y / rho.
                    let error = Scale(1.0 / mu - 1.0 / self.rho) * y + gap(map, z, targets, link);
                    mul_add(step.as_mut(), 1.0, map.transpose(), &error);
                }
                *z += Scale(1.0 / length) * step;
                soft(z.as_mut(), self.lambda1 / (mu * length));
            }
            SparseStep::Descent { length, steps } => {
                let curvature = Scale(self.rho) * (gram(&maps[0]) + gram(&maps[1]));
                let mut pull = seen;
                for map in &maps {
                    let goal = goal(map.nrows(), targets, link.w.nrows());
                    mul_add(pull.as_mut(), self.rho, map.transpose(), &goal);
                }
                for _ in 0..steps {
                    let gradient = &*z - &pull + mul(&curvature, &z);
                    *z -= Scale(1.0 / length) * gradient;
                    soft(z.as_mut(), self.lambda1 / length);
                }
            }
        }
    }

    /// Stores the chain.
    pub(crate) fn put(&self, message: &mut Message) {
        let steps: Vec<SparseStep> = self.links.iter().map(|link| link.step).collect();
        message.set("sparse", (self.start, self.rho, self.lambda1, steps));
        message.put("sparse.first", self.first.clone());
        for (i, link) in self.links.iter().enumerate() {
            message.put(format!("sparse.{i}.omega"), link.omega.clone());
            message.put(format!("sparse.{i}.q"), link.q.clone());
            message.put(format!("sparse.{i}.w"), link.w.clone());
        }
    }

    /// The counterpart of [`SparseChain::put`]; there is at least one link.
    pub(crate) fn take(message: &mut Message, m: usize, n_classes: usize) -> Result<Self> {
        let (start, rho, lambda1, steps): (usize, f64, f64, Vec<SparseStep>) = message.get("sparse")?;
        let first = message.take("sparse.first", None, m)?;
        let mut rows = None;
        let mut links = Vec::new();
        for (i, step) in steps.into_iter().enumerate() {
            let omega = message.take(&format!("sparse.{i}.omega"), first.nrows(), m)?;
            let q = message.take(&format!("sparse.{i}.q"), rows, first.nrows())?;
            rows = Some(q.nrows());
            let w = message.take(&format!("sparse.{i}.w"), n_classes, q.nrows())?;
            links.push(SparseLink { omega, q, w, step });
        }
        let admm = |link: &SparseLink| matches!(link.step, SparseStep::Admm { .. });
        let one_kind = links.iter().all(admm) || !links.iter().any(admm);
        let n_rows = rows.unwrap_or(0);
        if n_rows == 0 || n_classes == 0 || n_rows % n_classes != 0 || !one_kind {
            return Err(Error::Data("the message's chain of sparse codes does not fit together".into()));
        }
        Ok(SparseChain { start, rho, lambda1, first, links })
    }
}

/// `H` or `L`: rows in equal shares for the classes, 1 on the samples of that class.
fn goal(rows: usize, targets: &[usize], n_classes: usize) -> Mat<f64> {
    let share = rows / n_classes;
    Mat::from_fn(rows, targets.len(), |r, i| f64::from(u8::from(targets[i] == r / share)))
}

/// The goal of a constraint less what is reached.
fn gap(map: &Mat<f64>, z: &Mat<f64>, targets: &[usize], link: &SparseLink) -> Mat<f64> {
    goal(map.nrows(), targets, link.w.nrows()) - mul(map, z)
}

impl SadlCodes {
    /// What the trainer needs of them.
    pub(super) fn sums(&self, x: MatRef<'_, f64>, targets: &[usize], n_classes: usize) -> SparseSums {
        let z = self.z.as_ref();
        let mut second = Mat::zeros(z.nrows(), z.nrows());
        add_lower_outer(second.as_mut(), 1.0, z);
        let mut by_class = Mat::zeros(z.nrows(), n_classes);
        for (column, &target) in z.col_iter().zip(targets) {
            by_class.col_mut(target).iter_mut().zip(column.iter()).for_each(|(sum, v)| *sum += v);
        }
        let of_constraint = |y: &Mat<f64>| MultiplierSums {
            yz: mul(y, z.transpose()),
            goal_y: inner(goal(y.nrows(), targets, n_classes).as_ref(), y),
            energy: y.squared_norm_l2(),
        };
        SparseSums {
            zz: packed(&second),
            zx: mul(z, x.transpose()),
            by_class,
            absolute: self.z.norm_l1(),
            multipliers: self.y.iter().filter(|y| y.nrows() > 0).map(of_constraint).collect(),
        }
    }
}
