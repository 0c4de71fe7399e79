//! A headless Chromium for tests, driven over its DevTools protocol (JSON over a WebSocket).
//!
//! Whatever goes wrong in here fails the test that uses it, so it panics.
#![allow(clippy::unwrap_used, clippy::panic)]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tungstenite::{Message, WebSocket};

const PATIENCE: Duration = Duration::from_secs(30);
const NAMES: [&str; 5] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

/// The browser that `ATOMLEARN_CHROMIUM` names, or the first in the search path.
fn find() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("ATOMLEARN_CHROMIUM") {
        return Some(path.into());
    }
    let folders = std::env::var_os("PATH")?;
    let places: Vec<PathBuf> =
        std::env::split_paths(&folders).flat_map(|folder| NAMES.map(|name| folder.join(name))).collect();
    places.into_iter().find(|place| place.is_file())
}

/// A running browser with one open page; ends with its owner.
pub struct Browser {
    process: Child,
    socket: WebSocket<TcpStream>,
    session: Option<String>,
    last_id: u64,
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Browser {
    /// Starts the browser that is there. Without one the caller's test is skipped, but fails where `CI=true`.
    pub fn start_if_any() -> Option<Self> {
        let found = find();
        if found.is_none() {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "no Chromium found, and CI must have one");
            eprintln!("SKIPPED: no Chromium found; install it or name it in ATOMLEARN_CHROMIUM");
        }
        found.map(|program| Browser::start(&program))
    }

    /// Starts the browser with an empty profile and without anything that calls home.
    fn start(program: &Path) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let process = Command::new(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--disable-dev-shm-usage", "--remote-debugging-port=0"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (port, path) = address(&profile.path().join("DevToolsActivePort"));
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (socket, _) = tungstenite::client(format!("ws://127.0.0.1:{port}{path}"), stream).unwrap();
        let mut browser = Browser { process, socket, session: None, last_id: 0, events: Vec::new(), _profile: profile };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached = browser.call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}));
        browser.session = attached["sessionId"].as_str().map(String::from);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Sends a command and waits for its answer; events that come before it are kept.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.socket.send(Message::text(message.to_string())).unwrap();
        loop {
            let answer = self.receive();
            if answer["id"] == json!(self.last_id) {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn receive(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.socket.read().unwrap() {
                return serde_json::from_str(text.as_str()).unwrap();
            }
        }
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, file: &Path) {
        self.open_url(&format!("file://{}", file.display()));
    }

    /// Opens an address and waits until it is loaded.
    pub fn open_url(&mut self, url: &str) {
        self.events.clear();
        self.call("Page.navigate", json!({"url": url}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.receive();
            self.events.push(event);
        }
    }

    /// The value of an expression on the page.
    pub fn eval(&mut self, expression: &str) -> Value {
        let answer = self.call("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}));
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub fn wait_for(&mut self, expression: &str) {
        let start = Instant::now();
        while self.eval(&format!("Boolean({expression})")) != true {
            if start.elapsed() > PATIENCE {
                let text = self.eval("document.body.innerText");
                panic!("waited in vain for {expression}; the page says {text}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The size of the window, the colour scheme, and whether it is a phone.
    pub fn device(&mut self, width: u32, height: u32, dark: bool) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = json!([{"name": "prefers-color-scheme", "value": if dark { "dark" } else { "light" }}]);
        self.call("Emulation.setEmulatedMedia", json!({"media": "screen", "features": scheme}));
    }

    /// Draws a line through points of the window with the mouse held down.
    pub fn drag(&mut self, points: &[(f64, f64)]) {
        let mut mouse = |kind: &str, (x, y): (f64, f64), buttons: u8| {
            let event = json!({"type": kind, "x": x, "y": y, "button": "left", "buttons": buttons, "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event);
        };
        let (Some(&first), Some(&last)) = (points.first(), points.last()) else { return };
        mouse("mousePressed", first, 1);
        points.iter().for_each(|&point| mouse("mouseMoved", point, 1));
        mouse("mouseReleased", last, 0);
    }

    /// Chooses a file in an input.
    pub fn choose(&mut self, selector: &str, file: &Path) {
        let document = self.call("DOM.getDocument", json!({}));
        let root = &document["root"]["nodeId"];
        let node = self.call("DOM.querySelector", json!({"nodeId": root, "selector": selector}));
        let files = json!({"nodeId": node["nodeId"], "files": [file.display().to_string()]});
        self.call("DOM.setFileInputFiles", files);
    }

    /// Presses a key, named as in `KeyboardEvent.key`.
    pub fn press(&mut self, key: &str) {
        let code = match key {
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            "Tab" => 9,
            "Enter" => 13,
            "Delete" => 46,
            " " => 32,
            other => panic!("no code for the key {other}"),
        };
        let event = |kind: &str| json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
        self.call("Input.dispatchKeyEvent", event("rawKeyDown"));
        self.call("Input.dispatchKeyEvent", event("keyUp"));
    }

    /// Keeps a picture of the whole page in the folder that `ATOMLEARN_SCREENSHOTS` names, if it does.
    pub fn screenshot(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("ATOMLEARN_SCREENSHOTS") else { return };
        let shot = self.call("Page.captureScreenshot", json!({"captureBeyondViewport": true}));
        let bytes = STANDARD.decode(shot["data"].as_str().unwrap()).unwrap();
        std::fs::write(Path::new(&folder).join(format!("{name}.png")), bytes).unwrap();
    }

    /// Errors, console messages and requests for addresses that are not `allowed`, since the page was opened.
    pub fn complaints(&self, allowed: impl Fn(&str) -> bool) -> Vec<String> {
        let bad = |event: &&Value| match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded" => true,
            "Network.requestWillBeSent" => {
                let url = event["params"]["request"]["url"].as_str().unwrap_or_default();
                !(allowed(url) || url.starts_with("data:"))
            }
            _ => false,
        };
        self.events.iter().filter(bad).map(Value::to_string).collect()
    }
}

/// Port and path that the browser writes into its profile once it listens.
fn address(file: &Path) -> (u16, String) {
    let start = Instant::now();
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let mut lines = text.lines();
        if let (Some(Ok(port)), Some(path)) = (lines.next().map(str::parse), lines.next()) {
            return (port, path.to_string());
        }
        assert!(start.elapsed() < PATIENCE, "the browser does not listen");
        std::thread::sleep(Duration::from_millis(50));
    }
}
