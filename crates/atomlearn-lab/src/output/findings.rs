//! What `auto` found out about data and model: one source for the terminal, JSON, the page, `inspect`, the model card and the server.

use crate::output::tables::{percent, times};
use crate::protocol::data::{DataInfo, LabData, Naming};
use crate::protocol::twins::{self, Twins};
use crate::stats::confusion::Confusion;
use atomlearn::Model;
use atomlearn::methods::auto::{AutoModel, AutoReport, ChosenReading, ClassRecall, LooEstimate, Suspicious};
use serde::Serialize;

/// What was found in the training of one `auto` model, with samples called as in the data file.
#[derive(Clone, Debug, Serialize)]
pub struct Findings {
    /// The data.
    pub data: DataInfo,
    /// Samples that were trained on.
    pub trained_on: usize,
    /// Number of groups that were left out in turn, if there are groups.
    pub groups: Option<usize>,
    /// When training began, as the model notes it.
    pub time: Option<String>,
    /// The estimate in words: what is told, and how it is.
    pub words: Vec<(&'static str, String)>,
    /// What training warned about.
    pub warnings: Vec<String>,
    /// Training samples that equal others.
    pub twins: Vec<Twins>,
    /// The model's own report, but with the rows of the data file in its list of suspicious labels.
    pub report: AutoReport,
    /// What samples are called by.
    pub naming: Naming,
    /// All training samples that were judged, the least likely label first.
    pub suspicious: Vec<NamedSuspicious>,
}

/// A training sample and its label in the light of all others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NamedSuspicious {
    /// What the sample is called: its id, its file, or else its row.
    pub name: String,
    /// What is suspicious about it; the row is that of the data file, from 0.
    #[serde(flatten)]
    pub entry: Suspicious,
    /// An equal sample that carries another label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub twin: Option<String>,
}

impl NamedSuspicious {
    /// True if another label is more probable than the one it carries.
    pub fn disagrees(&self) -> bool {
        self.entry.label != self.entry.suggested
    }

    /// The suggested label, and the equal sample that carries another label.
    pub fn suggestion(&self) -> String {
        let suggested = &self.entry.suggested;
        self.twin.as_ref().map_or(suggested.clone(), |twin| format!("{suggested} (equals {twin})"))
    }
}

impl Findings {
    /// Of a model that was trained on the samples of `data` at these places; nothing if it is not one of `auto`.
    pub fn new(model: &Model, data: &LabData, places: &[usize]) -> Option<Self> {
        let auto = AutoModel::of(model.classifier())?;
        let naming = data.naming();
        let twins = twins::find(data, places);
        let in_file = |entry: &Suspicious| Some(Suspicious { sample: *places.get(entry.sample)?, ..entry.clone() });
        let named = |entry: &Suspicious| {
            let entry = in_file(entry)?;
            let twin = other_twin(&twins, entry.sample, &entry.label);
            Some(NamedSuspicious { name: data.sample_name(entry.sample), entry, twin })
        };
        let mut report = auto.report().clone();
        report.suspicious = report.suspicious.iter().filter_map(in_file).collect();
        let suspicious = auto.suspicious(usize::MAX).iter().filter_map(named).collect();
        let warnings = model.info.values().get("warnings").cloned();
        let warnings = warnings.and_then(|warnings| serde_json::from_value(warnings).ok());
        Some(Findings {
            words: of_model(model).unwrap_or_default().into_iter().chain(left_out(model)).collect(),
            warnings: warnings.unwrap_or_else(|| report.warnings.clone()),
            data: data.info.clone(),
            trained_on: places.len(),
            groups: groups_of(model),
            time: model.info.time(),
            report,
            naming,
            suspicious,
            twins,
        })
    }

    /// Samples whose label is contradicted: first by an equal sample, then by leave-one-out.
    pub fn contradicted(&self) -> impl Iterator<Item = &NamedSuspicious> {
        let by_twin = self.suspicious.iter().filter(|entry| entry.twin.is_some());
        by_twin.chain(self.suspicious.iter().filter(|entry| entry.twin.is_none() && entry.disagrees()))
    }
}

/// An equal sample with another label than this one's.
fn other_twin(twins: &[Twins], sample: usize, label: &str) -> Option<String> {
    let twins = twins.iter().find(|twins| twins.places.contains(&sample))?;
    let other = twins.labels.iter().position(|other| other != label)?;
    twins.samples.get(other).cloned()
}

