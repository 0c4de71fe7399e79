//! Tuning, sweeps, reproduction, ranks.

use crate::{Place, read, table};
use serde_json::Value;

#[test]
fn tune_writes_parameters_that_train_sweep_and_compare_take() {
    let place = Place::new();
    place.write("data.csv", table(10));
    let line = "tune data.csv --method crc --grid kappa=0.001,0.1 --folds 3 --train-per-class 6 --seed 2";
    let json = place.json(&format!("{line} --json"));
    assert_eq!(json["schema"], "atomlearn.tune/1");
    assert_eq!((&json["protocol"]["samples"], &json["protocol"]["folds"]), (&18.into(), &3.into()));
    assert_eq!((json["points"].as_array().unwrap().len(), &json["failed"]), (2, &0.into()));
    assert_eq!(json["results"][0]["method"], "crc");
    assert_eq!(json["results"][0]["accuracy"].as_array().unwrap().len(), 3);
    assert!(json["one_se"]["points"].as_u64().unwrap() >= 1);

    let text = place.ok(&format!("{line} --prep center,unit -o best.toml"));
    assert!(text.contains("chosen: kappa=") && text.contains("within one standard error"), "{text}");
    let toml = String::from_utf8(read(&place.path("best.toml"))).unwrap();
    assert!(toml.contains("method = \"crc\"") && toml.contains("prep = \"center,unit\""), "{toml}");
    place.ok("train data.csv --params best.toml -o tuned.model");
    let model = place.json("inspect tuned.model --json");
    assert_eq!((&model["method"], &model["prep"]), (&"crc".into(), &"center,unit".into()));
    assert_eq!(model["params"]["kappa"], json["chosen"]["kappa"]);
    place.ok("train data.csv --params best.toml --set kappa=0.5 --prep unit -o own.model");
    assert_eq!(place.json("inspect own.model --json")["params"]["kappa"], 0.5);
    let compared = place.json("compare data.csv --methods crc,ridge --params best.toml --train-per-class 6 --json");
    assert_eq!(compared["results"][0]["params"]["kappa"], json["chosen"]["kappa"]);

    place.refuses("train data.csv --params best.toml --method ridge -o x.model", 2, &["the file is for `crc`"]);
    place.refuses("compare data.csv --methods ridge --params best.toml --train-per-class 6", 2, &["not among"]);
    place.write("bad.toml", "method = \"crc\"\n[params]\nkapa = 1\n");
    place.refuses("train data.csv --params bad.toml -o x.model", 3, &["bad.toml", "did you mean `kappa`"]);
    place.refuses("tune data.csv --method crc --grid kapa=1", 2, &["did you mean `kappa`"]);
    place.refuses("tune data.csv --method crc --grid kappa=0", 2, &["must be auto or a number > 0"]);
    place.refuses("tune data.csv --method crc --grid kappa=1,1", 2, &["twice"]);
    place.refuses("tune data.csv --method crc --set kappa=1", 2, &["nothing to tune"]);
    place.refuses("tune data.csv --method crc --folds 1", 2, &["at least two"]);
    place.refuses("tune data.csv --method crc --split 3 --splits missing.json", 3, &["missing.json"]);
}

#[test]
fn tune_records_resume_and_the_outcome_does_not_depend_on_threads() {
    let place = Place::new();
    place.write("data.csv", table(10));
    let line = "tune data.csv --method lcdl-sv --grid lambda1=0.001,0.1 --grid lambda2=1e-6 --grid eta1=0.01,0.1 \
                --grid max_iter=0,2 --folds 3 --json";
    let timeless = |mut json: Value| {
        json["seconds"] = 0.into();
        json["cpu_seconds"] = 0.into();
        json["provenance"]["threads"] = 0.into();
        json
    };
    let one = timeless(place.json(&format!("{line} --threads 1 --records one.jsonl")));
    assert_eq!(one, timeless(place.json(&format!("{line} --threads 2"))));
    let lines = String::from_utf8(read(&place.path("one.jsonl"))).unwrap();
    assert_eq!(lines.lines().count(), 6);
    // As after a crash: two whole records and a half.
    let part: Vec<&str> = lines.split_inclusive('\n').collect();
    place.write("part.jsonl", format!("{}{}{}", part[0], part[1], &part[2][..40]));
    assert_eq!(one, timeless(place.json(&format!("{line} --records part.jsonl --resume"))));
    assert_eq!(String::from_utf8(read(&place.path("part.jsonl"))).unwrap().lines().count(), 6);
    place.refuses(&format!("{line} --records part.jsonl"), 2, &["--resume"]);
    place.write("other.jsonl", "{\"schema\": \"x\"}\n");
    place.refuses(&format!("{line} --records other.jsonl --resume"), 3, &["line 1"]);
}

