use super::*;
use crate::coding::sparse::golden;
use crate::linalg::{column_energies, gram, mul, normalize_columns};
use crate::testing::noise;
use faer::{Mat, mat};

fn energies(x: MatRef<'_, f64>) -> Vec<f64> {
    column_energies(x)
}

fn code(d: MatRef<'_, f64>, x: MatRef<'_, f64>, task: LassoTask, tolerance: f64) -> LassoCodes {
    let limits = LassoLimits { tolerance, ..Default::default() };
    lasso(gram(d).as_ref(), mul(d.transpose(), x).as_ref(), &energies(x), task, limits)
}

fn problem(m: usize, n_atoms: usize, n: usize, common: f64) -> (Mat<f64>, Mat<f64>) {
    let mut d = Mat::from_fn(m, n_atoms, |i, j| noise(i, j) + common * noise(i, 333));
    normalize_columns(d.as_mut());
    let mut x = Mat::from_fn(m, n, |i, j| noise(j + 5, i + 50) + common * noise(i, 333));
    normalize_columns(x.as_mut());
    (d, x)
}

/// Worked by hand.
#[test]
fn hand_checked_codes() {
    let d = mat![[1.0, 0.0, 0.6, 0.36], [0.0, 1.0, 0.8, 0.48], [0.0, 0.0, 0.0, 0.8]];
    let x = mat![[1.0], [2.0], [0.5]];
    for (penalty, expected, value) in [
        (0.1, mat![[0.0], [0.6111111111], [1.2736111111], [0.5625]], 0.2515277778),
        (0.5, mat![[0.0], [0.3888888889], [1.2013888889], [0.3125]], 1.1215277778),
    ] {
        let found = code(d.as_ref(), x.as_ref(), LassoTask::Penalized(penalty), 1e-13);
        let z = found.codes.to_dense();
        assert!((&z - expected).norm_max() < 1e-9 && found.gaps[0] < 1e-12);
        let objective = 0.5 * (&x - &d * &z).squared_norm_l2() + penalty * z.norm_l1();
        assert!((objective - value).abs() < 1e-9);
    }
}

#[test]
fn equals_scikit_learn() {
    let d = golden("dictionary");
    let x = golden("samples");
    for penalty in [0.2, 0.02, 0.001] {
        let found = code(d.as_ref(), x.as_ref(), LassoTask::Penalized(penalty), 1e-13).codes.to_dense();
        assert!((found - golden(&format!("lasso_{penalty}"))).norm_max() < 1e-5, "penalty {penalty}");
    }
}

#[test]
fn optimality_conditions_hold_and_gaps_are_true() {
    for (m, n_atoms, common) in [(30, 80, 0.0), (30, 80, 5.0), (40, 20, 1.0), (8, 100, 1.0)] {
        let (d, x) = problem(m, n_atoms, 40, common);
        let mut norms_before = vec![f64::INFINITY; 40];
        for penalty in [1e-4, 1e-3, 1e-2, 0.1, 0.5] {
            let found = code(d.as_ref(), x.as_ref(), LassoTask::Penalized(penalty), 1e-10);
            let z = found.codes.to_dense();
            let residual = &x - mul(&d, &z);
            let c = mul(d.transpose(), &residual);
            for i in 0..40 {
                let r2 = residual.col(i).squared_norm_l2();
                let l1 = z.col(i).norm_l1();
                let theta = (penalty / c.col(i).norm_max()).min(1.0);
                let nu = faer::Scale(theta) * residual.col(i);
                let dual = 0.5 * x.col(i).squared_norm_l2() - 0.5 * (x.col(i) - nu).squared_norm_l2();
                let gap = 0.5 * r2 + penalty * l1 - dual;
                assert!((gap - found.gaps[i]).abs() < 1e-12 && gap < 1e-9, "{m} {n_atoms} {penalty} {gap}");
                assert!((found.squared_residuals[i] - r2).abs() < 1e-12);
                assert!(c.col(i).norm_max() <= penalty + 1e-6);
                let (atoms, values) = found.codes.sample(i);
                assert!(atoms.iter().zip(values).all(|(&k, v)| (c[(k, i)] - penalty * v.signum()).abs() < 1e-5));
                assert!(l1 <= norms_before[i] + 1e-6, "|z|_1 falls as the penalty grows");
                norms_before[i] = l1;
            }
        }
    }
}

