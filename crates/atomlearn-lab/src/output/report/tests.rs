use super::*;
use crate::output::tables::tests_against_best;
use crate::output::verdict::verdict;
use crate::protocol::data::LabData;
use crate::protocol::splits;
use crate::records::diagnostics::Inside;
use crate::records::jsonl::Appender;
use crate::records::record;
use crate::records::record::{Mistake, RuleOutcome, Suspicion};
use crate::records::results::{Comparison, few_splits};
use crate::run::compare::{Entry, ExperimentObserver, Plan, Run};
use crate::stats::confusion;
use atomlearn::io::{ImageShape, RawData};
use atomlearn::observe::TraceStep;
use atomlearn::registry::{Values, method};
use atomlearn::synth;

struct LookInside;

impl ExperimentObserver for LookInside {
    fn look_inside(&mut self, run: Run<'_>) -> bool {
        run.split == 0
    }
}

fn records(methods: &[&str], image_shape: Option<ImageShape>, prep: &str) -> Vec<Record> {
    run(methods, image_shape, prep, &mut LookInside)
}

/// Four classes of pictures of 4 x 3 pixels (or of plain features), two splits.
fn run(
    methods: &[&str],
    image_shape: Option<ImageShape>,
    prep: &str,
    watch: &mut dyn ExperimentObserver,
) -> Vec<Record> {
    let data = synth::blobs(4, 12, 12, 3);
    let labels = data.targets().into_iter().map(|c| format!("class {c}")).collect();
    let raw = RawData { labels: Some(labels), image_shape, ..RawData::new(data.x().to_owned()) };
    let data = LabData::new("toy", "0".repeat(64), raw).unwrap();
    let splits = splits::stratified(&data, 8, 2, 1).unwrap();
    let complete = |key: &&str| {
        let method = method(key).unwrap();
        Entry::new(method, method.complete(&Values::new()).unwrap())
    };
    let entries: Vec<Entry> = methods.iter().map(complete).collect();
    let plan = Plan { data: &data, splits: &splits, prep: &prep.parse().unwrap(), entries: &entries };
    plan.run(&[], None, watch).unwrap()
}

const SHAPE: Option<ImageShape> = Some(ImageShape { rows: 4, cols: 3, column_major: true });
const ALL: [&str; 11] = ["lcdl-sv", "svgdl", "ksvd", "dksvd", "lcksvd2", "fddl", "cadl", "sadl", "dpl", "dadl", "crc"];

fn inside(record: &Record) -> &Inside {
    record.inside.as_ref().unwrap()
}

