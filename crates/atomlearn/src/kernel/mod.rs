//! Kernels: similarities of two samples, and the feature map that they make.

mod map;

pub use map::{KernelMap, KernelSpec, spread_out};

use crate::export::{Graph, Tensor};
use crate::linalg::{View, column_energies, mul};
use crate::pca::{centered, mean};
use crate::{Error, Result};
use faer::{Mat, MatRef, Scale};
use rayon::prelude::*;
use std::fmt;
use std::str::FromStr;

/// Training samples whose distances decide what `auto` means.
const MEDIAN_SAMPLES: usize = 400;
/// Samples that decide whether all lie far from zero.
const ORIGIN_SAMPLES: usize = 32;
/// How many times larger than their spread the squared length of the mean of samples may be before it is taken away from them.
const FAR_FROM_ZERO: f64 = 1e4;
/// A similarity of two samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kernel {
    /// `exp(-gamma |x - y|^2)`.
    Rbf,
    /// `exp(-gamma |x - y|_1)`.
    Laplacian,
    /// `exp(-gamma sum_i (x_i - y_i)^2 / (x_i + y_i))` for histograms; negative values of new samples count as zero.
    Chi2,
    /// `(x . y + 1)^degree`.
    Poly(u32),
}

/// The width of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gamma {
    /// As given.
    Fixed(f64),
    /// This many times the inverse of the median distance between training samples.
    Auto(f64),
}

impl FromStr for Gamma {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = |text: &str| text.parse::<f64>().ok().filter(|v| v.is_finite() && *v > 0.0);
        let gamma = match text.strip_prefix("auto") {
            Some("") => Some(Gamma::Auto(1.0)),
            Some(multiple) => multiple.strip_prefix('*').and_then(number).map(Gamma::Auto),
            None => number(text).map(Gamma::Fixed),
        };
        gamma.ok_or_else(|| Error::param("gamma", text, "must be a number > 0, `auto`, or a multiple such as `auto*4`"))
    }
}

impl fmt::Display for Gamma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gamma::Fixed(gamma) => write!(f, "{gamma}"),
            Gamma::Auto(1.0) => write!(f, "auto"),
            Gamma::Auto(multiple) => write!(f, "auto*{multiple}"),
        }
    }
}

impl Kernel {
    /// The distance that `gamma` multiplies, between every landmark and sample; for `poly`, the inner product.
    fn distances(self, landmarks: impl View, x: impl View) -> Mat<f64> {
        let (landmarks, x) = (landmarks.view(), x.view());
        match self {
            Kernel::Poly(_) => mul(landmarks.transpose(), x),
            Kernel::Rbf => squared_distances(landmarks, x),
            Kernel::Laplacian => each_pair(landmarks, x, |a, b| (a - b).abs()),
            Kernel::Chi2 => each_pair(landmarks, x, |a, b| {
                let a = a.max(0.0);
                let b = b.max(0.0);
                if a + b > 0.0 { (a - b) * (a - b) / (a + b) } else { 0.0 }
            }),
        }
    }

    /// `k(l, x)` for every landmark (row) and sample (column).
    pub fn matrix(self, gamma: f64, landmarks: impl View, x: impl View) -> Mat<f64> {
        let landmarks = landmarks.view();
        let x = x.view();
        let mut values = self.distances(landmarks, x);
        for column in values.as_mut().col_iter_mut() {
            column.iter_mut().for_each(|v| {
                *v = match self {
                    Kernel::Poly(degree) => (*v + 1.0).powi(degree as i32),
                    _ => (-gamma * *v).exp(),
                }
            });
        }
        values
    }

