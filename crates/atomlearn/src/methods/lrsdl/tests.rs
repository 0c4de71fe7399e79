use super::*;
use crate::linalg::{column_norms, normalize_columns, rank_above, svd};
use crate::methods::fddl::{Fddl, Scaling};
use crate::observe::Trace;
use crate::testing::{noise, unequal_classes};
use crate::{Classifier, synth};

/// Unequal classes and sub-dictionaries, two shared atoms.
fn problem() -> (Dataset, Iterate) {
    let data = unequal_classes();
    let mut d = Mat::from_fn(7, 9, noise);
    let mut d0 = Mat::from_fn(7, 2, |i, j| noise(i + 50, j));
    normalize_columns(d.as_mut());
    normalize_columns(d0.as_mut());
    let z = Mat::from_fn(11, 15, |i, j| noise(i + 20, j));
    (data, Iterate { d, d0, atoms: Blocks::from_sizes([2, 4, 3]), z, unsettled: 0 })
}

/// `J` from its definition, term by term, without the nuclear norm.
fn objective(data: &Dataset, held: &Iterate, (lambda1, lambda2): (f64, f64)) -> f64 {
    let samples = data.blocks();
    let (z, z0) = (held.class_codes(), held.shared_codes());
    let rest = data.x() - &held.d0 * z0;
    let (means, mean) = class_means(z, samples);
    let mut fidelity = 0.0;
    let mut within = 0.0;
    let mut between = 0.0;
    for (c, own) in samples.ranges().enumerate() {
        let x = rest.subcols(own.start, own.len());
        let zc = z.subcols(own.start, own.len());
        fidelity += (x - &held.d * zc).squared_norm_l2();
        for (j, range) in held.atoms.ranges().enumerate() {
            let part = held.d.subcols(range.start, range.len()) * zc.subrows(range.start, range.len());
            fidelity += if j == c { (x - part).squared_norm_l2() } else { part.squared_norm_l2() };
        }
        within += (0..own.len()).map(|i| (zc.col(i) - means.col(c)).squared_norm_l2()).sum::<f64>();
        between += own.len() as f64 * (0..z.nrows()).map(|k| (means[(k, c)] - mean[k]).powi(2)).sum::<f64>();
    }
    let shared_mean = crate::pca::mean(z0);
    let spread = Mat::from_fn(z0.nrows(), z0.ncols(), |k, i| z0[(k, i)] - shared_mean[k]).squared_norm_l2();
    let fisher = within - between + z.squared_norm_l2();
    0.5 * fidelity + lambda1 * held.z.norm_l1() + 0.5 * lambda2 * (fisher + spread)
}

fn with_weights(lambda1: f64, lambda2: f64) -> Lrsdl {
    Lrsdl { lambda1, lambda2, code_tol: 1e-9, code_iter: 5000, ..Lrsdl::default() }
}

#[test]
fn terms_equal_the_definition() {
    let (data, held) = problem();
    let terms = with_weights(0.1, 0.3).code_step(&data, &held).terms(&held.z);
    let sum: f64 = terms.iter().map(|term| term.1).sum();
    assert!((sum - objective(&data, &held, (0.1, 0.3))).abs() < 1e-12);
}

#[test]
fn gradients_equal_finite_differences() {
    let (data, held) = problem();
    let h = 1e-5;
    let difference = |change: &dyn Fn(&mut Iterate, f64)| {
        let moved = |by: f64| {
            let Iterate { d, d0, atoms, z, .. } = &held;
            let (d, d0, z) = (d.clone(), d0.clone(), z.clone());
            let mut moved = Iterate { d, d0, atoms: atoms.clone(), z, unsettled: 0 };
            change(&mut moved, by);
            objective(&data, &moved, (0.0, 0.3))
        };
        (moved(h) - moved(-h)) / (2.0 * h)
    };
    let mut gradient = Mat::zeros(11, 15);
    with_weights(0.0, 0.3).code_step(&data, &held).gradient(held.z.as_ref(), gradient.as_mut());
    for i in 0..15 {
        for k in 0..11 {
            assert!((difference(&|held, by| held.z[(k, i)] += by) - gradient[(k, i)]).abs() < 1e-8, "{k} {i}");
        }
    }
    // The shared atoms: 2 (D_0 F - E) with the E and F of step 4.
    let mut doubled = held.class_codes().to_owned();
    double_own_blocks(doubled.as_mut(), &held.atoms, data.blocks());
    let rest = data.x() - faer::Scale(0.5) * (&held.d * doubled);
    let gradient = faer::Scale(2.0) * ((&held.d0 * held.shared_codes() - rest) * held.shared_codes().transpose());
    for k in 0..2 {
        for i in 0..7 {
            assert!((difference(&|held, by| held.d0[(i, k)] += by) - gradient[(i, k)]).abs() < 1e-8);
        }
    }
}

#[test]
fn every_step_lowers_the_objective_of_the_definition() {
    for constraint in [Constraint::Ball, Constraint::Sphere] {
        let params = Lrsdl { constraint, lambda3: 0.05, ..with_weights(0.02, 0.1) };
        let (data, mut held) = problem();
        let value = |held: &Iterate| {
            objective(&data, held, (params.lambda1, params.lambda2)) + params.lambda3 * nuclear_norm(&held.d0).unwrap()
        };
        let mut before = value(&held);
        let mut check = |held: &Iterate, step: &str| {
            let now = value(held);
            assert!(now <= before + 1e-9, "{step}: {now} > {before}");
            before = now;
        };
        for _ in 0..5 {
            let codes = params.code_step(&data, &held);
            codes.solve(&mut held.z, params.code_iter, params.code_tol);
            check(&held, "codes");
            assert_eq!(held.drop_unused(), 0);
            assert_eq!(params.class_atom_step(&data, &mut held), 0);
            check(&held, "class atoms");
            params.shared_atom_step(&data, &mut held).unwrap();
            check(&held, "shared atoms");
            assert!(column_norms(&held.d0).iter().all(|norm| *norm <= 1.0 + 1e-12));
        }
    }
}