#[test]
fn runs_on_the_first_split_are_looked_into_and_the_last_iteration_is_the_model() {
    let records = records(&ALL, SHAPE, "pca:8,unit");
    for record in &records {
        let wanted = record.split == 0 && record.method != "crc";
        assert_eq!(record.inside.is_some(), wanted, "{} split {}", record.method, record.split);
    }
    for record in records.iter().filter(|record| record.inside.is_some()) {
        let last = inside(record).progress.last().unwrap();
        assert_eq!(Some(last.iter), record.n_iter, "{}", record.method);
        let model: Vec<f64> = record.rules.iter().map(|outcome| outcome.accuracy).collect();
        // FDDL solves the codes once more after its last iteration.
        if record.method != "fddl" {
            assert_eq!(last.accuracy, model, "{}", record.method);
        }
        let atoms = inside(record).atoms.as_ref().unwrap();
        assert_eq!((atoms.picture, atoms.raw), (Some([4, 3]), true));
        let shown: Vec<f64> = atoms.classes.iter().flat_map(|group| &group.atoms).map(|atom| atom.usage).collect();
        let all_shown = atoms.classes.iter().map(|group| group.total).sum::<usize>() == shown.len();
        assert_eq!(atoms.classes.iter().map(|group| group.total).sum::<usize>(), atoms.total);
        assert!(!all_shown || (shown.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{}", record.method);
        let sorted =
            |atoms: &[crate::records::diagnostics::Atom]| atoms.windows(2).all(|pair| pair[0].usage >= pair[1].usage);
        assert!(atoms.classes.iter().all(|group| sorted(&group.atoms)));
        assert_eq!(inside(record).graph.is_some(), record.method == "lcdl-sv");
    }
}

#[test]
fn looking_inside_changes_no_result() {
    let methods = ["lcdl-sv", "dpl", "ksvd"];
    let (seen, unseen) = (records(&methods, SHAPE, "unit"), run(&methods, SHAPE, "unit", &mut ()));
    assert!(unseen.iter().all(|record| record.inside.is_none()));
    for (a, b) in seen.iter().zip(&unseen) {
        assert_eq!((&a.key, &a.rules, &a.trace, &a.warnings), (&b.key, &b.rules, &b.trace, &b.warnings));
    }
}

#[test]
fn what_is_seen_does_not_depend_on_threads() {
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let records = pool.install(|| records(&ALL, SHAPE, "pca:8,unit"));
        records.into_iter().map(|record| record.inside).collect::<Vec<_>>()
    };
    assert_eq!(with(1), with(2));
}

#[test]
fn the_page_has_every_part_and_needs_no_network() {
    let records = records(&["lcdl-sv", "crc", "dpl"], SHAPE, "unit");
    let sweep = Sensitivity {
        method: "lcdl-sv".into(),
        parameter: "lambda1".into(),
        data: "toy".into(),
        values: vec![1e-4, 1e-3, 1e-2],
        rules: vec![RuleCurve { rule: "fused".into(), mean: vec![0.5, 0.6, 0.55], ci95: vec![Some([0.4, 0.6]); 3] }],
    };
    let ranks = RankSummary {
        names: vec!["a".into(), "b".into()],
        ranks: vec![1.2, 1.8],
        groups: vec![vec![0, 1]],
        critical_difference: None,
        data_sets: 5,
        note: "Five data sets are too few to conclude.".into(),
    };
    let page =
        page_of(Content { records: &records, sweeps: &[sweep], ranks: Some(&ranks), ..Content::default() }).unwrap();
    for text in [
        "<!doctype html>",
        "Accuracy",
        "\\toprule",
        "Time against accuracy",
        "Are the differences real?",
        "How training converged",
        "Test accuracy % by rule",
        "class=\"verdict",
        "is right on",
        "Classes of",
        "Confusion matrix",
        "Atom graph of lcdl-sv",
        "data:image/png;base64,",
        "Provenance",
        "Sensitivity",
        "lambda1",
        "Critical-difference diagram",
        "too few to conclude",
        "Glossary",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("http://") && !page.contains("https://"));
    assert!(!page.contains("NaN,") && !page.contains(",NaN") && !page.contains("\"NaN"));
    assert_eq!(page.matches("<tr").count(), page.matches("</tr>").count());
    assert_eq!(page.matches("<details").count(), page.matches("</details>").count());
}

#[test]
fn atoms_without_a_way_back_or_a_shape_are_lines() {
    for (shape, prep, raw) in [(SHAPE, "random:9,unit", false), (None, "unit", true)] {
        let records = records(&["dpl"], shape, prep);
        let atoms = inside(&records[0]).atoms.as_ref().unwrap();
        assert_eq!((atoms.picture, atoms.raw), (None, raw));
        let page = page(&records).unwrap();
        assert!(page.contains("<polyline") && !page.contains("data:image/png"));
        assert_eq!(page.contains("no way back"), !raw);
    }
}

#[test]
fn no_text_of_a_record_can_break_the_page() {
    let evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>";
    let mut records = records(&["lcdl-sv", "svgdl", "dpl"], SHAPE, "unit");
    for record in &mut records {
        record.method += evil;
        record.rule += evil;
        record.rules.iter_mut().for_each(|outcome| outcome.rule += evil);
        record.classes.iter_mut().for_each(|class| *class = format!("{evil}{class}"));
        record.trace.iter_mut().flat_map(|step| &mut step.terms).for_each(|term| term.0 += evil);
        record.warnings.push(evil.into());
        record.params.insert(evil.into(), evil.into());
        record.data.path = evil.into();
        record.data.sha256 = evil.into();
        record.protocol.prep = evil.into();
        record.external = Some(evil.into());
        record.provenance.origin.command = Some(evil.into());
        record.provenance.origin.data_args = Some(evil.into());
        record.mistakes.iter_mut().for_each(|mistake| mistake.name = Some(evil.into()));
        record.suspicious = vec![Suspicion {
            sample: 0,
            name: Some(evil.into()),
            label: evil.into(),
            proba: 0.1,
            suggested: evil.into(),
        }];
        record.provenance.cpu = evil.into();
        record.provenance.time = evil.into();
        record.provenance.version = evil.into();
    }
    let sweep = Sensitivity {
        method: evil.into(),
        parameter: evil.into(),
        data: evil.into(),
        values: vec![1.0, 2.0],
        rules: vec![RuleCurve { rule: evil.into(), mean: vec![0.5; 2], ci95: vec![] }],
    };
    let ranks = RankSummary {
        names: vec![evil.into(), evil.into()],
        ranks: vec![1.0, 2.0],
        groups: vec![],
        critical_difference: Some(1.0),
        data_sets: 3,
        note: evil.into(),
    };
    let page =
        page_of(Content { records: &records, sweeps: &[sweep], ranks: Some(&ranks), ..Content::default() }).unwrap();
    assert!(!page.contains("<script>alert") && !page.contains("<img src=x"));
    assert_eq!(page.matches("<script").count(), 1, "the page's own script");
    assert!(page.contains("&lt;script&gt;alert"));
    let diagram = rank_diagram(&ranks).unwrap();
    assert!(diagram.starts_with("<svg") && diagram.contains("&lt;script&gt;") && !diagram.contains("<script"));
    assert!(rank_diagram(&RankSummary { names: vec![], ranks: vec![], ..ranks }).is_err());
}

#[test]
fn absurd_numbers_are_left_out_of_drawings() {
    let mut records = records(&["lcdl-sv"], SHAPE, "unit");
    records[0].split = usize::MAX;
    records[0].n_train = usize::MAX;
    records[0].warnings.push("careful".into());
    let step = |iter, value| TraceStep { iter, objective: Some(value), terms: vec![("a".into(), value)], change: None };
    for values in [[1e308, -1e308], [f64::NAN, f64::INFINITY], [0.0, 0.0], [-1.0, 1e99]] {
        records[0].trace = values.iter().enumerate().map(|(i, &v)| step(i * (usize::MAX / 4), v)).collect();
        let page = page(&records).unwrap();
        let drawing = &page[page.find("<svg class=\"panel").unwrap_or(0)..];
        assert!(!drawing.contains("NaN,") && !drawing.contains(",NaN") && !drawing.contains("inf,"), "{values:?}");
    }
    let sweep = Sensitivity {
        method: "m".into(),
        parameter: "p".into(),
        data: "d".into(),
        values: vec![f64::NAN, 1.0, 2.0, 1e300],
        rules: vec![RuleCurve {
            rule: "r".into(),
            mean: vec![0.5, f64::NAN, f64::INFINITY],
            ci95: vec![Some([f64::NAN, 1.0])],
        }],
    };
    let page = page_of(Content { sweeps: &[sweep], ..Content::default() }).unwrap();
    assert!(!page.contains("id=\"sensitivity\""), "nothing to draw, no section");
}

#[test]
fn hostile_insides_are_refused_by_line() {
    let records = records(&["lcdl-sv"], SHAPE, "unit");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.jsonl");
    let read = |change: fn(&mut Inside)| {
        let mut bad = records[0].clone();
        change(bad.inside.as_mut().unwrap());
        let _ = std::fs::remove_file(&file);
        Appender::open_now(&file).unwrap().append(&bad).unwrap();
        record::read(&file).map_err(|e| e.to_string())
    };
    assert_eq!(read(|_| {}).unwrap()[0], records[0]);
    let atom = |seen: &mut Inside| seen.atoms.as_mut().unwrap().classes[0].atoms[0].clone();
    for (what, change) in [
        ("after iterations", (|seen| seen.progress[0].accuracy.clear()) as fn(&mut Inside)),
        ("after iterations", |seen| seen.progress[0].accuracy[0] = 7.0),
        ("invalid atoms", |seen| seen.atoms.as_mut().unwrap().classes[0].class = 99),
        ("invalid atoms", |seen| seen.atoms.as_mut().unwrap().picture = Some([usize::MAX, 2])),
        ("invalid atoms", |seen| seen.atoms.as_mut().unwrap().classes[0].atoms[0].bytes = "!!".into()),
        ("invalid atoms", |seen| seen.atoms.as_mut().unwrap().classes[0].atoms[0].usage = -1.0),
        ("invalid atom graph", |seen| seen.graph.as_mut().unwrap().edges[0].1 = 1 << 40),
        ("invalid atom graph", |seen| seen.graph.as_mut().unwrap().classes[0] = 99),
    ] {
        let why = read(change).unwrap_err();
        assert!(why.contains("line 1") && why.contains(what), "{why}");
    }
    let many = |seen: &mut Inside| {
        let one = atom(seen);
        seen.atoms.as_mut().unwrap().classes[0].atoms = vec![one; 5000];
    };
    let mut bad = records[0].clone();
    many(bad.inside.as_mut().unwrap());
    assert!(crate::records::diagnostics::check(inside(&bad), &bad).is_err());
    let mut slow = records[0].clone();
    slow.times.train_seconds = -1.0;
    std::fs::remove_file(&file).unwrap();
    Appender::open_now(&file).unwrap().append(&slow).unwrap();
    assert!(record::read(&file).unwrap_err().to_string().contains("a time is negative"));
}

#[test]
fn a_hundred_classes_are_a_small_page() {
    let mut record = records(&["crc"], None, "unit").remove(0);
    let n = 100;
    record.classes = (0..n).map(|c| format!("a rather long class name {c}")).collect();
    record.truth = (0..10 * n).map(|i| i % n).collect();
    let predictions: Vec<usize> = (0..10 * n).map(|i| if i % 7 == 0 { (i * 31) % n } else { i % n }).collect();
    let accuracy = confusion::accuracy(&record.truth, &predictions);
    record.rules = vec![RuleOutcome { rule: "residual".into(), accuracy, predictions, auc: None, probability: None }];
    let page = page(&[record]).unwrap();
    assert!(page.contains("class=\"dense\"") && page.len() < 300_000, "{}", page.len());
}

#[test]
fn images_are_shown_with_their_mistakes() {
    let mut records = records(&["crc"], SHAPE, "unit");
    records[0].mistakes = vec![Mistake { sample: 5, truth: 0, found: 1, margin: 0.5, name: None }];
    let (examples, places) = Photos::wanted(&[0, 0, 1, 1, 1, 0], 2, &records);
    assert_eq!(
        (&examples[..], &places[..]),
        (&[(0, 0), (0, 1), (0, 5), (1, 2), (1, 3), (1, 4)][..], &[0, 1, 2, 3, 4, 5][..])
    );
    let photo = |i: &usize| (*i, Photo { name: format!("<{i}>.jpg"), jpeg: vec![1, 2, 3] });
    let photos = Photos { of_sample: places.iter().map(photo).collect(), examples };
    let page = page_with(&records, Some(&photos)).unwrap();
    for text in ["id=\"photos0\"", "href=\"#photos0\"", "data:image/jpeg;base64,AQID", "&lt;5&gt;.jpg", "taken for"] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page_with(&records, Some(&Photos::default())).unwrap().contains("photos0"));
}

