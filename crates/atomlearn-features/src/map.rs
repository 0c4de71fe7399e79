//! The fitted map and its file.

use crate::fisher::{Fisher, FisherSpec};
use crate::onnx::{KnownNetwork, Network, OnnxSpec};
use crate::pixels::{PixelsSpec, RandomFace, RandomFaceSpec};
use crate::sift::{SiftPyramid, SiftSpec};
use atomlearn::archive::{self, Content};
use atomlearn::io::ImageShape;
use atomlearn::io::pictures::Picture;
use atomlearn::{Error, Mat, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::path::Path;

const FORMAT: &str = "atomlearn.feature-map/1";
/// Networks up to this size travel with the map; of larger ones only path, size and digest do.
const EMBED_UP_TO: usize = 64 << 20;

/// The kinds of features, by name.
pub const KINDS: [&str; 5] = ["pixels", "random-face", "sift-pyramid", "fisher", "onnx"];

/// What kind of features are wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FeatureSpec {
    /// Grey values.
    Pixels(PixelsSpec),
    /// Grey values through a random projection.
    RandomFace(RandomFaceSpec),
    /// Pooled codes of dense SIFT descriptors.
    SiftPyramid(SiftSpec),
    /// Fisher vectors of dense SIFT descriptors.
    Fisher(FisherSpec),
    /// Activations of a network.
    Onnx(OnnxSpec),
}

impl FeatureSpec {
    /// One of [`KINDS`].
    pub fn kind(&self) -> &'static str {
        KINDS[match self {
            FeatureSpec::Pixels(_) => 0,
            FeatureSpec::RandomFace(_) => 1,
            FeatureSpec::SiftPyramid(_) => 2,
            FeatureSpec::Fisher(_) => 3,
            FeatureSpec::Onnx(_) => 4,
        }]
    }

    /// True if the map depends on the images it is fitted on.
    pub fn learns(&self) -> bool {
        matches!(self, FeatureSpec::SiftPyramid(_) | FeatureSpec::Fisher(_))
    }
}

/// A map from pictures to vectors.
#[derive(Clone, Debug)]
pub struct FeatureMap {
    pub(crate) fitted: Fitted,
}

#[derive(Clone, Debug)]
pub(crate) enum Fitted {
    Pixels(PixelsSpec),
    RandomFace(Box<RandomFace>),
    SiftPyramid(Box<SiftPyramid>),
    Fisher(Box<Fisher>),
    Onnx(Box<Network>),
}

impl FeatureMap {
    pub(crate) fn new(fitted: Fitted) -> Self {
        FeatureMap { fitted }
    }

    /// A map of a kind that learns nothing from images.
    pub(crate) fn unfitted(spec: &FeatureSpec, network: Option<&Path>) -> Result<Self> {
        Ok(FeatureMap::new(match spec {
            FeatureSpec::Pixels(pixels) => {
                pixels.check()?;
                Fitted::Pixels(pixels.clone())
            }
            FeatureSpec::RandomFace(spec) => Fitted::RandomFace(Box::new(RandomFace::draw(spec)?)),
            FeatureSpec::Onnx(spec) => {
                let path = network.ok_or_else(|| Error::param("onnx", "", "name the network file"))?;
                Fitted::Onnx(Box::new(Network::open(path, spec)?))
            }
            FeatureSpec::SiftPyramid(_) | FeatureSpec::Fisher(_) => {
                return Err(Error::Data("this kind of features has to be fitted on images".into()));
            }
        }))
    }

    /// What was asked for.
    pub fn spec(&self) -> FeatureSpec {
        match &self.fitted {
            Fitted::Pixels(spec) => FeatureSpec::Pixels(spec.clone()),
            Fitted::RandomFace(face) => FeatureSpec::RandomFace(face.spec.clone()),
            Fitted::SiftPyramid(pyramid) => FeatureSpec::SiftPyramid(pyramid.spec().clone()),
            Fitted::Fisher(fisher) => FeatureSpec::Fisher(fisher.spec().clone()),
            Fitted::Onnx(network) => FeatureSpec::Onnx(network.spec().clone()),
        }
    }

