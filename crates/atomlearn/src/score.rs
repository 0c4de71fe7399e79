//! From codes to class residuals, without forming one reconstruction per class.

use crate::coding::ridge::ridge_map;
use crate::export::{Graph, Tensor};
use crate::linalg::{View, column, column_energies, column_major, dot, gram, mul, mul_into, wide};
use crate::{Blocks, Result};
use faer::{ColRef, Mat, MatMut, MatRef, Scale};
use rayon::prelude::*;

/// Samples whose codes are in the cache together.
const TILE: usize = 128;

/// Squared class residuals `|x - D_c z_c|^2` through the Gram blocks `D_c^T D_c`.
#[derive(Clone, Debug)]
pub struct ClassResiduals {
    blocks: Blocks,
    grams: Vec<Mat<f64>>,
}

/// What [`ClassResiduals::of`] finds for every class (rows) and sample (columns).
pub struct Residuals {
    /// `|x - D_c z_c|^2`, never negative.
    pub squared: Mat<f64>,
    /// `|z_c|^2`.
    pub code_energy: Mat<f64>,
}

impl ClassResiduals {
    /// For a dictionary whose columns are grouped by class.
    pub fn new(dictionary: impl View, blocks: &Blocks) -> Self {
        let dictionary = dictionary.view();
        let grams = blocks.ranges().map(|r| gram(dictionary.subcols(r.start, r.len()))).collect();
        ClassResiduals { blocks: blocks.clone(), grams }
    }

    /// The same for atoms that are known by their inner products alone, `K = D^T D`, such as values of a kernel.
    pub fn from_gram(gram: impl View, blocks: &Blocks) -> Self {
        let gram = gram.view();
        let block = |r: std::ops::Range<usize>| gram.submatrix(r.start, r.start, r.len(), r.len()).to_owned();
        ClassResiduals { blocks: blocks.clone(), grams: blocks.ranges().map(block).collect() }
    }

    /// Atoms of each class.
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// `D_c^T D_c` of each class.
    pub fn grams(&self) -> &[Mat<f64>] {
        &self.grams
    }

    /// Residuals from the samples, their codes and the correlations `D^T x`.
    pub fn of(&self, x: impl View, codes: impl View, correlations: impl View) -> Residuals {
        let x = x.view();
        let codes = codes.view();
        let correlations = correlations.view();
        let energy: Vec<f64> = column_energies(x);
        self.of_products(&energy, codes, correlations)
    }

    /// Residuals from `|x|^2`, codes and correlations.
    pub fn of_products(&self, energy: &[f64], codes: impl View, correlations: impl View) -> Residuals {
        let codes = codes.view();
        let correlations = correlations.view();
        let mut code_copy = None;
        let mut correlation_copy = None;
        let codes = column_major(codes, &mut code_copy);
        let correlations = column_major(correlations, &mut correlation_copy);
        let n_classes = self.blocks.len();
        let n = energy.len();
        let mut squared = Mat::zeros(n_classes, n);
        let mut code_energy = Mat::zeros(n_classes, n);
        let mut gz = Mat::new();
        for (c, range) in self.blocks.ranges().enumerate() {
            let z = codes.subrows(range.start, range.len());
            let b = correlations.subrows(range.start, range.len());
            mul_into(&mut gz, &self.grams[c], z);
            wide!({
                for i in 0..n {
                    let z = column(z, i);
                    let b = column(b, i);
                    let gz = gz.col_as_slice(i);
                    squared[(c, i)] = (energy[i] - 2.0 * dot(z, b) + dot(z, gz)).max(0.0);
                    code_energy[(c, i)] = dot(z, z);
                }
            });
        }
        Residuals { squared, code_energy }
    }
}

/// Linear codes and their class residuals, ready for many samples: the decision of CRC, of DPL and of LCDL-SV's residual
/// rule.
///
/// `|x - D_c z_c|^2 = |x|^2 + z_c . v_c` with `v_c = D_c^T D_c z_c - 2 D_c^T x`, and `v` is a linear map of `x` like `z`.
#[derive(Clone, Debug)]
pub struct RidgeResiduals {
    blocks: Blocks,
    /// `[P; V]` with `z = P x` and `v = V x`, so that one product serves both.
    stacked: Mat<f64>,
}

impl RidgeResiduals {
    /// For a dictionary whose columns are grouped by class, with codes `(D^T D + kappa I)^-1 D^T x`.
    pub fn new(dictionary: impl View, blocks: &Blocks, kappa: f64, stage: &str) -> Result<Self> {
        let dictionary = dictionary.view();
        Ok(Self::with_map(dictionary, blocks, ridge_map(dictionary, kappa, stage)?.as_ref()))
    }

