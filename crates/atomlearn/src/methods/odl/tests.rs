use super::*;
use crate::Model;
use crate::linalg::{column_norms, gram, one_hot};
use crate::observe::Trace;
use crate::registry;
use crate::synth;
use crate::testing::accuracy;
use serde_json::json;

/// Mean of `1/2 |x - D z|^2 + lambda |z|_1`, from its definition.
fn objective(d: &Mat<f64>, x: MatRef<'_, f64>, lambda: f64) -> f64 {
    let z = Learned::new(d.clone(), 2).lasso_codes(x, lambda, None).codes.to_dense();
    let magnitudes: f64 = z.col_iter().map(|column| column.iter().map(|v| v.abs()).sum::<f64>()).sum();
    (0.5 * (x - mul(d, &z)).squared_norm_l2() + lambda * magnitudes) / x.ncols() as f64
}

#[test]
fn the_final_sums_are_those_of_all_codes_and_the_classifier_solves_its_normal_equations() {
    for dim in [8, 60] {
        let train = synth::blobs(3, 12, dim, 1);
        let odl = Odl { ridge: 0.3, ..Odl::default() };
        let model = odl.fit(&train, &mut ()).unwrap();
        let (z, targets) = (model.codes(train.x()), train.targets());
        let h = one_hot(&targets, 3);
        let Learned { dictionary, codes, samples, labels, .. } = &model.learned;
        assert!((codes - outer_gram(&z)).norm_max() < 1e-6);
        assert!((samples - mul(train.x(), z.transpose())).norm_max() < 1e-6);
        assert!((labels - mul(&h, z.transpose())).norm_max() < 1e-6);
        assert!(column_norms(dictionary).iter().all(|&length| length <= 1.0 + 1e-12));
        let gradient = mul(&model.weights, codes) + Scale(0.3) * &model.weights - labels;
        assert!(gradient.norm_max() < 1e-10);
        assert_eq!(model.predict(train.x()).unwrap(), targets);
    }
}

#[test]
fn passes_lower_the_objective_of_a_dictionary_of_samples() {
    let train = synth::blobs(4, 50, 20, 3);
    let lambda = 0.1;
    let odl = Odl { lambda, atoms_per_class: Some(4), batch_size: 16, max_iter: 20, tol: 0.0, ..Odl::default() };
    let start = Odl { max_iter: 0, ..odl.clone() }.fit(&train, &mut ()).unwrap();
    let mut trace = Trace::default();
    let model = odl.fit(&train, &mut trace).unwrap();
    let before = objective(&start.learned.dictionary, train.x(), lambda);
    let after = objective(&model.learned.dictionary, train.x(), lambda);
    assert!(after < 0.9 * before, "{after} of {before}");
    // What a pass reports is the cost under the dictionaries of the moment: near the final objective in the end.
    let reported = trace.steps.last().unwrap().objective.unwrap();
    assert!((reported - after).abs() < 0.05 * after, "{reported} {after}");
    let step = trace.steps.last().unwrap();
    assert!((step.terms.iter().map(|(_, term)| term).sum::<f64>() - reported).abs() < 1e-12);
}

#[test]
fn a_stationary_point_of_the_whole_problem_is_reached() {
    // With all samples in a batch and only the last one counting, passes are plain alternation: codes, then atoms.
    let train = synth::blobs(3, 30, 10, 5);
    let odl =
        Odl { atoms_per_class: Some(3), batch_size: 90, forgetting: 1e9, max_iter: 400, tol: 0.0, ..Odl::default() };
    let model = odl.fit(&train, &mut ()).unwrap();
    let Learned { dictionary, codes, samples, .. } = &model.learned;
    // Projected gradient of f(D) = -2 tr(B D^T) + tr(A D^T D) under |d_k| <= 1: nothing is left of it.
    let step = 1.0 / codes.norm_l2();
    let mut moved = dictionary + Scale(step) * (samples - mul(dictionary, codes));
    for atom in moved.as_mut().col_iter_mut() {
        let length = atom.norm_l2();
        if length > 1.0 {
            atom.iter_mut().for_each(|v| *v /= length);
        }
    }
    assert!((&moved - dictionary).norm_max() < 1e-3, "{}", (&moved - dictionary).norm_max());
}

