//! Disks that are full or read-only, and files that vanish: the error names the file, and what was there stays.

use crate::images::photos;
use crate::out_of_core::shards;
use crate::{PROGRAM, Place, Run, read, table};
use std::process::Command;
use std::time::Duration;

/// A folder that nobody can write to, not even root.
const READ_ONLY: &str = "/sys";

/// What every command needs as input.
fn inputs() -> Place {
    let place = Place::new();
    place.write("data.csv", table(30));
    photos(&place, 2);
    place.ok("train data.csv --method crc -o given.model");
    place.ok("compare data.csv --methods ridge --train-per-class 10 --repeats 1 --records given.jsonl");
    place
}

/// Commands with the option that names their output.
const WRITERS: [(&str, &str, &str); 6] = [
    ("train data.csv --method lcdl-sv --set max_iter=2", "-o", "out.model"),
    ("predict given.model data.csv --scores", "-o", "out.csv"),
    ("features photos --kind pixels", "-o", "out.npz"),
    ("export given.model", "--onnx", "out.onnx"),
    ("report given.jsonl", "-o", "out.html"),
    ("tune data.csv --method crc --grid kappa=0.001,0.1 --folds 3 --train-per-class 6", "-o", "out.toml"),
];

/// Runs with a limit on the size of files, in blocks of the shell; a write beyond it fails like one to a full disk.
fn cramped(place: &Place, blocks: usize, line: &str) -> Run {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, PROGRAM]).args(line.split_whitespace()).current_dir(place.path(""));
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn a_full_disk_is_named_and_old_files_stay() {
    let place = inputs();
    for (line, option, output) in WRITERS {
        place.write(output, "what was there before");
        let before = place.files();
        let run = cramped(&place, 0, &format!("{line} {option} {output} --force"));
        assert_eq!(run.code, 1, "{line}: {}{}", run.out, run.err);
        assert!(run.err.contains(output) && run.err.contains("too large"), "{line}: {}", run.err);
        assert_eq!(read(&place.path(output)), b"what was there before", "{line}");
        assert_eq!(place.files(), before, "{line} left files");
    }
    // A state to resume from may not be there before.
    let before = place.files();
    for key in ["lcdl-sv", "ksvd"] {
        let line = format!("train data.csv --method {key} --set max_iter=2 -o other.model --checkpoint new.state");
        let run = cramped(&place, 0, &line);
        assert_eq!(run.code, 1, "{}{}", run.out, run.err);
        assert!(run.err.contains("new.state") && run.err.contains("too large"), "{}", run.err);
        assert_eq!(place.files(), before);
    }
}

