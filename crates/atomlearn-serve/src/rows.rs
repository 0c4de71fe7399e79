//! Samples out of a body: JSON rows, `.npy` or an image.

use crate::reply::Refusal;
use crate::subject::Subject;
use atomlearn::{Error, Mat, io};
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderMap};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use std::fmt;

const FORMS: &str =
    "send JSON rows such as [[1, 2], [3, 4]] as application/json, or a NumPy array as application/x-npy";

/// How the samples of a body are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Rows in JSON.
    Json,
    /// The bytes of a `.npy` file.
    Npy,
    /// The bytes of an image file, for models that were trained on images.
    Image,
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
    /// From the content type.
    pub fn of(headers: &HeaderMap) -> Result<Self, Refusal> {
        let text = headers.get(CONTENT_TYPE).map_or("", |value| value.to_str().unwrap_or("?"));
        let essence = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "application/json" => Ok(Form::Json),
            "application/x-npy" | "application/npy" | "application/octet-stream" => Ok(Form::Npy),
            image if image.starts_with("image/") => Ok(Form::Image),
            "" => {
                Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, format!("the body has no content type; {FORMS}")))
            }
            other => {
                let message = format!("content type `{other}` cannot be read; {FORMS}");
                Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message))
            }
        }
    }

    /// The samples, one per column; at least one, each of the right length, all values finite.
    pub fn parse(self, bytes: &[u8], expected: Expected, subject: &Subject) -> Result<Mat<f64>, Refusal> {
        let x = match self {
            Form::Json => parse_json(bytes, expected)?,
            Form::Npy => io::read_npy("the body", bytes).map_err(|e| Refusal::bad(e.to_string()))?,
            Form::Image => match subject.sample(bytes).map_err(|e| Refusal::bad(e.to_string()))? {
                Some(x) => x,
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
        Ok(x)
    }
}

fn too_many(most: usize) -> Refusal {
    let message = format!("more than {most} samples; send them in several requests (--max-samples sets the limit)");
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, message)
}

fn parse_json(bytes: &[u8], expected: Expected) -> Result<Mat<f64>, Refusal> {
    let mut table = Table { expected, values: Vec::new(), rows: 0, loose: 0, full: false };
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = Outer(&mut table).deserialize(&mut reader).and_then(|()| reader.end());
    if table.full {
        return Err(too_many(expected.samples));
    }
    read.map_err(|e| Refusal::bad(format!("the JSON cannot be used: {e}; {FORMS}")))?;
    if table.loose > 0 {
        table.end_row(table.loose).map_err(Refusal::bad)?;
    }
    if table.rows == 0 {
        return Err(Refusal::bad(format!("the body holds no samples; {FORMS}")));
    }
    let features = expected.features;
    Ok(Mat::from_fn(features, table.rows, |i, j| table.values[j * features + i]))
}

/// Numbers as they are read, row after row. Nothing is kept beyond what the model can take.
struct Table {
    expected: Expected,
    values: Vec<f64>,
    rows: usize,
    /// Numbers that stand outside rows: the values of a lone sample.
    loose: usize,
    full: bool,
}

impl Table {
    fn push(&mut self, value: f64, place: usize) -> Result<(), String> {
        if place == self.expected.features {
            return Err(format!(
                "row {} (counted from 0) has more than {place} numbers, the model takes {place}",
                self.rows
            ));
        }
        self.values.push(value);
        Ok(())
    }

    fn end_row(&mut self, length: usize) -> Result<(), String> {
        if length != self.expected.features {
            let takes = self.expected.features;
            return Err(format!("row {} (counted from 0) has {length} numbers, the model takes {takes}", self.rows));
        }
        self.rows += 1;
        self.full = self.rows > self.expected.samples;
        if self.full { Err("too many rows".into()) } else { Ok(()) }
    }
}

/// `[[...], ...]`, `[...]` or `{"rows": ...}`.
struct Outer<'a>(&'a mut Table);

impl<'de> DeserializeSeed<'de> for Outer<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Outer<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rows of numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Item(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(name) = fields.next_key::<String>()? {
            if name != "rows" {
                let name: String = name.chars().take(40).collect();
                return Err(A::Error::custom(format!("unknown field `{name}`; the only one is `rows`")));
            }
            fields.next_value_seed(Outer(self.0))?;
        }
        Ok(())
    }
}

/// A row, or a number of the only row.
struct Item<'a>(&'a mut Table);

impl<'de> DeserializeSeed<'de> for Item<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Item<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row of numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<(), A::Error> {
        if self.0.loose > 0 {
            return Err(A::Error::custom("numbers and rows are mixed"));
        }
        let mut length = 0;
        while let Some(value) = numbers.next_element::<f64>()? {
            self.0.push(value, length).map_err(A::Error::custom)?;
            length += 1;
        }
        self.0.end_row(length).map_err(A::Error::custom)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        if self.0.rows > 0 {
            return Err(E::custom("numbers and rows are mixed"));
        }
        self.0.push(value, self.0.loose).map_err(E::custom)?;
        self.0.loose += 1;
        Ok(())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.visit_f64(value as f64)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.visit_f64(value as f64)
    }
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
