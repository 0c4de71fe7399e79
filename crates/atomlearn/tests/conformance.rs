//! What every method of the registry must do. A new row joins without a line here.

#![allow(clippy::unwrap_used, clippy::panic)]

use atomlearn::checkpoint::{Checkpoint, Training, digest};
use atomlearn::observe::Trace;
use atomlearn::params::{Domain, ParamInfo};
use atomlearn::registry::{METHODS, Method, Values};
use atomlearn::{Classifier, Dataset, Error, Mat, MatRef, Model, NameKind, Observer, Parts, State, Step, synth};
use serde_json::{Value, json};
use std::ops::ControlFlow;

/// Samples of `data` at the given columns, with labels renamed.
fn subset(data: &Dataset, columns: &[usize], rename: impl Fn(usize) -> String) -> Dataset {
    let targets = data.targets();
    let x = Mat::from_fn(data.n_features(), columns.len(), |i, j| data.x()[(i, columns[j])]);
    let labels: Vec<String> = columns.iter().map(|&j| rename(targets[j])).collect();
    Dataset::new(x.as_ref(), &labels).unwrap()
}

/// Training and test part of one synthetic problem.
fn problem() -> (Dataset, Dataset) {
    let all = synth::blobs(4, 24, 18, 7);
    let pick = |wanted: bool| (0..96).filter(|j| (j % 24 < 12) == wanted).collect::<Vec<_>>();
    (subset(&all, &pick(true), |c| c.to_string()), subset(&all, &pick(false), |c| c.to_string()))
}

fn fit(method: &Method, data: &Dataset) -> Box<dyn Classifier> {
    method.fit(&Values::new(), data, &mut ()).unwrap_or_else(|e| panic!("{}: {e}", method.key))
}

/// The values with nothing left open, for what has nothing to do with choosing.
fn settled(method: &Method, values: &Values) -> Values {
    method.fixed(values).unwrap_or_else(|e| panic!("{}: {e}", method.key))
}

fn accuracy(model: &dyn Classifier, data: &Dataset) -> f64 {
    let found = model.predict(data.x()).unwrap();
    let right = found.iter().zip(data.targets()).filter(|&(&f, t)| f == t).count();
    right as f64 / data.n_samples() as f64
}

fn all_finite_or_ruled_out(scores: MatRef<'_, f64>) -> bool {
    // Minus infinity says "never this class"; NaN and plus infinity say nothing.
    scores.col_iter().all(|column| column.iter().all(|v| !v.is_nan() && *v < f64::INFINITY))
}

#[test]
fn learns_and_generalises() {
    let (train, test) = problem();
    for method in METHODS {
        let model = fit(method, &train);
        let found = accuracy(model.as_ref(), &test);
        assert!(found > 0.9, "{}: {found}", method.key);
        assert!(all_finite_or_ruled_out(model.scores(test.x()).unwrap().as_ref()), "{}", method.key);
    }
}

#[test]
fn same_bits_on_any_number_of_threads() {
    // Large enough for every parallel path; more samples than features, and fewer.
    for train in [synth::blobs(6, 30, 50, 1), synth::blobs(6, 25, 200, 2)] {
        for method in METHODS {
            let run = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    let model = fit(method, &train);
                    (model.parts(), model.scores_by_rule(train.x()).unwrap())
                })
            };
            let one = run(1);
            assert!(one == run(2) && one == run(4), "{}", method.key);
        }
    }
}

