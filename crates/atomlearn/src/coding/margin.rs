//! Codes pushed towards the right side of every one-vs-rest margin.
//!
//! A method has base codes `z0 = P D^T x` (`P` the inverse of its code matrix) and wants, per sample,
//!
//! ```text
//! min_z  q(z) + a sum_c max(0, 1 - y_c (u_c^T z + b_c))^2,   q quadratic with minimiser z0 and curvature P^-1
//! ```
//!
//! With the classes `phi` whose margin is violated held fixed, Woodbury's identity moves everything into class space:
//! `z = z0 + a G_phi w` with `G = P U`, and `(I + a M_phi,phi) w = y - b - U^T z0` on `phi`, `M = U^T G`. So samples
//! share `G` and `M`, and each needs one system of size `|phi|`.

use crate::params::words;
use faer::Mat;
use rayon::prelude::*;

/// The linear classifiers as the code step sees them.
pub struct Margins<'a> {
    /// `M = U^T P U`, classes x classes.
    pub coupling: &'a Mat<f64>,
    /// `b`.
    pub bias: &'a [f64],
    /// `a = 2 lambda2 theta`.
    pub strength: f64,
    /// Class of every sample.
    pub targets: &'a [usize],
}

words! {
    /// How the violated set `phi` is found.
    pub enum MarginSet {
        /// From the previous codes, one solve: what the published code does.
        OnePass = "one-pass",
        /// Repeated until it fits the codes it produces: the exact minimiser.
        Converged = "converged",
    }
}

impl Margins<'_> {
    /// The weights `W` (classes x samples) of the correction `Z = Z0 + a G W`.
    ///
    /// `base` holds `U^T z0` and `previous` the scores `U^T z_old` that choose `phi`, both without bias.
    pub fn weights(&self, base: &Mat<f64>, previous: &Mat<f64>, set: MarginSet) -> Mat<f64> {
        let (n_classes, n) = base.shape();
        let mut weights = Mat::zeros(n_classes, n);
        if self.strength == 0.0 || n_classes == 0 {
            return weights;
        }
        weights.as_mut().par_col_iter_mut().enumerate().with_min_len(16).for_each_init(
            || Scratch::new(n_classes),
            |scratch, (i, mut w)| {
                let base: Vec<f64> = base.col(i).iter().copied().collect();
                scratch.violated(self, i, |c| previous[(c, i)]);
                self.solve(scratch, i, &base);
                if set == MarginSet::Converged {
                    self.converge(scratch, i, &base);
                }
                scratch.w.iter().enumerate().for_each(|(c, &v)| w[c] = v);
            },
        );
        weights
    }

    fn target(&self, sample: usize, class: usize) -> f64 {
        if self.targets[sample] == class { 1.0 } else { -1.0 }
    }

    /// Solves `(I + a M_phi,phi) w = y - b - U^T z0` for the current `phi`; zero elsewhere.
    fn solve(&self, scratch: &mut Scratch, sample: usize, base: &[f64]) {
        let Scratch { phi, w, matrix, rhs } = scratch;
        let size = phi.len();
        for (p, &c) in phi.iter().enumerate() {
            rhs[p] = self.target(sample, c) - self.bias[c] - base[c];
            for (q, &d) in phi[..=p].iter().enumerate() {
                matrix[p * size + q] = self.strength * self.coupling[(c, d)];
            }
            matrix[p * size + p] += 1.0;
        }
        solve_small_spd(&mut matrix[..size * size], &mut rhs[..size]);
        w.fill(0.0);
        phi.iter().zip(rhs.iter()).for_each(|(&c, &v)| w[c] = v);
    }

    /// Newton with halved steps on the convex per-sample problem until `phi` repeats.
    fn converge(&self, scratch: &mut Scratch, sample: usize, base: &[f64]) {
        let n_classes = base.len();
        let mut accepted = vec![0.0; n_classes];
        let mut accepted_value = self.value(sample, base, &accepted);
        for _ in 0..20 {
            // `w` is the minimiser for the current `phi`, on other margins an extrapolation: it may overshoot.
            let target = scratch.w.clone();
            let mut step = 1.0;
            loop {
                (0..n_classes).for_each(|c| scratch.w[c] = accepted[c] + step * (target[c] - accepted[c]));
                let value = self.value(sample, base, &scratch.w);
                if value <= accepted_value || step < 1e-6 {
                    accepted_value = value.min(accepted_value);
                    break;
                }
                step *= 0.5;
            }
            accepted.copy_from_slice(&scratch.w);
            let before = scratch.phi.clone();
            let scores = self.scores(base, &accepted);
            scratch.violated(self, sample, |c| scores[c]);
            // A full step that ends with the `phi` it was made for is the minimiser.
            if scratch.phi == before && step == 1.0 {
                return;
            }
            self.solve(scratch, sample, base);
        }
        scratch.w.copy_from_slice(&accepted);
    }

    /// `U^T z = U^T z0 + a M w`.
    fn scores(&self, base: &[f64], w: &[f64]) -> Vec<f64> {
        let mut scores = base.to_vec();
        for (d, &v) in w.iter().enumerate().filter(|&(_, &v)| v != 0.0) {
            scores.iter_mut().enumerate().for_each(|(c, s)| *s += self.strength * v * self.coupling[(c, d)]);
        }
        scores
    }

    /// The per-sample objective relative to `z0`: `a^2 w^T M w + a sum_c max(0, 1 - y_c (u_c^T z + b_c))^2`.
    fn value(&self, sample: usize, base: &[f64], w: &[f64]) -> f64 {
        let scores = self.scores(base, w);
        (0..base.len())
            .map(|c| {
                let slack = (1.0 - self.target(sample, c) * (scores[c] + self.bias[c])).max(0.0);
                self.strength * (w[c] * (scores[c] - base[c]) + slack * slack)
            })
            .sum()
    }
}