/// A comparison of three results: two that cannot be told apart, and one that is worse.
fn three() -> crate::records::results::Comparison {
    let mut records = records(&["ridge", "crc", "knn"], SHAPE, "unit");
    let n = 200;
    for record in &mut records {
        record.classes = vec!["a".into(), "b".into()];
        record.truth = (0..n).map(|i| i % 2).collect();
        record.tested = (0..n).collect();
        record.majority = Some(0.5);
        let wrong = ["ridge", "crc", "knn"]
            .iter()
            .position(|key| *key == record.method)
            .map(|place| [10, 11, 60][place])
            .unwrap();
        let predictions: Vec<usize> = (0..n).map(|i| if i < wrong { 1 - i % 2 } else { i % 2 }).collect();
        let accuracy = confusion::accuracy(&record.truth, &predictions);
        record.rules =
            vec![RuleOutcome { rule: record.rule.clone(), accuracy, predictions, auc: None, probability: None }];
        record.times.train_seconds = if record.method == "crc" { 0.001 } else { 1.0 };
        record.times.test_seconds = 0.0;
        record.provenance.origin.data_args = Some("toy.csv --y class".into());
    }
    crate::records::results::comparisons(&records).remove(0)
}

#[test]
fn the_verdict_says_what_to_use_how_sure_that_is_and_what_to_type() {
    let mut comparison = three();
    let found = verdict(&comparison).unwrap();
    assert_eq!(found.advice, "Use ridge.");
    assert!(found.reason.contains("right on 95.00 %"), "{}", found.reason);
    assert!(found.over_guessing.as_ref().unwrap().contains("45.0 points better"), "{found:?}");
    assert_eq!((&found.alike[..], found.useless), (&["crc".to_string()][..], false));
    assert!(
        found.certainty.contains(
            "1 of the 2 other results can be ruled out as the best (p < 0.05 after Holm's correction for these 2 tests)"
        ),
        "{}",
        found.certainty
    );
    assert!(
        found.faster.as_ref().unwrap().contains("crc is fastest: 0.0010 s to train and test, against 1.00 s"),
        "{found:?}"
    );
    assert_eq!(found.command.as_deref(), Some("atomlearn train toy.csv --y class --method ridge -o best.model"));
    // The matrix and the verdict go by the same numbers.
    let clear = comparison.tests.iter().filter(|test| test.p_holm < 0.05).count();
    assert_eq!(clear, 2, "knn differs from both");
    // A result far below that is not ruled out has its reason: three splits, not many.
    let mut scattered = three();
    let [best, crc] = ["ridge", "crc"].map(|key| scattered.results.iter().position(|r| r.method == key).unwrap());
    scattered.results[best].accuracy = vec![0.95; 3];
    let too_few = |scattered: &Comparison| few_splits(&scattered.results, &scattered.tests).unwrap_or_default();
    assert_eq!(too_few(&scattered), "");
    scattered.results[crc].score = 0.5;
    assert!(too_few(&scattered).contains("3 splits are too few to rule them out"));
    scattered.results[best].accuracy = vec![0.95; 10];
    assert_eq!(too_few(&scattered), "");
    // Two splits rank nothing, whatever came out, and the box says so.
    scattered.results[best].accuracy = vec![0.95; 2];
    assert!(too_few(&scattered).starts_with("Two splits are too few to rank by"));
    assert!(found.cautions[0].starts_with("Two splits are too few to rank by"));
    // What was set is in the command, what guessing gets can make all useless, and a program has no command.
    comparison.results[0].params.insert("lambda".into(), 0.25.into());
    assert!(verdict(&comparison).unwrap().command.unwrap().contains("--set lambda=0.25"));
    comparison.majority.as_mut().unwrap().mean = 0.94;
    let useless = verdict(&comparison).unwrap();
    assert!(useless.useless && useless.advice == "Use none of these yet." && useless.command.is_none());
    comparison.majority.as_mut().unwrap().mean = 0.5;
    comparison.results[0].method = "my program".into();
    assert_eq!(verdict(&comparison).unwrap().command, None);
}

