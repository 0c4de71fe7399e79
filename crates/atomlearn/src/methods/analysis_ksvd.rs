//! Analysis K-SVD with a linear SVM on thresholded analysis codes.
//!
//! ```text
//! min sum_i sum_{k in K_i} (w_k^T x_i)^2      s.t. |w_k| = 1,  |K_i| = l
//! ```
//!
//! `X` samples, `Omega` with rows `w_k` to which samples should be orthogonal, `K_i` the cosupport of sample `i`: the `l` rows
//! that it is orthogonal to. From random rows, in turn:
//!
//! 1. cosupports: the `l` rows with the smallest `|w_k^T x_i|` (`pursuit = threshold`, the exact minimiser), or one row after
//!    the other, each the smallest after the sample has lost its part along the rows before (`backward-greedy`, as published);
//! 2. rows: `w_k` moves towards the eigenvector of the smallest eigenvalue of `X_k X_k^T`, `X_k` the samples with `k` in their
//!    cosupport, by steps of inverse iteration: where fewer samples than features leave many, it stays near the row it was.
//!
//! Neither raises the sum, with `pursuit = threshold`. A row that is nearly another is drawn again before the next iteration,
//! which may. A sample's code is `z_k = sign(w_k^T x) max(|w_k^T x| - t, 0)`, with `t` as `threshold` times the root mean square
//! of `Omega X`, and its scores are those of one-vs-rest SVMs on such codes ([`crate::svm`]).
//!
//! Reference: Rubinstein, Peleg, Elad: Analysis K-SVD: a dictionary-learning algorithm for the analysis sparse model. IEEE
//! Transactions on Signal Processing 2013. It denoises; thresholds and SVM are those of analysis dictionaries for
//! classification.
//!
//! Deviations: thresholding as the default pursuit; random rows at the start (published: rows orthogonal to random samples).

use crate::classifier::{AtomKind, Atoms, Header};
use crate::coding::threshold::soft;
use crate::draw::{gaussian, stream};
use crate::export::{Graph, Tensor};
use crate::iterations::{Done, Iterations};
use crate::linalg::{
    Spd, dot, frobenius, gram, mul, normalize_columns, outer_gram, relative_change, select_columns, trace,
};
use crate::params::{Domain, Preset, params, presets, words};
use crate::span::Span;
use crate::svm::{self, Svm};
use crate::{Classifier, Dataset, Error, Fit, Observer, Parts, Result, State};
use faer::{Mat, MatRef};
use rayon::prelude::*;

/// Most rows unless asked for.
const MOST_ROWS: usize = 400;
/// Two rows with a larger inner product count as equal.
const EQUAL: f64 = 0.999;
/// Steps of inverse iteration in an update of a row.
const STEPS: usize = 4;
/// What is added to the diagonal before, as a fraction of the mean eigenvalue.
const SHIFT: f64 = 1e-8;
/// A row that adds less than this to the span of the cosupport is in it already.
const SPANNED: f64 = 1e-10;

words! {
    /// How the cosupport of a sample is found.
    pub enum Pursuit {
        /// The rows with the smallest products.
        Threshold = "threshold",
        /// One row after the other, each for what is left of the sample.
        BackwardGreedy = "backward-greedy",
    }
}

params! {
    /// Parameters of analysis K-SVD.
    pub struct AnalysisKsvd {
        /// Rows of the analysis dictionary; auto: twice the features, or twice the samples where these are fewer, at most 400.
        rows: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// Rows that a sample is made orthogonal to; auto: a tenth of them, and fewer than features for the greedy pursuit.
        cosparsity: Option<usize> = None, Domain::Auto(&Domain::AtLeast(1));
        /// How these are found: by the smallest products, or greedily one after the other, as published.
        pursuit: Pursuit = Pursuit::Threshold, Domain::OneOf(Pursuit::WORDS);
        /// Maximum number of iterations.
        max_iter: usize = 5, Domain::AtLeast(0), grid [0, 5];
        /// Training ends when an iteration changes the rows by less than this, relatively; 0 never ends it early.
        tol: f64 = 1e-3, Domain::NonNegative;
        /// Threshold of the codes, as a multiple of the root mean square of the products of rows and training samples.
        threshold: f64 = 0.25, Domain::NonNegative, grid [0.0, 0.25, 0.5];
        /// Weight of the loss against the squared norm in the SVM.
        theta: f64 = 20.0, Domain::Positive, grid [0.2, 2.0, 20.0, 200.0];
        /// Seed of the random rows.
        seed: u64 = 0, Domain::AtLeast(0);
    }
}

