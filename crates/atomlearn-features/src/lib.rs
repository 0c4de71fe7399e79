//! From images to samples: pixels, random faces, SIFT pyramids and activations of ONNX networks.
//!
//! A [`FeatureSpec`] says what is wanted. [`fit`] makes a [`FeatureMap`] from training images, and the map takes any
//! picture to a vector of [`FeatureMap::dim`] numbers. A map can be stored in a file of its own or in a model file, so
//! that new images take the same way. Images are decoded one at a time for each thread, whatever their number.

mod extract;
mod frame;
mod map;
mod onnx;
mod pixels;
mod resize;
mod sift;

pub use extract::{Broken, Extracted, Watch, extract, fit};
pub use frame::{Crop, Fit, Frame};
pub use map::{FeatureMap, FeatureSpec, KINDS};
pub use onnx::{Layer, Network, OnnxSpec, Preset, list_layers, list_layers_in};
pub use pixels::{PixelsSpec, RandomFaceSpec};
pub use resize::resize;
pub use sift::{Coding, Pooling, SiftSpec};
