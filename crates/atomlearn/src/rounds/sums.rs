//! What partitions sum, as types: the only place that knows the names of sums in an answer.
//!
//! `put` adds to what an answer already holds of the same sum, so that the blocks of a partition, and then the partitions, add up.

use super::newton::{packed, unpacked};
use super::stats::{LARGEST, PartialStats};
use crate::Result;
use faer::{Mat, Scale};

/// The SVM of one class at one point, over the samples whose margin is violated.
pub(super) struct SvmSums {
    /// Sum of squared slacks.
    pub loss: f64,
    /// Half its gradient, the bias last; a column.
    pub gradient: Mat<f64>,
    /// Half its Hessian; the lower triangle counts.
    pub hessian: Mat<f64>,
}

impl SvmSums {
    pub fn put(self, class: usize, stats: &mut PartialStats) {
        stats.add(format!("loss.{class}"), Mat::from_fn(1, 1, |_, _| self.loss));
        stats.add(format!("gradient.{class}"), self.gradient);
        stats.add(format!("hessian.{class}"), packed(&self.hessian));
    }

    pub fn take(stats: &mut PartialStats, class: usize, dim: usize) -> Result<Self> {
        Ok(SvmSums {
            loss: stats.take(&format!("loss.{class}"), 1, 1)?[(0, 0)],
            gradient: stats.take(&format!("gradient.{class}"), dim, 1)?,
            hessian: unpacked(&stats.take(&format!("hessian.{class}"), dim * (dim + 1) / 2, 1)?, dim),
        })
    }
}

/// The pulls `w` of all samples.
#[derive(Clone)]
pub(super) struct PullSums {
    /// `w w^T`.
    pub second: Mat<f64>,
    /// Sum of `w` by class, one column each.
    pub by_class: Mat<f64>,
    pub with_samples: PullsWithSamples,
}

/// `w x^T`, classes x features.
#[derive(Clone)]
pub(super) enum PullsWithSamples {
    Together(Mat<f64>),
    ByClass(Vec<Mat<f64>>),
}

impl PullSums {
    pub fn put(self, stats: &mut PartialStats) {
        stats.add("pull.pull", self.second);
        stats.add("pull.class", self.by_class);
        match self.with_samples {
            PullsWithSamples::Together(all) => stats.add("pull.x", all),
            PullsWithSamples::ByClass(classes) => {
                classes.into_iter().enumerate().for_each(|(c, class)| stats.add(format!("pull.x.{c}"), class));
            }
        }
    }

    pub fn take(stats: &mut PartialStats, n_features: usize, n_classes: usize, split_by_class: bool) -> Result<Self> {
        let with_samples = if split_by_class {
            let of_class = |c: usize| stats.take(&format!("pull.x.{c}"), n_classes, n_features);
            PullsWithSamples::ByClass((0..n_classes).map(of_class).collect::<Result<_>>()?)
        } else {
            PullsWithSamples::Together(stats.take("pull.x", n_classes, n_features)?)
        };
        let second = stats.take("pull.pull", n_classes, n_classes)?;
        Ok(PullSums { second, by_class: stats.take("pull.class", n_classes, n_classes)?, with_samples })
    }
}

/// Samples about a centre: of one class, or of all.
pub(crate) struct ScatterSums {
    /// `(x - centre)(x - centre)^T`, packed: there is one for every block.
    pub scatter: Mat<f64>,
    /// `x - centre`: what is missing from the centre to the mean.
    pub rest: Mat<f64>,
}

impl ScatterSums {
    fn names(class: Option<usize>) -> [String; 2] {
        ["scatter", "rest"].map(|name| class.map_or(name.into(), |c| format!("{name}.{c}")))
    }

    pub fn put(self, class: Option<usize>, stats: &mut PartialStats) {
        let [scatter, rest] = Self::names(class);
        stats.add(scatter, self.scatter);
        stats.add(rest, self.rest);
    }

