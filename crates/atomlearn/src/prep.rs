//! Preprocessing: a list of steps fitted on training data only and stored with the model.
//!
//! Written as a comma list, applied in order: `center`, `standard`, `pca:300`, `pca:98%`, `pca-uncentered:300`,
//! `random:540[:SEED]`, `kernel:rbf:auto[:LANDMARKS]` (see [`crate::kernel`]), `unit`, or `none`.

use crate::export::{Graph, Value};
use crate::kernel::{KernelMap, KernelSpec};
use crate::linalg::{
    ZERO_NORM, column as slice, column_major, column_norms, extreme_direction, is_safe_norm, mul, mul_into,
    normalize_columns, vectorised,
};
use crate::pca::{Pca, mean, pca};
use crate::{Error, Observer, Parts, Result};
use faer::{Mat, MatRef};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use std::fmt;
use std::str::FromStr;

mod back;
mod moments;

pub(crate) use moments::Need;

/// How many principal directions to keep.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Keep {
    Components(usize),
    Percent(f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum StepSpec {
    Center,
    Standard,
    /// Centred projection, or the basis of centred data applied to uncentred samples, as the published codes do.
    Pca {
        keep: Keep,
        centred: bool,
    },
    /// Gaussian projection with unit rows.
    Random {
        dim: usize,
        seed: u64,
    },
    Kernel(KernelSpec),
    Unit,
}

const STEPS: [&str; 7] = ["center", "standard", "pca", "pca-uncentered", "random", "kernel", "unit"];

/// What to do to the samples before a method sees them.
#[derive(Clone, Debug, PartialEq)]
pub struct PrepSpec(Vec<StepSpec>);

impl Default for PrepSpec {
    fn default() -> Self {
        PrepSpec(vec![StepSpec::Unit])
    }
}

impl FromStr for PrepSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.trim() == "none" {
            return Ok(PrepSpec(Vec::new()));
        }
        text.split(',').map(|step| step.trim().parse()).collect::<Result<_>>().map(PrepSpec)
    }
}

impl fmt::Display for PrepSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return write!(f, "none");
        }
        let steps: Vec<String> = self.0.iter().map(StepSpec::to_string).collect();
        write!(f, "{}", steps.join(","))
    }
}

impl FromStr for StepSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = |why: &str| Error::param("prep", text, why);
        let mut fields = text.split(':');
        let name = fields.next().unwrap_or_default();
        let arguments: Vec<&str> = fields.collect();
        let whole = |s: &str| s.parse::<usize>().ok().filter(|&v| v > 0);
        match (name, arguments.as_slice()) {
            ("center", []) => Ok(StepSpec::Center),
            ("standard", []) => Ok(StepSpec::Standard),
            ("unit", []) => Ok(StepSpec::Unit),
            ("pca" | "pca-uncentered", [keep]) => {
                let percent = |s: &str| s.parse::<f64>().ok().filter(|v| *v > 0.0 && *v <= 100.0);
                let keep = match keep.strip_suffix('%') {
                    Some(number) => percent(number).map(Keep::Percent),
                    None => whole(keep).map(Keep::Components),
                };
                let keep = keep.ok_or_else(|| bad("give a number of directions (pca:300) or of variance (pca:98%)"))?;
                Ok(StepSpec::Pca { keep, centred: name == "pca" })
            }
            ("random", [dim, seed @ ..]) if seed.len() <= 1 => {
                let dim = whole(dim).ok_or_else(|| bad("give the number of dimensions, as in random:540"))?;
                let seed =
                    seed.first().map_or(Ok(0), |s| s.parse()).map_err(|_| bad("the seed must be a whole number"))?;
                Ok(StepSpec::Random { dim, seed })
            }
            ("kernel", [_, ..]) => Ok(StepSpec::Kernel(arguments.join(":").parse()?)),
            ("kernel", []) => Err(bad("needs a kernel and its width, as in kernel:rbf:auto or kernel:poly:3")),
            ("pca" | "pca-uncentered" | "random", _) => {
                Err(bad("needs one number, as in pca:300, pca:98% or random:540"))
            }
            (known, _) if STEPS.contains(&known) => Err(bad("this step takes no number")),
            _ => Err(Error::unknown("preprocessing step", name, STEPS)),
        }
    }
}

