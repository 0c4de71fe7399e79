//! Loops over vectors for per-sample work, compiled, within [`wide!`], for the widest vector instructions the processor has.
//!
//! Sums and products are never fused and their order is written out, so results do not depend on the vector width.
//! Long loops are written as `for`: the closure of a `for_each` may end up as a function of its own, without wide vectors.

use super::View;
use faer::traits::pulp::Arch;
use faer::{Mat, MatRef};

/// Numbers compared side by side.
const LANES: usize = 16;

/// Runs an expression with everything inlined into it compiled for the widest vector instructions of this processor.
///
/// One version of it is made per instruction set. It must be a closure that is always inlined, else a long one that is called from
/// several places is compiled for the oldest processor; the macro writes that closure, so nothing can be forgotten.
#[macro_export]
macro_rules! wide {
    ($work:expr) => {
        $crate::vectorized(
            #[inline(always)]
            || $work,
        )
    };
}

/// Runs `work`, which must be written `#[inline(always)] || ..`, compiled for the widest vector instructions; here, [`wide!`] writes it.
pub fn vectorized<R>(work: impl FnOnce() -> R) -> R {
    Arch::new().dispatch(work)
}

/// Inner product of two vectors, eight sums at a time so that it vectorises.
#[inline(always)]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0f64; 8];
    let a8 = a.chunks_exact(8);
    let b8 = b.chunks_exact(8);
    let rest: f64 = a8.remainder().iter().zip(b8.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a8.zip(b8) {
        for l in 0..8 {
            sums[l] += x[l] * y[l];
        }
    }
    rest + sums.iter().sum::<f64>()
}

/// `y += a x`.
#[inline(always)]
pub fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// `y += sum_j w_j column_j`, four columns at a time to spare passes over `y`.
#[inline(always)]
pub fn add_columns<'a>(w: &[f64], column: impl Fn(usize) -> &'a [f64], y: &mut [f64]) {
    let n = y.len();
    let fours = w.len() / 4 * 4;
    for j in (0..fours).step_by(4) {
        let a = &column(j)[..n];
        let b = &column(j + 1)[..n];
        let c = &column(j + 2)[..n];
        let d = &column(j + 3)[..n];
        for i in 0..n {
            y[i] += (w[j] * a[i] + w[j + 1] * b[i]) + (w[j + 2] * c[i] + w[j + 3] * d[i]);
        }
    }
    for (j, &weight) in w.iter().enumerate().skip(fours) {
        axpy(weight, &column(j)[..n], y);
    }
}

/// `e^x` to about one unit in the last place, written so that a loop over it vectorises. Results stay normal numbers: what
/// would underflow is 3e-308, NaN too.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    /// Added and subtracted again, this rounds to a whole number, which stands in the last bits in between.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    /// `ln 2` in two parts, the first of which has zeros at its end: its product with a small whole number is exact.
    const LN2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];
    /// Taylor's series from its 13th power down: `|r| <= ln 2 / 2`, so that the first term left out is below 1e-17.
    const TAYLOR: [f64; 14] = [
        1.0 / 6_227_020_800.0,
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ];
    // Not `clamp`: NaN becomes the lower end, as said above, and what follows stays finite.
    #[allow(clippy::manual_clamp)]
    let x = x.max(-708.0).min(709.0);
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let power = shifted - ROUND;
    let r = (x - power * LN2[0]) - power * LN2[1];
    let mut sum = TAYLOR[0];
    for coefficient in &TAYLOR[1..] {
        sum = sum * r + coefficient;
    }
    f64::from_bits(sum.to_bits().wrapping_add(shifted.to_bits() << 52))
}

/// Position of the largest value, eight at a time so that it vectorises; the first of equals, 0 if all are NaN.
#[inline(always)]
pub fn argmax(values: &[f64]) -> usize {
    let larger = |held: f64, new: f64| if new > held { new } else { held };
    let mut tops = [f64::NEG_INFINITY; 8];
    let eights = values.chunks_exact(8);
    let rest = eights.remainder().iter().fold(f64::NEG_INFINITY, |top, &v| larger(top, v));
    for eight in eights {
        for l in 0..8 {
            tops[l] = larger(tops[l], eight[l]);
        }
    }
    let top = tops.into_iter().fold(rest, larger);
    values.iter().position(|&v| v == top).unwrap_or(0)
}

/// [`argmax`] of every column.
pub fn argmax_columns(values: impl View) -> Vec<usize> {
    let mut copy = None;
    let values = column_major(values.view(), &mut copy);
    let mut best = Vec::with_capacity(values.ncols());
    wide!({
        for j in 0..values.ncols() {
            best.push(argmax(column(values, j)));
        }
    });
    best
}

/// The first entry, by columns, that is NaN or infinite. A column is looked at as a whole, which is much faster than value by value.
pub fn first_not_finite(x: impl View) -> Option<(usize, usize)> {
    let x = x.view();
    let j = wide!((0..x.ncols()).find(
        #[inline(always)]
        |&j| match x.col(j).try_as_col_major() {
            Some(column) => !all_finite(column.as_slice()),
            None => x.col(j).iter().any(|v| !v.is_finite()),
        }
    ))?;
    let i = x.col(j).iter().position(|v| !v.is_finite())?;
    Some((i, j))
}

