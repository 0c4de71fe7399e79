//! `--views`: samples of which there are several views, in files of their own or as columns of one table.

use crate::args::DataArgs;
use crate::data::{Input, Source};
use crate::failure::Failure;
use atomlearn::io::{RawData, ReadOptions};
use atomlearn::prep::views_text;
use atomlearn::{Error, Mat, NameKind};
use atomlearn_lab::data::digest_bytes;
use std::ops::Range;
use std::path::Path;

/// Between the preprocessing of one view and that of the next.
const BAR: char = '|';
/// Preprocessing of every view where methods are compared and none is given.
const USUAL: &str = "unit";

/// A view of the samples: a name, and its columns, counted from 0.
struct View {
    name: String,
    columns: Vec<Range<usize>>,
}

impl DataArgs {
    /// True if the samples have views.
    pub fn has_views(&self) -> bool {
        !self.views.is_empty()
    }

    /// Groups of columns, as `NAME=COLUMNS`; without them, views are files.
    fn column_groups(&self) -> Result<Vec<(&str, &str)>, Failure> {
        let groups: Vec<(&str, &str)> = self
            .views
            .iter()
            .filter(|word| !Path::new(word).exists())
            .filter_map(|word| word.split_once('='))
            .collect();
        match groups.len() {
            0 => Ok(groups),
            n if n == self.views.len() => Ok(groups),
            _ => Err(Failure::usage(
                "--views: give files (each a view, beside DATA) or groups of columns of DATA (NAME=COLUMNS), not both",
            )),
        }
    }

    /// Refuses views where there is no table of samples to join them to.
    pub fn refuse_views(&self, why: &str) -> Result<(), Failure> {
        if self.has_views() { Err(Failure::usage(format!("--views {why}"))) } else { Ok(()) }
    }

    /// The samples of DATA with those of the other files of `--views` below them.
    pub(crate) fn with_views(&self, first: Source, options: &ReadOptions) -> Result<Source, Failure> {
        if !self.has_views() || !self.column_groups()?.is_empty() {
            return Ok(first);
        }
        let mut sources = vec![first];
        for word in &self.views {
            // What the first file says of labels and orientation holds for the others; their own labels are compared.
            let options = ReadOptions { schema: None, labels: None, groups: None, id: None, ..options.clone() };
            sources.push(Input::open(Path::new(word))?.read_once(&options)?);
        }
        join(sources)
    }

    /// Preprocessing for samples with views: each by its own part of `prep`, or all by the only one, and then put side by side. `own` is
    /// what the method takes where none is given. Without views, `prep` as it is.
    pub fn views_prep(&self, data: &Path, prep: Option<&str>, own: &str) -> Result<Option<String>, Failure> {
        if !self.has_views() || prep.is_some_and(|prep| prep.trim_start().starts_with("views(")) {
            return Ok(prep.map(str::to_string));
        }
        if data == Path::new("-") || data.is_dir() {
            return Err(Failure::usage("--views needs a file of samples: neither stdin nor a folder of images"));
        }
        let views = self.views_of(data)?;
        let given: Vec<&str> = prep.unwrap_or(own).split(BAR).map(str::trim).collect();
        if given.len() != 1 && given.len() != views.len() {
            return Err(Failure::usage(format!(
                "--prep has {} parts, separated by `{BAR}`, but there are {} views; give one for all, or one for each",
                given.len(),
                views.len()
            )));
        }
        let steps = |v: usize| given.get(v).copied().unwrap_or(given[0]);
        let parts = views.iter().enumerate().map(|(v, view)| (view.name.as_str(), &view.columns[..], steps(v)));
        Ok(Some(views_text(parts)))
    }

    /// [`DataArgs::views_prep`] of every one of several texts, or of the usual one if there is none.
    pub fn views_preps(&self, data: &Path, preps: &[String]) -> Result<Vec<String>, Failure> {
        if !self.has_views() {
            return Ok(preps.to_vec());
        }
        let usual = [USUAL.to_string()];
        let texts = if preps.is_empty() { &usual } else { preps };
        let made = |text: &String| Ok(self.views_prep(data, Some(text), USUAL)?.unwrap_or_else(|| text.clone()));
        texts.iter().map(made).collect()
    }

    /// Names and columns of the views.
    fn views_of(&self, data: &Path) -> Result<Vec<View>, Failure> {
        let groups = self.column_groups()?;
        let first = Input::open(data)?.read_once(&self.options())?;
        if !groups.is_empty() {
            return groups.into_iter().map(|(name, columns)| column_group(name, columns, &first)).collect();
        }
        let mut views = vec![(view_name(&first.name), first.raw.x.nrows())];
        for word in &self.views {
            let options = ReadOptions { labels: None, id: None, ..self.options() };
            let source = Input::open(Path::new(word))?.read_once(&options)?;
            views.push((view_name(&source.name), source.raw.x.nrows()));
        }
        let mut start = 0;
        let view = |(v, (name, size)): (usize, &(String, usize))| {
            let columns = start..start + size;
            start += size;
            // Files of one name in two folders.
            let twice = views.iter().filter(|(other, _)| other == name).count() > 1;
            View { name: if twice { format!("{name}-{}", v + 1) } else { name.clone() }, columns: vec![columns] }
        };
        Ok(views.iter().enumerate().map(view).collect())
    }
}

