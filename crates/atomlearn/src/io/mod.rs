//! Data files in: one function [`read`] for every format.
//!
//! Every reader gives [`RawData`] with samples in columns. Files are not trusted: sizes that a file declares are
//! checked against the bytes it really has before anything is allocated.

mod array;
mod assemble;
mod digits;
#[cfg(feature = "hdf5")]
mod hdf5_source;
mod images;
mod labels;
mod left_out;
mod libsvm;
pub(crate) mod limits;
mod listing;
mod mat5;
#[cfg(feature = "hdf5")]
mod mat73;
#[cfg(feature = "hdf5")]
mod mat73_numbers;
mod npy;
mod npy_rows;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod parquet_check;
pub mod pictures;
mod table;
mod text;
mod write;
mod zip;

pub use digits::digits;
pub use npy_rows::NpyRows;
pub use table::{
    Cell, ColumnKind, Encoded, FeatureColumn, Fill, Impute, Matched, NamedColumn, Note, TablePart, TableSchema,
};
pub use write::write;

#[cfg(not(feature = "hdf5"))]
use left_out::mat73;
#[cfg(not(feature = "parquet"))]
use left_out::parquet;

use crate::{Error, Result};
use faer::Mat;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is said of a file that makes another package panic.
const DAMAGED: &str = "the file is damaged; copy or save it again";
/// How an HDF5 file begins.
const HDF5_SIGNATURE: &[u8] = b"\x89HDF\r\n\x1a\n";

/// Which way round a stored matrix lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orientation {
    /// One sample per row.
    Rows,
    /// One sample per column.
    Columns,
}

/// What the user says about a file beyond its path.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Name of the data variable; tables have none.
    pub x: Option<String>,
    /// Name of the label variable or column (the column's number where a table has no header); `none` for data
    /// without labels.
    pub y: Option<String>,
    /// Orientation, where the file does not settle it.
    pub samples: Option<Orientation>,
    /// A second file with the labels: `.npy`, or text with one label per line.
    pub labels: Option<PathBuf>,
    /// Tables: whether the first row names the columns; decided by what the columns hold if not said.
    pub header: Option<bool>,
    /// Tables: whether the comma is the decimal sign.
    pub decimal_comma: Option<bool>,
    /// Tables: columns to leave out.
    pub drop: Vec<String>,
    /// Tables: the column that says what samples are called.
    pub id: Option<String>,
    /// Name of the variable or column that says which samples belong together (all of one person, for example); it is no feature.
    pub groups: Option<String>,
    /// Name of the variable or column that says how much each sample counts; it is no feature.
    pub weights: Option<String>,
    /// Tables: how missing values are filled; without it they are an error.
    pub impute: Option<Impute>,
    /// Tables: what a model was trained on; columns are then matched to it, and what it decides is not asked again.
    pub schema: Option<Arc<TableSchema>>,
    /// Tables: the samples are to be split before anything is learned from them. Missing values that are to be filled are NaN, and
    /// [`TableSchema::of_part`] fills them and lists categories by what a training part says.
    pub split_later: bool,
    /// Tables: only look. Cells and labels that training would refuse give warnings, and the values are NaN.
    pub lenient: bool,
}

impl ReadOptions {
    /// Refuses what is said about tables where there is none.
    fn check_no_table(&self, path: &Path) -> Result<()> {
        let said = [
            (self.header.is_some(), "header"),
            (self.decimal_comma.is_some(), "decimal"),
            (!self.drop.is_empty(), "drop"),
            (self.id.is_some(), "id"),
            (self.impute.is_some(), "impute"),
        ];
        match said.iter().find(|(said, _)| *said) {
            Some((_, option)) => Err(Error::Data(format!(
                "{}: option `{option}` is for tables, which this is not; leave it out",
                path.display()
            ))),
            None => Ok(()),
        }
    }
}

/// Refuses groups and weights where a file has neither columns nor variables to take them from.
fn check_nothing_beside(path: &Path, options: &ReadOptions) -> Result<()> {
    let refused = |what: &str| {
        let why = format!(
            "{what} are a column of a table or a variable of a .mat or .npz file, and this has neither; leave out \
             option `{what}`"
        );
        Err(Error::Data(format!("{}: {why}", path.display())))
    };
    match (&options.groups, &options.weights) {
        (Some(_), _) => refused("groups"),
        (_, Some(_)) => refused("weights"),
        (None, None) => Ok(()),
    }
}

/// Height and width of the images behind the samples, so that atoms can be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageShape {
    /// Height.
    pub rows: usize,
    /// Width.
    pub cols: usize,
    /// Pixels run down the columns first, as MATLAB stores them.
    pub column_major: bool,
}

