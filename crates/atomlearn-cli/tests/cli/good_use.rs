//! What works.

use crate::{Place, read, table};
use serde_json::Value;

#[test]
fn help_names_every_command_and_gives_examples() {
    let place = Place::new();
    let help = place.ok("--help");
    for word in [
        "demo",
        "methods",
        "inspect",
        "train",
        "predict",
        "evaluate",
        "compare",
        "tune",
        "sweep",
        "reproduce",
        "report",
        "serve",
        "Examples:",
    ] {
        assert!(help.contains(word), "{word}");
    }
    let commands = ["tune", "sweep", "reproduce", "rank", "demo", "methods", "inspect", "train", "predict", "evaluate"];
    for command in commands.into_iter().chain(["compare", "report", "serve", "completions"]) {
        assert!(place.ok(&format!("{command} --help")).contains("Example"), "{command}");
    }
    assert!(place.ok("completions bash").contains("atomlearn"));
    assert!(place.ok("--version").starts_with("atomlearn "));
}

#[test]
fn methods_are_listed_and_described() {
    let place = Place::new();
    let all = place.json("methods --json");
    assert_eq!(all["schema"], "atomlearn.methods/1");
    let methods = all["methods"].as_array().unwrap();
    assert!(methods.iter().any(|method| method["key"] == "crc"));
    for method in methods {
        let key = method["key"].as_str().unwrap();
        let text = place.ok(&format!("methods {key}"));
        for param in method["params"].as_array().unwrap() {
            assert!(text.contains(param["name"].as_str().unwrap()), "{key}: {param}");
            assert!(param["doc"].is_string() && param["domain"].is_string());
        }
    }
}

#[test]
fn train_predict_evaluate_inspect() {
    let place = Place::new();
    place.write("data.csv", table(8));
    assert!(place.ok("train data.csv --method crc --set kappa=0.01 -o crc.model").contains("24 samples"));

    let predicted = place.ok("predict crc.model data.csv --scores");
    let mut lines = predicted.lines();
    assert_eq!(lines.next(), Some("sample,label,score_ant,score_bee,score_cat"));
    assert_eq!(lines.clone().count(), 24);
    assert!(lines.next().unwrap().starts_with("0,ant,"));
    place.ok("predict crc.model data.csv --scores -o out.csv");
    assert_eq!(read(&place.path("out.csv")), predicted.as_bytes());
    assert_eq!(place.run_with("predict crc.model - --scores", &table(8)).out, predicted);

    // Labels are not needed, and a last column that is a feature is not taken for labels.
    let unlabeled = |line: &str| line.rsplit_once(',').map(|(features, _)| features.to_string());
    place.write("new.csv", table(8).lines().filter_map(unlabeled).collect::<Vec<_>>().join("\n"));
    assert_eq!(place.ok("predict crc.model new.csv --scores"), predicted);

    let json = place.json("predict crc.model data.csv --scores --json");
    assert_eq!((&json["schema"], json["labels"].as_array().unwrap().len()), (&Value::from("atomlearn.predict/1"), 24));
    // Full precision: text and JSON hold the same bits.
    let second: Vec<&str> = predicted.lines().nth(2).unwrap().split(',').collect();
    assert_eq!(second[2].parse::<f64>().unwrap(), json["scores"][1][0].as_f64().unwrap());

    let result = place.json("evaluate crc.model data.csv --json");
    assert_eq!(result["schema"], "atomlearn.evaluate/1");
    assert_eq!((&result["accuracy"], &result["part"]), (&Value::from(1.0), &Value::from("all")));
    assert_eq!(result["confusion"][0][0], 8);
    let text = place.ok("evaluate crc.model data.csv");
    assert!(text.contains("all of it: 24 samples") && text.contains("Confusion matrix"), "{text}");

    let model = place.json("inspect crc.model --json");
    assert_eq!((&model["kind"], &model["params"]["kappa"]), (&Value::from("model"), &Value::from(0.01)));
    assert_eq!(model["info"]["time"], "2023-11-14T22:13:20Z");
    assert!(place.ok("inspect crc.model").contains("kappa=0.01"));
    let data = place.json("inspect data.csv --json");
    assert_eq!((&data["kind"], &data["samples"], &data["features"]), (&"data".into(), &24.into(), &4.into()));
    assert!(place.ok("inspect data.csv").contains("3, of 8 to 8 samples"));
}