impl fmt::Display for StepSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepSpec::Center => write!(f, "center"),
            StepSpec::Standard => write!(f, "standard"),
            StepSpec::Unit => write!(f, "unit"),
            StepSpec::Pca { keep, centred } => {
                write!(f, "{}", if *centred { "pca:" } else { "pca-uncentered:" })?;
                match keep {
                    Keep::Components(r) => write!(f, "{r}"),
                    Keep::Percent(p) => write!(f, "{p}%"),
                }
            }
            StepSpec::Kernel(kernel) => write!(f, "kernel:{kernel}"),
            StepSpec::Random { dim, seed: 0 } => write!(f, "random:{dim}"),
            StepSpec::Random { dim, seed } => write!(f, "random:{dim}:{seed}"),
        }
    }
}

/// A fitted step: `x -> scale * basis^T (x - shift)`, each part optional, a kernel map, or unit length.
#[derive(Clone, Debug)]
enum Fitted {
    Affine {
        shift: Option<Mat<f64>>,
        basis: Option<Mat<f64>>,
        scale: Option<Mat<f64>>,
        /// What is subtracted after the projection, `basis^T shift`: this spares a shifted copy of the raw samples.
        offset: Option<Mat<f64>>,
    },
    Kernel(KernelMap),
    Unit,
}

/// Fitted preprocessing.
#[derive(Clone, Debug)]
pub struct Prep {
    spec: PrepSpec,
    steps: Vec<Fitted>,
    n_features: usize,
}

impl PrepSpec {
    /// Fits the steps on training samples; returns them with the training samples after all steps.
    pub fn fit(&self, x: MatRef<'_, f64>, watch: &mut dyn Observer) -> Result<(Prep, Mat<f64>)> {
        let n_features = x.nrows();
        let raw_norms = column_norms(x);
        let mut buffers = Buffers { prepared: x.to_owned(), ..Buffers::new() };
        let mut steps = Vec::with_capacity(self.0.len());
        for spec in &self.0 {
            let step = spec.fit(buffers.prepared.as_ref(), watch)?;
            step.apply(None, &raw_norms, &mut buffers);
            if matches!(step, Fitted::Unit) {
                let zeros = column_norms(buffers.prepared.as_ref()).iter().filter(|&&norm| norm < 0.5).count();
                if zeros > 0 {
                    watch.warn(&format!("{zeros} training samples are zero and stay zero; they carry no information"));
                }
            }
            steps.push(step);
        }
        Ok((Prep { spec: self.clone(), steps, n_features }, buffers.prepared))
    }
}

impl StepSpec {
    fn fit(&self, x: MatRef<'_, f64>, watch: &mut dyn Observer) -> Result<Fitted> {
        Ok(match *self {
            StepSpec::Unit => Fitted::Unit,
            StepSpec::Kernel(ref kernel) => Fitted::Kernel(KernelMap::fit(kernel, x, watch)?),
            StepSpec::Center => Fitted::affine(Some(column(&mean(x))), None, None),
            StepSpec::Standard => {
                let means = mean(x);
                let deviations: Vec<f64> = (0..x.nrows()).map(|i| deviation(x, i, means[i])).collect();
                standardised(&means, &deviations, watch)
            }
            StepSpec::Pca { keep, centred } => {
                let directions = keep_directions(pca(x, keep.most(), "PCA")?, keep, watch)?;
                let shift = centred.then(|| column(&directions.mean));
                Fitted::affine(shift, Some(directions.basis), None)
            }
            StepSpec::Random { dim, seed } => random_projection(x.nrows(), dim, seed),
        })
    }
}

fn column(values: &[f64]) -> Mat<f64> {
    Mat::from_fn(values.len(), 1, |i, _| values[i])
}

/// Standard deviation of a feature. Differences are divided by the largest where their squares would overflow or vanish.
fn deviation(x: MatRef<'_, f64>, feature: usize, mean: f64) -> f64 {
    let variance = |unit: f64| {
        let square = |v: &f64| (v - mean) / unit * ((v - mean) / unit);
        x.row(feature).iter().map(square).sum::<f64>() / x.ncols() as f64
    };
    let plain = variance(1.0);
    if (1e-280..=f64::MAX).contains(&plain) {
        return plain.sqrt();
    }
    let largest = x.row(feature).iter().fold(0.0f64, |largest, v| largest.max((v - mean).abs()));
    if largest > 0.0 { largest * variance(largest).sqrt() } else { 0.0 }
}

