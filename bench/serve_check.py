"""Checks `atomlearn serve` on real data: probabilities over HTTP against Python's, and reloads under load.

    python bench/serve_check.py PROGRAM EYaleB_54x48.mat [RELOADS]

PROGRAM is the command line. It trains `AutoClassifier` on 20 samples per class with named features, serves the model,
sends all other samples as named JSON and compares with `predict_proba`. Then it serves a ridge classifier, which is
read quickly, and sends SIGHUP (1000 times unless said otherwise), each after the one before has been counted in
/metrics, while four clients ask without a pause; every answer must be right.
"""

import http.client
import json
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import atomlearn
import numpy as np
import pandas as pd

PER_CLASS, PER_REQUEST, CLIENTS = 20, 50, 4


def main() -> None:
    program, data = sys.argv[1:3]
    reloads = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    X, y = atomlearn.read(data)
    rng = np.random.default_rng(1)
    train = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:PER_CLASS] for c in np.unique(y)])
    test = np.setdiff1d(np.arange(len(y)), train)
    names = [f"pixel {i}" for i in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    auto = atomlearn.AutoClassifier().fit(frame.iloc[train], y[train])
    with Served(program, auto) as served:
        compare(served.address, auto, frame.iloc[test])
    ridge = atomlearn.OneHotRidgeClassifier(prep="pca:100,unit").fit(frame.iloc[train], y[train])
    with Served(program, ridge) as served:
        reload(served.process, served.address, frame.iloc[test[:1]], reloads)


class Served:
    """A model behind a server of its own."""

    def __init__(self, program: str, model) -> None:
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name, "faces.model")
        model.save(path)
        command = [program, "--quiet", "serve", str(path), "--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.address = re.search(r"//(.*)/", self.process.stdout.readline()).group(1)

    def __enter__(self) -> "Served":
        return self

    def __exit__(self, *_) -> None:
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def compare(address: str, model, frame) -> None:
    expected = pd.DataFrame(model.predict_proba(frame), columns=[str(c) for c in model.classes_])
    connection = http.client.HTTPConnection(address)
    found = []
    for start in range(0, len(frame), PER_REQUEST):
        body = frame.iloc[start : start + PER_REQUEST].to_json(orient="records", double_precision=15)
        connection.request("POST", "/predict?scores=false", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status == 200, text
        values = json.loads(text)
        found.append(pd.DataFrame(values["proba"], columns=values["classes"]))
    found = pd.concat(found)[expected.columns]
    print(
        f"{len(frame)} samples: largest difference of a probability {np.abs(found.values - expected.values).max():.1e}"
    )


def reload(server, address: str, frame, reloads: int) -> None:
    body = frame.to_json(orient="records", double_precision=15)
    answers, wrong, done = [], [], threading.Event()

    def client() -> None:
        connection = http.client.HTTPConnection(address)
        while not done.is_set():
            try:
                connection.request("POST", "/predict", body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                answers.append((answer.status, answer.read()))
            except Exception as error:
                wrong.append(repr(error))
                connection = http.client.HTTPConnection(address)

    clients = [threading.Thread(target=client) for _ in range(CLIENTS)]
    [one.start() for one in clients]
    watch, start = http.client.HTTPConnection(address), time.monotonic()
    for i in range(1, reloads + 1):
        server.send_signal(signal.SIGHUP)
        while counted(watch) < i:
            time.sleep(0.002)
    seconds = time.monotonic() - start
    done.set()
    [one.join() for one in clients]
    differ = len({text for _, text in answers}) - 1
    failed = len(wrong) + sum(status != 200 for status, _ in answers)
    print(f"{reloads} reloads in {seconds:.0f} s, {len(answers)} answers, {failed} failed, {differ} differ")
    assert failed == 0 and differ == 0, wrong[:3]


def counted(connection) -> int:
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    assert 'atomlearn_reloads_total{result="failed"} 0' in text
    return int(re.search(r'reloads_total\{result="ok"\} (\d+)', text).group(1))


main()
