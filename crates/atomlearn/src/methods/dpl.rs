//! DPL: projective dictionary pair learning.
//!
//! ```text
//! J = sum_c |X_c - D_c Z_c|_F^2 + tau |Omega_c X_c - Z_c|_F^2 + lambda |Omega_c Xbar_c|_F^2 + gamma |Omega_c|_F^2
//!     s.t. |d_j| <= 1
//! ```
//!
//! Each class has a synthesis dictionary `D_c` and an analysis dictionary `Omega_c` that projects its samples `X_c`
//! onto their codes `Z_c` and all other samples `Xbar_c` to nearly nothing. Classes are independent. Per iteration:
//!
//! 1. `Omega_c = Z_c F_c`, `F_c = tau X_c^T (tau X_c X_c^T + lambda Xbar_c Xbar_c^T + gamma I)^-1`;
//! 2. `D_c`: least squares with atoms of length at most 1, see [`crate::update::column_ball`];
//! 3. `Z_c = (D_c^T D_c + tau I)^-1 (D_c^T X_c + tau Omega_c X_c)`.
//!
//! `Omega_c` enters training only through `Omega_c X_c = Z_c (F_c X_c)` and two quadratic forms of `Z_c`, so it is
//! formed once, at the end. A sample belongs to the class with the smallest `|x - D_c Omega_c x|`.
//!
//! Reference: Gu, Zhang, Zuo, Feng: Projective dictionary pair learning for pattern classification. NIPS 2014.
//!
//! Deviations: `gamma`, a stabiliser there, is part of the objective; the dictionary step returns the feasible iterate
//! (the published code: the other one); training may stop before `max_iter` by `tol`.

use crate::classifier::{AtomKind, Atoms, Header};
use crate::draw::ClassDraws;
use crate::export::{Graph, Tensor};
use crate::iterations::{Done, Iterations, objective, relative_decrease};
use crate::linalg::{Spd, add_diagonal, concat_columns, gram, mul, normalize_columns, outer_gram};
use crate::observe::unless_resumed;
use crate::params::{Domain, Preset, params, presets};
use crate::score::RidgeResiduals;
use crate::span::Span;
use crate::update::classwise_map::{ClassWeights, ClasswiseMap};
use crate::update::column_ball::column_ball_ls;
use crate::{Blocks, Classifier, Dataset, Fit, Observer, Parts, Result, State};
use faer::{Mat, MatRef};
use rayon::prelude::*;

params! {
    /// Parameters of DPL.
    pub struct Dpl {
        /// Weight of the fit of the projections to the codes.
        tau: f64 = 0.05, Domain::Positive, grid [1e-2, 5e-2, 0.2];
        /// Weight of the projections of other classes.
        lambda: f64 = 3e-3, Domain::NonNegative, grid [1e-4, 1e-3, 3e-3, 1e-2, 3e-2];
        /// Ridge on the analysis dictionary.
        gamma: f64 = 1e-4, Domain::NonNegative, grid [1e-5, 1e-4, 1e-3];
        /// Atoms per class; `auto` is as many as it has samples.
        atoms_per_class: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// Maximum number of iterations.
        max_iter: usize = 20, Domain::AtLeast(1), grid [5, 20];
        /// Training ends when an iteration lowers the objective by less than this, relatively; 0 never ends it early.
        tol: f64 = 1e-4, Domain::NonNegative;
        /// Seed of the random start.
        seed: u64 = 0, Domain::AtLeast(0);
    }
}

/// The learned pairs of dictionaries.
pub struct DplModel {
    header: Header,
    dictionary: Mat<f64>,
    /// `Omega^T`: atoms in columns.
    analysis: Mat<f64>,
    residuals: RidgeResiduals,
}

impl DplModel {
    /// From dictionaries, synthesis and analysis.
    pub(super) fn new(classes: Vec<String>, [dictionary, analysis]: [Mat<f64>; 2], atoms: &Blocks) -> Self {
        let residuals = RidgeResiduals::with_map(&dictionary, atoms, analysis.transpose());
        DplModel { header: Header::new(classes, dictionary.nrows(), &["residual"]), dictionary, analysis, residuals }
    }

