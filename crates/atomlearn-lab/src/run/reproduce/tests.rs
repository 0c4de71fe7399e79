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

impl Watch for StopAt {
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
    assert_eq!(table.notes, ["a note"]);

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
