//! What a method knows of samples that come in batches and go: for methods that need no more than sums.

use super::Moments;
use crate::dataset::check_finite;
use crate::linalg::mul_add;
use crate::{Error, Fit, Observer, Parts, Result};
use faer::Mat;

/// Numbers, means and scatter of the samples of all classes, after preprocessing. Samples with weights count that often.
#[derive(Clone, Debug)]
pub struct ClassSums {
    /// Samples of every class.
    pub counts: Vec<f64>,
    /// Their means, features x classes.
    pub means: Mat<f64>,
    /// The scatter of all samples about the means of their classes.
    pub within: Mat<f64>,
}

/// A method that learns from nothing but these sums.
pub(crate) trait FromSums: Fit {
    /// The parts of the model; parameters that are left open take documented values.
    fn learn_from_sums(&self, sums: &ClassSums, watch: &mut dyn Observer) -> Result<Parts>;
}

impl ClassSums {
    /// Refuses what cannot be sums over samples of at least two classes.
    pub(crate) fn check(&self) -> Result<()> {
        let (m, n_classes) = self.means.shape();
        let fits = self.counts.len() == n_classes && self.within.shape() == (m, m) && m > 0;
        if !fits {
            return Err(Error::shape(
                "sums over samples",
                format!("{n_classes} counts and a scatter of {m} x {m} features"),
                format!("{} counts and {} x {}", self.counts.len(), self.within.nrows(), self.within.ncols()),
            ));
        }
        if n_classes < 2 || !self.counts.iter().all(|&count| count > 0.0 && count.is_finite()) {
            return Err(Error::Data("every one of at least two classes needs a sample".into()));
        }
        check_finite(&self.means)?;
        check_finite(&self.within)
    }

    /// Number of samples.
    pub(crate) fn n_samples(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// The means as seen from the mean of all samples, and that mean.
    pub(crate) fn centered_means(&self) -> (Mat<f64>, Vec<f64>) {
        let n = self.n_samples();
        let (m, n_classes) = self.means.shape();
        let middle = |i: usize| (0..n_classes).map(|c| self.counts[c] * self.means[(i, c)]).sum::<f64>() / n;
        let middle: Vec<f64> = (0..m).map(middle).collect();
        (Mat::from_fn(m, n_classes, |i, c| self.means[(i, c)] - middle[i]), middle)
    }

    /// The same as [`Moments`], and the scatter of all samples about their mean.
    pub(crate) fn moments(&self) -> (Moments, Mat<f64>) {
        let (apart, _) = self.centered_means();
        let mut scatter = self.within.clone();
        for (c, count) in self.counts.iter().enumerate() {
            let d = apart.subcols(c, 1);
            mul_add(scatter.as_mut(), *count, d, d.transpose());
        }
        let (m, n_classes) = self.means.shape();
        let sums = Mat::from_fn(m, n_classes, |i, c| self.counts[c] * self.means[(i, c)]);
        (Moments { counts: self.counts.clone(), sums, outer: Mat::new() }, scatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::outer_gram;
    use crate::params::Values;
    use crate::registry::METHODS;
    use crate::{Dataset, synth};
    use serde_json::json;

    fn sums_of(train: &Dataset) -> ClassSums {
        let m = train.n_features();
        let counts = train.class_weights();
        let weights = train.weights().map_or_else(|| vec![1.0; train.n_samples()], <[f64]>::to_vec);
        let (targets, x) = (train.targets(), train.x());
        let mut means = Mat::zeros(m, counts.len());
        for (j, &c) in targets.iter().enumerate() {
            (0..m).for_each(|i| means[(i, c)] += weights[j] * x[(i, j)] / counts[c]);
        }
        let apart = |i: usize, j: usize| weights[j].sqrt() * (x[(i, j)] - means[(i, targets[j])]);
        let within = outer_gram(Mat::from_fn(m, x.ncols(), apart));
        ClassSums { counts, means, within }
    }

    #[test]
    fn sums_say_as_much_as_the_samples() {
        for (per_class, dim) in [(9, 5), (4, 30)] {
            let (train, test) = (synth::blobs(3, per_class, dim, 1), synth::blobs(3, 4, dim, 2));
            for train in [train.clone(), train.weighted_for_tests()] {
                for method in METHODS.iter().filter(|method| method.learns_from_sums()) {
                    let given = json!({"ridge": {"lambda": 0.1}, "lda": {"shrinkage": 0.2}});
                    let values: Values = serde_json::from_value(given[method.key].clone()).unwrap();
                    let found = method.fit_sums(&values, train.classes(), &sums_of(&train), &mut ()).unwrap();
                    let expected = method.fit(&values, &train, &mut ()).unwrap().scores(test.x()).unwrap();
                    let error = (found.scores(test.x()).unwrap() - &expected).norm_max() / expected.norm_max();
                    assert!(error < 1e-10, "{} {dim}: {error:e}", method.key);
                }
            }
        }
    }

    #[test]
    fn what_is_left_open_takes_documented_values_and_a_formula_of_samples_is_refused() {
        let train = synth::blobs(3, 9, 5, 1);
        let (sums, classes) = (sums_of(&train), train.classes());
        for method in METHODS {
            let learned = method.fit_sums(&Values::new(), classes, &sums, &mut ());
            assert_eq!(learned.is_ok(), method.learns_from_sums(), "{}", method.key);
        }
        let lda = METHODS.iter().find(|method| method.key == "lda").unwrap();
        let formula: Values = serde_json::from_value(json!({"shrinkage": "ledoit-wolf"})).unwrap();
        let error = lda.fit_sums(&formula, classes, &sums, &mut ()).err().unwrap().to_string();
        assert!(error.contains("give a number"), "{error}");
        let empty = ClassSums { counts: vec![9.0, 0.0, 9.0], ..sums.clone() };
        assert!(lda.fit_sums(&Values::new(), classes, &empty, &mut ()).is_err());
        let short = ClassSums { counts: vec![9.0; 2], ..sums };
        assert!(lda.fit_sums(&Values::new(), classes, &short, &mut ()).is_err());
    }
}