    /// From the parts of a model file.
    pub(super) fn take(parts: &mut Parts) -> Result<Self> {
        let dictionary = parts.take("dictionary")?;
        let analysis = parts.take_shaped("analysis", dictionary.nrows(), dictionary.ncols())?;
        let atoms = parts.take_blocks("atom_counts", dictionary.ncols())?;
        Ok(DplModel::new(parts.classes.clone(), [dictionary, analysis], &atoms))
    }

    /// `Omega^T`.
    pub(super) fn analysis(&self) -> &Mat<f64> {
        &self.analysis
    }

    pub(super) fn n_atoms(&self) -> usize {
        self.dictionary.ncols()
    }
}

/// One class during training.
pub(super) struct Pair {
    /// `F_c`.
    map: Mat<f64>,
    /// `F_c X_c`: `Omega_c X_c = Z_c (F_c X_c)`.
    own: Mat<f64>,
    /// `F_c Xbar_c Xbar_c^T F_c^T`: `|Omega_c Xbar_c|^2 = tr(Z_c . Z_c^T)`.
    other: Mat<f64>,
    /// `F_c F_c^T`: `|Omega_c|^2 = tr(Z_c . Z_c^T)`.
    size: Mat<f64>,
    pub(super) dictionary: Mat<f64>,
    /// The codes that define `Omega_c = Z_c F_c`; before the first step, there is none.
    pub(super) projecting: Mat<f64>,
    pub(super) codes: Mat<f64>,
}

/// What changes of a [`Pair`].
pub(super) struct Learned {
    dictionary: Mat<f64>,
    projecting: Mat<f64>,
    codes: Mat<f64>,
}

/// Puts all that changes into a state.
pub(super) fn store(pairs: &[Pair], state: State) -> State {
    pairs.iter().enumerate().fold(state, |state, (c, pair)| {
        let state = state.with(format!("dictionary.{c}"), &pair.dictionary);
        let state = state.with(format!("projecting.{c}"), &pair.projecting);
        state.with(format!("codes.{c}"), &pair.codes)
    })
}

impl Fit for Dpl {
    type Model = DplModel;
    const KEY: &'static str = "dpl";
    const TITLE: &'static str = "Projective dictionary pair learning (DPL)";
    const PAPER: &'static str =
        "Gu, Zhang, Zuo, Feng: Projective dictionary pair learning for pattern classification. NIPS 2014";
    const PRESETS: &'static [Preset] = presets![Self:
        "eyaleb", "Extended Yale B, as printed in the paper; the defaults" => {};
        "ar", "AR, as printed in the paper" => { lambda: 5e-3 };
        "caltech101", "Caltech101, as printed in the paper" => { lambda: 1e-4 };
        "ucf50", "UCF50, as printed in the paper" => { lambda: 1e-2, tau: 1e-2, atoms_per_class: Some(50) };
    ];
    const CLOSED_FORM: bool = true;
    const ITERATES: bool = true;

    fn learn(&self, train: &Dataset, from: Option<State>, watch: &mut dyn Observer) -> Result<DplModel> {
        let span = Span::of(train)?;
        let seen = span.train();
        let atoms = Blocks::from_sizes(train.blocks().sizes().map(|n| self.atoms_per_class.unwrap_or(n)));
        let finish = |pairs: &[Pair]| -> Result<DplModel> {
            let all = |part: &dyn Fn(&Pair) -> Mat<f64>| {
                let columns = concat_columns(&pairs.iter().map(part).collect::<Vec<_>>());
                span.lift_columns(&columns)
            };
            let learned = [all(&|pair| pair.dictionary.clone()), all(&Pair::analysis)];
            Ok(DplModel::new(train.classes().to_vec(), learned, &atoms))
        };

        let iterations = Iterations::new(Self::KEY, &from, self.max_iter, self.tol)?;
        let maps = self.maps(seen, unless_resumed(&from, watch, &mut ()))?;
        let (mut pairs, mut held) = match from {
            None => {
                let mut draws = ClassDraws::within(&span, self.seed);
                (self.start(seen, &maps, &atoms, &mut draws)?, f64::INFINITY)
            }
            Some(state) => {
                let held = state.value("held")?;
                (self.restore_pairs(seen, &maps, &atoms, &mut state.into_parts(train.classes()))?, held)
            }
        };
        for iter in iterations.left() {
            pairs.par_iter_mut().enumerate().try_for_each(|(c, pair)| {
                pair.projecting = pair.codes.clone();
                pair.update_dictionary(seen.class(c))?;
                self.update_codes(pair, seen.class(c))
            })?;
            let terms = self.terms(seen, &pairs);
            let objective = objective(&terms);
            let change = relative_decrease(held, objective);
            let done = Done {
                terms: &terms,
                change: Some(change),
                model: &|| finish(&pairs),
                state: &|state| store(&pairs, state.with_value("held", objective)),
            };
            if iterations.report(iter, &done, watch)?.is_break() {
                break;
            }
            held = objective;
        }
        finish(&pairs)
    }

    fn restore(&self, mut parts: Parts) -> Result<DplModel> {
        DplModel::take(&mut parts)
    }
}

