//! The report of a small real experiment in a real browser: wide and narrow, light and dark, with and without scripts.
//!
//! Needs Chromium. Without it the test says so and passes, unless `CI=true`, where it fails.
#![allow(clippy::unwrap_used, clippy::panic)]

use atomlearn::registry::{Values, method};
use atomlearn::{Model, io};
use atomlearn_browser::Browser;
use atomlearn_lab::compare::{Entry, ExperimentObserver, Plan, Run};
use atomlearn_lab::data::{LabData, digest_raw};
use atomlearn_lab::findings::Findings;
use atomlearn_lab::record::Record;
use atomlearn_lab::report::{Content, RankSummary, RuleCurve, Sensitivity, auto_page, page_of};
use atomlearn_lab::splits;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

struct LookInside;

impl ExperimentObserver for LookInside {
    fn look_inside(&mut self, run: Run<'_>) -> bool {
        run.split == 0
    }
}

fn digits() -> Vec<Record> {
    let mut raw = io::digits();
    // Some labels are wrong, so that there is something to suspect.
    let labels = raw.labels.as_mut().unwrap();
    (0..40).for_each(|i| labels[11 * i] = "3".into());
    let data = LabData::new("digits", digest_raw(&raw), raw).unwrap();
    let splits = splits::stratified(&data, 10, 2, 1).unwrap();
    // As documented, so that there are iterations to show.
    let complete = |key| Entry::new(method(key).unwrap(), method(key).unwrap().fixed(&Values::new()).unwrap());
    let entries: Vec<Entry> = ["lcdl-sv", "crc", "ksvd", "dpl", "auto"].map(complete).into();
    let plan = Plan { data: &data, splits: &splits, prep: &"unit".parse().unwrap(), entries: &entries };
    let mut records = plan.run(&[], None, &mut LookInside).unwrap();
    for share in splits::CURVE_SHARES {
        let part = splits.with_share(&data, share);
        let some = [entries[1].clone(), entries[4].clone()];
        records.extend(Plan { splits: &part, entries: &some, ..plan }.run(&[], None, &mut ()).unwrap());
    }
    for record in &mut records {
        record.provenance.origin.data_args = Some("digits.npz --y digit".into());
        record.provenance.origin.command = Some("atomlearn compare digits.npz --y digit".into());
    }
    records
}

fn report(records: &[Record]) -> String {
    let sweep = Sensitivity {
        method: "lcdl-sv".into(),
        parameter: "lambda1".into(),
        data: "digits".into(),
        values: vec![1e-5, 1e-4, 1e-3, 1e-2],
        rules: ["svm", "fused"]
            .map(|rule| RuleCurve {
                rule: rule.into(),
                mean: vec![0.8, 0.85, 0.86, 0.7],
                ci95: vec![Some([0.7, 0.9]); 4],
            })
            .into(),
    };
    let ranks = RankSummary {
        names: ["lcdl-sv · fused", "crc", "a method with a long name", "dpl", "ksvd"].map(String::from).into(),
        ranks: vec![1.4, 2.0, 3.1, 3.5, 5.0],
        groups: vec![vec![0, 1], vec![1, 2, 3]],
        critical_difference: Some(1.6),
        data_sets: 8,
        note: String::new(),
    };
    page_of(Content { records, sweeps: &[sweep], ranks: Some(&ranks), ..Content::default() }).unwrap()
}

/// Everything the test wants to know of the page, asked at once.
const QUESTIONS: &str = r#"(() => {
  const all = selector => [...document.querySelectorAll(selector)];
  const ids = all("[id]").map(element => element.id);
  const named = all("[aria-labelledby]").flatMap(element => element.getAttribute("aria-labelledby").split(" "));
  const part = color => { const v = color / 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = css => { const [r, g, b] = css.match(/[\d.]+/g).map(Number); return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b); };
  const back = light(getComputedStyle(document.body).backgroundColor);
  const contrast = selector => { const l = light(getComputedStyle(document.querySelector(selector)).color); return (Math.max(l, back) + 0.05) / (Math.min(l, back) + 0.05); };
  const shown = element => element.checkVisibility();
  return {
    title: document.title,
    h1: all("h1").length,
    skipped: all("h1, h2, h3, h4").map(h => Number(h.tagName[1])).filter((level, i, levels) => i > 0 && level > levels[i - 1] + 1).length,
    landmarks: ["header", "nav", "main", "footer"].every(name => all(name).length === 1),
    headings: all("h2, h3").map(heading => heading.textContent),
    rows: all("table.results tbody tr").length,
    tests: all("table.tests tbody tr").length,
    unscoped: all("th:not([scope])").length,
    unnamed: all("svg[role=img]").filter(svg => !svg.querySelector("title")).length,
    plots: all("svg[role=img]").filter(shown).length,
    scatters: all("svg.plot").filter(shown).length,
    pictures: all(".atoms img").length,
    broken: all(".atoms img").filter(img => img.complete && img.naturalWidth === 0).length,
    unlabelled: all("img:not([alt])").length,
    doubled: ids.length - new Set(ids).size,
    dangling: named.filter(id => !ids.includes(id)).concat(all("a[href^='#']").filter(a => !ids.includes(a.hash.slice(1)))).length,
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    verdict: document.querySelector(".verdict").textContent,
    verdict_bottom: document.querySelector(".verdict").getBoundingClientRect().bottom,
    means: all("table.results tbody tr").map(row => parseFloat(row.cells[2].textContent)),
    sorted: all("table.results [aria-sort]").map(head => head.textContent),
    footer: document.querySelector("footer").textContent,
    open: all("details[open]").filter(details => details.checkVisibility()).length,
    latex: document.querySelector("pre[id^=latex]").textContent.includes("\\toprule"),
    contrast: Math.min(contrast("body"), contrast(".soft"), contrast("a")),
    dark: back < 0.2,
    buttons: all("button").filter(button => !button.hidden).length,
    letters: all("svg.plot text, svg.panel text").filter(shown).map(text => text.getBoundingClientRect().height).reduce((a, b) => Math.min(a, b), 99),
  };
})()"#;

