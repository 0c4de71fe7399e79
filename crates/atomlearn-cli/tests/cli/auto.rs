//! `auto` and what hangs on it: the estimate, suspicious labels, groups, probabilities, explanations.

use crate::images::photos;
use crate::{Place, read, table};
use serde_json::Value;
use std::fmt::Write as _;

/// The row of [`labeled`] whose label is wrong, counted from 0.
const WRONG: usize = 16;

/// The usual table with an id column and one wrong label.
fn labeled() -> String {
    let mut text = String::new();
    for (j, line) in table(11).lines().enumerate() {
        let id = if j == 0 { "sample_id".into() } else { format!("s{:03}", j - 1) };
        let line = if j == WRONG + 1 { line.replace("bee", "cat") } else { line.into() };
        writeln!(text, "{id},{line}").unwrap();
    }
    assert!(text.lines().nth(WRONG + 1).unwrap().ends_with("cat"));
    text
}

/// Features that say nothing about the labels, from a small generator of its own; every sample comes `copies` times, hardly changed,
/// with the number of its family in front.
fn noise(families: usize, copies: usize) -> String {
    let mut state = 17u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    let mut text = String::from("family,a,b,c,label\n");
    for family in 0..families {
        let (values, label) = ([next(), next(), next()], if next() < 0.5 { "no" } else { "yes" });
        for _ in 0..copies {
            let [a, b, c] = values.map(|value| value + 1e-3 * next());
            writeln!(text, "f{family},{a},{b},{c},{label}").unwrap();
        }
    }
    text
}

fn cells(csv: &str) -> Vec<Vec<String>> {
    csv.lines().map(|line| line.split(',').map(str::to_string).collect()).collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

#[test]
fn one_command_tells_everything_and_the_next_one_works() {
    let place = Place::new();
    place.write("bees.csv", labeled());
    let run = place.run("auto bees.csv -o bees.model --report bees.html --suspicious check.csv");
    assert_eq!(run.code, 0, "{}", run.err);
    let told = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "33 samples, 4 features, 3 classes",
        "95 % interval",
        "always naming the largest class",
        "better than guessing",
        "weakest class",
        "most confused",
        "1 of 33 labels is contradicted",
        "s016",
        "kernel",
        "Written: model: bees.model; page: bees.html",
    ] {
        assert!(told.contains(words), "no `{words}` in\n{}", run.out);
    }
    let check = String::from_utf8(read(&place.path("check.csv"))).unwrap();
    let rows = cells(&check);
    assert_eq!((rows[0].join(","), rows.len()), ("id,label,proba,suggested".into(), 34));
    assert_eq!([&rows[1][0], &rows[1][1], &rows[1][3]], ["s016", "cat", "bee"]);
    let proba: Vec<f64> = rows[1..].iter().map(|row| row[2].parse().unwrap()).collect();
    assert!(proba.is_sorted() && proba[0] < 0.5 && proba[32] > 0.5, "{proba:?}");
    let page = String::from_utf8(read(&place.path("bees.html"))).unwrap();
    for part in ["<!doctype html>", "s016", "95 % interval", "Confusion matrix", "Suspicious labels", "What was chosen"]
    {
        assert!(page.contains(part), "no {part}");
    }
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("{{"));
    // What it suggests can be typed.
    let next = run.out.lines().last().unwrap().strip_prefix("Next: atomlearn ").unwrap().to_string();
    assert_eq!(next, "predict bees.model new.csv --proba");
    place.write("new.csv", labeled());
    assert!(place.ok(&next).starts_with("id,label,proba_ant,proba_bee,proba_cat\ns000,ant,"));
    // Without -o the suggestion is to keep the model, and nothing is written.
    let before = place.files();
    let last = place.ok("auto bees.csv --id sample_id").lines().last().unwrap().to_string();
    assert_eq!(last, "Next: atomlearn auto bees.csv --id sample_id -o bees.model");
    assert_eq!(place.files(), before);
    // The same again gives the same files, but for the command at the foot of the page.
    let content = |file: &str| {
        let bytes = read(&place.path(file));
        let foot = bytes.windows(8).position(|part| part == b"<footer>").unwrap_or(bytes.len());
        bytes[..foot].to_vec()
    };
    place.ok("auto bees.csv -o again.model --report again.html --suspicious again.csv --threads 1");
    for (one, two) in [("bees.model", "again.model"), ("bees.html", "again.html"), ("check.csv", "again.csv")] {
        assert!(content(one) == content(two), "{one}");
    }
}

