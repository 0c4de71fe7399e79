//! ProCRC: the probabilistic collaborative representation based classifier.
//!
//! CRC's code over all training samples, with one more wish: what a class alone reconstructs should be what all classes together do.
//!
//! ```text
//! z = argmin |x - X z|^2 + lambda |z|^2 + gamma / C sum_c |X z - X_c z_c|^2
//! ```
//!
//! The class whose own part `X_c z_c` is nearest to the whole `X z` wins, the most probable one under the paper's Gaussian model.
//! The sum over classes is `(C - 2) X^T X + blockdiag(X_c^T X_c)` in the normal equations, so that with `G = X^T X`
//!
//! ```text
//! z = A^-1 X^T x,      A = (1 + gamma (C - 2) / C) G + gamma / C blockdiag(G_cc) + lambda I.
//! ```
//!
//! Reference: Cai, Zhang, Zuo, Feng: A probabilistic collaborative representation based approach for pattern classification. CVPR 2016.
//! Deviation: the paper tunes both weights by hand. Here `auto` chooses them by exact leave-one-out: without sample `i` row and column `i`
//! leave the system, and with `B = A^-1` and `w = B (G_i - G_ii e_i)` the code over the others is `z = w - (w_i / B_ii) B_i`, so that one
//! inverse gives the codes of all training samples.

use crate::classifier::{AtomKind, Atoms, Header};
use crate::export::{Graph, Tensor};
use crate::linalg::{Spd, add_diagonal, gram, mul};
use crate::loo::choice::{Jury, Verdict, decade, decades, descend, median_square};
use crate::loo::grouped::GroupedFolds;
use crate::params::{Domain, params};
use crate::{Blocks, Classifier, Dataset, Fit, Observer, Parts, Result, State};
use faer::{Mat, MatRef, Scale};

/// The weights where nothing can be chosen.
const LAMBDA: f64 = 1e-3;
const GAMMA: f64 = 1e-2;
/// Powers of ten, times the samples' median square, from which `lambda` is chosen; the way starts at this place.
const POWERS: std::ops::RangeInclusive<i32> = -5..=1;
const USUAL: usize = 2;
/// What `gamma` is chosen from.
const GAMMAS: [f64; 4] = [1e-3, 1e-2, 1e-1, 1.0];

params! {
    /// Parameters of ProCRC.
    pub struct ProCrc {
        /// Weight of the squared norm of the code; `auto` chooses it by exact leave-one-out on the training samples.
        lambda: Option<f64> = None, Domain::Auto(&Domain::Positive), grid [1e-4, 1e-3, 1e-2, 1e-1];
        /// Weight of the wish that classes agree; 0 codes as CRC does; `auto` chooses it like `lambda`.
        gamma: Option<f64> = None, Domain::Auto(&Domain::NonNegative), grid [1e-3, 1e-2, 1e-1, 1.0];
    }
}

/// The training set, ready to code against.
pub struct ProCrcModel {
    header: Header,
    dictionary: Mat<f64>,
    blocks: Blocks,
    /// `A^-1 X^T`: codes straight from samples.
    coder: Mat<f64>,
}

impl ProCrc {
    fn model(&self, classes: Vec<String>, dictionary: Mat<f64>, blocks: Blocks) -> Result<ProCrcModel> {
        let products = gram(&dictionary);
        let system = system(&products, &blocks, self.lambda.unwrap_or(LAMBDA), self.gamma.unwrap_or(GAMMA));
        let coder = Spd::new(system, "ProCRC coder")?.solve(dictionary.transpose());
        Ok(ProCrcModel { header: Header::new(classes, dictionary.nrows(), &["residual"]), dictionary, blocks, coder })
    }

    fn in_words(&self) -> String {
        format!("lambda = {} and gamma = {}", self.lambda.unwrap_or(LAMBDA), self.gamma.unwrap_or(GAMMA))
    }

