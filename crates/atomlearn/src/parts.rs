//! Matrices by name: what models, states and files consist of.

use crate::svm::Svm;
use crate::{Blocks, Error, Result};
use faer::mat::AsMatRef;
use faer::{Mat, MatRef};

/// Named matrices, in the order in which they were put in. What comes out of a file may be hostile: it is taken by name, with its shape
/// checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// Class names, for parts with one entry per class.
    pub classes: Vec<String>,
    /// Whose parts they are, for errors.
    of: &'static str,
    matrices: Vec<(String, Mat<f64>)>,
}

impl Default for Parts {
    fn default() -> Self {
        Parts { classes: Vec::new(), of: "model", matrices: Vec::new() }
    }
}

impl Parts {
    /// No parts yet, of a model of these classes.
    pub fn new(classes: Vec<String>) -> Self {
        Parts { classes, ..Default::default() }
    }

    /// The same parts under another name in errors, and with these classes.
    pub(crate) fn of(self, of: &'static str, classes: Vec<String>) -> Self {
        Parts { of, classes, ..self }
    }

    /// Names and matrices.
    pub fn iter(&self) -> impl Iterator<Item = (&str, MatRef<'_, f64>)> {
        self.matrices.iter().map(|(name, matrix)| (name.as_str(), matrix.as_ref()))
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.matrices.is_empty()
    }

    /// The matrix of this name.
    pub fn get(&self, name: &str) -> Option<MatRef<'_, f64>> {
        self.iter().find(|(held, _)| *held == name).map(|(_, matrix)| matrix)
    }

    /// Puts a matrix in, in place of one of the same name.
    pub fn put(&mut self, name: impl Into<String>, matrix: impl AsMatRef<T = f64, Rows = usize, Cols = usize>) {
        let name = name.into();
        let matrix = matrix.as_mat_ref().to_owned();
        match self.matrices.iter_mut().find(|(held, _)| *held == name) {
            Some((_, held)) => *held = matrix,
            None => self.matrices.push((name, matrix)),
        }
    }

    /// Puts a row of numbers in; [`Parts::take_row`] takes it out.
    pub fn put_row(&mut self, name: &str, row: &[f64]) {
        self.put(name, MatRef::from_row_major_slice(row, 1, row.len()));
    }

    /// Puts the sizes of blocks in; [`Parts::take_blocks`] takes them out.
    pub fn put_blocks(&mut self, name: &str, blocks: &Blocks) {
        let sizes: Vec<f64> = blocks.sizes().map(|size| size as f64).collect();
        self.put_row(name, &sizes);
    }

    /// Puts `svm_weights` and `svm_bias` in; [`Parts::take_svm`] takes them out.
    pub fn put_svm(&mut self, svm: &Svm) {
        self.put("svm_weights", &svm.weights);
        self.put_row("svm_bias", &svm.bias);
    }

    /// Takes a matrix, if it is there.
    pub fn take_if(&mut self, name: &str) -> Option<Mat<f64>> {
        let place = self.matrices.iter().position(|(held, _)| held == name)?;
        Some(self.matrices.remove(place).1)
    }

    /// Takes a matrix of any shape.
    pub fn take(&mut self, name: &str) -> Result<Mat<f64>> {
        self.take_if(name).ok_or_else(|| Error::Data(format!("the {} has no part `{name}`", self.of)))
    }

    /// Takes a matrix that must have exactly this shape; `None` leaves a side open.
    pub fn take_shaped(
        &mut self,
        name: &str,
        rows: impl Into<Option<usize>>,
        cols: impl Into<Option<usize>>,
    ) -> Result<Mat<f64>> {
        let matrix = self.take(name)?;
        check_shape(&format!("{} part `{name}`", self.of), &matrix, rows.into(), cols.into())?;
        Ok(matrix)
    }

    /// Takes a row of numbers, of this length if it is given.
    pub fn take_row(&mut self, name: &str, len: impl Into<Option<usize>>) -> Result<Vec<f64>> {
        Ok(self.take_shaped(name, 1, len)?.row(0).iter().copied().collect())
    }

    /// Takes a row of counts or indices, each at most `largest`.
    pub fn take_whole_row(&mut self, name: &str, len: impl Into<Option<usize>>, largest: usize) -> Result<Vec<usize>> {
        let whole = |v: f64| (v >= 0.0 && v.fract() == 0.0 && v <= largest as f64).then_some(v as usize);
        let row: Option<Vec<usize>> = self.take_row(name, len)?.into_iter().map(whole).collect();
        row.ok_or_else(|| {
            Error::Data(format!("{} part `{name}` is not a list of whole numbers up to {largest}", self.of))
        })
    }

    /// Takes `svm_weights` (dim x classes) and `svm_bias` (1 x classes); `dim` is checked where it is known.
    pub fn take_svm(&mut self, dim: Option<usize>) -> Result<Svm> {
        let weights = self.take_shaped("svm_weights", dim, self.classes.len())?;
        let bias = self.take_row("svm_bias", self.classes.len())?;
        Ok(Svm { weights, bias })
    }

    /// Takes atoms in columns and `atom_counts`, how many of them each class has; `rows` is checked where it is known.
    pub fn take_class_atoms(&mut self, name: &str, rows: impl Into<Option<usize>>) -> Result<(Mat<f64>, Blocks)> {
        let atoms = self.take_shaped(name, rows, None)?;
        let blocks = self.take_blocks("atom_counts", atoms.ncols())?;
        Ok((atoms, blocks))
    }

    /// Takes the sizes of one block per class, which must add up to `total`.
    pub fn take_blocks(&mut self, name: &str, total: usize) -> Result<Blocks> {
        let sizes = self.take_whole_row(name, self.classes.len(), total)?;
        if sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size)) != Some(total) {
            let of = self.of;
            return Err(Error::Data(format!("{of} part `{name}` is not a list of sizes that add up to {total}")));
        }
        Ok(Blocks::from_sizes(sizes))
    }
}

