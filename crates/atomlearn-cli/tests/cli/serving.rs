//! `serve` as a process, and the card of a model.

use crate::{PROGRAM, Place, table};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

pub struct Served {
    process: Child,
    address: String,
    errors: BufReader<ChildStderr>,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Served {
    pub fn start(place: &Place, line: &str) -> Self {
        let mut process = Command::new(PROGRAM)
            .args(line.split_whitespace())
            .current_dir(place.path("."))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let address = url.trim().trim_start_matches("http://").trim_end_matches('/').to_string();
        let errors = BufReader::new(process.stderr.take().unwrap());
        Served { process, address, errors }
    }

    fn post(&self, path: &str, body: &str) -> (String, Value) {
        self.post_as("application/json", path, body.as_bytes())
    }

    pub fn post_as(&self, content_type: &str, path: &str, body: &[u8]) -> (String, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        let head = format!("Host: localhost\r\nContent-Type: {content_type}\r\nConnection: close\r\n");
        write!(stream, "POST {path} HTTP/1.1\r\n{head}Content-Length: {length}\r\n\r\n").unwrap();
        stream.write_all(body).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.to_string(), serde_json::from_str(body).unwrap())
    }

    /// Sends a signal and waits for the end.
    #[cfg(unix)]
    fn ends_by(&mut self, signal: &str) -> Option<i32> {
        let sent = Command::new("kill").args([signal, &self.process.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(20) {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("still running after {signal}");
    }
}

#[cfg(unix)]
#[test]
fn a_served_model_says_what_predict_says_and_ends_on_signals() {
    let place = Place::new();
    place.write("data.csv", table(8));
    place.ok("train data.csv --method lcdl-sv -o a.model");
    let predicted = place.json("predict a.model data.csv --scores --json");
    let rows: Vec<String> = table(8).lines().skip(1).map(|l| format!("[{}]", l.rsplit_once(',').unwrap().0)).collect();
    for signal in ["-INT", "-TERM"] {
        let mut served = Served::start(&place, "serve a.model --port 0");
        let (head, answer) = served.post("/predict", &format!("[{}]", rows.join(",")));
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        for field in ["schema", "classes", "labels", "scores"] {
            assert_eq!(answer[field], predicted[field], "{field}");
        }
        assert_eq!(served.ends_by(signal), Some(0), "{signal}");
        let mut notes = String::new();
        served.errors.read_to_string(&mut notes).unwrap();
        assert!(!notes.contains("warning") && !notes.contains("panicked"), "{notes}");
    }
}

#[cfg(unix)]
#[test]
fn a_log_of_requests_goes_where_it_is_told_and_into_no_other_file() {
    let place = Place::new();
    place.write("data.csv", table(8));
    place.ok("train data.csv --method crc -o a.model");
    for flag in ["--log=requests.jsonl", "--log"] {
        let mut served = Served::start(&place, &format!("--quiet serve a.model --port 0 {flag}"));
        served.post("/predict", "[[1, 2, 3, 4]]");
        assert_eq!(served.ends_by("-TERM"), Some(0));
        let mut text = String::new();
        served.errors.read_to_string(&mut text).unwrap();
        if flag != "--log" {
            assert_eq!(text, "");
            text = std::fs::read_to_string(place.path("requests.jsonl")).unwrap();
        }
        let line: Value = serde_json::from_str(text.trim()).unwrap();
        assert_eq!((&line["path"], &line["status"]), (&"/predict".into(), &200.into()), "{text}");
    }
    let before = std::fs::read(place.path("a.model")).unwrap();
    place.refuses("serve a.model --port 0 --log=a.model", 1, &["a.model", "something else", "another file"]);
    assert_eq!(std::fs::read(place.path("a.model")).unwrap(), before);
    place.refuses("serve a.model --port 0 --log=no/such/folder", 1, &["no/such/folder"]);
}

#[test]
fn other_addresses_need_to_be_asked_for_and_are_warned_about() {
    let place = Place::new();
    let mut served = Served::start(&place, "serve --demo --listen 0.0.0.0:0");
    let mut line = String::new();
    served.errors.read_line(&mut line).unwrap();
    assert!(line.contains("warning") && line.contains("not only this machine"), "{line}");
    drop(served);
    let served = Served::start(&place, "serve --demo --port 0");
    assert!(served.address.starts_with("127.0.0.1:"), "{}", served.address);
    let port = served.address.rsplit(':').next().unwrap().to_string();
    place.refuses(&format!("serve --demo --port {port}"), 1, &["cannot serve", "--port"]);
}

#[test]
fn what_cannot_be_served_is_refused() {
    let place = Place::new();
    place.write("data.csv", table(8));
    place.ok("train data.csv --method crc -o a.model");
    place.refuses("serve", 2, &["MODEL"]);
    place.refuses("serve missing.model", 3, &["missing.model"]);
    place.refuses("serve data.csv", 3, &["data.csv"]);
    place.refuses("serve a.model --demo", 2, &["cannot be used with"]);
    place.refuses("serve a.model --shape 3x3", 2, &["9 pixels", "4 features"]);
    for flags in ["--shape 3", "--max-body 8MB", "--max-body 0", "--request-time 0", "--listen nowhere", "--port 70000"]
    {
        place.refuses(&format!("serve a.model {flags}"), 2, &["invalid value"]);
    }
    place.refuses("serve a.model --port 1 --listen 127.0.0.1:1", 2, &["cannot be used with"]);
}

#[test]
fn a_card_tells_what_the_file_records() {
    let place = Place::new();
    place.write("data.csv", table(8));
    place.ok("train data.csv --method lcdl-sv --set lambda1=0.01 --prep standard,unit -o a.model");
    let card = place.ok("report --card a.model");
    for part in [
        "---\n",
        "# a\n",
        "| data | data.csv |",
        "| training samples | 24 |",
        "| `lambda1` | 0.01 |",
        "`standard`: every feature",
        "ant, bee, cat",
        "records none",
        "At 8.0 training samples per class",
        "atomlearn export a.model --onnx",
        "atomlearn.load(\"a.model\")",
    ] {
        assert!(card.contains(part), "no {part} in\n{card}");
    }
    place.ok("report --card a.model -o card.md");
    assert_eq!(crate::read(&place.path("card.md")), card.as_bytes());
    place.refuses("report --card data.csv", 3, &["data.csv"]);
    place.refuses("report", 2, &["RECORDS"]);
    place.refuses("report runs.jsonl", 2, &["--output"]);
}
