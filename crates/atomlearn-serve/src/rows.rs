//! Samples out of a body: JSON, a table, `.npy` or an image.

use crate::json_rows;
use crate::reply::Refusal;
use crate::subject::Subject;
use atomlearn::io::{self, ReadOptions};
use atomlearn::{Error, Mat};
use atomlearn_features::Regions;
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderMap};

/// What can be sent, for messages.
pub const FORMS: &str = "send JSON rows such as [[1, 2], [3, 4]] or objects such as {\"a\": 1, \"b\": 2} as application/json, a table \
                         as text/csv, or a NumPy array as application/x-npy";

/// What else can be sent to models that were trained on photos.
const PHOTOS: &str = "send a photo: the header `Content-Type: image/jpeg` (or image/png and so on) and the file as body; for samples of \
                      numbers, ";

/// How the samples of a body are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Rows or objects in JSON.
    Json,
    /// A table of text.
    Csv {
        /// Whether its first row names the columns, if the client says so.
        header: Option<bool>,
    },
    /// The bytes of a `.npy` file.
    Npy,
    /// The bytes of an image file, for models that were trained on images.
    Image,
}

/// What a body holds.
#[derive(Debug)]
pub struct Samples {
    /// features x samples.
    pub x: Mat<f64>,
    /// What to tell the client about them.
    pub notes: Vec<String>,
    /// The one photo without each of its regions, where that was asked for.
    pub regions: Option<Regions>,
}

/// What samples must be like.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// Features per sample.
    pub features: usize,
    /// Most samples.
    pub samples: usize,
}

impl Form {
    /// From the content type; `photos` if the model takes such.
    pub fn of(headers: &HeaderMap, photos: bool) -> Result<Self, Refusal> {
        let first = if photos { PHOTOS } else { "" };
        let text = headers.get(CONTENT_TYPE).map_or("", |value| value.to_str().unwrap_or("?"));
        let essence = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "application/json" => Ok(Form::Json),
            "text/csv" => Ok(Form::Csv { header: header(text) }),
            "application/x-npy" | "application/npy" | "application/octet-stream" => Ok(Form::Npy),
            image if image.starts_with("image/") => Ok(Form::Image),
            "" => Err(Refusal::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                format!("the body has no content type; {first}{FORMS}"),
            )),
            other => {
                let message = format!("content type `{other}` cannot be read; {first}{FORMS}");
                Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message))
            }
        }
    }

    /// The samples, one per column; at least one, each of the right length, all values finite.
    pub fn parse(self, bytes: &[u8], expected: Expected, subject: &Subject) -> Result<Samples, Refusal> {
        let plain = |x| Samples { x, notes: Vec::new(), regions: None };
        let Samples { x, notes, regions } = match self {
            Form::Json => json_rows::parse(bytes, expected, &subject.table)?,
            Form::Csv { header } => parse_csv(bytes, header, expected, subject)?,
            Form::Npy => plain(io::read_npy("the body", bytes).map_err(|e| Refusal::bad(e.to_string()))?),
            Form::Image => match subject.sample(bytes).map_err(|e| Refusal::bad(e.to_string()))? {
                Some(x) => plain(x),
                None => {
                    let message = format!("the model was not trained on images; {FORMS}");
                    return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
                }
            },
        };
        if x.nrows() != expected.features {
            return Err(Refusal::bad(format!(
                "samples have {} features, the model takes {}; one sample is one row",
                x.nrows(),
                expected.features
            )));
        }
        if x.ncols() > expected.samples {
            return Err(too_many(expected.samples));
        }
        let not_finite = |j: usize| x.col(j).iter().position(|v| !v.is_finite()).map(|i| (i, j));
        if let Some((i, j)) = (0..x.ncols()).find_map(not_finite) {
            let value = x[(i, j)];
            return Err(Refusal::bad(format!(
                "sample {j}, feature {i} (counted from 0) is {value}: remove or impute such values first"
            )));
        }
        Ok(Samples { x, notes, regions })
    }
}

/// What the parameter `header` of `text/csv` says: `present` or `absent`.
fn header(content_type: &str) -> Option<bool> {
    let mut parameters = content_type.split(';').skip(1).filter_map(|part| part.split_once('='));
    let (_, value) = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("header"))?;
    match value.trim().trim_matches('"').to_ascii_lowercase().as_str() {
        "present" => Some(true),
        "absent" => Some(false),
        _ => None,
    }
}

/// The refusal of more than `most` samples.
pub fn too_many(most: usize) -> Refusal {
    let message = format!("more than {most} samples; send them in several requests (--max-samples sets the limit)");
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, message)
}

fn parse_csv(bytes: &[u8], header: Option<bool>, expected: Expected, subject: &Subject) -> Result<Samples, Refusal> {
    let options =
        ReadOptions { y: Some("none".into()), header, schema: Some(subject.table.clone()), ..ReadOptions::default() };
    let data = io::read_csv("the body", bytes, &options, expected.samples);
    let data =
        data.map_err(|e| Refusal::bad(for_clients(&e.to_string())))?.ok_or_else(|| too_many(expected.samples))?;
    let notes = data.notes.into_iter().map(|note| for_clients(&note.text)).collect();
    Ok(Samples { x: data.x, notes, regions: None })
}

/// What the reader of tables says, without the options of who reads a file: a client has a content type, and what it sends.
fn for_clients(text: &str) -> String {
    const INSTEAD: [(&str, &str); 4] = [
        ("say option `header = no`", "send it as `text/csv; header=absent`"),
        ("say option `header = yes`", "send it as `text/csv; header=present`"),
        (
            "if the comma is the decimal sign, say option `decimal = ,` and if it",
            "write the decimal sign as a point; if the comma",
        ),
        ("if the point is, say option `decimal = .`", "write it so everywhere"),
    ];
    let text = INSTEAD.iter().fold(text.to_string(), |text, (option, instead)| text.replace(option, instead));
    // The fact comes first; of the advice after it, what needs an option is left out.
    let mut clauses = text.split("; ");
    let fact = clauses.next().unwrap_or_default().to_string();
    clauses.fold(fact, |text, clause| {
        let advice: Vec<&str> = clause.split(", or ").filter(|advice| !advice.contains("option `")).collect();
        if advice.is_empty() { text } else { format!("{text}; {}", advice.join(", or ")) }
    })
}

impl From<Error> for Refusal {
    /// Input was checked before, so what still fails is the model's own business.
    fn from(error: Error) -> Self {
        match error {
            Error::Data(_) | Error::Shape { .. } => Refusal::bad(error.to_string()),
            other => Refusal::broken(other.to_string()),
        }
    }
}
