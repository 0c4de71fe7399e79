//! Exact leave-one-out scores in closed form: what a classifier would say about each training sample had it been trained
//! on all others.
//!
//! Samples are columns, grouped by class. With a kernel matrix `K` and a ridge `kappa` let
//!
//! ```text
//! A = (K + kappa I)^-1,      z = A k      the code of a sample with kernel values k to the training samples and |x|^2 to itself.
//! ```
//!
//! Three classifiers read the same code, see [`Reading`]. With `Y` (n x C) the one-hot labels, `n_c` the sizes of the
//! classes, `S = A Y`, `Q = Y^T A Y`, `u = A 1`, `t = 1^T u`, the scores of a class are
//!
//! ```text
//! residual       -sqrt(r_c / (|z_c|^2 + 1e-12 |z|^2)),     r_c = |x|^2 - 2 k_c . z_c + z_c^T K_cc z_c
//! ridge          beta_c . k + b_c,                         b = Q^T 1 / t,   beta = S - u b^T
//! discriminant   -(|x|^2 - z . k + s . v - 2 v_c + (Q^-1)_cc - kappa / n_c),    s = Y^T z,   v = Q^-1 s
//! ```
//!
//! The residual is that of CRC, the ridge is regression on one-hot labels with a free bias, the discriminant is `-kappa` times
//! the squared distance to the class mean in `(S_w + kappa I)^-1`, `S_w` the scatter within classes. Its form above follows from
//! Woodbury's identity: `[K + kappa I, Y; Y^T, 0]` has the inverse `[R, V; V^T, -Q^-1]` with `V = S Q^-1` and `R = A - V S^T`, and the
//! distance is a Schur complement in it.
//!
//! Leaving sample `i` of class `y` out changes these inverses by rank one, and everything follows from the old ones:
//!
//! ```text
//! residual       the code of i over all others is z_j = -A_ji / A_ii (j != i), z_i = 0; then as above
//! ridge          y_i - beta_i / (A_ii - u_i^2 / t)
//! discriminant   -((Q^-1)_yy - 2 (Q^-1)_yc + (Q^-1)_cc + (1 - V_iy + V_ic)^2 / R_ii - kappa (1 + 1 / n_c)),   n_c without i
//! ```
//!
//! So one inverse gives the honest scores of three classifiers for every training sample; no fold is ever trained. Whole groups
//! of samples are left out with the inverse of their block of `A`, see [`Coder::leave_groups_out`]. Where there are more samples than
//! features, [`PrimalCoder`] does the same with matrices of the size of the features.

pub(crate) mod choice;
mod dual;
pub(crate) mod fusion;
pub(crate) mod grouped;
mod groups;
mod primal;
pub(crate) mod spectrum;
mod sums;
#[cfg(test)]
mod tests;

pub use dual::Coder;
pub use primal::{ClassMoments, PrimalCoder, PrimalLeftOut};
pub use sums::Sums;

use crate::score::Residuals;
use faer::Mat;

/// How errors name this module.
const STAGE: &str = "leave-one-out";

/// Which classifier reads the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// How well each class's part of the code rebuilds the sample, for its size.
    Residual,
    /// Ridge regression on one-hot labels, with a bias.
    Ridge,
    /// Distance to the class means, regularised discriminant analysis.
    Discriminant,
}

impl Reading {
    /// All of them.
    pub const ALL: [Reading; 3] = [Reading::Residual, Reading::Ridge, Reading::Discriminant];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Reading::Residual => "residual",
            Reading::Ridge => "ridge",
            Reading::Discriminant => "discriminant",
        }
    }
}

/// `-sqrt(r_c / (|z_c|^2 + 1e-12 |z|^2))`: the small share of the whole code keeps classes without any code finite.
pub(crate) fn residual_scores(residuals: &Residuals) -> Mat<f64> {
    const SHARE: f64 = 1e-12;
    const TINY: f64 = 1e-300;
    let totals: Vec<f64> = residuals.code_energy.col_iter().map(|energies| energies.iter().sum()).collect();
    Mat::from_fn(residuals.squared.nrows(), residuals.squared.ncols(), |c, i| {
        -(residuals.squared[(c, i)] / (residuals.code_energy[(c, i)] + SHARE * totals[i] + TINY)).sqrt()
    })
}