    /// `gamma` as a number: `auto` is a multiple of one over the median distance of some of the samples.
    pub fn width(self, gamma: Gamma, x: impl View) -> f64 {
        let x = x.view();
        let multiple = match gamma {
            Gamma::Fixed(gamma) => return gamma,
            Gamma::Auto(multiple) => multiple,
        };
        let count = x.ncols().min(MEDIAN_SAMPLES);
        let some = Mat::from_fn(x.nrows(), count, |i, j| x[(i, j * x.ncols() / count)]);
        let distances = self.distances(&some, &some);
        let mut pairs: Vec<f64> =
            (0..count).flat_map(|j| (0..j).map(move |i| (i, j))).map(|at| distances[at]).collect();
        let middle = pairs.len() / 2;
        let median = if pairs.is_empty() { 0.0 } else { *pairs.select_nth_unstable_by(middle, f64::total_cmp).1 };
        // Samples that are mostly equal have no scale of their own; any width will do.
        if median > 0.0 && median.is_finite() { multiple / median } else { multiple }
    }

    /// [`Kernel::matrix`] as part of an ONNX graph, samples in rows.
    pub fn export(self, gamma: f64, landmarks: MatRef<'_, f64>, graph: &mut Graph, x: &Tensor) -> Tensor {
        let one = graph.scalar(1.0);
        let distances = match self {
            Kernel::Poly(degree) => {
                let inner = graph.times(x, landmarks);
                let shifted = graph.op("Add", &[&inner, &one]);
                let degree = graph.scalar(f64::from(degree));
                return graph.op("Pow", &[&shifted, &degree]);
            }
            Kernel::Rbf => {
                let mut x = x.clone();
                let mut landmarks = landmarks.to_owned();
                if let Some(origin) = far_origin(&landmarks) {
                    landmarks = centered(&landmarks, &origin);
                    let origin = graph.row(origin);
                    x = graph.op("Sub", &[&x, &origin]);
                }
                let inner = graph.times(&x, (Scale(-2.0) * &landmarks).as_ref());
                let own = graph.energy(&x);
                let norms = graph.row(landmarks.col_iter().map(|l| l.squared_norm_l2()));
                let both = graph.op("Add", &[&own, &norms]);
                let squared = graph.op("Add", &[&both, &inner]);
                graph.positive(&squared)
            }
            // Samples x features x landmarks, summed over features.
            Kernel::Laplacian | Kernel::Chi2 => {
                let last = graph.integers(&[2]);
                let middle = graph.integers(&[1]);
                let mut x = graph.op("Unsqueeze", &[x, &last]);
                let mut landmarks = graph.matrix(landmarks);
                if self == Kernel::Chi2 {
                    (x, landmarks) = (graph.positive(&x), graph.positive(&landmarks));
                }
                let difference = graph.op("Sub", &[&x, &landmarks]);
                let terms = if self == Kernel::Chi2 {
                    let squares = graph.op("Mul", &[&difference, &difference]);
                    let sums = graph.op("Add", &[&x, &landmarks]);
                    let zero = graph.scalar(0.0);
                    let divides = graph.op("Greater", &[&sums, &zero]);
                    let divisor = graph.op("Where", &[&divides, &sums, &one]);
                    graph.op("Div", &[&squares, &divisor])
                } else {
                    graph.op("Abs", &[&difference])
                };
                graph.op_with("ReduceSum", &[&terms, &middle], &[("keepdims", 0)])
            }
        };
        let minus_gamma = graph.scalar(-gamma);
        let exponent = graph.op("Mul", &[&distances, &minus_gamma]);
        graph.op("Exp", &[&exponent])
    }
}

/// `|l - x|^2`, never negative.
pub fn squared_distances(landmarks: impl View, x: impl View) -> Mat<f64> {
    let landmarks = landmarks.view();
    let x = x.view();
    match far_origin(landmarks) {
        Some(origin) => plain_distances(centered(landmarks, &origin), centered(x, &origin)),
        None => plain_distances(landmarks, x),
    }
}

