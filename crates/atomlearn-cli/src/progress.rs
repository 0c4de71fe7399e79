//! Progress bars on stderr, and only on a terminal.

use crate::console::Console;
use crate::interrupt;
use atomlearn::observe::Trace;
use atomlearn::{Classifier, Observer, Step};
use atomlearn_lab::compare::{Run, Watch};
use atomlearn_lab::record::Record;
use atomlearn_lab::tables::percent;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::ops::ControlFlow;
use std::time::Duration;

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

/// What to do with the model as it stands after an iteration.
pub type Checkpoint<'a> = dyn FnMut(usize, Box<dyn Classifier>) -> atomlearn::Result<()> + 'a;

/// Watches one training: a bar, warnings, Ctrl-C, checkpoints.
pub struct TrainWatch<'a> {
    /// Steps and warnings.
    pub trace: Trace,
    /// True if training was stopped early by the user.
    pub stopped: bool,
    /// The first checkpoint that could not be written.
    pub error: Option<atomlearn::Error>,
    checkpoint: Option<&'a mut Checkpoint<'a>>,
    bar: ProgressBar,
    _watched: interrupt::Watched,
}

impl<'a> TrainWatch<'a> {
    /// Begins to watch.
    pub fn new(console: &Console, what: &str, checkpoint: Option<&'a mut Checkpoint<'a>>) -> Self {
        let bar = if console.bars() {
            bar("{prefix} [{bar:24}] {pos}/{len} iterations, {elapsed} (left {eta})  {wide_msg}")
        } else {
            ProgressBar::hidden()
        };
        bar.set_prefix(what.to_string());
        TrainWatch {
            trace: Trace::default(),
            stopped: false,
            error: None,
            checkpoint,
            bar,
            _watched: interrupt::watched(),
        }
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
        if let (Some(save), Some(model)) = (&mut self.checkpoint, step.model)
            && let Err(error) = model().and_then(|model| save(step.iter, model))
        {
            self.error = Some(error);
            return ControlFlow::Break(());
        }
        let flow = interrupt::go_on();
        self.stopped |= flow.is_break();
        flow
    }

    fn warn(&mut self, warning: &str) {
        self.trace.warn(warning);
    }
}

/// Watches an experiment: one bar for the runs, one for the iterations of the present run.
pub struct CompareWatch {
    runs: ProgressBar,
    iterations: ProgressBar,
    look_inside: bool,
    _watched: interrupt::Watched,
}

impl CompareWatch {
    /// Begins to watch; `look_inside` asks for what only a report needs.
    pub fn new(console: &Console, look_inside: bool) -> Self {
        let (runs, iterations) = if console.bars() {
            let bars = MultiProgress::new();
            let runs = bars.add(bar("[{bar:24}] {pos}/{len} runs, {elapsed} (left {eta})  {wide_msg}"));
            let iterations = bars.add(bar("  {prefix:28} {pos}/{len} iterations  {wide_msg}"));
            runs.enable_steady_tick(Duration::from_millis(200));
            (runs, iterations)
        } else {
            (ProgressBar::hidden(), ProgressBar::hidden())
        };
        CompareWatch { runs, iterations, look_inside, _watched: interrupt::watched() }
    }

    /// Takes the bars away.
    pub fn finish(&self) {
        self.iterations.finish_and_clear();
        self.runs.finish_and_clear();
    }
}

impl Watch for CompareWatch {
    fn begin(&mut self, run: Run<'_>) {
        self.runs.set_length(run.total as u64);
        self.runs.set_position(run.done as u64);
        self.iterations.set_length(0);
        self.iterations.set_position(0);
        self.iterations.set_message("");
        self.iterations.set_prefix(format!("{}, split {}", run.method, run.split + 1));
    }

    fn step(&mut self, _run: Run<'_>, step: &Step<'_>) -> ControlFlow<()> {
        self.iterations.set_length(step.max_iter as u64);
        self.iterations.set_position(step.iter as u64);
        self.iterations.set_message(iteration_text(step));
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

    fn go_on(&mut self) -> ControlFlow<()> {
        interrupt::go_on()
    }
}
