use super::*;
use crate::Parts;
use crate::observe::Trace;
use crate::synth;

fn spec(text: &str) -> PrepSpec {
    text.parse().unwrap()
}

#[test]
fn views_are_prepared_alone_scaled_and_put_side_by_side() {
    let train = synth::blobs(3, 10, 9, 2);
    let x = Mat::from_fn(9, 30, |i, j| train.x()[(i, j)] * if i < 4 { 1000.0 } else { 1.0 });
    let text = "views(left@1-4=standard,unit|right@5-7+9=pca:2)";
    let prep = spec(text);
    assert_eq!(prep.to_string(), text);
    let (fitted, prepared) = prep.fit(&x, &mut ()).unwrap();
    assert_eq!(fitted.n_out().unwrap(), 6);
    let right = Mat::from_fn(4, 30, |i, j| x[([4, 5, 6, 8][i], j)]);
    for (rows, own, steps) in [(0..4, x.subrows(0, 4).to_owned(), "standard,unit"), (4..6, right, "pca:2")] {
        let (_, alone) = spec(steps).fit(&own, &mut ()).unwrap();
        let length = (alone.squared_norm_l2() / 30.0).sqrt();
        let block = prepared.subrows(rows.start, rows.len());
        assert!((block - faer::Scale(1.0 / length) * &alone).norm_max() < 1e-12, "{steps}");
        assert!((block.squared_norm_l2() / 30.0 - 1.0).abs() < 1e-12);
    }
    // New samples go the same way, and the model file has it all.
    assert!((fitted.apply(&x) - &prepared).norm_max() < 1e-12);
    let mut parts = Parts::default();
    fitted.store(&mut parts);
    let back = Prep::restore(prep, 9, &mut parts.clone()).unwrap();
    assert!(back.apply(&x) == fitted.apply(&x));
    for (name, part) in parts.iter() {
        let mut wrong = parts.clone();
        wrong.put(name, Mat::<f64>::zeros(part.nrows() + 1, part.ncols()));
        assert!(Prep::restore(spec(text), 9, &mut wrong).is_err(), "{name}");
    }
    assert!(Prep::restore(spec(text), 8, &mut parts).is_err(), "column 9 is not there");
}

#[test]
fn a_way_back_puts_patterns_where_they_came_from() {
    let train = synth::blobs(2, 12, 7, 3);
    let (fitted, _) = spec("views(2-3=standard|5-7=pca:2)").fit(train.x(), &mut ()).unwrap();
    let back = fitted.back(Mat::from_fn(4, 1, |i, _| 1.0 + i as f64)).unwrap();
    assert_eq!(back.nrows(), 7);
    assert!(back[(0, 0)] == 0.0 && back[(3, 0)] == 0.0 && back[(1, 0)] != 0.0 && back[(6, 0)] != 0.0);
    let (none, _) = spec("views(1-3=random:2|4-7=unit)").fit(train.x(), &mut ()).unwrap();
    assert!(none.back(Mat::zeros(6, 1)).is_none());
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let wrong = |text: &str| text.parse::<PrepSpec>().err().unwrap().to_string();
    assert!(wrong("views(1-4=unit|3-6=unit)").contains("column 3 is in two places"));
    assert!(wrong("views(1-4=unit|a=unit)").contains("`a` is not a range"));
    assert!(wrong("views(0-4=unit)").contains("`0-4` is not a range"));
    assert!(wrong("views(1-4)").contains("is not COLUMNS=STEPS"));
    assert!(wrong("views").contains("is written as in"));
    assert!(wrong("unit(1-4=unit)").contains("unknown preprocessing step"));
    assert!(wrong("views(1-4=unti)").contains("did you mean `unit`"));
    assert!(wrong("views(a@1=unit|a@2=unit)").contains("twice"));
    assert!(wrong("views(1=views(1=unit)|2=unit)").contains("views cannot hold views"));
    let x = synth::blobs(2, 5, 4, 1);
    let few = spec("views(1-2=unit|3-9=unit)").fit(x.x(), &mut ()).err().unwrap().to_string();
    assert!(few.contains("view 2") && few.contains("column 9") && few.contains("4 features"), "{few}");
    let mut trace = Trace::default();
    let silent = Mat::from_fn(4, 6, |i, j| if i < 2 { 0.0 } else { 1.0 + (i * j) as f64 });
    let (_, prepared) = spec("views(1-2=none|3-4=none)").fit(&silent, &mut trace).unwrap();
    assert!(prepared.is_all_finite() && trace.warnings.iter().any(|text| text.contains("view 1 is zero")));
}
