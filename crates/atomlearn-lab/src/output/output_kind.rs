//! What an existing file is, by how it begins.

use crate::protocol::params_file;
use std::io::Read;
use std::path::Path;

/// Everything but parameters shows itself within so many bytes.
const HEAD: u64 = 4096;
/// No file of parameters is longer.
const LONGEST_PARAMS: u64 = 1 << 20;

/// What commands and Python functions write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `train -o`.
    Model,
    /// `train --checkpoint`, the state of a training.
    Checkpoint,
    /// `train --checkpoint --resume`: a state to go on with, whose reader tells what is wrong with it.
    Resumed,
    /// `features --save-map`.
    Map,
    /// `features -o`: `.npz` or `.mat` as this program writes them.
    Features,
    /// `predict -o`: CSV or JSON.
    Predictions,
    /// `auto --suspicious`: CSV.
    Suspicious,
    /// `compare --save-splits`.
    Splits,
    /// `--records` of experiments.
    Records,
    /// `tune --records`.
    TuneRecords,
    /// HTML pages.
    Report,
    /// `report --card`.
    Card,
    /// `tune -o`.
    Params,
    /// `rank --svg`.
    Diagram,
    /// `export --onnx`.
    Onnx,
}

/// What a file was found to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Something this program wrote.
    Known(Kind),
    /// Some JSON.
    Json,
    /// Anything else.
    Other,
}

impl Kind {
    /// For messages.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Model => "a model",
            Kind::Checkpoint | Kind::Resumed => "a checkpoint",
            Kind::Map => "a feature map",
            Kind::Features => "a feature file of this program",
            Kind::Predictions => "a table of predictions",
            Kind::Suspicious => "a list of suspicious labels",
            Kind::Splits => "a split file",
            Kind::Records => "a file of records",
            Kind::TuneRecords => "a file of tuning records",
            Kind::Report => "a report",
            Kind::Card => "a model card",
            Kind::Params => "a parameter file",
            Kind::Diagram => "a rank diagram",
            Kind::Onnx => "an ONNX file of this program",
        }
    }

    /// True if an existing file is added to and not replaced.
    pub fn is_appended(self) -> bool {
        matches!(self, Kind::Records | Kind::TuneRecords)
    }

    /// What a file is.
    pub fn of(path: &Path) -> std::io::Result<Found> {
        let mut head = Vec::new();
        let mut file = std::fs::File::open(path)?;
        (&mut file).take(HEAD).read_to_end(&mut head)?;
        let found = of_head(&head);
        if found != Found::Other || file.metadata()?.len() > LONGEST_PARAMS {
            return Ok(found);
        }
        file.take(LONGEST_PARAMS).read_to_end(&mut head)?;
        let params = String::from_utf8(head).is_ok_and(|text| params_file::parse(&text).is_ok());
        Ok(if params { Found::Known(Kind::Params) } else { Found::Other })
    }
}

impl Found {
    /// True if a file of this kind may take the place of what was found, or be appended to it.
    pub fn fits(self, kind: Kind) -> bool {
        match self {
            _ if kind == Kind::Resumed => true,
            Found::Known(found) => found == kind,
            // Records that were cut short or altered are JSON still; their reader tells what is wrong with which line.
            Found::Json => kind.is_appended(),
            Found::Other => false,
        }
    }

    /// For messages; nothing if it is not known.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Found::Known(kind) => Some(kind.name()),
            Found::Json => Some("JSON"),
            Found::Other => None,
        }
    }
}

fn of_head(head: &[u8]) -> Found {
    let text = String::from_utf8_lossy(head);
    let begins = text.trim_start_matches('\u{feff}').trim_start();
    let known = archive(head)
        .or_else(|| feature_file(head))
        .or_else(|| {
            head.get(2..).filter(|rest| head[0] == 8 && rest.starts_with(b"\x12\x09atomlearn")).map(|_| Kind::Onnx)
        })
        .or_else(|| begins.strip_prefix('{').and_then(schema))
        .or_else(|| marked_text(begins))
        .or_else(|| is_suspicious(begins).then_some(Kind::Suspicious))
        .or_else(|| is_predictions(begins).then_some(Kind::Predictions));
    match known {
        Some(kind) => Found::Known(kind),
        None if begins.starts_with(['{', '[']) => Found::Json,
        None => Found::Other,
    }
}

