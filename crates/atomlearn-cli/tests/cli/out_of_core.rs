//! Training and predicting part by part.

use super::{Place, read, table};
use std::fmt::Write as _;

/// A `.npy` of format version 1 with this type, shape and content.
fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    let padded = format!("{text:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((padded.len() as u16).to_le_bytes());
    bytes.extend(padded.bytes());
    bytes.extend(data);
    bytes
}

/// 120 samples of three classes in two shards, and the same as one table.
pub fn shards() -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path("shards")).unwrap();
    let text = table(40);
    let rows: Vec<&str> = text.lines().skip(1).collect();
    for (number, rows) in rows.chunks(70).enumerate() {
        let cells = |row: &str| row.split(',').map(str::to_string).collect::<Vec<_>>();
        let values = rows.iter().flat_map(|row| cells(row)[..4].to_vec());
        let values: Vec<u8> = values.flat_map(|cell| cell.parse::<f64>().unwrap().to_le_bytes()).collect();
        let labels: Vec<u8> = rows.iter().flat_map(|row| cells(row)[4].clone().into_bytes()).collect();
        place.write(&format!("shards/p{number}.npy"), npy("<f8", &format!("{}, 4", rows.len()), &values));
        place.write(&format!("shards/p{number}.labels.npy"), npy("|S3", &format!("{},", rows.len()), &labels));
    }
    place.write("table.csv", text);
    place
}

const TRAIN: &str =
    "train shards --method lcdl-sv --set atoms_per_class=3 --set max_iter=3 --set lambda2=1e-3 --out-of-core";

#[test]
fn shards_give_the_model_of_the_table_and_predict_streams() {
    let place = shards();
    place.ok(&format!("{TRAIN} --partitions 4 -o big.model"));
    place.ok("train table.csv --method lcdl-sv --set preset=authors-code --set atoms_per_class=3 --set max_iter=3 \
         --set lambda2=1e-3 -o small.model");
    let big = place.ok("predict big.model shards --out-of-core --scores");
    let small = place.ok("predict small.model table.csv --scores");
    assert_eq!(big.lines().count(), 121);
    for (a, b) in big.lines().zip(small.lines()).skip(1) {
        let (a, b): (Vec<&str>, Vec<&str>) = (a.split(',').collect(), b.split(',').collect());
        assert_eq!(a[..2], b[..2]);
        for (a, b) in a[2..].iter().zip(&b[2..]) {
            let (a, b): (f64, f64) = (a.parse().unwrap(), b.parse().unwrap());
            assert!((a - b).abs() < 1e-6 * b.abs().max(1.0), "{a} {b}");
        }
    }
    place.ok("predict big.model shards --out-of-core --scores -o streamed.csv");
    assert_eq!(String::from_utf8(read(&place.path("streamed.csv"))).unwrap(), big);
    let inspected = place.json("inspect big.model --json");
    assert_eq!(inspected["info"]["partitions"], 4);
}

#[test]
fn a_folder_of_tables_is_one_partition_each() {
    let place = shards();
    std::fs::create_dir(place.path("tables")).unwrap();
    let text = table(40);
    let (head, rows) = text.split_once('\n').unwrap();
    for (number, rows) in rows.lines().collect::<Vec<_>>().chunks(50).enumerate() {
        let mut part = format!("{head}\n");
        rows.iter().for_each(|row| writeln!(part, "{row}").unwrap());
        place.write(&format!("tables/{number}.csv"), part);
    }
    let out = place.json("train tables --method ridge --out-of-core -o ridge.model --json");
    assert_eq!((&out["partitions"], &out["samples"]), (&3.into(), &120.into()));
    place.refuses("train tables --method ridge --out-of-core --partitions 2 -o m", 2, &["only .npy files can be cut"]);
}

/// Without a method it is `auto`, here too; its model has probabilities and a report like any other.
#[test]
fn auto_learns_out_of_core_and_goes_on_from_a_checkpoint() {
    let place = shards();
    let out = place.json("train shards --out-of-core --partitions 4 -o auto.model --json");
    assert_eq!((&out["method"], &out["samples"]), (&"auto".into(), &120.into()));
    place.ok("train shards --method auto --out-of-core --partitions 4 --checkpoint state -o kept.model");
    place.ok("train shards --method auto --out-of-core --partitions 4 --checkpoint state --resume -o again.model");
    let model = |name: &str| place.ok(&format!("predict {name} table.csv --proba"));
    assert_eq!(model("auto.model"), model("kept.model"));
    assert_eq!(model("auto.model"), model("again.model"));
    assert_eq!(model("auto.model").lines().count(), 121);
    let inspected = place.ok("inspect auto.model");
    assert!(inspected.contains("leave-one-out"), "{inspected}");
}