#[test]
fn older_batches_weigh_as_documented() {
    let train = synth::blobs(2, 12, 6, 2);
    for forgetting in [0.0, 1.5] {
        let odl = Odl { forgetting, batch_size: 8, atoms_per_class: Some(3), ..Odl::default() };
        let mut learned = Learned::new(concat_columns(&sample_atoms(&train, &crate::Blocks::from_sizes([3, 3]), 0)), 2);
        let mut expected = Mat::<f64>::zeros(6, 6);
        for s in 1..=3usize {
            // Samples of both classes, so that every atom is used from the first batch on.
            let places: Vec<usize> = (0..8).map(|j| 3 * j + s - 1).collect();
            let (x, targets) = (select_columns(train.x(), &places), places.iter().map(|&i| i / 12).collect::<Vec<_>>());
            let x = x.as_ref();
            let z = learned.lasso_codes(x, odl.lambda, None).codes.to_dense();
            expected += Scale((s as f64 / 3.0).powf(forgetting)) * outer_gram(&z);
            odl.learn_batch(&mut learned, x, &targets, None);
        }
        assert!((&learned.codes - expected).norm_max() < 1e-12);
    }
}

#[test]
fn batches_teach_what_a_data_set_does_and_a_trained_model_goes_on() {
    let all = synth::blobs(4, 60, 16, 9);
    let odl = Odl::default();
    let targets = all.targets();
    let mut model = odl.begin(all.classes().to_vec(), 16).unwrap();
    let nothing = model.scores(all.x()).unwrap();
    assert!(nothing == Mat::<f64>::zeros(4, 240), "no sample seen: nothing is known");
    // Batches of mixed classes, some of which miss a class.
    let order: Vec<usize> = (0..240).map(|i| (i * 67) % 240).collect();
    for places in order.chunks(30) {
        let of_batch: Vec<usize> = places.iter().map(|&i| targets[i]).collect();
        model = odl.learn_more(&model, select_columns(all.x(), places).as_ref(), &of_batch).unwrap();
    }
    assert!(accuracy(&model, &all) > 0.95, "{}", accuracy(&model, &all));
    assert!(model.learned.codes.diagonal().column_vector().iter().all(|&used| used > 0.0), "all atoms are in use");

    // Sums of a stored model are those it had: going on gives the same bits.
    let method = registry::method("odl").unwrap();
    let values = method.complete(&Default::default()).unwrap();
    let stored = method.restore(&values, model.parts()).unwrap();
    let (x, few) = (all.x().subcols(0, 50), &targets[..50]);
    let again = method.learn_more(&values, stored.as_ref(), x, few).unwrap();
    assert!(again.parts() == odl.learn_more(&model, x, few).unwrap().parts());
    // A batch of zeros adds nothing but its weight.
    let model = odl.learn_more(&model, Mat::zeros(16, 5).as_ref(), &[0; 5]).unwrap();
    assert!(accuracy(&model, &all) > 0.9);
}

#[test]
fn a_whole_model_goes_on_behind_its_preprocessing() {
    let all = synth::blobs(3, 20, 9, 4);
    let method = registry::method("odl").unwrap();
    let prep = "standard,unit".parse().unwrap();
    let mut model = Model::train(method, &Default::default(), &prep, &all, &mut ()).unwrap();
    model.info.note("python", json!({"inverse_temperature": 2.0, "class_kind": "str"}));
    model.info.note("n_iter", json!(3));
    let (x, names) = (all.x().subcols(10, 20), all.classes());
    let labels: Vec<String> = all.targets()[10..30].iter().map(|&c| names[c].clone()).collect();
    let more = model.learn_more(x, &labels).unwrap();
    let inner = model.classifier();
    let prepared = model.prepare(x).unwrap();
    let expected = method.learn_more(&Default::default(), inner, prepared.as_ref(), &all.targets()[10..30]).unwrap();
    assert!(more.classifier().parts() == expected.parts());
    assert!(more.classifier().parts() != inner.parts());
    // The calibration was that of the scores before.
    assert!(model.inverse_temperature().is_some() && more.inverse_temperature().is_none());
    assert_eq!(more.info.values().keys().collect::<Vec<_>>(), ["python"]);
    let message = model.learn_more(x.subcols(0, 1), &["stranger".into()]).err().unwrap().to_string();
    assert!(message.contains("unknown class `stranger`"), "{message}");
    let one = method.begin(&Default::default(), &["a".into(), "a".into()], 4).err().unwrap().to_string();
    assert!(one.contains("at least two"), "{one}");
}

