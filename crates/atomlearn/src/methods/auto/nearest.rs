//! Which training samples a sample resembles.

use super::model::AutoModel;
use super::views::View;
use crate::linalg::{column, column_energies, mul};
use crate::{Classifier, Error, MatRef, Result};
use serde::Serialize;

/// A training sample near another sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NearSample {
    /// Its position in the training data, from 0.
    pub sample: usize,
    /// The label it carries.
    pub label: String,
    /// Distance in the view of the chosen reading of the largest weight, where samples have lengths of about one.
    pub distance: f64,
}

impl AutoModel {
    /// The training samples nearest to each sample in the view of the chosen reading of the largest weight, nearest first, at most
    /// `most` of each. Nothing if the model does not keep its training samples, as large ones do not. Samples are prepared already.
    pub fn nearest(&self, x: MatRef<'_, f64>, most: usize) -> Result<Vec<Vec<NearSample>>> {
        crate::classifier::check_features(self.n_features(), x)?;
        crate::dataset::check_finite(x)?;
        let heaviest = self.chosen.iter().max_by(|a, b| a.weight.total_cmp(&b.weight));
        let (Some(samples), Some(views), Some(choice)) = (self.parts.get("samples"), self.parts.get("views"), heaviest)
        else {
            return Ok(vec![Vec::new(); x.ncols()]);
        };
        let views = (0..views.ncols()).map(|v| View::from_column(column(views, v))).collect::<Result<Vec<_>>>()?;
        let view = views.iter().find(|view| view.kind == choice.view);
        let view = view.ok_or_else(|| Error::Data("the model chose a view that it does not hold".into()))?;
        let samples = view.apply(samples);
        let x = view.apply(x);
        let norms: Vec<f64> = column_energies(&samples);
        let products = mul(samples.transpose(), &x);
        let of_sample = |j: usize| {
            let own = x.col(j).squared_norm_l2();
            let squared: Vec<f64> =
                (0..norms.len()).map(|i| (norms[i] + own - 2.0 * products[(i, j)]).max(0.0)).collect();
            self.smallest(&squared, most)
        };
        Ok((0..x.ncols()).map(of_sample).collect())
    }

    fn smallest(&self, squared: &[f64], most: usize) -> Vec<NearSample> {
        let mut order: Vec<usize> = (0..squared.len()).collect();
        order.sort_by(|&a, &b| squared[a].total_cmp(&squared[b]).then(a.cmp(&b)));
        let near = |&i: &usize| {
            let (sample, class) = self.training_sample(i)?;
            Some(NearSample { sample, label: class.clone(), distance: squared[i].sqrt() })
        };
        order.iter().take(most).filter_map(near).collect()
    }
}
