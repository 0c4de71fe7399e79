use super::*;
use crate::classifier::best_class;
use crate::linalg::select_columns;
use crate::observe::Trace;
use crate::registry::{self, Values};
use crate::testing::{accuracy, pick};
use crate::{Classifier, Model, synth};
use faer::MatRef;
use serde_json::json;

/// Every second sample of each class, and the others.
fn halves(data: &Dataset) -> [Dataset; 2] {
    [0, 1].map(|part| {
        let columns: Vec<usize> = (0..data.n_samples()).filter(|j| j % 2 == part).collect();
        pick(data, &columns)
    })
}

fn restored(model: &AutoModel) -> Result<AutoModel> {
    Auto::default().restore(model.parts())
}

#[test]
fn the_estimate_is_near_the_truth_and_probabilities_add_up() {
    let [train, test] = halves(&synth::blobs(5, 40, 12, 3));
    let model = Auto::default().fit(&train, &mut ()).unwrap();
    let report = model.report();
    let loo = report.loo.as_ref().unwrap();
    assert!((loo.accuracy - accuracy(&model, &test)).abs() < 0.06, "{} {}", loo.accuracy, accuracy(&model, &test));
    assert!(loo.ci95[0] <= loo.accuracy && loo.accuracy <= loo.ci95[1] && loo.majority == 0.2);
    assert!(!report.chosen.is_empty() && report.chosen.len() <= super::MOST_AVERAGED && report.warnings.is_empty());
    let p = model.probabilities_block(test.x()).unwrap();
    assert!(p.col_iter().all(|p| (p.iter().sum::<f64>() - 1.0).abs() < 1e-12));
    assert_eq!(best_class(&p), model.predict(test.x()).unwrap());
    let (left_out, positions) = model.left_out_probabilities();
    assert_eq!((left_out.shape(), positions), ((5, 100), train.order()));
}

#[test]
fn explanations_add_up_to_the_scores() {
    let [train, test] = halves(&synth::blobs(4, 24, 10, 5));
    let model = Auto::default().fit(&train, &mut ()).unwrap();
    let parts = model.explain(test.x()).unwrap();
    assert_eq!(parts.len(), model.report().chosen.len());
    let mut sum = Mat::zeros(4, test.n_samples());
    parts.iter().for_each(|part| sum += part);
    fusion::log_softmax(&mut sum);
    assert!((sum - model.scores(test.x()).unwrap()).norm_max() < 1e-12);
    assert!(model.explain(test.x().subrows(0, 9)).is_err());
}

#[test]
fn wrong_labels_stand_at_the_top_of_the_list() {
    let data = synth::blobs(4, 50, 10, 7);
    let wrong = [3, 61, 77, 120, 149, 160, 181, 22, 98, 135];
    let targets = data.targets();
    let labels: Vec<String> =
        (0..200).map(|j| ((targets[j] + usize::from(wrong.contains(&j))) % 4).to_string()).collect();
    let model = Auto::default().fit(&Dataset::new(data.x(), &labels).unwrap(), &mut ()).unwrap();
    let top = model.suspicious(10);
    let caught = top.iter().filter(|entry| wrong.contains(&entry.sample)).count();
    assert!(caught >= 8, "{top:?}");
    let first = &top[0];
    assert_eq!((&first.label, &first.suggested), (&labels[first.sample], &targets[first.sample].to_string()));
}

#[test]
fn twins_and_single_samples_are_counted_and_said_once() {
    let data = synth::blobs(3, 10, 6, 2);
    let mut x = data.x().to_owned();
    (0..6).for_each(|i| (x[(i, 1)], x[(i, 29)]) = (data.x()[(i, 0)], -data.x()[(i, 0)]));
    let labels: Vec<String> = (0..30).map(|j| if j == 29 { "9".into() } else { (j / 10).to_string() }).collect();
    let mut trace = Trace::default();
    let train = Dataset::new(&x, &labels).unwrap();
    let model = Auto::default().fit(&train, &mut trace).unwrap();
    assert_eq!(trace.warnings, model.report().warnings);
    assert!(trace.warnings.len() == 2 && trace.warnings[0].starts_with("2 training samples equal"), "{trace:?}");
    assert!(trace.warnings[1].starts_with("1 classes have a single sample"));
    let loo = model.report().loo.as_ref().unwrap();
    assert_eq!((loo.samples, loo.per_class[3].recall), (29, None));
    // The class of one sample can still be predicted.
    let p = model.probabilities_block(x.as_ref()).unwrap();
    assert!(p[(3, 29)] > 10.0 * p[(3, 0)], "{} {}", p[(3, 29)], p[(3, 0)]);
}

