//! Data files as the user names them; `-` is stdin.

use crate::args::{Answer, DataArgs, OrientationArg};
use crate::console::Console;
use crate::failure::Failure;
use crate::plain::shell_word;
use atomlearn::io::{self, Note, Orientation, RawData, ReadOptions, TableSchema, Variable};
use atomlearn::{Error, Mat, Model};
use atomlearn_lab::data::{LabData, Naming, digest, digest_bytes};
use clap::ValueEnum;
use serde_json::{Value, json};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A data file with its name and digest.
pub struct Source {
    /// Name for people.
    pub name: String,
    /// Digest of the content.
    pub sha256: String,
    /// The content.
    pub raw: RawData,
}

impl DataArgs {
    /// What the reader needs to know.
    pub fn options(&self) -> ReadOptions {
        let samples = self.samples.map(|way| match way {
            OrientationArg::Rows => Orientation::Rows,
            OrientationArg::Columns => Orientation::Columns,
        });
        ReadOptions {
            x: self.x.clone(),
            y: self.y.clone(),
            samples,
            labels: self.labels.clone(),
            header: self.header.map(|answer| answer == Answer::Yes),
            decimal_comma: self.decimal.map(|sign| sign == ','),
            drop: self.drop.clone(),
            id: self.id.clone(),
            impute: self.impute.map(Into::into),
            ..ReadOptions::default()
        }
    }

    /// What the reader needs to know to read data for a model: the table it was trained on goes with it.
    pub fn options_for(&self, model: &Model) -> Result<ReadOptions, Failure> {
        let schema = model.table().map(Arc::new);
        for (given, flag) in [(self.impute.is_some(), "--impute"), (!self.drop.is_empty(), "--drop")] {
            if given && schema.is_some() {
                return Err(Failure::usage(format!(
                    "{flag} belongs to training: the model keeps what was said there, and leaves out columns it does not know"
                )));
            }
        }
        Ok(ReadOptions { schema, ..self.options() })
    }

    /// Reads DATA to be put through a model. Labels are not needed and not looked at: no column passes for them.
    /// With `lenient`, values that cannot be used are NaN; else they are an error.
    pub fn read_for(&self, path: &Path, model: &Model, lenient: bool, console: &Console) -> Result<Source, Failure> {
        let (input, options) = (Input::open(path)?, ReadOptions { lenient, ..self.options_for(model)? });
        if self.has_views() {
            return Ok(self.with_views(input.read_once(&options)?, &options)?.with_notes_shown(console));
        }
        let unlabeled = ReadOptions { y: Some("none".into()), ..options.clone() };
        if options.schema.is_some() {
            return Ok(input.read_once(&unlabeled)?.with_notes_shown(console));
        }
        // The model knows nothing of tables: what has as many features as it takes is right.
        let labeled = input.read(&options);
        let n_features = model.prep().n_features();
        let fits = |source: &Source| source.raw.x.nrows() == n_features;
        if labeled.as_ref().is_ok_and(fits) || self.y.is_some() || self.labels.is_some() {
            return Ok(labeled?.with_notes_shown(console));
        }
        match input.read(&unlabeled) {
            Ok(source) if fits(&source) => Ok(source.with_notes_shown(console)),
            _ => Ok(labeled?.with_notes_shown(console)),
        }
    }

    /// Reads DATA with its labels, with these options.
    pub fn read_with(&self, path: &Path, options: &ReadOptions, console: &Console) -> Result<LabData, Failure> {
        let source = self.with_views(Input::open(path)?.read_once(options)?, options)?.with_notes_shown(console);
        Ok(LabData::new(&source.name, source.sha256, source.raw)?)
    }

    /// Reads DATA with its labels for an experiment, which learns what tables leave to be learned from its training parts alone.
    pub fn read_to_split(&self, path: &Path, groups: Option<&str>, console: &Console) -> Result<LabData, Failure> {
        let group_column = groups.map(str::to_string);
        let options = ReadOptions { split_later: !self.has_views(), groups: group_column.clone(), ..self.options() };
        let source = self.with_views(Input::open(path)?.read_once(&options)?, &options)?.with_notes_shown(console);
        Ok(LabData::to_split(&source.name, source.sha256, source.raw)?.with_group_column(group_column))
    }

