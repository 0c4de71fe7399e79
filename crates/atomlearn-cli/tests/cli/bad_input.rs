//! What is refused: exit code, words, and no file left behind.

use crate::{Place, read, table};

const TRAIN: &str = "train data.csv --method crc -o out.model";

#[test]
fn bad_data() {
    let place = Place::new();
    let with = |content: &str, code: i32, words: &[&str]| {
        place.write("data.csv", content);
        place.refuses(TRAIN, code, words);
    };
    let good = table(4);
    let spoil = |value: &str| good.replacen("\n1,", &format!("\n{value},"), 1);
    with(&spoil("nan"), 3, &["data.csv", "line 2, column 1 (`a`) is missing", "--impute"]);
    with(&spoil("inf"), 3, &["line 2, column 1 (`a`) is inf", "finite"]);
    with(&spoil("abc"), 3, &["data.csv", "abc"]);
    with("", 3, &["data.csv"]);
    with("a,b,label\n", 3, &["data.csv"]);
    with("a,b,label\n1,2,x\n2,3,x\n", 3, &["only one class (`x`)"]);
    with("a,b,label\n1,2,x\n2,y\n", 3, &["data.csv"]);
    place.write("data.csv", &good);
    place.write("plain.csv", "a,b\n1,2\n2,3\n");
    place.refuses("train plain.csv --y none --method crc -o out.model", 3, &["plain.csv", "no labels", "--y"]);
    place.write("labels.txt", "x\ny\nx\n");
    place.refuses("train plain.csv --labels labels.txt --method crc -o out.model", 3, &["labels", "2", "found 3"]);
    place.refuses("train no-such.mat --method crc -o out.model", 3, &["no-such.mat"]);
    place.write("data.xyz", "hello");
    place.refuses("train data.xyz --method crc -o out.model", 3, &["data.xyz", ".mat"]);
    place.write("cut.mat", &b"MATLAB 5.0 MAT-file, made up"[..]);
    place.refuses("train cut.mat --method crc -o out.model", 3, &["cut.mat"]);
    place.refuses("inspect cut.mat", 3, &["cut.mat"]);
    place.refuses("compare data.csv --methods crc --train-per-class 4", 3, &["class `ant` has 4 samples"]);
}

#[test]
fn wrong_usage() {
    let place = Place::new();
    place.write("data.csv", table(4));
    place.refuses("trian data.csv", 2, &["train"]);
    place.refuses("train data.csv --method crcc -o out.model", 2, &["unknown method `crcc`", "did you mean `crc`?"]);
    place.refuses(&format!("{TRAIN} --set kapa=1"), 2, &["unknown parameter `kapa`", "did you mean `kappa`?"]);
    place.refuses(&format!("{TRAIN} --set kappa=-1"), 2, &["`kappa` = -1", "must be auto or a number > 0"]);
    place.refuses(&format!("{TRAIN} --set kappa=x"), 2, &["`kappa`", "must be auto or a number > 0"]);
    place.refuses(&format!("{TRAIN} --set kappa"), 2, &["name=value"]);
    place.refuses(&format!("{TRAIN} --set kappa=1 --set kappa=2"), 2, &["given twice"]);
    place.refuses(&format!("{TRAIN} --prep pcaa:3"), 2, &["pcaa", "did you mean `pca`?"]);
    place.refuses(&format!("{TRAIN} --prep pca:0"), 2, &["pca:0"]);
    place.refuses(&format!("{TRAIN} --y lable"), 3, &["lable", "did you mean `label`?"]);
    place.refuses(&format!("{TRAIN} --threads 0"), 2, &["--threads"]);
    place.refuses(&format!("{TRAIN} --mehtod crc"), 2, &["--method"]);
    place.refuses("train data.csv --method crc -o no/such/folder.model", 2, &["does not exist"]);
    place.refuses("train data.csv --method crc -o -", 2, &["stdout"]);
    place.refuses("", 2, &["Usage"]);
    place.refuses("sweep data.csv --method crc --param kappa", 2, &["--train-per-class N", "--splits"]);
    place.refuses("compare data.csv --train-per-class 2 --folds 3", 2, &["--folds", "--train-per-class"]);
    place.refuses("compare data.csv --folds 1", 2, &["at least two"]);
    place.refuses("compare data.csv --folds 99", 3, &["use fewer folds"]);
    place.write("lone.csv", "a,b,class\n1,2,x\n2,3,y\n3,5,z\n");
    place.refuses("compare lone.csv", 3, &["every class has a single sample", "two samples or more"]);
    place.write("same.csv", "a,b,class\n1,2,x\n2,3,x\n3,5,x\n");
    place.refuses("compare same.csv", 3, &["error: only one class (`x`)"]);
    place.refuses("compare data.csv --methods crc,crc --train-per-class 2", 2, &["named twice"]);
    let compare = "compare data.csv --methods crc,ridge --train-per-class 2";
    place.refuses(&format!("{compare} --set kappa=1"), 2, &["crc.kappa=1"]);
    place.refuses(&format!("{compare} --set linear-svm.c=1"), 2, &["`linear-svm` is not among the methods"]);
    place.refuses(&format!("{compare} --set rigde.lambda=1"), 2, &["did you mean `ridge`?"]);
    place.refuses(&format!("{compare} --resume"), 2, &["--records"]);
    place.write("s.json", "{}");
    place.refuses("compare data.csv --methods crc --splits s.json", 3, &["s.json", "not a split file"]);
    place.write("runs.jsonl", "{}\n");
    place.refuses("report runs.jsonl -o page.html", 3, &["runs.jsonl", "line 1"]);
}

