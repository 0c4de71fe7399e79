use super::codes::class_means;
use super::*;
use crate::Step;
use crate::linalg::{column_norms, sym_eig};
use crate::observe::Trace;
use crate::synth;
use crate::testing::{noise, unequal_classes};
use std::ops::ControlFlow;

/// A problem with unequal classes and sub-dictionaries: samples, dictionary, codes, atoms.
fn problem() -> (Dataset, Mat<f64>, Mat<f64>, Blocks) {
    let data = unequal_classes();
    let mut d = Mat::from_fn(7, 9, noise);
    crate::linalg::normalize_columns(d.as_mut());
    (data, d, Mat::from_fn(9, 15, |i, j| noise(i + 20, j)), Blocks::from_sizes([2, 4, 3]))
}

/// `J / 2` from its definition, term by term.
fn objective(data: &Dataset, d: &Mat<f64>, z: &Mat<f64>, atoms: &Blocks, (lambda1, lambda2): (f64, f64)) -> f64 {
    let (means, mean) = class_means(z, data.blocks());
    let mut fidelity = 0.0;
    let mut within = 0.0;
    let mut between = 0.0;
    for (c, own) in data.blocks().ranges().enumerate() {
        let x = data.class(c);
        let zc = z.subcols(own.start, own.len());
        fidelity += (x - d * zc).squared_norm_l2();
        for (j, range) in atoms.ranges().enumerate() {
            let part = d.subcols(range.start, range.len()) * zc.subrows(range.start, range.len());
            fidelity += if j == c { (x - part).squared_norm_l2() } else { part.squared_norm_l2() };
        }
        for i in 0..own.len() {
            within += (zc.col(i) - means.col(c)).squared_norm_l2();
        }
        between += own.len() as f64 * (0..z.nrows()).map(|k| (means[(k, c)] - mean[k]).powi(2)).sum::<f64>();
    }
    0.5 * fidelity + lambda1 * z.norm_l1() + 0.5 * lambda2 * (within - between + z.squared_norm_l2())
}

fn value(step: &CodeStep<'_>, z: &Mat<f64>) -> f64 {
    step.terms(z).iter().map(|term| term.1).sum()
}

#[test]
fn terms_equal_the_definition() {
    let (data, d, z, atoms) = problem();
    let step = CodeStep::new(data.x(), &d, (&atoms, data.blocks()), (0.1, 0.3));
    assert!((value(&step, &z) - objective(&data, &d, &z, &atoms, (0.1, 0.3))).abs() < 1e-12);
}

#[test]
fn gradients_equal_finite_differences() {
    let (data, d, z, atoms) = problem();
    let weights = (0.0, 0.3);
    let h = 1e-5;
    let step = CodeStep::new(data.x(), &d, (&atoms, data.blocks()), weights);
    let mut gradient = Mat::zeros(9, 15);
    step.gradient(z.as_ref(), gradient.as_mut());
    for i in 0..15 {
        for k in 0..9 {
            let moved = |by: f64| {
                let mut z = z.clone();
                z[(k, i)] += by;
                objective(&data, &d, &z, &atoms, weights)
            };
            assert!(((moved(h) - moved(-h)) / (2.0 * h) - gradient[(k, i)]).abs() < 1e-8);
        }
    }
    let system = AtomStep::new(data.x(), z.as_ref(), &atoms, data.blocks());
    let gradient = &d * &system.f - &system.e;
    for k in 0..9 {
        for i in 0..7 {
            let moved = |by: f64| {
                let mut d = d.clone();
                d[(i, k)] += by;
                objective(&data, &d, &z, &atoms, weights)
            };
            assert!(((moved(h) - moved(-h)) / (2.0 * h) - gradient[(i, k)]).abs() < 1e-8);
        }
    }
}

#[test]
fn the_fisher_matrix_has_eigenvalues_zero_one_two() {
    let blocks = Blocks::from_sizes([3, 1, 6]);
    let labels = blocks.labels();
    let t = Mat::from_fn(10, 10, |i, j| {
        let own = if labels[i] == labels[j] { 2.0 / blocks.size(labels[i]) as f64 } else { 0.0 };
        (if i == j { 2.0 } else { 0.0 }) - own + 0.1
    });
    let (values, _) = sym_eig(&t, "t").unwrap();
    let expected = [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0, 0.0, 0.0];
    assert!(values.iter().zip(expected).all(|(v, e)| (v - e).abs() < 1e-12), "{values:?}");
}

