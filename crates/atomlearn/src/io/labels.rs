//! Label files beside the data, and class names in place of class numbers.

use super::array::Array;
use super::{limits, npy};
use crate::{Error, Result};
use std::path::Path;

/// Names under which a label variable or column is looked for, in this order.
pub(super) const LABEL_NAMES: [&str; 7] = ["y", "Y", "labels", "label", "gnd", "target", "class"];

/// Labels of the samples; `numeric` says that they were stored as numbers.
#[derive(Debug)]
pub(super) struct Labels {
    pub(super) text: Vec<String>,
    pub(super) numeric: bool,
}

/// The elements of a stored vector as labels.
pub(super) fn from_array(path: &Path, name: &str, array: &Array) -> Result<Labels> {
    if array.shape.iter().filter(|&&size| size != 1).count() > 1 {
        return Err(Error::Shape {
            what: format!("{}: labels `{name}`", path.display()),
            expected: "one label per sample (a vector)".into(),
            found: limits::shape_text(&array.shape),
        });
    }
    let text = (0..array.len())
        .map(|i| array.label(i).ok_or_else(|| missing_label(path, i)))
        .collect::<Result<Vec<String>>>()?;
    Ok(Labels { text, numeric: !array.is_text() })
}

/// What to say about a sample without a label.
pub(super) fn missing_label(path: &Path, sample: usize) -> Error {
    Error::Data(format!(
        "{}: the label of sample {} (counted from 0) is missing or not a finite number; mend or remove it",
        path.display(),
        sample
    ))
}

/// The labels of a file of text, given as its cells.
pub(super) fn from_text<'a>(path: &Path, cells: impl IntoIterator<Item = &'a str>) -> Result<Labels> {
    let cells: Vec<&str> = cells.into_iter().map(str::trim).collect();
    let missing = |cell: &&str| cell.is_empty() || cell.eq_ignore_ascii_case("nan");
    if let Some(sample) = cells.iter().position(missing) {
        return Err(missing_label(path, sample));
    }
    let numeric = cells.iter().all(|cell| cell.parse::<f64>().is_ok());
    Ok(Labels { text: cells.into_iter().map(tidy).collect(), numeric })
}

/// A label file: `.npy`, or text with one label per line under an optional heading.
pub(super) fn read_file(path: &Path) -> Result<Labels> {
    let bytes = limits::read_file(path)?;
    if bytes.starts_with(npy::MAGIC) {
        return from_array(path, "labels", &npy::parse(path, "labels", &bytes)?);
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
    if let Some(empty) = lines.iter().position(|line| line.is_empty()) {
        return Err(missing_label(path, empty));
    }
    let numeric = lines.iter().all(|line| line.parse::<f64>().is_ok());
    Ok(Labels { text: lines.iter().map(|line| tidy(line)).collect(), numeric })
}

/// A label from text: `3.0` becomes `3`, so that files of different kinds agree; all else stays as written.
pub(super) fn tidy(label: &str) -> String {
    let label = label.trim();
    match label.strip_suffix('0').map(|rest| rest.trim_end_matches('0')).and_then(|rest| rest.strip_suffix('.')) {
        Some(whole) if whole.parse::<i64>().is_ok() => whole.to_string(),
        _ => label.to_string(),
    }
}

/// Replaces class numbers by names: `1..C` or `0..C-1`, told apart by whether 0 or C occurs and, where neither does,
/// by `first`, the number that the kind of file usually starts from.
pub(super) fn name_classes(path: &Path, labels: &mut [String], names: &[String], first: usize) -> Result<()> {
    let numbers: Option<Vec<usize>> = labels.iter().map(|label| label.parse().ok()).collect();
    let bad = |label: &str| {
        Error::Data(format!(
            "{}: label {label} has no entry among the {} names in `class_names`; number classes 1 to {} or 0 to {}",
            path.display(),
            names.len(),
            names.len(),
            names.len().saturating_sub(1)
        ))
    };
    let Some(numbers) = numbers else {
        let label = labels.iter().find(|label| label.parse::<usize>().is_err());
        return Err(bad(label.map_or("", String::as_str)));
    };
    let base = if numbers.contains(&0) {
        0
    } else if numbers.contains(&names.len()) {
        1
    } else {
        first
    };
    for (label, number) in labels.iter_mut().zip(numbers) {
        let name = number.checked_sub(base).and_then(|index| names.get(index));
        *label = name.ok_or_else(|| bad(label))?.clone();
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn named(labels: &[&str], first: usize) -> Result<Vec<String>> {
        let mut labels: Vec<String> = labels.iter().map(|s| s.to_string()).collect();
        name_classes(Path::new("a.mat"), &mut labels, &["cat".into(), "dog".into(), "eel".into()], first)?;
        Ok(labels)
    }

    #[test]
    fn class_numbers_become_names_from_either_start() {
        assert_eq!(named(&["1", "3", "2"], 0).unwrap(), ["cat", "eel", "dog"]);
        assert_eq!(named(&["0", "2"], 1).unwrap(), ["cat", "eel"]);
        assert_eq!(named(&["1", "2"], 1).unwrap(), ["cat", "dog"]);
        assert_eq!(named(&["1", "2"], 0).unwrap(), ["dog", "eel"]);
        assert!(named(&["0", "3"], 0).is_err());
        assert!(named(&["-1"], 0).is_err());
    }

    #[test]
    fn text_labels_agree_with_numeric_ones() {
        assert_eq!(tidy(" 3.0 "), "3");
        assert_eq!(tidy("30"), "30");
        assert_eq!(tidy("-1.00"), "-1");
        assert_eq!(tidy("v1.0"), "v1.0");
        assert_eq!(tidy("007"), "007");
    }
}
