use super::*;
use crate::protocol::data::synthetic;
use crate::protocol::folds;
use crate::protocol::grid::Grid;
use crate::protocol::splits::Split;
use crate::run::prepared::Prepared;
use crate::stats::confusion::accuracy;
use crate::stats::metrics::Metric;
use atomlearn::registry;
use serde_json::{Value, json};

fn axis(name: &str, values: Value) -> Axis {
    Axis { name: name.into(), values: values.as_array().cloned().unwrap() }
}

fn spec(key: &str, own: &[Axis], fixed: &[&str]) -> Spec {
    let fixed: Vec<String> = fixed.iter().map(|name| name.to_string()).collect();
    Spec {
        grid: Grid::new(registry::method(key).unwrap(), own, &fixed).unwrap(),
        folds: 3,
        seed: 1,
        one_se: false,
        metric: Metric::default(),
    }
}

fn lcdl() -> Spec {
    let own = [
        axis("lambda1", json!([1e-4, 1e-2])),
        axis("lambda2", json!([1e-6, 1e-2])),
        axis("max_iter", json!([0, 1, 3])),
        axis("eta1", json!([1e-3, 1e-1])),
        axis("eta2", json!([0.5, 5.0, 50.0])),
    ];
    spec("lcdl-sv", &own, &[])
}

fn run(key: &str, spec: &Spec, known: &[UnitRecord], file: Option<&Path>, watch: &dyn TuneObserver) -> Result<Tuned> {
    let method = registry::method(key).unwrap();
    let (data, prep) = (synthetic(4, 14, 9, 3), "pca:7,unit".parse().unwrap());
    // Every third sample is out of bounds for tuning.
    let places: Vec<usize> = (0..data.targets.len()).filter(|i| i % 3 != 0).collect();
    let base = method.complete(&Values::new()).unwrap();
    let folds = Folds::new(&data, &places, spec.folds, spec.seed).unwrap();
    let file = file.map(|path| Appender::open_now(path).unwrap());
    Tuning { folds: &folds, prep: &prep, method, base: &base, spec }.run(known, file.as_ref(), watch)
}

fn with_preps(spec: Spec) -> Spec {
    let preps = ["unit", "pca:7,unit", "unit,kernel:rbf:auto"].map(|prep| prep.parse().unwrap());
    Spec { grid: spec.grid.with_preps(&preps).unwrap(), ..spec }
}

/// The same by brute force: every point is trained on its own.
fn brute_force(key: &str, spec: &Spec) -> Vec<Vec<f64>> {
    let method = registry::method(key).unwrap();
    let data = synthetic(4, 14, 9, 3);
    let places: Vec<usize> = (0..data.targets.len()).filter(|i| i % 3 != 0).collect();
    let folds = folds::stratified(&data, &places, spec.folds, spec.seed).unwrap();
    let point = |i: usize| {
        let mut params = spec.grid.point(i);
        let open = method.fixed(&Values::new()).unwrap();
        for (name, value) in open {
            params.entry(name).or_insert(value);
        }
        let prep = params.remove("prep").map_or("pca:7,unit".into(), |prep| prep.as_str().unwrap().to_string());
        let on = |fold: &Split| {
            let fold = Prepared::new(&data, &prep.parse().unwrap(), fold).unwrap();
            let model = method.fit(&params, &fold.train, &mut ()).unwrap();
            accuracy(&fold.truth, &model.predict(fold.test.as_ref()).unwrap())
        };
        folds.iter().map(on).collect()
    };
    (0..spec.grid.len()).map(point).collect()
}

#[test]
fn sharing_changes_nothing() {
    let fddl = [axis("lambda1", json!([0.005])), axis("lambda2", json!([0.05])), axis("max_iter", json!([1, 3]))];
    let ksvd = [axis("sparsity", json!([2, 4])), axis("ridge", json!([0.1])), axis("max_iter", json!([0, 2]))];
    let cases = [
        ("lcdl-sv", lcdl()),
        ("fddl", spec("fddl", &fddl, &[])),
        ("ksvd", spec("ksvd", &ksvd, &[])),
        ("crc", spec("crc", &[], &[])),
        ("crc", with_preps(spec("crc", &[axis("kappa", json!([1e-3, 1.0]))], &[]))),
        ("lcdl-sv", with_preps(lcdl())),
    ];
    for (key, spec) in cases {
        let tuned = run(key, &spec, &[], None, &()).unwrap();
        let found: Vec<Vec<f64>> = tuned.points.iter().map(|point| point.accuracy.clone()).collect();
        assert_eq!(found, brute_force(key, &spec), "{key}");
        assert_eq!(tuned.failed, 0);
        let best = tuned.points.iter().map(|point| point.correct).max().unwrap();
        let chosen = tuned.points.iter().find(|point| point.params == tuned.chosen).unwrap();
        assert_eq!(chosen.correct, best);
        let profile = tuned.profile(&tuned.grid[0]);
        assert_eq!(profile.iter().flatten().copied().fold(0.0, f64::max), chosen.mean);
    }
}

