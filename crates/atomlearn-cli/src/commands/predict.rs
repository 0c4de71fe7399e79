//! `atomlearn predict`: the class of every sample.

use crate::args::DataArgs;
use crate::console::Console;
use crate::data::tell;
use crate::failure::Failure;
use crate::images;
use crate::output::{Kind, OutputArgs, write_output};
use crate::plain::spreadsheet_safe;
use atomlearn::file::AtomicFile;
use atomlearn::io::{RawData, ReadOptions};
use atomlearn::method::best_class;
use atomlearn::scale::files::Plan;
use atomlearn::{Error, Mat, Model};
use atomlearn_features::FeatureMap;
use serde_json::json;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  atomlearn predict faces.model new.mat -o labels.csv
  atomlearn predict faces.model new.csv --scores
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
    /// Decision rule, for models that have several [default: the one chosen in training]
    #[arg(long, value_name = "NAME")]
    rule: Option<String>,
    /// Put an apostrophe before labels that a spreadsheet would run as a formula (those that begin with = + - @)
    #[arg(long)]
    excel_safe: bool,
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
    if args.out_of_core {
        return stream(args, &model, rule, console);
    }
    let source = match feature_map(&model, &args.data)? {
        Some(map) => images::source(&map, &args.data, console)?,
        None => args.reading.read_for(&args.data, &model, console)?,
    };
    let scores = scores_of(&model, source.raw.x.as_ref(), rule).map_err(|e| in_data(e, &source.name))?;
    let best = best_class(scores.as_ref());
    let labels: Vec<&str> = best.iter().map(|&c| model.classes()[c].as_str()).collect();
    if console.json {
        let mut result = json!({
            "schema": "atomlearn.predict/1",
            "model": {"path": args.model.display().to_string(), "method": model.method().key, "rule": rule},
            "data": {"path": source.name, "sha256": source.sha256},
            "classes": model.classes(), "labels": labels,
        });
        if let Some(names) = &source.raw.names {
            result["names"] = json!(names);
        }
        if let Some(ids) = &source.raw.ids {
            result["ids"] = json!(ids);
        }
        if args.scores {
            let columns: Vec<Vec<f64>> = scores.col_iter().map(|column| column.iter().copied().collect()).collect();
            result["scores"] = json!(columns);
        }
        let text = serde_json::to_string(&result).map_err(|e| Failure::failed(e.to_string()))? + "\n";
        return write_output(args.output.as_deref(), text.as_bytes(), console);
    }
    let not_written = |e| not_written(Path::new("CSV"), e);
    let mut table = Table::new(Vec::new(), &model, args, Named::of(&source.raw)).map_err(not_written)?;
    table.add(&model, &scores, &source.raw).map_err(not_written)?;
    write_output(args.output.as_deref(), &table.finish().map_err(not_written)?, console)
}

/// Predicts part by part; memory holds one part at a time.
fn stream(args: &Args, model: &Model, rule: &str, console: &Console) -> Result<(), Failure> {
    if console.json {
        return Err(Failure::usage("--out-of-core writes CSV as it goes; leave out --json"));
    }
    let mut options = args.reading.options_for(model)?;
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
        None => write_parts(args, model, rule, &plan, Heedless(std::io::stdout().lock()), console).map(drop),
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
    // What samples are called is known when the first are read, and holds for all.
    let (mut table, mut out) = (None, Some(out));
    for piece in &plan.pieces {
        let raw = piece.raw()?;
        if piece.index > 0 {
            tell(&raw.notes, console);
        }
        let place = format!("{}, partition {}", args.data.display(), piece.index);
        let scores = scores_of(model, raw.x.as_ref(), rule).map_err(|e| in_data(e, &place))?;
        if let Some(out) = out.take() {
            table = Some(Table::new(out, model, args, Named::of(&raw)).map_err(not_written)?);
        }
        if let Some(table) = &mut table {
            table.add(model, &scores, &raw).map_err(not_written)?;
        }
    }
    table
        .ok_or_else(|| Failure::bad_file(format!("{}: no samples", args.data.display())))?
        .finish()
        .map_err(not_written)
}

/// A reader that has gone away, as in `| head`, is no failure.
struct Heedless<W>(W);

impl<W: Write> Write for Heedless<W> {
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
            None => Err(Error::unknown("rule", name, rules.iter().copied()).into()),
        },
    }
}

fn scores_of(model: &Model, x: atomlearn::MatRef<'_, f64>, rule: &str) -> atomlearn::Result<Mat<f64>> {
    if rule == model.classifier().rule() {
        return model.scores(x);
    }
    let all = model.classifier().scores_by_rule(model.prepare(x)?.as_ref())?;
    let found = all.into_iter().find(|(name, _)| *name == rule);
    found.map(|(_, scores)| scores).ok_or_else(|| Error::unknown("rule", rule, []))
}

/// Adds the name of the data to errors about its content.
pub fn in_data(error: Error, name: &str) -> Error {
    match error {
        Error::Data(text) => Error::Data(format!("{name}: {text}")),
        Error::Shape { what, expected, found } => Error::Shape { what: format!("{name}: {what}"), expected, found },
        other => other,
    }
}

/// What the rows of the result are called by.
#[derive(Clone, Copy)]
enum Named {
    /// Their number from 0.
    Number,
    /// The id column of a table.
    Id,
    /// The file an image came from.
    File,
}

impl Named {
    fn of(raw: &RawData) -> Self {
        match (&raw.ids, &raw.names) {
            (Some(_), _) => Named::Id,
            (None, Some(_)) => Named::File,
            (None, None) => Named::Number,
        }
    }

    fn column(self) -> &'static str {
        match self {
            Named::Number => "sample",
            Named::Id => "id",
            Named::File => "file",
        }
    }

    /// What sample `place` of `raw` is called, if it has such a name.
    fn name(self, raw: &RawData, place: usize) -> Option<&str> {
        let names = match self {
            Named::Number => &None,
            Named::Id => &raw.ids,
            Named::File => &raw.names,
        };
        names.as_ref()?.get(place).map(String::as_str)
    }
}

/// The table of results. Numbers are in full precision: reading them back gives the same bits.
struct Table<W: Write> {
    writer: csv::Writer<W>,
    scores: bool,
    excel_safe: bool,
    named: Named,
    samples: usize,
}

impl<W: Write> Table<W> {
    fn new(out: W, model: &Model, args: &Args, named: Named) -> Result<Self, csv::Error> {
        let Args { scores, excel_safe, .. } = *args;
        let mut writer = csv::Writer::from_writer(out);
        let mut head = vec![named.column().to_string(), "label".to_string()];
        if scores {
            head.extend(model.classes().iter().map(|class| format!("score_{class}")));
        }
        writer.write_record(&head)?;
        Ok(Table { writer, scores, excel_safe, named, samples: 0 })
    }

    /// A text cell as it is, or as a spreadsheet takes it for text.
    fn text(&self, cell: &str) -> String {
        if self.excel_safe { spreadsheet_safe(cell).into_owned() } else { cell.to_string() }
    }

    /// Adds the samples of `raw`; one without a name is called by its number.
    fn add(&mut self, model: &Model, scores: &Mat<f64>, raw: &RawData) -> Result<(), csv::Error> {
        for (place, (best, column)) in best_class(scores.as_ref()).into_iter().zip(scores.col_iter()).enumerate() {
            let name = self.named.name(raw, place).map_or_else(|| self.samples.to_string(), |name| self.text(name));
            let mut row = vec![name, self.text(&model.classes()[best])];
            if self.scores {
                row.extend(column.iter().map(|score| score.to_string()));
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
