//! Every method on data that breaks careless arithmetic: each cell is a typed error or a finite model, which beats chance
//! where the data allow it. The table in `docs/measurements/torture.md` is what this test finds; `ATOMLEARN_UPDATE=1` writes it again.

#![allow(clippy::unwrap_used, clippy::panic)]

use atomlearn::observe::Trace;
use atomlearn::prep::PrepSpec;
use atomlearn::registry::{METHODS, Method, Values};
use atomlearn::{Dataset, Error, Mat, Model, Observer, Step, synth};
use rayon::prelude::*;
use std::fmt::Write;
use std::ops::ControlFlow;

/// Data of one kind, and what may be expected.
struct Case {
    name: String,
    prep: &'static str,
    train: Dataset,
    /// Fresh samples, where a method can be expected to do better than chance.
    fresh: Option<Dataset>,
}

/// What a method made of a case.
#[derive(Clone, Copy, PartialEq)]
enum Cell {
    Fine,
    Warned,
    /// Finite, but no better than chance although more was possible.
    Weak,
    /// A typed error.
    Refused,
}

/// Cells that are weak for a reason of the method's own, not of its arithmetic.
const WEAK_BY_NATURE: &[(&str, &str)] = &[
    // Labels are fitted to sparse codes, and a class of one point has one code.
    ("dksvd", "one point per class"),
    ("lcksvd1", "one point per class"),
    ("lcksvd2", "one point per class"),
    // Penalties in absolute terms: what is long counts alone.
    ("fddl", "features from 1e-8 to 1e8"),
    ("fddl", "one sample a million times too long"),
    ("dlsi", "features from 1e-8 to 1e8"),
    ("copar", "features from 1e-8 to 1e8"),
    ("lrsdl", "features from 1e-8 to 1e8"),
    ("lrsdl", "one sample a million times too long"),
    ("mfl", "features from 1e-8 to 1e8"),
    ("sadl", "features from 1e-8 to 1e8"),
    ("procrc", "features from 1e-8 to 1e8"),
    // Thresholds follow the root mean square of all codes, and one sample is nearly all of it.
    ("analysis-ksvd", "one sample a million times too long"),
];

/// Collects warnings and ends training of many classes after a few iterations: it is the arithmetic that is tested.
struct Watch {
    trace: Trace,
    most: usize,
}

impl Observer for Watch {
    fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
        if step.iter >= self.most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn warn(&mut self, warning: &str) {
        self.trace.warn(warning);
    }
}

fn dataset(x: &Mat<f64>, sizes: &[usize]) -> Dataset {
    let labels: Vec<String> =
        sizes.iter().enumerate().flat_map(|(c, &size)| std::iter::repeat_n(c.to_string(), size)).collect();
    Dataset::new(x.as_ref(), &labels).unwrap()
}

/// Three classes of twenty samples in ten dimensions; of the same classes for every seed of noise.
fn three() -> (Dataset, Dataset) {
    let all = synth::blobs(3, 40, 10, 3);
    let half = |from: usize| Mat::from_fn(10, 60, |i, j| all.x()[(i, j / 20 * 40 + from + j % 20)]);
    (dataset(&half(0), &[20; 3]), dataset(&half(20), &[20; 3]))
}

