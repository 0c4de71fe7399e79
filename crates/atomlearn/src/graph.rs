//! The graph of nearest atoms and its Laplacian.

use crate::linalg::{View, column, diagonal, gram, mul, wide};
use crate::params::words;
use faer::Mat;
use rayon::prelude::*;

words! {
    /// How distance becomes weight.
    #[derive(Default)]
    pub enum Affinity {
        /// `exp(-d^2 / (2 t^2))`: the published code.
        #[default]
        Squared = "squared",
        /// `exp(-d / t)`: as printed in the paper.
        Unsquared = "unsquared",
    }
}

/// An undirected graph: every atom is joined to its `k` nearest others (an edge if either chose the other).
///
/// ```
/// use atomlearn::Mat;
/// use atomlearn::graph::{Affinity, AtomGraph};
///
/// let atoms = Mat::from_fn(1, 4, |_, j| [0.0, 1.0, 5.0, 6.0][j]);
/// let graph = AtomGraph::new(&atoms, 1, Affinity::Squared);
/// assert_eq!(graph.components(), 2); // {0, 1} and {5, 6}
/// let laplacian = graph.laplacian();
/// assert!((0..4).all(|i| laplacian.row(i).iter().sum::<f64>().abs() < 1e-15));
/// ```
#[derive(Clone, Debug)]
pub struct AtomGraph {
    n_atoms: usize,
    /// Edges `(i, j, weight)` with `i < j`, each once.
    pub edges: Vec<(usize, usize, f64)>,
    /// Mean distance over all pairs, the zero diagonal included.
    pub bandwidth: f64,
}

impl AtomGraph {
    /// The graph of the columns of `d`; `k` is cut to the number of other atoms.
    pub fn new(d: impl View, k: usize, affinity: Affinity) -> Self {
        let d = d.view();
        Self::from_gram(gram(d).as_ref(), k, affinity)
    }

    /// The same from `d^T d`.
    pub fn from_gram(gram: impl View, k: usize, affinity: Affinity) -> Self {
        let gram = gram.view();
        let n_atoms = gram.nrows();
        let k = k.min(n_atoms.saturating_sub(1));
        let norms = diagonal(gram);
        let scan = |squared: &mut Vec<f64>, j: usize| {
            let inner = gram.col(j);
            squared.clear();
            squared.extend(inner.iter());
            let sum = wide!({
                for (v, norm) in squared.iter_mut().zip(&norms) {
                    *v = (norm + norms[j] - 2.0 * *v).max(0.0);
                }
                sum_of_roots(squared)
            });
            let mut nearest: Vec<(f64, usize)> = Vec::with_capacity(k + 1);
            let mut farthest = f64::INFINITY;
            for (i, &distance) in squared.iter().enumerate() {
                if distance < farthest && i != j {
                    let at = nearest.partition_point(|&(held, _)| held <= distance);
                    nearest.insert(at, (distance, i));
                    nearest.truncate(k);
                    if nearest.len() == k {
                        farthest = nearest[k - 1].0;
                    }
                }
            }
            (sum, nearest)
        };
        let scans: Vec<_> = (0..n_atoms).into_par_iter().with_min_len(32).map_init(Vec::new, scan).collect();
        let pairs = (n_atoms * n_atoms).max(1) as f64;
        let bandwidth = scans.iter().map(|(sum, _)| sum).sum::<f64>() / pairs;
        let weight = |squared: f64| match affinity {
            // All atoms equal: every distance is zero and so is the bandwidth; the limit of the weight is 1.
            _ if bandwidth == 0.0 => 1.0,
            Affinity::Squared => (-squared / (2.0 * bandwidth * bandwidth)).exp(),
            Affinity::Unsquared => (-squared.sqrt() / bandwidth).exp(),
        };
        let mut edges: Vec<(usize, usize, f64)> = scans
            .iter()
            .enumerate()
            .flat_map(|(j, (_, nearest))| nearest.iter().map(move |&(squared, i)| (i.min(j), i.max(j), squared)))
            .map(|(i, j, squared)| (i, j, weight(squared)))
            .collect();
        edges.sort_by_key(|&(i, j, _)| (i, j));
        edges.dedup_by_key(|&mut (i, j, _)| (i, j));
        AtomGraph { n_atoms, edges, bandwidth }
    }