#[test]
fn the_code_step_descends_to_its_optimality_conditions() {
    let (data, d, z, atoms) = problem();
    let lambda1 = 0.05;
    let step = CodeStep::new(data.x(), &d, (&atoms, data.blocks()), (lambda1, 0.3));
    let mut before = value(&step, &z);
    let mut codes = z.clone();
    for _ in 0..5 {
        step.solve(&mut codes, 7, 0.0);
        let now = value(&step, &codes);
        assert!(now <= before);
        before = now;
    }
    step.solve(&mut codes, 5000, 1e-12);
    let mut zero_start = Mat::zeros(9, 15);
    step.solve(&mut zero_start, 5000, 1e-12);
    assert!((value(&step, &codes) - value(&step, &zero_start)).abs() < 1e-9, "convex: one minimum");
    let mut gradient = Mat::zeros(9, 15);
    step.gradient(codes.as_ref(), gradient.as_mut());
    for i in 0..15 {
        for k in 0..9 {
            let z = codes[(k, i)];
            let g = gradient[(k, i)];
            assert!(if z == 0.0 { g.abs() <= lambda1 + 1e-7 } else { (g + lambda1 * z.signum()).abs() < 1e-7 });
        }
    }
}

#[test]
fn the_objective_falls_with_every_atom() {
    let (data, d, z, atoms) = problem();
    let weights = (0.1, 0.3);
    let step = AtomStep::new(data.x(), z.as_ref(), &atoms, data.blocks());
    let mut swept = d.clone();
    assert!(step.sphere(&mut swept).is_empty());
    assert!(column_norms(&swept).iter().all(|n| (n - 1.0).abs() < 1e-12));
    let mut before = objective(&data, &d, &z, &atoms, weights);
    for k in 0..9 {
        // The first k + 1 atoms new, the others old: what the sweep passes through.
        let mixed = Mat::from_fn(7, 9, |i, j| if j <= k { swept[(i, j)] } else { d[(i, j)] });
        let now = objective(&data, &mixed, &z, &atoms, weights);
        assert!(now <= before + 1e-12);
        before = now;
    }
    let mut ball = d.clone();
    step.ball(&mut ball);
    assert!(column_norms(&ball).iter().all(|&n| n <= 1.0 + 1e-12));
    assert!(objective(&data, &ball, &z, &atoms, weights) <= before + 1e-9);
}

#[test]
fn dead_atoms_leave_but_no_class_loses_its_last() {
    let (data, d, mut z, atoms) = problem();
    for k in [0, 1, 3] {
        (0..15).for_each(|i| z[(k, i)] = 0.0);
    }
    let mut d = d;
    let mut left = atoms.clone();
    let dead = AtomStep::new(data.x(), z.as_ref(), &atoms, data.blocks()).sphere(&mut d);
    assert_eq!(dead, [0, 1, 3]);
    assert_eq!(atoms::remove(&dead, &mut d, &mut z, &mut left), 2);
    assert_eq!(left.sizes().collect::<Vec<_>>(), [1, 3, 3]);
    assert_eq!((d.ncols(), z.nrows()), (7, 7));
}

fn rebuilt(params: &Fddl, model: &FddlModel) -> FddlModel {
    params.restore(model.parts()).unwrap()
}

#[test]
fn learns_descends_and_comes_back_with_equal_bits() {
    let train = synth::blobs(4, 12, 20, 3);
    let test = synth::blobs(4, 12, 20, 3);
    for (constraint, scaling) in [(Constraint::Sphere, Scaling::Original), (Constraint::Ball, Scaling::Dictol)] {
        let params = Fddl { constraint, scaling, atoms_per_class: Some(4), code_tol: 1e-6, ..Fddl::default() };
        let mut trace = Trace::default();
        let model = params.fit(&train, &mut trace).unwrap();
        let values: Vec<f64> = trace.steps.iter().map(|step| step.objective.unwrap()).collect();
        assert!(values.windows(2).all(|w| w[1] <= w[0] + 1e-9), "{values:?}");
        for (rule, scores) in model.scores_by_rule(test.x()).unwrap() {
            let found = crate::classifier::best_class(&scores);
            assert_eq!(found, test.targets(), "{rule}");
            assert!(scores.is_all_finite());
        }
        let again = rebuilt(&params, &model);
        assert_eq!(model.scores(test.x()).unwrap(), again.scores(test.x()).unwrap());
    }
}

#[test]
fn scalings_differ_by_a_factor_of_two_only() {
    let train = synth::blobs(3, 8, 10, 5);
    let original = Fddl { atoms_per_class: Some(3), ..Fddl::default() };
    let lambda1 = original.lambda1 / 2.0;
    let gamma = original.gamma / 2.0;
    let gamma1 = original.gamma1 / 2.0;
    let dictol = Fddl { scaling: Scaling::Dictol, lambda1, gamma, gamma1, ..original.clone() };
    let scores = |params: &Fddl| params.fit(&train, &mut ()).unwrap().scores_by_rule(train.x()).unwrap();
    assert!(scores(&original) == scores(&dictol));
}

