//! What a partition answers: one pass over its samples.
//!
//! Samples are taken in blocks of fixed size, blocks in parallel; sums over blocks run from first to last, so that the bits
//! do not depend on the number of threads.

use super::chain::{Pulled, Violated};
use super::newton::packed;
use super::request::{Ask, CheckAsk, PullAsk, Request, SvmAsk};
use super::sparse::{SadlCodes, SparseChain};
use super::stats::{Merger, PartialStats};
use super::strip::{self, Features, Strip};
use super::sums::{PullSums, PullsWithSamples, RightSums, ScatterSums};
use crate::classifier::best_class;
use crate::dataset::check_finite;
use crate::linalg::{View, add_lower_outer, mul, select_columns};
use crate::{Error, Result};
use faer::{Mat, MatRef};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};

/// Samples worked on together.
pub(super) const BLOCK: usize = 2048;

/// What a partition remembers between rounds: a few bytes per sample, with SADL its codes. Losing it costs time, never bits.
#[derive(Clone, Debug, Default)]
pub struct Memo {
    /// Class of every sample.
    targets: Option<Vec<u32>>,
    pub(super) violated: Vec<Violated>,
    /// Codes that depend on their predecessors: more than a few bytes.
    codes: Vec<SadlCodes>,
}

/// The answers of all partitions, one after the other, merged; `done` hears of each and may stop the round.
pub(crate) fn answer_in_turn(
    partitions: usize,
    memos: &mut Vec<Memo>,
    mut answer: impl FnMut(usize, &mut Memo) -> Result<PartialStats>,
    mut done: impl FnMut(&PartialStats) -> Result<()>,
) -> Result<PartialStats> {
    memos.resize(partitions, Memo::default());
    let mut merger = Merger::default();
    for (index, memo) in memos.iter_mut().enumerate() {
        let stats = answer(index, memo)?;
        done(&stats)?;
        merger.push(stats)?;
    }
    merger.finish()?.ok_or_else(|| Error::Data("there are no partitions".into()))
}

/// The samples of one partition (features x samples, not preprocessed), and their labels for those rounds that need them.
pub struct Partition<'a> {
    /// Its place among the logical partitions.
    pub index: usize,
    /// The samples.
    pub x: MatRef<'a, f64>,
    /// Reads the labels, one per sample.
    pub labels: &'a (dyn Fn() -> Result<Vec<String>> + Sync),
}

