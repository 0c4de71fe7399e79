//! Parameters described once: struct, defaults, documentation, domain and tuning grid in one place.

use crate::{Error, NameKind, Result};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// Parameter values by name.
pub type Values = Map<String, Value>;

/// Words of earlier versions, and what they are now; both are read.
const RESPELLED: &[(&str, &str)] = &[("penalised", "penalized")];

/// The word for a value that is left to be chosen; JSON may say null instead.
pub const AUTO: &str = "auto";

/// What values a parameter may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Domain {
    /// A finite number above zero.
    Positive,
    /// A finite number, zero or more.
    NonNegative,
    /// A finite number within these bounds, both included.
    Within(f64, f64),
    /// A whole number, this or more.
    AtLeast(u64),
    /// `true` or `false`.
    Flag,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Another domain, or this word.
    Word(&'static str, &'static Domain),
    /// Another domain, or `auto`: chosen from the data.
    Auto(&'static Domain),
}

impl std::fmt::Display for Domain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Domain::Positive => write!(f, "a number > 0"),
            Domain::NonNegative => write!(f, "a number >= 0"),
            Domain::Within(low, high) => write!(f, "a number from {low} to {high}"),
            Domain::AtLeast(low) => write!(f, "a whole number >= {low}"),
            Domain::Flag => write!(f, "true or false"),
            Domain::OneOf(words) => write!(f, "{}", words.join(" | ")),
            Domain::Word(word, inner) => write!(f, "{word} or {inner}"),
            Domain::Auto(inner) => write!(f, "auto or {inner}"),
        }
    }
}

impl Domain {
    fn contains(&self, value: &Value) -> bool {
        let number = value.as_f64().filter(|v| v.is_finite());
        match self {
            Domain::Positive => number.is_some_and(|v| v > 0.0),
            Domain::NonNegative => number.is_some_and(|v| v >= 0.0),
            Domain::Within(low, high) => number.is_some_and(|v| (*low..=*high).contains(&v)),
            Domain::AtLeast(low) => value.as_u64().is_some_and(|v| v >= *low),
            Domain::Flag => value.is_boolean(),
            Domain::OneOf(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Domain::Word(word, inner) => value.as_str() == Some(word) || inner.contains(value),
            Domain::Auto(inner) => value.is_null() || value.as_str() == Some(AUTO) || inner.contains(value),
        }
    }

    /// Reads a value as typed on a command line; what does not parse is left to [`check`] to refuse.
    pub fn parse(&self, text: &str) -> Value {
        match self {
            Domain::Auto(_) if text == AUTO => Value::Null,
            Domain::Word(word, _) if text == *word => Value::from(text),
            Domain::Auto(inner) | Domain::Word(_, inner) => inner.parse(text),
            Domain::OneOf(_) => Value::from(text),
            Domain::AtLeast(_) => text.parse::<u64>().map_or(Value::from(text), Value::from),
            Domain::Flag => text.parse::<bool>().map_or(Value::from(text), Value::from),
            _ => text.parse::<f64>().map_or(Value::from(text), Value::from),
        }
    }
}

/// How many atoms each class gets, where its own samples are a choice too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(into = "Value", try_from = "Value")]
pub enum AtomCount {
    /// Left to the method.
    #[default]
    Auto,
    /// This many.
    Each(usize),
    /// The training samples themselves are the atoms.
    All,
}

impl AtomCount {
    /// The values it can take.
    pub const DOMAIN: Domain = Domain::Auto(&Domain::Word("all", &Domain::AtLeast(1)));
}

impl From<AtomCount> for Value {
    fn from(count: AtomCount) -> Value {
        match count {
            AtomCount::Auto => Value::Null,
            AtomCount::Each(count) => Value::from(count),
            AtomCount::All => Value::from("all"),
        }
    }
}

impl TryFrom<Value> for AtomCount {
    type Error = String;

