//! Partitioned training: the same model as in memory, and the same bits however it is run.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use atomlearn::observe::Trace;
use atomlearn::registry::{self, Values};
use atomlearn::scale::*;
use atomlearn::{Dataset, Mat, Model, synth};
use serde_json::json;

/// Samples in an order that mixes the classes, with their labels.
fn mixed(data: &Dataset) -> (Mat<f64>, Vec<String>) {
    let n = data.n_samples();
    let targets = data.targets();
    let step = (1..n).find(|s| *s > n / 3 && gcd(*s, n) == 1).unwrap();
    let order: Vec<usize> = (0..n).map(|i| i * step % n).collect();
    let x = Mat::from_fn(data.n_features(), n, |i, j| data.x()[(i, order[j])]);
    (x, order.iter().map(|&i| data.classes()[targets[i]].clone()).collect())
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

struct Run {
    x: Mat<f64>,
    labels: Vec<String>,
    partitions: usize,
    remember: bool,
    through_bytes: bool,
}

impl Run {
    fn new(data: &Dataset, partitions: usize) -> Self {
        let (x, labels) = mixed(data);
        Run { x, labels, partitions, remember: true, through_bytes: false }
    }

    fn setup(&self, method: &str, values: &Values, prep: &str) -> Setup {
        Setup {
            method: method.into(),
            params: values.clone(),
            prep: prep.parse().unwrap(),
            partitions: self.partitions,
            n_features: self.x.nrows(),
            data: "test".into(),
        }
    }

    fn train(&self, method: &str, values: &Values, prep: &str) -> Result<(Model, Trace), atomlearn::Error> {
        let mut trainer = Trainer::new(self.setup(method, values, prep), "run".into())?;
        let mut memos = vec![Memo::default(); self.partitions];
        let n = self.x.ncols();
        while let Some(mut request) = trainer.request()? {
            if self.through_bytes {
                request = Request::from_bytes(&request.to_bytes()?)?;
                trainer = Trainer::from_bytes(&trainer.to_bytes()?)?;
            }
            let mut merger = Merger::default();
            for (p, memo) in memos.iter_mut().enumerate() {
                let (start, end) = (p * n / self.partitions, (p + 1) * n / self.partitions);
                if !self.remember {
                    *memo = Memo::default();
                }
                let labels = || Ok(self.labels[start..end].to_vec());
                let part = Partition { index: p, x: self.x.subcols(start, end - start), labels: &labels };
                let stats = part.answer(&request, memo)?;
                let stats = if self.through_bytes { PartialStats::from_bytes(&stats.to_bytes()?)? } else { stats };
                merger.push(stats)?;
            }
            trainer.absorb(merger.finish()?.unwrap(), &mut ())?;
        }
        Ok((trainer.model()?.unwrap(), trainer.trace().clone()))
    }

    fn refusal(&self, method: &str, values: &Values, prep: &str) -> String {
        self.train(method, values, prep).err().unwrap().to_string()
    }

    fn plain(&self, method: &str, values: &Values, prep: &str) -> (Model, Trace) {
        let train = Dataset::new(self.x.as_ref(), &self.labels).unwrap();
        let mut trace = Trace::default();
        let method = registry::method(method).unwrap();
        // Partitioned training chooses nothing.
        let values = &method.fixed(values).unwrap();
        (Model::train(method, values, &prep.parse().unwrap(), &train, &mut trace).unwrap(), trace)
    }

    /// Largest difference of scores between partitioned and plain training, relative to the largest score.
    fn difference(&self, method: &str, values: &Values, prep: &str) -> f64 {
        let (found, steps) = self.train(method, values, prep).unwrap();
        let (expected, plain_steps) = self.plain(method, values, prep);
        for (a, b) in steps.steps.iter().zip(&plain_steps.steps) {
            if let (Some(a), Some(b)) = (a.objective, b.objective) {
                assert!((a - b).abs() <= 1e-6 * b.abs(), "objective {a} against {b}");
            }
        }
        assert_eq!(steps.steps.len(), plain_steps.steps.len());
        assert_eq!(found.classes(), expected.classes());
        let (a, b) = (found.scores(self.x.as_ref()).unwrap(), expected.scores(self.x.as_ref()).unwrap());
        (&a - &b).norm_max() / b.norm_max()
    }
}

fn values(json: serde_json::Value) -> Values {
    json.as_object().unwrap().clone()
}

#[test]
fn every_method_agrees_with_plain_training() {
    let data = synth::blobs(4, 90, 12, 7);
    let run = Run::new(&data, 5);
    for (method, params, prep) in [
        ("ridge", json!({}), "unit"),
        ("crc", json!({}), "unit"),
        ("linear-svm", json!({}), "unit"),
        ("svgdl", json!({"max_iter": 4, "lambda2": 1e-3}), "unit"),
        ("svgdl", json!({"max_iter": 3, "atoms_per_class": 2, "lambda2": 1e-2, "active_set": "converged"}), "unit"),
        ("svgdl", json!({"max_iter": 3, "lambda2": 0.0}), "unit"),
        ("cadl", json!({"max_iter": 4, "tol": 0.0}), "unit"),
        ("cadl", json!({"max_iter": 4, "tol": 0.0, "lambda2": 1e-2, "atoms_per_class": 5}), "unit"),
        ("cadl", json!({"max_iter": 3, "lambda1": 0.0, "refit": false, "lambda2": 1e-3}), "standard,unit"),
        ("cadl", json!({"max_iter": 3, "lambda2": 0.0}), "pca:8,unit"),
        ("cadl", json!({"max_iter": 4, "tol": 0.0, "updates": "exact", "lambda2": 1e-2}), "unit"),
        ("sadl", json!({}), "unit"),
        ("sadl", json!({"atoms_per_class": 3, "rows_per_class": 2, "max_iter": 60, "normalize_rows": true}), "unit"),
        ("sadl", json!({"solver": "block-descent", "max_iter": 20, "lambda1": 1e-2}), "standard,unit"),
        ("sadl", json!({"max_iter": 40, "lambda1": 1e-2}), "none"),
        ("lcdl-sv", json!({"max_iter": 4, "atoms_per_class": 5, "lambda2": 1e-2}), "unit"),
        ("lcdl-sv", json!({"max_iter": 3, "atoms_per_class": 2, "lambda2": 1e-3}), "unit"),
        ("lcdl-sv", json!({"max_iter": 3, "atoms_per_class": 4, "lambda2": 0.0}), "standard,unit"),
        ("lcdl-sv", json!({"max_iter": 0, "atoms_per_class": 4}), "center,pca:8"),
        (
            "lcdl-sv",
            json!({"max_iter": 3, "atoms_per_class": 4, "lambda2": 1e-3, "active_set": "converged"}),
            "pca-uncentered:9,unit",
        ),
        (
            "lcdl-sv",
            json!({"max_iter": 3, "atoms_per_class": 4, "lambda2": 1e-3, "atom_norm": "unit"}),
            "random:9,unit",
        ),
        ("lcdl-sv", json!({"max_iter": 2, "atoms_per_class": 3, "lambda2": 1e-3, "refit_svm": true}), "none"),
    ] {
        let difference = run.difference(method, &values(params.clone()), prep);
        assert!(difference < 1e-6, "{method} {params} {prep}: {difference:e}");
    }
}

#[test]
fn bits_depend_on_the_partitions_alone() {
    let data = synth::blobs(3, 1700, 9, 3);
    let params = values(json!({"max_iter": 4, "atoms_per_class": 5, "lambda2": 1e-2, "tol": 0.0}));
    for method in ["lcdl-sv", "svgdl", "cadl", "sadl"] {
        let train = |run: &Run, threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| run.train(method, &params, "standard,unit").unwrap().0.classifier().parts())
        };
        let mut run = Run::new(&data, 2);
        let expected = train(&run, 1);
        assert!(train(&run, 3) == expected, "{method}: threads");
        run.remember = false;
        assert!(train(&run, 2) == expected, "{method}: forgetful partitions");
        run.through_bytes = true;
        assert!(train(&run, 2) == expected, "{method}: bytes and checkpoints");
        run.partitions = 3;
        assert!(train(&run, 2) != expected, "{method}: other partitions round otherwise");
    }
}

