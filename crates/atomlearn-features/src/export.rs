//! A model's ONNX graph that begins at the image instead of at the features, where operators of the standard can express the map.
//!
//! The graph of a model has the input `x`, features in rows. Pixels, random projections and networks are put before it, and the input
//! becomes `image`. Bringing an image to its size is left to whoever runs the graph: resampling to the last grey level is not
//! something that runtimes agree on.

use crate::map::{FeatureMap, Fitted};
use crate::onnx::{Input, Network, Preset};
use atomlearn::{Error, MatRef, Result};
use prost::Message;
use std::collections::HashSet;
use tract_onnx::pb::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, StringStringEntryProto, TensorProto,
    TensorShapeProto, TypeProto, ValueInfoProto,
    attribute_proto::AttributeType,
    tensor_proto::DataType,
    tensor_shape_proto::{Dimension, dimension},
    type_proto,
};

/// Operators of the model's part mean the same from the first to the second of these operator sets.
const OPSETS: (i64, i64) = (13, 17);

/// An ONNX file and where it begins.
#[derive(Clone, Debug)]
pub struct Exported {
    /// The file.
    pub bytes: Vec<u8>,
    /// True if the map is part of the graph.
    pub with_map: bool,
    /// What the graph takes, in a sentence.
    pub input: String,
}

/// Puts the map before the graph of a model, as far as ONNX can express it.
pub fn export_with_map(model: &[u8], map: &FeatureMap) -> Result<Exported> {
    let mut file = ModelProto::decode(model).map_err(|e| Error::Data(format!("the graph of the model: {e}")))?;
    let title = map.title();
    file.metadata_props.push(StringStringEntryProto { key: "atomlearn.features".into(), value: title.clone() });
    let put = match &map.fitted {
        Fitted::Pixels(spec) => Ok(grey(&mut file, spec.frame.rows, spec.frame.cols, None)),
        Fitted::RandomFace(face) => {
            let frame = face.spec.pixels.frame;
            Ok(grey(&mut file, frame.rows, frame.cols, Some(face.projection.as_ref())))
        }
        Fitted::Onnx(network) => network_before(&mut file, network),
        Fitted::SiftPyramid(_) | Fitted::Fisher(_) => Err("which ONNX cannot express".to_string()),
    };
    let (with_map, input) = match put {
        Ok(input) => (true, input),
        Err(why) => (
            false,
            format!(
                "the graph begins after the feature map ({title}), {why}: its input `x` takes features as `atomlearn features --map` \
                 makes them"
            ),
        ),
    };
    Ok(Exported { bytes: file.encode_to_vec(), with_map, input })
}

/// Grey values from 0 to 255 in a frame, and a projection of them if there is one.
fn grey(file: &mut ModelProto, rows: usize, cols: usize, projection: Option<MatRef<'_, f64>>) -> String {
    let graph = file.graph.get_or_insert_default();
    let mut before = GraphProto::default();
    before.node.push(node("Cast", &["image"], "image_double", vec![integer("to", DataType::Double as i64)]));
    before.initializer.push(integers("image_shape", &[-1, (rows * cols) as i64]));
    let pixels = if projection.is_some() { "image_pixels" } else { "x" };
    before.node.push(node("Reshape", &["image_double", "image_shape"], pixels, Vec::new()));
    if let Some(projection) = projection {
        let by_rows = (0..projection.nrows()).flat_map(|i| (0..projection.ncols()).map(move |j| projection[(i, j)]));
        before.initializer.push(TensorProto {
            name: "image_projection".into(),
            dims: vec![projection.nrows() as i64, projection.ncols() as i64],
            data_type: DataType::Double as i32,
            raw_data: by_rows.flat_map(f64::to_le_bytes).collect(),
            ..Default::default()
        });
        before.node.push(node("MatMul", &["image_pixels", "image_projection"], "x", Vec::new()));
    }
    join(graph, before, value("image", DataType::Uint8, &[rows, cols]));
    format!("`image`: bytes, images x {rows} x {cols}, grey, brought to that size before")
}