/// Working memory of one thread.
struct Scratch {
    phi: Vec<usize>,
    w: Vec<f64>,
    matrix: Vec<f64>,
    rhs: Vec<f64>,
}

impl Scratch {
    fn new(n_classes: usize) -> Self {
        Scratch {
            phi: Vec::with_capacity(n_classes),
            w: vec![0.0; n_classes],
            matrix: vec![0.0; n_classes * n_classes],
            rhs: vec![0.0; n_classes],
        }
    }

    fn violated(&mut self, margins: &Margins<'_>, sample: usize, score: impl Fn(usize) -> f64) {
        self.phi.clear();
        let violates = |&c: &usize| margins.target(sample, c) * (score(c) + margins.bias[c]) < 1.0;
        self.phi.extend((0..margins.bias.len()).filter(violates));
    }
}

/// Cholesky solve of a small system, row-major lower triangle, in place. The matrix is `I + PSD`, so pivots are >= 1.
fn solve_small_spd(matrix: &mut [f64], rhs: &mut [f64]) {
    let n = rhs.len();
    for i in 0..n {
        for j in 0..=i {
            let (head, row_i) = matrix.split_at_mut(i * n);
            let sum: f64 = if j < i {
                let row_j = &head[j * n..j * n + j];
                row_i[..j].iter().zip(row_j).map(|(x, y)| x * y).sum()
            } else {
                row_i[..j].iter().map(|x| x * x).sum()
            };
            row_i[j] = if j < i { (row_i[j] - sum) / head[j * n + j] } else { (row_i[j] - sum).max(1.0).sqrt() };
        }
        let sum: f64 = (0..i).map(|j| matrix[i * n + j] * rhs[j]).sum();
        rhs[i] = (rhs[i] - sum) / matrix[i * n + i];
    }
    for i in (0..n).rev() {
        let sum: f64 = (i + 1..n).map(|j| matrix[j * n + i] * rhs[j]).sum();
        rhs[i] = (rhs[i] - sum) / matrix[i * n + i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Spd, gram, mul, outer_gram};
    use faer::mat;

    struct Problem {
        a: Mat<f64>,
        u: Mat<f64>,
        bias: Vec<f64>,
        strength: f64,
        targets: Vec<usize>,
        z0: Mat<f64>,
    }

    impl Problem {
        fn new(k: usize, n_classes: usize, n: usize, strength: f64) -> Self {
            let noise = |i: usize, j: usize| ((i * 37 + j * 101 + i * j * 7) % 97) as f64 / 97.0 - 0.5;
            let mut a = gram(Mat::from_fn(k + 2, k, noise));
            (0..k).for_each(|i| a[(i, i)] += 0.1);
            Problem {
                a,
                u: Mat::from_fn(k, n_classes, |i, c| 2.0 * noise(i + 5, c + 1)),
                bias: (0..n_classes).map(|c| noise(c, 3)).collect(),
                strength,
                targets: (0..n).map(|i| i % n_classes).collect(),
                z0: Mat::from_fn(k, n, |i, j| noise(i + 2, j + 11)),
            }
        }

        fn codes(&self, previous: &Mat<f64>, active: MarginSet) -> (Mat<f64>, Mat<f64>) {
            let g = Spd::new(self.a.clone(), "t").unwrap().solve(&self.u);
            let coupling = mul(self.u.transpose(), &g);
            let margins =
                Margins { coupling: &coupling, bias: &self.bias, strength: self.strength, targets: &self.targets };
            let base = mul(self.u.transpose(), &self.z0);
            let w = margins.weights(&base, previous, active);
            let z = &self.z0 + faer::Scale(self.strength) * mul(&g, &w);
            (z, w)
        }

        fn sign(&self, i: usize, c: usize) -> f64 {
            if self.targets[i] == c { 1.0 } else { -1.0 }
        }
    }

    #[test]
    fn equals_the_naive_solve_and_the_residual_identity() {
        for strength in [1e-5, 0.3, 10.0] {
            let p = Problem::new(8, 5, 12, strength);
            let previous = Mat::from_fn(5, 12, |c, i| ((c * 3 + i * 5) % 7) as f64 / 2.0 - 1.5);
            let (z, w) = p.codes(&previous, MarginSet::OnePass);
            for i in 0..12 {
                let phi: Vec<usize> = (0..5).filter(|&c| p.sign(i, c) * (previous[(c, i)] + p.bias[c]) < 1.0).collect();
                let up = Mat::from_fn(8, phi.len(), |r, q| p.u[(r, phi[q])]);
                let matrix = &p.a + faer::Scale(strength) * outer_gram(&up);
                let e = Mat::from_fn(phi.len(), 1, |q, _| p.sign(i, phi[q]) - p.bias[phi[q]]);
                let rhs = mul(&p.a, p.z0.subcols(i, 1)) + faer::Scale(strength) * mul(&up, &e);
                let naive = Spd::new(matrix, "t").unwrap().solve(&rhs);
                assert!((z.subcols(i, 1) - &naive).norm_max() < 1e-9 * naive.norm_max());
                for c in 0..5 {
                    let score: f64 = (0..8).map(|r| p.u[(r, c)] * z[(r, i)]).sum();
                    let expected = if phi.contains(&c) { p.sign(i, c) - p.bias[c] - score } else { 0.0 };
                    assert!((w[(c, i)] - expected).abs() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn converged_active_set_fits_itself_and_zeroes_the_gradient() {
        let p = Problem::new(8, 5, 40, 2.0);
        let base = mul(p.u.transpose(), &p.z0);
        let (z, w) = p.codes(&base, MarginSet::Converged);
        let scores = mul(p.u.transpose(), &z);
        for i in 0..40 {
            let mut gradient = mul(&p.a, z.subcols(i, 1) - p.z0.subcols(i, 1));
            for c in 0..5 {
                let slack = 1.0 - p.sign(i, c) * (scores[(c, i)] + p.bias[c]);
                assert_eq!(slack > 0.0, w[(c, i)] != 0.0, "phi must be the violated set");
                let pull = p.strength * p.sign(i, c) * slack.max(0.0);
                (0..8).for_each(|r| gradient[(r, 0)] -= pull * p.u[(r, c)]);
            }
            assert!(gradient.norm_max() < 1e-9, "{gradient:?}");
        }
    }

    /// Worked by hand.
    #[test]
    fn hand_checked_code_update() {
        let d = mat![[1.0, 0.8, 0.0, -0.6], [0.0, 0.6, 1.0, 0.8]];
        let laplacian = crate::graph::AtomGraph::new(&d, 1, Default::default()).laplacian();
        let a = gram(&d) + faer::Scale(0.1) * laplacian;
        let x = mat![[0.6, -0.8], [0.8, 0.6]];
        let z0 = Spd::new(a.clone(), "t").unwrap().solve(mul(d.transpose(), &x));
        let u = mat![[1.0, -0.5], [0.5, 0.2], [-0.3, 1.0], [0.0, 0.4]];
        let p = Problem { a, u, bias: vec![0.1, -0.2], strength: 0.5, targets: vec![0, 1], z0 };
        let base = mul(p.u.transpose(), &p.z0);
        assert!((&base - mat![[0.56, -0.58], [0.29, 0.6966666667]]).norm_max() < 1e-9);
        let (z, w) = p.codes(&base, MarginSet::OnePass);
        let expected_w = mat![[-0.1302893327, -0.1225122674], [-0.5706617027, 0.1631453515]];
        assert!((w - expected_w).norm_max() < 1e-9);
        let expected_z = mat![
            [0.7263839069, -0.5929926589],
            [0.4586624444, -0.3053387954],
            [-0.2485806788, 0.7727522532],
            [0.7267546152, 0.0716845624]
        ];
        assert!((&z - expected_z).norm_max() < 1e-9);
        let (converged, _) = p.codes(&base, MarginSet::Converged);
        assert!((z.subcols(0, 1) - converged.subcols(0, 1)).norm_max() > 1e-3, "class 1 must leave the active set");
    }
}
