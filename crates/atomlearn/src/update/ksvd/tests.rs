use super::*;
use crate::linalg::{column_norms, select_columns};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Noise of full rank, in -0.5..0.5.
fn noise(i: usize, j: usize) -> f64 {
    (((i + 3) * 7919 + (j + 5) * 104_729 + i * j * 31 + (i ^ j) * 17) % 1009) as f64 / 1009.0 - 0.5
}

fn samples(m: usize, n: usize) -> Mat<f64> {
    let mut x = Mat::from_fn(m, n, |i, j| noise(i + 3, j) + if i % 3 == j % 3 { 0.6 } else { 0.0 });
    normalize_columns(x.as_mut());
    x
}

fn start(signals: &Signals<'_>, n_atoms: usize) -> Mat<f64> {
    Mat::from_fn(signals.dim(), n_atoms, |i, k| signals.signal(2 * k)[i])
}

fn error(ksvd: &KsvdIteration<'_>) -> f64 {
    ksvd.signals.residual(&ksvd.atoms, &ksvd.codes).squared_norm_l2()
}

#[test]
fn every_atom_lowers_the_error_and_keeps_norm_and_support() {
    let x = samples(12, 60);
    let targets = (0..60).map(|i| i % 3).collect::<Vec<_>>();
    let labels = Some(WeightedLabels { targets: &targets, weights: &[0.5, 1.0, 2.0] });
    for signals in [Signals::plain(x.as_ref()), Signals { x: x.as_ref(), labels }] {
        let mut errors = Vec::new();
        for update in [AtomUpdate::Approximate, AtomUpdate::Exact] {
            let mut ksvd = KsvdIteration::new(signals, start(&signals, 15), 4, update);
            ksvd.code();
            let supports: Vec<Vec<usize>> = (0..60).map(|i| ksvd.codes.sample(i).0.to_vec()).collect();
            let mut residual = signals.residual(&ksvd.atoms, &ksvd.codes);
            let mut before = error(&ksvd);
            for (k, uses) in uses_by_atom(&ksvd.codes).iter().enumerate() {
                ksvd.update_atom(k, uses, &mut residual).unwrap();
                let after = error(&ksvd);
                assert!(after <= before + 1e-12, "atom {k}: {after} > {before}");
                assert!((residual.squared_norm_l2() - after).abs() < 1e-10, "the residual is kept up to date");
                if k == 0 {
                    errors.push(after);
                }
                before = after;
            }
            assert!(column_norms(ksvd.atoms()).iter().all(|n| (n - 1.0).abs() < 1e-12));
            assert!((0..60).all(|i| ksvd.codes.sample(i).0 == supports[i]));
        }
        assert!(errors[1] <= errors[0] + 1e-12, "from the same state, exact is at least as good");
    }
}

/// The same algorithm on signals that really are stacked, with every product formed in full.
fn stacked_ksvd(s: &Mat<f64>, mut d: Mat<f64>, sparsity: usize, iterations: usize) -> (Mat<f64>, Mat<f64>) {
    normalize_columns(d.as_mut());
    let mut z = Mat::zeros(d.ncols(), s.ncols());
    for _ in 0..iterations {
        let limits = OmpLimits { sparsity, error: None };
        z = omp(gram(&d).as_ref(), mul(d.transpose(), s).as_ref(), limits).to_dense();
        for k in 0..d.ncols() {
            let i: Vec<usize> = (0..s.ncols()).filter(|&i| z[(k, i)] != 0.0).collect();
            if i.is_empty() {
                continue;
            }
            let g = Mat::from_fn(1, i.len(), |_, j| z[(k, i[j])]);
            let fitted = mul(&d, select_columns(&z, &i));
            let e = select_columns(s, &i) - fitted + mul(d.subcols(k, 1), &g);
            let mut new = mul(&e, g.transpose());
            normalize_columns(new.as_mut());
            let coefficients = mul(new.transpose(), &e);
            d.col_mut(k).copy_from(new.col(0));
            (0..i.len()).for_each(|j| z[(k, i[j])] = coefficients[(0, j)]);
        }
    }
    (d, z)
}

/// Labels of weight `sqrt(alpha K_c + beta)` stand for the K + C label rows of LC-KSVD: `sqrt(alpha) Q` and
/// `sqrt(beta) H` have orthogonal columns by class, and atoms never leave their span.
#[test]
fn equals_the_explicitly_stacked_form() {
    let m = 9;
    let n = 48;
    let counts = [2usize, 3, 4];
    let x = samples(m, n);
    let targets = (0..n).map(|i| i % 3).collect::<Vec<_>>();
    let atom_class: Vec<usize> = counts.iter().enumerate().flat_map(|(c, &size)| vec![c; size]).collect();
    for (alpha, beta) in [(0.3, 0.7), (16.0, 4.0), (0.0, 0.5), (0.2, 0.0)] {
        let weights: Vec<f64> = counts.iter().map(|&size| (alpha * size as f64 + beta).sqrt()).collect();
        let w0 = Mat::from_fn(3, 9, |c, k| noise(c + 20, k) + if atom_class[k] == c { 1.0 } else { 0.0 });
        let d0 = select_columns(&x, &[0, 3, 1, 4, 7, 2, 5, 8, 11]);
        let expand = |label: &dyn Fn(usize, usize) -> f64, top: &Mat<f64>| {
            Mat::from_fn(m + 9 + 3, top.ncols(), |i, j| match i {
                i if i < m => top[(i, j)],
                i if i < m + 9 => f64::sqrt(alpha) * label(atom_class[i - m], j),
                i => f64::sqrt(beta) * label(i - m - 9, j),
            })
        };
        let onehot = |c: usize, i: usize| f64::from(u8::from(targets[i] == c));
        let (d, z) = stacked_ksvd(&expand(&onehot, &x), expand(&|c, k| w0[(c, k)], &d0), 3, 4);
        let signals = Signals { x: x.as_ref(), labels: Some(WeightedLabels { targets: &targets, weights: &weights }) };
        let atoms = Mat::from_fn(m + 3, 9, |i, k| if i < m { d0[(i, k)] } else { weights[i - m] * w0[(i - m, k)] });
        let mut ksvd = KsvdIteration::new(signals, atoms, 3, AtomUpdate::Approximate);
        for _ in 0..4 {
            ksvd.fit().unwrap();
        }
        let found = ksvd.atoms();
        let lifted = expand(&|c, k| found[(m + c, k)] / weights[c], &found.subrows(0, m).to_owned());
        assert!((lifted - &d).norm_max() < 1e-9, "alpha {alpha}, beta {beta}");
        assert!((ksvd.codes().to_dense() - &z).norm_max() < 1e-9);
    }
}