fn cases() -> Vec<Case> {
    let (train, fresh) = three();
    let case =
        |name: &str, train: Dataset, fresh: Option<Dataset>| Case { name: name.into(), prep: "none", train, fresh };
    let edited = |data: &Dataset, edit: &dyn Fn(usize, usize, f64) -> f64| {
        dataset(&Mat::from_fn(data.n_features(), data.n_samples(), |i, j| edit(i, j, data.x()[(i, j)])), &[20; 3])
    };
    let both = |name: &str, edit: &dyn Fn(usize, usize, f64) -> f64| {
        case(name, edited(&train, edit), Some(edited(&fresh, edit)))
    };
    let only_train =
        |name: &str, edit: &dyn Fn(usize, usize, f64) -> f64| case(name, edited(&train, edit), Some(fresh.clone()));
    let hopeless = |name: &str, edit: &dyn Fn(usize, usize, f64) -> f64| case(name, edited(&train, edit), None);
    let at = |i: usize, j: usize| train.x()[(i, j)];
    let pick =
        |columns: &[usize], sizes: &[usize]| dataset(&Mat::from_fn(10, columns.len(), |i, j| at(i, columns[j])), sizes);

    let mut cases = vec![
        both("as it should be", &|_, _, v| v),
        only_train("every sample four times", &|i, j, _| at(i, j / 4 * 4)),
        only_train("one point per class", &|i, j, _| at(i, j / 20 * 20)),
        hopeless("identical classes", &|i, j, _| at(i, j % 20)),
        both("constant features", &|i, _, v| if i < 3 { 1.0 } else { v }),
        both("a feature twice", &|i, j, v| if i == 9 { at(8, j) } else { v }),
        both("features from 1e-8 to 1e8", &|i, _, v| v * 10f64.powi(2 * i as i32 - 9)),
        hopeless("rank one", &|i, j, _| (i as f64 + 1.0) * (j as f64 + 1.0)),
        only_train("some samples zero", &|_, j, v| if j % 5 == 3 { 0.0 } else { v }),
        only_train("a class of zeros", &|_, j, v| if j < 20 { 0.0 } else { v }),
        hopeless("nothing but zeros", &|_, _, _| 0.0),
        hopeless("nothing but ones", &|_, _, _| 1.0),
        only_train("one sample a million times too long", &|_, j, v| if j == 7 { v * 1e6 } else { v }),
        case("one sample per class", pick(&[0, 20, 40], &[1, 1, 1]), Some(fresh.clone())),
        case(
            "1, 2 and 20 samples",
            pick(&(0..23).map(|j| [0, 20, 21].get(j).copied().unwrap_or(37 + j)).collect::<Vec<_>>(), &[1, 2, 20]),
            None,
        ),
        hopeless("denormal numbers", &|_, _, v| v * 1e-310),
    ];
    for power in [-150, -100, -20, 20, 100, 150] {
        let scaled = |_, _, v: f64| v * 10f64.powi(power);
        cases.push(hopeless(&format!("times 1e{power}"), &scaled));
        let raw = both(&format!("times 1e{power}, prep unit"), &scaled);
        cases.push(Case { prep: "unit", ..raw });
    }
    let line = |data: &Dataset| Mat::from_fn(1, 60, |_, j| data.x()[(0, j)] + 4.0 * (j / 20) as f64);
    cases.push(case("one feature", dataset(&line(&train), &[20; 3]), None));
    let plane = |data: &Dataset| dataset(&data.x().subrows(0, 2).to_owned(), &[20; 3]);
    cases.push(case("more atoms than features", plane(&train), None));
    let wide = |seed: u64| {
        let all = synth::blobs(3, 8, 200, 5);
        let half = Mat::from_fn(200, 12, |i, j| all.x()[(i, j / 4 * 8 + 4 * seed as usize + j % 4)]);
        dataset(&half, &[4; 3])
    };
    cases.push(case("fewer samples than features", wide(0), Some(wide(1))));
    let many = synth::blobs(500, 3, 30, 6);
    let of_each = |kept: usize, from: usize| {
        let x = Mat::from_fn(30, 500 * kept, |i, j| many.x()[(i, j / kept * 3 + from + j % kept)]);
        dataset(&x, &[kept; 500])
    };
    cases.push(case("500 classes of two", of_each(2, 0), Some(of_each(1, 2))));
    cases
}

fn is_weak_by_nature(method: &Method, case: &Case) -> bool {
    WEAK_BY_NATURE.contains(&(method.key, case.name.as_str()))
}

