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

use super::{Gamma, Kernel, far_origin, plain_distances};
use crate::export::{Graph, Tensor};
use crate::linalg::{Spd, View, mul, norm1, rank_above, scaled_columns, select_columns, sym_eig};
use crate::pca::centered;
use crate::{Error, NameKind, Observer, Result};
use faer::{Mat, MatRef};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt;
use std::str::FromStr;

/// Better conditioned kernel matrices are factored as they are.
const WELL_CONDITIONED: f64 = 1e10;
/// Eigenvalues below this fraction of the largest are dropped.
const CUT: f64 = 1e-10;
const STAGE: &str = "kernel map";

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
            [count] => {
                let count = count.parse().ok().filter(|&count| count > 0);
                Some(count.ok_or_else(|| bad("the number of landmarks must be a whole number > 0"))?)
            }
            _ => return Err(bad("too many numbers: a kernel, its width and a number of landmarks are enough")),
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
            _ => return Err(Error::unknown(NameKind::Kernel, name, KERNELS)),
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
    pub fn fit(spec: &KernelSpec, x: impl View, watch: &mut dyn Observer) -> Result<Self> {
        let x = x.view();
        if spec.kernel == Kernel::Chi2 {
            refuse_negative(x)?;
        }
        let gamma = spec.kernel.width(spec.gamma, x);
        let landmarks = match spec.landmarks {
            Some(count) if count < x.ncols() => spread_out(x, count, 0),
            _ => x.to_owned(),
        };
        let root = inverse_root(spec.kernel.matrix(gamma, &landmarks, &landmarks), watch)?;
        Ok(KernelMap { kernel: spec.kernel, gamma: Mat::from_fn(1, 1, |_, _| gamma), landmarks, root })
    }

    /// Rebuilds a map from its parts, which may come from a hostile file.
    pub fn restore(spec: &KernelSpec, gamma: Mat<f64>, landmarks: Mat<f64>, root: Mat<f64>) -> Result<Self> {
        if gamma.shape() != (1, 1) || !(gamma[(0, 0)].is_finite() && gamma[(0, 0)] > 0.0) {
            return Err(Error::Data("the model's kernel has no width".into()));
        }
        if root.nrows() != landmarks.ncols() {
            return Err(Error::shape(
                "kernel map of the model",
                format!("{} rows, one for each landmark", landmarks.ncols()),
                root.nrows(),
            ));
        }
        Ok(KernelMap { kernel: spec.kernel, gamma, landmarks, root })
    }

    /// `phi` of every sample.
    pub fn apply(&self, x: impl View) -> Mat<f64> {
        let x = x.view();
        mul(self.root.transpose(), self.kernel.matrix(self.gamma[(0, 0)], &self.landmarks, x))
    }

    /// The map as part of an ONNX graph.
    pub fn export(&self, graph: &mut Graph, x: &Tensor) -> Tensor {
        let similar = self.kernel.export(self.gamma[(0, 0)], self.landmarks.as_ref(), graph, x);
        graph.times(&similar, &self.root)
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
pub fn spread_out(x: impl View, count: usize, seed: u64) -> Mat<f64> {
    let x = x.view();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut chosen = vec![rng.random_range(0..x.ncols())];
    let mut nearest = vec![f64::INFINITY; x.ncols()];
    let moved = far_origin(x).map(|origin| centered(x, &origin));
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
    select_columns(x, &chosen)
}

/// `W` with `W W^T = K^-1`, or its pseudo-inverse without the smallest eigenvalues.
fn inverse_root(k: Mat<f64>, watch: &mut dyn Observer) -> Result<Mat<f64>> {
    if !k.is_all_finite() {
        return Err(Error::numeric(STAGE, "kernel values overflow; scale the samples first, for example with `unit`"));
    }
    let norm = norm1(&k);
    if let Ok(factor) = Spd::new(k.clone(), STAGE)
        && factor.condition(norm) < WELL_CONDITIONED
    {
        return Ok(factor.inverse_root());
    }
    let (values, vectors) = sym_eig(&k, STAGE)?;
    let kept = rank_above(&values, CUT);
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
            let map = KernelMap::fit(&spec(text), &x, &mut ()).unwrap();
            let expected = map.kernel.matrix(map.gamma[(0, 0)], &map.landmarks, &new);
            let found = mul(map.apply(map.landmarks.as_ref()).transpose(), map.apply(new.as_ref()));
            assert!((found - expected).norm_max() < 1e-6, "{text}");
            assert_eq!(map.landmarks.ncols(), spec(text).landmarks.unwrap_or(24), "{text}");
        }
    }

    #[test]
    fn singular_kernels_are_cut_with_a_warning_and_bad_data_refused() {
        let twice = Mat::from_fn(4, 12, |i, j| ((i * 5 + (j % 6) * 7 + i * (j % 6)) % 11) as f64 / 11.0);
        let mut trace = Trace::default();
        let map = KernelMap::fit(&spec("rbf:auto"), &twice, &mut trace).unwrap();
        assert_eq!((map.root.ncols(), trace.warnings.len()), (6, 1));
        assert_eq!(KernelMap::fit(&spec("rbf:auto:11"), &twice, &mut ()).unwrap().landmarks.ncols(), 6);
        let negative = faer::Scale(-1.0) * &twice;
        let error = KernelMap::fit(&spec("chi2:auto"), &negative, &mut ()).unwrap_err().to_string();
        assert!(error.contains("histograms"), "{error}");
        let huge = faer::Scale(1e200) * &twice;
        assert!(KernelMap::fit(&spec("poly:3"), &huge, &mut ()).is_err());
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
