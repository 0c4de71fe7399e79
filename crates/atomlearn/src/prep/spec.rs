//! Preprocessing as it is asked for: a comma list of steps.

use super::steps::{STEPS, StepInfo, StepSpec};
use super::unit::Unit;
use super::views::VIEWS;
use crate::{Error, NameKind, Result};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// What to do to the samples before a method sees them.
///
/// ```
/// use atomlearn::{prep::PrepSpec, synth};
///
/// let train = synth::blobs(3, 12, 8, 1);
/// let spec: PrepSpec = "pca:5,unit".parse()?;
/// let (prep, prepared) = spec.fit(train.x(), &mut ())?; // learned from training samples only
/// assert_eq!(prepared.shape(), (5, 36));
/// assert_eq!(prep.apply(train.x()), prepared); // the same for new samples
/// # Ok::<(), atomlearn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PrepSpec(Vec<Arc<dyn StepSpec>>);

/// What is left of a step after its name.
pub(super) struct Arguments<'a> {
    text: &'a str,
    pub(super) fields: Vec<&'a str>,
}

impl Arguments<'_> {
    /// The error that these arguments are wrong.
    pub(super) fn bad(&self, why: &str) -> Error {
        Error::param("prep", self.text, why)
    }

    /// The step as it is written.
    pub(super) fn text(&self) -> &str {
        self.text
    }

    /// Refuses arguments of a step that takes none.
    pub(super) fn none(&self) -> Result<()> {
        if self.fields.is_empty() { Ok(()) } else { Err(self.bad("this step takes no number")) }
    }
}

/// A whole number > 0.
pub(super) fn whole(text: &str) -> Option<usize> {
    text.parse().ok().filter(|&v| v > 0)
}

impl PrepSpec {
    pub(super) fn none() -> Self {
        PrepSpec(Vec::new())
    }

    pub(super) fn steps(&self) -> &[Arc<dyn StepSpec>] {
        &self.0
    }

    pub(super) fn push(&mut self, step: Arc<dyn StepSpec>) {
        self.0.push(step);
    }

    /// True if it only puts views side by side, each of which is prepared in this way.
    pub fn is_views_of(&self, own: &PrepSpec) -> bool {
        let [only] = &self.0[..] else { return false };
        only.views().is_some_and(|views| views.iter().all(|steps| *steps == own))
    }

    /// Every step as it is written, with what kind of step it is.
    pub fn described(&self) -> impl Iterator<Item = (String, &'static StepInfo)> {
        self.0.iter().map(|step| (step.to_string(), step.info()))
    }
}

impl Default for PrepSpec {
    fn default() -> Self {
        PrepSpec(vec![Arc::new(Unit)])
    }
}

impl FromStr for PrepSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.trim() == "none" {
            return Ok(PrepSpec::none());
        }
        steps_of(text).into_iter().map(|step| parse_step(step.trim())).collect::<Result<_>>().map(PrepSpec)
    }
}

/// Splits at commas that are not in brackets.
fn steps_of(text: &str) -> Vec<&str> {
    let mut depth = 0usize;
    let outside = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    text.split(outside).collect()
}

impl fmt::Display for PrepSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return write!(f, "none");
        }
        let steps: Vec<String> = self.0.iter().map(|step| step.to_string()).collect();
        write!(f, "{}", steps.join(","))
    }
}

/// Steps are the same if they are written the same: the text holds every parameter in full precision.
impl PartialEq for PrepSpec {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

fn parse_step(text: &str) -> Result<Arc<dyn StepSpec>> {
    // What stands in brackets has colons of its own.
    let in_brackets = text.split_once('(').map(|(name, _)| name).filter(|name| *name == VIEWS.name);
    let mut fields = text.split(':');
    let name = in_brackets.or(fields.next()).unwrap_or_default();
    let info = STEPS.iter().find(|info| info.name == name);
    let info = info.ok_or_else(|| Error::unknown(NameKind::PrepStep, name, STEPS.iter().map(|info| info.name)))?;
    (info.parse)(&Arguments { text, fields: fields.collect() })
}
