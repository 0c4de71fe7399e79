//! Sizes that a network file declares, against the bytes it really has, before anything is allocated for them.

use atomlearn::{Error, Result};
use std::path::Path;
use tract_onnx::pb::{GraphProto, TensorProto, tensor_proto::DataLocation};

/// Graphs within graphs (loops, branches) beyond this are no network.
const DEEPEST: usize = 8;

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
