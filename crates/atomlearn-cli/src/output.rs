//! Output files: every one is checked before any work is done, so that none destroys something else; see [`atomlearn_lab::outputs`].

use crate::console::Console;
use crate::failure::Failure;
use atomlearn::file::write_atomically;
pub use atomlearn_lab::output_kind::Kind;
use atomlearn_lab::outputs::{self, Force, Refusal};
use std::path::{Path, PathBuf};

/// Flags of every command that writes files.
#[derive(clap::Args, Clone, Default)]
#[command(next_help_heading = "Output options")]
pub struct OutputArgs {
    /// Replace an output file even if it is of another kind than what is written; without this a model replaces only a model,
    /// a report only a report, and so on. A file that the command reads is never replaced
    #[arg(long)]
    force: bool,
}

impl OutputArgs {
    /// Refuses outputs that cannot be written, that are read by the same command, or that would replace a file of another kind.
    /// What was not given is left out; `-` among the inputs is stdin.
    pub fn check(&self, inputs: &[Option<&PathBuf>], outputs: &[(Option<&PathBuf>, Kind)]) -> Result<(), Failure> {
        let inputs: Vec<&Path> = inputs.iter().flatten().map(|path| path.as_path()).collect();
        let outputs: Vec<(&Path, Kind)> =
            outputs.iter().filter_map(|(path, kind)| Some((path.as_ref()?.as_path(), *kind))).collect();
        let force = Force { given: self.force, said: "--force" };
        outputs::check(&inputs, &outputs, force).map_err(|refusal| match refusal {
            Refusal::Usage(why) | Refusal::Exists(why) | Refusal::NoFolder(why) => Failure::usage(why),
            Refusal::Failed(why) => Failure::failed(why),
            Refusal::Error(error) => error.into(),
        })
    }
}

/// Writes a result to a file, whole or not at all, or to stdout.
pub fn write_output(path: Option<&Path>, bytes: &[u8], console: &Console) -> Result<(), Failure> {
    match path.filter(|path| *path != Path::new("-")) {
        Some(path) => Ok(write_atomically(path, bytes)?),
        None => console.print_bytes(bytes),
    }
}
