use super::*;
use crate::output::report;
use crate::output::tables;
use crate::protocol::data::synthetic;
use crate::protocol::splits;
use crate::records::results::comparisons;
use atomlearn::registry::{self, METHODS};

/// Four classes of twelve samples, and every method of the registry.
fn toy() -> (LabData, Vec<Entry>) {
    let entries = METHODS.iter().map(|method| Entry::new(method, method.complete(&Values::new()).unwrap()));
    (synthetic(4, 12, 10, 3), entries.collect())
}

fn essence(records: &[Record]) -> Vec<Record> {
    records.iter().map(|record| record.clone().without_times()).collect()
}

/// Stops the experiment before its n-th run.
struct StopAt(usize);

impl ExperimentObserver for StopAt {
    fn go_on(&mut self) -> ControlFlow<()> {
        if self.0 == 0 {
            return ControlFlow::Break(());
        }
        self.0 -= 1;
        ControlFlow::Continue(())
    }
}

#[test]
fn a_stopped_and_resumed_experiment_gives_the_same_records() {
    let (data, entries) = toy();
    let splits = splits::stratified(&data, 8, 2, 1).unwrap();
    let prep = "pca:8,unit".parse().unwrap();
    let plan = Plan { data: &data, splits: &splits, prep: &prep, entries: &entries };
    let whole = plan.run(&[], None, &mut ()).unwrap();
    assert_eq!(whole.len(), 2 * entries.len());

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.jsonl");
    let error = plan.run(&[], Some(&Appender::open_now(&file).unwrap()), &mut StopAt(entries.len() + 1)).unwrap_err();
    assert!(matches!(error.source, Error::Interrupted));
    // As after a crash: half a line at the end.
    std::fs::OpenOptions::new().append(true).open(&file).and_then(|mut f| f.write_all(b"{\"schema\": \"ato")).unwrap();
    let mut appender = Appender::open_now(&file).unwrap();
    let known = appender.records(record::checked_key).unwrap();
    assert_eq!(known.len(), entries.len() + 1);
    let resumed = plan.run(&known, Some(&appender), &mut ()).unwrap();
    assert_eq!(essence(&whole), essence(&resumed));
    assert_eq!(essence(&record::read(&file).unwrap()), essence(&whole));
}

use std::io::Write as _;

#[test]
fn one_result_per_method_and_rule_with_statistics_tests_tables_and_page() {
    let (data, entries) = toy();
    let splits = splits::stratified(&data, 8, 3, 1).unwrap();
    let plan = Plan { data: &data, splits: &splits, prep: &PrepSpec::default(), entries: &entries };
    let records = plan.run(&[], None, &mut ()).unwrap();
    let all = comparisons(&records);
    assert_eq!(all.len(), 1);
    let comparison = &all[0];
    let n_rules: usize = records[..entries.len()].iter().map(|record| record.rules.len()).sum();
    assert_eq!(comparison.results.len(), n_rules);
    assert_eq!(comparison.tests.len(), n_rules * (n_rules - 1) / 2);
    assert!(comparison.tests.iter().all(|test| test.test == "crossed" && (0.0..=test.p_holm).contains(&test.p)));
    for result in &comparison.results {
        assert_eq!((result.accuracy.len(), result.train_cpu_seconds.len()), (3, 3));
        assert!(result.mean > 0.5, "{} {}: {}", result.method, result.rule, result.mean);
        assert_eq!(result.confusion.counts.iter().flatten().sum::<usize>(), 3 * 16);
    }
    let json = serde_json::to_value(comparison).unwrap();
    for field in ["schema", "data", "protocol", "results", "tests", "provenance"] {
        assert!(!json[field].is_null(), "{field}");
    }
    assert_eq!(json["protocol"]["train_per_class"], 8);

    for result in &comparison.results {
        assert!(tables::terminal(comparison, 80, false).contains(&result.method));
    }
    assert!(tables::terminal(comparison, 80, false).lines().all(|line| line.chars().count() <= 80));
    assert!(tables::latex(comparison).contains("\\toprule") && tables::latex(comparison).contains("\\mathbf"));
    // The head, every rule, and the row of guessing.
    assert_eq!(tables::csv(comparison).lines().count(), n_rules + 2);
    let of_table = tables::markdown(comparison).lines().filter(|line| line.starts_with('|')).count();
    assert_eq!(of_table, n_rules + 3);

    let page = report::page(&records).unwrap();
    for text in
        ["<!doctype html>", "Provenance", "Glossary", "\\toprule", "Confusion matrix", "over samples and splits"]
    {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("http://") && !page.contains("https://"), "the page must need no network");
}