#[test]
fn more_features_than_samples_changes_nothing() {
    let train = synth::blobs(3, 6, 12, 5);
    let wide = train.with_features(Mat::from_fn(40, 18, |i, j| if i < 12 { train.x()[(i, j)] } else { 0.0 })).unwrap();
    let params = Fddl { atoms_per_class: Some(3), code_tol: 1e-9, code_iter: 3000, max_iter: 3, ..Fddl::default() };
    let scores = params.fit(&train, &mut ()).unwrap().scores(train.x()).unwrap();
    let reduced = params.fit(&wide, &mut ()).unwrap().scores(wide.x()).unwrap();
    assert!((scores - reduced).norm_max() < 1e-6);
}

#[test]
fn awkward_classes_and_interruption_still_give_a_model() {
    // One class with a single sample, one of duplicates, one with zeros only.
    let x = Mat::from_fn(5, 9, |i, j| match j {
        0 => (i + 1) as f64,
        1..4 => [1.0, -1.0, 0.5, 0.0, 2.0][i],
        4..6 => 0.0,
        _ => ((i * 7 + j * j * 3) % 11) as f64 - 4.0,
    });
    let labels = ["a", "b", "b", "b", "zero", "zero", "d", "d", "d"].map(String::from);
    let train = Dataset::new(&x, &labels).unwrap();
    let model = Fddl::default().fit(&train, &mut ()).unwrap();
    let found = model.predict(train.x()).unwrap();
    assert!(model.parts().iter().all(|(_, part)| part.is_all_finite()));
    assert!(!found.contains(&3) || model.blocks.size(3) > 0, "a class without atoms is never chosen");

    struct Stop;
    impl Observer for Stop {
        fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
            assert_eq!(step.iter, 1);
            assert!(step.model.unwrap()().is_ok());
            ControlFlow::Break(())
        }
    }
    assert!(Fddl::default().fit(&train, &mut Stop).is_ok());
}

#[test]
fn bits_do_not_depend_on_threads() {
    let train = synth::blobs(4, 40, 30, 3);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| Fddl::default().fit(&train, &mut ()).unwrap().scores(train.x()).unwrap())
    };
    assert!(run(1) == run(2) && run(1) == run(3));
}

/// The original cycles over classes, moving the codes of one while the others wait; the problem is convex, so solving
/// all classes at once must end at least as low.
#[test]
fn all_classes_at_once_end_as_low_as_one_after_the_other() {
    let (data, d, start, atoms) = problem();
    let weights = (0.02, 0.3);
    let step = CodeStep::new(data.x(), &d, (&atoms, data.blocks()), weights);
    let mut joint = start.clone();
    step.solve(&mut joint, 20_000, 1e-12);

    let mut cyclic = start;
    let rate = 1.0 / (2.0 * crate::linalg::top_eigenvalue(gram(&d)) + 2.0 * weights.1);
    let mut gradient = Mat::zeros(9, 15);
    for _ in 0..400 {
        for own in data.blocks().ranges() {
            for _ in 0..5 {
                step.gradient(cyclic.as_ref(), gradient.as_mut());
                for i in own.clone() {
                    for k in 0..9 {
                        let moved = cyclic[(k, i)] - rate * gradient[(k, i)];
                        cyclic[(k, i)] = moved.signum() * (moved.abs() - rate * weights.0).max(0.0);
                    }
                }
            }
        }
    }
    let joint = value(&step, &joint);
    let cyclic = value(&step, &cyclic);
    assert!(joint <= cyclic + 1e-6 && cyclic <= joint + 1e-3, "{joint} against {cyclic}");
}

/// One class and no Fisher term: `|X - D Z|^2 + lambda1 |Z|_1`, the lasso with half the weight.
#[test]
fn one_class_without_fisher_term_is_the_lasso() {
    let (data, d, _, _) = problem();
    let x = data.x();
    let atoms = Blocks::from_sizes([9]);
    let samples = Blocks::from_sizes([15]);
    let step = CodeStep::new(x, &d, (&atoms, &samples), (0.1, 0.0));
    let mut z = Mat::zeros(9, 15);
    step.solve(&mut z, 20_000, 1e-12);
    let correlations = mul(d.transpose(), x);
    let task = LassoTask::Penalized(0.05);
    let expected = lasso(gram(&d).as_ref(), correlations.as_ref(), &energies(x), task, TEST_LIMITS).codes;
    let reference = value(&step, &expected.to_dense());
    assert!((value(&step, &z) - reference).abs() < 1e-6 * reference, "{} against {reference}", value(&step, &z));
}
