//! From a new sample to normalised scores: view, kernel values, readings.

use super::candidates::{Choice, Space, gaussian};
use super::fusion;
use super::stored::{CodeForm, Learned, PrimalKernel};
use super::views::View;
use crate::export::{Graph, Tensor};
use crate::kernel::{Kernel, KernelMap};
use crate::linalg::{Spd, column_energies, concat_columns, mul, scaled_columns, wide};
use crate::loo::{PrimalCoder, Reading, Sums, residual_scores};
use crate::score::{ClassResiduals, RidgeResiduals};
use crate::svm::Svm;
use crate::{Blocks, Error, Result};
use faer::{Mat, MatRef};
use rayon::prelude::*;
use std::sync::Arc;

/// Everything that is read from samples in one view.
pub(super) struct ViewReadings {
    view: View,
    /// Training samples in the view, if a reading needs kernel values to them, with their squared norms.
    samples: Option<(Mat<f64>, Vec<f64>)>,
    /// Roots of the weights of these samples, which kernel values are multiplied by.
    roots: Option<Vec<f64>>,
    /// Readings of the same input together: it is computed once.
    readings: Vec<Group>,
}

/// Readings that read the same.
struct Group {
    input: Input,
    readings: Vec<Prepared>,
    /// The weights of its linear rules side by side: one product for all of them.
    linear: Mat<f64>,
}

/// Samples that are brought before the rules together: their kernel values stay in the cache.
const PORTION: usize = 128;

/// A reading that is ready for new samples.
struct Prepared {
    /// Its number among the chosen ones.
    place: usize,
    scale: f64,
    weight: f64,
    rule: ReadingRule,
}

/// What a rule is applied to.
enum Input {
    /// The sample in its view.
    Features,
    /// Inner products with the training samples.
    Products,
    /// Gaussian kernel values with the training samples.
    Gaussian(f64),
    /// Nystroem's map of the sample.
    Mapped(Arc<KernelMap>),
}

impl Input {
    /// The width of a Gaussian kernel, 0 for others.
    fn gamma(&self) -> f64 {
        if let Input::Gaussian(gamma) = self { *gamma } else { 0.0 }
    }

