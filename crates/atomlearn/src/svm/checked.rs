//! Training with a check: the optimum, or a warning that says how far away it is.

use super::careful::improve;
use super::optimality::distances;
use super::{STAGE, Svm, one_vs_rest};
use crate::linalg::View;
use crate::pca::{centered, mean, weighted_mean};
use crate::warn::Warn;
use crate::{Error, Result};
use faer::MatRef;

/// The share of an objective that may be left to gain without a warning.
const FAR: f64 = 1e-3;

/// Trains one classifier per class on the columns of `z`, as [`one_vs_rest`] does, and checks the result.
///
/// The bias is free, so that what all samples have in common changes nothing but the bias: it is taken away first, and with
/// it the digits it would cost.
pub fn fit(
    z: impl View,
    targets: &[usize],
    n_classes: usize,
    tau: f64,
    start: Option<&Svm>,
    watch: &mut (impl Warn + ?Sized),
) -> Result<Svm> {
    let middle = mean(z.view());
    let z = centered(z.view(), &middle);
    let start = start.map(|svm| svm.seen_from(&middle));
    let svm = match one_vs_rest(&z, targets, n_classes, tau, start.as_ref()) {
        // Features too different in size for the fast solver; the careful one starts from zero.
        Err(Error::Numeric { .. }) => Svm { bias: vec![f64::NAN; n_classes], ..Svm::zero(z.nrows(), n_classes) },
        trained => trained?,
    };
    let svm = settle(&z, targets, svm, tau, watch)?;
    Ok(svm.seen_from(&negative(&middle)))
}

/// Checks that these classifiers are the optimum for the columns of `z`. Those that are not are brought there, as far as
/// the digits of the samples allow, with a warning if that is not far enough.
pub fn settle(z: impl View, targets: &[usize], svm: Svm, tau: f64, watch: &mut (impl Warn + ?Sized)) -> Result<Svm> {
    settle_weighted(z.view(), targets, None, svm, tau, watch)
}

/// [`fit`] with weights of the losses of samples, if there are any.
pub fn fit_weighted(
    z: impl View,
    targets: &[usize],
    weights: Option<&[f64]>,
    n_classes: usize,
    tau: f64,
    start: Option<&Svm>,
    watch: &mut (impl Warn + ?Sized),
) -> Result<Svm> {
    let z = z.view();
    if weights.is_none() {
        return fit(z, targets, n_classes, tau, start, watch);
    }
    let middle = weighted_mean(z, weights);
    let z = centered(z, &middle);
    // The careful solver does all the work; it starts from zero unless it is told better.
    let start = start.map(|svm| svm.seen_from(&middle));
    let from_zero = || Svm { bias: vec![f64::NAN; n_classes], ..Svm::zero(z.nrows(), n_classes) };
    let svm = settle_weighted(z.as_ref(), targets, weights, start.unwrap_or_else(from_zero), tau, watch)?;
    Ok(svm.seen_from(&negative(&middle)))
}

fn settle_weighted(
    z: MatRef<'_, f64>,
    targets: &[usize],
    weights: Option<&[f64]>,
    svm: Svm,
    tau: f64,
    watch: &mut (impl Warn + ?Sized),
) -> Result<Svm> {
    let found = distances(z, targets, weights, &svm, tau);
    let far: Vec<usize> = (0..found.len()).filter(|&c| !found[c].is_near()).collect();
    if far.is_empty() {
        return Ok(svm);
    }
    let middle = mean(z);
    let mut improved = svm.seen_from(&middle);
    let (svm, left) = match improve(centered(z, &middle).as_ref(), targets, weights, &mut improved, tau, &far) {
        Ok(left) => (improved.seen_from(&negative(&middle)), left),
        Err(_) => (svm, far.iter().map(|&c| found[c].relative()).fold(0.0, f64::max)),
    };
    if !svm.weights.is_all_finite() || !svm.bias.iter().all(|b| b.is_finite()) {
        return Err(Error::numeric(
            STAGE,
            "no finite classifier was found; standardise the features (preprocessing step `standard`)",
        ));
    }
    if left > FAR || left.is_nan() {
        watch.warn(&warning(left, far.len(), found.len()));
    }
    Ok(svm)
}

