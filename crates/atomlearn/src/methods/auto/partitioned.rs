//! `auto` from sums over partitions, see [`crate::rounds`]: the form for many samples ([`super::large`]), whose search asks for the moments of
//! one kernel after the other.

use super::search::{Places, Search, Seen, rbf};
use super::stored::PrimalKernel;
use super::views::{Spread, View};
use super::{Auto, Facts};
use crate::linalg::concat_columns;
use crate::loo::ClassMoments;
use crate::prep::Prep;
use crate::rounds::{
    self, Ask, GaugeAsk, GaugeSums, Message, MomentSums, PartialStats, Partitioned, PickAsk, Picked, Ranges, Rounds,
    RoundsStart, Scatter,
};
use crate::{Blocks, Error, Observer, Parts, Result};
use faer::Mat;

/// Samples that are looked at one by one travel together, in at most so many bytes.
const LARGEST_PICK: usize = 1 << 30;

impl Partitioned for Auto {
    const SCATTER: Scatter = Scatter::Nothing;
    const CLASS_MATRICES: bool = false;

    fn begin(self, moments: &rounds::Moments, _: &[Mat<f64>], _: &mut dyn Observer) -> Result<RoundsStart> {
        let bytes = 8 * moments.n_features() * Places::MOST.min(2 * moments.n_samples() as usize);
        if bytes > LARGEST_PICK {
            return Err(Error::Data(format!(
                "`auto` looks at {} samples one by one, which would take {} MiB with {} features; use fewer features (option `prep = pca:N`)",
                Places::MOST,
                bytes >> 20,
                moments.n_features()
            )));
        }
        Ok(RoundsStart::Rounds(Box::new(AutoRounds { auto: self, stage: AutoStage::Ranges })))
    }

    fn resume(self, message: &mut Message, moments: &rounds::Moments, _: &[String]) -> Result<Box<dyn Rounds>> {
        let stage = AutoStage::restore(message, moments)?;
        Ok(Box::new(AutoRounds { auto: self, stage }))
    }
}

struct AutoRounds {
    auto: Auto,
    stage: AutoStage,
}

/// What is asked.
enum AutoStage {
    /// The sizes of the classes in every partition, and the ranges of the features.
    Ranges,
    /// The samples that are looked at one by one.
    Pick { ranges: Ranges, counts: Mat<f64> },
    /// How features spread, and which of the samples there are more than once.
    Gauge { ranges: Ranges, picked: QuerySamples },
    /// The moments of one kernel after the other.
    Kernels(Box<Search>),
}

/// The samples that are looked at one by one.
struct QuerySamples {
    asked: Mat<f64>,
    targets: Vec<usize>,
    positions: Vec<usize>,
    some: Mat<f64>,
    /// Of those that are left out in turn.
    hashes: Vec<u64>,
}

impl Rounds for AutoRounds {
    fn seen_through(&self, prep: &Prep, _: &rounds::Moments) -> Result<Prep> {
        let AutoStage::Kernels(search) = &self.stage else { return Ok(prep.clone()) };
        let Some(wanted) = search.wanted() else { return Ok(prep.clone()) };
        let seen = search.seen.views[wanted.view].after(prep);
        Ok(match &wanted.map {
            Some(map) => seen.then_kernel(rbf(wanted.gamma), map.clone()),
            None => seen,
        })
    }

    fn ask(&self, moments: &rounds::Moments) -> Result<Ask> {
        Ok(match &self.stage {
            AutoStage::Ranges => Ask::Ranges,
            AutoStage::Pick { counts, .. } => Ask::Pick(whereabouts(moments, counts)),
            AutoStage::Gauge { picked, .. } => {
                Ask::Gauge(GaugeAsk { center: moments.mean(), hashes: picked.hashes.clone() })
            }
            AutoStage::Kernels(search) => {
                Ask::SecondMoments { by_class: search.wanted().is_some_and(|wanted| wanted.by_class) }
            }
        })
    }

