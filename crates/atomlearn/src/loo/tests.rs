//! Every closed form against training again without the sample, or the group.

use super::*;
use crate::Blocks;
use crate::kernel::squared_distances;
use crate::linalg::{Spd, View, column_energies, gram, mul, outer_gram, select_columns};
use faer::MatRef;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use std::sync::Arc;

const KAPPAS: [f64; 4] = [1e-3, 1e-1, 1.0, 30.0];

/// Samples of classes of the given sizes around random means.
fn problem(sizes: &[usize], n_features: usize, seed: u64) -> (Mat<f64>, Blocks) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = move || -> f64 { StandardNormal.sample(&mut rng) };
    let blocks = Blocks::from_sizes(sizes.iter().copied());
    let means = Mat::from_fn(n_features, sizes.len(), |_, _| 1.5 * normal());
    let labels = blocks.labels();
    // Samples of length about one, as all views make them: ridges are small or large against that.
    let scale = 1.0 / (3.25 * n_features as f64).sqrt();
    (Mat::from_fn(n_features, labels.len(), |i, j| scale * (means[(i, labels[j])] + normal())), blocks)
}

/// Unbalanced classes down to two samples; more samples than features, and fewer.
fn problems() -> Vec<(Mat<f64>, Blocks)> {
    let shapes: [(&[usize], usize); 5] =
        [(&[10, 9, 12, 2], 9), (&[7, 2, 5], 40), (&[2, 2], 3), (&[30, 4], 6), (&[3, 2, 2, 2, 4], 5)];
    shapes.iter().enumerate().map(|(seed, (sizes, m))| problem(sizes, *m, seed as u64)).collect()
}

fn linear(x: impl View) -> Mat<f64> {
    gram(x)
}

fn rbf(x: impl View) -> Mat<f64> {
    let mut distances = squared_distances(x.view(), x.view());
    distances.as_mut().col_iter_mut().for_each(|column| column.iter_mut().for_each(|v| *v = (-1.5 * *v).exp()));
    distances
}

/// All samples but some, and their classes.
fn without(blocks: &Blocks, out: &[usize]) -> (Vec<usize>, Blocks) {
    let kept: Vec<usize> = (0..blocks.total()).filter(|j| !out.contains(j)).collect();
    let size = |c: usize| kept.iter().filter(|&&j| blocks.range(c).contains(&j)).count();
    let sizes: Vec<usize> = (0..blocks.len()).map(size).collect();
    (kept, Blocks::from_sizes(sizes))
}

fn part(a: &Mat<f64>, rows: &[usize], columns: &[usize]) -> Mat<f64> {
    Mat::from_fn(rows.len(), columns.len(), |i, j| a[(rows[i], columns[j])])
}

fn assert_near(found: MatRef<'_, f64>, expected: MatRef<'_, f64>, tolerance: f64, what: &str) {
    let error = (found - expected).norm_max();
    // Scores of samples whose class is gone without their group are zero, all of them where every class is a group.
    assert!(error <= tolerance * expected.norm_max(), "{what}: {error:.1e} of {:.1e}", expected.norm_max());
}

#[test]
fn leaving_one_out_equals_training_without_it() {
    for (x, blocks) in problems() {
        for (kernel, k) in [("linear", linear(&x)), ("rbf", rbf(&x))] {
            for kappa in KAPPAS {
                let whole = Coder::new(k.as_ref(), &blocks, kappa).unwrap();
                for reading in Reading::ALL {
                    let mut expected = Mat::zeros(blocks.len(), blocks.total());
                    for i in 0..blocks.total() {
                        let (kept, rest) = without(&blocks, &[i]);
                        let gram = part(&k, &kept, &kept);
                        let refit = Coder::new(gram.as_ref(), &rest, kappa).unwrap();
                        let scores = refit.scores(reading, part(&k, &kept, &[i]).as_ref(), &[k[(i, i)]]).unwrap();
                        expected.col_mut(i).copy_from(scores.col(0));
                    }
                    let found = whole.leave_one_out(reading).unwrap();
                    let what = format!("{} {kernel} {kappa} {:?}", reading.name(), x.shape());
                    assert_near(found.as_ref(), expected.as_ref(), 1e-8, &what);
                }
            }
        }
    }
}

