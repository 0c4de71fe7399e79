//! A confusion matrix as a map of shares, with the pairs that are confused most.

use super::axes::{Tick, clipped, clipped_inside, tenth};
use crate::output::tables::percent;
use crate::stats::confusion::Confusion;
use serde::Serialize;

/// More classes than this have no map: a cell would be smaller than a dot.
const MOST_CLASSES: usize = 200;
/// Up to so many classes, every cell has its count and every class its name.
const SPACIOUS: usize = 16;

/// A confusion matrix.
#[derive(Serialize)]
pub struct HeatMap {
    id: String,
    title: String,
    side: f64,
    cell: f64,
    /// Empty where there are too many classes.
    cells: Vec<HeatCell>,
    labels: Vec<Tick>,
    margin: f64,
    spacious: bool,
    n_classes: usize,
    wrong: usize,
    total: usize,
    worst: Vec<ConfusedPair>,
}

#[derive(Serialize)]
struct HeatCell {
    x: f64,
    y: f64,
    opacity: f64,
    count: usize,
    title: String,
    right: bool,
}

/// A confusion.
#[derive(Serialize)]
struct ConfusedPair {
    truth: String,
    taken_for: String,
    count: usize,
    share: String,
}

/// The confusion matrix of one result as shares of each true class.
pub fn heat_map(id: String, title: String, confusion: &Confusion, classes: &[String]) -> HeatMap {
    let n = classes.len().max(1);
    let cell = if n <= SPACIOUS { 34.0 } else { tenth((620.0 / n as f64).min(24.0)) };
    let side = cell * n as f64;
    let shown = n <= MOST_CLASSES;
    let mut cells = Vec::new();
    let mut wrong = 0;
    for (t, row) in confusion.counts.iter().enumerate() {
        let total = confusion.samples(t).max(1) as f64;
        for (p, &count) in row.iter().enumerate().filter(|(_, count)| **count > 0) {
            wrong += if t == p { 0 } else { count };
            if shown {
                let share = count as f64 / total;
                cells.push(HeatCell {
                    x: tenth(p as f64 * cell),
                    y: tenth(t as f64 * cell),
                    // Rare confusions must still be seen, so the scale of the wrong ones starts high and rises fast.
                    opacity: if t == p { 0.1 + 0.9 * share } else { 0.25 + 0.75 * share.sqrt() },
                    count,
                    title: format!("{} taken for {}: {count} ({} %)", classes[t], classes[p], percent(share)),
                    right: t == p,
                });
            }
        }
    }
    let spacious = n <= SPACIOUS;
    // Few classes leave room for whole names.
    let length = match n {
        0..=6 => 16,
        7..=SPACIOUS => 9,
        _ => 12,
    };
    let step = if spacious { 1 } else { (n as f64 * 13.0 / side).ceil() as usize };
    let label =
        |(c, name): (usize, &String)| Tick { at: tenth((c as f64 + 0.5) * cell), label: clipped_inside(name, length) };
    let labels: Vec<Tick> = classes.iter().enumerate().filter(|(c, _)| c % step == 0).map(label).collect();
    let longest = labels.iter().map(|label| label.label.chars().count()).max().unwrap_or(0);
    let pair = |(t, p, count): (usize, usize, usize)| ConfusedPair {
        truth: clipped(&classes[t], 48),
        taken_for: clipped(&classes[p], 48),
        count,
        share: percent(count as f64 / confusion.samples(t).max(1) as f64),
    };
    HeatMap {
        id,
        title,
        side: tenth(side),
        cell,
        cells,
        labels,
        margin: 30.0 + 7.4 * longest as f64,
        spacious,
        n_classes: n,
        wrong,
        total: (0..confusion.counts.len()).map(|t| confusion.samples(t)).sum(),
        worst: confusion.worst(8).into_iter().map(pair).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(n: usize) -> HeatMap {
        let mut confusion = Confusion::new(n);
        let truth: Vec<usize> = (0..3 * n).map(|i| i % n).collect();
        let predictions: Vec<usize> = (0..3 * n).map(|i| if i < n { (i + 1) % n } else { i % n }).collect();
        confusion.add(&truth, &predictions);
        let names: Vec<String> = (0..n).map(|c| format!("class number {c}")).collect();
        heat_map("h".into(), "t".into(), &confusion, &names)
    }

    #[test]
    fn few_many_and_too_many_classes() {
        let few = map(10);
        assert_eq!((few.cells.len(), few.labels.len(), few.spacious, few.wrong, few.total), (20, 10, true, 10, 30));
        assert_eq!((few.worst.len(), few.worst[0].share.as_str()), (8, "33.33"));
        let many = map(100);
        let apart = many.labels[1].at - many.labels[0].at;
        assert!(many.cells.len() == 200 && apart >= 12.0 && many.side <= 640.0, "{apart}");
        let too_many = map(300);
        assert!(too_many.cells.is_empty() && too_many.worst.len() == 8);
    }
}
