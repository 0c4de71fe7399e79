use super::*;
use crate::linalg::column_norms;
use crate::observe::Trace;
use crate::{Classifier, synth};

/// Parameters with every term at work.
fn params() -> LcleDl {
    LcleDl { alpha: 0.05, beta: 0.2, gamma: 0.1, knn: 2, atoms_per_class: Some(4), tol: 0.0, ..Default::default() }
}

/// `L` and `U` as matrices, from their definitions.
fn penalties(graph: &AtomGraph, atoms: &Blocks) -> (Mat<f64>, Mat<f64>) {
    let class = atoms.labels();
    let share = |k: usize, l: usize| if class[k] == class[l] { 1.0 / atoms.size(class[k]) as f64 } else { 0.0 };
    (graph.laplacian(), Mat::from_fn(atoms.total(), atoms.total(), share))
}

/// `J` from its definition.
fn objective(
    p: &LcleDl,
    x: faer::MatRef<'_, f64>,
    d: &Mat<f64>,
    (z, v): (&Mat<f64>, &Mat<f64>),
    (l, u): &(Mat<f64>, Mat<f64>),
) -> f64 {
    let form = |a: &Mat<f64>, codes: &Mat<f64>| crate::linalg::trace(mul(codes.transpose(), mul(a, codes)));
    let fit = |codes: &Mat<f64>| (x - mul(d, codes)).squared_norm_l2();
    fit(z) + fit(v) + p.alpha * form(l, z) + p.beta * form(u, v) + p.gamma * (z - v).squared_norm_l2()
}

#[test]
fn every_block_is_at_its_minimum_and_none_raises_the_objective() {
    for constraint in [Constraint::Ball, Constraint::Free] {
        let train = synth::blobs(3, 12, 8, 1);
        let p = LcleDl { constraint, ..params() };
        let Iterate { atoms, mut d, mut z, mut multipliers } = p.start(&train, &mut ()).unwrap();
        for _ in 0..6 {
            let graph = p.graph(&d);
            let both = penalties(&graph, &atoms);
            let (l, u) = &both;
            let system = |codes: &Mat<f64>, d: &Mat<f64>, weight: f64, penalty: &Mat<f64>| {
                mul(d.transpose(), mul(d, codes) - train.x()) + Scale(weight) * mul(penalty, codes)
            };
            let v = p.label_codes(&train, &d, &atoms, &z).unwrap();
            let gradient = system(&v, &d, p.beta, u) + Scale(p.gamma) * (&v - &z);
            assert!(gradient.norm_max() < 1e-10, "V: {}", gradient.norm_max());

            let mut held = objective(&p, train.x(), &d, (&z, &v), &both);
            (d, multipliers) = p.dictionary(&train, &d, (&z, &v), multipliers, &mut ()).unwrap();
            let now = objective(&p, train.x(), &d, (&z, &v), &both);
            assert!(now <= held * (1.0 + 1e-10), "{constraint:?}, D: {held} -> {now}");
            held = now;
            // The gradient of the fit is `-2 delta_k d_k`: zero where atoms are free.
            let slope = mul(mul(&d, &z) - train.x(), z.transpose()) + mul(mul(&d, &v) - train.x(), v.transpose());
            for k in 0..atoms.total() {
                let delta = multipliers.as_ref().map_or(0.0, |multipliers| multipliers[k]);
                let off = (slope.col(k) + Scale(delta) * d.col(k)).norm_l2();
                assert!(delta >= 0.0 && off < 1e-4 * (1.0 + held), "{constraint:?}: atom {k}: {off}");
            }

            z = p.local_codes(&train, &d, &graph, &v).unwrap();
            let gradient = system(&z, &d, p.alpha, l) + Scale(p.gamma) * (&z - &v);
            assert!(gradient.norm_max() < 1e-9, "Z: {}", gradient.norm_max());
            let now = objective(&p, train.x(), &d, (&z, &v), &both);
            assert!(now <= held * (1.0 + 1e-10), "{constraint:?}, Z: {held} -> {now}");
            let terms = p.terms(&train, &d, (&z, &v), &graph, &atoms);
            assert!((terms.iter().map(|term| term.1).sum::<f64>() - now).abs() < 1e-9 * now);
            if constraint == Constraint::Ball {
                assert!(column_norms(&d).iter().all(|&n| n <= 1.0 + 1e-12));
            }
        }
    }
}

