//! What the analysis-dictionary methods promise alike: same bits on any number of threads, stored models that score
//! the same, hostile parts refused, an observer that can stop.

#![allow(clippy::unwrap_used)]

use atomlearn::registry::{self, Values};
use atomlearn::{Classifier, Dataset, Mat, Observer, Parts, Step, synth};
use std::collections::HashMap;
use std::ops::ControlFlow;

const KEYS: [&str; 4] = ["cadl", "sadl", "dpl", "dadl"];

fn fit(key: &str, train: &Dataset, watch: &mut dyn Observer) -> Box<dyn Classifier> {
    registry::method(key).unwrap().fit(&Values::new(), train, watch).unwrap()
}

fn parts(model: &dyn Classifier) -> HashMap<String, Mat<f64>> {
    model.parts().into_iter().map(|(name, part)| (name.to_string(), part.to_owned())).collect()
}

/// Large enough for every parallel path; wide and tall.
fn data() -> [Dataset; 2] {
    [synth::blobs(6, 30, 50, 1), synth::blobs(6, 25, 200, 2)]
}

#[test]
fn bits_do_not_depend_on_threads() {
    for train in data() {
        for key in KEYS {
            let run = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| fit(key, &train, &mut ()).scores(train.x()).unwrap())
            };
            assert!(run(1) == run(3), "{key}");
        }
    }
}

#[test]
fn stored_models_score_the_same_and_wrong_shapes_are_refused() {
    for train in data() {
        for key in KEYS {
            let model = fit(key, &train, &mut ());
            let restore = |parts| {
                let method = registry::method(key).unwrap();
                method.restore(&method.complete(&Values::new()).unwrap(), Parts::new(model.classes().to_vec(), parts))
            };
            let again = restore(parts(&*model)).unwrap();
            assert!(again.scores(train.x()).unwrap() == model.scores(train.x()).unwrap(), "{key}");
            for (name, part) in model.parts() {
                let mut missing = parts(&*model);
                missing.remove(name);
                assert!(restore(missing).is_err(), "{key}: {name} missing");
                let mut wrong = parts(&*model);
                wrong.insert(name.into(), part.subrows(0, 0).to_owned());
                assert!(restore(wrong).is_err() || name == "analysis", "{key}: {name} without rows");
                let mut wrong = parts(&*model);
                wrong.insert(name.into(), part.subcols(0, part.ncols() - 1).to_owned());
                assert!(restore(wrong).is_err(), "{key}: {name} one column short");
            }
        }
    }
}

#[test]
fn an_observer_can_stop_and_look() {
    struct StopAtTwo(Vec<usize>);
    impl Observer for StopAtTwo {
        fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
            self.0.push(step.iter);
            let objective: f64 = step.terms.iter().map(|term| term.1).sum();
            assert!((objective - step.objective.unwrap()).abs() <= 1e-12 * objective.abs());
            assert_eq!(step.model.unwrap()().unwrap().classes().len(), 6);
            if step.iter == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    let train = &data()[0];
    for key in KEYS {
        let mut watch = StopAtTwo(Vec::new());
        let model = fit(key, train, &mut watch);
        assert_eq!(watch.0, [1, 2], "{key}");
        assert!(model.scores(train.x()).unwrap().is_all_finite());
    }
}

#[test]
fn two_samples_are_enough() {
    let x = Mat::from_fn(3, 2, |i, j| if i == j { 1.0 } else { 0.0 });
    let train = Dataset::new(x.as_ref(), &["a".to_string(), "b".to_string()]).unwrap();
    for key in KEYS {
        assert_eq!(fit(key, &train, &mut ()).predict(train.x()).unwrap(), [0, 1], "{key}");
    }
}
