//! `train --out-of-core`: data that do not fit into memory, read one partition at a time.

use crate::console::Console;
use crate::failure::Failure;
use crate::{interrupt, rounds};
use atomlearn::info::DataInfo;
use atomlearn::io::ReadOptions;
use atomlearn::prep::PrepSpec;
use atomlearn::registry::Values;
use atomlearn::scale::files::Plan;
use atomlearn::scale::{Memo, PartialStats, Setup, Trainer};
use atomlearn::{Error, Model, Observer};
use atomlearn_lab::provenance;
use atomlearn_lab::tables::seconds;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Memory that the program itself, the sums and the merging take.
const OWN_MEMORY: usize = 128 << 20;

/// Flags of training on more samples than fit into memory.
#[derive(clap::Args)]
#[command(next_help_heading = "Out-of-core options")]
pub struct ScaleArgs {
    /// Read the samples one partition at a time; DATA is a .npy of any size or a folder of shards (see docs/howto/scale.md)
    #[arg(long)]
    pub out_of_core: bool,
    /// Most memory to use; training is refused where the partitions are too large for it
    #[arg(long, value_name = "SIZE", value_parser = memory, default_value = "2GiB", requires = "out_of_core")]
    max_memory: usize,
    /// Number of partitions; the same number gives the same bits [default: by the size of the data]
    #[arg(long, value_name = "N", value_parser = crate::args::at_least_one, requires = "out_of_core")]
    partitions: Option<usize>,
    /// Go on from the checkpoint, if it is there; also without --out-of-core
    #[arg(long, requires = "checkpoint")]
    pub resume: bool,
}

/// One training.
pub struct Job<'a> {
    /// Where the samples are.
    pub data: &'a Path,
    /// How to read them.
    pub options: ReadOptions,
    /// Key of the method.
    pub method: &'a str,
    /// Its parameters.
    pub params: Values,
    /// Preprocessing.
    pub prep: PrepSpec,
    /// Model file to write.
    pub output: &'a Path,
    /// File that keeps the state after every round.
    pub checkpoint: Option<&'a PathBuf>,
}

impl ScaleArgs {
    /// Trains and writes the model.
    pub fn run(&self, job: Job<'_>, console: &Console) -> Result<(), Failure> {
        let plan = Plan::new(job.data, &job.options, self.partitions, true)?;
        crate::data::tell(&plan.notes, console);
        self.check_memory(&plan)?;
        let setup = Setup {
            method: job.method.into(),
            params: job.params.clone(),
            prep: job.prep.clone(),
            partitions: plan.pieces.len(),
            n_features: plan.n_features,
            data: plan.digest.clone(),
        };
        let checkpoint = job.checkpoint.map(PathBuf::as_path);
        let mut trainer = rounds::open(setup, checkpoint, self.resume)?;
        let start = Instant::now();
        let _watched = interrupt::watched();
        let mut watch = Watch { console, bar: bar(console, plan.pieces.len()), passes: 0, samples: 0, since: start };
        let mut memos: Vec<Memo> = Vec::new();
        let room = self.max_memory.saturating_sub(OWN_MEMORY);
        let mut total = trainer.samples();
        rounds::run(&mut trainer, checkpoint, &mut watch, |request, watch| {
            watch.bar.set_position(0);
            check_memos(request.remembered().saturating_mul(total as usize), room.saturating_sub(plan.largest()))?;
            let stats = plan.answer(request, &mut memos, |stats| {
                watch.samples += stats.samples();
                watch.bar.inc(1);
                check_shard(&plan, stats, room)?;
                rounds::go_on()
            });
            watch.passes += 1;
            let stats = stats.inspect_err(|_| watch.bar.finish_and_clear())?;
            total = stats.samples();
            Ok(stats)
        })?;
        watch.bar.finish_and_clear();
        let mut model = trainer.model()?.ok_or_else(|| Failure::failed("training ended without a model"))?;
        finish(&mut model, &job, &plan, trainer.samples());
        model.save(job.output)?;
        report(&trainer, &job, &plan, start.elapsed().as_secs_f64(), console)
    }

    fn check_memory(&self, plan: &Plan) -> Result<(), Failure> {
        let room = self.max_memory.saturating_sub(OWN_MEMORY);
        if plan.largest() <= room {
            return Ok(());
        }
        if room == 0 {
            let least = OWN_MEMORY >> 20;
            return Err(Failure::usage(format!(
                "--max-memory: the program itself takes up to {least} MiB; give it more"
            )));
        }
        Err(Failure::usage(format!(
            "the largest partition needs about {} MiB, and --max-memory leaves {} MiB: use --partitions {} or more (for .npy; \
             cut other shards into smaller files), or raise --max-memory",
            plan.largest() >> 20,
            room >> 20,
            plan.partitions_within(room)
        )))
    }
}