impl IntoIterator for Parts {
    type Item = (String, Mat<f64>);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.matrices.into_iter()
    }
}

impl FromIterator<(String, Mat<f64>)> for Parts {
    /// Each name once.
    fn from_iter<I: IntoIterator<Item = (String, Mat<f64>)>>(parts: I) -> Self {
        Parts { matrices: parts.into_iter().collect(), ..Default::default() }
    }
}

/// Refuses a matrix of another shape; `None` leaves a side open.
pub(crate) fn check_shape(what: &str, matrix: &Mat<f64>, rows: Option<usize>, cols: Option<usize>) -> Result<()> {
    if rows.is_none_or(|rows| rows == matrix.nrows()) && cols.is_none_or(|cols| cols == matrix.ncols()) {
        return Ok(());
    }
    let side = |size: Option<usize>| size.map_or("any".to_string(), |size| size.to_string());
    Err(Error::shape(
        what,
        format!("{} x {}", side(rows), side(cols)),
        format!("{} x {}", matrix.nrows(), matrix.ncols()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Parts {
        Parts::new(vec!["a".into(), "b".into()])
    }

    #[test]
    fn what_was_put_in_is_taken_out_and_names_are_there_once() {
        let svm = Svm { weights: Mat::from_fn(3, 2, |i, c| 0.1 + i as f64 - c as f64), bias: vec![-0.0, 1e-300] };
        let blocks = Blocks::from_sizes([3, 0]);
        let mut parts = empty();
        parts.put("first", Mat::<f64>::zeros(2, 5));
        parts.put_svm(&svm);
        parts.put_blocks("sizes", &blocks);
        parts.put("first", &svm.weights);
        let names: Vec<&str> = parts.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["first", "svm_weights", "svm_bias", "sizes"]);
        assert_eq!(parts.take_blocks("sizes", 3).unwrap(), blocks);
        let back = parts.take_svm(Some(3)).unwrap();
        assert_eq!((back.weights, back.bias), (svm.weights.clone(), svm.bias));
        assert_eq!(parts.take("first").unwrap(), svm.weights);
        assert!(parts.is_empty() && parts.take_if("first").is_none());
    }

    #[test]
    fn hostile_block_sizes_are_refused() {
        let with = |row: &[f64]| {
            let mut parts = empty();
            parts.put_row("sizes", row);
            parts.take_blocks("sizes", 3)
        };
        assert_eq!(with(&[1.0, 2.0]).unwrap().total(), 3);
        for bad in [&[1.0][..], &[1.0, 1.0], &[-1.0, 4.0], &[1.5, 1.5], &[f64::NAN, 3.0], &[1e300, 3.0]] {
            assert!(with(bad).is_err(), "{bad:?}");
        }
    }
}
