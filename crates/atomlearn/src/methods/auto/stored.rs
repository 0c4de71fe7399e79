//! What training leaves behind, and its way into model files and back.

use super::candidates::Choice;
use super::views::{View, ViewKind};
use super::{DUAL_LIMIT, Facts};
use crate::linalg::concat_columns;
use crate::loo::{ClassMoments, Reading};
use crate::{Blocks, Error, Parts, Result};
use faer::Mat;
use std::sync::Arc;

/// Everything a model is made from; with the class names, everything that is stored.
pub(super) struct Learned {
    pub views: Vec<View>,
    pub chosen: Vec<Choice>,
    pub form: CodeForm,
    /// Of the samples that were left out in turn, classes x samples.
    pub log_probabilities: Mat<f64>,
    /// Position in the data, class and say of each of these samples.
    pub judged: Mat<f64>,
    /// Their weights, if they have any.
    pub weights: Option<Vec<f64>>,
    pub facts: Facts,
}

/// What codes are over.
pub(super) enum CodeForm {
    /// Training samples, grouped by class, and the roots of their weights if they have any.
    Dual { samples: Mat<f64>, blocks: Blocks, roots: Option<Vec<f64>> },
    /// Features, of the samples themselves or of Nystroem's map.
    Primal { kernels: Vec<PrimalKernel> },
}

/// Sums over training samples after a kernel's map.
pub(super) struct PrimalKernel {
    pub view: ViewKind,
    /// 0 is the linear kernel.
    pub gamma: f64,
    /// Landmarks in the view, unless the kernel is linear.
    pub landmarks: Option<Mat<f64>>,
    pub moments: Arc<ClassMoments>,
}

/// No model has more: every view has four kernels.
const MOST_KERNELS: usize = 64;
/// Rows of the part `chosen`: reading, view, gamma, kappa, scale, weight.
const CHOICE_ROWS: usize = 6;
/// Most features of a map in the primal form, and of samples that are used as they are.
pub(super) const MOST_FEATURES: usize = 2000;

impl Learned {
    /// Everything as named matrices.
    pub fn to_parts(&self) -> Parts {
        let columns: Vec<Vec<f64>> = self.views.iter().map(View::to_column).collect();
        let choice = |row: usize, choice: &Choice| match row {
            0 => Reading::ALL.iter().position(|&reading| reading == choice.reading).unwrap_or(0) as f64,
            1 => choice.view.number(),
            2 => choice.gamma,
            3 => choice.kappa,
            4 => choice.scale,
            _ => choice.weight,
        };
        let facts = [self.facts.twins as f64, self.facts.single as f64, f64::from(u8::from(self.is_primal()))];
        let mut parts = Parts::default();
        parts.put("views", Mat::from_fn(columns[0].len(), columns.len(), |i, v| columns[v][i]));
        parts.put("chosen", Mat::from_fn(CHOICE_ROWS, self.chosen.len(), |row, e| choice(row, &self.chosen[e])));
        parts.put("loo_log_probabilities", &self.log_probabilities);
        parts.put("loo_samples", &self.judged);
        parts.put_row("facts", &facts);
        if self.facts.contrary > 0 {
            parts.put_row("contrary", &[self.facts.contrary as f64]);
        }
        if let Some(weights) = &self.weights {
            parts.put_row("loo_weights", weights);
        }
        match &self.form {
            CodeForm::Dual { samples, blocks, .. } => {
                parts.put("samples", samples);
                parts.put_blocks("sample_counts", blocks);
            }
            CodeForm::Primal { kernels } => {
                let counts = &kernels[0].moments.counts;
                parts.put_row("sample_counts", counts);
                let row = |i: usize, kernel: &PrimalKernel| match i {
                    0 => kernel.view.number(),
                    1 => kernel.gamma,
                    _ => f64::from(u8::from(kernel.moments.class_scatters.is_some())),
                };
                parts.put("kernels", Mat::from_fn(3, kernels.len(), |i, k| row(i, &kernels[k])));
                for (k, kernel) in kernels.iter().enumerate() {
                    if let Some(landmarks) = &kernel.landmarks {
                        parts.put(format!("landmarks_{k}"), landmarks);
                    }
                    parts.put(format!("sums_{k}"), &kernel.moments.sums);
                    match &kernel.moments.class_scatters {
                        Some(scatters) => parts.put(format!("scatter_{k}"), concat_columns(scatters)),
                        None => parts.put(format!("scatter_{k}"), &kernel.moments.scatter),
                    }
                }
            }
        }
        parts
    }

    /// Features of a sample.
    pub fn n_features(&self) -> usize {
        (self.views[0].to_column().len() - 2) / 2
    }

    fn is_primal(&self) -> bool {
        matches!(self.form, CodeForm::Primal { .. })
    }

