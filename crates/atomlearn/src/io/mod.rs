//! Data files in: one function [`read`] for every format.

#[allow(unused_imports)]
use crate::Result;
use faer::Mat;
use std::path::{Path, PathBuf};

/// Which way round a stored matrix lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Samples {
    /// One sample per row.
    Rows,
    /// One sample per column.
    Columns,
}

/// What the user says about a file beyond its path.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Name of the data variable or, for tables, nothing.
    pub x: Option<String>,
    /// Name of the label variable or column.
    pub y: Option<String>,
    /// Orientation, where the file does not settle it.
    pub samples: Option<Samples>,
    /// A second file with the labels (for `.npy`).
    pub labels: Option<PathBuf>,
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
    /// The shape of the images the samples are made of, if known.
    pub image_shape: Option<ImageShape>,
    /// File name or row name of each sample, if the file has them.
    pub names: Option<Vec<String>>,
}

/// One variable of a data file, for `inspect`.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Sizes as stored.
    pub shape: Vec<usize>,
    /// Element type as stored.
    pub kind: String,
}
