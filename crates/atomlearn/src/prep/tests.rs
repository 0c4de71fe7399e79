use super::*;
use crate::linalg::{column_norms, mul, normalize_columns};
use crate::observe::Trace;
use crate::pca::{mean, pca};

fn data() -> Mat<f64> {
    Mat::from_fn(6, 12, |i, j| ((i * 13 + j * 7 + i * j) % 17) as f64 + if i == 5 { 0.0 } else { 1.0 })
}

fn fit(spec: &str, x: &Mat<f64>) -> (Prep, Mat<f64>) {
    spec.parse::<PrepSpec>().unwrap().fit(x.as_ref(), &mut ()).unwrap()
}

#[test]
fn specs_survive_a_round_trip_and_errors_say_what_to_do() {
    for text in [
        "none",
        "unit",
        "center,pca:3,unit",
        "pca:98%,unit",
        "pca-uncentered:300,unit",
        "random:5:7",
        "standard",
        "unit,kernel:rbf:auto*2:50",
        "kernel:poly:3",
    ] {
        assert_eq!(text.parse::<PrepSpec>().unwrap().to_string(), text);
    }
    let message = |text: &str| text.parse::<PrepSpec>().unwrap_err().to_string();
    assert_eq!(message("pca:3,unti"), "unknown preprocessing step `unti` (did you mean `unit`?)");
    for bad in ["pca", "pca:0", "pca:-1%", "pca:200%", "unit:3", "random:x", "kernel", "kernel:rbf", ""] {
        assert!(bad.parse::<PrepSpec>().is_err(), "{bad}");
    }
}

#[test]
fn each_step_does_what_it_says() {
    let x = data();
    let (_, unit) = fit("unit", &x);
    assert!(column_norms(&unit).iter().all(|n| (n - 1.0).abs() < 1e-14));
    let (_, centered) = fit("center", &x);
    assert!(mean(&centered).iter().all(|m| m.abs() < 1e-13));
    let (_, standard) = fit("standard", &x);
    assert!((0..6).all(|i| (standard.row(i).squared_norm_l2() - 12.0).abs() < 1e-10));
    let (_, p) = fit("pca:4", &x);
    let (_, u) = fit("pca-uncentered:4", &x);
    assert!(mean(&p).iter().all(|m| m.abs() < 1e-12) && mean(&u)[0].abs() > 1.0);
    let all = pca(&x, 6, "t").unwrap();
    let (_, most) = fit("pca:90%", &x);
    let kept: f64 = all.variances[..most.nrows()].iter().sum();
    assert!(kept >= 0.9 * all.total_variance && kept - all.variances[most.nrows() - 1] < 0.9 * all.total_variance);
    assert_eq!(fit("random:3", &x).1, fit("random:3:0", &x).1);
}

#[test]
fn projections_of_samples_far_from_zero_are_those_of_shifted_ones() {
    let x = Mat::from_fn(6, 12, |i, j| 1e6 + data()[(i, j)]);
    let (prep, projected) = fit("pca:4", &x);
    let parts = prep.parts();
    let [(_, shift), (_, basis)] = parts.as_slice() else { unreachable!() };
    let shifted = Mat::from_fn(6, 12, |i, j| x[(i, j)] - shift[(i, 0)]);
    assert!((projected - mul(basis.transpose(), &shifted)).norm_max() < 1e-8);
    let blocks = Mat::from_fn(6, 1100, |i, j| x[(i, j % 12)] + j as f64);
    let mut buffers = Buffers::new();
    for (start, width) in [(0, 600), (600, 500)] {
        let block = blocks.subcols(start, width);
        assert_eq!(prep.apply_in(block, &mut buffers), prep.apply(block));
    }
}

