//! `atomlearn predict`: the class of every sample.

use crate::args::DataArgs;
use crate::console::Console;
use crate::data::{naming, sample_name, tell};
use crate::failure::Failure;
use crate::images;
use crate::output::{Kind, OutputArgs, write_output};
use crate::plain::spreadsheet_safe;
use atomlearn::classifier::best_class;
use atomlearn::file::AtomicFile;
use atomlearn::io::{RawData, ReadOptions};
use atomlearn::linalg::select_columns;
use atomlearn::registry::METHODS;
use atomlearn::scale::files::Plan;
use atomlearn::{Error, Mat, Model, NameKind};
use atomlearn_features::FeatureMap;
use atomlearn_lab::data::Naming;
use serde_json::json;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  atomlearn predict faces.model new.mat -o labels.csv
  atomlearn predict faces.model new.csv --proba     with the probability of every class
  atomlearn predict faces.model new.csv --scores
  atomlearn predict scenes.model inbox/ --skip-broken -o labels.csv
  atomlearn predict scenes.model photo.jpg          if the model was trained on images
  cat new.csv | atomlearn predict faces.model - | head
  atomlearn predict big.model shards/ --out-of-core -o labels.csv";

/// Predict the class of every sample of DATA: CSV with a header
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// Data file, image or folder of images; labels are not needed; `-` is CSV from stdin
    data: PathBuf,
    /// File to write; `-` or nothing is stdout
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Add the score of every class, larger = more likely
    #[arg(long)]
    scores: bool,
    /// Add the calibrated probability of every class, for models that have such
    #[arg(long)]
    proba: bool,
    /// Decision rule, for models that have several [default: the one chosen in training]
    #[arg(long, value_name = "NAME")]
    rule: Option<String>,
    /// Put an apostrophe before labels that a spreadsheet would run as a formula (those that begin with = + - @)
    #[arg(long)]
    excel_safe: bool,
    /// Give samples that cannot be read (damaged images, missing or wrong cells) a row with an empty label, instead of stopping
    #[arg(long)]
    skip_broken: bool,
    /// Read the samples part by part and write as they come; DATA is a .npy of any size or a folder of shards
    #[arg(long)]
    out_of_core: bool,
    #[command(flatten)]
    reading: DataArgs,
    #[command(flatten)]
    writing: OutputArgs,
}

/// Predicts and writes.
pub fn run(args: &Args, console: &Console) -> Result<(), Failure> {
    let output = args.output.as_ref().filter(|path| *path != Path::new("-"));
    let inputs = [Some(&args.model), Some(&args.data), args.reading.labels.as_ref()];
    args.writing.check(&inputs, &[(output, Kind::Predictions)])?;
    let model = Model::load(&args.model)?;
    let rule = chosen_rule(&model, args.rule.as_deref())?;
    check_proba(args, &model, rule)?;
    if args.out_of_core {
        return stream(args, &model, rule, console);
    }
    let map = feature_map(&model, &args.data)?;
    // Photos are looked through by people, who want to know how sure the label is.
    let probability = map.is_some() && has_probabilities(&model) && rule == model.classifier().rule();
    let (source, left_out) = match map {
        Some(map) => {
            let (source, left_out) = images::source(&map, &args.data, args.skip_broken, console)?;
            (source, Some(left_out))
        }
        None => (args.reading.read_for(&args.data, &model, args.skip_broken, console)?, None),
    };
    // Of photos the reasons were told one by one.
    let reasons_shown = left_out.is_some();
    let columns = Columns { scores: args.scores, proba: args.proba, probability };
    let answers = Answers::new(args, columns, &model, rule, &source.raw, reasons_shown, console)
        .map_err(|e| in_data(e, &source.name))?;
    if console.json {
        let mut result = json!({
            "schema": "atomlearn.predict/1",
            "model": {"path": args.model.display().to_string(), "method": model.method().key, "rule": rule},
            "data": {"path": source.name, "sha256": source.sha256},
            "classes": model.classes(), "labels": answers.labels(&model),
        });
        if let Some(left_out) = &left_out {
            result["left_out"] = json!(left_out);
        }
        if let Some(names) = &source.raw.names {
            result["names"] = json!(names);
        }
        if let Some(ids) = &source.raw.ids {
            result["ids"] = json!(ids);
        }
        if args.scores {
            result["scores"] = json!(answers.columns(&answers.scores));
        }
        if probability {
            result["probability"] = json!(answers.best_probabilities());
        }
        if let Some(proba) = answers.proba.as_ref().filter(|_| args.proba) {
            result["proba"] = json!(answers.columns(proba));
        }
        let text = serde_json::to_string(&result).map_err(|e| Failure::failed(e.to_string()))? + "\n";
        return write_output(args.output.as_deref(), text.as_bytes(), console);
    }
    let not_written = |e| not_written(Path::new("CSV"), e);
    let mut table = Table::new(Vec::new(), &model, args, columns, naming(&source.raw)).map_err(not_written)?;
    table.add(&model, &answers, &source.raw).map_err(not_written)?;
    write_output(args.output.as_deref(), &table.finish().map_err(not_written)?, console)
}