#[test]
fn bad_batches_are_refused() {
    let train = synth::blobs(3, 10, 7, 4);
    let method = registry::method("odl").unwrap();
    let values = Default::default();
    let model = method.fit(&values, &train, &mut ()).unwrap();
    let refused = |x: Mat<f64>, targets: &[usize]| {
        method.learn_more(&values, model.as_ref(), x.as_ref(), targets).err().unwrap().to_string()
    };
    assert!(refused(Mat::zeros(6, 2), &[0, 1]).contains("expected 7"));
    assert!(refused(Mat::zeros(7, 2), &[0]).contains("each of 2 samples"));
    assert!(refused(Mat::zeros(7, 2), &[0, 3]).contains("up to 3"));
    assert!(refused(Mat::from_fn(7, 1, |_, _| f64::NAN), &[0]).contains("sample 0"));
    assert!(refused(Mat::from_fn(7, 1, |_, _| 1e200), &[0]).contains("scale the samples"));
    let other = registry::method("crc").unwrap();
    let message = other.learn_more(&values, model.as_ref(), Mat::zeros(7, 1).as_ref(), &[0]).err().unwrap().to_string();
    assert!(message.contains("`crc` cannot learn batch by batch"), "{message}");
}

#[test]
fn zero_data_and_poor_classes_do_no_harm() {
    let rich = synth::blobs(3, 8, 10, 9);
    let nothing = rich.with_features(Mat::zeros(10, 24)).unwrap();
    for odl in [Odl::default(), Odl { max_iter: 0, ..Odl::default() }] {
        let model = odl.fit(&nothing, &mut ()).unwrap();
        assert!(model.scores(rich.x()).unwrap().is_all_finite());
    }
    let mut trace = Trace::default();
    let model = Odl { atoms_per_class: Some(20), ..Odl::default() }.fit(&rich, &mut trace).unwrap();
    assert_eq!((trace.warnings.len(), model.learned.dictionary.ncols()), (1, 24));
    assert!(gram(&model.learned.dictionary).is_all_finite());
}

#[test]
fn new_codes_take_the_place_of_old_ones_in_the_sums() {
    let train = synth::blobs(4, 30, 12, 6);
    let targets = train.targets();
    for lambda in [0.003, 0.3] {
        let odl = Odl { lambda, atoms_per_class: Some(20), batch_size: 25, ..Odl::default() };
        let start = Odl { max_iter: 0, ..odl.clone() }.fit(&train, &mut ()).unwrap().learned.dictionary;
        let (mut learned, mut kept) = (Learned::new(start, 4), None);
        for number in 0..4 {
            odl.pass(&mut learned, &mut kept, (&train, &targets), number);
            let z = kept.as_ref().unwrap().to_dense();
            if number > 0 {
                let h = one_hot(&targets, 4);
                assert!((&learned.codes - outer_gram(&z)).norm_max() < 1e-12);
                assert!((&learned.samples - mul(train.x(), z.transpose())).norm_max() < 1e-12);
                assert!((&learned.labels - mul(&h, z.transpose())).norm_max() < 1e-12);
                // An atom without users has no sums, not even rounding.
                assert!((0..80).all(|k| z.row(k).norm_l1() > 0.0 || learned.codes.col(k).norm_l1() == 0.0));
            }
            assert!((&learned.gram - gram(&learned.dictionary)).norm_max() < 1e-12);
        }
    }
}

#[test]
fn codes_that_start_from_the_last_ones_are_as_good_and_replacing_ends_lower_than_forgetting() {
    let train = synth::blobs(5, 40, 20, 8);
    let lambda = 0.05;
    let odl = Odl { lambda, atoms_per_class: Some(6), batch_size: 16, tol: 0.0, ..Odl::default() };
    let model = odl.fit(&train, &mut ()).unwrap();
    let near = Learned::new(model.learned.dictionary.clone(), 5).lasso_codes(train.x(), lambda, None).codes;
    let early = Odl { max_iter: 1, ..odl.clone() }.fit(&train, &mut ()).unwrap().learned.dictionary;
    let learned = Learned::new(early, 5);
    let [warm, cold] = [Some(&near), None].map(|near| learned.lasso_codes(train.x(), lambda, near));
    let energies = column_energies(train.x());
    assert!(warm.gaps.iter().zip(&energies).all(|(gap, energy)| *gap <= 0.5e-6 * energy));
    assert!((warm.codes.to_dense() - cold.codes.to_dense()).norm_max() < 1e-2);
    let forgetful = Odl { replace: false, ..odl }.fit(&train, &mut ()).unwrap();
    let [here, there] = [&model, &forgetful].map(|model| objective(&model.learned.dictionary, train.x(), lambda));
    assert!(here < there, "{here} {there}");
}
