//! Why a sample is given its label: scores of every rule, the strongest atoms, their neighbours.

use crate::reply::Refusal;
use crate::rows::Samples;
use crate::subject::Subject;
use atomlearn::classifier::AtomKind;
use atomlearn::classifier::best_class;
use atomlearn::explain::{AtomUse, shares_of_classes, strongest_atoms};
use atomlearn::linalg::select_columns;
use atomlearn::{Mat, MatRef};
use atomlearn_features::Regions;
use atomlearn_lab::diagnostics;
use serde::Serialize;
use std::collections::BTreeMap;

/// Atoms that are shown, strongest first, and neighbours of each.
const ATOMS: usize = 8;
const NEIGHBOURS: usize = 4;

/// One decision, `atomlearn.explain/1`.
#[derive(Serialize)]
pub struct Explanation<'a> {
    schema: &'static str,
    label: &'a str,
    rule: &'static str,
    classes: &'a [String],
    /// One score per class for every rule, larger = more likely; null stands for minus infinity.
    scores: BTreeMap<&'static str, Vec<f64>>,
    /// Calibrated probabilities of the classes, for models that have them.
    proba: Option<Vec<f64>>,
    /// The sample's p-value as one like those of training, for models that can tell.
    outlier_p: Option<f64>,
    /// Weight of the SVM score in the fused rule, for methods that have it.
    eta2: Option<f64>,
    /// Which of how many rows was explained.
    row: usize,
    rows: usize,
    /// Height and width of all pictures; without it they are lines.
    picture: Option<[usize; 2]>,
    sample: String,
    kind: Option<AtomKind>,
    /// Atoms are drawn in raw features; if false, in those that the preprocessing made of them.
    raw: bool,
    atoms: Vec<Atom<'a>>,
    /// The share of every class's atoms in the whole code, for models whose atoms have a class and a code each.
    #[serde(skip_serializing_if = "Option::is_none")]
    class_shares: Option<Vec<f64>>,
    /// What every region of a photo says, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    regions: Option<Said<'a>>,
    /// What was noticed about the samples.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
}

/// How far the label leads over the next class, and how far without each region.
#[derive(Serialize)]
struct Said<'a> {
    rows: usize,
    cols: usize,
    /// The next class.
    against: Option<&'a str>,
    /// Score of the label less that of the next class; null where one of them is infinite.
    lead: f64,
    /// The same without each region, row by row.
    leads: Vec<f64>,
    /// The probability of the label, for models that have probabilities.
    proba: Option<f64>,
    /// The same without each region, row by row.
    probas: Option<Vec<f64>>,
}

/// An atom that takes part.
#[derive(Serialize)]
struct Atom<'a> {
    atom: usize,
    class: Option<&'a str>,
    code: f64,
    /// `|code| * |atom|` as a share of the sum over all atoms.
    share: f64,
    bytes: String,
    neighbours: Vec<Neighbour<'a>>,
}

/// An atom that the graph joins to it.
#[derive(Serialize)]
struct Neighbour<'a> {
    atom: usize,
    class: Option<&'a str>,
    weight: f64,
    bytes: String,
}

/// Explains one of the samples, which are checked already.
pub fn explain<'a>(subject: &'a Subject, samples: &'a Samples, row: usize) -> Result<Explanation<'a>, Refusal> {
    let x = &samples.x;
    if row >= x.ncols() {
        return Err(Refusal::bad(format!("row {row} was asked for, but the rows are 0 to {}", x.ncols() - 1)));
    }
    // Where /predict doubles a lone sample, so must this, to have the same bits; see `batch.rs`.
    let sample = select_columns(x.as_ref(), &[row, row][..if subject.joins() { 2 } else { 1 }]);
    let prepared = subject.model.prepare(sample.as_ref())?;
    let classifier = subject.classifier();
    let by_rule = classifier.scores_by_rule(prepared.as_ref())?;
    let rule = classifier.rule();
    let deciding = by_rule.iter().find(|(name, _)| *name == rule).map(|(_, scores)| scores);
    let best = deciding.map_or(0, |scores| best_class(scores.as_ref())[0]);
    let fuses = ["residual", "svm", "fused"].iter().all(|part| classifier.rules().contains(part));
    let proba = deciding
        .and_then(|scores| subject.model.probabilities_of_scores(scores.as_ref()))
        .map(|proba| column(proba.as_ref(), 0));
    let outlier_p = subject.p_values_of_prepared(prepared.as_ref()).map(|p| p[0]);
    let uses = strongest(subject, prepared.as_ref());
    let drawn = Drawn::new(subject, &uses);
    let regions = samples.regions.as_ref().map(|regions| said(subject, regions, best)).transpose()?;
    Ok(Explanation {
        schema: "atomlearn.explain/1",
        label: subject.class(best),
        rule,
        classes: subject.model.classes(),
        scores: by_rule.into_iter().map(|(rule, scores)| (rule, scores.col(0).iter().copied().collect())).collect(),
        proba,
        outlier_p,
        eta2: subject.model.params().get("eta2").and_then(serde_json::Value::as_f64).filter(|_| fuses),
        row,
        rows: x.ncols(),
        picture: subject.shape.map(diagnostics::picture_size),
        sample: diagnostics::draw(&column(sample.as_ref(), 0), subject.shape),
        kind: classifier.atoms().map(|atoms| atoms.kind).filter(|_| !uses.is_empty()),
        raw: drawn.raw,
        atoms: uses.iter().map(|of| drawn.atom(subject, of)).collect(),
        class_shares: shares_of_classes(classifier, prepared.as_ref()).map(|mut shares| shares.swap_remove(0)),
        regions,
        notes: &samples.notes,
    })
}

