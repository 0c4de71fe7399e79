//! ONNX: a graph of standard operators with tensors, and its file.

mod graph;
pub(crate) mod proto;

pub use graph::{Graph, Tensor};

use prost::Message;

/// Version of the ONNX file layout.
const IR_VERSION: i64 = 8;
/// Version of the operator set that graphs need.
pub const OPSET: i64 = 17;

/// The file of a graph: with a sentence about it, and entries for whoever looks.
pub(crate) fn file(graph: Graph, about: &str, entries: Vec<(String, String)>) -> Vec<u8> {
    let file = proto::Model {
        ir_version: IR_VERSION,
        producer_name: "atomlearn".into(),
        producer_version: env!("CARGO_PKG_VERSION").into(),
        doc_string: about.into(),
        graph: Some(graph.finish()),
        opset_import: vec![proto::OperatorSet { domain: String::new(), version: OPSET }],
        metadata_props: entries.into_iter().map(|(key, value)| proto::Entry { key, value }).collect(),
    };
    file.encode_to_vec()
}
