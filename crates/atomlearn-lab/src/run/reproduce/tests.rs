use super::*;
use crate::protocol::data::synthetic;
use crate::protocol::recipe;
use atomlearn::Error;
use std::ops::ControlFlow;

const TOY: &str = r#"
title = "Toy"
table = "Table 0"
prep = "unit"
train_per_class = [4, 6]
repeats = 2
seed = 3
samples = 40
classes = 4

[quick]
repeats = 1
train_per_class = [6]

[data]
origin = "nowhere"
layout = "any"

[reference]
column = "paper"
notes = ["a note"]

[[row]]
name = "CRC"
method = "crc"
params = { kappa = 0.01 }
published = [50.0, 60.0]
train_seconds = 7.5

[[row]]
name = "LCDL-SV (Res)"
method = "lcdl-sv"
rule = "residual"
params = { max_iter = 2 }
published = [10.0]

[[row]]
name = "LCDL-SV"
method = "lcdl-sv"
params = { max_iter = 2 }
published = [99.0, 99.5]
"#;

/// Stops before the run of this number.
struct StopAt(usize);

impl ExperimentObserver for StopAt {
    fn go_on(&mut self) -> ControlFlow<()> {
        self.0 = self.0.saturating_sub(1);
        if self.0 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn a_table_has_every_row_at_every_size_with_differences() {
    let (data, recipe) = (synthetic(4, 10, 8, 2), recipe::parse("toy", TOY, false).unwrap());
    assert_eq!(entries(&recipe).len(), 2, "rows of one training share it");
    let records = run(&recipe, &data, &[], None, &mut ()).unwrap();
    assert_eq!(records.len(), 2 * 2 * 2);
    let table = table(&recipe, &data, &records);
    assert_eq!(table.results.len(), 6);
    let row = |name: &str, size: usize| {
        table.results.iter().find(|row| row.name == name && row.train_per_class == size).unwrap()
    };
    let crc = row("CRC", 6);
    assert_eq!((crc.published, crc.published_train_seconds), (Some(0.6), None));
    assert!((crc.difference.unwrap() - (crc.mean - 0.6)).abs() < 1e-15);
    assert_eq!(row("CRC", 4).published_train_seconds, Some(7.5));
    assert_eq!((row("LCDL-SV (Res)", 6).published, row("LCDL-SV (Res)", 6).rule.as_str()), (None, "residual"));
    assert_eq!(row("LCDL-SV", 6).rule, "fused");
    let cells = table.cells();
    assert_eq!((cells.head.len(), cells.rows.len()), (5, 3));
    assert!(cells.rows[0][1].ends_with("(50.0)"));
    assert!(cells.bold.iter().any(|&(_, column)| column == 1));
    assert!(table.notes[0].starts_with("Two splits are too few to rank methods by"), "{:?}", table.notes);
    assert_eq!(table.notes[1..], ["a note"]);

    let quick = recipe::parse("toy", TOY, true).unwrap();
    assert_eq!((quick.rows[0].published.as_slice(), quick.rows[1].published.len()), (&[0.6][..], 0));
    let records = run(&quick, &data, &[], None, &mut ()).unwrap();
    let cells = super::table(&quick, &data, &records).cells();
    assert!(cells.head.contains(&"diff.".to_string()) && cells.rows.len() == 3);
    let other = super::table(&quick, &synthetic(3, 10, 8, 2), &records);
    assert!(other.notes[0].contains("30 samples of 3 classes; the paper's have 40 of 4"));
    assert!(without_data(&recipe).contains("atomlearn reproduce toy --data FILE"));
}

#[test]
fn a_stopped_and_resumed_reproduction_gives_the_same_records() {
    let (data, recipe) = (synthetic(4, 10, 8, 2), recipe::parse("toy", TOY, false).unwrap());
    let timeless = |records: Vec<Record>| records.into_iter().map(|record| record.without_times()).collect::<Vec<_>>();
    let whole = run(&recipe, &data, &[], None, &mut ()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.jsonl");
    let stopped = run(&recipe, &data, &[], Some(&Appender::open_now(&file).unwrap()), &mut StopAt(6)).unwrap_err();
    assert!(matches!(stopped.source, Error::Interrupted));
    let known = crate::records::record::read(&file).unwrap();
    assert_eq!(known.len(), 5);
    let resumed = run(&recipe, &data, &known, Some(&Appender::open_now(&file).unwrap()), &mut ()).unwrap();
    assert_eq!(timeless(resumed), timeless(whole.clone()));
    assert_eq!(timeless(crate::records::record::read(&file).unwrap()), timeless(whole));
}

#[test]
fn sizes_that_the_data_cannot_give_are_refused_before_any_work() {
    let (data, recipe) = (synthetic(4, 5, 8, 2), recipe::parse("toy", TOY, false).unwrap());
    let error = run(&recipe, &data, &[], None, &mut ()).unwrap_err().to_string();
    assert!(error.contains("too few for 6 training samples"), "{error}");
}

#[test]
fn an_ablation_compares_every_row_with_the_whole_method_under_the_same_rule() {
    let text = r#"
title = "Toy"
table = "a test"
prep = "unit"
train_per_class = [4]
repeats = 3
seed = 3
baseline = "whole"

[quick]
repeats = 1

[data]
origin = "anywhere"
layout = "any"

[reference]
notes = []

[[row]]
name = "whole"
method = "lcdl-sv"
rules = ["residual", "fused"]
params = { max_iter = 3 }

[[row]]
name = "without locality"
method = "lcdl-sv"
rules = ["residual", "fused"]
params = { max_iter = 3, lambda1 = 0.0 }

[[row]]
name = "the same"
method = "lcdl-sv"
rules = ["fused"]
params = { max_iter = 3 }

[[row]]
name = "another method"
method = "ridge"
params = { lambda = 0.01 }
"#;
    let (data, recipe) = (synthetic(4, 10, 8, 2), recipe::parse("toy", text, false).unwrap());
    assert_eq!(entries(&recipe).len(), 4, "the rules of a row share a training, rows do not");
    let records = run(&recipe, &data, &[], None, &mut ()).unwrap();
    let table = table(&recipe, &data, &records);
    let row = |name: &str, rule: &str| {
        table.results.iter().find(|row| row.name == name && row.rule == rule).unwrap_or_else(|| panic!("{name} {rule}"))
    };
    assert_eq!(table.results.len(), 6);
    assert!(table.notes.is_empty(), "any data will do: {:?}", table.notes);
    for rule in ["residual", "fused"] {
        let (whole, without) = (row("whole", rule), row("without locality", rule));
        assert_eq!((whole.difference, whole.p_holm), (None, None));
        assert_eq!(without.difference, Some(without.mean - whole.mean));
    }
    let same = row("the same", "fused");
    assert_eq!((same.difference, same.p_holm), (Some(0.0), Some(1.0)));
    let other = row("another method", "linear");
    assert_eq!(other.difference, Some(other.mean - row("whole", "fused").mean));

    let cells = table.cells();
    assert_eq!(cells.head[..3], ["method", "rule", "accuracy %"]);
    assert_eq!((cells.rows.len(), cells.rows[0][4].as_str()), (6, "-"));
    let two = recipe.with_sizes(vec![4, 6]);
    let records = run(&two, &data, &[], None, &mut ()).unwrap();
    let cells = super::table(&two, &data, &records).cells();
    assert_eq!((cells.rows.len(), cells.head[0].as_str(), cells.rows[6][0].as_str()), (12, "per class", "6"));
    let published = recipe::parse("toy", TOY, false).unwrap().with_sizes(vec![5]);
    assert!(published.rows.iter().all(|row| row.published.is_empty()));
}