    /// The best pair of weights: for every `gamma` downhill in `lambda`.
    fn best_weights(&self, train: &Dataset, watch: &mut dyn Observer) -> Option<(f64, f64, Verdict)> {
        if let Some(groups) = train.groups() {
            return self.best_of_groups(train, &GroupedFolds::new(train, groups)?, watch);
        }
        let jury = Jury::new(train)?;
        // Too many samples for their Gram matrix: as if those that are left out in turn were all.
        let train = train.subset(&jury.places).ok()?;
        let products = gram(train.x());
        let lambdas = self.lambda.map_or_else(|| decades(decade(median_square(&train)), POWERS), |given| vec![given]);
        let gammas = self.gamma.map_or(GAMMAS.to_vec(), |given| vec![given]);
        let mut best: Option<(f64, f64, Verdict)> = None;
        let mut usual = USUAL.min(lambdas.len() - 1);
        for gamma in gammas {
            let found = descend(&lambdas, usual, watch, |lambda| {
                let codes = left_out_codes(&products, train.blocks(), lambda, gamma)?;
                jury.verdict(scores(train.x(), train.blocks(), codes.as_ref()))
            });
            if let Some((lambda, verdict)) = found {
                usual = lambdas.iter().position(|&value| value == lambda).unwrap_or(usual);
                if best.is_none_or(|(_, _, held)| verdict.loss < held.loss) {
                    best = Some((lambda, gamma, verdict));
                }
            }
        }
        best
    }

    /// The same in folds of whole groups.
    fn best_of_groups(
        &self,
        train: &Dataset,
        folds: &GroupedFolds,
        watch: &mut dyn Observer,
    ) -> Option<(f64, f64, Verdict)> {
        let lambdas = self.lambda.map_or_else(|| decades(decade(median_square(train)), POWERS), |given| vec![given]);
        let gammas = self.gamma.map_or(GAMMAS.to_vec(), |given| vec![given]);
        let mut best: Option<(f64, f64, Verdict)> = None;
        for gamma in gammas {
            let with = |lambda: f64| ProCrc { lambda: Some(lambda), gamma: Some(gamma) };
            if let Some((lambda, verdict)) = folds.best(&lambdas, USUAL.min(lambdas.len() - 1), watch, with)
                && best.is_none_or(|(_, _, held)| verdict.loss < held.loss)
            {
                best = Some((lambda, gamma, verdict));
            }
        }
        best
    }
}

/// `A`, from the products of the training samples.
fn system(products: &Mat<f64>, blocks: &Blocks, lambda: f64, gamma: f64) -> Mat<f64> {
    let share = gamma / blocks.len() as f64;
    let mut a = Scale(1.0 + share * (blocks.len() as f64 - 2.0)) * products;
    for class in blocks.ranges() {
        for j in class.clone() {
            class.clone().for_each(|i| a[(i, j)] += share * products[(i, j)]);
        }
    }
    add_diagonal(&mut a, lambda);
    a
}

/// The code of every training sample over all others, its own entry zero.
fn left_out_codes(products: &Mat<f64>, blocks: &Blocks, lambda: f64, gamma: f64) -> Result<Mat<f64>> {
    let inverse = Spd::new(system(products, blocks, lambda, gamma), "ProCRC leave-one-out")?.into_inverse();
    let mut codes = mul(&inverse, products);
    for i in 0..codes.ncols() {
        let own = inverse[(i, i)];
        let w_i = codes[(i, i)] - own * products[(i, i)];
        let factor = products[(i, i)] + w_i / own;
        (0..codes.nrows()).for_each(|j| codes[(j, i)] -= factor * inverse[(j, i)]);
        codes[(i, i)] = 0.0;
    }
    Ok(codes)
}

/// `-|X z - X_c z_c|` for every class and code.
fn scores(x: MatRef<'_, f64>, blocks: &Blocks, codes: MatRef<'_, f64>) -> Mat<f64> {
    let whole = mul(x, codes);
    let mut scores = Mat::zeros(blocks.len(), codes.ncols());
    for (c, class) in blocks.ranges().enumerate() {
        let own = mul(x.subcols(class.start, class.len()), codes.subrows(class.start, class.len()));
        let others = &whole - own;
        (0..codes.ncols()).for_each(|i| scores[(c, i)] = -others.col(i).norm_l2());
    }
    scores
}

impl Fit for ProCrc {
    type Model = ProCrcModel;
    const KEY: &'static str = "procrc";
    const TITLE: &'static str = "Probabilistic collaborative representation (ProCRC)";
    const PAPER: &'static str = "Cai, Zhang, Zuo, Feng: A probabilistic collaborative representation based approach for pattern classification. CVPR 2016";
    const LEAVES_GROUPS_OUT: bool = true;
    const CLOSED_FORM: bool = true;

    fn choose(&self, train: &Dataset, watch: &mut dyn Observer) -> Result<Self> {
        if self.lambda.is_some() && self.gamma.is_some() {
            return Ok(self.clone());
        }
        let Some((lambda, gamma, verdict)) = self.best_weights(train, watch) else {
            let chosen = self.fixed();
            let values = chosen.in_words();
            watch.note(&format!("procrc: {values}, since leave-one-out has nothing to choose by"));
            return Ok(chosen);
        };
        let chosen = ProCrc { lambda: Some(lambda), gamma: Some(gamma) };
        let percent = 100.0 * verdict.accuracy;
        let values = chosen.in_words();
        watch.note(&format!("procrc: {values} were chosen by {} (accuracy {percent:.1} %)", verdict.by));
        Ok(chosen)
    }