/// Whether the method has probabilities, or Python has calibrated its scores.
fn has_probabilities(model: &Model) -> bool {
    model.method().probabilities || model.inverse_temperature().is_some()
}

/// Refuses probabilities that there are none of.
fn check_proba(args: &Args, model: &Model, rule: &str) -> Result<(), Failure> {
    if !args.proba {
        return Ok(());
    }
    let method = model.method();
    if !has_probabilities(model) {
        let able = METHODS.iter().filter(|method| method.probabilities).map(|method| method.key).collect::<Vec<_>>();
        return Err(Failure::usage(format!(
            "--proba: this model of `{}` has scores (--scores), but no calibrated probabilities; models of these methods have them: {}; \
             and those that Python fitted with probability=True",
            method.key,
            able.join(", ")
        )));
    }
    if rule != model.classifier().rule() {
        return Err(Failure::usage(format!(
            "--proba: probabilities are of the rule `{}`; leave out --rule {rule}",
            model.classifier().rule()
        )));
    }
    Ok(())
}

/// The columns of the table beside name and label.
#[derive(Clone, Copy)]
struct Columns {
    /// The score of every class.
    scores: bool,
    /// The probability of every class.
    proba: bool,
    /// The probability of the label.
    probability: bool,
}

/// What a model says of some samples.
struct Answers {
    /// classes x samples.
    scores: Mat<f64>,
    proba: Option<Mat<f64>>,
    /// Samples that could not be read.
    broken: Vec<bool>,
}

impl Answers {
    fn new(
        args: &Args,
        columns: Columns,
        model: &Model,
        rule: &str,
        raw: &RawData,
        reasons_shown: bool,
        console: &Console,
    ) -> atomlearn::Result<Self> {
        let is_broken = |j: usize| args.skip_broken && raw.x.col(j).iter().any(|value| !value.is_finite());
        let broken: Vec<bool> = (0..raw.x.ncols()).map(is_broken).collect();
        let count = broken.iter().filter(|broken| **broken).count();
        if count == 0 {
            return Self::of(columns, model, rule, raw.x.as_ref(), broken);
        }
        if !reasons_shown {
            warn_broken(raw, &broken, count, console);
        }
        // They are scored as anything and nobody looks.
        let mut x = select_columns(raw.x.as_ref(), &(0..broken.len()).collect::<Vec<_>>());
        (0..broken.len()).filter(|&j| broken[j]).for_each(|j| x.col_mut(j).fill(0.0));
        Self::of(columns, model, rule, x.as_ref(), broken)
    }

    fn of(
        columns: Columns,
        model: &Model,
        rule: &str,
        x: atomlearn::MatRef<'_, f64>,
        broken: Vec<bool>,
    ) -> atomlearn::Result<Self> {
        let scores = scores_of(model, x, rule)?;
        let wanted = columns.proba || columns.probability;
        let proba = wanted.then(|| model.probabilities_of_scores(scores.as_ref())).flatten();
        Ok(Answers { scores, proba, broken })
    }

