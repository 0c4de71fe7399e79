use super::*;
use crate::linalg::{column_norms, normalize_columns};
use crate::observe::Trace;
use crate::testing::{noise, unequal_classes};
use crate::update::block_descent::descend;
use crate::update::lasso_dictionary::codes as lasso_codes;
use crate::{Classifier, synth};

/// Unequal classes and sub-dictionaries, some atoms shared.
fn problem(shared: usize) -> (Dataset, HybridAtoms, Mat<f64>) {
    let data = unequal_classes();
    let mut d = Mat::from_fn(7, 9 + shared, noise);
    normalize_columns(d.as_mut());
    let z = Mat::from_fn(9 + shared, 15, |i, j| noise(i + 20, j));
    (data, HybridAtoms { d, classes: Blocks::from_sizes([2, 4, 3]), shared }, z)
}

/// `J` from its definition.
fn objective(params: &Copar, data: &Dataset, atoms: &HybridAtoms, z: &Mat<f64>) -> f64 {
    let blocks = atoms.all_blocks();
    let part = |j: usize| atoms.d.subcols(blocks.range(j).start, blocks.size(j));
    let codes = |j: usize, c: usize| {
        let own = data.blocks().range(c);
        z.submatrix(blocks.range(j).start, own.start, blocks.size(j), own.len())
    };
    let mut value = 0.5 * params.lambda * z.norm_l1();
    for c in 0..3 {
        let mut all = data.class(c).to_owned();
        (0..4).for_each(|j| all -= part(j) * codes(j, c));
        let own = data.class(c) - part(c) * codes(c, c) - part(3) * codes(3, c);
        value += 0.5 * (all.squared_norm_l2() + own.squared_norm_l2());
        value += (0..3).filter(|&j| j != c).map(|j| 0.5 * codes(j, c).squared_norm_l2()).sum::<f64>();
    }
    for i in 0..4 {
        for j in (0..4).filter(|&j| j != i) {
            value += 0.25 * params.eta * (part(i).transpose() * part(j)).squared_norm_l2();
        }
    }
    value
}

#[test]
fn terms_equal_the_definition() {
    for shared in [0, 2] {
        let (data, atoms, z) = problem(shared);
        let params = Copar { lambda: 0.2, eta: 0.3, ..Copar::default() };
        let sum: f64 = params.terms(&data, &atoms, &z).iter().map(|term| term.1).sum();
        assert!((sum - objective(&params, &data, &atoms, &z)).abs() < 1e-12);
    }
}

#[test]
fn gradients_of_the_codes_equal_finite_differences_and_vanish_at_the_solution() {
    let lambda = 0.1;
    let smooth = Copar { lambda: 1e-300, eta: 0.0, ..Copar::default() };
    for shared in [0, 2] {
        let (data, atoms, z) = problem(shared);
        let step = CodeStep::new(&atoms, 0.5 * lambda);
        let gradient = |z: &Mat<f64>| {
            let of_class = |c: usize| {
                let own = data.blocks().range(c);
                step.quadratic(c) * z.subcols(own.start, own.len()) - step.linear(&data, c)
            };
            concat_columns(&(0..3).map(of_class).collect::<Vec<_>>())
        };
        let found = gradient(&z);
        let h = 1e-5;
        for i in 0..z.ncols() {
            for k in 0..z.nrows() {
                let moved = |by: f64| {
                    let mut z = z.clone();
                    z[(k, i)] += by;
                    objective(&smooth, &data, &atoms, &z)
                };
                assert!(((moved(h) - moved(-h)) / (2.0 * h) - found[(k, i)]).abs() < 1e-8);
            }
        }
        let codes = step.solve(&data);
        let left = gradient(&codes);
        for i in 0..z.ncols() {
            for k in 0..z.nrows() {
                let (z, g) = (codes[(k, i)], left[(k, i)]);
                let right = if z == 0.0 { g.abs() <= 0.05 + 1e-4 } else { (g + 0.05 * z.signum()).abs() < 1e-4 };
                assert!(right, "{z} {g}");
            }
        }
    }
}

