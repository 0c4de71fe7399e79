//! The whole abstraction: labelled samples in, one score per class and sample out.

use crate::dataset::check_finite_from;
use crate::export::{Graph, Value};
use crate::linalg::{column, column_major, vectorised};
use crate::params::{self, Params};
use crate::svm::Svm;
use crate::{Blocks, Dataset, Error, Observer, Result, State};
use faer::{Mat, MatRef};
use rayon::prelude::*;
use std::any::Any;
use std::collections::HashMap;

/// Samples scored together; fixed, so that results never depend on the number of threads.
const SCORE_BLOCK: usize = 512;

/// Parameters that can learn.
pub trait Fit: Params + Send + Sync + 'static {
    /// What is learned.
    type Model: Classifier + 'static;

    /// Name in the registry, on the command line and in model files.
    const KEY: &'static str;

    /// Parameters that act after the last iteration only: one training serves all their values, see [`Fit::redecide`].
    const DECISION: &'static [&'static str] = &[];

    /// Those of [`Fit::DECISION`] that combine ready terms of the scores, see [`Fit::readout`].
    const READOUT: &'static [&'static str] = &[];

    /// Parameters that act within iterations only: the model after none of them is the same for all their values.
    const ITERATION: &'static [&'static str] = &[];

    /// True if training iterates: every iteration then offers its [`State`], from which [`Fit::resume`] goes on.
    const ITERATES: bool = false;

    /// True if training leaves samples out by [groups](crate::Dataset::groups) where it leaves any out.
    const LEAVES_GROUPS_OUT: bool = false;

    /// True if models have [calibrated probabilities](Classifier::probabilities_block).
    const PROBABILITIES: bool = false;

    /// Preprocessing where a user asks for none.
    const DEFAULT_PREP: &'static str = "unit";

    /// Words of parameters that preprocessing asked for by a user stands for, unless they are given too.
    const GIVEN_PREP: &'static [(&'static str, &'static str)] = &[];

    /// Checks the parameters against the data; each parameter's own domain is checked before.
    fn validate(&self, train: &Dataset) -> Result<()> {
        let _ = train;
        Ok(())
    }

    /// These parameters with every value that is left open replaced by what the data say; the observer is told. Values that are
    /// given stay, and parameters that leave nothing open come back at once.
    fn choose(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<Self> {
        let _ = (train, watch);
        Ok(self.clone())
    }

    /// These parameters with the documented values in place of what [`Fit::choose`] would choose: for data that leave nothing to
    /// choose by, and for trainings that cannot.
    fn fixed(&self) -> Self {
        self.clone()
    }

    /// Learns from valid data with valid parameters, after [`Fit::choose`].
    fn learn(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<Self::Model>;

    /// What [`Fit::learn`] would have given, to the bit, from the state of one of its iterations; the state may come from a
    /// hostile file. Steps and warnings are those of the iterations that are left.
    fn learn_on(&self, train: &Dataset, state: State, watch: &mut dyn Observer) -> Result<Self::Model> {
        let _ = (train, state, watch);
        Err(Error::Data(format!("`{}` does not iterate: there is nothing to resume", Self::KEY)))
    }

    /// Rebuilds a model from what [`Classifier::parts`] gave; the parts may come from a hostile file.
    fn restore(&self, parts: Parts) -> Result<Self::Model>;

    /// What training with these parameters would have given, up to rounding, from a `model` that was trained on `train`
    /// with parameters that differ from these in [`Fit::DECISION`] at most.
    fn redecide(&self, model: &Self::Model, train: &Dataset) -> Result<Self::Model> {
        let _ = train;
        let parts = model.parts().into_iter().map(|(name, part)| (name.to_string(), part.to_owned()));
        self.restore(Parts::new(model.classes().to_vec(), parts.collect()))
    }

    /// Scores of the rule in use from [`Classifier::score_terms_block`] of a model whose parameters differ from these in
    /// [`Fit::READOUT`] at most.
    fn readout(&self, terms: &[Mat<f64>]) -> Mat<f64> {
        terms[0].clone()
    }

    /// Checks everything, then learns.
    fn fit(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<Self::Model> {
        params::check(self)?;
        self.validate(train)?;
        self.choose(train, watch)?.learn(train, watch)
    }

    /// Checks everything, then goes on from a state that the same parameters left on the same data; `max_iter` may be larger.
    fn resume(&self, train: &Dataset, state: State, watch: &mut dyn Observer) -> Result<Self::Model> {
        params::check(self)?;
        self.validate(train)?;
        self.choose(train, watch)?.learn_on(train, state, watch)
    }
}

/// A learned model: immutable, and usable from many threads at once.
pub trait Classifier: Any + Send + Sync {
    /// Number of features a sample must have.
    fn n_features(&self) -> usize;

    /// Class names in score order.
    fn classes(&self) -> &[String];

    /// Everything that was learned, by name; with the parameters, enough to rebuild the model.
    fn parts(&self) -> Vec<(&'static str, MatRef<'_, f64>)>;

    /// The decision rules this model can score with; [`Classifier::score_block`] uses [`Classifier::rule`].
    fn rules(&self) -> &'static [&'static str];

    /// The rule in use.
    fn rule(&self) -> &'static str {
        self.rules()[0]
    }

    /// Scores of every rule in the order of [`Classifier::rules`], each classes x samples, larger = more likely.
    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>>;

    /// Scores of the rule in use.
    fn score_block(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        let in_use = self.rules().iter().position(|&rule| rule == self.rule()).unwrap_or(0);
        self.score_rules_block(x).swap_remove(in_use)
    }

    /// What [`Fit::readout`] makes scores of the rule in use from; each classes x samples.
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
    fn export(&self, graph: &mut Graph, x: &Value) -> Result<Value> {
        let _ = (graph, x);
        Err(Error::Data(format!(
            "this method has no ONNX form: its decision is a search (sparse codes, nearest samples) that standard \
             operators cannot express; these have one: {}",
            crate::export::METHODS.join(", ")
        )))
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
        let blocks = checked_blocks(self.n_features(), x, &|block| best_class(self.score_block(block).as_ref()))?;
        Ok(blocks.concat())
    }
}

