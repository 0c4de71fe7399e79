//! Partitioned training round by round, with a checkpoint that holds the whole state after each of them.

use crate::checkpoint::{Keeper, existing, refuse_other};
use crate::failure::Failure;
use crate::interrupt;
use atomlearn::scale::{PartialStats, Request, Setup, Trainer};
use atomlearn::{Error, Observer};
use std::path::Path;
use std::time::Duration;

/// A new training, or the one whose state the checkpoint holds.
pub fn open(setup: Setup, checkpoint: Option<&Path>, resume: bool) -> Result<Trainer, Failure> {
    let fresh = |setup| Ok(Trainer::new(setup, "command line".into())?);
    let Some(path) = checkpoint else { return fresh(setup) };
    let Some(bytes) = existing(path, resume)? else { return fresh(setup) };
    let trainer = Trainer::from_bytes(&bytes).map_err(|e| Error::format(path, e.to_string()))?;
    match trainer.differs_from(&setup)? {
        None => Ok(trainer),
        Some(what) => Err(refuse_other(path, &format!("{what} differs"))),
    }
}

/// Asks and answers until there is nothing more to ask; the checkpoint is kept up to date.
pub fn run<W: Observer>(
    trainer: &mut Trainer,
    checkpoint: Option<&Path>,
    watch: &mut W,
    mut answer: impl FnMut(&Request, &mut W) -> Result<PartialStats, Failure>,
) -> Result<(), Failure> {
    // At first after every round.
    let mut keeper = checkpoint.map(|path| Keeper::new(path, Duration::ZERO));
    let mut keep = |trainer: &Trainer, behind: &mut bool, now: bool| match &mut keeper {
        Some(keeper) if *behind && (now || keeper.is_due()) => {
            *behind = false;
            keeper.write(|| trainer.to_bytes())
        }
        _ => Ok(()),
    };
    // There is a state that is not in the file.
    let mut behind = false;
    while let Some(request) = trainer.request()? {
        match answer(&request, watch) {
            Ok(stats) => trainer.absorb(stats, watch)?,
            Err(failure) => {
                keep(trainer, &mut behind, true)?;
                return Err(failure);
            }
        }
        behind = true;
        keep(trainer, &mut behind, false)?;
    }
    Ok(keep(trainer, &mut behind, true)?)
}

/// `Interrupted` once the user has pressed Ctrl-C.
pub fn go_on() -> atomlearn::Result<()> {
    if interrupt::go_on().is_break() { Err(Error::Interrupted) } else { Ok(()) }
}