/// A data file's content, samples in columns, nothing checked but shapes.
#[derive(Clone, Debug)]
pub struct RawData {
    /// features x samples.
    pub x: Mat<f64>,
    /// One label per sample, integers written without a decimal point.
    pub labels: Option<Vec<String>>,
    /// The given split, if the file carries one.
    pub is_train: Option<Vec<bool>>,
    /// The samples that a feature map was fitted on, where features were learned.
    pub map_saw: Option<Vec<bool>>,
    /// The shape of the images the samples are made of, if known.
    pub image_shape: Option<ImageShape>,
    /// File name or row name of each sample, if the file has them.
    pub names: Option<Vec<String>>,
    /// What a table's id column calls each sample.
    pub ids: Option<Vec<String>>,
    /// Which group each sample belongs to, if groups were asked for.
    pub groups: Option<Vec<String>>,
    /// How much each sample counts, if weights were asked for: numbers that are not negative.
    pub weights: Option<Vec<f64>>,
    /// Names of the features, if the file has them.
    pub feature_names: Option<Vec<String>>,
    /// How a table became samples, for the model that is trained on them.
    pub schema: Option<TableSchema>,
    /// What was noticed while reading.
    pub notes: Vec<Note>,
}

impl RawData {
    /// Samples alone, features x samples.
    pub fn new(x: Mat<f64>) -> Self {
        RawData {
            x,
            labels: None,
            is_train: None,
            map_saw: None,
            image_shape: None,
            names: None,
            ids: None,
            groups: None,
            weights: None,
            feature_names: None,
            schema: None,
            notes: Vec::new(),
        }
    }
}

/// One variable of a data file, for `inspect`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Sizes as stored.
    pub shape: Vec<usize>,
    /// Element type as stored.
    pub kind: String,
}

/// Every kind of file [`read`] understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Mat5,
    Hdf5,
    Npy,
    Npz,
    Table,
    Parquet,
    Libsvm,
}

/// Reads a data file or a folder of images; what `options` leaves open is settled by the usual names and by sizes.
pub fn read(path: &Path, options: &ReadOptions) -> Result<RawData> {
    if path.is_dir() {
        options.check_no_table(path)?;
        check_nothing_beside(path, options)?;
        return images::read(path, options);
    }
    read_bytes(path, load(path)?, options)
}

/// The bytes of a data file, for [`read_bytes`]; one that does not fit into memory is refused.
pub fn load(path: &Path) -> Result<Vec<u8>> {
    limits::read_file(path)
}

/// As [`read`], for a file whose content is in memory already; `path` is what messages call it, and says its kind.
pub fn read_bytes(path: &Path, bytes: Vec<u8>, options: &ReadOptions) -> Result<RawData> {
    let format = format_of(path, &bytes)?;
    if !matches!(format, Format::Table | Format::Parquet) {
        options.check_no_table(path)?;
    }
    match format {
        Format::Mat5 => assemble::assemble(&mat5::Mat5::scan(path, &bytes)?, options),
        Format::Hdf5 => mat73::read(path, bytes, options),
        Format::Npy => assemble::assemble(&npy::Npy::scan(path, &bytes)?, options),
        Format::Npz => assemble::assemble(&npy::Npz::scan(path, &bytes)?, options),
        Format::Table => table::read(path, &bytes, options),
        Format::Parquet => parquet::read(path, bytes, options),
        Format::Libsvm => {
            check_nothing_beside(path, options)?;
            libsvm::read(path, &bytes, options)
        }
    }
}

/// A table of plain text that is in memory already and comes from somebody else: nothing is unpacked, and nothing is made of more
/// than `max_samples` rows (`None`). `name` is what messages call it.
pub fn read_csv(name: &str, bytes: &[u8], options: &ReadOptions, max_samples: usize) -> Result<Option<RawData>> {
    table::read_text(Path::new(name), bytes, options, max_samples)
}

/// The samples of a `.npy` that is in memory already, one per column: a matrix with samples in rows, one sample alone, or a
/// stack of images. `name` is what messages call it.
pub fn read_npy(name: &str, bytes: &[u8]) -> Result<Mat<f64>> {
    let path = Path::new(name);
    let array = npy::parse(path, "the array", bytes)?;
    if array.is_text() {
        return Err(Error::format(path, "the array holds text, not numbers"));
    }
    let (samples, features) = match array.shape[..] {
        [features] => (1, features),
        [samples, features] => (samples, features),
        [samples, rows, cols] if array.row_major => (samples, rows.saturating_mul(cols)),
        _ => {
            return Err(Error::shape(
                format!("{name}: the array"),
                "samples x features, one sample alone, or samples x height x width in C order",
                limits::shape_text(&array.shape),
            ));
        }
    };
    if samples == 0 || features == 0 {
        return Err(Error::format(path, format!("the array is empty ({})", limits::shape_text(&array.shape))));
    }
    let place = |i: usize, j: usize| if array.row_major { j * features + i } else { i * samples + j };
    limits::matrix(path, "the array", (features, samples), bytes.len(), |i, j| array.number(place(i, j)))
}

