use super::*;
use crate::linalg::column_norms;
use crate::observe::Trace;
use crate::testing::accuracy;
use crate::{Classifier, synth};

fn params() -> Ledl {
    Ledl { lambda: 0.05, omega: 0.02, epsilon: 0.02, atoms_per_class: Some(4), tol: 0.0, ..Default::default() }
}

/// Unequal classes, so that `K_c` differs.
fn data() -> Dataset {
    let all = synth::blobs(3, 12, 8, 1);
    let places: Vec<usize> = (0..36).filter(|i| !(3..12).contains(i)).collect();
    all.subset(&places).unwrap()
}

fn problem(train: &Dataset, atoms: Blocks) -> Problem<'_> {
    Problem { x: train.x(), labels: one_hot(&train.targets(), train.n_classes()), atoms }
}

/// `A = B M` and `Q = B H`.
fn spread(problem: &Problem<'_>, rows: &Mat<f64>) -> Mat<f64> {
    let class = problem.atoms.labels();
    Mat::from_fn(class.len(), rows.ncols(), |k, j| rows[(class[k], j)])
}

/// `J` from its definition, with `A` and `Q` formed.
fn objective(p: &Ledl, problem: &Problem<'_>, z: &Mat<f64>, now: &Iterate) -> f64 {
    let a = spread(problem, &now.m);
    let q = spread(problem, &problem.labels);
    let absolute: f64 = z.col_iter().map(|column| column.iter().map(|v| v.abs()).sum::<f64>()).sum();
    (problem.x - mul(&now.d, z)).squared_norm_l2()
        + p.lambda * (&problem.labels - mul(&now.w, z)).squared_norm_l2()
        + p.omega * (q - mul(a, z)).squared_norm_l2()
        + 2.0 * p.epsilon * absolute
}

#[test]
fn codes_are_optimal_columns_have_unit_length_and_no_step_raises_the_objective() {
    let train = data();
    for start in [Start::Samples, Start::Random] {
        let p = Ledl { start, ..params() };
        let problem = problem(&train, atom_counts(&train, p.atoms_per_class, &mut ()));
        assert!(problem.atoms.sizes().any(|size| size != 4));
        let mut now = p.start(&Span::of(&train).unwrap(), &problem);
        let mut z = p.codes(&problem, &now);
        let mut held = objective(&p, &problem, &z, &now);
        for _ in 0..6 {
            // Optimality of the lasso with `A` formed: the gradient is `-2 epsilon sign(z)`, or within it where `z = 0`.
            let a = spread(&problem, &now.m);
            let q = spread(&problem, &problem.labels);
            let gradient = mul(now.d.transpose(), mul(&now.d, &z) - problem.x)
                + faer::Scale(p.lambda) * mul(now.w.transpose(), mul(&now.w, &z) - &problem.labels)
                + faer::Scale(p.omega) * mul(a.transpose(), mul(&a, &z) - q);
            for i in 0..train.n_samples() {
                for k in 0..problem.atoms.total() {
                    let (g, code) = (gradient[(k, i)], z[(k, i)]);
                    let off = if code == 0.0 {
                        (g.abs() - p.epsilon).max(0.0)
                    } else {
                        (g + p.epsilon * code.signum()).abs()
                    };
                    assert!(off < 1e-3, "{start:?}: code {k} of sample {i}: {off}");
                }
            }
            p.update_columns(&problem, &z, &mut now);
            for matrix in [&now.d, &now.w, &spread(&problem, &now.m)] {
                assert!(column_norms(matrix).iter().all(|n| (n - 1.0).abs() < 1e-9), "{start:?}");
            }
            let after = objective(&p, &problem, &z, &now);
            assert!(after <= held * (1.0 + 1e-9), "{start:?}, columns: {held} -> {after}");
            let terms: f64 = p.terms(&problem, &z, &now).iter().map(|term| term.1).sum();
            assert!((terms - after).abs() < 1e-9 * after);
            z = p.codes(&problem, &now);
            held = objective(&p, &problem, &z, &now);
            assert!(held <= after * (1.0 + 1e-5), "{start:?}, codes: {after} -> {held}");
        }
    }
}

/// The sweep over the columns of `M` is that over the columns of `A`, which is K x K.
#[test]
fn the_label_map_is_updated_as_if_it_were_formed() {
    let train = data();
    let p = params();
    let problem = problem(&train, atom_counts(&train, p.atoms_per_class, &mut ()));
    let mut now = p.start(&Span::of(&train).unwrap(), &problem);
    let z = p.codes(&problem, &now);
    let mut formed = spread(&problem, &now.m);
    let e = mul(spread(&problem, &problem.labels), z.transpose());
    sweep(&e, &outer_gram(&z), &mut formed, |_| 1.0);
    p.update_columns(&problem, &z, &mut now);
    assert!((formed - spread(&problem, &now.m)).norm_max() < 1e-10);
}

/// Without labels it is plain sparse dictionary learning with unit atoms: `W` and `M` touch neither codes nor atoms.
#[test]
fn without_label_terms_codes_and_atoms_do_not_see_labels() {
    let train = data();
    let p = Ledl { lambda: 0.0, omega: 0.0, ..params() };
    let problem = problem(&train, atom_counts(&train, p.atoms_per_class, &mut ()));
    let now = p.start(&Span::of(&train).unwrap(), &problem);
    let model = SparseLinear::by_lasso(train.classes().to_vec(), now.d.clone(), now.w.clone(), p.epsilon);
    assert!((p.codes(&problem, &now) - model.codes_block(train.x()).unwrap()).norm_max() < 1e-4);
    let other = Iterate { w: Mat::from_fn(3, now.w.ncols(), |c, k| ((c + k) % 3) as f64), ..now };
    assert!((p.codes(&problem, &other) - model.codes_block(train.x()).unwrap()).norm_max() < 1e-4);
}

#[test]
fn every_option_learns_and_models_come_back_with_the_same_bits() {
    let train = synth::blobs(4, 12, 18, 4);
    let joint = Ledl { readout: Readout::Joint, ..params() };
    for values in [params(), Ledl::default(), joint.clone(), Ledl { start: Start::Random, ..joint }] {
        let mut trace = Trace::default();
        let model = values.fit(&train, &mut trace).unwrap();
        assert!(accuracy(&model, &train) >= 0.9, "{values:?}");
        assert!(trace.steps.windows(2).all(|w| w[1].objective <= w[0].objective.map(|j| j * (1.0 + 1e-5))));
        let again = values.restore(model.parts()).unwrap();
        assert!(again.scores(train.x()).unwrap() == model.scores(train.x()).unwrap());
    }
}

#[test]
fn more_features_than_samples_change_nothing_but_the_time() {
    let wide = synth::blobs(3, 6, 40, 5);
    let small = Span::of(&wide).unwrap();
    let a = params().fit(&wide, &mut ()).unwrap();
    let b = params().fit(small.train(), &mut ()).unwrap();
    let scores = b.scores(small.train().x()).unwrap();
    assert!((a.scores(wide.x()).unwrap() - scores).norm_max() < 1e-3);
}
