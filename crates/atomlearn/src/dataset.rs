//! Labelled samples, valid by construction.

use crate::linalg::{View, first_not_finite, select_columns};
use crate::{Blocks, Error, Result};
use faer::{Mat, MatRef};
use std::cmp::Ordering;
use std::collections::HashMap;

/// Samples in columns, grouped by class; finite, at least two classes, at least one feature.
///
/// ```
/// use atomlearn::{Dataset, Mat};
///
/// let x = Mat::from_fn(2, 4, |i, j| (i + 2 * j) as f64); // features x samples
/// let labels = ["oak", "ash", "oak", "ash"].map(String::from);
/// let data = Dataset::new(&x, &labels)?;
/// assert_eq!(data.classes(), ["ash", "oak"]);
/// assert_eq!(data.targets(), [0, 0, 1, 1]); // grouped by class
/// assert_eq!(data.x().col(0)[1], 3.0); // so the first is what was the second
/// # Ok::<(), atomlearn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dataset {
    x: Mat<f64>,
    blocks: Blocks,
    classes: Vec<String>,
    order: Vec<usize>,
    groups: Option<Vec<usize>>,
    weights: Option<Vec<f64>>,
    /// Numbers of features of the views that stand one after the other, if there are several.
    views: Vec<usize>,
}

/// Class names in class order, and the class of every sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// Class names: by value if every one is a number, else by name.
    pub classes: Vec<String>,
    /// Class of every sample.
    pub targets: Vec<usize>,
}

impl Labels {
    /// From the label of every sample as text.
    pub fn new(texts: &[String]) -> Self {
        let classes = sorted_classes(texts);
        let class_of: HashMap<&str, usize> = classes.iter().enumerate().map(|(c, name)| (name.as_str(), c)).collect();
        let targets = texts.iter().map(|text| class_of[text.as_str()]).collect();
        Labels { classes, targets }
    }
}

impl Dataset {
    /// Groups the columns of `x` (features x samples) by label.
    ///
    /// Classes are sorted: by value if every label is a number, else by name. Within a class, samples keep their order.
    pub fn new(x: impl View, labels: &[String]) -> Result<Self> {
        let Labels { classes, targets } = Labels::new(labels);
        Dataset::from_targets(x, &classes, &targets)
    }

    /// Groups the columns of `x` by class; a class of which there is no sample is left out.
    pub fn from_targets(x: impl View, classes: &[String], targets: &[usize]) -> Result<Self> {
        Dataset::from_places(x, classes, targets, &(0..targets.len()).collect::<Vec<_>>())
    }

    /// The samples at these columns of `x`, in one copy; `targets` are the classes of all columns. A class of which no sample is
    /// among them is left out.
    pub fn from_places(x: impl View, classes: &[String], targets: &[usize], places: &[usize]) -> Result<Self> {
        let x = x.view();
        if targets.len() != x.ncols() {
            return Err(Error::shape("labels", format!("one per sample ({})", x.ncols()), targets.len()));
        }
        if let Some(target) = targets.iter().find(|&&c| c >= classes.len()) {
            return Err(Error::shape("class of a sample", format!("an index into {} classes", classes.len()), target));
        }
        if places.is_empty() || x.nrows() == 0 {
            return Err(Error::Data(format!("no data: {} samples of {} features", places.len(), x.nrows())));
        }
        let (classes, targets) = occurring(classes, places.iter().map(|&i| targets[i]).collect());
        let mut order: Vec<usize> = (0..targets.len()).collect();
        order.sort_by_key(|&i| targets[i]);
        let columns: Vec<usize> = order.iter().map(|&i| places[i]).collect();
        let selected = select_columns(x, &columns);
        check_finite(&selected).or_else(|_| check_finite(select_columns(x, places)))?;
        if classes.len() < 2 {
            return Err(Error::Data(format!(
                "only one class (`{}`): a classifier needs samples of at least two classes",
                classes[0]
            )));
        }
        let mut sizes = vec![0usize; classes.len()];
        targets.iter().for_each(|&c| sizes[c] += 1);
        let blocks = Blocks::from_sizes(sizes);
        Ok(Dataset { x: selected, blocks, classes, order, groups: None, weights: None, views: Vec::new() })
    }

    /// The same data with a group number for every sample, in the order of the data given to [`Dataset::new`]: samples of one group (several
    /// of one person, for example) are left out together where samples are left out.
    pub fn with_groups(self, groups: &[usize]) -> Result<Self> {
        if groups.len() != self.n_samples() {
            return Err(Error::shape("groups", format!("one per sample ({})", self.n_samples()), groups.len()));
        }
        let sorted: Vec<usize> = self.order.iter().map(|&i| groups[i]).collect();
        let same = sorted.iter().all(|&group| group == sorted[0]);
        if same {
            return Err(Error::Data("all samples are in one group: nothing is left to learn from without it".into()));
        }
        Ok(Dataset { groups: Some(sorted), ..self })
    }