#[test]
fn restoring_gives_the_same_bits_and_refuses_wrong_shapes() {
    let x = data();
    for text in
        ["none", "center,standard,pca:3,unit", "pca-uncentered:3,unit", "random:4,center", "unit,kernel:rbf:auto:8"]
    {
        let (prep, fitted) = fit(text, &x);
        assert_eq!(prep.apply(x.as_ref()), fitted);
        let parts = |edit: fn(&str) -> usize| {
            let matrices = prep.parts().into_iter().map(|(name, m)| {
                let rows = m.nrows() - edit(&name);
                (name, m.subrows(0, rows).to_owned())
            });
            matrices.collect::<Parts>()
        };
        let back = Prep::restore(prep.spec().clone(), 6, &mut parts(|_| 0)).unwrap();
        assert_eq!(back.apply(x.as_ref()), fitted);
        if !prep.parts().is_empty() {
            assert!(Prep::restore(prep.spec().clone(), 6, &mut parts(|_| 1)).is_err());
        }
    }
}

#[test]
fn odd_data_is_reported() {
    let mut trace = Trace::default();
    let x = Mat::from_fn(3, 4, |i, j| if i == 0 { 1.0 } else { (j % 2) as f64 });
    "standard,unit".parse::<PrepSpec>().unwrap().fit(x.as_ref(), &mut trace).unwrap();
    "pca:3".parse::<PrepSpec>().unwrap().fit(x.as_ref(), &mut trace).unwrap();
    assert_eq!(trace.warnings.len(), 2, "{:?}", trace.warnings);
    let same = Mat::from_fn(3, 4, |i, _| i as f64);
    assert!("pca:98%".parse::<PrepSpec>().unwrap().fit(same.as_ref(), &mut ()).is_err());
}

/// Lengths beyond the largest number there is, and denormal ones, are lengths; only zero is zero.
#[test]
fn unit_takes_samples_of_any_length() {
    let plain = Mat::from_fn(6, 12, |i, j| data()[(i, j)] / 32.0 - if i == 2 { 0.3 } else { 0.0 });
    let (_, expected) = fit("unit", &plain);
    for (size, digits) in [(1.7e308, 1e-14), (1e200, 1e-14), (1e-200, 1e-14), (1e-310, 1e-10)] {
        let mut x = Mat::from_fn(6, 12, |i, j| plain[(i, j)] * size);
        let mut trace = Trace::default();
        let (prep, found) = "unit".parse::<PrepSpec>().unwrap().fit(x.as_ref(), &mut trace).unwrap();
        assert!((&found - &expected).norm_max() < digits, "{size:e}");
        assert!(trace.warnings.is_empty() && prep.apply(x.as_ref()) == found, "{size:e} {:?}", trace.warnings);
        x.col_mut(3).fill(0.0);
        let (_, found) = "unit".parse::<PrepSpec>().unwrap().fit(x.as_ref(), &mut trace).unwrap();
        assert!(found.col(3).iter().all(|&v| v == 0.0) && trace.warnings[0].starts_with("1 training samples are zero"));
    }
}

#[test]
fn standard_takes_features_of_any_size_and_place() {
    let x = data();
    let (_, expected) = fit("standard", &x);
    for size in [1e200, 1e-200, 3.0] {
        let (_, found) = fit("standard", &Mat::from_fn(6, 12, |i, j| x[(i, j)] * size));
        assert!((found - &expected).norm_max() < 1e-12, "{size:e}");
    }
    let (_, far) = fit("standard", &Mat::from_fn(6, 12, |i, j| x[(i, j)] + 1e8));
    assert!((far - &expected).norm_max() < 1e-8, "whole numbers keep their digits at 1e8, means nearly so");
    // A tenth, summed, is not a multiple of itself: what is left of a constant must not be blown up.
    let mut trace = Trace::default();
    let constant = Mat::from_fn(2, 1000, |i, j| if i == 0 { 0.1 } else { j as f64 });
    let (_, found) = "standard".parse::<PrepSpec>().unwrap().fit(constant.as_ref(), &mut trace).unwrap();
    assert!(found.row(0).iter().all(|v| v.abs() == 0.0) && trace.warnings.len() == 1);
}

fn positive() -> Mat<f64> {
    Mat::from_fn(5, 30, |i, j| ((i * 13 + j * 7 + i * j) % 17) as f64 + i as f64)
}

fn fitted(spec: &str) -> Prep {
    fit(spec, &positive()).0
}

