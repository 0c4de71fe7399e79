//! The file of a training under way: which training it is, what it has told so far, and its [`State`].
//!
//! The bytes are those of [`crate::archive`], with a digest, so that a file that was cut short or altered is refused.

use crate::observe::{Trace, TraceStep};
use crate::params::Values;
use crate::{Dataset, Error, Result, State, archive};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const FORMAT: &str = "atomlearn.state/1";
/// Steps and warnings, as JSON; beside the header, whose length the container limits.
const TRACE: &str = "trace";
/// The one parameter that may differ on resuming: who wants to train longer may.
const MAX_ITER: &str = "max_iter";

/// What makes a training what it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Training {
    /// Name of the method.
    pub method: String,
    /// All its parameters.
    pub params: Values,
    /// The preprocessing, as text.
    pub prep: String,
    /// [`digest`] of the prepared samples.
    pub data: String,
    /// What was chosen from the data for parameters that leave it open: it follows from the rest.
    pub chosen: Values,
}

/// What a file holds.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Whose state it is.
    pub training: Training,
    /// Steps and warnings until then.
    pub trace: Trace,
    /// The state.
    pub state: State,
}

/// SHA-256 of samples and classes.
pub fn digest(train: &Dataset) -> String {
    let mut hash = Sha256::new();
    let sizes: Vec<usize> = train.blocks().sizes().collect();
    hash.update(json!([train.n_features(), train.classes(), sizes]).to_string());
    for sample in train.x().col_iter() {
        let bytes: Vec<u8> = sample.iter().flat_map(|v| v.to_le_bytes()).collect();
        hash.update(bytes);
    }
    archive::hex(&hash.finalize())
}

impl Training {
    /// How another training differs, if it does; more iterations are no difference.
    pub fn differs_from(&self, other: &Training) -> Option<String> {
        if self.method != other.method {
            return Some(format!("the method differs (`{}`, not `{}`)", self.method, other.method));
        }
        let names = self.params.keys().chain(other.params.keys());
        for name in names.filter(|name| name.as_str() != MAX_ITER) {
            let of = |params: &Values| params.get(name).map_or("nothing".into(), Value::to_string);
            let own = of(&self.params);
            let others = of(&other.params);
            if own != others {
                return Some(format!("parameter `{name}` differs ({own}, not {others})"));
            }
        }
        if self.prep != other.prep {
            return Some(format!("the preprocessing differs (`{}`, not `{}`)", self.prep, other.prep));
        }
        (self.data != other.data).then(|| "the data differs".to_string())
    }

    /// The file of this training in a state.
    pub fn to_bytes(&self, trace: &Trace, state: &State) -> Result<Vec<u8>> {
        let header = [
            ("format", json!(FORMAT)),
            ("method", json!(self.method)),
            ("params", json!(self.params)),
            ("prep", json!(self.prep)),
            ("data", json!(self.data)),
            ("chosen", json!(self.chosen)),
            ("iter", json!(state.iter())),
            ("converged", json!(state.converged())),
            ("values", json!(state.values())),
        ];
        let trace = json!([trace.steps, trace.warnings]).to_string();
        archive::encode(&archive::Content {
            header: header.into_iter().map(|(name, value)| (name.to_string(), value)).collect(),
            matrices: state.parts().clone(),
            blobs: [(TRACE.to_string(), trace.as_bytes().into())].into(),
        })
    }
}