    /// The same data with a weight for every sample, in the order of the data given to [`Dataset::new`]: a weight of two stands for the sample
    /// twice, zero for its absence. Samples of weight zero are left out, and a class of which nothing else is left; weights that
    /// are all one are none.
    pub fn with_weights(self, weights: &[f64]) -> Result<Self> {
        if weights.len() != self.n_samples() {
            return Err(Error::shape(
                "weights of samples",
                format!("one per sample ({})", self.n_samples()),
                weights.len(),
            ));
        }
        if let Some(i) = weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
            return Err(Error::Data(format!(
                "the weight of sample {i} (counted from 0) is {}: weights must be numbers that are not negative",
                weights[i]
            )));
        }
        if weights.iter().all(|w| *w == 0.0) {
            return Err(Error::Data("the weight of every sample is zero: nothing is left to learn from".into()));
        }
        let sorted: Vec<f64> = self.order.iter().map(|&i| weights[i]).collect();
        if sorted.iter().all(|w| *w == 1.0) {
            return Ok(self);
        }
        let places: Vec<usize> = (0..sorted.len()).filter(|&i| sorted[i] > 0.0).collect();
        if places.len() == sorted.len() {
            return Ok(Dataset { weights: Some(sorted), ..self });
        }
        let left = self.subset(&places)?;
        let of_columns = |column: usize| places[left.order[column]];
        let columns: Vec<usize> = (0..places.len()).map(of_columns).collect();
        let weights: Vec<f64> = columns.iter().map(|&column| sorted[column]).collect();
        Ok(Dataset {
            order: columns.iter().map(|&column| self.order[column]).collect(),
            groups: self.groups.map(|groups| columns.iter().map(|&column| groups[column]).collect()),
            weights: weights.iter().any(|w| *w != 1.0).then_some(weights),
            ..left
        })
    }

    /// The samples at these columns with their weights, without their groups; a class of which none is among them is left out.
    pub fn subset(&self, places: &[usize]) -> Result<Self> {
        let part = Dataset::from_places(self.x(), &self.classes, &self.targets(), places)?;
        let weights = self.weights.as_ref().map(|weights| part.order.iter().map(|&i| weights[places[i]]).collect());
        Ok(Dataset { weights, views: self.views.clone(), ..part })
    }

    /// The same data, whose features are those of several views of the samples, one view after the other: so many features each. Methods
    /// that weigh views against each other read this; to all others they are features like any.
    pub(crate) fn with_views(self, sizes: &[usize]) -> Self {
        debug_assert!(sizes.is_empty() || sizes.iter().sum::<usize>() == self.n_features());
        Dataset { views: if sizes.len() > 1 { sizes.to_vec() } else { Vec::new() }, ..self }
    }

    /// Numbers of features of the views, if there are several.
    pub(crate) fn views(&self) -> &[usize] {
        &self.views
    }

    /// The same samples, classes and order with weights from a quarter to two.
    #[cfg(test)]
    pub(crate) fn weighted_for_tests(&self) -> Self {
        let weights = (0..self.n_samples()).map(|i| 0.25 * (1 + i * i % 8) as f64).collect();
        Dataset { weights: Some(weights), ..self.clone() }
    }

    /// All samples but one.
    #[cfg(test)]
    pub(crate) fn without(&self, i: usize) -> Self {
        self.subset(&(0..self.n_samples()).filter(|&j| j != i).collect::<Vec<_>>()).unwrap()
    }

    /// The group of every column, if there are groups.
    pub fn groups(&self) -> Option<&[usize]> {
        self.groups.as_deref()
    }

    /// The weight of every column, if not all are one.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// Roots of the weights: what multiplies the samples where their squares are summed.
    pub fn roots(&self) -> Option<Vec<f64>> {
        self.weights.as_ref().map(|weights| weights.iter().map(|w| w.sqrt()).collect())
    }

    /// The sum of the weights of each class: its number of samples, where there are none.
    pub fn class_weights(&self) -> Vec<f64> {
        let of_class = |range: std::ops::Range<usize>| match &self.weights {
            Some(weights) => weights[range].iter().sum(),
            None => range.len() as f64,
        };
        self.blocks.ranges().map(of_class).collect()
    }

    /// The same classes with every sample multiplied by the root of its weight, and without weights.
    pub fn times_roots(&self) -> std::borrow::Cow<'_, Self> {
        let Some(roots) = self.roots() else { return std::borrow::Cow::Borrowed(self) };
        let x = Mat::from_fn(self.n_features(), self.n_samples(), |i, j| self.x[(i, j)] * roots[j]);
        let Dataset { x: _, blocks, classes, order, groups, weights: _, views } = self;
        std::borrow::Cow::Owned(Dataset {
            x,
            blocks: blocks.clone(),
            classes: classes.clone(),
            order: order.clone(),
            groups: groups.clone(),
            weights: None,
            views: views.clone(),
        })
    }

    /// The samples, features x samples, grouped by class.
    pub fn x(&self) -> MatRef<'_, f64> {
        self.x.as_ref()
    }

    /// The samples of class `c`.
    pub fn class(&self, c: usize) -> MatRef<'_, f64> {
        let range = self.blocks.range(c);
        self.x.subcols(range.start, range.len())
    }

    /// Which columns belong to which class.
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// Class of every column.
    pub fn targets(&self) -> Vec<usize> {
        self.blocks.labels()
    }

    /// Class names in class order.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.classes.len()
    }

    /// Number of samples.
    pub fn n_samples(&self) -> usize {
        self.x.ncols()
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.x.nrows()
    }

    /// Position, in the data given to [`Dataset::new`], of every column.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The same samples and classes with other features, all of one view; `x` must have as many columns.
    pub fn with_features(&self, x: Mat<f64>) -> Result<Self> {
        if x.ncols() != self.n_samples() {
            return Err(Error::shape("samples", self.n_samples(), x.ncols()));
        }
        check_finite(&x)?;
        // Field by field: the features that are replaced are not copied.
        let Dataset { x: _, blocks, classes, order, groups, weights, views: _ } = self;
        Ok(Dataset {
            x,
            blocks: blocks.clone(),
            classes: classes.clone(),
            order: order.clone(),
            groups: groups.clone(),
            weights: weights.clone(),
            views: Vec::new(),
        })
    }
}