#[test]
fn compare_tunes_within_every_split() {
    let place = Place::new();
    place.write("data.csv", table(10));
    let line = "compare data.csv --methods crc,ridge --train-per-class 6 --repeats 2 --tune --folds 3 \
                --grid crc.kappa=0.001,0.1 --set ridge.lambda=0.5";
    let json = place.json(&format!("{line} --json --records runs.jsonl"));
    let crc = &json["results"][0];
    assert_eq!((crc["tuned"].as_array().unwrap().len(), &crc["params"]["kappa"]), (2, &Value::Null));
    assert_eq!((&json["results"][1]["params"]["lambda"], &json["results"][1]["tuned"]), (&0.5.into(), &Value::Null));
    assert!(place.ok(line).contains("crc"));
    let again = place.json(&format!("{line} --json --records runs.jsonl --resume"));
    assert_eq!(again["results"], json["results"]);
    place.refuses("compare data.csv --methods crc --train-per-class 6 --grid kappa=1", 2, &["--tune"]);
}

#[test]
fn sweep_shows_a_parameter_at_work() {
    let place = Place::new();
    place.write("data.csv", table(10));
    let line =
        "sweep data.csv --method lcdl-sv --param eta2 --values 0.5,5 --set max_iter=2 --train-per-class 6 --repeats 2";
    let json = place.json(&format!("{line} --json --records sweep.jsonl"));
    assert_eq!((&json["schema"], &json["param"]), (&"atomlearn.sweep/1".into(), &"eta2".into()));
    let results = json["results"].as_array().unwrap();
    assert_eq!(results.len(), 6);
    assert_eq!((&results[5]["value"], &results[5]["rule"]), (&5.0.into(), &"fused".into()));
    assert_eq!(results[0]["accuracy"].as_array().unwrap().len(), 2);
    assert_eq!(results[0]["ci95"].as_array().unwrap().len(), 2);
    assert!(place.ok(line).contains("fused %"));
    assert!(place.ok("sweep data.csv --method crc --param kappa --train-per-class 6").contains("kappa"));
    place.refuses("sweep data.csv --method crc --param kapa --train-per-class 6", 2, &["did you mean `kappa`"]);
    place.refuses("sweep data.csv --method lcdl-sv --param knn --train-per-class 6", 2, &["--values"]);
    place.refuses("sweep data.csv --method crc --param kappa --values 1,1 --train-per-class 6", 2, &["twice"]);
}

#[test]
fn reproduce_says_what_it_needs_and_runs_on_what_fits() {
    let place = Place::new();
    for key in ["eyaleb", "ar", "scene15", "caltech101", "lfw", "ablation"] {
        let text = place.ok(&format!("reproduce {key}"));
        assert!(text.contains("Layout:") && text.contains("--data FILE") && text.contains("demo"), "{text}");
    }
    place.refuses("reproduce eyale", 2, &["did you mean `eyaleb`"]);
    place.refuses("reproduce eyaleb --data missing.mat", 3, &["missing.mat"]);
    place.write("data.csv", table(25));
    place.refuses(
        "reproduce eyaleb --data data.csv --methods ridge",
        2,
        &["`ridge` is a method, but has no row in the table of eyaleb"],
    );
    let line = "reproduce eyaleb --data data.csv --prep unit --repeats 1 --methods src,lcdl-sv";
    let json = place.json(&format!("{line} --json --records runs.jsonl"));
    assert_eq!(json["schema"], "atomlearn.reproduce/1");
    let rows = json["results"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["name"], &rows[0]["published"]), (4, &"SRC".into(), &0.9.into()));
    assert!(json["notes"][0].as_str().unwrap().contains("75 samples of 3 classes"));
    let text = place.ok(&format!("{line} --records runs.jsonl --resume"));
    assert!(text.contains("LCDL-SV (Res)") && text.contains("97.8"), "{text}");
    assert!(text.contains("* marks the highest of ours") && text.contains("One split is too few"), "{text}");
    let latex = place.ok(&format!("{line} --records runs.jsonl --resume --format latex"));
    assert!(latex.contains("\\toprule") && latex.contains("\\textbf{"), "{latex}");
    assert_eq!(place.ok(&format!("{line} --records runs.jsonl --resume --format csv")).lines().count(), 5);
}

#[test]
fn an_ablation_runs_on_any_data_and_makes_a_page() {
    let place = Place::new();
    place.write("data.csv", table(12));
    let line = "reproduce ablation --data data.csv --prep unit --train-per-class 5,8 --repeats 2 --methods lcdl-sv";
    let json = place.json(&format!("{line} --json --report page.html"));
    let rows = json["results"].as_array().unwrap();
    assert_eq!((json["baseline"].as_str(), rows.len()), (Some("whole"), 2 * 7 * 3));
    let part = |row: &&serde_json::Value| row["name"] == "without locality" && row["rule"] == "svm";
    let found: Vec<_> = rows.iter().filter(part).collect();
    assert!(found.len() == 2 && found.iter().all(|row| row["difference"].is_number() && row["p_holm"].is_number()));
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("The method part by part") && page.contains("without locality"), "{page}");
    assert!(page.contains("class=\"sortable published\"") && page.contains("Two splits are too few to rank"), "{page}");
    place.refuses("reproduce ablation --data data.csv --train-per-class 0", 2, &["--train-per-class"]);
}

