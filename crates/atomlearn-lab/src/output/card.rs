//! A model card: what a model file says of itself, as Markdown with YAML front matter.
//!
//! A pure function of the model: nothing is measured, looked up or guessed.

use crate::output::findings;
use crate::output::tune_table::value_text as text;
use atomlearn::registry::Values;
use atomlearn::{Error, Model, Result};
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment};
use serde_json::{Value, json};

/// Below this many training samples per class, the card says so.
const FEW: f64 = 30.0;

/// The card of a model that lies in a file of this name.
pub fn card(model: &Model, file: &str) -> Result<String> {
    let broken = |e: minijinja::Error| Error::Data(format!("the model card cannot be made: {e:#}"));
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.add_filter("md", |text: String| markdown(&text));
    environment.add_filter("yaml", |text: String| json!(one_line(&text)).to_string());
    environment.add_template("card.md", include_str!("../../templates/card.md")).map_err(broken)?;
    let page = environment.get_template("card.md").and_then(|template| template.render(Serde(content(model, file))));
    Ok(page.map_err(broken)?.trim_end().to_string() + "\n")
}

fn content(model: &Model, file: &str) -> Value {
    let (method, info) = (model.method(), model.info.values());
    let described = method.params();
    let doc = |name: &str| described.iter().find(|held| held.name == name).map_or("", |held| held.doc);
    let params =
        model.params().iter().map(|(name, value)| json!({"name": name, "value": text(value), "doc": doc(name)}));
    let few = model
        .info
        .data()
        .map(|data| data.samples as f64 / model.classes().len() as f64)
        .filter(|n| *n < FEW)
        .map(|n| format!("{n:.1}"));
    let metrics = info.get("metrics").and_then(Value::as_object);
    let metrics =
        metrics.map(|all| all.iter().map(|(name, v)| json!({"name": name, "value": text(v)})).collect::<Vec<_>>());
    let steps = model.prep().spec().described().map(|(step, info)| json!({"name": step, "meaning": info.doc}));
    let photos = model.features.as_ref().and_then(|map| map.header.get("title")).and_then(Value::as_str);
    json!({
        "name": file.strip_suffix(".model").unwrap_or(file), "file": shell_word(file),
        "photos": photos, "task": if photos.is_some() || info.contains_key("image_shape") { "image-classification" } else { "tabular-classification" },
        "method": {"key": method.key, "title": method.title, "paper": method.paper.trim_end_matches('.')},
        "n_features": model.prep().n_features(), "classes": model.classes(), "params": params.collect::<Vec<_>>(),
        "estimate": findings::of_model(model), "probabilities": method.probabilities,
        "facts": facts(model), "warnings": info.get("warnings"), "metrics": metrics, "few": few,
        "range": info.get("range"), "image": info.get("image_shape"), "onnx": onnx_facts(model),
        "prep": steps.collect::<Vec<_>>(),
    })
}

/// Operator set, size in words and outputs of the ONNX file, for methods that have one.
fn onnx_facts(model: &Model) -> Option<Value> {
    let bytes = model.to_onnx().ok()?.len();
    let size = if bytes < 1 << 20 {
        format!("{} KiB", bytes.div_ceil(1 << 10))
    } else {
        format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
    };
    let proba = model.method().probabilities || model.inverse_temperature().is_some();
    Some(json!({"opset": atomlearn::export::OPSET, "size": size, "proba": proba}))
}

/// What is known of the training, in words.
fn facts(model: &Model) -> Vec<Value> {
    let info: &Values = model.info.values();
    let data = |field: &str| info.get("data").and_then(|data| data.get(field)).map(text);
    let held = |field: &str| info.get(field).map(text);
    let rules = model.classifier().rules();
    let rule = format!("{} (of {})", model.classifier().rule(), rules.join(", "));
    let known = [
        ("method", Some(model.method().key.to_string())),
        ("decision rule", (rules.len() > 1).then_some(rule)),
        ("data", data("name")),
        ("SHA-256 of the data", data("sha256")),
        ("training samples", data("samples")),
        ("iterations", held("n_iter")),
        ("objective at the end", held("objective")),
        ("atomlearn", held("version")),
        ("time", held("time")),
    ];
    let row = |(name, value): (&str, Option<String>)| value.map(|value| json!({"name": name, "value": value}));
    let left_out = findings::left_out(model).into_iter().map(|(name, text)| (name, Some(text)));
    known.into_iter().chain(left_out).filter_map(row).collect()
}

fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// Text that Markdown shows as it is, in a table too: names come from files.
fn markdown(text: &str) -> String {
    let mut escaped = String::new();
    for letter in one_line(text).chars() {
        if "\\`*_{}[]<>#|~$".contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

/// A file name that a shell and a quoted string take as it is, else a stand-in.
fn shell_word(file: &str) -> &str {
    let plain = |letter: char| letter.is_alphanumeric() || "._-+".contains(letter);
    if !file.is_empty() && !file.starts_with('-') && file.chars().all(plain) { file } else { "MODEL" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atomlearn::registry::METHODS;
    use atomlearn::synth;

    fn trained(key: &str, prep: &str) -> Model {
        let method = atomlearn::registry::method(key).unwrap();
        let train = synth::blobs(3, 12, 6, 1);
        Model::train(method, &Values::new(), &prep.parse().unwrap(), &train, &mut ()).unwrap()
    }

    #[test]
    fn every_method_has_a_card_and_no_number_is_invented() {
        for method in METHODS {
            let model = trained(method.key, "standard,pca:4,unit");
            let page = card(&model, "blobs.model").unwrap();
            assert_eq!(page, card(&model, "blobs.model").unwrap());
            assert!(page.starts_with("---\n") && page.matches("\n---\n").count() == 1, "{page}");
            let results =
                if method.key == "auto" { "trained on (leave-one-out); 95 % interval" } else { "records none" };
            for part in ["# blobs\n", method.paper.trim_end_matches('.'), results, "`pca:4`", "6 raw numbers"] {
                assert!(page.contains(part), "{}: no {part} in\n{page}", method.key);
            }
            for info in method.params() {
                assert!(page.contains(&format!("| `{}` | ", info.name)), "{}: {}", method.key, info.name);
            }
            assert_eq!(page.contains("--onnx"), method.closed_form, "{}", method.key);
            assert!(!page.contains("{{") && !page.contains("undefined"), "{page}");
            // Nothing was recorded, so nothing is said.
            assert!(!page.contains("SHA-256") && !page.contains("per class on average") && !page.contains("metrics:"));
        }
    }

    #[test]
    fn what_the_file_records_is_told_and_text_is_escaped() {
        let mut model = trained("lcdl-sv", "none");
        model.info = serde_json::from_value(json!({
            "version": "9.9", "data": {"name": "a|b\n# c", "sha256": "abc", "samples": 36}, "range": [0.0, 16.0],
            "image_shape": {"rows": 2, "cols": 3, "order": "columns"}, "metrics": {"accuracy": 0.875},
            "warnings": ["<script>"],
        }))
        .unwrap();
        let page = card(&model, "my faces; rm.model").unwrap();
        for part in [
            r"| data | a\|b \# c |",
            "image-classification",
            "- \"accuracy\"",
            "| accuracy | 0.875 |",
            "2 x 3 pixels",
            "column after column",
            "from 0.0 to 16.0",
            r"- \<script\>",
            "At 12.0 training samples per class",
            "atomlearn predict MODEL new.csv",
            "takes these numbers as they are",
        ] {
            assert!(page.contains(part), "no {part} in\n{page}");
        }
        assert!(!page.contains("records none") && !page.contains("rm.model new"));
    }
}
