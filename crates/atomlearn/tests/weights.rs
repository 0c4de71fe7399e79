//! Weights of samples: a weight of two stands for a sample twice, or the method says that it knows none.

#![allow(clippy::unwrap_used)]

use atomlearn::prep::PrepSpec;
use atomlearn::registry::{METHODS, Values};
use atomlearn::{Dataset, Mat, MatRef, Model, synth};
use serde_json::json;

/// Everything that would be chosen by leave-one-out: a twin that stays would help the repeated samples.
fn fixed(key: &str) -> Values {
    let values = match key {
        "ridge" => json!({"lambda": 0.1}),
        "crc" => json!({"kappa": 0.1}),
        "lda" => json!({"shrinkage": "ledoit-wolf"}),
        "linear-svm" => json!({"theta": 3.0}),
        "rbf-svm" => json!({"theta": 3.0, "gamma": 0.2}),
        _ => json!({}),
    };
    serde_json::from_value(values).unwrap()
}

fn names(data: &Dataset) -> Vec<String> {
    data.targets().iter().map(|&c| data.classes()[c].clone()).collect()
}

fn columns(x: MatRef<'_, f64>, places: &[usize]) -> Mat<f64> {
    Mat::from_fn(x.nrows(), places.len(), |i, j| x[(i, places[j])])
}

#[test]
fn whole_weights_equal_repeated_samples_and_zero_their_absence() {
    for (per_class, dim) in [(9, 5), (6, 30)] {
        let (train, test) = (synth::blobs(3, per_class, dim, 1), synth::blobs(3, 4, dim, 2));
        let labels = names(&train);
        let weights: Vec<usize> = (0..labels.len()).map(|i| i * i % 4).collect();
        let places: Vec<usize> = (0..labels.len()).flat_map(|i| vec![i; weights[i]]).collect();
        let longer: Vec<String> = places.iter().map(|&i| labels[i].clone()).collect();
        let repeated = Dataset::new(columns(train.x(), &places), &longer).unwrap();
        let weights: Vec<f64> = weights.iter().map(|&w| w as f64).collect();
        let weighted = Dataset::new(train.x(), &labels).unwrap().with_weights(&weights).unwrap();
        // `auto` always chooses; its own tests compare it with groups of equal samples.
        for method in METHODS.iter().filter(|method| method.weights && method.key != "auto") {
            for prep in ["unit", "standard", "pca:3,unit"] {
                let prep: PrepSpec = prep.parse().unwrap();
                let scores = |data: &Dataset| {
                    let model = Model::train(method, &fixed(method.key), &prep, data, &mut ()).unwrap();
                    model.scores(test.x()).unwrap()
                };
                let (found, expected) = (scores(&weighted), scores(&repeated));
                let error = (&found - &expected).norm_max() / expected.norm_max();
                assert!(error < 1e-7, "{} {prep} {dim}: {error:e}", method.key);
                assert_ne!(found, scores(&train), "{}: weights change nothing", method.key);
            }
        }
    }
}

#[test]
fn methods_without_weights_name_those_that_have_them() {
    let train = synth::blobs(2, 4, 5, 1);
    let weighted = train.clone().with_weights(&[1.0, 2.0, 1.0, 1.0, 3.0, 1.0, 1.0, 1.0]).unwrap();
    let prep: PrepSpec = "unit".parse().unwrap();
    for method in METHODS {
        let trained = Model::train(method, &Values::new(), &prep, &weighted, &mut ());
        assert_eq!(trained.is_ok(), method.weights, "{}", method.key);
        if let Err(error) = trained {
            let error = error.to_string();
            assert!(error.contains(method.key) && error.contains("ridge") && error.contains("auto"), "{error}");
        }
    }
    let kernel: PrepSpec = "kernel:rbf:auto".parse().unwrap();
    let ridge = METHODS.iter().find(|method| method.key == "ridge").unwrap();
    let error = Model::train(ridge, &Values::new(), &kernel, &weighted, &mut ()).err().unwrap().to_string();
    assert!(error.contains("cannot be fitted on samples with weights"), "{error}");
}
