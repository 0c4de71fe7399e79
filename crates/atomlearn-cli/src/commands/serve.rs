//! `atomlearn serve`: a model behind HTTP, with a page that shows how it decides.

use crate::args::at_least_one;
use crate::console::Console;
use crate::failure::Failure;
use atomlearn::Model;
use atomlearn::io::ImageShape;
use atomlearn_features::FeatureMap;
use atomlearn_serve::{Config, RequestLog, Source, Subject, serve};
use serde_json::json;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  atomlearn serve --demo                             draw digits in the browser
  atomlearn serve faces.model --shape 54x48:columns
  atomlearn serve faces.model --log=requests.jsonl   a line of JSON for every request
  atomlearn serve wine=w.model faces=f.model         several: POST /models/wine/predict; /predict is that of the first
  atomlearn serve wine.model --min-probability 0.8   no label for samples that no class is probable enough for
  kill -HUP PROCESS                                  the running server reads its model files again
  curl -H 'Content-Type: application/json' -d '[[5.1, 3.5, 1.4, 0.2]]' http://127.0.0.1:8642/predict
  curl -H 'Content-Type: application/x-npy' --data-binary @new.npy http://127.0.0.1:8642/predict
  curl -H 'Content-Type: image/jpeg' --data-binary @photo.jpg http://127.0.0.1:8642/predict     models of images

GET / is a page, GET /healthz and GET /metrics are for monitoring, GET /openapi.json describes the interface.
POST /predict takes samples, POST /explain one of them. Ctrl-C finishes the requests that have begun, then stops.";

/// Serve a model on this machine: a page, `POST /predict`, metrics
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Model files, each with its name before it if that is not to be the file's
    #[arg(required_unless_present = "demo", value_name = "[NAME=]MODEL")]
    models: Vec<String>,
    /// Serve LCDL-SV trained on embedded digits
    #[arg(long, conflicts_with = "models")]
    demo: bool,
    /// Port on this machine; 0 takes a free one [default: 8642]
    #[arg(long, value_name = "P")]
    port: Option<u16>,
    /// Listen elsewhere than on loopback; whoever reaches the address may use the model
    #[arg(long, value_name = "ADDR:PORT", conflicts_with = "port")]
    listen: Option<SocketAddr>,
    /// A name that browsers may call the server by, besides localhost and plain addresses
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// Samples are images of this height and width; `:columns` if pixels run down the columns first
    #[arg(long, value_name = "HxW", value_parser = image_shape)]
    shape: Option<ImageShape>,
    /// Give no label to samples whose most probable class is less probable; for models with probabilities
    #[arg(long, value_name = "P", value_parser = probability)]
    min_probability: Option<f64>,
    /// Watch how like those of training the samples are, in /metrics; for models of `auto`
    #[arg(long)]
    drift: bool,
    /// Write a line of JSON for every request to standard error, or append it to a file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    log: Option<Option<PathBuf>>,
    #[command(flatten)]
    limits: Limits,
}

/// What clients may ask for.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
struct Limits {
    /// Largest body of a request
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "8MiB")]
    max_body: usize,
    /// Largest size of all bodies in memory together
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "64MiB")]
    max_in_flight: usize,
    /// Most samples in a request
    #[arg(long, value_name = "N", value_parser = at_least_one, default_value = "4096")]
    max_samples: usize,
    /// Most connections at a time; with more, slow and idle ones are closed
    #[arg(long, value_name = "N", value_parser = at_least_one, default_value = "1024")]
    max_connections: usize,
    /// Most samples of concurrent requests that are scored together; 1 scores each request alone
    #[arg(long, value_name = "N", value_parser = at_least_one, default_value = "64")]
    max_batch: usize,
    /// Seconds a client has to send the head of a request, and an idle connection is kept
    #[arg(long, value_name = "S", value_parser = seconds, default_value = "10")]
    header_time: Duration,
    /// Seconds a request may take, its body included
    #[arg(long, value_name = "S", value_parser = seconds, default_value = "30")]
    request_time: Duration,
}

/// Loads the model and serves it until it is told to stop.
pub fn run(args: &Args, console: &Console) -> Result<(), Failure> {
    let sources = match args.demo {
        true => vec![Source::from(Subject::digits()?)],
        false => args.models.iter().map(|given| source(given, args.shape)).collect::<Result<Vec<_>, _>>()?,
    };
    let config = Config { log: request_log(args.log.as_ref())?, ..args.config() };
    let listen = config.listen;
    if !listen.ip().is_loopback() {
        console.warn(&format!(
            "{listen} is not only this machine: everyone who can reach it may use the model and see its classes and \
             atoms, without a password and unencrypted"
        ));
    }
    let ready = |address: SocketAddr| {
        let url = format!("http://{address}/");
        let printed = if console.json {
            console.print_json(&json!({"schema": "atomlearn.serve/1", "url": url}))
        } else {
            console.print(&url)
        };
        // Nobody reads stdout: the server works all the same.
        drop(printed);
        console.note("Open it in a browser, or POST samples to /predict. Ctrl-C stops.");
    };
    let quiet = console.is_quiet();
    let reloaded = move |outcome: Result<String, String>| match outcome {
        Ok(text) if quiet => drop(text),
        Ok(text) => eprintln!("{text}"),
        Err(text) => eprintln!("warning: {text}"),
    };
    serve(sources, config, ready, reloaded).map_err(|e| match e.kind() {
        ErrorKind::InvalidInput => Failure::usage(e.to_string()),
        _ => Failure::failed(format!(
            "cannot serve on {listen}: {e}; choose another port with --port, or 0 for a free one"
        )),
    })
}