#[test]
fn twins_of_other_labels_are_said_to_be_so_by_the_stored_model_too() {
    let data = synth::blobs(3, 10, 6, 2);
    let mut x = data.x().to_owned();
    (0..6).for_each(|i| (x[(i, 1)], x[(i, 12)]) = (data.x()[(i, 0)], data.x()[(i, 25)]));
    let labels: Vec<String> = (0..30).map(|j| (j / 10).to_string()).collect();
    let mut trace = Trace::default();
    let model = Auto::default().fit(&Dataset::new(&x, &labels).unwrap(), &mut trace).unwrap();
    assert!(trace.warnings[0].starts_with("2 training samples equal another one"), "{trace:?}");
    assert!(trace.warnings[1].starts_with("2 training samples equal one with another label"), "{trace:?}");
    assert!(trace.warnings.len() == 2 && trace.warnings[1].contains("speaks for the other label"), "{trace:?}");
    assert_eq!(restored(&model).unwrap().report().warnings, trace.warnings);
}

#[test]
fn one_sample_per_class_is_the_nearest_class_without_an_estimate() {
    let [train, test] = halves(&synth::blobs(3, 8, 20, 4));
    let mut trace = Trace::default();
    let model = Auto::default().fit(&pick(&train, &[0, 4, 8]), &mut trace).unwrap();
    assert!(model.report().loo.is_none() && trace.warnings.len() == 1);
    assert!(accuracy(&model, &test) > 0.6);
}

/// Every sample has a twin in its group: leaving one out is too optimistic, leaving the group out is not.
#[test]
fn groups_are_left_out_together() {
    let base = synth::blobs(4, 12, 5, 9);
    let noisy = Mat::from_fn(5, 48, |i, j| base.x()[(i, j)] + 0.6 * (((i * 37 + j * 61) % 17) as f64 / 8.0 - 1.0));
    let x = Mat::from_fn(5, 96, |i, j| noisy[(i, j / 2)] + 1e-3 * ((i + 3 * j) % 5) as f64);
    let labels: Vec<String> = (0..96).map(|j| (j / 24).to_string()).collect();
    let train = Dataset::new(&x, &labels).unwrap();
    let groups: Vec<usize> = (0..96).map(|j| j / 2).collect();
    let estimate = |train: &Dataset| {
        let model = Auto::default().fit(train, &mut ()).unwrap();
        model.report().loo.as_ref().unwrap().accuracy
    };
    let one = estimate(&train);
    let group = estimate(&train.clone().with_groups(&groups).unwrap());
    assert!(one > group + 0.1, "{one} {group}");
    assert!(train.clone().with_groups(&[0; 96]).is_err() && train.with_groups(&[0, 1]).is_err());
}

fn large(train: &Dataset) -> AutoModel {
    let learned = super::large::learn(&Auto::default(), train, &mut ()).unwrap();
    AutoModel::new(train.classes().to_vec(), learned).unwrap()
}

#[test]
fn the_form_for_many_samples_is_as_good_and_survives_its_parts() {
    let [train, test] = halves(&synth::blobs(4, 120, 9, 6));
    let few = Auto::default().fit(&train, &mut ()).unwrap();
    let many = large(&train);
    assert!(accuracy(&many, &test) > accuracy(&few, &test) - 0.02);
    let a = few.report().loo.as_ref().unwrap();
    let b = many.report().loo.as_ref().unwrap();
    assert!((a.log_loss - b.log_loss).abs() < 0.3 * a.log_loss.max(0.05), "{} {}", a.log_loss, b.log_loss);
    let back = restored(&many).unwrap();
    assert!(back.scores(test.x()).unwrap() == many.scores(test.x()).unwrap());
    assert_eq!(back.report(), many.report());
    type Edit<'a> = &'a dyn Fn(&str, MatRef<'_, f64>) -> Option<Mat<f64>>;
    let damaged = |edit: Edit<'_>| {
        let mut parts = Parts::new(many.classes().to_vec());
        for (name, part) in many.parts() {
            edit(&name, part.as_ref()).into_iter().for_each(|edited| parts.put(&name, edited));
        }
        Auto::default().restore(parts)
    };
    for (gone, _) in many.parts() {
        assert!(damaged(&|name, part| (name != gone).then(|| part.to_owned())).is_err(), "without {gone}");
        let larger = |name: &str, part: MatRef<'_, f64>| {
            Some(if name == gone { Mat::zeros(part.nrows() + 1, part.ncols() + 1) } else { part.to_owned() })
        };
        assert!(damaged(&larger).is_err(), "with a larger {gone}");
    }
}