impl Partition<'_> {
    /// Sums what the request asks for.
    pub fn answer(&self, request: &Request, memo: &mut Memo) -> Result<PartialStats> {
        let expected = request.prep.n_features();
        if self.x.nrows() != expected {
            return Err(Error::shape(
                format!("features of the samples in partition {}", self.index),
                format!("{expected}, as in the first"),
                self.x.nrows(),
            ));
        }
        let mut stats = PartialStats::new(request.round, self.index, self.x.ncols());
        match &request.ask {
            Ask::Sum => {
                self.check()?;
                let sums = self.in_blocks(request, &|_, x| column_sums(&x));
                sums.into_iter().for_each(|sum| stats.add("sum", sum));
            }
            Ask::Scatter { center } => {
                let scatters = self.in_blocks(request, &|_, x| scatter(x, center));
                scatters.into_iter().for_each(|sums| sums.put(None, &mut stats));
            }
            Ask::Survey => {
                self.check()?;
                self.survey(request, &mut stats)?;
            }
            Ask::ClassScatter { centers } => {
                let targets = self.targets(request, memo)?;
                self.class_scatters(request, targets, centers, &mut stats);
            }
            Ask::Svm(ask) => self.svm(request, ask, memo, &mut stats)?,
            Ask::Check(ask) => self.check_accuracy(request, ask, memo, &mut stats)?,
            Ask::Sparse(chain) => self.sparse_codes(request, chain, memo, &mut stats)?,
            Ask::Ranges => self.ranges(request, memo, &mut stats)?,
            Ask::Pick(ask) => self.pick(request, ask, memo, &mut stats)?,
            Ask::Gauge(ask) => self.gauge(request, ask, &mut stats),
            Ask::SecondMoments { by_class } => self.second_moments(request, *by_class, memo, &mut stats)?,
        }
        Ok(stats)
    }

    fn check(&self) -> Result<()> {
        if self.x.ncols() == 0 {
            return Err(Error::Data(format!("partition {} has no samples", self.index)));
        }
        check_finite(self.x).map_err(|e| Error::Data(format!("partition {}: {e}", self.index)))
    }

    /// The samples of block `b` after preprocessing.
    fn block(&self, request: &Request, b: usize) -> Mat<f64> {
        request.prep.apply(self.x.subcols(b * BLOCK, BLOCK.min(self.x.ncols() - b * BLOCK)))
    }

    /// Runs `work` on every block; gets the place of the block and its samples.
    pub(super) fn in_blocks<T: Send>(&self, request: &Request, work: &(dyn Fn(usize, Mat<f64>) -> T + Sync)) -> Vec<T> {
        let places = 0..self.x.ncols().div_ceil(BLOCK);
        places.into_par_iter().map(|b| work(b, self.block(request, b))).collect()
    }

    /// The same where sums are too large to hold one for every block: `work` adds one block after the other to a copy of
    /// `empty`, so many of them, and then begins another.
    pub(super) fn in_strips<T: Clone + Send + Sync>(
        &self,
        request: &Request,
        blocks: usize,
        empty: T,
        work: impl Fn(&mut T, usize, Mat<f64>) + Sync,
    ) -> Vec<T> {
        let places: Vec<usize> = (0..self.x.ncols().div_ceil(BLOCK)).collect();
        let run = |strip: &[usize]| {
            let mut sums = empty.clone();
            strip.iter().for_each(|&b| work(&mut sums, b, self.block(request, b)));
            sums
        };
        places.par_chunks(blocks).map(run).collect()
    }

    fn labels(&self) -> Result<Vec<String>> {
        let labels = (self.labels)()?;
        if labels.len() != self.x.ncols() {
            return Err(Error::shape(
                format!("labels of partition {}", self.index),
                format!("one per sample ({})", self.x.ncols()),
                labels.len(),
            ));
        }
        Ok(labels)
    }

    /// The class of every sample, remembered after the first time.
    pub(super) fn targets<'m>(&self, request: &Request, memo: &'m mut Memo) -> Result<&'m [u32]> {
        if memo.targets.as_ref().is_none_or(|held| held.len() != self.x.ncols()) {
            let places: HashMap<&str, u32> =
                request.classes.iter().enumerate().map(|(c, name)| (name.as_str(), c as u32)).collect();
            let place = |label: &String| {
                places.get(label.as_str()).copied().ok_or_else(|| {
                    Error::Data(format!("partition {} has a new label `{label}`: the data changed", self.index))
                })
            };
            memo.targets = Some(self.labels()?.iter().map(place).collect::<Result<_>>()?);
            memo.violated.clear();
            memo.codes.clear();
        }
        Ok(memo.targets.as_deref().unwrap_or_default())
    }

    /// For every label, the sum of its samples with their number behind.
    fn survey(&self, request: &Request, stats: &mut PartialStats) -> Result<()> {
        let labels = self.labels()?;
        let by_label = self.in_blocks(request, &|b, x| {
            let mut sums: BTreeMap<&str, Mat<f64>> = BTreeMap::new();
            for (i, column) in x.col_iter().enumerate() {
                let sum = sums.entry(&labels[b * BLOCK + i]).or_insert_with(|| Mat::zeros(x.nrows() + 1, 1));
                sum.col_mut(0).iter_mut().zip(column.iter()).for_each(|(s, v)| *s += v);
                sum[(x.nrows(), 0)] += 1.0;
            }
            sums
        });
        by_label.into_iter().flatten().for_each(|(label, sum)| stats.add(format!("label.{label}"), sum));
        Ok(())
    }

    fn class_scatters(&self, request: &Request, targets: &[u32], centers: &Mat<f64>, stats: &mut PartialStats) {
        let blocks = self.in_blocks(request, &|_, x| x);
        let m = centers.nrows();
        let of_class = |c: usize| {
            let mut sum = Mat::zeros(m, m);
            let mut rest = Mat::zeros(m, 1);
            for (b, x) in blocks.iter().enumerate() {
                let mine: Vec<usize> = (0..x.ncols()).filter(|&i| targets[b * BLOCK + i] as usize == c).collect();
                if !mine.is_empty() {
                    let centered = centered(select_columns(x, &mine), centers.subcols(c, 1));
                    add_lower_outer(sum.as_mut(), 1.0, &centered);
                    rest += column_sums(&centered);
                }
            }
            ScatterSums { scatter: packed(&sum), rest }
        };
        let sums: Vec<ScatterSums> = (0..centers.ncols()).into_par_iter().map(of_class).collect();
        sums.into_iter().enumerate().for_each(|(c, sums)| sums.put(Some(c), stats));
    }

    fn svm(&self, request: &Request, ask: &SvmAsk, memo: &mut Memo, stats: &mut PartialStats) -> Result<()> {
        let targets = self.targets(request, memo)?.to_vec();
        let n_classes = request.classes.len();
        let known = &memo.violated;
        let strips = self.in_strips(request, strip::blocks(ask), Strip::new(ask), |strip, b, x| {
            let x = x.as_ref();
            let targets: Vec<usize> = targets[b * BLOCK..][..x.ncols()].iter().map(|&c| c as usize).collect();
            let pulled = ask.chain.as_ref().map(|chain| chain.follow(x, &targets, known.get(b)));
            if let Some(pulled) = pulled.as_ref().filter(|_| ask.sums != PullAsk::None) {
                let by_class = ask.sums == PullAsk::CodesByClass;
                strip.add_pulls(pull_sums(x, pulled, &targets, n_classes, by_class));
            }
            let (w, violated) = pulled.map_or((None, None), |pulled| (Some(pulled.w), Some(pulled.violated)));
            let lifted = ask.lift.as_ref().map(|lift| Features::lifted(lift, x, w.as_ref()));
            let features = match &lifted {
                Some(lifted) => Features::new(lifted.as_ref(), None),
                None => Features::new(x, w.as_ref()),
            };
            strip.add_block(&features, &targets, violated);
        });
        memo.violated = strips.into_iter().flat_map(|strip| strip.finish(stats)).collect();
        Ok(())
    }

    fn check_accuracy(
        &self,
        request: &Request,
        ask: &CheckAsk,
        memo: &mut Memo,
        stats: &mut PartialStats,
    ) -> Result<()> {
        let targets = self.targets(request, memo)?.to_vec();
        let right = |map: &Mat<f64>, features: &Features<'_>, targets: &[usize]| {
            let best = best_class(features.scores(&map.transpose().to_owned()));
            best.iter().zip(targets).filter(|(found, target)| found == target).count() as f64
        };
        let counts = self.in_blocks(request, &|b, x| {
            let x = x.as_ref();
            let targets: Vec<usize> = targets[b * BLOCK..][..x.ncols()].iter().map(|&c| c as usize).collect();
            let w = ask.chain.as_ref().map(|chain| chain.follow(x, &targets, memo.violated.get(b)).w);
            let fitted = Features::new(x, w.as_ref());
            let test = Features::new(x, None);
            RightSums { fitted: right(&ask.fitted, &fitted, &targets), test: right(&ask.test, &test, &targets) }
        });
        counts.into_iter().for_each(|right| right.put(stats));
        Ok(())
    }
}

