//! A warm start where there is none: a cheap way from zero to near the optimum, for all classes at once.
//!
//! Far from the optimum active sets are large and change by half, so exact Newton steps are expensive and soon obsolete.
//! Here each step is solved only roughly, by a few conjugate-gradient iterations; one of them is two products with `Z` for
//! all classes together. What it returns is a start for [`super::one_vs_rest`], which makes it exact.

use super::{Svm, sign};
use crate::linalg::{axpy, dot, mul, select_columns};
use faer::{Mat, MatRef};
use rayon::prelude::*;

/// Newton steps; classes that are near enough earlier stay where they are.
const STEPS: usize = 6;
/// Conjugate-gradient iterations of a step, and the relative residual at which a class ends them.
const CG_ITERATIONS: usize = 4;
const CG_RESIDUAL: f64 = 0.3;
/// A class is near enough when its gradient has fallen to this share of the first one.
const NEAR: f64 = 2e-2;

/// Classes solved together, so that what they share stays in cache and near ones do not wait for others; fixed, so that
/// results never depend on the number of threads.
const CLASS_BATCH: usize = 64;

/// One column per class: `u` and, below it, `b`; and the outputs `Z^T u + b`.
struct ClassBatch {
    weights: Mat<f64>,
    outputs: Mat<f64>,
}

/// Classifiers near the optimum of the problem in [`super`].
pub(super) fn warm_start(z: MatRef<'_, f64>, targets: &[usize], n_classes: usize, tau: f64) -> Svm {
    let dim = z.nrows();
    let mut weights = Mat::zeros(dim + 1, n_classes);
    weights.as_mut().par_col_chunks_mut(CLASS_BATCH).enumerate().for_each(|(batch, mut weights)| {
        let first = batch * CLASS_BATCH;
        let signs = Mat::from_fn(z.ncols(), weights.ncols(), |i, c| sign(targets[i], first + c));
        weights.copy_from(solve_batch(z, &signs, tau).weights);
    });
    let bias = (0..n_classes).map(|c| weights[(dim, c)]).collect();
    Svm { weights: weights.subrows(0, dim).to_owned(), bias }
}

/// The classes with these targets, one column each.
fn solve_batch(z: MatRef<'_, f64>, signs: &Mat<f64>, tau: f64) -> ClassBatch {
    let (dim, n) = z.shape();
    // At `u = 0` the mean target is the best bias. Of the gradient at `b = 0` nearly all would be bias where classes are
    // many, and with that cancelled a class would pass for near the optimum without having moved.
    let means: Vec<f64> = signs.col_iter().map(|t| t.iter().sum::<f64>() / n.max(1) as f64).collect();
    let mut at = ClassBatch {
        weights: Mat::from_fn(dim + 1, means.len(), |k, c| if k == dim { means[c] } else { 0.0 }),
        outputs: Mat::from_fn(n, means.len(), |_, c| means[c]),
    };
    let mut first_lengths = Vec::new();
    let mut moving: Vec<usize> = (0..means.len()).collect();
    for _ in 0..STEPS {
        let mut active = Mat::zeros(n, moving.len());
        let mut pull = Mat::zeros(n, moving.len());
        for (p, &c) in moving.iter().enumerate() {
            let margins = signs.col_as_slice(c).iter().zip(at.outputs.col_as_slice(c));
            for ((active, pull), (t, o)) in
                active.col_as_slice_mut(p).iter_mut().zip(pull.col_as_slice_mut(p)).zip(margins)
            {
                *active = if t * o < 1.0 { 1.0 } else { 0.0 };
                *pull = *active * (t - o);
            }
        }
        // Half the negative gradient, which the step has to cancel.
        let mut downhill = times_samples(z, &pull);
        for (p, &c) in moving.iter().enumerate() {
            (0..dim).for_each(|k| downhill[(k, p)] -= tau * at.weights[(k, c)]);
        }
        let lengths: Vec<f64> = downhill.col_iter().map(|column| column.norm_l2()).collect();
        if first_lengths.is_empty() {
            first_lengths.clone_from(&lengths);
        }
        let far: Vec<usize> = (0..moving.len()).filter(|&p| lengths[p] > NEAR * first_lengths[moving[p]]).collect();
        if far.is_empty() {
            break;
        }
        let direction = conjugate_gradients(z, tau, &select_columns(&active, &far), select_columns(&downhill, &far));
        moving = far.iter().map(|&p| moving[p]).collect();
        for (p, &c) in moving.iter().enumerate() {
            at.line_search(c, &direction, p, tau, signs.col_as_slice(c));
        }
    }
    at
}

/// `[Z; 1^T] a`.
fn times_samples(z: MatRef<'_, f64>, a: &Mat<f64>) -> Mat<f64> {
    let mut product = mul(z, a);
    product.resize_with(z.nrows() + 1, a.ncols(), |_, c| a.col(c).iter().sum());
    product
}

/// `[Z; 1^T]^T v`.
fn times_transposed(z: MatRef<'_, f64>, v: &Mat<f64>) -> Mat<f64> {
    let dim = z.nrows();
    let mut product = mul(z.transpose(), v.subrows(0, dim));
    for (c, column) in product.col_iter_mut().enumerate() {
        column.iter_mut().for_each(|o| *o += v[(dim, c)]);
    }
    product
}

