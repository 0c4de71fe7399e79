//! Shrinking codes entry by entry.

use faer::MatMut;
use rayon::prelude::*;

/// `sign(a) max(|a| - t, 0)` on every entry: the proximal map of `t |.|_1`.
pub fn soft(a: MatMut<'_, f64>, t: f64) {
    a.par_col_iter_mut().with_min_len(16).for_each(|column| {
        column.iter_mut().for_each(|v| *v = v.signum() * (v.abs() - t).max(0.0));
    });
}

/// Zeroes all but the entries of largest magnitude, as many as `budget` pays for.
///
/// `cost(i)` is the price of entry `i`, and `size(i, value)` the magnitude that ranks it; with price 1 and plain
/// magnitudes this is hard thresholding to `budget` entries. Equal magnitudes: the lower index first. The first entry
/// that cannot be paid for ends the selection.
pub fn hard(z: &mut [f64], budget: usize, cost: impl Fn(usize) -> usize, size: impl Fn(usize, f64) -> f64) {
    let mut order: Vec<(f64, usize)> = z.iter().enumerate().map(|(i, &v)| (size(i, v.abs()), i)).collect();
    order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut left = budget;
    let mut affordable = true;
    for (_, i) in order {
        affordable = affordable && cost(i) <= left;
        if affordable {
            left -= cost(i);
        } else {
            z[i] = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_shrinks_and_zeroes() {
        let mut a = faer::mat![[3.0, -0.5], [-2.0, 0.5]];
        soft(a.as_mut(), 0.5);
        assert_eq!(a, faer::mat![[2.5, 0.0], [-1.5, 0.0]]);
    }

    #[test]
    fn hard_keeps_the_largest_and_breaks_ties_low() {
        let mut z = [1.0, -3.0, 2.0, -2.0, 0.0];
        hard(&mut z, 2, |_| 1, |_, v| v);
        assert_eq!(z, [0.0, -3.0, 2.0, 0.0, 0.0]);
        let mut z = [1.0, -3.0, 2.0];
        hard(&mut z, 9, |_| 1, |_, v| v);
        assert_eq!(z, [1.0, -3.0, 2.0]);
    }

    #[test]
    fn an_entry_that_is_too_dear_ends_the_selection() {
        let mut z = [4.0, 3.0, 2.0];
        hard(&mut z, 3, |i| [1, 3, 1][i], |_, v| v);
        assert_eq!(z, [4.0, 0.0, 0.0]);
    }
}
