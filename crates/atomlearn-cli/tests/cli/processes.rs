//! Several processes at once, killed ones, and what the system hands them: names, permissions, links, threads.

use crate::{PROGRAM, Place, Run, read, table};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn start(place: &Place, line: &str) -> Child {
    let mut command = Command::new(PROGRAM);
    command.current_dir(place.path("")).args(line.split_whitespace());
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn ended_well(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{err}");
    err
}

/// The keys of all lines of a records file; every line must be whole.
fn keys(place: &Place, file: &str) -> Vec<String> {
    let text = String::from_utf8(read(&place.path(file))).unwrap();
    let key =
        |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["key"].as_str().unwrap().to_string();
    text.lines().map(key).collect()
}

#[test]
fn writers_of_one_records_file_lose_and_duplicate_nothing() {
    let place = Place::new();
    place.write("data.csv", table(12));
    let runs = "--train-per-class 6 --repeats 20";
    for round in 0..3 {
        let file = format!("runs{round}.jsonl");
        let line =
            |methods: &str| format!("compare data.csv --methods {methods} {runs} --records {file} --resume --quiet");
        // Two that do the same and one that does something else; the file ends in half a line, as after a crash.
        place.write(&file, "{\"schema\": \"atomlearn.rec");
        let children = ["crc,lda", "crc,lda", "ridge,lda"].map(|methods| start(&place, &line(methods)));
        children.into_iter().for_each(|child| drop(ended_well(child)));
        let found = keys(&place, &file);
        assert_eq!(found.len(), 60);
        assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), 60);
    }
    // The same for tuning.
    let line =
        "tune data.csv --method crc --grid kappa=0.1,0.2,0.3,0.4 --folds 4 --records units.jsonl --resume --quiet";
    let children = [start(&place, line), start(&place, line)];
    children.into_iter().for_each(|child| drop(ended_well(child)));
    let found = keys(&place, "units.jsonl");
    assert_eq!((found.len(), found.iter().collect::<BTreeSet<_>>().len()), (4, 4));
}

#[test]
fn a_second_writer_says_that_it_waits_and_a_third_that_wants_no_old_records_is_refused() {
    let place = Place::new();
    place.write("data.csv", table(40));
    let mut first =
        start(&place, "compare data.csv --methods fddl --train-per-class 30 --repeats 200 --records runs.jsonl");
    wait_until(|| std::fs::read(place.path("runs.jsonl")).is_ok_and(|bytes| bytes.contains(&b'\n')));
    let second = "compare data.csv --methods ridge --train-per-class 30 --repeats 2 --records runs.jsonl --resume";
    let second = start(&place, second);
    let refused = place.run("compare data.csv --methods crc --train-per-class 30 --records runs.jsonl");
    assert!(refused.code == 2 && refused.err.contains("--resume"), "{}", refused.err);
    std::thread::sleep(Duration::from_millis(1500));
    // The lock goes with the process.
    first.kill().unwrap();
    first.wait().unwrap();
    let err = ended_well(second);
    assert!(err.contains("another process is writing records to it; waiting"), "{err}");
    let found = keys(&place, "runs.jsonl");
    assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len());
}