    pub fn take(stats: &mut PartialStats, class: Option<usize>, n_features: usize) -> Result<Self> {
        let [scatter, rest] = Self::names(class);
        let scatter = stats.take(&scatter, n_features * (n_features + 1) / 2, 1)?;
        Ok(ScatterSums { scatter, rest: stats.take(&rest, n_features, 1)? })
    }
}

/// Numbers of samples that either of two maps gives its own class.
pub(crate) struct RightSums {
    pub fitted: f64,
    pub test: f64,
}

impl RightSums {
    pub fn put(self, stats: &mut PartialStats) {
        stats.add("right", Mat::from_fn(1, 2, |_, j| [self.fitted, self.test][j]));
    }

    pub fn take(stats: &mut PartialStats) -> Result<Self> {
        let right = stats.take("right", 1, 2)?;
        Ok(RightSums { fitted: right[(0, 0)], test: right[(0, 1)] })
    }
}

/// The sparse codes `Z` of SADL.
pub(crate) struct SparseSums {
    /// `Z Z^T`, packed: there is one for every block.
    pub zz: Mat<f64>,
    /// `Z X^T`.
    pub zx: Mat<f64>,
    /// Sum of `Z` by class, atoms x classes.
    pub by_class: Mat<f64>,
    /// `|Z|_1`.
    pub absolute: f64,
    /// Of both constraints; none without ADMM.
    pub multipliers: Vec<MultiplierSums>,
}

/// The multipliers `Y` of a constraint.
pub(crate) struct MultiplierSums {
    /// `Y Z^T`.
    pub yz: Mat<f64>,
    /// `<goal, Y>`.
    pub goal_y: f64,
    /// `|Y|^2`.
    pub energy: f64,
}

impl SparseSums {
    pub fn put(self, stats: &mut PartialStats) {
        stats.add("z.z", self.zz);
        stats.add("z.x", self.zx);
        stats.add("z.class", self.by_class);
        let mut numbers = vec![self.absolute];
        for (k, multipliers) in self.multipliers.into_iter().enumerate() {
            stats.add(format!("y{k}.z"), multipliers.yz);
            numbers.extend([multipliers.goal_y, multipliers.energy]);
        }
        stats.add("numbers", Mat::from_fn(1, numbers.len(), |_, j| numbers[j]));
    }

    /// `rows` are those of the multipliers of each constraint.
    pub fn take(
        stats: &mut PartialStats,
        (n_atoms, n_features): (usize, usize),
        n_classes: usize,
        rows: &[usize],
    ) -> Result<Self> {
        let numbers = stats.take("numbers", 1, 1 + 2 * rows.len())?;
        let multipliers = rows.iter().enumerate().map(|(k, &rows)| {
            let yz = stats.take(&format!("y{k}.z"), rows, n_atoms)?;
            Ok(MultiplierSums { yz, goal_y: numbers[(0, 1 + 2 * k)], energy: numbers[(0, 2 + 2 * k)] })
        });
        let multipliers = multipliers.collect::<Result<_>>()?;
        Ok(SparseSums {
            zz: stats.take("z.z", n_atoms * (n_atoms + 1) / 2, 1)?,
            zx: stats.take("z.x", n_atoms, n_features)?,
            by_class: stats.take("z.class", n_atoms, n_classes)?,
            absolute: numbers[(0, 0)],
            multipliers,
        })
    }
}

/// The smallest and the largest value of every feature, a column each.
pub(crate) struct Ranges {
    pub low: Mat<f64>,
    pub high: Mat<f64>,
}

impl Ranges {
    pub fn put(self, stats: &mut PartialStats) {
        stats.add(format!("{LARGEST}low"), Scale(-1.0) * self.low);
        stats.add(format!("{LARGEST}high"), self.high);
    }

    pub fn take(stats: &mut PartialStats, n_features: usize) -> Result<Self> {
        let low = Scale(-1.0) * stats.take(&format!("{LARGEST}low"), n_features, 1)?;
        Ok(Ranges { low, high: stats.take(&format!("{LARGEST}high"), n_features, 1)? })
    }

    /// The sizes of the classes in a partition, under a name of its own.
    pub fn put_counts(partition: usize, counts: &[f64], stats: &mut PartialStats) {
        stats.add(of_partition("counts", partition), Mat::from_fn(1, counts.len(), |_, c| counts[c]));
    }