impl Dpl {
    /// What stays fixed of all classes.
    pub(super) fn maps<'a>(&self, train: &'a Dataset, watch: &mut dyn Observer) -> Result<ClasswiseMap<'a>> {
        let weights = ClassWeights { own: self.tau, other: self.lambda, ridge: self.gamma };
        ClasswiseMap::new(train, weights, "DPL projections", watch)
    }

    /// Random `D_c` and `Omega_c` with atoms of length 1, then the first codes.
    pub(super) fn start(
        &self,
        train: &Dataset,
        maps: &ClasswiseMap<'_>,
        atoms: &Blocks,
        draws: &mut ClassDraws<'_>,
    ) -> Result<Vec<Pair>> {
        let drawn: Vec<[Mat<f64>; 2]> = (0..atoms.len())
            .map(|c| {
                [(); 2].map(|()| {
                    let mut drawn = draws.atoms(c, atoms.size(c));
                    normalize_columns(drawn.as_mut());
                    drawn
                })
            })
            .collect();
        let pair = |(c, [dictionary, analysis]): (usize, [Mat<f64>; 2])| {
            let x = train.class(c);
            let codes = self.code_step(&dictionary, x, mul(analysis.transpose(), x))?;
            Ok(self.pair(train, maps, c, Learned { dictionary, projecting: codes.clone(), codes }))
        };
        drawn.into_par_iter().enumerate().map(pair).collect()
    }

    /// What was learned of a class, with all that stays fixed.
    fn pair(&self, train: &Dataset, maps: &ClasswiseMap<'_>, c: usize, learned: Learned) -> Pair {
        let map = faer::Scale(self.tau) * maps.own(c);
        let own = mul(&map, train.class(c));
        let other = outer_gram(mul(&map, train.x())) - outer_gram(&own);
        let size = outer_gram(&map);
        let Learned { dictionary, projecting, codes } = learned;
        Pair { map, own, other, size, dictionary, projecting, codes }
    }

    /// The counterpart of [`store`].
    pub(super) fn restore_pairs(
        &self,
        train: &Dataset,
        maps: &ClasswiseMap<'_>,
        atoms: &Blocks,
        parts: &mut Parts,
    ) -> Result<Vec<Pair>> {
        let mut of_class = |c: usize| {
            let (size, samples) = (atoms.size(c), train.blocks().size(c));
            Ok(Learned {
                dictionary: parts.take_shaped(&format!("dictionary.{c}"), train.n_features(), size)?,
                projecting: parts.take_shaped(&format!("projecting.{c}"), size, samples)?,
                codes: parts.take_shaped(&format!("codes.{c}"), size, samples)?,
            })
        };
        let learned: Vec<Learned> = (0..atoms.len()).map(&mut of_class).collect::<Result<_>>()?;
        Ok(learned.into_par_iter().enumerate().map(|(c, learned)| self.pair(train, maps, c, learned)).collect())
    }

    /// Step 3 of one class.
    fn update_codes(&self, pair: &mut Pair, x: MatRef<'_, f64>) -> Result<()> {
        pair.codes = self.code_step(&pair.dictionary, x, pair.projections())?;
        Ok(())
    }

    /// `(D^T D + tau I)^-1 (D^T X + tau P)` with the projections `P = Omega X`.
    pub(super) fn code_step(
        &self,
        dictionary: &Mat<f64>,
        x: MatRef<'_, f64>,
        projections: Mat<f64>,
    ) -> Result<Mat<f64>> {
        let mut system = gram(dictionary);
        add_diagonal(&mut system, self.tau);
        let right = mul(dictionary.transpose(), x) + faer::Scale(self.tau) * projections;
        Ok(Spd::new(system, "DPL codes")?.solve(&right))
    }

    /// The terms of `J`, summed over classes in class order.
    pub(super) fn terms(&self, train: &Dataset, pairs: &[Pair]) -> [(&'static str, f64); 4] {
        let of_class = |(c, pair): (usize, &Pair)| {
            let rest = train.class(c) - mul(&pair.dictionary, &pair.codes);
            let gap = pair.projections() - &pair.codes;
            [
                rest.squared_norm_l2(),
                self.tau * gap.squared_norm_l2(),
                self.lambda * pair.form(&pair.other),
                self.gamma * pair.form(&pair.size),
            ]
        };
        sum_terms(&pairs.par_iter().enumerate().map(of_class).collect::<Vec<_>>())
    }
}

