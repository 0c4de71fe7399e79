//! Which samples train and which test: two files, index vectors, groups, splits that data carry, learning curves.

use crate::{Place, table};
use serde_json::Value;

fn of<'a>(json: &'a Value, method: &str) -> &'a Value {
    let results = json["results"].as_array().unwrap();
    results.iter().find(|row| row["method"] == method && row["in_use"] == true).unwrap()
}

/// The first rows of a table, and the others under the same header.
fn cut(table: &str, rows: usize) -> (String, String) {
    let lines: Vec<&str> = table.lines().collect();
    let part = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let rest: Vec<&str> = [&lines[..1], &lines[rows + 1..]].concat();
    (part(&lines[..=rows]), part(&rest))
}

/// A vector of whole numbers as NumPy saves it.
fn npy(values: &[i64]) -> Vec<u8> {
    let head = format!("{{'descr': '<i8', 'fortran_order': False, 'shape': ({},), }}", values.len());
    let padded = format!("{head:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(padded.as_bytes());
    values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
    bytes
}

#[test]
fn two_files_are_the_split_that_one_file_would_carry() {
    let place = Place::new();
    let whole = table(10);
    let (train, test) = cut(&whole, 18);
    let marked: String = whole
        .lines()
        .enumerate()
        .map(|(i, line)| {
            format!(
                "{line},{}\n",
                if i == 0 {
                    "is_train"
                } else if i <= 18 {
                    "1"
                } else {
                    "0"
                }
            )
        })
        .collect();
    place.write("train.csv", &train);
    // Columns of the second file may stand in another order.
    let turned = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        format!("{},{},{},{},{}\n", cells[4], cells[3], cells[2], cells[1], cells[0])
    };
    place.write("test.csv", test.lines().map(turned).collect::<String>());
    place.write("whole.csv", marked);
    let two = place.json("compare train.csv --test test.csv --methods auto,ridge,knn --json");
    let one = place.json("compare whole.csv --methods auto,ridge,knn --json");
    for method in ["auto", "ridge", "knn"] {
        assert_eq!(of(&two, method)["confusion"], of(&one, method)["confusion"]);
    }
    assert_eq!((&two["data"]["samples"], &two["data"]["path"]), (&30.into(), &"train.csv + test.csv".into()));
    place.json("sweep train.csv --test test.csv --method crc --param kappa --values 0.1,1 --json");
    place.refuses("compare train.csv --test test.csv --folds 3", 2, &["--test says what tests"]);
    place.refuses("compare train.csv --test test.csv --train-per-class 3", 2, &["cannot be used with"]);
    place.write("narrow.csv", "a,b,label\n1,2,ant\n");
    place.refuses("compare train.csv --test narrow.csv", 3, &["narrow.csv", "`c`"]);
    place.write("strange.csv", "a,b,c,d,label\n1,2,3,4,dog\n");
    place.refuses("compare train.csv --test strange.csv", 3, &["class `dog` has no training sample"]);
}

