//! Contiguous ranges of columns, one per class: samples and atoms alike.

use std::ops::Range;

/// Columns `0..total` cut into one contiguous range per class, in class order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    ends: Vec<usize>,
}

impl Blocks {
    /// Blocks of the given sizes, in order.
    pub fn from_sizes(sizes: impl IntoIterator<Item = usize>) -> Self {
        let ends = sizes
            .into_iter()
            .scan(0usize, |end, size| {
                *end += size;
                Some(*end)
            })
            .collect();
        Blocks { ends }
    }

    /// Number of blocks (classes).
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there is no block at all.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Number of columns in all blocks.
    pub fn total(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Columns of class `c`.
    pub fn range(&self, c: usize) -> Range<usize> {
        let start = if c == 0 { 0 } else { self.ends[c - 1] };
        start..self.ends[c]
    }

    /// Number of columns of class `c`.
    pub fn size(&self, c: usize) -> usize {
        self.range(c).len()
    }

    /// All ranges in class order.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = Range<usize>> + '_ {
        (0..self.len()).map(|c| self.range(c))
    }

    /// All sizes in class order.
    pub fn sizes(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.ranges().map(|range| range.len())
    }

    /// The class of every column.
    pub fn labels(&self) -> Vec<usize> {
        self.sizes().enumerate().flat_map(|(c, size)| std::iter::repeat_n(c, size)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_all_columns_once() {
        let blocks = Blocks::from_sizes([2, 0, 3]);
        assert_eq!(blocks.ranges().collect::<Vec<_>>(), [0..2, 2..2, 2..5]);
        assert_eq!(blocks.labels(), [0, 0, 2, 2, 2]);
        assert_eq!((blocks.len(), blocks.total()), (3, 5));
    }
}
