"""The pictures of README and documentation, taken by Chromium from what the program really writes.

    cargo build --release && python bench/pictures.py              all of them, into docs/images
    python bench/pictures.py --program PATH --only auto report     some, with another build
    python bench/pictures.py --site target/site --out FOLDER       all pages of the site, at two widths

Needs Pillow, scikit-learn, and Chromium (its path in ATOMLEARN_CHROMIUM, or in the search path).
"""

import argparse
import base64
import functools
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


class Browser:
    """Chromium over a pipe: JSON messages that end in a zero byte, on the descriptors 3 and 4."""

    def __init__(self) -> None:
        program = os.environ.get("ATOMLEARN_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
        if program is None:
            sys.exit("no Chromium; name it in ATOMLEARN_CHROMIUM")
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        their_in, self.out = os.pipe()
        inside, their_out = os.pipe()

        # The descriptors may stand at 3 and 4 themselves, so they are moved up before they are moved down.
        shell = f'exec 8<&{their_in} 9>&{their_out} 3<&8 4>&9; exec "$@"'
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe"]
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "bash", program, *flags, f"--user-data-dir={self.profile.name}", "about:blank"],
            pass_fds=(their_in, their_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(their_in)
        os.close(their_out)
        self.inside = os.fdopen(inside, "rb", buffering=0)
        self.rest, self.last, self.session = b"", 0, None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Page.enable")

    def messages(self):
        while True:
            while b"\0" in self.rest:
                message, self.rest = self.rest.split(b"\0", 1)
                yield json.loads(message)
            more = self.inside.read(1 << 20)
            if not more:
                sys.exit("the browser has ended")
            self.rest += more

    def ask(self, method: str, **params):
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data) :]
        for answer in self.messages():
            if answer.get("id") == self.last:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, address: str, width: int, height: int, dark: bool = False) -> None:
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask("Page.navigate", url=address)
        for _ in range(200):
            if self.run("document.readyState") == "complete":
                break
            time.sleep(0.05)
        time.sleep(0.5)

    def run(self, script: str):
        answer = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            sys.exit(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def picture(self, path: Path, width: int, height: int) -> None:
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        taken = self.ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        image = Image.open(io.BytesIO(base64.b64decode(taken["data"]))).convert("RGB")
        image.quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
        print(f"{path}: {path.stat().st_size // 1024} kB")

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.profile.cleanup()


def auto(browser: Browser, run, folder: Path, out: Path) -> None:
    """The page of `auto` on the wines of the first tutorial."""
    subprocess.run([sys.executable, ROOT / "examples/data/wine.py", folder, "--spreadsheet"], check=True)
    run("auto", "wine.csv", "--id", "sample", "--drop", "remark", "--impute", "median", "--report", "wine.html")
    browser.open((folder / "wine.html").as_uri(), 900, 800)
    browser.picture(out / "auto.png", 900, 800)


def report(browser: Browser, run, folder: Path, out: Path) -> None:
    """The page of the demonstration, and further down its atoms."""
    run("demo", "--report", "demo.html")
    browser.open((folder / "demo.html").as_uri(), 1000, 1000)
    browser.picture(out / "report.png", 1000, 1000)


def serve(browser: Browser, run, folder: Path, out: Path, program: str) -> None:
    """The page of the server, after an example has been picked."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}/"
    server = subprocess.Popen([program, "serve", "--demo", "--listen", f"127.0.0.1:{port}", "--quiet"])
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(address + "healthz", timeout=5).read()
                break
            except OSError:
                time.sleep(0.1)
        browser.open(address, 1000, 900)
        browser.run("document.querySelector('#examples-list > *').click()")
        time.sleep(1.5)
        browser.picture(out / "serve.png", 1000, 900)
    finally:
        server.terminate()
        server.wait()


def site(browser: Browser, folder: Path, out: Path) -> None:
    """Every page of the site at two widths, and what is wider than its window."""
    out.mkdir(parents=True, exist_ok=True)
    for page in sorted(folder.rglob("*.html")):
        if page.name == "404.html":
            continue
        name = "-".join(page.relative_to(folder).with_suffix("").parts)
        for width in (390, 1280):
            browser.open(page.resolve().as_uri(), width, 844)
            height = min(browser.run("document.documentElement.scrollHeight"), 6000)
            browser.picture(out / f"{name}-{width}.png", width, height)
            if (wide := browser.run("document.documentElement.scrollWidth")) > width:
                print(f"TOO WIDE: {name} at {width}: {wide}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Take the pictures of the documentation.")
    parser.add_argument("--program", default=str(ROOT / "target/release/atomlearn"))
    parser.add_argument("--out", type=Path, default=ROOT / "docs/images")
    parser.add_argument("--only", nargs="+", default=["auto", "report", "serve"], choices=["auto", "report", "serve"])
    parser.add_argument("--site", type=Path, help="take pictures of the built site instead")
    arguments = parser.parse_args()
    browser = Browser()
    if arguments.site:
        site(browser, arguments.site, arguments.out)
    else:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)

            def run(*words: str) -> None:
                subprocess.run([arguments.program, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)

            tasks = {"auto": auto, "report": report, "serve": functools.partial(serve, program=arguments.program)}
            for task in arguments.only:
                tasks[task](browser, run, folder, arguments.out)
    browser.close()


if __name__ == "__main__":
    main()