/// A container of matrices: eight bytes of length, then JSON with our header as text within it.
fn archive(head: &[u8]) -> Option<Kind> {
    let json = String::from_utf8_lossy(head.get(8..).filter(|json| json.starts_with(b"{"))?);
    let (_, format) = json.split_once(r#"\"format\":\"atomlearn."#)?;
    let (name, _) = format.split_once('/')?;
    match name {
        "model" => Some(Kind::Model),
        "checkpoint" | "state" => Some(Kind::Checkpoint),
        "feature-map" => Some(Kind::Map),
        _ => None,
    }
}

/// `.mat` files say who wrote them; other writers of `.npz` need other versions of ZIP, or begin with another name.
fn feature_file(head: &[u8]) -> Option<Kind> {
    const NPZ: &[u8] = b"PK\x03\x04\x14\0\0\0\0\0\0\0\x21\0";
    let npz = head.starts_with(NPZ) && head.get(26..35) == Some(b"\x05\0\0\0X.npy");
    (npz || head.starts_with(b"MATLAB 5.0 MAT-file, written by atomlearn")).then_some(Kind::Features)
}

/// JSON names its schema near its beginning.
fn schema(json: &str) -> Option<Kind> {
    let (_, rest) = json.split_once("\"schema\"")?;
    let (name, _) = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix("\"atomlearn.")?.split_once('/')?;
    match name {
        "splits" => Some(Kind::Splits),
        "record" => Some(Kind::Records),
        "tune-record" => Some(Kind::TuneRecords),
        "predict" => Some(Kind::Predictions),
        _ => None,
    }
}

/// Pages, cards and drawings say what they are.
fn marked_text(text: &str) -> Option<Kind> {
    let marks = [
        ("<!doctype html>", "<meta name=\"generator\" content=\"atomlearn", Kind::Report),
        ("---\n", "\nlibrary_name: atomlearn\n", Kind::Card),
        ("<svg", "ranks-plot-title", Kind::Diagram),
    ];
    marks.into_iter().find(|(start, mark, _)| text.starts_with(start) && text.contains(mark)).map(|(_, _, kind)| kind)
}

/// CSV whose second column is the label, with scores or probabilities at most after it: no table to learn from looks like this.
fn is_predictions(text: &str) -> bool {
    let mut names = text.lines().next().unwrap_or_default().split(',');
    let (first, second) = (names.next(), names.next());
    let plain = |name: &str| name.trim_matches('"').to_string();
    first.is_some_and(|name| !name.is_empty())
        && second.map(plain).as_deref() == Some("label")
        && names.map(plain).all(|name| name.starts_with("score_") || name.starts_with("proba_"))
}

/// CSV with just the columns of `auto --suspicious`.
fn is_suspicious(text: &str) -> bool {
    let (_, rest) = text.lines().next().unwrap_or_default().split_once(',').unwrap_or_default();
    rest == "label,proba,suggested"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_to_learn_from_are_no_predictions() {
        for ours in ["sample,label\n0,a\n", "id,label,score_a,score_b\n", "file,label,proba_a\n", "sample,label"] {
            assert!(is_predictions(ours), "{ours}");
        }
        for theirs in ["a,b,label\n", "id,label,width,height\n", "label\n", "a;label\n", ",label\n", "1,2\n", ""] {
            assert!(!is_predictions(theirs), "{theirs}");
        }
    }

    #[test]
    fn what_others_wrote_is_not_ours() {
        for theirs in [
            &b"<!doctype html><title>My page</title>"[..],
            b"<svg xmlns='http://www.w3.org/2000/svg'></svg>",
            b"---\ntitle: mine\n---\n",
            b"\x08\x07\x12\x07pytorch",
            b"PK\x03\x04\x2d\0\0\0\0\0\0\0\x21\0",
            b"MATLAB 5.0 MAT-file, Platform: GLNXA64",
            b"\x10\0\0\0\0\0\0\0{\"__metadata__\":{\"format\":\"pt\"}}",
            b"\x08",
        ] {
            assert_eq!(of_head(theirs), Found::Other, "{}", String::from_utf8_lossy(theirs));
        }
        assert_eq!(of_head(b" [1, 2]"), Found::Json);
        assert_eq!(of_head(b"{\"schema\": \"atomlearn.splits/1\"}"), Found::Known(Kind::Splits));
    }
}