#[test]
fn a_given_split_trains_on_one_part_and_tests_on_the_other() {
    let place = Place::new();
    let with_split = |text: String| {
        let lines = text.lines().enumerate().map(|(i, line)| match i {
            0 => format!("{line},is_train"),
            i => format!("{line},{}", u8::from(i <= 15)),
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    place.write("data.csv", with_split(table(8)));
    assert!(place.ok("train data.csv --method ridge -o m.model").contains("15 samples (the is_train part)"));
    let result = place.json("evaluate m.model data.csv --json");
    assert_eq!((&result["part"], &result["samples"]), (&Value::from("test"), &Value::from(9)));
    assert_eq!(place.ok("predict m.model data.csv").lines().count(), 25);
    let compared = place.json("compare data.csv --methods ridge,crc --json");
    assert_eq!(compared["protocol"]["repeats"], 1);
    assert_eq!(compared["tests"][0]["test"], "mcnemar");
}

#[test]
fn compare_follows_the_contract() {
    let place = Place::new();
    place.write("data.csv", table(8));
    let line = "compare data.csv --methods all --train-per-class 5 --repeats 3 --seed 1 --set crc.kappa=0.1 --quiet";
    let result = place.json(&format!("{line} --json --save-splits s.json --report r.html --records runs.jsonl"));
    assert_eq!(result["schema"], "atomlearn.compare/1");
    assert_eq!(result["data"]["samples"], 24);
    assert_eq!((&result["protocol"]["train_per_class"], &result["protocol"]["seed"]), (&5.into(), &1.into()));
    assert_eq!(result["protocol"]["prep"], "unit");
    let results = result["results"].as_array().unwrap();
    for entry in results {
        for list in ["accuracy", "train_seconds", "test_seconds", "train_cpu_seconds", "test_cpu_seconds"] {
            assert_eq!(entry[list].as_array().unwrap().len(), 3, "{list}");
        }
        assert!(entry["mean"].is_f64() && entry["std"].is_f64() && entry["ci95"][1].is_f64());
    }
    let crc = results.iter().find(|entry| entry["method"] == "crc").unwrap();
    assert_eq!(crc["params"]["kappa"], 0.1);
    assert_eq!(result["tests"].as_array().unwrap().len(), results.len() * (results.len() - 1) / 2);
    for field in ["version", "threads", "cpu", "time"] {
        assert!(!result["provenance"][field].is_null());
    }
    assert!(String::from_utf8(read(&place.path("r.html"))).unwrap().contains("Glossary"));

    // The same from the split file, from records alone, and the page again.
    let accuracies =
        |value: &Value| value["results"].as_array().unwrap().iter().map(|r| r["accuracy"].clone()).collect();
    let again: Vec<Value> =
        accuracies(&place.json("compare data.csv --methods all --splits s.json --set crc.kappa=0.1 --json"));
    assert_eq!(again, accuracies(&result) as Vec<Value>);
    place.refuses(&format!("{line} --records runs.jsonl"), 2, &["exists already", "--resume"]);
    let before = read(&place.path("runs.jsonl"));
    let resumed = place.json(&format!("{line} --records runs.jsonl --resume --json"));
    assert_eq!((&resumed["results"], read(&place.path("runs.jsonl"))), (&result["results"], before));
    place.ok("report runs.jsonl -o again.html");
    assert_eq!(read(&place.path("again.html")), read(&place.path("r.html")));

    assert!(place.ok(&format!("{line} --format latex")).contains("\\bottomrule"));
    assert!(place.ok(&format!("{line} --format csv")).starts_with("method,rule,"));
    assert!(place.ok(&format!("{line} --format markdown")).starts_with("| method |"));
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let place = Place::new();
    place.write("data.csv", table(30));
    let methods = place.json("methods --json");
    for method in methods["methods"].as_array().unwrap() {
        let key = method["key"].as_str().unwrap();
        for threads in [1, 2] {
            place
                .ok(&format!("train data.csv --method {key} --prep pca:3,unit -o {threads}.model --threads {threads}"));
            place.ok(&format!("predict {threads}.model data.csv --scores -o {threads}.csv --threads {threads}"));
        }
        assert!(read(&place.path("1.model")) == read(&place.path("2.model")), "{key}: models differ");
        assert!(read(&place.path("1.csv")) == read(&place.path("2.csv")), "{key}: scores differ");
    }
}

#[test]
fn awkward_but_valid_data_are_learned() {
    let place = Place::new();
    let lines: Vec<String> = table(6).lines().map(str::to_string).collect();
    // A constant feature, and every sample twice.
    let constant = |(i, line): (usize, &String)| format!("{},{line}", if i == 0 { "e" } else { "7" });
    let doubled: Vec<String> = lines.iter().chain(&lines[1..]).cloned().collect();
    place.write("data.csv", doubled.iter().enumerate().map(constant).collect::<Vec<_>>().join("\n"));
    for prep in ["unit", "standard", "pca:98%,unit"] {
        let compared =
            place.json(&format!("compare data.csv --methods all --train-per-class 8 --repeats 2 --prep {prep} --json"));
        for result in compared["results"].as_array().unwrap() {
            assert!(result["mean"].as_f64().unwrap() > 0.3, "{prep}: {}", result["method"]);
        }
    }
}

#[test]
fn colours_only_where_they_belong() {
    let place = Place::new();
    place.write("data.csv", table(6));
    let line = "compare data.csv --methods crc,ridge --train-per-class 4 --repeats 2";
    assert!(!place.ok(line).contains('\x1b'));
    assert!(place.ok(&format!("{line} --color always")).contains("\x1b[1m"));
    let output = place.command().args(line.split_whitespace()).env("NO_COLOR", "1").output().unwrap();
    assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b));
    // No bars where stderr is not a terminal, and nothing at all on stderr if quiet.
    assert_eq!(place.run(&format!("{line} --quiet")).err, "");
}

#[test]
fn a_checkpoint_changes_no_bit_and_the_state_at_the_end_gives_the_model_at_once() {
    let place = Place::new();
    place.write("data.csv", table(12));
    let methods = place.json("methods --json");
    for method in methods["methods"].as_array().unwrap() {
        let key = method["key"].as_str().unwrap();
        place.ok(&format!("train data.csv --method {key} -o {key}.plain"));
        let plain = read(&place.path(&format!("{key}.plain")));
        let line = format!("train data.csv --method {key} --checkpoint {key}.state --json");
        for (resume, output) in [("", "kept"), ("--resume", "again")] {
            let trained = place.json(&format!("{line} {resume} -o {key}.{output}"));
            assert!(read(&place.path(&format!("{key}.{output}"))) == plain, "{key} {resume}");
            // What does not iterate has no state, nor has what found no iteration best.
            let iterates = trained["n_iter"].as_u64().is_some_and(|iterations| iterations > 0);
            assert_eq!(place.path(&format!("{key}.state")).exists(), iterates, "{key}");
        }
    }
}

#[test]
fn what_is_left_open_is_chosen_told_and_kept() {
    let place = Place::new();
    place.write("data.csv", table(12));
    for (key, name, way) in [("crc", "kappa", "leave-one-out"), ("lcdl-sv", "eta1", "cross-validation")] {
        let trained = place.json(&format!("train data.csv --method {key} -o auto.model --json"));
        let value = trained["chosen"][name].as_f64().unwrap();
        assert!(trained["notes"][0].as_str().unwrap().contains(way), "{}", trained["notes"]);
        let inspected = place.json("inspect auto.model --json");
        assert_eq!((&inspected["params"][name], &inspected["info"]["chosen"][name]), (&value.into(), &value.into()));
        assert!(place.ok("inspect auto.model").contains(&format!("{name} {value}")));
        let written = trained["chosen"][name].to_string();
        assert!(place.ok("report --card auto.model").contains(&format!("| `{name}` | {written} |")), "{written}");
        place.ok(&format!("train data.csv --method {key} --set {name}=auto -o word.model"));
        assert_eq!(place.ok("predict word.model data.csv --scores"), place.ok("predict auto.model data.csv --scores"));
        let given = place.json(&format!("train data.csv --method {key} --set {name}=0.5 -o given.model --json"));
        assert!(given["params"][name] == 0.5 && given["chosen"].get(name).is_none());
        let compared =
            format!("compare data.csv --methods {key} --train-per-class 6 --repeats 2 --records {key}.jsonl --json");
        let compared = place.json(&compared);
        assert_eq!(compared["results"].as_array().unwrap().len(), if key == "crc" { 1 } else { 3 });
        let records = String::from_utf8(read(&place.path(&format!("{key}.jsonl")))).unwrap();
        assert!(records.lines().all(|line| line.contains("\"chosen\":{")), "{records}");
    }
}

#[test]
fn who_wants_to_train_longer_resumes_with_more_iterations() {
    let place = Place::new();
    place.write("data.csv", table(12));
    for line in ["--method fddl --set tol=0", "--method dksvd", "--method lcdl-sv --set tol=0 --set lambda2=1e-3"] {
        let line = format!("train data.csv {line}");
        place.ok(&format!("{line} --set max_iter=6 -o whole"));
        place.ok(&format!("{line} --set max_iter=3 --checkpoint state -o short"));
        place.ok(&format!("{line} --set max_iter=6 --checkpoint state --resume -o long"));
        assert!(read(&place.path("whole")) == read(&place.path("long")), "{line}");
        place.refuses(
            &format!("{line} --set max_iter=5 --checkpoint state --resume -o m"),
            2,
            &["`max_iter` = 5", "6 iterations"],
        );
        std::fs::remove_file(place.path("state")).unwrap();
    }
}

#[test]
fn demo_runs_every_method_and_writes_the_page() {
    let place = Place::new();
    let run = place.run("demo --json");
    assert_eq!(run.code, 0, "{}", run.err);
    let result: Value = serde_json::from_str(&run.out).unwrap();
    let methods = place.json("methods --json")["methods"].as_array().unwrap().len();
    let results = result["results"].as_array().unwrap();
    assert!(results.len() > methods);
    assert_eq!((&results[0]["method"], &results[0]["prep"]), (&"auto".into(), &"none".into()));
    let variants: Vec<&str> = results.iter().filter_map(|row| row["variant"].as_str()).collect();
    assert_eq!(variants, ["authors-code", "authors-code", "authors-code", "tuned", "tuned", "tuned"]);
    assert!(results.iter().all(|row| row["variant"].is_null() || row["method"] == "lcdl-sv"));
    assert!(results.iter().all(|row| row["tuned"].is_null() == (row["variant"] != "tuned")));
    assert_eq!(place.files(), ["atomlearn-report.html"]);
}