#[test]
fn order_of_samples_and_names_of_classes_do_not_matter() {
    let (train, test) = problem();
    let n = train.n_samples();
    let shuffled: Vec<usize> = (0..n).map(|j| (j * 29 + 5) % n).collect();
    for method in METHODS {
        let model = fit(method, &train);
        let expected = model.predict(test.x()).unwrap();
        let renamed = fit(method, &subset(&train, &(0..n).collect::<Vec<_>>(), |c| format!("name {c}")));
        assert_eq!(renamed.classes()[2], "name 2");
        assert_eq!(renamed.predict(test.x()).unwrap(), expected, "{}: renamed classes", method.key);
        let other = fit(method, &subset(&train, &shuffled, |c| c.to_string())).predict(test.x()).unwrap();
        let same = other.iter().zip(&expected).filter(|(a, b)| a == b).count();
        // K-SVD starts from the first samples of each class, and its greedy codes feel that.
        let least = if method.key.contains("ksvd") { 90 } else { 95 };
        assert!(same * 100 >= expected.len() * least, "{}: {same} of {}", method.key, expected.len());
    }
}

#[test]
fn one_at_a_time_equals_all_at_once() {
    let (train, test) = problem();
    for method in METHODS {
        let model = fit(method, &train);
        let all = model.scores(test.x()).unwrap();
        for j in 0..test.n_samples() {
            let one = model.scores(test.x().subcols(j, 1)).unwrap();
            for c in 0..4 {
                let (a, b) = (one[(c, 0)], all[(c, j)]);
                assert!(a == b || (a - b).abs() < 1e-8 * (1.0 + b.abs()), "{}: {a} against {b}", method.key);
            }
        }
    }
}

#[test]
fn saved_models_score_with_the_same_bits_and_damaged_parts_are_refused() {
    let (train, test) = problem();
    let folder = tempfile::tempdir().unwrap();
    for method in METHODS {
        let prep = "pca:12,unit".parse().unwrap();
        let model = Model::train(method, &Values::new(), &prep, &train, &mut ()).unwrap();
        let path = folder.path().join(method.key);
        model.save(&path).unwrap();
        let back = Model::load(&path).unwrap();
        assert!(back.scores(test.x()).unwrap() == model.scores(test.x()).unwrap(), "{}", method.key);
        assert_eq!(back.params(), model.params());
        assert_eq!(model.to_bytes().unwrap(), std::fs::read(&path).unwrap());
        let from_bytes = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
        assert!(from_bytes.scores(test.x()).unwrap() == model.scores(test.x()).unwrap(), "{}", method.key);

        let parts = model.classifier().parts();
        for (damaged, part) in parts.iter() {
            let mut missing = parts.clone();
            missing.take(damaged).unwrap();
            assert!(method.restore(model.params(), missing).is_err(), "{} without {damaged}", method.key);
            let mut grown = parts.clone();
            grown.put(damaged, Mat::<f64>::zeros(part.nrows() + 1, part.ncols() + 1));
            assert!(method.restore(model.params(), grown).is_err(), "{} with a larger {damaged}", method.key);
        }
    }
}

#[test]
fn bad_samples_are_refused_by_name() {
    let (train, test) = problem();
    for method in METHODS {
        let model = fit(method, &train);
        let short = model.scores(test.x().subrows(0, 17)).unwrap_err().to_string();
        assert!(short.contains("expected 18, as in training, found 17"), "{}: {short}", method.key);
        let mut broken = test.x().to_owned();
        broken[(3, 2)] = f64::NAN;
        let message = model.scores(broken.as_ref()).unwrap_err().to_string();
        assert!(message.starts_with("sample 2, feature 3"), "{}: {message}", method.key);
        assert_eq!(model.scores(Mat::zeros(18, 0).as_ref()).unwrap().shape(), (4, 0));
    }
}