/// The terms of all classes from those of each.
pub(super) fn sum_terms(classes: &[[f64; 4]]) -> [(&'static str, f64); 4] {
    let sum = |t: usize| classes.iter().map(|terms| terms[t]).sum::<f64>();
    [("reconstruction", sum(0)), ("projection", sum(1)), ("other classes", sum(2)), ("ridge", sum(3))]
}

impl Pair {
    /// `Omega_c^T = F_c^T Z_c^T`, atoms in columns.
    pub(super) fn analysis(&self) -> Mat<f64> {
        mul(self.map.transpose(), self.projecting.transpose())
    }

    /// `Omega_c X_c`.
    pub(super) fn projections(&self) -> Mat<f64> {
        mul(&self.projecting, &self.own)
    }

    /// `tr(Z A Z^T)` with the codes that define `Omega_c`.
    fn form(&self, a: &Mat<f64>) -> f64 {
        let za = mul(&self.projecting, a);
        let column =
            |j: usize| -> f64 { za.col(j).iter().zip(self.projecting.col(j).iter()).map(|(a, b)| a * b).sum() };
        (0..za.ncols()).map(column).sum::<f64>().max(0.0)
    }

    /// Step 2.
    pub(super) fn update_dictionary(&mut self, x: MatRef<'_, f64>) -> Result<()> {
        let start = std::mem::replace(&mut self.dictionary, Mat::zeros(0, 0));
        let cross = mul(x, self.codes.transpose());
        let gram = outer_gram(&self.codes);
        self.dictionary = column_ball_ls(cross.as_ref(), gram.as_ref(), start, "DPL dictionary")?;
        Ok(())
    }
}

impl Classifier for DplModel {
    fn header(&self) -> &Header {
        &self.header
    }

    fn store(&self, parts: &mut Parts) {
        parts.put("dictionary", &self.dictionary);
        parts.put("analysis", &self.analysis);
        parts.put_blocks("atom_counts", self.residuals.blocks());
    }

    fn atoms(&self) -> Option<Atoms<'_>> {
        Some(Atoms { kind: AtomKind::Dictionary, columns: &self.dictionary, classes: Some(self.residuals.blocks()) })
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        vec![-self.residuals.of(x).squared]
    }

    fn codes_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        Some(mul(self.analysis.transpose(), x))
    }

    fn export(&self, graph: &mut Graph, x: &Tensor) -> Result<Tensor> {
        let residuals = self.residuals.export(graph, x);
        Ok(graph.negative(&residuals.squared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{column_norms, outer_gram};
    use crate::observe::Trace;
    use crate::synth;

    fn objective(dpl: &Dpl, train: &Dataset, pairs: &[Pair]) -> f64 {
        dpl.terms(train, pairs).iter().map(|term| term.1).sum()
    }

    #[test]
    fn no_step_raises_the_objective_and_each_keeps_its_promise() {
        let train = synth::blobs(3, 12, 10, 1);
        let dpl = Dpl { atoms_per_class: Some(5), ..Default::default() };
        let atoms = Blocks::from_sizes([5; 3]);
        let mut pairs =
            dpl.start(&train, &dpl.maps(&train, &mut ()).unwrap(), &atoms, &mut ClassDraws::new(3, 10, 0)).unwrap();
        let mut held = f64::INFINITY;
        let mut falls = |pairs: &[Pair]| {
            let now = objective(&dpl, &train, pairs);
            assert!(now <= held + 1e-6 * now, "{held} -> {now}");
            held = now;
        };
        for _ in 0..8 {
            pairs.iter_mut().for_each(|pair| pair.projecting = pair.codes.clone());
            falls(&pairs);
            (0..3).for_each(|c| pairs[c].update_dictionary(train.class(c)).unwrap());
            falls(&pairs);
            assert!(pairs.iter().all(|p| column_norms(&p.dictionary).iter().all(|n| *n <= 1.0 + 1e-12)));
            (0..3).for_each(|c| dpl.update_codes(&mut pairs[c], train.class(c)).unwrap());
            falls(&pairs);
        }
    }

    #[test]
    fn projections_solve_their_normal_equations_and_terms_their_definition() {
        let train = synth::blobs(3, 7, 9, 2);
        let dpl = Dpl::default();
        let atoms = Blocks::from_sizes([7; 3]);
        let pairs =
            dpl.start(&train, &dpl.maps(&train, &mut ()).unwrap(), &atoms, &mut ClassDraws::new(3, 9, 0)).unwrap();
        let mut expected = [0.0; 4];
        for (c, pair) in pairs.iter().enumerate() {
            let omega = pair.analysis().transpose().to_owned();
            let own = outer_gram(train.class(c));
            let other = outer_gram(train.x()) - &own;
            let mut system = faer::Scale(dpl.tau) * own + faer::Scale(dpl.lambda) * other;
            (0..9).for_each(|i| system[(i, i)] += dpl.gamma);
            let right = faer::Scale(dpl.tau) * mul(&pair.codes, train.class(c).transpose());
            assert!((mul(&omega, &system) - right).norm_max() < 1e-8);
            let all = mul(&omega, train.x());
            let range = train.blocks().range(c);
            let own = all.subcols(range.start, range.len());
            let rest = train.class(c) - mul(&pair.dictionary, &pair.codes);
            expected[0] += rest.squared_norm_l2();
            expected[1] += dpl.tau * (own - &pair.codes).squared_norm_l2();
            expected[2] += dpl.lambda * (all.squared_norm_l2() - own.squared_norm_l2());
            expected[3] += dpl.gamma * omega.squared_norm_l2();
        }
        for (term, expected) in dpl.terms(&train, &pairs).iter().zip(expected) {
            assert!((term.1 - expected).abs() < 1e-9 * (1.0 + expected), "{}: {} {expected}", term.0, term.1);
        }
    }

    #[test]
    fn classes_are_separated_in_energy_and_residual() {
        let train = synth::blobs(4, 20, 15, 3);
        let mut trace = Trace::default();
        let model = Dpl { atoms_per_class: Some(4), ..Default::default() }.fit(&train, &mut trace).unwrap();
        assert!(trace.steps.windows(2).all(|w| w[1].objective <= w[0].objective.map(|j| j * (1.0 + 1e-6))));
        let codes = model.codes_block(train.x()).unwrap();
        let (mut own, mut other) = (0.0, 0.0);
        for (i, &y) in train.targets().iter().enumerate() {
            for c in 0..4 {
                let energy = codes.submatrix(4 * c, i, 4, 1).squared_norm_l2();
                if c == y { own += energy } else { other += energy / 3.0 }
            }
        }
        assert!(own > 3.0 * other, "{own} {other}");
        let right = model.predict(train.x()).unwrap().iter().zip(train.targets()).filter(|(p, y)| *p == y).count();
        assert!(right * 100 >= 95 * train.n_samples(), "{right}");
    }

    #[test]
    fn wide_data_unequal_classes_and_more_atoms_than_samples_are_fine() {
        let wide = synth::blobs(3, 4, 60, 4);
        let names: Vec<String> = [0, 0, 0, 0, 1, 1, 1, 1, 2, 1, 0, 0].iter().map(|c: &i32| c.to_string()).collect();
        let train = Dataset::new(wide.x(), &names).unwrap();
        for atoms_per_class in [None, Some(9)] {
            let model = Dpl { atoms_per_class, ..Default::default() }.fit(&train, &mut ()).unwrap();
            let expected = atoms_per_class.map_or(12, |k| 3 * k);
            assert_eq!(model.dictionary.shape(), (60, expected));
            assert!(model.scores(train.x()).unwrap().is_all_finite());
        }
    }
}
