//! A trained model as one ONNX graph: preprocessing, scores and label, in standard operators.
//!
//! Input `x`: samples in rows, doubles. Outputs: `label` (the class name of every sample) and `scores` (samples x classes,
//! larger = more likely, classes in the order of the metadata entry `classes`). The number of samples is open.

mod graph;
mod proto;

pub use graph::{Graph, Value};

use crate::file::write_atomically;
use crate::{Model, Result};
use prost::Message;
use proto::element;
use std::path::Path;

/// Keys of the methods whose scores have a closed form.
pub const METHODS: [&str; 11] =
    ["auto", "lcdl-sv", "svgdl", "crc", "cadl", "sadl", "dpl", "ridge", "linear-svm", "rbf-svm", "lda"];

/// Version of the ONNX file layout, and of the operator set.
const IR_VERSION: i64 = 8;
const OPSET: i64 = 17;

/// The ONNX file of a model, or the reason why its method has none.
pub fn onnx(model: &Model) -> Result<Vec<u8>> {
    let mut graph = Graph::new(model.method().key);
    let x = graph.input("x", model.prep().n_features());
    let prepared = model.prep().export(&mut graph, x);
    let scores = model.classifier().export(&mut graph, &prepared)?;
    let best = graph.op_with("ArgMax", &[&scores], &[("axis", 1), ("keepdims", 0)]);
    let names = graph.strings(model.classes());
    let label = graph.op("Gather", &[&names, &best]);
    graph.output("label", &label, element::STRING, None);
    graph.output("scores", &scores, element::DOUBLE, Some(model.classes().len()));

    let entry = |key: &str, value: String| proto::Entry { key: key.into(), value };
    let text = |value: &serde_json::Value| value.as_str().map_or(value.to_string(), str::to_string);
    let mut metadata_props = vec![
        entry("atomlearn.method", model.method().key.into()),
        entry("atomlearn.rule", model.classifier().rule().into()),
        entry("atomlearn.params", serde_json::Value::Object(model.params().clone()).to_string()),
        entry("atomlearn.prep", model.prep().spec().to_string()),
        entry("classes", serde_json::json!(model.classes()).to_string()),
    ];
    metadata_props.extend(model.info.iter().map(|(key, value)| entry(&format!("atomlearn.{key}"), text(value))));
    let file = proto::Model {
        ir_version: IR_VERSION,
        producer_name: "atomlearn".into(),
        producer_version: env!("CARGO_PKG_VERSION").into(),
        doc_string: model.method().title.into(),
        graph: Some(graph.finish()),
        opset_import: vec![proto::OperatorSet { domain: String::new(), version: OPSET }],
        metadata_props,
    };
    Ok(file.encode_to_vec())
}

/// Writes the ONNX file, atomically.
pub fn write_onnx(model: &Model, path: &Path) -> Result<()> {
    write_atomically(path, &onnx(model)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{self, Values};
    use crate::synth;

    #[test]
    fn closed_forms_are_exported_and_searches_refused_with_the_reason() {
        let train = synth::blobs(3, 8, 12, 1);
        for method in registry::METHODS {
            let prep = "pca:6,unit".parse().unwrap();
            let model = Model::train(method, &Values::new(), &prep, &train, &mut ()).unwrap();
            match onnx(&model) {
                Ok(bytes) => {
                    assert!(METHODS.contains(&method.key), "{} is not listed", method.key);
                    let file = proto::Model::decode(bytes.as_slice()).unwrap();
                    let graph = file.graph.unwrap();
                    let names = |values: &[proto::ValueInfo]| values.iter().map(|v| v.name.clone()).collect::<Vec<_>>();
                    assert_eq!(
                        (names(&graph.input), names(&graph.output)),
                        (vec!["x".into()], vec!["label".into(), "scores".into()])
                    );
                    // Every input of a node is made before it is used.
                    let mut known: Vec<&String> = graph.initializer.iter().map(|tensor| &tensor.name).collect();
                    known.extend(graph.input.iter().map(|input| &input.name));
                    for node in &graph.node {
                        assert!(node.input.iter().all(|input| known.contains(&input)), "{}: {}", method.key, node.name);
                        known.extend(&node.output);
                    }
                }
                Err(e) => {
                    assert!(!METHODS.contains(&method.key), "{}: {e}", method.key);
                    assert!(e.to_string().contains("standard operators"), "{e}");
                }
            }
        }
    }
}
