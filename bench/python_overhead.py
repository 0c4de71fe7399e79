"""What calling from Python adds to the time of training in the core.

Times LCDLSVClassifier.fit from the array to the fitted estimator and compares with what preprocessing and training took
inside, by the core's own clock in the same call: so a busy machine slows both alike. The command line trains the same
model in turn, which shows that the core is as fast inside Python as outside. Needs package and program in release mode:

    pip install ./crates/atomlearn-py && cargo build --release
    python bench/python_overhead.py [--faces EYaleB_54x48.mat] [--repeats 15] [--threads 1]
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from atomlearn import FitWarning, LCDLSVClassifier, load
from scipy.io import loadmat
from sklearn.datasets import load_digits

ROOT = Path(__file__).parents[1]


def per_class(X, y, count):
    rng = np.random.default_rng(0)
    chosen = [rng.permutation(np.flatnonzero(y == c))[:count] for c in np.unique(y)]
    return np.ascontiguousarray(X[np.sort(np.concatenate(chosen))]), y[np.sort(np.concatenate(chosen))]


def data_sets(faces):
    X, y = load_digits(return_X_y=True)
    yield "digits, 100 per class", *per_class(X, y, 100), "unit"
    if faces.exists():
        content = loadmat(faces)
        X, y = content["X"].astype(float), content["y"].ravel()
        yield "EYaleB, 20 per class", *per_class(X if len(X) == len(y) else X.T, y, 20), "pca-uncentered:300,unit"
    else:
        print(f"SKIPPED: EYaleB, no file {faces}")


def by_command_line(program, data, prep, threads, model):
    options = ["--quiet", "--json", "--threads", str(threads)]
    command = [program, *options, "train", data, "--method", "lcdl-sv", "--prep", prep, "-o", model]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["seconds"]


def by_python(X, y, prep, threads):
    start = time.perf_counter()
    model = LCDLSVClassifier(prep=prep, n_threads=threads).fit(X, y)
    return time.perf_counter() - start, model


def main():
    default = Path(os.environ.get("ATOMLEARN_DATA", ".")) / "EYaleB_54x48.mat"
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--faces", type=Path, default=default)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--program", default=str(ROOT / "target" / "release" / "atomlearn"))
    args = parser.parse_args()
    warnings.simplefilter("ignore", FitWarning)
    print(f"{args.threads} threads, {args.repeats} repeats; seconds, medians (smallest)")
    with tempfile.TemporaryDirectory() as folder:
        data, file = f"{folder}/data.npz", f"{folder}/model"
        for name, X, y, prep in data_sets(args.faces):
            np.savez(data, X=X, y=y)
            outside, inside, whole = [], [], []
            for _ in range(args.repeats + 1):
                outside.append(by_command_line(args.program, data, prep, args.threads, file))
                seconds, model = by_python(X, y, prep, args.threads)
                whole.append(seconds)
                inside.append(model.fit_seconds_)
            same = np.array_equal(load(file).decision_function(X), model.decision_function(X))
            added = [100 * (a / b - 1) for a, b in zip(whole[1:], inside[1:])]  # the first turn warms up
            times = [f"{statistics.median(t[1:]):.4f} ({min(t[1:]):.4f})" for t in (outside, inside, whole)]
            print(f"{name}: {X.shape[0]} x {X.shape[1]}, the same model: {same}")
            print(f"  core by command line {times[0]}, core in Python {times[1]}, fit in Python {times[2]}")
            print(f"  added by Python: {statistics.median(added):.2f} % (largest {max(added):.2f} %)")


if __name__ == "__main__":
    main()