fn negative(values: &[f64]) -> Vec<f64> {
    values.iter().map(|v| -v).collect()
}

fn warning(left: f64, far: usize, n_classes: usize) -> String {
    format!(
        "SVM: {far} of {n_classes} classifiers are not at their optimum (up to {:.1e} of the objective of the worst can \
         still be gained) because the features are too different in size; standardise them (preprocessing step `standard`)",
        left.min(1.0)
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::{objective, problem};
    use super::*;
    use crate::linalg::select_columns;
    use crate::observe::Trace;
    use faer::Mat;

    const TAU: f64 = 0.5;

    fn trained(z: &Mat<f64>, targets: &[usize]) -> (Svm, Vec<String>) {
        let mut trace = Trace::default();
        let svm = fit(z.as_ref(), targets, 3, TAU, None, &mut trace).unwrap();
        (svm, trace.warnings)
    }

    /// `|gradient_k| / (tau |u_k| + sum_i xi_i |z_ik|)`, the largest, for centred features: invariant to the size of features.
    fn relative_gradient(svm: &Svm, z: &Mat<f64>, targets: &[usize]) -> f64 {
        let middle = mean(z);
        let (svm, z) = (svm.seen_from(&middle), centered(z, &middle));
        let scores = svm.scores(&z);
        let mut worst = 0.0f64;
        for c in 0..3 {
            for k in 0..z.nrows() {
                let u = svm.weights[(k, c)];
                let (mut sum, mut sizes) = (TAU * u, TAU * u.abs());
                for i in 0..z.ncols() {
                    let t = super::super::sign(targets[i], c);
                    let slack = (1.0 - t * scores[(c, i)]).max(0.0);
                    sum -= t * slack * z[(k, i)];
                    sizes += slack * z[(k, i)].abs();
                }
                worst = worst.max(sum.abs() / sizes.max(f64::MIN_POSITIVE));
            }
        }
        worst
    }

    #[test]
    fn whole_weights_equal_repeated_samples() {
        for (dim, n) in [(6, 60), (40, 60), (90, 45)] {
            let (z, targets) = problem(dim, n);
            let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i * i % 4) as f64).collect();
            let repeated: Vec<usize> = (0..n).flat_map(|i| vec![i; weights[i] as usize]).collect();
            let longer: Vec<usize> = repeated.iter().map(|&i| targets[i]).collect();
            let expected =
                fit(select_columns(&z, &repeated).as_ref(), &longer, 3, TAU, None, &mut Trace::default()).unwrap();
            let mut trace = Trace::default();
            let svm = fit_weighted(z.as_ref(), &targets, Some(&weights), 3, TAU, None, &mut trace).unwrap();
            assert!(trace.warnings.is_empty(), "{:?}", trace.warnings);
            assert!((&svm.weights - &expected.weights).norm_max() < 1e-7, "{dim} x {n}");
            assert!((0..3).all(|c| (svm.bias[c] - expected.bias[c]).abs() < 1e-7));
        }
    }

    #[test]
    fn an_offset_moves_the_bias_alone() {
        for (dim, n) in [(6, 60), (40, 60), (90, 60)] {
            let (z, targets) = problem(dim, n);
            let (plain, _) = trained(&z, &targets);
            let expected = plain.scores(&z);
            for offset in [10.0, 1e3, 1e5, 1e6, 1e8] {
                let moved = Mat::from_fn(dim, n, |i, j| z[(i, j)] + offset);
                let (svm, warnings) = trained(&moved, &targets);
                // A sample keeps what its digits at this offset leave of it.
                let allowed = 1e-9 + 50.0 * dim as f64 * f64::EPSILON * offset;
                let away = (svm.scores(moved.as_ref()) - &expected).norm_max();
                assert!(away < allowed, "{dim} x {n} + {offset:e}: {away:e}");
                assert!(warnings.is_empty(), "{warnings:?}");
            }
        }
    }

    /// Features from 1e-8 to 1e8, with fewer features than samples and with more: the optimum, certified by the duality gap, or
    /// a warning that says how far it may be.
    #[test]
    fn features_of_any_size_end_at_the_optimum_or_with_a_warning() {
        for (dim, n) in [(10, 60), (40, 60), (90, 60)] {
            let (z, targets) = problem(dim, n);
            let size = |i: usize| 10f64.powf(16.0 * i as f64 / (dim - 1) as f64 - 8.0);
            let scaled = Mat::from_fn(dim, n, |i, j| size(i) * z[(i, j)]);
            let (svm, warnings) = trained(&scaled, &targets);
            assert!(svm.weights.is_all_finite() && svm.bias.iter().all(|b| b.is_finite()));
            let middle = mean(&scaled);
            let left = distances(centered(&scaled, &middle).as_ref(), &targets, None, &svm.seen_from(&middle), TAU);
            let certified = left.iter().all(|distance| distance.relative() <= FAR);
            assert_eq!(warnings.is_empty(), certified, "{dim} x {n}: {left:?} {warnings:?}");
            // Nothing is left to doubt while there are fewer features than samples.
            assert!(certified || dim > n, "{dim} x {n}: {left:?}");
            // A step in any feature's direction, up or down, is no improvement.
            let best = objective(&svm, scaled.as_ref(), &targets, TAU);
            for k in 0..dim {
                for by in [1e-2, -1e-2] {
                    let mut moved = svm.clone();
                    (0..3).for_each(|c| moved.weights[(k, c)] += by / size(k).max(1.0));
                    assert!(objective(&moved, scaled.as_ref(), &targets, TAU) > best, "{k}");
                }
            }
        }
    }

    #[test]
    fn one_long_feature_ends_at_the_optimum() {
        let (z, targets) = problem(10, 60);
        for size in [1e2, 1e4, 1e6, 1e9] {
            let scaled = Mat::from_fn(10, 60, |i, j| if i == 0 { size * z[(i, j)] } else { z[(i, j)] });
            let (svm, warnings) = trained(&scaled, &targets);
            let steepest = relative_gradient(&svm, &scaled, &targets);
            assert!(warnings.is_empty() && steepest < 1e-6, "{size:e}: {steepest:e} {warnings:?}");
        }
    }

    #[test]
    fn what_is_at_the_optimum_keeps_its_bits_and_what_is_not_is_brought_there() {
        let (z, targets) = problem(12, 60);
        let exact = one_vs_rest(&z, &targets, 3, TAU, None).unwrap();
        let mut trace = Trace::default();
        assert_eq!(settle(&z, &targets, exact.clone(), TAU, &mut trace).unwrap(), exact);
        let early = super::super::lbfgs::one_vs_rest(&z, &targets, 3, TAU);
        let found = settle(&z, &targets, early, TAU, &mut trace).unwrap();
        assert!((found.weights - &exact.weights).norm_max() < 1e-3 * exact.weights.norm_max());
        assert!(trace.warnings.is_empty(), "{:?}", trace.warnings);
    }

    /// Samples so long that the norm is lost beside the loss: which of the separating planes it is cannot be told.
    #[test]
    fn samples_of_any_length_end_at_the_optimum_or_with_a_warning() {
        let (z, _) = problem(3, 60);
        let targets: Vec<usize> = (0..60).map(|i| i % 3).collect();
        let apart = Mat::from_fn(3, 60, |i, j| 1e20 * (z[(i, j)] + if i == targets[j] { 5.0 } else { 0.0 }));
        let mut trace = Trace::default();
        match fit(apart.as_ref(), &targets, 3, TAU, None, &mut trace) {
            Ok(svm) if trace.warnings.is_empty() => {
                let steepest = relative_gradient(&svm, &apart, &targets);
                assert!(svm.weights.is_all_finite() && steepest < 1e-6, "{steepest:e}");
            }
            Ok(_) => assert!(trace.warnings[0].contains("standardise"), "{:?}", trace.warnings),
            Err(error) => assert!(error.to_string().contains("standardise"), "{error}"),
        }
    }
}
