//! One feature map that turns every method into its kernel form.
//!
//! With landmarks `l_1 .. l_L` and a kernel `k`, a sample becomes
//!
//! ```text
//! phi(x) = W^T (k(l_1, x), ..., k(l_L, x)),     W W^T = K_LL^-1
//! ```
//!
//! so that `phi(x) . phi(l) = k(x, l)` for every landmark `l`. All training samples as landmarks give the exact kernel
//! method; fewer give the Nystroem approximation. `W` is the inverse transposed Cholesky factor of `K_LL` or, where that
//! is singular to rounding, its leading eigenvectors over the square roots of their eigenvalues. Any other root, such as
//! `K_LL^(-1/2)`, differs by a rotation only.

use crate::export::{Graph, Value};
use crate::linalg::{Spd, mul, norm1, scaled_columns, sym_eig};
use crate::pca::{centred, mean};
use crate::{Error, Observer, Result};
use faer::{Mat, MatRef, Scale};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::fmt;
use std::str::FromStr;

/// Better conditioned kernel matrices are factored as they are.
const WELL_CONDITIONED: f64 = 1e10;
/// Eigenvalues below this fraction of the largest are cut from all others.
const CUT: f64 = 1e-10;
/// Training samples whose distances decide what `auto` means.
const MEDIAN_SAMPLES: usize = 400;
/// Samples that decide whether all lie far from zero.
const ORIGIN_SAMPLES: usize = 32;
/// How many times larger than their spread the squared length of the mean of samples may be before it is taken away from them.
const FAR_FROM_ZERO: f64 = 1e4;
const STAGE: &str = "kernel map";

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

/// What kind of map is wanted: `rbf:GAMMA[:LANDMARKS]`, `laplacian:...`, `chi2:...` or `poly:DEGREE[:LANDMARKS]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelSpec {
    /// The kernel.
    pub kernel: Kernel,
    /// Its width, if it has one.
    pub gamma: Gamma,
    /// Number of landmarks; `None` takes all training samples.
    pub landmarks: Option<usize>,
}

const KERNELS: [&str; 4] = ["rbf", "laplacian", "chi2", "poly"];

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

impl FromStr for KernelSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = |why: &str| Error::param("kernel", text, why);
        let fields: Vec<&str> = text.split(':').collect();
        let [name, width, landmarks @ ..] = fields.as_slice() else {
            return Err(bad("give a kernel and its width, as in rbf:auto, rbf:0.5:200 or poly:3"));
        };
        let landmarks = match landmarks {
            [] => None,
            [count] => Some(count.parse::<usize>().ok().filter(|&count| count > 0)),
            _ => return Err(bad("too many numbers: a kernel, its width and a number of landmarks are enough")),
        };
        let landmarks = match landmarks {
            Some(None) => return Err(bad("the number of landmarks must be a whole number > 0")),
            Some(count) => count,
            None => None,
        };
        let (kernel, gamma) = match *name {
            "rbf" => (Kernel::Rbf, width.parse()?),
            "laplacian" => (Kernel::Laplacian, width.parse()?),
            "chi2" => (Kernel::Chi2, width.parse()?),
            "poly" => {
                let degree = width.parse::<u32>().ok().filter(|degree| (1..=20).contains(degree));
                (
                    Kernel::Poly(degree.ok_or_else(|| bad("the degree must be a whole number from 1 to 20"))?),
                    Gamma::Fixed(1.0),
                )
            }
            _ => return Err(Error::unknown("kernel", name, KERNELS)),
        };
        Ok(KernelSpec { kernel, gamma, landmarks })
    }
}

impl fmt::Display for KernelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kernel {
            Kernel::Rbf => write!(f, "rbf:{}", self.gamma)?,
            Kernel::Laplacian => write!(f, "laplacian:{}", self.gamma)?,
            Kernel::Chi2 => write!(f, "chi2:{}", self.gamma)?,
            Kernel::Poly(degree) => write!(f, "poly:{degree}")?,
        }
        self.landmarks.map_or(Ok(()), |count| write!(f, ":{count}"))
    }
}

impl Kernel {
    /// The distance that `gamma` multiplies, between every landmark and sample; for `poly`, the inner product.
    fn distances(self, landmarks: MatRef<'_, f64>, x: MatRef<'_, f64>) -> Mat<f64> {
        match self {
            Kernel::Poly(_) => mul(landmarks.transpose(), x),
            Kernel::Rbf => squared_distances(landmarks, x),
            Kernel::Laplacian => each_pair(landmarks, x, |a, b| (a - b).abs()),
            Kernel::Chi2 => each_pair(landmarks, x, |a, b| {
                let (a, b) = (a.max(0.0), b.max(0.0));
                if a + b > 0.0 { (a - b) * (a - b) / (a + b) } else { 0.0 }
            }),
        }
    }

