//! LCDL-SV must not collapse where the published arithmetic does: digits, fresh splits and few dimensions.

#![allow(clippy::unwrap_used, clippy::panic)]

use atomlearn::registry::{self, Values};
use atomlearn::{Model, io};
use atomlearn_lab::data::{LabData, digest_raw};
use atomlearn_lab::splits;

/// Accuracy of the fused rule on every one of `repeats` splits with 50 training samples per class.
fn fused(prep: &str, repeats: usize, seed: u64) -> Vec<f64> {
    let raw = io::digits();
    let data = LabData::new("digits", digest_raw(&raw), raw).unwrap();
    let method = registry::method("lcdl-sv").unwrap();
    let splits = splits::stratified(&data, 50, repeats, seed).unwrap();
    let values = Values::from_iter([("preset".to_string(), "authors-code".into())]);
    let accuracy = |split: &splits::Split| {
        let train = data.dataset(&split.train).unwrap();
        let model = Model::train(method, &values, &prep.parse().unwrap(), &train, &mut ()).unwrap();
        let found = model.predict(data.columns(&split.test).as_ref()).unwrap();
        let right = found.iter().zip(&split.test).filter(|&(&class, &i)| class == data.targets[i]).count();
        100.0 * right as f64 / split.test.len() as f64
    };
    splits.splits.iter().map(accuracy).collect()
}

#[test]
fn twenty_fresh_splits() {
    let accuracies = fused("unit", 20, 1);
    assert!(accuracies.iter().all(|&a| a > 85.0), "{accuracies:?}");
}

#[test]
fn few_dimensions() {
    for (dimensions, least) in [(30, 90.0), (20, 90.0), (10, 80.0)] {
        let accuracies = fused(&format!("pca-uncentered:{dimensions},unit"), 3, 2);
        let mean = accuracies.iter().sum::<f64>() / 3.0;
        assert!(mean > least, "{dimensions} dimensions: {accuracies:?}");
    }
}
