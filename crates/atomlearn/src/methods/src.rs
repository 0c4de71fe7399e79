//! SRC: sparse representation classification.
//!
//! The dictionary is the training set, `D = X`. A sample's code is sparse over all of it,
//!
//! ```text
//! penalized:  min_z 1/2 |x - D z|^2 + lambda |z|_1            epsilon:  min_z |z|_1  s.t.  |x - D z| <= epsilon
//! ```
//!
//! and the class with the smallest residual `|x - D_c z_c|` wins. With `occlusion` the code is over `[D I]`, so that an
//! error `e` may explain single features at the same price, and the residual is `|x - e - D_c z_c|`.
//!
//! Steps: 1. store `X`, form `G = X^T X`; 2. per sample solve the lasso to a duality gap of `tolerance * 1/2 |x|^2`
//! (`coding/lasso/`), with a shared inverse where most atoms are in use (`coding/lasso/pivoting.rs`); 3. class residuals from `G` and `D^T x`.
//! Reference: Wright et al., PAMI 2009. Deviations: the penalized form is the default, as in every public toolbox; a zero
//! code is decided by the best single atom, where the paper's rule would be a tie.

use crate::classifier::{AtomKind, Atoms, Header};
use crate::coding::lasso::{LassoCoder, LassoLimits, LassoTask, lasso_with_identity};
use crate::linalg::{column_energies, mul};
use crate::params::{Domain, params, words};
use crate::score::{ClassResiduals, score_by_best_atom};
use crate::{Blocks, Classifier, Dataset, Fit, Observer, Parts, Result, State};
use faer::{Mat, MatRef};

words! {
    /// What a code minimises.
    pub enum Form {
        /// Squared residual and `lambda` times the sum of magnitudes.
        Penalized = "penalized",
        /// The sum of magnitudes, the residual being at most `epsilon`.
        Epsilon = "epsilon",
    }
}

params! {
    /// Parameters of SRC.
    pub struct Src {
        /// What a code minimises: a penalized residual, or the sum of magnitudes within `epsilon`.
        form: Form = Form::Penalized, Domain::OneOf(Form::WORDS);
        /// Weight of the sum of magnitudes against half the squared residual; for the penalized form.
        lambda: f64 = 1e-3, Domain::Positive, grid [1e-4, 1e-3, 5e-3, 1e-2, 5e-2];
        /// Largest norm of the residual; for the epsilon form.
        epsilon: f64 = 0.05, Domain::Positive;
        /// Let an error explain single features, against occlusion and gross corruption.
        occlusion: bool = false, Domain::Flag;
        /// Largest duality gap of a code, as a fraction of half the sample's squared norm.
        tolerance: f64 = 1e-6, Domain::Within(1e-12, 1.0);
    }
}

/// The training set, ready to code against.
pub struct SrcModel {
    header: Header,
    dictionary: Mat<f64>,
    blocks: Blocks,
    coder: LassoCoder,
    residuals: ClassResiduals,
    params: Src,
}

impl Src {
    fn model(&self, classes: Vec<String>, dictionary: Mat<f64>, blocks: Blocks) -> SrcModel {
        let residuals = ClassResiduals::new(&dictionary, &blocks);
        let coder = match self.form {
            Form::Penalized if !self.occlusion => LassoCoder::penalized(&dictionary),
            _ => LassoCoder::plain(dictionary.as_ref()),
        };
        SrcModel {
            header: Header::new(classes, dictionary.nrows(), &["residual"]),
            coder,
            residuals,
            params: self.clone(),
            dictionary,
            blocks,
        }
    }
}

