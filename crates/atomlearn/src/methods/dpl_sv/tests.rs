use super::*;
use crate::linalg::{Spd, outer_gram};
use crate::observe::Trace;
use crate::svm::sign;
use crate::synth;
use faer::Scale;

fn params(lambda2: f64) -> DplSv {
    DplSv { lambda2, atoms_per_class: Some(5), tol: 0.0, ..Default::default() }
}

fn dpl_scores(p: &DplSv, train: &Dataset) -> Mat<f64> {
    p.dpl().fit(train, &mut ()).unwrap().scores(train.x()).unwrap()
}

#[test]
fn without_weight_it_is_dpl_to_the_bit() {
    for train in [synth::blobs(3, 12, 10, 1), synth::blobs(3, 5, 40, 2)] {
        for tol in [0.0, 1e-4] {
            let p = DplSv { rule: Rule::Residual, tol, ..params(0.0) };
            let mut ours = Trace::default();
            let mut theirs = Trace::default();
            let model = p.fit(&train, &mut ours).unwrap();
            let dpl = p.dpl().fit(&train, &mut theirs).unwrap();
            assert!(model.scores(train.x()).unwrap() == dpl.scores(train.x()).unwrap());
            assert!(model.parts().take("dictionary").unwrap() == dpl.parts().take("dictionary").unwrap());
            assert!(model.parts().take("analysis").unwrap() == dpl.parts().take("analysis").unwrap());
            let values = |trace: &Trace| trace.steps.iter().map(|step| step.objective).collect::<Vec<_>>();
            assert_eq!(values(&ours), values(&theirs));
        }
    }
}

/// The pull goes to nothing with its weight: the other way through the code, the same projections.
#[test]
fn a_tiny_weight_is_nearly_dpl() {
    let train = synth::blobs(3, 12, 10, 1);
    let p = DplSv { rule: Rule::Residual, ..params(1e-14) };
    let (a, b) = (p.fit(&train, &mut ()).unwrap().scores(train.x()).unwrap(), dpl_scores(&p, &train));
    assert!((&a - &b).norm_max() < 1e-7, "{}", (a - b).norm_max());
    let strong = DplSv { rule: Rule::Residual, ..params(1e-2) }.fit(&train, &mut ()).unwrap();
    assert!((strong.scores(train.x()).unwrap() - b).norm_max() > 1e-4, "a large weight must change something");
}

#[test]
fn projections_solve_their_normal_equations() {
    for (train, tau, lambda) in [
        (synth::blobs(3, 12, 10, 1), 0.05, 3e-3),
        (synth::blobs(3, 12, 10, 1), 0.05, 0.2),
        (synth::blobs(3, 6, 10, 4), 0.05, 0.0),
    ] {
        let p = DplSv { tau, lambda, ..params(1e-2) };
        let atoms = Blocks::from_sizes([4; 3]);
        let projections = Projections::new(&p, &train, &atoms).unwrap();
        let n = train.n_samples();
        let u = Mat::from_fn(4, 3, |k, c| ((k * 5 + c * 3) % 7) as f64 / 3.0 - 1.0);
        let wanted = Mat::from_fn(3, n, |c, i| ((c * 11 + i * 3) % 5) as f64 / 2.0 - 1.0);
        let m = train.n_features();
        for c in 0..3 {
            let x = train.class(c);
            let codes = Mat::from_fn(4, x.ncols(), |k, i| ((k * 3 + i) % 4) as f64 - 1.5);
            let omega = projections.minimizer(c, codes.as_ref(), u.as_ref(), &wanted).unwrap();
            let own = outer_gram(x);
            let all = outer_gram(train.x());
            let mut fixed = Scale(tau) * &own + Scale(lambda) * (&all - &own);
            (0..m).for_each(|i| fixed[(i, i)] += p.gamma);
            let a = p.strength();
            let gap = mul(&omega, fixed) + Scale(a) * mul(mul(outer_gram(&u), &omega), &all)
                - Scale(tau) * mul(&codes, x.transpose())
                - Scale(a) * mul(mul(&u, &wanted), train.x().transpose());
            assert!(gap.norm_max() < 1e-9, "{}", gap.norm_max());
        }
    }
}

/// `J` from its definition.
fn objective(p: &DplSv, train: &Dataset, pairs: &[Pair], omega: &[Mat<f64>], svm: &Svm) -> f64 {
    let mut sum = 0.0;
    let mut z = Mat::zeros(svm.weights.nrows(), train.n_samples());
    let mut first = 0;
    for (c, (pair, omega)) in pairs.iter().zip(omega).enumerate() {
        sum += (train.class(c) - mul(&pair.dictionary, &pair.codes)).squared_norm_l2();
        sum += p.tau * (mul(omega, train.class(c)) - &pair.codes).squared_norm_l2();
        sum += p.gamma * omega.squared_norm_l2();
        for d in (0..train.n_classes()).filter(|&d| d != c) {
            sum += p.lambda * mul(omega, train.class(d)).squared_norm_l2();
        }
        z.subrows_mut(first, omega.nrows()).copy_from(mul(omega, train.x()));
        first += omega.nrows();
    }
    let scores = svm.scores(&z);
    for (i, &target) in train.targets().iter().enumerate() {
        for c in 0..train.n_classes() {
            let slack = (1.0 - sign(target, c) * scores[(c, i)]).max(0.0);
            sum += 2.0 * p.lambda2 * p.theta * slack * slack;
        }
    }
    sum + 2.0 * p.lambda2 * svm.weights.squared_norm_l2()
}