#[test]
fn json_holds_the_estimate_and_its_parts_agree() {
    let place = Place::new();
    place.write("bees.csv", labeled());
    let json = place.json("auto bees.csv -o bees.model --json");
    assert_eq!((&json["schema"], &json["model"]), (&"atomlearn.auto/1".into(), &"bees.model".into()));
    let loo = &json["loo"];
    let confusion: Vec<Vec<f64>> = loo["confusion"].as_array().unwrap().iter().map(numbers).collect();
    let total: f64 = confusion.iter().flatten().sum();
    let right: f64 = (0..3).map(|c| confusion[c][c]).sum();
    let accuracy = loo["accuracy"].as_f64().unwrap();
    assert_eq!((total, accuracy), (33.0, right / total));
    let ci95 = numbers(&loo["ci95"]);
    assert!(ci95[0] < accuracy && accuracy < ci95[1] && loo["log_loss"].as_f64().unwrap() > 0.0);
    assert_eq!(loo["majority"].as_f64(), Some(12.0 / 33.0));
    for (c, class) in loo["per_class"].as_array().unwrap().iter().enumerate() {
        let n: f64 = confusion[c].iter().sum();
        assert_eq!((class["n"].as_f64(), class["recall"].as_f64()), (Some(n), Some(confusion[c][c] / n)));
        assert_eq!(class["class"], ["ant", "bee", "cat"][c]);
    }
    for chosen in json["chosen"].as_array().unwrap() {
        assert!(chosen["weight"].as_f64().unwrap() > 0.0 && chosen["kappa"].as_f64().unwrap() > 0.0);
        assert_eq!(chosen["gamma"].is_null(), chosen["kernel"] == "linear");
        assert!(["residual", "ridge", "discriminant"].contains(&chosen["reading"].as_str().unwrap()));
        assert!(["unit", "standard"].contains(&chosen["view"].as_str().unwrap()));
    }
    let first = &json["suspicious"][0];
    assert_eq!((&first["sample"], &first["id"]), (&WRONG.into(), &"s016".into()));
    assert_eq!((&first["label"], &first["suggested"]), (&"cat".into(), &"bee".into()));
    assert!(first["proba"].as_f64().unwrap() < 0.5 && json["warnings"].as_array().unwrap().is_empty());
    // What is stored with the model is the same, wherever it is looked at.
    let model = place.json("inspect bees.model --json");
    assert_eq!((&model["estimate"], &model["chosen"]), (loo, &json["chosen"]));
    let percent = format!("{:.2} % of 33 samples", 100.0 * accuracy);
    for line in ["inspect bees.model", "report --card bees.model"] {
        let text = place.ok(line).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&percent) && text.contains("largest class"), "{line}: {text}");
    }
    assert_eq!(place.json("train bees.csv -o trained.model --json")["method"], "auto");
    assert_eq!(place.json("inspect trained.model --json")["estimate"], *loo);
}

#[test]
fn a_given_split_keeps_the_rows_of_the_file() {
    let place = Place::new();
    let mut text = String::new();
    for (j, line) in labeled().lines().enumerate() {
        let flag = if j == 0 { "is_train".into() } else { u8::from(j % 5 != 1).to_string() };
        writeln!(text, "{line},{flag}").unwrap();
    }
    place.write("split.csv", text);
    let json = place.json("auto split.csv -o split.model --json --suspicious check.csv");
    assert_eq!((&json["samples"], &json["suspicious"][0]["sample"]), (&26.into(), &WRONG.into()));
    assert_eq!(json["next"], "atomlearn evaluate split.model split.csv");
    assert_eq!(cells(&String::from_utf8(read(&place.path("check.csv"))).unwrap()).len(), 27);
    place.ok("evaluate split.model split.csv");
}