/// The report asks for nothing but itself.
fn is_report(url: &str) -> bool {
    url.starts_with("file:") && url.ends_with("report.html")
}

fn check(browser: &mut Browser, file: &std::path::Path, width: u32, dark: bool, scripts: bool) {
    let case = format!("{width} px, dark {dark}, scripts {scripts}");
    let phone = width < 500;
    let metrics = json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": phone});
    browser.call("Emulation.setDeviceMetricsOverride", metrics).unwrap();
    browser.call("Emulation.setScriptExecutionDisabled", json!({"value": !scripts})).unwrap();
    let scheme = if dark { "dark" } else { "light" };
    let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
    browser.call("Emulation.setEmulatedMedia", features).unwrap();
    browser.open(file).unwrap();
    assert_eq!(browser.complaints(is_report), Vec::<String>::new(), "{case}");

    let seen = browser.eval(QUESTIONS).unwrap();
    let number = |key: &str| seen[key].as_f64().unwrap_or(-1.0);
    assert_eq!(seen["title"], "atomlearn report: digits", "{case}");
    assert_eq!((number("h1"), seen["landmarks"] == true, seen["latex"] == true), (1.0, true, true), "{case}");
    let headings = seen["headings"].to_string();
    for heading in [
        "Accuracy",
        "Classes of",
        "Worst mistakes of",
        "Suspicious labels",
        "Would more samples help?",
        "Can the probabilities be trusted?",
        "Time against accuracy",
        "Details",
        "Provenance",
        "Sensitivity to parameters",
        "Ranks over 8 data sets",
        "Glossary",
    ] {
        assert!(headings.contains(&format!("\"{heading}")), "{case}: no heading {heading} among {headings}");
    }
    // Three rules of lcdl-sv and one of each other method; the table has the row of guessing besides.
    assert_eq!((number("rows"), number("tests")), (8.0, 7.0), "{case}");
    let verdict = seen["verdict"].as_str().unwrap_or_default();
    for part in [
        "Use ",
        "is right on",
        "points better than always guessing",
        "can be ruled out as the best",
        "atomlearn train digits.npz --y digit --method ",
    ] {
        assert!(verdict.contains(part), "{case}: `{part}` is not in the verdict: {verdict}");
    }
    assert!(
        number("verdict_bottom") < 900.0,
        "{case}: the verdict is not on the first screen: {}",
        number("verdict_bottom")
    );
    let means: Vec<f64> = serde_json::from_value(seen["means"].clone()).unwrap();
    assert!(means.windows(2).all(|pair| pair[0] >= pair[1]), "{case}: the table comes sorted: {means:?}");
    assert_eq!(seen["sorted"], json!(["mean %"]), "{case}");
    assert!(seen["footer"].as_str().unwrap_or_default().contains("atomlearn compare digits.npz --y digit"), "{case}");
    assert!(number("open") <= 4.0, "{case}: {} parts are unfolded", number("open"));
    assert_eq!((number("unscoped"), number("unnamed"), number("unlabelled")), (0.0, 0.0, 0.0), "{case}");
    assert_eq!((number("doubled"), number("dangling"), number("skipped")), (0.0, 0.0, 0.0), "{case}");
    // Confusion matrix of the best, learning curve, calibration, scatter, sensitivity, ranks; all else is folded.
    assert_eq!((number("plots"), number("scatters")), (6.0, 1.0), "{case}");
    assert!(number("pictures") >= 250.0 && number("broken") == 0.0, "{case}: {seen}");
    assert_eq!(number("wide"), 0.0, "{case}: the page is wider than the screen");
    assert!(number("contrast") >= 4.5 && (seen["dark"] == dark), "{case}: {seen}");
    assert!(number("letters") >= 9.0, "{case}: letters in plots of {} px", number("letters"));
    if scripts {
        with_scripts(browser, &case);
    } else {
        assert_eq!(number("buttons"), 0.0, "{case}: a button that does nothing");
    }
    assert_eq!(browser.complaints(is_report), Vec::<String>::new(), "{case}, afterwards");
}