    /// The same with codes `P x` for any `P`, atoms x features.
    pub fn with_map(dictionary: impl View, blocks: &Blocks, map: impl View) -> Self {
        let dictionary = dictionary.view();
        let map = map.view();
        let (m, n_atoms) = dictionary.shape();
        let mut stacked = Mat::zeros(2 * n_atoms, m);
        for range in blocks.ranges() {
            let own = dictionary.subcols(range.start, range.len());
            let mut v = mul(gram(own), map.subrows(range.start, range.len()));
            v -= Scale(2.0) * own.transpose();
            stacked.subrows_mut(n_atoms + range.start, range.len()).copy_from(v);
        }
        stacked.subrows_mut(0, n_atoms).copy_from(map);
        RidgeResiduals { blocks: blocks.clone(), stacked }
    }

    /// Atoms of each class.
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// The code map `P`, atoms x features.
    pub fn map(&self) -> MatRef<'_, f64> {
        self.stacked.subrows(0, self.blocks.total())
    }

    /// Class residuals of the samples.
    pub fn of(&self, x: impl View) -> Residuals {
        let x = x.view();
        let mut squared = Mat::zeros(self.blocks.len(), x.ncols());
        let mut code_energy = Mat::zeros(self.blocks.len(), x.ncols());
        let tiles = squared.par_col_chunks_mut(TILE).zip(code_energy.par_col_chunks_mut(TILE)).enumerate();
        tiles.for_each_init(Mat::new, |both, (t, (squared, code_energy))| {
            let x = x.subcols(t * TILE, squared.ncols());
            // Samples in rows: sums over atoms then go along whole columns.
            mul_into(both, x.transpose(), self.stacked.transpose());
            wide!(self.tile(x, both.as_ref(), squared, code_energy));
        });
        Residuals { squared, code_energy }
    }

    /// The residuals of a few samples from `[z; v]^T`.
    #[inline(always)]
    fn tile(
        &self,
        x: MatRef<'_, f64>,
        both: MatRef<'_, f64>,
        mut squared: MatMut<'_, f64>,
        mut code_energy: MatMut<'_, f64>,
    ) {
        let n = x.ncols();
        let n_atoms = self.blocks.total();
        let energy: Vec<f64> = column_energies(x);
        for (c, range) in self.blocks.ranges().enumerate() {
            let mut change = [0.0; TILE];
            let mut own = [0.0; TILE];
            for k in range {
                let z = &column(both, k)[..n];
                let v = &column(both, n_atoms + k)[..n];
                for i in 0..n {
                    change[i] += z[i] * v[i];
                    own[i] += z[i] * z[i];
                }
            }
            for i in 0..n {
                squared[(c, i)] = (energy[i] + change[i]).max(0.0);
                code_energy[(c, i)] = own[i];
            }
        }
    }
}

/// [`Residuals`] inside an ONNX graph, samples in rows.
pub struct ExportedResiduals {
    /// Codes, samples x atoms.
    pub codes: Tensor,
    /// `|x - D_c z_c|^2`, samples x classes.
    pub squared: Tensor,
    /// `|z_c|^2`, samples x classes.
    pub code_energy: Tensor,
}

impl RidgeResiduals {
    /// What [`RidgeResiduals::of`] finds, as part of a graph.
    pub fn export(&self, graph: &mut Graph, x: &Tensor) -> ExportedResiduals {
        let n_atoms = self.blocks.total();
        let codes = graph.times(x, self.map().transpose());
        let partners = graph.times(x, self.stacked.subrows(n_atoms, n_atoms).transpose());
        let products = graph.op("Mul", &[&codes, &partners]);
        let changes = graph.block_sums(&products, &self.blocks);
        let energy = graph.energy(x);
        let squared = graph.op("Add", &[&energy, &changes]);
        let squared = graph.positive(&squared);
        let squares = graph.op("Mul", &[&codes, &codes]);
        let code_energy = graph.block_sums(&squares, &self.blocks);
        ExportedResiduals { codes, squared, code_energy }
    }
}

impl ExportedResiduals {
    /// What [`Residuals::regularized`] computes.
    pub fn regularized(&self, graph: &mut Graph) -> Tensor {
        let zero = graph.scalar(0.0);
        let one = graph.scalar(1.0);
        let infinity = graph.scalar(f64::INFINITY);
        let used = graph.op("Greater", &[&self.code_energy, &zero]);
        let divisor = graph.op("Where", &[&used, &self.code_energy, &one]);
        let ratio = graph.op("Div", &[&self.squared, &divisor]);
        let ratio = graph.op("Sqrt", &[&ratio]);
        let axes = graph.integers(&[1]);
        let total = graph.op_with("ReduceSum", &[&self.code_energy, &axes], &[("keepdims", 1)]);
        let any = graph.op("Greater", &[&total, &zero]);
        let unused = graph.op("Not", &[&used]);
        let empty = graph.op("And", &[&unused, &any]);
        graph.op("Where", &[&empty, &infinity, &ratio])
    }
}

