//! Training sets in files: which rows make up which partition, and their answers one after the other.
//!
//! A training set is one file or a folder of shards of one kind. Rows of `.npy` files are read one partition at a time,
//! so the files may be of any size; their labels stand beside them, `part-0.labels.npy` beside `part-0.npy`. A shard of any other
//! kind holds its labels itself, is read as a whole and is one partition.

use crate::archive::hex;
use crate::io::{self, NpyRows, RawData, ReadOptions, TableSchema};
use crate::linalg::{concat_columns, select_columns};
use crate::rounds::{Memo, PartialStats, Partition, Request, answer_in_turn};
use crate::{Error, Result};
use faer::Mat;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Values (as 64-bit numbers) of a partition where the user does not say how many there should be.
const USUAL_VALUES: usize = 8 << 20;
/// Copies of its samples that a partition makes while it is worked on, its raw bytes among them.
const COPIES: usize = 4;
/// The same for files that are read as a whole; of tables, whose cells are larger than numbers while they are read, up to 16
/// were measured.
const WHOLE_COPIES: usize = 18;
const LABELS: &str = ".labels.npy";

/// Where the samples of a partition are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    /// Its place among the partitions.
    pub index: usize,
    /// Samples; `None` for a file that is read as a whole and whose length is not known before.
    pub samples: Option<usize>,
    spans: Vec<RowRange>,
}

/// Some rows of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct RowRange {
    file: PathBuf,
    labels: Option<PathBuf>,
    /// First row and number of rows of a `.npy`.
    rows: Option<(usize, usize)>,
    x: Option<String>,
    y: Option<String>,
    /// How the first of several tables became samples; the others follow it.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "shared")]
    table: Option<Arc<TableSchema>>,
}

/// A schema that many pieces share, stored with each.
mod shared {
    use super::{Arc, TableSchema};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(table: &Option<Arc<TableSchema>>, to: S) -> Result<S::Ok, S::Error> {
        table.as_deref().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Arc<TableSchema>>, D::Error> {
        Ok(Option::<TableSchema>::deserialize(from)?.map(Arc::new))
    }
}

/// A training set cut into partitions.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The partitions in order.
    pub pieces: Vec<Piece>,
    /// Features of a sample.
    pub n_features: usize,
    /// Digest of names, sizes and partitions: the same plan on the same files.
    pub digest: String,
    /// How tables become samples: decided on the first shard, or given.
    pub schema: Option<Arc<TableSchema>>,
    /// What was noticed while the first shard was read.
    pub notes: Vec<io::Note>,
    /// Samples of the largest partition; of files that are read as a whole, judged by their lengths and the first of them.
    most_samples: usize,
    copies: usize,
}

impl Plan {
    /// Cuts the data at `path` into partitions. `labels` of `options` may name the label file of a single `.npy`;
    /// without `labelled`, missing labels are no error.
    pub fn new(path: &Path, options: &ReadOptions, partitions: Option<usize>, labeled: bool) -> Result<Self> {
        let files = if path.is_dir() { shards(path)? } else { vec![path.to_path_buf()] };
        Self::of_files(&files, options, partitions, labeled)
    }

    /// The same from a list of shards in order.
    pub fn of_files(
        files: &[PathBuf],
        options: &ReadOptions,
        partitions: Option<usize>,
        labeled: bool,
    ) -> Result<Self> {
        let first = files.first().ok_or_else(|| Error::Data("no data files are named".into()))?;
        if let Some(other) = files.iter().find(|file| kind(file) != kind(first)) {
            return Err(Error::format(other, "shards of different kinds cannot be mixed; convert them to .npy"));
        }
        let (pieces, n_features, first_read) = if kind(first) == "npy" {
            let (pieces, n_features) = in_rows(files, options, partitions, labeled)?;
            (pieces, n_features, None)
        } else {
            whole_files(files, options, partitions)?
        };
        let (schema, notes) = first_read.map_or((None, Vec::new()), |raw| (raw.schema.map(Arc::new), raw.notes));
        let mut digest = Sha256::new();
        let mut lengths = Vec::with_capacity(files.len());
        for file in files {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let length = std::fs::metadata(file).map_err(Error::io(file))?.len();
            digest.update(format!("{name} {length}\n"));
            lengths.push(length);
        }
        digest.update(format!("{} {n_features}", pieces.len()));
        let known = pieces.iter().filter_map(|piece| piece.samples).max().unwrap_or(0);
        let most_samples = if pieces.iter().all(|piece| piece.samples.is_some()) {
            known
        } else {
            let longest = lengths.iter().copied().max().unwrap_or(0);
            (known as u128 * u128::from(longest) / u128::from(lengths[0].max(1))) as usize
        };
        let copies = if kind(first) == "npy" { COPIES } else { WHOLE_COPIES };
        Ok(Plan { pieces, n_features, digest: hex(&digest.finalize()), schema, notes, most_samples, copies })
    }

    /// Bytes that the largest partition takes while it is worked on, as far as it is known before it is read.
    pub fn largest(&self) -> usize {
        self.bytes_of(self.most_samples)
    }

