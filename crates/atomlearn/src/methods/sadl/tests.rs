use super::*;
use crate::methods::ridge::Ridge;
use crate::observe::Trace;
use crate::synth;

fn problem_and_start<'a>(sadl: &Sadl, train: &'a Dataset) -> (Problem<'a>, Iterate) {
    let problem = sadl.problem(train).unwrap();
    let state = sadl.start(&Span::of(train).unwrap(), &problem).1;
    (problem, state)
}

fn objective(sadl: &Sadl, problem: &Problem<'_>, state: &Iterate) -> f64 {
    sadl.terms(problem, state).iter().map(|term| term.1).sum()
}

#[test]
fn block_descent_never_rises() {
    let train = synth::blobs(3, 12, 8, 1);
    let sadl = Sadl { atoms_per_class: Some(5), rows_per_class: Some(2), ..Default::default() };
    let (problem, mut state) = problem_and_start(&sadl, &train);
    state.seen = sadl.analysed(&problem, &state.z);
    let mut held = objective(&sadl, &problem, &state);
    let mut falls = |state: &Iterate| {
        let now = objective(&sadl, &problem, state);
        assert!(now <= held * (1.0 + 1e-9), "{held} -> {now}");
        held = now;
    };
    for _ in 0..10 {
        sadl.descend_structure(&problem, &mut state).unwrap();
        falls(&state);
        sadl.descend_classifier(&problem, &mut state).unwrap();
        falls(&state);
        // Omega follows the codes at once: its ridge term is read off `Omega X = Z Pi X`.
        sadl.descend_codes(&problem, &mut state);
        state.seen = sadl.analysed(&problem, &state.z);
        falls(&state);
    }
}

#[test]
fn terms_are_their_definition_and_omega_is_codes_times_map() {
    let train = synth::blobs(3, 7, 6, 2);
    for normalize_rows in [false, true] {
        let sadl = Sadl { normalize_rows, ..Default::default() };
        let (problem, mut state) = problem_and_start(&sadl, &train);
        state.seen = sadl.analysed(&problem, &state.z);
        let omega = sadl.analysis(&problem, &state.z).unwrap();
        if !normalize_rows {
            assert!((&omega - mul(&state.z, &problem.map)).norm_max() < 1e-10);
        }
        assert!((mul(&omega, train.x()) - &state.seen).norm_max() < 1e-10);
        let qz = mul(&state.q, &state.z);
        let expected = 0.5 * (&state.z - &state.seen).squared_norm_l2()
            + sadl.lambda1 * state.z.norm_l1()
            + 0.5 * sadl.rho * (&problem.structure - &qz).squared_norm_l2()
            + 0.5 * sadl.rho * (&problem.labels - mul(&state.w, &qz)).squared_norm_l2()
            + 0.5 * sadl.delta * (state.q.squared_norm_l2() + state.w.squared_norm_l2())
            + 0.5 * sadl.lambda2 * omega.squared_norm_l2();
        assert!((objective(&sadl, &problem, &state) - expected).abs() < 1e-10 * expected);
    }
}

#[test]
fn multipliers_stay_rho_times_the_slacks_and_the_misfit_vanishes() {
    let train = synth::blobs(3, 15, 8, 3);
    for lambda1 in [1e-3, 0.1] {
        let sadl = Sadl { lambda1, ..Default::default() };
        let (problem, mut state) = problem_and_start(&sadl, &train);
        let mut duals = Duals::new(&problem, SAFETY);
        let mut misfit = f64::INFINITY;
        for _ in 0..sadl.max_iter {
            misfit = sadl.admm_step(&problem, &mut state, &mut duals);
            for k in 0..2 {
                let gap = &duals.multiplier[k] - Scale(sadl.rho) * &duals.slack[k];
                assert!(gap.norm_max() < 1e-9, "{}", gap.norm_max());
            }
            if misfit < sadl.tol {
                break;
            }
        }
        assert!(misfit < sadl.tol, "{misfit}");
        let zeros = state.z.col_iter().flat_map(|column| column.iter()).filter(|&&v| v == 0.0).count();
        assert!(zeros > 0 || lambda1 < 0.1, "exact zeros appear");
    }
}

#[test]
fn both_solvers_agree_with_ridge_as_far_as_the_bound_says() {
    let train = synth::blobs(4, 20, 12, 4);
    let ridge = Ridge { lambda: Some(3e-4) }.fit(&train, &mut ()).unwrap();
    let expected = ridge.scores(train.x()).unwrap();
    let classes = ridge.predict(train.x()).unwrap();
    for solver in [Solver::LinearizedAdmm, Solver::BlockDescent] {
        let sadl = Sadl { solver, ..Default::default() };
        let model = sadl.fit(&train, &mut ()).unwrap();
        let same = model.predict(train.x()).unwrap().iter().zip(&classes).filter(|(a, b)| a == b).count();
        assert!(same * 100 >= 98 * train.n_samples(), "{solver:?}: {same}");
        let problem = sadl.problem(&train).unwrap();
        assert!((model.scores(train.x()).unwrap() - &expected).norm_l2() < expected.norm_l2());
        let ridge_map = mul(&problem.labels, &problem.map);
        // |M - M_ridge| <= |L - W Q Z| |Pi|_2, with W Q Z recovered through Omega = Z Pi.
        let (problem, mut state) = problem_and_start(&sadl, &train);
        let mut duals = Duals::new(&problem, SAFETY);
        for _ in 0..20 {
            sadl.admm_step(&problem, &mut state, &mut duals);
        }
        let reached = mul(mul(&state.w, &state.q), &state.z);
        let folded = mul(&reached, &problem.map);
        let bound = frobenius(&problem.labels - &reached) * squared_norm(&problem.map).sqrt();
        assert!(frobenius(folded - ridge_map) <= bound * (1.0 + 1e-9));
    }
}

#[test]
fn order_of_samples_hardly_matters_and_wide_data_work() {
    let train = synth::blobs(3, 6, 40, 5);
    let order: Vec<usize> = (0..18).map(|i| (i * 5) % 18).collect();
    let labels: Vec<String> = order.iter().map(|&i| train.targets()[i].to_string()).collect();
    let moved = Dataset::new(crate::linalg::select_columns(train.x(), &order), &labels).unwrap();
    let a = Sadl::default().fit(&train, &mut ()).unwrap();
    let b = Sadl::default().fit(&moved, &mut ()).unwrap();
    assert_eq!(a.predict(train.x()).unwrap(), b.predict(train.x()).unwrap());
    assert!((&a.folded - &b.folded).norm_max() < 1e-6 * a.folded.norm_max());
}

#[test]
fn too_large_a_threshold_is_named() {
    let train = synth::blobs(2, 6, 5, 6);
    let message = Sadl { lambda1: 1e6, ..Default::default() }.fit(&train, &mut Trace::default()).err().unwrap();
    assert!(message.to_string().contains("lambda1"), "{message}");
}
