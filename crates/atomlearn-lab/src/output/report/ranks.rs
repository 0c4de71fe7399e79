//! The critical-difference diagram: average ranks over data sets, and who cannot be told apart.

use super::axes::{Axis, Tick, clipped, tenth};
use crate::output::tables::p_value;
use crate::stats::ranks::{ALPHA, Ranking, left_out_text};
use serde::Serialize;

/// Ranks of methods over several data sets.
#[derive(Clone, Debug, PartialEq)]
pub struct RankSummary {
    /// Names of the methods.
    pub names: Vec<String>,
    /// Average rank of each; 1 is best.
    pub ranks: Vec<f64>,
    /// Sets of methods (as places in `names`) that do not differ significantly.
    pub groups: Vec<Vec<usize>>,
    /// Difference of ranks that would be significant, where the test has one.
    pub critical_difference: Option<f64>,
    /// Number of data sets.
    pub data_sets: usize,
    /// What was tested and how, in a sentence; also whether there were too few data sets to conclude.
    pub note: String,
}

impl From<&Ranking> for RankSummary {
    fn from(ranking: &Ranking) -> Self {
        let friedman = format!(
            "Friedman's test: p {}. Methods joined by a bar differ by less than the critical difference of Nemenyi's test at {} %.",
            p_value(ranking.friedman.p),
            100.0 * ALPHA
        );
        let left_out = (!ranking.left_out.is_empty())
            .then(|| format!("Not in every data set: {}.", left_out_text(&ranking.left_out)));
        RankSummary {
            names: ranking.methods.clone(),
            ranks: ranking.average_ranks.clone(),
            groups: ranking.groups.clone(),
            critical_difference: Some(ranking.critical_difference),
            data_sets: ranking.data_sets.len(),
            note: [friedman]
                .into_iter()
                .chain(left_out)
                .chain(ranking.cautions.iter().cloned())
                .collect::<Vec<_>>()
                .join(" "),
        }
    }
}

const WIDTH: f64 = 300.0;
/// Room for names on each side.
const SIDE: f64 = 165.0;
const ROW: f64 = 22.0;
const TOP: f64 = 34.0;

/// The diagram, ready for the template.
#[derive(Serialize)]
pub struct RankPlot {
    width: f64,
    side: f64,
    height: f64,
    ticks: Vec<Tick>,
    methods: Vec<Ranked>,
    bars: Vec<Bar>,
    critical: Option<Critical>,
    rows: Vec<(String, String)>,
    data_sets: usize,
    note: String,
}

/// A method's name, joined to its rank on the axis.
#[derive(Serialize)]
struct Ranked {
    name: String,
    rank: String,
    at: f64,
    y: f64,
    left: bool,
}

/// A bar over methods that do not differ.
#[derive(Serialize)]
struct Bar {
    from: f64,
    to: f64,
    y: f64,
}

#[derive(Serialize)]
struct Critical {
    length: f64,
    label: String,
}