#[test]
fn reports_survive_the_model_file_and_speak_json() {
    let train = synth::blobs(3, 10, 6, 1);
    let method = registry::method("auto").unwrap();
    let (prep, params) = method.settle(None, &Values::new()).unwrap();
    let model = Model::train(method, &params, &prep, &train, &mut ()).unwrap();
    let report = AutoModel::of(model.classifier()).unwrap().report().clone();
    let back = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(AutoModel::of(back.classifier()).unwrap().report(), &report);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["schema"], "atomlearn.auto/1");
    assert!(json["loo"]["ci95"].is_array() && json["chosen"][0]["kappa"].is_number() && json["warnings"] == json!([]));
    assert_eq!(serde_json::from_value::<AutoReport>(json).unwrap(), report);
    let p = model.probabilities(train.x()).unwrap().unwrap();
    assert!((p.col(0).iter().sum::<f64>() - 1.0).abs() < 1e-12);
    let ridge = Model::train(registry::method("ridge").unwrap(), &Values::new(), &prep, &train, &mut ()).unwrap();
    assert!(ridge.probabilities(train.x()).unwrap().is_none() && AutoModel::of(ridge.classifier()).is_none());
}

#[test]
fn preprocessing_by_the_user_is_the_only_view() {
    let auto = registry::method("auto").unwrap();
    let prep = "pca:3,unit".parse().unwrap();
    let (none, own) = auto.settle(None, &Values::new()).unwrap();
    assert_eq!((none.to_string(), &own["views"]), ("none".into(), &json!(null)));
    let (kept, given) = auto.settle(Some(&prep), &Values::new()).unwrap();
    assert_eq!((kept, &given["views"]), (prep.clone(), &json!("given")));
    let (_, raw) = auto.settle(Some(&none), &Values::new()).unwrap();
    assert_eq!(raw, own);
    // What the user says goes first.
    let said = Values::from_iter([("views".to_string(), json!("standard"))]);
    assert_eq!(auto.settle(Some(&prep), &said).unwrap().1["views"], "standard");
    let (unit, _) = registry::method("crc").unwrap().settle(None, &Values::new()).unwrap();
    assert_eq!(unit, crate::prep::PrepSpec::default());
}

#[test]
fn bits_do_not_depend_on_threads_in_the_form_for_many_samples() {
    let train = synth::blobs(4, 60, 9, 6);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| large(&train).scores(train.x()).unwrap())
    };
    assert!(run(1) == run(3));
}

/// Classes mixed, one feature constant and one far from zero.
fn mixed_samples() -> (Mat<f64>, Vec<String>) {
    let data = synth::blobs(4, 75, 6, 11);
    let targets = data.targets();
    let order: Vec<usize> = (0..300).map(|i| i * 7 % 300).collect();
    let x = Mat::from_fn(8, 300, |i, j| match i {
        6 => 0.3,
        7 => 30.0 + data.x()[(0, order[j])] * data.x()[(1, order[j])],
        _ => data.x()[(i, order[j])],
    });
    (x, order.iter().map(|&i| format!("class {}", targets[i])).collect())
}

