//! Outputs destroy nothing: neither what the command reads, nor files of another kind.

use crate::images::photos;
use crate::out_of_core::shards;
use crate::{PROGRAM, Place, read, table};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// One file of every kind, and something of every kind to read.
fn inputs() -> Place {
    let place = Place::new();
    place.write("data.csv", table(12));
    place.write("labels.txt", "ant\nbee\ncat\n".repeat(12));
    place.write("net.onnx", "a network");
    photos(&place, 2);
    place.ok("train data.csv --method crc -o crc.model");
    place.ok("train data.csv --method lcdl-sv --set max_iter=1 --checkpoint state -o lcdl.model");
    let compare = "compare data.csv --methods crc,ridge --train-per-class 6 --repeats 1";
    place.ok(&format!("{compare} --save-splits splits.json --records runs.jsonl --report page.html"));
    place.ok("tune data.csv --method crc --grid kappa=0.1,1 --folds 2 -o best.toml --records units.jsonl");
    place.ok("predict crc.model data.csv -o labels.csv");
    place.ok("predict crc.model data.csv --json -o labels.json");
    place.ok("features photos --kind pixels --size 6x5 -o photos.npz --save-map photos.map");
    place.ok("features photos --kind pixels --size 6x5 -o photos.mat");
    place.ok("auto data.csv --suspicious check.csv");
    place.ok("export crc.model --onnx crc.onnx");
    place.ok("report --card crc.model -o card.md");
    place.write("more.csv", table(13));
    place.ok("compare more.csv --methods crc,ridge --train-per-class 6 --repeats 1 --records more.jsonl");
    place.ok("rank runs.jsonl more.jsonl --svg ranks.svg");
    place
}

/// Every file with its content, sub-folders included.
fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            all.extend(content(&path));
        } else if path.is_file() {
            all.insert(path.display().to_string(), read(&path));
        }
    }
    all
}

/// Refused with exit code 2 and these words, and nothing is changed.
fn destroys_nothing(place: &Place, line: &str, words: &[&str]) {
    let before = content(&place.path(""));
    place.refuses(line, 2, words);
    assert!(content(&place.path("")) == before, "{line} changed a file");
}

#[test]
fn an_output_is_never_an_input() {
    let place = inputs();
    for (line, output, input) in [
        ("train data.csv --method crc -o", "data.csv", "data.csv"),
        ("auto data.csv -o", "data.csv", "data.csv"),
        ("auto data.csv --report", "data.csv", "data.csv"),
        ("auto data.csv --suspicious", "data.csv", "data.csv"),
        ("train data.csv --labels labels.txt --y none --method crc -o", "labels.txt", "labels.txt"),
        ("train data.csv --params best.toml -o", "best.toml", "best.toml"),
        ("train data.csv --method ksvd -o new.model --checkpoint", "data.csv", "data.csv"),
        ("train data.csv --method lcdl-sv -o new.model --resume --checkpoint", "data.csv", "data.csv"),
        ("train photos --map photos.map --method crc -o", "photos.map", "photos.map"),
        ("train photos --features onnx --onnx net.onnx --method crc -o", "net.onnx", "net.onnx"),
        ("predict crc.model data.csv -o", "data.csv", "data.csv"),
        ("predict crc.model data.csv -o", "crc.model", "crc.model"),
        ("predict crc.model labels.csv -o", "labels.csv", "labels.csv"),
        ("compare data.csv --methods crc --train-per-class 6 --report", "data.csv", "data.csv"),
        ("compare data.csv --methods crc --train-per-class 6 --save-splits", "data.csv", "data.csv"),
        ("compare data.csv --methods crc --train-per-class 6 --records", "data.csv", "data.csv"),
        ("compare data.csv --methods crc --train-per-class 6 --resume --records", "data.csv", "data.csv"),
        ("compare data.csv --methods crc --splits splits.json --save-splits", "splits.json", "splits.json"),
        ("compare data.csv --methods crc --params best.toml --train-per-class 6 --report", "best.toml", "best.toml"),
        ("tune data.csv --method crc -o", "data.csv", "data.csv"),
        ("tune data.csv --method crc --splits splits.json -o", "splits.json", "splits.json"),
        ("tune data.csv --method crc --records", "data.csv", "data.csv"),
        ("sweep data.csv --method crc --param kappa --train-per-class 6 --report", "data.csv", "data.csv"),
        ("sweep data.csv --params best.toml --param kappa --train-per-class 6 --records", "best.toml", "best.toml"),
        ("reproduce eyaleb --data data.csv --report", "data.csv", "data.csv"),
        ("rank runs.jsonl more.jsonl --svg", "more.jsonl", "more.jsonl"),
        ("report runs.jsonl -o", "runs.jsonl", "runs.jsonl"),
        ("report --card crc.model -o", "crc.model", "crc.model"),
        ("export crc.model --onnx", "crc.model", "crc.model"),
        ("features photos --map photos.map -o new.npz --save-map", "photos.map", "photos.map"),
        ("features photos --kind onnx --onnx net.onnx -o new.npz --save-map", "net.onnx", "net.onnx"),
    ] {
        let words = [&format!("{output}: is the same file as the input {input}")[..], "name another file"];
        destroys_nothing(&place, &format!("{line} {output}"), &words);
        destroys_nothing(&place, &format!("{line} {output} --force"), &words);
    }
}