#[test]
fn the_primal_form_equals_the_dual_one() {
    for (x, blocks) in problems() {
        let k = linear(&x);
        let moments = Arc::new(ClassMoments::of(x.as_ref(), &blocks, true));
        let (new, _) = problem(&[5, 4], x.nrows(), 99);
        let k_new = mul(x.transpose(), &new);
        let own = gram(&new);
        let own: Vec<f64> = (0..9).map(|i| own[(i, i)]).collect();
        // Smaller ridges than these leave little of 1 - h where features outnumber samples.
        for kappa in &KAPPAS[1..] {
            let dual = Coder::new(k.as_ref(), &blocks, *kappa).unwrap();
            let primal = PrimalCoder::new(moments.clone(), *kappa).unwrap();
            let without_scatters = Arc::new(ClassMoments::of(x.as_ref(), &blocks, false));
            let smaller = PrimalCoder::new(without_scatters, *kappa).unwrap();
            for reading in Reading::ALL {
                let what = format!("{} {kappa} {:?}", reading.name(), x.shape());
                let expected = dual.leave_one_out(reading).unwrap();
                let labels = blocks.labels();
                let found = primal.left_out(x.as_ref(), &labels).scores(reading).unwrap();
                assert_near(found.as_ref(), expected.as_ref(), 1e-8, &what);
                match smaller.left_out(x.as_ref(), &labels).scores(reading) {
                    Ok(found) => assert_near(found.as_ref(), expected.as_ref(), 1e-8, &what),
                    Err(_) => assert_eq!(reading, Reading::Residual),
                }
                let expected = dual.scores(reading, k_new.as_ref(), &own).unwrap();
                let found = match reading {
                    Reading::Residual => primal.residual_scores(new.as_ref()).unwrap(),
                    _ => primal.rule(reading).unwrap().scores(new.as_ref()),
                };
                // The rule of the discriminant leaves out what is common to all classes.
                assert_near(centered(found).as_ref(), centered(expected).as_ref(), 1e-8, &what);
            }
        }
    }
}

/// The linear kernel's inverse by way of the features, also where a sample has a feature of its own: then hardly anything is
/// left of `1 - h`, and the kernel matrix itself is inverted.
#[test]
fn codes_over_few_features_equal_those_over_samples() {
    for lonely in [false, true] {
        let (mut x, blocks) = problem(&[30, 14, 8], 12, 5);
        if lonely {
            (0..52).for_each(|j| x[(3, j)] = f64::from(u8::from(j == 40)));
        }
        let k = linear(&x);
        let scatter = outer_gram(&x);
        for kappa in [1e-7, 1e-3, 1.0, 30.0] {
            let expected = Coder::new(k.as_ref(), &blocks, kappa).unwrap();
            let found = Coder::of_features(k.as_ref(), x.as_ref(), scatter.as_ref(), &blocks, None, kappa).unwrap();
            for reading in Reading::ALL {
                let [found, expected] = [&found, &expected].map(|coder| coder.leave_one_out(reading).unwrap());
                assert_near(found.as_ref(), expected.as_ref(), 1e-8, &format!("{} {kappa} {lonely}", reading.name()));
            }
        }
    }
}

fn centered(mut scores: Mat<f64>) -> Mat<f64> {
    for i in 0..scores.ncols() {
        let column = scores.col_as_slice_mut(i);
        let mean = column.iter().sum::<f64>() / column.len() as f64;
        column.iter_mut().for_each(|v| *v -= mean);
    }
    scores
}