/// Every vector and matrix of numbers in a `.mat`, `.h5`, `.npy` or `.npz` file, by name, as it is stored; a vector of one size is a
/// column. For files that hold something else than samples.
pub fn read_matrices(path: &Path) -> Result<Vec<(String, Mat<f64>)>> {
    let bytes = load(path)?;
    match format_of(path, &bytes)? {
        Format::Mat5 => assemble::matrices(&mat5::Mat5::scan(path, &bytes)?),
        Format::Hdf5 => mat73::matrices(path, bytes),
        Format::Npy => assemble::matrices(&npy::Npy::scan(path, &bytes)?),
        Format::Npz => assemble::matrices(&npy::Npz::scan(path, &bytes)?),
        _ => Err(Error::format(path, "not a .mat, .npy or .npz file")),
    }
}

/// Lists what a file holds without reading the numbers; tables give one entry per column.
pub fn variables(path: &Path) -> Result<Vec<Variable>> {
    if path.is_dir() {
        return images::variables(path);
    }
    variables_in(path, limits::read_file(path)?)
}

/// As [`variables`], for a file whose content is in memory already.
pub fn variables_in(path: &Path, bytes: Vec<u8>) -> Result<Vec<Variable>> {
    variables_with(path, bytes, &ReadOptions::default())
}

/// As [`variables_in`], with what the user says about the file.
pub fn variables_with(path: &Path, bytes: Vec<u8>, options: &ReadOptions) -> Result<Vec<Variable>> {
    use assemble::Container;
    match format_of(path, &bytes)? {
        Format::Mat5 => Ok(mat5::Mat5::scan(path, &bytes)?.variables().to_vec()),
        Format::Hdf5 => mat73::variables(path, bytes),
        Format::Npy => Ok(npy::Npy::scan(path, &bytes)?.variables().to_vec()),
        Format::Npz => Ok(npy::Npz::scan(path, &bytes)?.variables().to_vec()),
        Format::Table => table::variables(path, &bytes, options),
        Format::Parquet => parquet::variables(path, bytes),
        Format::Libsvm => libsvm::variables(path, &bytes),
    }
}

/// The extension decides, except for `.mat`, whose two kinds only the content tells apart; unknown extensions go by
/// the first bytes.
fn format_of(path: &Path, bytes: &[u8]) -> Result<Format> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let packed = name.strip_suffix(".gz").unwrap_or(&name);
    if [".csv", ".tsv", ".txt", ".data", ".dat"].iter().any(|end| packed.ends_with(end)) {
        return Ok(Format::Table);
    }
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    Ok(match extension.as_str() {
        "npy" => Format::Npy,
        "npz" => Format::Npz,
        "xlsx" | "xlsm" => Format::Table,
        "xls" | "ods" => {
            return Err(Error::format(path, "this kind of workbook cannot be read; save it as .xlsx or .csv"));
        }
        "parquet" | "pq" => Format::Parquet,
        "libsvm" | "svm" | "svmlight" => Format::Libsvm,
        "h5" | "hdf5" => Format::Hdf5,
        "mat" if is_hdf5(bytes) => Format::Hdf5,
        "mat" => Format::Mat5,
        _ if is_hdf5(bytes) => Format::Hdf5,
        _ if bytes.starts_with(b"MATLAB 5") => Format::Mat5,
        _ if bytes.starts_with(npy::MAGIC) => Format::Npy,
        _ if bytes.starts_with(b"PK\x03\x04") => Format::Npz,
        _ if bytes.starts_with(b"PAR1") => Format::Parquet,
        _ => {
            return Err(Error::format(
                path,
                "unknown file format; use .mat, .npz, .npy, .csv, .tsv, .txt, .xlsx, \
                 .parquet, .libsvm, \
                 or a folder with one sub-folder of images per class",
            ));
        }
    })
}

/// HDF5 begins at the start of the file or at 512 times a power of two; MATLAB puts its own header first.
fn is_hdf5(bytes: &[u8]) -> bool {
    let begins = |rest: &[u8]| rest.starts_with(HDF5_SIGNATURE);
    begins(bytes) || (9..16).any(|k| bytes.get(1 << k..).is_some_and(begins))
}
