//! What to make of the samples that were sent.

use crate::reply::Refusal;
use crate::route::Route;

/// What a request with samples asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Task {
    /// Labels of all samples.
    Predict(Wanted),
    /// Why one of the samples gets its label.
    Explain {
        /// Which one, from 0.
        row: usize,
        /// Whether to look at every region of a photo.
        regions: bool,
    },
}

/// What the answer to a prediction holds besides labels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// Scores of all classes.
    pub scores: bool,
    /// Probabilities of all classes, if the model has them.
    pub proba: bool,
    /// The p-value of every sample as one like those of training, if the model has it.
    pub outlier: bool,
    /// So many most likely classes of every sample.
    pub top_k: Option<usize>,
    /// Samples whose most probable class is less probable get no label.
    pub min_probability: Option<f64>,
}

impl Default for Wanted {
    fn default() -> Self {
        Wanted { scores: true, proba: true, outlier: false, top_k: None, min_probability: None }
    }
}

impl Task {
    /// From the query: that of `/predict` is described at [`Wanted`], `/explain` takes `row=N` and `regions`; other routes take no samples.
    pub fn parse(route: Route, query: &str) -> Result<Self, Refusal> {
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| (pair, pair.split_once('=').unwrap_or((pair, ""))));
        if route == Route::Explain {
            let (mut row, mut regions) = (0, false);
            for (pair, (name, value)) in pairs {
                let known = match name {
                    "row" => value.parse().ok().map(|number| row = number),
                    "regions" => truth(value).map(|wanted| regions = wanted),
                    _ => None,
                };
                known.ok_or_else(|| unknown(pair, "row=NUMBER, regions=true or regions=false"))?;
            }
            return Ok(Task::Explain { row, regions });
        }
        let mut wanted = Wanted::default();
        for (pair, (name, value)) in pairs {
            if wanted.set(name, value).is_none() {
                return Err(unknown(
                    pair,
                    "scores=true or scores=false, proba and outlier likewise, top_k=NUMBER from 1, min_probability=NUMBER from 0 to 1",
                ));
            }
        }
        Ok(Task::Predict(wanted))
    }
}

impl Wanted {
    /// `None` if there is no such name, or it has no such value.
    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "scores" => self.scores = truth(value)?,
            "proba" => self.proba = truth(value)?,
            "outlier" => self.outlier = truth(value)?,
            "top_k" => self.top_k = Some(value.parse().ok().filter(|&k| k > 0)?),
            "min_probability" => {
                self.min_probability = Some(value.parse().ok().filter(|p| (0.0..=1.0).contains(p))?);
            }
            _ => return None,
        }
        Some(())
    }
}

fn truth(value: &str) -> Option<bool> {
    match value {
        "true" | "1" | "" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

fn unknown(pair: &str, known: &str) -> Refusal {
    let pair: String = pair.chars().take(80).collect();
    Refusal::bad(format!("`{pair}` in the address is not understood; use {known}"))
}