#[cfg(unix)]
#[test]
fn other_names_of_an_input_are_seen_through() {
    let place = inputs();
    std::os::unix::fs::symlink("data.csv", place.path("soft.csv")).unwrap();
    std::fs::hard_link(place.path("data.csv"), place.path("hard.csv")).unwrap();
    std::os::unix::fs::symlink(place.path(""), place.path("here")).unwrap();
    let whole = place.path("data.csv").display().to_string();
    for output in ["soft.csv", "hard.csv", "./data.csv", "photos/../data.csv", "here/data.csv", &whole] {
        let words = [output, "the same file as the input data.csv"];
        destroys_nothing(&place, &format!("predict crc.model data.csv -o {output} --force"), &words);
    }
    destroys_nothing(&place, "predict crc.model soft.csv -o data.csv --force", &["input soft.csv"]);
    // Also if the input comes through stdin.
    let mut command = Command::new(PROGRAM);
    command.args(["predict", "crc.model", "-", "-o", "data.csv", "--force"]).current_dir(place.path(""));
    command.stdin(Stdio::from(std::fs::File::open(place.path("data.csv")).unwrap()));
    let output = command.output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && err.contains("the same file as the input stdin"), "{err}");
    assert_eq!(read(&place.path("data.csv")), table(12).as_bytes());
}

#[test]
fn files_of_an_input_folder_are_inputs() {
    let place = inputs();
    for (line, output) in [
        ("train photos --features pixels --method crc -o", "photos/down/00.pgm"),
        ("features photos --kind pixels -o new.npz --save-map", "photos/down/00.pgm"),
        ("compare photos --methods crc --train-per-class 1 --report", "photos/across/01.pgm"),
        (
            "compare data.csv --methods crc --train-per-class 6 --report new.html --images photos --save-splits",
            "photos/down/00.pgm",
        ),
    ] {
        let words = [output, "one of the files in the input folder photos"];
        destroys_nothing(&place, &format!("{line} {output} --force"), &words);
    }
    // What an earlier run wrote there is not one of them, unless it is data again.
    for _ in 0..2 {
        place.ok("train photos --features pixels --method crc -o photos/own.model");
        place.ok("predict photos/own.model photos -o photos/labels.csv");
    }
    place.ok("features photos --kind pixels -o photos/own.npz");
    destroys_nothing(&place, "features photos --kind pixels -o photos/own.npz", &["photos/own.npz", "input folder"]);

    let place = shards();
    let train = "train shards --method ridge --out-of-core -o";
    for output in ["shards/p1.npy", "shards/p0.labels.npy"] {
        destroys_nothing(&place, &format!("{train} {output} --force"), &[output, "in the input folder shards"]);
    }
    let line = "train shards/p0.npy --method ridge --out-of-core -o shards/p0.labels.npy --force";
    destroys_nothing(&place, line, &["the same file as the input shards/p0.labels.npy"]);
}

/// Commands that write one file, with the file of their kind that [`inputs`] has.
const WRITERS: [(&str, &str); 17] = [
    ("auto data.csv -o", "crc.model"),
    ("auto data.csv --report", "page.html"),
    ("auto data.csv --suspicious", "check.csv"),
    ("train data.csv --method crc -o", "crc.model"),
    ("predict crc.model data.csv -o", "labels.csv"),
    ("predict crc.model data.csv --scores -o", "labels.json"),
    ("compare data.csv --methods crc --train-per-class 6 --repeats 1 --report", "page.html"),
    ("compare data.csv --methods crc --train-per-class 6 --repeats 1 --save-splits", "splits.json"),
    ("sweep data.csv --method crc --param kappa --values 1,2 --train-per-class 6 --repeats 1 --report", "page.html"),
    ("tune data.csv --method crc --grid kappa=0.1,1 --folds 2 -o", "best.toml"),
    ("features photos --kind pixels -o", "photos.npz"),
    ("features photos --kind pixels -o", "photos.mat"),
    ("features photos --kind pixels -o new.npz --save-map", "photos.map"),
    ("rank runs.jsonl more.jsonl --svg", "ranks.svg"),
    ("report more.jsonl -o", "page.html"),
    ("report --card lcdl.model -o", "card.md"),
    ("export crc.model --onnx", "crc.onnx"),
];