fn standardised(means: &[f64], deviations: &[f64], watch: &mut dyn Observer) -> Fitted {
    // What differs in the last digit only differs by rounding, and would be blown up to noise.
    let scale = |(&d, &mean): (&f64, &f64)| if d > f64::EPSILON * mean.abs() { d.recip() } else { 0.0 };
    // Of the smallest numbers there are, not even the reciprocal is a number.
    let scales = deviations.iter().zip(means).map(scale).map(|s| if s.is_finite() { s } else { 0.0 });
    let scales: Vec<f64> = scales.collect();
    let constant = scales.iter().filter(|&&s| s == 0.0).count();
    if constant > 0 {
        watch.warn(&format!("{constant} features are constant to rounding; `standard` maps them to zero"));
    }
    Fitted::affine(Some(column(means)), None, Some(column(&scales)))
}

fn random_projection(n_features: usize, dim: usize, seed: u64) -> Fitted {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut basis = Mat::from_fn(n_features, dim, |_, _| StandardNormal.sample(&mut rng));
    normalize_columns(basis.as_mut());
    Fitted::affine(None, Some(basis), None)
}

impl Keep {
    /// No more directions than this are kept.
    fn most(self) -> usize {
        match self {
            Keep::Components(r) => r,
            Keep::Percent(_) => usize::MAX,
        }
    }
}

/// Cuts the directions to those that are to be kept.
fn keep_directions(mut directions: Pca, keep: Keep, watch: &mut dyn Observer) -> Result<Pca> {
    let found = directions.basis.ncols();
    match keep {
        Keep::Components(r) if found < r => {
            watch.warn(&format!("PCA: {found} instead of {r} directions, the training samples span no more"));
        }
        Keep::Percent(percent) => {
            let wanted = percent / 100.0 * directions.total_variance;
            let mut sum = 0.0;
            let mut kept = 0;
            while kept < found && sum < wanted {
                sum += directions.variances[kept];
                kept += 1;
            }
            directions.basis = directions.basis.subcols(0, kept).to_owned();
            directions.variances.truncate(kept);
        }
        Keep::Components(_) => {}
    }
    if directions.basis.ncols() == 0 {
        return Err(Error::Data("PCA: all training samples are equal, there is no direction to keep".into()));
    }
    Ok(directions)
}

/// Makes every column of `y` by `make` from its number and the column of `x`.
fn fill(y: &mut Mat<f64>, x: MatRef<'_, f64>, make: impl Fn(usize, &[f64], &mut [f64])) {
    let mut copy = None;
    let x = column_major(x, &mut copy);
    y.resize_with(x.nrows(), x.ncols(), |_, _| 0.0);
    vectorised(
        #[inline(always)]
        || {
            for j in 0..x.ncols() {
                make(j, slice(x, j), y.col_as_slice_mut(j));
            }
        },
    );
}

/// Memory for samples on their way through the steps, to be used again for the next ones: fresh memory has to be cleared
/// page by page, which takes longer than cheap steps themselves.
pub(crate) struct Buffers {
    prepared: Mat<f64>,
    next: Mat<f64>,
}

impl Buffers {
    pub(crate) fn new() -> Self {
        Buffers { prepared: Mat::new(), next: Mat::new() }
    }
}

impl Fitted {
    fn affine(shift: Option<Mat<f64>>, basis: Option<Mat<f64>>, scale: Option<Mat<f64>>) -> Self {
        let offset = match (&shift, &basis) {
            // Parts from a file may not fit together; `n_out` then refuses the step.
            (Some(shift), Some(basis)) if shift.nrows() == basis.nrows() => {
                Some(mul(basis.transpose(), shift.as_ref()))
            }
            _ => shift.clone(),
        };
        Fitted::Affine { shift, basis, scale, offset }
    }

