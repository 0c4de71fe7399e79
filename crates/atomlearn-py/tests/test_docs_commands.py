"""Every shell command of the documentation runs as written, or is listed here with the reason why it does not.

The commands of a page run in order, in one folder, on small made-up data. Only the port of the server is changed.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from PIL import Image
from scipy.io import savemat
from sklearn.datasets import load_digits

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

# Page (a pattern), command (a pattern), and why it is not run here. `crates/atomlearn-cli/src/reference.rs` still
# checks that every `atomlearn` command among them has flags that exist.
NOT_RUN = [
    (r".*", r"(^|\s)(cargo|pip) ", "builds or installs software"),
    (r"docs/measurements/.*", r"bench/|make_seeds", "measures for minutes to hours, most of it on real data"),
    (r"docs/measurements/.*", r"EYaleB|Scene15|Caltech101|LFW86|AR_random|DATA/|sklearn_digits|[se]0?\.npz",
     "needs data that are not in the repository"),
    (r"docs/tutorial/paper.md", r"EYaleB", "needs Extended Yale B, which may not be passed on"),
    (r"docs/howto/features.md", r"vgg16", "needs a network of 500 MB"),
    (r"docs/howto/serve.md", r"^schemathesis", "needs schemathesis"),
    (r"docs/howto/serve.md", r"^docker ", "needs a Docker daemon; the workflow `ci` builds the image and asks it"),
]  # fmt: skip

# Commands that a page shows because they are refused, with their exit codes.
REFUSED = {("docs/tutorial/own-table.md", "atomlearn auto wine.csv"): 3}


def commands(page):
    """The commands of the page's `sh` blocks; lines that end in a backslash go on."""
    found = []
    for block in re.findall(r"^```sh\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        block = re.sub(r"\\\n\s*", "", block)
        if block.startswith("for "):
            found.append(block)
        else:
            found += [line for line in block.splitlines() if line.strip() and not line.startswith("#")]
    return found


def reason_not_to_run(page, command):
    name = page.relative_to(ROOT).as_posix()
    return next((why for where, what, why in NOT_RUN if re.fullmatch(where, name) and re.search(what, command)), None)


WITH_COMMANDS = [page for page in PAGES if any(not reason_not_to_run(page, c) for c in commands(page))]


@pytest.fixture(scope="session")
def material(tmp_path_factory, command_line):
    """The files that the pages name."""
    folder = tmp_path_factory.mktemp("material")

    def run(*arguments):
        done = subprocess.run([str(a) for a in arguments], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    for name in ("examples", "bench"):
        (folder / name).symlink_to(ROOT / name)
    X, y = load_digits(return_X_y=True)
    few = np.concatenate([np.flatnonzero(y == c)[:24] for c in range(6)])
    later = np.concatenate([np.flatnonzero(y == c)[24:32] for c in range(6)])
    np.savez(folder / "digits.npz", X=X[:650], y=y[:650])
    np.save(folder / "new.npy", X[later][:5])
    for name, which in (("faces", few), ("test", later)):
        savemat(folder / f"{name}.mat", {"X": X[which].T, "y": y[which] + 1})
    for name, which in (("train", few), ("test", later)):
        table(folder / f"{name}.csv", X[which], {"kind": [f"digit{c}" for c in y[which]]})
    table(folder / "visits.csv", X[few], {"patient": [f"P{i // 2}" for i in range(len(few))], "kind": y[few]})
    shares = [1 + i % 3 for i in range(len(few))]
    table(folder / "survey.csv", X[few], {"share": shares, "kind": [f"digit{c}" for c in y[few]]})
    (folder / "shapes.csv").write_text(
        "width,height,color,kind\n" + "2,1,red,flat\n3,1,blue,flat\n1,2,red,tall\n1,3,blue,tall\n" * 5
    )
    (folder / "new_shapes.csv").write_text("width,height,color\n2,1,red\n1,2,blue\n")
    splits = [{"train": list(range(0, len(few), 2)), "test": list(range(1, len(few), 2))}]
    (folder / "splits.json").write_text(json.dumps({"schema": "atomlearn.splits/1", "splits": splits}))
    (folder / "my.py").write_text(
        "import csv, sys\ntrain = list(csv.reader(open(sys.argv[1])))\ntest = list(csv.reader(open(sys.argv[2])))\n"
        "csv.writer(open(sys.argv[3], 'w')).writerows([['label'], *[[train[1][-1]] for _ in test[1:]]])\n"
    )
    run(sys.executable, "examples/data/photos.py", "--per-class", "12")
    for name in ("scenes", "faces", "test_scenes"):
        shutil.copytree(folder / "photos", folder / name)
    Image.open(folder / "new" / "picture0.png").save(folder / "photo.jpg")
    run(command_line, "train", "faces.mat", "--method", "crc", "-o", "faces.model")
    for name, data in (("faces", "faces.mat"), ("scenes", "digits.npz")):
        run(
            command_line,
            "compare",
            data,
            "--methods",
            "crc,ridge,lda",
            "--train-per-class",
            "10",
            "--records",
            f"{name}.jsonl",
        )
    shutil.copy(folder / "faces.model", folder / "f.model")
    return folder


def table(path, X, columns):
    names = [f"x{j}" for j in range(X.shape[1])]
    rows = [",".join([*names, *columns])]
    rows += [",".join([*(f"{v:g}" for v in x), *map(str, rest)]) for x, *rest in zip(X, *columns.values())]
    path.write_text("\n".join(rows) + "\n")


class Shell:
    """Runs the commands of one page; servers run until the next one is started."""

    def __init__(self, page, folder, command_line):
        self.page, self.folder, self.server = page.relative_to(ROOT).as_posix(), folder, None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        programs = folder / "programs"
        programs.mkdir()
        (programs / "atomlearn").symlink_to(Path(command_line).resolve())
        for name in ("python", "python3"):
            (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
            (programs / name).chmod(0o755)
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "COLUMNS": "100"}

    def run(self, command):
        command = command.replace("127.0.0.1:8642", f"127.0.0.1:{self.port}")
        if re.match(r"atomlearn serve\b", command):
            return self.serve(command)
        if command.startswith("curl "):
            command = command.replace("curl ", "curl --silent --show-error --fail-with-body ", 1)
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=300
        )
        wanted = REFUSED.get((self.page, command), 0)
        assert done.returncode == wanted, f"$ {command}\n{done.stdout}{done.stderr}"

    def serve(self, command):
        self.close()
        command = command.split(" #")[0].rstrip() + f" --listen 127.0.0.1:{self.port}"
        log = (self.folder / "server.log").open("w")
        self.server = subprocess.Popen(
            ["bash", "-c", f"exec {command}"], cwd=self.folder, env=self.environment, stdout=log, stderr=log
        )
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=5).read()
                return
            except OSError:
                said = (self.folder / "server.log").read_text()
                assert self.server.poll() is None, f"$ {command}\n{said}"
                time.sleep(0.1)
        raise AssertionError(f"$ {command}\nthe server does not answer")

    def close(self):
        if self.server is not None:
            self.server.terminate()
            self.server.wait(timeout=30)
            self.server = None


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_run_in_order(page, material, command_line, tmp_path):
    folder = tmp_path / "page"
    shutil.copytree(material, folder, symlinks=True)
    shell = Shell(page, folder, command_line)
    # The first tutorial has the table as an office program exports it, all other pages a plain one.
    spreadsheet = ["--spreadsheet"] if page.name == "own-table.md" else []
    subprocess.run([sys.executable, ROOT / "examples/data/wine.py", folder, *spreadsheet], check=True)
    try:
        if page.name == "serve.md":
            shell.run("atomlearn auto wine.csv -o w.model; atomlearn train shapes.csv --method crc -o shapes.model")
        for command in commands(page):
            if not reason_not_to_run(page, command):
                shell.run(command)
    finally:
        shell.close()


def test_every_exception_is_needed():
    every = [(page.relative_to(ROOT).as_posix(), command) for page in PAGES for command in commands(page)]
    assert len(every) > 60
    assert all(entry in every for entry in REFUSED)
    for where, what, why in NOT_RUN:
        assert any(re.fullmatch(where, page) and re.search(what, command) for page, command in every), (
            where,
            what,
            why,
        )