#[test]
fn a_kind_replaces_its_own_kind_and_no_other_without_force() {
    let place = inputs();
    let kinds = [
        "crc.model",
        "state",
        "labels.csv",
        "labels.json",
        "check.csv",
        "page.html",
        "splits.json",
        "runs.jsonl",
        "units.jsonl",
        "best.toml",
        "photos.npz",
        "photos.mat",
        "photos.map",
        "ranks.svg",
        "card.md",
        "crc.onnx",
        "data.csv",
        "net.onnx",
    ];
    let same = |a: &str, b: &str| {
        let groups = [["labels.csv", "labels.json"], ["photos.npz", "photos.mat"]];
        a == b || groups.iter().any(|group| group.contains(&a) && group.contains(&b))
    };
    for (line, own) in WRITERS {
        // The name of the output need not tell its kind, except for feature files.
        let ending = if line.starts_with("features photos --kind pixels -o new") { "" } else { ending(own) };
        let output = format!("target{ending}");
        for held in kinds {
            std::fs::copy(place.path(held), place.path(&output)).unwrap();
            let line = format!("{line} {output}");
            if same(held, own) {
                continue;
            }
            let run = place.run(&line);
            assert!(
                run.code == 2 && run.err.contains(&output) && run.err.contains("--force"),
                "{held}: {line}: {}",
                run.err
            );
            assert_eq!(read(&place.path(&output)), read(&place.path(held)), "{line}");
        }
        // The last one was of another kind.
        place.ok(&format!("{line} {output} --force"));
        place.ok(&format!("{line} {output}"));
        std::fs::copy(place.path(own), place.path(&output)).unwrap();
        place.ok(&format!("{line} {output}"));
        place.write(&output, "");
        place.ok(&format!("{line} {output}"));
    }
}

fn ending(name: &str) -> &str {
    name.rfind('.').map_or("", |dot| &name[dot..])
}

#[test]
fn a_message_says_what_is_there_and_what_to_do() {
    let place = inputs();
    let words =
        ["page.html: exists and is a report, not a model", "name another file, or replace this one with --force"];
    destroys_nothing(&place, "train data.csv --method crc -o page.html", &words);
    destroys_nothing(
        &place,
        "predict crc.model data.csv -o more.csv",
        &["more.csv: exists and is not a table of predictions"],
    );
    destroys_nothing(
        &place,
        "train data.csv --method lcdl-sv -o new.model --checkpoint crc.model",
        &["crc.model: exists and is a model, not a checkpoint"],
    );
    assert!(place.ok("train --help").contains("--force"));
}

#[test]
fn nothing_is_appended_to_a_file_that_holds_no_records() {
    let place = inputs();
    for (line, other) in [
        ("compare data.csv --methods crc --train-per-class 6", "units.jsonl"),
        ("sweep data.csv --method crc --param kappa --train-per-class 6", "units.jsonl"),
        ("reproduce eyaleb --data data.csv", "units.jsonl"),
        ("tune data.csv --method crc", "runs.jsonl"),
    ] {
        for held in ["more.csv", "crc.model", "page.html", "splits.json", "best.toml", other] {
            let words = [held, "nothing is appended to it; name another file"];
            for flags in ["", "--resume", "--resume --force"] {
                destroys_nothing(&place, &format!("{line} --records {held} {flags}"), &words);
            }
        }
    }
    // A file that is empty holds nothing that could be lost.
    place.write("new.jsonl", "");
    place.ok("compare data.csv --methods crc --train-per-class 6 --repeats 1 --records new.jsonl");
    destroys_nothing(
        &place,
        "compare data.csv --methods crc --train-per-class 6 --repeats 1 --records new.jsonl --force",
        &["new.jsonl", "--resume"],
    );
}

#[test]
fn two_outputs_are_two_files() {
    let place = inputs();
    destroys_nothing(
        &place,
        "train data.csv --method ksvd -o new.model --checkpoint ./new.model",
        &["new.model", "of its own"],
    );
    let line = "compare data.csv --methods crc --train-per-class 6 --report new --save-splits photos/../new --force";
    destroys_nothing(&place, line, &["same file"]);
}
