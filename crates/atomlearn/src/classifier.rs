//! What was learned: samples in, one score per class and sample out.

use crate::dataset::check_finite_from;
use crate::export::{Graph, Tensor};
use crate::linalg::{View, argmax_columns};
use crate::{Blocks, Dataset, Error, Parts, Result};
use faer::{Mat, MatRef};
use rayon::prelude::*;
use std::any::Any;

/// Samples scored together; fixed, so that results never depend on the number of threads.
const SCORE_BLOCK: usize = 512;

/// Why a method has no ONNX form.
pub(crate) const NO_CLOSED_FORM: &str = "this method has no ONNX form: its decision is a search (sparse codes, nearest \
    samples) that standard operators cannot express";

/// A learned model: immutable, and usable from many threads at once.
pub trait Classifier: Any + Send + Sync {
    /// Its classes, what a sample must be, and how it can decide.
    fn header(&self) -> &Header;

    /// Number of features a sample must have.
    fn n_features(&self) -> usize {
        self.header().n_features
    }

    /// Class names in score order.
    fn classes(&self) -> &[String] {
        &self.header().classes
    }

    /// Puts everything in that was learned; with the parameters, enough to rebuild the model: the mirror image of
    /// [`crate::Fit::restore`].
    fn store(&self, parts: &mut Parts);

    /// Everything that was learned.
    fn parts(&self) -> Parts {
        let mut parts = Parts::new(self.classes().to_vec());
        self.store(&mut parts);
        parts
    }

    /// The atoms, for methods that have them; [`Classifier::codes_block`] has one number for each.
    fn atoms(&self) -> Option<Atoms<'_>> {
        None
    }

    /// The decision rules this model can score with; [`Classifier::score_block`] uses [`Classifier::rule`].
    fn rules(&self) -> &'static [&'static str] {
        self.header().rules
    }

    /// The rule in use.
    fn rule(&self) -> &'static str {
        self.rules()[self.header().rule]
    }

    /// Scores of every rule in the order of [`Classifier::rules`], each classes x samples, larger = more likely.
    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>>;

    /// Scores of the rule in use.
    fn score_block(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        self.score_rules_block(x).swap_remove(self.header().rule)
    }

    /// What [`crate::Fit::readout`] makes scores of the rule in use from; each classes x samples.
    fn score_terms_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        vec![self.score_block(x)]
    }

    /// Calibrated probabilities, classes x samples, for methods that have them; the largest is that of the largest score.
    fn probabilities_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        let _ = x;
        None
    }

    /// Codes (atoms x samples), for methods that have them.
    fn codes_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        let _ = x;
        None
    }

    /// Adds the scores of the rule in use to an ONNX graph, samples in rows; refused by methods that have no closed form.
    fn export(&self, graph: &mut Graph, x: &Tensor) -> Result<Tensor> {
        let _ = (graph, x);
        Err(Error::Data(NO_CLOSED_FORM.into()))
    }

    /// Checks shape and finiteness, then scores in parallel: classes x samples.
    fn scores(&self, x: MatRef<'_, f64>) -> Result<Mat<f64>> {
        let blocks = checked_blocks(self.n_features(), x, &|block| vec![self.score_block(block)])?;
        Ok(join_blocks(self.classes().len(), x.ncols(), &blocks, 0))
    }

    /// Like [`Classifier::scores`], for every rule at once.
    fn scores_by_rule(&self, x: MatRef<'_, f64>) -> Result<Vec<(&'static str, Mat<f64>)>> {
        let blocks = checked_blocks(self.n_features(), x, &|block| self.score_rules_block(block))?;
        let join =
            |(r, &rule): (usize, &&'static str)| (rule, join_blocks(self.classes().len(), x.ncols(), &blocks, r));
        Ok(self.rules().iter().enumerate().map(join).collect())
    }

    /// Like [`Classifier::scores`], for the terms of the scores.
    fn score_terms(&self, x: MatRef<'_, f64>) -> Result<Vec<Mat<f64>>> {
        let blocks = checked_blocks(self.n_features(), x, &|block| self.score_terms_block(block))?;
        let n_terms = blocks.first().map_or(1, Vec::len);
        Ok((0..n_terms).map(|t| join_blocks(self.classes().len(), x.ncols(), &blocks, t)).collect())
    }

    /// The class of every sample, as an index into [`Classifier::classes`].
    fn predict(&self, x: MatRef<'_, f64>) -> Result<Vec<usize>> {
        let blocks = checked_blocks(self.n_features(), x, &|block| best_class(self.score_block(block)))?;
        Ok(blocks.concat())
    }
}

