//! A trained model as one ONNX graph: preprocessing, scores and label, in standard operators.
//!
//! Input `x`: samples in rows, doubles. Outputs: `label` (the class name of every sample), `scores` (samples x classes,
//! larger = more likely, classes in the order of the metadata entry `classes`) and, for models that have them, `proba` (the
//! probabilities, samples x classes). The number of samples is open.

use super::Model;
use crate::classifier::NO_CLOSED_FORM;
use crate::export::proto::element;
use crate::export::{self, Graph, Tensor};
use crate::file::write_atomically;
use crate::info::Info;
use crate::registry;
use crate::{Error, Result};
use serde_json::{Value, json};
use std::path::Path;

impl Model {
    /// The ONNX file of the model, or the reason why its method has none.
    pub fn to_onnx(&self) -> Result<Vec<u8>> {
        if !self.method.closed_form {
            let able: Vec<&str> =
                registry::METHODS.iter().filter(|method| method.closed_form).map(|method| method.key).collect();
            return Err(Error::Data(format!("{NO_CLOSED_FORM}; these have one: {}", able.join(", "))));
        }
        let mut graph = Graph::new(self.method.key);
        let x = graph.input("x", self.prep.n_features());
        let prepared = self.prep.export(&mut graph, x);
        let scores = self.classifier.export(&mut graph, &prepared)?;
        let best = graph.op_with("ArgMax", &[&scores], &[("axis", 1), ("keepdims", 0)]);
        let names = graph.strings(self.classes());
        let label = graph.op("Gather", &[&names, &best]);
        graph.output("label", &label, element::STRING, None);
        graph.output("scores", &scores, element::DOUBLE, Some(self.classes().len()));
        if let Some(proba) = self.export_probabilities(&mut graph, &scores) {
            graph.output("proba", &proba, element::DOUBLE, Some(self.classes().len()));
        }

        let text = |value: &Value| value.as_str().map_or(value.to_string(), str::to_string);
        let mut entries = vec![
            ("atomlearn.method".to_string(), self.method.key.to_string()),
            ("atomlearn.rule".into(), self.classifier.rule().into()),
            ("atomlearn.params".into(), Value::Object(self.params.clone()).to_string()),
            ("atomlearn.prep".into(), self.prep.spec().to_string()),
            ("classes".into(), json!(self.classes()).to_string()),
        ];
        // The files of all training samples say nothing to those who score with the graph.
        let notes = self.info.values().iter().filter(|(key, _)| *key != Info::FILES);
        entries.extend(notes.map(|(key, value)| (format!("atomlearn.{key}"), text(value))));
        Ok(export::file(graph, self.method.title, entries))
    }

    /// Probabilities from scores, as [`Model::probabilities_of_scores`] makes them.
    fn export_probabilities(&self, graph: &mut Graph, scores: &Tensor) -> Option<Tensor> {
        if self.method.probabilities {
            return Some(graph.op("Exp", &[scores]));
        }
        let inverse_temperature = graph.scalar(self.inverse_temperature()?);
        let scaled = graph.op("Mul", &[scores, &inverse_temperature]);
        Some(graph.op_with("Softmax", &[&scaled], &[("axis", 1)]))
    }

    /// Writes the ONNX file, atomically.
    pub fn write_onnx(&self, path: &Path) -> Result<()> {
        write_atomically(path, &self.to_onnx()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::proto;
    use crate::registry::Values;
    use crate::synth;
    use prost::Message;

    #[test]
    fn closed_forms_are_exported_and_searches_refused_with_the_reason() {
        let train = synth::blobs(3, 8, 12, 1);
        for method in registry::METHODS {
            let prep = "pca:6,unit".parse().unwrap();
            let model = Model::train(method, &Values::new(), &prep, &train, &mut ()).unwrap();
            match model.to_onnx() {
                Ok(bytes) => {
                    assert!(method.closed_form, "{} does not say so", method.key);
                    let file = proto::Model::decode(bytes.as_slice()).unwrap();
                    let graph = file.graph.unwrap();
                    let names = |values: &[proto::ValueInfo]| values.iter().map(|v| v.name.clone()).collect::<Vec<_>>();
                    let outputs = ["label", "scores", "proba"];
                    let expected = &outputs[..if method.probabilities { 3 } else { 2 }];
                    assert_eq!(
                        (names(&graph.input), names(&graph.output)),
                        (vec!["x".into()], expected.iter().map(|name| name.to_string()).collect())
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
                    assert!(!method.closed_form, "{}: {e}", method.key);
                    assert!(e.to_string().contains("standard operators"), "{e}");
                }
            }
        }
    }
}