/// Number of groups that were left out in turn, as training noted it.
pub fn groups_of(model: &Model) -> Option<usize> {
    Some(model.info.groups()?.number)
}

/// The note of a model on the ways from photos to numbers that were tried.
pub const MAPS_TRIED: &str = "maps_tried";
/// The note of a model whose way from photos to numbers was fitted before, on photos that it does not know.
pub const MAP_GIVEN: &str = "map_given";
/// What a model calls the reservation about its estimate.
pub const CAUTION: &str = "caution";

/// The report of a model, if it is one of `auto`, in words: the estimate, and how it is to be taken.
pub fn of_model(model: &Model) -> Option<Vec<(&'static str, String)>> {
    let auto = AutoModel::of(model.classifier())?;
    let caution = caution(model);
    let mut words = in_words(auto.report(), groups_of(model), caution.is_some());
    if auto.report().loo.is_some() {
        words.extend(caution.map(|caution| (CAUTION, caution)));
    }
    Some(words)
}

/// Why the estimate of a model of photos may be too high: what leaving a photo out does not undo. Pixels and networks learn nothing
/// from the photos.
pub fn caution(model: &Model) -> Option<String> {
    let header = &model.features.as_ref()?.header;
    let info = model.info.values();
    let learns = header
        .get("spec")
        .and_then(|spec| spec.get("kind"))
        .is_some_and(|kind| kind == "sift-pyramid" || kind == "fisher");
    let fitted = if info.contains_key(MAP_GIVEN) {
        "the way from photos to numbers was fitted before, perhaps on these photos"
    } else {
        "the way from photos to numbers was fitted on all of them, the left-out one included"
    };
    let chosen = info.get(MAPS_TRIED).and_then(|tried| tried.as_array()).is_some_and(|tried| tried.len() > 1);
    let choice = "the kind of features was chosen by this same estimate";
    let why: Vec<&str> =
        [(learns, fitted), (chosen, choice)].into_iter().filter(|(holds, _)| *holds).map(|(_, why)| why).collect();
    (!why.is_empty()).then(|| {
        format!(
            "{}, so the accuracy may be too high; for a figure on photos that were held out of everything, use `compare` on the folder, or \
             train with --splits FILE and `evaluate` with the same",
            why.join(", and ")
        )
    })
}

/// What of a folder of photos was not trained on, in words.
pub fn left_out(model: &Model) -> Vec<(&'static str, String)> {
    let left_out = model.info.left_out();
    let notes = left_out.notes().into_iter().filter(|note| note.warning).map(|note| note.text);
    left_out.broken_in_words().into_iter().chain(notes).map(|text| ("left out", text)).collect()
}

/// The leave-one-out estimate in words: what is told, and how it is. `in_part`: more than the classifier has learned from the samples.
fn in_words(report: &AutoReport, groups: Option<usize>, in_part: bool) -> Vec<(&'static str, String)> {
    let Some(loo) = &report.loo else {
        let why = "cannot be estimated: every class has a single sample (or group), so none can be left out";
        return vec![("accuracy", why.into())];
    };
    let left_out = groups.map_or("leave-one-out".into(), |n| format!("leave-one-group-out, {n} groups"));
    let [low, high] = loo.ci95.map(percent);
    let how = if in_part { "by a classifier trained without them" } else { "without being trained on" };
    let accuracy = format!(
        "{} % of {} samples were classified correctly {how} ({left_out}); 95 % interval {low} to {high} %",
        percent(loo.accuracy),
        loo.samples
    );
    let mut words = vec![("accuracy", accuracy), ("guessing", guessing(loo))];
    let every = || "none: every sample of every class was found".to_string();
    words.push(("weakest class", weakest(loo).map_or_else(every, weakest_text)));
    words.extend(most_confused(loo).map(|(truth, taken_for, count)| {
        let times = times(count);
        ("most confused", format!("{truth} taken for {taken_for}, {times}"))
    }));
    words
}

/// How the estimate stands against always naming the largest class.
pub fn guessing(loo: &LooEstimate) -> String {
    let verdict = if loo.accuracy <= loo.majority {
        "this model is not better than guessing"
    } else if loo.ci95[0] <= loo.majority {
        "that lies within the interval, so this model may not be better than guessing"
    } else {
        "the model is better than guessing"
    };
    format!("always naming the largest class would give {} %: {verdict}", percent(loo.majority))
}

