//! Sizes that a network file declares, checked before anything is allocated for them: constants against the bytes the file
//! really has, tensors that are made of few constants, layers against what a machine can hold.

use atomlearn::{Error, Result};
use std::collections::HashMap;
use std::path::Path;
use tract_onnx::pb::tensor_proto::{DataLocation, DataType};
use tract_onnx::pb::{GraphProto, NodeProto, TensorProto};
use tract_onnx::prelude::TypedModel;

/// Graphs within graphs (loops, branches) beyond this are no network.
const DEEPEST: usize = 8;
/// No tensor has more values, for one image.
const MOST_VALUES: usize = 1 << 28;
/// Nodes that make tensors out of a few constants make no more values than this.
const MOST_MADE: f64 = (1u64 << 26) as f64;

/// Values of an image of which scales make a larger one, as far as limits are concerned.
const USUAL_IMAGE: f64 = 128.0 * 128.0;

/// Refuses constants that are larger than the file: every value takes a byte at least.
pub(super) fn check(path: &Path, graph: &GraphProto, file_bytes: usize) -> Result<()> {
    check_within(path, graph, file_bytes, DEEPEST)
}

fn check_within(path: &Path, graph: &GraphProto, file_bytes: usize, deeper: usize) -> Result<()> {
    if deeper == 0 {
        return Err(Error::format(
            path,
            format!("graphs within graphs, more than {DEEPEST} deep; not a network for images"),
        ));
    }
    graph.initializer.iter().try_for_each(|tensor| check_tensor(path, tensor, file_bytes))?;
    let constants = constants(graph);
    for node in &graph.node {
        if let Some(count) = made(node, &constants).filter(|count| !count.is_finite() || *count > MOST_MADE) {
            let why = format!("node `{}` ({}) makes {count:e} values out of constants", node.name, node.op_type);
            return Err(Error::format(path, why));
        }
    }
    for attribute in graph.node.iter().flat_map(|node| &node.attribute) {
        attribute.t.iter().chain(&attribute.tensors).try_for_each(|tensor| check_tensor(path, tensor, file_bytes))?;
        let graphs = attribute.g.iter().chain(&attribute.graphs);
        graphs.into_iter().try_for_each(|graph| check_within(path, graph, file_bytes, deeper - 1))?;
    }
    Ok(())
}

fn check_tensor(path: &Path, tensor: &TensorProto, file_bytes: usize) -> Result<()> {
    if tensor.data_location == Some(DataLocation::External as i32) {
        let why = format!("the values of `{}` are in another file; export the network as one file", tensor.name);
        return Err(Error::format(path, why));
    }
    let count = tensor.dims.iter().try_fold(1usize, |count, &side| count.checked_mul(usize::try_from(side).ok()?));
    if count.is_some_and(|count| count <= file_bytes) {
        return Ok(());
    }
    let why = format!(
        "`{}` declares the sizes {:?}, more than the file holds; copy or export it again",
        tensor.name, tensor.dims
    );
    Err(Error::format(path, why))
}

/// Tensors that the graph holds, by name.
fn constants(graph: &GraphProto) -> HashMap<&str, &TensorProto> {
    let stored = graph.initializer.iter().map(|tensor| (tensor.name.as_str(), tensor));
    let nodes = graph.node.iter().filter(|node| node.op_type == "Constant");
    let inline = nodes.filter_map(|node| Some((node.output.first()?.as_str(), node.attribute.first()?.t.as_ref()?)));
    stored.chain(inline).collect()
}

/// How many values a node makes, where that stands in constants. Sizes that are computed are not seen here.
fn made(node: &NodeProto, constants: &HashMap<&str, &TensorProto>) -> Option<f64> {
    let input =
        |i: usize| node.input.get(i).and_then(|name| constants.get(name.as_str())).map(|tensor| numbers(tensor));
    let product = |sides: Vec<f64>| sides.iter().product::<f64>();
    let enlarged = |scales: Vec<f64>| USUAL_IMAGE * product(scales);
    match node.op_type.as_str() {
        "ConstantOfShape" => input(0).map(product),
        "Expand" | "Tile" => input(1).map(product),
        // Scales, or else sizes; padding makes at least as many values as it is wide.
        "Resize" => [input(2).map(enlarged), input(3).map(product)].into_iter().flatten().reduce(f64::max),
        "Upsample" => input(1).map(enlarged),
        "Pad" => input(1).map(|widths| widths.iter().fold(0.0, |most, width| width.abs().max(most))),
        "Range" => {
            let first = |i: usize| input(i).and_then(|values| values.first().copied());
            Some((first(1)? - first(0)?) / first(2)?)
        }
        _ => None,
    }
}