    fn try_from(value: Value) -> std::result::Result<Self, String> {
        match value.as_u64() {
            _ if value.is_null() => Ok(AtomCount::Auto),
            _ if value == "all" => Ok(AtomCount::All),
            Some(count) => Ok(AtomCount::Each(count as usize)),
            None => Err(format!("{value} is not a number of atoms")),
        }
    }
}

/// One parameter of a method.
#[derive(Clone, Debug)]
pub struct ParamInfo {
    /// Name as in the paper.
    pub name: &'static str,
    /// What it does, in words.
    pub doc: &'static str,
    /// Allowed values.
    pub domain: Domain,
    /// Default value; null stands for `auto`.
    pub default: Value,
    /// Values worth trying when tuning; empty if it is not tuned.
    pub grid: Vec<Value>,
}

/// A plain struct of parameters that knows its own description; made by the `params!` macro.
pub trait Params: Default + Clone + Serialize + DeserializeOwned {
    /// All parameters in order.
    fn describe() -> Vec<ParamInfo>;
}

/// Refuses every parameter that is outside its domain.
pub fn check<P: Params>(params: &P) -> Result<()> {
    check_values(&P::describe(), &to_map(params))
}

/// The parameters as a JSON object.
pub fn to_map<P: Params>(params: &P) -> Values {
    match serde_json::to_value(params) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// The parameters from a JSON object; what is not given keeps its default.
pub fn from_map<P: Params>(map: &Values) -> Result<P> {
    let known = P::describe();
    let mut plain = map.clone();
    for (old, new) in RESPELLED {
        plain.values_mut().filter(|value| *value == old).for_each(|value| *value = Value::from(*new));
    }
    check_values(&known, &plain)?;
    for info in known.iter().filter(|info| matches!(info.domain, Domain::Auto(_))) {
        if let Some(value) = plain.get_mut(info.name)
            && *value == AUTO
        {
            *value = Value::Null;
        }
    }
    serde_json::from_value(Value::Object(plain))
        .map_err(|e| Error::param("params", Value::Object(map.clone()), e.to_string()))
}

fn check_values(known: &[ParamInfo], values: &Values) -> Result<()> {
    for (name, value) in values {
        let Some(info) = known.iter().find(|info| info.name == name) else {
            return Err(Error::unknown(NameKind::Parameter, name, known.iter().map(|info| info.name)));
        };
        if !info.domain.contains(value) {
            return Err(Error::param(name, value, format!("must be {}", info.domain)));
        }
    }
    Ok(())
}

/// Declares a parameter struct: `field: type = default, domain [, grid [values]];` with doc comments.
///
/// Makes the struct (public fields), `Default`, serde with unknown keys refused, and [`Params`].
macro_rules! params {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $field:ident : $ty:ty = $default:expr, $domain:expr $(, grid $grid:tt)? ;
            )*
        }
    ) => {
        $(#[$meta])*
        #[doc = concat!(
            "\n\n```\nuse atomlearn::{Classifier, Fit, synth};\nuse ", module_path!(), "::", stringify!($name), ";\n\n",
            "let train = synth::blobs(3, 12, 8, 1);\nlet model = ", stringify!($name), "::default().fit(&train, &mut ())?;\n",
            "assert_eq!(model.scores(train.x())?.shape(), (3, 36)); // classes x samples\n",
            "# Ok::<(), atomlearn::Error>(())\n```"
        )]
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $ty, )*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $( $field: $default, )* }
            }
        }

        impl $crate::params::Params for $name {
            fn describe() -> Vec<$crate::params::ParamInfo> {
                let defaults = $crate::params::to_map(&$name::default());
                vec![ $( $crate::params::ParamInfo {
                    name: stringify!($field),
                    doc: concat!($($doc),+).trim_start(),
                    domain: $domain,
                    default: defaults[stringify!($field)].clone(),
                    grid: { #[allow(unused_mut, unused_assignments)] let mut grid = Vec::new(); $( grid = $crate::params::grid(serde_json::json!($grid)); )? grid },
                }, )* ]
            }
        }
    };
}
pub(crate) use params;

