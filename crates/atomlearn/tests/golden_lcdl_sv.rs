//! LCDL-SV against the outputs of its authors' own code, from the same data and the same starting dictionary.
//!
//! `data/lcdl_sv_digits.mat` holds, for one split of the embedded digits (50 training samples per class, unit length):
//! sample indices, starting dictionary, the dictionary after the first and the last iteration, its relative changes and
//! the predictions of the three rules, as the published MATLAB code computed them under Octave 7.3 with lambda1 = 1e-3,
//! lambda2 = 1e-6, theta = 5, knn = 1, 20 iterations, tol = 1e-3, 10 atoms per class, eta1 = 1e-2, eta2 = 5.

#![allow(clippy::unwrap_used, clippy::panic)]

use atomlearn::classifier::best_class;
use atomlearn::io::{self, Orientation, ReadOptions, read};
use atomlearn::linalg::{normalize_columns, select_columns};
use atomlearn::methods::lcdl_sv::{LcdlSv, Solver};
use atomlearn::{Blocks, Classifier, Dataset, Mat, Observer, Step};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

struct Golden {
    path: PathBuf,
    train: Dataset,
    test: Mat<f64>,
    /// True class of every test sample.
    truth: Vec<usize>,
}

fn variable(path: &Path, name: &str) -> Mat<f64> {
    let options = ReadOptions {
        x: Some(name.into()),
        y: Some("none".into()),
        samples: Some(Orientation::Columns),
        ..ReadOptions::default()
    };
    read(path, &options).unwrap().x
}

fn row(path: &Path, name: &str) -> Vec<usize> {
    variable(path, name).row(0).iter().map(|&v| v as usize).collect()
}

fn digits_case() -> Golden {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/lcdl_sv_digits.mat");
    let mut all = io::digits();
    normalize_columns(all.x.as_mut());
    let labels = all.labels.unwrap();
    let (train, test) = (row(&path, "train"), row(&path, "test"));
    let pick = |at: &[usize]| at.iter().map(|&i| labels[i].clone()).collect::<Vec<String>>();
    Golden {
        train: Dataset::new(select_columns(all.x.as_ref(), &train).as_ref(), &pick(&train)).unwrap(),
        test: select_columns(all.x.as_ref(), &test),
        truth: pick(&test).iter().map(|label| label.parse().unwrap()).collect(),
        path,
    }
}

/// The larger case is not part of the project: it is looked for in the folder `ATOMLEARN_GOLDEN`.
fn eyaleb_case() -> Option<Golden> {
    let folder = std::env::var("ATOMLEARN_GOLDEN").ok()?;
    let path = Path::new(&folder).join("lcdl_sv_eyaleb.mat");
    if !path.exists() {
        return None;
    }
    let labels: Vec<String> = row(&path, "trls").iter().map(usize::to_string).collect();
    Some(Golden {
        train: Dataset::new(variable(&path, "X_train").as_ref(), &labels).unwrap(),
        test: variable(&path, "X_test"),
        truth: row(&path, "ttls").iter().map(|label| label - 1).collect(),
        path,
    })
}

struct FirstDictionary(Option<Mat<f64>>);

impl Observer for FirstDictionary {
    fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
        if step.iter == 1 {
            let model = step.model.unwrap()().unwrap();
            self.0 = Some(model.atoms().unwrap().columns.to_owned());
        }
        ControlFlow::Continue(())
    }
}

/// Agreement with the authors' predictions and the two accuracies, per rule.
fn compare(golden: &Golden, solver: Solver) -> Vec<(f64, f64, f64)> {
    let lcdl = LcdlSv { svm_solver: solver, refit_svm: Some(false), ..LcdlSv::default() };
    let blocks = Blocks::from_sizes(vec![10; golden.train.n_classes()]);
    let mut first = FirstDictionary(None);
    let model = lcdl.learn_from(&golden.train, variable(&golden.path, "Dini"), &blocks, &mut first).unwrap();

    let theirs = variable(&golden.path, "D_it1");
    let off = (first.0.unwrap() - &theirs).norm_l2() / theirs.norm_l2();
    assert!(off < 1e-8, "dictionary after iteration 1 is off by {off:e}");

    let scores = model.scores_by_rule(golden.test.as_ref()).unwrap();
    let percent = |hits: usize| 100.0 * hits as f64 / golden.truth.len() as f64;
    let count = |a: &[usize], b: &[usize]| percent(a.iter().zip(b).filter(|(a, b)| a == b).count());
    let rule = |((_, scores), name): (&(&str, Mat<f64>), &str)| {
        let ours = best_class(scores.as_ref());
        let theirs: Vec<usize> = row(&golden.path, name).iter().map(|label| label - 1).collect();
        (count(&ours, &theirs), count(&ours, &golden.truth), count(&theirs, &golden.truth))
    };
    scores.iter().zip(["res_pred", "svm_pred", "fuse_pred"]).map(rule).collect()
}

fn check(golden: &Golden) {
    for (agreement, ..) in compare(golden, Solver::Lbfgs) {
        assert!(agreement >= 99.0, "{agreement} % agreement with the truncated solver");
    }
    for (_, ours, theirs) in compare(golden, Solver::Newton) {
        assert!((ours - theirs).abs() <= 0.3, "accuracy {ours} against {theirs} with the exact solver");
    }
}

#[test]
fn digits() {
    check(&digits_case());
}

#[test]
fn extended_yale_b() {
    match eyaleb_case() {
        Some(golden) => check(&golden),
        None => println!("skipped: no real data (set ATOMLEARN_GOLDEN to the folder that holds lcdl_sv_eyaleb.mat)"),
    }
}
