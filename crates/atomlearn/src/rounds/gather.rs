//! What a partition tells of its samples before sums over them can be formed: their ranges, some of them, and how they spread; and plain
//! second moments after a map.

use super::answer::{BLOCK, Memo, Partition, column_sums};
use super::newton::packed;
use super::request::{GaugeAsk, PickAsk, Request};
use super::stats::PartialStats;
use super::sums::{GaugeSums, MomentSums, Picked, Ranges};
use crate::Result;
use crate::linalg::{add_lower_product, select_columns};
use faer::Mat;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Fewest blocks whose second moments are summed one after the other.
const FEWEST: usize = 8;

/// The same for equal samples, and hardly ever for others.
pub(crate) fn sample_hash(x: impl Iterator<Item = f64>) -> u64 {
    let mut hash = DefaultHasher::new();
    // Adding zero makes minus zero plus zero.
    x.for_each(|v| (v + 0.0).to_bits().hash(&mut hash));
    hash.finish()
}

impl Partition<'_> {
    /// Number of samples of each class, and the range of every feature.
    pub(super) fn ranges(&self, request: &Request, memo: &mut Memo, stats: &mut PartialStats) -> Result<()> {
        let mut counts = vec![0.0; request.classes.len()];
        self.targets(request, memo)?.iter().for_each(|&c| counts[c as usize] += 1.0);
        let ranges = self.in_blocks(request, &|_, x| Ranges {
            low: Mat::from_fn(x.nrows(), 1, |i, _| x.row(i).iter().fold(f64::INFINITY, |low, &v| low.min(v))),
            high: Mat::from_fn(x.nrows(), 1, |i, _| x.row(i).iter().fold(f64::NEG_INFINITY, |high, &v| high.max(v))),
        });
        ranges.into_iter().for_each(|ranges| ranges.put(stats));
        Ranges::put_counts(self.index, &counts, stats);
        Ok(())
    }

    /// The samples that are asked for.
    pub(super) fn pick(
        &self,
        request: &Request,
        ask: &PickAsk,
        memo: &mut Memo,
        stats: &mut PartialStats,
    ) -> Result<()> {
        let targets = self.targets(request, memo)?;
        let mut of_class = vec![Vec::new(); request.classes.len()];
        targets.iter().enumerate().for_each(|(i, &c)| of_class[c as usize].push(i));
        let picked: Vec<usize> =
            ask.of(self.index).filter_map(|(class, rank)| of_class.get(class)?.get(rank).copied()).collect();
        if picked.is_empty() {
            return Ok(());
        }
        let raw = select_columns(self.x, &picked);
        let hashes = raw.col_iter().map(|x| sample_hash(x.iter().copied())).collect();
        Picked { samples: request.prep.apply(&raw), places: picked, hashes }.put(self.index, stats);
        Ok(())
    }

    /// Squares of features about a centre, and how many samples equal each of some.
    pub(super) fn gauge(&self, request: &Request, ask: &GaugeAsk, stats: &mut PartialStats) {
        let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
        ask.hashes.iter().enumerate().for_each(|(i, &hash)| places.entry(hash).or_default().push(i));
        let sums = self.in_blocks(request, &|b, mut x| {
            let mut equal = Mat::zeros(ask.hashes.len(), 1);
            for column in self.x.subcols(b * BLOCK, x.ncols()).col_iter() {
                let same = places.get(&sample_hash(column.iter().copied()));
                same.into_iter().flatten().for_each(|&i| equal[(i, 0)] += 1.0);
            }
            x.as_mut().col_iter_mut().for_each(|mut column| column -= ask.center.col(0));
            let rest = column_sums(&x);
            x.as_mut().col_iter_mut().for_each(|column| column.iter_mut().for_each(|v| *v *= *v));
            GaugeSums { squares: column_sums(&x), rest, equal }
        });
        sums.into_iter().for_each(|sums| sums.put(stats));
    }

    /// Sums of the samples by class and `X X^T`, together or by class.
    pub(super) fn second_moments(
        &self,
        request: &Request,
        by_class: bool,
        memo: &mut Memo,
        stats: &mut PartialStats,
    ) -> Result<()> {
        let targets = self.targets(request, memo)?.to_vec();
        let n_classes = request.classes.len();
        let d = request.prep.n_out()?;
        let matrices = if by_class { n_classes } else { 1 };
        // So many blocks that the sums of a strip take no more memory than its samples.
        let blocks = FEWEST.max((matrices * d * d).div_ceil(BLOCK * self.x.nrows().max(1)));
        let empty = (Mat::zeros(d, n_classes), vec![Mat::zeros(d, d); matrices]);
        let strips = self.in_strips(request, blocks, empty, |(sums, scatters), b, x: Mat<f64>| {
            let targets = &targets[b * BLOCK..][..x.ncols()];
            for (x, &c) in x.col_iter().zip(targets) {
                sums.as_mut().col_mut(c as usize).iter_mut().zip(x.iter()).for_each(|(sum, v)| *sum += v);
            }
            if !by_class {
                return add_lower_product(scatters[0].as_mut(), 1.0, &x, x.transpose());
            }
            for (c, scatter) in scatters.iter_mut().enumerate() {
                let own: Vec<usize> = (0..targets.len()).filter(|&i| targets[i] as usize == c).collect();
                if !own.is_empty() {
                    let x = select_columns(&x, &own);
                    add_lower_product(scatter.as_mut(), 1.0, &x, x.transpose());
                }
            }
        });
        for (sums, scatters) in strips {
            MomentSums { sums, scatters: scatters.iter().map(packed).collect() }.put(stats);
        }
        Ok(())
    }
}