/// How the scores of this class change when regions are taken out.
fn said<'a>(subject: &'a Subject, regions: &Regions, label: usize) -> Result<Said<'a>, Refusal> {
    let whole = subject.model.scores(regions.whole.as_ref())?;
    let without = subject.model.scores(regions.without.as_ref())?;
    let others = (0..whole.nrows()).filter(|&c| c != label);
    let next = others.reduce(|best, c| if whole[(c, 0)] > whole[(best, 0)] { c } else { best });
    let lead = |scores: &Mat<f64>, j: usize| next.map_or(0.0, |next| scores[(label, j)] - scores[(next, j)]);
    let proba = |scores: &Mat<f64>| {
        Some(subject.model.probabilities_of_scores(scores.as_ref())?.row(label).iter().copied().collect::<Vec<f64>>())
    };
    Ok(Said {
        rows: regions.rows,
        cols: regions.cols,
        against: next.map(|next| subject.class(next)),
        lead: lead(&whole, 0),
        leads: (0..without.ncols()).map(|j| lead(&without, j)).collect(),
        proba: proba(&whole).map(|proba| proba[0]),
        probas: proba(&without),
    })
}

fn column(x: MatRef<'_, f64>, j: usize) -> Vec<f64> {
    x.col(j).iter().copied().collect()
}

/// How much an atom takes part.
struct Use {
    atom: usize,
    code: f64,
    share: f64,
    neighbours: Vec<(usize, f64)>,
}

fn strongest(subject: &Subject, prepared: MatRef<'_, f64>) -> Vec<Use> {
    let of = |AtomUse { atom, code, share }| Use { atom, code, share, neighbours: near(subject, atom) };
    strongest_atoms(subject.classifier(), prepared, ATOMS).swap_remove(0).into_iter().map(of).collect()
}

/// The nearest neighbours of an atom in the graph.
fn near(subject: &Subject, atom: usize) -> Vec<(usize, f64)> {
    let Some(graph) = &subject.graph else { return Vec::new() };
    let other = |&(i, j, weight): &(usize, usize, f64)| match (i == atom, j == atom) {
        (true, _) => Some((j, weight)),
        (_, true) => Some((i, weight)),
        _ => None,
    };
    let mut found: Vec<(usize, f64)> = graph.edges.iter().filter_map(other).collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found.truncate(NEIGHBOURS);
    found
}

/// Pictures of the atoms that are shown.
struct Drawn {
    pictures: BTreeMap<usize, String>,
    raw: bool,
}

impl Drawn {
    fn new(subject: &Subject, uses: &[Use]) -> Self {
        let Some(atoms) = subject.classifier().atoms() else {
            return Drawn { pictures: BTreeMap::new(), raw: true };
        };
        let all = uses.iter().flat_map(|of| std::iter::once(of.atom).chain(of.neighbours.iter().map(|(k, _)| *k)));
        let shown: Vec<usize> = all.collect::<std::collections::BTreeSet<_>>().into_iter().collect();
        let selected = select_columns(atoms.columns, &shown);
        let back = subject.model.prep().back(selected.as_ref());
        let patterns = back.as_ref().unwrap_or(&selected);
        let shape = subject.shape.filter(|_| back.is_some());
        let picture = |(j, &k): (usize, &usize)| (k, diagnostics::draw(&column(patterns.as_ref(), j), shape));
        Drawn { pictures: shown.iter().enumerate().map(picture).collect(), raw: back.is_some() }
    }

    fn bytes(&self, atom: usize) -> String {
        self.pictures.get(&atom).cloned().unwrap_or_default()
    }

    fn atom<'a>(&self, subject: &'a Subject, of: &Use) -> Atom<'a> {
        let class = |k: usize| subject.atom_classes.as_ref().and_then(|c| c.get(k)).map(|&c| subject.class(c));
        let neighbour =
            |&(k, weight): &(usize, f64)| Neighbour { atom: k, class: class(k), weight, bytes: self.bytes(k) };
        Atom {
            atom: of.atom,
            class: class(of.atom),
            code: of.code,
            share: of.share,
            bytes: self.bytes(of.atom),
            neighbours: of.neighbours.iter().map(neighbour).collect(),
        }
    }
}
