//! A server in this process, and a client that says exactly what a test wants said.
#![allow(dead_code, clippy::unwrap_used, clippy::panic, missing_docs)]

use atomlearn::prep::PrepSpec;
use atomlearn::registry::{Values, method};
use atomlearn::{MatRef, Model, synth};
use atomlearn_serve::{Config, Reloader, Server, Source, Subject};
use serde_json::Value;
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// The usual limits on a free port.
pub fn config() -> Config {
    Config { listen: ([127, 0, 0, 1], 0).into(), ..Config::default() }
}

/// The demonstration: LCDL-SV on digits.
pub fn digits() -> Subject {
    Subject::digits().unwrap()
}

/// Three classes in six features.
pub fn blobs_model(key: &str, prep: &str) -> Model {
    let prep: PrepSpec = prep.parse().unwrap();
    Model::train(method(key).unwrap(), &Values::new(), &prep, &synth::blobs(3, 12, 6, 1), &mut ()).unwrap()
}

pub fn blobs(key: &str, prep: &str) -> Subject {
    Subject::new(blobs_model(key, prep), "blobs", None, None)
}

/// A server on a thread of its own; stops with its owner.
pub struct Running {
    pub address: SocketAddr,
    pub reloader: Reloader,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub fn start(subject: Subject, config: Config) -> Self {
        Running::start_all(vec![subject.into()], config)
    }

    pub fn start_all(sources: Vec<Source>, config: Config) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let server = Server::bind(sources, config).await.unwrap();
                tell.send((server.address().unwrap(), server.reloader())).unwrap();
                server.run(async { drop(stopped.await) }).await;
            });
        });
        let (address, reloader) = told.recv().unwrap();
        Running { address, reloader, stop: Some(stop), thread: Some(thread) }
    }

    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Asks it to stop, without waiting.
    pub fn ask_to_stop(&mut self) {
        self.stop.take().map(|stop| stop.send(()));
    }

    /// Waits until it has stopped.
    pub fn wait(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    /// One request on a connection of its own.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = self.connect();
        stream.write_all(&request(method, path, headers, body)).unwrap();
        Answer::read(&mut BufReader::new(stream))
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    pub fn post_json(&self, path: &str, body: &str) -> Answer {
        self.send("POST", path, &[("Content-Type", "application/json")], body.as_bytes())
    }

    pub fn post_npy(&self, path: &str, body: &[u8]) -> Answer {
        self.send("POST", path, &[("Content-Type", "application/x-npy")], body)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.ask_to_stop();
        self.wait();
    }
}

pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    if !headers.iter().any(|(name, _)| *name == "Host") {
        text += "Host: localhost\r\n";
    }
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    let said = ["Content-Length", "Transfer-Encoding"].iter().any(|name| headers.iter().any(|(held, _)| held == name));
    if !said && (method != "GET" || !body.is_empty()) {
        text += &format!("Content-Length: {}\r\n", body.len());
    }
    [text.as_bytes(), b"\r\n", body].concat()
}

/// An answer with its head.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn read(stream: &mut impl Read) -> Self {
        Answer::try_read(stream).expect("an answer")
    }

    /// `None` if the connection ended first.
    pub fn try_read(stream: &mut impl Read) -> Option<Self> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if !matches!(stream.read(&mut byte), Ok(1)) {
                return None;
            }
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1).map_or("0", |rest| rest.split("\r\n").next().unwrap());
        let mut body = vec![0; length.parse().unwrap()];
        stream.read_exact(&mut body).ok()?;
        Some(Answer { status: head[9..12].parse().unwrap(), head, body })
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// Samples (columns) as `.npy` bytes with one sample a row.
pub fn npy(x: MatRef<'_, f64>) -> Vec<u8> {
    let mut head = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, {}), }}", x.ncols(), x.nrows());
    head += &" ".repeat(63 - (10 + head.len()) % 64);
    head.push('\n');
    let mut bytes = [&b"\x93NUMPY\x01\x00"[..], &(head.len() as u16).to_le_bytes(), head.as_bytes()].concat();
    bytes.extend(x.col_iter().flat_map(|sample| sample.iter().flat_map(|value| value.to_le_bytes())));
    bytes
}

/// Samples (columns) as JSON rows.
pub fn rows(x: MatRef<'_, f64>) -> String {
    let rows: Vec<Vec<f64>> = x.col_iter().map(|sample| sample.iter().copied().collect()).collect();
    serde_json::to_string(&rows).unwrap()
}

/// An 8 x 8 digit as a coloured picture whose pixels are squares of `side`.
pub fn write_png(path: &Path, digit: MatRef<'_, f64>, side: usize) {
    let file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let mut encoder = png::Encoder::new(file, 8 * side as u32, 8 * side as u32);
    encoder.set_color(png::ColorType::Rgb);
    let pixel = |i: usize| {
        let (row, col) = (i / (8 * side) / side, i % (8 * side) / side);
        [(255.0 * digit[(8 * row + col, 0)] / 16.0) as u8; 3]
    };
    let pixels: Vec<u8> = (0..64 * side * side).flat_map(pixel).collect();
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
}