/// The diagram; `None` if the ranks are invalid or there are fewer than two methods.
pub fn rank_plot(summary: &RankSummary) -> Option<RankPlot> {
    let n = summary.names.len();
    let sound = |rank: &f64| (1.0..=n as f64).contains(rank);
    if !(2..=60).contains(&n) || summary.ranks.len() != n || !summary.ranks.iter().all(sound) {
        return None;
    }
    let axis = Axis::exact(1.0, n as f64, (0.0, WIDTH));
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| summary.ranks[a].total_cmp(&summary.ranks[b]).then(a.cmp(&b)));
    let groups = spans(summary, n);
    let names_top = TOP + 9.0 * groups.len() as f64 + 8.0;
    let half = n.div_ceil(2);
    // The better half is written on the left from top to bottom, the other on the right from bottom to top.
    let ranked = |(place, &m): (usize, &usize)| {
        let row = if place < half { place } else { n - 1 - place };
        Ranked {
            name: clipped(&summary.names[m], 17),
            rank: format!("{:.2}", summary.ranks[m]),
            at: axis.place(summary.ranks[m]),
            y: tenth(names_top + ROW * (row as f64 + 0.5)),
            left: place < half,
        }
    };
    let bar = |(i, &(low, high)): (usize, &(f64, f64))| Bar {
        from: tenth(axis.place(low) - 3.0),
        to: tenth(axis.place(high) + 3.0),
        y: tenth(TOP + 10.0 + 9.0 * i as f64),
    };
    let scale = WIDTH / (n as f64 - 1.0);
    let critical = summary.critical_difference.filter(|cd| *cd > 0.0 && *cd <= n as f64);
    Some(RankPlot {
        width: WIDTH,
        side: SIDE,
        height: tenth(names_top + ROW * half as f64 + 4.0),
        ticks: axis.whole_ticks(10),
        methods: order.iter().enumerate().map(ranked).collect(),
        bars: groups.iter().enumerate().map(bar).collect(),
        critical: critical.map(|cd| Critical { length: tenth((cd * scale).min(WIDTH)), label: format!("CD {cd:.2}") }),
        rows: order.iter().map(|&m| (summary.names[m].clone(), format!("{:.2}", summary.ranks[m]))).collect(),
        data_sets: summary.data_sets,
        note: summary.note.clone(),
    })
}

/// Lowest and highest rank of every group of two or more; groups within another are left out.
fn spans(summary: &RankSummary, n: usize) -> Vec<(f64, f64)> {
    let span = |group: &Vec<usize>| {
        let ranks: Vec<f64> = group.iter().filter(|&&m| m < n).map(|&m| summary.ranks[m]).collect();
        let ends = ranks.iter().fold((f64::MAX, f64::MIN), |(l, h), &r| (l.min(r), h.max(r)));
        (ranks.len() > 1).then_some(ends)
    };
    let mut all: Vec<(f64, f64)> = summary.groups.iter().filter_map(span).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (low, high) in all {
        if kept.iter().all(|&(_, end)| high > end) {
            kept.push((low, high));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary() -> RankSummary {
        RankSummary {
            names: ["a", "b", "c", "d", "e"].map(String::from).to_vec(),
            ranks: vec![3.0, 1.2, 4.6, 2.2, 4.0],
            groups: vec![vec![1, 3], vec![3, 0], vec![0], vec![4, 2], vec![0, 4, 2]],
            critical_difference: Some(1.5),
            data_sets: 7,
            note: "note".into(),
        }
    }

    #[test]
    fn best_first_groups_once_and_everything_within_the_drawing() {
        let plot = rank_plot(&summary()).unwrap();
        assert_eq!(plot.rows.iter().map(|row| row.0.as_str()).collect::<String>(), "bdaec");
        assert_eq!(plot.methods.iter().map(|m| m.left).collect::<Vec<_>>(), [true, true, true, false, false]);
        // {4, 2} lies within {0, 4, 2}; {0} is alone.
        assert_eq!(plot.bars.len(), 3);
        let at = |rank: f64| (rank - 1.0) / 4.0 * WIDTH;
        assert!((plot.bars[0].from - (at(1.2) - 3.0)).abs() < 0.1 && (plot.bars[2].to - (at(4.6) + 3.0)).abs() < 0.1);
        assert!((plot.critical.unwrap().length - 1.5 / 4.0 * WIDTH).abs() < 0.1);
        assert!(plot.methods.iter().all(|m| m.y < plot.height && (0.0..=WIDTH).contains(&m.at)));
    }

    #[test]
    fn nonsense_is_not_drawn() {
        for change in [
            (|s: &mut RankSummary| s.ranks[0] = f64::NAN) as fn(&mut RankSummary),
            |s| s.ranks[0] = 9.0,
            |s| s.ranks.truncate(2),
            |s| s.names.truncate(1),
        ] {
            let mut bad = summary();
            change(&mut bad);
            assert!(rank_plot(&bad).is_none());
        }
        let odd = RankSummary { groups: vec![vec![1, 99]], critical_difference: Some(f64::NAN), ..summary() };
        let plot = rank_plot(&odd).unwrap();
        assert!(plot.bars.is_empty() && plot.critical.is_none());
    }
}