#[test]
fn parameters_are_documented_and_checked_by_name() {
    let (train, _) = problem();
    for method in METHODS {
        assert!(!method.title.is_empty() && !method.paper.is_empty());
        for info in method.params() {
            assert!(info.doc.ends_with('.'), "{}.{}: {}", method.key, info.name, info.doc);
            for value in info.grid.iter().chain([&info.default]) {
                let values = Values::from_iter([(info.name.to_string(), value.clone())]);
                assert!(method.complete(&values).is_ok(), "{}.{} = {value}", method.key, info.name);
            }
            let wrong = match info.domain {
                Domain::Flag | Domain::OneOf(_) | Domain::Word(..) | Domain::Auto(_) => Value::from("no such thing"),
                _ => Value::from(-1.5),
            };
            let values = Values::from_iter([(info.name.to_string(), wrong)]);
            let message = method.fit(&values, &train, &mut ()).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(message.starts_with(&format!("parameter `{}`", info.name)), "{}: {message}", method.key);
        }
        let unknown = Values::from_iter([("no_such_parameter".to_string(), Value::from(1))]);
        assert!(matches!(method.complete(&unknown), Err(Error::Unknown { kind: NameKind::Parameter, .. })));
        for preset in method.presets {
            assert!(method.complete(&method.preset(preset.name).unwrap()).is_ok(), "{} {}", method.key, preset.name);
        }
    }
}

#[test]
fn an_observer_can_stop_training_at_any_step() {
    struct StopAt(usize, usize);
    impl Observer for StopAt {
        fn step(&mut self, _: &Step<'_>) -> ControlFlow<()> {
            self.1 += 1;
            if self.1 > self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    let (train, test) = problem();
    for method in METHODS {
        for after in [0, 1] {
            let mut stop = StopAt(after, 0);
            let model = method.fit(&Values::new(), &train, &mut stop).unwrap();
            assert!(stop.1 <= after + 1, "{} went on", method.key);
            assert!(all_finite_or_ruled_out(model.scores(test.x()).unwrap().as_ref()), "{}", method.key);
        }
    }
}

#[test]
fn objectives_are_sums_of_their_terms() {
    let (train, _) = problem();
    for method in METHODS {
        let mut trace = Trace::default();
        method.fit(&Values::new(), &train, &mut trace).unwrap();
        for step in trace.steps.iter().filter(|step| !step.terms.is_empty()) {
            let sum: f64 = step.terms.iter().map(|(_, value)| value).sum();
            let objective = step.objective.unwrap();
            assert!((sum - objective).abs() <= 1e-9 * (1.0 + sum.abs()), "{}: {sum} {objective}", method.key);
        }
    }
}

/// Parts and scores, to the bit.
fn bits(model: &dyn Classifier, x: MatRef<'_, f64>) -> (Parts, Mat<f64>) {
    (model.parts(), model.scores(x).unwrap())
}

#[test]
fn every_step_of_a_long_run_is_the_model_of_a_shorter_one() {
    struct Keep(Vec<(usize, Box<dyn Classifier>)>);
    impl Observer for Keep {
        fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
            self.0.extend(step.model.map(|model| (step.iter, model().unwrap())));
            ControlFlow::Continue(())
        }
    }
    let (train, test) = problem();
    for method in METHODS.iter().filter(|method| method.params().iter().any(|info| info.name == "max_iter")) {
        let with =
            |max_iter: usize| settled(method, &Values::from_iter([("max_iter".to_string(), Value::from(max_iter))]));
        let mut kept = Keep(Vec::new());
        let last = method.fit(&with(5), &train, &mut kept).unwrap();
        assert!(!kept.0.is_empty(), "{} offers no models", method.key);
        for (iter, model) in &kept.0 {
            let short = method.fit(&with(*iter), &train, &mut ()).unwrap();
            assert!(bits(model.as_ref(), test.x()) == bits(short.as_ref(), test.x()), "{} after {iter}", method.key);
        }
        let final_step = kept.0.last().unwrap().1.as_ref();
        assert!(bits(final_step, test.x()) == bits(last.as_ref(), test.x()), "{}", method.key);
    }
}

/// Takes the checkpoint of every iteration, as bytes.
struct Checkpoints {
    training: Training,
    trace: Trace,
    taken: Vec<Vec<u8>>,
}

impl Checkpoints {
    fn of(method: &Method, params: &Values, train: &Dataset) -> Self {
        let (params, data) = (method.complete(params).unwrap(), digest(train));
        let training = Training { method: method.key.into(), params, prep: "none".into(), data, chosen: Values::new() };
        Checkpoints { training, trace: Trace::default(), taken: Vec::new() }
    }
}

impl Observer for Checkpoints {
    fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
        let _ = self.trace.step(step);
        if let Some(state) = step.state {
            self.taken.push(self.training.to_bytes(&self.trace, &state()).unwrap());
        }
        ControlFlow::Continue(())
    }

    fn warn(&mut self, warning: &str) {
        self.trace.warn(warning);
    }
}