impl Residuals {
    /// `|x - D_c z_c| / |z_c|`; a class without any code gets infinity.
    ///
    /// If every class of a sample has an empty code, the plain residuals stand, so that a decision is still possible.
    pub fn regularized(&self) -> Mat<f64> {
        Mat::from_fn(self.squared.nrows(), self.squared.ncols(), |c, i| {
            let squared = self.squared[(c, i)];
            let energy = self.code_energy[(c, i)];
            if energy > 0.0 {
                (squared / energy).sqrt()
            } else if self.code_energy.col(i).norm_max() == 0.0 {
                squared.sqrt()
            } else {
                f64::INFINITY
            }
        })
    }
}

/// A zero code leaves all residuals alike; then minus that after the best single atom of unit length is the score of a
/// class, for sample `i` with energy `|x|^2` and correlations `D^T x`.
pub(crate) fn score_by_best_atom(
    scores: &mut Mat<f64>,
    i: usize,
    blocks: &Blocks,
    energy: f64,
    correlations: ColRef<'_, f64>,
) {
    for (c, range) in blocks.ranges().enumerate().filter(|(_, range)| !range.is_empty()) {
        let best = range.map(|k| correlations[k].abs()).fold(0.0, f64::max);
        scores[(c, i)] = best * best - energy;
    }
}

/// Sparsity concentration of every code, `(C max_c |z_c|_1 / |z|_1 - 1) / (C - 1)`: 1 if a single class is used, 0 if all
/// are used alike or the code is zero. A low value says that a sample belongs to no class.
pub fn sci(codes: impl View, blocks: &Blocks) -> Vec<f64> {
    let codes = codes.view();
    let n_classes = blocks.len() as f64;
    let concentration = |i: usize| {
        let of_class = |r: std::ops::Range<usize>| r.map(|k| codes[(k, i)].abs()).sum::<f64>();
        let (all, most) =
            blocks.ranges().map(of_class).fold((0.0, 0.0f64), |(all, most), norm| (all + norm, most.max(norm)));
        if all > 0.0 && n_classes > 1.0 { ((n_classes * most / all - 1.0) / (n_classes - 1.0)).max(0.0) } else { 0.0 }
    };
    (0..codes.ncols()).map(concentration).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gram_form_equals_the_definition() {
        let d = Mat::from_fn(6, 7, |i, j| ((i * 5 + j * 3) % 11) as f64 / 11.0 - 0.3);
        let x = Mat::from_fn(6, 4, |i, j| ((i * 7 + j) % 5) as f64 / 5.0);
        let z = Mat::from_fn(7, 4, |i, j| if i < 3 && j == 3 { 0.0 } else { ((i + 2 * j) % 7) as f64 / 7.0 - 0.4 });
        let blocks = Blocks::from_sizes([3, 4]);
        let found = ClassResiduals::new(&d, &blocks).of(x.as_ref(), z.as_ref(), mul(d.transpose(), &x).as_ref());
        for (c, range) in blocks.ranges().enumerate() {
            let part = mul(d.subcols(range.start, range.len()), z.subrows(range.start, range.len()));
            for i in 0..4 {
                let expected = (x.col(i) - part.col(i)).squared_norm_l2();
                assert!((found.squared[(c, i)] - expected).abs() < 1e-12);
            }
        }
        let rows = |a: &Mat<f64>| a.transpose().to_owned();
        let (zt, bt) = (rows(&z), rows(&mul(d.transpose(), &x)));
        let again = ClassResiduals::new(&d, &blocks).of(x.as_ref(), zt.transpose(), bt.transpose());
        assert_eq!(again.squared, found.squared);
        assert_eq!(found.regularized()[(0, 3)], f64::INFINITY);
    }

    #[test]
    fn ridge_residuals_equal_the_definition() {
        let d = Mat::from_fn(6, 7, |i, j| ((i * 5 + j * 3) % 11) as f64 / 11.0 - 0.3);
        // More samples than a tile.
        let n = TILE + 3;
        let x = Mat::from_fn(6, n, |i, j| ((i * 7 + j) % 5) as f64 / 5.0);
        let blocks = Blocks::from_sizes([3, 0, 4]);
        let residuals = RidgeResiduals::new(&d, &blocks, 0.1, "t").unwrap();
        let (z, found) = (mul(residuals.map(), &x), residuals.of(x.as_ref()));
        assert!((mul(ridge_map(d.as_ref(), 0.1, "t").unwrap(), &x) - &z).norm_max() < 1e-14);
        for (c, range) in blocks.ranges().enumerate() {
            let part = mul(d.subcols(range.start, range.len()), z.subrows(range.start, range.len()));
            for i in 0..n {
                assert!((found.squared[(c, i)] - (x.col(i) - part.col(i)).squared_norm_l2()).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn concentration_is_one_for_one_class_and_zero_for_all_alike() {
        let z = faer::mat![[1.0, 0.5, 0.0, 2.0], [-1.0, 0.5, 0.0, 0.0], [0.0, -1.0, 0.0, 1.0]];
        let found = sci(&z, &Blocks::from_sizes([2, 1]));
        assert_eq!(found[..3], [1.0, 0.0, 0.0]);
        assert!((found[3] - 1.0 / 3.0).abs() < 1e-15);
    }
}