    /// The sizes of the classes (columns) in every partition (rows).
    pub fn take_counts(stats: &mut PartialStats, n_classes: usize) -> Result<Mat<f64>> {
        let mut counts = Mat::zeros(stats.count, n_classes);
        for p in 0..stats.count {
            counts.row_mut(p).copy_from(stats.take(&of_partition("counts", p), 1, n_classes)?.row(0));
        }
        Ok(counts)
    }
}

/// Some samples of a partition.
pub(crate) struct Picked {
    /// After preprocessing.
    pub samples: Mat<f64>,
    /// Where they are in the partition.
    pub places: Vec<usize>,
    /// [`super::sample_hash`] of each as it is in the data.
    pub hashes: Vec<u64>,
}

impl Picked {
    /// Under a name of the partition's own; hashes in two halves, which are whole numbers as floating-point ones.
    pub fn put(self, partition: usize, stats: &mut PartialStats) {
        let m = self.samples.nrows();
        let entry = |i: usize, j: usize| match i.checked_sub(m) {
            None => self.samples[(i, j)],
            Some(0) => self.places[j] as f64,
            Some(1) => (self.hashes[j] >> 32) as f64,
            Some(_) => (self.hashes[j] & 0xffff_ffff) as f64,
        };
        stats.add(of_partition("picked", partition), Mat::from_fn(m + 3, self.places.len(), entry));
    }

    pub fn take(stats: &mut PartialStats, partition: usize, n_features: usize, count: usize) -> Result<Self> {
        let all = stats.take(&of_partition("picked", partition), n_features + 3, count)?;
        Ok(Picked {
            samples: all.subrows(0, n_features).to_owned(),
            places: (0..count).map(|j| all[(n_features, j)] as usize).collect(),
            hashes: (0..count)
                .map(|j| ((all[(n_features + 1, j)] as u64) << 32) | all[(n_features + 2, j)] as u64)
                .collect(),
        })
    }
}

fn of_partition(name: &str, partition: usize) -> String {
    format!("{name}.{partition}")
}

/// How features spread about a centre, a column each.
pub(crate) struct GaugeSums {
    /// `(x - centre)^2`.
    pub squares: Mat<f64>,
    /// `x - centre`.
    pub rest: Mat<f64>,
    /// How many samples equal each of those that were asked for.
    pub equal: Mat<f64>,
}

impl GaugeSums {
    pub fn put(self, stats: &mut PartialStats) {
        stats.add("squares", self.squares);
        stats.add("rest", self.rest);
        stats.add("equal", self.equal);
    }

    pub fn take(stats: &mut PartialStats, n_features: usize, asked: usize) -> Result<Self> {
        Ok(GaugeSums {
            squares: stats.take("squares", n_features, 1)?,
            rest: stats.take("rest", n_features, 1)?,
            equal: stats.take("equal", asked, 1)?,
        })
    }
}

/// First and second moments about zero.
pub(crate) struct MomentSums {
    /// Sums of the samples of each class, features x classes.
    pub sums: Mat<f64>,
    /// `X X^T` packed, of all samples or one of each class.
    pub scatters: Vec<Mat<f64>>,
}

impl MomentSums {
    pub fn put(self, stats: &mut PartialStats) {
        stats.add("sums", self.sums);
        self.scatters.into_iter().enumerate().for_each(|(c, scatter)| stats.add(format!("second.{c}"), scatter));
    }

    /// Matrices are whole.
    pub fn take(stats: &mut PartialStats, n_features: usize, n_classes: usize, by_class: bool) -> Result<Self> {
        let sums = stats.take("sums", n_features, n_classes)?;
        let packed = n_features * (n_features + 1) / 2;
        let count = if by_class { n_classes } else { 1 };
        let scatter = |c: usize| Ok(unpacked(&stats.take(&format!("second.{c}"), packed, 1)?, n_features));
        Ok(MomentSums { sums, scatters: (0..count).map(scatter).collect::<Result<_>>()? })
    }
}
