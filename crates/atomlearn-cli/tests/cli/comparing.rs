//! `compare` with no word about methods or splits, cross-validation, and tables that are learned from training parts alone.

use crate::{Place, read, table};
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn of<'a>(json: &'a Value, method: &str) -> &'a Value {
    let results = json["results"].as_array().unwrap();
    results.iter().find(|row| row["method"] == method && row["in_use"] == true).unwrap()
}

#[test]
fn compare_needs_nothing_but_data() {
    let place = Place::new();
    place.write("data.csv", table(10));
    let json = place.json("compare data.csv --json");
    assert_eq!(json["schema"], "atomlearn.compare/1");
    let protocol = &json["protocol"];
    assert_eq!((&protocol["folds"], &protocol["repeats"], &protocol["seed"]), (&5.into(), &2.into(), &0.into()));
    assert_eq!((&protocol["train_per_class"], &protocol["prep"]), (&Value::Null, &"unit".into()));
    let methods: Vec<&str> =
        json["results"].as_array().unwrap().iter().map(|r| r["method"].as_str().unwrap()).collect();
    assert_eq!(methods[0], "auto");
    assert!(["ridge", "crc", "lda", "linear-svm", "knn"].iter().all(|fast| methods.contains(fast)), "{methods:?}");
    assert!(!methods.contains(&"fddl"), "{methods:?}");
    for row in json["results"].as_array().unwrap() {
        assert_eq!(row["accuracy"].as_array().unwrap().len(), 10);
        let counts = row["confusion"].as_array().unwrap().iter().flat_map(|counts| counts.as_array().unwrap());
        let tested: u64 = counts.map(|n| n.as_u64().unwrap()).sum();
        assert_eq!(tested, 60, "every sample is tested twice");
    }
    assert_eq!((&of(&json, "auto")["prep"], &of(&json, "ridge")["prep"]), (&"none".into(), &Value::Null));

    let text = place.ok("compare data.csv --methods auto,ridge --report page.html");
    assert!(text.contains("stratified 5-fold cross-validation, twice, seed 0"), "{text}");
    assert!(text.contains("Every sample is tested twice"), "{text}");
    assert!(text.contains("preprocessing unit (auto: none, it scales samples itself)"), "{text}");
    let page = String::from_utf8(read(&place.path("page.html"))).unwrap();
    assert!(page.contains("Stratified 5-fold cross-validation") && page.contains("it scales samples itself"));
    // With preprocessing of the user's, `auto` takes it as it is.
    let given = place.json("compare data.csv --methods auto,ridge --prep standard --folds 3 --json");
    assert_eq!((&of(&given, "auto")["prep"], &of(&given, "auto")["params"]["views"]), (&Value::Null, &"given".into()));
}

#[test]
fn what_forbids_to_rule_methods_out_stands_beside_the_verdict() {
    let place = Place::new();
    let scaled = |line: &str| match line.split_once(',') {
        Some((first, rest)) if first != "a" => format!("{},{rest}\n", 1e4 * first.parse::<f64>().unwrap()),
        _ => format!("{line}\n"),
    };
    place.write("data.csv", table(10).lines().map(scaled).collect::<String>());
    let line = "compare data.csv --report page.html";
    let cure = format!("type `atomlearn {line} --prep standard`");
    let text = place.ok(line);
    assert!(
        text.contains("Caution: With preprocessing `unit`, features differ in scale") && text.contains(&cure),
        "{text}"
    );
    let page = String::from_utf8(read(&place.path("page.html"))).unwrap();
    let verdict = &page[page.find("class=\"verdict").unwrap()..page.find("id=\"accuracy0").unwrap()];
    assert!(verdict.contains("features differ in scale") && verdict.contains("--prep standard"), "{verdict}");
    let cautions = place.json("compare data.csv --methods auto,ridge --json")["cautions"].clone();
    assert!(cautions[0].as_str().unwrap().contains("--prep standard"), "{cautions}");
    for format in ["latex", "markdown"] {
        assert!(
            place.ok(&format!("compare data.csv --methods auto,ridge --format {format}")).contains("Caution: With")
        );
    }
    let cured = place.json("compare data.csv --methods auto,ridge --prep standard --json");
    assert_eq!(cured["cautions"], Value::Array(Vec::new()));
    let two = place.ok("compare data.csv --methods auto,ridge --prep standard --train-per-class 4 --repeats 2");
    assert!(two.contains("Caution: Two splits are too few to rank by"), "{two}");
    assert!(
        two.contains("± is the standard deviation over the 2 splits") && two.contains("* marks the highest"),
        "{two}"
    );
}

