//! `--set name=value`, `--grid name=v1,v2`, `--params FILE`, `--prep`, `--records FILE --resume`.

use crate::console::Console;
use crate::failure::Failure;
use atomlearn::prep::PrepSpec;
use atomlearn::registry::{self, METHODS, Method, Values};
use atomlearn_lab::compare::Entry;
use atomlearn_lab::grid::{Axis, Grid};
use atomlearn_lab::jsonl::Appender;
use atomlearn_lab::metrics::Metric;
use atomlearn_lab::params_file::ParamsFile;
use atomlearn_lab::{params_file, tune};
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// Parses every `--prep`; none given means the default.
pub fn preps(texts: &[String]) -> Result<Vec<PrepSpec>, Failure> {
    if texts.is_empty() {
        return Ok(vec![PrepSpec::default()]);
    }
    Ok(texts.iter().map(|text| text.parse()).collect::<Result<_, _>>()?)
}

/// Texts that the user gave for parameters.
#[derive(Clone, Copy)]
pub struct Overrides<'a> {
    /// `name=value`, each perhaps with the method's key and a dot before.
    pub set: &'a [String],
    /// `name=value,value`, likewise.
    pub grid: &'a [String],
}

/// How `--tune` tunes.
pub struct TuneFlags {
    /// Preprocessings to choose from.
    pub preps: Vec<PrepSpec>,
    /// Number of folds.
    pub folds: usize,
    /// Seed of the folds.
    pub seed: u64,
    /// Take the simplest point within one standard error.
    pub one_se: bool,
    /// What is chosen by.
    pub metric: Metric,
}

impl Overrides<'_> {
    /// Completed parameters of one method, and the grid of all that were not set; `prep` is the user's, if one was given.
    pub fn for_method(
        &self,
        method: &'static Method,
        prep: Option<&PrepSpec>,
    ) -> Result<(PrepSpec, Values, Grid), Failure> {
        let given = self.assign(&[method])?.remove(0);
        let grid = given.grid(method)?;
        let (prep, values) = method.settle(prep, &given.values)?;
        Ok((prep, values, grid))
    }

    /// The methods of a comparison with their parameters; `files` hold parameters too, `prep` is the user's preprocessing, and
    /// `tune` says how to choose.
    pub fn entries(
        &self,
        keys: &[String],
        files: &[PathBuf],
        prep: Option<&PrepSpec>,
        tune: Option<&TuneFlags>,
    ) -> Result<Vec<Entry>, Failure> {
        let methods = methods(keys)?;
        let mut given = self.assign(&methods)?;
        for path in files {
            let file = params_file::read(path)?;
            let place = methods.iter().position(|method| method.key == file.method.key);
            let place = place.ok_or_else(|| {
                Failure::usage(format!("{}: `{}` is not among --methods", path.display(), file.method.key))
            })?;
            given[place].with_file_defaults(file);
        }
        let entry = |(method, given): (&&'static Method, Given)| {
            let (own, params) = method.settle(prep, &given.values).map_err(|e| in_method(e, method))?;
            let own = (prep.is_none() && own != PrepSpec::default()).then_some(own);
            let spec = |flags: &TuneFlags| -> Result<tune::Spec, Failure> {
                let grid = given.grid(method)?.with_preps(&flags.preps)?;
                Ok(tune::Spec {
                    grid,
                    folds: flags.folds,
                    seed: flags.seed,
                    one_se: flags.one_se,
                    metric: flags.metric,
                })
            };
            Ok(Entry { tune: tune.map(spec).transpose()?, prep: own, ..Entry::new(method, params) })
        };
        methods.iter().zip(given).map(entry).collect()
    }

    /// Gives every text to its method.
    fn assign(&self, methods: &[&'static Method]) -> Result<Vec<Given>, Failure> {
        let mut given: Vec<Given> = methods.iter().map(|_| Given::default()).collect();
        for text in self.set {
            let (place, name, value) = locate("--set", text, methods)?;
            let value = methods[place].parse_value(name, value)?;
            if given[place].values.insert(name.into(), value).is_some() {
                return Err(Failure::usage(format!("--set: `{name}` is given twice")));
            }
        }
        for text in self.grid {
            let (place, name, values) = locate("--grid", text, methods)?;
            let values = values.split(',').map(|value| methods[place].parse_value(name, value.trim()));
            let axis = Axis { name: name.into(), values: values.collect::<Result<_, _>>()? };
            given[place].axes.push(axis);
        }
        Ok(given)
    }
}

/// What was given for one method.
#[derive(Default)]
struct Given {
    values: Values,
    axes: Vec<Axis>,
}

impl Given {
    fn grid(&self, method: &Method) -> Result<Grid, Failure> {
        let fixed: Vec<String> = self.values.keys().cloned().collect();
        Grid::new(method, &self.axes, &fixed).map_err(|e| in_method(e, method))
    }

    /// Takes from a file what was not given on the command line.
    fn with_file_defaults(&mut self, file: ParamsFile) {
        let mut values = file.params;
        values.extend(std::mem::take(&mut self.values));
        self.values = values;
    }
}