/// Differences of samples are directions, so the way there and back must give them again where nothing is lost.
#[test]
fn there_and_back_is_the_identity_on_directions() {
    let x = positive();
    let zero = Mat::from_fn(5, 30, |i, _| x[(i, 0)]);
    for spec in ["none", "center", "standard", "pca:5", "pca-uncentered:5", "standard,center,pca:5"] {
        let prep = fitted(spec);
        let moved = prep.apply(x.as_ref()) - prep.apply(zero.as_ref());
        let back = prep.back(moved.as_ref()).unwrap();
        assert!((&back - (&x - &zero)).norm_max() < 1e-10, "{spec}");
    }
}

#[test]
fn unit_keeps_the_direction_and_a_cut_basis_projects() {
    let mut x = positive();
    let back = fitted("unit").back(fitted("unit").apply(x.as_ref()).as_ref()).unwrap();
    normalize_columns(x.as_mut());
    assert!((back - &x).norm_max() < 1e-14);
    let prep = fitted("pca-uncentered:2");
    let once = prep.back(prep.apply(x.as_ref()).as_ref()).unwrap();
    let twice = prep.back(prep.apply(once.as_ref()).as_ref()).unwrap();
    assert!((once - twice).norm_max() < 1e-12, "a projection, applied twice, is itself");
}

#[test]
fn random_projections_and_kernel_maps_have_no_way_back() {
    for spec in ["random:4,unit", "unit,kernel:rbf:auto:4"] {
        assert!(fitted(spec).back(Mat::zeros(4, 1).as_ref()).is_none());
    }
}

#[test]
fn every_example_of_the_table_is_what_its_row_says() {
    for info in STEPS {
        assert!(info.usage.starts_with(info.name) && info.doc.ends_with('.'), "{}", info.name);
        for example in info.examples {
            let spec: PrepSpec = example.parse().unwrap();
            let described: Vec<_> = spec.described().map(|(text, info)| (text, info.name)).collect();
            assert_eq!(described, [(example.to_string(), info.name)]);
        }
    }
    assert_eq!("none".parse::<PrepSpec>().unwrap().described().count(), 0);
}

/// What a row of the table says of partitions is true: from the sums that it asks for, a step becomes the same as from all samples.
#[test]
fn steps_fitted_from_their_sums_equal_those_fitted_on_samples() {
    let x = positive();
    let means = mean(&x);
    let centered = crate::pca::centered(&x, &means);
    let scatter = mul(&centered, centered.transpose());
    for text in ["center", "standard", "pca:3", "pca-uncentered:3", "random:4", "unit"] {
        let spec: PrepSpec = text.parse().unwrap();
        let needs = spec.need(0).unwrap();
        let mut prep = Prep::none(5);
        let mean = if needs == Needs::Nothing { &[] } else { means.as_slice() };
        prep.add_step(&spec, 30.0, mean, (needs == Needs::Scatter).then_some(&scatter), &mut ()).unwrap();
        assert!((prep.apply(x.as_ref()) - fit(text, &x).1).norm_max() < 1e-10, "{text}");
        assert!(
            prep.spec() == &spec
                && prep.spec().starts(&spec)
                && !"unit,unit".parse::<PrepSpec>().unwrap().starts(&spec)
        );
        if needs == Needs::Scatter {
            assert!(Prep::none(5).add_step(&spec, 30.0, mean, None, &mut ()).is_err(), "{text}");
        }
    }
    let kernel: PrepSpec = "kernel:rbf:auto".parse().unwrap();
    let refusal = kernel.need(0).unwrap_err().to_string();
    assert!(refusal.contains("center, standard, pca, pca-uncentered, random, unit"), "{refusal}");
    assert!(Prep::none(5).add_step(&kernel, 30.0, &means, Some(&scatter), &mut ()).is_err());
}

#[test]
fn the_reference_page_has_the_table_of_all_steps() {
    let page = include_str!("../../../../docs/reference/preprocessing.md");
    assert!(page.contains(&reference()), "docs/reference/preprocessing.md must contain:\n\n{}", reference());
}