impl Fit for Src {
    type Model = SrcModel;
    const KEY: &'static str = "src";
    const TITLE: &'static str = "Sparse representation (SRC)";
    const PAPER: &'static str =
        "Wright, Yang, Ganesh, Sastry, Ma: Robust face recognition via sparse representation. PAMI 2009";
    const DECISION: &'static [&'static str] = &["form", "lambda", "epsilon", "occlusion", "tolerance"];

    fn learn(&self, train: &Dataset, _: Option<State>, _watch: &mut dyn Observer) -> Result<SrcModel> {
        Ok(self.model(train.classes().to_vec(), train.x().to_owned(), train.blocks().clone()))
    }

    fn restore(&self, mut parts: Parts) -> Result<SrcModel> {
        let (dictionary, blocks) = parts.take_class_atoms("dictionary", None)?;
        Ok(self.model(parts.classes, dictionary, blocks))
    }
}

impl SrcModel {
    /// Codes `z`, the samples without their errors `x - e`, and the correlations `D^T (x - e)`.
    fn code(&self, x: MatRef<'_, f64>) -> (Mat<f64>, Mat<f64>, Mat<f64>) {
        let n_atoms = self.dictionary.ncols();
        let energies: Vec<f64> = column_energies(x);
        let task = match self.params.form {
            Form::Penalized => LassoTask::Penalized(self.params.lambda),
            Form::Epsilon => LassoTask::Within(self.params.epsilon),
        };
        let limits = LassoLimits { tolerance: self.params.tolerance, ..Default::default() };
        let correlations = mul(self.dictionary.transpose(), x);
        if !self.params.occlusion {
            let codes = self.coder.codes(&correlations, &energies, task, limits).codes;
            return (codes.to_dense(), x.to_owned(), correlations);
        }
        let mut both = Mat::zeros(n_atoms + x.nrows(), x.ncols());
        both.subrows_mut(0, n_atoms).copy_from(&correlations);
        both.subrows_mut(n_atoms, x.nrows()).copy_from(x);
        let d = self.dictionary.as_ref();
        let g = self.coder.gram();
        let codes = lasso_with_identity(d, g, both, &energies, task, limits).codes.to_dense();
        let clean = x - codes.subrows(n_atoms, x.nrows());
        let correlations = mul(d.transpose(), &clean);
        (codes.subrows(0, n_atoms).to_owned(), clean, correlations)
    }
}

impl Classifier for SrcModel {
    fn header(&self) -> &Header {
        &self.header
    }

    fn store(&self, parts: &mut Parts) {
        parts.put("dictionary", &self.dictionary);
        parts.put_blocks("atom_counts", &self.blocks);
    }