/// A model from a file, `NAME=FILE` or `FILE`, which is read again when the server is told to.
fn source(given: &str, shape: Option<ImageShape>) -> Result<Source, Failure> {
    // A file may have an equals sign in its name.
    let named = given.split_once('=').filter(|_| !Path::new(given).exists());
    let path = PathBuf::from(named.map_or(given, |(_, path)| path));
    let stem = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into());
    let name = named.map_or(stem, |(name, _)| name.into());
    let load = move || -> Result<Subject, Failure> {
        let mut model = Model::load(&path)?;
        check_shape(&model, shape)?;
        let images = model.features.take().map(FeatureMap::from_content).transpose()?;
        let mut subject = Subject::new(model, &name, shape, None);
        subject = match images {
            Some(map) => subject.with_photos(map),
            None => subject,
        };
        Ok(subject)
    };
    let subject = load()?;
    Ok(Source { subject, load: Some(Arc::new(move || load().map_err(Failure::into_message))) })
}

impl Args {
    fn config(&self) -> Config {
        let limits = &self.limits;
        let usual = Config::default();
        let local = || SocketAddr::from((Ipv4Addr::LOCALHOST, self.port.unwrap_or(usual.listen.port())));
        Config {
            listen: self.listen.unwrap_or_else(local),
            hosts: self.host.clone(),
            max_body: limits.max_body,
            max_in_flight: limits.max_in_flight,
            max_samples: limits.max_samples,
            max_connections: limits.max_connections,
            max_batch: limits.max_batch,
            header_time: limits.header_time,
            request_time: limits.request_time,
            min_probability: self.min_probability,
            drift: self.drift,
            log: None,
        }
    }
}

/// `None` where no log is asked for; without a file it is standard error.
fn request_log(wanted: Option<&Option<PathBuf>>) -> Result<Option<Arc<RequestLog>>, Failure> {
    let opened = match wanted {
        None => return Ok(None),
        Some(None) => RequestLog::to_stderr(),
        Some(Some(path)) => RequestLog::to_file(path),
    };
    let name = wanted.and_then(Option::as_ref).map_or("standard error".into(), |path| path.display().to_string());
    let failed = |e| Failure::failed(format!("cannot write the log of requests to {name}: {e}; name another file"));
    opened.map(|log| Some(Arc::new(log))).map_err(failed)
}

fn check_shape(model: &Model, shape: Option<ImageShape>) -> Result<(), Failure> {
    let features = model.prep().n_features();
    match shape {
        Some(ImageShape { rows, cols, .. }) if rows * cols != features => Err(Failure::usage(format!(
            "--shape {rows}x{cols} makes {} pixels, but the model takes {features} features",
            rows * cols
        ))),
        _ => Ok(()),
    }
}

/// `54x48` or `54x48:columns`.
fn image_shape(text: &str) -> Result<ImageShape, String> {
    let (size, order) = text.split_once(':').unwrap_or((text, "rows"));
    let sides = size.split_once('x').and_then(|(rows, cols)| Some((rows.parse().ok()?, cols.parse().ok()?)));
    let sides = sides.filter(|&(rows, cols): &(usize, usize)| rows.checked_mul(cols).is_some_and(|pixels| pixels > 0));
    match (sides, order) {
        (Some((rows, cols)), "rows" | "columns") => Ok(ImageShape { rows, cols, column_major: order == "columns" }),
        _ => Err("must be height x width, such as 54x48, with :columns where pixels run down the columns first".into()),
    }
}

/// `8MiB`, `500KiB` or a number of bytes.
fn size(text: &str) -> Result<usize, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("", 0)];
    let parsed = units.iter().find_map(|(unit, power)| {
        let number: usize = text.strip_suffix(unit)?.trim().parse().ok()?;
        number.checked_mul(1 << power).filter(|&bytes| bytes > 0)
    });
    parsed.ok_or_else(|| "must be a size such as 8MiB, 500KiB or a number of bytes".to_string())
}

fn probability(text: &str) -> Result<f64, String> {
    let parsed = text.parse().ok().filter(|p| (0.0..=1.0).contains(p));
    parsed.ok_or_else(|| "must be a probability between 0 and 1".to_string())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let parsed = text.parse().ok().filter(|s: &f64| *s > 0.0).and_then(|s| Duration::try_from_secs_f64(s).ok());
    parsed.ok_or_else(|| "must be a number of seconds above 0".to_string())
}