#[test]
fn readings_equal_their_definitions() {
    let (x, blocks) = problem(&[6, 4, 5], 7, 3);
    let (new, _) = problem(&[3], 7, 4);
    let n = 15;
    let kappa = 0.3;
    let k = linear(&x);
    let coder = Coder::new(k.as_ref(), &blocks, kappa).unwrap();
    let k_new = mul(x.transpose(), &new);
    let own: Vec<f64> = column_energies(&new);
    let targets = blocks.labels();
    let means = Mat::from_fn(7, 3, |i, c| blocks.range(c).map(|j| x[(i, j)]).sum::<f64>() / blocks.size(c) as f64);

    // The distance in the inverse of the scatter within classes.
    let centered = Mat::from_fn(7, n, |i, j| x[(i, j)] - means[(i, targets[j])]);
    let mut within = outer_gram(&centered);
    (0..7).for_each(|i| within[(i, i)] += kappa);
    let within = Spd::new(within, "t").unwrap();
    let found = coder.scores(Reading::Discriminant, k_new.as_ref(), &own).unwrap();
    for i in 0..3 {
        for c in 0..3 {
            let d = Mat::from_fn(7, 1, |r, _| new[(r, i)] - means[(r, c)]);
            let expected = -kappa * mul(d.transpose(), within.solve(&d))[(0, 0)];
            assert!((found[(c, i)] - expected).abs() < 1e-9 * (1.0 + expected.abs()));
        }
    }

    // Ridge regression with a free bias: centred samples and targets.
    let mean = Mat::from_fn(7, 1, |i, _| x.row(i).iter().sum::<f64>() / n as f64);
    let centered = Mat::from_fn(7, n, |i, j| x[(i, j)] - mean[(i, 0)]);
    let mut scatter = outer_gram(&centered);
    (0..7).for_each(|i| scatter[(i, i)] += kappa);
    let share = |c: usize| blocks.size(c) as f64 / n as f64;
    let onehot = Mat::from_fn(n, 3, |j, c| f64::from(u8::from(targets[j] == c)) - share(c));
    let weights = Spd::new(scatter, "t").unwrap().solve(mul(&centered, &onehot));
    let shifted = Mat::from_fn(7, 3, |r, i| new[(r, i)] - mean[(r, 0)]);
    let expected = mul(weights.transpose(), &shifted);
    let found = coder.scores(Reading::Ridge, k_new.as_ref(), &own).unwrap();
    assert!((0..9).all(|at| (found[(at % 3, at / 3)] - share(at % 3) - expected[(at % 3, at / 3)]).abs() < 1e-10));

    // The regularised residual of the code.
    let codes = mul(coder.inverse(), &k_new);
    let found = coder.scores(Reading::Residual, k_new.as_ref(), &own).unwrap();
    for (c, range) in blocks.ranges().enumerate() {
        let z = codes.subrows(range.start, range.len());
        let rebuilt = mul(x.subcols(range.start, range.len()), z);
        for i in 0..3 {
            let expected = -(new.col(i) - rebuilt.col(i)).norm_l2() / z.col(i).norm_l2();
            assert!((found[(c, i)] - expected).abs() < 1e-9 * expected.abs());
        }
    }
}

#[test]
fn leaving_groups_out_equals_training_without_them() {
    for (x, blocks) in problems() {
        let n = blocks.total();
        // Groups across classes, groups within classes, and every sample for itself.
        let across: Vec<usize> = (0..n).map(|i| i % (n / 2)).collect();
        let within: Vec<usize> =
            blocks.ranges().flat_map(|r| r.clone().map(move |i| r.start + (i - r.start) % 2)).collect();
        let alone: Vec<usize> = (0..n).collect();
        for (kernel, k) in [("linear", linear(&x)), ("rbf", rbf(&x))] {
            for groups in [&across, &within, &alone] {
                let coder = Coder::new(k.as_ref(), &blocks, 0.2).unwrap();
                for reading in Reading::ALL {
                    let found = coder.leave_groups_out(reading, groups).unwrap();
                    for i in 0..n {
                        let out: Vec<usize> = (0..n).filter(|&j| groups[j] == groups[i]).collect();
                        let (kept, rest) = without(&blocks, &out);
                        if rest.sizes().any(|size| size == 0) {
                            continue;
                        }
                        let gram = part(&k, &kept, &kept);
                        let refit = Coder::new(gram.as_ref(), &rest, 0.2).unwrap();
                        let scores = refit.scores(reading, part(&k, &kept, &[i]).as_ref(), &[k[(i, i)]]).unwrap();
                        let what = format!("{} {kernel} {i}", reading.name());
                        assert_near(found.as_ref().subcols(i, 1), scores.as_ref(), 1e-8, &what);
                    }
                }
            }
        }
    }
}

