//! Training round by round, with a checkpoint that holds the whole state after each of them.

use crate::failure::Failure;
use crate::interrupt;
use crate::progress::TrainWatch;
use atomlearn::file::write_atomically;
use atomlearn::registry::{Method, Values};
use atomlearn::scale::{Arrays, METHODS, Memo, PartialStats, Request, Setup, Trainer};
use atomlearn::{Classifier, Dataset, Error, Observer};
use std::path::Path;

/// True if the method can be stopped after any round and resumed.
pub fn resumable(method: &Method) -> bool {
    METHODS.contains(&method.key)
}

/// A new training, or the one whose state the checkpoint holds.
pub fn open(setup: Setup, checkpoint: Option<&Path>, resume: bool) -> Result<Trainer, Failure> {
    let Some(path) = checkpoint.filter(|path| path.exists()) else {
        return Ok(Trainer::new(setup, "command line".into())?);
    };
    if !resume {
        return Err(Failure::usage(format!(
            "{} exists already; add --resume to go on with it, or name another file",
            path.display()
        )));
    }
    let bytes = std::fs::read(path).map_err(Error::io(path))?;
    let trainer = Trainer::from_bytes(&bytes).map_err(|e| Error::format(path, e.to_string()))?;
    match trainer.differs_from(&setup)? {
        None => Ok(trainer),
        Some(what) => Err(Failure::usage(format!(
            "{}: the checkpoint is of another training, {what} differs; give the same flags, or name another file",
            path.display()
        ))),
    }
}

/// Asks and answers until there is nothing more to ask; the checkpoint is written after every round.
pub fn run<W: Observer>(
    trainer: &mut Trainer,
    checkpoint: Option<&Path>,
    watch: &mut W,
    mut answer: impl FnMut(&Request, &mut W) -> Result<PartialStats, Failure>,
) -> Result<(), Failure> {
    while let Some(request) = trainer.request()? {
        let stats = answer(&request, watch)?;
        trainer.absorb(stats, watch)?;
        if let Some(path) = checkpoint {
            write_atomically(path, &trainer.to_bytes()?)?;
        }
    }
    Ok(())
}

/// `Interrupted` once the user has pressed Ctrl-C. The state before the present round is in the checkpoint already.
pub fn go_on() -> atomlearn::Result<()> {
    if interrupt::go_on().is_break() { Err(Error::Interrupted) } else { Ok(()) }
}

/// Learns from prepared samples in memory so that it can be resumed; `data` names them. Steps of earlier runs are part of the
/// trace.
pub fn learn(
    method: &'static Method,
    params: &Values,
    train: &Dataset,
    data: String,
    (checkpoint, resume): (&Path, bool),
    watch: &mut TrainWatch<'_>,
) -> Result<Box<dyn Classifier>, Failure> {
    let labels: Vec<String> = train.targets().iter().map(|&c| train.classes()[c].clone()).collect();
    let arrays = Arrays::new(train.x(), &labels);
    let setup = Setup {
        method: method.key.into(),
        params: params.clone(),
        // The samples are prepared already.
        prep: "none".parse()?,
        partitions: arrays.partitions,
        n_features: train.n_features(),
        data,
    };
    let mut trainer = open(setup, Some(checkpoint), resume)?;
    let mut memos: Vec<Memo> = Vec::new();
    run(&mut trainer, Some(checkpoint), watch, |request, _| Ok(arrays.answer(request, &mut memos, |_| go_on())?))?;
    watch.trace = trainer.trace().clone();
    let model = trainer.model()?.ok_or_else(|| Failure::failed("training ended without a model"))?;
    Ok(model.into_classifier())
}