/// The name of a file without its ending, of letters that a name may have.
fn view_name(path: &str) -> String {
    let stem = Path::new(path).file_stem().map_or("view".into(), |stem| stem.to_string_lossy().into_owned());
    stem.chars().map(|c| if c.is_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect()
}

/// `petals=petal_length,petal_width` or `left=1-32`: by names, or by numbers from 1.
fn column_group(name: &str, columns: &str, data: &Source) -> Result<View, Failure> {
    let known = data.raw.feature_names.as_deref().unwrap_or_default();
    let n_features = data.raw.x.nrows();
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for word in columns.split([',', '+']).map(str::trim) {
        // A category stands in several features, `COLUMN=LEVEL`.
        let level = format!("{word}=");
        let named: Vec<usize> =
            (0..known.len()).filter(|&i| known[i] == word || known[i].starts_with(&level)).collect();
        if !named.is_empty() {
            ranges.extend(named.into_iter().map(|i| i..i + 1));
            continue;
        }
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        match (first.trim().parse::<usize>(), last.trim().parse::<usize>()) {
            (Ok(first), Ok(last)) if first > 0 && first <= last && last <= n_features => ranges.push(first - 1..last),
            (Ok(_), Ok(_)) => {
                return Err(Failure::usage(format!(
                    "--views {name}={columns}: `{word}` is not a range within 1-{n_features}, the features of {}",
                    data.name
                )));
            }
            _ => return Err(Error::unknown(NameKind::Column, word, known.iter().map(String::as_str)).into()),
        }
    }
    Ok(View { name: name.to_string(), columns: ranges })
}

/// One below the other; all must be of the same samples in the same order.
fn join(sources: Vec<Source>) -> Result<Source, Failure> {
    let name = sources.iter().map(|source| source.name.as_str()).collect::<Vec<_>>().join(" + ");
    let sha256 =
        digest_bytes(sources.iter().map(|source| source.sha256.as_str()).collect::<Vec<_>>().join("\n").as_bytes());
    let first = &sources[0];
    for other in &sources[1..] {
        check_same_samples(first, other)?;
    }
    if let Some(table) = sources.iter().find(|source| source.raw.schema.is_some()) {
        return Err(Failure::usage(format!(
            "--views: {} is a table, whose columns have names and kinds of their own; put all columns into one table and name \
             groups of them, as in --views petals=petal_length,petal_width",
            table.name
        )));
    }
    let n: usize = sources.iter().map(|source| source.raw.x.nrows()).sum();
    let mut x = Mat::zeros(n, first.raw.x.ncols());
    let mut start = 0;
    for source in &sources {
        x.subrows_mut(start, source.raw.x.nrows()).copy_from(&source.raw.x);
        start += source.raw.x.nrows();
    }
    let Some(Source { raw, .. }) = sources.into_iter().next() else { return Err(Failure::usage("--views: no file")) };
    let raw = RawData {
        labels: raw.labels,
        is_train: raw.is_train,
        names: raw.names,
        ids: raw.ids,
        groups: raw.groups,
        notes: raw.notes,
        ..RawData::new(x)
    };
    Ok(Source { name, sha256, raw })
}

/// Refuses another view of other samples: their number, labels, names and split are compared as far as both have them.
fn check_same_samples(first: &Source, other: &Source) -> Result<(), Failure> {
    let (a, b) = (&first.raw, &other.raw);
    if a.x.ncols() != b.x.ncols() {
        return Err(Failure::bad_file(format!(
            "views must be of the same samples in the same order: {} has {}, {} has {}",
            first.name,
            a.x.ncols(),
            other.name,
            b.x.ncols()
        )));
    }
    let differ = |what: &str, a: &Option<Vec<String>>, b: &Option<Vec<String>>| {
        let (Some(a), Some(b)) = (a, b) else { return Ok(()) };
        let Some(i) = (0..a.len()).find(|&i| a[i] != b[i]) else { return Ok(()) };
        Err(Failure::bad_file(format!(
            "views must be of the same samples in the same order: sample {i} (counted from 0) has the {what} `{}` in {}, but `{}` in {}",
            a[i], first.name, b[i], other.name
        )))
    };
    differ("label", &a.labels, &b.labels)?;
    differ("id", &a.ids, &b.ids)?;
    differ("name", &a.names, &b.names)?;
    match (&a.is_train, &b.is_train) {
        (Some(a), Some(b)) if a != b => {
            Err(Failure::bad_file(format!("{} and {} carry different splits (`is_train`)", first.name, other.name)))
        }
        _ => Ok(()),
    }
}