/// An analysis dictionary with SVMs on its thresholded codes.
pub struct AnalysisKsvdModel {
    header: Header,
    /// `Omega^T`: atoms in columns.
    analysis: Mat<f64>,
    /// `t`.
    cut: f64,
    svm: Svm,
}

impl Fit for AnalysisKsvd {
    type Model = AnalysisKsvdModel;
    const KEY: &'static str = "analysis-ksvd";
    const TITLE: &'static str = "Analysis K-SVD with a linear SVM on its codes";
    const PAPER: &'static str = "Rubinstein, Peleg, Elad: Analysis K-SVD: a dictionary-learning algorithm for the analysis sparse model. IEEE Transactions on Signal Processing 2013";
    const PRESETS: &'static [Preset] = presets![Self:
        "thresholding", "the defaults" => {};
        "published", "the greedy pursuit of the paper" => { pursuit: Pursuit::BackwardGreedy, max_iter: 20, tol: 0.0 };
    ];
    const DECISION: &'static [&'static str] = &["threshold", "theta"];
    const CLOSED_FORM: bool = true;
    const ITERATES: bool = true;

    /// The rows are the columns of `w`.
    fn learn(&self, full: &Dataset, from: Option<State>, watch: &mut dyn Observer) -> Result<AnalysisKsvdModel> {
        let span = Span::of(full)?;
        let train = span.train();
        let (rows, cosparsity) = self.sizes(train)?;
        let iterations = Iterations::new(Self::KEY, &from, self.max_iter, self.tol)?;
        let mut w = match from {
            None => self.draw(&span, rows, 0),
            Some(state) => state.into_parts(&[]).take_shaped("rows", train.n_features(), rows)?,
        };
        for iter in iterations.left() {
            let before = w.clone();
            self.replace_equals(&span, &mut w, iter);
            let cosupports = self.cosupports(train.x(), &w, cosparsity);
            w = updated(train.x(), &w, &cosupports)?;

            let products = mul(w.transpose(), train.x());
            let of_sample =
                |(i, rows): (usize, &Vec<usize>)| rows.iter().map(|&k| products[(k, i)].powi(2)).sum::<f64>();
            let terms = [("cosupports", cosupports.iter().enumerate().map(of_sample).sum())];
            let change = relative_change(&w, &before);
            let done = Done {
                terms: &terms,
                change: Some(change),
                model: &|| self.decide(full, span.lift_columns(&w), &mut ()),
                state: &|state| state.with("rows", &w),
            };
            if iterations.report(iter, &done, watch)?.is_break() {
                break;
            }
        }
        self.decide(full, span.lift_columns(&w), watch)
    }

    fn restore(&self, mut parts: Parts) -> Result<AnalysisKsvdModel> {
        let analysis = parts.take("analysis")?;
        let cut = parts.take_shaped("threshold", 1, 1)?[(0, 0)];
        let svm = parts.take_svm(Some(analysis.ncols()))?;
        Ok(AnalysisKsvdModel { header: Header::new(parts.classes, analysis.nrows(), &["svm"]), analysis, cut, svm })
    }

    fn redecide(&self, model: &AnalysisKsvdModel, train: &Dataset) -> Result<AnalysisKsvdModel> {
        self.decide(train, model.analysis.clone(), &mut ())
    }
}

impl AnalysisKsvd {
    /// The number of rows, and how many of them a sample is made orthogonal to.
    fn sizes(&self, train: &Dataset) -> Result<(usize, usize)> {
        let rows = self.rows.unwrap_or((2 * train.n_features()).min(MOST_ROWS));
        let most = match self.pursuit {
            Pursuit::Threshold => rows,
            // A sample orthogonal to as many independent rows as it has features is zero.
            Pursuit::BackwardGreedy => rows.min(train.n_features() - 1),
        };
        let cosparsity = self.cosparsity.unwrap_or((rows / 10).min(most).max(1));
        if cosparsity > rows {
            return Err(Error::param("cosparsity", cosparsity, format!("more than there are rows ({rows})")));
        }
        Ok((rows, cosparsity))
    }

    /// Rows of length one that the samples can see, from the stream of an iteration.
    fn draw(&self, span: &Span<'_>, rows: usize, iter: usize) -> Mat<f64> {
        let drawn = gaussian(&mut stream(self.seed, iter), span.full().n_features(), rows);
        let mut w = span.project_columns(drawn);
        normalize_columns(w.as_mut());
        w
    }