    /// The label of every sample; none of those that could not be read.
    fn labels<'m>(&self, model: &'m Model) -> Vec<Option<&'m str>> {
        let best = best_class(self.scores.as_ref());
        let label = |(best, broken): (usize, &bool)| (!broken).then(|| model.classes()[best].as_str());
        best.into_iter().zip(&self.broken).map(label).collect()
    }

    /// The probability of every sample's label; none of those that could not be read.
    fn best_probabilities(&self) -> Vec<Option<f64>> {
        let best = best_class(self.scores.as_ref());
        let of_sample = |j: usize| self.proba.as_ref().filter(|_| !self.broken[j]).map(|proba| proba[(best[j], j)]);
        (0..best.len()).map(of_sample).collect()
    }

    /// Numbers of every sample; none of those that could not be read.
    fn columns(&self, values: &Mat<f64>) -> Vec<Option<Vec<f64>>> {
        let column = |(j, broken): (usize, &bool)| (!broken).then(|| values.col(j).iter().copied().collect());
        self.broken.iter().enumerate().map(column).collect()
    }
}

/// Names samples that cannot be read: the first of them, and how many.
fn warn_broken(raw: &RawData, broken: &[bool], count: usize, console: &Console) {
    let names = (0..broken.len()).filter(|&j| broken[j]).take(3);
    let names: Vec<String> =
        names.map(|j| sample_name(raw, j).map_or_else(|| format!("sample {j}"), |name| format!("`{name}`"))).collect();
    let more = if count > names.len() { ", ..." } else { "" };
    let (what, get) = if count == 1 { ("1 sample".into(), "gets") } else { (format!("{count} samples"), "get") };
    let all = broken.len();
    console.warn(&format!("{what} of {all} cannot be read and {get} an empty label: {}{more}", names.join(", ")));
}

/// Predicts part by part; memory holds one part at a time.
fn stream(args: &Args, model: &Model, rule: &str, console: &Console) -> Result<(), Failure> {
    if console.json {
        return Err(Failure::usage("--out-of-core writes CSV as it goes; leave out --json"));
    }
    let mut options = ReadOptions { lenient: args.skip_broken, ..args.reading.options_for(model)? };
    if options.schema.is_some() {
        options = ReadOptions { y: Some("none".into()), ..options };
    }
    let plan = Plan::new(&args.data, &options, None, false)?;
    tell(&plan.notes, console);
    match args.output.as_deref().filter(|path| *path != Path::new("-")) {
        Some(path) => {
            let file = AtomicFile::create(path)?;
            let file = write_parts(args, model, rule, &plan, BufWriter::new(file), console)?;
            Ok(file.into_inner().map_err(|e| Failure::failed(format!("{}: {e}", path.display())))?.commit()?)
        }
        None => write_parts(args, model, rule, &plan, IgnoreBrokenPipe(std::io::stdout().lock()), console).map(drop),
    }
}

fn write_parts<W: Write>(
    args: &Args,
    model: &Model,
    rule: &str,
    plan: &Plan,
    out: W,
    console: &Console,
) -> Result<W, Failure> {
    let not_written = |e| not_written(args.output.as_deref().unwrap_or(Path::new("stdout")), e);
    let columns = Columns { scores: args.scores, proba: args.proba, probability: false };
    // What samples are called is known when the first are read, and holds for all.
    let (mut table, mut out) = (None, Some(out));
    for piece in &plan.pieces {
        let raw = piece.raw()?;
        if piece.index > 0 {
            tell(&raw.notes, console);
        }
        let place = format!("{}, partition {}", args.data.display(), piece.index);
        let answers = Answers::new(args, columns, model, rule, &raw, false, console).map_err(|e| in_data(e, &place))?;
        if let Some(out) = out.take() {
            table = Some(Table::new(out, model, args, columns, naming(&raw)).map_err(not_written)?);
        }
        if let Some(table) = &mut table {
            table.add(model, &answers, &raw).map_err(not_written)?;
        }
    }
    table
        .ok_or_else(|| Failure::bad_file(format!("{}: no samples", args.data.display())))?
        .finish()
        .map_err(not_written)
}

/// A reader that has gone away, as in `| head`, is no failure.
struct IgnoreBrokenPipe<W>(W);

impl<W: Write> Write for IgnoreBrokenPipe<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.0.write(bytes) {
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(bytes.len()),
            outcome => outcome,
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush().or_else(|e| if e.kind() == std::io::ErrorKind::BrokenPipe { Ok(()) } else { Err(e) })
    }
}

fn not_written(place: &Path, error: csv::Error) -> Failure {
    Failure::failed(format!("{}: {error}", place.display()))
}