#[test]
fn preprocessing_is_chosen_like_a_parameter() {
    let spec = with_preps(spec("crc", &[axis("kappa", json!([1e-3, 1.0]))], &[]));
    let tuned = run("crc", &spec, &[], None, &()).unwrap();
    assert_eq!((tuned.points.len(), tuned.trainings), (6, 3 * 3));
    assert_eq!(tuned.chosen["prep"], tuned.best().prep);
    assert!(!tuned.best().params.contains_key("prep"));
    assert_eq!(tuned.protocol.prep, "unit | pca:7,unit | unit,kernel:rbf:auto");
    assert!(tuned.params_text().unwrap().contains(&format!("prep = \"{}\"", tuned.best().prep)));
    let twice = ["unit", "unit"].map(|prep| prep.parse().unwrap());
    assert!(spec.grid.with_preps(&twice).unwrap_err().to_string().contains("twice"));
}

#[test]
fn one_training_serves_many_points() {
    let spec = lcdl();
    let tuned = run("lcdl-sv", &spec, &[], None, &()).unwrap();
    assert_eq!((tuned.points.len(), tuned.trainings), (72, 4 * 3));
    // Of 2 x 2 families of the starting model only one was looked at; all others say the same.
    let start: Vec<&GridPoint> = tuned.points.iter().filter(|point| point.params["max_iter"] == 0).collect();
    assert_eq!(start.len(), 24);
    assert!(start.iter().enumerate().all(|(i, point)| point.correct == start[i % 6].correct));
}

#[test]
fn ties_go_to_the_defaults_and_the_simplest_point_within_one_error_can_be_had() {
    // Values of gamma2 that the global rule never reads: all points tie.
    let own = [axis("gamma2", json!([0.1, 0.02, 0.01, 0.5])), axis("max_iter", json!([2]))];
    let tied = spec("fddl", &own, &["lambda1", "lambda2", "gamma", "w"]);
    let tuned = run("fddl", &tied, &[], None, &()).unwrap();
    assert!(tuned.points.iter().all(|point| point.correct == tuned.points[0].correct));
    assert_eq!(tuned.chosen["gamma2"], 0.01);
    let (best, simple) = (run("lcdl-sv", &lcdl(), &[], None, &()).unwrap(), Spec { one_se: true, ..lcdl() });
    let simple = run("lcdl-sv", &simple, &[], None, &()).unwrap();
    assert_eq!(simple.chosen, best.one_se.params);
    assert!(simple.best().mean >= best.one_se.threshold && best.one_se.points >= 1);
    assert!(simple.chosen["max_iter"].as_u64() <= best.chosen["max_iter"].as_u64());
}

#[test]
fn a_point_that_fails_is_reported_and_not_chosen() {
    // SADL refuses a weight that makes every code zero.
    let sadl = [axis("lambda1", json!([1e-3, 1e9])), axis("lambda2", json!([1e-3])), axis("rho", json!([10.0]))];
    let tuned = run("sadl", &spec("sadl", &sadl, &[]), &[], None, &()).unwrap();
    assert_eq!((tuned.failed, &tuned.chosen["lambda1"]), (1, &json!(1e-3)));
    assert!(tuned.points[1].failed.as_ref().unwrap().contains("every code became zero"));
    let hopeless = [axis("lambda1", json!([1e9])), axis("lambda2", json!([1e-3])), axis("rho", json!([10.0]))];
    let error = run("sadl", &spec("sadl", &hopeless, &[]), &[], None, &()).unwrap_err().to_string();
    assert!(error.contains("every point of the grid failed"), "{error}");
}

/// Stops after so many questions.
struct StopAfter(AtomicUsize);