/// What every model knows.
#[derive(Clone, Debug)]
pub struct Header {
    classes: Vec<String>,
    n_features: usize,
    rules: &'static [&'static str],
    /// Place of the rule in use.
    rule: usize,
}

impl Header {
    /// Of a model with these classes, in score order, and these rules of decision; the first is in use.
    pub fn new(classes: Vec<String>, n_features: usize, rules: &'static [&'static str]) -> Self {
        Header { classes, n_features, rules, rule: 0 }
    }

    /// Of a model that was learned from these samples.
    pub fn of(train: &Dataset, rules: &'static [&'static str]) -> Self {
        Header::new(train.classes().to_vec(), train.n_features(), rules)
    }

    /// With the rule at this place in use.
    pub fn deciding_by(self, rule: usize) -> Self {
        Header { rule: rule.min(self.rules.len() - 1), ..self }
    }
}

/// What atoms are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AtomKind {
    /// Samples are built from them.
    Dictionary,
    /// Samples are compared with them.
    Analysis,
}

/// The atoms of a model.
#[derive(Clone, Copy, Debug)]
pub struct Atoms<'a> {
    /// What they are for.
    pub kind: AtomKind,
    /// The atoms themselves, after preprocessing.
    pub columns: &'a Mat<f64>,
    /// Their classes, for methods whose atoms belong to classes.
    pub classes: Option<&'a Blocks>,
}

/// Row of the largest score of every column; ties go to the lower class, NaN ranks last.
pub fn best_class(scores: impl View) -> Vec<usize> {
    argmax_columns(scores)
}

/// Refuses samples of another number of features than in training.
pub(crate) fn check_features(n_features: usize, x: MatRef<'_, f64>) -> Result<()> {
    if x.nrows() == n_features {
        return Ok(());
    }
    Err(Error::shape("features per sample", format!("{n_features}, as in training"), x.nrows()))
}

/// What is done with a block: a buffer, the number of its first sample, its samples.
type BlockWork<'a, B, T> = &'a (dyn Fn(&mut B, usize, MatRef<'_, f64>) -> Result<T> + Sync);

/// Does `work` on blocks of samples in parallel. It gets the number of the block's first sample, and a buffer that it
/// may find as another block has left it. Of several errors that of the first block counts. The work is a trait object, because
/// every method comes here: a copy of the parallel loop for each of them took a third of the library's build time.
pub(crate) fn in_blocks<B, T: Send>(
    x: MatRef<'_, f64>,
    buffer: fn() -> B,
    work: BlockWork<'_, B, T>,
) -> Result<Vec<T>> {
    let starts: Vec<usize> = (0..x.ncols()).step_by(SCORE_BLOCK).collect();
    let block = |start: usize| x.subcols(start, SCORE_BLOCK.min(x.ncols() - start));
    let done = starts.par_iter().map_init(buffer, |buffer, &start| work(buffer, start, block(start)));
    done.collect::<Vec<_>>().into_iter().collect()
}

/// [`in_blocks`] for samples that are ready to be scored; a block is checked right before, so that it is in the cache.
fn checked_blocks<T: Send>(
    n_features: usize,
    x: MatRef<'_, f64>,
    work: &(dyn Fn(MatRef<'_, f64>) -> T + Sync),
) -> Result<Vec<T>> {
    check_features(n_features, x)?;
    in_blocks(x, || (), &|(), start, block| {
        check_finite_from(start, block)?;
        Ok(work(block))
    })
}

/// Entry `rule` of every block, side by side.
pub(crate) fn join_blocks(n_classes: usize, n_samples: usize, blocks: &[Vec<Mat<f64>>], rule: usize) -> Mat<f64> {
    let mut all = Mat::zeros(n_classes, n_samples);
    let mut start = 0;
    for block in blocks {
        let block = &block[rule];
        all.subcols_mut(start, block.ncols()).copy_from(block);
        start += block.ncols();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_class_breaks_ties_low_and_ranks_nan_last() {
        let scores = faer::mat![[1.0, f64::NAN, f64::NAN], [1.0, -5.0, f64::NAN], [0.0, -6.0, f64::NAN]];
        assert_eq!(best_class(&scores), [0, 1, 0]);
    }
}