/// Ways through a training that carry different things from one iteration to the next.
fn ways(method: &Method) -> Vec<Values> {
    let ways = match method.key {
        "lcdl-sv" => json!([
            {"lambda2": 1e-3},
            {"lambda2": 1e-3, "atom_norm": "unit", "refit_svm": true},
            {"svm_solver": "lbfgs", "active_set": "converged", "lambda2": 1e-2},
            {"atoms_per_class": 4, "knn": 2, "sign_seed": 3}
        ]),
        "svgdl" => json!([{"lambda2": 1e-3}, {"active_set": "converged", "atoms_per_class": 20}]),
        "ksvd" => json!([{}, {"update": "exact", "atoms_per_class": 30}]),
        "dksvd" | "lcksvd2" => json!([{}, {"readout": "joint", "init_iter": 0}]),
        "lcksvd1" => json!([{}, {"readout": "joint", "rescale_codes": true, "code_iter": 2}]),
        "fddl" => json!([{}, {"constraint": "ball", "refit": false}]),
        "dlsi" => json!([{}, {"eta": 0.0, "atoms_per_class": 3}]),
        "copar" => json!([{}, {"shared_atoms": 0, "lambda": 0.1}]),
        "lrsdl" => json!([{}, {"constraint": "sphere", "refit": false}, {"shared_atoms": 0}, {"lambda3": 1e3}]),
        "cadl" => json!([{"lambda2": 1e-2}, {"updates": "exact", "refit": false}]),
        "sadl" => json!([{}, {"solver": "block-descent", "normalize_rows": true}]),
        "lcle-dl" => json!([{}, {"constraint": "free", "start": "k-svd", "knn": 3}]),
        "ledl" => json!([{}, {"start": "random", "readout": "joint"}]),
        "dpl" => json!([{}, {"atoms_per_class": 3}]),
        "dpl-sv" => json!([{"lambda2": 1e-2}, {"lambda2": 0.0, "rule": "svm", "atoms_per_class": 3}]),
        "analysis-ksvd" => json!([{}, {"pursuit": "backward-greedy", "rows": 12, "threshold": 0.0}]),
        "dadl" => json!([{}, {"threshold": true, "knn": 60}]),
        _ => json!([{}]),
    };
    ways.as_array().unwrap().iter().map(|way| settled(method, way.as_object().unwrap())).collect()
}

fn with(way: &Values, more: Value) -> Values {
    way.clone().into_iter().chain(more.as_object().unwrap().clone()).collect()
}

/// More samples than features, and fewer.
fn tall_and_wide() -> [Dataset; 2] {
    [problem().0, synth::blobs(4, 9, 60, 3)]
}

#[test]
fn methods_that_iterate_say_so_and_offer_the_state_of_every_iteration() {
    let (train, _) = problem();
    for method in METHODS {
        let values = settled(method, &Values::new());
        let mut seen = Checkpoints::of(method, &values, &train);
        method.fit(&values, &train, &mut seen).unwrap();
        let iterations = seen.trace.steps.iter().filter(|step| step.iter > 0).count();
        assert_eq!((method.iterates, seen.taken.len()), (iterations > 0, iterations), "{}", method.key);
        assert_eq!(method.iterates, method.params().iter().any(|info| info.name == "max_iter"), "{}", method.key);
        if !method.iterates {
            let refused = method.resume(&Values::new(), &train, State::after(1, false), &mut ()).err().unwrap();
            assert!(refused.to_string().contains("does not iterate"), "{refused}");
        }
    }
}

