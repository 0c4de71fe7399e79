//! The trained model.

use super::candidates::Choice;
use super::report::AutoReport;
use super::stages::{ViewReadings, stages};
use super::stored::Learned;
use super::views::View;
use super::{fusion, report};
use crate::classifier::Header;
use crate::export::{Graph, Tensor};
use crate::novelty::Novelty;
use crate::{Classifier, Error, Parts, Result};
use faer::{Mat, MatRef};
use std::any::Any;

/// The chosen readings, ready for new samples, and what leave-one-out found.
pub struct AutoModel {
    header: Header,
    pub(super) chosen: Vec<Choice>,
    stages: Vec<ViewReadings>,
    pub(super) parts: Parts,
    report: AutoReport,
    /// What the report was made from.
    left_out: report::LeftOutProbabilities,
}

impl AutoModel {
    pub(super) fn new(classes: Vec<String>, learned: Learned) -> Result<Self> {
        let parts = learned.to_parts();
        let stages = stages(&learned)?;
        let n_features = learned.n_features();
        let Learned { chosen, log_probabilities, judged, weights, facts, .. } = learned;
        let left_out = report::LeftOutProbabilities::new(log_probabilities, &judged, weights);
        let report = AutoReport::new(&classes, &chosen, &left_out, facts.warnings());
        Ok(AutoModel { header: Header::new(classes, n_features, &["fused"]), chosen, stages, parts, report, left_out })
    }

    pub(super) fn restore(mut parts: Parts) -> Result<Self> {
        let learned = Learned::from_parts(&mut parts)?;
        let model = Self::new(parts.classes, learned)?;
        if model.stages.iter().any(|stage| !stage.fits(model.n_features(), model.classes().len())) {
            return Err(Error::Data("the parts of the model do not fit together".into()));
        }
        Ok(model)
    }

    /// The `auto` model that a classifier is, if it is one.
    pub fn of(classifier: &dyn Classifier) -> Option<&AutoModel> {
        let classifier: &dyn Any = classifier;
        classifier.downcast_ref()
    }

    /// What training found out about data and model.
    pub fn report(&self) -> &AutoReport {
        &self.report
    }

    /// Leave-one-out probabilities, classes x samples, with the position of each sample in the training data: all samples, or
    /// several thousands of them if there are more.
    pub fn left_out_probabilities(&self) -> (Mat<f64>, &[usize]) {
        (exponentials(self.left_out.log_probabilities.clone()), &self.left_out.positions)
    }

    /// Training samples in the order of the probability that leave-one-out gives to the label they carry, lowest first; at most
    /// `most`. Positions are those in the training data.
    pub fn suspicious(&self, most: usize) -> Vec<report::Suspicious> {
        self.left_out.suspicious(self.classes(), most)
    }

    /// Position in the training data and class of the sample that is kept at this place, for models that keep all samples.
    pub(super) fn training_sample(&self, place: usize) -> Option<(usize, &String)> {
        let class = *self.left_out.targets.get(place)?;
        Some((*self.left_out.positions.get(place)?, self.classes().get(class)?))
    }

    /// How unlike the training samples new ones are, in the view of the first reading; only for models that keep all samples.
    pub fn novelty(&self) -> Option<Result<AutoNovelty>> {
        let (_, samples) = self.parts.iter().find(|(name, _)| *name == "samples")?;
        let view = self.stages.first()?.view().clone();
        let novelty = Novelty::fit(view.apply(samples));
        Some(novelty.map(|novelty| AutoNovelty { view, novelty }))
    }

    /// What each chosen reading says: weight times normalised score, classes x samples, in the order of [`AutoReport::chosen`].
    /// The sum over readings, less what makes probabilities add up to one, is the score of a class. Samples are prepared already.
    pub fn explain(&self, x: MatRef<'_, f64>) -> Result<Vec<Mat<f64>>> {
        crate::classifier::check_features(self.n_features(), x)?;
        crate::dataset::check_finite(x)?;
        Ok(self.contributions(x))
    }

    fn contributions(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        let mut all = vec![Mat::zeros(self.classes().len(), x.ncols()); self.chosen.len()];
        for stage in &self.stages {
            stage.contributions(x, |place, start, scores| {
                all[place].subcols_mut(start, scores.ncols()).copy_from(scores);
            });
        }
        all
    }
}

/// [`Novelty`] of samples that are brought into a view first.
pub struct AutoNovelty {
    view: View,
    novelty: Novelty,
}

impl AutoNovelty {
    /// The p-value of every sample (prepared already): small if it is unlike all that training has seen.
    pub fn p_values(&self, x: MatRef<'_, f64>) -> Vec<f64> {
        self.novelty.p_values(self.view.apply(x))
    }
}

fn exponentials(mut values: Mat<f64>) -> Mat<f64> {
    values.as_mut().col_iter_mut().for_each(|column| column.iter_mut().for_each(|v| *v = v.exp()));
    values
}

impl Classifier for AutoModel {
    fn header(&self) -> &Header {
        &self.header
    }

    fn store(&self, parts: &mut Parts) {
        self.parts.iter().for_each(|(name, part)| parts.put(name, part));
    }

    /// Logarithms of the probabilities.
    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        let mut logits = Mat::zeros(self.classes().len(), x.ncols());
        self.contributions(x).iter().for_each(|scores| logits += scores);
        fusion::log_softmax(&mut logits);
        vec![logits]
    }

    fn probabilities_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        Some(exponentials(self.score_block(x)))
    }

    fn export(&self, graph: &mut Graph, x: &Tensor) -> Result<Tensor> {
        let contributions = self.stages.iter().flat_map(|stage| stage.export(graph, x, self.classes().len()));
        let sum = contributions.collect::<Vec<_>>().into_iter().reduce(|sum, scores| graph.op("Add", &[&sum, &scores]));
        let sum = sum.ok_or_else(|| Error::Data("the model has no reading".into()))?;
        Ok(graph.op_with("LogSoftmax", &[&sum], &[("axis", 1)]))
    }
}
