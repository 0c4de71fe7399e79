//! Stand-in for [`runtime`](super::runtime) in builds without networks: it says what to do.

use super::OnnxSpec;
use super::network::{Input, Layer};
use atomlearn::{Error, Result};
use std::path::Path;

/// There is none.
#[derive(Clone)]
pub(super) enum Plan {}

impl Plan {
    pub(super) fn new(path: &Path, _: &[u8], _: &OnnxSpec) -> Result<(Input, usize, Self)> {
        Err(refusal(path))
    }

    pub(super) fn run(&self, _: &Path, _: [usize; 4], _: &[f32]) -> Result<Vec<f32>> {
        match *self {}
    }
}

pub(super) fn list_layers(path: &Path, _: &[u8], _: Option<[usize; 2]>) -> Result<Vec<Layer>> {
    Err(refusal(path))
}

fn refusal(path: &Path) -> Error {
    let why = "this build cannot run networks; build it with the feature `networks` (`--features full` has everything)";
    Error::format(path, why)
}