    /// Draws rows again that are nearly another one, from the second iteration on.
    fn replace_equals(&self, span: &Span<'_>, w: &mut Mat<f64>, iter: usize) {
        if iter == 1 {
            return;
        }
        let alike = gram(&*w);
        let twin = |k: &usize| (0..*k).any(|l| alike[(l, *k)].abs() > EQUAL);
        let twins: Vec<usize> = (0..w.ncols()).filter(twin).collect();
        if !twins.is_empty() {
            let fresh = self.draw(span, w.ncols(), iter - 1);
            twins.into_iter().for_each(|k| w.col_mut(k).copy_from(fresh.col(k)));
        }
    }

    /// Step 1.
    fn cosupports(&self, x: MatRef<'_, f64>, w: &Mat<f64>, cosparsity: usize) -> Vec<Vec<usize>> {
        let products = mul(w.transpose(), x);
        let inner = gram(w);
        let of_sample = |i: usize| match self.pursuit {
            Pursuit::Threshold => smallest(products.col_as_slice(i), cosparsity),
            Pursuit::BackwardGreedy => greedy(w, &inner, products.col_as_slice(i), cosparsity),
        };
        (0..x.ncols()).into_par_iter().map(of_sample).collect()
    }

    /// Thresholds and SVMs for these rows.
    fn decide(&self, train: &Dataset, analysis: Mat<f64>, watch: &mut dyn Observer) -> Result<AnalysisKsvdModel> {
        let mut codes = mul(analysis.transpose(), train.x());
        let count = (codes.nrows() * codes.ncols()).max(1) as f64;
        let cut = self.threshold * frobenius(&codes) / count.sqrt();
        soft(codes.as_mut(), cut);
        let tau = 1.0 / self.theta;
        let svm = svm::fit(&codes, &train.targets(), train.n_classes(), tau, None, watch)?;
        Ok(AnalysisKsvdModel {
            header: Header::new(train.classes().to_vec(), analysis.nrows(), &["svm"]),
            analysis,
            cut,
            svm,
        })
    }
}

/// The rows with the `count` smallest magnitudes, ascending; the first of equals.
fn smallest(products: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..products.len()).collect();
    order.sort_by(|&a, &b| products[a].abs().total_cmp(&products[b].abs()));
    order.truncate(count);
    order.sort_unstable();
    order
}

/// Backward greedy pursuit: the row with the smallest product joins, and the sample loses its part along what that row adds to
/// the span of those before.
fn greedy(w: &Mat<f64>, inner: &Mat<f64>, products: &[f64], count: usize) -> Vec<usize> {
    let n_rows = products.len();
    let mut left = products.to_vec();
    let mut chosen: Vec<usize> = Vec::with_capacity(count);
    let mut free: Vec<usize> = (0..n_rows).collect();
    // What the chosen rows add to the span, and the products of all rows with it.
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let mut along: Vec<Vec<f64>> = Vec::new();
    while chosen.len() < count && !free.is_empty() {
        let place =
            (0..free.len()).fold(0, |best, at| if left[free[at]].abs() < left[free[best]].abs() { at } else { best });
        let k = free.remove(place);
        chosen.push(k);
        let mut q = w.col_as_slice(k).to_vec();
        for _ in 0..2 {
            for b in &basis {
                let part = dot(&q, b);
                q.iter_mut().zip(b).for_each(|(q, b)| *q -= part * b);
            }
        }
        let norm = dot(&q, &q).sqrt();
        if norm < SPANNED {
            continue;
        }
        q.iter_mut().for_each(|v| *v /= norm);
        // `W^T q` from inner products of rows alone: `q` is row `k` less its parts along the basis.
        let mut seen: Vec<f64> = (0..n_rows).map(|l| inner[(l, k)]).collect();
        for part in &along {
            let weight = part[k];
            seen.iter_mut().zip(part).for_each(|(s, p)| *s -= weight * p);
        }
        seen.iter_mut().for_each(|s| *s /= norm);
        let share = left[k] / norm;
        left.iter_mut().zip(&seen).for_each(|(l, s)| *l -= share * s);
        basis.push(q);
        along.push(seen);
    }
    chosen.sort_unstable();
    chosen
}