#[test]
fn the_bits_of_auto_depend_on_the_partitions_alone() {
    let data = synth::blobs(3, 60, 5, 3);
    let train = |run: &Run, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run.train("auto", &Values::new(), "none").unwrap().0.classifier().parts())
    };
    let mut run = Run::new(&data, 3);
    let expected = train(&run, 1);
    assert!(train(&run, 3) == expected, "threads");
    run.remember = false;
    assert!(train(&run, 2) == expected, "forgetful partitions");
    run.through_bytes = true;
    assert!(train(&run, 2) == expected, "bytes and checkpoints after every round");
}

#[test]
fn fewer_samples_than_features_are_reduced_to_their_span() {
    let run = Run::new(&synth::blobs(3, 5, 40, 2), 4);
    let params = values(json!({"max_iter": 3, "tol": 0.0, "lambda2": 1e-2}));
    for method in ["cadl", "sadl"] {
        let difference = run.difference(method, &params, "unit");
        assert!(difference < 1e-6, "{method}: {difference:e}");
    }
    let atoms = |model: &Model| model.classifier().atoms().unwrap().columns.ncols();
    assert_eq!(atoms(&run.train("cadl", &params, "unit").unwrap().0), 15);
}

/// Scores as they are near zero, but for what the digits of the samples lose there: the free bias takes an offset, and
/// moments are taken about means.
#[test]
fn an_offset_moves_the_bias_alone() {
    let plain = Run::new(&synth::blobs(3, 120, 8, 6), 4);
    for prep in ["none", "standard", "center"] {
        let expected = plain.train("linear-svm", &Values::new(), prep).unwrap().0.scores(plain.x.as_ref()).unwrap();
        for offset in [1e3, 1e6, 1e8] {
            let mut run = Run::new(&synth::blobs(3, 120, 8, 6), 4);
            run.x = Mat::from_fn(8, plain.x.ncols(), |i, j| plain.x[(i, j)] + offset);
            let found = run.train("linear-svm", &Values::new(), prep).unwrap().0.scores(run.x.as_ref()).unwrap();
            let away = (found - &expected).norm_max() / expected.norm_max();
            assert!(away < 1e-9 + 1e3 * offset * f64::EPSILON, "{prep} {offset:e}: {away:e}");
        }
    }
}

