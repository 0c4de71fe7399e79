use super::*;
use crate::linalg::{Spd, column_norms, outer_gram, select_columns};
use crate::observe::Trace;
use crate::synth;
use faer::Scale;

fn start(train: &Dataset, per_class: usize) -> (Blocks, Mat<f64>) {
    let mut draws = ClassDraws::new(train.n_classes(), train.n_features(), 7);
    let atoms: Vec<Mat<f64>> = (0..train.n_classes()).map(|c| draws.atoms(c, per_class)).collect();
    (Blocks::from_sizes(vec![per_class; train.n_classes()]), concat_columns(&atoms))
}

/// Some iterations from a given start; `check` sees the state after every sub-step.
fn descend(cadl: &Cadl, train: &Dataset, atoms: &Blocks, start: Mat<f64>, mut check: impl FnMut(&Iterate)) -> Iterate {
    let maps = cadl.maps(train, &mut ()).unwrap();
    let mut state = Iterate::new(train, start);
    let mut draws = ClassDraws::new(train.n_classes(), train.n_features(), 0);
    for _ in 0..cadl.max_iter {
        state.codes = cadl.codes(train, &state);
        check(&state);
        cadl.update_dictionary(train, &maps, atoms, &mut state, &mut draws);
        assert!((&state.responses - mul(state.analysis.transpose(), train.x())).norm_max() < 1e-9);
        check(&state);
        state.svm = cadl.classifiers(train, &state.codes, &state.svm).unwrap();
        check(&state);
    }
    state
}

fn objective(cadl: &Cadl, train: &Dataset, atoms: &Blocks, state: &Iterate) -> f64 {
    cadl.terms(train, atoms, state).iter().map(|term| term.1).sum()
}

/// The objective as printed in the module documentation.
fn objective_by_definition(cadl: &Cadl, train: &Dataset, atoms: &Blocks, state: &Iterate) -> f64 {
    let omega = state.analysis.transpose();
    let targets = train.targets();
    let mut value = (&state.codes - mul(omega, train.x())).squared_norm_l2();
    for c in 0..train.n_classes() {
        let others: Vec<usize> = (0..targets.len()).filter(|&i| targets[i] != c).collect();
        let block = omega.subrows(atoms.range(c).start, atoms.size(c));
        value += cadl.lambda1 * mul(block, select_columns(train.x(), &others)).squared_norm_l2();
        let u = state.svm.weights.col(c);
        let mut losses = 0.0;
        for (i, &y) in targets.iter().enumerate() {
            let score: f64 =
                u.iter().zip(state.codes.col(i).iter()).map(|(u, z)| u * z).sum::<f64>() + state.svm.bias[c];
            losses += (1.0 - if y == c { score } else { -score }).max(0.0).powi(2);
        }
        value += 2.0 * cadl.lambda2 * (u.squared_norm_l2() + cadl.theta * losses);
    }
    value + cadl.lambda3 * omega.squared_norm_l2()
}

#[test]
fn published_rows_have_length_one_and_exact_steps_never_raise_the_objective() {
    let train = synth::blobs(3, 12, 10, 1);
    let (atoms, first) = start(&train, 4);
    let published = Cadl { lambda2: 1e-2, max_iter: 4, ..Default::default() };
    let state = descend(&published, &train, &atoms, first.clone(), |_| ());
    assert!(column_norms(&state.analysis).iter().all(|n| (n - 1.0).abs() < 1e-12));
    let exact = Cadl { updates: Updates::Exact, max_iter: 6, ..published };
    let mut held = f64::INFINITY;
    descend(&exact, &train, &atoms, first, |state| {
        let now = objective(&exact, &train, &atoms, state);
        assert!((now - objective_by_definition(&exact, &train, &atoms, state)).abs() < 1e-9 * now);
        assert!(now <= held * (1.0 + 1e-9), "{held} -> {now}");
        held = now;
    });
}

#[test]
fn exact_codes_have_no_gradient_and_published_ones_solve_the_full_system() {
    let train = synth::blobs(3, 8, 6, 2);
    let (atoms, first) = start(&train, 3);
    for updates in [Updates::Published, Updates::Exact] {
        let cadl = Cadl { lambda2: 0.05, max_iter: 2, updates, ..Default::default() };
        let state = descend(&cadl, &train, &atoms, first.clone(), |_| ());
        let codes = cadl.codes(&train, &state);
        let targets = train.targets();
        let strength = 2.0 * cadl.lambda2 * cadl.theta;
        let chosen_by = if updates == Updates::Exact { &codes } else { &state.codes };
        let scores = state.svm.scores(chosen_by.as_ref());
        for (i, &y) in targets.iter().enumerate() {
            let t = |c: usize| if c == y { 1.0 } else { -1.0 };
            let phi: Vec<usize> = (0..3).filter(|&c| t(c) * scores[(c, i)] < 1.0).collect();
            let u = select_columns(&state.svm.weights, &phi);
            let mut system = Scale(strength) * outer_gram(&u);
            (0..9).for_each(|k| system[(k, k)] += 1.0);
            let pull = Mat::from_fn(phi.len(), 1, |p, _| strength * (t(phi[p]) - state.svm.bias[phi[p]]));
            let right = state.responses.subcols(i, 1) + mul(&u, &pull);
            let full = Spd::new(system.clone(), "t").unwrap().solve(&right);
            assert!((codes.subcols(i, 1) - &full).norm_max() < 1e-10);
            let gradient = mul(&system, codes.subcols(i, 1)) - right;
            assert!(2.0 * gradient.norm_l2() < 1e-8);
        }
    }
}