#[test]
fn both_steps_lower_the_objective() {
    for shared in [0, 2] {
        let (data, mut atoms, _) = problem(shared);
        let params = Copar { lambda: 0.02, eta: 0.1, ..Copar::default() };
        let mut before = f64::INFINITY;
        for _ in 0..6 {
            let z = CodeStep::new(&atoms, 0.5 * params.lambda).solve(&data);
            let coded = objective(&params, &data, &atoms, &z);
            assert!(coded <= before + 1e-8, "{coded} > {before}");
            params.dictionary_step(&data, &mut atoms, &z).unwrap();
            before = objective(&params, &data, &atoms, &z);
            assert!(before <= coded * (1.0 + 1e-12), "{before} > {coded}");
            assert!(column_norms(&atoms.d).iter().all(|norm| *norm <= 1.0 + 1e-12));
        }
    }
}

/// One class without shared atoms: `|X - D Z|^2 + lambda / 2 |Z|_1`, twice `1/2 |X - D Z|^2 + lambda / 4 |Z|_1`.
#[test]
fn orthogonal_classes_without_shared_atoms_are_dictionary_learning_with_doubled_fit() {
    // Each class has features of its own, so that nothing ties the classes.
    let blobs = synth::blobs(2, 12, 6, 2);
    let x = Mat::from_fn(12, 24, |i, j| if i / 6 == j / 12 { blobs.x()[(i % 6, j)] } else { 0.0 });
    let labels: Vec<String> = (0..24).map(|j| (j / 12).to_string()).collect();
    let all = Dataset::new(&x, &labels).unwrap();
    // Orthogonal classes are incoherent anyway; a penalty would only add the tolerance of its iteration.
    let params = Copar { lambda: 0.04, eta: 0.0, shared_atoms: Some(0), ..Copar::default() };
    let (start, classes) = class_start(&all, Some(4), &mut ()).unwrap();
    let mut atoms = HybridAtoms { d: start.clone(), classes, shared: 0 };
    let mut apart = [0, 1].map(|c| start.subcols(4 * c, 4).to_owned());
    for _ in 0..5 {
        let z = CodeStep::new(&atoms, 0.5 * params.lambda).solve(&all);
        params.dictionary_step(&all, &mut atoms, &z).unwrap();
        for (c, d) in apart.iter_mut().enumerate() {
            let z = lasso_codes(all.class(c), d.as_ref(), 0.01);
            descend(mul(all.class(c), z.transpose()), outer_gram(&z), d, 1000, 1e-10);
        }
    }
    for (c, d) in apart.iter().enumerate() {
        let difference = (atoms.d.subcols(4 * c, 4) - d).norm_max();
        assert!(difference < 1e-3, "class {c}: {difference:e}");
    }
}

#[test]
fn learns_and_comes_back_with_equal_bits() {
    let train = synth::blobs(4, 12, 20, 3);
    for shared_atoms in [Some(0), Some(3), None] {
        let params = Copar { shared_atoms, atoms_per_class: Some(4), ..Copar::default() };
        let mut trace = Trace::default();
        let model = params.fit(&train, &mut trace).unwrap();
        let values: Vec<f64> = trace.steps.iter().map(|step| step.objective.unwrap()).collect();
        assert!(values.windows(2).all(|w| w[1] <= w[0] + 1e-8), "{values:?}");
        for (rule, scores) in model.scores_by_rule(train.x()).unwrap() {
            assert_eq!(crate::classifier::best_class(&scores), train.targets(), "{rule}");
        }
        let again = params.restore(model.parts()).unwrap();
        assert_eq!(model.scores(train.x()).unwrap(), again.scores(train.x()).unwrap());
    }
}

#[test]
fn more_features_than_samples_changes_nothing() {
    let train = synth::blobs(3, 6, 12, 5);
    let wide = train.with_features(Mat::from_fn(40, 18, |i, j| if i < 12 { train.x()[(i, j)] } else { 0.0 })).unwrap();
    let params = Copar { atoms_per_class: Some(3), shared_atoms: Some(2), max_iter: 4, ..Copar::default() };
    let scores = params.fit(&train, &mut ()).unwrap().scores(train.x()).unwrap();
    let reduced = params.fit(&wide, &mut ()).unwrap().scores(wide.x()).unwrap();
    assert!((scores - reduced).norm_max() < 1e-5);
}
