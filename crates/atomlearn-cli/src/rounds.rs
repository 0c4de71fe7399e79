//! Training round by round, with a checkpoint that holds the whole state after each of them.

use crate::failure::Failure;
use crate::interrupt;
use crate::progress::TrainWatch;
use atomlearn::file::write_atomically;
use atomlearn::registry::{Method, Values};
use atomlearn::scale::{Arrays, METHODS, Memo, PartialStats, Request, Setup, Trainer};
use atomlearn::{Classifier, Dataset, Error, Observer};
use std::path::Path;
use std::time::Instant;

/// Between two checkpoints lies at least so many times what it takes to write one.
const PAUSE: u32 = 20;

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

/// Asks and answers until there is nothing more to ask; the checkpoint is kept up to date.
pub fn run<W: Observer>(
    trainer: &mut Trainer,
    checkpoint: Option<&Path>,
    watch: &mut W,
    mut answer: impl FnMut(&Request, &mut W) -> Result<PartialStats, Failure>,
) -> Result<(), Failure> {
    let mut keeper = Keeper { checkpoint, due: Instant::now(), behind: false };
    while let Some(request) = trainer.request()? {
        match answer(&request, watch) {
            Ok(stats) => trainer.absorb(stats, watch)?,
            Err(failure) => {
                keeper.keep(trainer)?;
                return Err(failure);
            }
        }
        keeper.behind = true;
        if keeper.due <= Instant::now() {
            keeper.keep(trainer)?;
        }
    }
    keeper.keep(trainer)
}

/// Writes checkpoints: at first after every round, and so seldom that it costs a twentieth of the time where states are large.
struct Keeper<'a> {
    checkpoint: Option<&'a Path>,
    due: Instant,
    /// There is a state that is not in the file.
    behind: bool,
}

impl Keeper<'_> {
    fn keep(&mut self, trainer: &Trainer) -> Result<(), Failure> {
        let Some(path) = self.checkpoint.filter(|_| self.behind) else { return Ok(()) };
        let start = Instant::now();
        write_atomically(path, &trainer.to_bytes()?)?;
        (self.behind, self.due) = (false, Instant::now() + PAUSE * start.elapsed());
        Ok(())
    }
}

/// `Interrupted` once the user has pressed Ctrl-C.
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
