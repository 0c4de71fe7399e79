//! Files made to do harm: little memory and time, an error that says what is wrong, no panic, nothing that commands a
//! terminal or a spreadsheet.

use crate::{PROGRAM, Place, Run, read, table};
use atomlearn::Mat;
use atomlearn::archive::{Content, decode, encode};
use flate2::{Compression, Crc, write::ZlibEncoder};
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What no file of up to 1 MB may take in `inspect`; the limit on address space leaves room for the program itself.
const TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 30 } else { 10 });
const MEMORY: u64 = (1 << 30) + (256 << 20);

/// Runs with a limit on the address space, in bytes, where the system can set one.
fn limited(place: &Place, memory: u64, args: &[&str]) -> Run {
    let mut command = if cfg!(target_os = "linux") {
        let mut command = Command::new("sh");
        let limit = if memory == u64::MAX { "unlimited".to_string() } else { (memory >> 10).to_string() };
        command.arg("-c").arg(format!("ulimit -v {limit} && exec \"$0\" \"$@\"")).arg(PROGRAM);
        command
    } else {
        Command::new(PROGRAM)
    };
    let command = command.args(args).current_dir(place.path("")).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Run { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

/// `inspect` within the limits of time and memory.
fn inspect(place: &Place, name: &str) -> Run {
    let start = Instant::now();
    let run = limited(place, MEMORY, &["inspect", name]);
    assert!(start.elapsed() < TIME, "{name} took {:?}", start.elapsed());
    assert!((0..=3).contains(&run.code), "{name}: code {}: {}", run.code, run.err);
    assert!(!run.err.contains("panicked") && !run.err.contains("RUST_BACKTRACE"), "{name}: {}", run.err);
    run
}

#[test]
fn hostile_files_of_the_corpus_are_refused_in_time_and_memory() {
    let place = Place::new();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../atomlearn-fuzz/corpus");
    let mut seen = 0;
    for (target, extensions) in
        [("mat5", &["mat"][..]), ("mat73", &["mat", "h5"]), ("npz", &["npz"]), ("parquet", &["parquet"])]
    {
        for entry in std::fs::read_dir(corpus.join(target)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !name.starts_with("hostile-") {
                continue;
            }
            for extension in extensions {
                let name = format!("{target}-{name}.{extension}");
                std::fs::copy(&path, place.path(&name)).unwrap();
                let run = inspect(&place, &name);
                seen += 1;
                assert_eq!(run.code, 3, "{name} was read: {}", run.out);
                assert!(run.err.contains(&name) && !run.err.contains("not give"), "{name}: {}", run.err);
            }
        }
    }
    assert!(seen >= 20, "only {seen} files");
}

/// A grey PNG of 4 x 3 pixels with one more chunk.
fn png(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |kind: &[u8; 4], data: &[u8]| {
        let body = [&kind[..], data].concat();
        let mut crc = Crc::new();
        crc.update(&body);
        file.extend((data.len() as u32).to_be_bytes());
        file.extend(&body);
        file.extend(crc.sum().to_be_bytes());
    };
    chunk(b"IHDR", &[0, 0, 0, 4, 0, 0, 0, 3, 8, 0, 0, 0, 0]);
    chunk(kind, data);
    chunk(b"IDAT", &packed(&[[0, 9, 8, 7, 6]; 3].concat(), 1));
    chunk(b"IEND", &[]);
    file
}

/// `bytes`, repeated, as zlib packs them.
fn packed(bytes: &[u8], times: usize) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    (0..times).for_each(|_| encoder.write_all(bytes).unwrap());
    encoder.finish().unwrap()
}

#[test]
fn a_colour_profile_of_a_gigabyte_does_not_matter() {
    let place = Place::new();
    let profile = [&b"k\0\0"[..], &packed(&[0; 1 << 20], 1 << 10)].concat();
    for (class, image) in [("a", png(b"iCCP", &profile)), ("b", png(b"tEXt", b"Comment\0hello"))] {
        std::fs::create_dir_all(place.path("images").join(class)).unwrap();
        std::fs::write(place.path("images").join(class).join("0.png"), image).unwrap();
    }
    let run = limited(&place, 768 << 20, &["inspect", "images"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("3 x 4 pixels"), "{}", run.out);
}

/// Changes a model file and signs it again, as an attacker would.
fn altered(place: &Place, from: &str, to: &str, change: impl FnOnce(&mut Content)) {
    let mut content = decode(&read(&place.path(from))).unwrap();
    content.header.remove("sha256");
    change(&mut content);
    place.write(to, encode(&content).unwrap());
}

#[test]
fn models_with_empty_parts_or_classes_twice_are_refused_by_every_command() {
    let place = Place::new();
    place.write("data.csv", table(4));
    let commands = |model: &str, words: &[&str]| {
        for line in ["inspect M", "predict M data.csv", "evaluate M data.csv", "export M --onnx out.onnx"] {
            place.refuses(&line.replace('M', model), 3, &[&[model][..], words].concat());
        }
    };
    for prep in ["center", "standard", "pca:2", "random:3", "kernel:rbf:auto:3"] {
        place.ok(&format!("train data.csv --method crc --prep {prep} -o good.model"));
        let parts = decode(&read(&place.path("good.model"))).unwrap().matrices;
        for (name, part) in parts.iter().filter(|(name, _)| name.starts_with("prep.")) {
            for (rows, cols) in [(part.nrows(), 0), (0, part.ncols()), (0, 0)] {
                altered(&place, "good.model", "bad.model", |content| {
                    content.matrices.put(name, Mat::<f64>::zeros(rows, cols));
                });
                commands("bad.model", &[]);
            }
        }
    }
    altered(&place, "good.model", "twice.model", |content| content.header["classes"] = json!(["ant", "bee", "ant"]));
    commands("twice.model", &["class `ant` is there twice"]);
}

#[test]
fn a_class_name_of_ten_megabytes_is_shown_cut() {
    let place = Place::new();
    place.write("data.csv", table(4));
    place.ok("train data.csv --method crc -o good.model");
    altered(&place, "good.model", "long.model", |content| {
        content.header["classes"] = json!(["ant", "x".repeat(10 << 20), "cat"]);
        content.header["info"]["note"] = json!("y".repeat(10 << 20));
    });
    let run = inspect(&place, "long.model");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("xxx...") && run.out.len() < 100_000, "{} bytes", run.out.len());
    place.write("long.csv", format!("a,label\n1,{}\n2,b\n", "z".repeat(900_000)));
    let run = inspect(&place, "long.csv");
    assert!(run.out.contains("zzz...") && run.out.len() < 100_000, "{} bytes: {}", run.out.len(), run.err);
}

#[cfg(target_os = "linux")]
#[test]
fn little_address_space_is_an_error_and_not_the_end() {
    let place = Place::new();
    // As 64-bit numbers this takes 120 MiB, and is stored as it is: the file itself is allowed that much.
    let header = "{'descr': '|i1', 'fortran_order': False, 'shape': (15728, 1000), }\n";
    let head = [&b"\x93NUMPY\x01\0"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
    place.write("X.npy", [head, vec![1; 15_728_000]].concat());
    place.write("small.csv", table(2));
    // Some 2.4 million cells, whose lists grow one by one.
    place.write(
        "table.csv",
        (0..60).map(|i| format!("f{i},")).collect::<String>()
            + "class\n"
            + &(0..40_000).map(|i| format!("{}{}\n", "1.5,".repeat(60), i % 3)).collect::<String>(),
    );
    let mut refused = [0, 0];
    for mebibytes in (100..500).step_by(20) {
        let run = |line: &[&str]| limited(&place, mebibytes << 20, &[&["--threads", "1", "inspect"], line].concat());
        // The program itself may not start in so little.
        if run(&["small.csv"]).code != 0 {
            continue;
        }
        for (refused, (line, shown)) in
            refused.iter_mut().zip([(&["X.npy", "--y", "none"][..], "15728"), (&["table.csv"], "40000")])
        {
            let run = run(line);
            match run.code {
                0 => assert!(run.out.contains(shown), "{}", run.out),
                1 | 3 => {
                    assert!(run.err.contains("memory") && run.err.contains(line[0]), "{mebibytes} MiB: {}", run.err);
                    *refused += 1;
                }
                code => panic!("{}, {mebibytes} MiB: code {code}: {}", line[0], run.err),
            }
        }
    }
    assert!(refused.iter().all(|&count| count > 0), "no limit was too small: {refused:?}");
}

#[test]
fn nothing_from_a_file_commands_the_terminal() {
    let place = Place::new();
    let evil = "\x1b]0;owned\x07\x1b[31m\u{9b}2J\u{202e}";
    let rows = |class: &str| (0..4).map(|i| format!("{i},{},{class}\n", 3 * i)).collect::<String>();
    place.write("data.csv", format!("a{evil},b,label\n{}{}", rows(&format!("ant{evil}")), rows("bee")));
    let clean = |text: &str, what: &str| {
        let found = text.chars().find(|&letter| letter.is_control() && letter != '\n' && letter != '\t');
        assert!(found.is_none() && !text.contains('\u{202e}'), "{what}: {text:?}");
    };
    place.ok("train data.csv --method crc -o m.model");
    for line in ["inspect data.csv", "inspect m.model", "evaluate m.model data.csv"] {
        let run = place.run(line);
        assert_eq!(run.code, 0, "{line}: {}", run.err);
        clean(&run.out, line);
        clean(&run.err, line);
        assert!(run.out.contains("ant\\x1b]0;owned\\x07"), "{line}: {}", run.out);
    }
    let colored = place.ok("inspect data.csv --color always");
    assert!(!colored.contains("\x1b]") && !colored.contains("\x1b[31m"), "{colored:?}");
    let name = format!("no such {evil}.csv");
    let run = limited(&place, u64::MAX, &["inspect", &name]);
    clean(&run.err, "file name");
    assert_eq!(run.code, 3);
    // Programs get what the file holds.
    let facts = place.json("inspect data.csv --json");
    assert!(facts["classes"].to_string().contains("\\u001b]0;owned"));
    assert!(place.ok("predict m.model data.csv").contains(&format!("ant{evil}")));
}

#[test]
fn labels_are_no_formulas_where_that_is_asked_for() {
    let place = Place::new();
    let class = |name: &str| (0..4).map(|i| format!("{i},{},{name}\n", 9 - i)).collect::<String>();
    place.write("data.csv", format!("a,b,label\n{}5,1,@sum\n6,1,@sum\n7,1,@sum\n", class("=1+1")));
    place.ok("train data.csv --method crc -o m.model");
    let plain = place.ok("predict m.model data.csv");
    assert!(plain.contains(",=1+1\n") && !plain.contains('\''), "{plain}");
    let safe = place.ok("predict m.model data.csv --excel-safe");
    assert!(safe.contains(",'=1+1\n") && !safe.contains(",=") && !safe.contains(",@"), "{safe}");
    assert_eq!(safe.replace('\'', ""), plain);
}