#[test]
fn resuming_after_any_iteration_gives_the_bits_and_the_trace_of_an_unbroken_run() {
    for train in tall_and_wide() {
        for method in METHODS.iter().filter(|method| method.iterates) {
            for way in ways(method) {
                let params = with(&way, json!({"max_iter": 5}));
                let mut kept = Checkpoints::of(method, &params, &train);
                let whole = method.fit(&params, &train, &mut kept).unwrap();
                let whole = bits(whole.as_ref(), train.x());
                // Taking states changes nothing.
                let plain = method.fit(&params, &train, &mut ()).unwrap();
                assert!(bits(plain.as_ref(), train.x()) == whole, "{} {way:?}", method.key);
                for bytes in &kept.taken {
                    let Checkpoint { training, trace, state } = Checkpoint::from_bytes(bytes).unwrap();
                    let what = format!("{} {way:?} after {}", method.key, state.iter());
                    let left = kept.taken.len() - state.iter();
                    let mut resumed = Checkpoints { training, trace, taken: Vec::new() };
                    let model = method.resume(&params, &train, state, &mut resumed).unwrap();
                    assert!(bits(model.as_ref(), train.x()) == whole, "{what}");
                    assert_eq!(resumed.trace.steps, kept.trace.steps, "{what}");
                    assert_eq!(resumed.trace.warnings, kept.trace.warnings, "{what}");
                    assert!(resumed.taken[..] == kept.taken[kept.taken.len() - left..], "{what}: other states");
                }
            }
        }
    }
}

#[test]
fn a_resumed_training_may_go_on_for_longer_but_not_beyond_its_end() {
    for train in tall_and_wide() {
        for method in METHODS.iter().filter(|method| method.iterates) {
            let end = |way: &Values| {
                let mut kept = Checkpoints::of(method, way, &train);
                method.fit(way, &train, &mut kept).unwrap();
                Checkpoint::from_bytes(kept.taken.last().unwrap()).unwrap()
            };
            let has_tol = method.params().iter().any(|info| info.name == "tol");
            let tol = |tol: f64| if has_tol { json!({"tol": tol}) } else { json!({}) };
            for way in ways(method) {
                let (short, long) = (json!({"max_iter": 2}), json!({"max_iter": 4}));
                let (short, long) = (with(&with(&way, tol(0.0)), short), with(&with(&way, tol(0.0)), long));
                let Checkpoint { training, trace, state } = end(&short);
                let mut longer = Checkpoints { training, trace, taken: Vec::new() };
                let resumed = method.resume(&long, &train, state.clone(), &mut longer).unwrap();
                let mut whole = Trace::default();
                let expected = method.fit(&long, &train, &mut whole).unwrap();
                assert!(bits(resumed.as_ref(), train.x()) == bits(expected.as_ref(), train.x()), "{}", method.key);
                assert_eq!(longer.trace.warnings, whole.warnings, "{} {way:?}", method.key);
                let less = with(&short, json!({"max_iter": 1}));
                let refused = method.resume(&less, &train, state, &mut ()).err().unwrap().to_string();
                assert!(refused.starts_with("parameter `max_iter` = 1"), "{refused}");

                if has_tol {
                    let easy = with(&way, tol(1e6));
                    let Checkpoint { state, .. } = end(&easy);
                    assert!(state.converged(), "{}", method.key);
                    let mut nothing = Trace::default();
                    let more = with(&easy, json!({"max_iter": 1000}));
                    let model = method.resume(&more, &train, state, &mut nothing).unwrap();
                    let expected = method.fit(&easy, &train, &mut ()).unwrap();
                    assert!(bits(model.as_ref(), train.x()) == bits(expected.as_ref(), train.x()), "{}", method.key);
                    assert!(nothing.steps.is_empty(), "{}", method.key);
                }
            }
        }
    }
}