/// The classes that occur, in class order, and `targets` as positions among them.
fn occurring(classes: &[String], targets: Vec<usize>) -> (Vec<String>, Vec<usize>) {
    let mut occurs = vec![false; classes.len()];
    targets.iter().for_each(|&c| occurs[c] = true);
    if occurs.iter().all(|&occurs| occurs) {
        return (classes.to_vec(), targets);
    }
    // Without a class that is no number the others may be in another order.
    let left: Vec<String> =
        classes.iter().zip(&occurs).filter(|(_, occurs)| **occurs).map(|(class, _)| class.clone()).collect();
    let left = sorted_classes(&left);
    let place_of: HashMap<&str, usize> = left.iter().enumerate().map(|(c, name)| (name.as_str(), c)).collect();
    let targets = targets.into_iter().map(|c| place_of[classes[c].as_str()]).collect();
    (left, targets)
}

/// Refuses NaN and infinity, naming sample and feature.
pub fn check_finite(x: impl View) -> Result<()> {
    check_finite_from(0, x.view())
}

/// [`check_finite`] for samples that are counted from `first`.
pub(crate) fn check_finite_from(first: usize, x: MatRef<'_, f64>) -> Result<()> {
    let Some((i, j)) = first_not_finite(x) else { return Ok(()) };
    Err(Error::Data(format!(
        "sample {}, feature {i} (counted from 0) is {}: remove or impute such values first",
        first + j,
        x[(i, j)]
    )))
}

