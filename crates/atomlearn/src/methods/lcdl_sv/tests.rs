use super::*;
use crate::graph::AtomGraph;
use crate::linalg::{Spd, column_norms, gram};
use crate::observe::Trace;
use crate::testing::accuracy;
use crate::{Step, svm, synth};

fn params() -> LcdlSv {
    LcdlSv { atoms_per_class: AtomCount::Each(4), lambda2: 1e-4, refit_svm: Some(false), ..LcdlSv::default().fixed() }
}

#[test]
fn learns_and_reports_a_falling_objective_that_is_the_sum_of_its_terms() {
    let train = synth::blobs(5, 12, 9, 1);
    let mut trace = Trace::default();
    let model = params().fit(&train, &mut trace).unwrap();
    assert!(accuracy(&model, &train) > 0.95);
    let steps = &trace.steps[1..];
    for step in steps {
        let sum: f64 = step.terms.iter().map(|(_, value)| value).sum();
        assert!((sum - step.objective.unwrap()).abs() < 1e-12 * sum);
    }
    assert!(steps.last().unwrap().objective < steps[0].objective);
}

/// The objective from its definition, with explicit `Z`, `L` and residual, against the one reported.
#[test]
fn reported_objective_equals_its_definition() {
    let train = synth::blobs(3, 8, 4, 5);
    let lcdl = LcdlSv { max_iter: Some(1), lambda2: 1e-2, ..params() };
    let (d0, blocks) = init::class_pca_mean(&train, 4, &mut ()).unwrap();
    let graph = AtomGraph::new(&d0, 1, Affinity::Squared);
    let mut trace = Trace::default();
    let model = lcdl.learn_from(&train, d0.clone(), &blocks, &mut trace).unwrap();
    let a = gram(&d0) + Scale(lcdl.lambda1) * graph.laplacian();
    let z = Spd::new(a, "t").unwrap().solve(mul(d0.transpose(), train.x()));
    let fit = (train.x() - mul(&model.dictionary, &z)).squared_norm_l2();
    let smooth = lcdl.lambda1 * mul(z.transpose(), mul(graph.laplacian(), &z)).diagonal().column_vector().sum();
    let (norms, losses) = model.svm.objective_terms(&model.svm.scores(&z), &train.targets());
    let expected = [fit, smooth, 2.0 * lcdl.lambda2 * (norms + lcdl.theta * losses)];
    for ((name, found), expected) in trace.steps[1].terms.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-9 * expected.max(1e-3), "{name}: {found} against {expected}");
    }
}

#[test]
fn zero_iterations_keep_the_start_and_every_step_offers_its_model() {
    struct Take(Vec<Mat<f64>>);
    impl Observer for Take {
        fn step(&mut self, step: &Step<'_>) -> std::ops::ControlFlow<()> {
            let model = step.model.expect("LCDL-SV offers its model")().unwrap();
            self.0.push(model.atoms().unwrap().columns.to_owned());
            if step.iter == 2 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
        }
    }
    let train = synth::blobs(3, 10, 6, 2);
    let mut take = Take(Vec::new());
    let stopped = params().fit(&train, &mut take).unwrap();
    assert_eq!(take.0.len(), 3);
    assert_eq!(take.0[2], stopped.dictionary);
    let none = LcdlSv { max_iter: Some(0), ..params() }.fit(&train, &mut ()).unwrap();
    assert_eq!(take.0[0], none.dictionary);
    assert!(accuracy(&none, &train) > 0.9);
    let two = LcdlSv { max_iter: Some(2), ..params() }.fit(&train, &mut ()).unwrap();
    assert_eq!(two.dictionary, stopped.dictionary);
}

#[test]
fn few_features_switch_the_ridge_on_with_a_warning() {
    let train = synth::blobs(6, 12, 3, 3);
    let mut trace = Trace::default();
    let lcdl = LcdlSv { atoms_per_class: AtomCount::Each(8), ..LcdlSv::default().fixed() };
    let model = lcdl.fit(&train, &mut trace).unwrap();
    assert!(trace.warnings.iter().any(|w| w.contains("laplacian_ridge")), "{:?}", trace.warnings);
    assert!(model.dictionary.is_all_finite());
    let mut quiet = Trace::default();
    LcdlSv { laplacian_ridge: Some(1e-3), ..lcdl }.fit(&train, &mut quiet).unwrap();
    assert!(!quiet.warnings.iter().any(|w| w.contains("laplacian_ridge")));
}

#[test]
fn extensions_do_what_they_say() {
    let train = synth::blobs(4, 12, 6, 4);
    let unit = LcdlSv { atom_norm: AtomNorm::Unit, ..params() }.fit(&train, &mut ()).unwrap();
    assert!(column_norms(&unit.dictionary).iter().all(|n| (n - 1.0).abs() < 1e-9));
    let ball = LcdlSv { atom_norm: AtomNorm::Ball, ..params() }.fit(&train, &mut ()).unwrap();
    assert!(column_norms(&ball.dictionary).iter().all(|n| *n < 1.0 + 1e-9));
    let plain = params().fit(&train, &mut ()).unwrap();
    let refit = LcdlSv { refit_svm: Some(true), ..params() }.fit(&train, &mut ()).unwrap();
    assert_eq!(plain.dictionary, refit.dictionary);
    assert!((&plain.svm.weights - &refit.svm.weights).norm_max() > 1e-6);
    let converged = LcdlSv { active_set: MarginSet::Converged, lambda2: 0.05, ..params() };
    for model in [unit, ball, refit, converged.fit(&train, &mut ()).unwrap()] {
        assert!(accuracy(&model, &train) > 0.9);
    }
    let flipped = LcdlSv { sign_seed: Some(1), ..params() }.fit(&train, &mut ()).unwrap();
    assert!((&flipped.dictionary - &plain.dictionary).norm_max() > 1e-3);
}