#[test]
fn warnings_that_differ_in_numbers_are_one_and_paper_has_no_empty_headings() {
    let mut records = records(&["ridge", "crc"], SHAPE, "unit");
    let kept = ["kernel map: 186 of 240 directions kept", "kernel map: 9 of 240 directions kept", "odd"];
    for record in records.iter_mut().filter(|record| record.method == "ridge") {
        record.warnings = vec![kept[record.split].into(), kept[2].into()];
    }
    let warnings = crate::records::results::comparisons(&records).remove(0).warnings;
    let found: Vec<(&str, &[usize])> = warnings.iter().map(|w| (&w.text[..], &w.splits[..])).collect();
    assert_eq!(found, [(kept[0], &[0, 1][..]), (kept[2], &[0, 1][..])]);
    let page = page(&records).unwrap();
    for text in
        ["time of training and testing together", ".extras:not(:has(", "<div class=\"extras\">", "#glossary:not"]
    {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn of_many_tests_the_terminal_lists_the_doubtful_ones() {
    let mut comparison = three();
    let (number, lines) = tests_against_best(&comparison);
    assert_eq!((number, lines.len()), (2, 2));
    let clear = comparison.tests.iter().find(|test| test.with_best && test.p_holm < 0.05).unwrap().clone();
    comparison.tests.extend(std::iter::repeat_n(clear, 20));
    let (number, lines) = tests_against_best(&comparison);
    assert_eq!((number, lines.len()), (22, 2), "{lines:?}");
    assert!(lines[0].contains("crc") && lines[1].starts_with("the 21 others"), "{lines:?}");
}

#[test]
fn an_atom_graph_that_joins_no_two_classes_is_not_drawn() {
    let mut records = records(&["lcdl-sv"], SHAPE, "unit");
    assert!(page(&records).unwrap().contains("id=\"graph0\""));
    let graph = records[0].inside.as_mut().unwrap().graph.as_mut().unwrap();
    let classes = graph.classes.clone();
    graph.edges.retain(|&(i, j, _)| classes[i] == classes[j]);
    assert!(!page(&records).unwrap().contains("id=\"graph0\""));
}

#[test]
fn what_stands_between_backticks_is_code_and_nothing_is_markup() {
    assert_eq!(marked("type `a <b>` & `c`."), "type <code>a &lt;b&gt;</code> &amp; <code>c</code>.");
    assert_eq!(marked("one ` alone <i>"), "one ` alone &lt;i&gt;");
    assert_eq!(marked(""), "");
}
