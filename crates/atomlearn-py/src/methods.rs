//! The registry for Python: what the estimator classes are made from.

use atomlearn::params::{AUTO, Domain};
use atomlearn::prep;
use atomlearn::registry::METHODS;
use pyo3::prelude::*;
use serde_json::Value;

/// Every method with its parameters and their Python types, as JSON.
#[pyfunction]
pub fn methods() -> String {
    let described = METHODS.iter().map(|method| {
        let mut row = method.to_json();
        for (i, info) in method.params().iter().enumerate() {
            row["params"][i]["type"] = python_type(&info.domain).into();
        }
        row
    });
    Value::Array(described.collect()).to_string()
}

/// Examples of every preprocessing step.
#[pyfunction]
pub fn prep_examples() -> Vec<&'static str> {
    prep::examples()
}

/// The domain as a Python type annotation.
fn python_type(domain: &Domain) -> String {
    match domain {
        Domain::Positive | Domain::NonNegative | Domain::Within(..) => "float".into(),
        Domain::AtLeast(_) => "int".into(),
        Domain::Flag => "bool".into(),
        Domain::OneOf(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            format!("Literal[{}]", words.join(", "))
        }
        Domain::Word(word, inner) => format!("{} | Literal[\"{word}\"]", python_type(inner)),
        Domain::Auto(inner) => format!("{} | Literal[\"{AUTO}\"] | None", python_type(inner)),
    }
}