    /// Reads DATA, which trains, and another file, which tests; a table's columns are understood as the training file has them.
    pub fn read_two(
        &self,
        path: &Path,
        test: &Path,
        groups: Option<&str>,
        console: &Console,
    ) -> Result<LabData, Failure> {
        self.refuse_views("has its test samples in the same files: give the split with --splits, not with --test")?;
        if self.labels.is_some() {
            return Err(Failure::usage(
                "--labels names the labels of one file, but --test gives a second; put labels into both",
            ));
        }
        let group_column = groups.map(str::to_string);
        let options = ReadOptions { groups: group_column.clone(), ..self.options() };
        let train = Input::open(path)?.read_once(&options)?.with_notes_shown(console);
        let schema = train.raw.schema.clone().map(Arc::new);
        let options = match schema {
            Some(_) => ReadOptions { schema, impute: None, drop: Vec::new(), ..options },
            None => options,
        };
        let test = Input::open(test)?.read_once(&options)?.with_notes_shown(console);
        let name = format!("{} + {}", train.name, test.name);
        let sha256 = digest_bytes(format!("{}\n{}", train.sha256, test.sha256).as_bytes());
        Ok(LabData::new(&name, sha256, joined(train, test)?)?.with_group_column(group_column))
    }

    /// The file and these flags as they would be typed.
    pub fn typed(&self, path: &Path) -> String {
        let mut words: Vec<String> = vec![path.display().to_string()];
        let mut add = |flag: &str, value: Option<String>| {
            words.extend(value.into_iter().flat_map(|value| [flag.to_string(), value]));
        };
        let word = |value: Option<clap::builder::PossibleValue>| value.map(|value| value.get_name().to_string());
        add("--x", self.x.clone());
        add("--y", self.y.clone());
        self.views.iter().for_each(|view| add("--views", Some(view.clone())));
        add("--samples", self.samples.and_then(|way| word(way.to_possible_value())));
        add("--labels", self.labels.as_ref().map(|path| path.display().to_string()));
        add("--header", self.header.and_then(|answer| word(answer.to_possible_value())));
        self.drop.iter().for_each(|names| add("--drop", Some(names.clone())));
        add("--id", self.id.clone());
        add("--impute", self.impute.and_then(|filling| word(filling.to_possible_value())));
        add("--decimal", self.decimal.map(String::from));
        quoted(words)
    }

    /// Reads DATA with its labels, to be put through a model.
    pub fn read_labeled_for(&self, path: &Path, model: &Model, console: &Console) -> Result<LabData, Failure> {
        let options = self.options_for(model)?;
        let source = self.with_views(Input::open(path)?.read_once(&options)?, &options)?.with_notes_shown(console);
        let label = options.schema.as_ref().and_then(|schema| schema.label.as_ref());
        match label {
            Some(label) if source.raw.schema.is_some() && source.raw.labels.is_none() => {
                Err(Failure::bad_file(format!(
                    "{}: no column `{}`, which held the labels in training; name the column with --y NAME",
                    source.name, label.name
                )))
            }
            _ => Ok(LabData::new(&source.name, source.sha256, source.raw)?),
        }
    }

    /// Looks at DATA: what it holds, and what reading it gives.
    pub fn look(&self, path: &Path) -> Result<(Vec<Variable>, Result<Source, Failure>), Failure> {
        let input = Input::open(path)?;
        let options = ReadOptions { lenient: true, ..self.options() };
        Ok((input.variables(&options)?, input.read_once(&options)))
    }
}

impl Source {
    /// What samples are called by.
    pub fn naming(&self) -> Naming {
        naming(&self.raw)
    }

    /// What the sample at this place is called; without names its number.
    pub fn sample_name(&self, place: usize) -> String {
        sample_name(&self.raw, place).map_or_else(|| place.to_string(), str::to_string)
    }

    /// Tells the user what was noticed while reading.
    fn with_notes_shown(self, console: &Console) -> Self {
        tell(&self.raw.notes, console);
        self
    }
}

/// Words as they would be typed.
pub fn quoted(words: impl IntoIterator<Item = String>) -> String {
    words.into_iter().map(|word| shell_word(&word)).collect::<Vec<_>>().join(" ")
}

