//! Operations on the columns of a matrix.

use crate::{View, dot};
use faer::{ColRef, Mat, MatMut};

/// Norms below this count as zero; such columns are left as they are, never divided.
pub const ZERO_NORM: f64 = 1e-12;

/// Euclidean norm of every column, safe against overflow and underflow.
pub fn column_norms(x: impl View) -> Vec<f64> {
    let safe = |column: ColRef<'_, f64>| {
        let norm = column.norm_l2();
        if is_safe_norm(norm) {
            return norm;
        }
        let largest = column.norm_max();
        if largest > 0.0 { largest * column.iter().map(|v| (v / largest).powi(2)).sum::<f64>().sqrt() } else { norm }
    };
    x.view().col_iter().map(safe).collect()
}

/// Squared norm of every column.
pub fn column_energies(x: impl View) -> Vec<f64> {
    x.view().col_iter().map(|column| column.squared_norm_l2()).collect()
}

/// The direction of a vector too long or too short for its norm: `to` becomes `from` at unit length, zero if `from` is.
///
/// Squares of the values would overflow or vanish, so that these are divided by the largest first.
pub fn extreme_direction(from: &[f64], to: &mut [f64]) {
    let largest = from.iter().fold(0.0f64, |largest, v| largest.max(v.abs()));
    if largest == 0.0 {
        to.fill(0.0);
        return;
    }
    to.iter_mut().zip(from).for_each(|(to, from)| *to = from / largest);
    let norm = dot(to, to).sqrt();
    to.iter_mut().for_each(|v| *v /= norm);
}

/// True if a norm holds all digits of its vector: it is neither infinite nor near the smallest numbers there are.
pub fn is_safe_norm(norm: f64) -> bool {
    (1e-290..=f64::MAX).contains(&norm)
}

/// Scales every column to unit norm in place; returns how many were zero and left alone.
pub fn normalize_columns(x: MatMut<'_, f64>) -> usize {
    let mut zeros = 0;
    for mut column in x.col_iter_mut() {
        let mut norm = column.norm_l2();
        if norm == f64::INFINITY {
            let largest = column.norm_max();
            column.as_mut().iter_mut().for_each(|v| *v /= largest);
            norm = column.norm_l2();
        }
        if norm < ZERO_NORM {
            zeros += 1;
        } else {
            column.iter_mut().for_each(|v| *v /= norm);
        }
    }
    zeros
}

/// `<A, B>`, the sum of the products of their entries.
pub fn inner(a: impl View, b: impl View) -> f64 {
    a.view().col_iter().zip(b.view().col_iter()).map(|(a, b)| a.transpose() * b).sum()
}

/// Frobenius norm.
pub fn frobenius(a: impl View) -> f64 {
    a.view().norm_l2()
}

/// `|new - old| / |new|`, zero if both are zero.
pub fn relative_change(new: impl View, old: impl View) -> f64 {
    let new = new.view();
    let old = old.view();
    let mut difference = Vec::with_capacity(new.nrows());
    let mut squared = |(new, old): (ColRef<'_, f64>, ColRef<'_, f64>)| {
        difference.clear();
        difference.extend(new.iter().zip(old.iter()).map(|(new, old)| new - old));
        dot(&difference, &difference)
    };
    let change = new.col_iter().zip(old.col_iter()).map(&mut squared).sum::<f64>().sqrt();
    if change == 0.0 { 0.0 } else { change / frobenius(new) }
}

/// The given columns, in the given order.
pub fn select_columns(x: impl View, columns: &[usize]) -> Mat<f64> {
    let x = x.view();
    let mut selected = Mat::zeros(x.nrows(), columns.len());
    for (mut target, &j) in selected.col_iter_mut().zip(columns) {
        target.copy_from(x.col(j));
    }
    selected
}

/// Matrices side by side; all must have the same number of rows.
pub fn concat_columns(parts: &[Mat<f64>]) -> Mat<f64> {
    let rows = parts.first().map_or(0, Mat::nrows);
    let mut all = Mat::zeros(rows, parts.iter().map(Mat::ncols).sum());
    let mut start = 0;
    for part in parts {
        all.subcols_mut(start, part.ncols()).copy_from(part);
        start += part.ncols();
    }
    all
}

/// `a + value I` in place.
pub fn add_diagonal(a: &mut Mat<f64>, value: f64) {
    (0..a.nrows()).for_each(|i| a[(i, i)] += value);
}

/// The diagonal.
pub fn diagonal(a: impl View) -> Vec<f64> {
    let a = a.view();
    (0..a.nrows()).map(|i| a[(i, i)]).collect()
}

/// Sum of the diagonal.
pub fn trace(a: impl View) -> f64 {
    diagonal(a).into_iter().sum()
}

/// `H`: one column per sample, one in the row of its class and zero elsewhere.
pub fn one_hot(targets: &[usize], n_classes: usize) -> Mat<f64> {
    Mat::from_fn(n_classes, targets.len(), |c, i| if targets[i] == c { 1.0 } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_columns_and_zero_columns() {
        let mut x = faer::mat![[3.0, 0.0, 1e200, 1.7e308], [4.0, 0.0, 1e200, 1.7e308]];
        assert_eq!(normalize_columns(x.as_mut()), 1);
        let norms = column_norms(&x);
        assert!((norms[0] - 1.0).abs() < 1e-15 && norms[1] == 0.0);
        assert!((norms[2] - 1.0).abs() < 1e-15 && (norms[3] - 1.0).abs() < 1e-15);
        let tiny = faer::mat![[3e-310], [4e-310]];
        assert!((column_norms(&tiny)[0] / 5e-310 - 1.0).abs() < 1e-10);
    }

    #[test]
    fn directions_of_extreme_vectors() {
        for size in [1.7e308, 1e200, 1.0, 1e-200, 1e-310] {
            let from = [3.0, -4.0, 0.0, 12.0].map(|v| v / 12.0 * size);
            let mut to = [f64::NAN; 4];
            extreme_direction(&from, &mut to);
            // Denormal numbers have few digits.
            let expected = [3.0 / 13.0, -4.0 / 13.0, 0.0, 12.0 / 13.0];
            assert!(to.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{size:e}: {to:?}");
        }
        let mut to = [1.0; 2];
        extreme_direction(&[0.0, -0.0], &mut to);
        assert_eq!(to, [0.0, 0.0]);
    }

    #[test]
    fn diagonals_energies_and_labels_equal_their_definitions() {
        let mut a = faer::mat![[1.0, 2.0], [3.0, 4.0]];
        assert_eq!((trace(&a), column_energies(&a)), (5.0, vec![10.0, 20.0]));
        add_diagonal(&mut a, 0.5);
        assert_eq!(a, faer::mat![[1.5, 2.0], [3.0, 4.5]]);
        assert_eq!(one_hot(&[1, 0, 1], 3), faer::mat![[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]);
    }

    #[test]
    fn select_and_concat() {
        let x = Mat::from_fn(2, 4, |i, j| (10 * i + j) as f64);
        let picked = select_columns(&x, &[3, 1]);
        assert_eq!(picked, faer::mat![[3.0, 1.0], [13.0, 11.0]]);
        assert_eq!(concat_columns(&[picked.clone(), picked.clone()]).ncols(), 4);
        assert_eq!(relative_change(&picked, &picked), 0.0);
    }
}
