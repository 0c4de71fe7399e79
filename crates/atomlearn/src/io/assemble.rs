//! From named arrays to [`RawData`]: which variable is what, and which way round it lies.

use super::array::{Array, Elements};
use super::labels::{self, LABEL_NAMES, LabelTexts};
use super::{ImageShape, Note, Orientation, RawData, ReadOptions, Variable, limits};
use crate::{Error, NameKind, Result};
use faer::Mat;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

/// Names under which the data are looked for, in this order.
const DATA_NAMES: [&str; 5] = ["X", "x", "data", "fea", "features"];

/// Variables that a message lists.
const MOST_LISTED: usize = 50;

/// A file of named arrays.
pub(super) trait Container {
    /// The file, for messages.
    fn path(&self) -> &Path;
    /// Its size, which bounds what may come out of it.
    fn file_bytes(&self) -> usize;
    /// What it holds.
    fn variables(&self) -> &[Variable];
    /// One of them, by its place in [`Container::variables`].
    fn load(&self, index: usize) -> Result<Array>;
    /// Where samples lie by the custom of this kind of file.
    fn custom(&self) -> Orientation;
}

/// Names of training samples, their labels, test samples and their labels in files that keep the two apart, as the code
/// that came with CRC and SRC (first two) and LC-KSVD does; labels may be one-hot.
const TWO_PARTS: [[&str; 4]; 3] = [
    ["tr_dat", "trls", "tt_dat", "ttls"],
    ["NewTrain_DAT", "trainlabels", "NewTest_DAT", "testlabels"],
    ["training_feats", "H_train", "testing_feats", "H_test"],
];

/// Picks data, labels, split, names and image shape out of a file of named arrays.
pub(super) fn assemble(container: &dyn Container, options: &ReadOptions) -> Result<RawData> {
    let index = choose(container, options.x.as_deref(), &DATA_NAMES)?;
    let nothing_named = options.x.is_none() && options.y.is_none() && options.labels.is_none();
    let two_parts = TWO_PARTS.iter().find(|names| names.iter().all(|name| place(container, name).is_some()));
    if let (None, true, Some(names)) = (index, nothing_named, two_parts) {
        return assemble_two_parts(container, options, names);
    }
    let index = index.ok_or_else(|| no_data(container))?;
    let labels = find_labels(container, index, options)?;
    let Part { x, matrix } = part(container, index, labels.as_ref(), options)?;
    let labels = labels.map(|labels| named(container, labels)).transpose()?;
    let (features, n) = (x.nrows(), x.ncols());
    Ok(RawData {
        labels,
        is_train: flags(container, "is_train", n)?,
        map_saw: flags(container, "map_saw", n)?,
        image_shape: image_shape(container, &matrix, features)?,
        names: sample_names(container, n)?,
        groups: groups(container, n, options)?,
        weights: weights(container, n, options)?,
        ..RawData::new(x)
    })
}

/// The samples of one variable.
struct Part {
    /// features x samples.
    x: Mat<f64>,
    /// How they were stored.
    matrix: Matrix,
}

fn part(container: &dyn Container, index: usize, labels: Option<&LabelTexts>, options: &ReadOptions) -> Result<Part> {
    let path = container.path();
    let name = &container.variables()[index].name;
    limits::check_expansion(path, name, &container.variables()[index].shape, container.file_bytes())?;
    let x = container.load(index)?;
    if x.is_text() {
        return Err(Error::format(
            path,
            format!("`{name}` holds text, not numbers; choose the data with option `x = NAME`"),
        ));
    }
    let matrix = as_matrix(container, name, &x)?;
    let count = labels.map(|labels| labels.text.len());
    let samples = orientation(path, &matrix, count, options.samples, container.custom())?;
    let (features, n) = match samples {
        Orientation::Columns => (matrix.rows, matrix.cols),
        Orientation::Rows => (matrix.cols, matrix.rows),
    };
    if features == 0 || n == 0 {
        return Err(Error::format(path, format!("`{name}` is empty ({} x {})", matrix.rows, matrix.cols)));
    }
    let scale = if x.integer { scalar(container, "scale")?.unwrap_or(1.0) } else { 1.0 };
    let x = limits::matrix(path, name, (features, n), container.file_bytes(), |feature, sample| {
        let (row, col) = if samples == Orientation::Columns { (feature, sample) } else { (sample, feature) };
        let place = if x.row_major { row * matrix.cols + col } else { row + col * matrix.rows };
        x.number(place) * scale
    })?;
    Ok(Part { x, matrix })
}