    /// One of [`KINDS`].
    pub fn kind(&self) -> &'static str {
        self.spec().kind()
    }

    /// What the features are, in words.
    pub fn title(&self) -> String {
        match &self.fitted {
            Fitted::Pixels(spec) => format!("grey values of {}", spec.size_text()),
            Fitted::RandomFace(face) => {
                format!("random projections of the grey values of {}", face.spec.pixels.size_text())
            }
            Fitted::SiftPyramid(pyramid) => format!("a SIFT pyramid of {} visual words", pyramid.spec().words),
            Fitted::Fisher(fisher) => {
                format!("Fisher vectors of dense SIFT, {} Gaussians", fisher.spec().components)
            }
            Fitted::Onnx(network) => {
                let file = network.path().file_name().map(|name| name.to_string_lossy().into_owned());
                let known = KnownNetwork::of_digest(network.sha256()).map(|known| known.name.to_string());
                let layer = network.spec().layer.as_deref().unwrap_or("its first output");
                format!("the network {}, layer {layer}", known.or(file).unwrap_or_default())
            }
        }
    }

    /// Number of features.
    pub fn dim(&self) -> usize {
        match &self.fitted {
            Fitted::Pixels(spec) => spec.dim(),
            Fitted::RandomFace(face) => face.projection.ncols(),
            Fitted::SiftPyramid(pyramid) => pyramid.dim(),
            Fitted::Fisher(fisher) => fisher.dim(),
            Fitted::Onnx(network) => network.dim(),
        }
    }

    /// Height and width where features are pixels.
    pub fn image_shape(&self) -> Option<ImageShape> {
        match &self.fitted {
            Fitted::Pixels(spec) => {
                Some(ImageShape { rows: spec.frame.rows, cols: spec.frame.cols, column_major: false })
            }
            _ => None,
        }
    }

    /// The features of one picture.
    pub fn apply(&self, picture: &Picture) -> Result<Vec<f64>> {
        match &self.fitted {
            Fitted::Pixels(spec) => spec.apply(picture),
            Fitted::RandomFace(face) => face.apply(picture),
            Fitted::SiftPyramid(pyramid) => pyramid.apply(picture),
            Fitted::Fisher(fisher) => fisher.apply(picture),
            Fitted::Onnx(network) => network.apply(picture),
        }
    }

    /// The map as a model file carries it.
    pub fn to_content(&self) -> Content {
        let mut content = Content::default();
        content.header.insert("format".into(), json!(FORMAT));
        content.header.insert("spec".into(), json!(self.spec()));
        content.header.insert("dim".into(), json!(self.dim()));
        content.header.insert("title".into(), json!(self.title()));
        match &self.fitted {
            Fitted::Pixels(_) => {}
            Fitted::RandomFace(face) => {
                content.matrices.put("projection", &face.projection);
            }
            Fitted::SiftPyramid(pyramid) => {
                pyramid.parts().into_iter().for_each(|(name, part)| content.matrices.put(name, part));
            }
            Fitted::Fisher(fisher) => {
                fisher.parts().into_iter().for_each(|(name, part)| content.matrices.put(name, part));
            }
            Fitted::Onnx(network) => {
                let embedded = network.bytes().len() <= EMBED_UP_TO;
                let path = std::path::absolute(network.path()).unwrap_or_else(|_| network.path().into());
                let file = network.path().file_name().map(|name| name.to_string_lossy().into_owned());
                let mut facts = Map::new();
                facts.insert("file".into(), json!(file));
                facts.insert("sha256".into(), json!(network.sha256()));
                facts.insert("bytes".into(), json!(network.bytes().len()));
                if embedded {
                    content.blobs.insert("network".into(), network.bytes().into());
                } else {
                    facts.insert("path".into(), json!(path.display().to_string()));
                }
                content.header.insert("network".into(), Value::Object(facts));
            }
        }
        content
    }

    /// The counterpart of [`FeatureMap::to_content`]; everything is checked.
    pub fn from_content(content: Content) -> Result<Self> {
        let Content { header, mut matrices, mut blobs } = content;
        let text = header.get("format").and_then(Value::as_str).unwrap_or_default();
        if text != FORMAT {
            return Err(Error::Data(format!("format `{text}` is not one this version reads ({FORMAT})")));
        }
        let spec = header.get("spec").cloned().unwrap_or_default();
        let spec: FeatureSpec =
            serde_json::from_value(spec).map_err(|e| Error::Data(format!("invalid feature map: {e}")))?;
        let mut take = |name: &str| {
            matrices.take_if(name).ok_or_else(|| Error::Data(format!("the feature map has no part `{name}`")))
        };
        let fitted = match spec {
            FeatureSpec::Pixels(spec) => {
                spec.check()?;
                Fitted::Pixels(spec)
            }
            FeatureSpec::RandomFace(spec) => {
                spec.check()?;
                let projection: Mat<f64> = take("projection")?;
                if projection.shape() != (spec.pixels.dim(), spec.dim) {
                    return Err(Error::Data("the random projection does not fit its sizes".into()));
                }
                Fitted::RandomFace(Box::new(RandomFace { spec, projection }))
            }
            FeatureSpec::SiftPyramid(spec) => {
                let pyramid = SiftPyramid::restore(spec, take("words")?, take("mean")?, take("basis")?)?;
                Fitted::SiftPyramid(Box::new(pyramid))
            }
            FeatureSpec::Fisher(spec) => Fitted::Fisher(Box::new(Fisher::restore(spec, take)?)),
            FeatureSpec::Onnx(spec) => {
                let (name, bytes) = network_bytes(&header, blobs.remove("network").map(|bytes| bytes.to_vec()))?;
                Fitted::Onnx(Box::new(Network::new(Path::new(&name), bytes, &spec)?))
            }
        };
        let map = FeatureMap { fitted };
        match header.get("dim").and_then(Value::as_u64) {
            Some(dim) if dim == map.dim() as u64 => Ok(map),
            _ => Err(Error::Data("the feature map does not give as many features as it says".into())),
        }
    }

    /// Writes a map file, atomically.
    pub fn save(&self, path: &Path) -> Result<()> {
        archive::write(path, &self.to_content())
    }

    /// Reads a map file.
    pub fn load(path: &Path) -> Result<Self> {
        Self::from_content(archive::read(path)?).map_err(|e| match e {
            Error::Data(why) => Error::format(path, why),
            other => other,
        })
    }
}