/// Declares the words that a parameter may take: `pub enum Name { Variant = "word", ... }` with doc comments.
///
/// Makes the enumeration, serde with these words, and `WORDS`, which lists them for [`Domain::OneOf`].
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $( $(#[$of_variant:meta])* $variant:ident = $word:literal, )+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $( $(#[$of_variant])* #[serde(rename = $word)] $variant, )+
        }

        impl $name {
            /// The words in order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
        }
    };
}
pub(crate) use words;

/// A named set of parameter values.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name, given as the pseudo-parameter `preset`.
    pub name: &'static str,
    /// Where it comes from.
    pub doc: &'static str,
    /// What it sets.
    pub values: fn() -> Values,
}

/// Declares presets of a parameter struct: `Struct: "name", "doc" => { field: value, ... }; ...`.
macro_rules! presets {
    ($params:ident: $( $name:literal, $doc:literal => { $($field:ident : $value:expr),* $(,)? } ; )*) => {
        &[ $( $crate::params::Preset {
            name: $name,
            doc: $doc,
            values: || {
                // A preset may name every parameter there is.
                #[allow(clippy::needless_update)]
                let params = $params { $($field: $value,)* ..Default::default() };
                $crate::params::fields(&params, &[$(stringify!($field)),*])
            },
        }, )* ]
    };
}
pub(crate) use presets;

/// Some of the parameters, by name.
pub(crate) fn fields<P: Params>(params: &P, names: &[&str]) -> Values {
    let all = to_map(params);
    names.iter().map(|&name| (name.to_string(), all.get(name).cloned().unwrap_or(Value::Null))).collect()
}

/// The elements of a JSON array; for `params!`.
pub(crate) fn grid(array: Value) -> Vec<Value> {
    match array {
        Value::Array(values) => values,
        other => vec![other],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    params! {
        /// An example.
        pub struct Example {
            /// A weight,
            /// used twice.
            weight: f64 = 0.5, Domain::Positive, grid [0.1, 1.0];
            /// A count.
            count: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
            /// Atoms.
            atoms: AtomCount = AtomCount::Auto, AtomCount::DOMAIN;
        }
    }

    #[test]
    fn one_declaration_gives_defaults_docs_and_checks() {
        let info = Example::describe();
        assert_eq!((info[0].doc, info[0].grid.len()), ("A weight, used twice.", 2));
        assert_eq!(info[1].default, Value::Null);
        assert!(check(&Example::default()).is_ok());
        let message = |text| from_map::<Example>(serde_json::from_str::<Value>(text).unwrap().as_object().unwrap());
        let message = |text| message(text).unwrap_err().to_string();
        assert_eq!(message(r#"{"weight": -1}"#), "parameter `weight` = -1: must be a number > 0");
        assert_eq!(message(r#"{"wieght": 1}"#), "unknown parameter `wieght` (did you mean `weight`?)");
        assert_eq!(message(r#"{"count": 0}"#), "parameter `count` = 0: must be auto or a whole number >= 1");
        assert!(check(&Example { weight: f64::NAN, ..Default::default() }).is_err());
        assert_eq!(
            message(r#"{"atoms": "none"}"#),
            "parameter `atoms` = \"none\": must be auto or all or a whole number >= 1"
        );
        for (text, atoms) in [("all", AtomCount::All), ("auto", AtomCount::Auto), ("7", AtomCount::Each(7))] {
            let mut map = to_map(&Example::default());
            map.insert("atoms".into(), info[2].domain.parse(text));
            let read: Example = from_map(&map).unwrap();
            assert_eq!((read.atoms, to_map(&read)["atoms"].clone()), (atoms, info[2].domain.parse(text)));
        }
        assert_eq!(info[1].domain.parse("auto"), Value::Null);
        let word = Map::from_iter([("count".to_string(), Value::from("auto")), ("atoms".into(), Value::from("auto"))]);
        assert_eq!(from_map::<Example>(&word).unwrap(), Example::default());
        assert!(message(r#"{"weight": "auto"}"#).contains("must be a number > 0"));
        assert_eq!(info[0].domain.parse("1e-3"), Value::from(1e-3));
    }
}
