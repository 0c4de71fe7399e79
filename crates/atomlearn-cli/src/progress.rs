//! Progress bars on stderr, and only on a terminal.

use crate::checkpoint::KeptState;
use crate::console::Console;
use crate::interrupt;
use atomlearn::observe::Trace;
use atomlearn::{Observer, Step};
use atomlearn_lab::compare::{ExperimentObserver, Run};
use atomlearn_lab::provenance::Origin;
use atomlearn_lab::record::Record;
use atomlearn_lab::tables::percent;
use atomlearn_lab::tune;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn bar(template: &str) -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

fn iteration_text(step: &Step<'_>) -> String {
    let objective = step.objective.map_or(String::new(), |value| format!("objective {value:.6e}"));
    let change = step.change.map_or(String::new(), |value| format!("  change {value:.1e}"));
    objective + &change
}

/// Watches one training: a bar, warnings, Ctrl-C, checkpoints.
pub struct TrainWatch<'a> {
    /// Steps and warnings.
    pub trace: Trace,
    /// True if training was stopped early by the user.
    pub stopped: bool,
    /// The first checkpoint that could not be written.
    pub error: Option<atomlearn::Error>,
    /// Where the state is kept.
    pub checkpoint: Option<KeptState<'a>>,
    bar: ProgressBar,
    _watched: interrupt::Watched,
}

impl<'a> TrainWatch<'a> {
    /// Begins to watch; `trace` is what was seen before a break.
    pub fn new(console: &Console, what: &str, trace: Trace, checkpoint: Option<KeptState<'a>>) -> Self {
        let bar = if console.bars() {
            bar("{prefix} [{bar:24}] {pos}/{len}, {elapsed} (ETA {eta})  {wide_msg}")
        } else {
            ProgressBar::hidden()
        };
        bar.set_prefix(what.to_string());
        TrainWatch { trace, stopped: false, error: None, checkpoint, bar, _watched: interrupt::watched() }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for TrainWatch<'_> {
    fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
        let _ = self.trace.step(step);
        self.bar.set_length(step.max_iter as u64);
        self.bar.set_position(step.iter as u64);
        self.bar.set_message(iteration_text(step));
        let flow = interrupt::go_on();
        self.stopped |= flow.is_break();
        if let (Some(checkpoint), Some(state)) = (&mut self.checkpoint, step.state)
            && let Err(error) = checkpoint.keep(step.last || flow.is_break(), &self.trace, state)
        {
            self.error = Some(error);
            return ControlFlow::Break(());
        }
        flow
    }

    fn progress(&mut self, done: usize, total: usize) -> ControlFlow<()> {
        self.bar.set_length(total as u64);
        self.bar.set_position(done as u64);
        let flow = interrupt::go_on();
        self.stopped |= flow.is_break();
        flow
    }

    fn note(&mut self, note: &str) {
        self.trace.note(note);
    }

    fn warn(&mut self, warning: &str) {
        self.trace.warn(warning);
    }
}

/// Watches an experiment: one bar for all runs, one for those of the present split, one for the present run.
pub struct CompareWatch {
    runs: ProgressBar,
    split: ProgressBar,
    inner: ProgressBar,
    begun: bool,
    look_inside: bool,
    origin: Origin,
    _watched: interrupt::Watched,
}

impl CompareWatch {
    /// Begins to watch; `look_inside` asks for what only a report needs.
    pub fn new(console: &Console, look_inside: bool, origin: Origin) -> Self {
        let (runs, split, inner) = if console.bars() {
            let bars = MultiProgress::new();
            let runs = bars.add(bar("[{bar:24}] {pos}/{len} runs, {elapsed} (ETA {eta})  {wide_msg}"));
            let split = bars.add(bar("  [{bar:22}] {prefix}: method {pos} of {len}, {wide_msg}"));
            let inner = bars.add(bar("    [{bar:20}] {pos}/{len} {prefix}, {elapsed} (ETA {eta})  {wide_msg}"));
            runs.enable_steady_tick(Duration::from_millis(200));
            (runs, split, inner)
        } else {
            (ProgressBar::hidden(), ProgressBar::hidden(), ProgressBar::hidden())
        };
        CompareWatch { runs, split, inner, begun: false, look_inside, origin, _watched: interrupt::watched() }
    }

    /// Takes the bars away.
    pub fn finish(&self) {
        [&self.inner, &self.split, &self.runs].iter().for_each(|bar| bar.finish_and_clear());
    }