    /// The counterpart of [`Learned::to_parts`]; the parts may come from a hostile file.
    pub fn from_parts(parts: &mut Parts) -> Result<Self> {
        let n_classes = parts.classes.len();
        let facts = parts.take_shaped("facts", 1, 3)?;
        let count = |i: usize| facts[(0, i)].max(0.0) as usize;
        let views = parts.take("views")?;
        if views.nrows() < 4 || views.nrows() % 2 != 0 || views.ncols() == 0 {
            return Err(wrong("views"));
        }
        let n_features = (views.nrows() - 2) / 2;
        let views: Vec<View> =
            (0..views.ncols()).map(|v| View::from_column(views.col_as_slice(v))).collect::<Result<_>>()?;
        let chosen = parts.take_shaped("chosen", CHOICE_ROWS, None)?;
        let chosen: Vec<Choice> =
            (0..chosen.ncols()).map(|e| restored_choice(chosen.col_as_slice(e))).collect::<Result<_>>()?;
        let known = |choice: &Choice| views.iter().any(|view| view.kind == choice.view);
        if chosen.is_empty() || chosen.len() > 48 || !chosen.iter().all(known) {
            return Err(wrong("chosen"));
        }
        let log_probabilities = parts.take_shaped("loo_log_probabilities", n_classes, None)?;
        let judged = parts.take_shaped("loo_samples", 3, log_probabilities.ncols())?;
        if judged.row(1).iter().any(|&c| !(c >= 0.0 && c < n_classes as f64)) {
            return Err(wrong("loo_samples"));
        }
        let weights = match parts.get("loo_weights") {
            Some(_) => Some(parts.take_row("loo_weights", judged.ncols())?),
            None => None,
        };
        if weights.iter().flatten().any(|w| !(w.is_finite() && *w > 0.0)) {
            return Err(wrong("loo_weights"));
        }
        let form = match facts[(0, 2)] == 0.0 {
            true => dual_form(parts, n_features, weights.as_deref())?,
            false => primal_form(parts, n_features, &chosen)?,
        };
        let of_some = matches!(form, CodeForm::Primal { .. });
        let contrary = match parts.get("contrary") {
            Some(_) => parts.take_row("contrary", 1)?[0] as usize,
            None => 0,
        };
        let facts = Facts { twins: count(0), contrary, single: count(1), classes: n_classes, of_some };
        Ok(Learned { views, chosen, form, log_probabilities, judged, weights, facts })
    }
}

fn wrong(part: &str) -> Error {
    Error::Data(format!("model part `{part}` does not hold what it should"))
}

fn restored_choice(column: &[f64]) -> Result<Choice> {
    let reading = Reading::ALL.iter().enumerate().find(|(i, _)| *i as f64 == column[0]).map(|(_, &reading)| reading);
    let (Some(reading), Some(view)) = (reading, ViewKind::from_number(column[1])) else { return Err(wrong("chosen")) };
    let &[_, _, gamma, kappa, scale, weight] = column else { return Err(wrong("chosen")) };
    let sound = gamma >= 0.0 && kappa > 0.0 && scale > 0.0 && weight >= 0.0;
    sound.then_some(Choice { reading, view, gamma, kappa, scale, weight }).ok_or_else(|| wrong("chosen"))
}

fn dual_form(parts: &mut Parts, n_features: usize, weights: Option<&[f64]>) -> Result<CodeForm> {
    let samples = parts.take_shaped("samples", n_features, None)?;
    let blocks = parts.take_blocks("sample_counts", samples.ncols())?;
    // Empty classes have no mean; so many samples are never kept, and their kernel matrices would not fit into memory.
    if blocks.sizes().any(|size| size == 0) || samples.ncols() > DUAL_LIMIT {
        return Err(wrong("sample_counts"));
    }
    // All samples were left out in turn.
    if weights.is_some_and(|weights| weights.len() != samples.ncols()) {
        return Err(wrong("loo_weights"));
    }
    let roots = weights.map(|weights| weights.iter().map(|w| w.sqrt()).collect());
    Ok(CodeForm::Dual { samples, blocks, roots })
}

fn primal_form(parts: &mut Parts, n_features: usize, chosen: &[Choice]) -> Result<CodeForm> {
    let n_classes = parts.classes.len();
    let counts = parts.take_shaped("sample_counts", 1, n_classes)?;
    let counts: Vec<f64> = counts.row(0).iter().copied().collect();
    let about = parts.take_shaped("kernels", 3, None)?;
    if about.ncols() == 0
        || about.ncols() > MOST_KERNELS
        || counts.iter().any(|&count| !(count > 0.0 && count.is_finite()))
    {
        return Err(wrong("kernels"));
    }
    let mut kernels = Vec::with_capacity(about.ncols());
    for k in 0..about.ncols() {
        let (Some(view), gamma, by_class) = (ViewKind::from_number(about[(0, k)]), about[(1, k)], about[(2, k)] != 0.0)
        else {
            return Err(wrong("kernels"));
        };
        let landmarks =
            if gamma > 0.0 { Some(parts.take_shaped(&format!("landmarks_{k}"), n_features, None)?) } else { None };
        let sums = parts.take_shaped(&format!("sums_{k}"), None, n_classes)?;
        let d = sums.nrows();
        let most = landmarks.as_ref().map_or(n_features, Mat::ncols);
        if d == 0 || d > most || most > MOST_FEATURES {
            return Err(wrong("sums"));
        }
        let stored = parts.take_shaped(&format!("scatter_{k}"), d, if by_class { d * n_classes } else { d })?;
        let class_scatters: Option<Vec<Mat<f64>>> =
            by_class.then(|| (0..n_classes).map(|c| stored.subcols(c * d, d).to_owned()).collect());
        let total = |scatters: &Vec<Mat<f64>>| {
            let mut sum = Mat::zeros(d, d);
            scatters.iter().for_each(|scatter| sum += scatter);
            sum
        };
        let scatter = class_scatters.as_ref().map_or_else(|| stored.clone(), total);
        let moments = Arc::new(ClassMoments { counts: counts.clone(), sums, scatter, class_scatters });
        kernels.push(PrimalKernel { view, gamma, landmarks, moments });
    }
    let held = |choice: &Choice| {
        let kernel = kernels.iter().find(|kernel| (kernel.view, kernel.gamma) == (choice.view, choice.gamma));
        kernel.is_some_and(|k| choice.reading != Reading::Residual || k.moments.class_scatters.is_some())
    };
    if chosen.iter().all(held) { Ok(CodeForm::Primal { kernels }) } else { Err(wrong("chosen")) }
}