/// Without a group that holds all of a class, the others are told apart as if that class had never been.
#[test]
fn a_class_that_goes_with_its_group_leaves_the_others_in_peace() {
    let (x, blocks) = problem(&[5, 2, 6], 6, 5);
    let k = rbf(&x);
    let coder = Coder::new(k.as_ref(), &blocks, 0.2).unwrap();
    // Samples 5 and 6 are all of the second class; sample 0 goes with them.
    let mut groups: Vec<usize> = (10..23).collect();
    (groups[0], groups[5], groups[6]) = (1, 1, 1);
    let found = coder.leave_groups_out(Reading::Discriminant, &groups).unwrap();
    let kept: Vec<usize> = (1..13).filter(|j| ![5, 6].contains(j)).collect();
    let gram = part(&k, &kept, &kept);
    let rest = Blocks::from_sizes([4, 6]);
    let refit = Coder::new(gram.as_ref(), &rest, 0.2).unwrap();
    let expected = refit.scores(Reading::Discriminant, part(&k, &kept, &[0]).as_ref(), &[1.0]).unwrap();
    assert!((found[(0, 0)] - expected[(0, 0)]).abs() < 1e-9 && (found[(2, 0)] - expected[(1, 0)]).abs() < 1e-9);
    assert_eq!(found[(1, 0)], found[(0, 0)].min(found[(2, 0)]));
    assert!(found.col(5).iter().chain(found.col(6).iter()).all(|&v| v == 0.0));
    for reading in Reading::ALL {
        let all = coder.leave_groups_out(reading, &groups).unwrap();
        assert!(all.is_all_finite(), "{}", reading.name());
    }
    assert!(coder.leave_groups_out(Reading::Ridge, &[0; 13]).is_err());
    assert!(coder.leave_groups_out(Reading::Ridge, &[0; 3]).is_err());
}

#[test]
fn a_class_of_one_sample_stays_finite() {
    let (x, blocks) = problem(&[4, 1, 3], 5, 8);
    let k = linear(&x);
    let coder = Coder::new(k.as_ref(), &blocks, 1e-3).unwrap();
    for reading in Reading::ALL {
        assert!(coder.leave_one_out(reading).unwrap().is_all_finite(), "{}", reading.name());
    }
    assert!(coder.leave_one_out(Reading::Discriminant).unwrap().col(4).iter().all(|&v| v == 0.0));
}

#[test]
fn moments_do_not_depend_on_portions() {
    let (x, blocks) = problem(&[8, 5], 4, 2);
    let whole = ClassMoments::of(x.as_ref(), &blocks, true);
    let mut parts = ClassMoments::none(4, 2, false);
    for (class, columns) in [(1, vec![8, 9, 10, 11, 12]), (0, vec![0, 1, 2]), (0, vec![3, 4, 5, 6, 7])] {
        parts.add(class, select_columns(&x, &columns).as_ref());
    }
    parts.finish();
    assert!((&whole.scatter - outer_gram(&x)).norm_max() < 1e-12);
    assert!((&whole.scatter - &parts.scatter).norm_max() < 1e-12 && (&whole.sums - &parts.sums).norm_max() < 1e-12);
    assert_eq!(whole.counts, parts.counts);
    let coder = PrimalCoder::new(Arc::new(parts), 1.0).unwrap();
    assert!(coder.residual_scores(x.as_ref()).is_err());
}

