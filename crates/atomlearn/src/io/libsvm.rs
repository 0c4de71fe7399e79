//! The sparse text format of LIBSVM: `label index:value index:value ...`, indices from 1, each once in a line.

use super::table::{check_options, matching, shorten};
use super::{RawData, ReadOptions, Variable, labels, limits};
use crate::{Error, NameKind, Result};
use std::path::Path;

/// Some editors put it before UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// What separates the words of a line; other blanks of Unicode are part of a word.
const BLANKS: [char; 5] = [' ', '\t', '\r', '\x0b', '\x0c'];

/// The entries of a file, sample by sample.
struct Sparse {
    labels: Vec<String>,
    /// Sample, feature, value; features from 0.
    entries: Vec<(usize, usize, f64)>,
    features: usize,
}

/// Reads a file as a dense matrix.
pub(super) fn read(path: &Path, bytes: &[u8], options: &ReadOptions) -> Result<RawData> {
    check_options(path, options)?;
    let sparse = parse(path, bytes)?;
    let n = sparse.labels.len();
    limits::check_expansion(path, "the data", &[sparse.features, n], bytes.len())?;
    let mut x = limits::matrix(path, "the data", (sparse.features, n), bytes.len(), |_, _| 0.0)?;
    for &(sample, feature, value) in &sparse.entries {
        x[(feature, sample)] = value;
    }
    let labels = match (&options.labels, options.y.as_deref()) {
        (Some(file), _) => Some(matching(labels::read_file(file)?, file, n)?),
        (None, Some("none")) => None,
        (None, None) => Some(sparse.labels),
        (None, Some(y)) => return Err(Error::unknown(NameKind::Variable, y, ["none"])),
    };
    Ok(RawData { labels, ..RawData::new(x) })
}

/// The matrix and the labels.
pub(super) fn variables(path: &Path, bytes: &[u8]) -> Result<Vec<Variable>> {
    let sparse = parse(path, bytes)?;
    let n = sparse.labels.len();
    Ok(vec![
        Variable {
            name: "X".into(),
            shape: vec![n, sparse.features],
            kind: format!("sparse, {} stored", sparse.entries.len()),
        },
        Variable { name: "y".into(), shape: vec![n], kind: "label".into() },
    ])
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Sparse> {
    let mut sparse = Sparse { labels: Vec::new(), entries: Vec::new(), features: 0 };
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    for (number, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let bad = |what: &str| Error::format(path, format!("line {}: {what}", number + 1));
        let line = std::str::from_utf8(line).map_err(|_| bad("not UTF-8 text"))?;
        let mut words = line.split('#').next().unwrap_or_default().split(BLANKS).filter(|word| !word.is_empty());
        let Some(label) = words.next() else { continue };
        if label.contains(':') {
            return Err(bad(&format!("starts with `{}` instead of a label; put the class first", shorten(label))));
        }
        let sample = sparse.labels.len();
        let first = sparse.entries.len();
        for word in words {
            let entry = |what: &str| bad(&format!("`{}` {what}", shorten(word)));
            let (index, value) = word.split_once(':').ok_or_else(|| entry("is not index:value"))?;
            // Ranking data carry a group here, which means nothing to a classifier.
            if index == "qid" {
                continue;
            }
            let value = value.parse().map_err(|_| entry("has a value that is not a number"))?;
            let feature = match index.parse::<usize>() {
                Ok(0) => return Err(entry("has index 0; indices start at 1")),
                Ok(index) => index - 1,
                Err(_) => return Err(entry("has an index that is not a whole number")),
            };
            sparse.features = sparse.features.max(feature + 1);
            sparse.entries.push((sample, feature, value));
        }
        if let Some(index) = twice(&sparse.entries[first..]) {
            return Err(bad(&format!("index {index} occurs twice; give every feature one value")));
        }
        sparse.labels.push(labels::from_cell(path, sample, label)?);
    }
    if sparse.features == 0 {
        return Err(Error::format(path, "no line of the form `label index:value ...`"));
    }
    Ok(sparse)
}

/// An index, counted from 1, that a line has more than once.
fn twice(entries: &[(usize, usize, f64)]) -> Option<usize> {
    if entries.is_sorted_by(|a, b| a.1 < b.1) {
        return None;
    }
    let mut features: Vec<usize> = entries.iter().map(|entry| entry.1).collect();
    features.sort_unstable();
    features.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0] + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn try_read(text: &str) -> Result<RawData> {
        read(Path::new("a.libsvm"), text.as_bytes(), &ReadOptions::default())
    }

    #[test]
    fn reads_unordered_indices_comments_and_signs() {
        let data = try_read("+1 3:0.5 1:2 # note\n\n-1\n2.0 2:-1e2 qid:7\r\n").unwrap();
        assert_eq!((data.x.nrows(), data.x.ncols()), (3, 3));
        assert_eq!(data.labels.unwrap(), ["1", "-1", "2"]);
        assert_eq!([data.x[(0, 0)], data.x[(2, 0)], data.x[(1, 2)], data.x[(0, 1)]], [2.0, 0.5, -100.0, 0.0]);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_label() {
        assert_eq!(try_read("\u{feff}1 1:1\n1 1:2\n").unwrap().labels.unwrap(), ["1", "1"]);
    }

    #[test]
    fn errors_name_the_line() {
        for (text, part) in [
            ("1 1:1\n1 0:1", "line 2: `0:1` has index 0"),
            ("1 1:1\n\n1 2", "line 3: `2` is not index:value"),
            ("1 1:1\n2 3:1 1:5 3:2", "line 2: index 3 occurs twice"),
            ("1 a:1", "line 1: `a:1` has an index"),
            ("1 1:b", "line 1: `1:b` has a value"),
            ("1:1 2:1", "line 1: starts with"),
            ("nan 1:1", "sample 0"),
            ("hello world", "line 1"),
            ("# nothing", "no line"),
            ("", "no line"),
        ] {
            let message = try_read(text).unwrap_err().to_string();
            assert!(message.contains(part), "{text:?} gave {message}");
        }
    }

    #[test]
    fn a_wild_index_does_not_become_an_allocation() {
        for index in ["4000000000", "18446744073709551615", "99999999999999999999"] {
            assert!(try_read(&format!("1 {index}:1")).is_err());
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[-+0-9:.a-z# \n]{0,60}") {
            let _ = try_read(&text);
        }
    }
}