#[test]
fn records_that_no_longer_fit_are_mended_on_resuming() {
    let place = inputs();
    for (line, written) in [
        ("compare data.csv --methods ridge,crc --train-per-class 10 --repeats 20", "runs.jsonl"),
        ("tune data.csv --method crc --grid kappa=0.001,0.01,0.1 --folds 8", "units.jsonl"),
    ] {
        let run = cramped(&place, 1, &format!("{line} --records {written}"));
        assert_eq!(run.code, 1, "{line}: {}", run.err);
        assert!(run.err.contains(written), "{}", run.err);
        let json = place.json(&format!("{line} --records {written} --resume --json"));
        let unbroken = place.json(&format!("{line} --json"));
        let facts = |json: &serde_json::Value| match json.get("results") {
            Some(results) => results.as_array().unwrap().iter().map(|result| result["accuracy"].clone()).collect(),
            None => vec![json["best"].clone()],
        };
        assert_eq!(facts(&json), facts(&unbroken), "{line}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn results_that_stdout_does_not_take_are_an_error() {
    let place = inputs();
    for line in ["predict given.model data.csv", "methods", "evaluate given.model data.csv"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(PROGRAM);
        let run = command.args(line.split_whitespace()).current_dir(place.path("")).stdout(full).output().unwrap();
        let err = String::from_utf8(run.stderr).unwrap();
        assert!(run.status.code() == Some(1) && err.contains("No space left"), "{line}: {err}");
    }
}

/// Said before any work is done: nothing that took long is lost.
#[cfg(target_os = "linux")]
#[test]
fn a_read_only_folder_is_noticed_at_once() {
    let place = inputs();
    let more = [
        ("train data.csv --method ksvd --set max_iter=2 -o other.model", "--checkpoint", "out.state"),
        ("compare data.csv --methods crc --train-per-class 10 --repeats 1", "--records", "out.jsonl"),
        ("compare data.csv --methods crc --train-per-class 10 --repeats 1", "--report", "out.html"),
        ("compare data.csv --methods crc --train-per-class 10 --repeats 1", "--save-splits", "out.json"),
        ("features photos --kind pixels -o other.npz", "--save-map", "out.map"),
    ];
    for (line, option, output) in WRITERS.into_iter().chain(more) {
        place.refuses(
            &format!("{line} {option} {READ_ONLY}/{output}"),
            1,
            &[READ_ONLY, output, "nothing can be written there"],
        );
    }
}

#[test]
fn a_device_is_not_replaced_by_a_file() {
    let place = inputs();
    place.refuses("predict given.model data.csv -o /dev/null", 2, &["/dev/null", "not a file"]);
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn a_link_stays_a_link() {
    let place = inputs();
    place.write("target.csv", "sample,label\n");
    std::os::unix::fs::symlink("target.csv", place.path("link.csv")).unwrap();
    place.ok("predict given.model data.csv -o link.csv");
    assert!(std::fs::symlink_metadata(place.path("link.csv")).unwrap().is_symlink());
    assert_eq!(read(&place.path("target.csv")), place.ok("predict given.model data.csv").as_bytes());
}

#[test]
fn inputs_that_vanished_are_named() {
    let place = inputs();
    for (line, missing) in [
        ("train gone.csv --method crc -o m", "gone.csv"),
        ("predict gone.model data.csv", "gone.model"),
        ("predict given.model gone.csv", "gone.csv"),
        ("compare gone.csv --methods crc --train-per-class 10 --records r.jsonl", "gone.csv"),
        ("compare data.csv --methods crc --splits gone.json", "gone.json"),
        ("tune gone.csv --method crc -o best.toml", "gone.csv"),
        ("features gone --kind pixels -o f.npz", "gone"),
        ("features photos --map gone.map -o f.npz", "gone.map"),
        ("export gone.model --onnx m.onnx", "gone.model"),
        ("report gone.jsonl -o page.html", "gone.jsonl"),
    ] {
        place.refuses(line, 3, &[missing]);
    }
}

/// A shard that is gone in the middle of training, and comes back.
#[test]
fn training_goes_on_when_a_vanished_shard_is_back() {
    let place = shards();
    let line = "train shards --method lcdl-sv --set atoms_per_class=3 --set max_iter=200 --set tol=0 --out-of-core \
                --partitions 4";
    let kept = format!("{line} --checkpoint state --resume -o m");
    let mut command = Command::new(PROGRAM);
    command.args(kept.split_whitespace()).current_dir(place.path("")).env("SOURCE_DATE_EPOCH", "1700000000");
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    while !place.path("state").exists() {
        assert!(child.try_wait().unwrap().is_none(), "ended too early");
        std::thread::sleep(Duration::from_millis(2));
    }
    std::fs::rename(place.path("shards/p1.npy"), place.path("p1.npy")).unwrap();
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(err.contains("p1.npy"), "{err}");
    assert!(!place.path("m").exists());
    std::fs::rename(place.path("p1.npy"), place.path("shards/p1.npy")).unwrap();
    place.ok(&kept);
    place.ok(&format!("{line} -o unbroken"));
    assert_eq!(read(&place.path("m")), read(&place.path("unbroken")));
}
