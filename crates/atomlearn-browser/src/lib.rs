//! A headless Chromium for tests, driven over its DevTools protocol (JSON over a WebSocket).
//!
//! Whatever goes wrong is an error that says what; the test that uses it decides.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tungstenite::{Message, WebSocket};

/// What went wrong, as text, or the error of the layer below.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

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
    /// Starts the browser that is there. Without one the caller's test is skipped, but it is an error where `CI=true`.
    pub fn start_if_any() -> Result<Option<Self>> {
        match find() {
            Some(program) => Browser::start(&program).map(Some),
            None if std::env::var("CI").as_deref() == Ok("true") => {
                Err("no Chromium found, and CI must have one".into())
            }
            None => {
                eprintln!("SKIPPED: no Chromium found; install it or name it in ATOMLEARN_CHROMIUM");
                Ok(None)
            }
        }
    }

    /// Starts the browser with an empty profile and without anything that calls home.
    fn start(program: &Path) -> Result<Self> {
        let profile = tempfile::tempdir()?;
        let process = Command::new(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--disable-dev-shm-usage", "--remote-debugging-port=0"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let (port, path) = address(&profile.path().join("DevToolsActivePort"))?;
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let (socket, _) = tungstenite::client(format!("ws://127.0.0.1:{port}{path}"), stream)
            .map_err(|e| format!("the browser refuses: {e}"))?;
        let mut browser = Browser { process, socket, session: None, last_id: 0, events: Vec::new(), _profile: profile };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))?;
        let attached =
            browser.call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}))?;
        browser.session = attached["sessionId"].as_str().map(String::from);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}))?;
        }
        Ok(browser)
    }

    /// Sends a command and waits for its answer; events that come before it are kept.
    pub fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.socket.send(Message::text(message.to_string()))?;
        loop {
            let answer = self.receive()?;
            if answer["id"] == json!(self.last_id) {
                return match &answer["error"] {
                    Value::Null => Ok(answer["result"].clone()),
                    error => Err(format!("{method}: {error}").into()),
                };
            }
            self.events.push(answer);
        }
    }

    fn receive(&mut self) -> Result<Value> {
        loop {
            if let Message::Text(text) = self.socket.read()? {
                return Ok(serde_json::from_str(text.as_str())?);
            }
        }
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, file: &Path) -> Result<()> {
        self.open_url(&format!("file://{}", file.display()))
    }

    /// Opens an address and waits until it is loaded.
    pub fn open_url(&mut self, url: &str) -> Result<()> {
        self.events.clear();
        self.call("Page.navigate", json!({"url": url}))?;
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.receive()?;
            self.events.push(event);
        }
        Ok(())
    }

    /// The value of an expression on the page.
    pub fn eval(&mut self, expression: &str) -> Result<Value> {
        let answer = self.call("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}))?;
        match &answer["exceptionDetails"] {
            Value::Null => Ok(answer["result"]["value"].clone()),
            details => Err(format!("{expression}: {details}").into()),
        }
    }

    /// Waits until an expression is true.
    pub fn wait_for(&mut self, expression: &str) -> Result<()> {
        let start = Instant::now();
        while self.eval(&format!("Boolean({expression})"))? != true {
            if start.elapsed() > PATIENCE {
                let text = self.eval("document.body.innerText")?;
                return Err(format!("waited in vain for {expression}; the page says {text}").into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// The size of the window, the colour scheme, and whether it is a phone.
    pub fn device(&mut self, width: u32, height: u32, dark: bool) -> Result<()> {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500});
        self.call("Emulation.setDeviceMetricsOverride", metrics)?;
        let scheme = json!([{"name": "prefers-color-scheme", "value": if dark { "dark" } else { "light" }}]);
        self.call("Emulation.setEmulatedMedia", json!({"media": "screen", "features": scheme})).map(drop)
    }

    /// Draws a line through points of the window with the mouse held down.
    pub fn drag(&mut self, points: &[(f64, f64)]) -> Result<()> {
        let mut mouse = |kind: &str, (x, y): (f64, f64), buttons: u8| {
            let event = json!({"type": kind, "x": x, "y": y, "button": "left", "buttons": buttons, "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event).map(drop)
        };
        let (Some(&first), Some(&last)) = (points.first(), points.last()) else { return Ok(()) };
        mouse("mousePressed", first, 1)?;
        points.iter().try_for_each(|&point| mouse("mouseMoved", point, 1))?;
        mouse("mouseReleased", last, 0)
    }

    /// Chooses a file in an input.
    pub fn choose(&mut self, selector: &str, file: &Path) -> Result<()> {
        let document = self.call("DOM.getDocument", json!({}))?;
        let root = &document["root"]["nodeId"];
        let node = self.call("DOM.querySelector", json!({"nodeId": root, "selector": selector}))?;
        let files = json!({"nodeId": node["nodeId"], "files": [file.display().to_string()]});
        self.call("DOM.setFileInputFiles", files).map(drop)
    }

    /// Presses a key, named as in `KeyboardEvent.key`.
    pub fn press(&mut self, key: &str) -> Result<()> {
        let code = match key {
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            "Tab" => 9,
            "Enter" => 13,
            "Delete" => 46,
            " " => 32,
            other => return Err(format!("no code for the key {other}").into()),
        };
        let event = |kind: &str| json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
        self.call("Input.dispatchKeyEvent", event("rawKeyDown"))?;
        self.call("Input.dispatchKeyEvent", event("keyUp")).map(drop)
    }

    /// Keeps a picture of the whole page in the folder that `ATOMLEARN_SCREENSHOTS` names, if it does.
    pub fn screenshot(&mut self, name: &str) -> Result<()> {
        let Some(folder) = std::env::var_os("ATOMLEARN_SCREENSHOTS") else { return Ok(()) };
        let shot = self.call("Page.captureScreenshot", json!({"captureBeyondViewport": true}))?;
        let picture = STANDARD.decode(shot["data"].as_str().unwrap_or_default());
        let bytes = picture.map_err(|e| format!("the browser sent no picture: {e}"))?;
        Ok(std::fs::write(Path::new(&folder).join(format!("{name}.png")), bytes)?)
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
fn address(file: &Path) -> Result<(u16, String)> {
    let start = Instant::now();
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let mut lines = text.lines();
        if let (Some(Ok(port)), Some(path)) = (lines.next().map(str::parse), lines.next()) {
            return Ok((port, path.to_string()));
        }
        if start.elapsed() >= PATIENCE {
            return Err("the browser does not listen".into());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
