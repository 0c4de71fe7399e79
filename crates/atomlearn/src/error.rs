//! The one error type of the library.

use std::path::PathBuf;

/// What can go wrong, with the names and numbers a user needs to fix it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is outside its domain, alone or against the data.
    #[error("parameter `{name}` = {value}: {why}")]
    Param {
        /// Name as in the registry.
        name: String,
        /// The offending value.
        value: String,
        /// What is allowed, and why.
        why: String,
    },
    /// A name that does not exist; `nearest` is a suggestion.
    #[error("unknown {kind} `{name}`{}", suggestion(.nearest))]
    Unknown {
        /// What has the name.
        kind: NameKind,
        /// The name as given.
        name: String,
        /// The nearest right name, if one is near enough.
        nearest: Option<String>,
    },
    /// Two sizes that must agree do not.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// Which sizes.
        what: String,
        /// What they should be.
        expected: String,
        /// What they are.
        found: String,
    },
    /// The data itself cannot be used.
    #[error("{0}")]
    Data(String),
    /// A computation broke down.
    #[error("{stage}: {why}")]
    Numeric {
        /// Which step of which method.
        stage: String,
        /// What happened and what to try.
        why: String,
    },
    /// A file does not hold what it should.
    #[error("{}: {why}", .path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The operating system refused.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The observer asked to stop and no usable model exists yet.
    #[error("interrupted")]
    Interrupted,
}

impl From<atomlearn_linalg::Breakdown> for Error {
    fn from(breakdown: atomlearn_linalg::Breakdown) -> Self {
        Error::Numeric { stage: breakdown.stage, why: breakdown.why }
    }
}

/// What a name can be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameKind {
    /// A class of the data.
    Class,
    /// A column of a table.
    Column,
    /// A published experiment.
    Experiment,
    /// A kind of features of images.
    Features,
    /// A kernel.
    Kernel,
    /// A layer of a network.
    Layer,
    /// A method.
    Method,
    /// A parameter of a method.
    Parameter,
    /// A parameter set of a method.
    Preset,
    /// A step of the preprocessing.
    PrepStep,
    /// A rule of decision.
    Rule,
    /// A variable in a file.
    Variable,
}

impl std::fmt::Display for NameKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            NameKind::Class => "class",
            NameKind::Column => "column",
            NameKind::Experiment => "experiment",
            NameKind::Features => "kind of features",
            NameKind::Kernel => "kernel",
            NameKind::Layer => "layer",
            NameKind::Method => "method",
            NameKind::Parameter => "parameter",
            NameKind::Preset => "preset",
            NameKind::PrepStep => "preprocessing step",
            NameKind::Rule => "rule",
            NameKind::Variable => "variable",
        })
    }
}

/// Result with the library's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(String::new(), |name| format!(" (did you mean `{name}`?)"))
}

impl Error {
    /// [`Error::Format`] with less typing.
    pub fn format(path: impl Into<PathBuf>, why: impl Into<String>) -> Self {
        Error::Format { path: path.into(), why: why.into() }
    }

    /// [`Error::Io`] with less typing; for `map_err`.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Error::Io { path, source }
    }

    /// [`Error::Numeric`] with less typing.
    pub fn numeric(stage: impl Into<String>, why: impl Into<String>) -> Self {
        Error::Numeric { stage: stage.into(), why: why.into() }
    }

    /// [`Error::Param`] with less typing.
    pub fn param(name: &str, value: impl std::fmt::Display, why: impl Into<String>) -> Self {
        Error::Param { name: name.into(), value: value.to_string(), why: why.into() }
    }

    /// [`Error::Shape`] with less typing.
    pub fn shape(what: impl Into<String>, expected: impl std::fmt::Display, found: impl std::fmt::Display) -> Self {
        Error::Shape { what: what.into(), expected: expected.to_string(), found: found.to_string() }
    }

    /// [`Error::Unknown`] with the nearest of `known` as suggestion.
    pub fn unknown<'a>(kind: NameKind, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let nearest = known
            .into_iter()
            .map(|candidate| (edit_distance(name, candidate), candidate))
            .min()
            .filter(|&(distance, candidate)| distance <= 1 + candidate.chars().count().max(3) / 3)
            .map(|(_, candidate)| candidate.to_string());
        Error::Unknown { kind, name: name.into(), nearest }
    }
}

/// Messages name what the caller can set as "option `name`" or "option `name = value`". This puts each into the words of a front end.
pub fn options_in_words(message: &str, word: impl Fn(&str, Option<&str>) -> String) -> String {
    let mut parts = message.split("option `");
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let Some((option, rest)) = part.split_once('`') else {
            text = text + "option `" + part;
            continue;
        };
        let (name, value) = option.split_once(" = ").map_or((option, None), |(name, value)| (name, Some(value)));
        text = text + &word(name, value) + rest;
    }
    text
}

/// Levenshtein distance, ignoring case.
fn edit_distance(a: &str, b: &str) -> usize {
    let a = a.to_lowercase();
    let b = b.to_lowercase();
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let replace = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_put_into_the_words_of_a_front_end() {
        let flags = |message: &str| {
            options_in_words(message, |name, value| match value {
                Some(value) => format!("--{name} {value}"),
                None => format!("--{name}"),
            })
        };
        let message = "`x` is text; say option `y = a = b`, or leave out option `drop`.";
        assert_eq!(flags(message), "`x` is text; say --y a = b, or leave out --drop.");
        assert_eq!(flags("no option here, option `open"), "no option here, option `open");
    }

    #[test]
    fn misspelt_names_get_the_nearest_right_one() {
        let known = ["lcdl-sv", "svgdl", "crc"];
        assert_eq!(
            Error::unknown(NameKind::Method, "lcdlsv", known).to_string(),
            "unknown method `lcdlsv` (did you mean `lcdl-sv`?)"
        );
        assert_eq!(Error::unknown(NameKind::Method, "transformer", known).to_string(), "unknown method `transformer`");
    }
}