/// The network, up to the layer that is used, with what it expects of pixel values.
fn network_before(file: &mut ModelProto, network: &Network) -> std::result::Result<String, String> {
    let declared = ModelProto::decode(network.bytes()).map_err(|e| format!("which cannot be read again ({e})"))?;
    let opset = |file: &ModelProto| file.opset_import.iter().find(|set| set.domain.is_empty()).map(|set| set.version);
    let version = opset(&declared).unwrap_or(1);
    if !(OPSETS.0..=OPSETS.1).contains(&version) {
        return Err(format!("which uses operator set {version}, not one of {} to {}", OPSETS.0, OPSETS.1));
    }
    let graph = declared.graph.unwrap_or_default();
    let has_graphs = |node: &NodeProto| node.attribute.iter().any(|a| a.g.is_some() || !a.graphs.is_empty());
    if graph.node.iter().any(has_graphs) || !graph.sparse_initializer.is_empty() || !declared.functions.is_empty() {
        return Err("which has branches, loops or functions".into());
    }
    let constants: HashSet<&str> = graph.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    let own_input = graph.input.iter().find(|input| !constants.contains(input.name.as_str()));
    let own_input = own_input.map(|input| input.name.clone()).ok_or("which has no input")?;
    let first_output = graph.output.first().map(|output| output.name.clone());
    let layer = network.spec().layer.clone().or(first_output).ok_or("which has no output")?;
    let named = |name: &str| if name.is_empty() { String::new() } else { format!("network/{name}") };
    let Input { rows, cols, channels, channels_last } = network.input();

    let mut before = GraphProto::default();
    normalized(&mut before, network.spec().preset, channels, channels_last, &named(&own_input));
    let needed = needed(&graph, &layer);
    for (node, _) in graph.node.iter().zip(&needed).filter(|(_, needed)| **needed) {
        let rename = |names: &[String]| names.iter().map(|name| named(name)).collect();
        before.node.push(NodeProto {
            input: rename(&node.input),
            output: rename(&node.output),
            name: named(&node.name),
            ..node.clone()
        });
    }
    let used: HashSet<&String> = before.node.iter().flat_map(|node| &node.input).collect();
    let kept: Vec<TensorProto> = graph
        .initializer
        .iter()
        .map(|tensor| TensorProto { name: named(&tensor.name), ..tensor.clone() })
        .filter(|tensor| used.contains(&tensor.name))
        .collect();
    before.initializer.extend(kept);
    before.node.push(node("Flatten", &[&named(&layer)], "network_features", vec![integer("axis", 1)]));
    before.node.push(node("Cast", &["network_features"], "x", vec![integer("to", DataType::Double as i64)]));
    let shape = if channels_last { [rows, cols, channels] } else { [channels, rows, cols] };
    join(file.graph.get_or_insert_default(), before, value("image", DataType::Float, &shape));
    let others = declared.opset_import.into_iter().filter(|set| !set.domain.is_empty());
    file.opset_import = vec![OperatorSetIdProto { domain: String::new(), version }];
    file.opset_import.extend(others);
    file.ir_version = file.ir_version.max(declared.ir_version);
    let shape = shape.map(|side| side.to_string()).join(" x ");
    let colors = if channels == 1 { "grey" } else { "red, green and blue" };
    Ok(format!("`image`: 32-bit floats from 0 to 255, images x {shape}, {colors}, brought to that size before"))
}

/// Which nodes the tensor depends on.
fn needed(graph: &GraphProto, layer: &str) -> Vec<bool> {
    let mut wanted: HashSet<&str> = HashSet::from([layer]);
    let mut needed = vec![false; graph.node.len()];
    // Nodes stand in the order of computation.
    for (place, node) in graph.node.iter().enumerate().rev() {
        if node.output.iter().any(|output| wanted.contains(output.as_str())) {
            needed[place] = true;
            wanted.extend(node.input.iter().map(String::as_str));
        }
    }
    needed
}

/// From values of 0 to 255 in red, green and blue to what the network was trained on: `(image * scale + shift)`, channels in its order.
fn normalized(before: &mut GraphProto, preset: Preset, channels: usize, channels_last: bool, output: &str) {
    let mut last = "image".to_string();
    if preset == Preset::Caffe && channels == 3 {
        before.initializer.push(integers("image_order", &[2, 1, 0]));
        let axis = if channels_last { 3 } else { 1 };
        before.node.push(node("Gather", &["image", "image_order"], "image_bgr", vec![integer("axis", axis)]));
        last = "image_bgr".into();
    }
    let (means, deviations) = preset.moments();
    let dims: Vec<i64> = if channels_last { vec![1, 1, channels as i64] } else { vec![channels as i64, 1, 1] };
    for (name, values) in [("image_means", means), ("image_deviations", deviations)] {
        before.initializer.push(TensorProto {
            name: name.into(),
            dims: dims.clone(),
            data_type: DataType::Float as i32,
            raw_data: values[..channels].iter().flat_map(|v| v.to_le_bytes()).collect(),
            ..Default::default()
        });
    }
    before.node.push(node("Sub", &[&last, "image_means"], "image_centred", Vec::new()));
    before.node.push(node("Div", &["image_centred", "image_deviations"], output, Vec::new()));
}

/// Puts nodes before a graph; the new input takes the place of `x`.
fn join(graph: &mut GraphProto, before: GraphProto, input: ValueInfoProto) {
    graph.input = vec![input];
    graph.initializer.extend(before.initializer);
    graph.node.splice(0..0, before.node);
}

fn node(op: &str, inputs: &[&str], output: &str, attribute: Vec<AttributeProto>) -> NodeProto {
    NodeProto {
        input: inputs.iter().map(|name| name.to_string()).collect(),
        output: vec![output.into()],
        name: format!("{op}_{output}"),
        op_type: op.into(),
        attribute,
        ..Default::default()
    }
}

fn integer(name: &str, i: i64) -> AttributeProto {
    AttributeProto { name: name.into(), i, r#type: AttributeType::Int as i32, ..Default::default() }
}

fn integers(name: &str, values: &[i64]) -> TensorProto {
    TensorProto {
        name: name.into(),
        dims: vec![values.len() as i64],
        data_type: DataType::Int64 as i32,
        raw_data: values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        ..Default::default()
    }
}

/// An input of any number of images.
fn value(name: &str, kind: DataType, sides: &[usize]) -> ValueInfoProto {
    let count = Dimension { value: Some(dimension::Value::DimParam("images".into())), ..Default::default() };
    let side = |side: &usize| Dimension { value: Some(dimension::Value::DimValue(*side as i64)), ..Default::default() };
    let shape = TensorShapeProto { dim: std::iter::once(count).chain(sides.iter().map(side)).collect() };
    let tensor = type_proto::Tensor { elem_type: kind as i32, shape: Some(shape) };
    let kind = TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..Default::default() };
    ValueInfoProto { name: name.into(), r#type: Some(kind), ..Default::default() }
}