    fn atoms(&self) -> Option<Atoms<'_>> {
        Some(Atoms { kind: AtomKind::Dictionary, columns: &self.dictionary, classes: Some(&self.blocks) })
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        let (codes, clean, correlations) = self.code(x);
        let mut scores = -self.residuals.of(clean.as_ref(), codes.as_ref(), correlations.as_ref()).squared;
        for i in (0..x.ncols()).filter(|&i| codes.col(i).norm_max() == 0.0) {
            score_by_best_atom(&mut scores, i, &self.blocks, clean.col(i).squared_norm_l2(), correlations.col(i));
        }
        vec![scores]
    }

    fn codes_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        Some(self.code(x).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifier::best_class;
    use crate::synth;

    fn variants() -> [Src; 4] {
        let src = Src { tolerance: 1e-10, ..Src::default() };
        let epsilon = Src { form: Form::Epsilon, ..src.clone() };
        let occluded = Src { occlusion: true, lambda: 0.01, ..src.clone() };
        [src, epsilon.clone(), occluded, Src { occlusion: true, ..epsilon }]
    }

    #[test]
    fn training_samples_are_classified_as_their_own_and_models_come_back_with_equal_bits() {
        let train = synth::blobs(4, 8, 20, 3);
        let fresh = synth::blobs(4, 8, 20, 3).x() + faer::Scale(0.02) * synth::blobs(4, 8, 20, 4).x();
        for src in variants() {
            let model = src.fit(&train, &mut ()).unwrap();
            assert_eq!(model.predict(train.x()).unwrap(), train.targets());
            let again = src.restore(model.parts()).unwrap();
            assert_eq!(model.scores(fresh.as_ref()).unwrap(), again.scores(fresh.as_ref()).unwrap());
        }
    }

    #[test]
    fn residuals_equal_their_definition() {
        let (train, test) = (synth::blobs(3, 6, 9, 1), synth::blobs(3, 5, 9, 2));
        let model = Src::default().fit(&train, &mut ()).unwrap();
        let (codes, scores) = (model.codes_block(test.x()).unwrap(), model.scores(test.x()).unwrap());
        for (c, range) in train.blocks().ranges().enumerate() {
            let fit = mul(train.class(c), codes.subrows(range.start, range.len()));
            for i in 0..15 {
                assert!((scores[(c, i)] + (test.x().col(i) - fit.col(i)).squared_norm_l2()).abs() < 1e-8);
            }
        }
    }

    #[test]
    fn a_common_rotation_changes_nothing() {
        let (train, test) = (synth::blobs(3, 6, 9, 1), synth::blobs(3, 20, 9, 2));
        let (q, _) = crate::linalg::qr(Mat::from_fn(9, 9, |i, j| ((i * 7 + j * j * 3) % 11) as f64 - 5.0));
        let rotated = train.with_features(mul(&q, train.x())).unwrap();
        let src = Src { tolerance: 1e-10, ..Src::default() };
        let scores = src.fit(&train, &mut ()).unwrap().scores(test.x()).unwrap();
        let turned = src.fit(&rotated, &mut ()).unwrap().scores(mul(&q, test.x()).as_ref()).unwrap();
        assert_eq!(best_class(&scores), best_class(&turned));
        assert!((scores - turned).norm_max() < 1e-4);
    }

    #[test]
    fn the_order_of_training_samples_does_not_matter() {
        let (train, test) = (synth::blobs(3, 6, 9, 1), synth::blobs(3, 20, 9, 2));
        let order: Vec<usize> = (0..18).map(|i| (i * 5) % 18).collect();
        let labels: Vec<String> = order.iter().map(|&i| train.targets()[i].to_string()).collect();
        let shuffled = Dataset::new(crate::linalg::select_columns(train.x(), &order), &labels).unwrap();
        let src = Src { tolerance: 1e-10, ..Src::default() };
        let predict = |data: &Dataset| src.fit(data, &mut ()).unwrap().predict(test.x()).unwrap();
        assert_eq!(predict(&train), predict(&shuffled));
    }

    #[test]
    fn a_zero_code_is_decided_by_the_best_atom() {
        let train = synth::blobs(3, 4, 8, 5);
        let model = Src { lambda: 10.0, ..Src::default() }.fit(&train, &mut ()).unwrap();
        assert_eq!(model.codes_block(train.x()).unwrap().norm_max(), 0.0);
        assert_eq!(model.predict(train.x()).unwrap(), train.targets());
        assert!(model.scores(Mat::zeros(8, 1).as_ref()).unwrap().is_all_finite());
    }

    #[test]
    fn occlusion_is_explained_away() {
        let train = synth::blobs(5, 10, 60, 7);
        let mut damaged = train.x().to_owned();
        (0..50).for_each(|i| (0..5).for_each(|k| damaged[((i * 7 + k * 11) % 60, i)] = 1.5));
        let right = |src: Src| {
            let found = src.fit(&train, &mut ()).unwrap().predict(damaged.as_ref()).unwrap();
            found.iter().zip(train.targets()).filter(|(a, b)| **a == *b).count()
        };
        let with = right(Src { occlusion: true, lambda: 0.01, ..Src::default() });
        assert!(with == 50 && with >= right(Src::default()), "{with}");
    }

    #[test]
    fn hostile_parts_are_refused() {
        let with = |rows: usize, sizes: Mat<f64>| {
            let mut parts = Parts::new(vec!["a".into(), "b".into()]);
            parts.put("dictionary", Mat::<f64>::zeros(rows, 4));
            parts.put("atom_counts", sizes);
            Src::default().restore(parts)
        };
        assert!(with(3, faer::mat![[1.0, 3.0]]).is_ok());
        assert!(with(3, faer::mat![[1.0, 4.0]]).is_err() && with(3, faer::mat![[4.0]]).is_err());
    }
}
