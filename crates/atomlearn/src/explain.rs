//! Why a sample gets its label: the atoms that take part in its code, and what each class leaves unexplained.

use crate::classifier::{AtomKind, Atoms};
use crate::linalg::{mul, select_columns};
use crate::{Classifier, Mat, MatRef};
use serde::Serialize;

/// How much an atom takes part in a sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AtomUse {
    /// Its number.
    pub atom: usize,
    /// Its number in the code.
    pub code: f64,
    /// `|code| * |atom|` as a share of the sum over all atoms.
    pub share: f64,
}

/// The atoms with the largest share in each prepared sample, largest first; nothing for models without atoms or codes.
pub fn strongest_atoms(model: &dyn Classifier, prepared: MatRef<'_, f64>, most: usize) -> Vec<Vec<AtomUse>> {
    let Some((atoms, codes)) = coded(model, prepared) else { return vec![Vec::new(); prepared.ncols()] };
    let norms: Vec<f64> = atoms.columns.col_iter().map(|atom| atom.norm_l2()).collect();
    let of_sample = |j: usize| {
        let strength: Vec<f64> = norms.iter().enumerate().map(|(k, norm)| codes[(k, j)].abs() * norm).collect();
        let total: f64 = strength.iter().sum();
        let mut order: Vec<usize> = (0..strength.len()).filter(|&k| strength[k] > 0.0).collect();
        order.sort_by(|&a, &b| strength[b].total_cmp(&strength[a]));
        order.truncate(most);
        order.into_iter().map(|atom| AtomUse { atom, code: codes[(atom, j)], share: strength[atom] / total }).collect()
    };
    (0..prepared.ncols()).map(of_sample).collect()
}

/// The share of every class's atoms in each prepared sample, as [`AtomUse::share`] has it; nothing for models whose atoms have no
/// class or no code.
pub fn shares_of_classes(model: &dyn Classifier, prepared: MatRef<'_, f64>) -> Option<Vec<Vec<f64>>> {
    let (atoms, codes) = coded(model, prepared)?;
    let blocks = atoms.classes?;
    let of_sample = |j: usize| {
        let strength = |k: usize| codes[(k, j)].abs() * atoms.columns.col(k).norm_l2();
        let by_class: Vec<f64> = blocks.ranges().map(|range| range.map(strength).sum()).collect();
        let total: f64 = by_class.iter().sum();
        by_class.iter().map(|sum| if total > 0.0 { sum / total } else { 0.0 }).collect()
    };
    Some((0..prepared.ncols()).map(of_sample).collect())
}

/// `|x - D_c z_c|` of every class (rows) and prepared sample (columns), for models whose dictionary has classes.
pub fn class_residuals(model: &dyn Classifier, prepared: MatRef<'_, f64>) -> Option<Mat<f64>> {
    let (atoms, codes) = coded(model, prepared)?;
    let blocks = atoms.classes.filter(|_| atoms.kind == AtomKind::Dictionary)?;
    let mut residuals = Mat::zeros(blocks.len(), prepared.ncols());
    for (c, range) in blocks.ranges().enumerate() {
        let own: Vec<usize> = range.clone().collect();
        let rebuilt = mul(select_columns(atoms.columns, &own), codes.subrows(range.start, range.len()));
        let rest = prepared - rebuilt;
        (0..rest.ncols()).for_each(|j| residuals[(c, j)] = rest.col(j).norm_l2());
    }
    Some(residuals)
}

/// Atoms and codes, where there is one number for each atom.
fn coded<'a>(model: &'a dyn Classifier, prepared: MatRef<'_, f64>) -> Option<(Atoms<'a>, Mat<f64>)> {
    let atoms = model.atoms()?;
    let codes = model.codes_block(prepared).filter(|codes| codes.nrows() == atoms.columns.ncols())?;
    Some((atoms, codes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::crc::{Crc, Residual};
    use crate::{Fit, synth};

    #[test]
    fn shares_add_up_to_one_and_residuals_decide_as_the_model_does() {
        let train = synth::blobs(3, 4, 6, 1);
        let model = Crc { residual: Residual::Plain, ..Default::default() }.fit(&train, &mut ()).unwrap();
        let uses = strongest_atoms(&model, train.x(), usize::MAX);
        for of_sample in &uses {
            assert!((of_sample.iter().map(|of| of.share).sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(of_sample.windows(2).all(|two| two[0].share >= two[1].share));
        }
        let by_class = shares_of_classes(&model, train.x()).unwrap();
        for (shares, of_sample) in by_class.iter().zip(&uses) {
            for (c, range) in model.atoms().unwrap().classes.unwrap().ranges().enumerate() {
                let own: f64 = of_sample.iter().filter(|of| range.contains(&of.atom)).map(|of| of.share).sum();
                assert!((own - shares[c]).abs() < 1e-12);
            }
        }
        let few = strongest_atoms(&model, train.x(), 2);
        assert!(few.iter().zip(&uses).all(|(few, all)| few[..] == all[..2]));
        let residuals = class_residuals(&model, train.x()).unwrap();
        let scores = model.scores(train.x()).unwrap();
        for j in 0..train.n_samples() {
            (0..3).for_each(|c| assert!((residuals[(c, j)].powi(2) + scores[(c, j)]).abs() < 1e-9));
        }
    }
}