    /// `L = T - M` as a dense matrix.
    pub fn laplacian(&self) -> Mat<f64> {
        self.laplacian_from(0)
    }

    /// The rows and columns of `L` from `first` on.
    pub fn laplacian_from(&self, first: usize) -> Mat<f64> {
        let mut corner = Mat::zeros(self.n_atoms - first, self.n_atoms - first);
        for &(i, j, weight) in self.edges.iter().filter(|&&(_, j, _)| j >= first) {
            corner[(j - first, j - first)] += weight;
            if i >= first {
                corner[(i - first, i - first)] += weight;
                corner[(i - first, j - first)] -= weight;
                corner[(j - first, i - first)] -= weight;
            }
        }
        corner
    }

    /// `target += scale * L`.
    pub fn add_laplacian(&self, scale: f64, target: &mut Mat<f64>) {
        for &(i, j, weight) in &self.edges {
            let w = scale * weight;
            target[(i, i)] += w;
            target[(j, j)] += w;
            target[(i, j)] -= w;
            target[(j, i)] -= w;
        }
    }

    /// The largest sum of the weights at one atom; twice that bounds every norm of `L`.
    pub fn largest_degree(&self) -> f64 {
        let mut degrees = vec![0.0; self.n_atoms];
        self.edges.iter().for_each(|&(i, j, weight)| {
            degrees[i] += weight;
            degrees[j] += weight;
        });
        degrees.into_iter().fold(0.0, f64::max)
    }

    /// `L a`.
    pub fn times(&self, a: impl View) -> Mat<f64> {
        let a = a.view();
        let mut product = Mat::zeros(a.nrows(), a.ncols());
        self.add_product(a, &mut product);
        product
    }

    /// `target += L a`.
    pub fn add_product(&self, a: impl View, target: &mut Mat<f64>) {
        let a = a.view();
        for c in 0..a.ncols() {
            let from = column(a, c);
            let to = target.col_as_slice_mut(c);
            for &(i, j, weight) in &self.edges {
                let difference = weight * (from[i] - from[j]);
                to[i] += difference;
                to[j] -= difference;
            }
        }
    }

    /// `tr(Z^T L Z)` for codes with `Z Z^T = q c q^T`: the sum of `w (q_i - q_j)^T c (q_i - q_j)` over the edges, where `q_i`
    /// is row `i` of `q`.
    pub fn energy(&self, q: impl View, c: impl View) -> f64 {
        let q = q.view();
        let c = c.view();
        let rows = q.transpose().to_owned();
        let weighted = mul(c, &rows);
        let along = |&(i, j, weight): &(usize, usize, f64)| {
            let ends = |a| (rows.col_as_slice(a), weighted.col_as_slice(a));
            let ((qi, ci), (qj, cj)) = (ends(i), ends(j));
            let mut sums = [0.0; 4];
            for k in 0..qi.len() {
                sums[k % 4] += (qi[k] - qj[k]) * (ci[k] - cj[k]);
            }
            weight * sums.iter().sum::<f64>().max(0.0)
        };
        self.edges.iter().map(along).sum()
    }

    /// Number of connected components: the dimension of the Laplacian's kernel.
    pub fn components(&self) -> usize {
        let mut parent: Vec<usize> = (0..self.n_atoms).collect();
        fn root(parent: &mut [usize], mut i: usize) -> usize {
            while parent[i] != i {
                parent[i] = parent[parent[i]];
                i = parent[i];
            }
            i
        }
        let mut components = self.n_atoms;
        for &(i, j, _) in &self.edges {
            let a = root(&mut parent, i);
            let b = root(&mut parent, j);
            if a != b {
                parent[a] = b;
                components -= 1;
            }
        }
        components
    }
}