#[test]
fn bad_models() {
    let place = Place::new();
    place.write("data.csv", table(4));
    place.ok("train data.csv --method crc -o good.model");
    let whole = read(&place.path("good.model"));
    place.write("bad.model", &whole[..whole.len() - 9]);
    for line in ["predict bad.model data.csv -o out.csv", "evaluate bad.model data.csv", "inspect bad.model"] {
        place.refuses(line, 3, &["bad.model", "not a whole atomlearn model file"]);
    }
    let mut altered = whole.clone();
    let last = altered.len() - 3;
    altered[last] ^= 1;
    place.write("bad.model", &altered);
    place.refuses("predict bad.model data.csv -o out.csv", 3, &["bad.model", "altered or damaged"]);
    place.write("bad.model", "");
    place.refuses("predict bad.model data.csv -o out.csv", 3, &["bad.model"]);
    place.refuses("predict missing.model data.csv -o out.csv", 3, &["missing.model"]);

    place.write("wide.csv", "a,b,c,d,e,f\n1,2,3,4,5,6\n");
    place.ok("predict good.model wide.csv -o out.csv");
    std::fs::remove_file(place.path("out.csv")).unwrap();
    place.write("wide.csv", "1,2,3,4,5,6\n");
    place.refuses("predict good.model wide.csv -o out.csv", 3, &["wide.csv", "6 columns", "takes 4 or 5"]);
    place.refuses("evaluate good.model wide.csv", 3, &["wide.csv"]);
    place.write("nan.csv", "a,b,c,d\n1,2,3,4\n1,nan,3,4\n");
    place.refuses("predict good.model nan.csv -o out.csv", 3, &["line 3, column 2 (`b`) is missing"]);
    place.write("other.csv", "a,b,c,d,label\n1,2,3,4,dog\n");
    place.refuses("evaluate good.model other.csv", 3, &["unknown class `dog`", "not trained on it"]);
    place.refuses("predict good.model data.csv --rule nonsense -o out.csv", 2, &["unknown rule `nonsense`"]);
}

#[test]
fn more_atoms_than_samples_is_refused_or_warned_about() {
    let place = Place::new();
    place.write("data.csv", table(4));
    let methods: serde_json::Value = place.json("methods --json");
    for method in methods["methods"].as_array().unwrap() {
        let has_atoms = method["params"].as_array().unwrap().iter().any(|param| param["name"] == "atoms_per_class");
        if has_atoms {
            let key = method["key"].as_str().unwrap();
            let run = place.run(&format!("train data.csv --method {key} --set atoms_per_class=9 -o {key}.model"));
            match run.code {
                // Rows of an analysis operator and pairs of DPL are not drawn from the samples; any number is fine.
                0 => assert!(
                    run.err.contains("warning:") || ["cadl", "sadl", "lctl", "dpl", "dpl-sv"].contains(&key),
                    "{key}: trained without a word"
                ),
                2 | 3 => assert!(run.err.contains("atoms_per_class"), "{key}: {}", run.err),
                code => panic!("{key}: exit code {code}: {}", run.err),
            }
        }
    }
}