/// Name and bytes of the network: from the map itself, or from the file it names if that is still the same.
fn network_bytes(header: &Map<String, Value>, embedded: Option<Vec<u8>>) -> Result<(String, Vec<u8>)> {
    let facts = header.get("network").and_then(Value::as_object);
    let text = |key: &str| facts.and_then(|facts| facts.get(key)).and_then(Value::as_str);
    if let Some(bytes) = embedded {
        return Ok((text("file").unwrap_or("network.onnx").to_string(), bytes));
    }
    let missing = || Error::Data("the feature map names no network".into());
    let (path, sha256) = (Path::new(text("path").ok_or_else(missing)?), text("sha256").ok_or_else(missing)?);
    let size = facts.and_then(|facts| facts.get("bytes")).and_then(Value::as_u64).ok_or_else(missing)?;
    let metadata = std::fs::metadata(path).map_err(Error::io(path))?;
    let changed = || Error::format(path, "this is not the network the feature map was made with; put that one back");
    // The size first: the path may come from a stranger's file and lead anywhere.
    if !metadata.is_file() || metadata.len() != size {
        return Err(changed());
    }
    let bytes = std::fs::read(path).map_err(Error::io(path))?;
    if crate::onnx::digest(&bytes) != sha256 {
        return Err(changed());
    }
    Ok((path.display().to_string(), bytes))
}