/// Sum of square roots, eight at a time so that it vectorises.
#[inline(always)]
fn sum_of_roots(values: &[f64]) -> f64 {
    let (eights, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for eight in eights {
        for l in 0..8 {
            sums[l] += eight[l].sqrt();
        }
    }
    sums.iter().sum::<f64>() + rest.iter().map(|v| v.sqrt()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{mul, qr, select_columns, sym_eig};
    use faer::mat;

    /// No two pairs at the same distance: ties would be decided by rounding.
    fn atoms() -> Mat<f64> {
        Mat::from_fn(5, 20, |i, j| {
            ((i * 17 + j * 29 + i * j) % 31) as f64 / 31.0 + 0.01 * ((7 * i + 3 * j) as f64).sin()
        })
    }

    /// Worked by hand.
    #[test]
    fn hand_checked_graph() {
        let d = mat![[1.0, 0.8, 0.0, -0.6], [0.0, 0.6, 1.0, 0.8]];
        let graph = AtomGraph::new(&d, 1, Affinity::Squared);
        assert!((graph.bandwidth - 0.8470774702266611).abs() < 1e-12);
        let w = 0.7567441873;
        let expected = mat![[w, -w, 0.0, 0.0], [-w, w, 0.0, 0.0], [0.0, 0.0, w, -w], [0.0, 0.0, -w, w]];
        assert!((graph.laplacian() - expected).norm_max() < 1e-9);
        assert_eq!(graph.components(), 2);
    }

    #[test]
    fn energy_is_the_trace_form() {
        let graph = AtomGraph::new(atoms(), 3, Affinity::Squared);
        let (q, y) = (Mat::from_fn(20, 4, |i, k| ((i * 7 + k * 5) % 11) as f64 / 11.0 - 0.4), atoms());
        let y = y.subrows(0, 4);
        let z = mul(&q, y);
        let l = graph.laplacian();
        let expected: f64 = z.col_iter().map(|z| z.transpose() * &l * z).sum();
        let found = graph.energy(q.as_ref(), mul(y, y.transpose()).as_ref());
        assert!((found - expected).abs() < 1e-12 * expected, "{found} {expected}");
    }

    #[test]
    fn laplacian_is_symmetric_positive_with_constants_in_its_kernel() {
        for (k, affinity) in [(1, Affinity::Squared), (3, Affinity::Unsquared), (99, Affinity::Squared)] {
            let graph = AtomGraph::new(atoms(), k, affinity);
            let l = graph.laplacian();
            assert_eq!(l, l.transpose().to_owned());
            assert!(mul(&l, Mat::from_fn(20, 1, |_, _| 1.0)).norm_max() < 1e-13);
            let (values, _) = sym_eig(&l, "t").unwrap();
            assert!(values[19] > -1e-13);
            assert_eq!(values.iter().filter(|v| v.abs() < 1e-12).count(), graph.components());
            assert!((0..20).all(|j| (0..20).filter(|&i| i != j && l[(i, j)] != 0.0).count() >= k.min(19)));
        }
    }

    #[test]
    fn rotations_change_nothing_and_permutations_permute() {
        let d = atoms();
        let l = AtomGraph::new(&d, 2, Affinity::Squared).laplacian();
        let (q, _) = qr(Mat::from_fn(5, 5, |i, j| ((i * 3 + j * j * 5 + 1) % 7) as f64 + f64::from(u8::from(i == j))));
        let rotated = AtomGraph::new(mul(&q, &d), 2, Affinity::Squared).laplacian();
        assert!((&l - rotated).norm_max() < 1e-12);
        let order: Vec<usize> = (0..20).map(|i| (i * 7 + 3) % 20).collect();
        let permuted = AtomGraph::new(select_columns(&d, &order), 2, Affinity::Squared).laplacian();
        for i in 0..20 {
            for j in 0..20 {
                assert!((permuted[(i, j)] - l[(order[i], order[j])]).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn equal_and_single_atoms_are_fine() {
        let same = AtomGraph::new(Mat::from_fn(3, 4, |i, _| i as f64), 1, Affinity::Squared);
        assert!(same.edges.iter().all(|&(_, _, w)| w.is_finite()));
        assert!(AtomGraph::new(Mat::from_fn(3, 1, |i, _| i as f64), 5, Affinity::Squared).edges.is_empty());
    }
}
