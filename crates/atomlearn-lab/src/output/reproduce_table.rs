//! A reproduced table, or one of an ablation, for people.

use crate::output::tables::{p_value, percent, seconds};
use crate::output::text_table::TextTable;
use crate::run::reproduce::{Reproduction, RowResult};
use crate::stats::statistics::mean;

impl Reproduction {
    /// Published and ours: with one training size, accuracies and times; with several, one column per size.
    pub fn cells(&self) -> TextTable {
        match self.protocol.train_per_class.len() {
            _ if self.baseline.is_some() => self.part_by_part(),
            1 => self.one_size(),
            _ => self.by_size(),
        }
    }

    /// One line for every row, rule and size, with its difference from the baseline under the same rule.
    fn part_by_part(&self) -> TextTable {
        let head = ["per class", "method", "rule", "accuracy %", "95 % interval", "diff.", "p (Holm)", "train s"];
        let row = |result: &RowResult| {
            let interval = |[low, high]: [f64; 2]| format!("{} to {}", percent(low), percent(high));
            vec![
                result.train_per_class.to_string(),
                result.name.clone(),
                result.rule.clone(),
                percent(result.mean),
                result.ci95.map_or("-".into(), interval),
                result.difference.map_or("-".into(), |difference| format!("{:+.2}", 100.0 * difference)),
                result.p_holm.map_or("-".into(), p_value),
                seconds(mean(&result.train_seconds)),
            ]
        };
        // A difference that is significant stands out.
        let clear = |(i, result): (usize, &RowResult)| result.p_holm.is_some_and(|p| p < 0.05).then_some((i, 5));
        let mut cells = TextTable {
            head: head.map(String::from).to_vec(),
            rows: self.results.iter().map(row).collect(),
            bold: self.results.iter().enumerate().filter_map(clear).collect(),
        };
        if self.protocol.train_per_class.len() == 1 {
            cells.head.remove(0);
            cells.rows.iter_mut().for_each(|row| drop(row.remove(0)));
            cells.bold.iter_mut().for_each(|(_, column)| *column -= 1);
        }
        cells
    }

    fn one_size(&self) -> TextTable {
        let other = self.columns.1.as_ref();
        let mut head = vec!["method".to_string(), format!("{} %", self.columns.0)];
        head.extend(other.map(|name| format!("{name} %")));
        let rest = ["ours %", "diff.", "paper train s", "train s", "paper test s", "test s"];
        head.extend(rest.map(String::from));
        let ours = head.iter().position(|name| name == "ours %").unwrap_or(0);
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let row = |result: &RowResult| {
            let mut row = vec![result.name.clone(), or_dash(result.published.map(one_decimal))];
            row.extend(other.map(|_| or_dash(result.published_other.map(one_decimal))));
            row.extend([
                spread(result),
                or_dash(result.difference.map(|difference| format!("{:+.2}", 100.0 * difference))),
                or_dash(result.published_train_seconds.map(|s| s.to_string())),
                seconds(mean(&result.train_seconds)),
                or_dash(result.published_test_seconds.map(|s| s.to_string())),
                seconds(mean(&result.test_seconds)),
            ]);
            row
        };
        let best = self.results.iter().map(|result| result.mean).fold(0.0, f64::max);
        let is_best = |(i, result): (usize, &RowResult)| (result.mean == best).then_some((i, ours));
        TextTable {
            head,
            rows: self.results.iter().map(row).collect(),
            bold: self.results.iter().enumerate().filter_map(is_best).collect(),
        }
    }

    fn by_size(&self) -> TextTable {
        let sizes = &self.protocol.train_per_class;
        let of_size = |size: usize| self.results.iter().filter(move |result| result.train_per_class == size);
        let mut names: Vec<&str> = Vec::new();
        for result in &self.results {
            if !names.contains(&result.name.as_str()) {
                names.push(&result.name);
            }
        }
        let head = std::iter::once("method, ours (paper) %".to_string())
            .chain(sizes.iter().map(|size| format!("{size} per class")))
            .chain(["train s".to_string(), "test s".to_string()])
            .collect();
        let mut cells = TextTable { head, ..TextTable::default() };
        for (i, name) in names.iter().enumerate() {
            let mut row = vec![name.to_string()];
            let mut last = None;
            for (j, &size) in sizes.iter().enumerate() {
                let found = of_size(size).find(|result| result.name == *name);
                row.push(found.map_or("-".into(), |result| match result.published {
                    Some(published) => format!("{} ({})", one_decimal(result.mean), one_decimal(published)),
                    None => one_decimal(result.mean),
                }));
                let best = of_size(size).map(|result| result.mean).fold(0.0, f64::max);
                cells.bold.extend(found.filter(|result| result.mean == best).map(|_| (i, j + 1)));
                last = found.or(last);
            }
            let times = last.map(|result| [&result.train_seconds, &result.test_seconds].map(|t| seconds(mean(t))));
            row.extend(times.unwrap_or_default());
            cells.rows.push(row);
        }
        cells
    }

    /// What the signs in the table mean, in a line.
    pub fn legend(&self) -> &'static str {
        match (self.baseline.is_some(), self.protocol.train_per_class.len(), self.protocol.repeats) {
            (true, ..) => "* marks differences from the whole method that are beyond chance (p < 0.05).\n",
            (_, 1, 2..) => "± is the standard deviation over the splits; * marks the highest of ours.\n",
            _ => "* marks the highest of ours.\n",
        }
    }

    /// What a reader must know to read the table.
    pub fn caption(&self) -> String {
        let (data, protocol) = (&self.data, &self.protocol);
        let sizes: Vec<String> = protocol.train_per_class.iter().map(usize::to_string).collect();
        let times = if sizes.len() > 1 { "; times for the largest training size" } else { "" };
        format!(
            "{}, {} of {}\n{}: {} samples, {} features, {} classes; {} training samples per class, {} splits, seed {}; \
             preprocessing {}{times}",
            self.title,
            self.table,
            self.paper,
            data.path,
            data.samples,
            data.features,
            data.classes,
            sizes.join(", "),
            protocol.repeats,
            protocol.seed,
            protocol.prep
        )
    }
}

fn one_decimal(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

fn spread(result: &RowResult) -> String {
    match result.std {
        Some(std) => format!("{} ± {}", percent(result.mean), percent(std)),
        None => percent(result.mean),
    }
}