/// Training and test samples from variables of their own, in this order; `is_train` tells them apart.
fn assemble_two_parts(container: &dyn Container, options: &ReadOptions, names: &[&str; 4]) -> Result<RawData> {
    let path = container.path();
    let [x_train, y_train, x_test, y_test] = *names;
    let read = |x: &str, y: &str| -> Result<(Part, LabelTexts)> {
        let labels = labels_in(container, index_of(container, y)?)?;
        let part = part(container, index_of(container, x)?, Some(&labels), options)?;
        Ok((part, labels))
    };
    let (train, mut labels) = read(x_train, y_train)?;
    let (test, test_labels) = read(x_test, y_test)?;
    if train.x.nrows() != test.x.nrows() {
        return Err(Error::shape(
            format!("{}: test samples `{x_test}`", path.display()),
            format!("{} features, as the training samples `{x_train}` have", train.x.nrows()),
            test.x.nrows(),
        ));
    }
    if labels.numeric != test_labels.numeric {
        let why = format!("one of `{y_train}` and `{y_test}` holds numbers and the other text; store both alike");
        return Err(Error::format(path, why));
    }
    labels.text.extend(test_labels.text);
    let (features, n_train, n) = (train.x.nrows(), train.x.ncols(), train.x.ncols() + test.x.ncols());
    let value = |i: usize, j: usize| if j < n_train { train.x[(i, j)] } else { test.x[(i, j - n_train)] };
    let x = limits::matrix(path, x_train, (features, n), container.file_bytes(), value)?;
    Ok(RawData {
        labels: Some(named(container, labels)?),
        is_train: Some((0..n).map(|j| j < n_train).collect()),
        image_shape: image_shape(container, &train.matrix, features)?,
        names: sample_names(container, n)?,
        groups: groups(container, n, options)?,
        weights: weights(container, n, options)?,
        notes: vec![Note {
            text: format!("{n_train} training samples from `{x_train}`, {} test samples from `{x_test}`", n - n_train),
            warning: false,
        }],
        ..RawData::new(x)
    })
}

/// A stored array seen as a matrix; stacks of images are unrolled.
struct Matrix {
    rows: usize,
    cols: usize,
    /// Set where the array was a stack of images, whose sample axis is therefore known.
    stack: Option<ImageShape>,
}

/// Two sizes as they are; three as a stack of images whose samples lie along the custom axis.
fn as_matrix(container: &dyn Container, name: &str, x: &Array) -> Result<Matrix> {
    match (x.shape.as_slice(), container.custom()) {
        (&[rows, cols], _) => Ok(Matrix { rows, cols, stack: None }),
        (&[n, rows, cols], Orientation::Rows) if x.row_major => {
            Ok(Matrix { rows: n, cols: rows * cols, stack: Some(ImageShape { rows, cols, column_major: false }) })
        }
        (&[rows, cols, n], Orientation::Columns) if !x.row_major => {
            Ok(Matrix { rows: rows * cols, cols: n, stack: Some(ImageShape { rows, cols, column_major: true }) })
        }
        (shape, _) => Err(Error::shape(
            format!("{}: data `{name}`", container.path().display()),
            "a matrix, or a stack of images in the order the format usually has",
            limits::shape_text(shape),
        )),
    }
}