#[test]
fn orthonormal_atoms_are_soft_thresholded() {
    let x = mat![[0.1, -3.0], [-3.0, 0.05], [2.0, 0.3], [0.0, 0.0]];
    let found = code(Mat::<f64>::identity(4, 4).as_ref(), x.as_ref(), LassoTask::Penalized(0.2), 1e-12);
    let expected = Mat::from_fn(4, 2, |i, j| x[(i, j)].signum() * (x[(i, j)].abs() - 0.2).max(0.0));
    assert!((found.codes.to_dense() - expected).norm_max() < 1e-12);
}

#[test]
fn residual_within_epsilon_is_reached_exactly_or_reported() {
    let (d, x) = problem(20, 60, 30, 1.0);
    for epsilon in [0.9, 0.5, 0.1, 0.01] {
        let found = code(d.as_ref(), x.as_ref(), LassoTask::Within(epsilon), 1e-10);
        let residual = &x - mul(&d, found.codes.to_dense());
        for i in 0..30 {
            assert!((residual.col(i).norm_l2() - epsilon).abs() < 2e-6, "{epsilon}");
            let penalized = code(d.as_ref(), x.subcols(i, 1), LassoTask::Penalized(found.penalties[i]), 1e-10);
            let mine = found.codes.to_dense();
            let theirs = penalized.codes.to_dense();
            assert!((mine.col(i).norm_l1() - theirs.norm_l1()).abs() < 1e-4);
        }
    }
    assert_eq!(code(d.as_ref(), x.as_ref(), LassoTask::Within(2.0), 1e-10).codes.n_entries(), 0);
    let few = d.subcols(0, 5);
    let found = code(few, x.as_ref(), LassoTask::Within(1e-3), 1e-6);
    assert!(found.squared_residuals.iter().all(|r| r.sqrt() > 1e-2) && found.codes.to_dense().is_all_finite());
}

#[test]
fn identity_atoms_equal_their_explicit_form() {
    let (d, x) = problem(12, 20, 15, 1.0);
    let mut both = Mat::zeros(12, 32);
    both.subcols_mut(0, 20).copy_from(&d);
    (0..12).for_each(|i| both[(i, 20 + i)] = 1.0);
    let correlations = mul(both.transpose(), &x);
    let limits = LassoLimits { tolerance: 1e-12, ..Default::default() };
    for task in [LassoTask::Penalized(0.03), LassoTask::Within(0.2)] {
        let expected = code(both.as_ref(), x.as_ref(), task, 1e-12).codes.to_dense();
        let g = gram(&d);
        let found =
            lasso_with_identity(d.as_ref(), g.as_ref(), correlations.as_ref(), &energies(x.as_ref()), task, limits);
        assert!((found.codes.to_dense() - expected).norm_max() < 1e-6);
    }
}

#[test]
fn dependent_and_zero_atoms_do_no_harm() {
    let (half, x) = problem(10, 25, 20, 1.0);
    let mut d = Mat::zeros(10, 51);
    d.subcols_mut(0, 25).copy_from(&half);
    d.subcols_mut(25, 25).copy_from(-&half);
    for penalty in [1e-5, 1e-2] {
        let found = code(d.as_ref(), x.as_ref(), LassoTask::Penalized(penalty), 1e-6);
        assert!(found.codes.to_dense().is_all_finite() && found.gaps.iter().all(|&gap| gap <= 1e-6));
        let same = code(half.as_ref(), x.as_ref(), LassoTask::Penalized(penalty), 1e-6);
        let fit = |d: MatRef<'_, f64>, codes: &LassoCodes| mul(d, codes.codes.to_dense());
        assert!((fit(d.as_ref(), &found) - fit(half.as_ref(), &same)).norm_max() < 5e-3);
    }
    let zero = code(d.as_ref(), Mat::zeros(10, 1).as_ref(), LassoTask::Penalized(0.1), 1e-6);
    assert_eq!((zero.codes.n_entries(), zero.gaps[0]), (0, 0.0));
    assert_eq!(code(d.as_ref(), Mat::zeros(10, 1).as_ref(), LassoTask::Within(0.1), 1e-6).codes.n_entries(), 0);
}

#[test]
fn bits_do_not_depend_on_threads() {
    let (d, x) = problem(20, 60, 100, 1.0);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| code(d.as_ref(), x.as_ref(), LassoTask::Penalized(1e-3), 1e-6))
    };
    assert!(run(1) == run(2) && run(1) == run(3));
}
