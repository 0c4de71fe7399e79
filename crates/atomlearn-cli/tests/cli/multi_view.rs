//! Samples of which there are several views.

use crate::{Place, table};
use atomlearn::Mat;
use atomlearn::io::{RawData, write};

/// Two views of the same samples of three classes: each alone tells only two of them apart.
fn views(place: &Place) {
    let n = 60;
    let noise = |i: usize, j: usize| ((i * 7919 + j * 104_729 + i * j * 31) % 1009) as f64 / 1009.0 - 0.5;
    let class = |j: usize| j % 3;
    let one =
        Mat::from_fn(5, n, |i, j| 100.0 * (noise(i, j) + if i == usize::from(class(j) == 0) { 2.0 } else { 0.0 }));
    let two = Mat::from_fn(3, n, |i, j| noise(i + 9, j + 5) + if i == usize::from(class(j) == 1) { 2.0 } else { 0.0 });
    let labels: Vec<String> = (0..n).map(|j| ["ant", "bee", "cat"][class(j)].to_string()).collect();
    let store = |name: &str, x: Mat<f64>, labels: &[String]| {
        write(&place.path(name), &RawData { labels: Some(labels.to_vec()), ..RawData::new(x) }).unwrap();
    };
    store("one.npz", one.clone(), &labels);
    store("two.npz", two.clone(), &labels);
    store("fewer.npz", two.subcols(0, 59).to_owned(), &labels[..59]);
    let mut others = labels.clone();
    others.swap(7, 8);
    store("others.npz", two, &others);
}

#[test]
fn two_views_tell_more_than_each_alone_with_any_method() {
    let place = Place::new();
    views(&place);
    let right = |line: &str| place.json(&format!("{line} --json"))["results"][0]["mean"].as_f64().unwrap();
    let split = "--methods crc --train-per-class 8 --repeats 2";
    let both = right(&format!("compare one.npz --views two.npz {split}"));
    for alone in ["one.npz", "two.npz"] {
        assert!(both > right(&format!("compare {alone} {split}")) + 0.05, "{both}");
    }

    place.ok("train one.npz --views two.npz --method crc --prep standard|unit -o both.model");
    let model = place.json("inspect both.model --json");
    assert_eq!(model["prep"], "views(one@1-5=standard|two@6-8=unit)");
    let report = place.json("evaluate both.model one.npz --views two.npz --json");
    assert!(report["accuracy"].as_f64().unwrap() > 0.9, "{report}");
    let rows = place.ok("predict both.model one.npz --views two.npz");
    assert_eq!(rows.lines().count(), 61);
    place.refuses("predict both.model one.npz", 3, &["expected 8", "found 5"]);
}

#[test]
fn auto_reads_all_views_together() {
    let place = Place::new();
    views(&place);
    let json = place.json("auto one.npz --views two.npz -o auto.model --json");
    let alone = place.json("auto one.npz --json")["loo"]["accuracy"].as_f64().unwrap();
    assert!(json["loo"]["accuracy"].as_f64().unwrap() > alone + 0.05, "{json}");
    assert_eq!(place.ok("predict auto.model one.npz --views two.npz --proba").lines().count(), 61);
}

#[test]
fn groups_of_columns_are_views_by_name_or_number() {
    let place = Place::new();
    place.write("data.csv", table(12));
    place.ok("train data.csv --method crc --views left=a,b right=3-4 --prep unit|standard -o groups.model");
    let model = place.json("inspect groups.model --json");
    assert_eq!(model["prep"], "views(left@1+2=unit|right@3-4=standard)");
    assert_eq!(place.ok("predict groups.model data.csv").lines().count(), 37);
    place.ok(
        "tune data.csv --method crc --views left=a,b right=c,d --grid kappa=0.001,0.1 --train-per-class 6 --folds 3",
    );
    place.ok(
        "sweep data.csv --method crc --views left=1-2 right=3-4 --param kappa --values 0.01,0.1 --train-per-class 6",
    );
    place.refuses("train data.csv --views left=a,q right=c -o m", 3, &["unknown column `q`"]);
    place.refuses("train data.csv --views left=1-9 -o m", 2, &["`1-9`", "1-4"]);
    place.refuses("train data.csv --views left=a right=a -o m", 2, &["two places"]);
    place.refuses("train data.csv --views left=a right=b --prep unit|unit|unit -o m", 2, &["3 parts", "2 views"]);
}

#[test]
fn views_of_other_samples_are_refused() {
    let place = Place::new();
    views(&place);
    place.write("data.csv", table(12));
    let line = |other: &str| format!("train one.npz --method crc --views {other} -o m");
    place.refuses(&line("fewer.npz"), 3, &["same samples", "one.npz has 60", "fewer.npz has 59"]);
    place.refuses(&line("others.npz"), 3, &["sample 7", "label", "one.npz", "others.npz"]);
    place.refuses(&line("missing.npz"), 3, &["missing.npz"]);
    place.refuses(&line("two.npz left=1-2"), 2, &["not both"]);
    place.refuses("train data.csv --views data.csv -o m", 2, &["is a table", "name groups"]);
    place.refuses("compare one.npz --views two.npz --test one.npz --methods crc", 2, &["--views"]);
    place.refuses("train - --views two.npz -o m", 2, &["stdin"]);
    place.refuses("train one.npz --views two.npz --out-of-core -o m", 2, &["all samples in memory"]);
    place.refuses("reproduce eyaleb --data one.npz --views two.npz", 2, &["one set of features"]);
    assert!(!place.path("m").exists());
}