/// Which side counts the samples: the one that matches the labels, else what the user or custom says.
fn orientation(
    path: &Path,
    matrix: &Matrix,
    labels: Option<usize>,
    said: Option<Orientation>,
    custom: Orientation,
) -> Result<Orientation> {
    let side = |samples| if samples == Orientation::Rows { matrix.rows } else { matrix.cols };
    if matrix.stack.is_some() && said.is_some_and(|said| said != custom) {
        return Err(Error::Data(format!(
            "{}: option `samples` contradicts the stack of images in the file",
            path.display()
        )));
    }
    let Some(labels) = labels else { return Ok(said.unwrap_or(custom)) };
    let mismatch = |expected: String| {
        let what = format!("{}: {labels} labels for data of {} x {}", path.display(), matrix.rows, matrix.cols);
        Error::shape(what, expected, labels)
    };
    let said = said.or(matrix.stack.is_some().then_some(custom));
    match said {
        Some(said) if side(said) == labels => Ok(said),
        Some(said) => {
            let word = if said == Orientation::Rows { "rows" } else { "columns" };
            Err(mismatch(format!("{} labels, as samples are {word}", side(said))))
        }
        None => match (matrix.rows == labels, matrix.cols == labels) {
            (true, false) => Ok(Orientation::Rows),
            (false, true) => Ok(Orientation::Columns),
            (false, false) => Err(mismatch(format!("{} or {} labels", matrix.rows, matrix.cols))),
            (true, true) => Err(Error::Data(format!(
                "{}: the data are {labels} x {labels}, so the labels do not tell rows from columns; \
                 say option `samples = rows` or option `samples = columns`",
                path.display()
            ))),
        },
    }
}

/// Place of the variable the user named, else of the first usual name that occurs.
fn choose(container: &dyn Container, said: Option<&str>, usual: &[&str]) -> Result<Option<usize>> {
    match said {
        None => Ok(usual.iter().find_map(|name| place(container, name))),
        Some(name) => index_of(container, name).map(Some),
    }
}

fn index_of(container: &dyn Container, name: &str) -> Result<usize> {
    place(container, name).ok_or_else(|| {
        Error::unknown(NameKind::Variable, name, container.variables().iter().map(|known| known.name.as_str()))
    })
}

fn place(container: &dyn Container, name: &str) -> Option<usize> {
    container.variables().iter().position(|variable| variable.name == name)
}

/// The labels from the file the user named, or else from the data file.
fn find_labels(container: &dyn Container, data: usize, options: &ReadOptions) -> Result<Option<LabelTexts>> {
    if let Some(file) = &options.labels {
        return labels::read_file(file).map(Some);
    }
    let said = options.y.as_deref();
    if said == Some("none") && place(container, "none").is_none() {
        return Ok(None);
    }
    let Some(index) = choose(container, said, &LABEL_NAMES)?.filter(|&index| index != data) else { return Ok(None) };
    labels_in(container, index).map(Some)
}

/// The labels in one variable.
fn labels_in(container: &dyn Container, index: usize) -> Result<LabelTexts> {
    let variable = &container.variables()[index];
    let (path, file_bytes) = (container.path(), container.file_bytes());
    limits::check_expansion(path, &variable.name, &variable.shape, file_bytes)?;
    let first = first_class(container)?;
    labels::from_array(path, &variable.name, &container.load(index)?, Some(first), file_bytes)
}

/// Every vector and matrix of numbers, as stored.
pub(super) fn matrices(container: &dyn Container) -> Result<Vec<(String, Mat<f64>)>> {
    let path = container.path();
    let mut found = Vec::new();
    for (index, variable) in container.variables().iter().enumerate() {
        let (rows, cols) = match variable.shape[..] {
            [rows] => (rows, 1),
            [rows, cols] => (rows, cols),
            _ => continue,
        };
        limits::check_expansion(path, &variable.name, &variable.shape, container.file_bytes())?;
        let array = container.load(index)?;
        if array.is_text() || array.len() != rows * cols {
            continue;
        }
        let at = |i: usize, j: usize| array.number(if array.row_major { i * cols + j } else { i + j * rows });
        let matrix = limits::matrix(path, &variable.name, (rows, cols), container.file_bytes(), at)?;
        found.push((variable.name.clone(), matrix));
    }
    Ok(found)
}