    /// Bytes that a partition of so many samples takes while it is worked on.
    pub fn bytes_of(&self, samples: usize) -> usize {
        8 * self.copies * samples * self.n_features
    }

    /// How many partitions would keep within so many bytes.
    pub fn partitions_within(&self, bytes: usize) -> usize {
        (self.largest() * self.pieces.len()).div_ceil(bytes.max(1))
    }

    /// The answers of all partitions, one after the other, merged; `done` hears of each and may stop the round.
    pub fn answer(
        &self,
        request: &Request,
        memos: &mut Vec<Memo>,
        done: impl FnMut(&PartialStats) -> Result<()>,
    ) -> Result<PartialStats> {
        answer_in_turn(self.pieces.len(), memos, |index, memo| self.pieces[index].answer(request, memo), done)
    }
}

impl Piece {
    /// Reads the samples and sums what the request asks for.
    pub fn answer(&self, request: &Request, memo: &mut Memo) -> Result<PartialStats> {
        if self.spans.iter().all(|span| span.rows.is_some()) {
            let x = self.samples()?;
            let labels = || self.labels();
            return Partition { index: self.index, x: x.as_ref(), labels: &labels }.answer(request, memo);
        }
        let (x, labels) = self.whole()?;
        let labels = || Ok(labels.clone());
        Partition { index: self.index, x: x.as_ref(), labels: &labels }.answer(request, memo)
    }

    /// The samples, features x samples; all of them, whatever `is_train` says.
    pub fn samples(&self) -> Result<Mat<f64>> {
        Ok(self.raw()?.x)
    }

    /// The samples with what their files say beside them; all of them, whatever `is_train` says.
    pub fn raw(&self) -> Result<RawData> {
        let Some(rows) = self.spans.iter().map(|span| span.rows).collect::<Option<Vec<_>>>() else {
            let mut read = self.spans.iter().map(|span| io::read(&span.file, &span.options()));
            // A file that is read as a whole is a piece of its own.
            return read.next().unwrap_or_else(|| Err(Error::Data("a partition without files".into())));
        };
        let files: Vec<NpyRows> = self.spans.iter().map(|span| NpyRows::open(&span.file)).collect::<Result<_>>()?;
        let width = files[0].width();
        let total = rows.iter().map(|(_, count)| count).sum();
        io::limits::check_dense(&self.spans[0].file, "the partition", &[total, width])?;
        let mut samples = Mat::zeros(width, total);
        let mut next = 0;
        for (file, (start, count)) in files.iter().zip(rows) {
            file.read_samples(start, samples.subcols_mut(next, count))?;
            next += count;
        }
        Ok(RawData::new(samples))
    }

    fn labels(&self) -> Result<Vec<String>> {
        let mut all = Vec::new();
        for span in &self.spans {
            let file = span.labels.as_ref().ok_or_else(|| no_labels(&span.file))?;
            let (start, count) = span.rows.unwrap_or_default();
            all.extend(NpyRows::open(file)?.labels(start, count)?);
        }
        Ok(all)
    }

    /// A file read as a whole: its training part with labels.
    fn whole(&self) -> Result<(Mat<f64>, Vec<String>)> {
        let mut parts = Vec::new();
        let mut all = Vec::new();
        for span in &self.spans {
            let raw = io::read(&span.file, &span.options())?;
            let labels = raw.labels.ok_or_else(|| no_labels(&span.file))?;
            let Some(flags) = raw.is_train else {
                parts.push(raw.x);
                all.extend(labels);
                continue;
            };
            let places: Vec<usize> = (0..labels.len()).filter(|&i| flags[i]).collect();
            parts.push(select_columns(&raw.x, &places));
            all.extend(places.iter().map(|&i| labels[i].clone()));
        }
        Ok((joined(parts), all))
    }
}

/// All parts side by side; a single one is not copied.
fn joined(mut parts: Vec<Mat<f64>>) -> Mat<f64> {
    if parts.len() == 1 { parts.remove(0) } else { concat_columns(&parts) }
}

impl RowRange {
    fn options(&self) -> ReadOptions {
        ReadOptions { x: self.x.clone(), y: self.y.clone(), schema: self.table.clone(), ..ReadOptions::default() }
    }
}

fn no_labels(file: &Path) -> Error {
    Error::format(
        file,
        "has no labels; put them beside it (NAME.labels.npy beside NAME.npy), or name them with option `y = NAME`",
    )
}