fn run(method: &'static Method, case: &Case) -> (Cell, String) {
    let most = if case.train.n_classes() > 100 { 2 } else { usize::MAX };
    let mut watch = Watch { trace: Trace::default(), most };
    let prep: PrepSpec = case.prep.parse().unwrap();
    // What chooses its number of iterations would try many of them.
    let open = method.complete(&Values::new()).unwrap().get("max_iter").is_some_and(|most| most.is_null());
    let few = (open && most < usize::MAX).then(|| ("max_iter".to_string(), most.into()));
    let model = match Model::train(method, &few.into_iter().collect(), &prep, &case.train, &mut watch) {
        Ok(model) => model,
        Err(error @ (Error::Data(_) | Error::Param { .. } | Error::Numeric { .. })) => {
            return (Cell::Refused, error.to_string());
        }
        Err(other) => panic!("{} on {}: an error of the wrong kind: {other}", method.key, case.name),
    };
    for data in [Some(&case.train), case.fresh.as_ref()].into_iter().flatten() {
        let scores = model.scores(data.x()).unwrap_or_else(|e| panic!("{} on {}: {e}", method.key, case.name));
        // Minus infinity says "never this class"; NaN and plus infinity say nothing.
        let sound = scores.col_iter().all(|column| {
            column.iter().all(|v| !v.is_nan() && *v < f64::INFINITY) && column.iter().any(|v| v.is_finite())
        });
        assert!(sound, "{} on {}: scores that say nothing", method.key, case.name);
    }
    let accuracy = case.fresh.as_ref().map(|fresh| {
        let found = model.predict(fresh.x()).unwrap();
        found.iter().zip(fresh.targets()).filter(|&(&found, target)| found == target).count() as f64
            / fresh.n_samples() as f64
    });
    // What is weak by nature stays so until it is clearly better: one sample more must not change the table.
    let margin = if is_weak_by_nature(method, case) { 0.15 } else { 0.0 };
    let wanted = (2.0 / case.train.n_classes() as f64).min(0.6) + margin;
    let warnings = watch.trace.warnings;
    let note = format!("accuracy {accuracy:?}, {warnings:?}");
    match accuracy {
        Some(accuracy) if accuracy < wanted => (Cell::Weak, note),
        _ if warnings.is_empty() => (Cell::Fine, note),
        _ => (Cell::Warned, note),
    }
}

#[test]
fn every_method_survives_every_case_and_the_table_says_so() {
    let cases = cases();
    let mut table = format!(
        "# Numerical torture\n\nEvery method with its defaults on degenerate data, as `cargo test --test torture` finds it. Samples\n\
         are raw unless the row says otherwise. Training of the 500 classes ends after two iterations.\n\n\
         - `+`: a finite model; where fresh samples can be told apart, it beats chance\n\
         - `w`: the same, with a warning that says what was done about the data\n\
         - `-`: finite, but no better than chance\n- `x`: refused with a typed error\n\n| data | {} |\n|---|{}\n",
        METHODS.iter().map(|method| method.key).collect::<Vec<_>>().join(" | "),
        "---|".repeat(METHODS.len()),
    );
    let mut weak = Vec::new();
    for case in &cases {
        let row: Vec<(Cell, String)> = METHODS.par_iter().map(|method| run(method, case)).collect();
        let signs = row.iter().map(|(cell, _)| match cell {
            Cell::Fine => "+",
            Cell::Warned => "w",
            Cell::Weak => "-",
            Cell::Refused => "x",
        });
        writeln!(table, "| {} | {} |", case.name, signs.collect::<Vec<_>>().join(" | ")).unwrap();
        for (method, (cell, note)) in METHODS.iter().zip(&row) {
            println!("{} on {}: {note}", method.key, case.name);
            if (*cell == Cell::Weak) != is_weak_by_nature(method, case) {
                weak.push(format!("{} on {}: {note}", method.key, case.name));
            }
        }
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measurements/torture.md");
    if std::env::var_os("ATOMLEARN_UPDATE").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    assert!(weak.is_empty(), "{}", weak.join("\n"));
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == table,
        "docs/measurements/torture.md is out of date; ATOMLEARN_UPDATE=1 writes it again\n{table}"
    );
}
