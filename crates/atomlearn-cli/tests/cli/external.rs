//! Any program as a method of `compare`.

use crate::{Place, Run, table};
use serde_json::Value;

/// Gives every test sample the class of the training sample that is nearest to it, with scores if `$4` says so.
const NEAREST: &str = r#"
import csv, sys
train, test, out = sys.argv[1:4]
rows = list(csv.reader(open(train)))
head, rows = rows[0], rows[1:]
assert head == ["x0", "x1", "x2", "x3", "label"], head
tests = list(csv.reader(open(test)))
assert tests[0] == head[:-1], tests[0]
classes = sorted({row[-1] for row in rows})
with open(out, "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["label"] + classes)
    for sample in tests[1:]:
        away = lambda row: sum((float(a) - float(b)) ** 2 for a, b in zip(sample, row))
        least = {c: min(away(row) for row in rows if row[-1] == c) for c in classes}
        writer.writerow([min(classes, key=lambda c: least[c])] + [-least[c] for c in classes])
"#;

fn run(place: &Place, line: &str, external: &str) -> Run {
    let output = place.command().args(line.split_whitespace()).args(["--external", external]).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

fn has_python() -> bool {
    let found = std::process::Command::new("python3").arg("--version").output().is_ok();
    assert!(found || std::env::var_os("CI").is_none(), "python3 is needed");
    found
}

#[test]
fn a_program_takes_part_on_the_same_splits_in_tables_tests_and_report() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    place.write("data.csv", table(10));
    place.write("nearest.py", NEAREST);
    let command = "python3 nearest.py {train} {test} {out}";
    let line = "compare data.csv --methods knn,ridge --set knn.k=1 --prep standard --folds 3 --repeats 1";
    let found = run(&place, &format!("{line} --report page.html --records runs.jsonl --json"), command);
    assert_eq!(found.code, 0, "{}", found.err);
    let json: Value = serde_json::from_str(&found.out).unwrap();
    let of = |method: &str| {
        let results = json["results"].as_array().unwrap().iter();
        results.filter(|row| row["method"] == method).collect::<Vec<_>>()
    };
    assert_eq!((of("nearest").len(), &of("nearest")[0]["rule"]), (1, &"predict".into()));
    // With one neighbor, ours is the same rule.
    assert_eq!(of("nearest")[0]["confusion"], of("knn")[0]["confusion"]);
    let tests = json["tests"].as_array().unwrap();
    assert!(tests.iter().any(|test| test["a"] == "ridge" && test["b"] == "nearest"), "{tests:?}");
    let page = String::from_utf8(crate::read(&place.path("page.html"))).unwrap();
    assert!(page.contains("python3 nearest.py {train} {test} {out}"), "the page says what was run");
    // Its records are known again, unless the script has changed.
    std::fs::write(place.path("marker.py"), "open('ran', 'a').write('x')\n").unwrap();
    let again = format!("{line} --records runs.jsonl --resume --json");
    place.write("nearest.py", format!("{NEAREST}\nopen('ran', 'a').write('x')\n"));
    assert_eq!(run(&place, &again, command).code, 0);
    assert_eq!(crate::read(&place.path("ran")).len(), 3, "a changed script runs again on every split");
    assert_eq!(run(&place, &again, command).code, 0);
    assert_eq!(crate::read(&place.path("ran")).len(), 3, "an unchanged one does not");
}

#[test]
fn what_goes_wrong_with_a_program_is_said() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    place.write("data.csv", table(6));
    place.write("fails.py", "import sys\nprint('no such luck', file=sys.stderr)\nsys.exit(3)\n");
    place.write("silent.py", "");
    place.write("short.py", "import sys\nopen(sys.argv[3], 'w').write('label\\nant\\n')\n");
    place.write("odd.py", "import sys\nopen(sys.argv[3], 'w').write('label\\n' + 'dog\\n' * 6)\n");
    for (command, code, words) in [
        ("python3 fails.py {train} {test} {out}", 3, &["`fails`", "exit status: 3", "no such luck"][..]),
        ("python3 silent.py {train} {test} {out}", 3, &["wrote no file {out}"]),
        ("python3 short.py {train} {test} {out}", 3, &["1 predictions for 6 test samples"]),
        ("python3 odd.py {train} {test} {out}", 3, &["`dog` for test sample 0", "no class"]),
        ("no-such-program {train} {test} {out}", 3, &["cannot be started"]),
        ("python3 fails.py {train} {test}", 2, &["{out} is missing"]),
        ("crc=python3 fails.py {train} {test} {out}", 2, &["`crc` is the name of another method"]),
    ] {
        let found = run(&place, "compare data.csv --methods ridge --folds 3 --repeats 1", command);
        assert_eq!(found.code, code, "{command}: {}", found.err);
        for word in words {
            assert!(found.err.contains(word), "{command}: `{word}` is not in: {}", found.err);
        }
    }
}
