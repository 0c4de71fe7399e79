//! Starting dictionaries.

use crate::linalg::{concat_columns, dot, normalize_columns};
use crate::pca::pca;
use crate::{Blocks, Dataset, Error, Observer, Result};
use faer::{Mat, MatRef};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// A residual below this fraction of the sample means that the sample is already spanned.
const SPANNED: f64 = 1e-10;
/// Atoms per class where the user leaves it open and the class has that many samples.
pub const USUAL_ATOMS: usize = 10;
/// Atoms that classes share where nothing is said.
const AUTO_SHARED: usize = 5;

/// Class-wise PCA + mean: for each class `K_c - 1` principal directions of its centred samples, then its unit mean.
///
/// A class whose centred rank is too small is filled with its own samples, the worst represented first; a class that
/// cannot fill its share gets fewer atoms, and the observer is told.
pub fn class_pca_mean(train: &Dataset, atoms_per_class: usize, watch: &mut dyn Observer) -> Result<(Mat<f64>, Blocks)> {
    class_pca_mean_of(train, &vec![atoms_per_class; train.n_classes()], watch)
}

/// [`class_pca_mean`] with this many atoms for each class, or the usual number.
pub fn usual_start(
    train: &Dataset,
    atoms_per_class: Option<usize>,
    watch: &mut dyn Observer,
) -> Result<(Mat<f64>, Blocks)> {
    let usual = |samples: usize| atoms_per_class.unwrap_or(samples.min(USUAL_ATOMS));
    class_pca_mean_of(train, &train.blocks().sizes().map(usual).collect::<Vec<_>>(), watch)
}

/// [`class_pca_mean`] with a number of atoms for each class, or as many as suit it.
pub fn class_start(
    train: &Dataset,
    atoms_per_class: Option<usize>,
    watch: &mut dyn Observer,
) -> Result<(Mat<f64>, Blocks)> {
    let (d, atoms) = match atoms_per_class {
        Some(count) => class_pca_mean(train, count, watch)?,
        // Atoms of one class that span all features rebuild every sample, and residuals say nothing.
        None => class_pca_mean(train, USUAL_ATOMS.min(train.n_features() - 1).max(1), &mut ())?,
    };
    if d.ncols() == 0 {
        return Err(Error::Data("all training samples are zero".into()));
    }
    Ok((d, atoms))
}

/// Atoms for all classes together, beside `atoms` of each: principal directions of all samples, then their unit mean; as many as
/// are wanted, or five.
pub fn shared_start(
    train: &Dataset,
    wanted: Option<usize>,
    atoms: &Blocks,
    watch: &mut dyn Observer,
) -> Result<Mat<f64>> {
    // Shared atoms that span all features together with those of a class rebuild every sample, and residuals say nothing.
    let most = train.n_features().saturating_sub(1 + atoms.sizes().max().unwrap_or(0));
    let count = wanted.unwrap_or(AUTO_SHARED.min(most));
    if count == 0 {
        return Ok(Mat::zeros(train.n_features(), 0));
    }
    let shared = class_atoms(train.x(), count)?;
    if shared.ncols() < count {
        watch.warn(&format!("{} shared atoms instead of {count}, the samples span no more", shared.ncols()));
    }
    Ok(shared)
}

/// [`class_pca_mean`] with a number of atoms for each class.
pub fn class_pca_mean_of(train: &Dataset, wanted: &[usize], watch: &mut dyn Observer) -> Result<(Mat<f64>, Blocks)> {
    let classes: Vec<usize> = (0..train.n_classes()).collect();
    let parts: Vec<Mat<f64>> =
        classes.par_iter().map(|&c| class_atoms(train.class(c), wanted[c])).collect::<Result<_>>()?;
    let short: Vec<usize> = classes.into_iter().filter(|&c| parts[c].ncols() < wanted[c]).collect();
    if let Some(&c) = short.first() {
        watch.warn(&format!(
            "{} of {} classes get fewer atoms than asked for, their samples span no more (class `{}`: {} instead of {})",
            short.len(),
            train.n_classes(),
            train.classes()[c],
            parts[c].ncols(),
            wanted[c],
        ));
    }
    let blocks = Blocks::from_sizes(parts.iter().map(Mat::ncols));
    Ok((concat_columns(&parts), blocks))
}

/// Flips the sign of every atom with probability one half.
pub fn flip_signs(atoms: &mut Mat<f64>, seed: u64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for column in atoms.as_mut().col_iter_mut() {
        if rng.random::<bool>() {
            column.iter_mut().for_each(|v| *v = -*v);
        }
    }
}