fn in_partitions(x: &Mat<f64>, labels: &[String], partitions: usize, prep: &str) -> crate::Model {
    use crate::scale::{Arrays, Setup, Trainer};
    let auto = registry::method("auto").unwrap();
    let (prep, params) = auto.settle(Some(&prep.parse().unwrap()), &Values::new()).unwrap();
    let mut arrays = Arrays::new(x.as_ref(), labels);
    arrays.partitions = partitions;
    let setup = Setup { method: "auto".into(), params, prep, partitions, n_features: x.nrows(), data: "test".into() };
    let mut trainer = Trainer::new(setup, "run".into()).unwrap();
    let mut memos = Vec::new();
    while let Some(request) = trainer.request().unwrap() {
        let stats = arrays.answer(&request, &mut memos, |_| Ok(())).unwrap();
        trainer.absorb(stats, &mut ()).unwrap();
    }
    trainer.model().unwrap().unwrap()
}

/// The form for many samples in memory and in partitions: different sums, the same search.
#[test]
fn partitions_give_what_all_samples_together_give() {
    let (x, labels) = mixed_samples();
    let train = Dataset::new(&x, &labels).unwrap();
    let expected = large(&train);
    let scores = expected.scores(x.as_ref()).unwrap();
    for partitions in [1, 3, 8] {
        let model = in_partitions(&x, &labels, partitions, "none");
        let found = AutoModel::of(model.classifier()).unwrap();
        let difference = (model.scores(x.as_ref()).unwrap() - &scores).norm_max();
        assert!(difference < 1e-8 * scores.norm_max(), "{partitions}: {difference:e}");
        let (a, at) = found.left_out_probabilities();
        let (b, expected_at) = expected.left_out_probabilities();
        assert_eq!(at, expected_at, "{partitions}");
        assert!((a - b).norm_max() < 1e-8);
        let reading = |chosen: &ChosenReading| (chosen.reading.clone(), chosen.view.clone(), chosen.kappa);
        let readings = |model: &AutoModel| model.report().chosen.iter().map(reading).collect::<Vec<_>>();
        assert_eq!(readings(found), readings(&expected));
        assert_eq!(found.report().warnings, expected.report().warnings);
    }
}

/// Samples that the user preprocessed are the only view there, too.
#[test]
fn partitions_take_prepared_samples_as_they_are() {
    let (x, labels) = mixed_samples();
    let model = in_partitions(&x, &labels, 3, "center,unit");
    let report = AutoModel::of(model.classifier()).unwrap().report().clone();
    assert!(report.chosen.iter().all(|chosen| chosen.view == "given"));
    let (_, prepared) = "center,unit".parse::<crate::prep::PrepSpec>().unwrap().fit(&x, &mut ()).unwrap();
    let given = Auto { views: Some(Views::Given), ..Auto::default() };
    let train = Dataset::new(&prepared, &labels).unwrap();
    let learned = super::large::learn(&given, &train, &mut ()).unwrap();
    let expected = AutoModel::new(train.classes().to_vec(), learned).unwrap().scores(prepared.as_ref()).unwrap();
    let difference = (model.scores(x.as_ref()).unwrap() - &expected).norm_max();
    assert!(difference < 1e-8 * expected.norm_max(), "{difference:e}");
}

/// In partitions twins and single samples are counted as in memory, though no partition sees both of a pair.
#[test]
fn partitions_notice_twins_and_single_samples() {
    let (mut x, mut labels) = mixed_samples();
    (0..8).for_each(|i| x[(i, 299)] = x[(i, 3)]);
    labels[299] = labels[3].clone();
    labels[150] = "alone".into();
    let train = Dataset::new(&x, &labels).unwrap();
    let expected = large(&train).report().warnings.clone();
    assert!(expected.len() == 2 && expected[0].starts_with("2 of the samples that are left out"), "{expected:?}");
    let model = in_partitions(&x, &labels, 5, "none");
    assert_eq!(AutoModel::of(model.classifier()).unwrap().report().warnings, expected);
}

