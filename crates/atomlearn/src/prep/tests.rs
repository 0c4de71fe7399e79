use super::*;
use crate::observe::Trace;

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
    assert!(column_norms(unit.as_ref()).iter().all(|n| (n - 1.0).abs() < 1e-14));
    let (_, centred) = fit("center", &x);
    assert!(mean(centred.as_ref()).iter().all(|m| m.abs() < 1e-13));
    let (_, standard) = fit("standard", &x);
    assert!((0..6).all(|i| (standard.row(i).squared_norm_l2() - 12.0).abs() < 1e-10));
    let (_, p) = fit("pca:4", &x);
    let (_, u) = fit("pca-uncentered:4", &x);
    assert!(mean(p.as_ref()).iter().all(|m| m.abs() < 1e-12) && mean(u.as_ref())[0].abs() > 1.0);
    let all = pca(x.as_ref(), 6, "t").unwrap();
    let (_, most) = fit("pca:90%", &x);
    let kept: f64 = all.variances[..most.nrows()].iter().sum();
    assert!(kept >= 0.9 * all.total_variance && kept - all.variances[most.nrows() - 1] < 0.9 * all.total_variance);
    assert_eq!(fit("random:3", &x).1, fit("random:3:0", &x).1);
}

#[test]
fn projections_of_samples_far_from_zero_are_those_of_shifted_ones() {
    let x = Mat::from_fn(6, 12, |i, j| 1e6 + data()[(i, j)]);
    let (prep, projected) = fit("pca:4", &x);
    let Fitted::Affine { shift: Some(shift), basis: Some(basis), .. } = &prep.steps[0] else { unreachable!() };
    let shifted = Mat::from_fn(6, 12, |i, j| x[(i, j)] - shift[(i, 0)]);
    assert!((projected - mul(basis.transpose(), shifted.as_ref())).norm_max() < 1e-8);
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
            Parts::new(Vec::new(), matrices.collect())
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