/// The values of a small tensor of the kinds that sizes are written in.
fn numbers(tensor: &TensorProto) -> Vec<f64> {
    let raw = &tensor.raw_data;
    let wide = |number: fn([u8; 8]) -> f64| raw.chunks_exact(8).filter_map(|b| b.try_into().ok().map(number)).collect();
    let short =
        |number: fn([u8; 4]) -> f64| raw.chunks_exact(4).filter_map(|b| b.try_into().ok().map(number)).collect();
    match (DataType::try_from(tensor.data_type), raw.is_empty()) {
        (Ok(DataType::Int64), true) => tensor.int64_data.iter().map(|&v| v as f64).collect(),
        (Ok(DataType::Int64), false) => wide(|b| i64::from_le_bytes(b) as f64),
        (Ok(DataType::Double), true) => tensor.double_data.clone(),
        (Ok(DataType::Double), false) => wide(f64::from_le_bytes),
        (Ok(DataType::Int32), true) => tensor.int32_data.iter().map(|&v| f64::from(v)).collect(),
        (Ok(DataType::Int32), false) => short(|b| f64::from(i32::from_le_bytes(b))),
        (Ok(DataType::Float), true) => tensor.float_data.iter().map(|&v| f64::from(v)).collect(),
        (Ok(DataType::Float), false) => short(|b| f64::from(f32::from_le_bytes(b))),
        _ => Vec::new(),
    }
}

/// Refuses a network that is ready to run but would need too much memory for it.
pub(super) fn check_values(path: &Path, model: &TypedModel, batch: usize) -> Result<()> {
    let most = MOST_VALUES.saturating_mul(batch);
    let too_large = |shape: &[usize]| {
        shape.iter().try_fold(1usize, |count, &side| count.checked_mul(side)).is_none_or(|count| count > most)
    };
    for node in model.nodes() {
        for shape in node.outputs.iter().filter_map(|output| output.fact.shape.as_concrete()) {
            if too_large(shape) {
                let why =
                    format!("layer `{}` has the sizes {shape:?}; up to {MOST_VALUES} values are possible", node.name);
                return Err(Error::format(path, why));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(name: &str, dims: &[i64], values: &[i64]) -> TensorProto {
        let data_type = DataType::Int64 as i32;
        TensorProto {
            name: name.into(),
            dims: dims.to_vec(),
            data_type,
            int64_data: values.to_vec(),
            ..Default::default()
        }
    }

    fn graph(constant: TensorProto, op: &str, inputs: &[&str]) -> GraphProto {
        let input = inputs.iter().map(|name| name.to_string()).collect();
        let node = NodeProto { op_type: op.into(), input, ..Default::default() };
        GraphProto { initializer: vec![constant], node: vec![node], ..Default::default() }
    }

    fn message(graph: &GraphProto) -> String {
        check(Path::new("n"), graph, 1000).unwrap_err().to_string()
    }

    #[test]
    fn constants_larger_than_the_file_are_refused() {
        assert!(message(&graph(tensor("w", &[1 << 20, 1 << 20], &[]), "Relu", &["x"])).contains("more than the file"));
        assert!(
            message(&graph(tensor("w", &[i64::MAX, i64::MAX], &[]), "Relu", &["x"])).contains("more than the file")
        );
        assert!(message(&graph(tensor("w", &[-1], &[]), "Relu", &["x"])).contains("more than the file"));
        assert!(check(Path::new("n"), &graph(tensor("w", &[10, 10], &[]), "Relu", &["x"]), 1000).is_ok());
    }

    #[test]
    fn few_constants_do_not_make_huge_tensors() {
        let huge = || tensor("s", &[2], &[100_000, 100_000]);
        for (op, inputs) in [("ConstantOfShape", vec!["s"]), ("Expand", vec!["x", "s"]), ("Tile", vec!["x", "s"])] {
            assert!(message(&graph(huge(), op, &inputs)).contains("1e10 values"), "{op}");
        }
        for (op, inputs) in
            [("Resize", vec!["x", "", "s"]), ("Resize", vec!["x", "", "", "s"]), ("Upsample", vec!["x", "s"])]
        {
            assert!(message(&graph(huge(), op, &inputs)).contains("values"), "{op} {inputs:?}");
        }
        assert!(message(&graph(tensor("s", &[2], &[0, 1 << 40]), "Pad", &["x", "s"])).contains("values"));
        assert!(check(Path::new("n"), &graph(tensor("s", &[2], &[2, 2]), "Resize", &["x", "", "s"]), 1000).is_ok());
        assert!(check(Path::new("n"), &graph(tensor("s", &[2], &[8, 8]), "Tile", &["x", "s"]), 1000).is_ok());
        let mut raw = tensor("s", &[2], &[]);
        raw.raw_data = [100_000i64.to_le_bytes(), 100_000i64.to_le_bytes()].concat();
        assert!(message(&graph(raw, "ConstantOfShape", &["s"])).contains("1e10 values"));
    }

    #[test]
    fn graphs_in_graphs_end_somewhere() {
        use tract_onnx::pb::AttributeProto;
        let mut whole = GraphProto::default();
        for _ in 0..20 {
            let attribute = vec![AttributeProto { g: Some(whole), ..Default::default() }];
            whole = GraphProto { node: vec![NodeProto { attribute, ..Default::default() }], ..Default::default() };
        }
        assert!(message(&whole).contains("graphs within graphs"));
    }
}