/// Row of the largest score of every column; ties go to the lower class, NaN ranks last.
pub fn best_class(scores: MatRef<'_, f64>) -> Vec<usize> {
    let mut copy = None;
    let scores = column_major(scores, &mut copy);
    let mut best = Vec::with_capacity(scores.ncols());
    vectorised(
        #[inline(always)]
        || {
            for j in 0..scores.ncols() {
                best.push(first_largest(column(scores, j)));
            }
        },
    );
    best
}

/// Position of the largest value, eight at a time so that it vectorises; the first of equals, 0 if all are NaN.
#[inline(always)]
fn first_largest(values: &[f64]) -> usize {
    let larger = |held: f64, new: f64| if new > held { new } else { held };
    let mut tops = [f64::NEG_INFINITY; 8];
    let eights = values.chunks_exact(8);
    let rest = eights.remainder().iter().fold(f64::NEG_INFINITY, |top, &v| larger(top, v));
    for eight in eights {
        for l in 0..8 {
            tops[l] = larger(tops[l], eight[l]);
        }
    }
    let top = tops.into_iter().fold(rest, larger);
    values.iter().position(|&v| v == top).unwrap_or(0)
}

/// Refuses samples of another number of features than in training.
pub(crate) fn check_features(n_features: usize, x: MatRef<'_, f64>) -> Result<()> {
    if x.nrows() == n_features {
        return Ok(());
    }
    Err(Error::Shape {
        what: "features per sample".into(),
        expected: format!("{n_features}, as in training"),
        found: x.nrows().to_string(),
    })
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

/// Named matrices of a model on their way out of a file: taken by name, with their shapes checked.
#[derive(Debug)]
pub struct Parts {
    /// Class names.
    pub classes: Vec<String>,
    /// Whose parts they are, for errors.
    of: &'static str,
    matrices: HashMap<String, Mat<f64>>,
}

impl Parts {
    /// Parts from their names and matrices.
    pub fn new(classes: Vec<String>, matrices: HashMap<String, Mat<f64>>) -> Self {
        Self::of("model", classes, matrices)
    }

    /// Parts of something that is no model.
    pub(crate) fn of(of: &'static str, classes: Vec<String>, matrices: HashMap<String, Mat<f64>>) -> Self {
        Parts { classes, of, matrices }
    }

    /// What nobody took.
    pub(crate) fn into_rest(self) -> HashMap<String, Mat<f64>> {
        self.matrices
    }

    /// Takes a matrix of any shape.
    pub fn take(&mut self, name: &str) -> Result<Mat<f64>> {
        self.matrices.remove(name).ok_or_else(|| Error::Data(format!("the {} has no part `{name}`", self.of)))
    }

    /// Takes a matrix that must have exactly this shape; `None` leaves a side open.
    pub fn take_shaped(
        &mut self,
        name: &str,
        rows: impl Into<Option<usize>>,
        cols: impl Into<Option<usize>>,
    ) -> Result<Mat<f64>> {
        let matrix = self.take(name)?;
        let (rows, cols) = (rows.into(), cols.into());
        if rows.is_some_and(|rows| rows != matrix.nrows()) || cols.is_some_and(|cols| cols != matrix.ncols()) {
            let side = |size: Option<usize>| size.map_or("any".to_string(), |size| size.to_string());
            return Err(Error::Shape {
                what: format!("{} part `{name}`", self.of),
                expected: format!("{} x {}", side(rows), side(cols)),
                found: format!("{} x {}", matrix.nrows(), matrix.ncols()),
            });
        }
        Ok(matrix)
    }

    /// Takes a row of numbers, of this length if it is given.
    pub fn take_row(&mut self, name: &str, len: impl Into<Option<usize>>) -> Result<Vec<f64>> {
        Ok(self.take_shaped(name, 1, len)?.row(0).iter().copied().collect())
    }

    /// Takes a row of counts or indices, each at most `largest`.
    pub fn take_whole_row(&mut self, name: &str, len: impl Into<Option<usize>>, largest: usize) -> Result<Vec<usize>> {
        let whole = |v: f64| (v >= 0.0 && v.fract() == 0.0 && v <= largest as f64).then_some(v as usize);
        let row: Option<Vec<usize>> = self.take_row(name, len)?.into_iter().map(whole).collect();
        row.ok_or_else(|| {
            Error::Data(format!("{} part `{name}` is not a list of whole numbers up to {largest}", self.of))
        })
    }

    /// Takes `svm_weights` (dim x classes) and `svm_bias` (1 x classes); `dim` is checked where it is known.
    pub fn take_svm(&mut self, dim: Option<usize>) -> Result<Svm> {
        let weights = self.take_shaped("svm_weights", dim, self.classes.len())?;
        let bias = self.take_row("svm_bias", self.classes.len())?;
        Ok(Svm { weights, bias })
    }

    /// Takes a 1 x C row of block sizes that must add up to `total`; the counterpart of [`sizes_row`].
    pub fn take_blocks(&mut self, name: &str, total: usize) -> Result<Blocks> {
        let sizes = self.take_whole_row(name, self.classes.len(), total)?;
        if sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size)) != Some(total) {
            let of = self.of;
            return Err(Error::Data(format!("{of} part `{name}` is not a list of sizes that add up to {total}")));
        }
        Ok(Blocks::from_sizes(sizes))
    }
}

