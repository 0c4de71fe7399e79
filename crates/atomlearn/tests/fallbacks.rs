//! Whatever is done that the user did not ask for reaches the observer. The rest of the kinds are tested beside the code
//! that falls back: singular graphs and covariances, ranks of codes, atoms that die, sweeps that do not settle.
#![allow(clippy::unwrap_used, clippy::panic)]

use atomlearn::observe::Trace;
use atomlearn::registry::{self, Values};
use atomlearn::{Dataset, Mat, Model, synth};
use serde_json::{Value, json};

/// Trains and gives the warnings, and the error if there is one.
fn warnings(method: &str, params: Value, prep: &str, train: &Dataset) -> Vec<String> {
    let params: Values = params.as_object().unwrap().clone().into_iter().collect();
    let mut trace = Trace::default();
    let model = Model::train(registry::method(method).unwrap(), &params, &prep.parse().unwrap(), train, &mut trace);
    trace.warnings.extend(model.err().map(|error| format!("failed: {error}")));
    trace.warnings
}

/// Two classes whose samples `value(class, sample, feature)` gives.
fn two_classes(per_class: usize, features: usize, value: impl Fn(usize, usize, usize) -> f64) -> Dataset {
    let x = Mat::from_fn(features, 2 * per_class, |i, j| value(j / per_class, j % per_class, i));
    let labels: Vec<String> = (0..2 * per_class).map(|j| ["a", "b"][j / per_class].to_string()).collect();
    Dataset::new(x.as_ref(), &labels).unwrap()
}

/// Every sample of a class is the same.
fn one_point_per_class() -> Dataset {
    two_classes(5, 4, |class, _, i| if i == class { 1.0 } else { 0.1 * i as f64 })
}

#[test]
fn every_fall_back_is_told() {
    let blobs = synth::blobs(2, 6, 5, 1);
    let point = one_point_per_class();
    let with_zeros = two_classes(5, 4, |class, j, i| if j < 3 { 0.0 } else { (class * 3 + i * j) as f64 % 5.0 });
    let with_constants = two_classes(5, 4, |class, j, i| if i == 0 { 2.0 } else { (class * 3 + i * j) as f64 % 5.0 });
    let cases: [(&str, Value, &str, &Dataset, &str); 11] = [
        ("dpl", json!({"gamma": 0.0, "lambda": 0.0}), "unit", &point, "added to its diagonal"),
        ("ridge", json!({}), "pca:4", &point, "instead of 4 directions"),
        ("ridge", json!({}), "unit", &with_zeros, "stay zero"),
        ("ridge", json!({}), "standard", &with_constants, "features are constant"),
        ("ridge", json!({}), "kernel:rbf:1", &point, "directions kept"),
        ("lcdl-sv", json!({"atoms_per_class": 5}), "unit", &point, "fewer atoms than asked for"),
        ("ksvd", json!({"atoms_per_class": 5}), "unit", &with_zeros, "fewer atoms than asked for"),
        ("dadl", json!({"knn": 50}), "unit", &blobs, "neighbours"),
        ("lcdl-sv", json!({"preset": "authors-code", "eta1": 100.0}), "unit", &blobs, "was fitted again"),
        ("fddl", json!({"lambda1": 10.0}), "unit", &blobs, "removed dead atoms"),
        ("dksvd", json!({"beta": 1e24}), "unit", &blobs, "will never be used"),
    ];
    let mut missing = Vec::new();
    for (method, params, prep, train, word) in cases {
        let told = warnings(method, params, prep, train);
        if !told.iter().any(|warning| warning.contains(word)) {
            missing.push(format!("{method} --prep {prep}: `{word}` is not in {told:?}"));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