#[test]
fn what_cannot_be_told_is_called_guessing_and_groups_find_it_out() {
    let place = Place::new();
    place.write("noise.csv", noise(60, 1).replace("family", "id"));
    let text = place.ok("auto noise.csv").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("not better than guessing") || text.contains("not be better than guessing"), "{text}");
    // Features that are all equal tell nothing, whatever rounding makes of them.
    let equal: String = (0..41).map(|j| format!("1.5,2,{}\n", if j % 3 == 0 { "no" } else { "yes" })).collect();
    place.write("equal.csv", format!("a,b,label\n{equal}"));
    let text = place.ok("auto equal.csv").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("not better than guessing"), "{text}");
    // Brothers and sisters betray each other, unless whole families are left out.
    place.write("families.csv", noise(60, 3));
    let apart = place.json("auto families.csv --drop family --json");
    let together = place.json("auto families.csv --groups family -o g.model --json");
    let accuracy = |json: &Value| json["loo"]["accuracy"].as_f64().unwrap();
    assert!(accuracy(&apart) > 0.95 && accuracy(&together) < 0.75, "{} {}", accuracy(&apart), accuracy(&together));
    assert_eq!(together["groups"], serde_json::json!({"column": "family", "number": 60}));
    assert!(place.ok("auto families.csv --groups family").contains("leave-one-group-out, 60 groups"));
    assert!(place.ok("inspect g.model").contains("60 groups"));
    // The column is no feature, also where it could be one, and later tables may have it or not.
    let model = place.json("inspect g.model --json");
    assert_eq!(model["feature_names"], serde_json::json!(["a", "b", "c"]));
    let found = place.ok("predict g.model families.csv");
    place.write(
        "new.csv",
        noise(60, 3).lines().map(|l| l.split_once(',').unwrap().1.to_string() + "\n").collect::<String>(),
    );
    assert_eq!(place.ok("predict g.model new.csv"), found);
    place.ok("train families.csv --groups family -o t.model");
    assert_eq!(place.json("inspect t.model --json")["estimate"], together["loo"]);
}

#[test]
fn groups_that_cannot_be_are_refused() {
    let place = Place::new();
    place.write("data.csv", noise(12, 2));
    place.refuses("train data.csv --method src --groups family -o m.model", 2, &["`src`", "auto", "--drop"]);
    place.refuses("auto data.csv --groups famly -o m.model", 3, &["famly", "did you mean `family`?"]);
    place.refuses("auto data.csv --groups label --y label", 3, &["`label`", "groups"]);
    place.refuses("train data.csv --groups family --out-of-core -o m.model", 2, &["--groups", "--out-of-core"]);
    place.write("holes.csv", noise(12, 2).replacen("f3,", ",", 1));
    place.refuses("auto holes.csv --groups family", 3, &["line 8", "`family`", "missing"]);
    place.write("data.libsvm", "1 1:0.5 2:1\n2 1:0.1 2:3\n1 1:0.6 2:1\n2 1:0.2 2:3\n");
    place.refuses("auto data.libsvm --groups g", 3, &["data.libsvm", "--groups"]);
    place.write(
        "one.csv",
        noise(12, 2)
            .lines()
            .enumerate()
            .map(|(j, line)| {
                let rest = line.split_once(',').unwrap().1;
                if j == 0 { format!("family,{rest}\n") } else { format!("f,{rest}\n") }
            })
            .collect::<String>(),
    );
    place.refuses("auto one.csv --groups family", 3, &["one group"]);
}

#[test]
fn a_variable_of_a_feature_file_can_hold_groups() {
    let place = Place::new();
    photos(&place, 6);
    place.ok("features photos --kind pixels --size 6x5 -o photos.npz");
    // Every image is a group of its own, so the estimate is that of leaving one out.
    let alone = place.json("auto photos.npz --json");
    let grouped = place.json("auto photos.npz --groups names --json");
    let loss = |json: &Value| json["loo"]["log_loss"].as_f64().unwrap();
    assert_eq!(alone["loo"]["confusion"], grouped["loo"]["confusion"]);
    assert!((loss(&alone) - loss(&grouped)).abs() < 1e-6 * loss(&alone).max(1.0));
    assert!(grouped["groups"]["number"].as_u64().unwrap() > 6);
    place.refuses("auto photos.npz --groups class_names", 3, &["class_names", "one per sample"]);
    place.refuses("auto photos.npz --groups nams", 3, &["nams", "did you mean `names`?"]);
    place.refuses("auto photos --features pixels --groups names", 2, &["--groups"]);
}

#[test]
fn duplicates_are_counted() {
    let place = Place::new();
    let text = table(10);
    let again: String = text.lines().skip(1).take(5).map(|line| format!("{line}\n")).collect();
    place.write("twins.csv", format!("{text}{again}"));
    let run = place.run("auto twins.csv");
    let words = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("10 training samples equal another one (duplicates)"), "{words}");
    let run = place.run("auto twins.csv --json");
    assert!(run.err.contains("duplicates"), "{}", run.err);
    let json: Value = serde_json::from_str(&run.out).unwrap();
    assert!(json["warnings"][0].as_str().unwrap().contains("duplicates"));
}

