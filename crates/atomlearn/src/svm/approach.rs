//! A cheap way from zero to near the optimum, for all classes at once.
//!
//! Far from the optimum active sets are large and change by halves, so exact Newton steps are dear and soon outdated.
//! Here each step is solved only roughly, by a few conjugate-gradient rounds; a round is two products with `Z` for all
//! classes together. What it returns is a start for [`super::one_vs_rest`], which makes it exact.

use super::{Svm, sign};
use crate::linalg::{axpy, column, dot, mul};
use faer::{Mat, MatRef};

/// Newton steps; classes that are done earlier stand still.
const STEPS: usize = 8;
/// Conjugate-gradient rounds in a step, and the share of the gradient at which a class leaves them.
const ROUNDS: usize = 8;
const ROUGH: f64 = 0.3;
/// A class is near enough when its gradient has fallen to this share of the first one.
const NEAR: f64 = 5e-3;

/// One column per class: `u` and, below it, `b`; and the outputs `Z^T u + b`.
struct Machines {
    weights: Mat<f64>,
    outputs: Mat<f64>,
}

/// Classifiers near the optimum of the problem in [`super`].
pub(super) fn approach(z: MatRef<'_, f64>, targets: &[usize], n_classes: usize, tau: f64) -> Svm {
    let (dim, n) = z.shape();
    let mut at = Machines { weights: Mat::zeros(dim + 1, n_classes), outputs: Mat::zeros(n, n_classes) };
    let signs = Mat::from_fn(n, n_classes, |i, c| sign(targets[i], c));
    let mut first = vec![f64::NAN; n_classes];
    for step in 0..STEPS {
        let gap = |i: usize, c: usize| if is_active(&signs, &at.outputs, i, c) { 1.0 } else { 0.0 };
        let active = Mat::from_fn(n, n_classes, gap);
        let pull = Mat::from_fn(n, n_classes, |i, c| active[(i, c)] * (signs[(i, c)] - at.outputs[(i, c)]));
        // Half the negative gradient, which the step has to cancel.
        let mut downhill = gather(z, &pull);
        for c in 0..n_classes {
            (0..dim).for_each(|k| downhill[(k, c)] -= tau * at.weights[(k, c)]);
        }
        let lengths: Vec<f64> = downhill.col_iter().map(|column| column.norm_l2()).collect();
        if step == 0 {
            first.copy_from_slice(&lengths);
        }
        let moving: Vec<bool> = (0..n_classes).map(|c| lengths[c] > NEAR * first[c]).collect();
        if moving.iter().all(|moving| !moving) {
            break;
        }
        let direction = solve_roughly(z, tau, &active, downhill, &moving);
        for c in (0..n_classes).filter(|&c| moving[c]) {
            at.walk(c, &direction, tau, column(signs.as_ref(), c));
        }
    }
    let bias = (0..n_classes).map(|c| at.weights[(dim, c)]).collect();
    Svm { weights: at.weights.subrows(0, dim).to_owned(), bias }
}

fn is_active(signs: &Mat<f64>, outputs: &Mat<f64>, i: usize, c: usize) -> bool {
    signs[(i, c)] * outputs[(i, c)] < 1.0
}

/// `[Z; 1^T] a`.
fn gather(z: MatRef<'_, f64>, a: &Mat<f64>) -> Mat<f64> {
    let mut product = mul(z, a.as_ref());
    product.resize_with(z.nrows() + 1, a.ncols(), |_, c| a.col(c).iter().sum());
    product
}

/// `[Z; 1^T]^T v`.
fn spread(z: MatRef<'_, f64>, v: &Mat<f64>) -> Mat<f64> {
    let dim = z.nrows();
    let mut product = mul(z.transpose(), v.subrows(0, dim));
    for (c, column) in product.col_iter_mut().enumerate() {
        column.iter_mut().for_each(|o| *o += v[(dim, c)]);
    }
    product
}

