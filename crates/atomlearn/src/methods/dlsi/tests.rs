use super::*;
use crate::linalg::{column_norms, select_columns};
use crate::observe::Trace;
use crate::{Classifier, synth};

fn close(a: &Mat<f64>, b: &Mat<f64>, tolerance: f64) -> bool {
    (a - b).norm_max() < tolerance
}

/// `J` from its definition.
fn objective(params: &Dlsi, train: &Dataset, d: &Mat<f64>, atoms: &Blocks, z: &[Mat<f64>]) -> f64 {
    let part = |c: usize| d.subcols(atoms.range(c).start, atoms.size(c));
    let mut value = 0.0;
    for (c, z) in z.iter().enumerate() {
        value += 0.5 * (train.class(c) - part(c) * z).squared_norm_l2() + params.lambda * z.norm_l1();
        for j in (0..train.n_classes()).filter(|&j| j != c) {
            value += 0.25 * params.eta * (part(j).transpose() * part(c)).squared_norm_l2();
        }
    }
    value
}

#[test]
fn both_steps_lower_the_objective_of_the_definition() {
    for train in [synth::blobs(4, 9, 20, 3), synth::blobs(3, 30, 8, 4)] {
        for eta in [0.0, 0.01, 1.0] {
            let params = Dlsi { eta, lambda: 0.02, ..Dlsi::default() };
            let (mut d, atoms) = class_start(&train, Some(4), &mut ()).unwrap();
            let mut before = f64::INFINITY;
            for _ in 0..6 {
                let z = params.code_step(&train, &d, &atoms);
                let coded = objective(&params, &train, &d, &atoms, &z);
                assert!(coded <= before + 1e-8, "{coded} > {before}");
                params.dictionary_step(&train, &mut d, &atoms, &z).unwrap();
                before = objective(&params, &train, &d, &atoms, &z);
                assert!(before <= coded + 1e-12 * coded, "{before} > {coded}");
                assert!(column_norms(&d).iter().all(|norm| *norm <= 1.0 + 1e-12));
                let sum: f64 = params.terms(&train, &d, &atoms, &z).iter().map(|term| term.1).sum();
                assert!((sum - before).abs() < 1e-10);
            }
        }
    }
}

#[test]
fn without_incoherence_every_class_learns_for_itself() {
    let train = synth::blobs(3, 10, 8, 5);
    let params = Dlsi { eta: 0.0, tol: 0.0, max_iter: 6, atoms_per_class: Some(3), ..Dlsi::default() };
    let together = params.fit(&train, &mut ()).unwrap().parts();
    for c in 0..3 {
        // Beside one class only, and that another one: it comes first.
        let other = (c + 1) % 3;
        let columns: Vec<usize> = train.blocks().range(c).chain(train.blocks().range(other)).collect();
        let labels: Vec<String> = (0..columns.len()).map(|i| if i < 10 { "a".into() } else { "b".into() }).collect();
        let pair = Dataset::new(select_columns(train.x(), &columns), &labels).unwrap();
        let apart = params.fit(&pair, &mut ()).unwrap().parts();
        let found = together.get("dictionary").unwrap().subcols(3 * c, 3).to_owned();
        assert!(close(&found, &apart.get("dictionary").unwrap().subcols(0, 3).to_owned(), 1e-10), "class {c}");
    }
}

#[test]
fn more_weight_means_less_overlap() {
    let train = synth::blobs(4, 10, 8, 6);
    let learned = |eta: f64| {
        let params = Dlsi { eta, tol: 0.0, max_iter: 10, atoms_per_class: Some(3), ..Dlsi::default() };
        let parts = params.fit(&train, &mut ()).unwrap().parts();
        overlap(&parts.get("dictionary").unwrap().to_owned(), &Blocks::from_sizes([3; 4]))
    };
    let overlaps = [0.0, 0.1, 1.0].map(learned);
    assert!(overlaps.windows(2).all(|w| w[1] < w[0]), "{overlaps:?}");
}

#[test]
fn learns_and_comes_back_with_equal_bits() {
    let train = synth::blobs(4, 12, 20, 3);
    for rule in [Rule::Global, Rule::Local] {
        let params = Dlsi { rule, atoms_per_class: Some(4), ..Dlsi::default() };
        let mut trace = Trace::default();
        let model = params.fit(&train, &mut trace).unwrap();
        let values: Vec<f64> = trace.steps.iter().map(|step| step.objective.unwrap()).collect();
        assert!(values.windows(2).all(|w| w[1] <= w[0] + 1e-8), "{values:?}");
        assert!(trace.warnings.is_empty(), "{:?}", trace.warnings);
        assert_eq!(model.predict(train.x()).unwrap(), train.targets());
        let again = params.restore(model.parts()).unwrap();
        assert_eq!(model.scores(train.x()).unwrap(), again.scores(train.x()).unwrap());
    }
}

#[test]
fn more_features_than_samples_changes_nothing() {
    let train = synth::blobs(3, 6, 12, 5);
    let wide = train.with_features(Mat::from_fn(40, 18, |i, j| if i < 12 { train.x()[(i, j)] } else { 0.0 })).unwrap();
    let params = Dlsi { atoms_per_class: Some(3), max_iter: 4, ..Dlsi::default() };
    let scores = params.fit(&train, &mut ()).unwrap().scores(train.x()).unwrap();
    let reduced = params.fit(&wide, &mut ()).unwrap().scores(wide.x()).unwrap();
    assert!(close(&scores, &reduced, 1e-6));
}