/// Methods whose codes depend on their predecessors remember them between rounds.
fn check_memos(needs: usize, room: usize) -> Result<(), Failure> {
    if needs <= room {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "the codes of all samples, which this method remembers, need {} MiB, and --max-memory leaves {} MiB: use fewer atoms \
         (--set atoms_per_class=N) or raise --max-memory",
        needs >> 20,
        room >> 20
    )))
}

/// How many samples a file has that is read as a whole is known when it has been read.
fn check_shard(plan: &Plan, stats: &PartialStats, room: usize) -> atomlearn::Result<()> {
    let needs = plan.bytes_of(stats.samples() as usize);
    if needs <= room {
        return Ok(());
    }
    Err(Error::Data(format!(
        "a partition of {} samples needs about {} MiB, and --max-memory leaves {} MiB: cut the shards into smaller files, or raise \
         --max-memory",
        stats.samples(),
        needs >> 20,
        room >> 20
    )))
}

/// What travels with the model.
fn finish(model: &mut Model, job: &Job<'_>, plan: &Plan, samples: u64) {
    let name = job.data.file_name().map_or_else(String::new, |name| name.to_string_lossy().into());
    model.info.set_origin(env!("CARGO_PKG_VERSION"), &provenance::time());
    model.info.set_data(&DataInfo { name, sha256: plan.digest.clone(), samples });
    model.schema = plan.schema.as_deref().cloned();
}

fn report(trainer: &Trainer, job: &Job<'_>, plan: &Plan, took: f64, console: &Console) -> Result<(), Failure> {
    let (rounds, samples, trace) = (trainer.progress().rounds, trainer.samples(), trainer.trace());
    trace.warnings.iter().for_each(|warning| console.warn(warning));
    trace.notes.iter().for_each(|note| console.note(note));
    if console.json {
        return console.print_json(&json!({
            "schema": "atomlearn.train/1", "model": job.output.display().to_string(), "method": job.method,
            "params": trainer.setup().params, "prep": job.prep.to_string(), "samples": samples, "part": "all",
            "data": {"path": job.data.display().to_string(), "sha256": plan.digest, "samples": samples,
                "features": plan.n_features, "classes": trainer.n_classes()},
            "partitions": plan.pieces.len(), "rounds": rounds, "seconds": took,
            "n_iter": trace.steps.last().map(|step| step.iter), "trace": trace.steps, "warnings": trace.warnings,
            "table": plan.schema.as_deref().map(crate::data::table_json),
        }));
    }
    console.print(&format!(
        "{}: trained out of core on {samples} samples in {} partitions, {} features, {} classes, {rounds} passes in {} s; \
         written to {}",
        job.method,
        plan.pieces.len(),
        plan.n_features,
        trainer.n_classes(),
        seconds(took),
        job.output.display()
    ))
}

/// Tells of every iteration, with the samples per second of its passes over the data.
struct Watch<'a> {
    console: &'a Console,
    bar: ProgressBar,
    passes: usize,
    samples: u64,
    since: Instant,
}

impl Observer for Watch<'_> {
    fn step(&mut self, step: &atomlearn::Step<'_>) -> std::ops::ControlFlow<()> {
        let rate = self.samples as f64 / self.since.elapsed().as_secs_f64().max(1e-9);
        let objective = step.objective.map_or(String::new(), |value| format!("objective {value:.6e}, "));
        let change = step.change.map_or(String::new(), |value| format!("change {value:.1e}, "));
        let text = format!(
            "iteration {} of {}: {objective}{change}{} passes, {rate:.0} samples/s",
            step.iter, step.max_iter, self.passes
        );
        self.bar.suspend(|| self.console.note(&text));
        (self.passes, self.samples, self.since) = (0, 0, Instant::now());
        std::ops::ControlFlow::Continue(())
    }
}

fn bar(console: &Console, partitions: usize) -> ProgressBar {
    if !console.bars() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(partitions as u64);
    if let Ok(style) = ProgressStyle::with_template("pass [{bar:24}] {pos}/{len} partitions, {elapsed}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// Parses a size such as `2GiB`, `500MB` or `1000000`.
fn memory(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "kib" => 1024.0,
        "m" | "mb" => 1e6,
        "mib" => 1_048_576.0,
        "g" | "gb" => 1e9,
        "gib" => 1_073_741_824.0,
        "t" | "tb" => 1e12,
        "tib" => 1_099_511_627_776.0,
        _ => return Err("write it as 2GiB, 500MB or a number of bytes".into()),
    };
    let size = digits.trim().parse::<f64>().ok().filter(|size| size.is_finite() && *size > 0.0);
    size.map(|size| (size * unit) as usize).ok_or_else(|| "write it as 2GiB, 500MB or a number of bytes".into())
}