/// From where to look at samples that lie so far from zero, for the distances between them, that squared norms would swallow these.
fn far_origin(landmarks: impl View) -> Option<Vec<f64>> {
    let landmarks = landmarks.view();
    // Some of them tell: looking at all would take as long as the distances of one sample.
    let count = landmarks.ncols().min(ORIGIN_SAMPLES);
    let some = Mat::from_fn(landmarks.nrows(), count, |i, j| landmarks[(i, j * landmarks.ncols() / count)]);
    let origin = mean(&some);
    let size: f64 = origin.iter().map(|v| v * v).sum();
    let spread = centered(&some, &origin).squared_norm_l2() / count.max(1) as f64;
    (count > 1 && size.is_finite() && size > FAR_FROM_ZERO * spread).then_some(origin)
}

/// `|l|^2 + |x|^2 - 2 l . x`.
fn plain_distances(landmarks: impl View, x: impl View) -> Mat<f64> {
    let (landmarks, x) = (landmarks.view(), x.view());
    let norms: Vec<f64> = column_energies(landmarks);
    let mut distances = mul(landmarks.transpose(), x);
    for (column, x) in distances.as_mut().col_iter_mut().zip(x.col_iter()) {
        let own = x.squared_norm_l2();
        column.iter_mut().zip(&norms).for_each(|(v, norm)| *v = (norm + own - 2.0 * *v).max(0.0));
    }
    distances
}

fn each_pair(landmarks: MatRef<'_, f64>, x: MatRef<'_, f64>, term: impl Fn(f64, f64) -> f64 + Sync) -> Mat<f64> {
    let mut sums = Mat::zeros(landmarks.ncols(), x.ncols());
    sums.as_mut().par_col_iter_mut().enumerate().with_min_len(8).for_each(|(j, column)| {
        let x = x.col(j);
        for (sum, l) in column.iter_mut().zip(landmarks.col_iter()) {
            *sum = l.iter().zip(x.iter()).map(|(&a, &b)| term(a, b)).sum();
        }
    });
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth;

    #[test]
    fn kernels_equal_their_definitions() {
        let (a, b) = (faer::mat![[1.0], [2.0]], faer::mat![[0.0], [4.0]]);
        let value = |kernel: Kernel| kernel.matrix(0.5, &a, &b)[(0, 0)];
        assert!((value(Kernel::Rbf) - (-2.5f64).exp()).abs() < 1e-14);
        assert!((value(Kernel::Laplacian) - (-1.5f64).exp()).abs() < 1e-14);
        assert!((value(Kernel::Chi2) - (-0.5 * (1.0 + 4.0 / 6.0f64)).exp()).abs() < 1e-14);
        assert_eq!(value(Kernel::Poly(3)), 729.0);
    }

    #[test]
    fn distances_do_not_depend_on_where_zero_is() {
        // Whole numbers, so that an offset costs no digit.
        let x = Mat::from_fn(5, 20, |i, j| ((i * 13 + j * 7 + i * j) % 17) as f64);
        let expected = squared_distances(&x, &x);
        for offset in [1e3, 1e6, 1e8] {
            let moved = Mat::from_fn(5, 20, |i, j| x[(i, j)] + offset);
            assert!((squared_distances(moved.as_ref(), moved.as_ref()) - &expected).norm_max() < 1e-6, "{offset:e}");
        }
    }

    #[test]
    fn auto_follows_the_scale_of_the_data() {
        let x = synth::blobs(3, 8, 6, 1);
        let scaled = faer::Scale(10.0) * x.x();
        let gamma = |x: MatRef<'_, f64>| Kernel::Rbf.width(Gamma::Auto(1.0), x);
        assert!((gamma(x.x()) / gamma(scaled.as_ref()) - 100.0).abs() < 1e-9);
        assert!((Kernel::Rbf.width(Gamma::Auto(3.0), x.x()) / gamma(x.x()) - 3.0).abs() < 1e-12);
        assert!(gamma(Mat::zeros(3, 5).as_ref()).is_finite());
    }
}
