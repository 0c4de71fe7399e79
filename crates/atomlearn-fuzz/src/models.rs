//! Model files and networks.

use atomlearn::archive::{Content, encode};
use atomlearn::{Mat, Model};
use atomlearn_features::{FeatureMap, Network, OnnxSpec, list_layers_in};
use atomlearn_serve::Subject;
use safetensors::tensor::{Dtype, SafeTensors};
use serde_json::{Map, Value};
use std::path::Path;

/// Samples longer than this would test the harness, not the model.
const MOST_FEATURES: usize = 1 << 12;

/// A model file as it is, and as it would be if its digest were right: a digest keeps accidents out, not attackers.
pub fn model(bytes: &[u8]) {
    if let Ok(model) = Model::from_bytes(bytes) {
        use_model(model);
    }
    if let Some(model) = signed(bytes).and_then(|bytes| Model::from_bytes(&bytes).ok()) {
        use_model(model);
    }
}

/// All that commands do with a model that they have loaded.
fn use_model(mut model: Model) {
    let features = model.prep().n_features();
    if features <= MOST_FEATURES {
        let x = Mat::from_fn(features, 2, |i, j| ((i * 7 + j * 3) % 11) as f64 - 4.0);
        if let Ok(scores) = model.scores(x.as_ref()) {
            assert_eq!((scores.nrows(), scores.ncols()), (model.classes().len(), 2));
        }
    }
    let _ = model.to_onnx();
    let _ = model.to_bytes();
    if let Some(content) = model.features.take() {
        let _ = FeatureMap::from_content(content);
    }
    let subject = Subject::new(model, "fuzz", None, None);
    assert!(subject.facts().is_object());
}

/// The same file with the digest that its content asks for.
fn signed(bytes: &[u8]) -> Option<Vec<u8>> {
    let (_, metadata) = SafeTensors::read_metadata(bytes).ok()?;
    let tensors = SafeTensors::deserialize(bytes).ok()?;
    let header: Value = serde_json::from_str(metadata.metadata().as_ref()?.get("atomlearn")?).ok()?;
    let Value::Object(mut header) = header else { return None };
    header.remove("sha256");
    let header: Map<String, Value> = header;
    let mut content = Content { header, ..Default::default() };
    for (name, view) in tensors.tensors() {
        match (view.dtype(), view.shape()) {
            (Dtype::F64, &[cols, rows]) => {
                let values: Vec<f64> =
                    view.data().chunks_exact(8).filter_map(|b| b.try_into().ok().map(f64::from_le_bytes)).collect();
                content.matrices.put(name, Mat::from_fn(rows, cols, |i, j| values[j * rows + i]));
            }
            (Dtype::U8, [_]) => drop(content.blobs.insert(name, view.data().into())),
            _ => return None,
        }
    }
    encode(&content).ok()
}

/// A network file: listed, and prepared to run.
pub fn onnx(bytes: &[u8]) {
    let path = Path::new("fuzz.onnx");
    let _ = list_layers_in(path, bytes, Some([8, 8]));
    let _ = Network::new(path, bytes.to_vec(), &OnnxSpec::default());
}