#[test]
fn folds_can_be_saved_and_their_statistics_allow_for_overlap() {
    let place = Place::new();
    // Hard enough that folds differ.
    let mixed = table(12).replace("ant\n", "ant?\n").replacen("ant?", "bee", 3).replace("ant?", "ant");
    place.write("data.csv", mixed);
    let line = "compare data.csv --methods ridge,knn --json";
    let made = place.json(&format!("{line} --folds 4 --repeats 3 --seed 5 --save-splits folds.json"));
    assert_eq!((&made["protocol"]["folds"], &made["protocol"]["repeats"]), (&4.into(), &3.into()));
    let again = place.json(&format!("{line} --splits folds.json --paired-test corrected-resampled-t"));
    assert_eq!((&again["protocol"]["folds"], &again["protocol"]["repeats"]), (&4.into(), &3.into()));
    for method in ["ridge", "knn"] {
        assert_eq!(of(&made, method)["accuracy"], of(&again, method)["accuracy"]);
        assert_eq!(of(&made, method)["ci95"], of(&again, method)["ci95"]);
    }
    // Nadeau and Bengio with 9 test samples for 27 training samples in each of 12 splits, from the definition.
    let (a, b) = (numbers(&of(&made, "ridge")["accuracy"]), numbers(&of(&made, "knn")["accuracy"]));
    assert_eq!(a.len(), 12);
    let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
    let moments = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (mean, values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64)
    };
    let (mean, variance) = moments(&differences);
    assert!(variance > 0.0, "{differences:?}");
    let statistic = again["tests"][0]["statistic"].as_f64().unwrap();
    let expected = mean / ((1.0 / 12.0 + 9.0 / 27.0) * variance).sqrt();
    assert!((statistic - expected).abs() < 1e-9, "{statistic} {expected}");
    assert_eq!(made["tests"][0]["test"], "crossed");
}

/// The table with a column that makes its first rows the training part.
fn with_split(table: &str, training: usize) -> String {
    let flag = |row: usize| if row <= training { "1" } else { "0" };
    let mut lines = table.lines();
    let head = format!("{},is_train\n", lines.next().unwrap());
    lines.enumerate().fold(head, |text, (i, line)| text + line + "," + flag(i + 1) + "\n")
}

#[test]
fn a_given_split_is_used_unless_folds_are_asked_for() {
    let place = Place::new();
    place.write("data.csv", with_split(&table(6), 9));
    let json = place.json("compare data.csv --methods ridge --json");
    assert_eq!((&json["protocol"]["folds"], &json["protocol"]["repeats"]), (&Value::Null, &1.into()));
    let json = place.json("compare data.csv --methods ridge --folds 3 --json");
    assert_eq!((&json["protocol"]["folds"], &json["protocol"]["repeats"]), (&3.into(), &2.into()));
    // With --tune they are those within the training part.
    let json = place.json("compare data.csv --methods ridge --tune --grid lambda=0.1,1 --folds 3 --json");
    assert_eq!(json["protocol"]["folds"], Value::Null);
}

/// A table with gaps and categories, whose last row has this value and this color.
fn gaps(value: &str, color: &str) -> String {
    let mut text = String::from("a,b,color,label\n");
    for i in 0..12 {
        let (class, own) = (["u", "v"][i % 2], ["red", "blue", "blue"][i % 3]);
        let a = if i % 3 == 0 { String::new() } else { format!("{}", i as f64 / 10.0 + (i % 2) as f64) };
        text += &format!("{a},{},{own},{class}\n", (i * 5 % 7) as f64 / 7.0);
    }
    text + &format!("{value},0.5,{color},v\n")
}

/// Predictions of every run but of the last sample, which is the last to be tested.
fn predictions(place: &Place, records: &str) -> Vec<Vec<u64>> {
    let text = String::from_utf8(read(&place.path(records))).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let found =
        |line: Value| line["rules"][0]["predictions"].as_array().unwrap().iter().map(|p| p.as_u64().unwrap()).collect();
    lines
        .map(found)
        .map(|mut all: Vec<u64>| {
            all.pop();
            all
        })
        .collect()
}

#[test]
fn test_rows_have_no_say_in_fills_and_categories() {
    let place = Place::new();
    let train: Vec<usize> = (0..9).collect();
    place.write(
        "splits.json",
        format!(r#"{{"schema":"atomlearn.splits/1","splits":[{{"train":{train:?},"test":[9,10,11,12]}}]}}"#),
    );
    for (name, value, color) in [("calm", "0.3", "red"), ("wild", "1e9", "green")] {
        place.write(&format!("{name}.csv"), gaps(value, color));
        let line = "--impute mean --splits splits.json --methods ridge,knn,auto,lda --prep none";
        place.ok(&format!("compare {name}.csv {line} --records {name}.jsonl"));
        place.ok(&format!(
            "sweep {name}.csv --method ridge --param lambda --values 0.1,1 --prep none --impute mean --splits splits.json \
                           --records {name}-sweep.jsonl"
        ));
    }
    let tune = "--method ridge --grid lambda=0.01,1 --prep none --impute mean --splits splits.json --folds 3 --json";
    let points = |name: &str| place.json(&format!("tune {name}.csv {tune}"))["points"].clone();
    assert_eq!(predictions(&place, "calm.jsonl"), predictions(&place, "wild.jsonl"));
    assert_eq!(predictions(&place, "calm-sweep.jsonl"), predictions(&place, "wild-sweep.jsonl"));
    assert_eq!(points("calm"), points("wild"));
}

#[test]
fn a_model_knows_only_the_categories_of_its_training_rows() {
    let place = Place::new();
    place.write("data.csv", with_split(&gaps("0.3", "green"), 12));
    place.ok("train data.csv --method ridge --impute median -o model");
    let names = &place.json("inspect model --json")["feature_names"];
    assert_eq!(
        names.as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect::<Vec<_>>(),
        ["a", "b", "color=blue", "color=red"]
    );
}
