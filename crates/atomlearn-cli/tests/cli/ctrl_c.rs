//! Ctrl-C: gone within a second with exit code 130, and nothing that was done is lost.

use crate::images::photos;
use crate::out_of_core::shards;
use crate::{PROGRAM, Place, read, table};
use atomlearn::checkpoint::Checkpoint;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What the documents promise.
const AT_MOST: Duration = Duration::from_secs(1);

fn start(place: &Place, line: &str) -> Child {
    let mut command = Command::new(PROGRAM);
    command.current_dir(place.path("")).args(line.split_whitespace()).env("SOURCE_DATE_EPOCH", "1700000000");
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits until `ready`, and fails if the program ends before.
fn wait_for(child: &mut Child, ready: impl Fn() -> bool) {
    while !ready() {
        assert!(child.try_wait().unwrap().is_none(), "the command ended too early");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends what Ctrl-C sends, and checks how the program ends.
fn interrupt(mut child: Child) {
    let sent = Instant::now();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(sent.elapsed() < AT_MOST, "it took {:?}", sent.elapsed());
}

fn holds_a_line(place: &Place, file: &str) -> bool {
    std::fs::read(place.path(file)).is_ok_and(|bytes| bytes.contains(&b'\n'))
}

/// Runs until `file` holds a record, and interrupts.
fn interrupted(place: &Place, line: &str, file: &str) {
    let mut child = start(place, line);
    wait_for(&mut child, || holds_a_line(place, file));
    interrupt(child);
}

#[test]
fn train_keeps_its_state_and_goes_on_to_the_same_bits() {
    let place = Place::new();
    place.write("data.csv", table(40));
    let lcdl_sv = "lcdl-sv --set preset=authors-code --set atoms_per_class=3 --set lambda2=1e-3 --set tol=0 --prep kernel:rbf:auto:20,unit";
    for key in ["ksvd", "lcksvd2 --set readout=joint", lcdl_sv] {
        let line = |max_iter: usize| format!("train data.csv --method {key} --set max_iter={max_iter}");
        let mut child = start(&place, &format!("{} --checkpoint state -o m", line(1_000_000)));
        wait_for(&mut child, || place.path("state").exists());
        interrupt(child);
        assert_eq!(place.files(), ["data.csv", "state"], "{key}");
        let state = Checkpoint::from_bytes(&read(&place.path("state"))).unwrap().state;
        let more = line(state.iter() + 3);
        place.ok(&format!("{more} --checkpoint state --resume -o resumed"));
        place.ok(&format!("{more} -o unbroken"));
        assert!(read(&place.path("resumed")) == read(&place.path("unbroken")), "{key} after {}", state.iter());
        ["state", "resumed", "unbroken"].iter().for_each(|name| std::fs::remove_file(place.path(name)).unwrap());
    }
}

/// One iteration takes far longer than a second here.
#[test]
fn a_long_iteration_is_not_waited_for() {
    let place = Place::new();
    let row = |i: usize| {
        let value = |k: usize| format!("{:.3},", ((i * i + 31 * k + i * k * 7) % 997) as f64 / 997.0);
        (0..150).map(value).collect::<String>() + if i.is_multiple_of(2) { "a\n" } else { "b\n" }
    };
    place.write("data.csv", (0..1200).map(row).collect::<String>());
    let mut child = start(&place, "train data.csv --method fddl --set max_iter=100000 --set tol=0 -o m");
    let begun = Instant::now();
    wait_for(&mut child, || begun.elapsed() > Duration::from_millis(2500));
    interrupt(child);
    assert_eq!(place.files(), ["data.csv"]);
}

#[test]
fn compare_goes_on_from_its_records() {
    let place = Place::new();
    place.write("data.csv", table(40));
    let line = "compare data.csv --methods lcdl-sv,fddl --train-per-class 30 --seed 3 --records";
    interrupted(&place, &format!("{line} runs.jsonl --repeats 200"), "runs.jsonl");
    let held = String::from_utf8(read(&place.path("runs.jsonl"))).unwrap().lines().count();
    assert!((1..400).contains(&held), "{held}");
    place.ok("report runs.jsonl -o page.html");
    let resumed = place.json(&format!("{line} runs.jsonl --repeats 2 --resume --json"));
    let unbroken = place.json(&format!("{line} other.jsonl --repeats 2 --json"));
    for (resumed, unbroken) in [0, 1].map(|i| (&resumed["results"][i], &unbroken["results"][i])) {
        assert_eq!(resumed["accuracy"], unbroken["accuracy"]);
        assert_eq!(resumed["accuracy"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn tune_goes_on_from_its_records() {
    let place = Place::new();
    place.write("data.csv", table(40));
    let values: Vec<String> = (1..=400).map(|i| format!("{}", f64::from(i) * 1e-4)).collect();
    let long = format!("tune data.csv --method svgdl --grid lambda1={} --records tune.jsonl", values.join(","));
    interrupted(&place, &long, "tune.jsonl");
    let line = "tune data.csv --method svgdl --grid lambda1=0.0001,0.0002";
    place.ok(&format!("{line} --records tune.jsonl --resume -o resumed.toml"));
    place.ok(&format!("{line} -o unbroken.toml"));
    assert_eq!(read(&place.path("resumed.toml")), read(&place.path("unbroken.toml")));
}

#[test]
fn features_leave_nothing_half_done() {
    let place = Place::new();
    photos(&place, 60);
    let line = "features photos --kind sift-pyramid --words 256 --descriptors 20000 --patches 16 --dim 10 -o f.npz";
    let mut child = start(&place, line);
    let begun = Instant::now();
    wait_for(&mut child, || begun.elapsed() > Duration::from_millis(500));
    interrupt(child);
    assert_eq!(place.files(), ["photos"]);
}

#[test]
fn out_of_core_training_resumes_to_the_same_bits() {
    let place = shards();
    let line = "train shards --method lcdl-sv --set atoms_per_class=3 --set max_iter=60 --set tol=0 --out-of-core \
                --partitions 4";
    place.ok(&format!("{line} -o unbroken.model"));
    let broken = format!("{line} --checkpoint state --resume -o resumed.model");
    let mut child = start(&place, &broken);
    wait_for(&mut child, || place.path("state").exists());
    interrupt(child);
    assert!(!place.path("resumed.model").exists());
    place.ok(&broken);
    assert_eq!(read(&place.path("resumed.model")), read(&place.path("unbroken.model")));
}
