//! Splits as vectors of indices or flags in `.mat`, `.npy` and `.npz` files.

use crate::protocol::splits::Split;
use atomlearn::{Error, Mat, Result};
use std::collections::HashSet;
use std::path::Path;

/// The splits in these arrays for data of `n` samples.
///
/// One array says what trains, another, if there is one, what tests (else all others do): places of samples, or one flag 0 or 1
/// for each. Several splits are rows or columns of a matrix. `from` says whether places count from 0 or 1. Without it they count
/// from 1 in MATLAB's files, unless there is a 0 among them, and from 0 in others; where these seem to count from 1, that is an
/// error, or if it is only likely a warning.
pub fn splits(
    path: &Path,
    arrays: &[(String, Mat<f64>)],
    n: usize,
    from: Option<usize>,
    note: &mut dyn FnMut(&str),
) -> Result<Vec<Split>> {
    let (train, test) = choose(path, arrays)?;
    let (train, test) = (lines(path, train, n)?, test.map(|test| lines(path, test, n)).transpose()?);
    if test.as_ref().is_some_and(|test| test.len() != train.len()) {
        return Err(Error::format(path, format!("{} training parts, but another number of test parts", train.len())));
    }
    let places = || train.iter().chain(test.iter().flatten()).filter(|line| !line.flags).flat_map(|line| &line.values);
    let (least, most) = places().fold((f64::MAX, f64::MIN), |(low, high), &place| (low.min(place), high.max(place)));
    let matlab = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("mat"));
    let from_one = from.map_or(matlab && least >= 1.0, |from| from == 1);
    if from.is_none() && !matlab && least >= 1.0 {
        let all: HashSet<u64> = places().map(|place| place.to_bits()).collect();
        let without_gap = test.is_some() && least == 1.0 && all.len() as f64 == most;
        if most == n as f64 || without_gap {
            return Err(Error::format(
                path,
                format!(
                    "its places run from {least} to {most} for {n} samples, so they seem to count from 1; say so with \
                     option `splits-from = 1`, or option `splits-from = 0` if they do not"
                ),
            ));
        }
    }
    if places().next().is_some() {
        let counted = match (from_one, matlab && from.is_none()) {
            (true, true) => "1, as in MATLAB",
            (true, false) => "1",
            (false, _) => "0",
        };
        let doubt = if !from_one && from.is_none() && least == 1.0 {
            "; 0 is not among them but 1 is: if they count from 1, say option `splits-from = 1`"
        } else {
            ""
        };
        note(&format!("{}: places of samples count from {counted}{doubt}", path.display()));
    }
    let part = |line: &IndexVector| line.places(path, n, usize::from(from_one));
    let split = |(s, line): (usize, &IndexVector)| {
        let train = part(line)?;
        let test = match &test {
            Some(test) => part(&test[s])?,
            None => {
                let mut trains = vec![false; n];
                train.iter().for_each(|&i| trains[i] = true);
                (0..n).filter(|&i| !trains[i]).collect()
            }
        };
        Ok(Split { train, test })
    };
    train.iter().enumerate().map(split).collect()
}

type Named = (String, Mat<f64>);

/// The array of training parts and, if there is one, that of test parts.
fn choose<'a>(path: &Path, arrays: &'a [Named]) -> Result<(&'a Named, Option<&'a Named>)> {
    let begins = |named: &Named, words: [&str; 2]| {
        let name = named.0.to_lowercase();
        name.contains(words[0]) || name.starts_with(words[1])
    };
    let trains: Vec<&Named> = arrays.iter().filter(|named| begins(named, ["train", "tr_"])).collect();
    let tests: Vec<&Named> = arrays.iter().filter(|named| begins(named, ["test", "tt_"])).collect();
    match (trains.as_slice(), tests.as_slice(), arrays) {
        ([train], [], _) => Ok((train, None)),
        ([train], [test], _) => Ok((train, Some(test))),
        ([], [], [only]) => Ok((only, None)),
        _ => {
            let names: Vec<&str> = arrays.iter().map(|(name, _)| name.as_str()).collect();
            let why = "splits are one array of training samples, named `train`, and perhaps one of test samples, named `test`";
            Err(Error::format(
                path,
                format!("{why}; it holds {}", if names.is_empty() { "none".into() } else { names.join(", ") }),
            ))
        }
    }
}

/// What is said of one split by one array.
struct IndexVector {
    values: Vec<f64>,
    /// A flag for every sample, instead of places.
    flags: bool,
}

impl IndexVector {
    fn places(&self, path: &Path, n: usize, first: usize) -> Result<Vec<usize>> {
        if self.flags {
            return Ok((0..n).filter(|&i| self.values[i] == 1.0).collect());
        }
        let place = |&value: &f64| {
            let whole = value.fract() == 0.0 && value >= first as f64 && value < (n + first) as f64;
            whole.then(|| value as usize - first).ok_or_else(|| {
                Error::format(path, format!("{value} is no place of a sample: there are {n}, counted from {first}"))
            })
        };
        let mut places: Vec<usize> = self.values.iter().map(place).collect::<Result<_>>()?;
        places.sort_unstable();
        Ok(places)
    }
}