    /// From the raw samples, or else from those prepared so far. `raw_norms` says which samples count as zero: those no longer than
    /// what rounding may leave of a raw one, whatever its scale.
    fn apply(&self, raw: Option<MatRef<'_, f64>>, raw_norms: &[f64], buffers: &mut Buffers) {
        let Buffers { prepared, next } = buffers;
        let x = raw.unwrap_or(prepared.as_ref());
        match self {
            Fitted::Unit => {
                let norms = if raw.is_some() { raw_norms.to_vec() } else { column_norms(x) };
                fill(next, x, |j, x, y| {
                    let zero = norms[j] <= ZERO_NORM * raw_norms[j].min(1.0);
                    if zero || is_safe_norm(norms[j]) {
                        let divisor = if zero { 1.0 } else { norms[j] };
                        y.iter_mut().zip(x).for_each(|(y, x)| *y = x / divisor);
                    } else {
                        extreme_direction(x, y);
                    }
                });
            }
            Fitted::Kernel(map) => *next = map.apply(x),
            Fitted::Affine { basis, scale, offset, .. } => {
                match basis {
                    Some(basis) => mul_into(next, basis.transpose(), x),
                    None => fill(next, x, |_, x, y| y.copy_from_slice(x)),
                }
                if let Some(offset) = offset {
                    next.as_mut().col_iter_mut().for_each(|mut column| column -= offset.col(0));
                }
                if let Some(scale) = scale {
                    for column in next.as_mut().col_iter_mut() {
                        column.iter_mut().zip(scale.col(0).iter()).for_each(|(v, s)| *v *= s);
                    }
                }
            }
        }
        std::mem::swap(prepared, next);
    }

    /// The step as part of an ONNX graph, samples in rows.
    fn export(&self, graph: &mut Graph, x: Value, zero_below: &Value) -> Value {
        match self {
            Fitted::Unit => {
                // Divided by their largest value first, samples of any length have a norm.
                let (over_largest, largest) = graph.over_largest(&x);
                let energy = graph.energy(&over_largest);
                let norm = graph.op("Sqrt", &[&energy]);
                let length = graph.op("Mul", &[&norm, &largest]);
                let one = graph.scalar(1.0);
                let zero = graph.op("LessOrEqual", &[&length, zero_below]);
                let divisor = graph.op("Where", &[&zero, &one, &norm]);
                let unit = graph.op("Div", &[&over_largest, &divisor]);
                graph.op("Where", &[&zero, &x, &unit])
            }
            Fitted::Kernel(map) => map.export(graph, &x),
            Fitted::Affine { shift, basis, scale, .. } => {
                let mut x = x;
                if let Some(shift) = shift {
                    let shift = graph.row(shift.col(0).iter().copied());
                    x = graph.op("Sub", &[&x, &shift]);
                }
                if let Some(basis) = basis {
                    x = graph.times(&x, basis.as_ref());
                }
                if let Some(scale) = scale {
                    let scale = graph.row(scale.col(0).iter().copied());
                    x = graph.op("Mul", &[&x, &scale]);
                }
                x
            }
        }
    }

    /// Number of features after the step, checked against those before it.
    fn n_out(&self, n_in: usize) -> Result<usize> {
        let mismatch = |what: &str, found: usize| Error::Shape {
            what: format!("{what} of a preprocessing step"),
            expected: format!("{n_in} rows"),
            found: found.to_string(),
        };
        let (shift, basis, scale) = match self {
            Fitted::Unit => return Ok(n_in),
            Fitted::Kernel(map) if map.landmarks().nrows() != n_in => {
                return Err(mismatch("landmarks", map.landmarks().nrows()));
            }
            Fitted::Kernel(map) => return Ok(map.root().ncols()),
            Fitted::Affine { shift, basis, scale, .. } => (shift, basis, scale),
        };
        for (what, part) in [("shift", shift), ("basis", basis), ("scale", scale)] {
            if let Some(part) = part.as_ref().filter(|part| part.nrows() != n_in) {
                return Err(mismatch(what, part.nrows()));
            }
        }
        Ok(basis.as_ref().map_or(n_in, Mat::ncols))
    }
}

impl Prep {
    /// No step at all.
    pub fn none(n_features: usize) -> Self {
        Prep { spec: PrepSpec(Vec::new()), steps: Vec::new(), n_features }
    }

    /// What was asked for.
    pub fn spec(&self) -> &PrepSpec {
        &self.spec
    }