/// A few iterations of conjugate gradients on `(tau I + Z_A Z_A^T) d = rhs` (no `tau` for the bias), one system per class.
fn conjugate_gradients(z: MatRef<'_, f64>, tau: f64, active: &Mat<f64>, rhs: Mat<f64>) -> ClassBatch {
    let dim = z.nrows();
    let n_classes = rhs.ncols();
    let mut found = ClassBatch { weights: Mat::zeros(dim + 1, n_classes), outputs: Mat::zeros(z.ncols(), n_classes) };
    let square = |r: &Mat<f64>, c: usize| dot(r.col_as_slice(c), r.col_as_slice(c));
    let mut residual = rhs.clone();
    let mut search = rhs;
    let start: Vec<f64> = (0..n_classes).map(|c| square(&residual, c)).collect();
    let mut energy = start.clone();
    let mut unsolved: Vec<usize> = (0..n_classes).collect();
    for _ in 0..CG_ITERATIONS {
        // The image of the search direction: outputs, of which only those of active samples count, and back.
        let outputs = times_transposed(z, &search);
        let mut masked = outputs.clone();
        for &c in &unsolved {
            for (o, active) in masked.col_as_slice_mut(c).iter_mut().zip(active.col_as_slice(c)) {
                *o *= active;
            }
        }
        let mut image = times_samples(z, &masked);
        unsolved.retain(|&c| {
            (0..dim).for_each(|k| image[(k, c)] += tau * search[(k, c)]);
            let p = search.col_as_slice(c);
            let hp = image.col_as_slice(c);
            let length = energy[c] / dot(p, hp);
            add(&mut found.weights, c, length, p);
            add(&mut found.outputs, c, length, outputs.col_as_slice(c));
            add(&mut residual, c, -length, hp);
            let left = square(&residual, c);
            let keep = left / energy[c];
            energy[c] = left;
            (0..=dim).for_each(|k| search[(k, c)] = residual[(k, c)] + keep * search[(k, c)]);
            left > CG_RESIDUAL * CG_RESIDUAL * start[c]
        });
        if unsolved.is_empty() {
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

impl ClassBatch {
    /// Moves class `c` along column `p` of `direction`, halving the step until the objective falls.
    fn line_search(&mut self, c: usize, direction: &ClassBatch, p: usize, tau: f64, signs: &[f64]) {
        let step = direction.weights.col_as_slice(p);
        let slope = direction.outputs.col_as_slice(p);
        let last = step.len() - 1;
        let u = &self.weights.col_as_slice(c)[..last];
        let d = &step[..last];
        let uu = dot(u, u);
        let ud = dot(u, d);
        let dd = dot(d, d);
        let o = self.outputs.col_as_slice(c);
        let value = |s: f64| {
            let loss = |((&o, &d), &t): ((&f64, &f64), &f64)| (1.0 - t * (o + s * d)).max(0.0).powi(2);
            tau * (uu + s * (2.0 * ud + s * dd)) + o.iter().zip(slope).zip(signs).map(loss).sum::<f64>()
        };
        let now = value(0.0);
        // Along a direction that rounding or overflow spoiled the objective never falls; then the class stays where it is.
        let Some(s) = (0..20).map(|halvings| 0.5f64.powi(halvings)).find(|&s| value(s) < now) else {
            return;
        };
        add(&mut self.weights, c, s, step);
        add(&mut self.outputs, c, s, slope);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{gradient, objective, problem};
    use super::*;
    use crate::testing::noise;

    #[test]
    fn comes_near_the_optimum_from_zero() {
        for (dim, n) in [(4, 60), (40, 60), (90, 30)] {
            let (z, targets) = problem(dim, n);
            let near = warm_start(z.as_ref(), &targets, 3, 0.2);
            let exact = super::super::one_vs_rest(&z, &targets, 3, 0.2, None).unwrap();
            let value = |svm: &Svm| objective(svm, z.as_ref(), &targets, 0.2);
            let zero = Svm::zero(dim, 3);
            assert!(value(&near) - value(&exact) < 1e-2 * (value(&zero) - value(&exact)), "{dim} x {n}");
            let slope = |svm: &Svm| gradient(svm, z.as_ref(), &targets, 0.2).norm_l2();
            assert!(slope(&near) < 0.05 * slope(&zero), "{dim} x {n}");
        }
    }

    #[test]
    fn comes_near_with_many_small_classes_too() {
        let (dim, n, n_classes) = (30, 800, 200);
        let targets: Vec<usize> = (0..n).map(|j| j % n_classes).collect();
        let z = Mat::from_fn(dim, n, |i, j| noise(i, targets[j] * 13) + 0.2 * noise(i + 40, j));
        let near = warm_start(z.as_ref(), &targets, n_classes, 0.2);
        let exact = super::super::one_vs_rest(&z, &targets, n_classes, 0.2, None).unwrap();
        let flat = Svm { weights: Mat::zeros(dim, n_classes), bias: vec![2.0 / n_classes as f64 - 1.0; n_classes] };
        let value = |svm: &Svm| objective(svm, z.as_ref(), &targets, 0.2);
        assert!(value(&near) - value(&exact) < 0.05 * (value(&flat) - value(&exact)));
    }

    #[test]
    fn zero_and_huge_samples_leave_finite_classifiers() {
        let flat = warm_start(Mat::zeros(3, 6).as_ref(), &[0, 0, 1, 1, 2, 2], 3, 0.2);
        assert!(flat.weights.norm_max() == 0.0 && flat.bias.iter().all(|b| b.is_finite()));
        let huge = Mat::from_fn(3, 6, |i, j| if i == j % 3 { 1e200 } else { 0.0 });
        let svm = warm_start(huge.as_ref(), &[0, 1, 2, 0, 1, 2], 3, 0.2);
        assert!(svm.weights.is_all_finite());
    }
}