/// Conjugate gradients on `(tau I + Z_A Z_A^T) d = rhs` (no `tau` for the bias), one system per class.
fn solve_roughly(z: MatRef<'_, f64>, tau: f64, active: &Mat<f64>, rhs: Mat<f64>, moving: &[bool]) -> Machines {
    let (dim, n_classes) = (z.nrows(), rhs.ncols());
    let mut found = Machines { weights: Mat::zeros(dim + 1, n_classes), outputs: Mat::zeros(z.ncols(), n_classes) };
    let square = |r: &Mat<f64>, c: usize| dot(column(r.as_ref(), c), column(r.as_ref(), c));
    let (mut residual, mut search) = (rhs.clone(), rhs);
    let start: Vec<f64> = (0..n_classes).map(|c| square(&residual, c)).collect();
    let mut energy = start.clone();
    let mut open: Vec<usize> = (0..n_classes).filter(|&c| moving[c]).collect();
    for _ in 0..ROUNDS {
        let outputs = spread(z, &search);
        let masked = Mat::from_fn(outputs.nrows(), n_classes, |i, c| active[(i, c)] * outputs[(i, c)]);
        let mut image = gather(z, &masked);
        open.retain(|&c| {
            (0..dim).for_each(|k| image[(k, c)] += tau * search[(k, c)]);
            let (p, hp) = (column(search.as_ref(), c), column(image.as_ref(), c));
            let length = energy[c] / dot(p, hp);
            add(&mut found.weights, c, length, p);
            add(&mut found.outputs, c, length, column(outputs.as_ref(), c));
            add(&mut residual, c, -length, hp);
            let left = square(&residual, c);
            let keep = left / energy[c];
            energy[c] = left;
            (0..=dim).for_each(|k| search[(k, c)] = residual[(k, c)] + keep * search[(k, c)]);
            left > ROUGH * ROUGH * start[c]
        });
        if open.is_empty() {
            break;
        }
    }
    found
}

/// `target[:, c] += scale x`.
fn add(target: &mut Mat<f64>, c: usize, scale: f64, x: &[f64]) {
    if let Some(column) = target.col_mut(c).try_as_col_major_mut() {
        axpy(scale, x, column.as_slice_mut());
    }
}

impl Machines {
    /// Moves class `c` along `direction`, halving the step until the objective falls.
    fn walk(&mut self, c: usize, direction: &Machines, tau: f64, signs: &[f64]) {
        let last = self.weights.nrows() - 1;
        let (u, d) = (&column(self.weights.as_ref(), c)[..last], &column(direction.weights.as_ref(), c)[..last]);
        let (uu, ud, dd) = (dot(u, u), dot(u, d), dot(d, d));
        let (o, slope) = (column(self.outputs.as_ref(), c), column(direction.outputs.as_ref(), c));
        let value = |s: f64| {
            let loss = |((&o, &d), &t): ((&f64, &f64), &f64)| (1.0 - t * (o + s * d)).max(0.0).powi(2);
            tau * (uu + s * (2.0 * ud + s * dd)) + o.iter().zip(slope).zip(signs).map(loss).sum::<f64>()
        };
        let now = value(0.0);
        // A direction that rounding or overflow spoiled never falls; then the class stays where it is.
        let Some(s) = (0..20).map(|halvings| 0.5f64.powi(halvings)).find(|&s| value(s) < now) else {
            return;
        };
        add(&mut self.weights, c, s, column(direction.weights.as_ref(), c));
        add(&mut self.outputs, c, s, column(direction.outputs.as_ref(), c));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{gradient, objective, problem};
    use super::*;

    #[test]
    fn comes_near_the_optimum_from_zero() {
        for (dim, n) in [(4, 60), (40, 60), (90, 30)] {
            let (z, targets) = problem(dim, n);
            let near = approach(z.as_ref(), &targets, 3, 0.2);
            let exact = super::super::one_vs_rest(z.as_ref(), &targets, 3, 0.2, None).unwrap();
            let value = |svm: &Svm| objective(svm, z.as_ref(), &targets, 0.2);
            let zero = Svm::zero(dim, 3);
            assert!(value(&near) - value(&exact) < 1e-2 * (value(&zero) - value(&exact)), "{dim} x {n}");
            let slope = |svm: &Svm| gradient(svm, z.as_ref(), &targets, 0.2).norm_l2();
            assert!(slope(&near) < 0.05 * slope(&zero), "{dim} x {n}");
        }
    }

    #[test]
    fn spoiled_input_leaves_finite_machines() {
        let flat = approach(Mat::zeros(3, 6).as_ref(), &[0, 0, 1, 1, 2, 2], 3, 0.2);
        assert!(flat.weights.norm_max() == 0.0 && flat.bias.iter().all(|b| b.is_finite()));
        let huge = Mat::from_fn(3, 6, |i, j| if i == j % 3 { 1e200 } else { 0.0 });
        let svm = approach(huge.as_ref(), &[0, 1, 2, 0, 1, 2], 3, 0.2);
        assert!(svm.weights.is_all_finite());
    }
}