impl Partition<'_> {
    fn sparse_codes(
        &self,
        request: &Request,
        chain: &SparseChain,
        memo: &mut Memo,
        stats: &mut PartialStats,
    ) -> Result<()> {
        let targets = self.targets(request, memo)?.to_vec();
        let known = &memo.codes;
        let blocks = self.in_blocks(request, &|b, x| {
            let x = x.as_ref();
            let targets: Vec<usize> = targets[b * BLOCK..][..x.ncols()].iter().map(|&c| c as usize).collect();
            let codes = chain.follow(x, &targets, known.get(b));
            let sums = codes.sums(x, &targets, request.classes.len());
            (codes, sums)
        });
        memo.codes.clear();
        for (codes, sums) in blocks {
            sums.put(stats);
            memo.codes.push(codes);
        }
        Ok(())
    }
}

fn pull_sums(
    x: MatRef<'_, f64>,
    pulled: &Pulled,
    targets: &[usize],
    n_classes: usize,
    split_by_class: bool,
) -> PullSums {
    let w = &pulled.w;
    let mut by_class = Mat::zeros(n_classes, n_classes);
    for (column, &target) in w.col_iter().zip(targets) {
        by_class.col_mut(target).iter_mut().zip(column.iter()).for_each(|(sum, v)| *sum += v);
    }
    let of_class = |c: usize| {
        let own: Vec<usize> = (0..targets.len()).filter(|&i| targets[i] == c).collect();
        mul(select_columns(w, &own), select_columns(x, &own).transpose())
    };
    let with_samples = if split_by_class {
        PullsWithSamples::ByClass((0..n_classes).map(of_class).collect())
    } else {
        PullsWithSamples::Together(mul(w, x.transpose()))
    };
    PullSums { second: mul(w, w.transpose()), by_class, with_samples }
}

pub(super) fn column_sums(x: impl View) -> Mat<f64> {
    let x = x.view();
    let mut sum = Mat::zeros(x.nrows(), 1);
    for column in x.col_iter() {
        sum.col_mut(0).iter_mut().zip(column.iter()).for_each(|(s, v)| *s += v);
    }
    sum
}

fn centered(mut x: Mat<f64>, center: impl View) -> Mat<f64> {
    let center = center.view();
    x.as_mut().col_iter_mut().for_each(|mut column| column -= center.col(0));
    x
}

fn scatter(x: Mat<f64>, center: &Mat<f64>) -> ScatterSums {
    let x = centered(x, center);
    let mut sum = Mat::zeros(x.nrows(), x.nrows());
    add_lower_outer(sum.as_mut(), 1.0, x.as_ref());
    ScatterSums { scatter: packed(&sum), rest: column_sums(&x) }
}