/// Step 2.
fn updated(x: MatRef<'_, f64>, w: &Mat<f64>, cosupports: &[Vec<usize>]) -> Result<Mat<f64>> {
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); w.ncols()];
    cosupports.iter().enumerate().for_each(|(i, rows)| rows.iter().for_each(|&k| members[k].push(i)));
    let row = |k: usize| -> Result<Mat<f64>> {
        let mut row = w.subcols(k, 1).to_owned();
        let scatter = outer_gram(select_columns(x, &members[k]));
        let mean = trace(&scatter) / scatter.nrows() as f64;
        if mean <= 0.0 {
            return Ok(row);
        }
        let factor = Spd::shifted(&scatter, SHIFT * mean, "analysis K-SVD rows")?;
        for _ in 0..STEPS {
            row = factor.solve(&row);
            normalize_columns(row.as_mut());
        }
        Ok(row)
    };
    let rows: Vec<Mat<f64>> = (0..w.ncols()).into_par_iter().map(row).collect::<Result<_>>()?;
    Ok(crate::linalg::concat_columns(&rows))
}

impl AnalysisKsvdModel {
    fn codes(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        let mut codes = mul(self.analysis.transpose(), x);
        soft(codes.as_mut(), self.cut);
        codes
    }
}

impl Classifier for AnalysisKsvdModel {
    fn header(&self) -> &Header {
        &self.header
    }

    fn store(&self, parts: &mut Parts) {
        parts.put("analysis", &self.analysis);
        parts.put_row("threshold", &[self.cut]);
        parts.put_svm(&self.svm);
    }

