//! Samples and classes that count more than others.

use crate::images::photos;
use crate::{Place, table};
use serde_json::json;

/// The usual table with a last feature column `share`: one, but for every third sample `heavy`.
fn weighted(heavy: &str) -> String {
    let row = |(j, line): (usize, &str)| match j {
        0 => format!("share,{line}\n"),
        j if j % 3 == 0 => format!("{heavy},{line}\n"),
        _ => format!("1,{line}\n"),
    };
    table(9).lines().enumerate().map(row).collect()
}

/// The same with whole weights written out: so many copies of every row, and no weights.
fn written_out(heavy: &str) -> String {
    let rows = weighted(heavy);
    let row = |line: &str| {
        let (weight, rest) = line.split_once(',').unwrap();
        format!("{rest}\n").repeat(weight.parse().unwrap_or(1))
    };
    rows.lines().map(row).collect()
}

fn scores(place: &Place, model: &str) -> Vec<f64> {
    let csv = place.ok(&format!("predict {model} new.csv --scores"));
    let rows = csv.lines().skip(1);
    rows.flat_map(|row| row.split(',').skip(2).map(|v| v.parse().unwrap()).collect::<Vec<f64>>()).collect()
}

#[test]
fn a_weight_is_the_sample_so_many_times_and_no_feature() {
    let place = Place::new();
    place.write("new.csv", table(5));
    for (heavy, methods) in [("2", "ridge lda"), ("0", "ridge auto")] {
        place.write("weighted.csv", weighted(heavy));
        place.write("copies.csv", written_out(heavy));
        for method in methods.split(' ') {
            let set = match method {
                "ridge" => "--set lambda=0.1",
                "lda" => "--set shrinkage=0.2",
                _ => "",
            };
            let train = |data: &str, model: &str| {
                place.ok(&format!("train {data} --method {method} {set} --prep none -o {model}"));
            };
            train("weighted.csv --weights share", "w.model");
            train("copies.csv", "c.model");
            let (w, c) = (scores(&place, "w.model"), scores(&place, "c.model"));
            assert!(w.len() == c.len() && w.len() > 15);
            assert!(w.iter().zip(&c).all(|(w, c)| (w - c).abs() < 1e-8 * c.abs().max(1.0)), "{method} {heavy}");
            train("weighted.csv --drop share", "without.model");
            assert!(scores(&place, "without.model").iter().zip(&w).any(|(a, b)| (a - b).abs() > 1e-4), "{method}");
            let model = place.json("inspect w.model --json");
            assert_eq!(model["feature_names"], json!(["a", "b", "c", "d"]));
        }
    }
}

#[test]
fn balanced_classes_count_alike_as_weights_that_are_given() {
    let place = Place::new();
    place.write("new.csv", table(5));
    // Eight ants, four bees, twelve cats.
    let (mut ants, mut bees) = (0, 0);
    let kept: String = table(12)
        .lines()
        .filter(|line| {
            ants += usize::from(line.ends_with("ant"));
            bees += usize::from(line.ends_with("bee"));
            !(line.ends_with("ant") && ants > 8 || line.ends_with("bee") && bees > 4)
        })
        .map(|line| format!("{line}\n"))
        .collect();
    place.write("uneven.csv", kept);
    let train = |how: &str, model: &str| {
        place.json(&format!("train uneven.csv --method ridge --set lambda=0.1 {how} -o {model} --json"))
    };
    let told = train("--class-weights balanced", "balanced.model");
    assert_eq!(told["weights"], json!({"class_weights": "balanced"}));
    train("--class-weights ant=1,bee=2,cat=0.6666666666666666", "given.model");
    let (balanced, given) = (scores(&place, "balanced.model"), scores(&place, "given.model"));
    assert!(balanced.iter().zip(&given).all(|(a, b)| (a - b).abs() < 1e-10));
    train("", "plain.model");
    assert!(scores(&place, "plain.model").iter().zip(&given).any(|(a, b)| (a - b).abs() > 1e-3));
    // A class that counts nothing is none.
    train("--class-weights bee=0", "two.model");
    assert_eq!(place.json("inspect two.model --json")["classes"], json!(["ant", "cat"]));
    // Both flags together multiply, and `auto` takes them.
    place.write("weighted.csv", weighted("2"));
    let both = place.json("auto weighted.csv --weights share --class-weights bee=3 -o both.model --json");
    assert_eq!(both["weights"], json!({"column": "share", "class_weights": "bee=3"}));
    assert_eq!(place.json("inspect both.model --json")["info"]["weights"], both["weights"]);
}

#[test]
fn weights_that_cannot_be_are_refused() {
    let place = Place::new();
    place.write("data.csv", weighted("2"));
    let refused = |flags: &str, code: i32, words: &[&str]| {
        place.refuses(&format!("train data.csv -o m.model {flags}"), code, words);
    };
    refused("--method src --weights share", 2, &["--weights", "`src`", "auto", "ridge"]);
    refused("--method lcdl-sv --class-weights balanced", 2, &["--class-weights", "`lcdl-sv`", "auto"]);
    refused("--weights sahre", 3, &["sahre", "did you mean `share`?"]);
    refused("--weights label --y label", 3, &["`label`", "weights"]);
    refused("--class-weights bees=2", 2, &["`bees`", "ant, bee, cat"]);
    refused("--class-weights bee", 2, &["balanced", "LABEL=WEIGHT"]);
    refused("--class-weights bee=-1", 2, &["`bee`", "not negative"]);
    refused("--weights share --out-of-core", 2, &["--weights", "--out-of-core"]);
    for wrong in ["-1", "", "many", "inf"] {
        place.write("wrong.csv", weighted(wrong));
        place.refuses("auto wrong.csv --weights share", 3, &["line 4", "`share`", "not negative"]);
    }
    place.write("none.csv", weighted("0").replace("\n1,", "\n0,"));
    place.refuses("auto none.csv --weights share", 3, &["every sample is zero"]);
    place.write("data.libsvm", "1 1:0.5 2:1\n2 1:0.1 2:3\n1 1:0.6 2:1\n2 1:0.2 2:3\n");
    place.refuses("auto data.libsvm --weights w", 3, &["data.libsvm", "--weights"]);
    photos(&place, 4);
    place.refuses("auto photos --features pixels --weights w", 2, &["--weights"]);
    place.ok("features photos --kind pixels --size 6x5 -o photos.npz");
    place.refuses("auto photos.npz --weights class_names", 3, &["class_names", "one per sample"]);
}