    /// Number of features of a raw sample.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// True if samples are left as they are.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Takes raw samples through all steps; they must have [`Prep::n_features`] rows.
    pub fn apply(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        if self.is_empty() {
            return x.to_owned();
        }
        let mut buffers = Buffers::new();
        self.apply_in(x, &mut buffers);
        buffers.prepared
    }

    /// [`Prep::apply`] in memory at hand; there must be a step.
    pub(crate) fn apply_in<'a>(&self, x: MatRef<'_, f64>, buffers: &'a mut Buffers) -> MatRef<'a, f64> {
        let raw_norms = column_norms(x);
        for (i, step) in self.steps.iter().enumerate() {
            step.apply((i == 0).then_some(x), &raw_norms, buffers);
        }
        buffers.prepared.as_ref()
    }

    /// All steps as part of an ONNX graph.
    pub fn export(&self, graph: &mut Graph, x: Value) -> Value {
        if self.steps.is_empty() {
            return x;
        }
        let energy = graph.energy(&x);
        let norm = graph.op("Sqrt", &[&energy]);
        let (one, factor) = (graph.scalar(1.0), graph.scalar(ZERO_NORM));
        let scale = graph.op("Min", &[&norm, &one]);
        let zero_below = graph.op("Mul", &[&scale, &factor]);
        self.steps.iter().fold(x, |x, step| step.export(graph, x, &zero_below))
    }

    /// Everything fitted, by name.
    pub fn parts(&self) -> Vec<(String, MatRef<'_, f64>)> {
        let mut parts = Vec::new();
        for (i, step) in self.steps.iter().enumerate() {
            let named = match step {
                Fitted::Unit => continue,
                Fitted::Kernel(map) => {
                    [("landmarks", Some(map.landmarks())), ("root", Some(map.root())), ("gamma", Some(map.gamma()))]
                }
                Fitted::Affine { shift, basis, scale, .. } => {
                    [("shift", shift.as_ref()), ("basis", basis.as_ref()), ("scale", scale.as_ref())]
                }
            };
            for (what, part) in named {
                if let Some(part) = part {
                    parts.push((format!("prep.{i}.{what}"), part.as_ref()));
                }
            }
        }
        parts
    }

    /// Puts everything fitted in.
    pub fn store(&self, parts: &mut Parts) {
        self.parts().into_iter().for_each(|(name, part)| parts.put(name, part));
    }

    /// Rebuilds what [`Prep::store`] put in; the parts may come from a hostile file.
    pub fn restore(spec: PrepSpec, n_features: usize, parts: &mut Parts) -> Result<Self> {
        let mut steps = Vec::with_capacity(spec.0.len());
        let mut n = n_features;
        for (i, step) in spec.0.iter().enumerate() {
            let name = |what: &str| format!("prep.{i}.{what}");
            let mut column = |what: &str| parts.take_shaped(&name(what), n, 1);
            let (mut shift, mut basis, mut scale) = (None, None, None);
            match step {
                StepSpec::Unit | StepSpec::Kernel(_) => {}
                StepSpec::Center => shift = Some(column("shift")?),
                StepSpec::Standard => (shift, scale) = (Some(column("shift")?), Some(column("scale")?)),
                StepSpec::Random { .. } | StepSpec::Pca { centred: false, .. } => {
                    basis = Some(parts.take(&name("basis"))?);
                }
                StepSpec::Pca { centred: true, .. } => {
                    (shift, basis) = (Some(column("shift")?), Some(parts.take(&name("basis"))?));
                }
            }
            let fitted = match step {
                StepSpec::Unit => Fitted::Unit,
                StepSpec::Kernel(kernel) => {
                    let mut take = |what: &str| parts.take(&name(what));
                    let gamma = take("gamma")?;
                    Fitted::Kernel(KernelMap::restore(kernel, gamma, take("landmarks")?, take("root")?)?)
                }
                _ => Fitted::affine(shift, basis, scale),
            };
            n = fitted.n_out(n)?;
            if n == 0 {
                return Err(Error::Data(format!(
                    "preprocessing step {} leaves no feature; train the model again",
                    i + 1
                )));
            }
            steps.push(fitted);
        }
        Ok(Prep { spec, steps, n_features })
    }

    /// Number of features after all steps.
    pub fn n_out(&self) -> Result<usize> {
        self.steps.iter().try_fold(self.n_features, |n, step| step.n_out(n))
    }
}

#[cfg(test)]
mod tests;