#[test]
fn no_step_raises_the_objective() {
    for lambda2 in [1e-4, 1e-2, 1.0] {
        let train = synth::blobs(3, 12, 10, 1);
        let p = params(lambda2);
        let dpl = p.dpl();
        let atoms = Blocks::from_sizes([5; 3]);
        let targets = train.targets();
        let mut draws = ClassDraws::new(3, 10, 0);
        let mut pairs = dpl.start(&train, &dpl.maps(&train, &mut ()).unwrap(), &atoms, &mut draws).unwrap();
        let projections = Projections::new(&p, &train, &atoms).unwrap();
        let mut omega: Vec<Mat<f64>> = pairs.iter().map(|pair| pair.analysis().transpose().to_owned()).collect();
        let mut svm = Svm::zero(15, 3);
        let mut held = objective(&p, &train, &pairs, &omega, &svm);
        for round in 0..8 {
            let mut falls = |pairs: &[Pair], omega: &[Mat<f64>], svm: &Svm, step: &str| {
                let now = objective(&p, &train, pairs, omega, svm);
                assert!(now <= held * (1.0 + 1e-6), "{lambda2}, round {round}, {step}: {held} -> {now}");
                held = now;
            };
            let z = projected(&omega, &train);
            svm = svm::one_vs_rest(&z, &targets, 3, 1.0 / p.theta, Some(&svm)).unwrap();
            falls(&pairs, &omega, &svm, "SVMs");
            let codes: Vec<MatRef<'_, f64>> = pairs.iter().map(|pair| pair.codes.as_ref()).collect();
            projections.descend(&codes, &svm, &mut omega).unwrap();
            falls(&pairs, &omega, &svm, "projections");
            (0..3).for_each(|c| pairs[c].update_dictionary(train.class(c)).unwrap());
            falls(&pairs, &omega, &svm, "dictionaries");
            for c in 0..3 {
                let x = train.class(c);
                pairs[c].codes = dpl.code_step(&pairs[c].dictionary, x, mul(&omega[c], x)).unwrap();
            }
            falls(&pairs, &omega, &svm, "codes");
            let terms: f64 = p.terms(&train, &pairs, &omega).iter().map(|term| term.1).sum();
            let z = projected(&omega, &train);
            let (norms, losses) = svm.objective_terms(&svm.scores(&z), &targets);
            assert!((terms + 2.0 * lambda2 * norms + p.strength() * losses - held).abs() < 1e-9 * held);
        }
        // Repeated, the sweeps end where the gradient over all projections is zero; with much weight that takes long.
        if lambda2 > 0.1 {
            continue;
        }
        let codes: Vec<MatRef<'_, f64>> = pairs.iter().map(|pair| pair.codes.as_ref()).collect();
        (0..3000).for_each(|_| projections.descend(&codes, &svm, &mut omega).unwrap());
        let scores = svm.scores(projected(&omega, &train).as_ref());
        let pull = Mat::from_fn(3, train.n_samples(), |c, i| {
            let y = sign(targets[i], c);
            p.strength() * y * (1.0 - y * scores[(c, i)]).max(0.0)
        });
        for c in 0..3 {
            let own = outer_gram(train.class(c));
            let mut fixed = Scale(p.tau - p.lambda) * own + Scale(p.lambda) * outer_gram(train.x());
            (0..10).for_each(|i| fixed[(i, i)] += p.gamma);
            let u = svm.weights.subrows(5 * c, 5);
            let gradient = mul(&omega[c], fixed)
                - Scale(p.tau) * mul(&pairs[c].codes, train.class(c).transpose())
                - mul(mul(u, &pull), train.x().transpose());
            assert!(gradient.norm_max() < 1e-5, "{lambda2}: {}", gradient.norm_max());
        }
    }
}

#[test]
fn training_descends_and_both_rules_learn() {
    let train = synth::blobs(4, 20, 15, 3);
    for lambda2 in [0.0, 1e-4, 1e-2] {
        let mut trace = Trace::default();
        let model = DplSv { tol: 1e-4, atoms_per_class: Some(4), ..params(lambda2) }.fit(&train, &mut trace).unwrap();
        assert!(trace.steps.windows(2).all(|w| w[1].objective <= w[0].objective.map(|j| j * (1.0 + 1e-6))));
        for (rule, scores) in model.scores_by_rule(train.x()).unwrap() {
            let found = crate::classifier::best_class(&scores);
            let right = found.iter().zip(train.targets()).filter(|(p, y)| **p == *y).count();
            assert!(right * 100 >= 95 * train.n_samples(), "{lambda2} {rule}: {right}");
        }
    }
}

/// What one factorisation for all rows rests on: the spans of the samples hold the projections.
#[test]
fn more_features_than_samples_change_nothing_but_the_time() {
    let wide = synth::blobs(3, 6, 40, 5);
    let model = params(1e-3).fit(&wide, &mut ()).unwrap();
    let kernel = Spd::shifted(outer_gram(wide.x().transpose()), 1e-12, "t").unwrap();
    let inside = mul(wide.x(), kernel.solve(mul(wide.x().transpose(), model.pairs.analysis())));
    assert!((inside - model.pairs.analysis()).norm_max() < 1e-8 * model.pairs.analysis().norm_max());
}