    fn fixed(&self) -> Self {
        ProCrc { lambda: self.lambda.or(Some(LAMBDA)), gamma: self.gamma.or(Some(GAMMA)) }
    }

    fn learn(&self, train: &Dataset, _: Option<State>, _watch: &mut dyn Observer) -> Result<ProCrcModel> {
        self.model(train.classes().to_vec(), train.x().to_owned(), train.blocks().clone())
    }

    fn restore(&self, mut parts: Parts) -> Result<ProCrcModel> {
        let (dictionary, blocks) = parts.take_class_atoms("dictionary", None)?;
        self.model(parts.classes, dictionary, blocks)
    }
}

impl Classifier for ProCrcModel {
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
        vec![scores(self.dictionary.as_ref(), &self.blocks, mul(&self.coder, x).as_ref())]
    }

    fn codes_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        Some(mul(&self.coder, x))
    }

    /// `X z - X_c z_c` is linear in the sample: one matrix per class.
    fn export(&self, graph: &mut Graph, x: &Tensor) -> Result<Tensor> {
        let codes = graph.times(x, self.coder.transpose());
        let whole = graph.times(&codes, self.dictionary.transpose());
        let squared: Vec<Tensor> = self
            .blocks
            .ranges()
            .map(|class| {
                let of_class = self.coder.subrows(class.start, class.len());
                let codes = graph.times(x, of_class.transpose());
                let own = graph.times(&codes, self.dictionary.subcols(class.start, class.len()).transpose());
                let others = graph.op("Sub", &[&whole, &own]);
                graph.energy(&others)
            })
            .collect();
        let squared = graph.op_with("Concat", &squared.iter().collect::<Vec<_>>(), &[("axis", 1)]);
        let distance = graph.op("Sqrt", &[&squared]);
        Ok(graph.negative(&distance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::select_columns;
    use crate::synth;

    #[test]
    fn leave_one_out_equals_training_without_the_sample() {
        for (per_class, dim) in [(8, 5), (5, 30)] {
            let train = synth::blobs(3, per_class, dim, 3);
            let products = gram(train.x());
            for (lambda, gamma) in [(1e-2, 0.1), (0.3, 1.0), (5.0, 0.0)] {
                let codes = left_out_codes(&products, train.blocks(), lambda, gamma).unwrap();
                let found = scores(train.x(), train.blocks(), codes.as_ref());
                for i in 0..train.n_samples() {
                    let method = ProCrc { lambda: Some(lambda), gamma: Some(gamma) };
                    let model = method.fit(&train.without(i), &mut ()).unwrap();
                    let expected = model.scores(train.x().subcols(i, 1)).unwrap();
                    for c in 0..3 {
                        let (found, expected) = (found[(c, i)], expected[(c, 0)]);
                        assert!((found - expected).abs() < 1e-8 * expected.abs().max(1.0), "{found} {expected}");
                    }
                }
            }
        }
    }

    /// The objective, written from its definition, has a zero gradient at the code: no small step lowers it.
    #[test]
    fn codes_minimise_the_objective() {
        let train = synth::blobs(3, 5, 12, 4);
        let (lambda, gamma) = (0.05, 0.7);
        let model = ProCrc { lambda: Some(lambda), gamma: Some(gamma) }.fit(&train, &mut ()).unwrap();
        let x = Mat::from_fn(12, 1, |i, _| (i as f64).cos());
        let objective = |z: &Mat<f64>| {
            let whole = mul(train.x(), z);
            let agreement: f64 = train
                .blocks()
                .ranges()
                .map(|class| {
                    let places: Vec<usize> = class.clone().collect();
                    let own = mul(select_columns(train.x(), &places).as_ref(), z.subrows(class.start, class.len()));
                    (&whole - own).squared_norm_l2()
                })
                .sum();
            (&x - &whole).squared_norm_l2() + lambda * z.squared_norm_l2() + gamma / 3.0 * agreement
        };
        let z = model.codes_block(x.as_ref()).unwrap();
        let least = objective(&z);
        for k in 0..z.nrows() {
            for step in [-1e-3, 1e-3] {
                let mut moved = z.clone();
                moved[(k, 0)] += step;
                assert!(objective(&moved) > least);
            }
        }
    }
}