/// The distinct labels in class order: by value if every one is a number, else by name.
pub fn sorted_classes(labels: &[String]) -> Vec<String> {
    let mut classes: Vec<String> = labels.to_vec();
    classes.sort_unstable();
    classes.dedup();
    let numbers: Option<Vec<f64>> =
        classes.iter().map(|label| label.parse().ok().filter(|v: &f64| v.is_finite())).collect();
    if let Some(numbers) = numbers {
        let mut pairs: Vec<(f64, String)> = numbers.into_iter().zip(classes).collect();
        pairs.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal).then_with(|| a.1.cmp(&b.1)));
        classes = pairs.into_iter().map(|(_, label)| label).collect();
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(labels: &[&str]) -> Vec<String> {
        labels.iter().map(|s| s.to_string()).collect()
    }

    #[test]
    fn groups_by_class_in_numeric_order_and_keeps_sample_order() {
        let x = Mat::from_fn(1, 5, |_, j| j as f64);
        let data = Dataset::new(&x, &names(&["10", "2", "10", "2", "1"])).unwrap();
        assert_eq!(data.classes(), ["1", "2", "10"]);
        assert_eq!(data.order(), [4, 1, 3, 0, 2]);
        assert_eq!((0..5).map(|j| data.x()[(0, j)]).collect::<Vec<_>>(), [4., 1., 3., 0., 2.]);
        assert_eq!(data.targets(), [0, 1, 1, 2, 2]);
    }

    #[test]
    fn subsets_are_what_their_labels_alone_would_make() {
        let x = Mat::from_fn(2, 7, |i, j| (10 * i + j) as f64);
        let texts = names(&["10", "b", "9", "b", "9", "10", "a"]);
        let all = Labels::new(&texts);
        assert_eq!(all, Labels { classes: names(&["10", "9", "a", "b"]), targets: vec![0, 3, 1, 3, 1, 0, 2] });
        // Of numbers alone the order is another.
        for places in [vec![6, 5, 4, 3], vec![0, 2, 4, 5], vec![5, 2, 0], (0..7).collect()] {
            let kept: Vec<String> = places.iter().map(|&i| texts[i].clone()).collect();
            let expected = Dataset::new(select_columns(&x, &places), &kept).unwrap();
            let found = Dataset::from_places(&x, &all.classes, &all.targets, &places).unwrap();
            assert_eq!(found.classes(), expected.classes());
            assert_eq!((found.x(), found.order(), found.blocks()), (expected.x(), expected.order(), expected.blocks()));
        }
        let whole = Dataset::from_targets(&x, &all.classes, &all.targets).unwrap();
        let one_class = whole.blocks().range(3).collect::<Vec<_>>();
        assert!(whole.subset(&one_class).unwrap_err().to_string().contains("only one class (`b`)"));
        assert!(whole.subset(&[]).unwrap_err().to_string().contains("no data: 0 samples"));
        assert!(Dataset::from_targets(&x, &all.classes[..3], &all.targets).is_err());
        let moved = whole.with_features(Mat::zeros(1, 7)).unwrap();
        assert_eq!((moved.n_features(), moved.order(), moved.classes()), (1, whole.order(), whole.classes()));
    }

    #[test]
    fn weights_follow_their_samples_and_zero_leaves_them_out() {
        let x = Mat::from_fn(1, 5, |_, j| j as f64);
        let data = || Dataset::new(&x, &names(&["b", "a", "c", "a", "b"])).unwrap();
        let weighted = data().with_groups(&[0, 1, 2, 3, 4]).unwrap().with_weights(&[0.5, 0.0, 0.0, 2.0, 3.0]).unwrap();
        assert_eq!((weighted.classes(), weighted.order()), (&names(&["a", "b"])[..], &[3, 0, 4][..]));
        assert_eq!(weighted.weights(), Some(&[2.0, 0.5, 3.0][..]));
        assert_eq!((weighted.groups(), weighted.x()[(0, 1)]), (Some(&[3, 0, 4][..]), 0.0));
        assert_eq!(weighted.class_weights(), [2.0, 3.5]);
        assert_eq!(weighted.subset(&[2, 0]).unwrap().weights(), Some(&[2.0, 3.0][..]));
        assert_eq!(weighted.times_roots().x()[(0, 0)], 3.0 * 2f64.sqrt());
        assert!(data().with_weights(&[1.0; 5]).unwrap().weights().is_none());
        let message = |weights: &[f64]| data().with_weights(weights).unwrap_err().to_string();
        assert!(message(&[1.0; 4]).contains("one per sample (5)"));
        assert!(message(&[1.0, -1.0, 1.0, 1.0, 1.0]).starts_with("the weight of sample 1"));
        assert!(message(&[f64::NAN; 5]).contains("NaN") && message(&[0.0; 5]).contains("every sample is zero"));
        assert!(message(&[1.0, 0.0, 0.0, 0.0, 1.0]).contains("only one class (`b`)"));
    }

    #[test]
    fn bad_data_is_refused_by_name() {
        let x = Mat::from_fn(2, 2, |i, j| if (i, j) == (1, 0) { f64::NAN } else { 1.0 });
        let two = names(&["a", "b"]);
        let message = |r: Result<Dataset>| r.unwrap_err().to_string();
        assert!(message(Dataset::new(&x, &two)).starts_with("sample 0, feature 1"));
        let ok = Mat::<f64>::zeros(2, 2);
        assert!(message(Dataset::new(&ok, &names(&["a"]))).contains("one per sample (2), found 1"));
        assert!(message(Dataset::new(&ok, &names(&["a", "a"]))).contains("only one class (`a`)"));
        assert!(message(Dataset::new(Mat::zeros(0, 2), &two)).starts_with("no data"));
    }
}
