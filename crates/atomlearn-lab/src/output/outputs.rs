//! Output files: every one is checked before any work is done, so that none destroys something else.

use crate::output::output_kind::Kind;
use atomlearn::Error;
use atomlearn::file::{AtomicFile, folder_of, link_target};
use std::path::{Path, PathBuf};

/// Data lie in a folder or in its sub-folders.
const DEEPEST: usize = 1;

/// Why an output is not written.
#[derive(Debug)]
pub enum Refusal {
    /// The folder is not there.
    NoFolder(String),
    /// Something else stands in its place.
    Exists(String),
    /// The user should name another file.
    Usage(String),
    /// Nothing can be written there.
    Failed(String),
    /// What is there cannot be read.
    Error(Error),
}

/// Whether files of another kind may be replaced.
#[derive(Clone, Copy, Debug)]
pub struct Force {
    /// They may.
    pub given: bool,
    /// How a user says so.
    pub said: &'static str,
}

/// Refuses outputs that cannot be written, that are among the inputs, or that would replace a file of another kind. `-` among the
/// inputs is stdin.
pub fn check(inputs: &[&Path], outputs: &[(&Path, Kind)], force: Force) -> Result<(), Refusal> {
    let inputs = inputs.iter().flat_map(|path| Input::of(path)).collect::<Vec<_>>();
    let mut earlier: Vec<(&Path, PathBuf)> = Vec::new();
    for &(path, kind) in outputs {
        let target = link_target(path).map_err(|e| Refusal::Usage(e.to_string()))?;
        check_place(path, &target)?;
        check_inputs(path, &target, kind, &inputs)?;
        check_kind(path, &target, kind, force)?;
        let place = absolute(&target);
        if let Some((other, _)) = earlier.iter().find(|(_, taken)| *taken == place) {
            return Err(Refusal::Usage(format!(
                "{} and {} are the same file; give every output a file of its own",
                other.display(),
                path.display()
            )));
        }
        earlier.push((path, place));
        try_to_write(path)?;
    }
    Ok(())
}

/// An existing file may be replaced by one of the same kind, and by any if it is empty.
fn check_kind(path: &Path, target: &Path, kind: Kind, force: Force) -> Result<(), Refusal> {
    if !std::fs::metadata(target).is_ok_and(|found| found.len() > 0) {
        return Ok(());
    }
    let found = Kind::of(target).map_err(|e| Refusal::Error(Error::io(path)(e)))?;
    if found.fits(kind) || (force.given && !kind.is_appended()) {
        return Ok(());
    }
    let what = found.name().map_or(String::new(), |name| format!("{name}, "));
    let remedy = if kind.is_appended() {
        "nothing is appended to it; name another file".to_string()
    } else {
        format!("name another file, or replace this one with {}", force.said)
    };
    Err(Refusal::Exists(format!("{}: exists and is {what}not {}; {remedy}", path.display(), kind.name())))
}

/// Refuses what is no place for a file.
fn check_place(path: &Path, target: &Path) -> Result<(), Refusal> {
    let folder = folder_of(target);
    if target.is_dir() {
        return Err(Refusal::Usage(format!("{}: is a folder; give the name of a file", path.display())));
    }
    if !folder.is_dir() {
        return Err(Refusal::NoFolder(format!("{}: the folder {} does not exist", path.display(), folder.display())));
    }
    if target.exists() && !target.is_file() {
        return Err(Refusal::Usage(format!("{}: is not a file, and will not be replaced by one", path.display())));
    }
    Ok(())
}

/// A file is begun in its place and taken away again.
fn try_to_write(path: &Path) -> Result<(), Refusal> {
    match AtomicFile::create(path) {
        Ok(_) => Ok(()),
        Err(error) => Err(Refusal::Failed(format!("{error}: nothing can be written there; name another place"))),
    }
}

/// Refuses an output that is read by the same work. Force does not help: nobody wants that.
fn check_inputs(path: &Path, target: &Path, kind: Kind, inputs: &[Input]) -> Result<(), Refusal> {
    let Some(identity) = Identity::of(target) else { return Ok(()) };
    let refuse = |relation: &str, input: &Input| {
        Err(Refusal::Usage(format!(
            "{}: is {relation} {}, which {} would destroy; name another file",
            path.display(),
            input.path.display(),
            kind.name()
        )))
    };
    for input in inputs {
        match &input.content {
            InputContent::File(held) if *held == identity => return refuse("the same file as the input", input),
            InputContent::Folder if holds(&input.path, &identity, DEEPEST) => {
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

/// Something that is read.
struct Input {
    /// As the user named it.
    path: PathBuf,
    content: InputContent,
}

enum InputContent {
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
            return vec![Input { path: path.into(), content: InputContent::Folder }];
        }
        let mut paths = vec![path.to_path_buf()];
        if path.extension().is_some_and(|ending| ending == "npy") {
            paths.push(path.with_extension("labels.npy"));
        }
        paths.into_iter().filter_map(|path| Identity::of(&path).map(|held| Input::file(path, held))).collect()
    }

    fn file(path: impl Into<PathBuf>, identity: Identity) -> Self {
        Input { path: path.into(), content: InputContent::File(identity) }
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
