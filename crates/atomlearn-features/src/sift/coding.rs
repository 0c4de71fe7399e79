//! From descriptors to weights on visual words, and from these to one vector for a picture.
//!
//! Locality-constrained linear coding (Wang et al. 2010, the fast form): with the `k` words `B` nearest to a descriptor
//! `x`, the weights solve
//!
//! ```text
//! min_w |x - B w|^2 + beta trace(C) |w|^2,   sum w = 1,   C = (B - x 1^T)^T (B - x 1^T)
//! ```
//!
//! that is `(C + beta trace(C) I) w ~ 1`. `C` comes from inner products that are there already: those of words with
//! words, and those of words with descriptors. Words are searched in single precision; weights come from double precision.

use super::descriptor::Descriptors;
use super::nearest::Nearest;
use super::{Coding, Pooling};
use atomlearn::Mat;
use atomlearn::linalg::{dot, gram};

const BETA: f64 = 1e-4;
/// Descriptors coded together: bounded memory, and one task of the matrix product.
const BLOCK: usize = 128;

/// Visual words and what coding needs of them.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    pub(crate) words: Mat<f64>,
    gram: Mat<f64>,
    search: Nearest,
}

/// How codes become one vector.
#[derive(Clone, Copy)]
pub(crate) struct Pool<'a> {
    pub(crate) coding: Coding,
    pub(crate) neighbours: usize,
    pub(crate) pooling: Pooling,
    pub(crate) levels: &'a [usize],
}

impl Words {
    pub(crate) fn new(words: Mat<f64>) -> Self {
        let gram = gram(words.as_ref());
        let search = Nearest::new(words.as_ref());
        Words { words, gram, search }
    }

    /// The pooled codes of all cells, coarse to fine, scaled to unit length.
    pub(crate) fn pool(&self, descriptors: &Descriptors, pool: Pool<'_>) -> Vec<f64> {
        let n_words = self.words.ncols();
        let cells: usize = pool.levels.iter().map(|side| side * side).sum();
        let mut vector = vec![0.0; n_words * cells];
        let mut counts = vec![0usize; cells];
        for start in (0..descriptors.centers.len()).step_by(BLOCK) {
            let count = BLOCK.min(descriptors.centers.len() - start);
            let x = descriptors.values.subcols(start, count);
            let distances = self.search.distances(x);
            for j in 0..count {
                let code = self.code(descriptors.values.col_as_slice(start + j), distances.col_as_slice(j), pool);
                for cell in cells_of(descriptors.centers[start + j], pool.levels) {
                    counts[cell] += 1;
                    for &(word, weight) in &code {
                        let slot = &mut vector[cell * n_words + word];
                        *slot = match pool.pooling {
                            Pooling::Max => f64::max(*slot, weight),
                            Pooling::Average => *slot + weight,
                        };
                    }
                }
            }
        }
        if pool.pooling == Pooling::Average {
            for (cell, count) in vector.chunks_exact_mut(n_words).zip(counts) {
                cell.iter_mut().for_each(|v| *v /= count.max(1) as f64);
            }
        }
        let length = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
        if length > 0.0 {
            vector.iter_mut().for_each(|v| *v /= length);
        }
        vector
    }

    /// Words and weights of one descriptor, which has these distances to all words.
    fn code(&self, x: &[f64], distances: &[f32], pool: Pool<'_>) -> Vec<(usize, f64)> {
        let k = if pool.coding == Coding::Hard { 1 } else { pool.neighbours.min(self.words.ncols()) };
        let near = nearest(k, distances);
        if k == 1 {
            return vec![(near[0].0, 1.0)];
        }
        let at = |i: usize| near[i].0;
        let energy = dot(x, x);
        let inner: Vec<f64> = near.iter().map(|&(word, _)| dot(self.words.col_as_slice(word), x)).collect();
        let mut c = Mat::from_fn(k, k, |i, j| self.gram[(at(i), at(j))] - inner[i] - inner[j] + energy);
        let trace: f64 = (0..k).map(|i| c[(i, i)].max(0.0)).sum();
        // Where all these words equal the descriptor, every weighting is as good.
        let ridge = (BETA * trace).max(1e-12);
        (0..k).for_each(|i| c[(i, i)] += ridge);
        let weights = solve_ones(c);
        let sum: f64 = weights.iter().sum();
        near.iter().zip(weights).map(|(&(word, _), w)| (word, w / sum)).collect()
    }
}

/// The `k` smallest values with their places, smallest first, the first of equals first.
fn nearest(k: usize, values: &[f32]) -> Vec<(usize, f32)> {
    let mut best: Vec<(usize, f32)> = Vec::with_capacity(k + 1);
    for (i, &value) in values.iter().enumerate() {
        if best.len() == k && best[k - 1].1 <= value {
            continue;
        }
        let place = best.iter().position(|&(_, held)| value < held).unwrap_or(best.len());
        best.insert(place, (i, value));
        best.truncate(k);
    }
    best
}

