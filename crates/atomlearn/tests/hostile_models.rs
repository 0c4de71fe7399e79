//! Model files altered by a stranger who can also sign them: an error, or a model that can be used without a panic.
#![allow(clippy::unwrap_used, clippy::panic)]

use atomlearn::archive::{Content, decode, encode};
use atomlearn::registry::{METHODS, Method, Values};
use atomlearn::{Mat, Model, synth};
use serde_json::json;
use std::panic::{AssertUnwindSafe, catch_unwind};

const FEATURES: usize = 6;

fn trained(method: &'static Method, prep: &str) -> Content {
    let train = synth::blobs(3, 8, FEATURES, 1);
    let model = Model::train(method, &Values::new(), &prep.parse().unwrap(), &train, &mut ()).unwrap();
    let mut content = decode(&model.to_bytes().unwrap()).unwrap();
    content.header.remove("sha256");
    content
}

fn bytes(content: &Content) -> Vec<u8> {
    encode(content).unwrap()
}

/// All that commands do with a model; the message of the error that refused it.
fn used(content: &Content) -> Option<String> {
    let model = match Model::from_bytes(&bytes(content)) {
        Ok(model) => model,
        Err(error) => return Some(error.to_string()),
    };
    let x = Mat::from_fn(model.prep().n_features().min(1 << 12), 2, |i, j| ((i * 7 + j * 3) % 11) as f64 - 4.0);
    let _ = model.predict(x.as_ref());
    let _ = model.prepare(x.as_ref()).map(|x| model.classifier().scores_by_rule(x.as_ref()).is_ok());
    let _ = model.to_onnx();
    None
}

#[test]
fn parts_of_any_size_are_refused_or_usable() {
    let mut panics = Vec::new();
    let preps = ["none", "center", "standard", "pca:2", "pca-uncentered:2", "random:3", "kernel:rbf:auto:3", "unit"];
    for (i, method) in METHODS.iter().enumerate() {
        let content = trained(method, preps[i % preps.len()]);
        assert_eq!(used(&content), None, "{}", method.key);
        for (name, part) in content.matrices.iter() {
            let (rows, cols) = part.shape();
            for size in [(rows, 0), (0, cols), (0, 0), (1, 1), (rows, cols + 1), (rows + 1, cols), (cols, rows)] {
                let mut altered = content.clone();
                altered.matrices.put(name, Mat::<f64>::zeros(size.0, size.1));
                if catch_unwind(AssertUnwindSafe(|| used(&altered))).is_err() {
                    panics.push(format!("{}: {name} of {size:?}", method.key));
                }
            }
        }
    }
    assert!(panics.is_empty(), "panics:\n{}", panics.join("\n"));
}

#[test]
fn preprocessing_without_columns_is_refused() {
    for prep in ["center", "standard", "pca:2", "pca-uncentered:2", "random:3", "kernel:rbf:auto:3"] {
        let content = trained(&METHODS[0], prep);
        for (name, part) in content.matrices.iter().filter(|(name, _)| name.starts_with("prep.")) {
            let mut altered = content.clone();
            altered.matrices.put(name, Mat::<f64>::zeros(part.nrows(), 0));
            assert!(used(&altered).is_some(), "{prep}: {name} without columns was accepted");
        }
    }
}

#[test]
fn classes_twice_and_no_features_are_refused() {
    let mut content = trained(&METHODS[0], "none");
    content.header["classes"] = json!(["a", "b", "a"]);
    assert!(used(&content).unwrap().contains("class `a` is there twice"));
    let mut content = trained(&METHODS[0], "none");
    content.header["n_features"] = json!(0);
    assert!(used(&content).is_some());
}

#[test]
fn more_atoms_than_their_gram_matrix_has_room_for_are_refused() {
    for key in ["crc", "src", "ksvd", "lcdl-sv", "svgdl", "fddl"] {
        let method = METHODS.iter().find(|method| method.key == key).unwrap();
        let mut content = trained(method, "none");
        content.header["n_features"] = json!(1);
        content.matrices.put("dictionary", Mat::from_fn(1, 100_000, |_, j| (j % 7) as f64));
        assert!(used(&content).unwrap().contains("too many atoms"), "{key}");
    }
}