/// Training samples and test samples in one, with the split between them.
fn joined(train: Source, test: Source) -> Result<RawData, Failure> {
    let (a, b) = (train.raw, test.raw);
    if a.x.nrows() != b.x.nrows() {
        return Err(Failure::bad_file(format!(
            "{} has {} features, but {} has {}",
            test.name,
            b.x.nrows(),
            train.name,
            a.x.nrows()
        )));
    }
    let (n_train, n) = (a.x.ncols(), a.x.ncols() + b.x.ncols());
    let none = |name: &str| Failure::bad_file(format!("{name}: the data have no labels; name them with --y NAME"));
    let mut labels = a.labels.ok_or_else(|| none(&train.name))?;
    labels.extend(b.labels.ok_or_else(|| none(&test.name))?);
    let both = |a: Option<Vec<String>>, b: Option<Vec<String>>| a.zip(b).map(|(a, b)| [a, b].concat());
    let x = Mat::from_fn(a.x.nrows(), n, |i, j| if j < n_train { a.x[(i, j)] } else { b.x[(i, j - n_train)] });
    Ok(RawData {
        labels: Some(labels),
        is_train: Some((0..n).map(|j| j < n_train).collect()),
        image_shape: a.image_shape,
        names: both(a.names, b.names),
        ids: both(a.ids, b.ids),
        groups: both(a.groups, b.groups),
        feature_names: a.feature_names,
        schema: a.schema,
        ..RawData::new(x)
    })
}

/// What samples are called by.
pub fn naming(raw: &RawData) -> Naming {
    Naming::of(raw.ids.is_some(), raw.names.is_some())
}

/// What the sample at this place is called, if it has a name.
pub fn sample_name(raw: &RawData, place: usize) -> Option<&str> {
    raw.ids.as_ref().or(raw.names.as_ref())?.get(place).map(String::as_str)
}

/// Tells the user what was noticed about a table.
pub fn tell(notes: &[Note], console: &Console) {
    for note in notes {
        if note.warning { console.warn(&note.text) } else { console.note(&note.text) }
    }
}

/// How a table was read, for JSON.
pub fn table_json(schema: &TableSchema) -> Value {
    let categories = schema.features.iter().filter_map(|feature| match &feature.kind {
        io::ColumnKind::Category { levels } => Some(json!({"name": feature.name, "levels": levels})),
        _ => None,
    });
    json!({
        "header": schema.header, "decimal": if schema.decimal_comma { "," } else { "." }, "label": schema.label,
        "ids": schema.ids, "left_out": schema.left_out, "impute": schema.impute,
        "columns": schema.columns, "categories": categories.collect::<Vec<_>>(),
    })
}

/// Something to read; the bytes of a file are read once, so that their digest is that of what was understood.
pub(crate) struct Input {
    path: PathBuf,
    name: String,
    sha256: String,
    /// `None` for a folder.
    bytes: Option<Vec<u8>>,
}

impl Input {
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        if path == Path::new("-") {
            let mut bytes = Vec::new();
            std::io::stdin().lock().read_to_end(&mut bytes).map_err(Error::io("stdin"))?;
            return Ok(Input {
                path: "stdin.csv".into(),
                name: "stdin".into(),
                sha256: digest_bytes(&bytes),
                bytes: Some(bytes),
            });
        }
        if path.is_dir() {
            return Ok(Input { path: path.into(), name, sha256: digest(path)?, bytes: None });
        }
        let bytes = io::load(path)?;
        Ok(Input { path: path.into(), name, sha256: digest_bytes(&bytes), bytes: Some(bytes) })
    }

    /// Reads, and keeps the bytes for another time.
    fn read(&self, options: &ReadOptions) -> Result<Source, Failure> {
        let copy = Input {
            path: self.path.clone(),
            name: self.name.clone(),
            sha256: self.sha256.clone(),
            bytes: self.copied()?,
        };
        copy.read_once(options)
    }

    /// The bytes once more; readers take them apart.
    fn copied(&self) -> Result<Option<Vec<u8>>, Failure> {
        let Some(bytes) = &self.bytes else { return Ok(None) };
        let mut copy = Vec::new();
        copy.try_reserve_exact(bytes.len()).map_err(|_| {
            let why = "the system does not give the memory to read it; allow the program more";
            Error::format(&self.name, why)
        })?;
        copy.extend_from_slice(bytes);
        Ok(Some(copy))
    }

    pub(crate) fn read_once(mut self, options: &ReadOptions) -> Result<Source, Failure> {
        let raw = match self.bytes.take() {
            Some(bytes) => io::read_bytes(&self.path, bytes, options),
            None => io::read(&self.path, options),
        };
        let raw = raw.map_err(|error| self.named(error))?;
        Ok(Source { name: self.name, sha256: self.sha256, raw })
    }

    fn variables(&self, options: &ReadOptions) -> Result<Vec<Variable>, Failure> {
        let listed = match self.copied()? {
            Some(bytes) => io::variables_with(&self.path, bytes, options),
            None => io::variables(&self.path),
        };
        Ok(listed.map_err(|error| self.named(error))?)
    }

    fn named(&self, error: Error) -> Error {
        match error {
            Error::Format { why, .. } if self.name == "stdin" => Error::format("stdin", why),
            other => other,
        }
    }
}