fn class_atoms(x: MatRef<'_, f64>, wanted: usize) -> Result<Mat<f64>> {
    let directions = pca(x, wanted.saturating_sub(1), "class-wise PCA")?;
    let mut atoms: Vec<Mat<f64>> = vec![directions.basis];
    let mut mean = Mat::from_fn(x.nrows(), 1, |i, _| directions.mean[i]);
    if normalize_columns(mean.as_mut()) == 0 {
        atoms.push(mean);
    }
    let mut all = concat_columns(&atoms);
    fill_with_samples(&mut all, x, wanted);
    Ok(all)
}

/// Appends the sample that the atoms represent worst, normalised, until there are `wanted` atoms or nothing is left.
fn fill_with_samples(atoms: &mut Mat<f64>, x: MatRef<'_, f64>, wanted: usize) {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for j in 0..atoms.ncols() {
        let mut v: Vec<f64> = atoms.col(j).iter().copied().collect();
        deflate(&mut v, &basis);
        push_unit(&mut basis, v);
    }
    while atoms.ncols() < wanted {
        let mut worst: Option<(f64, usize, Vec<f64>)> = None;
        for j in 0..x.ncols() {
            let mut v: Vec<f64> = x.col(j).iter().copied().collect();
            let energy = dot(&v, &v);
            deflate(&mut v, &basis);
            let residual = dot(&v, &v);
            if residual > SPANNED * energy && worst.as_ref().is_none_or(|(held, ..)| residual > *held) {
                worst = Some((residual, j, v));
            }
        }
        let Some((_, j, v)) = worst else { return };
        let mut sample = x.subcols(j, 1).to_owned();
        normalize_columns(sample.as_mut());
        *atoms = concat_columns(&[atoms.clone(), sample]);
        push_unit(&mut basis, v);
    }
}

/// Removes from `v` its part in the span of the orthonormal `basis`; twice, against rounding.
fn deflate(v: &mut [f64], basis: &[Vec<f64>]) {
    for _ in 0..2 {
        for b in basis {
            let along = dot(v, b);
            v.iter_mut().zip(b).for_each(|(x, y)| *x -= along * y);
        }
    }
}

fn push_unit(basis: &mut Vec<Vec<f64>>, mut v: Vec<f64>) {
    let norm = dot(&v, &v).sqrt();
    if norm > SPANNED {
        v.iter_mut().for_each(|x| *x /= norm);
        basis.push(v);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::column_norms;
    use crate::observe::Trace;

    fn dataset(x: Mat<f64>, labels: &[&str]) -> Dataset {
        Dataset::new(&x, &labels.iter().map(|s| s.to_string()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn atoms_are_unit_directions_then_the_mean() {
        let x = Mat::from_fn(4, 6, |i, j| ((i * 7 + j * j * 3) % 11) as f64);
        let data = dataset(x, &["a", "a", "a", "b", "b", "b"]);
        let (d, blocks) = class_pca_mean(&data, 3, &mut ()).unwrap();
        assert_eq!(blocks.sizes().collect::<Vec<_>>(), [3, 3]);
        assert!(column_norms(&d).iter().all(|n| (n - 1.0).abs() < 1e-12));
        let mean = crate::pca::mean(data.class(0));
        let length = dot(&mean, &mean).sqrt();
        assert!((0..4).all(|i| (d[(i, 2)] - mean[i] / length).abs() < 1e-12));
    }

    #[test]
    fn poor_classes_get_samples_or_fewer_atoms_and_never_nan() {
        // Class a: duplicates of one sample. Class b: two samples that cancel in the mean. Class c: one sample.
        let x = Mat::from_fn(3, 6, |i, j| match j {
            0..3 => [1.0, 2.0, 2.0][i],
            3 => [1.0, 0.0, 0.0][i],
            4 => [-1.0, 0.0, 0.0][i],
            _ => [0.0, 0.0, 5.0][i],
        });
        let mut trace = Trace::default();
        let (d, blocks) = class_pca_mean(&dataset(x, &["a", "a", "a", "b", "b", "c"]), 3, &mut trace).unwrap();
        assert_eq!(blocks.sizes().collect::<Vec<_>>(), [1, 1, 1]);
        assert_eq!(trace.warnings.len(), 1);
        assert!(d.is_all_finite() && column_norms(&d).iter().all(|n| (n - 1.0).abs() < 1e-12));
    }
}