#[test]
fn vanishing_labels_leave_plain_ksvd() {
    let x = samples(10, 40);
    let targets = (0..40).map(|i| i % 2).collect::<Vec<_>>();
    let labeled = Signals { x: x.as_ref(), labels: Some(WeightedLabels { targets: &targets, weights: &[1e-9, 1e-9] }) };
    let run = |signals: Signals<'_>| {
        let mut ksvd = KsvdIteration::new(signals, start(&signals, 12), 3, AtomUpdate::Approximate);
        (0..5).for_each(|_| {
            ksvd.iterate().unwrap();
        });
        ksvd.atoms().subrows(0, 10).to_owned()
    };
    assert!((run(labeled) - run(Signals::plain(x.as_ref()))).norm_max() < 1e-6);
}

#[test]
fn permuting_classes_permutes_label_rows() {
    let x = samples(10, 45);
    let targets = (0..45).map(|i| i % 3).collect::<Vec<_>>();
    let renamed: Vec<usize> = targets.iter().map(|&c| (c + 1) % 3).collect();
    let run = |targets: &[usize]| {
        let signals = Signals { x: x.as_ref(), labels: Some(WeightedLabels { targets, weights: &[1.0; 3] }) };
        let mut ksvd = KsvdIteration::new(signals, start(&signals, 12), 3, AtomUpdate::Approximate);
        (0..4).for_each(|_| {
            ksvd.iterate().unwrap();
        });
        ksvd.atoms().to_owned()
    };
    let a = run(&targets);
    let b = run(&renamed);
    for i in 0..13 {
        let to = if i < 10 { i } else { 10 + (i - 10 + 1) % 3 };
        assert!((a.row(i) - b.row(to)).norm_max() < 1e-9);
    }
}

#[test]
fn cleaning_replaces_idle_and_twin_atoms_by_the_worst_signals() {
    let x = samples(10, 40);
    let signals = Signals::plain(x.as_ref());
    let mut atoms = start(&signals, 12);
    let twin = atoms.col(3).to_owned();
    atoms.col_mut(7).copy_from(&twin);
    let mut ksvd = KsvdIteration::new(signals, atoms, 3, AtomUpdate::Approximate);
    let errors = ksvd.iterate().unwrap();
    assert!(errors.samples.is_finite() && ksvd.gram[(3, 7)].abs() > EQUAL, "twins live until the next iteration");
    ksvd.clean();
    assert!(ksvd.gram[(3, 7)].abs() <= EQUAL);
    assert!((&ksvd.gram - gram(ksvd.atoms())).norm_max() < 1e-12);
    // Zero signals are coded by nothing and never become atoms.
    let zero = Mat::zeros(4, 6);
    let mut ksvd = KsvdIteration::new(Signals::plain(zero.as_ref()), samples(4, 3), 2, AtomUpdate::Exact);
    assert_eq!(ksvd.iterate().unwrap(), Errors { samples: 0.0, labels: 0.0 });
    ksvd.iterate().unwrap();
    assert!(ksvd.atoms.is_all_finite() && column_norms(ksvd.atoms()).iter().all(|n| (n - 1.0).abs() < 1e-12));
}

/// A dictionary that made the data is found again.
#[test]
fn planted_atoms_are_recovered() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut truth = Mat::from_fn(20, 50, |_, _| StandardNormal.sample(&mut rng));
    normalize_columns(truth.as_mut());
    let mut z = Mat::zeros(50, 1500);
    for i in 0..1500 {
        for _ in 0..3 {
            z[(rng.random_range(0..50), i)] = StandardNormal.sample(&mut rng);
        }
    }
    let x = mul(&truth, &z);
    let atoms = x.subcols(0, 50).to_owned();
    let mut ksvd = KsvdIteration::new(Signals::plain(x.as_ref()), atoms, 3, AtomUpdate::Approximate);
    for _ in 0..80 {
        ksvd.iterate().unwrap();
    }
    let matches = mul(truth.transpose(), ksvd.atoms());
    let found = (0..50).filter(|&k| matches.row(k).norm_max() > 0.99).count();
    assert!(found >= 40, "{found} of 50");
}

#[test]
fn bits_do_not_depend_on_threads() {
    let x = samples(30, 300);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let signals = Signals::plain(x.as_ref());
            let mut ksvd = KsvdIteration::new(signals, start(&signals, 60), 5, AtomUpdate::Approximate);
            (0..3).for_each(|_| {
                ksvd.iterate().unwrap();
            });
            ksvd.atoms
        })
    };
    assert!(run(1) == run(2));
}