/// The class that is found least often; none if every sample was told right.
pub fn weakest(loo: &LooEstimate) -> Option<&ClassRecall> {
    let judged = loo.per_class.iter().filter(|class| class.recall.is_some_and(|recall| recall < 1.0));
    judged.min_by(|a, b| a.recall.unwrap_or(1.0).total_cmp(&b.recall.unwrap_or(1.0)))
}

fn weakest_text(class: &ClassRecall) -> String {
    format!("{}: {} % of its {} samples were found", class.class, percent(class.recall.unwrap_or(0.0)), class.n)
}

/// The most frequent confusion: true class, class it was taken for, how often.
pub fn most_confused(loo: &LooEstimate) -> Option<(&str, &str, usize)> {
    let (truth, taken_for, count) = Confusion { counts: loo.confusion.clone() }.worst(1).first().copied()?;
    let name = |c: usize| loo.per_class.get(c).map(|class| class.class.as_str());
    Some((name(truth)?, name(taken_for)?, count))
}

/// A chosen reading in words, but for its weight.
pub fn reading_text(chosen: &ChosenReading) -> String {
    let kernel = match chosen.gamma {
        Some(gamma) => format!("Gaussian kernel, gamma {}", gamma_text(gamma)),
        None => "linear kernel".into(),
    };
    format!("{} on {}, {kernel}, kappa {}", chosen.reading, view_text(&chosen.view), chosen.kappa)
}

/// How a view scales samples, in words.
pub fn view_text(view: &str) -> &str {
    match view {
        "unit" => "samples of unit length",
        "standard" => "standardised features",
        "given" => "samples as prepared",
        other => other,
    }
}

/// The width of a Gaussian kernel to four digits or so.
pub fn gamma_text(gamma: f64) -> String {
    if (0.01..10_000.0).contains(&gamma) { format!("{gamma:.4}") } else { format!("{gamma:.3e}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::data::synthetic;
    use atomlearn::registry::{self, Values};

    fn estimate(right: [usize; 2], wrong: [usize; 2]) -> LooEstimate {
        let n: usize = right.iter().chain(&wrong).sum();
        let accuracy = (right[0] + right[1]) as f64 / n as f64;
        let class = |c: usize| ClassRecall {
            class: ["ant", "bee"][c].into(),
            recall: Some(right[c] as f64 / (right[c] + wrong[c]) as f64),
            n: right[c] + wrong[c],
        };
        LooEstimate {
            samples: n,
            accuracy,
            ci95: [accuracy - 0.1, accuracy + 0.1],
            log_loss: 0.5,
            majority: (right[0] + wrong[0]).max(right[1] + wrong[1]) as f64 / n as f64,
            per_class: vec![class(0), class(1)],
            confusion: vec![vec![right[0], wrong[0]], vec![wrong[1], right[1]]],
        }
    }

    #[test]
    fn guessing_is_called_guessing() {
        assert!(guessing(&estimate([45, 45], [5, 5])).ends_with("the model is better than guessing"));
        assert!(guessing(&estimate([29, 28], [21, 22])).contains("may not be better"));
        assert!(guessing(&estimate([20, 20], [30, 30])).ends_with("is not better than guessing"));
    }

    #[test]
    fn the_weakest_class_and_the_worst_pair_are_named() {
        let loo = estimate([40, 49], [10, 1]);
        assert_eq!(weakest(&loo).unwrap().class, "ant");
        assert_eq!(most_confused(&loo), Some(("ant", "bee", 10)));
        let perfect = estimate([5, 5], [0, 0]);
        assert_eq!((weakest(&perfect), most_confused(&perfect)), (None, None));
    }

    #[test]
    fn rows_and_names_are_those_of_the_file() {
        let mut data = synthetic(3, 10, 6, 4);
        data.ids = Some((0..30).map(|i| format!("id \"{i}\", x")).collect());
        let places: Vec<usize> = (0..30).filter(|i| i % 3 != 0).collect();
        let train = data.dataset(&places).unwrap();
        let method = registry::method("auto").unwrap();
        let model = Model::train(method, &Values::new(), &"none".parse().unwrap(), &train, &mut ()).unwrap();
        let found = Findings::new(&model, &data, &places).unwrap();
        assert_eq!(found.suspicious.len(), places.len());
        for entry in &found.suspicious {
            assert!(places.contains(&entry.entry.sample));
            assert_eq!(entry.name, format!("id \"{}\", x", entry.entry.sample));
            assert_eq!(entry.entry.label, data.classes[data.targets[entry.entry.sample]]);
        }
        assert!(found.suspicious.is_sorted_by(|a, b| a.entry.proba <= b.entry.proba));
    }
}