    fn atoms(&self) -> Option<Atoms<'_>> {
        Some(Atoms { kind: AtomKind::Analysis, columns: &self.analysis, classes: None })
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        vec![self.svm.scores(self.codes(x).as_ref())]
    }

    fn codes_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        Some(self.codes(x))
    }

    fn export(&self, graph: &mut Graph, x: &Tensor) -> Result<Tensor> {
        let products = graph.times(x, &self.analysis);
        let cut = graph.scalar(self.cut);
        let above = graph.op("Sub", &[&products, &cut]);
        let above = graph.positive(&above);
        let mirrored = graph.negative(&products);
        let below = graph.op("Sub", &[&mirrored, &cut]);
        let below = graph.positive(&below);
        let codes = graph.op("Sub", &[&above, &below]);
        Ok(graph.linear(&codes, &self.svm.weights, &self.svm.bias))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{column_energies, column_norms, sym_eig};
    use crate::observe::Trace;
    use crate::synth;

    fn sum(x: MatRef<'_, f64>, w: &Mat<f64>, cosupports: &[Vec<usize>]) -> f64 {
        let products = mul(w.transpose(), x);
        cosupports.iter().enumerate().map(|(i, rows)| rows.iter().map(|&k| products[(k, i)].powi(2)).sum::<f64>()).sum()
    }

    #[test]
    fn no_step_raises_the_sum_and_rows_end_at_the_smallest_eigenvalue() {
        let train = synth::blobs(3, 20, 8, 1);
        let span = Span::of(&train).unwrap();
        let p = AnalysisKsvd { rows: Some(6), cosparsity: Some(3), ..Default::default() };
        let mut w = p.draw(&span, 6, 0);
        let mut held = f64::INFINITY;
        for _ in 0..8 {
            let cosupports = p.cosupports(train.x(), &w, 3);
            // No other choice of three rows has a smaller sum.
            let products = mul(w.transpose(), train.x());
            for (i, rows) in cosupports.iter().enumerate() {
                assert_eq!(rows.len(), 3);
                let most = rows.iter().map(|&k| products[(k, i)].abs()).fold(0.0, f64::max);
                assert!((0..6).all(|k| rows.contains(&k) || products[(k, i)].abs() >= most));
            }
            let now = sum(train.x(), &w, &cosupports);
            assert!(now <= held * (1.0 + 1e-12), "cosupports: {held} -> {now}");
            w = updated(train.x(), &w, &cosupports).unwrap();
            held = sum(train.x(), &w, &cosupports);
            assert!(held <= now * (1.0 + 1e-12), "rows: {now} -> {held}");
            assert!(column_norms(&w).iter().all(|n| (n - 1.0).abs() < 1e-12));
        }
        let cosupports = p.cosupports(train.x(), &w, 3);
        (0..500).for_each(|_| w = updated(train.x(), &w, &cosupports).unwrap());
        for k in 0..6 {
            let members: Vec<usize> = (0..60).filter(|&i| cosupports[i].contains(&k)).collect();
            if members.is_empty() {
                continue;
            }
            let scatter = outer_gram(select_columns(train.x(), &members));
            let (values, _) = sym_eig(&scatter, "t").unwrap();
            let row = w.subcols(k, 1);
            let reached = mul(row.transpose(), mul(&scatter, row))[(0, 0)];
            assert!(reached <= values[7] + 1e-6 * values[0], "{reached} {values:?}");
        }
    }

    /// The greedy pursuit from its definition: products of the projected sample itself.
    #[test]
    fn the_greedy_pursuit_equals_its_definition() {
        let train = synth::blobs(3, 6, 8, 2);
        let span = Span::of(&train).unwrap();
        let p = AnalysisKsvd { pursuit: Pursuit::BackwardGreedy, rows: Some(12), ..Default::default() };
        let w = p.draw(&span, 12, 0);
        let found = p.cosupports(train.x(), &w, 5);
        for (i, found) in found.iter().enumerate() {
            let mut chosen: Vec<usize> = Vec::new();
            for _ in 0..5 {
                let rows = select_columns(&w, &chosen);
                let x = train.x().subcols(i, 1).to_owned();
                let left = if chosen.is_empty() {
                    x
                } else {
                    let along = Spd::new(gram(&rows), "t").unwrap().solve(mul(rows.transpose(), &x));
                    x - mul(&rows, along)
                };
                let products = mul(w.transpose(), &left);
                let best = (0..12)
                    .filter(|k| !chosen.contains(k))
                    .min_by(|&a, &b| products[(a, 0)].abs().total_cmp(&products[(b, 0)].abs()));
                chosen.push(best.unwrap());
            }
            chosen.sort_unstable();
            assert_eq!(found, &chosen);
        }
    }

    /// Where samples leave a subspace to choose from, the row goes to the nearest point of it.
    #[test]
    fn rows_with_few_samples_become_orthogonal_to_them_and_stay_near() {
        let train = synth::blobs(1 + 1, 2, 8, 3);
        let many = synth::blobs(2, 8, 8, 4);
        let w = AnalysisKsvd::default().draw(&Span::of(&many).unwrap(), 1, 0);
        let cosupports = vec![vec![0]; 4];
        let found = updated(train.x(), &w, &cosupports).unwrap();
        assert!(mul(found.transpose(), train.x()).norm_max() < 1e-6);
        let along = Spd::new(gram(train.x()), "t").unwrap().solve(mul(train.x().transpose(), &w));
        let mut nearest = &w - mul(train.x(), along);
        normalize_columns(nearest.as_mut());
        assert!((found - nearest).norm_max() < 1e-6);
    }

    #[test]
    fn equal_rows_are_drawn_anew() {
        let train = synth::blobs(2, 6, 8, 3);
        let span = Span::of(&train).unwrap();
        let p = AnalysisKsvd::default();
        let mut w = p.draw(&span, 5, 0);
        let twin = w.col(1).to_owned();
        w.col_mut(3).iter_mut().zip(twin.iter()).for_each(|(w, t)| *w = -t);
        let before = w.clone();
        p.replace_equals(&span, &mut w, 1);
        assert!(w == before);
        p.replace_equals(&span, &mut w, 2);
        for k in 0..5 {
            assert_eq!(w.col(k) == before.col(k), k != 3, "{k}");
        }
    }

    #[test]
    fn codes_scores_and_options() {
        let train = synth::blobs(4, 12, 18, 4);
        let greedy = AnalysisKsvd { pursuit: Pursuit::BackwardGreedy, ..Default::default() };
        let plain = AnalysisKsvd { threshold: 0.0, ..Default::default() };
        for values in [AnalysisKsvd::default(), plain, greedy, AnalysisKsvd { max_iter: 0, ..Default::default() }] {
            let mut trace = Trace::default();
            let model = values.fit(&train, &mut trace).unwrap();
            let right = model.predict(train.x()).unwrap().iter().zip(train.targets()).filter(|(p, y)| *p == y).count();
            assert!(right * 100 >= 95 * train.n_samples(), "{values:?}: {right}");
            let codes = model.codes_block(train.x()).unwrap();
            let products = mul(model.analysis.transpose(), train.x());
            for i in 0..train.n_samples() {
                for k in 0..products.nrows() {
                    let (z, product) = (codes[(k, i)], products[(k, i)]);
                    let expected = if product.abs() > model.cut { product - model.cut * product.signum() } else { 0.0 };
                    assert!((z - expected).abs() < 1e-12);
                }
            }
            let energies: f64 = column_energies(&products).iter().sum();
            let rms = (energies / (products.nrows() * products.ncols()) as f64).sqrt();
            assert!((model.cut - values.threshold * rms).abs() < 1e-12);
        }
        let refused = AnalysisKsvd { rows: Some(5), cosparsity: Some(6), ..Default::default() }.fit(&train, &mut ());
        assert!(refused.err().unwrap().to_string().starts_with("parameter `cosparsity` = 6"));
    }
}