/// The last of the entries of each name, in the order in which the names come first.
pub(super) fn last_of_each<T>(entries: Vec<T>, name: impl Fn(&T) -> &String) -> Vec<T> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut kept: Vec<T> = Vec::new();
    for entry in entries {
        match places.entry(name(&entry).clone()) {
            Entry::Occupied(place) => kept[*place.get()] = entry,
            Entry::Vacant(place) => {
                place.insert(kept.len());
                kept.push(entry);
            }
        }
    }
    kept
}

/// Labels with class names put in, if the file has any.
fn named(container: &dyn Container, labels: LabelTexts) -> Result<Vec<String>> {
    let mut text = labels.text;
    let names = match place(container, "class_names") {
        Some(index) if labels.numeric => strings(container.load(index)?),
        _ => None,
    };
    if let Some(names) = names {
        let first = first_class(container)?;
        labels::name_classes(container.path(), &mut text, &names, first)?;
    }
    Ok(text)
}

/// The number of the class that the first of `class_names` belongs to: what the file says, else 1 in MATLAB's files and 0
/// in Python's.
fn first_class(container: &dyn Container) -> Result<usize> {
    match scalar(container, "first_class")? {
        None => Ok(usize::from(container.custom() == Orientation::Columns)),
        Some(0.0) => Ok(0),
        Some(1.0) => Ok(1),
        Some(other) => {
            let why = format!("`first_class` is {other}; it must be 0 or 1, the number of the first class");
            Err(Error::format(container.path(), why))
        }
    }
}

fn strings(array: Array) -> Option<Vec<String>> {
    if let Elements::Text(strings) = array.values { Some(strings) } else { None }
}

/// The number in a variable of one element; `None` where there is no such variable.
fn scalar(container: &dyn Container, name: &str) -> Result<Option<f64>> {
    let Some(index) = place(container, name) else { return Ok(None) };
    // A longer variable of that name means something else, and need not be read.
    if limits::product(&container.variables()[index].shape) != Some(1) {
        return Ok(None);
    }
    Ok(container.load(index)?.scalar())
}

/// A variable of 0 or 1 for each sample: the given split, or the samples a feature map was fitted on.
fn flags(container: &dyn Container, name: &str, n: usize) -> Result<Option<Vec<bool>>> {
    let Some(index) = place(container, name) else { return Ok(None) };
    let array = per_sample(container, index, "", n)?;
    (0..n).map(|i| flag(container.path(), name, i, array.number(i))).collect::<Result<Vec<bool>>>().map(Some)
}

/// 1 is training, 0 is test, all else an error.
pub(super) fn train_flag(path: &Path, sample: usize, value: f64) -> Result<bool> {
    flag(path, "is_train", sample, value)
}

fn flag(path: &Path, name: &str, sample: usize, value: f64) -> Result<bool> {
    if value != 0.0 && value != 1.0 {
        return Err(Error::Data(format!(
            "{}: `{name}` of sample {sample} (counted from 0) must be 0 or 1",
            path.display()
        )));
    }
    Ok(value == 1.0)
}

/// `rows` and `cols` in MATLAB's files, `image_shape` in NumPy's; ignored where they do not fit, since feature files
/// often keep the sizes of the images they were made from.
fn image_shape(container: &dyn Container, matrix: &Matrix, features: usize) -> Result<Option<ImageShape>> {
    if matrix.stack.is_some() {
        return Ok(matrix.stack);
    }
    let column_major = container.custom() == Orientation::Columns;
    let sizes = if column_major {
        scalar(container, "rows")?.zip(scalar(container, "cols")?)
    } else {
        match place(container, "image_shape") {
            Some(index) if limits::product(&container.variables()[index].shape) == Some(2) => {
                let array = container.load(index)?;
                (array.len() == 2).then(|| (array.number(0), array.number(1)))
            }
            _ => None,
        }
    };
    Ok(sizes.and_then(|(rows, cols)| {
        let whole = rows.fract() == 0.0 && cols.fract() == 0.0 && rows >= 1.0 && cols >= 1.0;
        let shape = ImageShape { rows: rows as usize, cols: cols as usize, column_major };
        (whole && rows * cols == features as f64).then_some(shape)
    }))
}