/// Sorting by clicks on any heading, links into folded parts, the theme, and everything unfolded.
fn with_scripts(browser: &mut Browser, case: &str) {
    let column = |browser: &mut Browser, place: usize| -> Vec<String> {
        let texts = format!(
            r#"[...document.querySelectorAll("table.results tbody tr")].map(row => row.cells[{place}].textContent)"#
        );
        serde_json::from_value(browser.eval(&texts).unwrap()).unwrap()
    };
    let click = |browser: &mut Browser, head: &str| {
        let find = r#"[...document.querySelectorAll("table.results thead th")].find(head => head.textContent === "#;
        browser.eval(&format!(r#"({find}"{head}")).querySelector("button.sort").click()"#)).unwrap();
    };
    let numbers = |texts: Vec<String>| texts.iter().filter_map(|text| text.parse().ok()).collect::<Vec<f64>>();
    let visible = r#"getComputedStyle(document.querySelector("table.results .sort"), "::after").content"#;
    assert!(browser.eval(visible).unwrap().as_str().unwrap_or_default().contains('↕'), "{case}: sorting is not seen");
    let before = column(browser, 2);
    click(browser, "mean %");
    let up = numbers(column(browser, 2));
    assert!(up.windows(2).all(|pair| pair[0] <= pair[1]), "{case}: {up:?}");
    click(browser, "mean %");
    assert_eq!(column(browser, 2), before, "{case}: sorted back");
    click(browser, "method");
    let names = column(browser, 0);
    assert!(names.windows(2).all(|pair| pair[0].to_lowercase() <= pair[1].to_lowercase()), "{case}: {names:?}");
    let one =
        r#"[...document.querySelectorAll("table.results [aria-sort]")].map(head => [head.textContent, head.ariaSort])"#;
    assert_eq!(browser.eval(one).unwrap(), json!([["method", "ascending"]]), "{case}");
    let before = browser.eval("getComputedStyle(document.body).backgroundColor").unwrap();
    browser.eval(r#"document.querySelector("button.theme").click()"#).unwrap();
    assert_ne!(browser.eval("getComputedStyle(document.body).backgroundColor").unwrap(), before, "{case}");
    browser.eval(r##"location.hash = "#tests0""##).unwrap();
    browser.wait_for(r#"document.getElementById("tests0").open"#).unwrap();
    assert_eq!(unfolded_excess(browser), 0, "{case}: too wide when all is unfolded");
}

/// Names of any length fit a phone.
fn check_width_unfolded(browser: &mut Browser, file: &std::path::Path) {
    let metrics = json!({"width": 360, "height": 800, "deviceScaleFactor": 1, "mobile": true});
    browser.call("Emulation.setDeviceMetricsOverride", metrics).unwrap();
    browser.call("Emulation.setScriptExecutionDisabled", json!({"value": false})).unwrap();
    browser.call("Emulation.setEmulatedMedia", json!({"media": "screen"})).unwrap();
    browser.open(file).unwrap();
    assert_eq!(unfolded_excess(browser), 0, "long names make the page wider than the screen");
}

/// By how much the page is wider than the screen when everything is unfolded.
fn unfolded_excess(browser: &mut Browser) -> Value {
    browser.eval(r#"document.querySelectorAll("details").forEach(details => { details.open = true; })"#).unwrap();
    browser.eval("document.documentElement.scrollWidth - document.documentElement.clientWidth").unwrap()
}

/// On paper what is folded stays so, on white, and nothing is cut off, whatever the screen is like: ten pages at most.
fn check_print(browser: &mut Browser, file: &std::path::Path) {
    let metrics = json!({"width": 700, "height": 1000, "deviceScaleFactor": 1, "mobile": false});
    browser.call("Emulation.setDeviceMetricsOverride", metrics).unwrap();
    browser.call("Emulation.setScriptExecutionDisabled", json!({"value": true})).unwrap();
    let dark = json!([{"name": "prefers-color-scheme", "value": "dark"}]);
    browser.call("Emulation.setEmulatedMedia", json!({"media": "print", "features": dark})).unwrap();
    browser.open(file).unwrap();
    assert_eq!(browser.eval("getComputedStyle(document.body).backgroundColor").unwrap(), "rgb(255, 255, 255)");
    let wide = browser.eval("document.documentElement.scrollWidth - document.documentElement.clientWidth").unwrap();
    assert_eq!(wide, 0, "wider than the paper");
    assert_eq!(browser.eval(r#"document.querySelector("nav").checkVisibility()"#).unwrap(), false);
    assert_eq!(browser.eval(r#"document.querySelector("table.tests").checkVisibility()"#).unwrap(), false);
    assert_eq!(browser.eval(r#"document.querySelector(".verdict pre").checkVisibility()"#).unwrap(), true);
    let printed = browser.call("Page.printToPDF", json!({"paperWidth": 8.27, "paperHeight": 11.69})).unwrap();
    let pdf = STANDARD.decode(printed["data"].as_str().unwrap()).unwrap();
    let text = String::from_utf8_lossy(&pdf);
    let pages = text.matches("/Type /Page\n").count() + text.matches("/Type /Page ").count();
    assert!((1..=10).contains(&pages), "{pages} pages of paper");
}

#[test]
fn the_report_in_a_browser() {
    let Some(mut browser) = Browser::start_if_any().unwrap() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    let mut records = digits();
    std::fs::write(&file, report(&records)).unwrap();
    for (width, dark, scripts) in [(1280, false, true), (1280, true, false), (360, true, true), (360, false, false)] {
        check(&mut browser, &file, width, dark, scripts);
        browser.screenshot(&format!("report-{width}-{}", if dark { "dark" } else { "light" })).unwrap();
    }
    check_print(&mut browser, &file);
    for record in &mut records {
        let long = "x".repeat(90);
        record.method += &long;
        record.classes.iter_mut().for_each(|class| *class += &long);
        record.data.path += &long;
        record.warnings.push(long);
    }
    std::fs::write(&file, report(&records)).unwrap();
    check_width_unfolded(&mut browser, &file);
}

/// What `auto` found on digits of which some labels are wrong, with a class of a long name.
fn auto_findings() -> String {
    let mut raw = io::digits();
    let labels = raw.labels.as_mut().unwrap();
    let long = "seven with a rather long name that has to fit".to_string();
    labels.iter_mut().filter(|label| **label == "7").for_each(|label| *label = long.clone());
    (0..20).for_each(|i| labels[7 * i] = "3".into());
    let data = LabData::new("digits", digest_raw(&raw), raw).unwrap();
    let places: Vec<usize> = (0..300).collect();
    let train = data.dataset(&places).unwrap();
    let model =
        Model::train(method("auto").unwrap(), &Values::new(), &"none".parse().unwrap(), &train, &mut ()).unwrap();
    auto_page(&Findings::new(&model, &data, &places).unwrap(), Some("atomlearn auto digits.npz")).unwrap()
}

#[test]
fn the_page_of_auto_in_a_browser() {
    let Some(mut browser) = Browser::start_if_any().unwrap() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    std::fs::write(&file, auto_findings()).unwrap();
    let questions = r##"(() => {
      const all = selector => [...document.querySelectorAll(selector)];
      const ids = all("[id]").map(element => element.id);
      return {
        wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
        doubled: ids.length - new Set(ids).size,
        dangling: all("a[href^='#']").filter(a => !ids.includes(a.hash.slice(1))).length,
        unnamed: all("svg[role=img]").filter(svg => !svg.querySelector("title")).length,
        unscoped: all("th:not([scope])").length,
        letters: all("svg.plot text").map(text => text.getBoundingClientRect().height).reduce((a, b) => Math.min(a, b), 99),
        headings: all("h2").map(heading => heading.textContent).join(", "),
        suspicious: all("#suspicious ~ .scroll tbody")[0].rows.length,
      };
    })()"##;
    for width in [390, 1280] {
        let metrics = json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500});
        browser.call("Emulation.setDeviceMetricsOverride", metrics).unwrap();
        browser.open(&file).unwrap();
        assert_eq!(browser.complaints(is_report), Vec::<String>::new(), "{width}");
        let seen = browser.eval(questions).unwrap();
        for key in ["wide", "doubled", "dangling", "unnamed", "unscoped"] {
            assert_eq!(seen[key], 0, "{width}: {key} of {seen}");
        }
        assert!(
            seen["letters"].as_f64().unwrap() >= 9.0 && seen["suspicious"].as_u64().unwrap() >= 10,
            "{width}: {seen}"
        );
        assert_eq!(seen["headings"], "Accuracy, Classes, Confusions, Suspicious labels, What was chosen, Provenance");
        browser.screenshot(&format!("auto-{width}")).unwrap();
    }
}
