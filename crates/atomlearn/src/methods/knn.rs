//! Nearest neighbours: the votes of the `k` training samples nearest to a sample.
//!
//! The score of a class is its number of votes, plus less than one vote for near ones, so that ties go to the class whose
//! neighbours are nearer: a neighbour at squared distance `d` adds `1 + 1 / (k (1 + d))`.

use crate::classifier::Header;
use crate::kernel::squared_distances;
use crate::params::{Domain, params};
use crate::{Blocks, Classifier, Dataset, Fit, Observer, Parts, Result, State};
use faer::{Mat, MatRef};

params! {
    /// Parameters of nearest neighbours.
    pub struct Knn {
        /// Number of neighbours; never more than there are training samples.
        k: usize = 1, Domain::AtLeast(1), grid [1, 3, 5, 9, 15];
    }
}

/// The training samples and their classes.
pub struct KnnModel {
    header: Header,
    samples: Mat<f64>,
    blocks: Blocks,
    targets: Vec<usize>,
    k: usize,
}

impl Knn {
    fn model(&self, classes: Vec<String>, samples: Mat<f64>, blocks: Blocks) -> KnnModel {
        let targets = blocks.labels();
        KnnModel {
            header: Header::new(classes, samples.nrows(), &["votes"]),
            k: self.k.min(targets.len()),
            targets,
            blocks,
            samples,
        }
    }
}

impl Fit for Knn {
    type Model = KnnModel;
    const KEY: &'static str = "knn";
    const TITLE: &'static str = "Nearest neighbours";
    const PAPER: &'static str =
        "Cover, Hart: Nearest neighbor pattern classification. IEEE Transactions on Information Theory 1967";

    fn learn(&self, train: &Dataset, _: Option<State>, _watch: &mut dyn Observer) -> Result<KnnModel> {
        Ok(self.model(train.classes().to_vec(), train.x().to_owned(), train.blocks().clone()))
    }

    fn restore(&self, mut parts: Parts) -> Result<KnnModel> {
        let samples = parts.take("samples")?;
        let blocks = parts.take_blocks("sample_counts", samples.ncols())?;
        Ok(self.model(parts.classes, samples, blocks))
    }
}

impl Classifier for KnnModel {
    fn header(&self) -> &Header {
        &self.header
    }

    fn store(&self, parts: &mut Parts) {
        parts.put("samples", &self.samples);
        parts.put_blocks("sample_counts", &self.blocks);
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        let distances = squared_distances(&self.samples, x);
        let mut scores = Mat::zeros(self.classes().len(), x.ncols());
        let mut order: Vec<usize> = (0..self.targets.len()).collect();
        for (j, column) in distances.col_iter().enumerate() {
            let nearer = |&a: &usize, &b: &usize| column[a].total_cmp(&column[b]).then(a.cmp(&b));
            if self.k > 0 {
                order.select_nth_unstable_by(self.k - 1, nearer);
            }
            order[..self.k].sort_unstable_by(nearer);
            for &i in &order[..self.k] {
                scores[(self.targets[i], j)] += 1.0 + 1.0 / (self.k as f64 * (1.0 + column[i]));
            }
        }
        vec![scores]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth;

    #[test]
    fn votes_equal_a_full_sort() {
        let (train, test) = (synth::blobs(3, 10, 4, 1), synth::blobs(3, 6, 4, 2));
        for k in [1, 4, 30, 99] {
            let model = Knn { k }.fit(&train, &mut ()).unwrap();
            let scores = model.scores(test.x()).unwrap();
            for j in 0..18 {
                let distance = |i: usize| (train.x().col(i) - test.x().col(j)).squared_norm_l2();
                let mut order: Vec<usize> = (0..30).collect();
                order.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)));
                for c in 0..3 {
                    let votes = order.iter().take(k).filter(|&&i| train.targets()[i] == c).count();
                    assert_eq!(scores[(c, j)].floor() as usize, votes);
                }
            }
        }
    }

    #[test]
    fn ties_go_to_the_nearer_class() {
        let x = faer::mat![[0.0, 1.0]];
        let train = Dataset::new(&x, &["a".to_string(), "b".to_string()]).unwrap();
        let model = Knn { k: 2 }.fit(&train, &mut ()).unwrap();
        assert_eq!(model.predict(faer::mat![[0.2, 0.9]].as_ref()).unwrap(), [0, 1]);
    }
}
