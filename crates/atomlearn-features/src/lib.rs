//! From images to samples: pixels, random faces, SIFT pyramids, Fisher vectors and activations of ONNX networks.
//!
//! A [`FeatureSpec`] says what is wanted. [`fit`] makes a [`FeatureMap`] from training images, and the map takes any
//! picture to a vector of [`FeatureMap::dim`] numbers. A map can be stored in a file of its own or in a model file, so
//! that new images take the same way. Images are decoded one at a time for each thread, whatever their number.

mod augment;
#[cfg(feature = "networks")]
mod export;
#[cfg(not(feature = "networks"))]
#[path = "export/left_out.rs"]
mod export;
mod extract;
mod fingerprint;
mod fisher;
mod frame;
mod map;
mod onnx;
mod pixels;
mod regions;
mod resize;
mod sift;

pub use augment::Augment;
pub use export::{Exported, export_with_map};
pub use extract::{Broken, Extracted, Handling, ImageObserver, extract, fit, refusal};
pub use fingerprint::Fingerprint;
pub use fisher::FisherSpec;
pub use frame::{Crop, Fit, Frame};
pub use map::{FeatureMap, FeatureSpec, KINDS};
pub use onnx::{KNOWN_NETWORKS, KnownNetwork, Layer, Network, OnnxSpec, Preset, digest, list_layers, list_layers_in};
pub use pixels::{PixelsSpec, RandomFaceSpec};
pub use regions::Regions;
pub use resize::resize;
pub use sift::{Coding, DenseSift, Pooling, SiftSpec, dense_sift};