fn wait_until(ready: impl Fn() -> bool) {
    let begun = Instant::now();
    while !ready() {
        assert!(begun.elapsed() < Duration::from_secs(60), "waited in vain");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn temporary(place: &Place) -> Vec<String> {
    place.files().into_iter().filter(|name| name.starts_with(".atomlearn-")).collect()
}

/// A file of many rows is written part by part, so that the program can be killed in the middle.
#[cfg(target_os = "linux")]
#[test]
fn temporary_files_of_killed_runs_are_removed_by_the_next_and_those_of_living_runs_stay() {
    let place = Place::new();
    place.write("data.csv", table(4));
    place.ok("train data.csv --method crc -o m");
    std::fs::create_dir(place.path("shards")).unwrap();
    let rows = "0.1,0.2,0.3,0.4\n".repeat(1000);
    (0..400).for_each(|i| place.write(&format!("shards/{i:03}.csv"), format!("a,b,c,d\n{rows}")));
    let line = "predict m shards --y none --out-of-core -o labels.csv";
    let mut child = start(&place, line);
    wait_until(|| !temporary(&place).is_empty() && temporary(&place) == temporary_after_a_moment(&place));
    let stopped = Command::new("kill").args(["-STOP", &child.id().to_string()]).status().unwrap();
    let held = temporary(&place);
    assert!(stopped.success() && held.len() == 1, "it has ended already");
    // While it lives, its file stays.
    place.ok("predict m data.csv -o small.csv");
    assert_eq!(temporary(&place), held);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(temporary(&place), held, "nothing to remove");
    place.ok("predict m data.csv -o small.csv");
    assert_eq!(temporary(&place), Vec::<String>::new());
}

/// The file that outputs are tried with comes and goes; the one that is written to stays.
fn temporary_after_a_moment(place: &Place) -> Vec<String> {
    std::thread::sleep(Duration::from_millis(30));
    temporary(place)
}

#[test]
fn outputs_keep_the_permissions_of_what_they_replace() {
    let place = Place::new();
    place.write("data.csv", table(8));
    let mode = |name: &str| std::fs::metadata(place.path(name)).unwrap().permissions().mode() & 0o777;
    for (line, output) in [
        ("train data.csv --method crc -o", "m"),
        ("predict m data.csv -o", "labels.csv"),
        ("compare data.csv --methods crc --train-per-class 4 --save-splits", "splits.json"),
        ("compare data.csv --methods crc --train-per-class 4 --resume --records", "runs.jsonl"),
        ("report runs.jsonl -o", "page.html"),
        ("export m --onnx", "m.onnx"),
    ] {
        place.ok(&format!("{line} {output}"));
        for wanted in [0o600, 0o664] {
            std::fs::set_permissions(place.path(output), PermissionsExt::from_mode(wanted)).unwrap();
            place.ok(&format!("{line} {output}"));
            assert_eq!(mode(output), wanted, "{line}");
        }
    }
}

#[test]
fn a_link_that_leads_nowhere_yet_stays_a_link() {
    let place = Place::new();
    place.write("data.csv", table(8));
    std::fs::create_dir(place.path("far")).unwrap();
    for (line, output) in [
        ("train data.csv --method crc -o", "m"),
        ("predict m data.csv -o", "labels.csv"),
        ("compare data.csv --methods crc --train-per-class 4 --records", "runs.jsonl"),
        ("report runs.jsonl -o", "page.html"),
    ] {
        symlink(format!("far/{output}"), place.path(output)).unwrap();
        place.ok(&format!("{line} {output}"));
        assert!(place.path(output).is_symlink(), "{line}");
        assert!(!read(&place.path(&format!("far/{output}"))).is_empty(), "{line}");
    }
    symlink("gone/m", place.path("lost")).unwrap();
    place.refuses("train data.csv --method crc -o lost", 2, &["lost", "the folder gone does not exist"]);
    symlink("circle", place.path("circle")).unwrap();
    place.refuses("train data.csv --method crc -o circle", 2, &["circle"]);
}

#[test]
fn more_threads_than_sense_are_fewer() {
    let place = Place::new();
    place.write("data.csv", table(8));
    let line = "train data.csv --method lcdl-sv --set max_iter=2 -o";
    place.ok(&format!("{line} one.model --threads 1"));
    for (threads, file) in [("100000", "a.model"), ("9223372036854775807", "b.model")] {
        let run = place.run(&format!("{line} {file} --threads {threads}"));
        assert!(run.code == 0 && run.err.contains(&format!("{threads} threads are more than")), "{}", run.err);
        assert_eq!(read(&place.path(file)), read(&place.path("one.model")));
    }
    let output = place.command().args(["methods", "--json"]).env("RAYON_NUM_THREADS", "1000000").output().unwrap();
    assert!(output.status.success());
}

/// Runs with words that may hold any bytes; `\xff` stands in every name.
fn run_odd(place: &Place, line: &str) -> Run {
    let odd = |word: &str| -> OsString {
        let parts: Vec<&[u8]> = word.split('~').map(str::as_bytes).collect();
        OsStr::from_bytes(&parts.join(&b"\xff\xfe"[..])).to_owned()
    };
    let output = place.command().args(line.split_whitespace().map(odd)).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_text_work_in_every_command() {
    let place = Place::new();
    let odd = |name: &str| place.path("").join(OsStr::from_bytes(&[b"\xff\xfe", name.as_bytes()].concat()));
    std::fs::write(odd(".csv"), table(25)).unwrap();
    crate::images::photos(&place, 3);
    std::fs::rename(place.path("photos"), odd("photos")).unwrap();
    let features = |line: &str| line.rsplit_once(',').map_or(String::new(), |(features, _)| format!("{features}\n"));
    std::fs::write(odd("plain.csv"), table(25).lines().map(features).collect::<String>()).unwrap();
    std::fs::write(odd(".y"), "ant\nbee\ncat\n".repeat(25)).unwrap();
    for line in [
        "inspect ~.csv",
        "inspect ~.csv --json",
        "train ~.csv --method crc -o ~.model",
        "train ~.csv --method crc -o ~.model --json --color never",
        "train ~.csv --method lcdl-sv --set max_iter=2 --checkpoint ~.state -o ~2.model",
        "train ~plain.csv --y none --labels ~.y --method crc -o ~3.model",
        "auto ~.csv",
        "auto ~.csv -o ~5.model --report ~auto.html --suspicious ~check.csv --json",
        "explain ~5.model ~.csv",
        "inspect ~.model",
        "inspect ~.model --json",
        "predict ~.model ~.csv -o ~.labels",
        "predict ~.model ~.csv --json",
        "evaluate ~.model ~.csv",
        "evaluate ~.model ~.csv --json",
        "compare ~.csv --methods crc --train-per-class 6 --save-splits ~.json --records ~.jsonl --report ~.html",
        "compare ~.csv --methods crc,ridge --splits ~.json --records ~.jsonl --resume --json",
        "tune ~.csv --method crc --grid kappa=0.1,1 --folds 2 -o ~.toml --records ~.units",
        "sweep ~.csv --params ~.toml --param kappa --values 1,2 --splits ~.json --report ~.html",
        "reproduce eyaleb --data ~.csv --prep unit --repeats 1 --methods src",
        "report ~.jsonl -o ~.html",
        "report --card ~.model -o ~.md",
        "export ~.model --onnx ~.onnx",
        "export ~.model --onnx ~.onnx --json",
        "features ~photos --kind pixels --size 6x5 -o ~.npz --save-map ~.map --json",
        "features ~photos --map ~.map -o ~.mat",
        "train ~photos --map ~.map --method crc -o ~4.model",
        "predict ~4.model ~photos",
        "compare ~.mat --methods crc --train-per-class 2 --images ~photos --report ~.html",
    ] {
        let run = run_odd(&place, line);
        assert_eq!(run.code, 0, "{line}: {}", run.err);
        assert!(!line.contains("--json") || serde_json::from_str::<serde_json::Value>(&run.out).is_ok(), "{line}");
    }
    for (line, code) in [
        ("train ~gone.csv --method crc -o ~x.model", 3),
        ("train ~.csv --method ~ -o ~x.model", 2),
        ("predict ~.csv ~.csv", 3),
        ("~", 2),
    ] {
        let run = run_odd(&place, line);
        assert_eq!(run.code, code, "{line}: {}", run.err);
        assert!(!run.err.contains("panicked"), "{line}: {}", run.err);
    }
}
