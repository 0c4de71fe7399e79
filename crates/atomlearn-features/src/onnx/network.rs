//! A network file: its tensors, and pictures through it up to one of them.

use super::OnnxSpec;
use super::preset::prepare;
use super::runtime::{self, Plan};
use atomlearn::io::pictures::Picture;
use atomlearn::{Error, Result};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MAX_BATCH: usize = 1024;

/// A tensor of a network.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Layer {
    /// Its name.
    pub name: String,
    /// Its sizes for one image; `None` where they cannot be told.
    pub shape: Option<Vec<usize>>,
}

/// What a network takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Input {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) channels: usize,
    pub(crate) channels_last: bool,
}

/// A network that is ready to run up to one of its tensors.
#[derive(Clone)]
pub struct Network {
    spec: OnnxSpec,
    path: PathBuf,
    bytes: Arc<Vec<u8>>,
    sha256: String,
    input: Input,
    dim: usize,
    plan: Plan,
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Network").field("path", &self.path).field("spec", &self.spec).field("dim", &self.dim).finish()
    }
}

impl Network {
    /// Reads a network file.
    pub fn open(path: &Path, spec: &OnnxSpec) -> Result<Self> {
        Self::new(path, std::fs::read(path).map_err(Error::io(path))?, spec)
    }

    /// Takes the bytes of a network file; `path` is what messages call it.
    pub fn new(path: &Path, bytes: Vec<u8>, spec: &OnnxSpec) -> Result<Self> {
        if !(1..=MAX_BATCH).contains(&spec.batch) {
            return Err(Error::param("batch", spec.batch, format!("must be a whole number from 1 to {MAX_BATCH}")));
        }
        let (input, dim, plan) = Plan::new(path, &bytes, spec)?;
        let sha256 = digest(&bytes);
        Ok(Network { spec: spec.clone(), path: path.into(), bytes: Arc::new(bytes), sha256, input, dim, plan })
    }

    /// What was asked for.
    pub fn spec(&self) -> &OnnxSpec {
        &self.spec
    }

    /// The file it came from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Digest of the file.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// What it takes.
    #[cfg(feature = "networks")]
    pub(crate) fn input(&self) -> Input {
        self.input
    }

    /// Number of features.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The layer's values for a picture.
    pub fn apply(&self, picture: &Picture) -> Result<Vec<f64>> {
        Ok(self.run(&[self.prepare(picture)?])?.swap_remove(0))
    }

    /// The picture as the network's input.
    pub(crate) fn prepare(&self, picture: &Picture) -> Result<Vec<f32>> {
        prepare(&self.spec, &self.input, picture)
    }

    /// The layer's values for inputs in the order of the network's axes, each of one image, at most a batch of them.
    pub fn run(&self, inputs: &[Vec<f32>]) -> Result<Vec<Vec<f64>>> {
        let batch = self.spec.batch;
        let Input { rows, cols, channels, .. } = self.input;
        let mut values = inputs.concat();
        // The plan is made for full batches; what is missing is zero.
        values.resize(batch * rows * cols * channels, 0.0);
        let values = self.plan.run(&self.path, self.input.shape(batch), &values)?;
        if values.iter().any(|v| !v.is_finite()) {
            let why = "the layer has values that are not finite; check option `preset`";
            return Err(Error::format(&self.path, why));
        }
        let rows = values.chunks_exact(self.dim).take(inputs.len());
        Ok(rows.map(|row| row.iter().map(|&v| f64::from(v)).collect()).collect())
    }
}

impl Input {
    pub(super) fn shape(&self, batch: usize) -> [usize; 4] {
        if self.channels_last {
            [batch, self.rows, self.cols, self.channels]
        } else {
            [batch, self.channels, self.rows, self.cols]
        }
    }
}

/// SHA-256 in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The tensors that depend on the input, in the order of computation.
pub fn list_layers(path: &Path, size: Option<[usize; 2]>) -> Result<Vec<Layer>> {
    list_layers_in(path, &std::fs::read(path).map_err(Error::io(path))?, size)
}

/// As [`list_layers`], for the bytes of a network file; `path` is what messages call it.
pub fn list_layers_in(path: &Path, bytes: &[u8], size: Option<[usize; 2]>) -> Result<Vec<Layer>> {
    runtime::list_layers(path, bytes, size)
}