#[test]
fn one_split_is_tested_by_mcnemar() {
    let (data, entries) = toy();
    let splits = splits::stratified(&data, 8, 1, 1).unwrap();
    let plan = Plan { data: &data, splits: &splits, prep: &PrepSpec::default(), entries: &entries };
    let comparison = comparisons(&plan.run(&[], None, &mut ()).unwrap()).remove(0);
    assert!(comparison.tests.iter().all(|test| test.test == "mcnemar"));
    assert_eq!(comparison.results[0].std, None);
    let mean = comparison.results[0].mean;
    assert!(comparison.results[0].ci95.is_some_and(|[low, high]| low < high && (low..=high).contains(&mean)));
}

#[test]
fn names_from_files_cannot_break_the_page_and_bad_records_are_refused() {
    let (data, entries) = toy();
    let splits = splits::stratified(&data, 8, 1, 1).unwrap();
    let plan = Plan { data: &data, splits: &splits, prep: &PrepSpec::default(), entries: &entries[..1] };
    let mut records = plan.run(&[], None, &mut ()).unwrap();
    records[0].classes[0] = "<script>alert(1)</script>".into();
    records[0].data.path = "<b>.mat".into();
    let page = report::page(&records).unwrap();
    assert!(!page.contains("<script>alert") && !page.contains("<b>.mat"));

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.jsonl");
    let refused = |change: fn(&mut Record)| {
        let mut bad = records[0].clone();
        change(&mut bad);
        let _ = std::fs::remove_file(&file);
        Appender::open_now(&file).unwrap().append(&bad).unwrap();
        record::read(&file).unwrap_err().to_string()
    };
    assert!(refused(|record| record.rules[0].predictions[0] = 99).contains("do not fit"));
    assert!(refused(|record| record.rules[0].accuracy = 2.0).contains("is not that of its predictions"));
    assert!(refused(|record| record.truth.clear()).contains("invalid record"));
    assert!(refused(|record| record.schema = "x".into()).contains("line 1: schema `x`"));
}

/// LCDL-SV and CRC, tuned over small grids.
fn tuned_entries() -> Vec<Entry> {
    use crate::protocol::grid::{Axis, Grid};
    use serde_json::json;
    let entry = |key: &str, axes: &[(&str, serde_json::Value)], fixed: &[&str]| {
        let method = atomlearn::registry::method(key).unwrap();
        let axis = |(name, values): &(&str, serde_json::Value)| Axis {
            name: name.to_string(),
            values: values.as_array().cloned().unwrap(),
        };
        let fixed: Vec<String> = fixed.iter().map(|name| name.to_string()).collect();
        let grid = Grid::new(method, &axes.iter().map(axis).collect::<Vec<_>>(), &fixed).unwrap();
        let spec = tune::Spec { grid, folds: 3, seed: 5, one_se: false, metric: Metric::default() };
        Entry { tune: Some(spec), ..Entry::new(method, method.complete(&Values::new()).unwrap()) }
    };
    let lcdl = [("lambda1", json!([1e-3, 1e-1])), ("max_iter", json!([0, 2])), ("eta2", json!([1.0, 10.0]))];
    vec![entry("lcdl-sv", &lcdl, &["lambda2", "eta1"]), entry("crc", &[("kappa", json!([1e-3, 10.0]))], &[])]
}

