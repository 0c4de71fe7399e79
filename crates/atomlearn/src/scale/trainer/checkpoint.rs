//! The whole state of a training as bytes.

use super::{Setup, Trainer, TrainerStage, partitioned};
use crate::observe::{Trace, TraceStep};
use crate::params::Values;
use crate::rounds::{Message, Moments, Scatter, put_prep, take_prep};
use crate::{Error, Result};

const FORMAT: &str = "atomlearn.checkpoint/1";

impl Trainer {
    /// The whole state: a checkpoint.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut message = Message::new(FORMAT);
        let Setup { method, params, prep, partitions, data, .. } = &self.setup;
        message.set("setup", (method, params, prep.to_string(), partitions, data));
        message.set("run", &self.run);
        message.set("round", self.round);
        message.set("classes", &self.classes);
        message.set("counts", &self.moments.counts);
        message.set("steps", &self.trace.steps);
        message.set("warnings", &self.trace.warnings);
        put_prep(&mut message, &self.prep);
        message.put("moments.sums", self.moments.sums.clone());
        message.put("moments.outer", self.moments.outer.clone());
        let stage = match &self.stage {
            TrainerStage::PrepMean => "prep-mean",
            TrainerStage::PrepScatter { mean } => {
                message.put("mean", mean.clone());
                "prep-scatter"
            }
            TrainerStage::Survey => "survey",
            TrainerStage::Moments { by_class: true } => "class-moments",
            TrainerStage::Moments { by_class: false } => "moments",
            TrainerStage::Rounds(rounds) => {
                rounds.store(&mut message);
                "rounds"
            }
            TrainerStage::Done(parts) => {
                message.set("parts", parts.iter().map(|(name, _)| name).collect::<Vec<_>>());
                parts.iter().for_each(|(name, part)| message.put(format!("part.{name}"), part));
                "done"
            }
        };
        message.set("stage", stage);
        message.encode()
    }

    /// Goes on from a checkpoint, which may be hostile.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut message = Message::decode(bytes, FORMAT)?;
        let (method, values, prep, partitions, data): (String, Values, String, usize, String) = message.get("setup")?;
        let fitted = take_prep(&mut message)?;
        let n_features = fitted.n_features();
        let setup = Setup { method, params: values, prep: prep.parse()?, partitions, n_features, data };
        let mut trainer = Trainer::new(setup, message.get("run")?)?;
        trainer.prep = fitted;
        trainer.round = message.get("round")?;
        trainer.classes = message.get("classes")?;
        let (steps, warnings): (Vec<TraceStep>, Vec<String>) = (message.get("steps")?, message.get("warnings")?);
        trainer.trace = Trace { steps, warnings, notes: Vec::new() };
        let m = trainer.prep.n_out()?;
        let n_classes = trainer.classes.len();
        let stage: String = message.get("stage")?;
        if !matches!(stage.as_str(), "prep-mean" | "prep-scatter" | "survey") {
            let counts: Vec<f64> = message.get("counts")?;
            if counts.len() != n_classes || n_classes < 2 || counts.iter().any(|&n| n < 1.0) {
                return Err(Error::Data("the checkpoint's classes do not fit its counts".into()));
            }
            let sums = message.take("moments.sums", m, n_classes)?;
            let without = partitioned(trainer.method)?.scatter == Scatter::Nothing;
            let known = if without || stage.ends_with("moments") { 0 } else { m };
            trainer.moments = Moments { counts, sums, outer: message.take("moments.outer", known, known)? };
        }
        let values = &trainer.setup.params;
        trainer.stage = match stage.as_str() {
            "prep-mean" => TrainerStage::PrepMean,
            "prep-scatter" => TrainerStage::PrepScatter { mean: message.take("mean", m, 1)? },
            "survey" => TrainerStage::Survey,
            "moments" => TrainerStage::Moments { by_class: false },
            "class-moments" => TrainerStage::Moments { by_class: true },
            "rounds" => {
                let partitioned = partitioned(trainer.method)?;
                TrainerStage::Rounds((partitioned.resume)(values, &mut message, &trainer.moments, &trainer.classes)?)
            }
            "done" => {
                let names: Vec<String> = message.get("parts")?;
                let parts = names.into_iter().map(|name| {
                    let part = message.take(&format!("part.{name}"), None, None)?;
                    Ok((name, part))
                });
                TrainerStage::Done(parts.collect::<Result<_>>()?)
            }
            other => return Err(Error::Data(format!("the checkpoint is in an unknown stage `{other}`"))),
        };
        let fitting = matches!(trainer.stage, TrainerStage::PrepMean | TrainerStage::PrepScatter { .. });
        let fitted = trainer.prep.n_steps();
        let all = trainer.setup.prep.len();
        if !trainer.prep.spec().starts(&trainer.setup.prep) || fitting == (fitted == all) {
            return Err(Error::Data("the checkpoint's preprocessing does not fit its stage".into()));
        }
        Ok(trainer)
    }
}
