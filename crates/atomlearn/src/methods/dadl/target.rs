//! The code that every sample of a class should have: one-hot copies, then a Walsh code.

use faer::Mat;

/// Target codes of all classes.
///
/// Each one-hot entry is meant to be repeated `copies` times. Equal rows stay equal through the whole method, so each
/// is kept once and scaled by `sqrt(copies)`: all inner products and distances are those of the repeated rows.
pub(super) struct Targets {
    /// One unit column per class, rows x classes.
    pub codes: Mat<f64>,
    /// How often each one-hot row counts.
    pub copies: usize,
    /// Non-zeros of a target code, copies counted: `T0`.
    pub nonzeros: usize,
}

impl Targets {
    /// For `n_classes` classes in `dim` dimensions; counted with copies, the codes are longer than `dim`.
    pub fn new(n_classes: usize, dim: usize) -> Self {
        let mut bits = ((dim + 1) / 3).max(1).ilog2();
        while (1usize << bits) - 1 < n_classes {
            bits += 1;
        }
        let length = 1usize << bits;
        let copies = (dim + 2).saturating_sub(length).div_ceil(n_classes).max(1);
        let nonzeros = copies + length / 2 - 1;
        let unit = (nonzeros as f64).sqrt().recip();
        let codes = Mat::from_fn(n_classes + length - 1, n_classes, |r, c| match r.checked_sub(n_classes) {
            None if r == c => unit * (copies as f64).sqrt(),
            Some(column) if walsh(c + 1, column + 1, bits) => unit,
            _ => 0.0,
        });
        Targets { codes, copies, nonzeros }
    }
}

/// Whether entry `column` of the Walsh function with `changes` sign changes is positive; length `2^bits`.
fn walsh(changes: usize, column: usize, bits: u32) -> bool {
    if bits == 0 {
        return true;
    }
    // The Sylvester-Hadamard row of a given number of sign changes is its bit-reversed Gray code.
    let row = (changes ^ (changes >> 1)).reverse_bits() >> (usize::BITS - bits);
    (row & column).count_ones().is_multiple_of(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::column_norms;

    #[test]
    fn walsh_rows_are_orthogonal_and_sorted_by_sign_changes() {
        let entry = |r, c| if walsh(r, c, 4) { 1i32 } else { -1 };
        for a in 0..16 {
            assert_eq!((1..16).filter(|&c| entry(a, c) != entry(a, c - 1)).count(), a);
            for b in 0..16 {
                let inner: i32 = (0..16).map(|c| entry(a, c) * entry(b, c)).sum();
                assert_eq!(inner, if a == b { 16 } else { 0 });
            }
        }
    }

    #[test]
    fn targets_are_unit_distinct_and_as_sparse_as_promised() {
        for (n_classes, dim) in [(38, 300), (10, 64), (2, 1), (3, 2), (15, 3000), (102, 3000), (7, 5)] {
            let targets = Targets::new(n_classes, dim);
            let rows = targets.codes.nrows();
            let copies = |r: usize| if r < n_classes { targets.copies } else { 1 };
            assert!((0..rows).map(copies).sum::<usize>() > dim);
            assert!(column_norms(&targets.codes).iter().all(|n| (n - 1.0).abs() < 1e-12));
            for c in 0..n_classes {
                let used: usize = (0..rows).filter(|&r| targets.codes[(r, c)] != 0.0).map(copies).sum();
                assert_eq!(used, targets.nonzeros);
            }
        }
        // As published for 38 classes: 2^8 > 301 / 3, so 63 Walsh entries, and copies to pass 300.
        let eyaleb = Targets::new(38, 300);
        assert_eq!((eyaleb.codes.nrows(), eyaleb.copies), (38 + 63, 7));
    }
}