    fn absorb(
        &mut self,
        stats: &mut PartialStats,
        moments: &rounds::Moments,
        watch: &mut dyn Observer,
    ) -> Result<Option<Parts>> {
        let m = moments.n_features();
        let n_classes = moments.counts.len();
        match std::mem::replace(&mut self.stage, AutoStage::Ranges) {
            AutoStage::Ranges => {
                let counts = Ranges::take_counts(stats, n_classes)?;
                self.stage = AutoStage::Pick { ranges: Ranges::take(stats, m)?, counts };
            }
            AutoStage::Pick { ranges, counts } => {
                self.stage = AutoStage::Gauge { ranges, picked: QuerySamples::take(stats, moments, &counts)? };
            }
            AutoStage::Gauge { ranges, picked } => {
                let gauge = GaugeSums::take(stats, m, picked.hashes.len())?;
                let spread = Spread::new(&ranges, &moments.mean(), &gauge, moments.n_samples());
                let facts = Facts {
                    twins: gauge.equal.col(0).iter().filter(|&&count| count > 1.0).count(),
                    contrary: 0,
                    single: moments.counts.iter().filter(|&&count| count < 2.0).count(),
                    classes: n_classes,
                    of_some: true,
                };
                facts.warnings().iter().for_each(|warning| watch.warn(warning));
                let views = self.auto.view_kinds().iter().map(|&kind| View::of(kind, &spread)).collect();
                let QuerySamples { asked, targets, positions, some, .. } = picked;
                let counts = moments.counts.clone();
                let seen = Seen { views, asked, targets, weights: None, positions, some, counts, facts };
                self.stage = AutoStage::Kernels(Box::new(Search::new(seen)?));
            }
            AutoStage::Kernels(mut search) => {
                let (d, by_class) = search.wanted().map_or((m, false), |wanted| (wanted.n_features, wanted.by_class));
                let MomentSums { sums, scatters } = MomentSums::take(stats, d, n_classes, by_class)?;
                search.take(ClassMoments::of_sums(moments.counts.clone(), sums, scatters, by_class))?;
                let (done, all) = search.progress();
                let stops = watch.progress(done, all).is_break() && search.can_choose();
                if search.wanted().is_none() || stops {
                    return Ok(Some(search.learned(&self.auto)?.to_parts()));
                }
                self.stage = AutoStage::Kernels(search);
            }
        }
        Ok(None)
    }

    fn store(&self, message: &mut Message) {
        self.stage.store(message);
    }
}

/// In which partition, and there in which place among the samples of its class, each sample is that is looked at.
fn whereabouts(moments: &rounds::Moments, counts: &Mat<f64>) -> PickAsk {
    let blocks = Blocks::from_sizes(moments.counts.iter().map(|&count| count as usize));
    let Places { asked, some } = Places::of(&blocks);
    let labels = blocks.labels();
    let places: Vec<[f64; 3]> = asked
        .iter()
        .chain(&some)
        .map(|&place| {
            let class = labels[place];
            let mut rank = (place - blocks.range(class).start) as f64;
            let mut partition = 0;
            while partition + 1 < counts.nrows() && rank >= counts[(partition, class)] {
                rank -= counts[(partition, class)];
                partition += 1;
            }
            [partition as f64, class as f64, rank]
        })
        .collect();
    PickAsk { places: Mat::from_fn(3, places.len(), |i, j| places[j][i]) }
}

impl QuerySamples {
    /// From the answers to [`whereabouts`].
    fn take(stats: &mut PartialStats, moments: &rounds::Moments, counts: &Mat<f64>) -> Result<Self> {
        let places = whereabouts(moments, counts).places;
        let mut samples = Mat::zeros(moments.n_features(), places.ncols());
        let mut positions = vec![0; places.ncols()];
        let mut hashes = vec![0; places.ncols()];
        let mut first = 0;
        for partition in 0..counts.nrows() {
            let here: Vec<usize> = (0..places.ncols()).filter(|&j| places[(0, j)] == partition as f64).collect();
            if !here.is_empty() {
                let picked = Picked::take(stats, partition, moments.n_features(), here.len())?;
                for (k, &j) in here.iter().enumerate() {
                    samples.col_mut(j).copy_from(picked.samples.col(k));
                    positions[j] = first + picked.places[k];
                    hashes[j] = picked.hashes[k];
                }
            }
            first += counts.row(partition).iter().sum::<f64>() as usize;
        }
        let asked = places.ncols() - Places::SPREAD.min(moments.n_samples() as usize);
        positions.truncate(asked);
        hashes.truncate(asked);
        let targets = (0..asked).map(|j| places[(1, j)] as usize).collect();
        let some = samples.subcols(asked, places.ncols() - asked).to_owned();
        Ok(QuerySamples { asked: samples.subcols(0, asked).to_owned(), targets, positions, some, hashes })
    }
}

fn numbers(values: &[usize]) -> Vec<f64> {
    values.iter().map(|&v| v as f64).collect()
}

