//! Data files as the user names them; `-` is stdin.

use crate::args::{DataArgs, Way};
use crate::failure::Failure;
use atomlearn::Error;
use atomlearn::io::{self, RawData, ReadOptions, Samples};
use atomlearn_lab::data::{LabData, digest};
use std::io::Read;
use std::path::{Path, PathBuf};

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
            Way::Rows => Samples::Rows,
            Way::Columns => Samples::Columns,
        });
        ReadOptions { x: self.x.clone(), y: self.y.clone(), samples, labels: self.labels.clone() }
    }

    /// Reads DATA; `-` is CSV from stdin.
    pub fn read(&self, path: &Path) -> Result<Source, Failure> {
        Input::open(path)?.read(&self.options())
    }

    /// Reads DATA to be put through a model of so many features. Labels need not be there: a table whose last column
    /// would pass for labels, unless the user says so, is read as features alone if that is what the model fits.
    pub fn read_for(&self, path: &Path, n_features: usize) -> Result<Source, Failure> {
        let input = Input::open(path)?;
        let labelled = input.read(&self.options());
        let fits = labelled.as_ref().is_ok_and(|source| source.raw.x.nrows() == n_features);
        if fits || self.y.is_some() || self.labels.is_some() {
            return labelled;
        }
        let plain = input.read(&ReadOptions { y: Some("none".into()), ..self.options() });
        match plain {
            Ok(source) if source.raw.x.nrows() == n_features => Ok(source),
            _ => labelled,
        }
    }

    /// Reads DATA with its labels.
    pub fn read_labelled(&self, path: &Path) -> Result<LabData, Failure> {
        let source = self.read(path)?;
        Ok(LabData::new(&source.name, source.sha256, source.raw)?)
    }
}

/// A file to read; stdin is kept in one for as long as this lives.
struct Input {
    path: PathBuf,
    name: String,
    kept: Option<tempfile::TempDir>,
}

impl Input {
    fn open(path: &Path) -> Result<Self, Failure> {
        if path != Path::new("-") {
            return Ok(Input { path: path.into(), name: path.display().to_string(), kept: None });
        }
        let folder = tempfile::tempdir().map_err(|e| Failure::failed(format!("cannot keep stdin: {e}")))?;
        let path = folder.path().join("stdin.csv");
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(Error::io("stdin"))?;
        std::fs::write(&path, &bytes).map_err(Error::io("stdin"))?;
        Ok(Input { path, name: "stdin".into(), kept: Some(folder) })
    }

    fn read(&self, options: &ReadOptions) -> Result<Source, Failure> {
        let raw = io::read(&self.path, options).map_err(|e| match e {
            Error::Format { why, .. } if self.kept.is_some() => Error::format("stdin", why),
            other => other,
        })?;
        Ok(Source { name: self.name.clone(), sha256: digest(&self.path)?, raw })
    }
}
