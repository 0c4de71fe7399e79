//! Parameters that can learn: what a method is.

use crate::params::{self, Params, Preset};
use crate::{Classifier, Dataset, Error, Observer, Parts, Result, State};
use faer::{Mat, MatRef};

/// Parameters that can learn.
pub trait Fit: Params + Send + Sync + 'static {
    /// What is learned.
    type Model: Classifier + 'static;

    /// Name in the registry, on the command line and in model files.
    const KEY: &'static str;

    /// Name in words.
    const TITLE: &'static str;

    /// Where it was published.
    const PAPER: &'static str;

    /// Named parameter sets; the first, if any, is the defaults.
    const PRESETS: &'static [Preset] = &[];

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

    /// True if training uses the [weights](crate::Dataset::weights) of samples.
    const WEIGHTS: bool = false;

    /// True if models have [calibrated probabilities](Classifier::probabilities_block); the scores of the rule in use are then
    /// their logarithms.
    const PROBABILITIES: bool = false;

    /// True if models have a closed form for [`Classifier::export`]; codes that are searched for have none.
    const CLOSED_FORM: bool = false;

    /// True if the scores of a sample have the same bits in any company, so that samples of many users can be scored together: products
    /// treat columns alike, while searches may share work among the samples of a block.
    const INDEPENDENT_SAMPLES: bool = Self::CLOSED_FORM;

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

    /// Learns from valid data with valid parameters, after [`Fit::choose`]: from the beginning, or, in methods that
    /// [iterate](Fit::ITERATES), from the state of one of its iterations. A state leads to the same bits as the beginning; it may
    /// come from a hostile file. Steps and warnings are those of the iterations that are left.
    fn learn(&self, train: &Dataset, from: Option<State>, watch: &mut dyn Observer) -> Result<Self::Model>;

    /// Rebuilds a model from what [`Classifier::store`] put in; the parts may come from a hostile file.
    fn restore(&self, parts: Parts) -> Result<Self::Model>;

    /// What training with these parameters would have given, up to rounding, from a `model` that was trained on `train`
    /// with parameters that differ from these in [`Fit::DECISION`] at most.
    fn redecide(&self, model: &Self::Model, train: &Dataset) -> Result<Self::Model> {
        let _ = train;
        self.restore(model.parts())
    }

    /// Scores of the rule in use from [`Classifier::score_terms_block`] of a model whose parameters differ from these in
    /// [`Fit::READOUT`] at most.
    fn readout(&self, terms: &[Mat<f64>]) -> Mat<f64> {
        terms[0].clone()
    }

    /// Refuses weights that training would not use, then checks the parameters against the data.
    fn check(&self, train: &Dataset) -> Result<()> {
        if train.weights().is_some() && !Self::WEIGHTS {
            return Err(Error::Data(format!("`{}` does not use weights of samples", Self::KEY)));
        }
        self.validate(train)
    }

    /// Refuses a state where no iteration could have left it.
    fn check_resumable() -> Result<()> {
        match Self::ITERATES {
            true => Ok(()),
            false => Err(Error::Data(format!("`{}` does not iterate: there is nothing to resume", Self::KEY))),
        }
    }

    /// Checks everything, then learns.
    fn fit(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<Self::Model> {
        params::check(self)?;
        self.check(train)?;
        self.choose(train, watch)?.learn(train, None, watch)
    }

    /// Checks everything, then goes on from a state that the same parameters left on the same data; `max_iter` may be larger.
    fn resume(&self, train: &Dataset, state: State, watch: &mut dyn Observer) -> Result<Self::Model> {
        Self::check_resumable()?;
        params::check(self)?;
        self.check(train)?;
        self.choose(train, watch)?.learn(train, Some(state), watch)
    }
}

/// Learning from batches that come one after another: a model takes in what a batch says, and the batch can be forgotten.
pub trait Incremental: Fit {
    /// A model of these classes that has seen no sample.
    fn begin(&self, classes: Vec<String>, n_features: usize) -> Result<Self::Model>;

    /// The model after another batch: samples in columns, their classes as indices. All values are finite, and there is one class for each
    /// sample.
    fn learn_more(&self, model: &Self::Model, x: MatRef<'_, f64>, targets: &[usize]) -> Result<Self::Model>;
}