#[test]
fn features_of_very_different_sizes_give_what_training_in_memory_gives_or_an_error() {
    let mut run = Run::new(&synth::blobs(3, 60, 10, 6), 3);
    let plain = run.x.clone();
    let spread = |decades: f64| {
        Mat::from_fn(10, plain.ncols(), |i, j| plain[(i, j)] * 10f64.powf(decades * (i as f64 / 9.0 - 0.5)))
    };
    run.x = spread(4.0);
    let difference = run.difference("linear-svm", &Values::new(), "none");
    assert!(difference < 1e-5, "{difference:e}");
    // Without the samples at hand, Newton's method has no second way; it says so.
    run.x = spread(16.0);
    assert!(run.refusal("linear-svm", &Values::new(), "none").contains("standardise the features"));
}

/// Ridge regression has no bias, so that an offset changes its answer; both ways must find the same one.
#[test]
fn ridge_far_from_zero_agrees_with_training_in_memory() {
    let mut run = Run::new(&synth::blobs(3, 60, 6, 6), 3);
    let plain = run.x.clone();
    for (offset, allowed) in [(1e2, 1e-8), (1e4, 1e-6), (1e6, 1e-4)] {
        run.x = Mat::from_fn(6, plain.ncols(), |i, j| plain[(i, j)] + offset);
        let difference = run.difference("ridge", &Values::new(), "none");
        assert!(difference < allowed, "{offset:e}: {difference:e}");
    }
}

/// A class of zero samples leaves nothing of its atoms, which are re-initialized in every iteration.
#[test]
fn atoms_without_samples_are_drawn_anew() {
    let mut run = Run::new(&synth::blobs(3, 30, 8, 2), 3);
    for (i, label) in run.labels.iter().enumerate().filter(|(_, label)| **label == run.labels[0]) {
        run.x.col_mut(i).iter_mut().for_each(|v| *v = 0.0);
        assert!(!label.is_empty());
    }
    let params = values(json!({"max_iter": 3, "tol": 0.0, "lambda2": 1e-2}));
    let difference = run.difference("cadl", &params, "none");
    assert!(difference < 1e-6, "{difference:e}");
    let expected = run.train("cadl", &params, "none").unwrap();
    assert!(expected.1.warnings.iter().any(|warning| warning.contains("re-initialized dead atoms")));
    run.through_bytes = true;
    let parts = |run: &(Model, Trace)| run.0.classifier().parts();
    assert!(parts(&run.train("cadl", &params, "none").unwrap()) == parts(&expected), "draws of a checkpoint");
}

#[test]
fn what_cannot_be_partitioned_is_refused_with_advice() {
    let run = Run::new(&synth::blobs(3, 20, 6, 1), 2);
    let refuses = |method: &str, params: serde_json::Value, prep: &str, words: &str| {
        let error = run.refusal(method, &values(params), prep);
        assert!(error.contains(words), "{error}");
    };
    refuses("src", json!({}), "unit", "these can: auto, lcdl-sv, svgdl, crc, lrc, cadl, sadl, ridge, linear-svm");
    refuses("ridge", json!({}), "kernel:rbf:auto", "landmarks");
    refuses("lcdl-sv", json!({"atoms_per_class": "all"}), "unit", "give a number");
    refuses("lcdl-sv", json!({"svm_solver": "lbfgs"}), "unit", "use newton");
    let one = Run { labels: vec!["a".into(); 60], ..Run::new(&synth::blobs(3, 20, 6, 1), 2) };
    assert!(one.refusal("ridge", &Values::new(), "unit").contains("only one class"));
    let mut nan = Run::new(&synth::blobs(3, 20, 6, 1), 2);
    nan.x[(2, 40)] = f64::NAN;
    assert!(nan.refusal("ridge", &Values::new(), "unit").contains("partition 1: sample 10"));
}

#[test]
fn damaged_checkpoints_and_requests_are_errors() {
    let run = Run::new(&synth::blobs(3, 20, 6, 1), 2);
    let trainer = Trainer::new(run.setup("lcdl-sv", &Values::new(), "center,unit"), "run".into()).unwrap();
    let (state, request) = (trainer.to_bytes().unwrap(), trainer.request().unwrap().unwrap().to_bytes().unwrap());
    for bytes in [&state, &request] {
        for place in (0..bytes.len()).step_by(3) {
            assert!(Trainer::from_bytes(&bytes[..place]).is_err() && Request::from_bytes(&bytes[..place]).is_err());
        }
    }
    assert!(Trainer::from_bytes(&request).is_err() && Request::from_bytes(&state).is_err());
}
