//! The report: one self-contained HTML page, a pure function of its content.
//!
//! Numbers become places in drawings here; the drawings themselves are templates (`templates/`), which escape every text.

mod atom_graph;
mod auto;
mod axes;
mod convergence;
mod curves;
mod gallery;
mod heat_map;
mod panel;
mod photos;
mod ranks;
mod scatter;
mod section;
mod sensitivity;

pub use photos::{Photo, Photos};
pub use ranks::RankSummary;
pub use sensitivity::{RuleCurve, Sensitivity};

use crate::output::findings::Findings;
use crate::output::text_table::TextTable;
use crate::records::record::Record;
use crate::records::results::{groups, learning_curve};
use crate::run::reproduce::Reproduction;
use atomlearn::{Error, Result};
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, HtmlEscape, context};
use ranks::rank_plot;
use section::{Section, section};
use sensitivity::{SensitivityPlot, sensitivity};
use serde::Serialize;

const TEMPLATES: [(&str, &str); 12] = [
    ("head.html", include_str!("../../templates/head.html")),
    ("foot.html", include_str!("../../templates/foot.html")),
    ("auto.html", include_str!("../../templates/auto.html")),
    ("page.html", include_str!("../../templates/page.html")),
    ("section.html", include_str!("../../templates/section.html")),
    ("atoms.html", include_str!("../../templates/atoms.html")),
    ("photos.html", include_str!("../../templates/photos.html")),
    ("plots.html", include_str!("../../templates/plots.html")),
    ("glossary.html", include_str!("../../templates/glossary.html")),
    ("ranks.svg", include_str!("../../templates/ranks.svg")),
    ("style.css", include_str!("../../templates/style.css")),
    ("script.js", include_str!("../../templates/script.js")),
];

/// What a page is made from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Content<'a> {
    /// Runs; one section per data set and protocol.
    pub records: &'a [Record],
    /// Accuracies against parameters.
    pub sweeps: &'a [Sensitivity],
    /// Ranks over data sets.
    pub ranks: Option<&'a RankSummary>,
    /// Pictures of the samples of the first section, where they are images.
    pub photos: Option<&'a Photos>,
    /// Published numbers beside ours.
    pub reproduction: Option<&'a Reproduction>,
}

/// The page for these records: comparisons, sweeps and, where they cover several data sets, ranks.
pub fn page(records: &[Record]) -> Result<String> {
    page_with(records, None)
}

/// [`page`] with pictures of the samples, for records of one data set.
pub fn page_with(records: &[Record], photos: Option<&Photos>) -> Result<String> {
    let sweeps: Vec<Sensitivity> = crate::run::sweep::sweeps(records).iter().map(Sensitivity::from).collect();
    let ranks = crate::records::results::ranking(records).ok().map(|ranking| RankSummary::from(&ranking));
    page_of(Content { records, sweeps: &sweeps, ranks: ranks.as_ref(), photos, reproduction: None })
}

/// The page for this content.
pub fn page_of(content: Content<'_>) -> Result<String> {
    let groups = groups(content.records);
    let of_group = |(id, group): (usize, &Vec<&Record>)| {
        let curve = learning_curve(content.records, group);
        section(id, group, curve, content.photos.filter(|_| id == 0))
    };
    let sections: Vec<Section> = groups.iter().enumerate().map(of_group).collect();
    let commands = || content.records.iter().filter_map(|record| record.provenance.origin.command.as_ref());
    let command = commands().next().filter(|first| commands().all(|other| other == *first));
    let sweep = |(i, sweep): (usize, &Sensitivity)| sensitivity(format!("sweep{i}"), sweep);
    let sweeps: Vec<SensitivityPlot> = content.sweeps.iter().enumerate().filter_map(sweep).collect();
    let content = context! {
        sections => Value::from(Serde(&sections)),
        sweeps => Value::from(Serde(&sweeps)),
        ranks => content.ranks.and_then(rank_plot).map(|plot| Value::from(Serde(plot))),
        reproduction => content.reproduction.map(|ours| Value::from(Serde(published(ours)))),
        version => env!("CARGO_PKG_VERSION"),
        command,
    };
    render("page.html", content)
}

/// Published numbers beside ours, or a method part by part, ready for the template.
#[derive(Serialize)]
struct Published {
    title: &'static str,
    caption: String,
    head: Vec<String>,
    rows: Vec<Vec<PublishedCell>>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct PublishedCell {
    text: String,
    bold: bool,
}

fn published(ours: &Reproduction) -> Published {
    let TextTable { head, rows, bold } = ours.cells();
    let cell = |i: usize, (j, text): (usize, String)| PublishedCell { bold: bold.contains(&(i, j)), text };
    let row = |(i, row): (usize, Vec<String>)| row.into_iter().enumerate().map(|one| cell(i, one)).collect();
    let rows = rows.into_iter().enumerate().map(row).collect();
    let title = if ours.baseline.is_some() { "The method part by part" } else { "Published numbers beside ours" };
    Published { title, caption: ours.caption(), head, rows, notes: ours.notes.clone() }
}

/// The page of what `auto` found, and the command that made it.
pub fn auto_page(findings: &Findings, command: Option<&str>) -> Result<String> {
    let page = Value::from(Serde(auto::page(findings)));
    render("auto.html", context! { page, command, version => env!("CARGO_PKG_VERSION") })
}

/// The critical-difference diagram alone, an SVG file.
pub fn rank_diagram(ranks: &RankSummary) -> Result<String> {
    let plot = rank_plot(ranks)
        .ok_or_else(|| Error::Data("there is no diagram of fewer than 2 or more than 60 methods".into()))?;
    render("ranks.svg", context! { ranks => Value::from(Serde(plot)) })
}

fn render(template: &str, content: Value) -> Result<String> {
    let wrong = |e: minijinja::Error| Error::format("report", format!("{template} cannot be made: {e:#}"));
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_filter("code", |text: String| Value::from_safe_string(marked(&text)));
    for (name, text) in TEMPLATES {
        environment.add_template(name, text).map_err(wrong)?;
    }
    environment.get_template(template).and_then(|template| template.render(content)).map_err(wrong)
}

/// Escaped, with what stands between backticks as code.
fn marked(text: &str) -> String {
    let parts: Vec<String> = text.split('`').map(|part| HtmlEscape(part).to_string()).collect();
    let Some((first, rest)) = parts.split_first().filter(|(_, rest)| rest.len().is_multiple_of(2)) else {
        return HtmlEscape(text).to_string();
    };
    let pairs = rest.chunks(2).map(|pair| format!("<code>{}</code>{}", pair[0], pair[1]));
    first.clone() + &pairs.collect::<String>()
}

/// A share in per cent with two significant digits or so.
fn short_percent(share: f64) -> String {
    let value = 100.0 * share;
    if value >= 10.0 || value == 0.0 {
        format!("{value:.0}")
    } else if value >= 1.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests;