#[test]
fn damaged_states_are_refused_and_hostile_ones_survived() {
    let (train, _) = problem();
    for method in METHODS.iter().filter(|method| method.iterates) {
        for way in ways(method) {
            let params = with(&way, json!({"max_iter": 3}));
            let mut kept = Checkpoints::of(method, &params, &train);
            method.fit(&params, &train, &mut kept).unwrap();
            let state = Checkpoint::from_bytes(&kept.taken[0]).unwrap().state;
            let resume = |state: State| method.resume(&params, &train, state, &mut ()).map(drop);
            for (name, _) in state.parts().iter() {
                let edited = |edit: &dyn Fn(&Mat<f64>) -> Option<Mat<f64>>| {
                    let mut parts = state.parts().clone();
                    let new = edit(&parts.take(name).unwrap());
                    new.into_iter().for_each(|new| parts.put(name, new));
                    resume(State::from_parts(1, false, state.values().clone(), parts))
                };
                let what = format!("{} {way:?}: {name}", method.key);
                assert!(edited(&|_| None).is_err(), "{what} is missing");
                assert!(edited(&|m| Some(Mat::zeros(m.nrows() + 1, m.ncols() + 1))).is_err(), "{what} is larger");
                // Whatever comes of these, it must not be a panic.
                let _ = edited(&|m| Some(Mat::zeros(m.nrows(), 0)));
                let _ = edited(&|m| Some(Mat::zeros(0, m.ncols())));
                for value in [0.0, -1.0, 1.5, 1e-300, 1e300] {
                    let _ = edited(&|m| Some(Mat::from_fn(m.nrows(), m.ncols(), |_, _| value)));
                }
            }
            for name in state.values().keys() {
                for value in [json!(null), json!("text"), json!(-1), json!(u64::MAX), json!(1e300), json!([])] {
                    let mut values = state.values().clone();
                    values.insert(name.clone(), value);
                    let _ = resume(State::from_parts(1, false, values, state.parts().clone()));
                }
            }
            for iter in [0, usize::MAX] {
                let (values, parts) = (state.values().clone(), state.parts().clone());
                let _ = resume(State::from_parts(iter, false, values, parts));
            }
        }
    }
}

/// Other values of a parameter: its grid, or what its domain offers.
fn alternatives(info: &ParamInfo) -> Vec<Value> {
    match info.domain {
        _ if !info.grid.is_empty() => info.grid.clone(),
        Domain::OneOf(words) => words.iter().map(|&word| Value::from(word)).collect(),
        Domain::Flag => vec![true.into(), false.into()],
        _ => info.default.as_f64().map(|v| Value::from(3.0 * v)).into_iter().collect(),
    }
}

/// The same decisions, from scores that are the same up to rounding.
fn near(a: &dyn Classifier, b: &dyn Classifier, x: MatRef<'_, f64>) -> bool {
    let (scores, others) = (a.scores(x).unwrap(), b.scores(x).unwrap());
    let close = |(s, o): (&f64, &f64)| s == o || (s - o).abs() < 1e-9 * (1.0 + o.abs());
    let mut columns = scores.col_iter().zip(others.col_iter());
    a.predict(x).unwrap() == b.predict(x).unwrap() && columns.all(|(s, o)| s.iter().zip(o.iter()).all(close))
}

