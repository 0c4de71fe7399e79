//! Stand-in for [`export`](super::export) in builds that cannot read networks: graphs begin after the map.

use crate::map::FeatureMap;
use atomlearn::Result;

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

/// The graph of a model as it is.
pub fn export_with_map(model: &[u8], map: &FeatureMap) -> Result<Exported> {
    let input = format!(
        "the graph begins after the feature map ({}): this build leaves networks out; `--features full` has everything",
        map.title()
    );
    Ok(Exported { bytes: model.to_vec(), with_map: false, input })
}