#[test]
fn rank_compares_across_data_sets() {
    let place = Place::new();
    for (name, per_class) in [("a", 8), ("b", 9)] {
        place.write(&format!("{name}.csv"), table(per_class));
        let line = format!("compare {name}.csv --methods crc,ridge,src --train-per-class 5 --records {name}.jsonl");
        place.ok(&line);
    }
    let json = place.json("rank a.jsonl b.jsonl --json");
    assert_eq!((&json["schema"], json["methods"].as_array().unwrap().len()), (&"atomlearn.rank/1".into(), 3));
    let sum: f64 = json["average_ranks"].as_array().unwrap().iter().map(|rank| rank.as_f64().unwrap()).sum();
    assert!((sum - 6.0).abs() < 1e-12);
    assert!(place.ok("rank a.jsonl b.jsonl --svg ranks.svg").contains("too few to conclude"));
    let diagram = std::fs::read_to_string(place.path("ranks.svg")).unwrap();
    assert!(diagram.starts_with("<svg") && diagram.contains("ridge") && diagram.trim_end().ends_with("</svg>"));
    place.refuses("rank a.jsonl", 3, &["two data sets"]);
    // What cannot be ranked is named, and no statistic is infinite.
    place.ok("compare a.csv --methods knn --train-per-class 5 --records a.jsonl --resume");
    let text = place.ok("rank a.jsonl b.jsonl");
    assert!(text.contains("Not ranked, since not in every file: knn (not run on b.csv)"), "{text}");
    assert!(text.contains("Ranked by accuracy") && text.contains("two data sets cannot rank"), "{text}");
    assert!(!text.contains("inf") && !text.contains("= <"), "{text}");
    let json = place.json("rank a.jsonl b.jsonl --json");
    assert_eq!((&json["metric"], &json["left_out"][0]["missing"][0]), (&"accuracy".into(), &"b.csv".into()));
}

#[test]
fn methods_are_compared_over_samples_and_splits_and_against_guessing() {
    let place = Place::new();
    place.write("data.csv", table(12));
    let line = "compare data.csv --methods crc,ridge,knn --train-per-class 6 --repeats 3 --records r.jsonl";
    let json = place.json(&format!("{line} --json"));
    assert_eq!(json["tests"].as_array().unwrap().len(), 3);
    for test in json["tests"].as_array().unwrap() {
        assert_eq!(test["test"], "crossed");
        assert!(test["p_holm"].as_f64().unwrap() >= test["p"].as_f64().unwrap());
    }
    assert_eq!(json["majority"]["accuracy"].as_array().unwrap().len(), 3);
    for result in json["results"].as_array().unwrap() {
        let [low, high] = [0, 1].map(|end| result["ci95"][end].as_f64().unwrap());
        assert!(0.0 <= low && low < high && high <= 1.0, "{result}");
        assert_eq!(result["balanced_accuracy"].as_array().unwrap().len(), 3);
        assert_eq!(result["macro_f1"].as_array().unwrap().len(), 3);
    }
    let other = place.json(&format!("{line} --resume --paired-test corrected-resampled-t --json"));
    assert_eq!(other["tests"][0]["test"], "corrected-resampled-t");
    let shown = place.ok(&format!("{line} --resume"));
    assert!(shown.contains("majority") && shown.contains("Holm"), "{shown}");
    let csv = place.ok(&format!("{line} --resume --format csv"));
    assert!(csv.lines().last().unwrap().starts_with("majority,,3,"), "{csv}");
    let latex = place.ok(&format!("{line} --resume --format latex"));
    assert!(latex.contains("% @inproceedings{crc,") && latex.contains("% @software{atomlearn,"), "{latex}");
    place.ok("report r.jsonl --paired-test corrected-resampled-t -o page.html");
    let page = String::from_utf8(read(&place.path("page.html"))).unwrap();
    assert!(page.contains("Nadeau and Bengio) over the splits"));
}

#[test]
fn entries_for_a_bibliography_are_printed() {
    let place = Place::new();
    let one = place.ok("cite lcdl-sv");
    assert!(one.contains("year = {2026},") && one.contains("url = {https://"), "{one}");
    assert!(place.ok("cite crc").contains("booktitle = {IEEE International Conference on Computer Vision (ICCV)}"));
    assert!(one.contains("@software{atomlearn,") && one.contains("author = {Yin and Wu and Chen}"), "{one}");
    assert_eq!(place.json("cite --json")["schema"], "atomlearn.cite/1");
    place.refuses("cite lcdlsv", 2, &["did you mean `lcdl-sv`"]);
}