#[test]
fn one_training_serves_every_value_of_decision_parameters() {
    let (train, test) = problem();
    for method in METHODS {
        let (known, usual) = (method.params(), settled(method, &Values::new()));
        let trained = method.fit(&usual, &train, &mut ()).unwrap();
        let terms = trained.score_terms(test.x()).unwrap();
        assert!(method.readout.iter().all(|name| method.decision.contains(name)), "{}", method.key);
        for name in method.decision {
            let info = known.iter().find(|info| info.name == *name).unwrap_or_else(|| panic!("{name}"));
            for value in alternatives(info) {
                let mut values = usual.clone();
                values.insert(name.to_string(), value.clone());
                let expected = method.fit(&values, &train, &mut ()).unwrap();
                let decided = method.redecide(&values, trained.as_ref(), &train).unwrap();
                let what = format!("{}.{name} = {value}", method.key);
                assert!(near(decided.as_ref(), expected.as_ref(), test.x()), "{what}");
                // Decided again from there, as tuning does.
                let again = method.redecide(&usual, decided.as_ref(), &train).unwrap();
                assert!(near(again.as_ref(), trained.as_ref(), test.x()), "{what} and back");
                if method.readout.contains(name) {
                    let all = method.complete(&values).unwrap();
                    assert!(method.read_out(&all, &terms).unwrap() == expected.scores(test.x()).unwrap(), "{what}");
                }
            }
        }
    }
}

#[test]
fn parameters_of_iterations_do_not_touch_the_start() {
    let (train, test) = problem();
    for method in METHODS {
        for name in method.iteration {
            let info = method.params().into_iter().find(|info| info.name == *name).unwrap_or_else(|| panic!("{name}"));
            let start = |value: &Value| {
                let values = [("max_iter".to_string(), Value::from(0)), (name.to_string(), value.clone())];
                let values = settled(method, &Values::from_iter(values));
                bits(method.fit(&values, &train, &mut ()).unwrap().as_ref(), test.x())
            };
            assert!(info.grid.iter().all(|value| start(value) == start(&info.default)), "{}.{name}", method.key);
        }
    }
}

#[test]
fn what_is_left_open_is_chosen_told_kept_and_can_be_given() {
    let (train, test) = problem();
    for method in METHODS {
        let given = method.complete(&Values::new()).unwrap();
        let open: Vec<&String> = given.keys().filter(|name| settled(method, &given)[*name] != given[*name]).collect();
        let mut trace = Trace::default();
        let chosen = method.choose(&Values::new(), &train, &mut trace).unwrap();
        assert_eq!(trace.notes.is_empty(), open.is_empty(), "{}: {:?}", method.key, trace.notes);
        assert!(open.iter().all(|name| !chosen[*name].is_null()), "{}: {chosen:?}", method.key);
        let model = Model::train(method, &Values::new(), &"none".parse().unwrap(), &train, &mut ()).unwrap();
        assert_eq!(model.params(), &chosen, "{}", method.key);
        let told = model.info.chosen();
        assert!(open.iter().all(|name| told[*name] == chosen[*name]), "{}: {told:?}", method.key);
        // Given as numbers, nothing is chosen and the model is the same.
        let mut silent = Trace::default();
        let again = method.fit(&chosen, &train, &mut silent).unwrap();
        assert!(silent.notes.is_empty(), "{}: {:?}", method.key, silent.notes);
        assert!(bits(again.as_ref(), test.x()) == bits(model.classifier(), test.x()), "{}", method.key);
        // The word is as good as nothing.
        let words = open.iter().map(|name| (name.to_string(), Value::from("auto")));
        assert_eq!(method.complete(&words.collect()).unwrap(), given, "{}", method.key);
    }
}

#[test]
fn with_one_sample_per_class_the_documented_values_stand() {
    let train = synth::blobs(4, 1, 6, 3);
    for method in METHODS {
        let mut trace = Trace::default();
        let chosen = method.choose(&Values::new(), &train, &mut trace).unwrap();
        assert_eq!(chosen, settled(method, &Values::new()), "{}", method.key);
        assert!(trace.notes.len() <= 1 && trace.warnings.is_empty(), "{}: {:?}", method.key, trace.notes);
    }
}

#[test]
fn models_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + ?Sized>() {}
    shared::<dyn Classifier>();
    shared::<Model>();
}