#[test]
fn the_three_rules_are_consistent() {
    let train = synth::blobs(4, 10, 6, 6);
    let model = params().fit(&train, &mut ()).unwrap();
    let scores = model.scores_by_rule(train.x()).unwrap();
    let names: Vec<&str> = scores.iter().map(|(rule, _)| *rule).collect();
    assert_eq!(names, ["residual", "svm", "fused"]);
    let fused = &scores[0].1 + Scale(5.0) * &scores[1].1;
    assert_eq!(fused, scores[2].1);
    assert_eq!(model.scores(train.x()).unwrap(), scores[2].1);
    let svm = LcdlSv { rule: Some(Rule::Svm), ..params() }.fit(&train, &mut ()).unwrap();
    assert_eq!(svm.scores(train.x()).unwrap(), scores[1].1);
}

#[test]
fn more_features_than_samples_change_nothing_but_the_coordinates() {
    let train = synth::blobs(3, 8, 10, 8);
    let tall = crate::linalg::qr(Mat::from_fn(60, 10, |i, j| ((i * 7 + j * j * 5 + i * j) % 31) as f64)).0;
    let lifted = train.with_features(mul(&tall, train.x())).unwrap();
    let (start, blocks) = init::class_pca_mean(&train, 4, &mut ()).unwrap();
    let small = params().learn_from(&train, start.clone(), &blocks, &mut ()).unwrap();
    let large = params().learn_from(&lifted, mul(&tall, &start), &blocks, &mut ()).unwrap();
    assert!((mul(&tall, &small.dictionary) - &large.dictionary).norm_max() < 1e-7);
    assert!((&small.svm.weights - &large.svm.weights).norm_max() < 1e-6);
}

/// No iterations, the samples as atoms: ridge codes on the training samples and an exact SVM on them.
#[test]
fn samples_as_atoms_need_no_iterations() {
    let train = synth::blobs(4, 8, 12, 3);
    let test = synth::blobs(4, 8, 12, 3);
    let lcdl = LcdlSv { atoms_per_class: AtomCount::All, max_iter: Some(0), ..LcdlSv::default().fixed() };
    let model = lcdl.fit(&train, &mut ()).unwrap();
    assert_eq!(model.dictionary, train.x().to_owned());
    let codes = crate::coding::ridge::ridge_map(train.x(), lcdl.eta1(), "t").unwrap();
    let codes = mul(&codes, train.x());
    let svm = svm::one_vs_rest(&codes, &train.targets(), 4, 1.0 / lcdl.theta, None).unwrap();
    let rules = model.scores_by_rule(test.x()).unwrap();
    assert!((&rules[1].1 - svm.scores(&codes)).norm_max() < 1e-7);
    assert!(rules.iter().all(|(_, scores)| best_class(scores) == test.targets()));
}

/// By training every fold again with the chosen values and with the authors'.
#[test]
fn the_choice_is_right_on_the_folds_at_least_as_often_as_the_authors_values() {
    let train = synth::blobs(4, 9, 12, 5);
    let mut trace = Trace::default();
    let chosen = LcdlSv::default().choose(&train, &mut trace).unwrap();
    assert!(trace.notes.len() == 1 && trace.notes[0].contains("3 folds"), "{:?}", trace.notes);
    let by_class = train.blocks().ranges().map(|range| range.collect()).collect();
    let parts = crate::folds::stratified(by_class, choice::FOLDS, 0).unwrap();
    let right = |lcdl: &LcdlSv| {
        let of_fold = |part: &Vec<usize>| {
            let rest: Vec<usize> = (0..train.n_samples()).filter(|i| !part.contains(i)).collect();
            let model = lcdl.fit(&train.subset(&rest).unwrap(), &mut ()).unwrap();
            let test = crate::linalg::select_columns(train.x(), part);
            let found = model.predict(test.as_ref()).unwrap();
            found.iter().zip(part).filter(|&(&found, &i)| found == train.targets()[i]).count()
        };
        parts.iter().map(of_fold).sum::<usize>()
    };
    assert!(right(&chosen) >= right(&LcdlSv::default().fixed()));
    let accuracy = 100.0 * right(&chosen) as f64 / train.n_samples() as f64;
    assert!(trace.notes[0].contains(&format!("accuracy {accuracy:.1} %")), "{accuracy} {:?}", trace.notes);
}

#[test]
fn what_is_given_is_not_chosen_and_too_few_samples_leave_the_authors_values() {
    let train = synth::blobs(3, 6, 8, 2);
    let given = LcdlSv { rule: Some(Rule::Svm), eta1: Some(0.3), ..LcdlSv::default() };
    let chosen = given.choose(&train, &mut ()).unwrap();
    assert_eq!((chosen.rule, chosen.eta1, chosen.eta2), (Some(Rule::Svm), Some(0.3), Some(5.0)));
    assert!(chosen.max_iter.is_some());
    let mut trace = Trace::default();
    let few = LcdlSv::default().choose(&synth::blobs(2, 1, 8, 2), &mut trace).unwrap();
    assert_eq!(few, LcdlSv::default().fixed());
    assert!(trace.notes.len() == 1 && trace.notes[0].contains("eta1 = 0.01"), "{:?}", trace.notes);
    let preset = crate::registry::method("lcdl-sv").unwrap().preset("authors-code").unwrap();
    assert_eq!(crate::params::from_map::<LcdlSv>(&preset).unwrap(), few);
}