impl TuneObserver for StopAfter {
    fn go_on(&self) -> ControlFlow<()> {
        let left = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if left.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

#[test]
fn a_stopped_and_resumed_tuning_gives_the_same_records_and_choice() {
    let essence = |mut records: Vec<UnitRecord>| {
        records.iter_mut().for_each(|record| record.seconds = 0.0);
        records.sort_by(|a, b| a.key.cmp(&b.key));
        records
    };
    let folder = tempfile::tempdir().unwrap();
    let (whole_file, file) = (folder.path().join("whole.jsonl"), folder.path().join("parts.jsonl"));
    let whole = run("lcdl-sv", &lcdl(), &[], Some(&whole_file), &()).unwrap();
    let stopped = run("lcdl-sv", &lcdl(), &[], Some(&file), &StopAfter(AtomicUsize::new(20)));
    assert!(matches!(stopped, Err(Error::Interrupted)));
    let known = read(&file).unwrap();
    assert!(!known.is_empty() && known.len() < whole.trainings, "{}", known.len());
    let resumed = run("lcdl-sv", &lcdl(), &known, Some(&file), &()).unwrap();
    assert_eq!((&resumed.points, &resumed.chosen), (&whole.points, &whole.chosen));
    assert_eq!(essence(read(&file).unwrap()), essence(read(&whole_file).unwrap()));
    // Records of another seed are of no use.
    let other = run("lcdl-sv", &Spec { seed: 2, ..lcdl() }, &known, None, &()).unwrap();
    assert_ne!(other.points, whole.points);
}

#[test]
fn bad_records_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("units.jsonl");
    run("crc", &spec("crc", &[], &[]), &[], Some(&file), &()).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    for (from, to, why) in
        [("tune-record/1", "tune-record/2", "schema"), ("\"samples\":", "\"samples\":0,\"x\":", "invalid record")]
    {
        std::fs::write(&file, text.replace(from, to)).unwrap();
        assert!(read(&file).unwrap_err().to_string().contains(why));
    }
}

#[test]
fn warnings_of_trainings_are_told() {
    // More atoms than the few dimensions and the graph can tell apart.
    let spec = spec("lcdl-sv", &[axis("lambda1", json!([1e-4, 1e-2])), axis("max_iter", json!([2]))], &["lambda2"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("units.jsonl");
    let tuned = run("lcdl-sv", &spec, &[], Some(&file), &()).unwrap();
    assert!((1..=tuned.trainings).contains(&tuned.warned));
    assert!(tuned.warnings.iter().any(|warning| warning.contains("laplacian_ridge")), "{:?}", tuned.warnings);
    let text = crate::output::tune_table::terminal(&tuned, 100, false);
    assert!(text.contains(&format!("{} of {} trainings warned", tuned.warned, tuned.trainings)));
    let resumed = run("lcdl-sv", &spec, &read(&file).unwrap(), None, &()).unwrap();
    assert_eq!((resumed.warned, resumed.warnings.len()), (tuned.warned, tuned.warnings.len()));
}

#[test]
fn another_measure_chooses_other_points_and_its_records_are_its_own() {
    // One class of four has a tenth of the samples: what is best for accuracy need not be best for the small class.
    let all = synthetic(3, 40, 6, 2);
    let kept: Vec<usize> = (0..all.targets.len()).filter(|&i| all.targets[i] > 0 || i % 8 == 0).collect();
    let folds = Folds::new(&all, &kept, 3, 1).unwrap();
    let method = registry::method("knn").unwrap();
    let base = method.complete(&Values::new()).unwrap();
    let tuned = |metric: Metric, known: &[UnitRecord], file: Option<&Path>| {
        let spec = Spec { metric, ..spec("knn", &[axis("k", json!([1, 5, 9, 15, 21]))], &[]) };
        let tuning = Tuning { folds: &folds, prep: &"unit".parse().unwrap(), method, base: &base, spec: &spec };
        let file = file.map(|path| Appender::open_now(path).unwrap());
        tuning.run(known, file.as_ref(), &()).unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("units.jsonl");
    let balanced = tuned(Metric::BalancedAccuracy, &[], Some(&path));
    let plain = tuned(Metric::Accuracy, &read(&path).unwrap(), None);
    for point in &balanced.points {
        assert_eq!(point.score, crate::stats::statistics::mean(&point.measured));
        assert!(point.measured.len() == 3 && point.score <= balanced.top(1)[0].score);
    }
    assert!(plain.points.iter().all(|point| point.measured.is_empty() && point.score == point.mean));
    // With as many neighbors as others have samples, the small class is never found: a third of the recall is lost.
    let of = |tuned: &Tuned, k: usize| tuned.points.iter().find(|point| point.params["k"] == k).unwrap().clone();
    let (few, many) = (of(&balanced, 1), of(&balanced, 21));
    assert!(many.score <= 2.0 / 3.0 + 1e-12 && few.score > many.score, "{} {}", few.score, many.score);
    assert!(many.mean > 0.75, "{}", many.mean);
}
