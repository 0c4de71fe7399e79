//! Rows of a `.npy` file that is too large to be read as a whole.

use super::{array::Array, labels, limits, npy::NpyHeader};
use crate::{Error, Result};
use faer::MatMut;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Values read at a time.
const CHUNK: usize = 1 << 17;
const CHANGED: &str = "the file changed while it was being read";

/// A stored array, one sample or label per row; only its header has been read.
#[derive(Clone, Debug)]
pub struct NpyRows {
    path: PathBuf,
    n_rows: usize,
    /// Elements per row.
    width: usize,
}

impl NpyRows {
    /// Reads the header and checks the file's length against it.
    pub fn open(path: &Path) -> Result<Self> {
        let (header, length) = header(path)?;
        let (n_rows, width) = match header.shape[..] {
            [n_rows] => (n_rows, 1),
            [n_rows, width] if !header.fortran || width == 1 => (n_rows, width),
            [_, _] => {
                return Err(Error::format(
                    path,
                    "the array is in Fortran order, so its rows cannot be read one by one; write it again with \
                     numpy.save(file, numpy.ascontiguousarray(array))",
                ));
            }
            _ => {
                return Err(Error::shape(
                    format!("{}: the array", path.display()),
                    "samples x features",
                    limits::shape_text(&header.shape),
                ));
            }
        };
        let size = header.element_size(path, "the array")? as u64;
        let needed = (n_rows as u64).checked_mul(width as u64).and_then(|count| count.checked_mul(size));
        if needed.and_then(|bytes| bytes.checked_add(header.data as u64)).is_none_or(|bytes| bytes > length) {
            return Err(Error::format(path, "the array ends too early; the file is incomplete, copy or save it again"));
        }
        if n_rows == 0 || width == 0 {
            return Err(Error::format(path, format!("the array is empty ({})", limits::shape_text(&header.shape))));
        }
        Ok(NpyRows { path: path.into(), n_rows, width })
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Elements per row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The rows from `start` on as samples, features x samples, as many as `samples` has columns.
    pub fn read_samples(&self, start: usize, mut samples: MatMut<'_, f64>) -> Result<()> {
        if samples.nrows() != self.width {
            return Err(Error::format(&self.path, CHANGED));
        }
        // A little at a time: large buffers that come and go cost more than the reading itself.
        let step = (CHUNK / self.width).max(1);
        let count = samples.ncols();
        for from in (0..count).step_by(step) {
            let rows = step.min(count - from);
            let array = self.read(start + from, rows)?;
            if array.is_text() {
                return Err(Error::format(&self.path, "the array holds text, not numbers"));
            }
            let values = array.numbers();
            let part = samples.as_mut().subcols_mut(from, rows);
            for (column, row) in part.col_iter_mut().zip(values.chunks_exact(self.width)) {
                column.iter_mut().zip(row).for_each(|(target, value)| *target = *value);
            }
        }
        Ok(())
    }

    /// Rows `start..start + count` as labels.
    pub fn labels(&self, start: usize, count: usize) -> Result<Vec<String>> {
        // Rows are stored as they are, so that the file cannot hold more of them than its size says.
        Ok(labels::from_array(&self.path, "labels", &self.read(start, count)?, None, usize::MAX)?.text)
    }

    /// The header is read again, so that a file that was replaced meanwhile is noticed.
    fn read(&self, start: usize, count: usize) -> Result<Array> {
        let (header, _) = header(&self.path)?;
        let same = header.shape.first() == Some(&self.n_rows) && header.shape.get(1).unwrap_or(&1) == &self.width;
        if !same || start.checked_add(count).is_none_or(|end| end > self.n_rows) {
            return Err(Error::format(&self.path, CHANGED));
        }
        limits::check_dense(&self.path, "the rows", &[count, self.width])?;
        let row = header.element_size(&self.path, "the array")? * self.width;
        let mut bytes = limits::filled(&self.path, "the rows", row * count, 0)?;
        let mut file = File::open(&self.path).map_err(Error::io(&self.path))?;
        file.seek(SeekFrom::Start((header.data + row * start) as u64)).map_err(Error::io(&self.path))?;
        file.read_exact(&mut bytes).map_err(Error::io(&self.path))?;
        header.array(&self.path, "the rows", vec![count, self.width], bytes)
    }
}

fn header(path: &Path) -> Result<(NpyHeader, u64)> {
    let file = File::open(path).map_err(Error::io(path))?;
    let length = file.metadata().map_err(Error::io(path))?.len();
    let mut start = Vec::new();
    file.take(NpyHeader::LONGEST).read_to_end(&mut start).map_err(Error::io(path))?;
    Ok((NpyHeader::parse(path, "the array", &start)?, length))
}
