//! Labels: one rule for what a label is called, label files beside the data, class names in place of class numbers.
//!
//! Files that know types (`.mat`, `.h5`, `.npy`, `.npz`, `.parquet`) say themselves what is a number, a text, or missing:
//! numbers are written as [`number_label`](super::array::number_label) has it, text is kept letter by letter. Files of text (`.csv`,
//! `.tsv`, LIBSVM, lists of labels) go through [`from_cell`]: what is written as a number is that number, the rest is kept
//! as written. A sample without a label is an error.

use super::array::{Array, number_label};
use super::{limits, npy};
use crate::{Error, Result};
use std::path::Path;

/// Names under which a label variable or column is looked for, in this order.
pub(super) const LABEL_NAMES: [&str; 7] = ["y", "Y", "labels", "label", "gnd", "target", "class"];

/// What marks a missing value in a file of text; the same as for `pandas.read_csv`.
const MISSING: [&str; 18] = [
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL",
    "NaN", "None", "n/a", "nan", "null",
];

/// Labels of the samples; `numeric` says that they were stored as numbers.
#[derive(Debug)]
pub(super) struct LabelTexts {
    pub(super) text: Vec<String>,
    pub(super) numeric: bool,
}

/// The elements of a stored vector as labels; or the classes of a one-hot matrix, numbered from `first_class`, if that is given.
pub(super) fn from_array(
    path: &Path,
    name: &str,
    array: &Array,
    first_class: Option<usize>,
    file_bytes: usize,
) -> Result<LabelTexts> {
    if array.shape.iter().filter(|&&size| size != 1).count() > 1 {
        let named = |first: usize| Some(one_hot(array)?.iter().map(|class| (class + first).to_string()).collect());
        let text = first_class.and_then(named);
        return text.map(|text| LabelTexts { text, numeric: true }).ok_or_else(|| {
            Error::shape(
                format!("{}: labels `{name}`", path.display()),
                "one label per sample (a vector), or a matrix of classes and samples with a single 1 for every \
                       sample and 0 elsewhere",
                limits::shape_text(&array.shape),
            )
        });
    }
    // Numbers become text too, which takes far more than they do.
    limits::TextBudget::new(path, name, file_bytes).add(array.len(), 0)?;
    let label = |i| array.label(i).filter(|label| !label.is_empty()).ok_or_else(|| missing_label(path, i));
    let text = (0..array.len()).map(label).collect::<Result<Vec<String>>>()?;
    Ok(LabelTexts { text, numeric: !array.is_text() })
}

/// The place of the only 1 in every column or, failing that, in every row; `None` where the matrix is no such thing or, as a
/// permutation, could be both.
fn one_hot(array: &Array) -> Option<Vec<usize>> {
    let &[rows, cols] = array.shape.as_slice() else { return None };
    let (mut of_col, mut of_row) = (vec![None; cols], vec![None; rows]);
    let (mut one_per_col, mut one_per_row) = (true, true);
    for (i, own_row) in of_row.iter_mut().enumerate() {
        for (j, own_col) in of_col.iter_mut().enumerate() {
            let value = array.number(if array.row_major { i * cols + j } else { i + j * rows });
            if value == 1.0 {
                one_per_col &= own_col.replace(i).is_none();
                one_per_row &= own_row.replace(j).is_none();
            } else if value != 0.0 {
                return None;
            }
        }
    }
    let by_col: Option<Vec<usize>> = of_col.into_iter().collect::<Option<_>>().filter(|_| one_per_col);
    let by_row: Option<Vec<usize>> = of_row.into_iter().collect::<Option<_>>().filter(|_| one_per_row);
    match (by_col, by_row) {
        (Some(classes), None) | (None, Some(classes)) => Some(classes),
        _ => None,
    }
}

/// What to say about a sample without a label.
pub(super) fn missing_label(path: &Path, sample: usize) -> Error {
    Error::Data(format!(
        "{}: the label of sample {} (counted from 0) is missing or not a finite number; fix or remove it",
        path.display(),
        sample
    ))
}

/// The label in a cell of a file of text: a number as other files' numbers, the rest as written.
///
/// `1`, `+1`, `1.0` and `1e0` are one class; whole numbers keep all their digits. A leading zero makes a code of a number
/// (`007`), which is text. Every cell is judged by itself: a part of the samples, be it a test file or a shard, must not
/// give a class another name than the whole does.
pub(super) fn from_cell(path: &Path, sample: usize, cell: &str) -> Result<String> {
    let cell = cell.trim();
    if cell.is_empty() {
        return Err(missing_label(path, sample));
    }
    if MISSING.contains(&cell) || cell.parse::<f64>().is_ok_and(f64::is_nan) {
        return Err(Error::Data(format!(
            "{}: the label of sample {sample} (counted from 0) is `{cell}`, which marks a missing value; \
             fix or remove the sample, or give the class another name",
            path.display()
        )));
    }
    Ok(canonical(cell).unwrap_or_else(|| cell.to_string()))
}

/// The labels of a file of text, given as its cells.
pub(super) fn from_text<'a>(path: &Path, cells: impl IntoIterator<Item = &'a str>) -> Result<LabelTexts> {
    let mut text = Vec::new();
    let mut numeric = true;
    for (sample, cell) in cells.into_iter().enumerate() {
        text.push(from_cell(path, sample, cell)?);
        numeric &= is_number(cell.trim());
    }
    Ok(LabelTexts { text, numeric })
}

