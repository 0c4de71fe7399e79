//! Which training samples a sample is rebuilt from.

use super::candidates::Space;
use super::model::AutoModel;
use super::views::View;
use crate::linalg::{Spd, mul};
use crate::{Error, Mat, MatRef, Result};
use serde::Serialize;

/// A training sample that takes part in the code of another sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UsedSample {
    /// Its position in the training data, from 0.
    pub sample: usize,
    /// The label it carries.
    pub label: String,
    /// Its number in the code.
    pub code: f64,
    /// That number's share of the absolute code of all training samples.
    pub share: f64,
}

impl AutoModel {
    /// The training samples with the largest numbers in the code of each sample, for the chosen reading of the largest weight; at most
    /// `most` of each, largest first. Nothing if the model does not keep its training samples, as large ones do not. Samples are
    /// prepared already.
    pub fn most_used(&self, x: MatRef<'_, f64>, most: usize) -> Result<Vec<Vec<UsedSample>>> {
        crate::method::check_features(self.n_features, x)?;
        crate::dataset::check_finite(x)?;
        let part = |name: &str| self.parts.iter().find(|(held, _)| *held == name).map(|(_, part)| part);
        let heaviest = self.chosen.iter().max_by(|a, b| a.weight.total_cmp(&b.weight));
        let (Some(samples), Some(views), Some(choice)) = (part("samples"), part("views"), heaviest) else {
            return Ok(vec![Vec::new(); x.ncols()]);
        };
        let views = (0..views.ncols()).map(|v| View::from_column(views.col_as_slice(v))).collect::<Result<Vec<_>>>()?;
        let view = views.iter().find(|view| view.kind == choice.view);
        let view = view.ok_or_else(|| Error::Data("the model chose a view that it does not hold".into()))?;
        let space = Space::new(view.apply(samples.as_ref()));
        let codes = codes(&space, view.apply(x).as_ref(), choice.gamma, choice.kappa)?;
        Ok(codes.col_iter().map(|code| self.largest(&code.iter().copied().collect::<Vec<_>>(), most)).collect())
    }

    fn largest(&self, code: &[f64], most: usize) -> Vec<UsedSample> {
        let total: f64 = code.iter().map(|value| value.abs()).sum();
        let mut order: Vec<usize> = (0..code.len()).filter(|&i| code[i] != 0.0).collect();
        order.sort_by(|&a, &b| code[b].abs().total_cmp(&code[a].abs()).then(a.cmp(&b)));
        let used = |&i: &usize| {
            let (sample, class) = self.training_sample(i)?;
            Some(UsedSample { sample, label: class.clone(), code: code[i], share: code[i].abs() / total })
        };
        order.iter().take(most).filter_map(used).collect()
    }
}

/// `(K + kappa I)^-1 k` for every sample.
fn codes(space: &Space, x: MatRef<'_, f64>, gamma: f64, kappa: f64) -> Result<Mat<f64>> {
    let mut store = Mat::new();
    let mut shifted = space.kernel(gamma, &mut store).to_owned();
    (0..shifted.nrows()).for_each(|i| shifted[(i, i)] += kappa);
    let products = mul(space.samples.transpose(), x);
    let values = if gamma > 0.0 {
        let norms: Vec<f64> = x.col_iter().map(|x| x.squared_norm_l2()).collect();
        super::candidates::gaussian(products.as_ref(), &space.norms, &norms, gamma)
    } else {
        products
    };
    Ok(Spd::new(shifted, "auto")?.solve(values.as_ref()))
}
