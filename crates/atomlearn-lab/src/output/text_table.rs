//! A table of texts in every format: terminal, Markdown, CSV, LaTeX.

use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, LineStyle, Table, presets};
use std::fmt::Write;

/// A table of texts; the first column holds names, all others numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextTable {
    /// Names of the columns.
    pub head: Vec<String>,
    /// Rows, each as long as the head.
    pub rows: Vec<Vec<String>>,
    /// Row and column of cells that stand out.
    pub bold: Vec<(usize, usize)>,
}

impl TextTable {
    /// For a terminal of this width; a star marks what stands out where there is no bold.
    pub fn terminal(&self, width: u16, color: bool) -> String {
        let mut table = plain_table(width, color);
        table.set_header(&self.head);
        for (i, row) in self.rows.iter().enumerate() {
            table.add_row(row.iter().enumerate().map(|(j, text)| match self.bold.contains(&(i, j)) {
                true if color => Cell::new(text).add_attribute(Attribute::Bold),
                true => Cell::new(format!("*{text}")),
                false => Cell::new(text),
            }));
        }
        table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
        table.to_string()
    }

    /// A Markdown table.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let escaped = |text: &String| text.replace('|', "\\|");
        let mut text = line(&self.head.iter().map(escaped).collect::<Vec<_>>());
        let _ = writeln!(text, "|---|{}", "---:|".repeat(self.head.len().saturating_sub(1)));
        for (i, row) in self.rows.iter().enumerate() {
            let cell = |(j, text): (usize, &String)| match self.bold.contains(&(i, j)) {
                true => format!("**{}**", escaped(text)),
                false => escaped(text),
            };
            text += &line(&row.iter().enumerate().map(cell).collect::<Vec<_>>());
        }
        text
    }

    /// Comma-separated values with a header.
    pub fn csv(&self) -> String {
        let quoted = |text: &String| match text.contains([',', '"', '\n']) {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => text.clone(),
        };
        let line = |row: &Vec<String>| row.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n";
        std::iter::once(&self.head).chain(&self.rows).map(line).collect()
    }

    /// A LaTeX table for the `booktabs` package, with a comment above it.
    pub fn latex(&self, comment: &str) -> String {
        let mut text = comment.lines().map(|line| format!("% {line}\n")).collect::<String>();
        let columns = "r".repeat(self.head.len().saturating_sub(1));
        let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
        let _ = writeln!(text, "\\begin{{tabular}}{{l{columns}}}\n\\toprule");
        text += &line(self.head.iter().map(|head| tex(head)).collect());
        text += "\\midrule\n";
        for (i, row) in self.rows.iter().enumerate() {
            let cell = |(j, text): (usize, &String)| match self.bold.contains(&(i, j)) {
                true => format!("\\textbf{{{}}}", tex(text)),
                false => tex(text),
            };
            text += &line(row.iter().enumerate().map(cell).collect());
        }
        text + "\\bottomrule\n\\end{tabular}\n"
    }
}

/// An empty table in the toolkit's style, for front ends that print other things.
pub fn plain_table(width: u16, color: bool) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()));
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(width);
    if color {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    table
}

/// Text that LaTeX prints as it is.
pub fn tex(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', c]),
            '\\' => escaped += "\\textbackslash{}",
            '~' => escaped += "\\textasciitilde{}",
            '^' => escaped += "\\textasciicircum{}",
            '±' => escaped += "$\\pm$",
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_by_hand() {
        let texts = |row: &[&str]| row.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        let cells = TextTable {
            head: texts(&["method", "ours %"]),
            rows: vec![texts(&["a_b", "1 ± 2"]), texts(&["c|d, e", "3"])],
            bold: vec![(1, 1)],
        };
        assert_eq!(cells.markdown(), "| method | ours % |\n|---|---:|\n| a_b | 1 ± 2 |\n| c\\|d, e | **3** |\n");
        assert_eq!(cells.csv(), "method,ours %\na_b,1 ± 2\n\"c|d, e\",3\n");
        assert_eq!(
            cells.latex("x"),
            "% x\n\\begin{tabular}{lr}\n\\toprule\nmethod & ours \\% \\\\\n\\midrule\na\\_b & 1 $\\pm$ 2 \\\\\n\
             c|d, e & \\textbf{3} \\\\\n\\bottomrule\n\\end{tabular}\n"
        );
        assert!(cells.terminal(60, false).contains("*3"));
        assert_eq!(tex("\\{}^~"), "\\textbackslash{}\\{\\}\\textasciicircum{}\\textasciitilde{}");
    }
}
