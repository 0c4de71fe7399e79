//! A sweep as a table for the terminal.

use crate::output::tables::percent;
use crate::output::text_table::plain_table;
use crate::output::tune_table::{value_text, values_text};
use crate::run::sweep::Sweep;
use comfy_table::CellAlignment;
use serde_json::Value;

impl Sweep {
    /// One row per value, one column per rule: mean and 95 % interval.
    pub fn terminal(&self, width: u16, color: bool) -> String {
        let cell = |value: &Value, rule: &str| {
            let found = self.results.iter().find(|result| result.value == *value && result.rule == rule);
            found.map_or(String::new(), |result| match result.ci95 {
                Some([low, high]) => format!("{} ({} to {})", percent(result.mean), percent(low), percent(high)),
                None => percent(result.mean),
            })
        };
        let rules = self.rules();
        let mut table = plain_table(width, color);
        table.set_header(std::iter::once(self.param.clone()).chain(rules.iter().map(|rule| format!("{rule} %"))));
        for value in self.values() {
            table.add_row(std::iter::once(value_text(value)).chain(rules.iter().map(|rule| cell(value, rule))));
        }
        table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
        let splits = self.protocol.repeats.saturating_mul(self.protocol.folds.unwrap_or(1));
        let note = if splits > 1 { "mean accuracy and its 95 % interval" } else { "accuracy" };
        format!(
            "{}: {} against {}, {splits} splits, preprocessing {}; {note}\nothers: {}\n{table}",
            self.data.path,
            self.method,
            self.param,
            self.protocol.prep,
            values_text(&self.params)
        )
    }
}
