//! What to make of the samples that were sent.

use crate::reply::Refusal;
use crate::route::Route;

/// What a request with samples asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Labels of all samples.
    Predict {
        /// Whether scores are wanted too.
        scores: bool,
    },
    /// Why one of the samples gets its label.
    Explain {
        /// Which one, from 0.
        row: usize,
    },
}

impl Task {
    /// `scores=true|false` for `/predict`, `row=N` for `/explain`; other routes take no samples.
    pub fn parse(route: Route, query: &str) -> Result<Self, Refusal> {
        let mut task = match route {
            Route::Explain => Task::Explain { row: 0 },
            _ => Task::Predict { scores: true },
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match (&mut task, name, value, value.parse()) {
                (Task::Predict { scores }, "scores", "true" | "1" | "", _) => *scores = true,
                (Task::Predict { scores }, "scores", "false" | "0", _) => *scores = false,
                (Task::Explain { row }, "row", _, Ok(number)) => *row = number,
                _ => return Err(task.unknown(pair)),
            }
        }
        Ok(task)
    }

    fn unknown(self, pair: &str) -> Refusal {
        let pair: String = pair.chars().take(80).collect();
        let known = match self {
            Task::Predict { .. } => "scores=true and scores=false",
            Task::Explain { .. } => "row=NUMBER",
        };
        Refusal::bad(format!("`{pair}` in the address is not understood; use {known}"))
    }
}