/// The array line by line, one line for each split.
fn lines(path: &Path, (name, array): &Named, n: usize) -> Result<Vec<IndexVector>> {
    let (rows, cols) = (array.nrows(), array.ncols());
    let row = |i: usize| (0..cols).map(|j| array[(i, j)]).collect::<Vec<f64>>();
    let col = |j: usize| (0..rows).map(|i| array[(i, j)]).collect::<Vec<f64>>();
    let by_row = || (0..rows).map(row).collect::<Vec<_>>();
    let by_col = || (0..cols).map(col).collect::<Vec<_>>();
    let flags = (rows == n || cols == n) && (0..cols).all(|j| (0..rows).all(|i| [0.0, 1.0].contains(&array[(i, j)])));
    let lines = match (flags, rows, cols) {
        (_, 0, _) | (_, _, 0) => return Err(Error::format(path, format!("`{name}` is empty"))),
        (_, _, 1) => by_col(),
        (_, 1, _) => by_row(),
        (true, rows, _) if rows == n && cols != n => by_col(),
        (true, _, cols) if cols == n && rows != n => by_row(),
        (true, ..) => return Err(which(path, name)),
        // A sample is in a training part once: the lines in which places occur twice are no splits.
        (false, ..) => match (by_row().iter().all(|line| distinct(line)), by_col().iter().all(|line| distinct(line))) {
            (true, false) => by_row(),
            (false, true) => by_col(),
            _ if rows < cols => by_row(),
            _ if cols < rows => by_col(),
            _ => return Err(which(path, name)),
        },
    };
    Ok(lines.into_iter().map(|values| IndexVector { values, flags }).collect())
}

fn which(path: &Path, name: &str) -> Error {
    Error::format(
        path,
        format!("`{name}` is square: whether rows or columns are splits cannot be told; store one split per file"),
    )
}

fn distinct(values: &[f64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(name: &str, rows: &[&[f64]]) -> Named {
        (name.into(), Mat::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j]))
    }

    fn read(file: &str, arrays: &[Named]) -> Result<(Vec<Split>, String)> {
        let mut notes = String::new();
        let splits = splits(Path::new(file), arrays, 6, None, &mut |text| notes += text)?;
        Ok((splits, notes))
    }

    fn split(train: &[usize], test: &[usize]) -> Split {
        Split { train: train.to_vec(), test: test.to_vec() }
    }

    #[test]
    fn matlab_counts_from_one_and_python_from_zero() {
        let given = [array("trainIdx", &[&[1.0], &[6.0], &[2.0]]), array("testIdx", &[&[3.0], &[5.0]])];
        let (found, notes) = read("1.mat", &given).unwrap();
        assert_eq!(found, [split(&[0, 1, 5], &[2, 4])]);
        assert!(notes.contains("count from 1, as in MATLAB"), "{notes}");
        // A 0 among them settles it.
        let (found, _) = read("1.mat", &[array("train", &[&[0.0, 5.0]])]).unwrap();
        assert_eq!(found, [split(&[0, 5], &[1, 2, 3, 4])]);
        let (found, notes) = read("a.npy", &[array("a", &[&[1.0], &[3.0]])]).unwrap();
        assert_eq!(found, [split(&[1, 3], &[0, 2, 4, 5])]);
        assert!(notes.contains("count from 0"), "{notes}");
        assert!(notes.contains("if they count from 1, say option `splits-from = 1`"), "{notes}");
        let message = read("a.npy", &given).unwrap_err().to_string();
        assert!(message.contains("seem to count from 1"), "{message}");
        // Training and test places without a gap from 1 on, though the last samples are in no part.
        let short = [array("train", &[&[1.0, 4.0]]), array("test", &[&[2.0, 3.0]])];
        let message = read("a.npz", &short).unwrap_err().to_string();
        assert!(message.contains("from 1 to 4 for 6 samples") && message.contains("option `splits-from"), "{message}");
        let said = |from: usize| splits(Path::new("a.npz"), &short, 6, Some(from), &mut |_| ()).unwrap();
        assert_eq!((said(1), said(0)), (vec![split(&[0, 3], &[1, 2])], vec![split(&[1, 4], &[2, 3])]));
        // With a gap, or with a 0 among them, there is no doubt.
        let (found, notes) = read("a.npz", &[array("train", &[&[2.0, 4.0]]), array("test", &[&[0.0]])]).unwrap();
        assert!(found == [split(&[2, 4], &[0])] && notes.ends_with("count from 0"), "{notes}");
    }

    #[test]
    fn flags_and_several_splits_are_understood() {
        let flags = array("train", &[&[1.0, 0.0, 1.0, 0.0, 1.0, 0.0], &[0.0, 1.0, 0.0, 1.0, 0.0, 1.0]]);
        let expected = [split(&[0, 2, 4], &[1, 3, 5]), split(&[1, 3, 5], &[0, 2, 4])];
        assert_eq!(read("a.npz", std::slice::from_ref(&flags)).unwrap().0, expected);
        let turned = ("train".to_string(), flags.1.transpose().to_owned());
        assert_eq!(read("a.mat", &[turned]).unwrap().0, expected);
        // Rows repeat places, columns do not.
        let columns = array("train", &[&[0.0, 1.0, 0.0], &[2.0, 2.0, 3.0]]);
        let found = read("a.npz", &[columns]).unwrap().0;
        assert_eq!(found.iter().map(|split| split.train.clone()).collect::<Vec<_>>(), [[0, 2], [1, 2], [0, 3]]);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let bad = |file: &str, arrays: &[Named]| read(file, arrays).unwrap_err().to_string();
        assert!(bad("a.npz", &[array("a", &[&[0.0]]), array("b", &[&[0.0]])]).contains("it holds a, b"));
        assert!(bad("a.npy", &[array("a", &[&[0.5], &[1.0]])]).contains("0.5 is no place"));
        assert!(bad("a.npy", &[array("a", &[&[0.0], &[9.0]])]).contains("9 is no place of a sample: there are 6"));
        assert!(bad("a.mat", &[array("a", &[&[1.0], &[7.0]])]).contains("counted from 1"));
        assert!(bad("a.npy", &[array("a", &[&[0.0, 1.0], &[2.0, 3.0]])]).contains("square"));
    }
}
