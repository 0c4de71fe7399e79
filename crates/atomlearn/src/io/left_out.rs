//! Stand-ins for the readers that a build leaves out, so that their files are refused with what to do.

#[cfg(not(all(feature = "hdf5", feature = "parquet", feature = "xlsx")))]
fn refusal(path: &std::path::Path, files: &str, feature: &str, instead: &str) -> crate::Error {
    let why = format!(
        "this build cannot read {files}; build it with the feature `{feature}` (`--features full` has every format), or \
         save the data as {instead}"
    );
    crate::Error::format(path, why)
}

#[cfg(not(feature = "hdf5"))]
pub(super) mod mat73 {
    use crate::io::{RawData, ReadOptions, Variable};
    use crate::{Error, Result};
    use std::path::Path;

    fn refusal(path: &Path) -> Error {
        super::refusal(path, "HDF5 files, of which MATLAB's v7.3 are a kind", "hdf5", ".mat of version 7, .npz or .csv")
    }

    pub fn read(path: &Path, _: Vec<u8>, _: &ReadOptions) -> Result<RawData> {
        Err(refusal(path))
    }

    pub fn matrices(path: &Path, _: Vec<u8>) -> Result<Vec<(String, faer::Mat<f64>)>> {
        Err(refusal(path))
    }

    pub fn variables(path: &Path, _: Vec<u8>) -> Result<Vec<Variable>> {
        Err(refusal(path))
    }
}

#[cfg(not(feature = "parquet"))]
pub(super) mod parquet {
    use crate::io::{RawData, ReadOptions, Variable};
    use crate::{Error, Result};
    use std::path::Path;

    fn refusal(path: &Path) -> Error {
        super::refusal(path, "Parquet", "parquet", ".csv")
    }

    pub fn read(path: &Path, _: Vec<u8>, _: &ReadOptions) -> Result<RawData> {
        Err(refusal(path))
    }

    pub fn variables(path: &Path, _: Vec<u8>) -> Result<Vec<Variable>> {
        Err(refusal(path))
    }
}

#[cfg(not(feature = "xlsx"))]
pub(super) mod xlsx {
    use crate::Result;
    use crate::io::table::Rows;
    use std::path::Path;

    pub fn rows(path: &Path, _: &[u8]) -> Result<Rows> {
        Err(super::refusal(path, "Excel workbooks", "xlsx", ".csv"))
    }
}
