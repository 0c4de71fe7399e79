//! The registry for Python: what the estimator classes are made from.

use crate::arrays::rows;
use atomlearn::io;
use atomlearn::params::Domain;
use atomlearn::registry::METHODS;
use numpy::PyArray2;
use pyo3::prelude::*;
use serde_json::{Value, json};

/// Every method with its parameters, as JSON.
#[pyfunction]
pub fn methods() -> String {
    let rows = METHODS.iter().map(|method| {
        let params = method.params().into_iter().map(|info| {
            json!({
                "name": info.name, "doc": info.doc, "domain": info.domain.to_string(), "type": python_type(&info.domain),
                "default": info.default, "grid": info.grid,
            })
        });
        let presets = method.presets.iter().map(|preset| {
            json!({"name": preset.name, "doc": preset.doc, "values": method.preset(preset.name).unwrap_or_default()})
        });
        json!({
            "key": method.key, "title": method.title, "paper": method.paper,
            "params": params.collect::<Vec<_>>(), "presets": presets.collect::<Vec<_>>(),
        })
    });
    Value::Array(rows.collect()).to_string()
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
        Domain::Auto(inner) => format!("{} | None", python_type(inner)),
    }
}

/// The embedded digits: 1797 samples of 64 features, and their labels.
#[pyfunction]
pub fn digits(py: Python<'_>) -> PyResult<(Bound<'_, PyArray2<f64>>, Vec<String>)> {
    let raw = io::digits();
    Ok((rows(py, raw.x.as_ref())?, raw.labels.unwrap_or_default()))
}