/// The variable at `index`, which must have one entry per sample; `what` stands before its name in messages.
fn per_sample(container: &dyn Container, index: usize, what: &str, n: usize) -> Result<Array> {
    let path = container.path();
    let Variable { name, shape, .. } = &container.variables()[index];
    limits::check_expansion(path, name, shape, container.file_bytes())?;
    let array = container.load(index)?;
    if array.len() != n {
        let what = format!("{}: {what}`{name}`", path.display());
        return Err(Error::shape(what, format!("{n} entries, one per sample"), array.len()));
    }
    Ok(array)
}

/// The variable that says which samples belong together, if the user named one.
fn groups(container: &dyn Container, n: usize, options: &ReadOptions) -> Result<Option<Vec<String>>> {
    let Some(index) = choose(container, options.groups.as_deref(), &[])? else { return Ok(None) };
    let array = per_sample(container, index, "groups ", n)?;
    let path = container.path();
    limits::TextBudget::new(path, &container.variables()[index].name, container.file_bytes()).add(n, 0)?;
    let group = |i: usize| {
        array
            .label(i)
            .filter(|group| !group.is_empty())
            .ok_or_else(|| no_group(path, &format!("sample {i} (counted from 0)")))
    };
    (0..n).map(group).collect::<Result<Vec<String>>>().map(Some)
}

/// The variable that says how much each sample counts, if the user named one.
fn weights(container: &dyn Container, n: usize, options: &ReadOptions) -> Result<Option<Vec<f64>>> {
    let Some(index) = choose(container, options.weights.as_deref(), &[])? else { return Ok(None) };
    let array = per_sample(container, index, "weights ", n)?;
    (0..n)
        .map(|i| checked_weight(container.path(), array.number(i), || format!("sample {i} (counted from 0)")))
        .collect::<Result<Vec<f64>>>()
        .map(Some)
}

/// A weight that is a number and not negative, of the sample at `place`.
pub(super) fn checked_weight(path: &Path, weight: f64, place: impl Fn() -> String) -> Result<f64> {
    if weight.is_finite() && weight >= 0.0 {
        return Ok(weight);
    }
    Err(Error::Data(format!(
        "{}: the weight of {} {}, and must be a number that is not negative; zero leaves the sample out",
        path.display(),
        place(),
        if weight.is_nan() { "is missing or no number".to_string() } else { format!("is {weight}") }
    )))
}

/// What to say about a sample without a group.
pub(super) fn no_group(path: &Path, place: &str) -> Error {
    Error::Data(format!(
        "{}: the group of {place} is missing; fill it in, with a group of its own where the sample belongs to no other",
        path.display()
    ))
}

/// The variable `names`, where it names every sample.
fn sample_names(container: &dyn Container, n: usize) -> Result<Option<Vec<String>>> {
    let Some(index) = place(container, "names") else { return Ok(None) };
    if limits::product(&container.variables()[index].shape) != Some(n) {
        return Ok(None);
    }
    // Names are a convenience: a `names` variable of another kind is no reason to refuse the data.
    Ok(container.load(index).ok().and_then(strings).filter(|names| names.len() == n))
}

/// Says what is there and how to choose.
fn no_data(container: &dyn Container) -> Error {
    let variables = container.variables();
    let mut held: Vec<String> = variables
        .iter()
        .take(MOST_LISTED)
        .map(|v| format!("{} ({} {})", v.name, limits::shape_text(&v.shape), v.kind))
        .collect();
    if variables.len() > MOST_LISTED {
        held.push(format!("... and {} more", variables.len() - MOST_LISTED));
    }
    let why = if held.is_empty() {
        "holds no variables".to_string()
    } else {
        format!(
            "has no variable {}; choose one with option `x = NAME`. It holds {}",
            DATA_NAMES.join(", "),
            held.join(", ")
        )
    };
    Error::format(container.path(), why)
}