/// Block sizes as a 1 x C matrix, so that they can be a model part.
pub fn sizes_row(blocks: &Blocks) -> Mat<f64> {
    let sizes: Vec<usize> = blocks.sizes().collect();
    Mat::from_fn(1, sizes.len(), |_, c| sizes[c] as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_class_breaks_ties_low_and_ranks_nan_last() {
        let scores = faer::mat![[1.0, f64::NAN, f64::NAN], [1.0, -5.0, f64::NAN], [0.0, -6.0, f64::NAN]];
        assert_eq!(best_class(scores.as_ref()), [0, 1, 0]);
    }

    #[test]
    fn hostile_block_sizes_are_refused() {
        let with = |row: &[f64]| {
            let matrix = Mat::from_fn(1, row.len(), |_, c| row[c]);
            let mut parts = Parts::new(vec!["a".into(), "b".into()], HashMap::from([("sizes".to_string(), matrix)]));
            parts.take_blocks("sizes", 3)
        };
        assert_eq!(with(&[1.0, 2.0]).unwrap().total(), 3);
        for bad in [&[1.0][..], &[1.0, 1.0], &[-1.0, 4.0], &[1.5, 1.5], &[f64::NAN, 3.0], &[1e300, 3.0]] {
            assert!(with(bad).is_err(), "{bad:?}");
        }
    }
}