    fn is_same(&self, other: &Input) -> bool {
        match (self, other) {
            (Input::Features, Input::Features) | (Input::Products, Input::Products) => true,
            (Input::Gaussian(a), Input::Gaussian(b)) => a == b,
            (Input::Mapped(a), Input::Mapped(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// Readings by what they read; Gaussian kernels come from wide to narrow.
fn grouped(readings: Vec<(Input, Prepared)>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (input, reading) in readings {
        match groups.iter_mut().find(|group| group.input.is_same(&input)) {
            Some(group) => group.readings.push(reading),
            None => groups.push(Group { input, readings: vec![reading], linear: Mat::new() }),
        }
    }
    groups.sort_by(|a, b| a.input.gamma().total_cmp(&b.input.gamma()));
    for group in &mut groups {
        let weights: Vec<Mat<f64>> = group.readings.iter().filter_map(Prepared::weights).cloned().collect();
        group.linear = concat_columns(&weights);
    }
    groups
}

enum ReadingRule {
    Linear(Svm),
    /// `A` and the kernel blocks of the classes.
    Residual(Mat<f64>, ClassResiduals),
    /// The same for the linear kernel, on features.
    FeatureResidual(RidgeResiduals),
    PrimalResidual(PrimalCoder),
}

/// One stage for every view in use.
pub(super) fn stages(learned: &Learned) -> Result<Vec<ViewReadings>> {
    let of_view = |view: &View| {
        let chosen = learned.chosen.iter().enumerate().filter(|(_, choice)| choice.view == view.kind);
        match &learned.form {
            CodeForm::Dual { samples, blocks, roots } => {
                dual_stage(view, Space::new(view.apply(samples)), blocks, roots.as_deref(), chosen)
            }
            CodeForm::Primal { kernels } => primal_stage(view, kernels, chosen),
        }
    };
    learned.views.iter().map(of_view).collect()
}

fn dual_stage<'a>(
    view: &View,
    space: Space,
    blocks: &Blocks,
    roots: Option<&[f64]>,
    chosen: impl Iterator<Item = (usize, &'a Choice)>,
) -> Result<ViewReadings> {
    let scaled = roots.map(|roots| scaled_columns(&space.samples, |i| roots[i]));
    let scaled = scaled.as_ref().unwrap_or(&space.samples);
    let prepared = |(place, choice): (usize, &Choice)| {
        let (m, n) = space.samples.shape();
        if choice.gamma == 0.0 && choice.reading == Reading::Residual && m < n {
            // Codes of fewer features than samples are a smaller map.
            let residuals = RidgeResiduals::new(scaled, blocks, choice.kappa, "auto")?;
            return Ok((Input::Features, Prepared::new(place, choice, ReadingRule::FeatureResidual(residuals))));
        }
        let mut store = Mat::new();
        let kernel = space.kernel(choice.gamma, roots, &mut store);
        let factor = Spd::shifted(kernel, choice.kappa, "auto")?;
        let input = if choice.gamma > 0.0 { Input::Gaussian(choice.gamma) } else { Input::Products };
        let (input, rule) = if choice.reading == Reading::Residual {
            (input, ReadingRule::Residual(factor.into_inverse(), ClassResiduals::from_gram(kernel, blocks)))
        } else {
            let sums = Sums::of_classes(&factor, blocks, roots, choice.kappa);
            let basis = sums.sums.transpose();
            let folded = mul(scaled, basis);
            // A rule on linear kernel values is a rule on features.
            let (input, basis) = if choice.gamma > 0.0 { (input, basis) } else { (Input::Features, folded.as_ref()) };
            (input, ReadingRule::Linear(rule(&sums, choice.reading, basis)?))
        };
        Ok((input, Prepared::new(place, choice, rule)))
    };
    let readings = grouped(chosen.collect::<Vec<_>>().into_par_iter().map(prepared).collect::<Result<_>>()?);
    let needed = readings.iter().any(|group| matches!(group.input, Input::Products | Input::Gaussian(_)));
    let roots = roots.map(<[f64]>::to_vec);
    Ok(ViewReadings { view: view.clone(), samples: needed.then_some((space.samples, space.norms)), roots, readings })
}

fn rule(sums: &Sums, reading: Reading, basis: MatRef<'_, f64>) -> Result<Svm> {
    match reading {
        Reading::Discriminant => sums.discriminant_rule(basis),
        _ => Ok(sums.ridge_rule(basis)),
    }
}

fn primal_stage<'a>(
    view: &View,
    kernels: &[PrimalKernel],
    chosen: impl Iterator<Item = (usize, &'a Choice)>,
) -> Result<ViewReadings> {
    let map = |kernel: &PrimalKernel| match kernel.view == view.kind {
        true => Ok(kernel.map()?.map(Arc::new)),
        false => Ok(None),
    };
    let maps: Vec<Option<Arc<KernelMap>>> = kernels.iter().map(map).collect::<Result<_>>()?;
    let mut readings = Vec::new();
    for (place, choice) in chosen {
        let kernel = kernels.iter().position(|kernel| (kernel.view, kernel.gamma) == (choice.view, choice.gamma));
        let kernel = kernel.ok_or_else(|| Error::Data("the model chose a kernel that it does not hold".into()))?;
        let coder = PrimalCoder::new(kernels[kernel].moments.clone(), choice.kappa)?;
        let input = maps[kernel].clone().map_or(Input::Features, Input::Mapped);
        let rule = match choice.reading {
            Reading::Residual => ReadingRule::PrimalResidual(coder),
            reading => ReadingRule::Linear(coder.rule(reading)?),
        };
        readings.push((input, Prepared::new(place, choice, rule)));
    }
    Ok(ViewReadings { view: view.clone(), samples: None, roots: None, readings: grouped(readings) })
}

impl PrimalKernel {
    /// Nystroem's map, if the kernel is not linear.
    pub fn map(&self) -> Result<Option<KernelMap>> {
        let Some(landmarks) = &self.landmarks else { return Ok(None) };
        KernelMap::fit(&super::search::rbf(self.gamma), landmarks, &mut ()).map(Some)
    }
}

impl Prepared {
    fn new(place: usize, choice: &Choice, rule: ReadingRule) -> Self {
        Prepared { place, scale: choice.scale, weight: choice.weight, rule }
    }

    /// Of a linear rule.
    fn weights(&self) -> Option<&Mat<f64>> {
        if let ReadingRule::Linear(rule) = &self.rule { Some(&rule.weights) } else { None }
    }

    /// Scores of samples with these values of its input and this kernel value with themselves, unless its rule is linear.
    fn scores(&self, values: MatRef<'_, f64>, energy: &[f64]) -> Option<Mat<f64>> {
        match &self.rule {
            ReadingRule::Linear(_) => None,
            ReadingRule::Residual(inverse, residuals) => {
                let codes = mul(inverse, values);
                Some(residual_scores(&residuals.of_products(energy, &codes, values)))
            }
            ReadingRule::FeatureResidual(residuals) => Some(residual_scores(&residuals.of(values))),
            // ClassMoments that hold no class scatters are refused when the model is put together.
            ReadingRule::PrimalResidual(coder) => Some(match coder.residual_scores(values) {
                Ok(scores) => scores,
                Err(_) => Mat::zeros(coder.moments().counts.len(), values.ncols()),
            }),
        }
    }
}

impl Group {
    /// Scores of each of its readings.
    fn scores(&self, values: MatRef<'_, f64>, energy: &[f64]) -> Vec<Mat<f64>> {
        let any = self.linear.ncols() > 0;
        let linear = if any { mul(self.linear.transpose(), values) } else { Mat::new() };
        let mut first = 0;
        let of_reading = |reading: &Prepared| match &reading.rule {
            ReadingRule::Linear(rule) => {
                first += rule.bias.len();
                rule.with_bias(linear.subrows(first - rule.bias.len(), rule.bias.len()).to_owned())
            }
            _ => reading.scores(values, energy).unwrap_or_else(Mat::new),
        };
        self.readings.iter().map(of_reading).collect()
    }
}

impl ViewReadings {
    /// The view that its samples are in.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Whether the sizes of all readings agree; parts of a hostile file may not fit together.
    pub fn fits(&self, n_features: usize, n_classes: usize) -> bool {
        let n_samples = self.samples.as_ref().map_or(0, |(samples, _)| samples.ncols());
        self.readings.iter().all(|Group { input, readings, .. }| {
            let n_in = match input {
                Input::Features => n_features,
                Input::Products | Input::Gaussian(_) => n_samples,
                Input::Mapped(map) => map.root().ncols(),
            };
            readings.iter().all(|reading| {
                let shape = match &reading.rule {
                    ReadingRule::Linear(rule) => rule.weights.shape(),
                    ReadingRule::Residual(inverse, residuals) => (inverse.nrows(), residuals.blocks().len()),
                    ReadingRule::FeatureResidual(residuals) => (residuals.map().ncols(), residuals.blocks().len()),
                    ReadingRule::PrimalResidual(coder) => coder.moments().sums.shape(),
                };
                shape == (n_in, n_classes)
            })
        })
    }

    /// Kernel values of samples with the training samples, times the roots of the weights of these; `None` if there are none.
    fn weighted(&self, input: &Input, values: MatRef<'_, f64>) -> Option<Mat<f64>> {
        let roots = self.roots.as_ref()?;
        let of_samples = matches!(input, Input::Products | Input::Gaussian(_));
        of_samples.then(|| Mat::from_fn(values.nrows(), values.ncols(), |i, j| roots[i] * values[(i, j)]))
    }

    /// Calls `add` with the number of each reading of this view, where the samples begin, and its contribution, weight times normalised
    /// score, classes x samples.
    pub fn contributions(&self, x: MatRef<'_, f64>, mut add: impl FnMut(usize, usize, Mat<f64>)) {
        for start in (0..x.ncols()).step_by(PORTION) {
            let x = x.subcols(start, PORTION.min(x.ncols() - start));
            self.contributions_of_portion(self.view.apply(x).as_ref(), |place, scores| add(place, start, scores));
        }
    }

    fn contributions_of_portion(&self, x: MatRef<'_, f64>, mut add: impl FnMut(usize, Mat<f64>)) {
        let norms: Vec<f64> = column_energies(x);
        let products = self.samples.as_ref().map(|(samples, _)| mul(samples.transpose(), x));
        // Without weights: a narrower kernel's values are powers of these.
        let mut kernel: Option<(f64, Mat<f64>)> = None;
        for group in &self.readings {
            let mapped;
            let values = match (&group.input, &self.samples, &products) {
                (Input::Gaussian(gamma), Some((_, own)), Some(products)) => {
                    kernel = Some(match kernel.take() {
                        Some((wider, values)) if squarings(wider, *gamma).is_some() => {
                            (*gamma, narrowed(values, wider, *gamma))
                        }
                        _ => (*gamma, gaussian(products, own, &norms, *gamma)),
                    });
                    kernel.as_ref().map_or(x, |(_, values)| values.as_ref())
                }
                (Input::Products, _, Some(products)) => products.as_ref(),
                (Input::Mapped(map), ..) => {
                    mapped = map.apply(x);
                    mapped.as_ref()
                }
                _ => x,
            };
            let weighted = self.weighted(&group.input, values);
            let values = weighted.as_ref().map_or(values, |weighted| weighted.as_ref());
            // Of the sample with itself.
            let energy = if matches!(group.input, Input::Gaussian(_)) { &vec![1.0; norms.len()] } else { &norms };
            for (reading, mut scores) in group.readings.iter().zip(group.scores(values, energy)) {
                fusion::normalize(&mut scores, reading.scale);
                scores *= faer::Scale(reading.weight);
                add(reading.place, scores);
            }
        }
    }

    /// The sum of all contributions in an ONNX graph.
    pub fn export(&self, graph: &mut Graph, x: &Tensor, n_classes: usize) -> Vec<Tensor> {
        let x = self.view.export(graph, x);
        let samples = self.samples.as_ref().map(|(samples, _)| samples.as_ref());
        let mut contributions = Vec::new();
        for Group { input, readings, .. } in &self.readings {
            let values = match (input, samples) {
                (Input::Products, Some(samples)) => graph.times(&x, samples),
                (Input::Gaussian(gamma), Some(samples)) => Kernel::Rbf.export(*gamma, samples, graph, &x),
                (Input::Mapped(map), _) => map.export(graph, &x),
                _ => x.clone(),
            };
            let values = match (input, &self.roots) {
                (Input::Products | Input::Gaussian(_), Some(roots)) => {
                    let roots = graph.row(roots.iter().copied());
                    graph.op("Mul", &[&values, &roots])
                }
                _ => values,
            };
            for reading in readings {
                // Of the sample with itself, which residuals of codes over samples need.
                let energy = matches!(reading.rule, ReadingRule::Residual(..)).then(|| match input {
                    Input::Products => graph.energy(&x),
                    _ => graph.scalar(1.0),
                });
                contributions.push(reading.export(graph, &values, energy.as_ref().unwrap_or(&x), n_classes));
            }
        }
        contributions
    }
}

impl Prepared {
    /// Its contribution in a graph; `energy` is the kernel value of the sample with itself.
    fn export(&self, graph: &mut Graph, values: &Tensor, energy: &Tensor, n_classes: usize) -> Tensor {
        let scores = match &self.rule {
            ReadingRule::Linear(rule) => graph.linear(values, &rule.weights, &rule.bias),
            ReadingRule::Residual(inverse, residuals) => {
                export_residual(graph, values, energy, inverse.as_ref(), residuals)
            }
            ReadingRule::FeatureResidual(residuals) => {
                let found = residuals.export(graph, values);
                export_scores(graph, &found.squared, &found.code_energy)
            }
            ReadingRule::PrimalResidual(coder) => export_primal_residual(graph, values, coder),
        };
        // As `fusion::normalise` does: differences to the best, cut off, then centred over classes and scaled by one product.
        let lowest = graph.scalar(fusion::LOWEST);
        let range = graph.scalar(-fusion::RANGE * self.scale);
        let scores = graph.op("Max", &[&scores, &lowest]);
        let best = graph.op_with("ReduceMax", &[&scores], &[("axes", 1), ("keepdims", 1)]);
        let scores = graph.op("Sub", &[&scores, &best]);
        let scores = graph.op("Max", &[&scores, &range]);
        let center = Mat::from_fn(n_classes, n_classes, |a, b| {
            (f64::from(u8::from(a == b)) - 1.0 / n_classes as f64) / self.scale
        });
        let scores = graph.times(&scores, &center);
        let weight = graph.scalar(self.weight);
        graph.op("Mul", &[&scores, &weight])
    }
}

/// How often values of a Gaussian kernel are squared to get those of a narrower one: widths are powers of four apart.
fn squarings(wider: f64, narrower: f64) -> Option<u32> {
    (1..=2).find(|&twice| wider * 4f64.powi(twice) == narrower).map(|twice| 2 * twice as u32)
}

/// The values of a narrower kernel from those of a wider one: a few products take less time than an exponential.
fn narrowed(mut values: Mat<f64>, wider: f64, narrower: f64) -> Mat<f64> {
    let times = squarings(wider, narrower).unwrap_or(0);
    for j in 0..values.ncols() {
        let column = values.col_as_slice_mut(j);
        wide!({
            for value in column.iter_mut() {
                for _ in 0..times {
                    *value *= *value;
                }
            }
        });
    }
    values
}

/// [`residual_scores`] in a graph, from squared residuals and energies of codes, samples x classes.
fn export_scores(graph: &mut Graph, squared: &Tensor, code_energy: &Tensor) -> Tensor {
    let axes = graph.integers(&[1]);
    let share = graph.scalar(1e-12);
    let tiny = graph.scalar(1e-300);
    let total = graph.op_with("ReduceSum", &[code_energy, &axes], &[("keepdims", 1)]);
    let floor = graph.op("Mul", &[&total, &share]);
    let floor = graph.op("Add", &[&floor, &tiny]);
    let divisor = graph.op("Add", &[code_energy, &floor]);
    let squared = graph.positive(squared);
    let ratio = graph.op("Div", &[&squared, &divisor]);
    let root = graph.op("Sqrt", &[&ratio]);
    graph.negative(&root)
}

fn export_residual(
    graph: &mut Graph,
    k: &Tensor,
    energy: &Tensor,
    inverse: MatRef<'_, f64>,
    residuals: &ClassResiduals,
) -> Tensor {
    let blocks = residuals.blocks();
    let mut within = Mat::zeros(blocks.total(), blocks.total());
    for (range, block) in blocks.ranges().zip(residuals.grams()) {
        within.submatrix_mut(range.start, range.start, range.len(), range.len()).copy_from(block);
    }
    let codes = graph.times(k, inverse);
    let rebuilt = graph.times(&codes, &within);
    let two = graph.scalar(2.0);
    let twice = graph.op("Mul", &[k, &two]);
    let change = graph.op("Sub", &[&rebuilt, &twice]);
    let change = graph.op("Mul", &[&codes, &change]);
    let change = graph.block_sums(&change, blocks);
    let squared = graph.op("Add", &[energy, &change]);
    let squares = graph.op("Mul", &[&codes, &codes]);
    let code_energy = graph.block_sums(&squares, blocks);
    export_scores(graph, &squared, &code_energy)
}

fn export_primal_residual(graph: &mut Graph, x: &Tensor, coder: &PrimalCoder) -> Tensor {
    let wx = graph.times(x, coder.inverse().as_ref());
    let axes = graph.integers(&[1]);
    let mut squared = Vec::new();
    let mut energies = Vec::new();
    for scatter in coder.moments().class_scatters.iter().flatten() {
        let rebuilt = graph.times(&wx, scatter);
        let rest = graph.op("Sub", &[x, &rebuilt]);
        squared.push(graph.energy(&rest));
        let products = graph.op("Mul", &[&wx, &rebuilt]);
        energies.push(graph.op_with("ReduceSum", &[&products, &axes], &[("keepdims", 1)]));
    }
    let squared = graph.op_with("Concat", &squared.iter().collect::<Vec<_>>(), &[("axis", 1)]);
    let energies = graph.op_with("Concat", &energies.iter().collect::<Vec<_>>(), &[("axis", 1)]);
    let energies = graph.positive(&energies);
    export_scores(graph, &squared, &energies)
}