#[test]
fn probabilities_add_up_and_are_the_same_everywhere() {
    let place = Place::new();
    place.write("data.csv", table(8));
    place.ok("auto data.csv -o m.model");
    let csv = place.ok("predict m.model data.csv --proba");
    let rows = cells(&csv);
    assert_eq!(rows[0], ["sample", "label", "proba_ant", "proba_bee", "proba_cat"]);
    let json = place.json("predict m.model data.csv --proba --json");
    for (i, row) in rows[1..].iter().enumerate() {
        let proba: Vec<f64> = row[2..].iter().map(|cell| cell.parse().unwrap()).collect();
        assert!((proba.iter().sum::<f64>() - 1.0).abs() < 1e-12 && proba.iter().all(|p| (0.0..=1.0).contains(p)));
        let best = (0..3).max_by(|&a, &b| proba[a].total_cmp(&proba[b])).unwrap();
        assert_eq!(row[1], ["ant", "bee", "cat"][best]);
        // The very same numbers.
        assert_eq!(numbers(&json["proba"][i]), proba);
    }
    let both = cells(&place.ok("predict m.model data.csv --scores --proba"));
    assert_eq!(both[0][2..], ["score_ant", "score_bee", "score_cat", "proba_ant", "proba_bee", "proba_cat"]);
    assert_eq!(both[5][5..], rows[5][2..]);
    place.ok("train data.csv --method ridge -o r.model");
    place.refuses("predict r.model data.csv --proba", 2, &["`ridge`", "calibrated probabilities", "auto", "--scores"]);
}

#[test]
fn what_cannot_be_read_gets_a_row_without_a_label_on_demand() {
    let place = Place::new();
    place.write("data.csv", labeled());
    place.ok("auto data.csv -o m.model");
    let whole = cells(&place.ok("predict m.model data.csv --proba"));
    let mut lines: Vec<String> = labeled().lines().map(str::to_string).collect();
    lines[3] = "s002,1,,3,4,ant".into();
    lines[9] = "s008,1,oops,3,4,ant".into();
    place.write("holes.csv", lines.join("\n"));
    place.refuses("predict m.model holes.csv", 3, &["line 4", "missing"]);
    let run = place.run("predict m.model holes.csv --proba --skip-broken");
    assert!(run.code == 0 && run.err.contains("2 samples of 33") && run.err.contains("`s002`"), "{}", run.err);
    let rows = cells(&run.out);
    assert_eq!(rows.len(), whole.len());
    for (i, (row, expected)) in rows.iter().zip(&whole).enumerate() {
        match i {
            3 | 9 => assert_eq!(row[1..], ["", "", "", ""]),
            _ => assert_eq!(row, expected),
        }
        assert_eq!(row[0], expected[0]);
    }
    let json = place.json("predict m.model holes.csv --proba --skip-broken --json");
    assert!(json["labels"][2].is_null() && json["proba"][8].is_null() && json["labels"][0] == "ant");
    photos(&place, 3);
    place.ok("train photos --features pixels --size 6x5 -o p.model");
    let files = cells(&place.ok("predict p.model photos"));
    let broken = files[2][0].clone();
    place.write(&format!("photos/{broken}"), "no image");
    place.refuses("predict p.model photos", 3, &[&broken]);
    let rows = cells(&place.ok("predict p.model photos --skip-broken"));
    assert_eq!((rows[2].as_slice(), rows.len()), (&[broken, String::new(), String::new()][..], files.len()));
    assert_eq!((&rows[1], &rows[3]), (&files[1], &files[3]));
}

