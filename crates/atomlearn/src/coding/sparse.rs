//! Codes with few non-zero entries, sample by sample.

use crate::{Error, Parts, Result, State};
use faer::Mat;

/// Sparse codes (atoms x samples), stored by sample: each has its atoms, in the order they were chosen, and values.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseCodes {
    n_atoms: usize,
    ends: Vec<usize>,
    atoms: Vec<usize>,
    values: Vec<f64>,
}

impl SparseCodes {
    /// No samples yet, over `n_atoms` atoms.
    pub fn new(n_atoms: usize) -> Self {
        SparseCodes { n_atoms, ends: Vec::new(), atoms: Vec::new(), values: Vec::new() }
    }

    /// Appends a sample with these atoms (all below [`SparseCodes::n_atoms`]) and values.
    pub fn push(&mut self, atoms: &[usize], values: &[f64]) {
        debug_assert!(atoms.len() == values.len() && atoms.iter().all(|&k| k < self.n_atoms));
        self.atoms.extend_from_slice(atoms);
        self.values.extend_from_slice(values);
        self.ends.push(self.atoms.len());
    }

    /// Appends all samples of `other`, which must be over the same atoms.
    pub fn append(&mut self, other: &SparseCodes) {
        (0..other.n_samples()).for_each(|i| {
            let (atoms, values) = other.sample(i);
            self.push(atoms, values);
        });
    }

    /// The codes of these samples, in this order.
    pub fn select(&self, samples: &[usize]) -> SparseCodes {
        let mut selected = SparseCodes::new(self.n_atoms);
        for &i in samples {
            let (atoms, values) = self.sample(i);
            selected.push(atoms, values);
        }
        selected
    }

    /// Number of atoms.
    pub fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    /// Number of samples.
    pub fn n_samples(&self) -> usize {
        self.ends.len()
    }

    /// Number of stored entries of all samples.
    pub fn n_entries(&self) -> usize {
        self.atoms.len()
    }

    /// Calls `work` with the atom of every stored entry, sample by sample.
    pub fn each_atom(&self, work: impl FnMut(usize)) {
        self.atoms.iter().copied().for_each(work);
    }

    /// Sum of the magnitudes of all entries.
    pub fn magnitudes(&self) -> f64 {
        self.values.iter().map(|v| v.abs()).sum()
    }

    /// Atoms and values of sample `i`.
    pub fn sample(&self, i: usize) -> (&[usize], &[f64]) {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        (&self.atoms[start..self.ends[i]], &self.values[start..self.ends[i]])
    }

    /// Values of sample `i`, to be changed while its atoms stay.
    pub fn values_mut(&mut self, i: usize) -> &mut [f64] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &mut self.values[start..self.ends[i]]
    }

    /// Puts the codes into a state; [`SparseCodes::restore`] takes them out.
    pub(crate) fn store(&self, state: State) -> State {
        let starts = std::iter::once(&0).chain(&self.ends);
        let counts: Vec<f64> = self.ends.iter().zip(starts).map(|(end, start)| (end - start) as f64).collect();
        let atoms: Vec<f64> = self.atoms.iter().map(|&k| k as f64).collect();
        state.with_row("code_counts", &counts).with_row("code_atoms", &atoms).with_row("code_values", &self.values)
    }

    /// Codes of so many samples over `n_atoms` atoms.
    pub(crate) fn restore(parts: &mut Parts, n_atoms: usize, n_samples: usize) -> Result<Self> {
        let values = parts.take_row("code_values", None)?;
        let atoms = parts.take_whole_row("code_atoms", values.len(), n_atoms.saturating_sub(1))?;
        let counts = parts.take_whole_row("code_counts", n_samples, values.len())?;
        let mut end = 0usize;
        let ends: Vec<usize> = counts.into_iter().map(|count| (end = end.saturating_add(count), end).1).collect();
        if end != values.len() || (n_atoms == 0 && end > 0) {
            return Err(Error::Data(format!("state part `code_counts` does not add up to {} entries", values.len())));
        }
        Ok(SparseCodes { n_atoms, ends, atoms, values })
    }

    /// The same codes, atoms x samples, with all their zeros.
    pub fn to_dense(&self) -> Mat<f64> {
        let mut dense = Mat::zeros(self.n_atoms, self.n_samples());
        for i in 0..self.n_samples() {
            let (atoms, values) = self.sample(i);
            atoms.iter().zip(values).for_each(|(&k, &v)| dense[(k, i)] = v);
        }
        dense
    }
}

/// Reference codes made by scikit-learn, see `tests/data/make_sparse_codes.py`.
#[cfg(test)]
pub(crate) fn golden(name: &str) -> Mat<f64> {
    let text = include_str!("../../tests/data/sparse_codes.csv");
    let line = text.lines().find(|line| line.split(',').next() == Some(name)).unwrap();
    let numbers: Vec<f64> = line.split(',').skip(1).map(|v| v.parse().unwrap()).collect();
    let rows = numbers[0] as usize;
    let cols = numbers[1] as usize;
    Mat::from_fn(rows, cols, |i, j| numbers[2 + j * rows + i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_form_has_every_entry_in_place() {
        let mut codes = SparseCodes::new(3);
        codes.push(&[2, 0], &[1.5, -1.0]);
        codes.push(&[], &[]);
        let mut more = SparseCodes::new(3);
        more.push(&[1], &[4.0]);
        codes.append(&more);
        codes.values_mut(2)[0] *= 2.0;
        assert_eq!((codes.n_samples(), codes.n_entries(), codes.sample(1)), (3, 3, (&[][..], &[][..])));
        assert_eq!(codes.to_dense(), faer::mat![[-1.0, 0.0, 0.0], [0.0, 0.0, 8.0], [1.5, 0.0, 0.0]]);
    }
}
