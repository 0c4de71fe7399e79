use super::*;
use crate::observe::Trace;
use crate::synth;

/// `J` by its definition, with the loss and not its weights.
fn objective(dadl: &Dadl, train: &Dataset, wanted: &Mat<f64>, graph: &Neighbors, state: &Iterate) -> f64 {
    let e = |squared: f64| 1.0 - (-squared / (dadl.sigma * dadl.sigma)).exp();
    let v = mul(&state.omega, train.x());
    let fit: f64 = column_distances(&state.z, &v).map(e).sum();
    let label: f64 = column_distances(&state.z, wanted).map(e).sum();
    let joined: f64 = graph.edges.iter().map(|&(i, j, w)| w * e((v.col(i) - v.col(j)).squared_norm_l2())).sum();
    let ridge = dadl.lambda3 / (dadl.sigma * dadl.sigma) * state.omega.squared_norm_l2();
    fit + dadl.lambda1 * label + dadl.lambda2 * joined + ridge
}

fn copies_of(targets: &Targets, r: usize) -> usize {
    if r < targets.codes.ncols() { targets.copies } else { 1 }
}

#[test]
fn no_half_step_raises_the_objective_and_codes_stay_sparse() {
    let train = synth::blobs(4, 12, 9, 1);
    // A narrow kernel and a weak pull to the targets, so that weights and thresholds have something to do.
    let dadl = Dadl { sigma: 0.7, lambda1: 0.5, lambda2: 0.05, lambda3: 0.05, ..Default::default() };
    let targets = Targets::new(4, 9);
    let wanted = wanted_codes(&train, &targets);
    let graph = Neighbors::new(&train, 5, dadl.sigma);
    let mut state = Iterate::new(&wanted, graph.edges.len(), &train);
    let mut held = f64::INFINITY;
    for _ in 0..6 {
        let map = dadl.dictionary_map(&train, &graph, &state).unwrap();
        for _ in 0..INNER {
            state.omega = mul(&state.z, &map);
            state.responses = mul(&state.omega, train.x());
            dadl.update_codes(&wanted, &targets, &mut state);
            for i in 0..48 {
                let used: usize =
                    (0..state.z.nrows()).filter(|&r| state.z[(r, i)] != 0.0).map(|r| copies_of(&targets, r)).sum();
                assert!(used <= targets.nonzeros);
            }
        }
        dadl.update_weights(&wanted, &graph, &mut state);
        let now: f64 = dadl.terms(&graph, &state).iter().map(|term| term.1).sum();
        assert!((now - objective(&dadl, &train, &wanted, &graph, &state)).abs() < 1e-10 * now);
        assert!(now <= held * (1.0 + 1e-9), "{held} -> {now}");
        held = now;
    }
}

#[test]
fn the_dictionary_solves_its_normal_equations() {
    let train = synth::blobs(3, 8, 6, 2);
    let dadl = Dadl::default();
    let wanted = wanted_codes(&train, &Targets::new(3, 6));
    let graph = Neighbors::new(&train, 4, dadl.sigma);
    let mut state = Iterate::new(&wanted, graph.edges.len(), &train);
    state.p = (0..24).map(|i| 0.3 + 0.02 * i as f64).collect();
    let map = dadl.dictionary_map(&train, &graph, &state).unwrap();
    let omega = mul(&wanted, &map);
    let mut system = mul(graph.spread(train.x(), &state.p, dadl.lambda2, &state.r), train.x().transpose());
    (0..6).for_each(|i| system[(i, i)] += dadl.lambda3);
    let weighted = Mat::from_fn(6, 24, |k, i| train.x()[(k, i)] * state.p[i]);
    let gap = mul(&omega, &system) - mul(&wanted, weighted.transpose());
    assert!(gap.norm_max() < 1e-10);
}

#[test]
fn kept_once_and_scaled_equals_all_copies() {
    let train = synth::blobs(3, 8, 20, 3);
    let targets = Targets::new(3, 20);
    assert!(targets.copies > 1);
    let rows: Vec<usize> =
        (0..targets.codes.nrows()).flat_map(|r| std::iter::repeat_n(r, copies_of(&targets, r))).collect();
    let root = (targets.copies as f64).sqrt();
    let full = Mat::from_fn(rows.len(), 3, |k, c| targets.codes[(rows[k], c)] / if rows[k] < 3 { root } else { 1.0 });
    let gap = crate::linalg::gram(&full) - crate::linalg::gram(&targets.codes);
    assert!(gap.norm_max() < 1e-12);
    let mut z = Mat::from_fn(targets.codes.nrows(), 5, |r, j| ((r * 7 + j * 3) % 11) as f64 - 5.0);
    let mut copied = Mat::from_fn(rows.len(), 5, |k, j| z[(rows[k], j)] / if rows[k] < 3 { root } else { 1.0 });
    keep_largest(&mut z, 3, targets.nonzeros, targets.copies);
    for j in 0..5 {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by(|&a, &b| copied[(b, j)].abs().total_cmp(&copied[(a, j)].abs()).then(a.cmp(&b)));
        order[targets.nonzeros..].iter().for_each(|&k| copied[(k, j)] = 0.0);
        let once = z.col(j).squared_norm_l2();
        let all = copied.col(j).squared_norm_l2();
        // They differ only where T0 falls inside a group of copies, which is then dropped whole.
        assert!(once <= all + 1e-12);
    }
    assert_eq!(wanted_codes(&train, &targets).shape(), (targets.codes.nrows(), 24));
}

#[test]
fn learns_restores_and_copes_with_little_data() {
    for threshold in [false, true] {
        let dadl = Dadl { threshold, ..Default::default() };
        for train in [synth::blobs(3, 10, 8, 4), synth::blobs(3, 4, 50, 5), synth::blobs(2, 2, 3, 6)] {
            let mut trace = Trace::default();
            let model = dadl.fit(&train, &mut trace).unwrap();
            assert_eq!(trace.warnings.len(), usize::from(train.n_samples() <= 7));
            let right = model.predict(train.x()).unwrap().iter().zip(train.targets()).filter(|(p, y)| *p == y).count();
            assert!(right * 100 >= 95 * train.n_samples());
            let again = dadl.restore(model.parts()).unwrap();
            assert!(again.scores(train.x()).unwrap() == model.scores(train.x()).unwrap());
        }
    }
}
