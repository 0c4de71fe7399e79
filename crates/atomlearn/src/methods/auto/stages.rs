//! From a new sample to normalised scores: view, kernel values, readings.

use super::candidates::{Choice, Space, gaussian};
use super::fusion;
use super::stored::{Form, Learned, PrimalKernel};
use super::views::View;
use crate::export::{Graph, Value};
use crate::kernel::{Gamma, Kernel, KernelMap, KernelSpec};
use crate::linalg::{Spd, column_energies, mul};
use crate::loo::{PrimalCoder, Reading, Sums, residual_scores};
use crate::score::{ClassResiduals, RidgeResiduals};
use crate::svm::Svm;
use crate::{Blocks, Error, Result};
use faer::{Mat, MatRef};
use rayon::prelude::*;
use std::sync::Arc;

/// Everything that is read from samples in one view.
pub(super) struct Stage {
    view: View,
    /// Training samples in the view, if a reading needs kernel values to them, with their squared norms.
    samples: Option<(Mat<f64>, Vec<f64>)>,
    /// Readings of the same input together: it is computed once.
    readings: Vec<(Input, Vec<Prepared>)>,
}

/// A reading that is ready for new samples.
struct Prepared {
    /// Its number among the chosen ones.
    place: usize,
    scale: f64,
    weight: f64,
    rule: Rule,
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
    fn is_same(&self, other: &Input) -> bool {
        match (self, other) {
            (Input::Features, Input::Features) | (Input::Products, Input::Products) => true,
            (Input::Gaussian(a), Input::Gaussian(b)) => a == b,
            (Input::Mapped(a), Input::Mapped(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// Readings by what they read, in the order in which inputs first occur.
fn grouped(readings: Vec<(Input, Prepared)>) -> Vec<(Input, Vec<Prepared>)> {
    let mut groups: Vec<(Input, Vec<Prepared>)> = Vec::new();
    for (input, reading) in readings {
        match groups.iter_mut().find(|(known, _)| known.is_same(&input)) {
            Some((_, group)) => group.push(reading),
            None => groups.push((input, vec![reading])),
        }
    }
    groups
}

enum Rule {
    Linear(Svm),
    /// `A` and the kernel blocks of the classes.
    Residual(Mat<f64>, ClassResiduals),
    /// The same for the linear kernel, on features.
    FeatureResidual(RidgeResiduals),
    PrimalResidual(PrimalCoder),
}

/// One stage for every view in use.
pub(super) fn stages(learned: &Learned) -> Result<Vec<Stage>> {
    let of_view = |view: &View| {
        let chosen = learned.chosen.iter().enumerate().filter(|(_, choice)| choice.view == view.id);
        match &learned.form {
            Form::Dual { samples, blocks } => {
                dual_stage(view, Space::new(view.apply(samples.as_ref())), blocks, chosen)
            }
            Form::Primal { kernels } => primal_stage(view, kernels, chosen),
        }
    };
    learned.views.iter().map(of_view).collect()
}

fn dual_stage<'a>(
    view: &View,
    space: Space,
    blocks: &Blocks,
    chosen: impl Iterator<Item = (usize, &'a Choice)>,
) -> Result<Stage> {
    let prepared = |(place, choice): (usize, &Choice)| {
        let (m, n) = space.samples.shape();
        if choice.gamma == 0.0 && choice.reading == Reading::Residual && m < n {
            // Codes of fewer features than samples are a smaller map.
            let residuals = RidgeResiduals::new(&space.samples, blocks, choice.kappa, "auto")?;
            return Ok((Input::Features, Prepared::new(place, choice, Rule::FeatureResidual(residuals))));
        }
        let mut store = Mat::new();
        let kernel = space.kernel(choice.gamma, &mut store);
        let factor = Spd::shifted(kernel, choice.kappa, "auto")?;
        let input = if choice.gamma > 0.0 { Input::Gaussian(choice.gamma) } else { Input::Products };
        let (input, rule) = if choice.reading == Reading::Residual {
            (input, Rule::Residual(factor.into_inverse(), ClassResiduals::from_gram(kernel, blocks)))
        } else {
            let sums = Sums::of_classes(&factor, blocks, choice.kappa);
            let basis = sums.sums.transpose();
            let folded = mul(&space.samples, basis);
            // A rule on linear kernel values is a rule on features.
            let (input, basis) = if choice.gamma > 0.0 { (input, basis) } else { (Input::Features, folded.as_ref()) };
            (input, Rule::Linear(rule(&sums, choice.reading, basis)?))
        };
        Ok((input, Prepared::new(place, choice, rule)))
    };
    let readings = grouped(chosen.collect::<Vec<_>>().into_par_iter().map(prepared).collect::<Result<_>>()?);
    let needed = readings.iter().any(|(input, _)| matches!(input, Input::Products | Input::Gaussian(_)));
    Ok(Stage { view: view.clone(), samples: needed.then_some((space.samples, space.norms)), readings })
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
) -> Result<Stage> {
    let map = |kernel: &PrimalKernel| match kernel.view == view.id {
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
            Reading::Residual => Rule::PrimalResidual(coder),
            reading => Rule::Linear(coder.rule(reading)?),
        };
        readings.push((input, Prepared::new(place, choice, rule)));
    }
    Ok(Stage { view: view.clone(), samples: None, readings: grouped(readings) })
}

impl PrimalKernel {
    /// Nystroem's map, if the kernel is not linear.
    pub fn map(&self) -> Result<Option<KernelMap>> {
        let Some(landmarks) = &self.landmarks else { return Ok(None) };
        let spec = KernelSpec { kernel: Kernel::Rbf, gamma: Gamma::Fixed(self.gamma), landmarks: None };
        KernelMap::fit(&spec, landmarks, &mut ()).map(Some)
    }
}

impl Prepared {
    fn new(place: usize, choice: &Choice, rule: Rule) -> Self {
        Prepared { place, scale: choice.scale, weight: choice.weight, rule }
    }

    /// Scores of samples with these values of its input and this kernel value with themselves.
    fn scores(&self, values: MatRef<'_, f64>, energy: &[f64]) -> Mat<f64> {
        match &self.rule {
            Rule::Linear(rule) => rule.scores(values),
            Rule::Residual(inverse, residuals) => {
                let codes = mul(inverse, values);
                residual_scores(&residuals.of_products(energy, &codes, values))
            }
            Rule::FeatureResidual(residuals) => residual_scores(&residuals.of(values)),
            // Moments that hold no class scatters are refused when the model is put together.
            Rule::PrimalResidual(coder) => match coder.residual_scores(values) {
                Ok(scores) => scores,
                Err(_) => Mat::zeros(coder.moments().counts.len(), values.ncols()),
            },
        }
    }
}

impl Stage {
    /// The view that its samples are in.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Whether the sizes of all readings agree; parts of a hostile file may not fit together.
    pub fn fits(&self, n_features: usize, n_classes: usize) -> bool {
        let n_samples = self.samples.as_ref().map_or(0, |(samples, _)| samples.ncols());
        self.readings.iter().all(|(input, readings)| {
            let n_in = match input {
                Input::Features => n_features,
                Input::Products | Input::Gaussian(_) => n_samples,
                Input::Mapped(map) => map.root().ncols(),
            };
            readings.iter().all(|reading| {
                let shape = match &reading.rule {
                    Rule::Linear(rule) => rule.weights.shape(),
                    Rule::Residual(inverse, residuals) => (inverse.nrows(), residuals.blocks().len()),
                    Rule::FeatureResidual(residuals) => (residuals.map().ncols(), residuals.blocks().len()),
                    Rule::PrimalResidual(coder) => coder.moments().sums.shape(),
                };
                shape == (n_in, n_classes)
            })
        })
    }

    /// Calls `add` with the number of each reading of this view and its contribution, weight times normalised score, classes x
    /// samples.
    pub fn contributions(&self, x: MatRef<'_, f64>, mut add: impl FnMut(usize, Mat<f64>)) {
        let x = self.view.apply(x);
        let norms: Vec<f64> = column_energies(&x);
        let products = self.samples.as_ref().map(|(samples, _)| mul(samples.transpose(), &x));
        for (input, readings) in &self.readings {
            let values = match (input, &self.samples, &products) {
                (Input::Gaussian(gamma), Some((_, own)), Some(products)) => {
                    Some(gaussian(products.as_ref(), own, &norms, *gamma))
                }
                (Input::Mapped(map), ..) => Some(map.apply(x.as_ref())),
                _ => None,
            };
            let linear = if matches!(input, Input::Products) { products.as_ref() } else { None };
            let values = values.as_ref().or(linear).unwrap_or(&x).as_ref();
            // Of the sample with itself.
            let energy = if matches!(input, Input::Gaussian(_)) { &vec![1.0; norms.len()] } else { &norms };
            for reading in readings {
                let mut scores = reading.scores(values, energy);
                fusion::normalise(&mut scores, reading.scale);
                scores *= faer::Scale(reading.weight);
                add(reading.place, scores);
            }
        }
    }

    /// The sum of all contributions in an ONNX graph.
    pub fn export(&self, graph: &mut Graph, x: &Value, n_classes: usize) -> Vec<Value> {
        let x = self.view.export(graph, x);
        let samples = self.samples.as_ref().map(|(samples, _)| samples.as_ref());
        let mut contributions = Vec::new();
        for (input, readings) in &self.readings {
            let values = match (input, samples) {
                (Input::Products, Some(samples)) => graph.times(&x, samples),
                (Input::Gaussian(gamma), Some(samples)) => Kernel::Rbf.export(*gamma, samples, graph, &x),
                (Input::Mapped(map), _) => map.export(graph, &x),
                _ => x.clone(),
            };
            for reading in readings {
                // Of the sample with itself, which residuals of codes over samples need.
                let energy = matches!(reading.rule, Rule::Residual(..)).then(|| match input {
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
    fn export(&self, graph: &mut Graph, values: &Value, energy: &Value, n_classes: usize) -> Value {
        let scores = match &self.rule {
            Rule::Linear(rule) => graph.linear(values, rule.weights.as_ref(), &rule.bias),
            Rule::Residual(inverse, residuals) => export_residual(graph, values, energy, inverse.as_ref(), residuals),
            Rule::FeatureResidual(residuals) => {
                let found = residuals.export(graph, values);
                export_scores(graph, &found.squared, &found.code_energy)
            }
            Rule::PrimalResidual(coder) => export_primal_residual(graph, values, coder),
        };
        // Centring over classes and the scale in one product.
        let centre = Mat::from_fn(n_classes, n_classes, |a, b| {
            (f64::from(u8::from(a == b)) - 1.0 / n_classes as f64) / self.scale
        });
        let scores = graph.times(&scores, centre.as_ref());
        let low = graph.scalar(-fusion::CLIP);
        let high = graph.scalar(fusion::CLIP);
        let weight = graph.scalar(self.weight);
        let scores = graph.op("Max", &[&scores, &low]);
        let scores = graph.op("Min", &[&scores, &high]);
        graph.op("Mul", &[&scores, &weight])
    }
}

/// [`residual_scores`] in a graph, from squared residuals and energies of codes, samples x classes.
fn export_scores(graph: &mut Graph, squared: &Value, code_energy: &Value) -> Value {
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
    k: &Value,
    energy: &Value,
    inverse: MatRef<'_, f64>,
    residuals: &ClassResiduals,
) -> Value {
    let blocks = residuals.blocks();
    let mut within = Mat::zeros(blocks.total(), blocks.total());
    for (range, block) in blocks.ranges().zip(residuals.grams()) {
        within.submatrix_mut(range.start, range.start, range.len(), range.len()).copy_from(block);
    }
    let codes = graph.times(k, inverse);
    let rebuilt = graph.times(&codes, within.as_ref());
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

fn export_primal_residual(graph: &mut Graph, x: &Value, coder: &PrimalCoder) -> Value {
    let wx = graph.times(x, coder.inverse().as_ref());
    let axes = graph.integers(&[1]);
    let mut squared = Vec::new();
    let mut energies = Vec::new();
    for scatter in coder.moments().class_scatters.iter().flatten() {
        let rebuilt = graph.times(&wx, scatter.as_ref());
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