#[test]
fn index_vectors_are_splits_and_those_that_count_from_one_are_told() {
    let place = Place::new();
    place.write("data.csv", table(8));
    place.write("train.npy", npy(&(0..12).collect::<Vec<_>>()));
    let splits = r#"{"schema": "atomlearn.splits/1", "splits": [{"train": [0,1,2,3,4,5,6,7,8,9,10,11], "test": [12,13,14,15,16,17,18,19,20,21,22,23]}]}"#;
    place.write("splits.json", splits);
    let run = place.run("compare data.csv --methods ridge,knn --splits train.npy --json");
    assert!(run.code == 0 && run.err.contains("count from 0"), "{}", run.err);
    let vector: Value = serde_json::from_str(&run.out).unwrap();
    let file = place.json("compare data.csv --methods ridge,knn --splits splits.json --json");
    assert_eq!(of(&vector, "ridge")["confusion"], of(&file, "ridge")["confusion"]);
    place.ok("tune data.csv --method crc --grid kappa=0.1,1 --folds 2 --splits train.npy --json");
    let flags: Vec<i64> = (0..24).map(|i| i64::from(i < 12)).collect();
    place.write("flags.npy", npy(&flags));
    let masked = place.json("compare data.csv --methods ridge,knn --splits flags.npy --json");
    assert_eq!(of(&masked, "knn")["confusion"], of(&file, "knn")["confusion"]);
    place.write("from_one.npy", npy(&(13..=24).collect::<Vec<_>>()));
    place.refuses("compare data.csv --splits from_one.npy", 3, &["seem to count from 1", "--splits-from 1"]);
    place.ok("compare data.csv --methods knn --splits from_one.npy --splits-from 1");
    place.refuses("compare data.csv --splits-from 1", 2, &["--splits"]);
    place.refuses("compare data.csv --methods knn --splits splits.json --splits-from 1", 3, &["counts from 0"]);
    place.write("from_one.json", splits.replace("[0,", "[24,"));
    place.refuses("compare data.csv --splits from_one.json", 3, &["sample 24 does not exist", "take 1 from each"]);
}

/// Twelve people; all samples of one are nearly alike, and whose they are says nothing about others of the class.
fn people() -> String {
    let mut text = String::from("a,b,c,person,label\n");
    for person in 0..12 {
        for k in 0..4 {
            let value = |f: usize| ((person * 7 + f * 5) % 12) as f64 + 0.01 * ((k * 3 + f) % 5) as f64;
            text += &format!("{},{},{},p{person},{}\n", value(0), value(1), value(2), ["u", "v"][person % 2]);
        }
    }
    text
}