#[test]
fn tuned_methods_choose_on_every_training_part_and_resume() {
    let data = synthetic(4, 12, 6, 9);
    let splits = splits::stratified(&data, 8, 2, 1).unwrap();
    let (prep, entries) = ("unit".parse().unwrap(), tuned_entries());
    let plan = Plan { data: &data, splits: &splits, prep: &prep, entries: &entries };
    let whole = plan.run(&[], None, &mut ()).unwrap();
    for record in &whole {
        let entry = entries.iter().find(|entry| entry.key() == record.method).unwrap();
        let (spec, places) = (entry.tune.as_ref().unwrap(), &splits.splits[record.split].train);
        let (method, base) = (registry::method(entry.key()).unwrap(), &entry.params);
        let folds = Folds::new(&data, places, spec.folds, spec.seed).unwrap();
        let tuned = Tuning { folds: &folds, prep: &prep, method, base, spec }.run(&[], None, &()).unwrap();
        let choice = record.tuned.as_ref().unwrap();
        assert_eq!((&choice.chosen, choice.accuracy), (&tuned.chosen, tuned.best().mean));
        assert_eq!(record.params, tuned.best().params);
    }
    let comparison = comparisons(&whole).remove(0);
    assert_eq!(comparison.results.len(), 4);
    for result in &comparison.results {
        assert_eq!((result.tuned.as_ref().unwrap().len(), result.tune_seconds.as_ref().unwrap().len()), (2, 2));
        assert!(!result.params.contains_key("eta2") && !result.params.contains_key("kappa"));
    }

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.jsonl");
    // Stops in the final training of the second split, after its tuning.
    struct StopInSplit;
    impl ExperimentObserver for StopInSplit {
        fn step(&mut self, run: Run<'_>, _: &Step<'_>) -> ControlFlow<()> {
            if run.split == 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    let error = plan.run(&[], Some(&Appender::open_now(&file).unwrap()), &mut StopInSplit).unwrap_err();
    assert!(matches!(error.source, Error::Interrupted));
    let known = record::read(&file).unwrap();
    assert_eq!(known.len(), 2);
    let resumed = plan.run(&known, Some(&Appender::open_now(&file).unwrap()), &mut ()).unwrap();
    assert_eq!(essence(&resumed), essence(&whole));
    assert_eq!(essence(&record::read(&file).unwrap()), essence(&whole));
    // Another grid is another experiment.
    let mut other = entries.clone();
    other[1].tune.as_mut().unwrap().folds = 4;
    assert!(Plan { entries: &other, ..plan }.run(&known, None, &mut ()).unwrap()[1].tuned.as_ref().unwrap().folds == 4);
}

#[test]
fn methods_choose_their_own_preprocessing() {
    let data = synthetic(4, 12, 6, 9);
    let splits = splits::stratified(&data, 8, 2, 1).unwrap();
    let preps: Vec<PrepSpec> = ["unit", "unit,kernel:rbf:auto"].map(|prep| prep.parse().unwrap()).to_vec();
    let mut entries = tuned_entries();
    for entry in &mut entries {
        let spec = entry.tune.as_mut().unwrap();
        spec.grid = spec.grid.clone().with_preps(&preps).unwrap();
    }
    // One more that is not tuned takes the first.
    entries.push(Entry::new(registry::method(entries[1].key()).unwrap(), entries[1].params.clone()));
    let plan = Plan { data: &data, splits: &splits, prep: &preps[0], entries: &entries };
    for record in plan.run(&[], None, &mut ()).unwrap() {
        let prep = record.tuned.as_ref().map_or("unit", |choice| choice.chosen["prep"].as_str().unwrap());
        let ready = Prepared::new(&data, &prep.parse().unwrap(), &splits.splits[record.split]).unwrap();
        let method = atomlearn::registry::method(&record.method).unwrap();
        let model = method.fit(&record.params, &ready.train, &mut ()).unwrap();
        let used = record.rules.iter().find(|rule| rule.rule == record.rule).unwrap();
        assert_eq!(used.predictions, model.predict(ready.test.as_ref()).unwrap());
        assert_eq!(record.protocol.prep, "unit | unit,kernel:rbf:auto");
    }
}