/// A sample of weight `w` is `w` equal samples that are left out together.
#[test]
fn whole_weights_equal_repeated_samples_left_out_together() {
    for (x, blocks) in problems() {
        let weights: Vec<usize> = (0..blocks.total()).map(|i| 1 + (i * i) % 3).collect();
        let roots: Vec<f64> = weights.iter().map(|&w| (w as f64).sqrt()).collect();
        let repeated: Vec<usize> = (0..weights.len()).flat_map(|i| vec![i; weights[i]]).collect();
        let of_class = |range: std::ops::Range<usize>| weights[range].iter().sum();
        let longer = Blocks::from_sizes(blocks.ranges().map(of_class).collect::<Vec<usize>>());
        let first: Vec<usize> = (0..weights.len()).map(|i| weights[..i].iter().sum()).collect();
        // Whole groups of weighted samples too; none of them is all of a class.
        let thirds: Vec<usize> = (0..weights.len()).map(|i| i % 3).collect();
        let thirds_repeated: Vec<usize> = repeated.iter().map(|&i| thirds[i]).collect();
        for (kernel, k) in [("linear", linear(&x)), ("rbf", rbf(&x))] {
            let scaled = Mat::from_fn(k.nrows(), k.ncols(), |i, j| roots[i] * k[(i, j)] * roots[j]);
            let all = part(&k, &repeated, &repeated);
            for kappa in &KAPPAS[1..] {
                let twins = Coder::new(all.as_ref(), &longer, *kappa).unwrap();
                let found = Coder::weighted(scaled.as_ref(), &blocks, Some(&roots), *kappa).unwrap();
                for reading in Reading::ALL {
                    let what = format!("{} {kernel} {kappa} {:?}", reading.name(), x.shape());
                    let expected = select_columns(twins.leave_groups_out(reading, &repeated).unwrap(), &first);
                    let one = found.leave_one_out(reading).unwrap();
                    assert_near(one.as_ref(), expected.as_ref(), 1e-8, &what);
                    let expected = select_columns(twins.leave_groups_out(reading, &thirds_repeated).unwrap(), &first);
                    let groups = found.leave_groups_out(reading, &thirds).unwrap();
                    assert_near(groups.as_ref(), expected.as_ref(), 1e-8, &format!("groups {what}"));
                }
            }
        }
    }
}

#[test]
fn the_weighted_primal_form_equals_the_dual_one() {
    for (x, blocks) in problems() {
        let roots: Vec<f64> = (0..blocks.total()).map(|i| 0.3 + (i * 7 % 5) as f64).collect();
        let x = Mat::from_fn(x.nrows(), x.ncols(), |i, j| roots[j] * x[(i, j)]);
        let k = linear(&x);
        let labels = blocks.labels();
        let mut moments = ClassMoments::none(x.nrows(), blocks.len(), true);
        for (c, range) in blocks.ranges().enumerate() {
            moments.add_weighted(c, x.subcols(range.start, range.len()), Some(&roots[range]));
        }
        moments.finish();
        let primal = PrimalCoder::new(Arc::new(moments), 1.0).unwrap();
        let dual = Coder::weighted(k.as_ref(), &blocks, Some(&roots), 1.0).unwrap();
        for reading in Reading::ALL {
            let expected = dual.leave_one_out(reading).unwrap();
            let found = primal.weighted_left_out(x.as_ref(), &labels, Some(&roots)).scores(reading).unwrap();
            assert_near(found.as_ref(), expected.as_ref(), 1e-8, reading.name());
        }
    }
}

#[test]
fn folds_judge_samples_by_their_weights() {
    let train = crate::synth::blobs(3, 8, 4, 1).weighted_for_tests();
    let places: Vec<usize> = (0..24).filter(|i| i % 5 != 2).collect();
    let right = |i: usize| !i.is_multiple_of(3);
    let targets = train.targets();
    let says = |i: usize| if right(i) { targets[i] } else { (targets[i] + 1) % 3 };
    let scores = Mat::from_fn(3, places.len(), |c, j| f64::from(u8::from(c == says(places[j]))));
    let verdict = choice::Jury::of_folds(&train, places.clone()).unwrap().verdict(scores).unwrap();
    let weights = train.weights().unwrap();
    let all: f64 = places.iter().map(|&i| weights[i]).sum();
    let expected: f64 = places.iter().filter(|&&i| right(i)).map(|&i| weights[i]).sum();
    assert!((verdict.accuracy - expected / all).abs() < 1e-12 && verdict.by.contains("whole groups"), "{verdict:?}");
}