#[test]
fn order_of_samples_and_classes_does_not_matter() {
    let train = synth::blobs(3, 9, 8, 3);
    let cadl = Cadl { max_iter: 3, ..Default::default() };
    let (atoms, first) = start(&train, 3);
    let expected = descend(&cadl, &train, &atoms, first.clone(), |_| ());
    // Samples: reversed within the data.
    let order: Vec<usize> = (0..27).rev().collect();
    let labels: Vec<String> = order.iter().map(|&i| train.targets()[i].to_string()).collect();
    let moved = Dataset::new(select_columns(train.x(), &order), &labels).unwrap();
    let found = descend(&cadl, &moved, &atoms, first.clone(), |_| ());
    assert!((&found.analysis - &expected.analysis).norm_max() < 1e-8);
    assert!((&found.svm.weights - &expected.svm.weights).norm_max() < 1e-8);
    // Classes: 0 becomes 2, 1 stays, 2 becomes 0; so does the start.
    let swapped = |a: &Mat<f64>| select_columns(a, &[6, 7, 8, 3, 4, 5, 0, 1, 2]);
    let labels: Vec<String> = train.targets().iter().map(|&y| (2 - y).to_string()).collect();
    let renamed = Dataset::new(train.x(), &labels).unwrap();
    let found = descend(&cadl, &renamed, &atoms, swapped(&first), |_| ());
    assert!((&found.analysis - swapped(&expected.analysis)).norm_max() < 1e-8);
}

#[test]
fn without_margins_codes_are_responses_and_scale_does_not_matter() {
    let train = synth::blobs(3, 6, 8, 4);
    let (atoms, first) = start(&train, 3);
    let cadl = Cadl { lambda2: 0.0, max_iter: 2, ..Default::default() };
    let mut sub_steps = 0;
    descend(&cadl, &train, &atoms, first.clone(), |state| {
        assert!(sub_steps % 3 != 0 || state.codes == state.responses, "after every code step");
        sub_steps += 1;
    });
    let maps = cadl.maps(&train, &mut ()).unwrap();
    let mut draws = ClassDraws::new(3, 8, 0);
    let mut once = Iterate::new(&train, first.clone());
    let z = once.codes.clone();
    assert_eq!(cadl.update_dictionary(&train, &maps, &atoms, &mut once, &mut draws), 0);
    let mut scaled = Iterate::new(&train, first);
    scaled.codes *= Scale(17.0);
    cadl.update_dictionary(&train, &maps, &atoms, &mut scaled, &mut draws);
    assert!((&once.analysis - scaled.analysis).norm_max() < 1e-12);
    // A pure ridge map, then unit rows.
    let range = train.blocks().range(1);
    let others = outer_gram(train.x()) - outer_gram(train.class(1));
    let mut system = outer_gram(train.class(1)) + Scale(cadl.lambda1) * others;
    (0..8).for_each(|i| system[(i, i)] += cadl.lambda3);
    let own = z.submatrix(3, range.start, 3, range.len());
    let mut expected = Spd::new(system, "t").unwrap().solve(mul(train.class(1), own.transpose()));
    normalize_columns(expected.as_mut());
    assert!((once.analysis.subcols(3, 3) - expected).norm_max() < 1e-9);
}

#[test]
fn blocks_respond_to_their_class_alone() {
    let train = synth::blobs(4, 20, 15, 5);
    let model = Cadl::default().fit(&train, &mut ()).unwrap();
    let codes = model.codes_block(train.x()).unwrap();
    let mut own = 0.0;
    let mut other = 0.0;
    for (i, &y) in train.targets().iter().enumerate() {
        for c in 0..4 {
            let energy = codes.submatrix(4 * c, i, 4, 1).squared_norm_l2();
            if c == y { own += energy } else { other += energy / 3.0 }
        }
    }
    assert!(own > 3.0 * other, "{own} {other}");
    assert_eq!(model.predict(train.x()).unwrap(), train.targets());
}

#[test]
fn the_reduction_to_the_range_changes_nothing() {
    let train = synth::blobs(3, 5, 40, 6);
    let cadl = Cadl { atoms_per_class: Some(3), max_iter: 3, tol: 0.0, refit: false, seed: 7, ..Default::default() };
    let model = cadl.fit(&train, &mut ()).unwrap();
    let (atoms, first) = start(&train, 3);
    let whole = descend(&cadl, &train, &atoms, first, |_| ());
    assert!((&model.analysis - &whole.analysis).norm_max() < 1e-9);
    assert!((&model.svm.weights - &whole.svm.weights).norm_max() < 1e-8);
}

#[test]
fn poor_classes_zero_samples_and_a_stored_model() {
    let blobs = synth::blobs(2, 6, 9, 8);
    let x = Mat::from_fn(9, 12, |i, j| if j == 11 { 0.0 } else { blobs.x()[(i, j)] });
    let labels: Vec<String> = (0..12).map(|j| ["a", "a", "b", "c"][(j / 5).max(j / 11 * 3)].to_string()).collect();
    let train = Dataset::new(&x, &labels).unwrap();
    let mut trace = Trace::default();
    let cadl = Cadl::default();
    let model = cadl.fit(&train, &mut trace).unwrap();
    assert!(trace.warnings.iter().any(|w| w.contains("re-initialized dead atoms")), "class c has but a zero sample");
    let scores = model.scores(train.x()).unwrap();
    assert!(scores.is_all_finite());
    let again = cadl.restore(model.parts()).unwrap();
    assert!(again.scores(train.x()).unwrap() == scores);
    let mut bad = model.parts();
    bad.put("svm_bias", Mat::<f64>::zeros(1, 2));
    assert!(cadl.restore(bad).is_err());
}