/// A finite number, and no code such as `007`.
fn is_number(cell: &str) -> bool {
    let mut digits = cell.trim_start_matches(['+', '-']).bytes();
    let code = digits.next() == Some(b'0') && digits.next().is_some_and(|second| second.is_ascii_digit());
    !code && cell.parse::<f64>().is_ok_and(f64::is_finite)
}

/// A cell that is a number as a label. Whole ones do not pass through `f64`, which has digits for 2^53 only.
fn canonical(cell: &str) -> Option<String> {
    if !is_number(cell) {
        return None;
    }
    let (sign, digits) = match cell.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", cell.strip_prefix('+').unwrap_or(cell)),
    };
    let whole = digits.split_once('.').map_or(digits, |(whole, rest)| match rest.bytes().all(|digit| digit == b'0') {
        true => whole,
        false => digits,
    });
    match whole {
        "" => number_label(cell.parse().ok()?),
        "0" => Some("0".into()),
        _ if whole.bytes().all(|digit| digit.is_ascii_digit()) => Some(format!("{sign}{whole}")),
        _ => number_label(cell.parse().ok()?),
    }
}

/// A label file: `.npy`, or text with one label per line under an optional heading.
pub(super) fn read_file(path: &Path) -> Result<LabelTexts> {
    let bytes = limits::read_file(path)?;
    if bytes.starts_with(npy::MAGIC) {
        return from_array(path, "labels", &npy::parse(path, "labels", &bytes)?, Some(0), bytes.len());
    }
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| Error::format(path, "neither .npy nor UTF-8 text with one label per line"))?;
    let mut lines: Vec<&str> = text.trim_start_matches('\u{feff}').lines().map(str::trim).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    if lines.first().is_some_and(|line| LABEL_NAMES.contains(line)) {
        lines.remove(0);
    }
    from_text(path, lines)
}

/// Replaces class numbers by names, the first of which is that of class `first`: 0 or 1.
///
/// Which of the two is never guessed from the numbers that occur, since a file of some classes alone would then be read
/// otherwise than a file of all.
pub(super) fn name_classes(path: &Path, labels: &mut [String], names: &[String], first: usize) -> Result<()> {
    for label in labels {
        let place = label.parse::<usize>().ok().and_then(|number| number.checked_sub(first));
        let Some(name) = place.and_then(|place| names.get(place)) else {
            return Err(Error::Data(format!(
                "{}: label {label} has no entry among the {} names in `class_names`, which count from {first} in this \
                 file (from 1 in .mat, from 0 in other files); number the classes so, or store the number of the first \
                 class, 0 or 1, in a variable `first_class`",
                path.display(),
                names.len(),
            )));
        };
        *label = name.clone();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(labels: &[&str], first: usize) -> Result<Vec<String>> {
        let mut labels: Vec<String> = labels.iter().map(|s| s.to_string()).collect();
        name_classes(Path::new("a.mat"), &mut labels, &["cat".into(), "dog".into(), "eel".into()], first)?;
        Ok(labels)
    }

    #[test]
    fn class_numbers_become_the_same_names_whichever_of_them_occur() {
        assert_eq!(named(&["1", "3", "2"], 1).unwrap(), ["cat", "eel", "dog"]);
        assert_eq!(named(&["1", "2"], 1).unwrap(), ["cat", "dog"]);
        assert_eq!(named(&["0", "2"], 0).unwrap(), ["cat", "eel"]);
        assert_eq!(named(&["1", "2"], 0).unwrap(), ["dog", "eel"]);
        for (wrong, first) in [("3", 0), ("0", 1), ("4", 1), ("-1", 0), ("1.5", 1)] {
            let message = named(&["1", wrong], first).unwrap_err().to_string();
            assert!(message.contains(&format!("label {wrong} ")) && message.contains("first_class"), "{message}");
        }
    }

    fn labels(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| from_cell(Path::new("a.csv"), 0, cell).unwrap()).collect()
    }

    #[test]
    fn numbers_are_numbers_however_written_and_the_rest_is_text() {
        let ones = ["1", "+1", " 1.0 ", "1e0", "1.", "10e-1"];
        assert_eq!(labels(&ones), ["1"; 6]);
        assert_eq!(labels(&["-0", "-2.0", "0.50", ".5", "5e-1", "30"]), ["0", "-2", "0.5", "0.5", "0.5", "30"]);
        assert_eq!(
            labels(&["v1.0", "1-2", "007", "-01", "inf", "none", "na"]),
            ["v1.0", "1-2", "007", "-01", "inf", "none", "na"]
        );
    }

    #[test]
    fn whole_numbers_keep_all_digits() {
        let large =
            ["9007199254740992", "9007199254740993", "+9007199254740993.0", "340282366920938463463374607431768211456"];
        assert_eq!(labels(&large), ["9007199254740992", "9007199254740993", "9007199254740993", large[3]]);
    }

    #[test]
    fn missing_labels_are_named() {
        for marker in ["NA", "null", "None", "nan", "NAN", "<NA>", ""] {
            let message = from_cell(Path::new("a.csv"), 1, marker).unwrap_err().to_string();
            assert!(message.contains("sample 1 ") && message.contains(marker), "{message}");
        }
    }
}