#[test]
fn a_checkpoint_resumes_to_the_same_bits_and_only_the_same_training() {
    let place = shards();
    place.ok(&format!("{TRAIN} --partitions 4 -o whole.model"));
    place.ok(&format!("{TRAIN} --partitions 4 --checkpoint state -o kept.model"));
    assert_eq!(read(&place.path("whole.model")), read(&place.path("kept.model")));
    place.refuses(&format!("{TRAIN} --partitions 4 --checkpoint state -o m"), 2, &["--resume"]);
    place.ok(&format!("{TRAIN} --partitions 4 --checkpoint state --resume -o again.model"));
    assert_eq!(read(&place.path("whole.model")), read(&place.path("again.model")));
    place.refuses(&format!("{TRAIN} --partitions 5 --checkpoint state --resume -o m"), 2, &["number of partitions"]);
    place.write("state", "no checkpoint");
    place.refuses(&format!("{TRAIN} --partitions 4 --checkpoint state --resume -o m"), 3, &["state"]);
}

/// Runs the line until the checkpoint is there, presses Ctrl-C and resumes: the bits of a run without a break.
#[cfg(unix)]
fn resumes_after_ctrl_c(place: &Place, line: &str) {
    use std::process::{Command, Stdio};
    place.ok(&format!("{line} --checkpoint whole.state -o whole.model"));
    let line = format!("{line} --checkpoint state");
    let mut child = Command::new(super::PROGRAM)
        .args(format!("{line} -o broken.model").split_whitespace())
        .current_dir(place.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !place.path("state").exists() {
        assert!(child.try_wait().unwrap().is_none(), "ended too early");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!place.path("broken.model").exists(), "stopped in the middle");
    assert_ne!(read(&place.path("state")), read(&place.path("whole.state")), "stopped before the end");
    place.ok(&format!("{line} --resume -o resumed.model"));
    assert_eq!(read(&place.path("resumed.model")), read(&place.path("whole.model")));
    assert_eq!(read(&place.path("state")), read(&place.path("whole.state")));
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_a_checkpoint_that_resumes_to_the_same_bits() {
    let long = "--method lcdl-sv --set atoms_per_class=3 --set max_iter=300 --set tol=0 --set lambda2=1e-3";
    resumes_after_ctrl_c(&shards(), &format!("train shards {long} --out-of-core --partitions 4"));
}

#[test]
fn training_in_memory_resumes_only_what_it_began() {
    let place = shards();
    let line = "train table.csv --method cadl --set atoms_per_class=3 --checkpoint state";
    place.ok(&format!("{line} -o kept.model"));
    place.ok("train table.csv --method cadl --set atoms_per_class=3 -o plain.model");
    assert_eq!(read(&place.path("kept.model")), read(&place.path("plain.model")));
    place.refuses(&format!("{line} -o m"), 2, &["exists already", "--resume"]);
    let other = format!("{line} --resume -o m");
    place.refuses(&format!("{other} --set lambda1=0.1"), 2, &["parameter `lambda1` differs (0.005, not 0.1)"]);
    place.refuses(&format!("{other} --prep standard"), 2, &["the preprocessing differs"]);
    place.refuses(&other.replace("cadl", "svgdl"), 2, &["the method differs"]);
    place.write("other.csv", table(39));
    place.refuses(&other.replace("table.csv", "other.csv"), 2, &["the data differs"]);
    // A method that does not iterate has nothing to keep, and says so.
    let run = place.run("train table.csv --method src --checkpoint none --resume -o m");
    assert!(run.code == 0 && run.err.contains("no checkpoint was written"), "{}", run.err);
    place.refuses("train table.csv --method src --checkpoint state --resume -o m", 2, &["the method differs"]);
    for damage in [b"no checkpoint".to_vec(), read(&place.path("kept.model"))] {
        place.write("state", damage);
        place.refuses(&other, 3, &["state"]);
    }
    place.refuses("train table.csv --method cadl --resume -o m", 2, &["--checkpoint"]);
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_written() {
    let place = shards();
    place.refuses(&format!("{TRAIN} --max-memory 1MB -o m"), 2, &["--max-memory", "128 MiB"]);
    place.refuses(&format!("{TRAIN} --max-memory 134217929 -o m"), 2, &["--partitions", "--max-memory"]);
    place.refuses(&format!("{TRAIN} --max-memory lots -o m"), 2, &["2GiB"]);
    let sadl = "train shards --method sadl --out-of-core --partitions 20 --max-memory";
    place.refuses(&format!("{sadl} 134230000 -o m"), 2, &["codes of all samples", "atoms_per_class"]);
    place.ok(&format!("{sadl} 140MiB --set max_iter=3 -o sadl.model"));
    place.refuses(
        "train shards --method src --out-of-core -o m",
        2,
        &["lcdl-sv, svgdl, crc, lrc, cadl, sadl, ridge, linear-svm"],
    );
    place.refuses("train shards --method lcdl-sv --partitions 3 -o m", 2, &["--out-of-core"]);
    place.refuses("train nowhere --method ridge --out-of-core -o m", 3, &["nowhere"]);
    std::fs::remove_file(place.path("shards/p1.labels.npy")).unwrap();
    place.refuses(&format!("{TRAIN} -o m"), 3, &["p1.npy", "labels"]);
    let cut = read(&place.path("shards/p1.npy"));
    place.write("shards/p1.npy", &cut[..cut.len() - 8]);
    place.refuses(&format!("{TRAIN} -o m"), 3, &["p1.npy", "incomplete"]);
}
