//! A split after preprocessing, and the clocks that experiments use.

use crate::protocol::data::LabData;
use crate::protocol::splits::Split;
use crate::records::times::Clock;
use atomlearn::io::ImageShape;
use atomlearn::observe::Trace;
use atomlearn::prep::{Prep, PrepSpec};
use atomlearn::{Dataset, Mat, Result};

/// Training and test part of a split, preprocessed by what the training part alone says.
pub struct Prepared {
    /// Training samples.
    pub train: Dataset,
    /// Test samples, features x samples.
    pub test: Mat<f64>,
    /// Class of every test sample.
    pub truth: Vec<usize>,
    /// The fitted preprocessing.
    pub prep: Prep,
    /// Rows and columns of a raw sample, if it is an image.
    pub image_shape: Option<ImageShape>,
    /// What preprocessing warned about.
    pub warnings: Vec<String>,
    /// Wall time of fitting and applying.
    pub seconds: f64,
    /// CPU time of the same.
    pub cpu_seconds: f64,
}

impl Prepared {
    /// Learns the encoding of a table and `prep` from the training part and applies both to all samples.
    pub fn new(data: &LabData, prep: &PrepSpec, split: &Split) -> Result<Self> {
        let part = data.part(&split.train)?;
        let train = part.dataset(&split.train)?;
        let test = part.columns(&split.test);
        let truth = split.test.iter().map(|&i| data.targets[i]).collect();
        let mut trace = Trace { warnings: part.warnings().to_vec(), ..Trace::default() };
        let clock = Clock::start();
        let (prep, x) = prep.fit(train.x(), &mut trace)?;
        let test = prep.apply(test.as_ref());
        let (seconds, cpu_seconds) = clock.stop();
        let train = prep.prepared(&train, x)?;
        let image_shape = data.image_shape;
        Ok(Prepared { train, test, truth, prep, image_shape, warnings: trace.warnings, seconds, cpu_seconds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atomlearn::io::{Impute, ReadOptions, read_bytes};
    use std::path::Path;

    fn data(last: &str) -> LabData {
        read(last, Impute::Mean)
    }

    fn read(last: &str, impute: Impute) -> LabData {
        let text = format!("a,color,y\n1,red,u\n,blue,v\n3,red,u\n8,,v\n{last}\n");
        let options =
            ReadOptions { impute: Some(impute), split_later: true, y: Some("y".into()), ..ReadOptions::default() };
        let raw = read_bytes(Path::new("t.csv"), text.into_bytes(), &options).unwrap();
        LabData::to_split("t.csv", "0".repeat(64), raw).unwrap()
    }

    #[test]
    fn a_training_part_is_the_same_whatever_the_test_part_holds() {
        let split = Split { train: vec![0, 1, 2, 3], test: vec![4] };
        let prepared = |last: &str| Prepared::new(&data(last), &"none".parse().unwrap(), &split).unwrap();
        let (calm, wild) = (prepared("2,red,u"), prepared("1e9,green,u"));
        assert_eq!(calm.train.x(), wild.train.x());
        // Features a, blue, red of the samples grouped by class; the mean of 1, 3 and 8 and the usual color fill the gaps.
        assert_eq!(
            calm.train.x(),
            atomlearn::Mat::from_fn(3, 4, |i, j| {
                [[1.0, 3.0, 4.0, 8.0], [0.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 1.0]][i][j]
            })
        );
        assert_eq!(wild.test, atomlearn::Mat::from_fn(3, 1, |i, _| [1e9, 0.0, 0.0][i]));
        let missing = prepared(",,v");
        let (mean, median) = (data("2,red,u"), read("2,red,u", Impute::Median));
        assert!(mean.info.sha256 == median.info.sha256 && mean.identity() != median.identity());
        assert_eq!(missing.test, atomlearn::Mat::from_fn(3, 1, |i, _| [4.0, 0.0, 1.0][i]));
    }
}