impl Checkpoint {
    /// Reads a file, which may be hostile: the state is checked by the method that goes on from it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let archive::Content { header, matrices, blobs } = archive::decode(bytes)?;
        let format: String = entry(&header, "format")?;
        if format != FORMAT {
            return Err(Error::Data(format!(
                "format `{format}` is not that of a training in memory ({FORMAT}); what option `out-of-core` wrote goes on with it"
            )));
        }
        let trace = blobs.get(TRACE).and_then(|bytes| serde_json::from_slice(bytes).ok());
        let (steps, warnings): (Vec<TraceStep>, Vec<String>) =
            trace.ok_or_else(|| Error::Data("the checkpoint has no valid trace".into()))?;
        let training = Training {
            method: entry(&header, "method")?,
            params: entry(&header, "params")?,
            prep: entry(&header, "prep")?,
            data: entry(&header, "data")?,
            // Files of versions that chose nothing have none.
            chosen: entry::<Option<Values>>(&header, "chosen")?.unwrap_or_default(),
        };
        let iter = entry(&header, "iter")?;
        let converged = entry(&header, "converged")?;
        let state = State::from_parts(iter, converged, entry(&header, "values")?, matrices);
        Ok(Checkpoint { training, trace: Trace { steps, warnings, notes: Vec::new() }, state })
    }
}

fn entry<T: DeserializeOwned>(header: &Values, name: &str) -> Result<T> {
    let value = header.get(name).cloned().unwrap_or(Value::Null);
    serde_json::from_value(value).map_err(|e| Error::Data(format!("the checkpoint has no valid `{name}`: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth;

    fn training() -> Training {
        let params = Values::from_iter([("lambda".to_string(), json!(0.1)), ("max_iter".to_string(), json!(5))]);
        let data = digest(&synth::blobs(2, 3, 4, 1));
        let chosen = Values::from_iter([("rule".to_string(), json!("svm"))]);
        Training { method: "svgdl".into(), params, prep: "unit".into(), data, chosen }
    }

    #[test]
    fn files_come_back_whole_or_not_at_all() {
        let step = TraceStep { iter: 3, objective: Some(0.1 + 0.2), terms: vec![("a".into(), 1e-300)], change: None };
        let trace = Trace { steps: vec![step], warnings: vec!["mind the gap".into()], notes: Vec::new() };
        let state = State::after(3, true).with_value("held", 1.0 / 3.0).with_row("row", &[0.1, -0.0, 1e-308]);
        let bytes = training().to_bytes(&trace, &state).unwrap();
        let back = Checkpoint::from_bytes(&bytes).unwrap();
        assert_eq!((&back.training, &back.state), (&training(), &state));
        assert_eq!((&back.trace.steps, &back.trace.warnings), (&trace.steps, &trace.warnings));
        assert_eq!(back.training.to_bytes(&back.trace, &back.state).unwrap(), bytes);
        for cut in 0..bytes.len() {
            assert!(Checkpoint::from_bytes(&bytes[..cut]).is_err());
        }
        let other = archive::encode(&archive::Content {
            header: Values::from_iter([("format".to_string(), json!("atomlearn.checkpoint/1"))]),
            ..Default::default()
        });
        assert!(Checkpoint::from_bytes(&other.unwrap()).unwrap_err().to_string().contains("option `out-of-core`"));
    }

    #[test]
    fn only_the_maximum_number_of_iterations_may_differ() {
        let edited = |edit: &dyn Fn(&mut Training)| {
            let mut other = training();
            edit(&mut other);
            training().differs_from(&other).unwrap_or_default()
        };
        assert_eq!(edited(&|other| drop(other.params.insert(MAX_ITER.into(), json!(50)))), "");
        assert!(edited(&|other| drop(other.params.insert("lambda".into(), json!(0.2)))).contains("0.1, not 0.2"));
        assert!(edited(&|other| drop(other.params.insert("more".into(), json!(1)))).contains("`more`"));
        assert!(edited(&|other| other.method = "cadl".into()).contains("the method differs"));
        assert!(edited(&|other| other.prep = "none".into()).contains("the preprocessing differs"));
        let data = synth::blobs(2, 3, 4, 1);
        let mut x = data.x().to_owned();
        x[(1, 2)] = f64::from_bits(x[(1, 2)].to_bits() + 1);
        let moved = data.with_features(x).unwrap();
        assert!(edited(&|other| other.data = digest(&moved)).contains("the data differs"));
    }
}
