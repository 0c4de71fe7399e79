//! Checkpoints: when they are written, and those of training in memory.

use crate::failure::Failure;
use atomlearn::checkpoint::{Checkpoint, Training};
use atomlearn::file::write_atomically;
use atomlearn::observe::Trace;
use atomlearn::registry::Values;
use atomlearn::{Error, State};
use std::path::Path;
use std::time::{Duration, Instant};

/// Between two checkpoints lies at least so many times what it takes to write one.
const PAUSE: u32 = 20;
/// Training in memory is not interrupted earlier for a checkpoint: so little is done again as fast.
const FIRST: Duration = Duration::from_secs(1);

/// The bytes of a checkpoint to go on from, if there is one. Without `resume` there may be none.
pub fn existing(path: &Path, resume: bool) -> Result<Option<Vec<u8>>, Failure> {
    if !path.exists() {
        return Ok(None);
    }
    if !resume {
        return Err(Failure::usage(format!(
            "{} exists already; add --resume to go on with it, or name another file",
            path.display()
        )));
    }
    Ok(Some(std::fs::read(path).map_err(Error::io(path))?))
}

/// Refuses a checkpoint that `differs` from what is to be trained.
pub fn refuse_other(path: &Path, differs: &str) -> Failure {
    Failure::usage(format!(
        "{}: the checkpoint is of another training, {differs}; give the same flags, or name another file",
        path.display()
    ))
}

/// The checkpoint of a training in memory, if there is one to go on from.
pub fn read(path: &Path, resume: bool) -> Result<Option<Checkpoint>, Failure> {
    let Some(bytes) = existing(path, resume)? else { return Ok(None) };
    Ok(Some(Checkpoint::from_bytes(&bytes).map_err(|e| Error::format(path, e.to_string()))?))
}

/// Writes a file so seldom that it costs a twentieth of the time.
pub struct Keeper<'a> {
    path: &'a Path,
    due: Instant,
}

impl<'a> Keeper<'a> {
    /// The first time after a while.
    pub fn new(path: &'a Path, first: Duration) -> Self {
        Keeper { path, due: Instant::now() + first }
    }

    /// True if enough time has passed since the last time.
    pub fn is_due(&self) -> bool {
        self.due <= Instant::now()
    }

    /// Makes the bytes and writes them.
    pub fn write(&mut self, bytes: impl FnOnce() -> atomlearn::Result<Vec<u8>>) -> atomlearn::Result<()> {
        let start = Instant::now();
        write_atomically(self.path, &bytes()?)?;
        self.due = Instant::now() + PAUSE * start.elapsed();
        Ok(())
    }
}

/// Where a training in memory begins, and where its state is kept.
#[derive(Default)]
pub struct Begin<'a> {
    /// What was seen before a break.
    pub trace: Trace,
    /// What was chosen from the data before it.
    pub chosen: Values,
    /// The state to go on from.
    pub state: Option<State>,
    /// Where it is kept.
    pub kept: Option<KeptState<'a>>,
}

impl<'a> Begin<'a> {
    /// Goes on from the checkpoint that is `held`, if it is one of this training.
    pub fn new(path: &'a Path, training: Training, held: Option<Checkpoint>) -> Result<Self, Failure> {
        if let Some(differs) = held.as_ref().and_then(|held| held.training.differs_from(&training)) {
            return Err(refuse_other(path, &differs));
        }
        let kept = KeptState { training, keeper: Keeper::new(path, FIRST), written: held.is_some() };
        let Some(Checkpoint { training: before, trace, state }) = held else {
            return Ok(Begin { kept: Some(kept), ..Begin::default() });
        };
        // Who trains longer than before gets what a training of that length chooses.
        let same = before.params == kept.training.params;
        let chosen = if same { before.chosen } else { Values::new() };
        Ok(Begin { trace, chosen, state: Some(state), kept: Some(kept) })
    }
}

/// Keeps the state of a training in memory.
pub struct KeptState<'a> {
    training: Training,
    keeper: Keeper<'a>,
    /// True if there is a file.
    pub written: bool,
}

impl KeptState<'_> {
    /// Keeps what was chosen from the data too.
    pub fn with_chosen(&mut self, chosen: &Values) {
        self.training.chosen = chosen.clone();
    }

    /// Writes the state if it must be kept `now` or it is time.
    pub fn keep(&mut self, now: bool, trace: &Trace, state: &dyn Fn() -> State) -> atomlearn::Result<()> {
        if now || self.keeper.is_due() {
            self.keeper.write(|| self.training.to_bytes(trace, &state()))?;
            self.written = true;
        }
        Ok(())
    }
}