/// A sample of weight `w` is `w` equal samples that are left out together: everything is chosen alike, and every probability is the same.
#[test]
fn whole_weights_equal_repeated_samples_of_one_group() {
    let (train, test) = (synth::blobs(3, 9, 6, 1), synth::blobs(3, 5, 6, 2));
    let n = train.n_samples();
    let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i * i % 3) as f64).collect();
    let repeated: Vec<usize> = (0..n).flat_map(|i| vec![i; weights[i] as usize]).collect();
    let names: Vec<String> = train.targets().iter().map(|&c| train.classes()[c].clone()).collect();
    let longer: Vec<String> = repeated.iter().map(|&i| names[i].clone()).collect();
    let twins = Dataset::new(select_columns(train.x(), &repeated), &longer).unwrap().with_groups(&repeated).unwrap();
    let weighted = Dataset::new(train.x(), &names).unwrap().with_weights(&weights).unwrap();
    for views in [Views::Both, Views::Given] {
        let auto = Auto { views: Some(views), ..Auto::default() };
        let expected = auto.fit(&twins, &mut ()).unwrap();
        let found = auto.fit(&weighted, &mut ()).unwrap();
        assert_eq!(found.chosen.len(), expected.chosen.len());
        for (a, b) in found.chosen.iter().zip(&expected.chosen) {
            assert_eq!((a.reading, a.view, a.kappa), (b.reading, b.view, b.kappa));
            assert!((a.gamma - b.gamma).abs() <= 1e-9 * b.gamma && (a.weight - b.weight).abs() < 1e-6, "{a:?} {b:?}");
        }
        let difference = found.scores(test.x()).unwrap() - expected.scores(test.x()).unwrap();
        assert!(difference.norm_max() < 1e-6, "{:e}", difference.norm_max());
        let (loo, twin) = (found.report().loo.clone().unwrap(), expected.report().loo.clone().unwrap());
        assert!((loo.accuracy - twin.accuracy).abs() < 1e-12 && (loo.log_loss - twin.log_loss).abs() < 1e-6);
        assert!((loo.majority - twin.majority).abs() < 1e-12 && loo.samples == n);
        let parts = found.parts();
        let restored = auto.restore(parts).unwrap();
        assert_eq!(restored.scores(test.x()).unwrap(), found.scores(test.x()).unwrap());
        assert_eq!(restored.report(), found.report());
    }
}

/// Values of narrow Gaussian kernels are powers of those of wide ones, and weights must not be among what is squared.
#[test]
fn weights_are_no_part_of_the_powers_of_gaussian_values() {
    let (train, test) = (synth::blobs(3, 9, 6, 1), synth::blobs(3, 50, 6, 2));
    let weights: Vec<f64> = (0..27).map(|i| 1.0 + (i * i % 3) as f64).collect();
    let repeated: Vec<usize> = (0..27).flat_map(|i| vec![i; weights[i] as usize]).collect();
    let names: Vec<String> = train.targets().iter().map(|&c| train.classes()[c].clone()).collect();
    let longer: Vec<String> = repeated.iter().map(|&i| names[i].clone()).collect();
    let twins = Dataset::new(select_columns(train.x(), &repeated), &longer).unwrap();
    let weighted = Dataset::new(train.x(), &names).unwrap().with_weights(&weights).unwrap();
    let auto = Auto { views: Some(Views::Given), ..Auto::default() };
    // Every reading of the linear kernel and of four Gaussian ones, each four times as narrow as the one before.
    let choices: Vec<[f64; 6]> = (0..15)
        .map(|e| {
            let gamma = [0.0, 0.05, 0.2, 0.8, 3.2][e / 3];
            [(e % 3) as f64, ViewKind::Given.number(), gamma, 0.1, 1.0, 1.0]
        })
        .collect();
    let readings = |data: &Dataset| {
        let mut parts = auto.fit(data, &mut ()).unwrap().parts();
        parts.take("chosen").unwrap();
        parts.put("chosen", Mat::from_fn(6, choices.len(), |row, e| choices[e][row]));
        auto.restore(parts).unwrap().explain(test.x()).unwrap()
    };
    for (e, (found, expected)) in readings(&weighted).iter().zip(readings(&twins)).enumerate() {
        let difference = (found - &expected).norm_max();
        assert!(difference < 1e-7 * expected.norm_max(), "{:?}: {difference:e}", choices[e]);
    }
}