    fn inner(&self, what: &'static str, done: usize, total: usize) {
        if self.inner.prefix() != what {
            self.inner.reset();
            self.inner.set_prefix(what);
        }
        self.inner.set_length(total as u64);
        self.inner.set_position(done as u64);
    }
}

impl ExperimentObserver for CompareWatch {
    fn begin(&mut self, run: Run<'_>) {
        let methods = run.total / run.splits.max(1);
        self.runs.set_length(run.total as u64);
        self.runs.set_position(run.done as u64);
        if !std::mem::replace(&mut self.begun, true) {
            // What was taken from records says nothing about the time that is left.
            self.runs.reset_eta();
        }
        self.split.set_prefix(format!("split {} of {}", run.split + 1, run.splits));
        self.split.set_length(methods as u64);
        self.split.set_position((run.done % methods.max(1)) as u64 + 1);
        self.split.set_message(run.method.to_string());
        self.inner.set_prefix("");
        self.inner.set_message("");
    }

    fn tuning(&mut self, _run: Run<'_>, done: usize, total: usize) {
        self.inner("trainings on folds", done, total);
    }

    fn step(&mut self, _run: Run<'_>, step: &Step<'_>) -> ControlFlow<()> {
        self.inner("iterations", step.iter, step.max_iter);
        self.inner.set_message(iteration_text(step));
        interrupt::go_on()
    }

    fn progress(&mut self, _run: Run<'_>, done: usize, total: usize) -> ControlFlow<()> {
        self.inner("parts", done, total);
        interrupt::go_on()
    }

    fn end(&mut self, run: Run<'_>, record: &Record) {
        self.runs.set_length(run.total as u64);
        self.runs.set_position(run.done as u64 + 1);
        if let Some(outcome) = record.rules.iter().find(|outcome| outcome.rule == record.rule) {
            self.runs.set_message(format!("last: {} {} %", record.method, percent(outcome.accuracy)));
        }
    }

    /// One split is enough to show how training goes, and the others stay fast.
    fn look_inside(&mut self, run: Run<'_>) -> bool {
        self.look_inside && run.split == 0
    }

    fn origin(&self) -> Origin {
        self.origin.clone()
    }

    fn go_on(&mut self) -> ControlFlow<()> {
        interrupt::go_on()
    }
}

/// Watches features being made: one bar for each stage.
pub struct FeatureBar {
    bar: ProgressBar,
    deadline: Option<Instant>,
    _watched: interrupt::Watched,
}

impl FeatureBar {
    /// Begins to watch.
    pub fn new(console: &Console) -> Self {
        let bar = if console.bars() {
            bar("{prefix} [{bar:24}] {pos}/{len}, {elapsed} (ETA {eta})")
        } else {
            ProgressBar::hidden()
        };
        FeatureBar { bar, deadline: None, _watched: interrupt::watched() }
    }

    /// As [`FeatureBar::new`]; after the deadline the work is stopped.
    pub fn until(deadline: Option<Instant>, console: &Console) -> Self {
        FeatureBar { deadline, ..FeatureBar::new(console) }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl atomlearn_features::ImageObserver for FeatureBar {
    fn begin(&self, stage: &str, steps: usize) {
        self.bar.reset();
        self.bar.set_prefix(stage.to_string());
        self.bar.set_length(steps as u64);
    }

    fn advance(&self) {
        self.bar.inc(1);
    }

    fn go_on(&self) -> ControlFlow<()> {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return ControlFlow::Break(());
        }
        interrupt::go_on()
    }
}

/// Watches a tuning: one bar for the trainings on all folds.
pub struct TuneBar {
    units: ProgressBar,
    begun: AtomicBool,
    _watched: interrupt::Watched,
}

impl TuneBar {
    /// Begins to watch.
    pub fn new(console: &Console, what: &str) -> Self {
        let units = if console.bars() {
            bar("{prefix} [{bar:24}] {pos}/{len} trainings on folds, {elapsed} (ETA {eta})")
        } else {
            ProgressBar::hidden()
        };
        units.set_prefix(what.to_string());
        TuneBar { units, begun: AtomicBool::new(false), _watched: interrupt::watched() }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.units.finish_and_clear();
    }
}

impl tune::TuneObserver for TuneBar {
    fn units(&self, done: usize, total: usize) {
        self.units.set_length(total as u64);
        self.units.set_position(done as u64);
        if !self.begun.swap(true, Ordering::SeqCst) {
            self.units.reset_eta();
            self.units.enable_steady_tick(Duration::from_millis(200));
        }
    }

    fn go_on(&self) -> ControlFlow<()> {
        interrupt::go_on()
    }
}
