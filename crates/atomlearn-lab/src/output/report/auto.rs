//! What `auto` found, ready for the template.

use super::axes::{Tick, tenth};
use super::heat_map::{HeatMap, heat_map};
use crate::output::findings::{CAUTION, Findings, gamma_text, guessing, view_text};
use crate::output::tables::{counted, percent};
use crate::stats::confusion::Confusion;
use atomlearn::methods::auto::{ChosenReading, LooEstimate};
use serde::Serialize;

/// Suspicious labels that the page lists.
const MOST_SUSPICIOUS: usize = 50;
/// Width of the drawing of the accuracy.
const GAUGE: f64 = 320.0;

/// The page.
#[derive(Serialize)]
pub struct AutoPage {
    title: String,
    headline: String,
    data: String,
    facts: Vec<(&'static str, String)>,
    /// Why the estimate may be too high, where it is not one of samples that were held out of everything.
    caution: Option<String>,
    gauge: Option<Gauge>,
    warnings: Vec<String>,
    classes: Vec<RecallRow>,
    heat_map: Option<HeatMap>,
    named: &'static str,
    suspicious: Vec<SuspiciousRow>,
    /// Suspicious labels that are not listed.
    more: usize,
    chosen: Vec<ChosenRow>,
    provenance: Vec<(&'static str, String)>,
}

/// Accuracy, interval and largest class on a line from 0 to 100 %.
#[derive(Serialize)]
struct Gauge {
    width: f64,
    accuracy: String,
    low: String,
    high: String,
    majority: String,
    accuracy_at: f64,
    low_at: f64,
    high_at: f64,
    majority_at: f64,
    majority_anchor: &'static str,
    ticks: Vec<Tick>,
}

#[derive(Serialize)]
struct RecallRow {
    class: String,
    n: usize,
    found: usize,
    recall: String,
}

#[derive(Serialize)]
struct SuspiciousRow {
    name: String,
    label: String,
    proba: String,
    suggested: String,
}

#[derive(Serialize)]
struct ChosenRow {
    reading: String,
    view: String,
    kernel: String,
    gamma: String,
    kappa: String,
    weight: String,
}

/// The page of these findings.
pub fn page(found: &Findings) -> AutoPage {
    let report = &found.report;
    let file = found.data.path.rsplit(['/', '\\']).next().unwrap_or_default();
    let (caution, mut facts): (Vec<_>, Vec<_>) = found.words.iter().cloned().partition(|(name, _)| *name == CAUTION);
    facts.extend(report.loo.as_ref().map(|loo| ("log-loss", log_loss_text(loo.log_loss))));
    let suspicious: Vec<SuspiciousRow> = found
        .contradicted()
        .take(MOST_SUSPICIOUS)
        .map(|entry| SuspiciousRow {
            name: entry.name.clone(),
            label: entry.entry.label.clone(),
            proba: format!("{:.4}", entry.entry.proba),
            suggested: entry.suggestion(),
        })
        .collect();
    AutoPage {
        title: file.to_string(),
        headline: report.loo.as_ref().map_or_else(|| "The accuracy cannot be estimated.".into(), headline),
        data: format!(
            "{} samples of {} in {} classes{}.",
            found.data.samples,
            counted(found.data.features, "feature"),
            found.data.classes,
            if found.trained_on == found.data.samples {
                String::new()
            } else {
                format!("; {} of them (is_train) were trained on", found.trained_on)
            }
        ),
        facts,
        caution: caution.into_iter().next().map(|(_, text)| text),
        gauge: report.loo.as_ref().map(gauge),
        warnings: found.warnings.clone(),
        classes: report.loo.as_ref().map_or_else(Vec::new, classes),
        heat_map: report.loo.as_ref().map(confusions),
        named: found.naming.column(),
        more: found.contradicted().count() - suspicious.len(),
        suspicious,
        chosen: report.chosen.iter().map(chosen).collect(),
        provenance: [
            ("data", Some(found.data.path.clone())),
            ("SHA-256 of the data", Some(found.data.sha256.clone())),
            ("method", Some("auto".into())),
            ("atomlearn", Some(env!("CARGO_PKG_VERSION").into())),
            ("time", found.time.clone()),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect(),
    }
}

fn log_loss_text(loss: f64) -> String {
    format!("{loss:.4}: the mean of minus the logarithm of the probability that the true class got; 0 would be perfect")
}

fn headline(loo: &LooEstimate) -> String {
    let [low, high] = loo.ci95.map(percent);
    let doubt = if loo.ci95[0] > loo.majority { String::new() } else { format!(" Careful: {}.", guessing(loo)) };
    format!("Accuracy {} %, 95 % interval {low} to {high} %.{doubt}", percent(loo.accuracy))
}

fn gauge(loo: &LooEstimate) -> Gauge {
    let at = |share: f64| tenth(GAUGE * share);
    let tick = |step: usize| Tick { at: at(step as f64 / 4.0), label: format!("{} %", 25 * step) };
    Gauge {
        width: GAUGE,
        accuracy: percent(loo.accuracy),
        low: percent(loo.ci95[0]),
        high: percent(loo.ci95[1]),
        majority: percent(loo.majority),
        accuracy_at: at(loo.accuracy),
        low_at: at(loo.ci95[0]),
        high_at: at(loo.ci95[1]),
        majority_at: at(loo.majority),
        // The words stay within the drawing.
        majority_anchor: if loo.majority < 0.1 {
            "start"
        } else if loo.majority > 0.9 {
            "end"
        } else {
            "middle"
        },
        ticks: (0..=4).map(tick).collect(),
    }
}

fn classes(loo: &LooEstimate) -> Vec<RecallRow> {
    let row = |(c, class): (usize, &atomlearn::methods::auto::ClassRecall)| RecallRow {
        class: class.class.clone(),
        n: class.n,
        found: loo.confusion[c][c],
        recall: class.recall.map_or("-".into(), percent),
    };
    loo.per_class.iter().enumerate().map(row).collect()
}

fn confusions(loo: &LooEstimate) -> HeatMap {
    let names: Vec<String> = loo.per_class.iter().map(|class| class.class.clone()).collect();
    heat_map("confusion".into(), "left-out samples".into(), &Confusion { counts: loo.confusion.clone() }, &names)
}

fn chosen(reading: &ChosenReading) -> ChosenRow {
    ChosenRow {
        reading: reading.reading.clone(),
        view: view_text(&reading.view).into(),
        kernel: if reading.gamma.is_some() { "Gaussian" } else { "linear" }.into(),
        gamma: reading.gamma.map_or("-".into(), gamma_text),
        kappa: reading.kappa.to_string(),
        weight: format!("{:.3}", reading.weight),
    }
}
