//! The report: one self-contained HTML page, a pure function of its content.
//!
//! Numbers become places in drawings here; the drawings themselves are templates (`templates/`), which escape every text.

mod atom_graph;
mod auto;
mod axes;
mod convergence;
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
use crate::records::record::Record;
use crate::records::results::{Comparison, MethodResult, groups};
use atomlearn::{Error, Result};
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, context};
use ranks::rank_plot;
use section::{Section, section};
use sensitivity::{SensitivityPlot, sensitivity};

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
}

/// The page for these records: comparisons, sweeps and, where they cover several data sets, ranks.
pub fn page(records: &[Record]) -> Result<String> {
    page_with(records, None)
}

/// [`page`] with pictures of the samples, for records of one data set.
pub fn page_with(records: &[Record], photos: Option<&Photos>) -> Result<String> {
    let sweeps: Vec<Sensitivity> = crate::run::sweep::sweeps(records).iter().map(Sensitivity::from).collect();
    let ranks = crate::records::results::ranking(records).ok().map(|ranking| RankSummary::from(&ranking));
    page_of(Content { records, sweeps: &sweeps, ranks: ranks.as_ref(), photos })
}

/// The page for this content.
pub fn page_of(content: Content<'_>) -> Result<String> {
    let groups = groups(content.records);
    let sections: Vec<Section> =
        groups.iter().enumerate().map(|(id, group)| section(id, group, content.photos.filter(|_| id == 0))).collect();
    let sweep = |(i, sweep): (usize, &Sensitivity)| sensitivity(format!("sweep{i}"), sweep);
    let sweeps: Vec<SensitivityPlot> = content.sweeps.iter().enumerate().filter_map(sweep).collect();
    let content = context! {
        sections => Value::from(Serde(&sections)),
        sweeps => Value::from(Serde(&sweeps)),
        ranks => content.ranks.and_then(rank_plot).map(|plot| Value::from(Serde(plot))),
        version => env!("CARGO_PKG_VERSION"),
    };
    render("page.html", content)
}

/// The page of what `auto` found.
pub fn auto_page(findings: &Findings) -> Result<String> {
    let page = Value::from(Serde(auto::page(findings)));
    render("auto.html", context! { page, version => env!("CARGO_PKG_VERSION") })
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
    for (name, text) in TEMPLATES {
        environment.add_template(name, text).map_err(wrong)?;
    }
    environment.get_template(template).and_then(|template| template.render(content)).map_err(wrong)
}

/// The method's key, with the rule where the method has several.
fn name(result: &MethodResult, comparison: &Comparison) -> String {
    let several = comparison.results.iter().filter(|other| other.name() == result.name()).count() > 1;
    if several { format!("{} · {}", result.name(), result.rule) } else { result.name() }
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