/// Without locality and labels the two codes are steps towards the same least squares, and a sample's code is its ridge code.
#[test]
fn without_locality_and_labels_codes_are_ridge_codes() {
    let train = synth::blobs(3, 12, 8, 2);
    let p = LcleDl { alpha: 0.0, beta: 0.0, ..params() };
    let Iterate { atoms, d, mut z, .. } = p.start(&train, &mut ()).unwrap();
    let ridge = mul(crate::coding::ridge::ridge_map(d.as_ref(), p.gamma, "t").unwrap(), train.x());
    assert!((&z - &ridge).norm_max() < 1e-10);
    let model = p.fit(&train, &mut ()).unwrap();
    let learned = model.atoms().unwrap().columns;
    let expected = mul(crate::coding::ridge::ridge_map(learned.as_ref(), p.gamma, "t").unwrap(), train.x());
    assert!((model.codes_block(train.x()).unwrap() - expected).norm_max() < 1e-9);

    let graph = p.graph(&d);
    for _ in 0..2000 {
        let v = p.label_codes(&train, &d, &atoms, &z).unwrap();
        z = p.local_codes(&train, &d, &graph, &v).unwrap();
    }
    let v = p.label_codes(&train, &d, &atoms, &z).unwrap();
    assert!((&z - &v).norm_max() < 1e-6, "the codes must meet");
    let gradient = mul(d.transpose(), mul(&d, &z) - train.x());
    assert!(gradient.norm_max() < 1e-6, "least squares: {}", gradient.norm_max());
}

#[test]
fn locality_makes_codes_alike_on_neighbors_and_labels_make_sums_over_classes_small() {
    let train = synth::blobs(3, 12, 8, 3);
    let at = |alpha: f64, beta: f64| {
        let p = LcleDl { alpha, beta, gamma: 1e-3, ..params() };
        let Iterate { atoms, d, z, .. } = p.start(&train, &mut ()).unwrap();
        let graph = p.graph(&d);
        let v = p.label_codes(&train, &d, &atoms, &z).unwrap();
        let z = p.local_codes(&train, &d, &graph, &v).unwrap();
        (inner(&z, graph.times(&z)), label_energy(&atoms, &v))
    };
    let (plain, local, labeled) = (at(0.0, 0.0), at(1.0, 0.0), at(0.0, 1.0));
    assert!(local.0 < 0.5 * plain.0, "{plain:?} {local:?}");
    assert!(labeled.1 < 0.5 * plain.1, "{plain:?} {labeled:?}");
}

#[test]
fn both_starts_and_constraints_learn_and_poor_classes_are_told() {
    let train = synth::blobs(4, 12, 18, 4);
    for values in [params(), LcleDl::default(), LcleDl { constraint: Constraint::Free, start: Start::KSvd, ..params() }]
    {
        let model = values.fit(&train, &mut ()).unwrap();
        let right = model.predict(train.x()).unwrap().iter().zip(train.targets()).filter(|(p, y)| *p == y).count();
        assert!(right * 100 >= 95 * train.n_samples(), "{values:?}: {right}");
        assert!(column_norms(model.atoms().unwrap().columns).iter().all(|&n| n <= 1.0 + 1e-12));
    }
    let mut trace = Trace::default();
    LcleDl { atoms_per_class: Some(30), max_iter: 2, ..params() }.fit(&train, &mut trace).unwrap();
    assert_eq!(trace.warnings.len(), 1, "{:?}", trace.warnings);
}

#[test]
fn more_features_than_samples_change_nothing_but_the_time() {
    let wide = synth::blobs(3, 6, 40, 5);
    let small = Span::of(&wide).unwrap();
    let a = params().fit(&wide, &mut ()).unwrap();
    let b = params().fit(small.train(), &mut ()).unwrap();
    let scores = b.scores(small.train().x()).unwrap();
    assert!((a.scores(wide.x()).unwrap() - scores).norm_max() < 1e-9);
}