#[test]
fn no_group_is_on_both_sides_so_that_nobody_is_recognized() {
    let place = Place::new();
    place.write("people.csv", people());
    let line = "compare people.csv --methods knn --json";
    let recognized = of(&place.json(&format!("{line} --drop person")), "knn")["mean"].as_f64().unwrap();
    let grouped = place.json(&format!("{line} --groups person --save-splits splits.json"));
    let fair = of(&grouped, "knn")["mean"].as_f64().unwrap();
    assert!(recognized == 1.0 && fair < 0.8, "{recognized} {fair}");
    let splits: Value = serde_json::from_slice(&crate::read(&place.path("splits.json"))).unwrap();
    for split in splits["splits"].as_array().unwrap() {
        let people = |part: &str| {
            let places = split[part].as_array().unwrap();
            places.iter().map(|place| place.as_u64().unwrap() / 4).collect::<std::collections::BTreeSet<u64>>()
        };
        assert!(people("train").is_disjoint(&people("test")));
    }
    // With groups the interval is that of twelve people, not of 48 samples.
    let width = |json: &Value| {
        let ends = of(json, "knn")["ci95"].as_array().unwrap().clone();
        ends[1].as_f64().unwrap() - ends[0].as_f64().unwrap()
    };
    place.write("torn.json", r#"{"schema": "atomlearn.splits/1", "splits": [{"train": [0,4], "test": [1,5]}]}"#);
    place.refuses("compare people.csv --groups person --splits torn.json", 3, &["which are of one group"]);
    let samples = place.json(&format!("{line} --drop person --splits splits.json"));
    assert!(width(&grouped) > width(&samples), "{} {}", width(&grouped), width(&samples));
    assert_eq!(grouped["protocol"]["groups"], serde_json::json!({"column": "person", "number": 12}));
    let drawn = "compare people.csv --methods knn,ridge --groups person --train-per-class 8 --repeats 2";
    let text = place.ok(&format!("{drawn} --report people.html"));
    let how = "at least 8 training samples per class, 2 splits, 12 groups of column `person` kept whole";
    assert!(text.contains(how) && !text.contains("given training samples"), "{text}");
    assert_eq!(place.json(&format!("{drawn} --json"))["protocol"]["train_at_least"], 8);
    let page = String::from_utf8(crate::read(&place.path("people.html"))).unwrap();
    assert!(page.contains("at least 8 samples of every class") && page.contains("12 groups of column `person`"));
    place.ok("tune people.csv --method knn --groups person --folds 3");
    place.refuses("tune people.csv --method knn --groups person --folds 40", 3, &["12 groups", "fewer folds"]);
}

#[test]
fn other_splits_than_the_one_that_data_carry_are_warned_about() {
    let place = Place::new();
    let marked = |(i, line): (usize, &str)| {
        let flag = ["is_train", "1", "0"][if i == 0 { 0 } else { 1 + usize::from(i > 15) }];
        format!("{line},{flag}\n")
    };
    place.write("data.csv", table(8).lines().enumerate().map(marked).collect::<String>());
    for line in [
        "compare data.csv --methods ridge --train-per-class 3",
        "compare data.csv --methods ridge --folds 3",
        "tune data.csv --method crc --train-per-class 4 --folds 2",
    ] {
        let run = place.run(line);
        assert!(run.code == 0 && run.err.contains("have seen samples that are now tested"), "{line}: {}", run.err);
    }
    for line in ["compare data.csv --methods ridge", "tune data.csv --method crc --folds 2"] {
        let run = place.run(line);
        assert!(run.code == 0 && !run.err.contains("have seen"), "{line}: {}", run.err);
    }
}

#[test]
fn a_learning_curve_has_a_point_for_every_share_and_ends_at_the_comparison() {
    let place = Place::new();
    place.write("data.csv", table(20));
    let line = "compare data.csv --methods ridge,knn --train-per-class 16 --repeats 2 --learning-curve";
    let json = place.json(&format!("{line} --records runs.jsonl --json"));
    let curve: Vec<&Value> =
        json["learning_curve"].as_array().unwrap().iter().filter(|point| point["method"] == "knn").collect();
    let sizes: Vec<f64> = curve.iter().map(|point| point["n_train"].as_f64().unwrap()).collect();
    assert_eq!(sizes, [6.0, 12.0, 24.0, 48.0]);
    assert_eq!(curve[3]["mean"], of(&json, "knn")["mean"]);
    assert_eq!(json["results"].as_array().unwrap().len(), 2, "the parts are no results of their own");
    let text = place.ok(&format!("{line} --records runs.jsonl --resume --report page.html"));
    assert!(text.contains("accuracy % with") && text.contains("48 samples"), "{text}");
    place.ok("report runs.jsonl -o again.html");
    for page in ["page.html", "again.html"] {
        let page = String::from_utf8(crate::read(&place.path(page))).unwrap();
        assert!(page.contains("Would more samples help?"), "no learning curve");
    }
}

/// Two classes, one with a sixth of the samples of the other and hardly to be told from it.
fn unbalanced() -> String {
    let mut text = String::from("a,b,label\n");
    for i in 0..84 {
        let rare = i % 7 == 0;
        let (a, b) = ((i * 37 % 50) as f64 / 10.0, (i * 17 % 41) as f64 / 10.0);
        text += &format!("{},{},{}\n", a + f64::from(u8::from(rare)), b, if rare { "rare" } else { "usual" });
    }
    text
}

/// A seventh of the samples is rare: who never finds one is right on six sevenths, and has a balanced accuracy of one half.
fn guessing_is_measured_by_the_metric(place: &Place, line: &str) {
    let balanced = format!("{line} --resume --metric balanced-accuracy");
    let json = place.json(&format!("{balanced} --json"));
    assert!(json["majority"]["balanced_accuracy"].as_array().unwrap().iter().all(|value| *value == 0.5));
    for result in json["results"].as_array().unwrap() {
        let [low, high] = [0, 1].map(|end| result["score_ci95"][end].as_f64().unwrap());
        let score = result["score"].as_f64().unwrap();
        assert!(low < score && score < high && high - low < 0.5, "{result}");
    }
    let text = place.ok(&format!("{balanced} --report metric.html"));
    assert!(text.contains("balanced accuracy %") && text.contains("points of balanced accuracy"), "{text}");
    assert!(!text.contains("most frequent class (8"), "{text}");
    let page = String::from_utf8(crate::read(&place.path("metric.html"))).unwrap();
    assert!(page.contains("has the highest balanced accuracy on samples it has not seen"));
    assert!(page.contains("always guessing the most frequent class (50.00 %)"));
    // In every format the measure that ranks is a column of its own, with its interval, and the highest of it stands out.
    let best =
        json["results"].as_array().unwrap().iter().map(|result| result["score"].as_f64().unwrap()).fold(0.0, f64::max);
    let best = format!("{:.2}", 100.0 * best);
    let latex = place.ok(&format!("{balanced} --format latex"));
    assert!(latex.contains("Balanced accuracy (\\%)") && latex.contains(&format!("$\\mathbf{{{best} ")), "{latex}");
    assert!(latex.contains("$\\pm$: standard deviation over 8 splits"), "{latex}");
    let markdown = place.ok(&format!("{balanced} --format markdown"));
    assert!(markdown.contains("| balanced accuracy % | 95 % interval | accuracy %"), "{markdown}");
    assert!(markdown.contains(&format!("**{best} ")), "{markdown}");
    let csv = place.ok(&format!("{balanced} --format csv"));
    assert!(csv.lines().next().unwrap().ends_with(",metric,score,score_ci95_low,score_ci95_high"), "{csv}");
    let columns: Vec<usize> = csv.lines().map(|line| line.matches(',').count()).collect();
    assert!(columns.iter().all(|n| *n == columns[0]), "{csv}");
}

#[test]
fn the_metric_ranks_tests_and_tunes_and_unbalanced_data_are_noted() {
    let place = Place::new();
    place.write("data.csv", unbalanced());
    let line = "compare data.csv --methods ridge,knn,lda --folds 4 --records runs.jsonl";
    let run = place.run(&format!("{line} --json"));
    assert!(run.err.contains("classes are unbalanced (12 to 72 samples)"), "{}", run.err);
    let run = place.run(&format!("{line} --resume --metric balanced-accuracy --json"));
    assert!(run.code == 0 && !run.err.contains("unbalanced"), "{}", run.err);
    let json: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(json["protocol"]["metric"], "balanced-accuracy");
    let mean = |list: &Value| {
        let values: Vec<f64> = list.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
    for result in json["results"].as_array().unwrap() {
        assert!(near(result["score"].as_f64().unwrap(), mean(&result["balanced_accuracy"])), "{result}");
    }
    for test in json["tests"].as_array().unwrap() {
        let score = |who: &str| of(&json, test[who].as_str().unwrap())["score"].as_f64().unwrap();
        assert!(near(test["difference"].as_f64().unwrap(), score("a") - score("b")), "{test}");
        assert_eq!(test["test"], "crossed");
    }
    let f1 = place.json(&format!("{line} --resume --metric macro-f1 --json"));
    assert!(f1["tests"].as_array().unwrap().iter().all(|test| test["test"] == "corrected-resampled-t"));
    let text = place.ok(&format!("{line} --resume --metric macro-f1"));
    assert!(text.contains("Ranked and tested by macro F1") && text.contains("macro F1 has no interval"), "{text}");
    guessing_is_measured_by_the_metric(&place, line);
    let tuned = place.json("tune data.csv --method knn --grid k=1,15,31 --metric balanced-accuracy --folds 3 --json");
    assert_eq!(tuned["protocol"]["metric"], "balanced-accuracy");
    let best =
        tuned["points"].as_array().unwrap().iter().map(|point| point["score"].as_f64().unwrap()).fold(0.0, f64::max);
    let chosen = tuned["points"].as_array().unwrap().iter().find(|point| point["params"] == tuned["chosen"]).unwrap();
    assert_eq!(chosen["score"].as_f64().unwrap(), best);
    place.ok("report runs.jsonl --metric macro-f1 -o page.html");
    place.refuses("compare data.csv --metric auc", 2, &["possible values"]);
}