    /// `k(l, x)` for every landmark (row) and sample (column).
    pub fn matrix(self, gamma: f64, landmarks: MatRef<'_, f64>, x: MatRef<'_, f64>) -> Mat<f64> {
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
    pub fn width(self, gamma: Gamma, x: MatRef<'_, f64>) -> f64 {
        let multiple = match gamma {
            Gamma::Fixed(gamma) => return gamma,
            Gamma::Auto(multiple) => multiple,
        };
        let count = x.ncols().min(MEDIAN_SAMPLES);
        let some = Mat::from_fn(x.nrows(), count, |i, j| x[(i, j * x.ncols() / count)]);
        let distances = self.distances(some.as_ref(), some.as_ref());
        let mut pairs: Vec<f64> =
            (0..count).flat_map(|j| (0..j).map(move |i| (i, j))).map(|at| distances[at]).collect();
        let middle = pairs.len() / 2;
        let median = if pairs.is_empty() { 0.0 } else { *pairs.select_nth_unstable_by(middle, f64::total_cmp).1 };
        // Samples that are mostly equal have no scale of their own; any width will do.
        if median > 0.0 && median.is_finite() { multiple / median } else { multiple }
    }
}

impl Kernel {
    /// [`Kernel::matrix`] as part of an ONNX graph, samples in rows.
    pub fn export(self, gamma: f64, landmarks: MatRef<'_, f64>, graph: &mut Graph, x: &Value) -> Value {
        let one = graph.scalar(1.0);
        let distances = match self {
            Kernel::Poly(degree) => {
                let inner = graph.times(x, landmarks);
                let (shifted, degree) = (graph.op("Add", &[&inner, &one]), graph.scalar(f64::from(degree)));
                return graph.op("Pow", &[&shifted, &degree]);
            }
            Kernel::Rbf => {
                let (mut x, mut landmarks) = (x.clone(), landmarks.to_owned());
                if let Some(origin) = far_origin(landmarks.as_ref()) {
                    landmarks = centred(landmarks.as_ref(), &origin);
                    let origin = graph.row(origin);
                    x = graph.op("Sub", &[&x, &origin]);
                }
                let inner = graph.times(&x, (Scale(-2.0) * &landmarks).as_ref());
                let (own, norms) = (graph.energy(&x), graph.row(landmarks.col_iter().map(|l| l.squared_norm_l2())));
                let both = graph.op("Add", &[&own, &norms]);
                let squared = graph.op("Add", &[&both, &inner]);
                graph.positive(&squared)
            }
            // Samples x features x landmarks, summed over features.
            Kernel::Laplacian | Kernel::Chi2 => {
                let (last, middle) = (graph.integers(&[2]), graph.integers(&[1]));
                let (mut x, mut landmarks) = (graph.op("Unsqueeze", &[x, &last]), graph.matrix(landmarks));
                if self == Kernel::Chi2 {
                    (x, landmarks) = (graph.positive(&x), graph.positive(&landmarks));
                }
                let difference = graph.op("Sub", &[&x, &landmarks]);
                let terms = if self == Kernel::Chi2 {
                    let (squares, sums) =
                        (graph.op("Mul", &[&difference, &difference]), graph.op("Add", &[&x, &landmarks]));
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
pub fn squared_distances(landmarks: MatRef<'_, f64>, x: MatRef<'_, f64>) -> Mat<f64> {
    match far_origin(landmarks) {
        Some(origin) => plain_distances(centred(landmarks, &origin).as_ref(), centred(x, &origin).as_ref()),
        None => plain_distances(landmarks, x),
    }
}

/// From where to look at samples that lie so far from zero, for the distances between them, that squared norms would swallow these.
fn far_origin(landmarks: MatRef<'_, f64>) -> Option<Vec<f64>> {
    // Some of them tell: looking at all would take as long as the distances of one sample.
    let count = landmarks.ncols().min(ORIGIN_SAMPLES);
    let some = Mat::from_fn(landmarks.nrows(), count, |i, j| landmarks[(i, j * landmarks.ncols() / count)]);
    let origin = mean(some.as_ref());
    let size: f64 = origin.iter().map(|v| v * v).sum();
    let spread = centred(some.as_ref(), &origin).squared_norm_l2() / count.max(1) as f64;
    (count > 1 && size.is_finite() && size > FAR_FROM_ZERO * spread).then_some(origin)
}

/// `|l|^2 + |x|^2 - 2 l . x`.
fn plain_distances(landmarks: MatRef<'_, f64>, x: MatRef<'_, f64>) -> Mat<f64> {
    let norms: Vec<f64> = landmarks.col_iter().map(|l| l.squared_norm_l2()).collect();
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

/// A fitted map.
#[derive(Clone, Debug)]
pub struct KernelMap {
    kernel: Kernel,
    /// A 1 x 1 matrix, so that it can be a part of a model.
    gamma: Mat<f64>,
    landmarks: Mat<f64>,
    /// `W`, landmarks x dimensions.
    root: Mat<f64>,
}

impl KernelMap {
    /// Chooses landmarks among the samples and factors their kernel matrix.
    pub fn fit(spec: &KernelSpec, x: MatRef<'_, f64>, watch: &mut dyn Observer) -> Result<Self> {
        if spec.kernel == Kernel::Chi2 {
            refuse_negative(x)?;
        }
        let gamma = spec.kernel.width(spec.gamma, x);
        let landmarks = match spec.landmarks {
            Some(count) if count < x.ncols() => spread_out(x, count, 0),
            _ => x.to_owned(),
        };
        let root = inverse_root(spec.kernel.matrix(gamma, landmarks.as_ref(), landmarks.as_ref()), watch)?;
        Ok(KernelMap { kernel: spec.kernel, gamma: Mat::from_fn(1, 1, |_, _| gamma), landmarks, root })
    }

    /// Rebuilds a map from its parts, which may come from a hostile file.
    pub fn restore(spec: &KernelSpec, gamma: Mat<f64>, landmarks: Mat<f64>, root: Mat<f64>) -> Result<Self> {
        if gamma.shape() != (1, 1) || !(gamma[(0, 0)].is_finite() && gamma[(0, 0)] > 0.0) {
            return Err(Error::Data("the model's kernel has no width".into()));
        }
        if root.nrows() != landmarks.ncols() {
            return Err(Error::Shape {
                what: "kernel map of the model".into(),
                expected: format!("{} rows, one for each landmark", landmarks.ncols()),
                found: root.nrows().to_string(),
            });
        }
        Ok(KernelMap { kernel: spec.kernel, gamma, landmarks, root })
    }

    /// `phi` of every sample.
    pub fn apply(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        mul(self.root.transpose(), self.kernel.matrix(self.gamma[(0, 0)], self.landmarks.as_ref(), x).as_ref())
    }

    /// The map as part of an ONNX graph.
    pub fn export(&self, graph: &mut Graph, x: &Value) -> Value {
        let similar = self.kernel.export(self.gamma[(0, 0)], self.landmarks.as_ref(), graph, x);
        graph.times(&similar, self.root.as_ref())
    }

    /// The kernel.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Its width, 1 x 1.
    pub fn gamma(&self) -> &Mat<f64> {
        &self.gamma
    }

    /// Landmarks, features x landmarks.
    pub fn landmarks(&self) -> &Mat<f64> {
        &self.landmarks
    }

    /// `W`, landmarks x dimensions.
    pub fn root(&self) -> &Mat<f64> {
        &self.root
    }
}

fn refuse_negative(x: MatRef<'_, f64>) -> Result<()> {
    for (j, column) in x.col_iter().enumerate() {
        if let Some(i) = column.iter().position(|&v| v < 0.0) {
            return Err(Error::Data(format!(
                "kernel:chi2 is for histograms, but feature {i} of training sample {j} (counted from 0) is {}; \
                 use kernel:rbf, or leave out steps such as center and pca before it",
                column[i]
            )));
        }
    }
    Ok(())
}

/// `count` samples far from one another, drawn as k-means++ draws its starting points.
pub fn spread_out(x: MatRef<'_, f64>, count: usize, seed: u64) -> Mat<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut chosen = vec![rng.random_range(0..x.ncols())];
    let mut nearest = vec![f64::INFINITY; x.ncols()];
    let moved = far_origin(x).map(|origin| centred(x, &origin));
    let seen = moved.as_ref().map_or(x, Mat::as_ref);
    while chosen.len() < count {
        let last = chosen[chosen.len() - 1];
        let distances = plain_distances(seen.subcols(last, 1), seen);
        nearest.iter_mut().zip(distances.row(0).iter()).for_each(|(held, &new)| *held = held.min(new));
        let mut left = rng.random::<f64>() * nearest.iter().sum::<f64>();
        let drawn = nearest.iter().position(|&weight| {
            left -= weight;
            left < 0.0
        });
        // Nothing is drawn when every sample equals a landmark.
        let Some(drawn) = drawn else { break };
        chosen.push(drawn);
    }
    chosen.sort_unstable();
    crate::linalg::select_columns(x, &chosen)
}

/// `W` with `W W^T = K^-1`, or its pseudo-inverse without the smallest eigenvalues.
fn inverse_root(k: Mat<f64>, watch: &mut dyn Observer) -> Result<Mat<f64>> {
    if !k.is_all_finite() {
        return Err(Error::numeric(STAGE, "kernel values overflow; scale the samples first, for example with `unit`"));
    }
    let norm = norm1(k.as_ref());
    if let Ok(factor) = Spd::new(k.clone(), STAGE)
        && factor.condition(norm) < WELL_CONDITIONED
    {
        return Ok(factor.inverse_root());
    }
    let (values, vectors) = sym_eig(k.as_ref(), STAGE)?;
    let kept = values.iter().take_while(|&&v| v > CUT * values[0] && v > 0.0).count();
    if kept == 0 {
        return Err(Error::numeric(STAGE, "the kernel matrix is zero"));
    }
    if kept < values.len() {
        watch.warn(&format!(
            "{STAGE}: {kept} of {} directions kept, the others have eigenvalues below {CUT:.0e} of the largest",
            values.len()
        ));
    }
    Ok(scaled_columns(vectors.subcols(0, kept), |j| values[j].sqrt().recip()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Trace;
    use crate::synth;

    fn spec(text: &str) -> KernelSpec {
        text.parse().unwrap()
    }

    #[test]
    fn inners_with_landmarks_are_kernel_values() {
        let (x, new) = (synth::blobs(3, 8, 6, 1), synth::blobs(3, 5, 6, 2));
        let positive = |m: MatRef<'_, f64>| Mat::from_fn(m.nrows(), m.ncols(), |i, j| m[(i, j)].abs());
        let (x, new) = (positive(x.x()), positive(new.x()));
        for text in ["rbf:auto", "rbf:0.5:10", "laplacian:auto*2", "chi2:auto", "poly:3", "poly:2:12"] {
            let map = KernelMap::fit(&spec(text), x.as_ref(), &mut ()).unwrap();
            let expected = map.kernel.matrix(map.gamma[(0, 0)], map.landmarks.as_ref(), new.as_ref());
            let found = mul(map.apply(map.landmarks.as_ref()).transpose(), map.apply(new.as_ref()).as_ref());
            assert!((found - expected).norm_max() < 1e-6, "{text}");
            assert_eq!(map.landmarks.ncols(), spec(text).landmarks.unwrap_or(24), "{text}");
        }
    }

    #[test]
    fn kernels_equal_their_definitions() {
        let (a, b) = (faer::mat![[1.0], [2.0]], faer::mat![[0.0], [4.0]]);
        let value = |kernel: Kernel| kernel.matrix(0.5, a.as_ref(), b.as_ref())[(0, 0)];
        assert!((value(Kernel::Rbf) - (-2.5f64).exp()).abs() < 1e-14);
        assert!((value(Kernel::Laplacian) - (-1.5f64).exp()).abs() < 1e-14);
        assert!((value(Kernel::Chi2) - (-0.5 * (1.0 + 4.0 / 6.0f64)).exp()).abs() < 1e-14);
        assert_eq!(value(Kernel::Poly(3)), 729.0);
    }

    #[test]
    fn distances_do_not_depend_on_where_zero_is() {
        // Whole numbers, so that an offset costs no digit.
        let x = Mat::from_fn(5, 20, |i, j| ((i * 13 + j * 7 + i * j) % 17) as f64);
        let expected = squared_distances(x.as_ref(), x.as_ref());
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

    #[test]
    fn singular_kernels_are_cut_aloud_and_bad_data_refused() {
        let twice = Mat::from_fn(4, 12, |i, j| ((i * 5 + (j % 6) * 7 + i * (j % 6)) % 11) as f64 / 11.0);
        let mut trace = Trace::default();
        let map = KernelMap::fit(&spec("rbf:auto"), twice.as_ref(), &mut trace).unwrap();
        assert_eq!((map.root.ncols(), trace.warnings.len()), (6, 1));
        assert_eq!(KernelMap::fit(&spec("rbf:auto:11"), twice.as_ref(), &mut ()).unwrap().landmarks.ncols(), 6);
        let negative = faer::Scale(-1.0) * &twice;
        let error = KernelMap::fit(&spec("chi2:auto"), negative.as_ref(), &mut ()).unwrap_err().to_string();
        assert!(error.contains("histograms"), "{error}");
        let huge = faer::Scale(1e200) * &twice;
        assert!(KernelMap::fit(&spec("poly:3"), huge.as_ref(), &mut ()).is_err());
    }

    #[test]
    fn specs_survive_a_round_trip_and_errors_say_what_to_do() {
        for text in ["rbf:auto", "rbf:0.25:100", "laplacian:auto*4", "chi2:1", "poly:3:50"] {
            assert_eq!(spec(text).to_string(), text);
        }
        let message = |text: &str| text.parse::<KernelSpec>().unwrap_err().to_string();
        assert_eq!(message("rfb:auto"), "unknown kernel `rfb` (did you mean `rbf`?)");
        for bad in ["rbf", "rbf:0", "rbf:auto:0", "poly:0", "poly:x", "rbf:1:2:3", "rbf:auto*-1", ""] {
            assert!(bad.parse::<KernelSpec>().is_err(), "{bad}");
        }
    }
}