/// The data files of a folder, by name.
fn shards(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(Error::io(folder))?;
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in entries {
        let path = entry.map_err(Error::io(folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_string();
        let hidden = name.starts_with(['.', '_']) || name.ends_with(LABELS);
        if !hidden && path.is_file() && ["npy", "npz", "csv", "parquet", "xlsx"].contains(&kind(&path)) {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(Error::format(folder, "holds no shards (.npy with .labels.npy beside, .npz, .parquet, .csv)"));
    }
    Ok(files)
}

/// What kind of shard a file is, by its extension.
fn kind(path: &Path) -> &'static str {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let extension = name.strip_suffix(".gz").unwrap_or(&name).rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension {
        "npy" => "npy",
        "npz" => "npz",
        "csv" | "tsv" => "csv",
        "parquet" | "pq" => "parquet",
        "xlsx" => "xlsx",
        _ => "other",
    }
}

/// Partitions of equal size over the rows of all files, as if they were one.
fn in_rows(
    files: &[PathBuf],
    options: &ReadOptions,
    partitions: Option<usize>,
    labeled: bool,
) -> Result<(Vec<Piece>, usize)> {
    let opened: Vec<NpyRows> = files.iter().map(|file| NpyRows::open(file)).collect::<Result<_>>()?;
    let labels: Vec<Option<PathBuf>> = files
        .iter()
        .zip(&opened)
        .map(|(file, rows)| label_file(file, rows, options, labeled, files.len()))
        .collect::<Result<_>>()?;
    let width = opened[0].width();
    if let Some(i) = opened.iter().position(|rows| rows.width() != width) {
        return Err(Error::shape(
            format!("{}: features", files[i].display()),
            format!("{width}, as in {}", files[0].display()),
            opened[i].width(),
        ));
    }
    let total: usize = opened.iter().map(NpyRows::n_rows).sum();
    let count = partitions.unwrap_or_else(|| usual_partitions(total, width));
    if count > total {
        return Err(Error::param("partitions", count, format!("there are only {total} samples")));
    }
    let mut pieces = Vec::with_capacity(count);
    let mut file = 0;
    let mut before = 0;
    for index in 0..count {
        let start = share(total, index, count);
        let end = share(total, index + 1, count);
        let mut spans = Vec::new();
        let mut next = start;
        while next < end {
            let here = opened[file].n_rows() - (next - before);
            let taken = here.min(end - next);
            spans.push(RowRange {
                file: files[file].clone(),
                labels: labels[file].clone(),
                rows: Some((next - before, taken)),
                x: None,
                y: None,
                table: None,
            });
            next += taken;
            if taken == here {
                before += opened[file].n_rows();
                file += 1;
            }
        }
        pieces.push(Piece { index, samples: Some(end - start), spans });
    }
    Ok((pieces, width))
}

/// How many partitions so many samples of so many features are cut into.
pub(super) fn usual_partitions(samples: usize, features: usize) -> usize {
    (samples * features).div_ceil(USUAL_VALUES)
}

/// The first row of partition `index` of `count`.
pub(super) fn share(total: usize, index: usize, count: usize) -> usize {
    (total as u128 * index as u128 / count as u128) as usize
}

fn label_file(
    file: &Path,
    rows: &NpyRows,
    options: &ReadOptions,
    labeled: bool,
    n_files: usize,
) -> Result<Option<PathBuf>> {
    let path = match &options.labels {
        Some(path) if n_files == 1 => path.clone(),
        Some(path) => {
            return Err(Error::format(
                path,
                "one label file cannot serve several shards; put NAME.labels.npy beside each",
            ));
        }
        None => file.with_file_name(format!("{}{LABELS}", file.file_stem().unwrap_or_default().to_string_lossy())),
    };
    if !labeled && !path.exists() {
        return Ok(None);
    }
    if !path.exists() {
        return Err(no_labels(file));
    }
    let labels = NpyRows::open(&path)?;
    if labels.n_rows() != rows.n_rows() || labels.width() != 1 {
        return Err(Error::shape(
            format!("{}: labels", path.display()),
            format!("{} x 1, one per row of {}", rows.n_rows(), file.display()),
            format!("{} x {}", labels.n_rows(), labels.width()),
        ));
    }
    Ok(Some(path))
}

fn whole_files(
    files: &[PathBuf],
    options: &ReadOptions,
    partitions: Option<usize>,
) -> Result<(Vec<Piece>, usize, Option<RawData>)> {
    if let Some(wanted) = partitions.filter(|&wanted| wanted != files.len()) {
        return Err(Error::param(
            "partitions",
            wanted,
            format!("only .npy files can be cut; other shards are one partition each, here {}", files.len()),
        ));
    }
    if let Some(path) = &options.labels {
        return Err(Error::format(path, "a label file goes with .npy only; other shards hold their labels themselves"));
    }
    // What the first table decides holds for all: names, categories, fills, and which column has the labels.
    let first = io::read(&files[0], options)?;
    let table = first.schema.clone().map(Arc::new);
    let span = |file: &PathBuf| RowRange {
        file: file.clone(),
        labels: None,
        rows: None,
        x: options.x.clone(),
        y: options.y.clone(),
        table: table.clone(),
    };
    let piece = |(index, file): (usize, &PathBuf)| Piece { index, samples: None, spans: vec![span(file)] };
    let mut pieces: Vec<Piece> = files.iter().enumerate().map(piece).collect();
    pieces[0].samples = Some(first.x.ncols());
    let n_features = first.x.nrows();
    Ok((pieces, n_features, Some(first)))
}