/// Solves `C w = 1` for a small positive definite matrix, by Cholesky's factor in place.
fn solve_ones(mut c: Mat<f64>) -> Vec<f64> {
    let k = c.nrows();
    for j in 0..k {
        for i in j..k {
            let sum: f64 = (0..j).map(|p| c[(i, p)] * c[(j, p)]).sum();
            // The ridge keeps pivots positive up to rounding, which the floor takes care of.
            c[(i, j)] = if i == j { (c[(i, j)] - sum).max(1e-14).sqrt() } else { (c[(i, j)] - sum) / c[(j, j)] };
        }
    }
    let mut w = vec![1.0; k];
    for i in 0..k {
        let sum: f64 = (0..i).map(|p| c[(i, p)] * w[p]).sum();
        w[i] = (w[i] - sum) / c[(i, i)];
    }
    for i in (0..k).rev() {
        let sum: f64 = (i + 1..k).map(|p| c[(p, i)] * w[p]).sum();
        w[i] = (w[i] - sum) / c[(i, i)];
    }
    w
}

/// The cell of every level that a point lies in; cells are counted over all levels.
fn cells_of(center: (f64, f64), levels: &[usize]) -> impl Iterator<Item = usize> {
    let mut before = 0;
    levels.iter().map(move |&side| {
        let place = |share: f64| ((share * side as f64) as usize).min(side - 1);
        let cell = before + place(center.0) * side + place(center.1);
        before += side * side;
        cell
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use atomlearn::MatRef;

    const LLC: Pool<'static> = Pool { coding: Coding::Llc, neighbours: 3, pooling: Pooling::Max, levels: &[1, 2] };

    fn words() -> Words {
        Words::new(Mat::from_fn(4, 6, |i, j| ((i * 7 + j * 5) % 11) as f64 / 11.0))
    }

    fn code(words: &Words, x: MatRef<'_, f64>, pool: Pool<'_>) -> Vec<(usize, f64)> {
        let entries: Vec<f64> = x.col(0).iter().copied().collect();
        words.code(&entries, words.search.distances(x).col_as_slice(0), pool)
    }

    #[test]
    fn weights_sum_to_one_and_are_optimal_among_them() {
        let words = words();
        let x = Mat::from_fn(4, 1, |i, _| 0.3 + 0.11 * i as f64);
        let found = code(&words, x.as_ref(), LLC);
        assert!((found.iter().map(|(_, w)| w).sum::<f64>() - 1.0).abs() < 1e-12);
        let distance = |k: usize| (words.words.subcols(k, 1) - &x).squared_norm_l2();
        let mut order: Vec<usize> = (0..6).collect();
        order.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)));
        assert_eq!(found.iter().map(|&(k, _)| k).collect::<Vec<_>>(), order[..3]);
        let trace: f64 = order[..3].iter().map(|&k| distance(k)).sum();
        let cost = |code: &[(usize, f64)]| {
            let built = code.iter().fold(Mat::zeros(4, 1), |sum, &(k, w)| sum + atomlearn_scale(w, &words, k));
            (built - &x).squared_norm_l2() + BETA * trace * code.iter().map(|(_, w)| w * w).sum::<f64>()
        };
        for (a, b) in [(0, 1), (1, 2), (2, 0)] {
            for move_by in [1e-3, -1e-3] {
                let mut other = found.clone();
                other[a].1 += move_by;
                other[b].1 -= move_by;
                assert!(cost(&other) > cost(&found));
            }
        }
        let at_word = code(&words, words.words.subcols(2, 1), LLC);
        assert!(at_word[0].0 == 2 && at_word[0].1 > 0.99, "{at_word:?}");
    }

    fn atomlearn_scale(w: f64, words: &Words, k: usize) -> Mat<f64> {
        Mat::from_fn(4, 1, |i, _| w * words.words[(i, k)])
    }

    #[test]
    fn pooling_a_known_map() {
        // Four descriptors, each one word, one in each quarter.
        let words = Words::new(Mat::<f64>::identity(4, 4));
        let descriptors =
            Descriptors { values: Mat::identity(4, 4), centers: vec![(0.2, 0.2), (0.2, 0.7), (0.9, 0.1), (1.0, 1.0)] };
        for (pooling, whole) in [(Pooling::Max, 1.0), (Pooling::Average, 0.25)] {
            let hard = Pool { coding: Coding::Hard, neighbours: 1, pooling, levels: &[1, 2] };
            let vector = words.pool(&descriptors, hard);
            assert_eq!(vector.len(), 4 * 5);
            let length = (4.0 * whole * whole + 4.0f64).sqrt();
            for word in 0..4 {
                assert!((vector[word] - whole / length).abs() < 1e-12);
                for cell in 0..4 {
                    let expected = if cell == word { 1.0 / length } else { 0.0 };
                    assert!((vector[4 + 4 * cell + word] - expected).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn equal_words_do_not_break_the_solve() {
        let words = Words::new(Mat::from_fn(4, 5, |i, _| i as f64));
        let found = code(&words, words.words.subcols(0, 1), LLC);
        assert!(found.iter().all(|(_, w)| w.is_finite()));
        assert!((found.iter().map(|(_, w)| w).sum::<f64>() - 1.0).abs() < 1e-9);
    }
}