/// The map that images have to go through, if the data are images and the model was trained on such.
pub fn feature_map(model: &Model, data: &Path) -> Result<Option<FeatureMap>, Failure> {
    match &model.features {
        Some(content) if images::is_images(data) => Ok(Some(FeatureMap::from_content(content.clone())?)),
        None if data.is_file() && images::is_images(data) => Err(Failure::usage(format!(
            "{}: the model was not trained on images; make features with `atomlearn features`, or train with --features",
            data.display()
        ))),
        _ => Ok(None),
    }
}

/// The rule to use; the model's own unless the user asks for another.
fn chosen_rule(model: &Model, asked: Option<&str>) -> Result<&'static str, Failure> {
    let rules = model.classifier().rules();
    match asked {
        None => Ok(model.classifier().rule()),
        Some(name) => match rules.iter().find(|rule| **rule == name) {
            Some(rule) => Ok(rule),
            None => Err(Error::unknown(NameKind::Rule, name, rules.iter().copied()).into()),
        },
    }
}

fn scores_of(model: &Model, x: atomlearn::MatRef<'_, f64>, rule: &str) -> atomlearn::Result<Mat<f64>> {
    if rule == model.classifier().rule() {
        return model.scores(x);
    }
    let all = model.classifier().scores_by_rule(model.prepare(x)?.as_ref())?;
    let found = all.into_iter().find(|(name, _)| *name == rule);
    found.map(|(_, scores)| scores).ok_or_else(|| Error::unknown(NameKind::Rule, rule, []))
}

/// Adds the name of the data to errors about its content.
pub fn in_data(error: Error, name: &str) -> Error {
    match error {
        Error::Data(text) => Error::Data(format!("{name}: {text}")),
        Error::Shape { what, expected, found } => Error::Shape { what: format!("{name}: {what}"), expected, found },
        other => other,
    }
}

/// The table of results. Numbers are in full precision: reading them back gives the same bits.
struct Table<W: Write> {
    writer: csv::Writer<W>,
    columns: Columns,
    excel_safe: bool,
    naming: Naming,
    samples: usize,
}

impl<W: Write> Table<W> {
    fn new(out: W, model: &Model, args: &Args, columns: Columns, naming: Naming) -> Result<Self, csv::Error> {
        let mut writer = csv::Writer::from_writer(out);
        let mut head = vec![naming.column().to_string(), "label".to_string()];
        if columns.probability {
            head.push("probability".into());
        }
        for (wanted, prefix) in [(columns.scores, "score"), (columns.proba, "proba")] {
            if wanted {
                head.extend(model.classes().iter().map(|class| format!("{prefix}_{class}")));
            }
        }
        writer.write_record(&head)?;
        Ok(Table { writer, columns, excel_safe: args.excel_safe, naming, samples: 0 })
    }

    /// A text cell as it is, or as a spreadsheet takes it for text.
    fn text(&self, cell: &str) -> String {
        if self.excel_safe { spreadsheet_safe(cell).into_owned() } else { cell.to_string() }
    }

    /// Adds the samples of `raw`; one without a name is called by its number.
    fn add(&mut self, model: &Model, answers: &Answers, raw: &RawData) -> Result<(), csv::Error> {
        let probabilities = answers.best_probabilities();
        for (place, label) in answers.labels(model).into_iter().enumerate() {
            let name = if self.naming == Naming::Sample { None } else { sample_name(raw, place) };
            let name = name.map_or_else(|| self.samples.to_string(), |name| self.text(name));
            let mut row = vec![name, label.map_or_else(String::new, |label| self.text(label))];
            if self.columns.probability {
                row.push(probabilities[place].map_or_else(String::new, |probability| probability.to_string()));
            }
            let scores = self.columns.scores.then_some(&answers.scores);
            for values in scores.into_iter().chain(answers.proba.as_ref().filter(|_| self.columns.proba)) {
                let cell = |value: &f64| if label.is_some() { value.to_string() } else { String::new() };
                row.extend(values.col(place).iter().map(cell));
            }
            self.writer.write_record(&row)?;
            self.samples += 1;
        }
        Ok(())
    }

    fn finish(self) -> Result<W, csv::Error> {
        self.writer.into_inner().map_err(|e| csv::Error::from(e.into_error()))
    }
}
