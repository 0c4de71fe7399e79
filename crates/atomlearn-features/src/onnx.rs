//! Activations of an ONNX network as features, computed by tract.

mod known;
mod network;
mod preset;
#[cfg(not(feature = "networks"))]
#[path = "onnx/left_out.rs"]
mod runtime;
#[cfg(feature = "networks")]
mod runtime;
#[cfg(feature = "networks")]
mod sizes;

pub use known::{KNOWN_NETWORKS, KnownNetwork};
#[cfg(feature = "networks")]
pub(crate) use network::Input;
pub use network::digest;
pub use network::{Layer, Network, list_layers, list_layers_in};
pub use preset::Preset;

use crate::frame::Crop;
use serde::{Deserialize, Serialize};

/// Which activation of which network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OnnxSpec {
    /// The part of every image that is used; all of it if none.
    pub crop: Option<Crop>,
    /// Name of the tensor whose values are the features; the network's first output if none.
    pub layer: Option<String>,
    /// What is done to pixel values.
    pub preset: Preset,
    /// Squeeze the whole image into the input instead of cutting out its middle.
    pub stretch: bool,
    /// Height and width of the input, where the network leaves them open.
    pub size: Option<[usize; 2]>,
    /// Images that go through the network together.
    pub batch: usize,
}

impl Default for OnnxSpec {
    fn default() -> Self {
        OnnxSpec { crop: None, layer: None, preset: Preset::default(), stretch: false, size: None, batch: 1 }
    }
}