/// The method that is named, by key or in a file of parameters; both must agree.
pub fn method(key: Option<&str>, file: Option<&ParamsFile>) -> Result<&'static Method, Failure> {
    let named = key.map(registry::method).transpose()?;
    match (named, file) {
        (Some(method), Some(file)) if method.key != file.method.key => Err(Failure::usage(format!(
            "--params: the file is for `{}`, but --method is `{}`",
            file.method.key, method.key
        ))),
        (Some(method), _) => Ok(method),
        (None, Some(file)) => Ok(file.method),
        (None, None) => Err(Failure::usage("name a method with --method KEY, or a file with --params FILE")),
    }
}

/// One method's preprocessing and completed parameters: from a file, and over them from `--prep` and `name=value` texts.
pub fn settle(
    method: &'static Method,
    prep: Option<&str>,
    set: &[String],
    file: Option<ParamsFile>,
) -> Result<(PrepSpec, Values), Failure> {
    let text = prep.map(str::to_string).or_else(|| file.as_ref().and_then(|file| file.prep.clone()));
    let prep: Option<PrepSpec> = text.map(|text| text.parse()).transpose()?;
    let mut given = Overrides { set, grid: &[] }.assign(&[method])?.remove(0);
    if let Some(file) = file {
        given.with_file_defaults(file);
    }
    Ok(method.settle(prep.as_ref(), &given.values)?)
}

/// `auto` and the methods that take no longer.
const FAST: [&str; 7] = ["auto", "ridge", "crc", "lda", "linear-svm", "rbf-svm", "knn"];

/// The methods of these keys; `all` is every one, `fast` those of [`FAST`].
fn methods(keys: &[String]) -> Result<Vec<&'static Method>, Failure> {
    let methods: Vec<&'static Method> = match keys {
        [all] if all == "all" => METHODS.iter().collect(),
        [fast] if fast == "fast" => FAST.iter().map(|key| registry::method(key)).collect::<Result<_, _>>()?,
        keys => keys.iter().map(|key| registry::method(key)).collect::<Result<_, _>>()?,
    };
    match methods.iter().enumerate().find(|(i, m)| methods[..*i].iter().any(|n| n.key == m.key)) {
        Some((_, twice)) => Err(Failure::usage(format!("method `{}` is named twice", twice.key))),
        None => Ok(methods),
    }
}

/// Whose parameter `[KEY.]name=value` is, its name and the text of its value.
fn locate<'t>(flag: &str, text: &'t str, methods: &[&Method]) -> Result<(usize, &'t str, &'t str), Failure> {
    let (name, value) = text
        .split_once('=')
        .map(|(name, value)| (name.trim(), value.trim()))
        .ok_or_else(|| Failure::usage(format!("{flag} {text}: write it as name=value")))?;
    match (name.split_once('.'), methods) {
        (Some((key, name)), _) => {
            registry::method(key)?;
            let place = methods.iter().position(|method| method.key == key);
            let place =
                place.ok_or_else(|| Failure::usage(format!("{flag} {text}: `{key}` is not among the methods")))?;
            Ok((place, name, value))
        }
        (None, [_]) => Ok((0, name, value)),
        (None, _) => Err(Failure::usage(format!(
            "{flag} {text}: say whose parameter it is, as in {flag} {}.{text}",
            methods.first().map_or("KEY", |method| method.key)
        ))),
    }
}

fn in_method(error: atomlearn::Error, method: &Method) -> Failure {
    Failure::usage(format!("{}: {error}", method.key))
}

/// Records of an experiment: those that are there already, and the file that takes new ones.
pub struct Kept<R> {
    /// What the file held before.
    pub known: Vec<R>,
    /// The file, which nobody else writes to while this lives.
    pub file: Option<Appender>,
}

impl<R> Default for Kept<R> {
    fn default() -> Self {
        Kept { known: Vec::new(), file: None }
    }
}

/// Opens a records file; one that holds something is only touched if the user wants to go on with it. Another process that writes
/// to it is waited for.
pub fn kept<R: DeserializeOwned>(
    path: Option<&Path>,
    resume: bool,
    check: impl Fn(&R) -> Result<String, String>,
    console: &Console,
) -> Result<Kept<R>, Failure> {
    let Some(path) = path else { return Ok(Kept::default()) };
    let refuse = || {
        Err(Failure::usage(format!(
            "{} exists already; add --resume to go on with it, or name another file",
            path.display()
        )))
    };
    if !resume && std::fs::metadata(path).is_ok_and(|found| found.len() > 0) {
        return refuse();
    }
    let mut file = Appender::open(path, || {
        console
            .note(&format!("{}: another process is writing records to it; waiting until it is done", path.display()));
        Ok(())
    })?;
    if !resume && !file.is_empty() {
        return refuse();
    }
    if !file.is_locked() {
        let why = "the file system has no locks; let no other process write to this file at the same time";
        console.warn(&format!("{}: {why}", path.display()));
    }
    Ok(Kept { known: file.records(check)?, file: Some(file) })
}