#[test]
fn without_shared_atoms_it_is_fddl_to_the_bit() {
    for train in [synth::blobs(4, 12, 20, 3), synth::blobs(3, 6, 40, 5)] {
        for constraint in [Constraint::Sphere, Constraint::Ball] {
            let params =
                Lrsdl { shared_atoms: Some(0), constraint, atoms_per_class: Some(4), max_iter: 5, ..Lrsdl::default() };
            let same = Fddl {
                scaling: Scaling::Dictol,
                constraint,
                lambda1: params.lambda1,
                lambda2: params.lambda2,
                gamma: params.gamma,
                gamma1: params.gamma,
                gamma2: 0.0,
                w: params.w,
                atoms_per_class: Some(4),
                max_iter: 5,
                ..Fddl::default()
            };
            let mut traces = [Trace::default(), Trace::default()];
            let ours = params.fit(&train, &mut traces[0]).unwrap();
            let fddl = same.fit(&train, &mut traces[1]).unwrap();
            assert!(ours.parts().get("dictionary") == fddl.parts().get("dictionary"));
            assert!(ours.parts().get("means") == fddl.parts().get("means"));
            let objectives = |trace: &Trace| trace.steps.iter().map(|step| step.objective).collect::<Vec<_>>();
            assert_eq!(objectives(&traces[0]), objectives(&traces[1]));
            assert!(ours.scores(train.x()).unwrap() == fddl.scores(train.x()).unwrap());
            let local = |model: &dyn Classifier| model.scores_by_rule(train.x()).unwrap().swap_remove(1).1;
            // FDDL's has the whole square where LRSDL's has half of it.
            let difference = local(&fddl) - faer::Scale(2.0) * local(&ours);
            assert!(difference.norm_max() < 1e-8);
        }
    }
}

#[test]
fn rank_of_shared_atoms_falls_with_lambda3_and_unused_ones_leave() {
    let train = synth::blobs(4, 12, 20, 3);
    let ranks = [0.0, 0.1, 1.0, 1e3].map(|lambda3| {
        let params =
            Lrsdl { lambda3, shared_atoms: Some(4), atoms_per_class: Some(3), max_iter: 10, ..Lrsdl::default() };
        let parts = params.fit(&train, &mut ()).unwrap().parts();
        let shared = parts.get("shared").unwrap();
        if shared.ncols() == 0 { 0 } else { rank_above(&svd(shared, "t").unwrap().1, 1e-9) }
    });
    assert!(ranks.windows(2).all(|w| w[1] <= w[0]), "{ranks:?}");
    assert!(ranks[0] == 4 && ranks[3] == 0, "{ranks:?}");
    let mut trace = Trace::default();
    let params = Lrsdl { lambda3: 1e3, atoms_per_class: Some(3), ..Lrsdl::default() };
    let model = params.fit(&train, &mut trace).unwrap();
    assert_eq!(model.parts().get("shared").unwrap().ncols(), 0);
    assert!(trace.warnings[0].contains("0 shared ones left"), "{:?}", trace.warnings);
    assert_eq!(model.predict(train.x()).unwrap(), train.targets());
}

#[test]
fn learns_descends_and_comes_back_with_equal_bits() {
    let train = synth::blobs(4, 12, 20, 3);
    for (constraint, shared_atoms) in [(Constraint::Ball, 3), (Constraint::Sphere, 2), (Constraint::Ball, 0)] {
        let shared_atoms = Some(shared_atoms);
        let params = Lrsdl { constraint, shared_atoms, atoms_per_class: Some(4), code_tol: 1e-6, ..Lrsdl::default() };
        let mut trace = Trace::default();
        let model = params.fit(&train, &mut trace).unwrap();
        let values: Vec<f64> = trace.steps.iter().map(|step| step.objective.unwrap()).collect();
        assert!(values.windows(2).all(|w| w[1] <= w[0] + 1e-9), "{values:?}");
        for (rule, scores) in model.scores_by_rule(train.x()).unwrap() {
            assert_eq!(crate::classifier::best_class(&scores), train.targets(), "{rule}");
        }
        let again = params.restore(model.parts()).unwrap();
        assert_eq!(model.scores(train.x()).unwrap(), again.scores(train.x()).unwrap());
    }
}

/// The code of the global rule minimises what the head of `lrsdl.rs` says.
#[test]
fn codes_of_new_samples_are_optimal() {
    let train = synth::blobs(3, 10, 8, 4);
    let params =
        Lrsdl { gamma: 0.02, gamma0: 0.3, shared_atoms: Some(2), atoms_per_class: Some(3), ..Lrsdl::default() };
    let model = params.fit(&train, &mut ()).unwrap();
    let parts = model.parts();
    let all = concat_columns(&[parts.get("dictionary").unwrap().to_owned(), parts.get("shared").unwrap().to_owned()]);
    let mean = parts.get("shared_mean").unwrap();
    let z = model.codes_block(train.x()).unwrap();
    let mut gradient = all.transpose() * (&all * &z - train.x());
    for i in 0..30 {
        (0..2).for_each(|k| gradient[(9 + k, i)] += 0.3 * (z[(9 + k, i)] - mean[(k, 0)]));
        for k in 0..11 {
            let (z, g) = (z[(k, i)], gradient[(k, i)]);
            assert!(if z == 0.0 { g.abs() <= 0.02 + 1e-4 } else { (g + 0.02 * z.signum()).abs() < 1e-4 });
        }
    }
}
