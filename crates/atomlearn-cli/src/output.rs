//! Output files: every one is checked here, before any work is done, so that none destroys something else.

mod kind;

use crate::console::Console;
use crate::failure::Failure;
use atomlearn::Error;
use atomlearn::file::{AtomicFile, folder_of, link_target, write_atomically};
pub use kind::Kind;
use std::path::{Path, PathBuf};

/// Data lie in a folder or in its sub-folders.
const DEEPEST: usize = 1;

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
        let inputs = inputs.iter().flatten().flat_map(|path| Input::of(path)).collect::<Vec<_>>();
        let mut earlier: Vec<(&Path, PathBuf)> = Vec::new();
        for (path, kind) in outputs.iter().filter_map(|(path, kind)| Some(((*path)?, *kind))) {
            let target = link_target(path).map_err(|e| Failure::usage(e.to_string()))?;
            check_place(path, &target)?;
            check_inputs(path, &target, kind, &inputs)?;
            self.check_kind(path, &target, kind)?;
            let place = absolute(&target);
            if let Some((other, _)) = earlier.iter().find(|(_, taken)| *taken == place) {
                return Err(Failure::usage(format!(
                    "{} and {} are the same file; give every output a file of its own",
                    other.display(),
                    path.display()
                )));
            }
            earlier.push((path.as_path(), place));
            try_to_write(path)?;
        }
        Ok(())
    }

    /// An existing file may be replaced by one of the same kind, and by any if it is empty.
    fn check_kind(&self, path: &Path, target: &Path, kind: Kind) -> Result<(), Failure> {
        if !std::fs::metadata(target).is_ok_and(|found| found.len() > 0) {
            return Ok(());
        }
        let found = Kind::of(target).map_err(Error::io(path))?;
        if found.fits(kind) || (self.force && !kind.is_appended()) {
            return Ok(());
        }
        let what = found.name().map_or(String::new(), |name| format!("{name}, "));
        let remedy = if kind.is_appended() {
            "nothing is appended to it; name another file"
        } else {
            "name another file, or replace this one with --force"
        };
        Err(Failure::usage(format!("{}: exists and is {what}not {}; {remedy}", path.display(), kind.name())))
    }
}

/// Writes a result to a file, whole or not at all, or to stdout.
pub fn write_output(path: Option<&Path>, bytes: &[u8], console: &Console) -> Result<(), Failure> {
    match path.filter(|path| *path != Path::new("-")) {
        Some(path) => Ok(write_atomically(path, bytes)?),
        None => console.print_bytes(bytes),
    }
}

/// Refuses what is no place for a file.
fn check_place(path: &Path, target: &Path) -> Result<(), Failure> {
    let folder = folder_of(target);
    if target.is_dir() {
        return Err(Failure::usage(format!("{}: is a folder; give the name of a file", path.display())));
    }
    if !folder.is_dir() {
        return Err(Failure::usage(format!("{}: the folder {} does not exist", path.display(), folder.display())));
    }
    if target.exists() && !target.is_file() {
        return Err(Failure::usage(format!("{}: is not a file, and will not be replaced by one", path.display())));
    }
    Ok(())
}

/// A file is begun in its place and taken away again.
fn try_to_write(path: &Path) -> Result<(), Failure> {
    match AtomicFile::create(path) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::failed(format!("{error}: nothing can be written there; name another place"))),
    }
}

/// Refuses an output that the command reads. `--force` does not help: nobody wants that.
fn check_inputs(path: &Path, target: &Path, kind: Kind, inputs: &[Input]) -> Result<(), Failure> {
    let Some(identity) = Identity::of(target) else { return Ok(()) };
    let refuse = |relation: &str, input: &Input| {
        Err(Failure::usage(format!(
            "{}: is {relation} {}, which {} would destroy; name another file",
            path.display(),
            input.path.display(),
            kind.name()
        )))
    };
    for input in inputs {
        match &input.content {
            Content::File(held) if *held == identity => return refuse("the same file as the input", input),
            Content::Folder if holds(&input.path, &identity, DEEPEST) => {
                // What an earlier run wrote into the folder is not part of the data, unless it is data itself.
                let own = kind != Kind::Features && Kind::of(target).is_ok_and(|found| found.fits(kind));
                if !own {
                    return refuse("one of the files in the input folder", input);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Something the command reads.
struct Input {
    /// As the user named it.
    path: PathBuf,
    content: Content,
}

enum Content {
    File(Identity),
    Folder,
}

impl Input {
    /// What is read when this path is named: itself and labels that lie beside it. What is not there destroys nothing.
    fn of(path: &Path) -> Vec<Input> {
        if path == Path::new("-") {
            return Identity::of_stdin().map(|held| Input::file("stdin", held)).into_iter().collect();
        }
        if path.is_dir() {
            return vec![Input { path: path.into(), content: Content::Folder }];
        }
        let mut paths = vec![path.to_path_buf()];
        if path.extension().is_some_and(|ending| ending == "npy") {
            paths.push(path.with_extension("labels.npy"));
        }
        paths.into_iter().filter_map(|path| Identity::of(&path).map(|held| Input::file(path, held))).collect()
    }

    fn file(path: impl Into<PathBuf>, identity: Identity) -> Self {
        Input { path: path.into(), content: Content::File(identity) }
    }
}

/// What makes two names the same file: links of both kinds lead to the same one.
#[derive(PartialEq)]
struct Identity(#[cfg(unix)] (u64, u64), #[cfg(not(unix))] PathBuf);

impl Identity {
    /// Nothing if there is no such file.
    #[cfg(unix)]
    fn of(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|found| Identity::from(&found))
    }

    #[cfg(unix)]
    fn from(found: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Identity((found.dev(), found.ino()))
    }

    /// The file that stdin is read from.
    #[cfg(unix)]
    fn of_stdin() -> Option<Self> {
        use std::os::fd::AsFd;
        let stdin = std::io::stdin().as_fd().try_clone_to_owned().ok()?;
        std::fs::File::from(stdin).metadata().ok().map(|found| Identity::from(&found))
    }

    #[cfg(not(unix))]
    fn of(path: &Path) -> Option<Self> {
        path.canonicalize().ok().map(Identity)
    }

    #[cfg(not(unix))]
    fn of_stdin() -> Option<Self> {
        None
    }
}

/// True if the folder holds this file.
fn holds(folder: &Path, identity: &Identity, deeper: usize) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        Identity::of(&path).as_ref() == Some(identity)
            || (deeper > 0 && path.is_dir() && holds(&path, identity, deeper - 1))
    })
}

/// Equal for two names of a file that need not be there yet.
fn absolute(target: &Path) -> PathBuf {
    target.canonicalize().unwrap_or_else(|_| {
        let folder = folder_of(target).canonicalize().unwrap_or_default();
        folder.join(target.file_name().unwrap_or_default())
    })
}