/// `0 v` is zero for finite numbers only; eight sums at a time so that it vectorises.
#[inline(always)]
fn all_finite(values: &[f64]) -> bool {
    let mut sums = [0.0f64; 8];
    let eights = values.chunks_exact(8);
    let rest = eights.remainder().iter().all(|v| v.is_finite());
    for eight in eights {
        for l in 0..8 {
            sums[l] += 0.0 * eight[l];
        }
    }
    rest && sums == [0.0; 8]
}

/// Position of the entry of largest magnitude, the first of equals; 0 if there is none.
#[inline(always)]
pub fn largest(x: &[f64]) -> usize {
    let top = largest_magnitude(x);
    let part = x.chunks(LANES).position(
        #[inline(always)]
        |part| any_at_least(part, top),
    );
    let start = part.map_or(0, |part| part * LANES);
    x[start..].iter().position(|v| v.abs() == top).map_or(0, |at| start + at)
}

/// Whether some `|x_i|` is at least `limit`.
#[inline(always)]
pub fn any_at_least(x: &[f64], limit: f64) -> bool {
    let mut found = false;
    for v in x {
        found |= v.abs() >= limit;
    }
    found
}

/// `max_i |x_i|`, in lanes of their own so that no maximum waits for the one before; 0 if there is none.
#[inline(always)]
pub fn largest_magnitude(x: &[f64]) -> f64 {
    let (whole, rest) = x.as_chunks::<LANES>();
    let mut tops = [0.0f64; LANES];
    for part in whole {
        for l in 0..LANES {
            tops[l] = higher(tops[l], part[l]);
        }
    }
    let mut top = 0.0;
    for v in rest.iter().chain(&tops) {
        top = higher(top, *v);
    }
    top
}

/// The larger of `top` and `|v|`; `top` if `v` is not a number.
#[inline(always)]
fn higher(top: f64, v: f64) -> f64 {
    if v.abs() > top { v.abs() } else { top }
}

/// A column of a column-major matrix as a slice.
#[inline]
pub fn column<'a>(a: MatRef<'a, f64>, j: usize) -> &'a [f64] {
    match a.col(j).try_as_col_major() {
        Some(column) => column.as_slice(),
        None => unreachable!("callers pass matrices made column-major by `column_major`"),
    }
}

/// `a` itself if its columns are contiguous, else a copy kept in `store`.
pub fn column_major<'a>(a: MatRef<'a, f64>, store: &'a mut Option<Mat<f64>>) -> MatRef<'a, f64> {
    if a.row_stride() == 1 { a } else { store.insert(a.to_owned()).as_ref() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_right_to_rounding() {
        for i in -70_700..70_900 {
            let x = f64::from(i) / 100.0;
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-15, "{x}");
        }
        assert_eq!((exp(0.0), exp(-1e300) < 1e-300, exp(f64::NAN) < 1e-300), (1.0, true, true));
    }

    #[test]
    fn dot_equals_its_definition() {
        let a: Vec<f64> = (0..21).map(|i| i as f64).collect();
        assert_eq!(dot(&a, &a), (0..21).map(|i| (i * i) as f64).sum::<f64>());
    }

    #[test]
    fn what_is_not_finite_is_found_wherever_it_is() {
        let x = Mat::from_fn(21, 5, |i, j| (i * j) as f64);
        assert_eq!(first_not_finite(&x), None);
        for (i, bad) in [(0, f64::NAN), (7, f64::INFINITY), (20, f64::NEG_INFINITY)] {
            let mut broken = x.clone();
            broken[(i, 3)] = bad;
            assert_eq!((first_not_finite(&broken), first_not_finite(broken.transpose())), (Some((i, 3)), Some((3, i))));
        }
    }

    #[test]
    fn loops_equal_their_definitions() {
        let p = Mat::from_fn(13, 7, |i, j| ((i * 5 + j * 3) % 11) as f64 - 4.0);
        let w: Vec<f64> = (0..7).map(|j| j as f64 - 2.5).collect();
        let mut y = vec![1.0; 13];
        wide!(add_columns(&w, |j| p.col_as_slice(j), &mut y));
        for i in 0..13 {
            let expected = 1.0 + (0..7).map(|j| p[(i, j)] * w[j]).sum::<f64>();
            assert!((y[i] - expected).abs() < 1e-12);
        }
        assert_eq!((largest(&[1.0, -3.0, 3.0]), largest(&[]), largest(&[0.0, 0.0])), (1, 0, 0));
        for n in [1, 15, 16, 17, 50] {
            let x: Vec<f64> =
                (0..n).map(|i| if i % 16 == n % 16 { f64::NAN } else { ((i * 7) % 13) as f64 - 6.0 }).collect();
            let top = x.iter().fold(0.0f64, |top, v| top.max(v.abs()));
            assert_eq!(largest_magnitude(&x), top);
            assert_eq!(largest(&x), x.iter().position(|v| v.abs() == top).unwrap_or(0));
        }
        let mut store = None;
        let transposed = column_major(p.transpose(), &mut store);
        assert_eq!(column(transposed, 3), (0..7).map(|j| p[(3, j)]).collect::<Vec<_>>());
    }
}