#[test]
fn a_decision_is_explained() {
    let place = Place::new();
    place.write("data.csv", labeled());
    place.ok("auto data.csv -o m.model");
    let labels = place.json("predict m.model data.csv --proba --json");
    let json = place.json("explain m.model data.csv --sample 4 --sample 20 --json");
    assert_eq!((&json["schema"], &json["model"]["method"]), (&"atomlearn.explain/1".into(), &"auto".into()));
    for (why, sample) in json["samples"].as_array().unwrap().iter().zip([4, 20]) {
        assert_eq!((&why["sample"], &why["label"]), (&sample.into(), &labels["labels"][sample]));
        assert_eq!((&why["id"], &why["proba"]), (&format!("s{sample:03}").into(), &labels["proba"][sample]));
        // The sample was trained on, so nothing is nearer than itself.
        assert_eq!((&why["nearest"][0]["sample"], &why["nearest"][0]["label"]), (&sample.into(), &why["label"]));
        let adds: Vec<Vec<f64>> = why["readings"].as_array().unwrap().iter().map(|r| numbers(&r["adds"])).collect();
        let logits: Vec<f64> = (0..3).map(|c| adds.iter().map(|add| add[c]).sum()).collect();
        let proba = numbers(&why["proba"]);
        assert!(((proba[0] / proba[1]).ln() - (logits[0] - logits[1])).abs() < 1e-6);
    }
    let text = place.ok("explain m.model data.csv");
    for words in ["sample 0, id s000: ant (0.", "before", "probability", "Nearest training samples", "30 more samples"]
    {
        assert!(text.contains(words), "no `{words}` in\n{text}");
    }
    place.refuses("explain m.model data.csv --sample 33", 2, &["--sample 33", "33 samples", "32"]);
    for (method, words) in [("lcdl-sv", "score, rule fused (in use)"), ("ridge", "score, rule"), ("crc", "Atoms")] {
        place.ok(&format!("train data.csv --method {method} -o other.model"));
        let text = place.ok("explain other.model data.csv --sample 1");
        assert!(text.contains(words) && text.contains("before"), "{method}: {text}");
    }
}

#[test]
fn text_of_the_file_commands_neither_terminal_nor_spreadsheet() {
    let place = Place::new();
    let text = labeled().replace("s016", "=1+\x1b[31m").replace("cat", "@cat");
    place.write("data.csv", text);
    let out = place.ok("auto data.csv --suspicious plain.csv");
    assert!(!out.contains('\x1b') && out.contains("=1+\\x1b[31m"), "{out}");
    place.ok("auto data.csv --suspicious safe.csv --excel-safe");
    let first = |name: &str| cells(&String::from_utf8(read(&place.path(name))).unwrap())[1].clone();
    assert_eq!((&first("plain.csv")[0][..2], &first("plain.csv")[1][..]), ("=1", "@cat"));
    assert_eq!((&first("safe.csv")[0][..3], &first("safe.csv")[1][..]), ("'=1", "'@cat"));
    place.refuses("auto data.csv --excel-safe", 2, &["--suspicious"]);
    place.refuses("auto data.csv -o -", 2, &["stdout"]);
}

#[test]
fn messy_tables_need_the_same_words_as_in_train() {
    let place = Place::new();
    let german = |(j, line): (usize, &str)| {
        let mut cells: Vec<String> = line.split(',').map(|cell| cell.replace('.', ",")).collect();
        if j == 2 {
            cells[1] = String::new();
        }
        cells.push(if j == 0 { "note" } else { "text" }.into());
        cells.join(";") + "\n"
    };
    place.write("messy.csv", labeled().lines().enumerate().map(german).collect::<String>());
    place.refuses("auto messy.csv --drop note -o m.model", 3, &["line 3", "--impute"]);
    let json = place.json("auto messy.csv --drop note --impute median -o m.model --json");
    assert_eq!((&json["data"]["features"], &json["table"]["decimal"]), (&4.into(), &",".into()));
    assert_eq!(json["suspicious"][0]["id"], "s016");
    let run = place.run_with("auto - --json", &table(8));
    assert_eq!(run.code, 0, "{}", run.err);
    let json: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(json["data"]["path"], "stdin");
}

#[test]
fn numbers_are_told_in_words_that_fit() {
    let place = Place::new();
    // Nothing tells the classes apart, so that none of one is found.
    let rows: String = (0..40).map(|j| format!("1,{}\n", ["a", "b"][j % 2])).collect();
    place.write("one.csv", format!("x,class\n{rows}"));
    let text = place.ok("auto one.csv --report one.html");
    assert!(text.contains("40 samples, 1 feature, 2 classes") && !text.contains("-0.00"), "{text}");
    let page = String::from_utf8(crate::read(&place.path("one.html"))).unwrap();
    assert!(page.contains("40 samples of 1 feature in 2 classes."), "{page}");
    assert!(page.contains("<code>atomlearn auto one.csv --report one.html</code>"), "{page}");
}