impl AutoStage {
    fn store(&self, message: &mut Message) {
        let put_ranges = |message: &mut Message, ranges: &Ranges| {
            message.put("ranges.low", &ranges.low);
            message.put("ranges.high", &ranges.high);
        };
        let put_looked = |message: &mut Message, asked: &Mat<f64>, some: &Mat<f64>, targets: &[usize], at: &[usize]| {
            message.put("asked", asked);
            message.put("some", some);
            message.put_row("targets", &numbers(targets));
            message.put_row("positions", &numbers(at));
        };
        match self {
            AutoStage::Ranges => message.set("auto.stage", "ranges"),
            AutoStage::Pick { ranges, counts } => {
                message.set("auto.stage", "pick");
                put_ranges(message, ranges);
                message.put("partition_counts", counts);
            }
            AutoStage::Gauge { ranges, picked } => {
                message.set("auto.stage", "gauge");
                put_ranges(message, ranges);
                put_looked(message, &picked.asked, &picked.some, &picked.targets, &picked.positions);
                message.set("hashes", &picked.hashes);
            }
            AutoStage::Kernels(search) => {
                message.set("auto.stage", "kernels");
                let seen = &search.seen;
                put_looked(message, &seen.asked, &seen.some, &seen.targets, &seen.positions);
                let views: Vec<Vec<f64>> = seen.views.iter().map(View::to_column).collect();
                message.put("views", Mat::from_fn(views[0].len(), views.len(), |i, v| views[v][i]));
                message.set("facts", (seen.facts.twins, seen.facts.single));
                // What was found for these kernels follows from their moments.
                message.set("judged", search.kernels.len());
                for (k, PrimalKernel { moments, .. }) in search.kernels.iter().enumerate() {
                    message.put(format!("kernel.{k}.sums"), &moments.sums);
                    match &moments.class_scatters {
                        Some(scatters) => message.put(format!("kernel.{k}.scatter"), concat_columns(scatters)),
                        None => message.put(format!("kernel.{k}.scatter"), &moments.scatter),
                    }
                }
            }
        }
    }

    /// The counterpart of [`AutoStage::store`]; the message may be hostile.
    fn restore(message: &mut Message, moments: &rounds::Moments) -> Result<Self> {
        let m = moments.n_features();
        let n_classes = moments.counts.len();
        let stage: String = message.get("auto.stage")?;
        if stage == "ranges" {
            return Ok(AutoStage::Ranges);
        }
        if stage == "pick" {
            let ranges = take_ranges(message, m)?;
            return Ok(AutoStage::Pick { ranges, counts: message.take("partition_counts", None, n_classes)? });
        }
        let asked = message.take("asked", m, None)?;
        let some = message.take("some", m, None)?;
        let targets: Vec<usize> = whole(message.take_row("targets", asked.ncols())?);
        let positions = whole(message.take_row("positions", asked.ncols())?);
        if asked.ncols() == 0 || some.ncols() == 0 || targets.iter().any(|&c| c >= n_classes) {
            return Err(Error::Data("the checkpoint's samples have no class, or there are none".into()));
        }
        match stage.as_str() {
            "gauge" => {
                let hashes: Vec<u64> = message.get("hashes")?;
                let ranges = take_ranges(message, m)?;
                let picked = QuerySamples { asked, targets, positions, some, hashes };
                Ok(AutoStage::Gauge { ranges, picked })
            }
            "kernels" => {
                let views = message.take("views", 2 + 2 * m, None)?;
                let views: Vec<View> =
                    (0..views.ncols()).map(|v| View::from_column(views.col_as_slice(v))).collect::<Result<_>>()?;
                let (twins, single) = message.get("facts")?;
                let facts = Facts { twins, contrary: 0, single, classes: n_classes, of_some: true };
                let counts = moments.counts.clone();
                let seen = Seen { views, asked, targets, weights: None, positions, some, counts, facts };
                let mut search = Search::new(seen)?;
                for k in 0..message.get::<usize>("judged")? {
                    let Some(wanted) = search.wanted() else { break };
                    let (d, by_class) = (wanted.n_features, wanted.by_class);
                    let sums = message.take(&format!("kernel.{k}.sums"), d, n_classes)?;
                    let matrices = if by_class { n_classes } else { 1 };
                    let scatter = message.take(&format!("kernel.{k}.scatter"), d, d * matrices)?;
                    let scatters = (0..matrices).map(|c| scatter.subcols(c * d, d).to_owned()).collect();
                    search.take(ClassMoments::of_sums(moments.counts.clone(), sums, scatters, by_class))?;
                }
                if search.wanted().is_none() {
                    return Err(Error::Data("the checkpoint of `auto` has no kernel left to ask for".into()));
                }
                Ok(AutoStage::Kernels(Box::new(search)))
            }
            other => Err(Error::Data(format!("the checkpoint of `auto` is in an unknown stage `{other}`"))),
        }
    }
}

fn take_ranges(message: &mut Message, m: usize) -> Result<Ranges> {
    Ok(Ranges { low: message.take("ranges.low", m, 1)?, high: message.take("ranges.high", m, 1)? })
}

fn whole(values: Vec<f64>) -> Vec<usize> {
    values.into_iter().map(|v| v as usize).collect()
}