/// More samples than codes are over: the sums over features are weighted, and other weights are another model.
#[test]
fn weights_count_among_many_samples() {
    let train = synth::blobs(2, 120, 3, 5);
    let names: Vec<String> = train.targets().iter().map(|&c| train.classes()[c].clone()).collect();
    let fit = |weights: &[f64]| large(&Dataset::new(train.x(), &names).unwrap().with_weights(weights).unwrap());
    let halves = fit(&[0.5; 240]);
    let loo = halves.report().loo.clone().unwrap();
    let plain = large(&train).report().loo.clone().unwrap();
    assert!((loo.accuracy - plain.accuracy).abs() < 0.01 && loo.ci95.iter().all(|v| v.is_finite()));
    assert!((loo.ci95[1] - loo.ci95[0] - (plain.ci95[1] - plain.ci95[0])).abs() < 1e-3);
    // Nine tenths of the weight on one class.
    let uneven: Vec<f64> = (0..240).map(|i| if i < 120 { 0.9 } else { 0.1 }).collect();
    assert!((fit(&uneven).report().loo.clone().unwrap().majority - 0.9).abs() < 1e-9);
}

/// A block of features alone is what a training on these features alone sees; the softmax finds the block that knows the classes.
#[test]
fn blocks_of_features_are_read_alone_and_weighed_against_each_other() {
    let knows = synth::blobs(3, 15, 5, 3);
    let test = synth::blobs(3, 40, 5, 4);
    let noise = |i: usize, j: usize| ((i * 31 + j * 17 + i * j * 7) % 23) as f64 / 23.0 - 0.5;
    let beside = |x: MatRef<'_, f64>| {
        Mat::from_fn(25, x.ncols(), |i, j| if i < 20 { noise(i, j) } else { x[(i - 20, j)] / 10.0 })
    };
    let both = knows.with_features(beside(knows.x())).unwrap().with_views(&[20, 5]);
    let auto = Auto { views: Some(Views::Given), ..Auto::default() };
    let model = auto.fit(&both, &mut ()).unwrap();
    let best = model.chosen.iter().max_by(|a, b| a.weight.total_cmp(&b.weight)).unwrap();
    assert_eq!((best.view, best.view.name()), (ViewKind::Block(1), "view 2".to_string()));
    assert_eq!(
        auto.restore(model.parts()).unwrap().scores(beside(test.x()).as_ref()).unwrap(),
        model.scores(beside(test.x()).as_ref()).unwrap()
    );

    let late = Auto { views: Some(Views::Alone), max_readings: Some(1) };
    let alone = late.fit(&both.clone().with_views(&[20, 5]), &mut ()).unwrap();
    let expected = Auto { max_readings: Some(1), ..auto.clone() }.fit(&knows, &mut ()).unwrap();
    let difference = alone.scores(beside(test.x()).as_ref()).unwrap() - expected.scores(test.x()).unwrap();
    assert!(difference.norm_max() < 1e-8, "{:e}", difference.norm_max());

    let early = Auto { views: Some(Views::Together), ..auto.clone() }.fit(&both, &mut ()).unwrap();
    assert!(early.chosen.iter().all(|choice| choice.view == ViewKind::Given));
    // Without blocks, `alone` is all features.
    let whole = Auto { views: Some(Views::Alone), ..auto.clone() }.fit(&knows, &mut ()).unwrap();
    assert_eq!(whole.scores(test.x()).unwrap(), auto.fit(&knows, &mut ()).unwrap().scores(test.x()).unwrap());
}

/// A small ridge rebuilds a training sample from itself alone: all other classes are far away, some further than others, and its own wins.
#[test]
fn training_samples_get_their_own_labels_whatever_readings_were_chosen() {
    let train = synth::blobs(5, 12, 30, 8);
    let auto = Auto { views: Some(Views::Given), ..Auto::default() };
    let mut parts = auto.fit(&train, &mut ()).unwrap().parts();
    parts.take("chosen").unwrap();
    let choices = [1e-5, 1e-4, 1e-4].map(|kappa| [0.0, ViewKind::Given.number(), 2.0, kappa, 0.05, 1.0]);
    parts.put("chosen", Mat::from_fn(6, choices.len(), |row, e| choices[e][row]));
    let model = auto.restore(parts).unwrap();
    assert_eq!(model.predict(train.x()).unwrap(), train.targets());
    let probabilities = model.probabilities_block(train.x()).unwrap();
    let targets = train.targets();
    assert!((0..train.n_samples()).all(|i| probabilities[(targets[i], i)] > 0.9));
}
